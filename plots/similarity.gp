# The most similar pairs of features, sorted (LA Figure 2): higher is what the paper takes for better connected.
# input: similarity.csv of cospec connectivity --pairs (columns series, similarity, rank, value)
set xlabel "pair of features, from the most similar on"
# Cosines end at 1, and so does the axis; inner products have no bound.
stats data using (strcol("similarity") eq "cosine" ? 1 : 0) name "COSINE" nooutput
set ylabel COSINE_min == 1 ? "cosine" : COSINE_max == 0 ? "inner product" : "cosine or inner product"
if (COSINE_min == 1) { set yrange [*:1] }
# Rounding may lift a cosine above 1, where a line would be cut off.
shown(x) = COSINE_min == 1 && x > 1 ? 1 : x
set logscale x
set xrange [1:*]
plot for [i=1:|S|] data using (column("rank")):(shown(of(S[i], "value"))) with lines lw 2 lt i title S[i]
