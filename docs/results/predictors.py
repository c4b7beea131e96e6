#!/usr/bin/env python3
"""Values of the studies of predictors (plots/predictors.json, plots/predictors-synthetic.json), from the folder of a run.

    predictors.py collect STUDY.json FOLDER VALUES.csv.xz
    predictors.py rest STUDY.json VALUES.csv.xz REST.json
    predictors.py pairs VALUES.csv.xz RUN PAIRS.csv

collect writes one row for each number of a finished step: run (a, b, c; empty: a property of the objective), language (of
synthetic corpora), object, kept, seed, role (prediction, outcome, loss, baseline), quantity, value, and se, low, high where
the step has them. A folder whose study is not finished gives the rows of its finished objects. Rows that VALUES.csv.xz has and
the folder has not stay. rest writes a study of the steps whose numbers VALUES.csv.xz lacks, for a machine without the folder.
pairs writes the points of the figures of run RUN, for `cospec plot predicted PAIRS.csv`: sum of sigma^4 and mean number of
tokens in the context (across) against fine-tuning. The standard library suffices.
"""
import csv
import io
import itertools
import json
import lzma
import os
import sys

TOKENS = {"text": 288778, "synthetic": 16}  # of the training pieces; of a document
COLUMNS = ("run", "language", "object", "kind", "position", "kept", "seed", "role", "quantity", "value", "se", "low", "high")


def ended(folder, step):
    try:
        with open(f"{folder}/{step}/step.json") as file:
            return json.load(file)["exit"] in (0, 1, 4)
    except (OSError, ValueError):
        return False


def table(folder, step, file):
    try:
        with open(f"{folder}/{step}/{file}", newline="") as stream:
            return list(csv.DictReader(stream))
    except OSError:
        return []


def record(folder, step, file):
    try:
        with open(f"{folder}/{step}/{file}") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return {}


def cell(rows, column, **where):
    """The number in `column` of the first row that has every value, with its error; None without one."""
    for row in rows:
        if all(row.get(key, "") == value for key, value in where.items()) and row.get(column):
            return {"value": row[column], "se": row.get("se", "") if column == "value" else ""}
    return None


def spectrum(folder, name, kind):
    """Sums of a language: estimates with intervals (text), or exact (synthetic)."""
    if kind == "synthetic":
        tails = table(folder, f"l-{name}", "tail.csv")
        sigma = table(folder, f"l-{name}", "svd.csv")
        yield "sum4", cell(tails, "tail", t="0")
        yield "tail8", cell(tails, "tail", t="8")
        yield "sigma2", cell(sigma, "sigma", index="2")
        return
    for step, suffix in (("l", ""), ("z", "-2000")):
        d = record(folder, f"{step}-{name}", "svd.json")
        for of in ("sum_sigma4", "sum_sigma2", "mass_seen"):
            if of in d:
                yield {"sum_sigma4": "sum4", "sum_sigma2": "sum2"}.get(of, of) + suffix, d[of]
        sigma = table(folder, f"{step}-{name}", "svd.csv")
        yield "sigma2" + suffix, cell(sigma, "sigma", index="2")
        yield "tail8" + suffix, cell(sigma, "tail", index="8")


def theorem(folder, step, t):
    curve = table(folder, step, "theorem41_curve.csv")
    for quantity, column in ((f"E{t}", "error"), (f"bound{t}", "bound_sharp"), (f"sigma{t}", "sigma"), (f"sigma{t + 1}", "sigma_next")):
        yield quantity, cell(curve, column, t=str(t))
    probe = table(folder, step, "probe.csv")
    for features in ("tokens", "contexts"):
        yield f"spectral-{features}", cell(probe, "value", model=f"spectral-{features}", metric="accuracy")


