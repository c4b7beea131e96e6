# cospec mask-rank and verify 2.2: the MAE-LM study of two small models, files, figures, and what is refused.
golden=$(pwd)/tests/golden/models
. tests/cli/lib.sh

# rows FILE TEXT: how many rows hold the text.
rows() { grep -cF -- "$2" "$1"; }

test_study_of_two_models() {
    small_corpus c.tsv
    trained mlm masked && trained mae mae-lm &&
        exits 0 "$COSPEC" mask-rank MLM=mlm MAE-LM=mae/ c.tsv --blocks 5 --json -o study || return 1
    [ "$(head -1 study/mask_rank.csv)" = model,layer,states,metric,definition,value,se,n,series ] &&
        [ "$(head -1 study/gap.csv)" = model,layer,metric,definition,with,without,value,se,n,series ] &&
        [ "$(head -1 study/containment.csv)" = model,layer,metric,definition,value,se,n,series ] ||
        { fail "$(head -1 study/*.csv)"; return 1; }
    # 5 and 3 sets of rows, 3 layers, 10 measures
    [ "$(rows study/mask_rank.csv MLM,)" = 150 ] && [ "$(rows study/mask_rank.csv MAE-LM,)" = 90 ] &&
        [ "$(rows study/gap.csv ,rank_tau,)" = 6 ] && [ "$(rows study/containment.csv outside_share,)" = 3 ] ||
        { fail "rows: $(wc -l study/*.csv | tr '\n' ' ')"; return 1; }
    for metric in rank_tau participation_ratio; do
        near "$(blocks study/gap value "^MLM,2,$metric,")" "$(awk -F, -v m=$metric '$1 == "MLM" && $2 == 2 && $3 == m { print $(NF - 2) }' study/gap.csv)" 1e-9 &&
            near "$(blocks study/mask_rank value "^MLM,1,mask-only,$metric,")" "$(awk -F, -v m=$metric '$1 == "MLM" && $2 == 1 && $3 == "mask-only" && $4 == m { print $(NF - 2) }' study/mask_rank.csv)" 1e-9 || return 1
    done
    # of the corrected rank: 5 parts and the bias left, in squares
    bias=$(awk -F, '$1 == "MLM" && $2 == 2 && $3 == "rank_tau_corrected" && $4 == 0 { print $5 }' study/gap-blocks.csv)
    near "$(blocks study/gap value '^MLM,2,rank_tau_corrected,[1-9]' | awk -v b="$bias" '{ printf "%.12g", sqrt($1 ^ 2 + b ^ 2) }')" \
        "$(awk -F, '$1 == "MLM" && $2 == 2 && $3 == "rank_tau_corrected" { print $(NF - 2) }' study/gap.csv)" 1e-9 || return 1
    /usr/bin/python3 -c 'import json; j = json.load(open("study/statements.json")); assert len(j["data"]) == len(j["statements"]) and j["schema"]["fields"]' || { fail "statements.json is no table"; return 1; }
    for id in 2.1 2.1-premise 2.1-effective 2.2 2.2-deficient 2.2-containment; do
        grep -q "\"id\": \"$id\"" study/statements.json || { fail "no statement $id"; return 1; }
    done
    grep -q '"kind": "mae-lm"' out && grep -q '"dropped": {' out && grep -q '"mask-only": {' out && [ -s study/mask_rank.json ] && [ -s study/manifest.json ] ||
        { fail "$(head -c 300 out)"; return 1; }
    # The names stand for the directories; without one it is the directory's own.
    exits 0 "$COSPEC" mask-rank ./mae/ c.tsv --blocks 2 --csv && grep -q '^mae,0,dropped,rank_tau,' out && [ "$(rows out mask-only)" = 0 ] || { fail "${why:-$(head -c 300 out)}"; return 1; }
    refuses 2 mask_rank.csv "$COSPEC" mask-rank mlm c.tsv --blocks 2 -o study &&
        exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 2 --force -o study
}

# The gap stands for the ranks in text, and definitions stay in the files.
test_table_for_the_eye() {
    small_corpus c.tsv
    trained mlm masked && exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 2 --mask-ratio 0.15 --max-length 4 && says 'masked(mask-ratio=0.15): 25 % of the tokens are masked, not 15 %' &&
        exits 0 "$COSPEC" features mlm c.tsv --mask-ratio 0.15 --max-length 4 -o s && says ': 25 % of the tokens are masked' || return 1
    exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 2 && cp out plain && exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 2 -o o && cmp -s out plain || return 1
    [ "$(head -1 out | tr -s ' ')" = "model layer metric with without value se n" ] && ! grep -q with-mask out && grep -q rank_tau_corrected out && [ "$(wc -L < out)" -lt 80 ] || { fail "$(head -3 out)"; return 1; }
    exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 2 --metric stable_rank && [ "$(head -1 out | tr -s ' ')" = "model layer states metric value se n" ] &&
        [ "$(grep -c ' with-mask  *stable_rank ' out)" = 3 ] && ! grep -q entropy out || fail "${why:-$(cat out)}"
}

