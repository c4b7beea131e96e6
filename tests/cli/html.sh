# inspect --html and toy --html: what is written and refused, and, in headless Chromium, that the pages show the numbers of the
# program, run no text of a corpus, and fit 400 pixels.
. tests/rotating/lib.sh

browser() { command -v chromium > /dev/null || { skip "$1" "no chromium"; return 1; }; }

# Words with markup, an end of a script, marks of direction, control characters and 10 kB.
hostile() {
    long=$(awk 'BEGIN { for (i = 0; i < 10000; ++i) printf "<" }')
    mark=$(printf '\342\200\256') line=$(printf '\342\200\250') bell=$(printf '\007')
    awk -v long="$long" -v mark="$mark" -v line="$line" -v bell="$bell" 'BEGIN { srand(5)
        n = split("</script><img/src=x/onerror=\"document.title=1\"> &lt;b&gt; {{data}} {{hash}} <!--<script> \"quote\\ a" mark "b a" line "b a" bell "b the cat sat on mat dog ran far away over hill " long, w, " ")
        for (i = 0; i < 400; ++i) { for (j = 0; j < 12; ++j) printf "%s ", w[1 + int(n * rand() * rand() + j % 3) % n]; print "" } }' > w.txt
    exits 0 "$COSPEC" cooc --corpus w.txt --tokenizer whitespace --objective ar --context nearest:1 --vocab all -o "$1" &&
        exits 0 "$COSPEC" cooc --corpus w.txt --tokenizer whitespace --objective permuted-ar --context each:3 --vocab all -o other
}

test_what_is_written() {
    m='<img src=x onerror=alert(1)>'
    hostile "$m" && exits 0 "$COSPEC" inspect "$m" --html p.html --dimensions 8 && says "wrote p.html" && grep -q '^heaviest row' out || return 1
    [ "$(grep -c 'default-src .none.; script-src .sha256-[A-Za-z0-9+/]*=*.;' p.html)" = 1 ] || { fail "no content policy"; return 1; }
    [ "$(grep -o '</script' p.html | wc -l)" = 2 ] && ! grep -q '<img\|https\{0,1\}://[^w]' p.html || { fail "markup of the corpus or a link"; return 1; }
    [ "$(LC_ALL=C grep '"matrices"' p.html | LC_ALL=C tr -d '[ -~]\n' | wc -c)" = 0 ] || { fail "data beyond ASCII"; return 1; }
    refuses 2 "p.html exists; --force overwrites it" "$COSPEC" inspect "$m" --html p.html &&
        exits 0 "$COSPEC" inspect "$m" --html p.html --force -q && refuses 2 "--against needs --html" "$COSPEC" inspect "$m" --against other &&
        refuses 3 "matrix.npz is not a page" "$COSPEC" inspect "$m" --html "$m/matrix.npz" --force && exits 0 "$COSPEC" svd "$m" -k 1 -q &&
        refuses 3 "no/p.html" "$COSPEC" inspect "$m" --html no/p.html && refuses 3 "is a device or pipe" "$COSPEC" toy --html /dev/full --force &&
        refuses 2 "--html cannot be combined with --similarity" "$COSPEC" inspect "$m" --html q.html --similarity x || return 1
    mkdir -p share/plots && echo '<p>' > share/plots/toy.html && refuses 3 "the template of the page has no {{head}}" env COSPEC_SHARE="$PWD/share" "$COSPEC" toy --html q.html || return 1
    printf 'x y\ny z\nz x\nx z\ny x\n' > x.txt && exits 0 "$COSPEC" cooc --corpus x.txt --objective ar --context nearest:1 -o x &&
        refuses 3 "the vocabularies have" "$COSPEC" inspect "$m" --html q.html --against x && [ ! -e q.html ] || fail "${why:-a page after a failure}"
}

# A token a row, of 10 kB each, and as many vectors as there are: a page has its limit.
test_size() {
    random_words 1500 60 8 | awk '{ for (i = 1; i <= NF; ++i) printf "%s<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<< ", $i; print "" }' > w.txt
    exits 0 "$COSPEC" cooc --corpus w.txt --tokenizer whitespace --objective ar --context nearest:1 --vocab all -o m -q &&
        exits 0 "$COSPEC" inspect m --html p.html --dimensions 200 --top 100 -q && holds "$(wc -c < p.html) < 5e6" && holds "$(wc -c < p.html) > 2e6"
}

