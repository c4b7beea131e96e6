# Studies: steps, scales, claims and reports of `cospec reproduce`.
root=$(pwd)
. tests/cli/lib.sh

# study FILE STEPS [MORE]: a study of these steps ("NAME": "COMMAND", ...) and members.
study() { printf '{"steps": [{"run": {%s}}]%s}\n' "$2" "${3:+, $3}" > "$1"; }

# Report, resume, errors with their place.
test_reproduce() {
    study s.json '"whole": "verify 3.1", "t": "toy --objective ar --classes 2 --length 4 --tokens 2", "f": "plot toy-spectra ar=@t/toy.csv"'
    printf '<p>{{version}} {{command whole}} {{statement whole 3.1* printed The loss, in words.}} {{statement whole 3.1 corrected It.}} {{verdict whole 3.1 printed}} {{table t/toy.csv columns=index,sigma}} {{value t/toy.csv sigma where=index:1}} {{figure f toy-spectra A caption}} {{steps}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r && [ "$(cat out)" = r/report.html ] &&
        grep -q 'data:image/svg+xml;base64,' r/report.html && grep -q '<td>The loss, in words.</td><td>printed</td><td class="n">-[0-9.e+]*</td><td><b class="v opposite">&#10007; false as printed</b> 8 of 8</td>' r/report.html && grep -q '<td>It.</td><td>corrected</td><td class="n">-[0-9.e-]*</td><td><b class="v reproduced">&#10003; holds</b> 2 of 2</td>' r/report.html && ! grep -q '{{\|PASS\|FAIL' r/report.html || { fail "$(cat err)"; return 1; }
    before=$(stat -c %Y.%i r/t/step.json)
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && [ "$(stat -c %Y.%i r/t/step.json)" = "$before" ] &&
        refuses 2 "exists" "$COSPEC" reproduce --steps s.json --template t.html -o r || { fail "resume: $(cat err)"; return 1; }
    # what was killed has no report; its finished steps are not run again without a word
    rm -r r/report.html r/f
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume --dry-run --csv && says '1 of 3 steps to run' && [ "$(cat out)" = "step,seconds,command
f,,plot toy-spectra ar=r/t/toy.csv" ] && [ ! -e r/f ] || { fail "${why:-$(cat out err)}"; return 1; }
    refuses 2 "--resume keeps finished steps: r/whole/step.json exists; give --force to overwrite it" "$COSPEC" reproduce --steps s.json --template t.html -o r &&
        exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && says '--resume: 1 of 3 steps to run' && [ "$(stat -c %Y.%i r/t/step.json)" = "$before" ] || return 1
    # a finished step of other words is run anew, though its folder (unpacked, say) has no manifest
    sed -i 's/--length 4/--length 5/' s.json && cp r/t/toy.csv before.csv && rm r/t/manifest.json
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && ! cmp -s before.csv r/t/toy.csv || { fail "changed: $(cat err)"; return 1; }
    study bad.json '"a": "toy --objective nonsense"'
    printf '{{steps}}\n' > steps.html
    exits 3 "$COSPEC" reproduce --steps bad.json --template steps.html -o b && says nonsense || return 1
    # what the last step, the claims or the template lack is found before the first step runs
    for step in 'toy --objectve ar|unknown option --objectve for toy; did you mean --objective?' 'toyy|unknown command '"'toyy'"'; did you mean toy?' 'svd @a -k 3 --tol x|--tol'; do
        study late.json "\"a\": \"toy --objective ar --classes 2 --length 4 --tokens 2\", \"z\": \"${step%|*}\""
        refuses 3 "late.json: step z: ${step#*|}" "$COSPEC" reproduce --steps late.json --template steps.html -o late && [ ! -e late ] || { fail "${why:-a step ran}"; return 1; }
    done
    refuses 3 "report.html:" "$COSPEC" reproduce --steps s.json -o late && says "without --template the report has the template of the shared study: " && says "the study has no step" && [ ! -e late ] || return 1
    for mistake in '{{valeu t/toy.csv sigma}}|unknown directive {{valeu}}; did you mean value?' '{{command hole}}|the study has no step hole; did you mean whole?' '{{table tt}}|expected STEP/FILE, got "tt"' '{{claim hole}}|the study has no claim hole' '{{papers LA BERT}}|expected LA, MAE-LM or GVP, got BERT' '{{value t/toy.csv}}|expected {{value STEP' "{{text $(seq -s ' ' 63)}}|expected fewer than 64 words"; do
        printf 'one\n%s\n' "${mistake%|*}" > bad.html
        refuses 3 "bad.html:2: ${mistake#*|}" "$COSPEC" reproduce --steps s.json --template bad.html -o late && [ ! -e late ] || { fail "${why:-a step ran}"; return 1; }
    done
    study twice.json '"a": "toy --objective ar",
"a": "toy"'
    exits 3 "$COSPEC" reproduce --steps twice.json --template t.html -o b && says twice.json:2 || return 1
    for o in '-o x' '-ox' '--output x' '--output=x'; do
        study own.json "\"a\": \"toy --objective ar $o\""
        refuses 3 "own.json: step a: leave ${o% x} out; -o @a is added to the step" "$COSPEC" reproduce --steps own.json --template t.html -o b || return 1
    done
    # quotes hold a word together; the closing one must be there
    study quoted.json '"a": "train --corpus wordnet --vocab 50 --width 4 --layers 1 --heads 1 --steps 2 --objective '"'ar until 0.5, masked'"' --seed 3"'
    exits 0 "$COSPEC" reproduce --steps quoted.json --template steps.html -o q && grep -q '"objective": "masked' q/a/config.json && grep -q "ar until 0.5, masked" q/a/train.json || { fail "quotes: $(cat err)"; return 1; }
    study quoted.json '"a": "toy --objective '"'ar --length 4"'"'
    refuses 3 "quoted.json: step a: a ' is not closed: ar --length 4" "$COSPEC" reproduce --steps quoted.json --template steps.html -o late || return 1
    printf 'line\n{{value t/toy.csv no_column}}\n' > bad.html
    exits 3 "$COSPEC" reproduce --steps s.json --template bad.html -o r --force && says bad.html:2
}

# Several steps at a time: each after those that it reads, the same results, and the reason of the one that failed.
test_jobs() {
    toy='toy --classes 2 --length 6 --tokens 2 --objective'
    study s.json "\"slow\": \"train --corpus wordnet --vocab 300 --layers 1 --width 16 --heads 2 --steps 40 --objective ar\", \"next\": \"perplexity @slow wordnet --limit 5\", \"a\": \"$toy ar\", \"b\": \"$toy masked --unmasked 3\", \"f\": \"plot toy-spectra ar=@a/toy.csv m=@b/toy.csv\""
    printf '{{steps}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o one --jobs 1 && [ "$(sed -n 's/.*\] \([a-z]*\): .*/\1/p' err | tr '\n' ' ')" = 'slow next a b f ' ] &&
        exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o three --jobs 3 && order=$(sed -n 's/.*\] \([a-z]*\): .*/\1/p' err | tr '\n' ' ') || { fail "$(cat err)"; return 1; }
    case " $order" in *' slow'*' next'*) ;; *) fail "$order"; return 1 ;; esac
    case " $order" in *' a'*' f'*) ;; *) fail "$order"; return 1 ;; esac
    case " $order" in *' b'*' f'*) ;; *) fail "$order"; return 1 ;; esac
    [ "$(sed s/one/three/ one/next/perplexity.csv)" = "$(cat three/next/perplexity.csv)" ] || { fail perplexity; return 1; }
    for file in slow/model.safetensors a/toy.csv f/toy-spectra.svg; do cmp "one/$file" "three/$file" || { fail "$file"; return 1; }; done
    study s.json "\"slow\": \"train --corpus wordnet --vocab 300 --layers 1 --width 16 --heads 2 --steps 40 --objective ar\", \"bad\": \"perplexity none wordnet\", \"after\": \"$toy ar --target-position given\", \"n\": \"perplexity @bad/x wordnet\""
    exits 3 "$COSPEC" reproduce --steps s.json --template t.html -o failed --jobs 2 && says "step bad ended with exit code" && [ ! -e failed/n ] && grep -q '"exit": 0,' failed/slow/step.json || fail "${why:-went on}"
}

# An archive has tables without models: what has read a model stays, and a model is made again only where something new reads it.
test_resume_of_an_archive() {
    printf '{{steps}}\n' > t.html
    model='"m": "train --corpus wordnet --vocab 100 --layers 1 --width 8 --heads 1 --steps 2 --objective ar", "n": "train --corpus wordnet --vocab 100 --layers 1 --width 8 --heads 1 --steps 2 --objective masked"'
    asked='"p": "perplexity @m wordnet --limit 5", "q": "perplexity @n wordnet --limit 5"'
    run() { exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o "$1" --resume --jobs 1 && ran=$(sed -n 's/.*\] \([a-z]*\): .*/\1/p' err | tr '\n' ' '); }
    study s.json "$model, $asked"
    run r && [ "$ran" = 'm n p q ' ] && sh "$root/plots/pack.sh" r a.tar.xz && mkdir moved && tar -C moved -xf a.tar.xz || { fail "$ran: $(cat err)"; return 1; }
    [ -e moved/p/perplexity.csv ] && [ -e moved/m/losses.csv ] && [ ! -e moved/m/model.safetensors ] && [ ! -e moved/m/manifest.json ] || { fail "$(find moved)"; return 1; }
    run moved && [ -z "$ran" ] || { fail "ran $ran"; return 1; }
    # a table that is there; then a model that is not
    study s.json "$model, $asked, \"f\": \"plot training x=@m/losses.csv\""
    run moved && [ "$ran" = 'f ' ] || { fail "ran $ran: $(cat err)"; return 1; }
    study s.json "$model, $asked, \"g\": \"perplexity @n wordnet --limit 6\""
    run moved && [ "$ran" = 'n g ' ] && cmp moved/n/model.safetensors r/n/model.safetensors || { fail "ran $ran: $(cat err)"; return 1; }
}

