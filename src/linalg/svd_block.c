/* Truncated SVD by an own block Krylov method, over the operations of a space (space.h).
 *
 * Method: block Lanczos with thick restart on A^T A, A taken with its smaller side as columns
 * (svd_block_krylov.c); then A V = U R and the small SVD of R, which makes both sides
 * orthonormal to rounding (svd_block_left.c). The Gram form
 * gives a residual of about 4 eps sigma_1^2 / sigma_j. When one of the wanted values is too small
 * for that (sigma_k below 4 eps / tol or 1e-6 or the floor, all times sigma_1), the whole is done
 * again by block Golub-Kahan, whose residuals are eps sigma_1, at the price of a second, taller
 * basis. A Ritz value is a lower bound, so that this is known as soon as the small ones have
 * settled.
 *
 * Multiple values: a Krylov space from a block of b columns holds at most b copies of a value.
 * Where b found values lie within 1e-6 of each other (b the smallest number of columns that a block
 * has had, 0 after a breakdown), the triplets found are kept and a fresh random block, orthogonal
 * to them, is sent in, until one has run for the steps of svd_block_probe.c, or to the end of its
 * space, and changed nothing. Then a value that was missed has probability below 1e-6; where no
 * cluster is that large it has probability 0 in exact arithmetic.
 *
 * A block has 8 columns: a row of a panel is then a cache line, which is what the product fetches
 * for each nonzero, whatever is used of it; wider blocks cost as much a column, and more columns.
 *
 * Memory: basis of cols x 6 k, or k and a fresh block's run, about 200 (a budget below the latter
 * restarts within the run, for which the probability is not proved); results (rows + cols) k;
 * one left panel, rows x 8 (Golub-Kahan: the basis has rows + cols).
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cblas.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "linalg/gpu.h"
#include "linalg/svd_block_private.h"
#include "linalg/svd_private.h"

enum {
    B = CS_BLOCK,
    DEFAULT_STEPS = 100000,
    SPARE = 4 /* panels beyond the wanted ones, least */,
    FEW = 16 /* panels whose small matrix costs less than a step */
};

static const double MISSED = 1e-8;  /* relative excess that proves a missed copy */
static const double CLUSTER = 1e-6; /* values this near may be copies */
static const double NORMAL_RANGE = 1e60;

typedef struct {
    cs_space *space;
    const cs_svd_options *options;
    cs_krylov k;
    cs_ritz ritz; /* of the last look; its vectors are those of the present basis */
    int64_t *which;
    int64_t capacity; /* panels */
    int64_t steps, most_steps;
    double tol;
    int64_t next_look;  /* panels */
    int64_t settled;    /* of the wanted values, at the last look */
    double last_excess; /* log of the worst residual over its bound, at last_panels */
    int64_t last_panels;
    bool verifying;      /* a fresh block looks for what was missed */
    int64_t since_fresh; /* its steps */
    double *known;       /* k values, as they were before; 0 where there was none */
    bool done, deep, interrupted;
} search;

/* Values below this part of sigma_1 are not for the Gram form. */
static double gram_limit(const search *s)
{
    double floor = 2 * sqrt((double)s->space->rows * DBL_EPSILON);
    return fmax(fmax(1e-6, 4 * DBL_EPSILON / s->tol), floor);
}

/* --- start ------------------------------------------------------------------------------------ */

/* A power of two by which the norm of A x, x the next block, is brought into the range where no
 * square overflows; `*zero` when A x = 0. */
