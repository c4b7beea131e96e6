# pip install . into an empty virtual environment, and the Python lines of README.md there.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

test_pip_install() {
    python3 -m venv venv > log 2>&1 || { skip pip_install "no venv in this python3: $(tail -1 log)"; return 0; }
    venv/bin/pip install -q "$root" pandas > log 2>&1 || { fail "pip install: $(tail -3 log)"; return 1; }
    [ "$(venv/bin/python -c 'import cospec; print(cospec.__version__)')" = "$("$COSPEC" --version | cut -d' ' -f2)" ] || { fail "another version than the program"; return 1; }
    [ "$(venv/bin/cospec --version)" = "$("$COSPEC" --version)" ] || { fail "the package's program is another"; return 1; }
    exits 0 venv/bin/cospec data list && exits 0 venv/bin/pip show cospec || return 1
    for line in 'Name: cospec' "Version: $("$COSPEC" --version | cut -d' ' -f2)" 'Summary: Co-occurrence spectra' 'Author: The cospec authors' 'Requires: numpy, scipy'; do
        grep -q "^$line" out || { fail "pip show lacks '$line': $(cat out)"; return 1; }
    done
    grep -q '^License-Expression: MIT$' venv/lib/python3*/site-packages/cospec-*.dist-info/METADATA || { fail "the licence is missing"; return 1; }
    venv/bin/python -m doctest "$root/README.md" > out 2>&1 || { fail "README.md: $(tail -5 out)"; return 1; }
    # the module's own comparisons with numpy and scipy
    PYTHON=$PWD/venv/bin/python sh "$root/tests/cli/python.sh" > out 2> err
    ! grep -v '^ok ' out || fail "$(cat out)"
}

check pip_install
