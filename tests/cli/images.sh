# Corpora of images from the command line.
root=$(pwd)
. tests/cli/lib.sh

data() { "$COSPEC" data "$@"; }

# Two classes of PGM, one value a picture.
pictures() {
    mkdir -p p/dark p/light
    for i in 1 2 3; do
        printf 'P5 2 2 255\n\001\001\001\001' > p/dark/$i.pgm
        printf 'P5 2 2 255\n\377\377\377\377' > p/light/$i.pgm
    done
}

test_stats_and_contact_sheet() {
    pictures
    exits 0 data stats p -o s --json || return 1
    [ "$(number images out)" = 6 ] && [ "$(number height out)" = 2 ] && [ "$(number labels out)" = 2 ] && near "$(number pixel_mean out)" 128 0 || { fail "$(tr -d '\n ' < out)"; return 1; }
    [ "$(head -c 4 s/contact.png | tail -c 3)" = PNG ] && grep -q '"path": "p"' s/manifest.json || { fail "no sheet, or p is no input"; return 1; }
    exits 0 data stats p -o t --threads 2 && cmp s/contact.png t/contact.png || { fail "${why:-the sheet depends on the threads}"; return 1; }
    refuses 2 "--vocab does not apply to the pictures p" data stats p --vocab 9 &&
        refuses 2 "--test-share does not apply to the pictures field" data stats field --test-share 0.1
}

test_bad_pictures() {
    pictures
    printf 'P5 2 2 255\n\001' > p/light/4.pgm
    refuses 3 "p/light/4.pgm: 1 byte of pixels, but 2 x 2 pixels need 4" data stats p || return 1
    printf 'P5 1 1 255\n\001' > p/light/4.pgm
    refuses 3 "p/light/4.pgm is 1 x 1, but p/dark/1.pgm is 2 x 2" data stats p || return 1
    mkdir q && printf 'P3 1 1 255 1 1 1\n' > q/0.PPM && cp p/dark/1.pgm q/
    refuses 3 "q/0.PPM: not a PNG, JPEG, GIF, WebP, TIFF, BMP, binary PGM (P5) or PPM (P6) file" data stats q || return 1
    printf '\000\000\010\003\377\377\377\377\000\000\000\001\000\000\000\001x' > idx
    refuses 3 "idx: byte 4: dimension 1 is 4294967295" data stats idx || return 1
    # nobody waits for the writer of a pipe
    mkdir -p f/a && mkfifo f/a/y.png f.npy f-images-idx3-ubyte f.txt || return 1
    refuses 3 "f/a/y.png: is a pipe, but a regular file is needed" timeout -k 2 10 "$COSPEC" data stats f || return 1
    for name in f.npy f-images-idx3-ubyte f.txt; do
        refuses 3 "$name: not a regular file" timeout -k 2 10 "$COSPEC" data stats $name || return 1
    done
    # what is not there is said to be so, by name or path
    refuses 3 "glyhs: no such file, no named corpus (wordnet, bible-kjv, gcide, manpages, foldoc, glyphs, emoji, scenes, field)" \
        "$COSPEC" train --corpus glyhs --objective masked --arch vit -o t && grep -q 'did you mean glyphs?' err && refuses 2 "unknown corpus 'glyhs'" data prepare glyhs &&
        refuses 2 "--arch vit reads one corpus of pictures, but p,q contains several" "$COSPEC" train --corpus p,q --objective masked --arch vit -o t
}

# Folders as other programs leave them: files of a file manager, names of classes that are not UTF-8, folders in classes.
test_folders_as_they_are() {
    pictures
    caf=$(printf 'caf\351')
    mv p/dark "p/$caf" && mkdir p/light/more && mv p/light/3.pgm p/light/more/ && printf '\320\317\021\340' > p/Thumbs.db && cp p/Thumbs.db "p/$caf/" && printf 'x\n' > p/README.txt
    exits 0 data stats p -o s --json && [ "$(number images out)" = 6 ] && [ "$(number labels out)" = 2 ] && grep -qF '"caf\\xE9"' out &&
        grep -q 'p: skipped 3 files, not images: p/README.txt, ...' err || { fail "${why:-$(cat err; tr -d '\n ' < out)}"; return 1; }
    # a folder with more texts than images is one of texts
    mkdir t && printf 'one two\n' > t/a.txt && printf 'three\n' > t/b.txt && cp p/light/1.pgm t/ && refuses 3 "t/1.pgm:2: byte 1: invalid UTF-8" data stats t
}

