"""Functions of arrays: they run a command of the library in this process, without copying the arrays.

On the command line "memory:NAME" denotes an array, so that options, defaults and errors are those of the
program. The call runs on a separate thread: Ctrl-C reaches Python at once, which then sets the library's
interrupt flag, and that ends the call.
"""
from __future__ import annotations

import ctypes
import inspect
import json
import os
import re
import sys
import threading
import warnings
import weakref
from typing import Any, Callable, Optional

import numpy as np

from ._inputs import corpus_texts, group_numbers, is_named, labels, listed, native, real, sequences, vector
from ._run import CospecError, CospecWarning, Progress, Result, check_words, words_of
from ._words import Options, in_python

PATIENCE = 1.5  # seconds that an interrupted call has to end
_NOTE = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
_ROWS = {"groups": "groups", "drop_rows": "numbers"}
# Parameters that take arrays, and what these are.
TAKES: "dict[str, dict[str, str]]" = {
    "toy": {},
    "svd": {"matrix": "matrix"},
    "connectivity": {"files": "matrix", **_ROWS},
    "rank": {"files": "rows", **_ROWS},
    "similarity": {"files": "rows", "with_": "rows", "groups": "groups"},
    "cooc": {"corpus": "corpus"},
    "probe": {"train_or_model": "rows", "test_or_train": "rows", "labels": "labels", "test_labels": "labels",
              "groups": "groups", "test_groups": "groups"},
}
FILES = ("output", "config", "resume", "force", "mpi")  # options that need files
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
    """The result of a call, freed when no array refers to it any more."""

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

def _reporter(progress: Progress, stop: "Callable[[BaseException], None]") -> Any:
    """The library's callback; an exception of the caller's function goes to stop."""
    if progress is False:
        return _REPORT()
    if callable(progress):
        receive = progress
        failed: "list[BaseException]" = []

        def pass_on(stage: bytes, done: int, total: int) -> None:
            try:
                if not failed:
                    receive(stage.decode(), done, total)
            except BaseException as error:
                failed.append(error)
                stop(error)

        return _REPORT(pass_on)
    if sys.stderr is None or not sys.stderr.isatty():
        return _REPORT()

    def show(stage: bytes, done: int, total: int) -> None:
        part = " %d / %d" % (done, total) if total > 0 else ""
        sys.stderr.write("\r\033[K" + (stage.decode() + part if done < total or not total else ""))
        sys.stderr.flush()

    return _REPORT(show)


def _noter(progress: Progress, said: "Callable[[str], str]") -> Any:
    if progress is False or sys.stderr is None:
        return _NOTE()

    def note(text: bytes) -> None:
        sys.stderr.write(("\r\033[K" if sys.stderr.isatty() else "") + said(text.decode(errors="replace")) + "\n")

    return _NOTE(note)


# --- arguments ----------------------------------------------------------------------------------------------

def _pointer(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)


