"""The Python module against numpy and scipy, and its failures. usage: python_module.py SVD GRAM SVD_OF_GRAM (folders of the program)"""
import contextlib
import gc
import io
import json
import sys

import numpy as np
from scipy import linalg, sparse

import cospec

try:
    import pandas
except ImportError:
    pandas = None

rng = np.random.default_rng(7)


def near(a, b, bound):
    assert np.max(np.abs(np.asarray(a) - np.asarray(b))) <= bound, (a, b)


def fails(part, function, *arguments, kind=cospec.CospecError, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        assert part in str(error), error
        return
    raise AssertionError("no failure: " + part)


def metric(result, name):
    return next(row for row in result.record["metrics"] if row["name"] == name)


counts = sparse.random(300, 60, 0.05, "csr", random_state=1)
counts.data = np.ceil(10 * counts.data)
counts = counts[np.asarray(counts.sum(1)).ravel() > 0][:, np.asarray(counts.sum(0)).ravel() > 0]
p = counts / counts.sum()
dense = p.toarray() / np.sqrt(np.outer(p.sum(1), p.sum(0)))
sigma = np.linalg.svd(dense, compute_uv=False)

s = cospec.svd(counts, k=10, vectors=True)
near(s["sigma"], sigma[:10], 1e-12)
near(dense @ s["v"], s["u"] * s["sigma"], 1e-11)
near(s["row_mass"], np.asarray(p.sum(1)).ravel(), 1e-15)
assert s["certificates"]["residual"]["state"] == "passed"
assert s.record["k"] == 10 and s.path is None
near(s["sum_sigma4"], np.sum(sigma ** 4), 1e-11)
u = s["u"]
del s
gc.collect()
near(u.T @ u, np.eye(10), 1e-11)  # the memory lives as long as a view of it
near(cospec.svd(counts.tocoo(), k="all")["sigma"], sigma[sigma > 1e-12], 1e-12)

h = rng.standard_normal((500, 24)) * np.linspace(1, 3, 24)
for rows in (h, h.astype(np.float32), h[:, ::-1], np.round(h).astype(np.int16)):
    lam = np.linalg.eigvalsh(rows.astype(float).T @ rows.astype(float))[::-1]
    r = cospec.rank(rows)
    near(r["eigenvalues"] / lam[0], lam / lam[0], 1e-12)
    near(r["participation_ratio"], lam.sum() ** 2 / np.sum(lam ** 2), 1e-10)
    assert r["rank_tau"] == 1 + np.searchsorted(np.cumsum(lam), 0.9 * lam.sum())
    assert metric(r, "rank_tau")["se"] > 0

c = cospec.connectivity(counts)
near(c["gap"], 1 - sigma[sigma < 1 - 1e-9][0], 1e-12)
assert c["cheeger_lower"] <= c["sweep_cut"] <= c["cheeger_upper"]

texts = [rng.integers(0, 30, 40).tolist() for _ in range(50)]
form = cospec.cooc(texts, "masked:mask-ratio=0.5", context="unique", max_length=8, stride=1)["matrix"]
root = 1 / np.sqrt(np.asarray(form.sum(0)).ravel())
lam = np.linalg.eigvalsh(form.toarray() * np.outer(root, root))[::-1]
s = cospec.svd(form, k="all", vectors=True)  # cooc has marked it
near(s["sigma"], cospec.svd(form.copy(), k="all", gram=True)["sigma"], 0)
with open("bad.txt", "wb") as bad:
    bad.write(b"one two one \xff two\n" * 3)
fails("invalid UTF-8", cospec.cooc, "bad.txt", "ar", context="nearest:1")
assert cospec.cooc("bad.txt", "ar", context="nearest:1", invalid="latin1")["cols"] > 0
fails("is not one of", cospec.cooc, "bad.txt", "ar", invalid="x")
fails("gram=False does not fit", cospec.svd, form, gram=False, kind=ValueError)
near(s["sigma"] ** 2, lam, 1e-13)
near([s["sum_sigma2"], s["sum_sigma4"]], [lam.sum(), np.sum(lam ** 2)], 1e-12)
assert "u" not in s and s["v"].shape == (30, 30)
near(cospec.connectivity(form, gram=True)["gap"], 1 - np.sqrt(lam[1]), 1e-12)

t = cospec.toy("masked:unmasked=2", classes=3, length=4, tokens=2)
near(t["sigma"], [1, np.sqrt(1 / 3)], 1e-15)
assert list(t["multiplicity"]) == [3, 9]

# bigrams of sequences of ids, counted here
sequences = [rng.integers(0, 9, n) for n in (5, 1, 30, 12)]
m = cospec.cooc(sequences, "ar", context="nearest:1", max_length=64)
want = np.zeros((9, 9))
for x in sequences:
    np.add.at(want, (x[:-1], x[1:]), 1)
got = m["matrix"].toarray() * m["unit"]
assert sorted(map(tuple, got[got.sum(1) > 0])) == sorted(map(tuple, want[want.sum(1) > 0]))
ids = np.concatenate(sequences).astype(np.int32)
offsets = np.cumsum([0] + [len(x) for x in sequences])
again = cospec.cooc((ids, offsets), "ar", context="nearest:1", max_length=64)
assert (again["matrix"] != m["matrix"]).nnz == 0

fails('did you mean masked?', cospec.toy, "maked", classes=2, length=4, tokens=2)
fails("is not one of enumerate", cospec.toy, "ar", classes=2, length=4, tokens=2, method="x")
fails("unexpected keyword argument 'kk'", cospec.svd, counts, kk=4, kind=TypeError)
fails("svd of an array does not take output=", cospec.svd, counts, output="x", kind=TypeError)
fails("no such file", cospec.cooc, "nowhere.tsv", "ar")
fails("nan", cospec.rank, np.full((4, 4), np.nan))
negative = counts.copy()
negative.data[3] = -1
fails("-1", cospec.svd, negative)

for function in (cospec.svd, cospec.connectivity, cospec.rank):
    name = function.__name__
    fails("no such file", function, "x")
    place = "matrix" if name == "svd" else "files[0]"
    fails(place + ": expected real numbers, got an array of complex128", function, h * 1j, kind=TypeError)
    fails(place + ": expected a matrix (2 dimensions), got an array of 3", function, np.ones((2, 2, 2)), kind=ValueError)
    fails("with rows and columns, got one of 0 x 3", function, np.ones((0, 3)), kind=ValueError)
    fails("with rows and columns, got one of 3 x 0", function, np.ones((3, 0)), kind=ValueError)
fails("real numbers", cospec.svd, counts * 1j, kind=TypeError)
near(cospec.rank(counts)["eigenvalues"], cospec.rank(counts.toarray())["eigenvalues"], 0)
fails("corpus: expected the name of a corpus, texts, or sequences of ids, got nothing", cospec.cooc, [], "ar", kind=ValueError)
fails("cooc needs objective=", cospec.cooc, [[0, 1]])
fails("cooc needs objective=", cospec.cooc)

# what the program refuses is refused in memory with the same words
counts_file, texts_file = "counts.npz", "texts.jsonl"
np.save("h.npy", h)
sparse.save_npz(counts_file, counts)


def refused(function, stored, *arrays, **options):
    """The program's message about files is that of the library about the same arrays."""
    said = []
    for places in (stored, arrays):
        try:
            function(*places, **options, progress=False)
            raise AssertionError("no failure: %s %s" % (function.__name__, options))
        except cospec.CospecError as error:
            text = str(error)
            for i, place in enumerate(stored):
                text = text.replace(str(place), "FILE").replace("matrix:", "FILE:").replace("files[%d]" % i, "FILE").replace(
                    "rows:", "FILE:").replace("corpus:", "FILE:").replace("train_or_model", "FILE").replace("test_or_train", "FILE")
            said.append((text, error.code))
    assert said[0] == said[1], said


for options in (dict(k=0), dict(k="ten"), dict(k=1000), dict(tol=-1), dict(threads=10 ** 9), dict(solver="x"),
                dict(solver="cusolver"), dict(memory=0), dict(after_ones=70), dict(k=3, after_ones=2)):
    refused(cospec.svd, [counts_file], counts, **options)
for options in (dict(tau=2), dict(blocks=0), dict(threads=0), dict(rankme_eps=2), dict(keep="masked")):
    refused(cospec.rank, ["h.npy"], h, **options)
for options in (dict(k=0), dict(blocks=0), dict(sample=2, dimension=True), dict(discard=1, dimension=True)):
    refused(cospec.similarity, ["h.npy", "h.npy"], h, h, **options)
for options in (dict(k=0), dict(jackknife=3000), dict(pairs=0)):
    refused(cospec.connectivity, [counts_file], counts, **options)
np.save("labels.npy", np.arange(500) % 2)
for options in (dict(seeds=0), dict(folds=1), dict(penalties="1,2"), dict(few="x"), dict(metric="x")):
    refused(cospec.probe, ["h.npy", "h.npy"], h, h, labels="labels.npy", test_labels="labels.npy", **options)
nan = h.copy()
nan[3, 5] = np.nan
np.save("nan.npy", nan)
for function in (cospec.rank, cospec.dimension):
    refused(function, ["nan.npy"], nan)
refused(cospec.similarity, ["h.npy", "nan.npy"], h, nan)
sparse.save_npz("negative.npz", negative)
for function in (cospec.svd, cospec.connectivity):
    refused(function, ["negative.npz"], negative)
for i, ids in enumerate([[[0, 2 ** 40, 2]], [[0, 1], [2 ** 31 - 2, 4]], [[0, -1, 3]], [[0.5, 1.0]], [[-3, 0]]]):
    np.save("ids%d.npy" % i, np.array(ids))
    refused(cospec.cooc, ["ids%d.npy" % i, "ar"], np.array(ids), "ar")
fails("token id 1099511627776 at row 0, column 1 is not in 0..2147483646", cospec.cooc, [[0, 2 ** 40], [1]], "ar")
fails("at row 1, column 0 needs 2147483647 columns for only 3 tokens", cospec.cooc, [[0, 1], [2 ** 31 - 2]], "ar")
fails("item 0 is 0.5, not a 64-bit integer", cospec.cooc, [[0.5], [1]], "ar")
fails("text 1: byte 2: NUL byte, not text", cospec.cooc, ["a b", "a\0b"], "ar", context="nearest:1")
assert cospec.cooc(["a b", "a\0b c"], "ar", context="nearest:1", invalid="replace")["mass"] > 1
assert cospec.cooc(["a b", "a\0b c"], "ar", context="nearest:1", invalid="skip")["mass"] == 1
fails("format= is for files", cospec.cooc, ["a b"], "ar", format="text")
fails("NUL", cospec.cooc, "a\0b", "ar", kind=ValueError)
fails("NUL", cospec.probe, h[:2], h[:2], labels=["a", "b\0c"], test_labels=["a", "a"], kind=ValueError)
fails("expected values without a mask", cospec.rank, np.ma.masked_array(h, h > 1), kind=TypeError)
fails("No such file", cospec.similarity, h, "x.npy")
near(cospec.similarity(h, "h.npy", progress=False)["cka"], 1, 1e-14)

# a user sees the public names and no others
assert sorted(name for name in dir(cospec) if not name.startswith("_")) == sorted([*cospec.__all__, "help"]), dir(cospec)
assert {"svd", "dimension", "read", "Result", "CospecError"} <= set(cospec.__all__) and cospec.__version__

# a text is a document, whatever lines it has
texts = ["the cat sat", "the dog\nsat", "a cat"]
m = cospec.cooc(texts, "ar", context="nearest:1")
assert m["mass"] == 5, m["mass"]

# similarity and dimension
g = h @ rng.standard_normal((24, 9))
a, b = h - h.mean(0), g - g.mean(0)
cka = np.linalg.norm(a.T @ b) ** 2 / np.linalg.norm(a.T @ a) / np.linalg.norm(b.T @ b)
near(cospec.similarity(h, g)["cka"], cka, 1e-12)
spans = [np.linalg.svd(x, full_matrices=False)[0][:, :10] for x in (a, b)]
near(cospec.similarity(h, g)["angles"]["radians"], linalg.subspace_angles(spans[0], spans[1][:, :9])[::-1], 1e-7)
plane = rng.standard_normal((2000, 2)) @ rng.standard_normal((2, 20))
assert 1.8 < cospec.dimension(plane)["intrinsic_dimension"] < 2.2
np.save("plane.npy", plane)
near(cospec.dimension("plane.npy")["metrics"][0]["value"], cospec.dimension(plane)["intrinsic_dimension"], 1e-12)

# the same numbers as the program's, with its defaults and with groups, from files of the same arrays
groups = rng.integers(0, 60, 500)
np.save("groups.npy", groups)
np.save("g.npy", g)
y = np.where(h[:, 0] + 0.5 * rng.standard_normal(500) > 0, "up", "down")
np.save("y.npy", y)
texts = ["the cat sat on the mat", "a dog", "\u00e9t\u00e9 the dog sat"] * 5
with open(texts_file, "w") as file:
    file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
ids = rng.integers(0, 40, (30, 20))
np.save("ids.npy", ids)
padded = np.where(np.arange(20) < 5 + np.arange(30)[:, None] % 9, ids, -1)
np.save("padded.npy", padded)
store = sys.argv[1] + "/../m"
matrix = cospec.read(store)["matrix.npz"]


def plain(record):
    """Without times and the names of what was read."""
    words = ("second", "file", "files", "path", "name", "matrix", "series", "of", "with", "corpus", "train", "test", "features")
    if isinstance(record, dict):
        return {key: plain(value) for key, value in record.items() if key not in (*words, "objective", "context",
                                                                                  "target_position")}
    return [plain(item) for item in record] if isinstance(record, list) else record


def same(function, stored, arrays, **pairs):
    """The library's results for arrays equal the program's for files. pairs: options as (file, array) or alike."""
    here = function(*arrays, **{k: v[1] if isinstance(v, tuple) else v for k, v in pairs.items()}, progress=False)
    there = function(*stored, **{k: v[0] if isinstance(v, tuple) else v for k, v in pairs.items()}, progress=False)
    assert here.path is None and there.text, function
    a, b = plain(here.record), plain(there.record)
    for key in (set(a) | set(b)) - {"schema", "data"}:
        assert json.dumps(a.get(key), sort_keys=True) == json.dumps(b.get(key), sort_keys=True), \
            (function.__name__, key, a.get(key), b.get(key))
    return here, there


by_group = dict(groups=("groups.npy", groups))
same(cospec.svd, [store], [matrix])
same(cospec.svd, [store], [matrix], k="all", certify="components")
same(cospec.connectivity, [store], [matrix])
same(cospec.connectivity, ["h.npy"], [h], pairs=20, **by_group)
same(cospec.rank, ["h.npy"], [h])
same(cospec.rank, ["h.npy"], [h], drop_rows=("groups.npy", groups), center=True, curve=True, **by_group)
same(cospec.similarity, ["h.npy", "g.npy"], [h, g])
plain_errors, _ = same(cospec.similarity, ["h.npy", "g.npy"], [h, g], blocks=10)
group_errors, _ = same(cospec.similarity, ["h.npy", "g.npy"], [h, g], blocks=10, **by_group)
assert metric(plain_errors, "cka")["se"] != metric(group_errors, "cka")["se"]
same(cospec.similarity, ["h.npy"], [h], with_=("g.npy", g), dimension=True)
same(cospec.dimension, ["h.npy"], [h])
same(cospec.dimension, ["h.npy"], [h], blocks=10, sample=300, **by_group)
sides = dict(labels=("y.npy", y), test_labels=("y.npy", y))
p, _ = same(cospec.probe, ["h.npy", "h.npy"], [h, h], **sides)
assert p["accuracy"] == p["metrics"][0]["value"] and len(p.frame[p.frame["metric"] == "accuracy"]) > 1 if pandas else True
assert p["metrics"][0]["name"] == "accuracy" and 0.5 < p["metrics"][0]["value"] < 1
same(cospec.probe, ["h.npy", "h.npy"], [h, h], few=50, seeds=2, test_groups=("groups.npy", groups), **by_group, **sides)
numbers = dict(labels=("h0.npy", h[:, 0]), test_labels=("h0.npy", h[:, 0]), regression=True)
np.save("h0.npy", h[:, 0])
same(cospec.probe, ["g.npy", "g.npy"], [g, g], **numbers)
for stored, array in ((texts_file, texts), ("ids.npy", ids), ("padded.npy", padded)):
    for context in ("nearest:1", "unique"):
        here, there = same(cospec.cooc, [stored, "ar"], [array, "ar"], context=context, max_length=8)
        assert (here["matrix"] != there["matrix"]).nnz == 0 and here["matrix"].form == there["matrix"].form
        assert here["matrix"].shape == there["matrix"].shape
same(cospec.cooc, [texts_file, "ar"], [texts, "ar"], context="nearest:1", tokenizer="char", vocab=5, min_tokens=8,
     split="train", weight="document")
pair = (np.concatenate([row[row >= 0] for row in padded]).astype(np.int32),
        np.cumsum([0] + [np.sum(row >= 0) for row in padded]))
for least in (1, 8):
    here, there = same(cospec.cooc, ["padded.npy", "ar"], [pair, "ar"], context="nearest:1", min_tokens=least)
    assert (here["matrix"] != there["matrix"]).nnz == 0
assert cospec.cooc(texts, "ar", context="nearest:1")["vocab"][:2] == ["<unk>", "the"]

# progress and notes
for function, arrays, options, stage in (
        (cospec.similarity, (h, g), dict(blocks=5), "blocks"), (cospec.similarity, (h, g), {}, "rows"),
        (cospec.dimension, (h,), {}, "neighbours"), (cospec.dimension, (h,), dict(blocks=5), "blocks"),
        (cospec.rank, (h,), {}, "rows"), (cospec.probe, (h, h), dict(labels=y, test_labels=y), "folds"),
        (cospec.toy, ("masked",), dict(unmasked="1:3:1", classes=2, length=4, tokens=2), "points"),
        (cospec.cooc, (ids, "ar"), {}, None), (cospec.svd, (matrix,), {}, None)):
    calls = []
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        function(*arrays, **options, progress=lambda *told: calls.append(told))
        assert all(0 <= done <= total for _, done, total in calls)
        assert calls[0] == (calls[0][0], 0, 1) and calls[-1] == (calls[0][0], 1, 1), (function, calls)
        assert stage is None or stage in [told[0] for told in calls], (function, calls)
        length = len(said.getvalue())
        function(*arrays, **options, progress=False)
        assert len(said.getvalue()) == length, (function, said.getvalue())
assert "certificates: components" in said.getvalue()

# a Gram form that the program wrote, its spectrum there and by numpy
form = cospec.read(sys.argv[2])["matrix.npz"]
square = form.toarray()[:, np.asarray(form.sum(0)).ravel() > 0]  # words that do not occur have no row
root = 1 / np.sqrt(square.sum(0))
lam = np.linalg.eigvalsh(square * np.outer(root, root))[::-1]
near(cospec.svd(form, k=5)["sigma"], np.sqrt(lam[:5]), 1e-12)
near(cospec.svd(form, k=5)["sigma"], cospec.read(sys.argv[3])["svd.csv"]["sigma"], 1e-12)

# docstrings name arguments, not options of the command line
for function, text in ((cospec.finetune, "few=16 trains"), (cospec.finetune, "template=:"), (cospec.toy, "With position_known=THETA"),
                       (cospec.finetune, "resume=True"), (cospec.verify, "matrix=DIR")):
    assert text in " ".join(function.__doc__.split()), (function, text)
assert not {"--few", "--resume", "--head"} & set(cospec.finetune.__doc__.partition("    Notes\n")[0].split())

r = cospec.read(sys.argv[1])
assert r["svd.json"]["k"] == len(r["svd.csv"]) == len(r["sigma.npy"])
near(r["svd.csv"]["sigma"], r["sigma.npy"], 0)
print("ok")
