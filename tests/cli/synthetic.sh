# Synthetic languages as corpora: documents, populations, and limits that no model passes.
. tests/cli/lib.sh

cooc() { "$COSPEC" cooc "$@"; }

# The value of a metric and an estimate in connectivity.csv; the first of them.
row() { awk -F, -v m="$1" -v e="$2" -v v="$(head -1 "$3" | tr , '\n' | grep -nx value | cut -d: -f1)" '$4 == m && $5 == e { print $v; exit }' "$3"; }

test_documents_are_a_corpus() {
    law=markov:states=6,classes=2,length=5,documents=50
    exits 0 "$COSPEC" data stats $law --json && [ "$(number documents out)" = 50 ] && [ "$(number vocabulary out)" = 7 ] &&
        [ "$(number labels out)" = 2 ] && [ -n "$(number next_token_nats out)" ] && [ -n "$(number bayes_risk out)" ] || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    exits 0 cooc --corpus $law --objective ar --context nearest:1 -o a && exits 0 cooc --corpus $law --objective ar --context nearest:1 --threads 2 -o b &&
        cmp -s a/matrix.npz b/matrix.npz && exits 0 cooc --corpus $law,sample=2 --objective ar --context nearest:1 -o c || { fail "${why:-differs}"; return 1; }
    cmp -s a/matrix.npz c/matrix.npz && fail "another sample has the same matrix"
    exits 0 "$COSPEC" data stats $law --test-share 0 --json && [ "$(grep -c next_token_nats out)" = 1 ] || fail "${why:-two splits}"
}

# Two states that stay with probability 0.9: sigma_2 = 0.8, and -0.9 ln 0.9 - 0.1 ln 0.1 nats a token.
test_population_of_a_file() {
    printf '{"classes": [{"transition": [[0.9, 0.1], [0.1, 0.9]]}]}\n' > two.json
    exits 0 cooc --corpus markov:file=two.json,length=6 --population --objective ar -o p && exits 0 "$COSPEC" connectivity p --csv && cp out p.csv || return 1
    near "$(row sigma_2 plug-in p.csv)" 0.8 1e-9 && near "$(row conditional_entropy plug-in p.csv)" 0.325082973391448 1e-9 || return 1
    grep -q '"path": "two.json"' p/manifest.json || grep -q two.json p/manifest.json || { fail "the file is no input"; return 1; }
    exits 0 "$COSPEC" inspect p && exits 0 "$COSPEC" svd p -k 2 && exits 0 "$COSPEC" verify 3.1 --matrix p || return 1
    # Prefixes of 1 to 5 words and the next one, blind: 2^2 + ... + 2^6.
    exits 0 cooc --corpus markov:file=two.json,length=6 --population --objective ar --dry-run --json && near "$(number contributions out)" 124 0
}

test_truth_with_estimates() {
    exits 0 "$COSPEC" connectivity --corpus markov:states=5,length=8,documents=40 --max-length 3 --stride 1 --compare ar --compare masked:unmasked=1 --jackknife 4 -k 4 --csv -o d && cp out c.csv || return 1
    # With one token of three shown and the target's place unknown, the language itself is better connected.
    grep -q '^masked(unmasked=1),blind,ar,blind,population,0.*,more connected,' d/verdicts.csv || { fail "$(cat d/verdicts.csv)"; return 1; }
    exits 0 cooc --corpus markov:states=5,length=8 --population --max-length 3 --stride 1 --objective ar -o p && exits 0 "$COSPEC" connectivity p --csv || return 1
    near "$(row sum_sigma4 population c.csv)" "$(row sum_sigma4 plug-in out)" 1e-12 || return 1
    exits 0 "$COSPEC" connectivity --corpus markov:states=40,length=30,documents=40 --compare ar --jackknife 0 -k 4 --csv &&
        grep -qF "population values are not available: markov:states=40,length=30,documents=40: 1.182e+48 contributions from all words" err || { fail "${why:-$(cat err)}"; return 1; }
    [ -z "$(row sum_sigma4 population out)" ] || fail "values are not available"
}

# Both children are the symbol itself with probability .9, else both the other one; leaves are their symbols.
test_population_of_a_grammar() {
    printf '{"classes": [{"rules": [[0.9, 0, 0, 0.1], [0.1, 0, 0, 0.9]], "emission": [[1, 0], [0, 1]]}]}\n' > g.json
    # Of six pairs of places two are siblings, which are equal, and four have correlation .8^2; sigma_2 of a single shown word is the mean.
    exits 0 cooc --corpus grammar:depth=2,file=g.json --population --objective masked:unmasked=1 --context each:3 -o g && exits 0 "$COSPEC" connectivity g --csv && cp out g.csv || return 1
    near "$(row sigma_2 plug-in g.csv)" "$(awk 'BEGIN { print (1 * 2 + .64 * 4) / 6 }')" 1e-6 || return 1
    exits 0 "$COSPEC" data stats grammar:depth=2,file=g.json,documents=50 --json && [ "$(number tokens out)" = 200 ] || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    refuses 2 "grammar has no 'states'" "$COSPEC" data stats grammar:states=3
}

