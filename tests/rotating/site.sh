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
    sh "$root/docs/site.sh" "$root/build/docs" "$COSPEC" > log 2>&1 || fail "$(tail -3 log)"
}

# Each public function and class of the Python module has a page with its signature, parameters, results and errors.
test_python_reference() {
    for name in $("$COSPEC" help --tables | sed -n 's/^   "name": "\(.*\)",$/\1/p') dimension read result picture cospecerror; do
        page=$site/docs/reference/python/$name.html
        [ -f "$page" ] || { fail "no page of $name"; return 1; }
    done
    for words in 'Parameters' 'Returns' 'Raises' 'row_norm' 'rank-blocks.csv'; do
        grep -q "$words" "$site/docs/reference/python/rank.html" || { fail "the page of rank lacks $words"; return 1; }
    done
}

# A query of a job finds its page first, at both widths for one of them.
test_search() {
    command -v chromium > /dev/null || { skip search "no chromium"; return 0; }
    while read -r query width page; do
        found=$(in_frame "$width" "$site/search.html?q=$query" 'd.querySelector("#search-results li a").getAttribute("href").split("?")[0]')
        case $found in
        docs/$page.html*) ;;
        *) fail "$query at $width pixels: the first result is '$found': $(tail -1 err)"; return 1 ;;
        esac
    done <<QUERIES
effective+rank 1200 explanation/effective-rank
effective+rank 400 explanation/effective-rank
MPI 1200 how-to/many-machines
my+model 1200 how-to/my-model
CKA 1200 explanation/effective-rank
wheel 1200 reference/python-api
GPU 1200 how-to/a-gpu
notebook 1200 how-to/from-python
cs_svd_compute 1200 reference/c/linalg
QUERIES
}

# On a page of 400 pixels nothing reaches beyond its edge, except in boxes that scroll; on every page.
test_nothing_overflows() {
    command -v chromium > /dev/null || { skip nothing_overflows "no chromium"; return 0; }
    pages=$(cd "$site" && find README.html docs -name '*.html' | sort | sed "s/.*/'&',/" | tr -d '\n')
    cat > sweep.html <<HTML
<body style="margin:0"><iframe id="f" style="width:400px;height:900px;border:0"></iframe>
<script>
function overflows(d, v) {
    for (const e of d.querySelectorAll(".rst-content *")) {
        const box = e.getBoundingClientRect(), style = v.getComputedStyle(e);
        if (!box.width || e.closest("svg, .MathJax_Preview, .MJX_Assistive_MathML")) continue;
        const text = style.overflowX === "visible" && style.display !== "inline" ? box.left + e.scrollWidth : 0;
        let scrolls = e;
        while (scrolls && !/auto|scroll/.test(v.getComputedStyle(scrolls).overflowX)) scrolls = scrolls.parentElement;
        if (Math.max(box.right, text) > 401 && !scrolls) return e.tagName + " '" + e.textContent.trim().slice(0, 40) + "'";
    }
    return "";
}
(async () => {
    const f = document.getElementById("f");
    let found = "";
    for (const page of [$pages]) {
        await new Promise(loaded => { f.onload = loaded; f.src = "file://$site/" + page; });
        await new Promise(settled => setTimeout(settled, 5000));
        const first = overflows(f.contentDocument, f.contentWindow);
        if (first) found += page + ": " + first + "; ";
    }
    document.body.insertAdjacentText("beforeend", "FOUND " + (found || "nothing").replace(/\s+/g, " ") + " END");
})();
</script></body>
HTML
    found=$(chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files --virtual-time-budget=3000000 --dump-dom "file://$PWD/sweep.html" 2> err |
        sed -n 's/.*FOUND \(.*\) END.*/\1/p' | tail -1)
    [ "$found" = nothing ] || fail "wider than 400 pixels: $found $(tail -1 err)"
}

# Pages with wide tables, long code, displayed equations, the reference of C functions, and a notebook.
test_nothing_is_cut() {
    command -v chromium > /dev/null || { skip nothing_is_cut "no chromium"; return 0; }
    for page in docs/index README docs/explanation/effective-rank docs/explanation/theorem-4-2 docs/reference/cli docs/reference/metrics docs/reference/statements docs/reference/c/linalg docs/reference/c/analysis-measures docs/reference/python/svd docs/notebooks/audit-a-theorem; do
        for width in 1200 400; do
            set -- $(in_frame $width "$site/$page.html" 'd.documentElement.scrollWidth + " " + d.querySelectorAll(".math").length + " " + d.querySelectorAll(".math svg").length + " " + d.querySelectorAll(".merror, .MathJax_Error").length')
            [ "$#" = 4 ] || { fail "$page: no measure: $(tail -1 err)"; return 1; }
            [ "$1" -le $width ] || { fail "$page is $1 pixels wide in $width"; return 1; }
            [ "$3" -ge "$2" ] && [ "$4" = 0 ] || { fail "$page draws $3 of $2 equations, with $4 errors"; return 1; }
        done
    done
}

run_tests
