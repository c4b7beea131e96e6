# Long studies at their smallest scale: every command parses and runs, every claim finds its numbers, the report is whole.
root=$(pwd)
. tests/cli/lib.sh

test_smoke() {
    # each step of a study reads whole corpora
    fewer 9 wordnet bible-kjv manpages foldoc || { skip smoke "$(tail -1 err)"; return 0; }
    COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" reproduce --steps "$root/plots/long.json" --template "$root/plots/long.html" --scale smoke -o r -q || return 1
    [ "$(wc -l < r/claims.csv)" = 116 ] || { fail "$(wc -l < r/claims.csv) lines for 115 claims"; return 1; }
    ! grep -q '{{' r/report.html && grep -q '76.0 against 74.1' r/report.html || fail "the report is not filled"
}

test_repeat() {
    fewer 3 wordnet || { skip repeat "$(tail -1 err)"; return 0; }
    COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" reproduce --steps "$root/plots/repeat.json" --template "$root/plots/repeat.html" --scale smoke -o p -q || return 1
    [ "$(wc -l < p/claims.csv)" = 11 ] || { fail "$(wc -l < p/claims.csv) lines for 10 claims"; return 1; }
    ! grep -q '{{' p/report.html && [ "$(grep -c 'perplexity.csv' p/report.html)" -ge 12 ] || fail "the report is not filled"
}

run_tests
