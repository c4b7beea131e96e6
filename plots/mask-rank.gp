# Effective rank by layer of one text with [MASK] and without, and of the encoder of MAE-LM (its Figures 1a, 5a, 6).
# result: mask-rank mask_rank.csv
# input: mask_rank.csv of cospec mask-rank (columns series, states, layer, metric, value, se), metric rank_tau_corrected; bars +- 2.093 se: Student's 95 % interval of 20 blocks of documents, as the claims have it
set xlabel "layer (0: embeddings)\nbars: 95 % intervals over documents (Student, 20 blocks);\nnone seen: smaller than the line"
set ylabel "effective rank (rank_τ, bias-corrected)"
set xtics 1
set xrange [*:*] noextend
set offsets 0.3, 0.3, 0, 0
set yrange [0:*]
# The sets of rows that the gap compares, in the order of the table: of models with `dropped` the rows of the same tokens in
# the whole text (without-kept), as many; all of its rows (without-mask) would be more.
ends(s, e) = strlen(s) >= strlen(e) && s[strlen(s) - strlen(e) + 1:] eq e
less(s, e) = s[:strlen(s) - strlen(e)]
encoders = ""
do for [i=1:|S|] { if (ends(S[i], " dropped")) { encoders = encoders . "|" . S[i][:strlen(S[i]) - 8] . "|" } }
whole(s) = ends(s, " without-mask") && strstrt(encoders, "|" . s[:strlen(s) - 13] . "|") == 0
shown(s) = ends(s, " with-mask") || whole(s) || ends(s, " dropped") || ends(s, " without-kept")
list = ""
do for [i=1:|S|] { if (shown(S[i])) { list = list . i . " " } }
pick(s, c) = strcol("metric") eq "rank_tau_corrected" ? of(s, c) : NaN
called(s) = ends(s, " with-mask") ? less(s, " with-mask") . ": with [MASK]" : ends(s, " without-mask") ? less(s, " without-mask") . ": without" : \
    ends(s, " dropped") ? less(s, " dropped") . ": without what is masked" : less(s, " without-kept") . ": the same tokens, unmasked"
# Curves that coincide stay visible: every other one is dashed.
plot for [k=1:words(list)] data using (column("layer")):(pick(S[int(word(list, k))], "value")):(2.093 * column("se")) with yerrorbars lt k ps 0 notitle, \
    for [k=1:words(list)] data using (column("layer")):(pick(S[int(word(list, k))], "value")) with linespoints lt k dt 2 - k % 2 title called(S[int(word(list, k))])
