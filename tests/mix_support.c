/* Matrices of mixtures against those of their parts. */
#include "mix_support.h"

#include "cooc_compare.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "test.h"

const int64_t mix_lengths[MIX_DOCUMENTS] = {1, 2, 3, 500, 2, 40, 3, 7, 60, 1, 120, 13};

/* Mass in predicted tokens (or documents) of one entry; 0: none. */
static double mass_at(const cs_cooc *c, const cs_csr *a, const cs_hash128 *key, int64_t col)
{
    int64_t low = 0, high = c->matrix.a.rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (cs_hash_compare(c->key[middle], *key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == c->matrix.a.rows || cs_hash_compare(c->key[low], *key) != 0) {
        return 0;
    }
    for (int64_t e = a->ptr[low]; e < a->ptr[low + 1]; ++e) {
        if (a->col[e] == col) {
            return a->val[e] * (c->exact ? c->unit : 1);
        }
    }
    return 0;
}

/* Shares and weights are products of a few rounded factors: 1e-14. Besides, a contribution is
 * rounded to units; a target contributes to a row at most once for each form of the distribution,
 * and as often as its window is wide where rows are tokens: the error is half a unit for each
 * contribution. */
static void expect_sum(const char *what, const cs_context *context, const cs_cooc *whole,
                       const cs_cooc *part, const mixture *m, bool labels)
{
    double halves =
        2 * MIX_TOKENS * (cs_context_rows_are_tokens(context) ? 2.0 * (double)context->n : 1);
    const cs_csr *a = labels ? &whole->matrix.row_label : &whole->matrix.a;
    double unit = whole->unit, sum = 0;
    for (int j = 0; j < MIX_PARTS && m->part[j]; ++j) {
        unit += m->share[j] * part[j].unit * (part[j].exact ? 0 : 1);
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            double got = a->val[e] * (whole->exact ? whole->unit : 1), want = 0;
            for (int j = 0; j < MIX_PARTS && m->part[j]; ++j) {
                const cs_csr *of = labels ? &part[j].matrix.row_label : &part[j].matrix.a;
                want += m->share[j] * mass_at(&part[j], of, &whole->key[i], a->col[e]);
            }
            if (!(fabs(got - want) <= 1e-14 * want + halves * unit / 2)) {
                fail_msg("%s, %s: row %lld, column %d: %.17g, not %.17g", m->spec, what,
                         (long long)i, (int)a->col[e], got, want);
            }
            sum += got;
        }
    }
    /* With the sums equal nothing is left that the parts have and the mixture has not. */
    double kept = 0, dropped = 0;
    for (int j = 0; j < MIX_PARTS && m->part[j]; ++j) {
        kept += m->share[j] * part[j].mass;
        dropped += m->share[j] * part[j].dropped_mass;
    }
    assert_true(fabs(sum - kept) <= 1e-12 * kept);
    assert_true(fabs(whole->mass - kept) <= 1e-12 * kept);
    assert_true(fabs(whole->dropped_mass - dropped) <= 1e-12 * kept);
}

static cs_cooc build(const cs_corpus *corpus, const char *spec, const cs_cooc_options *base,
                     cs_event_weight weight)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_cooc_options o = *base;
    cs_cooc out;
    o.objective = plan_held(spec, &file);
    o.objective.event_weight = weight;
    OK(cs_cooc_build(corpus, &o, &out));
    return out;
}

void mix_check(const mixture *m, const char *mode, bool given, int64_t max_length)
{
    CS_AUTO(cs_corpus) corpus = small_corpus(MIX_DOCUMENTS, mix_lengths, MIX_VOCAB, MIX_LABELS, 5);
    for (int weight = 0; weight < 2 - m->silent; ++weight) {
        cs_cooc_options o = {.max_length = max_length, .weight_by_document = weight > 0};
        cs_cooc part[MIX_PARTS] = {0};
        OK(cs_context_parse(mode, &o.context));
        o.context.given = given || o.context.given;
        o.threads = 1;
        CS_AUTO(cs_cooc) whole = build(&corpus, m->spec, &o, (cs_event_weight)weight);
        for (int j = 0; j < MIX_PARTS && m->part[j]; ++j) {
            part[j] = build(&corpus, m->part[j], &o, (cs_event_weight)weight);
            assert_int_equal(part[j].sequences, whole.sequences);
        }
        expect_sum(mode, &o.context, &whole, part, m, false);
        expect_sum(mode, &o.context, &whole, part, m, true);
        o.threads = 3;
        o.memory_budget = 1 << 20;
        CS_AUTO(cs_cooc) again = build(&corpus, m->spec, &o, (cs_event_weight)weight);
        assert_same_cooc(&whole, &again);
        for (int j = 0; j < MIX_PARTS; ++j) {
            cs_cooc_free(&part[j]);
        }
    }
}
