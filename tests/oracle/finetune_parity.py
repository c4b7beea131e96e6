"""cospec finetune against transformers' ...ForSequenceClassification and torch's AdamW.

Predictions: a model that `cospec finetune --save-model` left is loaded by AutoModelForSequenceClassification and must give the
values (classes, mean losses) that cospec predicted for the same lines of text, which transformers encodes with the tokenizer
left there: singles and pairs, special tokens, token types, cutting.

Training: one batch of all examples, no dropout, so that no order matters; a run at a vanishing rate leaves the initial model,
which torch trains by the same recipe. Losses of every step and the last predictions must agree.

States: the body of a fine-tuned model, loaded by its class, gives the states of every layer that cospec verify-model finds.

Names of architectures may be given; position_embedding_type relative_key is run with transformers before 5 (4.44.2), which has it.

Both sides compute in float32. Outputs are of order one: 1e-4 is some hundred roundings of a network of this depth and a slip of any
formula (a wrong row, type, bias, scale) shows a hundred times larger. Losses of training: 1e-4 of themselves and, as AdamW divides
gradients by their size, half a per cent of what the run has learnt.
"""
import csv
import json
import math
import os
import sys
import tempfile

import numpy as np
from harness import Checks, cospec
import tokenizers
import torch
import transformers
from make_reference import random_text, reference

transformers.utils.logging.disable_progress_bar()
WORDS = "the cat dog sat ran on under a mat log red blue big and then it was there".split()
SPECIAL = {"bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LENGTH = 12
IDS = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
SIZES = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20, "max_position_embeddings": LENGTH + 6}
GPTJ = {"n_positions": LENGTH + 6, "n_embd": 12, "n_layer": 2, "n_head": 2, "n_inner": 20, "rotary_dim": 4}
TURN = {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.7}  # 4 columns of 6
OPT = {**{k: v for k, v in SIZES.items() if k != "intermediate_size"}, "ffn_dim": 20, "word_embed_proj_dim": 12}
DISTIL = {"dim": 12, "n_layers": 2, "n_heads": 2, "hidden_dim": 20, "max_position_embeddings": LENGTH + 6}
DISTANCES = {**SIZES, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 4, "max_relative_positions": 8}
# Read and fine-tuned, not trained here: class of the language model and keys. Decoders have no special tokens.
DECODERS = {"mistral": ("MistralForCausalLM", {**SIZES, "num_key_value_heads": 1, "sliding_window": 4}),
            "qwen2": ("Qwen2ForCausalLM", {**SIZES, "num_key_value_heads": 1}),
            "qwen3": ("Qwen3ForCausalLM", {**SIZES, "num_key_value_heads": 1, "head_dim": 6}),
            "gpt_neox": ("GPTNeoXForCausalLM", {**SIZES, "rope_parameters": TURN}),
            "opt": ("OPTForCausalLM", OPT),
            "gemma2": ("Gemma2ForCausalLM", {**SIZES, "num_key_value_heads": 1, "head_dim": 6, "sliding_window": 4}),
            "phi": ("PhiForCausalLM", {**SIZES, "rope_parameters": TURN}),
            "gptj": ("GPTJForCausalLM", GPTJ),
            "bloom": ("BloomForCausalLM", {"hidden_size": 12, "n_layer": 2, "n_head": 2})}
ENCODERS = {"distilbert": ("DistilBertForMaskedLM", DISTIL),
            "electra": ("ElectraForMaskedLM", {**SIZES, "embedding_size": 8}),
            "albert": ("AlbertForMaskedLM", {**SIZES, "embedding_size": 8}),
            "deberta-v2": ("DebertaV2ForMaskedLM", {**DISTANCES, "type_vocab_size": 2}),
            "deberta-v2-shared": ("DebertaV2ForMaskedLM", {**DISTANCES, "share_att_key": True, "norm_rel_ebd": "layer_norm",
                                                           "position_biased_input": False, "pooler_hidden_act": "tanh"})}
