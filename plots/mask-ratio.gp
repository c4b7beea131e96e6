# sigma_2 of masked pretraining against the mask ratio, measured and by the formula of Theorem 4.2.
# result: toy toy.csv --series length, several unmasked
# input: one or more toy.csv of a sweep over --mask-ratio (columns classes, length, unmasked, position, sigma, multiplicity), a series for each length
# formula: sqrt(m / ((s - m)(s - 1))), m unmasked of s
formula(m, s) = sqrt(m / ((s - m) * (s - 1.0)))
set xlabel "mask ratio (s - m) / s"
set ylabel "second singular value per class"
set xrange [0:1]
set yrange [0:1.05]
# The second value per class: the second distinct one, or the first where each class has it more than once.
second = '(column("position") == 2 || (column("position") == 1 && column("multiplicity") > column("classes")))'
ratio(s, m) = (s - m) / s
array L[|S|]
do for [i=1:|S|] { stats [*:*] [*:*] data using (of(S[i], "length")) name "L" nooutput; L[i] = L_max }
curve(x, s) = x >= 1.0 / s && x <= 1 - 1.0 / s ? formula((1 - x) * s, s) : NaN
set samples 1000
plot for [i=1:|S|] curve(x, L[i]) with lines lt i title S[i] . " (formula)", \
    for [i=1:|S|] data using (ratio(column("length"), column("unmasked"))):(@second ? of(S[i], "sigma") : NaN) with points lt i title S[i] . " (reduction)"
