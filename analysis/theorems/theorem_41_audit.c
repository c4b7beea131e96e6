/* Theorem 4.1 (LA 4.1.1, A.2): the error of a linear probe on the top t singular features.
 *
 * This file measures: E, its variants, the tails and the numerical error for every t. The
 * statements are drawn from the measurements in theorem_41_bounds.c.
 *
 *   E(t)    mass under P_C of the X on which the P_C-weighted least-squares classifier on U_t is
 *           wrong; ties (scores within CS_41_TIE) are wrong
 *   tail    sum_{j>t} sigma_j^4 = sum sigma^4 - sum_{j<=t} sigma_j^4, so that only the top k
 *           triplets are needed
 *
 * Numerical error of a right side, at first order. A triplet with residual r has
 * ||P u - lambda u|| <= 2 r for P = Abar Abar^T, so replacing the exact subspace by the computed
 * one adds to alpha~ at most 2 ||U^T P (I - U U^T)|| <= 4 ||r||_2, and to 2 (1 + lambda) alpha~
 * four times that; loss of orthogonality ||U^T U - I||_F enters with at most 8. The tie tolerance
 * delta turns the cost 1/2 of a wrong argmax into (1 - delta)^2 / 2, i.e. scales the right side by
 * 1 + 2 delta.
 */
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_41_private.h"
#include "base/auto.h"
#include "base/vector_ops.h"

static const double UNWEIGHTED_LIMIT = 2e9; /* multiply-adds of its Gram-Schmidt */
static const double LEVEL = 0.9973;         /* of the interval of an estimated sum sigma^4 */

void cs_41_curve_free(cs_41_curve *c)
{
    cs_41_labels_free(&c->labels);
    cs_41_rotations_free(&c->rotations);
    cs_pool_free(&c->pool);
    memset(c, 0, sizeof *c);
}

static cs_status arrays(cs_41_curve *c)
{
    double **array[] = {&c->error, &c->worst,       &c->documents, &c->excess,
                        &c->soft,  &c->unweighted,  &c->next,      &c->tail2,
                        &c->tail4, &c->tail4_error, &c->explained, &c->perturbation};
    for (size_t i = 0; i < sizeof array / sizeof *array; ++i) {
        *array[i] = cs_pool_take(&c->pool, c->t_max, sizeof **array[i]);
    }
    return c->pool.status;
}

/* Tails from the end where all sigma are known, else from the moments. */
static cs_status tails(const cs_spectrum *s, cs_41_curve *c)
{
    if (!c->full && isnan(s->moments.sum_sigma4)) {
        return cs_fail(CS_ERR_USAGE,
                       "Theorem 4.1 from the top %lld triplets needs sum sigma^4, but the spectrum "
                       "does not have it",
                       (long long)s->k);
    }
    CS_AUTO_FREE cs_interval *tail = cs_alloc(s->k + 1, sizeof *tail);
    if (!tail) return CS_ERR_MEMORY;
    cs_spectrum_tails(s, LEVEL, tail);
    c->source = c->full                       ? "all singular values"
                : s->moments.sum4.samples > 0 ? "estimated sum sigma^4 less the top t"
                                              : "exact sum sigma^4 less the top t";
    for (int64_t j = 0; j < c->t_max; ++j) {
        const cs_interval *x = &tail[j + 1];
        c->tail4[j] = x->value;
        c->tail4_error[j] = fmax(x->high - x->value, x->value - x->low);
    }
    double after2 = 0, before2 = 0;
    for (int64_t j = s->k - 1; c->full && j >= 0; --j) {
        if (j < c->t_max) {
            c->tail2[j] = after2;
        }
        after2 += s->sigma[j] * s->sigma[j];
    }
    for (int64_t j = 0; !c->full && j < c->t_max; ++j) {
        before2 += s->sigma[j] * s->sigma[j];
        c->tail2[j] = fmax(0, s->moments.sum_sigma2 - before2);
    }
    for (int64_t j = 0; j < c->t_max; ++j) {
        bool known = j + 1 < s->k;
        double bound = fmin(s->sigma[j], pow(c->tail4[j] + c->tail4_error[j], 0.25));
        c->next[j] = known ? s->sigma[j + 1] : c->full ? 0 : bound;
    }
    return CS_OK;
}

