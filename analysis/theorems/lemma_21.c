/* Lemma 2.1 and Theorem 2.2 of MAE-LM on measured states: what they state about ranks, and the
 * premise of the lemma's proof on the model's own tables. Both are about exact ranks of large float
 * matrices; numerical ones, with their tolerance, are used in their place, in addition to the
 * effective ranks that the paper plots. */
#include <math.h>

#include "analysis/theorems/lemma_21.h"
#include "base/auto.h"
#include "io/json.h"
#include "stats/jackknife.h"
#include "stats/student.h"

/* Names the object of a statement: all but the counterexample of a FAIL. */
static cs_status ranks_detail(cs_statement *s, const cs_mask_rank *r, cs_mask_set set,
                              cs_rank_measure measure, const char *key)
{
    CS_AUTO_FREE double *value = cs_alloc(r->layers, sizeof *value);
    if (!value) return CS_ERR_MEMORY;
    for (int64_t l = 0; l < r->layers; ++l) {
        value[l] = r->layer[l].rank[set].value[measure];
    }
    cs_statement_detail(s, key, cs_json_numbers(r->layers, value));
    return CS_OK;
}

/* rank(H_M^first) < rank(H_M^last). */
static cs_status rise(const cs_mask_rank *r, bool effective, const char *input, cs_statements *out)
{
    const cs_mask_layer *first = &r->layer[0], *last = &r->layer[r->layers - 1];
    const cs_effective_rank *low = &first->rank[CS_SET_MASK_ONLY];
    const cs_effective_rank *high = &last->rank[CS_SET_MASK_ONLY];
    const int m = effective ? CS_RANK_TAU_INTERPOLATED : CS_RANK_NUMERICAL;
    double error = effective ? NAN : 0;
    if (effective && low->left_out && high->left_out && r->blocks > 1) {
        error = cs_student_width(0.95, (double)(r->blocks - 1)) *
                cs_jackknife_difference(r->blocks, high->left_out + m, low->left_out + m,
                                        CS_RANK_MEASURES);
    }
    cs_statement *s = cs_statements_add(
        out, effective ? "2.1-effective" : "2.1", CS_PRINTED, CS_RELATION_LESS,
        effective ? "rank_tau(H_M) of the first layer studied < of the last (interpolated; error: "
                    "Student's 97.5% point at B - 1 degrees of freedom times the standard error of "
                    "the difference)"
                  : "rank(H_M) of the first layer studied < of the last (numerical ranks)",
        input);
    cs_statement_evaluate(s, low->value[m], high->value[m], error);
    cs_statement_counterexample(s, "layer %lld: %.6g, layer %lld: %.6g", (long long)first->layer,
                                low->value[m], (long long)last->layer, high->value[m]);
    const double layers[] = {(double)first->layer, (double)last->layer};
    cs_statement_detail(s, "layers", cs_json_numbers(2, layers));
    cs_status status = ranks_detail(s, r, CS_SET_MASK_ONLY, (cs_rank_measure)m, "of_mask_rows");
    if (status == CS_OK)
        status = ranks_detail(s, r, CS_SET_REAL_SAMPLE, (cs_rank_measure)m, "of_as_many_real_rows");
    return status;
}

/* --- the premise --------------------------------------------------------------------------------
 */

/* Numerical rank and rank_0.9 of rows first.. of a parameter. */
static cs_status table_ranks(const cs_model *model, const char *name, int64_t first, int64_t rows,
                             double *numerical, double *effective)
{
    const int64_t d = model->config.shape.width, side = rows < d ? rows : d;
    CS_AUTO(cs_pool) pool = {0};
    double *value = NULL;
    double *sigma = cs_pool_take(&pool, side, sizeof *sigma);
    cs_dense a = cs_dense_in(&pool, rows, d);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_params_read(&model->params, name, &pool, NULL, &value);
    for (int64_t i = 0; i < rows * d && status == CS_OK; ++i) {
        a.data[i / d + i % d * a.ld] = value[first * d + i];
    }
    if (status == CS_OK) status = cs_dense_svd(&a, sigma, NULL, NULL);
    if (status == CS_OK) {
        double measures[CS_RANK_MEASURES];
        for (int64_t k = 0; k < side; ++k) {
            sigma[k] *= sigma[k];
        }
        cs_rank_measures(side, sigma, (double)(rows > d ? rows : d) * 0x1p-23,
                         &(cs_rank_options){.tau = 0.9, .eps = -1}, measures);
        *numerical = measures[CS_RANK_NUMERICAL];
        *effective = measures[CS_RANK_TAU];
    }
    return status;
}

