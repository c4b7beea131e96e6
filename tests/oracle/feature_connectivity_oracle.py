"""Similarity of pairs of features against numpy, and the ranking of models against scipy's Kendall tau-b.

All pairs are sorted in double; the jackknife leaves out known blocks (groups of equal size, as many as blocks).
"""
import csv
import os
import tempfile

import numpy as np
import scipy.stats
from sklearn.metrics.pairwise import cosine_similarity

from harness import Checks, cospec, differ

QUANTILES = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
JACKKNIFE = 6  # blocks of a ranking


def similarities(x, cosine, self, centre):
    x = np.asarray(x, float)
    if centre:
        x = x - x.mean(0)
    s = cosine_similarity(x) if cosine else x @ x.T
    return np.sort(s[np.triu_indices(len(x), 0 if self else 1)])


def numbers(s, share):
    k = int(np.floor(share * len(s) + 0.5))
    return np.array([s[-k:].mean(), s[-k], s.mean()] + [s[int(q * (len(s) - 1))] for q in QUANTILES])


def check_features(x, path, groups, pairs, **flags):
    folder = os.path.dirname(path)
    where = os.path.join(folder, "groups.npy")
    np.save(where, groups)
    kinds = np.unique(groups)
    options = {k: True for k in ("self", "center") if flags.get(k)}
    cosine = flags.get("cosine", True)
    got = cospec("connectivity", path, pairs=pairs, groups=where, jackknife=len(kinds),
                 similarity="cosine" if cosine else "inner", **options)
    how = (cosine, flags.get("self", False), flags.get("center", False))
    s = similarities(x, *how)
    share = min(pairs, len(s)) / len(s)
    want = numbers(s, share)
    left = np.array([numbers(similarities(x[groups != g], *how), share) for g in kinds])
    b = len(kinds)
    se = np.sqrt((b - 1) / b * ((left - left.mean(0)) ** 2).sum(0))
    # A product of floats is within (d + 5) 2^-24 |x||y|; a quantile within a bin of 2^-11 of its size more.
    norm = 1.0 if cosine else 4 * (np.asarray(x, float) ** 2).sum(1).max()
    error = np.full(len(want), (x.shape[1] + 5) * 2.0**-24 * norm)
    error[3:] += 1.5 * 2.0**-11 * np.maximum(abs(want), abs(left).max(0))[3:]
    value = np.array([m["value"] for m in got["metrics"]])
    got_se = np.array([m["se"] for m in got["metrics"]])
    return (differ([len(x), x.shape[1], len(s), min(pairs, len(s)), b],
                   [got[k] for k in ("n", "d", "all_pairs", "pairs", "blocks")], 0, "sizes")
            or differ(want / error, value / error, 1, "values in units of their tolerance")
            or differ(se / error, got_se / error, 2 * np.sqrt(b - 1), "se in units of the values' tolerance"))


def orders(value, se, freedom, i, j):
    """Which is larger, where the difference is significant at 5 %; freedom infinite: a standard error that is known."""
    quantile = np.where(np.isinf(freedom), scipy.stats.norm.ppf(0.975), scipy.stats.t.ppf(0.975, freedom))[[i, j]]
    gap = value[i] - value[j]
    return np.sign(gap) if abs(gap) > np.sqrt(np.sum((quantile * se[[i, j]]) ** 2)) else 0


def kendall(x, y):
    """tau-b, and its exact p, which SciPy has without ties only. Over all orders of y, the number of discordant
    pairs has the q-multinomial coefficient of the numbers of equal values as generating function."""
    ties, n = np.unique(y, return_counts=True)[1], len(y)
    ways = np.ones(1)
    for k in range(2, n + 1):
        ways = np.convolve(ways, np.ones(k))
    for t in ties:
        for k in range(2, t + 1):
            ways = np.polydiv(ways, np.ones(k))[0]
    pairs = len(ways) - 1
    s = sum(np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i in range(n) for j in range(i))
    extreme = abs(pairs - 2 * np.arange(pairs + 1)) >= abs(s)
    return scipy.stats.kendalltau(x, y, variant="b").statistic, ways[extreme].sum() / ways.sum()


