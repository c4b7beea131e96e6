/* The trained side of QWEM: word vectors from the random start of the flow, by the four trainings of
 * qwem_train.h, against the claims of the paper.
 *
 *   qwem-trained-order     modes have half of lambda_k in the order of lambda_k; equal weights
 *   qwem-weighted-order    the same with the weights of word2vec
 *   qwem-trained-time      their half times are those of the closed form from the same start
 *   qwem-trained-solution  at the end W W^T is sum_(k<=d) lambda_k v_k v_k^T
 *
 * Time and solution are claims with a tolerance. Training with equal weights that misses it was too
 * short or too noisy, which disproves nothing. Where weights differ, the paper's assumption does
 * not hold. */
#include <math.h>

#include "analysis/theorems/theorem_qwem_private.h"
#include "base/auto.h"

static const double TIME = 0.1, SOLUTION = 0.05; /* tolerances, relative */

static cs_status train_one(const cs_csr *a, const cs_dense *start, cs_qwem_training training,
                           cs_qwem_audit *q)
{
    const int64_t d = start->cols;
    const cs_qwem_recipe recipe = {a, q->options->row_column, training, q->options->seed};
    cs_qwem_run *run = &q->run[training];
    run->problem = q->problem;
    run->path = cs_qwem_path_in(&q->pool, &q->problem);
    run->value = cs_pool_take(&q->pool, d, sizeof *run->value);
    CS_AUTO(cs_pool) pool = {0};
    cs_dense end = cs_dense_in(&pool, start->rows, d), gram = cs_dense_in(&pool, d, d);
    cs_status status = q->pool.status == CS_OK ? pool.status : q->pool.status;
    if (status == CS_OK) status = cs_qwem_interval(&q->problem, &recipe, &run->problem.interval);
    if (status == CS_OK) status = cs_qwem_train(&run->problem, &recipe, start, &run->path, &end);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &end, &end, 0, &gram);
    if (status == CS_OK) status = cs_dense_eigh(&gram, run->value, true);
    for (int64_t k = 0; k < d / 2 && status == CS_OK; ++k) { /* they ascend */
        const double kept = run->value[k];
        run->value[k] = run->value[d - 1 - k];
        run->value[d - 1 - k] = kept;
    }
    return status;
}

cs_status cs_qwem_trainings(const cs_csr *a, const cs_dense *start, cs_qwem_audit *q)
{
    cs_status status = CS_OK;
    for (int t = 0; t < CS_QWEM_TRAININGS && status == CS_OK; ++t) {
        status = train_one(a, start, (cs_qwem_training)t, q);
    }
    return status;
}

/* --- statements ------------------------------------------------------------------------------- */

static cs_statement *claim(const cs_qwem_audit *q, cs_qwem_training t, const char *id,
                           cs_relation relation, const char *text, double lhs, double rhs,
                           double error, cs_statements *out)
{
    CS_AUTO_FREE char *named = cs_format("training `%s`: %s", cs_qwem_training_name(t), text);
    if (!named) {
        out->status = CS_ERR_MEMORY;
        return NULL;
    }
    return cs_statements_claim(out, &(cs_claim){id, CS_PRINTED, relation, named, q->name, lhs, rhs,
                                                error + 1e-6 * fabs(rhs)});
}

/* A claim that fails disproves the paper nowhere. With unequal weights its order is also undetermined
 * where no mode is learned. */
static void excuse(const cs_qwem_audit *q, cs_qwem_training t, cs_statement *s)
{
    if (s && s->verdict != CS_PASS && !cs_qwem_equal_weights(t)) {
        cs_statement_unspecify(s, "every pair has the same weight (value: tokens)",
                               (double)q->m.rows);
    } else if (s && s->verdict == CS_FAIL) {
        cs_statement_withhold(s);
    }
}

