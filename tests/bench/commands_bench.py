"""Whole commands, ours and the peer's as a user starts them, reading and writing of files and start-up included: rows of bench.py as JSON.

usage: commands_bench.py COSPEC OUT.json MATRIX.npz [--small]      (called by bench.py; a development aid)

Runs of ours and of the peer are interleaved. Peers: GloVe's own cooccur (its build folder in $GLOVE, or on PATH), scipy's svds, SLEPc, numpy as installed and, where
$BENCH_NUMPY (default: python3) is another Python with numpy, that of PyPI with its own OpenBLAS. One that is not here is named and skipped. The time of a
small model's training is in the rows of train_bench.py. The program of an older commit in $BENCH_BEFORE is a peer of `compare` and of
text to matrix. A command that takes more than 10
seconds runs once; LIMIT seconds end it, and its time is then a lower bound.
"""
import glob
import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

from numpys import numpys

cospec, out, matrix = (os.path.abspath(name) for name in sys.argv[1:4])
small = "--small" in sys.argv
REPEATS, SLOW, LIMIT = 3, 10, 240  # seconds
here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20261123)
rows = []


def once(line, limit=LIMIT, **streams):
    """Seconds of a process; the limit where it had to be ended."""
    start = time.perf_counter()
    try:
        done = subprocess.run([*map(str, line)], stderr=subprocess.PIPE, timeout=limit, **{"stdout": subprocess.DEVNULL, **streams})
    except subprocess.TimeoutExpired:
        return float(limit)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 4):  # 4: a certificate or an interval says inconclusive
        raise RuntimeError(f"{line}: exit status {done.returncode}: {done.stderr[-500:]}")
    return seconds


def in_turns(*runs):
    """Seconds of each, a function a side."""
    seconds = [[] for _ in runs]
    for _ in range(REPEATS):
        for side, run in zip(seconds, runs):
            if not side or side[0] <= SLOW:
                side.append(run())
    return seconds


def report(workload, ours, peers, note, aim=None, why="", limit=LIMIT):
    """peers: {name: function}; those that are None are not installed. aim(name): the least ratio to that peer that was aimed for, NaN: none; why: the reason where it is missed."""
    there = {name: run for name, run in peers.items() if run}
    for name in peers:
        if name not in there:
            print(f"commands: {name} is not installed; skipped", file=sys.stderr)
    absent = "".join(f"; {name}{f', aim {aim(name):.3g}' if aim else ''}: not installed" for name in peers if name not in there)
    mine, *theirs = in_turns(ours, *there.values())
    ended = "; ours stopped at the limit, so its time is a lower bound" if mine[0] >= limit else ""
    for name, seconds in zip(there, theirs):
        least = aim(name) if aim else math.nan
        missed = statistics.median(seconds) / statistics.median(mine) < least
        verdict = f"; aim {least:.3g}" + (f" missed: {why}" if missed else " reached") if least == least else ""
        rows.append({"workload": workload, "ours_s": mine, "peer": name, "peer_s": seconds, "note": note + verdict + absent + ended})
    if not there:
        rows.append({"workload": workload, "ours_s": mine, "peer": "none", "peer_s": [], "note": note + absent + ended})
    return statistics.median(mine)


