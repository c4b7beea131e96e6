# Sum of sigma^4 of a corpus and of its language, target position blind and given: smaller is better connected (Theorem 4.1).
# result: connectivity connectivity.csv, known documents
# input: connectivity.csv of cospec connectivity (columns series, target_position, metric, estimate, value, low, high, documents), metric sum_sigma4, of the language sum_sigma4_corrected; bars: 95 % intervals; the largest corpus of each series
set ylabel "sum of σ_j^4 (log scale)"
set xtics rotate by -25 noenhanced
set logscale y
set key outside top center horizontal maxrows 3
set grid noxtics
stats data using (column("documents")) nooutput
largest = STATS_records > 0 ? STATS_max : 0
metric(e) = e eq "distinct-document" ? "sum_sigma4_corrected" : "sum_sigma4"
pick(p, e, c) = strcol("metric") eq metric(e) && strcol("target_position") eq p && strcol("estimate") eq e && !(column("documents") <= 0.75 * largest) ? column(c) : NaN
N = |S|
at(s) = sum [i=1:N] (S[i] eq s ? i : 0)
set xrange [0.4:N + 0.6]
set xtics ()
do for [i=1:N] { set xtics add (tic(LABEL[i]) i) }
bar(p, e) = pick(p, e, "high") - pick(p, e, "low")
plot for [k=1:2] data using (at(strcol("series")) + 0.3 * k - 0.5):(pick(word("blind given", k), "plug-in", "value")) with points lt k pt (k == 1 ? 6 : 4) ps 1.2 title "corpus, " . word("blind given", k), \
     for [k=1:2] data using (at(strcol("series")) + 0.3 * k - 0.4):(pick(word("blind given", k), "distinct-document", "value")) with points lt k pt (k == 1 ? 7 : 5) ps 1.2 title "language, " . word("blind given", k), \
     NaN with lines lc rgb "#000000" lw 1.5 title "95 % interval (none seen: smaller than the mark)", \
     for [k=1:2] data using (at(strcol("series")) + 0.3 * k - 0.5):(pick(word("blind given", k), "plug-in", "low")):(0):(bar(word("blind given", k), "plug-in")) with vectors heads size graph 0.008,90 lc rgb "#000000" lw 1.5 notitle, \
     for [k=1:2] data using (at(strcol("series")) + 0.3 * k - 0.4):(pick(word("blind given", k), "distinct-document", "low")):(0):(bar(word("blind given", k), "distinct-document")) with vectors heads size graph 0.008,90 lc rgb "#000000" lw 1.5 notitle
