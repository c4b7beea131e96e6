# Claims at one budget, a panel for each family and unit: the difference of the two sides with its 95 % interval, right of 0 as claimed. Panels of one unit share one scale; grey: below the threshold.
# input: differences.csv of cospec reproduce (columns series, label, place, wanted, difference, low, high, verdict, matters, unit)
ROW = 34; HEAD = 84.0; TOP = 60.0 # heights in pixels of the screen
array COUNT[|S|]
array MATTERS[|S|]
array UNIT[|S|]
array LEAST[|S|]
array MOST[|S|]
at(s, c) = of(s, c) * column("wanted")
height = TOP
do for [i=1:|S|] {
    stats data using (strcol("series") eq S[i] ? (UNIT[i] = strcol("unit"), column("place")) : NaN) nooutput
    COUNT[i] = STATS_max
    stats data using (strcol("series") eq S[i] ? (strcol("matters") eq "" ? 0 : column("matters")) : NaN) nooutput
    MATTERS[i] = STATS_max
    stats data using (at(S[i], "low")) nooutput name "LOW"
    stats data using (at(S[i], "high")) nooutput name "HIGH"
    LEAST[i] = LOW_min < HIGH_min ? LOW_min : HIGH_min
    MOST[i] = LOW_max > HIGH_max ? LOW_max : HIGH_max
    # 0 and the threshold are in view.
    LEAST[i] = LEAST[i] < -MATTERS[i] ? LEAST[i] : -MATTERS[i]
    MOST[i] = MOST[i] > MATTERS[i] ? MOST[i] : MATTERS[i]
    height = height + HEAD + ROW * COUNT[i]
}
if (format eq "svg") set terminal svg size 920,height dynamic background "white" font "DejaVu Sans,12" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1380,1.5 * height background "white" font "DejaVu Sans,12" fontscale 1.5 linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 8.4in,(height / 110)in background "white" font "DejaVu Sans,9" linewidth 1.2
set output @drawing
set multiplot
set lmargin at screen 0.47
set rmargin at screen 0.97
set grid noy
set grid xtics
unset ytics
unset key
starts(v, w) = v[1:strlen(w)] eq w
shape(v) = starts(v, "reproduced") ? 7 : starts(v, "opposite") ? 5 : starts(v, "equivalent") ? 13 : starts(v, "not tested") ? 2 : 6
shade(v) = starts(v, "reproduced") ? 0x1A7F4B : starts(v, "opposite") ? 0xD55E00 : starts(v, "equivalent") ? 0x0072B2 : starts(v, "not tested") ? 0x5B4A91 : 0x444444
# Long labels have two lines, the second from the minus sign on.
minus = " − "
two(s) = strlen(s) > 52 && strstrt(s, minus) > 0 ? s[1:strstrt(s, minus) - 1] . "\n−" . s[strstrt(s, minus) + strlen(minus) - 1:*] : s
set label 1 "reproduced" at screen 0.03,(1 - 18.0 / height) left point pt 7 lc rgb 0x1A7F4B ps 1.1 offset 1.2,0
set label 2 "opposite" at screen 0.19,(1 - 18.0 / height) left point pt 5 lc rgb 0xD55E00 ps 1.1 offset 1.2,0
set label 3 "equivalent (grey: below the threshold)" at screen 0.33,(1 - 18.0 / height) left point pt 13 lc rgb 0x0072B2 ps 1.1 offset 1.2,0
set label 4 "undetermined" at screen 0.69,(1 - 18.0 / height) left point pt 6 lc rgb 0x444444 ps 1.1 offset 1.2,0
set label 5 "not tested" at screen 0.86,(1 - 18.0 / height) left point pt 2 lc rgb 0x5B4A91 ps 1.1 offset 1.2,0
top = 1 - (TOP + 8) / height
array LABELS[64]
do for [i=1:|S|] {
    bottom = top - ROW * COUNT[i] / height
    set tmargin at screen top
    set bmargin at screen bottom
    set title S[i] noenhanced font ",13" offset 0,-0.5
    least = LEAST[i]; most = MOST[i]
    do for [j=1:|S|] { if (UNIT[i] ne "" && UNIT[j] eq UNIT[i]) { least = LEAST[j] < least ? LEAST[j] : least; most = MOST[j] > most ? MOST[j] : most } }
    if (most == least) { most = least + 1 }
    set xrange [least - 0.03 * (most - least):most + 0.03 * (most - least)]
    set yrange [COUNT[i] + 0.5:0.5]
    set xlabel "difference" . (UNIT[i] eq "" ? "" : " in " . UNIT[i]) . ", right of 0 as claimed" offset 0,0.4 noenhanced
    unset object
    if (MATTERS[i] > 0) { set object 1 rectangle from -MATTERS[i],graph 0 to MATTERS[i],graph 1 behind fc rgb "#E6E6E6" fs solid noborder }
    set arrow 1 from 0,graph 0 to 0,graph 1 nohead lc rgb "#444444"
    do for [k=1:COUNT[i]] { LABELS[k] = "" }
    set xrange [*:*]; set yrange [*:*]
    stats data using (strcol("series") eq S[i] ? (LABELS[int(column("place"))] = two(strcol("label")), 0) : NaN) nooutput
    set xrange [least - 0.03 * (most - least):most + 0.03 * (most - least)]
    set yrange [COUNT[i] + 0.5:0.5]
    do for [k=1:COUNT[i]] { set label 9 + k LABELS[k] at graph -0.015,first k right noenhanced font ",11" offset 0,(strstrt(LABELS[k], "\n") > 0 ? 0.4 : 0) }
    plot data using (at(S[i], "difference")):(of(S[i], "place")):(at(S[i], "low")):(at(S[i], "high")):(shade(strcol("verdict"))) with xerrorbars lc rgb variable pt -1 ps 0, \
         data using (at(S[i], "difference")):(of(S[i], "place")):(shape(strcol("verdict"))):(shade(strcol("verdict"))) with points pt variable lc rgb variable ps 1.1
    unset label
    top = bottom - HEAD / height
}
unset multiplot
