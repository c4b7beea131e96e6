#!/bin/sh
# docs/tutorial/corpus-to-probe.md with its commands run in the current folder: every output is replaced by what stands on stdout now.
# usage: COSPEC=... tests/tutorial.sh docs/tutorial/corpus-to-probe.md > new.md ; the test compares the two, `make docs` keeps the second.
set -u
PATH=$(dirname "$COSPEC"):$PATH
export PATH
block=
while IFS= read -r line || [ -n "$line" ]; do
    case "$block$line" in
    '```console') block=in; printf '%s\n' "$line" ;;
    'in```') block=; printf '%s\n' "$line" ;;
    'in$ '*)
        printf '%s\n' "$line"
        command=${line#'$ '}
        eval "$command" 2>> stderr.txt < /dev/null || { echo "exit code $? of: $command" >&2; tail -3 stderr.txt >&2; exit 1; } ;;
    in*) ;; # what it printed when the page was written
    *) printf '%s\n' "$line" ;;
    esac
done < "$1"
