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

s = cospec.svd(counts, k=10)
near(s["sigma"], sigma[:10], 1e-12)
near(dense @ s["v"], s["u"] * s["sigma"], 1e-11)
near(s["row_mass"], np.asarray(p.sum(1)).ravel(), 1e-15)
assert s["certificates"]["residual"]["state"] == "passed"
near(s["sum_sigma4"], np.sum(sigma ** 4), 1e-11)
u = s["u"]
del s
gc.collect()
near(u.T @ u, np.eye(10), 1e-11)  # the memory lives as long as a view of it
near(cospec.svd(counts.tocoo(), vectors=False)["sigma"], sigma[sigma > 1e-12], 1e-12)

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
s = cospec.svd(form)  # cooc has marked it
near(s["sigma"], cospec.svd(form.copy(), gram=True)["sigma"], 0)
with open("bad.txt", "wb") as bad:
    bad.write(b"one two one \xff two\n" * 3)
fails("invalid UTF-8", cospec.cooc, "bad.txt", context="nearest:1")
assert cospec.cooc("bad.txt", context="nearest:1", invalid="latin1")["cols"] > 0
fails("invalid: expected refuse, replace, skip or latin1, got x", cospec.cooc, "bad.txt", invalid="x")
fails("gram=False does not fit", cospec.svd, form, gram=False, kind=ValueError)
near(s["sigma"] ** 2, lam, 1e-13)
near([s["sum_sigma2"], s["sum_sigma4"]], [lam.sum(), np.sum(lam ** 2)], 1e-12)
assert "u" not in s and s["v"].shape == (30, 30)
near(cospec.connectivity(form, gram=True)["gap"], 1 - np.sqrt(lam[1]), 1e-12)

t = cospec.toy("masked:unmasked=2", classes=3, length=4, tokens=2)
near(t["sigma"], [1, np.sqrt(1 / 3)], 1e-15)
assert list(t["multiplicity"]) == [3, 9]

a, b = (cospec.toy(x, length=6) for x in ("masked(unmasked=2)", "masked(unmasked=4)"))
mixed = cospec.toy("mix:0.5*masked(unmasked=2)+0.5*masked(unmasked=4)", length=6)
assert b["sum_sigma2"] > mixed["sum_sigma2"] > a["sum_sigma2"]

with open("law.json", "w") as file:
    file.write('{"mixture": [{"share": "s", "objective": "masked", "parameters": {"unmasked": "s-2"}}]}')
near(cospec.toy("file(plan-file=law.json)", length=6)["sigma"], b["sigma"], 1e-15)

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

fails("mask", cospec.toy, "maked")
fails("method 'x'", cospec.toy, method="x")
fails("unknown option 'kk' (", cospec.svd, counts, kk=4)
fails("); did you mean k?", cospec.svd, counts, kk=4)
fails("did you mean tokens?", cospec.toy, token=3)
fails("did you mean max_length?", cospec.cooc, texts, maxlength=3)
fails("did you mean blocks?", cospec.rank, h, block=3)
fails("did you mean seed?", cospec.connectivity, counts, sead=3)
fails("option 'k' expects a value of type integer", cospec.svd, counts, k="ten")
fails("1000 singular triplets", cospec.svd, counts, k=1000)
fails("no such file", cospec.cooc, "nowhere.tsv")
fails("nan", cospec.rank, np.full((4, 4), np.nan))
negative = counts.copy()
negative.data[3] = -1
fails("-1", cospec.svd, negative)

for function in (cospec.svd, cospec.connectivity, cospec.rank):
    name = function.__name__
    fails(name + " takes a matrix, not a name: 'x'", function, "x", kind=TypeError)
    fails(name + " takes real numbers, not an array of object", function, None, kind=TypeError)
    fails(name + " takes real numbers, not an array of complex128", function, h * 1j, kind=TypeError)
    fails(name + " takes a matrix, not an array of 3 dimensions", function, np.ones((2, 2, 2)), kind=ValueError)
    fails("with rows and columns, not one of 0 x 3", function, np.ones((0, 3)), kind=ValueError)
    fails("with rows and columns, not one of 3 x 0", function, np.ones((3, 0)), kind=ValueError)
fails("real numbers", cospec.svd, counts * 1j, kind=TypeError)
near(cospec.rank(counts)["eigenvalues"], cospec.rank(counts.toarray())["eigenvalues"], 0)
for ids in ([[0, 2 ** 40, 2]], [[0.5, 1]], ["ab", "cd"]):
    fails("token ids are integers", cospec.cooc, ids, kind=ValueError)
for corpus in ([], None, 5):
    fails("cooc takes the name of a corpus, or sequences of ids", cospec.cooc, corpus, kind=ValueError)

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
