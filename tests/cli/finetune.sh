# cospec finetune: tasks, few labels, rates, baselines, resumed runs, models that are kept, and what is refused.
. tests/cli/lib.sh
plugin=${CUDA_PLUGIN:-$(dirname "$COSPEC")/tests/cuda_emulation/cospec-emulated.so} # or the real one, where there is a GPU

# A task that words decide, pairs of it and numbers.
task() {
    small_corpus c.tsv
    awk -F'\t' '{ print $1 "\t" $2 "\tthe leaf sat" }' c.tsv > pairs.tsv
    awk -F'\t' '{ print ($1 == "animal" ? 1.5 : -0.5) "\t" $2 }' c.tsv > values.tsv
}

quick="--lr 1e-2 --batch 8"

test_every_kind_of_model() {
    task
    for objective in ar masked diverse-ar mae-lm; do
        trained model-$objective $objective && exits 0 "$COSPEC" finetune model-$objective c.tsv c.tsv $quick --epochs 6 --seeds 3 --json || return 1
        [ "$(metric accuracy)" = 1.0 ] && [ "$(metric matthews)" = 1.0 ] && [ "$(number n out)" = 80 ] || { fail "$objective: $(tr -d '\n ' < out)"; return 1; }
    done
    exits 0 "$COSPEC" finetune model-masked pairs.tsv pairs.tsv --pair-column 3 --pooling mean $quick --epochs 6 --seeds 3 --json && [ "$(metric f1)" = 1.0 ] || { fail "${why:-pairs: $(tr -d '\n ' < out)}"; return 1; }
    exits 0 "$COSPEC" finetune model-ar values.tsv values.tsv --regression $quick --seeds 3 --epochs 15 --json && [ "$(number classes out)" = 0 ] || return 1
    near "$(metric pearson)" 1 0.05 && near "$(metric mse)" 0 0.1
}

test_files() {
    task; trained model masked
    exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 3 --few 50% --metric accuracy -o d --json || return 1
    for f in finetune.csv finetune.json predictions.csv manifest.json runs/lr-0.01-seed-0/run.json runs/lr-0.01-seed-2/log.csv; do
        [ -s d/$f ] || { fail "$f is missing"; return 1; }
    done
    [ "$(head -1 d/finetune.csv)" = model,layer,metric,definition,value,low,high,coverage,constant,se,n,seed ] && [ "$(wc -l < d/finetune.csv)" = 5 ] &&
        [ "$(head -1 d/predictions.csv)" = layer,example,truth,seed_1,seed_2,seed_3 ] && [ "$(wc -l < d/predictions.csv)" = 81 ] || { fail "tables"; return 1; }
    # 20 of each of 2 classes, 6 epochs of 5 batches
    [ "$(number examples out)" = 40 ] && [ "$(number constant out)" = 0.5 ] || { fail "$(cat out)"; return 1; }
    [ "$(number steps out)" = 30 ] && [ "$(tail -1 d/runs/lr-0.01-seed-0/log.csv | cut -d, -f1)" = "$(number steps out)" ] || { fail "steps $(number steps out)"; return 1; }
    # accuracy of each seed, from the predictions
    for s in 1 2 3; do
        want=$(awk -F, -v c=$((3 + s)) 'NR > 1 { n++; k += $3 == $c } END { printf "%.6f", k / n }' d/predictions.csv)
        near "$(awk -F, -v s=$((s - 1)) '$NF == s { print $(NF - 7) }' d/finetune.csv)" "$want" 1e-5 || return 1
    done
}

