# The scripts of data/: stored splits without near-duplicates, on a dictionary made here.
root=$(pwd)
. tests/cli/lib.sh

# entries SUBJECT FIRST LAST EVERY: entries of 12 words of their own; every EVERY-th is the one before it with another last word.
entries() {
    awk -v subject="$1" -v from="$2" -v to="$3" -v every="$4" 'BEGIN {
        for (e = from; e <= to; e++) {
            of = every && e % every == 0 ? e - 1 : e
            text = ""
            for (w = 0; w < 12; w++) text = text " w" of "x" w
            printf "head%d\n   <%s> %s last%d\n   {see} also. (2001-02-03)\n", e, subject, text, e
        }
    }'
}

test_split_sides() {
    mkdir dict
    { entries alpha 1 500 7; entries beta 501 700 0; entries rare 701 750 0; } > all
    # An entry begins at every third line; offsets and lengths in base 64, the digit of 0 being A.
    awk '
    function digits(x, text) {
        do { text = substr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", x % 64 + 1, 1) text; x = int(x / 64) } while (x > 0)
        return text
    }
    NR % 3 == 1 { if (NR > 1) print head "\t" digits(from) "\t" digits(at - from); head = $0; from = at }
    { at += length($0) + 1 }
    END { print head "\t" digits(from) "\t" digits(at - from) }' all > dict/foldoc.index
    gzip -c all > dict/foldoc.dict.dz
    DICTD_DIR=$PWD/dict exits 0 sh "$root/data/prepare-foldoc.sh" out.tsv || return 1
    [ "$(cut -f 2 out.tsv | sort | uniq -c | tr -s ' \n' ' ')" = " 500 alpha 200 beta " ] || { fail "$(cut -f 2 out.tsv | sort | uniq -c)"; return 1; }
    [ "$(sed -n 2p out.tsv | cut -f 4)" = "head2 w2x0 w2x1 w2x2 w2x3 w2x4 w2x5 w2x6 w2x7 w2x8 w2x9 w2x10 w2x11 last2 see also." ] ||
        { fail "$(sed -n 2p out.tsv)"; return 1; }
    # Entries 7k and 7k - 1 share eight of their twelve runs: neither is tested with. Of the 558 others a fifth, 112, with a
    # standard deviation of 9.5: within five of them.
    awk -F '\t' '
    $3 != "test" && $3 != "train" { print "split " $3; exit }
    $3 == "test" { n++; e = substr($4, 5) + 0; if (e <= 500 && (e % 7 == 0 || e % 7 == 6 && e < 500)) { print "entry " e; exit } }
    END { if (n < 64 || n > 160) print n " test entries" }' out.tsv > wrong
    [ ! -s wrong ] || { fail "$(cat wrong)"; return 1; }
    DICTD_DIR=$PWD/dict exits 0 sh "$root/data/prepare-foldoc.sh" again.tsv && cmp -s out.tsv again.tsv || fail "another run gives other bytes"
}

# Several corpora are one: the documents, and the sides, of each; the same as one file of both without a split.
test_joined() {
    small_corpus a.tsv && printf 'x\tone more of two\ny\tand the last one\n' > b.tsv
    exits 0 "$COSPEC" data stats a.tsv,b.tsv && says '82 documents, ' && grep -q '^a.tsv  *80 ' out && grep -q '^b.tsv  *2 ' out || { fail "$(cat out err)"; return 1; }
    exits 0 "$COSPEC" cooc --corpus a.tsv,b.tsv --objective ar --context nearest:2 --split all -o two && cat a.tsv b.tsv > ab.tsv &&
        exits 0 "$COSPEC" cooc --corpus ab.tsv --objective ar --context nearest:2 --split all -o one && cmp one/vocab.txt two/vocab.txt &&
        [ "$("$COSPEC" svd one -k 3 --csv)" = "$("$COSPEC" svd two -k 3 --csv)" ] && grep -q '"a.tsv"\|/a.tsv"' two/manifest.json && grep -q 'b.tsv"' two/manifest.json || { fail "another matrix: $(cat err)"; return 1; }
    "$COSPEC" data stats a.tsv > alone && "$COSPEC" data stats a.tsv,b.tsv > both
    [ "$(awk '$1 == "animal" || $1 == "plant" { n += $4 } END { print n }' alone)" = "$(awk '$1 == "a.tsv" { print $4 }' both)" ] || { fail "$(cat alone both)"; return 1; }
    refuses 3 "a list of corpora" "$COSPEC" data stats a.tsv,,b.tsv && refuses 3 "c.tsv: no such file" "$COSPEC" data stats a.tsv,c.tsv &&
        cp b.tsv 'a.tsv,b.tsv' && exits 0 "$COSPEC" data stats a.tsv,b.tsv && says '2 documents, ' || return 1
    # a side of a named corpus may come first
    mkdir cache && awk -F'\t' '{ print NR "\t" $1 "\t" (NR % 3 ? "train" : "test") "\t" $2 }' a.tsv > cache/foldoc.tsv && echo one two > c.txt && COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" data stats foldoc:test,c.txt || return 1
    # a folder with train.tsv is a task, not a folder of documents
    mkdir task && cp a.tsv task/train.tsv && refuses 3 "task contains train.tsv, so it is a task" "$COSPEC" data stats task &&
        refuses 3 "give its files, such as task/train.tsv" "$COSPEC" cooc --corpus task --objective ar -o t
}

run_tests
