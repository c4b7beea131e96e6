# Claims at one budget, a panel a family: the difference of the two sides, right of 0 as claimed, with the 95 % interval of each comparison alone; grey: too small to matter.
# input: differences.csv of cospec reproduce (columns series, label, place, wanted, difference, low, high, verdict, matters, p_small)
ROW = 30; HEAD = 62.0 # heights in pixels of the screen; a row has its label above its bar
array COUNT[|S|]
array MATTERS[|S|]
height = 60
do for [i=1:|S|] {
    stats data using (of(S[i], "place")) nooutput
    COUNT[i] = STATS_max
    stats data using (strcol("series") eq S[i] ? (strcol("matters") eq "" ? 0 : column("matters")) : NaN) nooutput
    MATTERS[i] = STATS_max
    height = height + HEAD + ROW * COUNT[i]
}
if (format eq "svg") set terminal svg size 740,height dynamic background "white" font "DejaVu Sans,10" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1110,1.5 * height background "white" font "DejaVu Sans,10" fontscale 1.5 linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 6.8in,(height / 110)in background "white" font "DejaVu Sans,8" linewidth 1.2
set output name . "." . format
set multiplot
set lmargin at screen 0.03
set rmargin at screen 0.97
unset ytics
set xtics font ",9"
set grid noy
unset key
# Filled: decided, a disc as claimed, a square the other way. A ring: cannot tell, a diamond: smaller than what matters. A cross: open.
shape(v) = v eq "agree" ? 7 : v eq "disagree" ? 5 : v eq "open" ? 2 : strlen(strcol("p_small")) > 0 && column("p_small") <= 0.05 ? 13 : 6
shade(v) = v eq "agree" ? 0x009E73 : v eq "disagree" ? 0xD55E00 : v eq "open" ? 0x7A0177 : 0x444444
at(s, c) = of(s, c) * column("wanted")
set label 1 "right of 0: as claimed; 95 % interval; disc: agree, square: disagree, ring: cannot tell," at screen 0.5,(1 - 14.0 / height) center font ",9"
set label 2 "diamond: no difference that matters (the grey band), cross: open" at screen 0.5,(1 - 30.0 / height) center font ",9"
top = 1 - 80.0 / height
do for [i=1:|S|] {
    bottom = top - ROW * COUNT[i] / height
    set tmargin at screen top
    set bmargin at screen bottom
    set title S[i] noenhanced font ",11" offset 0,-0.6
    unset object
    if (MATTERS[i] > 0) { set object 1 rectangle from -MATTERS[i],graph 0 to MATTERS[i],graph 1 behind fc rgb "#EEEEEE" fs solid noborder }
    # 0 and what matters are in view.
    set xrange [*:*]
    set yrange [*:*]
    stats data using (at(S[i], "low")) nooutput name "LOW"
    stats data using (at(S[i], "high")) nooutput name "HIGH"
    least = LOW_min < HIGH_min ? LOW_min : HIGH_min
    most = LOW_max > HIGH_max ? LOW_max : HIGH_max
    least = least < -MATTERS[i] ? least : -MATTERS[i]
    most = most > MATTERS[i] ? most : MATTERS[i]
    set yrange [COUNT[i] + 0.4:0.3]
    if (most == least) { most = least + 1 }
    left = least - 0.03 * (most - least)
    set xrange [left:most + 0.03 * (most - least)]
    set arrow 1 from 0,graph 0 to 0,graph 1 nohead lc rgb "#444444"
    plot data using (at(S[i], "difference")):(of(S[i], "place")):(at(S[i], "low")):(at(S[i], "high")):(shade(strcol("verdict"))) with xerrorbars lc rgb variable pt -1 ps 0, \
         data using (at(S[i], "difference")):(of(S[i], "place")):(shape(strcol("verdict"))):(shade(strcol("verdict"))) with points pt variable lc rgb variable ps 1, \
         data using (left):(of(S[i], "place") - 0.42):(strcol("series") eq S[i] ? strcol("label") : "") with labels left offset 0.5,0 noenhanced font ",9"
    unset label
    top = bottom - HEAD / height
}
unset multiplot
