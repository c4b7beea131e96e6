/* The vectors of a block solver, in host or device memory: a linear operator A (rows x cols, rows
 * >= cols) with the operations on panels of `block` columns of its two sides. A solver written with
 * these operations runs on any memory that implements them; small matrices stay with the caller.
 *
 *   left  side: vectors of `rows` entries        right side: vectors of `cols` entries
 *
 * Every operation gives the same bits for any number of threads. Panels are changed only by these
 * operations: new ones are zero. b = block below; a matrix of coefficients between p panels and one
 * panel is a row of p squares, entry (l, j) of square q at [(q * b + l) * b + j]. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "linalg/dense.h"
#include "linalg/linop.h"

typedef enum { CS_LEFT, CS_RIGHT } cs_side;

typedef struct cs_panel cs_panel; /* defined by each space */

typedef struct cs_space cs_space;
struct cs_space {
    int64_t rows, cols;
    int block;         /* columns of a panel */
    bool semidefinite; /* as the operator's (linalg/linop.h) */
    void *ctx;
    /* entries of a left and a right vector in this process, which get and put move; NULL: all. Not
     * NULL: other processes work on the same vectors, and an interrupt ends the work without a
     * partial result */
    const int64_t *held;

    /* One panel of zeros: rows or cols x b. */
    cs_status (*create)(cs_space *s, cs_side side, cs_panel **out);
    void (*destroy)(cs_panel *panel); /* accepts NULL */

    /* Standard normal entries, a function of (seed, index, row, column). */
    cs_status (*random)(cs_space *s, uint64_t seed, uint64_t index, cs_panel *x);

    /* Y = A X (X right, Y left) or Y = A^T X (X left, Y right). */
    cs_status (*apply)(cs_space *s, const cs_panel *x, cs_panel *y);

    /* Y = A^T A X, both right. `half`, a left panel, is scratch, undefined afterwards. NULL: the
     * solver applies A and A^T in turn. */
    cs_status (*normal)(cs_space *s, const cs_panel *x, cs_panel *half, cs_panel *y);

    /* h = [P_0 .. P_{p-1}]^T W, p squares. Sums over fixed runs of rows, added in order. */
    cs_status (*gram)(cs_space *s, int64_t p, cs_panel *const *panels, const cs_panel *w,
                      double *h);

    /* W = keep W + sum_q P_q C_q, keep 0 or 1, p >= 0. W is not one of the P_q. */
    cs_status (*combine)(cs_space *s, int64_t p, cs_panel *const *panels, const double *c,
                         bool keep, cs_panel *w);

    /* [P_0 .. P_{q-1}] = [P_0 .. P_{p-1}] C in place, q <= p; C (p b x q b) column-major. */
    cs_status (*rotate)(cs_space *s, int64_t p, int64_t q, cs_panel *const *panels,
                        const cs_dense *c);

    /* Columns 0..count-1 of a panel into columns first.. of a dense matrix, and back (the other
     * columns of the panel become zero). */
    cs_status (*get)(cs_space *s, const cs_panel *x, int64_t count, int64_t first, cs_dense *to);
    cs_status (*put)(cs_space *s, const cs_dense *from, int64_t first, int64_t count, cs_panel *x);
};

/* Entries of a vector that get and put move. */
static inline int64_t cs_space_held(const cs_space *s, cs_side side)
{
    return s->held ? s->held[side] : side == CS_LEFT ? s->rows : s->cols;
}

/* The entries of `random`, equal in every space, b = CS_PANEL: to[i * b + j] for `rows` rows.
 * threads 0: cs_threads(). */
cs_status cs_space_random(uint64_t seed, uint64_t index, int64_t rows, int threads,
                          double *to) CS_MUST_CHECK;

/* The space of an operator in memory: panels of CS_PANEL columns stored row by row. `a` is
 * borrowed; threads 0: cs_threads(). CS_ERR_MEMORY. */
cs_status cs_space_cpu(const cs_linop *a, int threads, cs_space *out) CS_MUST_CHECK;
void cs_space_cpu_free(cs_space *space); /* after its panels */
