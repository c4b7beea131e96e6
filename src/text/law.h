/* Laws of text: corpora whose every probability is known. A document has a class c with probability
 * weight_c and `length` tokens of the hidden Markov chain of c:
 *
 *     P(x_1 .. x_n | c) = sum over z of start(z_1) emit(z_1, x_1) next(z_1, z_2) emit(z_2, x_2) ...
 *
 * Named on a command line as KIND:KEY=VALUE,...
 *
 *     markov  states=V  the words are the states of a Markov chain
 *             order=K   its states are the K words before; 0: independent words
 *     hmm     states=H  hidden states, words=V
 *     grammar a probabilistic context-free grammar of binary rules: symbols=S, depth=D, words=V. A
 *             sentence is a tree whose leaves, 2^D, all have depth D: each symbol above has two
 *             children by its rule's law P(B C | A), each leaf a word by P(v | A). Sentences follow
 *             each other. Read from left to right it is a hidden Markov chain (law_grammar_private.h).
 *     all     concentration=A  rows of transitions are Dirichlet's with parameters A n p: p over n
 *                       words proportional to 1 / (rank + 1)^zipf, of hidden states, and of pairs of
 *                       symbols, uniform; inf: p
 *             emission=A  the same of the words of hidden states or symbols (else concentration)
 *             zipf=B, length=N (of a grammar 2^D), documents=D
 *             classes=C (equally likely, each with rows of its own; of a grammar its root, symbol 0 ..
 *                       C - 1, under the same rules)
 *             seed=S    of the rows, sample=S: of the documents
 *             file=FILE.json  the rows from a file (docs/reference/synthetic-corpora.md) in their place
 *
 * The start is stationary but where a file says otherwise, of a grammar that of a sentence, whose root is
 * uniform where nothing says it. The words are "a", "b", ..., "z", "ba", ...
 * (base 26, most frequent of p first), classes "0", "1", ...
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

typedef struct {
    int64_t classes, states, words; /* states: of the chain, hidden or V^order */
    int64_t length, documents;
    uint64_t sample;
    double *weight;  /* classes */
    double *start;   /* classes x states */
    double *next;    /* classes x states x states, from the second index to the third */
    double *emit;    /* classes x states x words */
    char sha256[65]; /* of the file, or of the text of the source */
} cs_law;

void cs_law_free(cs_law *law);

/* Whether a source of documents is a law: "markov:...", "hmm:..." or "grammar:...". */
bool cs_law_named(const char *source);

/* The file that a law names, in fresh memory; NULL: none. CS_ERR_USAGE as cs_law_parse. */
cs_status cs_law_file(const char *source, char **out) CS_MUST_CHECK;

/* The law of a source. Cost of the stationary start: states^3 a class. CS_ERR_USAGE: no law; a key or value
 * that is not known, given twice or out of range; CS_ERR_INPUT: the file, with the place in it; a chain
 * that has no single stationary start; CS_ERR_MEMORY: more states than fit. */
cs_status cs_law_parse(const char *source, cs_law *out) CS_MUST_CHECK;

/* Word v of all laws. */
void cs_law_word(int64_t v, char out[16]);

/* out = a next, of `states` numbers. */
void cs_law_step(int64_t states, const double *a, const double *next, double *out);

/* --- documents --- */

/* Document d of the corpus: its class and `length` tokens, numbers of words. It is fixed by (sample,
 * d). */
void cs_law_draw(const cs_law *law, int64_t d, int64_t *label, int32_t *token);

/* The documents of a source as a corpus, as cs_corpus_load reads it: splitters `word` and `whitespace`
 * have the words of the law in its order behind <unk>, whether they were drawn or not. */
cs_status cs_law_read(const char *source, const cs_corpus_options *resolved,
                      cs_corpus *out) CS_MUST_CHECK;

/* --- the population --- */

/* A corpus whose documents stand for all texts: one for each class and each length of the sequences
 * that cs_sequences_of cuts from documents of this law. Its tokens are the numbers of the places, 0, 1,
 * ..., and cs_cooc_build counts each contribution for all words at its places, with their probability:
 * the matrix of the population, to which those of documents come. weight: of the class, times the
 * share of the sequences that have the length. */
struct cs_law_population {
    cs_law law;
    double *
        start; /* documents x states: of the first place, the mean over where such sequences begin */
};

/* That corpus. Vocabulary and classes are those of cs_law_read. O(length states^2) a class and length,
 * beside cs_law_parse. Errors of both. */
cs_status cs_law_population_of(const char *source, int64_t max_length, int64_t stride,
                               cs_corpus *out) CS_MUST_CHECK;

/* Whether the words of a corpus are those of the law, so that both have the same matrix. */
bool cs_law_speaks(const cs_law *law, const cs_corpus *corpus);

/* What no model of these documents can pass in the mean. */
typedef struct {
    int64_t documents, tokens; /* of the split */
    double first;              /* mean of -ln P(x_1), nats a document */
    double next;               /* mean of -ln P(x_k | x_1 .. x_{k-1}), k >= 2: nats a token */
    double bayes_error;        /* share of documents whose most probable class is not theirs */
    double bayes_risk;         /* mean of 1 - max_c P(c | document) */
} cs_law_score;

/* The forward algorithm on the documents of a corpus of the law, held out or not. O(tokens classes
 * states^2); means over no documents are NaN. CS_ERR_INPUT: a corpus with other words. */
cs_status cs_law_score_of(const cs_law *law, const cs_corpus *corpus, bool held_out,
                          cs_law_score *out) CS_MUST_CHECK;
