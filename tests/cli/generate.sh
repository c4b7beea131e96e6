# cospec generate: texts of causal, masked, two-stream and diffusion models, the same for any threads, and what is refused.
. tests/cli/lib.sh

trained() {
    dir=$1; shift
    exits 0 "$COSPEC" train --corpus c.tsv --width 16 --layers 2 --heads 2 --batch 8 --max-length 16 --steps 4 -o "$dir" --objective "$@"
}

test_texts_of_every_kind() {
    small_corpus c.tsv
    trained ar ar --empty-prefix shared && trained masked masked && trained any permuted-ar --empty-prefix shared &&
        trained diffusion diffusion && trained hybrid 'mix:1*ar+1*mntp' --empty-prefix shared || return 1
    for model in ar masked any diffusion hybrid; do
        exits 0 "$COSPEC" generate $model --n 3 --length 7 --seed 5 --threads 1 --json && mv out one && exits 0 "$COSPEC" generate $model --n 3 --length 7 --seed 5 --threads 2 --json &&
            cmp -s one out || { fail "$model: ${why:-two threads draw others}"; return 1; }
        [ "$(members '"text":' out)" = 3 ] && [ "$(members '"nll":' out)" = 3 ] || { fail "$(head -c 300 out)"; return 1; }
    done
    exits 0 "$COSPEC" generate diffusion --n 2 --length 7 --order confidence --temperature 0 --top-p 0.9 -o drawn &&
        [ "$(head -1 drawn/generate.csv)" = number,text,nll ] && [ "$(wc -l < drawn/generate.csv)" = 3 ] || fail "${why:-$(cat drawn/generate.csv)}"
}

# Greedy decoding gives one text for every seed; the prompt comes first.
test_prompts_and_greedy() {
    small_corpus c.tsv
    word=$(head -1 c.tsv | cut -f2 | cut -d' ' -f1)
    trained ar ar && exits 0 "$COSPEC" generate ar --prompt "$word" --temperature 0 --length 6 --seed 1 && mv out one && exits 0 "$COSPEC" generate ar --prompt "$word" --temperature 0 --length 6 --seed 2 &&
        cmp -s one out && grep -q "$word" out || fail "${why:-$(cat one out)}"
}

# A mask token of the prompt is read and stays.
test_a_mask_in_the_prompt_is_noted() {
    small_corpus c.tsv
    trained masked masked && exits 0 "$COSPEC" generate masked --prompt 'a<mask>' --length 6 && says "the prompt keeps its 1 mask token;" && exits 0 "$COSPEC" generate masked --prompt a --length 6 && ! grep -q 'mask tokens' err || fail "${why:-$(cat err)}"
}

test_bad_input() {
    small_corpus c.tsv
    trained ar ar && exits 0 "$COSPEC" train --corpus c.tsv --width 16 --batch 8 --max-length 16 --steps 4 --objective linear -o spectral || return 1
    refuses 2 "give a prompt" "$COSPEC" generate ar &&
        refuses 2 "--order random: a causal model with causal attention generates only from left to right" "$COSPEC" generate ar --prompt a --order random &&
        refuses 2 "length 17 exceeds the 16 positions" "$COSPEC" generate ar --prompt a --length 17 &&
        refuses 2 "a text of 1 token with a prompt of 1 leaves nothing to generate" "$COSPEC" generate ar --prompt a --length 1 &&
        refuses 2 "its outputs are not probabilities" "$COSPEC" generate spectral --prompt a &&
        refuses 2 "--top-p" "$COSPEC" generate ar --prompt a --top-p 1.5 &&
        refuses 2 "--temperature" "$COSPEC" generate ar --prompt a --temperature -1 &&
        refuses 3 "nowhere" "$COSPEC" generate nowhere
}

# Rotary positions have no end; a length beyond the one that the model was made for is noted, once.
test_lengths_beyond_are_noted() {
    small_corpus c.tsv
    trained ar ar --arch llama && exits 0 "$COSPEC" generate ar --prompt a --length 16 && ! grep -q "was trained for" err &&
        exits 0 "$COSPEC" generate ar --prompt a --length 18 && [ "$(grep -c -- "--length exceeds the 16 tokens that the model was trained for" err)" = 1 ] &&
        exits 0 "$COSPEC" features ar c.tsv --max-length 20 --limit 3 -o f && [ "$(grep -c -- "--max-length exceeds the 16 tokens" err)" = 1 ] || fail "${why:-$(cat err)}"
}

run_tests
