"""Arguments in memory: arrays of numpy, scipy, pandas and torch, lists, and texts. Each function takes the name
of the argument, which its errors say, with what was given, where, and what to do."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Optional

import numpy as np


def is_of(package: str, value: Any) -> bool:
    return type(value).__module__.split(".")[0] == package


def shown(value: Any) -> str:
    """A short description of a value."""
    if value is None or isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, bytes)):
        return ("the text %r" if isinstance(value, str) else "the bytes %r") % value[:40]
    name = type(value).__name__
    return ("an " if name[:1].lower() in "aeiou" else "a ") + name


def kind_of(array: Any) -> str:
    return "texts" if array.dtype.kind in "US" else str(array.dtype)


def _missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def is_named(values: Any) -> bool:
    """Whether it is {name: value}; scipy's DOK matrices are dicts too."""
    return isinstance(values, Mapping) and not hasattr(values, "toarray")


def listed(name: str, values: Any) -> Any:
    """The items of an iterator; other values as they are."""
    if is_named(values):
        raise TypeError("%s: expected an array, a list or a path, got a dict; give its values" % name)
    if isinstance(values, (set, frozenset)):
        raise TypeError("%s: expected an array, a list or a path, got a set, which has no order; give a list" % name)
    return list(values) if isinstance(values, Iterator) else values


# --- arrays of numbers --------------------------------------------------------------------------------------

def _refuse_masks(name: str, values: Any, depth: int = 3) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("%s: expected values without a mask, got a masked array; fill it, or leave the masked rows out" % name)
    if depth and isinstance(values, (list, tuple)):
        for item in values:
            if not isinstance(item, (int, float, str)):
                _refuse_masks(name, item, depth - 1)


def _odd(values: Any) -> "tuple[str, Any]":
    """The place and the value of the first item that is no number of at most 64 bits; ("", None): there is none."""
    for i, item in enumerate(values):
        if isinstance(item, (list, tuple, np.ndarray)) and np.ndim(np.asarray(item, object)) > 0:
            place, value = _odd(item)
            if place:
                return "[%d]%s" % (i, place), value
        elif not isinstance(item, (int, float, np.number, np.bool_)) or (isinstance(item, int) and not -2**63 <= item < 2**64):
            return "[%d]" % i, item
    return "", None


def _of_objects(name: str, array: Any, values: Any) -> Any:
    """numpy's array of an array of objects that are numbers."""
    place, value = _odd(array.tolist()) if array.ndim else ("", values)
    if not place and array.ndim:
        return array.astype(np.float64)
    if isinstance(value, int) and not isinstance(value, bool):
        raise ValueError("%s: %d at %s does not fit into 64 bits; give a smaller number or a float" % (name, value, place))
    raise TypeError("%s: expected numbers, got %s%s%s" % (
        name, shown(value), " at " + place if place else "", "; leave missing values out" if _missing(value) else ""))


def numpy(name: str, values: Any) -> Any:
    """numpy's or scipy's view of an array, DataFrame, tensor or list."""
    values = listed(name, values)
    if is_of("torch", values):
        return tensor(name, values)
    _refuse_masks(name, values)
    if hasattr(values, "toarray"):
        return values
    if is_of("pandas", values):
        if bool(np.any(np.asarray(values.isna()))):
            raise ValueError("%s: expected numbers, got missing values; leave them out or fill them" % name)
        kinds = {getattr(kind, "kind", "O") for kind in np.atleast_1d(np.asarray(values.dtypes, object))}
        array = values.to_numpy()
        if array.dtype != object:
            return array
        return values.to_numpy(dtype=np.float64) if kinds <= set("biuf") else _of_objects(name, array, values)
    if isinstance(values, (list, tuple)):
        values = [tensor(name, item) if is_of("torch", item) else item for item in values]
    try:
        array = np.asarray(values)
    except ValueError:
        lengths = [len(item) if hasattr(item, "__len__") else 0 for item in values]
        other = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
        raise ValueError("%s: expected rows of one length, got %d items in row 0 and %d in row %d" % (
            name, lengths[0], lengths[other], other)) from None
    return _of_objects(name, array, values) if array.dtype == object else array


