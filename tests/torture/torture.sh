#!/bin/sh
# Commands under faults: `torture.sh [--case NAME] [--fault NAME] [--seed N] [--trials N] [--keep DIR]` (make torture).
#
# A trial runs a command (--case) under one fault, drawn by its seed, and asks that
#   - it ends within a minute with the exit code of an undisturbed run, 3, or 130 where it was interrupted, and says why;
#   - every file that it leaves is whole: the bytes of the undisturbed run, except for files that --resume continues from;
#   - the same command with --resume, or once more where there is none, ends as the undisturbed run with its bytes.
# Only the existence is checked of files that differ between two undisturbed runs (times). A failure prints the line that repeats the trial.
set -u
: "${COSPEC:?}" "${TORTURE:?}" # the program; the folder of preload.so
cases="toy cooc spill svd rank connectivity train finetune features perplexity tokenize reproduce images vision reconstruct plot gzip listed published rerun"
faults="malloc malloc-on short write open rename sync mmap read stat list kill interrupt as fsize nofile stack disk two pipe"
only_case= only_fault= seed=$(date +%s) trials=100 keep=
while [ $# -gt 0 ]; do
    case $1 in
    --case) only_case=$2 ;; --fault) only_fault=$2 ;; --seed) seed=$2 ;; --trials) trials=$2 ;; --keep) keep=$2 ;;
    *) echo "torture: no option $1" >&2; exit 2 ;;
    esac
    shift 2
done
[ -z "$only_case" ] || cases=$only_case
[ -z "$only_fault" ] || faults=$only_fault
kept=$PWD/tests/fuzz/regressions/picture golden=$PWD/tests/golden/models/gpt_bert
work=$(mktemp -d)
trap 'umount "$work/disk" 2> /dev/null; [ -n "$keep" ] && cp -r "$work" "$keep"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/disk" "$work/tmp"
export LC_ALL=C.UTF-8 TMPDIR="$work/tmp" COSPEC_CACHE="$work/cache" OPENBLAS_NUM_THREADS=2
cd "$work" || exit 1

# --- the cases ---------------------------------------------------------------------------------------------------------------------

i=0
while [ $i -lt 30 ]; do
    printf 'animal\tthe cat number %d sat on the mat and the dog ran away\nplant\ta tree number %d grows in the wood and the leaf falls down\n' $((i % 3)) $((i % 4))
    i=$((i + 1))
done > c.tsv
cat > s.json <<'J'
{"steps": [{"about": "T", "run": {"a": "toy --objective ar --classes 2 --length 4 --tokens 2", "b": "toy --objective masked --unmasked 1 --classes 2 --length 4 --tokens 2"}}],
 "claims": {"c": {"source": "S", "says": "-", "scope": "-", "left": {"label": "l", "file": "a/toy.csv", "value": "multiplicity where=index:1", "exact": true}, "want": ">", "right": 1}}}
J
echo '<p>{{scale}} {{table a/toy.csv}} {{claims}}' > t.html
# Images as they are: of several programs, one turned by its EXIF, one JPEG without its end, and files that are none.
mkdir -p pics/train/a pics/train/b pics/val/a
cp "$kept"/ok-turned.png "$kept"/ok-no-end.jpg "$kept"/ok.gif pics/train/a && cp "$kept"/ok-turned.webp "$kept"/ok-lzw.tiff "$kept"/ok-palette.bmp pics/train/b &&
    cp "$kept"/ok.bmp "$kept"/ok-turned.tiff pics/val/a && echo x > pics/train/Thumbs.db || exit 1
