"""Writes the module cospec/_commands.py: a function for each command of the program.

usage: cospec help --tables | generate.py > _commands.py

Signature and docstring come from the option tables of the program, so that the two cannot differ. The figures that a
result has come from the scripts plots/*.gp. Each has the columns that it draws in its line "# input:", and a line
"# result: COMMAND FILE [OPTIONS OF cospec plot][, CONDITION]..." for each table that it draws by default. A condition
is "several COLUMN" (two values or more), "numbered COLUMN" (two numbers or more), "known COLUMN" (a value at least)
or "COLUMN among COLUMN" (of the values there).
"""
import json
import os
import re
import sys
import textwrap

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "cospec")]
from _words import in_python, parameter  # noqa: E402
from results import COLUMNS, FILES  # noqa: E402

PRINTING = {"json", "csv", "all", "metric", "quiet", "help", "help-all"}  # a Result has everything

LETTER = {"k"}  # letters that are names in Python too
NAMES = {("svd", 0): "matrix", ("density", 0): "matrix", ("angles", 0): "first", ("angles", 1): "second"}
GRAM = ("gram", "Optional[bool]", "bool, optional",
        "Whether an array is a Gram form, as of context unique. None: as `cooc` and `read` marked it.")
# The documentation of an array in place of a path, by the parameter that takes it, and of its result.
MATRIX = "array, sparse matrix, DataFrame or tensor of counts of shape (contexts, tokens), or a path"
ROWS = "array, sparse matrix, DataFrame or tensor of shape (n, d), or a path"
IN_MEMORY = {
    "toy": ({}, []),
    "svd": ({"matrix": MATRIX}, [
        ("sigma", "array of k floats in [0, 1]", "Singular values, descending."),
        ("residual", "array of k floats", "Norm of the residual of each triplet, without unit."),
        ("u, v", "arrays of shape (contexts, k) and (tokens, k)", "Singular vectors, with vectors=True. A Gram "
         "form has no u."),
        ("row_mass, col_mass", "arrays of contexts and of tokens", "Marginals of the matrix, with sum 1; of an array.")]),
    "connectivity": ({"files": MATRIX + ". With pairs= features: an array of shape (n, d)"}, [
        ("gap", "float in [0, 1]", "1 - sigma_2 of the heaviest component."),
        ("sigma", "array of k floats", "Singular values, descending.")]),
    "rank": ({"files": ROWS}, [
        ("rank_tau", "float", "A number of dimensions, as of all ranks; the column `se` of `frame` has its standard "
         "error."),
        ("eigenvalues", "array of min(n, d) floats", "Those of H^T H, descending, in squared units of the rows.")]),
    "similarity": ({"files": ROWS, "with": ROWS}, [
        ("cka, cka_unbiased", "float", "Linear CKA, at most 1, without unit."),
        ("procrustes", "float in [0, 2]", "Squared distance of the normalised matrices."),
        ("angles", "dict", "`radians`: principal angles, ascending.")]),
    "probe": ({"train_or_model": ROWS, "test_or_train": ROWS,
               "labels": "n texts or integers (floats with regression=True), or a path",
               "test-labels": "texts or integers, or a path"}, [
        ("accuracy, f1, f1-macro, matthews", "float", "Scores of the test examples. With regression=True `pearson`, "
         "`spearman` and `mse`, the latter in squared units of the labels."),
        ("frame", "DataFrame", "Over seeds `value` is the median, and `low` and `high` are the order statistics that cover it, "
         "NaN with one seed. `se` is the standard error over test examples.")]),
    "cooc": ({"corpus": "list of texts, list of sequences of ids, array of ids of shape (documents, length) padded with -1, "
              "or pair (ids, offsets) of arrays; or a name or path"}, [
        ("matrix", "scipy CSR of shape (contexts, tokens)", "Counts in multiples of `unit`."),
        ("rows, cols", "int", "The shape of the matrix."),
        ("mass", "float", "Mass of the matrix in predicted tokens."),
        ("vocab", "list of texts", "The token of each column; of texts.")]),
}
DENSE = " A dense matrix becomes CSR, with 12 bytes for each value that is not zero (4 where none of a float64 array in C " \
        "order is zero). %s"
