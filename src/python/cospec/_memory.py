"""Functions of arrays in memory: they call the library in this process.

The call runs on a thread of its own, so that Ctrl-C reaches Python at once; it then sets the library's
interrupt flag, which ends the call.
"""
from __future__ import annotations

import ctypes
import json
import os
import tempfile
import threading
import weakref
import sys
from collections.abc import Mapping
from typing import Any, Callable, Optional

import numpy as np

from ._run import CospecError, Progress, Result, run

PATIENCE = 1.5  # seconds that an interrupted call has to end
_EXIT_CODE = {1: 2, 2: 3, 3: 3, 4: 3, 5: 4, 6: 5, 7: 130}  # of cs_status
_TYPES = (np.float64, np.int64, np.int32)
_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
_TAKES = {
    "svd": "matrix k rank normalised vectors tol seed threads gram",
    "connectivity": "files k tol seed threads gram",
    "rank": "files tau center row_norm blocks precision groups threads",
    "similarity": "files k dimension discard sample blocks groups threads",
    "cooc": "corpus objective context target_position max_length stride draws seed threads weight",
    "probe": None,  # by files
}
_one_call = threading.Lock()
_loaded: Any = None
_left: "list[Any]" = []  # what a call that was left behind may still read


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("dimensions", ctypes.c_int),
                ("shape", ctypes.c_int64 * 2), ("stride", ctypes.c_int64 * 2),
                ("data", ctypes.c_void_p)]


def library() -> Any:
    """The shared object, loaded once."""
    global _loaded
    if _loaded is None:
        path = os.environ.get("COSPEC_PYTHON_LIBRARY") or os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "lib", "cospec-python.so")
        lib = ctypes.CDLL(path)
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        size, number = ctypes.c_int64, ctypes.c_int
        matrix = [size, size, pointer, pointer, pointer]
        rows = [size, size, pointer, number]
        for name, arguments in (("svd", [*matrix, text]), ("connectivity", [*matrix, text]),
                                ("rank", [*rows, pointer, text]),
                                ("similarity", [*rows, *rows, text]), ("dimension", [*rows, text]),
                                ("cooc", [size, pointer, pointer, text])):
            function = getattr(lib, "cospec_" + name)
            function.restype, function.argtypes = pointer, arguments
        lib.cospec_error.restype = lib.cospec_json.restype = lib.cospec_version.restype = text
        lib.cospec_error.argtypes = [ctypes.POINTER(ctypes.c_int)]
        lib.cospec_json.argtypes = lib.cospec_arrays.argtypes = lib.cospec_free.argtypes = [pointer]
        lib.cospec_array.restype = ctypes.POINTER(_Array)
        lib.cospec_array.argtypes = [pointer, ctypes.c_int]
        lib.cospec_progress.argtypes = [_REPORT]
        lib.cospec_interrupt.argtypes = [ctypes.c_int]
        _loaded = lib
    return _loaded


class _Memory:
    """What a call returned, freed when no array looks at it any more."""

    def __init__(self, lib: Any, held: int) -> None:
        weakref.finalize(self, lib.cospec_free, held)

    def view(self, array: Any) -> "np.ndarray[Any, Any]":
        kind: "np.dtype[Any]" = np.dtype(_TYPES[array.type])
        shape = tuple(array.shape[:array.dimensions])
        if 0 in shape:
            return np.empty(shape, kind)
        strides = tuple(s * kind.itemsize for s in array.stride[:array.dimensions])
        size = sum((n - 1) * s for n, s in zip(shape, strides)) + kind.itemsize
        block: Any = (ctypes.c_char * size).from_address(array.data)
        block.memory = self
        array_view: "np.ndarray[Any, Any]" = np.ndarray(shape, kind, block, 0, strides)
        return array_view


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


def _interrupted(lib: Any, done: threading.Event, held: Any) -> None:
    """Ends the running call; one that does not end in time is left behind, with what it reads."""
    lib.cospec_interrupt(1)
    if not done.wait(PATIENCE) or lib.cospec_busy():
        _left.append(held)


