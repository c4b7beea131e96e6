# The study of the neighbours' theories at its smallest scale: every command parses and runs, every claim finds its numbers, the report is whole.
root=$(pwd)
. tests/cli/lib.sh

test_scales() {
    mkdir r && touch r/report.html
    for scale in smoke cpu; do
        refuses 2 "r/report.html exists" "$COSPEC" reproduce --steps "$root/plots/neighbours.json" --template "$root/plots/neighbours.html" --scale $scale -o r || return 1
    done
}

test_smoke() {
    fewer 3 wordnet glyphs || { skip smoke "$(tail -1 err)"; return 0; }
    export COSPEC_CACHE="$PWD/cache"
    smoke() { exits 0 "$COSPEC" reproduce --steps "$root/plots/neighbours.json" --template "$root/plots/neighbours.html" --scale smoke -o r -q "$@"; }
    # the claims of one theory alone, with their part of the report
    smoke --claims ORDER,NTP-orthants || return 1
    [ "$(wc -l < r/claims.csv)" = 16 ] && ! grep -q '<h2 id="phases">' r/report.html && grep -q '^<h2 id="order">' r/report.html || { fail "$(wc -l < r/claims.csv) lines for 15 claims"; return 1; }
    # a part of a theory: sentences about other claims say so, and an {{if}} within another does not end it
    smoke --claims PHASES-two-ar,R2MAE-ridge --resume || return 1
    grep -q 'over pretraining.*<em>not chosen</em>' r/report.html && ! grep -q '<h2 id="order">\|{{' r/report.html && grep -q '<p>Autoregressive:</p>' r/report.html && ! grep -q '<p>Hybrid:</p>' r/report.html || { fail "the report of a part"; return 1; }
    # all of them
    smoke --resume || return 1
    [ "$(wc -l < r/claims.csv)" = 43 ] || { fail "$(wc -l < r/claims.csv) lines for 42 claims"; return 1; }
    ! grep -q '{{' r/report.html && grep -q '^R2MAE-ridge,.*,holds,' r/claims.csv && grep -q 'collapse-expansion-compression' r/report.html && grep -q '^<h2 id="order">' r/report.html || fail "the report is not filled"
}

run_tests
