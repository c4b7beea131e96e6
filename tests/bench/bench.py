"""Ours against its peers on the same input in the same run: medians and ratios, to OUT_DIR/bench.md and bench.json, which contain this run only.

usage: bench.py BENCH_PROGRAM OUT_DIR [--small]      (a development aid; wants numpy and scipy, says so when they are absent)

A peer that takes more than SLOW seconds runs once; the table says how often each side ran.
"""
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy
import scipy.sparse as sp
import scipy.sparse.csgraph

from bench_page import write_page
from numpys import numpys

program, out_dir = sys.argv[1], sys.argv[2]
small = "--small" in sys.argv
SLOW = 10  # seconds
begun, load = time.time(), os.getloadavg()[0]
cospec = os.path.join(os.path.dirname(program), "..", "..", "cospec")
version = subprocess.run([cospec, "--version"], check=True, capture_output=True, text=True).stdout.strip()
rng = np.random.default_rng(20261121)


def ours(*args):
    return json.loads(subprocess.run([program, *map(str, args)], check=True, capture_output=True, text=True).stdout)


def timed(fn, repeats):
    seconds, value = [], None
    while len(seconds) < repeats and (not seconds or seconds[0] <= SLOW):
        start = time.perf_counter()
        value = fn()
        seconds.append(time.perf_counter() - start)
    return seconds, value


def topic_matrix(rows, cols, draws, topics):
    """Zipf rows and columns, each row half drawn from one of `topics` column sets: a slowly decaying spectrum."""
    row_p = (np.arange(rows) + 50.0) ** -0.8
    row = np.concatenate([rng.choice(rows, draws, p=row_p / row_p.sum()), np.repeat(np.arange(rows), 6)])
    col_cdf = np.cumsum((np.arange(cols) + 2.7) ** -0.9)
    common = np.searchsorted(col_cdf / col_cdf[-1], rng.random(len(row)))
    topic = rng.integers(0, topics, rows)
    order = np.array([rng.permutation(cols) for _ in range(topics)], dtype=np.int32)
    own = order[topic[row], (rng.random(len(row)) ** 2 * rng.integers(200, min(4000, cols), topics)[topic[row]]).astype(np.int64)]
    use = rng.random(len(row)) < rng.uniform(0.05, 0.7, topics)[topic[row]]
    a = sp.coo_matrix((np.ones(len(row)), (row, np.where(use, own, np.minimum(common, cols - 1)))), shape=(rows, cols)).tocsr()
    a.sum_duplicates()
    a = a[:, np.asarray(a.sum(0)).ravel() > 0]
    p, q = np.asarray(a.sum(1)).ravel(), np.asarray(a.sum(0)).ravel()
    return a, (sp.diags(p**-0.5) @ a @ sp.diags(q**-0.5)).tocsr()


def zipf_documents(documents, length, vocabulary):
    p = (np.arange(vocabulary) + 2.7) ** -1.05
    return rng.choice(vocabulary, size=(documents, length), p=p / p.sum()).astype(np.int32)


def scipy_count(ids, vocabulary, shares):
    """(weight, (context, target)) for every token `offset` before the target (behind it where negative); shares: {offset: weight of target 0, 1, ...}."""
    total, length = sp.csr_matrix((vocabulary, vocabulary)), ids.shape[1]
    for offset, share in shares.items():
        first, last = max(offset, 0), length + min(offset, 0)
        context, target = ids[:, first - offset:last - offset].ravel(), ids[:, first:last].ravel()
        weight = np.broadcast_to(share[first:last], (ids.shape[0], last - first)).ravel()
        total = total + sp.coo_matrix((weight, (context, target)), shape=(vocabulary, vocabulary)).tocsr()
    return total


def ar_shares(length, window):
    """The event of target i shares weight 1 among the min(window, i) tokens before it."""
    share = 1.0 / np.minimum(window, np.maximum(np.arange(length), 1))
    return {d: share for d in range(1, window + 1)}


