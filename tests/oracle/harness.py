"""Shared by the oracles: running the program, reporting checks, reading spectra. It precedes transformers, whose environment it sets."""
import json
import os
import subprocess
import sys

import numpy as np

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")
COSPEC = os.environ.get("COSPEC", "build/release/cospec")
ZERO = 1e-9  # singular values below it count as zero


class Failure(Exception):
    """The program ended with an exit code other than expected."""


class Checks:
    """Counts checks and prints one line each, in the form that tests/run.sh counts."""

    def __init__(self, area):
        self.area = area
        self.bad = 0

    def ok(self, name):
        print(f"ok {self.area}/{name}", flush=True)

    def fail(self, name, why):
        self.bad += 1
        print(f"not ok {self.area}/{name}: {why}", flush=True)

    def skip(self, name, why):
        print(f"skip {self.area}/{name}: {why}", flush=True)

    def run(self, name, check, *args):
        """check returns None when all agrees, else a text that says what does not."""
        try:
            why = check(*args)
        except Failure as error:
            why = str(error)
        except (KeyError, TypeError, ValueError, IndexError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
        if why:
            self.fail(name, why)
        else:
            self.ok(name)

    def exit(self):
        sys.exit(1 if self.bad else 0)


def arguments(options):
    """{"unmasked": 2, "vectors": True} -> ["--unmasked", "2", "--vectors"]."""
    out = []
    for key, value in options.items():
        out.append(("-" if key in ("k", "o") else "--") + key)
        if value is not True:
            out.append(str(value))
    return out


def cospec(*words, codes=(0,), **options):
    """Runs the program; JSON of its standard output. Underscores in option names become hyphens."""
    line = [COSPEC, *map(str, words), *arguments({k.replace("_", "-"): v for k, v in options.items()}),
            "--json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600)
    if done.returncode not in codes:
        raise Failure(f"`{' '.join(line[1:])}` ended with {done.returncode}: "
                      f"{done.stderr.strip()[-300:]}")
    return json.loads(done.stdout) if done.stdout.strip() else {}


def normalise(a):
    """Abar = A / sqrt(P_C P_G) of a dense matrix; zero rows and columns stay zero."""
    p, q = a.sum(1), a.sum(0)
    with np.errstate(divide="ignore"):
        rp, rq = np.where(p > 0, p, np.inf) ** -0.5, np.where(q > 0, q, np.inf) ** -0.5
    return rp[:, None] * a * rq[None, :]


def expand(pairs):
    """[[sigma, multiplicity], ...] -> every copy, falling."""
    return np.sort(np.repeat([p[0] for p in pairs], [int(p[1]) for p in pairs]))[::-1]


def differ(ours, theirs, tolerance, what="sigma"):
    """None when two arrays agree entry by entry, else where they differ most."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    if ours.shape != theirs.shape:
        return f"{what}: {theirs.shape} from the program, {ours.shape} expected"
    if ours.size == 0:
        return None
    gap = np.abs(ours - theirs)
    if not np.all(gap <= tolerance):
        i = int(np.nanargmax(np.where(np.isnan(gap), np.inf, gap)))
        return (f"{what}[{i}]: {theirs.ravel()[i]:.15g} from the program, {ours.ravel()[i]:.15g} "
                f"expected (tolerance {tolerance:g})")
    return None
