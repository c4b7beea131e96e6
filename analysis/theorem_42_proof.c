/* The printed proof of Theorem 4.2 (LA A.3), line by line: sizes, entries, blocks, Lemma A.3.
 *
 * Each printed value is set against the one read off the enumerated matrix. Where the toy model is
 * too large for that, a small one stands in, and the statement's input says so.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/theorem_42.h"
#include "base/mem.h"
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
    out->input = cs_42_describe(toy);
    cs_status status = out->input ? cs_toy_matrix(toy, 0, &out->m) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_normalise(&out->m.a, &out->abar, NULL, NULL);
    }
    if (status != CS_OK) {
        enumerated_free(out);
        return status;
    }
    out->entry = DBL_EPSILON * (16 + (double)out->m.a.rows + (double)out->m.a.cols);
    return CS_OK;
}

static double largest(const cs_csr *a)
{
    double most = 0;
    for (int64_t e = 0; e < cs_csr_nnz(a); ++e) {
        most = fmax(most, a->val[e]);
    }
    return most;
}

/* A's entries are probabilities whatever its scale. */
static double largest_probability(const cs_csr *a)
{
    double mass = 0;
    for (int64_t e = 0; e < cs_csr_nnz(a); ++e) {
        mass += a->val[e];
    }
    return largest(a) / mass;
}

static cs_status value(cs_statements *out, const enumerated *e, const char *id, cs_form form,
                       const char *text, double measured, double claimed)
{
    return cs_42_state(out, &(cs_42_claim){id, form, CS_RELATION_EQUAL, text, e->input, measured,
                                           claimed, e->entry * (fabs(measured) + fabs(claimed))});
}

/* Rows and columns of the component with the most rows: the last block. */
static cs_status last_block(const cs_csr *a, double *rows, double *cols)
{
    cs_components c = {0};
    cs_status status = cs_components_of(a, &c);
    *rows = *cols = 0;
    for (int64_t i = 0; status == CS_OK && i < c.count; ++i) {
        if ((double)c.rows[i] > *rows) {
            *rows = (double)c.rows[i];
            *cols = (double)c.cols[i];
        }
    }
    cs_components_free(&c);
    return status;
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
    cs_toy ar = cs_42_with(toy, CS_OBJ_AR, CS_PREFIX_NONE);
    enumerated e = {0};
    double rows = 0, cols = 0;
    cs_status status = enumerate(&ar, 0, &e);
    if (status == CS_OK) {
        status = last_block(&e.m.a, &rows, &cols);
    }
    if (status != CS_OK) {
        enumerated_free(&e);
        return status;
    }
    const double r = e.r, s = e.s, t = e.t;
    /* The largest entry is that of the shortest prefix, i = 1. */
    const double entry = largest_probability(&e.m.a), normalised = largest(&e.abar);
    const struct {
        const char *id;
        cs_form form;
        const char *text;
        double measured, claimed;
    } line[] = {
        {"4.2-proof-ar-rows", CS_PRINTED, "A has r (T - T^s) / (1 - T) rows", (double)e.m.a.rows,
         r * geometric(t, s)},
        {"4.2-proof-ar-columns", CS_PRINTED, "A has sTr columns", (double)e.m.a.cols, s * t * r},
        {"4.2-proof-ar-columns", CS_CORRECTED,
         "A has (s-1) T r columns: the first token is never a target", (double)e.m.a.cols,
         (s - 1) * t * r},
        {"4.2-proof-ar-entry", CS_PRINTED, "A = 1 / (r s T^{i+1}) after i tokens (i = 1)", entry,
         1 / (r * s * t * t)},
        {"4.2-proof-ar-entry", CS_CORRECTED, "A = 1 / (r (s-1) T^{i+1}) after i tokens (i = 1)",
         entry, 1 / (r * (s - 1) * t * t)},
        {"4.2-proof-ar-normalised", CS_PRINTED, "Abar = 1 / sqrt(T^{i+1}) after i tokens (i = 1)",
         normalised, 1 / t},
        {"4.2-proof-ar-block", CS_PRINTED, "block i is T^i x T^i (i = s-1; sides: its columns)",
         cols, pow(t, s - 1)},
        {"4.2-proof-ar-block", CS_CORRECTED, "block i is T^i x T (i = s-1; sides: its columns)",
         cols, t},
    };
    for (size_t i = 0; status == CS_OK && i < sizeof line / sizeof *line; ++i) {
        status = value(out, &e, line[i].id, line[i].form, line[i].text, line[i].measured,
                       line[i].claimed);
    }
    enumerated_free(&e);
    return status;
}

