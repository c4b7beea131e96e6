# cospec train: every objective end to end, interrupts and resume, bad input, bad options, full disks.
. tests/cli/lib.sh

# Tiny: 2 layers of width 16.
size="--layers 2 --width 16 --heads 2 --batch 8 --max-length 16"
# With --json, which is given once.
train() {
    case " $* " in *" --json "* | *" --csv "*) json= ;; *) json=--json ;; esac
    # shellcheck disable=SC2086
    "$COSPEC" train --corpus c.tsv $size $json "$@"
}

# Without --json the result is a table of fields and values, of a dry run too.
test_table() {
    small_corpus c.tsv
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" train --corpus c.tsv $size --objective ar --steps 2 -o d && head -1 out | grep -q '^field  *value$' && grep -q '^finished  *true$' out &&
        grep -q "^eval_loss  *$(printf '%.5g' "$(number eval_loss d/train.json)" | cut -c1-5)" out && ! grep -q '[{}"]' out || { fail "$(cat out)"; return 1; }
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" train --corpus c.tsv $size --objective masked --dry-run && says "of the tokens are masked, not 15 %: the ratio is rounded" || return 1
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" train --corpus c.tsv $size --objective ar --dry-run && grep -q '^parameters  *[0-9][0-9]*$' out || { fail "$(cat out)"; return 1; }
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --dry-run && grep -q '^contributions  *[0-9]' out || fail "$(cat out)"
}

small_plan() { printf '{"plans": [{"probability": 2, "groups": [0, 1, 2, 1]}, {"probability": 1, "groups": [1, 0, 2, 2]}]}\n' > p.json; }

# A phase without steps is reported before the first step; one that has some is not.
test_phases_without_steps() {
    small_corpus c.tsv
    exits 0 train --objective "ar until 0.001, masked" --steps 10 -o a && says "phase 1 (ar) of --objective gets 0 of the 10 steps" && ! grep -q "phase 2" err &&
        exits 0 train --objective "ar for 99999999999, masked for 1" --steps 3 -o b && says "phase 2 (masked) of --objective gets 0 of the 3 steps" &&
        exits 0 train --objective "ar for 1, masked for 1" --steps 3 -o c && ! grep -q "gets 0" err || fail "${why:-$(cat err)}"
}

test_every_objective() {
    small_corpus c.tsv && small_plan
    for objective in ar masked variable-masked bernoulli-masked diverse-ar offset-ar group-ar permuted-ar gvp mae-lm linear "file --plan-file p.json"; do
        layers=2 heads=2 length=16
        case $objective in linear) layers=1 heads=1 ;; file*) length=4 ;; esac
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" train --corpus c.tsv --width 16 --layers $layers --heads $heads --batch 8 --max-length $length --steps 30 --lr 0.01 --eval-every 10 --objective $objective --json --force -o d || return 1
        [ "$(number step out)" = 30 ] && grep -q '"finished": true' out || { fail "$objective: $(tr -d '\n ' < out)"; return 1; }
        for f in model.safetensors config.json tokenizer.json log.csv train.json manifest.json checkpoint-30/trainer.json checkpoint-30/optimizer.safetensors; do
            [ -s d/$f ] || { fail "$objective: $f is missing"; return 1; }
        done
        case $objective in linear) kind=spectral ;; *) kind=cross-entropy ;; esac
        grep -q "\"loss_kind\": \"$kind\"" d/train.json || { fail "$objective: $(grep loss d/train.json)"; return 1; }
        # The held-out loss falls from the first evaluation to the last.
        awk -F, '$8 != "" && NR > 1 { if (first == "") first = $8; last = $8 } END { exit !(last < first) }' d/log.csv || { fail "$objective does not learn: $(cut -d, -f8 d/log.csv | tr '\n' ' ')"; return 1; }
    done
}

# Each choice is in the file and in the number of parameters.
test_choices() {
    small_corpus c.tsv
    made() { want=$1; shift; exits 0 "$COSPEC" train --corpus c.tsv --layers 1 --width 16 --heads 2 --batch 8 --max-length 16 --objective ar --steps 2 --json --force -o d "$@" && count=$(($(number parameters out) - plain)) && [ "$count" = "$want" ] || { fail "$*: $count parameters more, not $want"; return 1; }; }
    plain=0
    exits 0 "$COSPEC" train --corpus c.tsv --layers 1 --width 16 --heads 2 --batch 8 --max-length 16 --objective ar --steps 2 --json -o d || return 1
    plain=$(number parameters out) words=$(number vocabulary out)
    # qkv 48, output 16, inner 64, outer 16, three norms of 16
    made -192 --no-bias && grep -q '"bias": *false' d/config.json && grep -q '"model_type": *"cospec"' d/config.json &&
        made $((16 * words)) --untied && grep -q '"tie_word_embeddings": *false' d/config.json &&
        made 0 --activation relu && grep -q '"activation_function": *"relu"' d/config.json &&
        made 0 --activation gelu && grep -q '"activation_function": *"gelu"' d/config.json || fail "${why:-config.json: $(cat d/config.json)}"
}

test_same_bytes_for_any_threads() {
    small_corpus c.tsv
    for arch in gpt2 "llama --kv-heads 1" "modernbert --local-attention 4 --global-every 2"; do
        rm -f sums
        for threads in 1 2 3; do
            # shellcheck disable=SC2086
            exits 0 train --arch $arch --objective gvp --steps 8 --threads $threads --force -o d || return 1
            cat d/model.safetensors d/checkpoint-8/optimizer.safetensors | sha256sum >> sums
        done
        [ "$(sort -u sums | wc -l)" = 1 ] || { fail "$arch: $(cat sums)"; return 1; }
    done
}

