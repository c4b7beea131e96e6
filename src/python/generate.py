"""Writes the module cospec/_commands.py: a function for each command of the program.

usage: cospec help --tables | generate.py > _commands.py

Signature and docstring come from the option tables of the program, so that the two cannot differ.
"""
import json
import re
import sys
import textwrap

PRINTING = {"json", "csv", "all", "metric", "quiet", "help", "help-all"}  # a Result has everything
ARRAYS = {"groups", "test-groups", "drop-rows", "labels", "test-labels", "with"}  # options that take arrays too
LETTER = {"k"}  # letters that are names in Python too
NAMES = {("svd", 0): "matrix", ("density", 0): "matrix", ("angles", 0): "first", ("angles", 1): "second"}
GRAM = ("gram", "Optional[bool]", "None",
        "Whether an array is a Gram form, as of context unique. None: as `cooc` and `read` marked it.")
IN_MEMORY = {
    "svd": ([GRAM], "`matrix` may be a matrix of counts instead of a path: an array, sparse matrix, DataFrame or "
            "tensor of shape (contexts, tokens)."),
    "connectivity": ([GRAM], "A file may be a matrix of counts of shape (contexts, tokens) instead of a path."),
    "rank": ([], "A file may be an array of shape (n, d) instead of a path."),
    "similarity": ([], "Files may be arrays of shapes (n, d) and (n, e) instead of paths."),
    "probe": ([], "Features may be arrays of shape (n, d) instead of paths; then labels and test_labels are "
              "sequences of n classes, or numbers with regression=True."),
    "cooc": ([], "`corpus` may be a list of texts, a list of sequences of ids, or a pair (ids, offsets) of arrays, "
             "instead of a name or path."),
}


def identifier(text):
    name = re.sub(r"\W", "_", text.replace("|", "_or_")).lower().strip("_")
    return name if re.match("[a-z]", name) else "what"


def positionals(command):
    """(name, repeated, optional, pattern) of each argument."""
    found = []
    for place, word in enumerate((command["positional"] or "").split()):
        pattern = word
        repeated = "..." in word
        word = word.replace("...", "")
        optional = re.fullmatch(r"\[[^\[\]]*(\[\w+=\][^\[\]]*)?\]", word) is not None
        word = word[1:-1] if optional else word
        word = re.sub(r"\[\w+=\]|\[:\w+\]|\.\w+$", "", word)
        name = NAMES.get((command["name"], place)) or identifier(word)
        if word.islower() and "|" in word:
            name = "action"
        if repeated:
            name = "files" if re.search("file|dir", name) else name + "s"
        found.append((name, repeated, optional, pattern))
    return found


def default_of(option):
    kind, value = option["kind"], option["default"]
    if kind == "flag":
        return "False"
    if value is None:
        return "None"
    if kind == "int":
        return str(int(float(value)))
    if kind == "real":
        return repr(float(value))
    return repr(value)


def type_of(option):
    kind = option["kind"]
    choices = (option["argument"] or "").split("|")
    if kind == "flag":
        return "bool"
    if kind == "int":
        base = "int"
    elif kind == "real":
        base = "float"
    elif kind == "choice" and all(re.fullmatch(r"[\w.-]+", c) and not c.isupper() for c in choices):
        base = "Literal[%s]" % ", ".join(map(repr, choices))
    else:
        base = "Value"
    return base if option["default"] is not None else "Optional[%s]" % base


