# Matrices in shards: every command that opens a matrix reads them as one file, and shards that do not belong together are refused.
. tests/cli/lib.sh
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

# Words without digits, which would be one word each.
corpus() {
    awk 'BEGIN { srand(7); n = split("ba be bi bo bu ca ce ci co cu da de di do du fa fe fi fo fu", w, " ")
        for (d = 0; d < 120; ++d) { s = substr("xyz", 1 + d % 3, 1) "\t"; for (i = 0; i < 14; ++i) s = s w[1 + int(n * rand() * rand())] " "; print s } }' > c.tsv
}

count() { exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 "$@"; }

# one and many: the same matrix in one file and in shards.
both() { corpus && count -o one && count -o many --shard-size 8K && [ -f many/matrix-00003-of-0000"$(ls many/matrix-*.npz | wc -l)".npz ] && [ ! -f many/matrix.npz ]; }

test_commands_read_shards_as_one_file() {
    both || return 1
    for command in "svd DIR -k 7" "svd DIR -k 7 --vectors -o DIR-v" "svd DIR -k all --form ppmi" "density DIR" "inspect DIR --all" \
        "connectivity DIR" "connectivity DIR one" "angles DIR one -k 5" "verify 4.1 --matrix DIR" "verify ntp --matrix DIR"; do
        for dir in one many; do
            # shellcheck disable=SC2046
            "$COSPEC" $(echo "$command" | sed "s/DIR/$dir/g") --csv > $dir.out 2> $dir.err; echo "exit $?" >> $dir.out
            sed -i 's/\bone\b/NAME/g; s/\bmany\b/NAME/g' $dir.out
        done
        cmp -s one.out many.out && [ "$(wc -l < many.out)" -gt 1 ] || { fail "$command: $(diff one.out many.out | head -5) $(tail -2 many.err)"; return 1; }
        ! grep -q '^exit [2-9]' many.out || { fail "$command: $(tail -1 many.out) $(tail -2 many.err)"; return 1; }
    done
    for file in u v sigma; do cmp one-v/$file.npy many-v/$file.npy || { fail "$file.npy differs"; return 1; }; done
}

test_ranks_read_shards() {
    [ -e "$(dirname "$COSPEC")/cospec-mpi.so" ] && command -v mpirun > /dev/null || { skip ranks_read_shards "no MPI"; return 0; }
    both && exits 0 "$COSPEC" cooc --corpus c.tsv --objective permuted-ar --context each:3 -o wide --shard-size 3K || return 1
    [ -f wide/matrix.index.json ] || { fail "wide has no shards"; return 1; }
    for dir in many wide; do
        exits 0 "$COSPEC" svd $dir -k 8 --json && sigmas out > want || return 1
        for r in 1 2 3; do
            exits 0 env ASAN_OPTIONS=detect_leaks=0 timeout -k 5 120 mpirun --oversubscribe -n $r "$COSPEC" svd $dir --mpi -k 8 --json && sigmas out > got && near_lists got want 1e-10 8 || return 1
        done
    done
    rm many/manifest.json many/matrix-00002-of-*.npz
    exits 3 env ASAN_OPTIONS=detect_leaks=0 timeout -k 5 120 mpirun --oversubscribe -n 2 "$COSPEC" svd many --mpi && says "rank 0 of 2: many/matrix-00002-of-0000" && says ": missing"
}

# wrong TEXT: what svd says of many. inspect also checks the digests of the manifest, which may find it first.
wrong() { refuses 3 "$1" "$COSPEC" svd many && refuses 3 "many/" "$COSPEC" inspect many; }

