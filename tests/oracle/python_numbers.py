"""The numbers of functions of arrays, by formulas of numpy and by scipy and scikit-learn (where it is installed).

usage: python_numbers.py
"""
import csv
import os

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

import cospec

rng = np.random.default_rng(11)
quiet = dict(progress=False)


def near(a, b, bound):
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert np.max(np.abs(a - b)) <= bound, (a, b)


# svd: the normalised matrix by its definition, its triplets by ARPACK
counts = sparse.random(4000, 900, 0.01, "csr", random_state=3)
counts.data = np.ceil(20 * counts.data)
counts = counts[np.asarray(counts.sum(1)).ravel() > 0]
p = counts / counts.sum()
scale = [sparse.diags(1 / np.sqrt(np.asarray(p.sum(axis)).ravel())) for axis in (1, 0)]
normalised = sparse.csr_matrix(scale[0] @ p @ scale[1])
sigma = np.sort(svds(normalised, k=12, tol=1e-12, return_singular_vectors=False))[::-1]
s = cospec.svd(counts, k=12, vectors=True, **quiet)
near(s["sigma"], sigma, 1e-10)
near(normalised @ s["v"], s["u"] * s["sigma"], 1e-9)
near(s["sum_sigma2"], normalised.multiply(normalised).sum(), 1e-9)

# svd of a form: QWEM's matrix as a dense one, with the signs of its eigenvalues where it is symmetric
near(cospec.svd(counts, k=12, form="centred", **quiet)["sigma"][:11], sigma[1:], 1e-10)
few = counts[:300].T @ counts[:300]
few = few[few.getnnz(1) > 0][:, few.getnnz(0) > 0]
joint = few.toarray() / few.sum()
e = np.outer(joint.sum(1), joint.sum(0))
values = np.linalg.eigvalsh((joint - e) / (0.5 * (joint + e)))
values = values[np.argsort(-np.abs(values))[:12]]
s = cospec.svd(few, k=12, form="qwem", vectors=True, **quiet)
near(np.sort(s["eigenvalue"]), np.sort(values), 1e-10 * abs(values[0]))
near(s["u"], s["v"] * np.sign(s["eigenvalue"]), 0)
assert s["matrix_form"] == "qwem" and s["symmetric"] is True
sparse.save_npz("few.npz", few.tocsr())
d = cospec.density("few.npz", known=3, form="qwem", **quiet)
near(d["sigma"], np.abs(values[:3]), 1e-10 * abs(values[0]))
try:
    cospec.svd(counts, k=2, form="qwen", **quiet)
except cospec.CospecError as error:
    assert "did you mean qwem?" in str(error), error

# rank: every measure by its definition
h = rng.standard_normal((300, 40)) * np.linspace(0.1, 2, 40) ** 2 + 0.3
for center in (False, True):
    x = h - h.mean(0) if center else h
    lam = np.linalg.svd(x, compute_uv=False) ** 2
    r = cospec.rank(h, center=center, **quiet)
    near(r["eigenvalues"], lam, 1e-9 * lam[0])

    def entropy(weights):
        return np.exp(-np.sum(weights * np.log(weights)))

    share = np.cumsum(lam) / lam.sum()
    near(r["rank_tau"], 1 + np.searchsorted(share, 0.9), 0)
    near(r["entropy_rank"], entropy(np.sqrt(lam) / np.sqrt(lam).sum()), 1e-8)
    near(r["entropy_rank_squared"], entropy(lam / lam.sum()), 1e-8)
    near(r["rankme"], entropy(np.sqrt(lam) / np.sqrt(lam).sum() + 1e-7), 1e-6)
    near(r["participation_ratio"], lam.sum() ** 2 / np.sum(lam ** 2), 1e-9)
    near(r["stable_rank"], lam.sum() / lam[0], 1e-10)
    near(r["numerical_rank"], 40, 0)

# similarity: CKA biased and unbiased (Song et al., equation 5), Procrustes
a, b = rng.standard_normal((200, 12)), rng.standard_normal((200, 9))
b[:, :5] += a[:, :5]
m = cospec.similarity(a, b, **quiet)
ac, bc = a - a.mean(0), b - b.mean(0)
fro = np.linalg.norm
near(m["cka"], fro(bc.T @ ac) ** 2 / (fro(ac.T @ ac) * fro(bc.T @ bc)), 1e-12)