printf '%%%%MatrixMarket matrix coordinate unsigned-integer symmetric\n %% blank\n5 5 6\n1 1 3\n1 2 1\n2 2 3\n3 3 2\n4 4 1\n4 5 1\n' | gzip > a.mtx
printf 'tokens,loss,eval_loss\n1000000,5,5.1\n2000000,4,4.2\n' > a.csv
small="--layers 1 --width 16 --heads 2 --batch 4 --max-length 8"
arguments() {
    case $1 in
    toy) echo "toy --objective masked --unmasked 2 --classes 3 --length 4 --tokens 2" ;;
    cooc) echo "cooc --corpus c.tsv --objective ar --context nearest:2 --mtx" ;;
    spill) echo "cooc --corpus c.tsv --objective masked --unmasked 3 --context all --max-length 9 --memory 1M" ;;
    svd) echo "svd m -k 3 --vectors" ;;
    rank) echo "rank f/layer-0.npy f/layer-1.npy" ;;
    connectivity) echo "connectivity --corpus c.tsv --context all --max-length 3 --stride 1 --compare ar --compare masked:unmasked=1 --jackknife 4 -k 2" ;;
    train) echo "train --corpus c.tsv --objective masked $small --steps 12 --save-every 3 --eval-every 4" ;;
    finetune) echo "finetune model c.tsv c.tsv --epochs 1 --seeds 2 --save-model" ;;
    features) echo "features model c.tsv --layers all" ;;
    perplexity) echo "perplexity model c.tsv" ;;
    tokenize) echo "tokenize train --corpus c.tsv --vocab 280" ;;
    reproduce) echo "reproduce --steps s.json --template t.html" ;;
    images) echo "train --corpus pics --size 8x8 --image-memory 1 --arch vit --patch 4 --objective masked --mask-ratio 0.5 --layers 1 --width 16 --heads 2 --batch 4 --steps 6 --save-every 3" ;;
    vision) echo "features vit pics" ;;
    reconstruct) echo "reconstruct vit pics/train pics/val --mask-ratio 0.5" ;;
    plot) echo "plot training a.csv" ;;
    gzip) echo "svd a.mtx -k 2" ;;
    listed) echo "tokenize stats listed --corpus c.tsv" ;;
    published) echo "verify-model $golden $golden/reference.npz" ;;
    rerun) echo "rerun ran/manifest.json" ;;
    *) echo "torture: no case $1" >&2; exit 2 ;;
    esac
}
resume() { "$COSPEC" $(arguments "$1" | cut -d ' ' -f 1) --help | grep -o -e '--resume' | head -1; }

# --- undisturbed runs --------------------------------------------------------------------------------------------------------------

list() { (cd "$1" 2> /dev/null && find . -type f | sort); }

reference() {
    for turn in 1 2; do
        [ "$1 $turn" != "plot 2" ] || sleep 1 # a PDF has the second of its drawing
        began=$(date +%s%N)
        # shellcheck disable=SC2046
        TORTURE_COUNT=$work/$1.count LD_PRELOAD=$TORTURE/preload.so "$COSPEC" $(arguments "$1") -o "ref-$1-$turn" > /dev/null 2> ref.err
        echo $? > "$1.code"
        echo $((($(date +%s%N) - began) / 1000)) > "$1.us"
        [ "$(cat "$1.code")" -le 1 ] || { echo "not ok $1 undisturbed: $(cat ref.err)"; exit 1; }
    done
    list "ref-$1-1" > "$1.files"
    while read -r f; do cmp -s "ref-$1-1/$f" "ref-$1-2/$f" || echo "$f"; done < "$1.files" > "$1.timed"
    # shellcheck disable=SC2046
    strace -f -qq -o "$1.calls" "$COSPEC" $(arguments "$1") -o "ref-$1-3" > /dev/null 2>&1
    rm -rf "ref-$1-3"
}

# calls FILE SYSCALLS: how many of these calls the process with the most of them makes, by its trace; at least 1.
calls() { awk -v names=",$2," '{ split($2, call, "("); if (index(names, "," call[1] ",")) if (++n[$1] > most) most = n[$1] } END { print (most > 1 ? most : 1) }' "$1"; }

