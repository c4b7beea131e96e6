# The toy model through the command line: golden values, sweeps, bad input.
. tests/cli/lib.sh

toy() { "$COSPEC" toy "$@"; }

# spectrum OUT: "sigma multiplicity" lines of the JSON result.
spectrum() { tr -d ' \n' < "$1" | sed 's/.*"spectrum":\[\(\[.*\]\)\],"sum.*/\1/; s/\],\[/\n/g; s/[][]//g; s/,/ /g'; }

# golden WANT ARGUMENTS...: WANT is "sigma multiplicity/..." from tests/golden/toy_spectra.json.
golden() {
    want=$1; shift
    exits 0 toy "$@" --json || return 1
    spectrum out > got
    printf '%s\n' "$want" | tr '/' '\n' > want
    for field in 1 2; do cut -d' ' -f$field want > a && cut -d' ' -f$field got > b && near_lists a b 1e-12 "$(wc -l < want)" || return 1; done
}

test_golden() {
    for method in enumerate reduce closed; do
        golden "1.0 4" --objective ar --classes 2 --length 3 --tokens 2 --method $method &&
            golden "1.0 5" --objective ar --classes 2 --length 3 --tokens 2 --empty-prefix shared --method $method &&
            golden "1.0 6" --objective ar --classes 2 --length 3 --tokens 2 --empty-prefix class --method $method &&
            golden "1.0 2/0.5 4" --objective masked --unmasked 1 --classes 2 --length 3 --tokens 2 --method $method &&
            golden "1.0 2/0.70710678118655 4" --objective variable-masked --unmasked 1:2 --event-weight token --classes 2 --length 3 --tokens 2 --method $method &&
            golden "1.0 2/0.79056941504209 4" --objective variable-masked --unmasked 1:2 --event-weight mask --classes 2 --length 3 --tokens 2 --method $method || return 1
    done
}

test_given_is_all_ones() {
    golden "1.0 12" --objective masked --unmasked 2 --target-position given --classes 3 --length 4 --tokens 2
}

# A position that is known with probability theta: 1 - sigma^2 = (1 - theta^2)(1 - sigma_blind^2), 1/3 there.
test_a_position_that_is_known() {
    for method in enumerate reduce closed; do
        golden "1.0 3/0.7071067811865476 9" --objective masked --unmasked 2 --position-known 0.5 --classes 3 --length 4 --tokens 2 --method $method || return 1
    done
    exits 0 toy --objective masked --unmasked 2 --position-known 0.5 --classes 3 --length 4 --tokens 2 --json && grep -q '"target_position": "known 0.5"' out || { fail "${why:-$(cat out)}"; return 1; }
    refuses 2 '1 is not in [0, 1)' toy --objective ar --position-known 1 --classes 2 --length 3 --tokens 2 && refuses 2 '2 is not in [0, 1)' toy --objective ar --position-known 2 --classes 2 --length 3 --tokens 2 &&
        refuses 2 'cannot be combined with given position' toy --objective ar --position-known 0.5 --target-position given --classes 2 --length 3 --tokens 2
}

test_sums() {
    exits 0 toy --objective masked --unmasked 1 --classes 2 --length 3 --tokens 2 --json &&
        near "$(number sum_sigma2 out)" 3 1e-12 && near "$(number sum_sigma4 out)" 2.25 1e-12
}

test_mask_ratio_is_unmasked() {
    # 10 - round(0.25 * 10) = 10 - 3: half away from zero
    exits 0 toy --objective masked --mask-ratio 0.25 --classes 2 --length 10 --tokens 2 --json && spectrum out > a &&
        exits 0 toy --objective masked --unmasked 7 --classes 2 --length 10 --tokens 2 --json && spectrum out > b && cmp -s a b
}

test_a_million_classes() {
    exits 0 timeout 20 "$COSPEC" toy --objective masked --unmasked 64 --classes 1000000 --length 128 --tokens 50000 --json &&
        grep -q '127000000' out
}

