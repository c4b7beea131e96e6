"""Tokenizers of today's models against the `tokenizers` package: each kind is made by the package in
the form that the model's own file has, and ids and texts of seeded lines of mixed scripts must be
those of the package, line by line, through the library itself.

    tokenizer_kinds_oracle.py [LINES [KIND...]] [--page FILE.md]    parity; 100000 lines a kind by default
    tokenizer_kinds_oracle.py golden FILE          tests/golden/tokenizer_kinds.json, for tests without the package
    tokenizer_kinds_oracle.py files FOLDER [LINES] [--page FILE.md]  the same for published files, FOLDER/NAME.json or NAME.json.xz
    tokenizer_kinds_oracle.py speed [KIND...]      tokens a processor second of both, the same lines

Lines hold words of made-up scripts by Zipf's law, of WordNet where COSPEC_CACHE has it, marks in any order,
emoji, control characters, and code points of the whole range: assigned by whatever version of Unicode, private,
noncharacters, not assigned.
"""
import ctypes
import json
import lzma
import os
import sys
import tempfile
import time
from collections import Counter

from harness import COSPEC, Checks
from tokenizer_lines import TOKENS, make_lines, vocabulary, written_lines
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LIBRARY = os.path.join(os.path.dirname(COSPEC), "libcospec.so")

# --- kinds ---

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
DEEPSEEK = ["[\r\n]", "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba]+",
            "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", "\\s+$", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"]
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(text, size, first, special, **options):
    """Byte-level BPE: first what comes before ByteLevel."""
    t = Tokenizer(models.BPE(**options))
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not first)
    t.pre_tokenizer = pre_tokenizers.Sequence([*first, last]) if first else last
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, show_progress=False, min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def llama3(text, size):
    t = byte_level(text, size, [split(LLAMA3)], ["<|begin_of_text|>", "<|endoftext|>", "<|im_start|>"], ignore_merges=True)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", 0)])])
    return t


def qwen2(text, size):
    t = byte_level(text, size, [split(QWEN2)], ["<|endoftext|>", "<|im_start|>"])
    t.normalizer = normalizers.NFC()
    return t


def gpt_neox(text, size):
    """Runs of blanks are added tokens, as in GPT-NeoX, ModernBERT and Phi; [MASK] takes the blanks before it."""
    t = byte_level(text, size, [], ["<|endoftext|>", "[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True)])
    t.normalizer = normalizers.NFC()
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return t


def deepseek(text, size):
    return byte_level(text, size, [*map(split, DEEPSEEK), pre_tokenizers.Digits(True)], ["<s>", "</s>"])


def clip(text, size):
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([split(CLIP, "removed", True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    t.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|endoftext|>"], end_of_word_suffix="</w>", show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def without_added(t, names):
    """Tokens that the trainer takes as special ones, in the vocabulary alone."""
    form = json.loads(t.to_str())
    form["added_tokens"] = [a for a in form["added_tokens"] if a["content"] not in names]
    return Tokenizer.from_str(json.dumps(form))


def sentencepiece_bpe(text, size, normalizer, pre, steps, **options):
    """BPE of characters with bytes for the rest: Llama 2, Mistral, Gemma. Trained where blanks are marked."""
    t = Tokenizer(models.BPE(unk_token="<unk>", **options))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<unk>", "<s>", "</s>", *BYTES], show_progress=False, limit_alphabet=200))
    t = without_added(t, BYTES)
    if normalizer:
        t.normalizer = normalizer
    form = json.loads(t.to_str())
    form["pre_tokenizer"] = pre and json.loads(pre.__getstate__())
    t = Tokenizer.from_str(json.dumps(form))
    t.decoder = decoders.Sequence(steps)
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return t


def llama2_legacy(text, size):
    return sentencepiece_bpe(
        text, size, normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None,
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)],
        fuse_unk=True, byte_fallback=True)


def mistral(text, size):
    return sentencepiece_bpe(
        text, size, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)],
        fuse_unk=True, byte_fallback=True)


def gemma(text, size):
    return sentencepiece_bpe(
        text, size, normalizers.Replace(" ", "\u2581"), pre_tokenizers.Split(" ", "merged_with_previous"),
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()], fuse_unk=True, byte_fallback=True)


