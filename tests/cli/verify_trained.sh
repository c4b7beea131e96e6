# Models trained on the toy model against the theory, through the command line: seeds are fixed, so
# are the bits.
. tests/cli/lib.sh

trained() { "$COSPEC" verify trained --classes 2 --length 3 --tokens 2 --steps "${steps:-1500}" "$@"; }

# No corrected statement may be anything but PASS, and each model has its statements.
all_pass() {
    ! grep -E ',corrected,(FAIL|INCONCLUSIVE|UNSPECIFIED|VACUOUS),' out | grep -v '^trained-minimum,corrected,INCONCLUSIVE.*table-b2' ||
        { fail "not all pass: $(cut -d, -f1,3 out | tr '\n' ' ')"; return 1; }
    [ "$(grep -c '^trained-angle,corrected,PASS' out)" = 3 ] && [ "$(grep -c '^trained-range,corrected,PASS' out)" = 3 ] &&
        grep -q '^trained-entropy,corrected,PASS' out && grep -q '^trained-entropy-excess,corrected,PASS' out ||
        fail "statements are missing: $(cut -d, -f1,3 out | tr '\n' ' ')"
}

test_masked() {
    exits 0 trained --objective masked --unmasked 1 --csv -o a && all_pass && [ "$(wc -l < a/trained.csv)" = 5 ] &&
        trained --objective masked --unmasked 1 --csv --threads 1 -o b > /dev/null 2>&1 && cmp a/trained.csv b/trained.csv &&
        [ ! -e a/log.csv ] && [ ! -e a/model.safetensors ]
}

test_ar() { exits 0 trained --objective ar --csv && all_pass; }

# An optimum that the architecture does not hold, and training that is cut short: no refutation.
test_out_of_reach() {
    exits 0 trained --objective permuted-ar --csv && grep -q '^trained-angle,corrected,UNSPECIFIED' out &&
        grep -q '^trained-reach,corrected,PASS' out && ! grep -q ',corrected,FAIL' out
}

# Modes pass half of their optimum in the order of their singular values, in every model and objective.
test_order_of_learning() {
    for o in diverse-ar variable-masked 'group-ar --t 2'; do
        # shellcheck disable=SC2086 # options
        "$COSPEC" verify trained --classes 2 --length 4 --tokens 2 --steps 300 --width 8 --objective $o -o o --force > out 2> err
        awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i - NF; next }
            { m = $(NF + at["model"]); k = $(NF + at["mode"]); seen[m] = k > seen[m] ? k : seen[m] }
            $(NF + at["share"]) >= .5 && !((m, k) in half) { half[m, k] = $(NF + at["step"]) }
            END { for (m in seen) { ++n; for (k = 2; k <= seen[m]; ++k) { ++pairs; if (half[m, k] <= half[m, k - 1]) bad = 1 } } exit bad || n != 3 || pairs < 3 }' o/order.csv ||
            { fail "$o: $(tail -n 3 o/order.csv)"; return 1; }
    done
}

# Words a..h: the next one is of the same half with probability .95, and of the same pair in it with .75. The matrix of two
# neighbours has the singular values 1, .9, .475 twice, and the noise of the sample.
halves_and_pairs() {
    awk 'BEGIN { srand(4); for (i = 0; i < 900; ++i) { t = int(8 * rand()); line = ""
        for (j = 0; j < 8; ++j) { line = line " " substr("abcdefgh", t + 1, 1) "x"
            h = int(t / 4); p = int(t / 2) % 2
            if (rand() < .95) p = rand() < .75 ? p : 1 - p; else { h = 1 - h; p = int(2 * rand()) }
            t = 4 * h + 2 * p + int(2 * rand()) }
        print line } }' > h.txt
}

# run OBJECTIVE MODES: a run of it and the course of its modes.
run() {
    exits 0 "$COSPEC" cooc --corpus h.txt --vocab all --objective "$1" --context nearest:1 --split train -o m --force &&
        exits 0 "$COSPEC" train --corpus h.txt --vocab all --objective "$1" --steps 240 --width 32 --layers 1 --heads 2 --lr 3e-3 --keep-at 1,20,40,60,80,100,120,140,160,200 -o r --force &&
        exits 0 "$COSPEC" verify trained --model r --matrix m -k "$2" --csv -o o --force
}