# Architectures with rotary positions, under causal, masked, two-stream objectives and with a decoder: they learn, say in
# config.json what transformers asks for, go on byte for byte, and are read by other commands.
test_rotary() {
    small_corpus c.tsv
    for made in "llama --kv-heads 1 --objective ar" "llama --objective diverse-ar" "llama --objective masked --query-position off" "eurobert --objective masked" "modernbert --local-attention 6 --global-every 2 --objective masked" \
        "modernbert --objective mae-lm" "modernbert-decoder --rope-theta 500 --local-attention 4 --objective ar"; do
        # shellcheck disable=SC2086
        exits 0 train --arch $made --lr 0.01 --steps 30 --eval-every 10 --save-every 10 --json --force -o d &&
            awk -F, '$8 != "" && NR > 1 { if (first == "") first = $8; last = $8 } END { exit !(last < first) }' d/log.csv || { fail "$made: ${why:-does not learn: $(cut -d, -f8 d/log.csv | tr '\n' ' ')}"; return 1; }
        # shellcheck disable=SC2086
        exits 0 train --arch $made --lr 0.01 --steps 30 --eval-every 10 --save-every 10 --time-limit 0.000001 --force -o e && exits 0 train --arch $made --lr 0.01 --steps 30 --eval-every 10 --save-every 10 --resume -o e &&
            cmp -s d/model.safetensors e/model.safetensors && cmp -s d/checkpoint-30/optimizer.safetensors e/checkpoint-30/optimizer.safetensors || { fail "$made: ${why:-a resumed run has other bytes}"; return 1; }
        exits 0 "$COSPEC" features d c.tsv --limit 5 --force -o f && exits 0 "$COSPEC" perplexity d c.tsv --limit 5 || return 1
    done
    tr -d '\n ' < d/config.json > flat
    for part in '"model_type":"modernbert-decoder"' '"architectures":["ModernBertDecoderForCausalLM"]' '"layer_types":["full_attention","sliding_attention"]' '"local_attention":4,' '"full_attention":{"rope_type":"default","rope_theta":500.0}' \
        '"sliding_attention":{"rope_type":"default","rope_theta":10000.0}' '"max_position_embeddings":16,' '"intermediate_size":48,' '"tie_word_embeddings":true'; do
        grep -qF "$part" flat || { fail "config.json lacks $part: $(cat flat)"; return 1; }
    done
    # 16 words a row of the table, which is the output's too; qkv 16 x (16 + 8 + 8), output 16 x 16, gate, up and down 3 x 48 x 16, two norms a layer, one behind
    exits 0 train --arch llama --kv-heads 1 --objective ar --steps 1 --json --force -o d || return 1
    want=$((16 * $(number vocabulary out) + 2 * (16 * 32 + 16 * 16 + 3 * 48 * 16 + 32) + 16))
    [ "$(number parameters out)" = $want ] && grep -q '"num_key_value_heads": *1,' d/config.json || { fail "$(number parameters out) parameters, not $want"; return 1; }
    # texts longer than those of training are read: nothing of the network ends there but a decoder's table
    exits 0 "$COSPEC" features d c.tsv --max-length 40 --limit 5 --force -o f &&
        refuses 2 "--kv-heads needs --arch llama" "$COSPEC" train --corpus c.tsv $size --objective ar --kv-heads 1 -o g &&
        refuses 2 "--rope-theta needs --arch llama" "$COSPEC" train --corpus c.tsv $size --objective ar --rope-theta 100 -o g &&
        refuses 2 "--local-attention needs --arch modernbert" "$COSPEC" train --corpus c.tsv $size --arch llama --objective ar --local-attention 8 -o g &&
        refuses 2 "2 heads are not a multiple of 3 key-value heads" "$COSPEC" train --corpus c.tsv $size --arch llama --objective ar --kv-heads 3 -o g &&
        refuses 2 "rotary positions of base 10000 on a fraction 5 of the 5 columns" "$COSPEC" train --corpus c.tsv --layers 2 --width 10 --heads 2 --arch llama --objective ar -o g &&
        refuses 2 "exceeds the 8 positions" "$COSPEC" train --corpus c.tsv $size --arch llama --positions 8 --objective mae-lm -o g
}

# The second loss of replaced tokens: reported in the result, kept in the model, part of a run's identity.
test_replaced_tokens() {
    small_corpus c.tsv
    # shellcheck disable=SC2086
    exits 0 train --objective masked --replaced-token 5 --steps 6 --save-every 3 -o r && grep -q '"detect_loss": 0' r/train.json || return 1
    cp -r r half && rm -r half/checkpoint-6 half/model.safetensors half/train.json half/losses.csv half/manifest.json
    exits 0 train --objective masked --replaced-token 5 --steps 6 --save-every 3 --resume -o half && cmp r/model.safetensors half/model.safetensors || { fail "resumed to other bytes"; return 1; }
    refuses 2 "r belongs to a run with --replaced-token" "$COSPEC" train --corpus c.tsv $size --objective masked --steps 6 --save-every 3 --resume -o r || return 1
    exits 0 "$COSPEC" train --corpus c.tsv --init-from r --objective masked --batch 8 --max-length 16 --steps 1 -o on && exits 0 "$COSPEC" features r c.tsv --layers last -o s || return 1
    refuses 2 "replaced tokens need a single masked objective on text" "$COSPEC" train --corpus c.tsv $size --objective ar --replaced-token 5 --steps 1 -o b
}

