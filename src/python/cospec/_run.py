"""Runs the program in a child process, and gives its result to Python."""
from __future__ import annotations

import csv
import html
import inspect
import io
import json
import os
import shutil
import signal
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union, cast

from ._child import NotStarted, Streams

if TYPE_CHECKING:
    import pandas

    from ._words import Options

Path = Union[str, "os.PathLike[str]"]
Source = Any  #: a path or name, or what the function takes in its place: an array, texts
Sources = Any  #: the same, a list of them, or {name: path}
Value = Union[str, int, float, "os.PathLike[str]", Sequence[Union[str, int, float, "os.PathLike[str]"]]]
Progress = Union[bool, Callable[[str, int, int], object]]
Array = Any  #: a path, or an array in its place
Corpus = Any  #: a name or path, or texts in its place
F = TypeVar("F", bound=Callable[..., "Result"])

# The table of a command whose file has another name.
_TABLES = {"train": "log.csv", "compare": "claims.csv", "reproduce": "claims.csv", "demo": "figure/spectra.csv"}


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


def _rows(text: str) -> "list[dict[str, Any]]":
    """The rows of a CSV; numbers as such, and None for an empty cell."""

    def value(cell: str) -> Any:
        for kind in (int, float):
            try:
                return cell if "_" in cell else kind(cell)
            except ValueError:
                pass
        return cell or None

    return [{key: value(cell) for key, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]


class Picture:
    """A figure of `cospec plot`. A notebook shows it; `path` is the folder with its SVG, PNG, PDF and data."""

    def __init__(self, figure: str, result: "Result", path: Optional[str] = None) -> None:
        self._result = result  # its folder is removed with it
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

    It is a mapping: `result["sigma"]` is the array of that name (a file NAME.npy or a matrix NAME.npz of the run, or
    an array in memory), or else the field of the record, the column of the table, or the value of the metric of
    that name (an array where several rows have it), or else the table NAME.csv of the run as a DataFrame (without
    pandas a list of dicts). `vocab` is the list of the tokens of the columns of a matrix.

    Attributes
    ----------
    record : dict
        The JSON of the command, or the manifest of a command that has none. That of compare also has its tables
        models, scores and claims; demo has the record of each step, by its folder.
    path : str or None
        The folder with the files of the run. Without output= it is temporary and is removed with the result.
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
        from . import _files
        names = _files.names(self.path) if self.path and os.path.isdir(self.path) else []
        return {name[:-4]: name for name in names if name.endswith((".npy", ".npz")) or name == "vocab.txt"}

    def _csv_files(self) -> "dict[str, str]":
        """The texts of tables in memory and the paths of those in the folder, by name."""
        names = sorted(os.listdir(self.path)) if self.path and os.path.isdir(self.path) else []
        return {name[:-4]: self._tables.get(name, name) for name in [*self._tables, *names] if name.endswith(".csv")}

    def _named_table(self, name: str) -> Any:
        """The table NAME.csv; KeyError: there is none."""
        text = self._csv_files()[name]
        if name + ".csv" not in self._tables:
            with open(os.path.join(cast(str, self.path), text), encoding="utf-8", newline="") as stream:
                text = stream.read()
        try:
            import pandas
        except ImportError:
            return _rows(text)
        return pandas.read_csv(io.StringIO(text))

    def __getitem__(self, name: str) -> Any:
        file = None if name in self._arrays else self._files().get(name)
        if file:
            from . import _files
            self._arrays[name] = _files.array(os.path.join(cast(str, self.path), file))
        # several arrays in one file give way to the field of that name
        if name in self._arrays and not (isinstance(self._arrays[name], dict) and name in self.record):
            return self._arrays[name]
        if name in self.record and not (self.command == "compare" and name in self._csv_files()):
            value = self.record[name]
            return _numbers(value) if isinstance(value, list) else value
        rows = self._table.get("data", [])
        matrices = self.record.get("matrices", [])
        if len(matrices) == 1 and isinstance(matrices[0].get(name), list):
            return _numbers(matrices[0][name])
        metrics = self.record.get("metrics", [])  # without baselines, which the table has too
        found = [row["value"] for row in metrics if isinstance(row, dict) and row.get("name") == name]
        if len(found) == 1:
            return float("nan") if found[0] is None else found[0]
        if rows and name in rows[0]:
            return _numbers([row[name] for row in rows])
        values = [row["value"] for row in rows if row.get("metric") == name and "value" in row]
        if not values:
            return self._named_table(name)
        return values[0] if len(values) == 1 else _numbers(values)

    def __iter__(self) -> Iterator[str]:
        return iter({**self.record, **self._arrays, **self._files(), **self._csv_files()})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return "<cospec %s: %s%s>" % (self.command, ", ".join(self), " in " + self.path if self.path else "")

    def _repr_html_(self) -> Optional[str]:
        """The table, for a notebook; without a table or pandas the notebook shows repr()."""
        try:
            table: Any = self.frame
        except (ImportError, CospecError):
            return None
        return "<p>%s</p>%s" % (html.escape("cospec %s%s" % (self.command, ", in " + self.path if self.path else "")),
                                table.to_html(max_rows=20, max_cols=12))

    @property
    def frame(self) -> "pandas.DataFrame":
        """
        The table of the result as a pandas DataFrame, as `--csv` prints it.

        Those of compare and reproduce are the claims with their verdicts, and that of demo both spectra. Other tables
        of the folder have their names: `result["log"]` of train is log.csv, `result["scores"]` of compare scores.csv.
        """
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
        from . import _figures
        command = _figures.command_of(self)
        for name in (_TABLES.get(command), command + ".csv", command.replace("-", "_") + ".csv"):
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


class _Folder:
    """A temporary folder, which is removed with this object; that of tempfile warns where nobody closes it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="cospec-")
        weakref.finalize(self, shutil.rmtree, self.name, True)


def program() -> str:
    """The path of the program: $COSPEC, in this package, or on PATH."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "cospec")
    found = os.environ.get("COSPEC") or (inside if os.path.exists(inside) else shutil.which("cospec"))
    if not found:
        raise CospecError("the program cospec is neither in the package nor on PATH; COSPEC may name it", 3)
    return found


def _reason(streams: Streams, name: str, code: int) -> str:
    lines = [line.split("\r")[-1].strip() for line in streams.err.decode(errors="replace").split("\n")]
    for line in reversed(lines):
        line = line.replace("\033[K", "")
        if line.startswith("cospec %s: " % name):
            return streams.said(line[len("cospec %s: " % name):])
    return "the program ended with code %d" % code


def check_words(words: "list[str]") -> None:
    """Refuses what no command line can have."""
    for word in words:
        if "\0" in word:
            raise ValueError("a name or value contains a NUL character: %r" % word)
        try:
            os.fsencode(word)
        except UnicodeEncodeError:
            raise ValueError("a name or value contains half of a surrogate pair, which is no character: %r" % word) from None


def run(name: str, words: "list[str]", *, output: bool, json_record: bool, progress: Progress,
        said: "Callable[[str], str]" = str, held: "Sequence[Any]" = ()) -> Result:
    """Runs `cospec name words`. output: into a temporary folder. json_record: it can print JSON. said: what Python says
    for a text of the program. held: what has to stay as long as the result."""
    folder = _Folder() if output else None
    path = os.path.join(folder.name, name) if folder else None
    given = [words[i + 1] for i in range(len(words) - 1) if words[i] == "--output"]
    argv = [program(), name, *words]
    argv[2:2] = (["--json"] if json_record else []) + (["--output", path] if path else [])
    check_words(argv)
    streams = Streams(name, progress, said)
    try:
        code = streams.run(argv)
    except NotStarted as error:
        raise CospecError("%s: %s" % (argv[0], error), 3) from error
    if code == -signal.SIGINT or code == 130:
        raise CospecError(_reason(streams, name, code), 130)
    text = streams.out.decode(errors="replace")
    if code not in (0, 1, 4) or (code == 4 and not text.strip()):
        raise CospecError(_reason(streams, name, code), code if code > 0 else 3)
    if code == 4:
        warnings.warn(_reason(streams, name, code), CospecWarning, stacklevel=4)
    path = path or (given[-1] if given else None)
    return Result(name, _record(name, path, text if json_record else ""), path=path, text=text, held=(folder, *held))


def _record(name: str, path: Optional[str], text: str) -> "dict[str, Any]":
    if text.lstrip().startswith("{"):
        return cast("dict[str, Any]", json.loads(text))
    if name == "demo" and path:
        folders = {folder: os.path.join(path, folder) for folder in sorted(os.listdir(path))}
        manifests = {folder: os.path.join(place, "manifest.json") for folder, place in folders.items()}
        return {folder: _record(str(_json(manifest)["command"]), folders[folder], "")
                for folder, manifest in manifests.items() if os.path.isfile(manifest)}
    tables: "dict[str, Any]" = {}
    for table in ("models", "scores", "claims") if name == "compare" and path else ():
        with open(os.path.join(cast(str, path), table + ".csv"), encoding="utf-8", newline="") as stream:
            tables[table] = _rows(stream.read())
    for file in (name + ".json", name.replace("-", "_") + ".json", *(["statements.json"] if name == "verify" else []), "manifest.json"):
        if path and os.path.isfile(os.path.join(path, file)):
            return {**tables, **_json(os.path.join(path, file))}
    return tables


def _json(path: str) -> "dict[str, Any]":
    with open(path, encoding="utf-8") as stream:
        return cast("dict[str, Any]", json.load(stream))


# --- from keywords to a command line ------------------------------------------------------------------------

def _word(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return os.fsdecode(value)
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (bool, int, float)):
        return repr(value)
    if hasattr(value, "item") and getattr(value, "size", 0) == 1:
        return _word(name, value.item())
    kind = type(value).__name__
    raise TypeError("%s: expected a text, number or path, got %s" % (name, "None" if value is None else "an item of type " + kind))


def _list(name: str, value: Any) -> "list[str]":
    if isinstance(value, Mapping):
        return ["%s=%s" % (key, _word(name, item)) for key, item in value.items()]
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:  # an array or Series
        value = value.tolist()
    if isinstance(value, (list, tuple, range, Iterator)):
        return [_word(name, item) for item in value]
    return [_word(name, value)]


def words_of(signature: inspect.Signature, given: "dict[str, Any]", letters: "tuple[str, ...]",
             repeated: "tuple[str, ...]") -> "list[str]":
    """The words of the command line for arguments by name."""
    words: "list[str]" = []
    places: "list[str]" = []
    for name, parameter in signature.parameters.items():
        value = given.get(name)
        if value is None:
            if parameter.default is parameter.empty and name in given:
                raise TypeError("%s: expected a path, a name or a value, got None" % name)
            continue
        option = "-" + name if name in letters else "--" + name.rstrip("_").replace("_", "-")
        if parameter.kind is parameter.VAR_POSITIONAL:
            places += [word for i, item in enumerate(value) for word in _list("%s[%d]" % (name, i), item)]
        elif parameter.annotation in ("Source", "Sources", "Optional[Source]"):
            places += _list(name, value)
        elif parameter.annotation == "bool":
            if not isinstance(value, bool):
                raise TypeError("%s: expected True or False, got %r" % (name, value))
            words += [option] if value else []
        elif option[2:] in repeated:
            words += [word for item in _list(name, value) for word in (option, item)]
        else:
            words += [option, ",".join(_list(name, value))]
    return words + (["--"] if any(place.startswith("-") for place in places) else []) + places


def _options(signature: inspect.Signature) -> "Options":
    """The options that texts of a command may name: its own, and those of others."""
    from ._commands import options
    own = {name.rstrip("_").replace("_", "-"): parameter.annotation == "bool" for name, parameter in signature.parameters.items()}
    table = {**{name: ("", "") for name in own}, **options}
    return {name: ("flag" if own[name] else "" if kind == "flag" else kind, argument) if name in own else (kind, argument)
            for name, (kind, argument) in table.items()}


def _store(name: str, value: Any, folder: str) -> Any:
    """The path of a file of texts in memory; other values as they are."""
    from . import _inputs
    if value is None or isinstance(value, (str, bytes, os.PathLike)):
        return value
    value = _inputs.listed(name, value)
    texts = _inputs.corpus_texts(name, value)
    if texts is None:
        raise TypeError("%s: expected a path, a name, or a list of texts, got %s" % (name, _inputs.shown(value)))
    labels = _inputs.labels_of(value) or [None] * len(texts)
    path = os.path.join(folder, name + ".jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for text, label in zip(texts, labels):
            json.dump({"text": text, **({} if label is None else {"label": label})}, file)
            file.write("\n")
    return path


def command(name: str, *, json: bool, letters: "tuple[str, ...]" = (), repeated: "tuple[str, ...]" = (),
            corpora: "tuple[str, ...]" = ()) -> Callable[[F], F]:
    """Makes the function of a command from its signature; corpora: parameters that take texts in memory."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        takes_output = "output" in signature.parameters

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Result:
            from . import _inputs, _memory
            from ._words import in_python
            try:
                given = dict(signature.bind(*args, **kwargs).arguments)
            except TypeError as error:
                raise TypeError("%s: %s" % (function.__name__, error)) from None
            progress = given.pop("progress", True)
            options = _options(signature)
            texts = {key for key in corpora if key in given and not isinstance(given[key], (str, bytes, os.PathLike, type(None)))
                     and (name not in _memory.TAKES or _inputs.texts(key, given[key]) is not None)}
            if name == "cooc" and not any(given.get(key) for key in _memory.FILES) and not _inputs.labels_of(given.get("corpus")):
                texts = set()  # they need no file
            if _memory.takes(name, {key: value for key, value in given.items() if key not in texts}):
                return _memory.call(name, signature, given, letters, repeated, progress, options)
            place = _Folder() if texts else None
            named = {}
            for key in texts if place else ():
                given[key] = _store(key, given[key], place.name if place else "")
                named[given[key]] = key
            words = words_of(signature, given, letters, repeated)
            own = takes_output and given.get("output") is None and not given.get("dry_run")
            # compare prints one table only, that of a dry run
            prints = json and (name != "compare" or bool(given.get("dry_run")))

            def said(text: str) -> str:
                for path, key in named.items():
                    text = text.replace(path, key)
                return in_python(text, options)

            return run(name, words, output=own, json_record=prints, progress=progress, said=said, held=(place,))

        return cast(F, call)

    return decorate
