# --mpi: the same values and matrices as one process, and ranks that fail.
shards=$PWD/tests/same_shards.py
. tests/cli/lib.sh

plugin=$(dirname "$COSPEC")/cospec-mpi.so
export ASAN_OPTIONS=detect_leaks=0 # of Open MPI's

# ranks R COMMAND...: within a minute, so that a hang is a failure.
ranks() { n=$1; shift; timeout -k 5 120 mpirun --oversubscribe -n "$n" "$COSPEC" "$@"; }

# same_values A B: as many values, each within 1e-10.
same_values() { sigmas "$1" > a && sigmas "$2" > b && [ -s a ] && near_lists a b 1e-10 "$(wc -l < a)"; }

matrix() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked --unmasked 2 --max-length 4 --stride 1 -o m
}

test_svd_is_that_of_one_process() {
    matrix || return 1
    exits 0 "$COSPEC" svd m -k 12 --json && mv out one || return 1
    for case in "1 block" "2 block" "2 arpack" "3 block" "3 arpack" "4 arpack"; do
        r=${case% *} solver=${case#* }
        exits 0 ranks $r svd m --mpi -k 12 --solver $solver --json || return 1
        same_values one out || { fail "$r ranks, $solver: $(paste a b | head -20)"; return 1; }
        [ "$(members '"sigma":' out)" = 1 ] || { fail "$r ranks print $(members '"sigma":' out) results"; return 1; }
        for key in rows cols nonzeros zero_rows components multiplicity_of_one k; do
            [ "$(number $key one)" = "$(number $key out)" ] || { fail "$r ranks, $solver: $key $(number $key out)"; return 1; }
        done
        near "$(number sum_sigma2 out)" "$(number sum_sigma2 one)" 1e-10 && near "$(number sum_sigma4 out)" "$(number sum_sigma4 one)" 1e-10 || return 1
        ! grep -q '"state": "failed"' out || { fail "$r ranks, $solver: $(grep -B2 -A4 failed out)"; return 1; }
    done
}

states() { grep -E '"(components|moments|probe|inertia|residual)": \{|"state":' "$1" | sed 's/^ *//' | paste - -; }

# All certificates, of counts and of a matrix that came normalised, by exact sums and by estimates.
test_certificates_are_those_of_one_process() {
    matrix || return 1
    for what in "--rank 12" "--rank 12 --moment-budget 0.5" "--rank 12 --normalised" "--rank 3"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" svd m $what --certify components,moments,probe,inertia --json && mv out one || return 1
        for r in 2 3; do
            # shellcheck disable=SC2086
            exits 0 ranks $r svd m --mpi $what --certify components,moments,probe,inertia --json || return 1
            states one > a; states out > b
            cmp -s a b && [ "$(wc -l < a)" = 5 ] || { fail "$r ranks, $what: $(diff a b)"; return 1; }
            near "$(number sum_sigma4 out)" "$(number sum_sigma4 one)" 1e-10 || return 1
            near "$(number sum_sigma4_high out)" "$(number sum_sigma4_high one)" 1e-10 || return 1
        done
    done
}

# The results known when a solver gives up are printed completely, though the other ranks end meanwhile.
test_unfinished_results_are_printed_whole() {
    matrix || return 1
    for turn in 1 2 3 4; do
        exits 4 ranks 3 svd m --mpi -k 12 --max-iterations 1 --no-reduction --json || return 1
        [ "$(tail -c 3 out | tr -d ' \n')" = "}" ] && grep -q '"solver"' out || { fail "turn $turn: ends with $(tail -c 60 out)"; return 1; }
    done
}

first_sigma() { tr -d ' \n' < "$1" | sed 's/.*"sigma":\[\([^],]*\).*/\1/'; }

# diag(3, 2, 1) times 10^e: the values of one process, none of them zero.
test_any_size() {
    for e in -300 -17 200; do
        printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 3e%d\n2 2 2e%d\n3 3 1e%d\n' $e $e $e > t.mtx
        for k in 1 3; do
            exits 0 "$COSPEC" svd t.mtx --normalised -k $k --no-reduction --certify components,moments,probe,inertia --json && mv out one || return 1
            exits 0 ranks 2 svd t.mtx --mpi --normalised -k $k --certify components,moments,probe,inertia --json || return 1
            states one > a; states out > b
            cmp -s a b && [ "$(number zeros out)" = 0 ] && [ "$(number k out)" = $k ] && near "$(awk -v a="$(first_sigma out)" -v b="$(first_sigma one)" 'BEGIN { print a / b }')" 1 1e-14 || { fail "1e$e, $k: ${why:-$(diff a b)}"; return 1; }
        done
    done
}

test_files() {
    matrix || return 1
    exits 0 ranks 3 svd m --mpi -k 5 --vectors -o d || return 1
    for f in svd.json svd.csv u.npy v.npy sigma.npy manifest.json; do [ -f d/$f ] || { fail "no $f"; return 1; }; done
    exits 0 "$COSPEC" svd m -k 5 --vectors -o one || return 1
    for f in u.npy v.npy sigma.npy; do
        [ "$(wc -c < d/$f)" = "$(wc -c < one/$f)" ] || { fail "$f has $(wc -c < d/$f) bytes, $(wc -c < one/$f) from one process"; return 1; }
    done
    [ "$(head -1 d/svd.csv)" = "$(head -1 one/svd.csv)" ] && [ "$(wc -l < d/svd.csv)" = "$(wc -l < one/svd.csv)" ] || { fail "svd.csv: $(head -1 d/svd.csv)"; return 1; }
    same_values d/svd.json one/svd.json || { fail "svd.json: $(paste a b)"; return 1; }
    exits 2 ranks 2 svd m --mpi -k 5 -o d && says "--force to overwrite it"
}

# A matrix with more rows than columns, and its transpose, both with empty rows: the smaller side is that of v and of u.
wide_and_tall() {
    awk 'BEGIN { srand(3); n = 1000; print "%%MatrixMarket matrix coordinate integer general"; print n, 300, 5 * (n - n / 5)
        for (i = 1; i <= n; ++i) if (i % 5) for (e = 0; e < 5; ++e) print i, 60 * e + 1 + int(59 * rand() * rand()), 1 + int(rand() * 5) }' > tall.mtx
    awk 'NR == 1 { print; next } NR == 2 { print $2, $1, $3; next } { print $2, $1, $3 }' tall.mtx > wide.mtx
}

