#!/bin/sh
# Runs the suites named (unit, cli, layers, prose), prints each program's line, and closes with "N passed, N failed, N skipped".
# Programs run side by side, TEST_JOBS at a time (default: one more than there are processors, since cli/mpi mostly waits for its ranks;
# but no more than a quarter of the free memory suffices for), the slowest first.
#   unit   the cmocka programs of $BUILD/tests; one that dies counts as one failure
#   cli, rotating  tests/cli/*.sh and tests/rotating/*.sh, which print "ok NAME", "not ok NAME: why" or "skip NAME: why" lines (tests/cli/lib.sh)
#   layers tests/layers.sh; prose tests/prose.py: one test each
set -u
: "${BUILD:?}" "${COSPEC:?}"
export COSPEC BUILD
# Freed memory is kept and used again: to take it anew costs a page fault for each page.
export MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=4294967296
# Threads of OpenBLAS that have nothing to do sleep at once; by default they spin for longer than most commands take.
export OPENBLAS_THREAD_TIMEOUT=4
# Files are in memory where the system has a folder for that and it is large enough: their fsync waits for no disk.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$(df -k --output=avail /dev/shm 2> /dev/null | tail -1)" -ge 2000000 ]; then export TMPDIR=/dev/shm; fi
slow="cli/mpi cli/endings cli/pages cli/images_study cli/compare cli/examples cli/python cli/vit cli/verdicts cli/gpu_run test_cuda_emulation cli/study test_builder_large cli/demo cli/long cli/html cli/usage cli/neighbours cli/verify_trained cli/finetune cli/install cli/cooc cli/train_cuda cli/train cli/verify_qwem cli/verify_ntp cli/verify prose"

# run_one NAME: the program's line, with its output where something failed, printed at once; the counts go to $RUN/NAME.count.
run_one() {
    name=$1 key=$(echo "$1" | tr / -) start=$(date +%s)
    out=$RUN/$key.out err=$RUN/$key.err
    case $name in
    cli/*|rotating/*) sh "tests/$name.sh" > "$out" 2> "$err" ;;
    layers) sh tests/layers.sh > "$err" 2>&1 && echo "ok layers" > "$out" || echo "not ok layers" > "$out" ;;
    prose) /usr/bin/python3 tests/prose.py > "$err" 2>&1 && echo "ok prose" > "$out" || echo "not ok prose" > "$out" ;;
    # TAP gives one line a test whatever happens to the others.
    *) CMOCKA_MESSAGE_OUTPUT=TAP "$BUILD/tests/$name" > "$out" 2> "$err" ;;
    esac
    status=$?
    # cmocka marks a skipped test "not ok N # SKIP".
    set -- $(awk '/^not ok .*# SKIP|^skip / { ++skip; next } /^ok / { ++ok } /^not ok / { ++bad } END { print ok + 0, bad + 0, skip + 0 }' "$out")
    ok=$1 bad=$2 skip=$3
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; echo "not ok $name died with status $status" >> "$out"; fi
    echo "$ok $bad $skip" > "$RUN/$key.count"
    {
        echo "$name: $ok passed, $bad failed, $skip skipped ($(($(date +%s) - start)) s)"
        if [ "$bad" != 0 ]; then
            grep -v '^ok ' "$out"
            tail -20 "$err"
            # Failures again at the end, where they are seen.
            { grep '^not ok ' "$out" | grep -v '# SKIP' | sed "s|^|$name: |"; tail -5 "$err"; } > "$RUN/$key.failed"
        elif [ "$skip" != 0 ]; then
            grep '# SKIP\|^skip ' "$out"
        fi
    } > "$RUN/$key.text"
    cat "$RUN/$key.text"
}

if [ "$1" = --one ]; then run_one "$2"; exit 0; fi

names() {
    for suite in "$@"; do
        case $suite in
        unit) for p in "$BUILD"/tests/test_*; do case $p in *.o|*.d) ;; *) basename "$p" ;; esac; done ;;
        cli|rotating) for p in "tests/$suite"/*.sh; do case $p in */lib.sh) ;; *) echo "$suite/$(basename "$p" .sh)" ;; esac; done ;;
        *) echo "$suite" ;;
        esac
    done
}

RUN=$(mktemp -d)
export RUN
trap 'rm -rf "$RUN"' EXIT
trap 'exit 130' INT TERM
all=$(names "$@")
# Free memory in kB: of the machine, and what the limits of the control groups (version 1 or 2) leave.
root=${CGROUP_ROOT:-}
free=$(awk '/^MemAvailable:/ { print $2 }' "$root/proc/meminfo")
for group in $(sed -n 's/^0::/2:/p; s/^[0-9]*:[a-z,]*memory[a-z,]*:/1:/p' "$root/proc/self/cgroup" 2> /dev/null); do
    if [ "${group%%:*}" = 2 ]; then folder=$root/sys/fs/cgroup limit=memory.max usage=memory.current; else folder=$root/sys/fs/cgroup/memory limit=memory.limit_in_bytes usage=memory.usage_in_bytes; fi
    path=${group#*:}
    while :; do
        left=$(cat "$folder$path/$limit" "$folder$path/$usage" 2> /dev/null | awk -v free="$free" -v files="$(awk '$1 == "total_inactive_file" || $1 == "inactive_file" { n = $2 } END { print n + 0 }' "$folder$path/memory.stat" 2> /dev/null)" '{ x[NR] = $1 } END { left = int((x[1] - x[2] + files) / 1000); if (NR == 2 && x[1] + 0 > 0 && left < free) free = left; print free }')
        free=$left
        case $path in */*) path=${path%/*} ;; *) break ;; esac
    done
done
# The programs that need the most memory take some 400 MB; all that run at once need at most a quarter of what is free.
jobs=$(awk -v most="$(($(nproc) + 1))" -v free="$free" 'BEGIN { n = int(free / 4 / 400000); print n < 1 ? 1 : n < most ? n : most }')
if [ "$1" = --jobs ]; then echo "$jobs"; exit 0; fi
listed() { echo " $1 " | grep -q " $2 "; }
{
    for name in $slow; do listed "$(echo $all)" "$name" && echo "$name"; done
    for name in $all; do listed "$slow" "$name" || echo "$name"; done
} | xargs -P "${TEST_JOBS:-$jobs}" -n 1 sh "$0" --one
cat "$RUN"/*.failed 2> /dev/null
cat "$RUN"/*.count | awk '{ ok += $1; bad += $2; skip += $3 } END { print ok + 0 " passed, " bad + 0 " failed, " skip + 0 " skipped"; exit bad > 0 || ok + skip == 0 }'
