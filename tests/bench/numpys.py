"""Which Pythons with a numpy are installed: this one and, where $BENCH_NUMPY (default: python3) names others, those; PyPI's numpy has its own OpenBLAS."""
import os
import subprocess
import sys


def numpys():
    """(name, Python) of every installed numpy."""
    ask = "import numpy; print(numpy.__version__, numpy.__file__)"
    found = {}
    for python in [sys.executable, *os.environ.get("BENCH_NUMPY", "python3").split(":")]:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
        if done.returncode == 0:
            version, file = done.stdout.split()
            whose = "Debian's" if file.startswith("/usr/lib/python3/dist-packages") else "PyPI's"
            found.setdefault(file, (f"numpy {version} ({whose})", python))
    if not any("PyPI" in name for name, _ in found.values()):
        print("bench: numpy of PyPI is not here; skipped (BENCH_NUMPY names a Python that has it)", file=sys.stderr)
    return found.values()
