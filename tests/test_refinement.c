/* The refinement inequality: the order of contexts against every pair of events, spectra and forms
 * against matrices made by hand, an unordered pair that violates the inequality, and dropped
 * events. */
#include "analysis/theorems/refinement_pairs.h"
#include "analysis/theorems/theorems.h"
#include "context_support.h"
#include "io_support.h"
#include "linalg/dense.h"
#include "model_support.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "statement_support.h"

enum { VOCAB = 5, CASES = 12, MOST = 400 };

/* nearest is given by construction */
static const struct {
    const char *text;
    bool given;
} cases[CASES] = {{"document", false}, {"document", true},   {"each:2", false},
                  {"each:2", true},    {"nearest:1", false}, {"nearest:2", false},
                  {"all", false},      {"all", true},        {"unique", false},
                  {"unique", true},    {"each:1", false},    {"nearest:3", false}};

enum { DOCUMENT, DOCUMENT_K, EACH, EACH_K, NEAREST_1, NEAREST_2, ALL, ALL_K, UNIQUE, UNIQUE_K };

static void contexts(cs_context context[CASES])
{
    for (int c = 0; c < CASES; ++c) {
        OK(cs_context_parse(cases[c].text, &context[c]));
        context[c].given = context[c].given || cases[c].given;
    }
}

/* --- by hand ---------------------------------------------------------------------------------- */

/* Events in the order of sequences, each with its rows as texts. */
typedef struct {
    int64_t events;
    int rows[MOST];
    char row[MOST][6][CONTEXT_ROW_TEXT + 16];
    int32_t token[MOST];
    double weight[MOST];
} listing;

typedef struct {
    listing *l;
    context_table t;
    int64_t base, inner, sequence;
    bool unique;
} reader;

static cs_status read_row(void *ctx, const cs_contribution *c)
{
    reader *r = ctx;
    listing *l = r->l;
    const int64_t e = r->base + c->ordinal / r->inner;
    assert_true(e < MOST && l->rows[e] < 6);
    r->t.count = 0;
    OK(context_collect(&r->t, c));
    char *row = l->row[e][l->rows[e]++];
    (void)snprintf(row, sizeof l->row[e][0], "%s", r->t.entry[0].row);
    if (r->unique || r->t.mode == CS_CONTEXT_DOCUMENT) {
        (void)snprintf(row + strlen(row), 8, "#%d", (int)r->sequence);
    }
    l->token[e] = c->token;
    l->weight[e] += c->weight;
    return CS_OK;
}

/* Every document is a sequence. */
static void list_events(const cs_corpus *corpus, const cs_objective *o, const cs_context *context,
                        listing *l)
{
    memset(l, 0, sizeof *l);
    AUTO_OK(cs_sequences, s, cs_sequences_of(corpus, 0, 0, &s));
    for (int64_t i = 0; i < s.count; ++i) {
        bool exists = false;
        OK(cs_objective_exists(o, s.length[i], &exists));
        if (!exists) {
            continue;
        }
        cs_sequences one = {1, 0, s.start + i, s.length + i, s.document + i};
        cs_context_options options = {.objective = o, .context = *context, .listed = true};
        const bool unique = cs_context_gram(context);
        options.context.mode = unique ? CS_CONTEXT_ALL : context->mode;
        AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&one, &options, &plan));
        reader r = {.l = l,
                    .t = {.given = cs_context_given(context),
                          .mode = options.context.mode,
                          .last_ordinal = -1},
                    .base = l->events,
                    .inner = cs_context_table_of(plan, s.length[i])->inner,
                    .sequence = i,
                    .unique = unique};
        const int64_t before = l->events;
        OK(cs_context_visit(plan, corpus, &one, 0, read_row, &r, NULL));
        l->events += cs_context_outer(plan, s.length[i]);
        for (int64_t e = before; e < l->events; ++e) {
            l->weight[e] *= cs_context_predicted(plan, s.length[i]);
        }
        free(r.t.entry);
    }
}

