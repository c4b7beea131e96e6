#!/usr/bin/env python3
"""Runs the shell and Python blocks of Markdown pages, in the order of the page, in the current folder.

usage: pages.py [--slow] [--update] PAGE...     COSPEC is the program, PYTHON a Python with the module and its packages

    ```console   each line "$ command" runs; where output follows, it must be the same: words alike, numbers within 2 %, or 15 %
                 after a training run, whose sums differ between processors. "..." stands for any lines.
    ```sh        each line runs and must succeed; so does an indented block whose first line calls cospec
    ```python    runs, once $PYTHON has numpy, scipy, pandas and the module; a block with >>> runs as a doctest

A comment before a block says what else the reader of this test should know; browsers do not show it:

    <!-- prepare: command -->   runs first, as the files of a user's own that the page takes for granted
    <!-- slow: reason -->       the next block runs with --slow alone (tests/rotating)
    <!-- not run: reason -->    the next block never runs; on the first line of a page, none of its blocks does

--update writes what is printed today into the page. Output: one line a page that has run, and one for each block that has not.
"""
import os
import re
import subprocess
import sys

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?[,:;]?$")


class Fault(Exception):
    pass


def blocks(lines):
    """(kind, first line, end, mark) of each block that may run, and ("prepare", line, line, command)."""
    mark, i = None, 0
    while i < len(lines):
        line = lines[i]
        comment = re.match(r"<!-- (prepare|slow|not run): (.*) -->$", line)
        fence = re.match(r"```(\w*)", line)
        if comment and comment[1] == "prepare":
            yield "prepare", i, i, comment[2]
        elif comment:
            mark = (comment[1], comment[2])
        elif fence:
            end = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```"))
            if fence[1] in ("console", "sh", "python"):
                yield fence[1], i + 1, end, mark
                mark = None
            i = end
        elif line.startswith("    cospec ") or line.startswith("    mpirun "):
            end = i
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            yield "indented", i, end, mark
            mark, i = None, end - 1
        i += 1


def run(command):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Fault(f"exit code {done.returncode} of {command}: {done.stderr.strip()[-300:]}")
    return done.stdout.splitlines()


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
            while after is not None and at < len(new) and not alike(after, new[at], share):
                at += 1
            if after is None:
                return
        elif at < len(new) and alike(line, new[at], share):
            at += 1
        else:
            raise Fault(f"{command}: '{line}' is now '{new[at] if at < len(new) else 'the end'}'")
    if at < len(new):
        raise Fault(f"{command}: more output: '{new[at]}'")


def console(lines, first, end, share, update):
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
        new, old = run(command), lines[i + 1:j]
        if old and not update:
            compare(command, old, new, share[0])
        out += [lines[i]] + (new if update and (old or new) and "..." not in old else old)
        i = j
    return out


def python(text):
    with open("block.py", "w", encoding="utf8") as file:
        file.write(f"'''\n{text}\n'''\n" if ">>>" in text else text)
    run(f"$PYTHON {'-m doctest' if '>>>' in text else ''} block.py")


def page(path, slow, update):
    with open(path, encoding="utf8") as file:
        lines = file.read().split("\n")
    result, done, ran, left, share = [], 0, 0, [], [0.02]
    whole = re.match(r"<!-- not run: (.*) -->$", lines[0])
    if whole:
        return 0, [f"every line: {whole[1]}"]
    for kind, first, end, mark in blocks(lines):
        if kind == "prepare":
            run(mark)
            continue
        if mark and (mark[0] == "not run" or not slow):
            left.append(f"line {first + 1}: {mark[0]}: {mark[1]}")
            continue
        if kind == "python" and not os.environ.get("PYTHON"):
            left.append(f"line {first + 1}: no PYTHON with the module")
            continue
        ran += 1
        if kind == "console":
            result += lines[done:first] + console(lines, first, end, share, update)
            done = end
        elif kind == "python":
            python("\n".join(lines[first:end]))
        else:
            run("set -e\n" + "\n".join(lines[first:end]))
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
        name = os.path.relpath(path, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        folder = re.sub(r"\W", "-", name)
        os.makedirs(folder)
        os.chdir(folder)
        try:
            ran, left = page(path, "--slow" in options, "--update" in options)
            if ran:
                print(f"ok {name}", flush=True)
            for line in left:
                print(f"skip {name}: {line}")
        except Fault as fault:
            print(f"not ok {name}: {fault}", flush=True)
            bad = 1
        os.chdir(home)
    return bad


if __name__ == "__main__":
    sys.exit(main())