# A study that was killed while it wrote the record of a step, whoever bears the number of its process now; a stranger's files stay.
test_killed_within_a_record() {
    printf '{{steps}}\n' > t.html
    study s.json '"a": "toy --objective ar --classes 2 --length 4 --tokens 2"'
    (exit 0) & dead=$!; wait $dead
    for resume in --resume ''; do
        mkdir -p k/a && touch k/a/step.json.$dead-0.partial k/a/step.json.$$-1.partial
        exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o k $resume && [ -s k/a/toy.csv ] && ! ls k/a | grep -q partial && rm -r k || { fail "$why $(ls k/a)"; return 1; }
    done
    for name in step.json.partial toy.csv.$dead-0.partial .mine; do
        mkdir -p k/a && touch k/a/step.json.$dead-0.partial "k/a/$name"
        refuses 2 "k/a contains files that were not written by a study; choose another folder" "$COSPEC" reproduce --steps s.json --template t.html -o k --resume && [ -e "k/a/$name" ] && rm -r k || return 1
    done
}

# A table of a finished study that was edited by hand: its step runs again, with a note; of an archive nothing is known to be asked.
test_edited_tables_are_made_again() {
    printf '{{value t/toy.csv sigma where=index:1}} {{steps}}\n' > t.html
    study s.json '"t": "toy --objective ar --classes 2 --length 4 --tokens 2", "u": "toy --objective ar --classes 2 --length 3 --tokens 2"'
    run() { exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o "$1" --resume --jobs 1 && ran=$(sed -n 's/.*\] \([a-z]*\): .*/\1/p' err | tr '\n' ' '); }
    run r && cp r/t/toy.csv toy.csv && cp r/report.html report.html && run r && [ -z "$ran" ] && says "r: already finished; kept" || { fail "${why:-$ran}"; return 1; }
    echo ,9 >> r/t/toy.csv && run r && [ "$ran" = 't ' ] && says "r/t/toy.csv: its SHA-256 is" && cmp r/t/toy.csv toy.csv || { fail "${why:-$ran}"; return 1; }
    rm r/t/toy.csv && run r && [ "$ran" = 't ' ] && says "r/t/toy.csv: is missing" && cmp r/t/toy.csv toy.csv && run r && [ -z "$ran" ] || { fail "${why:-$ran}"; return 1; }
    sh "$root/plots/pack.sh" r a.tar.xz && mkdir moved && tar -C moved -xf a.tar.xz && run moved && [ -z "$ran" ] && run moved && [ -z "$ran" ] && says "moved: already finished; kept" || fail "${why:-$ran}"
}

# The disk is full before a step can say what is wrong: the study says it.
test_a_full_disk_is_said() {
    printf '{{steps}}\n' > t.html
    study s.json '"a": "toy --objective ar --classes 2 --length 4 --tokens 2", "b": "toy --objective masked --unmasked 1 --classes 2 --length 4 --tokens 2"'
    mkdir disk
    for pages in 2 5 7; do
        mount -t tmpfs -o size=$((pages * 4096)) none disk 2> /dev/null || { skip a_full_disk_is_said "no tmpfs can be mounted"; return 0; }
        exits 3 "$COSPEC" reproduce --steps s.json --template t.html -o disk/r --jobs 1 && grep -qi 'step [ab] ended with exit code 3: .*no space' err || { umount disk; fail "$pages: ${why:-$(cat err)}"; return 1; }
        umount disk
    done
}

# The time that the steps left will take, once a step of each of their commands has ended: the other steps say nothing of a command.
test_time_left_is_said() {
    printf 'one two three four\n%.0s' 1 2 3 4 5 6 > c.txt
    study s.json "\"slow\": \"train --corpus $PWD/c.txt --objective ar --width 16 --layers 1 --heads 1 --steps 1000000 --time-limit 1.1\", \"t\": \"toy --objective ar --classes 2 --length 4 --tokens 2\", \"u\": \"toy --objective ar --classes 3 --length 4 --tokens 2\""
    printf '<p>{{steps}}\n' > t.html
    exits 0 "$COSPEC" reproduce --jobs 1 --steps s.json --template t.html -o r && says '[1/3] slow: cospec train' &&
        grep -q '^\[2/3\] t: cospec toy' err && grep -q '^\[3/3, about [0-9]* s left\] u: cospec toy' err || fail "${why:-$(cat err)}"
}

scaled='"scales": ["small", "cpu"], "variables": {"length": ["3", "4"]}'
steps='"whole": "verify 3.1", "ar": "toy --objective ar --classes 2 --length $length --tokens 2", "ar-3": "toy --objective ar --classes 3 --length $length --tokens 2"'
where='"value": "multiplicity where=index:1"'
ones='{"label": "ones of ar", "file": "ar/toy.csv", '$where', "exact": true}'

