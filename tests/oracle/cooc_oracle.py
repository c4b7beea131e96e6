"""Co-occurrence matrices against brute force on small random corpora.

For every sequence every event (S, k) of the objective, from the definition of its plans, makes its
rows by the context mode as spectra.md words it; no hypergeometric weight is used: all masks are listed.
Rows of the program are keyed by hashes, so the two matrices are compared as multisets of rows, each
with its masses by word and by class; exactly where the program says that its units are exact.
"""
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

import plans
from harness import Checks, cospec, differ

WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu"]
CLASSES = ["air", "land", "sea"]
LONGEST = 9
TOLERANCE = 1e-9


def write_corpus(rng, path):
    """20 documents of 1..9 words, Zipf-like, with repeated words inside documents."""
    documents = []
    p = 1 / np.arange(1, len(WORDS) + 1)
    with open(path, "w", encoding="utf-8") as out:
        for _ in range(20):
            text = [str(w) for w in rng.choice(WORDS, int(rng.integers(1, LONGEST + 1)), p=p / p.sum())]
            label = str(rng.choice(CLASSES))
            documents.append((label, text))
            out.write(f"{label}\t{' '.join(text)}\n")
    return documents


def pieces(text, length, stride):
    """Sequences of a document: whole, cut every `length`, or windows every `stride`."""
    if not length:
        return [text]
    if not stride:
        return [text[i:i + length] for i in range(0, len(text), length)]
    if len(text) < length:
        return [text]
    return [text[i:i + length] for i in range(0, len(text) - length + 1, stride)]


def rows_of(mode, n, given, document, words, chosen, k, label):
    """[(row, share)] of the event (S, k); label: the class that tags the empty set, or None."""
    if not chosen and mode in ("all", "nearest"):
        return [(("empty", label, k if given and mode == "all" else None), 1.0)]
    if mode == "all":
        return [((tuple((i, words[i]) for i in chosen), k if given else None), 1.0)]
    if mode == "nearest":
        near = sorted(chosen, key=lambda i: (abs(i - k), i))[:n]
        padding = n - len(near)
        return [((frozenset((i - k, words[i]) for i in near), padding), 1.0)]
    if mode == "each":
        width, _, pairs = str(n).partition(":")
        window = [i for i in chosen if abs(i - k) <= int(width)]
        count = {"": lambda d: 1 / len(window), "flat": lambda d: 1, "linear": lambda d: (int(width) - d + 1) / int(width),
                 "harmonic": lambda d: 1 / d}[pairs]
        return [((words[i], i - k if given else None), count(abs(i - k))) for i in window]
    return [((document, k if given else None), 1.0)]


class Events:
    """events_of by length, kept."""

    def __init__(self, objective):
        self.get = lru_cache(maxsize=None)(lambda s: plans.events_of(objective, s))


def brute(documents, objective, mode, n, given, length, stride, by_document):
    """({row: {word: mass}}, {row: {class: mass}}, dropped mass, sequences left out)."""
    events, shortest = Events(objective), plans.shortest(objective)
    mass = defaultdict(lambda: defaultdict(float))
    label_mass = defaultdict(lambda: defaultdict(float))
    dropped, skipped = 0.0, 0
    for number, (label, text) in enumerate(documents):
        for words in pieces(text, length, stride):
            if len(words) < shortest:
                skipped += 1
                continue
            listed, predicted = events.get(len(words))
            weight = 1.0 if by_document else predicted
            for (chosen, k), w in listed.items():
                rows = rows_of(mode, n, given, number, words, chosen, k,
                               label if objective["empty"] == "class" else None)
                if not rows and ":" not in str(n):
                    dropped += w * weight
                for row, share in rows:
                    mass[row][words[k]] += w * weight * share
                    label_mass[row][label] += w * weight * share
    return mass, label_mass, dropped, skipped


def keep_of(documents, threshold):
    """word2vec's probability of keeping each word; None without subsampling."""
    count = Counter(w for _, text in documents for w in text)
    return threshold and {w: min(1, (threshold * sum(count.values()) / n) ** 0.5) for w, n in count.items()}


def subsampled(mass, keep):
    return {row: {w: m * keep[row[0]] * keep[w] for w, m in words.items()} for row, words in mass.items()} if keep else mass


def vocabulary_of(documents, kept):
    """<unk>, then the `kept` most frequent words, ties by byte order (corpus.h)."""
    count = Counter(w for _, text in documents for w in text)
    return ["<unk>"] + sorted(count, key=lambda w: (-count[w], w))[:kept]


def dense(mass, label_mass, vocabulary, labels):
    index = {w: i for i, w in enumerate(vocabulary)}
    out = np.zeros((len(mass), len(vocabulary) + len(labels)))
    for i, row in enumerate(mass):
        for word, m in mass[row].items():
            out[i, index[word]] += m
        for label, m in label_mass[row].items():
            out[i, len(vocabulary) + labels.index(label)] += m
    return out


