"""Scores, jackknife errors and linear probes against scipy and scikit-learn.

Scores come out of predictions.csv, so that both sides evaluate the same predictions. Coefficients are not printed; the
probe's loss and its predictions are compared with those of a LogisticRegression (C = 1 / (n penalty), 2 / (n penalty) of two
classes) and a Ridge (alpha = n penalty) on standardised features.
"""
import csv
import os
import tempfile

import numpy as np
import scipy.stats
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (accuracy_score, f1_score, log_loss, matthews_corrcoef, mean_squared_error)
from sklearn.preprocessing import StandardScaler

from harness import Checks, cospec, differ


def make(rng, n, d, classes, spread):
    y = rng.choice(classes, n, p=np.arange(1, classes + 1) / (classes * (classes + 1) / 2))
    x = rng.standard_normal((n, d)) * np.logspace(-2, 2, d) + 50 * np.arange(d)
    x[np.arange(n), y] += spread * np.logspace(-2, 2, d)[y]
    x[:, -1] = 7.0  # constant
    return x, y


def run(folder, x, y, xt, yt, **options):
    name = {k: os.path.join(folder, k + ".npy") for k in ("x", "y", "xt", "yt")}
    for key, value in (("x", x), ("y", y), ("xt", xt), ("yt", yt)):
        np.save(name[key], value)
    out = os.path.join(folder, "out")
    told = cospec("probe", name["x"], name["xt"], labels=name["y"], test_labels=name["yt"], o=out, force=True, **options)
    with open(os.path.join(out, "predictions.csv")) as f:
        rows = list(csv.DictReader(f))
    return told, np.array([float(r["truth"]) for r in rows]), np.array([float(r["seed_1"]) for r in rows])


def metrics_of(told):
    return {m["name"]: m["value"] for m in told["metrics"]}


def check_classes(folder, rng, n, d, classes, penalty, spread):
    x, y = make(rng, n, d, classes, spread)
    xt, yt = make(rng, 500, d, classes, spread)
    told, truth, guess = run(folder, x, y, xt, yt, penalties=penalty)
    ours = metrics_of(told)
    want = {"accuracy": accuracy_score(truth, guess), "matthews": matthews_corrcoef(truth, guess),
            "f1-macro": f1_score(truth, guess, average="macro", labels=range(classes), zero_division=0)}
    if classes == 2:
        want["f1"] = f1_score(truth, guess)
    if set(ours) != set(want):
        return f"metrics {sorted(ours)}"
    for key, value in want.items():
        why = differ(value, ours[key], 1e-12, key)
        if why:
            return why
    scale = StandardScaler().fit(x)
    z, zt = scale.transform(x), scale.transform(xt)
    c = (2 if classes == 2 else 1) / (n * penalty)
    model = LogisticRegression(C=c, tol=1e-10, max_iter=20000).fit(z, y)
    w = model.coef_ if classes > 2 else np.vstack([-model.coef_ / 2, model.coef_ / 2])
    loss = log_loss(y, model.predict_proba(z)) + penalty / 2 * (w**2).sum()
    run0 = told["runs"][0]
    # Strong convexity in W: the excess of ours is at most |grad|^2 / (2 penalty); scikit-learn's is of that order.
    why = differ(loss, run0["loss"], max(1e-12, run0["gradient_norm"] ** 2 / penalty) + 1e-9, "loss")
    if why:
        return why
    # Predictions may differ where two classes are closer than the two fits are.
    p = np.sort(model.predict_proba(zt), axis=1)
    clear = p[:, -1] - p[:, -2] > 1e-4
    wrong = int((model.predict(zt) != guess)[clear].sum())
    return f"{wrong} predictions differ" if wrong or clear.mean() < 0.98 else None


def check_values(folder, rng, n, d, penalty):
    x, y = make(rng, n, d, 4, 1.0)
    xt, yt = make(rng, 300, d, 4, 1.0)
    v, vt = y * 3.0 + x[:, 1] + 100, np.round(yt * 3.0 + xt[:, 1] + 100)  # rounded: ties for Spearman
    told, truth, guess = run(folder, x, v, xt, vt, penalties=penalty, regression=True)
    ours = metrics_of(told)
    want = {"pearson": scipy.stats.pearsonr(truth, guess)[0], "spearman": scipy.stats.spearmanr(truth, guess)[0],
            "mse": mean_squared_error(truth, guess)}
    for key, value in want.items():
        why = differ(value, ours[key], 1e-12 * max(1, abs(value)), key)
        if why:
            return why
    keep = x.std(0) > 0
    scale = StandardScaler().fit(x[:, keep])
    model = Ridge(alpha=n * penalty, solver="cholesky").fit(scale.transform(x[:, keep]), v)
    # Condition number at most (d + penalty) / penalty.
    return differ(model.predict(scale.transform(xt[:, keep])), guess, 1e-12 * d / penalty * np.abs(v).max(), "prediction")


