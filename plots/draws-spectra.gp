# Leading singular values of a sampled co-occurrence matrix by the number of plans drawn per sequence.
# result: cooc draws.csv --series draws
# input: draws.csv of cospec cooc --draws 0,N1,N2,... --series draws (columns series, index, sigma); series 0 is exact
set xlabel "index j"
set ylabel "singular value σ_j"
set yrange [0:1.02]
dash(s) = s eq "0" ? 2 : 1
width(s) = s eq "0" ? 2.5 : 1
name_of(s) = s eq "0" ? "exact" : s . " draws"
plot for [i=1:|S|] data using (column("index")):(of(S[i], "sigma")) with linespoints lt i lw width(S[i]) dt dash(S[i]) title name_of(S[i])
