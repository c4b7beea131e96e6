# Tokenizers through the command line: training, round trips, corpora over them, bad input.
. tests/cli/lib.sh

tokenize() { "$COSPEC" tokenize "$@"; }

# trained: a small tokenizer in bpe/, of verses.txt.
trained() {
    small_corpus labelled.tsv
    cut -f2 labelled.tsv > verses.txt
    exits 0 tokenize train --corpus verses.txt --vocab 300 -o bpe
}

test_round_trip() {
    trained || return 1
    printf "  two  blanks\tand a tab \n\n\r\nIt's they're 12 \303\251t\303\251 e\314\201\n\360\237\230\200 <s>x</s> <mask>\n\001\177 end\n" > text
    exits 0 tokenize encode bpe/tokenizer.json text && mv out ids &&
        [ "$(wc -l < ids)" = 6 ] && ! grep -q '[^0-9 ]' ids || { fail "$(head -3 ids)"; return 1; }
    exits 0 tokenize decode bpe/tokenizer.json ids || return 1
    cmp -s out text || { fail "decoding gives another text"; return 1; }
    tokenize encode bpe/tokenizer.json < text | cmp -s - ids || { fail "standard input gives other ids"; return 1; }
    tokenize decode bpe/tokenizer.json < ids | cmp -s - text || fail "standard input gives another text"
}

test_no_line_end_at_the_end() {
    trained && printf 'the mat' > text && exits 0 tokenize encode bpe/tokenizer.json text && [ "$(wc -l < out)" = 1 ]
}

test_special_tokens() {
    trained || return 1
    echo 'the mat' > text
    exits 0 tokenize encode bpe/tokenizer.json text --add-special && grep -q '^0 .* 2$' out || { fail "$(cat out)"; return 1; }
    mv out ids
    exits 0 tokenize decode bpe/tokenizer.json ids && grep -q '^<s>the mat</s>$' out || { fail "$(cat out)"; return 1; }
    exits 0 tokenize decode bpe/tokenizer.json ids --skip-special && grep -q '^the mat$' out || fail "$(cat out)"
}

test_json_and_files() {
    trained && echo 'the mat' > text &&
        exits 0 tokenize encode bpe/tokenizer.json text --json -o o && grep -q '"tokens"' out && cmp -s out o/ids.json &&
        [ -s o/ids.txt ] && [ -s o/manifest.json ] && grep -q tokenizer.json o/manifest.json || return 1
    refuses 2 "o/ids.txt exists" "$COSPEC" tokenize encode bpe/tokenizer.json text -o o &&
        refuses 2 "no CSV form" "$COSPEC" tokenize encode bpe/tokenizer.json text --csv
}

test_training_leaves_the_same_bytes() {
    trained && exits 0 tokenize train --corpus verses.txt --vocab 300 --threads 3 -o again &&
        cmp -s bpe/tokenizer.json again/tokenizer.json || { fail "another file"; return 1; }
    exits 0 "$COSPEC" rerun bpe/manifest.json -o third && cmp -s bpe/tokenizer.json third/tokenizer.json || fail "rerun gives another file"
}

test_train_and_test_documents() {
    trained && exits 0 tokenize train --corpus labelled.tsv --split train --test-share 0.5 --vocab 300 -o half || return 1
    exits 0 tokenize stats bpe/tokenizer.json --corpus labelled.tsv --json && cp out all &&
        exits 0 tokenize stats bpe/tokenizer.json --corpus labelled.tsv --split train --test-share 0.5 --json && cp out train &&
        exits 0 tokenize stats bpe/tokenizer.json --corpus labelled.tsv --split test --test-share 0.5 --json || return 1
    for key in documents bytes words tokens; do
        [ "$(number $key all)" = $(($(number $key train) + $(number $key out))) ] || { fail "$key: $(number $key all)"; return 1; }
    done
    [ "$(number documents all)" = 80 ] && [ "$(number unknown all)" = 0 ] && [ "$(number vocabulary all)" = 300 ] || fail "$(cat all)"
}

