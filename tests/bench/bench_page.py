"""The page of benchmarks, docs/results/bench.md, from the record of one run, docs/results/bench.json.

bench_page.py BENCH.json BENCH.md      writes the page anew; bench.py does so at the end of a run
"""
import json
import re
import sys

TITLE = """\
# Benchmarks

This page compares the speed of cospec with other programs on the same input. It is for readers who plan large runs, and
for developers who look for regressions.

**Finding.** cospec is at least as fast as the other program in {faster} of {compared} comparisons, and reaches {reached} of {aims} aims.

**How to read it.** Both programs run on the same input in the same run. Times are medians; the last column counts the runs
of both (other programs slower than {slow} s run once). A ratio *peer / ours* above 1 means that cospec is faster. Ratios
carry over between machines, times do not. An *aim* is a ratio that was set in advance. The
[engineering notes](engineering-notes.md) explain where the time goes.

**Scope.** One run on the machine below. A row whose note has a date was measured apart from that run.

**Repeat.** `make bench{small}` writes this page; it is not edited by hand.

| | |
|---|---|
"""
COLUMNS = "| workload | ours (s) | peer | peer (s) | peer / ours | note | aim | runs, ours and peer |\n|---|---|---|---|---|---|---|---|\n"


def equations(text):
    """The text of a cell with its formulas as equations."""
    text = re.sub(r"\bsigma(_\d|\^\d| = 1)?(?!\w)", lambda m: f"$\\sigma{m[1] or ''}$", text)
    return re.sub(r"\bn d\^2|\b10\^\d", r"$\g<0>$", text)


def cells(result):
    """The cells of a row; the note's part that begins with "aim" is a cell by itself."""
    parts = result["note"].split("; ")
    first = next((i for i, part in enumerate(parts) if part.startswith("aim ")), len(parts))
    theirs = [f"{result['peer_median_s']:.4g}", f"{result['ratio_peer_over_ours']:.2f}"] if result["peer_s"] else ["-", "-"]
    return [result["workload"].removeprefix("whole command: "), f"{result['ours_median_s']:.4g}", result["peer"], *theirs,
            "; ".join(parts[:first]), "; ".join(parts[first:]).removeprefix("aim "), f"{len(result['ours_s'])}, {len(result['peer_s'])}"]


def write_page(record, slow, path):
    results = record["results"]
    ratios = [r["ratio_peer_over_ours"] for r in results if r["peer_s"] and not r["peer"].startswith("ours")]
    aims = [cells(r)[6] for r in results if cells(r)[6]]
    with open(path, "w", encoding="utf-8") as f:
        f.write(TITLE.format(faster=sum(x >= 1 for x in ratios), compared=len(ratios), reached=sum("reached" in a for a in aims), aims=len(aims),
                             slow=slow, small=" BENCH_ARGS=--small" if record["small"] else ""))
        for key in ("date", "cospec", "machine", "kernel", "versions", "load", "minutes"):
            f.write(f"| {key} | {record[key]} |\n")
        for title, whole in (("Whole commands, files and start-up included", True), ("Kernels and parts", False)):
            f.write(f"\n## {title}\n\n{COLUMNS}")
            for r in results:
                if r["workload"].startswith("whole command: ") == whole:
                    f.write("| " + " | ".join(map(equations, cells(r))) + " |\n")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        write_page(json.load(file), 10, sys.argv[2])
