# How the program ends: children do not outlive it, limits of the system are errors with a reason.
. tests/cli/lib.sh

# ended PID: within ten seconds no such process runs (a zombie does not).
ended() {
    tries=0
    while [ $tries -lt 100 ]; do
        case $(ps -o stat= -p "$1" 2> /dev/null) in '' | Z*) return 0 ;; esac
        sleep 0.1
        tries=$((tries + 1))
    done
    fail "process $1 still runs"
}

# appears FILE: within twenty seconds the file is there and not empty.
appears() {
    tries=0
    while [ ! -s "$1" ] && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
    [ -s "$1" ] || fail "no $1: $(cat err)"
}

# Programs that stand for gnuplot and for the tools of a script: they say who they are and wait.
waiting_program() {
    mkdir -p bin && printf '#!/bin/sh\necho $$ > "%s/pid"\nexec sleep 30\n' "$PWD" > "bin/$1" && chmod +x "bin/$1"
}

# signalled NAME COMMAND...: sent the signal while its child runs, the command ends with 130; the child and its guard are gone.
signalled() {
    signal=$1; shift
    rm -f pid
    PATH=$PWD/bin:$PATH "$@" > out 2> err &
    parent=$!
    appears pid || { kill -9 $parent; return 1; }
    guard=$(pgrep -P $parent)
    kill -"$signal" $parent
    ended $parent || { kill -9 $parent "$(cat pid)"; return 1; }
    wait $parent
    code=$?
    ended "$(cat pid)" && ended "$guard" || { kill -9 "$(cat pid)"; return 1; }
    [ "$signal" = KILL ] || [ $code = 130 ] || fail "$signal: exit $code: $(cat err)"
}

test_plot_ends_with_its_child() {
    waiting_program gnuplot
    exits 0 "$COSPEC" toy --objective ar --classes 2 --length 4 --tokens 2 -o t || return 1
    for s in TERM INT KILL; do signalled $s "$COSPEC" plot toy-spectra t/toy.csv -o "f-$s" || return 1; done
}

test_preparation_ends_with_its_child() {
    waiting_program awk && cp bin/awk bin/sh && sed -i '1s|.*|#!/bin/bash|' bin/sh
    [ -x /bin/bash ] || { skip preparation_ends_with_its_child "no bash to replace sh"; return 0; }
    export COSPEC_CACHE=$PWD/cache
    for s in TERM INT KILL; do signalled $s "$COSPEC" data prepare wordnet || return 1; done
}

# A shell takes note of a signal once the command that it waits for has ended: that hears of it too, and so does what is left of a pipe.
test_preparation_ends_with_its_tools() {
    waiting_program awk
    export COSPEC_CACHE=$PWD/cache
    for s in TERM INT KILL; do signalled $s "$COSPEC" data prepare wordnet || return 1; done
}

# The code of a child that a signal ended, and the reason of one that cannot run, pass the guard.
test_child_that_fails() {
    mkdir bin && printf '#!/bin/sh\nkill -SEGV $$\n' > bin/dpkg-query && chmod +x bin/dpkg-query
    export COSPEC_CACHE=$PWD/cache
    refuses 3 "dpkg-query: ended with signal 11" env PATH="$PWD/bin:$PATH" "$COSPEC" data prepare emoji || return 1
    env --ignore-signal=CHLD true 2> /dev/null && { refuses 3 "dpkg-query: ended with signal 11" env --ignore-signal=CHLD PATH="$PWD/bin:$PATH" "$COSPEC" data prepare emoji || return 1; }
    exits 0 "$COSPEC" toy --objective ar --classes 2 --length 4 --tokens 2 -o t || return 1
    refuses 3 "cannot run gnuplot: No such file or directory" env PATH="$PWD" "$COSPEC" plot toy-spectra t/toy.csv -o g
}

