"""States and logits of each family of published models against its class in transformers, over random configurations.

    families_parity.py [--count N] [--page FILE] [FAMILY...]

For each family N configurations with random sizes and every option switched at random become models with random weights. cospec reads the
folder that the class writes. States of every layer and logits of texts of several lengths, padded on either side, must agree with those of
the class in double. The tolerance is that of `cospec verify-model` or, where random weights amplify rounding, 5 times what the class itself
loses in float32. --page writes docs/results/families.md: the largest deviation of each family, relative to the largest state of its layer, and that of the
class in float32.
"""
import argparse
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")

import numpy as np

from harness import COSPEC, Checks

try:
    import torch
    import transformers

    import babylm_models
    from make_reference import decoder_reference, doubles, random_text, randomise, reference, rounding, save
except ImportError as missing:
    Checks("families").skip("all", f"{sys.executable}: {missing}")
    sys.exit(0)

transformers.utils.logging.disable_progress_bar()
TEXTS, LENGTH = 4, 23


class Draw:
    """Random choices of one configuration."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def of(self, *values):
        return values[self.rng.integers(len(values))]

    def coin(self):
        return bool(self.rng.integers(2))

    def real(self, low, high):
        return float(round(self.rng.uniform(low, high), 4))

    def sizes(self, heads=True, head_dim=True):
        """Sizes of a decoder; with grouped queries and heads wider than their share where requested."""
        n, share = self.of(1, 2, 4), self.of(4, 8)
        keys = {"vocab_size": int(self.rng.integers(17, 40)), "num_hidden_layers": int(self.rng.integers(1, 5)), "num_attention_heads": n,
                "hidden_size": n * share, "intermediate_size": int(self.rng.integers(5, 30)), "max_position_embeddings": 640,
                "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
        if heads:
            keys["num_key_value_heads"] = self.of(*(k for k in (1, 2, 4) if n % k == 0))
        if head_dim:
            keys["head_dim"] = self.of(share, 4, 8, 12)
        return keys

    def rope(self, share=None, kinds=("default", "linear", "llama3", "yarn")):
        kind = self.of(*kinds)
        out = {"rope_type": kind, "rope_theta": self.real(50, 20000)}
        if kind in ("linear", "llama3", "yarn"):
            out["factor"] = self.real(1.5, 8)
        if kind in ("llama3", "yarn"):
            out["original_max_position_embeddings"] = self.of(8, 32, 64)
        if kind == "llama3":
            out.update(low_freq_factor=1.0, high_freq_factor=self.real(2, 5))
        if share:
            out["partial_rotary_factor"] = share
        return out

    def types(self, layers):
        return [self.of("full_attention", "sliding_attention") for _ in range(layers)]


ACTS = ("silu", "gelu", "relu", "gelu_pytorch_tanh", "relu2", "quick_gelu")


def llama_like(d, eps="rms_norm_eps", head_dim=True, **more):
    return {**d.sizes(head_dim=head_dim), "hidden_act": d.of(*ACTS), eps: d.of(1e-6, 1e-5, 1e-3), "tie_word_embeddings": d.coin(),
            "rope_parameters": d.rope(), **more}


def partial(d, **more):
    """With rotary positions of part of a head of 8 columns."""
    keys = llama_like(d, **more)
    heads = keys["num_attention_heads"]
    keys.update(hidden_size=8 * heads, rope_parameters=d.rope(d.of(0.25, 0.5, 1.0), ("default", "linear")))
    if "head_dim" in keys:
        keys["head_dim"] = 8
    return keys


def layered(d):
    """Rotary positions by the type of the layer."""
    return {"full_attention": d.rope(), "sliding_attention": d.rope(kinds=("default",))}


def gemma(d):
    return llama_like(d, attention_bias=d.coin())


def gemma3(d):
    keys = llama_like(d, attention_bias=d.coin(), query_pre_attn_scalar=d.of(4, 7, 16), sliding_window=d.of(2, 5, 9),
                      final_logit_softcapping=d.of(None, 3.0), rope_parameters=layered(d))
    keys["hidden_activation"] = keys.pop("hidden_act")
    keys["layer_types"] = d.types(keys["num_hidden_layers"])
    return keys


def starcoder2(d):
    return llama_like(d, "norm_epsilon", use_bias=d.coin(), sliding_window=d.of(None, 3, 8))


def stablelm(d):
    return partial(d, eps="layer_norm_eps", head_dim=False, use_qkv_bias=d.coin(), use_parallel_residual=d.coin())


def arcee(d):
    return llama_like(d, attention_bias=d.coin(), mlp_bias=d.coin())


def nemotron(d):
    return partial(d, eps="norm_eps", attention_bias=d.coin(), mlp_bias=d.coin())


def olmo(d):
    keys = llama_like(d, attention_bias=d.coin())
    keys.pop("rms_norm_eps")
    return keys


def olmo2(d):
    return llama_like(d, attention_bias=d.coin())


def olmo3(d):
    keys = llama_like(d, attention_bias=d.coin(), sliding_window=d.of(2, 5, 9), rope_parameters=layered(d))
    keys["layer_types"] = d.types(keys["num_hidden_layers"])
    return keys


def exaone4(d):
    keys = llama_like(d, sliding_window=d.of(None, 2, 5, 9), sliding_window_pattern=d.of(2, 4))
    if keys["sliding_window"] is None:
        keys["layer_types"] = ["full_attention"] * keys["num_hidden_layers"]
    elif d.coin():
        keys["layer_types"] = d.types(keys["num_hidden_layers"])
    return keys


def smollm3(d):
    keys = llama_like(d, attention_bias=d.coin(), mlp_bias=d.coin(), use_sliding_window=d.coin(), sliding_window=d.of(3, 7),
                      no_rope_layer_interval=d.of(1, 2, 3))
    if d.coin():
        keys["no_rope_layers"] = [int(d.coin()) for _ in range(keys["num_hidden_layers"])]
    return keys


def granite(d):
    return llama_like(d, attention_bias=d.coin(), mlp_bias=d.coin(), embedding_multiplier=d.real(0.5, 12), logits_scaling=d.real(0.5, 8),
                      residual_multiplier=d.real(0.1, 1), attention_multiplier=d.real(0.05, 1))


def cohere(d):
    return llama_like(d, "layer_norm_eps", attention_bias=d.coin(), logit_scale=d.real(0.05, 2), use_qk_norm=d.coin())


def glm4(d):
    return partial(d, attention_bias=d.coin())


def ernie(d):
    return llama_like(d, use_bias=d.coin())


def phi3(d):
    keys = partial(d, head_dim=False, sliding_window=d.of(None, 3, 8), original_max_position_embeddings=640)
    share = keys["rope_parameters"]["partial_rotary_factor"]
    keys["rope_parameters"] = d.rope(share, ("default",))
    if d.coin():  # beyond the original length or not; the published files say "su"
        keys.update(original_max_position_embeddings=d.of(9, 40), max_position_embeddings=d.of(40, 200))
        keys["rope_parameters"].update(rope_type=d.of("longrope", "su"), original_max_position_embeddings=keys["original_max_position_embeddings"], short_factor=[d.real(1, 3) for _ in range(int(4 * share))],
                                       long_factor=[d.real(1, 9) for _ in range(int(4 * share))])
    return keys


def llama(d):
    keys = llama_like(d, attention_bias=d.coin(), mlp_bias=d.coin())
    if d.coin():
        keys["max_position_embeddings"] = d.of(9, 15, 40)
        keys["rope_parameters"].update(rope_type="dynamic", factor=d.real(1.5, 8))
        for key in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"):
            keys["rope_parameters"].pop(key, None)
    return keys


def stacks(d, **more):
    return {"vocab_size": int(d.rng.integers(17, 40)), "pad_token_id": 1, "eos_token_id": 2, "d_model": d.of(8, 12), "d_kv": d.of(3, 4, 8),
            "d_ff": int(d.rng.integers(5, 30)), "num_layers": d.of(1, 2, 3), "num_decoder_layers": d.of(1, 2, 3), "num_heads": d.of(1, 2, 4),
            "relative_attention_num_buckets": d.of(4, 8, 12), "relative_attention_max_distance": d.of(7, 20), "layer_norm_epsilon": d.of(1e-6, 1e-3),
            "feed_forward_proj": d.of("gated-gelu", "gated-silu", "relu", "gelu"), "tie_word_embeddings": d.coin(), "decoder_start_token_id": d.of(0, 1), **more}


def babylm(kind, d):
    width = d.of(4, 8)
    keys = {"vocab_size": int(d.rng.integers(17, 40)), "hidden_size": width * 2, "num_hidden_layers": d.of(1, 2, 3),
            "num_attention_heads": d.of(1, 2, width), "intermediate_size": int(d.rng.integers(5, 30)), "max_position_embeddings": d.of(24, 64, 512),
            "position_bucket_size": d.of(4, 8, 16), "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "layer_norm_eps": d.of(1e-7, 1e-5, 1e-3)}
    ltg = kind.startswith("ltg-bert")
    causal = not ltg and d.coin()
    head = "ForCausalLM" if causal else "ForMaskedLM"
    class_ = d.of("LtgBert", "Ltgbert") if ltg else d.of("GPTBERT", "GPTBert", "GptBert") if causal else d.of("GPTBERT", "Ltgbert")
    named = {"architectures": [class_ + head], **d.of({}, {"model_type": "ltgbert" if class_.startswith("Ltg") else d.of("gpt_bert", "gptbert")})}
    if class_.startswith("Ltg") and causal:
        named["is_decoder"] = True
    if ltg:  # what says how vectors of distances are split: the folder's code, a key, or the class
        by_head = kind == "ltg-bert by head"
        named.update(d.of({"auto_map": {"AutoModel": d.of("", "a/b--") + "modeling_ltgbert.LtgBertModel"}}, {"position_by_head": by_head}))
        if by_head and d.coin():
            named = {"architectures": ["NorbertForMaskedLM"]}
    return keys, named, causal


def mpnet(d):
    keys = d.sizes(heads=False, head_dim=False)
    return {**keys, "hidden_act": d.of("gelu", "relu", "gelu_new"), "layer_norm_eps": d.of(1e-12, 1e-5, 1e-3), "max_position_embeddings": 64,
            "tie_word_embeddings": d.coin()}


def esm(d):
    keys = d.sizes(heads=False, head_dim=False)
    return {**keys, "layer_norm_eps": d.of(1e-12, 1e-5, 1e-3), "max_position_embeddings": 64, "tie_word_embeddings": d.coin(),
            "position_embedding_type": d.of("rotary", "absolute"), "emb_layer_norm_before": d.of(None, False, True), "token_dropout": d.of(False, True, True),
            "mask_token_id": d.of(5, 9), "rope_theta": d.real(50, 20000)}


def older_nomic(folder, seed):
    """Some folders of nomic_bert get the keys of the files from before the class."""
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        keys = json.load(file)
    rope, heads = keys["rope_parameters"], keys["num_attention_heads"]
    if seed % 2 or rope["rope_type"] != "default" or keys["hidden_act"] not in ("silu", "gelu") or keys["head_dim"] * heads != keys["hidden_size"]:
        return
    old = {"n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_inner": "intermediate_size",
           "layer_norm_epsilon": "layer_norm_eps", "n_positions": "max_position_embeddings"}
    keys.update({new: keys.pop(key) for new, key in old.items()}, rotary_emb_base=rope["rope_theta"], rotary_emb_fraction=1.0, qkv_proj_bias=False,
                mlp_fc1_bias=False, mlp_fc2_bias=False, rotary_scaling_factor=None, activation_function={"silu": "swiglu", "gelu": "geglu"}[keys["hidden_act"]])
    for key in ("rope_parameters", "hidden_act", "head_dim"):
        del keys[key]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(keys, file)


def nomic(d):
    if d.coin():  # older_nomic
        keys = nomic_keys(d)
        keys.update(hidden_act=d.of("silu", "gelu"), rope_parameters=d.rope(kinds=("default",)), head_dim=keys["hidden_size"] // keys["num_attention_heads"])
        return keys
    return nomic_keys(d)


def nomic_keys(d):
    return {**d.sizes(heads=False), "hidden_act": d.of(*ACTS), "layer_norm_eps": d.of(1e-12, 1e-5, 1e-3), "type_vocab_size": d.of(1, 2, 3),
            "tie_word_embeddings": d.coin(), "rope_parameters": d.rope()}


def gpt_neo(d):
    keys = d.sizes(heads=False, head_dim=False)
    keys["num_layers"], keys["num_heads"] = keys.pop("num_hidden_layers"), keys.pop("num_attention_heads")
    return {**keys, "attention_types": [[[d.of("global", "local")], 1] for _ in range(keys["num_layers"])], "window_size": d.of(2, 5, 9),
            "activation_function": d.of("gelu_new", "relu", "gelu"), "layer_norm_epsilon": d.of(1e-5, 1e-3), "tie_word_embeddings": d.coin(),
            **d.of({}, {"intermediate_size": None})}


def gpt_bigcode(d):
    keys = d.sizes(heads=False, head_dim=False)
    return {"vocab_size": keys["vocab_size"], "n_positions": 64, "n_embd": keys["hidden_size"], "n_layer": keys["num_hidden_layers"],
            "n_head": keys["num_attention_heads"], "n_inner": d.of(None, 13), "multi_query": d.coin(), "scale_attn_weights": d.coin(),
            "activation_function": d.of("gelu_pytorch_tanh", "relu", "gelu"), "layer_norm_epsilon": d.of(1e-5, 1e-3), "tie_word_embeddings": d.coin(),
            "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}


def falcon(d):
    keys = d.sizes(head_dim=False)
    heads = keys.pop("num_key_value_heads")
    keys["ffn_hidden_size"] = d.of(None, keys.pop("intermediate_size"))
    newer = d.coin()
    return {**keys, "new_decoder_architecture": newer, "num_kv_heads": heads if newer else None, "multi_query": d.coin(),
            "parallel_attn": newer or d.coin(), "num_ln_in_parallel_attn": d.of(None, 1, 2) if newer else None, "bias": d.coin(),
            "activation": d.of("gelu", "relu"), "layer_norm_epsilon": d.of(1e-5, 1e-3), "tie_word_embeddings": d.coin(), "rope_parameters": d.rope()}


def vision(d, **more):
    heads, patch = d.of(1, 2, 4), d.of(2, 3)
    return {"hidden_size": heads * d.of(4, 8), "num_hidden_layers": d.of(1, 2, 3), "num_attention_heads": heads, "image_size": patch * d.of(2, 3, 4),
            "patch_size": patch, "num_channels": d.of(1, 3), "layer_norm_eps": d.of(1e-6, 1e-3), "hidden_act": d.of("gelu", "relu", "quick_gelu"), **more}


def vit_like(d):
    return vision(d, intermediate_size=int(d.rng.integers(5, 30)), qkv_bias=d.coin())


def tower(d):
    return vision(d, intermediate_size=int(d.rng.integers(5, 30)))


def dinov2(d):
    return vision(d, mlp_ratio=d.of(1, 2, 4), qkv_bias=d.coin(), use_swiglu_ffn=d.coin())


def beit(d):
    """With every kind of positions, factors of columns or none, states with the final norm or without."""
    return vision(d, intermediate_size=int(d.rng.integers(5, 30)), use_absolute_position_embeddings=d.coin(), use_relative_position_bias=d.coin(),
                  use_shared_relative_position_bias=d.coin(), layer_scale_init_value=d.of(0.0, 0.1, 1.0), use_mean_pooling=d.coin(),
                  use_mask_token=d.coin(), drop_path_rate=d.of(0.0, 0.2), vocab_size=d.of(8192, 11), hidden_dropout_prob=d.of(0.0, 0.1),
                  attention_probs_dropout_prob=d.of(0.0, 0.1), pool_scales=d.of([1, 2], [1, 2, 3, 6]), use_auxiliary_head=d.coin(),
                  auxiliary_loss_weight=d.real(0.1, 1), auxiliary_channels=d.of(2, 256), auxiliary_num_convs=d.of(1, 2),
                  auxiliary_concat_input=d.coin(), semantic_loss_ignore_index=d.of(0, 255), reshape_hidden_states=d.coin(),
                  **d.of({}, {"out_indices": [0, 1]}, {"segmentation_indices": [1]}))


def mixtral(d):
    experts = d.of(1, 2, 5, 8)
    return llama_like(d, num_local_experts=experts, num_experts_per_tok=d.of(*range(1, min(experts, 3) + 1)), sliding_window=d.of(None, 3, 8),
                      router_jitter_noise=d.of(0.0, 0.1), output_router_logits=d.coin(), router_aux_loss_coef=d.real(0, 1))


def qwen3_moe(d):
    experts = d.of(1, 2, 5, 8)
    keys = llama_like(d, num_experts=experts, num_experts_per_tok=d.of(*range(1, min(experts, 3) + 1)), moe_intermediate_size=int(d.rng.integers(3, 20)),
                      norm_topk_prob=d.coin(), attention_bias=d.coin(), use_sliding_window=d.coin(), sliding_window=d.of(None, 3, 8), max_window_layers=d.of(0, 2),
                      decoder_sparse_step=d.of(1, 1, 2), router_aux_loss_coef=d.real(0, 1))
    layers, step = range(keys["num_hidden_layers"]), keys["decoder_sparse_step"]
    keys["mlp_only_layers"] = [layer for layer in layers if d.of(True, False, False)]
    mixed = any(layer not in keys["mlp_only_layers"] and (layer + 1) % step == 0 for layer in layers)
    keys["output_router_logits"] = mixed and d.coin()  # of no layer, they fail in the class
    return keys


FAMILY = {
    "deit": ("DeiTModel", vit_like), "ijepa": ("IJepaModel", vit_like), "clip_vision_model": ("CLIPVisionModel", tower),
    "siglip_vision_model": ("SiglipVisionModel", tower), "dinov2": ("Dinov2Model", dinov2),
    "dinov2_with_registers": ("Dinov2WithRegistersModel", lambda d: {**dinov2(d), "num_register_tokens": d.of(0, 1, 4)}),
    "beit": ("BeitModel", beit),
    "llama": ("LlamaForCausalLM", llama), "mpnet": ("MPNetForMaskedLM", mpnet), "esm": ("EsmForMaskedLM", esm), "nomic_bert": ("NomicBertForMaskedLM", nomic), "gpt_neo": ("GPTNeoForCausalLM", gpt_neo),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", gpt_bigcode), "falcon": ("FalconForCausalLM", falcon),
    **{kind: (None, functools.partial(babylm, kind)) for kind in babylm_models.FILES},
    "t5": ("T5ForConditionalGeneration", stacks), "mt5": ("MT5ForConditionalGeneration", stacks), "umt5": ("UMT5ForConditionalGeneration", stacks),
    "gemma": ("GemmaForCausalLM", gemma), "gemma3_text": ("Gemma3ForCausalLM", gemma3), "starcoder2": ("Starcoder2ForCausalLM", starcoder2),
    "stablelm": ("StableLmForCausalLM", stablelm), "arcee": ("ArceeForCausalLM", arcee), "nemotron": ("NemotronForCausalLM", nemotron),
    "olmo": ("OlmoForCausalLM", olmo), "olmo2": ("Olmo2ForCausalLM", olmo2), "olmo3": ("Olmo3ForCausalLM", olmo3),
    "exaone4": ("Exaone4ForCausalLM", exaone4), "smollm3": ("SmolLM3ForCausalLM", smollm3), "granite": ("GraniteForCausalLM", granite),
    "cohere": ("CohereForCausalLM", cohere), "glm4": ("Glm4ForCausalLM", glm4), "ernie4_5": ("Ernie4_5ForCausalLM", ernie),
    "phi3": ("Phi3ForCausalLM", phi3), "mixtral": ("MixtralForCausalLM", mixtral), "qwen3_moe": ("Qwen3MoeForCausalLM", qwen3_moe),
}
PICTURES = ("DeiTModel", "IJepaModel", "CLIPVisionModel", "SiglipVisionModel", "Dinov2Model", "Dinov2WithRegistersModel", "BeitModel")
WHOLE = ("llama", "phi3")  # by the length of the text, which padding changes in transformers
LARGEST, OWN = {}, {}
PAGE = """# Published models against their reference code