# A last layer for each of the next tokens: kept in the model, whose first head other commands read as any causal model's.
test_multi_token() {
    small_corpus c.tsv
    # shellcheck disable=SC2086
    exits 0 train --objective multi-token --t 3 --steps 6 --save-every 3 -o r && grep -q '"offset_heads": *3' r/config.json && grep -q '"model_type": *"gpt2"' r/config.json || return 1
    cp -r r half && rm -r half/checkpoint-6 half/model.safetensors half/train.json half/losses.csv half/manifest.json
    exits 0 train --objective multi-token --t 3 --steps 6 --save-every 3 --threads 2 --resume -o half && cmp r/model.safetensors half/model.safetensors || { fail "resumed to other bytes"; return 1; }
    refuses 2 "r belongs to a run with --" "$COSPEC" train --corpus c.tsv $size --objective diverse-ar --t 3 --steps 6 --save-every 3 --resume -o r || return 1
    exits 0 "$COSPEC" features r c.tsv --layers last -o s && exits 0 "$COSPEC" perplexity r c.tsv --json && grep -q '"kind": *"causal"' out && exits 0 "$COSPEC" generate r --prompt a --n 1 --length 3 || return 1
    for next in "multi-token --t 2" ar; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" train --corpus c.tsv --init-from r --objective $next --batch 8 --max-length 16 --steps 1 --force -o on || return 1
    done
    exits 0 "$COSPEC" finetune r c.tsv c.tsv --epochs 1 --seeds 1 -o task || return 1
    # As a phase: the first half of a run is that of multi-token alone, to the byte, or of ar alone, whose head is the first (sums of other shapes, in float); checkpoints say which.
    exits 0 train --objective "multi-token(t=3) until 0.5, ar" --steps 6 --save-every 3 -o from && cmp from/checkpoint-3/model.safetensors r/checkpoint-3/model.safetensors && ! cmp -s from/model.safetensors r/model.safetensors &&
        grep -q '"objective": *"diverse-ar' from/checkpoint-3/config.json && grep -q '"objective": *"ar' from/config.json || { fail "${why:-from multi-token: $(grep -h objective from/checkpoint-3/config.json from/config.json)}"; return 1; }
    exits 0 train --objective ar --steps 6 --save-every 3 -o alone && exits 0 train --objective "ar until 0.5, multi-token(t=3)" --steps 6 --save-every 3 -o to && grep -q '"objective": *"ar' to/checkpoint-3/config.json && grep -q '"objective": *"diverse-ar' to/config.json || return 1
    nll() { exits 0 "$COSPEC" perplexity "$1" c.tsv --json && number nll out; }
    near "$(nll to/checkpoint-3)" "$(nll alone/checkpoint-3)" 1e-6 && ! near "$(nll to)" "$(nll alone)" 1e-4 || { fail "ar, then multi-token: $(nll to)"; return 1; }
    cp -r to cut && rm -r cut/checkpoint-6 cut/model.safetensors cut/train.json cut/losses.csv cut/manifest.json
    exits 0 train --objective "ar until 0.5, multi-token(t=3)" --steps 6 --save-every 3 --threads 2 --resume -o cut && cmp to/model.safetensors cut/model.safetensors || { fail "a phase resumed to other bytes"; return 1; }
    exits 0 train --objective "ar for 1, multi-token(t=2) for 2" --steps 4 -o turns && grep -q '"offset_heads": *2' turns/config.json && exits 0 train --objective "multi-token(t=3)" --steps 6 --save-every 3 -o one && cmp one/model.safetensors r/model.safetensors || return 1
    refuses 2 "multi-token cannot be part of a mixture" "$COSPEC" train --corpus c.tsv --objective "mix:0.5*ar+0.5*multi-token(t=3)" --steps 1 -o b &&
        refuses 2 "phase 1: diverse-ar and multi-token" "$COSPEC" train --corpus c.tsv --objective "diverse-ar until 0.5, multi-token(t=3)" --steps 1 -o b &&
        refuses 2 "--query-position does not apply to multi-token" "$COSPEC" train --corpus c.tsv --objective "ar until 0.5, multi-token(t=3)" --query-position on --steps 1 -o b &&
        refuses 2 "the model of --init-from alone has no heads for offsets" "$COSPEC" train --corpus c.tsv --init-from alone --objective "ar until 0.5, multi-token(t=3)" --batch 8 --max-length 16 --steps 2 -o b &&
        refuses 2 "phase 2: diverse-ar has t = 4, but the model has heads for 3 offsets" "$COSPEC" train --corpus c.tsv --init-from r --objective "ar until 0.5, multi-token(t=4)" --batch 8 --max-length 16 --steps 2 -o b || return 1
    # shellcheck disable=SC2086
    exits 0 train --objective ar --steps 1 -o plain && refuses 2 "the model of --init-from plain has no heads for offsets" "$COSPEC" train --corpus c.tsv --init-from plain --objective multi-token --batch 8 --max-length 16 --steps 1 -o b &&
        refuses 2 "diverse-ar has t = 4, but the model has heads for 3 offsets" "$COSPEC" train --corpus c.tsv --init-from r --objective multi-token --t 4 --batch 8 --max-length 16 --steps 1 -o b &&
        refuses 2 "offset heads 17 is not in" "$COSPEC" train --corpus c.tsv $size --objective multi-token --t 17 --steps 1 -o b &&
        refuses 2 "--query-position does not apply to multi-token" "$COSPEC" train --corpus c.tsv $size --objective multi-token --query-position on --steps 1 -o b
}

