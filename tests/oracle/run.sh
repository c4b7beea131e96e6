#!/bin/sh
# Development-time checks against numpy, scipy, scikit-learn and brute force (tests/oracle/*_oracle.py). Nothing in them is
# shared with the C sources: they are written from docs/theory.md. Prints "ok", "not ok" and "skip" lines and their sum.
# usage: COSPEC=build/release/cospec [PYTHON=/usr/bin/python3] sh tests/oracle/run.sh [AREA...]
set -u
: "${COSPEC:?}"
PYTHON=${PYTHON:-/usr/bin/python3}
OPENBLAS_NUM_THREADS=1
PYTHONDONTWRITEBYTECODE=1
export COSPEC OPENBLAS_NUM_THREADS PYTHONDONTWRITEBYTECODE
here=$(dirname "$0")
areas=${*:-toy cooc svd verify connectivity multiplicity tokenizer}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

if ! "$PYTHON" -c 'import numpy, scipy, sklearn' 2>/dev/null; then
    echo "skip oracle: $PYTHON lacks numpy, scipy or scikit-learn (Debian: python3-sklearn)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
for area in $areas; do
    with=$PYTHON
    # Hugging Face's packages come from PyPI, seldom to Debian's Python.
    if [ "$area" = tokenizer ] && ! "$PYTHON" -c 'import tokenizers' 2>/dev/null && python3 -c 'import numpy, tokenizers' 2>/dev/null; then
        with=python3
    fi
    "$with" "$here/${area}_oracle.py" > "$out.area" 2>&1
    status=$?
    cat "$out.area"
    cat "$out.area" >> "$out"
    if [ "$status" != 0 ] && ! grep -q '^not ok ' "$out.area"; then
        echo "not ok $area: ended with status $status" | tee -a "$out"
    fi
    rm -f "$out.area"
done
passed=$(grep -c '^ok ' "$out"); failed=$(grep -c '^not ok ' "$out"); skipped=$(grep -c '^skip ' "$out")
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
