"""Sphinx configuration of the HTML site. docs/site.sh calls it on a copy of the pages; `make docs` does both.

The pages are Markdown (MyST). MathJax is copied into the site, so that equations are drawn without a network. The C reference
comes from the comments of the public headers, which are those that open with /** \\file: Doxygen reads them, and Breathe turns
its XML into one page for each module. A public function, type, member or macro without a comment is an error. The Python
reference has one page for each public function and class, from signatures and docstrings, which are read and not imported.
"""
import ast
import base64
import json
import os
import re
import shutil
import subprocess
import textwrap
from xml.etree import ElementTree

from sphinx.errors import ExtensionError
from sphinx.ext.napoleon import Config, NumpyDocstring

REPOSITORY = os.environ["COSPEC_ROOT"]
BUILD = os.environ["COSPEC_SITE"]          # build/docs

project = "cospec"
author = "the cospec authors"
version = release = os.environ["COSPEC_VERSION"]
copyright = "the cospec authors, MIT licence"

extensions = ["myst_parser", "sphinx.ext.mathjax", "breathe"]
source_suffix = {".md": "markdown", ".ipynb": "markdown", ".rst": "restructuredtext"}  # notebooks: as notebook_page() makes them
root_doc = "docs/index"
exclude_patterns = ["docs/ISSUE_TEMPLATE"]
nitpicky = True
# Types of C, of other libraries and of private headers have no page; types of Python are words.
nitpick_ignore_regex = [("c:identifier", ".*"), ("py:.*", ".*")]
language = "en"
smartquotes = False

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 6                   # the anchors of GitHub
myst_dmath_double_inline = True
myst_update_mathjax = False

