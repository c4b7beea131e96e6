/* Truncated SVD by an own block Krylov method, over the operations of a space (space.h).
 *
 * Method: block Lanczos with thick restart on A^T A, A taken with its smaller side as columns
 * (svd_block_krylov.c); then A V = U R and the small SVD of R, which makes both sides orthonormal
 * to rounding (svd_block_krylov.c). The Gram form gives a residual of about 4 eps sigma_1^2 /
 * sigma_j. When one of the wanted values is too small for that (sigma_k below 4 eps / tol or 1e-6
 * or the floor, all times sigma_1), the whole is done again by block Golub-Kahan, whose residuals
 * are eps sigma_1, at the price of a second, taller basis. A Ritz value is a lower bound, so that
 * this is known as soon as the small ones have converged.
 *
 * Where A is symmetric without a negative eigenvalue (space.h), A takes the place of A^T A, and
 * statements on singular values hold for those of its root, except the residual, which is A's. The
 * steps that exclude missed copies are then those for roots.
 *
 * Multiple values: the Krylov space of a random block of 8 columns holds min(8, m) of m copies of a
 * value, also where later blocks have fewer columns: it is then nearer to its end, not narrower.
 * Where 8 found values lie within 1e-6 of each other, or the space has come to its end, the
 * triplets found are kept and a fresh random block, orthogonal to them, is sent in, until one has
 * run for the steps of svd_block_start.c, or to the end of its space, and changed nothing. Then a
 * value that was missed has probability below 1e-6; where no cluster is that large and the space
 * had no end it has probability 0 in exact arithmetic. That a block's worth of copies has converged
 * is acted upon before the rest has: these are locked, blocks filtered for the same value bring
 * more of them (svd_block_copies.c), and the rest of the Krylov space is dropped. Locked triplets
 * stay where they are: small eigenproblems and rotations leave them out.
 *
 * A block has 8 columns: a row of a panel is then a cache line, which is what the product fetches
 * for each nonzero, whatever is used of it; wider blocks cost as much a column, and more columns.
 *
 * Memory: basis of cols x 6 k, or k and a fresh block's run, about 200 (a budget below the latter
 * restarts within the run, for which the probability is not proved); results (rows + cols) k; one
 * left panel, rows x 8 (Golub-Kahan: the basis has rows + cols). The three panels of a filter fit
 * in the basis, which is down to fewer than k columns, all locked, when a filter runs. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/gpu.h"
#include "linalg/svd_block_private.h"

enum {
    B = CS_BLOCK,
    DEFAULT_STEPS = 100000,
    SPARE = CS_BLOCK_SPARE,
    FEW = 16,       /* panels, at most, whose small matrix costs less than a step */
    LOOK = 64,      /* rows of a step, for each panel squared, that cost as much as a look */
    FIRST_LOOK = 32 /* panels, at most: copies of a value have shown by then, or will not soon */
};

static const double MISSED = 1e-8;  /* relative excess that proves a missed copy */
static const double CLUSTER = 1e-6; /* values this near may be copies */

/* Why a search ended. */
typedef enum {
    GOES_ON,
    CONVERGED, /* with all that was wanted, or all that there is */
    TOO_DEEP,  /* converged, but some values are too small to be accurate from A^T A */
    STOPPED_BY_LIMIT,
    STOPPED_BY_INTERRUPT
} stop_reason;

typedef struct {
    cs_space *space;
    const cs_svd_options *options;
    cs_krylov k;
    cs_pool pool; /* of the arrays below */
    /* of the last Rayleigh-Ritz step, without the locked ones; of the present basis */
    cs_ritz ritz;
    int64_t locked; /* full panels of triplets found, the first of the basis */
    int64_t count;  /* of these and the Ritz triplets together, values descending: */
    double *value, *estimate;
    int64_t *ritz_of; /* -1: locked */
    int64_t *which;   /* a buffer for numbers of Ritz triplets */
    int64_t capacity; /* panels */
    int64_t steps, most_steps;
    double tol;
    int64_t next_look;   /* panels */
    int64_t converged;   /* of the wanted values, at the last look */
    double last_excess;  /* log of the worst residual over its bound, after last_steps */
    int64_t last_steps;  /* 0: it is not known */
    bool verifying;      /* a fresh block looks for what was missed */
    int64_t since_fresh; /* its steps */
    double *known;       /* k values, as they were before; 0 where there was none */
    int64_t most_kept;   /* of the triplets in the end */
    stop_reason stop;
} search;

