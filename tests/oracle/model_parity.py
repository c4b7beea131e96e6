"""Networks of every form against plain PyTorch (parity_torch.py): logits, losses, gradients of every parameter, hidden states,
batches of every objective, AdamW.

ref64 must agree to 1e-9 of the largest entry of each array. In float, what may differ is rounding in another order. The yardstick e says how
the network amplifies rounding: the largest distance from float64, relative to each array's largest entry and over all
arrays, of the same PyTorch program in float32 and of float64 with every parameter moved by 2^-24 of itself, up or down at random,
three times. ref and cpu may be 16 e off: evaluations of one expression in different order err alike; the factor covers the spread
of a maximum over few draws, and a backward pass that takes softmax weights anew from the log of their sum (12 e seen in 240
random networks, 4 e except for one).

  model_parity.py            the checks
  model_parity.py --random N [SEED]   networks of N random configurations
  model_parity.py --golden   writes tests/golden/trainer_parity.json
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

from harness import COSPEC, Checks, Failure

TOOL = os.environ.get("PARITY_TOOL",
                      os.path.join(os.path.dirname(COSPEC), "tests", "oracle", "parity_tool"))
GOLDEN = os.path.join(os.path.dirname(__file__), "..", "golden", "trainer_parity.json")
NOWHERE = 2 ** 31 - 1
EXACT, FLOAT_FACTOR = 1e-9, 16


def tool(cases):
    """Results of each case as a dictionary of arrays."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(cases, file)
        done = subprocess.run([TOOL, path, os.path.join(folder, "out")], capture_output=True,
                              text=True, timeout=600)
        if done.returncode != 0:
            raise Failure(f"parity_tool ended with {done.returncode}: {done.stderr[-400:]}")
        out = []
        for i in range(len(cases)):
            with np.load(os.path.join(folder, f"out.{i}.npz")) as archive:
                out.append({name: archive[name] for name in archive.files})
        return out


# --- cases ------------------------------------------------------------------------------------------------------------------


def config(arch, sizes=(11, 10, 6, 2, 2, 10), act=None, tied=True, decoder=None, **ours):
    """config.json of a tiny model: (vocabulary, positions, width, layers, heads, inner); `ours` under "cospec"."""
    vocab, positions, width, layers, heads, inner = sizes
    if decoder:
        attention, *numbers = decoder
        ours["decoder_attention"] = attention
        ours.update(zip(("decoder_layers", "decoder_width", "decoder_heads", "decoder_inner"), numbers))
    if arch in ("gpt2", "linear"):
        names = ("n_positions", "n_embd", "n_layer", "n_head", "n_inner", "activation_function")
        rest = {"layer_norm_epsilon": 1e-5}
    else:
        names = ("max_position_embeddings", "hidden_size", "num_hidden_layers",
                 "num_attention_heads", "intermediate_size", "hidden_act")
        rest = {"layer_norm_eps": 1e-12 if arch == "bert" else 1e-5, "pad_token_id": 1,
                "type_vocab_size": 2 if arch == "bert" else 1}
    if arch == "linear":  # keys of the bert family, as config.json has them
        names = ("max_position_embeddings", "hidden_size", "num_hidden_layers",
                 "num_attention_heads", "intermediate_size", "hidden_act")
        rest = {"type_vocab_size": 0}
    if positions and arch.startswith("roberta"):
        positions += 2
    act = act or ("gelu_new" if arch == "gpt2" else "gelu")
    out = {"model_type": arch, "vocab_size": vocab, "tie_word_embeddings": tied, **rest,
           **dict(zip(names, (positions, width, layers, heads, inner, act)))}
    for key in ("resid_pdrop", "embd_pdrop", "attn_pdrop") if arch == "gpt2" else (
            "hidden_dropout_prob", "attention_probs_dropout_prob"):
        out[key] = 0.0
    if ours or arch == "linear":
        out["model_type"] = "cospec"
        out["cospec"] = {"architecture": arch, **ours}
    return out


