/* The printed proof of Theorem 4.2 (LA A.3), line by line: sizes, entries, blocks, Lemma A.3.
 *
 * Each printed value is set against every entry, row or block of the enumerated matrix that it
 * concerns; the sides are those that differ most, relative to their size. Where the toy model is
 * too large to be enumerated a small one is used, and the statement's input says so.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/theorems/theorem_42_private.h"
#include "base/auto.h"
#include "base/ints.h"
#include "base/vector_ops.h"
#include "cooc/reduce.h"
#include "cooc/spectrum.h"
#include "linalg/dense.h"

/* An enumerated matrix, normalised, and the parameters as doubles. */
typedef struct {
    cs_labelled m;
    cs_csr abar;
    char *input;
    double r, s, t, u; /* classes, length, tokens, unmasked */
    double entry;      /* relative rounding of one entry of A or Abar */
} enumerated;

static double binomial(double n, double k)
{
    double c = 1;
    for (int64_t i = 1; i <= (int64_t)k; ++i) {
        c = c * (n - k + (double)i) / (double)i;
    }
    return round(c);
}

static void enumerated_free(enumerated *e)
{
    cs_labelled_free(&e->m);
    cs_csr_free(&e->abar);
    cs_free(e->input);
    memset(e, 0, sizeof *e);
}

static cs_status enumerate(const cs_toy *toy, int64_t unmasked, enumerated *out)
{
    *out = (enumerated){.r = (double)toy->classes,
                        .s = (double)toy->length,
                        .t = (double)toy->tokens,
                        .u = (double)unmasked};
    out->input = cs_toy_describe(toy);
    cs_status status = out->input ? cs_toy_matrix(toy, 0, &out->m) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_normalise(&out->m.a, &out->abar, NULL, NULL);
    if (status != CS_OK) {
        enumerated_free(out);
        return status;
    }
    out->entry = DBL_EPSILON * (16 + (double)out->m.a.rows + (double)out->m.a.cols);
    return CS_OK;
}

/* The values found at places where the proof claims one value. */
typedef struct {
    double low, high;
} range;

static const range NOTHING = {INFINITY, -INFINITY};

static void widen(range *r, double x)
{
    r->low = fmin(r->low, x);
    r->high = fmax(r->high, x);
}

static double deviation(double measured, double claimed)
{
    double size = fmax(fabs(measured), fabs(claimed));
    return size > 0 ? fabs(measured - claimed) / size : 0;
}

/* The end of the range that lies farther from what is claimed. */
static double farthest(range r, double claimed)
{
    return deviation(r.low, claimed) > deviation(r.high, claimed) ? r.low : r.high;
}

/* A's entries are probabilities whatever its scale. */
static double mass_of(const cs_csr *a)
{
    return cs_total(cs_csr_nnz(a), a->val);
}

typedef struct {
    double measured, claimed;
} sides;

/* One line of the proof; without an id it says nothing here. */
typedef struct {
    const char *id;
    cs_statement_form form;
    const char *text;
    sides at;
} line;

static void state(const enumerated *e, size_t count, const line *l, cs_statements *out)
{
    for (size_t i = 0; i < count; ++i) {
        const double measured = l[i].at.measured, claimed = l[i].at.claimed;
        const double error = isnan(claimed) ? 0 : e->entry * (fabs(measured) + fabs(claimed));
        if (l[i].id) {
            cs_statements_claim(out, &(cs_claim){l[i].id, l[i].form, CS_RELATION_EQUAL, l[i].text,
                                                 e->input, measured, claimed, error});
        }
    }
}

static sides against(range found, double claimed)
{
    return (sides){farthest(found, claimed), claimed};
}

/* The ranges of the blocks of the AR matrix, index i - 1 for prefixes of i tokens. */
typedef struct {
    cs_pool pool;
    int64_t lengths; /* s - 1 */
    double blocks;   /* number of components */
    range *rows, *cols, *entry, *normalised;
} block_ranges;

static void block_ranges_free(block_ranges *b)
{
    cs_pool_free(&b->pool);
}

typedef struct {
    int64_t rows, component;
} sized;

CS_RISING(by_rows, sized, rows, component)

/* i of each component: a longer prefix has no fewer texts, and each length has one block a class.
 */
static void prefix_lengths(const cs_components *c, int64_t classes, int64_t lengths, sized *order,
                           int64_t *length)
{
    for (int64_t i = 0; i < c->count; ++i) {
        order[i] = (sized){c->rows[i], i};
    }
    qsort(order, (size_t)c->count, sizeof *order, by_rows);
    for (int64_t i = 0; i < c->count; ++i) {
        int64_t q = i / classes;
        length[order[i].component] = q < lengths ? q : lengths - 1;
    }
}