html_theme = "sphinx_rtd_theme"
html_theme_options = {"navigation_depth": 3, "collapse_navigation": True}
html_title = f"cospec {version}"
html_static_path = [os.path.join(BUILD, "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# A browser does not let a page on disk read its neighbours, so results are titles without excerpts.
html_show_search_summary = False
html_search_scorer = os.path.join(BUILD, "scorer.js")
# SVG needs no web fonts, which some browsers refuse from disk.
mathjax_path = "mathjax/MathJax.js?config=TeX-AMS_SVG"
mathjax_options = {}
mathjax2_config = {
    "tex2jax": {"inlineMath": [["\\(", "\\)"]], "displayMath": [["\\[", "\\]"]], "processClass": "math", "ignoreClass": "document"},
    "SVG": {"linebreaks": {"automatic": True}},
    "showMathMenu": False,
    "messageStyle": "none",
}
highlight_language = "none"

breathe_projects = {"cospec": os.path.join(BUILD, "doxygen", "xml")}
breathe_default_project = "cospec"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False

STYLE = """
.wy-nav-content { max-width: 62rem; }
.wy-table-responsive table td, .wy-table-responsive table th { white-space: normal; min-width: 4.5rem; }
.rst-content div.math svg, .rst-content .mjx-svg-math, .MathJax_SVG_Display { max-width: 100%; overflow-x: auto; overflow-y: hidden; }
.rst-content code.literal { overflow-wrap: break-word; white-space: normal; }
.rst-content h1, .rst-content h2, .rst-content h3, .rst-content h4, .rst-content p, .rst-content li, .rst-content dd { overflow-wrap: break-word; }
.rst-content img { max-width: 100%; height: auto; }
.rst-content dl.c dt, .rst-content dl.py dt { white-space: normal; overflow-wrap: anywhere; }
.wy-breadcrumbs li, .wy-breadcrumbs li.wy-breadcrumbs-aside { display: inline; }
@media (max-width: 600px) {
  .rst-content .wy-table-responsive table.docutils td, .rst-content .wy-table-responsive table.docutils th { padding: 6px; }
  .rst-content .wy-table-responsive table code.literal { padding: 0; border: 0; }
}
@media screen and (max-width: 768px) {
  html.writer-html5 .rst-content dl.field-list { display: block; }
  html.writer-html5 .rst-content dl.field-list > dd { margin-left: 1rem; }
}
"""

# A page for a job comes before pages that define a thing, and these before notebooks and results that mention it. Functions of C
# and Python come last, unless the query is the name of one. The other numbers are Sphinx's own.
SCORER = """
const namesFunction = /cs_|\\w\\.\\w/i.test(new URLSearchParams(window.location.search).get("q") || "");
const weights = [[/^docs\\/how-to/, 3], [/^docs\\/reference\\/c\\//, namesFunction ? 0 : -20], [/^docs\\/reference\\/python\\//, namesFunction ? 5 : -6],
                 [/^docs\\/(explanation|reference)/, 2], [/^(docs\\/(notebooks|results)|CHANGELOG)/, -2]];
var Scorer = {
  score: result => result[4] + (weights.find(weight => weight[0].test(result[0])) || [0, 0])[1],
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0, title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
"""

MODULES = {
    "base": "status, memory, random numbers, threads, hashes",
    "io": "arrays, tables, JSON, records",
    "stats": "intervals, tests, rankings",
    "dist": "groups of processes",
    "plan": "objectives as distributions over plans",
    "text": "corpora, tokenizers, sequences",
    "image": "images and their corpora",
    "tensor": "graphs, backends, parameters",
    "linalg": "matrices, operators, solvers",
    "cooc": "co-occurrence matrices and certified spectra",
    "model": "Transformers, configurations, checkpoints",
    "train": "batches, training, fine-tuning",
    "infer": "hidden states, perplexity, generation",
    "cuda": "the GPU plug-in",
    "toy": "the toy model",
    "analysis/measures": "ranks, connectivity, probes, similarity",
    "analysis/theorems": "theorems, one file for each",
    "analysis/design": "designed objectives",
    "analysis/trained": "trained models against theory",
    "analysis/study": "steps, claims and reports of studies",
}


def public_headers(module):
    folder = module if module == "toy" or module.startswith("analysis/") else "src/" + module
    names = sorted(os.listdir(os.path.join(REPOSITORY, folder)))
    paths = [os.path.join(folder, name) for name in names if name.endswith(".h")]
    return [path for path in paths if open(os.path.join(REPOSITORY, path), encoding="utf8").read(9) == "/** \\file"]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path) or open(path, encoding="utf8").read() != text:
        with open(path, "w", encoding="utf8") as file:
            file.write(text)


def tex(text):
    """A formula as a terminal shows it, in TeX."""
    text = re.sub(r"^\|\|(.*)\|\|", r"\\lVert \1 \\rVert ", " ".join(text.split()))
    text = re.sub(r"^sqrt\((.*)\)$", r"\\sqrt{\1}", re.sub(r"\bAbar\b", r"\\bar A", text))
    text = re.sub(r"(?<![\\A-Za-z])(sigma|lambda|theta|kappa|tau|beta|nu|chi|Delta|sum|max|min|log)(?![A-Za-z])", r"\\\1", text)
    text = re.sub(r"(?<![\\A-Za-z_])([a-z]{2,})(?![A-Za-z])", r"\\text{\1}", text).replace("<=", r"\le ").replace(">=", r"\ge ")
    return re.sub(r"([_^])(-?\w+|\([^()]*\))", r"\1{\2}", text)


# A norm, a root, a sum with its index, or a number, letter, Greek letter or Abar with an index, an argument or an exponent. A word
# is one only with an exponent: identifiers are no formulas.
INDEX = r"(?:_(?:\{[^{}]*\}|[A-Za-z0-9]{1,2}(?!\w)))"
EXPONENT = r"(?:\^(?:\{[^{}]*\}|\([^()]*\)|-?[A-Za-z0-9]+))"
NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
FORMULA = re.compile(rf"(?<![\w\\.$/{{`|-])(?:\|\|(?:\w|[ \^-])+\|\|{INDEX}?{EXPONENT}?|sqrt{NESTED}|sum_\{{[^{{}}]*\}}|[a-z]{{2,}}{EXPONENT}|"
                     rf"(?:sigma|lambda|theta|kappa|beta|nu|chi|Delta|Abar|\d+|[A-Za-z]\d?){INDEX}?(?:\([a-z]\))?{EXPONENT}?{INDEX}?'?)(?![\w^]|`|\.\w)")


def with_equations(text, opening, closing, code):
    """The text with its formulas as equations, outside what `code` matches. Only indices and exponents make a formula."""
    def equation(match):
        found = match[0]
        return opening + tex(found) + closing if re.search(r"[_^]|^Abar$|^sqrt|^\|", found) else found

    parts = re.split("(" + code + ")", text, flags=re.S)
    for i in range(0, len(parts), 2):
        parts[i] = FORMULA.sub(equation, parts[i]).replace(" <= ", " \N{LESS-THAN OR EQUAL TO} ").replace(" >= ", " \N{GREATER-THAN OR EQUAL TO} ")
    return "".join(parts)


def header_with_equations(text):
    """A header whose comments have equations where the source has formulas in ASCII."""
    code = r"\\f\$.*?\\f\$|\\f\[.*?\\f\]|`[^`]*`|\\(?:param|retval)\s+\w+|\"[^\"]*\""
    return re.sub(r"/\*\*.*?\*/", lambda m: with_equations(m[0], r"\f$", r"\f$", code), text, flags=re.S)


def c_reference(source):
    """Public headers, Doxygen's XML of them, and one page for each module with one section for each header."""
    headers = os.path.join(BUILD, "headers")
    shutil.rmtree(headers, ignore_errors=True)
    for module, holds in MODULES.items():
        page = [f"{module}: {holds}", "=" * (len(module) + len(holds) + 2), "",
                "How to call these functions is in :doc:`the C library <../c-api>`.", ""]
        found = public_headers(module)
        for original in found:
            path = f"{module}/{os.path.basename(original)}"
            os.makedirs(os.path.dirname(os.path.join(headers, path)), exist_ok=True)
            with open(os.path.join(REPOSITORY, original), encoding="utf8") as file:
                write(os.path.join(headers, path), header_with_equations(file.read()))
            title = f"cospec/{path}"
            page += [title, "-" * len(title), "", f".. doxygenfile:: {path}", "   :project: cospec", ""]
        if found:
            write(os.path.join(source, "docs", "reference", "c", module.replace("/", "-") + ".rst"), "\n".join(page))
    settings = {
        "INPUT": headers, "RECURSIVE": "YES", "OUTPUT_DIRECTORY": os.path.join(BUILD, "doxygen"), "GENERATE_HTML": "NO",
        "GENERATE_LATEX": "NO", "GENERATE_XML": "YES", "XML_PROGRAMLISTING": "NO", "JAVADOC_AUTOBRIEF": "NO",
        "OPTIMIZE_OUTPUT_FOR_C": "YES", "TYPEDEF_HIDES_STRUCT": "YES", "EXTRACT_STATIC": "YES",
        "FULL_PATH_NAMES": "YES", "STRIP_FROM_PATH": headers, "MACRO_EXPANSION": "YES", "EXPAND_ONLY_PREDEF": "YES", "AUTOLINK_SUPPORT": "NO",
        "PREDEFINED": '"CS_MUST_CHECK=" "CS_PRINTF(a,b)="', "QUIET": "YES", "WARN_AS_ERROR": "FAIL_ON_WARNINGS",
        # parameters are described where name and type do not say enough
        "WARN_IF_INCOMPLETE_DOC": "NO", "SEARCH_INCLUDES": "YES", "INCLUDE_PATH": headers,
        # lists of names that are written once, in the enumerations made of them
        "EXPAND_AS_DEFINED": "CS_OBJECTIVES CS_OBJECTIVE_KIND CS_CONTEXT_MODES CS_CONTEXT_MODE CS_CONTEXT_PAIRS CS_CONTEXT_PAIR",
        "HAVE_DOT": "NO", "INCLUDE_GRAPH": "NO", "INCLUDED_BY_GRAPH": "NO",
    }
    os.makedirs(settings["OUTPUT_DIRECTORY"], exist_ok=True)
    if subprocess.run(["doxygen", "-"], input="\n".join(f"{k} = {v}" for k, v in settings.items()), text=True, check=False).returncode != 0:
        raise ExtensionError("Doxygen refuses the public headers; its messages are above")
    check_enumerators(os.path.join(settings["OUTPUT_DIRECTORY"], "xml"))


def check_enumerators(folder):
    """Doxygen does not warn of enumerators without a comment. Those that a list of names makes have the comment of their enumeration."""
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".xml")):
        for enum in ElementTree.parse(os.path.join(folder, name)).iter("memberdef"):
            if enum.get("kind") != "enum" or enum.findtext("name") in ("cs_objective_kind", "cs_context_mode", "cs_context_pairs"):
                continue
            for value in enum.iter("enumvalue"):
                if not any("".join(value.find(part).itertext()).strip() for part in ("briefdescription", "detaileddescription")):
                    raise ExtensionError(f"{value.findtext('name')} has no comment")