# An interrupt ends the step and leaves a checkpoint; resumed with other threads, the bytes are those of a run
# that was left alone.
test_interrupt_and_resume() {
    small_corpus c.tsv
    args="--objective diverse-ar --dropout 0.1 --log-every 7 --eval-every 50 --save-every 60"
    # shellcheck disable=SC2086
    {
        exits 0 train $args --steps 400 -o whole || return 1
        "$COSPEC" train --corpus c.tsv $size $args --steps 400 -o torn > out 2> err &
        pid=$!
        tries=0
        until [ "$(cat torn/log.csv 2> /dev/null | wc -l)" -gt 8 ] || [ $tries = 300 ]; do sleep 0.02; tries=$((tries + 1)); done
        kill -TERM $pid
        wait $pid
        got=$?
        # On a very fast machine it may have ended by itself: then there is nothing to interrupt.
        if [ $got = 130 ]; then
            says "interrupted after step" && says "--resume continues from it" || return 1
            [ ! -e torn/model.safetensors ] && grep -q '"finished": false' torn/manifest.json && [ ! -e torn/train.json ] || { fail "an interrupted run left a result"; return 1; }
            mv torn/log.csv held && refuses 2 "give --resume to continue from the last checkpoint: torn/checkpoint-" "$COSPEC" train --corpus c.tsv $size $args --steps 400 -o torn && mv held torn/log.csv && says "exists; give --force to overwrite it" || return 1
            refuses 2 "torn belongs to a run with --lr" "$COSPEC" train --corpus c.tsv $size $args --steps 400 --lr 0.002 --resume -o torn || return 1
            refuses 2 "--steps 400, not 500" "$COSPEC" train --corpus c.tsv $size $args --steps 500 --resume -o torn || return 1
            refuses 2 "torn belongs to a run with --inner" "$COSPEC" train --corpus c.tsv $size $args --steps 400 --inner 40 --resume -o torn || return 1
            refuses 2 "torn belongs to a run with --vocab" "$COSPEC" train --corpus c.tsv $size $args --steps 400 --vocab 5 --resume -o torn || return 1
        else
            [ $got = 0 ] || { fail "exit $got: $(cat err)"; return 1; }
        fi
        exits 0 train $args --steps 400 --threads 1 --resume -o torn || return 1
    }
    for f in model.safetensors config.json tokenizer.json checkpoint-400/optimizer.safetensors checkpoint-400/trainer.json; do
        cmp -s whole/$f torn/$f || { fail "$f differs"; return 1; }
    done
    cut -d, -f1-5,8,9 whole/log.csv > a && cut -d, -f1-5,8,9 torn/log.csv > b && cmp -s a b || { fail "the logs differ"; return 1; }
    # A finished run is kept, and printed again.
    # shellcheck disable=SC2086
    exits 0 train $args --steps 400 --resume -o torn && says "already finished" && [ "$(number step out)" = 400 ]
}

# A run begun anew over a finished one, interrupted: --resume goes on with the new one.
test_force_and_resume() {
    small_corpus c.tsv
    exits 0 train --objective ar --steps 4 -o d || return 1
    args="--objective ar --steps 100000 --lr 0.002"
    # shellcheck disable=SC2086
    "$COSPEC" train --corpus c.tsv $size $args --force -o d > out 2> err &
    pid=$!
    tries=0
    until [ "$(cat d/log.csv 2> /dev/null | wc -l)" -gt 3 ] || [ $tries = 300 ]; do sleep 0.02; tries=$((tries + 1)); done
    kill -INT $pid
    wait $pid
    got=$?
    [ $got = 130 ] && [ ! -e d/checkpoint-4 ] || { fail "exit $got, $(ls d | tr '\n' ' ')"; return 1; }
    before=$(tail -1 d/log.csv | cut -d, -f1)
    # shellcheck disable=SC2086
    exits 0 train $args --time-limit 0.000001 --resume -o d && [ "$(number step out)" -gt "$before" ] || fail "${why:-did not go on from $before: $(cat out)}"
}

test_time_limit() {
    small_corpus c.tsv
    exits 0 train --objective ar --steps 30 --time-limit 0.000001 -o d && says "stopped after step 1 of 30; give --resume to continue" || return 1
    grep -q '"finished": false' out && [ ! -e d/model.safetensors ] || { fail "$(cat out)"; return 1; }
    exits 0 train --objective ar --steps 30 --resume -o d && [ "$(number step out)" = 30 ] && [ -s d/model.safetensors ] || return 1
    exits 0 train --objective ar --steps 30 -o e && cmp -s d/model.safetensors e/model.safetensors || fail "not the same model"
}

test_more_steps() {
    small_corpus c.tsv
    exits 0 train --objective ar --schedule constant --steps 6 -o d && exits 0 train --objective ar --schedule constant --steps 12 --resume -o d && [ "$(number step out)" = 12 ] &&
        exits 0 train --objective ar --schedule constant --steps 12 -o e && cmp -s d/model.safetensors e/model.safetensors || { fail "${why:-not the longer run}"; return 1; }
    exits 0 train --objective ar --steps 6 -o f && exits 0 train --objective ar --schedule constant --warmup 600 --steps 0 -o u || return 1
    refuses 2 "with --schedule constant, steps may be added" "$COSPEC" train --corpus c.tsv --layers 2 --width 16 --heads 2 --batch 8 --max-length 16 --objective ar --steps 12 --resume -o f
}

# Budgets are runs of these numbers of steps, also resumed after an interrupt; kept checkpoints are models.
test_budgets() {
    small_corpus c.tsv
    args="--objective ar --schedule constant --cool-down 0.25 --log-every 1 --save-every 3"
    # shellcheck disable=SC2086
    {
        exits 0 train $args --steps 16 --budgets 4,8 --keep-at 2,9 --time-limit 0.000001 --json -o d && grep -q '"finished": false' out && says "stopped after step 1 of 16" || return 1
        exits 0 train $args --steps 16 --budgets 4,8 --keep-at 2,9 --resume --json -o d && [ "$(members '"finished": true' out)" = 3 ] || { fail "${why:-$(cat out)}"; return 1; }
        for n in 4 8 16; do
            [ $n = 16 ] && own=d || own=d/budget-$n
            exits 0 train $args --steps $n -o e$n && cmp -s e$n/model.safetensors $own/model.safetensors && cmp -s e$n/checkpoint-$n/trainer.json $own/checkpoint-$n/trainer.json && exits 0 "$COSPEC" features $own c.tsv --limit 3 --force -o f || { fail "budget $n: ${why:-another model}"; return 1; }
        done
        for n in 2 9; do exits 0 "$COSPEC" features d/checkpoint-$n c.tsv --limit 3 --force -o f || return 1; done
        mkdir -p g/budget-4 && refuses 2 "g/budget-4 exists" "$COSPEC" train --corpus c.tsv $size $args --steps 16 --budgets 4 -o g &&
            refuses 2 "budget 17 is not in 1..16" "$COSPEC" train --corpus c.tsv $size $args --steps 16 --budgets 17 -o h && refuses 2 "budgets need" "$COSPEC" train --corpus c.tsv $size --objective ar --budgets 4 --steps 16 -o h &&
            refuses 2 "constant schedule, not one-cycle" "$COSPEC" train --corpus c.tsv $size --objective ar --cool-down 0.2 --steps 16 -o h && refuses 2 "keep-at" "$COSPEC" train --corpus c.tsv $size --objective ar --keep-at 0,4 -o h &&
            refuses 2 "cannot keep a checkpoint at step 17 of a run of 16" "$COSPEC" train --corpus c.tsv $size --objective ar --steps 16 --keep-at 4,17 -o h
    }
}

