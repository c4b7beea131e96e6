"""Tokenizers against the `tokenizers` and `transformers` packages.

Training of byte-level BPE merge by merge; ids and texts of random Unicode lines through tokenizers
made here and read there, and made there and read here. Unicode versions differ (utf8proc 15.0;
the package 16 for letters, 8 for punctuation), so lines only hold characters of Unicode
3.2 whose category has not changed since.

`tokenizer_oracle.py golden FILE` writes tests/golden/tokenizers.json instead: small tokenizers made
by the package, texts, and what the package makes of them.
"""
import json
import os
import random
import sys
import tempfile
import unicodedata

from harness import Checks, cospec
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = ["  ", " ", "\t", "\r", "\u00a0", "\u3000", "'s", "'re", "'ll", "'D", "'", "don't", "123",
          "\u00e9", "e\u0301", "\u0130", "\u4e2d\u6587", "\ud55c\uad6d", "<s>", "</s>", "<mask>",
          "[CLS]", "[MASK]", "\x1f", "\x7f", "the", " the", "--", "----", "aaaa", ".", ","]


def old(c):
    category = unicodedata.ucd_3_2_0.category(c)
    return category not in ("Cn", "Cs") and category == unicodedata.category(c)


def random_line(rng, newline=False):
    out = ""
    for _ in range(rng.randrange(1, 40)):
        kind = rng.random()
        if kind < 0.35:
            out += chr(rng.randrange(32, 127))
        elif kind < 0.6:
            out += rng.choice(PIECES + (["\n", "\r\n", "\n\n"] if newline else []))
        else:
            top = rng.choice([0x250, 0x800, 0x10000, 0x20000])
            c = chr(rng.randrange(1, top))
            out += c if old(c) and c != "\n" else ""
    return out


def random_text(rng, lines):
    """Words of a small vocabulary with Zipf's law, and runs that make merges meet."""
    words = ["".join(rng.choice("abcdeilnorst") for _ in range(rng.randrange(1, 9)))
             for _ in range(300)] + ["aaaa", "--", "------", "1999", "it's", "caf\u00e9", "a"]
    weights = [1 / (i + 1) for i in range(len(words))]
    return [" ".join(rng.choices(words, weights, k=rng.randrange(1, 30))) for _ in range(lines)]


def train_bpe(lines, vocab, frequency=2, special=SPECIAL, prefix=False):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=vocab, min_frequency=frequency, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def roberta(lines, vocab):
    """The form of RoBERTa: prefix space, a <mask> that eats blanks before it."""
    t = train_bpe(lines, vocab, prefix=True, special=SPECIAL[:4] + [AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    t.add_tokens([AddedToken("lone token", normalized=True)])
    return t


def wordpiece(lines, vocab, lowercase, accents):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=accents)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=vocab, special_tokens=BERT, show_progress=False))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def word_list(lines, splitter):
    """Made with the parts that docs/reference/tokenizers.md names for the word, whitespace and char splitters."""
    words = []
    for line in lines:
        for w in {"word": line.lower, "whitespace": line.__str__, "char": line.__str__}[splitter]().split():
            for token in (w if splitter == "char" else [w]):
                if token not in words:
                    words.append(token)
    vocab = {w: i for i, w in enumerate(["<unk>", *words, *SPECIAL[:3], "<mask>"])}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    if splitter == "word":
        t.normalizer = normalizers.Sequence([normalizers.Replace("\u0130", "i"), normalizers.Lowercase()])
        t.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\p{L}\p{M}]+"), "removed")
    elif splitter == "whitespace":
        t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        t.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        t.decoder = decoders.Fuse()
    t.add_special_tokens(["<unk>", *SPECIAL[:3], "<mask>"])
    return t


# --- checks ---


def put(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))
    return path


def same_training(folder, lines, vocab, frequency):
    corpus = put(folder, "corpus.txt", [x for x in lines if x.strip()])
    theirs = json.loads(train_bpe([x for x in lines if x.strip()], vocab, frequency).to_str())["model"]
    where = os.path.join(folder, "trained")
    cospec("tokenize", "train", corpus=corpus, vocab=vocab, min_frequency=frequency, force=True, o=where)
    with open(os.path.join(where, "tokenizer.json"), encoding="utf-8") as file:
        ours = json.load(file)["model"]
    merges = [" ".join(m) for m in theirs["merges"]]
    for i, (a, b) in enumerate(zip(merges, ours["merges"])):
        if a != b:
            return f"merge {i}: '{b}' from the program, '{a}' expected"
    if len(merges) != len(ours["merges"]):
        return f"{len(ours['merges'])} merges from the program, {len(merges)} expected"
    return None if ours["vocab"] == theirs["vocab"] else "vocabularies differ"


def same_ids(folder, path, lines):
    """Ids and texts of the package and the program through one tokenizer.json."""
    t = Tokenizer.from_file(path)
    text = put(folder, "lines.txt", lines)
    for special in (False, True):
        ours = cospec("tokenize", "encode", path, text, **({"add_special": True} if special else {}))
        ids = [x["ids"] for x in ours["lines"]]
        for line, own in zip(lines, ids, strict=True):
            want = t.encode(line, add_special_tokens=special).ids
            if own != want:
                return f"{line!r}: {own} from the program, {want} expected"
        back = put(folder, "lines.ids", [" ".join(map(str, x)) for x in ids])
        ours = cospec("tokenize", "decode", path, back, **({"skip_special": True} if special else {}))
        for own, row in zip(ours["lines"], ids, strict=True):
            want = t.decode(row, skip_special_tokens=special)
            if own != want:
                return f"{row}: {own!r} from the program, {want!r} expected"
    return None