static cs_status find_scale(search *s, bool *zero)
{
    double g[CS_SQUARE], data[CS_SQUARE] = {0}, largest = 0, factor = 1;
    cs_dense c = {.rows = B, .cols = B, .ld = B, .data = data};
    cs_panel *y = s->k.half;
    cs_status status = CS_OK;
    static const int power[] = {0, -510, 510};
    for (int t = 0; status == CS_OK && t < 3; ++t) {
        factor = ldexp(1, power[t]);
        status = s->space->apply(s->space, s->k.next, y);
        for (int j = 0; j < B; ++j) {
            data[j + j * B] = factor;
        }
        status = status || t == 0 ? status : s->space->rotate(s->space, 1, 1, &y, &c);
        status = status ? status : s->space->gram(s->space, 1, &y, y, g);
        largest = 0;
        for (int j = 0; status == CS_OK && j < B; ++j) {
            largest = g[j * B + j] <= largest ? largest : g[j * B + j]; /* NaN stays */
        }
        s->k.applications += B;
        if (isfinite(largest) && largest > 0) {
            break;
        }
    }
    if (status == CS_OK && !isfinite(largest)) {
        return cs_fail(CS_ERR_INPUT, "operator of %lld x %lld gives a vector of norm %g",
                       (long long)s->space->rows, (long long)s->space->cols, sqrt(largest));
    }
    *zero = largest == 0;
    double norm = sqrt(largest) / factor;
    if (!*zero && (norm > NORMAL_RANGE || norm < 1 / NORMAL_RANGE)) {
        s->k.scale = ldexp(1, ilogb(sqrt(largest))) / factor;
    }
    return status;
}

/* The first block: random, or random combinations of the guess with a thousandth of noise, so that
 * nothing is left out. */
static cs_status first_block(search *s)
{
    const cs_dense *guess = s->options->start;
    cs_status status = cs_krylov_fresh(&s->k);
    if (status != CS_OK || !guess) {
        return status;
    }
    double r[CS_SQUARE], c[CS_SQUARE], identity[CS_SQUARE] = {0}, g[CS_SQUARE];
    cs_panel *part = NULL;
    double norm = 0;
    for (int j = 0; j < B; ++j) {
        identity[j * B + j] = 1e-3;
    }
    /* The noise first: the fresh block scaled, then the guess on top. */
    status = s->space->create(s->space, CS_RIGHT, &part);
    for (int64_t first = 0; status == CS_OK && first < guess->cols; first += B) {
        int64_t count = guess->cols - first < B ? guess->cols - first : B;
        cs_rng rng =
            cs_rng_at(s->options->seed, CS_STREAM_SOLVER, ((uint64_t)1 << 62) + (uint64_t)first);
        status = s->space->put(s->space, guess, first, count, part);
        status = status ? status : s->space->gram(s->space, 1, &part, part, g);
        for (int l = 0; l < B; ++l) {
            double length = sqrt(g[l * B + l]);
            if (!isfinite(length)) {
                status = cs_fail(CS_ERR_INPUT, "start vector %lld has norm %g",
                                 (long long)(first + l), length);
                break;
            }
            norm = fmax(norm, length);
            for (int j = 0; j < B; ++j) {
                double normal = cs_rng_normal(&rng);
                c[l * B + j] = length > 0 && j < s->k.next_active ? normal / length : 0;
            }
        }
        if (status == CS_OK && first == 0) {
            cs_dense scaled = {.rows = B, .cols = B, .ld = B, .data = identity};
            status = s->space->rotate(s->space, 1, 1, &s->k.next, &scaled);
        }
        status = status ? status : s->space->combine(s->space, 1, &part, c, true, s->k.next);
    }
    s->space->destroy(part);
    return status ? status : cs_basis_orthonormalise(&s->k.v, 0, s->k.next, r, &s->k.next_active);
}

/* --- looks ------------------------------------------------------------------------------------ */

/* Norm of the triplet's residual over its bound. */
static double excess_of(const search *s, int64_t j)
{
    double sigma = s->ritz.value[j], first = s->ritz.value[0];
    double residual = s->ritz.estimate[j];
    if (!s->k.bidiagonal) {
        residual /= fmax(sigma, DBL_MIN);
    }
    return residual == 0 ? 0 : residual / (0.25 * s->tol * first);
}

/* A value too small for the Gram form, as it will stay: what is left can add no more than makes it
 * reach the limit. */
static bool settled_below(const search *s, int64_t j)
{
    double limit = gram_limit(s) * s->ritz.value[0];
    return s->ritz.value[j] < limit && s->ritz.estimate[j] < 0.25 * limit * limit;
}

/* How many of the first n values are above what this process can tell from 0. */
static int64_t above_floor(const search *s, int64_t n)
{
    double part = s->k.bidiagonal ? (double)s->space->rows * DBL_EPSILON : gram_limit(s);
    while (n > 0 && !(s->ritz.value[n - 1] > part * s->ritz.value[0])) {
        --n;
    }
    return n;
}

