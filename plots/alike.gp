# How alike the layers of models are, all with all: a square a pair, MODEL:LAYER.
# result: similarity similarity.csv --series of --where metric:cka_unbiased, several of, with among of
# input: similarity.csv of cospec similarity --with, of one metric, the first matrix of each pair as the series (columns series, with, metric, value)
metric = wanted[strstrt(wanted, ":") + 1:*]
distance = metric eq "procrustes"
at(s) = sum [i=1:|S|] (s eq S[i] ? i : 0)
model(s) = s[1:strstrt(s, ":") - 1]
set title distance ? "Procrustes distance (0: a rotation takes one to the other)" : "CKA, unbiased (1: alike)"
unset key
set size ratio -1
set xrange [0.5:|S| + 0.5]
set yrange [|S| + 0.5:0.5]
set border 0
unset grid
set tics scale 0 font ",9"
set xtics rotate by 90 right noenhanced
set ytics noenhanced
set xtics ()
set ytics ()
do for [i=1:|S|] {
    set xtics add (tic(S[i]) i)
    set ytics add (tic(S[i]) i)
    if (i > 1) { if (model(S[i]) ne model(S[i - 1])) {
        set arrow from first i - 0.5, 0.5 to first i - 0.5, |S| + 0.5 nohead front lc rgb "#FFFFFF" lw 2
        set arrow from first 0.5, i - 0.5 to first |S| + 0.5, i - 0.5 nohead front lc rgb "#FFFFFF" lw 2
    } }
}
set palette defined (0 "#F7FBFF", 0.5 "#6BAED6", 1 "#08306B")
if (distance) { set palette negative }
set cbrange [0:(distance ? 2 : 1)]
set style fill solid noborder
plot data using (at(strcol("series"))):(at(strcol("with"))):(0.5):(0.5):(column("value")) with boxxyerror fc palette, \
    data using (at(strcol("with"))):(at(strcol("series"))):(0.5):(0.5):(column("value")) with boxxyerror fc palette
