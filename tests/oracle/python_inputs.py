"""Every kind of array that functions take, and the types that they refuse. usage: python_inputs.py [torch]

With torch its tensors must be there; pandas is used where it is installed.
"""
import ctypes
import gc
import sys
import warnings

import numpy as np
from scipy import sparse

import cospec

warnings.simplefilter("error", ResourceWarning)
unraised = []
sys.unraisablehook = lambda found: unraised.append(found.exc_value)  # warnings of finalizers

rng = np.random.default_rng(3)
quiet = dict(progress=False)
whole = rng.integers(-8, 9, (200, 12))  # exact in every type
h = whole.astype(np.float64)
labels = np.where(h[:, 0] + rng.standard_normal(200) > 0, "up", "down")
counts = sparse.random(60, 30, 0.2, "csr", random_state=1)
counts.data = np.ceil(9 * counts.data)


def rows_of(x):
    """The results of three functions of rows for x."""
    return (list(cospec.rank(x, **quiet)["eigenvalues"]), cospec.similarity(x, h, **quiet)["procrustes"],
            cospec.probe(x, h, labels=labels, test_labels=labels, penalties=1, **quiet)["metrics"][0]["value"])


def matrix_of(x):
    return list(cospec.svd(x, k=5, **quiet)["sigma"]), cospec.connectivity(x, k=4, **quiet)["gap"]


def fails(part, kind, function, *arguments, **options):
    try:
        function(*arguments, **options, **quiet)
    except kind as error:
        assert part in str(error), error
        return
    raise AssertionError("no failure: " + part)


want, spectrum = rows_of(h), matrix_of(counts)
wide = np.zeros((200, 24))
wide[:, ::2] = h
rows = {"float16": h.astype(np.float16), "float32": h.astype(np.float32), "longdouble": h.astype(np.longdouble),
        "big-endian": h.astype(">f8"), "int8": whole.astype(np.int8), "uint64 - 0": whole.astype(np.int64),
        "Fortran order": np.asfortranarray(h), "every other column": wide[:, ::2], "reversed twice": h[::-1][::-1],
        "np.matrix": np.matrix(h), "list of lists": h.tolist(), "read-only": np.frombuffer(h.tobytes()).reshape(h.shape)}
rows.update({kind: getattr(sparse, kind)(h) for kind in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array",
                                                         "coo_array", "lil_matrix", "bsr_matrix", "dok_matrix", "dok_array")})
matrices = {"dense": counts.toarray(), "big-endian": counts.toarray().astype(">f8"), "float16": counts.toarray().astype("f2"),
            "longdouble": counts.toarray().astype(np.longdouble), "objects": counts.toarray().astype(object), "dense float32": counts.toarray().astype(np.float32),
            "dense int": counts.toarray().astype(np.int32)}
matrices.update({kind: getattr(sparse, kind)(counts) for kind in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array",
                                                                  "csc_array", "coo_array", "dok_matrix", "dok_array")})
twice = counts.tocoo()
matrices["repeated entries"] = sparse.coo_matrix(
    (np.concatenate([twice.data - 1, np.ones(twice.nnz)]), (np.tile(twice.row, 2), np.tile(twice.col, 2))), twice.shape)
full = np.arange(1.0, 13).reshape(4, 3)  # no value is zero: CSR of the values where they are
for form in (full, np.asfortranarray(full), full.astype("f4")):
    np.testing.assert_array_equal(cospec.svd(form, k=2, **quiet)["sigma"], cospec.svd(sparse.csr_matrix(full), k=2, **quiet)["sigma"])
unsorted = counts.copy()
for i in range(60):
    part = slice(unsorted.indptr[i], unsorted.indptr[i + 1])
    unsorted.indices[part], unsorted.data[part] = unsorted.indices[part][::-1].copy(), unsorted.data[part][::-1].copy()
unsorted.has_sorted_indices = unsorted.has_canonical_format = False
matrices["unsorted columns"] = unsorted
matrices["64-bit indices"] = sparse.csr_matrix((counts.data, counts.indices.astype(np.int64), counts.indptr.astype(np.int64)),
                                               counts.shape)
ids = rng.integers(0, 9, (20, 8))
corpora = {"iterator": iter(ids.tolist()), "tuple of three or more": tuple(ids), "int64": ids, "int32": ids.astype(np.int32), "uint8": ids.astype(np.uint8), "float": ids.astype(float),
           "lists": ids.tolist(), "arrays": list(ids), "pair": (ids.ravel(), np.arange(21) * 8),
           "pair of int32": (ids.ravel().astype(np.int32), (np.arange(21) * 8).astype(np.int32))}
