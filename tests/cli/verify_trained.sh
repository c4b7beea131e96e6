# Models trained on the toy model against the theory, through the command line: seeds are fixed, so
# are the bits.
. tests/cli/lib.sh

trained() { "$COSPEC" verify trained --classes 2 --length 3 --tokens 2 --steps "${steps:-1500}" "$@"; }

# No corrected statement may be anything but PASS, and each model has its statements.
all_pass() {
    ! grep -E ',corrected,(FAIL|INCONCLUSIVE|UNSPECIFIED|VACUOUS),' out | grep -v '^trained-minimum,corrected,INCONCLUSIVE.*table-b2' ||
        { fail "not all pass: $(cut -d, -f1,3 out | tr '\n' ' ')"; return 1; }
    [ "$(grep -c '^trained-angle,corrected,PASS' out)" = 3 ] && [ "$(grep -c '^trained-range,corrected,PASS' out)" = 3 ] &&
        grep -q '^trained-entropy,corrected,PASS' out && grep -q '^trained-entropy-excess,corrected,PASS' out ||
        fail "statements are missing: $(cut -d, -f1,3 out | tr '\n' ' ')"
}

test_masked() {
    exits 0 trained --objective masked --unmasked 1 --csv -o a && all_pass && [ "$(wc -l < a/trained.csv)" = 5 ] &&
        trained --objective masked --unmasked 1 --csv --threads 1 -o b > /dev/null 2>&1 && cmp a/trained.csv b/trained.csv &&
        [ ! -e a/log.csv ] && [ ! -e a/model.safetensors ]
}

test_ar() { exits 0 trained --objective ar --csv && all_pass; }

# An optimum that the architecture does not hold, and training that is cut short: no refutation.
test_out_of_reach() {
    exits 0 trained --objective permuted-ar --csv && grep -q '^trained-angle,corrected,UNSPECIFIED' out &&
        grep -q '^trained-reach,corrected,PASS' out && ! grep -q ',corrected,FAIL' out
}

# Modes pass half of their optimum in the order of their singular values, in every model and objective.
test_order_of_learning() {
    for o in diverse-ar variable-masked 'group-ar --t 2'; do
        # shellcheck disable=SC2086 # options
        "$COSPEC" verify trained --classes 2 --length 4 --tokens 2 --steps 300 --width 8 --objective $o -o o --force > out 2> err
        awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i - NF; next }
            { m = $(NF + at["model"]); k = $(NF + at["mode"]); seen[m] = k > seen[m] ? k : seen[m] }
            $(NF + at["share"]) >= .5 && !((m, k) in half) { half[m, k] = $(NF + at["step"]) }
            END { for (m in seen) { ++n; for (k = 2; k <= seen[m]; ++k) { ++pairs; if (half[m, k] <= half[m, k - 1]) bad = 1 } } exit bad || n != 3 || pairs < 3 }' o/order.csv ||
            { fail "$o: $(tail -n 3 o/order.csv)"; return 1; }
    done
}

test_short_training() {
    steps=2
    exits 4 trained --objective ar --csv && grep -q '^trained-angle,corrected,INCONCLUSIVE' out && ! grep -q ',corrected,FAIL' out
    short=$?; steps=; return $short
}

test_usage() {
    refuses 2 'needs verify trained' "$COSPEC" verify 3.1 --steps 5 &&
        refuses 2 '--width 99' trained --objective ar --width 99 &&
        refuses 2 'blind' trained --objective ar --target-position given &&
        refuses 2 'empty prefixes' trained --objective ar --empty-prefix class &&
        refuses 3 'the limit is 32768' "$COSPEC" verify trained --objective masked --unmasked 4 --classes 9 --length 9 --tokens 9
}

run_tests
