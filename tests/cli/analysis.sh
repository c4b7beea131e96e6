# connectivity, inspect, angles, tradeoff, plot: end to end on a small corpus.
. tests/cli/lib.sh

# value SERIES POSITION METRIC FILE: from connectivity.csv (definitions hold commas, so count columns from the end).
value() { awk -F, -v s="$1" -v p="$2" -v m="$3" '$1 == s && $2 == p && $4 == m { print $(NF - 6); exit }' "$4"; }

built() { small_corpus c.tsv && exits 0 "$COSPEC" cooc --corpus c.tsv --objective "$1" --context all --max-length 3 --stride 1 -o "$2" $3; }

# The sums of connectivity are those of svd on the stored matrix: two commands, one number.
test_connectivity_agrees_with_svd() {
    built masked m "--unmasked 1" &&
        exits 0 "$COSPEC" connectivity --corpus c.tsv --context all --max-length 3 --stride 1 --compare masked:unmasked=1 --jackknife 4 -k 5 -o c &&
        exits 0 "$COSPEC" svd m -k all --json && cp out svd.json || return 1
    near "$(value "masked(unmasked=1)" blind sum_sigma2 c/connectivity.csv)" "$(number sum_sigma2 svd.json)" 1e-9 &&
        near "$(value "masked(unmasked=1)" blind sum_sigma4 c/connectivity.csv)" "$(number sum_sigma4 svd.json)" 1e-9 &&
        [ "$(value "masked(unmasked=1)" blind components c/connectivity.csv)" = "$(number components svd.json)" ] &&
        grep -q '^masked(unmasked=1) blind,blind,1,1,' c/spectrum.csv || fail "spectrum.csv: $(head -3 c/spectrum.csv)"
}

# The context is named as the store names it, whatever was typed; a matrix from elsewhere has none.
test_connectivity_names_the_context() {
    small_corpus c.tsv && exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context closest:2 -o m &&
        exits 0 "$COSPEC" connectivity m -k 2 --csv && [ "$(sed -n 2p out | cut -d, -f1-3)" = m,given,nearest:2 ] &&
        exits 0 "$COSPEC" connectivity --corpus c.tsv --context closest:2 --compare ar --jackknife 0 -k 2 --csv &&
        [ "$(sed -n 2p out | cut -d, -f1-3)" = ar,given,nearest:2 ] &&
        exits 0 "$COSPEC" connectivity m/matrix.npz -k 2 --csv && [ "$(sed -n 2p out | cut -d, -f1-3)" = m/matrix.npz,, ] || fail "${why:-$(sed -n 2p out)}"
}

test_cheeger_bounds_hold() {
    built ar m "" && exits 0 "$COSPEC" connectivity m -o c &&
        for bound in cheeger_upper sweep_cut; do between "$(cell c/connectivity.csv value ,cheeger_lower,)" "$(cell c/connectivity.csv value ,sweep_cut,)" "$(cell c/connectivity.csv value ",$bound,")" || return 1; done
}