# One image as other programs write it: each file gives the same sheet. A JPEG file may lack the mark of its end.
test_formats() {
    kept=$root/tests/fuzz/regressions/picture
    n=0
    for file in "$kept"/ok-*.bmp "$kept"/ok-*.gif "$kept"/ok*.webp "$kept"/ok-*.tiff "$kept"/ok-turned.png "$kept"/ok.gif "$kept"/ok.bmp; do
        rm -rf p s && mkdir p && cp "$file" p/ && exits 0 data stats p -o s && grep -q "^1 image of 9 x 11 x 3" err || { fail "$file: ${why:-$(cat err)}"; return 1; }
        [ -e first.png ] || cp s/contact.png first.png
        cmp -s first.png s/contact.png || { fail "$file is another image"; return 1; }
        n=$((n + 1))
    done
    [ "$n" = 13 ] || { fail "$n files"; return 1; }
    rm -rf p s t && mkdir p && cp "$kept"/ok-no-end.jpg p/a.jpg && exits 0 data stats p -o s && printf '\377\331' >> p/a.jpg && exits 0 data stats p -o t && cmp s/contact.png t/contact.png || { fail "${why:-the mark of its end changes a JPEG}"; return 1; }
    head -c 700 "$kept"/ok-no-end.jpg > p/a.jpg && refuses 3 "p/a.jpg: " data stats p && rm -r p && mkdir p && head -c 100 "$kept"/ok.gif > p/a.gif && refuses 3 "data: p/a.gif: row 0: the file ends early" data stats p &&
        head -c 250 "$kept"/ok-lzw.tiff > p/a.gif && refuses 3 "data: p/a.gif: the file ends early" data stats p && head -c 100 "$kept"/ok.webp > p/a.gif && refuses 3 "p/a.gif: the file is damaged or ends early" data stats p || return 1
    head -c 300 "$kept"/ok.bmp > p/a.gif && refuses 3 "p/a.gif: a bitmap ends in its pixels" data stats p
}

# train/CLASS and val/CLASS, or test/CLASS, are the split; classes are those of train.
test_split_of_folders() {
    pictures
    mkdir -p q/train q/val && mv p/dark p/light q/train/ && mkdir q/val/light && mv q/train/light/3.pgm q/val/light/
    exits 0 data stats q --csv && [ "$(tr '\n' ';' < out)" = "label,images,held_out;dark,3,0;light,3,1;" ] || { fail "${why:-$(cat out)}"; return 1; }
    mkdir q/test && cp q/val/light/3.pgm q/test/ && exits 0 data stats q --csv && [ "$(tail -n 1 out)" = light,3,1 ] && grep -q 'q/test is not read' err || { fail "${why:-$(cat out err)}"; return 1; }
    rm -r q/test && mv q/val q/Test && exits 0 data stats q --csv && [ "$(tail -n 1 out)" = light,3,1 ] || { fail "${why:-$(cat out)}"; return 1; }
    mv q/Test/light q/Test/other && refuses 3 "q/Test/other: the training side has no class of this name" data stats q || return 1
    # folders that are sides only in part are classes
    mkdir q/bus && mv q/train/dark/1.pgm q/bus/ && exits 0 data stats q --csv && [ "$(sed -n 's/,.*//; 2,$p' out | tr '\n' ';')" = "Test;bus;train;" ] || fail "${why:-$(cat out)}"
}