test_after_ones() {
    matrix && wide_and_tall || return 1
    for of in m tall.mtx wide.mtx; do
        exits 0 "$COSPEC" svd $of --after-ones 5 --json && mv out one || return 1
        for r in 2 3; do
            exits 0 ranks $r svd $of --mpi --after-ones 5 --json && same_values one out || { fail "$r ranks, $of: ${why:-$(paste a b)}"; return 1; }
        done
    done
    exits 2 "$COSPEC" svd m --after-ones 500 && mv err one || return 1
    exits 2 ranks 3 svd m --mpi --after-ones 500 && grep -qFf one err || { fail "$(cat one err)"; return 1; }
    exits 2 ranks 2 svd m --mpi --after-ones 5 -k 4 && says "give one of them" && exits 2 ranks 2 svd m --mpi --after-ones 5 --normalised && says "need not have sigma = 1"
}

sent() { sed -n 's/.* \([-+0-9.e]*\) MB sent.*/\1/p' err; }

# From its own vectors the solver needs fewer products, which send less, and reaches the same values.
test_start() {
    wide_and_tall
    for of in tall wide; do
        exits 0 "$COSPEC" svd $of.mtx -k 8 --solver block --tol 1e-10 --vectors -o $of --json && mv out one || return 1
        for r in 2 3; do
            exits 0 ranks $r svd $of.mtx --mpi -k 8 --tol 1e-10 --certify none --json && cold=$(sent) || return 1
            exits 0 ranks $r svd $of.mtx --mpi -k 8 --tol 1e-10 --certify none --start $of --json && same_values one out || { fail "$of, $r ranks: ${why:-$(paste a b)}"; return 1; }
            holds "$(sent) < 0.9 * $cold" || { fail "$of, $r ranks: $why"; return 1; }
        done
    done
    exits 3 ranks 2 svd tall.mtx --mpi -k 8 --start wide && says "expected vectors of 300 floats" && [ "$(grep -c 'expected vectors' err)" = 1 ] || { fail "${why:-$(cat err)}"; return 1; }
    exits 2 ranks 2 svd tall.mtx --mpi -k 8 --solver arpack --start tall && says "does not apply to --solver arpack"
}

