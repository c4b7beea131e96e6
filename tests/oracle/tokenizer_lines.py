"""Seeded lines of mixed scripts, for comparisons of tokenizers: words of made-up scripts by Zipf's law, marks in any order, emoji,
control characters, and code points of the whole range."""
import os
import random
from collections import Counter

SCRIPTS = {
    "latin": (0x61, 0x7A), "accents": (0xC0, 0x17F), "greek": (0x3B1, 0x3C9), "cyrillic": (0x410, 0x44F),
    "hebrew": (0x5D0, 0x5EA), "arabic": (0x621, 0x64A), "devanagari": (0x905, 0x939), "thai": (0xE01, 0xE2E),
    "kana": (0x3041, 0x3093), "han": (0x4E00, 0x4F80), "hangul": (0xAC00, 0xADFF), "jamo": (0x1100, 0x1112),
    "bengali": (0x985, 0x9B9), "tamil": (0xB85, 0xBB9), "georgian": (0x10D0, 0x10FA), "vowels": (0x1161, 0x1175),
    "finals": (0x11A8, 0x11C2), "khmer": (0x1780, 0x17B3), "indic digits": (0x966, 0x96F), "garay": (0x10D50, 0x10D85),
    "fullwidth": (0xFF21, 0xFF5A), "gothic": (0x10330, 0x1034A), "maths": (0x1D400, 0x1D454)}
MARKS = ["\u0301", "\u0308", "\u0327", "\u0323", "\u05b8", "\u064e", "\u0651", "\u093e", "\u094d", "\u0e31", "\u3099", "\u0345",
         "\u0f71", "\u0f72", "\u0334", "\u20dd", "\u0897", "\u07fd", "\u1abf", "\u1ad0", "\U00011930", "\U0001193e", "\U0001e08f"]
SPACES = [" ", "  ", "   ", "\t", "\r", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\x0b", "\u180e", "\ufeff"]
EMOJI = ["\U0001F600", "\U0001F44D\U0001F3FD", "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\u2764\ufe0f",
         "\U0001F1EB\U0001F1F7", "\u2615", "1\ufe0f\u20e3"]
DIGITS = ["0", "7", "12", "1999", "1234567", "3.14", "\u0661\u0662", "\u0967", "\u00bd", "\u2167", "\u00b2", "\u2460", "1,000"]
POINTS = list(".,;:!?-_()[]{}'\"/\\@#$%^&*+=<>|~`") + ["...", "--", "``", "''", "\u2026", "\u3002", "\uff0c", "\u060c",
                                                     "\u00ab", "\u2019", "\u201c", "\u2014", "\u20ac", "\u00a9", "\u2192", "\u0964"]
ODD = ["\x00", "\x01", "\x1f", "\x7f", "\x9f", "\ufffd", "\ufffe", "\uffff", "\ue000", "\U0010ffff", "\u00ad", "\u200d",
       "\u0130", "\u1e9e", "\ufb01", "\u017f", "\u2126", "\u212b", "\uac01\u11a8", "\u0958", "\u2f00", "\u3300", "\ud7a3", "\u00a8", "\u24b6"]
WORDS = ["the", "The", "don't", "I'm", "we'll", "they're", "it's", "IT'S", "caf\u00e9", "cafe\u0301", "na\u00efve", "Z\u00fcrich",
         "stra\u00dfe", "of", "and", "HTTPRequest", "camelCase", "x_1", "a.b", "\u4e2d\u6587", "\ud55c\uad6d\uc5b4", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439"]
TOKENS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>", "<extra_id_0>", "<|im_start|>",
          "lone token", "single", "<0x41>", "\u2581", "\u2581\u2581", "</w>", "##ing", "    "]


def vocabulary(rng, real):
    """Words that come again, by Zipf's law: without them there would be nothing to merge."""
    made = list(WORDS)
    for low, high in SCRIPTS.values():
        chars = [chr(c) for c in range(low, high + 1)]
        for _ in range(60):
            word = "".join(rng.choice(chars) + (rng.choice(MARKS) if rng.random() < 0.05 else "")
                           for _ in range(rng.randrange(1, 7)))
            made.append(word.capitalize() if rng.random() < 0.15 else word)
    rng.shuffle(made)
    path = os.path.join(os.environ.get("COSPEC_CACHE", ""), "wordnet.tsv")
    if real and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read(2000000)
        made = [x for pair in zip(made, [w for w, _ in Counter(text.split()).most_common(len(made))]) for x in pair]
    return made


BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x250, 0x800), (0x800, 0x1200), (0x1200, 0x3000), (0x3000, 0xD800), (0xF900, 0x10000),
          (0x10000, 0x12000), (0x16000, 0x17000), (0x1B000, 0x20000), (0x20000, 0x34000), (0xE0000, 0xE0200), (0x10000, 0x110000)]