def check_jackknife(folder, rng):
    """Fewer test examples than blocks: one left out at a time, by copying."""
    x, y = make(rng, 200, 6, 3, 1.0)
    xt, yt = make(rng, 60, 6, 3, 1.0)
    told, truth, guess = run(folder, x, y, xt, yt, penalties=0.1)
    score = {"accuracy": accuracy_score, "matthews": matthews_corrcoef,
             "f1-macro": lambda t, g: f1_score(t, g, average="macro", labels=range(3), zero_division=0)}
    for m in told["metrics"]:
        left = [score[m["name"]](np.delete(truth, i), np.delete(guess, i)) for i in range(60)]
        se = np.sqrt(59 / 60 * ((left - np.mean(left)) ** 2).sum())
        why = differ(se, m["se"], 1e-12, m["name"])
        if why:
            return why
    return None


def check_paired(folder, rng):
    x, y = make(rng, 300, 8, 2, 1.0)
    xt, yt = make(rng, 150, 8, 2, 1.0)
    told, truth, first = run(folder, x, y, xt, yt, penalties=10)
    os.rename(os.path.join(folder, "out", "predictions.csv"), os.path.join(folder, "first.csv"))
    told, truth, second = run(folder, x, y, xt, yt, penalties=0.001, against=os.path.join(folder, "first.csv"))
    a, b = int(((second == truth) & (first != truth)).sum()), int(((first == truth) & (second != truth)).sum())
    got = told["against"]["mcnemar"][0]
    if (got["only_this"], got["only_other"]) != (a, b):
        return f"discordant {got}, expected {a} and {b}"
    p = scipy.stats.binomtest(a, a + b, 0.5).pvalue if a + b else 1.0
    d = (second == truth).astype(float) - (first == truth)
    ours = {m["name"]: m for m in told["against"]["metrics"]}["accuracy"]
    return (differ(p, got["p"], 1e-12, "p") or differ(d.mean(), ours["value"], 1e-12, "difference")
            or differ(d.std(ddof=1) / np.sqrt(150), ours["se"], 1e-12, "se"))


def columns(path):
    with open(path) as f:
        rows = list(csv.DictReader(f))
    return np.array([float(r["truth"]) for r in rows]), [np.array([float(r[f"seed_{s}"]) for r in rows]) for s in (1, 2, 3)]


def check_paired_seeds(folder, rng):
    """Seeds that learn from other rows: medians over seeds of values and of errors, p seed by seed, p of the first in the table."""
    x, y = make(rng, 300, 8, 3, 1.0)
    xt, yt = make(rng, 120, 8, 3, 1.0)
    path, first = os.path.join(folder, "out", "predictions.csv"), os.path.join(folder, "first.csv")
    run(folder, x, y, xt, yt, penalties=10, few="20%", seeds=3)
    os.replace(path, first)
    told, _, _ = run(folder, x, y, xt, yt, penalties=0.01, few="20%", seeds=3, against=first)
    (truth, ours), (_, theirs) = columns(path), columns(first)
    d = np.array([(a == truth).astype(float) - (b == truth) for a, b in zip(ours, theirs)])
    right = np.array([a == truth for a in ours])
    reported_se = {m["name"]: m["se"] for m in told["metrics"]}["accuracy"]
    paired = {m["name"]: m for m in told["against"]["metrics"]}["accuracy"]
    p = [scipy.stats.binomtest(int((k > 0).sum()), int((k != 0).sum()), 0.5).pvalue for k in d]
    with open(os.path.join(folder, "out", "probe.csv")) as f:
        (row,) = [r for r in csv.DictReader(f) if r["metric"] == "mcnemar_p"]
    if len(set(p)) < 2:
        return "the seeds are alike: nothing to distinguish"
    for value, got, what in ((np.median(right.std(axis=1, ddof=1)) / np.sqrt(120), reported_se, "se"),
                             (np.median(d.mean(axis=1)), paired["value"], "difference"),
                             (np.median(d.std(axis=1, ddof=1)) / np.sqrt(120), paired["se"], "its se"),
                             (p[0], float(row["value"]), "p of the table"),
                             *((q, t["p"], "p") for q, t in zip(p, told["against"]["mcnemar"]))):
        why = differ(value, got, 1e-12, what)
        if why:
            return why
    return f"{row}" if row["se"] or row["low"] or row["seeds"] != "1" else None


def main():
    checks = Checks("probe")
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        for n, d, classes, penalty, spread in ((400, 6, 3, 0.1, 1.0), (400, 6, 3, 1e-3, 1.0), (300, 5, 2, 0.01, 1.0),
                                               (60, 80, 4, 1e-3, 0.5), (500, 12, 9, 0.01, 3.0), (200, 5, 2, 1e-4, 9.0)):
            checks.run(f"classes {n} x {d}, {classes} classes, penalty {penalty:g}", check_classes, folder, rng, n, d,
                       classes, penalty, spread)
        for n, d, penalty in ((200, 6, 0.1), (200, 6, 1e-5), (40, 60, 1e-3)):
            checks.run(f"values {n} x {d}, penalty {penalty:g}", check_values, folder, rng, n, d, penalty)
        checks.run("jackknife", check_jackknife, folder, rng)
        checks.run("paired", check_paired, folder, rng)
        checks.run("paired over seeds", check_paired_seeds, folder, rng)
    checks.exit()


main()
