"""Every kind of array that functions take, and the types that they refuse. usage: python_inputs.py [torch]

With torch its tensors must be there; pandas is used where it is installed.
"""
import sys
import warnings

import numpy as np
from scipy import sparse

import cospec

rng = np.random.default_rng(3)
quiet = dict(progress=False)
whole = rng.integers(-8, 9, (200, 12))  # exact in every type
h = whole.astype(np.float64)
labels = np.where(h[:, 0] + rng.standard_normal(200) > 0, "up", "down")
counts = sparse.random(60, 30, 0.2, "csr", random_state=1)
counts.data = np.ceil(9 * counts.data)


def rows_of(x):
    """What three functions of rows make of x."""
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
                                                         "coo_array", "lil_matrix", "bsr_matrix")})
matrices = {"dense": counts.toarray(), "dense float32": counts.toarray().astype(np.float32),
            "dense int": counts.toarray().astype(np.int32)}
matrices.update({kind: getattr(sparse, kind)(counts) for kind in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array",
                                                                  "csc_array", "coo_array")})
twice = counts.tocoo()
matrices["repeated entries"] = sparse.coo_matrix(
    (np.concatenate([twice.data - 1, np.ones(twice.nnz)]), (np.tile(twice.row, 2), np.tile(twice.col, 2))), twice.shape)
unsorted = counts.copy()
for i in range(60):
    part = slice(unsorted.indptr[i], unsorted.indptr[i + 1])
    unsorted.indices[part], unsorted.data[part] = unsorted.indices[part][::-1].copy(), unsorted.data[part][::-1].copy()
unsorted.has_sorted_indices = unsorted.has_canonical_format = False
matrices["unsorted columns"] = unsorted
matrices["64-bit indices"] = sparse.csr_matrix((counts.data, counts.indices.astype(np.int64), counts.indptr.astype(np.int64)),
                                               counts.shape)
ids = rng.integers(0, 9, (20, 8))
corpora = {"int64": ids, "int32": ids.astype(np.int32), "uint8": ids.astype(np.uint8), "float": ids.astype(float),
           "lists": ids.tolist(), "arrays": list(ids), "pair": (ids.ravel(), np.arange(21) * 8),
           "pair of int32": (ids.ravel().astype(np.int32), (np.arange(21) * 8).astype(np.int32))}
names = {"list": list(labels), "object": labels.astype(object), "bytes": labels.astype("S"), "tuple": tuple(labels)}
bigrams = cospec.cooc(ids, "ar", context="nearest:1", **quiet)["matrix"]

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
    texts = pandas.Series(["the cat sat", "the dog sat"])
    assert cospec.cooc(texts, "ar", context="nearest:1", **quiet)["mass"] == 4
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
    fails("dense or CSR tensors", TypeError, cospec.svd, torch.tensor(counts.toarray()).to_sparse())
    fails("on the CPU", TypeError, cospec.rank, torch.empty((3, 3), device="meta"))
    fails("complex", TypeError, cospec.rank, tensor.to(torch.complex64))

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

fails("real numbers, not an array of complex128", TypeError, cospec.rank, h * 1j)
fails("not an array of <U4", TypeError, cospec.rank, labels[:, None])
fails("not an array of 1 dimensions", ValueError, cospec.rank, h[:, 0])
fails("with rows and columns, not one of 0 x 3", ValueError, cospec.similarity, h, np.ones((0, 3)))
fails("200 labels", cospec.CospecError, cospec.probe, h[:100], h, labels=labels, test_labels=labels)
fails("groups for 200 rows", cospec.CospecError, cospec.similarity, h, h, groups=[1, 2], blocks=2)
fails("groups for 200 rows", cospec.CospecError, cospec.probe, h, h, labels=labels, test_labels=labels, groups=[1, 2])
fails("all rows are of one group", cospec.CospecError, cospec.probe, h, h, labels=labels, test_labels=labels,
      groups=np.zeros(200, int))
fails("leaves 2 rows", cospec.CospecError, cospec.dimension, h, groups=[0] * 198 + [1, 1], blocks=2)
fails("numbers, not an array of <U2", TypeError, cospec.rank, h, groups=["ab"] * 200)
print("ok")
