/* Theorem 2.2's contraction on the attention heads of a model, one head and one piece of text at a
 * time: its weights as they are, its inputs as the attention reads them.
 *
 * The product of two d x w matrices, w the head's width, has the 2-norm of a w x w problem: ||A
 * B^T||_2^2 = lambda_max(C^T (A^T A) C), C C^T = B^T B. */
#include <math.h>
#include <string.h>

#include <cblas.h>

#include "analysis/theorems/theorem_22.h"
#include "base/auto.h"
#include "base/threads.h"
#include "io/json.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

enum { DEFAULT_PIECES = 4, FEWEST_REAL = 2 };

/* The rows of a piece in every layer that feeds an attention. */
typedef struct {
    int64_t real, mask;
    float *state; /* layers x (real + mask) x d, real ones first */
} piece;

typedef struct {
    cs_pool pool;
    cs_model *model;
    int64_t layers, width, heads, pieces, capacity;
    piece *piece;
    /* one layer under way */
    int64_t layer;
    double *qkv, *bias, *output; /* 3d x d, 3d, d x d: as stored, rows = outputs */
    cs_dense *real, *u;          /* a piece: its H_R and U */
    double *gap;                 /* a piece: ||H_M - U H_R||_F / ||H_M||_F */
    cs_22_sides *sides;          /* heads x pieces */
} study;

/* --- states -------------------------------------------------------------------------------------
 */

static bool is_mask(const cs_hidden_row *a, int32_t mask_id)
{
    return a->masked && a->shown == mask_id;
}

static cs_status take_piece(study *s, const cs_hidden_block *b, int64_t first, int64_t end)
{
    const int64_t d = s->width, rows = end - first;
    const int32_t mask_id = s->model->config.ids.mask;
    int64_t masks = 0;
    for (int64_t i = first; i < end; ++i) {
        masks += is_mask(&b->about[i], mask_id);
    }
    if (s->pieces == s->capacity || masks < 1 || rows - masks < FEWEST_REAL) {
        return CS_OK;
    }
    piece *p = &s->piece[s->pieces];
    *p = (piece){rows - masks, masks, cs_pool_take(&s->pool, s->layers * rows * d, sizeof(float))};
    if (!p->state) return CS_ERR_MEMORY;
    ++s->pieces;
    for (int64_t l = 0; l < s->layers; ++l) {
        int64_t real = 0, mask = p->real;
        for (int64_t i = first; i < end; ++i) {
            int64_t to = is_mask(&b->about[i], mask_id) ? mask++ : real++;
            memcpy(p->state + (l * rows + to) * d, b->state[l] + i * d, (size_t)d * sizeof(float));
        }
    }
    return CS_OK;
}

static cs_status take_block(void *ctx, const cs_hidden_block *b)
{
    cs_status status = CS_OK;
    int64_t first = 0;
    for (int64_t i = 1; i <= b->rows && status == CS_OK; ++i) {
        if (i == b->rows || b->about[i].document != b->about[first].document ||
            b->about[i].piece != b->about[first].piece) {
            status = take_piece(ctx, b, first, i);
            first = i;
        }
    }
    return status;
}

/* The first documents that have the tokens, one piece each. */
static cs_status collect(study *s, const cs_corpus *corpus, const cs_hidden_options *hidden)
{
    cs_hidden_options o = *hidden;
    CS_AUTO_FREE uint8_t *keep = cs_calloc(corpus->documents, 1);
    CS_AUTO_FREE int64_t *layer = cs_alloc(s->layers, sizeof *layer);
    int64_t found = 0;
    cs_status status = keep && layer ? CS_OK : CS_ERR_MEMORY;
    for (int64_t d = 0; d < corpus->documents && status == CS_OK && found < s->capacity; ++d) {
        int64_t tokens = corpus->doc_ptr[d + 1] - corpus->doc_ptr[d];
        keep[d] = (!hidden->keep || hidden->keep[d]) && tokens > FEWEST_REAL;
        found += keep[d];
    }
    for (int64_t l = 0; l < s->layers && status == CS_OK; ++l) {
        layer[l] = l;
    }
    o.layer = layer;
    o.layers = s->layers;
    o.keep = keep;
    o.split = o.drop_masked = false;
    o.pooling = CS_POOL_NONE;
    o.progress = NULL;
    if (status == CS_OK && found > 0)
        status = cs_hidden_states(s->model, corpus, &o, take_block, s);
    return status;
}