# After the matrix of the corpus come the estimates of its language, a null and smaller corpora, by name.
test_connectivity_estimates() {
    small_corpus c.tsv
    set -- --corpus c.tsv --context all --max-length 3 --stride 1 --jackknife 4 -k 3
    exits 0 "$COSPEC" connectivity "$@" --compare ar --null 3 --curve 1 --csv && cp out rows.csv || return 1
    [ "$(sed -n 1p rows.csv)" = series,target_position,context,metric,estimate,definition,note,value,se,low,high,documents,blocks,seed ] || { fail "$(sed -n 1p rows.csv)"; return 1; }
    for series in ar "ar shuffled"; do
        for estimate in plug-in cross-fit distinct-document; do
            for metric in sum_sigma2 sum_sigma4; do
                grep -q "^$series,given,all,$metric,$estimate," rows.csv || { fail "no $metric of $series, $estimate"; return 1; }
            done
        done
        grep -q "^$series,blind,all,mass_seen,distinct-document," rows.csv || { fail "no mass_seen of $series"; return 1; }
    done
    for row in sigma_8,cross-fit tail_8,distinct-document tail_1,plug-in sum_sigma4_extrapolated,distinct-document; do
        grep -q "^ar,blind,all,$row," rows.csv || { fail "no $row"; return 1; }
    done
    [ "$(grep -c '^ar,blind,all,sum_sigma4,distinct-document,' rows.csv)" = 2 ] || { fail "no smaller corpus"; return 1; }
    "$COSPEC" connectivity "$@" --compare ar --null 3 --curve 1 --csv --threads 3 > again.csv 2> err && cmp -s rows.csv again.csv || { fail "threads change $(diff rows.csv again.csv | head -3)"; return 1; }
    exits 0 "$COSPEC" connectivity "$@" --compare ar --json && grep -q '"rows": \[' out && grep -q '"estimate": "distinct-document"' out || return 1
    # no interval of a share or of a sigma leaves [0, 1]: uncut, those of cross-fit sigma_1 and mass_seen_halves would
    awk -F, '$4 ~ /^(mass_seen|sigma_)/ && $1 == "ar" && $(NF - 3) != "" { n += $(NF - 3) == 1; bad = bad || $(NF - 4) < 0 || $(NF - 3) > 1 } END { exit bad || n < 2 }' rows.csv || { fail "out of range: $(grep -E ',(mass_seen|sigma_)' rows.csv)"; return 1; }
    # blocks in addition to the table, whose jackknife is its error; contexts held back; verdicts
    exits 0 "$COSPEC" connectivity "$@" --compare ar --compare masked:unmasked=1 --null 3 --curve 1 --hold-back -o e || return 1
    for row in 'ar,blind,all,sum_sigma4,plug-in' 'ar,given,all,sum_sigma4_corrected,distinct-document' 'ar,blind,all,sum_sigma2_drift_4,distinct-document'; do
        near "$(sed -n "s/^\($row,[0-9]*\),/\1,/p;1p" e/connectivity-blocks.csv > few-blocks.csv && awk -F, '{ print $6 }' few-blocks.csv | sort -n | tail -1 | { read n; blocks few value "^$row,$n,"; })" \
            "$(awk -F, -v row="$row" 'index($0, row) == 1 { print $(NF - 5) }' e/connectivity.csv | head -1)" 1e-9 || return 1
    done
    [ "$(head -1 e/verdicts.csv)" = series,target_position,against,against_position,of,ratio,low,high,verdict,reason,withheld ] &&
        [ "$(wc -l < e/verdicts.csv)" = 9 ] && grep -q '^ar,blind,ar,given,corpus,' e/verdicts.csv && grep -q '^masked(unmasked=1),given,ar,given,language,' e/verdicts.csv &&
        ! grep -q 'no curve' e/verdicts.csv && [ "$(awk -F, 'NR > 1 { print $NF }' e/connectivity-blocks.csv | sort -u | wc -l)" = 1 ] || { fail "$(cat e/verdicts.csv)"; return 1; }
    # the text leaves out columns that are empty in the rows that it shows
    exits 0 "$COSPEC" connectivity "$@" --compare ar --metric sum_sigma4_corrected && sed -n 's/^series .*/&/p' out | grep -q ' low ' && ! grep -q '^series.* note ' out || { fail "$(cat out)"; return 1; }
    # of contexts that are all different there is the matrix alone
    exits 0 "$COSPEC" connectivity --corpus c.tsv --context unique --max-length 3 --stride 1 --jackknife 3 -k 2 --compare ar --csv && ! grep -q distinct-document out && grep -q ',sum_sigma4,plug-in,' out || return 1
    refuses 2 "--null needs --corpus; a matrix that is already" "$COSPEC" connectivity d --null 2 && refuses 2 "--curve is for co-occurrence matrices" "$COSPEC" connectivity d --pairs 3 --curve 2 &&
        refuses 2 "1 jackknife block:" "$COSPEC" connectivity --corpus c.tsv --compare ar --jackknife 1
}

