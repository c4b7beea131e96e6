"""Functions of arrays: they run a command of the library in this process, without copying the arrays.

On the command line "memory:NAME" stands for an array, so that options, defaults and errors are those of the
program. The call runs on a thread of its own: Ctrl-C reaches Python at once, which then sets the library's
interrupt flag, and that ends the call.
"""
from __future__ import annotations

import ctypes
import inspect
import json
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Mapping
from typing import Any, Callable, Optional

import numpy as np

from ._run import CospecError, CospecWarning, Progress, Result, words_of

PATIENCE = 1.5  # seconds that an interrupted call has to end
_NOTE = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
_ROWS = {"groups": "numbers", "drop_rows": "numbers"}
# Parameters that take arrays, and what these are.
_TAKES: "dict[str, dict[str, str]]" = {
    "toy": {},
    "svd": {"matrix": "matrix"},
    "connectivity": {"files": "matrix", **_ROWS},
    "rank": {"files": "rows", **_ROWS},
    "similarity": {"files": "rows", "with_": "rows", "groups": "numbers"},
    "cooc": {"corpus": "corpus"},
    "probe": {"train_or_model": "rows", "test_or_train": "rows", "labels": "labels", "test_labels": "labels",
              "groups": "numbers", "test_groups": "numbers"},
}
_FILES = ("output", "config", "resume", "force", "mpi")  # options that need files
_one_call = threading.Lock()
_loaded: Any = None
_left: "list[Any]" = []  # what a call that was left behind may still read


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p), ("dimensions", ctypes.c_int),
                ("shape", ctypes.c_int64 * 2), ("stride", ctypes.c_int64 * 2),
                ("data", ctypes.c_void_p)]


def library() -> Any:
    """The shared object, loaded once."""
    global _loaded
    if _loaded is None:
        path = os.environ.get("COSPEC_PYTHON_LIBRARY") or os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "lib", "cospec-python.so")
        lib = ctypes.CDLL(path)
        pointer, text, size, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int
        for name, result, arguments in (
                ("version", text, []), ("begin", pointer, [text]),
                ("array", None, [pointer, text, text, size, number, pointer, pointer]),
                ("matrix", None, [pointer, text, size, size, pointer, pointer, pointer, number]),
                ("ids", None, [pointer, text, text, size, pointer, size, pointer]),
                ("texts", None, [pointer, text, size, pointer, pointer]),
                ("run", number, [pointer, number, pointer, _NOTE, _REPORT]),
                ("reason", text, []), ("json", text, [pointer]), ("tables", text, [pointer]), ("arrays", number, [pointer]),
                ("result", ctypes.POINTER(_Array), [pointer, number]), ("words", size, [pointer, pointer]),
                ("free", None, [pointer]), ("interrupt", None, [number]), ("busy", number, [])):
            function = getattr(lib, "cospec_" + name)
            function.restype, function.argtypes = result, arguments
        _loaded = lib
    return _loaded


class _Memory:
    """What a call returned, freed when no array looks at it any more."""

    def __init__(self, lib: Any, call: int, held: Any) -> None:
        weakref.finalize(self, lambda held: lib.cospec_free(call), held)

    def view(self, array: Any) -> "np.ndarray[Any, Any]":
        kind: "np.dtype[Any]" = np.dtype(array.type.decode())
        shape = tuple(array.shape[:array.dimensions])
        if 0 in shape:
            return np.empty(shape, kind)
        strides = tuple(s * kind.itemsize for s in array.stride[:array.dimensions])
        size = sum((n - 1) * s for n, s in zip(shape, strides)) + kind.itemsize
        block: Any = (ctypes.c_char * size).from_address(array.data)
        block.memory = self
        array_view: "np.ndarray[Any, Any]" = np.ndarray(shape, kind, block, 0, strides)
        return array_view


# --- what a run says ----------------------------------------------------------------------------------------

