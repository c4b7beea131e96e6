"""The toy model against brute force over all contents, from the definition of plans.

For every class and every event (S, k), all contents of S and all tokens at k get their joint
probability; the normalised matrix goes to numpy's dense SVD. Compared with the program's enumeration,
position reduction (disjoint sets) and closed forms (where it says that it has one).
"""
import itertools
import json
import os
import sys
import tempfile
from collections import defaultdict

import numpy as np

import plans
from harness import ZERO, Checks, Failure, cospec, differ, expand, normalise

TOLERANCE = 1e-10


def joint(objective, r, s, t, literal, given):
    """{(row, token): probability}: the definition, one content at a time."""
    events, _ = plans.events_of(objective, s)

    def tokens(y, k):
        return [(k, y * j) if literal else (k, (y - 1) * t + j) for j in range(1, t + 1)]

    cell = defaultdict(float)
    for y in range(1, r + 1):
        for (chosen, k), w in events.items():
            p = w / r / t ** (len(chosen) + 1)
            for content in itertools.product(*(tokens(y, i) for i in chosen)):
                row = (content, k if given else None,
                       y if not chosen and objective["empty"] == "class" else None)
                for x in tokens(y, k):
                    cell[row, x] += p
    return cell


def spectrum(objective, r, s, t, literal, given):
    cell = joint(objective, r, s, t, literal, given)
    rows = {x: i for i, x in enumerate(dict.fromkeys(key[0] for key in cell))}
    cols = {x: i for i, x in enumerate(dict.fromkeys(key[1] for key in cell))}
    a = np.zeros((len(rows), len(cols)))
    for (x, y), p in cell.items():
        a[rows[x], cols[y]] += p
    sigma = np.linalg.svd(normalise(a), compute_uv=False)
    return sigma[sigma > ZERO], a.shape, len(cell)


def size(r, s, t):
    return r * (1 + t) ** s


