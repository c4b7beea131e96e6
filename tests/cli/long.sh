# Long studies at their smallest scale: every command parses and runs, every claim finds its numbers, the report is whole.
root=$(pwd)
. tests/cli/lib.sh

# fewer NAME STEP CORPUS...: every STEP-th document in cache/, since each step of a study reads all of them.
fewer() {
    name=$1 step=$2; shift 2
    mkdir cache
    for corpus; do
        "$COSPEC" data prepare "$corpus" --csv > out 2> err || { skip "$name" "$(tail -1 err)"; return 1; }
        awk -v step="$step" 'NR % step == 1' "$(cell out path 1)" > "cache/$corpus.tsv"
    done
}

test_smoke() {
    fewer smoke 9 wordnet bible-kjv manpages foldoc || return 0
    COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" reproduce --steps "$root/plots/long.json" --template "$root/plots/long.html" --scale smoke -o r -q || return 1
    [ "$(wc -l < r/claims.csv)" = 116 ] || { fail "$(wc -l < r/claims.csv) lines for 115 claims"; return 1; }
    ! grep -q '{{' r/report.html && grep -q '76.0 against 74.1' r/report.html || fail "the report is not filled"
}

test_repeat() {
    fewer repeat 3 wordnet || return 0
    COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" reproduce --steps "$root/plots/repeat.json" --template "$root/plots/repeat.html" --scale smoke -o p -q || return 1
    [ "$(wc -l < p/claims.csv)" = 11 ] || { fail "$(wc -l < p/claims.csv) lines for 10 claims"; return 1; }
    ! grep -q '{{' p/report.html && [ "$(grep -c 'perplexity.csv' p/report.html)" -ge 12 ] || fail "the report is not filled"
}

run_tests
