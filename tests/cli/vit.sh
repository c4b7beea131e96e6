# Models of pictures from the command line.
. tests/cli/lib.sh

# Twelve pictures of two classes, stripes across and along, by number.
pictures() {
    mkdir -p p/across p/along
    i=0
    while [ $i -lt 24 ]; do
        class=across
        [ $((i % 2)) = 0 ] || class=along
        awk -v s=$i 'BEGIN { srand(s); f = 6 * rand(); printf "P5 8 8 255\n"; for (k = 0; k < 64; k++) printf "%c", 65 + int(60 * (1 + sin(f + (s % 2 ? k % 8 : int(k / 8))))) }' > p/$class/$i.pgm
        i=$((i + 1))
    done
}

of_two="--patch 2 --width 16"
small="--corpus p --objective masked --mask-ratio 0.5 --arch vit --layers 2 --heads 2 --batch 8 --eval-every 20"

test_training() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 20 -o a --json || return 1
    [ "$(number vocabulary out)" = 2 ] && [ -f a/model.safetensors ] && [ ! -e a/tokenizer.json ] && grep -q '"loss": "squared-error"' a/config.json || { fail "$(tr -d '\n ' < out)"; return 1; }
    exits 0 "$COSPEC" train $small $of_two --steps 20 --threads 2 -o b && cmp a/model.safetensors b/model.safetensors || { fail "${why:-bits depend on threads}"; return 1; }
    exits 0 "$COSPEC" train $small $of_two --steps 10 --decoder-layers 1 --decoder-width 8 --target normalised --least-area 0.4 --flip -o m &&
        grep -q '"model_type": "vit_mae"' m/config.json && grep -q '"norm_pix_loss": true' m/config.json || { fail "${why:-$(cat m/config.json)}"; return 1; }
    awk -F, 'NR > 1 { bad += !($10 > 0 && $10 < ($2 - before) / $6); before = $2 } END { exit bad > 0 || NR < 2 }' m/log.csv || { fail "the time of batches is no part of that of steps: $(tr '\n' ' ' < m/log.csv)"; return 1; }
    exits 0 "$COSPEC" train --corpus p --objective masked --mask-ratio 0.5 --init-from a --steps 5 --batch 8 -o c || return 1
}

