"""Runs the program in a child process, and gives its result to Python."""
from __future__ import annotations

import inspect
import io
import json
import os
import pty
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union, cast

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]
Source = Any  #: a path or name, or what the function takes in its place: an array, texts
Sources = Any  #: the same, a list of them, or {name: path}
Value = Union[str, int, float, "os.PathLike[str]", Sequence[Union[str, int, float, "os.PathLike[str]"]]]
Progress = Union[bool, Callable[[str, int, int], object]]
Array = Any  #: a path, or an array in its place
F = TypeVar("F", bound=Callable[..., "Result"])

GRACE = 1.5  # seconds between SIGINT and SIGKILL
_TABLES = {"train": "log.csv"}


class CospecError(Exception):
    """
    A failed call.

    Parameters
    ----------
    message : str
        What is wrong, as the program says it.
    code : int
        The exit code of the program.

    Attributes
    ----------
    code : int
        The exit code of the program: 2 a wrong argument, 3 bad input, a failed read or write, or too little
        memory, 4 not converged, 5 the device, 130 interrupted.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class CospecWarning(UserWarning):
    """A result that is complete but not certified: the program's exit code 4."""


def _numbers(values: "list[Any]") -> Any:
    """A list of numbers as an array, another list as it is; null is NaN."""
    import numpy as np
    if values and all(v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values):
        return np.array([np.nan if v is None else v for v in values])
    return values


class Picture:
    """A figure of `cospec plot`. A notebook shows it; `path` is the folder with its SVG, PNG, PDF and data."""

    def __init__(self, figure: str, result: "Result", path: Optional[str] = None) -> None:
        self._result = result  # its folder goes with it
        self.figure = figure
        self.path = path or cast(str, result.path)

    def _file(self, kind: str) -> str:
        return os.path.join(self.path, "%s.%s" % (self.figure, kind))

    def _repr_svg_(self) -> str:
        with open(self._file("svg"), encoding="utf-8") as file:
            return file.read()

    def _repr_png_(self) -> bytes:
        with open(self._file("png"), "rb") as file:
            return file.read()

    def save(self, path: Path) -> None:
        """
        Copy the figure.

        Parameters
        ----------
        path : path
            The new file; its name ends in .svg, .png or .pdf.

        Raises
        ------
        ValueError
            For another ending.
        """
        kind = os.path.splitext(os.fspath(path))[1][1:]
        if kind not in ("svg", "png", "pdf"):
            raise ValueError("%s: the name of a figure ends in .svg, .png or .pdf" % os.fspath(path))
        shutil.copyfile(self._file(kind), path)


