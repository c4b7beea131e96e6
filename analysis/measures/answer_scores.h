/* Scores of an answer against the right one, by the official scorer of SQuAD (Rajpurkar et al.
 * 2016, evaluate-v2.0.py).
 *
 * Both are normalised: lower case, without ASCII punctuation, without the words a, an and the, and
 * with white space as single spaces. exact: whether they are then equal. f1: with c common words
 * (with multiplicity) of p in one and g in the other, 2 c / (p + g); if one has no word, whether
 * both have none. Limit: a capital sigma at the end of a word becomes another letter in Python. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* The normalised text in fresh memory; NULL: out of memory. */
char *cs_answer_normalise(const char *text) CS_MUST_CHECK;

/* The best score over `count` correct texts, as the scorer computes it; none: the correct text
 * is empty. Correct texts that are empty when normalised are ignored if there are others.
 * CS_ERR_MEMORY only. */
cs_status cs_answer_score(const char *answer, int64_t count, const char *const *right,
                          double *exact, double *f1) CS_MUST_CHECK;
