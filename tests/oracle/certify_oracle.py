"""The certificates against numpy: how many eigenvalues of [0 Abar; Abar^T 0] lie above what they say.

Random counts of several components, some of them equal (values in several copies), k anywhere; the
number of values that exceed `none_missing_above` must be no more than were returned above it, and the
inertia must count as numpy does.
"""
import os
import sys
import tempfile

import numpy as np
import scipy.sparse as sp

from harness import Checks, cospec, normalise

CERTIFY = "components,moments,probe,inertia"
SAME = 1e-8  # values nearer than this are copies; numpy's are good to 1e-12 here


def random_counts(rng, copies, others):
    """`copies` equal blocks and `others` of their own, every one connected, shuffled."""
    def block():
        m, n = rng.integers(8, 40), rng.integers(6, 30)
        a = rng.poisson(0.3, (m, n)).astype(float)
        a[0] += 1
        a[:, 0] += 1
        return a

    parts = [block()] * copies + [block() for _ in range(others)]
    a = sp.block_diag(parts).toarray()
    return a[rng.permutation(a.shape[0])][:, rng.permutation(a.shape[1])]


def values_of(a):
    bar = normalise(a)
    m, n = bar.shape
    both = np.zeros((m + n, m + n))  # eigenvalues +-sigma and zeros, good to 1e-15
    both[:m, m:], both[m:, :m] = bar, bar.T
    return np.linalg.eigvalsh(both)[::-1][:min(m, n)]


def judge(got, truth, k):
    """None when every certificate is as numpy says."""
    for name, c in got["certificates"].items():
        if c["state"] == "failed":
            return f"{name} failed: {c.get('why')}"
        above = c["none_missing_above"]
        if above is not None and c["state"] in ("passed", "inconclusive"):
            there = np.count_nonzero(truth > above + SAME)
            mine = np.count_nonzero(np.asarray(got["sigma"]) > above - SAME)
            if there > mine:
                return f"{name}: {there} values above {above}, {mine} returned"
    inertia = got["certificates"]["inertia"]
    last = got["sigma"][-1]
    count = np.count_nonzero(truth > last - SAME)
    if inertia["value"] != count:
        return f"inertia counts {inertia['value']}, numpy {count}"
    wanted = "passed" if count == len(got["sigma"]) else "inconclusive"
    if inertia["state"] != wanted:
        return f"inertia {inertia['state']}, {wanted} expected: {inertia.get('why')}"
    if wanted == "passed" and k != "all" and not inertia["none_missing_above"] < last:
        return f"inertia passed up to {inertia['none_missing_above']} >= sigma_k {last}"
    return None


def check(a, k, extra, folder):
    path = os.path.join(folder, "matrix.npz")
    sp.save_npz(path, sp.csr_matrix(a))
    truth = values_of(a)
    got = cospec("svd", path, k=k, certify=CERTIFY, **extra)
    return judge(got, truth, k)


def check_normalised(a, k, folder):
    path = os.path.join(folder, "matrix.npz")
    sp.save_npz(path, sp.csr_matrix(normalise(a)))
    got = cospec("svd", path, k=k, normalised=True, certify=CERTIFY)
    return judge(got, values_of(a), k)


def main():
    checks = Checks("certify")
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    with tempfile.TemporaryDirectory() as folder:
        for copies, others in ((1, 0), (1, 3), (3, 0), (4, 4), (2, 9)):
            for trial in range(4):
                a = random_counts(rng, copies, others)
                k = int(rng.integers(1, min(a.shape) - 1))
                name = f"{copies} equal and {others} blocks, k={k}"
                checks.run(name, check, a, k, {}, folder)
                checks.run(f"{name} unreduced", check, a, k, {"no_reduction": True}, folder)
                checks.run(f"{name} normalised", check_normalised, a, k, folder)
                checks.run(f"{name} all", check, a, "all", {}, folder)
        for solver in ("arpack", "block"):
            a = rng.poisson(0.02, (900, 700)).astype(float)
            a[0] += 1
            a[:, 0] += 1
            checks.run(f"900 x 700 {solver}", check, a, 20, {"solver": solver}, folder)
    checks.exit()


if __name__ == "__main__":
    main()