def bpe_unknown(text, size, **options):
    """No bytes to fall back on: unknown characters are <unk>, one by one or together."""
    return sentencepiece_bpe(text, size, None, pre_tokenizers.Metaspace(), [decoders.Metaspace()], **options)


def unigram(text, size, normalizer, pre, special, unk="<unk>", bytes_too=False):
    t = Tokenizer(models.Unigram())
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.decoder = decoders.Metaspace()
    more = BYTES if bytes_too else []
    for token in TOKENS:  # the trainer would make pieces of those that it has as special tokens
        text = [x.replace(token, " ") for x in text]
    often = Counter("".join(text))  # the others are unknown, as in models of languages
    text = ["".join(c for c in x if often[c] > len(text) // 50) for x in text]
    t.train_from_iterator(text, trainers.UnigramTrainer(
        vocab_size=size, special_tokens=[*special, *more], unk_token=unk, show_progress=False, max_piece_length=8, n_sub_iterations=1))
    t = without_added(t, more)
    if bytes_too:
        form = json.loads(t.to_str())
        form["model"]["byte_fallback"] = True
        t = Tokenizer.from_str(json.dumps(form))
    return t


# A few rules that fit in the golden file.
SMALL_RULES = {"\u00bd": "1\u20442", "\ufb01": "fi", "\uff21": "A", "\u00a0": " ", "\t": " ", "\r": " ", "\u200b": "",
               "e\u0301": "\u00e9", "\u2026": "...", "\x01": "", "\u3099": " \u3099", "\u00a8": " \u0308", "\n": " "}


def charsmap(rules=None):
    """The rules that SentencePiece compiles: its own nmt_nfkc, or the given ones."""
    import io
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    options = {"normalization_rule_name": "nmt_nfkc"}
    with tempfile.TemporaryDirectory() as folder:
        if rules:
            options = {"normalization_rule_tsv": os.path.join(folder, "rules.tsv")}
            with open(options["normalization_rule_tsv"], "w", encoding="utf-8") as file:
                for a, b in rules.items():
                    file.write(" ".join(f"{ord(c):x}" for c in a) + "\t" + " ".join(f"{ord(c):x}" for c in b) + "\n")
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d e f g h"] * 20), model_writer=out, vocab_size=13, hard_vocab_limit=False, minloglevel=2, **options)
    made = sentencepiece_model_pb2.ModelProto()
    made.ParseFromString(out.getvalue())
    return normalizers.Precompiled(made.normalizer_spec.precompiled_charsmap)


def bert_like(first, last, before="<s>", after="</s>"):
    return processors.TemplateProcessing(single=f"{before} $A {after}", pair=f"{before} $A {after} $B {after}",
                                         special_tokens=[(before, first), (after, last)])


def xlm_roberta(text, size, precompiled):
    t = unigram(text, size, normalizers.Sequence([precompiled, normalizers.Strip(left=False, right=True),
                                                  normalizers.Replace(Regex(" {2,}"), "\u2581")]),
                pre_tokenizers.Metaspace(), ["<s>", "<pad>", "</s>", "<unk>"])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = bert_like(0, 2)
    return t


def camembert(text, size, precompiled):
    """As its older files have it: white space is cut first."""
    t = unigram(text, size, normalizers.Sequence([precompiled, normalizers.Replace(Regex(" {2,}"), " ")]),
                pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
                ["<s>", "<pad>", "</s>", "<unk>"])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = bert_like(0, 2)
    return t


def t5(text, size, precompiled):
    t = unigram(text, size, normalizers.Sequence([precompiled, normalizers.Strip(left=False, right=True),
                                                  normalizers.Replace(Regex(" {2,}"), "\u2581")]),
                pre_tokenizers.Metaspace(), ["<pad>", "</s>", "<unk>"])
    t.add_special_tokens([AddedToken(f"<extra_id_{i}>", rstrip=True, special=True) for i in range(9, -1, -1)])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return t


def albert(text, size, precompiled):
    t = unigram(text, size, normalizers.Sequence(
        [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
         normalizers.Lowercase(), precompiled, normalizers.Replace(Regex(" {2,}"), " ")]),
                pre_tokenizers.Metaspace(), ["<pad>", "<unk>", "[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True)])
    t.post_processor = bert_like(2, 3, "[CLS]", "[SEP]")
    return t


def deberta_v2(text, size, precompiled):
    t = unigram(text, size, normalizers.Sequence([normalizers.Lowercase(), normalizers.Strip(), precompiled,
                                                  normalizers.Replace(Regex(" {2,}"), " ")]),
                pre_tokenizers.Sequence([pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Metaspace()]),
                ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"], unk="[UNK]")
    t.post_processor = bert_like(1, 2, "[CLS]", "[SEP]")
    return t


def unigram_bytes(text, size, precompiled):
    return unigram(text, size, normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), precompiled]),
                   pre_tokenizers.Metaspace(prepend_scheme="first"), ["<unk>", "<s>", "</s>"], bytes_too=True)


def word_level(text, size):
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("merged_with_previous"),
                                               pre_tokenizers.Digits(individual_digits=False)])
    t.train_from_iterator(text, trainers.WordLevelTrainer(vocab_size=size, special_tokens=["<unk>"], show_progress=False))
    return t


