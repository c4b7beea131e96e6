# design: plan files that other commands take, certificates, exit codes, interruption, the frontier and its figure.
. tests/cli/lib.sh

test_plans_have_the_value() {
    exits 0 "$COSPEC" design --length 10 --next-token 0.5 -o d --json && [ -s d/plan.json ] && [ -s d/design.csv ] || return 1
    value=$(number value out) bound=$(number bound out)
    near "$(awk "BEGIN { printf \"%.15g\", $value - $bound }")" "$(number gap out)" 1e-12 && near "$value" "$bound" 3e-6 &&
        near "$(number next_token_weight out)" 0.5 1e-12 || return 1
    exits 0 "$COSPEC" toy --objective file --plan-file d/plan.json --classes 3 --length 10 --tokens 4 --json &&
        near "$(number sum_sigma4 out)" "$(awk "BEGIN { printf \"%.15g\", 3 * ($value + 1) }")" 1e-11 || return 1
    exits 0 "$COSPEC" kernel 'file(plan-file=d/plan.json)' --length 10 --json && near "$(number kappa out)" "$(cell d/design.csv kappa 1)" 1e-12 || return 1
    exits 0 "$COSPEC" tradeoff --length 10 --compare 'file(plan-file=d/plan.json)' --csv && near "$(sed -n 2p out | sed 's/.*,//')" "$value" 1e-11 &&
        exits 0 "$COSPEC" train --corpus "$work/c.tsv" --objective file --plan-file d/plan.json --max-length 10 --steps 2 --width 16 --layers 1 --batch 4 -o m
}

# A text whose beginning is repeated behind it has, in windows, the pairs of the closed stream.
test_a_corpus() {
    awk 'BEGIN { srand(5); for (i = 0; i < 400; ++i) printf "%c%c ", 97 + int(rand() * 4), 97 + (i % 3 ? 0 : int(rand() * 3)) }' > text
    tr ' ' '\n' < text | sed '/^$/d' | split -l 7 - part. && for f in part.*; do tr '\n' ' ' < "$f"; echo; done > open.txt
    { cat text; cut -d' ' -f1-5 text; } | tr -d '\n' > closed.txt
    for family in offsets:5 prefixes; do
        exits 0 "$COSPEC" design $family --length 6 --corpus open.txt --next-token 0.4 -o "d-$family" --json || return 1
        value=$(number value out)
        exits 0 "$COSPEC" cooc --corpus closed.txt --objective file --plan-file "d-$family/plan.json" --context unique --max-length 6 --stride 1 -o "m-$family" &&
            exits 0 "$COSPEC" svd "m-$family" -k 1 --json && near "$(number sum_sigma4 out)" "$(awk "BEGIN { printf \"%.15g\", $value + 1 }")" 1e-9 || return 1
    done
    refuses 3 "fewer than the sequence length" "$COSPEC" design --length 900 --corpus open.txt
}

test_refusals() {
    refuses 2 "not convex" "$COSPEC" design --fixed none && refuses 2 "is not smooth" "$COSPEC" design --sum sigma2 &&
        refuses 2 "distributions of this family have at most 0.1" "$COSPEC" design 'masked(unmasked=3)' --length 5 --next-token 0.5 &&
        refuses 2 "offsets" "$COSPEC" design offsets:16 --length 16 && refuses 2 "objective nothing" "$COSPEC" design nothing &&
        refuses 2 "use offsets:D (one per distance) or mix:SHARE*OBJECTIVE+... (one per part): length 1000 expands to 499500 events, but at most 262144" "$COSPEC" design --length 1000 &&
        exits 0 "$COSPEC" design offsets:4 --length 1000 --next-token 0.5 && exits 0 "$COSPEC" design 'mix:1*ar+1*diverse-ar(t=4)' --length 1000 &&
        refuses 2 "use parts of one kind: length 30 expands to" "$COSPEC" design 'mix:1*ar+1*masked(unmasked=10)' --length 30 &&
        refuses 2 "--vocab needs --corpus" "$COSPEC" design --vocab 3 && refuses 2 "--compare needs --frontier" "$COSPEC" design --compare ar &&
        refuses 2 "exclude each other" "$COSPEC" design --kernel --corpus "$work/c.tsv" && refuses 2 "--next-token" "$COSPEC" design --frontier 3 --next-token 0.5
}

