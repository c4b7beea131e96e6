/** \file
 * Forms of a co-occurrence matrix (docs/explanation/forms.md): matrices whose entries are a formula
 * in the joint probability and the masses of a context and a token. Each is a sparse matrix minus
 * at most one matrix of rank one,
 *
 * \f[ M[X, v] = f(a, p, q, n, d, V) = S[X, v] - l[X]\, r[v], \f]
 *
 * so that a solver needs no dense matrix. A pair that does not occur has the value f(0, p, q, ...),
 * which must be a function of the row times one of the column.
 *
 * The variables, for a matrix of counts N: a = N[X, v] / n, p = P_C(X), q = P_G(v), n the mass of N
 * (its sum times the mass of a stored 1), d the number of tokens that occur with X, v the number of
 * tokens with mass, and s = q^.75 / sum q^.75, the smoothed P_G.
 */
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "linalg/csr.h"

/** A form. Free it with cs_matrix_form_free. */
typedef struct cs_matrix_form cs_matrix_form;

/** A named form. */
typedef struct {
    /** Its name. */
    const char *name;
    /** Its entry as an expression; K is the parameter. */
    const char *entry;
    /** Name of its parameter, or NULL. */
    const char *parameter;
    /** Where it was proposed. */
    const char *source;
    /** Adding proportional rows, or proportional columns, keeps the singular values. */
    bool lumps;
} cs_matrix_form_kind;

/** The i-th named form, from 0; NULL after the last. Static. */
const cs_matrix_form_kind *cs_matrix_form_kind_at(int i);

/** A form by its name, `sppmi:K` with a positive number, or by an expression in a, p, q, n, d, v and s
 * such as `log1p(n*a)`.
 *
 * \param text its name or its expression
 * \param out receives the form
 * \retval CS_ERR_USAGE the text is neither, with the place; or pairs that do not occur have a value
 *     that is not a function of the row times one of the column
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_matrix_form_parse(const char *text, cs_matrix_form **out) CS_MUST_CHECK;

/** Sets the mass of a stored 1 (cs_cooc_stored_mass), by which n is the mass of the matrix and not the
 * sum of what is stored. 1 by default; NULL is accepted.
 */
void cs_matrix_form_set_unit(cs_matrix_form *form, double unit);

/** Frees a form, and clears the pointer; accepts NULL in it. */
void cs_matrix_form_free(cs_matrix_form **form);

/** The text that it was made from. */
const char *cs_matrix_form_text(const cs_matrix_form *form);

/** Its entry as an expression. */
const char *cs_matrix_form_entry(const cs_matrix_form *form);

/** Whether it is `normalised`, or NULL: the matrix that all theorems are about. */
bool cs_matrix_form_is_normalised(const cs_matrix_form *form);

/** Whether proportional rows, and proportional columns, may be added first. */
bool cs_matrix_form_lumps(const cs_matrix_form *form);

/** The form of a matrix of counts as S and the vectors of its rank-one part. O(nnz).
 *
 * \param a rows x cols, nonnegative with a positive sum; its values become those of S
 * \param left receives l, rows values; 0 for rows without mass
 * \param right receives r, cols values; 0 for columns without mass
 * \param term receives whether there is a rank-one part
 * \retval CS_ERR_INPUT the form is not finite at an entry or where a = 0, or the sum overflows
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_matrix_form_apply(const cs_matrix_form *form, cs_csr *a, double *left, double *right,
                               bool *term) CS_MUST_CHECK;

/** The form of a matrix of counts with an entry for every pair of a row with mass and a column with
 * mass, for matrices with few absent pairs. O(rows cols).
 *
 * \param a rows x cols, nonnegative with a positive sum
 * \param out receives the matrix (cs_csr_free)
 * \retval CS_ERR_INPUT as for cs_matrix_form_apply
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_matrix_form_whole(const cs_matrix_form *form, const cs_csr *a,
                               cs_csr *out) CS_MUST_CHECK;