def random_batch(form, c, rng, sizes):
    """Arrays at random: masks of any kind, rows that see nothing, padding, loss rows without a target."""
    batch, length, queries, decoder, predictions = sizes
    place = lambda: c.offset + rng.randrange((c.positions or 9 + c.offset) - c.offset)
    out = {"batch": batch, "length": length, "queries": 0, "decoder_length": 0,
           "predictions": predictions}
    n = batch * length
    out["token"] = [rng.randrange(c.vocab) for _ in range(n)]
    out["position"] = [c.offset + i % length for i in range(n)]
    out["vis"] = [rng.randrange(4) for _ in range(n)]
    out["lim"] = [rng.randrange(5) - 1 for _ in range(n)]
    for pad in (n - 1, n - 2):
        out["token"][pad], out["vis"][pad], out["lim"][pad] = -1, NOWHERE, -1
    top = length
    if form in ("two-stream", "linear"):
        top = out["queries"] = queries
        out["query_lim"] = [rng.randrange(5) - 1 for _ in range(batch * queries)]
        out["query_lim"][0] = -1
        if form == "two-stream":
            out["query_position"] = [place() for _ in range(batch * queries)]
    if form == "mae":
        top = out["decoder_length"] = decoder
        kind = c.decoder["attention"]
        m = batch * decoder
        taken = [kind in ("self", "self-cross") and rng.random() < 0.5 for _ in range(m)]
        out["decoder_from"] = [r // decoder * length + rng.randrange(length) if t else -1
                               for r, t in enumerate(taken)]
        out["decoder_token"] = [rng.randrange(c.vocab) if kind == "causal-cross" else -1 if t else 0
                                for t in taken]
        out["decoder_position"] = [place() for _ in range(m)]
        out["decoder_vis"] = [rng.randrange(4) for _ in range(m)]
        out["decoder_lim"] = [rng.randrange(5) - 1 for _ in range(m)]
        out["decoder_cross_lim"] = [rng.randrange(5) - 1 for _ in range(m)]
    out["predict"] = [rng.randrange(batch * top) for _ in range(predictions)]
    out["target"] = [rng.randrange(c.vocab) for _ in range(predictions)]
    out["predict"][1] = 0
    out["target"][-1] = -1
    out["weight"] = [(1 + rng.randrange(15)) / 16 for _ in range(predictions)]
    return out


def causal(batch):
    """The masks of ar."""
    for key in ("vis", "lim"):
        batch[key] = [r % batch["length"] for r in range(batch["batch"] * batch["length"])]


def bidirectional(batch):
    """The masks of masked, the last two rows padding."""
    n = batch["batch"] * batch["length"]
    batch["vis"], batch["lim"] = [0] * (n - 2) + [NOWHERE] * 2, [0] * (n - 2) + [-1] * 2


