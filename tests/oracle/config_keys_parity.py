"""Every setting that the class of an architecture reads is read by cospec, refused, or in its lists of keys without effect on states.

    config_keys_parity.py [MODEL...]    golden models of tests/golden; by default one of each architecture

The settings are `config.X` and getattr(config, "X") in the modeling file of the installed transformers, and the names of
the configuration's attribute_map, which are other names of settings. Each that the golden config.json lacks is added to it with a
value that is no default; a note of cospec that the key is not read is a fault. Whether the keys without effect have none:
skipped_keys_parity.py.
"""
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from harness import COSPEC, Checks

checks = Checks("config_keys")
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
PACKAGE = os.path.dirname(importlib.util.find_spec("transformers").origin)
# Not keys: results of a configuration, and parameters whose form cs_rotary_read checks.
METHODS = {"use_return_dict", "num_labels", "rope_parameters", "loss_type"}
# Which rows a row sees, and settings that any configuration has: cospec refuses other values everywhere.
# Rotary positions are read in places that depend on the version of transformers: by the class, or by the parent of all configurations.
COMMON = {"rope_theta", "partial_rotary_factor", "head_dim", "sliding_window", "is_decoder", "is_causal", "causal_mask", "is_encoder_decoder",
          "add_cross_attention", "position_embedding_type", "hidden_act", "tie_word_embeddings"}
every = set()


def read(*parts):
    path = os.path.join(PACKAGE, *parts)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


def settings(kind):
    """Names that the modeling file of this model_type reads, and other names of its settings."""
    folder = kind.replace("-", "_")
    code, form = read("models", folder, f"modeling_{folder}.py"), read("models", folder, f"configuration_{folder}.py")
    if not code:
        return None
    for unused in re.findall(r"^class (\w+DecoderLayer)\(", code, re.M):
        if not re.search(rf"\b{unused}\(config", code):
            code = re.sub(rf"^class {unused}\(.*?(?=^\S)", "", code, flags=re.M | re.S)
    code = re.sub(r'""".*?"""', "", code, flags=re.S)
    names = set(re.findall(r"\bconfig\.([a-z_]\w*)\b(?!\()", code)) | set(re.findall(r'getattr\((?:self\.)?config, "(\w+)"', code))
    for mapped in re.findall(r"attribute_map[^={]*= \{(.*?)\}", form, re.S):
        names |= set(re.findall(r'"(\w+)"', mapped))
    return sorted(n for n in names - METHODS if not n.startswith("_"))


def unread(folder, config):
    """Keys that cospec names as not read; None: it refuses the file."""
    with open(f"{folder}/config.json", "w") as f:
        json.dump(config, f)
    run = subprocess.run([COSPEC, "features", folder, f"{folder}/data.npy", "--dry-run"], capture_output=True, text=True)
    if run.returncode:
        return None
    found = re.search(r"does not read it: (.*)", run.stderr)
    return set(found.group(1).split(", ")) if found else set()


def culprits(folder, config, more):
    """Which of these keys, alone, make cospec refuse the file."""
    if not more or unread(folder, {**config, **more}) is not None:
        return []
    items = list(more.items())
    if len(items) == 1:
        return [items[0][0]]
    half = len(items) // 2
    return culprits(folder, config, dict(items[:half])) + culprits(folder, config, dict(items[half:]))


def check(model):
    with open(os.path.join(GOLDEN, model, "config.json")) as f:
        config = json.load(f)
    names = reads[model]
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(os.path.join(GOLDEN, model, "model.safetensors")), f"{folder}/model.safetensors")
        with open(f"{folder}/data.npy", "wb") as f: # ids, or pictures
            kind, shape = ("u1", (1, config["image_size"], config["image_size"], 3)) if "image_size" in config else ("i4", (1, 4))
            header = str({"descr": f"<{kind}", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
            f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + (5).to_bytes(4, "little") * (math.prod(shape) * int(kind[1]) // 4))
        if unread(folder, config) is None:
            return "cospec refuses the golden model itself"
        if unread(folder, {**config, "memory_layers": 7}) != {"memory_layers"}:
            return "the note of unread keys does not name memory_layers"
        strange = {n: 7 for n in sorted(every - set(names) - set(config) - COMMON)}
        refused = culprits(folder, config, strange)
        if refused:
            return f"cospec refuses a file for {', '.join(refused)}, which the class does not read"
        missing = set()
        for name in names:
            if name not in config:
                missing |= unread(folder, {**config, name: 7}) or set()
        return f"the class reads {', '.join(sorted(missing))}, cospec does not" if missing else None


usual = ["pictures/vit", "pictures/mae", "pictures/deit", "pictures/ijepa", "pictures/dinov2", "pictures/beit"] + sorted(f"models/{n}" for n in os.listdir(f"{GOLDEN}/models")
                                                  if not re.search("switched|relative|yarn|dynamic|llama3|untied", n))
reads = {}
for model in usual:
    with open(os.path.join(GOLDEN, model, "config.json")) as f:
        reads[model] = settings(json.load(f).get("model_type", "of no class"))
    every |= set(reads[model] or [])
for model in sys.argv[1:] or usual:
    if reads[model] is None:
        checks.skip(model, "this transformers does not have the class")
    else:
        checks.run(model, check, model)
checks.exit()
