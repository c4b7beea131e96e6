"""Whether the shards of a stored matrix, one after the other, are the files of another one.

usage: python3 same_shards.py ONE MANY. Names the arrays that differ; exit code 1 if any does.
"""
import array
import glob
import sys
import zipfile

ITEMS = [("matrix", "data"), ("matrix", "indices"), ("row_labels", "data"), ("row_labels", "indices"),
         ("rows", "key"), ("rows", "witness_sequence"), ("rows", "witness_ordinal"),
         ("corpus", "token"), ("corpus", "label"), ("corpus", "held_out")]
POINTERS = [("matrix", "indptr"), ("row_labels", "indptr"), ("corpus", "doc_ptr")]


def parts(folder, kind, member):
    """The bytes of an array, without its header, of every file of a kind."""
    for file in sorted(glob.glob(f"{folder}/{kind}-0*.npz")) or glob.glob(f"{folder}/{kind}.npz"):
        data = zipfile.ZipFile(file).read(member + ".npy")
        yield data[10 + int.from_bytes(data[8:10], "little"):]


def pointers(folder, kind, member):
    """Offsets that begin at 0 in each file, as those of one array."""
    all_of = [0]
    for part in parts(folder, kind, member):
        own = array.array("q")
        own.frombytes(part)
        all_of += [all_of[-1] + end for end in own[1:]]
    return all_of


def differing(one, many):
    """The arrays that differ."""
    bad = [f"{k}: {m}" for k, m in ITEMS
           if b"".join(parts(one, k, m)) != b"".join(parts(many, k, m))]
    return bad + [f"{k}: {m}" for k, m in POINTERS if pointers(one, k, m) != pointers(many, k, m)]


names = differing(sys.argv[1], sys.argv[2])
if names:
    print("\n".join(names))
sys.exit(bool(names))
