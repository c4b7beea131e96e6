#!/usr/bin/env python3
"""The keys of published config.json in tests/golden/published_configs.json affect no state.

    published_parity.py [GOLDEN]

Each entry is a golden model (tests/golden/models) whose config.json loses the keys of `without` and
gains those of `config`: the keys that the files of that family carry on Hugging Face, with the golden
model's own sizes, thetas and windows in place of theirs. transformers 5.23 must load it to the states
and logits that it wrote to the golden reference.npz in double, here in float32 (largest relative
difference below 1e-4; another frequency or norm is of order 1): then so must we
(tests/test_architectures.c)."""
import json, os, shutil, sys, tempfile
import numpy as np, torch, transformers

golden = sys.argv[1] if len(sys.argv) > 1 else "tests/golden"
for entry in json.load(open(f"{golden}/published_configs.json")):
    source = f"{golden}/models/{entry['model']}"
    config = json.load(open(f"{source}/config.json"))
    config = {k: v for k, v in config.items() if k not in entry["without"]} | entry["config"]
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(f"{source}/model.safetensors", d)
        json.dump(config, open(f"{d}/config.json", "w"))
        model = getattr(transformers, config["architectures"][0]).from_pretrained(
            d, attn_implementation="eager", dtype=torch.float32).eval()
    if config["architectures"][0].endswith("ForConditionalGeneration"): # of two stacks, the encoder's states
        model = model.get_encoder()
    ref = np.load(f"{source}/reference.npz")
    ids, mask = torch.tensor(ref["input_ids"]).long(), torch.tensor(ref["attention_mask"]).long()
    arguments = {"input_ids": ids, "attention_mask": mask}
    with torch.no_grad():
        out = model(**arguments, output_hidden_states=True)
    real = mask.bool().numpy()
    states = {f"hidden_states_{i}": h for i, h in enumerate(out.hidden_states)}
    states |= {"logits": out.logits} if "logits" in ref and hasattr(out, "logits") else {}
    for name, ours in states.items():
        theirs = ref[name]
        d = np.abs(ours.numpy() - theirs)[real].max() / np.abs(theirs[real]).max()
        if not d < 1e-4:
            print(f"not ok published: {entry['name']}: {name} differs by {d:g} of the largest")
            sys.exit(1)
    print(f"ok published: {entry['name']}")
