/* Training of word vectors in the graph (qwem_train.h has the losses).
 *
 * A step of `full` is one product W W^T and its squared error to M. The others draw PAIRS pairs for
 * each token, and their products are rows of a batch: z = sum_c (w_i * w_j)_c is a product with a
 * constant row of ones. A pair of QWEM's loss has the goal 2 or -2, since z^2/4 - z = (z - 2)^2/4 -
 * 1. The logistic loss is a cross-entropy of the logits (0, z).
 *
 * Gradient descent with rate r is the update of AdamW without averages, with eps E far above all
 * gradients and rate r E.
 *
 * Limit: `full` and `uniform` read M as a dense matrix. */
#include "analysis/theorems/qwem_train.h"

#include <math.h>

#include "base/auto.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "tensor/run.h"

enum { PAIRS = 64, POWER_STEPS = 200 };
static const double EPS = 1e12; /* E */

const char *cs_qwem_training_name(cs_qwem_training training)
{
    static const char *const name[CS_QWEM_TRAININGS] = {"full", "uniform", "counts", "skip-gram"};
    return name[training];
}

bool cs_qwem_equal_weights(cs_qwem_training training)
{
    return training == CS_QWEM_FULL || training == CS_QWEM_UNIFORM;
}

/* --- the distribution of pairs ---------------------------------------------------------------- */

typedef struct {
    int64_t entries, tokens;
    double *pair, *token; /* sums of a, in the order of entries, and of p */
    int32_t *row, *col;   /* tokens of an entry */
} pairs;

static pairs pairs_of(const cs_qwem_recipe *r, cs_pool *pool)
{
    const cs_csr *a = r->a;
    pairs p = {.entries = cs_csr_nnz(a), .tokens = a->cols};
    p.pair = cs_pool_take(pool, p.entries, sizeof *p.pair);
    p.token = cs_pool_take(pool, p.tokens, sizeof *p.token);
    p.row = cs_pool_take(pool, p.entries, sizeof *p.row);
    p.col = cs_pool_take(pool, p.entries, sizeof *p.col);
    if (pool->status != CS_OK) return p;
    double sum = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            sum += a->val[e];
            p.pair[e] = sum;
            p.row[e] = (int32_t)(r->row_column ? r->row_column[i] : i);
            p.col[e] = a->col[e];
            p.token[p.col[e]] += a->val[e];
        }
    }
    for (int64_t j = 1; j < p.tokens; ++j) {
        p.token[j] += p.token[j - 1];
    }
    return p;
}

/* The first of n ascending sums above a uniform share of the last. */
static int32_t draw(int64_t n, const double *sum, cs_rng *rng)
{
    const double wanted = cs_rng_uniform(rng) * sum[n - 1];
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sum[middle] > wanted) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return (int32_t)low;
}

/* y = V^2 (a - p p^T) x. */
static void apply_counts(const pairs *p, const double *x, double *y)
{
    const double whole = p->pair[p->entries - 1], v2 = (double)p->tokens * (double)p->tokens;
    double mean = 0;
    for (int64_t j = 0; j < p->tokens; ++j) {
        mean += (p->token[j] - (j > 0 ? p->token[j - 1] : 0)) / whole * x[j];
    }
    for (int64_t j = 0; j < p->tokens; ++j) {
        y[j] = -v2 * mean * (p->token[j] - (j > 0 ? p->token[j - 1] : 0)) / whole;
    }
    for (int64_t e = 0; e < p->entries; ++e) {
        const double a = (p->pair[e] - (e > 0 ? p->pair[e - 1] : 0)) / whole;
        y[p->row[e]] += v2 * a * x[p->col[e]];
    }
}

cs_status cs_qwem_interval(const cs_qwem_problem *problem, const cs_qwem_recipe *recipe,
                           double *out)
{
    *out = problem->interval;
    if (cs_qwem_equal_weights(recipe->training)) {
        return CS_OK;
    }
    CS_AUTO(cs_pool) pool = {0};
    const pairs p = pairs_of(recipe, &pool);
    double *x = cs_pool_take(&pool, p.tokens, sizeof *x);
    double *y = cs_pool_take(&pool, p.tokens, sizeof *y), norm = 1;
    if (pool.status != CS_OK) return pool.status;
    cs_rng rng = cs_rng_at(recipe->seed, CS_STREAM_AUDIT, 2);
    for (int64_t j = 0; j < p.tokens; ++j) {
        x[j] = cs_rng_normal(&rng);
    }
    for (int i = 0; i < POWER_STEPS && norm > 0; ++i) {
        apply_counts(&p, x, y);
        norm = sqrt(cs_inner(p.tokens, y, y));
        for (int64_t j = 0; j < p.tokens; ++j) {
            x[j] = norm > 0 ? y[j] / norm : 0;
        }
    }
    *out = norm > 0 ? 1 / norm : problem->interval;
    return CS_OK;
}

/* --- the graph -------------------------------------------------------------------------------- */