/* Values below this part of sigma_1 are not for the Gram form. */
static double gram_limit(const search *s)
{
    double floor = 2 * sqrt((double)s->space->rows * DBL_EPSILON);
    return fmax(fmax(1e-6, 4 * DBL_EPSILON / s->tol), floor);
}

/* --- looks ------------------------------------------------------------------------------------ */

/* Value of a locked triplet, by its column. */
static double locked_value(const search *s, int64_t j)
{
    double value = s->k.m[j + j * s->k.ld];
    return s->k.bidiagonal ? value : sqrt(value);
}

/* Ritz triplets of the unlocked part, merged with the locked ones. Locked values descend except for
 * rounding and late finds, which are sorted in. */
static cs_status find_ritz(search *s)
{
    cs_ritz_free(&s->ritz);
    s->count = 0;
    cs_status status =
        s->k.v.panels > s->locked ? cs_krylov_ritz(&s->k, s->locked, &s->ritz) : CS_OK;
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < s->locked * B + s->ritz.count; ++j) {
        int64_t ritz = j - s->locked * B, at = s->count++;
        double value = ritz < 0 ? locked_value(s, j) : s->ritz.value[ritz];
        for (; at > 0 && s->value[at - 1] < value; --at) {
            s->value[at] = s->value[at - 1];
            s->estimate[at] = s->estimate[at - 1];
            s->ritz_of[at] = s->ritz_of[at - 1];
        }
        s->value[at] = value;
        s->estimate[at] = ritz < 0 ? 0 : s->ritz.estimate[ritz];
        s->ritz_of[at] = ritz < 0 ? -1 : ritz;
    }
    return CS_OK;
}

/* Norm of the triplet's residual over its bound. */
static double excess_of(const search *s, int64_t j)
{
    double sigma = s->value[j], first = s->value[0];
    double residual = s->estimate[j];
    if (!s->k.bidiagonal) { /* direct: that of A, whose largest value is the square of `first` */
        residual /= fmax(s->k.direct ? first : sigma, DBL_MIN);
    }
    return residual / fmax(0.25 * s->tol * first, DBL_MIN);
}

/* A value too small for the Gram form, as it will stay: what is left can add no more than makes it
 * reach the limit. */
static bool converged_below(const search *s, int64_t j)
{
    double limit = gram_limit(s) * s->value[0];
    return s->value[j] < limit && s->estimate[j] < 0.25 * limit * limit;
}

/* How many of the first n values are distinguishable from 0 for this process. */
static int64_t above_floor(const search *s, int64_t n)
{
    double part = s->k.bidiagonal ? (double)s->space->rows * DBL_EPSILON : gram_limit(s);
    while (n > 0 && !(s->value[n - 1] > part * s->value[0])) {
        --n;
    }
    return n;
}

/* Whether copies may be missing among the first n values. */
static bool suspicious(const search *s, int64_t n)
{
    n = above_floor(s, n);
    for (int64_t j = 0; j + B <= n; ++j) {
        if (s->value[j] - s->value[j + B - 1] <= CLUSTER * s->value[j]) {
            return true;
        }
    }
    return false;
}

static bool exhausted(const search *s)
{
    return cs_basis_columns(&s->k.v) >= s->space->cols;
}

/* Of the first n triplets those that have converged, or all, stay in the basis; *converged: how
 * many of the first of these have. */
static cs_status keep_first(search *s, int64_t n, bool all, int64_t *converged)
{
    int64_t kept = 0, count = 0;
    *converged = 0;
    for (int64_t j = 0; j < n; ++j) {
        bool good = excess_of(s, j) <= 1;
        *converged += *converged == j && good;
        if (s->ritz_of[j] < 0) {
            ++kept;
        } else if (all || good) {
            s->which[count++] = s->ritz_of[j];
        }
    }
    cs_status status = s->k.v.panels == s->locked
                           ? CS_OK
                           : cs_krylov_keep(&s->k, &s->ritz, s->locked, count, s->which);
    if (status != CS_OK || kept == s->locked * B) return status;
    s->locked = 0; /* some go: all are Ritz vectors by now, so that this only sorts them */
    status = find_ritz(s);
    for (int64_t j = 0; status == CS_OK && j < kept + count; ++j) {
        s->which[j] = s->ritz_of[j];
    }
    return status ? status : cs_krylov_keep(&s->k, &s->ritz, 0, kept + count, s->which);
}