static bool same_rows(const listing *l, int64_t e, int64_t f)
{
    bool same = l->rows[e] == l->rows[f];
    for (int i = 0; same && i < l->rows[e]; ++i) { /* in any order */
        bool found = ANY(j, 0, l->rows[f], strcmp(l->row[e][i], l->row[f][j]) == 0);
        same = found;
    }
    return same;
}

/* For every two events that share a row of the finer: the same rows of the coarser, or, place by
 * place, the same row. */
static bool coarser_by_hand(const listing *coarse, const listing *fine)
{
    bool paired = true, is = true;
    for (int64_t e = 0; e < fine->events; ++e) {
        paired = paired && coarse->rows[e] == fine->rows[e];
    }
    for (int64_t e = 0; e < fine->events && is; ++e) {
        for (int64_t f = 0; f < fine->events && is; ++f) {
            for (int i = 0; i < fine->rows[e]; ++i) {
                for (int j = 0; j < fine->rows[f]; ++j) {
                    if (strcmp(fine->row[e][i], fine->row[f][j]) == 0) {
                        is = is && (paired ? strcmp(coarse->row[e][i], coarse->row[f][j]) == 0
                                           : same_rows(coarse, e, f));
                    }
                }
            }
        }
    }
    return is;
}

/* sigma descending, and Abar^T Abar, from the events. */
static void spectrum_by_hand(const listing *l, double sigma[VOCAB], double form[VOCAB * VOCAB])
{
    static const char *name[6 * MOST];
    static double a[6 * MOST][VOCAB];
    double row[6 * MOST] = {0}, col[VOCAB] = {0};
    int rows = 0;
    memset(a, 0, sizeof a);
    for (int64_t e = 0; e < l->events; ++e) {
        for (int i = 0; i < l->rows[e]; ++i) {
            int at = 0;
            while (at < rows && strcmp(name[at], l->row[e][i]) != 0) {
                ++at;
            }
            name[at] = l->row[e][i];
            rows += at == rows;
            const double w = l->weight[e] / l->rows[e];
            a[at][l->token[e]] += w;
            row[at] += w;
            col[l->token[e]] += w;
        }
    }
    memset(form, 0, VOCAB * VOCAB * sizeof *form);
    for (int r = 0; r < rows; ++r) {
        for (int u = 0; u < VOCAB; ++u) {
            for (int v = 0; v < VOCAB; ++v) {
                form[u * VOCAB + v] += col[u] > 0 && col[v] > 0
                                           ? a[r][u] * a[r][v] / row[r] / sqrt(col[u] * col[v])
                                           : 0;
            }
        }
    }
    double value[VOCAB];
    AUTO_OK(cs_dense, m, cs_dense_init(&m, VOCAB, VOCAB));
    memcpy(m.data, form, VOCAB * VOCAB * sizeof *form);
    OK(cs_dense_eigh(&m, value, true));
    for (int j = 0; j < VOCAB; ++j) {
        sigma[j] = sqrt(fmax(value[VOCAB - 1 - j], 0));
    }
}

static double smallest(const double *fine, const double *coarse)
{
    double value[VOCAB];
    AUTO_OK(cs_dense, m, cs_dense_init(&m, VOCAB, VOCAB));
    for (int i = 0; i < VOCAB * VOCAB; ++i) {
        m.data[i] = fine[i] - coarse[i];
    }
    OK(cs_dense_eigh(&m, value, true));
    return value[0];
}

static cs_corpus corpus_of(uint64_t seed)
{
    static const int64_t length[] = {4, 5, 3, 5, 4, 2, 5};
    return small_corpus(7, length, VOCAB, 2, seed);
}

static const char *const specs[] = {"ar", "masked(unmasked=2)", "group-ar(t=2)",
                                    "mix:0.3*ar+0.7*permuted-ar,event-weight=mask"};