/* --- weights ------------------------------------------------------------------------------------
 */

/* A parameter of the layer, or zeros where the model has none. */
static cs_status parameter(const study *s, const char *name, int64_t items, double *out)
{
    CS_AUTO_FREE char *full = cs_format("layer.%lld.%s", (long long)s->layer, name);
    if (!full) return CS_ERR_MEMORY;
    int64_t number = cs_params_find(&s->model->params, full);
    memset(out, 0, (size_t)items * sizeof *out);
    return number < 0 ? CS_OK : cs_params_get64(&s->model->params, number, CS_PARAM_VALUE, out);
}

/* The norm that the attention reads through, of row-major rows. */
static cs_status norm_rows(const study *s, int64_t rows, double *x)
{
    const int64_t d = s->width;
    CS_AUTO_FREE double *gain = cs_alloc(2 * d, sizeof *gain);
    cs_status status = gain ? parameter(s, "attention.norm.gain", d, gain) : CS_ERR_MEMORY;
    if (status == CS_OK) status = parameter(s, "attention.norm.bias", d, gain + d);
    for (int64_t i = 0; i < rows && status == CS_OK; ++i) {
        double mean = 0, square = 0, *row = x + i * d;
        for (int64_t j = 0; j < d; ++j) {
            mean += row[j] / (double)d;
        }
        for (int64_t j = 0; j < d; ++j) {
            square += (row[j] - mean) * (row[j] - mean) / (double)d;
        }
        double scale = 1 / sqrt(square + s->model->config.layer.eps);
        for (int64_t j = 0; j < d; ++j) {
            row[j] = (row[j] - mean) * scale * gain[j] + gain[d + j];
        }
    }
    return status;
}

/* U of the header: n x d real rows r, m x d [MASK] rows. The pseudo-inverse leaves singular values
 * below 1e-7 of the largest out: the states are floats. */
static cs_status combine(const cs_dense *h, const cs_dense *mask, cs_dense *u, double *gap)
{
    const int64_t n = h->rows, d = h->cols, m = mask->rows, q = n < d ? n : d;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense r = cs_dense_in(&pool, n, d), rest = cs_dense_in(&pool, m, d);
    cs_dense left = cs_dense_in(&pool, n, q), right = cs_dense_in(&pool, q, d);
    cs_dense c = cs_dense_in(&pool, m, d), t = cs_dense_in(&pool, m, q);
    double *sigma = cs_pool_take(&pool, q, sizeof *sigma);
    double *mean = cs_pool_take(&pool, d, sizeof *mean);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_init(u, m, n);
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < d; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            mean[j] += h->data[i + j * h->ld] / (double)n;
        }
        for (int64_t i = 0; i < n; ++i) {
            r.data[i + j * n] = h->data[i + j * h->ld] - mean[j];
        }
        for (int64_t i = 0; i < m; ++i) {
            rest.data[i + j * rest.ld] = mask->data[i + j * mask->ld];
            c.data[i + j * c.ld] = mask->data[i + j * mask->ld] - mean[j];
        }
    }
    if ((status = cs_dense_svd(&r, sigma, &left, &right)) != CS_OK ||
        (status = cs_gemm(false, true, 1, &c, &right, 0, &t)) != CS_OK) {
        return status;
    }
    for (int64_t k = 0; k < q; ++k) {
        bool in = sigma[k] > 1e-7 * sigma[0];
        for (int64_t i = 0; i < m; ++i) {
            t.data[i + k * t.ld] = in ? t.data[i + k * t.ld] / sigma[k] : 0;
        }
    }
    if ((status = cs_gemm(false, true, 1, &t, &left, 0, u)) != CS_OK) return status;
    for (int64_t k = 0; k < m * n; ++k) {
        u->data[k % m + k / m * u->ld] += 1 / (double)n;
    }
    if ((status = cs_gemm(false, false, -1, u, h, 1, &rest)) == CS_OK) {
        double off = cblas_dnrm2((int)(m * d), rest.data, 1);
        *gap = off / cblas_dnrm2((int)(m * d), mask->data, 1);
    }
    return status;
}