/* A fresh block looks for more than the first n values, already kept. */
static cs_status send_fresh(search *s, int64_t n)
{
    for (int64_t j = 0; j < s->options->k; ++j) {
        s->known[j] = j < above_floor(s, n) ? s->value[j] : 0;
    }
    cs_status status = cs_krylov_fresh(&s->k);
    s->locked = s->k.next_active > 0 ? s->locked : 0; /* all there is */
    s->verifying = true;
    s->since_fresh = 0;
    s->last_steps = 0;
    s->next_look = s->k.v.panels + 1;
    return status;
}

/* The first n triplets stay, locked when they have converged; a fresh block looks for more. */
static cs_status verify(search *s, int64_t n)
{
    int64_t converged = 0;
    cs_status status = keep_first(s, n, true, &converged);
    s->locked = cs_most(s->locked, converged / B);
    return status ? status : send_fresh(s, n);
}

/* --- many copies ------------------------------------------------------------------------------ */

/* Where among the converged values, the first n, a block's worth of copies begins that this run has
 * found; n when nowhere. */
static int64_t find_cluster(const search *s, int64_t n)
{
    n = above_floor(s, n);
    for (int64_t j = 0; j + B <= n; ++j) {
        double value = s->value[j];
        int64_t found = 0, l = j;
        for (; l < n && value - s->value[l] <= CLUSTER * value; ++l) {
            found += s->ritz_of[l] >= 0;
        }
        if (found >= B) {
            return j;
        }
    }
    return n;
}

/* Reports how many of the wanted triplets have converged; a run that verifies has all of them and
 * continues. */
static void report(const search *s)
{
    char stage[96];
    int64_t k = s->options->k, converged = cs_least(s->converged, k - 1);
    (void)snprintf(stage, sizeof stage, "triplets converged%s (block Krylov, %lld columns)",
                   s->verifying ? ", looking for missed copies" : "", (long long)s->steps * B);
    cs_progress_report(s->options->progress, stage, converged, k);
}

/* Finds copies of a value by filters, until a filter finds no more; `below`: the next one that is
 * not kept, `first`: the largest. It stops when the degree exceeds by far what a Krylov space
 * needed: there are values in between. */
static cs_status sweep(search *s, double value, double below, double first)
{
    double found_value[B];
    double bound = 0.25 * s->tol * first * value;
    cs_copies c = {.value = value * value,
                   .cut = below * below,
                   .largest = first * first,
                   .width = 2 * CLUSTER,
                   .bound = bound,
                   .gain = sqrt((double)s->space->cols) * value * value / bound,
                   .most_degree = 3 * s->since_fresh,
                   .steps = s->steps,
                   .most_steps = s->most_steps};
    int found = B;
    cs_status status = CS_OK;
    while (status == CS_OK && found == B && cs_basis_columns(&s->k.v) < s->options->k) {
        status = cs_krylov_copies(&s->k, &c, found_value, &found);
        s->locked += status == CS_OK && found == B;
        s->converged += found;
        s->steps = c.steps;
        report(s);
    }
    return status;
}

/* When a block's worth of copies of a value has converged, `converged` the values so far: these are
 * locked, more of them are looked for, and the rest is left to a fresh block, which comes to it
 * again on its way. */
static cs_status take_copies(search *s, int64_t converged, bool *taken)
{
    int64_t at = find_cluster(s, converged), n = converged / B * B, next = n, all = 0;
    *taken = at < converged && n / B > s->locked;
    if (!*taken) {
        return CS_OK;
    }
    while (next < s->count && s->value[at] - s->value[next] <= CLUSTER * s->value[at]) {
        ++next;
    }
    double value = s->value[at], first = s->value[0], below = next < s->count ? s->value[next] : 0;
    cs_status status = keep_first(s, n, true, &all);
    s->locked = all / B;
    memset(s->k.r, 0, sizeof s->k.r); /* of what was dropped */
    if (status == CS_OK && !s->k.bidiagonal && below > 0) status = sweep(s, value, below, first);
    status = status ? status : find_ritz(s);
    return status ? status : send_fresh(s, s->count);
}