/* The order of every pair, its worst j, sides and form; the inequality itself, by hand. */
TEST(orders_and_sides_are_those_of_all_events)
{
    static listing l[CASES];
    int64_t ties = 0;
    int in_order = 0, broken = 0;
    for (int trial = 0; trial < 8; ++trial) {
        CS_AUTO(cs_corpus) corpus = corpus_of((uint64_t)trial + 1);
        CS_AUTO(cs_plan_file) file = {0};
        cs_cooc_options options = {.objective = plan_held(specs[trial % 4], &file), .threads = 2};
        const cs_theorem_input in = {.threads = 1};
        cs_context context[CASES];
        double sigma[CASES][VOCAB], form[CASES][VOCAB * VOCAB];
        contexts(context);
        AUTO_OK(cs_refined_pairs, r,
                cs_refined_pairs_of(&corpus, &options, CASES, context, &in, &r));
        for (int c = 0; c < CASES; ++c) {
            list_events(&corpus, &options.objective, &context[c], &l[c]);
            spectrum_by_hand(&l[c], sigma[c], form[c]);
            assert_int_equal(l[c].events, r.events);
        }
        for (int p = 0; p < CASES * CASES; ++p) {
            const int c = p / CASES, f = p % CASES;
            const cs_refined *x = &r.pair[p];
            if (c == f) {
                continue;
            }
            assert_int_equal(x->ordered, coarser_by_hand(&l[c], &l[f]));
            assert_true(x->converged);
            double least = INFINITY, of_differing = INFINITY;
            for (int j = 0; j < VOCAB; ++j) {
                const double d = sigma[f][j] - sigma[c][j];
                if (sigma[c][j] >= 1e-6 && fmin(sigma[c][j], sigma[f][j]) <= 1 - 1e-12) {
                    least = fmin(least, d);
                    of_differing = fabs(d) < 1e-9 ? of_differing : fmin(of_differing, d);
                }
            }
            if (x->j > 0) {
                const double a = sigma[c][x->j - 1], b = sigma[f][x->j - 1];
                assert_true(fabs(x->coarse * x->coarse - a * a) < 1e-13);
                assert_true(fabs(x->fine * x->fine - b * b) < 1e-13);
                assert_true(fabs(x->fine - x->coarse -
                                 (isfinite(of_differing) ? of_differing : least)) < 1e-6);
                ties += x->equal;
                assert_true(x->error < 1e-5);
            }
            const double low = smallest(form[f], form[c]);
            assert_true(fabs(x->loewner - low) < 1e-13 && x->loewner_error < 1e-12);
            if (x->ordered && x->marginals < 1e-12) {
                assert_true(least > -1e-12 && low > -1e-14);
                ++in_order;
            } else if (x->j > 0 && x->coarse > x->fine + x->error) {
                ++broken; /* what is in no order can break it */
            }
        }
    }
    assert_true(in_order > 100 && broken > 50 && ties > 0);
}