/* Whether copies may be missing among the first n values. */
static bool suspicious(const search *s, int64_t n)
{
    int64_t copies = s->k.least_active;
    if (copies == 0) {
        return true;
    }
    n = above_floor(s, n);
    for (int64_t j = 0; j + copies <= n; ++j) {
        if (s->ritz.value[j] - s->ritz.value[j + copies - 1] <= CLUSTER * s->ritz.value[j]) {
            return true;
        }
    }
    return false;
}

static bool exhausted(const search *s)
{
    return cs_basis_columns(&s->k.v) >= s->space->cols;
}

/* The first n Ritz vectors stay; a fresh block looks for more. */
static cs_status verify(search *s, int64_t n)
{
    for (int64_t j = 0; j < s->options->k; ++j) {
        s->known[j] = j < above_floor(s, n) ? s->ritz.value[j] : 0;
    }
    cs_status status = cs_krylov_keep(&s->k, &s->ritz, n, s->which);
    status = status ? status : cs_krylov_fresh(&s->k);
    s->verifying = true;
    s->since_fresh = 0;
    s->next_look = s->k.v.panels + 1;
    return status;
}

/* When to look next: the residuals fall about geometrically; early is cheaper than late, for each
 * step costs more than a look. */
static void plan_look(search *s, double worst)
{
    int64_t ahead = 4;
    double now = log(worst);
    if (s->last_panels > 0 && s->k.v.panels > s->last_panels && now < s->last_excess) {
        double rate = (s->last_excess - now) / (double)(s->k.v.panels - s->last_panels);
        ahead = (int64_t)fmin(8, fmax(1, 0.7 * now / rate));
    }
    s->last_excess = now;
    s->last_panels = s->k.v.panels;
    s->next_look = s->k.v.panels + (s->k.v.panels < FEW ? 1 : ahead);
}

/* Whether a fresh block has found something: then a value has moved down in their order. */
static bool found_more(const search *s, int64_t n)
{
    for (int64_t j = 0; j < above_floor(s, n); ++j) {
        if (s->ritz.value[j] > s->known[j] * (1 + MISSED)) {
            return true;
        }
    }
    return false;
}

/* All wanted values have settled: the end, or a fresh block. */
static cs_status settled(search *s, int64_t n)
{
    bool ended = s->k.next_active == 0;
    bool enough = ended || s->since_fresh >= cs_probe_steps(s->space->cols);
    s->done = exhausted(s) || (!s->verifying && !ended && !suspicious(s, n)) ||
              (s->verifying && !found_more(s, n) && enough);
    if (!s->done && (!s->verifying || found_more(s, n))) {
        return verify(s, n);
    }
    s->next_look = s->k.v.panels + 4; /* of a fresh block that goes on */
    return CS_OK;
}

/* Thick restart: the wanted Ritz vectors and half of the others that there is room for. */
static cs_status restart(search *s)
{
    int64_t k = s->options->k, room = (s->capacity - SPARE) * B;
    int64_t keep = k + (room - k) / 2;
    keep = keep / B * B < s->ritz.count ? keep / B * B : s->ritz.count;
    s->last_panels = 0;
    cs_status status = cs_krylov_keep(&s->k, &s->ritz, keep, s->which);
    s->next_look = s->k.v.panels + 3;
    return status;
}

