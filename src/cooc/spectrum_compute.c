/* The normalised SVD of a co-occurrence matrix: order of the stages (spectrum_stages_private.h), and
 * checks of the options. */
#include <math.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/compensated_private.h"
#include "cooc/spectrum_stages_private.h"

static cs_status check_options(const cs_csr *a, const cs_spectrum_options *o)
{
    const int64_t rows = cs_spectrum_rows(a, o), most = cs_least(rows, a->cols);
    if (o->k < 0) {
        return cs_fail(CS_ERR_USAGE, "the number of singular triplets, %lld, must not be negative",
                       (long long)o->k);
    }
    if (o->k > most) {
        return cs_fail(
            CS_ERR_USAGE,
            "%lld singular triplets requested, but the matrix (%lld x %lld) has only %lld",
            (long long)o->k, (long long)rows, (long long)a->cols, (long long)most);
    }
    if (!(o->tol >= 0) || o->tol >= 1) {
        return cs_fail(CS_ERR_USAGE, "tolerance %g is not in [0, 1)", o->tol);
    }
    const cs_dense *u = o->start_u, *v = o->start_v;
    if (!u != !v ||
        (u && (u->rows != a->rows || v->rows != a->cols || u->cols < 1 || v->cols < 1))) {
        return cs_fail(
            CS_ERR_USAGE,
            "start vectors are %lld x %lld and %lld x %lld, but the matrix is %lld x %lld",
            (long long)(u ? u->rows : 0), (long long)(u ? u->cols : 0),
            (long long)(v ? v->rows : 0), (long long)(v ? v->cols : 0), (long long)a->rows,
            (long long)a->cols);
    }
    if (o->max_iterations < 0) {
        return cs_fail(CS_ERR_USAGE, "iteration limit %lld is negative",
                       (long long)o->max_iterations);
    }
    return CS_OK;
}

static int64_t count_absent(const int32_t *of, int64_t n)
{
    int64_t absent = 0;
    for (int64_t i = 0; i < n; ++i) {
        absent += of[i] < 0;
    }
    return absent;
}

/* Sets the members that are known before anything is solved. */
static void describe(const cs_csr *a, const cs_nonempty_rows *rows, const cs_system *system,
                     cs_spectrum *s)
{
    s->input.rows = rows->rows;
    s->input.cols = a->cols;
    s->input.zero_rows =
        rows->rows - rows->count + count_absent(system->reduced.side[CS_LEFT].of, a->rows);
    s->input.zero_cols = count_absent(system->reduced.side[CS_RIGHT].of, a->cols);
    s->input.nnz = system->entries.count;
    s->input.mass = cs_sum(cs_csr_nnz(a), a->val);
    s->input.components = system->components;
    s->solution.exponent = system->exponent;
    s->input.gram = cs_system_gram(system);
    s->input.lumped_rows = system->reduced.a.rows;
    s->input.lumped_cols = system->reduced.a.cols;
}

/* Vectors that only the certificates need (the probe and an estimated fourth moment of a truncated
 * result, inertia of any) are kept until these have run, if they fit half the free memory; otherwise probe
 * and inertia are not run. */
static bool vectors_needed(const cs_system *system, const cs_spectrum_options *o, double cost4,
                           int64_t wanted)
{
    const bool estimated = o->moment4 && (o->moment4_sparing || !cs_moment4_affordable(o, cost4));
    int64_t available = cs_mem_available();
    double bytes = (double)(system->abar->rows + system->abar->cols) * (double)wanted * 8;
    bool fit = available <= 0 || bytes <= (double)available / 2;
    bool truncated = wanted < cs_reduction_facts(&system->reduced).rank &&
                     ((o->certify & CS_CERTIFY_PROBE) || estimated);
    return !o->values_only || (fit && (truncated || (o->certify & CS_CERTIFY_INERTIA)));
}

/* Whether the vectors of a symmetric matrix, their basis and its products fit half the free memory. */
static bool eigenvectors_fit(const cs_system *system, int64_t wanted)
{
    const double available = (double)cs_mem_available();
    const double bytes = 8 * (double)system->abar->cols * 7 * ((double)wanted + 64);
    return available <= 0 || bytes <= available / 2;
}

