# cospec train on the CUDA plug-in: its sources run by the emulator, as a plug-in that the program loads. Same training as
# on the CPU, the same bytes when repeated, nothing silent.
. tests/cli/lib.sh
plugin=${CUDA_PLUGIN:-$(dirname "$COSPEC")/tests/cuda_emulation/cospec-emulated.so} # or the real one, where there is a GPU

small="--corpus c.tsv --width 16 --batch 4 --max-length 16 --steps 5 --log-every 1 --lr 0.01 --force"
# shellcheck disable=SC2086
on_cpu() { exits 0 "$COSPEC" train $small --device cpu "$@"; }
# shellcheck disable=SC2086
on_cuda() { exits 0 env COSPEC_PLUGIN="$plugin" "$COSPEC" train $small --device cuda "$@"; }

# Losses of two logs, line by line, within a tolerance; both have 5 lines.
same_losses() {
    cut -d, -f3 "$1/log.csv" | tail -n +2 > one
    cut -d, -f3 "$2/log.csv" | tail -n +2 > two
    near_lists one two "$3" 5
}

# Five steps of float: about a thousand roundings of 6e-8 in losses of 3. bf16 keeps 8 bits: 2^-8 of 3 a step.
test_every_form() {
    [ -f "$plugin" ] || { skip every_form "no C++ compiler"; return 0; }
    small_corpus c.tsv
    for objective in ar diverse-ar multi-token offset-ar mae-lm linear; do
        case $objective in linear) more="--layers 1 --heads 1" ;; *) more="--layers 2 --heads 2 --dropout 0.1" ;; esac
        # shellcheck disable=SC2086
        on_cpu --objective $objective $more -o cpu && on_cuda --objective $objective $more --precision fp32 -o f32 && ! grep -q bf16 err && same_losses cpu f32 2e-4 &&
            on_cuda --objective $objective $more -o bf16 && grep -q 'activations are bf16 on the GPU' err && same_losses cpu bf16 0.06 || { fail "$objective: $why"; return 1; }
    done
    number parameters out > /dev/null && grep -q '"device": "cuda (bf16)"' bf16/*.json || fail "the result does not name the device: $(head -c 300 bf16/train.json)"
}

test_same_bytes_again() {
    [ -f "$plugin" ] || { skip same_bytes_again "no C++ compiler"; return 0; }
    small_corpus c.tsv
    for _ in 1 2; do
        on_cuda --objective diverse-ar --layers 1 --heads 2 --dropout 0.1 --precision bf16 -o d || return 1
        sha256sum < d/model.safetensors >> sums
    done
    [ "$(sort -u sums | wc -l)" = 1 ] || fail "$(cat sums)"
}

# The fastest algorithm, which in the emulation splits sums in another way than the first; recorded, so that a run goes on with it.
test_search_products() {
    [ -f "$plugin" ] || { skip search_products "no C++ compiler"; return 0; }
    small_corpus c.tsv
    form="--objective ar --layers 1 --heads 2"
    # shellcheck disable=SC2086
    on_cpu $form -o cpu && on_cuda $form -o first && on_cuda $form --search-products -o d && ! grep -q slow err && same_losses cpu d 0.06 || { fail "$why $(cat err)"; return 1; }
    [ -n "${CUDA_PLUGIN:-}" ] || ! cmp -s first/model.safetensors d/model.safetensors || { fail "the first algorithm was taken"; return 1; }
    grep -q '"search-products": true' d/manifest.json && grep -q '"search_products": true' d/checkpoint-5/trainer.json && grep -q '"search_products": false' first/checkpoint-5/trainer.json ||
        { fail "not recorded"; return 1; }
    # shellcheck disable=SC2086
    refuses 2 "d belongs to a run with --search-products" env COSPEC_PLUGIN="$plugin" "$COSPEC" train ${small% --force} $form --device cuda --resume -o d &&
        refuses 2 "--search-products needs --precision bf16" env COSPEC_PLUGIN="$plugin" "$COSPEC" train $small $form --device cuda --precision fp32 --search-products -o e &&
        refuses 2 "--search-products needs --device cuda" "$COSPEC" train $small $form --device auto --search-products -o e &&
        exits 0 env COSPEC_PLUGIN="$plugin" "$COSPEC" train ${small% --force} $form --device cuda --search-products --resume -o d
}

# The library has no algorithm: reported, with the product's sizes.
test_refused_products() {
    [ -f "$plugin" ] || { skip refused_products "no C++ compiler"; return 0; }
    [ -z "${CUDA_PLUGIN:-}" ] || { skip refused_products "a GPU cannot be made to refuse"; return 0; }
    small_corpus c.tsv
    COSPEC_EMULATED_STRICT=1; export COSPEC_EMULATED_STRICT
    on_cuda --objective ar --layers 1 --heads 2 -o d && ! grep -q refuses err && on_cuda --objective ar --layers 1 --width 20 --heads 2 -o d &&
        grep -q 'slow: cuBLASLt refuses product 60 x' err || fail "$why: $(cat err)"
    unset COSPEC_EMULATED_STRICT
}

test_plugin_absent() {
    small_corpus c.tsv
    # shellcheck disable=SC2086
    refuses 5 "no GPU: the plug-in /nonexistent.so: No such file" env COSPEC_PLUGIN=/nonexistent.so "$COSPEC" train $small --objective ar --device cuda -o d && [ ! -e d/log.csv ] || return 1
    # shellcheck disable=SC2086
    exits 0 env COSPEC_PLUGIN=/nonexistent.so "$COSPEC" train $small --objective ar --layers 1 --heads 2 --device auto -o d &&
        { grep -q "on the CPU: /nonexistent.so: no GPU" err || fail "no note: $(cat err)"; }
}

run_tests
