"""Special tokens that a folder's tokenizer has by its class, against AutoTokenizer of transformers: each class of
src/text/tokenizer_classes.c by its names, and each type of model with and without the name of a class, on random folders whose files
list some of the tokens, and whose keys of steps differ from tokenizer.json. Ids of lines that hold them must be equal.

    tokenizer_classes_oracle.py [FOLDERS]    folders a class, 12 by default
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

from harness import COSPEC, Checks
from tokenizers import pre_tokenizers
from transformers import AutoTokenizer, TokenizersBackend
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name
from transformers.utils import logging

logging.set_verbosity_error()
checks = Checks("tokenizer_classes")
FOLDERS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
SOURCE = open(os.path.join(os.path.dirname(__file__), "../../src/text/tokenizer_classes.c")).read()
NAMES = [n for row in re.findall(r'\.names = "([^"]+)"', SOURCE) for n in row.split()]
TYPES = [m for row in re.findall(r'\.models = "([^"]+)"', SOURCE) for m in row.split()]
GENERIC = "".join(re.findall(r'"([^"]*)"', SOURCE.split("generic_models[] =")[1].split(";")[0])).split()
ROLES = ["bos_token", "eos_token", "sep_token", "pad_token", "cls_token", "mask_token"]
WORDS = ["the", "cat", "a", "b", "c", "t", "h", "e", "x", "<", ">", "/", "|", "s", "m", "_", "[", "]", "T", "C", "A", "\u00e9", "\u4e2d"]


def vocabulary(kind, inside):
    """The arguments of a class: a small vocabulary that holds the tokens `inside`."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet()) + ["\u2581"]
    if kind == "BPE":
        words = dict.fromkeys(["<first>"] + letters + ["th", "the"] + inside)
        return {"vocab": {w: i for i, w in enumerate(words)}, "merges": [("t", "h"), ("th", "e")]}
    if kind == "WordPiece":
        words = dict.fromkeys(["[UNK]", "<unk>"] + WORDS + ["##" + w for w in WORDS] + inside)
        return {"vocab": {w: i for i, w in enumerate(words)}}
    words = dict.fromkeys(["<pad>", "<unk>", "[UNK]", "\u2581"] + WORDS + ["\u2581the"] + [f"w{i}" for i in range(100)] + inside)
    return {"vocab": [(w, -2.0 - 0.1 * i) for i, w in enumerate(words)]}


def flags(rng):
    return {name: rng.random() < 0.4 for name in ("single_word", "lstrip", "rstrip", "normalized")}


def steps_of(part):
    """The steps of a part of tokenizer.json; a Sequence has a list."""
    for key in ("normalizers", "pretokenizers", "decoders"):
        if key in (part or {}):
            return part[key]
    return [part] if part else []


def differ(rng, tokenizer, config, row):
    """Other spaces before texts and other letter cases in tokenizer.json and in the config, where the class `row` reads the keys."""
    if "CS_PREFIX" in row and rng.random() < 0.6:
        if rng.random() < 0.7:
            config["add_prefix_space"] = rng.random() < 0.5
        if "LLAMA" in row and rng.random() < 0.5:
            config["legacy"] = rng.random() < 0.5
        for step in steps_of(tokenizer["pre_tokenizer"]):
            if step["type"] == "ByteLevel":
                step["add_prefix_space"] = rng.random() < 0.5
            if step["type"] == "Metaspace":
                step["prepend_scheme"] = rng.choice(["always", "first", "never"])
    if "CS_LETTERS" in row and rng.random() < 0.6:
        if rng.random() < 0.7:
            config["do_lower_case"] = rng.random() < 0.5
        for key in ("strip_accents", "tokenize_chinese_chars"):
            if rng.random() < 0.5:
                config[key] = rng.random() < 0.5
        for step in steps_of(tokenizer["normalizer"]):
            if step["type"] == "BertNormalizer":
                step.update({key: rng.random() < 0.5 for key in ("lowercase", "strip_accents", "handle_chinese_chars")})
        if "normalizers" in (tokenizer["normalizer"] or {}) and rng.random() < 0.5:
            steps = [step for step in tokenizer["normalizer"]["normalizers"] if step["type"] != "Lowercase"]
            tokenizer["normalizer"]["normalizers"] = rng.choice([steps, steps + [{"type": "Lowercase"}]])


def row_of(name, model_type):
    """The text of the row of a class, or of that of a type of model."""
    found = [row for row in re.split(r"\n    \{(?=\.names)", SOURCE)[1:]
             if (name or model_type) in re.findall(r'"([^"]*)"', row.split(".models = " if not name else ".names = ")[-1])[0].split()]
    return found[0].split("\n};")[0] if found else ""


