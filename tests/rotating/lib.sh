# Sourced by the tests that open pages in a headless browser.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

# in_frame WIDTH FILE CODE: what CODE, JavaScript that has the document d of FILE in a frame of WIDTH pixels, yields once the page
# no longer changes; nothing where that fails, and then the browser's messages are in `err`.
in_frame() {
    cat > frame.html <<HTML
<body style="margin:0"><iframe id="f" src="file://$2" style="width:$1px;height:900px;border:0"></iframe>
<script>
setTimeout(function () {
    var d = document.getElementById("f").contentDocument;
    document.body.insertAdjacentText("beforeend", "FOUND " + ($3) + " END");
}, 15000);
</script></body>
HTML
    chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files --virtual-time-budget=25000 --dump-dom "file://$PWD/frame.html" 2> err |
        sed -n 's/.*FOUND \(.*\) END.*/\1/p' | tail -1
}
