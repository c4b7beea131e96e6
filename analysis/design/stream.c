/* The pair counts come from the builder under context `unique` (cooc/context.h): of the plan that
 * predicts positions 0 and e of a window from nothing, half each, its Gram form is
 * (diag p + P_e) / 2 in a text closed to a circle, P_e(u, v) the mass of the pairs at distance e in
 * either order. The circle is the text with its first s - 1 tokens repeated behind it, in windows of s.
 */
#include <math.h>
#include <string.h>

#include "analysis/design/design.h"
#include "base/auto.h"
#include "base/threads.h"
#include "cooc/builder.h"
#include "plan/plan_file.h"

/* All documents as one, and its beginning again. The arrays are the pool's. */
static cs_status close_circle(const cs_corpus *corpus, int64_t s, cs_pool *pool, cs_corpus *out)
{
    const int64_t n = corpus->tokens;
    if (n < s) {
        return cs_fail(CS_ERR_INPUT, "%lld tokens are fewer than the sequence length, %lld",
                       (long long)n, (long long)s);
    }
    *out = (cs_corpus){.name = corpus->name,
                       .path = corpus->path,
                       .documents = 1,
                       .tokens = n + s - 1,
                       .vocab = corpus->vocab,
                       .word = corpus->word,
                       .unknown = corpus->unknown,
                       .doc_ptr = cs_pool_take(pool, 2, sizeof(int64_t)),
                       .token = cs_pool_take(pool, n + s - 1, sizeof(int32_t)),
                       .label = cs_pool_take(pool, 1, sizeof(int32_t)),
                       .held_out = cs_pool_take(pool, 1, sizeof(uint8_t))};
    if (pool->status != CS_OK) return pool->status;
    out->doc_ptr[1] = n + s - 1;
    out->label[0] = -1;
    memcpy(out->token, corpus->token, (size_t)n * sizeof(int32_t));
    memcpy(out->token + n, corpus->token, (size_t)(s - 1) * sizeof(int32_t));
    return CS_OK;
}

/* (diag p + P_e) / 2, up to a factor. */
static cs_status count_pairs(const cs_corpus *circle, int64_t s, int64_t e,
                             const cs_cooc_options *base, cs_cooc *out)
{
    CS_AUTO(cs_plan) plan = {0};
    double probability = 1;
    cs_plan_file file = {.plans = 1, .plan = &plan, .probability = &probability, .empty_given = 1};
    cs_cooc_options options = *base;
    cs_status status = cs_plan_init(&plan, s);
    if (status != CS_OK) return status;
    options.objective = cs_objective_default(CS_OBJ_FILE);
    options.objective.file = &file;
    options.objective.empty_prefix = CS_PREFIX_SHARED;
    plan.groups = 1;
    for (int64_t k = 0; k < s; ++k) {
        plan.group[k] = 1;
        plan.weight[k] = k == 0 || k == e;
    }
    return cs_cooc_build(circle, &options, out);
}

/* C_e = D^{-1/2} P_e D^{-1/2} in place; receives the sums of rows and, by token, of columns. */
static void normalise(cs_csr *a, double *p, double *by)
{
    cs_csr_sums(a, p, by);
    for (int64_t i = 0, v = 0; i < a->rows; ++i, ++v) {
        while (!(by[v] > 0)) { /* rows are the columns that have mass */
            ++v;
        }
        for (int64_t at = a->ptr[i]; at < a->ptr[i + 1]; ++at) {
            const double pairs = 2 * a->val[at] - (a->col[at] == v ? p[i] : 0);
            a->val[at] = fmax(pairs, 0) / sqrt(p[i] * by[a->col[at]]);
        }
    }
}

/* Adds the products of row i of all matrices; dense: a row of zeros, which it is again. */
static void add_row(const cs_cooc *pairs, int64_t s, int64_t i, double *dense, double *gram)
{
    for (int64_t d = 1; d < s; ++d) {
        const cs_csr *a = &pairs[d].matrix.a;
        for (int64_t at = a->ptr[i]; at < a->ptr[i + 1]; ++at) {
            dense[a->col[at]] = a->val[at];
        }
        for (int64_t e = d; e < s; ++e) {
            const cs_csr *b = &pairs[e].matrix.a;
            double sum = 0;
            for (int64_t at = b->ptr[i]; at < b->ptr[i + 1]; ++at) {
                sum += dense[b->col[at]] * b->val[at];
            }
            gram[d * s + e] += sum;
        }
        for (int64_t at = a->ptr[i]; at < a->ptr[i + 1]; ++at) {
            dense[a->col[at]] = 0;
        }
    }
}

/* <I, C_d>. */
static double trace(const cs_csr *a, const double *by)
{
    double sum = 0;
    for (int64_t i = 0, v = 0; i < a->rows; ++i, ++v) {
        while (!(by[v] > 0)) {
            ++v;
        }
        for (int64_t at = a->ptr[i]; at < a->ptr[i + 1]; ++at) {
            sum += a->col[at] == v ? a->val[at] : 0;
        }
    }
    return sum;
}

cs_status cs_stream_gram(const cs_corpus *corpus, int64_t s, const cs_progress *progress,
                         double *gram)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_corpus circle = {0};
    const cs_cooc_options options = {
        .context = {.mode = CS_CONTEXT_UNIQUE}, .max_length = s, .stride = 1};
    cs_cooc *pairs = cs_pool_take(&pool, s, sizeof *pairs);
    double *p = cs_pool_take(&pool, corpus->vocab, sizeof *p);
    double *by = cs_pool_take(&pool, corpus->vocab, sizeof *by);
    double *dense = cs_pool_take(&pool, corpus->vocab, sizeof *dense);
    cs_status status = pool.status;
    if (status == CS_OK) status = close_circle(corpus, s, &pool, &circle);
    if (status == CS_OK) memset(gram, 0, (size_t)(s * s) * sizeof *gram);
    for (int64_t d = 1; d < s && status == CS_OK; ++d) {
        cs_csr *a = &pairs[d].matrix.a;
        status = count_pairs(&circle, s, d, &options, &pairs[d]);
        if (status != CS_OK) break;
        normalise(a, p, by);
        gram[0] = (double)a->rows;
        gram[d * s] = gram[d] = trace(a, by);
        cs_progress_report(progress, "distances", d, s - 1);
        status = cs_mem_check((double)(s - 1 - d) * 12.0 * (double)cs_csr_nnz(a),
                              "give a smaller --length or --vocab",
                              "pairs at %lld more distances take", (long long)(s - 1 - d));
    }
    for (int64_t i = 0; status == CS_OK && i < pairs[1].matrix.a.rows; ++i) {
        add_row(pairs, s, i, dense, gram);
        status = cs_interrupt_check();
    }
    for (int64_t i = 0; i < s * s && status == CS_OK; ++i) {
        gram[i] = i % s < i / s ? gram[i % s * s + i / s] : gram[i];
    }
    for (int64_t d = 1; pairs && d < s; ++d) {
        cs_cooc_free(&pairs[d]);
    }
    return status;
}
