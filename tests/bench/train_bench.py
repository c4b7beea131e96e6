"""A GPT training step on the CPU, ours against PyTorch: the same weights and tokens, the same losses, alternating measurements.

usage: train_bench.py TRAIN_BENCH OUT_JSON [--small]     (called by bench.py; a development aid, skipped where no torch is found)

Every Python named in BENCH_TORCH (default: /usr/bin/python3 and python3) that has torch is a peer. Each is first tried with several
settings of threads, waiting and BLAS kernel, a few steps each; its best one then alternates with ours.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

import numpy as np

program, out = sys.argv[1], sys.argv[2]
small = "--small" in sys.argv
layers, width, heads, vocabulary, batch, length = (2, 64, 4, 512, 4, 32) if small else (6, 256, 4, 8192, 16, 128)
turns, steps, threads = (2, 2, 2) if small else (7, 3, 2)
here = os.path.dirname(os.path.abspath(__file__))


def write_model(path):
    rng = np.random.default_rng(20261121)

    def normal(*shape):
        return (0.02 * rng.standard_normal(shape)).astype(np.float32).ravel()

    def norm():
        return [1 + normal(width), normal(width)]

    def linear(rows, cols):
        return [normal(rows, cols), normal(rows)]

    parts = [normal(vocabulary, width), normal(length, width)]
    for _ in range(layers):
        parts += norm() + linear(3 * width, width) + linear(width, width)
        parts += norm() + linear(4 * width, width) + linear(width, 4 * width)
    values = np.concatenate(parts + norm())
    with open(path, "wb") as f:
        np.array([layers, width, heads, vocabulary, batch, length, values.size], np.int64).tofile(f)
        values.tofile(f)
        rng.integers(0, vocabulary, 2 * batch * length).astype(np.int32).tofile(f)


class Runner:
    """A process that does steps when asked and is stopped otherwise: threads that wait actively would take the other's cores."""

    def __init__(self, command, environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS", "OMP_"))}  # as a user finds it
        self.process = subprocess.Popen(command, env={**clean, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def steps(self, count):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"steps {count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended")
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def has_torch(python):
    try:
        return subprocess.run([python, "-c", "import torch, numpy"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def trial(python, path, environment):
    """Seconds of a step after one to warm up; infinite where the setting does not run (a kernel that the processor lacks)."""
    runner = Runner([python, os.path.join(here, "train_torch.py"), path, environment["OMP_NUM_THREADS"]], environment)
    try:
        runner.steps(1)
        return min(runner.steps(2)["seconds"])
    except RuntimeError:
        return float("inf")
    finally:
        runner.close()


def best_setting(python, path):
    """The fastest BLAS kernel first, then with it spinning threads and one thread."""
    base = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    tried = [({**base, **kernel}) for kernel in ({}, {"OPENBLAS_CORETYPE": "SkylakeX"}, {"OPENBLAS_CORETYPE": "Haswell"})]
    seconds = [trial(python, path, setting) for setting in tried]
    best = tried[seconds.index(min(seconds))]
    tried += [{**best, "OMP_WAIT_POLICY": "ACTIVE"}, {**best, "OMP_NUM_THREADS": "1"}]
    seconds += [trial(python, path, setting) for setting in tried[3:]]
    return tried[seconds.index(min(seconds))]


rows = []
with tempfile.TemporaryDirectory() as work:
    path = os.path.join(work, "gpt.bin")
    write_model(path)
    tokens = batch * length
    for python in os.environ.get("BENCH_TORCH", "/usr/bin/python3 python3").split():
        if not has_torch(python):
            print(f"train_bench: no torch for {python}; not measured", file=sys.stderr)
            continue
        environment = best_setting(python, path)
        ours = Runner([program, path, str(threads)], {})
        theirs = Runner([python, os.path.join(here, "train_torch.py"), path, environment["OMP_NUM_THREADS"]], environment)
        a, b = ours.steps(1), theirs.steps(1)
        assert abs(a["loss"] - b["loss"]) < 1e-4, (a, b)
        mine, peer = [], []
        for _ in range(turns):
            a, b = ours.steps(steps), theirs.steps(steps)
            mine += a["seconds"]
            peer += b["seconds"]
        assert abs(a["loss"] - b["loss"]) < 1e-3 * a["loss"], (a, b)  # after as many updates
        ours.close()
        theirs.close()
        setting = " ".join(f"{k}={v}" for k, v in environment.items())
        fast, slow = statistics.median(mine), statistics.median(peer)
        # 2 multiply-adds forward and 4 back of every weight but the table of tokens, and of the products of attention (half of each is masked).
        work_of_step = 6 * tokens * (12 * layers * width * width + vocabulary * width + layers * length * width)
        wanted = 2 * work_of_step / slow / 1e9
        verdict = "reached" if slow / fast >= 2 else f"missed: it needs {wanted:.0f} GFLOP/s of whole steps, more than sgemm alone reaches here (rows of gram)"
        rows.append({
            "workload": f"GPT training step, L{layers} d{width} h{heads} V{vocabulary} S{length} B{batch}, fp32, {threads} threads",
            "ours_s": mine, "peer": b["setting"], "peer_s": peer,
            "note": f"{tokens / fast:.0f} tokens/s ours ({a['setting']}), {tokens / slow:.0f} theirs at its best setting ({setting}); "
                    f"loss after {1 + turns * steps} steps {a['loss']:.5f} and {b['loss']:.5f}; {work_of_step / fast / 1e9:.0f} GFLOP/s ours, "
                    f"{work_of_step / slow / 1e9:.0f} theirs; aim 2 {verdict}",
        })
with open(out, "w") as f:
    json.dump(rows, f)
