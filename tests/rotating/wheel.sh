# pip install . into an empty virtual environment, and the Python lines of README.md there; the same with the wheel of `make wheel` on an older
# Debian without development packages.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

test_pip_install() {
    python3 -m venv venv > log 2>&1 || { skip pip_install "no venv in this python3: $(tail -1 log)"; return 0; }
    venv/bin/pip install -q "$root" pandas > log 2>&1 || { fail "pip install: $(tail -3 log)"; return 1; }
    [ "$(venv/bin/python -c 'import cospec; print(cospec.__version__)')" = "$("$COSPEC" --version | cut -d' ' -f2)" ] || { fail "another version than the program"; return 1; }
    [ "$(venv/bin/cospec --version)" = "$("$COSPEC" --version)" ] || { fail "the package's program is another"; return 1; }
    exits 0 venv/bin/cospec data list && exits 0 venv/bin/pip show cospec || return 1
    for line in 'Name: cospec' "Version: $("$COSPEC" --version | cut -d' ' -f2)" 'Summary: Co-occurrence spectra' "Author: $(sed -n 's/^  - name: "\(.*\)"$/\1/p' "$root/CITATION.cff" | head -1)" "License: $(sed -n 's/^license: //p' "$root/CITATION.cff")" 'Requires: numpy, scipy'; do
        grep -q "^$line" out || { fail "pip show lacks '$line': $(cat out)"; return 1; }
    done
    venv/bin/python -m doctest "$root/README.md" > out 2>&1 || { fail "README.md: $(tail -5 out)"; return 1; }
    # the module's own comparisons with numpy and scipy
    PYTHON=$PWD/venv/bin/python sh "$root/tests/cli/python.sh" > out 2> err
    ! grep -v '^ok ' out || fail "$(cat out)"
}

# The root file system of the older Debian has python3 and WordNet only. Its Python takes packages that pip outside has fetched.
test_older_system() {
    command -v debootstrap > /dev/null && [ "$(id -u)" = 0 ] || { skip older_system "needs root and debootstrap"; return 0; }
    make -s -C "$root" wheel > log 2>&1 || { fail "make wheel: $(tail -3 log)"; return 1; }
    mirror=$(awk '$1 == "deb" { print $2; exit }' "$root/build/wheel/root/etc/apt/sources.list")
    debootstrap --variant=minbase --include=python3-venv,wordnet-base bullseye old "$mirror" > log 2>&1 || { fail "debootstrap: $(tail -3 log)"; return 1; }
    mkdir -p old/wheels old/pictures/a && cp "$root"/build/wheel/*.whl old/wheels && cp "$root/README.md" old && cp "$root"/tests/fuzz/regressions/picture/ok-*.tiff old/pictures/a || return 1
    "$root/build/wheel/fetch/bin/pip" download -q -d old/wheels --only-binary :all: --implementation cp --python-version 3.9 --platform "manylinux2014_$(uname -m)" \
        --platform "manylinux_2_17_$(uname -m)" numpy scipy > log 2>&1 || { fail "pip download: $(tail -3 log)"; return 1; }
    cat > old/try <<'END'
set -e
cd /tmp
python3 -m venv venv
venv/bin/pip install -q --no-index --find-links /wheels cospec
venv/bin/cospec --version
venv/bin/cospec demo > demo.txt
tail -1 demo.txt
venv/bin/python -m doctest /README.md
venv/bin/cospec data stats /pictures --size 4x4
venv/bin/pip show -f cospec
END
    # The loader finds the libraries of a program through /proc. No variable names the program of this build.
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 unshare --mount --pid --fork sh -c 'mount -t proc proc old/proc && chroot old sh /try' > out 2> err || { fail "$(tail -3 out) $(tail -3 err)"; return 1; }
    for line in "$("$COSPEC" --version)" '  cospec help' 'Name: cospec' '  cospec/bin/cospec' '  cospec/share/cospec/plots/head.html'; do
        grep -qxF -- "$line" out || { fail "lacks '$line': $(head -30 out)"; return 1; }
    done
    find "$root/build/wheel" -name '*-py3-none-manylinux_2_2[0-8]_*.whl' | grep -q . || fail "glibc later than 2.28: $(ls "$root/build/wheel")"
}

run_tests
