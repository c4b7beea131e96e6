# Dispatch, help, exit codes, streams.
. tests/cli/lib.sh

test_version() { exits 0 "$COSPEC" --version && grep -q '^cospec [0-9]' out; }

test_no_command() { refuses 2 "no command" "$COSPEC"; }

test_unknown_command() { refuses 2 "unknown command 'hepl'; did you mean help?" "$COSPEC" hepl; }

test_unknown_option() {
    refuses 2 "did you mean --classes?" "$COSPEC" toy --clases 3 && refuses 2 "did you mean --compare?" "$COSPEC" tradeoff --objective ar &&
        refuses 2 "did you mean --lr?" "$COSPEC" finetune a b --learning-rate 1e-3
}

test_help_of_each_command() {
    exits 0 "$COSPEC" help || return 1
    cp out list
    for c in $(sed -n 's/^  \([a-z]*\) .*/\1/p' list); do
        exits 0 "$COSPEC" help "$c" || return 1
        cp out one
        exits 0 "$COSPEC" "$c" --help || return 1
        cmp -s one out || { fail "help $c and $c --help differ"; return 1; }
        grep -q '^Examples:' out || { fail "$c has no examples"; return 1; }
        awk 'length > 80 && !/^  (cospec|#)/ { bad = 1 } END { exit bad }' out || { fail "$c: lines over 80 columns"; return 1; }
    done
}

test_man_page_is_clean() {
    exits 0 "$COSPEC" help --man || return 1
    cp out cospec.1
    man --warnings -l cospec.1 > page 2> warnings
    [ ! -s warnings ] || { fail "$(head -3 warnings)"; return 1; }
    grep -q 'EXIT STATUS' page
}

test_completion() {
    exits 0 "$COSPEC" help --completion || return 1
    cat > try.bash <<'EOF'
. ./out
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _cospec; printf '%s ' "${COMPREPLY[@]}"; echo; }
complete_words cospec to
complete_words cospec toy --obj
complete_words cospec toy --token-sets ''
complete_words cospec help --m
complete_words cospec verify 4
complete_words cospec help to
complete_words cospec data st
: > file.npz
complete_words cospec svd file
complete_words cospec toy -o file
complete_words cospec toy file
EOF
    bash try.bash > words 2> errors || { fail "$(cat errors)"; return 1; }
    printf 'toy tokenize \n--objective \ndisjoint literal \n--man --markdown \n4.1 4.2 4.3 \ntoy tokenize \nstats \nfile.npz \nfile.npz \n \n' > want
    cmp -s words want || fail "$(tr '\n' '/' < words)"
}

test_docs_are_current() {
    exits 0 "$COSPEC" help --markdown || return 1
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd)
    if [ -f "$root/docs/reference/cli.md" ]; then
        cmp -s out "$root/docs/reference/cli.md" || fail "docs/reference/cli.md is not what 'make docs' writes"
    else
        fail "docs/reference/cli.md is missing"
    fi
}

test_full_stdout() {
    "$COSPEC" help > /dev/full 2> err
    [ $? = 3 ] && says "standard output: No space left on device" || fail "a full stdout is not an error"
}

test_closed_stdout() {
    "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --json >&- 2> err
    [ $? = 3 ] && says "standard output"
}

test_reader_gone() {
    { "$COSPEC" toy --objective masked --unmasked 1:2000:1 --classes 2 --length 2001 --tokens 2 --csv 2> err; echo $? > code; } | head -1 > out
    [ "$(cat code)" = 3 ] && says "Broken pipe" || fail "exit $(cat code): $(head -c 200 err)"
}

test_device() {
    refuses 5 "toy computes on the CPU only" "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --device cuda &&
        exits 0 "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --device auto
}

