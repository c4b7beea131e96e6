# cospec features, verify-model and perplexity: models trained here and models of Hugging Face, and what is refused.
golden=$(pwd)/tests/golden/models
. tests/cli/lib.sh

# trained DIR OBJECTIVE: a tiny model of the small corpus.
trained() {
    dir=$1; shift
    exits 0 "$COSPEC" train --corpus c.tsv --width 16 --layers ${layers:-2} --heads 2 --batch 8 --max-length 16 --steps 6 --eval-every 3 --eval-batches 1000 --objective "$@" --json -o "$dir"
}

# ids FILE ROWS COLUMNS ID...: an NPY file of int32.
ids() {
    file=$1 rows=$2 columns=$3; shift 3
    {
        printf '\223NUMPY\001\000\166\000'
        printf "%-117s\n" "{'descr': '<i4', 'fortran_order': False, 'shape': ($rows, $columns), }"
        for i; do printf "\\$(printf %03o $((i & 255)))\\$(printf %03o $((i >> 8 & 255)))\\$(printf %03o $((i >> 16 & 255)))\\$(printf %03o $((i >> 24 & 255)))"; done
    } > "$file"
}

test_features_of_every_kind() {
    small_corpus c.tsv
    for objective in ar masked diverse-ar mae-lm; do
        trained model $objective && exits 0 "$COSPEC" features model c.tsv --json -o states || return 1
        [ "$(number rows out)" = 80 ] && [ "$(number width out)" = 16 ] || { fail "$objective: $(tr -d '\n ' < out)"; return 1; }
        for f in layer-0.npy layer-1.npy layer-2.npy rows.npy labels.npy features.json manifest.json; do
            [ -s states/$f ] || { fail "$objective: $f is missing"; return 1; }
        done
        # 80 rows of 16 floats behind a header of 128 bytes
        [ "$(wc -c < states/layer-2.npy)" = $((128 + 80 * 16 * 4)) ] && [ "$(wc -c < states/labels.npy)" = $((128 + 80 * 8)) ] || { fail "sizes: $(ls -l states)"; return 1; }
        rm -r model states
    done
}