# A study of two scales, and its claims: all three verdicts, and errors with their place.
test_scales_and_claims() {
    printf '<p>{{scale}} {{text of a,b-c length $length}} {{tally}}{{claims}}\n' > t.html
    run="reproduce --steps s.json --template t.html"
    all='"a": {"source": "S", "says": "more than 5", "left": '$ones', "want": ">", "right": 5, "scope": "exact"},
         "b": {"source": "S", "says": "fewer than 5", "left": '$ones', "want": "<", "right": 5, "scope": "exact", "not_at": "small"},
         "wide": {"source": "S", "says": "6 within 1.96 of 5", "left": {"label": "ones of ar", "file": "ar/toy.csv", '$where', "se": "sigma"}, "want": ">", "right": 5, "scope": "-"},
         "printed": {"source": "S", "says": "3.1 as printed", "statement": "whole 3.1 printed", "scope": "-"}'
    study s.json "$steps" "$scaled, \"claims\": {$all}"
    exits 0 "$COSPEC" $run -o r && grep -q '<p>cpu of a, b-c length 4 <table' r/report.html &&
        [ "$(awk -F, 'NR > 1 { printf "%s:%s;", $1, $(NF - 10) }' r/claims.csv)" = 'a:reproduced;b:opposite at this scale;wide:undetermined;printed:false as printed;' ] && [ ! -e r/claims-budgets.csv ] || { fail "$(cat err r/claims.csv)"; return 1; }
    # the tally of the one source, a row a claim in its table, each scope once; cells carry the head of their column
    grep -q '<td data-label="paper">S</td><td data-label="claims" class="n">4</td><td data-label="&#9679; reproduced" class="n">1</td><td data-label="&#9632; opposite at this scale" class="n">1</td><td data-label="&#9675; undetermined" class="n">1</td><td data-label="&#10007; false as printed" class="n">1</td></tr>' r/report.html &&
        [ "$(grep -c '<h3>S</h3>' r/report.html)" = 1 ] && [ "$(grep -c '<tr class="claim">' r/report.html)" = 4 ] && ! grep -q 'nan' r/report.html && grep -q '<li id="scope-1">exact</li>' r/report.html && [ "$(grep -c '<li id="scope' r/report.html)" = 2 ] || { fail "$(cat r/report.html)"; return 1; }
    exits 0 "$COSPEC" $run --scale small -o small && grep -q '^a,S,.*,4,0,>,5,5,0,,-1,-1,-1,.*,opposite at this scale' small/claims.csv && grep -q '^b,S,.*undetermined,this scale is too small' small/claims.csv || { fail "$(cat small/claims.csv)"; return 1; }
    cp s.json good
    # families: t = 2.2 with 19 degrees of freedom has p = .0404, significant alone and not as one of two; the least significant t would be 2.433 (.025)
    one() { echo '"'$1'": {"source": "S", "says": "-", "family": "'$2'", "left": {"label": "l", "file": "ar/toy.csv", '$where', "se": "sigma"}, "want": ">", "right": '$3', "scope": "-"}'; }
    study s.json "$steps" "$scaled, \"claims\": {$(one alone G 3.8), $(one first F 3.8), $(one second F 5.9),
        \"u\": {\"source\": \"S\", \"says\": \"-\", \"statement\": \"whole 3.1 printed\", \"scope\": \"-\"}}"
    exits 0 "$COSPEC" $run -o r --resume --force && grep -q '^alone,.*,G,1,0\.0403[0-9]*,0\.0403[0-9]*,2\.0930[0-9]*,,,,,reproduced,' r/claims.csv &&
        grep -q '^first,.*,F,2,0\.0403[0-9]*,0\.0807[0-9]*,2\.4334[0-9]*,,,,,undetermined,significant alone but' r/claims.csv && grep -q '^second,.*undetermined,the difference is not significant' r/claims.csv || { fail "$(cat err r/claims.csv)"; return 1; }
    # a statement without its constants is not specified, a vacuous bound holds; a table of statements alone has no column of differences
    edited r/whole; sed -i 's/"verdict": "FAIL"/"verdict": "UNSPECIFIED"/' r/whole/statements.json
    exits 0 "$COSPEC" $run -o r --resume --force && grep -q '^u,.*,not specified,the paper does not state its constants' r/claims.csv || { fail "$(cat err r/claims.csv)"; return 1; }
    sed -i 's/"verdict": "UNSPECIFIED"/"verdict": "VACUOUS"/' r/whole/statements.json
    study s.json "$steps" "$scaled, \"claims\": {\"u\": {\"source\": \"S\", \"says\": \"-\", \"statement\": \"whole 3.1 printed\", \"scope\": \"-\"}}"
    exits 0 "$COSPEC" $run -o r --resume --force && grep -q '^u,.*,"holds, but vacuous",the verdict of cospec verify' r/claims.csv && grep -q 'data-label="audit">as printed</td><td data-label="verdict"><b class="v mixed">&#10003; holds, but vacuous<' r/report.html &&
        ! grep -q 'difference (95' r/report.html || { fail "$(cat err r/claims.csv r/report.html)"; return 1; }
    # of several seeds the worst verdict counts, and all are listed
    study s.json '"whole-#": "verify 3.1 --seed #"' '"variables": {"seeds": "1 2", "length": "4"}, "claims": {"u": {"source": "S", "says": "-", "statement": "whole-# 3.1 corrected", "scope": "-"}}'
    exits 0 "$COSPEC" $run -o two && grep -q '^u,.*,PASS PASS,,,2,.*,holds,the verdict of cospec verify' two/claims.csv || { fail "$(cat err two/claims.csv)"; return 1; }
    # a statement of examples alone says so; then the second case of a seed, and a built-in example that does not count
    edited two/whole-1
    /usr/bin/python3 -c '
import json
j = json.load(open("two/whole-1/statements.json"))
cases = [s for s in j["statements"] if s["id"] == "3.1" and s["form"] == "corrected"]
assert len(cases) > 1
cases[1]["verdict"] = "INCONCLUSIVE"
j["statements"].insert(0, dict(cases[0], example=True, verdict="FAIL"))
j["statements"].append(dict(cases[0], example=True, id="only"))
json.dump(j, open("two/whole-1/statements.json", "w"))' || { fail "no second case"; return 1; }
    exits 0 "$COSPEC" $run -o two --resume --force && grep -q '^u,.*,INCONCLUSIVE PASS,,,2,.*,undetermined,the verdict of cospec verify' two/claims.csv && grep -q '>as corrected, holds with 1 of 2 seeds<' two/report.html &&
        [ "$(grep -c '^audit,u,.*,1,,,1,,,INCONCLUSIVE$\|^audit,u,.*,2,,,1,,,PASS$' two/values.csv)" = 2 ] || { fail "$(cat err two/claims.csv)"; return 1; }
    sed 's/whole-# 3.1 corrected/whole-1 only corrected/' s.json > only.json
    exits 0 "$COSPEC" reproduce --steps only.json --template t.html -o two --resume --force && grep -q '^u,.*,holds,the verdict of cospec verify on a built-in example,' two/claims.csv || { fail "$(cat err two/claims.csv)"; return 1; }
    cp good s.json
    # what a claim needs (its two sides agree): met, not by the sign, not beyond the error, a second one not; the reason in words
    wide='{"label": "ones of ar", "file": "ar/toy.csv", '$where', "se": "sigma"}' three='{"label": "three", "file": "ar-3/toy.csv", '$where', "exact": true}'
    for case in "reproduced,the difference|$ones > 5" "reproduced,the difference|$ones < 7" "not tested,ones of ar (6) is not above 6|$ones > 6" "not tested,ones of ar (6) is not below 6|$ones < 6" \
        "not tested,ones of ar (6) is not significantly above 5|$wide > 5" "not tested,three ([0-9]*) is not below ones of ar (6)|$three < $ones"; do
        need=${case#*|} sign='>'
        case $need in *' < '*) sign='<' ;; esac
        study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S\", \"says\": \"more than 5\", \"left\": $ones, \"want\": \">\", \"right\": 5, \"scope\": \"-\",
            \"needs\": [{\"left\": $ones, \"want\": \">\", \"right\": 1}, {\"left\": ${need% "$sign" *}, \"want\": \"$sign\", \"right\": ${need#* "$sign" }}]}}"
        exits 0 "$COSPEC" $run -o r --resume --force && grep -q ",${case%%|*}" r/claims.csv || { fail "$case: $(cat err r/claims.csv)"; return 1; }
    done
    # joined by "or": one of both is enough, whichever; a third that is not joined still counts
    met="{\"left\": $ones, \"want\": \">\", \"right\": 5" unmet="{\"left\": $ones, \"want\": \">\", \"right\": 8"
    for case in "reproduced,|$met}, $unmet, \"or\": true}" "reproduced,|$unmet}, $met, \"or\": true}" "not tested,\"ones of ar (6) is not above 8, and ones of ar (6) is not above 8\"|$unmet}, $unmet, \"or\": true}" "not tested,ones of ar (6) is not above 8|$met}, $met, \"or\": true}, $unmet}"; do
        study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S\", \"says\": \"more than 5\", \"left\": $ones, \"want\": \">\", \"right\": 5, \"scope\": \"-\", \"needs\": [${case#*|}]}}"
        exits 0 "$COSPEC" $run -o r --resume --force && grep -q ",${case%%|*}" r/claims.csv || { fail "$case: $(cat err r/claims.csv)"; return 1; }
    done
    # a difference that is not significant is equivalent where it is below the threshold, one-sided: 1 + 1.7291, the point of t_19
    for case in "equivalent within 2.73,the difference is smaller than the threshold|2.73" "undetermined,the difference is not significant|2.72"; do
        study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S\", \"says\": \"-\", \"left\": $wide, \"want\": \">\", \"right\": 5, \"matters\": ${case#*|}, \"scope\": \"-\"}}"
        exits 0 "$COSPEC" $run -o r --resume --force && grep -q "^a,.*,${case%|*}" r/claims.csv || { fail "$case: $(cat err r/claims.csv)"; return 1; }
    done
    # a claim at one budget that has an interval is drawn, turned so that right of 0 is as claimed; others, and a study without one, are not
    cp t.html kept.html && printf '{{differences All of them.}}{{claims}}\n' > t.html
    study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S, 1\", \"says\": \"-\", \"left\": $wide, \"want\": \"<\", \"right\": $three, \"matters\": 20, \"scope\": \"-\"}, \"b\": {\"source\": \"S, 1\", \"says\": \"-\", \"left\": $ones, \"want\": \">\", \"right\": 5, \"scope\": \"-\"}}"
    exits 0 "$COSPEC" $run -o r --resume --force && [ "$(wc -l < r/differences.csv)" = 2 ] && grep -q '^"S, 1",a,1,a: three . ones of ar,-1,-3,.*,reproduced,20,' r/differences.csv && grep -q '^S‚ 1,a,1,' r/differences/differences.csv && grep -q 'reproduced</b>, below the threshold of 20' r/report.html &&
        [ -s r/differences/differences.png ] && grep -q 'data:image/svg+xml;base64,.*All of them\.' r/report.html || { fail "$(cat err r/differences.csv)"; return 1; }
    study s.json "$steps" "$scaled, \"claims\": {\"b\": {\"source\": \"S, 1\", \"says\": \"-\", \"left\": $ones, \"want\": \">\", \"right\": 5, \"scope\": \"-\"}}"
    exits 0 "$COSPEC" $run -o without --force && [ ! -e without/differences ] && ! grep -q 'All of them' without/report.html || { fail "$(cat err)"; return 1; }
    exits 0 "$COSPEC" $run -o r --resume --force && [ ! -e r/differences ] && [ ! -e r/differences.csv ] && ! grep -q 'All of them' r/report.html && ! grep -q differences r/manifest.json || { fail "a figure of earlier claims: $(cat err)"; return 1; }
    # labels are left of the panel, whose x axis says what it has; panels of one unit have one scale, each its numbers right of it, and its commas
    unit='"metric": "nats, all", '
    study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S, 1\", $unit \"says\": \"-\", \"left\": $wide, \"want\": \"<\", \"right\": $three, \"scope\": \"-\"}, \"b\": {\"source\": \"T\", $unit \"says\": \"-\", \"left\": $wide, \"want\": \">\", \"right\": 99, \"scope\": \"-\"}}"
    exits 0 "$COSPEC" $run -o scale --force && grep -q ',nats$' scale/differences.csv && [ "$(grep -c 'difference in nats (right of 0: as claimed)' scale/differences/differences.svg)" = 2 ] && [ "$(grep -c '>-80<' scale/differences/differences.svg)" = 2 ] && grep -q '>S‚ 1<' scale/differences/differences.svg && grep -q '>3.0 ([-0-9.]* to [0-9.]*)<' scale/differences/differences.svg && grep -B1 '<text>three . ones of ar<' scale/differences/differences.svg | grep -q 'text-anchor="end"' || { fail "${why:-$(cat err scale/differences.csv)}"; return 1; }
    # but a panel whose intervals are more than ten times wider has its own
    printf '%s\n' series,label,place,wanted,difference,low,high,verdict,matters,unit A,a,1,1,0,-2,2,undetermined,,nats B,b,1,1,7,5,9,reproduced,,nats C,c,1,-1,-300,-350,-250,reproduced,,nats > wide.csv
    exits 0 "$COSPEC" plot differences wide.csv -o wide && [ "$(grep -c '> *8<' wide/differences.svg)" = 2 ] && [ "$(grep -c '> *300<' wide/differences.svg)" = 1 ] || { fail "${why:-$(grep -o '>-*[0-9]*<' wide/differences.svg)}"; return 1; }
    # claims of one family in two units have a panel each
    study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S, 1\", $unit \"says\": \"-\", \"left\": $wide, \"want\": \"<\", \"right\": $three, \"scope\": \"-\"}, \"b\": {\"source\": \"S, 1\", \"metric\": \"bits, all\", \"says\": \"-\", \"left\": $wide, \"want\": \">\", \"right\": 99, \"scope\": \"-\"}}"
    exits 0 "$COSPEC" $run -o units --force && grep -q '^"S, 1 (nats)",a,1,' units/differences.csv && grep -q '^"S, 1 (bits)",b,1,' units/differences.csv && grep -q 'difference in bits (right of 0' units/differences/differences.svg || { fail "${why:-$(cat err units/differences.csv)}"; return 1; }
    # a link to a file that is not there is text; "untested" says why nothing can be decided
    printf '<a href="ar/toy.csv">kept</a> <a href="ar/none.csv" title="x">text</a> <a href="#x">here</a>{{claims}}\n' > t.html
    study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S\", \"says\": \"-\", \"left\": $ones, \"want\": \">\", \"right\": 5, \"scope\": \"-\", \"untested\": \"no reason\"}, \"b\": {\"source\": \"S\", \"metric\": \"ones, all\", \"paper\": \"9 against 5\", \"says\": \"-\", \"left\": $ones, \"want\": \">\", \"right\": 5, \"scope\": \"-\", \"untested\": \"\"}}"
    exits 0 "$COSPEC" $run -o links --force && grep -q '^<a href="ar/toy.csv">kept</a> text <a href="#x">here</a>' links/report.html && grep -q '^a,.*,not tested,no reason,' links/claims.csv && grep -q '^b,.*,reproduced,' links/claims.csv &&
        grep -q '<td data-label="claim">ones of ar above 5 .*<td data-label="metric">ones, all</td><td data-label="paper">9 against 5</td><td data-label="ours"><a class="value" href="ar/toy.csv">6</a> against 5</td><td data-label="difference (95 % interval)">1 (1 to 1)</td><td data-label="verdict"><b class="v reproduced">' links/report.html || { fail "${why:-$(cat links/report.html)}"; return 1; }
    mv kept.html t.html
    study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S\", \"says\": \"-\", \"left\": $wide, \"want\": \">\", \"right\": 5, \"matters\": 0, \"scope\": \"-\"}}"
    refuses 3 'claim a: matters: expected a number above 0' "$COSPEC" $run -o r --resume --force || return 1
    study s.json "$steps" "$scaled, \"claims\": {\"a\": {\"source\": \"S\", \"says\": \"-\", \"left\": $ones, \"want\": \">\", \"right\": 5, \"scope\": \"-\", \"needs\": [$met, \"or\": true}]}}"
    refuses 3 'claim a: needs: "or" must follow another need' "$COSPEC" $run -o r --resume --force || return 1
    again="$run -o r --force"
    refuses 2 'unknown scale large; available: ["small", "cpu"]' "$COSPEC" $run --scale large -o x &&
        sed 's/index:1"/index:99"/' good > s.json && refuses 3 "claim a: r/ar/toy.csv: no row matches" "$COSPEC" $again &&
        sed 's/"want": ">"/"want": "="/' good > s.json && refuses 3 'claim a: expected > or <, got "="' "$COSPEC" $again &&
        sed 's/"scope"/"scoop"/' good > s.json && refuses 3 's.json: claim a: unknown key "scoop" (known: source, says, ' "$COSPEC" $again && says 'did you mean scope?' &&
        sed 's/"scope": "exact"}/"says": "-"}/; s/"says": "[^"]*", //' good > s.json && refuses 3 's.json: claim a: "scope" is missing' "$COSPEC" $again &&
        sed 's/"scope": "exact"}/"scope": "exact", "scoop": 1}/' good > s.json && refuses 3 'scoop' "$COSPEC" $again &&
        sed 's|"ar/toy.csv"|"../x.csv"|' good > s.json && refuses 3 's.json: claim a: left: expected STEP/FILE, got "../x.csv"' "$COSPEC" $again &&
        sed 's|"ar/toy.csv"|"arr/toy.csv"|' good > s.json && refuses 3 's.json: claim a: left: the study has no step arr; did you mean ar?' "$COSPEC" $again &&
        study s.json '"a": "toy --length $nothing"' && refuses 3 's.json: run: a: no variable $nothing' "$COSPEC" $run -o x &&
        study s.json '"a": "toy"' '"scales": ["a", "cpu", "c"], "variables": {"x": ["1", "2"]}' && refuses 3 's.json: variables: x has 2 values, but there are 3 scales' "$COSPEC" $run -o x &&
        study s.json '"a": "toy --objective ar"' && refuses 2 "no scales" "$COSPEC" $run --scale cpu -o x
}

# A step and a side for each seed: mean, variance over seeds with Student's point of two degrees of freedom; blocks of the same documents are paired.
test_seeds_and_blocks() {
    printf '<p>{{claims}}\n' > t.html
    scaled='"scales": ["two", "cpu"], "variables": {"seeds": ["2 3", "2 3 4"]}' run="reproduce --steps s.json --template t.html"
    steps='"t-#": "toy --objective ar --classes # --length 4 --tokens 2", "u": "toy --objective ar --classes 3 --length 4 --tokens 2"'
    side() { echo '{"label": "l", "file": "'$1'/toy.csv", '$where', '$2'}'; }
    claim() { echo '"'$1'": {"source": "S", "says": "-", "family": "'$1'", "left": '$2', "want": ">", "right": '$3', "scope": "-"}'; }
    study s.json "$steps" "$scaled, \"claims\": {$(claim far "$(side 't-#' '"exact": true')" 1), $(claim near "$(side 't-#' '"exact": true')" 5), $(claim pair "$(side t-2 '"se": "sigma"')" "$(side u '"se": "sigma"')")}"
    # 6, 9 and 12 ones: mean 9, standard deviation 3, margin 4.30265 sqrt 3 = 7.4524
    exits 0 "$COSPEC" $run -o r && [ -f r/t-4/toy.csv ] && grep -q '^far,.*,9,0,>,1,1,0,3,8,0\.5475[0-9]*,15\.4524[0-9]*,.*,reproduced,' r/claims.csv &&
        grep -q '^near,.*,9,0,>,5,5,0,3,4,-3\.4524[0-9]*,11\.4524[0-9]*,.*,7\.4524[0-9]*,[0-9]*,,,,undetermined,' r/claims.csv || { fail "$(cat err r/claims.csv)"; return 1; }
    for b in 1 2 3; do echo "1,$b,$((4 + b)),d" >> left && echo "1,$b,$((7 + b)),d" >> right; done
    (echo index,block,multiplicity,partition; cat left) > r/t-2/toy-blocks.csv && (echo index,block,multiplicity,partition; cat right) > r/u/toy-blocks.csv
    # 6 against 9, and 3 apart without each block: no error; as other documents sqrt(2 2/3 2/3 ...) = 1.633, margin 7.0262
    exits 0 "$COSPEC" $run -o r --resume --force && grep -q '^pair,.*,-3,-3,-3,.*,opposite at this scale,' r/claims.csv || { fail "paired: $(cat err r/claims.csv)"; return 1; }
    sed -i 's/,d$/,e/' r/u/toy-blocks.csv
    exits 0 "$COSPEC" $run -o r --resume --force && grep -q '^pair,.*,-3,-10\.0262[0-9]*,4\.0262[0-9]*,.*,undetermined,' r/claims.csv || { fail "unpaired: $(cat err r/claims.csv)"; return 1; }
    exits 0 "$COSPEC" $run --scale two -o two && grep -q '^far,.*,undetermined,a side has fewer than 3 seeds' two/claims.csv || { fail "$(cat err two/claims.csv)"; return 1; }
    # a section of three of four seeds: the mean is over those
    study s.json "$steps" "\"variables\": {\"seeds\": \"2 3 4 5\"}, \"claims\": {$(claim far "$(side 't-#' '"exact": true')" 1)}" && sed 's/{"run"/{"seeds": "3", "run"/' s.json > w.json
    exits 0 "$COSPEC" reproduce --steps w.json --template t.html -o three && [ -f three/t-4/toy.csv ] && [ ! -e three/t-5 ] && grep -q '^far,.*,9,0,>,1,1,0,3,8,0\.5475[0-9]*,15\.4524[0-9]*,.*,reproduced,' three/claims.csv || { fail "${why:-$(cat err three/claims.csv)}"; return 1; }
    sed -i 's/"seeds": "3"/"seeds": "5"/' w.json && refuses 3 'w.json: seeds: expected N in 0..4 or A-B in 1..4, got 5' "$COSPEC" reproduce --steps w.json --template t.html -o x || return 1
    # a row of a table has its own seeds
    cat > rows.json << 'END'
{"variables": {"seeds": "2 3 4", "few": "1"}, "tables": {"rows": [{"name": "ar", "seeds": "$few"}, {"name": "prefix-lm", "seeds": "3"}]},
 "steps": [{"each": "rows", "seeds": "{seeds}", "run": {"t-{name}-#": "toy --objective {name} --classes # --length 4 --tokens 2"}}]}
END
    echo '<p>' > plain.html
    exits 0 "$COSPEC" reproduce --steps rows.json --template plain.html -o rows && [ "$(echo $(ls -d rows/t-*))" = "rows/t-ar-2 rows/t-prefix-lm-2 rows/t-prefix-lm-3 rows/t-prefix-lm-4" ] || { fail "${why:-$(cat err; ls rows)}"; return 1; }
    sed 's/{seeds}/{sees}/' rows.json > w.json && refuses 3 'w.json: steps 1: seeds: no field {sees}' "$COSPEC" reproduce --steps w.json --template t.html -o x &&
        sed 's/"3"}/"4"}/' rows.json > w.json && refuses 3 'w.json: seeds: expected N in 0..3 or A-B in 1..3, got 4' "$COSPEC" reproduce --steps w.json --template t.html -o x || return 1
    sed 's/"few": "1"/"few": "0"/; s/"3"}/"2-3"}/' rows.json > w.json && exits 0 "$COSPEC" reproduce --steps w.json --template plain.html -o some && [ "$(echo $(ls -d some/t-*))" = "some/t-prefix-lm-3 some/t-prefix-lm-4" ] || { fail "${why:-$(ls some)}"; return 1; }
    # pairs of the seeds that both have: 9, 12 and 15 ones less 12, 16 and 20: mean -4, standard deviation 1, margin 4.30265 / sqrt 3 = 2.4842, p .0202
    cat > pairs.json << END
{"variables": {"seeds": "2 3 4 5"}, "steps": [{"run": {"t-#": "toy --objective ar --classes # --length 4 --tokens 2"}}, {"seeds": "2-4", "run": {"u-#": "toy --objective ar --classes # --length 5 --tokens 2"}}],
 "claims": {"p": {"source": "S", "says": "-", "left": $(side 't-#' '"exact": true'), "want": ">", "right": $(side 'u-#' '"exact": true'), "paired": true, "scope": "-"}}}
END
    exits 0 "$COSPEC" reproduce --steps pairs.json --template t.html -o pairs && grep -q '^p,.*,12,0,>,l,16,0,3,-4,-6\.484[0-9]*,-1\.515[0-9]*,95 % of this comparison alone: documents and pairs of seeds,S,1,0\.0202[0-9]*,.*,opposite at this scale,' pairs/claims.csv || { fail "$(cat err pairs/claims.csv)"; return 1; }
    sed 's/"u-#\/toy/"u-3\/toy/' pairs.json > w.json && refuses 3 "claim p: paired: both sides need seeds, a '#' in their file" "$COSPEC" reproduce --steps w.json --template t.html -o x &&
        sed 's/"seeds": "2-4"/"seeds": "4-4"/; s/{"run": {"t/{"seeds": "2", "run": {"t/' pairs.json > w.json && refuses 3 'claim p: t-#/toy.csv and u-#/toy.csv have no seed in common' "$COSPEC" reproduce --steps w.json --template t.html -o x || return 1
    # a claim about a trained model, or what was made with one, wants baselines or a reason
    trained='"m": "train --corpus c.txt --objective ar --steps 1", "p": "perplexity @m c.txt"' ppl='{"label": "l", "file": "p/perplexity.csv", "value": "value where=metric:nll"}'
    study s.json "$trained" "\"claims\": {$(claim a "$ppl" 1)}" && refuses 3 "claim a: a claim about trained models needs baselines" "$COSPEC" $run -o x || return 1
    study s.json "$steps" && refuses 3 "step t-#: no variable seeds is defined for the #" "$COSPEC" $run -o x
}

# A claim at each of its budgets: reproduced, opposite, undetermined, not tested; both signs; a curve as table and figure, of two budgets a table alone.
test_claims_over_budgets() {
    printf '{{claims}}{{curves All of them.}}\n' > t.html
    scaled='"variables": {"seeds": ["2 3 4"], "budgets": ["2 3 4"]}, "scales": ["cpu"]' run="reproduce --steps s.json --template t.html"
    steps='"t-#-%": "toy --objective ar --classes % --length 4 --tokens #", "b": "toy --objective ar --classes 3 --length 4 --tokens 2"'
    # 3 ones a class: 6, 9, 12 at the budgets 2, 3, 4, with no error over seeds, which are numbers of tokens
    side='{"label": "ones", "file": "t-#-%/toy.csv", "value": "multiplicity where=index:1", "exact": true}'
    over() { echo '"'$1'": {"source": "S", "says": "-", "family": "F", "budgets": "'"$2"'", "left": '$side', "want": "'$3'", "right": '$4', "scope": "-"'"${5:-}"'}'; }
    toy() { echo '{"label": "at %", "file": "b/toy.csv", "value": "multiplicity where=index:1", "exact": true}'; }
    study s.json "$steps" "$scaled, \"claims\": {$(over turns '$budgets' '>' 8), $(over falls '2 3 4' '<' 8), $(over always '2 4' '>' 5), $(over never '2 4' '<' 5), $(over half '2 3' '>' 9), $(over some '2 3' '<' 9), $(over once '$budgets' '>' 8 ', "everywhere": true'), $(over partly '2 3' '<' 9 ', "everywhere": true'), $(over all '2 4' '>' 5 ', "everywhere": true'),
        $(over unmet '3 4' '>' 5 ", \"needs\": [{\"left\": $side, \"want\": \">\", \"right\": 9}]"), $(over none '2 3' '>' 5 ", \"needs\": [{\"left\": $side, \"want\": \">\", \"right\": $(toy)}]")}"
    exits 0 "$COSPEC" $run -o r && [ -f r/t-4-3/toy.csv ] && [ "$(awk -F, 'NR > 1 { printf "%s:%s;", $1, $(NF - 10) }' r/claims.csv)" = 'turns:reproduced;falls:opposite at this scale;always:reproduced;never:opposite at this scale;half:undetermined;some:undetermined;once:not reproduced at this scale;partly:undetermined;all:reproduced;unmet:reproduced;none:not tested;' ] || { fail "$(cat err r/claims.csv)"; return 1; }
    grep -q '^turns,.*,12,0,>,8,8,0,3,4,4,4,.*,F,25,0,0,0,,"3, 4",2,2: -2 (-2 to -2) opposite at this scale; 3: 1 (1 to 1) reproduced; 4: 4 (4 to 4) reproduced,reproduced,the difference has the sign claimed' r/claims.csv &&
        grep -q '^unmet,.*,3: 4 (4 to 4) not tested; 4: 7 (7 to 7) reproduced,reproduced,the difference has the sign claimed' r/claims.csv && grep -q '^none,.*,not tested,ones (9) is not above at % (9),-,,,,,,,,$' r/claims.csv &&
        grep -q '^half,.*,2: -3 (-3 to -3) opposite at this scale; 3: 0 (0 to 0) undetermined,undetermined,' r/claims.csv || { fail "$(cat r/claims.csv)"; return 1; }
    [ "$(wc -l < r/claims-budgets.csv)" = 26 ] && grep -q '^falls: 8 . ones,falls,4,-1,4,4,4,0,0,0,,opposite at this scale,' r/claims-budgets.csv && grep -q '^always: ones . 5,always,2,1,1,' r/claims-budgets.csv &&
        [ -f r/curves/budgets.png ] && grep -q 'data:image/svg+xml;base64,.*All of them\.' r/report.html && grep -q '<div>2: -2 (-2 to -2), opposite at this scale</div><div>3: 1 ' r/report.html || { fail "$(cat r/claims-budgets.csv)"; return 1; }
    # a row says at which budgets, and links to the first seed's file
    grep -q '<small>reproduced at 3, 4, opposite at 2</small>' r/report.html && grep -q '<small>at 2, 4 (of 2 budgets)</small>' r/report.html && grep -q '<a class="value" href="t-2-4/toy.csv" title="mean of 3 seeds' r/report.html &&
        ! grep -q 'href="[^"]*#[^"]*/' r/report.html && grep -q '<h3>S</h3>' r/report.html || { fail "$(cat r/report.html)"; return 1; }
    # no budget of another verdict follows that of a claim which its last budget, or all together, leave undetermined
    grep -q 'undetermined</b> <small>at the last budget, 3 (opposite at 2)</small>' r/report.html && grep -q 'undetermined</b> <small>over 2 budgets (reproduced at 2)</small>' r/report.html &&
        [ "$(sed 's/<[^>]*>//g' r/report.html | grep -c 'undetermined at [0-9]')" = 0 ] || { fail "$(cat r/report.html)"; return 1; }
    printf '{{papers LA GVP}}{{tally}}{{tally source}}{{claim turns}}|{{claim once}}|{{claims}}\n' > more.html
    exits 0 "$COSPEC" ${run% t.html} more.html -o r --resume --force && grep -q 'Claims over several budgets with the verdict <em>reproduced</em>: 4 (2 at every budget).' r/report.html &&
        grep -q '<p>LA is Zhang et al. (2024), <a href="https://[^"]*"><em>Look Ahead[^<]*</em></a>. GVP is .*</p>' r/report.html && grep -q '<th>source</th>' r/report.html && grep -q '</small> (at 4: ones <a class="value" href="t-2-4/toy.csv"[^>]*>12</a> against 8; difference 4 (4 to 4))|.*</small> (at 2: ones <a class="value" href="t-2-2/toy.csv"[^>]*>6</a> against 8; difference -2 (-2 to -2))|' r/report.html || { fail "$(cat err r/report.html)"; return 1; }
    # where the scale is too small, or nothing is tested, one verdict stands for the claim and for each of its budgets
    study s.json "$steps" "$scaled, \"claims\": {$(over small '2 3' '>' 8 ', "not_at": "cpu", "needs": [{"left": '"$side"', "want": ">", "right": 99}]'), $(over none '2 3' '>' 8 ', "untested": "no reason"')}"
    exits 0 "$COSPEC" $run -o weak --force && [ "$(grep -c ',undetermined,this scale is too small to decide' weak/claims-budgets.csv)" = 2 ] && [ "$(grep -c ',not tested,no reason' weak/claims-budgets.csv)" = 2 ] &&
        grep -q '2: -2 (-2 to -2) undetermined; 3: 1 (1 to 1) undetermined,undetermined,this scale is too small' weak/claims.csv && [ "$(sed 's/<[^>]*>/ /g' weak/report.html | grep 'this scale is too small to decide' | grep -c 'not tested\|significant from')" = 0 ] || { fail "${why:-$(cat weak/claims.csv weak/claims-budgets.csv)}"; return 1; }
    # claims at two budgets are a table without a figure
    study s.json "$steps" "$scaled, \"claims\": {$(over always '2 4' '>' 5)}"
    exits 0 "$COSPEC" $run -o two --force && [ "$(wc -l < two/claims-budgets.csv)" = 3 ] && [ ! -e two/curves ] && ! grep -q 'All of them' two/report.html || { fail "${why:-$(ls two)}"; return 1; }
    # other claims of the same steps: the manifest of the first run does not name their tables
    study s.json "$steps" "$scaled, \"claims\": {$(over turns '$budgets' '>' 7 ', "title": "T"'), $(over same '2' '>' 7 ', "title": "T"'), $(over other '2' '>' 6 ', "title": "T"')}"
    exits 0 "$COSPEC" $run -o r --resume --force && [ "$(cut -d, -f1 r/claims-budgets.csv | tr '\n' '|' | tr -d '\200-\377')" = 'series|T (turns): ones  7|T (turns): ones  7|T (turns): ones  7|T (same): ones  7|T: ones  6|' ] && grep -q claims-budgets.csv r/manifest.json || { fail "$(cat err)"; return 1; }
    # an exact p in place of an error: of the seeds the largest
    edited r/t-2-2 r/t-3-2 r/t-4-2
    printf 'index,multiplicity,chance\n1,1,0.02\n' > r/t-2-2/toy.csv && printf 'index,multiplicity,chance\n1,.8,0.04\n' > r/t-3-2/toy.csv && printf 'index,multiplicity,chance\n1,.9,0.01\n' > r/t-4-2/toy.csv
    exact='{"label": "tau", "file": "t-#-2/toy.csv", "value": "multiplicity where=index:1", "p": "chance where=index:1"}'
    study s.json "$steps" "$scaled, \"claims\": {\"tau\": {\"source\": \"S\", \"says\": \"-\", \"left\": $exact, \"want\": \">\", \"right\": 0, \"scope\": \"-\"}}"
    exits 0 "$COSPEC" $run -o r --resume --force && grep -q '^tau,.*,0\.9[0-9]*,,>,0,0,0,3,0\.9[0-9]*,,,,S,1,0\.04[0-9]*,0\.04[0-9]*,,,,,,reproduced,' r/claims.csv || { fail "$(cat err r/claims.csv)"; return 1; }
    cp r/claims.csv whole && sed -i 's/chance where=index:1/chance/' s.json && exits 0 "$COSPEC" $run -o r --resume --force && cmp whole r/claims.csv || { fail "p of the same row: $(cat err)"; return 1; }
    sed 's/"want": ">", "right": 0/"want": ">", "right": 1/' s.json > w.json && refuses 3 'w.json: claim tau: p tests a number against 0' "$COSPEC" reproduce --steps w.json --template t.html -o w || return 1
    study w.json "$steps" "$scaled, \"claims\": {$(over a '4 2' '>' 8)}" && refuses 3 'claim a: budgets: expected ascending numbers, got "4 2"' "$COSPEC" reproduce --steps w.json --template t.html -o w || return 1
    study w.json "$steps" "$scaled, \"claims\": {$(over a '2 5' '>' 8)}" && refuses 3 'claim a: left: the study has no step t-2-5' "$COSPEC" reproduce --steps w.json --template t.html -o w && [ ! -e w ] || return 1
    study w.json '"t-%": "toy"' && refuses 3 "step t-%: no variable budgets is defined for the %" "$COSPEC" reproduce --steps w.json --template t.html -o w
}

