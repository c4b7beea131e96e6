# connectivity, inspect, angles, tradeoff, plot, reproduce: end to end on a small corpus.
. tests/cli/lib.sh

# value SERIES POSITION METRIC FILE: from connectivity.csv (definitions hold commas, so count columns from the end).
value() { awk -F, -v s="$1" -v p="$2" -v m="$3" '$1 == s && $2 == p && $4 == m { print $(NF - 3); exit }' "$4"; }

built() { small_corpus c.tsv && exits 0 "$COSPEC" cooc --corpus c.tsv --objective "$1" --context all --max-length 3 --stride 1 -o "$2" $3; }

# The sums of connectivity are those of svd on the stored matrix: two commands, one number.
test_connectivity_agrees_with_svd() {
    built masked m "--unmasked 1" &&
        exits 0 "$COSPEC" connectivity --corpus c.tsv --context all --max-length 3 --stride 1 --compare masked:unmasked=1 --jackknife 4 -k 5 -o c &&
        exits 0 "$COSPEC" svd m -k all --json && cp out svd.json || return 1
    near "$(value masked:unmasked=1 blind sum_sigma2 c/connectivity.csv)" "$(number sum_sigma2 svd.json)" 1e-9 &&
        near "$(value masked:unmasked=1 blind sum_sigma4 c/connectivity.csv)" "$(number sum_sigma4 svd.json)" 1e-9 &&
        [ "$(value masked:unmasked=1 blind components c/connectivity.csv)" = "$(number components svd.json)" ] &&
        grep -q '^masked:unmasked=1 blind,blind,1,1,' c/spectrum.csv || fail "spectrum.csv: $(head -3 c/spectrum.csv)"
}

test_cheeger_bounds_hold() {
    built ar m "" && exits 0 "$COSPEC" connectivity m -o c &&
        awk -F, '$4 == "cheeger_lower" { l = $(NF - 3) } $4 == "sweep_cut" { h = $(NF - 3) } $4 == "cheeger_upper" { u = $(NF - 3) }
                 END { exit !(l != "" && l <= h + 1e-9 && h <= u + 1e-9) }' c/connectivity.csv || fail "bounds are out of order"
}

test_connectivity_bad_input() {
    small_corpus c.tsv
    refuses 2 "either matrices or --corpus" "$COSPEC" connectivity &&
        refuses 2 "unmaked" "$COSPEC" connectivity --corpus c.tsv --compare masked:unmaked=1 &&
        refuses 3 "length >= 42" "$COSPEC" connectivity --corpus c.tsv --max-length 3 --stride 1 --compare masked:unmasked=41 &&
        refuses 3 "nowhere" "$COSPEC" connectivity nowhere
}

# Ctrl-C keeps the finished records; --resume gives the files of an uninterrupted run, byte for byte.
test_connectivity_resumes() {
    small_corpus c.tsv
    set -- --corpus c.tsv --context all --max-length 4 --stride 1 --jackknife 20 -k 3 --quiet --compare ar --compare masked:unmasked=1 \
        --compare masked:unmasked=2 --compare masked:unmasked=3 --compare diverse-ar:t=2 --compare diverse-ar:t=3 --compare permuted-ar
    exits 0 "$COSPEC" connectivity "$@" -o whole || return 1
    "$COSPEC" connectivity "$@" -o part > out 2> err & pid=$!
    n=0
    until [ -f part/unfinished.json ] || [ $n -gt 500 ]; do sleep 0.01; n=$((n + 1)); done
    kill -INT $pid 2> /dev/null
    wait $pid; code=$?
    [ $code = 130 ] || { fail "interrupted run exits with $code"; return 1; }
    [ -f part/unfinished.json ] && [ ! -f part/connectivity.csv ] || { fail "no record was kept"; return 1; }
    refuses 2 "other options" "$COSPEC" connectivity "$@" --compare ar -o part --resume &&
        exits 0 "$COSPEC" connectivity "$@" -o part --resume && cmp -s whole/connectivity.csv part/connectivity.csv &&
        cmp -s whole/spectrum.csv part/spectrum.csv && [ ! -f part/unfinished.json ] || fail "resumed run differs: $(cat err)"
}