static cs_status blocks_of(const enumerated *e, block_ranges *b)
{
    const cs_csr *a = &e->m.a;
    const double mass = mass_of(a);
    CS_AUTO(cs_components) c = {0};
    range **array[] = {&b->rows, &b->cols, &b->entry, &b->normalised};
    cs_status status = cs_components_of(a, &c);
    if (status != CS_OK) return status;
    b->lengths = (int64_t)e->s - 1;
    b->blocks = (double)c.count;
    for (size_t k = 0; k < sizeof array / sizeof *array; ++k) {
        *array[k] = cs_pool_take(&b->pool, b->lengths, sizeof **array[k]);
        for (int64_t i = 0; *array[k] && i < b->lengths; ++i) {
            (*array[k])[i] = NOTHING;
        }
    }
    sized *order = cs_pool_take(&b->pool, c.count, sizeof *order);
    int64_t *length = cs_pool_take(&b->pool, c.count, sizeof *length);
    status = b->pool.status;
    if (status == CS_OK) prefix_lengths(&c, (int64_t)e->r, b->lengths, order, length);
    for (int64_t i = 0; status == CS_OK && i < c.count; ++i) {
        widen(&b->rows[length[i]], (double)c.rows[i]);
        widen(&b->cols[length[i]], (double)c.cols[i]);
    }
    for (int64_t i = 0; status == CS_OK && i < a->rows; ++i) {
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; ++k) {
            widen(&b->entry[length[c.row[i]]], a->val[k] / mass);
            widen(&b->normalised[length[c.row[i]]], e->abar.val[k]);
        }
    }
    return status;
}

/* Where scale T^(exponent (i + plus)) is missed most, over i = 1..s-1. */
static sides worst_power(const block_ranges *b, const range *found, double scale, double t,
                         double exponent, double plus)
{
    sides worst = {NAN, NAN};
    for (int64_t i = 0; i < b->lengths; ++i) {
        const double claimed = scale * pow(t, exponent * ((double)i + 1 + plus));
        const double measured = farthest(found[i], claimed);
        if (i == 0 || deviation(measured, claimed) > deviation(worst.measured, worst.claimed)) {
            worst = (sides){measured, claimed};
        }
    }
    return worst;
}

static double geometric(double t, double s) /* T + T^2 + ... + T^(s-1) */
{
    double sum = 0;
    for (int64_t i = 1; i < (int64_t)s; ++i) {
        sum += pow(t, (double)i);
    }
    return sum;
}

static cs_status autoregressive(const cs_toy *toy, cs_statements *out)
{
    cs_toy ar = cs_toy_with(toy, CS_OBJ_AR, CS_PREFIX_NONE);
    CS_AUTO(enumerated) e = {0};
    CS_AUTO(block_ranges) b = {0};
    cs_status status = enumerate(&ar, 0, &e);
    if (status == CS_OK) status = blocks_of(&e, &b);
    if (status != CS_OK) return status;
    const double r = e.r, s = e.s, t = e.t;
    const double rows = (double)e.m.a.rows, cols = (double)e.m.a.cols;
    const line lines[] = {
        {"4.2-proof-ar-rows",
         CS_PRINTED,
         t == 1 ? "A has r (T - T^s) / (1 - T) rows: 0/0 at T = 1"
                : "A has r (T - T^s) / (1 - T) rows",
         {rows, t == 1 ? NAN : r * (t - pow(t, s)) / (1 - t)}},
        {"4.2-proof-ar-rows",
         CS_CORRECTED,
         "A has r (T + T^2 + ... + T^{s-1}) rows",
         {rows, r * geometric(t, s)}},
        {"4.2-proof-ar-columns", CS_PRINTED, "A has sTr columns", {cols, s * t * r}},
        {"4.2-proof-ar-columns",
         CS_CORRECTED,
         "A has (s-1) T r columns: the first token is never a target",
         {cols, (s - 1) * t * r}},
        {"4.2-proof-ar-entry", CS_PRINTED, "A = 1 / (r s T^{i+1}) after i tokens, every entry",
         worst_power(&b, b.entry, 1 / (r * s), t, -1, 1)},
        {"4.2-proof-ar-entry", CS_CORRECTED,
         "A = 1 / (r (s-1) T^{i+1}) after i tokens, every entry",
         worst_power(&b, b.entry, 1 / (r * (s - 1)), t, -1, 1)},
        {"4.2-proof-ar-normalised", CS_PRINTED,
         "Abar = 1 / sqrt(T^{i+1}) after i tokens, every entry",
         worst_power(&b, b.normalised, 1, t, -0.5, 1)},
        {"4.2-proof-ar-blocks",
         CS_PRINTED,
         "each class has s non-zero diagonal blocks, the last of entries 1 / sqrt(T^{s+1}): rs "
         "blocks",
         {b.blocks, r * s}},
        {"4.2-proof-ar-blocks",
         CS_CORRECTED,
         "A has r (s-1) blocks, one for each length of a prefix, the last of entries 1 / sqrt(T^s)",
         {b.blocks, r * (s - 1)}},
        {"4.2-proof-ar-last", CS_PRINTED,
         "the entries of a class' last block are 1 / sqrt(T^{s+1})",
         against(b.normalised[b.lengths - 1], 1 / sqrt(pow(t, s + 1)))},
        {"4.2-proof-ar-block-rows", CS_PRINTED, "block i has T^i rows, every block",
         worst_power(&b, b.rows, 1, t, 1, 0)},
        {"4.2-proof-ar-block", CS_PRINTED, "block i is T^i x T^i, every block (sides: columns)",
         worst_power(&b, b.cols, 1, t, 1, 0)},
        {"4.2-proof-ar-block", CS_CORRECTED, "block i is T^i x T, every block (sides: columns)",
         worst_power(&b, b.cols, t, t, 0, 0)},
    };
    state(&e, sizeof lines / sizeof *lines, lines, out);
    return CS_OK;
}