/* H_R and U of every piece at this layer. */
static cs_status prepare(study *s)
{
    const int64_t d = s->width;
    cs_status status = CS_OK;
    for (int64_t k = 0; k < s->pieces && status == CS_OK; ++k) {
        const piece *p = &s->piece[k];
        const int64_t rows = p->real + p->mask;
        CS_AUTO(cs_pool) pool = {0};
        double *x = cs_pool_take(&pool, rows * d, sizeof *x);
        cs_dense mask = cs_dense_in(&pool, p->mask, d);
        cs_dense_free(&s->real[k]);
        cs_dense_free(&s->u[k]);
        status = pool.status;
        if (status == CS_OK) status = cs_dense_init(&s->real[k], p->real, d);
        for (int64_t i = 0; i < rows * d && status == CS_OK; ++i) {
            x[i] = (double)p->state[s->layer * rows * d + i];
        }
        if (status == CS_OK && !s->model->config.layer.post_norm) status = norm_rows(s, rows, x);
        for (int64_t i = 0; i < rows * d && status == CS_OK; ++i) {
            int64_t row = i / d, j = i % d;
            if (row < p->real) {
                s->real[k].data[row + j * p->real] = x[i];
            } else {
                mask.data[row - p->real + j * p->mask] = x[i];
            }
        }
        if (status == CS_OK) status = combine(&s->real[k], &mask, &s->u[k], &s->gap[k]);
    }
    return status;
}

/* ||A B^T||_2, A and B d x w. */
static cs_status product_norm(const cs_dense *a, const cs_dense *b, double *out)
{
    const int64_t w = a->cols;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense ga = cs_dense_in(&pool, w, w), gb = cs_dense_in(&pool, w, w);
    cs_dense t = cs_dense_in(&pool, w, w), m = cs_dense_in(&pool, w, w);
    double *value = cs_pool_take(&pool, w, sizeof *value);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_gemm(true, false, 1, a, a, 0, &ga);
    if (status == CS_OK) status = cs_gemm(true, false, 1, b, b, 0, &gb);
    if (status == CS_OK) status = cs_dense_eigh(&gb, value, false);
    for (int64_t k = 0; k < w * w && status == CS_OK; ++k) { /* C = V sqrt(lambda) */
        gb.data[k] *= sqrt(fmax(value[k / w], 0));
    }
    if (status == CS_OK) status = cs_gemm(false, false, 1, &ga, &gb, 0, &t);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &gb, &t, 0, &m);
    if (status == CS_OK) status = cs_dense_eigh(&m, value, true);
    if (status == CS_OK) *out = sqrt(fmax(value[w - 1], 0));
    return status;
}

/* A head: d x w factors with W^QK = Q K^T, W^VO = V O^T, and K b_Q. */
typedef struct {
    cs_pool pool;
    cs_dense q, k, v, o, wqk, wvo;
    double *key, norm_qk, norm_vo;
} head;

static cs_status head_of(const study *s, int64_t number, head *h)
{
    const int64_t d = s->width, w = d / s->heads, first = number * w;
    const double scale = 1 / sqrt((double)w);
    cs_dense *all[] = {&h->q, &h->k, &h->v, &h->o, &h->wqk, &h->wvo};
    for (int i = 0; i < 6; ++i) {
        *all[i] = cs_dense_in(&h->pool, d, i < 4 ? w : d);
    }
    h->key = cs_pool_take(&h->pool, d, sizeof *h->key);
    cs_status status = h->pool.status;
    for (int64_t r = 0; r < w && status == CS_OK; ++r) {
        for (int64_t c = 0; c < d; ++c) {
            h->q.data[c + r * d] = scale * s->qkv[(first + r) * d + c];
            h->k.data[c + r * d] = s->qkv[(d + first + r) * d + c];
            h->v.data[c + r * d] = s->qkv[(2 * d + first + r) * d + c];
            h->o.data[c + r * d] = s->output[c * d + first + r];
            h->key[c] += scale * s->bias[first + r] * h->k.data[c + r * d];
        }
    }
    if (status == CS_OK) status = cs_gemm(false, true, 1, &h->q, &h->k, 0, &h->wqk);
    if (status == CS_OK) status = cs_gemm(false, true, 1, &h->v, &h->o, 0, &h->wvo);
    if (status == CS_OK) status = product_norm(&h->q, &h->k, &h->norm_qk);
    return status == CS_OK ? product_norm(&h->v, &h->o, &h->norm_vo) : status;
}

