"""Tensors and tables as input. usage: python_torch.py"""
import numpy as np
import pandas
import torch
from scipy import sparse

import cospec

h = np.random.default_rng(3).standard_normal((200, 12)).astype(np.float32)
want = cospec.rank(h, progress=False)["rank_tau"]["value"]
assert cospec.rank(torch.tensor(h), progress=False)["rank_tau"]["value"] == want
assert cospec.rank(torch.tensor(h, requires_grad=True), progress=False)["rank_tau"]["value"] == want
assert cospec.rank(pandas.DataFrame(h), progress=False)["rank_tau"]["value"] == want
low = torch.tensor(h).bfloat16()
assert cospec.rank(low, progress=False)["eigenvalues"][0] == cospec.rank(low.float(), progress=False)["eigenvalues"][0]
counts = sparse.random(60, 30, 0.2, "csr", random_state=1)
counts.data = np.ceil(9 * counts.data)
tensor = torch.sparse_csr_tensor(torch.tensor(counts.indptr), torch.tensor(counts.indices), torch.tensor(counts.data), counts.shape)
a, b = cospec.svd(counts, k=5, progress=False)["sigma"], cospec.svd(tensor, k=5, progress=False)["sigma"]
assert np.allclose(a, b, 0, 1e-13)
table = cospec.svd(counts, k=5, progress=False).frame
assert list(table["sigma"]) == list(a)
try:
    cospec.rank(pandas.DataFrame({"a": [1, None], "b": [1.0, 2.0]}), progress=False)
    raise AssertionError("missing values are taken")
except ValueError as error:
    assert "missing" in str(error)
print("ok")