/* When to look next: the residuals fall about geometrically, also over a restart; where a look costs less
 * than a step, early is cheaper than late. */
static void plan_look(search *s, double worst)
{
    const int64_t panels = s->k.v.panels, whole = s->options->k / B + 3, open = panels - s->locked;
    const bool cheap = open < FEW && open * open * LOOK < s->space->cols;
    int64_t ahead = open < FEW ? 1 : 4;
    double now = log(worst);
    if (!cheap && s->last_steps > 0 && s->steps > s->last_steps && now < s->last_excess) {
        double rate = (s->last_excess - now) / (double)(s->steps - s->last_steps);
        ahead = (int64_t)fmin(8, fmax(1, 0.7 * now / rate));
    }
    s->last_excess = now;
    s->last_steps = s->steps;
    s->next_look = panels + ahead;
    if (s->next_look <
        whole) { /* not all that is wanted can be there: only copies are looked for */
        s->next_look = cs_least(panels + panels / 2, whole);
    }
}

/* Whether a fresh block has found something: then a value has moved down in their order. */
static bool found_more(const search *s, int64_t n)
{
    for (int64_t j = 0; j < above_floor(s, n); ++j) {
        if (s->value[j] > s->known[j] * (1 + MISSED)) {
            return true;
        }
    }
    return false;
}

/* All wanted values have converged: ends the run, or starts a fresh block. */
static cs_status end_or_restart(search *s, int64_t n)
{
    bool ended = s->k.next_active == 0;
    bool enough = ended || s->since_fresh >= cs_probe_steps(s->space->cols, s->k.direct);
    bool more = s->verifying && found_more(s, n);
    if (exhausted(s) || (s->verifying ? !more && enough : !ended && !suspicious(s, n))) {
        s->stop = CONVERGED;
    } else if (!s->verifying || more) {
        return verify(s, n);
    }
    s->next_look = s->k.v.panels + 4; /* of a fresh block that goes on */
    return CS_OK;
}

/* Thick restart: the wanted Ritz vectors and half of the others that fit. */
static cs_status restart(search *s, double worst)
{
    int64_t k = s->options->k, space = (s->capacity - SPARE) * B;
    int64_t keep = k + (space - k) / 2, converged = 0;
    keep = cs_least(keep / B * B, s->count);
    cs_status status = keep_first(s, keep, true, &converged);
    plan_look(s, worst);
    s->next_look = cs_most(s->next_look, s->k.v.panels + 3);
    return status;
}

static cs_status look(search *s)
{
    int64_t k = s->options->k, panels = s->k.v.panels;
    cs_status status = find_ritz(s);
    if (status == CS_OK) status = cs_interrupt_check(); /* before the basis is turned */
    if (status != CS_OK) return status;
    int64_t n = cs_least(k, s->count), converged = 0;
    double worst = 0;
    bool below = false, taken = false;
    s->converged = 0;
    for (int64_t j = 0; j < n; ++j) {
        bool deep = !s->k.bidiagonal && converged_below(s, j);
        below |= deep;
        converged += converged == j && excess_of(s, j) <= 1;
        worst = deep ? worst : fmax(worst, excess_of(s, j));
        s->converged += deep || excess_of(s, j) <= 1;
    }
    bool ended = s->k.next_active == 0;
    if (worst <= 1 && (n == k || ended)) {
        status = end_or_restart(s, n);
        if (s->stop == CONVERGED && below) {
            s->stop = TOO_DEEP;
        }
        if (status != CS_OK || s->stop != GOES_ON || s->k.v.panels < s->capacity) return status;
    }
    status = worst <= 1 ? CS_OK : take_copies(s, converged, &taken);
    if (status != CS_OK || taken) return status;
    if (panels >= s->capacity) {
        return restart(s, fmax(worst, 2));
    }
    if (ended) { /* with unconverged values: only where a Rayleigh-Ritz step came in between */
        return verify(s, n);
    }
    plan_look(s, fmax(worst, 2));
    return CS_OK;
}