BIG = (13, 14, 15, 3, 5, 17)
CE, SP = "cross-entropy", "spectral"
# name, form, config, loss, what to do to the batch, whether golden
CASES = [
    ("gpt", "single", config("gpt2"), CE, causal, True),
    ("gpt, odd sizes", "single", config("gpt2", BIG), CE, causal, False),
    ("gpt, any mask", "single", config("gpt2"), CE, None, False),
    ("gpt, norm after", "single", config("gpt2", post_norm=True), CE, None, False),
    ("gpt, no bias, untied", "single", config("gpt2", tied=False, bias=False), CE, None, False),
    ("gpt, relu, spectral", "single", config("gpt2", act="relu"), SP, None, False),
    ("gpt, relative", "single",
     config("gpt2", (11, 0, 6, 2, 2, 10), relative_buckets=6, relative_distance=4), CE, None, False),
    ("masked", "single", config("roberta-prelayernorm"), CE, bidirectional, True),
    ("masked, odd sizes", "single", config("roberta-prelayernorm", BIG), CE, bidirectional, False),
    ("masked, relative", "single",
     config("roberta-prelayernorm", relative_buckets=8, relative_distance=4), CE, None, True),
    ("masked, relative, far", "single",
     config("roberta-prelayernorm", (11, 40, 6, 2, 2, 10), relative_buckets=12,
            relative_distance=24), CE, None, False),
    ("masked, norm after", "single", config("roberta"), CE, bidirectional, True),
    ("masked, norm after, tanh", "single", config("roberta", act="tanh"), CE, None, False),
    ("masked, no bias", "single", config("roberta-prelayernorm", bias=False), CE, None, False),
    ("bert, spectral", "single", config("bert"), SP, None, False),
    ("bert, relu, untied", "single", config("bert", act="relu", tied=False), CE, None, False),
    ("two-stream", "two-stream", config("gpt2", query_vector=True), CE, None, True),
    ("two-stream, odd sizes", "two-stream", config("gpt2", BIG, query_vector=True), CE, None, False),
    ("two-stream, one layer", "two-stream",
     config("gpt2", (11, 10, 6, 1, 2, 10), query_vector=True), CE, None, False),
    ("two-stream, relative alone", "two-stream",
     config("gpt2", (11, 0, 6, 2, 3, 10), query_vector=True, relative_buckets=6,
            relative_distance=5), CE, None, False),
    ("two-stream, masked, relative", "two-stream",
     config("roberta-prelayernorm", query_vector=True, relative_buckets=8, relative_distance=4), SP,
     None, False),
    ("two-stream, norm after", "two-stream", config("roberta", query_vector=True), CE, None, True),
    ("two-stream, bert", "two-stream", config("bert", query_vector=True), CE, None, False),
    ("mae-lm", "mae", config("roberta-prelayernorm", decoder=("self", 1, 6, 2, 7)), CE, None, True),
    ("mae-lm, relative", "mae",
     config("roberta-prelayernorm", decoder=("self", 2, 6, 3, 7), relative_buckets=8,
            relative_distance=4), CE, None, False),
    ("mae-lm, other width", "mae",
     config("roberta-prelayernorm", decoder=("self", 2, 9, 3, 7)), CE, None, True),
    ("mae-lm, norm after", "mae", config("roberta", decoder=("self", 2, 9, 3, 7)), CE, None, False),
    ("mae-lm, self-cross", "mae",
     config("roberta-prelayernorm", decoder=("self-cross", 2, 6, 2, 7)), CE, None, True),
    ("mae-lm, self-cross, norm after", "mae",
     config("bert", decoder=("self-cross", 2, 4, 2, 7)), CE, None, False),
    ("mae-lm, causal-cross", "mae",
     config("roberta-prelayernorm", decoder=("causal-cross", 2, 6, 2, 7)), CE, None, True),
    ("mae-lm, causal-cross, gpt, other width", "mae",
     config("gpt2", decoder=("causal-cross", 1, 8, 2, 5)), CE, None, False),
    ("mae-lm, cross", "mae",
     config("roberta-prelayernorm", decoder=("cross", 2, 6, 2, 7)), CE, None, True),
    ("mae-lm, cross, other width, no bias", "mae",
     config("roberta-prelayernorm", decoder=("cross", 2, 9, 3, 7), bias=False), SP, None, False),
    ("linear", "linear", config("linear", (11, 10, 6, 1, 2, 0), tied=False), CE, None, True),
    ("linear, spectral", "linear", config("linear", (11, 10, 6, 1, 2, 0), tied=False), SP, None, True),
    ("linear, sum, blind, spectral as printed", "linear",
     config("linear", (11, 0, 6, 1, 1, 0), tied=False, pooling=0.0), SP, None, False),
    ("two-stream, blind", "two-stream", config("gpt2", query_vector=True, blind_queries=True), CE, None, True),
    ("two-stream, blind, relative, norm after", "two-stream",
     config("roberta", query_vector=True, blind_queries=True, relative_buckets=8, relative_distance=4), CE, None, True),
]


def cases():
    from parity_torch import Settings

    for number, (name, form, conf, loss, adjust, golden) in enumerate(CASES):
        rng = random.Random(number)
        c = Settings(conf)
        long = c.positions and c.positions > 30
        sizes = (2, 29 if long else 5, 4, 6, 7) if number % 3 or golden else (3, 7, 5, 8, 11)
        case = {"name": name, "config": conf, "form": form, "loss": loss, "salt": 1000 + number,
                "factor": 1.0 if "printed" in name else 2.0, "spare": number % 4,
                "batch": random_batch(form, c, rng, sizes)}
        if loss == SP:
            total = c.vocab * (c.vocab + 1) / 2
            case["mass"] = [(v + 1) / total for v in range(c.vocab)]
        if adjust:
            adjust(case["batch"])
        yield case, golden


# --- both sides -------------------------------------------------------------------------------------------------------------