test_word_lists() {
    small_corpus labelled.tsv
    for model in word whitespace char; do
        exits 0 tokenize train --corpus labelled.tsv --model $model --vocab 12 -o $model &&
            exits 0 "$COSPEC" cooc --corpus labelled.tsv --tokenizer $model --vocab 12 --objective ar --context nearest:1 -o by-name &&
            exits 0 "$COSPEC" cooc --corpus labelled.tsv --tokenizer $model/tokenizer.json --objective ar --context nearest:1 -o by-file || return 1
        # The file has four special tokens more, which no text has: the same matrix with empty columns.
        [ "$(number nonzeros by-name/cooc.json)" = "$(number nonzeros by-file/cooc.json)" ] &&
            [ $(($(number cols by-name/cooc.json) + 4)) = "$(number cols by-file/cooc.json)" ] || { fail "$model: $(cat by-file/cooc.json)"; return 1; }
        rm -r by-name by-file
    done
}

test_a_matrix_over_bpe() {
    trained && exits 0 "$COSPEC" cooc --corpus labelled.tsv --tokenizer bpe/tokenizer.json --objective masked --unmasked 1 --max-length 2 -o m || return 1
    exits 0 "$COSPEC" svd m -k 2 && exits 0 "$COSPEC" inspect m && grep -q '_ .*the' out || { fail "$(head -c 300 out)"; return 1; }
    grep -q 'bpe/tokenizer.json' m/manifest.json || fail "the manifest lacks the tokenizer"
}

test_bad_input() {
    trained || return 1
    t=bpe/tokenizer.json
    echo '5 x 7' > ids
    refuses 3 'ids:1: "x" at index 1 is not a token id' "$COSPEC" tokenize decode $t ids || return 1
    printf '5\n4 3000\n' > ids
    refuses 3 'ids:2: token id 3000 at index 1 is not in 0..299' "$COSPEC" tokenize decode $t ids || return 1
    echo '5 99999999999999999999' > ids
    refuses 3 'not a token id' "$COSPEC" tokenize decode $t ids || return 1
    printf 'ok\na\377b\n' > text
    refuses 3 'cospec tokenize: text:2: byte 2: invalid UTF-8 (0xFF' "$COSPEC" tokenize encode $t text &&
        { "$COSPEC" tokenize encode $t < text 2>&1 | grep -q '^cospec tokenize: standard input:2: byte 2: invalid UTF-8 (0xFF' || { fail "standard input: $("$COSPEC" tokenize encode $t < text 2>&1)"; return 1; }; } || return 1
    printf 'ok\nthe\0mat\n' > text
    printf '5 4\n6\0 4\n' > ids
    refuses 3 'text:2: a NUL byte' "$COSPEC" tokenize encode $t text && refuses 3 'ids:2: a NUL byte' "$COSPEC" tokenize decode $t ids &&
        { "$COSPEC" tokenize decode $t < ids 2>&1 | grep -q 'standard input:2: a NUL byte' || { fail "standard input: $("$COSPEC" tokenize decode $t < ids 2>&1)"; return 1; }; } || return 1
    : > empty.json
    refuses 3 'empty.json:1:0: the file is empty' "$COSPEC" tokenize encode empty.json text || return 1
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' > lfs.json
    refuses 3 'Git LFS' "$COSPEC" tokenize encode lfs.json text || return 1
    head -c 1000 $t > cut.json
    refuses 3 'cut.json:' "$COSPEC" tokenize encode cut.json text || return 1
    sed 's/"a": [0-9]*,/"a": 7,/' $t > twice.json
    refuses 3 'have the same id 7' "$COSPEC" tokenize encode twice.json text || return 1
    sed 's/"ByteLevel"/"UnicodeScripts"/' $t > other.json
    refuses 3 'pre_tokenizer.type: "UnicodeScripts" is not supported' "$COSPEC" cooc --corpus verses.txt --tokenizer other.json --objective ar -o m || return 1
    refuses 3 'none.json' "$COSPEC" tokenize encode none.json text
}

