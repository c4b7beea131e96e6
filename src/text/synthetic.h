/** \file
 * Synthetic languages: corpora whose every probability is known. A document has a class c with
 * probability weight_c, and `length` tokens from the hidden Markov chain of c:
 *
 * \f[ P(x_1 \dots x_n \mid c) = \sum_z \mathrm{start}(z_1)\, \mathrm{emit}(z_1, x_1)\, \mathrm{next}(z_1, z_2)\, \mathrm{emit}(z_2, x_2) \cdots \f]
 *
 * A source is KIND:KEY=VALUE,... with the kinds
 *
 * - markov: states=V, the words are the states of a Markov chain; order=K, its states are the K
 *   previous words, 0 for independent words;
 * - hmm: states=H hidden states, words=V;
 * - grammar: a probabilistic context-free grammar of binary rules, symbols=S, depth=D, words=V. A
 *   sentence is a tree whose 2^D leaves all have depth D. Each symbol above has two children by
 *   P(B C | A), each leaf a word by P(v | A). Sentences follow one another. Read from left to
 *   right it is a hidden Markov chain.
 *
 * All kinds take
 *
 * - concentration=A: rows of transitions are Dirichlet with parameters A n p over n items; p over
 *   words is proportional to 1 / (rank + 1)^zipf, over hidden states and pairs of symbols uniform;
 *   inf: p itself;
 * - emission=A: the same for the words of hidden states or symbols (default: concentration);
 * - zipf=B, length=N (of a grammar 2^D), documents=D;
 * - classes=C: equally likely, each with its own rows; in a grammar class c has the root symbol c
 *   under common rules;
 * - seed=S of the rows, sample=S of the documents;
 * - file=FILE.json: the rows from a file (docs/reference/synthetic-corpora.md).
 *
 * The start distribution is stationary unless a file says otherwise; for a grammar it is that of a
 * sentence, with a uniform root by default. Words are "a", "b", ..., "z", "ba", ... (base 26, most
 * frequent of p first), classes "0", "1", ... Source: ours.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

/** The distribution of a synthetic language. Free it with cs_synthetic_free. */
typedef struct {
    /** Number of classes. */
    int64_t classes;
    /** Number of states of the chain: words, hidden states, or words^order. */
    int64_t states;
    /** Number of words. */
    int64_t words;
    /** Tokens of a document. */
    int64_t length;
    /** Number of documents. */
    int64_t documents;
    /** Seed of the documents. */
    uint64_t sample;
    /** classes: probabilities. */
    double *weight;
    /** classes x states, row-major: distribution of the first state. */
    double *start;
    /** classes x states x states, row-major: transition probabilities from the second index to the
     * third.
     */
    double *next;
    /** classes x states x words, row-major: probabilities of words. */
    double *emit;
    /** SHA-256 of the file, or of the text of the source. */
    char sha256[65];
} cs_synthetic;

/** Frees a distribution; accepts a zeroed object. */
void cs_synthetic_free(cs_synthetic *language);

/** Whether a source is a synthetic language: "markov:...", "hmm:..." or "grammar:...". */
bool cs_synthetic_named(const char *source);

/** The file that a source names, in new memory (cs_free); NULL if there is none. Errors of
 * cs_synthetic_parse.
 */
cs_status cs_synthetic_file(const char *source, char **out) CS_MUST_CHECK;

/** The distribution of a source. The stationary start costs states^3 for each class.
 *
 * \retval CS_ERR_USAGE not a synthetic language, or a key or value that is unknown, repeated or
 *     out of range
 * \retval CS_ERR_INPUT the file is invalid, with the place in it, or the chain has no unique
 *     stationary distribution
 * \retval CS_ERR_MEMORY too many states
 */
cs_status cs_synthetic_parse(const char *source, cs_synthetic *out) CS_MUST_CHECK;

/** Writes word v of the synthetic languages and a NUL. */
void cs_synthetic_word(int64_t v, char out[16]);

/** One step of the chain: `out` = a next, both of `states` numbers, next states x states row-major.
 */
void cs_synthetic_step(int64_t states, const double *a, const double *next, double *out);

/** Draws document d, a function of (sample, d): its class and `length` numbers of words. */
void cs_synthetic_draw(const cs_synthetic *language, int64_t d, int64_t *label, int32_t *token);

/** The documents of a source as a corpus, as cs_corpus_load reads it. The splitters `word` and
 * `whitespace` use all words of the language in its order after `<unk>`, whether they occur or
 * not.
 */
cs_status cs_synthetic_read(const char *source, const cs_corpus_options *resolved,
                            cs_corpus *out) CS_MUST_CHECK;

/** Additional data of a corpus that represents the whole language. */
struct cs_synthetic_population {
    /** The distribution. */
    cs_synthetic language;
    /** documents x states, row-major: distribution of the state at the first position, averaged
     * over the places where such sequences begin.
     */
    double *start;
};

/** A corpus that represents all texts of a language: a document for each class and each length of
 * the sequences that cs_sequences_of cuts. Its tokens are the positions 0, 1, ..., and
 * cs_cooc_build counts each contribution for all words at these positions with their probability.
 * The result is the matrix of the population, to which matrices of documents converge. The weight
 * of a document is the probability of its class times the share of sequences of its length.
 *
 * Vocabulary and classes are those of cs_synthetic_read. Cost: O(length states^2) for each class and
 * length, in addition to cs_synthetic_parse. Errors of cs_synthetic_parse and cs_sequences_of.
 */
cs_status cs_synthetic_population_of(const char *source, int64_t max_length, int64_t stride,
                                     cs_corpus *out) CS_MUST_CHECK;

/** Whether the words of a corpus are those of the language, so that both have matrices of the same
 * columns.
 */
bool cs_synthetic_generates(const cs_synthetic *language, const cs_corpus *corpus);

/** The best possible scores on documents of the language; no model exceeds them on average. */
typedef struct {
    /** Documents of the split. */
    int64_t documents;
    /** Their tokens. */
    int64_t tokens;
    /** Mean of -ln P(x_1), in nats a document. */
    double first;
    /** Mean of -ln P(x_k | x_1 .. x_{k-1}) over k >= 2, in nats a token. */
    double next;
    /** Share of documents whose most probable class is not theirs. */
    double bayes_error;
    /** Mean of 1 - max_c P(c | document). */
    double bayes_risk;
} cs_synthetic_score;

/** Scores the documents of a corpus of the language, held out or not, by the forward algorithm.
 * O(tokens classes states^2). Means over no documents are NaN.
 *
 * \retval CS_ERR_INPUT the corpus has other words
 */
cs_status cs_synthetic_score_of(const cs_synthetic *language, const cs_corpus *corpus,
                                bool held_out, cs_synthetic_score *out) CS_MUST_CHECK;
