# The pages do what they show: tests/pages.py runs their code blocks and compares the outputs. A page or block that does not run
# says why, in a comment above it; the generated page of all commands is the subject of examples.sh.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

cd "$root" && pages=$(git ls-files '*.md' 2> /dev/null | grep -v '^docs/reference/cli.md$\|ISSUE_TEMPLATE') && cd "$work" || exit 1
[ -n "$pages" ] || pages="README.md docs/tutorial/corpus-to-probe.md"
# shellcheck disable=SC2086 # names have no blanks
(cd "$work" && for page in $pages; do echo "$root/$page"; done | xargs /usr/bin/python3 "$root/tests/pages.py")
