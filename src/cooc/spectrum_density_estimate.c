/* Spectral density of a co-occurrence matrix: reductions, known triplets, estimate, tails.
 *
 * Method. All triplets that the solver stages return are taken out, not only the k largest of all:
 * what is known has no variance. They live on the blocks of the reduced matrix, so that thousands
 * of components cost one pass over a vector. The side with fewer entries is sampled.
 *
 * Limits: a computed vector of residual r moves an estimate by O(r) at most; the solver's tolerance
 * is far below the sampling error.
 */
#include "base/auto.h"
#include "cooc/spectrum_density.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vector_ops.h"
#include "cooc/moments.h"
#include "cooc/spectrum_stages_private.h"

void cs_spectrum_density_free(cs_spectrum_density *d)
{
    cs_density_free(&d->density);
    CS_FREE_FIELDS(d, x, sigma, tail, tail_exact);
    *d = (cs_spectrum_density){0};
}

static cs_status check_options(const cs_csr *a, const cs_spectrum_density_options *o)
{
    const int64_t rows = cs_spectrum_rows(a, &o->spectrum), k = o->spectrum.k;
    const int64_t most = rows < a->cols ? rows : a->cols;
    if (k < 0 || k > most) {
        return cs_fail(CS_ERR_USAGE,
                       "%lld known triplets requested, but the matrix (%lld x %lld) has 0 to %lld",
                       (long long)k, (long long)rows, (long long)a->cols, (long long)most);
    }
    if (o->bins < 1) {
        return cs_fail(CS_ERR_USAGE, "%lld bins requested; at least 1 is needed",
                       (long long)o->bins);
    }
    return CS_OK;
}

/* Known vectors of the sampled side, a block of the reduced matrix each. */
typedef struct {
    cs_density_known known;
    double *sigma;
    cs_pool pool;
} deflation;

static void fill_block(const cs_dense *solved, const double *weight, cs_dense *v)
{
    int64_t first = weight ? 1 : 0;
    for (int64_t i = 0; weight && i < v->rows; ++i) {
        v->data[i] = sqrt(weight[i]);
    }
    cs_dense rest = {v->rows, v->cols - first, v->ld, v->data + first * v->ld};
    cs_dense_copy(solved, &rest);
}

static int descending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a > b ? -1 : a < b;
}

static cs_status deflation_of(const cs_reduction *r, const cs_parts *parts, cs_side sampled,
                              deflation *d)
{
    const cs_reduction_side *s = &r->side[sampled];
    cs_dense *v = cs_pool_take(&d->pool, r->count, sizeof *v);
    int64_t n = 0;
    d->known = (cs_density_known){.blocks = r->count, .start = s->start, .v = v};
    for (int64_t b = 0; b < r->count; ++b) {
        d->known.count += parts->part[b].svd.k + r->known;
    }
    d->known.sigma = d->sigma = cs_pool_take(&d->pool, d->known.count, sizeof *d->sigma);
    for (int64_t b = 0; d->pool.status == CS_OK && b < r->count; ++b) {
        const cs_svd *svd = &parts->part[b].svd;
        v[b] = cs_dense_in(&d->pool, cs_block_size(r, sampled, b), svd->k + r->known);
        if (v[b].data) {
            fill_block(sampled == CS_LEFT ? &svd->u : &svd->v,
                       r->known ? s->weight + s->start[b] : NULL, &v[b]);
        }
        if (r->known) {
            d->sigma[n++] = 1;
        }
        for (int64_t k = 0; k < svd->k; ++k) {
            d->sigma[n++] = r->a.gram ? sqrt(svd->sigma[k]) : svd->sigma[k];
        }
    }
    if (d->pool.status == CS_OK) qsort(d->sigma, (size_t)n, sizeof *d->sigma, descending);
    return d->pool.status;
}

static cs_interval shifted(const cs_interval *x, double by)
{
    return (cs_interval){x->value + by, x->low + by, x->high + by};
}

/* Tails for t = 0..k from what is known and the estimate of the rest; sigma has all known values.
 */
static cs_status fill_tails(const double *sigma, cs_spectrum_density *d)
{
    int64_t known = d->density.known;
    bool exact = !isnan(d->sum_sigma4);
    double beyond = 0, before = 0, sum2 = 0;
    d->tail = cs_alloc(d->k + 1, sizeof *d->tail);
    d->tail_exact = exact ? cs_alloc(d->k + 1, sizeof *d->tail_exact) : NULL;
    if (!d->tail || (exact && !d->tail_exact)) return CS_ERR_MEMORY;
    for (int64_t j = known - 1; j >= 0; --j) { /* the smallest first: no digits are lost */
        if (j < d->k) {
            d->tail[j + 1] = shifted(&d->density.rest4, beyond);
        }
        sum2 += sigma[j] * sigma[j];
        beyond += cs_fourth(sigma[j]);
    }
    d->tail[0] = d->sum4 = shifted(&d->density.rest4, beyond);
    d->sum2 = shifted(&d->density.rest2, sum2);
    for (int64_t t = 0; exact && t <= d->k; ++t) {
        d->tail_exact[t] = fmax(0, d->sum_sigma4 - before);
        before += t < d->k ? cs_fourth(sigma[t]) : 0;
    }
    return CS_OK;
}

