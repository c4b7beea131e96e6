# Theorem 4.3 through the command line: random models on the toy, trained ones on text, files, figure, bad input.
. tests/cli/lib.sh

has() { [ "$(verdict "$1" "$2" out)" = "$3" ] || fail "$1 $2 is '$(verdict "$1" "$2" out)', not $3"; }
sound() { ! grep -E ',corrected,(FAIL|INCONCLUSIVE|UNSPECIFIED),' out || fail "$(grep -E ',corrected,(FAIL|INCONCLUSIVE|UNSPECIFIED),' out | cut -d, -f1-5)"; }

# model DIR OBJECTIVE [OPTION...]
model() {
    into=$1 objective=$2; shift 2
    "$COSPEC" train --corpus c.tsv --objective "$objective" --arch linear --width 8 --heads 2 --steps 20 --batch 16 --max-length 10 \
        --seed 3 -o "$into" "$@" > /dev/null 2>&1 || fail "training $into: $?"
}

test_random() {
    exits 0 "$COSPEC" verify 4.3 --csv && sound && has 4.3-sharp-p2 corrected PASS && has 4.3-sharp-p3 corrected PASS &&
        has 4.3-indices printed FAIL && exits 0 "$COSPEC" verify 4.3 --csv --length 3 && has 4.3-indices printed VACUOUS &&
        exits 0 "$COSPEC" verify 4.3 --csv && has 4.3-vacuous-p3 corrected PASS &&
        grep -q '^4.3-example-term,printed,FAIL,71.4[0-9]*,<=,31.1' out && grep -q '^4.3-example,printed,FAIL,35.7[0-9]*,<=,31.1' out && grep -q '^4.3-example-two-index,printed,FAIL,8.33[0-9]*,<=,7.41' out &&
        ! grep -q '^4.[12]' out && cp out first && exits 0 "$COSPEC" verify 4.3 --csv --threads 1 && cmp out first &&
        exits 0 "$COSPEC" verify 4.3 --csv --seed 2 && sound && ! cmp -s out first &&
        exits 0 "$COSPEC" verify 4.3 --csv --length 2:6:2 --classes 2 && sound && [ "$(grep -c '^4.3,printed' out)" = 3 ] &&
        exits 0 "$COSPEC" verify all --csv && sound && has 4.3-sharp-p2 corrected PASS && has 4.2-masked printed PASS
}

test_trained() {
    small_corpus c.tsv
    model linear linear --mask-ratio 0.5 && model ar ar --loss spectral &&
        exits 0 "$COSPEC" verify 4.3 --model linear --corpus c.tsv --limit 20 -o a --csv && sound &&
        has 4.3-sharp-p2 corrected PASS && has 4.3-triangle-p2 corrected PASS &&
        head -1 a/theorem43_curve.csv | grep -q '^model,k,n,misalignment,w_k,loss,' && [ -s a/statements.json ] &&
        grep -q '"theorem": "4.3"\|"4.3"' a/manifest.json &&
        exits 0 "$COSPEC" verify 4.3 --model linear --against ar --corpus c.tsv --split test --max-length 6 --masks 100 -o b --csv && sound &&
        grep -q '^4.3-order-against,printed,' out && awk -F, 'NR > 1 && $8 == "" { exit 1 }' b/theorem43_curve.csv &&
        exits 0 "$COSPEC" verify 4.3 --model ar --unmasked 3 --corpus c.tsv --limit 10 --csv && sound || return 1
    # The loss of a prefix is in the loss of the other model too, when both are the same.
    exits 0 "$COSPEC" verify 4.3 --model linear --against linear --corpus c.tsv --limit 10 -o same &&
        awk -F, 'NR > 1 && ($6 != $8 || $9 != 0) { exit 1 }' same/theorem43_curve.csv || { fail "a model differs from itself"; return 1; }
    # its masking is read from train.json
    grep -q '"path": "linear/train.json"' same/manifest.json && sed -i 's/mask-ratio=0.5/mask-ratio=0.4/' linear/train.json &&
        refuses 3 "linear/train.json: its SHA-256" "$COSPEC" verify 4.3 --model linear --corpus c.tsv --limit 10 || fail "${why:-train.json is no input}"
}

test_figure() {
    command -v gnuplot > /dev/null || { skip figure "no gnuplot"; return 0; }
    small_corpus c.tsv
    model linear linear --mask-ratio 0.5 && exits 0 "$COSPEC" verify 4.3 --model linear --corpus c.tsv --limit 20 -o a &&
        exits 0 "$COSPEC" plot theorem43 linear=a/theorem43_curve.csv -o f && [ -s f/theorem43.png ] && grep -q 'measured, linear' f/theorem43.svg &&
        grep -q 'loss lost ± 1.96 se, linear' f/theorem43.svg && exits 0 "$COSPEC" plot theorem43 a/theorem43_curve.csv -o bare &&
        grep -q '>measured<' bare/theorem43.svg && ! grep -q 'measured,\|Δ_k\|\^2' bare/theorem43.svg || fail "${why:-the legend}"
}

test_bad_input() {
    small_corpus c.tsv
    printf 'cat\n' > one.txt
    model linear linear --mask-ratio 0.5 && model ar ar --loss spectral && model wide variable-masked --loss spectral --mask-ratio 0.2:0.6 &&
        model entropy masked --mask-ratio 0.5 || return 1
    "$COSPEC" train --corpus c.tsv --objective ar --width 8 --layers 1 --heads 2 --steps 2 --max-length 10 -o gpt > /dev/null 2>&1 || fail gpt || return 1
    cp -r linear broken
    truncate -s 700 broken/model.safetensors
    refuses 2 'needs verify 4.3 --model' "$COSPEC" verify 4.3 --corpus c.tsv &&
        refuses 2 'needs verify 4.3 --model' "$COSPEC" verify 4.2 --limit 4 &&
        refuses 2 '--model needs verify 4.3' "$COSPEC" verify 4.2 --model linear &&
        refuses 2 '--model needs a --corpus' "$COSPEC" verify 4.3 --model linear &&
        refuses 2 'gpt: Theorem 4.3 is about linear attention: the model'\''s architecture is gpt2' "$COSPEC" verify 4.3 --model gpt --corpus c.tsv &&
        refuses 3 'broken' "$COSPEC" verify 4.3 --model broken --corpus c.tsv &&
        refuses 3 'nowhere' "$COSPEC" verify 4.3 --model nowhere --corpus c.tsv &&
        refuses 2 'trained under ar' "$COSPEC" verify 4.3 --model ar --corpus c.tsv &&
        refuses 2 'not a range' "$COSPEC" verify 4.3 --model wide --corpus c.tsv &&
        refuses 2 'different losses' "$COSPEC" verify 4.3 --model linear --against entropy --corpus c.tsv &&
        refuses 2 '--max-length 11 exceeds the 10 positions of the model' "$COSPEC" verify 4.3 --model linear --corpus c.tsv --max-length 11 &&
        refuses 2 '--classes cannot be combined with --model' "$COSPEC" verify 4.3 --model linear --corpus c.tsv --classes 2 &&
        refuses 2 'it does not accept --matrix' "$COSPEC" verify 4.3 --matrix c.mtx &&
        refuses 3 'no sequence has at least 2 tokens' "$COSPEC" verify 4.3 --model linear --corpus one.txt &&
        exits 0 "$COSPEC" verify 4.3 --model entropy --corpus c.tsv --limit 5 --csv && sound
}

run_tests
