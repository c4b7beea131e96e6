# Context unique from the command line: a Gram form through cooc, svd, density, connectivity, inspect, angles and verify.
. tests/cli/lib.sh

# "a b a" and "a b", one token unmasked: by hand C = (3/2 1/3; 1/3 5/6), so that sigma_2^2 = tr M - 1 = 0.53246753.
two_documents() {
    printf 'x\ta b a\ny\ta b\n' > c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked --unmasked 1 --context unique --vocab all --mtx --json -o m
}

test_by_hand() {
    two_documents && [ "$(number rows out)" = 2 ] && near "$(number mass out)" 3 1e-12 || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    grep -v '^%' m/matrix.mtx | sed 1d | awk '{ printf "%.9f ", $3 }' > values
    [ "$(cat values)" = "1.500000000 0.333333333 0.333333333 0.833333333 " ] || { fail "$(cat values)"; return 1; }
    for matrix in m m/matrix.npz m/matrix.mtx; do
        exits 0 "$COSPEC" svd $matrix -k all --json && near "$(number sum_sigma2 out)" 1.5324675324675325 1e-12 &&
            near "$(number sum_sigma4 out)" 1.2835216731320627 1e-12 && grep -q '0.7297037' out ||
            { fail "$matrix: ${why:-$(tr -d '\n ' < out | head -c 300)}"; return 1; }
    done
    exits 0 "$COSPEC" density m --bins 4 --json && near "$(number sum_sigma4 out)" 1.2835216731320627 1e-12
}

test_left_vectors_are_not_at_hand() {
    two_documents && exits 0 "$COSPEC" svd m -k 2 --vectors -o s && says "no u.npy" && [ -f s/v.npy ] && [ ! -e s/u.npy ] &&
        refuses 2 "has no left vectors" "$COSPEC" svd m -k 1 --solver block --start s &&
        exits 0 "$COSPEC" inspect m --vector 2 && says "no contexts are listed" && grep -q 'token' out && ! grep -q 'context ' out &&
        refuses 2 "m is a Gram form" "$COSPEC" verify 4.1 --matrix m && exits 0 "$COSPEC" angles m m -k 2
}

# With the position every context has one target; blind and given are both in the result of connectivity.
test_given() {
    two_documents && exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked --unmasked 1 --context unique --target-position given -o g &&
        says "every singular value will be 1" && exits 0 "$COSPEC" svd g -k all --json && [ "$(number multiplicity_of_one out)" = 2 ] &&
        exits 0 "$COSPEC" connectivity --corpus c.tsv --compare masked:unmasked=1 --context unique --jackknife 0 --csv --all &&
        grep -q 'blind,unique,sum_sigma4,.*,1.28352167313' out &&
        grep -q 'given,unique,components,.*,2,' out && grep -q 'blind,unique,sweep_cut,.*,,,' out || fail "${why:-$(grep sweep out)}"
}

test_bad_input() {
    printf 'x\ta b a\ny\ta b\n' > c.tsv
    refuses 2 "3 draws cannot be used: context unique has exact weights" "$COSPEC" cooc --corpus c.tsv --objective permuted-ar --context unique --draws 3 -o d &&
        refuses 2 "unique does not accept a number" "$COSPEC" cooc --corpus c.tsv --objective ar --context unique:2 -o d &&
        two_documents && cp -r m n && edited n && exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked --unmasked 1 --context each:2 -o e &&
        cp e/matrix.npz n/matrix.npz && refuses 3 "is not a Gram form" "$COSPEC" inspect n
}

run_tests
