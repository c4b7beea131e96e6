# Leading singular values of real co-occurrence matrices by objective.
# input: spectrum.csv of cospec connectivity (columns series, index, sigma)
set xlabel "index j"
set ylabel "singular value σ_j" noenhanced
set logscale x
set yrange [0:1.03]
plot for [i=1:|S|] data using (column("index")):(of(S[i], "sigma")) with linespoints lt i pi 4 title S[i]
