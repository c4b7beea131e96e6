"""Theorem 4.3 by brute force: every double and triple sum, every mask, in numpy, on a model that cospec train wrote and the
program audits. Nothing factorises here and nothing is sampled: eta is the largest distance of all pairs of terms, delta the
maximum over all masks, f the sum of its N^p terms one by one."""
import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

from harness import COSPEC, Checks, Failure, cospec, differ

WORDS = "oak elm ash fir yew bay box fig".split()


def tensors(path):
    """A safetensors file of float32."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    return {name: np.frombuffer(data[e["data_offsets"][0]:e["data_offsets"][1]], "<f4").reshape(e["shape"]).astype(float)
            for name, e in header.items() if name != "__metadata__"}


def named(table, name):
    return table[name] if name in table else table["cospec." + name]


def terms(q, k, v, heads, rows, power):
    """Every g of the rows, one a line."""
    split = [x.reshape(len(x), heads, -1) for x in (q, k, v)]
    out = []
    for u, a in itertools.product(rows, rows):
        dot = (split[0][u] * split[1][a]).sum(1)
        for w in [a] if power == 2 else rows:
            out.append((dot[:, None] * split[2][w]).ravel())
    return np.array(out)


def norm(x):
    return float(np.sqrt((x * x).sum()))


def audit(model, sequences, heads, unmasked, power):
    """The numbers of the printed and of the sharpened bound."""
    token, position = named(model, "embed.token"), named(model, "embed.position")
    qkv, w = named(model, "layer.0.attention.qkv.weight"), named(model, "output.weight")
    d, n, size = token.shape[1], unmasked, np.linalg.norm(w, 2)
    targets = np.concatenate([s[1:n + 1] for s in sequences])
    p = np.bincount(targets, minlength=len(w)) / len(targets)
    support = p > 0
    gen, mean_gen, mean_rhs, delta, etas, shares, first, second = [], [], [], [], [], [], [], []
    for s in sequences:
        x = token[s] + position[:len(s)]
        q, k, v = (x @ qkv[i * d:(i + 1) * d].T for i in range(3))
        g = terms(q, k, v, heads, range(len(s)), power)
        eta = max(norm(a - b) for a, b in itertools.combinations(g, 2))
        etas.append(eta)
        for mask in itertools.combinations(range(len(s)), n):
            z = w @ terms(q, k, v, heads, mask, power).sum(0)
            hidden = [s[i] for i in range(len(s)) if i not in mask]
            delta.append(-z[hidden].min() + (z[support] ** 2).max())
        for target in range(1, n + 1):
            z = w @ terms(q, k, v, heads, range(target), power).sum(0)
            zm = z / target ** power
            gen.append(-z[s[target]] + (p * z * z).sum())
            mean_gen.append(-zm[s[target]] + (p * zm * zm).sum())
            wk = n ** power - target ** power
            first.append(wk ** 2 / target ** (2 * power) / (2 * n))
            second.append(wk / (2 * n))
            rhs = []
            for more in itertools.combinations(range(target + 1, len(s)), n - target):
                full = w @ terms(q, k, v, heads, list(range(target)) + list(more), power).mean(0)
                bound = size * eta * (1 - (target / n) ** power)
                rhs.append(-full[s[target]] + bound + (p * (np.abs(full) + bound) ** 2).sum())
                if target < n:
                    shares.append(norm(full - zm) / bound)
            mean_rhs.append(np.mean(rhs))
    count, shares = len(sequences), sorted(shares)
    first, second = sum(first) / count, sum(second) / count
    return {"gen": np.mean(gen), "eta": max(etas), "norm_W": size, "delta": max(delta), "first": first,
            "bound": first + second * size ** 2 * max(etas) + max(delta) + 1, "mean_gen": np.mean(mean_gen),
            "mean_rhs": np.mean(mean_rhs), "least": shares[0], "median": shares[len(shares) // 2], "largest": shares[-1]}


def program(folder, model, corpus, power, heads):
    out = cospec("verify", "4.3", model=model, corpus=corpus, unmasked=3, masks=1000)
    by = {}
    for s in out["statements"]:
        by.setdefault((s["id"], s["form"]), s)
    printed = by["4.3" if power == 3 else "4.3-two-index", "printed"]
    sharp = by[f"4.3-sharp-p{power}", "corrected"]["details"]
    mean = by[f"4.3-sharp-mean-p{power}", "corrected"]
    if sharp["eta_exact_share"] != 1:
        raise Failure("eta is not exact")
    bad = [s["id"] for s in out["statements"] if s["form"] == "corrected" and s["verdict"] in ("FAIL", "INCONCLUSIVE")]
    if bad:
        raise Failure(f"corrected statements that do not hold: {bad}")
    return {"gen": printed["lhs"], "eta": printed["details"]["eta"], "norm_W": printed["details"]["norm_W"],
            "delta": printed["details"]["delta_mask"], "first": printed["details"]["first_term"], "bound": printed["rhs"],
            "mean_gen": mean["lhs"], "mean_rhs": mean["rhs"], "least": sharp["share_of_bound_least"],
            "median": sharp["share_of_bound_median"], "largest": sharp["share_of_bound_largest"]}


def check(folder, heads, power):
    rng = np.random.default_rng(heads)
    corpus, model = os.path.join(folder, f"{heads}.txt"), os.path.join(folder, f"model{heads}")
    lines = [" ".join(rng.choice(WORDS, rng.integers(4, 7))) for _ in range(6)]
    if not os.path.exists(model):
        with open(corpus, "w", encoding="utf8") as file:
            file.write("\n".join(lines) + "\n")
        done = subprocess.run([COSPEC, "train", "--corpus", corpus, "--objective", "linear", "--unmasked", "3", "--width", "8",
                               "--heads", str(heads), "--steps", "8", "--batch", "4", "--max-length", "6", "-o", model],
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise Failure(done.stderr[-300:])
    with open(os.path.join(model, "tokenizer.json"), encoding="utf8") as file:
        vocab = json.load(file)["model"]["vocab"]
    sequences = [[vocab[x] for x in line.split()] for line in lines]
    theirs = audit(tensors(os.path.join(model, "model.safetensors")), [np.array(s) for s in sequences], heads, 3, power)
    ours = program(folder, model, corpus, power, heads)
    # Sums of a few hundred terms in double, squared.
    for key, value in theirs.items():
        why = differ([value], [ours[key]], 1e-11 * max(1, abs(value)), key)
        if why:
            return why
    return None


def main():
    checks = Checks("verify43")
    with tempfile.TemporaryDirectory() as folder:
        for heads in (1, 2, 4):
            for power in (2, 3):
                checks.run(f"p={power}, {heads} heads", check, folder, heads, power)
    checks.exit()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))
    main()
