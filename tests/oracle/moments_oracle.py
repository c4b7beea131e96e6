"""Sum sigma^4 against scipy's sparse Gram matrix, and estimates against it over seeds.

Matrices of real text (WordNet's glosses, windows of four, several objectives), and random ones with Zipf's frequencies on both
sides, dense corners and empty rows, wide and tall. The exact sum has to agree to 1e-12; of 40 estimates at 95% at least 33 have
to hold it (38 expected, deviation 1.4; five allow for the remaining skew: hundreds of seeds are in tests/test_moments.c).
"""
import os
import sys
import tempfile

import numpy as np
import scipy.sparse as sp

from harness import Checks, cospec

SEEDS, HELD = 40, 33


def normalised(a):
    a = sp.csr_matrix(a, dtype=float)
    rows, cols = np.asarray(a.sum(1)).ravel(), np.asarray(a.sum(0)).ravel()
    a = a[rows > 0][:, cols > 0]
    return (sp.diags(1 / np.sqrt(rows[rows > 0])) @ a @ sp.diags(1 / np.sqrt(cols[cols > 0]))).tocsr()


def truth(path):
    abar = normalised(sp.load_npz(path))
    gram = abar.T @ abar if abar.shape[1] <= abar.shape[0] else abar @ abar.T
    return gram.power(2).sum()


def zipf(rng, rows, cols, fill):
    p = np.minimum(1, fill * cols / np.outer(rng.permutation(rows) + 1, rng.permutation(cols) + 1))
    a = rng.poisson(3, (rows, cols)) * (rng.random((rows, cols)) < p)
    return sp.csr_matrix(a.astype(float))


def exact(matrix, want, k):
    got = cospec("svd", matrix, k=k)
    if got["sum_sigma4_method"] != "exact":
        return f"method {got['sum_sigma4_method']}"
    if abs(got["sum_sigma4"] - want) > 1e-12 * want:
        return f"{got['sum_sigma4']} is not {want}"
    tail = want - np.sum(np.array(got["sigma"]) ** 4)
    if abs(got["tail"][-1]["value"] - max(tail, 0)) > 1e-11 * want:
        return f"the tail beyond {k} is {got['tail'][-1]['value']}, not {tail}"
    return None


def estimated(matrix, want, k):
    held = 0
    for seed in range(SEEDS):
        got = cospec("svd", matrix, k=k, seed=seed, **{"moment-budget": 0})
        held += got["sum_sigma4_low"] <= want <= got["sum_sigma4_high"]
        if got["sum_sigma4_method"] != "hutch++" or got["sum_sigma4_samples"] != 64:
            return "not an estimate"
    return None if held >= HELD else f"{held} of {SEEDS} intervals hold {want}"


def main():
    checks = Checks("moments")
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("ar", {"objective": "ar"}), ("masked", {"objective": "masked", "unmasked": 2}),
                              ("each", {"objective": "ar", "context": "each:3"})):
            matrix = os.path.join(folder, name)
            options = {"context": "all", "max-length": 4, "stride": 1, **options}
            cospec("cooc", corpus="wordnet", vocab=700, o=matrix, split="test", **options)
            want = truth(os.path.join(matrix, "matrix.npz"))
            checks.run(f"{name} exact", exact, matrix, want, 5)
            checks.run(f"{name} estimated", estimated, matrix, want, 5)
        for i, (rows, cols, fill) in enumerate([(900, 400, 0.02), (300, 1100, 0.1), (600, 600, 1), (80, 500, 100)]):
            matrix = os.path.join(folder, f"zipf{i}.npz")
            sp.save_npz(matrix, zipf(rng, rows, cols, fill))
            want = truth(matrix)
            checks.run(f"zipf {rows} x {cols} fill {fill} exact", exact, matrix, want, 5)
            checks.run(f"zipf {rows} x {cols} fill {fill} estimated", estimated, matrix, want, 5)
    checks.exit()


if __name__ == "__main__":
    sys.exit(main())
