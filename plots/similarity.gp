# The most similar pairs of features, sorted (LA Figure 2): higher is what the paper takes for better connected.
# input: similarity.csv of cospec connectivity --pairs (columns series, rank, value)
set xlabel "pair of features, from the most similar on"
set ylabel "similarity"
set logscale x
set xrange [1:*]
plot for [i=1:|S|] data using (column("rank")):(of(S[i], "value")) with lines lw 2 lt i title S[i]
