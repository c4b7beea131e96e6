"""Every key of config.json that cospec ignores (CS_KEY_PAST of an architecture, PAST of all) affects no state.

    skipped_keys_parity.py [MODEL...]    golden models of tests/golden; by default all, except those whose
                                        position_embedding_type transformers 5 ignores, if it is installed

A golden model gets its vectors (biases, gains) moved by random numbers, so that a bias that is left out would show. Then each ignored key takes other
values. Where transformers' states differ from those without the change, cospec must refuse the file or give those states.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from harness import COSPEC, Checks
import torch
import transformers
from make_reference import one_by_one
from safetensors.torch import load_file, save_file

checks = Checks("skipped_keys")
here = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(here, "..", "..")
COSPEC = os.path.abspath(COSPEC)
TEXT = os.path.join(ROOT, "tests", "golden", "models")
TOLERANCE = 1e-4
# Keys that only name, or that other keys of the same file have to follow.
PAIR = {"pretraining_tp": 2, "slow_but_exact": True}
NAMES = {"model_type", "architectures", "cospec", "auto_map", "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "dtype",
         "torch_dtype", "transformers_version", "_name_or_path", "attn_implementation", "_attn_implementation", "_attn_implementation_autoset"}


def ignored():
    """Names of ignored keys, from the sources."""
    keys = set()
    for name in sorted(os.listdir(os.path.join(ROOT, "src", "model"))):
        with open(os.path.join(ROOT, "src", "model", name)) as f:
            text = f.read()
        lists = re.findall(r'\{((?:"[\w ]+"\s*)+),\s*CS_KEY_PAST', text)
        if name == "config_keys.c":
            lists.append(text.split("PAST[] =")[1].split(";")[0])
        for words in lists:
            keys |= set(words.replace('"', " ").split())
    return sorted(keys - NAMES)


def others(value):
    """Values to try in place of one; absent: None."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2, value + 1]
    if isinstance(value, float):
        return [value * 1.5 + 0.01]
    return [True, 2, 0.5] if value is None else []


def theirs(folder, ids):
    with open(f"{folder}/config.json") as f:
        name = json.load(f)["architectures"][0]
    model = one_by_one(getattr(transformers, name).from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)).eval()
    if getattr(model.config, "is_decoder", False):
        model.config.use_cache = False # with a cache transformers 4 counts relative distances from the last token, in all rows
    with torch.no_grad():
        if getattr(model.config, "is_encoder_decoder", False):
            return torch.stack(model.get_encoder()(input_ids=ids, output_hidden_states=True).hidden_states).numpy()
        return torch.stack(model(input_ids=ids, output_hidden_states=True).hidden_states).numpy()


def ours(folder, ids):
    with tempfile.TemporaryDirectory() as work:
        np.save(f"{work}/ids.npy", ids.numpy().astype(np.int32))
        run = subprocess.run([COSPEC, "features", folder, f"{work}/ids.npy", "--pooling", "none", "--layers", "last", "-o", f"{work}/f"],
                             capture_output=True, text=True)
        if run.returncode:
            return run.stderr.strip()
        return np.load([f"{work}/f/{n}" for n in sorted(os.listdir(f"{work}/f")) if n.startswith("layer-")][-1])


def differs(a, b):
    return a.shape != b.shape or not np.abs(a - b).max() <= TOLERANCE * np.abs(b).max()


def check(name):
    source = os.path.join(TEXT, name)
    generator = torch.Generator().manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source, folder, dirs_exist_ok=True)
        tensors = load_file(f"{source}/model.safetensors")
        tensors = {k: v + 0.3 * torch.randn(v.shape, generator=generator).to(v.dtype) if v.ndim == 1 and v.is_floating_point() else v
                   for k, v in tensors.items()}
        save_file(tensors, f"{folder}/model.safetensors", {"format": "pt"})
        with open(f"{source}/config.json") as f:
            config = json.load(f)
        ids = torch.randint(5, min(config.get("vocab_size", 20), 20), (2, 6), generator=generator)
        base = theirs(folder, ids)
        wrong = []

        def judge(change):
            """All keys at once; where states move or the package refuses, each half, down to one key."""
            with open(f"{folder}/config.json", "w") as f:
                json.dump({**config, **change}, f)
            try:
                now = theirs(folder, ids)
            except Exception:
                now = None
            if now is not None and not differs(now, base):
                return
            if len(change) > 1 and change is not PAIR:
                items = list(change.items())
                for half in (items[:len(items) // 2], items[len(items) // 2:]):
                    judge(dict(half))
            elif now is not None:
                made = ours(folder, ids)
                if not isinstance(made, str) and differs(made.reshape(now[-1].shape), now[-1]):
                    wrong.append(f"{change}: the package's states move by {np.abs(now - base).max():.2g}, ours do not follow")

        for k in range(3):
            judge({key: others(config.get(key))[k] for key in ignored() if len(others(config.get(key))) > k})
        judge(PAIR)
        return "; ".join(wrong) or None


relative = transformers.__version__.startswith("4.")
models = sys.argv[1:] or sorted(n for n in os.listdir(TEXT) if "switched" not in n and (relative or "relative" not in n) and "t_bert" not in n and "ltg" not in n)
for model in models:
    checks.run(model, check, model)
checks.exit()