# connectivity reports the same of a stored matrix as of its corpus; the density counts the same eigenvalues.
test_language_of_a_folder() {
    built ar m "" && exits 0 "$COSPEC" connectivity --corpus c.tsv --context all --max-length 3 --stride 1 --compare ar --jackknife 4 -k 3 -o c &&
        exits 0 "$COSPEC" svd m -k 3 --estimate distinct-document --jackknife 4 --vectors -o s && cp out text || return 1
    of() { awk -F, -v m="$1" -v c="$2" '$1 == "ar" && $2 == "blind" && $4 == m && $5 == "distinct-document" { print $(NF - c); exit }' c/connectivity.csv; }
    near "$(sed -n 3p s/svd.csv | cut -d, -f2)" "$(of sigma_2 6)" 1e-7 && near "$(sed -n 2p s/svd.csv | cut -d, -f10)" "$(of tail_1 6)" 1e-7 &&
        near "$(sed -n 2p s/svd.csv | cut -d, -f11)" "$(of tail_1 4)" 1e-5 && [ -s s/v.npy ] && [ ! -f s/u.npy ] || { fail "${why:-$(cat s/svd.csv)}"; return 1; }
    # sigma has its own interval, the roots of that of lambda, cut to [0, 1]
    awk -F, 'function root(x) { x = x < 0 ? 0 : x > 1 ? 1 : x; return sqrt(x) } NR == 1 { head = $2 $3 $4 $7 $8 } NR > 1 { bad = bad || ($3 - root($7)) ^ 2 > 1e-24 || ($4 - root($8)) ^ 2 > 1e-24 }
        END { exit bad || NR != 4 || head != "sigmasigma_lowsigma_highlambda_lowlambda_high" }' s/svd.csv || { fail "$(cat s/svd.csv)"; return 1; }
    exits 0 "$COSPEC" density m -k 3 --estimate distinct-document --jackknife 0 --csv && [ "$(head -1 out)" = lambda,density,density_low,density_high,above,above_low,above_high ] || { fail "${why:-$(head -1 out)}"; return 1; }
    # below everything are all eigenvalues, one a word: an estimate, for what is left of a vector of signs without the known directions has the right square on average
    words=$(wc -l < m/vocab.txt) above=$(cell out above 1)
    holds "$(cell out above_low 1) <= $words && $words <= $(cell out above_high 1) + 1e-6 && $above > .95 * $words && $above < 1.05 * $words" || return 1
    exits 0 "$COSPEC" svd m -k 3 --estimate cross-fit --jackknife 4 -o q && near "$(sed -n 3p q/svd.csv | cut -d, -f2)" "$(awk -F, '$1 == "ar" && $2 == "blind" && $4 == "sigma_2" && $5 == "cross-fit" { print $(NF - 6); exit }' c/connectivity.csv)" 1e-7 && grep -q '"estimate": "cross-fit"' q/svd.json || { fail "${why:-$(cat q/svd.csv)}"; return 1; }
    refuses 2 "--solver cannot be combined with --estimate" "$COSPEC" svd m --estimate distinct-document --solver lapack &&
        refuses 2 "--jackknife needs --estimate cross-fit or distinct-document" "$COSPEC" svd m --jackknife 3 &&
        refuses 3 "m/matrix.npz" "$COSPEC" density m/matrix.npz --estimate distinct-document
}

# However an objective was typed, JSON has its one form, and a run says what it was made of.
test_objectives_have_one_form() {
    small_corpus c.tsv
    for command in "tradeoff --length 4" "connectivity --corpus c.tsv"; do
        refuses 2 "--compare ar and --compare gpt are the same objective, ar" "$COSPEC" $command --compare ar --compare gpt &&
            refuses 2 "are the same objective, masked(unmasked=2)" "$COSPEC" $command --compare masked:unmasked=2 --compare 'mlm(unmasked=2,event-weight=token)' || return 1
    done
    exits 0 "$COSPEC" kernel ' mlm( mask-ratio = 0.5 )' --length 4 --json && grep -q '"objective": "masked(mask-ratio=0.5)"' out &&
        exits 0 "$COSPEC" tradeoff --length 4 --compare gpt --json && grep -q '"objective": "ar"' out && grep -q '"objective": "masked(unmasked=1)"' out &&
        exits 0 "$COSPEC" connectivity --corpus c.tsv --context window:2 --compare gpt --jackknife 2 -k 3 --seed 5 --json || return 1
    tr -d ' \n' < out > flat
    grep -q '^{"corpus":"c.tsv","context":"each:2","k":3,"blocks":2,"seed":5,"matrices":\[{"series":"ar","objective":"ar","context":"each:2","target_position":"blind",' flat || { fail "$(head -c 200 flat)"; return 1; }
    built ar m "" && exits 0 "$COSPEC" connectivity m -k 2 --json && grep -q '"objective": "ar"' out && ! grep -q '"corpus"' out || fail "${why:-$(head -c 300 out)}"
}

