/* Exact reductions of a co-occurrence matrix before any solver (spectra.md).
 *
 * Components: the connected components of the bipartite graph of A, by union-find. The SVD of Abar
 * is the union of the SVDs of its components, and the multiplicity of sigma = 1 equals their
 * number.
 *
 * Lumping: rows with the same conditional distribution P(. | X), i.e. proportional rows of A, are
 * added into one; then proportional columns. Abar^T Abar is unchanged by the first and Abar Abar^T
 * by the second, so all nonzero sigma are; vectors come back as U[X] = sqrt(P_C(X) / P_C(lump))
 * U[lump], the same for V.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "linalg/csr.h"
#include "linalg/space.h"

typedef struct {
    int64_t count;        /* components with at least one nonzero, numbered by their first row */
    int64_t *row;         /* component of each row, -1 for an empty row */
    int64_t *col;         /* component of each column, -1 for an empty column */
    int64_t *rows, *cols; /* count: sizes */
    cs_pool pool;
} cs_components;

/* Entries of any sign connect, stored zeros do not. One pass over the nonzeros, O(rows + cols)
 * memory. CS_ERR_MEMORY. */
cs_status cs_components_of(const cs_csr *a, cs_components *out) CS_MUST_CHECK;
void cs_components_free(cs_components *components);

/* The root of x in a forest of parents, where a root is its own parent; halves the path. */
static inline int32_t cs_forest_root(int32_t *parent, int32_t x)
{
    while (parent[x] != x) {
        parent[x] = parent[parent[x]];
        x = parent[x];
    }
    return x;
}

/* Only their number, which is the multiplicity of sigma = 1. The same cost. */
cs_status cs_components_number(const cs_csr *a, int64_t *out) CS_MUST_CHECK;

typedef struct {
    cs_csr a;         /* the lumped matrix, empty rows and columns dropped */
    bool same;        /* equal to the original: `a` belongs to the caller */
    int32_t *lump[2]; /* of each row and column (cs_side) of the original; -1 for an empty one */
    int64_t size[2];  /* rows and columns of the original */
} cs_lumping;

/* Lumps proportional rows, then proportional columns of the result. Two rows are proportional when,
 * divided by their sums, all entries agree to `tolerance` relative (0: 1e-13). When all entries are
 * integers below 2^53 they are compared exactly (equal cross products) whatever the tolerance. The
 * lump of a row is numbered by first appearance. Candidates are found by hashing (lump.c);
 * no pair is lumped without a full comparison. O(nnz + rows log rows); memory of two
 * copies of a. CS_ERR_USAGE: tolerance not in [0, 1). CS_ERR_INPUT: a negative, NaN or infinite
 * entry, a row sum that overflows, or more than 2^31 - 1 rows. CS_ERR_MEMORY. */
cs_status cs_lump(const cs_csr *a, double tolerance, cs_lumping *out) CS_MUST_CHECK;
void cs_lumping_free(cs_lumping *lumping);

/* The entries of a matrix except stored zeros. */
typedef struct {
    int64_t count;
    bool negative;         /* some entry is negative */
    double least, largest; /* moduli; infinity and 0 if there is no entry */
} cs_csr_entries;
cs_csr_entries cs_csr_entries_of(const cs_csr *a);

/* cs_lump of a matrix that was checked, with stored `zeros` or not. Positive tolerance, or
 * CS_LUMP_NOTHING: every nonempty row and column is a separate lump, whatever the signs. */
static const double CS_LUMP_TOLERANCE = 1e-13, CS_LUMP_NOTHING = -1;
cs_status cs_lump_checked(const cs_csr *a, bool zeros, double tolerance,
                          cs_lumping *out) CS_MUST_CHECK;

/* *any: false if no two rows and no two columns of a matrix without stored zeros have the same
 * pattern, so that there is nothing to lump, whatever the values; true is inconclusive. One or two
 * passes over the indices, O(rows + cols) memory. CS_ERR_MEMORY. */
cs_status cs_lump_may_find(const cs_csr *a, bool *any) CS_MUST_CHECK;

/* Row and column sums, compensated (Neumaier 1974). CS_ERR_MEMORY. */
cs_status cs_masses(const cs_csr *a, double *row, double *col) CS_MUST_CHECK;
