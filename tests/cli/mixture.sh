# Plan files that hold for any length, through the commands: against plans written out for each length, what is stored of
# them, what is wrong with them.
. tests/cli/lib.sh

# Documents of 3, 4 and 5 words, and one of 1, which has no plan.
texts() {
    printf 'a b c\nc b a d\nb b c\na d c b\nd\nb a\nc d d a b\na b c d\n' > c.txt
    printf '{"mixture": [{"share": "1/s", "objective": "ar"}, {"share": "1-1/s", "objective": "masked",
        "parameters": {"unmasked": [{"value": 1, "share": 1}, {"value": "s-2", "share": "s-2"}]}}]}' > mix.json
}

# plans S: the same distribution at length 3 or 4 as a list of plans, probabilities in units of 1/(S (S-1)).
plans() {
    case $1 in
    2) printf '{"probability": 1, "groups": [0, 1]}, {"probability": 0.5, "groups": [0, 1]}, {"probability": 0.5, "groups": [1, 0]}';;
    # ar 1/3, one of three unmasked 2/3: of s - 2 too
    3) printf '{"probability": 3, "groups": [0, 1, 2]}, {"probability": 2, "groups": [0, 1, 1]}, {"probability": 2, "groups": [1, 0, 1]}, {"probability": 2, "groups": [1, 1, 0]}';;
    # ar 1/4, one of four unmasked 3/4 1/3, two of four 3/4 2/3
    4) printf '{"probability": 12, "groups": [0, 1, 2, 3]}'
       for g in "0, 1, 1, 1" "1, 0, 1, 1" "1, 1, 0, 1" "1, 1, 1, 0"; do printf ', {"probability": 3, "groups": [%s]}' "$g"; done
       for g in "0, 0, 1, 1" "0, 1, 0, 1" "0, 1, 1, 0" "1, 0, 0, 1" "1, 0, 1, 0" "1, 1, 0, 0"; do printf ', {"probability": 4, "groups": [%s]}' "$g"; done;;
    esac
}

# same A B: Matrix Market files with equal places and values up to rounding of the units.
same() {
    [ "$(wc -l < "$1")" = "$(wc -l < "$2")" ] && [ "$(wc -l < "$1")" -gt 8 ] || { fail "$(head -3 "$1") against $(head -3 "$2")"; return 1; }
    paste -d' ' "$1" "$2" | awk '/^%/ || NF < 6 { next } { d = $3 - $6; if (d < 0) d = -d; if ($1 != $4 || $2 != $5 || d > 1e-9) { print; exit 1 } }' > differ ||
        fail "$1 and $2 differ: $(cat differ)"
}

test_cooc_is_the_sum_of_the_lists_of_its_lengths() {
    texts
    grep -v '^[a-d] [a-d]$\|^[a-d]\( [a-d]\)\{4\}$' c.txt > some.txt
    echo "{\"plans\": [$(plans 3), $(plans 4)]}" > plans.json
    for weight in token mask; do
        for context in all each:1; do
            set -- --corpus some.txt --event-weight $weight --context $context --mtx --json
            exits 0 "$COSPEC" cooc "$@" --objective file --plan-file plans.json -o "explicit-$weight-$context" && mv out explicit.json &&
                exits 0 "$COSPEC" cooc "$@" --objective file --plan-file mix.json -o "law-$weight-$context" &&
                near "$(number mass out)" "$(number mass explicit.json)" 1e-9 && [ "$(number skipped_sequences out)" = 1 ] &&
                same "law-$weight-$context/matrix.mtx" "explicit-$weight-$context/matrix.mtx" || return 1
        done
    done
}

test_toy_is_that_of_the_list() {
    texts
    for s in 3 4; do
        echo "{\"plans\": [$(plans $s)]}" > plans.json
        for target in blind given; do
            set -- --classes 2 --length $s --tokens 2 --target-position $target --json --objective file
            exits 0 "$COSPEC" toy "$@" --plan-file plans.json && mv out explicit.json && exits 0 "$COSPEC" toy "$@" --plan-file mix.json || return 1
            for sum in sum_sigma2 sum_sigma4; do near "$(number $sum out)" "$(number $sum explicit.json)" 1e-12 || return 1; done
        done
    done
    exits 0 "$COSPEC" toy --classes 2 --length 3:5:1 --tokens 2 --objective file --plan-file mix.json --csv && [ "$(cut -d, -f3 out | sort -u | wc -l)" = 4 ]
}