# Budget by budget, seed by seed, in the order of the file; what is added to the file later does not undo what is done.
test_rounds_and_additions() {
    printf '{{steps}}\n' > t.html
    scaled='"variables": {"seeds": "3 4", "budgets": "5 6"}' run="reproduce --steps s.json --template t.html --jobs 1 -o r"
    toy='toy --objective ar --length 4 --tokens 2 --classes' both='"a-#-%": "toy --objective ar --classes # --length 4 --tokens %", "b-%-#": "toy --objective ar --classes % --length 4 --tokens #"'
    study s.json "$both, \"c-#\": \"$toy #\", \"d\": \"$toy 2\"" "$scaled"
    exits 0 "$COSPEC" $run && [ "$(sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err | tr '\n' ' ')" = "a-3-5 b-5-3 c-3 d a-4-5 b-5-4 c-4 a-3-6 b-6-3 a-4-6 b-6-4 " ] || { fail "$(cat err)"; return 1; }
    study s.json "\"e\": \"$toy 7\", $both, \"c-#\": \"$toy #\", \"d\": \"$toy 3\"" "$scaled, \"claims\": {}"
    exits 0 "$COSPEC" $run --resume && [ "$(sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err | tr '\n' ' ')" = "e d " ] || { fail "added: $(cat err)"; return 1; }
    # another version's step is run again unless --any-version keeps it; one whose command is another is run in any case
    sed -i 's/"commit": "[^"]*"/"commit": "0.0.0 old"/' r/c-3/step.json r/d/step.json
    sed -i 's/--classes 3"/--classes 8"/' s.json
    exits 0 "$COSPEC" $run --resume --any-version --dry-run --csv && [ "$(sed 1d out | cut -d, -f1)" = d ] || { fail "any version, dry run: $(cat out err)"; return 1; }
    exits 0 "$COSPEC" $run --resume --any-version && [ "$(sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err)" = d ] || { fail "any version: $(cat err)"; return 1; }
    exits 0 "$COSPEC" $run --resume && [ "$(sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err)" = c-3 ] || fail "old: $(cat err)"
}