test_same_bytes_for_any_threads() {
    small_corpus c.tsv
    trained model masked || return 1
    for threads in 1 2 3; do
        exits 0 "$COSPEC" features model c.tsv --pooling none --mask-ratio 0.3 --threads $threads --force -o states || return 1
        cat states/*.npy | sha256sum >> sums
    done
    [ "$(sort -u sums | wc -l)" = 1 ] || fail "$(cat sums)"
}

test_choices() {
    small_corpus c.tsv
    trained model ar || return 1
    exits 0 "$COSPEC" features model c.tsv --layers last --pooling none --dtype float16 --split test --limit 3 --json -o a && [ "$(ls a/layer-*)" = a/layer-2.npy ] || return 1
    rows=$(number rows out)
    [ "$(wc -c < a/layer-2.npy)" = $((128 + rows * 16 * 2)) ] && [ "$(number documents out)" = 3 ] || { fail "$(cat out)"; return 1; }
    # The estimate is what comes.
    exits 0 "$COSPEC" features model c.tsv --layers last --pooling none --dtype float16 --split test --limit 3 --dry-run --json && [ "$(number rows out)" = "$rows" ] && [ "$(number bytes out)" = $((rows * 16 * 2)) ] || { fail "$(cat out)"; return 1; }
    # A token limit takes whole documents.
    exits 0 "$COSPEC" features model c.tsv --limit-tokens 14 --layers 0,2 --json -o b && [ "$(number documents out)" = 2 ] || { fail "$(cat out)"; return 1; }
    # Long documents: their beginning, or all of them.
    exits 0 "$COSPEC" features model c.tsv --max-length 5 --pooling none --layers 0 --json -o c && short=$(number rows out) &&
        exits 0 "$COSPEC" features model c.tsv --max-length 5 --pooling none --layers 0 --long split --json -o d && [ "$short" = 400 ] && [ "$(number rows out)" -gt 800 ] || fail "${why:-$(cat out)}"
}

# --max-length and --limit read the same tokens in every command: the beginning of each document, or with --long split all of it.
test_one_meaning_of_max_length() {
    small_corpus c.tsv
    trained model ar || return 1
    awk 'BEGIN { for (d = 0; d < 3; ++d) { printf "a\t"; for (i = 0; i < 40; ++i) printf "%s ", i % 2 ? "the" : "and"; print "" } }' > long.tsv
    for long in "" "--long truncate"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" features model long.tsv --limit 2 --max-length 8 --pooling none --layers 0 --json $long -o f --force && [ "$(number rows out)" = 16 ] && says "2 of 2 documents are longer than --max-length 8: 64 of 80 tokens are not read; --long split" || { fail "features: ${why:-$(cat out err)}"; return 1; }
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" perplexity model long.tsv --limit 2 --max-length 8 --json $long && [ "$(number tokens out)" = 14 ] && says "64 of 80 tokens are not read" || { fail "perplexity: ${why:-$(cat out err)}"; return 1; }
    done
    exits 0 "$COSPEC" features model long.tsv --limit 2 --max-length 8 --long split --pooling none --layers 0 --json -o f --force && [ "$(number rows out)" = 80 ] && ! grep -q "not read" err || { fail "features: ${why:-$(cat out err)}"; return 1; }
    exits 0 "$COSPEC" perplexity model long.tsv --limit 2 --max-length 8 --long split --json && [ "$(number tokens out)" = 70 ] && ! grep -q "not read" err || { fail "perplexity: ${why:-$(cat out err)}"; return 1; }
}

# Unknown tokens are counted where documents are scored.
test_unknown_tokens_of_what_is_scored() {
    small_corpus c.tsv
    trained model ar || return 1
    printf 'a\tthe cat sat\na\tzyx zyx zyx\n' > two.tsv
    exits 0 "$COSPEC" perplexity model two.tsv --split all && says "3 of 6 tokens of the text are unknown" && exits 0 "$COSPEC" perplexity model two.tsv --split all --limit 1 && ! grep -q unknown err || fail "${why:-$(cat err)}"
}

test_nothing_is_left_of_a_failed_run() {
    small_corpus c.tsv
    trained model ar || return 1
    (ulimit -f 6; "$COSPEC" features model c.tsv --pooling none -o d > out 2> err; echo $? > code)
    [ "$(cat code)" = 3 ] && [ -z "$(ls -A d)" ] || { fail "exit $(cat code): $(cat err) $(ls -A d)"; return 1; }
    exits 0 "$COSPEC" features model c.tsv -o d && refuses 2 "--force" "$COSPEC" features model c.tsv -o d
}

test_verify_model() {
    for class in gpt2 roberta-prelayernorm roberta bert; do
        exits 0 "$COSPEC" verify-model "$golden/$class" "$golden/$class/reference.npz" --json && grep -q '"ok": true' out && ! grep -q '"ok": false' out || { fail "$class: $(cat out)"; return 1; }
        exits 1 "$COSPEC" verify-model "$golden/$class" "$golden/$class/reference.npz" --tol 1e-12 && grep -q FAIL out || { fail "$class within 1e-12: $(cat out)"; return 1; }
    done
    # The epsilon comes from the config.
    cp -r "$golden/gpt2" other && sed -i 's/"layer_norm_epsilon": 0.001/"layer_norm_epsilon": 0.002/' other/config.json &&
        exits 1 "$COSPEC" verify-model other "$golden/gpt2/reference.npz" || return 1
    refuses 3 "input_ids" "$COSPEC" verify-model "$golden/bert" "$golden/bert/config.json" || refuses 3 "zip" "$COSPEC" verify-model "$golden/bert" "$golden/bert/config.json" || return 1
    for class in t5-switched t5-untied; do
        exits 0 "$COSPEC" verify-model "$golden/$class" "$golden/$class/reference.npz" --stack decoder --json && grep -q '"logits"' out && ! grep -q '"ok": false' out || { fail "$class, decoder: $(cat out)"; return 1; }
    done
    refuses 2 "the model (gpt2) has no second stack" "$COSPEC" verify-model "$golden/gpt2" "$golden/gpt2/reference.npz" --stack decoder || return 1
    ids texts.npy 2 4 5 6 7 8 9 10 11 12 && exits 0 "$COSPEC" features "$golden/t5-untied" texts.npy --stack decoder --pooling none --json -o stack || return 1
    [ -s stack/layer-3.npy ] && [ "$(number rows out)" = 8 ] || { fail "states of a decoder: $(ls stack; cat out)"; return 1; }
    refuses 2 "the model (t5) has no second stack" "$COSPEC" features "$golden/t5" texts.npy --stack decoder -o none || return 1
    refuses 2 "does not predict tokens; evaluate its decoder" "$COSPEC" perplexity "$golden/t5-untied" texts.npy || return 1
    exits 0 "$COSPEC" perplexity "$golden/t5-untied" texts.npy --stack decoder --json && [ "$(number tokens out)" = 8 ] || { fail "perplexity of a decoder: $(cat out)"; return 1; }
    refuses 2 "--source needs --stack decoder" "$COSPEC" perplexity "$golden/t5-untied" texts.npy --source x && refuses 2 "second stack" "$COSPEC" perplexity "$golden/gpt2" texts.npy --stack decoder || return 1
    refuses 3 "tokenizer.json" "$COSPEC" perplexity "$golden/t5-untied" texts.npy --stack decoder --source x || return 1
    refuses 2 "without masked tokens" "$COSPEC" features "$golden/t5-untied" texts.npy --stack decoder --attention causal -o none || return 1
    cp "$golden/bert/reference.npz" cut.npz && truncate -s 3000 cut.npz && refuses 3 "cut.npz" "$COSPEC" verify-model "$golden/bert" cut.npz
}

# Keys that the class does not read, and code of the model, are named in one note each; adapters are refused.
test_notes_of_published_files() {
    ids texts.npy 1 4 5 6 7 8
    cp -r "$golden/gpt2" other && exits 0 "$COSPEC" features other texts.npy -o plain && ! grep -q "config.json: " err || { fail "${why:-$(cat err)}"; return 1; }
    sed -i 's/^{/{"is_llama_config": true, "unsloth_version": "1", "hidden_size": 10, "model_max_length": 9, "old": null, "auto_map": {"AutoModel": "m.M"},/' other/config.json
    exits 0 "$COSPEC" features other texts.npy -o more &&
        says "other/config.json: ignored, since architecture gpt2 does not read it: is_llama_config, unsloth_version, model_max_length" &&
        says "the model's own code (auto_map) is not run; the model is read as gpt2" && cmp plain/layer-2.npy more/layer-2.npy || { fail "${why:-states}"; return 1; }
    sed -i 's/"hidden_size": 10/"hidden_size": 11/' other/config.json && refuses 3 "'hidden_size' is 11, but under its other name" "$COSPEC" features other texts.npy -o no || return 1
    cp "$golden/gpt2/config.json" other && sed -i 's/"model_type": *"gpt2"/"model_type": "my_reward_model"/; s/GPT2LMHeadModel/GPT2RewardModel/' other/config.json &&
        exits 0 "$COSPEC" features other texts.npy -o type && says "model_type 'my_reward_model' is read as gpt2, by the class in architectures" && cmp plain/layer-2.npy type/layer-2.npy || { fail "${why:-states}"; return 1; }
    rm other/config.json && cp "$golden/gpt2/config.json" other && echo '{"peft_type": "LORA"}' > other/adapter_config.json &&
        refuses 3 "other/adapter_config.json: a LoRA adapter or another of the peft library, which is not a whole model; merge it" "$COSPEC" features other texts.npy -o no || return 1
    mkdir lora && mv other/adapter_config.json lora && cp other/model.safetensors lora/adapter_model.safetensors && echo 'a text' > text.txt || return 1
    for command in "features lora texts.npy -o no" "perplexity lora text.txt" "probe lora text.txt" "compare lora text.txt -o no" "generate lora" "train --corpus text.txt --objective ar --init-from lora -o no" "finetune lora text.txt"; do
        refuses 3 "lora/adapter_config.json: a LoRA adapter or another of the peft library" "$COSPEC" $command || return 1
    done
}

# The texts that the encoder reads with a decoder's text: the same text, another, one for each, nothing.
test_sources_of_a_decoder() {
    two_stacks "$golden" t5 && cut -f2 c.tsv > c.txt && yes 'the cat' | head -120 > same.txt && head -7 c.txt > few.txt || return 1
    nll() { exits 0 "$COSPEC" perplexity t5 c.tsv --stack decoder --json "$@" && number nll out | head -1; }
    own=$(nll) each=$(nll --sources c.txt) one=$(nll --source "the cat") ones=$(nll --sources same.txt) none=$(nll --no-source) || return 1
    [ -n "$own" ] && [ "$own" = "$each" ] && [ "$one" = "$ones" ] && [ "$one" != "$own" ] && [ "$none" != "$own" ] && [ "$none" != "$one" ] || { fail "nll $own $each, $one $ones, $none"; return 1; }
    states() { exits 0 "$COSPEC" features t5 c.tsv --stack decoder --layers last "$@"; }
    states -o own && states --sources c.txt -o each && states --no-source -o none || return 1
    cmp -s own/layer-3.npy each/layer-3.npy && ! cmp -s own/layer-3.npy none/layer-3.npy || { fail states; return 1; }
    refuses 3 "few.txt: 7 source texts for 120 documents" "$COSPEC" perplexity t5 c.tsv --stack decoder --sources few.txt &&
        refuses 2 "exclude each other" "$COSPEC" perplexity t5 c.tsv --stack decoder --sources c.txt --no-source &&
        refuses 2 "--no-source needs --stack decoder" "$COSPEC" features t5 c.tsv --no-source -o d &&
        refuses 3 "for the encoder to read" "$COSPEC" perplexity t5 c.tsv --stack decoder --no-source --special no
}

test_wrong_shapes_of_a_reference() {
    # the references of models of another kind have the same shapes, but not the same numbers
    exits 1 "$COSPEC" verify-model "$golden/bert" "$golden/roberta/reference.npz" &&
        cp -r "$golden/bert" fewer && sed -i 's/"max_position_embeddings": 15/"max_position_embeddings": 8/' fewer/config.json &&
        refuses 3 "position_embeddings" "$COSPEC" verify-model fewer "$golden/bert/reference.npz"
}

# published DIR TOKENS: of `model` what lies in a folder of Hugging Face's, whose tokenizer puts these words of the special ones before and behind a text (- : none).
published() {
    mkdir "$1" && cp model/model.safetensors "$1" && tr '\n' ' ' < model/config.json | sed 's/, *"trained": {[^}]*}//; s/"trained": {[^}]*},* *//' > "$1/config.json" || return 1
    awk -v q='"' -v before="$2" -v after="$3" 'function token(name) { return name == "-" ? "" : "{#SpecialToken#:{#id#:#" name "#,#type_id#:0}}" }
        function known(name, id) { return "#" name "#:{#id#:#" name "#,#ids#:[" id "],#tokens#:[#" name "#]}" }
        BEGIN { text = "{#Sequence#:{#id#:#A#,#type_id#:0}}"; t = "#post_processor#: {#type#:#TemplateProcessing#,#single#:[" token(before) "," text (after == "-" ? "" : ",") token(after) "],#pair#:[" text "],#special_tokens#:{" known("<s>", 0) "," known("</s>", 2) "}}"; gsub("#", q, t) }
        { sub(/"post_processor": null/, t); print }' model/tokenizer.json > "$1/tokenizer.json"
    ! grep -q '"trained"' "$1/config.json" && grep -q TemplateProcessing "$1/tokenizer.json" || fail "$(cat "$1/config.json")"
}