# Matrices and models lead back to their mixture when its files are gone; the manifest names all files.
test_what_was_built_keeps_its_mixture() {
    texts
    echo '{"mixture": [{"share": 1, "objective": "file", "parameters": {"plan-file": "mix.json"}}, {"share": "1/s", "objective": "ar"}]}' > outer.json
    exits 0 "$COSPEC" cooc --corpus c.txt --objective file --plan-file outer.json --context nearest:1 -o m &&
        exits 0 "$COSPEC" cooc --corpus c.txt --objective 'mix:1*file(plan-file=mix.json)+1/s*ar' --context nearest:1 -o n &&
        cmp m/matrix.npz n/matrix.npz || return 1
    [ "$(grep -c '"path": "\(outer\|mix\).json"' m/manifest.json)" = 2 ] || { fail "inputs: $(cat m/manifest.json)"; return 1; }
    exits 0 "$COSPEC" rerun m/manifest.json -o again && cmp m/matrix.npz again/matrix.npz || return 1
    train="--corpus c.txt --layers 1 --width 16 --heads 2 --batch 2 --max-length 8 --steps 4 --save-every 2"
    exits 0 "$COSPEC" train $train --objective file --plan-file outer.json -o t && exits 0 "$COSPEC" train $train --objective file --plan-file outer.json -o u &&
        cmp t/model.safetensors u/model.safetensors || return 1
    rm -r u/checkpoint-4 && exits 0 "$COSPEC" train $train --objective file --plan-file outer.json -o u --resume && cmp t/model.safetensors u/model.safetensors || return 1
    sed -i 's/s-2", "share/s-1", "share/' mix.json
    refuses 2 "belongs to a run with --plan-file" "$COSPEC" train $train --objective file --plan-file outer.json -o u --resume || return 1
    rm mix.json outer.json
    exits 0 "$COSPEC" inspect m && grep -q 'heaviest row' out && exits 0 "$COSPEC" svd m -k 2 && grep -q 'file(plan-file=.*outer.json)' m/matrix.json &&
        exits 0 "$COSPEC" features t c.txt -o f || fail "$(cat err)"
}

test_other_commands_take_it() {
    texts
    exits 0 "$COSPEC" verify 4.1 --objective file --plan-file mix.json --length 4 && ! grep -q 'corrected *FAIL' out &&
        exits 0 "$COSPEC" connectivity --corpus c.txt --context each:2 --jackknife 4 --compare ar --compare 'file(plan-file=mix.json)' --compare 'mix:s*ar+1*file(plan-file=mix.json)' &&
        [ "$(grep -c 'sum_sigma4  *plug-in' out)" = 6 ] && exits 0 "$COSPEC" tradeoff --length 4 --compare 'mix:1/s*ar+(1-1/s)*masked(mask-ratio=min(0.5,2/s))' || return 1
    # a ratio that follows from the length is no number that rounding could miss
    exits 0 "$COSPEC" cooc --corpus c.txt --objective 'mix:1*ar+1*masked(mask-ratio=min(0.5,2/s))' -o varies && ! grep 'tokens are masked' err || fail "$(cat err)"
}

# Parameters that are not given are the defaults of training in every command, of parts of a mixture too, and this is said; a model keeps them.
test_training_completes_parts() {
    texts
    echo '{"mixture": [{"share": 1, "objective": "ar"}, {"share": 1, "objective": "masked"}]}' > part.json
    filled='masked(mask-ratio=0.15): parameters that were not given are the defaults of train'
    exits 0 "$COSPEC" toy --objective masked --classes 2 --length 4 --tokens 2 && says "$filled" && says "25 % of the tokens are masked, not 15 %" &&
        exits 0 "$COSPEC" kernel masked --length 4 && says "25 % of the tokens are masked, not 15 %" &&
        exits 0 "$COSPEC" toy --objective 'mix:1*ar+1*masked' --classes 2 --length 4 --tokens 2 && says "0.5*$filled" &&
        exits 0 "$COSPEC" cooc --corpus c.txt --objective file --plan-file part.json -o d --force && cp d/matrix.npz part.npz &&
        exits 0 "$COSPEC" cooc --corpus c.txt --objective 'mix:1*ar+1*masked(mask-ratio=0.15)' -o d --force && cmp -s d/matrix.npz part.npz || return 1
    set -- train --corpus c.txt --layers 1 --width 16 --heads 2 --batch 2 --max-length 8 --steps 2
    exits 0 "$COSPEC" "$@" --objective 'mix:1*ar+1*masked' -o t && exits 0 "$COSPEC" "$@" --objective file --plan-file part.json -o u &&
        cmp t/model.safetensors u/model.safetensors && grep -q '0.5\*masked(mask-ratio=0.15)' t/config.json && rm part.json &&
        exits 0 "$COSPEC" features t c.txt -o f && exits 0 "$COSPEC" features u c.txt -o g || fail "$(cat err)"
}

