"""The truncated SVD against scipy svds, scikit-learn's randomized_svd and SLEPc, in turns: rows for bench.py.

usage: svd_bench.py BENCH_PROGRAM OUT.json MATRIX.npz K [TURNS]

The peers are asked for residuals of 1e-10, as ours is; randomized_svd for sigma to 1e-6 of the largest, by doubling its iterations from a setting that is
too small (that search is not timed, its last step is). Ours counts its certificates and vectors, theirs their vectors. Two threads or two ranks each.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

program, out, path, k = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
turns = int(sys.argv[5]) if len(sys.argv) > 5 else 3
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
    parts = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    if "missing" in parts[0]:
        return None
    return dict(parts[0], seconds=max(p["seconds"] for p in parts), processor=sum(p["processor"] for p in parts), peak=sum(p["peak"] for p in parts))


def ours():
    got = json.loads(subprocess.run([program, "svd", path, "1", str(k)], check=True, capture_output=True, text=True, env=env).stdout)
    return dict(got, seconds=got["seconds"][0], processor=got["processor"][0])


def error(got, best):
    count = min(len(got["sigma"]), len(best["sigma"]))
    return max([abs(x - y) for x, y in zip(got["sigma"], best["sigma"])], default=1) / best["sigma"][0] if count == k else float("inf")


def randomized_setting(best):
    """(n_iter, oversamples) that reaches 1e-6, or the last one tried."""
    n_iter = 8
    while True:
        got = peer("randomized", n_iter, k)
        if got is None or error(got, best) <= 1e-6 or n_iter >= 128:
            return got, (n_iter, k)
        n_iter *= 2


mine = [ours()]
candidates = [("scipy svds (ARPACK)", ("svds", 1e-10), 1), ("SLEPc trlanczos", ("trlanczos", 1e-10), 1), ("SLEPc cross", ("cross", 1e-10), 1)]
if shutil.which("mpirun"):
    candidates += [(f"{name}, 2 ranks", args, 2) for name, args, _ in candidates[1:]]
searched, setting = randomized_setting(mine[0])
if searched:
    candidates.append((f"sklearn randomized_svd, n_iter {setting[0]}, {setting[1]} oversamples", ("randomized", *setting), 1))
runs = {name: [] for name, _, _ in candidates}
for turn in range(turns):
    if turn > 0:
        mine.append(ours())
    for name, args, ranks in candidates:
        if runs[name] is None or (turn == 0 and args[0] == "randomized"):
            runs[name] = runs[name] if runs[name] is None else [searched]
            continue
        if turn > 0 and args[0] == "randomized" and searched["seconds"] > 60:
            continue  # the others decide
        got = peer(*args, ranks=ranks)
        runs[name] = None if got is None else [*runs[name], got]

middle = {key: statistics.median(r[key] for r in mine) for key in ("seconds", "processor", "peak", "residual")}
rows = []
for name, _, _ in candidates:
    if runs[name] is None:
        print(f"SVD: {name} is not installed for {sys.executable}; not measured", file=sys.stderr)
        continue
    theirs = {key: statistics.median(r[key] for r in runs[name]) for key in ("seconds", "processor", "peak", "residual")}
    rows.append({"workload": f"SVD k={k}, {os.path.basename(path)}", "ours_s": [r["seconds"] for r in mine], "peer": name,
                 "peer_s": [r["seconds"] for r in runs[name]],
                 "note": f"processor seconds ours {middle['processor']:.2f}, theirs {theirs['processor']:.2f}; peak memory {middle['peak']:.0f} and "
                         f"{theirs['peak']:.0f} MB; residual {middle['residual']:.1e} and {theirs['residual']:.1e}; largest difference of sigma "
                         f"{error(runs[name][-1], mine[0]):.1e} sigma_1; ours includes certificates"})
if not searched:
    print("SVD: scikit-learn is not installed; randomized_svd not measured", file=sys.stderr)
with open(out, "w") as f:
    json.dump(rows, f)
