"""Each generated function once, against the program: its record, its text and every file, and its figure.

usage: python_commands.py PROGRAM GOLDEN [slow]

GOLDEN: the folder of reference models. demo and compare take many seconds: without slow demo is only refused, and
compare is a dry run.
"""
import json
import os
import re
import subprocess
import sys

import numpy as np

import cospec
from cospec import _commands
from cospec._words import in_python

program, golden = sys.argv[1:3]
slow = sys.argv[3:] == ["slow"]
TEXT = "x\tthe cat sat on the mat\ny\ta dog sat on the log and ran\n" * 20
with open("c.tsv", "w") as file:
    file.write(TEXT)
quiet = dict(progress=False)
cooc = cospec.cooc("c.tsv", "ar", context="nearest:1", output="m", **quiet)
cospec.svd("m", k=4, vectors=True, output="f", **quiet)
model = dict(layers=1, width=16, heads=2, steps=3, batch=4, seed=1)
cospec.train("c.tsv", "ar", output="a", **model, **quiet)
cospec.train("c.tsv", "masked", output="b", **model, **quiet)
cospec.train("c.tsv", "linear", output="linear", **model, **quiet)
cospec.features("a", "c.tsv", output="fa", **quiet)
cospec.train("c.tsv", "ar", keep_at="1,2", output="kept", **model, **quiet)

# twelve pictures of stripes and a model of them
for i in range(12):
    stripes = 65 + 60 * (1 + np.sin(i + np.arange(8)))
    picture = np.tile(stripes, (8, 1)) if i % 2 else np.tile(stripes[:, None], (1, 8))
    os.makedirs("p/%s" % ("across", "along")[i % 2], exist_ok=True)
    with open("p/%s/%d.pgm" % (("across", "along")[i % 2], i), "wb") as file:
        file.write(b"P5 8 8 255\n" + picture.astype(np.uint8).tobytes())
cospec.train("p", "masked", mask_ratio=0.5, arch="vit", layers=1, heads=2, patch=2, width=16, batch=4, steps=2, output="vit", **quiet)

# a study of one step, and the values that correlate reads
with open("s.json", "w") as file:
    json.dump({"steps": [{"run": {"t": "toy --objective ar --classes 2 --length 4 --tokens 2",
                                  "f": "plot toy-spectra ar=@t/toy.csv"}}]}, file)
with open("t.html", "w") as file:
    file.write("<p>{{value t/toy.csv sigma where=index:1}} {{figure f toy-spectra A caption}} {{steps}}\n")
for number, name in enumerate("abc"):
    with open("k-%s.csv" % name, "w") as file:
        file.write("value\n%d\n" % number)
    for budget in (10, 20):
        for run in (0, 1):
            with open("p-%s-%d-%d.csv" % (name, budget, run), "w") as file:
                file.write("value\n%g\n" % (number + 0.1 * run if budget == 10 else 5 - number + 0.2 * run))

