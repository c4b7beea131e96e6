# Manifests: what they hold, rerun, resume.
. tests/cli/lib.sh

toy="--objective masked --unmasked 2 --classes 4 --length 4 --tokens 3"

# shellcheck disable=SC2086 # word splitting is wanted
test_holds_the_run() {
    exits 0 "$COSPEC" toy $toy --seed 5 --threads 2 -o d || return 1
    for key in command arguments options given argv version commit program_build_id libraries openblas openblas_kernel arpack jansson \
        xxhash threads seed inputs result exit_code wall_seconds processor_seconds; do
        grep -q "\"$key\":" d/manifest.json || { fail "no $key"; return 1; }
    done
    [ "$(number seed d/manifest.json)" = 5 ] && [ "$(number threads d/manifest.json)" = 2 ] || return 1
    grep -q "\"program_build_id\": \"$(readelf -n "$COSPEC" | sed -n 's/.*Build ID: //p')\"" d/manifest.json || fail "$(grep build_id d/manifest.json)"
}

test_hashes_inputs() {
    printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' > m.mtx
    exits 0 "$COSPEC" svd m.mtx -k 1 -o d && grep -q "$(sha256sum < m.mtx | cut -d' ' -f1)" d/manifest.json
}

# shellcheck disable=SC2086
test_rerun() {
    exits 0 "$COSPEC" toy $toy --json -o a && cp out first || return 1
    exits 0 "$COSPEC" rerun a/manifest.json -o b && cmp -s out first && cmp -s a/toy.json b/toy.json && cmp -s a/toy.csv b/toy.csv &&
        exits 0 "$COSPEC" rerun b/manifest.json && cmp -s out first || { fail "${why:-results differ}"; return 1; }
    # of other words it is another run
    sed -i 's/"classes": "4"/"classes": "5"/' b/manifest.json
    refuses 3 "b/manifest.json: was changed or damaged after cospec wrote it; give --force to repeat it as it is" "$COSPEC" rerun b/manifest.json && exits 0 "$COSPEC" rerun b/manifest.json --force && ! cmp -s out first
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
    refuses 3 "an input has changed since the run: c.tsv: its SHA-256 was " "$COSPEC" rerun a/manifest.json -o c &&
        says "and is $(sha256sum < c.tsv | cut -d' ' -f1)" && exits 0 "$COSPEC" rerun a/manifest.json -o c --force || return 1
    rm c.tsv
    refuses 3 "which was created in" "$COSPEC" rerun a/manifest.json -o e
}

test_rerun_of_something_else() {
    echo '{"a": 1}' > x.json; refuses 3 "not a manifest" "$COSPEC" rerun x.json || return 1
    echo 'text' > x.json; refuses 3 "x.json:1" "$COSPEC" rerun x.json || return 1
    refuses 3 "none.json" "$COSPEC" rerun none.json || return 1
    echo '{"command": "rerun", "options": {}, "given": [], "arguments": ["x.json"]}' > x.json
    refuses 3 "runs are nested more than 8 deep; check that no study or manifest runs itself" "$COSPEC" rerun x.json || return 1
    echo '{"command": "toy", "options": {}, "given": ["classes"]}' > x.json; refuses 3 "\"classes\" has no value" "$COSPEC" rerun x.json || return 1
    echo '{"command": "toy", "options": {"length": "x"}, "given": ["length"], "arguments": []}' > x.json; refuses 2 "x.json: --length: 'x' is not an integer" "$COSPEC" rerun x.json || return 1
    echo '{"command": "toys", "options": {}, "given": []}' > x.json; refuses 2 "x.json: unknown command 'toys'" "$COSPEC" rerun x.json
}

# shellcheck disable=SC2086
test_resume() {
    exits 0 "$COSPEC" toy $toy --resume --json -o d && cp out first && cp d/manifest.json m || return 1
    exits 0 "$COSPEC" toy $toy --resume --json -o d && cmp -s out first && cmp -s d/manifest.json m && says "kept" || { fail "${why:-not kept}"; return 1; }
    exits 0 "$COSPEC" toy $toy --resume --csv -o d && cmp -s out d/toy.csv || { fail "${why:-csv differs}"; return 1; }
    # another program's result is computed again
    sed -i 's/\("program_build_id": "\)./\1x/; s/^  "sha256"/  "sha256 before"/' d/manifest.json && exits 0 "$COSPEC" toy $toy --resume --json -o d && cmp -s out first && ! grep -q kept err && grep -q '"program_build_id": "[0-9a-f]' d/manifest.json || { fail "${why:-another program}"; return 1; }
    sed -i '/"token-sets":/d; s/^  "sha256"/  "sha256 before"/' d/manifest.json && exits 0 "$COSPEC" toy $toy --resume --json -o d && cmp -s out first || { fail "${why:-an option added after the manifest}"; return 1; }
    refuses 2 "d belongs to a run with --token-sets" "$COSPEC" toy $toy --token-sets literal --resume -o d || return 1
    refuses 2 "d belongs to a run with --classes" "$COSPEC" toy --objective masked --unmasked 2 --classes 5 --length 4 --tokens 3 --resume -o d || return 1
    refuses 2 "--resume needs -o" "$COSPEC" toy $toy --resume || return 1
    exits 0 "$COSPEC" toy $toy --resume --force -o d && ! cmp -s d/manifest.json m
}

