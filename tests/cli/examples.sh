# Every example of every command runs, in the order of its command, in one folder a command.
plan_files=$(pwd)/docs/reference/plan-files.md
golden=$(pwd)/tests/golden
. tests/cli/lib.sh

commands=$("$COSPEC" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')

test_one() {
    "$COSPEC" help "$command" | sed '1,/^Examples:/d; s/^  //' | grep '^cospec ' > lines
    [ -s lines ] || { fail "no examples"; return 1; }
    while read -r line; do
        # shellcheck disable=SC2086 # the line is a command line
        if ! eval "\"\$COSPEC\" ${line#cospec}" > out 2> err < /dev/null; then
            grep -q 'apt-get install\|package' err && { missing=$line; continue; }
            fail "$line: $(tail -1 err)"
            return 1
        fi
    done < lines
}

for command in $commands; do
    [ "$command" = demo ] && continue # its example is the first test of demo.sh
    # Minutes long, and the subject of `make reproduce`.
    [ "$command" = reproduce ] && { skip "examples of reproduce" "'make reproduce' runs it"; continue; }
    why= missing=
    mkdir "$work/$command" && cd "$work/$command" || exit 1
    # The files of a user's own that examples name.
    small_corpus labelled.tsv
    cut -f2 labelled.tsv > verses.txt
    printf 'cat\tdog\t8\ntree\tleaf\t7\ncat\tleaf\t1\n' > pairs.tsv
    cp -r "$golden/models/gpt2" gpt2-tiny
    # The plan files that docs/reference/plan-files.md shows, in their order.
    awk '/^```/{file = /json/ ? ++n : 0; next}
        file{print > (n == 1 ? "plans.json" : n == 2 ? "mix.json" : "varied.json")}' "$plan_files"
    if ! test_one; then echo "not ok examples of $command: $why"
    elif [ -n "$missing" ]; then skip "examples of $command" "a Debian package is missing for '$missing'"
    else echo "ok examples of $command"; fi
    cd "$work" || exit 1
    rm -rf "${work:?}/$command"
done