test_damaged_checkpoint() {
    small_corpus c.tsv
    exits 0 train --objective ar --steps 6 --save-every 3 --time-limit 0.000001 -o d && exits 0 train --objective ar --steps 6 --save-every 3 --time-limit 0 --resume -o d || return 1
    rm d/manifest.json
    printf x | dd of=d/checkpoint-6/optimizer.safetensors bs=1 seek=3000 conv=notrunc 2> /dev/null
    # shellcheck disable=SC2086
    refuses 3 "d/checkpoint-6/optimizer.safetensors: its SHA-256 is" "$COSPEC" train --corpus c.tsv $size --objective ar --steps 6 --save-every 3 --resume -o d &&
        says "but trainer.json says" && says "Remove d/checkpoint-6 to resume from checkpoint-3 (3 steps must be repeated)" || return 1
    rm -r d/checkpoint-6
    exits 0 train --objective ar --steps 6 --save-every 3 --resume -o d && [ "$(number step out)" = 6 ] || return 1
    # what reads a checkpoint holds its files against trainer.json
    exits 0 "$COSPEC" perplexity d/checkpoint-6 c.tsv && echo >> d/checkpoint-6/config.json
    refuses 3 "d/checkpoint-6/config.json: its SHA-256 is" "$COSPEC" perplexity d/checkpoint-6 c.tsv && says "but trainer.json says" && says "to read it unchecked, remove trainer.json"
}

test_divergence() {
    small_corpus c.tsv
    exits 4 train --objective ar --steps 40 --lr 1e30 --schedule constant --bad-limit 5 --save-every 0 -o d && says "not finite" && says "; give a smaller --lr; no checkpoint was written" &&
        grep -q '"finished": false' out && [ ! -e d/model.safetensors ] || { fail "${why:-$(ls d)}"; return 1; }
    # Fewer steps than --bad-limit
    exits 4 train --objective ar --steps 8 --lr 1e30 --clip 0 --schedule constant -o e && says "of 8 steps; give a smaller --lr; no checkpoint was written" && [ ! -e e/model.safetensors ] || { fail "${why:-$(ls e)}"; return 1; }
    # a run that ends is noted: above its first step, above a uniform guess (a run that continues has no first step), after skipped steps
    exits 0 train --objective ar --steps 20 --lr 30 --save-every 10 -o f && says "training diverged: the loss ended at " && grep -q ', above [0-9.]* at the first step; give a smaller --lr (it was 30) or a longer --warmup$' err || { fail "${why:-$(cat err)}"; return 1; }
    rm -r f/checkpoint-20 f/model.safetensors && exits 0 train --objective ar --steps 20 --lr 30 --save-every 10 --resume -o f && says ", above the 3." && says " of a uniform guess; give a smaller --lr" || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 train --objective ar --steps 20 --lr 0.01 -o g && ! grep -q 'diverged\|skipped' err || fail "$(cat err)"
}

test_init_from() {
    small_corpus c.tsv
    exits 0 train --objective ar --steps 20 --lr 0.01 -o d || return 1
    exits 0 "$COSPEC" train --corpus c.tsv --init-from d --objective ar --batch 8 --max-length 16 --steps 1 --lr 0 -o e || return 1
    cmp -s d/model.safetensors e/model.safetensors && cmp -s d/config.json e/config.json && cmp -s d/tokenizer.json e/tokenizer.json || { fail "a rate of 0 changed the model"; return 1; }
    refuses 3 "the tokenizers differ" "$COSPEC" train --corpus c.tsv --tokenizer whitespace --vocab 7 --init-from d --objective ar --max-length 16 -o f &&
        refuses 2 "--width cannot be changed: the model of --init-from d defines it" "$COSPEC" train --corpus c.tsv --init-from d --width 32 --objective ar -o f &&
        refuses 3 "nowhere: No such file or directory" "$COSPEC" train --corpus c.tsv --init-from nowhere --objective ar -o f &&
        refuses 2 "query" "$COSPEC" train --corpus c.tsv --init-from d --objective gvp --max-length 16 -o f
}