# The label noise of a context is the Bayes risk: of two classes that differ in one word of the second place, by hand.
test_bayes_risk_of_a_context() {
    printf '{"classes": [{"initial": [1, 0], "transition": [[0.75, 0.25], [0.5, 0.5]]}, {"initial": [1, 0], "transition": [[0.25, 0.75], [0.5, 0.5]]}]}\n' > c.json
    exits 0 cooc --corpus markov:file=c.json,length=3 --population --objective ar -o p --json || return 1
    # Rows: "a" (half of the mass), classes even: 1/2; "a a" and "a b": 1/4. In all 3/8.
    near "$(number label_noise out)" 0.375 1e-12
}

test_models_learn_it() {
    law=markov:states=6,length=8,documents=200
    exits 0 "$COSPEC" train --corpus $law --objective ar --steps 5 --width 16 --layers 1 --batch 8 -o m &&
        exits 0 "$COSPEC" perplexity m $law --json && nll=$(number value out) || return 1
    exits 0 "$COSPEC" probe m markov:states=6,length=8,documents=60,classes=2 --json
}

test_refusals() {
    refuses 2 "markov has no 'sates'; did you mean states?" cooc --corpus markov:sates=3 --objective ar -o d &&
        refuses 2 "length: 0 is not in 1..2147483647" "$COSPEC" data stats hmm:length=0 &&
        refuses 2 "c.tsv: expected a synthetic language:" cooc --corpus c.tsv --population --objective ar -o d &&
        refuses 2 "--vocab does not apply to --population" cooc --corpus markov:states=3 --population --vocab 2 --objective ar -o d &&
        refuses 3 "1.182e+48 contributions from all words" cooc --corpus markov:states=40,length=30 --population --objective ar -o d &&
        refuses 2 "a population has no documents that could be rows" cooc --corpus markov:states=3,length=5 --population --max-length 3 --context document --objective ar -o d &&
        refuses 3 "absent.json" cooc --corpus markov:file=absent.json --objective ar -o d || return 1
    printf '{"classes": [{"transition": [[0.9, 0.2], [0.1, 0.9]]}]}\n' > bad.json
    refuses 3 "bad.json: classes[0]: transition[0]: the probabilities sum to 1.1, not 1" "$COSPEC" data stats markov:file=bad.json
}

# Where the estimates of the language contradict what is known, the corpus is said to be too small, and which would do; where they do not,
# the bias-corrected value comes first and is right within a factor of two: the population is known.
test_estimable() {
    language='markov:states=14,concentration=0.3,length=5' options='--compare masked --context all -k 4 -q'
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" connectivity --corpus "$language,documents=800" $options -o few && head -1 out | grep -q '^sum sigma^4 of the language, bias-corrected:$' &&
        sed -n 2p out | grep -q '^  masked(mask-ratio=0.15), blind and given: not estimable from this corpus: contexts that two documents share hold 38 % of the mass (at least 50 % is needed)\. At least about 1300 documents would do; there are 800$' ||
        { fail "${why:-$(head -3 out)}"; return 1; }
    cp out page
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" connectivity --corpus "$language,documents=800" $options -o few --resume && cmp -s out page && exits 0 "$COSPEC" connectivity --corpus "$language,documents=2400" $options -o enough || return 1
    sed -n 2p out | grep -q '^  masked(mask-ratio=0.15), blind and given: 2\.[0-9]*, 95 % interval ' && grep -q '"metric": "estimable"' enough/connectivity.json || { fail "$(head -3 out)"; return 1; }
    awk '$2 == "blind" && $3 == "sum_sigma4_corrected" { x = $5 } $2 == "blind" && $3 == "sum_sigma4" && $4 == "population" { t = $5 } END { exit !(t > 0 && x > t / 2 && x < 2 * t) }' out || { fail "$(cat out)"; return 1; }
    grep -q 'A number of documents$' out && grep -q '^that would do is a lower limit' out &&
        ! grep -q 'lie outside their intervals' err || { fail "$(head -6 out) $(cat err)"; return 1; }
    # the corrected value is above the uncorrected one, whose interval is the corrected one's
    [ "$(grep -n 'blind *sum_sigma4_corrected' out | cut -d: -f1)" -lt "$(grep -n 'blind *sum_sigma4 *distinct' out | cut -d: -f1)" ] || { fail "$(cat out)"; return 1; }
    # values that are not bias-corrected say so in their own row
    exits 0 "$COSPEC" connectivity --corpus "$language,documents=800" --compare masked --context all -k 4 --metric sum_sigma4 --metric sigma_1 -q &&
        grep -q 'sum_sigma4 *distinct-document .* not bias-corrected' out && grep -q 'sigma_1 *distinct-document .* not bias-corrected; outside the interval' out || fail "${why:-$(cat out)}"
}

run_tests
