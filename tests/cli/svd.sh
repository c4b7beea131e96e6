# cospec svd: values against closed forms, certificates, solvers, bad input.
. tests/cli/lib.sh

svd() { "$COSPEC" svd "$@"; }

# The doubly stochastic 2 x 2 matrix (3 1; 1 3)/8 has Abar = (3 1; 1 3)/4: sigma 1 and 1/2.
two() { mtx 2 2 "1 1 3" "1 2 1" "2 1 1" "2 2 3" > two.mtx; }

test_closed_form() {
    two
    exits 0 svd two.mtx -k 2 --json && sigmas out > s &&
        near "$(sed -n 1p s)" 1 1e-14 && near "$(sed -n 2p s)" 0.5 1e-14 &&
        [ "$(number components out)" = 1 ] && [ "$(number multiplicity_of_one out)" = 1 ] &&
        near "$(number sum_sigma2 out)" 1.25 1e-14 && near "$(number sum_sigma4 out)" 1.0625 1e-14 &&
        [ "$(grep -c '"state": "passed"' out)" -ge 3 ] || fail "${why:-$(tr -d '\n ' < out | head -c 600)}"
}

# Two blocks of it: sigma 1 twice, 1/2 twice. Values counted after the ones, and values beyond --k.
test_after_ones() {
    mtx 4 4 "1 1 3" "1 2 1" "2 1 1" "2 2 3" "3 3 3" "3 4 1" "4 3 1" "4 4 3" > four.mtx
    exits 0 svd four.mtx --after-ones 1 --json && sigmas out > s && [ "$(grep -c . s)" = 3 ] && near "$(sed -n 3p s)" 0.5 1e-14 || { fail "${why:-$(cat s)}"; return 1; }
    exits 0 svd four.mtx --after-ones 2 --no-reduction --csv && [ "$(wc -l < out)" = 5 ] &&
        refuses 2 "--after-ones 3: the matrix (4 x 4) has only 2 singular values after 2 of 1" svd four.mtx --after-ones 3 &&
        refuses 2 "both set the number of singular values;" svd four.mtx --after-ones 1 -k 2 && refuses 2 "--normalised" svd four.mtx --after-ones 1 --normalised
}

# Before anything is summed, and under --dry-run as well.
test_more_than_there_are() {
    two
    refuses 2 "-k 3: the matrix (2 x 2) has only 2" svd two.mtx -k 3 && ! grep -q 'sum sigma^4' err || { fail "${why:-$(cat err)}"; return 1; }
    refuses 2 "--rank 3: the matrix" svd two.mtx --rank 3 || return 1
    refuses 2 "has only 2" svd two.mtx -k 3 --dry-run
}

test_normalised() {
    mtx 2 2 "1 1 0.75" "1 2 0.25" "2 1 0.25" "2 2 0.75" > n.mtx
    exits 0 svd n.mtx -k all --normalised --json && sigmas out > s && near "$(sed -n 2p s)" 0.5 1e-14 || return 1
    ! grep -q 'is above 1' err || { fail "$(cat err)"; return 1; }
    mtx 2 2 "1 1 13" "2 2 2" > raw.mtx
    exits 0 svd raw.mtx -k 1 --normalised && says "sigma_1 = 13 is above 1" || return 1
    exits 0 svd raw.mtx -k 1 && ! grep -q 'is above 1' err
}

# 40 copies of 1 and of 1/2, whatever the solver.
test_multiplicity() {
    block_matrix 40 weighted
    awk 'BEGIN { for (i = 0; i < 80; ++i) print i < 40 ? 1 : 0.5 }' > ones-and-halves
    for solver in auto lapack arpack block; do
        exits 0 svd blocks.mtx -k 80 --solver $solver --json || return 1
        sigmas out > got && near_lists got ones-and-halves 1e-10 80 || return 1
        [ "$(number multiplicity_of_one out)" = 40 ] || { fail "$solver: multiplicity"; return 1; }
    done
    for solver in lapack block; do
        exits 0 svd blocks.mtx -k 60 --no-reduction --solver $solver --json &&
            sigmas out > got && head -60 ones-and-halves > want && near_lists got want 1e-10 60 || return 1
    done
}

