"""Reference states for `cospec verify-model`, by transformers.

  make_reference.py MODEL OUT.npz [--sequences N] [--length S] [--seed K]
      random token ids, some rows padded; hidden states of every layer and logits, computed in double from the stored weights, kept in float
  make_reference.py --golden
      writes tests/golden/models: a tiny random model of each class, with its reference
"""
import argparse
import os
import shutil
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")

import numpy as np
import torch
import transformers

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "models")
CLASS = {"gpt2": transformers.GPT2LMHeadModel,
         "roberta-prelayernorm": transformers.RobertaPreLayerNormForMaskedLM,
         "roberta": transformers.RobertaForMaskedLM, "bert": transformers.BertForMaskedLM}


def tiny_config(arch, **change):
    """Odd sizes; what the class leaves to chance (epsilon, activation) off its default in some."""
    if arch == "gpt2":
        keys = {"vocab_size": 19, "n_positions": 12, "n_embd": 10, "n_layer": 2, "n_head": 2, "n_inner": 14,
                "bos_token_id": 0, "eos_token_id": 2, "layer_norm_epsilon": 1e-3}
    else:
        keys = {"vocab_size": 19, "max_position_embeddings": 15, "hidden_size": 10, "num_hidden_layers": 2,
                "num_attention_heads": 2, "intermediate_size": 14, "pad_token_id": 0 if arch == "bert" else 1,
                "type_vocab_size": 2 if arch == "bert" else 1,
                "hidden_act": "gelu_new" if arch == "bert" else "gelu",
                "layer_norm_eps": 1e-3 if arch == "roberta" else 1e-12}
    return CLASS[arch].config_class(**{**keys, **change}, attn_implementation="eager")


def randomise(model, seed):
    """Every parameter at random of order one: no bias stays zero, no gain one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(0.4 * torch.randn(p.shape, generator=generator) +
                    (1 if p.dim() == 1 and name.endswith("weight") else 0))
    return model.eval()


def reference(model, ids, mask):
    """The arrays of a reference: states behind the final norm where the class has one."""
    model = model.double().eval()
    with torch.no_grad():
        arguments = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask).long()}
        out = model(**arguments, output_hidden_states=True)
        top = model.base_model(**arguments).last_hidden_state
    states = [x.numpy() for x in out.hidden_states]
    states[-1] = top.numpy()  # transformers 4 gave roberta-prelayernorm's without the norm
    return {"input_ids": ids.astype(np.int32), "attention_mask": mask.astype(np.uint8),
            "logits": out.logits.numpy().astype(np.float32),
            **{f"hidden_states_{i}": x.astype(np.float32) for i, x in enumerate(states)}}


def random_text(config, sequences, length, seed):
    """Ids without the padding token; the second row is padded on the right, the third on the left."""
    rng = np.random.default_rng(seed)
    pad = getattr(config, "pad_token_id", None)
    pad = 1 if pad is None else pad
    ids = rng.integers(0, config.vocab_size - 1, (sequences, length))
    ids += ids >= pad
    mask = np.ones((sequences, length), bool)
    if sequences > 1:
        mask[1, length - length // 3:] = False
    if sequences > 2:
        mask[2, :length // 4] = False
    return np.where(mask, ids, pad), mask


def golden():
    for number, arch in enumerate(CLASS):
        folder = os.path.join(GOLDEN, arch)
        shutil.rmtree(folder, ignore_errors=True)
        model = randomise(CLASS[arch](tiny_config(arch)), number)
        model.save_pretrained(folder)
        for name in os.listdir(folder):
            if name not in ("config.json", "model.safetensors"):
                os.remove(os.path.join(folder, name))
        ids, mask = random_text(model.config, 3, 9, number)
        np.savez_compressed(os.path.join(folder, "reference.npz"), **reference(model, ids, mask))
        print(folder, os.listdir(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.golden:
        return golden()
    if not given.out:
        parser.error("wanted MODEL and OUT.npz, or --golden")
    kind = transformers.AutoConfig.from_pretrained(given.model).model_type
    if kind not in CLASS:
        sys.exit(f"{given.model}: model_type {kind} is none of {', '.join(CLASS)}")
    model = CLASS[kind].from_pretrained(given.model, dtype=torch.float32, attn_implementation="eager")
    ids, mask = random_text(model.config, given.sequences, given.length, given.seed)
    np.savez_compressed(given.out, **reference(model, ids, mask))
    return None


if __name__ == "__main__":
    main()
