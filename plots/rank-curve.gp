# An effective rank of the last layer against the number of documents: it grows with them, and where it still does it is no property of the model.
# result: rank rank.csv --where metric:rank_tau, several n
# input: rank.csv of cospec rank --curve, one a model, of one metric (columns series, metric, value, se, n)
metric = wanted[strstrt(wanted, ":") + 1:*]
do for [i=1:6] { metric = strstrt(metric, "_") ? metric[1:strstrt(metric, "_") - 1] . " " . metric[strstrt(metric, "_") + 1:*] : metric }
set xlabel "documents"
set ylabel metric noenhanced
set xrange [0:*]
set yrange [0:*]
number(s) = s eq "" ? NaN : real(s)
plot for [i=1:|S|] data using (strcol("series") eq S[i] ? column("n") : NaN):(of(S[i], "value")):(1.96 * number(strcol("se"))) with yerrorbars lt i ps 0 notitle, \
    for [i=1:|S|] data using (strcol("series") eq S[i] ? column("n") : NaN):(of(S[i], "value")) smooth unique with linespoints lt i title S[i]
