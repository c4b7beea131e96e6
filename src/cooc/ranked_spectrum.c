/* The certified normalised SVD over a group of processes.
 *
 * Method: the closed-form triplets of all components are taken out at once (their vectors have no
 * common entries), one solver run finds what is left, and residuals, sums and certificates go
 * through the whole of Abar. Values below the solver's floor count as zero. Everything that decides
 * is a sum over the ranks, which all of them have in the same bits.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/ranked.h"
#include "cooc/spectrum_stages_private.h"

enum { WIDE = CS_PANEL };

typedef struct {
    cs_ranked r;
    const cs_spectrum_options *options;
    int64_t wanted, known, most; /* triplets; in closed form; others that there can be */
    cs_part part;                /* what the solver found */
    double tol;                  /* of residuals, relative to sigma_1 */
    const cs_dense *start;       /* of the smaller side, this rank's slice; NULL: none */
} task;

/* As asked, or what the products of every rank reach, whose sum adds one addition a rank. */
static cs_status choose_tolerance(task *t)
{
    const double unit = DBL_EPSILON / 2;
    double rounding = 0;
    t->tol = t->options->tol;
    if (t->tol > 0) {
        return CS_OK;
    }
    cs_status status = cs_csr_rounding(&t->r.a, &t->r.at, &rounding);
    if (status != CS_OK) return status;
    const int64_t least = cs_comm_least(t->r.comm, -(int64_t)(rounding / unit));
    t->tol = cs_default_tolerance(((double)-least + t->r.comm->ranks) * unit);
    return status;
}

/* --- the solver ------------------------------------------------------------------------------- */

/* Bytes of the basis over all ranks, as large as the rank with the least free memory allows: every
 * rank must come to the same number. */
static int64_t basis_memory(cs_comm *c)
{
    const int64_t most = (int64_t)4 << 30, all = cs_mem_quarter(most * c->neighbours);
    return cs_comm_least(c, all / c->neighbours) * c->ranks;
}

static cs_status by_block(task *t, const cs_svd_options *o)
{
    cs_ranked_space space = {0};
    cs_svd_options with_memory = *o;
    with_memory.memory = t->options->solver_memory * t->r.comm->ranks; /* that is of each */
    if (with_memory.memory == 0) {
        with_memory.memory = basis_memory(t->r.comm);
    }
    cs_status status = cs_ranked_space_open(&t->r, &space);
    if (status == CS_OK) status = cs_svd_block_space(&space.space, &with_memory, &t->part.svd);
    cs_space_cpu_free(&space.here);
    return status == CS_ERR_MEMORY && t->r.comm->ranks > 1
               ? cs_blame(status, "all %d ranks together", t->r.comm->ranks)
               : status;
}

static cs_status by_parpack(task *t, const cs_svd_options *o)
{
    cs_svd_options grouped = *o;
    grouped.comm = t->r.comm;
    if (!grouped.comm->arpack) {
        grouped.comm->agreed = true;
        return cs_fail(CS_ERR_DEVICE,
                       "solver arpack: this build has no PARPACK; give another solver");
    }
    cs_status status = cs_svd_arpack(&t->r.op, &grouped, &t->part.svd);
    grouped.comm->agreed = status == CS_ERR_USAGE; /* of the sizes, which all ranks see */
    return status;
}

static cs_status solve(task *t)
{
    const cs_spectrum_options *o = t->options;
    int64_t asked = t->wanted - t->known < t->most ? t->wanted - t->known : t->most;
    if (asked <= 0) { /* the closed forms are all there is, or all that is wanted */
        t->part.svd.converged = true;
        t->part.complete = t->most == 0;
        return CS_OK;
    }
    cs_svd_options solver = cs_spectrum_solver_options(o, asked);
    solver.start = t->start;
    cs_status status =
        o->solver == CS_SOLVER_ARPACK ? by_parpack(t, &solver) : by_block(t, &solver);
    if (status == CS_OK && t->r.deflated) {
        /* Rounding noise of the matrix whose sigma_1 = 1 was taken out. */
        t->part.svd.floor = fmax(t->part.svd.floor, (double)t->r.length * DBL_EPSILON);
    }
    if (status == CS_OK) cs_part_trim(&t->part, asked, t->most);
    if (status == CS_OK && t->r.deflated) {
        status = cs_ranked_project(&t->r, CS_LEFT, &t->part.svd.u);
        if (status == CS_OK) status = cs_ranked_project(&t->r, CS_RIGHT, &t->part.svd.v);
    }
    return status;
}

