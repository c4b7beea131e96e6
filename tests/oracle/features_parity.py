"""Hidden states and perplexities of text against transformers and, for the models that it has not, plain PyTorch (parity_torch.py).

Each text goes through the other side alone and unpadded, and each prefix by itself: nothing of cospec's batches, masks and windows is
shared. Tolerance: 1e-5 of the largest state of a layer and 1e-5 nats, for models of order one in float32 (rounding is about 1e-6; the
slip of an epsilon of 1e-5 moves more).
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
from harness import COSPEC, Checks, Failure, cospec
import tokenizers
import torch
from safetensors.torch import load_file
from make_reference import CLASS, random_text, randomise, reference, tiny_config
from parity_torch import Settings, evaluate

NEAR = 1e-5
LINES = ["the cat sat on the mat and the dog ran away", "a tree grows in the wood", "the leaf falls down", "cat",
         "the dog and the cat sat in the wood on a mat while the leaf of the tree falls down and down and down",
         "a dog ran", "the wood", "on the mat the cat ran, and the tree grows away from the dog"]


def run(*words, codes=(0,)):
    done = subprocess.run([COSPEC, *map(str, words)], capture_output=True, text=True, timeout=600)
    if done.returncode not in codes:
        raise Failure(f"`{' '.join(map(str, words))}` ended with {done.returncode}: {done.stderr[-300:]}")
    return done.returncode


# --- models in folders ----------------------------------------------------------------------------------------------------------


def tokenizer_of(arch):
    """Byte-level BPE; the masked classes put <s> and </s> around a text."""
    t = tokenizers.Tokenizer(tokenizers.models.BPE())
    t.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    t.train_from_iterator(LINES, trainer)
    if arch != "gpt2":
        t.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


def make(arch, folder, seed=5, length=24):
    """A random model with a tokenizer: (model, tokenizer)."""
    t = tokenizer_of(arch)
    longest = {"n_positions": length} if arch == "gpt2" else {
        "max_position_embeddings": length + (2 if arch.startswith("roberta") else 0)}
    model = randomise(CLASS[arch](tiny_config(arch, vocab_size=t.get_vocab_size(), **longest)), seed)
    model.save_pretrained(folder)
    t.save(os.path.join(folder, "tokenizer.json"))
    return model.double(), t


def text_file(folder):
    path = os.path.join(folder, "text.tsv")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{'ab'[i % 2]}\t{line}\n" for i, line in enumerate(LINES))
    return path


def layers_of(model, ids, **more):
    """States of one sequence, the last behind the final norm."""
    with torch.no_grad():
        arguments = {"input_ids": torch.tensor([ids]), **more}
        out = model(**arguments, output_hidden_states=True)
        top = model.base_model(**arguments).last_hidden_state
    return [x[0].numpy() for x in out.hidden_states[:-1]] + [top[0].numpy()]


# --- stored forms ---------------------------------------------------------------------------------------------------------------


def stored(arch, form):
    with tempfile.TemporaryDirectory() as folder:
        model = randomise(CLASS[arch](tiny_config(arch)), 7)
        if form in ("float16", "bfloat16"):
            model = model.to(getattr(torch, form))
        model.save_pretrained(folder, **({"max_shard_size": "6KB"} if form == "sharded" else {}))
        if form == "sharded" and not os.path.exists(os.path.join(folder, "model.safetensors.index.json")):
            return "was not sharded"
        if form == "bare":
            model.base_model.save_pretrained(folder)
        ids, mask = random_text(model.config, 5, 11, 3)
        arrays = reference(model.float(), ids, mask)
        if form == "bare":
            del arrays["logits"]
        path = os.path.join(folder, "reference.npz")
        np.savez(path, **arrays)
        found = cospec("verify-model", folder, path)
        if not found["ok"]:
            return json.dumps(found)
        # the check has power: an epsilon that is off is found
        config = os.path.join(folder, "config.json")
        with open(config, encoding="utf-8") as file:
            settings = json.load(file)
        key = "layer_norm_epsilon" if arch == "gpt2" else "layer_norm_eps"
        settings[key] = settings.get(key, 0) * 1.1 + 1e-4
        with open(config, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        run("verify-model", folder, path, codes=(1,))
    return None


# --- features of text -----------------------------------------------------------------------------------------------------------


def pieces_of(t, arch, length, split):
    """(document, piece, ids with special tokens) in the order of the corpus."""
    around = arch != "gpt2"
    budget = length - 2 * around
    for document, line in enumerate(LINES):
        ids = t.encode(line, add_special_tokens=False).ids
        cuts = [ids[i:i + budget] for i in range(0, len(ids), budget)]
        for piece, part in enumerate(cuts if split else cuts[:1]):
            yield document, piece, ([0] + part + [2] if around else part)


def features(arch, split):
    with tempfile.TemporaryDirectory() as folder:
        model, t = make(arch, folder)
        path, out = text_file(folder), os.path.join(folder, "out")
        length = 15 if split else 24
        options = ["--max-length", length, "--long", "split" if split else "truncate", "--batch", 3]
        run("features", folder, path, *options, "--pooling", "none", "-o", out)
        rows = np.load(os.path.join(out, "rows.npy"))
        labels = np.load(os.path.join(out, "labels.npy"))
        pieces = list(pieces_of(t, arch, length, split))
        about = np.array([(d, p, i, x, 2 if arch != "gpt2" and i in (0, len(ids) - 1) else 0)
                          for d, p, ids in pieces for i, x in enumerate(ids)])
        if not np.array_equal(rows, about) or not np.array_equal(labels, about[:, 0] % 2):
            return f"rows differ: {rows[:20].tolist()} and {about[:20].tolist()}"
        states = [layers_of(model, ids) for _, _, ids in pieces]
        if len(pieces) <= len(LINES) and split:
            return "nothing was split"
        for layer in range(3):
            ours = np.load(os.path.join(out, f"layer-{layer}.npy"))
            theirs = np.concatenate([s[layer] for s in states])
            off = np.abs(ours - theirs).max() / np.abs(theirs).max()
            if not off <= NEAR:
                return f"layer {layer}: {off:.3g}"
        for pooling in ("mean", "first", "last"):
            run("features", folder, path, *options, "--pooling", pooling, "--layers", "0,2", "--force", "-o", out)
            for layer in (0, 2):
                ours = np.load(os.path.join(out, f"layer-{layer}.npy"))
                for d in range(len(LINES)):
                    all_rows = np.concatenate([s[layer] for s, p in zip(states, pieces) if p[0] == d])
                    wanted = {"mean": all_rows.mean(0), "first": all_rows[0], "last": all_rows[-1]}[pooling]
                    if not np.abs(ours[d] - wanted).max() <= NEAR * np.abs(all_rows).max():
                        return f"{pooling}, layer {layer}, document {d}: {ours[d]} and {wanted}"
    return None


def masked(arch, drop):
    with tempfile.TemporaryDirectory() as folder:
        model, t = make(arch, folder)
        path, out = text_file(folder), os.path.join(folder, "out")
        run("features", folder, path, "--pooling", "none", "--mask-ratio", 0.3, "-o", out, *(["--drop-masked"] if drop else []))
        rows = np.load(os.path.join(out, "rows.npy"))
        ours = [np.load(os.path.join(out, f"layer-{layer}.npy")) for layer in range(3)]
        offset = 2 if arch.startswith("roberta") else 0
        for d, _, ids in pieces_of(t, arch, 24, False):
            mine = rows[:, 0] == d
            n, row = len(ids) - 2, rows[mine]
            count = min(max(math.floor(0.3 * n + 0.5), 1), n - 1) if n > 1 else 0
            hidden = n - (len(row) - 2) if drop else int((row[:, 4] & 1).sum())
            if hidden != count:
                return f"document {d}: {hidden} of {n} tokens masked, not {count}"
            if [ids[i] for i in row[:, 2]] != row[:, 3].tolist():
                return f"document {d}: tokens {row[:, 3].tolist()}"
            shown = np.where(row[:, 4] & 1, 4, row[:, 3]).tolist()
            states = layers_of(model, shown, position_ids=torch.tensor((row[:, 2] + offset)[None]))
            for layer in range(3):
                off = np.abs(ours[layer][mine] - states[layer]).max() / np.abs(states[layer]).max()
                if not off <= NEAR:
                    return f"document {d}, layer {layer}: {off:.3g}"
    return None


# --- perplexity -----------------------------------------------------------------------------------------------------------------


def log_p(model, ids, row, target):
    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0, row], 0)[target].item()


def compare(found, nll, size=None):
    """found: one entry of "results"; nll: (document, k, value) of every prediction."""
    values = np.array([v for _, _, v in nll])
    name = "pseudo_nll" if "pseudo_nll" in found else "nll"
    if found["tokens"] != len(values) or not abs(found[name] - values.mean()) <= NEAR:
        return f"{name} {found[name]} of {found['tokens']}, expected {values.mean()} of {len(values)}"
    if not abs(found[name.replace("nll", "perplexity")] / math.exp(values.mean()) - 1) <= NEAR:
        return "perplexity is not exp(nll)"
    for item in found["by_length"]:
        at = [v for _, k, v in nll if k == item["k"]]
        if item["n"] != len(at) or not abs(item["nll"] - np.mean(at)) <= NEAR:
            return f"k = {item['k']}: {item}, expected {np.mean(at)} of {len(at)}"
    bits = name.replace("nll", "bits_per_byte")
    if size and not abs(found[bits] - values.sum() / math.log(2) / size) <= NEAR:
        return f"bits per byte {found[bits]}, expected {values.sum() / math.log(2) / size}"
    return None


def text_bytes(t, ids):
    return sum(len(t.id_to_token(i)) for i in ids)


def causal():
    with tempfile.TemporaryDirectory() as folder:
        model, t = make("gpt2", folder)
        found = cospec("perplexity", folder, text_file(folder), max_length=9, batch=3)["results"]
        nll, size = [], 0
        for d, _, ids in pieces_of(t, "gpt2", 9, True):
            nll += [(d, k, -log_p(model, ids[:k], k - 1, ids[k])) for k in range(1, len(ids))]
            size += text_bytes(t, ids[1:])
        return compare(found[0], nll, size)


def masked_model(arch, ask, fill=None):
    with tempfile.TemporaryDirectory() as folder:
        model, t = make(arch, folder)
        more = {"fill": fill} if fill else {}
        found = cospec("perplexity", folder, text_file(folder), max_length=13, batch=3, ask=ask, **more)["results"]
        nll, size = [], 0
        for d, _, ids in pieces_of(t, arch, 13, True):
            x = ids[1:-1]
            for k in range(len(x)):
                if ask == "pseudo":
                    shown = x[:k] + [4] + x[k + 1:]
                else:
                    shown = x[:k] + [4] * (1 if ask == "append" else max(len(x), fill or 0) - k)
                if (len(x) > 1) if ask == "pseudo" else k > 0:
                    nll.append((d, k, -log_p(model, [0] + shown + [2], k + 1, x[k])))
                    size += text_bytes(t, [x[k]])
        return compare(found[0], nll, size)


def our_parameters(folder):
    """Parameters of a cospec model of two architectures under the names of src/model/model.h."""
    tensors = load_file(os.path.join(folder, "model.safetensors"))
    out = {}
    gpt2 = any(name.startswith("transformer.") for name in tensors)
    table = [("transformer.", ""), ("roberta_prelayernorm.", ""), ("encoder.layer.", "layer."), ("h.", "layer.")]
    words = {"wte.weight": "embed.token", "wpe.weight": "embed.position", "ln_f": "final_norm", "ln_1": "attention.norm",
             "ln_2": "mlp.norm", "attn.c_attn": "attention.qkv", "attn.c_proj": "attention.output", "mlp.c_fc": "mlp.in",
             "mlp.c_proj": "mlp.out", "embeddings.word_embeddings.weight": "embed.token",
             "embeddings.position_embeddings.weight": "embed.position",
             "embeddings.token_type_embeddings.weight": "embed.type", "embeddings.LayerNorm": "embed.norm",
             "attention.output.dense": "attention.output", "intermediate.dense": "mlp.in", "intermediate.LayerNorm": "mlp.norm",
             "lm_head.dense": "head.dense", "lm_head.layer_norm": "head.norm", "lm_head.bias": "head.bias",
             "attention.LayerNorm": "attention.norm"}
    for name, x in tensors.items():
        x = x.double()
        if name.startswith("cospec."):
            out[name[len("cospec."):]] = x
            continue
        short = name
        for a, b in table:
            if short.startswith(a):
                short = b + short[len(a):]
        for a, b in words.items():
            short = short.replace(a, b)
        layer = short.startswith("layer.")
        if layer and not gpt2:
            short = short.replace(".output.dense", ".mlp.out") if ".attention.output" not in short else short
        if short.startswith("LayerNorm"):
            short = short.replace("LayerNorm", "final_norm")
        if gpt2 and x.dim() == 2 and layer:
            x = x.T
        if "norm.weight" in short:
            short = short.replace("norm.weight", "norm.gain")
        out[short] = x.reshape(1, -1) if x.dim() == 1 else x
    for n in range(100):  # q, k, v apart in the masked class
        parts = [f"layer.{n}.attention.self.{which}" for which in ("query", "key", "value")]
        if not gpt2 and parts[0] + ".weight" in out:
            out[f"layer.{n}.attention.qkv.weight"] = torch.cat([out.pop(p + ".weight") for p in parts])
            out[f"layer.{n}.attention.qkv.bias"] = torch.cat([out.pop(p + ".bias") for p in parts], 1)
    return out


def one(form, c, p, **batch):
    """-log p of the one loss row of a batch of one sequence."""
    filled = {"batch": 1, "queries": 0, "decoder_length": 0, "predictions": 1, "weight": [1.0], **batch}
    with torch.no_grad():
        return evaluate({"form": form, "loss": "cross-entropy"}, c, p, filled)[1][0].item()


def train(folder, corpus, *options):
    run("train", "--corpus", corpus, "--width", 16, "--heads", 2, "--layers", 2, "--batch", 4, "--steps", 12, "--lr", 0.01,
        "--max-length", 12, *options, "-o", folder)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        return Settings(json.load(file)), our_parameters(folder)


def own_texts(folder, model, length):
    """Ids of the documents as features sees them: our own word tokenizer has its tests elsewhere."""
    out = os.path.join(folder, "ids")
    run("features", model, os.path.join(folder, "text.tsv"), "--pooling", "none", "--layers", "0", "--max-length", length, "--long",
        "split", "-o", out)
    rows = np.load(os.path.join(out, "rows.npy"))
    for d, piece in sorted({(a, b) for a, b in rows[:, :2].tolist()}):
        yield d, rows[(rows[:, 0] == d) & (rows[:, 1] == piece), 3].tolist()


def two_stream(objective, *options):
    with tempfile.TemporaryDirectory() as folder:
        path, model = text_file(folder), os.path.join(folder, "model")
        c, p = train(model, path, "--objective", objective, *options)
        found = cospec("perplexity", model, path, max_length=10, batch=3)["results"]
        nll = []
        for d, x in own_texts(folder, model, 10):
            for k in range(1, len(x)):
                place = [c.offset + i for i in range(k)]
                nll.append((d, k, one("two-stream", c, p, length=k, queries=1, token=x[:k], position=place,
                                      vis=list(range(k)), lim=list(range(k)), query_position=[c.offset + k],
                                      query_lim=[k - 1], predict=[0], target=[x[k]])))
        return compare(found[0], nll)


def mae(kind, ask, delta=0.0, *options):
    with tempfile.TemporaryDirectory() as folder:
        path, model = text_file(folder), os.path.join(folder, "model")
        c, p = train(model, path, "--objective", "mae-lm", "--decoder-attention", kind, "--delta", delta, *options)
        found = cospec("perplexity", model, path, max_length=10, batch=3, ask=ask)["results"]
        nll = []
        for d, x in own_texts(folder, model, 10):
            for k in range(len(x)):
                pseudo = ask == "pseudo"
                if len(x) < 2 if pseudo else k == 0:
                    continue
                seen = [i for i in range(len(x)) if i != k] if pseudo else list(range(k))
                masked = [k] if pseudo else list(range(k, k + 1 if ask == "append" else len(x)))
                kept = masked[:math.floor(delta * len(masked) + 0.5)]
                rows = [k] if kind == "cross" else sorted(set(range(k)) | set(masked) | set(seen))
                if kind == "causal-cross":
                    rows = list(range(k + 1))
                causal_rows = kind == "causal-cross"
                read = sorted(seen + kept)
                source = [read.index(i) if i in read and not (i in kept and "--decoder-resets" in options) else -1 for i in rows]
                nll.append((d, k, one(
                    "mae", c, p, length=len(read), token=[4 if i in kept else x[i] for i in read],
                    position=[c.offset + i for i in read], vis=[0] * len(read), lim=[0] * len(read), decoder_length=len(rows), decoder_from=source,
                    decoder_token=[(x[i - 1] if i else 0) if causal_rows else 0 if s < 0 or kind == "cross" else -1
                                   for i, s in zip(rows, source)],
                    decoder_position=[c.offset + i for i in rows], decoder_vis=rows if causal_rows else [0] * len(rows),
                    decoder_lim=rows if causal_rows else [0] * len(rows), decoder_cross_lim=[0] * len(rows),
                    predict=[rows.index(k)], target=[x[k]])))
        return compare(found[0], nll)


def main():
    checks = Checks("features")
    for arch in CLASS:
        for form in ("float32", "float16", "bfloat16", "sharded") + (("bare",) if arch in ("gpt2", "bert") else ()):
            checks.run(f"{arch}, stored as {form}", stored, arch, form)
        for split in (False, True):
            checks.run(f"{arch}, text {'split' if split else 'truncated'}", features, arch, split)
        if arch != "gpt2":
            checks.run(f"{arch}, some tokens masked", masked, arch, False)
            checks.run(f"{arch}, some tokens dropped", masked, arch, True)
            for ask in ("append", "remaining", "pseudo"):
                checks.run(f"{arch}, perplexity by {ask}", masked_model, arch, ask)
    checks.run("gpt2, perplexity", causal)
    checks.run("roberta, perplexity with masks up to a length", masked_model, "roberta", "remaining", 11)
    checks.run("two streams, diverse-ar", two_stream, "diverse-ar")
    checks.run("two streams, gvp in roberta-prelayernorm", two_stream, "gvp", "--arch", "roberta-prelayernorm")
    for kind in ("self", "self-cross", "causal-cross", "cross"):
        for ask in ("append", "remaining", "pseudo"):
            checks.run(f"mae-lm {kind}, {ask}", mae, kind, ask)
            checks.run(f"mae-lm {kind}, {ask}, delta 0.5", mae, kind, ask, 0.5)
    checks.run("mae-lm self, remaining, delta 1", mae, "self", "remaining", 1.0)
    checks.run("mae-lm self-cross, remaining, decoder resets", mae, "self-cross", "remaining", 0.7, "--decoder-resets")
    checks.exit()


if __name__ == "__main__":
    main()
