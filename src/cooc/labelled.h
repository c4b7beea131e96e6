/** \file
 * A co-occurrence matrix with the class masses of its rows and columns, from the toy model, a
 * corpus or a file.
 */
#pragma once

#include "linalg/csr.h"

/** The matrix and its class masses. Free it with cs_labelled_free. */
typedef struct {
    /** Counts or probabilities, in any scale. */
    cs_csr a;
    /** Number of classes; 0: nothing is labelled. */
    int64_t labels;
    /** rows x labels: mass of a row from documents of each class. It sums to the row sum of A over
     * labelled documents.
     */
    cs_csr row_label;
    /** cols x labels: the same for columns. */
    cs_csr col_label;
} cs_labelled;

/** Frees the matrices; accepts a zeroed object. */
void cs_labelled_free(cs_labelled *m);

/** Sums over rows: their labelled mass, and that of the majority class of each row. All masses are
 * multiples of `unit`. The sums are numbers of units, so they do not depend on an order.
 */
void cs_label_masses(const cs_labelled *m, double unit, int64_t *mass, int64_t *majority);

/** Label noise from these sums: the share of the labelled mass that belongs to other classes than the
 * majority class of its row. It is the error of the best guess of the class from the row, and the
 * Bayes risk on a population. NaN if nothing is labelled.
 */
double cs_label_noise(int64_t mass, int64_t majority);

/** The majority class of each row of `mass`, into mass->rows values: the lowest class on ties, -1
 * where no mass is labelled.
 */
void cs_majority(const cs_csr *mass, int32_t *label);
