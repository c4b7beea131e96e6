"""The program as a child process: what it writes, its progress, and its end after an interrupt."""
from __future__ import annotations

import io
import os
import pty
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Optional, cast

if TYPE_CHECKING:
    from ._run import Progress

GRACE = 1.5  # seconds between SIGINT and SIGKILL
LOOK = 0.25  # seconds at most until an interrupt is seen that came just before a wait began


class NotStarted(Exception):
    """The program cannot be started; its text is the reason."""


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C in the block is raised at its end: what the block starts is known then, and can be ended."""
    usual = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(usual):  # of another thread, or ignored
        yield
        return
    held: "list[tuple[Any, ...]]" = []
    signal.signal(signal.SIGINT, lambda *arguments: held.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if held:
            usual(*held[0])


def _stop(child: "subprocess.Popen[bytes]") -> None:
    """Ends the child within two seconds: SIGINT, then SIGKILL, which another interrupt does not prevent."""
    try:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            end = time.monotonic() + GRACE
            while child.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()


class Streams:
    """Reads what the child writes. Its standard error is shown at once, on a terminal with its bar, except its
    reason, which the exception has. Its progress, which it writes into the descriptor COSPEC_PROGRESS, goes to a callable."""

    def __init__(self, name: str, progress: Progress, said: "Callable[[str], str]") -> None:
        self.name, self.said = name, said
        self.receive = progress if callable(progress) else None
        self.show = progress is not False and sys.stderr is not None
        self.out, self.err, self.reports = bytearray(), bytearray(), bytearray()
        self.line = ""  # of standard error, not shown yet
        self.terminal = self.show and self.receive is None and sys.stderr.isatty()

    def run(self, argv: "list[str]") -> int:
        """The exit code. NotStarted: the program is not there, or no program."""
        ours, theirs = pty.openpty() if self.terminal else os.pipe()
        reports, to = os.pipe()
        environment = {**os.environ, "COSPEC_PROGRESS": str(to)} if self.receive else None
        child: "Optional[subprocess.Popen[bytes]]" = None
        try:
            try:
                with _interrupts_held():
                    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, env=environment,
                                             pass_fds=(to,) if self.receive else ())
            except OSError as error:
                raise NotStarted(error.strerror) from error
            finally:
                os.close(theirs)
                os.close(to)
            if self.receive:
                self.receive(self.name, 0, 1)
            self._read({ours: self._take_error, reports: self._take_report,
                        cast("io.BufferedReader", child.stdout).fileno(): self.out.extend})
            code = child.wait()
            if self.receive:
                self.receive(self.name, 1, 1)
            return code
        except BaseException:
            if child is not None:
                _stop(child)
            raise
        finally:
            self._write(self.line)
            os.close(ours)
            os.close(reports)
            if child is not None:
                cast("io.BufferedReader", child.stdout).close()

    def _read(self, takes: "dict[int, Callable[[bytes], object]]") -> None:
        with selectors.DefaultSelector() as ready:
            for descriptor in takes:
                ready.register(descriptor, selectors.EVENT_READ)
            while ready.get_map():
                for key, _ in ready.select(LOOK):
                    try:
                        part = os.read(key.fd, 65536)
                    except OSError:  # a terminal whose other end is closed
                        part = b""
                    if part:
                        takes[key.fd](part)
                    else:
                        ready.unregister(key.fd)

    def _take_report(self, part: bytes) -> None:
        self.reports += part
        *lines, rest = self.reports.decode(errors="replace").split("\n")
        self.reports = bytearray(rest.encode())
        for line in lines:
            stage, _, numbers = line.partition("\t")
            done, _, total = numbers.partition("\t")
            if self.receive and done.isdigit() and total.isdigit():
                self.receive(stage, int(done), int(total))

    def _take_error(self, part: bytes) -> None:
        self.err += part
        *lines, self.line = (self.line + part.decode(errors="replace")).split("\n")
        for line in lines:
            self._write(line + "\n")
        if self.line.startswith("\r"):  # a bar
            self._write(self.line)
            self.line = ""

    def _write(self, text: str) -> None:
        if self.show and text and not text.replace("\r", "").replace("\033[K", "").startswith("cospec %s: " % self.name):
            sys.stderr.write(self.said(text))
            sys.stderr.flush()
