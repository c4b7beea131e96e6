/* The progress that src/cooc reports: every stage counts up to its total, in order; and an
 * interrupt raised in any stage ends the work with nothing made. Sums over blocks of a large Gram
 * matrix. */
#include "base/threads.h"
#include "cooc/builder.h"
#include "cooc/moments.h"
#include "cooc/ranked.h"
#include "cooc_matrices.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "spectrum_support.h"

/* The reports of one stage; those of others are counted. */
typedef struct {
    const char *stage;
    int64_t step; /* from one report to the next; 0: any */
    int64_t reports, others, first, last, total;
    bool again; /* a stage may begin anew once it has reported all but its last step */
    bool stops; /* raises the interrupt at the second report, or the first of a stage of one */
} listener;

static void listen(void *ctx, const char *stage, int64_t done, int64_t total)
{
    listener *l = ctx;
    if (strcmp(stage, l->stage) != 0) {
        ++l->others;
        return;
    }
    assert_true(l->reports == 0 || total == l->total);
    const bool begins = l->reports == 0 || (l->again && done == 0 && l->last == total - 1);
    assert_true(begins || (l->step > 0 ? done == l->last + l->step : done > l->last));
    assert_true(done >= 0 && (total == 0 || done <= total));
    l->first = l->reports == 0 ? done : l->first;
    l->last = done;
    l->total = total;
    ++l->reports;
    if (l->stops && (total < 2 || l->reports == 2)) {
        cs_interrupt_set();
    }
}

/* --- builds ----------------------------------------------------------------------------------- */

static cs_status build(listener *l, const char *context, int threads, cs_cooc *m)
{
    cs_progress progress = {listen, l};
    cs_cooc_options o = {.threads = threads, .memory_budget = 1 << 26, .progress = &progress};
    CS_AUTO(cs_corpus) corpus = random_corpus(4000, 40, 300, 3);
    OK(cs_objective_parse("ar", &o.objective));
    OK(cs_context_parse(context, &o.context));
    cs_status status = cs_cooc_build(&corpus, &o, m);
    return status;
}

TEST(builds_report_their_stages)
{
    static const struct {
        const char *context, *stage;
        int64_t least, others; /* of reports; -1: any */
    } cases[] = {{"nearest:2", "blocks of sequences", 2, 1},
                 {"nearest:2", "merge", 1, -1},
                 {"each:2", "stream", 1, 1},
                 {"each:2", "rows", 1, 1},
                 {"unique", "stream", 1, 1}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; ++i) {
        const size_t n = i / 2;
        listener l = {.stage = cases[n].stage, .step = 1};
        AUTO_OK(cs_cooc, m, build(&l, cases[n].context, 1 + 2 * (int)(i % 2), &m));
        assert_true(l.reports >= cases[n].least && (cases[n].least > 1 || l.reports == 1));
        assert_true(cases[n].least == 1 ? l.last == 0 && l.total == 0
                                        : l.first == 1 && l.last == l.total);
        assert_true(cases[n].others < 0 || l.others == cases[n].others);
    }
}

/* --- spectra ---------------------------------------------------------------------------------- */

/* Cycles of 2 n and 2 m nodes side by side. */
static cs_csr two_cycles(int64_t n, int64_t m)
{
    cs_csr one[] = {cycle(n), cycle(m)}, two = {0};
    OK(cs_csr_init(&two, n + m, n + m, 2 * (n + m)));
    for (int64_t i = 0; i < n + m; ++i) {
        const cs_csr *from = &one[i >= n];
        two.ptr[i + 1] = two.ptr[i] + 2;
        for (int64_t e = 0; e < 2; ++e) {
            const int64_t of = from->ptr[i < n ? i : i - n] + e;
            two.col[two.ptr[i] + e] = (int32_t)(from->col[of] + (i < n ? 0 : n));
            two.val[two.ptr[i] + e] = from->val[of];
        }
    }
    cs_csr_free(&one[0]);
    cs_csr_free(&one[1]);
    return two;
}

static cs_status spectrum(listener *l, const cs_csr *a, cs_spectrum_options o, cs_spectrum *s)
{
    cs_progress progress = {listen, l};
    o.threads = 1;
    o.seed = 1;
    o.progress = &progress;
    return cs_spectrum_of(a, &o, s);
}

/* Components beyond 600 are solved one after the other; the certificate of inertia counts component
 * by component. */
