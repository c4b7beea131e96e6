"""Models exchanged with Hugging Face's transformers: what its classes save and cospec reads, what cospec writes and they load, gives the
same logits, hidden states and loss.

Weights are float on both sides, so both are also evaluated in double, where they must agree to 1e-9 of the largest logit. In float the
backends may be 16 times as far from that as the class itself is in float32 (model_parity.py says why).

At the end some steps of `cospec train` from a class's own weights against the class trained by torch's AdamW: losses, gradient norms and
the last parameters.
"""
import contextlib
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
from harness import COSPEC, Checks, Failure, cospec
from make_reference import doubles
from model_parity import BACKENDS, EXACT, FLOAT_FACTOR, NOWHERE, TOOL, config, tool
import torch
import transformers

CLASS = {"gpt2": transformers.GPT2LMHeadModel,
         "roberta-prelayernorm": transformers.RobertaPreLayerNormForMaskedLM,
         "roberta": transformers.RobertaForMaskedLM, "bert": transformers.BertForMaskedLM,
         "llama": transformers.LlamaForCausalLM, "eurobert": transformers.EuroBertForMaskedLM,
         "modernbert": transformers.ModernBertForMaskedLM,
         "modernbert-decoder": transformers.ModernBertDecoderForCausalLM}
NORM_FIRST = ("gpt2", "roberta-prelayernorm", "llama", "eurobert", "modernbert", "modernbert-decoder")
CAUSAL = ("gpt2", "llama", "modernbert-decoder")
DECODER = {"roberta": transformers.RobertaForCausalLM, "bert": transformers.BertLMHeadModel,
           "roberta-prelayernorm": transformers.RobertaPreLayerNormForCausalLM}
BARE = {"gpt2": transformers.GPT2Model, "bert": transformers.BertModel}
MEASURED = {}


# --- their side -------------------------------------------------------------------------------------------------------------


def their_config(arch, **change):
    if arch == "gpt2":
        keys = {"vocab_size": 17, "n_positions": 12, "n_embd": 10, "n_layer": 3, "n_head": 2,
                "n_inner": 14, "bos_token_id": 0, "eos_token_id": 2}
    else:
        keys = {"vocab_size": 17, "max_position_embeddings": 14, "hidden_size": 10,
                "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 14,
                "pad_token_id": 0 if arch == "bert" else 1, "type_vocab_size": 2 if arch == "bert" else 1}
    return CLASS[arch].config_class(**{**keys, **change}, attn_implementation="eager")


