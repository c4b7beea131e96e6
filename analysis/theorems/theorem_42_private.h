/* Private to Theorem 4.2: spectra of a toy model by each method, and their comparison. */
#pragma once

#include "analysis/theorems/theorems.h"
#include "toy/toy.h"

/* Nonzeros up to which the full matrix is enumerated: seconds, not minutes. */
#define CS_42_ENTRIES (1 << 21)
/* Columns up to which its dense SVD is done. */
#define CS_42_COLUMNS 1500

typedef enum { CS_42_ENUMERATE, CS_42_REDUCE, CS_42_CLOSED, CS_42_METHODS } cs_42_method;
extern const char *const cs_42_method_name[];

typedef struct {
    cs_toy toy;
    char *input; /* "r=3 s=4 T=2 masked unmasked=2, ..." */
    bool has[CS_42_METHODS];
    cs_toy_spectrum by[CS_42_METHODS];
    double rounding;             /* bound on the rounding of entries and marginals */
    cs_42_method method;         /* the first available one */
    const cs_toy_spectrum *best; /* by it */
} cs_42_case;

/* CS_ERR_USAGE when no method gives this spectrum. */
cs_status cs_42_case_of(const cs_toy *toy, cs_42_case *out) CS_MUST_CHECK;
void cs_42_case_free(cs_42_case *c);

/* Rows for each method of the case. */
cs_status cs_42_record(const cs_42_case *c, cs_item *spectra) CS_MUST_CHECK;

/* Whether the full matrix is small enough to be enumerated. */
cs_status cs_42_fits(const cs_toy *toy, bool *fits) CS_MUST_CHECK;

/* Where two spectra (zeros appended) differ most: values there and the index j, 1-based. */
typedef struct {
    double a, b;
    double index;
} cs_42_difference;
cs_42_difference cs_42_compare(const cs_toy_spectrum *a, const cs_toy_spectrum *b);

/* The j in (from, to] with the least b_j - a_j: a_j, b_j and j. */
cs_42_difference cs_42_least_margin(const cs_toy_spectrum *a, const cs_toy_spectrum *b, double from,
                                    double to);

double cs_42_ones(const cs_toy_spectrum *s);            /* multiplicity of sigma = 1 */
double cs_42_sigma(const cs_toy_spectrum *s, double j); /* sigma_j, 1-based; 0 beyond the rank */

/* A claim on the number of ones of a case. UNSPECIFIED if a formula gave the same number. */
void cs_42_state_ones(const cs_42_case *c, const char *id, cs_statement_form form, const char *text,
                      double ones, cs_statements *out);

/* A formula that agrees with itself is no evidence: PASS becomes UNSPECIFIED. Sides that differ are
 * not one formula, and a FAIL is kept. */
void cs_42_unspecify(const cs_toy_spectrum *s, cs_statement *statement);

/* Lemma A.3 and the entries, sizes and blocks of the printed proof. */
cs_status cs_42_proof(const cs_toy *toy, int64_t m, cs_statements *out) CS_MUST_CHECK;

/* The other objectives, blind and given, and LA 5.1's equivalence of Eq. 3 and Eq. 6. */
cs_status cs_42_extension(const cs_toy *toy, cs_statements *out, cs_item *spectra) CS_MUST_CHECK;