names = {"list": list(labels), "object": labels.astype(object), "bytes": labels.astype("S"), "tuple": tuple(labels)}
bigrams = cospec.cooc(ids, "ar", context="nearest:1", **quiet)["matrix"]

word = "nearest:1"
try:
    import pandas
except ImportError:
    pandas = None
if pandas:
    frame = pandas.DataFrame(h)
    rows.update({"DataFrame": frame, "DataFrame of float32": frame.astype("float32"), "mixed columns": frame.astype({0: int, 1: "float32"}),
                 "Int64": frame.astype("Int64"), "columns of another": pandas.DataFrame(wide)[list(range(0, 24, 2))]})
    matrices["DataFrame"] = pandas.DataFrame(counts.toarray())
    matrices["sparse DataFrame"] = pandas.DataFrame.sparse.from_spmatrix(counts)
    names.update({"Series": pandas.Series(labels), "categories": pandas.Series(labels, dtype="category")})
    fails("missing", ValueError, cospec.rank, pandas.DataFrame({"a": [1, None], "b": [1.0, 2.0]}))
    corpora["DataFrame"] = pandas.DataFrame(ids)
    assert (cospec.cooc(pandas.Series(ids[0]), "ar", context=word, **quiet)["matrix"] !=
            cospec.cooc(ids[0], "ar", context=word, **quiet)["matrix"]).nnz == 0
    for missing in (pandas.Series([0, 1, pandas.NA]), pandas.Series([0, 1, None], dtype="Int64"), pandas.Series([1.0, None])):
        fails("corpus: expected numbers, got missing values; leave them out or fill them", ValueError, cospec.cooc, missing, "ar")
    names["DataFrame"] = pandas.DataFrame({"label": labels})
    fails("labels: expected one column, got a DataFrame of 2; give one of them", ValueError, cospec.probe, h, h,
          labels=pandas.DataFrame({"label": labels, "other": 1}), test_labels=labels)
    column = pandas.Series(["the cat sat", "the dog sat"])
    for texts in (column, pandas.DataFrame({"any": column}), pandas.DataFrame({"text": column, "label": [1, 2]})):
        assert cospec.cooc(texts, "ar", context="nearest:1", **quiet)["mass"] == 4
    for part, kind, texts in (("corpus: item 2 is nan, but others are texts; leave it out", TypeError, pandas.Series([*column, None])),
                              ("corpus[0]: expected numbers", TypeError, [pandas.Series([1, 2], dtype=object), [None, 2]])):
        fails(part, kind, cospec.cooc, texts, "ar") if "Series" in str(type(texts)) else None
    fails("files[0]: expected numbers, got the text 'x' at [0][0]", TypeError, cospec.rank, pandas.DataFrame({"a": ["x", "y"]}, dtype=object))
    grouped = [cospec.rank(h, groups=g, **quiet).frame["se"].tolist()
               for g in (np.arange(200) // 4, pandas.Series(np.arange(200) // 4), list(np.arange(200) // 4))]
    assert str(grouped[0]) == str(grouped[1]) == str(grouped[2])

if sys.argv[1:] == ["torch"]:
    import torch
    tensor = torch.tensor(h)
    rows.update({"tensor": tensor, "requires_grad": torch.tensor(h, requires_grad=True), "bfloat16": tensor.bfloat16(),
                 "half": tensor.half(), "int tensor": torch.tensor(whole), "transposed": torch.tensor(h.T.copy()).T,
                 "strided": torch.tensor(wide)[:, ::2], "Parameter": torch.nn.Parameter(tensor.float())})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that CSR is in beta
        csr = torch.sparse_csr_tensor(torch.tensor(counts.indptr), torch.tensor(counts.indices), torch.tensor(counts.data),
                                      counts.shape)
        matrices.update({"CSR tensor": csr, "CSR of float32": csr.float(), "CSR of bfloat16": csr.bfloat16(),
                         "CSR with gradient": csr.detach().clone().requires_grad_(), "dense tensor": torch.tensor(counts.toarray())})
    corpora["tensor"] = [torch.tensor(row) for row in ids]
    names["tensor"] = torch.tensor((labels == "up").astype(int))
    fails("dense or CSR tensor", TypeError, cospec.svd, torch.tensor(counts.toarray()).to_sparse())
    fails("on the CPU, got one on meta", TypeError, cospec.rank, torch.empty((3, 3), device="meta"))
    fails("complex", TypeError, cospec.rank, tensor.to(torch.complex64))

# texts, of any container
for texts in (["the cat sat", "the dog sat"], ("the cat sat", "the dog sat"), iter(["the cat sat", "the dog sat"]),
              np.array(["the cat sat", "the dog sat"]), (text for text in ("the cat sat", "the dog sat"))):
    assert cospec.cooc(texts, "ar", context=word, **quiet)["mass"] == 4

for kind, x in rows.items():
    np.testing.assert_allclose(rows_of(x)[0], want[0], 1e-12, err_msg=kind)
    assert rows_of(x)[1:] == want[1:], kind
for kind, x in matrices.items():
    np.testing.assert_allclose(matrix_of(x)[0], spectrum[0], 0, 1e-13, err_msg=kind)
    assert abs(matrix_of(x)[1] - spectrum[1]) < 1e-13, kind
for kind, x in corpora.items():
    assert (cospec.cooc(x, "ar", context="nearest:1", **quiet)["matrix"] != bigrams).nnz == 0, kind
for kind, x in names.items():
    p = cospec.probe(h, h, labels=x, test_labels=x, penalties=1, **quiet)
    assert p["metrics"][0]["value"] == want[2], kind
    assert kind in ("tensor",) or p["class_names"] == ["down", "up"], (kind, p["class_names"])

# rows in C order and CSR of doubles are not copied
held = rng.standard_normal((50, 4))
memory = cospec._memory._Call("rank")
memory.give("rows", "1", held, None)
assert np.shares_memory(memory.held[0], held)
tokens = np.zeros(4, np.int32)
memory.give("corpus", "2", (tokens, np.array([0, 4])), None)
assert any(np.shares_memory(part, tokens) for part in memory.held)
small = sparse.csr_matrix(np.eye(3))
memory.give("matrix", "3", small, None)
assert any(np.shares_memory(part, small.data) for part in memory.held)
full = np.ones((4, 3))
memory.give("matrix", "4", full, None)
assert any(np.shares_memory(part, full) for part in memory.held)

# a sparse array of one dimension, as recent versions of scipy have it, is one row of a matrix
one_row = sparse.coo_array(np.abs(h[0]) + 9)
np.testing.assert_array_equal(*(cospec.svd(x, k=1, **quiet)["col_mass"] for x in (one_row, one_row.toarray())))
fails("expected a matrix (2 dimensions)", ValueError, cospec.rank, one_row) if one_row.ndim == 1 else None

# what fails on the thread of the library is raised here
broken_call = cospec._memory._Call("rank")
broken_call.gives.append(("array", ("no bytes",)))
try:
    broken_call.run([], False)
    raise AssertionError("no failure")
except (TypeError, ctypes.ArgumentError):
    pass

fails("files[0]: expected real numbers, got an array of complex128", TypeError, cospec.rank, h * 1j)
fails("got an array of texts", TypeError, cospec.rank, labels[:, None])
fails("got an array of 1", ValueError, cospec.rank, h[:, 0])
fails("files[1]: expected a matrix with rows and columns, got one of 0 x 3", ValueError, cospec.similarity, h, np.ones((0, 3)))
fails("200 labels", cospec.CospecError, cospec.probe, h[:100], h, labels=labels, test_labels=labels)
fails("groups for 200 rows", cospec.CospecError, cospec.similarity, h, h, groups=[1, 2], blocks=2)
fails("groups for 200 rows", cospec.CospecError, cospec.probe, h, h, labels=labels, test_labels=labels, groups=[1, 2])
fails("all rows are of one group", cospec.CospecError, cospec.probe, h, h, labels=labels, test_labels=labels,
      groups=np.zeros(200, int))
fails("leaves 2 rows", cospec.CospecError, cospec.dimension, h, groups=[0] * 198 + [1, 1], blocks=2)
numbered = [i // 4 % 7 for i in range(200)]
errors = [cospec.similarity(h, h ** 2, groups=groups, blocks=5, **quiet).record
          for groups in (numbered, ["abcdefg"[i] for i in numbered], np.array(list("abcdefg"))[numbered], [("g", i) for i in numbered])]
assert all(record == errors[0] for record in errors), errors
scores = [cospec.probe(h, h, labels=labels, test_labels=labels, groups=groups, test_groups=groups, **quiet).record["metrics"]
          for groups in (numbered, ["abcdefg"[i] for i in numbered])]
assert scores[0] == scores[1]
fails("groups: item 3 is None; give each row a group", ValueError, cospec.rank, h, groups=["a"] * 3 + [None] + ["b"] * 196)
fails("groups: item 0 is a list; expected a number, a text or another hashable id", TypeError, cospec.rank, h, groups=[["a"]] * 200)
fails("matrix: a matrix in memory, but a folder written by cospec cooc was expected, which has the documents too", cospec.CospecError,
      cospec.svd, counts, estimate="cross-fit")

# what is refused says what was given, where, and what to do
with open("there.txt", "w") as file:
    file.write("a b\n")
masked = np.ma.array(h, mask=h > 7)
for part, kind, corpus in (
        ("corpus: item 1 is None, but others are texts; leave it out", TypeError, ["a b", None]),
        ("corpus: item 1 is nan, but others are texts; leave it out", TypeError, ["a b", float("nan")]),
        ("corpus: item 1 is 3, but others are texts; give texts only", TypeError, ["a b", 3]),
        ("corpus: item 0 is the bytes b'a b'; decode it", TypeError, [b"a b"]),
        ("corpus: item 1 contains U+D800, half of a surrogate pair", ValueError, ["a", "\ud800"]),
        ("corpus: expected an array, a list or a path, got a dict; give its values", TypeError, {"a": "a b"}),
        ("corpus: expected an array, a list or a path, got a set, which has no order", TypeError, {"a b"}),
        ("corpus: a list holds the texts themselves, but there.txt is a file", ValueError, ["there.txt"]),
        ("corpus[0]: 1180591620717411303424 at [1] does not fit into 64 bits", ValueError, [[0, 2 ** 70]]),
        ("corpus: item 0 is 1; expected texts or sequences of ids", TypeError, [1, 2, 3]),
        ("corpus: item 1 is None; expected texts or sequences of ids", TypeError, [[1, 2], None]),
        ("corpus: expected integers in a sequence of ids, got texts", TypeError, [[1, 2], ["a"]]),
        ("corpus[1]: expected values without a mask", TypeError, [[1, 2], np.ma.array([1, 2], mask=[0, 1])]),
        ("corpus: expected texts in one dimension, got an array of 2", ValueError, np.array([["a", "b"]])),
        ("corpus: expected the name of a corpus, texts, or sequences of ids, got 3", TypeError, 3),
        ("corpus: offsets must run from 0", cospec.CospecError, ([1, 2], [0, 1]))):
    fails(part, kind, cospec.cooc, corpus, "ar")
for part, kind, x in (
        ("expected values without a mask, got a masked array; fill it", TypeError, [masked[0], masked[1]]),
        ("expected values without a mask, got a masked array; fill it", TypeError, [[1.0, np.ma.masked], [1.0, 2.0]]),
        ("expected rows of one length, got 2 items in row 0 and 3 in row 1", ValueError, [[1, 2], [1, 2, 3]]),
        ("expected numbers, got None at [1][0]; leave missing values out", TypeError, [[1, 2], [None, 2]]),
        ("expected an array, a list or a path, got a set", TypeError, {1}),
        ("expected a matrix (2 dimensions), got an array of 0", ValueError, 3.0)):
    fails("files[0]: " + part, kind, cospec.rank, x)
    fails("matrix: " + part, kind, cospec.svd, x)
    fails("rows: " + part, kind, cospec.dimension, x)
broken = small.copy()
broken.indices[0] = 7
fails("matrix: not a valid sparse matrix: ", ValueError, cospec.svd, broken)
fails("matrix: expected at most 2147483647 columns, got 4294967296", ValueError, cospec.svd, sparse.csr_matrix(([1.0], ([0], [2 ** 32 - 1])), (1, 2 ** 32)))
fails("matrix: expected an array, a list or a path, got a dict; give its values", TypeError, cospec.svd, {"a": h})
fails("matrix: row 0, column", cospec.CospecError, cospec.svd, -1 - h * h)
fails(r"half of a surrogate pair, which is no character: 'a\ud800=files[0][0]'", ValueError, cospec.rank, {"a\ud800": h})
fails("bert: row 3, column 5: value nan is not finite", cospec.CospecError, cospec.rank, {"bert": np.where(np.arange(2400) == 41, np.nan, 1.0 * np.arange(2400)).reshape(200, 12)})
fails("files[1] has 3", cospec.CospecError, cospec.similarity, h, h[:3])
fails("labels: item 1 is 1, but others are texts", TypeError, cospec.probe, h, h, labels=["a", 1] * 100, test_labels=labels)
fails("labels=FILE is missing: give the labels of train_or_model", cospec.CospecError, cospec.probe, h, h, test_labels=labels)
fails("groups: expected an array, a list or a path, got a dict", TypeError, cospec.rank, h, groups={"a": 1})
fails("groups: 3 groups for 200 rows", cospec.CospecError, cospec.rank, h, groups=[1, 2, 3])
np.save("h.npy", h)
for x in (h * h, "h.npy"):
    for part, kind, k in (("k: expected a text, number or path, got an item of type set", TypeError, {1}),
                          ("k: -1 is below 1", cospec.CospecError, -1), ("half of a surrogate pair", ValueError, "\ud800"),
                          ("k: '1,2' is not an integer", cospec.CospecError, np.array([1, 2])),
                          ("k: 1180591620717411303424 is out of the range", cospec.CospecError, 2 ** 70)):
        fails(part, kind, cospec.svd, x, k=k)
fails("metric: unknown metric 'x'", cospec.CospecError, cospec.probe, h, h, labels=labels, test_labels=labels, metric="x")
fails("matrix: expected a path, a name or a value, got None", TypeError, cospec.svd, None)
fails("svd: got an unexpected keyword argument 'kk'", TypeError, cospec.svd, h, kk=1)
fails("similarity needs two matrices, or at least one and with_= or dimension=True", cospec.CospecError, cospec.similarity, h)
fails("there.txt: not a matrix (FILE.npz, .npy, .mtx, or a folder written by cospec cooc), but a corpus; a corpus is given as corpus=FILE",
      cospec.CospecError, cospec.connectivity, "there.txt")
assert cospec.rank(h, **quiet)["rank_tau"] > 0 and "memory:" not in str(cospec.connectivity(np.abs(h) + 1, **quiet).record)
assert np.isnan(cospec.dimension(np.ones((9, 3)), **quiet)["intrinsic_dimension"])
fails("rows: 2 rows; the intrinsic dimension needs at least 3 rows", cospec.CospecError, cospec.dimension, h[:2])

# a list of texts wherever a corpus is taken
texts = ["the cat sat on the mat", "a dog ran away and sat"] * 20
tiny = dict(layers=1, width=16, heads=2, steps=2, batch=4, vocab=50)
model = cospec.train(texts, "ar", **tiny, **quiet)
assert cospec.train(corpus=tuple(texts), objective="masked", output="mlm", **tiny, **quiet)["steps"] == 2
with open("texts.jsonl", "w") as file:
    file.writelines('{"text": "%s"}\n' % text for text in texts)
for function, key, arguments, options in (
        (cospec.features, "rows", lambda x: (model.path, x), {}), (cospec.perplexity, "value", lambda x: (model.path, x), {}),
        (cospec.mask_rank, "value", lambda x: ("mlm", x), dict(blocks=2)), (cospec.tokenize, "vocabulary", lambda x: ("train",), dict(vocab=300)),
        (cospec.connectivity, "value", lambda x: (), dict(k=2))):
    both = [function(*arguments(x), **options, **({} if len(arguments(x)) == 2 else dict(corpus=x)), **quiet)[key]
            for x in (texts, "texts.jsonl")]
    np.testing.assert_array_equal(*both, err_msg=function.__name__)
for function, arguments, options in ((cospec.train, (texts, "ar"), dict(layers=2, width=64, heads=2, steps=100000)),
                                     (cospec.rank, (h,), dict(blocks=20))):
    reports = []

    def progress(*report):
        reports.append(report)
        if len(reports) == 2:
            raise OSError("the display is gone")

    try:
        function(*arguments, **options, progress=progress)
        raise AssertionError("%s went on" % function.__name__)
    except OSError as error:
        assert str(error) == "the display is gone" and len(reports) == 2
fails("corpus: expected a path, a name, or a list of texts, got 3", TypeError, cospec.features, model.path, 3)
fails("train:1: no label", cospec.CospecError, cospec.finetune, model.path, texts, texts)
stored = cospec.cooc(texts, "ar", context=word, output="stored", **quiet)
held = cospec.cooc(texts, "ar", context=word, **quiet)
assert stored["vocab"] == held["vocab"] and stored["rows"] == held["rows"] == held["matrix"].shape[0]
if pandas:
    frame = pandas.DataFrame({"text": texts, "label": ["x", "y"] * 20})
    assert cospec.probe(model.path, frame, frame, few="all", **quiet)["classes"] == 2
    html = held._repr_html_()
    assert "<table" in html and "cospec cooc" in html and model._repr_html_() and cospec.tokenize("encode", model.path, texts, **quiet)._repr_html_() is None
gc.collect()
assert not unraised, unraised
print("ok")
