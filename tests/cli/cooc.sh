# cospec cooc and data: matrices of small corpora, bad input, full disks, interrupts.
. tests/cli/lib.sh

cooc() { "$COSPEC" cooc "$@"; }

test_counts() {
    # Bigrams of two documents: "a b a", "a b": a->b twice, b->a once.
    printf 'x\ta b a\ny\ta b\n' > c.tsv
    exits 0 cooc --corpus c.tsv --objective ar --context nearest:1 --mtx --json -o d || return 1
    [ "$(number rows out)" = 2 ] && [ "$(number nonzeros out)" = 2 ] && near "$(number mass out)" 3 1e-12 || { fail "$(tr -d '\n ' < out)"; return 1; }
    for f in matrix.npz matrix.json matrix.mtx cooc.json manifest.json vocab.txt; do
        [ -f d/$f ] || { fail "$f is missing"; return 1; }
    done
    grep -v '^%' d/matrix.mtx | sed 1d | awk '{ print $3 }' | sort | tr '\n' ' ' > values
    [ "$(cat values)" = "1 2 " ] || { fail "values $(cat values)"; return 1; }
    exits 0 "$COSPEC" svd d -k all --json && [ "$(number components out)" = 2 ]
}

# Of "a b a", "a b" pairs (a, b) twice, (b, a) once; f(a) = 3/5, f(b) = 2/5, kept with sqrt(.15 / f) = .5 and .6124.
test_subsampled_pairs() {
    printf 'x\ta b a\ny\ta b\n' > c.tsv
    args="--corpus c.tsv --objective ar --context each:1:flat --mtx"
    # shellcheck disable=SC2086
    exits 0 cooc $args --subsample 0.15 --json -o d && near "$(number mass out)" 0.918558653543692 1e-12 && grep -q '"subsample": 0.1' d/matrix.json || { fail "${why:-$(cat out)}"; return 1; }
    grep -v '^%' d/matrix.mtx | sed 1d | awk '{ print $3 }' | sort > values
    near "$(sed -n 1p values)" 0.306186217847897 1e-14 && near "$(sed -n 2p values)" 0.612372435695794 1e-14 || { fail "$(cat values)"; return 1; }
    # shellcheck disable=SC2086
    exits 0 cooc $args --subsample 0.7 -o kept && exits 0 cooc $args -o all && grep -v '^%' all/matrix.mtx > a && grep -v '^%' kept/matrix.mtx | cmp -s - a || { fail "${why:-rare tokens are kept}"; return 1; }
    refuses 2 "subsampling needs a corpus and counts of pairs" cooc --corpus c.tsv --objective ar --context each:1 --subsample 0.1 -o e &&
        refuses 2 "--subsample: 1 is not in [1e-12, 0.999999]" cooc --corpus c.tsv --objective ar --context each:1:flat --subsample 1 -o e &&
        refuses 2 "subsampling needs a corpus" cooc --corpus markov:states=4,length=5 --population --objective ar --context each:1:flat --subsample 0.1 -o e
}

# A drawn plan of one event is kept with probability --share, once: 5 documents of 12 tokens, each drawn 400 times, have a mass of 55.
test_thinned_draws() {
    i=0
    while [ $i -lt 5 ]; do echo "a b c d e f g h a b c d" && i=$((i + 1)); done > c.txt
    for objective in ar 'diverse-ar(t=2)' 'offset-ar(offset-weights=mix:0.5)'; do
        exits 0 cooc --corpus c.txt --objective "$objective" --context all --draws 400 --share 0.25 --json -o kept --force &&
            near "$(number mass out)" 13.75 2 || { fail "$objective: ${why:-mass $(number mass out)}"; return 1; }
    done
}