def folder(rng, path, name, model_type):
    """Writes a folder whose pipeline is that of the class and whose files list some of the class's tokens; all those tokens."""
    cls = tokenizer_class_from_name(name + "Tokenizer" if name else TOKENIZER_MAPPING_NAMES[model_type])
    if not hasattr(cls, "model") or cls is TokenizersBackend:
        cls = tokenizer_class_from_name("GPT2Tokenizer")
    kind = cls.model.__name__ if cls.model else "Unigram"
    needed = ["[CLS]", "[SEP]"] if cls.__name__ in ("AlbertTokenizer", "FNetTokenizer") else []
    every = [str(t) for t in cls(**vocabulary(kind, needed)).added_tokens_decoder.values()]
    tokens = [t for t in every if "extra_id" not in t] + [t for t in every if "extra_id" in t][:3]
    made = cls(**vocabulary(kind, needed + rng.sample(tokens, rng.randrange(len(tokens) + 1))))
    tokenizer = json.loads(made._tokenizer.to_str())
    vocab = tokenizer["model"]["vocab"]
    ids = {w[0]: i for i, w in enumerate(vocab)} if isinstance(vocab, list) else dict(vocab)
    tokenizer["post_processor"], tokenizer["added_tokens"] = None, []
    for t in rng.sample(tokens, rng.randrange(len(tokens))):
        ids.setdefault(t, len(ids))
        tokenizer["added_tokens"].append({"id": ids[t], "content": t, **flags(rng), "special": True})
    tokenizer["added_tokens"].sort(key=lambda a: a["id"])
    config, special = {}, {}
    if name:
        config["tokenizer_class"] = name + "Tokenizer" + rng.choice(["", "Fast"])
    for where in (config, special):
        for role in rng.sample(["mask_token", "pad_token"] if needed else ROLES, rng.randrange(3)):
            where[role] = rng.choice((tokens if cls.__name__ != "MPNetTokenizer" else []) + ["<own>"]) if rng.random() < 0.8 or where is special else None
    if rng.random() < 0.3 and cls.__name__ != "T5Tokenizer":
        rng.choice([config, special])["additional_special_tokens"] = ["<own>", "<more>"]
    differ(rng, tokenizer, config, "" if name and model_type == "qwen2" else row_of(name, model_type))
    files = {"tokenizer.json": tokenizer, "tokenizer_config.json": config}
    if rng.random() < 0.4:
        files["special_tokens_map.json"] = special
    if model_type:
        files["config.json"] = {"model_type": model_type}
    for file, value in files.items():
        with open(os.path.join(path, file), "w") as f:
            json.dump(value, f)
    return files, tokens + ["<own>", "<more>"]


def compare(seed, name, model_type):
    rng = random.Random(f"{seed} {name} {model_type}")
    with tempfile.TemporaryDirectory() as path:
        files, tokens = folder(rng, path, name, model_type)
        parts = tokens + [" ", "  ", "the cat", "The CAT", "th\u00e9", "\u4e2dc", "a", " the ", "x"]
        text = ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 12))) for _ in range(20)]
        try:
            theirs = AutoTokenizer.from_pretrained(path)
            want = [" ".join(map(str, theirs(line, add_special_tokens=False)["input_ids"])) for line in text]
        except Exception:  # tokenizers raises nothing narrower where the class needs a token that the vocabulary lacks
            return None
        got = subprocess.run([COSPEC, "tokenize", "encode", path], input="\n".join(text) + "\n", capture_output=True, text=True)
        ours = got.stdout.split("\n")[:-1]
        del files["tokenizer.json"]["model"]
        for line, a, b in zip(text, want, ours):
            if a != b:
                return f"{name} {model_type} {seed}: {line!r}: {a} by {type(theirs).__name__}, {b} here; {json.dumps(files)}"
        return "" if got.returncode == 0 and len(ours) == len(text) else f"{name} {model_type} {seed}: {got.stderr}"


def compare_all(pairs):
    all_of_them = [compare(seed, name, model_type) for name, model_type in pairs for seed in range(FOLDERS)]
    wrong = [w for w in all_of_them if w]
    if 4 * all_of_them.count(None) > 3 * len(all_of_them):
        return f"the package reads only {len(all_of_them) - all_of_them.count(None)} of {len(all_of_them)} folders"
    for w in wrong[1:4]:
        print("#", w)
    return f"{len(wrong)}; {wrong[0]}" if wrong else None


for one in NAMES + ["Bloom", "PreTrained"]:
    checks.run("class_" + one, compare_all, [(one, None)])
checks.run("types_of_models", compare_all, [(None, t) for t in TYPES + GENERIC])
checks.run("types_and_classes", compare_all, [(n, t) for t in TYPES + GENERIC for n in ("GPT2", "GPTNeoX", "PreTrained")])
checks.exit()