/* Values without the rest: the block solver's leading ones, with a probe for what it missed. */
TEST(large_matrices_have_their_leading_values)
{
    static const char *const text[] = {"nearest:1", "all", "unique"};
    ARRAY(int64_t, length, 1500, i, 4);
    CS_AUTO(cs_corpus) corpus = small_corpus(1500, length, 900, 0, 3);
    const cs_cooc_options options = {.objective = plan_objective("masked:unmasked=2"),
                                     .threads = 2};
    const cs_theorem_input in = {.triplets = 12};
    cs_context context[4];
    for (int c = 0; c < 4; ++c) {
        OK(cs_context_parse(text[c < 3 ? c : 1], &context[c]));
    }
    context[3].given = true; /* all+k */
    AUTO_OK(cs_refined_pairs, r, cs_refined_pairs_of(&corpus, &options, 4, context, &in, &r));
    static const bool ordered[4][4] = {{0, 0, 0, 1}, {0, 0, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    for (int p = 0; p < 16; ++p) {
        const cs_refined *x = &r.pair[p];
        assert_int_equal(x->ordered, ordered[p / 4][p % 4]);
        assert_true(p % 5 == 0 || (x->converged && isnan(x->loewner)));
        assert_true(!x->ordered || (x->compared >= 2 && x->fine - x->coarse >= -x->error));
        assert_true(!x->ordered || x->error < 1e-6);
    }
    assert_string_equal(r.name[3], "all+k");
}

/* --- statements ------------------------------------------------------------------------------- */

static const cs_theorem *const entry = &cs_entry_refinement;

TEST(a_toy_is_all_its_sequences)
{
    cs_toy toy = {plan_objective("masked:unmasked=2"), 2, 4, 2, false, false, 0};
    const cs_theorem_input in = {.toy = &toy};
    cs_result *result = cs_result_new();
    cs_theorem_report report = {.rows = rows_of(result)};
    OK(entry->run[CS_ON_TOY](&in, &report));
    /* theorem-4-2.md: blind sqrt(m / ((s-m)(s-1))) at j = r + 1, given 1. */
    const cs_statement *s = statement_of(&report.statements, "refinement-all-all+k", CS_CORRECTED);
    assert_int_equal(s->verdict, CS_PASS);
    assert_true(fabs(s->lhs - 1 / sqrt(3)) < 1e-12 && fabs(s->rhs - 1) < 1e-12);
    s = statement_of(&report.statements, "refinement-loewner", CS_CORRECTED);
    assert_true(s->verdict == CS_PASS && detail_of(s, "pairs") > 20);
    for (int64_t i = 0; i < report.statements.count; ++i) {
        s = &report.statements.item[i];
        assert_true(s->verdict == CS_PASS || s->attained);
    }
    assert_int_equal(rows_in(result), 11 * 10);
    cs_result_free(&result);
    cs_statements_free(&report.statements);
    report.rows = NULL;
    toy.length = 60;
    toy.objective = plan_objective("ar");
    assert_fails(entry->run[CS_ON_TOY](&in, &report), CS_ERR_USAGE, "sequences of 60 tokens");
    cs_statements_free(&report.statements);
}

/* each:2 has no row where no unmasked token is within 2: other marginals, no inequality. */
TEST(dropped_events_leave_it_open)
{
    int64_t length[] = {7, 7, 7, 7};
    CS_AUTO(cs_corpus) corpus = small_corpus(4, length, VOCAB, 0, 2);
    const cs_cooc_options build = {.objective = plan_objective("masked:unmasked=1")};
    const cs_theorem_input in = {.corpus = &corpus, .corpus_name = "small", .build = &build};
    cs_theorem_report report = {.rows = NULL};
    OK(entry->run[CS_ON_CORPUS](&in, &report));
    const cs_statement *s =
        statement_of(&report.statements, "refinement-each:2-all+k", CS_CORRECTED);
    assert_int_equal(s->verdict, CS_UNSPECIFIED);
    assert_non_null(s->assumptions);
    s = statement_of(&report.statements, "refinement-each:2-each:2+k", CS_CORRECTED);
    assert_int_equal(s->verdict, CS_PASS); /* both drop the same */
    cs_statements_free(&report.statements);
}

TEST(random_texts_obey_it)
{
    const cs_theorem_input in = {.seed = 7};
    cs_theorem_report report = {.rows = NULL};
    OK(entry->run[CS_ON_NOTHING](&in, &report));
    const cs_statement *s = statement_of(&report.statements, "refinement-random", CS_CORRECTED);
    assert_true(s->verdict == CS_PASS && s->example && detail_of(s, "pairs") > 500);
    s = statement_of(&report.statements, "refinement-random-loewner", CS_CORRECTED);
    assert_true(s->verdict == CS_PASS && s->rhs < 1e-12);
    cs_statements_free(&report.statements);
}

static cs_status small_study(const char *path)
{
    (void)path;
    cs_toy toy = {cs_objective_default(CS_OBJ_AR), 1, 2, 2, false, false, 0};
    const cs_theorem_input in = {.toy = &toy, .threads = 1};
    cs_theorem_report report = {.rows = NULL};
    cs_status status = entry->run[CS_ON_TOY](&in, &report);
    cs_statements_free(&report.statements);
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(small_study, "");
}
