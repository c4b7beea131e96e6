"""Which figure of `cospec plot` fits a result. The scripts plots/*.gp say it in their lines "# result:"."""
from __future__ import annotations

import csv
import io
import os
import re
from typing import TYPE_CHECKING, NamedTuple, Optional

if TYPE_CHECKING:
    from ._run import Result

Rows = "list[dict[str, str]]"


class Drawing(NamedTuple):
    """A figure and the table of a command that it draws."""

    figure: str
    command: str
    file: str
    options: "tuple[str, ...]"  # of cospec plot; COLUMN:* is the first value that fits
    conditions: "tuple[str, ...]"
    columns: "tuple[str, ...]"


class Plan(NamedTuple):
    """The input of `cospec plot`."""

    figure: str
    table: str  # as CSV
    options: "list[str]"


def _text(result: Result, file: str) -> Optional[str]:
    if file in result._tables:
        return result._tables[file]
    path = os.path.join(result.path or "", file)
    if not result.path or not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8", newline="") as stream:
        return stream.read()


def _lacks(condition: str, rows: "list[dict[str, str]]") -> str:
    """The columns or values that the rows lack for a condition; "": none."""
    kind, _, column = condition.partition(" ")
    if " among " in condition:
        column, _, other = condition.partition(" among ")
        known = {row[other] for row in rows}
        return "" if all(row[column] in known for row in rows) else "values of %s among those of %s" % (column, other)
    values = {row[column] for row in rows if row[column]}
    if kind == "known":
        return "" if values else "values in column %s" % column
    if kind == "numbered":
        values = {value for value in values if re.fullmatch(r"\d+", value)}
        return "" if len(values) > 1 else "rows with two or more numbers in column %s" % column
    return "" if len(values) > 1 else "two or more values in column %s" % column


def _missing(drawing: Drawing, rows: "list[dict[str, str]]") -> str:
    absent = [column for column in drawing.columns if rows and column not in rows[0] and column != "series"]
    if absent or not rows:
        return "column %s" % absent[0] if absent else "rows"
    return next(filter(None, (_lacks(condition, rows) for condition in drawing.conditions)), "")


def _filtered(drawing: Drawing, rows: "list[dict[str, str]]", where: "list[str]") -> "tuple[list[str], str]":
    """Options of cospec plot for a table, and what the table lacks."""
    options: "list[str]" = []
    chosen = {filter_.partition(":")[0] for filter_ in where}
    words = list(drawing.options)
    pairs = [(words[i], words[i + 1]) for i in range(0, len(words), 2)]
    filters = where + [value for option, value in pairs if option == "--where" and value.partition(":")[0] not in chosen]
    options += [word for option, value in pairs if option != "--where" for word in (option, value)]
    for filter_ in sorted(filters, key=lambda text: text.endswith(":*")):
        column, _, value = filter_.partition(":")
        if rows and column not in rows[0]:
            return [], "column %s" % column
        values = list(dict.fromkeys(row[column] for row in rows)) if value == "*" else [value]
        parts = [[row for row in rows if row[column] == one] for one in values]
        fitting = [i for i, part in enumerate(parts) if not _missing(drawing, part)] or [0]
        if parts:
            rows, value = parts[fitting[0]], values[fitting[0]]
        options += ["--where", "%s:%s" % (column, value)]
    return options, _missing(drawing, rows)


def command_of(result: Result) -> str:
    """The command whose result it is; of rerun that of the manifest."""
    manifest = _text(result, "manifest.json") if result.command == "rerun" else None
    found = re.search(r'"command": "([\w-]+)"', manifest) if manifest else None
    return found[1] if found else result.command


def plan(result: Result, drawings: "list[Drawing]", figure: Optional[str],
         where: "list[str]") -> "tuple[Optional[Plan], list[str]]":
    """The figure to draw, or None and why each figure of the command does not fit."""
    lacking = []
    command = command_of(result)
    for drawing in sorted(drawings, key=lambda d: -len(d.conditions)):
        if drawing.command != command or figure not in (None, drawing.figure):
            continue
        text = _text(result, drawing.file)
        options, lack = ([], "the table " + drawing.file) if text is None else _filtered(
            drawing, list(csv.DictReader(io.StringIO(text))), where)
        if not lack and text is not None:
            return Plan(drawing.figure, text, options), []
        lacking.append("%s needs %s" % (drawing.figure, lack))
    return None, lacking


def drawn(result: Result, drawings: "list[Drawing]") -> "dict[str, tuple[str, str]]":
    """The pictures that the run itself drew, by their name: (figure, folder)."""
    found: "dict[str, tuple[str, str]]" = {}
    figures = {drawing.figure for drawing in drawings}
    for folder in ["", *sorted(os.listdir(result.path))] if result.path and os.path.isdir(result.path) else []:
        place = os.path.join(result.path or "", folder)
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else []:
            if name.endswith(".svg") and name[:-4] in figures:
                found[folder or name[:-4]] = (name[:-4], place)
    return found
