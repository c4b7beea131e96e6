"""Co-occurrence spectra of self-supervised pretraining, from Python.

    import cospec
    a = cospec.cooc("corpus.tsv", "masked(mask-ratio=0.15)", context="nearest:2")
    s = cospec.svd(a["matrix"], k=32)
    s["sigma"], s["certificates"]["moments"]["state"]
    cospec.features("bert-base", "corpus.tsv", layers="all").path

Each command of the program is a function with the same names, defaults and meanings. Given paths and names
it runs the program; svd, connectivity, rank, similarity, cooc and probe also take arrays. The result is a
mapping with .frame, .record, .path and .plot(). A failure raises CospecError.
"""
from ._commands import *  # noqa: F403
from ._commands import __all__ as _commands_all
from ._commands import help  # noqa: F401
from ._files import read
from ._memory import dimension
from ._run import CospecError, CospecWarning, Picture, Result

__all__ = [*_commands_all, "dimension", "read", "CospecError", "CospecWarning", "Picture", "Result"]

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, the version of the library, which is loaded when somebody asks."""
    if name == "__version__":
        from ._memory import library
        version: bytes = library().cospec_version()
        return version.decode()
    raise AttributeError("module 'cospec' has no attribute %r" % name)