/* --- triplets --------------------------------------------------------------------------------- */

/* The triplets in order into sigma, u, v of *s (parts of vectors; left is the larger side): those
 * in closed form are 1, and what a solver finds above 1 by rounding comes before them. */
static cs_status merge(const task *t, cs_spectrum *s)
{
    const cs_ranked *r = &t->r;
    const cs_svd *svd = &t->part.svd;
    int64_t all = t->known + svd->k;
    s->k = all < t->wanted ? all : t->wanted;
    s->sigma = cs_alloc(s->k, sizeof *s->sigma);
    s->residual = cs_calloc(s->k, sizeof *s->residual);
    cs_status status = s->sigma && s->residual ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_dense_init(&s->u, r->held, s->k);
    if (status == CS_OK) status = cs_dense_init(&s->v, r->slice, s->k);
    for (int64_t j = 0, part = 0, found = 0; status == CS_OK && j < s->k; ++j) {
        double *u = s->u.data + j * s->u.ld, *v = s->v.data + j * s->v.ld;
        if (part < t->known && !(found < svd->k && svd->sigma[found] > 1)) {
            s->sigma[j] = 1;
            for (int64_t i = 0; i < r->held; ++i) {
                u[i] = r->long_part[i] == part ? r->long_weight[i] : 0;
            }
            for (int64_t i = 0; i < r->slice; ++i) {
                bool here = r->short_part[r->first + i] == part;
                v[i] = here ? r->short_weight[r->first + i] : 0;
            }
            ++part;
        } else {
            s->sigma[j] = svd->sigma[found];
            memcpy(u, svd->u.data + found * svd->u.ld, (size_t)r->held * sizeof *u);
            memcpy(v, svd->v.data + found * svd->v.ld, (size_t)r->slice * sizeof *v);
            ++found;
        }
    }
    return status;
}

/* --- residuals -------------------------------------------------------------------------------- */

/* Columns first.. of x, up to 8, as rows; zeros beyond. */
static void pack(const cs_dense *x, int64_t first, double *panel)
{
    for (int64_t i = 0; i < x->rows; ++i) {
        for (int64_t c = 0; c < WIDE; ++c) {
            panel[i * WIDE + c] = first + c < x->cols ? x->data[i + (first + c) * x->ld] : 0;
        }
    }
}

/* square[c] = this rank's part of ||product_c - sigma_c x_c||^2. */
static void differences(const cs_dense *x, const double *sigma, int64_t first,
                        const double *product, double *square)
{
    memset(square, 0, WIDE * sizeof *square);
    for (int64_t c = 0; c < WIDE && first + c < x->cols; ++c) {
        for (int64_t i = 0; i < x->rows; ++i) {
            double off =
                product[i * WIDE + c] - sigma[first + c] * x->data[i + (first + c) * x->ld];
            square[c] += off * off;
        }
    }
}

