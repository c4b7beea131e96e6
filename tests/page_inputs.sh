# Sourced before each "prepare" of tests/pages.py: the inputs that pages call a user's own.

# pets: the labelled corpus of three lines that docs/reference/corpora.md shows.
pets() { printf 'animal\tthe cat sat on the mat\nplant\tthe tree grows in the wood\nanimal\tthe dog ran away\n'; }

# glosses FROM TO [CLASS...]: these of WordNet's glosses of the classes animal and food, or of others, as "label TAB text".
glosses() {
    first=$1 last=$2
    shift 2
    cospec data prepare wordnet --quiet > /dev/null
    awk -F'\t' -v classes=" ${*:-animal food} " -v first="$first" -v last="$last" 'index(classes, " " $2 " ") && ++n >= first && n <= last { print $2 "\t" $4 }' \
        "${COSPEC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cospec}/wordnet.tsv"
}

# small_model OBJECTIVE CORPUS DIR: of two layers, trained for three steps.
small_model() {
    cospec train --corpus "$2" --objective "$1" --layers 2 --width 16 --heads 2 --batch 2 --steps 3 --max-length 32 -o "$3" --quiet > /dev/null
}

# digits N: N images of 28 x 28 in the files of MNIST, with ten classes.
digits() {
    /usr/bin/python3 - "$1" << 'END'
import struct, sys
n = int(sys.argv[1])
for name, head in (("train-images-idx3-ubyte", (2051, n, 28, 28)), ("train-labels-idx1-ubyte", (2049, n))):
    with open(name, "wb") as file:
        file.write(struct.pack(f">{len(head)}i", *head))
        for i in range(n):
            file.write(bytes((7 * i * i + (i % 10 + 1) * p) % 256 for p in range(784)) if "images" in name else bytes([i % 10]))
END
}

# photos N DIR: N images of 40 x 36 pixels, in turn of two classes.
photos() {
    /usr/bin/python3 - "$1" "$2" << 'END'
import os, struct, sys
for i in range(int(sys.argv[1])):
    folder = f"{sys.argv[2]}/{'ab'[i % 2]}"
    os.makedirs(folder, exist_ok=True)
    pixels = bytes((i * p) % 256 for p in range(40 * 36 * 3))
    with open(f"{folder}/{i}.bmp", "wb") as file:
        file.write(b"BM" + struct.pack("<IIIIiiHHIIiiII", 54 + len(pixels), 0, 54, 40, 40, 36, 1, 24, 0, len(pixels), 0, 0, 0, 0) + pixels)
END
}
