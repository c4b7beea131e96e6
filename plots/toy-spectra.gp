# Singular values of the toy model by objective: Theorem 4.2 and its extension.
# result: toy toy.csv
# input: one or more toy.csv (columns index, sigma, multiplicity), a series each
# A value of multiplicity n fills the indices index .. index + n - 1: drawn as a bar of that width, later series thinner, so that equal values stay visible.
set xlabel "index j"
set ylabel "singular value σ_j"
set yrange [0:1.06]
set xrange [0.5:*]
set errorbars 0
plot for [i=1:|S|] data using (column("index") + 0.5 * (column("multiplicity") - 1)):(of(S[i], "sigma")):(0.5 * column("multiplicity")) \
    with xerrorbars lt i lw 5.0 * (|S| + 1 - i) / |S| + 0.7 pt -1 title S[i]
