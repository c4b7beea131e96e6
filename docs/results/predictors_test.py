#!/usr/bin/env python3
"""Tests of the studies of predictors, from the values that predictors.py has collected (needs numpy).

    predictors_test.py VALUES.csv.xz OUT.csv [DRAWS]

The study files (plots/predictors*.json) name predictors, outcomes and tests. Objectives whose matrix is not admitted are
left out, and objectives of equal sum sigma^4 count as one, with the mean of their outcomes. Columns of OUT.csv:

    run, language     a: natural shares; b: one predicted token in ten; c: equal matrices
    family            primary: its own permutation test, with Holm's method over the primary outcomes; secondary: max-T over
                      all secondary predictors and outcomes; length: the primary predictors of the matrix with the log mean
                      number of tokens in the context held fixed. The family length was added after the synthetic languages
                      had been seen, and before any test on text. corpora: the same tests for the six outcomes on other
                      corpora, with Holm's method over these, and the length with log sum sigma^4 held fixed for all eight
                      outcomes; added after the results were known
    predictor, outcome, given (held fixed), objects
    r, r_low, r_high  Pearson (of residuals where something is held fixed) with its 95 % interval by Fisher's z
    rho, rho_low, rho_high    Spearman, with the interval of Bonett and Wright (2000)
    p, p_adjusted
    above_untrained   share of the objects whose outcome exceeds that of the untrained network; below .9 the outcome is not
                      tested. Empty where the study has no such baseline for the outcome
    kind_low, kind_high       least and largest r without one kind of objective
    pair_low, pair_high       the same without one pair of objectives
    detectable        the |r| that a single test at .05 detects with a power of .8
Run c: r is the slope of the outcome on log kept, within objectives, with the t interval. Family corpora: other outcomes.
Family reliability: r is the intraclass correlation of one run, from the objectives of run a that have several seeds, with
its interval by the F distribution (Shrout and Fleiss 1979, ICC(1,1)).

Predictors in LOGS are tested as logarithms. The plan names log sum sigma^4 and log share. That the length of the context,
kappa, tail 8 and the other sums are logarithms too was decided here, before any test on text.
"""
import csv
import itertools
import lzma
import math
import sys

import numpy as np

LOGS = {"share", "sum4", "sum4-2000", "tail8", "kappa", "unique", "document", "context-tokens"}
PRIMARY = {"text": (("sum4", "E64"), ("probe-wordnet", "finetune-wordnet")),
           "synthetic": (("sum4", "E8"), ("probe", "finetune"))}
SECONDARY = {"text": ("sampled-spectral-contexts", "sampled-spectral-tokens", "spectral-contexts", "spectral-tokens", "bound64",
                      "align-words", "align-states", "context-tokens", "kappa", "tail8", "sum4-2000", "document", "unique",
                      "untrained-probe", "untrained-finetune", "eval_loss"),
             "synthetic": ("sampled-spectral-contexts", "sampled-spectral-tokens", "bound8", "align-words", "align-states",
                           "context-tokens", "kappa", "sigma2", "tail8", "untrained-probe", "untrained-finetune", "eval_loss")}
OUTCOMES = {"text": [f"{how}-{corpus}" for how in ("probe", "finetune") for corpus in ("wordnet", "bible-kjv", "foldoc", "manpages")] +
            ["eval_loss"],
            "synthetic": ["probe", "finetune"]}
COLUMNS = ("run", "language", "family", "predictor", "outcome", "given", "objects", "r", "r_low", "r_high", "rho", "rho_low",
           "rho_high", "p", "p_adjusted", "above_untrained", "kind_low", "kind_high", "pair_low", "pair_high", "detectable")


# --- reading ---------------------------------------------------------------------------------------

