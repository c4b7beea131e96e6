# Theorem 4.1: error of the least-squares classifier on the top t singular vectors, and its bounds, against t; a panel a matrix.
# result: verify theorem41_curve.csv --series input, several t
# input: theorem41_curve.csv of cospec verify 4.1, one a matrix (columns series, t, error, bound_sharp, bound_alpha, bound_gap, trivial)
if (format eq "svg") set terminal svg size 760,(60 + 300 * |S|) dynamic background "white" font "DejaVu Sans,13" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1140,(90 + 450 * |S|) background "white" font "DejaVu Sans,13" linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 7in,(0.5 + 2.7 * |S|)in background "white" font "DejaVu Sans,11" linewidth 1.2
set output @drawing
set multiplot layout |S|,1
set xlabel "number of singular vectors t (log scale)"
set ylabel "error E, bounds"
set logscale xy
set xrange [*:*] noextend
set rmargin 36
do for [i=1:|S|] {
    set title S[i] noenhanced
    plot data using (column("t")):(of(S[i], "bound_sharp")) with lines lt 1 lw 2.5 title "sharpest bound", \
         data using (column("t")):(of(S[i], "bound_alpha")) with lines lt 2 dt 2 lw 1.5 title "paper's form, c1 = 2 p_max, c2 = 8", \
         data using (column("t")):(of(S[i], "bound_gap")) with lines lt 3 title "spectral gap", \
         data using (column("t")):(of(S[i], "error")) with linespoints lt 7 title "measured E", \
         data using (column("t")):(of(S[i], "trivial")) with lines lt 5 dt 2 title "1 - p_max (majority guess)"
}
unset multiplot
