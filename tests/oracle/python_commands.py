"""Each generated function once, against the program. usage: python_commands.py PROGRAM"""
import json
import os
import subprocess
import sys

import cospec
from cospec import _commands

program = sys.argv[1]
TEXT = "x\tthe cat sat on the mat\ny\ta dog sat on the log and ran\n" * 20
with open("c.tsv", "w") as file:
    file.write(TEXT)
quiet = dict(progress=False)
cooc = cospec.cooc("c.tsv", "ar", context="nearest:1", output="m", **quiet)
cospec.svd("m", k=4, vectors=True, output="f", **quiet)
model = dict(layers=1, width=16, heads=2, steps=3, batch=4, seed=1)
cospec.train("c.tsv", "ar", output="a", **model, **quiet)
cospec.train("c.tsv", "masked", output="b", **model, **quiet)
cospec.features("a", "c.tsv", output="fa", **quiet)

# arguments and keywords of each function, which the program takes as words
cases = {
    "toy": ((), dict(objective="masked(unmasked=2)", classes=2, length=4, tokens=2)),
    "cooc": ((), dict(corpus="c.tsv", objective="ar", context="nearest:1")),
    "svd": (("m",), dict(k=3)),
    "density": (("m",), {}),
    "verify": (("3.1",), dict(classes=2, length=4, tokens=2)),
    "connectivity": (("m",), dict(k=4)),
    "inspect": (("m",), {}),
    "angles": (("m", "m"), dict(k=2)),
    "rank": (("f/u.npy",), dict(blocks=3)),
    "mask_rank": (("b", "c.tsv"), {}),
    "similarity": (("f/u.npy", "f/u.npy"), dict(k=2)),
    "train": ((), dict(corpus="c.tsv", objective="ar", **model)),
    "finetune": (("a", "c.tsv", "c.tsv"), dict(epochs=1, seeds=1, lr=1e-3)),
    "features": (("a", "c.tsv"), dict(layers="all")),
    "perplexity": (("a", "c.tsv"), {}),
    "generate": (("a",), dict(n=1, prompt="the")),
    "probe": (("a", "c.tsv", "c.tsv"), dict(few="all")),
    "align": (("ar", "c.tsv"), dict(k=2)),
    "kernel": (("masked(mask-ratio=0.5)",), {}),
    "design": ((), dict(length=6)),
    "tradeoff": ((), dict(length=8, compare=["ar", "diverse-ar(t=2)"])),
    "data": (("stats", "c.tsv"), {}),
    "tokenize": (("stats", "a/tokenizer.json"), dict(corpus="c.tsv")),
    "help": (("svd",), {}),
}
# commands that take long, or need what is not here: both refuse the same
refused = {
    "demo": ((), dict(threads=0)),
    "verify_model": (("nowhere", "no.npz"), {}),
    "reconstruct": (("nowhere", "c.tsv"), {}),
    "compare": (({"a": "nowhere", "b": "nowhere"}, "c.tsv"), dict(threads=0)),
    "reproduce": ((), dict(threads=0)),
    "correlate": (("nowhere",), {}),
    "plot": (("nothing", "c.csv"), {}),
    "rerun": (("nowhere",), {}),
}
assert sorted([*cases, *refused]) == sorted([*_commands.__all__, "help"])


def words(arguments, options):
    line = []
    for key, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            line += ["-k" if key == "k" else "--" + key.replace("_", "-"), str(item)]
    for argument in arguments:
        line += ["%s=%s" % item for item in argument.items()] if isinstance(argument, dict) else [argument]
    return line


def comparable(record):
    """Without times and places."""
    text = json.dumps(record, sort_keys=True)
    return {key: value for key, value in json.loads(text).items()
            if not any(part in key for part in ("second", "time", "path", "folder", "output", "schema", "data", "wall"))}


bad = 0
for name, (arguments, options) in cases.items():
    command = name.replace("_", "-")
    takes_json = name != "help"
    try:
        result = getattr(_commands, name)(*arguments, **options, **quiet)
    except Exception as error:
        print(name, "python:", error)
        bad += 1
        continue
    line = [program, command] + words(arguments, options) + (["--json", "--output", "o-" + name] if takes_json else [])
    done = subprocess.run(line, capture_output=True, text=True)
    if takes_json:
        mine, theirs = comparable(result.record), comparable(json.loads(done.stdout))
        if set(mine) != set(theirs) or any(mine[k] != theirs[k] for k in mine):
            print(name, "differs:", [k for k in mine if mine.get(k) != theirs.get(k)])
            bad += 1
        try:
            assert result.frame is not None
        except ImportError:
            pass
    else:
        if result.text != done.stdout: print(name, "text differs"); bad += 1
for name, (arguments, options) in refused.items():
    command = name.replace("_", "-")
    done = subprocess.run([program, command] + words(arguments, options), capture_output=True, text=True)
    try:
        getattr(_commands, name)(*arguments, **options, **quiet)
        print(name, "is not refused")
        bad += 1
    except cospec.CospecError as error:
        if "cospec %s: %s" % (command, error) not in done.stderr or error.code != done.returncode:
            print(name, "python:", error, error.code, "program:", done.stderr, done.returncode)
            bad += 1

# compare prints a table for a dry run only; a whole comparison takes seconds
steps = cospec.compare({"first": "a", "second": "b"}, "c.tsv", dry_run=True, **quiet).record
whole = cospec.compare({"first": "a", "second": "b"}, "c.tsv", read="--limit 8", pairs=10, **quiet)
if not steps or not os.path.isfile(os.path.join(whole.path, "report.html")):
    print("compare: no steps or no report", steps, whole.path)
    bad += 1

try:
    import pandas
except ImportError:
    pandas = None
if pandas is not None:
    picture = cospec.toy(**cases["toy"][1], **quiet).plot()
    assert "<svg" in picture._repr_svg_() and picture._repr_png_()[:4] == b"\x89PNG"
print("ok" if not bad else "failed")
