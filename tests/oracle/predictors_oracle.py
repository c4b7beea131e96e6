"""docs/results/predictors_test.py against scipy, and on made values whose answer is known: outcomes that follow one
predictor, the share alone, or nothing."""
import json
import os
import sys
import tempfile

import numpy as np
import scipy.stats

from harness import Checks

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "docs", "results"))
import predictors  # noqa: E402
import predictors_test as t  # noqa: E402


def near(found, truth, within=1e-12):
    return None if np.allclose(found, truth, rtol=0, atol=within) else f"{found} instead of {truth}"


def correlations(rng):
    x, y, z = rng.standard_normal((3, 30))
    y, z = y + 0.5 * x, z.round()  # ties
    c = np.corrcoef([x, y, z])
    partial = (c[0, 1] - c[0, 2] * c[1, 2]) / np.sqrt((1 - c[0, 2] ** 2) * (1 - c[1, 2] ** 2))
    low, high = scipy.stats.pearsonr(x, y).confidence_interval()
    return (near(t.correlation(x, y), c[0, 1]) or near(t.correlation(x, y, z), partial)
            or near(t.rank_correlation(x, z), scipy.stats.spearmanr(x, z)[0])
            or near(t.interval(c[0, 1], 30, 0, 1), (low, high), 1e-6))


def permutations(rng):
    x, y = rng.standard_normal((2, 40))
    y += 0.3 * x
    p = t.own_p(x, y, None, 20000, rng)
    truth = scipy.stats.pearsonr(x, y).pvalue
    alone, most = t.max_t(x[:, None], y[:, None], None, 20000, rng)
    return near(p, truth, 0.01) or near(alone[0, 0], truth, 0.01) or near(most, alone)


def family(rng):
    """One true pair among 5 x 3 that are nothing: max-T finds it alone, and errs in a twentieth of families."""
    x, y = rng.standard_normal((40, 5)), rng.standard_normal((40, 3))
    y[:, 1] += 2 * x[:, 2]
    most = t.max_t(x, y, None, 2000, rng)[1]
    errors = sum(t.max_t(rng.standard_normal((15, 4)), rng.standard_normal((15, 3)), None, 200, rng)[1].min() <= 0.05
                 for _ in range(200))
    return (None if most[2, 1] < 0.01 and (most < 0.05).sum() == 1 else f"{most}") or \
        (None if 2 <= errors <= 20 else f"{errors} of 200 families err")


def others(rng):
    quantiles = [(t.student(n), scipy.stats.t.ppf(0.975, n)) for n in (8, 14, 30)]
    ps = [0.01, 0.04, 0.03]
    return near(*np.array(quantiles).T, 2e-3) or near(t.holm(ps), [0.03, 0.06, 0.06]) or \
        near(t.ranks(np.array([3.0, 1.0, 3.0 + 1e-12, 2.0])), scipy.stats.rankdata([3, 1, 3, 2]))


def seeds(rng):
    """The intraclass correlation from scipy's analysis of variance and quantiles of F; an object of one seed is left out."""
    runs = {f"o{i}": [{"probe": value} for value in rng.normal() + 0.5 * rng.standard_normal(3 if i < 10 else 1)] for i in range(12)}
    row, = t.reliability(runs, ["probe", "absent"], rng)
    ratio = scipy.stats.f_oneway(*([v["probe"] for v in many] for many in runs.values() if len(many) == 3)).statistic
    truth = [(f - 1) / (f + 2) for f in ratio / np.array([1, *scipy.stats.f.ppf((0.975, 0.025), 9, 20)])]
    return near(row["r"], truth[0]) or near((row["r_low"], row["r_high"]), truth[1:], 0.005) or near(row["objects"], 10)


def made(rng, matrix, share, kept=0.05):
    """Rows as predictors.py writes them: 40 objectives whose outcomes follow the matrix, the share and what is kept."""
    rows = []

    def row(run, name, role, quantity, value, kept=""):
        rows.append(dict(run=run, language="", object=name, kind=f"k{int(name[1:]) % 5}", kept=kept, seed="0", role=role,
                         quantity=quantity, value=str(value), low="", high=""))

    for i in range(40):
        name, s4, p = f"o{i}", np.exp(rng.uniform(0, 1)), np.exp(rng.uniform(-2, 0))
        for quantity, value in (("sum4", s4), ("share", p), ("E64", rng.uniform()), ("sigma64", 0.5), ("sigma65", 0.4),
                                ("kappa", rng.uniform(0.1, 1)), ("context-tokens", s4 * rng.uniform(1, 3))):
            row("", name, "prediction", quantity, value)
        for run in "ab":
            for outcome in t.OUTCOMES["text"]:
                noise = 0.05 * rng.standard_normal()
                row(run, name, "outcome", outcome, matrix * np.log(s4) + share * np.log(p if run == "a" else 0.1) + noise, "1")
        for k in (0.4, 0.16) if i < 5 else ():
            for outcome in t.OUTCOMES["text"]:
                row("c", name, "outcome", outcome, matrix * np.log(s4) + share * np.log(p) + kept * np.log(k), str(k))
    return list(t.tests(rows, 500))