test_inspect() {
    built ar m "" && exits 0 "$COSPEC" inspect m --csv && grep -q '^heaviest row,1,' out &&
        exits 0 "$COSPEC" inspect m --neighbours cat --dimensions 20 --csv && sed -n 2p out | grep -q '^neighbour,0,[0-9]*,cat,' &&
        exits 0 "$COSPEC" inspect m --row 0 --vector 1 --json && grep -q '"target of the row"' out || { fail "$(head -3 out)"; return 1; }
    refuses 2 "abc" "$COSPEC" inspect m --row abc && refuses 2 "99999" "$COSPEC" inspect m --row 99999 &&
        refuses 3 "aardvark" "$COSPEC" inspect m --neighbours aardvark
}

# A subspace makes no angle with itself.
test_angles() {
    built ar a "" && built masked b "--unmasked 1" && exits 0 "$COSPEC" angles a a -k 3 --json && near "$(number mean_squared_cosine out)" 1 1e-12 &&
        exits 0 "$COSPEC" angles a b -k 3 --json && refuses 2 "5000" "$COSPEC" angles a b -k 5000 || return 1
    exits 0 "$COSPEC" cooc --corpus c.tsv --vocab 5 --objective ar --context all --max-length 3 --stride 1 -o small &&
        refuses 3 "vocabularies" "$COSPEC" angles a small -k 2
}

# Two components: sigma_1 = sigma_2 = 1, so that one direction is not determined, two are.
test_angles_say_where_the_subspace_is_open() {
    i=0; while [ $i -lt 6 ]; do printf 'a b a b b\nc d c d d\n'; i=$((i + 1)); done > two.txt
    exits 0 "$COSPEC" cooc --corpus two.txt --objective ar --context nearest:1 -o m && exits 0 "$COSPEC" angles m m -k 1 --json || return 1
    [ "$(grep -c 'm: sigma_1 - sigma_2 is .* the subspace is not determined' err)" = 2 ] || { fail "-k 1: $(cat err)"; return 1; }
    tr -d ' \n' < out | sed -n 's/.*"gap":\[\([^]]*\)\],"gap_error":\[\([^]]*\)\].*/\1,\2/p' |
        awk -F, '{ ok = NF == 4 && $1 <= $3 && $2 <= $4 && $3 < 1e-9 } END { exit !ok }' || { fail "gap: $(cat out)"; return 1; }
    exits 0 "$COSPEC" angles m m -k 2 --json && ! grep -q determined err || { fail "-k 2: ${why:-$(cat err)}"; return 1; }
    tr -d ' \n' < out | sed -n 's/.*"gap":\[\([^]]*\)\],"gap_error":\[\([^]]*\)\].*/\1,\2/p' |
        awk -F, '{ ok = NF == 4 && $1 > 0.01 && $1 > $3 && $2 > $4 } END { exit !ok }' || fail "gap: $(cat out)"
}

# Options that nothing would use.
test_what_would_be_ignored_is_refused() {
    built ar m "" || return 1
    refuses 2 "--dimensions goes with --neighbours" "$COSPEC" inspect m --vector 1 --dimensions 3 &&
        refuses 2 "--tol goes with --vector or --neighbours" "$COSPEC" inspect m --row 1 --tol 1e-9 &&
        refuses 2 "--certify goes with --vector or --neighbours" "$COSPEC" inspect m --certify probe &&
        refuses 2 "--max-iterations: --solver lapack does not iterate" "$COSPEC" angles m m -k 1 --solver lapack --max-iterations 9 &&
        refuses 2 "--solver goes with -k" "$COSPEC" density m --solver block &&
        exits 0 "$COSPEC" density m -k 2 --solver block && exits 0 "$COSPEC" inspect m --neighbours cat --dimensions 20 --tol 1e-9
}

# 676 words at random make one component that goes to ARPACK, which one iteration does not serve.
test_what_did_not_converge_is_not_shown() {
    awk 'BEGIN { srand(3); for (d = 0; d < 300; ++d) { printf "l"; printf "\t"
        for (i = 0; i < 40; ++i) { w = int(rand() * 676); printf "w%c%c ", 97 + int(w / 26), 97 + w % 26 }; print "" } }' > c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o m || return 1
    early="--solver arpack --max-iterations 1"
    refuses 4 "did not converge" "$COSPEC" angles m m -k 40 $early &&
        refuses 4 "did not converge" "$COSPEC" inspect m --vector 40 $early &&
        refuses 4 "did not converge" "$COSPEC" inspect m --neighbours wah --dimensions 40 $early &&
        exits 0 "$COSPEC" inspect m --vector 3 --solver arpack
}

test_tradeoff() {
    exits 0 "$COSPEC" tradeoff --length 128 --compare offset-ar:offset-weights=power:1 --csv &&
        near "$(awk -F, '$1 == "prefix" { print $NF }' out)" 2.58 0.005
}

