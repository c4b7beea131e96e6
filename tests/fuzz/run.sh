#!/bin/sh
# Each reader under libFuzzer for FUZZ_SECONDS (60), FUZZ_JOBS (1) at once: run.sh BUILD [READER...]. FUZZ_SHARE=I/N takes every
# N-th of all readers, from the I-th modulo N on.
# It begins with the kept inputs and small golden files and goes on from the corpus of the last run
# (BUILD/corpus/READER). What it finds is left in BUILD/found; once mended, the input goes to
# tests/fuzz/regressions/READER, where `make test` replays it. Exit 1 when anything was found.
set -u
build=$1; shift
seconds=${FUZZ_SECONDS:-60}
jobs=${FUZZ_JOBS:-1}
share=${FUZZ_SHARE:-0/1}
[ $# -gt 0 ] || set -- $("$build/fuzz" --list | awk -v i="${share%/*}" -v n="${share#*/}" '(NR - i) % n == 0')
export TMPDIR=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$TMPDIR"' EXIT
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=allocator_may_return_null=0

fuzz() { # READER
    reader=$1 corpus=$build/corpus/$1
    mkdir -p "$corpus" "$build/found"
    set -- tests/fuzz/regressions/"$reader"
    case $reader in
    config|model) mkdir -p "$build/golden/config"
        for f in tests/golden/models/*/config.json tests/golden/pictures/*/config.json; do
            cp "$f" "$build/golden/config/$(echo "$f" | tr / -)"; done
        set -- "$@" "$build/golden/config" ;;
    study) mkdir -p "$build/golden/study"; cp plots/*.json "$build/golden/study"; set -- "$@" "$build/golden/study" ;;
    tokenizer) mkdir -p "$build/golden/tokenizer"
        command -v jq > /dev/null && for kind in $(jq -r '.kinds | keys[]' tests/golden/tokenizer_kinds.json); do
            jq -c ".kinds[\"$kind\"].tokenizer" tests/golden/tokenizer_kinds.json > "$build/golden/tokenizer/$kind.json"; done
        set -- "$@" "$build/golden/tokenizer" ;;
    template) mkdir -p "$build/golden/template"; cp plots/*.html "$build/golden/template"; set -- "$@" "$build/golden/template" ;;
    esac
    log=$build/found/$reader.log
    if "$build/fuzz" --reader="$reader" -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512 \
        -print_final_stats=1 -artifact_prefix="$build/found/$reader-" -dict=tests/fuzz/words.dict "$corpus" "$@" > "$log" 2>&1; then
        echo "ok $reader: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, $(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -1) edges"
        rm -f "$log"
    else
        : > "$TMPDIR/found"
        echo "not ok $reader: $(grep -m1 -E 'ERROR|SUMMARY|status [0-9]|runtime error|fixture' "$log"), see $log"
    fi
}

running=0
for reader in "$@"; do
    fuzz "$reader" &
    running=$((running + 1))
    [ $running -lt "$jobs" ] || { wait; running=0; }
done
wait
[ ! -e "$TMPDIR/found" ]
