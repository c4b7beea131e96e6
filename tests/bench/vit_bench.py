"""A training step of a Vision Transformer on the CPU, ours against PyTorch, and what augmentation adds to ours.

usage: vit_bench.py COSPEC OUT_JSON [--small]     (called by bench.py; a development aid, skipped where no torch is found)

One stream, 75 % of the patches masked, pixels predicted (SimMIM), on the corpus `scenes`: 64 patches of 4 x 4 x 3 and a class token. Ours is
the whole of a step of `cospec train` (patches, draws of masks, forward, backward, AdamW), by the tokens a second of its log; the peer, a Python
named in BENCH_TORCH (default: /usr/bin/python3 and python3), has its batches in memory. Both alternate, on the same number of threads. That both compute
the same network is tests/oracle/pictures_parity.py's to say.
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

TORCH = """
import sys, time, torch, torch.nn as nn, torch.nn.functional as F
layers, width, heads, batch, steps, threads = map(int, sys.argv[1:])
torch.set_num_threads(threads)
torch.manual_seed(0)
T, V = 64, 48
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(batch, T + 1, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, T + 1, width))
        return x + self.down(F.gelu(self.up(self.n2(x))))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.head, self.norm = nn.Linear(V, width), nn.Linear(width, V), nn.LayerNorm(width)
        self.mask, self.cls, self.place = (nn.Parameter(0.02 * torch.randn(n, width)) for n in (1, 1, T + 1))
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
    def forward(self, x, hidden):
        h = torch.where(hidden[..., None], self.mask, self.patch(x))
        h = torch.cat([self.cls.expand(batch, 1, width), h], 1) + self.place
        for layer in self.layers:
            h = layer(h)
        return F.mse_loss(self.head(self.norm(h[:, 1:])[hidden]), x[hidden])
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
x = torch.rand(steps, batch, T, V)
hidden = torch.rand(steps, batch, T).argsort(-1) < 48
seconds = []
for i in range(steps):
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    net(x[i], hidden[i]).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
    seconds.append(time.perf_counter() - start)
print(torch.__version__, sum(seconds[steps // 2:]) / (steps - steps // 2))
"""

program, out = sys.argv[1], sys.argv[2]
small = "--small" in sys.argv
layers, width, heads, batch = (2, 32, 2, 8) if small else (4, 64, 4, 16)
turns, steps, threads = (2, 10, 2) if small else (7, 100, 2)


def ours(augmented):
    """Seconds of a step, of the later half of a run."""
    with tempfile.TemporaryDirectory() as work:
        command = [program, "train", "--corpus", "scenes", "--objective", "masked", "--mask-ratio", "0.75", "--arch", "vit", "--layers", layers]
        command += ["--width", width, "--heads", heads, "--batch", batch, "--steps", steps, "--log-every", steps // 2, "--eval-every", 0]
        command += ["--save-every", 0, "--threads", threads, "-o", work + "/m"] + (["--least-area", "0.2", "--flip"] if augmented else [])
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        with open(work + "/m/log.csv", encoding="utf-8") as f:
            return batch * 64 / float(list(csv.DictReader(f))[-1]["tokens_per_second"])


def theirs(python):
    words = [python, "-c", TORCH, *map(str, (layers, width, heads, batch, steps, threads))]
    version, seconds = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return version, float(seconds)


def has_torch(python):
    try:
        return subprocess.run([python, "-c", "import torch; torch.nn.functional.scaled_dot_product_attention"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


rows = []
for python in os.environ.get("BENCH_TORCH", "/usr/bin/python3 python3").split():
    if not has_torch(python):
        print(f"vit_bench: {python} has no torch 2; not measured", file=sys.stderr)
        continue
    plain, augmented, peer = [], [], []
    for _ in range(turns):
        plain.append(ours(False))
        augmented.append(ours(True))
        version, seconds = theirs(python)
        peer.append(seconds)
    added = statistics.median(b - a for a, b in zip(plain, augmented))
    rows.append({
        "workload": f"ViT training step, 75 % masked, L{layers} d{width} h{heads} B{batch}, 65 rows an image, fp32, {threads} threads",
        "ours_s": plain, "peer": f"PyTorch {version}, AdamW", "peer_s": peer,
        "note": f"ours with reading and masks, theirs from memory; random crops and mirror images add {1000 * added:.2f} ms to our step; "
                f"aim 1.5 {'reached' if statistics.median(peer) >= 1.5 * statistics.median(plain) else 'missed'}",
    })
with open(out, "w", encoding="utf-8") as f:
    json.dump(rows, f)
