# --tasks of cospec probe and finetune: GLUE's layouts, corpora by name, averages, and what is refused.
. tests/cli/lib.sh

model() { exits 0 "$COSPEC" train --corpus c.tsv --width 16 --layers 1 --heads 2 --batch 8 --max-length 16 --steps 0 --objective ar -o model -q; }

# lines FORM: 40 examples in the columns of a task, which the first word decides.
lines() { awk -v how="$1" 'BEGIN { for (i = 0; i < 40; i++) {
    y = i % 2; a = (y ? "cat" : "rose") " sat " i; b = "the leaf " i % 5
    if (how == "cola") printf "s%d\t%d\t\t%s\n", i, y, a
    if (how == "mrpc") printf "%d\t%d\t%d\t%s\t%s\n", y, i, i, a, b
    if (how == "stsb") printf "%d\tg\t%s\t%s\t%.1f\n", i, a, b, 2 * y + i / 100
    if (how == "train") printf "%d\t%s\t%s\t%s\t%s\n", i, a, b, y ? "yes" : "no", y ? "yes" : "no"
    if (how == "dev") printf "%d\t%s\t%s\tx\ty\t%s\n", i, a, b, y ? "yes" : "no"
    if (how == "flat") printf "%s\t%s\n", y ? "b" : "a", a
} }'; }

glue() {
    mkdir -p g/CoLA g/MRPC g/STS-B g/MNLI
    lines cola | tee g/CoLA/train.tsv > g/CoLA/dev.tsv
    { printf '\357\273\277Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n'; lines mrpc; } | tee g/MRPC/train.tsv > g/MRPC/dev.tsv
    { printf 'index\tgenre\tsentence1\tsentence2\tscore\n'; lines stsb; } | tee g/STS-B/train.tsv > g/STS-B/dev.tsv
    { printf 'index\tsentence1\tsentence2\tlabel1\tgold_label\n'; lines train; } > g/MNLI/train.tsv
    { printf 'index\tsentence1\tsentence2\tlabel1\tlabel2\tgold_label\n'; lines dev; } | tee g/MNLI/dev_matched.tsv > g/MNLI/dev_mismatched.tsv
    lines flat > g/own.train.tsv # its test side: what is held out
}

# at TASK METRIC COLUMN of tasks.csv (definitions may be quoted, so from the end).
at() { awk -F, -v task="$1" -v metric="$2" -v back="$3" '$1 == task && $2 == metric { print $(NF - back) }' "$4"; }

test_layouts() {
    small_corpus c.tsv; glue; model || return 1
    exits 0 "$COSPEC" probe model --tasks g --few 50% --seeds 2 --penalties 0.1 -o p -q || return 1
    [ "$(cut -d, -f1 p/tasks.csv | uniq | tr '\n' ' ')" = "task CoLA MNLI-m MNLI-mm MRPC STS-B own average " ] || { fail "$(cut -d, -f1 p/tasks.csv | uniq)"; return 1; }
    # The same run by hand: the numbers of its table are those of the task.
    exits 0 "$COSPEC" probe model g/MNLI/train.tsv g/MNLI/dev_matched.tsv --label-column 5 --test-label-column 6 --text-column 2 --pair-column 3 --few 50% \
        --seeds 2 --penalties 0.1 -o hand -q || return 1
    cmp -s hand/probe.csv p/MNLI-m/probe.csv && cmp -s hand/predictions.csv p/MNLI-m/predictions.csv || { fail "by hand other numbers"; return 1; }
    # LA averages test sets, F1 of MRPC, Pearson; MAE-LM tasks, accuracy, Spearman.
    v() { at "$1" "$2" 7 p/tasks.csv; }
    awk -v c="$(v CoLA matthews)" -v m="$(v MNLI-m accuracy)" -v mm="$(v MNLI-mm accuracy)" -v f="$(v MRPC f1)" -v a="$(v MRPC accuracy)" \
        -v r="$(v STS-B pearson)" -v s="$(v STS-B spearman)" -v o="$(v own accuracy)" -v la="$(v average look-ahead)" -v mae="$(v average mae-lm)" '
    function off(x, y) { return (x > y ? x - y : y - x) > 1e-12 }
    BEGIN { if (off((c + m + mm + f + r + o) / 6, la) || off((c + (m + mm) / 2 + a + s + o) / 5, mae)) print la, mae }' > wrong
    # The jackknife over the blocks of an average is its standard error; a task has the blocks of its run.
    awk -F, -v se="$(at average look-ahead 6 p/tasks.csv)" '$1 == "average" && $2 == "look-ahead" { x[++n] = $4; sum += $4 }
    END { for (i = 1; i <= n; i++) s += (x[i] - sum / n) ^ 2; s = sqrt((n - 1) / n * s); if (n != 40 || s - se > 1e-9 || se - s > 1e-9 || !(se > 0)) print n, s, se }' p/tasks-blocks.csv >> wrong
    [ "$(awk -F, '$1 == "MRPC" && $2 == "f1" { print $3, $4, $5 }' p/tasks-blocks.csv)" = "$(awk -F, '$3 == "linear" && $4 == "f1" { print $5, $6, $7 }' p/MRPC/probe-blocks.csv)" ] ||
        { fail "other blocks"; return 1; }
    [ ! -s wrong ] && [ "$(at average look-ahead 1 p/tasks.csv) $(at average mae-lm 1 p/tasks.csv)" = "6 5" ] || fail "averages: $(cat wrong) $(tail -2 p/tasks.csv)"
}

