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
        if name == "variable-masked" and "unmasked" in objective and objective["empty"] != "none":
            objective["unmasked"] = (0, objective["unmasked"][1])
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


def golden(checks):
    path = os.path.join(os.path.dirname(__file__), "..", "golden", "toy_spectra.json")
    with open(path, encoding="utf-8") as source:
        listed = json.load(source)
    checks.run("golden-file-has-120-spectra", lambda: None if len(listed) == 120 else len(listed))


def main():
    checks = Checks("toy")
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    self_check(checks)
    golden(checks)
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
    checks.exit()


if __name__ == "__main__":
    main()