def bert(text, size, lowercase, accents=None, **options):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=accents, **options)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(text, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False, limit_alphabet=300))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def forms(text, size):
    """Every character of what normalisers leave is seen in the bytes."""
    t = byte_level(text, size, [], ["<s>"])
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.NFKC()])
    return t


def bert_bytes(text, size):
    """The same of BERT's normaliser and pieces."""
    t = byte_level(text, size, [pre_tokenizers.BertPreTokenizer()], ["<s>"])
    t.normalizer = normalizers.BertNormalizer()
    return t


def parts(text, size):
    """Parts that the others lack: Whitespace, digits and marks by several manners, added tokens of every flag."""
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip(left=True, right=False)])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("-", "merged_with_next"), pre_tokenizers.Punctuation("merged_with_previous"),
        pre_tokenizers.CharDelimiterSplit("/"), pre_tokenizers.Split(" ", "contiguous"),
        pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Whitespace()])
    t.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<unk>", "<s>"], continuing_subword_prefix="##", show_progress=False, limit_alphabet=300))
    t.add_tokens([AddedToken("single", single_word=True), AddedToken("lone token", lstrip=True, rstrip=True),
                  AddedToken("caf\u00e9", normalized=True), AddedToken("the", single_word=True, normalized=False)])
    return t


def kinds(text, size, small, names):
    """(name, tokenizer) of the kinds that are named, or of all."""
    precompiled = charsmap(SMALL_RULES if small else None)
    made = {f.__name__: (lambda f=f: f(text, size))
            for f in (llama3, qwen2, gpt_neox, deepseek, clip, llama2_legacy, mistral, gemma, parts, forms, bert_bytes)}
    made |= {"gpt2": lambda: byte_level(text, size, [], ["<|endoftext|>"]),
             "o200k": lambda: byte_level(text, size, [split(O200K)], ["<|endoftext|>"]),
             "bloom": lambda: byte_level(text, size, [split(BLOOM)], ["<unk>", "<s>", "</s>", "<pad>"]),
             "starcoder": lambda: byte_level(text, size, [pre_tokenizers.Digits(True)], ["<|endoftext|>"]),
             "bpe-unknown": lambda: bpe_unknown(text, size),
             "bpe-fused": lambda: bpe_unknown(text, size, fuse_unk=True)}
    made |= {f.__name__: (lambda f=f: f(text, size, precompiled))
             for f in (xlm_roberta, camembert, t5, albert, deberta_v2, unigram_bytes)}
    made |= {"bert-uncased": lambda: bert(text, size, True), "bert-cased": lambda: bert(text, size, False),
             "bert-accents": lambda: bert(text, size, True, False),
             "bert-parts": lambda: bert(text, size, False, True, clean_text=False, handle_chinese_chars=False), "wordlevel": lambda: word_level(text, size)}
    for name in names or made:
        yield name, made[name]()


# --- the library ---