# The settings that --arch vit implies are in the manifest, and given ones take precedence.
test_recipe() {
    pictures
    vit="--corpus p --objective masked --mask-ratio 0.5 --arch vit --patch 2"
    exits 0 "$COSPEC" train $vit --dry-run --json && [ "$(number steps out)" = 7000 ] && small_one=$(number parameters out) || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    exits 0 "$COSPEC" train $vit --preset 1m --steps 9 --dry-run --json && [ "$(number steps out)" = 9 ] && [ "$(number parameters out)" -gt $((3 * small_one)) ] || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    exits 0 "$COSPEC" train $vit --layers 1 --batch 3 --steps 2 -o a && [ "$(number lr a/manifest.json)/$(number width a/manifest.json)/$(number batch a/manifest.json)" = 0.002/64/3 ] && grep -q '"position-table": "learned"' a/manifest.json || { fail "${why:-$(tr -d '\n ' < a/manifest.json)}"; return 1; }
    exits 0 "$COSPEC" train $vit --layers 1 --decoder-layers 1 --steps 2 -o m && grep -q '"position-table": "sines"' m/manifest.json || { fail "${why:-$(tr -d '\n ' < m/manifest.json)}"; return 1; }
    # The same command goes on, and keeps what is finished.
    vit="$vit --layers 1 --batch 3 --steps 40"
    exits 0 "$COSPEC" train $vit --save-every 2 --time-limit 0.001 -o r && grep -q '"finished": false' r/manifest.json &&
        exits 0 "$COSPEC" train $vit --save-every 2 --resume -o r && exits 0 "$COSPEC" train $vit -o s && cmp r/model.safetensors s/model.safetensors || { fail "${why:-$(tr -d '\n ' < r/manifest.json)}"; return 1; }
    sha256sum s/* > before
    exits 0 "$COSPEC" train $vit -o s --resume && sha256sum -c --quiet before || return 1
    refuses 2 "s belongs to a run with --lr 0.002, not 0.001" "$COSPEC" train $vit --lr 1e-3 -o s --resume || return 1
    exits 0 "$COSPEC" probe s p p -o q && exits 0 "$COSPEC" probe s p p -o q --resume || fail "${why:-probe}"
}

# The values of preprocessor_config.json reach the network: mean 0 and deviation 1 change nothing, others do. Other sizes are resized.
test_preprocessing() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 2 -o a && grep -q '"do_normalize": false' a/preprocessor_config.json &&
        grep -q preprocessor_config.json a/manifest.json && exits 0 "$COSPEC" features a p -o none || return 1
    rm a/manifest.json
    echo '{"do_normalize": true, "image_mean": 0, "image_std": 1}' > a/preprocessor_config.json
    exits 0 "$COSPEC" features a p -o plain && cmp none/layer-2.npy plain/layer-2.npy && grep -q preprocessor_config.json plain/manifest.json || { fail "${why:-mean 0 and deviation 1 change values}"; return 1; }
    echo '{"do_normalize": true, "image_mean": [0.5], "image_std": [0.25]}' > a/preprocessor_config.json
    exits 0 "$COSPEC" features a p -o normal && ! cmp -s none/layer-2.npy normal/layer-2.npy || { fail "${why:-the mean is ignored}"; return 1; }
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 -o r || return 1
    # predictions far outside of the range of pixels are scored as they are drawn: clipped
    echo '{"rescale_factor": 1e-6, "do_normalize": false}' > a/preprocessor_config.json
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 -o clipped && awk -F, '$1 == "model" && $2 == "l2" { n++; bad += !($4 > 0 && $4 <= 1) } END { exit !(n == 1 && !bad) }' clipped/reconstruct.csv || { fail "${why:-$(cat clipped/reconstruct.csv)}"; return 1; }
    echo '{"do_normalize": true, "image_mean": [0.5], "image_std": [0.25]}' > a/preprocessor_config.json
    mkdir q && awk 'BEGIN { printf "P5 12 10 255\n"; for (k = 0; k < 120; k++) printf "%c", 65 + k % 60 }' > q/1.pgm
    exits 0 "$COSPEC" features a q -o sized && grep -q 'images of 10 x 12 are read as 8 x 8, as preprocessor_config.json' err || { fail "$(cat err)"; return 1; }
    echo '{"do_pad": true}' > a/preprocessor_config.json
    refuses 3 "a/preprocessor_config.json: 'do_pad' is not supported" "$COSPEC" features a p -o x || return 1
    ln -sf ../blobs/gone a/preprocessor_config.json # of a cache that was emptied in part
    refuses 3 "a/preprocessor_config.json: No such file or directory; the symbolic link is there" "$COSPEC" features a p -o x
}

# Images of various sizes: --size and --crop of a folder, which the model's file keeps; decoded before or during training, with the same bits.
various() {
    mkdir -p p/across p/along
    i=0
    while [ $i -lt 24 ]; do
        class=across
        [ $((i % 2)) = 0 ] || class=along
        awk -v s=$i 'BEGIN { srand(s); h = 12 + s % 5; w = 20 - s % 7; printf "P5 %d %d 255\n", w, h; for (k = 0; k < h * w; k++) printf "%c", 65 + int(60 * (1 + sin(s + (s % 2 ? k % w : int(k / w))))) }' > p/$class/$i.pgm
        i=$((i + 1))
    done
}

test_sizes_and_streaming() {
    various
    refuses 3 "all pictures must have the same size; give --size and --crop" "$COSPEC" train $small $of_two --steps 10 -o a || return 1
    refuses 3 "exceeds the image" "$COSPEC" train $small $of_two --steps 10 --crop 16 -o a && refuses 2 "--size N or HxW" "$COSPEC" train $small $of_two --size 8x --steps 10 -o a || return 1
    sized="--size 9 --crop 8 --steps 10"
    exits 0 "$COSPEC" train $small $of_two $sized -o a && grep -q 'images of various sizes are read as 8 x 8$' err && ! grep -q 'decoded while' err || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" train $small $of_two $sized --image-memory 1 -o b && grep -q '24 images are decoded while the model trains' err || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" train $small $of_two $sized --image-memory 1 --threads 3 -o c && cmp a/model.safetensors b/model.safetensors && cmp b/model.safetensors c/model.safetensors && cmp a/checkpoint-10/trainer.json b/checkpoint-10/trainer.json || { fail "${why:-streaming changes bits}"; return 1; }
    exits 0 "$COSPEC" train $small $of_two $sized --image-memory 1 --save-every 2 --time-limit 0.001 -o d && exits 0 "$COSPEC" train $small $of_two $sized --save-every 2 --resume -o d && cmp a/model.safetensors d/model.safetensors || { fail "${why:-a resumed run differs}"; return 1; }
    exits 0 "$COSPEC" train $small $of_two $sized --least-area 0.3 -o e && exits 0 "$COSPEC" train $small $of_two $sized --least-area 0.3 --image-memory 1 --threads 2 -o f && cmp e/model.safetensors f/model.safetensors && ! cmp -s a/model.safetensors e/model.safetensors || { fail "${why:-augmented images differ}"; return 1; }
    exits 0 "$COSPEC" features a p -o x && grep -q 'images of various sizes are read as 8 x 8, as preprocessor_config.json' err && [ "$(number rows x/features.json 2>/dev/null || echo 24)" = 24 ] || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" features a p --size 8x8 -o y && ! cmp -s x/layer-2.npy y/layer-2.npy || { fail "${why:---size is ignored}"; return 1; }
    exits 0 "$COSPEC" probe a p && exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 -o r && exits 0 "$COSPEC" data stats p --size 8x10 --json && [ "$(number width out)" = 10 ] && exits 0 "$COSPEC" cooc --corpus p --size 8x8 --patch 2 --codes 5 --objective ar -o z || return 1
    printf 'a b c\n' > t.txt
    refuses 2 "--size needs pictures, but t.txt has none" "$COSPEC" cooc --corpus t.txt --size 8 --objective ar -o w
}

# A file that is cut or removed while the model trains ends the run, which names it.
test_images_that_break() {
    various
    for breaks in 'truncate -s 30' rm; do
        "$COSPEC" train $small $of_two --size 9 --crop 8 --image-memory 1 --steps 1000000 --log-every 1 -o a --force > out 2> err & pid=$!
        until grep -q '^2,' a/log.csv 2> /dev/null || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
        $breaks p/along/3.pgm
        wait $pid
        got=$?
        [ $got = 3 ] && says 'p/along/3.pgm: ' && [ ! -e a/model.safetensors ] && [ ! -s out ] || { fail "$breaks: exit $got: $(head -c 300 err)"; return 1; }
        rm -r a && various
    done
    ln -s loop loop # cannot be examined, by no user
    exits 0 "$COSPEC" train $small $of_two --size 9 --crop 8 --steps 1 -o b && refuses 3 "loop: cannot read: Too many levels of symbolic links" "$COSPEC" reconstruct b loop
}

# Baselines are fitted on the first of two sources, and all images of the second are reconstructed.
test_reconstruction_of_another() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 2 -o a || return 1
    mkdir q && cp p/along/1.pgm q/1.pgm
    awk 'BEGIN { printf "P5 8 8 255\n"; for (k = 0; k < 64; k++) printf "%c", 65 + k % 60 }' > q/2.pgm
    exits 0 "$COSPEC" reconstruct a p q --mask-ratio 0.5 -o r --json && [ "$(number pictures out)" = 2 ] && grep -q '"baselines": "p"' out && grep -q '"by": "gaussian"' out &&
        grep -q '"path": "p"' r/manifest.json && grep -q '"path": "q"' r/manifest.json || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    cp r/scores.csv one.csv && exits 0 "$COSPEC" reconstruct a p q --mask-ratio 0.5 --threads 2 -o r --force && cmp one.csv r/scores.csv || return 1
    exits 0 "$COSPEC" reconstruct a q q --mask-ratio 0.5 -o s && ! cmp -s one.csv s/scores.csv || { fail "${why:-TRAIN is ignored}"; return 1; }
    refuses 2 "--test-share does not apply if TEST is given" "$COSPEC" reconstruct a p q --test-share 0.5
    # where images are few, the ridge is large enough that the linear predictor does no harm
    exits 0 "$COSPEC" train --corpus field:fields=60,side=32 --arch vit --objective masked --mask-ratio 0.75 --layers 1 --width 8 --heads 1 --batch 4 --steps 1 -o f &&
        exits 0 "$COSPEC" reconstruct f field:fields=20,side=32,seed=3 field:fields=20,side=32,seed=4 -o g &&
        awk -F, '$2 == "l2" { v[$1] = $4 } END { exit !(v["gaussian"] < 1.02 * v["mean"]) }' g/reconstruct.csv || fail "${why:-$(cat g/reconstruct.csv)}"
}

test_reconstruction() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 20 -o a || return 1
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 -o r --json && [ "$(number hidden out)" = 8 ] && grep -q '"by": "gaussian"' out || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    [ "$(head -c 4 r/reconstruction.png | tail -c 3)" = PNG ] && head -1 r/scores.csv | grep -q '^picture,label,by,l2,psnr,ssim,perceptual$' || { fail "$(head -1 r/scores.csv)"; return 1; }
    # A picture a block: the jackknife of the mean is its standard error.
    awk -F, 'NR == FNR { if ($1 == "model" && $2 == "l2") se = $5 ; next } $1 == "model" && $2 == "l2" { n++; s += $4; q += $4 * $4 } END { v = (n - 1) / n * (q - s * s / n); exit !(n > 1 && v > 0 && v < 1.000001 * se * se && v > 0.999999 * se * se) }' r/reconstruct.csv r/reconstruct-blocks.csv || { fail "blocks: $(head -3 r/reconstruct-blocks.csv)"; return 1; }
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --threads 2 -o s && cmp r/scores.csv s/scores.csv && cmp r/reconstruction.png s/reconstruction.png || return 1
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --decode token --limit 2 --json && [ "$(number pictures out)" = 2 ] || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    refuses 2 "--decode must be once, groups:K, token or confidence:K, not 'all'" "$COSPEC" reconstruct a p --decode all || return 1
    refuses 2 "9 groups are not possible with 8 hidden patches" "$COSPEC" reconstruct a p --mask-ratio 0.5 --decode groups:9 || return 1
    exits 0 "$COSPEC" train --corpus p --objective ar --arch vit --patch 2 --layers 1 --width 8 --heads 2 --steps 2 -o b || return 1
    refuses 2 "a causal model predicts only the patch after each row" "$COSPEC" reconstruct b p
}

# The least error under ar of patches of one: 1 - r^2 along the first row and column but their first, (1 - r^2)^2 elsewhere.
test_optimum() {
    # of large fields it would take minutes
    exits 0 "$COSPEC" train --corpus field:side=96,fields=40 --objective masked --arch vit --patch 24 --layers 1 --width 8 --heads 2 --batch 4 --steps 1 --json -o large &&
        says "the optimum is not computed: fields have 9216 pixels, more than 4096" && ! grep -q optimum out || { fail "${why:-$(cat out)}"; return 1; }
    of_fields="--corpus field:side=4,correlation=0.7,fields=200 --arch vit --patch 1 --layers 1 --width 8 --heads 2 --batch 8 --steps 3"
    exits 0 "$COSPEC" train $of_fields --objective ar -o a --json && near "$(number optimum out)" 0.36006 1e-12 || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    near "$(number above_optimum out)" "$(awk -v e="$(number eval_loss out)" 'BEGIN { printf "%.12g", e / 0.36006 - 1 }')" 1e-9 || { fail "$(tr -d '\n ' < out)"; return 1; }
    exits 0 "$COSPEC" train $of_fields --objective ar --target normalised -o b --json && ! grep -q optimum out || { fail "${why:-normalised values have an optimum}"; return 1; }
    exits 0 "$COSPEC" train $of_fields --objective gvp --query-position off -o c --json && ! grep -q optimum out || { fail "${why:-blind queries have an optimum}"; return 1; }
    exits 0 "$COSPEC" train $of_fields --objective "masked(mask-ratio=0.5) until 0.5, bernoulli-masked" -o d --json && ! grep -q optimum out || { fail "${why:-a schedule has an optimum}"; return 1; }
    refuses 2 "'rho=1' is not one of side=" "$COSPEC" train --corpus field:rho=1 --objective ar --arch vit -o e
}

# Block masks have the grid of the pictures, 4 x 4 patches here.
test_blocks() {
    pictures
    of_blocks="--corpus p --objective block-masked --arch vit --layers 1 --heads 2 --batch 8"
    exits 0 "$COSPEC" train $of_blocks $of_two --steps 5 -o a && grep -q 'block-masked(mask-ratio=0.4,columns=4)' a/config.json || { fail "${why:-$(grep -o 'block-masked[^"]*' a/config.json)}"; return 1; }
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.4 -o uniform && exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.4 --masks blocks --decode groups:2 -o blocks --json && [ "$(number hidden out)" = 6 ] && grep -q '"masks": "blocks"' out && ! cmp -s uniform/scores.csv blocks/scores.csv || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    refuses 2 "columns 8: a row of the pictures has 4 patches" "$COSPEC" train $of_blocks $of_two --columns 8 --steps 5 -o b &&
        refuses 2 "block-masked needs patches in raster order, not in the order hilbert" "$COSPEC" train $of_blocks $of_two --order hilbert --steps 5 -o b || return 1
    exits 0 "$COSPEC" train --corpus p --objective randsac --t 2 --arch vit --layers 1 --heads 2 --batch 8 $of_two --steps 5 -o q && grep -q 'square-ar(t=2,columns=4)' q/config.json || { fail "${why:-$(grep -o 'square-ar[^"]*' q/config.json)}"; return 1; }
    refuses 2 "square-ar needs patches in raster order, not in the order squares:2" "$COSPEC" train --corpus p --objective square-ar --t 2 --arch vit --order squares:2 --steps 5 -o b || return 1
    of_parts="--corpus p --arch vit --layers 1 --heads 2 --batch 8 $of_two --steps 6"
    mixed='mix:0.5*masked(mask-ratio=0.5)+0.5*block-masked(mask-ratio=0.4)' phases='block-masked(mask-ratio=0.4) until 0.5, masked(mask-ratio=0.5)'
    exits 0 "$COSPEC" train $of_parts --objective "$mixed" -o m && grep -q 'block-masked(mask-ratio=0.4,columns=4)' m/config.json || { fail "${why:-$(grep -o 'mix:[^"]*' m/config.json)}"; return 1; }
    exits 0 "$COSPEC" train $of_parts --objective "$phases" -o s --json && grep -q 'block-masked(mask-ratio=0.4,columns=4) until 0.5' out || { fail "${why:-$(grep objective out)}"; return 1; }
    refuses 2 "not in the order hilbert" "$COSPEC" train $of_parts --objective "$mixed" --order hilbert -o b &&
        refuses 2 "phase 1: block-masked needs patches in raster order, not in the order hilbert" "$COSPEC" train $of_parts --objective "$phases" --order hilbert -o b
}

# The losses of a model that predicts codes, picture by picture, are those of its evaluation, and so is the unigram.
test_codes() {
    pictures
    for input in pixels codes; do
        exits 0 "$COSPEC" train --corpus p --objective ar --arch vit --layers 2 --heads 2 --batch 8 $of_two --target codes --codes 6 --input $input --steps 20 --keep-at 10 -o $input --json || return 1
        model=$(number eval_loss out) unigram=$(number unigram_loss out)
        [ "$(number vocabulary out)" = 8 ] && cmp $input/codes.safetensors $input/checkpoint-10/codes.safetensors || { fail "$(tr -d '\n ' < out)"; return 1; }
        exits 0 "$COSPEC" perplexity $input p --split test --unigram p --json || return 1
        near "$(number nll out)" "$model" 1e-6 && near "$(number unigram_nll out)" "$unigram" 1e-9 || { fail "$input: $(number nll out) and $(number unigram_nll out), in training $model and $unigram"; return 1; }
        exits 0 "$COSPEC" probe $input p --seeds 1 --layer 2 -o $input-probe && cut -d, -f2,4,5 $input-probe/probe.csv | grep -q "^$input,linear,accuracy" || { fail "${why:-no baseline of $input}"; return 1; }
        exits 0 "$COSPEC" finetune $input p --epochs 1 --seeds 1 --save-model -o $input-f && exits 0 "$COSPEC" features $input-f/runs/* p -o $input-s || return 1
    done
    exits 0 "$COSPEC" train --corpus p --objective masked --mask-ratio 0.5 --init-from codes --steps 5 --batch 8 -o c && cmp codes/codes.safetensors c/codes.safetensors && grep -q '"path": "codes/codes.safetensors"' c/manifest.json || return 1
    cp -r codes other && cp pixels/codes.safetensors other/ && printf '\001' | dd of=other/codes.safetensors bs=1 seek=$(($(wc -c < other/codes.safetensors) - 9)) conv=notrunc 2> /dev/null
    refuses 3 "other/codes.safetensors: its SHA-256" "$COSPEC" perplexity other p && refuses 3 "other/codes.safetensors: its SHA-256" "$COSPEC" train --corpus p --objective masked --mask-ratio 0.5 --init-from other --steps 1 --batch 8 -o d || return 1
    for more in "" "--decoder-layers 1" "--decoder-layers 1 --decoder-attention cross"; do
        exits 0 "$COSPEC" train $small $of_two --target codes --codes 6 --steps 5 $more -o m --force && exits 0 "$COSPEC" perplexity m p || return 1
    done
    refuses 2 "--codes needs --target codes" "$COSPEC" train $small $of_two --codes 6 -o d &&
        refuses 2 "--flip needs pixel targets" "$COSPEC" train $small $of_two --target codes --codes 6 --flip -o d &&
        refuses 3 "500 codes requested, but only" "$COSPEC" train $small $of_two --target codes --codes 500 -o d || return 1
    rm codes/codes.safetensors
    refuses 2 "it has no codes.safetensors" "$COSPEC" perplexity codes p
}

# The order of the patches of a picture: the model keeps it, and commands read pictures by it.
test_orders() {
    pictures
    for order in random hilbert squares:2; do
        exits 0 "$COSPEC" train --corpus p --objective ar --arch vit --layers 1 --heads 2 --batch 8 $of_two --order $order --target codes --codes 6 --steps 10 -o a --force --json || return 1
        model=$(number eval_loss out)
        exits 0 "$COSPEC" perplexity a p --split test --json && near "$(number nll out)" "$model" 1e-6 || { fail "$order: $(number nll out), in training $model"; return 1; }
        grep -q "\"order\": \"$order" a/config.json || { fail "$(cat a/config.json)"; return 1; }
    done
    exits 0 "$COSPEC" train --corpus p --objective gvp --groups 3 --arch vit --layers 1 --heads 2 --batch 8 $of_two --order squares:2 --least-area 0.5 --steps 5 -o g && exits 0 "$COSPEC" reconstruct g p --decode groups:2 || return 1
    exits 0 "$COSPEC" train $small $of_two --order hilbert --target codes --codes 6 --input codes --steps 5 -o h && exits 0 "$COSPEC" probe h p --seeds 1 || return 1
    for input in pixels codes; do
        exits 0 "$COSPEC" train --corpus p --objective gvp --groups 3 --arch vit --layers 1 --heads 2 --batch 8 $of_two --target codes --codes 6 --input $input --order random --steps 5 -o i --force && exits 0 "$COSPEC" reconstruct i p --mask-ratio 0.5 --decode groups:3 -o j --force || return 1
        cp j/scores.csv first.csv && exits 0 "$COSPEC" reconstruct i p --mask-ratio 0.5 --decode groups:3 --threads 2 -o j --force && cmp first.csv j/scores.csv || return 1
    done
    for k in 5 3 1 0 2 4 15 14 13 12 6 7 8 9 10 11; do echo $k; done > order.txt
    exits 0 "$COSPEC" train --corpus p --objective ar --arch vit --layers 1 --heads 2 --batch 8 $of_two --order order.txt --target codes --codes 6 --steps 10 -o f --json || return 1
    model=$(number eval_loss out)
    exits 0 "$COSPEC" perplexity f p --split test --json && near "$(number nll out)" "$model" 1e-6 && grep -q '"order": "5,3,1,0,2,4,15,14,13,12,6,7,8,9,10,11"' f/config.json && grep -q order.txt f/manifest.json || { fail "${why:-$(cat f/config.json)}"; return 1; }
    with="train $small $of_two --steps 5 -o b --order"
    sed '4s/.*/5/' order.txt > twice.txt && refuses 3 "twice.txt: line 4: patch 5 is listed twice, first at 1" "$COSPEC" $with twice.txt || return 1
    sed '7s/.*/16/' order.txt > far.txt && refuses 3 "far.txt: line 7: patch 16 is not in 0..15" "$COSPEC" $with far.txt || return 1
    sed '2s/.*/3x/' order.txt > no.txt && refuses 3 "no.txt: line 2: '3x' is not a patch" "$COSPEC" $with no.txt || return 1
    head -15 order.txt > few.txt && refuses 3 "an order of 15 patches, but pictures have 16" "$COSPEC" $with few.txt || return 1
    refuses 2 'order "spiral" of patches' "$COSPEC" train $small $of_two --order spiral -o b &&
        refuses 2 "expected squares:S" "$COSPEC" train $small $of_two --order squares:0 -o b &&
        refuses 2 "--order needs images and --arch vit" "$COSPEC" train --corpus p --objective ar --arch gpt2 --order hilbert -o b
}

