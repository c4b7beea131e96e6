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

# Candidates without their descriptions, on one line.
candidates() { "$COSPEC" --complete "$@" | cut -f1 | tr '\n' ' '; }

completes() {
    want=$1; shift
    [ "$(candidates "$@")" = "$want" ] || fail "'$*' completes to '$(candidates "$@")', not '$want'"
}

test_completion() {
    completes 'toy tokenize ' to && completes '--objective ' toy --obj && completes 'disjoint literal ' toy --token-sets '' && completes '--man --markdown ' help --m &&
        completes '4.1 4.2 4.3 ' verify 4 && completes 'toy tokenize ' help to && completes 'stats ' data st && completes ':files ' svd file && completes ':files ' toy -o file &&
        completes '' toy file && completes 'wordnet :files ' cooc --corpus wo && completes 'wordnet :files ' data stats wo && completes '--corpus=wordnet :files ' cooc --corpus=wo &&
        completes 'wordnet :files ' cooc --corpus = wo && completes 'masked mntp mix ' toy --objective m && completes 'masked mntp mix ' kernel m &&
        completes 'masked mntp mix ' connectivity --compare m && completes 'bound budgets by-layer ' plot b && completes 'all nearest: each: document unique ' cooc --context '' &&
        completes 'rank_tau rank_tau_corrected rank_tau_interpolated ' rank --metric rank_ && completes 'bash zsh fish ' help --completion '' && completes '' toyy '' || return 1
    "$COSPEC" --complete compare '' > words && ! grep -q '^:decoder' words || { fail "$(head -3 words)"; return 1; }
    completes 'wordnet :files ' compare m1 m2 wo && completes 'wordnet :files ' compare --tasks wo && completes 'wordnet:train wordnet:test :files ' cooc --corpus wordnet: &&
        completes 'test :files ' cooc --corpus wordnet : te && completes '--corpus=wordnet:train :files ' cooc --corpus=wordnet:tr && completes '--corpus ' cooc --context nearest : 3 --corpus || return 1
    printf 'stats\nwordnet\tglosses of 14 noun classes, 2,000 synsets each\n' > want
    { "$COSPEC" --complete data sta; "$COSPEC" --complete features model word | head -1; } > words && cmp -s words want || fail "$(cat words)"
}

# The scripts, in the shells themselves.
test_completion_in_bash() {
    PATH=$(dirname "$COSPEC"):$PATH
    "$COSPEC" help --completion bash > script || return 1
    cat > try.bash <<'EOF'
. ./script
words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _cospec; printf '%s ' "${COMPREPLY[@]}"; echo; }
words cospec to
words cospec toy --obj
words cospec cooc --corpus wordn
words cospec cooc --objective = mas
words cospec plot toy
: > file.npz
words cospec svd file
EOF
    bash try.bash > words 2> errors && [ ! -s errors ] || { fail "$(cat errors)"; return 1; }
    printf 'toy tokenize \n--objective \nwordnet \nmasked \ntoy-spectra \nfile.npz \n' > want
    cmp -s words want || fail "$(tr '\n' '/' < words)"
}

test_completion_in_fish() {
    command -v fish > /dev/null || { skip completion_in_fish "there is no fish"; return 0; }
    "$COSPEC" help --completion fish > script && : > file.npz || return 1
    HOME=$PWD PATH=$(dirname "$COSPEC"):$PATH fish -N -c 'source script; for line in "to" "toy --obj" "cooc --corpus wordn" "cooc --objective=mas" "plot toy" "svd fil"; complete -C "cospec $line"; end' 2> errors |
        cut -f1 | sort > words
    [ ! -s errors ] || { fail "$(cat errors)"; return 1; }
    printf '%s\n' toy tokenize --objective wordnet --objective=masked toy-spectra file.npz | sort > want
    cmp -s words want || fail "$(tr '\n' '/' < words)"
}

