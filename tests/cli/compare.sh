# Several models in one report: cospec compare.
golden=$(pwd)/tests/golden/models
. tests/cli/lib.sh

# Two small models, causal and masked, of one labelled corpus (c.tsv), and a folder of a task.
models() {
    small_corpus c.tsv
    two_classes 120 > c.tsv
    mkdir tasks && { printf 'label\tsentence\n' && head -90 c.tsv; } > tasks/kind.train.tsv && { printf 'label\tsentence\n' && tail -30 c.tsv; } > tasks/kind.test.tsv
    for o in ar masked; do
        exits 0 "$COSPEC" train --corpus c.tsv --objective $o --arch gpt2 --max-length 16 --layers 2 --width 16 --heads 2 --batch 8 --lr 1e-2 --steps "${1:-30}" -o $o || return 1
    done
}

compare() { "$COSPEC" compare "$@" --read="--split all --limit 60" --pairs 40 --probe="--penalties 0.1 --limit 60" --finetune="--epochs 1 --seeds 1 --lr 1e-2 --max-length 16"; }

# The whole run: files, the same numbers as the commands, paired differences, and a report with verdicts.
test_two_models() {
    models || return 1
    # what it will take, before there is anything: every step, and the whole within a factor of five (of two where nothing else runs)
    ls > before && exits 0 compare ar masked c.tsv --tasks tasks -o d --dry-run && ls | cmp -s - before && cp out times || { fail "${why:-files: $(ls)}"; return 1; }
    begun=$(date +%s.%N)
    exits 0 compare ar masked c.tsv --tasks tasks -o d && [ "$(cat out)" = d/report.html ] || { fail "${why:-$(tail -3 err)}"; return 1; }
    [ "$(sed '1d; $d' times | cut -d' ' -f1 | sort)" = "$(for s in d/*/step.json; do basename "${s%/step.json}"; done | sort)" ] || { fail "other steps: $(cat times)"; return 1; }
    seconds="($(date +%s.%N) - $begun)" total=$(awk '$1 == "total" { print $2 }' times)
    holds "$total > $seconds / 5 && $total < 5 * $seconds" || return 1
    # the estimates have the forms of every table
    exits 0 compare ar masked c.tsv --tasks tasks --dry-run --csv && head -1 out | grep -q '^step,seconds,command$' && exits 0 compare ar masked c.tsv --dry-run --json && grep -q '"schema"' out &&
        says 'a single step within a factor of five' && refuses 2 "--json needs --dry-run" "$COSPEC" compare ar masked c.tsv --json -o e || return 1
    # the remaining time is reported once a step of each remaining command has ended, not before
    ! sed '/: cospec finetune/q' err | grep -q ' left\]' || { fail "$(grep ' left\]' err | head -1)"; return 1; }
    for f in scores.csv claims.csv models.csv study.json manifest.json fig-alike-cka/alike.svg fig-length/length.svg fig-mask/mask-rank.svg fig-probe-kind/by-layer.svg; do
        [ -s d/$f ] || { fail "no $f"; return 1; }
    done
    ! grep -q '{{' d/report.html && grep -q '<title>cospec: models compared</title>' d/report.html && grep -q 'Predicting the next token: bits per byte' d/report.html && grep -q 'Linear probe of kind: accuracy' d/report.html && grep -q 'below 1 where one dimension alone holds more than 90 % of the squares' d/report.html || { fail report; return 1; }
    # the pass of a causal model's states gives its losses
    grep -q -- '--losses @*[^ ]*ar.states/losses.npy' d/ar.perplexity/step.json && exits 0 "$COSPEC" perplexity ar c.tsv --first no --split all --limit 60 --max-length 16 -o own &&
        grep ',nll,' own/perplexity.csv | cut -d, -f4- | cmp - "$(grep ',nll,' d/ar.perplexity/perplexity.csv | cut -d, -f4- > given; echo given)" || { fail "${why:-other losses}"; return 1; }
    # each way of prediction that is reported, and no other
    [ "$(sed 1d d/masked.perplexity/perplexity.csv | cut -d, -f2 | sort -u | tr '\n' ' ')" = "append pseudo " ] || { fail "$(cat d/masked.perplexity/perplexity.csv)"; return 1; }
    # the numbers of scores.csv are those that the command itself prints
    for m in ar masked; do
        ask=prefix; [ $m = ar ] || ask=append
        [ "$(cell d/scores.csv value "^better.next,.*,$m,")" = "$(cell d/$m.perplexity/perplexity.csv value ",$ask,bits_per_byte,")" ] &&
            [ "$(cell d/scores.csv value "^shape.cosine,.*,$m,")" = "$(awk -F, '$1 == 2 && $3 == "mean_cosine" { print $5 }' d/$m.shape/similarity.csv)" ] &&
            [ "$(cell d/scores.csv value "^better.probe-kind,.*,$m,")" = "$(exits 0 "$COSPEC" probe $m --tasks tasks --pooling "$(cell d/models.csv pooling "^$m,")" --penalties 0.1 --limit 60 -o by-hand -q --force && cell by-hand/tasks.csv value '^kind,accuracy,')" ] || { fail "$m: $(grep "$m," d/scores.csv)"; return 1; }
    done
    [ "$(cell d/models.csv pooling '^ar,')" = last ] && [ "$(cell d/models.csv pooling '^masked,')" = mean ] || { fail "$(cat d/models.csv)"; return 1; }
    # the same documents, in other tokens or pooled otherwise: differences are paired
    for f in perplexity/perplexity rank/rank shape/similarity near/features probe/tasks finetune/tasks; do
        [ "$(awk -F, 'NR > 1 { print $NF }' d/ar.$f-blocks.csv | sort -u)" = "$(awk -F, 'NR > 1 { print $NF }' d/masked.$f-blocks.csv | sort -u)" ] || { fail "$f: other partitions"; return 1; }
    done
    # half of the width of a paired interval is Student's quantile of 19 degrees times the jackknife of the difference
    paste -d, d/ar.rank/rank-blocks.csv d/masked.rank/rank-blocks.csv | awk -F, '$1 == 2 && $2 == "entropy_rank" { x[n++] = $4 - $9; mean += $4 - $9 } END { for (i = 0; i < n; i++) s += (x[i] - mean / n) ^ 2; printf "%.12g\n", 2.093024054408 * sqrt((n - 1) / n * s) }' > width
    near "$(awk -F, '/^shape.entropy/ { for (i = 1; i <= NF; i++) if ($i ~ /^95 %/) { print ($(i - 1) - $(i - 2)) / 2; exit } }' d/claims.csv)" "$(cat width)" 1e-4
    cp -r . "$work/compared"
}