COPIES = {  # of arrays, and what the command needs in addition
    "svd": DENSE % "The solver holds about three times the size of the CSR in addition.",
    "connectivity": DENSE % "The solver holds about three times the size of the CSR in addition.",
    "similarity": " A float64 matrix with the columns of both is made in addition.",
    "cooc": " Arrays of int32 ids without padding are not copied. Counting takes up to `memory`.",
}
TEXTS = "path, name, list of texts, or DataFrame with a column text (and label)"
ARRAYS = {"groups": "n integers or other hashable ids, or a path", "test-groups": "integers or other hashable ids, or a path",
          "drop-rows": "row numbers or n booleans, or a path"}  # of options
LA = "Zhang et al. (2024), Look Ahead or Look Around? A Theoretical Comparison Between Autoregressive and Masked " \
     "Pretraining, %s. https://arxiv.org/abs/2407.00935"
MAE_LM = "Meng et al. (2024), Representation Deficiency in Masked Language Modeling, %s. https://arxiv.org/abs/2302.02060"
OURS = "docs/explanation/%s has the derivation."
SOURCES = {
    "toy": [LA % "sections 4.1.2 and 4.2", OURS % "theorem-4-2.md"],
    "cooc": [LA % "section 3.2; equations 3, 5 and 6 (objectives)"],
    "svd": [LA % "section 3.2", OURS % "spectra.md"],
    "density": ["Ubaru, Chen and Saad (2017), Fast estimation of tr(f(A)) via stochastic Lanczos quadrature, SIAM J. Matrix "
                "Anal. Appl. 38."],
    "verify": [LA % "theorems 3.1, 4.1, 4.2 and 4.3", MAE_LM % "section 3", OURS % "theorems.md"],
    "connectivity": [LA % "section 4.1.1 and Figure 2", "Chung (1997), Spectral Graph Theory (Cheeger inequality).",
                     OURS % "population-estimates.md"],
    "inspect": [LA % "section 3.2"],
    "angles": ["Bjorck and Golub (1973), Numerical methods for computing angles between linear subspaces, Math. Comp. 27."],
    "rank": [MAE_LM % "Figure 1 (rank_tau)", "Roy and Vetterli (2007), The effective rank, EUSIPCO (entropy_rank).",
             "Garrido et al. (2023), RankMe, ICML (rankme).",
             "Quenouille (1956), Notes on bias in estimation, Biometrika 43 (rank_tau_corrected)."],
    "phases": ["Li et al. (2025), Tracing the representation geometry of language models from pretraining to post-training, "
               "NeurIPS.", "Agrawal et al. (2022), alpha-ReQ, NeurIPS (decay_exponent).", OURS % "effective-rank.md"],
    "mask-rank": [MAE_LM % "sections 2 and 4.4; Figures 1, 5a and 6"],
    "similarity": ["Kornblith, Norouzi, Lee and Hinton (2019), Similarity of neural network representations revisited, ICML "
                   "(cka).",
                   "Song et al. (2012), Feature selection via dependence maximization, JMLR 13, equation 5 (cka_unbiased).",
                   "Ding, Denain and Steinhardt (2021), Grounding representation similarity, NeurIPS (procrustes).",
                   "Facco et al. (2017), Scientific Reports 7 (intrinsic_dimension).",
                   "Mu and Viswanath (2018), All-but-the-Top, ICLR (partition_isotropy)."],
    "probe": ["Alain and Bengio (2016), Understanding intermediate layers using linear classifier probes. "
              "https://arxiv.org/abs/1610.01644",
              "Liu and Nocedal (1989), On the limited memory BFGS method, Mathematical Programming 45."],
    "perplexity": ["Salazar et al. (2020), Masked language model scoring, ACL (pseudo-perplexity)."],
    "correlate": ["Kendall (1938), A new measure of rank correlation, Biometrika 30 (tau).",
                  "Kendall (1942), Partial rank correlation, Biometrika 32 (values at constant loss)."],
    "tokenize": ["Sennrich, Haddow and Birch (2016), Neural machine translation of rare words with subword units, ACL (bpe).",
                 "van den Oord et al. (2017), Neural discrete representation learning, NeurIPS (vq)."],
    "kernel": [OURS % "refinement-and-kernel.md"],
    "design": [OURS % "designed-objectives.md"],
    "tradeoff": [LA % "theorems 4.1 and 4.3", OURS % "theorem-4-2.md"],
    "train": [LA % "equations 3, 5 and 6"],
    "finetune": ["Devlin et al. (2019), BERT: Pre-training of deep bidirectional Transformers, NAACL (heads and learning rates).",
                 "Schick and Schuetze (2021), Exploiting cloze questions for few-shot text classification, EACL (cloze).",
                 OURS % "evaluation.md"],
    "features": ["Reimers and Gurevych (2019), Sentence-BERT, EMNLP (mean pooling).", OURS % "evaluation.md"],
    "generate": ["Holtzman et al. (2020), The curious case of neural text degeneration, ICLR (top_p).",
                 "Wang and Cho (2019), BERT has a mouth, and it must speak, NeuralGen (masked models)."],
    "reconstruct": ["He et al. (2022), Masked autoencoders are scalable vision learners, CVPR. https://arxiv.org/abs/2111.06377",
                    "Wang et al. (2004), Image quality assessment: from error visibility to structural similarity, IEEE Trans. "
                    "Image Processing 13 (ssim).", LA % "Table 8 (feedback)"],
    "compare": ["Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6.",
                "Kornblith et al. (2019), Similarity of neural network representations revisited, ICML (cka).", OURS % "decisions.md"],
    "align": ["Cheng et al. (2025), Next Token Perception Score. https://arxiv.org/abs/2505.17169", OURS % "alignment.md"],
}


