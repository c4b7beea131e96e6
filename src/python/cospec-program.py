#!/usr/bin/env python3
"""The command `cospec` of the Python package: replaces itself by the program inside the package.

It does not import the package, because numpy would take longer to load than the program to run.
"""
import importlib.util
import os
import sys

spec = importlib.util.find_spec("cospec")
if spec is None or spec.origin is None:
    sys.exit("cospec: this Python does not find the package cospec: " + sys.executable)
program = os.path.join(os.path.dirname(spec.origin), "bin", "cospec")
os.execv(program, [program] + sys.argv[1:])
