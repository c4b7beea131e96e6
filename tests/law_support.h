/* Synthetic languages by sums over all paths of states. */
#pragma once

#include "test.h"
#include "text/law.h"

/* P(words | class), the first at `place` of its document. */
double law_probability(const cs_law *law, int64_t label, int64_t place, int64_t n,
                       const int32_t *word);