def identifier(text):
    name = re.sub(r"\W", "_", text.replace("|", "_or_")).lower().strip("_")
    return name if re.match("[a-z]", name) else "what"


def positionals(command):
    """(name, repeated, optional, pattern) of each argument."""
    found = []
    for place, word in enumerate((command["positional"] or "").split()):
        pattern = word
        repeated = "..." in word
        word = word.replace("...", "")
        optional = re.fullmatch(r"\[[^\[\]]*(\[\w+=\][^\[\]]*)?\]", word) is not None
        word = word[1:-1] if optional else word
        word = re.sub(r"\[\w+=\]|\[:\w+\]|\.\w+$", "", word)
        name = NAMES.get((command["name"], place)) or identifier(word)
        if word.islower() and "|" in word:
            name = "action"
        if repeated:
            name = "files" if re.search("file|dir", name) else name + "s"
        found.append((name, repeated, optional, pattern))
    return found


def default_of(option):
    kind, value = option["kind"], option["default"]
    if kind == "flag":
        return "False"
    if value is None:
        return "None"
    if kind == "int":
        return str(int(float(value)))
    if kind == "real":
        return repr(float(value))
    return repr(value)


def type_of(option):
    kind = option["kind"]
    choices = (option["argument"] or "").split("|")
    if kind == "flag":
        return "bool"
    if kind == "int":
        base = "int"
    elif kind == "real":
        base = "float"
    elif kind == "choice" and all(re.fullmatch(r"[\w.-]+", c) and not c.isupper() for c in choices):
        base = "Literal[%s]" % ", ".join(map(repr, choices))
    else:
        base = "Value"
    return base if option["default"] is not None else "Optional[%s]" % base


def described(option):
    """The type of a parameter in words, and its default."""
    kind, default = option["kind"], default_of(option)
    choices = type_of(option)
    if kind == "flag":
        words = "bool"
    elif kind in ("int", "real"):
        words = "int" if kind == "int" else "float"
    elif "Literal[" in choices:
        words = "{%s}" % choices[choices.index("[", choices.index("Literal")) + 1:choices.index("]")]
    else:
        words = "str, number or path"
    return words + (", optional" if default == "None" else ", default %s" % default)


def is_corpus(command, pattern):
    """Whether an argument is one corpus, in whose place texts may be given."""
    words = re.findall(r"\w+", pattern)
    return "CORPUS" in words or pattern == "NAME|FILE|DIR" or (command in ("finetune", "probe") and bool({"TRAIN", "TEST"} & set(
        words)) and words[0] != "MODEL" and words != ["TRAIN", "MODEL"]) or (command == "tokenize" and pattern == "[FILE]")


