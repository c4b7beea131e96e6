"""Effective ranks, similarity and dimension measures against numpy, scipy and scikit-learn, from their definitions.

Matrices with decaying spectra, offsets, few rows, exact low rank; NPY in both orders, float16 to float64, NPZ,
safetensors.
"""
import json
import os
import struct
import tempfile

import numpy as np
import scipy.linalg
import scipy.stats
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from harness import Checks, cospec, differ

EPS, GAMMA = 1e-7, 274 * 2.0**-53 / (1 - 274 * 2.0**-53)


def matrix(rng, n, d, power, offset=0.0):
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return (rng.standard_normal((n, d)) * np.arange(1, d + 1.0) ** (-power / 2)) @ turn + offset


def entropy_rank(p):
    p = p[p > 0]
    return np.exp(-(p * np.log(p)).sum())


def ranks(x, tau, centre, row_norm, first=11, last=500):
    """From the singular values of the matrix itself, not from a Gram matrix."""
    x = np.asarray(x, float)
    if row_norm:
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    if centre:
        x = x - x.mean(0)
    s = scipy.linalg.svdvals(x)
    floor = GAMMA * (s**2).sum()
    s = np.where(s**2 > floor, s, 0)
    lam = s**2
    share = np.cumsum(lam) / lam.sum()
    k = int(np.searchsorted(share, tau * (1 - 1e-12)))
    before = share[k - 1] if k else 0.0
    tolerance = max(max(x.shape) * 2.0**-52 * s[0], np.sqrt(floor))
    at = np.arange(1, len(lam) + 1)
    fit = (at >= first) & (at <= last) & (lam > 0)
    decay = -scipy.stats.linregress(np.log(at[fit]), np.log(lam[fit])).slope if fit.sum() > 1 else None
    return {"rank_tau": k + 1, "rank_tau_interpolated": k + (tau - before) / (share[k] - before),
            "entropy_rank": entropy_rank(s / s.sum()), "entropy_rank_squared": entropy_rank(lam / lam.sum()),
            "rankme": entropy_rank(s / s.sum() + EPS), "participation_ratio": lam.sum()**2 / (lam**2).sum(),
            "stable_rank": lam.sum() / lam[0], "numerical_rank": int((s > tolerance).sum()), "decay_exponent": decay}


def metrics(got):
    return {m["name"]: m for m in got["metrics"]}


def check_ranks(x, path, tau, blocks, tolerance=1e-7, **flags):
    got = metrics(cospec("rank", path, tau=tau, blocks=blocks, **{k: True for k, v in flags.items() if v}))
    args = (tau, flags.get("center", False), flags.get("row_norm", False))
    want = ranks(x, *args)
    parts = np.array_split(np.arange(len(x)), blocks)
    left = [ranks(np.delete(x, p, 0), *args) for p in parts] if blocks > 1 else []
    for name, value in want.items():
        if value is None:
            if got[name]["value"] is not None:
                return f"{name}: a value without a range"
            continue
        why = differ([value], [got[name]["value"]], tolerance * (1 + abs(value)), name)
        if not why and left and name not in ("rank_tau", "numerical_rank"):
            theta = np.array([r[name] for r in left])
            se = np.sqrt((blocks - 1) / blocks * ((theta - theta.mean()) ** 2).sum())
            why = differ([se], [got[name]["se"]], 1e-5 * (1 + se), f"se of {name}")
        if why:
            return why
    return None


