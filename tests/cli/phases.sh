# cospec phases: two seeds with kept checkpoints against features and rank and against numpy; the table, the figure, and what is refused.
. tests/cli/lib.sh

kept() { "$COSPEC" train --corpus c.tsv --objective "$2" --steps 8 --width 32 --heads 2 --layers 1 --batch 4 --keep-at 1,2,4 --save-every 4 --eval-batches 1 --seed "$3" -o "$1" -q > out 2> err || fail "$(cat err)"; }

test_against_rank() {
    two_classes 80 > c.tsv
    kept a ar 0 && kept b ar 1 && exits 0 "$COSPEC" phases a s1=b c.tsv --blocks 4 -o p || return 1
    [ "$(head -1 p/course.csv)" = metric,run,step,value,se,low,high,n ] && [ "$(grep -c , p/course.csv)" = 37 ] && [ "$(grep -c , p/phases.csv)" = 10 ] || { fail "$(head -3 p/*.csv)"; return 1; }
    for run in a b; do
        for step in 1 8; do
            exits 0 "$COSPEC" features $run/checkpoint-$step c.tsv --layers last --pooling last -o f --force &&
                exits 0 "$COSPEC" rank f/layer-1.npy --blocks 4 --csv && cp out plain && exits 0 "$COSPEC" rank f/layer-1.npy --blocks 4 --center --csv || return 1
            /usr/bin/python3 -c '
import csv, sys
plain, centred = ({r["metric"]: r for r in csv.DictReader(open(n))} for n in ("plain", "out"))
run, step = {"a": "a", "b": "s1"}[sys.argv[1]], sys.argv[2]
rows = {r["metric"]: r for r in csv.DictReader(open("p/course.csv")) if r["run"] == run and r["step"] == step}
for metric, of in ("rankme", plain["rankme"]), ("rankme_centred", centred["rankme"]), ("decay_exponent", centred["decay_exponent"]):
    for column in "value", "se":
        x, y = float(rows[metric][column]), float(of[column])
        assert abs(x - y) <= (1e-5 if column == "value" else 1e-3) * abs(y), (run, step, metric, column, x, y)' $run $step 2> err || { fail "$(tail -1 err)"; return 1; }
            /usr/bin/python3 -c 'import numpy' 2> /dev/null || continue
            /usr/bin/python3 -c '
import csv, sys
import numpy as np
run, step = {"a": "a", "b": "s1"}[sys.argv[1]], sys.argv[2]
x = np.load("f/layer-1.npy").astype(float)
rows = {r["metric"]: float(r["value"]) for r in csv.DictReader(open("p/course.csv")) if r["run"] == run and r["step"] == step}
def rankme(x):
    s = np.linalg.svd(x, compute_uv=False)
    p = s / s.sum() + 1e-7
    return np.exp(-(p * np.log(p)).sum())
c = x - x.mean(0)
k = np.arange(11, 33)
spectrum = np.linalg.svd(c, compute_uv=False)[10:32] ** 2
keep = spectrum > 1e-12 * (c ** 2).sum()
alpha = -np.polyfit(np.log(k[keep]), np.log(spectrum[keep]), 1)[0]
for name, value in ("rankme", rankme(x)), ("rankme_centred", rankme(c)), ("decay_exponent", alpha):
    assert abs(rows[name] - value) < 1e-5 * value, (name, rows[name], value)' $run $step 2> err || { fail "numpy: $(tail -1 err)"; return 1; }
        done
    done
    near "$(awk -F, '$1 == "rankme" && $2 == "mean" && $3 == 2 { print $4 }' p/course.csv)" "$(awk -F, '$1 == "rankme" && $2 != "mean" && $3 == 2 { x += log($4) / 2 } END { print exp(x) }' p/course.csv)" 1e-4 &&
        exits 0 "$COSPEC" phases a s1=b c.tsv --blocks 4 --threads 1 --csv && cp out one && exits 0 "$COSPEC" phases a s1=b c.tsv --blocks 4 --threads 2 --csv && cmp -s one out || { fail "${why:-threads}"; return 1; }
    command -v gnuplot > /dev/null || { skip figure "no gnuplot"; return 0; }
    exits 0 "$COSPEC" plot phases p/course.csv -o figure && [ -s figure/phases.svg ]
}

# A masked model is read by its mean, and one run alone has an interval of documents.
test_pooling() {
    small_corpus c.tsv
    kept m masked 0 && exits 0 "$COSPEC" phases m c.tsv --blocks 4 --json && grep -q '"pooling": "mean"' out && exits 0 "$COSPEC" phases m c.tsv --blocks 4 --pooling first --json && grep -q '"pooling": "first"' out &&
        exits 0 "$COSPEC" phases m c.tsv --blocks 1 --csv && [ "$(grep -c ',undetermined,\|,absent,' out)" = 9 ] || fail "${why:-$(head -3 out)}"
}

test_refused() {
    small_corpus c.tsv
    # one run twice is no second seed, and a mean over objectives is about none
    kept a ar 0 && kept m masked 1 && refuses 2 'a and ./a are one run' "$COSPEC" phases a ./a c.tsv --blocks 4 &&
        refuses 3 'm/checkpoint-1: trained in another way (objective masked' "$COSPEC" phases a m c.tsv --blocks 4 &&
        refuses 3 'absent: no such folder' "$COSPEC" phases absent c.tsv && refuses 3 'c.tsv: not a folder' "$COSPEC" phases c.tsv c.tsv || return 1
    refuses 3 'phases need at least 3 (train --keep-at STEP,STEP,...)' "$COSPEC" phases . c.tsv && rm -r a/checkpoint-2 && kept b ar 1 &&
        refuses 3 'b: its 4 checkpoints are not of the same steps as the 3 of the first run' "$COSPEC" phases a b c.tsv && refuses 2 'blocks are not possible with' "$COSPEC" phases b c.tsv --blocks 1000 && refuses 2 '--layer: give one layer' "$COSPEC" phases b c.tsv --layer 0,1 --blocks 4
}

run_tests
