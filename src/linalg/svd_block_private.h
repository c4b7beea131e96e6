/* The parts of the block solver: a basis in panels, and the Krylov process that grows it.
 */
#pragma once

#include "linalg/space.h"
#include "linalg/svd.h"

enum {
    CS_BLOCK = CS_PANEL,
    CS_SQUARE = CS_BLOCK * CS_BLOCK,
    CS_BLOCK_SPARE = 4 /* least number of panels beyond the requested ones */
};

/* Orthonormal columns in panels; panel q holds active[q] of them, its other columns are zero. */
typedef struct {
    cs_space *space;
    cs_side side;
    int64_t capacity, panels;
    cs_panel **panel;
    int *active;
} cs_basis;

cs_status cs_basis_open(cs_space *space, cs_side side, int64_t capacity,
                        cs_basis *out) CS_MUST_CHECK;
void cs_basis_free(cs_basis *basis);

/* Columns of the basis. */
int64_t cs_basis_columns(const cs_basis *basis);

/* Appends *w and takes it over. */
void cs_basis_append(cs_basis *basis, cs_panel **w, int active);

/* Destroys the panels from `keep` on. */
void cs_basis_cut(cs_basis *basis, int64_t keep);

/* W -= V h, h = V^T W (capacity squares), by two passes, and a third if the second removed most of
 * the rest. The panels before `first` have little of W, and the first pass skips them. `size`
 * receives the largest norm of the columns of W before. The remainder of a column is orthogonal to
 * V relative to itself, unless it is rounding of the length of the column. */
cs_status cs_basis_project(const cs_basis *basis, int64_t first, cs_panel *w, double *h,
                           double *size) CS_MUST_CHECK;

/* W, already projected, becomes orthonormal and W_before = W r (r row-major 8 x 8). Directions with
 * a length of at most `noise` are dropped: the first *active columns remain. */
cs_status cs_basis_orthonormalise(const cs_basis *basis, double noise, cs_panel *w, double *r,
                                  int *active) CS_MUST_CHECK;

/* W becomes at most `wanted` random orthonormal columns, orthogonal to the basis; fewer if the
 * basis leaves a smaller complement. h: scratch of capacity squares. */
cs_status cs_basis_random(const cs_basis *basis, uint64_t seed, uint64_t index, int wanted,
                          cs_panel *w, double *h, int *active) CS_MUST_CHECK;

/* Lanczos on A^T A (or, bidiagonal, Golub and Kahan's process on A) with full orthogonalisation:
 *
 *   A^T A V = V M + W r E^T              M = V^T A^T A V
 *   A V = U M,  A^T U = V M^T + W r E^T  M = U^T A V        (bidiagonal; upper by panels)
 *
 * E selects the columns of the last panel. All of M is computed, so that any orthonormal columns
 * may be put into V. */
typedef struct {
    cs_space *space;
    bool bidiagonal;
    /* A is positive semidefinite and takes the place of A^T A, and its root that of A */
    bool direct;
    uint64_t seed;
    double scale; /* divisor of A: a power of two */
    cs_basis v, u;
    cs_panel *half; /* left */
    cs_panel *next; /* W, right: the block to append */
    int next_active;
    double r[CS_SQUARE]; /* zero when the space is invariant */
    bool coupled;        /* the next block may have products with every panel */
    /* ld x ld column-major, rows and columns as in the panels; scratch */
    double *m, *h;
    int64_t ld;
    double largest;       /* largest norm of a product so far: the scale of rounding */
    uint64_t blocks;      /* random ones drawn */
    int64_t applications; /* columns */
} cs_krylov;

cs_status cs_krylov_open(cs_space *space, bool bidiagonal, int64_t capacity, uint64_t seed,
                         cs_krylov *out) CS_MUST_CHECK;
void cs_krylov_free(cs_krylov *k);

/* Y = A X / scale or Y = A^T X / scale, by the side of X. */
cs_status cs_krylov_apply(cs_krylov *k, const cs_panel *x, cs_panel *y) CS_MUST_CHECK;

/* Y = A^T A X / scale^2, both right; direct: Y = A X / scale. */
cs_status cs_krylov_apply_normal(cs_krylov *k, const cs_panel *x, cs_panel *y) CS_MUST_CHECK;