/* --- the loop --------------------------------------------------------------------------------- */

static cs_status run_search(search *s)
{
    int64_t k = s->options->k;
    bool zero = false;
    cs_status status = cs_krylov_first(&s->k, s->options->start);
    status = status ? status : cs_krylov_find_scale(&s->k, &zero);
    s->stop = zero ? CONVERGED : GOES_ON;
    s->next_look = cs_least(k / B + 3, FIRST_LOOK);
    while (status == CS_OK && s->stop == GOES_ON && s->steps < s->most_steps) {
        status = cs_interrupt_check();
        status = status ? status : cs_krylov_step(&s->k);
        if (status != CS_OK) break;
        s->steps += 1;
        s->since_fresh += 1;
        report(s);
        if (s->k.v.panels >= s->next_look || s->k.v.panels >= s->capacity ||
            s->k.next_active == 0) {
            status = look(s);
        }
    }
    if (status == CS_ERR_INTERRUPT && !s->space->held) {
        cs_reason_clear();
        s->stop = STOPPED_BY_INTERRUPT;
        return CS_OK;
    }
    s->stop = s->stop == GOES_ON ? STOPPED_BY_LIMIT : s->stop;
    return status;
}

static void search_free(search *s)
{
    cs_ritz_free(&s->ritz);
    cs_krylov_free(&s->k);
    cs_pool_free(&s->pool);
}

static cs_status search_open(cs_space *space, const cs_svd_options *o, bool bidiagonal, search *out)
{
    search s = {.space = space,
                .options = o,
                .tol = o->tol > 0 ? o->tol : 1e-12,
                .most_steps = o->max_iterations > 0 ? o->max_iterations : DEFAULT_STEPS};
    cs_status status = cs_krylov_capacity(space, o, bidiagonal, &s.capacity);
    if (status == CS_OK) {
        int64_t columns = (s.capacity + 1) * B;
        CS_POOL_FIELDS(&s.pool, columns, &s, value, estimate, ritz_of, which);
        s.known = cs_pool_take(&s.pool, o->k, sizeof *s.known);
        status = s.pool.status;
    }
    status = status ? status : cs_krylov_open(space, bidiagonal, s.capacity + 1, o->seed, &s.k);
    s.k.direct = space->semidefinite && !bidiagonal;
    return CS_DELIVER(status, out, s, search_free);
}

/* --- results ---------------------------------------------------------------------------------- */

/* After an interrupt as many triplets as can be finished in a second: with vectors, residuals and
 * what its caller makes of it, a panel takes what some five steps take, and seven on a busy machine. */
static int64_t kept_in_a_second(int64_t steps, double seconds)
{
    const double panels = (double)steps / (7 * fmax(seconds, 1e-9));
    return B * (int64_t)fmin(fmax(panels, 1), 1e9);
}

/* Whether the Ritz values of the basis as it is, which its last look has not, come in a fraction of a
 * second: dsyevd's 4 n^3 flops, of one thread. */
static bool ritz_in_a_second(const search *s)
{
    const double n = (double)cs_basis_columns(&s->k.v);
    return 4 * n * n * n < 2e9;
}

/* The wanted triplets that have converged become the basis: s->value, n of them. */
static cs_status keep_wanted(search *s, double floor, int64_t *n)
{
    cs_krylov *k = &s->k;
    bool sorted = s->locked == 0 || !k->bidiagonal;
    int64_t most = 0, converged = 0;
    if (s->stop == STOPPED_BY_INTERRUPT && !ritz_in_a_second(s)) {
        *n = s->count = 0;
        return CS_OK;
    }
    cs_status status = s->stop == CONVERGED ? CS_OK : find_ritz(s); /* the last look was earlier */
    while (status == CS_OK && most < s->options->k && most < s->most_kept && most < s->count &&
           s->value[most] > floor * s->value[0]) {
        ++most;
    }
    status = status || most == 0 ? status : keep_first(s, most, false, &converged);
    *n = most == 0 ? 0 : cs_basis_columns(&k->v);
    if (status != CS_OK || sorted) {
        return status; /* the Gram form is sorted with the left vectors */
    }
    s->locked = 0;
    status = find_ritz(s);
    return status ? status : keep_first(s, *n, true, &converged);
}

