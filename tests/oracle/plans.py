"""Objectives as distributions over group plans, written from their definitions (docs/explanation/objectives.md).

events_of() returns {(S, k): weight} with S a sorted tuple of 0-based positions; weights sum to 1; and
the expected number of predicted tokens of a sequence. Slow on purpose: plans are listed one by one.
"""
import itertools
import math
from collections import defaultdict

from scipy.stats import norm


def round_half_up(x):
    return math.floor(x + 0.5) if x >= 0 else -math.floor(-x + 0.5)


def unmasked_range(objective, s):
    """LO, HI of the number of unmasked tokens; a ratio is clamped into 1..s-1 (objective.h)."""
    if "mask_ratio" in objective:
        lo, hi = objective["mask_ratio"]
        sizes = [min(max(s - round_half_up(rho * s), 1), s - 1) for rho in (lo, hi)]
        return min(sizes), max(sizes)
    return objective["unmasked"]


def shortest(objective):
    """The shortest length at which the objective exists."""
    name, empty = objective["name"], objective["empty"] != "none"
    if name == "mix":
        return max(shortest(part) for _, part in parts_of(objective))
    if name in ("masked", "variable-masked") and "unmasked" in objective:
        return objective["unmasked"][1] + 1
    if name == "gvp":
        return objective["groups"] + 1
    if name == "bernoulli-masked" or "mask_ratio" in objective:
        return 1 if empty and name == "bernoulli-masked" else 2
    return 1 if empty else 2


def parts_of(objective):
    """(share, objective) of a mixture, whose event weight and empty prefix are the parts'."""
    total = sum(share for share, _ in objective["parts"])
    return [(share / total, dict(part, weight=objective["weight"], empty=objective["empty"]))
            for share, part in objective["parts"]]