# A model of others is read between the tokens that its tokenizer puts there, causal or not; one of ours behind the begin token that it was trained with.
test_special_tokens() {
    small_corpus c.tsv
    tokens=$(($(cut -f2 c.tsv | wc -w)))
    rows() { exits 0 "$COSPEC" features "$@" --pooling none --layers last --force --json -o states && [ "$(number rows out)" = $((tokens + 80 * want)) ] || fail "$*: ${why:-$(number rows out) rows, $tokens tokens}"; }
    asks() { exits 0 "$COSPEC" perplexity "$@" --json && [ "$(number tokens out)" = "$want" ] || fail "$*: ${why:-$(number tokens out) tokens, not $want}"; }
    trained model ar --arch llama && published causal "<s>" - && published ended "<s>" "</s>" || return 1
    want=0; rows model c.tsv && rows causal c.tsv --special no && want=1 && rows causal c.tsv && want=2 && rows ended c.tsv || return 1
    # behind its begin token the first one is predicted too
    want=$((tokens - 80)); asks model c.tsv && asks causal c.tsv --special no && asks causal c.tsv --first no && want=$tokens && asks causal c.tsv && asks ended c.tsv || return 1
    refuses 2 "give a prompt" "$COSPEC" generate model && refuses 2 "give a prompt" "$COSPEC" generate causal --special no &&
        exits 0 "$COSPEC" generate ended --length 4 --temperature 0 && mv out ended.txt && exits 0 "$COSPEC" generate causal --length 4 --temperature 0 && cmp -s out ended.txt || { fail "${why:-an end token goes before what is drawn}"; return 1; }
    exits 0 "$COSPEC" probe causal c.tsv c.tsv --csv && mv out with && exits 0 "$COSPEC" probe causal c.tsv c.tsv --special yes --csv && cmp -s out with || { fail "${why:-probe}"; return 1; }
    rm -r model && trained model masked --arch bert && published masked "<s>" "</s>" && want=2 && rows masked c.tsv &&
        exits 0 "$COSPEC" generate masked --length 4 --temperature 0 --order left --json && mv out with && exits 0 "$COSPEC" generate masked --length 4 --temperature 0 --order left --special no --json && [ "$(number nll out)" != "$(number nll with)" ] || { fail "${why:-generate reads no tokens around}"; return 1; }
    rm -r model && trained model ar --empty-prefix shared && want=1 && rows model c.tsv && want=0 && rows model c.tsv --special no && want=$tokens && asks model c.tsv
}