def table_of(command):
    """The options of a command that are parameters, as cospec._words has them."""
    return {o["name"]: (o["kind"] if o["kind"] in ("flag", "choice") else "", o["argument"] or "") for o in parameters_of(command)}


def parameters_of(command):
    return [o for o in command["options"] if o["heading"] or o["name"] not in PRINTING]


def sentence(text):
    return text[:1].upper() + text[1:]


def paragraph(text, indent):
    return textwrap.fill(" ".join(text.split()), 96, initial_indent=indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def description(text):
    """Paragraphs, with lines that start with two blanks as they are."""
    blocks = []
    for block in (text or "").strip("\n").split("\n\n"):
        if block.startswith("  "):
            blocks.append("::\n\n" + textwrap.indent(block, "        "))
            blocks[-1] = "    " + blocks[-1]
        else:
            blocks.append(paragraph(block, "    "))
    return "\n\n".join(blocks)


def listed(rows):
    return [textwrap.fill("- %s: %s" % (", ".join("`%s`" % name for name in names.split(", ")), " ".join(text.split())), 96,
                          initial_indent="        ", subsequent_indent="          ", break_long_words=False, break_on_hyphens=False)
            for names, text in rows]


def returned(command, in_memory):
    """The attributes of a command's Result: columns, files, and arrays and values in memory."""
    name, lines = command["name"], []
    columns, files = COLUMNS[name], FILES.get(name, [])
    if columns:
        lines += ["        Columns of `frame`:", "", *listed(columns), ""]
    elif columns is not None:
        lines += ["        The columns and files of the repeated run.", ""]
    else:
        lines += ["        It has no table. `text` has what the command prints.", ""]
    if files:
        lines += ["        Files of `path`; `result[name]` reads NAME.npy, NAME.npz or NAME.csv:", "", *listed(files), ""]
    if in_memory:
        lines += ["        Values of `result[name]`:", ""]
        lines += listed((names, "%s. %s" % (kind, text)) for names, kind, text in in_memory) + [""]
    return lines[:-1]


def function(command, all_options):
    """The function of a command; all_options has the options of every command, for texts that mention one."""
    known = {**all_options, **table_of(command)}
    name = identifier(command["name"].replace("-", "_"))
    memory, given = IN_MEMORY.get(command["name"], ({}, []))
    in_memory = command["name"] in IN_MEMORY
    extra = [GRAM] if command["name"] in ("svd", "connectivity") else []
    arguments, rows, corpora, starred = [], [], [], False
    for place, repeated, optional, pattern in positionals(command):
        last = repeated and place == positionals(command)[-1][0]
        starred = starred or last
        arguments.append("*%s: Source" % place if last else "%s: %s%s" % (
            place, "Optional[Source]" if optional else "Sources" if repeated else "Source",
            " = None" if optional else ""))
        texts = not repeated and is_corpus(command["name"], pattern)
        corpora += [place] if texts else []
        rows.append((("*" if last else "") + place,
                     memory.get(place) or ("path, name or list" if repeated else TEXTS if texts else "path or name") + (
                         ", optional" if optional else ""),
                     "%s of the command line." % pattern))
    options = parameters_of(command)
    first = [] if arguments else [o for n in ("corpus", "objective") for o in options if o["name"] == n]
    keyword = []
    letters, repeated_options = [], [o["name"] for o in options if o["repeated"]]
    for option in first + [o for o in options if o not in first]:
        key = parameter(option["name"])
        array = memory.get(option["name"]) or (ARRAYS.get(option["name"]) if "files" in memory or "labels" in memory else None)
        texts = is_corpus(command["name"], option["argument"] or "")
        corpora += [key] if texts else []
        kind = "Optional[Array]" if array else "Optional[Corpus]" if texts else type_of(option)
        (arguments if option in first else keyword).append("%s: %s = %s" % (key, kind, default_of(option)))
        rows.append((key, (array or TEXTS) + ", optional" if array or texts else described(option),
                     sentence(in_python(option["help"], known)) + (
            " May be a list." if option["repeated"] else "")))
        if option["letter"] in LETTER and option["letter"] != key:
            letters.append(option["letter"])
            keyword.append("%s: %s = None" % (option["letter"], "Optional[Value]"))
            rows.append((option["letter"], "str or number, optional", "Short for `%s`." % key))
    for key, kind, words, text in extra:
        keyword.append("%s: %s = None" % (key, kind))
        rows.append((key, words, text))
    keyword.append("progress: Progress = True")
    rows.append(("progress", "bool or callable, default True", "Show notes and progress on standard error. A callable "
                 "gets (stage, done, total), in this process from another thread; what it raises ends the work and is raised here."))
    if not starred:
        arguments.append("*")
    signature = "\n".join("    %s," % a for a in arguments + keyword)
    doc = ['    """', "    %s." % command["summary"], "",
           description(in_python(command["description"] or "", known)), ""]
    if memory:
        doc += [paragraph("Arrays are passed without copying where their type fits." + COPIES.get(command["name"], ""), "    "), ""]
    doc += ["    Parameters", "    ----------"]
    for key, kind, text in rows:
        doc += ["    %s : %s" % (key, kind), paragraph(text, "        ")]
    doc += ["", "    Returns", "    -------", "    Result", *returned(command, given)]
    doc += ["", "    Raises", "    ------", "    CospecError",
            "        As the program refuses the same on the command line; `code` is its exit code: 2 a wrong",
            "        argument, 3 bad input, files or memory, 5 the device, 130 an interrupt."]
    if in_memory:
        doc += ["    TypeError, ValueError", "        An argument of a type or shape that no option has."]
    doc += ["", "    Warns", "    -----", "    CospecWarning", "        The result did not converge or is not certified "
            "(exit code 4)."]
    if command["examples"]:
        doc += ["", "    Notes", "    -----", "    On the command line::", "",
                textwrap.indent(command["examples"].strip(), "        ")]
    if command["name"] in SOURCES:
        doc += ["", "    References", "    ----------"]
        doc += [paragraph(source, "    ") + "\n" for source in SOURCES[command["name"]]]
        doc[-1] = doc[-1].rstrip()
    doc.append('    """')
    body = "\n".join(doc).replace("\\", "\\\\")
    json_too = any(o["name"] == "json" for o in command["options"])
    settings = ["json=%s" % json_too] + ["%s=%r" % (key, tuple(value)) for key, value in (
        ("letters", letters), ("repeated", repeated_options), ("corpora", corpora)) if value]
    return '@command("%s", %s)\ndef %s(\n%s\n) -> Result:\n%s\n    raise NotImplementedError\n' % (
        command["name"], ", ".join(settings), name, signature, body)


def figures(order):
    """A row of cospec._figures.Drawing for each line "# result:"; order: the names of the figures."""
    found = []
    for name in order:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "plots", name + ".gp")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        columns = re.search(r"\(columns ([\w, \n#]+)", text[text.index("# input: "):])[1].replace("#", " ")
        for line in re.findall("^# result: (.*)$", text, re.M):
            words, *conditions = line.split(", ")
            command, table, *options = words.split()
            found.append((name, command, table, tuple(options), tuple(conditions),
                          tuple(c.strip() for c in columns.split(",") if c.strip())))
        if not found or found[-1][0] != name:
            sys.exit("%s: no line # result:" % path)
    return found


def main():
    tables = json.load(sys.stdin)
    options = {name: row for c in tables["commands"] for name, row in table_of(c).items() if name not in PRINTING}
    names = [identifier(c["name"].replace("-", "_")) for c in tables["commands"]]
    print('"""A function for each command, generated from the option tables of the program."""')
    print("from __future__ import annotations\n")
    print("from typing import Literal, Optional\n")
    print("from ._run import Array, Corpus, Progress, Result, Source, Sources, Value, command\n")
    print("version = %r" % tables["version"])
    print("options: 'dict[str, tuple[str, str]]' = {\n    %s}" % ",\n    ".join("%r: %r" % row for row in sorted(options.items())))
    plot = next(c for c in tables["commands"] if c["name"] == "plot")
    print("figures: 'list[tuple[str, str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]' = [\n    %s]" % ",\n    ".join(
        map(repr, figures(re.search(r"Figures: ([^.]+)\.", plot["description"])[1].replace("\n", " ").split(", ")))))
    print("__all__ = [%s]" % ", ".join('"%s"' % n for n in names if n != "help"))
    for c in tables["commands"]:
        print("\n")
        print(function(c, options), end="")


if __name__ == "__main__":
    main()