def cuts(objective, s):
    """(probability, n_0 < ... < n_{K-1}) of the objectives with a uniform order of positions."""
    name = objective["name"]
    if name in ("masked", "variable-masked"):
        lo, hi = unmasked_range(objective, s)
        return [(1 / (hi - lo + 1), (m,)) for m in range(lo, hi + 1)]
    if name == "permuted-ar":
        return [(1.0, tuple(range(0 if objective["empty"] != "none" else 1, s)))]
    k = objective["groups"]
    if objective["segmentation"] == "fixed":
        return [(1.0, tuple((i + 1) * s // (k + 1) for i in range(k)))]
    if objective["segmentation"] == "random":
        chosen = list(itertools.combinations(range(1, s), k))
        return [(1 / len(chosen), c) for c in chosen]
    out = []
    for last, p in mixed_last(s, k).items():
        chosen = list(itertools.combinations(range(1, last), k - 1))
        out += [(p / len(chosen), c + (last,)) for c in chosen]
    return out


def mixed_last(s, k):
    """P(n_{K-1} = N): round(p s) with p ~ N(0.5, sd 0.1), clamped into K..s-1."""
    mass = defaultdict(float)
    for n in range(-s, 3 * s):
        p = norm.cdf((n + 0.5) / s, 0.5, 0.1) - norm.cdf((n - 0.5) / s, 0.5, 0.1)
        if p > 0:
            mass[min(max(n, k), s - 1)] += p
    return mass


def groups_of(order, cut):
    """f(i) of an order of positions cut before places cut[0], cut[1], ...; group 0 is given."""
    f = [0] * len(order)
    for place, position in enumerate(order):
        f[position] = sum(place >= n for n in cut)
    return f


def plans(objective, s):
    """(probability, f, weights) of every plan; weights None: 1 on groups >= 1."""
    name, empty = objective["name"], objective["empty"] != "none"
    if name == "file":
        listed = [p for p in objective["plans"] if len(p["groups"]) == s]
        total = sum(p["probability"] for p in listed)
        return [(p["probability"] / total, p["groups"], p.get("weights")) for p in listed]
    if name == "ar":
        return [(1.0, [i + (1 if empty else 0) for i in range(s)], None)]
    if name == "group-ar":
        t, out = objective["t"], []
        for first in range(1, min(t, s) + 1):
            f = [0 if i < first else 1 + (i - first) // t for i in range(s)]
            out.append((1 / min(t, s), [g + (1 if empty else 0) for g in f], None))
        return out
    if name == "bernoulli-masked":
        rho = objective["rho"]
        return [(math.prod(rho if b else 1 - rho for b in bits), list(bits), None)
                for bits in itertools.product((0, 1), repeat=s)]
    orders = list(itertools.permutations(range(s)))
    return [(p / len(orders), groups_of(z, c), None) for p, c in cuts(objective, s) for z in orders]


def one_target(objective, s):
    """diverse-ar and offset-ar: every prefix once, its target by the weights of the offsets."""
    events = {}
    for i in range(0 if objective["empty"] != "none" else 1, s):
        left = s - i
        if objective["name"] == "diverse-ar":
            w = [1.0 if d <= objective["t"] else 0.0 for d in range(1, left + 1)]
        else:
            kind, value = objective["offset"]
            if kind == "uniform":
                w = [1.0 if d <= value else 0.0 for d in range(1, left + 1)]
            elif kind == "power":
                w = [d ** -value for d in range(1, left + 1)]
            else:
                w = [(value if d == 1 else 0.0) + (1 - value) / left for d in range(1, left + 1)]
        for d in range(1, left + 1):
            if w[d - 1] > 0:
                events[tuple(range(i)), i + d - 1] = w[d - 1] / sum(w)
    return events, s - (0 if objective["empty"] != "none" else 1)


def shuffled(objective, s):
    """The same as listing all orders, by subsets: the first n places of a uniform order are a uniform
    subset S of size n, and each target left is in the next group with the same probability."""
    token = objective["weight"] == "token"
    events, predicted = defaultdict(float), 0.0
    for p, cut in cuts(objective, s):
        ends = cut[1:] + (s,)
        total = s - cut[0]
        for n, end in zip(cut, ends):
            sets = list(itertools.combinations(range(s), n))
            share = p * (end - n) / (s - n) / len(sets) / (1 if token else total)
            for chosen in sets:
                for k in set(range(s)) - set(chosen):
                    events[chosen, k] += share
        predicted += p * total
    return events, predicted


def events_of(objective, s, every_order=None):
    events, predicted, _ = distribution_of(objective, s, every_order)
    return events, predicted


def distribution_of(objective, s, every_order=None):
    """events_of, and what the events of one plan weigh in expectation: their number under `token`, the
    probability that there are any under `mask`. In a mixture a part counts by share times this."""
    name, empty = objective["name"], objective["empty"] != "none"
    if every_order is None:
        every_order = s <= 5
    if name == "mix":
        events, predicted = defaultdict(float), 0.0
        for share, part in parts_of(objective):
            listed, tokens, weight = distribution_of(part, s, every_order)
            predicted += share * tokens
            for e, w in listed.items():
                events[e] += share * weight * w
    elif name in ("diverse-ar", "offset-ar"):
        events, predicted = one_target(objective, s)
        if objective["weight"] == "mask":
            events = {e: w / predicted for e, w in events.items()}
    elif name in ("masked", "variable-masked", "permuted-ar", "gvp") and not every_order:
        events, predicted = shuffled(objective, s)
    else:
        events, predicted = defaultdict(float), 0.0
        for p, f, weights in plans(objective, s):
            weights = [1.0 if g else 0.0 for g in f] if weights is None else weights
            seen = {k: tuple(j for j in range(s) if f[j] < f[k]) for k in range(s)}
            kept = [k for k in range(s) if weights[k] > 0 and (empty or seen[k])]
            total = sum(weights[k] for k in kept)
            for k in kept:
                events[seen[k], k] += p * weights[k] / (1 if objective["weight"] == "token" else total)
            predicted += p * total
    events = {e: w for e, w in events.items() if w > 0 and (empty or e[0])}
    total = sum(events.values())
    return {e: w / total for e, w in events.items()}, predicted, total


def options(objective):
    """Command-line options of an objective (a plan file apart)."""
    if objective["name"] == "mix":
        return {"objective": "mix:" + "+".join(f"{share}*{spec(p)}" for share, p in objective["parts"]),
                "empty-prefix": objective["empty"], "event-weight": objective["weight"]}
    out = {"objective": objective["name"], "empty-prefix": objective["empty"]}
    if objective["name"] not in ("diverse-ar", "offset-ar"):  # one token a prefix by definition
        out["event-weight"] = objective["weight"]
    if "unmasked" in objective:
        lo, hi = objective["unmasked"]
        out["unmasked"] = lo if lo == hi else f"{lo}:{hi}"
    if "mask_ratio" in objective:
        lo, hi = objective["mask_ratio"]
        out["mask-ratio"] = lo if lo == hi else f"{lo}:{hi}"
    if "rho" in objective:
        out["mask-ratio"] = objective["rho"]
    if "offset" in objective:
        kind, value = objective["offset"]
        out["offset-weights"] = f"{kind}:{value}"
    for key in ("t", "groups", "segmentation"):
        if key in objective:
            out[key] = objective[key]
    return out


def spec(part):
    given = options(part)
    inner = ",".join(f"{k}={v}" for k, v in given.items()
                     if k not in ("objective", "empty-prefix", "event-weight"))
    return given["objective"] + (f"({inner})" if inner else "")


def draw(rng, name, s, weight="token", empty="none"):
    """An objective of this name with random parameters that exist at length s."""
    o = {"name": name, "weight": weight, "empty": empty}
    if name == "masked":
        m = int(rng.integers(1, s))
        if rng.random() < 0.3:
            rho = round(float(rng.uniform(0.1, 0.9)), 2)
            o["mask_ratio"] = (rho, rho)
        else:
            o["unmasked"] = (m, m)
    elif name == "variable-masked":
        if rng.random() < 0.3:
            o["mask_ratio"] = tuple(sorted(round(float(x), 2) for x in rng.uniform(0.1, 0.9, 2)))
        else:
            lo, hi = sorted(int(x) for x in rng.integers(1, s, 2))
            o["unmasked"] = (lo if empty == "none" else 0, hi)
    elif name == "bernoulli-masked":
        o["rho"] = round(float(rng.uniform(0.1, 0.9)), 2)
    elif name in ("diverse-ar", "group-ar"):
        o["t"] = int(rng.integers(1, s + 2))
    elif name == "offset-ar":
        o["offset"] = [("uniform", int(rng.integers(1, s + 1))),
                       ("power", round(float(rng.uniform(0.2, 2)), 2)),
                       ("mix", round(float(rng.uniform(0, 1)), 2))][int(rng.integers(3))]
    elif name == "gvp":
        o["segmentation"] = ["fixed", "random", "mixed"][int(rng.integers(3))]
        o["groups"] = int(rng.integers(1, s))
    elif name == "mix":
        names = rng.choice([n for n in NAMES if n not in ("file", "mix")], int(rng.integers(2, 4)))
        o["parts"] = [(round(float(rng.uniform(0.1, 2)), 2), draw(rng, str(n), s, weight, empty))
                      for n in names]
    elif name == "file":
        o["plans"] = random_plans(rng, s, empty != "none")
    return o


def random_plans(rng, s, empty):
    """Plans with random groups (all of 0..K used; 0 may be left out with an empty prefix), weights and
    probabilities."""
    out = []
    for _ in range(int(rng.integers(1, 5))):
        while True:
            raw = rng.integers(0, s, s)
            f = [int(x) for x in np_rank(raw)]
            if empty and rng.random() < 0.5:
                f = [g + 1 for g in f]
            if max(f) > 0:
                break
        plan = {"probability": round(float(rng.uniform(0.1, 2)), 3), "groups": f}
        if rng.random() < 0.6:
            w = [round(float(rng.uniform(0.1, 3)), 2) if g and rng.random() < 0.8 else 0 for g in f]
            if sum(w) > 0:
                plan["weights"] = w
        out.append(plan)
    return out


def np_rank(values):
    """Values by the rank of their distinct values: [7, 2, 7] -> [1, 0, 1]."""
    order = {v: i for i, v in enumerate(sorted(set(int(v) for v in values)))}
    return [order[int(v)] for v in values]


NAMES = ["ar", "masked", "variable-masked", "bernoulli-masked", "diverse-ar", "offset-ar", "group-ar",
         "permuted-ar", "gvp", "mix", "file"]
