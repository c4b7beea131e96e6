# correlate: numbers read by pattern, their rank correlations, at each budget and at the best.
. tests/cli/lib.sh

# Three objectives with two networks, two budgets, two seeds. What is predicted: 1, 2, 3. At budget 10
# the outcome is in that order, at 20 in reverse; the loss is least at 20 in seed 0, at 10 in seed 1.
atlas() {
    for o in a b c; do
        x=$(printf '%d' "'$o") && x=$((x - 96))
        mkdir -p "k-$o" && printf 'metric,position,value\nkappa,blind,%s\nkappa,given,9\nrank,blind,7\n' $x > "k-$o/k.csv"
        for b in 10 20; do for s in 0 1; do
            y=$x; [ $b = 10 ] || y=$((10 - x))
            l=$b; [ $s = 1 ] || l=$((40 - b))
            mkdir -p "p-$o.blind-$b-$s" && printf 'layer,value\n1,5\n2,%s\n' "$y.$s" > "p-$o.blind-$b-$s/p.csv"
            printf 'loss\n%s\n' $l > "p-$o.blind-$b-$s/l.csv"
        done; done
    done
}
objects="a.blind b.blind c.blind --runs 0,1 --budgets 10,20"
kappa=kappa=k-*1/k.csv,value,metric:kappa,position:*2
score=score=p-*-%-#/p.csv,value,layer:2

test_correlations_by_budget() {
    atlas && exits 0 "$COSPEC" correlate $objects --predict "$kappa" --outcome "$score" --loss 'loss=p-*-%-#/l.csv,loss' -o c || return 1
    row() { awk -F, -v b="$1" -v g="$2" 'NR > 1 && $3 == b && $4 == g { print $5, $6, $7, $8, $12 }' c/correlations.csv; }
    [ "$(row 10 '')" = "3 2 1 0.33333333333333331 1" ] || fail "at 10: $(row 10 '')"
    [ "$(row 20 '' | cut -d' ' -f3)" = -1 ] || fail "at 20: $(row 20 '')"
    # best: seed 0 from budget 20 (9.0, 8.0, 7.0), seed 1 from budget 10 (1.1, 2.1, 3.1): every mean is 5.05
    [ "$(awk -F, '$2 == "best" && $3 == "score" { printf "%.9g\n", $4 }' c/values.csv | sort -u)" = 5.05 ] || fail "best: $(grep best c/values.csv)"
    [ "$(awk -F, '$3 == 10 { print $4, $5, $6 }' c/pairs.csv | head -1)" = "a.blind 1 1.05" ] || fail "pairs: $(head -3 c/pairs.csv)"
}

# Two networks of b's matrix, at 2 and 4 of 10: one object at 3, so that tau of three is 1; as two it would be less.
test_objects_of_one_matrix_are_one() {
    atlas
    for s in 0 1; do
        mkdir -p p-b.blind.two-10-$s p-b.blind-10-$s && printf 'layer,value\n2,0.5\n' > p-b.blind.two-10-$s/p.csv && printf 'layer,value\n2,2.9\n' > p-b.blind-10-$s/p.csv
        cp p-a.blind-10-$s/l.csv p-b.blind.two-10-$s/l.csv
    done
    exits 0 "$COSPEC" correlate a.blind b.blind b.blind.two c.blind --runs 0,1 --budgets 10 --predict "$kappa" --predict 'own=p-*-%-#/p.csv,value,layer:2' --outcome "$score" -o d || return 1
    # kappa 1, 2, 3 against (1.0 + 1.1) / 2, (0.5 + 2.9) / 2, (3.0 + 3.1) / 2; a prediction of the models themselves keeps all four.
    [ "$(awk -F, '$1 == "kappa" { print $5, $7, $8 }' d/correlations.csv)" = "3 1 0.33333333333333331" ] || fail "$(cat d/correlations.csv)"
    [ "$(awk -F, '$1 == "own" { print $5, $7 }' d/correlations.csv)" = "4 1" ] || fail "$(cat d/correlations.csv)"
}

test_what_is_missing_is_named() {
    atlas
    exits 3 "$COSPEC" correlate $objects --predict "kappa=k-*1/k.csv,value,metric:kappa" --outcome "$score" && says "kappa of a.blind: k-a/k.csv: the matching rows differ in value" &&
        exits 3 "$COSPEC" correlate $objects --predict "kappa=k-*1/k.csv,value,metric:none" --outcome "$score" && says "no row matches" &&
        exits 3 "$COSPEC" correlate $objects --predict "kappa=k-*1/k.csv,size" --outcome "$score" && says "no column size" &&
        exits 3 "$COSPEC" correlate $objects --predict "kappa=k-*3/k.csv,value" --outcome "$score" && says "object a.blind has no part for 3" &&
        exits 3 "$COSPEC" correlate $objects --predict "kappa=k-*1/k.csv,metric,position:given" --outcome "$score" && says "kappa" &&
        exits 2 "$COSPEC" correlate $objects --predict "k-*1/k.csv,value" --outcome "$score" && says "expected NAME=FILE,COLUMN" &&
        exits 2 "$COSPEC" correlate $objects --predict "kappa=k-*1/k.csv" --outcome "$score" && says "expected NAME=FILE,COLUMN" &&
        exits 2 "$COSPEC" correlate a.blind b.blind --predict "$kappa" --outcome "$score" && says "2 objects" &&
        exits 2 "$COSPEC" correlate a.blind a.blind b.blind --predict "$kappa" --outcome "$score" && says "object a.blind is given twice" &&
        exits 2 "$COSPEC" correlate a.blind b.blind c.blind --budgets 10,20 --runs 1,1 --predict "$kappa" --outcome "$score" && says "run 1 is given twice"
}

run_tests
