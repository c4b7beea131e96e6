# Leading singular values of real co-occurrence matrices by objective.
# input: spectrum.csv of cospec connectivity (columns series, index, sigma)
set xlabel "index j"
set ylabel "singular value σ_j"
set logscale x
set yrange [0:1.03]
# Series come as "OBJECTIVE blind", "OBJECTIVE given": one colour an objective, given dashed.
dash(s) = strstrt(s, " given") > 0 ? 3 : 1
plot for [i=1:|S|] data using (column("index")):(of(S[i], "sigma")) with lines lw 2 lt (i + 1) / 2 dt dash(S[i]) title S[i]