static cs_status collect(search *s, cs_svd *svd)
{
    int64_t n = 0;
    cs_krylov *k = &s->k;
    double noise = (double)s->space->rows * DBL_EPSILON;
    double floor = k->bidiagonal ? noise : sqrt(noise);
    cs_status status = keep_wanted(s, floor, &n);
    svd->floor = s->count == 0 ? 0
                 : k->direct   ? noise * s->value[0] * s->value[0] * k->scale
                               : floor * s->value[0] * k->scale;
    svd->k = n;
    svd->sigma = cs_alloc(n, sizeof *svd->sigma);
    status = status || svd->sigma ? status : CS_ERR_MEMORY;
    s->space->destroy(k->half);
    s->space->destroy(k->next);
    k->half = k->next = NULL;
    if (status == CS_OK && n > 0 && k->bidiagonal) {
        for (int64_t j = 0; j < n; ++j) {
            svd->sigma[j] = k->m[j + j * k->ld] * k->scale;
        }
    } else if (status == CS_OK && n > 0) {
        status = cs_krylov_left(k, n, svd->sigma);
    } else {
        cs_basis_cut(&k->v, 0);
    }
    status =
        status ? status : cs_basis_export(&k->v, cs_space_held(s->space, CS_RIGHT), n, &svd->v);
    status = status ? status : cs_basis_export(&k->u, cs_space_held(s->space, CS_LEFT), n, &svd->u);
    return status;
}

static cs_status by_process(cs_space *space, const cs_svd_options *o, bool bidiagonal, cs_svd *svd,
                            stop_reason *stop)
{
    search s = {0};
    cs_status status = search_open(space, o, bidiagonal, &s);
    if (status != CS_OK) return status;
    const double start = cs_seconds();
    status = run_search(&s);
    *stop = s.stop;
    s.most_kept = s.stop == STOPPED_BY_INTERRUPT ? kept_in_a_second(s.steps, cs_seconds() - start)
                                                 : INT64_MAX;
    if (status == CS_OK && s.stop != TOO_DEEP) {
        cs_interrupt_hold(true); /* what is known by now is brought home */
        status = collect(&s, svd);
        cs_interrupt_hold(false);
        svd->converged = s.stop == CONVERGED;
        svd->interrupted = s.stop == STOPPED_BY_INTERRUPT;
    }
    svd->iterations += s.steps;
    svd->applications += s.k.applications;
    search_free(&s);
    return status;
}

cs_status cs_svd_block_space(cs_space *space, const cs_svd_options *options, cs_svd *out)
{
    stop_reason stop = GOES_ON;
    cs_threads_blas_hold(true); /* small matrices, whose bits must not depend on it */
    *out = (cs_svd){.solver = CS_SOLVER_BLOCK};
    cs_status status = by_process(space, options, false, out, &stop);
    if (status == CS_OK && stop == TOO_DEEP) status = by_process(space, options, true, out, &stop);
    cs_threads_blas_hold(false);
    return status;
}

/* Where the panels live. On a GPU the basis may take the memory that the results leave. */
static cs_status open_space(const cs_linop *tall, cs_svd_options *o, cs_space *space)
{
    if (!o->gpu) {
        return cs_space_cpu(tall, o->threads, space);
    }
    int64_t left = 0, all = 0;
    cs_status status = o->gpu->space(o->gpu, tall, space);
    status = status || o->memory > 0 ? status : o->gpu->memory(o->gpu, &left, &all);
    if (status == CS_OK && o->memory == 0) {
        int64_t panels = (o->k + B - 1) / B + 2 * (int64_t)SPARE;
        left = left / 10 * 9 - panels * tall->rows * B * (int64_t)sizeof(double);
        o->memory = cs_most(left, 1);
    }
    return status;
}

cs_status cs_svd_block(const cs_linop *a, const cs_svd_options *options, cs_svd *out)
{
    cs_space space = {0};
    cs_svd_options o = *options;
    cs_status status = open_space(a, &o, &space);
    status = status ? status : cs_svd_block_space(&space, &o, out);
    (o.gpu ? o.gpu->space_free : cs_space_cpu_free)(&space);
    return status;
}
