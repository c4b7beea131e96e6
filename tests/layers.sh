#!/bin/sh
# Dependencies point one way: fails on an #include that runs against the layers of docs/explanation/architecture.md,
# or that takes a private header (*_private.h) of another module, on a permission that no #include needs, on a name of
# files that two modules have, and on a circle of files inside a module (tests/circles.py).
set -eu
awk '
BEGIN {
    allow["base"] = ""
    allow["io"] = "base"
    allow["stats"] = "base"
    allow["dist"] = "base"
    allow["plan"] = "base io"
    allow["tensor"] = "base"
    allow["text"] = "base io dist"
    allow["image"] = "base io text tensor"
    allow["linalg"] = "base io stats dist"
    allow["cooc"] = "base io stats dist plan text linalg"
    allow["model"] = "base io text image tensor"
    allow["train"] = "base io plan text tensor model"
    allow["infer"] = "base io stats plan text model train"
    allow["cuda"] = "base tensor linalg"
    allow["toy"] = "base io plan linalg cooc"
    allow["analysis/measures"] = "base io stats plan text image linalg cooc infer"
    allow["analysis/theorems"] = "base io stats plan text linalg cooc tensor model toy infer analysis/measures"
    allow["analysis/design"] = "base io plan cooc text analysis/theorems"
    allow["analysis/trained"] = "base io stats text image cooc model train analysis/measures analysis/theorems"
    allow["analysis/study"] = "base io stats"
    allow["analysis/vision"] = "base io stats plan text image linalg model train infer analysis/measures analysis/trained"
    allow["python"] = "base cli"
    allow["cli"] = "base io dist plan text image linalg cooc tensor model train toy infer analysis/measures analysis/theorems analysis/design analysis/trained analysis/study analysis/vision"
    while (1) { # modules that include none of those left are taken away: a cycle would remain
        gone = left = 0
        for (module in allow) {
            if (taken[module]) continue
            n = split(allow[module], below, " ")
            for (i = 1; i <= n && taken[below[i]]; ++i);
            if (i > n) { taken[module] = 1; ++gone } else ++left
        }
        if (!gone || !left) break
    }
    for (module in allow) if (!taken[module]) { print "layers: " module " is part of a cycle"; bad = 1 }
}
FNR == 1 {
    module = FILENAME; sub(/^src\//, "", module); sub(/\/[^\/]*$/, "", module)
    name = FILENAME; sub(/.*\//, "", name); sub(/(_private)?\.[a-z]+$/, "", name)
    if ((name in home) && home[name] != module) { print "layers: " FILENAME ": " home[name] " has files of this name too"; bad = 1 }
    home[name] = module
    if (!(module in allow)) { print "layers: " FILENAME ": this module is not in the table"; bad = 1 }
}
/^#include "/ {
    split($0, part, "\""); target = part[2]
    if (target !~ /\//) next
    private = target ~ /_private\.h$/
    sub(/\/[^\/]*$/, "", target)
    if (private && target != module) { print FILENAME ":" FNR ": " part[2] " is private to " target; bad = 1 }
    used[module, target] = 1
    if (target != module && index(" " allow[module] " ", " " target " ") == 0) { print FILENAME ":" FNR ": " module " must not include " target; bad = 1 }
}
/^#include <(src\/|analysis\/|toy\/|\.)/ { print FILENAME ":" FNR ": our own headers go between quotes"; bad = 1 }
/^#include <(cuda|cublas|cusolver|cusparse)/ && module != "cuda" { print FILENAME ":" FNR ": CUDA headers only in src/cuda"; bad = 1 }
/^#include <(mpi|arpack\/parpack)\.h>/ && FILENAME != "src/dist/carrier_mpi.c" { print FILENAME ":" FNR ": MPI headers only in src/dist/carrier_mpi.c"; bad = 1 }
END {
    for (module in allow) {
        n = split(allow[module], below, " ")
        for (i = 1; i <= n; ++i) if (!((module, below[i]) in used)) { print "layers: " module " may include " below[i] ", but no file of it does"; bad = 1 }
    }
    exit bad
}
' $(find src analysis toy -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
/usr/bin/python3 tests/circles.py # files of one module that need each other
