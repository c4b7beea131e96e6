#!/usr/bin/python3
"""Which lines and branches of src/io, src/cooc and src/linalg the unit programs take (gcov).

    coverage.py BUILD [FILE.c ...]      a table of files and modules; of each FILE, the lines with branches that nobody takes

Each program counts into a separate folder, BUILD/gcov/PROGRAM, for COVERAGE_LIMIT seconds (300); COVERAGE_JOBS (4) run side by
side. One that is stopped has counted nothing and is named. What a program has counted is kept until the program is built anew.
BUILD/taken.json says which lines there are, which programs come to each and which were stopped (tests/mutants.py asks it).
"""
import collections
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import time

LIMIT = float(os.environ.get("COVERAGE_LIMIT", 300))


def gcov(data):
    """Branches by (file, line, function) as lists of "taken", and the lines that ran."""
    branches, ran = {}, collections.defaultdict(set)
    for text in subprocess.run(["gcov", "-b", "-t", "--json-format", *data], capture_output=True, text=True).stdout.splitlines():
        for f in json.loads(text)["files"]:
            if not f["file"].endswith(".c"):
                continue
            for line in f["lines"]:
                where = f["file"], line["line_number"]
                key = "%s:%d:%s" % (*where, line.get("function_name", ""))
                taken = [b["count"] > 0 for b in line["branches"]]
                branches[key] = [a or b for a, b in zip(branches.get(key, taken), taken)]
                if line["count"]:
                    ran[where[0]].add(where[1])
    return {"branches": branches, "ran": {f: sorted(lines) for f, lines in ran.items()}}


def count(build, program):
    name = os.path.basename(program)
    folder = f"{build}/gcov/{name}"
    kept = folder + "/counted.json"
    if not os.path.exists(kept) or os.path.getmtime(kept) < os.path.getmtime(program):
        subprocess.run(["rm", "-rf", folder], check=True)
        for notes in glob.glob(build + "/src/*/*.gcno"):
            link = folder + notes[len(build):]
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.abspath(notes), link)
        levels = os.path.abspath(build).count("/")
        env = {**os.environ, "GCOV_PREFIX": os.path.abspath(folder), "GCOV_PREFIX_STRIP": str(levels)}
        begin = time.time()
        try:
            code = subprocess.run([program], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT).returncode
        except subprocess.TimeoutExpired:
            code = "stopped"
        counted = {"code": code, "seconds": time.time() - begin, **gcov(glob.glob(folder + "/src/*/*.gcda"))}
        with open(kept, "w") as out:
            json.dump(counted, out)
    with open(kept) as file:
        return name, json.load(file)


def main(build, *files):
    programs = sorted(p for p in glob.glob(build + "/tests/test_*") if "." not in os.path.basename(p))
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("COVERAGE_JOBS", 4))) as pool:
        counted = dict(pool.map(lambda p: count(build, p), programs))
    lines = collections.defaultdict(lambda: collections.defaultdict(list))
    branches = gcov(glob.glob(build + "/src/*/*.gcno"))["branches"]  # all there are, none taken
    for name, one in counted.items():
        if one["code"] != 0:
            print(f"{name}: {one['code']}")
        for file, ran in one["ran"].items():
            for line in ran:
                lines[file][line].append(name)
        for key, taken in one["branches"].items():
            branches[key] = [a or b for a, b in zip(branches.get(key, taken), taken)]
    known, ran, ways, taken = (collections.Counter() for _ in range(4))
    counts = collections.defaultdict(set)
    for key in branches:
        counts[key.split(":")[0]].add(int(key.split(":")[1]))
    with open(build + "/taken.json", "w") as out:
        json.dump({"known": {f: sorted(n) for f, n in counts.items()}, "lines": lines, "seconds": {n: one["seconds"] for n, one in counted.items()},
                   "stopped": [n for n, one in counted.items() if one["code"] == "stopped"]}, out)

    for file, numbers in counts.items():
        for name in file, os.path.dirname(file):
            known[name] += len(numbers)
            ran[name] += len(numbers & lines[file].keys())
    for key, one in branches.items():
        file, line, _ = key.split(":")
        for name in file, os.path.dirname(file):
            ways[name] += len(one)
            taken[name] += sum(one)
        if file in files and not all(one):
            print(f"{file}:{line}: {[i for i, t in enumerate(one) if not t]} of {len(one)} branches not taken")
    for name in sorted(known):
        print(f"{name}: lines {100 * ran[name] / known[name]:.1f} % of {known[name]}, branches {100 * taken[name] / max(1, ways[name]):.1f} % of {ways[name]}")


main(*sys.argv[1:])