test_any_memory_any_threads() {
    small_corpus c.tsv
    i=0
    while [ $i -lt 40 ]; do cat c.tsv; i=$((i + 1)); done > big.tsv
    args="--corpus big.tsv --objective masked --mask-ratio 0.3 --context each:5"
    # shellcheck disable=SC2086
    for how in "--threads 1" "--threads 2" "--threads 2 --memory 1M"; do
        exits 0 cooc $args $how --force -o d || return 1
        sha256sum < d/matrix.npz >> sums
    done
    [ "$(sort -u sums | wc -l)" = 1 ] || fail "$(cat sums)"
}

test_mask_ratio_is_unmasked() {
    small_corpus c.tsv
    exits 0 cooc --corpus c.tsv --objective masked --mask-ratio 0.5 --max-length 4 --stride 1 -o a &&
        exits 0 cooc --corpus c.tsv --objective masked --unmasked 2 --max-length 4 --stride 1 -o b &&
        cmp -s a/matrix.npz b/matrix.npz || fail "${why:-matrices differ}"
}

test_rounded_ratios_are_said() {
    printf 'x\ta b a\ny\ta b\n' > c.tsv
    exits 0 cooc --corpus c.tsv --objective masked --mask-ratio 0.2 -o d &&
        says "masked(mask-ratio=0.2): in 1 sequence of at most 2 tokens the ratio would mask no token or all" &&
        says "masked(mask-ratio=0.2): 40 % of the tokens are masked, not 20 %" || return 1
    # the default is that of training, and its rounding is said; a length where it is exact says nothing
    printf 'x\ta b a b b a\ny\ta b\n' > six.tsv
    exits 0 cooc --corpus six.tsv --objective masked --max-length 4 -o d --force && cp d/matrix.npz default.npz &&
        says "masked(mask-ratio=0.15): parameters that were not given are the defaults of train" &&
        exits 0 cooc --corpus six.tsv --objective masked --mask-ratio 0.15 --max-length 4 -o d --force && cmp -s d/matrix.npz default.npz &&
        ! grep -q 'not given' err && exits 0 cooc --corpus six.tsv --objective masked --mask-ratio 0.5 --max-length 4 -o d --force && ! grep -q 'of the tokens are masked' err || fail "${why:-$(cat err)}"
}

test_given_is_better_connected_never() {
    small_corpus c.tsv
    for position in blind given; do
        exits 0 cooc --corpus c.tsv --objective masked --unmasked 2 --max-length 4 --stride 1 --target-position $position -o $position &&
            exits 0 "$COSPEC" svd $position -k 5 --json || return 1
        number sum_sigma4 out >> sums
    done
    holds "$(tail -1 sums) > $(head -1 sums)"
}

# Six tokens: windows of 5 by 5 and pieces of 5 leave the last, windows of 2 by 3 the third and the sixth.
test_uncovered_tokens_are_noted() {
    printf 'aa bb cc dd ee ff\n' > c.txt
    for what in "5 5 1" "5 1 0" "2 3 2" "5 0 1" "0 0 0" "3 3 0"; do
        # shellcheck disable=SC2086
        set -- $what
        exits 0 cooc --corpus c.txt --objective ar --context nearest:1 --max-length $1 --stride $2 --force --json -o d &&
            [ "$(number uncovered_tokens out)" = $3 ] && [ "$(grep -c "^$3 of 6 tokens are not counted" err)" = $(($3 > 0)) ] || { fail "$what: $(cat err)"; return 1; }
        exits 0 "$COSPEC" cooc --corpus c.txt --objective ar --context nearest:1 --max-length $1 --stride $2 --dry-run --json &&
            [ "$(number uncovered_tokens out)" = $3 ] || { fail "$what, dry run"; return 1; }
    done
    small_corpus l.tsv
    exits 0 "$COSPEC" connectivity --corpus l.tsv --context all --max-length 5 --stride 5 --compare ar --jackknife 0 -k 2 --json &&
        [ "$(number uncovered_tokens out)" = "$(grep -o '[0-9]* of [0-9]* tokens are not counted' err | head -1 | cut -d' ' -f1)" ] &&
        [ "$(number uncovered_tokens out)" -gt 0 ] || fail "connectivity: ${why:-$(cat err)}"
}

