"""The builder against the GloVe-style reference counter (our own), and against itself: rows of bench.py as JSON.

usage: count_bench.py COUNT_BENCH_PROGRAM OUT.json [--small]

A process a measurement, alternating, so that other work of the machine affects both sides. The text is made in the process
(Zipf with topics, tests/bench/zipf_text.h) and not timed; both sides start from its token ids and end with a sparse matrix
in memory.
"""
import json
import os
import statistics
import subprocess
import sys

program, out = sys.argv[1], sys.argv[2]
small = "--small" in sys.argv
threads, repeats, SLOW = 2, 3, 10
rows = []


def run(*args):
    return json.loads(subprocess.run([program, *map(str, args)], check=True, capture_output=True, text=True).stdout)


def in_turns(ours, peer):
    """Runs both `repeats` times, one that takes more than SLOW seconds once; the first answer of each with the times of all."""
    answers = ([], [])
    for _ in range(repeats):
        for side, args in zip(answers, (ours, peer)):
            if not side or side[0]["seconds"] <= SLOW:
                side.append(run(*args))
    return [dict(side[0], all=[a["seconds"] for a in side], seconds=statistics.median(a["seconds"] for a in side),
                 cpu=statistics.median(a["cpu"] for a in side)) for side in answers]


def report(workload, mine, peer, theirs, note):
    rows.append({"workload": workload, "ours_s": mine["all"], "peer": peer, "peer_s": theirs["all"],
                 "note": f"{note}; load {os.getloadavg()[0]:.1f}"})


def grown(answer):
    return answer["peak_mib"] - answer["base_mib"]


# Windows: one-sided with exact weights (the same matrix, entry by entry) and symmetric, as GloVe counts by default (the same
# pattern and number of pairs; the weights of permuted-ar depend on the sequence's length, the reference's are 1).
tokens, vocab, gib = (1_000_000, 50_000, 0.25) if small else (20_000_000, 200_000, 4)
for form, objective in (("one-sided", "ar"), ("symmetric", "permuted-ar")):
    mine, theirs = in_turns(("ours", tokens, vocab, "each:10", objective, threads),
                            ("reference", tokens, vocab, 10, form, gib))
    for what in ("nnz", "pairs", "pattern") + (("entries",) if form == "one-sided" else ()):
        assert mine[what] == theirs[what], (what, mine, theirs)
    report(f"windowed co-occurrence, {mine['tokens']} tokens, {mine['vocab']} words, window 10, {form}, {mine['nnz']} nonzeros",
           mine, f"GloVe-style reference counter (our own), {gib} GiB, 1 thread", theirs,
           f"{mine['tokens'] / mine['seconds'] / 1e6:.2f} and {theirs['tokens'] / theirs['seconds'] / 1e6:.2f} Mtok/s; processor time "
           f"{mine['cpu']:.2f} and {theirs['cpu']:.2f} s; memory {grown(mine):.0f} and {grown(theirs):.0f} MiB; "
           f"{'the same entries' if form == 'one-sided' else 'the same pattern'}")

# Record by record, where the weights are no function of the window: emitted pairs a second.
tokens, vocab = (200_000, 20_000) if small else (4_000_000, 100_000)
for objective, context, share, draws, length, tail in (
        ("diverse-ar:t=3", "each:4", 1, 0, 0, 0), ("group-ar:t=3", "each:5", 1, 4, 0, 0), ("ar", "nearest:3", 1, 0, 0, 0),
        ("ar", "all", 1, 0, 0, 0), ("masked:unmasked=4", "all", 40, 0, 8, 0), ("masked:mask-ratio=0.15", "nearest:4", 8, 0, 0, 0.01),
        ("diverse-ar:t=4", "nearest:3", 1, 4, 0, 0)):
    mine, alone = in_turns(*(("ours", tokens // share, vocab, context, objective, n, 8000, draws, length, tail) for n in (threads, 1)))
    assert mine["bits"] == alone["bits"], (mine, alone)
    details = f"{f' {draws} draws' if draws else ''}{f' windows of {length}' if length else ''}{f' tail {tail}' if tail else ''}"
    report(f"{objective} {context}{details}, {mine['tokens']} tokens, {mine['pairs']} pairs, {mine['nnz']} nonzeros",
           mine, "ours, 1 thread", alone,
           f"{mine['pairs'] / mine['seconds'] / 1e6:.1f} million pairs a second, {mine['pairs'] / mine['cpu'] / 1e6:.1f} a second of processor time; "
           "the same bits")

# Out of core: token ids (4 bytes each) ten times the budget.
tokens, vocab, budget = (2_600_000, 50_000, 1) if small else (21_000_000, 200_000, 8)
mine, whole = in_turns(*(("ours", tokens, vocab, "nearest:2", "ar", threads, mib) for mib in (budget, 16_000)))
assert mine["bits"] == whole["bits"] and mine["runs"] > 0 == whole["runs"], (mine, whole)
result = (mine["nnz"] * 12 + mine["rows"] * 48) / 2**20
report(f"out of core, ar nearest:2, {mine['tokens']} tokens ({mine['tokens'] * 4 / 2**20:.0f} MiB of ids), budget {budget} MiB, {mine['nnz']} nonzeros",
       mine, "ours, in memory", whole,
       f"{mine['runs']} runs; memory grew by {grown(mine):.0f} MiB, the result of {result:.0f} MiB lies in files; in memory by {grown(whole):.0f} MiB; the same bits")

with open(out, "w") as f:
    json.dump(rows, f)
