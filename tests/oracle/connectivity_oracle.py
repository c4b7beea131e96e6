"""Connectivity: sigma_2, gap, Cheeger bounds and the sweep cut of the heaviest component, against all
subsets of its nodes and a sweep of our own (spectra.md).
"""
import itertools
import math
import os
import sys
import tempfile

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from harness import Checks, cospec, differ, normalise
from svd_oracle import random_matrix

GAP = 1e-6


def metrics(record):
    """A record of cospec connectivity with its {"value", "se"} pairs as plain values."""
    return {k: v["value"] if isinstance(v, dict) else v for k, v in record.items()}


def heaviest(a):
    """The component of most mass, its share, and the number of components."""
    a = a[a.sum(1) > 0][:, a.sum(0) > 0]
    m, n = a.shape
    graph = sp.bmat([[None, sp.csr_matrix(a)], [sp.csr_matrix((n, m)), None]])
    count, label = connected_components(graph, directed=False)
    mass = [a[label[:m] == c].sum() for c in range(count)]
    c = int(np.argmax(mass))
    return a[label[:m] == c][:, label[m:] == c] / mass[c], mass[c] / a.sum(), count


def cut_value(a, rows, cols):
    """cut / min(vol, 2 - vol) of a 0/1 choice of nodes."""
    r, c = np.asarray(rows, float), np.asarray(cols, float)
    volume = r @ a.sum(1) + a.sum(0) @ c
    crossing = r @ a @ (1 - c) + (1 - r) @ a @ c
    return crossing / min(volume, 2 - volume), min(volume, 2 - volume)


def all_cuts(a):
    m, n = a.shape
    out = []
    for bits in itertools.product((0, 1), repeat=m + n - 1):  # the last node stays outside
        if any(bits):
            out.append(cut_value(a, bits[:m], (*bits, 0)[m:]))
    return np.array(out)


def sweep(a):
    """Least cut over the thresholds of (u_2 / sqrt(P_C), v_2 / sqrt(P_G)); whether values are apart."""
    u, s, vt = np.linalg.svd(normalise(a))
    x = np.concatenate([u[:, 1] / np.sqrt(a.sum(1)), vt[1] / np.sqrt(a.sum(0))])
    values = np.sort(x)
    levels = values[np.concatenate([[True], np.diff(values) > 1e-7])]
    m = a.shape[0]
    best = min(cut_value(a, x[:m] >= t - 1e-8, x[m:] >= t - 1e-8)[0] for t in levels[1:])
    return best, len(levels) == len(x) and (len(s) < 3 or s[1] - s[2] > GAP) and s[1] > GAP


def check(a, path, exhaustive):
    sp.save_npz(path, sp.csr_matrix(a))
    got = metrics(cospec("connectivity", path)["matrices"][0])
    part, share, count = heaviest(a)
    full = np.linalg.svd(normalise(a), compute_uv=False)
    sigma = np.linalg.svd(normalise(part), compute_uv=False)
    two = sigma[1] if len(sigma) > 1 else 0.0
    lower, upper = (1 - two) / 2, math.sqrt(max(0.0, 1 - two ** 2))
    below = full[count] if count < len(full) else 0.0
    for key, ours in (("components", count), ("giant_mass", share), ("sigma2", two),
                      ("cheeger_lower", lower), ("gap", 1 - below),
                      ("sum_sigma2", np.sum(full ** 2)), ("sum_sigma4", np.sum(full ** 4))):
        why = differ(ours, got[key], 1e-9, key)
        if why:
            return why
    # sqrt(1 - sigma^2) turns a rounding of sigma near 1 into its root.
    why = differ(upper, got["cheeger_upper"], 1e-7, "cheeger_upper")
    found, volume = got["sweep_cut"], got["sweep_volume"]
    if why or part.shape == (1, 1):
        return why
    if not lower - 1e-9 <= found <= upper + 1e-9:
        return f"sweep cut {found} outside {lower}..{upper}"
    if two > 1e-6:
        ours, apart = sweep(part)
        if apart:
            why = differ(ours, found, 1e-9, "sweep_cut")
        if why:
            return why
    if exhaustive:
        cuts = all_cuts(part)
        if found < cuts[:, 0].min() - 1e-12:
            return f"sweep cut {found} below the least of all cuts {cuts[:, 0].min()}"
        if not lower - 1e-12 <= cuts[:, 0].min() <= upper + 1e-12:
            return "theory: the least cut is outside the Cheeger bounds"
        if np.abs(cuts - [found, volume]).max(1).min() > 1e-9:
            return f"no cut has value {found} and volume {volume}"
    return None


def group_ar(s, t):
    """(S, k) of group-ar without an empty prefix: all first groups 1..t, one event a predicted token."""
    a = np.zeros((s, s))
    for first in range(1, min(t, s) + 1):
        for start in range(first, s, t):
            a[start, start:start + t] += 1
    return a


def main():
    checks = Checks("connectivity")
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 13)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "matrix.npz")
        for i in range(30):
            a = random_matrix(rng, 1 + i % 3, 6, 6, 0.6, integer=False)
            small = sum(heaviest(a)[0].shape) <= 11
            checks.run(f"{'all-subsets' if small else 'sweep'} {i} {a.shape[0]}x{a.shape[1]}", check, a,
                       path, small)
        for i in range(8):
            a = random_matrix(rng, 1 + i % 4, 60, 40, 0.15, integer=False, least=20)
            checks.run(f"sweep {i} {a.shape[0]}x{a.shape[1]}", check, a, path, False)
        a = group_ar(6, 2)
        checks.run("group-ar t=2 s=6", check, a, path, True)
        got = metrics(cospec("connectivity", path)["matrices"][0])
        checks.run("group-ar t=2 s=6 as printed", lambda: differ(
            [0.93969, 0.03015, 0.34202], [got[k] for k in ("sigma2", "cheeger_lower", "cheeger_upper")],
            5e-6, "sigma_2 and bounds"))
    checks.exit()


if __name__ == "__main__":
    main()
