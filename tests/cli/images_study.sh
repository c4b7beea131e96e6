# The study of images at its smallest scale: every command parses and runs, every claim finds its numbers, the report is whole.
root=$(pwd)
. tests/cli/lib.sh

# Before the first step a folder with a report is refused, and after all that a study can have wrong: what a scale or --claims leaves out, its report does not ask for.
test_scales() {
    mkdir r && touch r/report.html
    for scale in smoke cpu long gpu; do
        refuses 2 "r/report.html exists" "$COSPEC" reproduce --steps "$root/plots/images.json" --template "$root/plots/images.html" --scale $scale -o r || return 1
    done
    for claims in LA-T8 LA-T3 GVP-T4 GVP-T6 GVP-T9; do
        refuses 2 "r/report.html exists" "$COSPEC" reproduce --steps "$root/plots/images.json" --template "$root/plots/images.html" --claims $claims -o r || return 1
    done
}

test_smoke() {
    "$COSPEC" data prepare glyphs > out 2> err || { skip smoke "$(tail -1 err)"; return 0; }
    exits 0 "$COSPEC" reproduce --steps "$root/plots/images.json" --template "$root/plots/images.html" --scale smoke -o r -q || return 1
    [ "$(wc -l < r/claims.csv)" = 111 ] || { fail "$(wc -l < r/claims.csv) lines for 110 claims"; return 1; }
    ! grep -q '{{' r/report.html && grep -q '61.4 against 55.3' r/report.html && [ "$(grep -c 'src="data:image/png;base64,iVBOR' r/report.html)" = 6 ] || fail "the report is not filled"
}

run_tests