def randomise(model, seed):
    """Every parameter at random of order one: no bias stays zero, no gain one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(0.4 * torch.randn(p.shape, generator=generator) +
                    (1 if p.dim() == 1 and name.endswith("weight") else 0))
    return model.eval()


def text(model, seed):
    """3 sequences of 9, 6 and 1 tokens, padded on the right; no padding token inside."""
    rng = np.random.default_rng(seed)
    pad = getattr(model.config, "pad_token_id", None)
    pad = 1 if pad is None else pad
    ids = rng.integers(3, model.config.vocab_size, (3, 9))
    mask = np.arange(9)[None, :] < np.array([9, 6, 1])[:, None]
    return np.where(mask, ids, pad), mask


def their_logits(model, ids, mask):
    """Logits, hidden states, top of all rows; of rows of text alone where `mask` is."""
    with torch.no_grad(), doubles() if model.dtype == torch.float64 else contextlib.nullcontext():
        arguments = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask).long()}
        out = model(**arguments, output_hidden_states=True)
        top = model.base_model(**arguments).last_hidden_state
    # where norms come first, the last hidden state is the one behind the final norm
    layers = len(out.hidden_states) - (model.config.model_type in NORM_FIRST)
    cut = lambda x: x.double().numpy()[mask]
    return {"logits": cut(out.logits), "top": cut(top),
            **{f"hidden.{i}": cut(out.hidden_states[i]) for i in range(layers)}}


# --- our side ---------------------------------------------------------------------------------------------------------------


def our_case(directory, model, ids, mask, backend):
    """Every row of text is a loss row."""
    causal = model.config.model_type in CAUSAL or getattr(model.config, "is_decoder", False)
    offset = model.config.pad_token_id + 1 if "roberta" in model.config.model_type else 0
    rows, length = ids.shape
    places = np.tile(np.arange(length), (rows, 1))
    seen = places if causal else np.zeros_like(places)
    n = int(mask.sum())
    flat = lambda x: x.ravel().tolist()
    batch = {"batch": rows, "length": length, "queries": 0, "decoder_length": 0, "predictions": n,
             "token": flat(np.where(mask, ids, -1)), "position": flat(places + offset),
             "vis": flat(np.where(mask, seen, NOWHERE)), "lim": flat(np.where(mask, seen, -1)),
             "predict": np.flatnonzero(mask).tolist(), "target": ids[mask].tolist(),
             "weight": [1.0 / n] * n}
    return {"model": directory, "form": "single", "loss": "cross-entropy", "factor": 2.0,
            "evaluate": True, "salt": 0, "spare": 0, "batch": batch, "backend": backend}


def our_logits(directory, model, ids, mask):
    """By backend: logits and, in double, hidden states and top."""
    cases = [our_case(directory, model, ids, mask, backend) for backend in BACKENDS]
    cases.append({**cases[0], "loss": "none"})
    found = tool(cases)
    out = {backend: {"logits": x["logits"], "loss": x["loss"]} for backend, x in zip(BACKENDS, found)}
    for name, x in found[-1].items():
        if name == "top" or name.startswith("hidden."):
            out["ref64"][name] = x[mask.ravel()]
    return out


def agree(directory, model, seed=1):
    """None, or how logits differ."""
    ids, mask = text(model, seed)
    rough = their_logits(model.float(), ids, mask)
    exact = their_logits(model.double(), ids, mask)
    model.float()
    found = our_logits(directory, model, ids, mask)
    far = lambda x, name: np.abs(x - exact[name]).max() / np.abs(exact[name]).max()
    for name, x in exact.items():
        worst = far(found["ref64"][name], name) if name in found["ref64"] else np.inf
        MEASURED["ref64"] = max(MEASURED.get("ref64", 0), worst)
        if not worst <= EXACT:
            return f"{name}: relative difference {worst:.3g} in double"
    yardstick = far(rough["logits"], "logits")
    for backend in BACKENDS[1:]:
        worst = far(found[backend]["logits"], "logits")
        MEASURED["yardstick"] = max(MEASURED.get("yardstick", 0), yardstick)
        MEASURED[backend] = max(MEASURED.get(backend, 0), worst)
        if not worst <= FLOAT_FACTOR * yardstick:
            return f"{backend}: relative difference {worst:.3g}, the class itself {yardstick:.3g} in float"
    z = torch.tensor(exact["logits"])
    loss = torch.nn.functional.cross_entropy(z, torch.tensor(ids[mask])).item()
    if not abs(found["ref64"]["loss"].item() - loss) <= EXACT * loss:
        return f"loss {found['ref64']['loss'].item():.12g}, expected {loss:.12g}"
    return None


# --- what they write --------------------------------------------------------------------------------------------------------

THEIRS = [
    ("gpt2", {}), ("gpt2", {"activation_function": "relu", "n_inner": None}),
    ("gpt2", {"tie_word_embeddings": False, "activation_function": "gelu"}),
    ("gpt2", {"layer_norm_epsilon": 1e-3}),
    ("roberta-prelayernorm", {}), ("roberta-prelayernorm", {"hidden_act": "relu", "pad_token_id": 0}),
    ("roberta-prelayernorm", {"tie_word_embeddings": False}),
    ("roberta", {}), ("roberta", {"hidden_act": "gelu_new", "type_vocab_size": 3}),
    ("roberta", {"tie_word_embeddings": False}),
    ("bert", {}), ("bert", {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3}),
    ("bert", {"tie_word_embeddings": False}),
]


def check_reading(checks, folder):
    for number, (arch, change) in enumerate(THEIRS):
        model = randomise(CLASS[arch](their_config(arch, **change)), number)
        label = ", ".join([arch] + [f"{k}={v}" for k, v in change.items()])
        directory = os.path.join(folder, f"theirs{number}")

        def saved(**options):
            model.float().save_pretrained(directory, **options)
            return agree(directory, model)

        checks.run(f"read {label}", saved)
        if change:
            continue

        def sharded():
            why = saved(max_shard_size="4KB")
            shards = [name for name in os.listdir(directory) if re.match(r"model-.*safetensors", name)]
            return why or (None if len(shards) > 1 else "one shard")

        os.remove(os.path.join(directory, "model.safetensors"))
        checks.run(f"read {label}, sharded", sharded)

    def half():
        model = randomise(CLASS["gpt2"](their_config("gpt2")), 50).to(torch.bfloat16)
        directory = os.path.join(folder, "half")
        model.save_pretrained(directory)
        return agree(directory, model)

    checks.run("read gpt2, bfloat16", half)

    def bare():
        model = randomise(CLASS["gpt2"](their_config("gpt2")), 51)
        directory = os.path.join(folder, "bare")
        model.base_model.save_pretrained(directory)
        return agree(directory, model)

    checks.run("read a bare GPT2Model, head tied", bare)


def check_refusals(checks, folder):
    """Settings whose arithmetic cospec has not: refused by name, never read as something else."""
    for arch, change in (("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
                         ("gpt2", {"scale_attn_weights": False}),
                         ("bert", {"hidden_act": "mish"})):
        key = next(iter(change))
        model = CLASS[arch](their_config(arch, **change))
        directory = os.path.join(folder, "refused")
        model.save_pretrained(directory)

        def refused():
            ids, mask = text(model, 1)
            try:
                tool([our_case(directory, model, ids, mask, "ref64")])
            except Failure as failure:
                return None if key in str(failure) else f"{failure} does not name {key}"
            return "was read"

        checks.run(f"refuse {arch}, {key}", refused)


# --- what we write ----------------------------------------------------------------------------------------------------------

SWITCHED = {"norm_bias": True, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "decoder_bias": False,
            "hidden_activation": "silu", "classifier_activation": "relu", "norm_eps": 1e-3}


def rotary(arch, **change):
    """config.json of a tiny model with rotary positions."""
    act = "hidden_activation" if arch.startswith("modernbert") else "hidden_act"
    return {"model_type": arch, "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 10, "max_position_embeddings": 20, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
            "tie_word_embeddings": True, act: "gelu" if arch.startswith("modernbert") else "silu", **change}


OURS = [
    ("gpt2", config("gpt2")), ("gpt2, untied, relu", config("gpt2", tied=False, act="relu")),
    ("gpt2, query vector", config("gpt2", query_vector=True)),
    ("roberta-prelayernorm", config("roberta-prelayernorm")),
    ("roberta-prelayernorm, untied", config("roberta-prelayernorm", tied=False)),
    ("roberta-prelayernorm, decoder", config("roberta-prelayernorm", decoder=("self", 1, 6, 2, 7))),
    ("roberta", config("roberta")), ("roberta, untied", config("roberta", tied=False)),
    ("bert", config("bert")), ("bert, untied, gelu_new", config("bert", tied=False, act="gelu_new")),
    ("llama", rotary("llama", num_key_value_heads=1)),
    ("llama, untied, scaled, biases", rotary(
        "llama", tie_word_embeddings=False, head_dim=6, attention_bias=True, mlp_bias=True, hidden_act="gelu", rope_parameters={
            "rope_type": "llama3", "rope_theta": 50.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 6})),
    ("llama, yarn", rotary("llama", rope_parameters={
        "rope_type": "yarn", "rope_theta": 50.0, "factor": 3.0, "original_max_position_embeddings": 9})),
    ("eurobert", rotary("eurobert")),
    ("modernbert", rotary("modernbert", local_attention=4, rope_parameters={
        "full_attention": {"rope_type": "linear", "rope_theta": 70.0, "factor": 2.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}})),
    ("modernbert, switched", rotary("modernbert", local_attention=2, global_attn_every_n_layers=2, **SWITCHED)),
    ("modernbert-decoder", rotary("modernbert-decoder", local_attention=4)),
    ("modernbert-decoder, switched", rotary(
        "modernbert-decoder", local_attention=6, layer_types=["sliding_attention", "full_attention"], **SWITCHED)),
]
OWN = ("query.start", "decoder.")  # what the classes have not


def loaded(directory, arch):
    """The class's model, and what from_pretrained had to make up or leave out."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        named = json.load(file)
    of = DECODER[arch] if named.get("is_decoder") else CLASS[arch]
    if named["architectures"] != [of.__name__]:
        raise Failure(f"{directory}/config.json names {named['architectures']}")
    model, info = of.from_pretrained(directory, output_loading_info=True, attn_implementation="eager")
    extra = [k for k in info["unexpected_keys"] if not k.startswith(tuple("cospec." + o for o in OWN))]
    bad = {"missing": sorted(info["missing_keys"]), "unexpected": sorted(extra),
           "mismatched": sorted(info["mismatched_keys"])}
    return model.eval(), {k: v for k, v in bad.items() if v}


