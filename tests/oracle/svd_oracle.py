"""The normalised SVD against numpy and scipy on random sparse matrices.

Several components, proportional rows and columns, empty rows and columns; every input format; all
triplets and truncated ones, every solver; vectors checked through the normalised matrix.
"""
import gzip
import os
import sys
import tempfile

import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import svds

from harness import ZERO, Checks, cospec, differ, normalise

TOLERANCE = 1e-10  # numpy's and our backward errors are about 1e-15 times the size


def random_matrix(rng, blocks, rows, cols, density, least=1, integer=True):
    """Blocks on the diagonal, some rows and columns multiples of others, some empty; all shuffled."""
    parts = []
    for _ in range(blocks):
        m, n = int(rng.integers(least, rows + 1)), int(rng.integers(least, cols + 1))
        part = rng.poisson(density, (m, n)).astype(float)
        if not integer:
            part *= rng.uniform(0.1, 2, (m, n))
        part[0, 0] += 1
        if m > 3:
            part[-1] = 3 * part[0]  # the same conditional distribution
            part[-2] = part[0]
        if n > 3:
            part[:, -1] = 2 * part[:, 0]
        parts.append(part)
    a = sp.block_diag(parts).toarray()
    a = np.pad(a, ((0, int(rng.integers(3))), (0, int(rng.integers(3)))))
    return a[rng.permutation(a.shape[0])][:, rng.permutation(a.shape[1])]


def count_components(a):
    """Of the bipartite graph without its isolated nodes, by scipy."""
    a = a[a.sum(1) > 0][:, a.sum(0) > 0]
    m, n = a.shape
    graph = sp.bmat([[None, sp.csr_matrix(a)], [sp.csr_matrix((n, m)), None]])
    return connected_components(graph, directed=False)[0]


def save(a, form, folder):
    path = os.path.join(folder, "matrix." + {"npy": "npy", "npy-f": "npy", "mtx": "mtx",
                                             "mtx-dense": "mtx", "mtx-unsigned": "mtx", "mtx-gz": "mtx.gz"}.get(form, "npz"))
    if form == "npy":
        np.save(path, a)
    elif form == "npy-f":
        np.save(path, np.asfortranarray(a.astype(np.float32)) if np.all(a == a.astype(np.float32))
                else np.asfortranarray(a))
    elif form == "mtx":
        scipy.io.mmwrite(path, sp.coo_matrix(a), precision=17)
    elif form == "mtx-dense":
        scipy.io.mmwrite(path, a, precision=17)
    elif form == "mtx-unsigned":
        scipy.io.mmwrite(path, sp.coo_matrix(a.astype(np.uint32) if np.all(a == a.astype(np.uint32)) else a), precision=17)
    elif form == "mtx-gz":
        with gzip.open(path, "wb") as f:
            scipy.io.mmwrite(f, sp.coo_matrix(a), precision=17)
    elif form == "bsr":
        size = [max(d for d in (1, 2, 3) if n % d == 0) for n in a.shape]
        sp.save_npz(path, sp.csr_matrix(a).tobsr(tuple(size)))
    elif form == "int":
        sp.save_npz(path, sp.csr_matrix(a.astype(np.int64)))
    elif form == "unsorted":
        s = sp.coo_matrix(a)
        order = np.random.default_rng(1).permutation(s.nnz)
        twice = [np.concatenate([x[order], x[order]]) for x in (s.row, s.col)]
        half = np.concatenate([0.25 * s.data[order], 0.75 * s.data[order]])
        sp.save_npz(path, sp.coo_matrix((half, tuple(twice)), shape=a.shape))
    else:
        sp.save_npz(path, sp.csr_matrix(a).asformat(form), compressed=form != "csc")
    return path


FORMS = ["npy", "npy-f", "csr", "csc", "coo", "mtx", "mtx-dense", "int", "unsorted", "bsr", "dia", "mtx-unsigned", "mtx-gz"]


def expected(a, normalised):
    bar = a if normalised else normalise(a)
    sigma = np.linalg.svd(bar, compute_uv=False)
    return bar, sigma[sigma > ZERO], len(sigma) - np.count_nonzero(sigma > ZERO)


def check_all(a, form, normalised, extra, folder):
    """-k all: every value, zeros counted apart, components, sums."""
    path = save(a, form, folder)
    got = cospec("svd", path, k="all", **({"normalised": True} if normalised else {}), **extra)
    bar, sigma, zeros = expected(a, normalised)
    why = differ(sigma, got["sigma"], TOLERANCE)
    facts = [("zeros", got["zeros"], zeros), ("rank", got["rank"], len(sigma)),
             ("rows", got["rows"], a.shape[0]), ("cols", got["cols"], a.shape[1]),
             ("converged", got["converged"], True)]
    if "no-reduction" not in extra:
        facts.append(("components", got["components"], count_components(np.abs(a))))
    for what, theirs, ours in facts:
        why = why or (f"{what}: {theirs} from the program, {ours} expected" if theirs != ours else None)
    for power in (2, 4):
        why = why or differ(np.sum(sigma ** power), got[f"sum_sigma{power}"], 1e-9, f"sum_sigma{power}")
    worst = max(got["residual"], default=0)
    failed = [c for c, s in got["certificates"].items() if s["state"] == "failed"]
    return why or (f"residual {worst}" if worst > 1e-11 else None) or (
        f"certificates failed: {failed}" if failed else None)