def ours(case, dtype, batch=None, nudge=None):
    """logits, losses, loss and grad.NAME by PyTorch; nudge: seed of moves of the parameters by an ulp of float."""
    import torch
    from parity_torch import Settings, evaluate, parameters

    c = Settings(case["config"])
    p = parameters(c, case["salt"], dtype)
    if nudge is not None:
        generator = torch.Generator().manual_seed(nudge)
        with torch.no_grad():
            for x in p.values():
                x *= 1 + 2.0 ** -24 * (2 * torch.randint(0, 2, x.shape, generator=generator) - 1)
    logits, losses, loss = evaluate(case, c, p, batch or case["batch"])
    loss.backward()
    out = {"logits": logits, "losses": losses.reshape(-1, 1), "loss": loss.reshape(1, 1)}
    for name, value in p.items():
        out["grad." + name] = value.grad if value.grad is not None else value.detach() * 0
    return {name: x.detach().double().numpy() for name, x in out.items()}


def both(case, batch=None):
    """The expected values, and the error of the same computation in float."""
    import torch

    expected = ours(case, torch.float64, batch)
    scale = scales(expected)
    rough = [ours(case, torch.float32, batch)]
    rough += [ours(case, torch.float64, batch, nudge) for nudge in (1, 2, 3)]
    return expected, max([2.0 ** -24] + [distance(expected, x, scale)[0] for x in rough])


def scales(results):
    """The scale of differences of an array: its largest entry. Losses share the largest; a gradient is taken for no smaller than
    1e-2 of the largest of all, since some vanish by cancellation (of a row's only key, of a bias that shifts all scores of a row)."""
    grads = max(np.abs(x).max() for name, x in results.items() if name.startswith("grad."))
    loss = np.abs(results["losses"]).sum()
    out = {name: max(np.abs(x).max(), 1e-2 * grads) if name.startswith("grad.")
           else loss if name.startswith("loss") else np.abs(x).max() for name, x in results.items()}
    return {name: x or 1.0 for name, x in out.items()}


def distance(expected, found, scale):
    """The largest relative difference, and where."""
    worst, where = 0.0, ""
    for name, x in expected.items():
        if name not in found:
            return np.inf, f"{name} is missing"
        if found[name].shape != x.shape:
            return np.inf, f"{name}: {found[name].shape}, expected {x.shape}"
        d = np.abs(found[name] - x).max() / scale[name]
        if not d <= worst:
            worst, where = d, name
    extra = [n for n in found if n.startswith("grad.") and n not in expected]
    return (np.inf, f"{extra[0]} is not expected") if extra else (worst, where)


MEASURED = {}


def judge(backend, expected, yardstick, found):
    """None, or what differs beyond the tolerance of the backend."""
    scale = scales(expected)
    worst, where = distance(expected, found, scale)
    limit = EXACT
    if backend != "ref64":
        limit = FLOAT_FACTOR * yardstick
        MEASURED["yardstick"] = max(MEASURED.get("yardstick", 0), yardstick)
        MEASURED["of yardstick"] = max(MEASURED.get("of yardstick", 0), worst / yardstick)
    MEASURED[backend] = max(MEASURED.get(backend, 0), worst)
    if not worst <= limit:
        return f"{where}: relative difference {worst:.3g} above {limit:.3g}"
    return None


BACKENDS = ("ref64", "ref", "cpu")