# with-mask has the rows of without-mask; MAE-LM's pairs are equally many.
test_equal_rows() {
    small_corpus c.tsv
    trained mlm masked && exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 4 --csv || return 1
    for set in with-mask without-mask; do
        awk -F, -v s=$set '$3 == s && $2 == 1 && $4 == "stable_rank" { print $(NF - 1) }' out
    done | sort -u > n
    [ "$(wc -l < n)" = 1 ] && [ "$(awk -F, '$3 == "mask-only" && $2 == 1 && $4 == "stable_rank" { print $(NF - 1) }' out)" = "$(awk -F, '$3 == "real-sample" && $2 == 1 && $4 == "stable_rank" { print $(NF - 1) }' out)" ] || fail "$(cat n)"
}

# Without queries all weights are alike and the bound is 0 against rounding: no verdict, exit code 4, and the results are there.
test_inconclusive() {
    small_corpus c.tsv
    trained flat masked || return 1
    f=flat/model.safetensors; edited flat
    LC_ALL=C sed -i 's/"xxh3"/"none"/' $f # no checksum
    header=$(od -An -tu8 -N8 $f | tr -d ' ')
    range=$(head -c $((8 + header)) $f | LC_ALL=C grep -ao 'layer.0.attention.self.query.weight":{[^}]*}' | sed 's/.*offsets":\[\([0-9]*\),\([0-9]*\)\]}/\1 \2/')
    first=${range% *} end=${range#* }
    dd if=/dev/zero of=$f bs=1 seek=$((8 + header + first)) count=$((end - first)) conv=notrunc 2> dd.log || { fail "$(cat dd.log)"; return 1; }
    exits 4 "$COSPEC" mask-rank flat c.tsv --blocks 2 -o study && grep -q "2.2 on flat, heads of layer 1 is inconclusive" err &&
        [ -s study/statements.json ] && [ -s study/mask_rank.csv ] && [ -s study/manifest.json ] || fail "${why:-no files}"
}

test_options() {
    small_corpus c.tsv
    trained mlm masked || return 1
    exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 3 --layers 0,2 --limit 20 --pieces 0 --json && [ "$(grep -c '"layer": ' out)" -ge 2 ] &&
        ! grep -q '"id": "2.2",' out && [ "$(number documents out)" = 20 ] || { fail "${why:-$(head -c 200 out)}"; return 1; }
    masks() { awk -F, '$3 == "mask-only" && $2 == 0 && $4 == "stable_rank" { print $(NF - 1) }' out; }
    exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 3 --mask-ratio 0.5 --csv && all=$(masks) &&
        exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 3 --mask-ratio 0.5 --bert-masking --csv && [ "$(masks)" -lt "$all" ] || { fail "${why:-$(masks) of $all}"; return 1; }
    exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 1 --csv && exits 0 "$COSPEC" mask-rank mlm c.tsv --center --row-norm --tau 0.5 --blocks 2 --json && grep -q 'centred, rows divided by their norms' out &&
        exits 0 "$COSPEC" mask-rank mlm c.tsv --dry-run --json && grep -q '"bytes": ' out
}

test_same_bytes_for_any_threads() {
    small_corpus c.tsv
    trained mlm masked || return 1
    for threads in 1 2 3; do
        exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 3 --threads $threads --force -o o || return 1
        cat o/*.csv o/statements.json | sha256sum >> sums
    done
    [ "$(sort -u sums | wc -l)" = 1 ] || fail "$(cat sums)"
}

test_figures() {
    command -v gnuplot > /dev/null || { skip figures "gnuplot is not installed"; return 0; }
    small_corpus c.tsv
    trained mlm masked && trained mae mae-lm && exits 0 "$COSPEC" mask-rank a_b=mlm mae c.tsv --blocks 3 -o o &&
        exits 0 "$COSPEC" plot mask-rank o/mask_rank.csv -o f && exits 0 "$COSPEC" plot mask-rank-depth o/mask_rank.csv -o f || return 1
    [ ! -s err ] && grep -qF 'a_b: with [MASK]' f/mask-rank.svg && grep -q 'mae: without what is masked' f/mask-rank.svg && grep -q 'mae: the same tokens, unmasked' f/mask-rank.svg && ! grep -q 'mae: without<' f/mask-rank.svg && grep -q 'a_b: without<' f/mask-rank.svg && ! grep -qF 'a_b: [MASK] alone' f/mask-rank.svg &&
        grep -qF 'a_b: [MASK] alone' f/mask-rank-depth.svg && ! grep -q 'mae' f/mask-rank-depth.svg || fail "$(cat err)"
}

# Rare tokens in place of [MASK] (Appendix F), of any model: rows and files; tokens that another text lacks.
test_rare_tokens() {
    small_corpus c.tsv
    trained ar ar && trained two gvp && trained mlm masked || return 1
    # zero 24 times, one and two 23, three 10; the other words 40 and more
    rare=$(cut -f2 c.tsv | tr ' ' '\n' | sort | uniq -c | awk '$1 <= 24 { n += $1 } END { print n }')
    exits 0 "$COSPEC" mask-rank ar two MLM=mlm c.tsv --rare 24 --blocks 4 -o o --csv || return 1
    for m in ar two MLM; do
        n=$(awk -F, -v m=$m '$1 == m && $2 == 2 && $3 == "rare-only" && $4 == "stable_rank" { print $(NF - 1) }' out)
        [ "$n" = "$rare" ] && grep -q "^$m,2,others-sample,rank_tau," out && [ "$(rows o/gap.csv "$m,2,rank_tau,rare-only less others-sample")" = 1 ] && [ "$(rows o/containment.csv "$m,2,outside_share,")" = 1 ] || { fail "$m: $n rows, not $rare"; return 1; }
    done
    ! grep -q 'mask-only' out && grep -q '"statements": \[\]' o/mask_rank.json || { fail "a study of [MASK]"; return 1; }
    printf 'x\tthe cat sat\n' > other.tsv
    exits 0 "$COSPEC" mask-rank ar c.tsv --rare 0 --rare-in other.tsv --csv && n=$(awk -F, '$2 == 0 && $3 == "others" && $4 == "stable_rank" { print $(NF - 1) }' out)
    [ "$n" = "$(cut -f2 c.tsv | tr ' ' '\n' | grep -cx 'the\|cat\|sat')" ] || { fail "others: ${why:-$n}"; return 1; }
    refuses 3 "no row belongs to a rare token" "$COSPEC" mask-rank ar c.tsv --rare 1 && refuses 3 "every row belongs to a rare token" "$COSPEC" mask-rank ar c.tsv --rare 100000 &&
        refuses 2 "--mask-ratio cannot be combined with --rare" "$COSPEC" mask-rank ar c.tsv --rare 3 --mask-ratio 0.2 && refuses 2 "--rare-in needs --rare" "$COSPEC" mask-rank mlm c.tsv --rare-in c.tsv &&
        refuses 3 "gone.tsv" "$COSPEC" mask-rank ar c.tsv --rare 3 --rare-in gone.tsv
}

# Fine-tuned models (Figure 5b), whose texts begin as in fine-tuning; encoders of two streams over masks, which read no [MASK].
test_fine_tuned() {
    small_corpus c.tsv
    trained mlm masked && trained mae mae-lm && trained blind masked --query-position off || return 1
    for m in mlm mae; do exits 0 "$COSPEC" finetune $m c.tsv c.tsv --epochs 1 --seeds 1 --save-model -o $m-tuned && ln -s $m-tuned/runs/lr-* $m-t || return 1; done
    exits 0 "$COSPEC" mask-rank MLM=mlm-t MAE=mae-t BLIND=blind c.tsv --blocks 4 --csv || return 1
    tokens=$(cut -f2 c.tsv | wc -w)
    n() { awk -F, -v m=$1 -v s=$2 '$1 == m && $2 == 1 && $3 == s && $4 == "stable_rank" { print $(NF - 1) }' out; }
    [ "$(n MLM with-mask)" = $((tokens + 80)) ] && [ "$(n MAE without-mask)" = $((tokens + 80)) ] && [ "$(n BLIND without-mask)" = "$tokens" ] && [ -n "$(n MAE dropped)" ] && [ -n "$(n BLIND dropped)" ] && [ -z "$(n BLIND mask-only)" ] || { fail "$(n MLM with-mask) $(n MAE without-mask) $(n BLIND without-mask), not $tokens"; return 1; }
    exits 0 "$COSPEC" mask-rank MLM=mlm-t c.tsv --special no --csv && [ "$(n MLM with-mask)" = "$tokens" ] || fail "${why:-$(n MLM with-mask) rows}"
}

test_hugging_face_models() {
    small_corpus c.tsv
    refuses 2 "gpt2: a causal model" "$COSPEC" mask-rank "$golden/gpt2" c.tsv &&
        refuses 2 "bert: the model has no mask token" "$COSPEC" mask-rank "$golden/bert" c.tsv # it comes without a tokenizer.json
}

test_refusals() {
    small_corpus c.tsv
    trained mlm masked && trained ar ar && trained two diverse-ar || return 1
    refuses 2 "ar: a causal model; mask-rank needs a masked or mae-lm model" "$COSPEC" mask-rank ar c.tsv &&
        refuses 2 "two: a two-stream model" "$COSPEC" mask-rank MLM=mlm two c.tsv &&
        refuses 2 "--mask-ratio: 0 is not in (0, 1)" "$COSPEC" mask-rank mlm c.tsv --mask-ratio 0 &&
        refuses 2 "--mask-ratio: 1 is not in (0, 1)" "$COSPEC" mask-rank mlm c.tsv --mask-ratio 1 &&
        refuses 2 "--tau: 0 is not in (0, 1]" "$COSPEC" mask-rank mlm c.tsv --tau 0 &&
        refuses 2 "--tau: 1.5 is not in (0, 1]" "$COSPEC" mask-rank mlm c.tsv --tau 1.5 &&
        refuses 2 "an argument is missing: cospec mask-rank [NAME=]MODEL... CORPUS" "$COSPEC" mask-rank mlm &&
        refuses 2 "=mlm: expected NAME=MODEL" "$COSPEC" mask-rank =mlm c.tsv &&
        refuses 3 "none: not a model directory" "$COSPEC" mask-rank X=none c.tsv &&
        refuses 2 "--layers" "$COSPEC" mask-rank mlm c.tsv --layers 0,7 &&
        exits 0 "$COSPEC" mask-rank mlm c.tsv --blocks 90 --json && says "mlm: 80 documents, therefore that number of blocks" && [ "$(number blocks out)" = 80 ] &&
        exits 0 "$COSPEC" mask-rank mlm c.tsv --limit 1 --json && says "mlm: 1 document, therefore no standard errors" && ! grep -q '"se": [0-9]' out || { fail "${why:-blocks of few documents}"; return 1; }
    # no mask token: neither config.json nor tokenizer.json names one
    cp -r mlm nomask && edited nomask && sed -i 's/"mask_id": [0-9]*/"mask_id": -1/' nomask/config.json && sed -i 's/\[MASK\]/[NONE]/g; s/<mask>/<none>/g' nomask/tokenizer.json
    refuses 2 "nomask: the model has no mask token" "$COSPEC" mask-rank nomask c.tsv || return 1
    # a failed run leaves nothing
    refuses 2 "two: a two-stream model" "$COSPEC" mask-rank MLM=mlm two c.tsv -o o && [ ! -e o/mask_rank.csv ] && [ ! -e o/manifest.json ] || fail "${why:-$(ls o)}"
}

test_verify() {
    exits 0 "$COSPEC" verify 2.2 --csv || return 1
    verdict() { awk -F, -v id="$1" -v form="$2" '$1 == id && $2 == form { print $3; exit }' out; }
    for want in 2.2:corrected:PASS 2.2-cubic:corrected:PASS 2.2-sharp:corrected:PASS 2.2:printed:PASS 2.2-u1:printed:FAIL 2.2-collapse:printed:FAIL 2.2-exp:printed:FAIL; do
        id=${want%%:*} form=${want#*:}
        [ "$(verdict $id ${form%:*})" = ${want##*:} ] || { fail "$want: $(verdict $id ${form%:*})"; return 1; }
    done
    grep '^2.2-u1,' out | grep -q '^2.2-u1,printed,FAIL,0\.0352[0-9]*,<=,0\.0226' || { fail "$(grep '^2.2-u1' out)"; return 1; }
    exits 0 "$COSPEC" verify all --csv && grep -q '^2.2-u1,' out &&
        refuses 2 "Theorem 2.2 is about attention layers: it does not accept --matrix" "$COSPEC" verify 2.2 --matrix x.npy
}

# A decoder reads no [MASK]; of rare tokens its states are studied as any model's: as many rows as features gives, over its three layers.
test_decoder() {
    two_stacks "$golden" t5 && refuses 2 "t5: a causal model; mask-rank needs a masked or mae-lm model" "$COSPEC" mask-rank t5 c.tsv --stack decoder && refuses 2 "t5: the model has no mask token" "$COSPEC" mask-rank t5 c.tsv || return 1
    exits 0 "$COSPEC" mask-rank t5 c.tsv --stack decoder --rare 90 --blocks 4 -o d && exits 0 "$COSPEC" mask-rank t5 c.tsv --rare 90 --blocks 4 -o e && exits 0 "$COSPEC" features t5 c.tsv --stack decoder --pooling none --json -o f || return 1
    [ "$(number rows d/mask_rank.json)" = "$(number rows out)" ] && [ "$(cut -d, -f2 d/gap.csv | sort -u | tr '\n' ' ')" = "0 1 2 3 layer " ] && [ "$(cut -d, -f2 e/gap.csv | sort -u | tr '\n' ' ')" = "0 1 2 layer " ] || fail "$(cat d/gap.csv)"
}

run_tests