# Iterative decoding of codes: of hidden patches and of whole images, the same for any batch and number of threads.
test_iterative() {
    pictures
    exits 0 "$COSPEC" train --corpus p --objective variable-masked --arch vit --layers 1 --heads 2 --batch 8 $of_two --target codes --codes 6 --input codes --steps 30 -o a || return 1
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --decode confidence:4 -o r && exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --decode confidence:4 --threads 2 --batch 3 -o s && cmp r/scores.csv s/scores.csv || { fail "${why:-bits differ}"; return 1; }
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --decode confidence:1 -o t && exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 -o u && cmp t/scores.csv u/scores.csv || { fail "${why:-one step is not one group}"; return 1; }
    exits 0 "$COSPEC" generate a --n 5 --steps 4 -o g --json && [ "$(head -c 4 g/generated.png | tail -c 3)" = PNG ] && [ "$(grep -c '"nll"' out)" -ge 5 ] && cp out one.json && exits 0 "$COSPEC" data stats g/images.npy --json && [ "$(number images out)" = 5 ] && [ "$(number height out)" = 8 ] || { fail "${why:-$(head -c 300 out)}"; return 1; }
    exits 0 "$COSPEC" generate a --n 5 --steps 4 --batch 2 --threads 1 --json && grep -A 1000 '"images"' one.json | grep '^ *[0-9]' > want && grep -A 1000 '"images"' out | grep '^ *[0-9]' > got && cmp want got || { fail "${why:-images depend on the batch}"; return 1; }
    refuses 2 "--prompt does not apply to images" "$COSPEC" generate a --prompt x || return 1
    exits 0 "$COSPEC" train $small $of_two --steps 2 -o b && refuses 2 "needs a model of codes" "$COSPEC" reconstruct b p --decode confidence:3 && refuses 2 "so its outputs are not probabilities" "$COSPEC" generate b
}