/* Both sides of every triplet, through the whole of Abar. */
static cs_status take_residuals(cs_ranked *r, cs_spectrum *s)
{
    bool deflated = r->deflated;
    double square[2 * WIDE];
    /* Rows on cache lines, as the products of panels want them. */
    CS_AUTO_FREE void *work = cs_alloc((r->slice + r->held + 1) * 2 * WIDE, sizeof(double));
    if (!work) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    double *v = (double *)(((uintptr_t)work + 63) & ~(uintptr_t)63), *u = v + r->slice * WIDE;
    double *left = u + r->held * WIDE, *right = left + r->held * WIDE;
    r->deflated = false;
    for (int64_t first = 0; status == CS_OK && first < s->k; first += WIDE) {
        pack(&s->v, first, v);
        pack(&s->u, first, u);
        status = cs_interrupt_check();
        if (status == CS_OK) status = cs_ranked_forward(r, WIDE, v, left);
        if (status == CS_OK) status = cs_ranked_backward(r, WIDE, u, right);
        if (status == CS_OK) {
            differences(&s->u, s->sigma, first, left, square);
            differences(&s->v, s->sigma, first, right, square + WIDE);
            cs_comm_sum(r->comm, (int64_t)2 * WIDE, square);
        }
        for (int64_t c = 0; status == CS_OK && c < WIDE && first + c < s->k; ++c) {
            double most =
                square[c] >= square[WIDE + c] || isnan(square[c]) ? square[c] : square[WIDE + c];
            s->residual[first + c] = sqrt(most);
        }
    }
    r->deflated = deflated;
    return status;
}

static void check_residuals(const task *t, cs_spectrum *s)
{
    /* Against what the solver itself was held to: its own largest value. */
    double least = t->part.svd.k > 0 ? t->part.svd.sigma[0] : 1;
    s->solution.converged = t->part.svd.converged;
    for (int64_t j = 0; j < s->k; ++j) {
        bool closed = t->known > 0 && s->sigma[j] == 1;
        s->solution.converged =
            s->solution.converged && (closed || s->residual[j] <= t->tol * least);
    }
    cs_certificate_residual(t->tol, s);
}

/* --- results ---------------------------------------------------------------------------------- */

/* The columns of a side on rank 0 as a whole, elsewhere none; `index`: the places of this rank's
 * part, NULL for consecutive slices of n. */
static cs_status gather_side(cs_comm *c, int64_t n, const int64_t *index, cs_dense *x)
{
    cs_dense all = {0};
    CS_AUTO(cs_pool) pool = {0};
    int64_t *held = cs_pool_take(&pool, c->ranks, sizeof *held), most = 0, first = 0;
    cs_status status = cs_comm_agree(c, pool.status);
    if (status != CS_OK) return status;
    cs_comm_gather_each(c, sizeof x->rows, &x->rows, held);
    for (int rank = 0; rank < c->ranks; ++rank) {
        most = cs_most(most, held[rank]);
    }
    /* Places of this rank's part, and those received from other ranks. */
    int64_t *own = cs_pool_take(&pool, most, sizeof *own);
    int64_t *place = cs_pool_take(&pool, most, sizeof *place);
    double *column = cs_pool_take(&pool, most, sizeof *column);
    status = pool.status ? pool.status : cs_dense_init(&all, c->rank == 0 ? n : 0, x->cols);
    status = cs_comm_agree(c, status);
    for (int rank = 0; status == CS_OK && rank < c->ranks; first += held[rank++]) {
        int64_t size = held[rank] * (int64_t)sizeof *place; /* of a double as well */
        for (int64_t i = 0; i < held[rank] && c->rank == rank; ++i) {
            own[i] = index ? index[i] : first + i;
        }
        cs_comm_bring(c, rank, own, place, size);
        for (int64_t j = 0; j < x->cols; ++j) {
            cs_comm_bring(c, rank, x->data + j * x->ld, column, size);
            for (int64_t i = 0; c->rank == 0 && i < held[rank]; ++i) {
                all.data[place[i] + j * all.ld] = column[i];
            }
        }
    }
    cs_dense_free(x);
    *x = all;
    return status;
}

/* The vectors to rank 0, where they are wanted or where inertia is counted. */
static cs_status hand_over(const task *t, const cs_shard *shard, const cs_certificate_facts *facts,
                           cs_spectrum *s)
{
    cs_comm *c = t->r.comm;
    cs_status status = CS_OK;
    bool counted = (t->options->certify & CS_CERTIFY_INERTIA) && cs_ranked_has_memory(&t->r, s);
    bool gathered = counted || !t->options->values_only;
    if (gathered) status = gather_side(c, shard->length, shard->index, &s->u);
    if (gathered && status == CS_OK) status = gather_side(c, shard->width, NULL, &s->v);
    if (status == CS_OK && shard->transposed) {
        cs_dense u = s->u;
        s->u = s->v;
        s->v = u;
    }
    if (status == CS_OK && counted) status = cs_ranked_inertia(&t->r, shard, t->options, facts, s);
    if (status == CS_OK && gathered && c->rank == 0 && shard->transposed)
        status = cs_nonempty_rows_spread(&shard->kept, &s->u);
    if (t->options->values_only) {
        cs_dense_free(&s->u);
        cs_dense_free(&s->v);
    }
    return status;
}