class Result(Mapping[str, Any]):
    """The result of a command or function.

    It is a mapping: `result["sigma"]` is the array of that name (a file NAME.npy or NAME.npz of the run, or an
    array in memory), or else the field of the record, the column of the table, or the value of the metric of
    that name (an array where several rows have it).

    Attributes
    ----------
    record : dict
        The JSON of the command, or the manifest of a command that has none.
    path : str or None
        The folder with the files of the run. Without output= it is temporary and goes with the result.
    text : str
        Standard output.
    """

    def __init__(self, command: str, record: "dict[str, Any]", *, path: Optional[str] = None, text: str = "",
                 arrays: "Optional[dict[str, Any]]" = None, tables: "Optional[dict[str, str]]" = None,
                 held: Any = None) -> None:
        self.command, self.path, self.text = command, path, text
        self._table = {key: record.pop(key) for key in ("schema", "data") if key in record}
        self.record = record
        self._arrays = dict(arrays or {})
        self._tables = dict(tables or {})  # CSV by the name of a file, of a result without a folder
        self._held = held  # the temporary folder

    def _files(self) -> "dict[str, str]":
        names = sorted(os.listdir(self.path)) if self.path and os.path.isdir(self.path) else []
        return {name[:-4]: name for name in names if name.endswith((".npy", ".npz"))}

    def __getitem__(self, name: str) -> Any:
        if name not in self._arrays and name in self._files():
            from . import _files
            self._arrays[name] = _files.array(os.path.join(cast(str, self.path), self._files()[name]))
        if name in self._arrays:
            return self._arrays[name]
        if name in self.record:
            value = self.record[name]
            return _numbers(value) if isinstance(value, list) else value
        rows = self._table.get("data", [])
        matrices = self.record.get("matrices", [])
        if len(matrices) == 1 and isinstance(matrices[0].get(name), list):
            return _numbers(matrices[0][name])
        if not rows:
            raise KeyError(name)
        metrics = self.record.get("metrics", [])  # without baselines, which the table has too
        found = [row["value"] for row in metrics if isinstance(row, dict) and row.get("name") == name]
        if len(found) == 1:
            return found[0]
        if name in rows[0]:
            return _numbers([row[name] for row in rows])
        values = [row["value"] for row in rows if row.get("metric") == name and "value" in row]
        if not values:
            raise KeyError(name)
        return values[0] if len(values) == 1 else _numbers(values)

    def __iter__(self) -> Iterator[str]:
        return iter({**self.record, **self._arrays, **self._files()})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return "<cospec %s: %s%s>" % (self.command, ", ".join(self), " in " + self.path if self.path else "")

    @property
    def frame(self) -> "pandas.DataFrame":
        """The table of the result as a pandas DataFrame, as `--csv` prints it."""
        import pandas
        if self._table:
            read: Any = pandas.read_json
            frame: Any = read(io.StringIO(json.dumps(self._table)), orient="table").reset_index(drop=True)
            return cast("pandas.DataFrame", frame)
        table = self._csv()
        if table is None:
            raise CospecError("%s has no table" % self.command, 2)
        frame = pandas.read_csv(table)
        return cast("pandas.DataFrame", frame)

    def _csv(self) -> Optional[str]:
        for name in (_TABLES.get(self.command), self.command + ".csv", self.command.replace("-", "_") + ".csv"):
            if name and self.path and os.path.isfile(os.path.join(self.path, name)):
                return os.path.join(self.path, name)
        return None

    def plot(self, figure: Optional[str] = None, *, where: "Optional[Union[str, Sequence[str]]]" = None) -> Picture:
        """
        Draw the result as `cospec plot` does.

        Parameters
        ----------
        figure : str, optional
            A figure of `cospec plot`, or a picture that the run drew itself (compare, demo, reproduce) by the name
            of its folder. None: the first figure that fits the result.
        where : str or list of str, optional
            "COLUMN:VALUE" draws the rows with this value. None: what the figure takes by default, such as the first
            metric of a table with several.

        Returns
        -------
        Picture
            A notebook shows it; `save` copies it.

        Raises
        ------
        CospecError
            Where no figure fits the result, or gnuplot is not installed.
        """
        from . import _figures
        from ._commands import figures
        drawings = [_figures.Drawing(*row) for row in figures]
        filters = [where] if isinstance(where, str) else list(where or [])
        plan, lacking = _figures.plan(self, drawings, figure, filters)
        own = _figures.drawn(self, drawings) if plan is None else {}
        if own and (figure is None or figure in own):
            name, folder = own[figure or next(iter(own))]
            return Picture(name, self, folder)
        if plan is None and (figure is None or lacking):
            raise CospecError("no figure%s fits this result of %s%s; results of these commands have figures: %s" % (
                " " + figure if figure else "", self.command, "".join("; " + reason for reason in lacking),
                ", ".join(dict.fromkeys(drawing.command for drawing in drawings))), 2)
        with tempfile.TemporaryDirectory(prefix="cospec-") as place:
            table = self._csv() if plan is None else None
            if table is None:
                table = os.path.join(place, self.command + ".csv")
                if plan is None:
                    self.frame.to_csv(table, index=False)
                else:
                    with open(table, "w", encoding="utf-8", newline="") as stream:
                        stream.write(plan.table)
            options = plan.options if plan else [word for text in filters for word in ("--where", text)]
            name = plan.figure if plan else cast(str, figure)
            return Picture(name, run("plot", [name, table, *options], output=True, json_record=True, progress=False))


def program() -> str:
    """The path of the program: $COSPEC, in this package, or on PATH."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "cospec")
    found = os.environ.get("COSPEC") or (inside if os.path.exists(inside) else shutil.which("cospec"))
    if not found:
        raise CospecError("the program cospec is neither in the package nor on PATH; COSPEC may name it", 3)
    return found


def _stop(child: "subprocess.Popen[bytes]") -> None:
    """Ends the child within two seconds: SIGINT, then SIGKILL."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        end = time.monotonic() + GRACE
        while child.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        if child.poll() is None:
            child.kill()
    child.wait()


class _Streams:
    """Reads what the child writes; its standard error is shown as it comes, on a terminal with its bar."""

    def __init__(self, show: bool) -> None:
        self.show = show
        self.out, self.err = bytearray(), bytearray()
        self.terminal = show and sys.stderr is not None and sys.stderr.isatty()

    def run(self, argv: "list[str]") -> int:
        ours, theirs = pty.openpty() if self.terminal else os.pipe()
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
        except OSError as error:
            os.close(ours)
            raise CospecError("%s: %s" % (argv[0], error.strerror), 3) from error
        finally:
            os.close(theirs)
        try:
            self._read(child, ours)
            return child.wait()
        except BaseException:
            _stop(child)
            raise
        finally:
            os.close(ours)
            cast("io.BufferedReader", child.stdout).close()

    def _read(self, child: "subprocess.Popen[bytes]", err: int) -> None:
        out = cast("io.BufferedReader", child.stdout).fileno()
        with selectors.DefaultSelector() as ready:
            ready.register(out, selectors.EVENT_READ)
            ready.register(err, selectors.EVENT_READ)
            while ready.get_map():
                for key, _ in ready.select():
                    try:
                        part = os.read(key.fd, 65536)
                    except OSError:  # a terminal whose other end is closed
                        part = b""
                    if not part:
                        ready.unregister(key.fd)
                    elif key.fd == out:
                        self.out += part
                    else:
                        self.err += part
                        if self.show:
                            sys.stderr.write(part.decode(errors="replace"))
                            sys.stderr.flush()