def tensor(name: str, values: Any) -> Any:
    values = values.detach()
    if values.device.type != "cpu":
        raise TypeError("%s: expected a tensor on the CPU, got one on %s; use .cpu()" % (name, values.device))
    layout = str(values.layout)
    if layout == "torch.sparse_csr":
        from scipy import sparse
        return sparse.csr_matrix((tensor(name, values.values()), values.col_indices().numpy(),
                                  values.crow_indices().numpy()), tuple(values.shape))
    if layout != "torch.strided":
        raise TypeError("%s: expected a dense or CSR tensor, got %s; use .to_sparse_csr()" % (name, values.layout))
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def real(name: str, values: Any, least: int) -> Any:
    """An array or a sparse matrix of real numbers, of `least` to 2 dimensions."""
    values = numpy(name, values)
    if values.dtype.kind not in "biuf":
        raise TypeError("%s: expected real numbers, got an array of %s" % (name, kind_of(values)))
    if not least <= values.ndim <= 2:
        raise ValueError("%s: expected a matrix (2 dimensions), got an array of %d" % (name, values.ndim))
    if 0 in values.shape:
        raise ValueError("%s: expected a matrix with rows and columns, got one of %s"
                         % (name, " x ".join(map(str, values.shape))))
    return values


def vector(name: str, values: Any) -> Any:
    """An array of numbers, as groups or rows to leave out."""
    array = numpy(name, values)
    if array.dtype.kind not in "biuf":
        raise TypeError("%s: expected numbers, got an array of %s" % (name, kind_of(array)))
    return array[:, 0] if is_of("pandas", values) and array.ndim == 2 and array.shape[1] == 1 else array


def group_numbers(name: str, values: Any, known: "dict[Any, int]") -> Any:
    """Groups as numbers: numbers as they are, other ids by their order of appearance in this and other groups."""
    values = listed(name, values)
    if is_of("pandas", values) and len(getattr(values, "columns", ())) == 1:
        values = values.iloc[:, 0]
    if is_of("torch", values) or getattr(getattr(values, "dtype", None), "kind", "O") in "biufc" or not hasattr(values, "__iter__"):
        return vector(name, values)
    items = values.tolist() if hasattr(values, "tolist") else list(values)
    if all(isinstance(item, (int, float, np.number, np.bool_)) or is_of("torch", item) for item in items):
        return vector(name, values)
    for i, item in enumerate(items):
        if _missing(item):
            raise ValueError("%s: item %d is %s; give each row a group" % (name, i, shown(item)))
        try:
            known.setdefault(item, len(known))
        except TypeError:
            raise TypeError("%s: item %d is %s; expected a number, a text or another hashable id" % (name, i, shown(item))) from None
    return np.array([known[item] for item in items], np.int64)


def native(array: Any) -> "np.ndarray[Any, Any]":
    """An array in C order of a type that the library has."""
    kind = array.dtype
    if kind.kind == "f" and kind.itemsize > 8:
        kind = np.dtype(np.float64)
    result: "np.ndarray[Any, Any]" = np.ascontiguousarray(array, kind.newbyteorder("="))
    return result


# --- texts --------------------------------------------------------------------------------------------------

def _column(name: str, values: Any) -> Any:
    """The texts of a DataFrame of one column, or of its column "text"."""
    if len(values.columns) == 1:
        return values.iloc[:, 0]
    if "text" in values.columns and set(values.columns) <= {"text", "label"}:
        return values["text"]
    return None


def texts(name: str, values: Any) -> "Optional[list[str]]":
    """The texts of a list, tuple, Series, DataFrame of one column or array; None: it holds something else."""
    if is_of("pandas", values) and hasattr(values, "columns"):
        values = _column(name, values)
    if is_of("pandas", values) or isinstance(values, np.ndarray):
        if values.dtype.kind not in "OUST" or (values.ndim != 1 and values.dtype.kind != "U"):
            return None
        if values.ndim != 1:
            raise ValueError("%s: expected texts in one dimension, got an array of %d" % (name, values.ndim))
        values = list(values)
    if not isinstance(values, (list, tuple)) or not any(isinstance(value, (str, bytes)) for value in values):
        return None
    for i, value in enumerate(values):
        if isinstance(value, bytes):
            raise TypeError("%s: item %d is %s; decode it" % (name, i, shown(value)))
        if not isinstance(value, str):
            raise TypeError("%s: item %d is %s, but others are texts; %s" % (
                name, i, shown(value), "leave it out" if _missing(value) else "give texts only"))
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise ValueError("%s: item %d contains U+%04X, half of a surrogate pair and not a character; replace it" % (
                    name, i, ord(value[error.start]))) from None
    return [str(value) for value in values]