static cs_status look(search *s)
{
    int64_t k = s->options->k, panels = s->k.v.panels;
    cs_ritz_free(&s->ritz);
    cs_status status = cs_krylov_ritz(&s->k, 0, &s->ritz);
    if (status != CS_OK) {
        return status;
    }
    int64_t n = k < s->ritz.count ? k : s->ritz.count;
    double worst = 0;
    bool below = false;
    s->settled = 0;
    for (int64_t j = 0; j < n; ++j) {
        bool deep = !s->k.bidiagonal && settled_below(s, j);
        below |= deep;
        worst = deep ? worst : fmax(worst, excess_of(s, j));
        s->settled += deep || excess_of(s, j) <= 1;
    }
    bool ended = s->k.next_active == 0;
    if (worst <= 1 && (n == k || ended)) {
        status = settled(s, n);
        s->deep = s->done && below; /* for the other process */
        if (status != CS_OK || s->done || s->k.v.panels < s->capacity) {
            return status;
        }
    }
    if (panels >= s->capacity) {
        return restart(s);
    }
    if (ended) { /* with values not settled: only where a look came in between */
        return verify(s, n);
    }
    plan_look(s, fmax(worst, 2));
    return CS_OK;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* What has settled, of what is wanted; a run that verifies has settled all and is not at its end.
 */
static void report(const search *s)
{
    char stage[96];
    int64_t k = s->options->k, settled = s->settled < k ? s->settled : k - 1;
    (void)snprintf(stage, sizeof stage, "triplets converged%s (block Krylov, %lld columns)",
                   s->verifying ? ", looking for missed copies" : "", (long long)(s->steps * B));
    cs_progress_report(s->options->progress, stage, settled, k);
}

static cs_status run(search *s)
{
    int64_t k = s->options->k;
    bool zero = false;
    cs_status status = first_block(s);
    status = status ? status : find_scale(s, &zero);
    s->done = zero;
    s->next_look = k / B + 3;
    while (status == CS_OK && !s->done && s->steps < s->most_steps) {
        status = cs_interrupt_check();
        status = status ? status : cs_krylov_step(&s->k);
        if (status != CS_OK) {
            break;
        }
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
        s->interrupted = true;
        status = CS_OK;
    }
    return status;
}

static cs_status capacity_of(const cs_space *space, const cs_svd_options *o, bool bidiagonal,
                             int64_t *capacity)
{
    int64_t k = o->k, n = space->cols;
    int64_t run = k + B * (cs_probe_steps(n) + 2); /* a fresh block's, without a restart */
    int64_t columns = 6 * k > run ? 6 * k : run;
    columns = columns < n ? columns : n;
    int64_t memory = o->memory;
    if (memory == 0) {
        int64_t quarter = cs_mem_available() / 4;
        memory = (int64_t)4 << 30;
        memory = quarter > 0 && quarter < memory ? quarter : memory;
    }
    int64_t length = bidiagonal ? space->rows + n : n;
    int64_t fit = memory / (int64_t)sizeof(double) / B / (length > 0 ? length : 1);
    int64_t most = (columns + B - 1) / B + SPARE, least = (k + B - 1) / B + SPARE;
    /* Blocks that are not full may make more panels than columns of them. */
    if (fit < least) {
        return cs_fail(CS_ERR_MEMORY,
                       "a basis for %lld triplets of %lld x %lld takes %lld bytes, the limit is "
                       "%lld",
                       (long long)k, (long long)space->rows, (long long)n,
                       (long long)(least * B * length * (int64_t)sizeof(double)),
                       (long long)memory);
    }
    *capacity = most < fit ? most : fit;
    return CS_OK;
}

static void search_free(search *s)
{
    cs_ritz_free(&s->ritz);
    cs_krylov_free(&s->k);
    cs_free(s->which);
    cs_free(s->known);
}

static cs_status search_open(cs_space *space, const cs_svd_options *o, bool bidiagonal, search *out)
{
    search s = {.space = space,
                .options = o,
                .tol = o->tol > 0 ? o->tol : 1e-12,
                .most_steps = o->max_iterations > 0 ? o->max_iterations : DEFAULT_STEPS};
    cs_status status = capacity_of(space, o, bidiagonal, &s.capacity);
    if (status == CS_OK) {
        s.which = cs_alloc((s.capacity + 1) * B, sizeof *s.which);
        s.known = cs_calloc(o->k, sizeof *s.known);
        status = s.which && s.known ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t j = 0; status == CS_OK && j < (s.capacity + 1) * B; ++j) {
        s.which[j] = j;
    }
    status = status ? status : cs_krylov_open(space, bidiagonal, s.capacity + 1, o->seed, &s.k);
    if (status != CS_OK) {
        search_free(&s);
        return status;
    }
    *out = s;
    return CS_OK;
}

/* --- results ---------------------------------------------------------------------------------- */

/* The wanted triplets that have converged. */
static cs_status collect(search *s, cs_svd *svd)
{
    int64_t n = 0;
    cs_krylov *k = &s->k;
    cs_status status = CS_OK;
    if (!s->done) { /* the last look was earlier */
        cs_ritz_free(&s->ritz);
        status = k->v.panels > 0 ? cs_krylov_ritz(k, 0, &s->ritz) : CS_OK;
    }
    int64_t most = s->options->k < s->ritz.count ? s->options->k : s->ritz.count;
    double noise = (double)s->space->rows * DBL_EPSILON;
    for (int64_t j = 0; status == CS_OK && j < most; ++j) {
        bool zero = s->ritz.value[j] <= (k->bidiagonal ? noise : sqrt(noise)) * s->ritz.value[0];
        if (!zero && excess_of(s, j) <= 1) {
            s->which[n++] = j;
        }
    }
    svd->floor = most > 0 ? (k->bidiagonal ? noise : sqrt(noise)) * s->ritz.value[0] * k->scale : 0;
    svd->k = n;
    svd->sigma = cs_alloc(n, sizeof *svd->sigma);
    status = status || svd->sigma ? status : CS_ERR_MEMORY;
    status = status || n == 0 ? status : cs_krylov_keep(k, &s->ritz, n, s->which);
    s->space->destroy(k->half);
    s->space->destroy(k->next);
    k->half = k->next = NULL;
    if (status == CS_OK && n > 0 && k->bidiagonal) {
        for (int64_t j = 0; j < n; ++j) {
            svd->sigma[j] = s->ritz.value[s->which[j]] * k->scale;
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
                            bool *deep)
{
    search s = {0};
    cs_status status = search_open(space, o, bidiagonal, &s);
    if (status != CS_OK) {
        return status;
    }
    status = run(&s);
    *deep = status == CS_OK && s.deep;
    if (status == CS_OK && !*deep) {
        cs_interrupt_hold(true); /* what is known by now is brought home */
        status = collect(&s, svd);
        cs_interrupt_hold(false);
        svd->converged = s.done;
        svd->interrupted = s.interrupted;
    }
    svd->iterations += s.steps;
    svd->applications += s.k.applications;
    search_free(&s);
    return status;
}

cs_status cs_svd_block_space(cs_space *space, const cs_svd_options *options, cs_svd *out)
{
    bool deep = false;
    cs_svd svd = {.solver = CS_SOLVER_BLOCK};
    int threads = openblas_get_num_threads();
    openblas_set_num_threads(1); /* small matrices, whose bits must not depend on it */
    cs_status status = by_process(space, options, false, &svd, &deep);
    if (status == CS_OK && deep) {
        status = by_process(space, options, true, &svd, &deep);
    }
    openblas_set_num_threads(threads);
    return cs_svd_hand_over(status, false, &svd, out);
}

/* Where the panels live. On a GPU the basis may have what is left there beside the results. */
static cs_status open_space(const cs_linop *tall, cs_svd_options *o, cs_space *space)
{
    if (!o->gpu) {
        return cs_space_cpu(tall, o->threads, space);
    }
    int64_t left = 0, all = 0;
    cs_status status = o->gpu->space(o->gpu, tall, space);
    status = status || o->memory > 0 ? status : o->gpu->memory(o->gpu, &left, &all);
    if (status == CS_OK && o->memory == 0) {
        int64_t panels = (o->k + B - 1) / B + 2 * SPARE;
        left = left / 10 * 9 - panels * tall->rows * B * (int64_t)sizeof(double);
        o->memory = left > 0 ? left : 1;
    }
    return status;
}

cs_status cs_svd_block(const cs_linop *a, const cs_svd_options *options, cs_svd *out)
{
    bool wide = a->rows < a->cols;
    cs_linop tall = wide ? cs_linop_transposed(a) : *a;
    cs_svd svd = {0};
    cs_space space = {0};
    cs_svd_options o = *options;
    cs_status status = open_space(&tall, &o, &space);
    status = status ? status : cs_svd_block_space(&space, &o, &svd);
    (o.gpu ? o.gpu->space_free : cs_space_cpu_free)(&space);
    return cs_svd_hand_over(status, wide, &svd, out);
}
