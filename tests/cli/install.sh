# make install into an empty root: everything the program needs at run time is there, and a program compiles against the library.
root=$(pwd)
. tests/cli/lib.sh

test_install() {
    make -s -C "$root" install DESTDIR="$PWD/root" PREFIX=/usr > out 2> err || { fail "make install: $(tail -3 err)"; return 1; }
    for f in "$root"/plots/* "$root"/data/*.sh "$root"/data/*.tsv; do
        [ -f "root/usr/share/cospec/${f#"$root"/}" ] || { fail "${f#"$root"/} is not installed"; return 1; }
    done
    [ -s root/usr/share/man/man1/cospec.1 ] && [ -s root/usr/share/bash-completion/completions/cospec ] || { fail "man page or completion is missing"; return 1; }
    [ "$(root/usr/bin/cospec --version)" = "$("$COSPEC" --version)" ] || fail "the installed program is another"
}

test_library() {
    make -s -C "$root" install DESTDIR="$PWD/root" PREFIX=/usr > out 2> err || { fail "make install: $(tail -3 err)"; return 1; }
    cat > use.c <<'EOF'
#include <stdio.h>
#include "toy/toy.h"
int main(void)
{
    cs_toy toy = {.objective = cs_objective_default(CS_OBJ_AR), .classes = 2, .length = 4, .tokens = 3};
    cs_toy_spectrum s = {0};
    if (cs_toy_reduce(&toy, &s) != CS_OK) {
        return 1;
    }
    printf("%lld\n", (long long)s.rank);
    cs_toy_spectrum_free(&s);
    return 0;
}
EOF
    export PKG_CONFIG_PATH="$PWD/root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$PWD/root"
    # shellcheck disable=SC2046 # word splitting is wanted
    cc use.c -o use $(pkg-config --cflags cospec) $(pkg-config --cflags openblas jansson) -L"$PWD/root/usr/lib" -lcospec 2> err || { fail "$(head -3 err)"; return 1; }
    [ "$(LD_LIBRARY_PATH="$PWD/root/usr/lib" ./use)" = 6 ] || fail "the program built against the library is wrong"
}

for name in install library; do check "$name"; done
