# Sum sigma^4 on the command line: one budget, one meaning, in svd, density, connectivity, verify and cooc; tails.
. tests/cli/lib.sh

# value METRIC FILE: from connectivity.csv of one matrix (definitions hold commas, so columns count from the end).
value() { awk -F, -v m="$1" '$4 == m { print $(NF - 6); exit }' "$2"; }
se() { awk -F, -v m="$1" '$4 == m { print $(NF - 5); exit }' "$2"; }

# Blocks (3 1; 1 3): 60 ones and 60 halves; sum sigma^4 = 60 (1 + 1/16) = 63.75. Two columns of two, so 3 multiply-adds each row: 360.
built() { small_corpus c.tsv && exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked --unmasked 2 --context all --max-length 4 --stride 1 -o m; }

# 0, next to nothing, one below the cost, the cost: reported, flagged, and the same in every command.
test_budget_edges() {
    block_matrix 60
    for budget in 0 1e-9 359 360 1e300; do
        method=hutch++; case $budget in 360 | 1e300) method=exact;; esac
        exits 0 "$COSPEC" svd blocks.mtx -k 20 --moment-budget $budget --json && grep -q "\"sum_sigma4_method\": \"$method\"" out &&
            [ "$(number sum_sigma4_cost out)" = 360.0 ] || { fail "svd $budget: ${why:-$(grep sum_sigma4 out | tr -d '\n')}"; return 1; }
        if [ $method = exact ]; then
            near "$(number sum_sigma4 out)" 63.75 1e-12 && [ "$(number sum_sigma4_error out)" = 0.0 ] && [ "$(number sum_sigma4_samples out)" = 0 ] || return 1
        else
            between "$(number sum_sigma4_low out)" 63.75 "$(number sum_sigma4_high out)" && [ "$(number sum_sigma4_samples out)" = 64 ] &&
                [ "$(number sum_sigma4_known out)" = 20 ] && [ "$(number sum_sigma4_sketched out)" = 12 ] || return 1
        fi
        exits 0 "$COSPEC" density blocks.mtx --moment-budget $budget --json && [ "$(number sum_sigma4_cost out)" = 360.0 ] || return 1
        exits 0 "$COSPEC" connectivity blocks.mtx --moment-budget $budget -k 4 --csv && says "budget of" &&
            case $method in exact) [ "$(value sum_sigma4_samples out)" = 0 ];; *) [ "$(value sum_sigma4_samples out)" = 64 ];; esac ||
            { fail "connectivity $budget: ${why:-$(cat out)}"; return 1; }
    done
}

# The interval of connectivity's estimate holds the exact sum; resampling does not report it.
test_connectivity() {
    built || return 1
    exits 0 "$COSPEC" connectivity m -k 4 -o exact && exits 0 "$COSPEC" connectivity m -k 4 --moment-budget 0 -o estimate --json || return 1
    between "$(value sum_sigma4_low estimate/connectivity.csv)" "$(value sum_sigma4 exact/connectivity.csv)" "$(value sum_sigma4_high estimate/connectivity.csv)" &&
        [ "$(value sum_sigma4_error exact/connectivity.csv)" = 0 ] && [ "$(value sum_sigma4_low exact/connectivity.csv)" = "$(value sum_sigma4 exact/connectivity.csv)" ] || return 1
    set -- --corpus c.tsv --context all --max-length 4 --stride 1 --compare masked:unmasked=2 --jackknife 4 -k 4
    exits 0 "$COSPEC" connectivity "$@" -o known && [ -n "$(se sum_sigma4 known/connectivity.csv)" ] || { fail "no error of an exact sum"; return 1; }
    exits 0 "$COSPEC" connectivity "$@" --moment-budget 0 -o guessed && [ -z "$(se sum_sigma4 guessed/connectivity.csv)" ] && [ -n "$(se sum_sigma2 guessed/connectivity.csv)" ] ||
        { fail "an error of resampled estimates: $(se sum_sigma4 guessed/connectivity.csv)"; return 1; }
}