# Prefixes and masks together, on whole documents: masses are those of the parts, clamped lengths are named, what would list every set says
# how many there are.
test_forms_mix_on_whole_documents() {
    awk 'BEGIN { n = split("2 3 60 400 17", l, " "); for (d = 1; d <= n; ++d) { s = ""; for (i = 0; i < l[d]; ++i) s = s " w" (i * i + d) % 29; print substr(s, 2) } }' > long.txt
    mixed='mix:1*ar+3*mix(1*masked(mask-ratio=0.15))'
    for context in nearest:2 each:4 document; do
        for o in ar 'masked(mask-ratio=0.15)' "$mixed"; do
            exits 0 "$COSPEC" cooc --corpus long.txt --objective "$o" --context $context --json -o d --force && number mass out >> mass.$context || return 1
        done
        says "masked(mask-ratio=0.15): in 2 sequences of at most 3 tokens the ratio would mask no token or all" || return 1
        near "$(sed -n 3p mass.$context)" "$(awk '{ m[NR] = $1 } END { printf "%.15g", 0.25 * m[1] + 0.75 * m[2] }' mass.$context)" 1e-12 || return 1
    done
    exits 0 "$COSPEC" connectivity --corpus long.txt --context nearest:1 --jackknife 0 -k 2 --compare ar --compare "$mixed" --compare 'masked(mask-ratio=0.15)' &&
        [ "$(grep -c 'sum_sigma4  *plug-in' out)" = 3 ] || return 1
    exits 0 "$COSPEC" cooc --corpus long.txt --objective "$mixed" --context nearest:2 --dry-run || return 1
    refuses 2 'all under mix at length 60 has 1.33e+11 contexts, but at most 1.05e+06 are supported: give shorter sequences, or sample the plans with' "$COSPEC" cooc --corpus long.txt --objective "$mixed" --context all --force -o d
}

test_defects_are_named() {
    texts
    set -- --corpus c.txt --objective file --plan-file bad.json
    echo '{"mixture": [{"share": 1, "objective": "masked", "parameters": {"mask-ratio": "2/s"}}]}' > bad.json
    for command in "cooc -o d" "train -o d --steps 2 --width 16 --heads 2 --layers 1 --max-length 8"; do
        refuses 3 'bad.json: part 1: mask-ratio "2/s" is 1, length 2: mask ratio 1 not in (0, 1)' "$COSPEC" $command "$@" || return 1
    done
    refuses 3 'is 1, length 2' "$COSPEC" toy --objective file --plan-file bad.json --classes 2 --length 2:4:1 --tokens 2 || return 1
    echo '{"mixture": [{"share": "1-s/3", "objective": "ar"}, {"share": 1, "objective": "permuted-ar"}]}' > bad.json
    refuses 3 'bad.json: part 1: share "1-s/3" is -0.33333333333333' "$COSPEC" cooc "$@" -o d || return 1
    echo '{"mixture": [{"share": "1/(", "objective": "ar"}]}' > bad.json
    refuses 3 'bad.json: part 1: share: "1/(": column 4' "$COSPEC" cooc "$@" -o d || return 1
    echo '{"mixture": [{"share": 1, "objective": "file", "parameters": {"plan-file": "bad.json"}}]}' > bad.json
    refuses 3 'bad.json: part 1: plan file bad.json includes itself' "$COSPEC" cooc "$@" -o d || return 1
    refuses 3 'none.json' "$COSPEC" cooc --corpus c.txt --objective 'mix:1*ar+1*file(plan-file=none.json)' -o d &&
        refuses 2 'unmasked is given twice' "$COSPEC" cooc --corpus c.txt --objective 'masked(unmasked=2,unmasked=3)' -o d &&
        refuses 2 'unknown name t (the length is s)' "$COSPEC" cooc --corpus c.txt --objective 'mix:1/t*ar+1*masked' -o d
}

# Shares are weights: what they sum to is said where it is not 1, on every command that takes one.
test_shares_that_do_not_sum_to_one() {
    texts
    mixture='mix:0.6*ar+0.5*masked(unmasked=1)' said='the shares sum to 1.1 and are divided by this sum: mix:0.5454545454545454*ar+0.45454545454545453*masked(unmasked=1)'
    for command in "kernel $mixture --length 3" "toy --objective $mixture --classes 2 --length 3 --tokens 2" "tradeoff --length 3 --compare $mixture" \
        "cooc --corpus c.txt --objective $mixture --context all --max-length 3 -o m"; do
        exits 0 "$COSPEC" $command && says "$said" || return 1
    done
    exits 0 "$COSPEC" kernel 'mix:0.1*ar+0.2*masked(unmasked=1)+0.7*permuted-ar' --length 3 && ! grep -q 'sum to' err || fail "${why:-$(cat err)}"
}

run_tests