# A manifest that is a pipe is no manifest of this program, and nobody waits for its writer.
test_pipe_is_no_manifest() {
    mkdir -p o && mkfifo o/manifest.json
    refuses 2 "o/manifest.json exists; give --force to overwrite it" timeout -k 2 10 "$COSPEC" toy --objective ar --classes 2 --length 4 --tokens 2 -o o
    refuses 3 "o/manifest.json" timeout -k 2 10 "$COSPEC" svd o/manifest.json -k 1 || refuses 2 "o/manifest.json" timeout -k 2 10 "$COSPEC" svd o/manifest.json -k 1
}

# A step that trains writes a checkpoint before it ends.
test_study_ends_with_its_step() {
    small_corpus c.tsv
    train="train --corpus $PWD/c.tsv --objective ar --steps 20000 --width 16 --layers 1 --heads 1 --batch 2 --save-every 10000"
    printf '{"steps": [{"run": {"m": "%s"}}]}\n' "$train" > s.json
    printf '{{command m}}\n' > t.html
    "$COSPEC" reproduce --steps s.json --template t.html -o r > out 2> err &
    parent=$!
    appears r/m/manifest.json || { kill -9 $parent 2> /dev/null; return 1; }
    guard=$(pgrep -P $parent)
    child=$(pgrep -P "$guard")
    kill -TERM $parent
    ended $parent && ended "$child" && ended "$guard" || { kill -9 $parent "$child"; return 1; }
    wait $parent
    [ $? = 130 ] && says "interrupted in step m; run again with --resume" && ls r/m/checkpoint-* > /dev/null || fail "$(cat err r/m/stderr.txt)"
}

# Where a terminal closes, the shell sends SIGHUP, ends, and then the kernel sends it again.
test_closed_terminal() {
    small_corpus c.tsv
    env --default-signal=HUP "$COSPEC" train --corpus c.tsv --objective ar --steps 100000 --width 16 --layers 1 --heads 1 --batch 2 --log-every 1 -o d > out 2> err & pid=$!
    appears d/log.csv && until [ "$(wc -l < d/log.csv)" -gt 2 ] || ! kill -0 $pid; do sleep 0.05; done
    kill -HUP $pid; sleep 0.01; kill -HUP $pid 2> /dev/null; wait $pid; got=$?
    [ $got = 130 ] && says interrupted && ls d/checkpoint-* > /dev/null || fail "exit $got: $(head -c 200 err)"
}

# timeout(1) sends its signal to the process and to its group: twice within one step.
test_signal_twice() {
    small_corpus c.tsv
    "$COSPEC" train --corpus c.tsv --objective ar --steps 100 --width 384 --layers 4 --heads 4 --batch 64 --log-every 1 -o d > out 2> err & pid=$!
    until grep -q '^1,' d/log.csv 2> /dev/null || ! kill -0 $pid; do sleep 0.05; done
    kill -TERM $pid; sleep 0.02; kill -TERM $pid; wait $pid; got=$?
    [ $got = 130 ] && says "is kept, and --resume continues from it" || fail "exit $got: $(head -c 200 err)"
}

# A closed terminal and the end of processor time are interrupts too; with nohup the first is not.
test_other_signals() {
    long="toy --objective diverse-ar --t 1:400:1 --classes 2 --length 500 --tokens 2"
    for signal in HUP XCPU; do
        env --default-signal=HUP "$COSPEC" $long -o d > out 2> err & pid=$!
        sleep 0.5; kill -$signal $pid; wait $pid; got=$?
        [ $got = 130 ] && says interrupted && [ ! -e d/toy.json ] || { fail "$signal: exit $got: $(head -c 200 err)"; return 1; }
    done
    (ulimit -St 1; exec "$COSPEC" $long -o d > out 2> err); got=$?
    [ $got = 130 ] && says interrupted || { fail "a limit of processor time: exit $got: $(head -c 200 err)"; return 1; }
    (trap '' HUP; exec "$COSPEC" $long -o d > out 2> err) & pid=$!
    sleep 0.5; kill -HUP $pid; sleep 0.5
    kill -0 $pid || { fail "ended by a signal that is ignored"; return 1; }
    kill -TERM $pid; wait $pid
    [ $? = 130 ] || fail "no end"
}

