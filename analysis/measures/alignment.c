/* Generalised eigenvectors of (B B^T, A), A and B symmetric sums: with A = Q L Q^T and W = Q L^{-1/2}
 * over the directions of positive L, they are W y for the left singular vectors y of W^T B.
 */
#include "analysis/measures/alignment.h"

#include <math.h>

#include "base/auto.h"
#include "plan/pairs.h"
#include "plan/position_weights.h"

/* Directions whose eigenvalue is below this share of the largest are not there. */
#define NOTHING 1e-12

/* The default of t. */
enum { MOST_DIRECTIONS = 64 };

typedef struct {
    bool known, exists;
    double weight;       /* of a sequence */
    double given;        /* expected size of S */
    double *both, *from; /* s x s */
} position_weights;

struct cs_position_table {
    int64_t lengths;
    position_weights *at;
};

cs_status cs_alignment_open(const cs_objective *objective, int64_t width, int64_t classes,
                            cs_alignment *out)
{
    cs_alignment a = {.objective = objective, .width = width, .classes = classes};
    a.table = cs_calloc(1, sizeof *a.table);
    cs_status status = a.table ? cs_dense_init(&a.between, width, width) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_dense_init(&a.across, width, width);
    if (status == CS_OK) status = cs_dense_init(&a.mean, width, width);
    if (status == CS_OK) status = cs_dense_init(&a.label, width, classes);
    return CS_DELIVER(status, out, a, cs_alignment_free);
}

void cs_alignment_free(cs_alignment *a)
{
    for (int64_t s = 0; a->table && s < a->table->lengths; ++s) {
        cs_free(a->table->at[s].both);
        cs_free(a->table->at[s].from);
    }
    if (a->table) cs_free(a->table->at);
    cs_free(a->table);
    cs_dense_free(&a->between);
    cs_dense_free(&a->across);
    cs_dense_free(&a->mean);
    cs_dense_free(&a->label);
    *a = (cs_alignment){0};
}

/* --- weights of positions --------------------------------------------------------------------- */

static cs_status compute_weights(const cs_objective *objective, int64_t s, position_weights *out)
{
    CS_AUTO(cs_pairs) pairs = {0};
    cs_status status = cs_pairs_of(objective, s, &pairs);
    out->both = cs_alloc(s * s, sizeof *out->both);
    out->from = cs_alloc(s * s, sizeof *out->from);
    if (status == CS_OK && !(out->both && out->from)) status = CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_position_weights(&pairs, out->both, out->from);
    for (int64_t i = 0; i < s && status == CS_OK; ++i) {
        out->given += out->both[i + i * s];
    }
    out->weight = objective->event_weight == CS_EVENT_MASK ? 1 : pairs.predicted;
    out->known = status == CS_OK;
    return status;
}

/* *out NULL: the objective does not exist at this length. */
static cs_status weights_of(cs_alignment *a, int64_t s, const position_weights **out)
{
    struct cs_position_table *t = a->table;
    cs_status status = CS_OK;
    if (s >= t->lengths) {
        position_weights *longer = cs_realloc(t->at, s + 1, sizeof *longer);
        if (!longer) return CS_ERR_MEMORY;
        for (t->at = longer; t->lengths <= s; ++t->lengths) {
            longer[t->lengths] = (position_weights){0};
        }
    }
    position_weights *w = &t->at[s];
    if (!w->known) {
        status = s > 0 ? cs_objective_exists(a->objective, s, &w->exists) : CS_OK;
        if (status == CS_OK && w->exists) status = compute_weights(a->objective, s, w);
        w->known = status == CS_OK;
    }
    *out = w->exists ? w : NULL;
    return status;
}