TEST(spectra_report_their_components)
{
    CS_AUTO(cs_csr) large = two_cycles(601, 601), small = two_cycles(7, 7),
                    mixed = two_cycles(601, 7);
    listener l = {.stage = "components", .step = 1};
    AUTO_OK(cs_spectrum, s, spectrum(&l, &large, (cs_spectrum_options){.k = 4}, &s));
    assert_true(l.reports == 2 && l.first == 0 && l.last == 1 && l.total == 2);
    cs_spectrum_free(&s);
    l = (listener){.stage = "components", .step = 1};
    OK(spectrum(&l, &small, (cs_spectrum_options){.k = 4}, &s));
    assert_int_equal(l.reports, 0);
    cs_spectrum_free(&s);
    l = (listener){.stage = "components", .step = 1}; /* the small one is not solved again */
    OK(spectrum(&l, &mixed, (cs_spectrum_options){.k = 4}, &s));
    assert_true(l.reports == 1 && l.last == 0 && l.total == 1);
    assert_each(j, 0, 4, fabs(s.sigma[j] - (j < 2 ? 1 : cos(acos(-1) / 601))) < CLOSE);
    cs_spectrum_free(&s);
    l = (listener){.stage = "inertia", .step = 1, .again = true};
    OK(spectrum(&l, &small, (cs_spectrum_options){.k = 6, .certify = CS_CERTIFY_INERTIA}, &s));
    assert_true(l.reports % 2 == 0 && l.first == 0 && l.last == 1 && l.total == 2);
    assert_int_equal(s.cert.inertia.state, CS_CERT_PASSED);
}

TEST(sums_of_fourth_powers_report_their_samples_and_items)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 300, 150, 3), abar = normalised(&a), at = {0};
    OK(cs_csr_transpose(&abar, &at));
    for (int64_t samples = 2; samples < 20; samples += 7) { /* eight at a time */
        listener l = {.stage = "fourth moment, samples"};
        cs_progress progress = {listen, &l};
        const cs_moment4_sampling o = {.samples = samples, .seed = 1, .progress = &progress};
        cs_sum4 sum = {0};
        OK(cs_moment4_estimate(&abar, &at, &o, &sum));
        assert_int_equal(l.reports, (samples + 7) / 8);
        assert_true(l.first == (samples < 8 ? samples : 8) && l.last == samples);
        assert_true(l.total == samples && l.others == 0);
    }
    listener l = {.stage = "fourth moment", .step = 1};
    cs_progress progress = {listen, &l};
    double sum = 0;
    OK(cs_moment4(&abar, 1, &progress, &sum));
    assert_true(l.first == 1 && l.last == l.total && l.others == 0);
}

/* --- interrupts ------------------------------------------------------------------------------- */

/* "stage context" */
static cs_status interrupted_build(const char *what)
{
    const char *stage = strchr(what, ' ') + 1;
    char context[16] = "";
    memcpy(context, what, (size_t)(stage - what - 1));
    listener l = {.stage = stage, .stops = true};
    cs_cooc m = {0};
    cs_status status = build(&l, context, 2, &m);
    return m.key || m.matrix.a.ptr || l.reports == 0 ? CS_OK : status;
}

static cs_status interrupted_spectrum(const char *stage)
{
    listener l = {.stage = stage, .stops = true};
    CS_AUTO(cs_csr) a = strcmp(stage, "components") == 0 ? two_cycles(601, 601) : two_cycles(7, 7);
    cs_spectrum s = {0};
    const cs_spectrum_options o = {.k = 6, .certify = CS_CERTIFY_INERTIA};
    cs_status status = spectrum(&l, &a, o, &s);
    return s.sigma || l.reports == 0 ? CS_OK : status;
}

/* The flag cannot be lowered, so a child raises it. */
TEST(interrupts_end_every_stage)
{
    static const char *const builds[] = {"nearest:2 blocks of sequences", "nearest:2 merge",
                                         "each:2 stream", "each:2 rows", "unique stream"};
    for (size_t i = 0; i < sizeof builds / sizeof *builds; ++i) {
        assert_int_equal(in_child(interrupted_build, builds[i], "interrupted"), CS_ERR_INTERRUPT);
    }
    assert_int_equal(in_child(interrupted_spectrum, "components", "interrupted"), CS_ERR_INTERRUPT);
    assert_int_equal(in_child(interrupted_spectrum, "inertia", "interrupted"), CS_ERR_INTERRUPT);
}

/* --- a large Gram matrix ---------------------------------------------------------------------- */

/* Of 1500 columns 2^20 / 1500 rows of the Gram matrix are summed at a time. A cycle has the values
 * |cos(pi j / n)|, whose fourth powers sum to 3 n / 8. */
TEST_IN_DIR(blocks_of_a_gram_matrix_are_summed)
{
    enum { N = 1500 };
    const char *path = in_dir(state, "cycle.npz");
    CS_AUTO(cs_csr) a = cycle(N);
    cs_comm alone = {.ranks = 1, .neighbours = 1};
    listener l = {.stage = "fourth moment"};
    cs_progress progress = {listen, &l};
    const cs_spectrum_options o = {.k = 2,
                                   .threads = 1,
                                   .moment4 = true,
                                   .certify = CS_CERTIFY_MOMENTS,
                                   .progress = &progress,
                                   .seed = 1};
    OK(cs_matrix_write_npz(path, &a, true));
    AUTO_OK(cs_shard, shard, cs_shard_read(&alone, path, true, &shard));
    AUTO_OK(cs_spectrum, s, cs_ranked_spectrum(&shard, &o, &s));
    assert_true(fabs(s.moments.sum_sigma4 - 3.0 * N / 8) < 1e-10);
    assert_true(fabs(s.moments.sum_sigma2 - N / 2.0) < 1e-10);
    assert_true(l.reports == 3 && l.first == (1 << 20) / N && l.last == N && l.total == N);
}
