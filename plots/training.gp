# Training curves: loss against tokens, of training steps (thin) and of held-out documents (thick, with points).
# Cross-entropy is in nats, the spectral loss in its own unit.
# result: train log.csv
# input: log.csv of cospec train, one a model, all under one loss (columns series, tokens, loss, eval_loss)
set xlabel "tokens, millions"
set ylabel "loss a predicted token"
set xrange [0:*]
plot for [i=1:|S|] data using (column("tokens") / 1e6):(of(S[i], "loss")) with lines lw 0.8 dt 3 lt i notitle, \
     for [i=1:|S|] data using (column("tokens") / 1e6):(of(S[i], "eval_loss")) with linespoints lw 2 lt i title S[i], \
     NaN with linespoints lw 2 pt 7 ps 0.6 lc rgb "#444444" title "markers: held-out documents", \
     NaN with lines lw 0.8 dt 3 lc rgb "#444444" title "dotted: training steps"
