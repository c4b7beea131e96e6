#!/bin/sh
# Prepares the Free On-line Dictionary of Computing: key TAB label TAB split TAB text, one entry a line (docs/formats.md,
# "Prepared corpora").
# usage: sh data/prepare-foldoc.sh OUT.tsv
#
# Entries begin where foldoc.index says; the key is the entry's byte offset. Its subject, the label, stands in <> before the
# definition (<networking>; of <networking, standard> the first). Kept are the entries of one subject, of the subjects with at
# least 100 of them; the marks of subjects, the braces of cross-references and the date of the entry are taken out. The
# split is that of split_sides. Needs the Debian package dict-foldoc; DICTD_DIR is where its files stand.
set -eu
export LC_ALL=C
. "$(dirname "$0")/prepare-common.sh"
target=${1:?"usage: sh data/prepare-foldoc.sh OUT.tsv"}
dir=${DICTD_DIR:-/usr/share/dictd}
need_file "$dir/foldoc.dict.dz" dict-foldoc
need_file "$dir/foldoc.index" dict-foldoc
begin "$target"

gzip -dc < "$dir/foldoc.dict.dz" > "$work/dict" || fail "$dir/foldoc.dict.dz: cannot be unpacked"
dict_starts "$dir/foldoc.index" > "$work/starts"
awk -F '\t' -v OFS='\t' '
function flush(subject, rest, mark) {
    if (key == "" || key in notice) return
    rest = text
    while (match(rest, /<[a-z][a-z ,-]*>/)) {
        mark = substr(rest, RSTART + 1, RLENGTH - 2)
        sub(/,.*/, "", mark)
        if (subject != "" && mark != subject) return
        subject = mark
        rest = substr(rest, RSTART + RLENGTH)
    }
    if (subject == "") return
    gsub(/<[a-z][a-z ,-]*>/, "", text)
    gsub(/[{}]/, "", text)
    gsub(/\([12][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]\)/, "", text)
    gsub(/%%%/, ", ", text)
    gsub(/[ \t\r\f\v]+/, " ", text)
    sub(/^ /, "", text); sub(/ $/, "", text)
    print key, subject, "", text
}
FILENAME == starts { start[$1] = 1; if ($2 == "notice") notice[$1] = 1; next }
{
    if (at in start) { flush(); key = at; text = "" }
    at += length($0) + 1
    text = text " " $0
}
BEGIN { starts = ARGV[1]; at = 0; key = "" }
END { flush() }' "$work/starts" "$work/dict" > "$work/entries"
iconv -f UTF-8 -t UTF-8 "$work/entries" > /dev/null || fail "$dir/foldoc.dict.dz: not UTF-8"
awk -F '\t' 'NR == FNR { size[$2]++; next } size[$2] >= 100' "$work/entries" "$work/entries" > "$work/out"
[ -s "$work/out" ] || fail "$dir/foldoc.dict.dz: no subject has 100 entries"
split_sides
finish dict-foldoc
