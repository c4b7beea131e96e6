# A measure of every layer, of several models; bars +- 1.96 se. Layers are drawn as a share of the depth where models differ in it.
# result: rank rank.csv --where metric:rank_tau, numbered matrix
# result: similarity similarity.csv --where metric:*, numbered of
# result: probe probe.csv --where probe:linear --where metric:*, numbered layer
# input: rank.csv, similarity.csv or probe.csv, of one metric (columns series, metric, value, se); layers in column layer, matrix or of
metric = wanted[strstrt(wanted, ":") + 1:*]
at = strstrt(columns, " layer ") ? "layer" : strstrt(columns, " matrix ") ? "matrix" : "of"
number(s) = s eq "" || !strstrt("-.0123456789", s[1:1]) ? NaN : real(s) # a layer may be "mean": the last one so pooled
y = metric
do for [i=1:6] { y = strstrt(y, "_") ? y[1:strstrt(y, "_") - 1] . " " . y[strstrt(y, "_") + 1:*] : y }
depth(s) = strcol("series") eq s ? number(strcol(at)) : NaN
array D[|S|]
deepest = 0
flattest = 1e9
do for [i=1:|S|] {
    stats data using (depth(S[i])) nooutput name "DEPTH"
    D[i] = DEPTH_max > 0 ? DEPTH_max : 1
    deepest = D[i] > deepest ? D[i] : deepest
    flattest = D[i] < flattest ? D[i] : flattest
}
same = deepest == flattest
x(i) = same ? depth(S[i]) : depth(S[i]) / D[i]
set xlabel same ? "layer (0: embeddings)" : "share of the depth (0: embeddings, 1: last layer)"
set ylabel y noenhanced
if (same) { set xtics 1 }
set xrange [(same ? -0.3 : -0.04):(same ? deepest + 0.3 : 1.04)]
finite = 0
stats data using (strlen(strcol("value")) > 0 ? (finite = finite + 1, 1) : 0) nooutput name "VALUES"
if (finite == 0) { set yrange [0:1]; set label "no layer has a value" at graph 0.5, 0.5 center }
plot for [i=1:|S|] data using (x(i)):(of(S[i], "value")):(1.96 * number(strcol("se"))) with yerrorbars lt i ps 0 notitle, \
    for [i=1:|S|] data using (x(i)):(of(S[i], "value")) with linespoints lt i title S[i]
