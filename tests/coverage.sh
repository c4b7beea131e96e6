#!/bin/sh
# Lines and branches of src/io and src/cooc that the programs run in BUILD have taken (gcov): coverage.sh BUILD.
set -u
for f in src/io/*.c src/cooc/*.c; do
    data=$1/${f%.c}.gcda
    [ -f "$data" ] || { echo "$f 0 0 0 0"; continue; }
    gcov -b -n -o "$(dirname "$data")" "$data" 2> /dev/null | awk -v want="$f" '/^File/ { file = $2; gsub("\047", "", file) }
        file == want && /^Lines executed/ { split($2, a, ":"); lines = a[2]; n = $4 }
        file == want && /^Taken at least once/ { split($4, a, ":"); print want, lines + 0, n, a[2] + 0, $6 }'
done | awk '{ split($1, p, "/"); r = p[2]; l[r] += $2 * $3 / 100; n[r] += $3; b[r] += $4 * $5 / 100; m[r] += $5; printf "%s: lines %.1f %% of %d, branches %.1f %% of %d\n", $1, $2, $3, $4, $5 }
    END { for (r in l) printf "src/%s: lines %.1f %% of %d, branches %.1f %% of %d\n", r, 100 * l[r] / n[r], n[r], 100 * b[r] / m[r], m[r] }'