# The half is learned before the pairs, in every objective; predictions of all events of ar are read, and the others are drawn.
test_order_on_a_corpus() {
    halves_and_pairs
    for o in ar 'group-ar(t=2)'; do
        run "$o" 4 || return 1
        grep -q '^trained-order,corrected,[A-Z]*,0,<,' out && grep -q '^trained-order-weighted,corrected,[A-Z]*,0,<,' out && [ "$(sed -n 2p o/trained.csv | cut -d, -f1-2)" = m,r ] || { fail "$o: $(cat out o/trained.csv)"; return 1; }
        awk -F, -v o="$o" 'NR == 1 { if ($0 != "input,model,step,mode,sigma,count,share,energy,observed,frequency") bad = "header"; next }
            { last[$4] = $7; at[$3, $4] = $7; if ($4 == 2 && $7 >= .5 && !half) half = $3; if (o == "ar" && ($9 - 1) ^ 2 > 1e-16) bad = "observed " $9
              if ($3 == 1 && $4 > 1 && $7 ^ 2 > .04) bad = "start " $7 }
            END { for (k = 1; k <= 4; ++k) if (!(last[k] > .75 && last[k] < 1.2)) bad = "end " k " " last[k]
                  if (!(at[half, 2] > at[half, 3] + .05 && at[half, 2] > at[half, 4] + .05)) bad = "order " half " " at[half, 2] " " at[half, 3]; print bad; exit bad != "" }' o/order.csv > bad ||
            { fail "$o: $(cat bad)"; return 1; }
    done
    # the correlations of the table are those of its course
    /usr/bin/python3 - 2> err << 'EOF' || { fail "$(cat err)"; return 1; }
import csv
modes, found = {}, next(csv.DictReader(open("o/trained.csv")))
for row in csv.DictReader(open("o/order.csv")):
    modes.setdefault(row["mode"], []).append({key: float(row[key]) for key in ("sigma", "frequency", "share")})
rows = [(m[0]["sigma"], m[0]["frequency"], sum(r["share"] for r in m)) for m in modes.values() if m[0]["sigma"] < 1 - 1e-9]
assert len(rows) == 3 == int(found["modes"]), found
for key, of in ("tau", lambda r: r[0]), ("tau_weighted", lambda r: r[0] * r[1]), ("tau_frequency", lambda r: r[1]):
    pairs = [(of(a) - of(b), a[2] - b[2]) for i, a in enumerate(rows) for b in rows[:i]]
    agree, untied = sum(x * y > 0 for x, y in pairs) - sum(x * y < 0 for x, y in pairs), [sum(p[i] != 0 for p in pairs) for i in (0, 1)]
    assert abs(float(found[key]) - agree / (untied[0] * untied[1]) ** .5) < 1e-12, (key, found, rows)
EOF
    # any number of threads, and a figure
    cp o/order.csv one && exits 0 "$COSPEC" verify trained --model r --matrix m -k 4 -o o --force --threads 1 && cmp -s one o/order.csv || { fail "${why:-threads}"; return 1; }
    exits 0 "$COSPEC" plot order o/order.csv --series model -o f && [ -s f/order.svg ] && [ -s f/order.pdf ] || return 1
    exits 0 "$COSPEC" cooc --corpus h.txt --vocab all --objective ar --context nearest:1 -o ar &&
        refuses 2 'the objective group-ar(t=2), but the matrix has ar' "$COSPEC" verify trained --model r --matrix ar &&
        refuses 2 'needs --matrix DIR' "$COSPEC" verify trained --model r &&
        refuses 3 'r/checkpoint-20: 0 checkpoints; an order needs at least 2' "$COSPEC" verify trained --model r/checkpoint-20 --matrix m &&
        refuses 2 'an order needs at least two modes' "$COSPEC" verify trained --model r --matrix m -k 2 &&
        refuses 2 'cannot be combined' "$COSPEC" verify trained --model r --matrix m --steps 3 || return 1
    sed 's/ax/zx/g' h.txt > z.txt && exits 0 "$COSPEC" cooc --corpus z.txt --vocab all --objective 'group-ar(t=2)' --context nearest:1 -o z &&
        refuses 3 'token zx of the matrix is not one of r/checkpoint-1' "$COSPEC" verify trained --model r --matrix z &&
        exits 0 "$COSPEC" cooc --corpus h.txt --vocab all --objective 'group-ar(t=2)' --context unique -o u &&
        refuses 2 'needs a matrix with a row for each context' "$COSPEC" verify trained --model r --matrix u
}

test_short_training() {
    steps=2
    exits 4 trained --objective ar --csv && grep -q '^trained-angle,corrected,INCONCLUSIVE' out && ! grep -q ',corrected,FAIL' out
    short=$?; steps=; return $short
}

test_usage() {
    refuses 2 'needs verify trained' "$COSPEC" verify 3.1 --steps 5 &&
        refuses 2 '--width 99' trained --objective ar --width 99 &&
        refuses 2 'blind' trained --objective ar --target-position given &&
        refuses 2 'empty prefixes' trained --objective ar --empty-prefix class &&
        refuses 3 'the limit is 32768' "$COSPEC" verify trained --objective masked --unmasked 4 --classes 9 --length 9 --tokens 9
}

run_tests
