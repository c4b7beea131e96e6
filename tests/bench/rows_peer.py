"""numpy's side of the benchmarks on rows: prints one JSON object. Run apart, so that OPENBLAS_CORETYPE can be set.

usage: rows_peer.py gram|pairs-whole|pairs-blocks FILE.npy REPEATS [K]
"""
import json
import sys
import time

import numpy as np


def gram(x, chunk):
    """Float products over `chunk` rows, summed in double."""
    total = np.zeros((x.shape[1], x.shape[1]))
    for i in range(0, len(x), chunk):
        part = x[i:i + chunk]
        total += part.T @ part
    return total


def pairs_whole(x, k):
    """All products, the lower triangle struck out, the k largest by partition, then sorted."""
    s = x @ x.T
    s[np.tri(len(x), dtype=bool)] = -np.inf
    flat = s.ravel()
    top = np.argpartition(flat, -k)[-k:]
    return np.sort(flat[top])[::-1]


def pairs_blocks(x, k, rows=500):
    """By blocks of rows, keeping what reaches the k-th value so far."""
    kept, least = np.empty(0, np.float32), -np.inf
    for i in range(0, len(x), rows):
        s = x[i:i + rows] @ x[i:].T
        s[np.tri(s.shape[0], s.shape[1], dtype=bool)] = -np.inf
        kept = np.concatenate([kept, s[s > least]])
        if len(kept) > 2 * k:
            kept = np.partition(kept, -k)[-k:]
            least = kept.min()
    return np.sort(kept)[::-1][:k]


def timed(fn, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = fn()
        seconds.append(time.perf_counter() - start)
    return seconds, value


what, path, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
x = np.load(path)
if what == "gram":
    sizes = [c for c in (4096, 16384, 65536) if c <= len(x)] or [len(x)]
    trial = x[:max(sizes)]
    best = min(sizes, key=lambda c: min(timed(lambda: gram(trial, c), 3)[0]))
    seconds, value = timed(lambda: gram(x, best), repeats)
    out = {"how": f"chunks of {best} rows", "trace": float(np.trace(value)), "corner": float(value[0, -1])}
else:
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    k = int(sys.argv[4])
    form, name = (pairs_whole, "all at once") if what == "pairs-whole" else (pairs_blocks, "by blocks")
    seconds, value = timed(lambda: form(x, k), repeats)
    out = {"how": name, "first": float(value[0]), "last": float(value[-1])}
print(json.dumps({"seconds": seconds, **out}))