# arguments and keywords of each function, which the program takes as words
cases = {
    **({"demo": ((), {})} if slow else {}),
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
    "phases": (("kept", "c.tsv"), {}),
    "similarity": (("f/u.npy", "f/u.npy"), dict(k=2)),
    "train": ((), dict(corpus="c.tsv", objective="ar", **model)),
    "finetune": (("a", "c.tsv", "c.tsv"), dict(epochs=1, seeds=1, lr=1e-3)),
    "features": (("a", "c.tsv"), dict(layers="all")),
    "verify_model": ((golden + "/bert", golden + "/bert/reference.npz"), {}),
    "perplexity": (("a", "c.tsv"), {}),
    "generate": (("a",), dict(n=1, prompt="the")),
    "reconstruct": (("vit", "p"), dict(mask_ratio=0.5)),
    "probe": (("a", "c.tsv", "c.tsv"), dict(few="all")),
    "align": (("ar", "c.tsv"), dict(k=2)),
    "kernel": (("masked(mask-ratio=0.5)",), {}),
    "design": ((), dict(length=6)),
    "tradeoff": ((), dict(length=8, compare=["ar", "diverse-ar(t=2)"])),
    "correlate": (("a", "b", "c"), dict(runs="0,1", budgets="10,20", predict="kappa=k-*.csv,value",
                                        outcome="score=p-*-%-#.csv,value")),
    "plot": (("spectra", "f/svd.csv"), {}),
    "compare": (({"first": "a", "second": "b"}, "c.tsv"), dict(read="--limit 8", pairs=10) if slow else dict(dry_run=True)),
    "reproduce": ((), dict(steps="s.json", template="t.html")),
    "data": (("stats", "c.tsv"), {}),
    "tokenize": (("stats", "a/tokenizer.json"), dict(corpus="c.tsv")),
    "rerun": (("f",), {}),
    "help": (("svd",), {}),
}
assert {*cases, "demo"} == {*_commands.__all__, "help"}
# what both refuse in the same words
refused = {
    "demo": ((), dict(threads=0)),
    "verify_model": (("nowhere", "no.npz"), {}),
    "compare": (({"a": "nowhere", "b": "nowhere"}, "c.tsv"), dict(threads=0)),
    "correlate": (("nowhere",), {}),
    "plot": (("nothing", "c.csv"), {}),
    "rerun": (("nowhere",), {}),
}
# other results, and the figure of each; None: plot() says that there is none
drawn = {
    "toy": "toy-spectra", "svd": "spectra", "density": "density", "connectivity": "spectra", "mask_rank": "mask-rank", "phases": "phases",
    "train": "training", "perplexity": "length", "tradeoff": "heavy-tails", "correlate": "rank-correlation", "plot": "spectra",
    "reproduce": "toy-spectra", "rerun": "spectra", **({"demo": "spectra", "compare": "alike"} if slow else {}),
}
h = np.random.default_rng(0).standard_normal((60, 8))
others = [
    (cospec.toy, (), dict(objective="masked", mask_ratio="0.2:0.8:0.2", classes=2, length=6, tokens=2), "mask-ratio"),
    (cospec.cooc, ("c.tsv", "masked(mask-ratio=0.5)"), dict(context="nearest:1", draws="0,10,100"), "draws"),
    (cospec.verify, ("4.1",), dict(matrix="m"), "bound"),
    (cospec.verify, ("4.3",), dict(model="linear", corpus="c.tsv"), "theorem43"),
    (cospec.connectivity, ("f/u.npy",), dict(pairs=10), "similarity"),
    (cospec.connectivity, (h,), dict(pairs=10), "similarity"),
    (cospec.connectivity, (), dict(corpus="c.tsv", k=3), "connectivity"),  # names of series have a percent sign
    (cospec.connectivity, (cospec.read("m")["matrix.npz"],), {}, "spectra"),
    (cospec.svd, (cospec.read("m")["matrix.npz"],), dict(k=3), "spectra"),
    (cospec.rank, ({"0": h, "1": h ** 2},), {}, "by-layer"),
    (cospec.rank, (h,), dict(curve=True, groups=np.arange(60)), "rank-curve"),
    (cospec.similarity, ({"0": h, "1": h ** 2},), dict(dimension=True), "by-layer"),
    (cospec.design, (), dict(length=6, frontier=3), "pareto"),
    # the smallest results that have a figure
    (cospec.tradeoff, (), dict(length=4), "heavy-tails"),
    (cospec.design, (), dict(length=3, frontier=1), "pareto"),
    (cospec.svd, ([[1.0]],), dict(k=1), "spectra"),
    (cospec.connectivity, (h[:2],), dict(pairs=1), "similarity"),
]


def words(arguments, options):
    line = []
    for key, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            line += ["-k" if key == "k" else "--" + key.replace("_", "-")] + ([] if item is True else [str(item)])
    for argument in arguments:
        line += ["%s=%s" % item for item in argument.items()] if isinstance(argument, dict) else [argument]
    return line


VARYING = ("second", "time", "path", "folder", "output", "wall", "memory")


