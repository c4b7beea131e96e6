#!/usr/bin/env python3
"""Runs the code blocks of Markdown pages, in the order of the page, each page in a separate folder.

usage: pages.py [--slow] [--update] PAGE...     COSPEC is the program, PYTHON a Python with the module and its packages

    ```console   each line "$ command" runs; where output follows, it must be the same: words alike, numbers within 2 %, or 15 %
                 after a training run, whose sums differ between processors. "..." stands for any lines.
    ```sh        each line runs and must succeed; so does every indented block
    ```python    runs with $PYTHON; a block with >>> runs as a doctest
    ```text      is output or a sketch, and does not run, unless "file:" names it

Any other block is a file, which "file:" has to name. A comment before a block says what browsers do not show:

    <!-- prepare: command -->   runs here: makes the files of a user's own that the page takes for granted
                                (with the functions of page_inputs.sh; $ROOT holds the sources), or checks what was shown
    <!-- file: NAME -->         the next block is this file; a JSON file must be JSON
    <!-- smaller: SCRIPT -->    sed changes the lines of the next block by this script before they run, since as shown they take long
    <!-- needs: command -->     the next block runs where this command succeeds
    <!-- run by: FILE -->       the next block is run by this other test, which names the page
    <!-- slow: reason -->       the next block runs with --slow alone (tests/rotating)
    <!-- not run: reason -->    the next block never runs

On the first line of a page "smaller", "slow" and "not run" hold for all of its blocks, and "slow" for its prepared files too.
--update writes what is printed today into the page. Output: one line a page that has run, and one for each block that has not.
"""
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARK = re.compile(r"<!-- (prepare|file|smaller|needs|run by|slow|not run): (.*) -->$")

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?[,:;]?$")


class Fault(Exception):
    pass