# A share of the labels (LA's Table 4), and another corpus of pictures of the same sizes (LA's Table 6, GVP's Table 2).
test_few_and_transfer() {
    pictures
    mkdir -p q/left q/right
    for i in 0 2 4 6 8 10; do cp p/across/$i.pgm q/left; done
    for i in 1 3 5 7 9 11; do cp p/along/$i.pgm q/right; done
    exits 0 "$COSPEC" train $small $of_two --steps 10 -o a || return 1
    exits 0 "$COSPEC" probe a q --test-share 0.4 --few 2 --seeds 2 --json && [ "$(number n out)" = 4 ] || { fail "${why:-$(tr -d '\n ' < out | head -c 900)}"; return 1; }
    exits 0 "$COSPEC" finetune a q --test-share 0.4 --few 50% --epochs 1 --seeds 1 -o f --json && [ "$(number n out)/$(number n_train out)/$(number classes out)" = 5/4/2 ] || { fail "${why:-$(tr -d '\n ' < out | head -c 900)}"; return 1; }
}

# A tokenizer of pictures is an input like another: of models, whatever they are, and of matrices.
test_tokenizer() {
    pictures
    exits 0 "$COSPEC" tokenize train --model vq --corpus p --patch 2 --codes 6 --width 8 --layers 1 --heads 2 --steps 20 --batch 4 -o q --json || return 1
    [ "$(members '"test_error"' out)" = 2 ] && [ -f q/codes.safetensors ] || { fail "$(tr -d '\n ' < out)"; return 1; }
    exits 0 "$COSPEC" tokenize train --model vq --corpus p --patch 2 --codes 6 --width 8 --layers 1 --heads 2 --steps 20 --batch 4 --threads 2 -o r && cmp q/codes.safetensors r/codes.safetensors || { fail "${why:-bits depend on threads}"; return 1; }
    exits 0 "$COSPEC" tokenize train --model kmeans --corpus p --patch 2 --codes 6 -o k || return 1
    exits 0 "$COSPEC" train $small --width 16 --target codes --tokenizer q/codes.safetensors --steps 5 -o m --json && [ "$(number vocabulary out)" = 8 ] && cmp q/codes.safetensors m/codes.safetensors || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    exits 0 "$COSPEC" perplexity m p || return 1
    exits 0 "$COSPEC" cooc --corpus p --tokenizer k/codes.safetensors --window 2x2 --objective ar --max-length 4 -o c &&
        exits 0 "$COSPEC" cooc --corpus p --patch 2 --codes 6 --window 2x2 --objective ar --max-length 4 -o d && cmp c/matrix.npz d/matrix.npz || { fail "${why:-$(ls c)}"; return 1; }
    exits 0 "$COSPEC" train --corpus p --objective ar --arch gpt2 --width 8 --heads 2 --layers 1 --tokenizer q/codes.safetensors --steps 2 --batch 4 -o g || return 1
    refuses 2 "--codes does not apply to a tokenizer of pictures" "$COSPEC" train $small --target codes --tokenizer q/codes.safetensors --codes 6 -o d &&
        refuses 2 "--steps needs --model vq" "$COSPEC" tokenize train --model kmeans --corpus p --steps 5 -o d &&
        refuses 2 "--codes needs pictures" "$COSPEC" tokenize train --corpus t.txt --codes 5 -o d &&
        refuses 2 "--tokenizer does not apply to the pictures p" "$COSPEC" cooc --corpus p --tokenizer char --objective ar -o e &&
        refuses 3 "k/tokenizer.safetensors" "$COSPEC" cooc --corpus p --tokenizer k/tokenizer.safetensors --objective ar -o e
}

