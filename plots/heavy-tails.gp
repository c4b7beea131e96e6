# Connectivity against generation: tail sum of sigma^4 per class and the weight an objective leaves on the next token.
# result: tradeoff tradeoff.csv --where kind:prefix
# input: tradeoff.csv of cospec tradeoff, --where kind:prefix (columns series, next_token_weight, tail)
set xlabel "weight on the next token"
set ylabel "Σ_{j ≥ 2} σ_j^4 per class"
set logscale y
set xrange [0:1.08]
plot for [i=1:|S|] data using (column("next_token_weight")):(of(S[i], "tail")) with points lt i ps 1.4 title LABEL[i]
