# The notebooks of docs/notebooks run in a virtual environment, and print what is stored in them.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

test_run() {
    python3 -m venv venv > log 2>&1 || { skip run "no venv in this python3: $(tail -1 log)"; return 0; }
    venv/bin/pip install -q numpy scipy pandas matplotlib nbclient ipykernel > log 2>&1 || { fail "pip install: $(tail -3 log)"; return 1; }
    make -s -C "$root" install-python PYTHON="$PWD/venv/bin/python" > log 2>&1 || { fail "make install-python: $(tail -3 log)"; return 1; }
    venv/bin/python "$root/tests/notebooks.py" --run > out 2> err || fail "$(grep -v '^ok ' out)"
}

run_tests