# The files that --init-from reads are checked against their manifest, and are inputs of the run.
test_init_from_changed() {
    small_corpus c.tsv
    exits 0 train --objective masked --steps 4 -o d && exits 0 train --objective masked --steps 4 --seed 9 -o other || return 1
    next() { "$COSPEC" train --corpus c.tsv --objective masked --batch 8 --max-length 16 --lr 0 --steps 3 "$@"; }
    cp -r d swapped && cp other/model.safetensors swapped
    refuses 3 "swapped/model.safetensors: its SHA-256 is $(sha256sum < other/model.safetensors | cut -d' ' -f1), but manifest.json says $(sha256sum < d/model.safetensors | cut -d' ' -f1)" next --init-from swapped -o e || return 1
    cp -r d edited && sed -i 's/"layer_norm_eps": [^,]*/"layer_norm_eps": 0.5/' edited/config.json
    refuses 3 "edited/config.json: its SHA-256 is $(sha256sum < edited/config.json | cut -d' ' -f1), but" next --init-from edited -o e || return 1
    cp -r d words && echo >> words/tokenizer.json
    refuses 3 "words/tokenizer.json: its SHA-256" next --init-from words --tokenizer whitespace -o e && [ ! -e e/model.safetensors ] || { fail "${why:-a model was written}"; return 1; }
    cp -r d m && exits 0 next --init-from m -o e || return 1
    for f in config.json model.safetensors tokenizer.json; do grep -q "\"path\": \"m/$f\"" e/manifest.json || { fail "$f is no input"; return 1; }; done
    rm -r m && cp -r other m && cp e/model.safetensors before
    refuses 3 "an input has changed since the run: m/model.safetensors: its SHA-256 was " "$COSPEC" rerun e/manifest.json -o f &&
        refuses 3 'e/checkpoint-3 belongs to a run with inputs: init-from "' next --init-from m -o e --resume && cmp e/model.safetensors before || { fail "${why:-another model}"; return 1; }
    # stopped before its end: its checkpoints are of the first model too
    rm -r m && cp -r d m && exits 0 next --init-from m --time-limit 1e-9 -o g && [ -e g/checkpoint-1 ] && rm -r m && cp -r other m &&
        refuses 3 'with inputs: init-from "' next --init-from m -o g --resume || return 1
    rm -r m && cp -r d m && exits 0 next --init-from m -o e --resume && says "already finished; kept" && exits 0 next --init-from m -o g --resume && cmp g/model.safetensors e/model.safetensors || { fail "${why:-not the same}"; return 1; }
    exits 0 "$COSPEC" rerun e/manifest.json -o f && cmp f/model.safetensors e/model.safetensors || fail "${why:-rerun}"
}

# The settings that a shorthand of --objective implies for the model must hold.
test_init_from_another_kind() {
    small_corpus c.tsv
    exits 0 train --objective masked --steps 2 -o d && exits 0 train --objective mae-lm --steps 2 -o m || return 1
    from="--corpus c.tsv --batch 8 --max-length 16 --steps 1"
    # shellcheck disable=SC2086
    refuses 2 "the model of --init-from d has no decoder" "$COSPEC" train $from --init-from d --objective mae-lm -o e &&
        refuses 2 "the model of --init-from d is roberta-prelayernorm, not linear" "$COSPEC" train $from --init-from d --objective linear -o e &&
        exits 0 "$COSPEC" train $from --init-from m --objective mae-lm -o f
}

# config.json of Hugging Face says nothing of the mask: the tokenizer does.
test_init_from_hugging_face() {
    small_corpus c.tsv
    for arch in bert roberta gpt2; do
        exits 0 train --arch $arch --objective masked --steps 2 --force -o d || return 1
        grep -vE '"(bos|eos)_token_id"|"(mask|unk)_id"' d/config.json | tr -d '\n' | sed 's/"cospec": { *}/"x": 0/' > config.json
        [ $arch = roberta ] || sed -i 's/"pad_token_id": 1,//' config.json
        mv config.json d/config.json && edited d
        exits 0 "$COSPEC" train --corpus c.tsv --init-from d --objective masked --batch 8 --max-length 16 --steps 1 --lr 0 --force -o e &&
            grep -q '"mask_id": 4' e/config.json && cmp -s d/model.safetensors e/model.safetensors || { fail "$arch: ${why:-$(tr -d '\n' < e/config.json)}"; return 1; }
    done
}

# ids ROWS ID...: c.npy, NPY 1.0, 4 columns.
ids() {
    rows=$1; shift
    { printf '\223NUMPY\001\000\166\000'; printf "%-117s\n" "{'descr': '<i4', 'fortran_order': False, 'shape': ($rows, 4), }"; for i; do printf "\\$(printf %03o $i)\\0\\0\\0"; done; } > c.npy
}

# Steps in which --share keeps no prediction are counted, and a run whose last step is one says why it has no loss.
test_empty_steps() {
    for i in 1 2 3 4 5 6 7 8 9; do printf 'a b c d e f\nb d f a c e\n'; done > c.txt
    small="--corpus c.txt --objective ar --share 0.1 --batch 1 --width 8 --layers 1 --heads 2 --steps 20 --log-every 1 --test-share 0"
    for seed in 1 2 3 4 5 6 7 8 9; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" train $small --seed $seed --json -o d$seed || return 1
        empty=$(awk -F, 'NR > 1 && $3 == "" { n++ } END { print n + 0 }' d$seed/log.csv)
        [ "$(number empty_steps out)" = "$empty" ] && grep -q "$empty of 20 steps predicted nothing and changed nothing" err || { fail "$empty: $(cat err)"; return 1; }
        [ -z "$(tail -1 d$seed/log.csv | cut -d, -f3)" ] && grep -q '"loss": null' out && grep -q 'the last is one of them, so it has no loss' err && return 0
    done
    fail "no run ends with an empty step"
}

# Ids mean the same tokens to every command that reads them for the model.
test_same_token_ids() {
    ids 8 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4 0 1 2 9
    small="--max-length 4 --batch 8 --eval-every 1 --test-share 0.5"
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" train --corpus c.npy $small --objective ar --width 16 --layers 1 --heads 2 --steps 100 --lr 0.03 --json -o d && cp out first || return 1
    near "$(number loss first)" 0 0.8 || { fail "it did not learn: $(number loss first)"; return 1; }
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" train --corpus c.npy $small --init-from d --objective ar --steps 1 --lr 1e-12 --json -o e && near "$(number eval_loss out)" "$(number eval_loss first)" 1e-4 || return 1
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" train --corpus c.npy $small --tokenizer d/tokenizer.json --init-from d --objective ar --steps 1 --lr 1e-12 --json -o f && near "$(number eval_loss out)" "$(number eval_loss first)" 1e-4 || return 1
    cmp -s d/tokenizer.json f/tokenizer.json || { fail "another tokenizer"; return 1; }
    # Tokens 5 to 14 are the numbers: rows.npy has the model's ids.
    exits 0 "$COSPEC" features d c.npy --pooling none --layers 0 -o g || return 1
    got=$(od -An -v -td8 -w40 -j128 g/rows.npy | awk '{ printf " %d", $4 }')
    [ "$got" = " 6 7 8 9 6 7 8 9 6 7 8 9 6 7 8 9 6 7 8 9 6 7 8 9 6 7 8 9 5 6 7 14" ] || { fail "tokens$got"; return 1; }
    ids 2 1 2 3 4 1 10 3 4
    refuses 3 "c.npy: token id 10 at row 1, column 1 is not in 0..9 of the tokenizer, whose words are numbers" "$COSPEC" features d c.npy -o h &&
        refuses 3 "token id 10 at row 1, column 1" "$COSPEC" train --corpus c.npy --init-from d --objective ar -o h
}

