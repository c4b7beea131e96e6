# Corpora of images from the command line.
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
    refuses 3 "q/0.PPM: not a PNG, JPEG, binary PGM (P5) or PPM (P6) file" data stats q || return 1
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

run_tests
