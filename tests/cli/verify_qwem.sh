# verify qwem: the gradient flow of symmetric counts against its closed forms; the table; what is refused.
. tests/cli/lib.sh

# Words in windows whose pairs count in both directions.
words() {
    awk 'BEGIN { srand(3); for (i = 0; i < 300; ++i) { s = ""; for (j = 0; j < 9; ++j) s = s " w" substr("abcdefghijklmnop", 1 + int(16 * rand() * rand()), 1); print s } }' > w.txt
    exits 0 "$COSPEC" cooc --corpus w.txt --objective masked --context each:2:linear --vocab all -o words
}

# Rows of the folder are in another order than tokens. Every statement but the limit holds, as the gaps are small.
test_words() {
    words && exits 0 "$COSPEC" verify qwem --matrix words --features 2 --csv -o q || return 1
    # the order of every training is stated, also where no mode is learned
    [ "$(grep -c '^qwem-trained-order' out)" = 4 ] && [ "$(grep -c '^qwem-weighted-order' out)" = 4 ] && [ "$(grep -c '^qwem-.*PASS' out)" -ge 19 ] && ! grep -q 'FAIL' out || { fail "$(cut -c1-60 out)"; return 1; }
    grep -q '^qwem-sigmoid,printed,PASS' out && grep -q '^qwem-solution,corrected,PASS' out && grep -q '^qwem-subspace,corrected,PASS' out &&
        grep -q '^input,mode,eigenvalue,aligned,closed_form,random,learned,next_share,full,uniform,counts,skip_gram$' q/qwem.csv || { fail "$(cat q/qwem.csv)"; return 1; }
    # eigenvalues are those of svd, and times those of the closed form
    exits 0 "$COSPEC" svd words -k all --form qwem --csv || return 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "eigenvalue") c = i; next } { print $c }' out | sort -gr | head -n 1 > want
    near "$(awk -F, '$1 == "words" && $2 == 1 { print $3 }' q/qwem.csv)" "$(cat want)" 1e-10 &&
        near "$(awk -F, '$1 == "words" && $2 == 1 { print $4 - $5 }' q/qwem.csv)" 0 1e-6 &&
        near "$(awk -F, '$1 == "words" && $2 == 1 { print $9 / $6 }' q/qwem.csv)" 1 .05 || return 1
    # the course of every training begins at the start and, with equal weights, ends at the eigenvalue
    awk -F, 'NR == 1 { print; next } $1 == "words" && $5 == 1 { if ($3 == 0) low = low + ($6 < .01); last[$2] = $7 } END { print low, (last["full"] > .95), (last["uniform"] > .9) }' q/order.csv > course
    [ "$(sed -n 1p course)" = input,model,step,time,mode,sigma,share ] || fail "$(cat course)"
}

# The same bits for any number of threads. An empty row and column of a file keep the numbers of the others.
test_two_threads_agree() {
    mtx 4 4 "1 1 4" "1 3 1" "3 1 1" "3 3 3" "4 4 2" > m.mtx
    exits 0 "$COSPEC" verify qwem --matrix m.mtx --csv --threads 1 && cp out one && exits 0 "$COSPEC" verify qwem --matrix m.mtx --csv --threads 2 && cmp -s out one || { fail "${why:-threads}"; return 1; }
    grep -q '^qwem-sigmoid,printed,PASS.*m.mtx' out || fail "$(cut -c1-60 out)"
}

# The built-in example alone, which is not among all.
test_example() {
    exits 0 "$COSPEC" verify qwem --csv -o alone && [ "$(grep -c ',PASS,' out)" = 14 ] && [ "$(grep -c '8 tokens' alone/qwem.csv)" = 4 ] && exits 0 "$COSPEC" verify all --csv && ! grep -q '^qwem' out
}

test_refused() {
    mtx 1100 1100 "1 1 1" > wide.mtx
    mtx 2 2 "1 1 2" "1 2 1" "2 2 1" > m.mtx && refuses 3 'm.mtx is not symmetric' "$COSPEC" verify qwem --matrix m.mtx &&
        refuses 3 'verify qwem takes at most 1024' "$COSPEC" verify qwem --matrix wide.mtx
}

run_tests
