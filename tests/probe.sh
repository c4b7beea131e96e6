#!/bin/sh
# Compiles and links one line against each library; says what is off and why. usage: probe.sh BUILD_DIR
# The stamp holds the request and, a line each, the headers that were found: while all of them exist, nothing is compiled again.
set -eu
dir=$1/probe
stamp=$dir/ok
nvcc=${NVCC:-nvcc}
mpicc=${MPICC:-mpicc}
asked="${CC:-cc} ${CUDA:-auto} ${CUDA_ARCHS:-} ${CI:-} ${MPI:-auto} $(command -v "$nvcc" || true) $(command -v "$mpicc" || true)"
still_holds() {
    [ -f "$stamp" ] && [ -f "$dir/cuda" ] && [ -f "$dir/mpi" ] && [ "$stamp" -nt tests/probe.sh ] && [ "$stamp" -nt tests/cuda_options.sh ] || return 1
    {
        IFS= read -r line && [ "$line" = "$asked" ] || return 1
        while read -r line; do [ -f "$line" ] || return 1; done
    } < "$stamp"
}
if still_holds; then exit 0; fi
mkdir -p "$dir"
: > "$dir/headers"
missing=
# Without these two every library would be missing.
end() {
    echo "probe: $1 ('make deps' installs all that is needed on Debian)" >&2
    exit 1
}
echo 'int main(void) { return 0; }' > "$dir/t.c"
${CC:-cc} "$dir/t.c" -o "$dir/t" > "$dir/log" 2>&1 || end "the compiler ${CC:-cc} is missing or cannot compile and link, see $dir/log"
command -v pkg-config >/dev/null 2>&1 || end "pkg-config is missing"
# The plug-in needs nvcc with code for its cards and the header of cuBLASLt; the libraries are loaded at run time. It takes as long as all
# libraries together, so both are tried at once.
cuda_works() {
    printf '#include <cublasLt.h>\n__global__ void k(cublasLtHandle_t *h) { *h = nullptr; }\nint main() { k<<<1, 1>>>(nullptr); return (int)cudaGetLastError(); }\n' > "$dir/t.cu"
    # shellcheck disable=SC2046,SC2086
    { sh tests/cuda_options.sh "$nvcc" ${CUDA_ARCHS:-} > "$dir/cuda-options" && "$nvcc" $(cat "$dir/cuda-options") -cudart static "$dir/t.cu" -o "$dir/cuda-t"; } > "$dir/cuda.log" 2>&1
}
tried=
if [ "${CUDA:-auto}" != 0 ] && command -v "$nvcc" >/dev/null 2>&1; then cuda_works & tried=$!; fi
flags=$(pkg-config --cflags openblas lapacke freetype2 2>/dev/null || true) folders=$(pkg-config --libs-only-L openblas 2>/dev/null || true)
try() { # try PACKAGE HEADER CALL LIBS
    printf '#include <stdio.h>\n#include <%s>\nint main(void) { return (int)(sizeof(int) + (size_t)&%s) == 0; }\n' "$2" "$3" > "$dir/t.c"
    # shellcheck disable=SC2086
    if ${CC:-cc} -D_GNU_SOURCE -DPCRE2_CODE_UNIT_WIDTH=8 $flags -MD -MF "$dir/t.d" "$dir/t.c" -o "$dir/t" $folders $4 > "$dir/log" 2>&1; then
        tr -s ' \\\n' '\n' < "$dir/t.d" | grep "/$2\$" >> "$dir/headers" || true
    else
        echo "probe: cannot compile and link against <$2> ($4): install $1 (Debian), see $dir/$1.log" >&2
        cp "$dir/log" "$dir/$1.log"
        missing="$missing $1"
    fi
}
try libopenblas-dev cblas.h openblas_set_num_threads -lopenblas
try liblapacke-dev lapacke.h LAPACKE_dgesdd -llapacke
try libarpack2-dev arpack/arpack.h dsaupd_c -larpack
try libjansson-dev jansson.h json_object -ljansson
try zlib1g-dev zlib.h inflate -lz
try libxxhash-dev xxhash.h XXH3_128bits_withSeed -lxxhash
try libutf8proc-dev utf8proc.h utf8proc_iterate -lutf8proc
try libpcre2-dev pcre2.h pcre2_match_8 -lpcre2-8
try nettle-dev nettle/sha2.h nettle_sha256_init -lnettle
try libpng-dev png.h png_create_read_struct -lpng
try libjpeg62-turbo-dev jpeglib.h jpeg_read_header -ljpeg
try libtiff-dev tiffio.h TIFFClientOpen -ltiff
try libwebp-dev webp/demux.h WebPAnimDecoderNewInternal "-lwebp -lwebpdemux"
try libgif-dev gif_lib.h DGifGetImageDesc -lgif
try libfreetype-dev freetype/freetype.h FT_Init_FreeType -lfreetype
if [ -n "$missing" ]; then
    end "missing:$missing"
fi
echo 0 > "$dir/cuda"
if [ "${CUDA:-auto}" = 0 ]; then
    echo "probe: CUDA off (asked)"
elif [ -z "$tried" ]; then
    echo "probe: CUDA off ($nvcc is not on PATH)"
    [ "${CUDA:-auto}" != 1 ] || { echo "probe: CUDA=1 but $nvcc is not on PATH" >&2; exit 1; }
elif wait "$tried"; then
    echo "probe: CUDA on ($nvcc compiles and links for$(grep -o 'sm_[0-9]*' "$dir/cuda-options" | sed 's/^/ /' | tr -d '\n'))"
    echo 1 > "$dir/cuda"
else
    echo "probe: CUDA off ($nvcc cannot compile and link, see $dir/cuda.log)"
    [ "${CUDA:-auto}" != 1 ] || { echo "probe: CUDA=1 but $nvcc cannot build, see $dir/cuda.log" >&2; exit 1; }
fi
# The carrier of --mpi needs mpi.h behind the wrapper, and PARPACK.
mpi_works() {
    printf '#include <mpi.h>\n#include <arpack/parpack.h>\nint main(void) { return (int)(sizeof(MPI_Comm) + (size_t)&pdsaupd_c) == 0 || MPI_Init(0, 0); }\n' > "$dir/t.c"
    OMPI_CC=${CC:-cc} MPICH_CC=${CC:-cc} "$mpicc" -MD -MF "$dir/t.d" "$dir/t.c" -o "$dir/t" -lparpack > "$dir/mpi.log" 2>&1
}
echo 0 > "$dir/mpi"
if [ "${MPI:-auto}" = 0 ]; then
    echo "probe: MPI off (asked)"
elif ! command -v "$mpicc" >/dev/null 2>&1; then
    echo "probe: MPI off ($mpicc is not on PATH)"
    [ "${MPI:-auto}" != 1 ] || { echo "probe: MPI=1 but $mpicc is not on PATH" >&2; exit 1; }
elif mpi_works; then
    echo "probe: MPI on ($mpicc compiles and links with PARPACK)"
    tr -s ' \\\n' '\n' < "$dir/t.d" | grep "/mpi.h\$\|/parpack.h\$" >> "$dir/headers" || true
    echo 1 > "$dir/mpi"
else
    echo "probe: MPI off ($mpicc cannot compile and link with mpi.h and -lparpack; Debian: libopenmpi-dev libparpack2-dev; see $dir/mpi.log)"
    [ "${MPI:-auto}" != 1 ] || { echo "probe: MPI=1 but $mpicc cannot build, see $dir/mpi.log" >&2; exit 1; }
fi
{ echo "$asked"; cat "$dir/headers"; } > "$stamp"
