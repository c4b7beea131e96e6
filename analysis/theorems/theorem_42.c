/* The spectra of a case of Theorem 4.2 by each method, and their comparison.
 *
 * Every printed value is set against the spectrum of the enumerated matrix where that fits, else of
 * the position reduction. Counts of sigma = 1 are exact. Values carry the solver's residuals (Weyl)
 * and the rounding of the entries: marginals are sums of at most rows (cols) positive terms, so
 * ||delta Abar||_2 <= (rows + cols) u.
 */
#include "analysis/theorems/theorem_42_private.h"
#include "base/auto.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SAME = 1e-9;

cs_status cs_42_fits(const cs_toy *toy, bool *fits)
{
    double rows, cols, nnz;
    cs_status status = cs_toy_size(toy, &rows, &cols, &nnz);
    *fits = status == CS_OK && nnz <= CS_42_ENTRIES && cols <= CS_42_COLUMNS;
    return status;
}

void cs_42_case_free(cs_42_case *c)
{
    cs_free(c->input);
    for (int i = 0; i < CS_42_METHODS; ++i) {
        cs_toy_spectrum_free(&c->by[i]);
    }
    memset(c, 0, sizeof *c);
}

/* A method that does not exist for these parameters is CS_ERR_USAGE: no failure of the audit. */
static cs_status optional(cs_status status, bool *has)
{
    *has = status == CS_OK;
    if (status == CS_ERR_USAGE) {
        cs_reason_clear();
        return CS_OK;
    }
    return status;
}

static cs_status all_methods(cs_42_case *c)
{
    double rows = 0, cols = 0, nnz;
    bool fits = false;
    cs_status status = cs_42_fits(&c->toy, &fits);
    c->rounding = DBL_EPSILON * (64 + (double)c->toy.length);
    if (status == CS_OK && fits) {
        status = cs_toy_size(&c->toy, &rows, &cols, &nnz);
        if (status == CS_OK) status = cs_toy_enumerate(&c->toy, 0, &c->by[CS_42_ENUMERATE]);
        c->has[CS_42_ENUMERATE] = status == CS_OK;
        c->rounding += DBL_EPSILON * (rows + cols);
    }
    if (status == CS_OK && !c->toy.literal)
        status = optional(cs_toy_reduce(&c->toy, &c->by[CS_42_REDUCE]), &c->has[CS_42_REDUCE]);
    if (status == CS_OK && !c->toy.literal)
        status = optional(cs_toy_closed(&c->toy, &c->by[CS_42_CLOSED]), &c->has[CS_42_CLOSED]);
    return status;
}

cs_status cs_42_case_of(const cs_toy *toy, cs_42_case *out)
{
    memset(out, 0, sizeof *out);
    out->toy = *toy;
    out->input = cs_toy_describe(toy);
    cs_status status = out->input ? cs_toy_check(toy) : CS_ERR_MEMORY;
    if (status == CS_OK) status = all_methods(out);
    while (out->method < CS_42_CLOSED && !out->has[out->method]) {
        ++out->method;
    }
    out->best = &out->by[out->method];
    if (status == CS_OK && !out->has[out->method])
        status =
            cs_fail(CS_ERR_USAGE, "%s: too large to enumerate, and no other method is available",
                    out->input);
    if (status != CS_OK) cs_42_case_free(out);
    return status;
}

const char *const cs_42_method_name[] = {"enumerate", "reduce", "closed"};

static void record_one(const cs_42_case *c, const char *objective, cs_42_method method,
                       cs_item *spectra)
{
    const cs_toy_spectrum *s = &c->by[method]; /* without values where there is none */
    char position[32];
    cs_toy_position(&c->toy, position);
    for (int64_t i = 0; i < s->values; ++i) {
        cs_item *row = cs_item_object(spectra, NULL);
        CS_ITEM_FIELDS(row, &c->toy, classes, length, tokens);
        cs_item_text(row, "objective", objective);
        cs_item_text(row, "empty_prefix", cs_prefix_name(c->toy.objective.empty_prefix));
        cs_item_text(row, "target_position", position);
        cs_item_text(row, "token_sets", c->toy.literal ? "literal" : "disjoint");
        cs_item_text(row, "method", cs_42_method_name[method]);
        cs_item_real(row, "sigma", s->sigma[i]);
        cs_item_int(row, "multiplicity", s->multiplicity[i]);
        cs_item_real(row, "residual", s->residual);
    }
}