class _Call:
    """A call of the library: its arguments in memory, and all that they need to stay."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lib = library()
        self.held: "list[Any]" = []
        self.gives: "list[tuple[str, tuple[Any, ...]]]" = []  # functions of the library, without the call
        self.groups: "dict[Any, int]" = {}  # the numbers of groups that are no numbers
        self.form = "counts"
        self.labels: "list[str]" = []  # of the arguments, as their words have them
        self.options: Options = {}

    def give(self, kind: str, label: str, values: Any, gram: Optional[bool]) -> str:
        """The word that stands for an argument; label: its name."""
        function: "Callable[..., None]" = {
            "matrix": lambda: self._matrix(label, values, gram), "rows": lambda: self._rows(label, values),
            "numbers": lambda: self._array(label, vector(label, values)),
            "groups": lambda: self._array(label, group_numbers(label, values, self.groups)),
            "labels": lambda: self._array(label, labels(label, values)),
            "corpus": lambda: self._corpus(label, values)}[kind]
        function()
        self.labels.append(label)
        return "memory:" + label

    def said(self, text: str) -> str:
        """A text of the library as Python says it."""
        return in_python(self._named(text), self.options)

    def _named(self, text: str) -> str:
        for label in self.labels:
            text = text.replace("memory:" + label, label)
        return text

    def _add(self, function: str, label: str, *arguments: Any) -> None:
        self.gives.append((function, (("memory:" + label).encode(), *arguments)))

    def _array(self, label: str, array: Any) -> None:
        array = native(array)
        shape = np.array(array.shape, np.int64)
        self.held += [array, shape]
        kind = array.dtype.kind
        self._add("array", label, (kind if kind in "US" else array.dtype.str[1:]).encode(), array.itemsize,
                  array.ndim, _pointer(shape), _pointer(array))

    def _rows(self, label: str, values: Any) -> None:
        rows = real(label, values, 2)
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
        self._array(label, rows)

    def _matrix(self, label: str, values: Any, gram: Optional[bool]) -> None:
        from scipy import sparse
        form = getattr(values, "form", None)
        if gram is False and form == "gram":
            raise ValueError("%s: the matrix is a Gram form (context unique): gram=False does not fit it" % label)
        values = real(label, values, 1)
        values = values if hasattr(values, "toarray") else np.asarray(values, np.float64)
        values = values if values.ndim == 2 else values.reshape(1, -1)
        if isinstance(values, np.ndarray) and np.count_nonzero(values) == values.size:
            rows, cols = values.shape  # in C order the values are those of CSR
            matrix = sparse.csr_matrix((np.ascontiguousarray(values).reshape(-1), np.tile(np.arange(cols, dtype=np.int32), rows),
                                        np.arange(0, values.size + 1, cols, dtype=np.int64)), values.shape)
        else:
            matrix = sparse.csr_matrix(values)
        try:
            matrix.check_format()
        except ValueError as error:
            raise ValueError("%s: not a valid sparse matrix: %s" % (label, error)) from None
        if np.any(np.diff(matrix.indptr) < 0):
            raise ValueError("%s: not a valid sparse matrix: indptr decreases" % label)
        if matrix.shape[1] > 2**31 - 1:
            raise ValueError("%s: expected at most %d columns, got %d" % (label, 2**31 - 1, matrix.shape[1]))
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        arrays = [np.ascontiguousarray(matrix.indptr, np.int64), np.ascontiguousarray(matrix.indices, np.int32),
                  np.ascontiguousarray(matrix.data, np.float64)]
        self.held += arrays
        self._add("matrix", label, *matrix.shape, *map(_pointer, arrays),
                  int(form == "gram" if gram is None else gram))

    def _corpus(self, label: str, values: Any) -> None:
        values = listed(label, values)
        texts = corpus_texts(label, values)
        if texts is not None:
            return self._texts(label, texts)
        tokens, offsets = sequences(label, values)
        if offsets is None:
            return self._array(label, tokens)
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

    def _work(self, words: "list[bytes]", note: Any, report: Any) -> "tuple[int, int, str]":
        """The call, its exit code and reason; on the thread that calls the library."""
        lib = self.lib
        call = lib.cospec_begin(self.name.encode())
        if not call:
            return 0, 3, "out of memory"
        try:
            for function, arguments in self.gives:
                getattr(lib, "cospec_" + function)(call, *arguments)
            argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
            code = lib.cospec_run(call, len(words), argv, note, report)
        except BaseException:
            lib.cospec_free(call)
            raise
        return call, code, lib.cospec_reason().decode(errors="replace")

    def run(self, words: "list[str]", progress: Progress) -> Result:
        lib, name = self.lib, self.name
        failed: "list[BaseException]" = []  # in the caller's function or on the other thread
        woken, done, running, ended = (threading.Event() for _ in range(4))

        def end() -> None:
            """Interrupts the call if it runs, and not that of another thread; it does not begin any more."""
            ended.set()
            if running.is_set():
                lib.cospec_interrupt(1)

        def stop(error: BaseException) -> None:
            failed.append(error)
            end()
            woken.set()

        note, report = _noter(progress, self.said), _reporter(progress, stop)
        encoded = [os.fsencode(word) for word in words]
        answer: "list[tuple[int, int, str]]" = []

        def work() -> None:
            try:
                with _one_call:
                    lib.cospec_interrupt(0)
                    running.set()
                    if not lib.cospec_busy():
                        _left.clear()
                    try:
                        if not ended.is_set():
                            answer.append(self._work(encoded, note, report))
                    finally:
                        running.clear()
            except BaseException as error:
                failed.append(error)
            finally:
                done.set()
                woken.set()

        if callable(progress):
            progress(name, 0, 1)
        try:
            threading.Thread(target=work, name="cospec " + name, daemon=True).start()
            while not woken.wait(0.2):  # a signal that another thread receives wakes nobody, but is handled here
                pass
            if failed:
                raise failed[0]
        except BaseException:
            end()
            if not done.wait(PATIENCE) or lib.cospec_busy():
                _left.append((self, note, report))  # it is left behind, with what it reads
            elif answer and answer[0][0]:
                lib.cospec_free(answer[0][0])
            raise
        call, code, reason = answer[0]
        if code not in (0, 4) or not lib.cospec_json(call):
            if call:
                lib.cospec_free(call)
            raise CospecError(self.said(reason), code)
        result = self._result(call)
        if callable(progress):
            progress(name, 1, 1)
        if code == 4:
            warnings.warn(self.said(reason), CospecWarning, stacklevel=5)
        return result

    def _result(self, call: int) -> Result:
        lib = self.lib
        memory = _Memory(lib, call, self.held)
        record: "dict[str, Any]" = json.loads(self._named(lib.cospec_json(call).decode()))
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
        tables = json.loads(self._named((lib.cospec_tables(call) or b"{}").decode()))
        return Result(self.name, record, arrays=arrays, tables=tables)


# --- from keywords to a call --------------------------------------------------------------------------------

def _is_name(kind: str, value: Any) -> bool:
    """A path or name; of rows and matrices also several, where other parameters have texts."""
    if is_named(value):
        return kind in ("rows", "matrix") and all(_is_name(kind, item) for item in value.values())
    if isinstance(value, (list, tuple)) and kind in ("rows", "matrix"):
        return len(value) > 0 and all(isinstance(item, (str, os.PathLike)) for item in value)
    return value is None or isinstance(value, (str, bytes, os.PathLike))


def takes(name: str, given: "dict[str, Any]") -> bool:
    """Whether the library in this process is to run the command: for arguments in memory, and for toy."""
    if name not in TAKES:
        return False
    if name == "toy":
        return not any(given.get(key) for key in FILES)
    return not all(_is_name(kind, value) for key, kind in TAKES[name].items() if key in given
                   for value in (given[key] if key == "files" else (given[key],)))


def call(name: str, signature: inspect.Signature, given: "dict[str, Any]", letters: "tuple[str, ...]",
         repeated: "tuple[str, ...]", progress: Progress, options: Options, only: Optional[str] = None) -> Result:
    """Runs the command `name` in this process; only: what its only file is called."""
    for key in FILES:
        if given.get(key):
            raise TypeError("%s of an array does not take %s=; store the array and give its path" % (name, key))
    run = _Call(name)
    run.options = options
    run.form = "gram" if name == "cooc" and given.get("context") == "unique" else "counts"
    gram = given.pop("gram", None)

    def replace(kind: str, label: str, value: Any, named: bool = False) -> Any:
        if named and is_named(value):
            return {key: replace(kind, key if re.fullmatch(r"[\w.-]+", str(key)) and key not in given else
                                 "%s[%d]" % (label, i), item) for i, (key, item) in enumerate(value.items())}
        return value if _is_name(kind, value) else run.give(kind, label, value, gram)

    for key, kind in TAKES[name].items():
        if key not in given:
            continue
        if name == "connectivity" and key == "files" and given.get("pairs") is not None:
            kind = "rows"
        value = given[key]
        if key == "files":
            given[key] = tuple(replace(kind, only or "files[%d]" % i, item, True) for i, item in enumerate(value))
        elif key == "with_" and isinstance(value, (list, tuple)) and not _is_rows(value):
            given[key] = tuple(replace(kind, "with_[%d]" % i, item, True) for i, item in enumerate(value))
        else:
            given[key] = replace(kind, key, value, key == "with_")
    words = words_of(signature, given, letters, repeated) + ([] if progress else ["--quiet"])
    check_words([run._named(word) for word in words])
    return run.run(words, progress)


def _is_rows(values: Any) -> bool:
    """Whether a list is a matrix, and not a list of several."""
    return bool(values) and all(isinstance(row, (list, tuple)) and row and isinstance(row[0], (int, float)) for row in values)


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
    groups : n integers or other hashable ids, or a path, optional
        Group of each row: blocks of the jackknife hold whole groups.
    threads : int, optional
        Number of threads; None: OMP_NUM_THREADS, else all cores.
    progress : bool or callable, default True
        Show notes and progress on standard error. A callable gets (stage, done, total) from another thread; what it
        raises ends the work and is raised here.

    Returns
    -------
    Result
        `intrinsic_dimension`, `mean_cosine` and `partition_isotropy`, all without unit. With fewer than three distinct
        rows the intrinsic dimension is NaN.

    Raises
    ------
    CospecError
        For values that are not finite, or fewer than three rows.
    TypeError, ValueError
        For an argument of a type or shape that no option has.

    See Also
    --------
    rank : Effective ranks of the same rows.

    References
    ----------
    Facco, d'Errico, Rodriguez and Laio (2017), Estimating the intrinsic dimension of datasets by a minimal
    neighborhood information, Scientific Reports 7. Mu and Viswanath (2018), All-but-the-Top, ICLR.
    """
    from . import _commands
    given = dict(files=(rows,), dimension=True, discard=discard, sample=sample, blocks=blocks, groups=groups, threads=threads)
    if not takes("similarity", given):
        return _commands.similarity(rows, dimension=True, discard=discard, sample=sample, blocks=blocks, groups=groups,
                                    threads=threads, progress=progress)
    return call("similarity", inspect.signature(_commands.similarity), given, (), ("with",), progress, _commands.options,
                "rows")
