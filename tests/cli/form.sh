# --form: spectra of other matrices of the same counts, signed eigenvalues, angles between forms, what is refused.
. tests/cli/lib.sh

# Counts of a path of four nodes, symmetric and bipartite.
path() { mtx 4 4 "1 2 3" "2 1 3" "2 3 1" "3 2 1" "3 4 2" "4 3 2" > path.mtx; }

# A folder of cospec cooc.
words() {
    awk 'BEGIN { srand(3); for (i = 0; i < 200; ++i) { s = ""; for (j = 0; j < 9; ++j) s = s " w" substr("abcdefghijklmnopqrst", 1 + int(20 * rand() * rand()), 1); print s } }' > w.txt
    exits 0 "$COSPEC" cooc --corpus w.txt --objective ar --context nearest:1 -o words
}

# The column NAME of the CSV in `out`.
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) c = i; next } { print $c }' out; }

# Zero where a = 0, and log 2, log 4 elsewhere.
test_ppmi_by_hand() {
    mtx 2 2 "1 1 2" "2 2 2" > two.mtx
    exits 0 "$COSPEC" svd two.mtx -k 2 --form ppmi --json && sigmas out > s && near "$(sed -n 1p s)" 0.693147180559945 1e-14 &&
        near "$(sed -n 2p s)" 0.693147180559945 1e-14 && near "$(number sum_sigma2 out)" 0.960906027836403 1e-14 &&
        grep -q '"matrix_form": "ppmi"' out && grep -q 'has another form than normalised' out || fail "${why:-$(head -c 600 out)}"
}

# Unseen pairs are -2; of this matrix seen pairs are 2/3.
test_qwem_by_hand() {
    mtx 2 2 "1 1 2" "2 2 2" > two.mtx
    exits 0 "$COSPEC" svd two.mtx -k 2 --form qwem --csv && column eigenvalue > e && near "$(sed -n 1p e)" 2.66666666666667 1e-14 &&
        near "$(sed -n 2p e)" -1.33333333333333 1e-14 || fail "${why:-$(cat out)}"
}

