/* Many copies of one value, by Chebyshev filtering of random blocks.
 *
 * Method: where a Krylov space has shown a value and the next one below it, c the square of the
 * latter, T_d(2 A^T A / c - 1) leaves what is below in place and raises the copies by T_d of a
 * number above 1 (Rutishauser's filter; Zhou, Saad, Tiago & Chelikowsky, 2006). A fresh random
 * block, filtered until the copies exceed the rest by the factor that the residual requires, spans
 * one copy for each of its columns. Its d products are about those of a Krylov space for the same
 * residual, but nothing is orthogonalised between them: for many copies that is most of the work.
 *
 * Nothing is taken on trust: a block is projected, made orthonormal, turned to its Ritz vectors,
 * and the residual of each is computed. c only decides how fast this goes, and proves nothing of
 * what is missed: that is left to the Krylov run that follows.
 *
 * Limits: values above the copies, deflated, come back from rounding and grow faster; a filter is
 * cut into stages between which the block is projected again. */
#include <math.h>

#include "base/threads.h"
#include "linalg/svd_block_private.h"

enum { B = CS_BLOCK, MOST_STAGES = 6 };

static const double CONTAMINATED = 1e8; /* growth of a deflated direction over the copies' */
static const double NO_USE = 1e3; /* a residual this far off after a whole filter: c was too low */

/* W = keep W + P a + Q b. */
static cs_status add_panels(cs_space *s, cs_panel *p, double a, cs_panel *q, double b, bool keep,
                            cs_panel *w)
{
    double c[2 * CS_SQUARE] = {0};
    cs_panel *both[2] = {p, q};
    for (int j = 0; j < B; ++j) {
        c[j * B + j] = a;
        c[CS_SQUARE + j * B + j] = b;
    }
    return s->combine(s, q ? 2 : 1, both, c, keep, w);
}

/* panel[0] becomes T_degree(2 A^T A / cut - 1) panel[0], up to the sign; panel[1..2]: scratch. */
static cs_status filter(cs_krylov *k, double cut, int64_t degree, cs_panel **panel)
{
    cs_panel *now = panel[0], *product = panel[1], *before = panel[2];
    cs_status status = CS_OK;
    double sign = 1; /* of `before` times that of `now`, as they are held */
    for (int64_t d = 0; status == CS_OK && d < degree; ++d) {
        status = cs_interrupt_check();
        status = status ? status : cs_krylov_apply_normal(k, now, product);
        if (status == CS_OK && d == 0) {
            status = add_panels(k->space, product, 2 / cut, now, -1, false, before);
        } else if (status == CS_OK) { /* -T_{d+1} where T_{d-1} was */
            status = add_panels(k->space, product, -4 * sign / cut, now, 2 * sign, true, before);
            sign = -sign;
        }
        cs_panel *next = before;
        before = now;
        now = next;
    }
    panel[0] = now;
    panel[2] = before;
    return status;
}

/* X, orthonormal, becomes its Ritz vectors, value descending; excess: residuals of A^T A over
 * `bound`. */
static cs_status refine(cs_krylov *k, double bound, cs_panel **panel, double *value, double *excess)
{
    double g[CS_SQUARE], turn[CS_SQUARE], data[CS_SQUARE] = {0}, ascending[B];
    cs_space *s = k->space;
    cs_dense a = {.rows = B, .cols = B, .ld = B, .data = turn};
    cs_status status = cs_krylov_apply_normal(k, panel[0], panel[1]);
    status = status ? status : s->gram(s, 1, panel, panel[1], g);
    for (int e = 0; status == CS_OK && e < CS_SQUARE; ++e) {
        turn[e] = 0.5 * (g[e] + g[e % B * B + e / B]);
    }
    status = status ? status : cs_dense_eigh(&a, ascending, false);
    for (int j = 0; status == CS_OK && j < B / 2; ++j) {
        for (int i = 0; i < B; ++i) {
            double entry = turn[j * B + i];
            turn[j * B + i] = turn[(B - 1 - j) * B + i];
            turn[(B - 1 - j) * B + i] = entry;
        }
    }
    for (int j = 0; status == CS_OK && j < B; ++j) {
        value[j] = ascending[B - 1 - j];
        data[j * B + j] = -value[j];
    }
    status = status ? status : s->rotate(s, 1, 1, panel, &a);
    status = status ? status : s->rotate(s, 1, 1, panel + 1, &a);
    status = status ? status : s->combine(s, 1, panel, data, true, panel[1]);
    status = status ? status : s->gram(s, 1, panel + 1, panel[1], g);
    for (int j = 0; status == CS_OK && j < B; ++j) {
        excess[j] = sqrt(g[j * B + j]) / bound;
    }
    return status;
}