/* rank(P) <= d - rank(E), of the positions that the text takes. */
static cs_status premise(const cs_model *model, int64_t length, const char *input,
                         cs_statements *out)
{
    const cs_model_config *c = &model->config;
    double of_p = 0, of_e = 0, tau_p = 0, tau_e = 0;
    if (cs_params_find(&model->params, "embed.position") < 0) {
        return CS_OK; /* there is no P: [MASK] rows of layer 0 are all the same */
    }
    int64_t positions = length < c->shape.positions ? length : c->shape.positions;
    cs_status status =
        table_ranks(model, "embed.position", c->position.offset, positions, &of_p, &tau_p);
    if (status == CS_OK)
        status = table_ranks(model, "embed.token", 0, c->shape.vocab, &of_e, &tau_e);
    if (status != CS_OK) return status;
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"2.1-premise", CS_PRINTED, CS_RELATION_AT_MOST,
                         "rank(P) <= d - rank(E): positions and tokens take disjoint subspaces "
                         "(singular values above max(rows, d) 2^-23 sigma_1)",
                         input, of_p, (double)c->shape.width - of_e, 0});
    cs_statement_counterexample(s, "rank(P) = %g, rank(E) = %g, d = %lld", of_p, of_e,
                                (long long)c->shape.width);
    const cs_detail detail[] = {{"rank_p", of_p},
                                {"rank_e", of_e},
                                {"d", (double)c->shape.width},
                                {"rank_0.9_p", tau_p},
                                {"rank_0.9_e", tau_e}};
    cs_statement_reals(s, sizeof detail / sizeof *detail, detail);
    return CS_OK;
}

/* --- Theorem 2.2 --------------------------------------------------------------------------------
 */

static cs_status deficient(const cs_mask_rank *r, const char *input, cs_statements *out)
{
    double least = (double)r->width;
    for (int64_t l = 0; l < r->layers; ++l) {
        least = fmin(least, r->layer[l].rank[CS_SET_REAL_ONLY].value[CS_RANK_NUMERICAL]);
    }
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"2.2-deficient", CS_PRINTED, CS_RELATION_LESS,
                         "in some layer rank(H_R) < d (numerical ranks; lhs: the least of the "
                         "layers studied)",
                         input, least, (double)r->width, 0});
    cs_statement_counterexample(s, "rank(H_R) = d = %lld in every layer studied",
                                (long long)r->width);
    return ranks_detail(s, r, CS_SET_REAL_ONLY, CS_RANK_NUMERICAL, "of_real_rows");
}

/* The layer with the strongest evidence for the statement: where H_R leaves directions out, that with the
 * largest share beyond its error; a layer of full rank contains everything. */
static const cs_mask_layer *least_contained(const cs_mask_rank *r)
{
    const cs_mask_layer *most = &r->layer[0];
    for (int64_t l = 1; l < r->layers; ++l) {
        const cs_containment *c = &r->layer[l].containment, *best = &most->containment;
        bool full = c->rank == r->width, full_best = best->rank == r->width;
        if (full == full_best ? c->exact - c->exact_error > best->exact - best->exact_error
                              : full_best) {
            most = &r->layer[l];
        }
    }
    return most;
}

static void not_contained(const cs_mask_rank *r, const char *input, cs_statements *out)
{
    const cs_mask_layer *most = least_contained(r);
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"2.2-containment", CS_PRINTED, CS_RELATION_LESS,
                         "in some layer the row space of H_R does not contain that of H_M: 0 < "
                         "share of ||H_M||_F^2 outside it (directions of H_R with sigma^2 above "
                         "gamma ||H_R||_F^2)",
                         input, 0, most->containment.exact, most->containment.exact_error});
    cs_statement_counterexample(s, "the row space of H_R is all of R^%lld in every layer studied",
                                (long long)r->width);
    const cs_detail detail[] = {{"layer", (double)most->layer},
                                {"rank_of_real_rows", (double)most->containment.rank},
                                {"d", (double)r->width}};
    cs_statement_reals(s, sizeof detail / sizeof *detail, detail);
}

cs_status cs_lemma_21(const cs_model *model, const cs_mask_rank *r, int64_t length,
                      const char *input, cs_statements *out)
{
    cs_status status = premise(model, length, input, out);
    if (status == CS_OK) status = cs_statements_status(out);
    if (status != CS_OK || r->encoder_only) {
        return status; /* there are no [MASK] rows */
    }
    if (r->layers > 1 && (status = rise(r, false, input, out)) == CS_OK) {
        status = rise(r, true, input, out);
    }
    if (status == CS_OK && (status = deficient(r, input, out)) == CS_OK) {
        not_contained(r, input, out);
        status = cs_statements_status(out);
    }
    return status;
}
