"""Matrices in shards, read by numpy and scipy as docs/reference/matrices.md says, against the files of one process.

Every context mode at several sizes of shards: the joined arrays are those of matrix.npz, rows.npz and row_labels.npz,
value and type; ranges, sums and sizes are those of the index; and singular values of the joined matrix by numpy are those
that svd computes from the folder.
"""
import glob
import json
import os
import random
import tempfile

import numpy as np
import scipy.sparse as sp

from harness import Checks, cospec

CASES = [("ar", "nearest:2", {}), ("masked:unmasked=2", "all", {"max-length": 4, "stride": 1}),
         ("masked:mask-ratio=0.3", "nearest:1", {}), ("permuted-ar", "each:3", {}),
         ("permuted-ar", "each:4:harmonic", {}), ("ar", "each:2", {"target-position": "given"}),
         ("masked:mask-ratio=0.5", "unique", {"max-length": 6}), ("ar", "document", {}),
         ("variable-masked:mask-ratio=0.2:0.7", "all", {"draws": 2})]


def write_corpus(path):
    draw = random.Random(11)
    words = [a + b for a in "bcdfghklm" for b in ("a", "e", "i", "o", "ar")]
    weights = [1 / (i + 1) for i in range(len(words))]
    with open(path, "w") as f:
        for document in range(60):
            f.write("xyz"[document % 3] + "\t" + " ".join(draw.choices(words, weights, k=draw.randint(3, 20))) + "\n")


def load(folder, index, kind):
    """The arrays of a kind, joined: pointers of a shard begin at 0."""
    parts = [np.load(os.path.join(folder, shard["files"][kind]["path"])) for shard in index["shards"]]
    joined = {}
    for name in parts[0].files:
        if name == "indptr":
            starts = np.cumsum([0] + [part["indptr"][-1] for part in parts])
            pieces = [part["indptr"][:-1] + start for part, start in zip(parts, starts)]
            joined[name] = np.concatenate(pieces + [starts[-1:]])
        elif name not in ("format", "shape", "gram"):
            joined[name] = np.concatenate([part[name] for part in parts])
    return joined


def same(folder, index, kind, one):
    joined, whole = load(folder, index, kind), np.load(os.path.join(one, kind + ".npz"))
    return all(np.array_equal(joined[name], whole[name]) and joined[name].dtype == whole[name].dtype for name in joined)


def ranges_hold(folder, index, sidecar, size):
    first = nonzeros = 0
    for number, shard in enumerate(index["shards"], 1):
        a = sp.load_npz(os.path.join(folder, "matrix-%05d-of-%05d.npz" % (number, len(index["shards"]))))
        if shard["first_row"] != first or a.shape != (shard["rows"], index["cols"]) or a.nnz != shard["nonzeros"]:
            return False
        for file in shard["files"].values():
            path = os.path.join(folder, file["path"])
            if os.path.getsize(path) != file["bytes"] or (file["bytes"] > size and shard["rows"] > 1):
                return False
        first += shard["rows"]
        nonzeros += shard["nonzeros"]
    listed = {file["path"] for shard in index["shards"] for file in shard["files"].values()}
    on_disk = {os.path.basename(path) for path in glob.glob(os.path.join(folder, "*-of-*.npz"))}
    return (first == index["rows"] == sidecar["rows"] and nonzeros == index["nonzeros"] == sidecar["nnz"]
            and index["mass"] == sidecar["mass"] and index["cols"] == sidecar["cols"] and listed == on_disk)


def normalised(a):
    a = a.toarray().astype(float)
    rows, cols = a.sum(1), a.sum(0)
    return a[rows > 0][:, cols > 0] / np.sqrt(np.outer(rows[rows > 0], cols[cols > 0]))


def check(folder, one, size, form):
    """None, or what is wrong with a folder of shards."""
    index = json.load(open(os.path.join(folder, "matrix.index.json")))
    sidecar = json.load(open(os.path.join(folder, "matrix.json")))
    wrong = [kind for kind in index["shards"][0]["files"] if not same(folder, index, kind, one)]
    if wrong:
        return "joined arrays differ: " + " ".join(wrong)
    if not ranges_hold(folder, index, sidecar, size):
        return "ranges, sums or files are not those of the index"
    if form == "counts":
        a = sp.vstack([sp.load_npz(os.path.join(folder, s["files"]["matrix"]["path"])) for s in index["shards"]])
        want = np.linalg.svd(normalised(a), compute_uv=False)[:8]
        got = np.array(cospec("svd", folder, k=len(want))["sigma"])
        if not np.allclose(got, want, atol=1e-10):
            return "singular values differ by %g" % np.abs(got - want).max()
    return None


def main():
    checks, most = Checks("shards"), 0
    with tempfile.TemporaryDirectory() as work:
        corpus = os.path.join(work, "c.tsv")
        write_corpus(corpus)
        for number, (objective, context, options) in enumerate(CASES):
            one = os.path.join(work, "one%d" % number)
            base = {"corpus": corpus, "objective": objective, "context": context, **options}
            cospec("cooc", o=one, **base)
            for size in (3000, 6000, 20000):
                many = os.path.join(work, "many%d-%d" % (number, size))
                cospec("cooc", o=many, shard_size=size, **base)
                shards = glob.glob(os.path.join(many, "matrix-*.npz"))
                most = max(most, len(shards))
                name = "%s %s %d" % (objective, context, size)
                if shards:
                    checks.run(name, check, many, one, size, "gram" if context == "unique" else "counts")
                elif os.path.getsize(os.path.join(many, "matrix.npz")) > size:
                    checks.fail(name, "matrix.npz is larger than --shard-size")
        checks.run("number of shards", lambda: None if most > 10 else "at most %d" % most)
    checks.exit()


if __name__ == "__main__":
    main()