# One fine-tuning seed declares no winner; a measure without a better direction has no best model, and
# counts are in words. The folder is that of test_two_models, and a third model needs its own steps alone.
test_words() {
    cp -r "$work/compared/." . || { fail "test_two_models left no comparison"; return 1; }
    grep '^better.finetune' d/claims.csv | grep -v ',not tested,one fine-tuning seed' && { fail "a winner of one seed"; return 1; }
    grep -q '^better.next.ar.masked,.*,significant' d/claims.csv && ! grep -q ',reproduced,\|,opposite at' d/claims.csv || { fail "$(cut -d, -f1-4 d/claims.csv)"; return 1; }
    sed -n '/neither better nor worse/,/id="models"/p' d/report.html > shape && grep -q standings shape && ! grep -q 'class="n best"\|<b>ar</b>' shape || { fail "$(cat shape)"; return 1; }
    cp -r ar twin && exits 0 compare ar masked twin c.tsv --tasks tasks -o d --resume || { fail "$(tail -3 err)"; return 1; }
    grep -q 'significantly better than one model, worse than none' d/report.html && grep -q 'significantly better than none, worse than 2 models' d/report.html && ! grep -q 'cannot tell\|ahead [0-9]\|<i>open' d/report.html || fail "$(grep -o 'significantly[^<]*' d/report.html | sort | uniq -c)"
}