test_connectivity_bad_input() {
    small_corpus c.tsv
    refuses 2 "either matrices or --corpus" "$COSPEC" connectivity &&
        refuses 2 "unmaked" "$COSPEC" connectivity --corpus c.tsv --compare masked:unmaked=1 &&
        refuses 3 "length >= 42" "$COSPEC" connectivity --corpus c.tsv --max-length 3 --stride 1 --compare masked:unmasked=41 &&
        refuses 2 "unmaked" "$COSPEC" connectivity --corpus gone.tsv --compare ar --compare masked:unmaked=1 && ! grep -q "target position" err &&
        refuses 3 "masked(unmasked=41): " "$COSPEC" connectivity --corpus c.tsv --max-length 3 --stride 1 --compare ar --compare masked:unmasked=41 && says "length >= 42" && ! grep -q "target position" err || return 1
    i=0; while [ $i -lt 40 ]; do echo "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h"; i=$((i + 1)); done > long.txt
    refuses 2 "masked(unmasked=15): all under masked at length 32 has" "$COSPEC" connectivity --corpus long.txt --context all --max-length 32 --stride 1 --compare ar --compare masked:unmasked=15 && ! grep -q "target position" err &&
        refuses 3 "nowhere" "$COSPEC" connectivity nowhere
}

# Ctrl-C says so where nothing can be kept.
test_connectivity_interrupted_without_a_folder() {
    small_corpus c.tsv
    "$COSPEC" connectivity --corpus c.tsv --context all --max-length 8 --stride 1 --jackknife 80 --compare ar > out 2> err & pid=$!
    n=0
    until grep -qs 'target position' err || [ $n -gt 500 ]; do sleep 0.01; n=$((n + 1)); done
    kill -INT $pid 2> /dev/null
    wait $pid; code=$?
    [ $code = 130 ] && [ ! -s out ] && says "interrupted after 0 of 2 matrices; nothing is kept without -o DIR" || fail "exits with $code: $(cat err)"
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
    grep -q 'interrupted after [1-9][0-9]* of 14 matrices, kept in part/unfinished.json; run the same command with --resume to continue' err || { fail "$(cat err)"; return 1; }
    # kept records are of these data
    cp c.tsv same.tsv && sed 1d same.tsv > c.tsv
    refuses 2 "part/unfinished.json: matrix 1 was measured on other data" "$COSPEC" connectivity "$@" -o part --resume || return 1
    mv same.tsv c.tsv
    refuses 2 "part/unfinished.json belongs to a run with --compare" "$COSPEC" connectivity "$@" --compare diverse-ar:t=4 -o part --resume &&
        exits 0 "$COSPEC" connectivity "$@" -o part --resume && cmp -s whole/connectivity.csv part/connectivity.csv &&
        cmp -s whole/spectrum.csv part/spectrum.csv && [ ! -f part/unfinished.json ] || fail "resumed run differs: $(cat err)"
}

# Counts of columns a = (2, 1, 0), b = (1, 2, 0), c = (0, 1, 0), d = (0, 1, 1), e = (1, 0, 0); with all vectors of n*a and --power 1 cosines are theirs.
counted_words() {
    printf 'p a\np a\nq a\np b\nq b\nq b\nq c\nq d\nr d\np e\n' > w.txt
    exits 0 "$COSPEC" cooc --corpus w.txt --objective ar --context each:1:flat -o w
}
word_scores() { exits 0 "$COSPEC" inspect w --form 'n*a' --power 1 "$@" --csv; }

