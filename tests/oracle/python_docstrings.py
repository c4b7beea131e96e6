"""Docstrings of the module are numpydoc, by numpydoc's validator. usage: python_docstrings.py"""
import inspect

from numpydoc.validate import validate

import cospec

# Checks that do not fit, and why.
LEFT_OUT = {
    "ES01": "a short function needs no second paragraph",
    "EX01": "examples are command lines, in Notes: one text serves both",
    "SA01": "See Also would repeat the list of commands",
    "SS05": "summaries are those of the command line, such as 'Effective ranks of hidden states'",
    "SS06": "the summary of a command may take two lines",
    "RT02": "a Result has no other name",
    "PR08": "an option's description may begin with its name, such as segmentation",
    "GL02": "text begins in the line after the quotes",
}
names = ["cospec." + name for name in cospec.__all__]
for kind in (cospec.Result, cospec.Picture):
    names += ["cospec.%s.%s" % (kind.__name__, name) for name, value in vars(kind).items()
              if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))]
bad = 0
for name in names:
    result = validate(name)
    for code, message in result["errors"]:
        made_here = code == "PR01" and name in ("cospec.Result", "cospec.Picture")  # nobody else makes one
        if code not in LEFT_OUT and not made_here:
            print("%s: %s %s" % (name, code, message))
            bad += 1
    doc = inspect.getdoc(eval(name)) or ""
    for part in ("Parameters", "Returns", "Raises"):
        if name.count(".") == 1 and inspect.isfunction(eval(name)) and part + "\n---" not in doc:
            print("%s: no section %s" % (name, part))
            bad += 1
print("ok" if not bad else "failed")
