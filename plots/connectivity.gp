# Sum of sigma^4 of real co-occurrence matrices, target position blind and given: smaller is better connected (Theorem 4.1).
# input: connectivity.csv of cospec connectivity (columns series, target_position, metric, value, se), metric sum_sigma4; bars +- 1.96 se
set ylabel "sum of σ_j^4 (log scale)"
set xtics rotate by -25 noenhanced
set logscale y
set key inside top right
set grid noxtics
pick(p, c) = strcol("metric") eq "sum_sigma4" && strcol("target_position") eq p ? column(c) : NaN
N = |S|
at(s) = sum [i=1:N] (S[i] eq s ? i : 0)
set xrange [0.4:N + 0.6]
set xtics ()
do for [i=1:N] { set xtics add (S[i] i) }
plot data using (at(strcol("series")) - 0.19):(pick("blind", "value")) with points lt 1 pt 7 ps 1.2 title "target position blind", \
     data using (at(strcol("series")) + 0.19):(pick("given", "value")) with points lt 2 pt 5 ps 1.2 title "target position given", \
     data using (at(strcol("series")) - 0.19):(pick("blind", "value") - 1.96 * column("se")):(0):(3.92 * column("se")) with vectors heads size graph 0.008,90 lc rgb "#000000" lw 1.5 notitle, \
     data using (at(strcol("series")) + 0.19):(pick("given", "value") - 1.96 * column("se")):(0):(3.92 * column("se")) with vectors heads size graph 0.008,90 lc rgb "#000000" lw 1.5 notitle