# Every layer and each pooling of the last one, in one run: the numbers are those of a run of each, and an average of each is there.
test_layers() {
    small_corpus c.tsv; glue; model || return 1
    exits 0 "$COSPEC" probe model --tasks g/CoLA,g/MNLI --layer all --pooling last --poolings --few 50% --seeds 2 --penalties 0.1 -o p -q || return 1
    [ "$(cut -d, -f2 p/tasks.csv | uniq | tr '\n' ' ')" = "layer 0 1 mean first last 0 1 mean first last " ] || { fail "$(cut -d, -f1,2 p/tasks.csv | uniq)"; return 1; }
    for l in 0 1 mean first last; do
        case $l in [01]) o="--layer $l --pooling last" ;; *) o="--pooling $l" ;; esac
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" probe model --tasks g/CoLA,g/MNLI $o --few 50% --seeds 2 --penalties 0.1 -o one -q --force || return 1
        for f in tasks tasks-blocks; do
            awk -F, -v OFS=, -v l=$l '$2 == l { $2 = ""; print }' p/$f.csv | sed 's/,,/,/' > of
            sed 1d one/$f.csv | cmp - of || { fail "$l: other $f"; return 1; }
        done
    done
    [ "$(awk -F, 'NR > 1 { print $1 }' p/CoLA/predictions.csv | uniq | tr '\n' ' ')" = "0 1 mean first last " ] &&
        refuses 2 "--poolings cannot be combined with --tokens" "$COSPEC" probe model c.tsv --tokens --poolings &&
        refuses 2 "--poolings needs a MODEL" "$COSPEC" probe one.npy one.npy --poolings || fail "${why:-$(head -3 p/CoLA/predictions.csv)}"
}

test_finetune_and_resume() {
    small_corpus c.tsv; glue; model || return 1
    exits 0 "$COSPEC" finetune model --tasks g --seeds 2 --epochs 1 --lr 1e-2 -o f -q || return 1
    [ "$(at average mae-lm 1 f/tasks.csv)" = 5 ] && [ -s f/MRPC/runs/lr-0.01-seed-1/run.json ] || { fail "$(tail -2 f/tasks.csv)"; return 1; }
    cp f/tasks.csv before; rm -r f/manifest.json f/tasks.csv f/tasks-blocks.csv f/tasks.json f/own
    exits 0 "$COSPEC" finetune model --tasks g --seeds 2 --epochs 1 --lr 1e-2 -o f -q --resume && cmp -s before f/tasks.csv || fail "${why:-resumed: other numbers}"
}

test_refusals() {
    small_corpus c.tsv; glue; model || return 1
    mkdir empty; mkdir -p twice/own; cp g/own.train.tsv twice/own/train.tsv; mkdir bare; printf 'label\tid\tbody\na\t1\tx\nb\t2\ty\n' > bare/t.train.tsv
    refuses 2 "--tasks needs -o DIR" "$COSPEC" probe model --tasks g &&
        refuses 2 "--tasks takes only a MODEL" "$COSPEC" probe model c.tsv --tasks g -o x &&
        refuses 2 "--metric cannot be combined with --tasks" "$COSPEC" finetune model --tasks g --metric f1 -o x &&
        refuses 2 "gcide has no labels" "$COSPEC" probe model --tasks gcide -o x &&
        refuses 2 "two tasks are called own" "$COSPEC" probe model --tasks g,twice -o x &&
        refuses 3 "--tasks: nowhere: no such file" "$COSPEC" probe model --tasks nowhere -o x &&
        refuses 3 "empty: no task" "$COSPEC" probe model --tasks empty -o x &&
        refuses 3 "bare/t.train.tsv:1: the first line names a label but no text" "$COSPEC" probe model --tasks bare -o x &&
        refuses 2 "finetune MODEL TRAIN [TEST], or MODEL --tasks LIST" "$COSPEC" finetune model || return 1
    # The message of a task's run names the task and the file; nothing is left that looks like a result.
    printf 'a\tx\nb\n' >> g/own.train.tsv
    refuses 3 "task own: g/own.train.tsv:42" "$COSPEC" probe model --tasks g --penalties 0.1 -o x && [ ! -e x/tasks.csv ] || fail "${why:-$(cat err)}"
}

run_tests
