# verify ntp: cross-entropy with free contexts against the support form; the table; what is refused.
. tests/cli/lib.sh

# The entropy by hand: context 1 sees 3/4 and 1/4, context 2 halves: (.5623 + .6931) / 2 nats.
test_loss_by_hand() {
    mtx 2 3 "1 1 3" "1 2 1" "2 2 2" "2 3 2" > m.mtx
    exits 0 "$COSPEC" verify ntp --matrix m.mtx --csv -o n && [ "$(grep -c '^m.mtx' n/ntp.csv)" = 5 ] || { fail "${why:-$(cat n/ntp.csv)}"; return 1; }
    sed -n '/^m.mtx/p' n/ntp.csv | awk -F, '{ if (NR > 1 && $3 > last) bad = 1; last = $3 } END { print last; exit bad }' > last || { fail "the loss rises: $(cat n/ntp.csv)"; return 1; }
    near "$(cat last)" 0.627741 1e-4 && exits 0 "$COSPEC" verify ntp --matrix m.mtx --csv --threads 1 && cp out one && exits 0 "$COSPEC" verify ntp --matrix m.mtx --csv --threads 2 && cmp -s out one || fail "${why:-threads}"
}

test_refused() {
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 110, 110, 110; for (i = 1; i <= 110; ++i) print i, i, 1 }' > wide.mtx
    refuses 3 'takes at most about 100 of each' "$COSPEC" verify ntp --matrix wide.mtx && exits 0 "$COSPEC" verify all --csv && ! grep -q '^ntp' out
}

run_tests
