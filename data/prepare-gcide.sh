#!/bin/sh
# Prepares the Collaborative International Dictionary of English: key TAB label TAB split TAB text, one entry a line
# (docs/formats.md, "Prepared corpora").
# usage: sh data/prepare-gcide.sh OUT.tsv
#
# Entries begin where gcide.index says; the key is the entry's byte offset, there is no label and no split. Marks of the
# source ([1913 Webster], [WordNet 1.5 +PJC]) are taken out, and the few bytes that are not UTF-8; the dictionary's own
# notices (00-database-...) are left out. Needs the Debian package dict-gcide; DICTD_DIR is where its files stand.
set -eu
export LC_ALL=C
. "$(dirname "$0")/prepare-common.sh"
target=${1:?"usage: sh data/prepare-gcide.sh OUT.tsv"}
dir=${DICTD_DIR:-/usr/share/dictd}
need_file "$dir/gcide.dict.dz" dict-gcide
need_file "$dir/gcide.index" dict-gcide
begin "$target"

gzip -dc < "$dir/gcide.dict.dz" > "$work/dict" || fail "$dir/gcide.dict.dz: cannot be unpacked"
dict_starts "$dir/gcide.index" > "$work/starts"
awk -F '\t' '
function flush() {
    if (key == "" || key in notice) return
    gsub(/\[[^][]*(1913|WordNet|PJC)[^][]*\]/, "", text)
    gsub(/[ \t\r\f\v]+/, " ", text)
    sub(/^ /, "", text); sub(/ $/, "", text)
    if (text != "") printf "%s\t\t\t%s\n", key, text
}
FILENAME == starts { start[$1] = 1; if ($2 == "notice") notice[$1] = 1; next }
{
    if (at in start) { flush(); key = at; text = "" }
    at += length($0) + 1
    text = text " " $0
}
BEGIN { starts = ARGV[1]; at = 0; key = "" }
END { flush() }' "$work/starts" "$work/dict" > "$work/raw"
# iconv -c drops what is not UTF-8 and fails for it; the second run proves that nothing else went wrong.
iconv -c -f UTF-8 -t UTF-8 "$work/raw" > "$work/out" 2> /dev/null || iconv -f UTF-8 -t UTF-8 "$work/out" > /dev/null
[ "$(wc -l < "$work/out")" -eq "$(wc -l < "$work/raw")" ] || fail "$dir/gcide.dict.dz: text lost in conversion"
[ -s "$work/out" ] || fail "$dir/gcide.dict.dz: no entry found"
finish dict-gcide