def _invoke(name: str, arguments: "tuple[Any, ...]", options: "dict[str, Any]", progress: Progress,
            held: Any) -> "tuple[dict[str, Any], dict[str, Any]]":
    """The record and arrays of a call of the library."""
    lib = library()
    text = json.dumps({key: value for key, value in options.items() if value is not None},
                      default=lambda x: x.item())  # numpy's numbers
    reporter = _reporter(progress)
    answer: "list[Any]" = []
    done = threading.Event()

    def work() -> None:
        try:
            with _one_call:
                lib.cospec_interrupt(0)
                if not lib.cospec_busy():
                    _left.clear()
                lib.cospec_progress(reporter)
                got = getattr(lib, "cospec_" + name)(*arguments, text.encode())
                code = ctypes.c_int()
                answer.append(got or (lib.cospec_error(ctypes.byref(code)).decode(errors="replace"), code.value))
        finally:
            done.set()

    threading.Thread(target=work, name="cospec " + name, daemon=True).start()
    try:
        done.wait()
    except BaseException:
        _interrupted(lib, done, (arguments, held, reporter))
        raise
    if isinstance(answer[0], tuple):
        raise CospecError(answer[0][0], _EXIT_CODE.get(answer[0][1], 3))
    memory = _Memory(lib, answer[0])
    record: "dict[str, Any]" = json.loads(lib.cospec_json(answer[0]))
    arrays = {}
    for i in range(lib.cospec_arrays(answer[0])):
        array = lib.cospec_array(answer[0], i).contents
        arrays[array.name.decode()] = memory.view(array)
    return record, arrays


# --- arguments ---------------------------------------------------------------------------------------------

def _pointer(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)


def _numpy(name: str, values: Any) -> Any:
    """numpy's or scipy's view of an array, DataFrame or tensor."""
    if type(values).__module__.split(".")[0] == "torch":
        values = values.detach()
        if values.device.type != "cpu":
            raise TypeError("%s takes tensors on the CPU, not on %s: use .cpu()" % (name, values.device))
        if str(values.layout) == "torch.sparse_csr":
            from scipy import sparse
            return sparse.csr_matrix((_numpy(name, values.values()), values.col_indices().numpy(),
                                      values.crow_indices().numpy()), tuple(values.shape))
        if str(values.layout) != "torch.strided":
            raise TypeError("%s takes dense or CSR tensors, not %s: use .to_sparse_csr()" % (name, values.layout))
        return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("%s takes no masked array: fill it or leave the masked rows out" % name)
    if hasattr(values, "toarray"):
        return values
    if type(values).__module__.split(".")[0] == "pandas":
        if bool(np.any(np.asarray(values.isna()))):
            raise ValueError("%s takes no missing values" % name)
        return values.to_numpy()
    return np.asarray(values)


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


def _csr(name: str, matrix: Any) -> "tuple[tuple[Any, ...], Any]":
    """Pointers of a matrix, and what keeps them alive."""
    from scipy import sparse
    matrix = sparse.csr_matrix(_real(name, matrix, 1))
    matrix.check_format()
    if np.any(np.diff(matrix.indptr) < 0):
        raise ValueError("indptr decreases")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    held = (np.ascontiguousarray(matrix.indptr, np.int64),
            np.ascontiguousarray(matrix.indices, np.int32),
            np.ascontiguousarray(matrix.data, np.float64))
    return (*matrix.shape, *map(_pointer, held)), held


def _rows(name: str, values: Any) -> "tuple[tuple[Any, ...], Any]":
    rows = _real(name, values, 2)
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
    rows = np.ascontiguousarray(rows)
    return (*rows.shape, _pointer(rows), int(rows.dtype == np.float64)), rows


def _gram(matrix: Any, gram: Optional[bool]) -> Optional[bool]:
    """Whether it is a Gram form: as given, or as cooc and read have marked the matrix."""
    form = getattr(matrix, "form", None)
    if gram is False and form == "gram":
        raise ValueError("the matrix is a Gram form (context unique): gram=False does not fit it")
    return form == "gram" if gram is None else gram


def _ids(values: Any) -> "np.ndarray[Any, Any]":
    """Token ids as int32, refused where that would change them."""
    values = _numpy("cooc", values)
    ids = np.ascontiguousarray(values, np.int32) if values.dtype.kind in "biuf" else None
    if ids is None or not np.array_equal(ids, values):
        raise ValueError("token ids are integers from 0 to 2^31 - 2")
    return ids


def _groups(groups: Any, rows: int) -> Any:
    """The block of each row: groups numbered from 0 in the order of their numbers."""
    groups = _numpy("groups", groups)
    if groups.shape != (rows,):
        raise ValueError("groups has shape %s, but there are %d rows" % (groups.shape, rows))
    return np.unique(groups, return_inverse=True)[1].astype(np.int32)


# --- the functions ------------------------------------------------------------------------------------------

def _is_name(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, os.PathLike))


def _sources(name: str, given: "dict[str, Any]") -> "list[Any]":
    if name == "probe":
        return [given[key] for key in ("train_or_model", "test_or_train", "labels", "test_labels") if key in given]
    found = given.get({"svd": "matrix", "cooc": "corpus"}.get(name, "files"))
    return list(found) if isinstance(found, tuple) and name != "cooc" else [found]


