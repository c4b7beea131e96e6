/* mix: the matrix of a mixture on a corpus is the weighted sum of its parts' matrices, in every
 * context mode, at every length; the same bits for every number of threads and every budget. */
#include "cooc/build_sequences.h"
#include "cooc/builder.h"
#include "cooc/store.h"
#include "io_support.h"
#include "mix_support.h"
#include "plan_support.h"
#include "small_corpus.h"

static const mixture long_ones[] = {
    {.spec = "mix:0.5*ar+0.5*masked(mask-ratio=0.15)",
     .part = {"ar", "masked:mask-ratio=0.15"},
     .share = {0.5, 0.5}},
    {.spec = "mix:1*diverse-ar(t=3)+2*group-ar(t=2)+5*bernoulli-masked(mask-ratio=0.3)",
     .part = {"diverse-ar:t=3", "group-ar:t=2", "bernoulli-masked:mask-ratio=0.3"},
     .share = {0.125, 0.25, 0.625},
     .silent = true},
    {.spec = "mix:1*diverse-ar(t=2)+3*variable-masked(mask-ratio=0.1:0.3)",
     .part = {"diverse-ar:t=2", "variable-masked:mask-ratio=0.1:0.3"},
     .share = {0.25, 0.75}}};

static const mixture short_ones[] = {
    {.spec = "mix:1*masked(mask-ratio=0.4)+1*ar+2*permuted-ar",
     .part = {"masked:mask-ratio=0.4", "ar", "permuted-ar"},
     .share = {0.25, 0.25, 0.5}},
    {.spec = "mix:1*offset-ar(offset-weights=power:1)+1*masked(unmasked=1)",
     .part = {"offset-ar:offset-weights=power:1", "masked:unmasked=1"},
     .share = {0.5, 0.5}}};

TEST(whole_documents_are_weighted_sums)
{
    static const char *const modes[] = {"nearest:1", "nearest:2", "each:2", "each:30", "document"};
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; ++i) {
        for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
            mix_check(&long_ones[i], modes[k], false, 0);
            mix_check(&long_ones[i], modes[k], true, 0);
        }
    }
}

TEST(short_pieces_are_weighted_sums)
{
    static const char *const modes[] = {"all", "nearest:2", "each:3", "document"};
    for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
        for (int given = 0; given < 2; ++given) {
            mix_check(&short_ones[0], modes[k], given > 0, 7);
            mix_check(&short_ones[1], modes[k], given > 0, 7);
            mix_check(&long_ones[0], modes[k], given > 0, 7);
        }
    }
}

/* A row's witness leads back to its text, whether a listed event made it or a sum over sets. */
TEST_IN_DIR(rows_of_mixtures_have_texts)
{
    static const char *const modes[] = {"all", "nearest:2", "each:2", "document"};
    CS_AUTO(cs_corpus) corpus = small_corpus(MIX_DOCUMENTS, mix_lengths, MIX_VOCAB, MIX_LABELS, 5);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_cooc_options o = {.max_length = 6, .threads = 1};
        OK(cs_context_parse(modes[k], &o.context));
        o.objective = plan_held(short_ones[k % 2].spec, &file);
        AUTO_OK(cs_cooc, out, cs_cooc_build(&corpus, &o, &out));
        OK(cs_cooc_write(in_dir(state, modes[k]), &corpus, &o, &out, false, false));
        AUTO_OK(cs_cooc_store, store, cs_cooc_read(in_dir(state, modes[k]), &store));
        assert_int_equal(store.cooc.matrix.a.rows, out.matrix.a.rows);
        for (int64_t row = 0; row < out.matrix.a.rows; ++row) {
            CS_AUTO_FREE char *text = NULL;
            OK(cs_cooc_row_text(&store, row, &text));
            assert_true(strlen(text) > 0);
        }
    }
}

/* `all` on whole documents lists every set, and says how many there are. */
TEST(all_sets_of_a_mixture_are_counted)
{
    CS_AUTO(cs_plan_file) file = {0};
    CS_AUTO(cs_corpus) corpus = small_corpus(MIX_DOCUMENTS, mix_lengths, MIX_VOCAB, MIX_LABELS, 5);
    cs_cooc_options o = {.threads = 1};
    cs_cooc out;
    bool enumerable = true;
    o.objective = plan_held(long_ones[0].spec, &file);
    assert_fails(cs_cooc_build(&corpus, &o, &out), CS_ERR_USAGE,
                 "all under mix at length 40 has 2.3e+07 contexts, but at most 1.05e+06 are "
                 "supported: give shorter");
    AUTO_OK(cs_cooc_prepared, p, cs_cooc_prepare(&corpus, &o, &p));
    OK(cs_cooc_enumerable(&p, &enumerable));
    assert_false(enumerable);
    OK(cs_context_parse("nearest:2", &p.options.context));
    OK(cs_cooc_enumerable(&p, &enumerable));
    assert_true(enumerable);
}

/* The dry run of a mixture: within a factor 2 from above, as of its parts. */
TEST(dry_runs_of_mixtures_bound_their_size)
{
    static const char *const modes[] = {"nearest:1", "nearest:2", "each:2", "document"};
    ARRAY(int64_t, length, 400, i, 5 + i % 50);
    CS_AUTO(cs_corpus) corpus = small_corpus(400, length, 2000, MIX_LABELS, 6);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_cooc_options o = {.threads = 2};
        cs_cooc_size size;
        OK(cs_context_parse(modes[k], &o.context));
        o.objective = plan_held(long_ones[0].spec, &file);
        OK(cs_cooc_estimate(&corpus, &o, &size));
        AUTO_OK(cs_cooc, out, cs_cooc_build(&corpus, &o, &out));
        double rows = (double)out.matrix.a.rows, entries = (double)cs_csr_nnz(&out.matrix.a);
        assert_true(size.contributions >= (double)out.contributions);
        assert_true(size.rows >= rows && size.rows <= 2 * rows);
        assert_true(size.entries >= entries && size.entries <= 2 * entries);
    }
}
