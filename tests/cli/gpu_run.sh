# tests/gpu/run without a GPU: its plan, and what it makes of programs that fail, hang or are not there. The programs that it calls are
# stubs in a folder as make gpu-bundle writes it, then the real ones on the emulated plug-in.
gpu=$PWD/tests/gpu
. tests/cli/lib.sh
build=$(dirname "$COSPEC") emulated=$(dirname "$COSPEC")/tests/cuda_emulation/cospec-emulated.so

# A program of the bundle that replies with the given cases.
stub() { printf '#!/bin/sh\ncase "$*" in\n%s\n*) echo "ok all of it" ;;\nesac\n' "$2" > "$1"; chmod +x "$1"; }

# stubs TEST_GPU TEST_SVD TRAIN
stubs() {
    mkdir -p bin tests/cli share && cp "$gpu/run" . && cp "$gpu/bench_torch.py" "$gpu/bench_svd.py" . && : > share/trainer_parity.json
    stub bin/test_gpu "$1" && stub bin/test_svd "$2" && stub bin/cospec "" && printf '%s\n' "$3" > tests/cli/train_cuda.sh && echo 'echo "ok svd"' > tests/cli/svd_cuda.sh
    unset COSPEC_PLUGIN
}
runs() { exits "$1" env OUT="$PWD/kept" SHORTER="${SHORTER:-1}" ./run "$2"; }

test_plan() {
    stubs "" "" ""
    exits 0 ./run --dry-run && [ ! -e gpu-out ] || return 1
    # limits of steps add up to those of parts, each within a command of 600 s, 23 minutes in all
    awk '/^[ABCD]$/ { part = part $1; sum = 0; next } / in all$/ { if ($1 != sum || sum > 600) bad = 1; all += sum; next } / for / { total = $1; next } { sum += $1; if ($1 < 10) bad = 1 }
        END { exit bad || part != "ABCD" || total != all || all > 23 * 60 }' out || { fail "$(cat out)"; return 1; }
    exits 0 ./run --dry-run B && ! grep -q sanitizer out && exits 2 ./run E && says "E is not A, B, C, D"
}

test_all_well() {
    stubs "" "" 'echo "ok train"'
    runs 0 A && grep -q '^12 passed, 0 failed, 0 skipped$' out && [ "$(grep -c '^ok ' kept/gpu-A.log)" = 12 ] && ! grep -q '^ok ' out || fail "$(cat out)"
}

# Lines "not ok" count although the programs exit 0; so do exit codes without a line; reasons are kept; what is after a failure runs.
test_failures() {
    stubs '"agree fp32-own"*|"agree bf16-own"*) echo "ok agree" ;; agree*) echo "why: too far off" >&2; exit 1 ;;
"check bf16 "*) echo "ok a"; echo "not ok b: reason"; echo "not ok c: other reason" ;; parity*) exit 0 ;; device) echo stub ;;' \
        'check*) echo "ok d"; kill -9 $$ ;;' 'echo "not ok train: losses apart"; exit 0'
    runs 1 A || return 1
    # agree fp32, agree bf16, agree bf16-searched; two of check; parity ran nothing; svd died; train
    grep -q '^7 passed, 8 failed, 0 skipped$' out && grep -q 'why: too far off' out && grep -q 'not ok c: other reason' kept/gpu-A.log && grep -q '^FAILED parity.*nothing ran' out &&
        grep -q '^FAILED svd check.*: exit status 137' out && tail -1 kept/gpu-A.log | grep -q 'passed, 8 failed' || fail "$(cat out)"
}

# A step that hangs takes its own time only.
test_hangs() {
    stubs 'check*bf16-launched*) echo "ok before"; sleep 30; echo "ok never" ;;' "" 'echo "ok train"'
    SHORTER=10
    runs 1 A && unset SHORTER && grep -q 'FAILED check: .*bf16-launched: more than 2 s' out && grep -q '^12 passed, 1 failed' out && grep -q '^ok before' kept/gpu-A.log || fail "$(cat out)"
}

# A process that a step leaves behind may hold its output open; a peer that skips a part and then dies has failed.
test_left_behind() {
    stubs 'agree*) echo "ok agree"; setsid sleep 20 & exit 0 ;;
check*) printf half; echo "not ok b" ;;' "" 'echo "ok train"'
    start=$(date +%s)
    runs 1 A && [ $(($(date +%s) - start)) -lt 20 ] && grep -q '^8 passed, 4 failed, 0 skipped$' out || { fail "$(cat out)"; return 1; }
    mkdir -p tools && printf '#!/bin/sh\ncase "$*" in *bench*) echo "SKIP CuPy: none"; kill -SEGV $$ ;; esac\n' > tools/python3 && chmod +x tools/python3
    exits 1 env PATH="$PWD/tools:$PATH" OUT="$PWD/kept" ./run D && grep -q '^6 passed, 3 failed, 3 skipped$' out && grep -q 'FAILED sparse, peers: exit status 139' out || { fail "$(cat out)"; return 1; }
    printf '#!/bin/sh\necho "SKIP CuPy: none"\n' > tools/python3
    exits 0 env PATH="$PWD/tools:$PATH" OUT="$PWD/kept" ./run D && grep -q '^6 passed, 0 failed, 3 skipped$' out || fail "$(cat out)"
}

