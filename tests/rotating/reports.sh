# The published reports in a browser 400 pixels wide: no element reaches beyond the page, and every figure is drawn.
. tests/rotating/lib.sh

test_nothing_is_cut() {
    command -v chromium > /dev/null || { skip nothing_is_cut "no chromium"; return 0; }
    for report in "$root"/docs/results/*/*/report.html; do
        set -- $(in_frame 400 "$report" 'd.documentElement.scrollWidth + " " + [].filter.call(d.images, function (i) { return !i.naturalWidth; }).length + " " + d.images.length')
        [ "$#" = 3 ] || { fail "$report: no measure: $(tail -1 err)"; return 1; }
        [ "$1" -le 400 ] && [ "$2" = 0 ] || { fail "$report: $1 pixels wide, $2 of $3 figures not drawn"; return 1; }
    done
}

run_tests
