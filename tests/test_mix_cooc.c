/* mix: the matrix of a mixture on a corpus is the weighted sum of its parts' matrices, in every
 * context mode, at every length; the same bits for every number of threads and every budget. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cooc/builder.h"
#include "cooc/store.h"
#include "cooc_compare.h"
#include "io_support.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

enum { DOCUMENTS = 12, VOCAB = 7, LABELS = 3, MOST_PARTS = 3, TOKENS = 752 };

static const int64_t lengths[DOCUMENTS] = {1, 2, 3, 500, 2, 40, 3, 7, 60, 1, 120, 13};

static cs_objective objective_of(const char *spec, cs_plan_file *file)
{
    cs_objective o;
    *file = (cs_plan_file){0};
    OK(cs_objective_parse_held(spec, file, &o));
    return o;
}

typedef struct {
    const char *spec;
    const char *part[MOST_PARTS];
    double share[MOST_PARTS];
    bool silent; /* some plans predict nothing: under `mask` shares depend on the length */
} mixture;

static const mixture long_ones[] = {
    {.spec = "mix:0.5*ar+0.5*masked(mask-ratio=0.15)",
     .part = {"ar", "masked:mask-ratio=0.15"},
     .share = {0.5, 0.5}},
    {.spec = "mix:1*diverse-ar(t=3)+2*group-ar(t=2)+5*bernoulli-masked(mask-ratio=0.3)",
     .part = {"diverse-ar:t=3", "group-ar:t=2", "bernoulli-masked:mask-ratio=0.3"},
     .share = {0.125, 0.25, 0.625},
     .silent = true},
    {.spec = "mix:1*prefix-lm+3*variable-masked(mask-ratio=0.1:0.3)",
     .part = {"prefix-lm", "variable-masked:mask-ratio=0.1:0.3"},
     .share = {0.25, 0.75}}};

static const mixture short_ones[] = {
    {.spec = "mix:1*span-masked(mask-ratio=0.4,t=2)+1*ar+2*permuted-ar",
     .part = {"span-masked:mask-ratio=0.4,t=2", "ar", "permuted-ar"},
     .share = {0.25, 0.25, 0.5}},
    {.spec = "mix:1*offset-ar(offset-weights=power:1)+1*masked(unmasked=1)",
     .part = {"offset-ar:offset-weights=power:1", "masked:unmasked=1"},
     .share = {0.5, 0.5}}};

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
 * rounded to units; a target contributes to a row at most once for each form of the law, and as
 * often as its window is wide where rows are tokens: so many halves of a unit. */
static void expect_sum(const char *what, const cs_context *context, const cs_cooc *whole,
                       const cs_cooc *part, const mixture *m, bool labels)
{
    double halves =
        2 * TOKENS * (cs_context_rows_are_tokens(context) ? 2.0 * (double)context->n : 1);
    const cs_csr *a = labels ? &whole->matrix.row_label : &whole->matrix.a;
    double unit = whole->unit, sum = 0;
    for (int j = 0; j < MOST_PARTS && m->part[j]; ++j) {
        unit += m->share[j] * part[j].unit * (part[j].exact ? 0 : 1);
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            double got = a->val[e] * (whole->exact ? whole->unit : 1), want = 0;
            for (int j = 0; j < MOST_PARTS && m->part[j]; ++j) {
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
    for (int j = 0; j < MOST_PARTS && m->part[j]; ++j) {
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
    cs_plan_file file;
    cs_cooc_options o = *base;
    cs_cooc out;
    o.objective = objective_of(spec, &file);
    o.objective.event_weight = weight;
    OK(cs_cooc_build(corpus, &o, &out));
    cs_plan_file_free(&file);
    return out;
}

static void check(const mixture *m, const char *mode, bool given, int64_t max_length)
{
    cs_corpus corpus = small_corpus(DOCUMENTS, lengths, VOCAB, LABELS, 5);
    for (int weight = 0; weight < 2 - m->silent; ++weight) {
        cs_cooc_options o = {.max_length = max_length, .weight_by_document = weight > 0};
        cs_cooc part[MOST_PARTS] = {0};
        OK(cs_context_parse(mode, &o.context));
        o.context.given = given || o.context.given;
        o.threads = 1;
        cs_cooc whole = build(&corpus, m->spec, &o, (cs_event_weight)weight);
        for (int j = 0; j < MOST_PARTS && m->part[j]; ++j) {
            part[j] = build(&corpus, m->part[j], &o, (cs_event_weight)weight);
            assert_int_equal(part[j].sequences, whole.sequences);
        }
        expect_sum(mode, &o.context, &whole, part, m, false);
        expect_sum(mode, &o.context, &whole, part, m, true);
        o.threads = 3;
        o.memory_budget = 1 << 20;
        cs_cooc again = build(&corpus, m->spec, &o, (cs_event_weight)weight);
        assert_same_cooc(&whole, &again);
        cs_cooc_free(&whole);
        cs_cooc_free(&again);
        for (int j = 0; j < MOST_PARTS; ++j) {
            cs_cooc_free(&part[j]);
        }
    }
    cs_corpus_free(&corpus);
}

TEST(whole_documents_are_weighted_sums)
{
    static const char *const modes[] = {"nearest:1", "nearest:2", "each:2", "each:30", "document"};
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; ++i) {
        for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
            check(&long_ones[i], modes[k], false, 0);
            check(&long_ones[i], modes[k], true, 0);
        }
    }
}

TEST(short_pieces_are_weighted_sums)
{
    static const char *const modes[] = {"all", "nearest:2", "each:3", "document"};
    for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
        for (int given = 0; given < 2; ++given) {
            check(&short_ones[0], modes[k], given > 0, 7);
            check(&short_ones[1], modes[k], given > 0, 7);
            check(&long_ones[0], modes[k], given > 0, 7);
        }
    }
}

