# The pages do what they show: tests/pages.py runs their code blocks and compares the outputs. A block that does not run says why, in a
# comment above it. The generated page of all commands is the subject of usage.sh and examples.sh.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

python=
for p in "${PYTHON:-/usr/bin/python3}" python3; do
    if "$p" -c 'import numpy, scipy' 2> /dev/null; then python=$p; break; fi
done
if [ -n "$python" ] && make -s -C "$root" install-python PYTHON="$python" PYTHON_SITE="$work/site" > log 2>&1; then
    export PYTHONPATH="$work/site" PYTHON="$python"
else
    unset PYTHON
fi

cd "$root" && pages=$(git ls-files '*.md' 2> /dev/null | grep -v '^docs/reference/cli.md$') && cd "$work" || exit 1
[ -n "$pages" ] || pages="README.md docs/tutorial/corpus-to-probe.md"
# shellcheck disable=SC2086 # names have no blanks
(cd "$work" && for page in $pages; do echo "$root/$page"; done | xargs /usr/bin/python3 "$root/tests/pages.py")

# The commands of README's table "I have ..." run, on small inputs in the place of the reader's.
test_readme_table() {
    small_corpus c.tsv
    sed -n 's/^| [a-z].*| `\(cospec [^`]*\)` |.*/\1/p' "$root/README.md" > commands
    [ "$(wc -l < commands)" -ge 6 ] || { fail "the table has $(wc -l < commands) commands"; return 1; }
    for seed in 1 2; do
        exits 0 "$COSPEC" train --corpus c.tsv --objective masked --layers 1 --width 16 --steps 3 --seed $seed -o model-$seed || return 1
    done
    while read -r line; do
        small=
        case $line in
        *' demo'*) continue ;; # tests/cli/demo.sh
        *' compare '*) small='--dry-run' line=${line#cospec compare MODEL MODEL} line="cospec compare model-1 model-2$line" ;;
        *' train '*) small='--patch 4 --layers 1 --width 16 --steps 2' line=${line%%FOLDER*}field:side=8,fields=200${line#*FOLDER} ;;
        esac
        line=$(echo "$line $small" | sed 's/ MODEL / model-1 /; s/ CORPUS/ c.tsv/; s/ FILE / c.tsv /')
        # shellcheck disable=SC2086 # words of a command
        exits 0 "$COSPEC" ${line#cospec} || return 1
    done < commands
}

check readme_table

# docs/reference/statements.md has every row of `verify --list`.
test_statements() {
    exits 0 "$COSPEC" verify --list || return 1
    tail -n +2 out | while read -r line; do
        row="| $(echo "$line" | sed 's/   */ | /g; s/^\([^ ]*\) \(printed\|corrected\)/\1 | \2/; s/\(printed\|corrected\) \([^|]\)/\1 | \2/') |"
        grep -qxF "$row" "$root/docs/reference/statements.md" || { echo "$row"; break; }
    done > missing
    [ ! -s missing ] || fail "docs/reference/statements.md lacks $(cat missing)"
}

check statements

# The stored notebooks are valid, and their text agrees with their outputs; tests/rotating/notebooks.sh runs them.
test_notebooks() {
    exits 0 /usr/bin/python3 "$root/tests/notebooks.py" || fail "$(grep -v '^ok ' out)"
}

check notebooks

# Reports are prose as pages are: their sentences, paragraphs, captions and cells are measured; commands and numbers are not.
test_prose_of_reports() {
    words() { seq -s ' ' "$1" | sed 's/[0-9][0-9]*/word/g'; }
    printf '<p><code>%s</code> A short one.</p><table><tr><td>%s</td></tr></table>\n' "$(words 130)" "$(words 35)" > good.html
    exits 0 /usr/bin/python3 "$root/tests/prose.py" good.html || return 1
    for case in "a paragraph of 121 words|<p>$(words 119). A b.</p>" "a table cell of 36 words|<tr><td>$(words 30) <b>$(words 6)</b></td></tr>" '36 words a sentence'"|<li>$(words 36).</li>" "36 words a sentence|{{figure a b C$(words 36)}}" "retired 'room'|<p>A room.</p>"; do
        printf '%s<p>A.</p>\n' "${case#*|}" > bad.html
        exits 1 /usr/bin/python3 "$root/tests/prose.py" bad.html
        grep -q "${case%%|*}\|exceed 35" out || { fail "${case%%|*}: $(cat out err)"; return 1; }
    done
}
check prose_of_reports

# Comments of sources, tests and scripts, strings of several words, and the lines of scripts that fail.
test_prose_of_sources() {
    printf '/* A buffer. */\nint room; /* a_room */\nconst char *s = "room";\n' > good.c
    exits 0 /usr/bin/python3 "$root/tests/prose.py" good.c || return 1
    mark='#' command=fail
    for case in 'c|/* A room. */' 'c|/* What it is. */' 'c|const char *s = "a room";' 'cu|// a room' "py|x = 1  $mark a room" 'py|"""What it is."""' "sh|$mark a room" "sh|$command 'a room'"; do
        printf '%s\n' "${case#*|}" | tr "'" '"' > "bad.${case%%|*}"
        exits 1 /usr/bin/python3 "$root/tests/prose.py" "bad.${case%%|*}"
        grep -q "'room'\|'What'" out || { fail "$case: $(cat out err)"; return 1; }
    done
}
check prose_of_sources
