# The Python module (src/python), where there is a python3 with numpy and scipy.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

test_module_against_numpy() {
    python=
    for p in "${PYTHON:-/usr/bin/python3}" python3; do
        if "$p" -c 'import numpy, scipy' 2> /dev/null; then python=$p; break; fi
    done
    [ -n "$python" ] || { skip module_against_numpy "no python3 with numpy and scipy"; return 0; }
    make -s -C "$root" install-python PYTHON="$python" PYTHON_SITE="$PWD/site" > log 2>&1 || { fail "make install-python: $(tail -3 log)"; return 1; }
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o m && exits 0 "$COSPEC" svd m -k 5 --vectors -o s &&
        exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked:mask-ratio=0.5 --context unique --max-length 6 -o g && exits 0 "$COSPEC" svd g -k 5 -o gs || return 1
    PYTHONPATH=site "$python" "$root/tests/oracle/python_module.py" s g gs > out 2> err && [ "$(cat out)" = ok ] || { fail "$(tail -3 err)"; return 1; }
    for script in inputs numbers; do
        mkdir $script && (cd $script && PYTHONPATH=../site COSPEC=$COSPEC "$python" "$root/tests/oracle/python_$script.py" > ../out 2> ../err)
        case $(cat out) in ok*) ;; *) fail "python_$script.py: $(cat out err | tail -3)"; return 1 ;; esac
    done
    mkdir commands && (cd commands && PYTHONPATH=../site "$python" "$root/tests/oracle/python_commands.py" "$COSPEC" "$root/tests/golden/models" > ../out 2> ../err)
    [ "$(cat out)" = ok ] || { fail "commands: $(cat out err | tail -3)"; return 1; }
}

# The module and the program are of one version. It needs no numpy where nothing is computed but imports it, so an empty module suffices.
test_version() {
    make -s -C "$root" install-python PYTHON=/usr/bin/python3 PYTHON_SITE="$PWD/site" > log 2>&1 || { fail "make install-python: $(tail -3 log)"; return 1; }
    /usr/bin/python3 -c 'import numpy' 2> /dev/null || printf 'float64 = int64 = int32 = None\n' > site/numpy.py
    want=$("$COSPEC" --version | cut -d' ' -f2)
    [ "$(PYTHONPATH=site /usr/bin/python3 -c 'import cospec; print(cospec.__version__)' 2> err)" = "$want" ] || fail "not $want: $(tail -1 err)"
    grep -q "^version: $want\$" "$root/CITATION.cff" && grep -q "^## $want " "$root/CHANGELOG.md" || fail "CITATION.cff or CHANGELOG.md has another version than $want"
}

run_tests