# Two runs of one task: rows and items of the comparison, from both runs' own files.
test_against() {
    task; trained model masked
    fine="finetune model c.tsv c.tsv --seeds 3 --metric accuracy,matthews"
    exits 0 "$COSPEC" $fine $quick --epochs 6 -o a --json && exits 0 "$COSPEC" $fine --init random --batch 8 --lr 1e-3 --epochs 1 -o b || return 1
    cp -r a a2
    touch -d '2001-01-01' a/runs/lr-0.01-seed-*/run.json
    exits 0 "$COSPEC" $fine $quick --epochs 6 -o a --resume --against b/predictions.csv --json || return 1
    [ "$(find a/runs -name run.json -newermt 2002-01-01)" = "" ] || { fail "a run was made again for a comparison"; return 1; }
    near "$(blocks a/finetune value ,median,accuracy,)" "$(awk -F, '$NF == "median" && $3 == "accuracy" { print $(NF - 2) }' a/finetune.csv)" 5e-3 || return 1
    [ "$(tail -1 a/finetune-blocks.csv | sed 's/.*,//')" = "$(tail -1 b/finetune-blocks.csv | sed 's/.*,//')" ] || { fail "the same test examples, other partitions"; return 1; }
    # rows of this run's own scores are as they were
    grep -v ',difference$' a/finetune.csv | cmp -s - a2/finetune.csv && [ "$(grep -c ',difference$' a/finetune.csv)" = 3 ] || { fail "$(cat a/finetune.csv)"; return 1; }
    # median and one-left-out error of the seeds' differences, and each seed's p, from the two files
    paste -d, a/predictions.csv b/predictions.csv | awk -F, '
        function p_of(a, b,  n, k, t, s) { n = a + b; t = 0.5 ^ n; for (k = 0; k <= (a < b ? a : b); k++) { s += t; t *= (n - k) / (k + 1) } return 2 * s < 1 ? 2 * s : 1 }
        function middle(x, y, z) { return x > y ? (y > z ? y : x > z ? z : x) : (x > z ? x : y > z ? z : y) }
        NR > 1 { n++; for (s = 1; s <= 3; s++) { a[s] += $(3 + s) == $3 && $(9 + s) != $3; b[s] += $(3 + s) != $3 && $(9 + s) == $3 } }
        END { for (s = 1; s <= 3; s++) { d[s] = (a[s] - b[s]) / n; e[s] = sqrt(((a[s] + b[s]) / n - d[s] ^ 2) / (n - 1)); printf "%.9f %d %d\n", p_of(a[s], b[s]), a[s], b[s] }
              printf "%.9f %.9f\n", middle(d[1], d[2], d[3]), middle(e[1], e[2], e[3]) }' > want
    awk '$1 == "\"only_this\":" { a = $2 + 0 } $1 == "\"only_other\":" { b = $2 + 0 } $1 == "\"p\":" { printf "%.9f %d %d\n", $2 + 0, a, b }' out > got
    head -3 want | cmp -s - got && awk '{ k += $2 } END { exit !(k > 0) }' got || { fail "p: $(cat got want)"; return 1; }
    grep ',difference$' a/finetune.csv | sed 's/"[^"]*"//' > rows
    near "$(awk -F, '$3 == "accuracy" { print $5 }' rows)" "$(sed -n 4p want | cut -d' ' -f1)" 1e-8 && near "$(awk -F, '$3 == "accuracy" { print $10 }' rows)" "$(sed -n 4p want | cut -d' ' -f2)" 1e-8 || return 1
    # the first seed's p, without error or interval
    near "$(awk -F, '$3 == "mcnemar_p" { print $5 }' rows)" "$(sed -n 1p want | cut -d' ' -f1)" 1e-8 && grep -q ',mcnemar_p,,[^,]*,,,,,,80,difference$' rows || { fail "${why:-$(cat rows)}"; return 1; }
    # cospec probe writes files of the same form; a table for people separates scores from differences
    exits 0 "$COSPEC" probe model c.tsv c.tsv -o states && exits 0 "$COSPEC" $fine $quick --epochs 6 --against states/predictions.csv || return 1
    [ "$(head -1 out | awk '{ print $NF }')" = seed ] && [ "$(grep -c ' median$' out)" = 2 ] && [ "$(grep -c ' difference$' out)" = 3 ] || { fail "$(cat out)"; return 1; }
    exits 0 "$COSPEC" finetune model values.tsv values.tsv --regression $quick --seeds 1 --epochs 2 -o v && exits 0 "$COSPEC" finetune model values.tsv values.tsv \
        --regression $quick --seeds 1 --epochs 2 --against v/predictions.csv --csv || return 1
    [ "$(grep -c ',difference$' out)" = 3 ] && ! grep -q mcnemar out && grep ',mse,.*,difference$' out | grep -q '",0,,,,,0,80,' || { fail "values: $(cat out)"; return 1; }
    # other examples are refused before any run
    sed 3d b/predictions.csv > short.csv
    refuses 3 "short.csv: 79 predictions of layer all, but 80 test examples" "$COSPEC" $fine --epochs 100000 --against short.csv || return 1
    sed '2s/animal/plant/g' b/predictions.csv > other.csv
    refuses 3 "other.csv:2: example 0 with truth plant is not example 0 of this run" "$COSPEC" $fine --epochs 100000 --against other.csv || return 1
    refuses 3 "c.tsv: not a predictions.csv" "$COSPEC" $fine --epochs 100000 --against c.tsv || return 1
    refuses 3 "nowhere.csv" "$COSPEC" $fine --epochs 100000 --against nowhere.csv
}

