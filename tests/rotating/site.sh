# The HTML site of `make docs` in a browser, from disk, at two widths: a search finds its page first, equations are drawn, and
# nothing reaches beyond the page.
. tests/rotating/lib.sh
site=$root/build/docs/html

# Packages that are missing are named, before anything is written.
test_missing_packages() {
    mkdir fake bin && echo 'raise ImportError' > fake/sphinx.py
    for tool in dirname mkdir; do ln -s "$(command -v $tool)" bin; done
    sh=$(command -v sh)
    PATH=$PWD/bin PYTHONPATH=$PWD/fake "$sh" "$root/docs/site.sh" site 0 > out 2> err
    [ $? = 1 ] && says "docs: missing packages; run as root: apt-get install" && grep -q ' python3-sphinx' err && grep -q ' doxygen' err && [ -z "$(ls site)" ] || fail "$(cat out err)"
}

test_build() {
    sh "$root/docs/site.sh" "$root/build/docs" "$("$COSPEC" --version | cut -d' ' -f2)" > log 2>&1 || fail "$(tail -3 log)"
}

test_search() {
    command -v chromium > /dev/null || { skip search "no chromium"; return 0; }
    for width in 1200 400; do
        found=$(in_frame $width "$site/search.html?q=effective+rank" 'd.querySelector("#search-results li a").getAttribute("href").split("?")[0]')
        case $found in
        docs/explanation/effective-rank.html*) ;;
        *) fail "$width pixels: the first result is '$found': $(tail -1 err)"; return 1 ;;
        esac
    done
}

# Pages with wide tables, long code, displayed equations, the reference of C functions, and a notebook.
test_nothing_is_cut() {
    command -v chromium > /dev/null || { skip nothing_is_cut "no chromium"; return 0; }
    for page in docs/index README docs/explanation/effective-rank docs/explanation/theorem-4-2 docs/reference/cli docs/reference/metrics docs/reference/statements docs/reference/c/linalg docs/notebooks/audit-a-theorem; do
        for width in 1200 400; do
            set -- $(in_frame $width "$site/$page.html" 'd.documentElement.scrollWidth + " " + d.querySelectorAll(".math").length + " " + d.querySelectorAll(".math svg").length + " " + d.querySelectorAll(".merror, .MathJax_Error").length')
            [ "$#" = 4 ] || { fail "$page: no measure: $(tail -1 err)"; return 1; }
            [ "$1" -le $width ] || { fail "$page is $1 pixels wide in $width"; return 1; }
            [ "$3" -ge "$2" ] && [ "$4" = 0 ] || { fail "$page draws $3 of $2 equations, with $4 errors"; return 1; }
        done
    done
}

check missing_packages
check build
check search
check nothing_is_cut