test_dry_run() {
    matrix && wide_and_tall || return 1
    for of in m tall.mtx wide.mtx; do
        exits 0 "$COSPEC" svd $of -k 8 --dry-run --json && grep -v '"solver' out > one || return 1
        most=
        for r in 2 3; do
            exits 0 ranks $r svd $of --mpi -k 8 --dry-run --json || return 1
            for key in rows cols nonzeros vector_bytes file_bytes dense_bytes inertia_bytes sum_sigma4_cost; do
                [ -n "$(number $key one)" ] && [ "$(number $key one)" = "$(number $key out)" ] || { fail "$of, $r ranks: $key $(number $key out), not $(number $key one)"; return 1; }
            done
            [ "$(number ranks out)" = $r ] && { [ -z "$most" ] || holds "$(number rank_bytes out) < $most"; } || { fail "$of: $(cat out)"; return 1; }
            most=$(number rank_bytes out)
        done
    done
    exits 0 ranks 2 svd m --mpi -k 8 --dry-run -o none && [ ! -e none ]
}

test_resume() {
    matrix && exits 0 ranks 2 svd m --mpi -k 5 --vectors -o d --json && mv out first || return 1
    touch -d 2001-01-01 d/svd.json d/u.npy
    exits 0 ranks 3 svd m --mpi -k 5 --vectors -o d --json --resume && says "already finished; kept" && cmp -s first out && [ "$(stat -c %Y d/svd.json)" = 978307200 ] || { fail "${why:-$(cat err)}"; return 1; }
    exits 2 ranks 2 svd m --mpi -k 6 --vectors -o d --resume && [ "$(grep -c '^cospec svd:' err)" = 1 ] || { fail "${why:-$(cat err)}"; return 1; }
    # what is damaged is computed again
    echo >> d/u.npy
    exits 0 ranks 2 svd m --mpi -k 5 --vectors -o d --json --resume && ! grep -q 'kept' err && [ "$(stat -c %Y d/svd.json)" != 978307200 ] && same_values first out || { fail "${why:-$(cat err)}"; return 1; }
    # and so is a result that a kill prevented
    rm -r d
    exits 0 ranks 2 svd m --mpi -k 5 -o d --resume && [ -f d/manifest.json ]
}

# same_store ONE MANY: the arrays of the shards of MANY, one after the other, are those of ONE.
same_store() {
    cmp -s $1/matrix.json $2/matrix.json && cmp -s $1/vocab.txt $2/vocab.txt && { [ ! -f $1/col_labels.npz ] || cmp -s $1/col_labels.npz $2/col_labels.npz; } || { why="matrix.json, vocab.txt or col_labels.npz"; return 1; }
    /usr/bin/python3 "$shards" $1 $2 > differ || { why=$(cat differ); return 1; }
}

