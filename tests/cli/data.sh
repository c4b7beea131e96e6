# One grammar for data: whatever is a corpus to one command is one to all, with the same documents; tasks too.
. tests/cli/lib.sh

# a.tsv in every form: h.tsv and g.tsv with header lines, a.csv, a.jsonl, a folder of classes, a task, and WordNet's place.
forms() {
    two_classes 60 > a.tsv
    { printf 'label\tsentence\n'; cat a.tsv; } > h.tsv
    awk -F '\t' 'BEGIN { print "index\tSentence\tLabel" } { print NR "\t" $2 "\t" $1 }' a.tsv > g.tsv
    awk -F '\t' 'BEGIN { print "text,label" } { print "\"" $2 "\"," $1 }' a.tsv > a.csv
    awk -F '\t' '{ print "{\"label\": \"" $1 "\", \"text\": \"" $2 "\"}" }' a.tsv > a.jsonl
    gzip -k h.tsv a.csv
    mkdir -p classes/animal classes/plant one/kind cache && awk -F '\t' '{ f = sprintf("classes/%s/%02d", $1, NR); print $2 > f; close(f) }' a.tsv
    cp h.tsv one/train.tsv && cp h.tsv one/dev.tsv && mv one/kind kinds && mkdir kinds/kind && cp one/*.tsv kinds/kind
    awk -F '\t' '{ print NR "\t" $1 "\t" (NR % 5 ? "train" : "test") "\t" $2 }' a.tsv > cache/wordnet.tsv
    export COSPEC_CACHE=$PWD/cache
}

models() {
    for o in ar masked linear; do
        ratio=; [ $o = ar ] || ratio="--mask-ratio 0.5"
        exits 0 "$COSPEC" train --corpus a.tsv --objective $o $ratio --steps 2 --width 16 --batch 8 --max-length 16 -o $o -q || return 1
    done
    exits 0 "$COSPEC" tokenize train --corpus a.tsv --vocab 300 -o tok -q
}

test_everywhere() {
    forms && models || return 1
    while read -r place; do
        for source in wordnet wordnet:train a.tsv,g.tsv a.csv h.tsv.gz classes markov:classes=2,documents=40,length=12 a.csv,markov:documents=9,length=9; do
            set -- $(echo "$place" | sed "s|@|$source|g")
            rm -rf o; exits 0 "$COSPEC" "$@" -q || return 1
        done
    done <<'END'
data stats @
cooc --corpus @ --objective ar --context nearest:1 -o o
connectivity --corpus @ --compare ar --context nearest:1 --jackknife 0
train --corpus @ --objective ar --steps 1 --width 16 --layers 1 --heads 2 --batch 4 --max-length 8 -o o
verify refinement --corpus @ --objective masked --mask-ratio 0.5 --max-length 4 --stride 1
verify 4.3 --model linear --corpus @ --limit 10
tokenize train --corpus @ --vocab 300 -o o
tokenize stats tok/tokenizer.json --corpus @
features ar @ --limit 10 -o o
perplexity ar @ --limit 10 --unigram @
mask-rank masked @ --limit 10 --blocks 2
END
    printf 'text\n"the cat, a cat, the tree"\n' > common.csv # where all words but "tree" and those that are not there are common
    exits 0 "$COSPEC" mask-rank masked a.tsv --rare 1 --rare-in common.csv --blocks 2 -q || return 1
    for source in wordnet a.csv g.tsv h.tsv.gz classes a.tsv,g.tsv markov:classes=2,documents=40,length=12; do
        for command in "probe ar @ --penalties 0.1" "finetune ar @ --epochs 1 --seeds 1 --lr 1e-3"; do
            exits 0 "$COSPEC" $(echo "$command" | sed "s|@|$source|") -q || return 1
        done
    done
}

# The same documents on the same sides, with a header line and without, which is said; the probe of all has one accuracy.
test_headers() {
    forms && exits 0 "$COSPEC" train --corpus a.tsv --objective ar --steps 2 --width 16 --batch 8 --max-length 16 -o ar -q || return 1
    exits 0 "$COSPEC" data stats a.tsv && cp out want && exits 0 "$COSPEC" probe ar a.tsv --penalties 0.1 --csv -q && cut -d, -f2- out > probe || return 1
    for f in h.tsv g.tsv a.csv h.tsv.gz a.csv.gz; do
        exits 0 "$COSPEC" data stats $f && cmp -s out want && says "$f: the header line is skipped (label: column" && exits 0 "$COSPEC" probe ar $f --penalties 0.1 --csv && cut -d, -f2- out | cmp -s - probe && says "$f: the header line" ||
            { fail "$f: ${why:-$(cat out)}"; return 1; }
    done
    exits 0 "$COSPEC" cooc --corpus h.tsv,a.tsv --objective ar --context nearest:1 -o o && says "h.tsv,a.tsv: 1 header line is skipped" && ! grep -q sentence o/vocab.txt || { fail "${why:-a header in the vocabulary}"; return 1; }
    printf 'topic,body\nx,one two\ny,three\n' > own.csv
    refuses 3 "own.csv:1: no column is named as a text usually is" "$COSPEC" data stats own.csv && exits 0 "$COSPEC" data stats own.csv --text-field body --label-field topic && says '2 documents, 3 tokens' || return 1
    # a header with other names of a file of tabs, in both commands; columns between semicolons; an ending in capitals
    printf 'review\tsentiment\ngood\tx y z\ngood\tx z\nbad\tu v w\nbad\tv w\n' > own.tsv
    exits 0 "$COSPEC" data stats own.tsv && says 'own.tsv: only the first line has the label "review"; if that line names the columns, give --text-field' || return 1
    exits 0 "$COSPEC" data stats own.tsv --text-field sentiment --label-field review && says '4 documents' && ! grep -q 'only the first' err || { fail "${why:-named}"; return 1; }
    printf 'label;text\nx;one two\n' > semicolon.csv && cp a.csv A.CSV
    refuses 3 "semicolon.csv:1: the columns are separated by ';', not by ','; this converts it: python3 -c " "$COSPEC" data stats semicolon.csv && exits 0 "$COSPEC" data stats A.CSV && cmp -s out want || fail "${why:-A.CSV}"
}

# One side of a corpus known by name is a corpus.
test_sides() {
    forms && exits 0 "$COSPEC" data stats wordnet:test && says '12 documents' && exits 0 "$COSPEC" data stats wordnet:train && says '48 documents' || return 1
    exits 0 "$COSPEC" train --corpus wordnet:train --objective ar --steps 2 --width 16 --batch 8 --max-length 16 -o ar -q && exits 0 "$COSPEC" perplexity ar wordnet:test --csv && cut -d, -f2-4 out > side &&
        exits 0 "$COSPEC" perplexity ar wordnet --split test --csv && cut -d, -f2-4 out | cmp - side || return 1
    refuses 2 "wordnet:dev: expected wordnet:train or wordnet:test" "$COSPEC" data stats wordnet:dev
}

# Tasks are labelled corpora of any kind, a folder that is one, and folders of them.
test_tasks() {
    forms && exits 0 "$COSPEC" train --corpus a.tsv --objective ar --steps 2 --width 16 --batch 8 --max-length 16 -o ar -q || return 1
    cp a.tsv docs.tsv && exits 0 "$COSPEC" probe ar --tasks docs.tsv,one,kinds,a.csv,classes,markov:classes=2,documents=40,length=12,wordnet --penalties 0.1 -o p || return 1
    [ "$(cut -d, -f1 p/tasks.csv | uniq | tr '\n' ' ')" = "task docs one kind a classes markov-classes-2-documents-40-length-12 wordnet average " ] || { fail "$(cut -d, -f1 p/tasks.csv | uniq)"; return 1; }
    exits 0 "$COSPEC" probe ar docs.tsv --penalties 0.1 -o alone && cmp -s alone/probe.csv p/docs/probe.csv || { fail "${why:-docs: another table}"; return 1; }
    (cd one && exits 0 "$COSPEC" finetune ../ar --tasks . --epochs 1 --seeds 1 --lr 1e-3 -o ../f -q && grep -q '^one,' ../f/tasks.csv) || { fail "the folder it is in: $(cat one/err)"; return 1; }
    mkdir sides && cp a.csv sides/train.csv && cp a.csv sides/test.csv && exits 0 "$COSPEC" probe ar --tasks sides --penalties 0.1 -o s && grep -q '"test": "sides/test.csv"' s/tasks.json || { fail "${why:-$(cat s/tasks.json)}"; return 1; }
    cut -f2 a.tsv > plain.txt
    refuses 3 "plain.txt: no labels" "$COSPEC" probe ar --tasks plain.txt -o x && refuses 2 "wordnet:train is one side" "$COSPEC" probe ar --tasks wordnet:train -o x &&
        refuses 2 "wordnet:train is one side" "$COSPEC" probe ar wordnet:train && refuses 2 "two tasks are called a" "$COSPEC" probe ar --tasks a.csv,a.tsv -o x && refuses 3 "ar: no task" "$COSPEC" probe ar --tasks ar -o x
}

run_tests