/* The ranges of the masked matrix, over all its entries. */
typedef struct {
    range entry, normalised, zeros; /* zeros: of a row, within its class */
    range same, other, apart;       /* Abar^T Abar: one position, two positions, two classes */
} masked_ranges;

/* Columns go by target position, then class and token (toy/matrix.c). */
static cs_status gram_ranges(const enumerated *e, masked_ranges *out)
{
    CS_AUTO(cs_dense) d = {0}, g = {0};
    const int64_t width = (int64_t)(e->r * e->t);
    CS_AUTO_FREE int32_t *class = cs_alloc(e->m.a.cols, sizeof *class);
    cs_status status = class ? cs_csr_to_dense(&e->abar, &d) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_majority(&e->m.col_label, class);
        status = cs_dense_init(&g, d.cols, d.cols);
    }
    if (status == CS_OK) status = cs_gemm(true, false, 1, &d, &d, 0, &g);
    for (int64_t j = 0; status == CS_OK && j < g.cols; ++j) {
        for (int64_t i = 0; i < g.rows; ++i) {
            range *r = class[i] != class[j]     ? &out->apart
                       : i / width == j / width ? &out->same
                                                : &out->other;
            widen(r, g.data[i + j * g.ld]);
        }
    }
    return status;
}

static cs_status ranges_of(const enumerated *e, masked_ranges *out)
{
    const cs_csr *a = &e->m.a;
    const double mass = mass_of(a);
    *out = (masked_ranges){NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING};
    for (int64_t i = 0; i < a->rows; ++i) {
        widen(&out->zeros, e->s * e->t - (double)(a->ptr[i + 1] - a->ptr[i]));
    }
    for (int64_t k = 0; k < cs_csr_nnz(a); ++k) {
        widen(&out->entry, a->val[k] / mass);
        widen(&out->normalised, e->abar.val[k]);
    }
    return gram_ranges(e, out);
}

static cs_status masked(const cs_toy *toy, int64_t unmasked, cs_statements *out)
{
    cs_toy model = cs_toy_masked(toy, unmasked);
    CS_AUTO(enumerated) e = {0};
    masked_ranges f;
    cs_status status = enumerate(&model, unmasked, &e);
    if (status == CS_OK) status = ranges_of(&e, &f);
    if (status != CS_OK) return status;
    const double r = e.r, s = e.s, t = e.t, m = e.u, sets = binomial(s, m);
    const double rows = (double)e.m.a.rows, cols = (double)e.m.a.cols;
    const line lines[] = {
        {"4.2-proof-rows", CS_PRINTED, "A has C(s, m) T^m r rows", {rows, sets * pow(t, m) * r}},
        {"4.2-proof-columns", CS_PRINTED, "A has sTr columns", {cols, s * t * r}},
        {"4.2-proof-zeros", CS_PRINTED, "each row has C(s-1, m) zeros (measured within its class)",
         against(f.zeros, binomial(s - 1, m))},
        {"4.2-proof-zeros", CS_CORRECTED, "each row has m T zeros within its class",
         against(f.zeros, m * t)},
        {"4.2-proof-entry", CS_PRINTED, "A = 1 / (C(s-1, m) T^m s T r), every entry",
         against(f.entry, 1 / (binomial(s - 1, m) * pow(t, m) * s * t * r))},
        {"4.2-proof-normalised", CS_PRINTED,
         "Abar = sqrt(s T C(s, m) T^m) / C(s-1, m), every entry",
         against(f.normalised, sqrt(s * t * sets * pow(t, m)) / binomial(s - 1, m))},
        {"4.2-proof-normalised", CS_CORRECTED,
         "Abar = sqrt(s / (C(s, m) T^{m+1})) / (s-m), every entry",
         against(f.normalised, sqrt(s / (sets * pow(t, m + 1))) / (s - m))},
        {"4.2-proof-gram-same", CS_PRINTED,
         "Abar^T Abar = 1 / ((s-m) T) within a position, every entry",
         against(f.same, 1 / ((s - m) * t))},
        {"4.2-proof-gram-other", CS_PRINTED,
         "Abar^T Abar = (s-m-1) / ((s-m)(s-1) T) between positions, every entry",
         against(f.other, (s - m - 1) / ((s - m) * (s - 1) * t))},
        {r > 1 ? "4.2-proof-gram-classes" : NULL, CS_PRINTED,
         "Abar^T Abar = 0 between classes, every entry", against(f.apart, 0)},
        /* At one masked token no two positions meet. */
        {m < s - 1 ? "4.2-proof-gram-row" : NULL, CS_PRINTED,
         "Abar^T Abar = (s-m) T / ((s-m)(s-1) T) between positions, as one printed row has it",
         against(f.other, (s - m) * t / ((s - m) * (s - 1) * t))},
    };
    state(&e, sizeof lines / sizeof *lines, lines, out);
    return CS_OK;
}