"$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 -o m > /dev/null 2>&1 &&
    "$COSPEC" train --corpus c.tsv --objective masked $small --steps 3 -o model > /dev/null 2>&1 &&
    "$COSPEC" features model c.tsv --layers all -o f > /dev/null 2>&1 &&
    "$COSPEC" $(arguments images | sed 's/--steps 6/--steps 2/') -o vit > /dev/null 2>&1 &&
    "$COSPEC" $(arguments toy) -o ran > /dev/null 2>&1 && cp -r model listed &&
    echo '{"mask_token": "<mask>", "pad_token": {"content": "<pad>", "lstrip": true}}' > listed/special_tokens_map.json &&
    echo '{"<mask>": 4, "the": 300}' > listed/added_tokens.json && rm listed/manifest.json listed/tokenizer_config.json || { echo "not ok: the inputs cannot be made"; exit 1; }
strace -f -qq -o start.calls "$COSPEC" --version > /dev/null 2>&1 # what the loader does
for c in $cases; do reference "$c"; done

# --- a trial -----------------------------------------------------------------------------------------------------------------------

# draw LOW HIGH: a number of the trial's own, by its seed and how many were drawn, which a file counts: most draws are in a subshell.
draw() {
    read -r drawn < "$work/drawn"; drawn=$((drawn + 1)); echo $drawn > "$work/drawn"
    hash=$(echo "$seed $drawn" | sha256sum) # awk's numbers of neighbouring seeds go along with each other
    echo $(($1 + 0x$(expr substr "$hash" 1 12) % ($2 - $1 + 1)))
}
pick() { set -- $*; eval echo "\${$(draw 1 $#)}"; }

