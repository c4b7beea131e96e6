"""The tokenizer of a model's folder against AutoTokenizer of transformers: random folders whose tokenizer.json, tokenizer_config.json,
special_tokens_map.json and added_tokens.json list tokens that agree, differ or are new. Ids of lines that hold them must be equal.

    tokenizer_folder_oracle.py [FOLDERS]    400 folders by default
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from harness import COSPEC, Checks
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer
from transformers.utils import logging

logging.set_verbosity_error()
checks = Checks("tokenizer_folder")
TOKENS = ["<a>", "<b>", "[C]", "<|d|>", "<mask>", "<s>", "</s>", "<pad>", "<unk>", "<E>", "ab", "the"]
NAMES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "image_token", "eot_token"]


def base(rng):
    """A small tokenizer of one of three kinds, with some of TOKENS in its vocabulary or added."""
    inside = rng.sample(TOKENS, 3)
    kind = rng.randrange(3)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    if kind == 0:
        vocab = {t: i for i, t in enumerate(dict.fromkeys(letters + ["th", "the"] + inside))}
        t = Tokenizer(models.BPE(vocab=vocab, merges=[("t", "h"), ("th", "e")]))
        t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    elif kind == 1:
        words = ["[UNK]", "the", "cat", "a", "##a", "##b", "b", "<", ">", "c", "##e", "s", "/", "|", "mask", "d"]
        vocab = {t: i for i, t in enumerate(dict.fromkeys(words + inside))}
        t = Tokenizer(models.WordPiece(vocab=vocab, unk_token="[UNK]"))
        t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
        t.decoder = decoders.WordPiece()
    else:
        words = ["<unk>", "\u2581", "a", "b", "c", "t", "h", "e", "s", "\u2581the", "<", ">", "/", "|", "m", "k"]
        pieces = dict.fromkeys(words + inside)
        t = Tokenizer(models.Unigram([(w, -2.0 - i * 0.1) for i, w in enumerate(pieces)], unk_id=0))
        t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return json.loads(t.to_str())


def flags(rng, content):
    return {"content": content, "lstrip": rng.random() < 0.3, "rstrip": rng.random() < 0.3,
            "single_word": rng.random() < 0.2, "normalized": rng.random() < 0.5, "special": rng.random() < 0.5}


def folder(rng, path):
    tokenizer = base(rng)
    vocab = tokenizer["model"]["vocab"]
    ids = {w[0]: i for i, w in enumerate(vocab)} if isinstance(vocab, list) else dict(vocab)
    for content in rng.sample(TOKENS, rng.randrange(4)):
        ids.setdefault(content, len(ids))
        tokenizer["added_tokens"].append({"id": ids[content], **flags(rng, content)})
    tokenizer["added_tokens"].sort(key=lambda a: a["id"])
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1000000000000000019884624838656}

    def named(dicts):
        chosen = rng.sample(TOKENS, 5)
        for name in rng.sample(NAMES, rng.randrange(4)):
            token = chosen.pop()
            yield name, dicts(token) if rng.random() < 0.4 else token

    def of_config(token):
        return {"__type": "AddedToken", **flags(rng, token)}

    def of_map(token):
        return flags(rng, token)

    config.update(named(of_config))
    some = lambda: rng.sample(TOKENS, rng.randrange(1, 4))
    if rng.random() < 0.3:
        config["additional_special_tokens"] = some()
    if rng.random() < 0.3:
        config["extra_special_tokens"] = some() if rng.random() < 0.6 else {"video_token": rng.choice(TOKENS)}
    if rng.random() < 0.4:
        config["added_tokens_decoder"] = {str(rng.randrange(400) if t not in ids else ids[t]): flags(rng, t) for t in some()}
    special = dict(named(of_map))
    if rng.random() < 0.3:
        special["additional_special_tokens"] = some()
    if rng.random() < 0.2:
        special["extra_special_tokens"] = some()
    files = {"tokenizer.json": tokenizer, "tokenizer_config.json": config}
    if rng.random() < 0.5:
        files["special_tokens_map.json"] = special
    if rng.random() < 0.5:
        files["added_tokens.json"] = {t: ids.get(t, rng.randrange(300, 400)) for t in some()}
    for name, value in files.items():
        with open(os.path.join(path, name), "w") as f:
            json.dump(value, f)
    return files


def lines(rng):
    parts = TOKENS + [" ", "  ", "the cat", "a", "b", " the ", "<A>", "<e>", "x"]
    return ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 12))) for _ in range(20)]


def compare(seed):
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as path:
        files = folder(rng, path)
        text = [line for line in lines(rng)]
        theirs = AutoTokenizer.from_pretrained(path)
        want = [" ".join(map(str, theirs(line, add_special_tokens=False)["input_ids"])) for line in text]
        got = subprocess.run([COSPEC, "tokenize", "encode", path], input="\n".join(text) + "\n", capture_output=True, text=True)
        ours = got.stdout.split("\n")[:-1]
        for line, a, b in zip(text, want, ours):
            if a != b:
                return f"folder {seed}: {line!r}: {a} by the package, {b} here; {json.dumps({k: v for k, v in files.items() if k != 'tokenizer.json'})} {json.dumps(files['tokenizer.json']['added_tokens'])}"
        return "" if got.returncode == 0 and len(ours) == len(text) else f"folder {seed}: {got.stderr}"


def compare_all(count):
    wrong = [w for w in map(compare, range(count)) if w]
    for w in wrong[1:6]:
        print("#", w)
    return f"{len(wrong)} of {count}; {wrong[0]}" if wrong else None


checks.run("random_folders", compare_all, int(sys.argv[1]) if len(sys.argv) > 1 else 400)
checks.exit()
