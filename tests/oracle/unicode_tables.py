"""Writes src/text/unicode_tables_private.h: where the classes, lower case and normal forms of the
`tokenizers` package, which knows each from another version of Unicode, are not those of a library of
this machine. The package itself is asked about every code point; what later versions have comes from
unicodedata2, so that a newer utf8proc gives the same. Run by hand when the package changes:

    unicode_tables.py src/text/unicode_tables_private.h

with tokenizers, sentencepiece and unicodedata2 (PyPI), and a Python whose own `unicodedata` is of Unicode 14 (that of PCRE2
10.42) or older.
"""
import ctypes
import os
import sys
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers
import unicodedata2 as newest
from tokenizers import Regex, normalizers, pre_tokenizers

from tokenizer_kinds_oracle import charsmap

assert tuple(map(int, unicodedata.unidata_version.split("."))) <= (14, 0, 0), "a Python of Unicode 14 or older is needed"
UTF8PROC = ctypes.CDLL("libutf8proc.so.2")
UTF8PROC.utf8proc_category_string.restype = ctypes.c_char_p
POINTS = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co".split()
HEAD = """\
/* Written by tests/oracle/unicode_tables.py with tokenizers %s, utf8proc's Unicode %s and Unicode %s as the
 * newest; not to be changed by hand. Private to src/text/unicode.c. */
#pragma once

#include "text/unicode.h"

/* clang-format off */
"""


def ours(c):
    return UTF8PROC.utf8proc_category_string(c).decode()


def removed(step):
    """The characters that a normaliser removes."""
    return {c for c in POINTS if step.normalize_str(chr(c)) == ""}


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def newer():
    """Category by regular expressions of what Unicode 14 lacks or has in another one; CN: it is newer still."""
    some = [c for c in POINTS if newest.category(chr(c)) not in ("Cn", unicodedata.category(chr(c)))]
    known = {}
    for name in CATEGORIES:
        step = normalizers.Replace(Regex(r"\p{%s}" % name), "")
        known |= dict.fromkeys((c for c in some if step.normalize_str(chr(c)) == ""), name)
    return {c: known.get(c, "Cn") for c in some if known.get(c, "Cn") != unicodedata.category(chr(c)) or c not in known}


def apart(theirs, wanted):
    """(never, always): what the package has not though utf8proc or the newest Unicode has it, and the other way round."""
    here = {c for c in POINTS if wanted(ours(c))}
    later = {c for c in POINTS if wanted(newest.category(chr(c)))}
    return (here | later) - theirs, theirs - (here & later)


def lower_pairs():
    """Lower case that the package has, and utf8proc or a Unicode before it may not."""
    step, out = normalizers.Lowercase(), {}
    for c in POINTS:
        small = step.normalize_str(chr(c))
        if len(small) == 1 and small != chr(c) and unicodedata.category(chr(c)) == "Cn":
            out[c] = ord(small)
    return out


def without_form():
    """Characters that take part in the newest normal forms, but not in those of the package."""
    nfc, nfd, nfkd = normalizers.NFC(), normalizers.NFD(), normalizers.NFKD()
    out = set()
    for c in POINTS:
        x = chr(c)
        if newest.combining(x):
            ordered = nfd.normalize_str("a" + x + "\u0334")[1] == "\u0334" or nfd.normalize_str("a\u0301" + x)[1] == x
            out |= set() if ordered else {c}
        if newest.normalize("NFKD", x) != nfkd.normalize_str(x):
            out.add(c)
        parts = newest.decomposition(x).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            pair = "".join(chr(int(p, 16)) for p in parts)
            if newest.normalize("NFC", pair) != nfc.normalize_str(pair):
                out |= {ord(p) for p in pair if not newest.combining(p)}
    return out


def joined():
    """Characters that the grapheme clusters of Precompiled join to the character before it, and utf8proc does not."""
    step = charsmap({"a": "b"})  # a cluster that begins with a rule's character becomes what the rule says
    def breaks(c):
        return UTF8PROC.utf8proc_grapheme_break(ord("a"), c)
    theirs = {c for c in POINTS if step.normalize_str("a" + chr(c)) == "b"}
    here = {c for c in POINTS if not breaks(c)}
    print("joined here alone:", [f"{a:X}-{b:X}" for a, b in ranges(here - theirs)])
    return theirs - here