def blocks(lines):
    """(kind, first line, end, marks) of each block, and ("prepare", line, line, command)."""
    marks, i = {}, 1 if MARK.match(lines[0]) else 0
    while i < len(lines):
        line = lines[i]
        comment = MARK.match(line)
        fence = re.match(r"```(\w*)", line)
        end = i
        if comment and comment[1] == "prepare":
            yield "prepare", i, i, comment[2]
        elif comment:
            marks[comment[1]] = comment[2]
        elif fence:
            end = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```"))
            yield fence[1], i + 1, end, marks
            marks = {}
        elif line.startswith("    ") and not lines[i - 1]:
            while end + 1 < len(lines) and lines[end + 1].startswith("    "):
                end += 1
            yield "sh", i, end + 1, marks
            marks = {}
        i = end + 1


def run(command):
    """The lines that the command prints."""
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Fault(f"exit code {done.returncode} of {command}: {done.stderr.strip()[-300:]}")
    return done.stdout.splitlines()


def indent(line):
    return len(line) - len(line.lstrip())


def alike(old, new, share):
    a, b = old.split(), new.split()
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x != y:
            if not (NUMBER.match(x) and NUMBER.match(y)):
                return False
            p, q = (float(z.rstrip(",:;")) for z in (x, y))
            if abs(p - q) > max(share * abs(p), 1e-9):
                return False
    return True


def compare(command, old, new, share):
    """old, where "..." stands for any lines, against new."""
    at = 0
    for i, line in enumerate(old):
        if line.strip() == "...":
            after = old[i + 1] if i + 1 < len(old) else None
            while after is not None and at < len(new) and not (indent(after) == indent(new[at]) and alike(after, new[at], share)):
                at += 1
            if after is None:
                return
        elif at < len(new) and alike(line, new[at], share):
            at += 1
        else:
            raise Fault(f"{command}: '{line}' is now '{new[at] if at < len(new) else 'the end'}'")
    if at < len(new):
        raise Fault(f"{command}: more output: '{new[at]}'")


def smaller(text, script):
    return subprocess.run(["sed", script], input=text, capture_output=True, text=True, check=True).stdout if script else text


def console(lines, first, end, script, share, update):
    """The block's lines, those of output new."""
    out, i = [], first
    while i < end:
        if not lines[i].startswith("$ "):
            raise Fault(f"line {i + 1} is no command: {lines[i]}")
        command, j = lines[i][2:], i + 1
        while j < end and not lines[j].startswith("$ "):
            j += 1
        if command.startswith("cospec train"):
            share[0] = 0.15
        new, old = run(smaller(command, script)), lines[i + 1:j]
        if old and not update:
            compare(command, old, new, share[0])
        out += [lines[i]] + (new if update and (old or new) and "..." not in old else old)
        i = j
    return out


def python(text):
    with open("block.py", "w", encoding="utf8") as file:
        file.write(f"'''\n{text}\n'''\n" if ">>>" in text else text)
    run(f"$PYTHON {'-m doctest' if '>>>' in text else ''} block.py")


def reason_to_leave(kind, marks, name, slow):
    """Why a block does not run here; "" for one that needs no word: it is a sketch, or another test runs it."""
    if "not run" in marks:
        return "not run: " + marks["not run"]
    if "slow" in marks and not slow:
        return "slow: " + marks["slow"]
    if "needs" in marks and subprocess.run(["bash", "-c", marks["needs"]], capture_output=True, check=False).returncode != 0:
        return "needs " + marks["needs"]
    if "run by" in marks:
        with open(os.path.join(ROOT, marks["run by"]), encoding="utf8") as file:
            if name not in file.read():
                raise Fault(f"{marks['run by']} does not run {name}")
        return ""
    if kind == "text" and "file" not in marks:
        return ""
    if kind == "python" and not os.environ.get("PYTHON"):
        return "no PYTHON with the module"
    return None


def page(path, name, slow, update):
    """How many blocks have run, and a line for each that has not."""
    with open(path, encoding="utf8") as file:
        lines = file.read().split("\n")
    result, done, ran, left, share = [], 0, 0, [], [0.02]
    whole = MARK.match(lines[0])
    every = {whole[1]: whole[2]} if whole else {}
    if "not run" in every or ("slow" in every and not slow):
        return 0, [f"every block: {whole[1]}: {whole[2]}"]
    for kind, first, end, marks in blocks(lines):
        if kind == "prepare":
            run(f"ROOT={ROOT}; . $ROOT/tests/page_inputs.sh && {marks}")
            continue
        marks = {**every, **marks}
        why = reason_to_leave(kind, marks, name, slow)
        if why is not None:
            left += [f"line {first + 1}: {why}"] if why else []
            continue
        ran += 1
        text = "\n".join(lines[first:end]) + "\n"
        if "file" in marks:
            with open(marks["file"], "w", encoding="utf8") as file:
                file.write(text)
            if kind == "json":
                json.loads(text)
        elif kind == "console":
            result += lines[done:first] + console(lines, first, end, marks.get("smaller"), share, update)
            done = end
        elif kind == "python":
            python(text)
        elif kind == "sh":
            run("set -e\n" + smaller(text, marks.get("smaller")))
        else:
            raise Fault(f"line {first + 1}: neither commands nor a named file")
    if update:
        with open(path, "w", encoding="utf8") as file:
            file.write("\n".join(result + lines[done:]))
    return ran, left


def main():
    options = {a for a in sys.argv[1:] if a.startswith("--")}
    os.environ["PATH"] = os.path.dirname(os.environ["COSPEC"]) + ":" + os.environ["PATH"]
    bad, home = 0, os.getcwd()
    for path in (a for a in sys.argv[1:] if not a.startswith("--")):
        path = os.path.abspath(os.path.join(home, path))
        name = os.path.relpath(path, ROOT)
        folder = re.sub(r"\W", "-", name)
        os.makedirs(folder)
        os.chdir(folder)
        try:
            start = time.time()
            ran, left = page(path, name, "--slow" in options, "--update" in options)
            if ran:
                print(f"ok {name} ({ran} blocks, {time.time() - start:.0f} s)", flush=True)
            for line in left:
                print(f"skip {name}: {line}")
        except (Fault, ValueError) as fault:
            print(f"not ok {name}: {fault}", flush=True)
            bad = 1
        os.chdir(home)
    return bad


if __name__ == "__main__":
    sys.exit(main())
