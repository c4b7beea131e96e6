/* Where the [MASK] rows lie outside the row space of the others (MAE-LM, Theorem 2.2), from the
 * eigenvectors of both Gram matrices; angles by cs_principal_angles. */
#include "analysis/measures/mask_containment.h"

#include <math.h>
#include <string.h>

#include "analysis/measures/similarity.h"
#include "base/mem.h"
#include "base/threads.h"
#include "stats/jackknife.h"

static const double DEGREES = 57.295779513082320876798;

const char *cs_contain_name(cs_contain_measure measure)
{
    static const char *const name[] = {"outside_share", "outside_share_real", "largest_angle",
                                       "median_angle", "mean_squared_cosine"};
    return name[measure];
}

const char *cs_contain_definition(cs_contain_measure measure)
{
    static const char *const text[] = {
        "||H_M (I - V_R V_R^T)||_F^2 / ||H_M||_F^2, V_R: top rank_tau row space of the real rows",
        "||H_R (I - V_R V_R^T)||_F^2 / ||H_R||_F^2: 1 - tau at most",
        "largest principal angle, in degrees, of the top rank_tau row spaces of H_M and H_R",
        "median principal angle, in degrees, of the top rank_tau row spaces of H_M and H_R",
        "mean squared cosine of these angles; of random subspaces max(k_M, k_R) / d",
    };
    return text[measure];
}

/* Eigenvectors of a sum of blocks by falling eigenvalue. */
typedef struct {
    cs_pool pool;           /* of all but gram */
    cs_dense gram, vectors; /* d x d */
    double *lambda, trace;
} space;

static void free_space(space *s)
{
    cs_dense_free(&s->gram);
    cs_pool_free(&s->pool);
}

static cs_status space_of(const cs_gram *g, int64_t without, bool centred, space *out)
{
    const int64_t d = g->cols;
    const cs_gram_range left_out[2] = {{without, without + 1}}; /* -1: no group */
    int64_t n = 0;
    cs_status status = cs_gram_total(g, left_out, centred, &out->gram, &n);
    if (status != CS_OK) return status;
    double *ascending = cs_pool_take(&out->pool, d, sizeof *ascending);
    cs_dense turned = cs_dense_copy_in(&out->pool, &out->gram);
    out->lambda = cs_pool_take(&out->pool, d, sizeof *out->lambda);
    out->vectors = cs_dense_in(&out->pool, d, d);
    status = out->pool.status;
    if (status == CS_OK) status = cs_dense_eigh(&turned, ascending, false);
    for (int64_t k = 0; status == CS_OK && k < d; ++k) {
        out->lambda[k] = fmax(ascending[d - 1 - k], 0);
        out->trace += out->gram.data[k + k * d];
        memcpy(out->vectors.data + k * d, turned.data + (d - 1 - k) * d,
               (size_t)d * sizeof(double));
    }
    return status;
}

static int64_t rank_tau(const space *s, const cs_gram *g, const cs_rank_options *options)
{
    double value[CS_RANK_MEASURES];
    cs_rank_measures(g->cols, s->lambda, 0, options, value);
    return (int64_t)value[CS_RANK_TAU];
}

/* tr(G) - tr(V^T G V) over tr(G), V the first k vectors: summed over the vectors left, whose terms
 * are not negative, so that nothing cancels. */
static cs_status outside(const space *of, const space *v, int64_t k, double *out)
{
    const int64_t d = v->vectors.rows;
    cs_dense rest = {d, d - k, d, v->vectors.data + k * d}, product = {0};
    double sum = 0;
    *out = 0;
    if (k == d || !(of->trace > 0)) {
        return CS_OK;
    }
    cs_status status = cs_dense_init(&product, d, d - k);
    if (status == CS_OK &&
        (status = cs_gemm(false, false, 1, &of->gram, &rest, 0, &product)) == CS_OK) {
        for (int64_t j = 0; j < d - k; ++j) {
            double x = 0;
            for (int64_t i = 0; i < d; ++i) {
                x += rest.data[i + j * d] * product.data[i + j * d];
            }
            sum += fmax(x, 0);
        }
        *out = fmin(sum / of->trace, 1);
    }
    cs_dense_free(&product);
    return status;
}

