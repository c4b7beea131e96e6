"""Words of the command line as those of Python, in docstrings and messages."""
from __future__ import annotations

import re
from collections.abc import Mapping

# An option by its name: (kind, argument), as `cospec help --tables` has them.
Options = Mapping[str, "tuple[str, str]"]
_OPTION = re.compile(r"(\bcospec [a-z-]+(?: train(?= -)| [A-Z.][\w.|/:]*)*(?: --?[a-z][\w-]*(?: [^-\s]\S*)?)+)|"
                     r"(?<![\w-])(?:--([a-z][a-z0-9-]*)|-([ok])\b)(?: ([\w.]*\w))?")


def parameter(option: str) -> str:
    """The parameter of an option: its name, and where that is a word of Python an underscore."""
    return option.replace("-", "_") + ("_" if option == "with" else "")


def in_python(text: str, options: Options) -> str:
    """Options as arguments, except in whole commands: --dry-run is dry_run=True, --head spans is head='spans', --groups
    is groups=, and "--groups: " at the beginning is "groups: ". A value within single quotes has double ones."""

    def argument(match: "re.Match[str]") -> str:
        command, name, word = match[1], match[2] or {"o": "output", "k": "k"}.get(match[3] or "", ""), match[4]
        if command or (name not in options and name != "k"):
            return match[0]
        kind, choices = options.get(name, ("int", "K"))
        key = parameter(name)
        if word is None and text[match.end():match.end() + 1] == ":" and (not match.start() or text[:match.start()].endswith(": ")):
            return key
        if kind == "flag":
            return key + "=True" + (" " + word if word else "")
        if word is None:
            return key + "="
        if word in choices.split("|") or re.fullmatch(r"[\d.]+", word):
            quoted = text[:match.start()].endswith("'") and text[match.end():].startswith("'")
            return key + "=" + (('"%s"' if quoted else "'%s'") % word if kind == "choice" else word)
        return key + ("=" if word.isupper() else "= ") + word

    return _OPTION.sub(argument, text)