test_rates() {
    task; trained model ar
    exits 0 "$COSPEC" finetune model c.tsv c.tsv --epochs 6 --seeds 1 --batch 8 --lr 1e-7,1e-2 --metric accuracy -o d --json || return 1
    grep -q '^model,all,accuracy,[^,]*,[0-9.]*,,,,' d/finetune.csv || { fail "an interval of one seed: $(cat d/finetune.csv)"; return 1; }
    [ "$(number learning_rate out)" = 0.01 ] && [ "$(grep -c '"learning_rate"' out)" = 3 ] && [ -s d/runs/trial-1e-07-seed-0/run.json ] && [ -s d/runs/lr-0.01-seed-0/run.json ] || { fail "$(cat out)"; return 1; }
    # 10 % of each class was kept from the trials: 72 examples are 9 batches
    [ "$(tail -1 d/runs/trial-0.01-seed-0/log.csv | cut -d, -f1)" = 54 ] || fail "$(cat d/runs/trial-0.01-seed-0/log.csv)"
}

# Each trial has its own folder and key, however close its rate is to another's.
test_close_rates() {
    task; trained model masked
    run() { exits 0 "$COSPEC" finetune model c.tsv c.tsv --epochs 1 --seeds 1 --batch 8 --lr 0.01,0.010000001 -o d --json "$@"; }
    run && cp out whole && [ -s d/runs/trial-0.01-seed-0/run.json ] && [ -s d/runs/trial-0.010000001-seed-0/run.json ] || { fail "${why:-$(ls d/runs)}"; return 1; }
    # interrupted before the second trial; the folder of one trial is not taken for the other
    rm -r d/finetune.* d/predictions.csv d/runs/trial-0.010000001-seed-0
    cp -r d/runs/trial-0.01-seed-0 d/runs/trial-0.010000001-seed-0
    sed -i 's/"finished": true/"finished": false/; s/^  "sha256"/  "sha256 before"/' d/manifest.json
    touch -d '2001-01-01' d/runs/trial-*/run.json
    run --resume && cmp out whole || { fail "${why:-other numbers}"; return 1; }
    [ "$(find d/runs/trial-* -name run.json -newermt 2002-01-01)" = d/runs/trial-0.010000001-seed-0/run.json ] || fail "made again: $(find d/runs -name run.json -newermt 2002-01-01)"
}

test_untrained_and_threads() {
    task; trained model masked
    for threads in 1 2 3; do
        exits 0 "$COSPEC" finetune model c.tsv c.tsv --init random --epochs 1 --lr 1e-30 --seeds 2 --threads $threads --json || return 1
        grep -v '"threads"' out | sha256sum >> sums
    done
    [ "$(sort -u sums | wc -l)" = 1 ] || { fail "$(cat sums)"; return 1; }
    [ "$(number constant out)" = 0.5 ] && holds "$(metric accuracy) < 0.95"
}

