# cospec probe: closed forms from files, texts through a model, few labels, comparisons, bad input.
golden=$(pwd)/tests/golden/models
. tests/cli/lib.sh

i64() { for x in "$@"; do printf '%b\000\000\000\000\000\000\000' "\\$(printf %03o "$x")"; done; }

# Ten rows (z, 7), z = -1 and 1 in turn; labels agree with the sign of z in eight of them.
toy() {
    f32 -1 2  1 2  -1 2  1 2  -1 2  1 2  -1 2  1 2  -1 2  1 2 | npy x.npy '<f4' '(10, 2)'
    i64 0 1 0 1 0 1 0 1 1 0 | npy y.npy '<i8' '(10,)'
}

# sigmoid(2 u) - 0.8 + u / 10 = 0 has u = 0.52...: the loss is known from it.
test_closed_form() {
    toy
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --penalties 0.1 --json || return 1
    [ "$(number n out)" = 10 ] && [ "$(number d out)" = 2 ] && [ "$(number classes out)" = 2 ] && [ "$(number constant_features out)" = 1 ] ||
        { fail "$(head -c 300 out)"; return 1; }
    loss=$(awk 'BEGIN { lo = 0; hi = 5; for (i = 0; i < 99; i++) { u = (lo + hi) / 2; if (1 / (1 + exp(-2 * u)) - 0.8 + 0.1 * u > 0) hi = u; else lo = u }
        printf "%.15g", 0.8 * log(1 + exp(-2 * u)) + 0.2 * log(1 + exp(2 * u)) + 0.1 * u * u }')
    near "$(number loss out)" "$loss" 1e-11 || return 1
    for m in accuracy:0.8 f1:0.8 f1-macro:0.8 matthews:0.6; do near "$(metric ${m%:*})" ${m#*:} 1e-12 || return 1; done
    grep -q '"definition": "share of examples' out && grep -q '"predicts": "the most frequent class' out && grep -q '"coverage"' out ||
        { fail "no definition, baseline or interval"; return 1; }
    # Rows and values are the same numbers as text.
    printf 'label\n0\n1\n0\n1\n0\n1\n0\n1\n1\n0\n' > y.txt
    cp out first; exits 0 "$COSPEC" probe x.npy x.npy --labels y.txt --test-labels y.npy --penalties 0.1 --json && cmp -s first out ||
        { fail "${why:-labels as text give other numbers}"; return 1; }
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --penalties 0.1 --json --threads 3 && cmp -s first out ||
        fail "${why:-threads change the result}"
}

test_separable() {
    toy
    i64 0 1 0 1 0 1 0 1 0 1 | npy y.npy '<i8' '(10,)'
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --json || return 1
    near "$(metric accuracy)" 1 0 && holds "0 < $(number least_margin out) && $(number least_margin out) < 1000"
}

# One feature: w = r / (1 + penalty), a prediction on the line through the mean.
test_regression() {
    toy
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --regression --penalties 0.5 --csv || return 1
    [ "$(head -1 out | cut -d, -f1-8)" = model,layer,few,probe,metric,definition,value,se ] || { fail "$(head -1 out)"; return 1; }
    # r = 0.6, w = 0.4 on z and v = +-1: mean of (v - w z)^2 / 4, over 8 rows and 2.
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --regression --penalties 0.5 --json || return 1
    near "$(metric mse)" 0.17 1e-12 && near "$(metric pearson)" 0.6 1e-12 && near "$(metric spearman)" 0.6 1e-12
}

# Words determine the classes of the small corpus, whatever the weights are.
test_texts() {
    small_corpus labelled.tsv
    cut -f2 labelled.tsv > plain.txt
    exits 0 "$COSPEC" train --corpus plain.txt --objective masked --steps 3 --width 16 --layers 2 --heads 2 --batch 4 -o small || return 1
    exits 0 "$COSPEC" probe small labelled.tsv labelled.tsv --layer all --json -o d || return 1
    [ "$(members '"layer":' out)" = 3 ] && [ "$(number d out)" = 16 ] && near "$(metric accuracy)" 1 0 || { fail "${why:-$(head -c 300 out)}"; return 1; }
    [ "$(head -1 d/predictions.csv)" = layer,example,truth,seed_1 ] && [ "$(sed -n 2p d/predictions.csv)" = 0,0,animal,animal ] &&
        [ "$(wc -l < d/predictions.csv)" = 241 ] && [ -s d/manifest.json ] || { fail "$(head -2 d/predictions.csv)"; return 1; }
    # The same from states in files.
    near "$(blocks d/probe value ,2,linear,accuracy,)" "$(awk -F, '$2 == 2 && $4 == "linear" && $5 == "accuracy" { print $8 }' d/probe.csv)" 1e-9 || return 1
    exits 0 "$COSPEC" features small labelled.tsv --layers last -o s && exits 0 "$COSPEC" probe s/layer-2.npy s/layer-2.npy \
        --labels s/labels.npy --test-labels s/labels.npy --penalties 0.1 --json || return 1
    a=$(number loss out)
    exits 0 "$COSPEC" probe small labelled.tsv labelled.tsv --penalties 0.1 --json && near "$(number loss out)" "$a" 0 || return 1
    # Pairs have four times the columns.
    awk -F '\t' '{ print $1 "\t" $2 "\t" $2 " again" }' labelled.tsv > pairs.tsv
    exits 0 "$COSPEC" probe small pairs.tsv pairs.tsv --pair --few 10% --json && [ "$(number d out)" = 64 ] && [ "$(number n out)" = 8 ] &&
        [ "$(number seeds out)" = 5 ] || { fail "${why:-d $(number d out), n $(number n out)}"; return 1; }
    # Shares of tokens have a column a token; the untrained network is a model like any.
    exits 0 "$COSPEC" probe small labelled.tsv labelled.tsv --tokens --penalties 0.1 --json && [ "$(number d out)" = "$(number vocab_size small/config.json)" ] && grep -q '"layer": "tokens"' out || { fail "${why:-d $(number d out)}"; return 1; }
    refuses 2 "--layer cannot be combined with --tokens" "$COSPEC" probe small labelled.tsv labelled.tsv --tokens --layer 1 || return 1
    refuses 2 "single texts" "$COSPEC" probe small pairs.tsv pairs.tsv --pair --tokens || return 1
    exits 0 "$COSPEC" train --corpus labelled.tsv --objective ar --width 16 --layers 1 --heads 1 --steps 0 -o zero && exits 0 "$COSPEC" probe zero labelled.tsv labelled.tsv --few 10% || return 1
    refuses 2 "texts hold their own" "$COSPEC" probe small labelled.tsv labelled.tsv --labels x.npy || return 1
    printf 'fungus\ta mushroom\n' > odd.tsv
    refuses 3 'odd.tsv:1: class "fungus" is not one of the 2' "$COSPEC" probe small labelled.tsv odd.tsv || return 1
    printf 'animal\ta\nanimal\tb\n' > one.tsv
    refuses 3 "all 2 training rows are of class 'animal'" "$COSPEC" probe small one.tsv one.tsv || return 1
    # states are computed for the examples that a seed draws, and no others
    exits 0 "$COSPEC" probe small labelled.tsv labelled.tsv --few 2 --seeds 3 --json && read=$(number examples_read out) && [ "$read" -ge 4 ] && [ "$read" -le 12 ] || { fail "${why:-$read examples read}"; return 1; }
    refuses 3 'class "animal" has 40 examples, but 41 are requested' "$COSPEC" probe small labelled.tsv labelled.tsv --few 41 || return 1
    refuses 2 "--layer" "$COSPEC" probe small labelled.tsv labelled.tsv --layer 3
}

# The same texts in every form of a corpus give the same probe; one source is divided as cospec cooc divides it.
test_forms() {
    small_corpus labelled.tsv
    cut -f2 labelled.tsv > plain.txt
    exits 0 "$COSPEC" train --corpus plain.txt --objective masked --steps 3 --width 16 --layers 1 --heads 2 --batch 4 -o small || return 1
    awk -F '\t' '{ printf "{\"class\": \"%s\", \"body\": \"%s\"}\n", $1, $2 }' labelled.tsv > l.jsonl
    tr '\t' ' ' < labelled.tsv > l.questions
    mkdir l l/animal l/plant && awk -F '\t' '{ printf "%s", $2 > sprintf("l/%s/%02d", $1, NR) }' labelled.tsv
    gzip -c labelled.tsv > l.tsv.gz
    exits 0 "$COSPEC" probe small labelled.tsv labelled.tsv --penalties 0.1 --json && want=$(number loss out) || return 1
    for form in "l.jsonl l.jsonl --label-field class --text-field body" "l.questions l.questions --format space" "l l" "l.tsv.gz l.tsv.gz"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" probe small $form --penalties 0.1 --json && [ "$(number n out)" = 80 ] && near "$(number loss out)" "$want" 1e-12 || { why="$form: $why"; return 1; }
    done
    exits 0 "$COSPEC" features small labelled.tsv --split test --test-share 0.3 --seed 5 --json -o s && test=$(number rows out) || return 1
    exits 0 "$COSPEC" probe small labelled.tsv --test-share 0.3 --seed 5 --json && [ "$(number n_test out)" = "$test" ] && [ "$(number n out)" = $((80 - test)) ] && [ "$test" -gt 10 ] ||
        { fail "${why:-split: $(number n out), $(number n_test out), not $test}"; return 1; }
    exits 0 "$COSPEC" finetune small labelled.tsv --test-share 0.3 --seed 5 --seeds 1 --epochs 1 --json && [ "$(number n out)" = "$test" ] || { fail "${why:-finetune: $(number n out)}"; return 1; }
    refuses 2 "--test-share needs one source" "$COSPEC" probe small labelled.tsv labelled.tsv --test-share 0.3 || return 1
    # text that is not UTF-8: every such file is named, or met as asked
    printf 'caf\351' > l/animal/00 && printf '\351' > l/plant/00
    refuses 3 "2 files are not valid UTF-8" "$COSPEC" probe small l && says "l/animal/00:1: byte 4" && says "l/plant/00:1: byte 1" || return 1
    printf 'animal\tcat\nplant\ttr\351e\n' > bad.tsv && printf 'animal\tcat\nplant\t\377\n' > worse.tsv
    for command in "probe small" "finetune small"; do
        # shellcheck disable=SC2086
        refuses 3 "3 files are not valid UTF-8 (give --invalid replace, skip or latin1 to continue)" "$COSPEC" $command bad.tsv l && says "bad.tsv:2: byte 9" && says "l/plant/00:1: byte 1" || return 1
        # shellcheck disable=SC2086
        refuses 3 "2 files are not valid UTF-8" "$COSPEC" $command labelled.tsv l && refuses 3 "2 files are" "$COSPEC" $command bad.tsv worse.tsv && says "worse.tsv:2: byte 7" || return 1
        # shellcheck disable=SC2086
        refuses 3 "bad.tsv:2: byte 9: invalid UTF-8 (0xE9 0x65); give --invalid replace, skip or latin1 to continue" "$COSPEC" $command bad.tsv labelled.tsv && refuses 3 "bad.tsv:2: byte 9" "$COSPEC" $command bad.tsv bad.tsv || return 1
    done
    exits 0 "$COSPEC" finetune small l l --invalid latin1 --seeds 1 --epochs 1 --json && says "l: 2 sequences of invalid UTF-8 read as Latin-1" && [ "$(number n out)" = 82 ] || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" probe small l --invalid skip && says "l: 2 documents skipped, because of invalid UTF-8" || return 1
    printf '{"class": 1, "body": "a\\ud800"}\n' >> l.jsonl
    refuses 3 'l.jsonl:81: byte 24: \ud800 is not a character' "$COSPEC" cooc --corpus l.jsonl --label-field class --text-field body --objective ar --context nearest:1 -o c &&
        exits 0 "$COSPEC" cooc --corpus l.jsonl --label-field class --text-field body --objective ar --context nearest:1 -o c --invalid replace && says "l.jsonl: 1 sequence of invalid UTF-8 replaced"
}

test_against() {
    toy
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --penalties 1 -o a || return 1
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --penalties 0.1 --against a/predictions.csv --json &&
        [ "$(number only_this out)" = 0 ] && near "$(number p out)" 1 0 || { fail "${why:-$(number p out)}"; return 1; }
    # Another run that has the last four wrong; this one has two of them right.
    sed '8s/,[01]$/,1/; 9s/,[01]$/,0/' a/predictions.csv > b.csv
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --penalties 0.1 --against b.csv --json || return 1
    [ "$(number only_this out)" = 2 ] && near "$(number p out)" 0.5 1e-12 || { fail "p $(number p out)"; return 1; }
    # In the table p is that of the first seed, without interval or error; the seeds are those that both have.
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --penalties 0.1 --seeds 3 --against b.csv --csv || return 1
    [ "$(grep -c ',difference,' out)" = 5 ] || { fail "$(cat out)"; return 1; }
    grep ',difference,mcnemar_p,' out | grep -q '",0.5,,,,,1,10,10,' || { fail "$(grep mcnemar out)"; return 1; }
    grep ',difference,accuracy,' out | grep -q '",0.2[0-9]*,[0-9.]*,,,,1,10,10,' || { fail "$(grep difference out)"; return 1; }
    i64 1 1 0 1 0 1 0 1 1 0 | npy z.npy '<i8' '(10,)'
    refuses 3 "a/predictions.csv:2: example 0 with truth 0 is not example 0" "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels z.npy \
        --against a/predictions.csv || return 1
    sed 3d a/predictions.csv > short.csv
    refuses 3 "short.csv: 9 predictions of layer -, but 10 test examples" "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy \
        --against short.csv || return 1
    printf 'a,b\n1,2\n' > no.csv
    refuses 3 "no.csv: not a predictions.csv" "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --against no.csv
}

# The result is printed; the exit code reports the failure.
test_unconverged() {
    toy
    exits 4 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --penalties 1e-3 --max-iterations 1 --json &&
        grep -qF 'stopped with a gradient above' err && grep -q '"converged": false' out || fail "${why:-$(cat err)}"
}

# One note for all seeds; the class that is alone has its name; numbers of TEST are checked before the training.
test_notes() {
    toy
    exits 0 "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels y.npy --few 4 --seeds 3 --penalties 1e-4,1e-5 --folds 2 && [ "$(grep -c 'of the grid' err)" = 1 ] &&
        says "is the largest of the grid with 3 of 3 seeds: 0, 1, 2" || { fail "${why:-$(cat err)}"; return 1; }
    f32 -1 2  1 2  -1 2  1 nan  -1 2  1 2  -1 2  1 2  -1 2  1 2 | npy nan.npy '<f4' '(10, 2)'
    refuses 3 "nan.npy: row 3, column 1: value nan is not finite" "$COSPEC" probe x.npy nan.npy --labels y.npy --test-labels y.npy --few 100 || return 1
    small_corpus c.tsv; sort c.tsv > sorted.tsv
    exits 0 "$COSPEC" train --corpus c.tsv --width 16 --layers 1 --heads 2 --batch 8 --max-length 16 --steps 2 --objective ar -o model &&
        refuses 3 "all 9 training rows are of class 'animal', but two classes are needed; --limit takes the first lines only, --few takes examples of every class" "$COSPEC" probe model sorted.tsv c.tsv --limit 9
}

test_bad_input() {
    toy
    l="--labels y.npy --test-labels y.npy"
    refuses 2 "--labels FILE is missing: give the labels of x.npy" "$COSPEC" probe x.npy x.npy || return 1
    refuses 2 "--test-labels FILE is missing" "$COSPEC" probe x.npy x.npy --labels y.npy || return 1
    i64 0 1 0 | npy short.npy '<i8' '(3,)'
    refuses 3 "short.npy: 3 labels, but 10 rows in x.npy" "$COSPEC" probe x.npy x.npy --labels short.npy --test-labels y.npy || return 1
    i64 0 1 0 1 0 5 0 1 1 0 | npy five.npy '<i8' '(10,)'
    refuses 3 'class "5" is not one of the 2' "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels five.npy || return 1
    i64 3 3 3 3 3 3 3 3 3 3 | npy same.npy '<i8' '(10,)'
    refuses 3 "', but two classes are needed" "$COSPEC" probe x.npy x.npy --labels same.npy --test-labels same.npy || return 1
    f32 1 2 1  0 1 2 | npy wide.npy '<f4' '(2, 3)'; i64 0 1 | npy two.npy '<i8' '(2,)'
    refuses 3 "wide.npy has 3 columns, but x.npy has 2" "$COSPEC" probe x.npy wide.npy --labels y.npy --test-labels two.npy || return 1
    f32 -1 2  1 2  -1 2  1 nan  -1 2  1 2  -1 2  1 2  -1 2  1 2 | npy nan.npy '<f4' '(10, 2)'
    # shellcheck disable=SC2086 # several options
    {
        refuses 3 "nan.npy: row 3, column 1: value nan is not finite" "$COSPEC" probe nan.npy x.npy $l || return 1
        refuses 3 "nan.npy: row 3, column 1: value nan is not finite" "$COSPEC" probe x.npy nan.npy $l || return 1
        refuses 2 "--metric: unknown metric 'recall'" "$COSPEC" probe x.npy x.npy $l --metric recall || return 1
        refuses 2 "--metric pearson needs regression" "$COSPEC" probe x.npy x.npy $l --metric accuracy,pearson || return 1
        refuses 2 "--metric f1 needs classification" "$COSPEC" probe x.npy x.npy $l --regression --metric f1 || return 1
        refuses 2 "penalties must be positive and descending" "$COSPEC" probe x.npy x.npy $l --penalties 0.1,1 || return 1
        refuses 2 "--penalties" "$COSPEC" probe x.npy x.npy $l --penalties x || return 1
        refuses 2 "--few: \"lots\" is not all" "$COSPEC" probe x.npy x.npy $l --few lots || return 1
        refuses 2 "exclude each other" "$COSPEC" probe x.npy x.npy $l --folds 3 --validation-share 0.5 || return 1
        refuses 2 "--pair needs a MODEL" "$COSPEC" probe x.npy x.npy $l --pair || return 1
        refuses 5 "--device cuda needs a MODEL" "$COSPEC" probe x.npy x.npy $l --device cuda || return 1
        refuses 3 "none: not a model directory" "$COSPEC" probe none x.npy x.npy $l || return 1
        echo text > x.dat
        refuses 2 "expected a matrix: FILE.npy" "$COSPEC" probe x.dat x.npy $l || return 1
        refuses 3 "nowhere.npy" "$COSPEC" probe nowhere.npy x.npy $l || return 1
        exits 0 "$COSPEC" probe x.npy x.npy $l --dry-run --json && [ "$(number fits out)" = 42 ] || fail "${why:-$(cat out)}"
    }
}

# The second stack of t5, compared with a probe of its states in files; and a model without stacks.
test_decoder() {
    two_stacks "$golden" t5 && exits 0 "$COSPEC" features t5 c.tsv --stack decoder --layers last --split train -o a && exits 0 "$COSPEC" features t5 c.tsv --stack decoder --layers last --split test -o b &&
        exits 0 "$COSPEC" probe a/layer-3.npy b/layer-3.npy --labels a/labels.npy --test-labels b/labels.npy --penalties 0.1 -o files && exits 0 "$COSPEC" probe t5 c.tsv --stack decoder --layer 3 --penalties 0.1 -o p &&
        exits 0 "$COSPEC" probe t5 c.tsv --layer 2 --penalties 0.1 -o encoder || return 1
    of() { awk -F, '$4 == "linear" && $5 == "accuracy" { print $7, $17 }' "$1/probe.csv"; }
    gradient() { number gradient_norm "$1/probe.json"; }
    [ -n "$(of p)" ] && [ "$(of p)" = "$(of files)" ] && [ "$(gradient p)" = "$(gradient files)" ] && [ "$(gradient p)" != "$(gradient encoder)" ] || { fail "$(of p), $(of files); $(gradient p) $(gradient files) $(gradient encoder)"; return 1; }
    refuses 2 "layer" "$COSPEC" probe t5 c.tsv --layer 3 && refuses 2 "--stack cannot be combined with --tokens" "$COSPEC" probe t5 c.tsv --stack decoder --tokens &&
        refuses 2 "--stack needs a MODEL and texts" "$COSPEC" probe a/layer-3.npy b/layer-3.npy --labels a/labels.npy --test-labels b/labels.npy --stack decoder &&
        exits 0 "$COSPEC" train --corpus c.tsv --objective ar --steps 1 --width 16 --layers 1 --batch 8 -o ar && refuses 2 "the model (gpt2) has no second stack" "$COSPEC" probe ar c.tsv --stack decoder
}

run_tests
