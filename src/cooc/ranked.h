/* The normalised matrix over a group of processes, as an operator on distributed vectors: those of
 * the larger side by the rows that a rank holds (shard.h), those of the smaller one by consecutive
 * slices.
 *
 *   forward   y = Abar x        gathers x: every rank sends its slice to all
 *   backward  y = Abar^T x      sums the parts of all ranks, each rank keeping its slice
 *
 * Panels are `wide` columns stored row by row, wide 1 or CS_PANEL. With closed forms deflated the
 * operator is Abar - sum_c u_c v_c^T over the components, u_c = sqrt(P_C / mass_c) there, v_c
 * alike. */
#pragma once

#include "cooc/certificates.h"
#include "cooc/spectrum.h"
#include "linalg/linop.h"
#include "linalg/shard.h"
#include "linalg/space.h"

typedef struct {
    cs_comm *comm;
    int64_t length, width; /* larger and smaller side */
    int64_t held;          /* local entries of the larger side */
    int64_t first, slice;  /* local slice of the smaller side */
    int threads;
    cs_csr a, at; /* this rank's part of Abar, held x width, and its transpose */
    /* exponent of the power of two that was factored out (certificates.h) */
    int exponent;
    double mass; /* sum of A */
    int64_t nnz;
    int64_t filled_long, filled_short; /* nonzero rows and columns over all ranks */
    int64_t components, rank;          /* rank: of Abar, at most (sum of smaller sides) */
    int64_t *long_part, *short_part;   /* component of each item (held; width), -1 for empty ones */
    double *long_weight, *short_weight; /* u_c, v_c: held; width. NULL if unknown */
    bool deflated; /* closed forms are deflated in the products; needs the weights */
    double *full, *partial, *along; /* scratch: width x 8 on cache lines, twice; components x 16 */
    cs_pool pool;                   /* of all of these arrays */
    cs_linop op;                    /* held x slice: forward and backward */
} cs_ranked;

/* Takes over the values of the shard, normalises them unless they are declared normalised, and
 * finds the components. The struct must not move. Collective. CS_ERR_INPUT: no nonzero entry, or a
 * sum that overflows; CS_ERR_MEMORY. */
cs_status cs_ranked_open(cs_shard *shard, const cs_spectrum_options *options,
                         cs_ranked *out) CS_MUST_CHECK;
void cs_ranked_free(cs_ranked *r);

/* x: slice x wide, y: held x wide; the second function the reverse. */
cs_status cs_ranked_forward(cs_ranked *r, int wide, const double *x, double *y) CS_MUST_CHECK;
cs_status cs_ranked_backward(cs_ranked *r, int wide, const double *x, double *y) CS_MUST_CHECK;

/* Projects the closed forms out of column vectors, x (held or slice rows, by side), and normalises
 * the rest to norm 1. */
cs_status cs_ranked_project(cs_ranked *r, cs_side side, cs_dense *x) CS_MUST_CHECK;

/* The vectors of the block solver: those of cs_space_cpu on the rows of this rank, with its
 * operations, but inner products are added over the ranks. Random numbers depend on the number of
 * ranks too. Must not move; closed by cs_space_cpu_free(&space->here). */
typedef struct {
    cs_space space; /* first: its operations find the other members after it */
    cs_space here;
    cs_comm *comm;
    int64_t held[2];
} cs_ranked_space;
cs_status cs_ranked_space_open(cs_ranked *r, cs_ranked_space *out) CS_MUST_CHECK;

/* Multiply-adds of the lower triangle of the Gram matrix of the smaller side, over all ranks; `a`:
 * this rank's part. */
double cs_ranked_gram_cost(cs_comm *c, const cs_csr *a);

/* The sums and all certificates except those of residuals and inertia, from *s: k, sigma, residual,
 * floor, components, rank, and in v slice x k right vectors. *facts: the facts found for them.
 * CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_ranked_certify(cs_ranked *r, const cs_spectrum_options *options,
                            cs_certificate_facts *facts, cs_spectrum *s) CS_MUST_CHECK;

/* Bytes, at most, of these on a rank that holds `held` entries of the larger side, for k triplets;
 * cost: cs_ranked_gram_cost. */
double cs_ranked_certify_bytes(const cs_shard *shard, const cs_spectrum_options *options, int64_t k,
                               double held, double cost);

/* The inertia certificate, on rank 0: whether the whole matrix and the vectors fit half of its free
 * memory (else the certificate says so), and the count, once the vectors are there. All ranks get
 * the certificate; all return the same. Sends 12 nnz / R + 24 held bytes a rank. Errors as
 * cs_certificate_inertia. */
bool cs_ranked_has_memory(const cs_ranked *r, cs_spectrum *s);
cs_status cs_ranked_inertia(const cs_ranked *r, const cs_shard *shard,
                            const cs_spectrum_options *options, const cs_certificate_facts *facts,
                            cs_spectrum *s) CS_MUST_CHECK;

/* The number of connected components, which is how often sigma = 1 occurs; every rank gets it. Sends
 * 4 `width` bytes up and down a binomial tree. Collective. CS_ERR_MEMORY. */
cs_status cs_ranked_components(const cs_shard *shard, int64_t *out) CS_MUST_CHECK;

/* Sizes and memory of a decomposition that is not computed; the same on every rank. */
typedef struct {
    int64_t filled_rows, nnz; /* rows that are not empty; nonzeros */
    double moment4_cost;      /* multiply-adds of the exact sum sigma^4 */
    double rank_bytes;        /* memory of the rank that needs the most */
} cs_ranked_sizes;

/* options->k triplets (0: all). Collective. CS_ERR_MEMORY. */
cs_status cs_ranked_estimate(const cs_shard *shard, const cs_spectrum_options *options,
                             cs_ranked_sizes *out) CS_MUST_CHECK;

/* cs_spectrum_of over a group. Every rank receives the values and certificates, only rank 0
 * receives u and v (none with values_only). Of start_u and start_v only that of the smaller
 * side is read: this rank's slice of it, without the rows that the shard leaves out. Differences: nothing is lumped (lumped_rows and
 * lumped_cols are the nonempty rows and columns); all components go to one solver run, and `auto`
 * means block; inertia also needs the whole matrix and the vectors in half of the free memory of
 * rank 0. CS_ERR_USAGE: solver lapack, or k out of range; others as cs_spectrum_of. A failure that
 * `shard->comm` has not agreed on belongs to this rank. */
cs_status cs_ranked_spectrum(cs_shard *shard, const cs_spectrum_options *options,
                             cs_spectrum *out) CS_MUST_CHECK;