# The solver group: every solver one gap; --normalised has no cuts.
test_connectivity_solvers() {
    built || return 1
    for options in "" "--solver block" "--solver arpack --tol 1e-10" "--solver lapack --no-reduction"; do
        exits 0 "$COSPEC" connectivity m -k 4 --csv $options && value gap out >> gaps || return 1
    done
    for i in 1 2 3 4; do head -1 gaps; done > first && near_lists gaps first 1e-9 4 || return 1
    refuses 2 "--normalised" "$COSPEC" connectivity m --normalised && refuses 2 "--tol" "$COSPEC" connectivity m --tol 2 &&
        refuses 2 "--moment-budget" "$COSPEC" connectivity m --moment-budget x &&
        refuses 2 "--moment-budget is for co-occurrence matrices" "$COSPEC" connectivity m.npy --pairs 3 --moment-budget 1 &&
        refuses 2 "--solver is for co-occurrence matrices" "$COSPEC" connectivity m.npy --pairs 3 --solver block
}

# svd and density: one tail, by the sum less the top and by the samples; exact where the sum is.
test_tails() {
    built || return 1
    exits 0 "$COSPEC" svd m -k 5 -o exact && exits 0 "$COSPEC" svd m -k 5 --moment-budget 0 -o sampled && exits 0 "$COSPEC" density m -k 5 --moment-budget 0 -o density || return 1
    for row in 1 2 3 4 5 6; do
        truth=$(cell exact/tail.csv exact $row)
        between "$(cell sampled/tail.csv tail_low $row)" "$truth" "$(cell sampled/tail.csv tail_high $row)" &&
            between "$(cell density/tail.csv tail_low $row)" "$truth" "$(cell density/tail.csv tail_high $row)" && [ -z "$(cell sampled/tail.csv exact $row)" ] || return 1
    done
    near "$(cell exact/tail.csv exact 1)" "$(number sum_sigma4 exact/svd.json)" 1e-12
}

# Theorem 4.1 on a corpus from 3 triplets: the source of the tail is named, and an estimate's error counts. More words than the
# sketch has vectors, so that something is left to sample.
test_verify() {
    awk 'BEGIN { for (d = 0; d < 160; ++d) { printf d % 2 ? "odd\t" : "even\t"; for (k = 0; k < 9; ++k) printf "w%c%c ", 97 + (d * (k + 1) + k * k) % 23, 97 + (3 * d + k) % 5; print "end" } }' > w.tsv
    exits 0 "$COSPEC" cooc --corpus w.tsv --objective masked --unmasked 2 --context all --max-length 4 --stride 1 -o m || return 1
    exits 0 "$COSPEC" verify 4.1 --matrix m -k 3 --json && grep -q '"tail_source": "exact sum sigma^4 less the top t"' out && cp out exact.json || { fail "${why:-$(cat err)}"; return 1; }
    "$COSPEC" verify 4.1 --matrix m -k 3 --moment-budget 0 --json > out 2> err; code=$?
    { [ $code = 0 ] || [ $code = 4 ]; } && grep -q '"tail_source": "estimated sum sigma^4 less the top t"' out && says "above the budget of 0" || { fail "exit $code: $(cat err)"; return 1; }
    error=$(number tail_error out) && holds "$error > 1e-6" && near "$(number tail_sigma4 out)" "$(number tail_sigma4 exact.json)" "$error"
}

test_draws() {
    small_corpus c.tsv
    set -- --corpus c.tsv --objective masked --unmasked 2 --context all --max-length 5 --stride 1
    exits 0 "$COSPEC" cooc "$@" --draws 1,4 --moment-budget 0 -o d && [ "$(cell d/draws.csv sum_sigma4_error 1)" != 0 ] &&
        exits 0 "$COSPEC" cooc "$@" --draws 1,4 -o e && [ "$(cell e/draws.csv sum_sigma4_error 1)" = 0 ] &&
        refuses 2 "--moment-budget needs a list of --draws" "$COSPEC" cooc "$@" --moment-budget 0 -o f
}

run_tests