test_usage() {
    trained || return 1
    refuses 2 "tokenize train needs -o DIR" "$COSPEC" tokenize train --corpus verses.txt &&
        refuses 2 "tokenize train needs --corpus" "$COSPEC" tokenize train -o n &&
        refuses 2 "vocabulary size 200 is not in 261.." "$COSPEC" tokenize train --corpus verses.txt --vocab 200 -o n &&
        refuses 2 "--special needs --model bpe" "$COSPEC" tokenize train --corpus verses.txt --model char --special x -o n &&
        refuses 2 "--skip-special does not apply to 'tokenize encode'" "$COSPEC" tokenize encode bpe/tokenizer.json --skip-special &&
        refuses 2 "--vocab does not apply to 'tokenize stats'" "$COSPEC" tokenize stats bpe/tokenizer.json --vocab 9 --corpus verses.txt &&
        refuses 2 "tokenize encode takes a tokenizer.json or a model directory and at most one FILE" "$COSPEC" tokenize encode &&
        refuses 2 "unknown action 'split' (train, encode, decode, stats)" "$COSPEC" tokenize split &&
        refuses 2 "exists" "$COSPEC" tokenize train --corpus verses.txt --vocab 300 -o bpe &&
        refuses 2 "--vocab 9 does not apply to --tokenizer bpe/tokenizer.json" "$COSPEC" cooc --corpus verses.txt --tokenizer bpe/tokenizer.json --vocab 9 --objective ar -o m &&
        refuses 2 "is not word, whitespace, char or a FILE.json" "$COSPEC" cooc --corpus verses.txt --tokenizer words --objective ar -o m
}

# A tokenizer.json without a part of its class: a note names the part, once.
test_parts_of_a_class() {
    mkdir folder
    printf '{"pre_tokenizer": null, "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1}}}' > folder/tokenizer.json
    printf '{"tokenizer_class": "T5Tokenizer", "extra_ids": 0}' > folder/tokenizer_config.json
    echo a > text.txt
    exits 0 tokenize encode folder text.txt && [ "$(grep -c "no pre_tokenizer and post_processor;" err)" = 1 ] || { fail "$(cat err)"; return 1; }
    printf '{"tokenizer_class": "PreTrainedTokenizerFast"}' > folder/tokenizer_config.json
    exits 0 tokenize encode folder text.txt && ! grep -q "has no" err || fail "$(cat err)"
}

# A model directory is read with the tokens of its other files, by every command; the file alone is not.
test_a_model_directory() {
    small_corpus labelled.tsv
    cut -f2 labelled.tsv > verses.txt
    exits 0 "$COSPEC" train --corpus labelled.tsv --objective masked --width 8 --layers 1 --heads 1 --steps 1 -o model || return 1
    vocab=$(number vocab_size model/config.json)
    rm model/manifest.json && echo 'the <extra> mat' > text.txt
    printf '{"tokenizer_class": "PreTrainedTokenizerFast", "additional_special_tokens": ["<extra>"]}' > model/tokenizer_config.json
    exits 0 tokenize encode model text.txt && grep -q " $vocab " out || { fail "$(cat out)"; return 1; }
    exits 0 tokenize encode model/tokenizer.json text.txt && ! grep -q " $vocab " out || { fail "$(cat out)"; return 1; }
    refuses 3 "token $vocab at position 1 is not in 0..$((vocab - 1))" "$COSPEC" perplexity model text.txt || return 1
    printf '{"<extra>": 7}' > model/added_tokens.json
    exits 0 "$COSPEC" cooc --corpus text.txt --tokenizer ./model --objective ar -o m &&
        grep -q model/added_tokens.json m/manifest.json && grep -q model/tokenizer_config.json m/manifest.json || fail "$(cat err)"
}

# A file that is there and cannot be read is an error of input and output, not a file that is not there. A link to
# itself fails in stat and open, for every user.
test_files_that_cannot_be_read() {
    small_corpus c.tsv
    exits 0 "$COSPEC" train --corpus c.tsv --objective masked --width 8 --layers 1 --heads 1 --steps 1 -o model && echo 'the mat' > text || return 1
    exits 0 tokenize encode model text || return 1
    for file in tokenizer_config.json special_tokens_map.json added_tokens.json; do
        [ ! -f model/$file ] || mv model/$file kept
        ln -s $file model/$file
        refuses 3 "model/$file: Too many levels of symbolic links" tokenize encode model text || return 1
        ln -sf ../blobs/gone model/$file
        refuses 3 "model/$file: No such file or directory; the symbolic link is there" tokenize encode model text || return 1
        rm model/$file && { [ ! -f kept ] || mv kept model/$file; }
    done
    ln -s loop loop
    refuses 3 "loop: Too many levels" "$COSPEC" perplexity loop c.tsv && refuses 3 "loop: cannot read: Too many levels" "$COSPEC" cooc --corpus loop --objective ar -o m &&
        refuses 3 "loop: Too many levels" "$COSPEC" compare loop c.tsv -o n || return 1
    for file in model.safetensors config.json manifest.json; do
        cp -r model copy && rm -f copy/$file && ln -s $file copy/$file
        exits 3 "$COSPEC" perplexity copy c.tsv && says "$file" && says "Too many levels of symbolic links" || return 1
        rm -r copy
    done
}

