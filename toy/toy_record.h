/* A toy model and its spectrum as the record of a result. */
#pragma once

#include "io/result.h"
#include "toy/toy.h"

typedef struct {
    const cs_toy *toy;
    const char *objective, *method;
    double rows, cols, nnz;
    cs_toy_spectrum spectrum; /* zeroed: only sizes are known */
} cs_toy_point;

/* The model, its sizes, values and sums in `item`; in `rows` one for each distinct value: `position`
 * numbers the values, `index` is the first j with sigma_j = sigma. */
void cs_toy_record(const cs_toy_point *p, cs_item *item, cs_item *rows);