# The record of svd and density describes a matrix by its matrix.json.
test_changed_sidecar() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o m && cp m/matrix.json whole || return 1
    for command in "svd m -k 2" "density m"; do
        exits 0 "$COSPEC" $command -o d --force && grep -q '"path": "m/matrix.npz"' d/manifest.json && grep -q "$(sha256sum < m/matrix.json | cut -d' ' -f1)" d/manifest.json || { fail "${why:-$command: matrix.json is no input}"; return 1; }
        sed -i 's/"objective": "ar"/"objective": "qq"/' m/matrix.json
        refuses 3 "m/matrix.json: its SHA-256 is $(sha256sum < m/matrix.json | cut -d' ' -f1), but manifest.json says $(sha256sum < whole | cut -d' ' -f1)" "$COSPEC" $command || return 1
        echo '{}' > m/matrix.json
        refuses 3 "m/matrix.json: its SHA-256" "$COSPEC" $command && refuses 3 "m/matrix.json: its SHA-256" "$COSPEC" rerun d || return 1
        rm m/matrix.json
        refuses 3 "m/matrix.json: is missing, but m/manifest.json lists it" "$COSPEC" $command || return 1
        cp whole m/matrix.json
    done
}

# A form that was removed, or that the command never had, cannot be printed.
# shellcheck disable=SC2086
test_resume_without_results() {
    exits 0 "$COSPEC" toy $toy -o d && rm d/toy.csv || return 1
    exits 0 "$COSPEC" toy $toy --resume --csv -o d && says "d/toy.csv: is missing, but d/manifest.json lists it" && cmp -s out d/toy.csv || { fail "${why:-not run anew}"; return 1; }
    # recorded by nobody, as before there were digests
    edited d; rm d/toy.csv
    refuses 3 "d: the finished run has no toy.csv to print; give --resume --force to run it again" "$COSPEC" toy $toy --resume --csv -o d || return 1
    exits 0 "$COSPEC" toy $toy --resume --json -o d && cmp -s out d/toy.json || { fail "${why:-JSON differs}"; return 1; }
    exits 0 "$COSPEC" toy $toy --resume -o d && head -1 out | grep -q '^field  *value$' || { fail "${why:-no fields}"; return 1; }
    rm d/toy.json
    refuses 3 "has no toy.json" "$COSPEC" toy $toy --resume -o d || return 1
    exits 0 "$COSPEC" toy $toy --resume --force --csv -o d && cmp -s out d/toy.csv || fail "${why:-not run anew}"
}