def write(folder, name, conf, salt):
    """Our model of that config, by cs_model_write."""
    directory = os.path.join(folder, name)
    batch = {"batch": 1, "length": 1, "queries": 0, "decoder_length": 0, "predictions": 1, "token": [0],
             "position": [2 if "type_vocab_size" in conf else 0], "vis": [0], "lim": [0],
             "predict": [0], "target": [0], "weight": [1.0]}
    # the architecture's own model_type: extra tensors do not change what the class computes
    tool([{"config": conf, "form": "single", "loss": "cross-entropy", "factor": 2.0, "salt": salt,
           "spare": 0, "batch": batch, "backend": "ref64", "write": directory}])
    return directory


def check_writing(checks, folder):
    for number, (label, conf) in enumerate(OURS):
        arch = label.split(",", maxsplit=1)[0]

        def written():
            directory = write(folder, f"ours{number}", conf, 500 + number)
            model, bad = loaded(directory, arch)
            return f"from_pretrained: {bad}" if bad else agree(directory, model)

        checks.run(f"write {label}", written)


# --- cospec train -----------------------------------------------------------------------------------------------------------

WORDS = "the cat dog sat ran on under a mat log red blue big and then it was there".split()


def corpus(folder, lines, seed):
    path = os.path.join(folder, f"corpus{seed}.txt")
    rng = np.random.default_rng(seed)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(lines):
            file.write(" ".join(rng.choice(WORDS, rng.integers(4, 11))) + "\n")
    return path