def _reporter(progress: Progress) -> Any:
    if progress is False:
        return _REPORT()
    if callable(progress):
        told = progress
        return _REPORT(lambda stage, done, total: (told(stage.decode(), done, total), None)[1])
    if sys.stderr is None or not sys.stderr.isatty():
        return _REPORT()

    def show(stage: bytes, done: int, total: int) -> None:
        part = " %d / %d" % (done, total) if total > 0 else ""
        sys.stderr.write("\r\033[K" + (stage.decode() + part if done < total or not total else ""))
        sys.stderr.flush()

    return _REPORT(show)


def _noter(progress: Progress) -> Any:
    if progress is False or sys.stderr is None:
        return _NOTE()

    def note(text: bytes) -> None:
        sys.stderr.write(("\r\033[K" if sys.stderr.isatty() else "") + text.decode(errors="replace") + "\n")

    return _NOTE(note)


# --- arguments ----------------------------------------------------------------------------------------------

def _numpy(name: str, values: Any) -> Any:
    """numpy's or scipy's view of an array, DataFrame or tensor."""
    if type(values).__module__.split(".")[0] == "torch":
        return _tensor(name, values)
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("%s takes no masked array: fill it or leave the masked rows out" % name)
    if hasattr(values, "toarray"):
        return values
    if type(values).__module__.split(".")[0] == "pandas":
        if bool(np.any(np.asarray(values.isna()))):
            raise ValueError("%s takes no missing values" % name)
        array = values.to_numpy()
        kinds = {getattr(kind, "kind", "O") for kind in np.atleast_1d(np.asarray(values.dtypes, object))}
        return values.to_numpy(dtype=np.float64) if array.dtype == object and kinds <= set("biuf") else array
    return np.asarray(values)


def _tensor(name: str, values: Any) -> Any:
    values = values.detach()
    if values.device.type != "cpu":
        raise TypeError("%s takes tensors on the CPU, not on %s: use .cpu()" % (name, values.device))
    layout = str(values.layout)
    if layout == "torch.sparse_csr":
        from scipy import sparse
        return sparse.csr_matrix((_tensor(name, values.values()), values.col_indices().numpy(),
                                  values.crow_indices().numpy()), tuple(values.shape))
    if layout != "torch.strided":
        raise TypeError("%s takes dense or CSR tensors, not %s: use .to_sparse_csr()" % (name, values.layout))
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def _real(name: str, values: Any, least: int) -> Any:
    """An array or a sparse matrix of real numbers, of `least` to 2 dimensions."""
    values = _numpy(name, values)
    if values.dtype.kind not in "biuf":
        raise TypeError("%s takes real numbers, not an array of %s" % (name, values.dtype))
    if not least <= values.ndim <= 2:
        raise ValueError("%s takes a matrix, not an array of %d dimensions" % (name, values.ndim))
    if 0 in values.shape:
        raise ValueError("%s takes a matrix with rows and columns, not one of %s"
                         % (name, " x ".join(map(str, values.shape))))
    return values


def _native(array: Any) -> "np.ndarray[Any, Any]":
    """An array in C order of a type that the library has."""
    kind = array.dtype
    if kind.kind == "f" and kind.itemsize > 8:
        kind = np.dtype(np.float64)
    result: "np.ndarray[Any, Any]" = np.ascontiguousarray(array, kind.newbyteorder("="))
    return result


def _list_of_texts(values: Any) -> "Optional[list[str]]":
    """The texts of a list, Series or array that holds nothing else; None: it holds something else."""
    if type(values).__module__.split(".")[0] in ("pandas", "numpy") and values.dtype.kind not in "OUT":
        return None
    if isinstance(values, (str, bytes, tuple, Mapping)) or not hasattr(values, "__iter__") or not len(values):
        return None
    texts = list(values)
    return [str(text) for text in texts] if all(isinstance(text, str) for text in texts) else None


def _pointer(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)


