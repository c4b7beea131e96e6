#!/bin/sh
# Prepares WordNet glosses: key TAB label TAB split TAB text, one synset a line (docs/reference/corpora.md, "Prepared corpora").
# usage: sh data/prepare-wordnet.sh OUT.tsv
#
# The 14 noun classes (lexicographer files) with at least 2,000 synsets; of each the 2,000 synsets with the smallest hash
# of the synset offset; a fifth of them, by a second hash, is the test split. The text is the whole gloss: definition and
# quoted examples. Needs the Debian package wordnet-base; WORDNET_DIR is the folder of data.noun.
set -eu
export LC_ALL=C
. "$(dirname "$0")/prepare-common.sh"
target=${1:?"usage: sh data/prepare-wordnet.sh OUT.tsv"}
nouns=${WORDNET_DIR:-/usr/share/wordnet}/data.noun
need_file "$nouns" wordnet-base
begin "$target"

# Two generators with different moduli, in turn, make a mix that doubles hold exactly (all products are below 2^53).
awk '
function mix(x, i) {
    for (i = 0; i < 4; i++) {
        x = (x * 16807 + 12345) % 2147483647
        x = (x % 65536) * 30903 + int(x / 65536)
    }
    return x % 2147483647
}
BEGIN {
    split("act animal artifact attribute body cognition communication event feeling food group location motive object " \
          "person phenomenon plant possession process quantity relation shape state substance time", name, " ")
    # Lexicographer files 4 to 28 are the nouns (3 is Tops); see lexnames(5WN).
}
/^ / { next }   # the licence
{
    bar = index($0, " | ")
    if (bar == 0 || $2 + 0 < 4 || $2 + 0 > 28) next
    text = substr($0, bar + 3)
    gsub(/[\t ]+/, " ", text); sub(/ $/, "", text)
    hash = mix($1 + 0)
    printf "%s\t%010d\t%s\t%s\t%s\n", name[$2 - 3], hash, $1, mix(hash) % 5 == 0 ? "test" : "train", text
}' "$nouns" > "$work/lines"
sort "$work/lines" > "$work/all"
cut -f 1 "$work/all" | uniq -c | awk '$1 >= 2000 { print $2 }' > "$work/classes"
awk -F '\t' -v OFS='\t' -v per_class=2000 '
NR == FNR { keep[$1] = 1; next }
($1 in keep) && ++taken[$1] <= per_class { print $3, $1, $4, $5 }' "$work/classes" "$work/all" > "$work/chosen"
sort "$work/chosen" > "$work/out"
[ "$(wc -l < "$work/classes")" -gt 0 ] || fail "$nouns: no noun class has 2,000 synsets"
finish wordnet-base