def of_object(folder, name, position, kind):
    """Properties of an objective and its matrix."""
    t = 64 if kind == "text" else 8
    for quantity, found in spectrum(folder, name, kind):
        yield "prediction", quantity, found
    mass = record(folder, f"n-{name}", "matrix.json").get("mass")
    yield "prediction", "share", mass and {"value": mass / TOKENS[kind]}
    yield "prediction", "kappa", cell(table(folder, f"k-{name}", "kernel.csv"), "kappa")
    for step, quantity in (("u", "unique"), ("d", "document")):
        rows = table(folder, f"{step}-{name}", "connectivity.csv")
        yield "prediction", quantity, cell(rows, "value", target_position=position, metric="sum_sigma4", estimate="plug-in")
    for quantity, found in theorem(folder, f"v-{name}", t):
        yield "prediction", quantity, found
    for step, quantity in (("aw", "align-words"), ("as", "align-states")):
        rows = table(folder, f"{step}-{name}", "align.csv")
        yield "prediction", quantity, cell(rows, "score")
        if step == "aw":
            yield "prediction", "context-tokens", cell(rows, "context_tokens")
    yield "baseline", "untrained-probe", linear(folder, f"op-{name}", "2")
    yield "baseline", "untrained-finetune", tuned(folder, f"ot-{name}")


def linear(folder, step, layer):
    return cell(table(folder, step, "probe.csv"), "value", layer=layer, probe="linear", metric="matthews")


def tuned(folder, step):
    return cell(table(folder, step, "finetune.csv"), "value", seed="median", metric="matthews")


def of_run(folder, name, kind):
    """The measured quantities of a trained network."""
    if kind == "text":
        for layer in ("0", "1", "2"):
            yield "outcome", "probe-wordnet" + ("" if layer == "2" else f"-layer{layer}"), linear(folder, f"p0-{name}", layer)
        yield "outcome", "finetune-wordnet", tuned(folder, f"t0-{name}")
        for n, corpus in ((1, "bible-kjv"), (2, "foldoc"), (3, "manpages")):
            yield "outcome", f"probe-{corpus}", linear(folder, f"p{n}-{name}", "2")
            yield "outcome", f"finetune-{corpus}", tuned(folder, f"t{n}-{name}")
    else:
        yield "outcome", "probe", linear(folder, f"p-{name}", "2")
        yield "outcome", "finetune", tuned(folder, f"t-{name}")
    losses = table(folder, f"m-{name}", "losses.csv")
    for quantity in ("eval_loss", "unigram_difference"):
        yield "loss", quantity, cell(losses, quantity)


def of_sample(folder, name, kind):
    """The matrix of as many sampled events as training sees. It may have been made without the training, by steps of `rest`."""
    for quantity, found in theorem(folder, f"r-{name}", 64 if kind == "text" else 8):
        yield "prediction", "sampled-" + quantity, found


def whole(folder, names):
    return all(ended(folder, name) for name in names)


def objects_of(study):
    """name, kind and position of the objectives, in the order of the study."""
    rows = study["tables"].get("matrices") or study["tables"]["objects"]
    return [(row["name"], row.get("kind", ""), row["position"]) for row in rows]


def runs_of(study):
    tables = study["tables"]
    names = ["runs"] if "runs" in tables else sorted(name for name in tables if name.startswith("block_"))
    return [row for name in names for row in tables[name]]


def collect(study, folder):
    kind = "synthetic" if "runs" in study["tables"] else "text"
    about = {}
    for name, of, position in objects_of(study):
        language, bare = name.split(".") if kind == "synthetic" else ("", name)
        about[language, bare] = of, position
        for role, quantity, found in of_object(folder, name, position, kind):
            if found:
                yield dict(found, run="", language=language, object=bare, kind=of, position=position, role=role, quantity=quantity)
    evaluated = ("m", "p0", "t0", "p1", "t1", "p2", "t2", "p3", "t3") if kind == "text" else ("m", "p", "t")
    for row in runs_of(study):
        name = row["name"]
        trained = whole(folder, [f"{step}-{name}" for step in evaluated])
        parts = name.split(".")
        language, bare = ("", row["of"]) if kind == "text" else (parts[1], parts[2])
        of, position = about[language, bare]
        for role, quantity, found in itertools.chain(of_run(folder, name, kind) if trained else (), of_sample(folder, name, kind)):
            if found:
                yield dict(found, run=parts[0], language=language, object=bare, kind=of, position=position,
                           kept=row["kept"], seed=row.get("seed", "0"), role=role, quantity=quantity)


def write(rows, path):
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with lzma.open(path + ".part", "wt") as file:
        file.write(out.getvalue())
    os.replace(path + ".part", path)