def write_ranges(file, name, points, comment):
    items = [f"{{0x{a:04X}, 0x{b:04X}}}," for a, b in ranges(points)]
    file.write(f"\n/* {comment} */\nstatic const cs_char_range {name}[] = {{\n")
    for i in range(0, len(items), 4):
        file.write("    " + " ".join(items[i:i + 4]) + "\n")
    file.write("};\n")


def write_pages(file, name, points):
    """A bit for each 256 code points below 2^17 that have one of the points."""
    pages = sum(1 << p for p in {c >> 8 for c in points if c < 1 << 17})
    words = ", ".join(f"0x{pages >> 64 * i & (1 << 64) - 1:X}" for i in range(8))
    file.write(f"\n/* Bit c / 256: some of them are in this page. */\nstatic const uint64_t {name}[8] = {{\n    {words}}};\n")


def write_newer(file, table):
    runs = []
    for c, name in sorted(table.items()):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == name:
            runs[-1][1] = c
        else:
            runs.append([c, c, name])
    file.write("\n/* Missing in Unicode 14 or with another category, as used by regular expressions; CN: unassigned. */\n"
               "static const cs_char_newer NEWER[] = {\n")
    for i in range(0, len(runs), 2):
        file.write("    " + " ".join(f"{{{{0x{a:04X}, 0x{b:04X}}}, UTF8PROC_CATEGORY_{n.upper()}}}," for a, b, n in runs[i:i + 2]) + "\n")
    file.write("};\n")


def write_lower(file, pairs):
    runs = []
    for c, small in sorted(pairs.items()):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == small - c:
            runs[-1][1] = c
        else:
            runs.append([c, c, small - c])
    file.write("\n/* From, to, and the offset to lower case. */\nstatic const struct cs_char_shift {\n    cs_char_range range;\n    int32_t shift;\n} LOWER[] = {\n")
    for a, b, shift in runs:
        file.write(f"    {{{{0x{a:04X}, 0x{b:04X}}}, {shift}}},\n")
    file.write("};\n")


def main():
    marks = removed(normalizers.StripAccents())
    nonspacing = removed(normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False))
    hidden = removed(normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False))
    split = {c: len(pre_tokenizers.Punctuation().pre_tokenize_str("a" + chr(c))) > 1 for c in POINTS}
    digits = {c for c in POINTS if len(pre_tokenizers.Digits(True).pre_tokenize_str("a" + chr(c))) > 1}
    table = newer()
    numbers = {c for c in POINTS if (table[c] if c in table else ours(c))[0] == "N"}
    assert numbers <= digits
    UTF8PROC.utf8proc_unicode_version.restype = ctypes.c_char_p
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD % (tokenizers.__version__, UTF8PROC.utf8proc_unicode_version().decode(), newest.unidata_version))
        write_newer(file, table)
        write_pages(file, "NEWER_PAGES", {c for c, name in table.items() if name != "Cn"})
        write_ranges(file, "LATER_NUMBERS", digits - numbers, "Numbers of Digits that regular expressions do not know.")
        for name, theirs, wanted, what in (
                ("MARK", {c for c in POINTS if split[c]}, lambda k: k[0] == "P", "Punctuation"),
                ("ACCENT", marks, lambda k: k[0] == "M", "Removed by StripAccents, of category M"),
                ("NONSPACING", nonspacing, lambda k: k == "Mn", "Removed by BertNormalizer as accents, of category Mn"),
                ("HIDDEN", hidden, lambda k: k in ("Cc", "Cf", "Co"), "Removed by BertNormalizer as control, of Cc, Cf and Co")):
            never, always = apart(theirs, wanted)
            write_ranges(file, f"NO_{name}", never, f"{what}: not these")
            write_ranges(file, f"EXTRA_{name}", always, f"{what}: these too")
        write_ranges(file, "JOINED", joined(), "Extends the grapheme cluster before it, but not in utf8proc.")
        unknown = without_form()
        write_ranges(file, "WITHOUT_FORM", unknown, "Unchanged by normal forms, though newer Unicode gives them one.")
        write_pages(file, "FORM_PAGES", unknown)
        pairs = lower_pairs()
        write_lower(file, pairs)
        write_pages(file, "LOWER_PAGES", pairs)
        file.write("/* clang-format on */\n")


if __name__ == "__main__":
    main()