# A run that has begun goes on; of other words it begins anew, also where its command would refuse to go on.
test_begun() {
    printf '{{steps}}\n' > t.html
    printf 'the cat sat\nthe dog ran\nthe cat ran\n%.0s' 1 2 3 4 > c.txt
    train="train --corpus $PWD/c.txt --objective ar --arch gpt2 --max-length 8 --layers 1 --width 8 --heads 2 --batch 2 --steps 6 --save-every 2 --seed"
    begun() { rm r/manifest.json r/report.html r/m/manifest.json && : > r/m/.cospec.lock && sed -i 's/"exit": 0/"exit": -1/' r/m/step.json; }
    study s.json "\"m\": \"$train 1\""
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r && cp r/m/model.safetensors whole && begun &&
        exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && grep -q 'm: cospec train' err && grep -q '"resume": true' r/m/manifest.json && cmp r/m/model.safetensors whole || { fail "the same words: ${why:-$(cat err r/m/stderr.txt)}"; return 1; }
    study s.json "\"m\": \"$train 2\""
    begun && exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && grep -q '"force": true' r/m/manifest.json && ! cmp -s r/m/model.safetensors whole && grep -q '"exit": 0,' r/m/step.json || { fail "other words: ${why:-$(cat err r/m/stderr.txt)}"; return 1; }
    # of an archive there are tables alone: begun anew
    begun && rm r/m/.cospec.lock && exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && grep -q '"force": true' r/m/manifest.json || fail "an archive: ${why:-$(cat err r/m/stderr.txt)}"
}

