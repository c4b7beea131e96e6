# Each prediction against the first outcome at one budget, a panel each: circles are blind models, squares know the position; bars: the standard deviation over runs. The models at the ends are named.
# result: correlate pairs.csv --series prediction --where budget:*
# input: pairs.csv of cospec correlate --series prediction --where budget:B (columns series, outcome, object, x, y, y_sd)
N = |S|
across = N > 1 ? 2 : 1
down = (N + across - 1) / across
if (format eq "svg") set terminal svg size 1000,40 + 340 * down dynamic background "white" font "DejaVu Sans,12" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1500,60 + 510 * down background "white" font "DejaVu Sans,12" fontscale 1.2 linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 9.0,0.4 + 3.1 * down background "white" font "DejaVu Sans,8" linewidth 1.2
set output @drawing
set multiplot layout down, across
unset key
set format x "%g"
set ytics font ",10"
set xtics font ",10"
blind(s, k, c) = strcol("series") eq s && (strstrt(strcol("object"), "blind") > 0) == k ? column(c) : NaN
array X[1000]
array Y[1000]
array NAME[1000]
array SPREAD[1000]
array LEFT_OF[4]
array RIGHT_OF[4]
array BASE[4]
array WHO[4]
# A name is where it covers no point and no other name: right or left of its point, above or below; widths are shares of the panel.
HIGH = 0.075
begins(j, side) = side > 0 ? across_of(j) + 0.02 : across_of(j) - 0.02 - 0.021 * strlen(NAME[j])
ends(j, side) = begins(j, side) + 0.021 * strlen(NAME[j])
points_in(a, b, y) = sum [p=1:count] (across_of(p) > a - 0.008 && across_of(p) < b + 0.008 && abs(up_of(p) - y) < HIGH / 2 + SPREAD[p] / (y_max - y_min))
names_in(a, b, y) = named == 0 ? 0 : (sum [i=1:named] (RIGHT_OF[i] > a && LEFT_OF[i] < b && abs(BASE[i] - y) < HIGH))
clear(j, side, y) = begins(j, side) > -0.07 && ends(j, side) < 1.07 && points_in(begins(j, side), ends(j, side), y) == 0 && names_in(begins(j, side), ends(j, side), y) == 0
across_of(j) = logged ? (log10(X[j]) - log10(x_min)) / (log10(x_max) - log10(x_min)) : (X[j] - x_min) / (x_max - x_min)
up_of(j) = (Y[j] - y_min) / (y_max - y_min)
do for [i=1:N] {
    set xlabel LABEL[i] noenhanced font ",12"
    set xrange [*:*]; set yrange [*:*]
    unset logscale x
    count = 0
    outcome = ""
    stats data using (strcol("series") eq S[i] ? (count = count + 1, X[count] = column("x"), Y[count] = column("y"), NAME[count] = strcol("object"), SPREAD[count] = column("y_sd") >= 0 ? column("y_sd") : 0, outcome = strcol("outcome"), 0) : NaN) nooutput
    set ylabel outcome noenhanced font ",12"
    x_min = X[1]; x_max = X[1]; y_min = Y[1]; y_max = Y[1]; left = 1; right = 1; low = 1; high = 1
    do for [j=1:count] {
        if (X[j] < x_min) { x_min = X[j]; left = j }
        if (X[j] > x_max) { x_max = X[j]; right = j }
        if (Y[j] < y_min) { y_min = Y[j]; low = j }
        if (Y[j] > y_max) { y_max = Y[j]; high = j }
    }
    logged = x_min > 0 && x_max > 20 * x_min
    if (x_max == x_min) { x_max = x_min + (x_min == 0 ? 1 : abs(x_min)) }
    if (y_max == y_min) { y_max = y_min + (y_min == 0 ? 1 : abs(y_min)) }
    if (logged) { set logscale x }
    if (logged) { set xrange [x_min / (x_max / x_min)**0.08:x_max * (x_max / x_min)**0.08] } else { set xrange [x_min - 0.08 * (x_max - x_min):x_max + 0.08 * (x_max - x_min)] }
    set yrange [y_min - 0.12 * (y_max - y_min):y_max + 0.16 * (y_max - y_min)]
    named = 0
    do for [j in sprintf("%d %d %d %d", high, low, left, right)] {
        k = int(j)
        done = named == 0 ? 0 : (sum [m=1:named] (WHO[m] == k))
        do for [s in "1 -1"] {
            do for [d in "0 0.06 -0.06 0.1 -0.1"] {
                side = int(s)
                y = up_of(k) + real(d)
                if (!done && clear(k, side, y)) {
                    done = 1
                    named = named + 1
                    WHO[named] = k
                    LEFT_OF[named] = begins(k, side); RIGHT_OF[named] = ends(k, side); BASE[named] = y
                    if (side > 0) { set label NAME[k] at X[k],y_min + y * (y_max - y_min) left offset 0.7,0 noenhanced font ",10" textcolor rgb "#333333"
                    } else { set label NAME[k] at X[k],y_min + y * (y_max - y_min) right offset -0.7,0 noenhanced font ",10" textcolor rgb "#333333" }
                }
            }
        }
    }
    plot for [k=0:1] data using (blind(S[i], k, "x")):(blind(S[i], k, "y")):(column("y_sd") >= 0 ? column("y_sd") : 0) with yerrorbars lt k + 1 pt (k ? 7 : 5) ps 0.6
    unset label
}
unset multiplot
