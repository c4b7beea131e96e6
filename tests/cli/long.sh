# Long studies at their smallest scale: every command parses and runs, every claim finds its numbers, the report is whole.
root=$(pwd)
. tests/cli/lib.sh

test_smoke() {
    for corpus in wordnet bible-kjv manpages foldoc; do
        "$COSPEC" data prepare $corpus > out 2> err || { skip smoke "$(tail -1 err)"; return 0; }
    done
    exits 0 "$COSPEC" reproduce --steps "$root/plots/long.json" --template "$root/plots/long.html" --scale smoke -o r -q || return 1
    [ "$(wc -l < r/claims.csv)" = 116 ] || { fail "$(wc -l < r/claims.csv) lines for 115 claims"; return 1; }
    ! grep -q '{{' r/report.html && grep -q '76.0 against 74.1' r/report.html || fail "the report is not filled"
}

test_repeat() {
    "$COSPEC" data prepare wordnet > out 2> err || { skip repeat "$(tail -1 err)"; return 0; }
    exits 0 "$COSPEC" reproduce --steps "$root/plots/repeat.json" --template "$root/plots/repeat.html" --scale smoke -o p -q || return 1
    [ "$(wc -l < p/claims.csv)" = 11 ] || { fail "$(wc -l < p/claims.csv) lines for 10 claims"; return 1; }
    ! grep -q '{{' p/report.html && [ "$(grep -c 'perplexity.csv' p/report.html)" -ge 12 ] || fail "the report is not filled"
}

run_tests
