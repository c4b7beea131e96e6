# Sum of sigma^4 of a sampled co-occurrence matrix against the number of plans drawn per sequence.
# result: cooc draws.csv, several draws
# input: draws.csv of cospec cooc --draws 0,N1,N2,... (columns draws, sum_sigma4); draws 0 is the exact value
set xlabel "plans drawn per sequence"
set ylabel "sum of σ_j^4"
set logscale x 2
set yrange [0:*]
stats [*:*] [*:*] data using (column("draws") == 0 ? column("sum_sigma4") : NaN) name "EXACT" nooutput
plot for [i=1:|S|] data using (column("draws")):(column("draws") > 0 ? of(S[i], "sum_sigma4") : NaN) with linespoints lt i title S[i] . (strlen(S[i]) > 0 ? ", " : "") . "sampled", \
    (exists("EXACT_max") ? EXACT_max : NaN) with lines lt 7 dt 2 title "exact, all sets enumerated"
