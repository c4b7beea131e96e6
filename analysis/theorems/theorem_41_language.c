/* Theorem 4.1 of the language behind a corpus, with soft labels: its sharp bound
 *
 *   E(t) <= 2 p_max sum_{j>t} sigma_j^4 + 2 (1 + sigma_{t+1}^2) alpha~
 *
 * from estimates by pairs of documents (analysis/measures/language.h, language_labels.h). Error:
 * that of the bound as a whole, by its jackknife over documents, and its bias as far as that knows
 * it; and of E. E is the error of estimated features on documents that they have not seen. The
 * theorem says nothing about these, so an E above the bound does not contradict it, and leaves the
 * statement INCONCLUSIVE. */
#include <math.h>

#include "analysis/measures/language_labels.h"
#include "analysis/theorems/theorem_41_private.h"
#include "base/auto.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

enum { USUAL = 16 };

typedef struct {
    double rhs, rhs_error, lhs, lhs_error;
} sides;

/* The bound at t (1 .. k) without block b, -1: of all documents; sigma_{k+1} is at most sigma_k. */
static double bound_of(const cs_language *l, const cs_language_labels *y, int64_t t, int64_t b)
{
    const double *lambda = cs_language_lambda(l, b), next = lambda[t < l->k ? t : t - 1];
    return 2 * y->p_max[b + 1] * fmax(0, lambda[l->k + t]) +
           2 * (1 + fmin(1, fmax(0, next))) * y->alpha[b + 1];
}

static sides sides_of(const cs_language *l, const cs_language_labels *y, int64_t t, double *without)
{
    sides s = {
        .rhs = bound_of(l, y, t, -1), .lhs = y->error[t - 1], .rhs_error = NAN, .lhs_error = NAN};
    double low = NAN, high = NAN;
    for (int64_t b = 0; b < l->blocks; ++b) {
        without[b] = bound_of(l, y, t, b);
    }
    if (l->blocks > 1) {
        cs_jackknife_interval(l->blocks, s.rhs, without, 1, false, &low, &high);
        s.rhs_error = fmax(fabs(high - s.rhs), fabs(s.rhs - low));
        s.lhs_error = cs_student_width(0.95, (double)(l->blocks - 1)) *
                      cs_jackknife_error(l->blocks, y->error + y->k + t - 1, y->k);
    }
    return s;
}

static void put_row(const char *input, const cs_language *l, const cs_language_labels *y, int64_t t,
                    const sides *s, cs_item *rows)
{
    const double *lambda = cs_language_lambda(l, -1);
    cs_item *row = cs_item_object(rows, NULL);
    cs_item_text(row, "input", input);
    cs_item_int(row, "t", t);
    cs_item_real(row, "sigma", sqrt(fmax(0, lambda[t - 1])));
    cs_item_real(row, "sigma_next", t < l->k ? sqrt(fmax(0, lambda[t])) : (double)NAN);
    cs_item_real(row, "tail_sigma4", l->tail[t].value);
    cs_item_real(row, "tail_error", l->tail[t].se);
    cs_item_real(row, "trivial", 1 - y->p_max[0]);
    cs_item_real(row, "alpha_tilde", y->alpha[0]);
    cs_item_real(row, "p_max", y->p_max[0]);
    cs_item_real(row, "error_soft", s->lhs);
    cs_item_real(row, "bound_soft", s->rhs);
}

static void state(const char *input, const cs_language *l, const cs_language_labels *y,
                  double *without, cs_theorem_report *report)
{
    sides shown = {0};
    int64_t at = 0, informative = 0, above = 0;
    for (int64_t t = 1; t <= l->k; ++t) {
        const sides s = sides_of(l, y, t, without);
        put_row(input, l, y, t, &s, report->rows);
        informative += s.rhs < 1 - y->p_max[0];
        above += s.lhs > s.rhs + s.rhs_error + s.lhs_error;
        if (at == 0 || s.rhs < shown.rhs) {
            shown = s;
            at = t;
        }
    }
    cs_statement *s = cs_statements_add(
        &report->statements, "4.1-language", CS_CORRECTED, CS_RELATION_AT_MOST,
        "of the language: E(t) <= 2 p_max sum_{j>t} sigma_j^4 + 2 (1 + sigma_{t+1}^2) alpha~ with "
        "soft labels, all estimated from pairs of documents (sides: where the bound is least; E: "
        "of estimated features on other documents)",
        input);
    if (!s) return;
    s->trivial = 1 - y->p_max[0];
    cs_statement_evaluate(s, shown.lhs, shown.rhs, shown.rhs_error + shown.lhs_error);
    if (s->verdict == CS_FAIL || above > 0) cs_statement_withhold(s);
    cs_statement_int(s, "t", at);
    cs_statement_int(s, "informative", informative);
    cs_statement_int(s, "above_the_bound", above);
    cs_statement_int(s, "documents", l->documents);
    cs_statement_int(s, "blocks", l->blocks);
    const cs_detail detail[] = {{"mass_seen", l->seen.value}, {"tail", l->tail[at].value},
                                {"tail_se", l->tail[at].se},  {"alpha_tilde", y->alpha[0]},
                                {"p_max", y->p_max[0]},       {"bound_error", shown.rhs_error},
                                {"E_error", shown.lhs_error}};
    cs_statement_reals(s, sizeof detail / sizeof *detail, detail);
    if (l->blocks > 1)
        cs_statement_real(s, "alpha_tilde_se", cs_jackknife_error(l->blocks, y->alpha + 1, 1));
}

cs_status cs_theorem_41_language(const cs_theorem_input *in, cs_theorem_report *report)
{
    const int64_t most = in->corpus->vocab;
    const cs_language_options options = {.k = in->triplets > 0 ? in->triplets
                                              : most < USUAL   ? most
                                                               : USUAL,
                                         .blocks = in->blocks,
                                         .seed = in->seed,
                                         .threads = in->threads,
                                         .progress = in->progress};
    CS_AUTO(cs_language) l = {0};
    CS_AUTO(cs_language_labels) y = {0};
    CS_AUTO(cs_pool) pool = {0};
    double *without = cs_pool_take(&pool, in->blocks + 1, sizeof *without);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_language_of(in->corpus, in->build, &options, &l);
    if (status == CS_OK) status = cs_language_labels_of(in->corpus, in->build, &options, &y);
    if (status == CS_OK) {
        state(in->name, &l, &y, without, report);
        status = cs_statements_status(&report->statements);
    }
    return status;
}
