# kill -9 of one of four ranks in the middle of counting, more than a minute after the start: --resume goes on from the checkpoints of all ranks.
shards=$PWD/tests/same_shards.py
. tests/cli/lib.sh

pids() { cat pid.0 pid.1 pid.2 pid.3; }

# Checkpoints are due by the clock, so the ranks are stopped for that minute.
test_counting_goes_on_from_checkpoints() {
    [ -e "$(dirname "$COSPEC")/cospec-mpi.so" ] && command -v mpirun > /dev/null || { skip counting_goes_on_from_checkpoints "no MPI"; return 0; }
    awk 'BEGIN { srand(4); for (i = 0; i < 200000; ++i) { for (k = 0; k < 30; ++k) printf "w%d ", int(exp(rand() * 9)); print "" } }' > t.txt
    mkdir scratch
    build="cooc --corpus t.txt --tokenizer whitespace --vocab 2000 --objective ar --context nearest:3 --threads 1 --memory 4M --scratch scratch"
    # shellcheck disable=SC2086
    exits 0 "$COSPEC" $build -o one || return 1
    printf '#!/bin/sh\necho $$ > pid.$OMPI_COMM_WORLD_RANK\nexec "$@"\n' > each
    chmod +x each
    # shellcheck disable=SC2086
    timeout -k 5 900 mpirun --oversubscribe -n 4 ./each "$COSPEC" $build --mpi -o many > out 2> err &
    group=$!
    i=0 # until each has spilled its first records
    until [ $i = 3000 ] || { [ -s pid.3 ] && for p in $(pids); do ls -l "/proc/$p/fd" 2> /dev/null | grep -q '/scratch/.*deleted' || break; done && ls -l "/proc/$p/fd" 2> /dev/null | grep -q '/scratch/.*deleted'; }; do i=$((i + 1)); sleep 0.02; done
    # shellcheck disable=SC2046
    kill -STOP $(pids) || { fail "the run was over: $(head -c 300 err)"; return 1; }
    sleep 61
    # shellcheck disable=SC2046
    kill -CONT $(pids)
    i=0
    until [ "$(ls many/checkpoint-0000[1-4]-of-00004/checkpoint.json 2> /dev/null | wc -l)" = 4 ] || [ $i = 600 ]; do i=$((i + 1)); sleep 0.05; done
    kill -9 "$(cat pid.2)" || { fail "the run was over: $(head -c 300 err)"; return 1; }
    wait $group && { fail "exit code 0"; return 1; }
    [ "$(ls many/checkpoint-0000[1-4]-of-00004/checkpoint.json | wc -l)" = 4 ] && [ ! -f many/matrix.json ] || { fail "left: $(ls many many/*)"; return 1; }
    # shellcheck disable=SC2086
    exits 2 timeout -k 5 300 mpirun --oversubscribe -n 4 "$COSPEC" $build --mpi -o many && says "give --resume to continue it" || return 1
    # shellcheck disable=SC2086
    exits 0 timeout -k 5 900 mpirun --oversubscribe -n 4 "$COSPEC" $build --mpi -o many --resume && says "contributions were counted by the interrupted run" || return 1
    cmp one/matrix.json many/matrix.json && /usr/bin/python3 "$shards" one many > differ || { fail "matrix.json, or $(cat differ)"; return 1; }
    [ -z "$(ls many | grep 'checkpoint\|rank-')" ] || fail "left: $(ls many)"
}

run_tests
