# Leading singular values of real co-occurrence matrices: a colour an objective, target position blind (solid) and given (dashed).
# result: svd svd.csv
# result: connectivity spectrum.csv
# input: spectrum.csv of cospec connectivity (columns series, index, sigma)
stats data using (column("index")) name "INDEX" nooutput
set xlabel "index j (log scale)"
set ylabel "singular value σ_j"
set logscale x
set xrange [*:*] noextend
set yrange [*:1]
# Series come as "OBJECTIVE blind", "OBJECTIVE given", or as a file's name.
objective(s) = strstrt(s, " blind") > 0 ? s[1:strstrt(s, " blind") - 1] : strstrt(s, " given") > 0 ? s[1:strstrt(s, " given") - 1] : s
given(s) = strstrt(s, " given") > 0
array colour[|S|]
array first[|S|]
count = 0
positions = 0
do for [i=1:|S|] {
    positions = positions || given(S[i])
    colour[i] = 0
    first[i] = 0
    do for [j=1:i - 1] { if (objective(S[j]) eq objective(S[i])) { colour[i] = colour[j] } }
    if (colour[i] == 0) { count = count + 1; colour[i] = count; first[i] = 1 }
}
style = INDEX_max > 1 ? "lines" : "linespoints pt 7" # a single value has no line
curves = "for [i=1:|S|] data using (column('index')):(of(S[i], 'sigma')) with " . style . " lw 2 lt colour[i] dt given(S[i]) ? 3 : 1 title first[i] ? objective(LABEL[i]) : ''"
if (positions) {
    plot @curves, NaN with lines lw 2 lc rgb "#444444" title "position blind", NaN with lines lw 2 dt 3 lc rgb "#444444" title "position given"
} else {
    plot @curves
}