# Interrupted and gone on with; a third model later, and weights that change.
test_resume() {
    models 3 || return 1
    compare ar masked c.tsv -o d > out 2> err &
    pid=$!
    until grep -q '"exit": 0,' d/ar.rank/step.json 2> /dev/null || ! kill -0 $pid 2> /dev/null; do sleep 0.05; done
    kill -INT "$(pgrep -P $pid -x cospec | head -1)" 2> /dev/null || kill -INT $pid
    wait $pid; code=$?
    [ $code = 130 ] && [ ! -e d/report.html ] || { fail "exit code $code: $(tail -2 err)"; return 1; }
    before=$(stat -c %Y.%i d/ar.states/step.json)
    exits 0 compare ar masked c.tsv -o d --resume && [ "$(stat -c %Y.%i d/ar.states/step.json)" = "$before" ] && ! grep -q ' ar.states:' err || { fail "${why:-$(tail -3 err)}"; return 1; }
    # a third model: of the first two nothing is run again, nor listed by --dry-run
    exits 0 "$COSPEC" train --corpus c.tsv --objective prefix-lm --arch gpt2 --max-length 16 --layers 1 --width 16 --heads 2 --batch 8 --steps 2 -o third &&
        exits 0 compare ar masked third c.tsv -o d --resume --dry-run && cp out times && exits 0 compare ar masked third c.tsv -o d --resume || { fail "${why:-$(tail -3 err)}"; return 1; }
    sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err > ran
    ! grep -q '^ar.states' times && grep -q '^total .* of [0-9]* steps' times || { fail "$(cat times)"; return 1; }
    [ "$(sed '1d; $d' times | cut -d' ' -f1 | sort)" = "$(sort ran)" ] || { fail "other steps: $(cat times)"; return 1; }
    grep -q '^third.states$' ran && grep -q '^ar.third.alike$' ran && ! grep -v '^fig-\|third' ran || { fail "ran again: $(grep -v '^fig-\|third' ran | tr '\n' ' ')"; return 1; }
    # it reads by drawn plans, two for each text
    exits 0 "$COSPEC" features third c.tsv --pooling last --draws 2 --split all --limit 60 --max-length 16 --layers last -o two && cmp two/layer-1.npy d/third.states/layer-1-last.npy &&
        ! grep -q -- --draws d/ar.states/step.json || { fail "${why:-other draws}"; return 1; }
    [ "$(grep -c '^shape.entropy,' d/scores.csv)" = 3 ] || { fail "$(cat d/scores.csv)"; return 1; }
    # other weights under the same name: what was measured of them is measured again, and of the others nothing
    cp ar/model.safetensors third.safetensors && exits 0 "$COSPEC" train --corpus c.tsv --objective ar --arch gpt2 --max-length 16 --layers 2 --width 16 --heads 2 --batch 8 --steps 2 --seed 5 -o ar --force &&
        exits 0 compare ar masked third c.tsv -o d --resume || { fail "${why:-$(tail -3 err)}"; return 1; }
    sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err > ran
    grep -q '^ar.states$' ran && grep -q '^ar.rank$' ran && ! grep -q '^masked\|^third' ran || fail "$(tr '\n' ' ' < ran)"
}

# A folder of checkpoints is a series.
test_series() {
    small_corpus c.tsv
    mkdir run && exits 0 "$COSPEC" train --corpus c.tsv --objective ar --arch gpt2 --max-length 16 --layers 1 --width 16 --heads 2 --batch 8 --steps 9 --keep-at 3,6 -o t && mv t/checkpoint-3 run/step3 && mv t/checkpoint-6 run/step6 && cp -r t run/step9 || return 1
    exits 0 compare run c.tsv -o d && [ "$(cell d/models.csv step '^run-6,')" = 6 ] && [ -s d/course/course.svg ] && [ "$(grep -c '^course.entropy,' d/scores.csv)" = 3 ] && grep -q 'id="course"' d/report.html &&
        grep '^course.next' d/claims.csv | grep -q 'run-3 needs fewer bits than run-9' || fail "${why:-$(tail -3 err)}"
}

