#!/bin/sh
# Prepares the King James Bible: key TAB label TAB split TAB text, one verse a line (docs/reference/corpora.md, "Prepared corpora").
# usage: sh data/prepare-bible-kjv.sh OUT.tsv
#
# The key is the reference that bible(1) prints (Ge1:1), the label its book; the split is that of split_sides.
# Needs the Debian packages bible-kjv and bible-kjv-text.
set -eu
export LC_ALL=C
. "$(dirname "$0")/prepare-common.sh"
target=${1:?"usage: sh data/prepare-bible-kjv.sh OUT.tsv"}
need_command bible bible-kjv
begin "$target"

bible -f gen1:1-rev22:21 > "$work/verses" < /dev/null || fail "bible: cannot print gen1:1-rev22:21; install bible-kjv-text"
awk '
{
    key = $1
    book = key
    if (!sub(/[0-9]+:[0-9]+$/, "", book)) { print "bible: no reference in \"" $0 "\"" > "/dev/stderr"; exit 1 }
    text = substr($0, length(key) + 2)
    gsub(/[\t ]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text)
    printf "%s\t%s\t\t%s\n", key, book, text
}' "$work/verses" > "$work/out"
[ "$(wc -l < "$work/out")" -eq 31102 ] || fail "bible: $(wc -l < "$work/out") verses, wanted 31102"
split_sides
finish bible-kjv bible-kjv-text
