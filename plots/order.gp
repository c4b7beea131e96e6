# Order of learning: the share of each singular direction of the matrix that a model has at a step, a panel for each model.
# A share of 1 is the optimum. Modes are counted from the largest singular value; at most ten are drawn.
# result: verify order.csv --series model, several step
# input: order.csv of cospec verify trained or verify qwem (columns series, step, mode, share)
stats data using (column("mode")) name "MODE" nooutput
stats data using (column("step") > 0 ? column("step") : NaN) name "STEP" nooutput
modes = MODE_max > 10 ? 10 : int(MODE_max)
across = |S| > 1 ? 2 : 1
down = (|S| + across - 1) / across
if (format eq "svg") { set terminal svg size 760,130 + 310 * down dynamic background "white" font "DejaVu Sans,12" linewidth 1.2 }
if (format eq "png") { set terminal pngcairo size 1140,200 + 460 * down background "white" font "DejaVu Sans,12" linewidth 1.6 }
if (format eq "pdf") { set terminal pdfcairo size 7in,(1.2 + 2.9 * down) * 1in background "white" font "DejaVu Sans,10" linewidth 1.2 }
set output @drawing
set multiplot layout down, across
set xlabel "step"
set ylabel "share learned"
set logscale x
set xrange [STEP_min:STEP_max]
set yrange [-0.2:1.2]
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lt 9 dt 2
do for [p=1:|S|] {
    if (p == 1) { set key at graph 0.02, graph 0.82 left top samplen 1 font ",10" } else { unset key }
    set title (S[p] eq "" ? "" : (exists("LABEL") ? LABEL[p] : S[p])) noenhanced
    plot for [m=1:modes] data using (column("mode") == m && column("step") > 0 ? column("step") : NaN):(of(S[p], "share")) with linespoints lt m title sprintf("mode %d", m)
}
unset multiplot
