#!/bin/sh
# Weak and strong scaling of --mpi on this machine. usage: COSPEC=build/release/cospec sh tests/bench/mpi_scaling.sh [RANKS...]
# A line a case: what, ranks, rows, nonzeros, MB sent by all ranks, wall seconds from the start of mpirun to its end (median of 3 runs; the start of
# the ranks and the reading of the file are in them), processor seconds of all ranks outside and inside messages, and of the rank that took most; its memory in MB (last run). One thread a rank.
# Times bear other work on the machine; those in messages are mostly waiting, which Open MPI does by spinning, and mean nothing where ranks are
# more than idle cores.
set -eu
: "${COSPEC:?}"
[ $# -gt 0 ] || set -- 1 2 4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# matrix ROWS COLS A_ROW: Zipf-like columns, small counts.
matrix() {
    awk -v m="$1" -v n="$2" -v d="$3" 'BEGIN { srand(7); print "%%MatrixMarket matrix coordinate integer general"; print m, n, m * d
        for (i = 1; i <= m; ++i) for (e = 0; e < d; ++e) print i, int(exp(rand() * log(n))) % n + 1, 1 + int(rand() * 9) }'
}

# text DOCUMENTS SEED: 200 words each, Zipf-like of 20,000.
text() {
    awk -v m="$1" -v seed="$2" 'function word(i, s) { for (s = ""; i > 0; i = int(i / 26)) s = s sprintf("%c", 97 + i % 26); return s }
        BEGIN { srand(seed); for (i = 0; i < m; ++i) { printf "x\t"; for (e = 0; e < 200; ++e) printf "%s ", word(int(exp(rand() * log(20000)))); print "" } }'
}

run() { # run NAME RANKS COMMAND...
    name=$1 ranks=$2; shift 2
    : > walls
    for turn in 1 2 3; do
        start=$(date +%s%N)
        mpirun --oversubscribe -n "$ranks" "$COSPEC" "$@" --mpi --threads 1 --json > out.json 2> err || { cat err >&2; exit 1; }
        echo $(($(date +%s%N) - start)) >> walls
    done
    wall=$(sort -n walls | sed -n 2p | awk '{ printf "%.2f", $1 / 1e9 }')
    rows=$(sed -n 's/^ *"rows": *\([0-9]*\),.*/\1/p' out.json | head -1) nnz=$(sed -n 's/^ *"nonzeros": *\([0-9]*\),.*/\1/p' out.json | head -1)
    sed -n "s/^.* machine; \(.*\) MB sent in \(.*\) messages; \(.*\) processor seconds, and \(.*\) in messages; one rank: at most \(.*\) processor seconds, \(.*\) MB of memory/$name,$ranks,$rows,$nnz,\1,$wall,\3,\4,\5,\6/p" err
}

echo what,ranks,rows,nonzeros,mb_sent,wall_seconds,seconds,seconds_in_messages,busiest_seconds,busiest_mb
matrix 400000 20000 10 > strong.mtx
text 20000 8 > strong.tsv
for r in "$@"; do
    run svd-strong "$r" svd strong.mtx -k 32 --solver block --certify components
    run parpack-strong "$r" svd strong.mtx -k 32 --solver arpack --certify components
    run cooc-strong "$r" cooc --corpus strong.tsv --objective ar --context nearest:2 --force -o m
done
for r in "$@"; do
    matrix $((100000 * r)) 20000 10 > weak.mtx
    run svd-weak "$r" svd weak.mtx -k 32 --solver block --certify components
    rm -f weak-*.tsv
    for part in $(seq "$r"); do text 20000 "$part" > "weak-$part.tsv"; done
    for context in nearest:2 each:10; do run "cooc-weak-$context" "$r" cooc --corpus 'weak-*.tsv' --objective ar --context $context --force -o m; done
done