test_gap_not_reached() {
    exits 4 "$COSPEC" design --length 12 --next-token 0.5 --gap 1e-9 --max-steps 5 -o d && says "after 5 steps the gap is" && [ -s d/plan.json ] &&
        [ "$(cell d/design.csv reached 1)" = false ] && [ ! -f d/unfinished.json ] || return 1
    exits 0 "$COSPEC" design --length 12 --next-token 0.5 --gap 1e-9 -o e && near "$(cell e/design.csv value 1)" "$(cell d/design.csv value 1)" 0.5 &&
        holds "$(cell d/design.csv bound 1) <= $(cell e/design.csv bound 1) && $(cell d/design.csv value 1) > $(cell e/design.csv value 1)" || return 1
}

# Stopped at any time, with --resume it ends with the files of one run.
test_interrupted() {
    set -- --length 24 --next-token 0.2 --gap 1e-9 --quiet
    exits 0 "$COSPEC" design "$@" -o whole || return 1
    "$COSPEC" design "$@" -o part > out 2> err & pid=$!
    sleep 0.3; kill -INT $pid 2> /dev/null; wait $pid; code=$?
    [ $code = 130 ] && [ -f part/unfinished.json ] && [ ! -f part/plan.json ] && says "steps, kept in part/unfinished.json; run the same command" || { fail "exits with $code: $(cat err)"; return 1; }
    refuses 2 'part/unfinished.json belongs to a run with --fixed "contexts", not "targets"; give --force' "$COSPEC" design "$@" --fixed targets -o part --resume &&
        exits 0 "$COSPEC" design "$@" -o part --resume && cmp -s whole/design.csv part/design.csv && cmp -s whole/plan.json part/plan.json && [ ! -f part/unfinished.json ] || { fail "${why:-the resumed run differs}"; return 1; }
    set -- --length 16 --frontier 8 --gap 1e-9 --quiet --compare ar
    exits 0 "$COSPEC" design "$@" -o all || return 1
    "$COSPEC" design "$@" -o some > out 2> err & pid=$!
    n=0; until [ -f some/unfinished.json ] || [ $n -gt 500 ]; do sleep 0.01; n=$((n + 1)); done
    kill -INT $pid 2> /dev/null; wait $pid
    exits 0 "$COSPEC" design "$@" -o some --resume && cmp -s all/frontier.csv some/frontier.csv || fail "the resumed frontier differs"
}

# The registry and its variants are listed with the frontier; no member of the family is below it.
test_frontier() {
    exits 0 "$COSPEC" design --length 8 --frontier 8 -o f && exits 0 "$COSPEC" plot pareto f/frontier.csv -o p && [ -s p/pareto.svg ] || return 1
    [ "$(grep -c '^frontier,' f/frontier.csv)" = 8 ] && [ "$(grep -c '^objective,' f/frontier.csv)" -ge 20 ] || { fail "$(cut -d, -f1,2 f/frontier.csv)"; return 1; }
    # The weight of `ar` is the frontier's first, and the optimum there is `ar`.
    near "$(awk -F, '$2 == "ar" { print $11 }' f/frontier.csv)" "$(awk -F, '$1 == "frontier" { print $11; exit }' f/frontier.csv)" 1e-9 || return 1
    # The objective compared with a point of the frontier at its own weight is no better than the bound there.
    for spec in 'diverse-ar(t=4)' 'offset-ar(offset-weights=mix:0.5)' 'offset-ar(offset-weights=power:1)'; do
        weight=$(awk -F, -v s="$spec" '$2 == s { print $8 }' f/frontier.csv) value=$(awk -F, -v s="$spec" '$2 == s { print $11 }' f/frontier.csv)
        exits 0 "$COSPEC" design --length 8 --next-token "$weight" --json && holds "$(number bound out) <= $value && $(number value out) < $value" || { fail "$spec: ${why:-$(cat out)}"; return 1; }
    done
}

# At every length the largest weight of the next token is that of `ar`, 1, whichever way it was rounded.
test_frontier_of_every_length() {
    for s in $(seq 2 33); do
        exits 0 "$COSPEC" design --length "$s" --frontier 1 --compare ar --csv || { fail "length $s: $why"; return 1; }
        near "$(awk -F, '$1 == "frontier" { print $8 }' out)" 1 1e-12 && near "$(awk -F, '$1 == "frontier" { print $11 }' out)" $((s - 2)) 1e-9 || { fail "length $s: $(cat out)"; return 1; }
    done
}

# Without a number of unmasked tokens the ratio is that of train, as in every other command.
test_defaults_of_train() {
    exits 0 "$COSPEC" design masked --length 4 && grep -q 'defaults of train' err && exits 0 "$COSPEC" design 'mix:0.5*masked+0.5*ar' --length 4 --fixed targets || fail "$why"
}

small_corpus "$work/c.tsv"
for name in defaults_of_train plans_have_the_value a_corpus refusals gap_not_reached interrupted frontier frontier_of_every_length; do check "$name"; done
