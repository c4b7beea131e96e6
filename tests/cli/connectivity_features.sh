# cospec connectivity --pairs: closed forms, comparison with true matrices, figures, bad input.
. tests/cli/lib.sh

# Two directions, three rows and two: 4 pairs of 10 are 1.
clusters() { f32 1 0  2 0  1 0  0 1  0 2 | npy two.npy '<f4' '(5, 2)'; }
identity() { f32 1 0 0 0  0 1 0 0  0 0 1 0  0 0 0 1 | npy eye.npy '<f4' '(4, 4)'; }

test_closed_forms() {
    clusters; identity
    exits 0 "$COSPEC" connectivity two.npy --pairs 100000 --json || return 1
    for k in n:5 d:2 pairs:10 all_pairs:10; do
        [ "$(number ${k%:*} out)" = ${k#*:} ] || { fail "$k: $(head -c 300 out)"; return 1; }
    done
    grep -q '"similarity": "cosine"' out && grep -q '"definition": "mean of the 10 cosines' out && says "takes all 10 pairs" || { fail "${why:-$(cat out)}"; return 1; }
    near "$(metric top_mean)" 0.4 1e-9 && near "$(metric mean)" 0.4 1e-9 || return 1
    exits 0 "$COSPEC" connectivity two.npy --pairs 5 --json && near "$(metric top_mean)" 0.8 1e-9 && near "$(metric top_least)" 0 1e-30 || return 1
    # Inner products with self-pairs: 4 4 2 2 2 1 1 1 1 and six zeros.
    exits 0 "$COSPEC" connectivity two.npy --pairs 5 --similarity inner --self --json && near "$(metric top_mean)" 2.8 1e-12 &&
        near "$(metric mean)" 1.2 1e-12 && [ "$(number all_pairs out)" = 15 ] || return 1
    exits 0 "$COSPEC" connectivity eye.npy --pairs 3 --json && near "$(metric top_mean)" 0 1e-12 && near "$(metric mean)" 0 1e-12 &&
        near "$(metric top_mean out se)" 0 1e-12 || return 1
    ! grep -q 'sum of squares' err || { fail "warns of a mean: $(cat err)"; return 1; }
    exits 0 "$COSPEC" connectivity eye.npy --pairs 3 --jackknife 0 --json && [ "$(metric mean out se)" = null ] || { fail "${why:-se $(metric mean out se)}"; return 1; }
    # Leaving out one row of four equal ones changes nothing; without their mean nothing is left.
    f32 1 2  1 2  1 2  1 2 | npy same.npy '<f4' '(4, 2)'
    exits 0 "$COSPEC" connectivity same.npy --pairs 2 --json && near "$(metric mean)" 1 1e-6 && near "$(metric mean out se)" 0 1e-6 &&
        says "same.npy: the mean of the rows has 100.0% of the sum of squares" && says "--center" || return 1
    exits 0 "$COSPEC" connectivity same.npy --pairs 2 --center --json && says "same.npy: 4 rows are 0" && ! grep -q 'has 100' err || fail "${why:-$(cat err)}"
}

test_tables() {
    clusters; identity
    exits 0 "$COSPEC" connectivity a=two.npy b=eye.npy --pairs 4 --features 4 -o d --json && [ "$(members '"series"' out)" = 2 ] || { fail "${why:-$(head -5 out)}"; return 1; }
    [ "$(head -1 d/features.csv)" = series,metric,surrogate,truth,target_position,definition,value,se,n,d,pairs,seed ] &&
        [ "$(wc -l < d/features.csv)" = 25 ] && [ "$(head -1 d/similarity.csv)" = series,similarity,rank,value ] && [ "$(grep -c '^b,' d/similarity.csv)" = 4 ] &&
        [ -f d/manifest.json ] || { fail "$(cat d/similarity.csv)"; return 1; }
    cp out first; exits 0 "$COSPEC" connectivity a=two.npy b=eye.npy --pairs 4 --features 4 -o d --resume --json && cmp -s out first || { fail "resume: ${why:-differs}"; return 1; }
    exits 0 "$COSPEC" connectivity a=two.npy b=eye.npy --pairs 4 --features 4 --jackknife 4 -o j && near "$(blocks j/features value '^a,top_mean,')" "$(awk -F, '$1 == "a" && $2 == "top_mean" { print $(NF - 4) }' j/features.csv)" 1e-9 || return 1
    refuses 2 "exists" "$COSPEC" connectivity a=two.npy --pairs 4 -o d || return 1
    exits 0 "$COSPEC" connectivity two.npy --pairs 4 --dry-run --json && grep -q '"flops"' out || return 1
    exits 0 "$COSPEC" plot similarity d/similarity.csv -o f && [ -s f/similarity.png ] && [ ! -s err ] || { fail "${why:-$(cat err)}"; return 1; }
    # The axis says what is drawn: of cosines their distance from 1.
    grep -q '>1 − cosine (log scale)<' f/similarity.svg &&
        exits 0 "$COSPEC" connectivity two.npy --pairs 4 --similarity inner -o inner && exits 0 "$COSPEC" plot similarity inner/similarity.csv -o g &&
        grep -q '>inner product<' g/similarity.svg || fail "${why:-the axis of the figure}"
}

# Without the second cluster, and groups as blocks.
test_rows() {
    clusters
    printf '3\n4\n' > drop.txt
    exits 0 "$COSPEC" connectivity two.npy --pairs 9 --drop-rows drop.txt --json && [ "$(number n out)" = 3 ] && near "$(metric mean)" 1 1e-6 || return 1
    i64() { for x in "$@"; do printf '%b\000\000\000\000\000\000\000' "\\$(printf %03o "$x")"; done; }
    i64 7 7 7 3 3 | npy g.npy '<i8' '(5,)'
    # Without a group all pairs of the other are 1, twice.
    exits 0 "$COSPEC" connectivity two.npy --pairs 4 --groups g.npy --json && [ "$(number blocks out)" = 2 ] && near "$(metric mean out se)" 0 1e-6 || return 1
    i64 7 7 7 7 7 | npy one.npy '<i8' '(5,)'
    refuses 3 "one block of the jackknife would contain all 5 rows" "$COSPEC" connectivity two.npy --pairs 4 --groups one.npy
}

# The command's own table as the truth: identical rows claim perfect connectivity, orthogonal ones none.
test_truth() {
    small_corpus c.tsv; identity
    f32 1 1 1 2  1 1 1 2  1 1 1 2  1 1 2 1 | npy alike.npy '<f4' '(4, 4)'
    exits 0 "$COSPEC" connectivity --corpus c.tsv --context all --max-length 3 --stride 1 --compare ar --compare masked:unmasked=1 --jackknife 4 -k 4 -o t || return 1
    better() { awk -F, -v p="$1" '$2 == p && $4 == "sum_sigma4" && $5 == "plug-in" { v[$1] = $(NF - 6) } END { print v["masked(unmasked=1)"] < v["ar"] }' t/connectivity.csv; }
    # blind: the masked matrix is better connected here, so features that claim so agree.
    [ "$(better blind)" = 1 ] || { fail "the corpus does not separate the two"; return 1; }
    exits 0 "$COSPEC" connectivity ar=eye.npy masked:unmasked=1=alike.npy nobody=eye.npy --pairs 4 --truth t/connectivity.csv -o d && grep -q "^all  *tau_b  *top_mean  *sum_sigma4  *blind  *1 " out && ! grep -q undetermined out && says "nobody: t/connectivity.csv has no such series" || return 1
    line() { awk -F, -v m="$1" -v q="$2" '$1 == "all" && $2 == m && $3 == "top_mean" && $4 == q && $5 == "blind" { print $(NF - 5); exit }' d/features.csv; }
    # two models: both orders of them are as extreme
    [ "$(awk -F, '$1 == "all" && $2 == "tau_p" { print $(NF - 5) }' d/features.csv | sort -u)" = 1 ] || { fail "$(grep tau_p d/features.csv)"; return 1; }
    near "$(line tau_b sum_sigma4)" 1 0 && near "$(line agree sum_sigma4)" 1 0 && near "$(line disagree sum_sigma4)" 0 0 || return 1
    exits 0 "$COSPEC" connectivity ar=alike.npy masked:unmasked=1=eye.npy --pairs 4 --truth t/connectivity.csv && grep -q '^all  *tau_b  *top_mean  *sum_sigma4  *blind  *-1 ' out || { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" connectivity ar=eye.npy masked:unmasked=1=eye.npy --pairs 4 --truth t/connectivity.csv --json && [ "$(number undetermined out)" = 1 ] &&
        [ "$(number tau_b out)" = "" ] && grep -q '"tau_b": null' out || { fail "${why:-$(tail -30 out)}"; return 1; }
    refuses 3 "t/connectivity.csv: contains 0 of the 2 NAMEs, but a ranking needs two; available series: ar, masked(unmasked=1)" \
        "$COSPEC" connectivity a=eye.npy b=alike.npy --pairs 4 --truth t/connectivity.csv || return 1
    refuses 3 "spectrum.csv: no column metric" "$COSPEC" connectivity ar=eye.npy masked:unmasked=1=alike.npy --pairs 4 --truth t/spectrum.csv || return 1
    refuses 3 "nowhere.csv" "$COSPEC" connectivity ar=eye.npy masked:unmasked=1=alike.npy --pairs 4 --truth nowhere.csv
}

test_bad_input() {
    clusters; identity
    refuses 3 "eye.npy: 4 features, but two.npy has 5" "$COSPEC" connectivity two.npy eye.npy --pairs 4 || return 1
    exits 0 "$COSPEC" connectivity two.npy eye.npy --pairs 4 --force-unequal --json || return 1
    refuses 2 "--pairs" "$COSPEC" connectivity two.npy --pairs 0 || return 1
    refuses 2 "--pairs needs matrices of features" "$COSPEC" connectivity --pairs 4 || return 1
    refuses 2 "--corpus is for co-occurrence matrices" "$COSPEC" connectivity two.npy --pairs 4 --corpus c.tsv || return 1
    refuses 2 "--compare is for co-occurrence matrices" "$COSPEC" connectivity two.npy --pairs 4 --compare ar || return 1
    refuses 2 "--center is for features and needs --pairs" "$COSPEC" connectivity two.npy --center || return 1
    refuses 2 "--truth is for features" "$COSPEC" connectivity two.npy --truth x.csv || return 1
    refuses 2 "1 jackknife block:" "$COSPEC" connectivity two.npy --pairs 4 --jackknife 1 || return 1
    refuses 2 "x is given twice" "$COSPEC" connectivity x=two.npy x=eye.npy --pairs 4 || return 1
    f32 1 0  nan 0 | npy nan.npy '<f4' '(2, 2)'; refuses 3 "nan.npy: row 1, column 0: value nan is not finite" "$COSPEC" connectivity nan.npy --pairs 1 || return 1
    f32 1 0 | npy row.npy '<f4' '(1, 2)'; refuses 3 "row.npy: 1 row: no pairs" "$COSPEC" connectivity row.npy --pairs 1 || return 1
    f32 1 0 | npy cut.npy '<f4' '(2, 3)'; refuses 3 "cut.npy" "$COSPEC" connectivity cut.npy --pairs 1 || return 1
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' > lfs.npy; refuses 3 "Git LFS" "$COSPEC" connectivity a=lfs.npy --pairs 1 || return 1
    refuses 3 "nowhere.npy" "$COSPEC" connectivity a=nowhere.npy --pairs 1 || return 1
    echo 1 2 > two.txt; refuses 2 "expected a matrix: FILE.npy" "$COSPEC" connectivity a=two.txt --pairs 1
}

# Without --pairs an .npy file is a co-occurrence matrix, as before: of the identity, four components.
test_matrices_as_before() {
    identity
    exits 0 "$COSPEC" connectivity eye.npy --csv && grep -q '^eye.npy,,,components,.*,4,' out
}

test_length_figure() {
    small_corpus c.tsv; cut -f2 c.tsv > v.txt
    for o in ar masked; do
        exits 0 "$COSPEC" train --corpus v.txt --objective $o --steps 3 --width 32 --layers 1 --batch 8 -o $o &&
            exits 0 "$COSPEC" perplexity $o v.txt -o p-$o || return 1
    done
    exits 0 "$COSPEC" plot length ar=p-ar/by-length.csv masked=p-masked/by-length.csv -o f && [ -s f/length.png ] && [ ! -s err ] || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" plot length p-ar/by-length.csv --series model -o g && [ ! -s err ] && exits 0 "$COSPEC" plot training ar=ar/log.csv -o g && grep -q 'markers: held-out' g/training.svg || fail "${why:-$(cat err)}"
}

run_tests