static cs_status solve_head(void *ctx, int64_t number)
{
    study *s = ctx;
    head h = {0};
    cs_status status = head_of(s, number, &h);
    for (int64_t k = 0; k < s->pieces && status == CS_OK; ++k) {
        const cs_22_layer layer = {.h = &s->real[k],
                                   .u = &s->u[k],
                                   .wqk = &h.wqk,
                                   .wvo = &h.wvo,
                                   .key = h.key,
                                   .norm_qk = h.norm_qk,
                                   .norm_vo = h.norm_vo};
        status = cs_22_evaluate(&layer, &s->sides[number * s->pieces + k]);
    }
    cs_pool_free(&h.pool);
    return status;
}

/* --- statements ---------------------------------------------------------------------------------
 */

static cs_status report(const study *s, const char *input, cs_statements *out)
{
    static const cs_22_bound bound[] = {CS_22_TIGHT, CS_22_PRINTED};
    CS_AUTO_FREE char *where = cs_format("%s, heads of layer %lld", input, (long long)s->layer + 1);
    cs_status status = where ? CS_OK : CS_ERR_MEMORY;
    for (int b = 0; b < 2 && status == CS_OK; ++b) {
        int64_t worst = 0;
        status = cs_22_bounds(s->sides, s->heads * s->pieces, bound[b], where, &worst, out);
        if (status == CS_OK) {
            cs_statement *last = &out->item[out->count - 1];
            double gap = s->gap[worst % s->pieces];
            cs_statement_assume(last,
                                "H_M = U H_R on this piece (value: ||H_M - U H_R||_F / ||H_M||_F; "
                                "evaluated on U H_R)",
                                gap < 1e-6, gap);
            cs_statement_int(last, "head", worst / s->pieces);
            cs_statement_int(last, "piece", worst % s->pieces);
            status = cs_statements_status(out);
        }
    }
    return status;
}

static cs_status solve_layers(study *s, const char *input, int threads, cs_statements *out)
{
    const int64_t d = s->width;
    cs_status status = CS_OK;
    for (s->layer = 0; s->layer < s->layers && status == CS_OK; ++s->layer) {
        if ((status = parameter(s, "attention.qkv.weight", 3 * d * d, s->qkv)) == CS_OK &&
            (status = parameter(s, "attention.qkv.bias", 3 * d, s->bias)) == CS_OK &&
            (status = parameter(s, "attention.output.weight", d * d, s->output)) == CS_OK &&
            (status = prepare(s)) == CS_OK &&
            (status = cs_parallel(s->heads, threads, solve_head, s)) == CS_OK) {
            status = report(s, input, out);
        }
    }
    return status;
}

cs_status cs_theorem_22_model(cs_model *model, const cs_corpus *corpus, const char *input,
                              const cs_22_model_options *options, cs_statements *out, bool *done)
{
    const cs_model_config *c = &model->config;
    const int64_t d = c->shape.width,
                  capacity = options->pieces > 0 ? options->pieces : DEFAULT_PIECES;
    *done = false;
    if (c->position.relative_buckets > 0) {
        return CS_OK;
    }
    study s = {.model = model,
               .layers = c->shape.layers,
               .width = d,
               .heads = c->shape.heads,
               .capacity = capacity};
    CS_POOL_FIELDS(&s.pool, capacity, &s, piece, real, u, gap);
    s.sides = cs_pool_take(&s.pool, capacity * s.heads, sizeof *s.sides);
    s.qkv = cs_pool_take(&s.pool, 3 * d * d, sizeof *s.qkv);
    s.bias = cs_pool_take(&s.pool, 3 * d, sizeof *s.bias);
    s.output = cs_pool_take(&s.pool, d * d, sizeof *s.output);
    cs_status status = s.pool.status;
    const bool ok = status == CS_OK;
    if (ok) status = collect(&s, corpus, options->hidden);
    cs_threads_blas_hold(true); /* heads run in parallel */
    if (status == CS_OK && s.pieces > 0) {
        status = solve_layers(&s, input, options->threads, out);
        *done = status == CS_OK;
    }
    cs_threads_blas_hold(false);
    for (int64_t k = 0; k < capacity && ok; ++k) {
        cs_dense_free(&s.real[k]);
        cs_dense_free(&s.u[k]);
    }
    cs_pool_free(&s.pool);
    return status;
}

/* --- Lemma 2.1 ---------------------------------------------------------------------------------- */

/* Lemma 2.1 and Theorem 2.2 of MAE-LM on measured states: what they state about ranks, and the
 * premise of the lemma's proof on the model's own tables. Both are about exact ranks of large float
 * matrices; numerical ones, with their tolerance, are used in their place, in addition to the
 * effective ranks that the paper plots. */

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