test_plot() {
    exits 0 "$COSPEC" toy --objective ar --classes 2 --length 4 --tokens 2 -o t &&
        exits 0 "$COSPEC" plot toy-spectra ar,none=t/toy.csv -o f && [ -s f/toy-spectra.svg ] && [ -s f/toy-spectra.png ] && [ -s f/toy-spectra.pdf ] &&
        grep -q '^ar none,' f/toy-spectra.csv && (cd f && rm toy-spectra.svg && gnuplot toy-spectra.gp && [ -s toy-spectra.svg ]) || { fail "$(cat err)"; return 1; }
    refuses 2 "no figure no-such; there are: toy-spectra, " "$COSPEC" plot no-such t/toy.csv -o g && refuses 2 "colour" "$COSPEC" plot toy-spectra t/toy.csv --where colour:red -o g &&
        refuses 2 "exists" "$COSPEC" plot toy-spectra t/toy.csv -o f
}

# The list of figures is the folder's.
test_figures_are_listed() {
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd)
    [ -d "$root/plots" ] || { skip figures_are_listed "no plots folder beside the program"; return 0; }
    exits 2 "$COSPEC" plot style x.csv -o f || return 1
    sed -n 's/.*there are: //p' err | tr -d ' ' | tr , '\n' | sort > listed
    (cd "$root/plots" && ls ./*.gp) | sed 's|^\./||; s/\.gp$//; /^style$/d' | sort > scripts
    [ -s scripts ] && cmp -s listed scripts || fail "$(diff listed scripts | tr '\n' ' ')"
}

# A study of three steps: report, resume, interruption of nothing, errors with their place.
test_reproduce() {
    printf '# a study\nwhole: verify 3.1\n\nt: toy --objective ar --classes 2 --length 4 --tokens 2\nf: plot toy-spectra ar=@t/toy.csv\n' > s.steps
    printf '<p>{{version}} {{command whole}} {{statements whole 3.1}} {{table t/toy.csv columns=index,sigma}} {{value t/toy.csv sigma where=index:1}} {{figure f toy-spectra A caption}} {{steps}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.steps --template t.html -o r && [ "$(cat out)" = r/report.html ] &&
        grep -q 'data:image/svg+xml;base64,' r/report.html && grep -q 'class="v PASS"' r/report.html && ! grep -q '{{' r/report.html || { fail "$(cat err)"; return 1; }
    before=$(stat -c %Y.%i r/t/step.json)
    exits 0 "$COSPEC" reproduce --steps s.steps --template t.html -o r --resume && [ "$(stat -c %Y.%i r/t/step.json)" = "$before" ] &&
        refuses 2 "exists" "$COSPEC" reproduce --steps s.steps --template t.html -o r || { fail "resume: $(cat err)"; return 1; }
    printf 'a: toy --objective nonsense\n' > bad.steps
    exits 3 "$COSPEC" reproduce --steps bad.steps --template t.html -o b && says nonsense || return 1
    printf 'a: toy --objective ar\na: toy\n' > twice.steps
    exits 3 "$COSPEC" reproduce --steps twice.steps --template t.html -o b && says twice.steps:2 || return 1
    for o in '-o x' '-ox' '--output x' '--output=x'; do
        printf 'a: toy --objective ar %s\n' "$o" > own.steps
        refuses 3 "own.steps:1: step a: leave ${o% x} out, -o @a is added to the step" "$COSPEC" reproduce --steps own.steps --template t.html -o b || return 1
    done
    printf 'line\n{{value t/toy.csv no_column}}\n' > bad.html
    exits 3 "$COSPEC" reproduce --steps s.steps --template bad.html -o r --force && says bad.html:2
}

# A study of two scales, and claims held against it: all three verdicts, and errors with their place.
test_reproduce_scales_and_claims() {
    printf '$scale = small | cpu\n$length = 3 | 4\nwhole: verify 3.1\nar: toy --objective ar --classes 2 --length $length --tokens 2\nar-3: toy --objective ar --classes 3 --length $length --tokens 2\n' > s.steps
    printf '<p>{{scale}} {{text length $length}} {{claims}}\n' > t.html
    side='left ones of ar | ar/toy.csv multiplicity where=index:1'
    printf '# all verdicts\nclaim a\nsource S\nsays more than 5\n%s exact\nwant >\nright 5\nscope exact\n\nclaim b\nsource S\nsays less than 5\n%s exact\nwant <\nright 5\nscope exact\nnot-at small\n' "$side" "$side" > c.claims
    printf 'claim wide\nsource S\nsays 6 within 1.96 of 5\n%s se=sigma\nwant >\nright 5\nscope -\nclaim printed\nsource S\nsays 3.1 as printed\nstatement whole 3.1 printed\nscope -\n\nclaim seeds\nsource S\nsays more than 5, seeds 1 apart\n%s exact\nwant >\nright 5\nscope -\nruns two sizes | ar/toy.csv ar-3/toy.csv multiplicity where=index:1\n' "$side" "$side" >> c.claims
    exits 0 "$COSPEC" reproduce --steps s.steps --template t.html --claims c.claims -o r && grep -q '<p>cpu length 4 <table' r/report.html &&
        [ "$(awk -F, 'NR > 1 { printf "%s:%s;", $1, $(NF - 2) }' r/claims.csv)" = 'a:agree;b:disagree;wide:cannot tell;printed:disagree;seeds:cannot tell;' ] && grep -q '^seeds,.*,2\.12132[0-9]*,1,2\.12132[0-9]*,12\.7062[0-9]*,cannot tell' r/claims.csv || { fail "$(cat err r/claims.csv)"; return 1; }
    exits 0 "$COSPEC" reproduce --steps s.steps --template t.html --claims c.claims --scale small -o small && grep -q '^a,S,.*,4,0,>,5,5,0,,-1,0,1.959963984540054,disagree' small/claims.csv && grep -q '^b,S,.*cannot tell,this scale is too small' small/claims.csv || { fail "$(cat small/claims.csv)"; return 1; }
    cp c.claims good && again='reproduce --steps s.steps --template t.html --claims c.claims -o r --resume'
    # what a claim needs (its two sides agree): met, not by the sign, not beyond the error, a second one not; the reason in words
    ones="${side#left }" three='three | ar-3/toy.csv multiplicity exact where=index:1'
    plain=$(printf 'claim a\nsource S\nsays more than 5\n%s exact\nwant >\nright 5\nscope -\n' "$side")
    for case in "agree,the difference|$ones exact > 5" "agree,the difference|$ones exact < 7" "cannot tell,ones of ar (6) is not above 6|$ones exact > 6" "cannot tell,ones of ar (6) is not below 6|$ones exact < 6" \
        "cannot tell,ones of ar (6) is not above 5|$ones se=sigma > 5" "cannot tell,three ([0-9]*) is not below ones of ar (6)|$three < $ones exact"; do
        { echo "$plain"; echo "needs $ones exact > 1"; echo "needs ${case#*|}"; } > c.claims
        exits 0 "$COSPEC" $again && grep -q ",${case%%|*}" r/claims.csv || { fail "$case: $(cat err r/claims.csv)"; return 1; }
    done
    { echo "$plain"; echo "needs $side"; } > c.claims && refuses 3 "needs: want SIDE > SIDE" "$COSPEC" $again || return 1
    refuses 2 "no scale large; there are: small | cpu" "$COSPEC" reproduce --steps s.steps --template t.html --scale large -o x &&
        sed 's/index:1/index:99/' good > c.claims && refuses 3 "claim a: r/ar/toy.csv: no row that fits" "$COSPEC" $again &&
        sed 's/^want >/want =/' good > c.claims && refuses 3 "c.claims:9: claim a: want > or <" "$COSPEC" $again &&
        sed 's/^scope/scoop/' good > c.claims && refuses 3 'c.claims:8: unknown key "scoop"' "$COSPEC" $again &&
        printf 'a: toy --length $nothing\n' > bad.steps && refuses 3 'bad.steps:1: no variable $nothing' "$COSPEC" reproduce --steps bad.steps --template t.html -o x &&
        printf '$scale = a | cpu | c\n$x = 1 | 2\n' > bad.steps && refuses 3 'bad.steps:2: $x has 2 values for 3 scales' "$COSPEC" reproduce --steps bad.steps --template t.html -o x &&
        printf 'a: toy --objective ar\n' > plain.steps && refuses 2 "has no scales" "$COSPEC" reproduce --steps plain.steps --template t.html --scale cpu -o x
}

for name in connectivity_agrees_with_svd cheeger_bounds_hold connectivity_bad_input connectivity_resumes inspect angles angles_say_where_the_subspace_is_open what_would_be_ignored_is_refused what_did_not_converge_is_not_shown tradeoff plot figures_are_listed reproduce reproduce_scales_and_claims; do check "$name"; done