def same_file(folder, path):
    """The package reads our file and saves the same file (with merges as pairs)."""
    t = Tokenizer.from_file(path)
    again = os.path.join(folder, "again.json")
    t.save(again)
    with open(path, encoding="utf-8") as ours, open(again, encoding="utf-8") as theirs:
        a, b = json.load(ours), json.load(theirs)
    if "merges" in b["model"]:
        b["model"]["merges"] = [" ".join(m) for m in b["model"]["merges"]]
    return next((f"{key}: {a[key]} against {b[key]}" for key in b if a.get(key) != b[key]), None)


def same_in_transformers(path, lines):
    from transformers import PreTrainedTokenizerFast
    fast = PreTrainedTokenizerFast(tokenizer_file=path, bos_token="<s>", eos_token="</s>",
                                   unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")
    plain = Tokenizer.from_file(path)
    for line in lines:
        if fast(line)["input_ids"] != plain.encode(line).ids:
            return f"{line!r}: {fast(line)['input_ids']} against {plain.encode(line).ids}"
    return None


def check_all(checks, folder):
    rng = random.Random(3)
    lines, text = [random_line(rng) for _ in range(1500)], random_text(rng, 2000)
    for vocab, frequency in ((300, 2), (1000, 2), (4000, 5)):
        checks.run(f"train {vocab}", same_training, folder, text, vocab, frequency)
    for trial in range(10):
        runs = ["".join(rng.choice("ab-") * rng.randrange(1, 7) for _ in range(rng.randrange(1, 20)))
                for _ in range(rng.randrange(2, 40))]
        checks.run(f"train runs {trial}", same_training, folder, runs, 320, 2)

    ours = {}
    corpus = put(folder, "corpus.txt", text)
    for model in ("bpe", "word", "whitespace", "char"):
        where = os.path.join(folder, model)
        cospec("tokenize", "train", corpus=corpus, vocab=1000, model=model, o=where)
        ours[model] = os.path.join(where, "tokenizer.json")
        checks.run(f"file {model}", same_file, folder, ours[model])
    theirs = {"roberta": roberta(text, 1000), "bert-uncased": wordpiece(text, 600, True, None),
              "bert-cased": wordpiece(text, 600, False, None),
              "bert-accents": wordpiece(text, 600, True, False)}
    for name, tokenizer in theirs.items():
        ours[name] = os.path.join(folder, name + ".json")
        tokenizer.save(ours[name])
    for name, path in ours.items():
        checks.run(f"ids {name}", same_ids, folder, path, lines + text[:200])
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        checks.skip("transformers", str(error))
    else:
        for name in ("bpe", "word"):
            checks.run(f"transformers {name}", same_in_transformers, ours[name], text[:100])


# --- golden file ---

GOLDEN_TEXT = ["The cat sat on the mat, and the dog didn't.", "It's 12 o'clock; they're late - we'll go.",
               "A caf\u00e9 in Z\u00fcrich, a na\u00efve r\u00e9sum\u00e9.", "the theory of the matter: that thing there",
               "\u4e2d\u6587 and \ud55c\uad6d\uc5b4 and \u0440\u0443\u0441\u0441\u043a\u0438\u0439"] * 3
GOLDEN_LINES = ["", " ", "  ", "\n", "a", " a", "a ", "The cat isn't on the mat.", "tabs\tand\r\nlines \n\n end",
                "the  cat   that\n the mat  ", 
                "<s>the</s>", "a <mask> b  <mask>", "[CLS] cat [MASK]", "lone token there", "x\u00a0y\u3000z",
                "\U0001F600\U0001F468\u200d\U0001F469\u200d\U0001F467", "e\u0301\u00e9\u0130\u1e9e", "\x01\x1f\x7f"]


def write_golden(path):
    rng = random.Random(11)
    lines = GOLDEN_LINES + [random_line(rng, newline=True) for _ in range(40)]
    made = {"bpe": train_bpe(GOLDEN_TEXT, 400), "roberta": roberta(GOLDEN_TEXT, 330),
            "bert-uncased": wordpiece(GOLDEN_TEXT, 150, True, None),
            "bert-accents": wordpiece(GOLDEN_TEXT, 150, True, False)}
    made.update({name: word_list(GOLDEN_TEXT, name) for name in ("word", "whitespace", "char")})
    out = {"source": "tests/oracle/tokenizer_oracle.py golden"}
    for name, t in made.items():
        cases = []
        for line in lines:
            ids, with_special = (t.encode(line, add_special_tokens=x).ids for x in (False, True))
            cases.append({"text": line, "ids": ids, "added": len(with_special) - len(ids),
                          "decoded": t.decode(ids, skip_special_tokens=False),
                          "skipped": t.decode(ids, skip_special_tokens=True)})
        out[name] = {"tokenizer": json.loads(t.to_str()), "cases": cases}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(out, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


def main():
    if sys.argv[1:2] == ["golden"]:
        write_golden(sys.argv[2])
        return
    checks = Checks("tokenizer")
    with tempfile.TemporaryDirectory() as folder:
        check_all(checks, folder)
    checks.exit()


if __name__ == "__main__":
    main()
