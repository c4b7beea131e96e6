/* Synthetic languages by sums over all paths of states. */
#pragma once

#include "test.h"
#include "text/synthetic.h"

/* P(words | class), the first at `place` of its document. */
double path_probability(const cs_synthetic *language, int64_t label, int64_t place, int64_t n,
                        const int32_t *word);