test_token_ids() {
    ids 3 0 1 2 3 4 5 6 7 8 9 1 2
    exits 0 "$COSPEC" train --corpus c.npy --test-share 0 --objective ar --width 16 --layers 1 --heads 2 --steps 2 --json -o d && grep -q '"vocabulary": 15' out || { fail "$(cat out err)"; return 1; }
    exits 0 "$COSPEC" train --corpus c.npy --vocab 20 --test-share 0 --objective ar --width 16 --layers 1 --heads 2 --steps 2 --json -o e && grep -q '"vocabulary": 25' out || { fail "$(cat out err)"; return 1; }
    refuses 3 "token id 7 is not in 0..6 (--vocab 7)" "$COSPEC" train --corpus c.npy --vocab 7 --objective ar -o f
}

# The hash of document 0 is below the default share.
test_one_document() {
    printf 'one two three four five six\n' > c.txt
    exits 0 "$COSPEC" train --corpus c.txt --width 16 --layers 1 --heads 2 --batch 2 --objective ar --steps 2 --json -o d && says "no document would be left for training, so nothing is held out" && grep -q '"eval_loss": null' out || { fail "${why:-$(cat out)}"; return 1; }
    refuses 3 "every document (1) is held out; give --test-share 0" "$COSPEC" train --corpus c.txt --test-share 0.2 --objective ar --steps 2 -o e
}

test_nothing_to_train_on() {
    printf 'a\tone\nb\ttwo\nc\tthree\n' > c.tsv
    refuses 3 "nothing to train on" "$COSPEC" train --corpus c.tsv --objective ar -o d && [ ! -e d/log.csv ] || return 1
    printf 'a\tone two three\n' > c.tsv
    refuses 2 "test share 1 is not below 1" "$COSPEC" train --corpus c.tsv --test-share 1 --objective ar -o d || return 1
    refuses 3 "--test-share holds out 0 of 1 document" "$COSPEC" train --corpus c.tsv --test-share 0 --objective ar --max-length 1 -o d || return 1
    small_plan
    refuses 3 "nothing to train on" "$COSPEC" train --corpus c.tsv --test-share 0 --objective file --plan-file p.json -o d
}

# shellcheck disable=SC2086
test_bad_options() {
    small_corpus c.tsv
    refuses 2 "train needs -o DIR" "$COSPEC" train --corpus c.tsv --objective ar &&
        refuses 2 "train needs --corpus" "$COSPEC" train --objective ar -o d &&
        refuses 2 "train needs --objective" "$COSPEC" train --corpus c.tsv -o d &&
        refuses 2 "3 heads do not divide width 16" "$COSPEC" train --corpus c.tsv --objective ar --width 16 --heads 3 -o d &&
        refuses 2 "mask" "$COSPEC" train --corpus c.tsv --objective masked --mask-ratio 1.2 -o d &&
        refuses 2 "--t does not apply to ar" "$COSPEC" train --corpus c.tsv --objective ar --t 3 -o d &&
        refuses 2 "--decoder-width needs" "$COSPEC" train --corpus c.tsv --objective masked --decoder-width 8 -o d &&
        refuses 2 "not ar" "$COSPEC" train --corpus c.tsv $size --objective ar --decoder-layers 1 -o d &&
        refuses 2 "delta" "$COSPEC" train --corpus c.tsv $size --objective masked --delta 0.5 -o d &&
        refuses 2 "--activation needs an --arch other than linear" "$COSPEC" train --corpus c.tsv --objective linear --activation relu -o d &&
        refuses 2 "--no-bias needs an --arch other than linear" "$COSPEC" train --corpus c.tsv --objective linear --no-bias -o d &&
        refuses 2 "65535" "$COSPEC" train --corpus c.tsv --objective ar --accumulate 65536 -o d &&
        refuses 2 "4294967295" "$COSPEC" train --corpus c.tsv --objective ar --steps 4294967296 -o d &&
        refuses 2 "--pooling needs --arch linear" "$COSPEC" train --corpus c.tsv --objective ar --pooling sum -o d &&
        refuses 2 "--inner: --arch linear" "$COSPEC" train --corpus c.tsv --objective linear --inner 8 -o d &&
        refuses 2 "--relative-distance needs" "$COSPEC" train --corpus c.tsv --objective ar --relative-distance 8 -o d &&
        refuses 2 "has no norms" "$COSPEC" train --corpus c.tsv --objective linear --post-norm -o d &&
        refuses 2 "-o c.tsv: not a directory" "$COSPEC" train --corpus c.tsv --objective ar -o c.tsv &&
        refuses 2 "--spectral-factor needs" "$COSPEC" train --corpus c.tsv --objective ar --spectral-factor 1 -o d &&
        refuses 2 "warmup 50 is not in [0, 10]" "$COSPEC" train --corpus c.tsv $size --objective ar --steps 10 --warmup 50 -o d &&
        refuses 2 "--steps and --epochs" "$COSPEC" train --corpus c.tsv --objective ar --steps 3 --epochs 2 -o d &&
        refuses 2 "bf16 needs --device cuda" "$COSPEC" train --corpus c.tsv --objective ar --precision bf16 -o d &&
        refuses 2 "--search-products needs --device cuda" "$COSPEC" train --corpus c.tsv --objective ar --search-products -o d &&
        refuses 2 "csv" "$COSPEC" train --corpus c.tsv --objective ar --csv -o d &&
        refuses 2 "--keep needs --delta > 0" "$COSPEC" train --corpus c.tsv $size --objective mae-lm --keep 0.1 -o d &&
        refuses 2 "--random needs --delta > 0" "$COSPEC" train --corpus c.tsv $size --objective mae-lm --random 0.1 -o d &&
        refuses 2 "--decoder-resets needs --delta > 0" "$COSPEC" train --corpus c.tsv $size --objective mae-lm --decoder-resets -o d &&
        refuses 2 "--decoder-resets needs" "$COSPEC" train --corpus c.tsv $size --objective mae-lm --delta 0.5 --decoder-resets --decoder-attention cross -o d &&
        refuses 2 "--misaligned needs --delta below 1" "$COSPEC" train --corpus c.tsv $size --objective mae-lm --delta 1 --misaligned -o d &&
        refuses 2 "exceed" "$COSPEC" train --corpus c.tsv $size --objective masked --keep 0.7 --random 0.7 -o d &&
        refuses 2 "positions" "$COSPEC" train --corpus c.tsv $size --positions 4 --objective ar -o d &&
        [ ! -e d/log.csv ] || fail "${why:-a log was begun}"
}

