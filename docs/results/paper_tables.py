#!/usr/bin/env python3
"""Writes one table for each table of a paper, from a published study.

    python3 docs/results/paper_tables.py docs/results/study-images/long > docs/results/study-images/tables.md

A model has one number for each metric: the mean over all of its seeds, with an interval of documents and seeds.
Comparisons are paired, over the seeds that both sides have, and each row says how many these are. The numbers of
the papers and the verdicts are those of claims.csv; values.csv.xz has the runs.
"""
import math
import pathlib
import re
import sys

import verdicts

INTRO = """# The papers' tables on images

<!-- written by docs/results/paper_tables.py -->

This page has one table for each table of LA and GVP that the [long study of images](README.md#long-study) repeats. It is for readers who want each method's number next to the paper's. Papers print per cent of ImageNet, COCO or ADE20K; ours are shares of held-out images of letters and digits, or of `scenes`, so the numbers themselves cannot be compared.

- *Methods.* Each model has one number for a metric: the mean over all of its seeds, with a 95 % interval of test images and seeds.
- *Comparisons.* They pair the models seed by seed, so they use the seeds that both have. A difference can therefore deviate from that of the two means.
- *Baseline.* `checked`: all models have a run of four times the steps. `not checked`: one has none.

Terms are in the [glossary](../../glossary.md)."""


# Rows of the papers that are in no claim of their table: method, and the paper's numbers by metric.
MORE = {"LA, Table 5": ("t = 1 (two streams)", {"accuracy, linear probe": "56.2", "accuracy, fine-tuned": "82.5"})}


def decimal(x, small):
    text = f"{x:.{4 if small else 3}f}"
    return re.sub(r"^(-?)0\.", r"\1.", text)


def number_of(side):
    """The mean over all seeds of a side's number, its half interval, and the seeds."""
    mean = side.number.mean(side.seeds())
    parts = [(math.hypot(mean.jackknife, mean.bias) ** 2, mean.blocks - 1, 0.0, 0.0)] if mean.blocks > 1 else (
        [(mean.se ** 2, side.df, 0.0, 0.0)] if mean.se > 0 else [])
    if mean.seeds > 1:
        parts.append((mean.variance / mean.seeds, mean.seeds - 1, 0.0, 0.0))
    return mean.value, verdicts.margin(parts, math.log(verdicts.ALPHA)) if parts else math.nan, mean.seeds


def short(row):
    """The metric; of hidden patches with their share, which two tables choose differently."""
    paper, table = row["source"].split(", ")
    share = re.search(rf"{table} of {paper} hides (\d+ %)", row["scope"])
    metric = row["metric"].removeprefix("accuracy, ")
    return metric.replace("hidden patches", f"{share[1]} hidden") if share else metric


def outcome(row):
    text = row["verdict"].replace(" at this scale", "").replace("0.", ".")
    if row["effect_seeds"]:
        seeds = row["effect_seeds"]
        text += " (no number of seeds)" if seeds == "inf" else f" ({seeds} seeds)"
    return text


def interval(value, half, small):
    if math.isnan(half):
        return decimal(value, small)
    return f"{decimal(value, small)} ({decimal(value - half, small)} to {decimal(value + half, small)})"


def methods(rows, claims):
    """By label and metric: the paper's numbers, and ours."""
    printed, ours = {}, {}
    for row in rows:
        sides = claims[row["claim"]].points[""].sides
        other_unit = row["metric"].startswith("L2") and "LPIPS in the paper" in row["says"]
        papers = [] if other_unit else re.findall(r"(?<![\w=.])\d+\.\d+", row["paper"])[:2]
        for which, side in enumerate((sides.left, sides.right)):
            if not side.measure:
                continue
            of = f" ({sides.left.label})" if "untrained" in side.label else ""
            key = side.label + of, row["metric"]
            ours[key] = number_of(side)
            if len(papers) == 2 and papers[which] not in printed.setdefault(key, []):
                printed[key].append(papers[which])
    return printed, ours


def add_more(label, papers, rows, claims, printed, ours):
    """The row of a method that other tables have measured."""
    for metric, paper in papers.items():
        sides = [claims[row["claim"]].points[""].sides for row in rows if row["metric"] == metric]
        side = next(s for both in sides for s in (both.left, both.right) if s.label == label)
        printed[label, metric], ours[label, metric] = [paper], number_of(side)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def section(source, rows, everything, claims):
    metrics = {r["metric"]: short(r) for r in rows}
    printed, ours = methods(rows, claims)
    if source in MORE:
        add_more(*MORE[source], everything, claims, printed, ours)
    head = ["method"]
    for name in metrics.values():
        head += [f"paper, {name}", f"ours, {name} (95 %)", "seeds"]
    body = []
    for label in dict.fromkeys(label for label, _ in ours):
        cells = [label]
        for metric in metrics:
            value = ours.get((label, metric))
            cells += [", ".join(printed.get((label, metric), []))]
            cells += [interval(value[0], value[1], value[0] < 0.06), str(value[2] or "")] if value else ["", ""]
        body.append(cells)
    compared = []
    for row in rows:
        d = float(row["difference"])
        half = float(row["high"]) - d
        sign = "above" if row["want"] == ">" else "below"
        compared.append([f"{row['left']} {sign} {row['right']}", short(row), interval(d, half, half < 0.003),
                         row["seeds"], outcome(row), row["baselines"]])
    compared = table(["claim", "metric", "difference (95 %)", "paired seeds",
                      f"verdict at {rows[0]['setting']}", "baseline"], compared)
    return f"## {source}\n\n{table(head, body)}\n\n{compared}"


def main():
    folder = pathlib.Path(sys.argv[1])
    claims, _ = verdicts.read_study(folder)
    verdicts.decide(claims)
    by_source, everything = {}, list(verdicts.read_rows(folder / "claims.csv"))
    for row in everything:
        if not row["source"].startswith("this project"):
            by_source.setdefault(row["source"], []).append(row)

    def order(source):
        return not source.startswith("LA"), int(re.search(r"\d+", source)[0])
    print("\n\n".join([INTRO] + [section(s, by_source[s], everything, claims) for s in sorted(by_source, key=order)]))


if __name__ == "__main__":
    sys.exit(main())