# An error found by the sanitizer is a failure whatever the exit status; our library path is for our programs alone.
test_sanitizer() {
    stubs 'check*) echo "$LD_LIBRARY_PATH" > path; echo "ok x" ;;' 'check*) echo "ok y"; echo "========= RACECHECK SUMMARY: 4 hazards displayed (4 errors, 0 warnings)" ;;' ""
    mkdir -p tools nvidia/cu13/lib
    printf '#!/bin/sh\necho "${LD_LIBRARY_PATH:-none}" >> sanitizer\nwhile [ "$1" != env ]; do shift; done\nexec "$@"\n' > tools/compute-sanitizer
    chmod +x tools/compute-sanitizer
    exits 1 env PATH="$PWD/tools:$PATH" PYTHONPATH="$PWD" OUT="$PWD/kept" ./run C && grep -q '^6 passed, 2 failed, 0 skipped$' out && grep -q "$PWD/lib:$PWD/nvidia/cu13/lib\|$PWD/nvidia/cu13/lib" path &&
        [ "$(sort -u sanitizer)" = none ] || fail "$(cat out path sanitizer)"
}

test_no_device() {
    stubs 'device) echo "SKIP no GPU: none"; exit 77 ;;' "" ""
    runs 0 A && [ "$(cat out)" = "SKIP no GPU: none" ] && [ ! -e kept ] || return 1
    stubs 'device) echo "not ok, the device is there but cuBLASLt is not"; exit 1 ;;' "" ""
    runs 1 A && grep -q '^FAILED the device: exit status 1' out && grep -q 'cuBLASLt is not' out || fail "$(cat out)"
}

# The programs themselves: a case that aborts does not end the later ones, and is counted.
test_programs() {
    [ -x "$build/tests/gpu/test_gpu" ] && [ -f "$emulated" ] || { skip programs "test_gpu or the emulation is not built"; return 0; }
    COSPEC_PLUGIN=$emulated; export COSPEC_PLUGIN
    for mode in fp32-own bf16-own fp32 bf16 bf16-searched; do
        exits 0 "$build/tests/gpu/test_gpu" agree $mode 1 32 2 50 4 8 $mode $([ $mode = fp32-own ] || echo fp32-own) && grep -q "^ok agree, $mode" out || { fail "$why $(cat out)"; return 1; }
    done
    exits 1 "$build/tests/gpu/test_gpu" agree fp32 1 32 2 50 4 9 other fp32-own && grep -q '^not ok, fp32-own does not hold' out || return 1
    exits 0 "$build/tests/gpu/test_gpu" check bf16-own linear && grep -q '^bf16-own: [0-9]* passed, 0 failed' out && exits 1 "$build/tests/gpu/test_gpu" check bf16 "no such case" || return 1
    exits 1 env COSPEC_EMULATED_BYTES=1000000 "$build/tests/gpu/test_gpu" check bf16-own linear && grep -q '^not ok .*ended by Aborted' out && tail -2 out | grep -q '^ok ' ||
        { fail "$(cat out)"; return 1; }
    exits 1 env COSPEC_EMULATED_WITHOUT=libcublasLt.so.13 "$build/tests/gpu/test_gpu" check bf16 linear && grep -q '^not ok, the device is there but .*cuBLASLt' out || return 1
    exits 0 env COSPEC_EMULATED_STRICT=1 "$build/tests/gpu/test_gpu" step bf16 1 32 2 50 4 8 2 && exits 1 env COSPEC_EMULATED_STRICT=1 "$build/tests/gpu/test_gpu" step bf16 1 36 2 50 4 8 2 &&
        grep -q '^not ok, cuBLASLt refuses product 108 x 32 x 36' out || { fail "$why $(cat out)"; return 1; }
    for what in step kernels; do exits 0 "$build/tests/gpu/test_gpu" $what bf16-searched 1 32 2 50 4 8 2 && grep -q bf16-searched out || { fail "$why $(cat out)"; return 1; }; done
    exits 0 "$build/tests/gpu/test_gpu" kernels bf16-own 1 32 2 50 4 8 2 && grep -q ' product$' out && exits 0 "$build/tests/gpu/test_gpu" step fp32 1 32 2 50 4 8 2 &&
        exits 0 "$build/tests/gpu/test_svd" check "61 x 37"
}

run_tests