test_zeros_are_counted_apart() {
    mtx 3 3 "1 1 1" "1 2 1" "2 1 2" "2 2 2" "3 3 1" > z.mtx
    exits 0 svd z.mtx -k all --json || return 1
    [ "$(number k out)" = 2 ] && [ "$(number zeros out)" = 1 ] && [ "$(number rank out)" = 2 ] || fail "$(tr -d '\n ' < out | head -c 500)"
}

test_vectors() {
    two
    exits 0 svd two.mtx -k 2 --vectors -o d --json || return 1
    for f in u.npy v.npy sigma.npy svd.json svd.csv manifest.json; do
        [ -f d/$f ] || { fail "$f is missing"; return 1; }
    done
    head -c 6 d/u.npy | grep -q NUMPY || return 1
    refuses 2 "exists; give --force to overwrite it" "$COSPEC" svd two.mtx -k 2 -o d || return 1
    exits 0 svd two.mtx -k 1 -o d --force || return 1
    refuses 2 "--vectors needs -o DIR" "$COSPEC" svd two.mtx --vectors
}

test_csv_and_text() {
    two
    exits 0 svd two.mtx --csv && [ "$(head -1 out)" = index,sigma,residual ] && [ "$(wc -l < out)" = 3 ] &&
        exits 0 svd two.mtx && grep -q sigma out && says "certificates"
}

test_solvers_not_here() {
    two
    refuses 2 "--solver cusolver needs --device cuda" "$COSPEC" svd two.mtx --solver cusolver &&
        refuses 2 "'lanczos'" "$COSPEC" svd two.mtx --solver lanczos
}

test_rank_out_of_range() {
    two
    refuses 2 "3" "$COSPEC" svd two.mtx -k 3 && refuses 2 "-k: 0" "$COSPEC" svd two.mtx -k 0 &&
        refuses 2 "'x'" "$COSPEC" svd two.mtx -k x && refuses 2 "'1.5'" "$COSPEC" svd two.mtx -k 1.5
}

test_bad_matrices() {
    refuses 3 "nowhere.npz" "$COSPEC" svd nowhere.npz || return 1
    mkdir empty; refuses 3 "empty: not a matrix (FILE.npz, .npy, .mtx, or a folder written by cospec cooc)" "$COSPEC" svd empty || return 1
    mtx 2 2 "1 1 -3" "2 2 1" > m.mtx; refuses 3 "-3" "$COSPEC" svd m.mtx || return 1
    mtx 2 2 "1 1 nan" "2 2 1" > m.mtx; refuses 3 "m.mtx" "$COSPEC" svd m.mtx || return 1
    mtx 2 2 "3 1 1" > m.mtx; refuses 3 "m.mtx: line 3" "$COSPEC" svd m.mtx || return 1
    : > m.mtx; refuses 3 "m.mtx" "$COSPEC" svd m.mtx || return 1
    : > m.npz; refuses 3 "m.npz" "$COSPEC" svd m.npz || return 1
    printf 'PK\003\004 not an archive' > m.npz; refuses 3 "m.npz" "$COSPEC" svd m.npz || return 1
    printf 'text' > m.npy; refuses 3 "m.npy" "$COSPEC" svd m.npy || return 1
    printf 'text' > m.xyz; refuses 2 "m.xyz" "$COSPEC" svd m.xyz
}

test_truncated_npz() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o d || return 1
    size=$(wc -c < d/matrix.npz)
    for part in 1 2 3; do
        head -c $((size * part / 4)) d/matrix.npz > cut.npz
        refuses 3 "cut.npz" "$COSPEC" svd cut.npz || return 1
    done
}

# A random 700 x 700 matrix needs more than one iteration of ARPACK.
test_not_converged_is_printed() {
    awk 'BEGIN { srand(7); n = 700; print "%%MatrixMarket matrix coordinate real general"; print n, n, n * 12
        for (i = 1; i <= n; ++i) for (j = 0; j < 12; ++j) print i, (i * 7 + j * j * 31 + int(rand() * 20)) % n + 1, 1 + int(rand() * 5) }' > r.mtx
    "$COSPEC" svd r.mtx -k 40 --solver arpack --max-iterations 1 --tol 1e-15 --json > out 2> err
    got=$?
    [ $got = 4 ] && says "not converged" && grep -q '"converged": false' out || fail "exit $got: $(head -c 200 err)"
}