def options_of(case, folder):
    objective, r, s, t, literal, given = case
    options = plans.options(objective)
    if objective["name"] == "file":
        path = os.path.join(folder, "plans.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"plans": objective["plans"]}, out)
        options["plan-file"] = path
    options.update({"classes": r, "length": s, "tokens": t,
                    "token-sets": "literal" if literal else "disjoint",
                    "target-position": "given" if given else "blind"})
    return options


def compare(got, sigma):
    theirs = expand(got["spectrum"])
    # Copies closer than 1e-9 are listed as one value, so a merged value may be off by that much; the
    # toy spectra either coincide to rounding or lie far apart.
    return (differ(sigma, theirs, TOLERANCE)
            or differ(np.sum(sigma ** 2), got["sum_sigma2"], TOLERANCE * max(1, len(sigma)), "sum_sigma2")
            or differ(np.sum(sigma ** 4), got["sum_sigma4"], TOLERANCE * max(1, len(sigma)), "sum_sigma4"))


def check(case, method, sigma, shape, entries, folder):
    got = cospec("toy", method=method, **options_of(case, folder))
    why = compare(got, sigma)
    if not why and method == "enumerate" and not case[4]:
        theirs = (got["rows"], got["cols"], got["nnz"])
        if theirs != (*shape, entries):
            why = f"rows, cols, nnz: {theirs} from the program, {(*shape, entries)} expected"
    return why


def has_closed_form(case, folder):
    """The program says by a usage error that it knows no closed form."""
    try:
        return bool(cospec("toy", method="closed", codes=(0, 2), **options_of(case, folder)))
    except Failure:
        return True  # reported by the check


def describe(case):
    objective, r, s, t, literal, given = case
    parts = [f"{k}={v}" for k, v in plans.options(objective).items()]
    parts += [f"r={r}", f"s={s}", f"T={t}", "literal" if literal else "disjoint",
              "given" if given else "blind"]
    return " ".join(parts)


def cases(rng, count):
    """Every objective in turn; the other choices cycle so that each meets each objective."""
    prefixes = ["none", "shared", "class"]
    for i in range(count):
        name = plans.NAMES[i % len(plans.NAMES)]
        turn = i // len(plans.NAMES)
        while True:
            r, s, t = (int(x) for x in (rng.integers(1, 5), rng.integers(2, 7), rng.integers(1, 5)))
            if 60 <= size(r, s, t) <= 2200:
                break
        objective = plans.draw(rng, name, s, ["token", "mask"][turn % 2], prefixes[turn % 3])
        yield objective, r, s, t, bool(rng.random() < 0.3), bool(rng.random() < 0.3)


def self_check(checks):
    """Listing all orders and counting subsets must give the same events."""
    rng = np.random.default_rng(7)
    for name in ("masked", "variable-masked", "permuted-ar", "gvp"):
        for weight in ("token", "mask"):
            objective = plans.draw(rng, name, 5, weight)
            a, b = (plans.events_of(objective, 5, every_order=e) for e in (True, False))
            same = a[0].keys() == b[0].keys() and all(abs(a[0][e] - b[0][e]) < 1e-12 for e in a[0])
            checks.run(f"events-by-orders-and-by-subsets {name} {weight}",
                       lambda ok=same and abs(a[1] - b[1]) < 1e-12: None if ok else "they differ")


def golden_objective(entry):
    """A golden entry's objective in the form of plans.py."""
    given = entry["params"]
    out = {"name": entry["objective"], "weight": given.get("event_weight", "token"),
           "empty": entry["empty_prefix"]}
    if "unmasked" in given:
        m = given["unmasked"]
        out["unmasked"] = tuple(m) if isinstance(m, list) else (m, m)
    if "offset_weights" in given:
        kind, value = given["offset_weights"].split(":")
        out["offset"] = (kind, float(value))
    for ours, theirs in (("t", "t"), ("segmentation", "segmentation"), ("groups", "K")):
        if theirs in given:
            out[ours] = given[theirs]
    return out


def golden():
    """The golden spectra came from a third program: this file's reference must agree with them."""
    path = os.path.join(os.path.dirname(__file__), "..", "golden", "toy_spectra.json")
    with open(path, encoding="utf-8") as source:
        listed = json.load(source)
    for entry in listed:
        objective = golden_objective(entry)
        sigma, shape, cells = spectrum(objective, entry["classes"], entry["length"], entry["tokens"],
                                       entry["token_sets"] == "literal", False)
        why = (differ(sigma, expand(entry["spectrum"]), TOLERANCE)
               or (None if (*shape, cells) == (entry["rows"], entry["cols"], entry["nnz"]) else "size"))
        if why:
            return f"{entry['objective']} {entry['params']}: {why}"
    return None if len(listed) == 120 else f"{len(listed)} golden spectra, 120 expected"


def check_long_prefix(objective, s, r, folder):
    """Reduction at lengths out of enumeration's reach: the matrix over (prefix, target) in numpy."""
    events, _ = plans.one_target(objective, s) if objective["name"] != "group-ar" else (
        plans.events_of(objective, s, every_order=True))
    b = np.zeros((s, s))
    for (chosen, k), w in events.items():
        b[len(chosen), k] += w
    sigma = np.linalg.svd(normalise(b), compute_uv=False)
    sigma = np.repeat(sigma[sigma > ZERO], r)
    got = cospec("toy", method="reduce", **options_of((objective, r, s, 7, False, False), folder))
    # Values closer than 1e-9 are listed as one, so near 1, where they crowd, a value may be off by that.
    return differ(sigma, expand(got["spectrum"]), 1e-8)


def check_long_invariant(objective, s, r, folder):
    """q(m) from the cuts, then sigma^2 = E_q[m / ((s-m)(s-1))] (theorem-4-2.md)."""
    q = np.zeros(s)
    for p, cut in plans.cuts(objective, s):
        for n, end in zip(cut, cut[1:] + (s,)):
            q[n] += p * (end - n) / (1 if objective["weight"] == "token" else s - cut[0])
    q /= q.sum()
    m = np.arange(s)
    value = np.sqrt(np.sum(q * m / ((s - m) * (s - 1.0))))
    wanted = [1.0] * r + [value] * (r * (s - 1)) if 1 - value > 1e-9 else [1.0] * (r * s)
    for method in ("reduce", "closed"):
        got = cospec("toy", method=method, codes=(0, 2), **options_of((objective, r, s, 9, False, False),
                                                                      folder))
        why = differ(wanted, expand(got["spectrum"]), 1e-10) if got else None
        if why:
            return f"{method}: {why}"
    return None


def long_lengths(checks, rng, folder):
    for s in (30, 90, 200):
        for name in ("diverse-ar", "offset-ar", "group-ar"):
            objective = plans.draw(rng, name, min(s, 12))
            checks.run(f"long {describe((objective, 3, s, 7, False, False))}", check_long_prefix, objective,
                       s, 3, folder)
    for s in (12, 25, 40):
        for name in ("masked", "variable-masked", "permuted-ar", "gvp", "gvp", "gvp"):
            objective = plans.draw(rng, name, 4, ["token", "mask"][int(rng.integers(2))])
            if "unmasked" in objective:
                objective["unmasked"] = tuple(sorted(int(x) for x in rng.integers(1, s, 2)))
                if name == "masked":
                    objective["unmasked"] = (objective["unmasked"][0],) * 2
            checks.run(f"long {describe((objective, 4, s, 9, False, False))}", check_long_invariant,
                       objective, s, 4, folder)


# Tail sum_{j>=2} sigma_j^4 per class at s = 128 (theorem-4-2.md, Heavy-tailed offsets).
TAILS = [("ar", {}, 126.0), ("diverse-ar", {"t": 2}, 47.0), ("diverse-ar", {"t": 4}, 21.3),
         ("diverse-ar", {"t": 16}, 4.86), ("offset-ar", {"offset-weights": "mix:0.5"}, 13.6),
         ("offset-ar", {"offset-weights": "power:1"}, 2.58),
         ("offset-ar", {"offset-weights": "power:0.5"}, 0.73), ("diverse-ar", {"t": 128}, 0.36),
         ("masked", {"mask-ratio": 0.15}, 0.26), ("masked", {"mask-ratio": 0.3}, 0.044),
         ("masked", {"mask-ratio": 0.5}, 0.008)]


def check_tail(name, options, tail):
    got = cospec("toy", objective=name, classes=1, length=128, tokens=1, method="reduce", **options)
    digits = 10 ** np.floor(np.log10(tail)) / 100 if tail > 1 else 10 ** np.floor(np.log10(tail)) / 10
    return differ(tail, got["sum_sigma4"] - 1, max(0.51 * digits, 0.0051 if tail > 0.1 else 0.00051), "tail")


def main():
    checks = Checks("toy")
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    self_check(checks)
    checks.run("reference-agrees-with-the-golden-spectra", golden)
    for name, options, tail in TAILS:
        checks.run(f"tail at s=128 {name} {options}", check_tail, name, options, tail)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(rng, count):
            sigma, shape, entries = spectrum(*case)
            methods = ["enumerate"] + ([] if case[4] else ["reduce"])
            if has_closed_form(case, folder):
                methods.append("closed")
            for method in methods:
                checks.run(f"{method} {describe(case)}", check, case, method, sigma, shape, entries,
                           folder)
        long_lengths(checks, rng, folder)
    checks.exit()


if __name__ == "__main__":
    main()