def spellings(vocabulary):
    return np.array(["".join(chr(97 + number // 26**place % 26) for place in range(4)) for number in range(vocabulary)])


def text(path, tokens, vocabulary):
    """A line a document of 500 words, of Zipf's frequencies; words are letters only, all in lower case."""
    p = (np.arange(vocabulary) + 2.7) ** -1.05
    words = spellings(vocabulary)
    cdf = np.cumsum(p / p.sum())
    with open(path, "w") as f:
        for first in range(0, tokens, 500_000):
            ids = np.minimum(np.searchsorted(cdf, rng.random(min(500_000, tokens - first))), vocabulary - 1)
            for document in range(0, len(ids), 500):
                f.write(" ".join(words[ids[document:document + 500]]) + "\n")


def topic_text(path, tokens, vocabulary):
    """Lines of 1,000 words of Zipf's frequencies; each of their fifths has one of 60 topics, that make a tenth of the words 8 times as frequent."""
    own, words = np.random.default_rng(20261130), spellings(vocabulary)
    p = (np.arange(vocabulary) + 2.7) ** -1.0
    topics = [np.cumsum(np.where(own.random(vocabulary) < 0.1, 8 * p, p)) for _ in range(60)]
    with open(path, "w") as f:
        for _ in range(0, tokens, 1000):
            parts = [topics[own.integers(60)] for _ in range(5)]
            f.write(" ".join(word for cdf in parts for word in words[np.searchsorted(cdf, own.random(200) * cdf[-1])]) + "\n")


def processor_seconds(*lines, limit=LIMIT):
    """Those of several processes, one after the other."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for line in lines:
        once(line, limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def labelled_text(path, documents, vocabulary):
    """Documents of 15 to 65 words of Zipf's frequencies with one of four classes. A class makes a tenth of the words 8 times as frequent."""
    own, words = np.random.default_rng(20261130), spellings(vocabulary)
    p = (np.arange(vocabulary) + 2.7) ** -1.0
    classes = [np.cumsum(np.where(own.random(vocabulary) < 0.1, 8 * p, p)) for _ in range(4)]
    with open(path, "w") as f:
        for _ in range(documents):
            kind = own.integers(4)
            text = words[np.searchsorted(classes[kind], own.random(own.integers(15, 66)) * classes[kind][-1])]
            f.write(f"class{kind}\t{' '.join(text)}\n")


def glove_program(name):
    beside = os.path.join(os.environ.get("GLOVE", ""), name)
    return beside if os.environ.get("GLOVE") and os.access(beside, os.X_OK) else shutil.which(name)


SVDS = """import sys, numpy as np, scipy.sparse as sp
from scipy.sparse.linalg import svds
u, s, v = svds(sp.load_npz(sys.argv[1]), k=int(sys.argv[2]), tol=1e-5)
for name, x in (("u", u), ("s", s), ("v", v)): np.save(sys.argv[3] + name, x)
"""
# The time of the command before its jackknife had fewer pairs and blocks (commit 90f2e49d), in runs interleaved with numpy's.
BEFORE = {768: "2.1 to 2.2 times the Gram matrix alone before; ", 512: "1.7 to 2.1 times the Gram matrix alone before; "}
GRAM = """import sys, numpy as np
x, g = np.load(sys.argv[1], mmap_mode="r"), 0
for i in range(0, len(x), 16384): part = np.asarray(x[i:i + 16384]); g = g + (part.T @ part).astype(float)
if sys.argv[2] == "eigh": print(np.linalg.eigvalsh(g)[-1])
"""
PAIRS = """import sys, numpy as np
x = np.load(sys.argv[1]); x /= np.linalg.norm(x, axis=1, keepdims=True); k = int(sys.argv[2])
if sys.argv[3] == "whole":
    s = x @ x.T; s[np.tri(len(x), dtype=bool)] = -np.inf
    top = np.sort(np.partition(s.ravel(), -k)[-k:])
else:
    top, least = np.empty(0, np.float32), -np.inf
    for i in range(0, len(x), 500):
        s = x[i:i + 500] @ x[i:].T; s[np.tri(*s.shape, dtype=bool)] = -np.inf
        top = np.concatenate([top, s[s > least]])
        if len(top) > 2 * k: top = np.partition(top, -k)[-k:]; least = top.min()
    top = np.sort(top)[-k:]
print(top.mean())
"""

with tempfile.TemporaryDirectory() as work:
    os.chdir(work)

    def ours(*line, program=cospec):
        def run():
            shutil.rmtree("result", ignore_errors=True)  # what an earlier run left is not this one's to remove
            return once([program, *line, "-o", "result"])
        return run

    # a. text to matrix
    tokens, vocabulary = (1_000_000, 50_000) if small else (20_000_000, 200_000)
    text("text.txt", tokens, vocabulary)
    cooccur, counter = glove_program("cooccur"), glove_program("vocab_count")
    before = os.environ.get("BENCH_BEFORE")

    def count():
        with open("text.txt") as f, open("vocab", "w") as to:
            return once([counter, "-min-count", "1", "-verbose", "0"], stdin=f, stdout=to)

    def glove(symmetric, counted):
        def run():
            seconds = count() if counted else 0
            with open("text.txt") as f, open("cooc.bin", "wb") as to:
                return seconds + once([cooccur, "-memory", 4, "-vocab-file", "vocab", "-window-size", 10, "-symmetric", symmetric, "-verbose", 0], stdin=f, stdout=to)
        return run if cooccur and counter else None

    for form, objective, symmetric in (("one-sided", "ar", 0), ("symmetric", "permuted-ar", 1)):
        line = ["cooc", "--corpus", "text.txt", "--objective", objective, "--context", "each:10", "--tokenizer", "whitespace", "--vocab", "all"]
        report(f"whole command: text of {tokens} tokens to matrix, window 10, {form}", ours(*line),
               {"GloVe's own vocab_count and cooccur": glove(symmetric, True), "GloVe's own cooccur, its vocabulary given": glove(symmetric, False),
                "cospec of an older commit ($BENCH_BEFORE)": ours(*line, program=before) if before else None}, "all words; ours builds its vocabulary too",
               lambda name: 10 if "vocab_count" in name else math.nan, "slower where a host has reclaimed free memory")
    shutil.rmtree("result")
    os.remove("text.txt")

    # b. svd
    a, k = sp.load_npz(matrix), 16 if small else 64
    slepc = glob.glob("/usr/lib/slepcdir/*/*-real/lib/python3/dist-packages")

    def slepc_with(ranks):
        line = [sys.executable, os.path.join(here, "svd_peer.py"), "cross", matrix, k, 1e-10, "theirs-"]
        together = ["env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks] if ranks > 1 else []
        return (lambda: once([*together, *line])) if slepc and (ranks == 1 or shutil.which("mpirun")) else None

    primme = subprocess.run([sys.executable, "-c", "import primme"], capture_output=True).returncode == 0
    report(f"whole command: svd -k {k} with vectors and certificates, {a.shape[0]} x {a.shape[1]}, {a.nnz} nonzeros", ours("svd", matrix, "--normalised", "-k", k, "--vectors"),
           {"scipy svds": lambda: once([sys.executable, "-c", SVDS, matrix, k, "theirs-"]),
            "SLEPc cross": slepc_with(1), "SLEPc cross, 2 ranks": slepc_with(2),
            "PRIMME": (lambda: once([sys.executable, "-c", SVDS.replace("from scipy.sparse.linalg", "from primme").replace("tol=1e-5", "tol=1e-10"), matrix, k, "theirs-"]))
            if primme else None}, "theirs loads, solves and writes", lambda name: 3 if "scipy" in name else 2.5,
           "the solver and its probe take two thirds (ratio below); an estimate of sum sigma^4, residuals, reading and writing take the rest")

    # c. rank, d. pairs
    n, d = (20_000, 256) if small else (300_000, 768)
    m, k = (1000, 10_000) if small else (8000, 100_000)
    np.save("rows.npy", rng.standard_normal((n, d), dtype=np.float32))
    np.save("fewer.npy", rng.standard_normal((m, 768), dtype=np.float32) + 0.3 * rng.standard_normal(768, dtype=np.float32))
    pythons = list(numpys())
    grams = (("gram", "Gram matrix alone"), ("eigh", "Gram matrix and eigenvalues, no interval"))
    for core, form, gram_forms, pair_forms in ((None, "", grams, ("whole", "by blocks")), ("Haswell", ", OpenBLAS held to AVX2 on both sides", grams[:1], ("by blocks",))):
        if core:
            os.environ["OPENBLAS_CORETYPE"] = core
        report(f"whole command: rank of {n} x {d} with its jackknife{form}", ours("rank", "rows.npy"),
               {f"{name}, {what}": (lambda python=python, gram=gram: once([python, "-c", GRAM, "rows.npy", gram])) for name, python in pythons for gram, what in gram_forms},
               "ours has 24 matrices of the jackknife and the curve, and sums in double", lambda name: 1 / 1.3 if "alone" in name else math.nan,
               "our products (sums in double) take 1.5 s on two cores; numpy's products are in single precision, with twice the numbers in a vector")
        report(f"whole command: the {k} most similar of the pairs of {m} x 768 rows{form}", ours("connectivity", "fewer.npy", "--pairs", k, "--features", m, "--jackknife", 0),
               {f"{name}, {pairs}": (lambda python=python, pairs=pairs: once([python, "-c", PAIRS, "fewer.npy", k, pairs])) for name, python in pythons for pairs in pair_forms},
               "ours includes the mean and quantiles of all pairs", lambda name: 2.5,
               "the product in single precision takes two thirds, at numpy's rate; lower precision would not give the quantiles")
    os.environ.pop("OPENBLAS_CORETYPE")
    # In processor seconds, so that a busy machine does not matter; numpy on one thread, since OpenBLAS's threads wait busily.
    for n, d in ((20_000, 256),) if small else ((300_000, 768), (400_000, 512)):
        np.save("rows.npy", rng.standard_normal((n, d), dtype=np.float32))
        report(f"whole command: rank of {n} x {d} with its jackknife, --precision float (processor seconds)",
               lambda: processor_seconds([cospec, "rank", "rows.npy", "--precision", "float"]),
               {f"{name}, Gram matrix alone": (lambda python=python: processor_seconds(["env", "OPENBLAS_NUM_THREADS=1", python, "-c", GRAM, "rows.npy", "gram"])) for name, python in pythons},
               f"ours has 24 matrices of the jackknife and the curve; {BEFORE.get(d, '')}sums in single precision, as theirs", lambda name: 1 / 1.5,
               "the products with packing and the jackknife take longer than numpy's products")

    # e. connectivity of a corpus: of a real one, since words drawn independently have no spectrum of a language to converge to
    compared = ["ar", "masked:unmasked=2"] if small else ["ar", "masked:unmasked=3", "masked:unmasked=2", "diverse-ar:t=2"]
    if subprocess.run([cospec, "data", "stats", "bible-kjv"], capture_output=True).returncode == 0:
        words = 160_000 if small else 800_000
        seconds = report(f"whole command: connectivity of the bible's {words:,} tokens, {len(compared)} objectives, blind and given, 5 blocks",
                         ours("connectivity", "--corpus", "bible-kjv", "--split", "test" if small else "all", "--context", "all", "--max-length", 4, "--stride", 1,
                              "--jackknife", 5, *(word for spec in compared for word in ("--compare", spec))), {}, "no other program has it")
        if not small:
            million = seconds * 1e6 / words
            verdict = "reached" if million < 120 else "missed: the spectrum of the corpus and two eigenproblems for each block take most of it"
            rows[-1]["note"] += f"; aim 120 s for 10^6 tokens, scaled {million:.0f} s, {verdict}"
    else:
        print("commands: the corpus bible-kjv is not installed; skipped", file=sys.stderr)

    # f. text to eigenmodes
    tokens, words = (200_000, 1_000) if small else (10_000_000, 10_000)
    topic_text("text.txt", tokens, 10 * words)
    seconds = report(f"whole command: text of {tokens} tokens to 200 eigenmodes of M* of QWEM, {words} words, window 16 (processor seconds of cooc and svd)",
                     lambda: processor_seconds([cospec, "cooc", "--corpus", "text.txt", "--objective", "permuted-ar", "--context", "each:16:linear",
                                                "--vocab", words, "-o", "words", "--force", "-q"],
                                               [cospec, "svd", "words", "-k", 200, "--form", "qwem", "--vectors", "-o", "modes", "--force", "-q"]), {},
                     "vectors and certificates included; no other program has it")
    if not small:
        rows[-1]["note"] += f"; aim 120 s on two cores, {'reached' if seconds < 120 else 'missed'}"

    # g. comparison of models, with the program of an older commit in $BENCH_BEFORE
    documents, layers, width = (100, 2, 64) if small else (1_000, 6, 384)
    labelled_text("documents.tsv", documents, 8_000)
    for name, *kind in (("causal", "--objective", "ar", "--arch", "gpt2"), ("masked", "--objective", "masked", "--arch", "bert"),
                        ("prefix", "--objective", "prefix-lm", "--arch", "gpt2")):
        once([cospec, "train", "--corpus", "documents.tsv", *kind, "--layers", layers, "--width", width, "--heads", 4 if small else 6, "--max-length", 128, "--batch", 16,
              "--steps", 2, "-o", name, "-q"])

    hour = 3600  # a limit that processor seconds of two cores do not reach

    def compare(program):
        return processor_seconds([program, "compare", "causal", "masked", "prefix", "documents.tsv", "--tasks", "documents.tsv", "--read", "--split all",
                                  "-o", "compared", "--force", "-q"], limit=hour)

    seconds = report(f"whole command: compare of 3 models of {layers} layers of {width}, {documents} documents, one task (processor seconds)", lambda: compare(cospec),
                     {"cospec of an older commit ($BENCH_BEFORE)": (lambda: compare(before)) if before else None},
                     "causal, masked and prefix models; states, predictions, probes, fine-tuning and report", limit=hour)
    if not small:
        rows[-1]["note"] += f"; aim 3 minutes on two quiet cores, 360 processor seconds, {'reached' if seconds < 360 else 'missed: fine-tuning takes two fifths'}"

with open(out, "w") as f:
    json.dump(rows, f)
