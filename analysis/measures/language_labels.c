/* Sums over contexts and pairs of their documents: one document of a pair gives a target, the other
 * a label. */
#include "analysis/measures/language_labels.h"

#include <math.h>
#include <string.h>

#include "analysis/measures/population_numbers.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"

void cs_language_labels_free(cs_language_labels *l)
{
    CS_FREE_FIELDS(l, p_max, alpha, error);
    memset(l, 0, sizeof *l);
}

typedef struct {
    const cs_population_study *s;
    const cs_csr *a;
    const int32_t *label; /* of documents: 0 .. classes - 1 */
    int64_t classes;
    double *scale;    /* 1 / sqrt(P_G) of the current choice */
    double *joint[2]; /* cols x classes, row-major: P(v, c) of two halves */
    double *of_class; /* classes: masses of a context */
    cs_pool pool;
} counting;

static bool is_chosen(const counting *c, unsigned chosen, int64_t row)
{
    const uint8_t part = c->s->part[cs_row_document(&c->s->counts.rows.key[row])];
    return part != CS_LEFT_OUT && (chosen >> part & 1);
}

static int32_t label_of(const counting *c, int64_t row)
{
    return c->label[cs_row_document(&c->s->counts.rows.key[row])];
}

static double mass_of(const cs_csr *a, int64_t row)
{
    return cs_total(a->ptr[row + 1] - a->ptr[row], a->val + a->ptr[row]);
}

/* Masses of a context by class, in all and of pairs of two documents. */
typedef struct {
    double all, pairs;
} context_mass;

static context_mass masses_of(const counting *c, unsigned chosen, int64_t first, int64_t end)
{
    context_mass m = {0};
    memset(c->of_class, 0, (size_t)c->classes * sizeof *c->of_class);
    for (int64_t r = first; r < end; ++r) {
        const double mass = is_chosen(c, chosen, r) ? mass_of(c->a, r) : 0;
        c->of_class[label_of(c, r)] += mass;
        m.pairs += 2 * m.all * mass;
        m.all += mass;
    }
    return m;
}

/* P(v, c) / m of the chosen folds: sum_X (n_X / N) over pairs of documents d, d' of c_d(v) n_d'
 * [label of d' = c], over all pairs. */
static cs_status take_joint(const counting *c, unsigned chosen, double *joint)
{
    const cs_cooc *rows = &c->s->counts.rows;
    double total = 0;
    memset(joint, 0, (size_t)(c->a->cols * c->classes) * sizeof *joint);
    for (int64_t r = 0, end; r < c->a->rows; r = end) {
        end = cs_next_context(rows, r);
        const context_mass m = masses_of(c, chosen, r, end);
        for (int64_t i = r; i < end && m.pairs > 0; ++i) {
            const double own = is_chosen(c, chosen, i) ? mass_of(c->a, i) : 0;
            for (int64_t e = c->a->ptr[i]; e < c->a->ptr[i + 1] && own > 0; ++e) {
                const double w = m.all / m.pairs * c->a->val[e];
                double *to = joint + c->a->col[e] * c->classes;
                for (int64_t q = 0; q < c->classes; ++q) {
                    to[q] += w * (c->of_class[q] - (q == label_of(c, i) ? own : 0));
                }
            }
        }
        total += m.pairs > 0 ? m.all : 0;
    }
    if (total > 0) cs_divide(c->a->cols * c->classes, total, joint);
    return cs_interrupt_check();
}

static cs_status take_alpha(const counting *c, double *out)
{
    cs_status status = CS_OK;
    *out = 1;
    for (int i = 1; i < CS_FOLDS && status == CS_OK; ++i) {
        const unsigned half = cs_half_of_folds(i);
        status = take_joint(c, half, c->joint[0]);
        if (status == CS_OK) status = take_joint(c, CS_ALL_FOLDS & ~half, c->joint[1]);
        for (int64_t v = 0; v < c->a->cols && status == CS_OK; ++v) {
            const double *x = c->joint[0] + v * c->classes, *y = c->joint[1] + v * c->classes;
            for (int64_t q = 0; q < c->classes; ++q) {
                *out -= x[q] * y[q] * c->scale[v] * c->scale[v] / (CS_FOLDS - 1);
            }
        }
    }
    return status;
}

static double p_max_of(const counting *c)
{
    const context_mass all = masses_of(c, CS_ALL_FOLDS, 0, c->a->rows);
    double most = 0;
    for (int64_t q = 0; q < c->classes; ++q) {
        most = fmax(most, c->of_class[q] / all.all);
    }
    return most;
}

/* --- E ---------------------------------------------------------------------------------------- */