typedef struct {
    const cs_qwem_problem *problem;
    const cs_qwem_recipe *recipe;
    pairs pairs;
    cs_graph graph;
    cs_params params;
    cs_run *run;
    int64_t vectors;                               /* number of the parameter W */
    int rows, first, second, goal, weight, target; /* tensors; CS_NONE: not of this loss */
} trainer;

static void trainer_free(trainer *t)
{
    cs_run_free(&t->run);
    cs_graph_free(&t->graph);
    cs_params_free(&t->params);
}

/* All tokens against all: z = W W^T. */
static void emit_full(trainer *t, int table)
{
    const int64_t n = t->problem->m->rows;
    cs_graph *g = &t->graph;
    t->rows = cs_graph_rows(g, 1, n);
    t->first = cs_graph_index(g, t->rows, "token");
    t->weight = cs_graph_input(g, t->rows, 1, "weight");
    t->goal = cs_graph_input(g, t->rows, n, "goal");
    const int x = cs_graph_embed(g, CS_NONE, t->rows, 1, &table, &t->first);
    const int z = cs_graph_linear(g, x, table, CS_NONE, CS_ACT_NONE);
    (void)cs_graph_squared_error(g, z, t->goal, t->weight);
}

static void emit_pairs(trainer *t, int table, int ones)
{
    const bool logistic = t->recipe->training == CS_QWEM_SKIP_GRAM;
    cs_graph *g = &t->graph;
    t->rows = cs_graph_rows(g, 1, PAIRS * t->problem->m->rows);
    t->first = cs_graph_index(g, t->rows, "first");
    t->second = cs_graph_index(g, t->rows, "second");
    t->weight = cs_graph_input(g, t->rows, 1, "weight");
    const int x = cs_graph_embed(g, CS_NONE, t->rows, 1, &table, &t->first);
    const int y = cs_graph_embed(g, CS_NONE, t->rows, 1, &table, &t->second);
    const int product = cs_graph_gate(g, x, y, CS_ACT_NONE, 1, 1);
    const int z = cs_graph_linear(g, product, ones, CS_NONE, CS_ACT_NONE);
    if (logistic) {
        t->target = cs_graph_index(g, t->rows, "target");
        (void)cs_graph_cross_entropy(g, z, 2, t->target, t->weight);
    } else {
        t->goal = cs_graph_input(g, t->rows, 1, "goal");
        (void)cs_graph_squared_error(g, z, t->goal, t->weight);
    }
}

static cs_status set_values(trainer *t, int64_t ones, const cs_dense *start)
{
    const int64_t n = start->rows, d = start->cols;
    CS_AUTO_FREE double *x = cs_alloc(n * d, sizeof *x);
    if (!x) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < n * d; ++i) {
        x[i] = start->data[i / d + i % d * start->ld];
    }
    cs_status status = cs_params_set64(&t->params, t->vectors, CS_PARAM_VALUE, x);
    for (int64_t i = 0; i < 2 * d; ++i) { /* the logits 0 and z, or z */
        x[i] = i / d == t->params.param[ones].rows - 1;
    }
    return status == CS_OK ? cs_params_set64(&t->params, ones, CS_PARAM_VALUE, x) : status;
}