def comparable(record):
    """Without times and places."""
    if isinstance(record, list):
        return [comparable(item) for item in record]
    return {key: comparable(value) for key, value in record.items()
            if not any(part in key for part in (*VARYING, "schema", "data"))} if isinstance(record, dict) else record


def files(folder, place):
    """The tables, arrays and texts of a folder, without times."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if name.endswith((".npy", ".npz")):
                with np.load(path) if name.endswith("z") else open(path, "rb") as file:
                    found[path[len(folder):]] = (file.read() if name.endswith("y") else
                                                 {key: file[key].tobytes() for key in file.files})
            elif name.endswith(".csv"):
                with open(path, encoding="utf-8") as file:
                    rows = [line.replace(place, "").split(",") for line in file.read().splitlines()]
                kept = [i for i, column in enumerate(rows[0]) if not any(part in column for part in VARYING)]
                found[path[len(folder):]] = [[row[i] for i in kept if i < len(row)] for row in rows]
            elif name.endswith((".txt", ".safetensors", ".gp")):
                with open(path, "rb") as file:
                    found[path[len(folder):]] = file.read().replace(place.encode(), b"")
    return found


bad = 0


def check(holds, *words):
    global bad
    if not holds:
        print(*words)
        bad += 1


def documented(name, result):
    """The columns and arrays of a result that its docstring does not list."""
    listed = set(re.findall(r"`([\w.-]+)`", _commands.__dict__[name].__doc__.split("Returns\n")[1].split("Raises\n")[0]))
    try:
        found = set(result.frame.columns)
    except (ImportError, cospec.CospecError):  # without pandas, or without a table
        found = set()
    arrays = [file for file in os.listdir(result.path or ".") if result.path and file.endswith((".npy", ".npz"))]
    return (found | {re.sub(r"-\d+\.", "-L.", file) for file in arrays}) - listed


def figure_of(result):
    try:
        picture = result.plot()
    except cospec.CospecError as error:
        assert "no figure fits this result of " in str(error) and "toy, verify, svd" in str(error), error
        return None
    assert "<svg" in picture._repr_svg_() and picture._repr_png_()[:4] == b"\x89PNG"
    return picture.figure


results = {}
for name, (arguments, options) in cases.items():
    command = name.replace("_", "-")
    function = getattr(_commands, name)
    results[name] = result = function(*arguments, **options, **quiet)
    known = {line.split()[0].strip(",").lstrip("-") for line in subprocess.run(
        [program, command, "--help-all"], capture_output=True, text=True).stdout.splitlines() if line.strip().startswith(("-", "--"))}
    json_too = any(row.startswith("json") for row in known) and (name != "compare" or "dry_run" in options)
    folder = result.path and "o-" + name
    line = [program, command] + words(arguments, options) + (["--json"] if json_too else []) + (
        ["--output", folder] if folder else [])
    done = subprocess.run(line, capture_output=True, text=True)
    check(done.returncode in (0, 1, 4), name, "program:", done.stderr)
    if done.stdout.startswith("{"):
        mine, theirs = comparable(result.record), comparable(json.loads(done.stdout))
        check(theirs and set(mine) == set(theirs), name, "has other fields:", set(mine) ^ set(theirs))
        check(all(mine[k] == theirs[k] for k in mine if k in theirs), name, "differs:", [k for k in mine if mine[k] != theirs.get(k)])
    else:
        check(result.text.replace(result.path or "-", "") == done.stdout.replace(folder or "-", ""), name, "text differs")
    if folder and name != "toy":
        mine, theirs = files(result.path, result.path), files(folder, folder)
        check(mine and set(mine) == set(theirs), name, "has other files:", set(mine) ^ set(theirs))
        check(all(mine[k] == theirs[k] for k in mine if k in theirs), name, "files differ:", [k for k in mine if mine[k] != theirs.get(k)])
for name, (arguments, options) in refused.items():
    command = name.replace("_", "-")
    done = subprocess.run([program, command] + words(arguments, options), capture_output=True, text=True)
    try:
        getattr(_commands, name)(*arguments, **options, **quiet)
        check(False, name, "is not refused")
    except cospec.CospecError as error:
        reason = next((line.partition(": ")[2] for line in done.stderr.splitlines() if line.startswith("cospec %s: " % command)), "")
        check(in_python(reason, _commands.options) == str(error) and error.code == done.returncode, name, "python:", error,
              error.code, "program:", done.stderr, done.returncode)

# docstrings: what a result has, names of arguments within text, and commands as the shell takes them
for name, result in results.items():
    if name != "rerun":
        check(not documented(name, result), name, "has no description of", documented(name, result))
    shell = [line for line in _commands.__dict__[name].__doc__.split("\n") if re.search(r"\bcospec [a-z-]+( [A-Z.]\S*| train)* \w+=[A-Z]", line)]
    check(not shell and "=\'all\'\'" not in _commands.__dict__[name].__doc__, name, "spoils a command:", shell)
for name in ("features", "finetune", "generate", "reconstruct", "compare", "align"):
    check("References\n" in _commands.__dict__[name].__doc__, name, "names no source")

# frames and tables by name; pandas may be missing
try:
    import pandas
    frames = {"train": "loss", "rerun": "sigma", "svd": "sigma", **({"compare": "verdict", "demo": "series"} if slow else {})}
    for name, column in frames.items():
        check(column in results[name].frame.columns, name, "has no column", column, "but", list(results[name].frame.columns))
    check(results["toy"]["toy"].equals(pandas.read_csv(results["toy"].path + "/toy.csv")) if results["toy"].path else
          "sigma" in results["toy"]["toy"].columns, "no table toy")
    if slow:
        check(set(results["compare"]["scores"]["object"]) == {"first", "second"}, "compare has no table scores")
        check({"claims", "models", "scores", "values"} <= set(results["compare"]), "compare lists no tables")
except ImportError:
    pass
check("scores" not in results["svd"] and len(results["toy"]["sigma"]) > 1, "a table hides a column, or one is there that is none")
if slow:
    record = results["compare"].record
    check([row["object"] for row in record["scores"][:2]] == ["first", "second"] and record["scores"][0]["value"] > 0 and
          record["claims"][0]["verdict"] and [row["model"] for row in record["models"]] == ["first", "second"], "compare has the record", record)
    record = results["demo"].record
    check(set(record) == {"ar", "ar-spectrum", "figure", "masked", "masked-spectrum", "theorem"} and
          record["ar-spectrum"]["sigma"][0] > 0.99 and record["theorem"]["statements"], "demo has the record", record)

# every result has its figure, or plot() says that it has none; none needs pandas
for name, result in results.items():
    check(figure_of(result) == drawn.get(name), name, "has the figure", figure_of(result), "not", drawn.get(name))
for function, arguments, options, figure in others:
    found = figure_of(function(*arguments, **options, **quiet))
    check(found == figure, function.__name__, "has the figure", found, "not", figure)
# a single value is drawn as a point, more as a line
for function, x, options in ((cospec.svd, [[1.0]], dict(k=1)), (cospec.connectivity, h[:2], dict(pairs=1))):
    svg = function(x, **options, **quiet).plot()._repr_svg_()
    check(re.search(r"<use xlink:href='#gpPt\d+' transform", svg), function.__name__, "draws nothing")
check({row[0] for row in _commands.figures} == set(results["help"].text and _commands.help("plot", **quiet).text.split(
    "Figures: ")[1].split(".")[0].replace("\n", " ").split(", ")), "not every figure has a command")
for name, options, part in (("rank", {}, "by-layer needs rows with two or more numbers in column matrix"),
                            ("svd", dict(figure="pareto"), "pareto draws frontier.csv"),
                            ("correlate", dict(where="outcome:none"), "needs rows"),
                            ("connectivity", dict(figure="connectivity"), "needs values in column documents")):
    try:
        results[name].plot(**options)
        check(False, name, "draws", options)
    except ImportError:  # a table in memory needs pandas
        pass
    except cospec.CospecError as error:
        check(part in str(error), name, error)
print("ok" if not bad else "failed")
