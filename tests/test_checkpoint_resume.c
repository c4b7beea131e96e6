/* cooc/checkpoint: a build that was interrupted and goes on ends as one that was not, for other
 * threads and budgets; and where memory ends in its midst. */
#include "base/threads.h"
#include "checkpoint_support.h"
#include "cooc/build_sequences.h"
#include "cooc_compare.h"
#include "io/file.h"
#include "small_corpus.h"
#include "test.h"

TEST_PROGRAM(checkpoint_folder_make, checkpoint_folder_remove)

TEST(resumed_is_uninterrupted)
{
    static const struct {
        const char *spec, *context;
        bool given;
        int64_t documents; /* of five blocks and more */
    } cases[] = {{"ar", "nearest:3", false, 8000},
                 {"masked:mask-ratio=0.3", "nearest:2", false, 2000},
                 {"permuted-ar", "each:3", true, 2800}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_corpus) corpus = random_corpus(cases[i].documents, 40, 300, 3);
        cs_cooc whole = {0}, m = {0};
        cs_cooc_options o = checkpoint_options(cases[i].spec, cases[i].context);
        o.context.given = cases[i].given;
        o.checkpoint = NULL;
        OK(cs_cooc_build(&corpus, &o, &whole));
        o.checkpoint = checkpoint_dir;
        for (int way = 0; way < 4; ++way) {
            o.resume = false;
            o.threads = 1 + way;
            o.memory_budget = way % 2 ? 1 << 20 : 1 << 28;
            interrupted(&corpus, o, way == 3 ? -1 : 1 + way, 0, CS_ERR_INTERRUPT, checkpoint_dir);
            o.resume = true;
            o.threads = 4 - way;
            o.memory_budget = way < 2 ? 1 << 20 : 1 << 28;
            interrupted(&corpus, o, way == 3 ? -1 : 1, 0, CS_ERR_INTERRUPT, "interrupted after");
            OK(cs_cooc_build(&corpus, &o, &m));
            assert_same_cooc(&whole, &m);
            cs_cooc_free(&m);
            assert_true(
                cs_path_exists(checkpoint_index)); /* kept until the caller has the matrix */
            OK(cs_cooc_checkpoint_remove(checkpoint_dir));
            assert_false(cs_path_exists(checkpoint_dir));
        }
        cs_cooc_free(&whole);
    }
    OK(cs_cooc_checkpoint_remove(checkpoint_dir)); /* none */
}

static void assert_resumes(const cs_corpus *corpus, cs_cooc_options o)
{
    o.resume = true;
    AUTO_OK(cs_cooc, m, cs_cooc_build(corpus, &o, &m));
    o.checkpoint = NULL;
    AUTO_OK(cs_cooc, whole, cs_cooc_build(corpus, &o, &whole));
    assert_same_cooc(&whole, &m);
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}

/* Checkpoints between blocks change no bit, whether tables are kept or spilled. */
TEST(checkpoints_may_be_written_at_any_time)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(8000, 40, 300, 3);
    for (int way = 0; way < 4; ++way) {
        cs_cooc_options o = checkpoint_options("ar", "nearest:3");
        o.checkpoint_every = 1e-9;
        o.threads = 1 + way % 2;
        o.memory_budget = way < 2 ? 1 << 20 : 1 << 28;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        assert_true(cs_path_exists(checkpoint_index)); /* the last one */
        assert_resumes(&corpus, o);
    }
}

/* Where an interrupt leaves no time, the checkpoint before it stays, or none. */
TEST(late_ones_keep_what_was_written)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(8000, 40, 300, 3);
    cs_cooc_options o = checkpoint_options("ar", "nearest:3");
    interrupted_late(&corpus, o, 3, "time to write them, and nothing is kept");
    interrupted_late(&corpus, o, -1, "time to write them, and nothing is kept");
    assert_false(cs_path_exists(checkpoint_dir));
    interrupted(&corpus, o, 1, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    o.resume = true;
    interrupted_late(&corpus, o, 3, "; 1 are kept in ");
    assert_resumes(&corpus, o);
}

/* The matrix is there, and what it was counted from. */
TEST(an_interrupt_after_the_build_leaves_a_checkpoint)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(8000, 40, 300, 3);
    for (int way = 0; way < 2; ++way) {
        cs_cooc_options o = checkpoint_options("ar", "nearest:3");
        o.memory_budget = way ? 1 << 20 : 1 << 28;
        AUTO_OK(cs_cooc_prepared, p, cs_cooc_prepare(&corpus, &o, &p));
        AUTO_OK(cs_cooc, m, cs_cooc_build_prepared(&p, &m));
        assert_true(m.matrix.a.rows > 0);
        assert_fails(cs_cooc_built(&p, CS_ERR_INTERRUPT), CS_ERR_INTERRUPT, checkpoint_dir);
        assert_resumes(&corpus, o);
    }
}

TEST(every_allocation_may_fail)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(4500, 40, 300, 3);
    cs_cooc_options o = checkpoint_options("ar", "nearest:2");
    interrupted(&corpus, o, 2, 0, CS_ERR_INTERRUPT, checkpoint_dir);
    o.resume = true;
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_cooc) m = {0};
        if (out_of_memory(cs_cooc_build(&corpus, &o, &m))) assert_null(m.key);
    }
    OK(cs_cooc_checkpoint_remove(checkpoint_dir));
}
