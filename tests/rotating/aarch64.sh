# The unit programs of linalg, cooc, tensor and io for aarch64 (GH200, Graviton): built by Debian's cross compiler, run by qemu-user. Then
# the program itself, whose matrix and singular values must be those of this machine.
# The libraries for aarch64 are unpacked into a folder by an apt with its own lists: apt and dpkg of this machine know nothing of them.
# Left out because the emulator takes a minute of processor time or more for each: svd_block, signed_gram, context, spectrum, ranked,
# refinement. io_archives is left out because it starts another program, which the emulator refuses.
# Others are left out for the time of all together; on 1 December 2026 svd_copies, svd_counts, missed_copies, lapack_failures, spectrum_record,
# spectrum_signed, spectrum_tails, build_sequences, build_size, checkpoint, checkpoint_resume, digests, rows, shard_portion, context_plane and
# synthetic_population passed as well.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)
programs="linalg linop matrix_file matrix_stream matrix_other svd svd_parts krylov krylov_filter space gram gram_stored inertia
    tridiagonal density top_pairs empty_rows builder builder_memory collect merge context_limits unique windows by_document store
    store_shards spectrum_density spectrum_gram spectrum_scale reduce moments certificates certified_numbers inspect matrix_form
    word_scores tensor_cpu tensor_graph tensor_ops tensor_values io_arrays io_faults io_files io_tables io_zip npy_stream
    safetensors lbfgs packed"
system=$work/system build=$work/build
lib=$system/usr/lib/aarch64-linux-gnu

# The development packages of tests/deps.sh, without their maintainer scripts: what update-alternatives would link is linked here.
unpack() {
    mkdir -p apt/state/lists/partial apt/cache/archives/partial "$system" && : > apt/status
    apt="apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State=$PWD/apt/state -o Dir::State::status=$PWD/apt/status -o Dir::Cache=$PWD/apt/cache -o Debug::NoLocking=1 -o APT::Sandbox::User=$(id -un)"
    # shellcheck disable=SC2046
    $apt update && $apt install --download-only --no-install-recommends $(sed -n '/^packages=/,/libcmocka-dev/p' "$root/tests/deps.sh" | tr -s ' "=\n' '\n' | grep -e '^[a-z0-9.+-]*-dev$') || return 1
    for package in apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$system" || return 1; done
    find "$system" -lname '/*' | while read -r link; do ln -sfn "$system$(readlink "$link")" "$link"; done
    for file in "$lib"/openblas-pthread/lib*.so*; do ln -sf "openblas-pthread/${file##*/}" "$lib/"; done
    ln -sf ../openblas-pthread/pkgconfig/openblas.pc ../openblas-pthread/pkgconfig/lapack-openblas.pc ../openblas-pthread/pkgconfig/blas-openblas.pc "$lib/pkgconfig/" &&
        ln -sf lapack-openblas.pc "$lib/pkgconfig/lapack.pc" && ln -sf blas-openblas.pc "$lib/pkgconfig/blas.pc"
}

compile() {
    PKG_CONFIG_LIBDIR=$lib/pkgconfig:$system/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$system \
        make -s -C "$root" -j"$(nproc)" CONFIG=release B="$build" CUDA=0 MPI=0 CXX=false \
        CC="aarch64-linux-gnu-gcc --sysroot=$system -Wl,-rpath-link,$lib:$system/lib/aarch64-linux-gnu" "$@"
}

emulated() { qemu-aarch64 -L "$system" "$@"; }

# run_one NAME: the line of a program. A process with threads that forks can end in an assertion of qemu's own: such a test is not counted.
run_one() {
    CMOCKA_MESSAGE_OUTPUT=TAP emulated "$build/tests/test_$1" > "$1.out" 2> "$1.err"
    code=$?
    bad=$(grep -c '^not ok [0-9]' "$1.out") skip=$(grep -c '^not ok [0-9].*# SKIP' "$1.out") lost=$(grep -c '^ERROR:.*/tcg/cpu-exec.c:' "$1.err")
    if grep -q '^ok ' "$1.out" && { [ $code = 0 ] || { [ $code = 1 ] && [ "$lost" != 0 ] && [ $((bad - skip)) -le "$lost" ]; }; }; then
        echo "ok $1"
    else
        echo "not ok $1: exit code $code: $(grep '^not ok [0-9]' "$1.out" | grep -v '# SKIP' | head -3 | tr '\n' ' ')$(tail -3 "$1.err" | tr '\n' ' ')"
    fi
}

same_as_here() {
    small_corpus c.tsv
    for what in "masked --unmasked 2 --max-length 4 --stride 1" "ar --context each:3"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" cooc --corpus c.tsv --objective $what --force -o here && exits 0 emulated "$build/cospec" cooc --corpus c.tsv --objective $what --force -o there || return 1
        for file in matrix.npz row_labels.npz col_labels.npz; do cmp -s here/$file there/$file || { fail "$what: $file differs"; return 1; }; done
        for solver in block arpack lapack; do
            exits 0 "$COSPEC" svd here -k 5 --solver $solver --no-reduction --json && sigmas out > a && exits 0 emulated "$build/cospec" svd there -k 5 --solver $solver --no-reduction --json && sigmas out > b || return 1
            near_lists a b 1e-12 5 && ! grep -q '"state": "failed"' out || { fail "$what, $solver: ${why:-$(paste a b)}"; return 1; }
        done
    done
}

if [ "$(uname -m)" = aarch64 ]; then skip aarch64 "this machine is one"; exit 0; fi
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg-deb; do
    command -v $tool > /dev/null || { skip aarch64 "$tool is missing (Debian: gcc-aarch64-linux-gnu qemu-user)"; exit 0; }
done
mkdir -p "$work/aarch64" && cd "$work/aarch64" || exit 1
unpack > log 2>&1 || { echo "not ok aarch64_libraries: $(tail -3 log | tr '\n' ' ')"; exit 0; }
# shellcheck disable=SC2046
compile "$build/cospec" $(printf "$build/tests/test_%s " $programs) > log 2>&1 || { echo "not ok aarch64_build: $(grep -m 3 'error\|Error' log | tr '\n' ' ')"; exit 0; }
rm -rf apt
# dealt NUMBER: every n-th program, n the number of processors.
dealt() { number=0; for name in $programs; do [ $((number % $(nproc))) != "$1" ] || run_one "$name"; number=$((number + 1)); done; }
first=0
while [ $first -lt "$(nproc)" ]; do dealt $first & first=$((first + 1)); done
wait
if same_as_here; then echo "ok same_as_here"; else echo "not ok same_as_here: $why"; fi
