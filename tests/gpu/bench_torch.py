"""The step that test_gpu times, in PyTorch: the same GPT with flash attention, bf16 autocast and fused AdamW.

usage: bench_torch.py LAYERS WIDTH HEADS VOCABULARY BATCH LENGTH STEPS eager|compile     prints a line of JSON
"""
import json
import math
import sys
import time

import torch
import torch.nn.functional as F

layers, width, heads, vocabulary, batch, length, steps = map(int, sys.argv[1:8])
if not torch.cuda.is_available():
    sys.exit(print("SKIP no GPU for PyTorch"))
torch.manual_seed(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, d))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(length, width)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight
        for p in self.parameters():
            if p.dim() > 1:
                torch.nn.init.normal_(p, std=0.02)

    def forward(self, ids, target):
        x = self.words(ids) + self.positions(torch.arange(length, device=ids.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), target.flatten())


# The products that a causal flash kernel executes (5 backward), counted as test_gpu counts its own 9.
tiles = -(-length // 64)
flops = 6.0 * batch * length * (12 * layers * width * width + width * vocabulary)
flops += 7 * 2.0 * batch * width * 64 * 64 * (tiles * (tiles + 1) // 2) * layers


def measure(name, compiled):
    model = Gpt().cuda()
    decay, rest = [p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), fused=True)
    f = torch.compile(model) if compiled else model
    ids = (torch.arange(batch * length) * 7919 % vocabulary).view(batch, length).cuda()
    target = ((torch.arange(batch * length) + 1) * 7919 % vocabulary).view(batch, length).cuda()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = f(ids, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        loss = step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / steps
    assert math.isfinite(loss.item())
    print(json.dumps({"program": f"PyTorch {torch.__version__}, {name}, {torch.cuda.get_device_name()}", "layers": layers, "width": width, "batch": batch,
                      "length": length, "ms": round(1e3 * seconds, 3), "tokens_per_second": round(batch * length / seconds), "tflops": round(flops / seconds * 1e-12, 1)}), flush=True)


measure(sys.argv[8], sys.argv[8] == "compile")