def corpus_texts(name: str, values: Any) -> "Optional[list[str]]":
    """The same for a corpus; a list of names of files is a mistake."""
    found = texts(name, values)
    if found and all(len(text) < 1024 and "\0" not in text and os.path.exists(text) for text in found):
        raise ValueError("%s: a list holds the texts themselves, but %s is a file; give one name, or names joined by commas"
                         % (name, found[0]))
    return found


def labels_of(values: Any) -> "Optional[list[Any]]":
    """The labels of a DataFrame with the columns text and label."""
    if is_of("pandas", values) and "label" in getattr(values, "columns", ()):
        found: "list[Any]" = values["label"].tolist()
        return found
    return None


def labels(name: str, values: Any) -> Any:
    """An array of labels."""
    values = listed(name, values)
    if is_of("pandas", values) and len(getattr(values, "columns", ())) > 1:
        raise ValueError("%s: expected one column, got a DataFrame of %d; give one of them" % (name, len(values.columns)))
    found = None if isinstance(values, np.ndarray) and values.dtype.kind == "S" else texts(name, values)
    if found is not None and any("\0" in text for text in found):
        raise ValueError("%s: item %d contains a NUL character" % (name, next(i for i, t in enumerate(found) if "\0" in t)))
    array = np.asarray(found) if found is not None else numpy(name, values)
    if array.dtype.kind not in "biufUS":
        raise TypeError("%s: expected numbers or texts, got an array of %s" % (name, kind_of(array)))
    return array[:, 0] if is_of("pandas", values) and array.ndim == 2 and array.shape[1] == 1 else array


# --- sequences of ids ---------------------------------------------------------------------------------------

def sequences(name: str, values: Any) -> "tuple[Any, Any]":
    """The ids and the offsets of a pair or list of sequences; (array, None) of one array."""
    wanted = "%s: expected the name of a corpus, texts, or sequences of ids, got " % name
    if is_of("pandas", values) and (hasattr(values, "columns") or len(values) and not any(hasattr(item, "__iter__") for item in values)):
        values = numpy(name, values)
    if isinstance(values, np.ndarray) and values.dtype != object or is_of("torch", values):
        array = numpy(name, values)
        if array.dtype.kind not in "biuf" or not array.ndim:
            raise TypeError(wanted + "an array of %s" % (array.dtype if array.ndim else "no dimension"))
        return array, None
    if not hasattr(values, "__iter__") or isinstance(values, (str, bytes)):
        raise TypeError(wanted + shown(values))
    if not len(values):
        raise ValueError(wanted + "nothing: it is empty")
    if isinstance(values, tuple) and len(values) == 2:
        ids, offsets = (numpy("%s[%d]" % (name, i), part) for i, part in enumerate(values))
        offsets = np.ascontiguousarray(offsets, np.int64) if offsets.dtype.kind in "biu" else offsets
    else:
        parts = []
        for i, sequence in enumerate(values):
            if not hasattr(sequence, "__iter__") or isinstance(sequence, (str, bytes)):
                raise TypeError("%s: item %d is %s; expected texts or sequences of ids, such as [[3, 1, 2]]" % (
                    name, i, shown(sequence)))
            parts.append(numpy("%s[%d]" % (name, i), sequence))
            if parts[-1].ndim != 1:
                raise ValueError("%s: item %d has %d dimensions; a sequence of ids has one" % (name, i, parts[-1].ndim))
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        parts = [part for part in parts if len(part)] or parts
        for part in parts:
            if part.dtype.kind not in "biuf":
                raise TypeError("%s: expected integers in a sequence of ids, got %s" % (name, kind_of(part)))
        ids = np.concatenate(parts)
    ids = native(ids)
    if ids.dtype.kind not in "biuf" or ids.ndim != 1 or offsets.ndim != 1 or offsets.dtype != np.int64 or len(offsets) < 2:
        raise ValueError("%s: a pair is (ids, offsets), integers in one dimension, with offsets from 0 to the number of ids; "
                         "give sequences as a list" % name)
    return ids, offsets