def read(path):
    try:
        with lzma.open(path, "rt", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        return []


def joined(old, new):
    """The rows of both: `new` wins, in the order of run and object that the two have together."""
    def key(row):
        return tuple(row.get(name) or "" for name in ("run", "language", "object", "kept", "seed", "role", "quantity"))

    found = {key(row): row for row in old}
    found.update((key(row), row) for row in new)
    return [found[k] for k in sorted(found)]


# The quantity whose number shows that a step has been done, by the step's prefix. The other steps are inputs of these.
SHOWN = {"l": "sum4", "n": "share", "k": "kappa", "u": "unique", "d": "document", "v": "E64", "z": "sum4-2000",
         "op": "untrained-probe", "ot": "untrained-finetune", "aw": "align-words", "as": "align-states", "r": "sampled-E64",
         "p0": "probe-wordnet", "t0": "finetune-wordnet", "p1": "probe-bible-kjv", "t1": "finetune-bible-kjv",
         "p2": "probe-foldoc", "t2": "finetune-foldoc", "p3": "probe-manpages", "t3": "finetune-manpages"}


def rest(study, rows):
    """The study of text without the steps whose numbers `rows` have; steps that only served these are left out too."""
    have = {(r["run"], r["object"], r["kept"], r["seed"], r["quantity"]) for r in rows}

    def missing(row, prefix):
        run = (row["name"].split(".")[0], row["of"], row["kept"], row["seed"]) if "of" in row else ("", row["name"], "", "")
        return prefix in SHOWN and run + (SHOWN[prefix],) not in have

    wanted = set()  # names of steps
    for group in reversed(study["steps"]):
        for row in study["tables"][group["each"]]:
            for step, command in reversed(group["run"].items()):
                name = step.format(**row)
                if missing(row, name.split("-")[0]) or name in wanted:
                    wanted.add(name)
                    wanted.update(word[1:] for word in command.format(**row).split() if word[0] == "@")
    left = {"tables": {}, "steps": []}
    for group in study["steps"]:
        by_steps = {}
        for row in study["tables"][group["each"]]:
            steps = tuple(step for step in group["run"] if step.format(**row) in wanted)
            by_steps.setdefault(steps, []).append(row)
        for steps, table in by_steps.items():
            if steps:
                name = "rest_" + "".join("abcdefghij"[int(digit)] for digit in str(len(left["steps"])))
                left["tables"][name] = table
                left["steps"].append(dict(group, each=name, run={step: group["run"][step] for step in steps}))
    return dict(study, **left)


def pairs(path, run):
    rows = read(path)
    for language in sorted({row["language"] for row in rows}):
        for quantity, words in (("sum4", "sum of sigma^4"), ("context-tokens", "mean tokens in the context")):
            of = {row["object"]: row["value"] for row in rows
                  if (row["run"], row["language"], row["quantity"]) == ("", language, quantity)}
            for row in rows:
                if (row["run"], row["language"], row["seed"]) == (run, language, "0") and row["object"] in of and \
                        row["quantity"] == ("finetune" if language else "probe-wordnet"):
                    yield {"series": words + (language and f", {language}"),
                           "outcome": f"Matthews correlation, {'fine-tuned' if language else 'linear probe'}",
                           "object": row["object"].removesuffix("-blind") + " blind" * (row["position"] == "blind"), "x": of[row["object"]],
                           "y": row["value"], "y_sd": ""}


def main(argv):
    if len(argv) == 5 and argv[1] == "pairs":
        with open(argv[4], "w", newline="") as file:
            writer = csv.DictWriter(file, ("series", "outcome", "object", "x", "y", "y_sd"), lineterminator="\n")
            writer.writeheader()
            writer.writerows(pairs(argv[2], argv[3]))
        return
    if len(argv) != 5 or argv[1] not in ("collect", "rest"):
        sys.exit(__doc__.split("\n\n")[1])
    with open(argv[2]) as file:
        study = json.load(file)
    if argv[1] == "rest":
        with open(argv[4], "w") as file:
            json.dump(rest(study, read(argv[3])), file, indent=1)
        return
    rows = joined(read(argv[4]), collect(study, argv[3]))
    write(rows, argv[4])
    runs = {(row["run"], row["language"], row["object"], row.get("kept"), row.get("seed")) for row in rows if row["role"] == "outcome"}
    print(f"{argv[4]}: {len(rows)} values, {len({(r['language'], r['object']) for r in rows})} objects, {len(runs)} of {len(runs_of(study))} runs")


if __name__ == "__main__":
    main(sys.argv)