/* Counts a sequence of length s; *out NULL: it is left out. */
static cs_status count(cs_alignment *a, int64_t s, const position_weights **out)
{
    cs_status status = weights_of(a, s, out);
    if (status != CS_OK) return status;
    if (*out) {
        a->weight += (*out)->weight;
        a->given += (*out)->weight * (*out)->given;
        ++a->sequences;
    } else {
        ++a->skipped;
    }
    return CS_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

cs_status cs_alignment_add_tokens(cs_alignment *a, const int32_t *token, int64_t s)
{
    const position_weights *w = NULL;
    cs_status status = count(a, s, &w);
    for (int64_t k = 0; w && status == CS_OK && k < s; ++k) {
        double *both = a->between.data + token[k] * a->between.ld;
        double *from = a->across.data + token[k] * a->across.ld;
        for (int64_t i = 0; i < s; ++i) {
            both[token[i]] += w->weight * w->both[i + k * s];
            from[token[i]] += w->weight * w->from[i + k * s];
        }
    }
    return status;
}

/* sum += weight H^T M H, with H^T d x s. */
static cs_status add_form(const cs_dense *transposed, double *m, double weight, cs_dense *product,
                          cs_dense *sum)
{
    const cs_dense form = {product->cols, product->cols, product->cols, m};
    cs_status status = cs_gemm(false, false, weight, transposed, &form, 0, product);
    return status == CS_OK ? cs_gemm(false, true, 1, product, transposed, 1, sum) : status;
}

cs_status cs_alignment_add_rows(cs_alignment *a, const float *row, int64_t s)
{
    const position_weights *w = NULL;
    CS_AUTO(cs_dense) h = {0}, product = {0};
    cs_status status = count(a, s, &w);
    if (!w || status != CS_OK) return status;
    status = cs_dense_init(&h, a->width, s);
    if (status == CS_OK) status = cs_dense_init(&product, a->width, s);
    for (int64_t i = 0; status == CS_OK && i < s * a->width; ++i) {
        h.data[i] = (double)row[i];
    }
    if (status == CS_OK) status = add_form(&h, w->both, w->weight, &product, &a->between);
    return status == CS_OK ? add_form(&h, w->from, w->weight, &product, &a->across) : status;
}

void cs_alignment_add_document(cs_alignment *a, const double *x, int32_t label)
{
    double *of_class = a->label.data + label * a->label.ld;
    for (int64_t j = 0; j < a->width; ++j) {
        if (x[j] == 0) continue;
        double *column = a->mean.data + j * a->mean.ld;
        of_class[j] += x[j];
        for (int64_t i = 0; i < a->width; ++i) {
            column[i] += x[i] * x[j];
        }
    }
    ++a->documents;
}

/* --- the score -------------------------------------------------------------------------------- */

/* Leading generalised eigenvectors, in falling order of their eigenvalues. */
typedef struct {
    cs_pool pool;
    int64_t directions; /* of A */
    int64_t positive;   /* eigenvalues above 0 */
    double *value;      /* falling */
    cs_dense vector;    /* d x positive, A-orthonormal */
} generalised;

/* W of A: d x directions. */
static cs_status whiten(const cs_dense *a, generalised *g, cs_dense *w)
{
    const int64_t d = a->rows;
    cs_dense q = cs_dense_copy_in(&g->pool, a);
    double *value = cs_pool_take(&g->pool, d, sizeof *value);
    cs_status status = g->pool.status;
    if (status == CS_OK) status = cs_dense_eigh(&q, value, false);
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < d; ++j) {
        g->directions += value[j] > NOTHING * value[d - 1] && value[j] > 0;
    }
    *w = cs_dense_in(&g->pool, d, g->directions);
    if (!w->data) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < g->directions; ++j) {
        const int64_t from = d - g->directions + j;
        for (int64_t i = 0; i < d; ++i) {
            w->data[i + j * w->ld] = q.data[i + from * q.ld] / sqrt(value[from]);
        }
    }
    return CS_OK;
}