# Files that a stopped run may leave in addition to whole files.
unfinished() {
    case $1 in
    ./manifest.json|./.cospec.lock|*.partial|./checkpoint*|./runs/*|./log.csv|./unfinished.json|./losses.csv|*/stderr.txt|*/stdout.txt|*/manifest.json|*/.cospec.lock|./partial/*) return 0 ;;
    esac
    return 1
}

whole() { # DIR CASE: every file is the reference's; prints the first that is not
    list "$1" | while read -r f; do
        if unfinished "$f" || grep -qxF "$f" "$2.timed" || cmp -s "$1/$f" "ref-$2-1/$f"; then continue; fi
        echo "$f"; break
    done
}

same() { # DIR CASE: the files of the reference and no others; prints the first difference
    list "$1" | grep -v '/checkpoint-\|\.cospec\.lock' | diff - "$work/$2.plain" | sed -n 2p
    while read -r f; do
        grep -qxF "$f" "$2.timed" || cmp -s "$1/$f" "ref-$2-1/$f" || { echo "$f"; break; }
    done < "$2.files"
}

run() { timeout -s KILL 60 "$@" > out 2> err < /dev/null; code=$?; }

# The steps of a study that was killed hear of it and end; until then their folders are taken.
settle() {
    for p in /proc/[0-9]*; do
        while [ "$p/cwd" -ef "$work" ] && [ "$p/exe" -ef "$COSPEC" ]; do sleep 0.02; done
    done
}

# Runs the command under the fault into $dir; leaves its exit code in `code`, and what may come in `allowed`.
disturbed() {
    allowed="$(cat "$1.code") 3"
    count=$(cat "$1.count")
    set -- "$1" "$2" "$COSPEC" $(arguments "$1") -o "$dir"
    c=$1 fault=$2
    shift 2
    case $fault in
    malloc) what="allocation $(draw 1 "$count") of $count"; n=${what#allocation }; run env LD_PRELOAD="$TORTURE/preload.so" TORTURE_ALLOC="${n%% *}" "$@" ;;
    malloc-on) what="allocations from $(draw 1 "$count") of $count"; n=${what#allocations from }; run env LD_PRELOAD="$TORTURE/preload.so" TORTURE_ALLOC="${n%% *}" TORTURE_ALLOC_ON=1 "$@" ;;
    short) what="short reads and writes" allowed=$(cat "$c.code"); run env LD_PRELOAD="$TORTURE/preload.so" TORTURE_SHORT=1 "$@" ;;
    write) inject_any write,pwrite64,writev "$(pick ENOSPC EIO EDQUOT)" "$@" ;;
    open) inject_any openat "$(pick EMFILE EACCES ENOSPC EIO)" "$@" ;;
    rename) inject_any rename,renameat,renameat2 "$(pick EIO ENOSPC)" "$@" ;;
    sync) inject_any fsync,fdatasync "$(pick EIO ENOSPC)" "$@" ;;
    mmap) inject_any mmap,mremap ENOMEM "$@" ;;
    read) inject_any read,pread64 EIO "$@" ;;
    stat) inject_any newfstatat,fstat,lstat,stat,statx,access,faccessat2 "$(pick EIO EACCES)" "$@" ;;
    list)
        [ "$c" != plot ] || { skipped="gnuplot draws with other fonts where it finds none"; return; }
        inject_any getdents64 EIO "$@" ;;
    pipe)
        what="a reader that leaves" allowed=$(cat "$c.code")
        { timeout -s KILL 60 "$@" 2> err < /dev/null; echo $? > code; } | true
        code=$(cat code) ;;
    kill|interrupt)
        [ $fault = kill ] && signal=KILL allowed="$allowed 137" || signal=$(pick INT TERM HUP XCPU) allowed="$allowed 130"
        if [ $fault = kill ] && [ "$(draw 1 2)" = 1 ]; then # where files change: those moments are short
            inject "$(pick rename,renameat,renameat2 fsync,fdatasync mkdir,rmdir,unlink,unlinkat openat,write)" signal=KILL "$(draw 1 "$(pick 3 12 40)")" "$@"
            [ -z "$skipped" ] && return
            skipped=
        fi
        us=$(cat "$c.us") # of the undisturbed run
        what="SIG$signal after $(draw 0 $((us + us / 10))) us"; us=${what#*after }; us=${us% us}
        pause=$(awk -v u="$us" 'BEGIN { print u / 1e6 }')
        "$@" > out 2> err < /dev/null &
        pid=$!
        sleep "$pause"
        command kill -$signal $pid 2> /dev/null
        wait $pid 2> /dev/null
        code=$?
        case $code in 129|130|143|152) [ -d "$dir" ] || grep -q . err || code=137 allowed=137 ;; esac ;; # before main()
    as) what="address space of $(draw 60 900) MB"; n=${what#address space of }; run sh -c 'ulimit -v '"$((${n% MB} * 1024))"'; exec "$@"' sh "$@"; allowed="$allowed 127" ;;
    fsize) what="files of at most $(draw 1 12) blocks"; n=${what#files of at most }; run sh -c 'ulimit -f '"${n% blocks}"'; exec "$@"' sh "$@" ;;
    nofile) what="at most $(draw 3 24) open files"; n=${what#at most }; run sh -c 'ulimit -n '"${n% open files}"'; exec "$@"' sh "$@"; allowed="$allowed 127" ;;
    stack) what="a stack of $(draw 32 1024) KiB"; n=${what#a stack of }; run sh -c 'ulimit -s '"${n% KiB}"'; exec "$@"' sh "$@" ;;
    disk)
        what="a disk of $(draw 1 60) pages"; n=${what#a disk of }
        mount -t tmpfs -o size=$((${n% pages} * 4096)) none "$work/disk" 2> /dev/null || { skipped="no tmpfs can be mounted"; return; }
        mkdir "$work/disk/r"; rm -rf "$dir"; ln -s "$work/disk/r" "$dir"
        run "$@" ;;
    two)
        what="two writers"
        "$@" > out2 2> err2 < /dev/null &
        pid=$!
        sleep "$(awk -v m="$(draw 0 60)" 'BEGIN { print m / 1000 }')"
        run "$@"
        wait $pid; other=$?
        allowed="$allowed 2"
        case "$code $other" in
        "0 0"|"1 1") ;; # one after the other cannot be: the second finds the files of the first
        "0 "[23]|"1 "[23]) cat err2 >> err ;;
        [23]" 0"|[23]" 1") ;;
        *) reason="two writers end with $code and $other" ;;
        esac ;;
    esac
}

# inject_any SYSCALLS ERROR COMMAND...: one of the calls that the undisturbed run makes, but not the loader.
inject_any() {
    these=$1 error=$2; shift 2
    first=$(calls start.calls "$these") last=$(calls "$c.calls" "$these")
    inject "$these" "error=$error" "$(draw "$((first < last ? first : last))" "$last")" "$@"
}

inject() { # SYSCALLS WHAT N COMMAND...: the N-th of these calls of a thread fails, or is its end
    what="call $3 of $1: $2"
    calls=$1 happens=$2 n=$3; shift 3
    command -v strace > /dev/null || { skipped="no strace"; return; }
    run strace -f -qq -o "$work/trace" -e "trace=$calls" -e "inject=$calls:$happens:when=$n" "$@"
    allowed="$allowed 127" # of the loader
}

trial() {
    dir=run-$1 skipped= reason= what=
    echo 10 > "$work/drawn"
    rm -rf "$dir" "$work/trace"
    : > err # a signal may come before the shell opens it
    disturbed "$1" "$2"
    settle
    if [ -n "$skipped" ]; then echo "skip $1 $2: $skipped"; return 0; fi
    if [ -z "$reason" ]; then
        case " $allowed " in *" $code "*) ;; *) reason="exit code $code" ;; esac
    fi
    if [ -z "$reason" ] && [ "$code" != "$(cat "$1.code")" ] && [ "$code" != 137 ] && ! grep -q . err &&
        ! grep -qs ' write(2, .*(INJECTED)$' "$work/trace"; then reason="exit code $code without a reason"; fi # or the reason itself was lost
    # Where OpenBLAS gets fewer threads its last bits are others.
    if grep -q blas_thread_init err; then echo "fewer $1 $2: OpenBLAS has fewer threads"; return 0; fi
    if [ -z "$reason" ] && [ -d "$dir" ]; then
        part=$(whole "$dir" "$1")
        [ -z "$part" ] || reason="$part is there and not whole"
    fi
    if [ -z "$reason" ] && [ "$code" != 137 ] && ! grep -q 'exit code 137' err && list "$dir/." | grep -q '\.partial$'; then reason="$(list "$dir/." | grep '\.partial$' | head -1) is left"; fi
    if [ "$2" = disk ]; then
        rm -f "$dir"; cp -r "$work/disk/r" "$dir"; umount "$work/disk"
    fi
    if [ -z "$reason" ]; then
        # Interrupted when all was computed: the result is there.
        if [ "$code" != "$(cat "$1.code")" ] && [ "$2" != two ] && ! { [ "$code" = 130 ] && grep -q "the result is complete" err; }; then
            # Files come before standard output: where that alone was lost, a whole result is there and is protected from a run
            # that does not know --resume.
            over=
            [ -n "$(resume "$1")" ] || ! grep -q ': standard output: ' err || over=--force
            # shellcheck disable=SC2046
            timeout -s KILL 60 "$COSPEC" $(arguments "$1") $(resume "$1") $over -o "$dir" > out 2> err.again < /dev/null
            again=$?
            [ $again = "$(cat "$1.code")" ] || reason="once more it exits with $again: $(head -c 300 err.again)"
        fi
    fi
    grep -v '/checkpoint-' "$1.files" > "$1.plain"
    if [ -z "$reason" ]; then
        part=$(same "$dir" "$1")
        [ -z "$part" ] || reason="in the end it differs: $part"
    fi
    [ -z "$reason" ] && return 0
    echo "not ok $1 $2 ($what): $reason; stderr: $(tail -3 err | head -c 400)"
    echo "    to repeat: make torture ARGS='--case $1 --fault $2 --seed $seed --trials 1'"
    return 1
}

echo "torture: seed $seed, $trials trials"
bad=0 skips=0 done=0
while [ $done -lt "$trials" ]; do
    echo 0 > "$work/drawn"
    c=$(pick $cases) fault=$(pick $faults)
    trial "$c" "$fault" > said || bad=$((bad + 1))
    cat said
    skips=$((skips + $(grep -c '^skip' said)))
    echo "$c $fault" >> tally
    seed=$((seed + 1)) done=$((done + 1))
done
sort tally | awk '{ n[$2]++ } END { for (f in n) printf "%s %d  ", f, n[f]; print "" }'
echo "$done trials, $bad failed, $skips skipped"
[ $bad = 0 ]