/* ||U^T U - I||_F. */
static cs_status orthogonality(const cs_spectrum *s, int64_t t_max, double *out)
{
    CS_AUTO(cs_dense) gram = {0};
    const cs_dense u = {.rows = s->u.rows, .cols = t_max, .ld = s->u.ld, .data = s->u.data};
    cs_status status = cs_dense_init(&gram, t_max, t_max);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &u, &u, 0, &gram);
    double sum = 0;
    for (int64_t j = 0; status == CS_OK && j < t_max; ++j) {
        for (int64_t i = 0; i < t_max; ++i) {
            double x = gram.data[i + j * gram.ld] - (i == j);
            sum += x * x;
        }
    }
    *out = sqrt(sum);
    return status;
}

/* E, E against documents, explained, soft. */
static cs_status weighted(const cs_spectrum *s, const cs_theorem_input *o, cs_41_curve *c)
{
    CS_AUTO(cs_41_fit) hard = {0}, soft = {0};
    double explained = 0, residual2 = 0;
    cs_status status =
        cs_41_fit_init(&c->labels, &c->labels.hard, c->labels.root, o->threads, &hard);
    if (status == CS_OK)
        status = cs_41_fit_init(&c->labels, &c->labels.soft, c->labels.root, o->threads, &soft);
    for (int64_t j = 0; status == CS_OK && j < c->t_max; ++j) {
        const double *u = s->u.data + j * s->u.ld;
        status = cs_41_fit_step(&hard, u);
        if (status == CS_OK && c->labels.noise > 0) status = cs_41_fit_step(&soft, u);
        for (int64_t q = 0; q < c->labels.classes; ++q) {
            explained += s->sigma[j] * s->sigma[j] * hard.coefficient[q] * hard.coefficient[q];
        }
        residual2 += s->residual[j] * s->residual[j];
        c->error[j] = c->worst[j] = hard.error;
        c->documents[j] = hard.documents;
        c->excess[j] = hard.excess;
        c->soft[j] = c->labels.noise > 0 ? soft.documents : hard.error;
        c->explained[j] = explained;
        c->perturbation[j] = 16 * sqrt(residual2) + 8 * c->defect;
        cs_progress_report(o->progress, "features added", j + 1, c->t_max);
    }
    return status;
}

/* q := the column made orthogonal to those before (twice: Kahan's "twice is enough") and scaled;
 * false when nothing is left. */
static bool orthogonalise(cs_dense *q, int64_t column)
{
    double *x = q->data + column * q->ld, before = cs_inner(q->rows, x, x);
    for (int pass = 0; pass < 2; ++pass) {
        for (int64_t j = 0; j < column; ++j) {
            const double *y = q->data + j * q->ld;
            cs_add_multiple(q->rows, -cs_inner(q->rows, x, y), y, x);
        }
    }
    const double after = cs_inner(q->rows, x, x);
    bool left = after > 1e-24 * before;
    double scale = left ? 1 / sqrt(after) : 0;
    for (int64_t i = 0; i < q->rows; ++i) {
        x[i] *= scale;
    }
    return left;
}

/* E of the classifier that weighs every context alike. */
static cs_status unweighted(const cs_spectrum *s, const cs_theorem_input *o, cs_41_curve *c)
{
    const cs_41_labels *l = &c->labels;
    double cost = 4 * (double)l->rows * (double)c->t_max * (double)c->t_max;
    if (cost > UNWEIGHTED_LIMIT) {
        c->unweighted = NULL;
        return CS_OK;
    }
    CS_AUTO(cs_41_fit) fit = {0};
    CS_AUTO(cs_pool) pool = {0};
    cs_dense q = cs_dense_in(&pool, l->rows, c->t_max);
    double *ones = cs_pool_take(&pool, l->rows, sizeof *ones);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_41_fit_init(l, &l->hard, ones, o->threads, &fit);
    if (status == CS_OK) cs_fill(l->rows, 1, ones);
    for (int64_t j = 0; status == CS_OK && j < c->t_max; ++j) {
        double *x = q.data + j * q.ld;
        for (int64_t i = 0; i < l->rows; ++i) {
            x[i] = l->mass[i] > 0 ? s->u.data[i + j * s->u.ld] / l->root[i] : 0;
        }
        if (orthogonalise(&q, j)) {
            status = cs_41_fit_step(&fit, x);
        }
        c->unweighted[j] = fit.error;
    }
    return status;
}