# A folder that was moved, or unpacked from an archive of records and tables, is resumed in its new place.
test_moved_folder() {
    printf '{{steps}}\n' > t.html
    printf 'the cat sat\nthe dog ran\nthe cat ran\n%.0s' 1 2 3 4 > c.txt
    study s.json "\"a\": \"cooc --corpus $PWD/c.txt --objective ar --context all --max-length 3\", \"b\": \"svd @a -k 2\""
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r && mkdir there && mv r there/other && rm there/other/*/std*.txt || { fail "$why"; return 1; }
    rm there/other/manifest.json there/other/report.html && exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o there/other --resume && ! grep -q '^\[' err || { fail "${why:-$(cat err)}"; return 1; }
    rm there/other/manifest.json there/other/report.html && echo x >> "$(ls there/other/a/*.npy there/other/a/*.npz 2>/dev/null | head -1)" && exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o there/other --resume && [ "$(sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err | tr '\n' ' ')" = "a b " ] || fail "damaged: ${why:-$(cat err)}"
}

# Names are names of folders within the study.
test_names_are_restricted() {
    printf 'x\n' > t.html
    for name in ../esc ../../esc: .hidden a/b '' 'a b' '<b>' "$(printf '%0101d' 0)"; do
        study s.json "\"$name\": \"toy --objective ar --classes 2 --length 4 --tokens 2\""
        refuses 3 "expected a name of letters" "$COSPEC" reproduce --steps s.json --template t.html -o d/r && [ ! -e d/esc ] && [ ! -e d/r ] || { fail "$name: $why"; return 1; }
    done
    for name in report.html claims.csv claims-budgets.csv curves differences.csv differences manifest.json; do
        study s.json "\"$name\": \"toy --objective ar --classes 2 --length 4 --tokens 2\""
        refuses 3 "step $name: a file of the study has the same name" "$COSPEC" reproduce --steps s.json --template t.html -o d/r && [ ! -e d/r ] || { fail "$name: $why"; return 1; }
    done
}

# Texts of files appear in the page as text, not as markup.
test_fields_are_escaped() {
    study s.json '"whole": "verify 3.1"' '"claims": {"<i>": {"source": "<i>&", "says": "\"<i>", "scope": "<i>", "statement": "whole 3.1 printed"}}'
    printf '{{command whole}} {{claims}} {{steps}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r && ! grep -q '<i>' r/report.html && grep -q '&lt;i&gt;' r/report.html || { fail "claims: $(cat err)"; return 1; }
    edited r/whole; sed -i 's/"verdict": "[A-Z]*"/"verdict": "<i>"/; s/"form": "corrected"/"form": "<i>"/; s/"id": "3.1-half"/"id": "<i>"/' r/whole/statements.json
    sed -i '2s/PASS\|FAIL/<i>/' r/whole/statements.csv
    printf '{{head a <i>}}{{statement whole <i> <i> <i>}} {{verdict whole <i> <i>}} {{table whole/statements.csv}} {{value whole/statements.csv verdict}} {{claims}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume --force && ! grep -q '<i>' r/report.html &&
        grep -q '<td>&lt;i&gt;</td><td>&lt;i&gt;</td>.*not specified' r/report.html || { fail "unescaped: $(cat err) $(grep -o '.\{30\}<i>' r/report.html | head -3)"; return 1; }
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd)
    grep -q 'Content-Security-Policy.*default-src .none.' r/report.html && grep -q '<title>cospec: a &lt;i&gt;</title>' r/report.html || { fail "$(head -9 r/report.html)"; return 1; }
    for page in atlas claims images long repeat report train-demo; do sed -n 1p "$root/plots/$page.html" | grep -q '^{{head ' || { fail "no head in $page.html"; return 1; }; done
}

test_nul_is_refused() {
    printf 'x\n' > t.html
    printf '{"steps": [{"run": {"a": "toy --objective ar --classes 2 --length 4 --tokens 2"}}]}\n\000, ' > s.json
    exits 3 "$COSPEC" reproduce --steps s.json --template t.html -o r || return 1
    study s.json '"a": "toy --objective ar --classes 2 --length 4 --tokens 2"'
    printf 'one\ntwo \000 {{steps}}\n' > t.html
    refuses 3 "t.html:2: a NUL byte" "$COSPEC" reproduce --steps s.json --template t.html -o r || return 1
    small_corpus c.tsv
    for case in '{"steps": [{"run": 3}]}|steps 1: "run" is not an object' '{"steps": [{"run": {"a": "toy"}}], "claims": []}|"claims" is not an object' \
        '{"steps":\n"\000"}|s.json:2: a NUL byte'; do
        printf "${case%%|*}" > s.json
        refuses 3 "${case#*|}" "$COSPEC" reproduce --steps s.json -o n || return 1
    done
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o m && edited m && printf 'a\000b\n' > m/vocab.txt &&
        refuses 3 "m/vocab.txt:1: a NUL byte" "$COSPEC" inspect m --row 0 || return 1
    f32 0 1 2 1 2 0 1 2 | npy x.npy '<f4' '(4, 2)' && printf '1\n\0002\n' > rows.txt &&
        refuses 3 "rows.txt:2: a NUL byte" "$COSPEC" rank x.npy --blocks 2 --drop-rows rows.txt
}

# Steps run after those that they read, in any order of the file; cycles are refused.
test_order() {
    printf '{{steps}}\n' > t.html
    study s.json '"f": "plot toy-spectra ar=@t-ar/toy.csv m=@t-permuted-ar/toy.csv", "t-permuted-ar": "toy --objective permuted-ar --classes 2 --length 4 --tokens 2", "t-ar": "toy --objective ar --classes 2 --length 4 --tokens 2"'
    exits 0 "$COSPEC" reproduce --jobs 1 --steps s.json --template t.html -o r && [ "$(sed -n 's/.*\] \([a-z-]*\): .*/\1/p' err | tr '\n' ' ')" = 't-permuted-ar t-ar f ' ] || { fail "$(cat err)"; return 1; }
    study circle.json '"a": "plot toy-spectra b=@b/toy.csv", "b": "plot toy-spectra c=@c/toy.csv", "c": "plot toy-spectra b=@b/toy.csv"'
    refuses 3 "step a and a step that it reads depend on each other" "$COSPEC" reproduce --steps circle.json --template t.html -o c && [ ! -e c ] || return 1
    study itself.json '"a": "plot toy-spectra a=@a/toy.csv"'
    refuses 3 "step a reads itself" "$COSPEC" reproduce --steps itself.json --template t.html -o c
}