This page compares the states and logits of each family of published models with those of its reference code. It is for readers who load a
model that others trained.

**Finding.** No family departs from its reference by more than rounding.

**Method.** For each family {count} configurations with random sizes and every option switched at random become models with random weights of
order one. The class writes the folder, and `cospec` reads it. All layers and the logits are compared with the class in double. A deviation
is the largest absolute difference, relative to the largest state of its layer. Random weights amplify rounding, so the second number is
that of the class in float32. A family fails if a deviation exceeds both 5 times the second number and the tolerance of
`cospec verify-model`.

**Scope.** transformers {version}. Texts have 23 tokens, padded on either side. Of `llama` and `phi3` they are not padded, because scaled
positions then depend on the padding in transformers. `gpt_bert` and `ltg-bert` are compared with their published code. Models of images
are compared on raw pixels. The other families of [model-config.md](../reference/model-config.md) have stored references in
`tests/golden/models`.

**Repeat.** `families_parity.py --page docs/results/families.md` in tests/oracle (an area of `make oracle`) writes this page; it is not
edited by hand. `COSPEC_LTGOSLO` names a folder with clones of the published code.

| family | largest deviation | the class in float32 |
|---|---|---|
"""


def verify(folder, path, rounds, *options):
    """The largest deviation of any layer and of logits, relative to the layer; or what exceeds the tolerance."""
    line = [COSPEC, "verify-model", folder, path, "--json", "--threads", "1", *options]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()[-300:]
    worst = 0.0
    for i, layer in enumerate(json.loads(done.stdout)["layers"]):
        if layer["items"] == 0:
            return None, f"layer {layer['layer']} compares nothing"
        worst = max(worst, layer["max"] / max(layer["scale"], 1e-30))
        OWN["now"] = max(OWN.get("now", 0), rounds[i] / max(layer["scale"], 1e-30))
        if not layer["max"] <= max(layer["tolerance"], 5 * rounds[i]):
            return worst, f"layer {layer['layer']} differs by {layer['max']:.3g}, tolerance {layer['tolerance']:.3g}, rounding {rounds[i]:.3g}"
    return worst, None


def check(family, count):
    name, make = FAMILY[family]
    cls = getattr(transformers, name)
    OWN["now"] = 0
    for k in range(count):
        keys = make(Draw([k, sum(map(ord, family))]))
        with tempfile.TemporaryDirectory() as folder:
            model = randomise(cls(cls.config_class(**keys, attn_implementation="eager")), k)
            save(model, folder)
            model = cls.from_pretrained(folder, attn_implementation="eager").double()
            ids, mask = random_text(model.config, 1 if family in WHOLE else TEXTS, LENGTH, k)
            rounds = rounding(cls, folder, model, ids, mask)
            path = os.path.join(folder, "reference.npz")
            decoded = decoder_reference(cls, folder, ids, mask, LENGTH + 3, k)
            np.savez(path, **reference(model, ids, mask), **decoded)
            if family == "nomic_bert":
                older_nomic(folder, k)
            worst, why = verify(folder, path, rounds)
            if decoded and not why:
                other, why = verify(folder, path, decoded["decoder_rounding"], "--stack", "decoder")
                worst = max(worst, other or 0)
        if why:
            return f"configuration {k}: {why}; {keys}"
        LARGEST[family], OWN[family] = max(LARGEST.get(family, 0), worst), OWN["now"]
    return None


def picture_states(model, x):
    with torch.no_grad(), doubles() if x.dtype == torch.float64 else contextlib.nullcontext():
        out = model(x, output_hidden_states=True)
    return torch.stack([*out.hidden_states[:-1], out.last_hidden_state]).double().numpy()


def check_pictures(family, count):
    """States of every layer and row, of raw pixels in [0, 1]."""
    name, make = FAMILY[family]
    cls = getattr(transformers, name)
    OWN["now"] = 0
    for k in range(count):
        keys = make(Draw([k, sum(map(ord, family))]))
        with tempfile.TemporaryDirectory() as folder:
            save(randomise(cls(cls.config_class(**keys, attn_implementation="eager")), k), f"{folder}/model")
            model = cls.from_pretrained(f"{folder}/model", attn_implementation="eager").eval()
            pixels = np.random.default_rng(k).integers(0, 256, (3, keys["image_size"], keys["image_size"], keys["num_channels"]), dtype=np.uint8)
            np.save(f"{folder}/pictures.npy", pixels)
            x = torch.tensor(pixels / 255.0).permute(0, 3, 1, 2)
            single = picture_states(model, x.float())
            exact = picture_states(model.double(), x)
            done = subprocess.run([COSPEC, "features", f"{folder}/model", f"{folder}/pictures.npy", "--pooling", "none", "--layers", "all", "-o",
                                   f"{folder}/states"], capture_output=True, text=True, check=False)
            if done.returncode:
                return f"configuration {k}: {done.stderr.strip()[-300:]}; {keys}"
            for layer, theirs in enumerate(exact):
                ours = np.load(f"{folder}/states/layer-{layer}.npy").reshape(theirs.shape)
                scale = np.abs(theirs).max()
                worst, own = np.abs(ours - theirs).max() / scale, np.abs(single[layer] - theirs).max() / scale
                if not worst <= max(5 * own, 8 * (layer + 1) * 30 ** 0.5 * 2 ** -24):
                    return f"configuration {k}, layer {layer}: {worst:.3g}, the class itself {own:.3g}; {keys}"
                LARGEST[family], OWN[family] = max(LARGEST.get(family, 0), worst), max(OWN.get(family, 0), own)
    return None


def check_babylm(kind, count):
    OWN["now"] = 0
    for k in range(count):
        d = Draw([k, sum(map(ord, kind))])
        keys, named, causal = FAMILY[kind][1](d)
        form = d.of("", "model.") if kind.startswith("ltg-bert") else d.of("", "model.", "baseline")
        model = babylm_models.build(kind, keys, k)
        ids, mask = babylm_models.text(keys, TEXTS, LENGTH, k)
        with tempfile.TemporaryDirectory() as folder:
            babylm_models.save(model, keys, form, named, d.coin(), folder)
            if "auto_map" in named:
                shutil.copy(os.path.join(babylm_models.CODE, *babylm_models.FILES[kind]), os.path.join(folder, "modeling_ltgbert.py"))
            arrays, rounds = babylm_models.reference(model, ids, mask, causal)
            path = os.path.join(folder, "reference.npz")
            np.savez(path, **arrays)
            worst, why = verify(folder, path, rounds)
        if why:
            return f"configuration {k}, {form or 'bare'} names, {named}: {why}; {keys}"
        LARGEST[kind], OWN[kind] = max(LARGEST.get(kind, 0), worst), OWN["now"]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", nargs="*")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--page", metavar="FILE")
    given = parser.parse_args()
    torch.set_num_threads(1)
    checks = Checks("families")
    for family in given.family or FAMILY:
        if FAMILY[family][0] is None and not babylm_models.there():
            checks.skip(family, "COSPEC_LTGOSLO names no folder of the published code")
            continue
        how = check_babylm if not FAMILY[family][0] else check_pictures if FAMILY[family][0] in PICTURES else check
        checks.run(family, how, family, given.count)
        if family in LARGEST:
            print(f"# {family}: largest relative deviation {LARGEST[family]:.2g}, of the class in float32 {OWN[family]:.2g}", flush=True)
    if given.page:
        with open(given.page, "w", encoding="utf-8") as file:
            file.write(PAGE.format(version=transformers.__version__, count=given.count))
            for family, worst in LARGEST.items():
                file.write(f"| `{family}` | {worst:.1e} | {OWN[family]:.1e} |\n")
    checks.exit()


if __name__ == "__main__":
    main()
