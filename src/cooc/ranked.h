/* The normalised matrix over a group of processes, as an operator on vectors that the ranks share
 * out: those of the larger side by the rows that a rank holds (shard.h), those of the smaller one
 * by consecutive slices.
 *
 *   forward   y = Abar x        gathers x: every rank sends its slice to all
 *   backward  y = Abar^T x      sums the parts of all ranks, each rank keeping its slice
 *
 * Panels are `wide` columns stored row by row, wide 1 or CS_PANEL. With closed forms taken out the
 * operator is Abar - sum_c u_c v_c^T over the components, u_c = sqrt(P_C / mass_c) there, v_c
 * alike.
 */
#pragma once

#include "cooc/certificates.h"
#include "cooc/spectrum.h"
#include "linalg/linop.h"
#include "linalg/shard.h"
#include "linalg/space.h"

typedef struct {
    cs_comm *comm;
    int64_t length, width; /* larger and smaller side */
    int64_t held;          /* of the larger one here */
    int64_t first, slice;  /* of the smaller one here */
    int threads;
    cs_csr a, at; /* this rank's part of Abar, held x width, and its transpose */
    int exponent; /* of the power of two that was taken out of it (certificates.h) */
    double mass;  /* sum of A */
    int64_t nnz;
    int64_t filled_long, filled_short; /* rows and columns that are not zero, of all */
    int64_t components, rank;          /* rank: of Abar, at most (sum of smaller sides) */
    int64_t *long_part, *short_part;   /* component of each item (held; width), -1 for empty ones */
    double *long_weight, *short_weight; /* u_c, v_c: held; width. NULL when they are not known */
    bool deflated; /* closed forms are taken out of the products; needs the weights */
    double *full, *partial, *along; /* scratch: width x 8 on cache lines, twice; components x 16 */
    cs_pool pool;                   /* of all of these arrays */
    cs_linop op;                    /* held x slice: forward and backward */
} cs_ranked;

/* Takes the values of the shard over (which is left without them), normalises them unless they are
 * said to be so, finds the components. The struct must not move. Collective.
 * CS_ERR_INPUT: no nonzero entry, or a sum that overflows; CS_ERR_MEMORY. */
cs_status cs_ranked_open(cs_shard *shard, const cs_spectrum_options *options,
                         cs_ranked *out) CS_MUST_CHECK;
void cs_ranked_free(cs_ranked *r);

/* x: slice x wide, y: held x wide, and the other way round. */
cs_status cs_ranked_forward(cs_ranked *r, int wide, const double *x, double *y) CS_MUST_CHECK;
cs_status cs_ranked_backward(cs_ranked *r, int wide, const double *x, double *y) CS_MUST_CHECK;

/* Takes the closed forms out of column vectors, x (held or slice rows, by side), and gives what is
 * left norm 1. */
cs_status cs_ranked_project(cs_ranked *r, cs_side side, cs_dense *x) CS_MUST_CHECK;

/* The vectors of the block solver: those of cs_space_cpu on this rank's rows, with its operations,
 * but inner products are added over the ranks. Random numbers depend on the number of ranks too.
 * Must not move; closed by cs_space_cpu_free(&space->here). */
typedef struct {
    cs_space space; /* first: its operations find the rest behind it */
    cs_space here;
    cs_comm *comm;
    int64_t held[2];
} cs_ranked_space;
cs_status cs_ranked_space_open(cs_ranked *r, cs_ranked_space *out) CS_MUST_CHECK;

/* Whether every component's largest singular value is 1 to 1e-9, of a matrix that came normalised;
 * `largest` is the largest of all. False with a negative entry, and when it is not reached within
 * 300 products. Collective; all ranks receive the same. Memory: 3 slices, `held` and 3 values a
 * component. CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_ranked_perron(cs_ranked *r, double largest, bool *out) CS_MUST_CHECK;

/* The sums and all certificates but the residuals' and inertia, of what is in *s: k, sigma,
 * residual, floor, components, rank, and in v slice x k right vectors. *facts: what was found for
 * them. CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_ranked_certify(cs_ranked *r, const cs_spectrum_options *options,
                            cs_certificate_facts *facts, cs_spectrum *s) CS_MUST_CHECK;

/* The inertia certificate, on rank 0: whether the whole matrix and the vectors fit half of its free
 * memory (else cert_inertia says so), and the count, with the vectors already there. All ranks
 * receive the certificate; all return the same. Sends 12 nnz / R + 24 held bytes a rank.
 * Errors as cs_certificate_inertia. */
bool cs_ranked_has_room(const cs_ranked *r, cs_spectrum *s);
cs_status cs_ranked_inertia(const cs_ranked *r, const cs_shard *shard,
                            const cs_spectrum_options *options, const cs_certificate_facts *facts,
                            cs_spectrum *s) CS_MUST_CHECK;

/* The whole: cs_spectrum_of over a group. Every rank receives the values and certificates, rank 0
 * alone u and v (with values_only none does). Where it differs: nothing is lumped (lumped_rows and
 * lumped_cols count the rows and columns that are not empty); all components go to one solver run,
 * `auto` meaning block; inertia also wants the whole matrix and the vectors in half of rank 0's
 * free memory. CS_ERR_USAGE: solver lapack, or k out of range; others as cs_spectrum_of. A failure
 * that `shard->comm` has not agreed on is this rank's own. */
cs_status cs_ranked_spectrum(cs_shard *shard, const cs_spectrum_options *options,
                             cs_spectrum *out) CS_MUST_CHECK;
