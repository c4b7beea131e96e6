# The cards that the CUDA plug-in has code for: those of CUDA_ARCHS, or those of docs/how-to/a-gpu.md.
options=$PWD/tests/cuda_options.sh source=$PWD/src/cuda/launch.cu include=$PWD/src build=$PWD/$BUILD page=$PWD/docs/how-to/a-gpu.md
. tests/cli/lib.sh
nvcc=${NVCC:-nvcc}

here() { command -v "$nvcc" > /dev/null || { skip "$1" "no nvcc"; return 1; }; }

# inside FILE: "elf 80", "ptx 80" for each machine code and PTX in it, once, in order. Read by its headers, which cuobjdump reads too;
# not every installation has that.
inside() {
    /usr/bin/python3 - "$1" <<'END' | sort -u
import struct, sys

data = open(sys.argv[1], "rb").read()
at = data.find(b"\x50\xed\x55\xba")
while at >= 0:
    _, header, size = struct.unpack_from("<HHQ", data, at + 4)
    entry, end = at + header, at + header + size
    while entry < end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, entry)
        print({1: "ptx", 2: "elf"}.get(kind, kind), *struct.unpack_from("<I", data, entry + 28))
        entry += header + size
    at = data.find(b"\x50\xed\x55\xba", end)
END
}
# named OPTIONS: the same of options of nvcc.
named() { echo "$1" | grep -o 'code=[a-z]*_[0-9]*' | sed 's/code=sm_/elf /; s/code=compute_/ptx /' | sort -u; }
like_cuobjdump() {
    ! command -v cuobjdump > /dev/null || cuobjdump --list-elf --list-ptx "$1" | sed -n 's/.*sm_\([0-9]*\)\.cubin$/elf \1/p; s/.*sm_\([0-9]*\)\.ptx$/ptx \1/p' | sort -u | cmp -s - b
}

test_plugin() {
    [ -f "$build/cospec-cuda.so" ] || { skip plugin "no plug-in"; return 0; }
    named "$(cat "$build/probe/cuda-options")" > a; inside "$build/cospec-cuda.so" > b
    [ "$(wc -l < a)" -ge 2 ] && cmp -s a b && like_cuobjdump "$build/cospec-cuda.so" || fail "$(paste a b)"
}

# One source for all cards; the plug-in of continuous integration has one.
test_cards_by_default() {
    here cards_by_default || return 0
    CI='' sh "$options" "$nvcc" > asked && named "$(cat asked)" > a
    # shellcheck disable=SC2046
    "$nvcc" -std=c++17 $(cat asked) -I"$include" -c "$source" -o o.o > log 2>&1 || { fail "$(cat log)"; return 1; }
    inside o.o > b
    cmp -s a b && like_cuobjdump o.o || { fail "$(paste a b)"; return 1; }
    # An nvcc older than a card leaves it out.
    "$nvcc" --list-gpu-code | sed 's/sm_/elf /' > known
    sed -n 's/^| \([0-9]*\)\.\([0-9]\) |.*/elf \1\2/p' "$page" | grep -Fxf known | sort > c
    [ -s c ] && grep elf a | cmp -s - c || fail "the page has $(paste -s c)"
}

test_choice() {
    here choice || return 0
    exits 0 sh "$options" "$nvcc" 90 86 && grep -q 'code=sm_86 .*code=sm_90 .*code=compute_86' out && grep -q PLUGIN_LOWEST=86 out || { fail "$(cat out)"; return 1; }
    CI=true sh "$options" "$nvcc" > out && [ "$(grep -o code= out | wc -l)" = 2 ] || { fail "$(cat out)"; return 1; }
    refuses 1 "75 is less than 80" sh "$options" "$nvcc" 75 && refuses 1 "cannot compile for 83" sh "$options" "$nvcc" 83 && refuses 1 "sm_90 is not a compute capability" sh "$options" "$nvcc" sm_90
}

run_tests
