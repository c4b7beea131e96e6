"""The MAE-LM study against numpy and scipy: ranks of every set of rows, the gap's jackknife, share outside and principal
angles from the singular vectors of the states themselves, and Theorem 2.2's bounds on random layers and on a model's heads.

States come from `cospec features` (checked against transformers in features_parity.py), weights from model.safetensors.
"""
import json
import os
import struct
import tempfile

import numpy as np
import scipy.linalg
import scipy.special

from harness import Checks, cospec, differ
from rank_oracle import ranks

RATIO, SEED, BLOCKS, TAU = 0.25, 3, 4, 0.9
WORDS = "the cat sat on a mat and dog ran by tree in wood leaf falls down red blue green one two three four five".split()


def corpus(path, rng, documents):
    with open(path, "w", encoding="utf-8") as file:
        for d in range(documents):
            file.write(f"{'ab'[d % 2]}\t{' '.join(rng.choice(WORDS, rng.integers(5, 15)))}\n")


def train(folder, objective, *more):
    out = os.path.join(folder, objective)
    cospec("train", "--corpus", os.path.join(folder, "c.tsv"), "--objective", objective, "--width", 16, "--layers", 2, "--heads", 2,
           "--batch", 16, "--max-length", 16, "--steps", 40, "--seed", 2, *more, o=out)
    return out


def states(folder, model, name, **options):
    """Layers 0..2 as rows, and what the rows are of."""
    out = os.path.join(folder, name)
    cospec("features", model, os.path.join(folder, "c.tsv"), pooling="none", long="split", o=out, **options)
    return [np.load(os.path.join(out, f"layer-{l}.npy")).astype(float) for l in range(3)], np.load(os.path.join(out, "rows.npy"))


def jackknife(theta):
    theta = np.asarray(theta)
    b = len(theta)
    return np.sqrt((b - 1) / b * ((theta - theta.mean()) ** 2).sum())


def left_out(x, block, name):
    return np.array([ranks(x[block != b], TAU, False, False)[name] for b in range(BLOCKS)])


def values(entries):
    return {e["name"]: e for e in entries}


def check_set(layer, name, x, block):
    got = layer["states"][name]
    if got["n"] != len(x):
        return f"{name}: {got['n']} rows, {len(x)} expected"
    want = ranks(x, TAU, False, False)
    for metric, entry in values(got["metrics"]).items():
        if metric == "decay_exponent":
            continue
        why = differ([want[metric]], [entry["value"]], 1e-7 * (1 + want[metric]), f"{name} {metric}")
        if not why and metric not in ("rank_tau", "numerical_rank"):
            se = jackknife(left_out(x, block, metric))
            why = differ([se], [entry["se"]], 1e-5 * (1 + se), f"{name} se of {metric}")
        if why:
            return why
    return None


def check_gap(layer, a, block_a, b, block_b):
    for metric, entry in values(layer["gap"]).items():
        if metric in ("decay_exponent", "numerical_rank", "rank_tau"):
            continue
        gap = ranks(a, TAU, False, False)[metric] - ranks(b, TAU, False, False)[metric]
        se = jackknife(left_out(a, block_a, metric) - left_out(b, block_b, metric))
        why = differ([gap, se], [entry["value"], entry["se"]], 1e-5 * (1 + se), f"gap of {metric}")
        if why:
            return why
    return None


def top(x, k):
    return np.linalg.svd(x, full_matrices=False)[2][:k].T


