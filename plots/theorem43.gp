# Theorem 4.3: what a model of linear attention loses by a prefix shorter than the sets it was trained on, beside the
# misalignment of the lengths; how far its outputs move, and the bound Delta_k on that: three panels. A point is a mean over
# the pieces of text that have a token k. N, the tokens of a piece, differs by piece: points at large k rest on the long
# pieces alone, and so the mean misalignment need not fall with k.
# result: verify theorem43_curve.csv --series model, several k, known gap
# input: theorem43_curve.csv of cospec verify 4.3 --model, one a model (columns series, k, misalignment, gap, gap_se, distance,
# delta_k; gap: loss - other_loss with --against, else loss - full_loss)
stats data using (column("k")) name "K" nooutput
set xtics 1 + floor((K_max - K_min) / 20)
# One table without a label makes a series without a name.
named(what, s) = strlen(s) > 0 ? what . ", " . s : what
set xrange [K_min - 0.3:K_max + 0.3]
if (format eq "svg") set terminal svg size 760,600 dynamic background "white" font "DejaVu Sans,13" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1140,900 background "white" font "DejaVu Sans,13" linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 7in,5.5in background "white" font "DejaVu Sans,11" linewidth 1.2
set output @drawing
set multiplot layout 3,1
set lmargin 11
set rmargin 26
set xlabel ""
set ylabel "loss lost"
plot for [i=1:|S|] data using (column("k")):(of(S[i], "gap")):(1.96 * column("gap_se")) with yerrorlines lt i title named("loss lost ± 1.96 se", S[i])
set ylabel "misalignment"
set yrange [0:1]
plot data using (column("k")):(of(S[1], "misalignment")) with lines lt 7 dt 2 lw 1.5 title "1 − ((k−1)/N)²"
set xlabel "k, the token that is predicted from the k−1 before it (means over pieces)"
set ylabel "‖W (f(X_m) − f(X_{<k}))‖"
set yrange [*:*]
set logscale y
pos(x) = x > 0 ? x : NaN
plot for [i=1:|S|] data using (column("k")):(pos(of(S[i], "delta_k"))) with lines lt i dt 2 lw 1.5 title named("bound Δₖ", S[i]), \
     for [i=1:|S|] data using (column("k")):(pos(of(S[i], "distance"))) with linespoints lt i title named("measured", S[i])
unset multiplot
