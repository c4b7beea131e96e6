"""Reads the files that a run leaves."""
from __future__ import annotations

import json
import os
import re
from typing import Any

import numpy as np

INDEX = "matrix.index.json"  # lists the shards of a matrix
KINDS = ("matrix.npz", "rows.npz", "row_labels.npz", "corpus.npz")
SHARD = re.compile(r"^(matrix|rows|row_labels|corpus)-\d{5}-of-\d{5}\.npz$")


def read(folder: "str | os.PathLike[str]") -> "dict[str, Any]":
    """
    Read the files of a run with -o.

    Parameters
    ----------
    folder : path
        The DIR of `-o DIR`, or `result.path`.

    Returns
    -------
    dict
        By the name of the file: a dict of JSON, a DataFrame of CSV (a structured array without pandas), an
        array of NPY, a scipy matrix or a dict of arrays of NPZ. The shards of a matrix are joined, as "matrix.npz",
        "rows.npz" and so on. Other files are left out.

    Raises
    ------
    OSError
        If there is no such folder, or a file cannot be read.
    ValueError
        If a shard of a matrix has another size than matrix.index.json says, or the shards together another number of rows.
    """
    answer: "dict[str, Any]" = {}
    for name in names(folder):
        path = os.path.join(folder, name)
        if name.endswith(".json"):
            with open(path, encoding="utf-8") as file:
                answer[name] = json.load(file)
        elif name.endswith(".csv"):
            answer[name] = _table(path)
        elif name.endswith((".npy", ".npz")):
            answer[name] = array(path)
    return answer


def names(folder: "str | os.PathLike[str]") -> "list[str]":
    """The files of a folder, with KIND.npz in place of the shards of a kind."""
    found = set(os.listdir(folder))
    if INDEX in found:
        found = {SHARD.sub(r"\1.npz", name) for name in found}
    return sorted(found)


def array(path: str) -> Any:
    """An NPY, mapped into memory; an NPZ as a sparse matrix where it is one, else a dict of arrays; the lines of a text."""
    folder, name = os.path.split(path)
    if name in KINDS and not os.path.exists(path) and os.path.exists(os.path.join(folder, INDEX)):
        return _joined(folder, name[:-4])
    if path.endswith(".txt"):
        with open(path, encoding="utf-8", newline="\n") as file:
            return file.read().split("\n")[:-1]
    if path.endswith(".npy"):
        return np.load(path, mmap_mode="r")
    with np.load(path) as archive:
        if "indptr" not in archive:
            return {name: archive[name] for name in archive.files}
        form = "gram" if "gram" in archive and archive["gram"] else "counts"
    from scipy import sparse
    matrix: Any = sparse.load_npz(path)
    matrix.form = form
    return matrix


def _joined(folder: str, kind: str) -> Any:
    """The shards of a kind as one array."""
    with open(os.path.join(folder, INDEX), encoding="utf-8") as file:
        index = json.load(file)
    parts: "dict[str, list[Any]]" = {}
    for shard in index["corpus" if kind == "corpus" else "shards"]:
        listed = shard["files"][kind]
        path = os.path.join(folder, listed["path"])
        if os.path.getsize(path) != listed["bytes"]:
            raise ValueError("%s: has %d bytes, but %s says %d; copy the whole folder again"
                             % (path, os.path.getsize(path), INDEX, listed["bytes"]))
        with np.load(path) as archive:
            for name in archive.files:
                parts.setdefault(name, []).append(archive[name])
    for name in ("indptr", "doc_ptr"):
        if name in parts:
            parts[name] = [np.concatenate(([0], np.cumsum(np.concatenate([np.diff(part) for part in parts[name]]))))]
    arrays: "dict[str, Any]" = {name: np.concatenate(part) for name, part in parts.items()
                                if name not in ("format", "shape", "gram")}
    rows = len(arrays["indptr"]) - 1 if "indptr" in arrays else len(arrays["key"]) if "key" in arrays else index["rows"]
    if rows != index["rows"]:
        raise ValueError("%s: the listed shards of %s have %d rows, but the matrix %d; copy the whole folder again"
                         % (os.path.join(folder, INDEX), kind, rows, index["rows"]))
    if "indptr" not in arrays:
        return arrays
    from scipy import sparse
    matrix: Any = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]),
                                    shape=(index["rows"], index["cols" if kind == "matrix" else "labels"]))
    matrix.form = "gram" if index["gram"] and kind == "matrix" else "counts"
    return matrix


def _table(path: str) -> Any:
    try:
        import pandas
    except ImportError:
        return np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    return pandas.read_csv(path)
