"""Models of GPT-BERT and LTG-BERT, whose code is in no package: the folders that such code saves, and the states of the code itself.

The code is read from a folder of clones of github.com/ltgoslo/gpt-bert and github.com/ltgoslo/ltg-bert (COSPEC_LTGOSLO), from their files
pretraining/model_extra.py, pretraining/model.py, babylm/train/model.py and, of NorBERT 3 and BNC-BERT, training/model.py.

    babylm_models.py --golden     writes tests/golden/models/gpt_bert, ltg-bert and norbert
"""
import importlib.util
import json
import os
import sys
import types

import numpy as np
import safetensors.torch
import torch

from make_reference import GOLDEN, randomise

CODE = os.environ.get("COSPEC_LTGOSLO", "")
FILES = {"gpt_bert": ("gpt-bert", "pretraining/model_extra.py"), "gpt_bert without gates": ("gpt-bert", "pretraining/model.py"),
         "ltg-bert": ("ltg-bert", "babylm/train/model.py"), "ltg-bert by head": ("ltg-bert", "training/model.py")}


def there():
    return all(os.path.exists(os.path.join(CODE, *where)) for where in FILES.values())


def published(kind):
    path = os.path.join(CODE, *FILES[kind])
    spec = importlib.util.spec_from_file_location(kind.replace(" ", "_").replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bert


def build(kind, keys, seed):
    """The published class with random weights of order one."""
    return randomise(published(kind)(types.SimpleNamespace(**keys)), seed).eval()


def renamed(name, form):
    """Names of the wrappers: of the code itself, below `model.`, and of BabyLM's baselines."""
    if form == "baseline":
        name = "model." + name.replace("transformer.", "", 1) if not name.startswith("classifier.") else name.replace("classifier.", "lm_head.", 1)
        return name
    return form + name


def save(model, keys, form, named, copies, folder):
    """A folder as a wrapper of the code saves it. named: what config.json says of the type; copies: the tied matrix twice, and buffers."""
    os.makedirs(folder, exist_ok=True)
    tensors = {renamed(k, form): v.clone() for k, v in model.state_dict().items() if copies or not k.endswith(("nonlinearity.5.weight", "position_indices"))}
    safetensors.torch.save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({**named, **keys}, file, indent=2, sort_keys=True)
        file.write("\n")


def states(model, ids, mask, causal):
    """States before each layer and after the last, and logits, of all rows; the mask of the code is true for what is not seen."""
    seen = []
    layers = model.transformer.attention_layers if hasattr(model.transformer, "attention_layers") else [x.attention for x in model.transformer.layers]
    hooks = [layer.register_forward_pre_hook(lambda _, x: seen.append(x[0].detach().clone())) for layer in layers]
    hidden = torch.tensor(~mask)
    three = hidden[:, None, :] | (torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1) if causal else torch.zeros(1, dtype=torch.bool))
    with torch.no_grad():
        wide = hasattr(model.transformer, "attention_layers")
        out = model.get_contextualized(torch.tensor(ids).t(), three if wide else hidden)
        out = out[-1] if isinstance(out, list) else out
        logits = model.classifier.nonlinearity(out)
    for hook in hooks:
        hook.remove()
    found = [x.transpose(0, 1) for x in [*seen, out]]
    return {**{f"hidden_states_{i}": x.numpy() for i, x in enumerate(found)}, "logits": logits.transpose(0, 1).numpy()}


def reference(model, ids, mask, causal):
    """The arrays of a reference in double, and how far the code in float32 is from them."""
    single = states(model, ids, mask, causal)
    torch.set_default_dtype(torch.float64)  # the code makes a tensor of the default type
    exact = states(model.double(), ids, mask, causal)
    torch.set_default_dtype(torch.float32)
    model.float()
    rounds = np.array([np.abs(single[name] - exact[name])[mask].max() for name in exact])
    return {"input_ids": ids.astype(np.int32), "attention_mask": mask.astype(np.uint8),
            **{name: x.astype(np.float32) for name, x in exact.items()}}, rounds


def text(keys, rows, length, seed):
    """Ids, padded on the right in the second row and on the left in the third."""
    rng = np.random.default_rng(seed)
    ids, mask = rng.integers(0, keys["vocab_size"], (rows, length)), np.ones((rows, length), bool)
    if rows > 1:
        mask[1, length - length // 3:] = False
    if rows > 2:
        mask[2, :length // 4] = False
    return ids, mask


def golden():
    keys = {"vocab_size": 19, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 6, "max_position_embeddings": 512,
            "position_bucket_size": 8, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "layer_norm_eps": 1e-5}
    for number, (kind, form, named) in enumerate([
            ("gpt_bert", "baseline", {"model_type": "gpt_bert", "architectures": ["GPTBERTForMaskedLM"]}),
            ("ltg-bert", "", {"architectures": ["LtgBertForMaskedLM"], "position_by_head": False}),
            ("ltg-bert by head", "", {"architectures": ["NorbertForMaskedLM"]})]):
        folder = os.path.join(GOLDEN, "norbert" if kind == "ltg-bert by head" else kind)
        model = build(kind, keys, 700 + number)
        save(model, keys, form, named, False, folder)
        ids, mask = text(keys, 3, 9, number)
        arrays, rounds = reference(model, ids, mask, False)
        np.savez_compressed(os.path.join(folder, "reference.npz"), **arrays, rounding=rounds)
        ids, mask = text(keys, 1, 40, number)
        arrays, rounds = reference(model, ids, mask, False)
        last = f"hidden_states_{keys['num_hidden_layers']}"
        np.savez_compressed(os.path.join(folder, "long.npz"), input_ids=arrays["input_ids"], **{last: arrays[last]}, rounding=rounds)


if __name__ == "__main__":
    if sys.argv[1:] != ["--golden"]:
        sys.exit(__doc__)
    golden()
