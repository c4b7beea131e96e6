# Theorem 4.1: error of the least-squares classifier on the top t singular vectors, and its bounds, against t.
# input: one theorem41_curve.csv (columns t, error, bound_sharp, bound_alpha, bound_gap, trivial)
set xlabel "number of singular vectors t"
set ylabel "error E, bounds"
set logscale xy
plot data using (column("t")):(column("bound_sharp")) with lines lt 1 lw 2.5 title "sharpest bound", \
     data using (column("t")):(column("bound_alpha")) with lines lt 2 dt 2 lw 1.5 title "paper's form, c1 = 2 p_max, c2 = 8", \
     data using (column("t")):(column("bound_gap")) with lines lt 3 title "spectral gap", \
     data using (column("t")):(column("error")) with linespoints lt 7 title "measured E", \
     data using (column("t")):(column("trivial")) with lines lt 5 dt 2 title "1 - p_max (majority guess)"