def takes(name: str, given: "dict[str, Any]") -> bool:
    """Whether the arguments are arrays, for the library in this process, rather than names of files."""
    if name not in _TAKES:
        return False
    sources = _sources(name, given)
    names = [_is_name(s) or (name in ("rank", "connectivity", "similarity") and isinstance(s, Mapping))
             for s in sources]
    if name == "probe":
        return not all(names)
    if any(names) and not all(names):
        raise TypeError("%s takes arrays or paths, not both" % name)
    return bool(names) and not names[0]


def call(name: str, given: "dict[str, Any]", letters: "tuple[str, ...]", progress: Progress) -> Result:
    """The function `name` of arrays."""
    del letters
    if name == "probe":
        return _probe(given, progress)
    known = (_TAKES[name] or "").split()
    for key, value in given.items():
        if key not in known and value not in (None, False):
            raise TypeError("%s of an array does not take %s=; store the array and give its path" % (name, key))
    given = {key: value for key, value in given.items() if value is not None}
    functions: "dict[str, Callable[..., Result]]" = {
        "svd": _svd, "connectivity": _connectivity, "rank": _rank, "similarity": _similarity, "cooc": _cooc}
    return functions[name](given, progress)


def _single(name: str, given: "dict[str, Any]") -> Any:
    files = given.pop("files")
    if len(files) != 1:
        raise TypeError("%s takes one array, got %d" % (name, len(files)))
    return files[0]


def _svd(given: "dict[str, Any]", progress: Progress) -> Result:
    matrix = given.pop("matrix")
    if "k" in given and "rank" in given:
        raise TypeError("k is short for rank; give one of them")
    k = given.pop("rank", given.pop("k", None))
    arguments, held = _csr("svd", matrix)
    smaller = min(arguments[0], arguments[1])
    options = dict(given, k=min(10, smaller) if k is None else k, gram=_gram(matrix, given.get("gram")))
    if k == "all":
        options["k"] = smaller
    record, arrays = _invoke("svd", arguments, options, progress, held)
    columns = {"index": np.arange(1, len(arrays["sigma"]) + 1), "sigma": arrays["sigma"],
               "residual": arrays["residual"]}
    return Result("svd", record, arrays=arrays, columns=columns)


def _connectivity(given: "dict[str, Any]", progress: Progress) -> Result:
    matrix = _single("connectivity", given)
    arguments, held = _csr("connectivity", matrix)
    options = dict(given, gram=_gram(matrix, given.get("gram")))
    record, arrays = _invoke("connectivity", arguments, options, progress, held)
    numbers = {key: value for key, value in record.items() if isinstance(value, (int, float))}
    return Result("connectivity", record, arrays=arrays,
                  columns={"metric": list(numbers), "value": [float(v) for v in numbers.values()]})