def rst_text(text):
    """Text of a docstring as reStructuredText: names in backquotes as code, formulas as equations, other characters as they are."""
    parts = re.split(r"(:math:`[^`]*`|`[^`]+`)", with_equations(text, ":math:`", "`", r"`[^`]*`"))
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"_(?!\w)", r"\\_", re.sub(r"([*|\\])", r"\\\1", part))
        elif part.startswith("`"):
            parts[i] = f"`{part}`"
        else:
            parts[i] = ("" if not parts[i - 1] or parts[i - 1][-1].isspace() else r"\ ") + part + ("" if parts[i + 1][:1] in ("", " ", "\n") else r"\ ")
    return "".join(parts)


def displayed_equations():
    """The displayed formulas of command descriptions in TeX, as docs/reference/cli.md has them."""
    with open(os.path.join(REPOSITORY, "src", "cli", "opt_equations.c"), encoding="utf8") as file:
        rows = re.findall(r'\{("(?:[^"\\]|\\.)*"),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}', file.read())
    return {ast.literal_eval(ascii): "".join(map(ast.literal_eval, re.findall(r'"(?:[^"\\]|\\.)*"', tex_of))) for ascii, tex_of in rows}


def rst_docstring(docstring):
    """The body of a function's or class's entry. Literal blocks stay as they are, except formulas."""
    equations = displayed_equations()
    docstring = re.sub(r"^( *)::\n\n +(\S.*)$", lambda m: f"{m[1]}.. math:: {equations[m[2]]}" if m[2] in equations else m[0],
                       docstring, flags=re.M)
    blocks, literal = [], None  # lines of prose with the same indentation, and other lines
    for line in docstring.split("\n"):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        prose = literal is None and line.strip() and not re.match(r"\s*(-+$|\.\. math::)", line)
        if prose and blocks and blocks[-1][0] == indent:
            blocks[-1][1].append(line)
        else:
            blocks.append((indent if prose else None, [line]))
        if literal is None and line.endswith("::"):
            literal = indent
    lines = [rst_text("\n".join(block)) if indent is not None else block[0] for indent, block in blocks]
    settings = Config(napoleon_use_param=True, napoleon_use_rtype=False, napoleon_use_ivar=True)
    return str(NumpyDocstring("\n".join(lines), settings)).split("\n")