# in_page PAGE CODE: what CODE yields, of a page 400 pixels wide.
in_page() { in_frame 400 "$PWD/$1" "(function () {
    var w = d.defaultView, at = function (id) { return d.getElementById(id); };
    var fits = function () { var e = d.documentElement; return e.scrollWidth <= e.clientWidth ? 'fits' : e.scrollWidth; };
    var set = function (id, value) { at(id).value = value; at(id).dispatchEvent(new w.Event('input')); };
    var rows = function (table) { return [].map.call(table.tBodies[0].rows, function (r) { return [].map.call(r.cells, function (c) { return c.textContent; }).join(' '); }).join(','); };
    $2 })()"; }

# printed WHAT FORMAT: texts and values of a list in `out`, as the page prints them.
printed() { sed 's/^"vector [0-9]*, \(.*\)"/\1/' out | awk -F, -v what="$1" -v as="$2" '$1 == what { printf "%s%s " as, sep, $4, $5; sep = "," }'; }

test_inspect_in_a_browser() {
    browser inspect_in_a_browser || return 0
    random_words 200 12 4 | tr 0-9 a-j > c.txt && exits 0 "$COSPEC" cooc --corpus c.txt --objective ar --context nearest:1 -o a &&
        exits 0 "$COSPEC" cooc --corpus c.txt --objective permuted-ar --context each:3 -o b &&
        exits 0 "$COSPEC" inspect a --against b --html p.html --dimensions 9 --top 5 -q || return 1
    in_page p.html "
        set('number', 3);
        var entries = function (table) { return rows(table).replace(/ [0-9.e-]+(,|\$)/g, '\$1'); };
        var tables = at('ends').querySelectorAll('table'), found = [entries(tables[0]), entries(tables[3])];
        set('query', 'wf');
        found.push(rows(at('item').querySelector('table')));
        found.push([].map.call(at('degrees').querySelectorAll('tbody tr'), function (r) { return Number(r.cells[1].textContent).toFixed(2); }).join(','));
        var paper = function () { return w.getComputedStyle(d.body).backgroundColor; }, before = paper();
        at('theme').click();
        found.push(paper() !== before ? 'dark' : 'light', fits(), d.documentElement.querySelectorAll('img, [onerror]').length);
        found.push([].every.call(d.querySelectorAll('input, select'), function (i) { return i.labels.length; }) ? 'labelled' : 'unlabelled');
        var second = at('spectrum').querySelectorAll('.two rect');
        found.push(second.length > 8 && [].every.call(at('spectrum').querySelectorAll('.one circle'), function (c, i) { return Number(second[i].getAttribute('x')) + 3 - Number(c.getAttribute('cx')) > 5; }) ? 'apart' : 'covered');
        var widths = function () { return [].map.call(d.querySelectorAll('#spectrum svg, #item svg, #angles svg'), function (f) { return f.viewBox.baseVal.width - d.body.clientWidth; }).join(); };
        var narrow = widths(); w.frameElement.style.width = '800px'; w.dispatchEvent(new w.Event('resize'));
        found.push(d.body.clientWidth > 700 && widths() === narrow && at('spectrum').querySelector('.chosen').hasAttribute('cx') ? 'redrawn' : widths());
        return found.join('|');" | sed 's/&[lg]t;/?/g' > found
    [ -s found ] || { fail "the page shows nothing: $(tail -1 err)"; return 1; }
    exits 0 "$COSPEC" inspect a --vector 3 --top 5 --csv -q && want="$(printed '+ context' '%#.4g')|$(printed '- token' '%#.4g')|" &&
        exits 0 "$COSPEC" inspect a --neighbours wf --dimensions 9 --csv -q && want="$want$(printed neighbour %.3f | sed 's/^[^,]*,//')|" || return 1
    k=$(cut -d'|' -f4 found | tr ',' '\n' | wc -l)
    exits 0 "$COSPEC" angles a b -k "$k" --csv -q && want="$want$(awk -F, 'NR > 1 { printf "%s%.2f", sep, $3; sep = "," }' out)|dark|fits|0|labelled|apart|redrawn"
    [ "$(cat found)" = "$want" ] || fail "$(cat found) is not $want"
}