static void state_order(const cs_qwem_audit *q, cs_qwem_training t, cs_statements *out)
{
    const cs_qwem_run *run = &q->run[t];
    const cs_qwem_pair pair = cs_qwem_nearest(&run->problem, run->path.share);
    if (pair.first < 0) return;
    const char *id = cs_qwem_equal_weights(t) ? "qwem-trained-order" : "qwem-weighted-order";
    cs_statement *s = claim(q, t, id, CS_RELATION_LESS,
                            "modes reach half of lambda_k in the order of lambda_k (times of the "
                            "nearest two)",
                            pair.before, pair.after, pair.error, out);
    cs_statement_reals(s, 2,
                       (cs_detail[]){{"mode", (double)(pair.first + 1)},
                                     {"next_mode", (double)(pair.second + 1)}});
    if (s && s->verdict == CS_FAIL && cs_qwem_equal_weights(t))
        cs_statement_unspecify(s, "the start is small enough, for which the paper has no bound",
                               q->s / q->lambda[q->problem.width - 1]);
    excuse(q, t, s);
}

/* The largest relative difference of the half times of modes that the closed form reaches. Both are
 * interpolated in the same way. */
static void state_time(const cs_qwem_audit *q, cs_qwem_training t, cs_statements *out)
{
    const cs_qwem_run *run = &q->run[t];
    double worst = 0;
    for (int64_t k = 0; k < q->problem.width; ++k) {
        const double want = cs_qwem_half(&q->problem, q->solution.share, k);
        if (isfinite(want) && want > 0) {
            worst = fmax(worst, fabs(cs_qwem_half(&run->problem, run->path.share, k) / want - 1));
        }
    }
    excuse(q, t,
           claim(q, t, "qwem-trained-time", CS_RELATION_AT_MOST,
                 "half times differ from those of the closed form from the same start by at most "
                 "10 %",
                 worst, TIME, 0, out));
}

static void state_solution(const cs_qwem_audit *q, cs_qwem_training t, cs_statements *out)
{
    const cs_qwem_run *run = &q->run[t];
    double square = 0, worst = 0;
    for (int64_t k = 0; k < q->problem.width; ++k) {
        square += q->lambda[k] * q->lambda[k];
        worst = fmax(worst, fabs(run->value[k] / q->lambda[k] - 1));
    }
    cs_statement *s = claim(q, t, "qwem-trained-solution", CS_RELATION_AT_MOST,
                            "||W W^T - sum_(k<=d) lambda_k v_k v_k^T|| / ||sum|| at the end is at "
                            "most .05",
                            run->path.distance / sqrt(square), SOLUTION, 0, out);
    cs_statement_reals(s, 3,
                       (cs_detail[]){{"angle", atan(run->path.tangent[q->problem.samples])},
                                     {"value_error", worst},
                                     {"steps", (double)(q->problem.samples * CS_QWEM_STEPS)}});
    excuse(q, t, s);
}

void cs_qwem_state_trainings(const cs_qwem_audit *q, cs_statements *out)
{
    for (int i = 0; i < CS_QWEM_TRAININGS; ++i) {
        const cs_qwem_training t = (cs_qwem_training)i;
        state_order(q, t, out);
        if (cs_qwem_equal_weights(t)) state_time(q, t, out);
        state_solution(q, t, out);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

void cs_qwem_add_trainings(const cs_qwem_audit *q, int64_t k, cs_item *row)
{
    cs_item *course = cs_item_array(row, "~course");
    for (int i = 0; i < CS_QWEM_TRAININGS; ++i) {
        const cs_qwem_run *run = &q->run[i];
        const char *name = cs_qwem_training_name((cs_qwem_training)i);
        const double time = cs_qwem_half(&run->problem, run->path.share, k);
        cs_item_real(row, name, isfinite(time) ? time : NAN);
        for (int64_t t = 0; t <= run->problem.samples; ++t) {
            cs_item *sample = cs_item_object(course, NULL);
            cs_item_text(sample, "model", name);
            cs_item_int(sample, "step", t * CS_QWEM_STEPS);
            cs_item_real(sample, "time", (double)t * run->problem.interval);
            cs_item_real(sample, "share", run->path.share[t * q->problem.width + k] / q->lambda[k]);
        }
    }
}