test_changed_results() {
    small_corpus c.tsv
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o m && cp -r m whole || return 1
    for f in m/*; do
        [ $f = m/manifest.json ] || [ "$(grep -cF "$(sha256sum < $f | cut -d' ' -f1)" m/manifest.json)" = 1 ] || { fail "$f: no digest"; return 1; }
    done
    echo word >> m/vocab.txt
    refuses 3 "m/vocab.txt: its SHA-256 is $(sha256sum < m/vocab.txt | cut -d' ' -f1), but manifest.json says $(sha256sum < whole/vocab.txt | cut -d' ' -f1)" "$COSPEC" inspect m &&
        says "'cospec rerun m/manifest.json -o NEW' creates it again; to read it unchecked, remove manifest.json" && exits 0 "$COSPEC" svd m -k 1 || return 1
    exits 0 "$COSPEC" cooc --corpus c.tsv --objective ar --context nearest:1 -o m --resume && says "it was changed or damaged" && cmp -s m/vocab.txt whole/vocab.txt || { fail "${why:-not made again}"; return 1; }
    exits 0 "$COSPEC" inspect m --row 0 || return 1
    # another command's files in the same folder stay recorded
    exits 0 "$COSPEC" svd m -k 1 -o m && grep -q '"path": "svd.json"' m/manifest.json && echo word >> m/vocab.txt && refuses 3 "m/vocab.txt: its SHA-256" "$COSPEC" inspect m || return 1
    rm m/manifest.json && refuses 3 vocab.txt "$COSPEC" inspect m && ! says "its SHA-256" 2> /dev/null || fail "${why:-a digest of nobody}"
    why=
}

test_resume_sees_changed_inputs() {
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n' > m.mtx
    exits 0 "$COSPEC" svd m.mtx -k all --json -o d --resume && [ "$(number k out)" = 2 ] || return 1
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 3 1\n' > m.mtx
    exits 0 "$COSPEC" svd m.mtx -k all --json -o d --resume && [ "$(number k out)" = 3 ]
}

# Runs "$@" with files of at most $1 blocks of 512 bytes; it must fail, print nothing and leave nothing in the folder d.
leaves_nothing() {
    blocks=$1; shift
    (ulimit -f "$blocks"; "$COSPEC" "$@" -o d > limited 2> err; echo $? > code)
    [ "$(cat code)" = 3 ] || { fail "exit $(cat code): $(cat err)"; return 1; }
    [ ! -s limited ] || { fail "failed but printed: $(head -c 100 limited)"; return 1; }
    [ -z "$(ls -A d)" ] || { fail "left behind: $(ls -A d)"; return 1; }
    says "File too large" || return 1
    exits 0 "$COSPEC" "$@" -o d
}

# Two blocks hold the result, but not the manifest.
test_all_or_nothing() { leaves_nothing 2 toy --objective ar --classes 2 --length 400 --tokens 2 --json; }

# A folder in the manifest's place: everything is written but that.
test_all_or_nothing_of_a_build() {
    small_corpus c.tsv
    for build in "--objective ar --context nearest:1" "--objective masked --unmasked 2 --draws 1,2"; do
        mkdir -p d/manifest.json
        # shellcheck disable=SC2086
        refuses 3 "manifest.json: is a directory" "$COSPEC" cooc --corpus c.tsv $build -o d --force || return 1
        [ -z "$(find d -type f)" ] || { fail "left behind: $(find d -type f)"; return 1; }
        rm -r d/manifest.json
        # shellcheck disable=SC2086
        exits 0 "$COSPEC" cooc --corpus c.tsv $build -o d && [ -f d/manifest.json ] && rm -r d || return 1
    done
}

test_all_or_nothing_of_vectors() {
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n400 400 400"; for (i = 1; i <= 400; ++i) print i, i, i }' > m.mtx
    leaves_nothing 20 svd m.mtx -k 20 --vectors && [ -f d/u.npy ]
}

# A run does not remove files that were in the folder before.
# shellcheck disable=SC2086
test_failure_spares_other_files() {
    mkdir -p d/manifest.json && echo mine > d/mine.txt && echo mine > d/toy.csv
    refuses 2 "toy.csv exists" "$COSPEC" toy $toy -o d && [ "$(cat d/toy.csv)" = mine ] && [ ! -e d/toy.json ] || { fail "${why:-$(ls d)}"; return 1; }
    refuses 3 "manifest.json: is a directory" "$COSPEC" toy $toy --force -o d || return 1
    [ ! -e d/toy.csv ] && [ ! -e d/toy.json ] && [ "$(cat d/mine.txt)" = mine ] || fail "$(ls d)"
}

# A run that replaced files and failed takes away the manifest that described the old ones; one that failed before leaves all of it.
# shellcheck disable=SC2086
test_failure_under_force() {
    # a name so long that the manifest, which is written last, is larger than the results: the limit is between
    small="--objective ar --classes 2 --length 400 --tokens 2" long=$(printf 'd%0240d' 0)
    exits 0 "$COSPEC" toy $small -o d || return 1
    mkdir d/toy.keep && mv d/toy.json d/toy.keep && mkdir d/toy.json
    refuses 3 "toy.json: is a directory" "$COSPEC" toy $small --force -o d && [ -f d/toy.csv ] && [ -f d/manifest.json ] || { fail "${why:-$(ls -A d)}"; return 1; }
    rmdir d/toy.json && mv d/toy.keep/toy.json d && rmdir d/toy.keep
    exits 0 "$COSPEC" toy $small -o "$long" && (ulimit -f 5; "$COSPEC" toy $small --force -o "$long" > out 2> err; echo $? > code)
    [ "$(cat code)" = 3 ] && [ -z "$(ls -A "$long")" ] || fail "exit $(cat code): $(ls -A "$long")"
}

run_tests