T5 = {"t5": ("T5ForConditionalGeneration", {"d_model": 12, "d_kv": 6, "d_ff": 20, "num_layers": 2, "num_heads": 2})}
# position_embedding_type is of transformers before 5, with which they are run alone.
OLD = int(transformers.__version__.split(".")[0]) < 5
DISTANCE = {"bert-relative": ("BertForMaskedLM", {**SIZES, "position_embedding_type": "relative_key"}),
            "electra-relative": ("ElectraForMaskedLM", {**SIZES, "position_embedding_type": "relative_key_query"}),
            "albert-relative": ("AlbertForMaskedLM", {**SIZES, "position_embedding_type": "relative_key", "embedding_size": 8})}
READ = {**DECODERS, **ENCODERS, **DISTANCE, **T5}
TRAINED = ("gpt2", "roberta-prelayernorm", "roberta", "bert", "llama", "modernbert", "modernbert-decoder", "eurobert")
ARCH = sys.argv[1:] or (tuple(DISTANCE) if OLD else TRAINED + tuple(DECODERS) + tuple(ENCODERS) + tuple(T5))
POOLED = ("modernbert", "eurobert")  # whose class may read the mean too
PLAIN = ("gpt2", "llama", "modernbert-decoder", *DECODERS)  # no special tokens around a text, the last token's state is read
BERT = ("bert", *ENCODERS, *DISTANCE)  # its special tokens
TYPED = ("bert", "electra", "albert", "deberta-v2", *DISTANCE)  # its token types


def words_tokenizer(arch):
    special = SPECIAL["bert"] if arch in BERT else ROBERTA
    vocab = {w: i for i, w in enumerate(special + WORDS)}
    unk = "[UNK]" if arch in BERT else "<unk>"
    t = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token=unk))
    t.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    t.add_special_tokens(special)
    at = lambda name: (name, vocab[name])
    if arch in BERT:
        t.post_processor = tokenizers.processors.BertProcessing(at("[SEP]"), at("[CLS]"))
    elif arch not in PLAIN:
        t.post_processor = tokenizers.processors.RobertaProcessing(at("</s>"), at("<s>"))
    return t


def base_model(arch, folder, seed):
    """A random model of the bare class with its tokenizer, as cospec finetune takes it."""
    vocab = 5 + len(WORDS)
    if arch == "gpt2":
        config = transformers.GPT2Config(vocab_size=vocab, n_positions=LENGTH + 4, n_embd=12, n_layer=2, n_head=2,
                                         bos_token_id=0, eos_token_id=2)
        model = transformers.GPT2LMHeadModel(config)
    elif arch in READ:
        ids = {**IDS, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None} if arch in BERT else IDS
        of = getattr(transformers, READ[arch][0])
        model = of(of.config_class(vocab_size=vocab, **ids, **READ[arch][1]))
    elif arch in ("llama", "modernbert", "modernbert-decoder", "eurobert"):
        of = {"llama": transformers.LlamaForCausalLM, "modernbert": transformers.ModernBertForMaskedLM,
              "modernbert-decoder": transformers.ModernBertDecoderForCausalLM, "eurobert": transformers.EuroBertForMaskedLM}[arch]
        more = {"num_key_value_heads": 1} if arch in ("llama", "eurobert") else {"local_attention": 6, "classifier_bias": arch != "modernbert"}
        if arch == "eurobert":  # the class wants one within the vocabulary
            more["mask_token_id"] = 4
        model = of(of.config_class(vocab_size=vocab, max_position_embeddings=LENGTH + 4, hidden_size=12, num_hidden_layers=2,
                                   num_attention_heads=2, intermediate_size=20, pad_token_id=1, bos_token_id=0, eos_token_id=2,
                                   cls_token_id=0, sep_token_id=2, **more))
    else:
        of = {"bert": transformers.BertForMaskedLM, "roberta": transformers.RobertaForMaskedLM,
              "roberta-prelayernorm": transformers.RobertaPreLayerNormForMaskedLM}[arch]
        config = of.config_class(vocab_size=vocab, max_position_embeddings=LENGTH + 6, hidden_size=12,
                                 num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
                                 pad_token_id=0 if arch == "bert" else 1, type_vocab_size=2 if arch == "bert" else 1)
        model = of(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(0.15 * torch.randn(p.shape, generator=generator) +
                    (1 if p.dim() == 1 and name.endswith("weight") else 0))
    model.save_pretrained(folder)
    words_tokenizer(arch).save(os.path.join(folder, "tokenizer.json"))


def examples(path, count, seed, pairs, numbers):
    rng = np.random.default_rng(seed)
    draw = lambda: " ".join(rng.choice(WORDS, rng.integers(1, 9)))
    rows = []
    for _ in range(count):
        text = [draw()] + ([draw()] if pairs else [])
        label = f"{rng.normal():.4f}" if numbers else ["no", "perhaps", "yes"][WORDS.index(text[0].split()[0]) % 3]
        rows.append([label] + text)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)
    return rows