# Cycles of 700 and four times 40 nodes a side, sigma = |cos(pi j / n)|: ARPACK, when named, solves the large one,
# and the small ones, whose 40 values may all be wanted, do not refuse the matrix.
test_arpack_with_small_components() {
    awk 'BEGIN { split("700 40 40 40 40", size, " "); print "%%MatrixMarket matrix coordinate real general"; print 860, 860, 1720
        for (c = 1; c <= 5; ++c) { n = size[c]; for (i = 1; i <= n; ++i) { print at + i, at + i, 0.5; print at + i, at + i % n + 1, 0.5 } at += n } }' > c.mtx
    exits 0 "$COSPEC" svd c.mtx -k 50 --normalised --solver arpack --json && [ "$(number multiplicity_of_one out)" = 5 ] &&
        grep -q '"solver": "arpack"' out || fail "${why:-$(head -c 300 err)}"
}

# A certificate's bound holds its slack, and its meaning says which.
test_certificates_say_what_they_prove() {
    block_matrix 40 weighted
    exits 0 "$COSPEC" svd blocks.mtx -k 50 --json && grep -q 'sqrt(sigma_k^2 (1 + 2e-9) + 64 eps sigma_1^2)' out &&
        grep -q '"near_ones": 0' out && [ "$(number multiplicity_of_one out)" = 40 ] || { fail "meaning"; return 1; }
    # Joined by 1e-11: one component, so one sigma = 1, and a second value that comes near.
    mtx 4 4 "1 1 3" "1 2 1" "2 1 1" "2 2 3" "3 3 3" "3 4 1" "4 3 1" "4 4 3" "1 3 1e-11" > near.mtx
    exits 0 "$COSPEC" svd near.mtx -k all --json && [ "$(number near_ones out)" = 1 ] && [ "$(number multiplicity_of_one out)" = 1 ] &&
        tr -d ' \n' < out | grep -q '"components":{"state":"inconclusive"' || { fail "a value near 1 passed as proof"; return 1; }
    # Signs: diag(1, 1) turned, of one component; the theorem does not apply, and the signs follow the values.
    mtx 2 2 "1 1 0.6" "1 2 0.8" "2 1 -0.8" "2 2 0.6" > signed.mtx
    exits 0 "$COSPEC" svd signed.mtx -k all --normalised --json && [ "$(number multiplicity_of_one out)" = 2 ] &&
        tr -d ' \n' < out | grep -q '"components":{"state":"notrun"' || fail "a signed matrix has the certificate"
}

# cycle N: row i holds columns i and i + 1; sigma = |cos(pi j / N)|, all but the first double.
cycle() {
    awk -v n="$1" 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print n, n, 2 * n
        for (i = 1; i <= n; ++i) { print i, i, 1; print i, i % n + 1, 1 } }' > "cycle$1.mtx"
}

test_certify() {
    cycle 60
    exits 0 svd cycle60.mtx -k 5 --certify components,inertia --json && tr -d ' \n' < out > flat &&
        grep -q '"inertia":{"state":"passed","value":5.0,"bound":5.0,' flat && grep -q '"probe":{"state":"notrun"' flat &&
        grep -q '"why":"notrequested"' flat && grep -q '"sum_sigma4":null' flat || { fail "inertia: $(head -c 900 flat)"; return 1; }
    exits 0 svd cycle60.mtx -k 4 --certify inertia && says "inertia inconclusive" && says "request 5" || return 1
    exits 0 svd cycle60.mtx -k 5 --certify none --json && [ "$(grep -c '"state": "passed"' out)" = 1 ] &&
        [ "$(grep -c '"state": "not run"' out)" = 4 ] || { fail "none: $(cat err)"; return 1; }
    exits 0 svd cycle60.mtx -k all --certify inertia,moments --json && [ "$(grep -c '"state": "passed"' out)" = 3 ] || { fail "all"; return 1; }
    cycle 9000
    exits 0 svd cycle9000.mtx -k 1 --certify inertia && says "inertia not run" &&
        says "a component of 9000 x 9000 needs a matrix of order 9000 (0.648 GB), above the limit of 8192" || return 1
    refuses 2 "unknown certificate 'residuals' (none, components, moments, probe, inertia)" "$COSPEC" svd cycle60.mtx --certify probe,residuals &&
        refuses 2 "unknown certificate ''" "$COSPEC" svd cycle60.mtx --certify moments, &&
        refuses 2 "none cannot be combined" "$COSPEC" svd cycle60.mtx --certify none,probe
}