class _Call:
    """A call of the library: its arguments in memory, and all that they need to stay."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lib = library()
        self.held: "list[Any]" = []
        self.gives: "list[tuple[str, tuple[Any, ...]]]" = []  # functions of the library, without the call
        self.form = "counts"

    def _word(self, label: str) -> str:
        return "memory:%s" % label

    def give(self, kind: str, label: str, values: Any, gram: Optional[bool]) -> str:
        """The word that stands for an argument."""
        function: "Callable[..., None]" = {
            "matrix": lambda: self._matrix(label, values, gram), "rows": lambda: self._rows(label, values),
            "numbers": lambda: self._plain(label, values), "labels": lambda: self._labels(label, values),
            "corpus": lambda: self._corpus(label, values)}[kind]
        function()
        return self._word(label)

    def _add(self, function: str, label: str, *arguments: Any) -> None:
        self.gives.append((function, (self._word(label).encode(), *arguments)))

    def _array(self, label: str, array: Any) -> None:
        array = _native(array)
        shape = np.array(array.shape, np.int64)
        self.held += [array, shape]
        kind = array.dtype.kind
        self._add("array", label, (kind if kind in "US" else array.dtype.str[1:]).encode(), array.itemsize,
                  array.ndim, _pointer(shape), _pointer(array))

    def _rows(self, label: str, values: Any) -> None:
        rows = _real(self.name, values, 2)
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
        self._array(label, rows)

    def _plain(self, label: str, values: Any) -> None:
        array = _numpy(label, values)
        if array.dtype.kind not in "biuf":
            raise TypeError("%s takes numbers, not an array of %s" % (label, array.dtype))
        self._array(label, array)

    def _labels(self, label: str, values: Any) -> None:
        texts = _list_of_texts(values)
        array = np.asarray(texts) if texts is not None else _numpy(label, values)
        if array.dtype.kind not in "biufUS":
            raise TypeError("%s are numbers or texts, not an array of %s" % (label, array.dtype))
        if texts is not None and any("\0" in text for text in texts):
            raise ValueError("%s contain a NUL character" % label)
        self._array(label, array)

    def _matrix(self, label: str, values: Any, gram: Optional[bool]) -> None:
        from scipy import sparse
        form = getattr(values, "form", None)
        if gram is False and form == "gram":
            raise ValueError("the matrix is a Gram form (context unique): gram=False does not fit it")
        matrix = sparse.csr_matrix(_real(self.name, values, 1))
        matrix.check_format()
        if np.any(np.diff(matrix.indptr) < 0):
            raise ValueError("indptr decreases")
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        arrays = [np.ascontiguousarray(matrix.indptr, np.int64), np.ascontiguousarray(matrix.indices, np.int32),
                  np.ascontiguousarray(matrix.data, np.float64)]
        self.held += arrays
        self._add("matrix", label, *matrix.shape, *map(_pointer, arrays),
                  int(form == "gram" if gram is None else gram))

    def _corpus(self, label: str, values: Any) -> None:
        texts = _list_of_texts(values)
        if texts is not None:
            return self._texts(label, texts)
        ids = values if isinstance(values, tuple) else None
        if ids is None and (isinstance(values, np.ndarray) or not hasattr(values, "__iter__") or not len(values)):
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
                raise ValueError("cooc takes the name of a corpus, texts, or sequences of ids, not %r" % (values,))
            return self._array(label, _numpy(self.name, values))
        if ids is None:
            parts = [_numpy(self.name, sequence) for sequence in values]
            ids = (np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])]))
        if len(ids) != 2:
            raise ValueError("a pair of ids and offsets was expected, not %d arrays" % len(ids))
        tokens, offsets = _native(_numpy(self.name, ids[0])), np.ascontiguousarray(_numpy(self.name, ids[1]), np.int64)
        if tokens.dtype.kind not in "biuf" or tokens.ndim != 1 or offsets.ndim != 1 or len(offsets) < 2:
            raise ValueError("token ids are integers in one dimension, with offsets from 0 to their number")
        self.held += [tokens, offsets]
        self._add("ids", label, tokens.dtype.str[1:].encode(), len(tokens), _pointer(tokens), len(offsets) - 1,
                  _pointer(offsets))

    def _texts(self, label: str, texts: "list[str]") -> None:
        """Texts where Python has them in UTF-8."""
        utf8 = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
        utf8.restype, utf8.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.POINTER(ctypes.c_ssize_t)]
        place, size = np.empty(len(texts), np.uintp), np.empty(len(texts), np.int64)
        length = ctypes.c_ssize_t()
        for i, text in enumerate(texts):
            place[i] = utf8(text, ctypes.byref(length))
            size[i] = length.value
        self.held += [texts, place, size]
        self._add("texts", label, len(texts), _pointer(place), _pointer(size))

    # --- the run --------------------------------------------------------------------------------------------

    def _work(self, words: "list[str]", note: Any, report: Any) -> "tuple[int, int, str]":
        """The call, its exit code and reason; on the thread that calls the library."""
        lib = self.lib
        call = lib.cospec_begin(self.name.encode())
        if not call:
            return 0, 3, "out of memory"
        for function, arguments in self.gives:
            getattr(lib, "cospec_" + function)(call, *arguments)
        encoded = [os.fsencode(word) for word in words]
        argv = (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
        code = lib.cospec_run(call, len(encoded), argv, note, report)
        return call, code, lib.cospec_reason().decode(errors="replace")

    def run(self, words: "list[str]", progress: Progress) -> Result:
        lib, name = self.lib, self.name
        note, report = _noter(progress), _reporter(progress)
        answer: "list[tuple[int, int, str]]" = []
        done = threading.Event()

        def work() -> None:
            try:
                with _one_call:
                    lib.cospec_interrupt(0)
                    if not lib.cospec_busy():
                        _left.clear()
                    answer.append(self._work(words, note, report))
            finally:
                done.set()

        threading.Thread(target=work, name="cospec " + name, daemon=True).start()
        try:
            done.wait()
        except BaseException:
            lib.cospec_interrupt(1)
            if not done.wait(PATIENCE) or lib.cospec_busy():
                _left.append((self, note, report))  # it is left behind, with what it reads
            elif answer and answer[0][0]:
                lib.cospec_free(answer[0][0])
            raise
        call, code, reason = answer[0]
        if code not in (0, 4) or not lib.cospec_json(call):
            if call:
                lib.cospec_free(call)
            raise CospecError(reason, code)
        if code == 4:
            warnings.warn(reason, CospecWarning, stacklevel=5)
        return self._result(call)

    def _result(self, call: int) -> Result:
        lib = self.lib
        memory = _Memory(lib, call, self.held)
        record: "dict[str, Any]" = json.loads(lib.cospec_json(call))
        arrays: "dict[str, Any]" = {}
        for i in range(lib.cospec_arrays(call)):
            array = lib.cospec_result(call, i).contents
            arrays[array.name.decode()] = memory.view(array)
        if "indptr" in arrays:
            from scipy import sparse
            parts = [arrays.pop(key) for key in ("data", "indices", "indptr")]
            matrix: Any = sparse.csr_matrix(tuple(parts), (record["rows"], record["cols"]), copy=False)
            matrix.form = self.form
            arrays["matrix"] = matrix
            words = ctypes.POINTER(ctypes.c_char_p)()
            count = lib.cospec_words(call, ctypes.byref(words))
            if count:
                arrays["vocab"] = [words[i].decode() for i in range(count)]
        tables = json.loads(lib.cospec_tables(call) or b"{}")
        return Result(self.name, record, arrays=arrays, tables=tables)


# --- from keywords to a call --------------------------------------------------------------------------------

def _is_name(kind: str, value: Any) -> bool:
    """A path or name; of rows and matrices also several, where other parameters have texts."""
    if isinstance(value, Mapping):
        return all(_is_name(kind, item) for item in value.values())
    if isinstance(value, (list, tuple)) and kind in ("rows", "matrix"):
        return len(value) > 0 and all(isinstance(item, (str, os.PathLike)) for item in value)
    return value is None or isinstance(value, (str, bytes, os.PathLike))


def takes(name: str, given: "dict[str, Any]") -> bool:
    """Whether the library in this process is to run the command: for arguments in memory, and for toy."""
    if name not in _TAKES:
        return False
    if name == "toy":
        return not any(given.get(key) for key in _FILES)
    return not all(_is_name(kind, value) for key, kind in _TAKES[name].items() if key in given
                   for value in (given[key] if key == "files" else (given[key],)))


def call(name: str, signature: inspect.Signature, given: "dict[str, Any]", letters: "tuple[str, ...]",
         repeated: "tuple[str, ...]", progress: Progress) -> Result:
    """Runs the command `name` in this process."""
    for key in _FILES:
        if given.get(key):
            raise TypeError("%s of an array does not take %s=; store the array and give its path" % (name, key))
    run = _Call(name)
    run.form = "gram" if name == "cooc" and given.get("context") == "unique" else "counts"
    gram = given.pop("gram", None)
    count = 0

    def replace(kind: str, label: str, value: Any) -> Any:
        nonlocal count
        if isinstance(value, Mapping):
            return {key: replace(kind, label, item) for key, item in value.items()}
        if _is_name(kind, value):
            return value
        if label in ("groups", "test_groups", "drop_rows", "labels", "test_labels"):
            return run.give(kind, label.replace("_", "-"), value, gram)
        count += 1
        return run.give(kind, str(count), value, gram)

    for key, kind in _TAKES[name].items():
        if key not in given:
            continue
        if name == "connectivity" and key == "files" and given.get("pairs") is not None:
            kind = "rows"
        value = given[key]
        many = key == "files" or (key == "with_" and isinstance(value, (list, tuple)))
        given[key] = tuple(replace(kind, key, item) for item in value) if many else replace(kind, key, value)
    words = words_of(signature, given, letters, repeated) + ([] if progress else ["--quiet"])
    for word in words:
        if "\0" in word:
            raise ValueError("a name or value contains a NUL character: %r" % word)
    return run.run(words, progress)


# --- a function that no command has -------------------------------------------------------------------------

def dimension(rows: Any, *, discard: float = 0.1, sample: int = 10000, blocks: int = 1, groups: Any = None,
              threads: Optional[int] = None, progress: Progress = True) -> Result:
    """
    Compute two-NN intrinsic dimension, mean cosine and isotropy of the rows of an array.

    The measures of `cospec similarity FILE --dimension`.

    Parameters
    ----------
    rows : array, sparse matrix, DataFrame or tensor of shape (n, d), or a path
        Row i is input i.
    discard : float, default 0.1
        Share of the largest ratios that the two-NN fit leaves out.
    sample : int, default 10000
        Number of evenly spaced rows for the two-NN dimension; time grows with its square.
    blocks : int, default 1
        Blocks of the delete-block jackknife; 1: no standard errors.
    groups : array of n integers, or a path, optional
        Group of each row: blocks of the jackknife hold whole groups.
    threads : int, optional
        Number of threads; None: OMP_NUM_THREADS, else all cores.
    progress : bool or callable, default True
        Show notes and progress on standard error; a callable gets (stage, done, total).

    Returns
    -------
    Result
        `intrinsic_dimension`, `mean_cosine` and `partition_isotropy`, all without unit.

    Raises
    ------
    CospecError
        For values that are not finite, or fewer than three distinct rows.

    See Also
    --------
    rank : Effective ranks of the same rows.

    References
    ----------
    Facco, d'Errico, Rodriguez and Laio (2017), Estimating the intrinsic dimension of datasets by a minimal
    neighborhood information, Scientific Reports 7. Mu and Viswanath (2018), All-but-the-Top, ICLR.
    """
    from . import _commands
    return _commands.similarity(rows, dimension=True, discard=discard, sample=sample, blocks=blocks, groups=groups,
                                threads=threads, progress=progress)
