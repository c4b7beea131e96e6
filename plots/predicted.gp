# Each prediction against the first outcome at one budget, a panel each: circles are blind models, squares are told the position; bars: the deviation of runs.
# input: pairs.csv of cospec correlate --series prediction --where budget:B (columns series, object, x, y, y_sd)
N = |S|
across = N > 1 ? 2 : 1
down = (N + across - 1) / across
if (format eq "svg") set terminal svg size 1000,40 + 340 * down dynamic background "white" font "DejaVu Sans,12" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1500,60 + 510 * down background "white" font "DejaVu Sans,12" linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 9.0,0.4 + 3.1 * down background "white" font "DejaVu Sans,8" linewidth 1.2
set output @drawing
set multiplot layout down, across
unset key
set offsets graph 0.05, graph 0.25, graph 0.08, graph 0.08
set format x "%g"
blind(s, k, c) = strcol("series") eq s && (strstrt(strcol("object"), ".blind") > 0) == k ? column(c) : NaN
do for [i=1:N] {
    set title LABEL[i] noenhanced font ",13"
    stats data using (of(S[i], "x")) nooutput
    if (STATS_min > 0 && STATS_max > 20 * STATS_min) { set logscale x } else { unset logscale x }
    plot for [k=0:1] data using (blind(S[i], k, "x")):(blind(S[i], k, "y")):(column("y_sd") >= 0 ? column("y_sd") : 0) with yerrorbars lt k + 1 pt (k ? 7 : 5) ps 0.6, \
         data using (of(S[i], "x")):(of(S[i], "y")):(strcol("series") eq S[i] ? strcol("object") : "") with labels left offset 0.5,0.3 noenhanced font ",9" textcolor rgb "#555555"
}
unset multiplot