# Both stacks of t5 with a causal model (docs/how-to/two-models.md): the decoder's states and layers are separate, and its tokens are predicted
# with an encoder that reads nothing.
test_two_stacks() {
    two_stacks "$golden" t5 && mkdir tasks && { printf 'label\tsentence\n' && head -90 c.tsv; } > tasks/kind.train.tsv && { printf 'label\tsentence\n' && tail -30 c.tsv; } > tasks/kind.test.tsv &&
        exits 0 "$COSPEC" train --corpus c.tsv --objective ar --arch gpt2 --max-length 16 --layers 1 --width 16 --heads 2 --batch 8 --steps 2 -o ar &&
        exits 0 compare enc=t5 dec=t5:decoder ar c.tsv --tasks tasks -o d || { fail "${why:-$(tail -3 err)}"; return 1; }
    [ "$(awk -F, 'NR > 1 { print $1, $5, $6, $7, $10 }' d/models.csv | tr '\n' ';')" = "enc  masked 2 mean;dec decoder causal 3 last;ar  causal 1 last;" ] || { fail "$(cat d/models.csv)"; return 1; }
    exits 0 "$COSPEC" perplexity t5 c.tsv --first no --stack decoder --no-source --limit 60 --max-length 128 -o p && exits 0 "$COSPEC" features t5 c.tsv --stack decoder --pooling last --limit 60 --max-length 128 --layers last -o f || return 1
    [ "$(cell d/dec.perplexity/perplexity.csv value ',prefix,nll,')" = "$(cell p/perplexity.csv value ',prefix,nll,')" ] && cmp d/dec.states/layer-3-last.npy f/layer-3.npy && grep -q '^kind,last,' d/dec.probe/tasks.csv && [ ! -e d/enc.perplexity ] && [ -s d/enc.dec.alike/similarity.csv ] || { fail "$(ls d)"; return 1; }
    cut -f2 c.tsv > c.txt && exits 0 compare enc=t5 dec=t5:decoder ar c.tsv --tasks tasks --sources c.txt -o d --resume || { fail "${why:-$(tail -3 err)}"; return 1; }
    sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err > ran
    grep -q '^dec.perplexity$' ran && ! grep -q '^ar.states\|^enc.states' ran && cmp d/dec.states/layer-3-last.npy f/layer-3.npy || { fail "$(tr '\n' ' ' < ran)"; return 1; }
    refuses 2 "the model (gpt2) has no second stack" "$COSPEC" compare ar x=ar:decoder c.tsv -o e &&
        refuses 2 "--sources needs a MODEL:decoder" "$COSPEC" compare ar t5 c.tsv --sources c.txt -o e && refuses 2 "is given twice" "$COSPEC" compare a=t5:decoder b=t5:decoder c.tsv -o e || return 1
    # a name of the folder; a tokenizer that puts nothing around a text leaves an empty source, from which nothing is asked
    cp -r t5 bare && /usr/bin/python3 -c "import json; t = json.load(open('bare/tokenizer.json')); t['post_processor'] = None; json.dump(t, open('bare/tokenizer.json', 'w'))" &&
        exits 0 compare ar bare:decoder c.tsv -o e || { fail "${why:-$(tail -3 err)}"; return 1; }
    [ "$(cell e/models.csv stack '^bare-decoder,')" = decoder ] && grep -q '^bare-decoder,.*prediction (an empty source has no token)' e/models.csv && [ ! -e e/bare-decoder.perplexity ] || { fail "$(cat e/models.csv)"; return 1; }
}

test_bad_input() {
    models 1 || return 1
    mkdir empty && printf '{}' > empty/other.json
    refuses 3 "empty: " "$COSPEC" compare ar empty c.tsv -o d && [ ! -e d ] &&
        refuses 3 "nowhere: " "$COSPEC" compare ar nowhere c.tsv -o d &&
        refuses 2 "ar (ar) is given twice; NAME=MODEL distinguishes models" "$COSPEC" compare ar ar c.tsv -o d &&
        refuses 2 "(ar) is given twice" "$COSPEC" compare a=ar b=ar c.tsv -o d &&
        refuses 2 "one model is given; compare needs two or more" "$COSPEC" compare ar c.tsv -o d &&
        refuses 2 "an argument is missing" "$COSPEC" compare ar -o d &&
        refuses 2 "--max-length 500 exceeds the 16 positions of ar" "$COSPEC" compare ar masked c.tsv --max-length 500 -o d && [ ! -e d ] &&
        refuses 2 "compare needs -o DIR" "$COSPEC" compare ar masked c.tsv &&
        COSPEC_CACHE=$PWD refuses 3 "wordnet has not been prepared" "$COSPEC" compare ar masked wordnet --dry-run &&
        refuses 2 "a b: expected NAME=MODEL" "$COSPEC" compare "a b=ar" masked c.tsv -o d &&
        refuses 3 "none.tsv" "$COSPEC" compare ar masked none.tsv -o d || return 1
    # names that the commands of a study cannot hold
    mkdir -p quoted && cp -r ar "it's" && cp c.tsv "quoted/it's.tsv" && cp c.tsv "c'.tsv"
    for a in "x=it's masked c.tsv" "ar masked c'.tsv" "ar masked c.tsv --tasks quoted/it's.tsv"; do
        # shellcheck disable=SC2086
        refuses 2 "expected a name without spaces, quotes" "$COSPEC" compare $a -o d && [ ! -e d ] || return 1
    done
    # options of a step without quotes
    refuses 3 "40: no such file and no corpus of this name; if it belongs to --read, quote the value: --read '--limit 40'" "$COSPEC" compare ar masked c.tsv --read --limit 40 -o d &&
        refuses 3 "3: not a model directory; if it belongs to --finetune, quote the value: --finetune '--seeds 3'" "$COSPEC" compare --finetune --seeds 3 ar masked c.tsv -o d || return 1
    i=0; while [ $i -lt 60 ]; do echo "the cat sat on the mat"; i=$((i + 1)); done > equal.txt
    refuses 3 "equal.txt: all documents that the steps read are equal" "$COSPEC" compare ar masked equal.txt -o d || return 1
    printf 'one\ntwo\n' > plain.txt
    refuses 3 "--tasks: plain.txt" "$COSPEC" compare ar masked c.tsv --tasks plain.txt -o d || return 1
    # mistaken options of the steps are found before the first runs
    refuses 2 "cospec compare: --read: unknown option --limt for features; did you mean --limit?" "$COSPEC" compare ar masked c.tsv --read="--limt 3" -o d && [ ! -e d/ar.states ] || { fail "${why:-a step ran}"; return 1; }
    mkdir locked && chmod a-w locked
    if [ -w locked ]; then : > locked/file; refuses 2 "-o locked/file: not a directory" "$COSPEC" compare ar masked c.tsv -o locked/file; else refuses 3 "locked" "$COSPEC" compare ar masked c.tsv -o locked/d; fi
}