test_similarity_file() {
    counted_words || return 1
    printf 'Word 1,Word 2,Human (mean)\na,b,3\r\n# a comment\n\nA,C,1,9\nb,c,2\nb,a,3\np,a,5\n' > s.csv
    printf 'a  b  2\na c N 1\n c\tb\t2.5\n' > s.txt
    word_scores --similarity s.csv --similarity s.txt && sed -n 2p out > one && sed -n 3p out > two || return 1
    grep -q '^s.csv,,spearman,0.33333333333333.*,4,1$' one && near "$(cut -d, -f5 one)" -0.931166965574377 1e-12 && near "$(cut -d, -f6 one)" 0.982335785845726 1e-12 &&
        grep -q '^s.txt,,spearman,1,,,3,0$' two || { fail "${why:-$(cat out)}"; return 1; }
    # the rows are p, q and r
    word_scores --similarity s.txt --side contexts
    refuses 3 "none of its 3 pairs has vectors" "$COSPEC" inspect w --form 'n*a' --side contexts --similarity s.txt &&
        printf 'one two three\na b 1\na b high\n' > bad && refuses 3 "bad:3: expected two words and a score" "$COSPEC" inspect w --similarity bad &&
        printf 'a b\n' > bad && refuses 3 "bad:1: expected two words and a score" "$COSPEC" inspect w --similarity bad && : > bad &&
        refuses 3 "bad has no pairs" "$COSPEC" inspect w --similarity bad && refuses 3 "none: No such file" "$COSPEC" inspect w --similarity none &&
        refuses 3 "--similarity . is a directory" "$COSPEC" inspect w --similarity . &&
        refuses 2 "--power needs --similarity or --analogies" "$COSPEC" inspect w --power 1 &&
        refuses 2 "--vector cannot be combined with --similarity" "$COSPEC" inspect w --similarity s.txt --vector 1
}

test_analogies_file() {
    counted_words || return 1
    printf ': first\na e b c\na e b d\n: the second\nA E B C\nzz a b c\n' > q.txt
    word_scores --analogies q.txt || return 1
    [ "$(grep -c . out)" = 7 ] && grep -q '^q.txt,first,3cosadd,0.5,0.09[0-9]*,0.90[0-9]*,2,0$' out && grep -q '^q.txt,the,3cosmul,1,0.20[0-9]*,1,1,1$' out &&
        grep '^q.txt,total,3cosadd,.*,3,1$' out > total && near "$(cut -d, -f4 total)" 0.666666666666667 1e-12 && near "$(cut -d, -f5 total)" 0.207659600802048 1e-12 || { fail "${why:-$(cat out)}"; return 1; }
    printf ': s\na b c\n' > bad && refuses 3 "bad:2: expected four words, or ': section'" "$COSPEC" inspect w --analogies bad &&
        printf 'x y z w\nx y w z\n' > bad && refuses 3 "none of its 2 questions has vectors" "$COSPEC" inspect w --analogies bad || return 1
    exits 0 "$COSPEC" cooc --corpus w.txt --objective ar --context nearest:1 -o n && refuses 3 "vectors of contexts need rows that are tokens" "$COSPEC" inspect n --side contexts --analogies q.txt
}

test_inspect() {
    built ar m "" && exits 0 "$COSPEC" inspect m --csv && grep -q '^heaviest row,1,' out &&
        exits 0 "$COSPEC" inspect m --neighbours cat --dimensions 20 --csv && sed -n 2p out | grep -q '^neighbour,0,[0-9]*,cat,' &&
        exits 0 "$COSPEC" inspect m --row 0 --vector 1 --json && grep -q '"target of the row"' out || { fail "$(head -3 out)"; return 1; }
    refuses 2 "abc" "$COSPEC" inspect m --row abc && refuses 2 "99999" "$COSPEC" inspect m --row 99999 &&
        refuses 3 "aardvark" "$COSPEC" inspect m --neighbours aardvark
}

# A = (1 2; 2 1): sigma 1 with the constant vector, and 1/3 with (1, -1). Only the second distinguishes a from b.
test_neighbours_leave_out_the_ones() {
    printf 'x\ta b a a b b a\n' > two.tsv
    exits 0 "$COSPEC" cooc --corpus two.tsv --objective ar --context nearest:1 --max-length 7 -o two &&
        exits 0 "$COSPEC" inspect two --neighbours a --csv && near "$(awk -F, '$4 == "b" { print $5 }' out)" -1 1e-12 || { fail "${why:-$(cat out)}"; return 1; }
    refuses 2 "after 1 vector of sigma = 1 and --skip 3 the matrix" "$COSPEC" inspect two --neighbours a --skip 3 &&
        exits 0 "$COSPEC" inspect two --neighbours a --dimensions 9 && says "--dimensions 9: after 1 vector" &&
        refuses 2 "--skip needs --neighbours" "$COSPEC" inspect two --vector 1 --skip 1 || return 1
    # One dimension: the signs are those of the first vector behind what was left out, whatever --vector asks for.
    built ar m "" && exits 0 "$COSPEC" svd m -k 1 --json && ones=$(number multiplicity_of_one out) &&
        exits 0 "$COSPEC" inspect m --vector $((ones + 2)) --json && word=$(sed -n '/+ token/,/"text"/s/.*"text": "\(.*\)",/\1/p' out | head -1) &&
        exits 0 "$COSPEC" inspect m --vector $((ones + 3)) --neighbours "$word" --skip 1 --dimensions 1 --top 100 --csv && grep '^neighbour' out > n &&
        awk -F, '$5 < 0 ? $5 + 1 > 1e-12 : 1 - $5 > 1e-12 { exit 1 }' n || { fail "${why:-$(head -5 n)}"; return 1; }
}