def encode(tokenizer, arch, row):
    """ids and types; GPT-2's, which adds nothing, gets the end token between the texts of a pair."""
    if arch in PLAIN:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="$A", pair="$A </s> $B", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))])
    tokenizer.enable_truncation(LENGTH)
    e = tokenizer.encode(*row[1:])
    return e.ids, e.type_ids if arch in TYPED else [0] * len(e.ids)


def batch(directory, arch, rows):
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
    coded = [encode(tokenizer, arch, row) for row in rows]
    longest = max(len(ids) for ids, _ in coded)
    pad = 0 if arch in BERT else 1
    fill = lambda x, by: x + [by] * (longest - len(x))
    out = {"input_ids": torch.tensor([fill(ids, pad) for ids, _ in coded]),
           "attention_mask": torch.tensor([fill([1] * len(ids), 0) for ids, _ in coded])}
    if arch in TYPED:
        out["token_type_ids"] = torch.tensor([fill(types, 0) for _, types in coded])
    return out


def loaded(directory, arch):
    """The class's model; a text that says what from_pretrained had to make up or leave out."""
    model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
        directory, output_loading_info=True, attn_implementation="eager")
    unread = "position_embeddings.weight" if arch in DISTANCE else None  # a table that the class makes all the same
    found = {k: [name for name in v if not unread or not name.endswith(unread)] for k, v in info.items() if k.endswith("keys")}
    bad = {k: sorted(v) for k, v in found.items() if v}
    if arch == "gpt2":
        model.config.pad_token_id = 1
    return model.eval(), f"from_pretrained: {bad}" if bad else None


def run(folder, arch, name, train, test, regression, pairs, **options):
    out = os.path.join(folder, name)
    given = {"seeds": 1, "max_length": LENGTH, "o": out, "save_model": True, "log_every": 1, "seed": 3, **options}
    if regression:
        given["regression"] = True
    if pairs:
        given["pair_column"] = 3
    cospec("finetune", os.path.join(folder, arch), train, test, **given)
    with open(os.path.join(out, "finetune.json"), encoding="utf-8") as file:
        result = json.load(file)
    with open(os.path.join(out, "predictions.csv"), encoding="utf-8", newline="") as file:
        predicted = [row["seed_1"] for row in csv.DictReader(file)]
    (kept,) = os.listdir(os.path.join(out, "runs"))
    return result, predicted, os.path.join(out, "runs", kept)


def loss_of(model, inputs, rows, regression):
    z = model(**inputs).logits
    if regression:
        goal = torch.tensor([float(row[0]) for row in rows])
        return z, ((z[:, 0] - goal) ** 2).mean()
    names = {v: k for k, v in model.config.id2label.items()}
    return z, torch.nn.functional.cross_entropy(z, torch.tensor([names[row[0]] for row in rows]))


