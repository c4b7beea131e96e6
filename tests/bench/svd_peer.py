"""A peer's side of the benchmark of the truncated SVD: prints one JSON object (SLEPc under mpirun: one a rank). Run apart, for its peak memory.

usage: svd_peer.py svds|trlanczos|cross FILE.npz K TOLERANCE [PREFIX]

PREFIX: as a user would, the triplets to PREFIXu.npy, PREFIXs.npy and PREFIXv.npy, and nothing is printed. Else
version: of the library; seconds: wall; processor: user + system, all threads; peak, before: resident megabytes at the end and before the solver; sigma, residual: the largest of
||A v - sigma u||, ||A' u - sigma v||, taken afterwards. A peer that is not installed prints {"missing": name}.
"""
import glob
import json
import resource
import sys
import time

import numpy as np
import scipy.sparse as sp

kind, path, k = sys.argv[1], sys.argv[2], int(sys.argv[3])
rank, ranks, version = 0, 1, ""


def usage():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime, u.ru_maxrss / 1024


def missing(name):
    print(json.dumps({"missing": name}))
    sys.exit(0)


def svds(a):
    global version
    import scipy
    from scipy.sparse.linalg import svds as solve
    version = f"scipy {scipy.__version__}"
    return lambda: solve(a, k=k, tol=float(sys.argv[4]), return_singular_vectors=True)


def slepc(a):
    global rank, ranks, version
    for package in ("petsc", "slepc"):  # where Debian keeps them
        sys.path.extend(glob.glob(f"/usr/lib/{package}dir/*/*-real/lib/python3/dist-packages"))
    try:
        import slepc4py
        slepc4py.init([])
        from petsc4py import PETSc
        from slepc4py import SLEPc
    except ImportError:
        missing("slepc4py")
    version = "SLEPc " + ".".join(map(str, SLEPc.Sys.getVersion()))
    comm = PETSc.COMM_WORLD
    rank, ranks = comm.getRank(), comm.getSize()
    (m, n), part = a.shape, lambda size, r: size * r // ranks
    first, last = part(m, rank), part(m, rank + 1)
    mine = a[first:last]
    local = (last - first, m), (part(n, rank + 1) - part(n, rank), n)
    matrix = PETSc.Mat().createAIJ(size=local, csr=(mine.indptr.astype(PETSc.IntType), mine.indices.astype(PETSc.IntType), mine.data))
    matrix.assemble()

    def solve():
        svd = SLEPc.SVD().create()
        svd.setOperator(matrix)
        svd.setType(kind)
        svd.setDimensions(k)
        svd.setTolerances(tol=float(sys.argv[4]))
        svd.solve()
        v, u = matrix.createVecs()
        found = min(k, svd.getConverged())
        s, us, vs = [], [], []
        for j in range(found):
            s.append(svd.getSingularTriplet(j, u, v))
            us.append(u.getArray().copy())
            vs.append(v.getArray().copy())
        # Errors by its own products: the vectors are spread over the ranks.
        solve.residual = max(svd.computeError(j, SLEPc.SVD.ErrorType.ABSOLUTE) for j in range(found)) if found else float("nan")
        return np.array(us).T, np.array(s), np.array(vs)

    return solve


a = sp.load_npz(path).tocsr()
run = {"svds": svds, "trlanczos": slepc, "cross": slepc}[kind](a)
cpu, before = usage()
start = time.perf_counter()
u, s, vt = run()
seconds, (spent, peak) = time.perf_counter() - start, usage()
if len(sys.argv) > 5:
    for name, x in (("u", u), ("s", s), ("v", vt)):
        np.save(sys.argv[5] + name, x)
    sys.exit(0)
if ranks == 1:
    residual = max(np.linalg.norm(a @ vt.T - u * s, axis=0).max(), np.linalg.norm(a.T @ u - vt.T * s, axis=0).max())
else:
    residual = run.residual
print(json.dumps({"version": version, "seconds": seconds, "processor": spent - cpu, "peak": peak, "before": before, "residual": float(residual),
                  "sigma": sorted((float(x) for x in s), reverse=True)}), flush=True)
