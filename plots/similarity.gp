# The most similar pairs of features, sorted (LA Figure 2): the nearer to 1, the better connected by what the paper takes for it.
# result: connectivity similarity.csv
# input: similarity.csv of cospec connectivity --pairs (columns series, similarity, rank, value)
stats data using (column("rank")) name "RANK" nooutput
set xlabel "pair of features, from the most similar on (log scale)"
# Cosines crowd below 1: their distance from it is drawn, on a logarithmic scale; inner products have no bound.
stats data using (strcol("similarity") eq "cosine" ? 1 : 0) name "COSINE" nooutput
cosines = COSINE_min == 1
set ylabel cosines ? "1 − cosine (log scale)" : COSINE_max == 0 ? "inner product" : "cosine or inner product"
if (cosines) { set logscale y; set format y "10^{%L}"; set yrange [*:*] reverse }
# Pairs that are the same text have no distance, and rounding lifts a cosine above 1: drawn at 1e-6.
shown(x) = !cosines ? x : x != x ? NaN : 1 - x > 1e-6 ? 1 - x : 1e-6
set logscale x
set xrange [1:*]
style = RANK_max > 1 ? "lines" : "linespoints pt 7" # a single pair has no line
plot for [i=1:|S|] data using (column("rank")):(shown(of(S[i], "value"))) with @style lw 2 lt i title LABEL[i]
