"""Designed objectives against scipy: the same programmes with the singular values of numpy's SVD and SLSQP.

The matrix over (S, k) is written down from the distribution alone and its sigma are an SVD's: no position kernel, no
gradient and no linear programme of ours. SLSQP finds a local minimum, which is the global one if the sum is
convex; it must lie between bound and value, and no random distribution may lie below the bound.
"""
import json
import os
import tempfile
import warnings

import numpy as np
from scipy.optimize import minimize

from harness import Checks, cospec


def events_of(s):
    """Every later token of every prefix."""
    return [(i, k) for i in range(1, s) for k in range(i, s)]


def tail(w, events, s):
    """sum_{j>1} sigma_j^4 of the matrix of a distribution of events, prefixes by targets."""
    a = np.zeros((s, s))
    for x, (i, k) in zip(w, events):
        a[i, k] += max(x, 0)
    r, c = a.sum(1), a.sum(0)
    a = a[np.ix_(r > 0, c > 0)]
    sigma = np.linalg.svd(a / np.sqrt(np.outer(a.sum(1), a.sum(0))), compute_uv=False)
    return (sigma[1:] ** 4).sum()


def solve(s, least, fixed):
    """By SLSQP, from the distribution that is as even as the constraints allow."""
    events = events_of(s)
    index = 0 if fixed == "contexts" else 1
    blocks = [[e for e, pair in enumerate(events) if pair[index] == b] for b in range(1, s)]
    following = [e for e, (i, k) in enumerate(events) if i == k]
    start = np.zeros(len(events))
    for block in blocks:
        start[block] = (1 - least) / len(block) / (s - 1)
        start[[e for e in block if e in following]] += least / (s - 1)
    constraints = [{"type": "eq", "fun": lambda w, b=b: w[b].sum() - 1 / (s - 1)} for b in blocks]
    constraints.append({"type": "ineq", "fun": lambda w: w[following].sum() - least})
    warnings.simplefilter("ignore", RuntimeWarning)  # SLSQP steps over the bounds on its way
    found = minimize(tail, start, args=(events, s), bounds=[(1e-9, 1)] * len(events),
                     constraints=constraints, method="SLSQP", options={"ftol": 1e-14, "maxiter": 2000})
    return found.fun, blocks, following


def random_distributions(rng, s, least, blocks, following, count):
    for _ in range(count):
        w = np.zeros(len(events_of(s)))
        for block in blocks:
            w[block] = rng.dirichlet(np.full(len(block), rng.choice([0.2, 1, 5]))) / (s - 1)
        w_next = np.zeros_like(w)
        w_next[following] = 1 / (s - 1)
        have = w[following].sum()
        t = 0 if have >= least else (least - have) / (1 - have)
        yield (1 - t) * w + t * w_next


def one(s, least, fixed, rng):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "d")
        result = cospec("design", length=s, next_token=least, fixed=fixed, gap=1e-9, o=out)
        with open(os.path.join(out, "plan.json"), encoding="utf-8") as file:
            plans = json.load(file)["plans"]
    events = events_of(s)
    law = np.zeros(len(events))
    for plan in plans:
        for k, weight in enumerate(plan["weights"]):
            if weight > 0:
                law[events.index((plan["groups"].count(0), k))] += plan["probability"] * weight
    of_plan = tail(law / law.sum(), events, s)
    reference, blocks, following = solve(s, least, fixed)
    least_random = min(tail(w, events, s) for w in random_distributions(rng, s, least, blocks, following, 300))
    if abs(of_plan - result["value"]) > 1e-10:
        return f"the plan's SVD has {of_plan}, printed {result['value']}"
    if not result["bound"] - 1e-7 <= reference <= result["value"] + 1e-6 or reference < result["value"] - 2e-8:
        return f"SLSQP {reference}, value {result['value']}, bound {result['bound']}"
    return None if least_random >= result["bound"] else f"a random distribution has {least_random}, below the bound"


def main():
    checks = Checks("design")
    rng = np.random.default_rng(3)
    for s in (4, 6, 8):
        for least in (0.4, 0.55, 0.8):
            for fixed in ("contexts", "targets"):
                checks.run(f"{fixed}-{s}-{least}", one, s, least, fixed, rng)
    checks.exit()


if __name__ == "__main__":
    main()