cs_status cs_42_record(const cs_42_case *c, cs_item *spectra)
{
    CS_AUTO_FREE char *objective = cs_objective_describe(&c->toy.objective);
    if (!objective) return CS_ERR_MEMORY;
    for (int i = 0; i < CS_42_METHODS; ++i) {
        record_one(c, objective, (cs_42_method)i, spectra);
    }
    return CS_OK;
}

cs_42_difference cs_42_compare(const cs_toy_spectrum *a, const cs_toy_spectrum *b)
{
    cs_42_difference worst = {.index = 0};
    int64_t i = 0, j = 0;
    double left_a = a->values > 0 ? (double)a->multiplicity[0] : 0;
    double left_b = b->values > 0 ? (double)b->multiplicity[0] : 0, index = 1;
    while (i < a->values || j < b->values) {
        double x = i < a->values ? a->sigma[i] : 0, y = j < b->values ? b->sigma[j] : 0;
        if (worst.index == 0 || fabs(x - y) > fabs(worst.a - worst.b)) {
            worst = (cs_42_difference){x, y, index};
        }
        double step = i >= a->values ? left_b : j >= b->values ? left_a : fmin(left_a, left_b);
        index += step;
        left_a -= step;
        left_b -= step;
        if (i < a->values && left_a <= 0) {
            ++i;
            left_a = i < a->values ? (double)a->multiplicity[i] : 0;
        }
        if (j < b->values && left_b <= 0) {
            ++j;
            left_b = j < b->values ? (double)b->multiplicity[j] : 0;
        }
    }
    return worst;
}

double cs_42_ones(const cs_toy_spectrum *s)
{
    double ones = 0;
    for (int64_t i = 0; i < s->values; ++i) {
        ones += fabs(s->sigma[i] - 1) <= SAME ? (double)s->multiplicity[i] : 0;
    }
    return ones;
}

double cs_42_sigma(const cs_toy_spectrum *s, double j)
{
    double before = 0;
    for (int64_t i = 0; i < s->values; ++i) {
        before += (double)s->multiplicity[i];
        if (j <= before) {
            return s->sigma[i];
        }
    }
    return 0;
}

void cs_42_unspecify(const cs_toy_spectrum *s, cs_statement *statement)
{
    if (s->formula && statement && statement->verdict == CS_PASS) {
        cs_statement_unspecify(statement,
                               "the spectrum comes from a matrix that was solved, not from a "
                               "formula (value: 0)",
                               0);
    }
}

void cs_42_state_ones(const cs_42_case *c, const char *id, cs_statement_form form, const char *text,
                      double ones, cs_statements *out)
{
    cs_statement *s = cs_statements_claim(out, &(cs_claim){id, form, CS_RELATION_EQUAL, text,
                                                           c->input, cs_42_ones(c->best), ones, 0});
    cs_42_unspecify(c->best, s);
}

/* --- sigma'_j < sigma_j for r < j <= rs when s rho > 1 -------------------------------------------
 *
 * Both sides are taken from the computed spectra at the j in range with the least margin. The printed
 * range needs rs ones of AR. Without an empty prefix it has r (s-1), with a shared one r (s-1) + 1:
 * after these sigma_j = 0 while sigma'_j > 0, and the inequality is the other way round.
 *
 * The prefix convention changes AR alone: a mask that leaves m >= 1 tokens has no empty X.
 */

cs_42_difference cs_42_least_margin(const cs_toy_spectrum *a, const cs_toy_spectrum *b, double from,
                                    double to)
{
    const cs_toy_spectrum *both[] = {a, b};
    cs_42_difference least = {cs_42_sigma(a, from + 1), cs_42_sigma(b, from + 1), from + 1};
    /* b_j - a_j changes only where a group of equal values ends. */
    for (int i = 0; i < 2; ++i) {
        double before = 0;
        for (int64_t v = 0; v < both[i]->values; ++v) {
            before += (double)both[i]->multiplicity[v];
            if (before > from && before < to) {
                const double x = cs_42_sigma(a, before + 1), y = cs_42_sigma(b, before + 1);
                if (y - x < least.b - least.a) {
                    least = (cs_42_difference){x, y, before + 1};
                }
            }
        }
    }
    return least;
}

/* The number of unmasked tokens: the toy's own, else half the sequence. */
cs_status cs_toy_unmasked(const cs_toy *toy, int64_t *out)
{
    bool own =
        toy->objective.kind == CS_OBJ_MASKED || toy->objective.kind == CS_OBJ_VARIABLE_MASKED;
    int64_t low = toy->length / 2, high = low;
    cs_status status =
        own ? cs_objective_unmasked(&toy->objective, toy->length, &low, &high) : CS_OK;
    *out = (low + high) / 2;
    return status;
}
