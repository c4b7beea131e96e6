"""Counts of word vectors on a real corpus, and their scores, against numpy and scipy.

The counts are written from the papers: GloVe's 1/d, the expectation of word2vec's dynamic window, and hyperwords' subsampling with gaps.
Vectors come from a dense singular value decomposition of PMI, scores from scipy.stats and from the definitions of 3CosAdd and 3CosMul.
"""
import os
import tempfile

import numpy as np
import scipy.sparse as sp
from scipy.stats import spearmanr

from harness import Checks, Failure, cospec, differ

FORMS = {"flat": lambda d, w: 1.0, "linear": lambda d, w: (w - d + 1) / w, "harmonic": lambda d, w: 1 / d}


def read(folder):
    """Tokens, ends of documents, words and the matrix."""
    with np.load(os.path.join(folder, "corpus.npz")) as corpus:
        token, ends = corpus["token"], corpus["doc_ptr"]
    with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as source:
        words = source.read().splitlines()
    return token, ends, words, sp.load_npz(os.path.join(folder, "matrix.npz")).tocsr()


def count(token, ends, size, width, pairs, both):
    """Weighted counts of (context, target): contexts to the left, and half of those on both sides if `both`."""
    out = sp.csr_matrix((size, size))
    document = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    for d in range(1, width + 1):
        same = document[d:] == document[:-d]
        left, right = token[:-d][same], token[d:][same]
        out += sp.csr_matrix((np.full(len(left), FORMS[pairs](d, width)), (left, right)), (size, size))
    return (out + out.T) / 2 if both else out


def largest_gap(matrix, wanted):
    """Relative to the largest count: rows are in the order of hashed keys, so both are sorted by their products with one random vector."""
    wanted = wanted[np.asarray(wanted.sum(1)).ravel() > 0]
    if matrix.shape != wanted.shape:
        return None, f"shape {matrix.shape}, expected {wanted.shape}"
    probe = np.random.default_rng(1).random(matrix.shape[1])
    ours, theirs = wanted @ probe, matrix @ probe
    return abs(matrix[np.argsort(theirs)] - wanted[np.argsort(ours)]).max() / abs(wanted).max(), None


def check_counts(folder, objective, width, pairs, threshold):
    options = {"subsample": threshold} if threshold else {}
    out = os.path.join(folder, "m")
    got = cospec("cooc", corpus="foldoc", vocab=500, objective=objective, context=f"each:{width}:{pairs}", force=True, o=out, **options)
    token, ends, words, matrix = read(out)
    wanted = count(token, ends, len(words), width, pairs, objective == "permuted-ar")
    if threshold:
        share = np.bincount(token, minlength=len(words)) / len(token)
        keep = sp.diags(np.minimum(1, np.sqrt(threshold / np.maximum(share, 1e-300))))
        wanted = keep @ wanted @ keep
    gap, why = largest_gap(matrix * (got["unit"] if got["exact"] else 1), wanted.tocsr())
    return why or differ(gap, 0, 1e-9, "largest difference")


def write_files(rng, words, folder):
    """Pairs with random scores and random questions, a few of them with a word that has no vector; some words in upper case."""
    def pick():
        word = words[int(rng.integers(1, len(words)))]
        return word.upper() if rng.random() < 0.2 else word
    pairs = [(pick(), pick(), rng.integers(0, 20)) for _ in range(200)] + [("qqqqq", pick(), 3)]
    questions = [[pick() for _ in range(4)] for _ in range(400)] + [["qqqqq"] * 4]
    with open(os.path.join(folder, "pairs.tsv"), "w", encoding="utf-8") as out:
        out.writelines(f"{a}\t{b}\t{s}\n" for a, b, s in pairs)
    with open(os.path.join(folder, "questions.txt"), "w", encoding="utf-8") as out:
        out.writelines([": one\n"] + [" ".join(q) + "\n" for q in questions[:150]] + [": two\n"] + [" ".join(q) + "\n" for q in questions[150:]])
    return pairs, questions


def check_scores(rng, folder, power, k):
    """Symmetric counts of positive PMI: vectors of tokens from the dense matrix."""
    out = os.path.join(folder, "m")
    cospec("cooc", corpus="foldoc", vocab=300, objective="permuted-ar", context="each:5:linear", force=True, o=out)
    token, ends, words, _ = read(out)
    a = count(token, ends, len(words), 5, "linear", True).toarray()
    a /= a.sum()
    e = np.outer(a.sum(1), a.sum(0))
    _, s, v = np.linalg.svd(np.maximum(0, np.log(np.where(a > 0, a / np.where(e > 0, e, 1), 1))))
    x = (v[:k] * s[:k, None] ** power).T
    x[0] = 0
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    index = {w: i for i, w in enumerate(words)}
    pairs, questions = write_files(rng, words, folder)
    found = [(index[p.lower()], index[q.lower()], s) for p, q, s in pairs if p.lower() in index]
    wanted = [spearmanr([s for _, _, s in found], [x[i] @ x[j] for i, j, _ in found]).statistic]
    right = []
    for q in questions[:-1]:
        i = [index[w.lower()] for w in q]
        cos = x @ x[i[:3]].T
        scores = [cos[:, 1] - cos[:, 0] + cos[:, 2], (1 + cos[:, 1]) / 2 * (1 + cos[:, 2]) / 2 / ((1 + cos[:, 0]) / 2 + 0.001)]
        for score in scores:
            score[i[:3] + [0]] = -np.inf
        right.append([np.argmax(score) == i[3] for score in scores])
    wanted += [np.mean([r[m] for r in part]) for part in (right[:150], right[150:], right) for m in range(2)]
    got = cospec("inspect", out, form="ppmi", dimensions=k, power=power, similarity=os.path.join(folder, "pairs.tsv"),
                 analogies=os.path.join(folder, "questions.txt"))["scores"]
    counts = [(r["items"], r["missing"]) for r in got]
    if counts != [(200, 1), (150, 0), (150, 0), (250, 1), (250, 1), (400, 1), (400, 1)]:
        return f"items and missing {counts}"
    return differ([r["value"] for r in got], wanted, 1e-9)


def main():
    checks = Checks("words")
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        try:
            cospec("data", "stats", "foldoc")
        except Failure as error:
            checks.skip("corpus", str(error)[-200:])
            return
        for objective in ("ar", "permuted-ar"):
            for width, pairs, threshold in ((10, "harmonic", None), (5, "linear", None), (3, "flat", None), (5, "linear", 1e-3)):
                checks.run(f"{objective} each:{width}:{pairs} {threshold or ''}".strip(), check_counts, folder, objective, width, pairs, threshold)
        for power, k in ((0, 20), (0.5, 50), (1, 10)):
            checks.run(f"scores power={power} k={k}", check_scores, rng, folder, power, k)
    checks.exit()


if __name__ == "__main__":
    main()