def _rank(given: "dict[str, Any]", progress: Progress) -> Result:
    arguments, held = _rows("rank", _single("rank", given))
    groups = given.pop("groups", None)
    block = _groups(groups, arguments[0]) if groups is not None else None
    options = dict(given, double_sums=given.pop("precision", "double") == "double")
    options.pop("precision", None)
    if block is not None:
        options["blocks"] = min(int(given.get("blocks", 20)), int(block.max()) + 1)
        block = (block.astype(np.int64) * options["blocks"] // (int(block.max()) + 1)).astype(np.int32)
    record, arrays = _invoke("rank", (*arguments, None if block is None else _pointer(block)), options,
                             progress, (held, block))
    metrics = {key: value for key, value in record.items() if isinstance(value, dict)}
    return Result("rank", record, arrays=arrays, columns={
        "metric": list(metrics), "definition": [m["definition"] for m in metrics.values()],
        "value": [m["value"] for m in metrics.values()], "se": [m["se"] for m in metrics.values()]})


def _metrics(name: str, record: "dict[str, Any]") -> Result:
    keys = ("of", "with", "name", "definition", "value", "se", "n")
    rows = record["metrics"]
    columns = {("metric" if key == "name" else key): [row.get(key) for row in rows] for key in keys}
    for row in rows:
        record.setdefault(row["name"], row["value"])
    return Result(name, record, columns=columns)


def _similarity(given: "dict[str, Any]", progress: Progress) -> Result:
    files = given.pop("files")
    if given.pop("dimension", False) or len(files) != 2:
        raise TypeError("similarity takes two arrays; for dimensions call cospec.dimension")
    if given.pop("groups", None) is not None:
        raise TypeError("similarity takes no groups")
    a, held_a = _rows("similarity", files[0])
    b, held_b = _rows("similarity", files[1])
    record, arrays = _invoke("similarity", (*a, *b), given, progress, (held_a, held_b))
    result = _metrics("similarity", record)
    result._arrays.update(arrays)
    return result


def dimension(rows: Any, *, discard: float = 0.1, sample: int = 10000, blocks: int = 1,
              threads: Optional[int] = None, progress: Progress = True) -> Result:
    """Two-NN intrinsic dimension, mean cosine and isotropy of the rows of an array.

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
        Blocks of consecutive rows for a delete-block jackknife; 1: no standard errors.
    threads : int, optional
        Number of threads; None: OMP_NUM_THREADS, else all cores.
    progress : bool or callable, default True
        Show progress; a callable gets (stage, done, total).

    Returns
    -------
    Result
        `intrinsic_dimension`, `mean_cosine` and `partition_isotropy`, all without unit.

    Raises
    ------
    CospecError
        For values that are not finite, or fewer than three distinct rows.

    References
    ----------
    Facco, d'Errico, Rodriguez and Laio (2017), Estimating the intrinsic dimension of datasets by a minimal
    neighborhood information.
    """
    if _is_name(rows):
        from . import _commands
        return _commands.similarity(rows, dimension=True, discard=discard, sample=sample, blocks=blocks,
                                    threads=threads, progress=progress)
    arguments, held = _rows("dimension", rows)
    record, _ = _invoke("dimension", arguments, dict(discard=discard, sample=sample, blocks=blocks,
                                                     threads=threads), progress, held)
    return _metrics("dimension", record)


def _cooc(given: "dict[str, Any]", progress: Progress) -> Result:
    from scipy import sparse
    corpus: Any = given.pop("corpus")
    if not hasattr(corpus, "__iter__"):
        raise ValueError("cooc takes the name of a corpus, texts, or sequences of ids, not %r" % (corpus,))
    if not isinstance(corpus, tuple) and len(corpus) > 0 and all(isinstance(text, str) for text in corpus):
        return _texts(corpus, given, progress)
    if not isinstance(corpus, tuple):
        if len(corpus) == 0:
            raise ValueError("cooc takes the name of a corpus, texts, or sequences of ids, not %r" % (corpus,))
        corpus = (np.concatenate([_ids(s) for s in corpus]),
                  np.concatenate([[0], np.cumsum([len(s) for s in corpus])]))
    if "objective" not in given:
        raise CospecError("cooc needs objective=NAME", 2)
    ids = _ids(corpus[0])
    offsets = np.ascontiguousarray(_numpy("cooc", corpus[1]), np.int64)
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(ids):
        raise ValueError("offsets run from 0 to the number of ids, %d" % len(ids))
    options = dict(given, given=given.pop("target_position", "blind") == "given",
                   weight_by_document=given.pop("weight", "token") == "document")
    for key in ("target_position", "weight"):
        options.pop(key, None)
    record, arrays = _invoke("cooc", (len(offsets) - 1, _pointer(offsets), _pointer(ids)), options, progress,
                             (ids, offsets))
    matrix: Any = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]),
                               (record["rows"], record["cols"]), copy=False)
    matrix.form = "gram" if given.get("context") == "unique" else "counts"
    return Result("cooc", record, arrays={"matrix": matrix})


def _texts(texts: Any, given: "dict[str, Any]", progress: Progress) -> Result:
    """A list of texts, as a file of JSON lines for the program."""
    from . import _commands
    with tempfile.TemporaryDirectory(prefix="cospec-") as folder:
        path = os.path.join(folder, "texts.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for text in texts:
                file.write(json.dumps({"text": text}) + "\n")
        return _commands.cooc(path, progress=progress, **given)


def _probe(given: "dict[str, Any]", progress: Progress) -> Result:
    """Features and labels, as files for the program."""
    from . import _commands
    with tempfile.TemporaryDirectory(prefix="cospec-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for key in ("train_or_model", "test_or_train"):
            if not _is_name(given.get(key)):
                values = _real("probe", given[key], 2)
                given[key] = os.path.join(folder, key + ".npy")
                np.save(given[key], values.toarray() if hasattr(values, "toarray") else values)
        for key in ("labels", "test_labels"):
            if not _is_name(given.get(key)):
                values = _numpy("probe", given[key])
                given[key] = os.path.join(folder, key + ".txt")
                with open(given[key], "w", encoding="utf-8") as file:
                    file.writelines("%s\n" % value for value in values.tolist())
        return _commands.probe(**given, progress=progress)
