"""The decompositions that test_svd times, by PyTorch, CuPy and CuPy's svds, on the same matrices.

usage: bench_svd.py dense ROWS COLS REPEATS FILE
       bench_svd.py sparse ROWS COLS PER_ROW K REPEATS FILE      FILE: singular values that test_svd wrote, a line each

One line of JSON a program and driver: median of seconds (after one run that does not count), residual and largest difference
from FILE, both over sigma_1. What fails says so and the others go on.
"""
import json
import statistics
import sys
import time

import numpy as np


def mix(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def dense_matrix(rows, cols):
    return (mix(np.arange(rows * cols, dtype=np.uint64)) >> np.uint64(11)).astype(np.float64).reshape(rows, cols) * 2.0**-53 - 0.5


def sparse_matrix(scipy_sparse, rows, cols, each):
    e = np.arange(rows * each, dtype=np.int64)
    h = mix(e.astype(np.uint64))
    n, topic = np.uint64(cols), cols // 100
    row = e // each
    u = h % n
    v = (h >> np.uint64(32)) % n * u // n
    odd = e % 2 == 1
    col = np.where(odd, row % 100 * topic + (h % np.uint64(topic)).astype(np.int64), v.astype(np.int64))
    val = np.where(odd, 1.0 + row % 100 % 7, 1.0)
    return scipy_sparse.coo_matrix((val, (row, col)), shape=(rows, cols)).tocsr()


def report(name, run, wait, repeats, matrix, reference):
    """run() -> u (rows x k), sigma descending, v (cols x k), as arrays of the library that has `@`."""
    try:
        run()
        wait()
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            u, s, v = run()
            wait()
            seconds.append(time.perf_counter() - start)
        left = matrix @ v - u * s
        right = matrix.T @ u - v * s
        worst = max(float((left * left).sum(0).max()) ** 0.5, float((right * right).sum(0).max()) ** 0.5)
        values = np.array([float(x) for x in s])
        k = min(len(values), len(reference))
        print(json.dumps({"program": name, "seconds": round(statistics.median(seconds), 4), "residual": worst / values[0],
                          "difference_from_cospec": float(np.abs(values[:k] - reference[:k]).max() / reference[0])}), flush=True)
    except Exception as error:  # a peer that fails is a finding, not an end
        print(json.dumps({"program": name, "failed": f"{type(error).__name__}: {error}"[:300]}), flush=True)


def dense(rows, cols, repeats, reference):
    a = dense_matrix(rows, cols)
    try:
        import torch

        at = torch.from_numpy(a).cuda()
        for driver in ("gesvd", "gesvdj", "gesvda"):
            def run(driver=driver):
                u, s, vh = torch.linalg.svd(at, full_matrices=False, driver=driver)
                return u, s, vh.T

            report(f"PyTorch {torch.__version__}, linalg.svd, {driver}", run, torch.cuda.synchronize, repeats, at, reference)
        del at
        torch.cuda.empty_cache()
    except Exception as error:
        print(f"SKIP PyTorch: {error}", flush=True)
    try:
        import cupy

        ac = cupy.asarray(a)

        def run():
            u, s, vh = cupy.linalg.svd(ac, full_matrices=False)
            return u, s, vh.T

        report(f"CuPy {cupy.__version__}, linalg.svd", run, cupy.cuda.get_current_stream().synchronize, repeats, ac, reference)
    except Exception as error:
        print(f"SKIP CuPy: {error}", flush=True)


def sparse(rows, cols, each, k, repeats, reference):
    try:
        import scipy.sparse

        a = sparse_matrix(scipy.sparse, rows, cols, each)
    except ImportError as error:
        sys.exit(print(f"SKIP SciPy: {error}"))
    try:
        import cupy
        import cupyx.scipy.sparse as sparse_gpu
        from cupyx.scipy.sparse.linalg import svds

        ac = sparse_gpu.csr_matrix(a)
        for tol in (0, 1e-6):
            def run(tol=tol):
                u, s, vh = svds(ac, k=k, tol=tol)
                order = cupy.argsort(-s)
                return u[:, order], s[order], vh[order].T

            report(f"CuPy {cupy.__version__}, svds, tol {tol}", run, cupy.cuda.get_current_stream().synchronize, repeats, ac, reference)
    except Exception as error:
        print(f"SKIP CuPy: {error}", flush=True)
    try:
        import torch

        at = torch.sparse_csr_tensor(torch.from_numpy(a.indptr.astype(np.int64)), torch.from_numpy(a.indices.astype(np.int64)),
                                     torch.from_numpy(a.data), size=a.shape).cuda()
        for niter in (2, 16):
            report(f"PyTorch {torch.__version__}, svd_lowrank, {niter} iterations", lambda niter=niter: torch.svd_lowrank(at, q=k, niter=niter),
                   torch.cuda.synchronize, repeats, at, reference)
    except Exception as error:
        print(f"SKIP PyTorch: {error}", flush=True)


if len(sys.argv) == 6 and sys.argv[1] == "dense":
    dense(*map(int, sys.argv[2:5]), np.loadtxt(sys.argv[5], ndmin=1))
elif len(sys.argv) == 8 and sys.argv[1] == "sparse":
    sparse(*map(int, sys.argv[2:7]), np.loadtxt(sys.argv[7], ndmin=1))
else:
    sys.exit(__doc__)
