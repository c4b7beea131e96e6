# Verdicts decided again from values.csv alone, by docs/results/verdicts.py (docs/results/study/README.md): of the published studies, and of
# a fresh one.
root=$(pwd)
. tests/cli/lib.sh
decide() { /usr/bin/python3 "$root/docs/results/verdicts.py" "$@"; }

# Every published study has its values, and they give its verdicts; a verdict or number that is not theirs is found.
test_published_studies() {
    for study in study/atlas study/cpu study/long study/neighbours study/repeat study-images/cpu study-images/long; do
        folder=$root/docs/results/$study
        [ "$(stat -c %s "$folder/values.csv.xz")" -le 3145728 ] || { fail "$study: $(ls -l "$folder/values.csv.xz")"; return 1; }
        exits 0 decide "$folder" && [ "$(grep -c ' rows, .* numbers, largest relative difference ' out)" = "$(ls "$folder"/claims*.csv "$folder"/correlations.csv "$folder"/counts.csv 2> /dev/null | wc -l)" ] || { fail "$study: $why $(cat out err)"; return 1; }
    done
    /usr/bin/python3 "$root/docs/results/paper_tables.py" "$root/docs/results/study-images/long" | cmp - "$root/docs/results/study-images/tables.md" || { fail 'tables.md is not what paper_tables.py writes'; return 1; }
    # a report is readable, has the words of its verdicts, and links to published files alone
    for report in "$root"/docs/results/study*/*/report.html; do
        for link in $(grep -o 'href="[^"#h][^"]*"' "$report" | sed 's/href="//; s/"$//' | sort -u); do [ -e "${report%/*}/$link" ] || { fail "$report links to $link"; return 1; }; done
        sed 's/data:image[^"]*//g; s/<[^>]*>/ /g' "$report" > text && ! grep -qi 'cannot tell\|no difference that matters' text && { [ ! -f "${report%/*}/claims.csv" ] || grep -q 'data-label="verdict"' "$report"; } || { fail "$report: $(grep -i 'cannot tell' text)"; return 1; }
        case $report in */cpu/*) ;; *) [ "$(wc -w < text)" -lt 12000 ] || { fail "$report: $(wc -w < text) words"; return 1; } ;; esac
    done
    sed '/^<h2 id="claims">/q' "$root/docs/results/study/long/report.html" > opening && [ "$(grep -c '^<li>' opening)" = 5 ] && grep -q '<td data-label="paper">MAE-LM</td>' opening || { fail "$(cat opening)"; return 1; }
    git -C "$root" ls-files 2> /dev/null | grep 'results\.tar\.xz$' && { fail "an archive is in the tree"; return 1; }
    cp "$root/docs/results/study/repeat/"*.csv* . && sed -i 's/^\(gains-sixteenth,.*,repetition,4,\)[^,]*,/\1.2,/' claims.csv
    exits 1 decide . && grep -q 'gains-sixteenth: p is 0\.000362.*, published .\.2' out && cp "$root/docs/results/study/repeat/claims.csv" . && exits 0 decide . || { fail "$why $(cat out err)"; return 1; }
    xz -dc values.csv.xz | sed '0,/^number,.*,,[0-9a-f]*,/s/^\(number,.*,,[0-9a-f]*,\)[^,]*,/\150,/' > values.csv && ! xz -dc values.csv.xz | cmp -s - values.csv && exits 1 decide . || fail "a value was changed: $why $(cat out err)"
}

# The condensed tables of images: a comment in each row names its claims, whose numbers, seeds and baselines it has. No heading of tables.md
# has two shares of hidden patches.
test_condensed_tables() {
    /usr/bin/python3 - "$root/docs/results/study-images" 2> err << 'EOF' || { fail "$(cat err)"; return 1; }
import csv, re, sys
folder, checked = sys.argv[1], 0
def cell(values):
    n = sorted(int(v) for v in values) if all(v.isdigit() for v in values) else []
    return values[0] if len(set(values)) == 1 else f"{n[0]} to {n[-1]}" if len(n) > 6 else "; ".join(values)
def check_numbers(text, values, row):
    for x in re.findall(r"-?\.\d+", text):
        assert any(abs(float(v) - float(x)) <= .5001 * 10 ** -len(x.split(".")[1]) for v in values), (x, row)
readme = open(f"{folder}/README.md").read().split("## Long study")
for text, study, columns in zip(readme, ("cpu", "long"), (5, 7)):
    claims = {r["claim"]: r for r in csv.DictReader(open(f"{folder}/{study}/claims.csv"))}
    for line in text.split("\n### Own claims")[0].split("\n"):
        assert not re.match(r"\| (LA|GVP|Table)\b", line) or "<!--" in line, line
    for line in text.split("\n"):
        named = re.search(r"^\| .* <!-- (.*) --> \|$", line)
        if not named:
            continue
        rows = [claims[name] for name in named[1].split()]
        cells = [c.strip() for c in re.sub("<!--.*-->", "", line).strip("|").split("|")]
        assert len(cells) == columns, line
        check_numbers(cells[1], [r["left_value"] for r in rows], line)
        check_numbers(cells[2], [r["right_value"] for r in rows], line)
        check_numbers(re.sub(r"\([^)]*\)", "", cells[3]), [r["difference"] for r in rows], line)
        seeds, baselines = cell([r["seeds"] for r in rows]), cell([r["baselines"] for r in rows])
        if study == "cpu":
            assert (seeds, baselines) == ("4", "not checked"), line
        else:
            assert (cells[4], cells[6]) == (seeds, baselines), (line, seeds, baselines)
        checked += 1
assert "baseline not checked |" in readme[0]
assert checked >= 50, checked
tables = open(f"{folder}/tables.md").read()
assert "hidden patches" not in tables and "ours, L2, 25 % hidden" in tables and "ours, L2, 75 % hidden" in tables
EOF
}

# Every claim with a threshold states the paper's own difference, and it is that of the numbers in its row: per cent, nats or L2.
test_effects_are_the_papers() {
    /usr/bin/python3 - "$root" 2> err << 'EOF' || { fail "$(cat err)"; return 1; }
import csv, json, math, re, sys
root, checked = sys.argv[1], 0
for name in "reproduce", "long", "images", "atlas", "repeat":
    for claim, c in json.load(open(f"{root}/plots/{name}.json"))["claims"].items():
        assert "matters" not in c or "effect" in c, (name, claim)
for folder in "study/long", "study-images/long":
    for row in csv.DictReader(open(f"{root}/docs/results/{folder}/claims.csv")):
        numbers = [float(x) for x in re.findall(r"(?<![\w=.])\d+\.\d+", row["paper"])[:2]]
        if row["effect"]:
            a, b = numbers
            of = math.log(a / b) if "nats" in row["metric"] else a - b if row["metric"].startswith("L2") else (a - b) / 100
            assert abs(abs(of) - float(row["effect"])) < 6e-5, row
            checked += 1
assert checked > 180, checked
EOF
}

# A fresh study: seeds, blocks of documents, pairs, baselines, budgets, equivalence, an exact p, an audit, correlations.
test_fresh_study() {
    small_corpus c.tsv; models=
    nll() { echo '{"label": "'$1'", "file": "p-'$1'-#/perplexity.csv", "value": "value where=metric:nll"}'; }
    ones() { echo '{"label": "'"$1"'", "file": "'"$1"'/toy.csv", "value": "multiplicity where=index:1", "exact": true}'; }
    claim() { name=$1 family=$2; shift 2; echo '"'$name'": {"source": "S, 1", "says": "-", "scope": "-", "family": "'$family'", '"$*"'}'; }
    for o in ar permuted-ar prefix-lm; do models="$models\"m-$o-#\": \"train --corpus $PWD/c.tsv --vocab 60 --layers 1 --width 8 --heads 1 --steps 3 --objective $o --seed #\", \"p-$o-#\": \"perplexity @m-$o-# $PWD/c.tsv\", "; done
    toy='"t-%": "toy --objective ar --classes % --length 4 --tokens 2", "f-ar.a": "toy --objective ar --classes 2 --length 4 --tokens 2", "f-permuted-ar.a": "toy --objective permuted-ar --classes 2 --length 4 --tokens 2", "f-prefix-lm.a": "toy --objective prefix-lm --classes 2 --length 4 --tokens 2", "v": "verify 3.1"'
    atlas='"corr": "correlate ar.a permuted-ar.a prefix-lm.a --runs 1,2,3 --predict loss=@p-*1-#/perplexity.csv,value,metric:nll --predict exact=@f-*/toy.csv,sum_sigma4 --outcome ppl=@p-*1-#/perplexity.csv,value,metric:perplexity --loss l=@p-*1-#/perplexity.csv,value,metric:nll"'
    over='"budgets": "2 3 4", "left": '$(ones 't-%')', "want": ">", "right": 8, "needs": [{"left": '$(ones 't-%')', "want": ">", "right": 7}, {"left": '$(ones f-ar.a)', "want": ">", "right": 99, "or": true}]'
    claims=$(claim better F '"left": '"$(nll ar)"', "want": "<", "right": '"$(nll permuted-ar)"', "matters": 0.05, "needs": [{"left": '"$(nll ar)"', "want": "<", "right": 9}]'),
    claims=$claims$(claim other F '"left": '"$(nll prefix-lm)"', "want": "<", "right": '"$(nll ar)"', "matters": 4, "needs": "-"'),
    claims=$claims$(claim third F '"left": '"$(nll permuted-ar)"', "want": ">", "right": '"$(nll prefix-lm)"', "needs": [{"left": '"$(nll ar)"', "want": ">", "right": 9}]'),
    claims=$claims$(claim pairs G '"left": '"$(nll ar)"', "want": "<", "right": '"$(nll permuted-ar)"', "paired": true, "needs": "-"'),
    claims=$claims$(claim weak G '"left": '"$(ones f-ar.a)"', "want": ">", "right": 1, "not_at": "cpu"'),
    claims=$claims$(claim small H '"budgets": "2 3 4", "left": '"$(ones 't-%')"', "want": ">", "right": 8, "not_at": "cpu", "needs": [{"left": '"$(ones f-ar.a)"', "want": ">", "right": 99}]'),
    claims=$claims$(claim over H "$over"),$(claim every H '"everywhere": true, '"$over"),
    claims=$claims$(claim tau I '"left": {"label": "tau", "file": "corr/correlations.csv", "value": "tau where=prediction:exact where=outcome:ppl where=budget:all where=given:", "p": "p"}, "want": ">", "right": 0, "needs": "-"'),
    # the paper's effect, floors, four times the steps
    with() { echo "$1" | sed 's|}$|, '"$2"'}|'; }
    claims=$claims$(claim tiny F '"left": '"$(nll prefix-lm)"', "want": "<", "right": '"$(nll ar)"', "matters": 4, "effect": 1e-5, "needs": "-", "setting": "three layers"'),
    claims=$claims$(claim unsaid F '"left": '"$(nll prefix-lm)"', "want": "<", "right": '"$(nll ar)"', "matters": 4, "effect": "a curve", "needs": "-"'),
    claims=$claims$(claim floored F '"left": '"$(with "$(nll ar)" '"floor": 3.4')"', "want": "<", "right": '"$(with "$(nll prefix-lm)" '"floor": 3.4')"', "ceiling": 0, "needs": "-"'),
    claims=$claims$(claim raised F '"left": '"$(with "$(nll ar)" '"floor": 9')"', "want": "<", "right": '"$(with "$(nll prefix-lm)" '"floor": 3.4')"', "ceiling": 0, "matters": 4, "needs": "-"'),
    claims=$claims$(claim early K '"left": '"$(with "$(ones f-ar.a)" '"floor": 0, "longer": "t-3/toy.csv"')"', "want": "<", "right": 8, "ceiling": 20'),
    claims=$claims$(claim grown K '"left": '"$(with "$(ones t-3)" '"floor": 0, "longer": "f-ar.a/toy.csv"')"', "want": "<", "right": 8, "ceiling": 20'),
    claims=$claims'"audit": {"source": "S, 1", "says": "-", "scope": "-", "statement": "v 3.1 printed"}'
    printf '%s\n' "{\"scales\": [\"small\", \"cpu\"], \"variables\": {\"setting\": \"one layer of width 8\", \"seeds\": \"1 2 3 4\", \"budgets\": \"2 3 4\"}, \"steps\": [{\"run\": {$models$toy}}, {\"run\": {$atlas}}], \"claims\": {$claims}}" > s.json
    printf '{{tally}}{{claims}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r || return 1
    sh "$root/plots/pack.sh" r published && [ "$(cd published && echo *)" = 'claims-budgets.csv claims.csv correlations.csv counts.csv report.html values.csv.xz' ] || { fail "$(ls published)"; return 1; }
    grep -q 'href="f-ar.a/toy.csv"' r/report.html && ! grep -q 'href="[^#]' published/report.html || { fail "$(grep -o 'href="[^#"]*"' published/report.html)"; return 1; }
    exits 0 decide published && grep -q 'claims.csv: 16 rows' out && grep -q 'counts.csv: 4 rows' out && grep -q 'claims-budgets.csv: 9 rows' out && grep -q 'correlations.csv: [1-9]' out || { fail "$why $(cat out err)"; return 1; }
    [ "$(cut -d, -f1 published/claims.csv | sort -u | wc -l)" = 17 ] && exits 0 decide --print published && grep -q '^third: ' out && [ "$(wc -l < out)" = 20 ] && grep -q '^all, sign: [1-9].* of 5 families, at least one wrong with up to 0.23' out || { fail "$(cat out err)"; return 1; }
    grep -q '"values.csv"' r/manifest.json && grep -q '^number,.*,1,,' r/values.csv && grep -q '^number,.*,4,7,' r/values.csv || { fail "$(head -30 r/values.csv)"; return 1; }
    verdict() { grep -q "^$1,.*,$2,$3" r/claims.csv || fail "$1: $(grep "^$1," r/claims.csv)"; }
    verdict tiny 'not testable at this scale' "the paper's effect is below the resolution,-,4,.*,1.*e-05,[0-9i][0-9nf]*,not checked,three layers,,$" && verdict unsaid 'equivalent within 4' '' && verdict raised 'equivalent within 4' '' &&
        verdict floored 'not tested' '"\?the metric is at its floor: ' && verdict early 'baseline undertrained' '"\?f-ar.a (6) is below 0.9 of the gain of four times its steps (9 over 0)' && verdict grown 'opposite at this scale' '' || return 1
    grep -q 'opposite at one layer of width 8<' r/report.html && grep -q 'not testable at three layers<' r/report.html && grep -q 'chance that at least one is wrong' r/report.html && grep -q "<small>the paper's 1e-05 is below the resolution of .*seeds.* would suffice</small>" r/report.html && grep -q '<small>(baseline not checked)</small> <small>(no effect of a paper: a curve)</small>' r/report.html || { fail "$(grep -o '<h3>.*' r/report.html | head -50)"; return 1; }
    # one seed: a need of two trained sides has the error of documents alone
    sed 's|"seeds": "1 2 3 4"|"seeds": "1"|; s|"paired": true, "needs": "-"|"needs": [{"left": '"$(nll ar)"', "want": "<", "right": '"$(nll permuted-ar)"'}]|' s.json > one.json
    exits 0 "$COSPEC" reproduce --steps one.json --template t.html --claims better,pairs -o one && grep -q '^better,.*a side has fewer than 3 seeds' one/claims.csv && grep -q '^pairs,.*not tested,ar (' one/claims.csv && grep -q '^baseline,pairs,' one/values.csv &&
        exits 0 decide one && grep -q 'claims.csv: 2 rows' out || { fail "$why $(cat out err)"; return 1; }
    # a floor, a ceiling, a longer run and an effect need each other
    wrong() { sed "s|\"early\": {|\"early\": {$1|; s|$2|$3|" s.json > w.json; exits 3 "$COSPEC" reproduce --steps w.json --template t.html --claims early,floored -o w && says "$4"; rm -rf w; }
    wrong '"effect": 1, ' x x 'effect needs matters' && wrong '"matters": 1, "effect": 0, ' x x 'effect: expected a number above 0' && wrong '' ', "ceiling": 20}' '}' 'a floor needs a ceiling' && wrong '' '"floor": 0, "longer"' '"longer"' 'longer needs a floor' || { fail "$(cat err)"; return 1; }
    # an archive unpacked elsewhere is decided again without a step, figures of claims and all
    sh "$root/plots/pack.sh" r a.tar.xz && mkdir moved && tar -C moved -xf a.tar.xz && exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o moved --resume &&
        ! grep -q 'cospec' err && cmp r/values.csv moved/values.csv && cmp r/claims.csv moved/claims.csv || { fail "$why $(cat err)"; return 1; }
    exits 2 sh "$root/plots/pack.sh" r && exits 3 sh "$root/plots/pack.sh" r/v none && says "values.csv is missing"
}

run_tests
