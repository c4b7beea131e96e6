# Claims at one budget, a panel for each family and unit: the difference of the two sides with its 95 % interval, right of 0 as claimed. Panels of one unit share one scale, except those whose intervals are ten times wider or narrower than usual; grey: below the threshold. A difference beyond ten thresholds is an arrow at the edge.
# result: reproduce differences.csv
# input: differences.csv of cospec reproduce (columns series, label, place, wanted, difference, low, high, verdict, matters, unit)
LINE = 15.0; GAP = 13.0; HEAD = 82.0; TOP = 60.0; WIDE = 1040.0 # sizes in pixels of the screen
LEFT = 400.0; RIGHT = 170.0; LONGEST = 58 # margins; characters of a line of a label
array PIXELS[|S|]
array COUNT[|S|]
array MATTERS[|S|]
array FROM[|S|]
array TO[|S|]
array WIDTH[|S|]
array UNIT[|S|]
array TEXT[400]
array Y[400]
array LOW[400]
array HIGH[400]
array MIDDLE[400]
array SHADE[400]
at(s, c) = of(s, c) * column("wanted")
starts(v, w) = v[1:strlen(w)] eq w
shape(v) = starts(v, "reproduced") ? 7 : starts(v, "opposite") ? 5 : starts(v, "equivalent") ? 13 : starts(v, "not test") || starts(v, "baseline") ? 2 : 6
shade(v) = starts(v, "reproduced") ? 0x1A7F4B : starts(v, "opposite") ? 0xD55E00 : starts(v, "equivalent") ? 0x0072B2 : starts(v, "not test") || starts(v, "baseline") ? 0x5B4A91 : 0x444444
# Labels break at blanks.
cut(s, n) = n < 2 ? LONGEST + 1 : s[n:n] eq " " && s[n + 1:n + 1] ne "%" ? n : cut(s, n - 1)
wrap(s) = strlen(s) <= LONGEST ? s : s[1:cut(s, LONGEST + 1) - 1] . "\n" . wrap(s[cut(s, LONGEST + 1) + 1:*])
lines(s) = strlen(s) <= LONGEST ? 1 : 1 + lines(s[cut(s, LONGEST + 1) + 1:*])
# A number with two digits of its error.
decimals(m) = m > 0 ? (1 - floor(log10(m / 1.96)) > 0 ? 1 - floor(log10(m / 1.96)) : 0) : 3
rounded(x, m) = sprintf(sprintf("%%.%df", decimals(m)), x)
height = TOP
do for [i=1:|S|] {
    stats data using (strcol("series") eq S[i] ? (UNIT[i] = strcol("unit"), column("place")) : NaN) nooutput
    COUNT[i] = STATS_max
    stats data using (strcol("series") eq S[i] ? (strcol("matters") eq "" ? 0 : column("matters")) : NaN) nooutput
    MATTERS[i] = STATS_max
    PIXELS[i] = 0
    stats data using (strcol("series") eq S[i] ? (PIXELS[i] = PIXELS[i] + GAP + LINE * lines(strcol("label")), 0) : NaN) nooutput
    height = height + HEAD + PIXELS[i]
}
if (format eq "svg") set terminal svg size WIDE,height dynamic background "white" font "DejaVu Sans,12" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1.5 * WIDE,1.5 * height background "white" font "DejaVu Sans,12" fontscale 1.2 linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 9.4in,(height / 110)in background "white" font "DejaVu Sans,9" linewidth 1.2
set output @drawing
set multiplot
set lmargin at screen LEFT / WIDE
set rmargin at screen 1 - RIGHT / WIDE
set grid noy
set grid xtics
unset ytics
unset key
key(x, v, p, c) = sprintf('set label "%s" at screen %g,%g left point pt %d lc rgb %d ps 1.1 offset 1.2,0', v, x, 1 - 18.0 / height, p, c)
eval key(0.03, "reproduced", 7, 0x1A7F4B)
eval key(0.17, "opposite", 5, 0xD55E00)
eval key(0.29, "equivalent (grey: below the threshold)", 13, 0x0072B2)
eval key(0.63, "undetermined", 6, 0x444444)
eval key(0.79, "not tested", 2, 0x5B4A91)
# The range of each panel, and the mean width of its intervals.
edge(s, a, b) = at(s, a) < at(s, b) ? at(s, a) : at(s, b)
do for [i=1:|S|] {
    M = MATTERS[i]
    stats data using (edge(S[i], "low", "high")) nooutput
    FROM[i] = STATS_min < (M > 0 ? -2.5 * M : 0) ? STATS_min : M > 0 ? -2.5 * M : 0
    if (M > 0 && FROM[i] < -10 * M) { FROM[i] = -10 * M }
    stats data using (-edge(S[i], "low", "high") + at(S[i], "low") + at(S[i], "high")) nooutput
    TO[i] = STATS_max > (M > 0 ? 2.5 * M : 0) ? STATS_max : M > 0 ? 2.5 * M : 0
    if (M > 0 && TO[i] > 10 * M) { TO[i] = 10 * M }
    stats data using (abs(at(S[i], "high") - at(S[i], "low"))) nooutput
    WIDTH[i] = STATS_mean
}
# The lower median of the widths of a unit; a panel within ten times of it has the common scale.
below(i) = (sum [j=1:|S|] (UNIT[j] eq UNIT[i] && (WIDTH[j] < WIDTH[i] || (WIDTH[j] == WIDTH[i] && j < i))))
alike(i) = (sum [j=1:|S|] (UNIT[j] eq UNIT[i]))
usual(i) = (sum [j=1:|S|] (UNIT[j] eq UNIT[i] && below(j) == (alike(j) - 1) / 2 ? WIDTH[j] : 0))
common(i) = UNIT[i] ne "" && WIDTH[i] <= 10 * usual(i) && WIDTH[i] >= usual(i) / 10
top = 1 - (TOP + 8) / height
do for [i=1:|S|] {
    bottom = top - PIXELS[i] / height
    set tmargin at screen top
    set bmargin at screen bottom
    set title S[i] noenhanced font ",13" offset 0,-0.5
    # Rows are as high as their labels; y is in pixels from the top of the panel.
    set xrange [*:*]; set yrange [*:*]
    down = 0
    stats data using (strcol("series") eq S[i] ? (k = int(column("place")), TEXT[k] = strcol("label"), \
        MIDDLE[k] = column("difference") * column("wanted"), LOW[k] = column("low") * column("wanted"), HIGH[k] = column("high") * column("wanted"), \
        SHADE[k] = shade(strcol("verdict")), 0) : NaN) nooutput
    M = MATTERS[i]
    least = FROM[i]
    most = TO[i]
    do for [j=1:|S|] {
        if (UNIT[j] eq UNIT[i] && common(i) && common(j)) {
            least = FROM[j] < least ? FROM[j] : least
            most = TO[j] > most ? TO[j] : most
        }
    }
    do for [k=1:COUNT[i]] {
        Y[k] = down + (GAP + LINE * lines(TEXT[k])) / 2
        down = down + GAP + LINE * lines(TEXT[k])
        if (LOW[k] > HIGH[k]) { swap = LOW[k]; LOW[k] = HIGH[k]; HIGH[k] = swap }
    }
    if (most == least) { most = least + 1 }
    from = least - 0.03 * (most - least); to = most + 0.03 * (most - least)
    set xrange [from:to]
    set yrange [PIXELS[i]:0]
    set xtics autofreq font ",10"
    set xlabel "difference" . (UNIT[i] eq "" ? "" : " in " . UNIT[i]) . " (right of 0: as claimed)" offset 0,0.4 noenhanced font ",11"
    unset object
    if (M > 0) { set object 1 rectangle from -M,graph 0 to M,graph 1 behind fc rgb "#E6E6E6" fs solid noborder }
    set arrow 1 from 0,graph 0 to 0,graph 1 nohead lc rgb "#444444"
    do for [k=1:COUNT[i]] {
        n = lines(TEXT[k])
        set label wrap(TEXT[k]) at graph -0.015,first Y[k] right noenhanced font ",11" offset 0,0.5 * (n - 1)
        m = (HIGH[k] - LOW[k]) / 2
        set label rounded(MIDDLE[k], m) . " (" . rounded(LOW[k], m) . " to " . rounded(HIGH[k], m) . ")" at graph 1.015,first Y[k] left noenhanced font ",10"
        if (MIDDLE[k] > to) { set label "→" at graph 0.995,first Y[k] right textcolor rgb SHADE[k] font ",15" }
        if (MIDDLE[k] < from) { set label "←" at graph 0.005,first Y[k] left textcolor rgb SHADE[k] font ",15" }
        LOW[k] = LOW[k] < from ? from : LOW[k]
        HIGH[k] = HIGH[k] > to ? to : HIGH[k]
    }
    row(c) = strcol("series") eq S[i] ? c : NaN
    place(s) = strcol("series") eq S[i] ? int(column("place")) : 1
    plot data using (at(S[i], "difference")):(row(Y[place(0)])):(row(LOW[place(0)])):(row(HIGH[place(0)])):(shade(strcol("verdict"))) with xerrorbars lc rgb variable pt -1 ps 0, \
         data using (at(S[i], "difference")):(row(Y[place(0)])):(shape(strcol("verdict"))):(shade(strcol("verdict"))) with points pt variable lc rgb variable ps 1.1
    unset label
    top = bottom - HEAD / height
}
unset multiplot
