#!/bin/sh
# Prepares the Free On-line Dictionary of Computing: key TAB label TAB split TAB text, one entry a line (docs/reference/corpora.md,
# "Prepared corpora").
# usage: sh data/prepare-foldoc.sh OUT.tsv
#
# Entries begin where foldoc.index says; the key is the entry's byte offset. Its subject, the label, is in <> before the
# definition (<networking>; of <networking, standard> the first). Kept are the entries of one subject, of the subjects with at
# least 100 of them; the marks of subjects, the braces of cross-references and the date of the entry are taken out. The
# split is that of split_sides. Needs the Debian package dict-foldoc.
set -eu
export LC_ALL=C
. "$(dirname "$0")/prepare-common.sh"
target=${1:?"usage: sh data/prepare-foldoc.sh OUT.tsv"}
begin "$target"
dict_entries foldoc
awk -F '\t' -v OFS='\t' '{
    rest = text = $2
    subject = ""
    while (match(rest, /<[a-z][a-z ,-]*>/)) {
        mark = substr(rest, RSTART + 1, RLENGTH - 2)
        sub(/,.*/, "", mark)
        if (subject != "" && mark != subject) next
        subject = mark
        rest = substr(rest, RSTART + RLENGTH)
    }
    if (subject == "") next
    gsub(/<[a-z][a-z ,-]*>/, "", text)
    gsub(/[{}]/, "", text)
    gsub(/\([12][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]\)/, "", text)
    gsub(/%%%/, ", ", text)
    gsub(/ +/, " ", text)
    sub(/^ /, "", text); sub(/ $/, "", text)
    print $1, subject, "", text
}' "$work/entries" > "$work/of_one"
iconv -f UTF-8 -t UTF-8 "$work/of_one" > /dev/null || fail "$dict.dict.dz: not UTF-8"
awk -F '\t' 'NR == FNR { size[$2]++; next } size[$2] >= 100' "$work/of_one" "$work/of_one" > "$work/out"
[ -s "$work/out" ] || fail "$dict.dict.dz: no subject has 100 entries"
split_sides
finish dict-foldoc