static void describe(const task *t, const cs_shard *shard, cs_spectrum *s)
{
    const cs_ranked *r = &t->r;
    int64_t rows = shard->transposed ? r->filled_short : r->filled_long;
    int64_t cols = shard->transposed ? r->filled_long : r->filled_short;
    s->input.rows = shard->rows;
    s->input.cols = shard->cols;
    s->input.nnz = r->nnz;
    s->input.mass = r->mass;
    s->input.components = r->components;
    s->input.zero_rows = s->input.rows - rows;
    s->input.zero_cols = s->input.cols - cols;
    s->input.lumped_rows = rows;
    s->input.lumped_cols = cols;
    s->solution.solver = t->part.svd.solver;
    s->solution.floor = fmax(t->part.svd.floor, DBL_EPSILON * (s->k > 0 ? s->sigma[0] : 0));
    s->solution.exponent = r->exponent;
    s->second.index = -1; /* which is not offered */
}

static cs_status check_options(const cs_shard *shard, const cs_spectrum_options *o)
{
    shard->comm->agreed = true; /* all ranks see the same options */
    if (o->k < 0 || o->k > cs_least(shard->rows, shard->cols)) {
        return cs_fail(
            CS_ERR_USAGE,
            "%lld singular triplets requested, but the matrix (%lld x %lld) has only %lld",
            (long long)o->k, (long long)shard->rows, (long long)shard->cols,
            (long long)cs_least(shard->rows, shard->cols));
    }
    if (o->solver != CS_SOLVER_AUTO && o->solver != CS_SOLVER_BLOCK &&
        o->solver != CS_SOLVER_ARPACK) {
        return cs_fail(CS_ERR_USAGE,
                       "solver %s works in a single process; with several give block or arpack",
                       cs_solver_name(o->solver));
    }
    shard->comm->agreed = false;
    return CS_OK;
}

cs_status cs_ranked_spectrum(cs_shard *shard, const cs_spectrum_options *options, cs_spectrum *out)
{
    task t = {.options = options,
              .start = shard->transposed ? options->start_u : options->start_v,
              .wanted = options->k > 0 ? options->k : cs_least(shard->rows, shard->cols)};
    cs_spectrum s = {0};
    cs_certificate_facts facts = {0};
    cs_status status = check_options(shard, options);
    if (status == CS_OK) status = cs_ranked_open(shard, options, &t.r);
    if (status == CS_OK) status = choose_tolerance(&t);
    if (status == CS_OK) {
        t.r.deflated = t.r.long_weight != NULL;
        t.known = t.r.deflated ? t.r.components : 0;
        t.most = t.r.rank - t.known;
        status = solve(&t);
    }
    if (status == CS_OK) status = merge(&t, &s);
    cs_dense_free(&t.part.svd.u); /* which are copied */
    cs_dense_free(&t.part.svd.v);
    if (status == CS_OK) status = take_residuals(&t.r, &s);
    if (status == CS_OK) {
        describe(&t, shard, &s);
        check_residuals(&t, &s);
        s.zeros = s.solution.converged ? t.wanted - s.k : 0;
        s.rank = t.part.complete && s.k == t.known + t.part.svd.k ? s.k : -1;
        status = cs_ranked_certify(&t.r, options, &facts, &s);
    }
    if (status == CS_OK) status = hand_over(&t, shard, &facts, &s);
    if (status == CS_OK) cs_spectrum_restore(&s);
    cs_svd_free(&t.part.svd);
    cs_ranked_free(&t.r);
    return CS_DELIVER(status, out, s, cs_spectrum_free);
}
