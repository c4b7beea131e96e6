# cospec svd on the CUDA plug-in: its sources and library calls run by the emulator, as a plug-in that the program loads. The
# CPU's singular values, nothing silent.
. tests/cli/lib.sh
emulated=$(dirname "$COSPEC")/tests/cuda_emulation/cospec-emulated.so
plugin=${CUDA_PLUGIN:-$emulated} # or the real one, where there is a GPU
COSPEC_PLUGIN=$plugin
export COSPEC_PLUGIN

here() { [ -f "$plugin" ] || { skip "$1" "no C++ compiler"; return 1; }; }
emulation() { [ "$plugin" = "$emulated" ] || { skip "$1" "a GPU cannot be made to fail"; return 1; }; }
svd() { "$COSPEC" svd "$@"; }

# like_the_cpu SOLVER OPTIONS...: sigma within 1e-10 of sigma_1, computed by SOLVER on the device.
like_the_cpu() {
    solver=$1; shift
    exits 0 svd "$@" --device cpu --json && sigmas out > cpu && exits 0 svd "$@" --device cuda --json && sigmas out > gpu || return 1
    [ -s cpu ] && near_lists cpu gpu "$(awk 'NR == 1 { print 1e-10 * $1 }' cpu)" "$(wc -l < cpu)" || return 1
    grep -q "\"solver\": \"$solver\"" out && ! grep -q '"device": "cpu"' out && ! grep -q '"state": "failed"' out || fail "$*: $(head -c 900 out)"
}

random_matrix() { # ROWS COLS ENTRIES_A_ROW
    awk -v m="$1" -v n="$2" -v e="$3" 'BEGIN { srand(7); print "%%MatrixMarket matrix coordinate real general"; print m, n, m * e
        for (i = 1; i <= m; ++i) for (j = 0; j < e; ++j) print i, (i * 7 + j * j * 31 + int(rand() * 20)) % n + 1, 1 + int(rand() * 5) }' > r.mtx
}

test_truncated() {
    here truncated || return 0
    random_matrix 900 700 6
    like_the_cpu block r.mtx -k 12 --solver block && like_the_cpu block r.mtx -k 5 --solver block --no-reduction &&
        exits 0 svd r.mtx -k 12 --solver block --device cuda --json && cp out one &&
        exits 0 svd r.mtx -k 12 --solver block --device cuda --json && cmp one out
}

test_dense() {
    here dense || return 0
    random_matrix 90 120 9
    exits 0 svd r.mtx -k all --no-reduction --device cpu --json && sigmas out > want || return 1
    exits 0 svd r.mtx -k all --no-reduction --solver cusolver --device cuda --vectors -o d --json && sigmas out > got &&
        near_lists want got 1e-10 90 && grep -q '"solver": "cusolver"' out && [ -f d/u.npy ] || { fail "$(head -c 900 out)"; return 1; }
    like_the_cpu cusolver r.mtx -k all --no-reduction
}

test_multiplicity() {
    here multiplicity || return 0
    block_matrix 40 weighted
    like_the_cpu lapack blocks.mtx -k 80 || return 1 # small components stay on the CPU
    for solver in block cusolver; do
        exits 0 svd blocks.mtx -k 60 --no-reduction --solver $solver --device cuda --json &&
            sigmas out > got && awk 'BEGIN { for (i = 0; i < 60; ++i) print i < 40 ? 1 : 0.5 }' > want && near_lists got want 1e-10 60 || return 1
    done
}

test_dry_run() {
    here dry_run || return 0
    random_matrix 90 120 9
    exits 0 svd r.mtx -k 5 --dry-run --device cuda --json && [ "$(number gpu_dense_bytes out | cut -d. -f1)" -gt 200000 ] &&
        number gpu_gram_bytes out > n && number gpu_block_bytes out > n && number gpu_free_bytes out > n || fail "$(cat out err)"
}

test_words() {
    here words || return 0
    block_matrix 40 weighted
    exits 0 svd blocks.mtx -k 3 --device cuda:0 --json && refuses 2 "'gpu' is not one of" svd blocks.mtx --device gpu &&
        refuses 2 "'cuda:' is not one of" svd blocks.mtx --device cuda: && refuses 2 "'cuda:x'" svd blocks.mtx --device cuda:x &&
        refuses 5 "no GPU has number 99" svd blocks.mtx --device cuda:99 &&
        refuses 2 "--solver lapack runs on the CPU" svd blocks.mtx --solver lapack --device cuda &&
        refuses 2 "--device cuda works in a single process; leave --mpi out" svd blocks.mtx --mpi --device cuda:0 &&
        refuses 5 "--device cuda:0: angles runs on the CPU only" "$COSPEC" angles x y --device cuda:0
}

test_what_is_not_there() {
    here what_is_not_there || return 0
    block_matrix 40 weighted
    refuses 5 "no GPU: the plug-in /nonexistent.so: No such file" env COSPEC_PLUGIN=/nonexistent.so "$COSPEC" svd blocks.mtx --device cuda || return 1
    exits 0 env COSPEC_PLUGIN=/nonexistent.so "$COSPEC" svd blocks.mtx -k 3 || return 1
    emulation what_is_not_there || return 0
    refuses 5 "cannot load libcusolver.so.12, libcusparse.so.12" env COSPEC_EMULATED_WITHOUT="libcusolver.so.12 libcusparse.so.12" "$COSPEC" svd blocks.mtx --device cuda
}

test_too_little_memory() {
    here too_little_memory && emulation too_little_memory || return 0
    random_matrix 900 700 6
    refuses 3 "GPU memory: a sparse matrix of 900 x 700" env COSPEC_EMULATED_BYTES=100000 "$COSPEC" svd r.mtx -k 5 --solver block --no-reduction --device cuda -o d &&
        [ ! -e d/svd.json ] && refuses 3 "GPU memory: " env COSPEC_EMULATED_BYTES=4000000 "$COSPEC" svd r.mtx -k 300 --solver cusolver --no-reduction --device cuda
}

run_tests