# A run that is killed after some seeds goes on with those that are missing, and gives the same.
test_resume() {
    task; trained model masked
    exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 3 -o whole && cp out text && cp -r whole part || return 1
    [ "$(head -1 text | tr -s ' ')" = "metric value low high coverage constant se n seed" ] && ! grep -q ' [012]$' text && [ "$(grep -c ' median$' text)" = 4 ] &&
        exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 3 -o whole --resume && cmp -s out text || { fail "${why:-$(cat text out)}"; return 1; }
    rm part/finetune.* part/predictions.csv && rm -r part/runs/lr-0.01-seed-1
    sed -i 's/"finished": true/"finished": false/; s/^  "sha256"/  "sha256 before"/' part/manifest.json
    touch -d '2001-01-01' part/runs/lr-0.01-seed-0/run.json
    exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 3 -o part --resume --json || return 1
    cmp -s whole/finetune.json part/finetune.json && cmp -s whole/predictions.csv part/predictions.csv || { fail "other numbers"; return 1; }
    [ "$(find part/runs/lr-0.01-seed-0/run.json -newermt 2002-01-01)" = "" ] || { fail "a finished run was made again"; return 1; }
    # finished: printed again; another recipe: refused; other texts: every run is made anew
    exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 3 -o part --resume --json && says "already finished" && cmp -s out whole/finetune.json || { fail "${why:-kept}"; return 1; }
    refuses 2 "part belongs to a run with --epochs 6, not 7; give --force to start again" "$COSPEC" finetune model c.tsv c.tsv $quick --seeds 3 --epochs 7 -o part --resume || return 1
    refuses 2 "--force" "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 3 -o part || return 1
    sed -i 's/mat/log/' c.tsv
    exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 3 -o part --resume --json || return 1
    [ -n "$(find part/runs/lr-0.01-seed-0/run.json -newermt 2002-01-01)" ] || fail "a run of other texts was kept"
}

# A resumed run keeps only files that it wrote: another run's model or numbers are not part of it.
test_damaged_runs() {
    task; trained model masked
    run() { exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 2 --seeds 2 --save-model -o d "$@"; }
    run && cp -r d whole && runs=d/runs/lr-0.01-seed || return 1
    # same NAME: made again are the runs named, and all files have the bytes of the first time
    made() {
        touch -d '2001-01-01' $runs-*/run.json
        run --resume || return 1
        [ "$(find $runs-* -name run.json -newermt 2002-01-01 | sort | tr '\n' ' ')" = "$1" ] || { fail "$2: made again: $(find $runs-* -name run.json -newermt 2002-01-01)"; return 1; }
        for f in finetune.json predictions.csv runs/lr-0.01-seed-0/model.safetensors runs/lr-0.01-seed-1/model.safetensors; do cmp d/$f whole/$f || { fail "$2: $f"; return 1; }; done
        grep -q "$(sha256sum < whole/runs/lr-0.01-seed-0/model.safetensors | cut -d' ' -f1)" d/manifest.json || fail "$2: another digest"
    }
    cp $runs-1/model.safetensors $runs-0/ && made "$runs-0/run.json " exchanged || return 1
    printf '\001' | dd of=$runs-1/model.safetensors bs=1 seek=$(($(wc -c < $runs-1/model.safetensors) - 9)) conv=notrunc 2> /dev/null
    made "$runs-1/run.json " "a flipped bit" || return 1
    rm $runs-0/model.safetensors && made "$runs-0/run.json " missing || return 1
    sed -i 's/"test_loss": [0-9]/"test_loss": 7/' $runs-0/run.json && made "$runs-0/run.json " "a number" || return 1
    # also where the study was not finished, so that its manifest has no digests
    rm d/finetune.* d/predictions.csv && sed -i 's/"finished": true/"finished": false/; s/^  "sha256"/  "sha256 before"/; s/"outputs"/"outputs before"/' d/manifest.json
    cp $runs-0/model.safetensors $runs-1/ && made "$runs-1/run.json " unfinished || return 1
    # older runs have no digests: whether the model is the run's is not known
    sed -i 's/"outputs"/"outputs before"/; s/"sha256"/"sha256 before"/' $runs-0/run.json && made "$runs-0/run.json " "without digests"
}

