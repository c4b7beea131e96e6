# cospec align: scores of one-hot features and of a model's states, and bad input.
. tests/cli/lib.sh

corpus() {
    printf 'a\tx x y\nb\ty z z\na\tx y x\nb\tz y z\na\tx\n' > c.tsv
}

# Bags of words: ar at t of all words has all that the classes need, and half-masked prediction of one word of two is ar's.
test_scores() {
    corpus
    exits 0 "$COSPEC" align ar c.tsv -k 3 --json || return 1
    near "$(number score out)" 1 1e-12 && [ "$(number sequences out)" = 4 ] && [ "$(number documents out)" = 5 ] && near "$(number context_tokens out)" 1.5 1e-12 ||
        { fail "${why:-$(head -c 300 out)}"; return 1; }
    exits 0 "$COSPEC" align 'masked(unmasked=1)' c.tsv -k 1 --csv || return 1
    [ "$(head -1 out)" = objective,layer,rank,task_rank,score,directions,eigenvalue,next_eigenvalue,context_tokens,sequences,documents ] ||
        { fail "$(head -1 out)"; return 1; }
    exits 0 "$COSPEC" align ar c.tsv -k 1 --max-length 2 --split all -o d && [ -s d/align.csv ] && [ -s d/align.json ] || fail "${why:-no files}"
}

# <unk> is a feature that never occurs, and two of three classes have the same words.
test_defaults() {
    printf 'a\tx y x y\nb\tx y x y\nc\tz z z\na\tz z y\nb\tz z y\n' > d.tsv
    exits 0 "$COSPEC" align ar d.tsv --csv || return 1
    [ "$(sed -n 2p out | cut -d, -f3,4)" = 3,2 ] || { fail "$(cat out)"; return 1; }
    printf 'a\tx y x y\nb\tx y x y\nc\tx y x y\n' > e.tsv
    exits 0 "$COSPEC" align ar e.tsv --csv && [ "$(sed -n 2p out | cut -d, -f4)" = 1 ] || fail "${why:-$(cat out)}"
}

test_model() {
    corpus
    exits 0 "$COSPEC" train --corpus c.tsv --objective ar --steps 2 --width 8 --layers 1 --heads 2 --batch 2 -o m -q || return 1
    exits 0 "$COSPEC" align ar c.tsv --features m --layers all -k 2 --csv || return 1
    [ "$(wc -l < out)" = 3 ] && [ "$(sed -n 2p out | cut -d, -f2)" = 0 ] && awk -F, 'NR > 1 && !($5 >= 0 && $5 <= 1) { exit 1 }' out || fail "$(cat out)"
}

test_bad_input() {
    corpus
    refuses 3 "5 directions of the objective are needed, but there are 3; lower -k" "$COSPEC" align ar c.tsv -k 5 || return 1
    refuses 2 "needs --features" "$COSPEC" align ar c.tsv --layers 0 || return 1
    printf 'x y\ny z\n' > plain.txt
    refuses 3 "needs a corpus with two or more classes" "$COSPEC" align ar plain.txt || return 1
    printf 'a\tx\nb\ty\n' > short.tsv
    refuses 3 "every document is too short for the objective" "$COSPEC" align ar short.tsv || return 1
    refuses 2 "does not apply to --features" "$COSPEC" align ar c.tsv --features m --vocab 3 || return 1
    yes 'w' | head -7000 | awk '{ s = ""; n = NR; do { s = s sprintf("%c", 97 + n % 26); n = int(n / 26) } while (n); print (NR % 2 ? "a" : "b") "\t" s " " s }' > many.tsv
    refuses 2 "give a smaller --vocab, or --features" "$COSPEC" align ar many.tsv --vocab all
}

run_tests