/* Of a matrix without empty rows, which has options->rows of the whole. */
static cs_status spectrum_of_filled(const cs_csr *a, const cs_spectrum_options *options,
                                    cs_spectrum *out)
{
    CS_AUTO(cs_system) system = {0};
    cs_parts parts = {0};
    cs_spectrum s = {0};
    cs_status status = cs_system_of(a, options, false, &system);
    if (status != CS_OK) return status;
    int64_t wanted = options->k > 0 ? options->k : cs_least(options->rows->rows, a->cols);
    cs_moment4_cost cost = {0};
    describe(a, options->rows, &system, &s);
    if (options->moment4 && (status = cs_moment4_cost_of(&system.reduced.a, &cost)) != CS_OK)
        goto done;
    s.moments.sum_sigma4_cost = cost.multiply_adds;
    bool symmetric = false, keep = vectors_needed(&system, options, cost.multiply_adds, wanted);
    if (options->eigenvalues && options->second == 0 &&
        (status = cs_system_symmetric(&system, options, &symmetric)) != CS_OK)
        goto done;
    s.input.symmetric = symmetric;
    symmetric = symmetric && eigenvectors_fit(&system, wanted);
    keep = keep || symmetric;
    if ((status = cs_parts_solve(&system, options, wanted, &parts)) != CS_OK) goto done;
    s.solution.interrupted = parts.interrupted;
    /* After an interrupt the triplets found so far are lifted for the result, not for a
     * certificate. */
    if (s.solution.interrupted) keep = !options->values_only;
    if (options->partial) cs_interrupt_hold(true);
    status = cs_spectrum_merge(&system, &parts, options, keep, &s);
    if (status == CS_OK && symmetric && keep) status = cs_spectrum_signed(&system, options, &s);
    if (options->partial) {
        cs_interrupt_hold(false);
        s.solution.interrupted = cs_interrupted();
    }
    if (status != CS_OK) goto done;
    cs_certificate_facts facts = cs_certificate_facts_of(&system, options, &parts, &s);
    cs_parts_free(&parts);
    if ((status = cs_spectrum_certify(&system, options, &facts, &s)) != CS_OK) goto done;
    if (!options->values_only && !s.solution.interrupted && isnan(s.solution.departure) &&
        s.u.data && s.v.data)
        status = cs_spectrum_departure(&system.reduced, &s, &s.solution.departure);
    if (status == CS_ERR_INTERRUPT && options->partial) {
        cs_reason_clear();
        s.solution.interrupted = true;
        status = CS_OK;
    }
    if (status != CS_OK) goto done;
    cs_spectrum_restore(&s);
    if (options->values_only) {
        cs_dense_free(&s.u);
        cs_dense_free(&s.v);
    }
    if (s.input.gram) { /* vectors of its rows, which are columns of A */
        cs_dense_free(&s.u);
        cs_dense_free(&s.second.u);
    }
    s.input.row_mass = system.row_mass;
    s.input.col_mass = system.col_mass;
    system.row_mass = system.col_mass = NULL;
done:
    cs_parts_free(&parts);
    return CS_DELIVER(status, out, s, cs_spectrum_free);
}

/* The vectors of the result, before anything is solved. */
static cs_status check_memory(const cs_csr *a, const cs_nonempty_rows *rows,
                              const cs_spectrum_options *o)
{
    const int64_t most = cs_least(rows->count, a->cols), k = o->k > 0 ? cs_least(o->k, most) : most;
    return o->values_only
               ? CS_OK
               : cs_mem_check(8 * (double)k * ((double)a->rows + (double)a->cols),
                              "request fewer triplets, or only values",
                              "singular vectors of %lld triplets, %lld and %lld entries each, take",
                              (long long)k, (long long)a->rows, (long long)a->cols);
}

/* Expands results with one entry for each nonempty row to all rows. */
static cs_status spread(const cs_nonempty_rows *rows, cs_spectrum *s)
{
    cs_dense mass = {.rows = rows->count, .cols = 1, .ld = rows->count, .data = s->input.row_mass};
    cs_status status = s->u.data ? cs_nonempty_rows_spread(rows, &s->u) : CS_OK;
    if (status == CS_OK && s->second.u.data) status = cs_nonempty_rows_spread(rows, &s->second.u);
    if (status == CS_OK && mass.data) status = cs_nonempty_rows_spread(rows, &mass);
    s->input.row_mass = mass.data;
    return status;
}

cs_status cs_spectrum_of(const cs_csr *a, const cs_spectrum_options *options, cs_spectrum *out)
{
    CS_AUTO(cs_nonempty_rows) rows = cs_nonempty_rows_all(a->rows);
    cs_csr filled = *a;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense start;
    cs_spectrum s = {0};
    cs_spectrum_options o = *options;
    cs_status status = check_options(a, options);
    if (status == CS_OK && !options->rows) status = cs_csr_drop_empty_rows(a, &rows, &filled);
    o.rows = options->rows ? options->rows : &rows;
    if (status == CS_OK) status = check_memory(a, o.rows, options);
    if (status == CS_OK && rows.row && options->start_u) {
        start = cs_nonempty_rows_gather(&rows, options->start_u, &pool);
        o.start_u = &start;
        status = pool.status;
    }
    if (status == CS_OK) status = spectrum_of_filled(&filled, &o, &s);
    if (status == CS_OK) status = spread(&rows, &s);
    if (filled.ptr != a->ptr) {
        cs_free(filled.ptr);
    }
    return CS_DELIVER(status, out, s, cs_spectrum_free);
}
