/* A co-occurrence matrix with the class masses of its rows and columns: what the theorems need,
 * whether it comes from the toy model, a corpus or a file.
 *
 * row_label is rows x labels: mass of row X that comes from documents of each class (sums to the
 * row sum of A over the labelled part); col_label is cols x labels. Both have 0 columns when
 * nothing is labelled.
 */
#pragma once

#include "linalg/csr.h"

typedef struct {
    cs_csr a; /* counts or probabilities, any scale */
    int64_t labels;
    cs_csr row_label;
    cs_csr col_label;
} cs_labelled;

void cs_labelled_free(cs_labelled *m);

/* The share of the rows' labelled mass that is of other classes than the most of its row: the error of
 * the best guess of the class from the row, on a population the Bayes risk. NaN: nothing labelled. */
double cs_label_noise(const cs_labelled *m);

/* The majority class of each row (col): lowest class on ties, -1 where no mass is labelled.
 * n = mass.rows values. */
void cs_majority(const cs_csr *mass, int32_t *label);