# zsh completes in a terminal only: zpty makes one, and the tab key the list.
test_completion_in_zsh() {
    command -v zsh > /dev/null || { skip completion_in_zsh "there is no zsh"; return 0; }
    mkdir functions && "$COSPEC" help --completion zsh > functions/_cospec && : > file.npz || return 1
    cat > try.zsh <<'EOF'
zmodload zsh/zpty
zpty shell 'PS1= TERM=dumb zsh -f -i'
zpty -w shell 'fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste beep; zstyle ":completion:*" list-colors ""; print READY'
zpty -r shell output '*READY*READY*'
for line in $lines; do
    zpty -n -w shell "cospec $line"$'\t'
    sleep 0.5
    zpty -n -w shell $'\025print -r -- END\n'
    zpty -r shell output '*END*END*'
    print -r -- "$output"
done
zpty -d shell
EOF
    HOME=$PWD PATH=$(dirname "$COSPEC"):$PATH timeout 60 zsh -f -c 'lines=("toy --obj" "cooc --corpus wordn" "cooc --objective=mas" "plot toy-" "svd fil"); . ./try.zsh' > words 2> errors
    for want in 'toy --objective' 'cooc --corpus wordnet' 'cooc --objective=masked' 'plot toy-spectra' 'svd file.npz'; do
        grep -qF -- "$want" words || { fail "no '$want' in: $(head -c 1500 words) $(head -c 300 errors)"; return 1; }
    done
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

# A reader that has what it wanted, as head(1), is no error; the files of -o are complete.
test_reader_gone() {
    for command in 'help cooc' 'cooc --help' 'toy --objective masked --unmasked 1:2000:1 --classes 2 --length 2001 --tokens 2 --csv -o d'; do
        # shellcheck disable=SC2086
        { "$COSPEC" $command 2> err; echo $? > code; } | sleep 0.2
        [ "$(cat code)" = 0 ] && [ ! -s err ] || { fail "'$command' exits with $(cat code): $(head -c 200 err)"; return 1; }
    done
    [ -s d/manifest.json ] && [ "$(wc -l < d/toy.csv)" -gt 2000 ] || { fail "files are missing"; return 1; }
    { "$COSPEC" svd gone.npz 2> err; echo $? > code; } | sleep 0.1
    [ "$(cat code)" = 3 ] && says "gone.npz" || return 1
    # the exit code of a result that did not converge stays
    awk 'BEGIN { srand(1); print "%%MatrixMarket matrix array real general\n60 60"; for (i = 0; i < 3600; ++i) print rand() }' > a.mtx
    set -- svd a.mtx -k 20 --solver block --no-reduction --max-iterations 1 --tol 1e-15
    exits 4 "$COSPEC" "$@" || return 1
    { sleep 0.2; "$COSPEC" "$@" 2> err; echo $? > code; } | true
    [ "$(cat code)" = 4 ] || fail "a result without convergence exits with $(cat code)"
}

# The main options first, the names of the others under headings; --help-all explains all.
test_help_of_many_options() {
    exits 0 "$COSPEC" train --help && [ "$(sed -n '/^Main options/,/^More options/p' out | grep -c '^  *-')" = 10 ] && grep -q "^More options, explained by 'cospec train --help-all':" out || { fail "${why:-$(head -c 500 out)}"; return 1; }
    for o in corpus objective steps lr output; do
        sed -n '/^Main options/,/^More options/p' out | grep -q -- "--$o " || { fail "--$o is no main option"; return 1; }
    done
    sed -n '/^More options/,/^Examples/p' out | grep -q -- ' --weight-decay' && ! grep -q 'biases and norms' out || { fail "the others"; return 1; }
    exits 0 "$COSPEC" train --help-all && cp out all && grep -q '^Common options:' all && exits 0 "$COSPEC" help train --all && cmp -s all out || { fail "${why:---help-all}"; return 1; }
    # no option is lost
    "$COSPEC" --complete train -- | cut -f1 | while read -r o; do grep -q -- "$o\( \|$\)" all || echo "$o"; done > lost
    [ ! -s lost ] || fail "--help-all lacks $(cat lost)"
}

test_names_of_options() {
    refuses 2 "training uses AdamW; see --lr" "$COSPEC" train --optimizer adam && refuses 2 "progress is printed unless --quiet is given" "$COSPEC" svd m --verbose &&
        refuses 2 "all dimensions are written" "$COSPEC" features m c --n-components 2 && refuses 2 "only CPUs and NVIDIA GPUs are supported" "$COSPEC" train --device mps || return 1
    refuses 2 "cospec svd: unknown option --k for svd; did you mean -k?" "$COSPEC" svd m --k 3 || return 1
    echo '{"learning_rate": 1}' > c.json
    refuses 2 "c.json: unknown option learning-rate for train; did you mean lr?" "$COSPEC" train --config c.json || return 1
    # keys of objectives too, and a sentence of their descriptions does not end in an abbreviation
    exits 0 "$COSPEC" kernel 'masked(mask_ratio=.5)' --length 4 || { fail "${why:-an underscore}"; return 1; }
    "$COSPEC" --complete cooc --objective 'g' | grep -q 'GVP 3.2, App. B)$' || { fail "$("$COSPEC" --complete cooc --objective g)"; return 1; }
    while read -r command given meant; do
        # shellcheck disable=SC2086
        refuses 2 "did you mean --$meant?" "$COSPEC" $command --"$given" 1 || return 1
    done <<'EOF'
train learning-rate lr
train model arch
train batch_size batch
train max-steps steps
train num-train-epochs epochs
train max-seq-length max-length
train hidden_size width
train warmup_steps warmup
train max_grad_norm clip
train random-state seed
train n-jobs threads
train output_dir output
svd n-components rank
cooc window-size max-length
finetune num_train_epochs epochs
perplexity max-samples limit
EOF
    refuses 2 "'gpu' is not one of cpu|cuda|cuda:N|auto; did you mean cuda?" "$COSPEC" train --device gpu || return 1
    exits 0 "$COSPEC" mask_rank --help_all && exits 0 "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --empty_prefix shared --event_weight=mask || return 1
    mkdir model && echo '{}' > model/config.json && echo 'a b' > c.txt || return 1
    exits 2 "$COSPEC" compare a b c.txt --read --tasks x && says "--read needs a value: OPTIONS; give a value that begins with -- as --read='--tasks'" || return 1
    exits 3 "$COSPEC" compare model gone c.txt --read '--split all' --finetune '--epochs 1' -o d && ! grep -q 'needs a value' err || fail "${why:-$(cat err)}"
}

test_device() {
    refuses 5 "toy runs on the CPU only" "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --device cuda &&
        exits 0 "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --device auto
}

test_json_and_csv() { refuses 2 "exclude each other" "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 --json --csv; }

# A test takes 400 MB: as many run at a time as fit in a quarter of what the limit of a control group leaves.
test_jobs_within_a_limit() {
    [ "$(nproc)" -ge 2 ] || { skip jobs_within_a_limit "one processor"; return 0; }
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd)
    here=$PWD; mkdir -p proc/self sys/fs/cgroup/a/b sys/fs/cgroup/memory/a
    echo 'MemAvailable: 16000000 kB' > proc/meminfo
    [ "$(cd "$root" && CGROUP_ROOT=$here sh tests/run.sh --jobs)" -ge 2 ] || { fail "no group"; return 1; }
    echo '0::/a/b' > proc/self/cgroup
    echo 3000000000 > sys/fs/cgroup/a/memory.max && echo 600000000 > sys/fs/cgroup/a/memory.current && echo 'inactive_file 50000000' > sys/fs/cgroup/a/memory.stat
    echo max > sys/fs/cgroup/a/b/memory.max && echo 600000000 > sys/fs/cgroup/a/b/memory.current
    [ "$(cd "$root" && CGROUP_ROOT=$here sh tests/run.sh --jobs)" = 1 ] || { fail "version 2"; return 1; }
    echo 4000000000 > sys/fs/cgroup/a/memory.max
    [ "$(cd "$root" && CGROUP_ROOT=$here sh tests/run.sh --jobs)" -ge 2 ] || { fail "a larger limit"; return 1; }
    printf '4:memory:/a\n3:cpu:/a\n' > proc/self/cgroup
    echo 800000000 > sys/fs/cgroup/memory/a/memory.limit_in_bytes && echo 1000 > sys/fs/cgroup/memory/a/memory.usage_in_bytes
    [ "$(cd "$root" && CGROUP_ROOT=$here sh tests/run.sh --jobs)" = 1 ] || fail "version 1"
}

# Formats say "%lld rows" whatever the number: src/base/plural.c must know each noun. These words are verbs.
test_plurals() {
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd)
    verbs='begins consists contains cuts does ends exceeds expands has is leaves names needs precedes returns takes this uses was'
    for word in $(cd "$root" && grep -rhoE '(%"? ?PRId64 ?"|%lld|%zu|%d) [a-z]+s\b' --include=*.c src analysis toy | sed 's/.* //' | sort -u); do
        case " $verbs " in *" $word "*) continue ;; esac
        grep -q "[ \"]$word " "$root/src/base/plural.c" || { fail "src/base/plural.c lacks '$word'"; return 1; }
    done
    printf 'one two\n' > c.txt
    refuses 3 "c.txt: none of the 1 document has" "$COSPEC" data stats c.txt --min-tokens 3
}

