# Measures of hidden states over the steps of training, a panel each; bars are 95 % intervals (+- 1.96 se of a single run).
# result: phases course.csv, known step
# input: course.csv of cospec phases (columns series, metric, run, step, value, se, low, high): the means over runs, or the only run.
names = ""
count = 0
array M[6]
number(s) = s eq "" ? NaN : real(s)
means = 0
note(s) = (strstrt(names, "|" . s . "|") || count >= 6) ? 0 : (count = count + 1, names = names . "|" . s . "|", M[count] = s, 0)
stats data using (strlen(strcol("value")) > 0 ? note(strcol("metric")) : 0) nooutput name "NOTED"
stats data using (strcol("run") eq "mean" ? (means = 1, 1) : 0) nooutput name "MEANS"
shown(r) = means ? r eq "mean" : 1
of_panel(s, m, x) = (strcol("series") eq s && strcol("metric") eq m && shown(strcol("run"))) ? x : NaN
low(v) = strlen(strcol("low")) > 0 ? number(strcol("low")) : v - 1.96 * number(strcol("se"))
high(v) = strlen(strcol("high")) > 0 ? number(strcol("high")) : v + 1.96 * number(strcol("se"))
spaced(s) = strstrt(s, "_") ? s[1:strstrt(s, "_") - 1] . " " . s[strstrt(s, "_") + 1:*] : s
set xlabel "step"
set ylabel "" noenhanced
unset key
set title noenhanced font ",12"
set logscale xy
set lmargin 9
stats data using (number(strcol("step"))) nooutput name "STEP"
set xrange [0.8:STEP_max * 1.25]
if (format eq "svg") { set terminal svg size 760,900 dynamic background "white" font "DejaVu Sans,12" linewidth 1.2 }
if (format eq "png") { set terminal pngcairo size 1140,1350 background "white" font "DejaVu Sans,12" linewidth 1.6 }
if (format eq "pdf") { set terminal pdfcairo size 7in,8.3in background "white" font "DejaVu Sans,10" linewidth 1.2 }
set output @drawing
set multiplot layout count, 1
do for [p=1:count] {
    if (p == 1) { set key outside right top } else { unset key; set rmargin at screen 0.75 }
    set title spaced(M[p])
    plot for [i=1:|S|] data using (of_panel(S[i], M[p], number(strcol("step")))):(number(strcol("value"))):(low(number(strcol("value")))):(high(number(strcol("value")))) with yerrorbars lt i ps 0 notitle, \
        for [i=1:|S|] data using (of_panel(S[i], M[p], number(strcol("step")))):(number(strcol("value"))) smooth unique with linespoints lt i title (S[i] eq "" ? "" : S[i])
}
unset multiplot