test_sweep_csv() {
    # sigma = 1 and sqrt(m / ((s - m)(s - 1))), which is 1 too at m = s - 1: 9 points, 17 values
    exits 0 toy --objective masked --mask-ratio 0.1:0.9:0.1 --classes 2 --length 10 --tokens 2 --csv || return 1
    [ "$(wc -l < out)" = 18 ] || { fail "$(wc -l < out) lines"; return 1; }
    head -1 out | grep -q '^objective,classes,length,tokens,token_sets,.*method.*index,sigma,multiplicity' &&
        grep -q 'mask-ratio=0.3' out || fail "$(sed -n 1,6p out)"
}

test_sweep_json() {
    exits 0 toy --objective diverse-ar --t 1:3:1 --classes 2:4:2 --length 4 --tokens 2 --json || return 1
    [ "$(grep -c '"spectrum"' out)" = 6 ] && grep -q '"rows"' out || fail "$(head -c 300 out)"
}

test_sweep_leaves_out_what_does_not_exist() {
    exits 0 toy --objective masked --unmasked 1:5:1 --classes 2 --length 4 --tokens 2 --csv || return 1
    says "left out classes=2 length=4 tokens=2 unmasked=4" && ! grep -q 'unmasked=4' out || return 1
    refuses 2 "no point of the sweep is possible" "$COSPEC" toy --objective masked --unmasked 7:9:1 --classes 2 --length 4 --tokens 2 -q
}

# A combination that is invalid alone is refused in a sweep too.
test_sweep_refuses_what_never_exists() {
    rest="--length 4 --tokens 2 -q"
    # shellcheck disable=SC2086
    refuses 2 "--mask-ratio: 1.2 of the sweep 0.1:1.2:0.1 is not in (0, 1)" "$COSPEC" toy --objective masked --mask-ratio 0.1:1.2:0.1 --classes 2 $rest &&
        refuses 2 "1 of the sweep 0.1:1:0.1" "$COSPEC" toy --objective masked --mask-ratio 0.1:1:0.1 --classes 2 $rest &&
        refuses 2 "--mask-ratio: 0 of the sweep" "$COSPEC" toy --objective masked --mask-ratio 0:0.5:0.1 --classes 2 $rest &&
        refuses 2 "--classes: 0 of the sweep 0:2:1 is below 1" "$COSPEC" toy --objective ar --classes 0:2:1 $rest
}

test_plan_file() {
    echo '{"plans": [{"probability": 1, "groups": [0, 1, 2]}]}' > p.json
    golden "1.0 4" --objective file --plan-file p.json --classes 2 --length 3 --tokens 2 || return 1
    echo '{"plans": [{"probability": 1, "groups": [0, 1, 2], "weights": [0, 1, -1]}]}' > p.json
    refuses 3 "-1" "$COSPEC" toy --objective file --plan-file p.json --classes 2 --length 3 --tokens 2 || return 1
    refuses 2 "needs --plan-file" "$COSPEC" toy --objective file --classes 2 --length 3 --tokens 2
}

base="--classes 2 --length 4 --tokens 2"
# shellcheck disable=SC2086 # word splitting is wanted
test_bad_numbers() {
    refuses 2 "toy needs --objective" "$COSPEC" toy $base &&
        refuses 2 "toy needs --classes R" "$COSPEC" toy --objective ar --length 4 --tokens 2 &&
        refuses 2 "'abc'" "$COSPEC" toy --objective ar --classes abc --length 4 --tokens 2 &&
        refuses 2 "1e400" "$COSPEC" toy --objective masked --mask-ratio 1e400 $base &&
        refuses 2 "--mask-ratio: '15%' is not a number; did you mean 0.15?" "$COSPEC" toy --objective masked --mask-ratio 15% $base &&
        refuses 2 "--mask-ratio: 15 is not in (0, 1); did you mean 0.15?" "$COSPEC" mask-rank none --mask-ratio 15 &&
        refuses 2 "\"mae-lm\" is masked training with a different model and works only in cospec train" "$COSPEC" toy --objective mae-lm $base &&
        refuses 2 "mask ratio 1.2 not in (0, 1)" "$COSPEC" toy --objective masked --mask-ratio 1.2 $base &&
        refuses 2 "mask ratio 0 not in (0, 1)" "$COSPEC" toy --objective masked --mask-ratio 0 $base &&
        refuses 2 "nan" "$COSPEC" toy --objective masked --mask-ratio nan $base &&
        refuses 2 "needs length >= 6, got 4" "$COSPEC" toy --objective masked --unmasked 5 $base &&
        refuses 2 "--classes" "$COSPEC" toy --objective ar --classes 0 --length 4 --tokens 2 &&
        refuses 2 "uniform:x" "$COSPEC" toy --objective offset-ar --offset-weights uniform:x $base
}