# Cycles of 30000 nodes a side, whose values no solver parts soon, and five of 40: stopped, it gives what it has.
slow() {
    awk 'BEGIN { split("30000 40 40 40 40 40", size, " "); print "%%MatrixMarket matrix coordinate real general"; print 30200, 30200, 60400
        for (c = 1; c <= 6; ++c) { n = size[c]; for (i = 1; i <= n; ++i) { print at + i, at + i, 0.5; print at + i, at + i % n + 1, 0.5 } at += n } }' > slow.mtx
}

test_interrupt_gives_what_converged() {
    slow
    for wait in 1 2 4 8 16; do
        "$COSPEC" svd slow.mtx -k 100 --vectors -o d --force --json > out 2> err &
        pid=$!
        sleep $wait
        kill -INT $pid 2> /dev/null
        wait $pid
        code=$?
        [ $code = 130 ] || { fail "exit $code: $(head -c 300 err)"; return 1; }
        [ -s out ] && break # else it was still reading
    done
    grep -q '"interrupted": true' out && grep -q '"converged": false' out && says_last "triplets had converged and could be finished" || { fail "$(head -c 300 err)"; return 1; }
    sigmas out | awk '{ d = 1 - $1; if (d < 1e-12) ++ones; if (d < -1e-12) bad = 1 } END { exit bad || ones < 6 }' || { fail "ones"; return 1; }
    for f in u.npy v.npy sigma.npy svd.json svd.csv; do
        [ -f d/$f ] || { fail "$f is missing"; return 1; }
    done
    cmp -s out d/svd.json && grep -q '"finished": false' d/manifest.json || fail "$(grep finished d/manifest.json)"
}
says_last() { tail -1 err | grep -qF -- "$1"; }

test_start_and_memory() {
    slow
    refuses 3 "the limit is 1048576" "$COSPEC" svd slow.mtx -k 100 --memory 1M || return 1
    awk 'BEGIN { srand(7); print "%%MatrixMarket matrix coordinate real general"; print 900, 700, 9000
        for (i = 0; i < 9000; ++i) print i % 900 + 1, int(700 * (i * 0.618 - int(i * 0.618))) + 1, 1 + int(rand() * 5) }' > r.mtx
    exits 0 svd r.mtx -k 20 --solver block --vectors -o cold --json || return 1
    exits 0 svd r.mtx -k 20 --solver block --start cold --memory 8M --json && sigmas out > warm && sigmas cold/svd.json > s || return 1
    near_lists warm s 1e-11 20 || return 1
    mtx 2 2 "1 1 3" "1 2 1" "2 1 1" "2 2 3" > two.mtx
    refuses 3 "cold/u.npy: expected vectors of 2 floats" "$COSPEC" svd two.mtx --start cold || return 1
    refuses 3 "nowhere/u.npy" "$COSPEC" svd two.mtx --start nowhere
}

test_what_would_be_ignored_is_refused() {
    two
    exits 0 svd two.mtx -k 1 --vectors -o os || return 1
    for solver in lapack arpack; do
        refuses 2 "--start does not apply to --solver $solver" "$COSPEC" svd two.mtx -k 1 --start os --solver $solver &&
            refuses 2 "--memory does not apply to --solver $solver" "$COSPEC" svd two.mtx -k 1 --memory 8M --solver $solver || return 1
    done
    refuses 2 "--memory 0" "$COSPEC" svd two.mtx --memory 0 &&
        refuses 2 "--moment-budget does not apply: --certify probe computes no moments" "$COSPEC" svd two.mtx --certify probe --moment-budget 1e9 &&
        exits 0 svd two.mtx --certify moments --moment-budget 1e9 &&
        exits 0 svd two.mtx -k 1 --start os && says "--start had no effect: it applies to the block solver, which solved nothing here"
}

test_arpack_of_all() {
    awk 'BEGIN { n = 700; print "%%MatrixMarket matrix coordinate real general"; print n, n, 2 * n
        for (i = 1; i <= n; ++i) { print i, i, 0.5; print i, i % n + 1, 0.5 } }' > c.mtx
    refuses 2 "use the solver lapack" "$COSPEC" svd c.mtx -k all --normalised --solver arpack
}