test_interrupt() {
    task; trained model masked
    "$COSPEC" finetune model c.tsv c.tsv --epochs 100000 --seeds 1 -o d > out 2> err & pid=$!
    i=0; while [ ! -s d/runs/lr-4e-05-seed-0/log.csv ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
    kill -INT $pid; wait $pid; code=$?
    [ $code = 130 ] && grep -q "learning rate 4e-05, seed 0: interrupted after step" err && [ ! -e d/finetune.json ] || fail "code $code: $(cat err)"
}

# A model that is kept can be fine-tuned on; it predicts no tokens.
test_kept_models() {
    task; trained model masked
    exits 0 "$COSPEC" finetune model c.tsv c.tsv $quick --epochs 6 --seeds 1 --save-model -o d || return 1
    kept=d/runs/lr-0.01-seed-0
    for f in model.safetensors config.json tokenizer.json tokenizer_config.json; do [ -s $kept/$f ] || { fail "$f"; return 1; }; done
    grep -q '"RobertaPreLayerNormForSequenceClassification"' $kept/config.json && grep -q '"animal": 0' $kept/config.json && grep -q '"1": "plant"' $kept/config.json || { fail "$(cat $kept/config.json)"; return 1; }
    refuses 2 "predicts classes, not tokens" "$COSPEC" perplexity $kept c.tsv || return 1
    exits 0 "$COSPEC" finetune $kept c.tsv c.tsv $quick --epochs 2 --seeds 1 --json && [ "$(metric accuracy)" = 1.0 ] || fail "${why:-$(cat out)}"
}

# The plug-in computes the same heads, types, means and errors: losses agree to float rounding.
test_plugin() {
    [ -f "$plugin" ] || { skip plugin "no C++ compiler"; return 0; }
    task; trained model masked --arch bert
    for form in "pairs.tsv pairs.tsv --pair-column 3" "pairs.tsv pairs.tsv --pair-column 3 --pooling mean" "values.tsv values.tsv --regression"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" finetune model $form --epochs 1 --lr 1e-3 --seeds 1 --json && cp out cpu || return 1
        # shellcheck disable=SC2086
        exits 0 env COSPEC_PLUGIN="$plugin" "$COSPEC" finetune model $form --epochs 1 --lr 1e-3 --seeds 1 --device cuda --json || return 1
        near "$(number train_loss out)" "$(number train_loss cpu)" 1e-4 && near "$(number test_loss out)" "$(number test_loss cpu)" 1e-4 || return 1
    done
}

# A head of spans on a device: batches of one shape, the last one not full, windows of several lengths; the same loss and predicted spans (of one epoch: Adam lets rounding grow).
test_spans_on_a_device() {
    [ -f "$plugin" ] || { skip spans_on_a_device "no C++ compiler"; return 0; }
    task; squad s.json
    for kind in masked ar; do
        trained "$kind" $kind || return 1
        spans="--head spans --max-length 10 --stride 3 --epochs 1 --batch 7 --lr 1e-2 --seeds 1 --json"
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" finetune "$kind" s.json s.json $spans -o "cpu-$kind" && cp out cpu && exits 0 env COSPEC_PLUGIN="$plugin" "$COSPEC" finetune "$kind" s.json s.json $spans --device cuda -o "cuda-$kind" || return 1
        near "$(number train_loss out)" "$(number train_loss cpu)" 1e-5 && near "$(number test_loss out)" "$(number test_loss cpu)" 1e-5 && cmp "cpu-$kind/runs/seed-0/predictions.json" "cuda-$kind/runs/seed-0/predictions.json" || { fail "$kind: ${why:-other predictions}"; return 1; }
    done
}

test_refusals() {
    task; trained model masked; trained causal ar
    refuses 2 "finetune MODEL TRAIN [TEST]" "$COSPEC" finetune model || return 1
    refuses 3 "nowhere: not a model directory" "$COSPEC" finetune nowhere c.tsv c.tsv || return 1
    grep animal c.tsv > one.tsv
    refuses 3 "one.tsv: all 40 training rows are of class 'animal', but two classes are needed" "$COSPEC" finetune model one.tsv c.tsv || return 1
    { cat c.tsv; printf 'stone\tthe rock\n'; } > more.tsv
    refuses 3 "more.tsv:81" "$COSPEC" finetune model c.tsv more.tsv || return 1
    refuses 2 "--pooling first: the first token of a causal model" "$COSPEC" finetune causal c.tsv c.tsv --pooling first || return 1
    refuses 2 "--max-length 200 exceeds the positions of the model: model has 16" "$COSPEC" finetune model c.tsv c.tsv --max-length 200 || return 1
    refuses 2 "--metric pearson needs regression" "$COSPEC" finetune model c.tsv c.tsv --metric pearson || return 1
    refuses 2 "names accuracy twice" "$COSPEC" finetune model c.tsv c.tsv --metric accuracy,accuracy || return 1
    refuses 2 "lr" "$COSPEC" finetune model c.tsv c.tsv --lr 1e-3,x || return 1
    refuses 2 "--lr contains 0.001 twice" "$COSPEC" finetune model c.tsv c.tsv --lr 1e-3,1e-3 || return 1
    refuses 2 "--save-model needs -o DIR" "$COSPEC" finetune model c.tsv c.tsv --save-model || return 1
    refuses 3 'class "animal" has 40 examples, but 41 are requested' "$COSPEC" finetune model c.tsv c.tsv --few 41 || return 1
    exits 0 "$COSPEC" train --corpus c.tsv --objective linear --steps 2 --width 8 --batch 4 -o flat || return 1
    refuses 2 "flat: architecture linear has no encoder" "$COSPEC" finetune flat c.tsv c.tsv || return 1
    # a weight that is no number is named before any step
    cp -r model broken && edited broken && sed -i 's/"xxh3"/"none"/' broken/model.safetensors && size=$(wc -c < broken/model.safetensors) # without its hash
    head -c $((size - size / 2)) /dev/zero | tr '\0' '\377' | dd of=broken/model.safetensors bs=4096 seek=$((size / 2)) oflag=seek_bytes iflag=fullblock conv=notrunc 2> /dev/null
    refuses 3 "broken/model.safetensors: item " "$COSPEC" finetune broken c.tsv c.tsv --seeds 1 --epochs 1 && says nan || return 1
    cp -r model bare && rm bare/tokenizer.json
    refuses 3 "bare/tokenizer.json: not found" "$COSPEC" finetune bare c.tsv c.tsv || return 1
    # texts that are too long are cut, and that is said
    exits 0 "$COSPEC" finetune model c.tsv c.tsv --max-length 5 --epochs 1 --seeds 1 --json && says "80 of 80 texts are truncated to 5 tokens" && [ "$(number truncated_test out)" = 80 ] || fail "${why:-$(cat err)}"
}

# A gap and a word for each class: asked as they are, models of both kinds answer without a step; taught by few, they learn.
test_cloze() {
    task; trained model masked; trained causal ar; trained two diverse-ar; trained mntp mntp; trained hybrid "mix:1*ar+1*mntp" --empty-prefix shared
    words="animal=cat,plant=tree"
    for m in "model {1} a {mask}" "causal {1} a {mask}" "mntp {1} a {mask} a" "hybrid {mask} a {1}"; do
        dir=${m%% *} template=${m#* }
        exits 0 "$COSPEC" finetune $dir c.tsv c.tsv --template "$template" --verbalisers $words --epochs 0 --seeds 1 --json -o $dir-zero || return 1
        grep -q '"pooling": "cloze"' out && [ "$(number steps out)" = 0 ] && [ "$(number n out)" = 80 ] || { fail "$dir: $(tr -d '\n ' < out)"; return 1; }
        # without steps no seed affects a prediction
        exits 0 "$COSPEC" finetune $dir c.tsv c.tsv --template "$template" --verbalisers $words --epochs 0 --seeds 1 --seed 9 -o $dir-again && cmp -s $dir-zero/predictions.csv $dir-again/predictions.csv || { fail "${why:-$dir: another seed predicts otherwise}"; return 1; }
        exits 0 "$COSPEC" finetune $dir c.tsv c.tsv --template "$template" --verbalisers $words --few 20 $quick --epochs 15 --seeds 2 --json --save-model -o $dir-few && [ "$(metric accuracy)" = 1.0 ] || { fail "${why:-$dir: $(tr -d '\n ' < out)}"; return 1; }
        kept=$dir-few/runs/lr-0.01-seed-0
        grep -q '"cloze": true' $kept/config.json && grep -q '"model_type": "cospec"' $kept/config.json && exits 0 "$COSPEC" features $kept c.tsv --limit 5 --force -o f || { fail "${why:-$dir: $(cat $kept/config.json)}"; return 1; }
    done
    exits 0 "$COSPEC" finetune model pairs.tsv pairs.tsv --pair-column 3 --template "{1} a {mask} {2}" --verbalisers $words $quick --epochs 6 --seeds 1 --json && [ "$(metric accuracy)" = 1.0 ] || { fail "${why:-pairs: $(tr -d '\n ' < out)}"; return 1; }
    refuses 2 "--template and --verbalisers must be given together" "$COSPEC" finetune model c.tsv c.tsv --template "{1} {mask}" &&
        refuses 2 "--epochs 0 needs --template" "$COSPEC" finetune model c.tsv c.tsv --epochs 0 &&
        refuses 2 "--pooling cannot be combined with --template" "$COSPEC" finetune model c.tsv c.tsv --template "{1} {mask}" --verbalisers $words --pooling mean &&
        refuses 2 "two (two-stream) has no mask token to fill" "$COSPEC" finetune two c.tsv c.tsv --template "{1} {mask}" --verbalisers $words &&
        refuses 2 "no token precedes the gap" "$COSPEC" finetune mntp c.tsv c.tsv --template "{mask} {1}" --verbalisers $words &&
        refuses 2 "the model has no token 'unheard'" "$COSPEC" finetune model c.tsv c.tsv --template "{1} {mask}" --verbalisers animal=cat,plant=unheard &&
        refuses 2 "for a causal model {mask} must come last" "$COSPEC" finetune causal c.tsv c.tsv --template "{mask} {1}" --verbalisers $words &&
        refuses 2 "--regression cannot be combined with --template" "$COSPEC" finetune model values.tsv values.tsv --regression --template "{1} {mask}" --verbalisers $words
}

# squad FILE: 36 questions for the number in a context; every third context has none.
squad() {
    {
        printf '{"data": [{"paragraphs": ['
        i=0
        for word in one two three cat one three two one cat two three cat; do
            for beside in dog tree leaf; do
                [ $i = 0 ] || printf ', '
                case $word in
                cat) answer='' none=true ;;
                *) answer="{\"text\": \"$word\", \"answer_start\": 11}" none=false ;;
                esac
                printf '{"context": "the number %s sat on the %s", "qas": [{"id": "q%d", "question": "%s number", "answers": [%s], "is_impossible": %s}]}' "$word" "$beside" $i "$beside" "$answer" $none
                i=$((i + 1))
            done
        done
        printf ']}]}'
    } > "$1"
}