def random_char(rng):
    low, high = rng.choice(BLOCKS)
    return chr(rng.randrange(low, high))


def make_line(rng, words, newline):
    out = ""
    for _ in range(rng.randrange(1, 16)):
        kind = rng.random()
        if kind < 0.62:
            word = words[min(int(rng.paretovariate(0.7)), len(words)) - 1]
            out += word.upper() if rng.random() < 0.04 else word
        elif kind < 0.72:
            out += rng.choice(DIGITS)
        elif kind < 0.82:
            out += rng.choice(POINTS)
        elif kind < 0.86:
            out += rng.choice(EMOJI)
        elif kind < 0.90:
            out += "".join(random_char(rng) for _ in range(rng.randrange(1, 6)))
        elif kind < 0.93:
            out += rng.choice(MARKS) * rng.randrange(1, 3)
        elif kind < 0.97:
            out += rng.choice(TOKENS)
        else:
            out += rng.choice(ODD)
        gap = rng.random()
        out += " " if gap < 0.62 else rng.choice(SPACES) * rng.randrange(1, 3) if gap < 0.7 else ""
        if gap > 0.97:
            out += rng.choice(newline)
    return out


def make_lines(seed, count, real=False):
    """Lines, and the few that lines alone do not make: empty, blank, one character."""
    rng = random.Random(seed)
    words = vocabulary(random.Random(1), real)
    fixed = ["", " ", "  ", "\n", "\r\n", "a", " a", "a ", " a ", "\n\n a \n", "\u2581", "\u2581a", " \u2581a", "<s>", " <s> ", "\u0301", "\x00"]
    fixed += VERSIONS
    return fixed + [make_line(rng, words, ["\n", "\n\n", "\r\n", " \n ", "\n\t"]) for _ in range(count - len(fixed))]


# Where versions of Unicode differ: punctuation, controls, marks, lower case, normal forms, letters and digits, clusters.
VERSIONS = ["a\u061db \u166dc\u166d d\U000111c9e", "a\u0890b\u08e2c\U00013439d", "a\u07fdb\u0898c\u1cf2d\u1734e\u08d4f\U0001171eg",
            "\u1c89\ua7cb\U00010d50 \ua7ce\U00016ea0 \ua7dc", "\u32ff\ua7f2\U00010781\U0001fbf0 \U00011938 \U00011935\U00011930 \U000105d2\u0307",
            "a\u0301\U0001e08f\u0334 a\u1ac0\u0323 \u0915\u09fe\u093c", "1\U00010d402 \U00011de0 3\U00016ff4", "x\U000105c0y \U000323b0z \U00031350 \u0cf3",
            "\u00bd\u0897b \u00bd\u1acf \u00a8\u0301", "\u00b2 \u00bdx\u00b9", "\u2427\u20c1 \U0001cc00'\u017f"]


def written_lines(seed, count):
    """Without NUL, which JSON read here cannot hold (it is refused by its place)."""
    return [x.replace("\0", "") for x in make_lines(seed, count)]