# A subspace makes no angle with itself.
test_angles() {
    built ar a "" && built masked b "--unmasked 1" && exits 0 "$COSPEC" angles a a -k 3 --json && near "$(number mean_squared_cosine out)" 1 1e-12 &&
        exits 0 "$COSPEC" angles a b -k 3 --json && refuses 2 "5000" "$COSPEC" angles a b -k 5000 || return 1
    exits 0 "$COSPEC" cooc --corpus c.tsv --vocab 5 --objective ar --context all --max-length 3 --stride 1 -o small &&
        refuses 3 "vocabularies" "$COSPEC" angles a small -k 2
}

# Fewer singular vectors than the default of -k, in one matrix of two and below the smaller side of the other.
test_angles_of_small_matrices() {
    printf 'a\tx x y\nb\ty z z\na\tx y x\nb\tz y z\na\tx\n' > tiny.tsv
    for o in ar masked; do
        exits 0 "$COSPEC" cooc --corpus tiny.tsv --objective $o -o $o && exits 0 "$COSPEC" svd $o -k all --json && eval "$o=\$(number rank out)" || return 1
    done
    least=$(printf '%d\n' "$ar" "$masked" | sort -n | head -1)
    exits 0 "$COSPEC" angles ar masked --json || return 1
    [ "$least" -ge 2 ] && [ "$(number k out)" = "$least" ] || { fail "k $(number k out) of $ar and $masked"; return 1; }
    refuses 3 "exceeds the rank $least; lower it" "$COSPEC" angles ar masked -k $((least + 1))
}

# Two components: sigma_1 = sigma_2 = 1, so that one direction is not determined, two are.
test_angles_say_where_the_subspace_is_open() {
    i=0; while [ $i -lt 6 ]; do printf 'a b a b b\nc d c d d\n'; i=$((i + 1)); done > two.txt
    exits 0 "$COSPEC" cooc --corpus two.txt --objective ar --context nearest:1 -o m && exits 0 "$COSPEC" angles m m -k 1 --json || return 1
    [ "$(grep -c 'm: sigma_1 - sigma_2 is .* the subspace is not determined' err)" = 2 ] || { fail "-k 1: $(cat err)"; return 1; }
    gaps() { tr -d ' \n' < out | sed -n 's/.*"gap":\[\([^]]*\),\([^]]*\)\],"gap_error":\[\([^]]*\),\([^]]*\)\].*/a=\1 b=\2 a_error=\3 b_error=\4/p'; }
    eval "$(gaps)" && holds "$a <= $a_error && $b <= $b_error && $a_error < 1e-9" || return 1
    exits 0 "$COSPEC" angles m m -k 2 --json && ! grep -q determined err || { fail "-k 2: ${why:-$(cat err)}"; return 1; }
    eval "$(gaps)" && holds "$a > 0.01 && $a > $a_error && $b > $b_error"
}