/* Entries of Abar^T Abar within a class: two tokens of one position, and of two positions. */
static cs_status gram_entries(const enumerated *e, double *same, double *other)
{
    cs_dense d = {0}, g = {0};
    cs_status status = cs_csr_to_dense(&e->abar, &d);
    if (status == CS_OK) {
        status = cs_dense_init(&g, d.cols, d.cols);
    }
    if (status == CS_OK) {
        status = cs_gemm(true, false, 1, &d, &d, 0, &g);
    }
    *same = *other = 0;
    /* Column 0 with itself, and its smallest positive partner (same class, another position). */
    for (int64_t i = 0; status == CS_OK && i < g.rows; ++i) {
        *same = i == 0 ? g.data[0] : *same;
        if (g.data[i] > 1e-14 && (*other == 0 || g.data[i] < *other)) {
            *other = g.data[i];
        }
    }
    cs_dense_free(&d);
    cs_dense_free(&g);
    return status;
}

static cs_status masked(const cs_toy *toy, int64_t unmasked, cs_statements *out)
{
    cs_toy model = cs_42_masked(toy, unmasked);
    enumerated e = {0};
    double same = 0, other = 0;
    cs_status status = enumerate(&model, unmasked, &e);
    if (status == CS_OK) {
        status = gram_entries(&e, &same, &other);
    }
    if (status != CS_OK) {
        enumerated_free(&e);
        return status;
    }
    const double r = e.r, s = e.s, t = e.t, m = e.u, sets = binomial(s, m);
    const double per_row = (double)cs_csr_nnz(&e.m.a) / (double)e.m.a.rows;
    const double entry = largest_probability(&e.m.a), normalised = largest(&e.abar);
    const struct {
        const char *id;
        cs_form form;
        const char *text;
        double measured, claimed;
        bool wanted;
    } line[] = {
        {"4.2-proof-rows", CS_PRINTED, "A has C(s, m) T^m r rows", (double)e.m.a.rows,
         sets * pow(t, m) * r, true},
        {"4.2-proof-columns", CS_PRINTED, "A has sTr columns", (double)e.m.a.cols, s * t * r, true},
        {"4.2-proof-zeros", CS_PRINTED, "each row has C(s-1, m) zeros (measured within its class)",
         s * t - per_row, binomial(s - 1, m), true},
        {"4.2-proof-zeros", CS_CORRECTED, "each row has m T zeros within its class",
         s * t - per_row, m * t, true},
        {"4.2-proof-entry", CS_PRINTED, "A = 1 / (C(s-1, m) T^m s T r)", entry,
         1 / (binomial(s - 1, m) * pow(t, m) * s * t * r), true},
        {"4.2-proof-normalised", CS_PRINTED, "Abar = sqrt(s T C(s, m) T^m) / C(s-1, m)", normalised,
         sqrt(s * t * sets * pow(t, m)) / binomial(s - 1, m), true},
        {"4.2-proof-normalised", CS_CORRECTED, "Abar = sqrt(s / (C(s, m) T^{m+1})) / (s-m)",
         normalised, sqrt(s / (sets * pow(t, m + 1))) / (s - m), true},
        {"4.2-proof-gram-same", CS_PRINTED, "Abar^T Abar = 1 / ((s-m) T) within a position", same,
         1 / ((s - m) * t), true},
        /* At one masked token no two positions meet. */
        {"4.2-proof-gram-other", CS_PRINTED,
         "Abar^T Abar = (s-m-1) / ((s-m)(s-1) T) between positions", other,
         (s - m - 1) / ((s - m) * (s - 1) * t), m < s - 1},
        {"4.2-proof-gram-row", CS_PRINTED,
         "Abar^T Abar = (s-m) T / ((s-m)(s-1) T) between positions, as one printed row has it",
         other, (s - m) * t / ((s - m) * (s - 1) * t), m < s - 1},
    };
    for (size_t i = 0; status == CS_OK && i < sizeof line / sizeof *line; ++i) {
        if (line[i].wanted) {
            status = value(out, &e, line[i].id, line[i].form, line[i].text, line[i].measured,
                           line[i].claimed);
        }
    }
    enumerated_free(&e);
    return status;
}