test_json_and_csv() { refuses 2 "together" "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --json --csv; }

test_option_without_meaning() { refuses 2 "no meaning for 'help'" "$COSPEC" help --seed 3; }

# What stands in another's place, or is nearly a name.
test_mistaken() {
    exits 0 "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 -o toy || return 1
    mkdir model && echo '{}' > model/config.json
    refuses 3 "wordnt: no such file, and not a corpus known by name (wordnet, bible-kjv, gcide, manpages, foldoc, glyphs, emoji, scenes, field) or law (markov:..., hmm:..., grammar:..., field:...); did you mean wordnet?" \
        "$COSPEC" cooc --corpus wordnt --objective ar -o c &&
        refuses 2 "wordnet is a corpus and model is a model: they are in each other's place" "$COSPEC" features wordnet model -o f &&
        refuses 3 "wordnet: no directory of a model but a corpus" "$COSPEC" features wordnet wordnet -o f &&
        refuses 3 "model: no corpus but a model" "$COSPEC" cooc --corpus model --objective ar -o c &&
        refuses 2 "toy/toy.json: figures are drawn from tables: give toy/toy.csv, which is in the same folder" "$COSPEC" plot toy-spectra a=toy/toy.json -o p &&
        refuses 2 "the figure comes first, then its tables" "$COSPEC" plot toy/toy.csv toy-spectra -o p || return 1
    # probe: the model behind its texts, labels in the place of features; both would have been read
    printf 'a\tb c\nd\te f\n' > l.tsv
    f32 0 1 2 -1 | npy x.npy '<f4' '(2, 2)' && f32 0 1 | npy y.npy '<f4' '(2,)'
    for words in "l.tsv model l.tsv" "l.tsv model" "x.npy model"; do
        # shellcheck disable=SC2086
        refuses 2 " and model is a model: they are in each other's place" "$COSPEC" probe $words || return 1
    done
    refuses 2 "--labels x.npy: a matrix of 2 columns, and labels are one a row" "$COSPEC" probe y.npy y.npy --labels x.npy --test-labels x.npy &&
        refuses 2 "--test-labels x.npy: a matrix of 2 columns" "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels x.npy || return 1
    # what is no matrix is named as it was given, not by the files looked for in it
    mkdir other
    refuses 3 "other: no matrix (FILE.npz, .npy, .mtx, or a folder that cospec cooc wrote) but a folder without model or matrix" "$COSPEC" svd other &&
        refuses 3 "model: no matrix (FILE.npz, .npy, .mtx, or a folder that cospec cooc wrote) but a model" "$COSPEC" density model &&
        refuses 3 "other: no matrix" "$COSPEC" connectivity other && refuses 3 "other: no folder that cospec cooc wrote" "$COSPEC" verify 4.1 --matrix other &&
        refuses 3 "x.npy: no folder that cospec cooc wrote but a matrix" "$COSPEC" inspect x.npy &&
        refuses 3 "gone: no folder that cospec cooc wrote: there is no such file" "$COSPEC" inspect gone &&
        refuses 3 "x.npy: no folder that cospec cooc wrote but a matrix" "$COSPEC" angles x.npy x.npy || return 1
    # a model of which a part is missing
    for part in model.safetensors tokenizer.json vocab.txt; do
        rm -rf part && mkdir part && : > part/$part
        refuses 3 "part: config.json is missing beside $part" "$COSPEC" features part l.tsv -o f &&
            refuses 3 "part: config.json is missing beside $part" "$COSPEC" probe part l.tsv l.tsv || return 1
    done
}

# Values are suggested as options are: names of every list, and files beside the one that is not there.
test_suggestions() {
    printf 'a\tb c\n' > d.tsv && mkdir model && echo '{}' > model/config.json || return 1
    refuses 3 "w0rd: no such file, and not a corpus known by name (wordnet, bible-kjv, gcide, manpages, foldoc, glyphs, emoji, scenes, field) or law (markov:..., hmm:..., grammar:..., field:...); did you mean wordnet?" \
        "$COSPEC" cooc --corpus w0rd --objective ar -o c &&
        refuses 3 "did you mean d.tsv?" "$COSPEC" cooc --corpus d.tvs --objective ar -o c &&
        refuses 3 "did you mean model/../d.tsv?" "$COSPEC" data stats model/../d.tvs &&
        refuses 3 "mdoel: no directory of a model: there is no such file; did you mean model?" "$COSPEC" features mdoel d.tsv -o f &&
        refuses 3 "there is no such file; did you mean model?" "$COSPEC" verify 4.1 --matrix modle &&
        refuses 3 "f.npy: No such file or directory" "$COSPEC" rank f.npy &&
        refuses 3 "mdoel: there is no such file; a matrix is" "$COSPEC" rank mdoel && refuses 3 "mdoel: no directory of a model" "$COSPEC" probe mdoel d.tsv d.tsv &&
        refuses 3 "config.jsn: cannot read: No such file or directory; did you mean model/config.json?" "$COSPEC" toy --config model/config.jsn || return 1
    ln -s loop.txt loop.txt && ln -s gone.npz link.npz || return 1
    refuses 3 "; the symbolic link is there: Too many levels of symbolic links" "$COSPEC" cooc --corpus loop.txt --objective ar -o c &&
        mkdir -p folder/in && ln -s .. folder/in/back && refuses 3 "folder/in/back: a link back to folder, a folder that it is in" "$COSPEC" data stats folder &&
        refuses 3 "; the symbolic link is there: No such file or directory" "$COSPEC" svd link.npz && ! grep -q 'did you mean' err || return 1
    refuses 2 "unknown certificate 'momets' (none, components, moments, probe, inertia); did you mean moments?" "$COSPEC" svd d.tsv --certify components,momets &&
        refuses 2 "did you mean uniform:2?" "$COSPEC" toy --objective offset-ar --offset-weights unform:2 --classes 2 --length 3 --tokens 2 &&
        refuses 2 "no scale smok;" "$COSPEC" reproduce --scale smok -o r && says "did you mean smoke?" &&
        refuses 2 "did you mean spectra?" "$COSPEC" plot spectr d.tsv -o p &&
        refuses 2 "did you mean ar?" "$COSPEC" toy --objective gpt3 --classes 2 &&
        refuses 2 "unknown action 'trian' (train, encode, decode, stats); did you mean train?" "$COSPEC" tokenize trian &&
        refuses 2 "unknown action 'lst' (list, prepare, stats); did you mean list?" "$COSPEC" data lst &&
        refuses 2 "did you mean whitespace?" "$COSPEC" data stats d.tsv --tokenizer whitespaces || return 1
    refuses 2 "wordnet is a corpus and ar is an objective: they are in each other's place" "$COSPEC" cooc --corpus ar --objective wordnet -o c &&
        refuses 2 "wordnet is a corpus and gpt is an objective: they are in each other's place" "$COSPEC" train --corpus gpt --objective wordnet -o c &&
        refuses 2 "wordnet: no objective but a corpus" "$COSPEC" train --corpus d.tsv --objective wordnet -o c &&
        refuses 3 "ar: no corpus but an objective" "$COSPEC" cooc --corpus ar --objective ar -o c || return 1
    # what is given where it does not belong is named by what it is
    refuses 2 "takes options only; did you mean --corpus d.tsv?" "$COSPEC" train d.tsv --objective ar -o c &&
        refuses 2 "did you mean --version?" "$COSPEC" --versoin &&
        refuses 3 "d.tsv: no matrix (FILE.npz, .npy, .mtx, or a folder that cospec cooc wrote) but a corpus" "$COSPEC" svd d.tsv &&
        refuses 2 "--vocab N|all: 'al' is not an integer" "$COSPEC" cooc --corpus d.tsv --objective ar --vocab al -o c &&
        refuses 2 '"masked(unmasked=1": a parenthesis is not closed at the end' "$COSPEC" toy --objective 'masked(unmasked=1' --classes 2 &&
        refuses 2 "file needs a plan file: file(plan-file=FILE)" "$COSPEC" kernel file &&
        refuses 2 "diverse-ar needs a number of tokens (t)" "$COSPEC" kernel diverse-ar || return 1
    exits 0 "$COSPEC" cooc --corpus d.tsv --objective ar -q -o wordnet && [ -s wordnet/matrix.npz ] || return 1
    for option in "--context each:2" "--jackknife 3" "--compare ar" "--vocab 5"; do
        # shellcheck disable=SC2086
        refuses 2 "--$(echo "${option#--}" | cut -d' ' -f1) is for --corpus: matrices are as they were built" "$COSPEC" connectivity wordnet $option || return 1
    done
    # a folder has the name of a corpus: it is what is in it, but where a corpus is wanted
    exits 0 "$COSPEC" svd wordnet -k 1 -q && exits 0 "$COSPEC" rerun wordnet -o again -q && cmp -s wordnet/matrix.npz again/matrix.npz || fail "${why:-rerun of a folder}"
}

# What is printed does not depend on where it goes: a pipe, a terminal, a file; --csv and files have all.
test_selection() {
    toy="toy --objective masked --unmasked 1:20:1 --classes 2 --length 21 --tokens 2"
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $toy && cp out file && "$COSPEC" $toy 2> err | cat > pipe && cmp -s file pipe || { fail "a pipe"; return 1; }
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $toy -o d && cmp -s out file && exits 0 "$COSPEC" $toy -o d --resume && cmp -s out file && exits 0 "$COSPEC" $toy --csv && cmp -s out d/toy.csv || { fail "${why:-files}"; return 1; }
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $toy --all && [ "$(wc -l < out)" = "$(wc -l < d/toy.csv)" ] && [ "$(wc -l < file)" -lt "$(wc -l < out)" ] || { fail "${why:---all: $(wc -l out file d/toy.csv)}"; return 1; }
    if command -v script > /dev/null; then
        script -qec "$COSPEC $toy --quiet" /dev/null < /dev/null | tr -d '\r' > terminal && cmp -s file terminal || fail "a terminal: $(head -3 terminal)"
    fi
}

# A mistyped metric is told before the work; one that this result has no rows of costs no result.
test_metrics() {
    f32 0 1 2 -1 | npy x.npy '<f4' '(2, 2)'
    refuses 2 "--metric: unknown metric 'rank_tua' (rank_tau," "$COSPEC" rank gone.npy --metric rank_tua && says "did you mean rank_tau?" || return 1
    refuses 2 "--metric has no meaning for 'train'" "$COSPEC" train --corpus gone.txt --objective ar --metric typo -o t || return 1
    refuses 2 "--metric: unknown metric 'acuracy'" "$COSPEC" probe gone.npy gone.npy --metric acuracy && says "did you mean accuracy?" || return 1
    refuses 2 "did you mean matthews?" "$COSPEC" finetune gone gone gone --metric mathews || return 1
    refuses 2 "--metric pearson is for regression" "$COSPEC" finetune gone gone gone --metric pearson || return 1
    exits 0 "$COSPEC" similarity x.npy x.npy --metric mean_cosine -o s && says "--metric mean_cosine: the result has no such metric" && [ -s s/similarity.csv ]
}

test_missing_config() { refuses 3 "nowhere.json" "$COSPEC" toy --config nowhere.json; }

test_config() {
    echo '{"objective": "masked", "unmasked": 2, "classes": 4, "length": 4, "tokens": 3}' > c.json
    exits 0 "$COSPEC" toy --config c.json --json && grep -q '"masked(unmasked=2)' out || return 1
    exits 0 "$COSPEC" toy --config c.json --unmasked 1 --json && grep -q '"masked(unmasked=1)' out || return 1
    echo '{"objectve": "masked"}' > c.json
    refuses 2 "config c.json: objectve: toy does not know it; did you mean objective?" "$COSPEC" toy --config c.json || return 1
    echo '{"objective": ' > c.json
    refuses 3 "c.json:" "$COSPEC" toy --config c.json
}

# A header that is gone makes the probe look again.
test_probe_looks_again() {
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd) here=$PWD
    (cd "$root" && sh tests/probe.sh "$here/p") > out 2>&1 || { fail "$(cat out)"; return 1; }
    grep -q '/jansson.h$' p/probe/ok || { fail "the stamp lacks a header: $(cat p/probe/ok)"; return 1; }
    (cd "$root" && sh tests/probe.sh "$here/p") > out 2>&1 && [ ! -s out ] || { fail "probed twice"; return 1; }
    sed -i 's|/jansson.h$|/gone/jansson.h|' p/probe/ok
    (cd "$root" && sh tests/probe.sh "$here/p") > out 2>&1 && [ -s out ] && ! grep -q gone p/probe/ok || fail "the stamp still counted"
}

for t in probe_looks_again version no_command unknown_command unknown_option help_of_each_command man_page_is_clean completion \
    docs_are_current full_stdout closed_stdout reader_gone device json_and_csv option_without_meaning mistaken suggestions selection metrics missing_config config; do
    check $t
done