static cs_status measure(const space *real, const space *mask, int64_t k_real, int64_t k_mask,
                         double *value)
{
    const int64_t d = real->vectors.rows, q = k_real < k_mask ? k_real : k_mask;
    const cs_dense a = {d, k_real, d, real->vectors.data};
    const cs_dense b = {d, k_mask, d, mask->vectors.data};
    double *angle = cs_alloc(q, sizeof *angle), square = 0;
    cs_status status =
        angle ? outside(mask, real, k_real, &value[CS_CONTAIN_OUTSIDE]) : CS_ERR_MEMORY;
    if (status == CS_OK &&
        (status = outside(real, real, k_real, &value[CS_CONTAIN_OUTSIDE_REAL])) == CS_OK &&
        (status = cs_principal_angles(&a, &b, angle)) == CS_OK) {
        for (int64_t i = 0; i < q; ++i) {
            square += cos(angle[i]) * cos(angle[i]) / (double)q;
        }
        value[CS_CONTAIN_LARGEST] = DEGREES * angle[q - 1];
        value[CS_CONTAIN_MEDIAN] = DEGREES * angle[(q - 1) / 2];
        value[CS_CONTAIN_COSINE] = square;
    }
    cs_free(angle);
    return status;
}

/* The whole row space, at the tolerance at which an eigenvalue differs from 0. */
static cs_status exact(const cs_gram *g, bool centred, const space *real, const space *mask,
                       cs_containment *c)
{
    const double floor = cs_gram_floor(g, NULL, centred);
    c->rank = 0;
    while (c->rank < g->cols && real->lambda[c->rank] > floor) {
        ++c->rank;
    }
    cs_status status = outside(mask, real, c->rank, &c->exact);
    if (c->rank < g->cols && c->rank > 0) {
        double turn = floor / real->lambda[c->rank - 1]; /* sine of the error of V */
        c->exact_error =
            fmin(1, turn * turn + 2 * turn * sqrt(c->exact) + cs_gram_gamma(g, centred));
    }
    return status;
}

typedef struct {
    const cs_gram *real, *mask;
    const cs_rank_options *options;
    cs_containment *out;
    double *left_out; /* blocks x CS_CONTAIN_MEASURES */
} study;

/* Without block `item`; -1: the whole. */
static cs_status solve(void *ctx, int64_t item)
{
    const study *s = ctx;
    space real = {0}, mask = {0};
    cs_status status = space_of(s->real, item, s->options->centred, &real);
    if (status == CS_OK) status = space_of(s->mask, item, s->options->centred, &mask);
    if (status == CS_OK && item < 0) {
        s->out->real = rank_tau(&real, s->real, s->options);
        s->out->mask = rank_tau(&mask, s->mask, s->options);
        status =
            s->out->real > 0 && s->out->mask > 0
                ? exact(s->real, s->options->centred, &real, &mask, s->out)
                : cs_fail(CS_ERR_INPUT, "all rows of one kind are 0, so they span no subspace");
    }
    if (status == CS_OK)
        status = measure(&real, &mask, s->out->real, s->out->mask,
                         item < 0 ? s->out->value : s->left_out + item * CS_CONTAIN_MEASURES);
    free_space(&real);
    free_space(&mask);
    return status;
}

cs_status cs_containment_of(const cs_gram *real, const cs_gram *mask,
                            const cs_rank_options *options, cs_containment *out)
{
    const int64_t blocks = options->jackknife && real->groups > 1 ? real->groups : 0;
    cs_containment c = {0};
    study s = {.real = real, .mask = mask, .options = options, .out = &c};
    s.left_out = cs_alloc(blocks * CS_CONTAIN_MEASURES, sizeof *s.left_out);
    cs_status status = s.left_out ? CS_OK : CS_ERR_MEMORY;
    cs_threads_blas_hold(true); /* the problems run in parallel */
    if (status == CS_OK && (status = solve(&s, -1)) == CS_OK)
        status = cs_parallel(blocks, options->threads, solve, &s);
    cs_threads_blas_hold(false);
    for (int m = 0; m < CS_CONTAIN_MEASURES; ++m) {
        c.se[m] = status == CS_OK && blocks > 1
                      ? cs_jackknife_error(blocks, s.left_out + m, CS_CONTAIN_MEASURES)
                      : NAN;
    }
    cs_free(s.left_out);
    if (status == CS_OK) *out = c;
    return status;
}