# Sections and claims are made once for each row of a table, or of those that fit; a field of another table's row.
test_tables() {
    cat > s.json << 'END'
{"tables": {"models": [{"name": "ar", "of": "one", "label": "next token"}, {"name": "permuted-ar", "of": "two", "label": "any order"}, {"name": "prefix-lm", "of": "two", "label": "any prefix"}],
            "pairs": [{"name": "A", "left": "ar", "right": "permuted-ar", "want": ">"}, {"name": "B", "left": "permuted-ar", "right": "ar", "want": ">"}]},
 "steps": [{"each": "models", "where": {"of": "two"}, "run": {"t-{name}": "toy --objective {name} --classes 2 --length 4 --tokens 2"}},
           {"run": {"t-ar": "toy --objective ar --classes 2 --length 4 --tokens 2"}}],
 "claims": {"claim-{name}": {"each": "pairs", "source": "$models", "says": "{models[left].label} before {models[right].label}", "scope": "exact", "want": "{want}",
            "left": {"label": "{left}", "file": "t-{left}/toy.csv", "value": "sum_sigma4 where=index:1", "exact": true}, "right": {"label": "{right}", "file": "t-{right}/toy.csv", "value": "sum_sigma4 where=index:1", "exact": true}}}}
END
    printf '{{claims}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r && [ -e r/t-prefix-lm/toy.csv ] && [ "$(sed -n 's/,.*//p' r/claims.csv | tr '\n' ' ')" = 'claim claim-A claim-B ' ] &&
        grep -q '^claim-A,ar permuted-ar prefix-lm,next token before any order,.*,reproduced,' r/claims.csv && grep -q '^claim-B.*,opposite at this scale,' r/claims.csv || { fail "$(cat err r/claims.csv)"; return 1; }
    for change in 's/"each": "models"/"each": "model"/|steps 1: each: unknown table model' 's/"two"},/"three"},/g|steps 1: where: no row of models matches' 's/{models\[left\].label}/{models[left].lable}/|claims: claim-{name}: says: no field {models[left].lable}' \
        's/"t-{left}/"t-{lift}/|claims: claim-{name}: left: file: no field {lift}' 's/claim-{name}/claim/|claims: claim: claim is given twice' 's/{"name": "ar", /{/|tables: models: row 1 has no "name"' 's/"tables"/"variables": {"pairs": "x"}, "tables"/|tables: pairs: a variable has the same name' 's/{name}"/{name"/|steps 1: t-{name: no field {name'; do
        sed "${change%|*}" s.json > bad.json
        refuses 3 "bad.json: ${change##*|}" "$COSPEC" reproduce --steps bad.json --template t.html -o b && [ ! -e b ] || { fail "$change: $(cat err)"; return 1; }
    done
}

# Every study of the program is whole at each of its scales: names that no claim has are refused after all is read.
test_shared_studies() {
    for scale in reproduce:smoke reproduce:cpu reproduce:gpu long:smoke long:long long:gpu atlas:smoke atlas:long repeat:smoke repeat:long repeat:gpu images:smoke images:cpu images:long images:gpu; do
        refuses 2 "no claim has a name that starts with nothing-" "$COSPEC" reproduce --steps "$root/plots/${scale%:*}.json" --scale "${scale#*:}" --claims nothing- -o n || return 1
    done
    printf 'x\n' > t.html
    study s.json '"a": "toy --objective ar --length 4 --tokens 2 --classes 2", "b": "cooc --corpus worndet --objective ar"'
    refuses 3 "step b: --corpus worndet: no such file and no named corpus" "$COSPEC" reproduce --steps s.json --template t.html -o n && [ ! -e n ] || return 1
}

# --claims: those claims and the steps that they read, of themselves or by others; no other step runs.
test_only_some_claims() {
    study s.json '"u": "toy --objective ar --classes 2 --length 4 --tokens 2", "t": "toy --objective ar --classes 2 --length 4 --tokens 2", "f": "plot toy-spectra ar=@t/toy.csv", "v": "verify 3.1"' \
        '"claims": {"A-1": {"source": "S", "says": "x", "scope": "y", "left": {"label": "figure", "file": "f/toy-spectra.csv", "value": "sigma where=index:1", "exact": true}, "want": ">", "right": 0},
          "B-1": {"source": "S", "says": "x", "scope": "y", "statement": "v 3.1 corrected"}}'
    exits 0 "$COSPEC" reproduce --steps s.json --claims A -o r && [ "$(sed -n 's/,.*//p' r/claims.csv | tr '\n' ' ')" = 'claim A-1 ' ] && [ -e r/t/toy.csv ] && [ ! -e r/u ] && [ ! -e r/v ] || { fail "$(cat err; ls r)"; return 1; }
    exits 0 "$COSPEC" reproduce --steps s.json --claims B-,C -o b && [ -e b/v ] && [ ! -e b/t ] && grep -q 'Claims of a study' b/report.html || { fail "$(cat err)"; return 1; }
    # Another part, or all, goes on in the same folder.
    exits 0 "$COSPEC" reproduce --steps s.json --claims A,B -o r --resume && [ "$(sed -n 's/^\[[^]]*\] \([^:]*\):.*/\1/p' err)" = v ] && [ "$(sed -n 's/,.*//p' r/claims.csv | tr '\n' ' ')" = 'claim A-1 B-1 ' ] || { fail "${why:-$(cat err)}"; return 1; }
    # the report of the whole study, with results that were not chosen
    printf '<p>{{verdict v 3.1 corrected}} {{value t/toy.csv sigma where=index:1}} {{claim A-1}}</p><table>{{statement v 3.1 corrected It.}}</table>{{figure f toy-spectra A caption}}{{table u/toy.csv}}{{command v}}\n' > whole.html
    exits 0 "$COSPEC" reproduce --steps s.json --template whole.html --claims B -o part && [ "$(grep -o '<em>not chosen</em>' part/report.html | wc -l)" = 4 ] && grep -q 'holds</b>.*<td>It.</td>' part/report.html || { fail "$(cat err part/report.html)"; return 1; }
    exits 0 "$COSPEC" reproduce --steps s.json --template whole.html --claims A -o part --resume --force && [ "$(grep -o '<em>not chosen</em>' part/report.html | wc -l)" = 4 ] && grep -q '<tr><td>It. <em>not chosen</em></td></tr>' part/report.html && grep -q 'A caption' part/report.html || { fail "$(cat err part/report.html)"; return 1; }
    refuses 2 "no claim has a name that starts with C,x" "$COSPEC" reproduce --steps s.json --claims C,x -o c && [ ! -e c ] || return 1
    # A scale may have its own claims, in the variable of that name; --claims chooses others, and an empty one is all.
    sed 's/^{/{"scales": ["some", "all"], "variables": {"claims": ["B-", ""]}, /' s.json > scales.json
    printf '{{claims}}{{if u}}toy{{end}}{{if v}}audit{{end}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps scales.json --template t.html --scale some -o some && [ "$(sed -n 's/,.*//p' some/claims.csv | tr '\n' ' ')" = 'claim B-1 ' ] && [ ! -e some/t ] && [ ! -e some/u ] && grep -q 'audit$' some/report.html && ! grep -q 'toy' some/report.html || { fail "$(cat err; ls some)"; return 1; }
    exits 0 "$COSPEC" reproduce --steps scales.json --template t.html --scale some --claims A -o other && [ "$(sed -n 's/,.*//p' other/claims.csv | tr '\n' ' ')" = 'claim A-1 ' ] && [ ! -e other/v ] || { fail "$(cat err; ls other)"; return 1; }
    exits 0 "$COSPEC" reproduce --steps scales.json --template t.html --scale all -o all && [ "$(sed -n 's/,.*//p' all/claims.csv | tr '\n' ' ')" = 'claim A-1 B-1 ' ] && [ -e all/u ] && grep -q 'toyaudit$' all/report.html || { fail "$(cat err; ls all)"; return 1; }
}