# The pairs of a corpus of 2,000 documents cost about as much as a figure does, with all blocks of the jackknife.
test_estimates_of_pairs() {
    models 1 || return 1
    awk 'BEGIN { srand(5); split("red green blue old new tall small dark", w, " "); for (i = 0; i < 2000; ++i) { s = "the cat"; for (k = 0; k < 6; ++k) s = s " " w[1 + int(8 * rand())]; print s } }' > many.txt
    exits 0 "$COSPEC" compare ar masked many.txt --read "--split all" --dry-run --csv && cp out times || return 1
    near=$(cell times seconds '^ar.near,') shape=$(cell times seconds '^ar.shape,') figure=$(cell times seconds '^fig-near,')
    awk -v n="$near" -v s="$shape" -v f="$figure" 'BEGIN { exit !(n > 0 && s > 0 && n < f + 1 && s < f + 1) }' || fail "near $near, shape $shape, figure $figure"
}

# Too few documents are refused before the first step; as many as the message says are enough.
test_few_documents() {
    models 1 || return 1
    for n in 3 4 20; do head -$n c.tsv > $n.tsv; done
    for o in -o\ d --dry-run; do
        refuses 3 "compare needs at least 4 documents; 3.tsv has 3" "$COSPEC" compare ar masked 3.tsv --read "--split all" $o &&
            refuses 3 "compare needs at least 4 documents; 20.tsv has 20, and --read '--split test --limit 400' selects 2 (--read '--split all' reads all)" "$COSPEC" compare ar masked 20.tsv $o &&
            refuses 3 "3.tsv has 3, and --read '--split test --limit 400' selects 1" "$COSPEC" compare ar masked 3.tsv $o && ! grep -q 'reads all' err && [ ! -e d ] || { fail "${why:-$(ls; cat err)}"; return 1; }
    done
    exits 0 "$COSPEC" compare ar masked 4.tsv --read "--split all" -o d
}

# The unigram baseline of the test side of a named corpus is counted on its training side.
test_test_side() {
    models 1 || return 1
    mkdir cache && awk -F '\t' -v OFS='\t' '{ print NR, $1, (NR > 80 ? "test" : "train"), $2 }' c.tsv > cache/wordnet.tsv
    COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" compare ar masked wordnet:test --read "--limit 20" --pairs 40 -o d || return 1
    grep -q -- '--unigram wordnet:train ' d/ar.perplexity/step.json && grep -q 'unigram_nll' d/ar.perplexity/perplexity.csv || fail "$(cat d/ar.perplexity/step.json)"
}

# Models with and without a begin token predict the same tokens, though the former could predict the first; and its row, the same for every text, is probed as the shares of the classes.
test_begin_tokens() {
    models 1 || return 1
    for o in none shared; do
        exits 0 "$COSPEC" train --corpus c.tsv --objective ar --empty-prefix $o --arch gpt2 --max-length 40 --layers 1 --width 16 --heads 2 --batch 8 --steps 2 -o $o || return 1
    done
    exits 0 compare none=./none shared=./shared c.tsv --tasks tasks -o d || { fail "${why:-$(tail -3 err)}"; return 1; }
    n=$(tail -1 d/none.perplexity/perplexity.csv) m=$(tail -1 d/shared.perplexity/perplexity.csv)
    [ "${n##*,}" = "${m##*,}" ] && grep -q '^kind,first,' d/shared.probe/tasks.csv || fail "$n $m $(cat d/shared.probe/tasks.csv)"
}

for t in two_models words estimates_of_pairs few_documents test_side begin_tokens two_stacks resume series bad_input; do
    check $t
done