def hsic(x, y):
    n = len(x)
    k, l = x @ x.T, y @ y.T
    np.fill_diagonal(k, 0)
    np.fill_diagonal(l, 0)
    one = np.ones(n)
    return (np.trace(k @ l) + one @ k @ one * (one @ l @ one) / ((n - 1) * (n - 2))
            - 2 / (n - 2) * (one @ k @ l @ one)) / (n * (n - 3))


near(m["cka_unbiased"], hsic(a, b) / np.sqrt(hsic(a, a) * hsic(b, b)), 1e-10)
nuclear = np.linalg.svd(ac.T @ bc, compute_uv=False).sum()
near(m["procrustes"], 2 - 2 * nuclear / (fro(ac) * fro(bc)), 1e-12)

# dimension: two-NN through the origin, mean cosine, isotropy over the eigenvectors and their negatives
x = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 15)) + 0.2
d = cospec.dimension(x, **quiet)
distance = np.sort(np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)), axis=1)
ratio = np.sort(distance[:, 2] / distance[:, 1])[:450]
u, v = np.log(ratio), -np.log1p(-np.arange(1, 451) / 500)
near(d["intrinsic_dimension"], (u @ v) / (u @ u), 1e-8)
unit = x / fro(x, axis=1, keepdims=True)
near(d["mean_cosine"], (np.sum(unit.sum(0) ** 2) - 500) / (500 * 499), 1e-12)
directions = np.linalg.eigh(x.T @ x)[1]
z = np.exp(np.concatenate([directions, -directions], 1).T @ x.T / np.sqrt(np.mean(np.sum(x ** 2, 1)))).sum(1)
near(d["partition_isotropy"], z.min() / z.max(), 1e-9)

# the jackknife over whole groups: everything anew without each block
groups = rng.integers(0, 6, 200)
g = cospec.similarity(a, b, groups=groups, blocks=200, **quiet).record["metrics"][0]
blocks = np.unique(groups)
left = []
for block in blocks:
    y, w = a[groups != block], b[groups != block]
    y, w = y - y.mean(0), w - w.mean(0)
    left.append(fro(w.T @ y) ** 2 / (fro(y.T @ y) * fro(w.T @ w)))
near(g["se"], np.sqrt((len(blocks) - 1) * np.var(left)), 1e-10)

# probe: the penalty of scikit-learn, C = 1 / (n penalty), on standardised features
try:
    from sklearn.linear_model import LogisticRegression, Ridge
except ImportError:
    LogisticRegression = None
if LogisticRegression:
    train, test = rng.standard_normal((240, 20)), rng.standard_normal((150, 20))
    weight = rng.standard_normal((20, 3))
    labels, truth = np.argmax(train @ weight + 2 * rng.standard_normal((240, 3)), 1), np.argmax(test @ weight, 1)
    mean, deviation = train.mean(0), train.std(0)
    for name, array in (("train", train), ("test", test), ("labels", labels), ("truth", truth)):
        np.save(name + ".npy", array)
    for penalty in (1.0, 0.01):
        sk = LogisticRegression(C=1 / (240 * penalty), tol=1e-10, max_iter=10000).fit((train - mean) / deviation, labels)
        predicted = sk.predict((test - mean) / deviation)
        here = cospec.probe(train, test, labels=labels, test_labels=truth, penalties=penalty, **quiet)
        near(here["metrics"][0]["value"], np.mean(predicted == truth), 1e-12)
        there = cospec.probe("train.npy", "test.npy", labels="labels.npy", test_labels="truth.npy", penalties=penalty,
                             output="p%g" % penalty, **quiet)
        with open(os.path.join(there.path, "predictions.csv")) as file:
            own = [int(row["seed_1"]) for row in csv.DictReader(file)]
        assert own == list(predicted), np.sum(np.array(own) != predicted)
    y, z = train @ weight[:, 0] + rng.standard_normal(240), test @ weight[:, 0]
    ridge = Ridge(alpha=240 * 0.1).fit((train - mean) / deviation, (y - y.mean()) / y.std())
    values = y.mean() + y.std() * ridge.predict((test - mean) / deviation)
    here = cospec.probe(train, test, labels=y, test_labels=z, penalties=0.1, regression=True, metric="mse", **quiet)
    near(here["metrics"][0]["value"], np.mean((values - z) ** 2), 1e-10)
print("ok" if LogisticRegression else "ok without scikit-learn")