def masked_shares(length, window, unmasked):
    """`unmasked` of `length` positions are seen, each set as likely, the others predicted once each; a target's weight 1 is shared among the seen ones of
    the n within the window, and lost where none is: each has (1 - P(none of n is seen)) / n."""
    i = np.arange(length)
    near = np.minimum(i, window) + np.minimum(length - 1 - i, window)
    seen = np.array([1 - math.comb(length - 1 - int(n), unmasked) / math.comb(length - 1, unmasked) for n in near])
    return {d: (length - unmasked) / length * seen / near for d in range(-window, window + 1) if d}


results, blas_kernel = [], ""


def lanczos_quadrature(a, samples, steps):
    """Sums sigma^4 of `samples` random sign vectors, times their number of columns: Lanczos on A'A, orthogonalised in full."""
    sums = []
    for _ in range(samples):
        q = np.zeros((steps + 1, a.shape[1]))
        q[0] = rng.choice([-1.0, 1.0], a.shape[1]) / math.sqrt(a.shape[1])
        diagonal, beside = np.zeros(steps), np.zeros(steps)
        for j in range(steps):
            w = a.T @ (a @ q[j])
            diagonal[j] = w @ q[j]
            for _ in range(2):
                w -= q[:j + 1].T @ (q[:j + 1] @ w)
            beside[j] = np.linalg.norm(w)
            q[j + 1] = w / beside[j]
        node, vector = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
        sums.append(a.shape[1] * (vector[0] ** 2 @ node**2))
    return np.array(sums)


def report(workload, our_seconds, peer, peer_seconds, note):
    a, b = statistics.median(our_seconds), statistics.median(peer_seconds) if peer_seconds else math.nan
    results.append({"workload": workload, "ours_median_s": a, "peer": peer, "peer_median_s": b if peer_seconds else None,
                    "ratio_peer_over_ours": b / a if peer_seconds else None,
                    "ours_s": our_seconds, "peer_s": peer_seconds, "note": note})
    print(f"[{time.time() - begun:.0f} s] {workload}: ours {a:.4g} s, {peer} {b:.4g} s, ratio {b / a:.2f}   {note}", flush=True)


