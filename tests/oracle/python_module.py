"""The Python module against numpy and scipy, and its failures. usage: python_module.py SVD GRAM SVD_OF_GRAM (folders of the program)"""
import gc
import sys

import numpy as np
from scipy import sparse

import cospec

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
    near(r["participation_ratio"]["value"], lam.sum() ** 2 / np.sum(lam ** 2), 1e-10)
    assert r["rank_tau"]["value"] == 1 + np.searchsorted(np.cumsum(lam), 0.9 * lam.sum())
    assert r["rank_tau"]["se"] > 0

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
fails("svd of an array does not take start=", cospec.svd, counts, start="x", kind=TypeError)
fails("option 'k' expects a value of type integer", cospec.svd, counts, k="ten")
fails("1000 singular triplets", cospec.svd, counts, k=1000)
fails("no such file", cospec.cooc, "nowhere.tsv", "ar")
fails("nan", cospec.rank, np.full((4, 4), np.nan))
negative = counts.copy()
negative.data[3] = -1
fails("-1", cospec.svd, negative)

for function in (cospec.svd, cospec.connectivity, cospec.rank):
    name = function.__name__
    fails("no such file", function, "x")
    fails(name + " takes real numbers, not an array of complex128", function, h * 1j, kind=TypeError)
    fails(name + " takes a matrix, not an array of 3 dimensions", function, np.ones((2, 2, 2)), kind=ValueError)
    fails("with rows and columns, not one of 0 x 3", function, np.ones((0, 3)), kind=ValueError)
    fails("with rows and columns, not one of 3 x 0", function, np.ones((3, 0)), kind=ValueError)
fails("real numbers", cospec.svd, counts * 1j, kind=TypeError)
near(cospec.rank(counts)["eigenvalues"], cospec.rank(counts.toarray())["eigenvalues"], 0)
for ids in ([[0, 2 ** 40, 2]], [[0.5, 1]]):
    fails("token ids are integers", cospec.cooc, ids, "ar", kind=ValueError)
fails("not an id from 0 to 2147483646", cospec.cooc, [[0, 2 ** 31 - 1]], "ar")
fails("cooc takes the name of a corpus, texts, or sequences of ids", cospec.cooc, [], "ar", kind=ValueError)
fails("cooc needs objective", cospec.cooc, [[0, 1]])
fails("cooc needs --objective", cospec.cooc)

# what the program refuses the library refuses too
fails("threads: 1000000000 is not in 1..256", cospec.rank, h, threads=10 ** 9)
fails("--threads: 1000000000 is not in 1..256", cospec.svd, sys.argv[1], threads=10 ** 9)
fails("k: 0 is below 1", cospec.svd, counts, k=0)
fails("NUL", cospec.cooc, "a\0b", "ar", kind=ValueError)
fails("no masked array", cospec.rank, np.ma.masked_array(h, h > 1), kind=TypeError)
fails("arrays or paths, not both", cospec.similarity, h, "x", kind=TypeError)

# a text is a document, whatever lines it has
texts = ["the cat sat", "the dog\nsat", "a cat"]
m = cospec.cooc(texts, "ar", context="nearest:1")
assert m["mass"] == 5, m["mass"]

# similarity and dimension
g = h @ rng.standard_normal((24, 9))
a, b = h - h.mean(0), g - g.mean(0)
cka = np.linalg.norm(a.T @ b) ** 2 / np.linalg.norm(a.T @ a) / np.linalg.norm(b.T @ b)
near(cospec.similarity(h, g)["cka"], cka, 1e-12)
plane = rng.standard_normal((2000, 2)) @ rng.standard_normal((2, 20))
assert 1.8 < cospec.dimension(plane)["intrinsic_dimension"] < 2.2
np.save("plane.npy", plane)
near(cospec.dimension("plane.npy")["metrics"][0]["value"], cospec.dimension(plane)["intrinsic_dimension"], 1e-12)

# the same numbers as the program's, from files of the same arrays
np.save("h.npy", h)
groups = np.repeat(np.arange(100), 5)
np.save("groups.npy", groups)
here, there = cospec.rank(h, groups=groups), cospec.rank("h.npy", groups="groups.npy")
for row in there["metrics"]:
    if row["name"] in here:
        own = here[row["name"]]
        np.testing.assert_allclose(np.array([own["value"], own["se"]], float), np.array([row["value"], row["se"]], float), 1e-9)
y = (h[:, 0] > 0).astype(int)
p = cospec.probe(h, h, labels=y, test_labels=y)
assert p["metrics"][0]["name"] == "accuracy" and p["metrics"][0]["value"] > 0.9
stored = cospec.svd(sys.argv[1] + "/../m")
matrix = cospec.read(sys.argv[1] + "/../m")["matrix.npz"]
near(cospec.svd(matrix)["sigma"], stored["sigma"], 1e-10)
assert len(stored["sigma"]) == len(cospec.svd(matrix)["sigma"]) and stored.text

calls = []
cospec.svd(matrix, k=3, progress=lambda *told: calls.append(told))

# a Gram form that the program wrote, its spectrum there and by numpy
form = cospec.read(sys.argv[2])["matrix.npz"]
square = form.toarray()[:, np.asarray(form.sum(0)).ravel() > 0]  # words that do not occur have no row
root = 1 / np.sqrt(square.sum(0))
lam = np.linalg.eigvalsh(square * np.outer(root, root))[::-1]
near(cospec.svd(form, k=5)["sigma"], np.sqrt(lam[:5]), 1e-12)
near(cospec.svd(form, k=5)["sigma"], cospec.read(sys.argv[3])["svd.csv"]["sigma"], 1e-12)

r = cospec.read(sys.argv[1])
assert r["svd.json"]["k"] == len(r["svd.csv"]) == len(r["sigma.npy"])
near(r["svd.csv"]["sigma"], r["sigma.npy"], 0)
print("ok")
