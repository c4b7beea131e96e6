# The program where /proc is not mounted (an empty file system covers it): the same files, and child processes still start.
. tests/cli/lib.sh

# Runs the commands of the script in a namespace in which /proc is empty.
covered() { unshare "$namespace" sh -c 'mount -t tmpfs none /proc && [ ! -e /proc/self ] && . ./script'; }

test_files() {
    sanitized files && return
    for namespace in -m -rm ''; do [ -n "$namespace" ] && unshare "$namespace" mount -t tmpfs none /proc 2> /dev/null && break; done
    [ -n "$namespace" ] || { skip files "/proc cannot be covered: no mount namespace"; return 0; }
    small_corpus c.tsv && ln -s "$COSPEC" cospec
    printf '{"steps": [{"run": {"t": "toy --objective ar --classes 2 --length 4 --tokens 2", "f": "plot toy-spectra ar=@t/toy.csv"}}]}\n' > s.json
    printf '{{steps}}\n' > t.html
    # A relative name of the program; a manifest with its build id; tasks; steps in child processes.
    printf '%s\n' 'set -e; c=./cospec; mkdir "$to"' '$c cooc --corpus c.tsv --objective ar --context nearest:1 -o "$to/m" -q' '$c svd "$to/m" -k 3 -o "$to/s" -q > /dev/null' \
        '$c train --corpus c.tsv --width 16 --layers 1 --heads 2 --batch 8 --max-length 16 --steps 1 --objective ar -o "$to/model" -q' \
        '$c probe "$to/model" --tasks c.tsv --penalties 0.1 -o "$to/p" -q > /dev/null' '$c reproduce --steps s.json --template t.html -o "$to/r" > /dev/null' \
        '$c svd "$to/m" -k 3 -o "$to/s" --resume > /dev/null' > script
    exits 0 env to=one sh ./script || return 1
    to=two; export to
    exits 0 covered && says "two/s: already finished; kept" || return 1
    for file in m/matrix.npz s/svd.csv model/model.safetensors p/tasks.csv p/c/predictions.csv r/t/toy.csv; do
        cmp -s "one/$file" "two/$file" || { fail "$file differs"; return 1; }
    done
    [ "$(sed -n '/program_build_id/p' one/m/manifest.json)" = "$(sed -n '/program_build_id/p' two/m/manifest.json)" ] && grep -q '"exit": 0' two/r/f/step.json || fail "another program: $(cat two/r/f/step.json)"
}

run_tests