def contain(real, mask, k_real, k_mask):
    v, w = top(real, k_real), top(mask, k_mask)
    angle = np.sort(np.degrees(scipy.linalg.subspace_angles(v, w)))
    outside = [((h - h @ v @ v.T) ** 2).sum() / (h**2).sum() for h in (mask, real)]
    return [*outside, angle[-1], angle[(len(angle) - 1) // 2], (np.cos(np.radians(angle)) ** 2).mean()]


def check_containment(layer, real, block_real, mask, block_mask):
    got = values(layer["containment"])
    names = ["outside_share", "outside_share_real", "largest_angle", "median_angle", "mean_squared_cosine"]
    k_real, k_mask = (int(ranks(x, TAU, False, False)["rank_tau"]) for x in (real, mask))
    why = differ([k_real, k_mask], [got["dimensions_real"]["value"], got["dimensions_mask"]["value"]], 0, "dimensions")
    if why:
        return why
    want = contain(real, mask, k_real, k_mask)
    left = np.array([contain(real[block_real != b], mask[block_mask != b], k_real, k_mask) for b in range(BLOCKS)])
    for i, name in enumerate(names):
        se = jackknife(left[:, i])
        why = differ([want[i], se], [got[name]["value"], got[name]["se"]], 1e-5 * (1 + abs(want[i]) + se), name)
        if why:
            return why
    return None


def study_of(folder, model):
    result = cospec("mask-rank", f"m={model}", os.path.join(folder, "c.tsv"), mask_ratio=RATIO, mask_seed=SEED, blocks=BLOCKS, tau=TAU)
    return result["models"][0], result["statements"]


def blocks_of(rows, documents):
    return rows[:, 0] * BLOCKS // documents


def check_masked(folder, model, documents):
    study, _ = study_of(folder, model)
    masked, rows = states(folder, model, "masked-states", mask_ratio=RATIO, mask_seed=SEED)
    plain, _ = states(folder, model, "plain-states")
    block, is_mask = blocks_of(rows, documents), rows[:, 4] % 2 == 1
    for l, layer in enumerate(study["layers"]):
        x, y = masked[l], plain[l]
        why = (check_set(layer, "with-mask", x, block) or check_set(layer, "without-mask", y, block)
               or check_set(layer, "mask-only", x[is_mask], block[is_mask])
               or check_set(layer, "real-only", x[~is_mask], block[~is_mask]) or check_gap(layer, x, block, y, block)
               or check_containment(layer, x[~is_mask], block[~is_mask], x[is_mask], block[is_mask]))
        if why:
            return f"layer {l}: {why}"
        if layer["states"]["real-sample"]["n"] != is_mask.sum():
            return f"layer {l}: sample of {layer['states']['real-sample']['n']} rows for {is_mask.sum()}"
    return None


def check_encoder(folder, model, documents):
    study, statements = study_of(folder, model)
    dropped, few = states(folder, model, "dropped-states", mask_ratio=RATIO, mask_seed=SEED, drop_masked=True)
    plain, rows = states(folder, model, "whole-states")
    there = {tuple(r) for r in few[:, :3]}
    kept = np.array([tuple(r) in there for r in rows[:, :3]])
    block = blocks_of(rows, documents)
    for l, layer in enumerate(study["layers"]):
        x, y = dropped[l], plain[l]
        why = (check_set(layer, "dropped", x, block[kept]) or check_set(layer, "without-kept", y[kept], block[kept])
               or check_set(layer, "without-mask", y, block) or check_gap(layer, x, block[kept], y[kept], block[kept]))
        if why:
            return f"layer {l}: {why}"
    return None if {s["id"] for s in statements} == {"2.1-premise"} else "statements of [MASK] rows for an encoder without them"


def norm(a, p):
    return np.abs(a).sum(0).max() if p == 1 else np.abs(a).sum(1).max()


def norm_1_inf(a):
    return np.sqrt(norm(a, 1) * norm(a, np.inf))


def bounds(h, u, qk, vo, key):
    """lhs, tight; printed lhs, rhs: theory, word by word."""
    x = np.vstack([h, u @ h])
    mean = h.mean(0)
    y = np.vstack([h - mean, u @ (h - mean)])
    attended = scipy.special.softmax(h @ qk @ x.T + x @ key, axis=1) @ x @ vo
    p = scipy.special.softmax(y @ (qk.T @ mean + key))
    logits = (h - mean) @ qk @ y.T
    delta = (logits.max(1) - logits.min(1)).max()
    u_inf = norm(u, np.inf)
    lhs = np.linalg.norm(attended - (p @ y + mean) @ vo, axis=1).max()
    tight = 2 * np.tanh(delta / 4) * u_inf * np.linalg.norm(h - mean, axis=1).max() * np.linalg.norm(vo, 2)
    eps = norm(qk, 1) * norm_1_inf(vo) * u_inf * (1 + u_inf)
    return lhs, tight, norm_1_inf(attended - attended.mean(0)), 4 * eps * norm_1_inf(h - mean) ** 3


def tensors(model):
    with open(os.path.join(model, "model.safetensors"), "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        head = json.loads(file.read(size))
        data = file.read()
    return {k: np.frombuffer(data[slice(*v["data_offsets"])], np.float32).reshape(v["shape"]).astype(float)
            for k, v in head.items() if k != "__metadata__"}


def check_heads(folder, model, _documents):
    """Pieces: the first four documents; heads of 8 of 16 columns."""
    _, statements = study_of(folder, model)
    masked, rows = states(folder, model, "head-states", mask_ratio=RATIO, mask_seed=SEED)
    weight = tensors(model)
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        eps = json.load(file)["layer_norm_eps"]
    for l in range(2):
        part = {k.split(f"encoder.layer.{l}.")[1]: v for k, v in weight.items() if f"encoder.layer.{l}." in k}
        gain, bias = part["attention.LayerNorm.weight"], part["attention.LayerNorm.bias"]
        z = masked[l] - masked[l].mean(1, keepdims=True)
        z = z / np.sqrt((z**2).mean(1, keepdims=True) + eps) * gain + bias
        seen = {}
        for head in range(2):
            cut = slice(8 * head, 8 * head + 8)
            q, k, v = (part[f"attention.self.{n}.weight"][cut] for n in ("query", "key", "value"))
            qk, vo = q.T @ k / np.sqrt(8), v.T @ part["attention.output.dense.weight"][:, cut].T
            key = k.T @ part["attention.self.query.bias"][cut] / np.sqrt(8)
            for piece in range(4):
                of = rows[:, 0] == piece
                is_mask = rows[of, 4] % 2 == 1
                h, m = z[of][~is_mask], z[of][is_mask]
                u = 1 / len(h) + (m - h.mean(0)) @ np.linalg.pinv(h - h.mean(0), rcond=1e-7)
                seen[head, piece] = (*bounds(h, u, qk, vo, key), np.linalg.norm(m - u @ h) / np.linalg.norm(m))
        for form, i in (("corrected", 0), ("printed", 2)):
            got = next(s for s in statements if s["id"] == "2.2" and s["form"] == form and s["input"].endswith(f"heads of layer {l + 1}"))
            at = max(seen, key=lambda s: seen[s][i] / seen[s][i + 1])
            want = seen[at]
            why = differ(at, [got["details"]["head"], got["details"]["piece"]], 0, "head and piece") or differ(
                want[i:i + 2], [got["lhs"], got["rhs"]], 1e-5 * max(want[i:i + 2]), f"{form} sides") or differ(
                [want[i]], [got["lhs"]], 1e-4 * want[i], f"{form} lhs") or differ(
                [want[4]], [got["assumptions"][1]["value"]], 1e-4, "distance of H_M from U H_R")
            if why:
                return f"layer {l + 1}: {why}"
    return None


def check_premise(folder, model, _documents):
    weight = tensors(model)
    e = next(v for k, v in weight.items() if k.endswith("embeddings.word_embeddings.weight"))
    p = next(v for k, v in weight.items() if k.endswith("embeddings.position_embeddings.weight"))[-16:]
    _, statements = study_of(folder, model)
    got = next(s for s in statements if s["id"] == "2.1-premise")
    rank = [np.linalg.matrix_rank(a, tol=max(a.shape) * 2.0**-23 * np.linalg.norm(a, 2)) for a in (p, e)]
    return differ([rank[0], 16 - rank[1]], [got["lhs"], got["rhs"]], 0, "premise")


def check_random_layers(seed):
    """Neither bound is broken by layers drawn here, and the one that numpy finds broken without U 1 = 1 is the program's."""
    rng = np.random.default_rng(seed)
    for _ in range(3000):
        n, m, d = rng.integers(2, 9), rng.integers(1, 6), rng.integers(1, 7)
        h = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 1) + rng.standard_normal(d)
        u = rng.standard_normal((m, n)) * 10 ** rng.uniform(-1, 1)
        u += (1 - u.sum(1, keepdims=True)) / n
        qk, vo = (rng.standard_normal((d, d)) * 10 ** rng.uniform(-2, 1) for _ in range(2))
        lhs, tight, printed, bound = bounds(h, u, qk, vo, rng.standard_normal(d))
        if lhs > tight * (1 + 1e-9) or printed > bound * (1 + 1e-9):
            return f"{lhs} > {tight} or {printed} > {bound}"
    got = next(s for s in cospec("verify", "2.2")["statements"] if s["id"] == "2.2-u1")
    want = bounds(np.array([[1.1], [0.9]]), np.array([[-0.5, -0.5]]), np.eye(1), np.eye(1), np.zeros(1))
    return differ(want[2:], [got["lhs"], got["rhs"]], 1e-12, "counterexample")


def main():
    checks = Checks("mask_rank")
    checks.run("random-layers", check_random_layers, 1)
    with tempfile.TemporaryDirectory() as folder:
        documents = 60
        corpus(os.path.join(folder, "c.tsv"), np.random.default_rng(4), documents)
        masked = train(folder, "masked", "--arch", "roberta-prelayernorm")
        encoder = train(folder, "mae-lm", "--arch", "roberta-prelayernorm")
        checks.run("masked-model", check_masked, folder, masked, documents)
        checks.run("heads", check_heads, folder, masked, documents)
        checks.run("premise", check_premise, folder, masked, documents)
        checks.run("encoder", check_encoder, folder, encoder, documents)
    checks.exit()


main()
