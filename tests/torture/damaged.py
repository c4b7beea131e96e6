#!/usr/bin/env python3
"""Commands on damaged files: damaged.py [--seconds N] [--seed N] [--keep DIR] [MODEL_DIR...] (make damaged).

Each case copies a set of inputs, damages one file, and runs a command on it. A case fails where the program ends by a signal or a
sanitizer, takes more than 20 seconds, ends with an undocumented exit code, refuses without naming a file of the case, prints
control bytes, or leaves a partial file, or a manifest that calls a failed run finished. Directories of published models may be given."""
import argparse, gzip, json, os, random, re, shutil, struct, subprocess, sys, tempfile, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=600)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--keep")
parser.add_argument("models", nargs="*", type=os.path.abspath)
given = parser.parse_args()
program = os.path.abspath(os.environ["COSPEC"])
rng = random.Random(given.seed)
work = tempfile.mkdtemp()
environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:exitcode=99", OPENBLAS_NUM_THREADS="1", LC_ALL="C.UTF-8")
kept, golden = root + "/fuzz/regressions", root + "/golden"
text = "".join(f"animal\tthe cat number {i % 3} sat on the mat\nplant\ta tree number {i % 4} grows in the wood\n" for i in range(15))
small = "--layers 1 --width 16 --heads 2 --batch 4 --steps 3"

# --- the inputs ---------------------------------------------------------------------------------------------------------------

common = work + "/common"
os.makedirs(common + "/images/a")
for name in ("ok-turned.png", "ok-no-end.jpg", "ok.gif", "ok-moving.webp", "ok-lzw.tiff", "ok.bmp"):
    shutil.copy(f"{kept}/picture/{name}", common + "/images/a")
with open(common + "/c.tsv", "w") as f:
    f.write(text)