with tempfile.TemporaryDirectory() as work:
    rows, cols, draws = (20_000, 4_000, 400_000) if small else (200_000, 30_000, 10_200_000)
    counts, normalised = topic_matrix(rows, cols, draws, 60 if small else 300)
    path = os.path.join(work, "matrix.npz")
    sp.save_npz(path, normalised, compressed=False)
    shape = f"{normalised.shape[0]} x {normalised.shape[1]}, {normalised.nnz} nonzeros"

    mine = ours("components", path, 5)
    n, m = normalised.shape

    def scipy_components():
        graph = sp.bmat([[None, normalised], [normalised.T, None]], format="csr")
        return scipy.sparse.csgraph.connected_components(graph, directed=False)[0]

    seconds, value = timed(scipy_components, 5)
    assert value == mine["components"], (value, mine["components"])
    report(f"components of the bipartite graph, {shape}", mine["seconds"], "scipy connected_components (graph built)", seconds, f"{value} components, both")

    rows_path = os.path.join(work, "commands.json")
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, os.path.join(here, "commands_bench.py"), cospec, rows_path, path,
                    *(["--small"] if small else [])], check=True)
    with open(rows_path) as f:
        for row in json.load(f):
            report(row["workload"], row["ours_s"], row["peer"], row["peer_s"], row["note"])

    subprocess.run([sys.executable, os.path.join(here, "features_bench.py"), cospec, rows_path,
                    *(["--small"] if small else [])], check=True)
    with open(rows_path) as f:
        for row in json.load(f):
            report(row["workload"], row["ours_s"], row["peer"], row["peer_s"], row["note"])

    repeats = 3
    k = 16 if small else 64
    rows_path = os.path.join(work, "svd.json")
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "svd_bench.py"), program, rows_path, path, str(k), str(repeats)],
                   check=True)
    with open(rows_path) as f:
        for row in json.load(f):
            report(f"SVD k={k}, {shape}", row["ours_s"], row["peer"], row["peer_s"], row["note"])

    rows_path = os.path.join(work, "copies.json")
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "copies_bench.py"), program, rows_path, work,
                    *(["64"] if small else ["64", "256", "1024"])], check=True)
    with open(rows_path) as f:
        for row in json.load(f):
            report(row["workload"], row["ours_s"], row["peer"], row["peer_s"], row["note"])

    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "forms_bench.py"), program, rows_path, work,
                    *(["2000", "500000", "50"] if small else ["10000", "10000000", "200"])], check=True)
    with open(rows_path) as f:
        for row in json.load(f):
            report(row["workload"], row["ours_s"], row["peer"], row["peer_s"], row["note"])

    # Processor time of both: the Gram matrix of scipy takes one core, ours as many as there are.
    mine = ours("moment4", path, repeats)
    processor = []

    def scipy_moment4():
        start = time.process_time()
        value = (normalised.T @ normalised).power(2).sum()
        processor.append(time.process_time() - start)
        return value

    _, value = timed(scipy_moment4, repeats)
    exact = value
    assert abs(value - mine["sum"]) < 1e-10 * value, (value, mine["sum"])
    report(f"sum sigma^4 exactly, {shape} (processor seconds)", mine["processor_seconds"], "scipy (A.T @ A).power(2).sum()", processor,
           f"{mine['multiply_adds']:.3g} multiply-adds, {mine['bytes'] / 1e6:.0f} MB in addition to the matrix, cost count included")

    samples = 8
    mine = ours("density", path, repeats, samples)
    seconds, value = timed(lambda: lanczos_quadrature(normalised, samples, 32), repeats)
    assert mine["low"] <= exact <= mine["high"] and abs(value.mean() - exact) < 6 * value.std(ddof=1) / math.sqrt(samples), (mine, value, exact)
    report(f"spectral density, {samples} samples of 32 Lanczos steps, {shape}", mine["seconds"], "numpy/scipy Lanczos quadrature (our own)", seconds,
           f"sum sigma^4 {exact:.6g}, ours in [{mine['low']:.6g}, {mine['high']:.6g}], theirs {value.mean():.6g} +- "
           f"{value.std(ddof=1) / math.sqrt(samples):.2g}; ours also bounds the quadrature's error and draws the curves")

    documents, length, vocabulary, window = (200, 500, 5000, 10) if small else (2000, 500, 50_000, 10)
    ids = zipf_documents(documents, length, vocabulary)
    path = os.path.join(work, "ids.npy")
    np.save(path, ids)
    for objective, shares in (("ar", ar_shares(length, window)), (f"masked:unmasked={length // 2}", masked_shares(length, window, length // 2))):
        mine = ours("count", path, repeats, window, objective)
        seconds, value = timed(lambda: scipy_count(ids, vocabulary, shares), repeats)
        assert value.nnz == mine["nnz"] and abs(value.sum() - mine["mass"]) < 1e-6 * value.sum(), (value.nnz, value.sum(), mine)
        report(f"windowed co-occurrence, {objective}, {ids.size} tokens, window {window}, {value.nnz} nonzeros", mine["seconds"], "numpy/scipy coo sums",
               seconds, f"{ids.size / statistics.median(mine['seconds']) / 1e6:.2f} Mtok/s ours")

    # OpenBLAS chooses its kernel when it is loaded, and an old one does not know a new processor: numpy runs as it is
    # installed and, where there is AVX-512, forced to use it; a newer one as it is and limited to AVX2, as ours then is too.
    with open("/proc/cpuinfo") as f:
        wide = " avx512f " in f.read()
    peers = list(numpys())
    kernels = [(*peers[0], None)] + [(*peers[0], "SkylakeX")] * wide + [(*peer, kernel) for peer in peers[1:] for kernel in (None, "Haswell")]

    def rows_bench(what, form, path, note, *more):
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rows_peer.py")
        for name, python, kernel in kernels:
            env = dict(os.environ, **({"OPENBLAS_CORETYPE": kernel} if kernel else {}))
            mine, peer = None, None
            for _ in range(3):  # interleaved, so that other work of the machine affects both
                for side, line in (("ours", [program, what, path, 1, *more]), ("peer", [python, here, form, path, 1, *more])):
                    got = json.loads(subprocess.run([*map(str, line)], check=True, capture_output=True, text=True, env=env).stdout)
                    if side == "ours":
                        mine = mine or dict(got, seconds=[], ssyrk=0, sgemm=0)
                        mine["seconds"] += got["seconds"]
                        mine["ssyrk"], mine["sgemm"] = max(mine["ssyrk"], got.get("ssyrk", 0)), max(mine["sgemm"], got.get("sgemm", 0))
                    else:
                        peer = peer or dict(got, seconds=[])
                        peer["seconds"] += got["seconds"]
            report(f"{what} of {note}", mine["seconds"], f"{name}, {peer['how']}, OpenBLAS {'as installed' if not kernel else kernel}",
                   peer["seconds"], check_rows(what, path, mine, peer))

    def check_rows(what, path, mine, peer):
        if what == "pairs":
            assert abs(mine["first"] - peer["first"]) < 1e-5 and abs(mine["last"] - peer["last"]) < 1e-5, (mine, peer)
            return "numpy without mean and quantiles"
        global blas_kernel
        blas_kernel = blas_kernel or mine["kernel"]  # as installed
        n, d = np.load(path, mmap_mode="r").shape
        assert abs(mine["trace"] - peer["trace"]) < 1e-5 * mine["trace"] and abs(mine["corner"] - peer["corner"]) < 1e-5 * mine["trace"]
        rate, best = n * d * d / statistics.median(mine["seconds"]), max(mine["ssyrk"], mine["sgemm"])
        return (f"{rate / 1e9:.0f} GFLOP/s (n d^2) ours, {100 * rate / mine['ssyrk']:.0f}% of ssyrk ({mine['ssyrk'] / 1e9:.0f}) and "
                f"{100 * rate / best:.0f}% of the better of ssyrk and sgemm ({best / 1e9:.0f}), kernel {mine['kernel']}")

    n, d = (20_000, 256) if small else (100_000, 768)
    path = os.path.join(work, "rows.npy")
    np.save(path, rng.standard_normal((n, d), dtype=np.float32))
    rows_bench("gram", "gram", path, f"{n} x {d} float32 rows into double")
    n, k = (1000, 10_000) if small else (8000, 100_000)
    np.save(path, rng.standard_normal((n, 768), dtype=np.float32) + 0.3 * rng.standard_normal(768, dtype=np.float32))
    for form in ("pairs-whole", "pairs-blocks"):
        rows_bench("pairs", form, path, f"{n} x 768 rows, the {k} largest cosines", k)

for program_name in ("count_bench", "train_bench", "vit_bench"):
    tool = cospec if program_name == "vit_bench" else os.path.join(os.path.dirname(program), program_name)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "rows.json")
        subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{program_name}.py"),
                        tool, path, *(["--small"] if small else [])], check=True)
        with open(path) as f:
            for row in json.load(f):
                report(row["workload"], row["ours_s"], row["peer"], row["peer_s"], row["note"])

with open("/proc/cpuinfo") as f:
    model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())
head = {"date": time.strftime("%Y-%m-%d", time.gmtime(begun)), "cospec": version, "machine": f"{model}, {os.cpu_count()} cores",
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}; OpenBLAS {blas_kernel}",
        "versions": f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}; others with their rows",
        "load": f"{load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end", "minutes": round((time.time() - begun) / 60, 1), "small": small}
os.makedirs(out_dir, exist_ok=True)
with open(os.path.join(out_dir, "bench.json"), "w") as f:
    json.dump({**head, "results": results}, f, indent=1)
write_page({**head, "results": results}, SLOW, os.path.join(out_dir, "bench.md"))