# shellcheck disable=SC2086
test_nothing_is_ignored() {
    refuses 2 "--t does not apply to masked" "$COSPEC" toy --objective masked --unmasked 2 --t 3 $base &&
        refuses 2 "--unmasked does not apply to ar" "$COSPEC" toy --objective ar --unmasked 2 $base &&
        refuses 2 "--mask-ratio does not apply to ar" "$COSPEC" toy --objective ar --mask-ratio 0.1:0.9:0.1 $base &&
        refuses 2 "--groups does not apply to ar, only to gvp" "$COSPEC" toy --objective ar --groups 2 $base &&
        refuses 2 "--segmentation does not apply to ar" "$COSPEC" toy --objective ar --segmentation fixed $base &&
        refuses 2 "--offset-weights does not apply to ar" "$COSPEC" toy --objective ar --offset-weights mix:0.5 $base &&
        refuses 2 "--plan-file does not apply to ar" "$COSPEC" toy --objective ar --plan-file p.json $base &&
        refuses 2 "--event-weight does not apply to diverse-ar" "$COSPEC" toy --objective diverse-ar --t 2 --event-weight mask $base &&
        exits 0 "$COSPEC" toy --objective diverse-ar --t 2 --event-weight token $base &&
        refuses 2 "both" "$COSPEC" toy --objective masked --unmasked 2 --mask-ratio 0.5 $base
}

# shellcheck disable=SC2086
test_too_large_is_said_before() {
    sanitized too_large_is_said_before && return
    refuses 3 "nonzeros" timeout 20 "$COSPEC" toy --objective masked --unmasked 10 --classes 10 --length 20 --tokens 50 --method enumerate || return 1
    exits 0 "$COSPEC" toy --objective masked --unmasked 10 --classes 10 --length 20 --tokens 50 --method enumerate --dry-run --json &&
        grep -q '"nnz"' out || return 1
    # Nothing grows with the length: an address space of 1 GB does.
    (export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; ulimit -v 1000000; exits 0 "$COSPEC" toy --objective permuted-ar --classes 3 --length 2000000000 --tokens 2 --dry-run --json &&
        exits 0 "$COSPEC" toy --objective variable-masked --mask-ratio 0.1:0.2 --classes 3 --length 100000000 --tokens 2 --json &&
        exits 0 "$COSPEC" toy --objective group-ar --t 2000000 --classes 3 --length 1000000 --tokens 2 --method closed --dry-run) ||
        fail "a length of 10^6..2*10^9 does not fit 1 GB"
}

test_rounded_ratios_are_said() {
    exits 0 "$COSPEC" toy --objective masked --mask-ratio 0.05 --classes 2 --length 5 --tokens 2 &&
        says "masked(mask-ratio=0.05): 20 % of the tokens are masked, not 5 %" || return 1
    exits 0 "$COSPEC" toy --objective masked --mask-ratio 0.3 --classes 2 --length 50 --tokens 2 --csv || return 1
    [ ! -s err ] || { fail "a note on a ratio that is exact: $(head -c 200 err)"; return 1; }
    exits 0 "$COSPEC" toy --objective masked --mask-ratio 0.29 --classes 2 --length 50 --tokens 2 --csv && says "30 % of the tokens are masked, not 29 %" || return 1
    grep -q ',reduce,35,' out || fail "0.29 of 50 is 14.5, rounded away from zero: 35 unmasked"
}

run_tests