# soon COMMAND...: interrupted after half a second, it ends within the next two.
soon() {
    timeout -s INT -k 2 0.5 "$COSPEC" "$@" > out 2> err
    soon_got=$?
    [ $soon_got = 124 ] && says interrupted || fail "'$*': exit $soon_got: $(head -c 200 err)"
}

test_interrupt_ends_soon() {
    small_corpus c.tsv
    exits 0 "$COSPEC" tokenize train --corpus c.tsv --vocab 300 -o t || return 1
    awk 'BEGIN { for (line = 0; line < 1000; ++line) { for (i = 0; i < 2000; ++i) printf "the cat number %d sat ", i * line; print "" } }' > long.txt
    soon data stats markov:states=4000,concentration=0.1,documents=4000 && soon data stats markov:states=400,documents=1000,length=20000 && soon data stats grammar:symbols=40,depth=1,classes=8 &&
        soon tokenize encode t/tokenizer.json long.txt
}

matrix() {
    awk 'BEGIN { srand(1); n = 60; print "%%MatrixMarket matrix coordinate real general"; print n, n, n * n
        for (i = 1; i <= n; ++i) for (j = 1; j <= n; ++j) print i, j, rand() }' > "$1"
}

test_little_address_space() {
    sanitized little_address_space && return
    matrix m.mtx
    (ulimit -v 100000; exits 3 timeout -s KILL 60 "$COSPEC" svd m.mtx -k 3 && says "the address space is limited to 97 MiB" && ! grep -q "give --threads" err) || fail "$(cat err)"
    # a limit that one thread fits in: what makes it one is said, and not what is so already
    (ulimit -v 300000; OPENBLAS_NUM_THREADS=1 exits 0 "$COSPEC" svd m.mtx -k 3 --threads 1 &&
        OPENBLAS_NUM_THREADS=1 exits 3 "$COSPEC" svd m.mtx -k 3 --threads 2 && says "needs 536 MiB; give --threads 1" &&
        OPENBLAS_NUM_THREADS=2 exits 3 timeout -s KILL 60 "$COSPEC" svd m.mtx -k 3 --threads 1 && says "336 MiB; set OPENBLAS_NUM_THREADS=1 and give --threads 1") || fail "$(cat err)"
}

test_little_stack() {
    small_corpus c.tsv
    for kib in 64 256; do
        (ulimit -s $kib; refuses 3 "the stack is limited to $kib KiB (ulimit -s), but 512 KiB are needed" "$COSPEC" connectivity --corpus c.tsv --context all --max-length 3 --stride 1 --compare ar) || return 1
    done
    (ulimit -s 512; exits 0 "$COSPEC" connectivity --corpus c.tsv --context all --max-length 3 --stride 1 --compare ar) || fail "$(cat err)"
}

test_no_threads() {
    [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null || { skip no_threads "needs root and setpriv, for a user without processes"; return 0; }
    matrix m.mtx
    setpriv --reuid 64123 --clear-groups env "$COSPEC" --version > out 2> err || { skip no_threads "another user cannot run the program"; return 0; }
    chmod 755 "$work" .
    exits 0 "$COSPEC" svd m.mtx -k 3 --csv && cut -d, -f1-3 out > all || return 1
    exits 0 timeout -s KILL 60 setpriv --reuid 64123 --clear-groups prlimit --nproc=1 "$COSPEC" svd m.mtx -k 3 --threads 4 --csv || return 1
    [ "$(wc -l < out)" = "$(wc -l < all)" ] && grep -q "pthread_create failed" err || fail "$(cat out)"
}

for name in other_signals closed_terminal signal_twice plot_ends_with_its_child preparation_ends_with_its_child preparation_ends_with_its_tools child_that_fails pipe_is_no_manifest study_ends_with_its_step interrupt_ends_soon little_address_space little_stack no_threads; do check "$name"; done