class Ours:
    """A tokenizer and its encoder through the shared library: cs_encoder begins with the tokenizer, the
    ids and their number."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(LIBRARY)
        self.lib.cs_reason.restype = ctypes.c_char_p
        self.lib.cs_reason_clear()
        self.tokenizer, self.encoder = ctypes.c_void_p(), ctypes.create_string_buffer(1 << 14)
        self.check(self.lib.cs_tokenizer_read(path.encode(), ctypes.byref(self.tokenizer)))
        self.lib.cs_encoder_init(self.encoder, self.tokenizer)
        self.fields = ctypes.cast(self.encoder, ctypes.POINTER(ctypes.c_int64))

    def check(self, status):
        if status != 0:
            raise ValueError(self.lib.cs_reason().decode())

    def encode(self, data, special=False):
        self.check(self.lib.cs_encoder_encode(self.encoder, data, ctypes.c_int64(len(data)), ctypes.c_bool(special)))
        count = self.fields[2]
        return (ctypes.c_int32 * count).from_address(self.fields[1]) if count else []

    def decode(self, ids, skip):
        text, size = ctypes.c_void_p(), ctypes.c_int64()
        array = (ctypes.c_int32 * len(ids))(*ids)
        self.check(self.lib.cs_tokenizer_decode(self.tokenizer, array, ctypes.c_int64(len(ids)), ctypes.c_bool(skip),
                                                ctypes.byref(text), ctypes.byref(size)))
        out = ctypes.string_at(text, size.value).decode()
        self.lib.cs_free(text)
        return out


def same(folder, name, theirs, lines, found, published=False):
    """None, or how many lines differ and the first; adds (name, model, lines, lines whose ids differ, whose texts differ) and of
    published files the lines that are refused, for a byte without a token, which the package leaves out."""
    path = os.path.join(folder, name + ".json")
    if not published:
        theirs.save(path)
    ours, bad, texts, refused, first = Ours(path), 0, 0, 0, None
    for start in range(0, len(lines), 1000):
        some = lines[start:start + 1000]
        for line, want in zip(some, theirs.encode_batch_fast(some, add_special_tokens=True)):
            try:
                got, ids = list(ours.encode(line.encode(), True)), want.ids
            except ValueError as why:
                if not published or "no token for the byte" not in str(why):
                    raise
                ours.lib.cs_reason_clear()
                refused += 1
                continue
            if got != ids:
                bad += 1
                first = first or f"{ascii(line)}: {got} from the library, {ids} expected"
            elif start < 5000:
                for skip in (False, True):
                    text, wanted = ours.decode(got, skip), theirs.decode(got, skip_special_tokens=skip)
                    if text != wanted:
                        texts += 1
                        first = first or f"{got}: {text!a} from the library, {wanted!a} expected"
    found.append((name, type(theirs.model).__name__, len(lines), bad, texts) + ((refused,) if published else ()))
    return f"ids of {bad} and texts of {texts} of {len(lines)} lines differ, first {first}" if first else None


def write_golden(path):
    """Lines and, for each kind, the file, the ids of each line (special tokens around), and texts of some."""
    lines = written_lines(7, 220)
    out = {"source": "tests/oracle/tokenizer_kinds_oracle.py golden", "lines": lines, "kinds": {}}
    for name, t in kinds(written_lines(3, 400), 560, True, []):
        ids = [x.ids for x in t.encode_batch(lines, add_special_tokens=True)]
        out["kinds"][name] = {"tokenizer": json.loads(t.to_str()), "ids": ids,
                              "decoded": [t.decode(x, skip_special_tokens=True) for x in ids[:60]]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(out, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


def speed(folder):
    text = written_lines(3, 4000)
    lines = make_lines(5, 20000, True)
    data = [x.encode() for x in lines]
    for name, t in kinds(text, 8000, False, sys.argv[2:]):
        path = os.path.join(folder, name + ".json")
        t.save(path)
        ours, best = Ours(path), [1e9, 1e9]
        tokens = sum(len(ours.encode(x)) for x in data)
        for _ in range(3):
            start = time.process_time()
            t.encode_batch_fast(lines, add_special_tokens=False)
            best[0] = min(best[0], time.process_time() - start)
            start = time.process_time()
            for x in data:
                ours.encode(x)
            best[1] = min(best[1], time.process_time() - start)
        print(f"{name}: {tokens} tokens, {tokens / best[0] / 1e6:.2f} M/s tokenizers, {tokens / best[1] / 1e6:.2f} M/s here, "
              f"{best[0] / best[1]:.2f} times as fast", flush=True)


PAGE = """\
# Tokenizers against the `tokenizers` package