static cs_status build(trainer *t, const cs_dense *start, cs_backend *backend)
{
    const int64_t n = start->rows, d = start->cols;
    const cs_qwem_training training = t->recipe->training;
    t->vectors = cs_params_add(&t->params, "vectors", n, d, false);
    const int64_t classes = training == CS_QWEM_SKIP_GRAM ? 2 : 1;
    const int64_t ones = cs_params_add(&t->params, "ones", classes, d, false);
    if (t->vectors < 0 || ones < 0) return CS_ERR_MEMORY;
    cs_graph_init(&t->graph, true);
    const int64_t at = t->params.param[t->vectors].offset;
    const int table = cs_graph_param(&t->graph, "vectors", n, d, at, true);
    t->second = t->goal = t->target = CS_NONE;
    if (training == CS_QWEM_FULL) {
        emit_full(t, table);
    } else {
        emit_pairs(
            t, table,
            cs_graph_param(&t->graph, "ones", classes, d, t->params.param[ones].offset, false));
    }
    cs_status status = cs_graph_finish(&t->graph);
    if (status == CS_OK) status = cs_params_allocate(&t->params, backend, true);
    if (status == CS_OK) status = set_values(t, ones, start);
    return status == CS_OK ? cs_run_init(&t->graph, &t->params, &t->run) : status;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The same input in every step. */
static cs_status load_full(trainer *t)
{
    const cs_dense *m = t->problem->m;
    cs_status status = cs_run_rows(t->run, t->rows, 1, m->rows);
    for (int64_t i = 0; i < m->rows && status == CS_OK; ++i) {
        cs_run_index(t->run, t->first)[i] = (int32_t)i;
        cs_run_input(t->run, t->weight, i, 0, 0.25);
        cs_run_input_row(t->run, t->goal, i, m->data + i * m->ld); /* M is symmetric */
    }
    return status == CS_OK ? cs_run_upload(t->run, (cs_run_key){0}) : status;
}

/* Half of the pairs are drawn from a, half from p p^T; or all of them uniformly. */
static void load_pair(trainer *t, int64_t r, cs_rng *rng)
{
    const cs_dense *m = t->problem->m;
    const int64_t n = m->rows, count = PAIRS * n;
    const cs_qwem_training training = t->recipe->training;
    const bool positive = r < count / 2;
    const double v2 = (double)n * (double)n / (double)count;
    int32_t i, j;
    if (training == CS_QWEM_UNIFORM) {
        i = (int32_t)cs_rng_below(rng, n);
        j = (int32_t)cs_rng_below(rng, n);
    } else if (positive) {
        const int32_t e = draw(t->pairs.entries, t->pairs.pair, rng);
        i = t->pairs.row[e];
        j = t->pairs.col[e];
    } else {
        i = draw(n, t->pairs.token, rng);
        j = draw(n, t->pairs.token, rng);
    }
    cs_run_index(t->run, t->first)[r] = i;
    cs_run_index(t->run, t->second)[r] = j;
    cs_run_input(t->run, t->weight, r, 0, training == CS_QWEM_SKIP_GRAM ? 2 * v2 : v2 / 4);
    if (t->target != CS_NONE) {
        cs_run_index(t->run, t->target)[r] = positive;
    } else {
        cs_run_input(t->run, t->goal, r, 0,
                     training == CS_QWEM_UNIFORM ? m->data[i + j * m->ld]
                     : positive                  ? 2
                                                 : -2);
    }
}

static cs_status load_pairs(trainer *t, int64_t step)
{
    const int64_t count = PAIRS * t->problem->m->rows;
    cs_rng rng = cs_rng_at(t->recipe->seed, CS_STREAM_ORDER,
                           (uint64_t)step * CS_QWEM_TRAININGS + t->recipe->training);
    cs_status status = cs_run_rows(t->run, t->rows, 1, count);
    for (int64_t r = 0; r < count && status == CS_OK; ++r) {
        load_pair(t, r, &rng);
    }
    return status == CS_OK ? cs_run_upload(t->run, (cs_run_key){0}) : status;
}

static cs_status descend(trainer *t, int64_t step)
{
    const double rate = t->problem->interval / CS_QWEM_STEPS;
    const cs_adamw hyper = {
        .learning_rate = (float)(rate * EPS), .eps = (float)EPS, .bias1 = 1, .bias2 = 1};
    cs_status status = cs_interrupted() ? cs_fail(CS_ERR_INTERRUPT, "interrupted") : CS_OK;
    if (status == CS_OK && t->recipe->training != CS_QWEM_FULL) status = load_pairs(t, step);
    if (status == CS_OK) status = cs_params_zero_grad(&t->params);
    if (status == CS_OK) status = cs_run_forward(t->run);
    if (status == CS_OK) status = cs_run_backward(t->run);
    return status == CS_OK ? cs_params_update(&t->params, &hyper) : status;
}

/* W, whose values are all finite. */
static cs_status read_vectors(const trainer *t, int64_t sample, cs_dense *w)
{
    const int64_t n = w->rows, d = w->cols;
    CS_AUTO_FREE double *x = cs_alloc(n * d, sizeof *x);
    cs_status status =
        x ? cs_params_get64(&t->params, t->vectors, CS_PARAM_VALUE, x) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < n * d && status == CS_OK; ++i) {
        if (!isfinite(x[i])) {
            return cs_fail(CS_ERR_CONVERGE, "training `%s`: not finite after step %lld",
                           cs_qwem_training_name(t->recipe->training),
                           (long long)(sample * CS_QWEM_STEPS));
        }
        w->data[i / d + i % d * w->ld] = x[i];
    }
    return status;
}

cs_status cs_qwem_train(const cs_qwem_problem *problem, const cs_qwem_recipe *recipe,
                        const cs_dense *start, cs_qwem_path *out, cs_dense *end)
{
    CS_AUTO(cs_pool) pool = {0};
    CS_AUTO(cs_backend) *backend = NULL;
    CS_AUTO(trainer) t = {.problem = problem, .recipe = recipe};
    cs_status status = cs_backend_cpu(0, &backend);
    if (status == CS_OK && !cs_qwem_equal_weights(recipe->training)) {
        t.pairs = pairs_of(recipe, &pool);
        status = pool.status;
    }
    if (status == CS_OK) status = build(&t, start, backend);
    if (status == CS_OK && recipe->training == CS_QWEM_FULL) status = load_full(&t);
    for (int64_t s = 0; s <= problem->samples && status == CS_OK; ++s) {
        for (int64_t i = 1; i <= CS_QWEM_STEPS && s > 0 && status == CS_OK; ++i) {
            status = descend(&t, (s - 1) * CS_QWEM_STEPS + i);
        }
        if (status == CS_OK) status = read_vectors(&t, s, end);
        if (status == CS_OK) status = cs_qwem_measure(problem, end, s, out);
    }
    return status == CS_OK ? cs_qwem_distance(problem, end, out) : status;
}
