"""The step of train_bench.c in PyTorch: started by train_bench.py, one process a setting.

usage: train_torch.py FILE THREADS      (handles "steps N" as train_bench.c does)
"""
import json
import math
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

path, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
layers, width, heads, vocabulary, batch, length, parameters = np.fromfile(path, np.int64, 7).tolist()
values = np.fromfile(path, np.float32, parameters, offset=56)
tokens = torch.from_numpy(np.fromfile(path, np.int32, 2 * batch * length, offset=56 + 4 * parameters).astype(np.int64))
ids, target = tokens[: batch * length].view(batch, length), tokens[batch * length :]
at = 0


def matrix(*shape):
    global at
    n = math.prod(shape)
    at += n
    return torch.nn.Parameter(torch.from_numpy(values[at - n : at].copy()).view(shape))


def linear(rows, cols):
    return matrix(rows, cols), matrix(rows)


d = width
words, positions = matrix(vocabulary, d), matrix(length, d)
blocks = [((matrix(d), matrix(d)), linear(3 * d, d), linear(d, d), (matrix(d), matrix(d)), linear(4 * d, d), linear(d, 4 * d)) for _ in range(layers)]
last = matrix(d), matrix(d)
assert at == parameters, (at, parameters)
every = [words, positions, *last, *(p for b in blocks for pair in b for p in pair)]
groups = [{"params": [p for p in every if p.dim() > 1], "weight_decay": 0.1}, {"params": [p for p in every if p.dim() < 2], "weight_decay": 0.0}]
mask = torch.full((length, length), float("-inf")).triu(1)

kinds = [{"fused": True}, {"foreach": True}, {}]
for kind in kinds:
    try:
        optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, **kind)
        break
    except (RuntimeError, TypeError, ValueError):
        continue


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return torch.softmax(q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1])) + mask, -1) @ v


def loss_of():
    x = F.embedding(ids, words) + positions
    for n1, qkv, out, n2, up, down in blocks:
        h = F.linear(F.layer_norm(x, (d,), *n1), *qkv).view(batch, length, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        x = x + F.linear(attention(h[0], h[1], h[2]).transpose(1, 2).reshape(batch, length, d), *out)
        h = F.linear(F.layer_norm(x, (d,), *n2), *up)
        h = F.gelu(h, approximate="tanh")
        x = x + F.linear(h, *down)
    logits = F.linear(F.layer_norm(x, (d,), *last), words)
    return F.cross_entropy(logits.view(-1, vocabulary), target)


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(every, 1.0)
    optimizer.step()
    return loss.item()


for line in sys.stdin:
    seconds, loss = [], 0.0
    for _ in range(int(line.split()[1])):
        start = time.perf_counter()
        loss = step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "loss": loss, "setting": f"PyTorch {torch.__version__}, AdamW {kind}"}), flush=True)
