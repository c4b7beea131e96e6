"""Lets shared objects built with glibc 2.29 or later run with glibc 2.28.

usage: older_glibc.py FILE...

glibc 2.29 gave exp, exp2, log, log2 and pow a second version, which differs from the first one only
in the treatment of errors (errno and the handler matherr, which glibc 2.27 had removed). An object
names the version that it was linked with. This script rewrites that name to the first version, in
the table of required versions (.gnu.version_r). Later versions of other libraries are left alone:
auditwheel finds them when it chooses the tag of the wheel.
"""
import platform
import struct
import sys

from elftools.elf.elffile import ELFFile

FIRST = {"x86_64": "GLIBC_2.2.5", "aarch64": "GLIBC_2.17"}[platform.machine()]
SECOND = "GLIBC_2.29"


def elf_hash(name):
    """The hash of a version's name (System V ABI)."""
    h = 0
    for byte in name.encode():
        h = (h << 4) + byte
        h = (h ^ (h & 0xF0000000) >> 24) & 0x0FFFFFFF
    return h


def entries(elf):
    """The places in the file of the entries that require SECOND of libm."""
    section = elf.get_section_by_name(".gnu.version_r")
    at = section["sh_offset"] if section else 0
    for need, versions in section.iter_versions() if section else ():
        entry = at + need["vn_aux"]
        for version in versions:
            if need.name.startswith("libm.") and version.name == SECOND:
                yield entry
            entry += version["vna_next"]
        at += need["vn_next"]


def rewrite(path):
    with open(path, "r+b") as file:
        elf = ELFFile(file)
        names = elf.get_section_by_name(".dynstr")
        found = list(entries(elf))
        name = names.data().find(b"\0" + FIRST.encode() + b"\0") + 1
        if found and name == 0:
            sys.exit(f"{path}: requires nothing of {FIRST}, so its name is not in the table of strings")
        for entry in found:
            file.seek(entry)
            file.write(struct.pack("<I", elf_hash(FIRST)))  # vna_hash
            file.seek(entry + 8)
            file.write(struct.pack("<I", name))  # vna_name


for argument in sys.argv[1:]:
    rewrite(argument)