# A model is read as it was trained, in every form: its folder, a checkpoint, fine-tuned, an older one that has train.json alone.
test_a_model_says_how_it_is_read() {
    small_corpus c.tsv
    trained model masked --arch gpt2 --save-every 3 && exits 0 "$COSPEC" features model c.tsv --layers last --json -o a && grep -q '"attention": "bidirectional"' out || { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" features model/checkpoint-6 c.tsv --layers last --json -o b && grep -q '"attention": "bidirectional"' out && grep -q '"kind": "masked"' out || { fail "checkpoint: ${why:-$(cat out)}"; return 1; }
    cmp -s a/layer-2.npy b/layer-2.npy || { fail "the last checkpoint is not the model"; return 1; }
    exits 0 "$COSPEC" finetune model c.tsv c.tsv --epochs 1 --seeds 1 --save-model -o tuned && exits 0 "$COSPEC" features tuned/runs/lr-* c.tsv --layers last --json -o c && grep -q '"attention": "bidirectional"' out || { fail "fine-tuned: ${why:-$(cat out)}"; return 1; }
    # fine-tuned under other masks, it is read under those
    exits 0 "$COSPEC" finetune model c.tsv c.tsv --attention causal --epochs 1 --seeds 1 --save-model -o causal && exits 0 "$COSPEC" features causal/runs/lr-* c.tsv --layers last --json -o d && grep -q '"attention": "causal"' out || { fail "fine-tuned causal: ${why:-$(cat out)}"; return 1; }
    edited model
    # whose checkpoint has no digests
    tr '\n' ' ' < model/checkpoint-6/trainer.json | sed 's/"outputs":/"were":/; s/"sha256": \("[0-9a-f]*" *}\) *$/"was": \1/' > plain && mv plain model/checkpoint-6/trainer.json
    for f in model model/checkpoint-6; do
        tr '\n' ' ' < $f/config.json | sed 's/, *"trained": {[^}]*}//' > plain && mv plain $f/config.json
        ! grep -q '"trained"' $f/config.json && exits 0 "$COSPEC" features $f c.tsv --layers last --json --force -o b && grep -q '"attention": "bidirectional"' out || { fail "older $f: ${why:-$(cat out $f/config.json)}"; return 1; }
        for g in $f/train*.json; do grep -q "\"path\": \"$g\"" b/manifest.json || { fail "$g is no input"; return 1; }; done
    done
}

# Every file of a model is an input, the parts of weights in several files too.
test_parts_are_inputs() {
    small_corpus c.tsv
    trained model masked && edited model && mv model/model.safetensors model/part.safetensors || return 1
    grep -ao '"[A-Za-z0-9_.]*":{"dtype"' model/part.safetensors | sed 's/:.*/: "part.safetensors"/' | awk 'BEGIN { printf "{\"weight_map\": {" } { printf "%s%s", (NR > 1 ? ", " : ""), $0 } END { print "}}" }' > model/model.safetensors.index.json
    for command in "features model c.tsv --layers last" "train --corpus c.tsv --init-from model --objective masked --batch 8 --max-length 16 --steps 1"; do
        exits 0 "$COSPEC" $command -o d --force || return 1
        for f in config.json tokenizer.json model.safetensors.index.json part.safetensors; do
            grep -A1 "\"path\": \"model/$f\"" d/manifest.json | grep -q "$(sha256sum < model/$f | cut -d' ' -f1)" || { fail "$command: $f is no input"; return 1; }
        done
    done
}

# Two-stream content is read under its plans, causally or fully, in every command that reads models; only offset-ar's is causal.
test_two_stream_content() {
    small_corpus c.tsv
    trained gvp gvp --segmentation random --groups 3 && trained offset offset-ar --offset-weights mix:0.5 || return 1
    for a in auto plan causal full bidirectional; do
        exits 0 "$COSPEC" features gvp c.tsv --attention $a --layers last --json -o $a && cp out $a.json || return 1
    done
    grep -q '"attention": "plan"' auto.json && grep -q '"attention": "causal"' causal.json && grep -q '"attention": "bidirectional"' full.json || { fail "$(cat auto.json)"; return 1; }
    cmp -s auto/layer-2.npy plan/layer-2.npy && cmp -s full/layer-2.npy bidirectional/layer-2.npy || { fail "one attention, two results"; return 1; }
    ! cmp -s auto/layer-2.npy causal/layer-2.npy && ! cmp -s auto/layer-2.npy full/layer-2.npy && ! cmp -s full/layer-2.npy causal/layer-2.npy || { fail "the masks do not matter"; return 1; }
    exits 0 "$COSPEC" features gvp c.tsv --draws 1 --layers last -o one && ! cmp -s one/layer-2.npy auto/layer-2.npy || { fail "${why:-draws do not matter}"; return 1; }
    exits 0 "$COSPEC" features offset c.tsv --layers last --json -o o && grep -q '"attention": "causal"' out || { fail "${why:-$(cat out)}"; return 1; }
    refuses 2 "--draws needs attention by plans" "$COSPEC" features offset c.tsv --draws 2 -o o2 || return 1
    for a in auto causal full; do
        exits 0 "$COSPEC" perplexity gvp c.tsv --limit 3 --attention $a --json && number nll out >> nll &&
            exits 0 "$COSPEC" probe gvp c.tsv c.tsv --attention $a --seeds 1 --penalties 0.1 --json &&
            exits 0 "$COSPEC" finetune gvp c.tsv c.tsv --attention $a --epochs 1 --seeds 1 --save-model -o ft-$a || return 1
    done
    [ "$(sort -u nll | wc -l)" = 3 ] || { fail "perplexities: $(cat nll)"; return 1; }
    grep -q '"attention": "plan"' ft-auto/runs/lr-*/config.json && grep -q '"attention": "causal"' ft-causal/runs/lr-*/config.json || { fail "what fine-tuning leaves"; return 1; }
    trained ar ar && refuses 2 "--attention full does not apply: a causal model is evaluated with its own masks" "$COSPEC" perplexity ar c.tsv --attention full || return 1
    # plans of a file are where they were
    edited gvp && sed -i 's/"objective": "gvp[^"]*"/"objective": "file"/; s/"plan_file": null/"plan_file": "gone.json"/' gvp/config.json && refuses 3 "gone.json" "$COSPEC" features gvp c.tsv -o g && exits 0 "$COSPEC" features gvp c.tsv --attention full -o g
}

# Whether queries know their position is part of a model's kind, in checkpoints and after fine-tuning, and decides what they predict.
test_query_position() {
    small_corpus c.tsv
    for q in on off; do
        trained masked-$q masked --mask-ratio 0.4 --query-position $q --save-every 3 && grep -q "\"query_position\": \"$q\"" out && trained ar-$q ar --query-position $q || return 1
        for model in masked-$q masked-$q/checkpoint-6; do
            exits 0 "$COSPEC" features $model c.tsv --layers last --json --force -o f && grep -q '"kind": "two-stream"' out && grep -q "\"query_position\": \"$q\"" out && grep -q '"attention": "bidirectional"' out || { fail "$model: ${why:-$(cat out)}"; return 1; }
        done
        exits 0 "$COSPEC" features ar-$q c.tsv --layers last --json --force -o f && grep -q '"attention": "causal"' out || { fail "ar: ${why:-$(cat out)}"; return 1; }
        exits 0 "$COSPEC" perplexity masked-$q c.tsv --limit 3 --json && grep -q "\"query_position\": \"$q\"" out && number nll out >> nll &&
            exits 0 "$COSPEC" perplexity ar-$q c.tsv --limit 3 --json && number nll out >> nll &&
            exits 0 "$COSPEC" probe masked-$q c.tsv c.tsv --seeds 1 --penalties 0.1 --json &&
            exits 0 "$COSPEC" finetune masked-$q c.tsv c.tsv --epochs 1 --seeds 1 --save-model -o tuned-$q && grep -q "\"query_position\": \"$q\"" tuned-$q/runs/lr-*/config.json || return 1
    done
    [ "$(sort -u nll | wc -l)" = 4 ] || { fail "likelihoods: $(tr '\n' ' ' < nll)"; return 1; }
    grep -q '"blind_queries": true' masked-off/config.json && ! grep -q blind_queries masked-on/config.json || { fail "$(cat masked-off/config.json)"; return 1; }
    # another query position is another run; --init-from keeps the model's, or takes the given one
    refuses 2 "masked-off belongs to a run with --query-position" "$COSPEC" train --corpus c.tsv --width 16 --layers 2 --heads 2 --batch 8 --max-length 16 --steps 6 --eval-every 3 --eval-batches 1000 --objective masked --mask-ratio 0.4 --query-position on --save-every 3 --resume -o masked-off || return 1
    from() { exits 0 "$COSPEC" train --corpus c.tsv --max-length 16 --steps 1 --init-from "$@" --force -o next; }
    from masked-off --objective gvp && grep -q '"query_position": "off"' next/config.json && from masked-off --objective gvp --query-position on && grep -q '"query_position": "on"' next/config.json &&
        from masked-off --objective masked && grep -q '"query_position": null' next/config.json || { fail "init-from: ${why:-$(cat next/config.json)}"; return 1; }
    refuses 2 "its decoder knows the target positions" "$COSPEC" train --corpus c.tsv --objective mae-lm --query-position off -o no && refuses 2 "linear attention cannot be used as a two-stream model" "$COSPEC" train --corpus c.tsv --objective linear --query-position on -o no &&
        refuses 2 "reads no masked token" "$COSPEC" train --corpus c.tsv --objective masked --keep 0.1 --query-position off -o no
}

# One mistake, one exit code: a model that the command cannot take.
test_models_of_another_kind() {
    small_corpus c.tsv
    exits 0 "$COSPEC" train --corpus c.tsv --objective linear --steps 2 --width 8 --batch 4 -o flat &&
        refuses 2 "flat: architecture linear has no hidden states" "$COSPEC" features flat c.tsv -o d &&
        refuses 2 "flat: architecture linear has no hidden states" "$COSPEC" probe flat c.tsv c.tsv &&
        refuses 2 "flat: architecture linear has no hidden states" "$COSPEC" verify-model flat "$golden/gpt2/reference.npz" &&
        refuses 2 "flat was trained with the spectral loss" "$COSPEC" perplexity flat c.tsv &&
        refuses 2 "flat: architecture linear has no encoder" "$COSPEC" finetune flat c.tsv c.tsv &&
        refuses 2 "flat: a linear model" "$COSPEC" mask-rank flat c.tsv
}

test_bad_models() {
    ids c.npy 2 3 3 4 5 6 7 18
    refuses 3 "nowhere" "$COSPEC" features nowhere c.npy -o d &&
        mkdir empty && refuses 3 "empty: not a model directory" "$COSPEC" features empty c.npy -o d || return 1
    cp -r "$golden/gpt2" lfs
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 548105171\n' 7 > lfs/model.safetensors
    refuses 3 "LFS" "$COSPEC" features lfs c.npy -o d || return 1
    cp -r "$golden/gpt2" missing
    # another word of the same length in the header: one tensor is missing, one too many
    sed -i 's/"transformer.h.1.mlp.c_fc.bias"/"transformer.h.7.mlp.c_fc.bias"/' missing/model.safetensors
    refuses 3 "transformer.h.1.mlp.c_fc.bias is missing" "$COSPEC" features missing c.npy -o d || return 1
    cp -r "$golden/gpt2" shape && sed -i 's/"n_inner": 14/"n_inner": 15/' shape/config.json
    refuses 3 "config.json requires" "$COSPEC" features shape c.npy -o d || return 1
    cp -r "$golden/gpt2" unknown && sed -i 's/"model_type": "gpt2"/"model_type": "llama"/' unknown/config.json
    refuses 3 "unknown/config.json: 'hidden_size' is missing" "$COSPEC" features unknown c.npy -o d || return 1
    cp -r "$golden/gpt2" nan
    # the last number of the file, of the embedding of token 18, becomes NaN
    size=$(wc -c < nan/model.safetensors)
    printf '\377\377\377\377' | dd of=nan/model.safetensors bs=1 seek=$((size - 4)) conv=notrunc 2> /dev/null
    refuses 3 "nan/model.safetensors: item " "$COSPEC" features nan c.npy -o d && [ ! -e d/rows.npy ] || fail "${why:-a file was left}"
}

test_bad_texts() {
    small_corpus c.tsv
    refuses 3 "tokenizer.json: not found, but texts need it; create it from vocab.txt or vocab.json with transformers" "$COSPEC" features "$golden/gpt2" c.tsv -o d || return 1
    ids c.npy 2 3 3 4 5 6 7 19
    refuses 3 "document 1: token 19 at position 2 is not in 0..18" "$COSPEC" features "$golden/gpt2" c.npy -o d &&
        refuses 3 "document 1: token 19 at position 2 is not in 0..18" "$COSPEC" perplexity "$golden/gpt2" c.npy || return 1
    ids c.npy 1 14 1 2 3 4 5 6 7 8 9 10 11 12 13 14
    refuses 2 "length 13 is not in 1..12, the positions of the model" "$COSPEC" features "$golden/gpt2" c.npy --max-length 13 -o d || return 1
    # beyond the positions: cut, by default
    exits 0 "$COSPEC" features "$golden/gpt2" c.npy --pooling none --layers 0 --json -o d && [ "$(number rows out)" = 12 ] || { fail "$(cat out)"; return 1; }
    refuses 2 "--special yes" "$COSPEC" features "$golden/bert" c.npy --special yes -o e &&
        refuses 2 "no mask token" "$COSPEC" features "$golden/bert" c.npy --mask-ratio 0.2 -o e &&
        refuses 2 "no mask token" "$COSPEC" perplexity "$golden/bert" c.npy
}

# A byte-level tokenizer without merges is one of bytes.
test_no_merges() {
    small_corpus c.tsv
    exits 0 "$COSPEC" tokenize train --corpus c.tsv --vocab 261 -o bytes && grep -q '"merges": \[\]' bytes/tokenizer.json || { fail "merges: $(tail -3 bytes/tokenizer.json)"; return 1; }
    trained model ar --tokenizer bytes/tokenizer.json && exits 0 "$COSPEC" features model c.tsv --pooling none --layers 0 --max-length 5 --json -o d && [ "$(number rows out)" = 400 ] || { fail "${why:-$(cat out)}"; return 1; }
    # bits a byte are bits a token then
    exits 0 "$COSPEC" perplexity model c.tsv --json --limit 10 && near "$(number bits_per_byte out)" "$(awk -v x="$(number nll out)" 'BEGIN { print x / log(2) }')" 1e-5
}

# On the held-out documents: what the trainer says of them.
test_perplexity_is_the_evaluation() {
    small_corpus c.tsv
    for objective in ar "ar --empty-prefix shared" "group-ar --t 1" "offset-ar --offset-weights uniform:1"; do
        # shellcheck disable=SC2086
        trained model $objective && exits 0 "$COSPEC" perplexity model c.tsv --split test --json || return 1
        near "$(number nll out)" "$(number eval_loss model/train.json)" 1e-5 || { why="$objective: $why"; return 1; }
        near "$(awk -v x="$(number perplexity out)" 'BEGIN { print log(x) }')" "$(number nll out)" 1e-4 || return 1
        rm -r model
    done
}

# Student's 97.5% points at 1 and 2 degrees of freedom.
test_perplexity_intervals() {
    small_corpus c.tsv
    trained model ar || return 1
    for k in 2:12.706204736174698 3:4.302652729749464; do
        exits 0 "$COSPEC" perplexity model c.tsv --blocks ${k%:*} --csv || return 1
        near "$(awk -F, '$3 == "nll" { print ($6 - $4) / $7 }' out)" ${k#*:} 1e-4 && near "$(awk -F, '$3 == "bits_per_byte" { print ($4 - $5) / $7 }' out)" ${k#*:} 1e-4 || return 1
    done
}

# The losses that the pass of hidden states writes are those of the model, to the last bit; another text, or one cut shorter, is noticed.
test_losses_of_states() {
    small_corpus c.tsv
    trained model ar && exits 0 "$COSPEC" features model c.tsv --layers 1 --losses -o f && exits 0 "$COSPEC" features model c.tsv --layers 1 -o g && cmp f/layer-1.npy g/layer-1.npy && [ ! -e g/losses.npy ] || return 1
    for o in "" "--split test" "--long split --max-length 5"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" features model c.tsv --layers 1 --losses $o -o f --force && exits 0 "$COSPEC" perplexity model c.tsv --first no --unigram c.tsv $o -o p --force &&
            exits 0 "$COSPEC" perplexity model c.tsv --first no --unigram c.tsv $o --losses f/losses.npy -o q --force || return 1
        for t in perplexity perplexity-blocks by-length by-length-blocks; do cmp p/$t.csv q/$t.csv || { fail "$o: other numbers in $t.csv"; return 1; }; done
    done
    refuses 3 "no loss is given" "$COSPEC" perplexity model c.tsv --first no --losses f/losses.npy --max-length 6 && head -5 c.tsv > few.tsv &&
        refuses 3 "one for each token of few.tsv" "$COSPEC" perplexity model few.tsv --first no --losses f/losses.npy &&
        refuses 2 "does not predict the first token" "$COSPEC" perplexity model c.tsv --first yes --losses f/losses.npy &&
        refuses 2 "losses need causal attention" "$COSPEC" features model c.tsv --losses --attention full -o h && refuses 2 "losses need causal attention" "$COSPEC" features model c.tsv --losses --mask-ratio 0.2 -o h
}

test_perplexity_of_masked_models() {
    small_corpus c.tsv
    for objective in masked mae-lm; do
        trained model $objective && exits 0 "$COSPEC" perplexity model c.tsv --split test --ask all -o d || return 1
        [ "$(grep -c ',perplexity,' d/perplexity.csv)" = 2 ] && [ "$(grep -c ',pseudo_perplexity,' d/perplexity.csv)" = 1 ] || { fail "$(cat d/perplexity.csv)"; return 1; }
        # nothing is predicted from nothing but by the pseudo-perplexity
        [ "$(grep -c ',append,0,' d/by-length.csv)" = 0 ] && [ "$(grep -c ',append,1,' d/by-length.csv)" = 1 ] && [ "$(grep -c ',pseudo,0,' d/by-length.csv)" = 1 ] || { fail "$(cat d/by-length.csv)"; return 1; }
        # a list of ways
        exits 0 "$COSPEC" perplexity model c.tsv --split test --ask pseudo,append -o e && grep -v ',remaining,' d/perplexity.csv | cmp - e/perplexity.csv &&
            refuses 2 "--ask prefix does not apply to a $(sed -n 's/.*"kind": "\(.*\)",*/\1/p' d/perplexity.json) model" "$COSPEC" perplexity model c.tsv --split test --ask append,prefix &&
            refuses 2 "unknown value of --ask 'apend' (auto, " "$COSPEC" perplexity model c.tsv --split test --ask pseudo,apend || { fail "${why:-another list}"; return 1; }
        rm -r model d e
    done
    trained model mae-lm --decoder-attention cross && exits 0 "$COSPEC" perplexity model c.tsv --limit 4 --csv && [ "$(grep -c ',perplexity,' out)" = 1 ] || fail "${why:-$(cat out)}"
}

# A unigram of the training documents: rows by length weigh up to it, the difference is that of the two columns; the same text under another name gives the same numbers.
test_perplexity_unigram() {
    small_corpus c.tsv
    trained model ar && exits 0 "$COSPEC" perplexity model c.tsv --split test --unigram c.tsv -o d --json || return 1
    near "$(number unigram_difference out)" "$(awk -v a="$(number nll out)" -v b="$(number unigram_nll out)" 'BEGIN { print a - b }')" 1e-4 || return 1
    near "$(awk -F, 'NR > 1 { s += $6 * $7; n += $6 } END { printf "%.12g", s / n }' d/by-length.csv)" "$(number unigram_nll out)" 1e-9 &&
        [ "$(awk -F, 'NR > 1 { d = $4 - $7 - $9; bad += d * d > 1e-16 } END { print bad + 0 }' d/by-length.csv)" = 0 ] && grep -q ',prefix,unigram_difference,' d/perplexity.csv || { fail "$(cat d/by-length.csv)"; return 1; }
    se=$(awk -F, '$3 == "unigram_difference" { print $7 }' d/perplexity.csv) && near "$(blocks d/perplexity value ,unigram_difference,)" "$se" 1e-9 &&
        near "$(blocks d/by-length difference ,prefix,3,)" "$(awk -F, '$3 == 3 { print $10 }' d/by-length.csv)" 1e-9 || return 1
    near "$(blocks d/perplexity value ,bits_per_byte,)" "$(awk -F, '$3 == "bits_per_byte" { print $7 }' d/perplexity.csv)" 1e-9 || return 1
    # the same documents in the same blocks: the error of a model less itself would be 0
    [ "$(awk -F, 'NR > 1 { print $NF }' d/perplexity-blocks.csv d/by-length-blocks.csv | sort -u | wc -l)" = 2 ] || { fail "partitions"; return 1; }
    cp c.tsv other.tsv && unigram=$(number unigram_nll out)
    exits 0 "$COSPEC" perplexity model c.tsv --split test --unigram other.tsv --json && near "$(number unigram_nll out)" "$unigram" 1e-12 || return 1
    exits 0 "$COSPEC" perplexity model c.tsv --split test -o e && ! grep -q unigram e/perplexity.csv && grep -q ',,,,$' e/by-length.csv || { fail "$(cat e/by-length.csv)"; return 1; }
    refuses 3 "nowhere.tsv" "$COSPEC" perplexity model c.tsv --unigram nowhere.tsv
}

test_perplexity_refuses() {
    small_corpus c.tsv
    trained model ar || return 1
    refuses 2 "an argument is missing" "$COSPEC" perplexity model &&
        refuses 2 "--ask append does not apply to a causal model" "$COSPEC" perplexity model c.tsv --ask append &&
        refuses 2 "query vector" "$COSPEC" perplexity model c.tsv --kind two-stream &&
        refuses 3 "no document in --split test" "$COSPEC" perplexity model c.tsv --split test --test-share 0 &&
        layers=1 trained spectral linear && refuses 2 "spectral loss" "$COSPEC" perplexity spectral c.tsv
}

for t in features_of_every_kind notes_of_published_files special_tokens same_bytes_for_any_threads choices one_meaning_of_max_length unknown_tokens_of_what_is_scored nothing_is_left_of_a_failed_run verify_model sources_of_a_decoder wrong_shapes_of_a_reference a_model_says_how_it_is_read parts_are_inputs two_stream_content query_position models_of_another_kind bad_models bad_texts no_merges \
    perplexity_is_the_evaluation perplexity_intervals losses_of_states perplexity_of_masked_models perplexity_unigram perplexity_refuses; do
    check $t
done
