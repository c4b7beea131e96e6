"""cospec align against numpy: the Next Token Perception Score by its definition (cumulative sums of states, generalised
eigenvectors by scipy), and other objectives by enumeration of their events on short documents."""
import collections
import itertools
import os
import subprocess
import tempfile

import numpy as np
from scipy.linalg import eigh

from harness import COSPEC, Checks, cospec


def leading(factor, metric, count):
    """The leading generalised eigenvectors of (factor factor^T, metric), metric-orthonormal; metric may be singular."""
    value, vector = eigh(metric)
    kept = value > 1e-12 * value[-1]
    white = vector[:, kept] / np.sqrt(value[kept])
    return white @ np.linalg.svd(white.T @ factor)[0][:, :count]


def score(s0, s1, sxx, sxy, t, u):
    v = leading(s1, s0, t)
    task = leading(sxy, sxx, u)
    projection = v @ np.linalg.pinv(v)
    return np.linalg.norm(projection @ task) ** 2 / np.linalg.norm(task) ** 2


def task_sums(states, labels, classes):
    mean = np.array([h.mean(axis=0) for h in states])
    onehot = np.eye(classes)[labels]
    return mean.T @ mean, mean.T @ onehot


def ntps(states, labels, classes, t, u):
    d = states[0].shape[1]
    s0, s1 = np.zeros((d, d)), np.zeros((d, d))
    for h in states:
        before = np.cumsum(h, axis=0)[:-1]  # row k - 1: the sum of the states before token k
        s0 += before.T @ before
        s1 += before.T @ h[1:]
    return score(s0, s1, *task_sums(states, labels, classes), t, u)


def events(kind, s):
    """(S, k, weight) with weights that sum to the expected number of predicted tokens."""
    if kind == "ar":
        return [(tuple(range(k)), k, 1.0) for k in range(1, s)]
    if kind == "permuted-ar":
        orders = list(itertools.permutations(range(s)))
        count = collections.Counter((tuple(sorted(p[:j])), p[j]) for p in orders for j in range(1, s))
        return [(given, k, n / len(orders)) for (given, k), n in count.items()]
    m = s - min(max(int(0.5 * s + 0.5), 1), s - 1)  # masked, half
    sets = list(itertools.combinations(range(s), m))
    return [(c, k, 1 / len(sets)) for c in sets for k in range(s) if k not in c]


def by_events(kind, states, labels, classes, t, u):
    d = states[0].shape[1]
    s0, s1 = np.zeros((d, d)), np.zeros((d, d))
    for h in states:
        for given, k, w in events(kind, len(h)) if len(h) > 1 else []:
            b = h[list(given)].sum(axis=0)
            s0 += w * np.outer(b, b)
            s1 += w * np.outer(b, h[k])
    return score(s0, s1, *task_sums(states, labels, classes), t, u)


def near(found, truth, within):
    return None if abs(found - truth) < within else f"{found} instead of {truth}"


def align(objective, **options):
    return cospec("align", objective, "c.tsv", quiet=True, **options)["rows"]


def texts(rng):
    """300 documents of 2 to 6 words, labelled, and their words as numbers."""
    letters = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis"]
    labels, words = [], []
    for i in range(300):
        p = np.ones(9) + 3 * (np.arange(9) % 3 == i % 3)
        words.append(rng.choice(9, size=rng.integers(2, 7), p=p / p.sum()))
        labels.append(i % 3)
    with open("c.tsv", "w") as file:
        file.writelines(f"{'abc'[c]}\t{' '.join(letters[w] for w in text)}\n" for c, text in zip(labels, words))
    return labels, words


def one_hot(checks, labels, words):
    states = [np.eye(9)[text] for text in words]
    for kind in ("ar", "masked", "permuted-ar"):
        name = "masked(mask-ratio=0.5)" if kind == "masked" else kind
        for t, u in ((2, 2), (4, 2), (3, 3)):
            checks.run(f"{kind}, {t} and {u} directions: all events", lambda: near(
                align(name, k=t, task_rank=u)[0]["score"], by_events(kind, states, labels, 3, t, u), 1e-12))


def of_a_model(checks, labels):
    subprocess.run([COSPEC, "train", "--corpus", "c.tsv", "--objective", "ar", "--steps", "30", "--width", "16",
                    "--layers", "2", "--heads", "2", "--batch", "8", "--lr", "1e-2", "-q", "-o", "m"], check=True,
                   capture_output=True)
    subprocess.run([COSPEC, "features", "m", "c.tsv", "--pooling", "none", "-q", "-o", "h"], check=True,
                   capture_output=True)
    document = np.load("h/rows.npy")[:, 0]
    for layer in (0, 1, 2):
        h = np.load(f"h/layer-{layer}.npy").astype(float)
        states = [h[document == d] for d in range(300)]
        for t in (3, 5):
            checks.run(f"NTPS of layer {layer}, {t} directions", lambda: near(
                align("ar", features="m", layers=layer, k=t, task_rank=t if t == 3 else 2)[0]["score"],
                ntps(states, labels, 3, t, t if t == 3 else 2), 1e-7))
        checks.run(f"masked on layer {layer}: all events", lambda: near(
            align("masked(mask-ratio=0.5)", features="m", layers=layer, k=4)[0]["score"],
            by_events("masked", states, labels, 3, 4, 2), 1e-7))


def main():
    checks = Checks("align")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        labels, words = texts(np.random.default_rng(5))
        one_hot(checks, labels, words)
        of_a_model(checks, labels)
        os.chdir("/")
    checks.exit()


if __name__ == "__main__":
    main()
