# The published reports in a browser 400 pixels wide: no element reaches beyond the page, and every figure is drawn.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

# measure FILE: the page's scroll width and the widths of images that were not drawn, in a frame of 400 pixels.
measure() {
    cat > frame.html <<HTML
<body style="margin:0"><iframe id="f" src="file://$1" style="width:400px;height:800px;border:0"></iframe>
<script>
document.getElementById("f").onload = function () {
    var d = this.contentDocument, missing = [].filter.call(d.images, function (i) { return !i.naturalWidth; }).length;
    document.body.insertAdjacentText("beforeend", "MEASURED " + d.documentElement.scrollWidth + " " + missing + " " + d.images.length + " ");
};
</script></body>
HTML
    chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files --virtual-time-budget=20000 --dump-dom "file://$PWD/frame.html" 2> err |
        sed -n 's/.*MEASURED \([0-9]*\) \([0-9]*\) \([0-9]*\) .*/\1 \2 \3/p'
}

test_nothing_is_cut() {
    command -v chromium > /dev/null || { skip nothing_is_cut "no chromium"; return 0; }
    for report in "$root"/docs/results/*/*/report.html; do
        set -- $(measure "$report")
        [ "$#" = 3 ] || { fail "$report: no measure: $(tail -1 err)"; return 1; }
        [ "$1" -le 400 ] && [ "$2" = 0 ] || { fail "$report: $1 pixels wide, $2 of $3 figures not drawn"; return 1; }
    done
}

check nothing_is_cut
