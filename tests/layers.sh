#!/bin/sh
# Dependencies point one way: fails on an #include that runs against the layers of docs/architecture.md,
# or that takes a private header (*_private.h, *_stages.h) of another room.
set -eu
awk '
BEGIN {
    allow["base"] = "base"
    allow["io"] = "base io"
    allow["plan"] = "base io plan"
    allow["text"] = "base io text"
    allow["linalg"] = "base io linalg"
    allow["cooc"] = "base io plan text linalg cooc"
    allow["toy"] = "base io plan linalg cooc toy"
    allow["analysis"] = "base io plan text linalg cooc tensor model toy analysis"
    allow["tensor"] = "base io plan tensor"
    allow["model"] = "base io plan tensor model"
    allow["train"] = "base io plan text tensor model train"
    allow["cuda"] = "base io plan tensor linalg cuda"
    allow["mpi"] = "base io linalg cooc mpi"
    allow["cli"] = "base io plan text linalg cooc mpi tensor model train toy analysis cli"
}
FNR == 1 { room = FILENAME; sub(/^src\//, "", room); sub(/\/.*/, "", room) }
/^#include "/ {
    split($0, part, "\""); target = part[2]
    if (target !~ /\//) next
    private = target ~ /_(private|stages)\.h$/
    sub(/\/.*/, "", target)
    if (private && target != room) { print FILENAME ":" FNR ": " part[2] " is private to " target; bad = 1 }
    if ((" " allow[room] " ") !~ (" " target " ")) { print FILENAME ":" FNR ": " room " must not include " target; bad = 1 }
}
/^#include <(cuda|cublas|cusolver|cusparse)/ && room != "cuda" { print FILENAME ":" FNR ": CUDA headers only in src/cuda"; bad = 1 }
/^#include <(mpi|arpack\/parpack)\.h>/ && FILENAME != "src/mpi/carrier_mpi.c" { print FILENAME ":" FNR ": MPI headers only in src/mpi/carrier_mpi.c"; bad = 1 }
END { exit bad }
' $(find src analysis toy -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
