# Claims over three budgets or more, a panel each under the name of their family: the difference of the two sides, above 0 as claimed, with its 95 % interval (band). Panels of one family and unit share one scale.
# result: reproduce claims-budgets.csv
# input: claims-budgets.csv of cospec reproduce (columns series, budget, wanted, difference, low, high, verdict, unit, family)
WIDE = 1000.0; LEFT = 92.0; GAP = 26.0; ACROSS = 4 # sizes in pixels of the screen
PANEL = 120.0; TITLE = 54.0; TICS = 24.0; LABEL_OF_X = 16.0; HEAD = 36.0; TOP = 44.0
LONGEST = 31 # characters of a line of a title
at(s, c) = of(s, c) * column("wanted")
array UNIT[|S|]
array FAMILY[|S|]
array DRAWN[|S|]
array LEAST[|S|]
array MOST[|S|]
array DOWN[|S|]
array COLUMN[|S|]
array WANTED[|S|]
array F[|S|]
families = 0
known(f) = families > 0 ? (sum [j=1:families] (F[j] eq f)) : 0
do for [i=1:|S|] {
    stats data using (strcol("series") eq S[i] ? (UNIT[i] = strcol("unit"), FAMILY[i] = strcol("family"), WANTED[i] = column("wanted"), 1) : NaN) nooutput
    # A panel without a number is left out, and so is one of two budgets, which is a row of a table.
    DRAWN[i] = STATS_records > 2
    LEAST[i] = 0; MOST[i] = 0
    stats data using (at(S[i], "difference") == at(S[i], "difference") ? 1 : 0) nooutput
    if (STATS_max == 0) { DRAWN[i] = 0 }
    if (DRAWN[i]) {
        if (!known(FAMILY[i])) { families = families + 1; F[families] = FAMILY[i] }
        do for [c in "low high difference"] {
            stats data using (at(S[i], c) == at(S[i], c) ? at(S[i], c) : at(S[i], "difference")) nooutput
            LEAST[i] = STATS_min < LEAST[i] ? STATS_min : LEAST[i]
            MOST[i] = STATS_max > MOST[i] ? STATS_max : MOST[i]
        }
    }
}
# Where each panel is: the pixel of the top of its plot, and its column.
height = TOP
array HEADED[|S|]
do for [f=1:families] {
    HEADED[f] = height
    height = height + HEAD
    in_row = 0
    do for [i=1:|S|] {
        if (DRAWN[i] && FAMILY[i] eq F[f]) {
            if (in_row == ACROSS) { in_row = 0; height = height + TITLE + PANEL + TICS }
            DOWN[i] = height + TITLE
            COLUMN[i] = in_row
            in_row = in_row + 1
        }
    }
    height = height + TITLE + PANEL + TICS + LABEL_OF_X
}
height = height + 10
if (format eq "svg") set terminal svg size WIDE,height dynamic background "white" font "DejaVu Sans,12" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1.5 * WIDE,1.5 * height background "white" font "DejaVu Sans,12" fontscale 1.2 linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 9in,(height / 110)in background "white" font "DejaVu Sans,9" linewidth 1.2
set output @drawing
set multiplot
set logscale x
set tics font ",10"
set xzeroaxis lt -1 lc rgb "#444444"
unset key
starts(v, w) = v[1:strlen(w)] eq w
shape(v) = starts(v, "reproduced") ? 7 : starts(v, "opposite") ? 5 : starts(v, "equivalent") ? 13 : starts(v, "not test") || starts(v, "baseline") ? 2 : 6
shade(v) = starts(v, "reproduced") ? 0x1A7F4B : starts(v, "opposite") ? 0xD55E00 : starts(v, "equivalent") ? 0x0072B2 : starts(v, "not test") || starts(v, "baseline") ? 0x5B4A91 : 0x444444
key(x, v, p, c) = sprintf('set label "%s" at screen %g,%g left point pt %d lc rgb %d ps 1.1 offset 1.2,0', v, x, 1 - 18.0 / height, p, c)
eval key(0.05, "reproduced", 7, 0x1A7F4B)
eval key(0.21, "opposite", 5, 0xD55E00)
eval key(0.35, "equivalent", 13, 0x0072B2)
eval key(0.50, "undetermined", 6, 0x444444)
eval key(0.68, "not tested", 2, 0x5B4A91)
# Titles break at blanks.
cut(s, n) = n < 2 ? LONGEST + 1 : s[n:n] eq " " && s[n + 1:n + 1] ne "%" ? n : cut(s, n - 1)
wrap(s) = strlen(s) <= LONGEST ? s : s[1:cut(s, LONGEST + 1) - 1] . "\n" . wrap(s[cut(s, LONGEST + 1) + 1:*])
wide = (WIDE - LEFT - 20 - GAP * (ACROSS - 1)) / ACROSS
do for [f=1:families] {
    set label F[f] at screen 0.012,1 - (HEADED[f] + 18) / height left noenhanced font ",14"
    do for [i=1:|S|] {
        if (!DRAWN[i] || FAMILY[i] ne F[f]) { continue }
        least = LEAST[i]; most = MOST[i]
        do for [j=1:|S|] { if (DRAWN[j] && UNIT[j] eq UNIT[i] && FAMILY[j] eq FAMILY[i]) { least = LEAST[j] < least ? LEAST[j] : least; most = MOST[j] > most ? MOST[j] : most } }
        if (most == least) { most = least + 1 }
        set tmargin at screen 1 - DOWN[i] / height
        set bmargin at screen 1 - (DOWN[i] + PANEL) / height
        set lmargin at screen (LEFT + COLUMN[i] * (wide + GAP)) / WIDE
        set rmargin at screen (LEFT + COLUMN[i] * (wide + GAP) + wide) / WIDE
        set title wrap(S[i]) noenhanced font ",10" offset 0,-0.6
        if (COLUMN[i] == 0) {
            alone = strstrt(S[i], " − ") == 0
            set ylabel (alone ? (WANTED[i] < 0 ? "−1 × " : "") . UNIT[i] : "difference" . (UNIT[i] eq "" ? "" : " in\n" . UNIT[i])) offset 0.5,0 noenhanced font ",10"
            set format y "%g"
        } else {
            unset ylabel
            set format y ""
        }
        last = 1
        do for [j=i+1:|S|] { if (DRAWN[j] && FAMILY[j] eq FAMILY[i] && COLUMN[j] == COLUMN[i]) { last = 0 } }
        if (last) { set xlabel "budget (steps)" offset 0,0.5 font ",10" } else { unset xlabel }
        set xrange [*:*]; set yrange [*:*]
        stats data using (of(S[i], "budget")) nooutput name "X"
        set xtics ()
        stats data using (at(S[i], "low") == at(S[i], "low") ? 1 : 0) nooutput
        line = 'data using (column("budget")):(at(S[i], "difference")):xtic(strcol("budget")) with lines lt 1 lw 2, ' . \
            'data using (column("budget")):(at(S[i], "difference")):(shape(strcol("verdict"))):(shade(strcol("verdict"))) with points pt variable lc rgb variable ps 1'
        band = STATS_max == 0 ? '' : 'data using (column("budget")):(at(S[i], "low")):(at(S[i], "high")) with filledcurves lc rgb "#56B4E9" fs transparent solid 0.35 noborder, '
        set xrange [X_min / 1.3:X_max * 1.3]
        set yrange [least - 0.05 * (most - least):most + 0.05 * (most - least)]
        eval "plot " . band . line
        unset label
    }
}
unset multiplot