/* Panels of the basis, within the memory allowed (options): for 6 k columns, or k and the run of a
 * random block. CS_ERR_MEMORY reports the least amount. */
cs_status cs_krylov_capacity(const cs_space *space, const cs_svd_options *o, bool bidiagonal,
                             int64_t *capacity) CS_MUST_CHECK;

/* A power of two by which the norm of A x, x the next block, is scaled into the range where no
 * square overflows; `*zero` when A x = 0. */
cs_status cs_krylov_find_scale(cs_krylov *k, bool *zero) CS_MUST_CHECK;

/* The first block: random, or random combinations of the guess (columns, right; NULL: none) with a
 * thousandth of noise, so that no direction is missing. */
cs_status cs_krylov_first(cs_krylov *k, const cs_dense *guess) CS_MUST_CHECK;

/* A random block, orthogonal to the basis and not coupled to it, as the next block; none when the
 * basis is complete. */
cs_status cs_krylov_fresh(cs_krylov *k) CS_MUST_CHECK;

/* Appends the next block and computes the one after it. Unless CS_OK only scratch has changed. */
cs_status cs_krylov_step(cs_krylov *k) CS_MUST_CHECK;

/* Not bidiagonal: appends Ritz vectors of A^T A, orthogonal to the basis. Takes over *w. */
void cs_krylov_lock(cs_krylov *k, cs_panel **w, int active, const double *value);

/* Search for copies of a value by filtered random blocks (svd_block_copies.c); squares of singular
 * values, over scale^2. */
typedef struct {
    double value, cut;         /* of the copies; of the known values below them */
    double largest;            /* largest value in the basis */
    double width;              /* copies are above value (1 - width) */
    double bound;              /* on the residual of A^T A */
    double gain;               /* factor by which the copies must exceed the rest; adapted */
    int64_t most_degree;       /* largest degree of a filter that pays off */
    int64_t steps, most_steps; /* products with A^T A, in panels */
} cs_copies;

/* Not bidiagonal: appends one panel of copies, *found columns of it, whose residuals are within the
 * bound. There are fewer than a panel holds if no more exist or they cannot be found so; for 0
 * nothing is appended. value (a panel's columns): their values. After an interrupt the basis is
 * unchanged. */
cs_status cs_krylov_copies(cs_krylov *k, cs_copies *c, double *value, int *found) CS_MUST_CHECK;

/* Ritz triplets of the panels from `first` on: count of them, values descending; columns of y (and
 * x) give the vectors over all columns of v (u); estimate: norm of the residual of A^T A v (of A^T
 * u when bidiagonal). */
typedef struct {
    int64_t count;
    double *value, *estimate; /* value: of A, sqrt for the Gram form; direct: of the root of A */
    cs_dense y, x;            /* rows as in the panels */
} cs_ritz;

/* Bound on the probability that, with s the largest singular value in n dimensions, no Ritz value
 * of `steps` steps from `columns` normal columns exceeds s / ratio (svd_block_start.c); at most 1.
 */
double cs_probe_failure(int64_t n, int columns, int64_t steps, double ratio);

/* Steps of a random block in n dimensions after which a value above those it shows is missed with
 * probability below 1e-6 (svd_block_start.c). direct: of a Krylov space of A, not of A^T A. */
int64_t cs_probe_steps(int64_t n, bool direct);

cs_status cs_krylov_ritz(const cs_krylov *k, int64_t first, cs_ritz *out) CS_MUST_CHECK;
void cs_ritz_free(cs_ritz *ritz);

/* The basis from panel `first` on becomes the Ritz vectors with the given numbers; next block and r
 * stay as they are. */
cs_status cs_krylov_keep(cs_krylov *k, const cs_ritz *ritz, int64_t first, int64_t count,
                         const int64_t *which) CS_MUST_CHECK;

/* Not bidiagonal, V the n right vectors: U becomes A V, both become singular vectors, sigma (n)
 * receives the values. */
cs_status cs_krylov_left(cs_krylov *k, int64_t n, double *sigma) CS_MUST_CHECK;

/* Copies the first n columns, of `length` entries, out of the panels; a panel is destroyed
 * after it is read. */
cs_status cs_basis_export(cs_basis *basis, int64_t length, int64_t n, cs_dense *out) CS_MUST_CHECK;