def random_cases(count, seed):
    """Any architecture in any form with any choice, sizes up to a few times those of CASES. Widths from 4 on: the norm of two numbers is -1
    and 1 whatever they are, with gradients that are nothing but rounding."""
    from parity_torch import Settings

    rng = random.Random(seed)
    coin = lambda p=0.5: rng.random() < p
    for number in range(count):
        form = rng.choice(["single", "two-stream", "mae", "linear"])
        arch = "linear" if form == "linear" else rng.choice(
            ["gpt2", "roberta-prelayernorm", "roberta", "bert"])
        heads = rng.randrange(1, 5)
        positions = 0 if coin(0.1) else rng.randrange(14, 20)
        sizes = (rng.randrange(2, 40), positions, heads * rng.randrange(1 + 3 // heads, 8),
                 1 if form == "linear" else rng.randrange(1, 4), heads, rng.randrange(1, 40))
        options = {"act": rng.choice(["gelu_new", "gelu", "relu", "tanh", "linear"]), "tied": coin()}
        if form == "linear":
            options.update(tied=False, pooling=rng.choice([0.0, 1.0, 2.0, 3.0]))
        else:
            options["bias"] = coin(0.8)
            for name in ("post_norm", "embed_norm", "head_transform", "head_bias"):
                if coin(0.2):
                    options[name] = coin()
            if coin(0.4):
                options["relative_buckets"] = 2 * rng.randrange(2, 9)
                options["relative_distance"] = options["relative_buckets"] // 4 + rng.randrange(1, 20)
            if form == "two-stream":
                options["query_vector"] = True
                options["blind_queries"] = number % 3 == 0
            if form == "mae":
                parts = rng.randrange(1, 4)
                options["decoder"] = (rng.choice(["self", "self-cross", "causal-cross", "cross"]),
                                      rng.randrange(1, 3), parts * rng.randrange(1 + 3 // parts, 7), parts,
                                      rng.randrange(1, 20))
        conf = config(arch, sizes, **options)
        c = Settings(conf)
        shape = (rng.randrange(1, 5), rng.randrange(2, 14), rng.randrange(1, 14),
                 rng.randrange(1, 14), rng.randrange(2, 20))
        mass = [rng.random() for _ in range(c.vocab)]
        yield {"name": f"random {seed}.{number} {arch}, {form}", "config": conf, "form": form,
               "loss": rng.choice([CE, SP]), "salt": rng.randrange(2 ** 31), "mass": mass,
               "factor": rng.choice([1.0, 2.0]), "spare": rng.randrange(2) if positions else 0,
               "batch": random_batch(form, c, rng, shape)}


def check_networks(checks, some):
    for case in some:
        expected, yardstick = both(case)
        try:
            found = tool([{**case, "backend": backend} for backend in BACKENDS])
        except Failure as error:
            checks.fail(case["name"], str(error))
            continue
        for backend, result in zip(BACKENDS, found):
            checks.run(f"{case['name']}, {backend}", judge, backend, expected, yardstick, result)


# --- hidden states ----------------------------------------------------------------------------------------------------------


def check_hidden(checks):
    """With the head of each form, and of the content rows alone (form single without loss rows)."""
    import torch
    from parity_torch import Settings, evaluate, hidden, parameters

    def compare(case, expected):
        found = tool([{**case, "loss": "none", "backend": "ref64"}])[0]
        scale = {name: np.abs(x).max() for name, x in expected.items()}
        worst, where = distance(expected, found, scale)
        MEASURED["hidden"] = max(MEASURED.get("hidden", 0), worst)
        return None if worst <= EXACT else f"{where}: relative difference {worst:.3g}"

    for case, _ in cases():
        if case["form"] == "linear":
            continue
        c = Settings(case["config"])
        p = parameters(c, case["salt"])
        top, states = hidden(c, p, case["batch"])
        kept = {f"hidden.{i}": x.detach().numpy() for i, x in enumerate(states)}
        # the head reads what it reads under cross-entropy: with the bias of the logits
        logits = evaluate({**case, "loss": CE}, c, p, case["batch"])[0].detach().numpy()
        checks.run(f"hidden states, {case['name']}", compare, {**case, "head": True},
                   {**kept, "logits": logits})
        alone = {k: v for k, v in case["batch"].items() if not k.startswith(("quer", "decoder"))}
        checks.run(f"hidden states alone, {case['name']}", compare,
                   {**case, "form": "single", "batch": alone}, {**kept, "top": top.detach().numpy()})


# --- batches of objectives --------------------------------------------------------------------------------------------------

OBJECTIVES = [
    ("ar", "single", config("gpt2")),
    ("ar:empty-prefix=shared", "single", config("gpt2")),
    ("masked:unmasked=4", "single", config("roberta-prelayernorm")),
    ("variable-masked:unmasked=1:4", "single", config("roberta")),
    ("bernoulli-masked:mask-ratio=0.4", "single", config("bert")),
    ("diverse-ar:t=2", "two-stream", config("gpt2", query_vector=True)),
    ("group-ar:t=3", "two-stream", config("gpt2", query_vector=True)),
    ("group-ar:t=2,event-weight=mask", "two-stream", config("roberta", query_vector=True)),
    ("permuted-ar", "two-stream", config("roberta-prelayernorm", query_vector=True)),
    ("gvp:segmentation=random,groups=2", "two-stream", config("gpt2", query_vector=True)),
    ("offset-ar:offset-weights=power:1", "two-stream", config("gpt2", query_vector=True)),
    ("gvp:segmentation=mixed,groups=2", "two-stream", config("gpt2", query_vector=True, blind_queries=True)),
    ("offset-ar:offset-weights=power:1", "two-stream", config("gpt2", query_vector=True, blind_queries=True)),
    ("masked:unmasked=3", "mae", config("roberta-prelayernorm", decoder=("self", 1, 6, 2, 7))),
    ("masked:mask-ratio=0.5", "mae", config("roberta-prelayernorm", decoder=("self-cross", 1, 9, 3, 7))),
    ("masked:unmasked=4", "mae", config("roberta", decoder=("causal-cross", 1, 6, 2, 7))),
    ("variable-masked:unmasked=2:4", "mae", config("gpt2", decoder=("cross", 1, 6, 2, 7))),
    ("masked:unmasked=4", "linear", config("linear", (11, 10, 6, 1, 2, 0), tied=False)),
    ("ar", "linear", config("linear", (11, 10, 6, 1, 2, 0), tied=False)),
    ("group-ar:t=2", "linear", config("linear", (11, 10, 6, 1, 2, 0), tied=False)),
]


def batch_of(found):
    """The arrays that cs_batch_build made, as a case's batch with weights that sum to 1."""
    sizes = found["batch.sizes"][0]
    out = dict(zip(("batch", "length", "queries", "decoder_length", "predictions"),
                   map(int, sizes[:5])))
    for name, x in found.items():
        if name.startswith("batch.") and name != "batch.sizes":
            out[name[6:]] = x.ravel().tolist()
    out["weight"] = [w / sizes[5] for w in out["weight"]]
    return out


def cut(batch, row, text, example):
    """A batch without the rows that a query row does not see: they can then have no influence,
    however many layers there are."""
    length, queries = batch["length"], batch["queries"]
    b = row // queries
    limit = batch["query_lim"][row]
    keep = [i for i in range(b * length, (b + 1) * length) if batch["vis"][i] <= limit]
    out = {"batch": 1, "length": len(keep), "queries": 1, "decoder_length": 0, "predictions": 1}
    for name in ("token", "position", "vis", "lim"):
        out[name] = [batch[name][i] for i in keep]
    for name in ("query_position", "query_lim"):
        out[name] = [batch[name][row]] if batch.get(name) else []
    return out


def check_objectives(checks):
    from parity_torch import Settings, evaluate, parameters

    rng = random.Random(5)
    for number, (spec, form, conf) in enumerate(OBJECTIVES):
        ids = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
        conf = {**conf, **ids, "model_type": "cospec",
                "cospec": {"architecture": conf["model_type"], **conf.get("cospec", {}), "mask_id": 3}}
        c = Settings(conf)
        texts = [[rng.randrange(4, c.vocab) for _ in range(n)] for n in (7, 6, 8)]
        case = {"name": spec, "config": conf, "form": form, "loss": CE, "salt": 77 + number,
                "factor": 2.0, "spare": number % 3, "objective": spec, "sequences": texts,
                "seed": 3, "step": 11}
        label = f"batch of {spec}, {form}"

        def compare():
            found = tool([{**case, "backend": backend} for backend in BACKENDS])
            batch = batch_of(found[0])
            expected, yardstick = both(case, batch)
            for backend, result in zip(BACKENDS, found):
                why = judge(backend, expected, yardstick, result)
                if why:
                    return f"{backend}: {why}"
            for e, place, target, r in zip(batch["example"], batch["place"], batch["target"],
                                           range(len(batch["target"]))):
                if target >= 0 and texts[e][place] != target:
                    return f"loss row {r} predicts {target}, the text has {texts[e][place]}"
            if form != "two-stream":
                return None
            p = parameters(c, case["salt"])
            for r, row in enumerate(batch["predict"]):
                if batch["target"][r] < 0:
                    continue
                left = cut(batch, row, texts, batch["example"][r])
                place = batch["place"][r]
                at = [q - c.offset for q in left["position"]]
                if place in at or (not c.blind and left["query_position"][0] - c.offset != place):
                    return f"loss row {r} of place {place} sees {at} from {left['query_position']}"
                if left["length"] == 0:
                    continue
                left.update(predict=[0], target=[batch["target"][r]], weight=[1.0])
                z = evaluate(case, c, p, left)[0].detach().numpy()[0]
                worst = np.abs(z - expected["logits"][r]).max()
                if not worst <= 1e-12 * np.abs(z).max():
                    return f"loss row {r} moves by {worst:.3g} when what it must not see is cut out"
            return None

        checks.run(label, compare)


# --- AdamW ------------------------------------------------------------------------------------------------------------------


def check_adamw(checks):
    """Four steps against torch.optim.AdamW; gains and biases do not decay, clipping by hand."""
    import torch
    from parity_torch import Settings, evaluate, parameters

    case = next(case for case, _ in cases() if case["name"] == "mae-lm")
    rate, b1, b2, eps, decay, clip = (float(np.float32(x)) for x in (0.01, 0.9, 0.98, 1e-6, 0.1, 0.5))
    steps = [{"learning_rate": rate, "beta1": b1, "beta2": b2, "eps": eps, "weight_decay": decay,
              "clip": clip, "bias1": 1 - b1 ** t, "bias2": 1 - b2 ** t} for t in (1, 2, 3, 4)]
    c = Settings(case["config"])
    p = parameters(c, case["salt"])
    undecayed = [n for n in p if n.endswith((".gain", ".bias"))]

    def compare():
        found = tool([{**case, "backend": "ref64", "updates": steps}])[0]
        q = {n: x.detach().clone().requires_grad_() for n, x in p.items()}
        adam = torch.optim.AdamW(
            [{"params": [q[n] for n in q if n not in undecayed], "weight_decay": decay},
             {"params": [q[n] for n in undecayed], "weight_decay": 0.0}],
            lr=rate, betas=(b1, b2), eps=eps)
        norms = []
        for _ in steps:
            for x in q.values():
                x.grad = torch.zeros_like(x)  # what no loss reads decays too
            evaluate(case, c, q, case["batch"])[2].backward()
            norms.append(float(torch.sqrt(sum((x.grad ** 2).sum() for x in q.values()))))
            for x in q.values():
                x.grad *= min(1, clip / norms[-1])
            adam.step()
        worst = max(np.abs(found["value." + n] - x.detach().numpy()).max() / float(x.detach().abs().max())
                    for n, x in q.items())
        worst = max(worst, np.abs(found["norm"][0] / norms - 1).max())
        MEASURED["adamw"] = worst
        # hyperparameters are floats: the corrections 1 - beta^t are off by up to 2^-24 of themselves
        return None if worst <= 4 * 2.0 ** -24 * len(steps) else f"relative difference {worst:.3g}"

    checks.run("AdamW", compare)


# --- golden numbers ---------------------------------------------------------------------------------------------------------


def golden():
    out = []
    digits = lambda x: [float(f"{v:.11g}") for v in np.asarray(x).ravel()]
    for case, wanted in cases():
        if not wanted:
            continue
        expected, yardstick = both(case)
        scale = scales(expected)
        out.append({**case, "expected": {name: digits(x) for name, x in expected.items()},
                    "scale": {name: float(f"{x:.6g}") for name, x in scale.items()},
                    "float_tolerance": float(f"{FLOAT_FACTOR * yardstick:.3g}")})
    text = ",\n".join(json.dumps(case, separators=(",", ":")) for case in out)
    with open(GOLDEN, "w", encoding="utf-8") as file:
        file.write(f"[\n{text}\n]\n")
    print(f"{len(out)} cases, {os.path.getsize(GOLDEN)} bytes")


def main():
    checks = Checks("model_parity")
    import torch
    torch.set_num_threads(1)
    if "--golden" in sys.argv[1:]:
        golden()
        return
    if not os.access(TOOL, os.X_OK):
        checks.skip("all", f"no {TOOL} (make oracle builds it)")
        return
    if "--random" in sys.argv[1:]:
        count, seed = map(int, (sys.argv[2:] + ["0"])[:2])
        check_networks(checks, random_cases(count, seed))
    else:
        check_networks(checks, (case for case, _ in cases()))
        check_hidden(checks)
        check_objectives(checks)
        check_adamw(checks)
    print("# largest relative differences: " +
          ", ".join(f"{name} {x:.2g}" for name, x in MEASURED.items()))
    checks.exit()


if __name__ == "__main__":
    main()
