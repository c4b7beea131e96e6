#!/bin/sh
# Packs what a study has found. The form depends on the second argument:
#
#   sh plots/pack.sh STUDY OUT.tar.xz   an archive to go on with, of tables, numbers and figures of the steps
#                                       that have ended, with their commands and times. It has no models, states
#                                       or predictions, and no claims, which are decided again. Unpacked into an
#                                       empty folder, `cospec reproduce -o FOLDER --resume --any-version` goes on
#                                       with it (docs/reference/studies.md, Order and resuming).
#   sh plots/pack.sh STUDY FOLDER       what is published: the report, the verdicts (claims.csv and
#                                       claims-budgets.csv), their counts (counts.csv), the correlations, and
#                                       values.csv.xz, from which docs/results/verdicts.py decides the verdicts
#                                       again. Links of the report to files that are not published become text.
set -eu
[ $# = 2 ] && [ -d "$1" ] || { echo 'usage: sh plots/pack.sh STUDY OUT.tar.xz|FOLDER' >&2; exit 2; }
case $2 in
*.tar.xz) ;;
*)
    [ -f "$1/values.csv" ] || { echo "pack.sh: $1/values.csv is missing: the study has no claims or has not ended" >&2; exit 3; }
    mkdir -p "$2"
    for file in "$1/report.html" "$1/claims.csv" "$1/claims-budgets.csv" "$1/counts.csv" "$1"/*/correlations.csv; do
        [ ! -f "$file" ] || cp "$file" "$2/"
    done
    if [ -f "$2/report.html" ]; then
        # Links to the files of the folder are set aside, all others but those to the page and the web removed.
        there=$(cd "$2" && for file in *.csv; do printf '%s|' "$file"; done)values.csv.xz
        sed -E -e "s,<a([^>]*) href=\"($there)\",<a\1 HREF=\"\2\",g" -e 's,<a href="[^"]*">(csv|gp|png|pdf)</a> ?,,g' -e 's,<a [^>]*href="([^"#h][^"]*|h[^"t][^"]*)"[^>]*>(([^<]|<[^/]|</[^a])*)</a>,\2,g' -e 's,<a([^>]*) HREF=,<a\1 href=,g' "$2/report.html" > "$2/report.html.part"
        mv "$2/report.html.part" "$2/report.html"
    fi
    xz -6 -c "$1/values.csv" > "$2/values.csv.xz.part"
    mv "$2/values.csv.xz.part" "$2/values.csv.xz"
    exit 0
    ;;
esac
cd "$1"
out=$OLDPWD/$2
case $2 in /*) out=$2 ;; esac
list=$(mktemp)
trap 'rm -f "$list"' EXIT
grep -l '"exit": [014],' */step.json | while read -r record; do
    find "${record%/*}" -maxdepth 1 -type f \( -name '*.csv' -o -name '*.json' -o -name '*.svg' -o -name '*.png' -o -name '*.pdf' -o -name '*.gp' \) \
        ! -name manifest.json ! -name 'tokenizer*.json' ! -name predictions.csv
done | sort > "$list"
tar --mtime=@0 --owner=0 --group=0 --mode=u+rw,go+r-w -cf - -T "$list" | xz -6 > "$out.part"
mv "$out.part" "$out"
