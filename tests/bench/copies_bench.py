"""Matrices of many connected parts, so that sigma = 1 has as many copies: how many of them ours and scipy's svds find, and in what time. Rows for bench.py.

usage: copies_bench.py BENCH_PROGRAM OUT.json WORK_DIR COUNT...

Ours with its certificates, as it is by default (the copies are the components, known before any solver) and without reduction (one solver call on the whole
matrix, as scipy's is). scipy's tol is 1e-5, which it squares: residuals of about 1e-10. Turns: 3 for 64 copies, 1 above; a peer that takes longer than
LIMIT seconds is ended, and said to be.
"""
import json
import os
import subprocess
import sys

import numpy as np
import scipy.sparse as sp

program, out, work = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
env = dict(os.environ, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
LIMIT = 30


def parts(count):
    """`count` connected blocks of 40-160 x 16-64 with Zipf counts, rows and columns permuted, normalised."""
    rng = np.random.default_rng(count)
    rows, cols, vals, r0, c0 = [], [], [], 0, 0
    for _ in range(count):
        m, n = int(rng.integers(40, 160)), int(rng.integers(16, 64))
        r = np.concatenate([rng.integers(0, m, 8 * m), np.arange(m), np.zeros(n, int)])
        c = np.concatenate([rng.integers(0, n, 8 * m), np.zeros(m, int), np.arange(n)])
        rows.append(r + r0)
        cols.append(c + c0)
        vals.append(rng.zipf(2.0, len(r)).clip(1, 100).astype(float))
        r0, c0 = r0 + m, c0 + n
    a = sp.coo_matrix((np.concatenate(vals), (np.concatenate(rows), np.concatenate(cols))), shape=(r0, c0)).tocsr()
    a = a[rng.permutation(r0)][:, rng.permutation(c0)]
    p, q = np.asarray(a.sum(1)).ravel(), np.asarray(a.sum(0)).ravel()
    return (sp.diags(p**-0.5) @ a @ sp.diags(q**-0.5)).tocsr()


def copies(sigma):
    return sum(abs(x - 1) < 1e-9 for x in sigma)


def ours(what, path, count):
    got = json.loads(subprocess.run([program, what, path, "1", str(count)], check=True, capture_output=True, text=True, env=env).stdout)
    assert copies(got["sigma"]) == count and got["certified"], (what, count, copies(got["sigma"]))
    return got["seconds"][0], got["processor"][0]


rows = []
for count in map(int, sys.argv[4:]):
    path = os.path.join(work, f"parts_{count}.npz")
    a = parts(count)
    sp.save_npz(path, a, compressed=False)
    mine, peer, found = {"svd": [], "copies": []}, [], []
    for _ in range(3 if count <= 64 else 1):
        for what, runs in mine.items():
            runs.append(ours(what, path, count))
        try:
            done = subprocess.run([sys.executable, os.path.join(here, "svd_peer.py"), "svds", path, str(count), "1e-5"], check=True, capture_output=True,
                                  text=True, env=env, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            print(f"copies: scipy svds, {count} of them: ended after {LIMIT} s", file=sys.stderr)
            continue
        got = json.loads(done.stdout)
        peer.append((got["seconds"], got["processor"]))
        found.append(copies(got["sigma"]))
        residual = got["residual"]
    for what, runs in mine.items():
        how = "components first" if what == "svd" else "without reduction"
        their = f"svds finds {min(found)} of {count}, residual {residual:.1e}" if found else f"svds stopped after {LIMIT} s, a lower bound"
        rows.append({"workload": f"{count} copies of sigma = 1, {a.shape[0]} x {a.shape[1]}, {a.nnz} nonzeros, {how}", "ours_s": [s for s, _ in runs],
                     "peer": "scipy svds (ARPACK)", "peer_s": [s for s, _ in peer] or [LIMIT],
                     "note": f"ours finds {count} of {count}, certified; {their}; processor seconds ours {min(p for _, p in runs):.2f}"
                             + (f", theirs {min(p for _, p in peer):.2f}" if peer else "")})
with open(out, "w") as f:
    json.dump(rows, f)
