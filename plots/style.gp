# One look for every figure: sizes, fonts, and the Okabe-Ito colours, which colour-blind readers can tell apart.
# Set by the caller: format (svg, png or pdf), data (a CSV with a header), name (of the picture), S (array of the series), LABEL (of their labels),
# columns (their names, a blank behind each), wanted (the last --where, COLUMN:VALUE).
if (format eq "svg") set terminal svg size 760,440 dynamic background "white" font "DejaVu Sans,13" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1140,660 background "white" font "DejaVu Sans,13" linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 7in,4.05in background "white" font "DejaVu Sans,11" linewidth 1.2
if (!exists("drawing")) drawing = "'" . name . "." . format . "'"
set output @drawing
set datafile separator comma
set datafile columnheaders
set datafile missing NaN
set datafile commentschars "" # a series may be called #1
set encoding utf8
set linetype 1 lc rgb "#0072B2" pt 7 ps 0.6
set linetype 2 lc rgb "#D55E00" pt 5 ps 0.6
set linetype 3 lc rgb "#009E73" pt 9 ps 0.8
set linetype 4 lc rgb "#CC79A7" pt 11 ps 0.8
set linetype 5 lc rgb "#E69F00" pt 13 ps 0.8
set linetype 6 lc rgb "#56B4E9" pt 4 ps 0.7
set linetype 7 lc rgb "#000000" pt 6 ps 0.7
set linetype 8 lc rgb "#8C6D31" pt 8 ps 0.8
set linetype 9 lc rgb "#999999" pt 10 ps 0.8
set linetype 10 lc rgb "#7A0177" pt 12 ps 0.8
set linetype cycle 10
set border 3 lc rgb "#444444"
set tics nomirror textcolor rgb "#222222"
set grid back lc rgb "#CCCCCC" lw 0.5
set key outside right top Left reverse samplen 2 spacing 1.15 noenhanced
# The value of a column on the rows of one series, NaN elsewhere.
of(s, c) = strcol("series") eq s ? column(c) : NaN
# A label of a tic is a format: its % are doubled.
tic(s) = strstrt(s, "%") ? s[1:strstrt(s, "%")] . "%" . tic(s[strstrt(s, "%") + 1:*]) : s