test_no_gpu() {
    small_corpus c.tsv
    # shellcheck disable=SC2086
    refuses 5 "cuda" "$COSPEC" train --corpus c.tsv $size --objective ar --device cuda -o d && [ ! -e d/log.csv ]
}

test_full_disk() {
    small_corpus c.tsv
    (ulimit -f 20; train --objective ar --steps 6 --save-every 3 -o d > out 2> err; echo $? > code)
    [ "$(cat code)" = 3 ] || { fail "exit $(cat code): $(cat err)"; return 1; }
    says "checkpoint-3.partial" && [ "$(ls -A d | tr '\n' ' ')" = "log.csv manifest.json " ] && grep -q '"finished": false' d/manifest.json || fail "${why:-left behind: $(ls -A d)}"
}

# A disk without space for the model and a checkpoint is refused before the first step.
test_small_disk() {
    small_corpus c.tsv
    mkdir disk
    mount -t tmpfs -o size=40K none disk 2> /dev/null || { skip small_disk "no tmpfs can be mounted"; return 0; }
    refuses 3 "disk/d: the model and one checkpoint take 0.000" train --objective ar --steps 6 -o disk/d && says "give -o DIR on a larger disk, or a smaller model" && [ ! -e disk/d/log.csv ]
    refused=$?
    umount disk
    return $refused
}

test_dry_run() {
    small_corpus c.tsv
    exits 0 train --objective masked --steps 50 --dry-run && [ ! -e d ] || return 1
    for key in parameters bytes flops_per_step seconds_per_step seconds sequences tokens; do
        holds "$(number $key out) > 0" || return 1
    done
}

test_epochs() {
    small_corpus c.tsv
    # 80 documents, 16 or so held out: an epoch is ceil(n / 8) steps
    exits 0 train --objective ar --epochs 2 --dry-run || return 1
    n=$(number sequences out)
    [ "$(number steps out)" = $(((2 * n + 7) / 8)) ] || fail "$(cat out)"
}

test_bpe() {
    small_corpus c.tsv
    exits 0 "$COSPEC" tokenize train --corpus c.tsv --vocab 300 -o bpe && exits 0 train --tokenizer bpe/tokenizer.json --objective masked --steps 3 -o d &&
        grep -q TemplateProcessing bpe/tokenizer.json && grep -q '"post_processor": null' d/tokenizer.json || { fail "${why:-the post-processor}"; return 1; }
    # Nothing else changed, for training shows nothing around a text.
    for t in bpe d; do sed '/"post_processor"/,/"decoder"/d' $t/tokenizer.json > $t.rest; done
    cmp -s bpe.rest d.rest || { fail "the tokenizer changed: $(diff bpe.rest d.rest | head -5)"; return 1; }
    # Files that belong to a model are kept, also where --tokenizer names the same words.
    edited d; cp bpe/tokenizer.json d/
    for own in "" "--tokenizer bpe/tokenizer.json"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" train --corpus c.tsv --init-from d $own --objective masked --batch 8 --max-length 16 --steps 1 --force -o e && cmp -s d/tokenizer.json e/tokenizer.json || { fail "${why:-$own: the model has another tokenizer}"; return 1; }
    done
}

test_words_stand_bare() {
    small_corpus c.tsv
    exits 0 train --objective masked --steps 2 -o d && grep -q '"post_processor": null' d/tokenizer.json &&
        grep -q '"post_processor": null' d/checkpoint-2/tokenizer.json || fail "${why:-tokens go around a text: $(grep -A3 post_processor d/tokenizer.json)}"
}

# A share is refused where the corpus has its own split.
test_own_split() {
    refuses 2 "--test-share 0.5 does not apply to 'wordnet', which has its own split" "$COSPEC" train --corpus wordnet --test-share 0.5 --objective ar -o d &&
        refuses 2 "--test-share 0.3 does not apply to 'wordnet'" "$COSPEC" data stats wordnet --test-share 0.3
}

for t in table every_objective phases_without_steps rotary choices same_bytes_for_any_threads replaced_tokens multi_token interrupt_and_resume force_and_resume time_limit more_steps budgets damaged_checkpoint divergence init_from init_from_changed init_from_another_kind init_from_hugging_face token_ids words_stand_bare same_token_ids own_split \
    one_document nothing_to_train_on empty_steps bad_options no_gpu full_disk small_disk dry_run epochs bpe; do
    if [ $t = no_gpu ] && [ -e /dev/nvidia0 ]; then skip no_gpu "there is a GPU"; else check $t; fi
done