# Options that nothing would use.
test_what_would_be_ignored_is_refused() {
    built ar m "" || return 1
    refuses 2 "--dimensions needs --neighbours" "$COSPEC" inspect m --vector 1 --dimensions 3 &&
        refuses 2 "--tol needs --vector, --neighbours, --html, --similarity or --analogies" "$COSPEC" inspect m --row 1 --tol 1e-9 &&
        refuses 2 "--certify needs --vector, --neighbours" "$COSPEC" inspect m --certify probe &&
        refuses 2 "--max-iterations does not apply to --solver lapack" "$COSPEC" angles m m -k 1 --solver lapack --max-iterations 9 &&
        refuses 2 "--solver needs -k" "$COSPEC" density m --solver block &&
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

# Names of columns and series are data: gnuplot runs nothing of them, and reads none as a comment, a macro or a number.
test_plot_takes_names_literally() {
    exits 0 "$COSPEC" toy --objective ar --classes 2 --length 4 --tokens 2 -o t || return 1
    sed '1s/$/,`touch ran`/; 2,$s/$/,1/' t/toy.csv > column.csv
    exits 0 "$COSPEC" plot toy-spectra column.csv -o f || return 1
    refuses 3 "the table has no rows that match" "$COSPEC" plot toy-spectra t/toy.csv --where 'sigma:`touch ran`' -o g || return 1
    printf 'tokens,loss,eval_loss\n1000000,5,5.1\n2000000,4,4.2\n' > a.csv
    for name in '#1' '#' '@x' '"@q' '""#q' '"+q' '=1+1' '`touch ran`' '" . system("touch ran") . "' ' x ' "it's" '%d' 'a\b' 'a\\b' '\134' 'b\' nan; do
        exits 0 "$COSPEC" plot training "$name=a.csv" b=a.csv -o curves --force || return 1
        shown=$(printf %s "$name" | sed "s/^ *//; s/ *\$//; y/\"/'/")
        [ ! -s err ] && grep -qF ">$shown</text>" curves/training.svg || { fail "$name: $(cat err)"; return 1; }
        [ "$(grep -c '<path' curves/training.svg)" = "${curves:=$(grep -c '<path' curves/training.svg)}" ] || { fail "$name: a curve is missing"; return 1; }
    done
    exits 0 "$COSPEC" plot training NaN=a.csv b=a.csv -o curves --force && grep -q ">NaN[^ -~]*</text>" curves/training.svg && [ "$(grep -c '<path' curves/training.svg)" = "$curves" ] || { fail "${why:-NaN: $(cat err)}"; return 1; }
    [ -z "$(find . -name ran)" ] || fail "it ran"
}

# gnuplot's exit code does not prove that there is a figure.
test_plot_checks_the_figure() {
    printf 'tokens,loss,eval_loss\n1000000,5,5.1\n2000000,4,4.2\n' > a.csv
    mkdir bin good && real=$(command -v gnuplot) && exits 0 "$COSPEC" plot training a.csv -o good/f || return 1
    for spoil in true "svg head -c 2000" "svg sed 5,9d" "svg tail -c +4000" "png head -c 4000" "pdf tail -c +4000"; do
        printf '#!/bin/sh\n[ "%s" = true ] && exit 0\n"%s" "$@"\nspoil() { ending=$1; shift; for f in *."$ending".*.partial; do "$@" < "$f" > spoilt && cat spoilt > "$f" && rm spoilt; done; }\nspoil %s\n' "$spoil" "$real" "$spoil" > bin/gnuplot && chmod +x bin/gnuplot
        PATH=$PWD/bin:$PATH exits 3 "$COSPEC" plot training a.csv -o f || return 1
        grep -q "gnuplot wrote no complete" err && [ ! -e f ] || { fail "$spoil: $(cat err)"; return 1; }
        PATH=$PWD/bin:$PATH exits 3 "$COSPEC" plot training a.csv -o good/f --force || return 1
        tail -n 2 good/f/training.svg | grep -q "^</svg>" || { fail "$spoil: the earlier drawing is gone"; return 1; }
    done
}

test_plot() {
    exits 0 "$COSPEC" toy --objective ar --classes 2 --length 4 --tokens 2 -o t &&
        exits 0 "$COSPEC" plot toy-spectra ar,none=t/toy.csv -o f && [ -s f/toy-spectra.svg ] && [ -s f/toy-spectra.png ] && [ -s f/toy-spectra.pdf ] &&
        grep -q '^ar none,' f/toy-spectra.csv && (cd f && rm toy-spectra.svg && gnuplot toy-spectra.gp && [ -s toy-spectra.svg ]) || { fail "$(cat err)"; return 1; }
    printf 'a,b\n1,2\n' > other.csv
    # a legend has the objective in words, or the given text
    printf 'series,next_token_weight,tail\nar,1,9\ndiverse-ar(t=4),.3,4\n"masked(mask-ratio=0.15:0.3,event-weight=mask)",.1,1\nmine (own),.1,1\nmix:0.5*ar+0.5*masked(unmasked=2),.2,2\n' > o.csv
    exits 0 "$COSPEC" plot heavy-tails o.csv --label 'diverse-ar(t=4)=four,,at,most' -o words && [ "$(sed -n 's/^LABEL.*= //p' words/heavy-tails.gp | tr '\n' ' ')" = '"autoregressive" "four, at most" "masked, 15 to 30 %, event-weight mask" "mine (own)" "mix:0.5*ar+0.5*masked, 2 shown" ' ] || { fail "$(cat err; grep LABEL words/heavy-tails.gp)"; return 1; }
    # a label names an object or an outcome of correlate, and keeps its comma; the ends are named in the figure
    printf 'prediction,outcome,budget,object,x,y,y_sd\nk,probe,3,a.given,1,2,.1\nk,probe,3,b.blind,2,3,.1\nk,probe,3,c.given,3,1,.1\n' > pairs.csv
    exits 0 "$COSPEC" plot predicted pairs.csv --series prediction --where budget:3 --label a.given=masked,,half --label probe=accuracy -o ends && grep -q '>masked‚ half<' ends/predicted.svg && grep -q '>accuracy<' ends/predicted.svg || { fail "${why:-$(cat err ends/predicted.csv)}"; return 1; }
    printf 'series,index,sigma\nar,1,1\nar,2,much\n' > words.csv
    printf 'index,,sigma\n1,2,3\n' > unnamed.csv
    refuses 3 "unnamed.csv: column 2 has an empty name" "$COSPEC" plot spectra unnamed.csv -o g || return 1
    refuses 3 "words.csv: spectra draws column sigma, but 'much' in row 2 is not a number" "$COSPEC" plot spectra words.csv -o g && [ ! -e g/spectra.csv ] || { fail "${why:-files were left}"; return 1; }
    refuses 3 "spectra draws spectrum.csv of cospec connectivity, but the given tables have no column index" "$COSPEC" plot spectra other.csv -o g && [ ! -e g/spectra.csv ] || { fail "${why:-files were left}"; return 1; }
    refuses 2 "unknown figure no-such; available: toy-spectra," "$COSPEC" plot no-such t/toy.csv -o g && refuses 2 "--where: lenght:6: expected COLUMN:VALUE with a column of t/toy.csv; did you mean length?" "$COSPEC" plot toy-spectra t/toy.csv --where lenght:6 -o g &&
        refuses 2 "--where: length: expected COLUMN:VALUE" "$COSPEC" plot toy-spectra t/toy.csv --where length -o g &&
        refuses 3 "t/toy.csv: toy-spectra: the table has no rows that match --where" "$COSPEC" plot toy-spectra t/toy.csv --where index:-1 -o g &&
        refuses 2 "exists" "$COSPEC" plot toy-spectra t/toy.csv -o f
}

# The list of figures is the folder's.
test_figures_are_listed() {
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd)
    [ -d "$root/plots" ] || { skip figures_are_listed "no plots folder next to the program"; return 0; }
    exits 2 "$COSPEC" plot style x.csv -o f || return 1
    sed -n 's/.*available: //p' err | tr -d ' ' | tr , '\n' | sort > listed
    (cd "$root/plots" && ls ./*.gp) | sed 's|^\./||; s/\.gp$//; /^style$/d' | sort > scripts
    printf 'a,b\n' > x.csv && : > m.npz
    refuses 2 "(the figure comes first, then its tables)" "$COSPEC" plot ar=x.csv toy-spectra -o f && refuses 2 "m.npz: figures are drawn from tables (.csv)" "$COSPEC" plot toy-spectra m.npz -o f || return 1
    [ -s scripts ] && cmp -s listed scripts || fail "$(diff listed scripts | tr '\n' ' ')"
}

for name in connectivity_agrees_with_svd connectivity_estimates language_of_a_folder connectivity_names_the_context objectives_have_one_form cheeger_bounds_hold connectivity_bad_input connectivity_interrupted_without_a_folder connectivity_resumes inspect similarity_file analogies_file neighbours_leave_out_the_ones angles angles_of_small_matrices angles_say_where_the_subspace_is_open what_would_be_ignored_is_refused what_did_not_converge_is_not_shown tradeoff plot_takes_names_literally plot_checks_the_figure plot figures_are_listed; do check "$name"; done