def p_of(found, run, predictor, given=""):
    return [r["p_adjusted"] for r in found
            if (r["run"], r["predictor"], r["given"], r["family"]) == (run, predictor, given, "primary")]


def by_matrix(rng):
    found = made(rng, -0.3, 0)
    ps = p_of(found, "b", "sum4") + p_of(found, "a", "sum4", "share")
    no = p_of(found, "a", "share") + p_of(found, "b", "E64")
    sign = [r["r"] for r in found if r["predictor"] == "sum4"]
    # the outcomes on other corpora follow the matrix too, with the length fixed; the length, which follows it, adds nothing
    more = [r["p_adjusted"] for r in found if r["family"] == "corpora" and r["run"] == "b" and r["predictor"] == "sum4"]
    length = [r["p_adjusted"] for r in found if r["family"] == "corpora" and r["given"] == "sum4"]
    return None if len(ps) == 4 and max(ps) < 0.02 and min(no) > 0.02 and max(sign) < 0 and len(more) == 12 and max(more) < 0.02 and \
        len(length) == 16 and min(length) > 0.02 else f"{ps} {no} {sign} {more} {length}"


def by_share(rng):
    found = made(rng, 0, 0.3)
    ps, no = p_of(found, "a", "share"), p_of(found, "b", "sum4") + p_of(found, "a", "sum4", "share")
    slope = [(r["r"], r["r_low"], r["r_high"]) for r in found if r["run"] == "c" and r["family"] == "primary"]
    return None if max(ps) < 0.02 and min(no) > 0.02 and all(low <= 0.05 + 0.02 and high >= 0.05 - 0.02 for _, low, high in slope) \
        and len(slope) == 2 else f"{ps} {no} {slope}"


def steps_of(study):
    return [step.format(**row) for group in study["steps"] for row in study["tables"][group["each"]] for step in group["run"]]


def continued(rng):
    """The rest of the published study: everything without values, nothing with all of them, and one run with its inputs."""
    with open(os.path.join(ROOT, "plots", "predictors.json")) as file:
        study = json.load(file)
    everything = [dict(run="", object=row["name"], kept="", seed="", quantity=quantity)
                  for row in study["tables"]["matrices"] for quantity in predictors.SHOWN.values()]
    everything += [dict(run=row["name"].split(".")[0], object=row["of"], kept=row["kept"], seed=row["seed"], quantity=quantity)
                   for row in predictors.runs_of(study) for quantity in predictors.SHOWN.values()]
    gone = ("a", "ar", "1", "0", "finetune-wordnet"), ("", "ar", "", "", "align-states")
    most = [row for row in everything if tuple(row[k] for k in ("run", "object", "kept", "seed", "quantity")) not in gone]
    left = [set(steps_of(predictors.rest(study, rows))) for rows in ([], everything, most)]
    return None if left == [set(steps_of(study)), set(), {"m-a.ar", "t0-a.ar", "o-ar", "as-ar"}] else f"{[len(x) for x in left]} {left[2]}"


def sampled_alone(rng):
    """A sampled matrix whose network was trained elsewhere is collected, and its step is not among the rest."""
    with open(os.path.join(ROOT, "plots", "predictors.json")) as file:
        study = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/r-a.ar")
        for name, text in (("step.json", '{"exit": 0}'), ("theorem41_curve.csv", "t,error,bound_sharp,sigma,sigma_next\n64,.5,2,.25,.125\n")):
            with open(f"{folder}/r-a.ar/{name}", "w") as file:
                file.write(text)
        rows = list(predictors.collect(study, folder))
    found = {(row["run"], row["object"], row["quantity"]): float(row["value"]) for row in rows}
    want = {("a", "ar", f"sampled-{quantity}"): value for quantity, value in (("E64", .5), ("bound64", 2), ("sigma64", .25), ("sigma65", .125))}
    if found != want:
        return str(found)
    rows = [{name: row.get(name) or "" for name in predictors.COLUMNS} for row in rows]
    left = set(steps_of(predictors.rest(study, rows)))
    return None if left == set(steps_of(study)) - {"r-a.ar", "q-a.ar"} else str(set(steps_of(study)) - left)


def main():
    checks = Checks("predictors")
    for check in (correlations, permutations, family, others, seeds, by_matrix, by_share, continued, sampled_alone):
        checks.run(check.__name__, check, np.random.default_rng(3))
    checks.exit()


if __name__ == "__main__":
    main()
