# Spectral density of a co-occurrence matrix (upper panel) and its cumulative count (lower), with bands of their errors.
# result: density density.csv
# input: density.csv of cospec density (columns sigma, density, density_low, density_high, above, above_low, above_high)
# A value below the panel is drawn at the lower edge of its panel, not left out: lines would jump across the gap.
least(s, c, e) = of(s, c) < e ? e : of(s, c)
set multiplot layout 2,1
set lmargin 11
set rmargin 20
set xrange [0:*]
set logscale y
set format y "10^{%L}"
set ylabel "density per unit of σ"
set yrange [0.1:*]
set format x ""
set bmargin 0.6
plot for [i=1:|S|] data using (column("sigma")):(least(S[i], "density_low", 0.1)):(least(S[i], "density_high", 0.1)) with filledcurves lt i fs transparent solid 0.25 noborder notitle, \
     for [i=1:|S|] data using (column("sigma")):(least(S[i], "density", 0.1)) with lines lt i lw 2 title LABEL[i]
set format x "%g"
set xlabel "singular value σ"
set ylabel "N(σ_j > σ)"
set yrange [0.5:*]
set tmargin 0.6
set bmargin 3.4
plot for [i=1:|S|] data using (column("sigma")):(least(S[i], "above_low", 0.5)):(least(S[i], "above_high", 0.5)) with filledcurves lt i fs transparent solid 0.25 noborder notitle, \
     for [i=1:|S|] data using (column("sigma")):(least(S[i], "above", 0.5)) with lines lt i lw 2 title LABEL[i]
unset multiplot
