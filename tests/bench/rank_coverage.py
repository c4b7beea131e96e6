"""The coverage of confidence intervals about rank_tau and rank_tau_corrected (docs/explanation/effective-rank.md).

usage: rank_coverage.py [SAMPLES] [SEED]      (400, 1: the table of docs/explanation/effective-rank.md; about 20 minutes on a core)

Gaussian rows of a known covariance, B = 20 blocks; numpy's eigenvalues, nothing of cospec. Errors: the jackknife of the
plain rank (19 degrees of freedom), that of the corrected rank itself over 10 parts (9), and the printed one, which adds the
bias left.
"""
import sys

import numpy as np
from scipy import stats

SAMPLES, SEED = (int(a) for a in (sys.argv[1:] + ["400", "1"][len(sys.argv) - 1:])[:2])
B, P, TAU = 20, 10, 0.9


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


def sample(rng, root, n):
    d = len(root)
    x = rng.standard_normal((B, n // B, d)) * root
    blocks = x.transpose(0, 2, 1) @ x
    whole, parts = blocks.sum(0), blocks.reshape(P, B // P, d, d).sum(1)
    of = lambda g: rank(np.linalg.eigvalsh(g))
    plain, left, one = of(whole), of(whole - blocks), of(whole - parts)
    i, j = np.triu_indices(P, 1)
    pair = np.zeros((P, P))
    pair[i, j] = pair[j, i] = of(whole - parts[i] - parts[j])
    first = B * plain - (B - 1) * left.mean()
    second = (P**2 * plain - 2 * (P - 1) ** 2 * one.mean() + (P - 2) ** 2 * pair[i, j].mean()) / 2
    own = spread((P - 1) * one - (P - 2) * pair.sum(1) / (P - 1))
    return plain, first, spread(left), own, np.hypot(own, second - first)


laws = {"1/k": lambda k: 1 / k, "1/sqrt(k)": lambda k: k**-0.5, "exp(-k/8)": lambda k: np.exp(-k / 8), "1": lambda k: k**0.0}
print("lambda      d     n   rank |   bias    sd plain    bias    sd corrected | rms se: plain  jackknife  printed | "
      "covers: plain  corrected with plain, jackknife, printed se")
for law, d, n in [("1/k", 16, 400), ("1/k", 48, 200), ("1/k", 48, 400), ("1/k", 48, 1600), ("1/k", 192, 800), ("1/k", 192, 3200),
                  ("1/sqrt(k)", 48, 400), ("exp(-k/8)", 48, 400), ("1", 48, 400), ("1", 48, 1600)]:
    values = laws[law](np.arange(1, d + 1.0))
    rng, truth = np.random.default_rng([SEED, d, n]), rank(values)
    plain, corrected, *errors = np.array([sample(rng, np.sqrt(values), n) for _ in range(SAMPLES)]).T
    wide, narrow = stats.t.ppf(0.975, [P - 1, B - 1])
    covers = [np.mean(abs(plain - truth) <= narrow * errors[0])]
    covers += [np.mean(abs(corrected - truth) <= w * e) for w, e in zip((narrow, wide, wide), errors)]
    numbers = [plain.mean() - truth, plain.std(), corrected.mean() - truth, corrected.std(), *(np.sqrt(np.mean(e**2)) for e in errors), *covers]
    print(f"{law:9} {d:3} {n:5} {truth:6.2f} |" + " ".join(f"{x:7.3f}" for x in numbers), flush=True)
