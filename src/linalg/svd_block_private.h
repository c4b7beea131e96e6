/* The parts of the block solver: a basis in panels, and the Krylov process that grows it.
 */
#pragma once

#include "linalg/space.h"
#include "linalg/svd.h"

enum {
    CS_BLOCK = CS_PANEL,
    CS_SQUARE = CS_BLOCK * CS_BLOCK,
    CS_BLOCK_SPARE = 4 /* panels beyond the wanted ones, least */
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

/* Takes *w over. */
void cs_basis_append(cs_basis *basis, cs_panel **w, int active);

/* Destroys the panels from `keep` on. */
void cs_basis_cut(cs_basis *basis, int64_t keep);

/* W -= V h, h = V^T W (capacity squares), by two passes and a third where the second took most of
 * what was there. The panels before `first` hold little of W, and the first pass leaves them out.
 * `size` receives the norm of W's columns before, the largest. What is left of a column is
 * orthogonal to V, relative to itself, unless it is rounding of the column's length. */
cs_status cs_basis_project(const cs_basis *basis, int64_t first, cs_panel *w, double *h,
                           double *size) CS_MUST_CHECK;

/* W, already projected, becomes orthonormal and W_before = W r (r row-major 8 x 8). Directions
 * whose length is at most `noise` are dropped: *active are left, the first ones. */
cs_status cs_basis_orthonormalise(const cs_basis *basis, double noise, cs_panel *w, double *r,
                                  int *active) CS_MUST_CHECK;

/* W becomes at most `wanted` random orthonormal columns, orthogonal to the basis: fewer when it
 * leaves no more room. h: scratch of capacity squares. */
cs_status cs_basis_random(const cs_basis *basis, uint64_t seed, uint64_t index, int wanted,
                          cs_panel *w, double *h, int *active) CS_MUST_CHECK;

/* Lanczos on A^T A (or, bidiagonal, Golub and Kahan's process on A) with full orthogonalisation:
 *
 *   A^T A V = V M + W r E^T              M = V^T A^T A V
 *   A V = U M,  A^T U = V M^T + W r E^T  M = U^T A V        (bidiagonal; upper by panels)
 *
 * E picks the columns of the last panel. All of M is computed, so that any orthonormal columns may
 * be put into V. */
typedef struct {
    cs_space *space;
    bool bidiagonal;
    bool direct; /* A has no negative eigenvalue and takes the place of A^T A, its root that of A */
    uint64_t seed;
    double scale; /* what A is divided by: a power of two */
    cs_basis v, u;
    cs_panel *half; /* left */
    cs_panel *next; /* W, right: the block to append */
    int next_active;
    double r[CS_SQUARE]; /* zero when the space is invariant */
    bool coupled;        /* the next block may have products with every panel */
    double *m, *h;       /* ld x ld column-major, rows and columns as in the panels; scratch */
    int64_t ld;
    double largest;       /* norm of a product so far: the scale of rounding */
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

/* Panels of the basis, within the memory allowed (options): for 6 k columns, or k and a fresh
 * block's run. CS_ERR_MEMORY says how much the least would take. */
cs_status cs_krylov_capacity(const cs_space *space, const cs_svd_options *o, bool bidiagonal,
                             int64_t *capacity) CS_MUST_CHECK;

/* A power of two by which the norm of A x, x the next block, is brought into the range where no
 * square overflows; `*zero` when A x = 0. */
cs_status cs_krylov_find_scale(cs_krylov *k, bool *zero) CS_MUST_CHECK;

/* The first block: random, or random combinations of the guess (columns, right; NULL: none) with a
 * thousandth of noise, so that nothing is left out. */
cs_status cs_krylov_first(cs_krylov *k, const cs_dense *guess) CS_MUST_CHECK;

/* A fresh random block, orthogonal to the basis and coupled to nothing in it, as the next; none
 * when the basis is all there is. */
cs_status cs_krylov_fresh(cs_krylov *k) CS_MUST_CHECK;

/* Appends the next block and finds the one after it. Unless CS_OK nothing has changed but the
 * contents of scratch. */
cs_status cs_krylov_step(cs_krylov *k) CS_MUST_CHECK;

/* Not bidiagonal: appends Ritz vectors of A^T A, orthogonal to the basis. Takes *w over. */
void cs_krylov_lock(cs_krylov *k, cs_panel **w, int active, const double *value);

/* Copies of a value looked for by filtered random blocks (svd_block_copies.c); squares of singular
 * values, over scale^2. */
typedef struct {
    double value, cut;         /* of the copies; of what is known below them */
    double largest;            /* of what is in the basis */
    double width;              /* copies are above value (1 - width) */
    double bound;              /* on the residual of A^T A */
    double gain;               /* by which the copies must exceed the rest; adapted */
    int64_t most_degree;       /* of a filter that pays */
    int64_t steps, most_steps; /* products with A^T A, in panels */
} cs_copies;

/* Not bidiagonal: appends one panel of copies, *found columns of it, whose residuals are within the
 * bound; fewer than a panel has when there are no more or they cannot be had so, and then nothing
 * is appended for 0. value (a panel's columns): theirs. Interrupted, the basis is as before. */
cs_status cs_krylov_copies(cs_krylov *k, cs_copies *c, double *value, int *found) CS_MUST_CHECK;

/* Ritz triplets of the panels from `first` on: count of them, values descending; columns of y (and
 * x) give the vectors over all columns of v (u); estimate: norm of the residual of A^T A v (of A^T
 * u when bidiagonal). */
typedef struct {
    int64_t count;
    double *value, *estimate; /* value: of A, sqrt for the Gram form; direct: of A's root */
    cs_dense y, x;            /* rows as in the panels */
} cs_ritz;

/* Bound on the probability that, with s the largest singular value in n dimensions, no Ritz value
 * of `steps` steps from `columns` normal columns exceeds s / ratio (svd_block_probe.c); at most 1.
 */
double cs_probe_failure(int64_t n, int columns, int64_t steps, double ratio);

/* Steps of a fresh block in n dimensions after which a value above what it shows is missed with
 * probability below 1e-6 (svd_block_probe.c). direct: of a Krylov space of A, not of A^T A. */
int64_t cs_probe_steps(int64_t n, bool direct);

cs_status cs_krylov_ritz(const cs_krylov *k, int64_t first, cs_ritz *out) CS_MUST_CHECK;
void cs_ritz_free(cs_ritz *ritz);

/* The basis from panel `first` on becomes the Ritz vectors with the given numbers; next block and r
 * stay as they are. */
cs_status cs_krylov_keep(cs_krylov *k, const cs_ritz *ritz, int64_t first, int64_t count,
                         const int64_t *which) CS_MUST_CHECK;

/* Not bidiagonal, V the n right vectors: U becomes A V, both are turned to singular vectors, sigma
 * (n) receives the values. */
cs_status cs_krylov_left(cs_krylov *k, int64_t n, double *sigma) CS_MUST_CHECK;

/* The first n columns, of `length` entries, out of the panels, each destroyed as it is read. */
cs_status cs_basis_export(cs_basis *basis, int64_t length, int64_t n, cs_dense *out) CS_MUST_CHECK;
