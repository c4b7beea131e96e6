/* Shared by the tests of perplexity: models of every kind. */
#pragma once

#include "infer/perplexity.h"
#include "train_support.h"

enum { PERPLEXITY_CASES = 13 };

typedef struct {
    recipe recipe;
    cs_kind kind;
    cs_ask ask;
} perplexity_case;

/* Every kind of model with every way in which it is asked. */
extern const perplexity_case perplexity_cases[PERPLEXITY_CASES];

training perplexity_case_of(int i);
training sharp_case_of(int i); /* every parameter six times as large: far from uniform */
cs_perplexity_options perplexity_options_of(int i); /* batches of 3 */
cs_perplexity perplexity_of(training *t, const cs_perplexity_options *o);

/* Every entry of every parameter. */
void set_all_parameters(training *t, float value);
