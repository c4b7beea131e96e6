# Connectivity against generation: objectives, and points that no law of the frontier's family can pass, with its contexts; objectives beside
# it are of any family, and may. The frontier is certified at its points alone.
# result: design frontier.csv
# input: frontier.csv of cospec design --frontier (columns kind, series, next_token_weight, value, bound)
if (format eq "svg") set terminal svg size 900,600 dynamic background "white" font "DejaVu Sans,13" linewidth 1.2
if (format eq "png") set terminal pngcairo size 1350,900 background "white" font "DejaVu Sans,13" linewidth 1.6
if (format eq "pdf") set terminal pdfcairo size 8.2in,5.5in background "white" font "DejaVu Sans,11" linewidth 1.2
set output @drawing
set xlabel "weight on the next token: what generation is trained on"
set ylabel "Σ σ^4 without the ones: the less, the better connected; 0 at the lower edge"
set logscale y
set format y "10^{%L}"
set xrange [-0.02:1.02]
set rmargin at screen 0.70
set key at screen 0.71, screen 0.97 left top Left reverse maxcols 1 font ",11" spacing 1.05 samplen 1.5
size = format eq "svg" ? 0.7 : 1.5
# Kinds have a colour, their members an open shape, which does not hide what is equal: next token, later tokens, orders, masks.
starts(s, w) = s[1:strlen(w)] eq w
family(s) = s eq "frontier" ? 0 : s eq "ar" || s eq "prefix-lm" ? 1 : starts(s, "offset") ? 2 : starts(s, "diverse") || starts(s, "group") ? 3 : \
    starts(s, "permuted") || starts(s, "gvp") || starts(s, "diffusion") ? 4 : strstrt(s, "masked") ? 5 : 6
colour(k) = word("#000000 #D55E00 #009E73 #CC79A7 #0072B2 #8C6D31", k)
shape(i) = int(word("6 4 8 10 12 14 2 1", 1 + (2 * family(S[i]) + int(sum [j=1:i] (family(S[j]) == family(S[i])))) % 8))
stats data using (strcol("kind") eq "frontier" && column("value") > 0 ? log10(column("value")) : NaN) nooutput name "F"
set yrange [10**floor(F_min):]
height(s, c) = strcol("series") eq s ? (column(c) > 10**floor(F_min) ? column(c) : 10**floor(F_min)) : NaN
array by_family[|S|]
count = 0
do for [k=1:6] { do for [i=1:|S|] { if (family(S[i]) == k) { count = count + 1; by_family[count] = i } } }
# A law with a weight between two points has that of the left one too, and so no less than its bound.
last = 1
plot data using (column("next_token_weight")):(height("frontier", "bound")):(column("next_token_weight")):(right = last, last = column("next_token_weight"), right):(10**floor(F_min)):(height("frontier", "bound")) \
         with boxxyerror fs solid noborder fc rgb "#E8E8E8" title "out of reach of these laws, certified", \
     data using (column("next_token_weight")):(height("frontier", "value")) with points lc rgb "#444444" pt 7 ps size title "certified optima of laws of one family", \
     for [j=1:count] data using (column("next_token_weight")):(height(S[by_family[j]], "value")) \
         with points lc rgb colour(family(S[by_family[j]])) pt shape(by_family[j]) ps size * (1 + 0.2 * (family(S[by_family[j]]) % 3)) lw 1.4 title LABEL[by_family[j]]