cs_status cs_41_curve_of(const cs_labelled *m, const cs_spectrum *spectrum,
                         const cs_theorem_input *options, cs_41_curve *out)
{
    cs_41_curve c = {0};
    cs_status status = cs_41_labels_of(m, spectrum, &c.labels);
    if (status != CS_OK) return status;
    c.t_max = spectrum->k;
    if (options->triplets > 0 && options->triplets < c.t_max) {
        c.t_max = options->triplets;
    }
    c.full = spectrum->rank >= 0 && spectrum->rank == spectrum->k;
    status = arrays(&c);
    if (status == CS_OK) status = tails(spectrum, &c);
    if (status == CS_OK) status = orthogonality(spectrum, c.t_max, &c.defect);
    if (status == CS_OK) status = weighted(spectrum, options, &c);
    if (status == CS_OK) status = unweighted(spectrum, options, &c);
    if (status == CS_OK)
        status = cs_41_rotations_of(m, &c.labels, spectrum, c.t_max, options, &c.rotations);
    for (int64_t t = 0; status == CS_OK && t < c.t_max; ++t) {
        c.worst[t] = fmax(c.error[t], c.rotations.worst[t]); /* fmax passes over NaN */
    }
    return CS_DELIVER(status, out, c, cs_41_curve_free);
}

cs_status cs_theorem_41(const cs_labelled *m, const cs_spectrum *spectrum, const char *input,
                        const cs_theorem_input *options, cs_statements *out, cs_item *curve)
{
    CS_AUTO(cs_41_curve) c = {0};
    cs_status status = cs_41_curve_of(m, spectrum, options, &c);
    if (status == CS_OK) cs_41_statements(&c, spectrum, input, out, curve);
    return status == CS_OK ? cs_statements_status(out) : status;
}

/* --- the toy model, and an example --------------------------------------------------------------
 */

/* From which t on the probe is perfect on the toy model.
 *
 *   E(t) = 0 for every rotation  iff  t >= r (s-1)  for AR without an empty prefix
 *                                iff  t >= r        for a mask with s rho > 1
 *
 * Measured: the least t0 such that E = 0 for the returned vectors and all rotations tried, the
 * component basis among them, at every t >= t0. Below the number of components that basis leaves
 * one without a feature, so t0 cannot be overlooked.
 */
static cs_status perfect_from(const cs_toy *toy, const cs_41_curve *c, const char *input,
                              cs_statements *out)
{
    /* One class is never mistaken for another. */
    const bool plain = !toy->literal && !toy->given && toy->classes > 1;
    const bool ar =
        toy->objective.kind == CS_OBJ_AR && toy->objective.empty_prefix == CS_PREFIX_NONE;
    int64_t low = 0, high = 0;
    cs_status status = CS_OK;
    if (toy->objective.kind == CS_OBJ_MASKED) {
        status = cs_objective_unmasked(&toy->objective, toy->length, &low, &high);
    }
    const bool mask = high > 0 && toy->length - high > 1;
    if (status != CS_OK || !plain || !(ar || mask) || c->t_max < toy->classes) return status;
    int64_t from = c->t_max + 1;
    while (from > 1 && c->worst[from - 2] == 0) {
        --from;
    }
    double claimed = (double)toy->classes * (ar ? (double)(toy->length - 1) : 1);
    cs_statement *s = cs_statements_claim(
        out, &(cs_claim){"4.1-perfect", CS_CORRECTED, CS_RELATION_EQUAL,
                         ar ? "E(t) = 0 for every rotation iff t >= r (s-1) (AR)"
                            : "E(t) = 0 for every rotation iff t >= r (mask with s rho > 1)",
                         input, (double)from, claimed, 0});
    cs_statement_int(s, "rotations", c->rotations.rotations);
    cs_statement_counterexample(s, "E = 0 from t = %lld on", (long long)from);
    return CS_OK;
}

cs_status cs_theorem_41_toy(const cs_toy *toy, int64_t limit, const cs_theorem_input *options,
                            cs_statements *out, cs_item *rows)
{
    CS_AUTO(cs_labelled) m = {0};
    CS_AUTO(cs_spectrum) spectrum = {0};
    CS_AUTO(cs_41_curve) c = {0};
    cs_spectrum_options so = {
        .seed = options->seed, .threads = options->threads, .progress = options->progress};
    if (options->spectrum) {
        so = *options->spectrum;
    }
    so.k = 0; /* every t */
    so.normalised = so.values_only = false;
    so.moment4 = true; /* for the tail, should the solver stop early */
    CS_AUTO_FREE char *input = cs_toy_describe(toy);
    cs_status status = input ? cs_toy_matrix(toy, limit, &m) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_spectrum_of(&m.a, &so, &spectrum);
    if (status == CS_OK) status = cs_41_curve_of(&m, &spectrum, options, &c);
    if (status == CS_OK) cs_41_statements(&c, &spectrum, input, out, rows);
    if (status == CS_OK && c.full && c.t_max == spectrum.k)
        status = perfect_from(toy, &c, input, out);
    return status == CS_OK ? cs_statements_status(out) : status;
}

