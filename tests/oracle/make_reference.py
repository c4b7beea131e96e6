"""Reference states for `cospec verify-model`, by transformers.

  make_reference.py MODEL OUT.npz [--sequences N] [--length S] [--seed K]
      random token ids, some rows padded; hidden states of every layer and logits, computed in double from the stored weights, kept in float
  make_reference.py --golden
  make_reference.py --golden-read [NAME...]
      write tests/golden/models: a tiny random model of each class, with its reference; of those that are read alone
"""
import argparse
import contextlib
import json
import os
import shutil
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")

import numpy as np
import safetensors.torch
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


# The architectures that are read: class, and the keys of a tiny configuration; then, by other names, the same class with
# every optional part the other way round.
SIZES = {"vocab_size": 19, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
         "max_position_embeddings": 640, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
GROUPED = {**SIZES, "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}
WINDOW = {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}
MODERN = {**SIZES, "num_hidden_layers": 3, "local_attention": 6, "cls_token_id": 0, "sep_token_id": 2}
SWITCHED = {"norm_bias": True, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "decoder_bias": False,
            "tie_word_embeddings": False, "hidden_activation": "silu", "classifier_activation": "relu", "norm_eps": 1e-3,
            "global_attn_every_n_layers": 2, "local_attention": 4}
TOKENS = {"vocab_size": 19, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
DISTIL = {**TOKENS, "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 12, "max_position_embeddings": 640}
OPT = {**TOKENS, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 12,
       "max_position_embeddings": 640, "word_embed_proj_dim": 8}
GPTJ = {**TOKENS, "n_positions": 640, "n_embd": 16, "n_layer": 2, "n_head": 2, "rotary_dim": 4}
T5 = {"vocab_size": 19, "pad_token_id": 1, "eos_token_id": 2, "d_model": 8, "d_kv": 6, "d_ff": 12, "num_layers": 2,
      "num_heads": 2}
DEBERTA = {**SIZES, "relative_attention": True}
# position_embedding_type, which transformers 5.23 takes and passes by: of 4.44.2
RELATIVE = {**SIZES, "position_embedding_type": "relative_key"}
BLOOM = {**TOKENS, "hidden_size": 8, "n_layer": 2, "n_head": 2}


def rope(kind, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 100.0, **more}}


READ = {
    "llama": ("LlamaForCausalLM", GROUPED),
    "llama-switched": ("LlamaForCausalLM", {
        **GROUPED, "head_dim": 6, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True,
        "hidden_act": "gelu", "rms_norm_eps": 1e-2, **rope("linear", factor=3.0)}),
    "llama-llama3": ("LlamaForCausalLM", {
        **SIZES, "hidden_size": 16, **rope("llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                           original_max_position_embeddings=64)}),
    "llama-yarn": ("LlamaForCausalLM", {
        **SIZES, "hidden_size": 16, **rope("yarn", factor=4.0, original_max_position_embeddings=160)}),
    "llama-dynamic": ("LlamaForCausalLM", {**SIZES, **rope("dynamic", factor=4.0)}),
    "mistral": ("MistralForCausalLM", {**GROUPED, "sliding_window": 7}),
    "eurobert": ("EuroBertForMaskedLM", {**GROUPED, "mask_token_id": 3}),
    "qwen2": ("Qwen2ForCausalLM", GROUPED),
    "qwen2-switched": ("Qwen2ForCausalLM", {**GROUPED, **WINDOW, "tie_word_embeddings": True}),
    "qwen3": ("Qwen3ForCausalLM", GROUPED),
    "qwen3-switched": ("Qwen3ForCausalLM", {**GROUPED, **WINDOW, "head_dim": 6, "attention_bias": True}),
    "gpt_neox": ("GPTNeoXForCausalLM", {**SIZES, "hidden_size": 32}),
    "gpt_neox-switched": ("GPTNeoXForCausalLM", {
        **SIZES, "hidden_size": 16, "use_parallel_residual": False, "attention_bias": False, "hidden_act": "gelu_new",
        "tie_word_embeddings": True, **rope("default", partial_rotary_factor=0.5)}),
    "modernbert": ("ModernBertForMaskedLM", MODERN),
    "modernbert-switched": ("ModernBertForMaskedLM", {**MODERN, **SWITCHED}),
    "modernbert-decoder": ("ModernBertDecoderForCausalLM", MODERN),
    "modernbert-decoder-switched": ("ModernBertDecoderForCausalLM", {**MODERN, **SWITCHED}),
    "distilbert": ("DistilBertForMaskedLM", DISTIL),
    "distilbert-switched": ("DistilBertForMaskedLM", {**DISTIL, "activation": "relu", "tie_word_embeddings": False}),
    "electra": ("ElectraForMaskedLM", {**SIZES, "embedding_size": 6}),
    "electra-switched": ("ElectraForPreTraining", {**SIZES, "embedding_size": 8, "hidden_act": "gelu_new",
                                                   "layer_norm_eps": 1e-3, "type_vocab_size": 3}),
    "albert": ("AlbertForMaskedLM", {**SIZES, "embedding_size": 6, "num_hidden_layers": 3}),
    "albert-switched": ("AlbertForMaskedLM", {
        **SIZES, "embedding_size": 8, "num_hidden_layers": 4, "num_hidden_groups": 2, "hidden_act": "gelu",
        "tie_word_embeddings": False, "layer_norm_eps": 1e-3}),
    "xlm-roberta": ("XLMRobertaForMaskedLM", {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "camembert": ("CamembertForMaskedLM", {**SIZES, "hidden_act": "gelu_new", "tie_word_embeddings": False}),
    "opt": ("OPTForCausalLM", OPT),
    "opt-switched": ("OPTForCausalLM", {**OPT, "do_layer_norm_before": False, "enable_bias": False,
                                        "activation_function": "gelu", "tie_word_embeddings": False}),
    "gemma2": ("Gemma2ForCausalLM", {**GROUPED, "head_dim": 6, "query_pre_attn_scalar": 7, "sliding_window": 5,
                                     "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma2-switched": ("Gemma2ForCausalLM", {
        **GROUPED, "head_dim": 4, "query_pre_attn_scalar": 4, "sliding_window": 7, "attention_bias": True,
        "attn_logit_softcapping": None, "final_logit_softcapping": None, "hidden_activation": "silu",
        "tie_word_embeddings": False, "layer_types": ["full_attention", "sliding_attention", "full_attention"]}),
    "phi": ("PhiForCausalLM", {**SIZES, "hidden_size": 16}),
    "phi-switched": ("PhiForCausalLM", {**GROUPED, "hidden_act": "relu", "layer_norm_eps": 1e-3,
                                        **rope("linear", factor=2.0, partial_rotary_factor=1.0)}),
    "gptj": ("GPTJForCausalLM", GPTJ),
    "gptj-switched": ("GPTJForCausalLM", {**GPTJ, "rotary_dim": 8, "n_inner": 12, "activation_function": "relu",
                                          "layer_norm_epsilon": 1e-3}),
    "t5": ("T5EncoderModel", T5),
    "t5-switched": ("T5ForConditionalGeneration", {**T5, "feed_forward_proj": "gated-gelu", "layer_norm_epsilon": 1e-3,
                                                   "relative_attention_num_buckets": 12, "d_kv": 4,
                                                   "relative_attention_max_distance": 40, "decoder_start_token_id": 1}),
    "deberta-v2": ("DebertaV2ForMaskedLM", {
        **DEBERTA, "position_biased_input": False, "share_att_key": True, "norm_rel_ebd": "layer_norm",
        "position_buckets": 16, "pos_att_type": ["c2p", "p2c"]}),
    "deberta-v2-switched": ("DebertaV2ForMaskedLM", {**DEBERTA, "pos_att_type": ["p2c"], "type_vocab_size": 2,
                                                     "max_relative_positions": 20, "hidden_act": "relu"}),
    "bloom": ("BloomForCausalLM", BLOOM),
    "bloom-switched": ("BloomForCausalLM", {**BLOOM, "hidden_size": 12, "n_head": 6, "tie_word_embeddings": False,
                                            "layer_norm_epsilon": 1e-3}),
    "bert-relative-key": ("BertForMaskedLM", RELATIVE),
    "roberta-relative-key-query": ("RobertaForMaskedLM", {
        **RELATIVE, "position_embedding_type": "relative_key_query", "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "electra-relative-key": ("ElectraForMaskedLM", {**RELATIVE, "embedding_size": 6}),
    "albert-relative-key-query": ("AlbertForMaskedLM", {
        **RELATIVE, "position_embedding_type": "relative_key_query", "embedding_size": 6, "num_hidden_layers": 4,
        "num_hidden_groups": 2}),
    "t5-untied": ("T5ForConditionalGeneration", {**T5, "num_decoder_layers": 3, "decoder_start_token_id": 0}),
    "eurobert-switched": ("EuroBertForMaskedLM", {
        **GROUPED, "mask_token_id": 3, "head_dim": 6, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True,
        "hidden_act": "gelu", "rms_norm_eps": 1e-2, **rope("linear", factor=3.0)}),
}
UNTIED = ["t5-untied"]

# Families with short references, every option switched; tests/oracle/families_parity.py draws them at random.
TINY = {**SIZES, "num_key_value_heads": 1, "hidden_act": "silu"}
FEW = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 6, "num_decoder_layers": 1}
LAYERED = {"full_attention": {"rope_type": "linear", "rope_theta": 100.0, "factor": 2.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}
MIXED = ["sliding_attention", "full_attention"]
PART = {**TINY, "hidden_size": 16, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}}
SHORT = {
    "gemma": ("GemmaForCausalLM", {**TINY, "head_dim": 6, "attention_bias": True, "hidden_act": "gelu_pytorch_tanh"}),
    "gemma3_text": ("Gemma3ForCausalLM", {**SIZES, "num_key_value_heads": 1, "head_dim": 4, "query_pre_attn_scalar": 7, "sliding_window": 3, "final_logit_softcapping": 3.0,
                                          "layer_types": MIXED, "rope_parameters": LAYERED}),
    "starcoder2": ("Starcoder2ForCausalLM", {**TINY, "sliding_window": 4, "hidden_act": "gelu_pytorch_tanh"}),
    "stablelm": ("StableLmForCausalLM", {**PART, "use_qkv_bias": True, "use_parallel_residual": True}),
    "arcee": ("ArceeForCausalLM", {**TINY, "hidden_act": "relu2", "mlp_bias": True}),
    "nemotron": ("NemotronForCausalLM", {**PART, "hidden_act": "relu2", "attention_bias": True}),
    "olmo": ("OlmoForCausalLM", TINY),
    "olmo2": ("Olmo2ForCausalLM", {**TINY, "num_attention_heads": 2}),
    "olmo3": ("Olmo3ForCausalLM", {**TINY, "sliding_window": 3, "layer_types": MIXED, "rope_parameters": LAYERED}),
    "exaone4": ("Exaone4ForCausalLM", {**TINY, "sliding_window": 3, "layer_types": MIXED}),
    "smollm3": ("SmolLM3ForCausalLM", {**TINY, "no_rope_layers": [1, 0], "layer_types": MIXED, "sliding_window": 4, "use_sliding_window": True}),
    "granite": ("GraniteForCausalLM", {**TINY, "embedding_multiplier": 3.0, "logits_scaling": 2.0, "residual_multiplier": 0.3,
                                       "attention_multiplier": 0.4}),
    "cohere": ("CohereForCausalLM", {**TINY, "use_qk_norm": True, "logit_scale": 0.5}),
    "glm4": ("Glm4ForCausalLM", {**PART, "head_dim": 8}),
    "ernie4_5": ("Ernie4_5ForCausalLM", {**TINY, "head_dim": 4, "use_bias": True}),
    "mt5": ("MT5ForConditionalGeneration", {**T5, **FEW}),
    "umt5": ("UMT5ForConditionalGeneration", {**T5, **FEW, "feed_forward_proj": "relu"}),
    "mpnet": ("MPNetForMaskedLM", {**SIZES, "max_position_embeddings": 64}),
    "nomic_bert": ("NomicBertForMaskedLM", {**SIZES, "head_dim": 4, "type_vocab_size": 2}),
    "esm": ("EsmForMaskedLM", {**SIZES, "position_embedding_type": "rotary", "token_dropout": True, "mask_token_id": 5, "emb_layer_norm_before": True}),
    "gpt_neo": ("GPTNeoForCausalLM", {**TOKENS, "hidden_size": 8, "num_layers": 2, "num_heads": 2, "intermediate_size": 12, "max_position_embeddings": 64,
                                      "attention_types": [[["global", "local"], 1]], "window_size": 3}),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", {**TOKENS, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_inner": 12, "n_positions": 64}),
    "falcon": ("FalconForCausalLM", {**TOKENS, "num_hidden_layers": 2, "max_position_embeddings": 640, "num_attention_heads": 4, "hidden_size": 16, "num_kv_heads": 2, "new_decoder_architecture": True,
                                     "ffn_hidden_size": 12, "bias": True}),
    "phi3": ("Phi3ForCausalLM", {**TINY, "sliding_window": 4, "original_max_position_embeddings": 20, "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 100.0, "original_max_position_embeddings": 20, "short_factor": [1.5, 2.0], "long_factor": [3.0, 5.0]}}),
    "mixtral": ("MixtralForCausalLM", {**TINY, "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": 4}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", {**TINY, "head_dim": 4, "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 5, "mlp_only_layers": [0],
                                          "attention_bias": True, "use_sliding_window": True, "sliding_window": 4}),
}
READ.update(SHORT)
STACKS = ("T5ForConditionalGeneration", "MT5ForConditionalGeneration", "UMT5ForConditionalGeneration")


def randomise(model, seed):
    """Every parameter at random of order one: no bias stays zero, no gain one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(0.4 * torch.randn(p.shape, generator=generator) +
                    (1 if p.dim() == 1 and name.endswith("weight") else 0))
    return model.eval()


def encoder_of(model):
    """The encoder of a model that has a decoder too; else the model itself."""
    return model.get_encoder() if model.config.is_encoder_decoder and not isinstance(model, transformers.T5EncoderModel) \
        and hasattr(model, "get_encoder") else model


@contextlib.contextmanager
def doubles():
    """Some classes turn to float32 on the way (norms, softmax, angles): not here. A softmax over what a row of padding sees would
    then overflow too, and its nan spoil the others."""
    to, float_, softmax, float32 = torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax, torch.float32

    def stay(x, *args, **more):
        if x.dtype == torch.float64 and (float32 in args or more.get("dtype") == float32):
            return x
        return to(x, *args, **more)

    torch.Tensor.to = stay
    torch.Tensor.float = lambda x, *args, **more: x if x.dtype == torch.float64 else to(x, torch.float64)
    torch.nn.functional.softmax = lambda x, *args, **more: softmax(x, *args, **{**more, "dtype": None})
    try:
        yield
    finally:
        torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax = to, float_, softmax


def one_by_one(model):
    """Experts by a loop over them: the faster products exist in some types and sizes alone."""
    if hasattr(model.config, "num_experts_per_tok"):
        model.set_experts_implementation("eager")
    return model


def reference(model, ids, mask):
    """The arrays of a reference: states behind the final norm where the class has one."""
    model = one_by_one(encoder_of(model)).double().eval()
    with torch.no_grad(), doubles():
        arguments = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask).long()}
        out = model(**arguments, output_hidden_states=True)
        top = model.base_model(**arguments).last_hidden_state
    states = [x.numpy() for x in out.hidden_states]
    states[-1] = top.numpy()  # transformers 4 gave roberta-prelayernorm's without the norm
    logits = getattr(out, "logits", np.zeros(0))
    logits = {"logits": logits.numpy().astype(np.float32)} if logits.ndim == 3 else {}  # of tokens
    return {"input_ids": ids.astype(np.int32), "attention_mask": mask.astype(np.uint8), **logits,
            **{f"hidden_states_{i}": x.astype(np.float32) for i, x in enumerate(states)}}


def decode(model, ids, mask, decoder_ids, decoder_mask):
    """States of the decoder, the last behind its final norm, and logits, by name."""
    with torch.no_grad():
        out = model(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask).long(),
                    decoder_input_ids=torch.tensor(decoder_ids), decoder_attention_mask=torch.tensor(decoder_mask).long(),
                    output_hidden_states=True)
    return {**{f"decoder_hidden_states_{i}": x.numpy() for i, x in enumerate(out.decoder_hidden_states)},
            "decoder_logits": out.logits.numpy()}


def decoder_reference(cls, folder, ids, mask, length, seed):
    """The arrays of a model with a decoder, which reads its own texts after its start token; {}: it has none."""
    if cls.__name__ not in STACKS:
        return {}
    model = cls.from_pretrained(folder, attn_implementation="eager").double().eval()
    decoder_ids, decoder_mask = random_text(model.config, len(ids), length, seed)
    decoder_ids[:, 0] = model.config.decoder_start_token_id
    if len(ids) > 3:
        decoder_ids[3, 1:], decoder_mask[3] = model.config.pad_token_id, np.arange(length) < 1
    with doubles():
        exact = decode(model, ids, mask, decoder_ids, decoder_mask)
    single = decode(cls.from_pretrained(folder, attn_implementation="eager").eval(), ids, mask, decoder_ids, decoder_mask)
    rounds = [np.abs(single[name] - exact[name])[decoder_mask].max() for name in exact]
    return {"decoder_input_ids": decoder_ids.astype(np.int32), "decoder_attention_mask": decoder_mask.astype(np.uint8),
            **{name: x.astype(np.float32) for name, x in exact.items()}, "decoder_rounding": np.array(rounds)}


def labelled(model, seed):
    """Two texts of 17 tokens, read by both stacks: transformers shifts labels right itself; then with sources of the encoder,
    one for both and one for each, one of them longer than the texts."""
    ids, _ = random_text(model.config, 1, 34, 2000 + seed)
    ids = ids.reshape(2, 17)
    with torch.no_grad(), doubles():
        out = model(input_ids=torch.tensor(ids), labels=torch.tensor(ids), output_hidden_states=True)
        given = model(input_ids=torch.tensor([[4, 5, 2]] * 2), labels=torch.tensor(ids))
        pairs = [model(input_ids=torch.tensor([source]), labels=torch.tensor(ids[i:i + 1]), output_hidden_states=True)
                 for i, source in enumerate([[4, 5, 2], [3 + j % 11 for j in range(23)]])]
    last = len(out.decoder_hidden_states) - 1
    return {"input_ids": ids.astype(np.int32), "loss": out.loss.numpy(), "loss_of_4_5_2": given.loss.numpy(), "loss_of_pairs": np.mean([x.loss.numpy() for x in pairs]),
            "states_of_pairs": np.concatenate([x.decoder_hidden_states[last].numpy() for x in pairs]).astype(np.float32), "decoder_logits": out.logits.numpy().astype(np.float32),
            f"decoder_hidden_states_{last}": out.decoder_hidden_states[last].numpy().astype(np.float32)}


def untie(cls, folder, seed):
    """The output matrix and config.json of t5 1.1 (transformers 5 says of every model that it is tied)."""
    model = cls.from_pretrained(folder)
    generator = torch.Generator().manual_seed(seed)
    model.lm_head.weight = torch.nn.Parameter(0.4 * torch.randn(model.shared.weight.shape, generator=generator))
    path, where = os.path.join(folder, "model.safetensors"), os.path.join(folder, "config.json")
    safetensors.torch.save_file({**safetensors.torch.load_file(path), "lm_head.weight": model.lm_head.weight.data}, path,
                                metadata={"format": "pt"})
    with open(where) as f:
        config = json.load(f)
    config.pop("scale_decoder_outputs")
    config["tie_word_embeddings"] = False
    with open(where, "w") as f:
        json.dump(config, f, indent=2, sort_keys=True)
        f.write("\n")
    model = cls.from_pretrained(folder)
    assert model.lm_head.weight is not model.shared.weight and not model.config.scale_decoder_outputs


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


def save(model, folder):
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    for name in os.listdir(folder):
        if name not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(folder, name))


def rounding(cls, folder, model, ids, mask):
    """How far the class in float32 is from itself in double, by layer and last of the logits: a network with random weights
    may amplify rounding."""
    exact = reference(model, ids, mask)
    single = one_by_one(encoder_of(cls.from_pretrained(folder, attn_implementation="eager").eval()))
    with torch.no_grad():
        arguments = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask).long()}
        out = single(**arguments, output_hidden_states=True)
        found = [*out.hidden_states[:-1], single.base_model(**arguments).last_hidden_state]
    names = [f"hidden_states_{i}" for i in range(len(found))] + ["logits"]
    found.append(getattr(out, "logits", None))
    return np.array([np.abs(x.numpy() - exact[name])[mask].max() for name, x in zip(names, found) if name in exact])


def golden_read(only):
    """Three rows of 17 tokens, one of them padded to 11 on the right, one on the left to 13, a fourth of one token; and 600
    tokens in long.npz, where the last states alone are kept."""
    for number, (name, (cls, keys)) in enumerate(READ.items()):
        if only and name.split("-switched")[0] not in only and name not in only:
            continue
        folder = os.path.join(GOLDEN, name)
        cls = getattr(transformers, cls)
        model = randomise(cls(cls.config_class(**keys, attn_implementation="eager")), 100 + number)
        if name == "albert-relative-key-query":  # 4.44.2 loses the bias of the logits of a file that it loads
            torch.nn.init.zeros_(model.predictions.bias)
        save(model, folder)
        if name in UNTIED:
            untie(cls, folder, number)
        model = cls.from_pretrained(folder, attn_implementation="eager").double()  # what the file says
        length = 9 if name in SHORT else 17
        ids, mask = random_text(model.config, 4, length, number)
        ids[3, 1:], mask[3] = model.config.pad_token_id, np.arange(length) < 1
        np.savez_compressed(os.path.join(folder, "reference.npz"), **reference(model, ids, mask),
                            rounding=rounding(cls, folder, model, ids, mask),
                            **decoder_reference(cls, folder, ids, mask, 11 if name in SHORT else 19, 1000 + number))
        ids, mask = random_text(model.config, 1, 40 if name in SHORT else 600, number)
        whole = reference(model, ids, mask)
        last = max((k for k in whole if k.startswith("hidden")), key=lambda k: int(k.rsplit("_", 1)[1]))
        np.savez_compressed(os.path.join(folder, "long.npz"), input_ids=whole["input_ids"], **{last: whole[last]},
                            rounding=rounding(cls, folder, model, ids, mask),
                            **decoder_reference(cls, folder, ids, mask, 40 if name in SHORT else 600, 1000 + number))
        if cls.__name__ in STACKS and name not in SHORT:
            np.savez_compressed(os.path.join(folder, "labels.npz"), **labelled(model, number))
        print(folder, os.listdir(folder))


def golden():
    for number, arch in enumerate(CLASS):
        folder = os.path.join(GOLDEN, arch)
        model = randomise(CLASS[arch](tiny_config(arch)), number)
        save(model, folder)
        ids, mask = random_text(model.config, 3, 9, number)
        np.savez_compressed(os.path.join(folder, "reference.npz"), **reference(model, ids, mask))
        print(folder, os.listdir(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("--golden-read", nargs="*", metavar="NAME", help="of READ alone: all, or those named")
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.golden:
        return golden()
    if given.golden_read is not None:
        return golden_read(given.golden_read)
    if not given.out:
        parser.error("wanted MODEL and OUT.npz, or --golden")
    kind = transformers.AutoConfig.from_pretrained(given.model).model_type
    known = {**CLASS, **{name: getattr(transformers, cls) for name, (cls, _) in READ.items()}}
    if kind not in known:
        sys.exit(f"{given.model}: model_type {kind} is none of {', '.join(known)}")
    model = known[kind].from_pretrained(given.model, dtype=torch.float32, attn_implementation="eager")
    ids, mask = random_text(model.config, given.sequences, given.length, given.seed)
    np.savez_compressed(given.out, **reference(model, ids, mask))
    return None


if __name__ == "__main__":
    main()