def multiset_gap(ours, theirs, exact):
    """None when the rows agree up to their order."""
    if ours.shape != theirs.shape:
        return f"shape {theirs.shape} from the program, {ours.shape} expected (words and classes)"
    if exact:
        gap = np.abs(ours - np.rint(ours)).max(initial=0)
        if gap > 1e-5:
            return f"the unit does not divide the masses: remainder {gap:g} of a unit"
        a, b = (Counter(map(tuple, np.rint(m).astype(np.int64).tolist())) for m in (ours, theirs))
        if a != b:
            return (f"{sum((a - b).values())} rows differ; expected {next(iter((a - b)), None)}, "
                    f"got {next(iter((b - a)), None)} (units)")
        return None
    # Rounding must not change the order: equal numbers would differ in it.
    probe = np.random.default_rng(1).random(ours.shape[1])
    order = [np.argsort(m @ probe) for m in (ours, theirs)]
    gap = np.abs(ours[order[0]] - theirs[order[1]])
    if gap.max(initial=0) > TOLERANCE:
        i = np.unravel_index(np.argmax(gap), gap.shape)
        return (f"sorted rows differ by {gap.max():g}: {ours[order[0]][i]:.12g} expected, "
                f"{theirs[order[1]][i]:.12g} got")
    return None


def load(directory):
    with open(os.path.join(directory, "matrix.json"), encoding="utf-8") as source:
        sidecar = json.load(source)
    with open(os.path.join(directory, "vocab.txt"), encoding="utf-8") as source:
        vocabulary = source.read().splitlines()
    a = sp.load_npz(os.path.join(directory, "matrix.npz")).toarray()
    labels = sp.load_npz(os.path.join(directory, "row_labels.npz")).toarray()
    columns = sp.load_npz(os.path.join(directory, "col_labels.npz")).toarray()
    return sidecar, vocabulary, a, labels, columns


def check(documents, path, out, case, extra):
    objective, mode, n, given, length, stride, by_document = case
    options = plans.options(objective)
    if objective["name"] == "file":
        options["plan-file"] = os.path.join(os.path.dirname(path), "plans.json")
        with open(options["plan-file"], "w", encoding="utf-8") as plan_file:
            json.dump({"plans": objective["plans"]}, plan_file)
    if length:
        options["max-length"] = length
    if stride:
        options["stride"] = stride
    got = cospec("cooc", corpus=path, context=mode if n is None else f"{mode}:{n}",
                 target_position="given" if given else "blind", force=True, o=out,
                 weight="document" if by_document else "token", **options, **extra)
    sidecar, vocabulary, a, row_labels, col_labels = load(out)
    expected = vocabulary_of(documents, extra.get("vocab"))
    if vocabulary != expected:
        return f"vocabulary {vocabulary} from the program, {expected} expected"
    documents = [(c, [w if w in vocabulary else "<unk>" for w in text]) for c, text in documents]
    held_out = np.load(os.path.join(out, "corpus.npz"))["held_out"]
    if extra.get("split"):
        documents = [d for d, h in zip(documents, held_out) if h == (extra["split"] == "test")]
    mass, label_mass, dropped, skipped = brute(documents, *case)
    keep = keep_of(documents, extra.get("subsample"))
    mass, label_mass = subsampled(mass, keep), defaultdict(lambda: defaultdict(float)) if keep else label_mass
    labels = sidecar["corpus"]["labels"]
    if labels != sorted({d[0] for d in documents} | set(labels)):
        return f"classes {labels}"
    theirs = np.hstack([a, row_labels]).astype(float)
    exact, unit = sidecar["exact"], sidecar["unit"]
    by_word = np.zeros((len(vocabulary), len(labels)))
    for label, text in documents:  # class masses of the columns, from the rows
        one = brute([(label, text)], *case)[0]
        for key, row in subsampled(one, keep).items():
            for word, m in row.items():
                by_word[vocabulary.index(word), labels.index(label)] += m
                if keep:
                    label_mass[key][label] += m
    scale = 1 / unit if exact else 1.0
    ours = dense(mass, label_mass, vocabulary, labels)
    why = multiset_gap(ours * scale, theirs, exact)
    if why:
        return why
    checks = [("class masses of words", by_word * scale, col_labels, 1e-5 if exact else TOLERANCE),
              ("dropped mass", dropped, got["dropped_mass"], 1e-8),
              ("mass", sum(map(sum, (r.values() for r in mass.values()))), got["mass"], 1e-8),
              ("sequences left out", skipped, got["skipped_sequences"], 0)]
    for what, x, y, tolerance in checks:
        if np.abs(np.asarray(x, float) - np.asarray(y, float)).max(initial=0) > tolerance:
            return f"{what}: {y} from the program, {x} expected"
    return None


