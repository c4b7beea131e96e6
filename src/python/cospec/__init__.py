"""Co-occurrence spectra of self-supervised pretraining, from Python.

    import cospec
    a = cospec.cooc("corpus.tsv", objective="masked(mask-ratio=0.15)", context="nearest:2")
    s = cospec.svd(a["matrix"], k=32)
    s["sigma"], s["certificates"]["moments"]["state"]
    cospec.rank(states)["rank_tau"]["value"]
    cospec.read("results/svd")["svd.csv"]          # a DataFrame where pandas is

Matrices are scipy.sparse CSR matrices of float64 with int32 column numbers, rows numpy arrays of
float32 or float64 in C order: these are read where they lie (row pointers, int32 in scipy, are
widened). What comes back lies in the library's memory and is freed with the last array of it.
Failures raise CospecError, whose message names the offending value.
"""
import ctypes
import json
import os
import weakref

import numpy as np

__all__ = ["svd", "connectivity", "rank", "cooc", "toy", "read", "CospecError"]


class CospecError(Exception):
    """A failed call; `code` is the library's cs_status."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("dimensions", ctypes.c_int),
                ("shape", ctypes.c_int64 * 2), ("stride", ctypes.c_int64 * 2),
                ("data", ctypes.c_void_p)]


_TYPES = (np.float64, np.int64, np.int32)
_loaded = None


def _library():
    global _loaded
    if _loaded is None:
        path = os.environ.get("COSPEC_PYTHON_LIBRARY") or os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "lib", "cospec-python.so")
        lib = ctypes.CDLL(path)
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        size = ctypes.c_int64
        for name, arguments in (("svd", [size, size, pointer, pointer, pointer, text]),
                                ("connectivity", [size, size, pointer, pointer, pointer, text]),
                                ("rank", [size, size, pointer, ctypes.c_int, text]),
                                ("toy", [text]),
                                ("cooc", [text, size, pointer, pointer, text])):
            function = getattr(lib, "cospec_" + name)
            function.restype, function.argtypes = pointer, arguments
        lib.cospec_error.restype = lib.cospec_json.restype = lib.cospec_version.restype = text
        lib.cospec_error.argtypes = [ctypes.POINTER(ctypes.c_int)]
        lib.cospec_json.argtypes = lib.cospec_arrays.argtypes = lib.cospec_free.argtypes = [pointer]
        lib.cospec_array.restype = ctypes.POINTER(_Array)
        lib.cospec_array.argtypes = [pointer, ctypes.c_int]
        _loaded = lib
    return _loaded


def __getattr__(name):
    """`__version__`, the version of the library, which is loaded when somebody asks."""
    if name == "__version__":
        return _library().cospec_version().decode()
    raise AttributeError("module 'cospec' has no attribute %r" % name)


class _Memory:
    """What a call returned, freed when no array looks at it any more."""

    def __init__(self, lib, held):
        weakref.finalize(self, lib.cospec_free, held)

    def view(self, array):
        kind = np.dtype(_TYPES[array.type])
        shape = tuple(array.shape[:array.dimensions])
        if 0 in shape:
            return np.empty(shape, kind)
        strides = tuple(s * kind.itemsize for s in array.stride[:array.dimensions])
        size = sum((n - 1) * s for n, s in zip(shape, strides)) + kind.itemsize
        block = (ctypes.c_char * size).from_address(array.data)
        block.memory = self
        return np.ndarray(shape, kind, block, 0, strides)


def _call(name, arguments, options):
    lib = _library()
    options = json.dumps({key: value for key, value in options.items() if value is not None},
                         default=lambda x: x.item())  # numpy's numbers
    held = getattr(lib, "cospec_" + name)(*arguments, options.encode())
    if not held:
        code = ctypes.c_int()
        message = lib.cospec_error(ctypes.byref(code)).decode(errors="replace")
        raise CospecError(message, code.value)
    memory = _Memory(lib, held)
    answer = json.loads(lib.cospec_json(held))
    for i in range(lib.cospec_arrays(held)):
        array = lib.cospec_array(held, i).contents
        answer[array.name.decode()] = memory.view(array)
    return answer


def _pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def _ids(values):
    """Token ids as int32, refused where that would change them."""
    values = np.asarray(values)
    ids = np.ascontiguousarray(values, np.int32) if values.dtype.kind in "biuf" else None
    if not np.array_equal(ids, values):
        raise ValueError("token ids are integers from 0 to 2^31 - 2")
    return ids


def _real(name, values, least):
    """An array or a sparse matrix of real numbers, of `least` to 2 dimensions."""
    if isinstance(values, (str, bytes, os.PathLike)):
        raise TypeError("%s takes a matrix, not a name: %r is to be read first (numpy.load, "
                        "scipy.sparse.load_npz, scipy.io.mmread)" % (name, values))
    if not hasattr(values, "toarray"):
        values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise TypeError("%s takes real numbers, not an array of %s" % (name, values.dtype))
    if not least <= values.ndim <= 2:
        raise ValueError("%s takes a matrix, not an array of %d dimensions" % (name, values.ndim))
    if 0 in values.shape:
        raise ValueError("%s takes a matrix with rows and columns, not one of %s"
                         % (name, " x ".join(map(str, values.shape))))
    return values


def _csr(name, matrix):
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


def _gram(matrix, gram):
    """Whether it is a Gram form: as said, or as cooc and read have marked the matrix."""
    form = getattr(matrix, "form", None)
    if gram is False and form == "gram":
        raise ValueError("the matrix is a Gram form (context unique): gram=False does not fit it")
    return form == "gram" if gram is None else gram


def svd(matrix, k=0, *, normalised=False, gram=None, vectors=True, tol=None, moment4=True, seed=0,
        threads=None, **other):
    """The k largest singular triplets (0: all) of A / sqrt(P_C P_G), with certificates.

    The record of `cospec svd` (docs/reference/results-of-commands.md) with sigma and residual (k), u (rows x k),
    v (cols x k), row_mass and col_mass as arrays. normalised: the matrix as it stands. gram: the
    Gram form of A, as of context unique, which has no u; None: as cooc or read made the matrix."""
    arguments, _held = _csr("svd", matrix)
    return _call("svd", arguments, dict(k=k, normalised=normalised, gram=_gram(matrix, gram),
                                        vectors=vectors, tol=tol, moment4=moment4, seed=seed,
                                        threads=threads, **other))


def connectivity(matrix, k=0, *, gram=None, tol=None, seed=0, threads=None, **other):
    """Components, gap, Cheeger bounds and the sweep cut of a matrix of counts. gram: of its Gram
    form, as of context unique, without the sweep; None: as for svd."""
    arguments, _held = _csr("connectivity", matrix)
    return _call("connectivity", arguments,
                 dict(k=k, gram=_gram(matrix, gram), tol=tol, seed=seed, threads=threads, **other))


def rank(rows, *, tau=0.9, center=False, row_norm=False, blocks=None, double_sums=True,
         threads=None, **other):
    """Effective ranks of the rows of an array (n x d), each {value, se, definition}; eigenvalues of
    H^T H as an array."""
    rows = _real("rank", rows, 2)
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    rows = np.ascontiguousarray(rows)
    return _call("rank", (*rows.shape, _pointer(rows), int(rows.dtype == np.float64)),
                 dict(tau=tau, center=center, row_norm=row_norm, blocks=blocks,
                      double_sums=double_sums, threads=threads, **other))


def cooc(corpus, objective="ar", *, context="all", given=False, max_length=64, stride=0, draws=0,
         vocab=None, invalid=None, weight_by_document=False, seed=0, threads=None, **other):
    """The co-occurrence matrix of a corpus: a name, file or folder, a list of sequences of ids, or
    (ids, offsets) as int32 and int64 arrays, which are not copied. `matrix` is a CSR matrix of the
    units, `words` the names of its columns where there are any. `invalid`: what becomes of text
    that is not UTF-8, "refuse", "replace", "skip" or "latin1"."""
    from scipy import sparse
    options = dict(objective=objective, context=context, given=given, max_length=max_length,
                   stride=stride, draws=draws, weight_by_document=weight_by_document, seed=seed,
                   threads=threads, **other)
    if isinstance(corpus, (str, os.PathLike)):
        answer = _call("cooc", (os.fsencode(corpus), 0, None, None), dict(options, vocab=vocab, invalid=invalid))
    else:
        if not isinstance(corpus, tuple):
            if not np.iterable(corpus) or len(corpus) == 0:
                raise ValueError("cooc takes the name of a corpus, or sequences of ids, not %r"
                                 % (corpus,))
            lengths = [len(sequence) for sequence in corpus]
            corpus = (np.concatenate([_ids(s) for s in corpus]),
                      np.concatenate([[0], np.cumsum(lengths)]))
        ids = _ids(corpus[0])
        offsets = np.ascontiguousarray(corpus[1], np.int64)
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(ids):
            raise ValueError("offsets run from 0 to the number of ids, %d" % len(ids))
        answer = _call("cooc", (None, len(offsets) - 1, _pointer(offsets), _pointer(ids)), options)
    answer["matrix"] = sparse.csr_matrix(
        (answer.pop("data"), answer.pop("indices"), answer.pop("indptr")),
        (answer["rows"], answer["cols"]), copy=False)
    answer["matrix"].form = "gram" if context == "unique" else "counts"
    return answer


def toy(objective="ar", *, classes=2, length=4, tokens=2, given=False, literal=False,
        method="reduce", **other):
    """The exact spectrum of the toy model: sigma and multiplicity as arrays, and its sums."""
    return _call("toy", (), dict(objective=objective, classes=classes, length=length,
                                 tokens=tokens, given=given, literal=literal, method=method,
                                 **other))


def read(folder):
    """What a run with -o left: {file: dict of a JSON, DataFrame (without pandas: structured array)
    of a CSV, array of an NPY, matrix of an NPZ}; other files are left out."""
    answer = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".json"):
            with open(path, encoding="utf-8") as file:
                answer[name] = json.load(file)
        elif name.endswith(".csv"):
            answer[name] = _table(path)
        elif name.endswith(".npy"):
            answer[name] = np.load(path, mmap_mode="r")
        elif name.endswith(".npz"):
            answer[name] = _archive(path)
    return answer


def _table(path):
    try:
        import pandas
    except ImportError:
        return np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    return pandas.read_csv(path)


def _archive(path):
    with np.load(path) as archive:
        if "indptr" not in archive:
            return {name: archive[name] for name in archive.files}
        form = "gram" if "gram" in archive and archive["gram"] else "counts"
    from scipy import sparse
    matrix = sparse.load_npz(path)
    matrix.form = form
    return matrix