def paragraph(text, indent):
    return textwrap.fill(" ".join(text.split()), 96, initial_indent=indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def in_python(text, options):
    """Options of the command line as arguments, except in whole commands: --dry-run is dry_run=True, --head spans is
    head='spans', --groups is groups=."""

    def argument(match):
        command, name, word = match[1], match[2] or {"o": "output", "k": "k"}.get(match[3]), match[4]
        if command or (name not in options and name != "k") or name in PRINTING:
            return match[0]
        option = options.get(name, {"kind": "int", "argument": "K"})
        key = name.replace("-", "_") + ("_" if name == "with" else "")
        if option["kind"] == "flag":
            return key + "=True" + (" " + word if word else "")
        if word is None:
            return key + "="
        if word in (option["argument"] or "").split("|") or re.fullmatch(r"[\d.]+", word):
            return key + "=" + (repr(word) if option["kind"] == "choice" else word)
        return key + "= " + word

    return re.sub(r"(\bcospec [a-z-]+(?: --?[a-z][\w-]*(?: [^-\s]\S*)?)+)|"
                  r"(?<![\w-])(?:--([a-z][a-z0-9-]*)|-([ok])\b)(?: ([\w.]*\w))?", argument, text)


def description(text):
    """Paragraphs, with lines that start with two blanks as they are."""
    blocks = []
    for block in (text or "").strip("\n").split("\n\n"):
        if block.startswith("  "):
            blocks.append("::\n\n" + textwrap.indent(block, "        "))
            blocks[-1] = "    " + blocks[-1]
        else:
            blocks.append(paragraph(block, "    "))
    return "\n\n".join(blocks)


def function(command, all_options):
    """The function of a command; all_options has the options of every command, for texts that mention one."""
    known = {**all_options, **{o["name"]: o for o in command["options"]}}
    name = identifier(command["name"].replace("-", "_"))
    extra, memory = IN_MEMORY.get(command["name"], ([], None))
    arguments, rows, starred = [], [], False
    for place, repeated, optional, pattern in positionals(command):
        last = repeated and place == positionals(command)[-1][0]
        starred = starred or last
        arguments.append("*%s: Source" % place if last else "%s: %s%s" % (
            place, "Optional[Source]" if optional else "Sources" if repeated else "Source",
            " = None" if optional else ""))
        rows.append((("*" if last else "") + place, "path, name or list" if repeated else "path or name",
                     "%s of the command line." % pattern))
    options = [o for o in command["options"] if o["heading"] or o["name"] not in PRINTING]
    first = [] if arguments else [o for n in ("corpus", "objective") for o in options if o["name"] == n]
    keyword = []
    letters, repeated_options = [], [o["name"] for o in options if o["repeated"]]
    for option in first + [o for o in options if o not in first]:
        key = option["name"].replace("-", "_")
        key += "_" if key == "with" else ""
        in_memory = memory and option["name"] in ARRAYS
        text = "%s: %s = %s" % (key, "Optional[Array]" if in_memory else type_of(option), default_of(option))
        (arguments if option in first else keyword).append(text)
        rows.append((key, "default %s" % default_of(option), in_python(option["help"], known) + (
            " May be a list." if option["repeated"] else "")))
        if option["letter"] in LETTER and option["letter"] != key:
            letters.append(option["letter"])
            keyword.append("%s: %s = None" % (option["letter"], "Optional[Value]"))
            rows.append((option["letter"], "default None", "Short for `%s`." % key))
    for key, kind, value, text in extra:
        keyword.append("%s: %s = %s" % (key, kind, value))
        rows.append((key, "default " + value, text))
    keyword.append("progress: Progress = True")
    rows.append(("progress", "default True", "Show notes and progress on standard error."))
    if not starred:
        arguments.append("*")
    signature = "\n".join("    %s," % a for a in arguments + keyword)
    doc = ['    """%s.' % command["summary"], "", description(in_python(command["description"] or "", known)), ""]
    if memory:
        doc += [paragraph(memory + " Arrays are passed without copying where their type fits.", "    "), ""]
    doc += ["    Parameters", "    ----------"]
    for key, kind, text in rows:
        doc += ["    %s : %s" % (key, kind), paragraph(text, "        ")]
    doc += ["", "    Returns", "    -------", "    Result",
            "        The record, table, files and arrays of the run.", "",
            "    Raises", "    ------", "    CospecError",
            "        As the program refuses the same on the command line; `code` is its exit code."]
    if command["examples"]:
        doc += ["", "    Notes", "    -----", "    On the command line::", "",
                textwrap.indent(command["examples"].strip(), "        ")]
    doc.append('    """')
    body = "\n".join(doc).replace("\\", "\\\\")
    json_too = any(o["name"] == "json" for o in command["options"])
    settings = ["json=%s" % json_too] + ["%s=%r" % (key, tuple(value)) for key, value in (
        ("letters", letters), ("repeated", repeated_options)) if value]
    return '@command("%s", %s)\ndef %s(\n%s\n) -> Result:\n%s\n    raise NotImplementedError\n' % (
        command["name"], ", ".join(settings), name, signature, body)


def main():
    tables = json.load(sys.stdin)
    options = {o["name"]: o for c in tables["commands"] for o in c["options"]}
    names = [identifier(c["name"].replace("-", "_")) for c in tables["commands"]]
    print('"""A function for each command, generated from the option tables of the program."""')
    print("from __future__ import annotations\n")
    print("from typing import Literal, Optional\n")
    print("from ._run import Array, Progress, Result, Source, Sources, Value, command\n")
    print("version = %r" % tables["version"])
    print("__all__ = [%s]" % ", ".join('"%s"' % n for n in names if n != "help"))
    for c in tables["commands"]:
        print("\n")
        print(function(c, options), end="")


if __name__ == "__main__":
    main()
