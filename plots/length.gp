# Perplexity of the next token against the number of tokens seen (LA Figure 3); bands +- 1.96 se. Lengths with few predictions are left out.
# Dashed: a unigram on the predictions of the first model that has one beside it.
# result: perplexity by-length.csv
# input: by-length.csv of cospec perplexity, one a model (columns series, ask, k, nll, se, n, unigram); the pseudo-likelihood is left out
stats data using (column("n")) nooutput name "PREDICTED"
least = PREDICTED_max < 120 ? PREDICTED_max / 4.0 : 30
nll(s, a) = strcol("ask") eq a && column("n") >= least ? of(s, "nll") : NaN
first(s) = strcol("ask") eq "append" ? nll(s, "append") : nll(s, "prefix")
spread(s) = strcol("series") eq s && column("se") >= 0 ? 1.96 * column("se") : 0
filled = ""
do for [i=1:|S|] {
    stats data using (strcol("ask") eq "remaining" && strcol("series") eq S[i] && column("n") >= least ? 1 : 0) nooutput name "ASKED"
    if (ASKED_max > 0) { filled = filled . sprintf(" %d", i) }
}
based = 0
do for [i=|S|:1:-1] {
    stats data using (strcol("series") eq S[i] && strlen(strcol("unigram")) > 0 ? 1 : 0) nooutput name "BASED"
    if (BASED_max > 0) { based = i }
}
base(s) = strcol("series") eq s && (strcol("ask") eq "append" || strcol("ask") eq "prefix") && column("n") >= least ? column("unigram") : NaN
set xlabel sprintf("tokens seen (each length with %d predictions or more)", ceil(least))
set ylabel "perplexity of the next token (log scale)"
set logscale y
set xrange [0:*]
# Above the plot: beside it, its longest entry would take a third of the width.
set key outside top center horizontal
curves = "for [i=1:|S|] data using (column('k')):(exp(first(S[i]) - spread(S[i]))):(exp(first(S[i]) + spread(S[i]))) with filledcurves lt i fs transparent solid 0.2 noborder notitle, for [i=1:|S|] data using (column('k')):(exp(first(S[i]))) with linespoints lw 1.5 lt i title S[i]"
if (based > 0) { curves = curves . ', data using (column("k")):(exp(base(S[based]))) with lines lw 1.5 dt 2 lc rgb "#000000" title "unigram"' }
if (words(filled) == 0) {
    plot @curves
} else {
    plot @curves, \
         for [j=1:words(filled)] data using (column("k")):(exp(nll(S[int(word(filled, j))], "remaining"))) with lines lw 1.5 dt 3 lt int(word(filled, j)) notitle, \
         NaN with lines lw 1.5 dt 3 lc rgb "#444444" title "dotted: [MASK] at all that remain"
}
