/* A probabilistic context-free grammar whose sentences are full binary trees, as the hidden Markov
 * chain of its words from left to right.
 *
 * With S symbols and depth D a sentence has 2^D leaves. After leaf t the tree still needs a right
 * sibling for each level where the ancestor of t is a left child: one for each zero among the D
 * binary digits of t. A state is the number of the leaf, its symbol A and the pending symbols,
 * nearest leaf first:
 *
 *     state = first(t) + A + S p_1 + S^2 p_2 + ...,   first(t) = sum of S^(1 + zeros(u)) over u < t
 *
 * in all S (1 + S)^D states. The next leaf is the leftmost one below p_1, whose subtree has 2^r
 * leaves if t ends in r ones; each level of the way down adds a pending right child. After the last
 * leaf the next sentence begins. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* S (1 + S)^D; above `most`: most + 1. */
int64_t cs_grammar_states(int64_t symbols, int64_t depth, int64_t most);

/* root: symbols. rule: symbols x (symbols x symbols), P(B C | A). word: symbols x words. start, next and
 * emit are those of cs_synthetic, of one class and all zero. CS_ERR_MEMORY. */
cs_status cs_grammar_chain(int64_t symbols, int64_t depth, int64_t words, const double *root,
                           const double *rule, const double *word, double *start, double *next,
                           double *emit) CS_MUST_CHECK;