# OpenBLAS shares a decomposition of 500 x 500 among its threads, with other bits for each number of them.
test_dense_bits_of_any_threads() {
    awk 'BEGIN { n = 500; x = 1; print "%%MatrixMarket matrix coordinate real general"; print n, n, 8 * n
        for (i = 1; i <= n; ++i) for (j = 0; j < 8; ++j) { x = x * 16807 % 2147483647; print i, x % n + 1, 1 + x % 7 } }' > d.mtx
    for t in 1 2 3; do exits 0 "$COSPEC" svd d.mtx -k 12 --solver lapack --threads $t --csv && mv out $t.csv || return 1; done
    cmp 1.csv 2.csv && cmp 1.csv 3.csv || fail "$(diff 1.csv 3.csv | head -4)"
}

# As many rows as -k asks for are printed; without it, and with "all", the note says how many there are.
test_rows_that_are_printed() {
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n30 30 90"; for (i = 1; i <= 30; ++i) for (j = 0; j < 3; ++j) print i, (i * (j + 2) + j) % 30 + 1, i + j }' > r.mtx
    exits 0 svd r.mtx -k 20 && [ "$(wc -l < out)" = 21 ] && ! grep -q 'rows shown; give --all' err && exits 0 svd r.mtx -k 15 --all && [ "$(wc -l < out)" = 16 ] || { fail "${why:-$(cat out err)}"; return 1; }
    exits 0 svd r.mtx -k all && [ "$(wc -l < out)" = 13 ] && grep -q '^12 of [0-9]* rows shown; give --all to show all of them' err || fail "${why:-$(cat out err)}"
}

test_dry_run() { two; exits 0 svd two.mtx --dry-run --json && grep -q dense_bytes out; }

# diag(3, 2, 1) at any size: three values, none zero, and of diag(3, 3, 3, 1) one is not all there is; sums of fourth powers that no double holds are not 0.
test_any_size() {
    for e in -300 -100 -17 0 100 300; do
        mtx 3 3 "1 1 3e$e" "2 2 2e$e" "3 3 1e$e" > t.mtx
        exits 0 svd t.mtx --normalised -k 3 --force -o d --json && near "$(sigmas out | awk -v b=1e$e 'NR == 3 { print $1 / b }')" 1 1e-14 && [ "$(number zeros out)" = 0 ] &&
            grep -q '"state": "passed"' out && ! grep -q nan err || { fail "1e$e: ${why:-$(cat err)}"; return 1; }
        if [ $e = 0 ] || [ $e = -17 ]; then
            [ -f d/tail.csv ] || { fail "no tail.csv at 1e$e"; return 1; }
        else
            says "sum sigma^4 is out of the range of doubles" && says "no tail.csv" && grep -q '"sum_sigma4_method": "out of range"' out && grep -q '"tail": null' out && [ ! -f d/tail.csv ] ||
                { fail "1e$e: ${why:-$(ls d)}"; return 1; }
        fi
        mtx 4 4 "1 1 3e$e" "2 2 3e$e" "3 3 3e$e" "4 4 1e$e" > copies.mtx
        exits 0 svd copies.mtx --normalised -k 1 --no-reduction --certify moments --json && grep -A4 '"moments"' out | grep -q '"state": "inconclusive"' || { fail "1e$e: ${why:-moments}"; return 1; }
        rm -rf d
    done
}

# Without the moments there are no tails but of all values; without a solver, none is named.
test_what_is_not_computed_is_not_said() {
    two
    exits 0 svd two.mtx -k 1 --certify none -o d --json && says "sum sigma^4 was not computed" && says "no tail.csv" && ! grep -q nan err && [ ! -f d/tail.csv ] &&
        grep -q '"solver": "closed form"' out || { fail "${why:-$(cat err out | head -30)}"; return 1; }
    exits 0 svd two.mtx -k all --certify none -o all --vectors --json && [ -f all/tail.csv ] && says "vectors: ||X^T X - I||" && grep -q '"departure": [0-9]' out || fail "${why:-$(cat err)}"
}