def _reason(streams: _Streams, name: str, code: int) -> str:
    lines = [line.split("\r")[-1].strip() for line in streams.err.decode(errors="replace").split("\n")]
    for line in reversed(lines):
        line = line.replace("\033[K", "")
        if line.startswith("cospec %s: " % name):
            return line[len("cospec %s: " % name):]
    return "the program ended with code %d" % code


def run(name: str, words: "list[str]", *, output: bool, json_record: bool, progress: Progress) -> Result:
    """Runs `cospec name words`. output: into a temporary folder. json_record: it can print JSON."""
    held = tempfile.TemporaryDirectory(prefix="cospec-") if output else None
    path = os.path.join(held.name, name) if held else None
    given = [words[i + 1] for i in range(len(words) - 1) if words[i] == "--output"]
    argv = [program(), name, *words]
    argv[2:2] = (["--json"] if json_record else []) + (["--output", path] if path else [])
    for word in argv:
        if "\0" in word:
            raise ValueError("a name or value contains a NUL character: %r" % word)
    streams = _Streams(bool(progress))
    code = streams.run(argv)
    if code == -signal.SIGINT or code == 130:
        raise CospecError(_reason(streams, name, code), 130)
    text = streams.out.decode(errors="replace")
    if code not in (0, 1, 4) or (code == 4 and not text.strip()):
        raise CospecError(_reason(streams, name, code), code if code > 0 else 3)
    if code == 4:
        warnings.warn(_reason(streams, name, code), CospecWarning, stacklevel=4)
    path = path or (given[-1] if given else None)
    return Result(name, _record(name, path, text if json_record else ""), path=path, text=text, held=held)


def _record(name: str, path: Optional[str], text: str) -> "dict[str, Any]":
    if text.lstrip().startswith("{"):
        return cast("dict[str, Any]", json.loads(text))
    for file in (name + ".json", name.replace("-", "_") + ".json", "manifest.json"):
        if path and os.path.isfile(os.path.join(path, file)):
            with open(os.path.join(path, file), encoding="utf-8") as stream:
                return cast("dict[str, Any]", json.load(stream))
    return {}


# --- from keywords to a command line ------------------------------------------------------------------------

def _word(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (bool, int, float)) or hasattr(value, "item"):
        return repr(value.item() if hasattr(value, "item") else value)
    raise TypeError("expected a text, number or path, got %s" % type(value).__name__)


def _list(value: Any) -> "list[str]":
    if isinstance(value, Mapping):
        return ["%s=%s" % (key, _word(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple, range)):
        return [_word(item) for item in value]
    return [_word(value)]


def words_of(signature: inspect.Signature, given: "dict[str, Any]", letters: "tuple[str, ...]",
             repeated: "tuple[str, ...]") -> "list[str]":
    """The words of the command line for arguments by name."""
    words: "list[str]" = []
    places: "list[str]" = []
    for name, parameter in signature.parameters.items():
        value = given.get(name)
        if value is None:
            continue
        option = "-" + name if name in letters else "--" + name.rstrip("_").replace("_", "-")
        if parameter.kind is parameter.VAR_POSITIONAL:
            places += [word for item in value for word in _list(item)]
        elif parameter.annotation in ("Source", "Sources", "Optional[Source]"):
            places += _list(value)
        elif parameter.annotation == "bool":
            if not isinstance(value, bool):
                raise TypeError("%s expects True or False, got %r" % (name, value))
            words += [option] if value else []
        elif option[2:] in repeated:
            words += [word for item in _list(value) for word in (option, item)]
        else:
            words += [option, ",".join(_list(value))]
    return words + (["--"] if any(place.startswith("-") for place in places) else []) + places


def command(name: str, *, json: bool, letters: "tuple[str, ...]" = (),
            repeated: "tuple[str, ...]" = ()) -> Callable[[F], F]:
    """Makes the function of a command from its signature."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        takes_output = "output" in signature.parameters

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Result:
            from . import _memory
            given = dict(signature.bind(*args, **kwargs).arguments)
            progress = given.pop("progress", True)
            if _memory.takes(name, given):
                return _memory.call(name, signature, given, letters, repeated, progress)
            words = words_of(signature, given, letters, repeated)
            own = takes_output and given.get("output") is None and not given.get("dry_run")
            # compare prints one table only, that of a dry run
            prints = json and (name != "compare" or bool(given.get("dry_run")))
            return run(name, words, output=own, json_record=prints, progress=progress)

        return cast(F, call)

    return decorate
