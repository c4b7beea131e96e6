#!/bin/sh
# Runs the suites named (unit, cli, layers), prints each test's line, and closes with "N passed, N failed, N skipped".
# Each cmocka program reports itself; a program that dies counts as one failure. Cli tests are tests/cli/*.sh, each a function
# library over tests/cli/lib.sh that prints "ok NAME", "not ok NAME: why" or "skip NAME: why" lines.
set -u
: "${BUILD:?}" "${COSPEC:?}"
export COSPEC
passed=0 failed=0 skipped=0
work=$(mktemp -d)
: > "$work/failures"
trap 'rm -rf "$work"' EXIT

count() { grep -c "$1" "$2" || true; }

# Failures again at the end, where they are seen: their lines and the last of what the program said.
keep() { { grep '^not ok ' "$work/out" | grep -v '# SKIP' | sed "s|^|$1: |"; tail -5 "$work/err"; } >> "$work/failures"; }

run_unit() {
    for program in "$BUILD"/tests/test_*; do
        case "$program" in *.o|*.d) continue ;; esac
        name=$(basename "$program")
        # TAP gives one line a test whatever happens to the others.
        CMOCKA_MESSAGE_OUTPUT=TAP "$program" > "$work/out" 2> "$work/err"
        status=$?
        # cmocka marks a skipped test "not ok N # SKIP".
        ok=$(count '^ok ' "$work/out"); bad=$(count '^not ok ' "$work/out"); skip=$(count '^not ok .*# SKIP' "$work/out")
        bad=$((bad - skip))
        if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; echo "not ok $name died with status $status"; fi
        passed=$((passed + ok)); failed=$((failed + bad)); skipped=$((skipped + skip))
        echo "$name: $ok passed, $bad failed, $skip skipped"
        if [ "$bad" != 0 ]; then cat "$work/out" "$work/err"; keep "$name"; else grep '# SKIP' "$work/out"; fi
    done
}

run_cli() {
    for script in tests/cli/*.sh; do
        name=$(basename "$script" .sh)
        [ "$name" = lib ] && continue
        sh "$script" > "$work/out" 2> "$work/err"
        status=$?
        ok=$(count '^ok ' "$work/out"); bad=$(count '^not ok ' "$work/out"); skip=$(count '^skip ' "$work/out")
        if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; echo "not ok $name died with status $status"; fi
        passed=$((passed + ok)); failed=$((failed + bad)); skipped=$((skipped + skip))
        echo "cli/$name: $ok passed, $bad failed, $skip skipped"
        if [ "$bad" != 0 ]; then grep -v '^ok ' "$work/out"; tail -20 "$work/err"; keep "cli/$name"; else grep '^skip ' "$work/out"; fi
    done
}

run_layers() {
    if sh tests/layers.sh; then passed=$((passed + 1)); echo "layers: 1 passed"; else failed=$((failed + 1)); echo "not ok layers" | tee -a "$work/failures"; fi
}

for suite in "$@"; do "run_$suite"; done
cat "$work/failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ $((passed + skipped)) -gt 0 ]