def signature(function, method=False):
    """Parameters and defaults; their types are in the descriptions."""
    arguments = function.args
    for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs + [a for a in (arguments.vararg, arguments.kwarg) if a]:
        argument.annotation = None
    return "(" + ast.unparse(arguments).removeprefix("self").removeprefix(", ") + ")" if method else "(" + ast.unparse(arguments) + ")"


def python_entries(path, names=None):
    """(name, title, lines) of the public functions and classes of a module, in its order."""
    with open(path, encoding="utf8") as file:
        tree = ast.parse(file.read())
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or (names is not None and node.name not in names):
            continue
        docstring = ast.get_docstring(node)
        summary = " ".join(docstring.split("\n\n")[0].split())
        if isinstance(node, ast.FunctionDef):
            lines = [f".. py:function:: cospec.{node.name}{signature(node)}", ""]
        else:
            lines = [f".. py:class:: cospec.{node.name}", ""]
        lines += textwrap.indent("\n".join(rst_docstring(docstring)), "   ").split("\n") + [""]
        for member in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                kind = "property" if member.decorator_list else "method"
                lines += [f"   .. py:{kind}:: {member.name}{'' if member.decorator_list else signature(member, True)}", ""]
                lines += textwrap.indent("\n".join(rst_docstring(ast.get_docstring(member))), "      ").split("\n") + [""]
        yield node.name, f"cospec.{node.name}: {summary.rstrip('.')}", lines


def python_reference(source):
    """A page for each public function and class of the module."""
    package = os.path.join(REPOSITORY, "src", "python", "cospec")
    entries = [*python_entries(os.path.join(BUILD, "_commands.py"))]
    for file, names in (("_memory.py", {"dimension"}), ("_files.py", {"read"}), ("_run.py", {"Result", "Picture", "CospecError", "CospecWarning"})):
        entries += python_entries(os.path.join(package, file), names)
    for name, title, lines in entries:
        page = [rst_text(title), "=" * 2 * len(title), "", "How results and arrays are passed is in :doc:`the Python module <../python-api>`.", ""]
        write(os.path.join(source, "docs", "reference", "python", name.replace("_", "-").lower() + ".rst"), "\n".join(page + lines))


