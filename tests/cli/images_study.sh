# The study of images at its smallest scale: every command parses and runs, every claim finds its numbers, the report is whole.
root=$(pwd)
. tests/cli/lib.sh

# Before the first step a folder with a report is refused, and after all that a study can have wrong: what a scale or --claims leaves out, its report does not ask for.
test_scales() {
    mkdir r && touch r/report.html
    for scale in smoke cpu long gpu; do
        refuses 2 "r/report.html exists" "$COSPEC" reproduce --steps "$root/plots/images.json" --template "$root/plots/images.html" --scale $scale -o r || return 1
    done
    for claims in LA-T8 LA-T3 GVP-T4 GVP-T6 GVP-T9; do
        refuses 2 "r/report.html exists" "$COSPEC" reproduce --steps "$root/plots/images.json" --template "$root/plots/images.html" --claims $claims -o r || return 1
    done
}

# On every 27th image, since each of the 210 steps reads the corpus and hashes it.
test_smoke() {
    fewer 27 glyphs scenes || { skip smoke "$(tail -1 err)"; return 0; }
    COSPEC_CACHE=$PWD/cache exits 0 "$COSPEC" reproduce --steps "$root/plots/images.json" --template "$root/plots/images.html" --scale smoke -o r -q || return 1
    [ "$(wc -l < r/claims.csv)" = 111 ] || { fail "$(wc -l < r/claims.csv) lines for 110 claims"; return 1; }
    ! grep -q '{{' r/report.html && grep -q '61.4 against 55.3' r/report.html && [ "$(grep -o 'src="data:image/png;base64,iVBOR' r/report.html | wc -l)" = 6 ] && [ "$(grep -c '<figure class="grid">' r/report.html)" = 2 ] || fail "the report is not filled"
}

# Own images: every command of the study reads them, and claims that need other corpora are left out; a table of the study runs on them.
test_own_pictures() {
    mkdir 'my photos' && /usr/bin/python3 -c '
import random
random.seed(1)
for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
    records = [bytes([c]) + bytes(min(255, max(0, int(random.gauss(20 * c, 30)))) for _ in range(3072)) for c in list(range(10)) * 2]
    open(f"my photos/{name}.bin", "wb").write(b"".join(records))
open("my photos/batches.meta.txt", "w").write("\n".join(f"class {c}" for c in range(10)))' || return 1
    for scale in smoke cpu long gpu; do
        exits 0 "$COSPEC" reproduce --scale $scale --pictures 'my photos' -o r --dry-run --csv && ! grep -q glyphs out && grep -q "finetune .* 'my photos'" out && ! grep -q scenes out || { fail "$scale: $(grep -m 2 'glyphs\|scenes' out)"; return 1; }
    done
    exits 0 "$COSPEC" reproduce --template "$root/plots/images.html" --scale smoke --pictures 'my photos' --claims LA-T3-LP,GVP-T8-mae-l2 -o r -q && grep -q 'held-out images (paired)' r/report.html || { fail "$(tail -3 err)"; return 1; }
    grep -q "Table 6 and GVP&#39;s Tables 2, 6 and 9 are left out because they need other corpora" r/report.html && grep -q "plots/images.html --pictures &#39;my photos&#39; --scale gpu" r/report.html || { fail "$(grep -m 1 'What to run' r/report.html)"; return 1; }
    grep -q '"accuracy\|,accuracy,' r/l-group1-0/probe.csv && refuses 3 '--pictures none: No such file or directory' "$COSPEC" reproduce --pictures none -o n && mkdir none && refuses 2 '--pictures takes pictures, but none has none' "$COSPEC" reproduce --pictures none -o n --dry-run &&
        refuses 2 'no variable images for --pictures' "$COSPEC" reproduce --steps "$root/plots/reproduce.json" --pictures 'my photos' -o n
}

# Photographs of various sizes, train and val of classes: read as 32 x 32 in every step.
test_own_photographs() {
    /usr/bin/python3 -c '
import os, random
random.seed(2)
for side, n in (("train", 6), ("val", 3)):
    for c in range(2):
        os.makedirs(f"photos/{side}/class {c}")
        for i in range(n):
            h, w = random.randint(33, 60), random.randint(20, 70)
            pixels = bytes(min(255, max(0, int(random.gauss(60 + 90 * c, 30)))) for _ in range(3 * h * w))
            open(f"photos/{side}/class {c}/{i}.ppm", "wb").write(b"P6 %d %d 255\n" % (w, h) + pixels)' || return 1
    study="reproduce --steps $root/plots/images.json --scale smoke"
    exits 0 "$COSPEC" $study --template "$root/plots/images.html" --pictures photos -o r --dry-run --csv && grep -q -- '--corpus photos --size 32 --crop 32' out && exits 0 "$COSPEC" $study --template "$root/plots/images.html" -o r --dry-run --csv &&
        ! grep -q -- '--crop' out || { fail "${why:-$(grep -m 1 corpus out)}"; return 1; }
    exits 0 "$COSPEC" $study --pictures photos --claims LA-T3-LP -o r -q && grep -q '"shortest_edge": 32' r/m-group1-0/preprocessor_config.json && [ -s r/l-group1-0/probe.csv ] || fail "${why:-$(ls r | tr '\n' ' ')}"
}

run_tests
