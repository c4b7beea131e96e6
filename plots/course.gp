# Measures over the checkpoints of a training, a panel each; bars +- 1.96 se.
# result: compare scores.csv, known step
# input: scores.csv of cospec compare (columns series, claim, measure, step, value, se); its rows of course.
names = ""
count = 0
array M[12]
number(s) = s eq "" ? NaN : real(s)
note(s) = (strstrt(names, "|" . s . "|") || count >= 12) ? 0 : (count = count + 1, names = names . "|" . s . "|", M[count] = s, 0)
stats data using (strcol("claim")[1:7] eq "course." && strlen(strcol("value")) > 0 ? note(strcol("measure")) : 0) nooutput name "NOTED"
of_panel(s, m, c) = (strcol("series") eq s && strcol("measure") eq m && strcol("claim")[1:7] eq "course.") ? number(strcol(c)) : NaN
set xlabel "step"
set ylabel "" noenhanced
unset key
set title noenhanced font ",11"
if (format eq "svg") { set terminal svg size 760,820 dynamic background "white" font "DejaVu Sans,11" linewidth 1.2 }
if (format eq "png") { set terminal pngcairo size 1140,1230 background "white" font "DejaVu Sans,11" linewidth 1.6 }
if (format eq "pdf") { set terminal pdfcairo size 7in,7.6in background "white" font "DejaVu Sans,9" linewidth 1.2 }
set output @drawing
set multiplot layout (count + 1) / 2, 2
stats data using (number(strcol("step"))) nooutput name "STEP"
set xrange [0:1.03 * STEP_max]
do for [p=1:count] {
    if (p == 1) { set key inside top right } else { unset key }
    set title M[p]
    plot for [i=1:|S|] data using (of_panel(S[i], M[p], "step")):(of_panel(S[i], M[p], "value")):(1.96 * number(strcol("se"))) with yerrorbars lt i ps 0 notitle, \
        for [i=1:|S|] data using (of_panel(S[i], M[p], "step")):(of_panel(S[i], M[p], "value")) smooth unique with linespoints lt i title (S[i] eq "" ? "" : S[i])
}
unset multiplot
