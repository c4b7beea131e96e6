#!/usr/bin/env python3
"""The report of the studies of predictors: every primary test, those of other corpora, and the significant secondary ones.

    predictors_report.py FOLDER OUT.html

FOLDER holds tests.csv, synthetic-tests.csv (predictors_test.py writes them), text.svg and synthetic.svg. The page is one file
without links to others. The standard library suffices.
"""
import base64
import csv
import html
import pathlib
import sys

NAMES = {"sum4": "log sum of σ⁴", "share": "log share of predicted tokens", "context-tokens": "log mean tokens in the context",
         "log kept": "log share that is kept", "eval_loss": "held-out loss", "sum4-2000": "log sum of σ⁴, 2,000 words",
         "objective": "the objective", "": "–"}
FAMILIES = (
    ("primary", "Primary tests", "Each predictor has its own permutation test; Holm's method covers the two outcomes of a predictor. "
     "In runs A and B the number is Pearson's r, in run C the slope of the outcome for each factor e of predictions."),
    ("length", "The same with the length of the context held fixed", "Added after the synthetic languages had been seen, and before "
     "any test on text."),
    ("corpora", "Other corpora, and the length given the matrix", "Added after the results were known. Holm's method covers the "
     "outcomes of a predictor."),
    ("secondary", "Secondary tests that are significant", "All secondary predictors and outcomes of a run are tested together by the "
     "largest statistic; these have a corrected p of at most .05."),
    ("reliability", "Reliability", "Intraclass correlation of one run, over ten objectives with three seeds."))
HEADS = ("language", "run", "predictor", "outcome", "held fixed", "objectives", "number (95 %)", "Spearman's ρ (95 %)", "p", "corrected p",
         "without one kind", "without one pair", "detectable |r|", "above untrained")
STYLE = """:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-size:.85rem}th,td{padding:.2rem .5rem;border-bottom:1px solid #8886;text-align:left;
vertical-align:top}div{overflow-x:auto}img{max-width:100%;background:#fff}.n{text-align:right;white-space:nowrap}"""


def number(text):
    if not text:
        return "–"
    x = float(text)
    return f"{x:.2f}".replace("0.", ".", 1) if .005 <= abs(x) < 1 else f"{x:.2g}"


def within(row, of):
    low, high = row[of + "_low"], row[of + "_high"]
    return f"{number(row[of])} ({number(low)} to {number(high)})" if row[of] else "–"


def spread(row, of):
    return f"{number(row[of + '_low'])} to {number(row[of + '_high'])}" if row[of + "_low"] else "–"


def cells(row):
    named = [NAMES.get(row[key], row[key]) for key in ("predictor", "outcome", "given")]
    above = row["above_untrained"]
    if above and float(above) < .9:
        above = number(above) + ", not tested"
    yield from ((row["language"] or "text", ""), (row["run"].upper(), ""), *((name, "") for name in named))
    p = (f"{float(row[key]):.2g}" if row[key] else "–" for key in ("p", "p_adjusted"))
    for text in (row["objects"], within(row, "r"), within(row, "rho"), *p, spread(row, "kind"), spread(row, "pair"),
                 number(row["detectable"]), above if "not" in above else number(above)):
        yield text, "n"


def table(rows):
    head = "".join(f"<th>{name}</th>" for name in HEADS)
    body = "".join("<tr>" + "".join(f'<td class="{kind}">{html.escape(text)}</td>' if kind else f"<td>{html.escape(text)}</td>"
                                    for text, kind in cells(row)) + "</tr>\n" for row in rows)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>"


def picture(path, words):
    code = base64.b64encode(path.read_bytes()).decode()
    return f'<figure><img alt="{words}" src="data:image/svg+xml;base64,{code}"><figcaption>{words}</figcaption></figure>'


def page(folder):
    rows = []
    for name in ("tests.csv", "synthetic-tests.csv"):
        with open(folder / name, newline="") as file:
            rows += csv.DictReader(file)
    yield f"<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>What predicts classification</title><style>{STYLE}</style>"
    yield "<h1>What predicts classification</h1><p>Does the co-occurrence matrix of an objective predict how well a trained model "
    yield "classifies, or the number of tokens that the objective predicts? This report has the tests. The page README.md in the "
    yield "same folder says what they show, and where they do not apply. The plans are the texts <code>about</code> of "
    yield "plots/predictors.json and plots/predictors-synthetic.json.</p><p>Run A has the natural shares of predicted tokens, run B one predicted "
    yield "token in ten, run C equal matrices and different shares.</p>"
    yield picture(folder / "text.svg", "Text, run B: the linear probe against connectivity and against the length of the context.")
    yield picture(folder / "synthetic.svg", "Synthetic languages, run B: fine-tuning against the same two.")
    for family, title, words in FAMILIES:
        found = [row for row in rows if row["family"] == family and (family != "secondary" or float(row["p_adjusted"]) <= .05)]
        yield f"<h2>{title}</h2><p>{words} An outcome that less than .9 of the networks improve by training is not tested.</p>"
        yield table(found)
    yield "</html>\n"


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    with open(argv[2], "w") as file:
        file.write("\n".join(page(pathlib.Path(argv[1]))))


if __name__ == "__main__":
    main(sys.argv)