with open(common + "/ids.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118))
    f.write(b"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 4), }".ljust(117) + b"\n" + struct.pack("<8i", *range(4, 12)))

cases = []  # folder, files that are damaged, commands


def add(name, make, commands):
    """A case whose inputs are what `make` leaves in its folder in addition to the common ones."""
    folder = f"{work}/{len(cases)}-{name}"
    shutil.copytree(common, folder)
    before = set(files_of(folder))
    make(folder)
    cases.append((folder, sorted(set(files_of(folder)) - before), commands))


def files_of(folder):
    return [os.path.relpath(os.path.join(d, name), folder) for d, _, names in os.walk(folder) for name in names]


def copies(source, to):
    return lambda folder: shutil.copytree(source, f"{folder}/{to}") if os.path.isdir(source) else shutil.copy(source, f"{folder}/{to}")


def runs(command, *without):
    def make(folder):
        subprocess.run([program, *command.split(), "-o", "in"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in without:
            os.remove(f"{folder}/in/{name}")
    return make


for name in sorted(os.listdir(golden + "/models")):
    add(name, copies(f"{golden}/models/{name}", "in"), ["verify-model in in/reference.npz -o o", "features in ids.npy -o o"])
for name in sorted(os.listdir(golden + "/pictures")):
    add(name, copies(f"{golden}/pictures/{name}", "in"), ["verify-model in in/reference.npz -o o", "features in images --size 8x8 -o o"])
for name in sorted(os.listdir(kept + "/picture")):
    add(name, lambda folder, name=name: (os.makedirs(folder + "/in/a"), shutil.copy(f"{kept}/picture/{name}", folder + "/in/a")),
        ["data stats in --size 8x8 -o o", f"train --corpus in --size 8x8 --image-memory 1 --arch vit --patch 4 --objective masked {small} -o o"])
for name in sorted(os.listdir(kept + "/mtx")):
    add(name, copies(f"{kept}/mtx/{name}", "in.mtx"), ["svd in.mtx -k 2 -o o", "density in.mtx -o o", "rank in.mtx -o o"])
for model in given.models:
    add(os.path.basename(model), copies(model, "in"), ["features in c.tsv -o o", "tokenize encode in c.tsv", "perplexity in c.tsv -o o"])
add("image-model", runs(f"train --corpus images --size 8x8 --arch vit --patch 4 --objective masked {small}", "manifest.json"),
    ["features in images -o o", "reconstruct in images images -o o"] * 4)
add("codes", runs(f"train --corpus images --size 8x8 --arch vit --patch 4 --objective variable-masked --target codes --codes 4 --input codes {small}", "manifest.json"),
    ["reconstruct in images --mask-ratio 0.5 -o o", "generate in --n 2 --steps 2 -o o"])
add("text-model", runs(f"train --corpus c.tsv --objective masked --max-length 8 {small}", "manifest.json"),
    ["features in c.tsv -o o", "perplexity in c.tsv -o o", "probe in c.tsv c.tsv -o o", "tokenize encode in c.tsv"])
add("matrix", runs("cooc --corpus c.tsv --objective ar --context nearest:2"), ["svd in -k 2 -o o", "inspect in", "connectivity in -k 2 -o o"])
add("manifest", runs("toy --objective ar --classes 2 --length 4 --tokens 2", "toy.json", "toy.csv"), ["rerun in --force -o o"])
add("compressed", lambda folder: gzip.open(folder + "/in.tsv", "wt").write(text), ["data stats in.tsv -o o"])

# --- damage -------------------------------------------------------------------------------------------------------------------

WORDS = [b"null", b"-1", b"1e308", b"9223372036854775808", b"true", b"[]", b"{}", b'""', b"\xff", b"\x00", b"NaN", b"\x1b[2J", b"\xe2\x80\xae"]
VALUES = [None, True, False, 0, -1, 1, 2, 1.5, 1e308, 2**31, 2**53, 2**63 - 1, "", "x", "\x1b[31m", "\u202e", [], {}, [1, 2], {"a": 1}]


def damaged_json(data):
    """One to four members changed, removed or copied from elsewhere; None: not JSON, or empty."""
    places = []

    def walk(value):
        if isinstance(value, (dict, list)):
            for key in value if isinstance(value, dict) else range(min(len(value), 2000)):
                places.append((value, key))
                walk(value[key])
    try:
        value = json.loads(data)
        walk(value)
        for _ in range(rng.choice((1, 1, 2, 4))):
            holder, key = rng.choice(places)
            other, there = rng.choice(places)
            change = rng.randrange(3)
            if change == 0:
                holder[key] = rng.choice(VALUES)
            elif change == 1:
                del holder[key]
            else:
                holder[key] = json.loads(json.dumps(other[there]))
    except (ValueError, IndexError, KeyError, RecursionError):
        return None
    return json.dumps(value).encode()


def damaged(data, name):
    if name.endswith(".json") and rng.random() < 0.7 and (made := damaged_json(data)):
        return made
    if name.endswith(".safetensors") and rng.random() < 0.5:
        size = struct.unpack("<Q", data[:8])[0]
        if made := damaged_json(data[8:8 + size]):
            return struct.pack("<Q", len(made)) + made + data[8 + size:]
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = int(len(data) * rng.random() ** rng.choice((1, 3)))  # more often near the beginning
        word = rng.choice(WORDS + [bytes([rng.randrange(256)])])
        start, end = rng.choice(((at, at), (at, at + len(word)), (at, at + rng.randrange(20)), (at, len(data))))
        data[start:end] = b"" if end == len(data) else word
    return bytes(data)


# --- the cases ----------------------------------------------------------------------------------------------------------------

def fault(code, errors, seconds, name, run):
    failed = code in (2, 3)
    if code not in (0, 1, 2, 3, 4) or "Sanitizer" in errors or "runtime error" in errors:
        return f"exit code {code}"
    if seconds > 20:
        return f"{seconds:.0f} seconds"
    if failed and not re.search(r"\b(in|images|c\.tsv|ids\.npy)\b|" + re.escape(os.path.basename(name)), errors):
        return "no file is named"
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", errors):
        return "control bytes"
    left = files_of(run + "/o")
    if failed and (any(f.endswith(".partial") for f in left) or ("manifest.json" in left and finished(run + "/o/manifest.json"))):
        return "files are left"
    return None


def finished(manifest):
    with open(manifest) as f:
        return json.load(f).get("finished", True)


end, count, found, codes = time.time() + given.seconds, 0, 0, {}
print(f"damaged: seed {given.seed}, {len(cases)} sets of inputs", flush=True)
while time.time() < end:
    folder, names, commands = rng.choice(cases)
    run, name, command = work + "/run", rng.choice(names), rng.choice(commands)
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(folder, run)
    with open(f"{run}/{name}", "rb") as f:
        data = f.read()
    with open(f"{run}/{name}", "wb") as f:
        f.write(damaged(data, name))
    began = time.time()
    try:
        done = subprocess.run([program, *command.split()], cwd=run, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        code, errors = done.returncode, done.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        code, errors = "timeout", ""
    count += 1
    codes[code] = codes.get(code, 0) + 1
    if why := fault(code, errors, time.time() - began, name, run):
        found += 1
        print(f"not ok {count}: {why}: cospec {command}, {os.path.basename(folder)}, {name} damaged: {errors[-1500:]}", flush=True)
        if given.keep:
            shutil.copytree(run, f"{given.keep}/{given.seed}-{count}")
print(f"{count} cases, {found} failed; exit codes {dict(sorted(codes.items(), key=str))}")
shutil.rmtree(work)
sys.exit(found > 0)