# A symmetric form shows the signed eigenvalues of svd, and one value far above the others a logarithmic scale.
test_signed_values_in_a_browser() {
    browser signed_values_in_a_browser || return 0
    random_words 200 300 4 | tr 0-9 a-j > c.txt && exits 0 "$COSPEC" cooc --corpus c.txt --objective permuted-ar --context each:3:linear -o m &&
        exits 0 "$COSPEC" inspect m --form qwem --html p.html --dimensions 9 -q && exits 0 "$COSPEC" inspect m --html normal.html --dimensions 9 -q || return 1
    values="rows(at('values').querySelector('table')).replace(/ \u00b1 [^,]*/g, ''), at('spectrum').querySelectorAll('.hollow').length, at('spectrum').textContent.indexOf('logarithmic') > 0, at('signs').hidden"
    in_page p.html "set('number', 1); return [$values, at('ends').querySelector('p').textContent.slice(0, 3)].join('|');" > found
    exits 0 "$COSPEC" svd m --form qwem -k 9 --csv -q || return 1
    want=$(awk -F, 'NR > 1 { printf "%s%d %.12g", sep, $1, $2; sep = ","; below += $2 < 0 } END { printf "|%d|true|false|\316\273 =", below }' out)
    holds "$(awk -F, 'NR > 1 && $2 > 0' out | wc -l) > 0" && [ "$(sed 's/\.\{0,1\}0*\([,|]\)/\1/g' found)" = "$(echo "$want" | sed 's/\.\{0,1\}0*\([,|]\)/\1/g')" ] || fail "$(cat found) is not $want"
    in_page normal.html "return [$values].join('|');" > found; grep -q '^1 1.0*,.*|0|[a-z]*|true$' found || fail "normalised: $(cat found)"
}

test_no_text_of_a_corpus_runs() {
    browser no_text_of_a_corpus_runs || return 0
    hostile m && exits 0 "$COSPEC" inspect m --against other --html p.html --dimensions 6 --top 30 -q || return 1
    in_page p.html "
        set('query', '\x3c/script>\x3cimg'); set('number', 2);
        var shown = at('item').querySelector('bdi').textContent.length; set('query', 'no such text');
        return [d.title, d.images.length, shown, at('item').children.length, fits(), /a.u202eb/.test(d.body.textContent), /[\u202e\u0007]/.test(d.body.textContent)].join('|');" > found
    grep -q '^cospec: spectrum of a matrix|0|[1-9][0-9]*|0|fits|true|false$' found || fail "$(cat found) $(tail -1 err)"
}

# Closed forms of the page against those of the program, and against the moments of the matrix that it draws.
test_toy_in_a_browser() {
    browser toy_in_a_browser || return 0
    exits 0 "$COSPEC" toy --html p.html --unmasked 2 --length 4 --csv -q && sed -n 2p out | grep -q '^masked(unmasked=2),3,4,1,' || return 1
    refuses 2 "--html has sliders in place of sweeps" "$COSPEC" toy --html q.html --length 2:4:1 && refuses 2 "--html shows lengths" "$COSPEC" toy --html q.html --length 9 &&
        refuses 2 "--html shows masked" "$COSPEC" toy --html q.html --objective gvp --groups 2 --segmentation random && [ ! -e q.html ] || return 1
    in_page p.html "
        var found = [[at('objective').value, at('length').value, at('classes').value, at('ratio').value].join(' ')], bad = [];
        [].forEach.call(at('objective').options, function (o) { set('objective', o.value); for (var s = 2; s <= 8; ++s) [.1, .35, .5, .9].forEach(function (rho) {
            set('length', s); set('ratio', rho); set('classes', 2);
            var sums = at('sums').textContent.match(/[0-9.]+(?= from)/g).map(Number);
            if (!(Math.abs(sums[0] - sums[1]) < 1e-7)) bad.push([o.value, s, rho].join(' '));
            if (s % 3 === 2 && rho === .35) found.push(o.value + ' ' + s + ':' + [].map.call(at('values').querySelectorAll('tbody tr'), function (r) { return Number(r.cells[1].textContent).toFixed(9) + ' ' + r.cells[2].textContent; }).join(','));
        }); });
        return found.concat('bad ' + bad.join(','), fits()).join('|');" | tr '|' '\n' > found
    { echo 'masked 4 3 0.5'
      for objective in masked bernoulli-masked permuted-ar ar group-ar; do
          for s in 2 5 8; do
              case $objective in *masked) more="--mask-ratio 0.35" ;; group-ar) more="--t 2" ;; *) more= ;; esac
              "$COSPEC" toy --objective $objective $more --length $s --classes 2 --tokens 3 --method closed --csv -q |
                  awk -F, -v o="$objective $s:" 'NR == 1 { for (i = 1; i <= NF; ++i) c[$i] = i; next } { o = o sprintf("%s%.9f %d", sep, $c["sigma"], $c["multiplicity"]); sep = "," } END { print o }'
          done
      done
      printf 'bad \nfits\n'; } > want
    cmp -s found want || fail "$(diff found want | head -5)"
}

run_tests
