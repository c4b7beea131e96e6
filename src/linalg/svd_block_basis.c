/* Orthonormal bases in panels.
 *
 * Projection: classical Gram-Schmidt, twice, which is enough for what is more than rounding of the
 * length before (Giraud, Langou, Rozloznik & van den Eshof, 2005). In a Lanczos step the first pass
 * need only meet the panels that the recurrence couples: on the others the block has rounding, and,
 * where triplets were kept that had converged to a loose tolerance only, their residuals. Against
 * these it is the full pass that is the first, so that a third follows where that one took more
 * than it left (Daniel, Gragg, Kaufman & Stewart, 1976).
 *
 * Within a block: the eigenvectors of its scaled Gram matrix (SVQB, Stathopoulos & Wu, 2002),
 * repeated until the Gram matrix is the identity. Where the block was near dependent, dividing by a
 * small length brings out what is left of the basis, so a projection follows.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "linalg/svd_block_private.h"

enum { B = CS_BLOCK, MOST_ROUNDS = 8 };

cs_status cs_basis_open(cs_space *space, cs_side side, int64_t capacity, cs_basis *out)
{
    cs_basis b = {.space = space, .side = side, .capacity = capacity};
    b.panel = cs_calloc(capacity, sizeof(cs_panel *));
    b.active = cs_calloc(capacity, sizeof *b.active);
    if (!b.panel || !b.active) {
        cs_basis_free(&b);
        return CS_ERR_MEMORY;
    }
    *out = b;
    return CS_OK;
}

void cs_basis_free(cs_basis *b)
{
    cs_basis_cut(b, 0);
    cs_free((void *)b->panel);
    cs_free(b->active);
    *b = (cs_basis){0};
}

int64_t cs_basis_columns(const cs_basis *b)
{
    int64_t columns = 0;
    for (int64_t q = 0; q < b->panels; ++q) {
        columns += b->active[q];
    }
    return columns;
}

void cs_basis_append(cs_basis *b, cs_panel **w, int active)
{
    b->panel[b->panels] = *w;
    b->active[b->panels++] = active;
    *w = NULL;
}

void cs_basis_cut(cs_basis *b, int64_t keep)
{
    while (b->panels > keep) {
        b->space->destroy(b->panel[--b->panels]);
    }
}

/* One pass against the panels from `first` on; taken[j] = sum of squares of the coefficients. */
static cs_status pass(const cs_basis *b, int64_t first, cs_panel *w, double *h, double *taken)
{
    cs_space *s = b->space;
    int64_t p = b->panels - first;
    memset(taken, 0, B * sizeof *taken);
    if (p <= 0) {
        return CS_OK;
    }
    CS_AUTO_FREE double *now = cs_alloc(p * CS_SQUARE, sizeof *now);
    cs_status status = now ? s->gram(s, p, b->panel + first, w, now) : CS_ERR_MEMORY;
    for (int64_t e = 0; status == CS_OK && e < p * CS_SQUARE; ++e) {
        h[first * CS_SQUARE + e] += now[e];
        taken[e % B] += now[e] * now[e];
        now[e] = -now[e];
    }
    return status ? status : s->combine(s, p, b->panel + first, now, true, w);
}

static cs_status squared_norms(const cs_basis *b, cs_panel *w, double *norm)
{
    double g[CS_SQUARE];
    cs_status status = b->space->gram(b->space, 1, &w, w, g);
    for (int j = 0; status == CS_OK && j < B; ++j) {
        norm[j] = g[j * B + j];
    }
    return status;
}

cs_status cs_basis_project(const cs_basis *b, int64_t first, cs_panel *w, double *h, double *size)
{
    double before[B], taken[B], left[B], largest = 0;
    bool again = false;
    memset(h, 0, (size_t)(b->panels * CS_SQUARE) * sizeof *h);
    cs_status status = pass(b, first, w, h, before);
    status = status ? status : pass(b, 0, w, h, taken);
    status = status ? status : squared_norms(b, w, left);
    for (int j = 0; status == CS_OK && j < B; ++j) {
        again |= taken[j] > left[j];
        largest = fmax(largest, before[j] + taken[j] + left[j]);
    }
    *size = sqrt(largest);
    return status == CS_OK && again ? pass(b, 0, w, h, taken) : status;
}

/* s (row-major) = D^-1 Z L^-1/2 and its inverse, from g with D^2 its diagonal and D^-1 g D^-1 = Z L
 * Z^T; eigenvalues descend and enter cut off below at rounding. Where d is 0 the column is left
 * out. */