This page checks that every supported kind of tokenizer gives the same ids and texts as the `tokenizers` package. It is for
readers who load a model's own tokenizer.json.

**Finding.** Of {lines:,} lines of {kinds} kinds, {ids:,} have other ids and {texts:,} decoded texts differ.

**Method.** The package trains each kind in the form of the model's own file. Both programs read the same seeded lines and
add the special tokens around a text; the ids of the first 5,000 lines are decoded as well. Lines mix scripts, words of
WordNet, marks in any order, emoji, every kind of blank, and code points of the whole range.

**Scope.** tokenizers {version}. Its parts use the classes of Unicode 8 (punctuation, controls, marks of BERT), 9 (marks,
normal forms), 16 (regular expressions) and 17 (lower case, digits). The tables are src/text/unicode_tables_private.h,
written by tests/oracle/unicode_tables.py.

**Repeat.** `tokenizer_kinds_oracle.py --page docs/results/tokenizers.md` in tests/oracle (an area of `make oracle`) writes
this page; it is not edited by hand.

| kind | model | lines | lines with other ids | texts that differ |
|---|---|---|---|---|
"""


FILES = """
## Published files

tokenizer.json files of public repositories, read as they are. They belong to others and are not part of this repository.
`tokenizer_kinds_oracle.py files FOLDER` repeats the comparison. A line is refused if it needs a byte for which the
vocabulary has no token; the package leaves such bytes out without a message.

| file | model | lines | lines with other ids | texts that differ | lines refused |
|---|---|---|---|---|---|
"""


def compare_files(source, lines, page):
    checks, found = Checks("tokenizer_files"), []
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(os.listdir(source)):
            if not file.endswith((".json", ".json.xz")):
                continue
            opened = lzma.open if file.endswith(".xz") else open
            with opened(os.path.join(source, file), "rb") as f:
                text = f.read().decode()
            name = file.split(".json")[0]
            if "vocab" not in json.loads(text).get("model", {}):
                continue
            with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
                f.write(text)
            checks.run(name, same, folder, name, Tokenizer.from_str(text), lines, found, True)
    if page:
        with open(page, encoding="utf-8") as f:
            before = f.read().split(FILES.splitlines()[1])[0].rstrip("\n") + "\n"
        with open(page, "w", encoding="utf-8") as f:
            f.write(before + FILES)
            f.writelines(f"| `{n}` | {m} | {k:,} | {i:,} | {t:,} | {r:,} |\n" for n, m, k, i, t, r in found)
    return checks.exit()


def write_page(path, found):
    import tokenizers
    files = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            files = "".join(file.read().partition("\n" + FILES.splitlines()[1])[1:])
    with open(path, "w", encoding="utf-8") as file:
        lines, ids, texts = (sum(row[i] for row in found) for i in (2, 3, 4))
        file.write(PAGE.format(version=tokenizers.__version__, kinds=len(found), lines=lines, ids=ids, texts=texts))
        file.writelines(f"| `{name}` | {model} | {lines:,} | {ids:,} | {texts:,} |\n" for name, model, lines, ids, texts in found)
        file.write(files)


def main():
    given = sys.argv[1:]
    page = given.index("--page") if "--page" in given else len(given)
    path = given[page + 1] if page < len(given) else None
    given = given[:page]
    if given[:1] == ["golden"]:
        return write_golden(given[1])
    if given[:1] == ["files"]:
        return compare_files(given[1], make_lines(11, int(given[2]) if len(given) > 2 else 100000, True), path)
    with tempfile.TemporaryDirectory() as folder:
        if given[:1] == ["speed"]:
            return speed(folder)
        checks, found = Checks("tokenizer_kinds"), []
        lines = make_lines(11, int(given[0]) if given else 100000, True)
        try:
            for name, tokenizer in kinds(written_lines(3, 4000), 4000, False, given[1:]):
                checks.run(name, same, folder, name, tokenizer, lines, found)
        except ImportError as error:
            checks.skip("all", str(error))
    if path:
        write_page(path, found)
    return checks.exit()


if __name__ == "__main__":
    main()
