"""Multiple singular values: COUNT disjoint connected blocks give COUNT singular values 1, every one to
be returned, with nothing else above them. The result of scipy for the same matrix is printed, not checked.
"""
import os
import tempfile
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from harness import Checks, cospec, differ

EXTRA = 8  # triplets requested beyond the copies


def block(rng, kind):
    """Connected: rank one of equal counts, or a random sparse one with a full first row and column."""
    if kind == "rank1":
        return np.ones((60, 24))
    m, n = int(rng.integers(40, 160)), int(rng.integers(16, 64))
    a = np.zeros((m, n))
    np.add.at(a, (rng.integers(0, m, 8 * m), rng.integers(0, n, 8 * m)),
              rng.zipf(2.0, 8 * m).clip(1, 100))
    a[0] += 1
    a[:, 0] += 1
    return a


def blocks(kind, count, seed, normalise=True):
    rng = np.random.default_rng(seed)
    parts = [block(rng, kind) for _ in range(count)]
    a = sp.block_diag(parts, format="csr")
    a = a[rng.permutation(a.shape[0])][:, rng.permutation(a.shape[1])]
    below = []  # every singular value other than the ones, block by block
    for part in parts:
        bar = part / np.sqrt(np.outer(part.sum(1), part.sum(0)))
        below.append(np.linalg.svd(bar, compute_uv=False)[1:])
    if normalise:
        p, q = np.asarray(a.sum(1)).ravel(), np.asarray(a.sum(0)).ravel()
        a = (sp.diags(p ** -0.5) @ a @ sp.diags(q ** -0.5)).tocsr()
    return a, np.sort(np.concatenate(below))[::-1]


def check(path, count, below, normalised, extra):
    k = count + EXTRA
    got = cospec("svd", path, k=k, **({"normalised": True} if normalised else {}), **extra)
    wanted = np.concatenate([np.ones(count), below[below > 1e-9]])[:k]
    why = differ(wanted, got["sigma"], 1e-10)
    if not why and (got["components"], got["zeros"]) != (count, k - len(wanted)):
        why = f"{got['components']} components, {got['zeros']} zeros, {count} and {k - len(wanted)} expected"
    return why


def scipy_copies(a, count):
    start = time.monotonic()
    sigma = svds(a, k=count + EXTRA, return_singular_vectors=False, random_state=0)
    return np.count_nonzero(sigma > 1 - 1e-6), time.monotonic() - start


def main():
    checks = Checks("multiplicity")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "blocks.npz")
        for kind in ("rank1", "sparse"):
            for count in (64, 256):
                for seed in (0, 1):
                    for normalised in (True, False):
                        a, below = blocks(kind, count, seed, normalised)
                        sp.save_npz(path, a)
                        name = f"{kind} {count} seed={seed} {'normalised' if normalised else 'counts'}"
                        checks.run(name, check, path, count, below, normalised, {})
                a, below = blocks(kind, count, 0)
                sp.save_npz(path, a)
                if count == 64:
                    checks.run(f"{kind} {count} without components or lumping", check_plain, path, count,
                               below)
                if (kind, count) == ("sparse", 256):
                    continue  # half a minute for scipy, which finds 87 of them
                copies, seconds = scipy_copies(a, count)
                print(f"# scipy svds finds {copies} of {count} copies of 1 ({kind}, {seconds:.1f} s)",
                      flush=True)
    checks.exit()


def check_plain(path, count, below):
    """One solver call on the whole matrix must come to the same values; it may not know components."""
    got = cospec("svd", path, k=count + EXTRA, normalised=True, no_reduction=True)
    wanted = np.concatenate([np.ones(count), below[below > 1e-9]])[:count + EXTRA]
    return differ(wanted, got["sigma"], 1e-9)


if __name__ == "__main__":
    main()
