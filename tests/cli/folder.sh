# The folder of -o: existing files belong to another run, links are not followed, one run at a time.
. tests/cli/lib.sh

toy="toy --objective ar --classes 2 --length 4 --tokens 2"


# shellcheck disable=SC2086 # word splitting is wanted
test_files_of_others_are_refused() {
    small_corpus c.tsv
    train="train --corpus c.tsv --objective ar --steps 1 --width 16 --layers 1 --heads 1 --batch 2"
    for case in "config.json|$train" "tokenizer.json|$train" "tokenizer_config.json|$train" "manifest.json|$train" "manifest.json|$toy" "toy.csv|$toy" \
        "vocab.txt|cooc --corpus c.tsv --objective ar --context nearest:1" "corpus.npz|cooc --corpus c.tsv --objective ar --context nearest:1" \
        "train.json|tokenize train --corpus c.tsv --vocab 300" "manifest.json|data list"; do
        file=${case%%|*}
        mkdir d && echo mine > "d/$file"
        refuses 2 "d/$file exists; give --force to overwrite it" "$COSPEC" ${case#*|} -o d && [ "$(cat "d/$file")" = mine ] && [ "$(ls -A d)" = "$file" ] || { fail "$case: $why $(ls -A d)"; return 1; }
        rm -r d
    done
    exits 0 "$COSPEC" $toy -o d && exits 0 "$COSPEC" tradeoff --length 8 -o d && grep -q '"tradeoff"' d/manifest.json
}

# shellcheck disable=SC2086
test_resume_takes_over_its_own_run_only() {
    mkdir d && echo mine > d/toy.csv
    refuses 2 "d/toy.csv exists; give --force to overwrite it" "$COSPEC" $toy --resume -o d && [ "$(cat d/toy.csv)" = mine ]
}

# shellcheck disable=SC2086
test_links_are_not_followed() {
    mkdir d && echo mine > target && ln -s ../target d/toy.json
    refuses 2 "d/toy.json is a symbolic link, which is not followed" "$COSPEC" $toy -o d && refuses 2 "symbolic link" "$COSPEC" $toy -o d --force &&
        [ "$(cat target)" = mine ] && rm d/toy.json && ln -s nowhere d/.cospec.lock && refuses 3 "d/.cospec.lock: cannot write" "$COSPEC" $toy -o d || return 1
    ln -s d e && rm d/.cospec.lock && exits 0 "$COSPEC" $toy -o e && [ -s d/toy.json ]
}

# shellcheck disable=SC2086
test_one_run_at_a_time() {
    exits 0 "$COSPEC" $toy -o d && [ "$(ls -A d)" = "manifest.json
toy.csv
toy.json" ] || { fail "left: $(ls -A d)"; return 1; }
    command -v flock > /dev/null || { skip one_run_at_a_time "no flock"; return 0; }
    flock d/.cospec.lock sh -c "'$COSPEC' $toy -o d --force" > out 2> err
    [ $? = 3 ] && says "d: another run is writing to this folder; wait for it or choose another folder" && exits 0 "$COSPEC" $toy -o d --force
}

# Files that a killed run has finished, by its lock file, may be replaced by the next one; other files, and what has come in the
# place of one of them, may not.
test_a_killed_run_is_repeated_without_force() {
    small_corpus c.tsv
    "$COSPEC" train --corpus c.tsv --objective ar --steps 100000000 --width 16 --layers 1 --heads 1 --batch 2 --keep-at 1 -q -o m & pid=$!
    n=0; until [ -e m/checkpoint-1 ] || [ $n -gt 500 ]; do sleep 0.01; n=$((n + 1)); done
    kill -9 $pid; wait $pid 2> /dev/null
    printf 'manifest.json\t%s\n' "$(stat -c '%i %s %.9Y' m/manifest.json)" > record
    grep -qxFf record m/.cospec.lock || { fail "$(cat m/.cospec.lock) lacks $(cat record)"; return 1; }
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $toy -o d && rm d/manifest.json || return 1
    for f in toy.json toy.csv; do printf '\n%s\t%s\n' $f "$(stat -c '%i %s %.9Y' d/$f)"; done > d/.cospec.lock
    cp -a d e && cp -a d f && touch f/toy.csv
    for x in e f; do # a copy is another file, and so is one that was written to since
        # shellcheck disable=SC2086
        refuses 2 "exists; give --force to overwrite it" "$COSPEC" $toy -o $x && [ -s $x/.cospec.lock ] || return 1
    done
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $toy -o d && [ -s d/manifest.json ] && [ ! -e d/.cospec.lock ] && refuses 2 "exists; give --force" "$COSPEC" $toy -o d
}

# A folder that a run is writing to may be inconsistent: its reader learns why, not that files are damaged.
test_a_reader_is_told_of_the_writer() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar -q -o d && exits 0 "$COSPEC" inspect d || return 1
    command -v flock > /dev/null || { skip a_reader_is_told_of_the_writer "no flock"; return 0; }
    echo x >> d/matrix.npz && : > d/.cospec.lock
    flock d/.cospec.lock "$COSPEC" inspect d > out 2> err
    [ $? = 3 ] && says "d: another run is writing to this folder" || { fail "$(cat err)"; return 1; }
    refuses 3 "it was changed or damaged" "$COSPEC" inspect d && exits 0 flock d/.cospec.lock "$COSPEC" data stats c.tsv
}

# Control bytes of data do not reach the reader's terminal, and a drawing of them is XML.
test_control_bytes() {
    printf 'the cat\ta\033[31mred\nthe dog\tb\342\200\256x\nthe cow\ta\033[31mred\n' > c.tsv
    esc=$(printf '\033')
    exits 0 "$COSPEC" data stats c.tsv && exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar -o "m$esc[1m" && ! grep -q "$esc" out err || { fail "${why:-control bytes: $(cat -v out err)}"; return 1; }
    # a line break in an argument begins no line that looks like one of the program
    forged=$(printf 'gone\r\ncospec svd: all is well')
    for command in "svd" "data stats" "tokenize encode" "rank" "plot training -o n" "rerun" "train --objective ar -o n --corpus" "cooc --objective ar -o n --corpus" "help" "svd m --solver" "inspect" "verify 3.1 --matrix" ""; do
        "$COSPEC" $command "$forged" > out 2> err && { fail "'$command' takes it"; return 1; }
        ! grep -q '^cospec svd: all' out err && ! grep -q "$(printf '\r')" out err && grep -qF '\u000d\u000acospec svd: all' err || { fail "$command: $(cat -v out err)"; return 1; }
    done
    cp c.tsv "$forged" && exits 0 "$COSPEC" data stats "$forged" --format tsv && ! grep -q '^cospec svd: all' out err || { fail "${why:-$(cat out err)}"; return 1; }
    refuses 3 'no such file' "$COSPEC" svd "gone$esc[2J" && ! grep -q "$esc" err && grep -qF 'gone\u001b' err || { fail "${why:-$(cat -v err)}"; return 1; }
    printf 'index,sigma\n1,1\n2,0.5\n' > a.csv
    exits 0 "$COSPEC" plot spectra "$(printf 'x\033y\001\377')=a.csv" -o f || return 1
    /usr/bin/python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' f/spectra.svg 2> err || fail "$(tail -1 err)"
}

# A place whose file cannot be examined is not said to be taken.
# shellcheck disable=SC2086
test_a_place_that_cannot_be_examined() {
    command -v strace > /dev/null || { skip a_place_that_cannot_be_examined "no strace"; return 0; }
    mkdir o && strace -qq -o trace -P o -e trace=newfstatat,stat,statx -e inject=newfstatat,stat,statx:error=EACCES "$COSPEC" $toy -o o > out 2> err
    [ $? = 3 ] || ! grep -q INJECTED trace || { fail "$(cat err)"; return 1; }
    for n in 1 2 3 4; do
        strace -qq -o trace -P d/toy.csv -e trace=newfstatat,lstat,stat,statx -e "inject=newfstatat,lstat,stat,statx:error=EIO:when=$n" "$COSPEC" $toy -o d > out 2> err
        code=$?
        grep -q INJECTED trace || { [ $n -gt 2 ] && return 0; skip a_place_that_cannot_be_examined "strace injects nothing"; return 0; }
        [ $code = 3 ] && says "d/toy.csv: Input/output error" && [ ! -e d ] || { fail "call $n: exit $code: $(head -c 200 err) $(ls -A d)"; return 1; }
    done
}

# An I/O error names the directory, whichever reading of it fails; a program that does not need that reading succeeds.
test_directories_that_cannot_be_read() {
    command -v strace > /dev/null || { skip directories_that_cannot_be_read "no strace"; return 0; }
    mkdir -p texts/a texts/b p/a p/b && echo a b > texts/a/1 && echo b a > texts/b/1 || return 1
    for class in a b; do for i in 1 2 3; do printf 'P2 2 2 9 1 2 3 %d\n' $i > p/$class/$i.pgm; done; done
    for source in texts p; do
        for call in getdents64 openat; do
            for place in $source $source/a; do
                for n in 1 2 3 1+; do
                    strace -f -qq -o trace -P $place -e trace=$call -e inject=$call:error=EIO:when=$n "$COSPEC" data stats $source > out 2> err
                    code=$?
                    grep -q INJECTED trace || { [ $n = 3 ] && continue; skip directories_that_cannot_be_read "strace injects nothing"; return 0; }
                    [ $code = 3 ] && says "$place: Input/output error" || { fail "$call $n of $place: exit $code: $(head -c 200 err)"; return 1; }
                done
            done
        done
    done
}

# shellcheck disable=SC2086
test_a_failed_run_leaves_no_folder() {
    exits 3 "$COSPEC" svd none.mtx -o d && [ ! -e d ] && exits 0 "$COSPEC" $toy --dry-run -o d && [ ! -e d ]
}

# Folders within the folder are the run's own too: not links, not somebody else's.
test_folders_within() {
    printf 'a\tone two three four\nb\tfive six one two\na\tthree two one five\n' > my.tsv
    mkdir other steps && echo keep > other/model.safetensors && mkdir link && ln -s ../other link/checkpoint-5
    refuses 2 "link/checkpoint-5 is a symbolic link" "$COSPEC" train --corpus my.tsv --objective ar --steps 5 --layers 1 --width 16 --heads 2 --batch 2 -o link || return 1
    mkdir -p own/checkpoint-5 && echo keep > own/checkpoint-5/model.safetensors
    refuses 2 "own/checkpoint-5 is not empty and not a checkpoint" "$COSPEC" train --corpus my.tsv --objective ar --steps 5 --layers 1 --width 16 --heads 2 --batch 2 -o own || return 1
    [ "$(ls link own)" = "$(printf 'link:\ncheckpoint-5\n\nown:\ncheckpoint-5')" ] || { fail "something was written: $(ls link own)"; return 1; }
    mkdir -p draws/draws-2 && echo keep > draws/draws-2/matrix.npz && mkdir linked && ln -s ../other linked/draws-2
    set -- cooc --corpus my.tsv --objective masked --mask-ratio 0.5 --context all --max-length 4 --draws 2,4
    refuses 2 "draws/draws-2/matrix.npz exists" "$COSPEC" "$@" -o draws && refuses 2 "linked/draws-2 is a symbolic link" "$COSPEC" "$@" -o linked || return 1
    mkdir built && ln -s ../other built/checkpoint && echo keep > other/checkpoint.json
    refuses 2 "built/checkpoint is a symbolic link" "$COSPEC" cooc --corpus my.tsv --objective ar --context all --max-length 4 --force -o built && [ -s other/checkpoint.json ] || return 1
    mkdir kept && echo keep > kept/unfinished.json
    refuses 2 "kept/unfinished.json exists" "$COSPEC" connectivity --corpus my.tsv --context all --max-length 4 --stride 1 --jackknife 0 --compare ar -o kept || return 1
    printf '{"steps": [{"about": "x", "run": {"one": "toy --objective ar --classes 2 --length 3 --tokens 2"}}]}' > s.json && echo '<p>' > t.html
    mkdir -p study/one far && echo keep > study/one/toy.csv && mkdir study2 && ln -s ../far study2/one
    refuses 2 "study/one contains files that were not written by a study; choose another folder" "$COSPEC" reproduce --steps s.json --template t.html -o study -q || return 1
    refuses 2 "study2/one is a symbolic link" "$COSPEC" reproduce --steps s.json --template t.html -o study2 -q || return 1
    [ "$(cat other/* own/checkpoint-5/* draws/draws-2/* kept/* study/one/*)" = "$(printf 'keep\nkeep\nkeep\nkeep\nkeep\nkeep')" ] && [ -z "$(ls far)" ] || fail "something was replaced"
}

# Every JSON of a command has its table too, as "schema" and "data" in the form that pandas.read_json(path, orient="table") reads: the
# columns and the number of rows are those of the CSV, and the members that were there before are there still.
test_json_tables() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -q -o cooc || return 1
    for run in "svd cooc" "density cooc" "connectivity cooc" "inspect cooc" "verify 3.1" "toy --objective ar --classes 2 --length 3 --tokens 2" "kernel ar --length 4" cooc; do
        name=$(echo "$run" | cut -d' ' -f1) file=$(echo "$run" | cut -d' ' -f1)
        [ "$name" != verify ] || file=statements
        # shellcheck disable=SC2086
        [ "$run" = cooc ] || exits 0 "$COSPEC" $run -q -o "$name" || return 1
        fields=$(sed -n '/^  "schema": {/,/^  }/p' "$name/$file.json" | sed -n 's/^ *"name": "\(.*\)",*$/\1/p' | tr '\n' ,)
        rows=$(sed -n '/^  "data": \[/,/^  \]/p' "$name/$file.json" | grep -c '^    {')
        [ "$fields" = "$(head -1 "$name/$file.csv")," ] && [ "$rows" = "$(($(wc -l < "$name/$file.csv") - 1))" ] || { fail "$run: $fields, $rows rows"; return 1; }
    done
    grep -q '^  "sigma": \[' svd/svd.json && grep -q '^  "statements": \[' verify/statements.json || { fail "members are gone"; return 1; }
    exits 0 "$COSPEC" svd cooc -q --json && grep -q '^  "data": \[' out || fail "${why:-$(cat out)}"
}

for name in json_tables folders_within directories_that_cannot_be_read a_place_that_cannot_be_examined files_of_others_are_refused resume_takes_over_its_own_run_only links_are_not_followed one_run_at_a_time a_killed_run_is_repeated_without_force a_reader_is_told_of_the_writer control_bytes a_failed_run_leaves_no_folder; do check "$name"; done
