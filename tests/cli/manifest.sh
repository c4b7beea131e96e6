# Manifests: what they hold, rerun, resume.
. tests/cli/lib.sh

toy="--objective masked --unmasked 2 --classes 4 --length 4 --tokens 3"

# shellcheck disable=SC2086 # word splitting is wanted
test_holds_the_run() {
    exits 0 "$COSPEC" toy $toy --seed 5 --threads 2 -o d || return 1
    for key in command arguments options given argv version commit program_sha256 libraries openblas openblas_kernel arpack jansson \
        libzip xxhash threads seed inputs result exit_code wall_seconds; do
        grep -q "\"$key\":" d/manifest.json || { fail "no $key"; return 1; }
    done
    [ "$(number seed d/manifest.json)" = 5 ] && [ "$(number threads d/manifest.json)" = 2 ]
}

test_hashes_inputs() {
    printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' > m.mtx
    exits 0 "$COSPEC" svd m.mtx -k 1 -o d && grep -q "$(sha256sum < m.mtx | cut -d' ' -f1)" d/manifest.json
}

# shellcheck disable=SC2086
test_rerun() {
    exits 0 "$COSPEC" toy $toy --json -o a && cp out first || return 1
    exits 0 "$COSPEC" rerun a/manifest.json -o b && cmp -s out first && cmp -s a/toy.json b/toy.json && cmp -s a/toy.csv b/toy.csv &&
        exits 0 "$COSPEC" rerun b/manifest.json && cmp -s out first || fail "${why:-results differ}"
}

test_rerun_of_config() {
    echo '{"objective": "gvp", "segmentation": "random", "groups": 2, "classes": 3, "length": 5, "tokens": 2}' > c.json
    exits 0 "$COSPEC" toy --config c.json -o a && rm c.json && exits 0 "$COSPEC" rerun a/manifest.json -o b && cmp -s a/toy.json b/toy.json
}

test_rerun_of_a_build() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective masked --unmasked 2 --draws 3 --seed 11 -o a &&
        exits 0 "$COSPEC" rerun a/manifest.json -o b && cmp -s a/matrix.npz b/matrix.npz || return 1
    printf 'x\tanother line\n' >> c.tsv
    refuses 3 "an input has changed" "$COSPEC" rerun a/manifest.json -o c && exits 0 "$COSPEC" rerun a/manifest.json -o c --force || return 1
    rm c.tsv
    refuses 3 "which was made in" "$COSPEC" rerun a/manifest.json -o e
}

test_rerun_of_something_else() {
    echo '{"a": 1}' > x.json; refuses 3 "not a manifest" "$COSPEC" rerun x.json || return 1
    echo 'text' > x.json; refuses 3 "x.json:1" "$COSPEC" rerun x.json || return 1
    refuses 3 "none.json" "$COSPEC" rerun none.json || return 1
    echo '{"command": "toy", "options": {}, "given": ["classes"]}' > x.json; refuses 3 "\"classes\" has no value" "$COSPEC" rerun x.json
}

# shellcheck disable=SC2086
test_resume() {
    exits 0 "$COSPEC" toy $toy --resume --json -o d && cp out first && cp d/manifest.json m || return 1
    exits 0 "$COSPEC" toy $toy --resume --json -o d && cmp -s out first && cmp -s d/manifest.json m && says "kept" || { fail "${why:-not kept}"; return 1; }
    exits 0 "$COSPEC" toy $toy --resume --csv -o d && cmp -s out d/toy.csv || { fail "${why:-csv differs}"; return 1; }
    refuses 2 "another --classes" "$COSPEC" toy --objective masked --unmasked 2 --classes 5 --length 4 --tokens 3 --resume -o d || return 1
    refuses 2 "--resume needs -o" "$COSPEC" toy $toy --resume || return 1
    exits 0 "$COSPEC" toy $toy --resume --force -o d && ! cmp -s d/manifest.json m
}

test_resume_sees_changed_inputs() {
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n' > m.mtx
    exits 0 "$COSPEC" svd m.mtx -k all --json -o d --resume && [ "$(number k out)" = 2 ] || return 1
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 3 1\n' > m.mtx
    exits 0 "$COSPEC" svd m.mtx -k all --json -o d --resume && [ "$(number k out)" = 3 ]
}

for t in holds_the_run hashes_inputs rerun rerun_of_config rerun_of_a_build rerun_of_something_else resume resume_sees_changed_inputs; do
    check $t
done
