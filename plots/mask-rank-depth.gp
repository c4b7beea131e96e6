# Effective rank by layer of the rows at [MASK] alone (MAE-LM, Figure 1b) or of rare tokens, beside as many other rows of the same text.
# result: mask-rank mask_rank.csv
# input: mask_rank.csv of cospec mask-rank (columns series, states, layer, metric, value, se), metric rank_tau_corrected; bars +- 2.093 se: Student's 95 % interval of 20 blocks of documents, as the claims have it
set xlabel "layer (0: embeddings)\nbars: 95 % intervals over documents (Student, 20 blocks);\nnone seen: smaller than the line"
set ylabel "effective rank (rank_τ, bias-corrected)"
set xtics 1
set xrange [*:*] noextend
set offsets 0.3, 0.3, 0, 0
set yrange [0:*]
ends(s, e) = strlen(s) >= strlen(e) && s[strlen(s) - strlen(e) + 1:] eq e
less(s, e) = s[:strlen(s) - strlen(e)]
shown(s) = ends(s, " mask-only") || ends(s, " real-sample") || ends(s, " rare-only") || ends(s, " others-sample")
list = ""
do for [i=1:|S|] { if (shown(S[i])) { list = list . i . " " } }
pick(s, c) = strcol("metric") eq "rank_tau_corrected" ? of(s, c) : NaN
called(s) = ends(s, " mask-only") ? less(s, " mask-only") . ": [MASK] alone" : ends(s, " real-sample") ? less(s, " real-sample") . ": as many real tokens" : \
    ends(s, " rare-only") ? less(s, " rare-only") . ": rare tokens alone" : less(s, " others-sample") . ": as many others"
# Curves that coincide stay visible: every other one is dashed.
plot for [k=1:words(list)] data using (column("layer")):(pick(S[int(word(list, k))], "value")):(2.093 * column("se")) with yerrorbars lt k ps 0 notitle, \
    for [k=1:words(list)] data using (column("layer")):(pick(S[int(word(list, k))], "value")) with linespoints lt k dt 2 - k % 2 title called(S[int(word(list, k))])