/* A row's witness leads back to its text, whether a listed event made it or a sum over sets. */
TEST_IN_DIR(rows_of_mixtures_have_texts)
{
    static const char *const modes[] = {"all", "nearest:2", "each:2", "document"};
    cs_corpus corpus = small_corpus(DOCUMENTS, lengths, VOCAB, LABELS, 5);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
        cs_plan_file file;
        cs_cooc_options o = {.max_length = 6, .threads = 1};
        cs_cooc out;
        cs_cooc_store store;
        OK(cs_context_parse(modes[k], &o.context));
        o.objective = objective_of(short_ones[k % 2].spec, &file);
        OK(cs_cooc_build(&corpus, &o, &out));
        OK(cs_cooc_write(in_dir(state, modes[k]), &corpus, &o, &out, false, false));
        OK(cs_cooc_read(in_dir(state, modes[k]), &store));
        assert_int_equal(store.cooc.matrix.a.rows, out.matrix.a.rows);
        for (int64_t row = 0; row < out.matrix.a.rows; ++row) {
            char *text = NULL;
            OK(cs_cooc_row_text(&store, row, &text));
            assert_true(strlen(text) > 0);
            cs_free(text);
        }
        cs_cooc_store_free(&store);
        cs_cooc_free(&out);
        cs_plan_file_free(&file);
    }
    cs_corpus_free(&corpus);
}

/* `all` on whole documents lists every set, and says how many there are. */
TEST(all_sets_of_a_mixture_are_counted)
{
    cs_plan_file file;
    cs_corpus corpus = small_corpus(DOCUMENTS, lengths, VOCAB, LABELS, 5);
    cs_cooc_options o = {.threads = 1};
    cs_cooc out;
    bool enumerable = true;
    o.objective = objective_of(long_ones[0].spec, &file);
    assert_fails(
        cs_cooc_build(&corpus, &o, &out), CS_ERR_USAGE,
        "all under mix at length 40 has 2.3e+07 contexts, of which shorter sequences have fewer");
    OK(cs_cooc_enumerable(&corpus, &o, &enumerable));
    assert_false(enumerable);
    OK(cs_context_parse("nearest:2", &o.context));
    OK(cs_cooc_enumerable(&corpus, &o, &enumerable));
    assert_true(enumerable);
    cs_plan_file_free(&file);
    cs_corpus_free(&corpus);
}

/* The dry run of a mixture: within a factor 2 from above, as of its parts. */
TEST(dry_runs_of_mixtures_bound_their_size)
{
    static const char *const modes[] = {"nearest:1", "nearest:2", "each:2", "document"};
    int64_t length[400];
    for (int i = 0; i < 400; ++i) {
        length[i] = 5 + i % 50;
    }
    cs_corpus corpus = small_corpus(400, length, 2000, LABELS, 6);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
        cs_plan_file file;
        cs_cooc_options o = {.threads = 2};
        cs_cooc_size size;
        cs_cooc out;
        OK(cs_context_parse(modes[k], &o.context));
        o.objective = objective_of(long_ones[0].spec, &file);
        OK(cs_cooc_estimate(&corpus, &o, &size));
        OK(cs_cooc_build(&corpus, &o, &out));
        double rows = (double)out.matrix.a.rows, entries = (double)cs_csr_nnz(&out.matrix.a);
        assert_true(size.contributions >= (double)out.contributions);
        assert_true(size.rows >= rows && size.rows <= 2 * rows);
        assert_true(size.entries >= entries && size.entries <= 2 * entries);
        cs_cooc_free(&out);
        cs_plan_file_free(&file);
    }
    cs_corpus_free(&corpus);
}
