"""Results of commands as pandas reads them: pandas.read_json(path, orient="table") gives the table that the CSV has.

The CSV is read by Python's own reader; values of both are compared cell by cell.
"""
import csv
import os
import sys
import tempfile

import pandas

from harness import Checks, cospec


def rows_of_csv(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def same(cell, value):
    if cell == "":
        return pandas.isna(value) or value == ""
    if isinstance(value, bool) or str(value) in ("True", "False"):
        return cell == str(value).lower()
    if pandas.isna(value):
        return cell in ("inf", "-inf")  # JSON has none
    try:
        return abs(float(cell) - float(value)) <= 1e-12 * max(1, abs(float(cell)))
    except ValueError:
        return cell.lstrip("'") == str(value).lstrip("'")


def check(stem):
    table = pandas.read_json(stem + ".json", orient="table")
    want = rows_of_csv(stem + ".csv")
    if len(table) != len(want) or list(table.columns) != list(want[0]):
        return f"{len(table)} rows of {list(table.columns)}, not {len(want)} of {list(want[0])}"
    wrong = [(k, r[k], table[k][i]) for i, r in enumerate(want) for k in r if not same(r[k], table[k][i])]
    return str(wrong[:3]) if wrong else None


def main():
    checks = Checks("tables")
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "c.tsv")
        with open(text, "w") as f:
            for i in range(40):
                f.write("abc"[i % 3] + "\t" + " ".join("w%d" % (i * j * j % 17) for j in range(12)) + "\n")
        matrix = os.path.join(folder, "m")
        cospec("cooc", corpus=text, objective="ar", context="nearest:1", o=matrix)
        runs = {"svd": ("svd", matrix), "connectivity": ("connectivity", matrix), "statements": ("verify", "all"),
                "toy": ("toy", "--objective", "ar", "--classes", "2", "--length", "3", "--tokens", "2"),
                "density": ("density", matrix), "inspect": ("inspect", matrix), "cooc": None}
        for name, words in runs.items():
            out = matrix if words is None else os.path.join(folder, name)
            if words:
                cospec(*words, o=out)
            checks.run(name, check, os.path.join(out, name))
    checks.exit()


if __name__ == "__main__":
    sys.exit(main())