test_cooc_is_that_of_one_process() {
    small_corpus c.tsv
    for case in "2 3:ar --context nearest:2" "1 4:ar --context each:3" "2 3:ar --context unique" "1 4:masked --mask-ratio 0.3 --context each:5" "2 3:masked --unmasked 2 --max-length 4 --stride 1"; do
        what=${case#*:}
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" cooc --corpus c.tsv --objective $what --force -o one || return 1
        for r in ${case%%:*}; do
            # shellcheck disable=SC2086
            exits 0 ranks $r cooc --corpus c.tsv --objective $what --mpi --force -o many || return 1
            same_store one many || { fail "$what, $r ranks: $why"; return 1; }
        done
    done
}

# Shards of text: compressed or not, one of them larger than a rank's share.
test_cooc_of_a_sharded_corpus() {
    awk 'BEGIN { srand(3); for (f = 0; f < 5; ++f) for (i = 0; i < 20 * f * f * f + 2; ++i) {
        s = ""; for (k = int(rand() * 20) + 2; k; --k) s = s " w" int(exp(rand() * 5))
        printf "{\"text\": \"%s\", \"label\": \"c%d\"}\n", s, rand() * 3 > "s-" f ".jsonl" } }'
    gzip s-2.jsonl
    for what in "ar --context nearest:2" "masked --mask-ratio 0.3 --context each:5" "masked --mask-ratio 0.3 --context unique --max-length 8" "ar --context document" "masked --max-length 9 --context all --draws 2"; do
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" cooc --corpus 's-*.jsonl*' --tokenizer whitespace --vocab 60 --objective $what --force -o one || return 1
        for r in 2 4; do
            # shellcheck disable=SC2086
            exits 0 ranks $r cooc --corpus 's-*.jsonl*' --tokenizer whitespace --vocab 60 --objective $what --mpi --force -o many || return 1
            same_store one many || { fail "$what, $r ranks: $why"; return 1; }
        done
    done
    [ "$(grep -c 'corpus-0000.-of-00004' many/matrix.index.json)" = 4 ] || { fail "the corpus is not in 4 parts"; return 1; }
    exits 0 "$COSPEC" cooc --corpus 's-*.jsonl*' --objective ar --context nearest:2 --dry-run --json && mv out one.json || return 1
    exits 0 ranks 3 cooc --corpus 's-*.jsonl*' --objective ar --context nearest:2 --mpi --dry-run --json || return 1
    for key in contributions rows nonzeros documents tokens matrix_bytes stored_bytes; do
        near "$(number $key out)" "$(number $key one.json)" 1e-12 || { fail "--dry-run: $key $(number $key out), not $(number $key one.json)"; return 1; }
    done
    exits 2 ranks 2 cooc --corpus 's-*.jsonl*' --objective ar --context nearest:2 --mpi --mtx -o l && says "leave --mpi out"
}

# Ranks without a document, the last and one between: their parts of the corpus are empty, and what reads it works.
test_ranks_without_documents() {
    printf '{"text": "a b c a b"}\n{"text": "b c a"}\n' > 1.jsonl && : > 2.jsonl && cp 1.jsonl 3.jsonl
    for of in '1.jsonl' '[123].jsonl'; do
        exits 0 "$COSPEC" cooc --corpus "$of" --tokenizer whitespace --objective ar --context each:2 --force -o one || return 1
        for r in 2 3 4; do
            exits 0 ranks $r cooc --corpus "$of" --tokenizer whitespace --objective ar --context each:2 --mpi --force -o many && same_store one many || { fail "$of, $r ranks: $why"; return 1; }
            exits 0 "$COSPEC" inspect many || return 1
        done
    done
}

# A rank that cannot write its shard: the files of the others stay, and --resume makes what is missing or half written.
test_stored_rows_outlive_a_failure() {
    small_corpus c.tsv
    build="cooc --corpus c.tsv --objective ar --mpi -o many"
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 -o one || return 1
    mkdir -p many/matrix-00002-of-00003.npz
    # shellcheck disable=SC2086
    exits 3 ranks 3 $build --context nearest:2 --force && says "matrix-00002-of-00003.npz" || return 1
    [ -f many/rank-00001-of-00003.bin ] && [ -f many/rank-00003-of-00003.bin ] && [ ! -f many/rank-00002-of-00003.bin ] && [ ! -f many/matrix.json ] || { fail "left: $(ls many)"; return 1; }
    rmdir many/matrix-00002-of-00003.npz
    # shellcheck disable=SC2086
    exits 2 ranks 3 $build --context nearest:2 && says "give --resume to continue it" || return 1
    # shellcheck disable=SC2086
    exits 2 ranks 3 $build --context nearest:1 --resume && says "another corpus or another number of processes" || return 1
    head -c 100 many/rows-00003-of-00003.npz > half && mv half many/rows-00003-of-00003.npz
    touch -d 2001-01-01 many/matrix-0000[13]-of-00003.npz
    # shellcheck disable=SC2086
    exits 0 ranks 3 $build --context nearest:2 --resume && same_store one many || { fail "${why:-differs}"; return 1; }
    [ "$(date -r many/matrix-00001-of-00003.npz +%Y)" = 2001 ] || { fail "whole rows were written again"; return 1; }
    [ "$(date -r many/matrix-00003-of-00003.npz +%Y)" != 2001 ] || { fail "half-written rows were kept"; return 1; }
    [ -z "$(ls many/rank-* 2>/dev/null)" ] || fail "left: $(ls many)"
}

