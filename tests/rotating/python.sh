# The Python module: mypy --strict, numpydoc, Ctrl-C, scikit-learn, and tensors where torch is.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

test_types_and_interrupts() {
    python3 -m venv venv > log 2>&1 || { skip types_and_interrupts "no venv in this python3: $(tail -1 log)"; return 0; }
    venv/bin/pip install -q numpy scipy pandas scikit-learn numpydoc mypy pandas-stubs scipy-stubs > log 2>&1 || { fail "pip install: $(tail -3 log)"; return 1; }
    make -s -C "$root" install-python PYTHON="$PWD/venv/bin/python" > log 2>&1 || { fail "make install-python: $(tail -3 log)"; return 1; }
    printf 'import cospec\nprint(cospec.svd("m", k=3).frame.shape)\nreveal_type(cospec.features)\n' > use.py
    venv/bin/mypy --strict -p cospec > out 2>&1 && venv/bin/mypy --strict use.py >> out 2>&1 || { fail "mypy: $(tail -5 out)"; return 1; }
    grep -q 'layers: str | int | float' out || grep -q 'layers: Union' out || { fail "mypy does not see layers: $(tail -3 out)"; return 1; }
    for script in docstrings interrupt inputs numbers; do
        mkdir $script && (cd $script && ../venv/bin/python "$root/tests/oracle/python_$script.py" > ../out 2> ../err)
        [ "$(cat out)" = ok ] || { fail "python_$script.py: $(cat out err | tail -3)"; return 1; }
    done
    mkdir commands && (cd commands && ../venv/bin/python "$root/tests/oracle/python_commands.py" "$COSPEC" "$root/tests/golden/models" slow > ../out 2> ../err)
    [ "$(cat out)" = ok ] || { fail "commands: $(cat out err | tail -3)"; return 1; }
}

test_tensors() {
    python=${TORCH_PYTHON:-python3}
    "$python" -c 'import torch, scipy' 2> /dev/null || { skip tensors "no python with torch and scipy"; return 0; }
    make -s -C "$root" install-python PYTHON="$python" PYTHON_SITE="$PWD/site" > log 2>&1 || { fail "make install-python: $(tail -3 log)"; return 1; }
    PYTHONPATH=site "$python" "$root/tests/oracle/python_inputs.py" torch > out 2> err && [ "$(cat out)" = ok ] || fail "$(tail -3 err)"
}

run_tests