# A study that runs itself comes to an end.
test_depth_is_limited() {
    printf '{{command again}}\n' > t.html
    study s.json "\"again\": \"reproduce --steps $PWD/s.json --template $PWD/t.html\""
    exits 3 timeout 60 "$COSPEC" reproduce --steps s.json --template t.html -o r &&
        grep -q "runs are nested more than 8 deep" r/again/again/again/again/again/again/again/again/stderr.txt
}

# A variable of all rows of a table, sections that may be made for none, what a template has only then, and who is first.
test_joined_rows() {
    toy='toy --classes 2 --tokens 2 --objective ar --length'
    cat > s.json <<EOF
{"tables": {"rows": [{"name": "a", "length": "4", "drawn": "yes"}, {"name": "b", "length": "5", "drawn": "yes"}, {"name": "c", "length": "6", "drawn": "no"}], "pairs": [{"name": "a.b", "x": "a", "y": "b"}, {"name": "a.c", "x": "a", "y": "c"}, {"name": "b.c", "x": "b", "y": "c"}], "none": []},
 "variables": {"files": {"each": "rows", "where": {"drawn": "yes"}, "text": "{name}=@{name}/toy.csv"}},
 "steps": [{"each": "rows", "run": {"{name}": "$toy {length}"}}, {"each": "none?", "run": {"{name}": "toy"}}, {"run": {"fig-all": "plot toy-spectra \$files"}}],
 "claims": {"more.ones.{name}": {"each": "pairs", "source": "number of ones", "says": "{x} has more", "left": {"label": "{x}", "file": "{x}/toy.csv", "value": "multiplicity where=index:1", "se": "residual"}, "want": ">", "right": {"label": "{y}", "file": "{y}/toy.csv", "value": "multiplicity where=index:1", "se": "residual"}, "scope": "s"}}}
EOF
    printf '{{if fig-}}drawn {{figures fig- Spectra}}{{end}}{{if nothing}}not {{command nothing}}{{end}}{{standings more. most}}{{standings less. least}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r && [ "$(cut -d, -f1 r/fig-all/toy-spectra.csv | sort -u | tr '\n' ' ')" = 'a b series ' ] &&
        grep -q '^drawn .*data:image' r/report.html && grep -q 'Spectra all' r/report.html && ! grep -q 'not ' r/report.html && grep -q 'Nothing of this kind' r/report.html || { fail "${why:-$(cut -c1-200 r/report.html)}"; return 1; }
    [ "$(grep -c 'number of ones' r/report.html)" = 1 ] && grep -q '<th class="n">a</th><th class="n">b</th><th class="n">c</th>' r/report.html || { fail "$(grep standings r/report.html)"; return 1; }
    sed 's/none?/none/' s.json > bad.json
    refuses 3 "where: no row of none matches" "$COSPEC" reproduce --steps bad.json --template t.html -o b
}

# A number is rounded to two digits of the error that its row has: se, an interval, or a deviation; a legend's words. Large whole
# numbers have separators, and empty columns are left out.
test_rounding() {
    study s.json '"t": "toy --objective ar --classes 2 --length 4 --tokens 2"'
    printf '{{steps}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r || return 1
    rm r/t/manifest.json && printf 'series,value,se,note,n\nmasked(unmasked=2),1.23456789,0.01234,,2072510\noffset-ar(offset-weights=mix:0.5),123.456,34.5,,3\nar,0.123456789,,,4\n' > r/t/a.csv
    printf 'tau,p,low,high\n-0.353219,0.012345,-0.6012,-0.0513\n' > r/t/b.csv
    printf '{{table t/a.csv}}{{value t/a.csv value where=n:4}}{{table t/b.csv}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume --force || return 1
    n='<td class="n">'
    sed -i 's/ data-label="[^"]*"//g' r/report.html
    for row in "<td>masked, 2 shown</td>${n}1.235</td>${n}0.012</td>${n}2,072,510</td>" "<td>offset, mix 0.5</td>${n}123</td>${n}35</td>${n}3</td>|<td>offset, mix 0.5</td>${n}123</td>${n}34</td>${n}3</td>" \
        "<td>autoregressive</td>${n}0.123457</td><td></td>${n}4</td>" "${n}-0.35</td>${n}0.012</td>${n}-0.60</td>${n}-0.05</td>" '>0.1235</a>'; do
        grep -q "${row%|*}" r/report.html || grep -q "${row#*|}" r/report.html || { fail "$row: $(cat r/report.html)"; return 1; }
    done
    # the words of a variable `labels`, as --label of plot has them
    study s.json '"t": "toy --objective ar --classes 2 --length 4 --tokens 2"' '"variables": {"labels": "--label ar=next,token --label b.given=any,order,(blind)"}'
    printf 'object,series,value\nb.given,ar,2\nb.give,masked(unmasked=2),3\n' > r/t/c.csv; printf '{{table t/c.csv}}{{table t/a.csv}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume --force && sed -i 's/ data-label="[^"]*"//g' r/report.html && grep -q "<td>any order (blind)</td><td>next token</td>${n}2</td>" r/report.html && grep -q "<td>b.give</td><td>masked, 2 shown</td>" r/report.html || { fail "${why:-$(cat r/report.html)}"; return 1; }
    ! grep -q '<th>note</th>' r/report.html || fail "an empty column: $(cat r/report.html)"
}

# A finished step is kept while what it has read is the same: its inputs by content, and the steps before it.
test_inputs_that_change() {
    printf 'the cat sat\nthe dog ran\nthe cat ran\n%.0s' 1 2 3 4 > c.txt
    study s.json "\"m\": \"cooc --corpus $PWD/c.txt --objective ar --context all --max-length 3\", \"s\": \"svd @m -k 2\", \"t\": \"toy --objective ar --classes 2 --length 4 --tokens 2\""
    printf '{{steps}}\n' > t.html
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r || return 1
    rm r/manifest.json r/report.html && cp c.txt same.txt && cp same.txt c.txt && exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && ! grep -q 'cospec svd\|cospec cooc' err || { fail "the same text: $(cat err)"; return 1; }
    rm r/manifest.json r/report.html && echo 'a bird sang' >> c.txt && exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume && grep -q 'm: cospec cooc' err && grep -q 's: cospec svd' err && ! grep -q 't: cospec toy' err || fail "${why:-$(cat err)}"
}

# An input that is replaced while a study runs: its steps have read different things, which is said at the end; --resume mends it.
test_inputs_replaced_while_it_runs() {
    printf 'the cat sat\nthe dog ran\nthe cat ran\n%.0s' 1 2 3 4 > c.txt && printf 'one two three four\n%.0s' 1 2 3 4 5 6 > slow.txt
    read='--objective ar --context all --max-length 3'
    study s.json "\"a\": \"cooc --corpus $PWD/c.txt $read\", \"slow\": \"train --corpus $PWD/slow.txt --objective ar --width 16 --layers 1 --heads 1 --steps 1000000 --time-limit 2\", \"b\": \"cooc --corpus $PWD/c.txt $read\""
    printf '{{steps}}\n' > t.html
    "$COSPEC" reproduce --steps s.json --template t.html -o r --jobs 1 > out 2> err & pid=$!
    while kill -0 $pid 2> /dev/null && [ ! -e r/slow/stdout.txt ]; do sleep 0.05; done
    echo 'a bird sang' > new.txt && cat c.txt >> new.txt && mv new.txt c.txt
    wait $pid; got=$?
    [ $got = 3 ] && says "c.txt changed while the study ran; run again with --resume" && [ ! -e r/report.html ] || { fail "$got: $(cat err)"; return 1; }
    exits 0 "$COSPEC" reproduce --steps s.json --template t.html -o r --resume --jobs 1 && grep -q 'a: cospec cooc' err && ! grep -q 'b: cospec cooc' err || fail "$(cat err)"
}

for name in inputs_replaced_while_it_runs reproduce resume_of_an_archive killed_within_a_record edited_tables_are_made_again a_full_disk_is_said jobs order tables rounding shared_studies joined_rows inputs_that_change only_some_claims time_left_is_said scales_and_claims seeds_and_blocks claims_over_budgets rounds_and_additions begun moved_folder names_are_restricted fields_are_escaped nul_is_refused depth_is_limited; do check "$name"; done