# kill -9 of a rank while it counts, and once more after --resume.
test_a_killed_rank_and_resume() {
    awk 'BEGIN { srand(4); for (i = 0; i < 40000; ++i) { for (k = 0; k < 30; ++k) printf "w%d ", int(exp(rand() * 9)); print "" } }' > t.txt
    build="cooc --corpus t.txt --tokenizer whitespace --vocab 2000 --objective ar --context nearest:3 --threads 1"
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $build -o one || return 1
    printf '#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then echo $$ > pid; fi\nexec "$@"\n' > each
    chmod +x each
    # shellcheck disable=SC2086
    timeout -k 5 120 mpirun --oversubscribe -n 3 ./each "$COSPEC" $build --mpi -o many > out 2> err &
    group=$!
    i=0
    while [ $i -lt 300 ] && { [ ! -s pid ] || ! grep -q cospec "/proc/$(cat pid)/comm" 2>/dev/null; }; do i=$((i + 1)); sleep 0.1; done
    kill -9 "$(cat pid)" 2>/dev/null || { fail "the run was over: $(head -c 300 err)"; return 1; }
    wait $group && { fail "exit code 0"; return 1; }
    [ ! -f many/matrix.json ] || { fail "a matrix without a rank"; return 1; }
    # shellcheck disable=SC2086
    exits 0 ranks 3 $build --mpi -o many --resume && same_store one many || fail "${why:-differs}"
}