def predictions(folder, arch, pairs, regression, pooling="auto"):
    label = f"{arch}-{'pairs' if pairs else 'singles'}-{'values' if regression else 'classes'}-{pooling}"
    train, test = (os.path.join(folder, f"{label}.{side}.tsv") for side in ("train", "test"))
    examples(train, 160, 1, pairs, regression)
    rows = examples(test, 50, 2, pairs, regression)
    result, predicted, kept = run(folder, arch, label, train, test, regression, pairs, epochs=16, lr="5e-3",
                                  pooling=pooling)
    model, bad = loaded(kept, arch)
    if bad:
        return bad
    with torch.no_grad():
        z, loss = loss_of(model, batch(kept, arch, rows), rows, regression)
    ours = result["runs"][0]["test_loss"]
    if abs(loss.item() - ours) > 1e-4 * max(1, abs(ours)):
        return f"mean loss {ours}, {type(model).__name__} {loss.item()}"
    if regression:
        worst = max(abs(float(p) - q) for p, q in zip(predicted, z[:, 0].tolist()))
        return f"values differ by {worst}" if worst > 1e-4 else None
    top = z.sort(dim=1, descending=True).values
    clear = (top[:, 0] - top[:, 1] > 1e-4).tolist()
    theirs = [model.config.id2label[i] for i in z.argmax(dim=1).tolist()]
    wrong = sum(p != q for p, q, sure in zip(predicted, theirs, clear) if sure)
    if len(set(theirs)) < 2:
        return f"every text is put into one class, {theirs[0]}: nothing was learnt to compare"
    return f"{wrong} classes differ" if wrong or not any(clear) else None


def training(folder, arch, regression):
    """Steps of one batch; AdamW and a cosine behind a warm-up, with decay and clipping."""
    label, epochs, peak, warm = f"steps-{arch}-{regression}", 30, 1e-2, 0.25
    train = os.path.join(folder, f"{label}.tsv")
    rows = examples(train, 24, 5, True, regression)
    same = {"batch": 24, "epochs": epochs, "dropout": 0, "weight_decay": 0.05, "clip": 1.5, "warmup": warm}
    _, _, begin = run(folder, arch, label + "-0", train, train, regression, True, **{**same, "lr": "1e-30"})
    result, _, kept = run(folder, arch, label, train, train, regression, True, **{**same, "lr": str(peak)})
    with open(os.path.join(kept, "log.csv"), encoding="utf-8", newline="") as file:
        ours = [float(row["loss"]) for row in csv.DictReader(file)]
    model, bad = loaded(begin, arch)
    if bad:
        return bad
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05},
                                   {"params": vectors, "weight_decay": 0.0}], lr=peak, betas=(0.9, 0.98), eps=1e-6)
    inputs, theirs, first = batch(begin, arch, rows), [], int(warm * epochs)
    for step in range(1, epochs + 1):
        share = step / first if step <= first else (1 + math.cos(math.pi * (step - first) / (epochs - first))) / 2
        for group in optimizer.param_groups:
            group["lr"] = peak * share
        optimizer.zero_grad()
        _, loss = loss_of(model, inputs, rows, regression)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.5)
        optimizer.step()
        theirs.append(loss.item())
    learnt = theirs[0] - theirs[-1]
    if learnt < 0.1:
        return f"the loss falls by {learnt} alone: {theirs}"
    worst = max(abs(a - b) - 1e-4 * abs(b) for a, b in zip(ours, theirs))
    if len(ours) != epochs or worst > 0.005 * learnt:
        return f"losses {ours}, torch {theirs}"
    with torch.no_grad():
        _, last = loss_of(model.eval(), inputs, rows, regression)
    off = abs(last.item() - result["runs"][0]["test_loss"])
    return f"last loss off by {off}" if off > 0.005 * learnt else None


CLOZE = {"no": "dog", "perhaps": "red", "yes": "mat"}