# Extractive question answering: learned by a masked and a causal model, in the files of SQuAD's scorer, kept with their head, and
# what is refused.
test_spans() {
    task; squad s.json
    for objective in masked ar; do
        trained m-$objective $objective && exits 0 "$COSPEC" finetune m-$objective s.json s.json --head spans --max-length 10 --stride 3 --epochs 30 --lr 1e-2 --seeds 2 --save-model -o d-$objective --json || return 1
        [ "$(metric exact)" = 1.0 ] && [ "$(metric f1-answered)" = 1.0 ] && [ "$(metric exact-unanswerable)" = 1.0 ] && [ "$(number n out)" = 36 ] && [ "$(number windows_test out)" -gt 36 ] ||
            { fail "$objective: $(tr -d '\n ' < out)"; return 1; }
        grep -q '"q0": "one"' d-$objective/runs/seed-0/predictions.json && grep -q '"q9": ""' d-$objective/runs/seed-1/predictions.json && grep -q '"q9": [0-9]' d-$objective/runs/seed-1/null_odds.json || { fail "predictions"; return 1; }
        # the saved head predicts the same
        exits 0 "$COSPEC" finetune d-$objective/runs/seed-1 s.json s.json --head spans --max-length 10 --stride 3 --epochs 0 --seeds 1 -o again --force --json && [ "$(metric exact)" = 1.0 ] &&
            cmp again/runs/seed-0/predictions.json d-$objective/runs/seed-1/predictions.json || return 1
    done
    [ "$(head -1 d-ar/finetune.csv)" = model,layer,metric,definition,value,low,high,coverage,se,n,seed ] && [ "$(wc -l < d-ar/finetune.csv)" = 6 ] && grep -q GPT2ForQuestionAnswering d-ar/runs/seed-0/config.json || { fail "tables"; return 1; }
    # nothing is none where no score of none is that high
    exits 0 "$COSPEC" finetune d-ar/runs/seed-1 s.json s.json --head spans --max-length 12 --epochs 0 --seeds 1 --null-threshold 1e9 --json && [ "$(metric exact-unanswerable)" = 0.0 ] || return 1
    sed 's/"answer_start": 11/"answer_start": 12/' s.json > off.json
    sed 's/"id": "q1"/"id": "q0"/' s.json > twice.json
    refuses 3 "off.json: question q0: its answer 'one' is not at character 12 of the context" "$COSPEC" finetune m-ar s.json off.json --head spans &&
        refuses 3 "twice.json: two questions have the same id q0" "$COSPEC" finetune m-ar twice.json s.json --head spans &&
        refuses 3 "c.tsv" "$COSPEC" finetune m-ar c.tsv s.json --head spans &&
        refuses 2 "--head spans needs the arguments MODEL TRAIN.json TEST.json" "$COSPEC" finetune m-ar s.json --head spans &&
        refuses 2 "has no span head" "$COSPEC" finetune m-ar s.json s.json --head spans --epochs 0 --max-length 12 &&
        refuses 2 "is too short for" "$COSPEC" finetune m-ar s.json s.json --head spans --max-length 4 &&
        refuses 2 "--head spans needs a single --lr" "$COSPEC" finetune m-ar s.json s.json --head spans --lr 1e-3,1e-4 &&
        refuses 2 "--template cannot be combined with --head spans" "$COSPEC" finetune m-ar s.json s.json --head spans --template '{1}{mask}' &&
        refuses 2 "--stride needs --head spans" "$COSPEC" finetune m-ar c.tsv c.tsv --stride 3 &&
        refuses 2 "--max-length 40 exceeds the positions of the model: m-ar has 16" "$COSPEC" finetune m-ar s.json s.json --head spans --max-length 40
}

for t in cloze spans every_kind_of_model files against rates close_rates untrained_and_threads resume damaged_runs interrupt kept_models plugin spans_on_a_device refusals; do check $t; done