test_option_without_meaning() { refuses 2 "not apply to 'help'" "$COSPEC" help --seed 3; }

# Swapped arguments, and misspelled names.
test_mistaken() {
    exits 0 "$COSPEC" toy --objective ar --classes 2 --length 3 --tokens 2 -o toy || return 1
    mkdir model && echo '{}' > model/config.json
    refuses 3 "wordnt: no such file, no named corpus (wordnet, bible-kjv, gcide, manpages, foldoc, glyphs, emoji, scenes, field) and no synthetic corpus (markov:..., hmm:..., grammar:..., field:...); did you mean wordnet?" \
        "$COSPEC" cooc --corpus wordnt --objective ar -o c &&
        refuses 2 "wordnet is a corpus and model is a model: swap them" "$COSPEC" features wordnet model -o f &&
        refuses 3 "wordnet: not a model directory, but a corpus" "$COSPEC" features wordnet wordnet -o f &&
        refuses 3 "model: not a corpus, but a model" "$COSPEC" cooc --corpus model --objective ar -o c &&
        refuses 2 "toy/toy.json: figures are drawn from tables: give toy/toy.csv, which is in the same folder" "$COSPEC" plot toy-spectra a=toy/toy.json -o p &&
        refuses 2 "the figure comes first, then its tables" "$COSPEC" plot toy/toy.csv toy-spectra -o p || return 1
    # probe: the model behind its texts, labels in the place of features; both would have been read
    printf 'a\tb c\nd\te f\n' > l.tsv
    f32 0 1 2 -1 | npy x.npy '<f4' '(2, 2)' && f32 0 1 | npy y.npy '<f4' '(2,)'
    for words in "l.tsv model l.tsv" "l.tsv model" "x.npy model"; do
        # shellcheck disable=SC2086
        refuses 2 " and model is a model: swap them" "$COSPEC" probe $words || return 1
    done
    refuses 2 "--labels x.npy: a matrix of 2 columns, but labels are one per row" "$COSPEC" probe y.npy y.npy --labels x.npy --test-labels x.npy &&
        refuses 2 "--test-labels x.npy: a matrix of 2 columns" "$COSPEC" probe x.npy x.npy --labels y.npy --test-labels x.npy || return 1
    # what is no matrix is named as it was given, not by the files looked for in it
    mkdir other
    refuses 3 "other: not a matrix (FILE.npz, .npy, .mtx, or a folder written by cospec cooc): no matrix.npz" "$COSPEC" svd other &&
        refuses 3 "model: not a matrix (FILE.npz, .npy, .mtx, or a folder written by cospec cooc), but a model" "$COSPEC" density model &&
        refuses 3 "other: not a matrix" "$COSPEC" connectivity other && refuses 3 "other: not a folder written by cospec cooc" "$COSPEC" verify 4.1 --matrix other &&
        refuses 3 "x.npy: not a folder written by cospec cooc, but a matrix" "$COSPEC" inspect x.npy &&
        refuses 3 "gone: not a folder written by cospec cooc: no such file or directory" "$COSPEC" inspect gone &&
        refuses 3 "x.npy: not a folder written by cospec cooc, but a matrix" "$COSPEC" angles x.npy x.npy || return 1
    # a model with a missing part
    for part in model.safetensors tokenizer.json vocab.txt; do
        rm -rf part && mkdir part && : > part/$part
        refuses 3 "part: not a model directory: no config.json, only $part" "$COSPEC" features part l.tsv -o f &&
            refuses 3 "part: not a model directory: no config.json, only $part" "$COSPEC" probe part l.tsv l.tsv || return 1
    done
}

