# Claims over budgets, a panel each: the difference of its sides, above 0 as claimed, with the 95 % interval of each comparison alone.
# input: claims-budgets.csv of cospec reproduce (columns series, budget, wanted, difference, low, high, verdict)
across = |S| > 4 ? 3 : |S| > 1 ? 2 : 1
down = (|S| + across - 1) / across
if (format eq "svg") set terminal svg size 900,(40 + 250 * down) dynamic background "white" font "DejaVu Sans,11" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1350,(60 + 375 * down) background "white" font "DejaVu Sans,11" linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 8.2in,(0.4 + 2.3 * down)in background "white" font "DejaVu Sans,9" linewidth 1.2
set output name . "." . format
set multiplot layout down, across
set logscale x
set xlabel "budget (steps)" offset 0,0.3
set ylabel "difference, above 0 as claimed" offset 1,0
set xrange [*:*] noextend
set xzeroaxis lt -1 lc rgb "#444444"
set offsets graph 0.12, graph 0.12, graph 0.08, graph 0.08
unset key
at(s, c) = of(s, c) * column("wanted")
# Filled: decided, a disc as claimed, a square the other way. A ring: cannot tell. A cross: open.
shape(v) = v eq "agree" ? 7 : v eq "disagree" ? 5 : v eq "open" ? 2 : 6
shade(v) = v eq "agree" ? 0x009E73 : v eq "disagree" ? 0xD55E00 : 0x444444
# "NAME: LEFT less RIGHT" in two lines.
two(s) = s[1:strstrt(s, ": ")] . "\n" . s[strstrt(s, ": ") + 2:*]
do for [i=1:|S|] {
    set title two(S[i]) noenhanced font ",10"
    # A panel without a number stays empty.
    stats data using (at(S[i], "difference") == at(S[i], "difference") ? 1 : 0) nooutput
    if (STATS_max == 0) { set multiplot next; continue }
    stats data using (at(S[i], "low") == at(S[i], "low") ? 1 : 0) nooutput
    line = 'data using (column("budget")):(at(S[i], "difference")):xtic(strcol("budget")) with lines lt 1 lw 2, ' . \
        'data using (column("budget")):(at(S[i], "difference")):(shape(strcol("verdict"))):(shade(strcol("verdict"))) with points pt variable lc rgb variable ps 1.2'
    band = STATS_max == 0 ? '' : 'data using (column("budget")):(at(S[i], "low")):(at(S[i], "high")) with filledcurves lc rgb "#56B4E9" fs transparent solid 0.35 noborder, '
    eval "plot " . band . line
}
unset multiplot