/* The estimate on the sampled side. */
static cs_status estimate(const cs_reduction *r, const deflation *known, cs_side sampled,
                          const cs_spectrum_density_options *o, cs_spectrum_density *d)
{
    cs_matrix_form_operator a = {0};
    d->x = cs_alloc(o->bins + 1, sizeof *d->x);
    if (!d->x) return CS_ERR_MEMORY;
    for (int64_t i = 0; i <= o->bins; ++i) {
        d->x[i] = d->top * (double)i / (double)o->bins;
    }
    const cs_density_options options = {.samples = o->samples,
                                        .degree = o->degree,
                                        .top = d->top,
                                        .gram = r->a.gram,
                                        .width = o->width,
                                        .level = o->level,
                                        .known = &known->known,
                                        .points = o->bins + 1,
                                        .x = d->x,
                                        .seed = o->spectrum.seed,
                                        .threads = o->spectrum.threads,
                                        .progress = o->spectrum.progress};
    cs_status status =
        cs_matrix_form_operator_open(&r->a, &r->at, r->term, o->spectrum.threads, &a);
    if (status == CS_OK) {
        const cs_linop side = sampled == CS_RIGHT ? a.op : cs_linop_transposed(&a.op);
        status = cs_density_of(&side, &options, &d->density);
    }
    cs_matrix_form_operator_close(&a);
    return status;
}

/* The top k values with their largest residual through the full Abar. */
static cs_status take_top(const cs_system *system, const cs_parts *parts,
                          const cs_spectrum_options *so, cs_spectrum_density *d)
{
    CS_AUTO(cs_spectrum) s = {0};
    cs_status status = cs_spectrum_merge(system, parts, so, false, &s);
    if (status == CS_OK) status = cs_spectrum_require(&s);
    if (status == CS_OK && cs_system_gram(system)) cs_gram_to_sigma(&s);
    if (status == CS_OK) {
        d->k = s.k < so->k ? s.k : so->k;
        d->residual = s.cert.residual.value;
        d->sigma = s.sigma;
        s.sigma = NULL;
    }
    return status;
}

static void describe(const cs_csr *a, const cs_spectrum_options *o, const cs_system *system,
                     cs_spectrum_density *d)
{
    d->rows = cs_spectrum_rows(a, o);
    d->cols = a->cols;
    d->nnz = system->entries.count;
    d->components = system->components;
    d->lumped_rows = system->reduced.a.rows;
    d->lumped_cols = system->reduced.a.cols;
    d->sum_sigma2 = cs_system_moment2(system);
    d->sum_sigma4 = NAN;
    d->top = 1; /* what joint probabilities cannot exceed */
}

/* Of a matrix without empty rows, which has spectrum.rows of the whole. */
static cs_status density_of_filled(const cs_csr *a, const cs_spectrum_density_options *options,
                                   cs_spectrum_density *out)
{
    cs_spectrum_density d = {0};
    CS_AUTO(cs_system) system = {0};
    cs_parts parts = {0};
    deflation known = {0};
    const cs_spectrum_options so = options->spectrum;
    double budget = so.moment4_budget > 0 ? so.moment4_budget : CS_MOMENT4_BUDGET;
    cs_status status = cs_system_of(a, &so, false, &system);
    if (status != CS_OK) return status;
    const cs_reduction *r = &system.reduced;
    cs_side sampled = r->a.cols <= r->a.rows ? CS_RIGHT : CS_LEFT;
    cs_spectrum_density_options scaled = *options;
    const int exponent = cs_system_gram(&system) ? system.exponent / 2 : system.exponent;
    scaled.width = ldexp(options->width, -exponent);
    describe(a, &so, &system, &d);
    const bool at_most_one = !so.normalised && (!so.form || cs_matrix_form_lumps(so.form));
    if (!at_most_one && (status = cs_reduction_bound(r, &d.top)) != CS_OK) goto done;
    d.top = at_most_one ? ldexp(1, -system.exponent) : d.top;
    d.top = cs_system_gram(&system) ? sqrt(d.top) : d.top;
    cs_moment4_cost cost = {0};
    if ((status = cs_moment4_cost_of(&r->a, &cost)) != CS_OK ||
        (cost.multiply_adds <= budget &&
         ((status = cs_moment4(&r->a, so.threads, so.progress, &d.sum_sigma4)) != CS_OK ||
          (status = cs_matrix_form_moment4(&r->a, &r->at, r->term, so.threads, &d.sum_sigma4)) !=
              CS_OK))) {
        goto done;
    }
    d.sum_sigma4_cost = cost.multiply_adds;
    if ((status = cs_parts_solve(&system, &so, so.k, &parts)) != CS_OK ||
        (status = take_top(&system, &parts, &so, &d)) != CS_OK ||
        (status = deflation_of(r, &parts, sampled, &known)) != CS_OK) {
        goto done;
    }
    cs_parts_free(&parts);
    if ((status = estimate(r, &known, sampled, &scaled, &d)) != CS_OK ||
        (status = fill_tails(known.sigma, &d)) != CS_OK) {
        goto done;
    }
    cs_spectrum_density_restore(exponent, &d);
done:
    cs_pool_free(&known.pool);
    cs_parts_free(&parts);
    return CS_DELIVER(status, out, d, cs_spectrum_density_free);
}

cs_status cs_spectrum_density_of(const cs_csr *a, const cs_spectrum_density_options *options,
                                 cs_spectrum_density *out)
{
    CS_AUTO(cs_nonempty_rows) rows = cs_nonempty_rows_all(a->rows);
    cs_csr filled = *a;
    cs_spectrum_density_options o = *options;
    cs_status status = check_options(a, options);
    if (status == CS_OK && !options->spectrum.rows) {
        status = cs_csr_drop_empty_rows(a, &rows, &filled);
        o.spectrum.rows = &rows;
    }
    if (status == CS_OK) status = density_of_filled(&filled, &o, out);
    if (filled.ptr != a->ptr) {
        cs_free(filled.ptr);
    }
    return status;
}