/* Columns from `keep` on become zero. */
static cs_status shorten(cs_krylov *k, int keep, cs_panel **x)
{
    double data[CS_SQUARE] = {0};
    cs_dense c = {.rows = B, .cols = B, .ld = B, .data = data};
    for (int j = 0; j < keep; ++j) {
        data[j + j * B] = 1;
    }
    return keep == B ? CS_OK : k->space->rotate(k->space, 1, 1, x, &c);
}

/* Degree by which the copies rise over the rest by `gain`: at least 1, and no more than lets what
 * is deflated above them stay below: then *whole is false. */
static int64_t degree_of(const cs_copies *c, double gain, bool *whole)
{
    double rate = acosh(2 * c->value / c->cut - 1), above = acosh(2 * c->largest / c->cut - 1);
    double degree = fmax(1, ceil(log(2 * fmax(gain, 1)) / rate));
    double most = above > rate ? fmax(1, floor(log(CONTAMINATED) / (above - rate))) : degree;
    *whole = degree <= most;
    return (int64_t)fmin(fmin(degree, most), 1e9);
}

/* How many leading columns are copies of the value, and how many of these have converged; *worst:
 * the largest excess among the copies. */
static int converged_copies(const cs_copies *c, const double *value, const double *excess,
                            int active, int *copies, double *worst)
{
    int good = 0;
    *copies = 0;
    *worst = 0;
    for (int j = 0; j < active && value[j] >= c->value * (1 - c->width); ++j) {
        *worst = fmax(*worst, excess[j]);
        *copies += 1;
        good += good == j && excess[j] <= 1;
    }
    return good;
}

/* Filters and refines until the copies have converged, or nothing more can be had of this block. */
static cs_status purify(cs_krylov *k, cs_copies *c, cs_panel **panel, double *value, int *good)
{
    double r[CS_SQUARE], excess[B], size = 0, gain = c->gain, last = INFINITY;
    int active = 0, copies = 0;
    bool more = true, whole = false;
    cs_status status = CS_OK;
    *good = 0;
    for (int stage = 0; status == CS_OK && more && stage < MOST_STAGES; ++stage) {
        int64_t degree = degree_of(c, gain, &whole);
        if (c->steps + degree > c->most_steps || degree > c->most_degree) {
            break;
        }
        status = filter(k, c->cut, degree, panel);
        c->steps += degree;
        status = status ? status : cs_basis_project(&k->v, 0, panel[0], k->h, &size);
        status =
            status ? status : cs_basis_orthonormalise(&k->v, 1e-12 * size, panel[0], r, &active);
        status = status ? status : refine(k, c->bound, panel, value, excess);
        c->steps += 1;
        if (status == CS_OK) {
            double worst = 0;
            *good = converged_copies(c, value, excess, active, &copies, &worst);
            if (stage == 0 && whole) { /* what the next block needs, with something to spare */
                c->gain *= fmin(fmax(3 * worst, 1e-3), 1e3);
            }
            more = copies > *good && worst < last && (worst < NO_USE || !whole);
            gain = 3 * worst;
            last = worst;
        }
    }
    return status;
}

cs_status cs_krylov_copies(cs_krylov *k, cs_copies *c, double *value, int *found)
{
    cs_panel *panel[3] = {NULL, NULL, NULL};
    int active = 0;
    *found = 0;
    cs_status status = CS_OK;
    for (int i = 0; status == CS_OK && i < 3; ++i) {
        status = k->space->create(k->space, CS_RIGHT, &panel[i]);
    }
    status =
        status ? status : cs_basis_random(&k->v, k->seed, k->blocks, B, panel[0], k->h, &active);
    k->blocks += 1;
    if (status == CS_OK && active == B) status = purify(k, c, panel, value, found);
    status = status || *found == 0 ? status : shorten(k, *found, &panel[0]);
    if (status == CS_OK && *found > 0) cs_krylov_lock(k, &panel[0], *found, value);
    for (int i = 0; i < 3; ++i) {
        k->space->destroy(panel[i]);
    }
    return status;
}
