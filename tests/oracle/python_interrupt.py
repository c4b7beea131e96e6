"""Ctrl-C, and an exception of the caller's function of progress, end functions of arrays and of commands within two seconds. usage: python_interrupt.py"""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import cospec


began = threading.Event()
work = cospec._memory._Call._work


def noted(call, *arguments):
    began.set()
    return work(call, *arguments)


cospec._memory._Call._work = noted


def interrupted(function, *arguments, after=1.0, child=False, **options):
    """Interrupts `after` seconds from the begin of the library's work, which may come late on a busy machine."""
    began.clear()
    sent = []

    def interrupt():
        if child or began.wait(120):
            time.sleep(after)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    begun, spent = time.monotonic(), None
    try:
        function(*arguments, **options)
        spent = time.monotonic() - begun
        thread.join()  # an interrupt that is late is raised here
    except KeyboardInterrupt:
        if spent is None:
            spent = time.monotonic() - sent[0]
            assert spent < 2, (function.__name__, spent)
            return
    raise AssertionError("%s ended after %.1f s and without an interrupt" % (function.__name__, spent))


class Enough(Exception):
    pass


def aborted(function, *arguments, **options):
    calls = []

    def progress(*report):
        calls.append(time.monotonic())
        assert all(isinstance(part, kind) for part, kind in zip(report, (str, int, int))) and len(report) == 3
        if len(calls) == 3:
            raise Enough(function.__name__)

    try:
        function(*arguments, **options, progress=progress)
    except Enough as error:
        assert str(error) == function.__name__ and time.monotonic() - calls[2] < 2, (function.__name__, time.monotonic() - calls[2])
        return
    raise AssertionError("%s was not aborted after %d calls" % (function.__name__, len(calls)))


# An interrupt during an import of scipy may be lost there, so everything is imported first.
cospec.svd(np.eye(3), progress=False)
rng = np.random.default_rng(1)
dense = rng.random((2500, 2500))
interrupted(cospec.svd, dense, k="all", progress=False)
rows = rng.standard_normal((8000, 1500))
interrupted(cospec.rank, rows, blocks=200, progress=False)
interrupted(cospec.similarity, rows, rows, progress=False, after=0.3)
interrupted(cospec.dimension, rng.standard_normal((60000, 50)), sample=60000, progress=False)
interrupted(cospec.connectivity, dense, progress=False, after=0.5)
labels = rng.integers(0, 20, 8000)
interrupted(cospec.probe, rows, rows, labels=labels, test_labels=labels, progress=False)
interrupted(cospec.cooc, rng.integers(0, 3000, (20000, 200)), "masked(mask-ratio=0.5)", draws=500, progress=False)
interrupted(cospec.cooc, [" ".join(map(str, row)) for row in rng.integers(0, 3000, (40000, 100))], "ar", tokenizer="whitespace",
            context="all", progress=False, after=0.5)
interrupted(cospec.toy, "masked(unmasked=2)", classes=40, length=4, tokens=16, method="enumerate", progress=False)
np.save("dense.npy", dense)
interrupted(cospec.svd, "dense.npy", k="all", progress=False, child=True)


class Interrupted(threading.Thread):
    def start(self):
        super().start()
        raise KeyboardInterrupt


# an interrupt while the thread of the library starts ends that thread too
cospec._memory.threading.Thread, usual = Interrupted, threading.Thread
try:
    cospec.svd(dense, k="all", progress=False)
    raise AssertionError("no interrupt")
except KeyboardInterrupt:
    time.sleep(0.5)
    assert not any(thread.name == "cospec svd" for thread in threading.enumerate()), "the library computes on"
finally:
    threading.Thread = usual


class Starting(subprocess.Popen):
    """Interrupted after the child has begun and before anybody knows it."""

    def _execute_child(self, *arguments, **options):
        super()._execute_child(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


# an interrupt while a child starts ends the child and is raised here
subprocess.Popen, usual = Starting, subprocess.Popen
begun = time.monotonic()
try:
    cospec.svd("dense.npy", k="all", progress=False)
    raise AssertionError("no interrupt")
except KeyboardInterrupt:
    assert time.monotonic() - begun < 3, time.monotonic() - begun
finally:
    subprocess.Popen = usual
try:
    assert os.waitpid(-1, os.WNOHANG) is None, "a child computes on"
except ChildProcessError:
    pass
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
# what a function of progress raises ends the work in this process and in a child, and is raised here
aborted(cospec.rank, rows, blocks=200)
aborted(cospec.similarity, rows, rows, blocks=200)
aborted(cospec.dimension, rng.standard_normal((60000, 50)), sample=60000)
aborted(cospec.probe, rows, rows, labels=labels, test_labels=labels)
np.save("rows.npy", rows)
aborted(cospec.rank, "rows.npy", blocks=200)
aborted(cospec.train, ["the cat sat on the mat and ran"] * 500, "ar", steps=100000, layers=2, width=64, heads=2, batch=16)
seen = []
cospec.inspect(cospec.cooc(["a b c"], "ar", context="nearest:1", output="m", progress=False).path, progress=lambda *report: seen.append(report))
assert seen[0] == ("inspect", 0, 1) and seen[-1] == ("inspect", 1, 1), seen
assert np.allclose(cospec.svd(np.eye(5), progress=False)["sigma"], 1)  # the next call computes
print("ok")