def static_files():
    """The style, and what MathJax needs to turn TeX into SVG."""
    static = os.path.join(BUILD, "static")
    write(os.path.join(static, "site.css"), STYLE)
    write(html_search_scorer, SCORER)
    mathjax = "/usr/share/javascript/mathjax"
    for part in ("MathJax.js", "config/TeX-AMS_SVG.js", "extensions", "jax/element", "jax/input/TeX", "jax/output/SVG/jax.js",
                 "jax/output/SVG/config.js", "jax/output/SVG/autoload", "jax/output/SVG/fonts/TeX"):
        origin, copy = os.path.join(mathjax, part), os.path.join(static, "mathjax", part)
        if os.path.isdir(origin):
            shutil.copytree(origin, copy, dirs_exist_ok=True)
        else:
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(origin, copy)


def output_blocks(output, title, store):
    """The Markdown of one output of a notebook; `store` writes the bytes of a figure and returns the name of its file."""
    if output["output_type"] == "stream":
        return ["```text", "".join(output["text"]).rstrip("\n"), "```"]
    data = output["data"]
    if "image/png" in data:
        return [f"![{title}]({store(base64.b64decode(data['image/png']))})"]
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>|\n\s*| style=\"text-align: right;\"", "", "".join(data["text/html"]), flags=re.S)
        return ["```{raw} html", table.replace('border="1" class="dataframe"', 'class="docutils"'), "```"]
    return ["```text", "".join(data["text/plain"]), "```"]


def notebook_page(app, name, source):
    """The page of an executed notebook: its text, code and stored outputs. The first comment of a cell describes its figure."""
    page, figures = [], []

    def store(content):
        file = f"{os.path.basename(name)}-{len(figures) + 1}.png"
        figures.append(file)
        with open(os.path.join(app.srcdir, os.path.dirname(name), file), "wb") as out:
            out.write(content)
        return file

    for cell in json.loads(source)["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            page += [text, ""]
            continue
        page += ["```python", text, "```", ""]
        for output in cell["outputs"]:
            page += output_blocks(output, text.partition("\n")[0].lstrip("# "), store) + [""]
    title, _, rest = "\n".join(page).partition("\n")
    download = f"{{download}}`Download the notebook <{os.path.basename(name)}.ipynb>`"
    return f"{title}\n\n{download}\n{rest}"


def add_contents(app, name, text):
    """The contents at the left of the site, from the links of docs/index.md: one part for each of its headings."""
    if name == root_doc:
        for part in re.split(r"^## ", text[0], flags=re.M)[1:]:
            title = part.split("\n")[0].split(":")[0]
            pages = dict.fromkeys(re.findall(r"\]\(([^)#]+)\.(?:md|ipynb)\)", part))
            text[0] += "\n```{toctree}\n:hidden:\n:caption: " + title + "\n\n" + "\n".join(pages) + "\n```\n"
    elif app.env.doc2path(name).endswith(".ipynb"):
        text[0] = notebook_page(app, name, text[0])
    elif name == "docs/reference/c-api":
        text[0] += "\n## Reference of all functions\n\n```{toctree}\n:glob:\n\nc/*\n```\n"
    elif name == "docs/reference/python-api":
        text[0] += "\n## Reference of all functions\n\n```{toctree}\n:glob:\n\npython/*\n```\n"
    for words in re.findall("<!-- keywords: (.*) -->", text[0]):
        text[0] = text[0].replace(f"<!-- keywords: {words} -->", "```{index} " + words + "\n```")


def restore_index(app):
    """Sphinx 5 drops the keywords of pages that did not change from the index of the search."""
    for page, entries in app.env.get_domain("index").entries.items():
        app.builder.indexer._index_entries.setdefault(page, sorted({(entry[1].lower(), entry[2], entry[3]) for entry in entries}))
    return []


def setup(app):
    static_files()
    c_reference(app.srcdir)
    python_reference(app.srcdir)
    app.connect("source-read", add_contents)
    app.connect("html-collect-pages", restore_index)
