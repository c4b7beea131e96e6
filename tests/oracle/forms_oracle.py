"""Forms of the matrix against their dense definitions by numpy, and on a real corpus against scipy's svds and eigsh.

Random counts go through LAPACK as dense matrices. The corpus (FOLDOC) is too large for that: scipy's solvers get the definition as a
LinearOperator that is written from the table of docs/explanation/forms.md, and the counts of windows are made here from the token ids.
"""
import os
import tempfile

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, svds

from harness import Checks, Failure, cospec, differ

TOLERANCE = 1e-10
FORMS = ("normalised", "centred", "conditional", "ppmi", "sppmi:3", "qwem", "support", "log")


def dense(a, form):
    """The form of a dense matrix of counts without empty rows and columns."""
    n, seen = a.sum(), a > 0
    a = a / n
    p, q = a.sum(1), a.sum(0)
    e = np.outer(p, q)
    r = np.where(seen, a / e, 1)
    return {"normalised": lambda: a / np.sqrt(e), "centred": lambda: (a - e) / np.sqrt(e), "conditional": lambda: a / np.sqrt(p)[:, None],
            "ppmi": lambda: np.maximum(0, np.log(r)), "sppmi:3": lambda: np.where(seen, np.maximum(0, np.log(r / 3)), 0),
            "qwem": lambda: (a - e) / (0.5 * (a + e)), "support": lambda: seen - seen.sum(1, keepdims=True) / len(q),
            "log": lambda: np.log1p(n * a)}[form]()


def operator(a, form):
    """The same of a sparse matrix, as S - l r^T."""
    a = sp.csr_matrix(a, dtype=float)
    n = a.sum()
    p, q = np.asarray(a.sum(1)).ravel() / n, np.asarray(a.sum(0)).ravel() / n
    rows, cols = a.nonzero()
    x = np.asarray(a[rows, cols]).ravel() / n
    r = x / (p[rows] * q[cols])
    m, v = a.shape
    none = np.zeros(m), np.zeros(v)
    value, (left, right) = {
        "normalised": (x / np.sqrt(p[rows] * q[cols]), none), "centred": (x / np.sqrt(p[rows] * q[cols]), (np.sqrt(p), np.sqrt(q))),
        "conditional": (x / np.sqrt(p[rows]), none), "ppmi": (np.maximum(0, np.log(r)), none),
        "sppmi:3": (np.maximum(0, np.log(r / 3)), none), "qwem": (4 * r / (r + 1), (np.full(m, 2.0), np.ones(v))),
        "support": (np.ones_like(x), (np.bincount(rows, minlength=m) / v, np.ones(v))), "log": (np.log1p(n * x), none)}[form]
    s = sp.csr_matrix((value, (rows, cols)), a.shape)
    return LinearOperator(a.shape, matvec=lambda y: s @ y.ravel() - left * (right @ y.ravel()),
                          rmatvec=lambda y: s.T @ y.ravel() - right * (left @ y.ravel()), dtype=float)


def filled(a):
    a = a[np.asarray(a.sum(1)).ravel() > 0]
    return a[:, np.asarray(a.sum(0)).ravel() > 0]


def save(a, folder):
    path = os.path.join(folder, "a.npz")
    sp.save_npz(path, sp.csr_matrix(a))
    return path


def check_random(rng, form):
    for _ in range(15):
        a = rng.poisson(rng.choice([0.2, 1.0, 4.0]), rng.integers(2, 40, 2)).astype(float)
        a[0, 0] += 1
        want = np.linalg.svd(dense(filled(a), form), compute_uv=False)
        if want[0] < 1e-9:
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = cospec("svd", save(a, folder), k="all", form=form, certify="moments,inertia")
        got = np.array(out["sigma"])
        why = differ(np.pad(got, (0, len(want) - len(got))), want, TOLERANCE * max(1, want[0]))
        if why:
            return why
    return None


def check_corpus(a, path, form):
    out = cospec("svd", path, k=12, form=form)
    want = np.sort(svds(operator(a, form), k=12, tol=1e-13, return_singular_vectors=False, random_state=1))[::-1]
    if out["certificates"]["probe"]["state"] != "passed":
        return f"probe {out['certificates']['probe']}"
    return differ(np.array(out["sigma"]), want, TOLERANCE * want[0])


def check_signed(a, path, form):
    out = cospec("svd", path, k=12, form=form)
    want = eigsh(operator(a, form), k=12, which="LM", tol=1e-13, return_eigenvectors=False)
    if not (want < 0).any() or not (want > 0).any():
        return "the eigenvalues have one sign only: no test"
    return differ(np.sort(out["eigenvalue"]), np.sort(want), TOLERANCE * abs(want).max())


def windows(folder, width):
    """Symmetric counts of tokens within `width` of each other, in documents."""
    corpus = np.load(os.path.join(folder, "corpus.npz"))
    ids, starts = corpus["token"], corpus["doc_ptr"]
    document = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    size = int(ids.max()) + 1
    total = sp.csr_matrix((size, size))
    for d in range(1, width + 1):
        same = document[d:] == document[:-d]
        total = total + sp.csr_matrix((np.ones(same.sum()), (ids[:-d][same], ids[d:][same])), (size, size))
    return (total + total.T).tocsr()


def main():
    checks = Checks("forms")
    rng = np.random.default_rng(1)
    for form in FORMS:
        checks.run(f"random-{form}", check_random, rng, form)
    with tempfile.TemporaryDirectory() as folder:
        words = os.path.join(folder, "words")
        try:
            cospec("cooc", corpus="foldoc", objective="ar", context="nearest:1", vocab=3000, o=words)
        except Failure as error:
            checks.skip("corpus", str(error)[-200:])
            return checks.exit()
        bigrams = filled(sp.load_npz(os.path.join(words, "matrix.npz")).tocsr())
        counts = windows(words, 2)
        near = filled(counts)
        path = save(counts, folder)
        for form in FORMS:
            checks.run(f"corpus-{form}", check_corpus, bigrams, words, form)
            if form not in ("normalised", "conditional", "support"):  # one sign only; not symmetric
                checks.run(f"signed-{form}", check_signed, near, path, form)
    return checks.exit()


main()