test_draws() {
    small_corpus c.tsv
    exits 0 cooc --corpus c.tsv --objective masked --unmasked 4 --draws 1,4,16 --csv -o d || return 1
    [ -f d/draws-1/matrix.npz ] && [ -f d/draws-16/matrix.json ] && [ -f d/draws.csv ] || { fail "files are missing"; return 1; }
    head -1 out | grep -q '^draws,.*components,sum_sigma2,sum_sigma4,.*sigma' && cut -d, -f1 out | sort -un | tail -3 | tr '\n' ' ' | grep -q '1 4 16' || { fail "$(head -3 out)"; return 1; }
    refuses 2 "'x'" "$COSPEC" cooc --corpus c.tsv --objective ar --draws 1,x -o e
}

test_mistyped_contexts_get_a_suggestion() {
    refuses 2 "did you mean nearest:2?" "$COSPEC" cooc --corpus none.txt --objective ar --context neares:2 -o d
}

test_out_of_reach_is_said() {
    i=0; while [ $i -lt 64 ]; do printf 'w%s ' $((i % 7)); i=$((i + 1)); done > c.txt
    refuses 2 "--draws" "$COSPEC" cooc --corpus c.txt --tokenizer whitespace --objective masked --unmasked 30 -o d && [ ! -e d/matrix.json ]
}

test_dry_run() {
    small_corpus c.tsv
    exits 0 cooc --corpus c.tsv --objective ar --context nearest:2 --dry-run --json && grep -q contributions out && [ ! -e d ]
}

test_nearest_is_given() {
    small_corpus c.tsv
    exits 0 cooc --corpus c.tsv --objective ar --context nearest:1 --target-position blind -o d && says "relative to the target" || return 1
    for position in blind given; do
        exits 0 cooc --corpus c.tsv --objective ar --context nearest:1 --target-position $position --force -o d || return 1
        grep -q '"target_position": "given"' d/cooc.json && grep -q '"target_position": "given"' d/matrix.json || { fail "$position: not given"; return 1; }
        exits 0 "$COSPEC" svd d -k 2 --json && grep -q '"target_position": "given"' out || { fail "svd: not given"; return 1; }
        exits 0 "$COSPEC" connectivity d --csv && grep -q '^d,given' out || { fail "connectivity: $(head -2 out)"; return 1; }
    done
}

# A build is described in the same form everywhere, an alias by its own name.
test_objective_and_context_have_one_form() {
    small_corpus c.tsv
    exits 0 cooc --corpus c.tsv --objective masked --mask-ratio 0.3 --context window:3 -o m && exits 0 "$COSPEC" svd m -k 2 -o s &&
        exits 0 "$COSPEC" density m -o d && exits 0 "$COSPEC" angles m m -k 2 -o a && exits 0 "$COSPEC" toy --objective masked --mask-ratio 0.3 --classes 2 --length 8 --tokens 2 -o t || return 1
    for f in m/matrix.json m/cooc.json s/svd.json d/density.json a/angles.json t/toy.json; do
        grep -q '"objective": "masked(mask-ratio=0.3)"' $f || { fail "$f: $(grep -A 2 objective $f)"; return 1; }
        [ $f = t/toy.json ] || { grep -q '"context": "each:3"' $f && grep -q '"target_position": "blind"' $f; } || { fail "$f: $(grep -A 2 context $f)"; return 1; }
    done
    grep -q ',masked(mask-ratio=0.3),each:3,blind,' m/cooc.csv && grep -q '^masked(mask-ratio=0.3),2,8,2,' t/toy.csv || fail "$(cat m/cooc.csv t/toy.csv)"
}