def hsic(k, l):
    """Song et al. 2012, Eq. 5."""
    n = len(k)
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))
    one = np.ones(n)
    return (np.trace(k @ l) + (one @ k @ one) * (one @ l @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * (one @ k @ l @ one)) / (n * (n - 3))


def check_similarity(a, b, folder, k):
    pa, pb = os.path.join(folder, "a.npy"), os.path.join(folder, "b.npy")
    np.save(pa, a)
    np.save(pb, b)
    got = cospec("similarity", pa, pb, k=k)
    value = {m["name"]: m["value"] for m in got["metrics"]}
    a, b = a - a.mean(0), b - b.mean(0)
    ka, kb = a @ a.T, b @ b.T
    cka = (ka * kb).sum() / np.sqrt((ka * ka).sum() * (kb * kb).sum())
    unbiased = hsic(ka, kb) / np.sqrt(hsic(ka, ka) * hsic(kb, kb))
    width = max(a.shape[1], b.shape[1])  # scipy's Procrustes wants equal widths: zeros beyond
    wide = [np.pad(x / np.linalg.norm(x), ((0, 0), (0, width - x.shape[1]))) for x in (a, b)]
    turn, scale = scipy.linalg.orthogonal_procrustes(wide[1], wide[0])
    distance = np.linalg.norm(wide[0] - wide[1] @ turn) ** 2
    u, v = (np.linalg.svd(x, full_matrices=False)[0][:, :k] for x in (a, b))
    angles = np.sort(scipy.linalg.subspace_angles(u, v))
    return (differ([cka, unbiased, distance, scale],
                   [value[m] for m in ("cka", "cka_unbiased", "procrustes", "procrustes_similarity")], 1e-9, "measures")
            or differ(angles, got["angles"]["radians"], 1e-7, "angles")
            or differ([np.mean(np.cos(angles) ** 2)], [value["mean_squared_cosine"]], 1e-9, "mean squared cosine"))


def check_dimension(x, path, discard):
    got = {m["name"]: m["value"] for m in cospec("similarity", path, dimension=True, discard=discard)["metrics"]}
    x, all_rows = np.unique(x, axis=0), x
    near = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(x).kneighbors(x)[0]
    mu = np.sort(near[:, 2] / near[:, 1])
    used = int(np.floor((1 - discard) * len(mu)))
    used -= used == len(mu)
    log_mu, f = np.log(mu[:used]), -np.log(1 - np.arange(1, used + 1) / len(mu))
    dimension = (log_mu @ f) / (log_mu @ log_mu)
    x = all_rows
    cosine = cosine_similarity(x)
    mean = cosine[np.triu_indices(len(x), 1)].mean()
    c = np.linalg.eigh(x.T @ x)[1]
    y = x @ c / np.sqrt((x**2).sum() / len(x))
    z = np.concatenate([np.exp(y).sum(0), np.exp(-y).sum(0)])
    return (differ([dimension], [got["intrinsic_dimension"]], 1e-6 * dimension, "two-NN")
            or differ([mean, z.min() / z.max()], [got["mean_cosine"], got["partition_isotropy"]], 1e-9, "isotropy"))


def save_tensors(path, tensors):
    """The format's own bytes: length of the header, header, data."""
    header, data = {}, b""
    for name, (kind, array) in tensors.items():
        begin, data = len(data), data + array.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def main():
    checks = Checks("rank")
    rng = np.random.default_rng(20261121)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.npy")
        for name, n, d, power, offset, flags in (
                ("decay", 700, 60, 1.0, 0.0, {}), ("steep", 500, 40, 3.0, 0.0, {}), ("offset", 400, 30, 1.0, 5.0, {"center": True}),
                ("row-norm", 400, 30, 0.5, 1.0, {"row_norm": True}), ("both", 300, 50, 0.5, 2.0, {"center": True, "row_norm": True}),
                ("few rows", 30, 80, 0.5, 0.0, {})):
            x = matrix(rng, n, d, power, offset)
            np.save(path, x)
            checks.run(f"ranks, {name}", lambda x=x, flags=flags: check_ranks(x, path, 0.9, 7, **flags))
        x = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 25))
        np.save(path, x)
        checks.run("ranks, exact low rank", check_ranks, x, path, 0.5, 1)
        x = matrix(rng, 300, 24, 1.0)
        for name, save in (("float32", lambda p: np.save(p, x.astype(np.float32))), ("float16", lambda p: np.save(p, x.astype(np.float16))),
                           ("Fortran", lambda p: np.save(p, np.asfortranarray(x))), ("three axes", lambda p: np.save(p, x.reshape(15, 20, 24)))):
            save(path)
            checks.run(f"ranks, {name}", check_ranks, np.load(path).reshape(300, 24), path, 0.9, 5)
        archive = os.path.join(folder, "x.npz")
        np.savez_compressed(archive, a=x, b=x[:10])
        checks.run("ranks, npz member", check_ranks, x, archive + ":a", 0.9, 4)
        tensors = os.path.join(folder, "x.safetensors")
        short = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)  # bfloat16, cut off
        save_tensors(tensors, {"layer.0": ("F32", x.astype(np.float32)), "layer.1": ("BF16", short)})
        checks.run("ranks, safetensors float32", check_ranks, x.astype(np.float32), tensors + ":layer.0", 0.9, 4)
        cut = (short.astype(np.uint32) << 16).view(np.float32)
        checks.run("ranks, safetensors bfloat16", check_ranks, cut, tensors + ":layer.1", 0.9, 4)
        for name, n, p, q in (("equal widths", 120, 15, 15), ("wide", 40, 60, 25), ("narrow", 300, 4, 9)):
            a = matrix(rng, n, p, 1.0, 1.0)
            b = matrix(rng, n, q, 0.7)
            b[:, :2] += 2 * a[:, :2]
            checks.run(f"similarity, {name}", check_similarity, a, b, folder, 3)
        for name, n, d in (("gaussian", 500, 6), ("curve", 400, 12)):
            x = rng.standard_normal((n, d)) if name == "gaussian" else np.outer(rng.random(n), np.ones(d)) ** np.arange(1, d + 1)
            np.save(path, x)
            checks.run(f"dimension, {name}", check_dimension, x, path, 0.1)
    checks.exit()


if __name__ == "__main__":
    main()
