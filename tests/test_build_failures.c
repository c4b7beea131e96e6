/* cooc/builder where a sample weighs more than its expectation: up to eight times that is counted,
 * what passes the units is refused, by one process and by every one of a group. */
#include "comm_threads.h"
#include "cooc_compare.h"
#include "io_support.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "small_corpus.h"

enum { RARE = 1000, SEEDS = 20000 };

/* A plan of three events of weight 1 comes once in `rare`; the other one weighs next to nothing. */
static void rare_plan(const char *path, int rare, cs_plan_file *file, cs_objective *objective)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "{\"plans\": [{\"probability\": %.17g, \"groups\": [0, 1, 1, 1], "
                   "\"weights\": [0, 1e-9, 1e-9, 1e-9]}, {\"probability\": %.17g, "
                   "\"groups\": [0, 1, 1, 1], \"weights\": [0, 1, 1, 1]}]}",
                   1 - 1.0 / rare, 1.0 / rare);
    plan_write(path, text);
    *objective = cs_objective_default(CS_OBJ_FILE);
    OK(cs_objective_of_file(path, file, objective));
}

/* The first seed from o->seed on for which one draw of one document is the rare plan: a build that
 * is refused, or whose mass is about three. */
static void find_rare(const cs_corpus *corpus, cs_cooc_options *o)
{
    for (; o->seed < SEEDS; ++o->seed) {
        CS_AUTO(cs_cooc) m = {0};
        cs_status status = cs_cooc_build(corpus, o, &m);
        const double all = m.mass + m.dropped_mass;
        cs_reason_clear();
        if (status != CS_OK || all > 1) {
            return;
        }
    }
    fail_msg("no seed draws the rare plan");
}

/* One draw of a plan that has probability 1 / rare weighs `rare` times the expectation. Units
 * suffice for eight times as much, and 2^63 of them for less than 64 times. */
TEST_IN_DIR(samples_that_pass_the_units_are_refused)
{
    static const struct {
        int rare;
        bool refused;
    } cases[] = {{2, false}, {4, false}, {7, false}, {64, true}, {RARE, true}};
    int64_t length = 4;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &length, 5, 2, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_cooc_options o = {.threads = 1, .draws = 1};
        CS_AUTO(cs_plan_file) file = {0};
        rare_plan(in_dir(state, "plans.json"), cases[i].rare, &file, &o.objective);
        OK(cs_context_parse("nearest:1", &o.context));
        find_rare(&corpus, &o);
        if (cases[i].refused) {
            assert_build_fails(&corpus, &o, CS_ERR_INPUT,
                               "sampled plans have far more mass than expected: it exceeds");
        } else {
            AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
            assert_true(fabs(m.mass - 3) < 1e-7 && m.dropped_mass == 0);
            assert_int_equal(m.contributions, 3);
            assert_consistent(&m);
        }
    }
}

/* The documents share a block, which rank 0 counts; all ranks say what it has found. */
TEST_IN_DIR(all_ranks_refuse_what_one_has_found)
{
    int64_t length[] = {4, 4, 4};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 5, 2, 1);
    cs_cooc all[MOST_RANKS] = {0}, zero = {0};
    build_job job = {.corpus = &corpus, .options = {.threads = 1, .draws = 1}, .result = all};
    CS_AUTO(cs_plan_file) file = {0};
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    rare_plan(in_dir(state, "plans.json"), RARE, &file, &job.options.objective);
    OK(cs_context_parse("nearest:1", &job.options.context));
    find_rare(&corpus, &job.options);
    assert_build_fails(&corpus, &job.options, CS_ERR_INPUT, "have far more mass than expected");
    for (int ranks = 1; ranks <= 3; ++ranks) {
        (void)run_ranks(ranks, build_rank, &job, status, reason);
        assert_each(r, 0, ranks, status[r] == CS_ERR_INPUT);
        assert_each(r, 0, ranks, strstr(reason[r], "have far more mass than expected") != NULL);
        assert_each(r, 0, ranks, memcmp(&all[r], &zero, sizeof zero) == 0);
    }
}
