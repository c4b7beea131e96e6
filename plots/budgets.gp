# Claims over three budgets or more, a panel each: the difference of its sides with its 95 % interval, above 0 as claimed. Panels of one unit share one scale.
# input: claims-budgets.csv of cospec reproduce (columns series, budget, wanted, difference, low, high, verdict, unit)
at(s, c) = of(s, c) * column("wanted")
array UNIT[|S|]
array DRAWN[|S|]
array LEAST[|S|]
array MOST[|S|]
drawn = 0
do for [i=1:|S|] {
    stats data using (strcol("series") eq S[i] ? (UNIT[i] = strcol("unit"), 1) : NaN) nooutput
    # A panel without a number is left out, and so is one of two budgets, which is a row of a table.
    DRAWN[i] = STATS_records > 2
    LEAST[i] = 0; MOST[i] = 0
    stats data using (at(S[i], "difference") == at(S[i], "difference") ? 1 : 0) nooutput
    if (STATS_max == 0) { DRAWN[i] = 0 }
    if (DRAWN[i]) {
        drawn = drawn + 1
        do for [c in "low high difference"] {
            stats data using (at(S[i], c) == at(S[i], c) ? at(S[i], c) : at(S[i], "difference")) nooutput
            LEAST[i] = STATS_min < LEAST[i] ? STATS_min : LEAST[i]
            MOST[i] = STATS_max > MOST[i] ? STATS_max : MOST[i]
        }
    }
}
across = drawn > 4 ? 3 : drawn > 1 ? 2 : 1
down = (drawn + across - 1) / across
TOP = 40.0
height = TOP + 300 * down
if (format eq "svg") set terminal svg size 960,height dynamic background "white" font "DejaVu Sans,12" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1440,1.5 * height background "white" font "DejaVu Sans,12" fontscale 1.5 linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 8.7in,(height / 110)in background "white" font "DejaVu Sans,9" linewidth 1.2
set output @drawing
set multiplot layout down, across margins screen 0.09,0.985,(60.0 / height),(1 - (TOP + 56) / height) spacing screen 0.09,(down > 1 ? 125.0 / height : 0)
set logscale x
set xlabel "budget (steps)" offset 0,0.4 font ",10"
set tics font ",10"
set xzeroaxis lt -1 lc rgb "#444444"
unset key
starts(v, w) = v[1:strlen(w)] eq w
shape(v) = starts(v, "reproduced") ? 7 : starts(v, "opposite") ? 5 : starts(v, "equivalent") ? 13 : starts(v, "not tested") ? 2 : 6
shade(v) = starts(v, "reproduced") ? 0x1A7F4B : starts(v, "opposite") ? 0xD55E00 : starts(v, "equivalent") ? 0x0072B2 : starts(v, "not tested") ? 0x5B4A91 : 0x444444
set label 1 "reproduced" at screen 0.05,(1 - 18.0 / height) left point pt 7 lc rgb 0x1A7F4B ps 1.1 offset 1.2,0
set label 2 "opposite" at screen 0.23,(1 - 18.0 / height) left point pt 5 lc rgb 0xD55E00 ps 1.1 offset 1.2,0
set label 3 "equivalent" at screen 0.40,(1 - 18.0 / height) left point pt 13 lc rgb 0x0072B2 ps 1.1 offset 1.2,0
set label 4 "undetermined" at screen 0.58,(1 - 18.0 / height) left point pt 6 lc rgb 0x444444 ps 1.1 offset 1.2,0
set label 5 "not tested" at screen 0.78,(1 - 18.0 / height) left point pt 2 lc rgb 0x5B4A91 ps 1.1 offset 1.2,0
# "NAME: LEFT less RIGHT": lines break behind the name and before the minus sign.
minus = " − "
broken(s) = strstrt(s, minus) > 0 && strlen(s) > 38 ? s[1:strstrt(s, minus) - 1] . "\n−" . s[strstrt(s, minus) + strlen(minus) - 1:*] : s
named(s) = strstrt(s, ": ") > 0 ? s[1:strstrt(s, ": ")] . "\n" . broken(s[strstrt(s, ": ") + 2:*]) : broken(s)
do for [i=1:|S|] {
    if (!DRAWN[i]) { continue }
    least = LEAST[i]; most = MOST[i]
    do for [j=1:|S|] { if (DRAWN[j] && UNIT[i] ne "" && UNIT[j] eq UNIT[i]) { least = LEAST[j] < least ? LEAST[j] : least; most = MOST[j] > most ? MOST[j] : most } }
    if (most == least) { most = least + 1 }
    set title named(S[i]) noenhanced font ",10" offset 0,-0.5
    set ylabel "difference" . (UNIT[i] eq "" ? "" : " in " . UNIT[i]) . "\nabove 0 as claimed" offset 0.5,0 noenhanced font ",9"
    set xrange [*:*]; set yrange [*:*]
    stats data using (of(S[i], "budget")) nooutput name "X"
    set xtics ()
    stats data using (at(S[i], "low") == at(S[i], "low") ? 1 : 0) nooutput
    line = 'data using (column("budget")):(at(S[i], "difference")):xtic(strcol("budget")) with lines lt 1 lw 2, ' . \
        'data using (column("budget")):(at(S[i], "difference")):(shape(strcol("verdict"))):(shade(strcol("verdict"))) with points pt variable lc rgb variable ps 1.2'
    band = STATS_max == 0 ? '' : 'data using (column("budget")):(at(S[i], "low")):(at(S[i], "high")) with filledcurves lc rgb "#56B4E9" fs transparent solid 0.35 noborder, '
    set xrange [X_min / 1.3:X_max * 1.3]
    set yrange [least - 0.05 * (most - least):most + 0.05 * (most - least)]
    eval "plot " . band . line
    unset label
}
unset multiplot
