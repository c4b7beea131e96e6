#!/usr/bin/python3
"""Do the unit tests notice a fault? One small fault at a time in src/io, src/cooc and src/linalg.

    mutants.py BUILD TAKEN.json [--sample 80] [--seed 1] [--seconds 300] [--jobs 4] [--again] [ROOM ...]

A mutant is one change of one line that gcov counts (so no declaration, comment or string): OPERATORS below. Of all mutants of a
room a sample is drawn, by a hash of each one's text: what is edited elsewhere changes no other draw. The file is compiled alone, at
-O1 with the address sanitizer, into a shared object that stands before the library (LD_PRELOAD) when the programs of BUILD/mutants
run: those that come to the line (TAKEN.json, of tests/coverage.py), the quickest first, as many as counting took --seconds for.
A mutant is

    killed       a program that passes without it fails, leaks, crashes or outlives its time (30 s and 4 times what counting took)
    survived     none of these does: --again asks once more, after new tests
    unreached    no program comes to the line; counts as survived
    equal        the compiler makes the same of it, or tests/mutants.txt says why nobody can tell; not counted
    broken       does not compile; not counted

Kernels compiled for several instruction sets and inline functions of headers are left out. BUILD/mutants/log.tsv keeps
what is known: a run goes on where the last one stopped, and knows a mutant by its text, not its line's number.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading

# What is found on a line, and what is put there. clang-format has a space on each side of a binary operator.
OPERATORS = [
    ("boundary", r" (<|<=|>|>=) ", {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    ("negation", r" (<|<=|>|>=|==|!=) ", {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}),
    ("arithmetic", r" (\+|-|\*|/|%|\+=|-=|\*=|/=) ", {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}),
    ("step", r"(\+\+|--)", {"++": "--", "--": "++"}),
    ("one more", r"(?<![\w.\"])(\d+)(?![\w.])", lambda n: str(int(n) + 1)),
    ("one less", r"(?<![\w.\"])(\d+)(?![\w.])", lambda n: str(int(n) - 1)),
    ("logic", r" (&&|\|\|) ", {"&&": "||", "||": "&&"}),
    ("not", r"(!)(?!=)", lambda _: ""),
    ("no statement", r"^\s*((?:\(void\))?[\w.>\[\]*+-]+(?:\(.*\)| [-+*/|&^]?= .*);)$", lambda _: ";"),
    ("no value", r"\breturn ((?!0;|NULL;|CS_OK;|false;)[^;{]+);", lambda _: "0"),
    ("no error", r"\bcs_fail\((CS_ERR_\w+)", lambda _: "CS_OK"),
    ("no check", r"\b(?:if|while) \((.*)\)(?: \{| return.*;| goto.*;)?$", lambda _: "false"),
    ("error past", r"\b(status == CS_OK)\b", lambda _: "true"),
]
SANITIZER = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
SILENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)

Mutant = collections.namedtuple("Mutant", "file line column old new operator text nth")


def mutants(file, lines):
    with open(file) as f:
        source = f.read()
    whole, bare = source.split("\n"), SILENT.sub(lambda m: re.sub(r"[^\n]", "\1", m.group()), source).split("\n")
    found = {}
    for line in lines:
        text = whole[line - 1]
        nth = whole[:line].count(text)
        if "assert(" in text:
            continue
        for operator, pattern, to in OPERATORS:
            for m in re.finditer(pattern, bare[line - 1]):
                if m.group(1).count("(") == m.group(1).count(")"):
                    new = to[m.group(1)] if isinstance(to, dict) else to(m.group(1))
                    one = Mutant(file, line, m.start(1), m.group(1), new, operator, text, nth)
                    found[key(one)] = one
    return list(found.values())


def changed(m):
    """The line as the mutant has it."""
    return (m.text[:m.column] + m.new + m.text[m.column + len(m.old):]).strip()


def key(m):
    """Holds when lines move: the n-th line of this text."""
    return "\t".join((m.file, str(m.nth), m.text.strip(), changed(m)))


def compiled(flags, file, line, text):
    """The object of a file, one line replaced, and its shared library; None where it does not compile."""
    with open(file) as f:
        source = f.read().split("\n")
    source[line - 1] = text
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        done = subprocess.run([*flags, "-I", os.path.dirname(file), "-x", "c", "-c", "-", "-o", out.name], input="\n".join(source), text=True, capture_output=True)
        return None if done.returncode else out.read()


def fails(program, library, seconds):
    """Why a program fails with the library before its own, or None."""
    folder = tempfile.mkdtemp()
    env = {**os.environ, "LD_PRELOAD": f"{SANITIZER} {library}", "ASAN_OPTIONS": "hard_rss_limit_mb=8000", "TMPDIR": folder, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.Popen([program], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        code = run.wait(30 + 4 * seconds)
        return None if code == 0 else f"status {code}"
    except subprocess.TimeoutExpired:
        return "time"
    finally:
        try:
            os.killpg(run.pid, 9)
        except ProcessLookupError:
            pass
        run.wait()
        shutil.rmtree(folder, ignore_errors=True)


class Judge:
    def __init__(self, build, taken, reasons, most):
        self.most, self.build, self.reasons = most, build, reasons
        self.lines, self.seconds = taken["lines"], taken["seconds"]
        with open(build + "/flags") as f:
            self.flags = [w for w in shlex.split(f.read()) if w != "ccache" and w[:2] not in ("-W", "-O") and w != "-g"] + ["-O1", "-w", "-fsanitize=address"]
        self.original, self.passes = {}, {}

    def fails(self, name, library):
        """Why a program fails with a mutant and not without one."""
        program = f"{self.build}/mutants/{name}"
        why = self.passes.get(name, True) and fails(program, library, self.seconds[name])
        if why and name not in self.passes:
            self.passes[name] = not fails(program, "", self.seconds[name])
            if not self.passes[name]:
                print(f"{name} fails by itself and is not asked", flush=True)
        return why if self.passes.get(name) else None

    def reach(self, m):
        names = sorted(self.lines.get(m.file, {}).get(str(m.line), []), key=self.seconds.get)
        spent = list(itertools.accumulate(map(self.seconds.get, names)))
        return [n for n, s in zip(names, spent) if s <= self.most or n == names[0]]

    def verdict(self, m):
        if key(m) in self.reasons:
            return "equal", self.reasons[key(m)]
        if m.file not in self.original:
            self.original[m.file] = compiled(self.flags, m.file, m.line, m.text)
        made = compiled(self.flags, m.file, m.line, m.text[:m.column] + m.new + m.text[m.column + len(m.old):])
        if not made or made == self.original[m.file]:
            return ("equal", "the same object") if made else ("broken", "")
        if not self.reach(m):
            return "unreached", ""
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/m.o", "wb") as f:
                f.write(made)
            subprocess.run([self.flags[0], "-shared", "-fsanitize=address", "-o", folder + "/m.so", folder + "/m.o"], check=True)
            for name in self.reach(m):
                why = self.fails(name, folder + "/m.so")
                if why:
                    return "killed", f"{name}: {why}"
        return "survived", f"{len(self.reach(m))} programs"


def interval(k, n):
    """Wilson's, 95 %."""
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (middle - half) / (1 + z * z / n), 100 * (middle + half) / (1 + z * z / n)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("build"), ask.add_argument("taken"), ask.add_argument("rooms", nargs="*", default=[])
    ask.add_argument("--sample", type=int, default=80), ask.add_argument("--seed", type=int, default=1), ask.add_argument("--jobs", type=int, default=4)
    ask.add_argument("--seconds", type=float, default=300)
    ask.add_argument("--again", action="store_true")
    told = ask.parse_intermixed_args()
    with open(told.taken) as f:
        taken = json.load(f)
    with open(os.path.dirname(__file__) + "/mutants.txt") as f:
        reasons = dict(line.rstrip("\n").rsplit("\t", 1) for line in f if line[0] != "#")
    judge = Judge(told.build, taken, reasons, told.seconds)
    path = told.build + "/mutants/log.tsv"
    known = {}
    if os.path.exists(path):
        with open(path) as f:
            known = {k: (v, why) for k, v, why in (line.rstrip("\n").rsplit("\t", 2) for line in f)}
    known = {k: v for k, v in known.items() if not (told.again and v[0] in ("survived", "unreached"))}
    lock = threading.Lock()

    def decide(m):
        if key(m) in reasons or key(m) not in known:
            found = judge.verdict(m)
            with lock, open(path, "a") as out:
                known[key(m)] = found
                out.write("\t".join((key(m), *found)) + "\n")
        return known[key(m)][0]

    for room in told.rooms or ["io", "cooc", "linalg"]:
        files = sorted(f for f in taken["known"] if f.startswith(f"src/{room}/") and "_kernels" not in f)
        all_of = [m for f in files for m in mutants(f, taken["known"][f])]
        sample = sorted(all_of, key=lambda m: hashlib.sha256(f"{told.seed} {key(m)}".encode()).digest())[: told.sample]
        with concurrent.futures.ThreadPoolExecutor(told.jobs) as pool:
            count = collections.Counter(pool.map(decide, sample))
        for m in sorted(sample):
            if known[key(m)][0] in ("survived", "unreached"):
                print(f"{known[key(m)][0]} {m.file}:{m.line}: {m.operator}: {m.text.strip()}  ->  {changed(m)}")
        counted = count["killed"] + count["survived"] + count["unreached"]
        low, high = interval(count["killed"], counted)
        print(f"src/{room}: {count['killed']} of {counted} killed, {100 * count['killed'] / counted:.1f} % (95 %: {low:.1f} to {high:.1f}); {dict(count)}; drawn from {len(all_of)} with seed {told.seed}")


main()
