"""The coverage of confidence intervals about rank_tau and rank_tau_corrected (docs/explanation/effective-rank.md).

usage: rank_coverage.py [SAMPLES] [SEED]      (400, 1: the table of docs/explanation/effective-rank.md; a quarter of the samples for d = 192)

Rows of a known covariance, B = 10 blocks; numpy's eigenvalues, nothing of cospec. Rows are Gaussian; "documents": runs of 10 rows share half
of their variance, and blocks have whole runs; "heavy": of Student's t with 5 degrees of freedom. Errors, all with 9 degrees of freedom: the
jackknife of the plain rank; that of the corrected rank with the bias left, from all 45 pairs of blocks; and the printed one, from the 10 pairs of
neighbours on a circle.
"""
import sys

import numpy as np
from scipy import stats

SAMPLES, SEED = (int(a) for a in (sys.argv[1:] + ["400", "1"][len(sys.argv) - 1:])[:2])
B, TAU, RUN = 10, 0.9, 10
PAIRS = [(i, (i + 1) % B) for i in range(B)]
EACH = 2  # pairs of a block


def rank(values):
    """The interpolated rank_tau of eigenvalues along the last axis."""
    values = np.sort(values, axis=-1)[..., ::-1]
    sums = np.cumsum(values, axis=-1)
    wanted = TAU * sums[..., -1]
    k = (sums < wanted[..., None]).sum(-1)
    at = np.take_along_axis(values, k[..., None], -1)[..., 0]
    return k + 1 - (np.take_along_axis(sums, k[..., None], -1)[..., 0] - wanted) / at


def spread(x):
    return np.sqrt((len(x) - 1) / len(x) * ((x - x.mean()) ** 2).sum())


def rows(rng, root, n, kind):
    x = rng.standard_normal((B, n // B, len(root)))
    if kind == "documents":
        x = np.sqrt(0.5) * (x + np.repeat(rng.standard_normal((B, n // B // RUN, len(root))), RUN, axis=1))
    if kind == "heavy":
        x *= np.sqrt(3 / rng.chisquare(5, (B, n // B, 1)))
    return x * root


def sample(rng, root, n, kind):
    x = rows(rng, root, n, kind)
    blocks = x.transpose(0, 2, 1) @ x
    whole = blocks.sum(0)
    of = lambda g: rank(np.linalg.eigvalsh(g))
    plain, one = of(whole), of(whole - blocks)
    corrected = B * plain - (B - 1) * one.mean()
    i, j = np.triu_indices(B, 1)
    two = np.zeros((B, B))
    two[i, j] = two[j, i] = of(whole - blocks[i] - blocks[j])

    def error(mean_two):
        """The jackknife of the corrected rank and the bias left, from the mean of two over the pairs of each block."""
        second = (B**2 * plain - 2 * (B - 1) ** 2 * one.mean() + (B - 2) ** 2 * mean_two.mean()) / 2
        return spread((B - 1) * one - (B - 2) * mean_two), second - corrected

    full = np.hypot(*error(two.sum(1) / (B - 1)))
    change = np.array([two[p, q] - one[p] - one[q] + plain for p, q in PAIRS])
    near = np.array([sum(c for c, pair in zip(change, PAIRS) if p in pair) / EACH for p in range(B)])
    own, left = error(one + (one.sum() - one) / (B - 1) - plain + near)
    excess = (B - 1) * (B - 2) ** 3 / B * change.var(ddof=1) * (1 / EACH - 1 / (B - 1))
    own = np.sqrt(max(own**2 - excess, min(own, spread(one)) ** 2))
    return plain, corrected, spread(one), full, np.hypot(own, left)


laws = {"1/k": lambda k: 1 / k, "1/sqrt(k)": lambda k: k**-0.5, "exp(-k/8)": lambda k: np.exp(-k / 8), "1": lambda k: k**0.0}
print("lambda      d     n rows        rank |   bias    sd plain    bias    sd corrected | rms se: plain  45 pairs  printed | "
      "covers: plain  corrected with plain, 45 pairs', printed se")
for law, d, n, kind in [("1/k", 16, 400, ""), ("1/k", 48, 100, ""), ("1/k", 48, 200, ""), ("1/k", 48, 400, ""), ("1/k", 48, 1600, ""), ("1/k", 48, 4800, ""),
                        ("1/sqrt(k)", 48, 100, ""), ("1/sqrt(k)", 48, 400, ""), ("exp(-k/8)", 48, 400, ""), ("1", 48, 400, ""), ("1", 48, 1600, ""), ("1/k", 48, 400, "documents"),
                        ("1/k", 48, 2000, "documents"), ("1/k", 48, 400, "heavy"), ("1/k", 192, 800, ""), ("1/k", 192, 3200, "")]:
    values = laws[law](np.arange(1, d + 1.0))
    rng, truth = np.random.default_rng([SEED, d, n]), rank(values)
    plain, corrected, *errors = np.array([sample(rng, np.sqrt(values), n, kind) for _ in range(SAMPLES if d < 100 else SAMPLES // 4)]).T
    width = stats.t.ppf(0.975, B - 1)
    covers = [np.mean(abs(plain - truth) <= width * errors[0])] + [np.mean(abs(corrected - truth) <= width * e) for e in errors]
    numbers = [plain.mean() - truth, plain.std(), corrected.mean() - truth, corrected.std(), *(np.sqrt(np.mean(e**2)) for e in errors), *covers]
    print(f"{law:9} {d:3} {n:5} {kind:9} {truth:6.2f} |" + " ".join(f"{x:7.3f}" for x in numbers), flush=True)
