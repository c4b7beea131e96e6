# cospec density: closed forms, tails against exact sums, the budget of the fourth moment, files, bad input.
. tests/cli/lib.sh

# With the ones known in closed form the rest is 1/2 times the identity on its complement: counts are exact up to a vector's length.
test_closed_form() {
    block_matrix 60
    exits 0 "$COSPEC" density blocks.mtx -k 60 --bins 4 --json -o d || return 1
    [ "$(number known out)" = 60 ] && [ "$(number components out)" = 60 ] && [ "$(number samples_without_quadrature_error out)" = 32 ] ||
        { fail "$(tr -d '\n ' < out | head -c 400)"; return 1; }
    near "$(number sum_sigma4 out)" 63.75 1e-12 && near "$(cell d/tail.csv exact 61)" 3.75 1e-10 &&
        between "$(cell d/tail.csv tail_low 61)" 3.75 "$(cell d/tail.csv tail_high 61)" && [ "$(wc -l < d/tail.csv)" = 62 ] &&
        [ "$(cell d/density.csv sigma 4)" = 0.75 ] && near "$(cell d/density.csv above 4)" 60 1e-6 &&
        between "$(cell d/density.csv above_low 2)" 120 "$(cell d/density.csv above_high 2)" &&
        between "$(cell d/density.csv fourth_below_low 4)" 3.75 "$(cell d/density.csv fourth_below_high 4)" || return 1
    for f in density.json density.csv tail.csv manifest.json; do [ -f d/$f ] || { fail "$f is missing"; return 1; }; done
    refuses 2 "exists; give --force to overwrite it" "$COSPEC" density blocks.mtx -o d
}

# A terminal shows the large values, which the question is about.
test_large_values_are_shown() {
    block_matrix 60
    exits 0 "$COSPEC" density blocks.mtx --bins 50 -o d && says "12 of 51 rows" && [ "$(wc -l < out)" = 13 ] &&
        near "$(tail -1 out | awk '{ print $1 }')" "$(cell d/density.csv sigma 51)" 1e-5 && near "$(tail -1 out | awk '{ print $1 }')" 1 0.01 || fail "${why:-$(cat out)}"
}

# A matrix by cospec cooc: the estimates hold the exact sums, whatever the threads.
test_corpus() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked --unmasked 2 --context all --max-length 4 --stride 1 -o m || return 1
    exits 0 "$COSPEC" density m -k 3 --level 0.9999 --seed 3 --threads 1 -o one --json || return 1
    grep -q '"target_position": "blind"' out || { fail "no target position"; return 1; }
    exits 0 "$COSPEC" density m -k 3 --level 0.9999 --seed 3 --threads 3 -o three --json || return 1
    cmp -s one/density.csv three/density.csv || { fail "threads change the curves"; return 1; }
    for row in 1 2 3 4; do
        between "$(cell one/tail.csv tail_low $row)" "$(cell one/tail.csv exact $row)" "$(cell one/tail.csv tail_high $row)" || return 1
    done
    exits 0 "$COSPEC" svd m -k 3 --json && near "$(number sum_sigma4 out)" "$(cell one/tail.csv exact 1)" 1e-9
}

test_budget() {
    block_matrix 60
    exits 0 "$COSPEC" density blocks.mtx --moment-budget 0 --json -o d && says "above the budget of 0" &&
        grep -q '"sum_sigma4": null' out && [ -z "$(cell d/tail.csv exact 1)" ] || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" svd blocks.mtx -k 2 --moment-budget 0 --json && [ "$(number sum_sigma4_budget out)" = 0.0 ] &&
        [ "$(number sum_sigma4_error out)" != 0.0 ] || { fail "svd: $(tr -d '\n ' < out | head -c 300)"; return 1; }
    exits 0 "$COSPEC" svd blocks.mtx -k 2 --json && says "within the budget of 2e+10: exact" && [ "$(number sum_sigma4_error out)" = 0.0 ]
}

test_dry_run() {
    block_matrix 60
    exits 0 "$COSPEC" density blocks.mtx --dry-run --json && grep -q sample_bytes out && grep -q sum_sigma4_cost out &&
        exits 0 "$COSPEC" svd blocks.mtx --dry-run --json && grep -q sum_sigma4_cost out
}

test_plot() {
    command -v gnuplot > /dev/null || { skip plot "gnuplot is not installed"; return 0; }
    block_matrix 60
    exits 0 "$COSPEC" density blocks.mtx -o d && exits 0 "$COSPEC" plot density blocks=d/density.csv -o f && [ -s f/density.svg ] && ! grep -qi warning err
}

test_bad_input() {
    mtx 2 2 "1 1 3" "1 2 1" "2 1 1" "2 2 3" > two.mtx
    refuses 2 "3 known triplets" "$COSPEC" density two.mtx -k 3 && refuses 2 "--samples" "$COSPEC" density two.mtx --samples 1 &&
        refuses 2 "--degree" "$COSPEC" density two.mtx --degree 3 && refuses 2 "--level" "$COSPEC" density two.mtx --level 1 &&
        refuses 2 "--width" "$COSPEC" density two.mtx --width 0 && refuses 2 "--moment-budget" "$COSPEC" density two.mtx --moment-budget -1 &&
        refuses 2 "an argument is missing" "$COSPEC" density && refuses 2 "two.mtx" "$COSPEC" density two.mtx two.mtx &&
        refuses 3 "nowhere.npz" "$COSPEC" density nowhere.npz || return 1
    mtx 2 2 "1 1 -3" "2 2 1" > m.mtx; refuses 3 "m.mtx: row 0, column 0: value -3 is negative" "$COSPEC" density m.mtx || return 1
    mtx 2 2 "1 1 0" > m.mtx; refuses 3 "no nonzero entry" "$COSPEC" density m.mtx
}

run_tests