/* Lemma A.3 on the block matrix with p_a = 1, p_b = 1/4. */
static cs_status lemma(int64_t size, int64_t blocks, cs_statements *out)
{
    const double pa = 1, pb = 0.25, a = (double)size, b = (double)blocks;
    int64_t n = size * blocks;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense p = cs_dense_in(&pool, n, n);
    double *sigma = cs_pool_take(&pool, n, sizeof *sigma);
    CS_AUTO_FREE char *input =
        cs_format("s_a = %lld, s_b = %lld, p_a = 1, p_b = 1/4", (long long)size, (long long)blocks);
    cs_status status = input ? pool.status : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < n * n; ++i) {
        p.data[i % n + i / n * p.ld] = (i % n) / size == (i / n) / size ? pa : pb;
    }
    if (status == CS_OK) status = cs_dense_svd(&p, sigma, NULL, NULL);
    const struct {
        const char *id;
        cs_statement_form form;
        const char *text;
        int64_t at; /* of sigma, from 0 */
        double claimed;
    } part[] = {
        {"4.2-lemma-first", CS_PRINTED, "Lemma A.3: sigma_1 = s_a p_a + (s_b - 1) s_a p_b", 0,
         a * pa + (b - 1) * a * pb},
        {"4.2-lemma-rest", CS_PRINTED,
         "Lemma A.3: sigma_2 = ... = sigma_{s_b} = s_a |p_b - p_a| (lhs: sigma_{s_b})", blocks - 1,
         a * fabs(pb - pa)},
        {"4.2-lemma-zeros", CS_PRINTED, "Lemma A.3: the zeros start at sigma_{s_a + 1}", size, 0},
        {"4.2-lemma-zeros", CS_CORRECTED, "Lemma A.3: the zeros start at sigma_{s_b + 1}", blocks,
         0},
    };
    for (size_t i = 0; status == CS_OK && i < sizeof part / sizeof *part; ++i) {
        if (part[i].at < n) {
            cs_statements_claim(out, &(cs_claim){part[i].id, part[i].form, CS_RELATION_EQUAL,
                                                 part[i].text, input, sigma[part[i].at],
                                                 part[i].claimed, DBL_EPSILON * (double)(n * n)});
        }
    }
    return status;
}

cs_status cs_42_proof(const cs_toy *toy, int64_t m, cs_statements *out)
{
    cs_toy model = *toy;
    model.literal = model.given = false;
    model.position_known = 0;
    bool ar_fits = false, masked_fits = false;
    cs_toy ar = cs_toy_with(&model, CS_OBJ_AR, CS_PREFIX_NONE), mask = cs_toy_masked(&model, m);
    cs_status status = cs_42_fits(&ar, &ar_fits);
    if (status == CS_OK) status = cs_42_fits(&mask, &masked_fits);
    if (status == CS_OK && !(ar_fits && masked_fits)) {
        model.classes = model.classes < 3 ? model.classes : 3;
        model.length = model.length < 5 ? model.length : 5;
        model.tokens = model.tokens < 3 ? model.tokens : 3;
        m = m < model.length ? m : model.length - 1;
    }
    if (status == CS_OK) status = autoregressive(&model, out);
    if (status == CS_OK) status = masked(&model, m, out);
    if (status != CS_OK) return status;
    /* The proof uses s_a = T, s_b = s. The printed index is wrong where s_a < s_b. */
    int64_t size =
        model.tokens < model.length && model.length * model.tokens <= 512 ? model.tokens : 2;
    int64_t blocks = size == model.tokens && model.length * model.tokens <= 512 ? model.length : 4;
    return lemma(size, blocks > size ? blocks : size + 2, out);
}