/* Lemma A.3 on the block matrix with p_a = 1, p_b = 1/4. */
static cs_status lemma(int64_t size, int64_t blocks, cs_statements *out)
{
    const double pa = 1, pb = 0.25, a = (double)size, b = (double)blocks;
    int64_t n = size * blocks;
    cs_dense p = {0};
    double *sigma = cs_alloc(n, sizeof *sigma);
    char *input =
        cs_format("s_a = %lld, s_b = %lld, p_a = 1, p_b = 1/4", (long long)size, (long long)blocks);
    cs_status status = sigma && input ? cs_dense_init(&p, n, n) : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < n * n; ++i) {
        p.data[i % n + i / n * p.ld] = (i % n) / size == (i / n) / size ? pa : pb;
    }
    if (status == CS_OK) {
        status = cs_dense_svd(&p, sigma, NULL, NULL);
    }
    const double error = DBL_EPSILON * (double)n * (double)n * pa;
    if (status == CS_OK) {
        status =
            cs_42_state(out, &(cs_42_claim){"4.2-lemma-first", CS_PRINTED, CS_RELATION_EQUAL,
                                            "Lemma A.3: sigma_1 = s_a p_a + (s_b - 1) s_a p_b",
                                            input, sigma[0], a * pa + (b - 1) * a * pb, error});
    }
    if (status == CS_OK) {
        status = cs_42_state(
            out, &(cs_42_claim){"4.2-lemma-rest", CS_PRINTED, CS_RELATION_EQUAL,
                                "Lemma A.3: sigma_2 = ... = sigma_{s_b} = s_a |p_b - p_a| (lhs: "
                                "sigma_{s_b})",
                                input, sigma[blocks - 1], a * fabs(pb - pa), error});
    }
    if (status == CS_OK) {
        status = cs_42_state(out, &(cs_42_claim){"4.2-lemma-zeros", CS_PRINTED, CS_RELATION_EQUAL,
                                                 "Lemma A.3: the zeros start at sigma_{s_a + 1}",
                                                 input, sigma[size], 0, error});
    }
    if (status == CS_OK && blocks < n) {
        status = cs_42_state(out, &(cs_42_claim){"4.2-lemma-zeros", CS_CORRECTED, CS_RELATION_EQUAL,
                                                 "Lemma A.3: the zeros start at sigma_{s_b + 1}",
                                                 input, sigma[blocks], 0, error});
    }
    cs_dense_free(&p);
    cs_free(sigma);
    cs_free(input);
    return status;
}

cs_status cs_42_proof(const cs_toy *toy, int64_t m, cs_statements *out)
{
    cs_toy model = *toy;
    model.literal = model.given = false;
    bool ar_fits = false, masked_fits = false;
    cs_toy ar = cs_42_with(&model, CS_OBJ_AR, CS_PREFIX_NONE), mask = cs_42_masked(&model, m);
    cs_status status = cs_42_fits(&ar, &ar_fits);
    if (status == CS_OK) {
        status = cs_42_fits(&mask, &masked_fits);
    }
    if (status == CS_OK && !(ar_fits && masked_fits)) {
        model.classes = model.classes < 3 ? model.classes : 3;
        model.length = model.length < 5 ? model.length : 5;
        model.tokens = model.tokens < 3 ? model.tokens : 3;
        m = m < model.length ? m : model.length - 1;
    }
    if (status == CS_OK) {
        status = autoregressive(&model, out);
    }
    if (status == CS_OK) {
        status = masked(&model, m, out);
    }
    if (status != CS_OK) {
        return status;
    }
    /* The proof uses s_a = T, s_b = s. The printed index is wrong where s_a < s_b. */
    int64_t size =
        model.tokens < model.length && model.length * model.tokens <= 512 ? model.tokens : 2;
    int64_t blocks = size == model.tokens && model.length * model.tokens <= 512 ? model.length : 4;
    return lemma(size, blocks > size ? blocks : size + 2, out);
}
