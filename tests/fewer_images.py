"""Every STEP-th image of a prepared corpus: what most of a small study's steps need to read.

usage: fewer_images.py FROM.npz TO.npz STEP
"""
import ast
import struct
import sys
import zipfile


def read(file, name):
    """(descr, shape, data) of a stored member in C order."""
    raw = file.read(name)
    at = 10 + struct.unpack_from("<H", raw, 8)[0]
    head = ast.literal_eval(raw[10:at].decode())
    return head["descr"], head["shape"], raw[at:]


def write(file, name, descr, shape, data):
    head = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(11 + len(head)) % 64) + b"\n"
    file.writestr(name, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


def some(data, count, which):
    """The records of these numbers, of `count` records of equal size."""
    size = len(data) // count
    return b"".join(data[i * size:(i + 1) * size] for i in which)


source, target, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
    members = {name: read(old, name) for name in old.namelist()}
    count = members["image.npy"][1][0]
    kept = range(0, count, step)
    if "box.npy" in members:
        descr, shape, data = members["box_ptr.npy"]
        ptr = struct.unpack(f"<{count + 1}q", data)
        boxes = [b for i in kept for b in range(ptr[i], ptr[i + 1])]
        ends = [0]
        for i in kept:
            ends.append(ends[-1] + ptr[i + 1] - ptr[i])
        members["box_ptr.npy"] = descr, (len(ends),), struct.pack(f"<{len(ends)}q", *ends)
        descr, shape, data = members["box.npy"]
        members["box.npy"] = descr, (len(boxes), *shape[1:]), some(data, shape[0], boxes)
    for name, (descr, shape, data) in members.items():
        if shape and shape[0] == count:
            shape, data = (len(kept), *shape[1:]), some(data, count, kept)
        write(new, name, descr, shape, data)