test_shards_that_do_not_belong_are_refused() {
    both && n=$(ls many/matrix-*.npz | wc -l) && second=many/matrix-00002-of-0000$n.npz && cp -r many good || return 1
    rm "$second" && wrong "$second: missing, but matrix.index.json lists it; copy the whole folder again" || return 1
    cp good/"${second#many/}" many && truncate -s -9 "$second" && wrong "$second: has " || return 1
    cp good/"${second#many/}" many && printf X | dd of="$second" bs=1 seek=300 conv=notrunc 2> dd && wrong "$second: its XXH3 is " || return 1
    # A shard of another run, of the same number and count.
    cp good/"${second#many/}" many && sed 's/ba be/be ba/' c.tsv > other.tsv && exits 0 "$COSPEC" cooc --corpus other.tsv --objective ar --context nearest:2 -o other --shard-size 8K || return 1
    [ -f other/"${second#many/}" ] && cp other/"${second#many/}" many && wrong " of another run" || return 1
    cp good/* many && cp one/matrix.npz many && wrong "many/matrix.npz: in the same folder as matrix.index.json" || return 1
    rm many/matrix.npz many/matrix.index.json && refuses 3 "many: shards of a matrix without matrix.index.json" "$COSPEC" svd many || return 1
    # The index of another run; the manifest finds it too, so it is removed.
    cp good/* many && rm many/manifest.json && sed 's/"first_row": 0/"first_row": 1/' good/matrix.index.json > many/matrix.index.json || return 1
    wrong "many/matrix.index.json: shard 1 begins at row 1, but the shards before it end at 0" || return 1
    cp good/matrix.index.json many && rm many/matrix-0000$n-of-0000$n.npz many/matrix.index.json && cp other/matrix.index.json many && wrong "of another run" || return 1
    cp -r good changed && sed -i 's/"gram": false/"gram": true/' changed/matrix.index.json && refuses 3 "changed/matrix.index.json: its SHA-256 is " "$COSPEC" svd changed
}

test_force_leaves_no_other_shards() {
    both || return 1
    refuses 2 "give --force to overwrite it" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 -o many --shard-size 4K || return 1
    count -o many --shard-size 4K --force && n=$(ls many/matrix-*.npz | wc -l) || return 1
    [ "$(ls many/*-of-* | wc -l)" = $((3 * n)) ] && [ "$(ls many/*-of-000*"$n".npz | wc -l)" = $((3 * n)) ] || { fail "$(ls many)"; return 1; }
    [ "$(grep -c '"path": ".*-of-' many/manifest.json)" = $((3 * n)) ] || { fail "the manifest lists other shards"; return 1; }
    "$COSPEC" svd many -k 5 --csv > a 2> err && "$COSPEC" svd one -k 5 --csv > b 2> err && cmp a b || return 1
    count -o many --shard-size 4K --resume && cp out again && count -o many --force && [ "$(ls many/*-of-* many/*.index.json 2> /dev/null | wc -l)" = 0 ] && cmp one/matrix.npz many/matrix.npz || { fail "$(ls many)"; return 1; }
    # Shards of a run that was killed are refused, and --force removes them.
    mkdir stale && : > stale/rows-00002-of-00009.npz && refuses 2 "stale/rows-00002-of-00009.npz exists; give --force" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 -o stale || return 1
    count -o stale --force && [ ! -e stale/rows-00002-of-00009.npz ] || { fail "$(ls stale)"; return 1; }
}

test_lists_of_draws_in_shards() {
    corpus && exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked:mask-ratio=0.3 --context nearest:1 --draws 1,2 --shard-size 3K -o d || return 1
    for draws in 1 2; do [ -f d/draws-$draws/matrix.index.json ] && exits 0 "$COSPEC" svd d/draws-$draws -k 3 || return 1; done
    refuses 2 "--shard-size 0 leaves no space" "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:2 --shard-size 0 -o z
}

test_python_joins_shards() {
    python=
    for p in "${PYTHON:-/usr/bin/python3}" python3; do
        if "$p" -c 'import numpy, scipy' 2> /dev/null; then python=$p; break; fi
    done
    [ -n "$python" ] || { skip python_joins_shards "no python3 with numpy and scipy"; return 0; }
    make -s -C "$root" install-python PYTHON="$python" PYTHON_SITE="$PWD/site" > log 2>&1 || { fail "make install-python: $(tail -3 log)"; return 1; }
    both && cat > join.py << 'END' || return 1
import numpy as np, cospec
one, many = cospec.read("one"), cospec.read("many")
assert set(many) - {"matrix.index.json"} == set(one), set(many) ^ set(one)
for name in ("matrix.npz", "row_labels.npz"):
    for part in ("data", "indices", "indptr"):
        a, b = getattr(one[name], part), getattr(many[name], part)
        assert a.dtype == b.dtype and np.array_equal(a, b), (name, part)
    assert one[name].shape == many[name].shape and one[name].form == many[name].form
for name, array in one["rows.npz"].items():
    assert array.dtype == many["rows.npz"][name].dtype and np.array_equal(array, many["rows.npz"][name]), name
open(sorted(__import__("glob").glob("many/rows-*"))[1], "ab").write(b"x")
try:
    cospec.read("many")
    raise SystemExit("a longer shard was read")
except ValueError as error:
    assert "rows-00002-of-" in str(error), error
print("ok")
END
    PYTHONPATH=site exits 0 "$python" join.py && [ "$(cat out)" = ok ]
}

run_tests
