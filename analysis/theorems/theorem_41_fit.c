/* The least-squares classifier on a growing orthonormal basis.
 *
 * On features U_t / root the root^2-weighted least squares has the scores U_t U_t^T diag(root)
 * target / root; the argmax does not see the last division, so a new column costs one update. Work
 * goes in chunks of rows whose sums are added in order: the same bits for any number of threads.
 */
#include <string.h>

#include "analysis/theorems/theorem_41_private.h"
#include "base/threads.h"

enum { CHUNK = 4096, SUMS = 3 }; /* SUMS: error, documents, excess of a chunk */

typedef struct {
    cs_41_fit *fit;
    const double *column;
} step_work;

static int64_t chunks_of(int64_t rows)
{
    return (rows + CHUNK - 1) / CHUNK;
}

cs_status cs_41_fit_init(const cs_41_labels *labels, const cs_csr *target, const double *root,
                         int threads, cs_41_fit *out)
{
    cs_41_fit fit = {.labels = labels,
                     .target = target,
                     .root = root,
                     .threads = threads,
                     .error = 1,
                     .documents = 1,
                     .excess = 1 - labels->noise};
    const int64_t sums = chunks_of(labels->rows) * (labels->classes + SUMS);
    fit.score = cs_pool_take(&fit.pool, labels->rows * labels->classes, sizeof *fit.score);
    fit.coefficient = cs_pool_take(&fit.pool, labels->classes, sizeof *fit.coefficient);
    fit.partial = cs_pool_take(&fit.pool, sums, sizeof *fit.partial);
    *out = fit;
    return fit.pool.status;
}

void cs_41_fit_free(cs_41_fit *fit)
{
    cs_pool_free(&fit->pool);
    memset(fit, 0, sizeof *fit);
}

static int64_t last_row(const cs_41_fit *fit, int64_t item)
{
    int64_t last = (item + 1) * CHUNK;
    return last < fit->labels->rows ? last : fit->labels->rows;
}

/* partial = this chunk's part of u^T diag(root) target. */
static cs_status project_chunk(void *ctx, int64_t item)
{
    const step_work *w = ctx;
    const cs_csr *target = w->fit->target;
    int64_t classes = w->fit->labels->classes;
    double *partial = w->fit->partial + item * (classes + SUMS);
    memset(partial, 0, (size_t)classes * sizeof *partial);
    for (int64_t i = item * CHUNK; i < last_row(w->fit, item); ++i) {
        for (int64_t e = target->ptr[i]; e < target->ptr[i + 1]; ++e) {
            partial[target->col[e]] += w->column[i] * w->fit->root[i] * target->val[e];
        }
    }
    return CS_OK;
}

/* The class with the largest score, -1 when another one comes within the tie tolerance. */
static int64_t decide(const double *score, int64_t classes, double tie)
{
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c) {
        best = score[c] > score[best] ? c : best;
    }
    for (int64_t c = 0; c < classes; ++c) {
        if (c != best && score[best] - score[c] <= tie) {
            return -1;
        }
    }
    return best;
}

static cs_status update_chunk(void *ctx, int64_t item)
{
    const step_work *w = ctx;
    cs_41_fit *fit = w->fit;
    const cs_41_labels *l = fit->labels;
    double error = 0, documents = 0, excess = 0;
    for (int64_t i = item * CHUNK; i < last_row(fit, item); ++i) {
        double *score = fit->score + i * l->classes;
        for (int64_t c = 0; c < l->classes; ++c) {
            score[c] += w->column[i] * fit->coefficient[c];
        }
        if (!(l->mass[i] > 0)) {
            continue;
        }
        int64_t guess = decide(score, l->classes, CS_41_TIE * fit->root[i]);
        double right = 0, majority = 0;
        for (int64_t e = l->soft.ptr[i]; e < l->soft.ptr[i + 1]; ++e) {
            right += l->soft.col[e] == guess ? l->soft.val[e] : 0;
            majority += l->soft.col[e] == l->label[i] ? l->soft.val[e] : 0;
        }
        error += guess == l->label[i] ? 0 : l->mass[i];
        documents += l->mass[i] * (1 - right);
        excess += l->mass[i] * (majority - right); /* exactly 0 when the guess is y(X) */
    }
    double *partial = fit->partial + item * (l->classes + SUMS) + l->classes;
    partial[0] = error;
    partial[1] = documents;
    partial[2] = excess;
    return CS_OK;
}

cs_status cs_41_fit_step(cs_41_fit *fit, const double *column)
{
    int64_t classes = fit->labels->classes, chunks = chunks_of(fit->labels->rows);
    step_work work = {fit, column};
    cs_status status = cs_parallel(chunks, fit->threads, project_chunk, &work);
    if (status != CS_OK) return status;
    memset(fit->coefficient, 0, (size_t)classes * sizeof *fit->coefficient);
    for (int64_t k = 0; k < chunks; ++k) {
        for (int64_t c = 0; c < classes; ++c) {
            fit->coefficient[c] += fit->partial[k * (classes + SUMS) + c];
        }
    }
    status = cs_parallel(chunks, fit->threads, update_chunk, &work);
    if (status != CS_OK) return status;
    fit->error = fit->documents = fit->excess = 0;
    for (int64_t k = 0; k < chunks; ++k) {
        fit->error += fit->partial[k * (classes + SUMS) + classes];
        fit->documents += fit->partial[k * (classes + SUMS) + classes + 1];
        fit->excess += fit->partial[k * (classes + SUMS) + classes + 2];
    }
    return CS_OK;
}