test_sampling_is_said() {
    small_corpus c.tsv
    for context in nearest:2 each:2 document; do
        exits 0 cooc --corpus c.tsv --objective masked --unmasked 4 --context $context --draws 2 --force -o d && says "exact weights" || return 1
        grep -q '"sampled": true' d/matrix.json && grep -q '"sampled": true' d/cooc.json || { fail "$context: not called sampled"; return 1; }
    done
    exits 0 cooc --corpus c.tsv --objective masked --unmasked 2 --max-length 4 --stride 1 --draws 2 --force -o d && says "exact weights" &&
        exits 0 cooc --corpus c.tsv --objective ar --context nearest:2 --force -o d && grep -q '"sampled": false' d/matrix.json || return 1
    i=0; while [ $i -lt 64 ]; do printf 'w%s ' $((i % 7)); i=$((i + 1)); done > c.txt
    exits 0 cooc --corpus c.txt --tokenizer whitespace --objective masked --unmasked 30 --draws 2 --force -o d && ! grep -q "exact weights" err || fail "out of reach, yet: $(cat err)"
}

test_plan_files() {
    # The example of docs/reference/plan-files.md: 2/3 x 3 + 1/3 x 2.5 predicted tokens a sequence of 4.
    printf '{"plans": [{"probability": 2, "groups": [0, 1, 2, 1]},\n{"probability": 1, "groups": [1, 0, 0, 2], "weights": [2, 0, 0, 0.5]},\n{"probability": 1, "groups": [0, 0, 1]}]}\n' > p.json
    printf 'a b c d\n' > c.txt
    exits 0 cooc --corpus c.txt --objective file --plan-file p.json --json -o d && near "$(number mass out)" 2.8333333333333335 1e-12 && [ "$(number nonzeros out)" = 5 ] || { fail "$(tr -d '\n ' < out)"; return 1; }
    printf 'a b c d e\na b\n' > c.txt
    refuses 3 "p.json has plans of length 4, 3, but no sequence has such a length (they have 2 to 5 tokens); give --max-length 4 --stride 1" "$COSPEC" cooc --corpus c.txt --objective file --plan-file p.json -o e
}

test_bad_corpora() {
    run="--objective ar --context nearest:1 -o d"
    # shellcheck disable=SC2086
    {
        refuses 3 "nowhere.tsv" "$COSPEC" cooc --corpus nowhere.tsv $run || return 1
        : > c.tsv; refuses 3 "c.tsv" "$COSPEC" cooc --corpus c.tsv $run || return 1
        printf 'a\tone two\nno label here\n' > c.tsv; refuses 3 "c.tsv:2" "$COSPEC" cooc --corpus c.tsv $run || return 1
        printf 'a\tone two\nb\tbad \377 byte\n' > c.tsv; refuses 3 "c.tsv:2" "$COSPEC" cooc --corpus c.tsv $run || return 1
        printf '{"text": "a b"}\n{' > c.jsonl
        refuses 3 "c.jsonl:2:1: syntax error: string or '}' expected near end of file; each line must be one JSON object with a string under \"text\"" "$COSPEC" cooc --corpus c.jsonl $run || return 1
        printf 'a\tone\n' > c.tsv; refuses 3 "" "$COSPEC" cooc --corpus c.tsv $run || refuses 2 "" "$COSPEC" cooc --corpus c.tsv $run || return 1
    }
    why=
    [ ! -e d/matrix.json ] || fail "a matrix was written"
}

test_bad_options() {
    small_corpus c.tsv
    refuses 2 "cooc needs -o DIR" "$COSPEC" cooc --corpus c.tsv --objective ar &&
        refuses 2 "cooc needs --corpus" "$COSPEC" cooc --objective ar -o d &&
        refuses 2 "cooc needs --objective" "$COSPEC" cooc --corpus c.tsv -o d &&
        refuses 2 "nearst:2" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearst:2 -o d &&
        refuses 2 "nearest:0" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:0 -o d &&
        refuses 2 "--memory 5K is below 1M" "$COSPEC" cooc --corpus c.tsv --objective ar --memory 5K -o d &&
        refuses 2 "--stride 1 needs --max-length" "$COSPEC" cooc --corpus c.tsv --objective ar --stride 1 -o d &&
        refuses 2 "--vocab" "$COSPEC" cooc --corpus c.tsv --objective ar --vocab 0 -o d &&
        refuses 2 "--t does not apply to ar" "$COSPEC" cooc --corpus c.tsv --objective ar --t 3 -o d &&
        refuses 2 "1:3:1" "$COSPEC" cooc --corpus c.tsv --objective diverse-ar --t 1:3:1 -o d
}

