#!/usr/bin/python3
"""Do the unit tests notice a fault? One small fault at a time in src/io, src/cooc and src/linalg.

    mutants.py BUILD TAKEN.json [--sample 80] [--seed 1] [--seconds 300] [--own 2] [--jobs 4] [--again] [MODULE ...]

A mutant is one change of one line that gcov counts (so no declaration, comment or string): OPERATORS below. Of all mutants of a
module a sample is drawn, by a hash of each one's text: what is edited elsewhere changes no other draw. The file is compiled alone, at
-O1 with the address sanitizer, into a shared object that precedes the library (LD_PRELOAD) when the programs of BUILD/tests
run: those that come to the line (TAKEN.json, of tests/coverage.py), the quickest first, as many as counting took --seconds for, and,
however long they take, the --own of them that come to most lines of the file: those that are about it. A mutant is

    killed       a program that passes without it fails twice: a test, a leak, a crash, or it outlives 30 s and 4 times what it takes without it
    survived     none of these does: --again asks once more, after new tests
    unreached    no program comes to the line; counts as survived
    equal        the compiler makes the same of it, as released too, or tests/mutants.txt says why no test can detect it; not counted
    broken       does not compile; not counted

A program that fails three times without a mutant is not asked, and neither is one that was stopped while it was counted: the result
names both. Kernels compiled for several instruction sets and inline functions of headers are left out. BUILD/mutants/log.tsv keeps
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
import time

# A pattern on a line, and its replacement. clang-format has a space on each side of a binary operator.
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


def fails(program, library, limit):
    """Why a program fails with the library before its own, or None; the seconds that it took."""
    folder = tempfile.mkdtemp()
    env = {**os.environ, "LD_PRELOAD": f"{SANITIZER} {library}", "ASAN_OPTIONS": "hard_rss_limit_mb=8000", "TMPDIR": folder, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.Popen([program], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    begin = time.time()
    try:
        code = run.wait(limit)
        return None if code == 0 else f"status {code}", time.time() - begin
    except subprocess.TimeoutExpired:
        return "time", limit
    finally:
        try:
            os.killpg(run.pid, 9)
        except ProcessLookupError:
            pass
        run.wait()
        shutil.rmtree(folder, ignore_errors=True)


class Judge:
    def __init__(self, build, taken, reasons, most, own):
        self.most, self.own, self.build, self.reasons = most, own, build, reasons
        self.lines, self.seconds = taken["lines"], taken["seconds"]
        self.share = {f: collections.Counter(itertools.chain(*by_line.values())) for f, by_line in self.lines.items()}
        with open(build + "/flags") as f:
            self.released = [w for w in shlex.split(f.read()) if w != "ccache" and w[:2] != "-W" and w != "-g"] + ["-w"]
        self.flags = [w for w in self.released if w[:2] != "-O"] + ["-O1", "-fsanitize=address"]
        self.original, self.alone = {}, {}
        self.locks = collections.defaultdict(threading.Lock)

    def takes(self, name):
        """Seconds of a program without a mutant; 0 where it fails three times."""
        with self.locks[name]:
            for limit in (120, 300, 600) if name not in self.alone else ():
                why, seconds = fails(f"{self.build}/tests/{name}", "", limit)
                self.alone[name] = 0 if why else seconds
                if not why:
                    break
        return self.alone[name]

    def fails(self, name, library):
        """Why a program that can be asked fails with a mutant, twice."""
        why = self.takes(name) and "first"
        for _ in range(2):
            why = why and fails(f"{self.build}/tests/{name}", library, 30 + 4 * self.takes(name))[0]
        return why

    def same_as_released(self, m, text):
        """The whole program can show what a sanitizer's checks, between two statements, hide from the compiler."""
        return compiled(self.released, m.file, m.line, text) == compiled(self.released, m.file, m.line, m.text)

    def reach(self, m):
        names = sorted(self.lines.get(m.file, {}).get(str(m.line), []), key=self.seconds.get)
        spent = list(itertools.accumulate(map(self.seconds.get, names)))
        own = sorted(names, key=lambda n: -self.share[m.file][n])[: self.own]
        return [n for n, s in zip(names, spent) if s <= self.most or n == names[0] or n in own]

    def verdict(self, m):
        if key(m) in self.reasons:
            return "equal", self.reasons[key(m)]
        if m.file not in self.original:
            self.original[m.file] = compiled(self.flags, m.file, m.line, m.text)
        text = m.text[:m.column] + m.new + m.text[m.column + len(m.old):]
        made = compiled(self.flags, m.file, m.line, text)
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
        if self.same_as_released(m, text):
            return "equal", "the same object, as released"
        return "survived", " ".join([f"{len(self.reach(m))} programs", *(f"without {name}" for name in self.reach(m) if not self.takes(name))])


def interval(k, n):
    """Wilson's, 95 %."""
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (middle - half) / (1 + z * z / n), 100 * (middle + half) / (1 + z * z / n)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("build"), ask.add_argument("taken"), ask.add_argument("modules", nargs="*", default=[])
    ask.add_argument("--sample", type=int, default=80), ask.add_argument("--seed", type=int, default=1), ask.add_argument("--jobs", type=int, default=4)
    ask.add_argument("--seconds", type=float, default=300), ask.add_argument("--own", type=int, default=2)
    ask.add_argument("--again", action="store_true")
    told = ask.parse_intermixed_args()
    with open(told.taken) as f:
        taken = json.load(f)
    with open(os.path.dirname(__file__) + "/mutants.txt") as f:
        reasons = dict(line.rstrip("\n").rsplit("\t", 1) for line in f if line[0] != "#")
    judge = Judge(told.build, taken, reasons, told.seconds, told.own)
    for name in taken["stopped"]:
        print(f"not asked: {name}, which was stopped while it was counted")
    path = told.build + "/mutants/log.tsv"
    os.makedirs(os.path.dirname(path), exist_ok=True)
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

    for module in told.modules or ["io", "cooc", "linalg"]:
        files = sorted(f for f in taken["known"] if f.startswith(f"src/{module}/") and "_kernels" not in f)
        all_of = [m for f in files for m in mutants(f, taken["known"][f])]
        sample = sorted(all_of, key=lambda m: hashlib.sha256(f"{told.seed} {key(m)}".encode()).digest())[: told.sample]
        with concurrent.futures.ThreadPoolExecutor(told.jobs) as pool:
            count = collections.Counter(pool.map(decide, sample))
        for m in sorted(sample):
            if known[key(m)][0] in ("survived", "unreached"):
                print(f"{known[key(m)][0]} {m.file}:{m.line}: {m.operator}: {m.text.strip()}  ->  {changed(m)}")
        counted = count["killed"] + count["survived"] + count["unreached"]
        for name in sorted({name for m in sample for name in re.findall(r"without (\S+)", known[key(m)][1])}):
            print(f"not asked: {name}, which fails without a mutant")
        for what, n in ("that a test can detect", counted), ("with equal ones", counted + count["equal"]):
            low, high = interval(count["killed"], n)
            print(f"src/{module}: {count['killed']} of {n} {what} killed, {100 * count['killed'] / n:.1f} % (95 %: {low:.1f} to {high:.1f})")
        print(f"src/{module}: {dict(count)}; drawn from {len(all_of)} with seed {told.seed}")


main()
