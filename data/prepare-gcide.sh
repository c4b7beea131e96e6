#!/bin/sh
# Prepares the Collaborative International Dictionary of English: key TAB label TAB split TAB text, one entry a line
# (docs/reference/corpora.md, "Prepared corpora").
# usage: sh data/prepare-gcide.sh OUT.tsv
#
# Entries begin where gcide.index says; the key is the entry's byte offset, there is no label and no split. Marks of the
# source ([1913 Webster], [WordNet 1.5 +PJC]) are taken out, and the few bytes that are not UTF-8; the dictionary's own
# notices (00-database-...) are left out. Needs the Debian package dict-gcide.
set -eu
export LC_ALL=C
. "$(dirname "$0")/prepare-common.sh"
target=${1:?"usage: sh data/prepare-gcide.sh OUT.tsv"}
begin "$target"
dict_entries gcide
awk -F '\t' '{
    gsub(/\[[^][]*(1913|WordNet|PJC)[^][]*\]/, "", $2)
    gsub(/ +/, " ", $2)
    sub(/^ /, "", $2); sub(/ $/, "", $2)
    if ($2 != "") printf "%s\t\t\t%s\n", $1, $2
}' "$work/entries" > "$work/raw"
# iconv -c drops what is not UTF-8 and fails for it; the second run proves that nothing else went wrong.
iconv -c -f UTF-8 -t UTF-8 "$work/raw" > "$work/out" 2> /dev/null || iconv -f UTF-8 -t UTF-8 "$work/out" > /dev/null
[ "$(wc -l < "$work/out")" -eq "$(wc -l < "$work/raw")" ] || fail "$dict.dict.dz: text lost in conversion"
[ -s "$work/out" ] || fail "$dict.dict.dz: no entry found"
finish dict-gcide
