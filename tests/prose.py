#!/usr/bin/env python3
"""Checks the texts that people read: the pages (Markdown, the generated page of all --help texts among them) and the text of
notebooks, their links, the texts of the program, and the comments of all sources, tests and scripts.

usage: prose.py [FILE...]      without files: every Markdown page, notebook, source, test, script, report, template and study

For each page it measures sentences, paragraphs, table cells and numbers, and compares them with the limits below. It searches
for the retired words of tests/prose_words.txt and for formulas that are no equations, and follows each link to a file or heading
of the repository. Code, mathematics,
comments of pages and addresses are not prose. In sources and tests it searches the comments (in Python also the docstrings) and the
string literals of several words: messages, help, texts of records; of shell scripts, the Makefile and .ci/run the comments and
the lines that fail or skip. In reports and templates of
reports (HTML) it measures the visible text as in pages, except for numbers. In studies (JSON) it searches the texts that their reports show.
Each fault is one line, FILE: what is wrong; the exit code is 1 if there is any.
"""
import ast
import html
import json
import os
import re
import subprocess
import sys

MEAN_SENTENCE = 20       # words
LONG_SENTENCE = 35       # words; at most LONG_SHARE of the sentences are longer
LONG_SHARE = 0.05
PARAGRAPH = 120          # words
CELL = 35                # words in a table cell
NUMBERS = 6              # per 100 words of prose; not in docs/results
README_NUMBERS = 4
README_WORDS = 600
README_PARAGRAPH = 80

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ITEM = re.compile(r"\s*(?:[-*]|\d+\.|[a-z]\.) ")
SOURCE = (".c", ".h", ".cu", ".cuh", ".cpp")
SCRIPT = (".sh", "Makefile", ".ci/run")
# A comment, a character, or adjacent string literals, with macros of formats between them (group 1).
C_TEXT = re.compile(r"""/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])+'|((?:"(?:\\.|[^"\\\n])*"(?:\s|PRI\w+)*)+)""", re.S)
FENCE = re.compile(r"^([ ]*)```.*?^\1```[ ]*$", re.S | re.M)


def without_code(text):
    """The text with comments and code blocks dropped and each code span, equation and address replaced by one word."""
    text = re.sub(r"<!--.*?-->", "", FENCE.sub("", text), flags=re.S)
    text = re.sub(r"`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]+\$", "X", text, flags=re.S)
    return re.sub(r"\]\([^)\s]*\)", "]", text)


def parts(text):
    """Paragraphs and list items of prose, and the words of each table cell."""
    lines, cells, in_list = [], [0], False
    for line in text.split("\n"):
        if line.startswith("|"):
            cells += [len(cell.split()) for cell in line.strip("|").split("|")]
            lines.append("")
            continue
        if line.strip() and not line.startswith(" "):
            in_list = bool(ITEM.match(line))
        elif ITEM.match(line):
            in_list = in_list or len(line) - len(line.lstrip()) < 4
        if line.startswith(("#", "<")) or (line.startswith("    ") and not in_list):
            lines.append("")
            continue
        if ITEM.match(line):
            lines.append("")
        lines.append(line)
    paragraphs = [p.replace("\n", " ") for p in re.split(r"\n\s*\n", "\n".join(lines)) if p.strip()]
    return paragraphs, cells


def measure(name, paragraphs, cells):
    """Faults of length and of numbers."""
    words = [len(p.split()) for p in paragraphs]
    sentences = [s for p in paragraphs for s in re.split(r"(?<=[.!?:;])\s+(?=[A-Z\"*\[(])", p) if s.strip()]
    total = sum(words)
    if not sentences:
        return
    mean = total / len(sentences)
    share = sum(len(s.split()) > LONG_SENTENCE for s in sentences) / len(sentences)
    numbers = 100 * sum(len(re.findall(r"(?<!\w)[\d.]*\d", p)) for p in paragraphs) / total
    readme = name == "README.md"
    if mean > MEAN_SENTENCE:
        yield f"{mean:.1f} words a sentence, at most {MEAN_SENTENCE}"
    if share > LONG_SHARE:
        longest = max(sentences, key=lambda s: len(s.split()))
        yield f"{share:.0%} of the sentences exceed {LONG_SENTENCE} words, at most {LONG_SHARE:.0%}; the longest: {longest[:60]}..."
    for p, n in zip(paragraphs, words):
        if n > (README_PARAGRAPH if readme else PARAGRAPH):
            yield f"a paragraph of {n} words: {p[:60]}..."
    if max(cells) > CELL:
        yield f"a table cell of {max(cells)} words, at most {CELL}"
    limit = README_NUMBERS if readme else NUMBERS
    if not name.startswith("docs/results/") and not name.endswith(".html") and numbers > limit:
        yield f"{numbers:.1f} numbers per 100 words, at most {limit}"
    if readme and total > README_WORDS:
        yield f"{total} words of prose, at most {README_WORDS}"