# Values get suggestions as options do: names of every list, and files in the folder of the missing one.
test_suggestions() {
    printf 'a\tb c\n' > d.tsv && mkdir model && echo '{}' > model/config.json || return 1
    refuses 3 "w0rd: no such file, no named corpus (wordnet, bible-kjv, gcide, manpages, foldoc, glyphs, emoji, scenes, field) and no synthetic corpus (markov:..., hmm:..., grammar:..., field:...); did you mean wordnet?" \
        "$COSPEC" cooc --corpus w0rd --objective ar -o c &&
        refuses 3 "did you mean d.tsv?" "$COSPEC" cooc --corpus d.tvs --objective ar -o c &&
        refuses 3 "did you mean model/../d.tsv?" "$COSPEC" data stats model/../d.tvs &&
        refuses 3 "mdoel: not a model directory: no such file or directory; did you mean model?" "$COSPEC" features mdoel d.tsv -o f &&
        refuses 3 "no such file or directory; did you mean model?" "$COSPEC" verify 4.1 --matrix modle &&
        refuses 3 "f.npy: No such file or directory" "$COSPEC" rank f.npy &&
        refuses 3 "mdoel: no such file; expected a matrix:" "$COSPEC" rank mdoel && refuses 3 "mdoel: not a model directory" "$COSPEC" probe mdoel d.tsv d.tsv &&
        refuses 3 "config.jsn: cannot read: No such file or directory; did you mean model/config.json?" "$COSPEC" toy --config model/config.jsn || return 1
    ln -s loop.txt loop.txt && ln -s gone.npz link.npz || return 1
    refuses 3 "loop.txt: cannot read: Too many levels of symbolic links" "$COSPEC" cooc --corpus loop.txt --objective ar -o c &&
        mkdir -p folder/in && ln -s .. folder/in/back && refuses 3 "folder/in/back: is a link back to folder, a folder that contains it" "$COSPEC" data stats folder &&
        refuses 3 "; the symbolic link is there: No such file or directory" "$COSPEC" svd link.npz && ! grep -q 'did you mean' err || return 1
    refuses 2 "unknown certificate 'momets' (none, components, moments, probe, inertia); did you mean moments?" "$COSPEC" svd d.tsv --certify components,momets &&
        refuses 2 "did you mean uniform:2?" "$COSPEC" toy --objective offset-ar --offset-weights unform:2 --classes 2 --length 3 --tokens 2 &&
        refuses 2 "unknown scale smok;" "$COSPEC" reproduce --scale smok -o r && says "did you mean smoke?" &&
        refuses 2 "did you mean spectra?" "$COSPEC" plot spectr d.tsv -o p &&
        refuses 2 "did you mean ar?" "$COSPEC" toy --objective gpt3 --classes 2 &&
        refuses 2 "unknown action 'trian' (train, encode, decode, stats); did you mean train?" "$COSPEC" tokenize trian &&
        refuses 2 "unknown action 'lst' (list, prepare, stats); did you mean list?" "$COSPEC" data lst &&
        refuses 2 "did you mean whitespace?" "$COSPEC" data stats d.tsv --tokenizer whitespaces || return 1
    refuses 2 "wordnet is a corpus and ar is an objective: swap them" "$COSPEC" cooc --corpus ar --objective wordnet -o c &&
        refuses 2 "wordnet is a corpus and gpt is an objective: swap them" "$COSPEC" train --corpus gpt --objective wordnet -o c &&
        refuses 2 "wordnet: not an objective, but a corpus" "$COSPEC" train --corpus d.tsv --objective wordnet -o c &&
        refuses 3 "ar: not a corpus, but an objective" "$COSPEC" cooc --corpus ar --objective ar -o c || return 1
    # what is given where it does not belong is named by what it is
    refuses 2 "takes options only; did you mean --corpus d.tsv?" "$COSPEC" train d.tsv --objective ar -o c &&
        refuses 2 "did you mean --version?" "$COSPEC" --versoin &&
        refuses 3 "d.tsv: not a matrix (FILE.npz, .npy, .mtx, or a folder written by cospec cooc), but a corpus" "$COSPEC" svd d.tsv &&
        refuses 2 "--vocab N|all: 'al' is not an integer" "$COSPEC" cooc --corpus d.tsv --objective ar --vocab al -o c &&
        refuses 2 '"masked(unmasked=1": a parenthesis is not closed at the end' "$COSPEC" toy --objective 'masked(unmasked=1' --classes 2 &&
        refuses 2 "file needs a plan file: file(plan-file=FILE)" "$COSPEC" kernel file &&
        exits 0 "$COSPEC" kernel diverse-ar && says "diverse-ar(t=2): parameters that were not given are the defaults of train" || return 1
    exits 0 "$COSPEC" cooc --corpus d.tsv --objective ar -q -o wordnet && [ -s wordnet/matrix.npz ] || return 1
    for option in "--context each:2" "--jackknife 3" "--compare ar" "--vocab 5"; do
        # shellcheck disable=SC2086
        refuses 2 "--$(echo "${option#--}" | cut -d' ' -f1) needs --corpus; a matrix that is already built" "$COSPEC" connectivity wordnet $option || return 1
    done
    # a folder has the name of a corpus: it is what is in it, but where a corpus is wanted
    exits 0 "$COSPEC" svd wordnet -k 1 -q && exits 0 "$COSPEC" rerun wordnet -o again -q && cmp -s wordnet/matrix.npz again/matrix.npz || fail "${why:-rerun of a folder}"
}

# The printed result is the same for a pipe, a terminal and a file; --csv and files have all.
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

# A mistyped metric is reported before the work; one without rows in this result costs no result.
test_metrics() {
    f32 0 1 2 -1 | npy x.npy '<f4' '(2, 2)'
    refuses 2 "--metric: unknown metric 'rank_tua' (rank_tau," "$COSPEC" rank gone.npy --metric rank_tua && says "did you mean rank_tau?" || return 1
    refuses 2 "--metric does not apply to 'train'" "$COSPEC" train --corpus gone.txt --objective ar --metric typo -o t || return 1
    refuses 2 "--metric: unknown metric 'acuracy'" "$COSPEC" probe gone.npy gone.npy --metric acuracy && says "did you mean accuracy?" || return 1
    refuses 2 "did you mean matthews?" "$COSPEC" finetune gone gone gone --metric mathews || return 1
    refuses 2 "--metric pearson needs regression" "$COSPEC" finetune gone gone gone --metric pearson || return 1
    exits 0 "$COSPEC" similarity x.npy x.npy --metric mean_cosine -o s && says "--metric mean_cosine: the result has no such metric" && [ -s s/similarity.csv ]
}

test_missing_config() { refuses 3 "nowhere.json" "$COSPEC" toy --config nowhere.json; }

test_config() {
    echo '{"objective": "masked", "unmasked": 2, "classes": 4, "length": 4, "tokens": 3}' > c.json
    exits 0 "$COSPEC" toy --config c.json --json && grep -q '"masked(unmasked=2)' out || return 1
    exits 0 "$COSPEC" toy --config c.json --unmasked 1 --json && grep -q '"masked(unmasked=1)' out || return 1
    echo '{"objectve": "masked"}' > c.json
    refuses 2 "config c.json: unknown option objectve for toy; did you mean objective?" "$COSPEC" toy --config c.json || return 1
    echo '{"objective": ' > c.json
    refuses 3 "c.json:" "$COSPEC" toy --config c.json
}

# A header that is gone makes the probe look again.
test_probe_looks_again() {
    root=$(cd "$(dirname "$COSPEC")/../.." && pwd) here=$PWD
    probe() { (cd "$root" && CUDA=0 MPI=0 sh tests/probe.sh "$here/p") > out 2>&1; }
    probe || { fail "$(cat out)"; return 1; }
    grep -q '/jansson.h$' p/probe/ok || { fail "the stamp lacks a header: $(cat p/probe/ok)"; return 1; }
    probe && [ ! -s out ] || { fail "probed twice"; return 1; }
    sed -i 's|/jansson.h$|/gone/jansson.h|' p/probe/ok
    probe && [ -s out ] && ! grep -q gone p/probe/ok || { fail "the stamp still counted"; return 1; }
    # Without a compiler no library is named.
    CC=no-such-compiler probe && { fail "it probed without a compiler"; return 1; }
    [ "$(wc -l < out)" = 1 ] && grep -q '^probe: the compiler no-such-compiler is missing' out || { fail "$(cat out)"; return 1; }
    printf '#!/bin/sh\ncase "$*" in *-ljansson*) exit 1 ;; esac\nexec cc "$@"\n' > cc-without-jansson && chmod +x cc-without-jansson
    CC=$here/cc-without-jansson probe && { fail "it probed without a library"; return 1; }
    grep -q "^probe: missing: libjansson-dev ('make deps'" out || fail "$(cat out)"
}

# Blanks around the items of a list do not count, whatever the list is of.
test_blanks_in_lists() {
    small_corpus a.tsv && head -30 a.tsv > b.tsv
    exits 0 "$COSPEC" data stats "a.tsv, b.tsv ,markov:states=5, documents=9" --json && [ "$(number documents out)" = 119 ] || { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" data stats "field:side=8, fields=4" && exits 0 "$COSPEC" data stats "hmm:states=3, words=9" || return 1
    exits 0 "$COSPEC" cooc --corpus a.tsv --objective "masked(unmasked=2, event-weight=mask)" --context all --max-length 6 --draws "1, 2" -o d && [ -d d/draws-2 ] || return 1
    exits 0 "$COSPEC" svd d/draws-1/matrix.npz -k 2 --certify "components, moments" || return 1
    exits 0 "$COSPEC" train --corpus a.tsv --objective ar --width 16 --layers 1 --batch 4 --steps 4 --keep-at "1, 2" -o m && [ -d m/checkpoint-1 ] || return 1
    exits 0 "$COSPEC" features m a.tsv --layers "0, 1" -o f && [ -f f/layer-1.npy ] || return 1
    exits 0 "$COSPEC" probe f/layer-0.npy f/layer-0.npy --labels f/labels.npy --test-labels f/labels.npy --penalties "1, 0.1" || return 1
    exits 0 "$COSPEC" finetune m a.tsv --lr "1e-3, 1e-4" --epochs 1 --seeds 1 --few 4 || return 1
    exits 0 "$COSPEC" reproduce --claims "LA-3.1, LA-4.1" --dry-run || return 1
    printf 'model,loss\na,3\nb,2\nc,4\n' > p.csv
    exits 0 "$COSPEC" correlate a b c --predict "p=p.csv, loss, model:*" --outcome "o=p.csv,loss ,model:*"
}

# A dry run prepares no corpus, and says so before it reads anything.
test_a_dry_run_prepares_nothing() {
    mkdir empty && printf 'one two\nthree four\n' > a.txt
    for run in "cooc --corpus a.txt,wordnet --objective ar" "train --corpus wordnet:train --objective ar" "cooc --corpus glyphs --objective masked(unmasked=2)" "connectivity --corpus wordnet"; do
        name=$(echo "$run" | grep -o 'wordnet\|glyphs' | head -1)
        # shellcheck disable=SC2086
        COSPEC_CACHE=$PWD/empty refuses 3 "--dry-run: $name has not been prepared; cospec data prepare $name does that" "$COSPEC" $run --dry-run -o d && [ -z "$(ls empty)" ] && [ ! -e d ] || { fail "${why:-prepared: $(ls empty)}"; return 1; }
    done
    refuses 2 "--dry-run needs --pairs" "$COSPEC" connectivity a.txt --dry-run
}

for t in a_dry_run_prepares_nothing blanks_in_lists probe_looks_again version no_command unknown_command unknown_option names_of_options help_of_each_command help_of_many_options man_page_is_clean \
    completion completion_in_bash completion_in_fish completion_in_zsh docs_are_current full_stdout closed_stdout reader_gone device json_and_csv \
    option_without_meaning jobs_within_a_limit plurals mistaken suggestions selection metrics missing_config config; do
    check $t
done
