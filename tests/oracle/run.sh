#!/bin/sh
# Development-time checks against numpy, scipy, scikit-learn and brute force (tests/oracle/*_oracle.py), and of models against torch and
# transformers (*_parity.py). Nothing in them is shared with the C sources: they are written from docs/explanation, the papers and
# the headers. Prints "ok", "not ok" and "skip" lines and their sum.
# usage: COSPEC=build/release/cospec [PYTHON=/usr/bin/python3] [TORCH_PYTHON=python3] sh tests/oracle/run.sh [AREA...]
set -u
: "${COSPEC:?}"
PYTHON=${PYTHON:-/usr/bin/python3}
TORCH_PYTHON=${TORCH_PYTHON:-python3}
OPENBLAS_NUM_THREADS=1
PYTHONDONTWRITEBYTECODE=1
export COSPEC OPENBLAS_NUM_THREADS PYTHONDONTWRITEBYTECODE
here=$(dirname "$0")
areas=${*:-toy cooc shards svd forms words verify verify43 connectivity feature_connectivity multiplicity certify tokenizer tokenizer_kinds tokenizer_folder tokenizer_classes model huggingface families published config_keys skipped_keys pictures picture_files processor features finetune spans rank probe align predictors mask_rank density moments design tables}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# Runs one area's script; a line "skip" when its Python lacks what it needs (Debian: python3-sklearn, python3-pandas; the rest is PyPI's).
run_area() {
    script=$here/$1_parity.py with=$TORCH_PYTHON
    [ -f "$script" ] || { script=$here/$1_oracle.py with=$PYTHON; }
    needs='numpy, scipy, sklearn'
    case $1 in
        model) needs='numpy, torch' ;;
        huggingface | families | published | skipped_keys | pictures) needs='numpy, torch, transformers, safetensors' ;;
        config_keys) needs='transformers' ;;
        processor) needs='numpy, torch, transformers, safetensors, PIL' ;;
        features | finetune | spans) needs='numpy, torch, transformers, safetensors, tokenizers' ;;
        tokenizer_folder | tokenizer_classes) needs='numpy, tokenizers, transformers' with=$TORCH_PYTHON ;;
        # Hugging Face's packages come from PyPI, seldom to Debian's Python.
        tokenizer | tokenizer_kinds) needs='numpy, tokenizers'; "$with" -c 'import tokenizers' 2> /dev/null || with=$TORCH_PYTHON ;;
        picture_files) needs='numpy, PIL' with=$TORCH_PYTHON ;;
        tables) needs='numpy, scipy, sklearn, pandas' ;;
    esac
    if "$with" -c "import $needs" 2> /dev/null; then "$with" "$script"; else echo "skip $1: $with lacks one of $needs"; fi
}

for area in $areas; do
    run_area "$area" > "$out.area" 2>&1
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