FORMULA = re.compile(r"\S*(?:\w\^[\w({-]|\b(?:sigma|lambda|theta|beta|P|X)_\w\b|\bsqrt\(|\bsum_\{|[<>]=)\S*")


def formulas(text):
    """Formulas that are no equations. Headings keep the names of things."""
    prose = "\n".join(line for line in without_code(text).split("\n") if not line.startswith(("#", "    ")))
    for m in FORMULA.finditer(prose):
        yield f"a formula that is no equation: {prose[max(0, m.start() - 30):m.end() + 20]!r}"
    for block in re.findall(r"^```\n((?:  .*\n)+)```$", text, re.M):  # displayed in the text of a command
        if re.match(r"  \S.*( = |<= ).*", block) and re.search(r"\bsum_|\bsqrt\(|\^T|\|W|\blog ", block) or re.search(r"softmax\(", block):
            yield f"a displayed formula that is no equation: {block.strip()[:70]!r}"


def word_list():
    """(retired patterns with the words to use, allowed uses, one pattern of all that are retired) of tests/prose_words.txt."""
    retired, allowed = [], []
    with open(os.path.join(ROOT, "tests", "prose_words.txt"), encoding="utf8") as file:
        for line in file:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            kind, _, rest = line.partition(" ")
            pattern, _, instead = rest.partition("  ")
            (retired if kind == "retired" else allowed).append((re.compile(pattern, re.I), instead.strip()))
    return retired, allowed, re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in retired), re.I)


def retired_words(text, words):
    """Each use of a retired word that no allowed use covers."""
    retired, allowed, any_retired = words
    text = re.sub(r"\s+", " ", without_code(text))
    if not any_retired.search(text):  # of most texts, in a sixth of the time of all patterns
        return
    free = [m.span() for pattern, _ in allowed for m in pattern.finditer(text)]
    for pattern, instead in retired:
        for m in pattern.finditer(text):
            if not any(a <= m.start() and m.end() <= b for a, b in free):
                yield f"retired '{m.group(0)}' (use: {instead}): ...{text[max(0, m.start() - 30):m.end() + 30]}..."


def literals(text):
    """(line, text) of each string literal of a C source that holds more than one word, without the commands of examples."""
    for m in C_TEXT.finditer(text):
        joined = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', m.group(1) or ""))
        prose = "\n".join(line for line in joined.split("\\n") if not line.startswith("cospec "))
        if " " in prose.strip():
            yield text.count("\n", 0, m.start()) + 1, prose


NO_PROSE = re.compile(r"\\f\$.*?\\f\$|\\f\[.*?\\f\]|\\param \w+|\b[\w./]+\.(?:c|h|py|sh)\b|\b\w+_\w+|`[^`\n]*`|\"[^\"]*\"", re.S)


def comments(text):
    """(line, text) of each comment of a C source. Identifiers and quoted text are not prose."""
    for m in C_TEXT.finditer(text):
        if m.group(0).startswith(("/*", "//")):
            body = re.sub(r"^\s*\*+ ?", "", m.group(0).strip("/*\n "), flags=re.M)
            yield text.count("\n", 0, m.start()) + 1, NO_PROSE.sub("X", body)


def script_comments(text):
    """(line, text) of the comments of a script, adjacent lines as one, and of its lines that report a failure or a skipped test."""
    at, body = 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        whole = re.match(r"\s*#(?!!) ?(.*)", line)
        if body and not whole:
            yield at, NO_PROSE.sub("X", "\n".join(body))
            body = []
        if whole:
            at, body = (at if body else number), body + [whole.group(1)]
            continue
        for part in re.findall(r"\s# (.*)", line):
            yield number, NO_PROSE.sub("X", part)
        for part in re.findall(r"\b(?:fail|skip \w+) \"([^\"]*)\"", line):
            yield number, part