# Roles of tokens with other names, in every command that reads the tokenizer or a model.
test_roles_of_tokens() {
    small_corpus c.tsv
    exits 0 "$COSPEC" tokenize train --corpus c.tsv --vocab 300 --special '<begin>' --special '<fill>' --special '<stop>' --special '<hide>' -o tok -q || return 1
    t=tok/tokenizer.json roles="--mask-token <hide> --pad-token <fill> --bos-token <begin> --eos-token <stop>"
    trains() { "$COSPEC" train --corpus c.tsv --tokenizer $t --objective masked --steps 2 --width 16 --layers 1 --heads 2 --batch 8 --max-length 16 --arch bert -o "$@"; }
    refuses 2 "--mask-token names that of a tokenizer" trains no && exits 0 trains m $roles && grep -q '"mask_id": 3' m/config.json && grep -q '"pad_token_id": 1' m/config.json && grep -q '"mask_token": "<hide>"' m/tokenizer_config.json || { fail "${why:-$(cat m/config.json)}"; return 1; }
    # the message about each role names its option
    refuses 2 "needs a padding token, because its positions start after it; --pad-token names that of a tokenizer" "$COSPEC" train --corpus c.tsv --tokenizer $t --objective masked --mask-token '<hide>' --arch roberta --steps 1 -o no &&
        refuses 2 "with an end token; --eos-token names it" trains no --mask-token '<hide>' --pack &&
        refuses 2 "no begin token, which this objective needs; --bos-token names" "$COSPEC" train --corpus c.tsv --tokenizer $t --objective ar --empty-prefix shared --steps 1 -o no || return 1
    refuses 2 "mask token: the tokenizer has no token '<hid>'; its special tokens are <begin>, <fill>, <stop>, <hide>" trains no --mask-token '<hid>' &&
        refuses 2 "--pad-token needs --tokenizer FILE.json" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 --pad-token x -o no &&
        refuses 2 "--mask-token does not apply to 'tokenize encode'" "$COSPEC" tokenize encode $t c.tsv --mask-token '<hide>' || return 1
    # the model keeps them; one whose files lack them is given them
    exits 0 "$COSPEC" perplexity m c.tsv --limit 4 --json && nll=$(number nll out) || return 1
    cp -r m bare && rm bare/tokenizer_config.json bare/manifest.json && sed -i 's/"mask_id": 3/"mask_id": -1/' bare/config.json
    for command in "perplexity bare c.tsv --limit 4" "mask-rank bare c.tsv --limit 4 --blocks 2" "features bare c.tsv --mask-ratio 0.3 --limit 4 -o f --force" "generate bare --length 3"; do
        refuses 2 "the model has no mask token; --mask-token names" "$COSPEC" $command && exits 0 "$COSPEC" $command $roles --json || return 1
    done
    exits 0 "$COSPEC" perplexity bare c.tsv --limit 4 $roles --json && [ "$(number nll out)" = "$nll" ] || { fail "${why:-nll}"; return 1; }
    for command in "probe bare c.tsv --penalties 0.1" "finetune bare c.tsv --epochs 1 --seeds 1" "tokenize stats $t --corpus c.tsv" "data stats c.tsv --tokenizer $t" "cooc --corpus c.tsv --tokenizer $t --objective ar --context nearest:1 -o o --force"; do
        exits 0 "$COSPEC" $command $roles -q && refuses 2 "no token '<x>'" "$COSPEC" $command --mask-token '<x>' || return 1
    done
}

run_tests