# 65 bytes that claim 200 million rows: the empty ones cost nothing where the result has none of them; their vectors are refused by
# number, and columns take memory.
test_claimed_rows() {
    sanitized claimed_rows && return
    for n in 200000000 20000000000; do
        printf '%%%%MatrixMarket matrix coordinate real general\n%s 3 3\n1 1 1\n%s 1 2\n1000 2 3\n' $n $n > tall.mtx
        (
            export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 # threads want address space of their own
            ulimit -v 1000000
            exits 0 svd tall.mtx -k all --json && near "$(sigmas out | tr '\n' ' ')" "1 1" 1e-15 && [ "$(number rows out)" = $n ] && [ "$(number zero_rows out)" = $((n - 3)) ] &&
                [ "$(number zeros out)" = 1 ] && exits 0 "$COSPEC" density tall.mtx --json && [ "$(number rows out)" = $n ] &&
                exits 0 "$COSPEC" connectivity tall.mtx --json && exits 0 svd tall.mtx -k 1 --dry-run || { echo "${why:-$(cat out)}" > why; exit 1; }
        ) || { fail "$n: $(cat why)"; return 1; }
    done
    refuses 3 "d: u.npy and v.npy take 320 GB, but" "$COSPEC" svd tall.mtx --vectors -k 2 -o d || { [ "$(df -k . | awk 'NR == 2 { print $4 }')" -gt 310000000 ] || { fail "$why"; return 1; }; }
    says "u.npy and v.npy take 320 GB: one row for each of the 20000000000, including empty ones" && exits 0 svd tall.mtx --vectors -k 2 -o d --dry-run --json &&
        [ "$(number file_bytes out)" = 320000000048.0 ] && [ "$(number vector_bytes out)" = 96.0 ] || { fail "${why:-$(cat out)}"; return 1; }
    rm -rf d
    mtx 1000 2 "1 1 1" "1000 1 2" "500 2 3" > gaps.mtx
    exits 0 svd gaps.mtx --vectors -o d --json && [ "$(od -An -tf8 -j128 -w8 -v d/u.npy | awk '$1 != 0 { print NR - 1, $1 }' | tr '\n' ' ')" = "0 0.5773502691896257 999 0.8164965809277259 1499 1 " ] ||
        fail "${why:-$(od -An -tf8 -j128 -w8 -v d/u.npy | awk '$1 != 0 { print NR - 1, $1 }')}"
    exits 0 svd gaps.mtx --start d --solver block || fail "$why"
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2000000000 1\n1 1 1\n' > wide.mtx
    npy none.npy '<f8' '(20000000000, 0)' < /dev/null
    (
        export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
        ulimit -v 3000000
        refuses 3 "wide.mtx: a matrix of 2 rows and 2000000000 columns takes 320 GB, but only" "$COSPEC" density wide.mtx &&
            refuses 3 "none.npy: the matrix (20000000000 x 0) has no nonzero entry" "$COSPEC" svd none.npy || { echo "$why" > why; exit 1; }
    ) || fail "$(cat why)"
}

# A symmetric file may have entries in both triangles, and content decides where a name says nothing.
test_matrices_by_content() {
    head="%%MatrixMarket matrix coordinate real"
    printf '%s symmetric\n3 3 4\n1 1 2\n2 1 1\n1 3 4\n2 3 5\n' "$head" > mixed.mtx
    printf '%s general\n3 3 7\n1 1 2\n2 1 1\n1 2 1\n1 3 4\n3 1 4\n2 3 5\n3 2 5\n' "$head" > whole.mtx
    exits 0 "$COSPEC" svd whole.mtx --csv && mv out whole || return 1
    gzip -c whole.mtx > packed.gz && cp whole.mtx plain.txt && cp whole.mtx plain || return 1
    for file in mixed.mtx packed.gz plain.txt plain; do
        exits 0 "$COSPEC" svd $file --csv && cmp whole out || { fail "${why:-$file}"; return 1; }
    done
    exits 0 "$COSPEC" svd whole.mtx --vectors -o d -q && cp d/u.npy u.npy && cp d/u.npy u && gzip -c u > u.gz || return 1
    for file in u.npy u u.gz; do
        exits 0 "$COSPEC" similarity u.npy $file --csv && cut -d , -f 3- out > "table-$file" && cmp table-u.npy "table-$file" || { fail "${why:-$file}"; return 1; }
    done
}

run_tests