static cs_status whitening(const double *g, const double *d, double *s, double *inverse,
                           double *lambda)
{
    double data[CS_SQUARE], value[B];
    cs_dense a = {.rows = B, .cols = B, .ld = B, .data = data};
    for (int i = 0; i < B; ++i) {
        for (int j = 0; j < B; ++j) {
            data[i + j * B] = d[i] > 0 && d[j] > 0 ? g[i * B + j] / d[i] / d[j] : 0;
        }
    }
    cs_status status = cs_dense_eigh(&a, value, false);
    for (int j = 0; status == CS_OK && j < B; ++j) {
        const double *z = data + (ptrdiff_t)(B - 1 - j) * B;
        lambda[j] = value[B - 1 - j];
        double root = sqrt(fmax(lambda[j], 64 * DBL_EPSILON));
        for (int i = 0; i < B; ++i) {
            s[i * B + j] = d[i] > 0 ? z[i] / root / d[i] : 0;
            inverse[j * B + i] = z[i] * root * d[i];
        }
    }
    return status;
}

/* W = W S for the first `keep` columns, zeros for the others. */
static cs_status turn(const cs_basis *b, cs_panel *w, const double *s, int keep)
{
    double data[CS_SQUARE];
    cs_dense c = {.rows = B, .cols = B, .ld = B, .data = data};
    for (int i = 0; i < B; ++i) {
        for (int j = 0; j < B; ++j) {
            data[i + j * B] = j < keep ? s[i * B + j] : 0;
        }
    }
    return b->space->rotate(b->space, 1, 1, &w, &c);
}

/* r = t r. */
static void accumulate(const double *t, double *r)
{
    double product[CS_SQUARE] = {0};
    for (int i = 0; i < B; ++i) {
        for (int l = 0; l < B; ++l) {
            for (int j = 0; j < B; ++j) {
                product[i * B + j] += t[i * B + l] * r[l * B + j];
            }
        }
    }
    memcpy(r, product, sizeof product);
}

static double row_norm(const double *r, int row)
{
    double sum = 0;
    for (int j = 0; j < B; ++j) {
        sum += r[row * B + j] * r[row * B + j];
    }
    return sqrt(sum);
}

/* Lengths of W's columns, 0 for those that were no longer than `noise` in what W came from:
 * W_before = W r. How many are left. */
static int lengths(const double *g, const double *r, double noise, double *d)
{
    int count = 0;
    for (int j = 0; j < B; ++j) {
        d[j] = sqrt(g[j * B + j]);
        d[j] = d[j] * row_norm(r, j) > noise ? d[j] : 0;
        count += d[j] > 0;
    }
    return count;
}

cs_status cs_basis_orthonormalise(const cs_basis *b, double noise, cs_panel *w, double *r,
                                  int *active)
{
    double g[CS_SQUARE], s[CS_SQUARE], inverse[CS_SQUARE], lambda[B], d[B], taken[B], *h = NULL;
    bool done = false;
    cs_status status = CS_OK;
    for (int i = 0; i < CS_SQUARE; ++i) {
        r[i] = i % (B + 1) == 0;
    }
    for (int round = 0; status == CS_OK && !done && round < MOST_ROUNDS; ++round) {
        status = b->space->gram(b->space, 1, &w, w, g);
        if (status != CS_OK) break;
        *active = lengths(g, r, noise, d);
        status = whitening(g, d, s, inverse, lambda);
        if (status != CS_OK) break;
        accumulate(inverse, r);
        done = true; /* orthogonal except for rounding: then this turn makes them so */
        for (int j = 0; j < *active; ++j) {
            done = done && fabs(lambda[j] - 1) < 1e-6;
        }
        status = turn(b, w, s, done ? *active : B);
        if (status == CS_OK && !done && lambda[*active - 1] < 1e-2 && b->panels > 0) {
            h = h ? h : cs_calloc(b->panels * CS_SQUARE, sizeof *h);
            status = h ? pass(b, 0, w, h, taken) : CS_ERR_MEMORY;
        }
    }
    for (int j = status == CS_OK ? *active * B : CS_SQUARE; j < CS_SQUARE; ++j) {
        r[j] = 0;
    }
    cs_free(h);
    if (status == CS_OK && !done)
        status = cs_fail(CS_ERR_CONVERGE, "a block of vectors could not be made orthonormal");
    return status;
}

cs_status cs_basis_random(const cs_basis *b, uint64_t seed, uint64_t index, int wanted, cs_panel *w,
                          double *h, int *active)
{
    double r[CS_SQUARE], identity[CS_SQUARE] = {0}, size = 0;
    int64_t length = b->side == CS_RIGHT ? b->space->cols : b->space->rows;
    int64_t limit = length - cs_basis_columns(b);
    for (int j = 0; j < B; ++j) {
        identity[j * B + j] = 1;
    }
    wanted = limit < wanted ? (int)limit : wanted;
    *active = 0;
    if (limit <= 0) {
        return CS_OK;
    }
    cs_status status = b->space->random(b->space, seed, index, w);
    status = status ? status : turn(b, w, identity, wanted);
    status = status ? status : cs_basis_project(b, 0, w, h, &size);
    return status ? status : cs_basis_orthonormalise(b, 1e-12 * size, w, r, active);
}
