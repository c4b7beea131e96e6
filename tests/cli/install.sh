# make install into an empty root: everything the program needs at run time is there, and a program compiles against the library.
root=$(pwd)
. tests/cli/lib.sh

test_install() {
    make -s -C "$root" install DESTDIR="$PWD/root" PREFIX=/usr > out 2> err || { fail "make install: $(tail -3 err)"; return 1; }
    for f in "$root"/plots/* "$root"/data/*.sh "$root"/data/*.tsv; do
        [ -f "root/usr/share/cospec/${f#"$root"/}" ] || { fail "${f#"$root"/} is not installed"; return 1; }
    done
    for f in man/man1/cospec.1 bash-completion/completions/cospec zsh/site-functions/_cospec fish/vendor_completions.d/cospec.fish; do
        [ -s root/usr/share/$f ] || { fail "share/$f is missing"; return 1; }
    done
    [ "$(root/usr/bin/cospec --version)" = "$("$COSPEC" --version)" ] || { fail "the installed program is another"; return 1; }
    grep -rlF "$root" root > found && { fail "the folder of the build is in $(head -3 found)"; return 1; }
    # nothing of it stays, and what is another's does: the Python module goes where it was put, and not with a prefix
    set -- DESTDIR="$PWD/root" PREFIX=/usr PYTHON_SITE=/usr/site
    make -s -C "$root" install-python "$@" > out 2> err && [ -s root/usr/site/cospec/__init__.py ] || { fail "make install-python: $(tail -3 err)"; return 1; }
    : > root/usr/site/other.py
    make -s -C "$root" uninstall "$@" > out 2> err && [ -s root/usr/site/cospec/__init__.py ] || { fail "make uninstall: $(tail -3 err) $(find root -type f)"; return 1; }
    make -s -C "$root" uninstall-python "$@" > out 2> err && [ "$(find root -type f -o -type l)" = root/usr/site/other.py ] || { fail "make uninstall-python: $(tail -3 err) $(find root -type f)"; return 1; }
    # of a prefix of one's own no empty folder stays either, and a file of another's does
    make -s -C "$root" install PREFIX="$PWD/own" > out 2> err && : > own/share/mine || { fail "make install: $(tail -3 err)"; return 1; }
    make -s -C "$root" uninstall PREFIX="$PWD/own" > out 2> err && [ "$(find own)" = "$(printf 'own\nown/share\nown/share/mine')" ] && rm own/share/mine &&
        make -s -C "$root" uninstall PREFIX="$PWD/own" > out 2> err && [ ! -e own/share ] || fail "make uninstall: $(tail -3 err) $(find own)"
}

# $own: the installation of a prefix that the tests below read.
own=$PWD/own
installed() {
    export PKG_CONFIG_PATH="$own/lib/pkgconfig"
    [ -d "$own" ] || make -s -C "$root" install PREFIX="$own" > out 2> err || fail "make install: $(tail -3 err)"
}

# Every public header compiles by itself, and all of them together from the first to the last and back, in C and in C++.
test_headers() {
    installed || return 1
    headers=$(cd "$own/include" && find cospec -name '*.h' | sort)
    echo "$headers" | grep '_private\.h$' && { fail "private headers are installed"; return 1; }
    for h in $headers; do
        echo "#include <$h>" | cc -std=c11 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags cospec) -xc - 2> err || { fail "$h alone: $(head -3 err)"; return 1; }
    done
    for order in sort 'sort -r'; do
        echo "$headers" | $order | sed 's/.*/#include <&>/' > all.h
        cc -std=c11 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags cospec) -xc all.h 2> err || { fail "$order: $(head -3 err)"; return 1; }
    done
    command -v c++ > /dev/null || return 0
    { echo 'extern "C" {'; cat all.h; echo '}'; } > all.cpp
    c++ -std=c++17 -fsyntax-only $(pkg-config --cflags cospec) all.cpp 2> err || fail "C++: $(head -3 err)"
}

# The example of docs/reference/c-api.md, with the flags of pkg-config and nothing else, on [2 1; 1 2], whose Abar is [2 1; 1 2] / 3: sigma is
# 1 and 1/3. And the program runs from where it was installed.
test_library() {
    installed || return 1
    unset LD_LIBRARY_PATH
    awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$root/docs/reference/c-api.md" > example.c
    cc -std=c11 -Wall -Wextra -Werror example.c -o example $(pkg-config --cflags --libs cospec) 2> err || { fail "$(head -3 err)"; return 1; }
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n1 2 1\n2 1 1\n2 2 2\n' > m.mtx
    exits 0 ./example m.mtx || return 1
    grep -q '^sigma_1 = 1.000000000000  residual' out && grep -q '^sigma_2 = 0.333333333333  residual' out && grep -q 'certificates: none failed' out ||
        { fail "the example prints $(head -c 300 out)"; return 1; }
    small_corpus c.tsv
    exits 0 ./example c.tsv && grep -q '^entropy_rank of these values: ' out || { fail "from a corpus: $(head -c 300 out)"; return 1; }
    exits 1 ./example none.mtx && grep -q 'none.mtx' err || return 1
    # Every object of the archive finds its functions in the libraries that pkg-config names.
    cc -std=c11 example.c -o whole -Wl,--whole-archive "$own/lib/libcospec.a" -Wl,--no-whole-archive $(pkg-config --cflags --static --libs cospec) 2> err || { fail "$(grep -m3 'undefined' err)"; return 1; }
    exits 0 ./whole m.mtx || return 1
    exits 0 "$own/bin/cospec" svd m.mtx -k 2 || return 1
    exits 0 "$own/bin/cospec" data list
}

run_tests
