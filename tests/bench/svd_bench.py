"""The truncated SVD against scipy svds and SLEPc, interleaved: rows for bench.py.

usage: svd_bench.py BENCH_PROGRAM OUT.json MATRIX.npz K [TURNS]

The peers run with residuals of 1e-10, as ours is; scipy by the loosest power of ten of its `tol` that gives them (it asks ARPACK for tol^2 on A'A).
The search is not timed, except its last run. Ours counts its certificates and vectors, theirs their vectors. Two threads or two ranks each. A peer that
takes more than 10 seconds runs once.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

program, out, path, k = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
turns = int(sys.argv[5]) if len(sys.argv) > 5 else 3
SLOW = 10  # seconds
here = os.path.dirname(os.path.abspath(__file__))
env = dict(os.environ, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")


def peer(kind, *more, ranks=1):
    """One run; ranks together: the slowest's time, the sum of their processor seconds and memory. None: not installed."""
    mpi = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    alone = dict(env, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1") if ranks > 1 else env
    line = [*mpi, sys.executable, os.path.join(here, "svd_peer.py"), kind, path, str(k), *map(str, more)]
    done = subprocess.run(line, capture_output=True, text=True, env=alone)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(line)}: {done.stderr[-500:]}")
    parts, at = [], done.stdout.find("{")
    while at >= 0:  # ranks may share a line
        part, end = json.JSONDecoder().raw_decode(done.stdout, at)
        parts.append(part)
        at = done.stdout.find("{", end)
    if "missing" in parts[0]:
        return None
    return dict(parts[0], seconds=max(p["seconds"] for p in parts), processor=sum(p["processor"] for p in parts), peak=sum(p["peak"] for p in parts))


def ours():
    got = json.loads(subprocess.run([program, "svd", path, "1", str(k)], check=True, capture_output=True, text=True, env=env).stdout)
    return dict(got, seconds=got["seconds"][0], processor=got["processor"][0])


def error(got, best):
    count = min(len(got["sigma"]), len(best["sigma"]))
    return max([abs(x - y) for x, y in zip(got["sigma"], best["sigma"])], default=1) / best["sigma"][0] if count == k else float("inf")


def svds_setting():
    """(run, tol): the loosest tol whose residual is 1e-10."""
    for digits in range(5, 16):
        got = peer("svds", tol := 10.0**-digits)
        if got["residual"] <= 1e-10:
            break
    return got, tol


mine = [ours()]
reached, tol = svds_setting()
candidates = [(f"scipy svds (ARPACK), tol {tol:g}", ("svds", tol), 1), ("SLEPc trlanczos", ("trlanczos", 1e-10), 1), ("SLEPc cross", ("cross", 1e-10), 1)]
if shutil.which("mpirun"):
    candidates += [(f"{name}, 2 ranks", args, 2) for name, args, _ in candidates[1:]]
runs = {name: {"svds": [reached]}.get(args[0], []) for name, args, _ in candidates}
for turn in range(turns):
    if turn > 0:
        mine.append(ours())
    for name, args, ranks in candidates:
        past = runs[name]
        if past is None or len(past) > turn or (past and past[0]["seconds"] > SLOW):
            continue
        got = peer(*args, ranks=ranks)
        runs[name] = None if got is None else [*past, got]

middle = {key: statistics.median(r[key] for r in mine) for key in ("seconds", "processor", "peak", "residual")}
rows = []
for name, _, _ in candidates:
    if runs[name] is None:
        print(f"SVD: {name} is not installed for {sys.executable}; not measured", file=sys.stderr)
        continue
    theirs = {key: statistics.median(r[key] for r in runs[name]) for key in ("seconds", "processor", "peak", "residual")}
    rows.append({"workload": f"SVD k={k}, {os.path.basename(path)}", "ours_s": [r["seconds"] for r in mine],
                 "peer": f"{name}; {runs[name][0]['version']}",
                 "peer_s": [r["seconds"] for r in runs[name]],
                 "note": f"processor seconds ours {middle['processor']:.2f}, theirs {theirs['processor']:.2f}; peak memory {middle['peak']:.0f} and "
                         f"{theirs['peak']:.0f} MB; residual {middle['residual']:.1e} and {theirs['residual']:.1e}; largest difference of sigma "
                         f"{error(runs[name][-1], mine[0]):.1e} sigma_1; ours includes certificates"})
with open(out, "w") as f:
    json.dump(rows, f)