/* Of half of the documents: features f_j(X) = sum_v p_X(v) x_j(v) / sigma_j, x_j = v_j / sqrt(P_G),
 * and the classifier sum_j f_j(X) B_jc / sigma_j, B_jc = sum_v x_j(v) P(v, c). */
typedef struct {
    int64_t k;
    double *feature; /* cols x k, row-major: x_j(v) */
    double *weight;  /* k x classes: B_jc / lambda_j, 0 where lambda_j <= 0 */
    double *all, *own, *score;
} classifier;

static cs_status learn(const counting *c, const cs_language_options *o, unsigned half,
                       classifier *out)
{
    const int64_t cols = c->a->cols;
    const cs_signed_gram_options eigen = {.seed = o->seed, .threads = o->threads};
    double seen = 0, *lambda = cs_alloc(out->k, sizeof *lambda);
    CS_AUTO(cs_signed_gram) m = {0};
    CS_AUTO(cs_dense) v = {0};
    cs_status status = lambda ? cs_dense_init(&v, cols, out->k) : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_population_matrix(&c->s->counts, c->s->part, CS_DISTINCT_DOCUMENT, half, &m,
                                      &seen, NULL);
    if (status == CS_OK) status = cs_signed_gram_leading(&m, out->k, &eigen, lambda, &v);
    if (status == CS_OK) status = take_joint(c, half, c->joint[0]);
    memset(out->weight, 0, (size_t)(out->k * c->classes) * sizeof *out->weight);
    for (int64_t i = 0; i < cols && status == CS_OK; ++i) {
        for (int64_t j = 0; j < out->k; ++j) {
            const double x = v.data[i + j * v.ld] * c->scale[i];
            out->feature[i * out->k + j] = x;
            for (int64_t q = 0; q < c->classes && lambda[j] > 0; ++q) {
                out->weight[j * c->classes + q] += x * c->joint[0][i * c->classes + q] / lambda[j];
            }
        }
    }
    cs_free(lambda);
    return status;
}

/* Adds sum_v c(v) x_j(v) of a row to y. */
static void add_features(const counting *c, const classifier *f, int64_t row, double *y)
{
    for (int64_t e = c->a->ptr[row]; e < c->a->ptr[row + 1]; ++e) {
        const double *x = f->feature + c->a->col[e] * f->k;
        for (int64_t j = 0; j < f->k; ++j) {
            y[j] += c->a->val[e] * x[j];
        }
    }
}

/* The guess from `features` and t = 1 .. k of them: wrong[t - 1] += mass where it is; a tie is. */
static void guess(const counting *c, const classifier *f, int32_t label, double mass, double *wrong)
{
    memset(f->score, 0, (size_t)c->classes * sizeof *f->score);
    for (int64_t j = 0; j < f->k; ++j) {
        bool right = true;
        for (int64_t q = 0; q < c->classes; ++q) {
            f->score[q] += (f->all[j] - f->own[j]) * f->weight[j * c->classes + q];
        }
        for (int64_t q = 0; q < c->classes; ++q) {
            right = right && (q == label || f->score[q] < f->score[label]);
        }
        wrong[j] += right ? 0 : mass;
    }
}

/* wrong and mass: by block of the document, k and 1 each. */
static void examine(const counting *c, const classifier *f, unsigned half, int64_t blocks,
                    double *wrong, double *mass)
{
    const cs_cooc *rows = &c->s->counts.rows;
    for (int64_t r = 0, end; r < c->a->rows; r = end) {
        end = cs_next_context(rows, r);
        if (!(masses_of(c, half, r, end).pairs > 0)) {
            continue;
        }
        memset(f->all, 0, (size_t)f->k * sizeof *f->all);
        for (int64_t i = r; i < end; ++i) {
            if (is_chosen(c, half, i)) add_features(c, f, i, f->all);
        }
        for (int64_t i = r; i < end; ++i) {
            if (is_chosen(c, half, i)) {
                const int64_t b = cs_population_block(c->s, cs_row_document(&rows->key[i])),
                              at = blocks > 1 ? b : 0;
                memset(f->own, 0, (size_t)f->k * sizeof *f->own);
                add_features(c, f, i, f->own);
                guess(c, f, label_of(c, i), mass_of(c->a, i), wrong + at * f->k);
                mass[at] += mass_of(c->a, i);
            }
        }
    }
}