def read(path):
    with lzma.open(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def objects_of(rows, language):
    """{object: {"kind", quantity: value}}, of the objective alone."""
    found = {}
    for row in rows:
        if row["run"] == "" and row["language"] == language:
            of = found.setdefault(row["object"], {"kind": row["kind"]})
            of[row["quantity"]] = float(row["value"])
            if row["low"]:
                of[row["quantity"] + ".low"], of[row["quantity"] + ".high"] = float(row["low"]), float(row["high"])
    return found


def runs_of(rows, language, run):
    """{(object, kept, seed): {quantity: value}} of trained networks; a sampled matrix may be there before its network."""
    of = [row for row in rows if row["run"] == run and row["language"] == language]
    found = {(row["object"], row["kept"], row["seed"]): {} for row in of if row["role"] == "outcome"}
    for row in of:
        found.get((row["object"], row["kept"], row["seed"]), {})[row["quantity"]] = float(row["value"])
    return found


def admitted(objects, kind):
    """Names of the objectives that the rule of the study admits."""
    t = 64 if kind == "text" else 8
    logs = [math.log(o["sum4"]) for o in objects.values() if "sum4" in o]
    spread = max(logs) - min(logs) if logs else 0
    good = []
    for name, o in objects.items():
        if not {"sum4", "share", f"E{t}"} <= o.keys() or not o[f"sigma{t}"] > o[f"sigma{t + 1}"]:
            continue
        low, high = o.get("sum4.low", o["sum4"]), o.get("sum4.high", o["sum4"])
        if low <= o["sum4"] <= high and math.log(high / low) < spread / 5 or kind == "synthetic":
            good.append(name)
    return good


def merged(names, objects, measured):
    """One entry for each different sum4: kind, predictors, outcomes (means)."""
    out = []
    for name in sorted(names, key=lambda n: objects[n]["sum4"]):
        if name not in measured:
            continue
        entry = dict(objects[name], **measured[name])
        if out and abs(entry["sum4"] - out[-1][0]["sum4"]) <= 1e-9 * entry["sum4"]:
            out[-1].append(entry)
        else:
            out.append([entry])
    return [{key: group[0][key] if key == "kind" else np.mean([e[key] for e in group if key in e])
             for key in set().union(*group)} for group in out]


# --- statistics ------------------------------------------------------------------------------------

def standard(x):
    x = x - x.mean(axis=0)
    return x / np.sqrt((x * x).sum(axis=0))


def ranks(x):
    """Mean ranks; numbers that differ by less than rounding, 1e-10 of the largest, are equal."""
    step = 1e-10 * np.abs(x).max() or 1
    order = np.unique(np.round(x / step), return_inverse=True)[1]
    counts = np.bincount(order)
    return (np.cumsum(counts) - (counts - 1) / 2)[order]


def residual(x, given):
    if given is None:
        return x
    z = np.column_stack([np.ones(len(given)), given])
    return x - z @ np.linalg.lstsq(z, x, rcond=None)[0]


def correlation(x, y, given=None):
    return float(standard(residual(x, given)) @ standard(residual(y, given)))


def rank_correlation(x, y, given=None):
    return correlation(ranks(x), ranks(y), None if given is None else ranks(given))


def interval(r, n, fixed, factor):
    """Fisher's z; factor 1 for Pearson, 1 + r^2 / 2 for Spearman."""
    if n - 3 - fixed < 1:
        return math.nan, math.nan
    width = 1.959964 * math.sqrt(factor / (n - 3 - fixed))
    z = math.atanh(max(min(r, 1 - 1e-15), -1 + 1e-15))
    return math.tanh(z - width), math.tanh(z + width)


def detectable(n, fixed):
    return math.tanh((1.959964 + 0.841621) / math.sqrt(n - 3 - fixed)) if n > 3 + fixed else math.nan


def permuted(x, y, given, draws, rng):
    """|r| of all columns of x and y under `draws` permutations of the residuals of y (Freedman and Lane): draws x p x q."""
    sx, ry = standard(residual(x, given)), residual(y, given)
    for _ in range(draws):
        moved = ry[rng.permutation(len(ry))]
        yield np.abs(sx.T @ standard(residual(moved, given)))


def own_p(x, y, given, draws, rng):
    seen = abs(correlation(x, y, given))
    beyond = sum(r[0, 0] >= seen - 1e-12 for r in permuted(x[:, None], y[:, None], given, draws, rng))
    return (1 + beyond) / (1 + draws)


def max_t(x, y, given, draws, rng):
    """Adjusted p of every pair of columns, and unadjusted ones."""
    seen = np.abs(standard(residual(x, given)).T @ standard(residual(y, given)))
    alone, most = np.ones_like(seen), np.ones_like(seen)
    for r in permuted(x, y, given, draws, rng):
        alone += r >= seen - 1e-12
        most += r.max() >= seen - 1e-12
    return alone / (1 + draws), most / (1 + draws)


def holm(ps):
    order, out, worst = np.argsort(ps), [0.0] * len(ps), 0.0
    for place, i in enumerate(order):
        worst = max(worst, min(1, (len(ps) - place) * ps[i]))
        out[i] = worst
    return out


def left_out(x, y, given, kinds):
    """Least and largest r without a kind, and without a pair of objects."""
    def without(keep):
        return correlation(x[keep], y[keep], None if given is None else given[keep])

    everything = np.arange(len(x))
    by_kind = [without(kinds != kind) for kind in sorted(set(kinds)) if (kinds != kind).sum() > 4]
    by_pair = [without(np.delete(everything, pair)) for pair in itertools.combinations(everything, 2)] if len(x) > 6 else []
    return [f(values) if values else math.nan for values in (by_kind, by_pair) for f in (min, max)]


# --- runs ------------------------------------------------------------------------------------------

def column(entries, name):
    values = np.array([e.get(name, np.nan) for e in entries], dtype=float)
    return np.log(values) if name in LOGS else values


def above_untrained(entries, outcome):
    how, _, corpus = outcome.partition("-")
    pairs = [(e[outcome], e[f"untrained-{how}"]) for e in entries if outcome in e and f"untrained-{how}" in e]
    return sum(y > base for y, base in pairs) / len(pairs) if pairs and corpus in ("", "wordnet") else ""


def describe(entries, predictor, outcome, given):
    x, y, kinds = column(entries, predictor), column(entries, outcome), np.array([e["kind"] for e in entries])
    n, fixed = len(x), given is not None
    r, rho = correlation(x, y, given), rank_correlation(x, y, given)
    low, high, pair_low, pair_high = left_out(x, y, given, kinds)
    row = dict(objects=n, r=r, rho=rho, kind_low=low, kind_high=high, pair_low=pair_low, pair_high=pair_high,
               detectable=detectable(n, fixed))
    row["r_low"], row["r_high"] = interval(r, n, fixed, 1)
    row["rho_low"], row["rho_high"] = interval(rho, n, fixed, 1 + rho * rho / 2)
    row["above_untrained"] = above_untrained(entries, outcome)
    return row


def own_tests(entries, predictor, given, held, family, outcomes, draws, rng):
    """Rows of one predictor, each outcome by its own permutation test, with Holm's method."""
    rows = [dict(describe(entries, predictor, outcome, given), family=family, predictor=predictor, outcome=outcome, given=held,
                 p=own_p(column(entries, predictor), column(entries, outcome), given, draws, rng)) for outcome in outcomes]
    return [dict(row, p_adjusted=p) for row, p in zip(rows, holm([row["p"] for row in rows]))]


def varied(entries, names):
    found = {name: column(entries, name) for name in names}
    return {name: values for name, values in found.items() if np.isfinite(values).all() and np.ptp(values) > 0}


def test_run(entries, run, kind, draws, rng):
    """Rows of run a or b."""
    predictors, outcomes = PRIMARY[kind]
    share, length = column(entries, "share"), column(entries, "context-tokens")
    given, held = (share, "share") if run == "a" else (None, "")
    tests = [("share", None, "", "primary")] * (run == "a") + [(p, given, held, "primary") for p in predictors]
    if np.isfinite(length).all():
        tests += [(p, length, "context-tokens", "length") for p in predictors]
    for predictor, fixed, name, family in tests:
        yield from own_tests(entries, predictor, fixed, name, family, outcomes, draws, rng)
    if kind == "text" and np.isfinite(length).all():
        yield from test_corpora(entries, run, given, held, draws)
    x, y = varied(entries, SECONDARY[kind]), varied(entries, OUTCOMES[kind])
    if not x or not y:
        return
    alone, most = max_t(np.column_stack(list(x.values())), np.column_stack(list(y.values())), given, draws, rng)
    for i, predictor in enumerate(x):
        for j, outcome in enumerate(y):
            if predictor == outcome:  # held-out loss is both
                continue
            yield dict(describe(entries, predictor, outcome, given), family="secondary", predictor=predictor, outcome=outcome,
                       given=held, p=alone[i, j], p_adjusted=most[i, j])


def test_corpora(entries, run, given, held, draws):
    """Rows of the primary predictors for outcomes that were not primary, and of the length given the matrix."""
    rng = np.random.default_rng((45, "ab".index(run)))  # its own, so the planned tests keep their draws
    outcomes = list(varied(entries, [o for o in OUTCOMES["text"] if o != "eval_loss" and not o.endswith("wordnet")]))
    length, matrix = column(entries, "context-tokens"), column(entries, "sum4")
    tests = [("share", None, "", outcomes)] * (run == "a")
    tests += [(p, given, held, outcomes) for p in PRIMARY["text"][0]]
    tests += [(p, length, "context-tokens", outcomes) for p in PRIMARY["text"][0]]
    tests += [("context-tokens", matrix, "sum4", [*PRIMARY["text"][1], *outcomes])]
    for predictor, fixed, name, of in tests:
        yield from own_tests(entries, predictor, fixed, name, "corpora", of, draws, rng)


def test_kept(measured, natural, outcomes, draws, rng):
    """Rows of run c: slopes on log kept within objectives, from the runs of c and those of a with the same objective."""
    objects = sorted({name for name, _, _ in measured})
    runs = [(name, 1.0, natural[name]) for name in objects if name in natural]
    runs += [(name, float(kept), values) for (name, kept, _), values in measured.items()]
    of = np.array([objects.index(name) for name, _, _ in runs])
    x = np.log([kept for _, kept, _ in runs])
    for outcome in outcomes:
        y = np.array([values[outcome] for _, _, values in runs])

        def centred(v):
            return v - np.array([v[of == o].mean() for o in of])

        u, free = centred(x), len(runs) - len(objects) - 1
        if free < 2:
            continue
        slope = (u @ y) / (u @ u)
        left = centred(y) - slope * u
        error = math.sqrt(left @ left / free / (u @ u))
        beyond = 1
        for _ in range(draws):
            moved = y.copy()
            for o in range(len(objects)):
                moved[of == o] = rng.permutation(moved[of == o])
            beyond += abs(u @ moved) >= abs(u @ y) - 1e-12
        quantile = student(free)
        yield dict(run="c", predictor="log kept", outcome=outcome, given="objective", objects=len(objects),
                   r=slope, r_low=slope - quantile * error, r_high=slope + quantile * error, p=beyond / (1 + draws))


def reliability(seeds, outcomes, rng):
    """Rows of the intraclass correlation: the share of the variance of single runs that objectives explain."""
    for outcome in outcomes:
        y = [[v[outcome] for v in many] for many in seeds.values() if len(many) == 3 and all(outcome in v for v in many)]
        if len(y) < 3:
            continue
        y = np.array(y)
        n, k = y.shape
        between, within = k * y.mean(axis=1).var(ddof=1), y.var(axis=1, ddof=1).mean()
        f = rng.chisquare(n - 1, 1000000) / (n - 1) / (rng.chisquare(n * (k - 1), 1000000) / (n * (k - 1)))
        r, low, high = [(ratio - 1) / (ratio + k - 1) for ratio in between / within / np.array([1, *np.quantile(f, (.975, .025))])]
        yield dict(family="reliability", predictor="seeds", outcome=outcome, objects=n, r=r, r_low=low, r_high=high)


def student(free):
    """The .975 quantile of Student's t, by its expansion in 1 / free (Abramowitz and Stegun 26.7.5)."""
    z = 1.959964
    return (z + (z ** 3 + z) / 4 / free + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96 / free ** 2
            + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384 / free ** 3)


def tests(rows, draws):
    rng = np.random.default_rng(45)
    for language in sorted({row["language"] for row in rows}):
        kind = "synthetic" if language else "text"
        objects = objects_of(rows, language)
        names = admitted(objects, kind)
        natural = {}
        for run in "ab":
            seeds = {}
            for (name, _, _), values in runs_of(rows, language, run).items():
                seeds.setdefault(name, []).append(values)
            means = {name: {key: np.mean([v[key] for v in many]) for key in many[0]} for name, many in seeds.items()}
            natural = means if run == "a" else natural
            entries = merged(names, objects, means)
            for row in reliability(seeds, OUTCOMES[kind], rng):
                yield dict(row, run=run, language=language)
            if len(entries) > 4:
                for row in test_run(entries, run, kind, draws, rng):
                    yield dict(row, run=run, language=language)
        measured = runs_of(rows, language, "c")
        if measured:
            others = [o for o in OUTCOMES[kind] if o not in (*PRIMARY[kind][1], "eval_loss") and all(o in v for v in measured.values())]
            for family, outcomes in (("primary", PRIMARY[kind][1]), ("corpora", others)):
                found = list(test_kept(measured, natural, outcomes, draws, rng))
                for row, p in zip(found, holm([row["p"] for row in found])):
                    yield dict(row, family=family, language=language, p_adjusted=p)


def main(argv):
    if len(argv) not in (3, 4):
        sys.exit(__doc__.split("\n\n")[1])
    with open(argv[2], "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for row in tests(read(argv[1]), int(argv[3]) if len(argv) == 4 else 100000):
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})


if __name__ == "__main__":
    main(sys.argv)