def check_ranking(rng, folder, models, ties):
    """Models of different offsets, so that their cosines differ, under made-up true quantities."""
    words, truth = [], os.path.join(folder, "connectivity.csv")
    for i in range(models):
        path = os.path.join(folder, f"m{i}.npy")
        np.save(path, rng.standard_normal((60, 5)) + rng.choice([0.0, 0.3, 0.6, 1.0]))
        words.append(f"model-{i}:t=1={path}")
    quantity = {}
    with open(truth, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(("series", "target_position", "context", "metric", "definition", "value", "se", "blocks"))
        for metric in ("sum_sigma4", "components", "gap"):
            for position in ("blind", "given"):
                v = rng.integers(0, ties, models).astype(float) if ties else rng.standard_normal(models)
                e = rng.random(models) * 0.5
                blocks = rng.integers(0, 12, models)
                blocks[blocks < 2] = 0
                quantity[metric, position] = v, e, np.where(blocks > 0, blocks - 1.0, np.inf)
                out.writerows((f"model-{i}:t=1", position, "all", metric, "a, b", v[i], e[i], blocks[i] or "")
                              for i in range(models))
    got = cospec("connectivity", *words, pairs=50, jackknife=JACKKNIFE, truth=truth)
    claims = {}
    for name in ("top_mean", "mean"):
        of = [{m["name"]: m for m in model["metrics"]}[name] for model in got["models"]]
        claims[name] = np.array([m["value"] for m in of]), np.array([m["se"] for m in of]), np.full(models, JACKKNIFE - 1.0)
    if len(got["ranking"]) != 8:
        return f"{len(got['ranking'])} rankings"
    for r in got["ranking"]:
        v, e, freedom = quantity[r["truth"], r["target_position"]]
        v = -v if r["truth"] == "sum_sigma4" else v
        claim = claims[r["surrogate"]]
        told = [orders(*claim, i, j) * orders(v, e, freedom, i, j) for i in range(models) for j in range(i)]
        want = [told.count(1), told.count(-1), told.count(0)]
        tau, p = kendall(claim[0], v)
        why = (differ(want, [r["agree"], r["disagree"], r["undetermined"]], 0, "counts")
               or differ([tau, p], [r["tau_b"], r["tau_p"]], 1e-12, "tau-b"))
        if why:
            return f"{r['surrogate']} {r['truth']} {r['target_position']}: {why}"
    return None


def main():
    checks = Checks("feature_connectivity")
    rng = np.random.default_rng(20261122)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        groups = rng.permutation(np.repeat([3, 8, 1, 22, 5, 9], 50))
        clusters = rng.standard_normal((300, 24)) + 2 * rng.standard_normal((6, 24))[groups % 6]
        for name, pairs, flags in (("cosine", 1000, {}), ("inner", 1000, {"cosine": False}), ("self", 700, {"self": True}),
                                   ("inner self centred", 700, {"cosine": False, "self": True, "center": True}),
                                   ("centred", 5000, {"center": True}), ("one pair", 1, {}), ("all pairs", 10**6, {})):
            np.save(path, clusters)
            checks.run(f"features, {name}", lambda p=pairs, f=flags: check_features(clusters, path, groups, p, **f))
        for kind in (np.float16, np.float32):
            np.save(path, clusters.astype(kind))
            checks.run(f"features, {kind.__name__}", check_features, clusters.astype(kind), path, groups, 2000)
        offset = clusters + 30.0
        np.save(path, offset)
        checks.run("features, offset", check_features, offset, path, groups, 1500)
        checks.run("features, offset centred", lambda: check_features(offset, path, groups, 1500, center=True))
        for models, ties in ((2, 0), (5, 0), (7, 3), (12, 5)):
            checks.run(f"ranking of {models}{', ties' if ties else ''}", check_ranking, rng, folder, models, ties)
    checks.exit()


main()
