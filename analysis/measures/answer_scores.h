/* How near an answer is to the right one, by the official scorer of SQuAD (Rajpurkar et al. 2016,
 * evaluate-v2.0.py).
 *
 * Both are normalised: lower case, without the punctuation of ASCII, without the words a, an and the,
 * white space to single blanks. exact: whether they are then equal. f1: with c words in common, as
 * often as both have them, of p in the one and g in the other, 2 c / (p + g); where one has no word,
 * whether both have none. Limit: a capital sigma at the end of a word becomes another letter in Python.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* The normalised text in fresh memory; NULL: out of memory. */
char *cs_answer_normalise(const char *text) CS_MUST_CHECK;

/* The best over `count` right answers, as the scorer takes it; none: the right answer is the empty text.
 * Right answers that are nothing when normalised do not count where others do. CS_ERR_MEMORY only. */
cs_status cs_answer_score(const char *answer, int64_t count, const char *const *right,
                          double *exact, double *f1) CS_MUST_CHECK;