def check_trained(checks, folder):
    """Directories that `cospec train` leaves load unchanged, tokenizer and all."""
    if subprocess.run([COSPEC, "train", "--help"], capture_output=True, check=False).returncode != 0:
        checks.skip("train", "this cospec has no command train")
        return
    path = corpus(folder, 40, 1)
    for objective, arch in (("ar", "gpt2"), ("masked", "roberta-prelayernorm"), ("ar", "roberta"),
                            ("masked", "bert"), ("ar", "bert"), ("ar", "roberta-prelayernorm"), ("mntp", "bert"),
                            ("mae-lm", "roberta-prelayernorm"), ("ar", "llama"), ("offset-ar", "llama"),
                            ("masked", "eurobert"), ("masked", "modernbert"), ("mae-lm", "modernbert"),
                            ("ar", "modernbert-decoder"), ("mntp", "gpt2"), ("masked", "gpt2"), ("diverse-ar", "gpt2"),
                            ("diverse-ar", "llama"), ("masked", "llama"), ("mae-lm", "llama"), ("ar", "eurobert"),
                            ("ar", "modernbert"), ("masked", "modernbert-decoder"), ("diverse-ar", "bert")):
        directory = os.path.join(folder, f"train-{objective}-{arch}")
        options = {} if objective == "ar" else {"offset_weights": "uniform:2"} if objective == "offset-ar" else {"t": 2} if "diverse" in objective else {"mask_ratio": 0.3}
        if arch in ("llama", "eurobert"):
            options["kv_heads"] = 1
        causal = objective in ("ar", "offset-ar")
        refused = objective == "diverse-ar" or (arch in CAUSAL if not causal else arch in ("eurobert", "modernbert"))
        if arch.startswith("modernbert"):
            options.update(local_attention=4, global_every=2)

        def trained():
            cospec("train", corpus=path, objective=objective, arch=arch, steps=3, layers=2, width=12,
                   heads=2, batch=4, max_length=16, test_share=0.2, seed=3, o=directory, **options)
            if refused:  # its rows see other rows than those of the class
                try:
                    transformers.AutoConfig.from_pretrained(directory)
                except ValueError as error:
                    return None if "cospec" in str(error) else str(error)
                return "transformers takes it for a class"
            model, bad = loaded(directory, arch)
            if bad:
                return f"from_pretrained: {bad}"
            why = agree(directory, model)
            return why or same_tokens(directory, path)

        checks.run(f"train {objective}, {arch}" + (", no class" if refused else ""), trained)


