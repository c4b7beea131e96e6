# cospec demo: a first result in less than a minute, with WordNet and without.
. "$(dirname "$0")/lib.sh"

test_wordnet() {
    exits 0 "$COSPEC" demo || return 1
    grep -q '^Corpus: ' out && [ "$(grep -c '^Step [1-6] of 6\. .*\.$' out)" = 6 ] || { fail "not six steps: $(head -c 200 out)"; return 1; }
    # Each command that it shows can be typed again and gives the same.
    grep '^\$ cospec cooc' out | head -1 | sed 's/^\$ cospec //; s/-o .*/-o again/' > line
    # shellcheck disable=SC2046 # the line is a command line
    "$COSPEC" $(cat line) > again.txt 2> err || { fail "$(cat line): $(tail -1 err)"; return 1; }
    cmp -s again/matrix.npz cospec-demo/ar/matrix.npz || { fail "the command shown makes another matrix"; return 1; }
    # The spectra are of these matrices: the first value is 1, and the sum of sigma^4 of ar is the larger.
    for s in ar masked; do near "$(awk -F, 'NR == 2 { print $2 }' cospec-demo/$s-spectrum/svd.csv)" 1 1e-9 || return 1; done
    tail -c 20 cospec-demo/figure/spectra.svg | grep -q '</svg>' && grep -q 'holds, but vacuous' out && [ -s cospec-demo/theorem/statements.csv ] &&
        grep -q '^What to try next:' out || fail "a result is missing"
}

# In a folder with a blank: the commands can be typed again.
test_generated() {
    WORDNET_DIR=$PWD/none COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" demo -o "e f" --quiet || return 1
    grep -q 'generated .*because WordNet is not available' out && grep -q 'wordnet-base' out && [ ! -s err ] || { fail "$(head -3 out) $(cat err)"; return 1; }
    grep -q "^\$ cospec svd 'e f/ar'" out || { fail "$(grep '^\$' out)"; return 1; }
    WORDNET_DIR=$PWD/none COSPEC_CACHE=$PWD/cache exits 2 "$COSPEC" demo -o "e f" --quiet && says 'step 1' && says '--force'
}

# gnuplot is a separate program: without it there is no figure, and the other steps run.
test_no_gnuplot() {
    PATH=$PWD WORDNET_DIR=$PWD/none COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" demo --quiet || return 1
    grep -q '^No figure: step 5: .*gnuplot-nox' out && grep -q '^Step 6' out && ! grep -q '^The figure is' out || fail "$(grep -v '^ ' out | tail -20)"
}

# An interrupt in a step: one advice, that of the demo.
test_interrupt() {
    WORDNET_DIR=$PWD/none COSPEC_CACHE=$PWD/cache "$COSPEC" demo > out 2> err & pid=$!
    n=0
    until grep -qs '^Step 1' out || [ $n -gt 500 ]; do sleep 0.01; n=$((n + 1)); done
    kill -INT $pid 2> /dev/null
    wait $pid; code=$?
    [ $code = 130 ] && says "run 'cospec demo --force' to start again" && ! grep -q -e --resume err || fail "exits with $code: $(cat err)"
}

run_tests
