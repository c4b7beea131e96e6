"""Reads the files that a run leaves."""
from __future__ import annotations

import json
import os
from typing import Any

import numpy as np


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
        array of NPY, a scipy matrix or a dict of arrays of NPZ. Other files are left out.

    Raises
    ------
    OSError
        If there is no such folder, or a file cannot be read.
    """
    answer: "dict[str, Any]" = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".json"):
            with open(path, encoding="utf-8") as file:
                answer[name] = json.load(file)
        elif name.endswith(".csv"):
            answer[name] = _table(path)
        elif name.endswith((".npy", ".npz")):
            answer[name] = array(path)
    return answer


def array(path: str) -> Any:
    """An NPY, mapped into memory; an NPZ as a sparse matrix where it is one, else a dict of arrays; the lines of a text."""
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


def _table(path: str) -> Any:
    try:
        import pandas
    except ImportError:
        return np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    return pandas.read_csv(path)