def same_tokens(directory, path):
    """AutoTokenizer reads tokenizer.json, and gives the ids that training saw, those of `cospec tokenize encode`: none is put around."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file][:10]
    done = subprocess.run([COSPEC, "tokenize", "encode", os.path.join(directory, "tokenizer.json")],
                          input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return f"tokenize encode: {done.stderr[-200:]}"
    ours = [[int(i) for i in line.split()] for line in done.stdout.splitlines()]
    readers = {
        "AutoTokenizer": lambda: transformers.AutoTokenizer.from_pretrained(directory),
        "PreTrainedTokenizerFast": lambda: transformers.PreTrainedTokenizerFast(
            tokenizer_file=os.path.join(directory, "tokenizer.json"))}
    for name, reader in readers.items():
        theirs = [reader()(line)["input_ids"] for line in lines]
        if theirs != ours:
            i = next(i for i, pair in enumerate(zip(theirs, ours)) if pair[0] != pair[1])
            return f"{name}: {theirs[i]} for '{lines[i]}', cospec {ours[i]}"
    return None


def check_steps(checks, folder):
    for arch, options in (("gpt2", {}), ("llama", {"kv_heads": 1}),
                          ("modernbert-decoder", {"local_attention": 4, "global_every": 2})):
        check_steps_of(checks, os.path.join(folder, arch), arch, options)


def check_steps_of(checks, folder, arch, options):
    """`cospec train --init-from` on a corpus that is one batch, so that every step reads all of it in whatever order."""
    os.mkdir(folder)
    steps, rate, b1, b2, eps, decay, clip = 6, 0.01, 0.9, 0.98, 1e-3, 0.1, 0.5
    path = corpus(folder, 8, 2)
    first, last = os.path.join(folder, "first"), os.path.join(folder, "last")
    recipe = {"schedule": "constant", "warmup": 0, "lr": rate, "beta1": b1, "beta2": b2, "adam_eps": eps,
              "weight_decay": decay, "clip": clip, "batch": 8, "max_length": 16, "test_share": 0, "log_every": 1}

    def train():
        # a directory with a tokenizer of the corpus, then other weights: large ones, so that gradients are no rounding
        cospec("train", corpus=path, objective="ar", arch=arch, steps=1, layers=2, width=12, heads=2, o=first,
               **recipe, **options)
        model, _ = loaded(first, arch)
        randomise(model, 7).save_pretrained(first)
        cospec("train", corpus=path, objective="ar", steps=steps, init_from=first, o=last, **recipe)
        with open(os.path.join(last, "log.csv"), encoding="utf-8") as file:
            log = list(csv.DictReader(file))
        tokenizer = transformers.AutoTokenizer.from_pretrained(first)
        with open(path, encoding="utf-8") as file:
            ids = [torch.tensor([tokenizer(line.strip(), add_special_tokens=False)["input_ids"]]) for line in file]
        model = model.double()
        named = dict(model.named_parameters())
        adam = torch.optim.AdamW([{"params": [p for p in named.values() if p.dim() == 2], "weight_decay": decay},
                                  {"params": [p for p in named.values() if p.dim() == 1], "weight_decay": 0.0}],
                                 lr=rate, betas=(b1, b2), eps=eps)
        total = sum(x.shape[1] - 1 for x in ids)
        for step in range(steps):
            adam.zero_grad()
            with doubles():
                loss = sum(torch.nn.functional.cross_entropy(model(x).logits[0, :-1], x[0, 1:], reduction="sum")
                           for x in ids) / total
                loss.backward()
            norm = float(torch.sqrt(sum((p.grad ** 2).sum() for p in named.values())))
            for p in named.values():
                p.grad *= min(1, clip / norm)
            adam.step()
            for key, x in (("loss", float(loss.detach())), ("grad_norm", norm)):
                if not abs(float(log[step][key]) - x) <= 1e-4 * x:
                    return f"step {step + 1}: {key} {log[step][key]}, expected {x:.8g}"
                MEASURED[key] = max(MEASURED.get(key, 0), abs(float(log[step][key]) / x - 1))
        trained, _ = loaded(last, arch)
        for name, p in trained.named_parameters():
            worst = float((p - named[name]).abs().max().detach())
            MEASURED["parameters"] = max(MEASURED.get("parameters", 0), worst)
            # what AdamW may move in all is rate * steps; rounding is to be a small part of it
            if not worst <= 1e-3 * rate * steps:
                return f"{name} is off by {worst:.3g} after {steps} steps"
        return None

    checks.run(f"train steps of {arch} as torch's AdamW", train)


def main():
    checks = Checks("huggingface")
    if not os.access(TOOL, os.X_OK):
        checks.skip("all", f"no {TOOL} (make oracle builds it)")
        return
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        check_reading(checks, folder)
        check_refusals(checks, folder)
        check_writing(checks, folder)
        check_trained(checks, folder)
        check_steps(checks, folder)
    print("# largest relative differences: " + ", ".join(f"{k} {v:.2g}" for k, v in MEASURED.items()))
    checks.exit()


if __name__ == "__main__":
    main()