# Pixels of large images are held in memory, so they are probed on request only.
test_pixels_of_large_images() {
    mkdir -p p/a p/b
    for class in a b; do for i in 1 2 3 4; do awk -v i=$i -v c=$class 'BEGIN { printf "P5 65 65 255\n"; for (k = 0; k < 4225; k++) printf "%c", 65 + (k * i + (c == "a")) % 30 }' > p/$class/$i.pgm; done; done
    exits 0 "$COSPEC" train --corpus p --objective masked --arch vit --patch 13 --width 8 --layers 1 --heads 1 --batch 2 --steps 1 -o m || return 1
    exits 0 "$COSPEC" probe m p p --seeds 1 --csv && ! grep -q pixels out && grep -q untrained out && says "pixels of 4225 values an image are not probed (--baselines yes)" || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" probe m p p --seeds 1 --csv --baselines yes && grep -q pixels out || fail "${why:-no pixels}"
}

# Both sides of a corpus with a split; the untrained network and the pixels are listed with the model.
test_classes() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 10 -o a || return 1
    exits 0 "$COSPEC" probe a p --seeds 1 --layer 0,2 -o r || return 1
    exits 0 "$COSPEC" probe a p --seeds 1 --layer 0,2 --baselines no -o alone && [ "$(cut -d, -f2 alone/probe.csv | sort -u | tr '\n' ' ')" = "0 2 layer " ] || { fail "${why:-$(cut -d, -f2 alone/probe.csv | sort -u)}"; return 1; }
    exits 0 "$COSPEC" probe a p --seeds 1 --pooling patches -o whole --json && [ "$(number d out)" = $((16 * 16)) ] || { fail "${why:-d is $(number d out)}"; return 1; }
    for layer in 0 2 untrained pixels; do
        cut -d, -f2,4,5 r/probe.csv | grep -q "^$layer,linear,accuracy" || { fail "no row of layer $layer"; return 1; }
    done
    exits 0 "$COSPEC" finetune a p --epochs 20 --lr 3e-3 --seeds 1 --dropout 0 --save-model -o f --json || return 1
    [ "$(number classes out)" = 2 ] && [ ! -e f/runs/*/tokenizer.json ] && grep -q ViTForImageClassification f/runs/*/config.json || { fail "$(tr -d '\n ' < out)"; return 1; }
    exits 0 "$COSPEC" finetune a p p --epochs 1 --seeds 1 --init random --json || return 1
    exits 0 "$COSPEC" finetune a p --epochs 2 --seeds 1 --mixup 0.8 --label-smoothing 0.1 --json || return 1
    refuses 2 "--pair does not apply to pictures" "$COSPEC" probe a p --pair || return 1
    refuses 2 "a was trained with the squared-error loss, so its outputs are not probabilities" "$COSPEC" perplexity a p || return 1
    exits 0 "$COSPEC" features a p -o s && exits 0 "$COSPEC" rank s/layer-2.npy || return 1
    printf 'P5 4 4 255\n0123456789abcdef' > q.pgm && mkdir q && mv q.pgm q
    exits 0 "$COSPEC" reconstruct a q -o t && grep -q 'q: images of 4 x 4 are read as 8 x 8, as preprocessor_config.json' err || fail "${why:-$(cat err)}"
}

