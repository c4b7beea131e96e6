# Kendall's tau of each prediction with one outcome, budget by budget, with 95 % intervals over other objects and runs: a prediction holds that is on one side of 0.
# result: correlate correlations.csv --series prediction --where outcome:*
# input: correlations.csv of cospec correlate --series prediction (columns series, outcome, budget, given, tau, low, high), --where outcome:NAME
N = |S|
high = 90 + 34 * N
if (format eq "svg") set terminal svg size 760,high dynamic background "white" font "DejaVu Sans,12" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1140,high * 1.5 background "white" font "DejaVu Sans,12" linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 7.0,high / 108.0 background "white" font "DejaVu Sans,10" linewidth 1.2
set output @drawing
array B[12]
budgets = 0
known(b) = sum [i=1:budgets] (B[i] eq b)
stats data using (known(strcol("budget")) ? 0 : (budgets = budgets + 1, B[budgets] = strcol("budget"), 0)) nooutput
at(s) = N + 1 - (sum [i=1:N] (S[i] eq s ? i : 0))
shown(b, c) = strcol("budget") eq B[b] && strcol("given") eq "" ? column(c) : NaN
set yrange [0.4:N + 0.6]
set ytics ()
do for [i=1:N] { set ytics add (tic(LABEL[i]) N + 1 - i) }
set ytics noenhanced
set xrange [-1:1]
set xlabel "Kendall's tau"
set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb "#444444"
set key outside top right horizontal
y(b) = at(strcol("series")) + 0.3 - 0.6 * (b - 0.5) / budgets
plot for [b=1:budgets] data using (shown(b, "tau")):(y(b)):(shown(b, "low")):(shown(b, "high")) with xerrorbars lt b ps 0.8 title B[b] . (B[b] eq "best" ? "" : " steps")