def cloze(folder, arch):
    """Zero-shot: the class of the likeliest word at the gap, and the mean loss, by the class of the language model."""
    path = os.path.join(folder, f"{arch}.cloze.tsv")
    rows = examples(path, 60, 9, False, False)
    causal, out = arch in PLAIN, os.path.join(folder, f"{arch}-cloze")
    template = "then it {1} was {mask}" if causal else "{1} was {mask} there"
    cospec("finetune", os.path.join(folder, arch), path, path, template=template, epochs=0, seeds=1, max_length=LENGTH, o=out,
           verbalisers=",".join(f"{k}={v}" for k, v in CLOZE.items()))
    with open(os.path.join(out, "predictions.csv"), encoding="utf-8", newline="") as file:
        ours = [row["seed_1"] for row in csv.DictReader(file)]
    with open(os.path.join(out, "finetune.json"), encoding="utf-8") as file:
        loss = json.load(file)["runs"][0]["test_loss"]
    source = os.path.join(folder, arch)
    model = getattr(transformers, "AutoModelForCausalLM" if causal else "AutoModelForMaskedLM").from_pretrained(
        source, attn_implementation="eager").eval()
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(source, "tokenizer.json"))
    word = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    mask = tokenizer.token_to_id("[MASK]" if arch in BERT else "<mask>")
    around = ([], []) if causal else (tokenizer.encode("").ids[:1], tokenizer.encode("").ids[1:])
    at, total, wrong = [word(v)[0] for v in CLOZE.values()], 0.0, 0
    for row, guess in zip(rows, ours):
        parts = (word("then it"), word("was"), []) if causal else ([], word("was") + [mask], word("there"))
        budget = LENGTH - len(around[0]) - len(around[1]) - sum(map(len, parts))
        ids = around[0] + parts[0] + word(row[1])[:budget] + parts[1] + parts[2] + around[1]
        place = len(ids) - 1 if causal else ids.index(mask)
        with torch.no_grad():
            z = torch.log_softmax(model(torch.tensor([ids])).logits[0, place, at], dim=0)
        total -= z[list(CLOZE).index(row[0])].item() / len(rows)
        top = z.sort(descending=True).values
        wrong += top[0] - top[1] > 1e-4 and guess != list(CLOZE)[int(z.argmax())]
    return f"{wrong} predictions differ, loss {loss}, expected {total}" if wrong or abs(loss - total) > 1e-4 else None


def states(folder, arch):
    """The body of a fine-tuned model by its class, which lacks nothing: states of every layer. t5's is a T5EncoderModel."""
    train = os.path.join(folder, f"{arch}-states.tsv")
    examples(train, 40, 4, False, False)
    _, _, kept = run(folder, arch, f"{arch}-states", train, train, False, False, epochs=1, lr="5e-3",
                     **({"pooling": "mean"} if arch == "t5" else {}))
    of = transformers.T5EncoderModel if arch == "t5" else transformers.AutoModel
    model, info = of.from_pretrained(kept, output_loading_info=True, attn_implementation="eager")
    unread = ("pooler.",) + (("embeddings.position_embeddings.",) if arch in DISTANCE else ())  # not on the way to states
    bad = {k: left for k in ("missing_keys", "mismatched_keys") if (left := sorted(n for n in info[k] if not any(u in n for u in unread)))}
    if bad:
        return f"from_pretrained: {bad}"
    ids, mask = random_text(model.config, 4, 11, 3)
    path = os.path.join(folder, f"{arch}-states.npz")
    np.savez(path, **reference(model, ids, mask))
    found = cospec("verify-model", kept, path)
    return None if found["ok"] else json.dumps(found)


def main():
    checks = Checks("finetune")
    with tempfile.TemporaryDirectory() as folder:
        for number, arch in enumerate(ARCH):
            base_model(arch, os.path.join(folder, arch), number)
            checks.run(f"{arch}, states of the body", states, folder, arch)
            if arch == "t5":  # whose head no class has
                continue
            for pairs in (False, True):
                for regression in (False, True):
                    checks.run(f"{arch}, {'pairs' if pairs else 'singles'}, {'values' if regression else 'classes'}",
                               predictions, folder, arch, pairs, regression)
            if arch in POOLED:
                checks.run(f"{arch}, the mean", predictions, folder, arch, True, False, "mean")
            if arch != "albert-relative":  # whose class before 5 loads zeros for the bias of the logits
                checks.run(f"{arch}, cloze without a step", cloze, folder, arch)
            checks.run(f"{arch}, steps of AdamW", training, folder, arch, number % 2 == 1)
    checks.exit()


if __name__ == "__main__":
    main()