# Pictures of noise: codes are tokens, a document a picture, read by every command of text.
test_codes_are_tokens() {
    mkdir -p n
    i=0
    while [ $i -lt 12 ]; do
        awk -v s=$i 'BEGIN { srand(s); printf "P5 8 8 255\n"; for (k = 0; k < 64; k++) printf "%c", 33 + int(90 * rand()) }' > n/$i.pgm
        i=$((i + 1))
    done
    exits 0 data stats n --patch 2 --codes 5 --json && [ "$(number documents out)" = 12 ] && [ "$(number tokens out)" = 192 ] && [ "$(number vocabulary out)" = 5 ] ||
        { fail "${why:-$(tr -d '\n ' < out)}"; return 1; }
    exits 0 "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --max-length 4 --objective masked --mask-ratio 0.5 -o c &&
        [ "$(number sequences c/matrix.json)" = 108 ] && exits 0 "$COSPEC" connectivity c || { fail "${why:-$(number sequences c/matrix.json) windows}"; return 1; }
    exits 0 "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --max-length 4 --objective masked --mask-ratio 0.5 --threads 2 -o d && cmp c/matrix.npz d/matrix.npz || return 1
    # a window is a sequence, and no sequence lies across windows
    exits 0 "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --objective masked --mask-ratio 0.5 -o g && cmp c/matrix.npz g/matrix.npz || { fail "${why:-windows are no sequences}"; return 1; }
    refuses 2 "--max-length 8 with --stride 0 cuts sequences across overlapping windows of 2 x 2 patches: give --max-length 4, or leave it out" \
        "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --max-length 8 --objective ar -o e || return 1
    # the nearest patch is one of the plane, in records, texts of rows and every command
    exits 0 "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --max-length 4 --objective masked --unmasked 1 --context nearest:1 -o p &&
        grep -q '"context": "nearest:1@2"' p/matrix.json && exits 0 "$COSPEC" inspect p --top 100 && grep -q '\[+1,-1\]' out && grep -q '\[-1,+0\]' out ||
        { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --max-length 4 --objective masked --unmasked 1 --context nearest:1@2 -o q && cmp p/matrix.npz q/matrix.npz &&
        exits 0 "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --max-length 4 --objective masked --unmasked 1 --context nearest:1@1 -o s &&
        [ "$(number rows s/matrix.json)" -lt "$(number rows p/matrix.json)" ] || { fail "${why:-planes differ}"; return 1; }
    exits 0 "$COSPEC" cooc --corpus n --patch 2 --codes 5 --objective masked --mask-ratio 0.5 --context nearest:2 -o w && grep -q '"context": "nearest:2@4"' w/matrix.json &&
        exits 0 "$COSPEC" connectivity --corpus n --patch 2 --codes 5 --compare masked:mask-ratio=0.5 --context nearest:2 --json && grep -q 'nearest:2@4' out || { fail "${why:-$(cat out)}"; return 1; }
    refuses 2 "does not cut their windows of 2 x 2 patches into whole rows: give --max-length 4 alone, or nearest:1@1" "$COSPEC" cooc --corpus n --patch 2 --codes 5 --window 2x2 --max-length 3 --objective ar --context nearest:1 -o e || return 1
    refuses 2 "patch size 3 does not divide pictures of 8 x 8" "$COSPEC" cooc --corpus n --patch 3 --objective ar -o e || return 1
    printf 'a b c\n' > t.txt
    refuses 2 "--codes needs pictures, but t.txt has none" "$COSPEC" cooc --corpus t.txt --codes 5 --objective ar -o e
}

# Images of a folder are decoded as they are read: held together, 1,200 of 256 x 256 would exceed the limit in every command here.
test_memory_does_not_grow() {
    sanitized memory_does_not_grow && return
    mkdir -p p/a p/b q/a
    printf 'P5 2 2 255\n\001\100\177\377' > q/a/0.pgm && printf 'P5 2 2 255\n\377\177\001\100' > q/a/1.pgm
    for i in $(seq 600); do
        ln q/a/0.pgm p/a/$i.pgm && ln q/a/1.pgm p/b/$i.pgm || return 1
    done
    (
        export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 # threads want address space of their own
        ulimit -v 350000
        vit="--objective masked --mask-ratio 0.5 --arch vit --patch 64 --layers 1 --heads 1 --width 8 --batch 8"
        exits 0 data stats p --size 512x512 -o s && [ -s s/contact.png ] && exits 0 "$COSPEC" cooc --corpus p --size 256x256 --patch 32 --codes 2 --objective ar -o c &&
            exits 0 "$COSPEC" train --corpus p --size 256x256 $vit --image-memory 1 --steps 2 -o m && exits 0 "$COSPEC" features m p -o f --limit 500 &&
            exits 0 "$COSPEC" probe m p --few 10 --baselines no --pooling mean --layer last && exits 0 "$COSPEC" reconstruct m q p --mask-ratio 0.5 --limit 20 --batch 8 &&
            exits 0 "$COSPEC" finetune m p --few 10 --limit 1200 --epochs 1 || { echo "${why:-$(cat err)}" > why; exit 1; }
    ) || fail "$(cat why)"
}

# Images of a folder and the same in one file, which is held in memory: the same bits.
test_streaming_gives_the_same_bits() {
    mkdir -p p
    : > bytes
    for i in 10 11 12 13 14 15 16 17; do
        awk -v s=$i 'BEGIN { for (k = 0; k < 64; k++) printf "%c", 65 + (k * s + k * k) % 60 }' > one
        { printf 'P5 8 8 255\n' && cat one; } > p/$i.pgm && cat one >> bytes
    done
    npy p.npy '|u1' '(8, 8, 8)' < bytes
    for order in raster hilbert; do
        exits 0 "$COSPEC" train --corpus p --objective masked --mask-ratio 0.5 --arch vit --patch 2 --layers 1 --heads 2 --width 16 --batch 4 --order $order --test-share 0 --steps 3 -o m-$order || return 1
        echo '{"do_normalize": true, "image_mean": [0.5], "image_std": [0.25]}' > m-$order/preprocessor_config.json && rm m-$order/manifest.json
        for source in p p.npy; do
            exits 0 "$COSPEC" features m-$order $source --pooling none --batch 3 -o f-$order-$source && exits 0 "$COSPEC" reconstruct m-$order $source --batch 3 --decode groups:2 --test-share 0.5 -o r-$order-$source || return 1
        done
        cmp f-$order-p/layer-1.npy f-$order-p.npy/layer-1.npy || { fail "features differ"; return 1; }
    done
    exits 0 "$COSPEC" train --corpus p --objective masked --mask-ratio 0.5 --arch vit --target codes --codes 4 --patch 2 --layers 1 --heads 2 --width 16 --batch 4 --test-share 0 --steps 3 -o mc || return 1
    for source in p p.npy; do
        exits 0 "$COSPEC" perplexity mc $source --json && number nll out > nll-$source || return 1
    done
    cmp nll-p nll-p.npy && [ -s nll-p ] || fail "perplexities differ"
}

# A tokenizer of images of various sizes; --help lists no option that the program refuses.
test_tokenizer_of_various_sizes() {
    mkdir -p p/train p/val && printf 'P5 4 6 255\n\001\002\003\004\011\022\033\044\101\102\103\104\201\202\203\204\301\302\303\304\311\322\333\344' > p/train/1.pgm &&
        printf 'P5 2 3 255\n\001\202\003\104\005\006' > p/val/2.pgm || return 1
    refuses 3 "all pictures must have the same size; give --size and --crop" "$COSPEC" tokenize train --model kmeans --corpus p --patch 2 --codes 2 -o t || return 1
    exits 0 "$COSPEC" tokenize train --model kmeans --corpus p --size 8 --crop 8 --patch 2 --codes 2 -o t && grep -q 'images of various sizes are read as 8 x 8' err || { fail "${why:-$(cat err)}"; return 1; }
    printf 'a b c\n' > t.txt
    refuses 2 "--size needs pictures" "$COSPEC" tokenize train --corpus t.txt --size 8 -o u
}

# Compressed arrays: by content under any name; what follows the data is an error with its offset.
test_compressed_arrays() {
    awk 'BEGIN { for (k = 0; k < 128; k++) printf "%c", 33 + k % 90 }' | npy p.npy '|u1' '(8, 4, 4)'
    exits 0 data stats p.npy --json && number pixel_mean out > want || { fail "$why"; return 1; }
    gzip -c p.npy > q.npy && gzip -c p.npy > p.npy.gz || return 1
    for f in q.npy p.npy.gz; do
        exits 0 data stats $f --json && number pixel_mean out | cmp - want || { fail "${why:-$f}"; return 1; }
    done
    size=$(wc -c < q.npy)
    printf 'junk' >> q.npy
    refuses 3 "q.npy: damaged gzip (offset $size: neither gzip nor only zeros follow the data)" data stats q.npy
    awk 'BEGIN { for (k = 0; k < 24; k++) printf "%c", k % 4 }' | npy ids.npy '|u1' '(4, 6)' && gzip -c ids.npy > ids.npy.gz || return 1
    exits 0 data stats ids.npy.gz --json && [ "$(number tokens out)" = 24 ] || fail "${why:-$(cat out)}"
}

# TIFF in CMYK and CIELAB: the means of four pixels as Pillow reads them.
test_other_colours_of_tiff() {
    mkdir c l bad
    echo SUkqAAgAAAAKAAABBAABAAAAAgAAAAEBBAABAAAAAgAAAAIBAwAEAAAAhgAAAAMBAwABAAAAAQAAAAYBAwABAAAABQAAABEBBAABAAAAjgAAABUBAwABAAAABAAAABYBBAABAAAAAgAAABcBBAABAAAAEAAAABwBAwABAAAAAQAAAAAAAAAIAAgACAAIAAoUHigAAAAA/wCACchkMhk= | base64 -d > c/a.tif
    echo SUkqAAgAAAAKAAABBAABAAAAAgAAAAEBBAABAAAAAgAAAAIBAwADAAAAhgAAAAMBAwABAAAAAQAAAAYBAwABAAAACAAAABEBBAABAAAAjAAAABUBAwABAAAAAwAAABYBBAABAAAAAgAAABcBBAABAAAADAAAABwBAwABAAAAAQAAAAAAAAAIAAgACACAAAD/AAAAAACgCvY= | base64 -d > l/a.tif
    exits 0 data stats c --json && near "$(number pixel_mean out)" 175.333333 1e-5 || { fail "${why:-$(number pixel_mean out)}"; return 1; }
    exits 0 data stats l --json && near "$(number pixel_mean out)" 133.416667 0.5 || { fail "${why:-$(number pixel_mean out)}"; return 1; }
    head -c 150 c/a.tif > bad/a.tif
    exits 3 data stats bad
}

run_tests
