#!/bin/sh
# Packs what a study has found: tables, numbers and figures of the steps that have ended, their commands
# and times, without models, states, predictions and claims, which are decided anew. usage: sh plots/pack.sh STUDY OUT.tar.xz
# Unpacked into an empty folder, `cospec reproduce -o FOLDER --resume --any-version` goes on with it
# (docs/reference/studies.md, Order and resuming).
set -eu
[ $# = 2 ] && [ -d "$1" ] || { echo 'usage: sh plots/pack.sh STUDY OUT.tar.xz' >&2; exit 2; }
cd "$1"
out=$OLDPWD/$2
case $2 in /*) out=$2 ;; esac
list=$(mktemp)
trap 'rm -f "$list"' EXIT
{
    grep -l '"exit": [014],' */step.json | while read -r record; do
        find "${record%/*}" -maxdepth 1 -type f \( -name '*.csv' -o -name '*.json' -o -name '*.svg' -o -name '*.png' -o -name '*.pdf' -o -name '*.gp' \) \
            ! -name manifest.json ! -name 'tokenizer*.json' ! -name predictions.csv
    done
    find . -maxdepth 2 \( -path './curves/*' -o -path './differences/*' -o -path './course/*' \) -type f ! -name manifest.json
} | sort > "$list"
tar --mtime=@0 --owner=0 --group=0 --mode=u+rw,go+r-w -cf - -T "$list" | xz -6 > "$out.part"
mv "$out.part" "$out"
