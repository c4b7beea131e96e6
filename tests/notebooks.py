#!/usr/bin/env python3
"""Checks the executed notebooks of docs/notebooks, and runs them.

usage: notebooks.py [--run | --update] [NOTEBOOK...]      without notebooks: all of them

Without an option nothing runs, and Python alone is needed. A notebook is valid if it is JSON of format 4, its code cells compile
and have run in order, no output is an error or names this machine, the file has at most 300 KB, and each number in the text is
found in an output or in the code: decimals, percentages and thousands, up to the digits that are shown.

--run executes each notebook in an empty folder (Python with nbclient, ipykernel and the module) and compares its printed output
with the stored one: words alike, numbers within 2 %, or within 15 % or 0.02 once a model was trained, whose sums differ between
processors. Figures only have to be there. --update stores what is printed today.

Output: "ok NAME" or "not ok NAME: why" for each notebook; the exit code is 1 if any has failed.
"""
import json
import os
import re
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "docs", "notebooks")
SIZE = 300 * 1024
PRINTED = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
# Numbers of statements and tables are names, and 95 % is the level of an interval; code, equations and links are no prose.
NAMED = re.compile(r"95 %|(?:Theorem|Table|Figure|Section|Equation|version)s? [\d.]+(?:(?:,| and) [\d.]+)*|`[^`]*`|\$\$.*?\$\$|\$[^$]+\$|\]\([^)]*\)", re.S)
SHOWN = re.compile(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+\.\d+|\d+(?= ?%))( ?%)?")


class Fault(Exception):
    pass


def text_of(cell):
    return "".join(cell["source"])


def start_of(cell):
    return " ".join(text_of(cell).split())[:60] + "..."


def printed(cell):
    """The output of a code cell: standard output and results; figures are replaced by "figure"."""
    parts = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            parts.append("".join(output["text"]))
        elif "data" in output:
            image = any(kind.startswith("image/") for kind in output["data"])
            parts.append("figure" if image else "".join(output["data"].get("text/plain", "")))
    return "\n".join(parts)


def values(text):
    """The numbers of a text, without separators of thousands."""
    return [float(number.rstrip(".,").replace(",", "")) for number in PRINTED.findall(text)]


def unsupported(markdown, known):
    """The numbers of prose that no known number rounds to."""
    for number, percent in SHOWN.findall(NAMED.sub(" ", markdown)):
        digits = len(number.partition(".")[2])
        value = float(number.replace(",", ""))
        if not any(abs(round(scale * abs(x), digits) - value) < 1e-9 for x in known for scale in ((1, 100) if percent else (1,))):
            yield number + percent


def check(path):
    """Raises a Fault if the stored notebook is not valid."""
    if os.path.getsize(path) > SIZE:
        raise Fault(f"{os.path.getsize(path)} bytes, at most {SIZE}")
    with open(path, encoding="utf8") as file:
        notebook = json.load(file)
    if notebook["nbformat"] != 4:
        raise Fault(f"format {notebook['nbformat']}, not 4")
    cells = notebook["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        compile(text_of(cell), f"cell {number}", "exec")
        if cell["execution_count"] != number:
            raise Fault(f"code cell {number} has not run in order: {start_of(cell)}")
        for output in cell["outputs"]:
            if output["output_type"] == "error" or "Traceback" in json.dumps(output):
                raise Fault(f"code cell {number} ends with an error")
            named = re.search(r"(?:/tmp|/home|/root|/work)/\S*", json.dumps(output.get("text", "")) + json.dumps(output.get("data", {}).get("text/plain", "")))
            if named:
                raise Fault(f"code cell {number} prints a path of this machine: {named.group(0)}")
    if not any(cell["outputs"] for cell in code):
        raise Fault("no outputs")
    known = [value for cell in code for value in values(printed(cell)) + values(text_of(cell))]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for number in unsupported(text_of(cell), known):
                raise Fault(f"no output has the {number} of the text: {start_of(cell)}")


def executed(path):
    """The notebook after a run in an empty folder."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    notebook = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:
        try:
            NotebookClient(notebook, timeout=900, coalesce_streams=True, resources={"metadata": {"path": folder}}).execute()
        except CellExecutionError as error:
            raise Fault(f"{error.ename}: {error.evalue}") from error
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    return notebook


def alike(old, new, share, least):
    """Whether two lines have the same words, and numbers within a share of the old one or within `least`."""
    words = [" ".join(PRINTED.sub("#", line).split()) for line in (old, new)]
    return words[0] == words[1] and all(abs(p - q) <= max(share * abs(p), least) for p, q in zip(values(old), values(new)))


def compare(stored, now):
    tolerance = (0.02, 1e-9)
    for number, (old, new) in enumerate(zip(stored["cells"], now["cells"])):
        if old["cell_type"] != "code":
            continue
        if "cospec.train(" in text_of(old):
            tolerance = (0.15, 0.02)
        before, after = printed(old).split("\n"), printed(new).split("\n")
        for a, b in zip(before, after):
            if not alike(a, b, *tolerance):
                raise Fault(f"cell {number}: '{a}' is now '{b}'")
        if len(before) != len(after):
            raise Fault(f"cell {number} printed {len(before)} lines, and prints {len(after)} now")


def run(path, update):
    now = executed(path)
    if update:
        import nbformat
        nbformat.write(now, path)
    else:
        with open(path, encoding="utf8") as file:
            compare(json.load(file), now)
    check(path)


def main():
    options = {a for a in sys.argv[1:] if a.startswith("--")}
    if options - {"--run", "--update"}:
        sys.exit(f"notebooks.py: unknown option {sorted(options)[0]}")
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    bad = 0
    for path in paths or sorted(os.path.join(FOLDER, name) for name in os.listdir(FOLDER) if name.endswith(".ipynb")):
        name = os.path.relpath(os.path.abspath(path), ROOT)
        try:
            if options:
                run(path, "--update" in options)
            else:
                check(path)
            print(f"ok {name}", flush=True)
        except Exception as fault:  # of any cell
            print(f"not ok {name}: {fault}", flush=True)
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