def check_vectors(a, k, extra, folder):
    """U, V orthonormal; both residuals; zero rows where there is no mass."""
    path, out = save(a, "csr", folder), os.path.join(folder, "out")
    got = cospec("svd", path, k=k, vectors=True, force=True, o=out, **extra)
    u, v = (np.load(os.path.join(out, name + ".npy")) for name in ("u", "v"))
    sigma = np.load(os.path.join(out, "sigma.npy"))
    bar, full, _ = expected(a, False)
    wanted = len(full) if k == "all" else min(k, len(full))
    if u.shape != (a.shape[0], wanted) or v.shape != (a.shape[1], wanted):
        return f"shapes {u.shape}, {v.shape} for {wanted} triplets"
    eye = np.eye(wanted)
    return (differ(full[:wanted], sigma, TOLERANCE)
            or differ(sigma, got["sigma"], 0, "sigma.npy against JSON")
            or differ(eye, u.T @ u, 1e-10, "U^T U") or differ(eye, v.T @ v, 1e-10, "V^T V")
            or differ(bar @ v, u * sigma, 1e-10, "Abar V - U S")
            or differ(bar.T @ u, v * sigma, 1e-10, "Abar^T U - V S"))


def check_against_svds(a, k, folder):
    path = save(a, "csr", folder)
    got = cospec("svd", path, k=k)
    # svds alone may miss copies of a multiple value: numpy is the reference, svds a check of it.
    theirs = np.sort(svds(sp.csr_matrix(normalise(a)), k=k, tol=1e-12, return_singular_vectors=False,
                          random_state=0))[::-1]
    full = np.linalg.svd(normalise(a), compute_uv=False)[:k]
    why = differ(full[full > ZERO], got["sigma"], TOLERANCE)
    if not why and np.any(np.asarray(got["sigma"]) < theirs[:len(got["sigma"])] - 1e-9):
        why = "svds found larger values"
    return why


def check_too_many(a, folder):
    """k beyond min(rows, cols) is a usage error."""
    cospec("svd", save(a, "csr", folder), k=min(a.shape) + 1, codes=(2,))


def main():
    checks = Checks("svd")
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            for blocks in (1, 3, 8):
                integer = form in ("int", "mtx-unsigned") or bool(rng.random() < 0.5)
                a = random_matrix(rng, blocks, 14, 9, 0.7, integer=integer)
                checks.run(f"all {form} blocks={blocks}", check_all, a, form, False, {}, folder)
        for solver in ("lapack", "arpack", "block"):
            for no_reduction in (False, True):
                extra = {"solver": solver, **({"no-reduction": True} if no_reduction else {})}
                for blocks in (1, 4):
                    a = random_matrix(rng, blocks, 40, 25, 0.6, least=16)
                    name = f"{solver} blocks={blocks} no-reduction={no_reduction}"
                    if solver != "arpack" or not no_reduction:  # ARPACK alone cannot find all
                        checks.run(f"all {name}", check_all, a, "csr", False, extra, folder)
                    checks.run(f"vectors {name}", check_vectors, a, 12, extra, folder)
        for blocks in (1, 3, 6):
            a = random_matrix(rng, blocks, 20, 12, 0.8)
            checks.run(f"normalised blocks={blocks}", check_all, normalise(a), "csr", True, {}, folder)
            checks.run(f"normalised-npy blocks={blocks}", check_all, normalise(a), "npy", True, {}, folder)
            checks.run(f"vectors-all blocks={blocks}", check_vectors, a, "all", {}, folder)
            checks.run(f"k-too-large blocks={blocks}", check_too_many, a, folder)
        for shape in ((1, 1), (1, 7), (9, 1), (3, 40), (60, 2)):
            a = rng.poisson(1.0, shape).astype(float) + np.eye(*shape)
            checks.run(f"shape {shape[0]}x{shape[1]}", check_all, a, "csr", False, {}, folder)
        # Larger: sparse solver, several large components, some small ones.
        for blocks, m, n, density in ((1, 500, 300, 0.03), (3, 400, 250, 0.03), (12, 60, 40, 0.1)):
            a = random_matrix(rng, blocks, m, n, density, least=n // 3)
            for k in (5, 25):
                checks.run(f"svds {a.shape[0]}x{a.shape[1]} k={k}", check_against_svds, a, k, folder)
                checks.run(f"vectors {a.shape[0]}x{a.shape[1]} k={k}", check_vectors, a, k, {}, folder)
                for solver in ("arpack", "block"):
                    checks.run(f"vectors-{solver} {a.shape[0]}x{a.shape[1]} k={k}", check_vectors, a, k,
                               {"solver": solver}, folder)
    checks.exit()


if __name__ == "__main__":
    main()
