/* Private to theorem_43*.c. */
#pragma once

#include "analysis/theorems/theorem_43.h"

/* gamma_m = m u / (1 - m u): relative error of a sum of m products. */
double cs_generation_bound_gamma(double operations);

/* z = W f in a fixed order of sums: the same bits for any number of threads and vectors. */
void cs_generation_bound_apply(const cs_generation_bound_model *m, const double *f, double *z);

enum { CS_BOUND_FORMS = 2 }; /* p = 2, 3 */

/* Values computed from z = W f^ of one set. */
typedef struct {
    const double *z;
    double square;       /* ||z||^2 */
    double negative;     /* E z_-^2 */
    double most;         /* max z_-^2 */
    double low, high;    /* of z_- */
    double entropy_term; /* log sum exp of the model's own z */
} cs_generation_bound_column;

typedef struct {
    cs_pool pool;
    const cs_generation_bound_model *m;
    const cs_generation_bound_text *text;
    cs_generation_bound_options o;
    cs_generation_bound_audit *a;
    double *negative;                               /* P(X_-), vocab */
    cs_generation_bound_eta (*eta)[CS_BOUND_FORMS]; /* by sequence */
    double *ratio[CS_BOUND_FORMS];                  /* of the bound, by case */
    int64_t ratios, capacity[CS_BOUND_FORMS];
    cs_dense f, z, other;  /* width x columns, vocab x columns, vocab x 1 */
    double *scratch;       /* 2 width of either model */
    int32_t *set, *choice; /* rows of a set, longest */
    int32_t *sets;         /* those of a prefix: masks x longest */
    int64_t chunk;         /* first sequence of a parallel loop */
    int64_t longest;
} cs_generation_bound_walk;

typedef struct {
    const cs_generation_bound_rows *r;
    const cs_generation_bound_rows *other; /* of the model `against`, or NULL */
    const int32_t *token;
    int64_t sequence, k, n; /* n: N */
    double gamma_z;         /* bound on the error of z^ as a vector */
    double gamma_f;         /* of f^ */
    double weight;          /* of this prefix in a mean over all */
} cs_generation_bound_place;

/* Bound on the error of z^ as a vector, whatever the set of rows. */
double cs_generation_bound_error(const cs_generation_bound_model *m,
                                 const cs_generation_bound_rows *r);

/* own: z of the model is own z^. */
cs_generation_bound_column cs_generation_bound_read(const cs_generation_bound_walk *w,
                                                    const double *z, double own);

/* delta over one mask of n rows: its masked tokens, and every token that can be X_-. */
void cs_generation_bound_take_delta(cs_generation_bound_walk *w, const cs_generation_bound_rows *r,
                                    const int32_t *token, const int32_t *set, int64_t n, int p,
                                    const cs_generation_bound_column *c);

/* One prefix, whose z and those of its `masks` sets are the columns of w->z. */
cs_status cs_generation_bound_prefix(cs_generation_bound_walk *w,
                                     const cs_generation_bound_place *at,
                                     int64_t masks) CS_MUST_CHECK;

/* Keeps the worst case of lhs <= rhs: one that fails, then one with a side that is not finite, whose
 * statement is INCONCLUSIVE, then the least margin relative to the size. */
void cs_generation_bound_keep(cs_generation_bound_case *worst, double lhs, double rhs, double error,
                              int64_t sequence, int64_t k);

/* The printed bound of one form; `text` is its statement. */
void cs_generation_bound_printed(const cs_generation_bound_model *m,
                                 const cs_generation_bound_audit *a, int p, const char *id,
                                 const char *text, const char *input, cs_statements *out);

/* A statement on the worst case of many; nothing if there was none. */
void cs_generation_bound_state_case(const cs_generation_bound_case *c, const char *id,
                                    cs_statement_form form, const char *text, const char *input,
                                    cs_statements *out);

/* A scalar model (width 1, one head, q = k = v = x) of the tokens' values and W's column. */
cs_status cs_generation_bound_scalar(int64_t vocab, const double *value, const double *w,
                                     cs_generation_bound_model *out) CS_MUST_CHECK;