def python_texts(text):
    """(line, text) of the docstrings and other strings of several words of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, NO_PROSE.sub("X", node.value)


# The keys of a study whose texts its report shows.
SHOWN = {"source", "says", "scope", "label", "about", "title", "metric", "part", "numbers", "remark", "as", "on", "of", "short",
         "tuned_on", "detail", "untested", "no_need", "family", "tables_here", "left_out"}


# Directives of templates that write their own words: a claim in a sentence; a line of a table or a separate block.
DIRECTIVE = re.compile(r"\{\{(\w+).*?\}\}", re.S)
BLOCK_DIRECTIVES = {"head", "papers", "made", "tally", "claims", "curves", "differences", "course", "standings", "statement", "table",
                    "figure", "figures", "picture", "command", "steps", "commands", "if", "end"}


def visible(text):
    """The HTML page without what is no prose: code, images, and the directives of templates."""
    text = re.sub(r"\{\{(?:figures?|picture)(?: [\w/.$-]+){2} ([A-Z][^{}]*)\}\}", r"<figcaption>\1</figcaption>", text)
    text = re.sub(r"\{\{(?:differences|curves|course) ([^{}]*)\}\}", r"<figcaption>\1</figcaption>", text)
    text = re.sub(r"\{\{statement \S+ \S+ \w+ ([^{}]*)\}\}", r"<tr><td>\1</td></tr>", text)
    text = DIRECTIVE.sub(lambda m: "<hr>" if m.group(1) in BLOCK_DIRECTIVES else "*X" if m.group(1) == "claim" else "X", text)
    text = re.sub(r'<b class="v [^>]*>', "*", text)
    return re.sub(r"<(style|script|code|svg|pre)\b.*?</\1>", "X", text, flags=re.S)


BLOCK = re.compile(r"</?(p|li|ol|ul|h\d|figcaption|figure|summary|details|table|caption|tr|td|th|div|nav|body|title|hr)\b[^>]*>")


def blocks(text):
    """The paragraphs and list items of an HTML page, and the number of words of each table cell."""
    paragraphs, cells, cell, prose = [], [0], None, False
    for piece in re.split(r"(<[^>]*>)", visible(text)):
        tag = BLOCK.fullmatch(piece)
        if not tag:
            piece = html.unescape("" if piece.startswith("<") else piece)
            if cell is not None:
                cells[-1] += len(piece.split())
            elif prose:
                paragraphs[-1] += piece
            continue
        opens = not piece.startswith("</")
        if tag.group(1) in ("td", "th", "tr", "table"):
            cell = tag.group(1) if opens and tag.group(1) in ("td", "th") else None
            cells += [0] if cell else []
            prose = False
        elif cell is None:
            prose = opens and tag.group(1) in ("p", "li", "figcaption", "summary")
            paragraphs += [""] if prose else []
    return [" ".join(p.split()) for p in paragraphs if p.strip()], cells


def shown(value, key=""):
    """The texts of a study that its report shows."""
    if isinstance(value, dict):
        return [text for k, v in value.items() for text in shown(v, k)]
    if isinstance(value, list):
        return [text for v in value for text in shown(v, key)]
    return [value] if isinstance(value, str) and key in SHOWN and not value.startswith("--") else []


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    seen, result = {}, set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", FENCE.sub("", text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        n = seen[anchor] = seen.get(anchor, -1) + 1
        result.add(anchor if n == 0 else f"{anchor}-{n}")
    return result | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken_links(name, text, pages):
    """Links to files and headings of the repository that are not there."""
    plain = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    for link in re.findall(r"\]\(([^)\s]+)\)", plain):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(os.path.join(ROOT, target)):
            yield f"a link to {link}, which does not exist"
        elif anchor and target.endswith(".md"):
            if target not in pages:
                with open(os.path.join(ROOT, target), encoding="utf8") as file:
                    pages[target] = anchors(file.read())
            if anchor not in pages[target]:
                yield f"a link to {link}: {target} has no such heading"


def main():
    kinds = ["*.md", "*.ipynb", "docs/results/*/*/report.html", "plots/*.html", "plots/*.json", *(f"*{kind}" for kind in SOURCE), "*.py", *(f"*{kind}" for kind in SCRIPT)]
    names = sys.argv[1:] or subprocess.check_output(["git", "ls-files", *kinds], cwd=ROOT, text=True).split()
    words, pages, faults = word_list(), {}, 0
    for name in names:
        name = os.path.relpath(os.path.abspath(name), ROOT) if sys.argv[1:] else name
        with open(os.path.join(ROOT, name), encoding="utf8") as file:
            text = file.read()
        if name.endswith(".ipynb"):
            text = "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
        if name.endswith((*SOURCE, *SCRIPT, ".py")):
            texts, remarks = [], list((comments if name.endswith(SOURCE) else script_comments)(text))
            if name.endswith(".py"):
                texts = list(python_texts(text))
                remarks += texts
            elif name.endswith(SOURCE):
                texts = list(literals(text))
            found = [f"line {line}: {fault}" for line, prose in {*texts, *remarks} for fault in retired_words(prose, words)]
            found += [f"line {line}: a comment that opens with 'What'" for line, prose in remarks if prose.startswith("What ")]
        elif name.endswith(".html"):
            prose = html.unescape(re.sub(r"<[^>]*>", " ", visible(text)))
            found = [*measure(name, *blocks(text)), *retired_words(prose, words)]
        elif name.endswith(".json"):
            found = [fault for prose in shown(json.loads(text)) for fault in retired_words(prose, words)]
        else:
            found = [*measure(name, *parts(without_code(text))), *formulas(text), *retired_words(text, words), *broken_links(name, text, pages)]
        for fault in found:
            print(f"{name}: {fault}")
            faults += 1
    return faults > 0


sys.exit(main())