test_never_overwrites() {
    small_corpus c.tsv
    exits 0 cooc --corpus c.tsv --objective ar --context nearest:1 -o d || return 1
    sha256sum < d/matrix.npz > before
    refuses 2 "matrix.json exists; give --force to overwrite it" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 -o d || return 1
    sha256sum < d/matrix.npz | cmp -s - before || fail "the matrix changed"
}

test_full_disk() {
    small_corpus c.tsv
    (ulimit -f 2; "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 -o d > out 2> err; echo $? > code)
    [ "$(cat code)" = 3 ] || { fail "exit $(cat code): $(cat err)"; return 1; }
    [ ! -e d/matrix.json ] && [ ! -e d/matrix.npz ] || { fail "half written: $(ls d)"; return 1; }
    ls -A d 2> /dev/null | grep -q 'part\|tmp' && { fail "left behind: $(ls -A d)"; return 1; }
    says "File too large"
}

# Runs that will not fit on the scratch disk are refused before it is full, with what to do.
test_small_scratch_disk() {
    random_words 400 400 7 > c.txt
    mkdir scratch
    build="--corpus c.txt --tokenizer whitespace --objective masked --mask-ratio 0.5 --context each:10 --memory 1M --scratch scratch"
    mount -t tmpfs -o size=4M none scratch 2> /dev/null || { skip small_scratch_disk "no tmpfs can be mounted"; return 0; }
    # shellcheck disable=SC2086
    refuses 3 "GB, but its file system has only 0.00419 GB free; give --scratch DIR on a larger disk" "$COSPEC" cooc $build -o d || { umount scratch; return 1; }
    exits 0 cooc $build --dry-run && says "GB, but scratch has only 0.00419 GB free; a larger --memory needs fewer of them" || { umount scratch; fail "${why:-$(cat err)}"; return 1; }
    umount scratch
    # shellcheck disable=SC2086
    exits 0 cooc $build -o d
}

# Files of a matrix that will not fit on the disk are refused before it is counted: without its
# first note and without a checkpoint. The space of a matrix that is overwritten counts as free.
test_small_output_disk() {
    random_words 400 400 7 > c.txt
    mkdir disk
    mount -t tmpfs -o size=4M none disk 2> /dev/null || { skip small_output_disk "no tmpfs can be mounted"; return 0; }
    build="--corpus c.txt --tokenizer whitespace --objective masked --mask-ratio 0.5 --memory 1M"
    full_disk $build; refused=$?
    umount disk
    return $refused
}

full_disk() {
    refuses 3 "disk/a/b: by a low estimate, the files of the matrix take 0.00" "$COSPEC" cooc "$@" --context each:10 -o disk/a/b &&
        says "but its file system has only 0.00419 GB free; give -o DIR on a larger disk, a larger --tail or a smaller corpus" && ! grep -q "counting by sorted records" err && [ ! -e disk/a/b/checkpoint ] || return 1
    exits 0 "$COSPEC" cooc "$@" --context each:10 --dry-run -o disk/d && says "the files of the matrix may take up to 0.00627 GB, but disk/d has only 0.00419 GB free" || return 1
    exits 0 "$COSPEC" cooc "$@" --context each:2 -o disk/d && exits 0 "$COSPEC" cooc "$@" --context each:2 --force -o disk/d || return 1
    # what is left is too little for a second, and the first stays
    refuses 3 "the files of the matrix take 0.00" "$COSPEC" cooc "$@" --context each:2 -o disk/e && [ -e disk/d/matrix.npz ]
}

test_no_permission() {
    small_corpus c.tsv
    refuses 3 "/proc/" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o /proc/cospec-test
}

# The memory that counting row by row needs is reported where --memory alone rules it out, and is enough.
test_lacking_memory() {
    random_words 400 400 7 > c.txt
    build="--corpus c.txt --tokenizer whitespace --objective ar --context each:4"
    exits 0 "$COSPEC" cooc $build --memory 1M -o less && need=$(sed -n 's/.*counting by sorted records; --memory \([0-9]*M\) would allow counting row by row.*/\1/p' err) && [ -n "$need" ] || { fail "${why:-no note: $(cat err)}"; return 1; }
    exits 0 "$COSPEC" cooc $build --memory "$need" -o enough && ! says "sorted records" || { fail "${why:-$need is not enough}"; return 1; }
    exits 0 "$COSPEC" cooc $build --memory "$((${need%M} - 1))M" -o short && says "; --memory $need would allow" || { fail "${why:-less than $need is enough}"; return 1; }
    cmp -s less/matrix.npz enough/matrix.npz || fail "other matrices"
}

# Interrupts a build once it has spilled runs: the runs go, a checkpoint stays, and --resume ends with the
# matrix of a build that was left alone.
test_interrupt() {
    random_words 1500 400 9 > big.txt
    mkdir scratch
    "$COSPEC" cooc --corpus big.txt --tokenizer whitespace --objective masked --mask-ratio 0.5 --context each:10 --memory 8M --scratch scratch -o d > out 2> err &
    pid=$!
    tries=0
    # The runs are in a file that is unlinked at once.
    until ls -l /proc/$pid/fd 2> /dev/null | grep -q scratch || [ $tries = 300 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -INT $pid
    wait $pid
    got=$?
    [ $got = 130 ] || { fail "exit $got: $(head -c 200 err)"; return 1; }
    [ -z "$(ls -A scratch)" ] || { fail "runs stay: $(ls scratch)"; return 1; }
    says "kept in d/checkpoint" && [ "$(ls -A d)" = checkpoint ] || { fail "${why:-half written: $(ls -A d)}"; return 1; }
    args="--corpus big.txt --tokenizer whitespace --objective masked --mask-ratio 0.5 -o d"
    # shellcheck disable=SC2086
    {
        refuses 2 "--resume to continue" "$COSPEC" cooc $args --context each:10 || return 1
        refuses 2 'belongs to a build with context "each:10", not "each:9"; give --force' "$COSPEC" cooc $args --context each:9 --resume || return 1
        # one of another version is refused with it
        cp d/checkpoint/checkpoint.json kept && sed -i 's/"version": 2/"version": 1/; /"program"/d' d/checkpoint/checkpoint.json
        refuses 2 "d/checkpoint/checkpoint.json is a checkpoint of version 1, written by cospec 0.2.0 or earlier" "$COSPEC" cooc $args --context each:10 --resume && mv kept d/checkpoint/checkpoint.json || return 1
        exits 0 cooc $args --context each:10 --threads 1 --resume || return 1
        [ ! -e d/checkpoint ] || { fail "the checkpoint stays"; return 1; }
        mv d resumed
        exits 0 cooc $args --context each:10 || return 1
    }
    # one with runs on disk, the other without: nothing of that is in a file
    for f in matrix.npz rows.npz matrix.json cooc.csv cooc.json; do
        cmp -s d/$f resumed/$f || { fail "$f differs"; return 1; }
    done
}

# now: milliseconds.
now() { date +%s%3N; }

# A signal while the matrix is written ends it within two seconds; what it was counted from is kept, and gives the same matrix.
test_interrupt_while_writing() {
    random_words 3000 100 9 > big.txt
    set -- --corpus big.txt --tokenizer whitespace --objective ar --context nearest:3 --mtx -o d
    for s in INT TERM; do
        late=0 got=0
        while [ $got = 0 ] && [ $late -lt 10 ]; do # a busy machine may see the file when it is whole already
            rm -rf d
            "$COSPEC" cooc "$@" > out 2> err & pid=$!
            tries=0
            until ls d/matrix.*.partial > /dev/null 2>&1 || [ -e d/matrix.json ] || [ $tries = 3000 ]; do sleep 0.01; tries=$((tries + 1)); done
            sent=$(now)
            kill -$s $pid 2> /dev/null; wait $pid; got=$?
            took=$(($(now) - sent))
            late=$((late + 1))
        done
        [ $got = 130 ] && [ $took -lt 2000 ] && [ ! -s out ] || { fail "$s: exit $got after $took ms: $(head -c 200 err)"; return 1; }
        says "kept in d/checkpoint" && [ "$(ls -A d)" = checkpoint ] || { fail "$s: ${why:-left $(ls -A d)}"; return 1; }
        exits 0 "$COSPEC" cooc "$@" --resume && [ ! -e d/checkpoint ] || return 1
        [ $s = INT ] && { mv d first; continue; }
        cmp -s d/matrix.npz first/matrix.npz || { fail "other matrices"; return 1; }
    done
    # windows that are counted row by row leave nothing
    set -- --corpus big.txt --tokenizer whitespace --objective ar --context each:20 --mtx -o d
    late=0 got=0
    while [ $got = 0 ] && [ $late -lt 10 ]; do
        rm -rf d
        "$COSPEC" cooc "$@" > out 2> err & pid=$!
        tries=0
        until ls d/matrix.*.partial > /dev/null 2>&1 || [ -e d/matrix.json ] || [ $tries = 3000 ]; do sleep 0.01; tries=$((tries + 1)); done
        kill -INT $pid 2> /dev/null; wait $pid; got=$?
        late=$((late + 1))
    done
    [ $got = 130 ] && says interrupted && [ -z "$(ls -A d 2> /dev/null)" ] || { fail "exit $got, left $(ls -A d): $(head -c 200 err)"; return 1; }
}

test_interrupted_sweep() {
    "$COSPEC" toy --objective diverse-ar --t 1:400:1 --classes 2 --length 500 --tokens 2 -o d > out 2> err &
    pid=$! tries=0
    # a signal before the handler is there (bit 14 of SigCgt) ends any program
    until grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$pid/status 2> /dev/null || [ $tries = 300 ]; do sleep 0.1; tries=$((tries + 1)); done
    sleep 1
    kill -TERM $pid
    wait $pid
    got=$?
    [ $got = 130 ] && says interrupted && [ ! -s out ] && [ ! -e d/toy.json ] || fail "exit $got: $(head -c 200 err)"
}

test_data() {
    exits 0 "$COSPEC" data list --csv && grep -q '^wordnet,' out && exits 0 "$COSPEC" data list --json && grep -q '"gcide"' out || return 1
    small_corpus c.tsv
    printf 'a\tone two one\n' > one.tsv
    exits 0 "$COSPEC" data stats one.tsv && says "1 document, 3 tokens, 2 distinct words, 0 tokens unknown, 0 documents dropped" || return 1
    exits 0 "$COSPEC" data stats c.tsv --json || return 1
    [ "$(number documents out)" = 80 ] && [ "$(number labels out)" = 2 ] || { fail "$(tr -d '\n ' < out)"; return 1; }
    mkdir -p dir/a dir/b && echo "one two" > dir/a/1.txt && echo "three four five" > dir/b/1.txt
    exits 0 "$COSPEC" data stats dir --json && [ "$(number documents out)" = 2 ] && [ "$(number tokens out)" = 5 ] || return 1
    refuses 2 "unknown action 'show' (list, prepare, stats)" "$COSPEC" data show && refuses 2 "one NAME" "$COSPEC" data stats &&
        refuses 2 "--vocab does not apply" "$COSPEC" data list --vocab 3 && refuses 2 "wordnt" "$COSPEC" data prepare wordnt
}

run_tests