def check_draws(path, out, case, draws):
    """Sampled plans against the exact build of the same rows (equal keys), within six standard
    deviations. One draw of a sequence gives a cell at most `length` predicted tokens, so the variance of
    a cell's mean over D draws is at most mean x length / D."""
    objective, mode, n, given, length, stride, by_document = case
    options = plans.options(objective)
    context = mode if n is None else f"{mode}:{n}"
    cells = []
    for extra in ({}, {"draws": draws}):
        cospec("cooc", corpus=path, context=context, target_position="given" if given else "blind",
               force=True, o=out, **options, **extra)
        sidecar, _, a, _, _ = load(out)
        key = np.load(os.path.join(out, "rows.npz"))["key"]
        a = a * (sidecar["unit"] if sidecar["exact"] else 1.0)
        cells.append({(tuple(k), j): a[i, j] for i, k in enumerate(key.tolist()) for j in np.flatnonzero(a[i])})
    exact, drawn = cells
    strange = set(drawn) - set(exact)
    if strange:
        return f"{len(strange)} cells drawn that have no weight"
    for cell, mean in exact.items():
        gap = abs(drawn.get(cell, 0.0) - mean)
        if gap > 6 * np.sqrt(mean * LONGEST / draws) + 1e-9:
            return f"a cell of mass {mean:.6g} has {drawn.get(cell, 0.0):.6g} after {draws} draws"
    return differ(sum(exact.values()), sum(drawn.values()),
                  6 * np.sqrt(sum(exact.values()) * LONGEST / draws), "mass")


def draw_objective(rng, name, longest):
    """Parameters that exist at small lengths too, so that few sequences are left out."""
    weight = ["token", "mask"][int(rng.integers(2))]
    empty = ["none", "none", "shared", "class"][int(rng.integers(4))]
    objective = plans.draw(rng, name, min(4, longest), weight, empty)
    if name == "file":
        objective["plans"] = [p for s in range(1 if empty != "none" else 2, longest + 1)
                              for p in plans.random_plans(rng, s, empty != "none")]
    return objective


def cases(rng, rounds):
    modes = ["all", "nearest", "each", "pairs", "document"]
    cuttings = [(0, 0), (4, 1), (3, 0), (5, 2)]
    for _ in range(rounds):
        for name in plans.NAMES:
            for mode in modes:
                for given in (False, True):
                    n = {"nearest": int(rng.integers(1, 4)), "each": int(rng.integers(1, 5)),
                         "pairs": f"{rng.integers(1, 5)}:{rng.choice(['flat', 'linear', 'harmonic'])}"}.get(mode)
                    length, stride = cuttings[int(rng.integers(len(cuttings)))]
                    objective = draw_objective(rng, name, length or LONGEST)
                    yield objective, mode.replace("pairs", "each"), n, given, length, stride, bool(rng.random() < 0.4)


def describe(case):
    objective, mode, n, given, length, stride, by_document = case
    parts = [f"{k}={v}" for k, v in plans.options(objective).items()]
    parts += [mode if n is None else f"{mode}:{n}", "given" if given else "blind",
              "whole" if not length else f"L={length}" + (f",stride={stride}" if stride else ""),
              "documents" if by_document else "tokens"]
    return " ".join(parts)


def main():
    checks = Checks("cooc")
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    extras = [{}, {"threads": 1}, {}, {"threads": 3}, {"split": "train"}, {"vocab": 4}, {"memory": "1M"}]
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "corpus.tsv"), os.path.join(folder, "m")
        for number, case in enumerate(cases(rng, rounds)):
            documents = write_corpus(rng, path)
            extra = extras[number % len(extras)]
            if ":" in str(case[2]) and rng.random() < 0.5:
                extra = {**extra, "subsample": round(float(rng.uniform(0.02, 0.3)), 3)}
            name = f"{describe(case)} {' '.join(f'{k}={v}' for k, v in extra.items())}".strip()
            checks.run(name, check, documents, path, out, case, extra)
        for number, name in enumerate(n for n in plans.NAMES if n != "file"):
            with open(path, "w", encoding="utf-8") as source:
                source.write("air\tant bee ant cat dog\nsea\telk bee bee fox\nair\tgnu cat ant\n")
            objective = plans.draw(rng, name, 3, ["token", "mask"][number % 2])
            for mode, n in (("all", None), ("nearest", 2), ("each", 2), ("each", "2:linear"), ("document", None)):
                case = (objective, mode, n, False, 0, 0, False)
                checks.run(f"draws {describe(case)}", check_draws, path, out, case, 4000)
    checks.exit()


if __name__ == "__main__":
    main()