/* Why the least squares must weigh a context by P_C.
 *
 *   A = (98  0)   y = 0        contexts of one column share their features; P_C, of 200:
 *       ( 1  0)       1        98, 1, 1 and 100
 *       ( 1  0)       1
 *       ( 0 100)      1
 *
 * Two components, sigma_1 = sigma_2 = 1, so U_2 separates the columns and nothing else: t = 2, tail 0,
 * sigma_3 = 0. In the first column class 0 has the mass and class 1 the contexts. Weighed alike the
 * guess there is 1, E = 98/200; weighed by P_C it is 0, E = 2/200.
 * alpha~ = (100/200) (1 - 0.98^2 - 0.02^2) = 0.0196 and the bound is 2 alpha~ = 0.0392 in both
 * cases.
 */
cs_status cs_theorem_41_unweighted(const cs_theorem_input *options, cs_statements *out)
{
    static const double mass[] = {98, 1, 1, 100};
    static const int32_t column[] = {0, 0, 0, 1}, label[] = {0, 1, 1, 1};
    enum { ROWS = sizeof mass / sizeof *mass, CLASSES = 2 };
    CS_AUTO(cs_labelled) m = {.labels = CLASSES};
    CS_AUTO(cs_spectrum) spectrum = {0};
    CS_AUTO(cs_41_curve) c = {0};
    cs_theorem_input o = *options;
    o.triplets = 0;
    const cs_spectrum_options so = {.seed = o.seed, .threads = o.threads};
    cs_status status = cs_csr_init(&m.a, ROWS, CLASSES, ROWS);
    if (status == CS_OK) status = cs_csr_init(&m.row_label, ROWS, CLASSES, ROWS);
    for (int i = 0; status == CS_OK && i < ROWS; ++i) {
        m.a.col[i] = column[i];
        m.row_label.col[i] = label[i];
        m.a.val[i] = m.row_label.val[i] = mass[i];
        m.a.ptr[i + 1] = m.row_label.ptr[i + 1] = i + 1;
    }
    if (status == CS_OK) status = cs_spectrum_of(&m.a, &so, &spectrum);
    if (status == CS_OK) status = cs_41_curve_of(&m, &spectrum, &o, &c);
    const int64_t first = out->count;
    if (status == CS_OK) {
        cs_41_weighting(&c, &spectrum, "example: A = (98 0; 1 0; 1 0; 0 100), labels 0, 1, 1, 1",
                        out);
        cs_statements_mark(out, first);
        status = cs_statements_status(out);
    }
    return status;
}

static cs_status on_toy(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_41_toy(in->toy, CS_THEOREM_TOY_ENTRIES, in, &report->statements,
                             report->rows);
}

static cs_status on_matrix(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_41(in->matrix, in->leading, in->name, in, &report->statements, report->rows);
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    return cs_theorem_41_unweighted(in, &report->statements);
}

const cs_theorem cs_entry_41 = {
    .id = "4.1",
    .about = "Theorem 4.1 is about a matrix with labels",
    .paper = "LA",
    .printed_words = "spectrum and label noise bound the probe error",
    .corrected_words = "the same bound, with its constants given",
    .printed = "E <= c_1 sum_{j>t} sigma_j^4 + c_2 alpha, c_1 and c_2 not given",
    .corrected = "E <= 2 p_max sum_{j>t} sigma_j^4 + 2 (1 + sigma_{t+1}^2) alpha~",
    .labels = true,
    .run = {[CS_ON_TOY] = on_toy,
            [CS_ON_MATRIX] = on_matrix,
            [CS_ON_LANGUAGE] = cs_theorem_41_language,
            [CS_ON_NOTHING] = on_nothing},
    .file = "theorem41_curve.csv",
    .key = "~theorem41",
    .view = {"~theorem41[]",
             "input t sigma sigma_next tail_sigma4 tail_error error error_rotation_mean "
             "error_rotation_worst bound_sharp bound_alpha_tilde bound_alpha bound_gap trivial "
             "alpha alpha_tilde p_max error_documents bound_documents error_soft bound_soft "
             "label_noise error_unweighted"}};