# With every lambda -lambda; without --form there is no column.
test_signed_eigenvalues() {
    path
    exits 0 "$COSPEC" svd path.mtx -k all --form 'n*a' --csv && column eigenvalue > e || return 1
    sort -g e > by-value
    for i in 1 2; do
        near "$(sed -n "$((5 - i))p" by-value)" "$(sed -n "${i}p" by-value | tr -d -)" 1e-13 || { fail "$(cat e)"; return 1; }
    done
    [ "$(grep -c '^-' e)" = 2 ] && exits 0 "$COSPEC" svd path.mtx -k all --csv && ! grep -q eigenvalue out || { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" svd path.mtx -k 3 --form conditional --json && grep -q '"symmetric": false' out && ! grep -q '"eigenvalue"' out
}

# Windows of three with one visible token count pairs in both directions; rows are tokens in the order of their keys.
test_windows_are_symmetric() {
    printf 'a b c d\nb a d c a\nc c b\n' > t.txt
    exits 0 "$COSPEC" cooc --corpus t.txt --objective masked --unmasked 1 --max-length 3 --stride 1 --context each:2 --vocab all -o win || return 1
    exits 0 "$COSPEC" svd win -k all --form 'n*a' --csv && column eigenvalue > e && [ "$(grep -c . e)" = 4 ] && grep -q '^-' e || { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" svd win/matrix.npz -k all --form 'n*a' --csv && ! grep -q eigenvalue out || { fail "rows of a file are columns"; return 1; }
    exits 0 "$COSPEC" cooc --corpus t.txt --objective masked --context each:2:linear --vocab all -o lin && exits 0 "$COSPEC" svd lin -k 2 --form qwem --json &&
        grep -q '"symmetric": true' out || return 1
    exits 0 "$COSPEC" cooc --corpus t.txt --objective ar --context each:2 --vocab all -o ar && exits 0 "$COSPEC" svd ar -k 2 --form qwem --json &&
        grep -q '"symmetric": false' out
}

# n is the mass, whatever the unit in which exact weights are stored: with m nonzeros, n where a > 0 has the sum of squares m n^2.
test_n_is_the_mass() {
    printf 'a b c d\nb a d c a\nc c b\na d b c b a c\n' > t.txt
    for context in each:3 each:3:harmonic each:4:linear; do
        exits 0 "$COSPEC" cooc --corpus t.txt --objective permuted-ar --context $context --vocab all -o m --force && exits 0 "$COSPEC" svd m -k 2 --form 'n*ceil(a)' --json || return 1
        mass=$(number mass m/matrix.json) nonzeros=$(number nnz m/matrix.json)
        [ "$(number unit m/matrix.json)" != 1 ] && near "$(number sum_sigma2 out)" "$(awk "BEGIN { printf \"%.17g\", $nonzeros * $mass * $mass }")" 1e-9 || { fail "$context: $(number sum_sigma2 out), mass $mass"; return 1; }
        exits 0 "$COSPEC" inspect m --top 99 --csv && near "$(awk -F, 'NR > 1 { s += $5 } END { print s }' out)" "$mass" 1e-4 || { fail "$context: ${why:-$(cat out)}"; return 1; }
    done
    exits 0 "$COSPEC" svd m -k 2 --form ppmi-smoothed --json && sigmas out > named && exits 0 "$COSPEC" svd m -k 2 --form 'max(0, log(a/(p*s)))' --json && sigmas out | cmp - named
}

# A Gram form, of context unique, has no counts: every command says so.
test_gram_forms_are_refused() {
    printf 'a b c d\nb a d c a\nc c b\na d b c b a c\n' > t.txt
    exits 0 "$COSPEC" cooc --corpus t.txt --objective ar --context unique --vocab all -o gram || return 1
    for command in "svd gram -k 2" "density gram" "connectivity gram" "angles gram gram -k 2" "inspect gram --vector 1"; do
        for form in 'n*a' log centred; do
            # shellcheck disable=SC2086 # words of a command
            refuses 2 "form $form: a Gram form has only the normalised matrix" "$COSPEC" $command --form "$form" || return 1
        done
    done
}

# The centred form has the normalised spectrum without one value 1, and an expression that of its name.
test_forms_agree() {
    words || return 1
    exits 0 "$COSPEC" svd words -k 6 --json && sigmas out | sed 1d > want || return 1
    exits 0 "$COSPEC" svd words -k 5 --form centred --json && sigmas out > got && near_lists got want 1e-12 5 || { fail centred; return 1; }
    exits 0 "$COSPEC" svd words -k 5 --form qwem --json && sigmas out > want || return 1
    exits 0 "$COSPEC" svd words -k 5 --form '2*(a - p*q)/(a + p*q)' --json && sigmas out > got && near_lists got want 1e-12 5 || { fail expression; return 1; }
    exits 0 "$COSPEC" density words -k 3 --form qwem --json && sigmas out > got && head -3 want > three && near_lists got three 1e-12 3 &&
        grep -q '"matrix_form": "qwem"' out || fail "${why:-density}"
}

test_certificates() {
    words || return 1
    exits 0 "$COSPEC" svd words -k 4 --form support --certify probe,inertia --no-reduction --solver block --json || return 1
    grep -A1 '"probe"' out | grep -q passed && grep -A1 '"inertia"' out | grep -q passed || fail "$(grep -A1 '"probe"\|"inertia"' out)"
}

test_inspect_and_angles() {
    words || return 1
    exits 0 "$COSPEC" inspect words --vector 1 --top 1 --form ppmi && grep -q 'vector 1' out &&
        exits 0 "$COSPEC" inspect words --neighbours wb --form qwem --top 2 && grep -q neighbour out || return 1
    refuses 2 '--form needs --vector, --neighbours' "$COSPEC" inspect words --form ppmi || return 1
    exits 0 "$COSPEC" angles words words -k 3 --form centred --json && near "$(number mean_squared_cosine out)" 1 1e-12 || return 1
    exits 0 "$COSPEC" angles words words -k 3 --form centred --form support --json && grep -q 'different forms: centred and support' err &&
        [ "$(grep -c '"matrix_form"' out)" = 2 ] || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" angles words words -k 3 --form support --form support && ! grep -q 'different forms' err || { fail "one form for each: $(cat err)"; return 1; }
    refuses 2 '--form was given 3 times' "$COSPEC" angles words words --form log --form ppmi --form qwem
}

# The graph's numbers are those of the normalised matrix, sums and values those of the form.
test_connectivity() {
    words || return 1
    value() { awk -F, -v metric="$1" '$4 == metric { print $(NF - 6) }' "$2"; }
    exits 0 "$COSPEC" connectivity words -k 4 --csv && mv out plain && exits 0 "$COSPEC" connectivity words -k 4 --form qwem --csv && mv out form || return 1
    for metric in components gap sweep_cut cheeger_upper nnz; do
        [ -n "$(value $metric form)" ] && [ "$(value $metric form)" = "$(value $metric plain)" ] || { fail "$metric: $(value $metric form)"; return 1; }
    done
    exits 0 "$COSPEC" svd words -k 4 --form qwem --json && near "$(value sum_sigma2 form)" "$(number sum_sigma2 out)" 1e-9 &&
        near "$(value sigma_1 form)" "$(sigmas out | head -1)" 1e-11 && [ "$(grep -c 'Abar is the form qwem' form)" -ge 8 ] || { fail "${why:-$(cat form)}"; return 1; }
    refuses 2 '--form needs matrices' "$COSPEC" connectivity --corpus w.txt --form qwem && refuses 2 '--form is for co-occurrence matrices' "$COSPEC" connectivity a.npy --pairs 3 --form qwem
}

# Every row of the table is listed by the message, by the help and by the page.
test_names_are_listed() {
    path
    "$COSPEC" svd path.mtx --form nope 2> err
    sed -n 's/.*neither one of \(.*\), nor an.*/\1/p' err | tr -d ' ' | tr ',' '\n' > names
    [ "$(grep -c . names)" -ge 8 ] || { fail "$(cat err)"; return 1; }
    "$COSPEC" svd --help-all > svd-help && "$COSPEC" angles --help-all > angles-help || return 1
    while read -r name; do
        for where in svd-help angles-help "$(dirname "$COSPEC")/../../docs/explanation/forms.md"; do
            grep -q -- "$name" "$where" || { fail "$name is not in $where"; return 1; }
        done
        exits 0 "$COSPEC" svd path.mtx -k 1 --form "$(echo "$name" | sed 's/:K/:2/')" || return 1
    done < names
}

test_refused() {
    path
    refuses 2 'in a, p, q, n, d, v and s; did you mean qwem?' "$COSPEC" svd path.mtx --form qwen &&
        refuses 2 'column 3: unknown name t' "$COSPEC" svd path.mtx --form 'a*t' &&
        refuses 2 'or the matrix would be dense' "$COSPEC" svd path.mtx --form 'a + p + q' &&
        refuses 3 'is -inf where a = 0' "$COSPEC" svd path.mtx --form 'log(a)' &&
        refuses 3 'is 0 everywhere' "$COSPEC" svd path.mtx --form 'a - a' &&
        refuses 2 '--normalised: forms need the counts' "$COSPEC" svd path.mtx --form qwem --normalised &&
        refuses 2 'sigma = 1 once per component' "$COSPEC" svd path.mtx --form qwem --after-ones 1 &&
        refuses 2 'cannot be combined with --estimate' "$COSPEC" density path.mtx --form qwem --estimate distinct-document
}

run_tests