/* E of all documents and without the events of each block; the classifiers stay as they are. */
static cs_status take_error(counting *c, const cs_language_options *o, double *out)
{
    const int64_t k = o->k, parts = o->blocks > 1 ? o->blocks : 1;
    CS_AUTO(cs_pool) pool = {0};
    classifier f = {.k = k,
                    .feature = cs_pool_take(&pool, c->a->cols * k, sizeof *f.feature),
                    .weight = cs_pool_take(&pool, k * c->classes, sizeof *f.weight),
                    .all = cs_pool_take(&pool, k, sizeof *f.all),
                    .own = cs_pool_take(&pool, k, sizeof *f.own),
                    .score = cs_pool_take(&pool, c->classes, sizeof *f.score)};
    double *wrong = cs_pool_take(&pool, parts * k, sizeof *wrong);
    double *mass = cs_pool_take(&pool, parts, sizeof *mass);
    cs_status status = pool.status;
    for (int side = 0; side < 2 && status == CS_OK; ++side) {
        const unsigned half = side ? CS_ALL_FOLDS & ~cs_half_of_folds(1) : cs_half_of_folds(1);
        status = learn(c, o, half, &f);
        if (status == CS_OK) examine(c, &f, CS_ALL_FOLDS & ~half, o->blocks, wrong, mass);
    }
    for (int64_t b = -1; b < o->blocks && status == CS_OK; ++b) {
        for (int64_t t = 0; t < k; ++t) {
            double sum = 0, all = 0;
            for (int64_t i = 0; i < parts; ++i) {
                sum += i == b ? 0 : wrong[i * k + t];
                all += i == b ? 0 : mass[i];
            }
            out[(b + 1) * k + t] = all > 0 ? sum / all : (double)NAN;
        }
    }
    return status;
}

/* --- all -------------------------------------------------------------------------------------- */

static cs_status counting_of(const cs_corpus *corpus, const cs_population_study *s, counting *c)
{
    const int64_t cols = s->counts.rows.matrix.a.cols;
    int32_t *label = cs_pool_take(&c->pool, corpus->documents, sizeof *label);
    bool any = false, none = false;
    c->s = s;
    c->a = &s->counts.rows.matrix.a;
    c->classes = corpus->labels;
    for (int64_t d = 0; d < corpus->documents && label; ++d) {
        any = any || corpus->label[d] >= 0;
        none = none || corpus->label[d] < 0;
        label[d] = corpus->label[d] < 0 ? (int32_t)corpus->labels : corpus->label[d];
    }
    if (c->pool.status == CS_OK && !any)
        return cs_fail(CS_ERR_USAGE, "no document has a label, but the theorem is about labels");
    c->label = label;
    c->classes += none;
    c->scale = cs_pool_take(&c->pool, cols, sizeof *c->scale);
    c->of_class = cs_pool_take(&c->pool, c->classes, sizeof *c->of_class);
    for (int i = 0; i < 2; ++i) {
        c->joint[i] = cs_pool_take(&c->pool, cols * c->classes, sizeof *c->joint[i]);
    }
    return c->pool.status;
}

/* P_G of the current choice. */
static cs_status take_scale(counting *c)
{
    CS_AUTO(cs_signed_gram) m = {0};
    double seen = 0;
    cs_status status = cs_population_matrix(&c->s->counts, c->s->part, CS_DISTINCT_DOCUMENT,
                                            CS_ALL_FOLDS, &m, &seen, c->scale);
    return status;
}

cs_status cs_language_labels_of(const cs_corpus *corpus, const cs_cooc_options *build,
                                const cs_language_options *options, cs_language_labels *out)
{
    const cs_population_plan plan = {
        .build = *build, .blocks = options->blocks, .seed = options->seed};
    cs_language_labels l = {.k = options->k, .blocks = options->blocks};
    CS_AUTO(cs_population_study) s = {0};
    counting c = {0};
    cs_status status = cs_population_study_of(corpus, &plan, &s);
    if (status == CS_OK) status = counting_of(corpus, &s, &c);
    l.classes = c.classes;
    if (status == CS_OK) {
        l.p_max = cs_alloc(l.blocks + 1, sizeof *l.p_max);
        l.alpha = cs_alloc(l.blocks + 1, sizeof *l.alpha);
        l.error = cs_alloc((l.blocks + 1) * l.k, sizeof *l.error);
        status = l.p_max && l.alpha && l.error ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t b = l.blocks - 1; b >= -1 && status == CS_OK; --b) {
        cs_population_choose(&s, 0, s.documents, b);
        status = take_scale(&c);
        l.p_max[b + 1] = p_max_of(&c);
        if (status == CS_OK) status = take_alpha(&c, &l.alpha[b + 1]);
        cs_progress_report(options->progress, "blocks left out", l.blocks - b, l.blocks + 1);
    }
    if (status == CS_OK) status = take_error(&c, options, l.error); /* all documents are chosen */
    cs_pool_free(&c.pool);
    return CS_DELIVER(status, out, l, cs_language_labels_free);
}