/* An SVD of W^T B keeps directions that an eigenproblem of its square would lose to rounding. */
static cs_status generalised_of(const cs_dense *b, const cs_dense *a, generalised *out)
{
    generalised g = {0};
    cs_dense w = {0};
    cs_status status = whiten(a, &g, &w);
    const int64_t n = g.directions, p = n < b->cols ? n : b->cols;
    cs_dense part = cs_dense_in(&g.pool, n, b->cols), left = cs_dense_in(&g.pool, n, p);
    cs_dense right = cs_dense_in(&g.pool, p, b->cols);
    g.value = cs_pool_take(&g.pool, p, sizeof *g.value);
    if (status == CS_OK) status = g.pool.status;
    if (status == CS_OK && p > 0) status = cs_gemm(true, false, 1, &w, b, 0, &part);
    if (status == CS_OK && p > 0) status = cs_dense_svd(&part, g.value, &left, &right);
    for (int64_t j = 0; j < p && status == CS_OK; ++j) {
        g.value[j] *= g.value[j];
        g.positive += g.value[j] > NOTHING * g.value[0];
    }
    left.cols = g.positive;
    g.vector = cs_dense_in(&g.pool, a->rows, g.positive);
    if (status == CS_OK) status = g.pool.status;
    if (status == CS_OK && g.positive > 0)
        status = cs_gemm(false, false, 1, &w, &left, 0, &g.vector);
    if (status != CS_OK) {
        cs_pool_free(&g.pool);
        return status;
    }
    *out = g;
    return CS_OK;
}

/* *rank: 0 becomes as many as there are, up to `most`. */
static cs_status choose_rank(const char *of, const char *option, int64_t most, int64_t there,
                             int64_t *rank)
{
    if (there == 0) {
        return cs_fail(CS_ERR_INPUT,
                       "no direction of the %s has a positive eigenvalue, so there is no score",
                       of);
    }
    if (*rank > there) {
        return cs_fail(CS_ERR_INPUT,
                       "%lld directions of the %s are needed, but there are %lld; lower %s, or "
                       "leave it out",
                       (long long)*rank, of, (long long)there, option);
    }
    if (*rank == 0) *rank = there < most ? there : most;
    return CS_OK;
}

/* ||P U||^2 / ||U||^2, P the projection on the columns of `v`, which are made orthonormal. */
static cs_status overlap(cs_dense *v, const cs_dense *u, cs_pool *pool, double *out)
{
    cs_dense inner = cs_dense_in(pool, v->cols, u->cols);
    cs_status status = pool->status;
    if (status == CS_OK) status = cs_dense_orthonormalise(v);
    if (status == CS_OK) status = cs_gemm(true, false, 1, v, u, 0, &inner);
    if (status == CS_OK) *out = cs_dense_squares(&inner) / cs_dense_squares(u);
    return status;
}

cs_status cs_alignment_score_of(const cs_alignment *a, int64_t rank, int64_t task_rank,
                                cs_alignment_score *out)
{
    generalised objective = {0}, task = {0};
    cs_alignment_score score = {0};
    cs_status status = generalised_of(&a->across, &a->between, &objective);
    if (status == CS_OK) status = generalised_of(&a->label, &a->mean, &task);
    if (status == CS_OK)
        status = choose_rank("objective", "-k", MOST_DIRECTIONS, objective.positive, &rank);
    if (status == CS_OK)
        status = choose_rank("task", "--task-rank", a->classes - 1, task.positive, &task_rank);
    if (status == CS_OK) {
        score.rank = objective.vector.cols = rank;
        score.task_rank = task.vector.cols = task_rank;
        score.directions = objective.directions;
        score.last = objective.value[rank - 1] / objective.value[0];
        score.next = rank < objective.positive ? objective.value[rank] / objective.value[0] : 0;
        score.context_tokens = a->given / a->weight;
        status = overlap(&objective.vector, &task.vector, &objective.pool, &score.score);
    }
    if (status == CS_OK) *out = score;
    cs_pool_free(&objective.pool);
    cs_pool_free(&task.pool);
    return status;
}
