# verify ntp: cross-entropy with free contexts against the support form; the table; what is refused.
. tests/cli/lib.sh

# The entropy by hand: context 1 sees 3/4 and 1/4, context 2 halves: (.5623 + .6931) / 2 nats.
test_loss_by_hand() {
    mtx 2 3 "1 1 3" "1 2 1" "2 2 2" "2 3 2" > m.mtx
    exits 0 "$COSPEC" verify ntp --matrix m.mtx --csv -o n && [ "$(grep -c '^m.mtx' n/ntp.csv)" = 5 ] || { fail "${why:-$(cat n/ntp.csv)}"; return 1; }
    sed -n '/^m.mtx/p' n/ntp.csv | awk -F, '{ if (NR > 1 && $3 > last) bad = 1; last = $3 } END { print last; exit bad }' > last || { fail "the loss rises: $(cat n/ntp.csv)"; return 1; }
    near "$(cat last)" 0.627741 1e-4 && exits 0 "$COSPEC" verify ntp --matrix m.mtx --csv --threads 1 && cp out one && exits 0 "$COSPEC" verify ntp --matrix m.mtx --csv --threads 2 && cmp -s out one || fail "${why:-threads}"
}

# Words of three topics that follow each other: orthants of the support are the topics of their texts.
test_orthants() {
    awk 'BEGIN { srand(5); for (i = 0; i < 600; ++i) { c = i % 3; line = "t" c "\t"
        for (j = 0; j < 8; ++j) line = line " " (rand() < .01 ? "z" : substr("abc", c + 1, 1)) substr("abcdefghijklmnopqrst", 1 + int(11 * rand()), 1)
        print line } }' > t.tsv
    exits 0 "$COSPEC" cooc --corpus t.tsv --vocab all --objective ar --context nearest:1 -o next &&
        exits 0 "$COSPEC" verify ntp --matrix next --csv -o n && grep -q '^ntp-orthants,printed,PASS,.*next' out || { fail "${why:-$(cut -c1-80 out)}"; return 1; }
    awk -F, 'NR == 1 { if ($0 != "input,form,directions,orthants,tokens,classes,ami,p,limit,detectable,purity,null_purity") bad = 1; next }
        $1 == "next" { ++n; if (!($7 > .5 && $7 > $10 && $8 == .001 && $11 > .7 && $12 < .6)) bad = 1 } END { exit bad || n != 2 }' n/orthants.csv || fail "$(cat n/orthants.csv)"
}

test_refused() {
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 110, 110, 110; for (i = 1; i <= 110; ++i) print i, i, 1 }' > wide.mtx
    refuses 3 'wide.mtx has 110 contexts and 110 tokens: minimising takes about 0.01 GB and up to 0.35 minutes on one core; verify ntp does so for at most about 100 of each' "$COSPEC" verify ntp --matrix wide.mtx && exits 0 "$COSPEC" verify all --csv && ! grep -q '^ntp' out
}

# A labelled matrix of that size has its orthants compared, and a note about the rest.
test_orthants_alone() {
    awk 'BEGIN { srand(6); for (i = 0; i < 400; ++i) { line = "t" i % 2 "\t"
        for (j = 0; j < 8; ++j) line = line " " substr("abcdefghij", 1 + i % 2 * 5 + int(5 * rand()), 1) substr("abcdefghijklmnopqrst", 1 + int(20 * rand()), 1)
        print line } }' > t.tsv
    exits 0 "$COSPEC" cooc --corpus t.tsv --vocab all --objective ar --context nearest:1 -o next && exits 0 "$COSPEC" verify ntp --matrix next --csv -o n &&
        says 'next has 200 contexts and 201 tokens: minimising takes about 0.034 GB and up to 2.1 minutes' && says 'Only orthants are compared' && grep -q '^next,support' n/orthants.csv && ! grep -q '^next' n/ntp.csv || fail "${why:-$(cat out err)}"
}

# One row for each id; without a gap only ntp-support is undetermined, and the note says why.
test_rows_of_the_table() {
    exits 0 "$COSPEC" verify ntp && for row in 'ntp-support *printed .* holds 1/1' 'ntp-balanced *printed .* holds 1/1' 'ntp-order *printed .* false as printed 1/1' 'ntp-order *corrected .* holds 1/1' 'ntp-orthants *printed .* holds 1/1'; do
        grep -q "^$row$" out || { fail "no row $row: $(cat out)"; return 1; }
    done
    [ "$(grep -c '^ntp' out)" = 5 ] && exits 0 "$COSPEC" verify ntp --features 1 && grep -q '^ntp-support *printed .* - *undetermined 1/1$' out && grep -q '^ntp-order *corrected .* holds 1/1$' out &&
        grep -q 'ntp-support is undetermined: no gap after the leading values of the support form' err || fail "${why:-$(cat out err)}"
}

# Blocks of different weight: the leading direction of a - p / V is among those of the support form.
test_no_order_of_the_same_directions() {
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 12, 12, 48; split("100 88 30", w)
        for (i = 0; i < 12; ++i) for (j = 0; j < 4; ++j) print i + 1, i - i % 4 + j + 1, w[int(i / 4) + 1] }' > block.mtx
    exits 0 "$COSPEC" verify ntp --matrix block.mtx --csv && ! grep -q '^ntp-order,.*block.mtx' out || fail "${why:-$(cat out err)}"
}

# The support form of a matrix without zeros is 0.
test_full_support() {
    mtx 2 2 "1 1 3" "1 2 1" "2 1 1" "2 2 1" > m.mtx
    exits 0 "$COSPEC" verify ntp --matrix m.mtx --csv && grep -q '^ntp-support,printed,INCONCLUSIVE,.*m.mtx' out && grep -q '^ntp-balanced,printed,PASS,.*m.mtx' out && ! grep -q '^ntp-order,.*m.mtx' out &&
        grep -q 'm.mtx: ntp-support is undetermined: the support form is 0 everywhere' err || fail "${why:-$(cat out err)}"
}

run_tests
