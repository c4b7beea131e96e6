#!/bin/sh
# make bench: builds the timing program and runs it and its peers. BENCH_ARGS=--small is a quick run that leaves docs/results unchanged.
set -eu
: "${BUILD:?}" "${PYTHON:?}"
if ! "$PYTHON" -c 'import numpy, scipy' 2>/dev/null; then
    echo "bench: numpy and scipy are not installed for $PYTHON (Debian: python3-numpy python3-scipy); nothing measured" >&2
    exit 1
fi
out=docs/results
case " ${BENCH_ARGS:-} " in *" --small "*) out=$BUILD/bench ;; esac
# shellcheck disable=SC2086
exec "$PYTHON" tests/bench/bench.py "$BUILD/tests/bench/bench" "$out" ${BENCH_ARGS:-}
