# sigma_2 of masked pretraining against the mask ratio, measured and by the formula of Theorem 4.2.
# input: one or more toy.csv of a sweep over --mask-ratio (columns length, unmasked, index, sigma), a series for each length
# formula: sqrt(m / ((s - m)(s - 1))), m unmasked of s
formula(m, s) = sqrt(m / ((s - m) * (s - 1.0)))
set xlabel "mask ratio (s - m) / s"
set ylabel "second distinct singular value per class"
set xrange [0:1]
set yrange [0:1.05]
plot for [i=1:|S|] data using ((column("length") - column("unmasked")) / column("length")):(column("position") == 2 ? of(S[i], "sigma") : NaN) \
    with points lt i title S[i] . " (reduction)", \
    for [i=1:|S|] data using ((column("length") - column("unmasked")) / column("length")):(strcol("series") eq S[i] && column("position") == 2 ? formula(column("unmasked"), column("length")) : NaN) \
    with lines lt i title S[i] . " (formula)"
