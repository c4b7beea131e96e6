# Sum of sigma^4 of a sampled co-occurrence matrix against the number of plans drawn per sequence.
# input: draws.csv of cospec cooc --draws N1,N2,... (columns draws, sum_sigma4)
set xlabel "plans drawn per sequence"
set ylabel "sum of σ_j^4"
set logscale x 2
set yrange [0:*]
plot for [i=1:|S|] data using (column("draws")):(of(S[i], "sum_sigma4")) with linespoints lt i title S[i]