# A distance in the features of a classifier that was fine-tuned here, for every predictor; none without it.
test_perceptual() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 5 -o a && exits 0 "$COSPEC" finetune a p --epochs 2 --seeds 1 --save-model -o f || return 1
    model=$(echo f/runs/*)
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --perceptual "$model" -o r --json && [ "$(grep -c '"name": "perceptual"' out)" = 3 ] || { fail "${why:-$(tr -d '\n ' < out | head -c 900)}"; return 1; }
    awk -F, 'NR > 1 && !($7 > 0 && $7 < 4) { bad = 1 } END { exit bad || NR < 7 }' r/scores.csv && grep -q "$model" r/manifest.json || { fail "$(cat r/scores.csv)"; return 1; }
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --perceptual "$model" --threads 2 -o s && cmp r/scores.csv s/scores.csv || return 1
    exits 0 "$COSPEC" reconstruct a p --mask-ratio 0.5 --json && ! grep -q '"name": "perceptual"' out || { fail "${why:-perceptual without a classifier}"; return 1; }
    refuses 2 "a does not classify pictures; give a model of cospec finetune --save-model" "$COSPEC" reconstruct a p --perceptual a
}

# Vectors of another model's states, read with the class token by every command that reads the pictures.
test_extra() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 5 -o a && exits 0 "$COSPEC" features a p --layers 2 --pooling mean -o s || return 1
    with="--extra s/layer-2.npy"
    exits 0 "$COSPEC" train $small $of_two $with --steps 20 -o e && grep -q '"extra_width": 16' e/config.json || { fail "${why:-$(cat e/config.json)}"; return 1; }
    exits 0 "$COSPEC" train $small $of_two $with --steps 20 --threads 2 -o f && cmp e/model.safetensors f/model.safetensors || { fail "${why:-bits depend on threads}"; return 1; }
    exits 0 "$COSPEC" train $small $of_two --steps 20 -o n || return 1
    ! cmp -s e/model.safetensors n/model.safetensors || { fail "vectors that move nothing"; return 1; }
    exits 0 "$COSPEC" reconstruct e p $with --mask-ratio 0.5 -o x && exits 0 "$COSPEC" probe e p $with --seeds 1 -o y && exits 0 "$COSPEC" features e p $with -o z || return 1
    exits 0 "$COSPEC" finetune e p $with --epochs 2 --seeds 1 --mixup 0.8 --save-model -o t && exits 0 "$COSPEC" features t/runs/* p $with -o u || return 1
    for input in pixels codes; do
        exits 0 "$COSPEC" train --corpus p --objective gvp --groups 3 --arch vit --layers 1 --heads 2 --batch 8 $of_two $with --target codes --codes 6 --input $input --steps 10 -o $input || return 1
        exits 0 "$COSPEC" train --corpus p --objective ar --arch vit --layers 1 --heads 2 --batch 8 $of_two $with --target codes --codes 6 --input $input --steps 10 -o ar-$input --json || return 1
        model=$(number eval_loss out)
        exits 0 "$COSPEC" perplexity ar-$input p $with --split test --json && near "$(number nll out)" "$model" 1e-6 || { fail "$input: $(number nll out), in training $model"; return 1; }
    done
    refuses 2 "p: extra vectors have 0 values, but the model reads 16 (0: none)" "$COSPEC" probe e p &&
        refuses 2 "p: extra vectors have 0 values, but the model reads 16 (0: none)" "$COSPEC" reconstruct e p &&
        refuses 2 "p: extra vectors have 16 values, but the model reads 0 (0: none)" "$COSPEC" features a p $with -o v || return 1
    printf 'a\tb c\nd\te f\n' > t.tsv
    refuses 2 "--extra needs images, and t.tsv has none" "$COSPEC" probe a t.tsv t.tsv $with &&
        refuses 2 "--extra needs images and --arch vit" "$COSPEC" train --corpus p --objective ar --arch gpt2 $with -o v
}

# Masks and boxes of drawn scenes: a network, its untrained self, pixels, and what patches are taught.
test_heads() {
    export COSPEC_CACHE=$PWD/cache
    exits 0 "$COSPEC" train --corpus scenes --objective masked --mask-ratio 0.75 --arch vit --width 16 --layers 2 --heads 2 --batch 8 --steps 2 --eval-every 0 -o a || return 1
    for head in segmentation detection; do
        with="probe a scenes --head $head --limit 60 --places 1500 --seeds 2 --validation-share 0.2 --penalties 0.1,1e-3"
        exits 0 "$COSPEC" $with -o $head && exits 0 "$COSPEC" $with --threads 2 -o again --force && cmp $head/probe.csv again/probe.csv || { fail "${why:-bits of $head depend on threads}"; return 1; }
        for layer in 2 untrained pixels; do
            cut -d, -f2,4,5 $head/probe.csv | grep -Eq "^$layer,linear,(miou|ap50)" || { fail "no row of layer $layer: $(cat $head/probe.csv)"; return 1; }
        done
        cut -d, -f4,5,7 $head/probe.csv | awk -F, '$2 != "pixel-accuracy" { v[$1] = $3 } END { exit !(v["targets"] > 0.6 && v["linear"] < v["targets"]) }' || { fail "$(cat $head/probe.csv)"; return 1; }
        [ "$(grep -c "^a,pixels,linear,[ma]" $head/probe-blocks.csv)" = 60 ] || { fail "${why:-$(grep -c . $head/probe-blocks.csv) blocks}"; return 1; }
    done
    grep -q '"class": "crescent"' segmentation/probe.json && cmp detection/predictions.csv again/predictions.csv && cmp detection/predictions.png again/predictions.png && [ "$(head -c 4 detection/predictions.png | tail -c 3)" = PNG ] || { fail "no classes, or no sheet, or bits of them depend on threads"; return 1; }
    # miou from the pixels of every picture and class; no detection is a hit below an overlap of 1/2, and hits are at most the boxes.
    of_pictures=$(awk -F, '$1 == "pixels" && $2 == 0 { t[$4] += $5; p[$4] += $6; b[$4] += $7 } END { for (c in t) { s += b[c] / (t[c] + p[c] - b[c]); n++ } printf "%.12g", s / n }' segmentation/predictions.csv)
    of_record=$("$COSPEC" probe a scenes --head segmentation --limit 60 --places 1500 --seeds 1 --validation-share 0.2 --penalties 0.1,1e-3 --csv | awk -F, '$2 == "pixels" && $4 == "linear" && $5 == "miou" { print $7 }')
    near "$of_pictures" "$of_record" 1e-9 || { fail "miou $of_pictures of pictures, $of_record"; return 1; }
    [ "$(head -1 detection/predictions.csv)" = layer,seed,picture,class,score,top,left,bottom,right,overlap,hit ] && awk -F, 'NR > 1 && $11 == 1 { h++; bad += $10 < 0.5 } NR > 1 && $10 > 0.5 && $5 < 0.05 { bad++ } END { exit !(h > 0 && !bad) }' detection/predictions.csv || { fail "$(head -3 detection/predictions.csv)"; return 1; }
    exits 0 "$COSPEC" probe a scenes --head detection --limit 60 --dry-run --json && [ "$(number classes out)/$(number n out)" = 9/3840 ] || { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 2 -o b || return 1
    refuses 3 "p: the pictures have no pixel masks" "$COSPEC" probe b p --head segmentation &&
        refuses 2 "--metric cannot be combined with --head" "$COSPEC" probe a scenes --head detection --metric accuracy &&
        refuses 3 "scenes: 70 examples requested, but there are only 60" "$COSPEC" probe a scenes --head detection --limit 60 --few 70 || return 1
    printf 'a\tb c\nd\te f\n' > t.tsv
    refuses 2 "--head needs images" "$COSPEC" probe a t.tsv t.tsv --head detection
}

same_fit() { # the first layers of two records have the same fit, to the bit
    [ -n "$(first_fit "$1")" ] && [ "$(first_fit "$1")" = "$(first_fit "$2")" ]
}
first_fit() { tr -d '\n ' < "$1" | grep -o '"layers":.*' | grep -o '"gradient_norm":[^,]*' | head -1; }
# The probe of pictures takes the layer and the pooling of least loss of all candidates, for the model and without training, and is then
# the probe of these; where a layer is given it is that of the mean, and requested folds are made.
test_choice() {
    pictures
    exits 0 "$COSPEC" train $small $of_two --steps 20 -o a && exits 0 "$COSPEC" probe a p --seeds 1 --json && cp out chosen.json || return 1
    best=$(tr -d '\n ' < chosen.json | grep -o '{"of":"model"[^}]*}' | sed 's/.*"layer":\([0-9]*\),"pooling":"\([a-z]*\)","held_out_loss":\([^}]*\)}/\3 \1 \2/' | sort -g | head -1)
    [ "$(grep -c '"of": "model"' chosen.json)/$(grep -c '"of": "untrained"' chosen.json)" = 11/11 ] || { fail "$(tr -d '\n ' < chosen.json)"; return 1; }
    set -- $best
    exits 0 "$COSPEC" probe a p --pooling "$3" --layer "$2" --validation-share 0.2 --penalties 0.1,0.01,1e-3,1e-4 --tolerance 1e-4 --seeds 1 --json || return 1
    same_fit out chosen.json || { fail "layer $2, $3: not the probe that was chosen"; return 1; }
    exits 0 "$COSPEC" probe a p --pooling auto --layer 1 --folds 3 --seeds 1 --json && [ "$(grep -c '"of": "model"' out)" = 4 ] && ! same_fit out chosen.json || { fail "${why:-three folds are one share}"; return 1; }
    exits 0 "$COSPEC" probe a p --layer 2 --seeds 1 --json && ! grep -q candidates out && cp out mean.json && exits 0 "$COSPEC" probe a p --layer 2 --pooling mean --seeds 1 --json && same_fit out mean.json || { fail "${why:-a given layer is not that of the mean}"; return 1; }
    printf 'a\tb c\nd\te f\n' > t.tsv
    refuses 2 "--pooling auto needs images" "$COSPEC" probe a t.tsv t.tsv --pooling auto
}

# The plug-in's sources under the emulator, or a GPU, where there is one of them.
test_cuda() {
    plugin=${CUDA_PLUGIN:-$(dirname "$COSPEC")/tests/cuda_emulation/cospec-emulated.so}
    [ -f "$plugin" ] || { skip cuda "no plug-in"; return 0; }
    pictures
    for more in "" "--decoder-layers 1 --target normalised" "--target codes --codes 6"; do
        rm -rf c g
        exits 0 "$COSPEC" train $small $of_two $more --steps 6 -o c --json && cp out on_cpu &&
            exits 0 env COSPEC_PLUGIN="$plugin" "$COSPEC" train $small $of_two $more --steps 6 --device cuda --precision fp32 -o g --json || return 1
        near "$(number loss out)" "$(number loss on_cpu)" 1e-4 || { fail "loss $(number loss out) on the device, $(number loss on_cpu) on the CPU"; return 1; }
    done
    exits 0 "$COSPEC" features c p --layers 2 --pooling mean -o s || return 1
    for device in cpu cuda; do
        exits 0 env COSPEC_PLUGIN="$plugin" "$COSPEC" train $small $of_two --extra s/layer-2.npy --steps 6 --device $device --precision fp32 -o e-$device --json && cp out e-$device.json || return 1
    done
    near "$(number loss e-cuda.json)" "$(number loss e-cpu.json)" 1e-4 || { fail "extra vectors: loss $(number loss e-cuda.json) on the device, $(number loss e-cpu.json) on the CPU"; return 1; }
    for device in cpu cuda; do
        exits 0 env COSPEC_PLUGIN="$plugin" "$COSPEC" finetune c p --epochs 2 --seeds 1 --dropout 0 --mixup 0.8 --label-smoothing 0.1 --device $device -o f-$device || return 1
    done
    near "$(number train_loss f-cuda/runs/*/run.json)" "$(number train_loss f-cpu/runs/*/run.json)" 1e-4 || fail "soft targets: $(number train_loss f-cuda/runs/*/run.json) on the device, $(number train_loss f-cpu/runs/*/run.json) on the CPU"
}

test_refusals() {
    pictures
    refuses 2 "--max-length does not apply to --arch vit" "$COSPEC" train $small $of_two --max-length 9 -o a &&
        refuses 2 "patch size 3 does not divide pictures of 8 x 8" "$COSPEC" train $small --patch 3 -o a &&
        refuses 2 "a model that predicts values needs the squared error" "$COSPEC" train $small $of_two --loss spectral -o a &&
        refuses 2 "width that is a multiple of 4, not 18" "$COSPEC" train $small --patch 2 --width 18 --position-table sines -o a || return 1
    printf 'a b c\n' > t.txt
    refuses 2 "--keep needs tokens; patches are not tokens" "$COSPEC" train --corpus field:side=8,fields=40 --objective masked --arch vit --keep 0.1 -o a || return 1
    refuses 2 "--arch vit reads pictures, but t.txt has none" "$COSPEC" train --corpus t.txt --objective ar --arch vit -o a
}

check training
check recipe
check preprocessing
check reconstruction
check iterative
check sizes_and_streaming
check images_that_break
check reconstruction_of_another
check optimum
check blocks
check codes
check tokenizer
check orders
check few_and_transfer
check classes
check heads
check pixels_of_large_images
check choice
check perceptual
check extra
check cuda
check refusals