# peak_of_ranks R COMMAND...: the largest resident size of each rank in kB, a line a rank. Where one rank fails, mpirun ends the others by
# SIGTERM, which stops no script from writing its line, and soon by SIGKILL. Not converging (4) therefore counts as success here.
peak_of_ranks() {
    cat > peak << 'END'
#!/bin/sh
exec /usr/bin/python3 -c 'import os, resource, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = subprocess.call(sys.argv[1:], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
open("peak." + os.environ["OMPI_COMM_WORLD_RANK"], "w").write("%d\n" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(0 if code == 4 else code)' "$@"
END
    chmod +x peak && rm -f peak.*
    peak_ranks=$1; shift
    timeout -k 5 240 mpirun --oversubscribe -n "$peak_ranks" ./peak "$COSPEC" "$@" > out 2> err
    peak_code=$?
    cat peak.[0-9]* > peaks
    [ "$(wc -l < peaks)" = "$peak_ranks" ] || { fail "$* exits with $peak_code: $(head -c 300 err)"; return 1; }
}

most() { sort -n "$1" | tail -1; }

# A rank needs rank_bytes and at most 15 % more, with more columns than rows or fewer, and with the usual certificates, whose probe needs most
# with many columns. Without certificates the nonzeros of all ranks alone would be too much.
test_memory_of_a_rank() {
    sanitized memory_of_a_rank && return
    for words in 60000 300; do
        awk -v n=$words 'BEGIN { srand(3); for (d = 0; d < 40000; ++d) { for (i = 0; i < 30; ++i) printf "w%d ", int(n * rand()); print "" } }' > $words.txt
    done
    printf 'w1 w2 w3 w4 w1 w3 w2 w4 w4 w1\nw2 w1 w3 w1 w4 w2\n' > few.txt
    count="cooc --tokenizer whitespace --vocab 200000 --objective ar"
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $count --context each:2 --corpus few.txt -o few && exits 0 "$COSPEC" $count --context each:2 --corpus 60000.txt --shard-size 6M -o wide &&
        exits 0 "$COSPEC" $count --context nearest:2 --corpus 300.txt --shard-size 3M -o tall || return 1
    for r in 2 4; do
        peak_of_ranks $r svd few --mpi -k 2 --certify none --threads 1 && without=$(most peaks) || return 1
        for of in wide tall "wide, certified"; do
            certify="--certify none" matrix=${of%,*}
            [ $matrix = "$of" ] || certify=
            factor="-k 8 --solver block $certify --max-iterations 12 --threads 1 --memory $((32 / r))M"
            # shellcheck disable=SC2086
            exits 0 ranks $r svd $matrix --mpi $factor --dry-run --json && share=$(number rank_bytes out) whole=$(number nonzeros out) || return 1
            # shellcheck disable=SC2086
            peak_of_ranks $r svd $matrix --mpi $factor || return 1
            while read -r peak; do
                holds "1024 * ($peak - $without) < 1.15 * $share" || { fail "$of, a rank of $r: $why (kB, and bytes)"; return 1; }
            done < peaks
            [ -z "$certify" ] || holds "24 * $whole > 0.75 * $share" || { fail "$of: too few nonzeros for this test: $why"; return 1; }
        done
    done
}

# A length that only one rank has: all report it, before and after the first exchange.
test_a_length_of_one_rank() {
    awk 'BEGIN { for (i = 0; i < 400; ++i) { for (k = 0; k < 8; ++k) printf "w%d ", i * k % 9; print "" } }' > a.txt
    awk 'BEGIN { for (i = 0; i < 40; ++i) { for (k = 0; k < 80; ++k) printf "w%d ", i * k % 9; print "" } }' > b.txt
    for last in "-o m" --dry-run; do
        # shellcheck disable=SC2086
        exits 2 ranks 3 cooc --corpus '?.txt' --tokenizer whitespace --objective masked --context all --mpi $last && says "at length 80 has" || return 1
        for line in '^cospec cooc:' 'that were not given are'; do
            [ "$(grep -c "$line" err)" = 1 ] || { fail "$last: '$line' $(grep -c "$line" err) times: $(cat err)"; return 1; }
        done
    done
}

# Each matrix of a list of draws is that of one process, and so are its largest values.
test_lists_of_draws() {
    small_corpus c.tsv
    list="cooc --corpus c.tsv --objective masked --unmasked 4 --max-length 9 --draws 1,4 --json"
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $list -o one && sigmas out > a || return 1
    for r in 2 3; do
        # shellcheck disable=SC2086
        exits 0 ranks $r $list --mpi --force -o many && sigmas out > b && near_lists a b 1e-10 16 || return 1
        for draws in 1 4; do same_store one/draws-$draws many/draws-$draws || { fail "$r ranks, $draws draws: $why"; return 1; }; done
        [ -f many/draws.json ] && [ -f many/draws.csv ] && cmp one/draws.csv many/draws.csv > differ || [ "$(head -1 one/draws.csv)" = "$(head -1 many/draws.csv)" ] || return 1
    done
}

# kill -9 of rank 1, which stops itself before its record is in place, once the other ranks have stored theirs: those are kept.
test_a_rank_killed_while_it_stores() {
    small_corpus c.tsv
    build="cooc --corpus c.tsv --objective ar --context nearest:2 --shard-size 1K --threads 1"
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $build -o one || return 1
    cat > stop.c << 'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int rename(const char *from, const char *to)
{
    if (strstr(to, "rank-00002-of-00004.bin")) (void)raise(SIGSTOP);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
END
    cc -D_GNU_SOURCE -shared -fPIC stop.c -o stop.so 2> err || { fail "$(head -3 err)"; return 1; }
    printf '#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then echo $$ > pid; export LD_PRELOAD=$PWD/stop.so; fi\nexec "$@"\n' > each
    chmod +x each
    # shellcheck disable=SC2086
    timeout -k 5 120 mpirun --oversubscribe -n 4 ./each "$COSPEC" $build --mpi -o many > out 2> err &
    group=$!
    i=0
    until [ "$(ls many/rank-*.bin 2> /dev/null | wc -l)" = 3 ] || [ $i = 900 ]; do i=$((i + 1)); sleep 0.1; done
    kill -9 "$(cat pid)" 2> /dev/null
    wait $group && { fail "exit code 0"; return 1; }
    [ "$(ls many/rank-*.bin)" = "$(ls many/rank-0000[134]-of-00004.bin)" ] && [ ! -f many/matrix.json ] || { fail "left: $(ls many) $(head -c 300 err)"; return 1; }
    kept=$(ls many/matrix-0* | head -1)
    touch -d 2001-01-01 "$kept"
    # shellcheck disable=SC2086
    exits 0 ranks 4 $build --mpi -o many --resume && same_store one many || { fail "${why:-differs}"; return 1; }
    [ "$(date -r "$kept" +%Y)" = 2001 ] || { fail "$kept was written again"; return 1; }
    [ -z "$(ls many | grep 'checkpoint\|rank-')" ] || fail "left: $(ls many)"
}

test_bad_input() {
    exits 3 ranks 3 svd none.npz --mpi -k 2 && says "none.npz" || return 1
    [ "$(grep -c '^cospec svd:' err)" = 1 ] || { fail "said $(grep -c '^cospec svd:' err) times"; return 1; }
    printf '%%%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 1\n1 2 1\n' > thin.mtx
    exits 2 ranks 2 svd thin.mtx --mpi -k 1 || return 1
    for line in '^cospec svd:' "^see 'cospec help svd'"; do
        [ "$(grep -c "$line" err)" = 1 ] || { fail "'$line' $(grep -c "$line" err) times: $(cat err)"; return 1; }
    done
    matrix || return 1
    exits 2 ranks 2 svd m --mpi --solver lapack && says "works in a single process" || return 1
    exits 2 ranks 2 svd m --mpi --device cuda && says "leave --mpi out"
}

# One rank that cannot read the file ends all, and says which it was.
test_one_rank_cannot_read() {
    matrix || return 1
    mkdir good bad && cp m/matrix.npz good/x.npz && head -c 300 m/matrix.npz > bad/x.npz
    printf '#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then cd bad; else cd good; fi\nexec "$@"\n' > each
    chmod +x each
    timeout -k 5 120 mpirun --oversubscribe -n 3 ./each "$COSPEC" svd x.npz --mpi -k 2 > out 2> err
    code=$?
    [ $code = 3 ] && says "rank 1 of 3: x.npz" && [ ! -s out ] || fail "${why:-exit code $code: $(head -c 300 err)}"
}

# kill -9 of one rank in the middle of the work: mpirun ends the others.
test_a_killed_rank_ends_all() {
    awk 'BEGIN { srand(1); n = 60000; print "%%MatrixMarket matrix coordinate integer general"; print n, 3000, 6 * n
        for (i = 1; i <= n; ++i) for (e = 0; e < 6; ++e) print i, int(rand() * 500) + 500 * e + 1, 1 + int(rand() * 5) }' > big.mtx
    printf '#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then echo $$ > pid; fi\nexec "$@"\n' > each
    chmod +x each
    timeout -k 5 120 mpirun --oversubscribe -n 3 ./each "$COSPEC" svd big.mtx --mpi -k 400 --tol 1e-15 --threads 1 > out 2> err &
    group=$!
    i=0
    while [ $i -lt 300 ] && { [ ! -s pid ] || ! grep -q cospec "/proc/$(cat pid)/comm" 2>/dev/null; }; do i=$((i + 1)); sleep 0.1; done
    sleep 1
    kill -9 "$(cat pid)" 2>/dev/null || { fail "the run was over: $(head -c 300 err)"; return 1; }
    wait $group
    code=$?
    [ $code != 0 ] && [ $code != 124 ] || { fail "exit code $code"; return 1; }
    grep -q 'rank 1 .*signal 9' err || { fail "$(tail -c 400 err)"; return 1; }
    [ ! -s out ]
}

test_without_mpi() {
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n' > m.mtx
    cp "$COSPEC" plain
    refuses 5 "this build has no MPI" ./plain svd m.mtx --mpi
}

if [ ! -f "$plugin" ]; then
    check without_mpi
    skip mpi "this build has no MPI (no cospec-mpi.so)"
elif ! command -v mpirun > /dev/null; then
    skip mpi "mpirun is not on PATH"
elif ! ranks 2 svd --help > /dev/null 2> "$work/why"; then
    skip mpi "mpirun cannot start two processes here: $(head -c 200 "$work/why" | tr '\n' ' ')"
else
    for t in without_mpi svd_is_that_of_one_process unfinished_results_are_printed_whole certificates_are_those_of_one_process any_size files after_ones start dry_run resume cooc_is_that_of_one_process cooc_of_a_sharded_corpus ranks_without_documents stored_rows_outlive_a_failure a_killed_rank_and_resume a_rank_killed_while_it_stores lists_of_draws memory_of_a_rank a_length_of_one_rank bad_input one_rank_cannot_read a_killed_rank_ends_all; do
        check $t
    done
fi
