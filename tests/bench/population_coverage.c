/* Coverage of the intervals of the distinct-document estimate. Corpora are drawn from synthetic
 * languages whose population is known (text/synthetic.h): independent words, and Markov chains of two
 * strengths. Prints the tables of docs/results/population.md: sums, and sigma_j and tails.
 *
 *     make build/release/tests/bench/population_coverage
 *     build/release/tests/bench/population_coverage [CORPORA [BLOCKS [SETTING...]]]
 *
 * Documents have 16 tokens, windows 4 (ar) or 3 (one token of three shown, blind and given) with
 * stride 1. The truth of `ar` is taken of windows of 2: rows that end in the same word of a chain are
 * proportional, so that longer ones have the same singular values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/population_rows.h"
#include "base/auto.h"
#include "base/mem.h"
#include "plan/spec.h"
#include "stats/moderated.h"
#include "text/synthetic.h"

typedef struct {
    const char *name, *source;
} language;

static void check(cs_status status)
{
    if (status != CS_OK) {
        (void)fprintf(stderr, "population_coverage: %s\n", cs_reason());
        exit(1);
    }
}

static const cs_population_row *row_of(const cs_population_rows *rows, const char *metric,
                                       const char *estimate)
{
    for (int64_t i = 0; i < rows->count; ++i) {
        if (strcmp(rows->row[i].metric, metric) == 0 &&
            strcmp(rows->row[i].estimate, estimate) == 0) {
            return &rows->row[i];
        }
    }
    abort();
}

/* The values of COUNT metrics for the language's own matrix. */
static void truth_of(const language *l, cs_cooc_options build, const char *const *metric, int count,
                     double *truth)
{
    const cs_connectivity_options spectrum = {.threads = 1, .k = CS_LEADING + 1};
    CS_AUTO(cs_corpus) population = {0};
    CS_AUTO(cs_cooc) cooc = {0};
    CS_AUTO(cs_population_rows) rows = {0};
    build.max_length = build.objective.kind == CS_OBJ_AR ? 2 : build.max_length;
    check(cs_synthetic_population_of(l->source, build.max_length, build.stride, &population));
    check(cs_cooc_build(&population, &build, &cooc));
    check(cs_population_rows_of_matrix(&cooc.matrix.a, &spectrum, &rows));
    for (int j = 0; j < count; ++j) {
        truth[j] = row_of(&rows, metric[j], "plug-in")->value;
    }
}

/* --- sigma_j and tails ------------------------------------------------------------------------ */

static const char *const leading[] = {"sigma_2", "sigma_4", "sigma_8", "tail_1", "tail_4"};
enum { LEADING = sizeof leading / sizeof *leading };

static cs_corpus draw(const language *l, int64_t documents, int sample)
{
    cs_corpus corpus = {0};
    CS_AUTO_FREE char *source =
        cs_format("%s,documents=%lld,sample=%d", l->source, (long long)documents, sample);
    check(source ? cs_corpus_load(source, NULL, &corpus) : CS_ERR_MEMORY);
    return corpus;
}

/* Over the corpora of one setting. */
typedef struct {
    double value, square, middle, plug_in, cross_fit, beyond, beyond_square;
    int known; /* extrapolated */
    /* Intervals that contain the truth: of the value, value -+ width, of the extrapolated. */
    int covered, plain, held;
    int below; /* intervals that end below the truth */
} tally;

static void count(tally *t, const cs_population_rows *rows, const char *metric,
                  const char *extrapolated, double truth, double quantile)
{
    const cs_population_row *r = row_of(rows, metric, "distinct-document");
    t->value += r->value;
    t->square += r->value * r->value;
    t->middle += sqrt(r->low * r->high);
    t->plug_in += row_of(rows, metric, "plug-in")->value;
    t->cross_fit += row_of(rows, metric, "cross-fit")->value;
    t->covered += r->low <= truth && truth <= r->high;
    t->below += r->high < truth;
    t->plain += fabs(r->value - truth) <= quantile * r->se;
    r = row_of(rows, extrapolated, "distinct-document");
    if (!isnan(r->value)) { /* known: the second half met contexts, or none is unseen */
        t->known += 1;
        t->beyond += r->value;
        t->beyond_square += r->value * r->value;
        t->held += r->low <= truth && truth <= r->high;
    }
}

static cs_population_plan plan_of(const char *spec, bool given, int64_t blocks)
{
    cs_population_plan plan = {
        .build = {.threads = 1, .stride = 1, .max_length = *spec == 'a' ? 4 : 3},
        .blocks = blocks,
        .seed = 1};
    check(cs_objective_parse(spec, &plan.build.objective));
    check(cs_context_parse("all", &plan.build.context));
    plan.build.context.given = given;
    return plan;
}

static const char *context_name(const char *spec, bool given)
{
    return *spec == 'a' ? "" : given ? ", given" : ", blind";
}

static void run_leading(const language *l, const char *spec, bool given, int64_t documents,
                        int corpora, int64_t blocks)
{
    static const char *const estimate[] = {"cross-fit", "distinct-document"};
    double truth[LEADING], value[2][LEADING] = {{0}}, square[LEADING] = {0}, low[LEADING] = {0},
                           high[LEADING] = {0};
    int covered[LEADING] = {0}, below[LEADING] = {0};
    cs_population_plan plan = plan_of(spec, given, blocks);
    plan.spectrum = (cs_connectivity_options){.threads = 1, .k = CS_LEADING + 1};
    truth_of(l, plan.build, leading, LEADING, truth);
    for (int i = 0; i < corpora; ++i) {
        CS_AUTO(cs_corpus) corpus = draw(l, documents, i);
        CS_AUTO(cs_population_rows) rows = {0};
        check(cs_population_rows_of(&corpus, &plan, &rows));
        for (int j = 0; j < LEADING; ++j) {
            const cs_population_row *r = row_of(&rows, leading[j], estimate[1]);
            value[0][j] += row_of(&rows, leading[j], estimate[0])->value / corpora;
            value[1][j] += r->value / corpora;
            square[j] += r->value * r->value / corpora;
            low[j] += r->low / corpora;
            high[j] += r->high / corpora;
            covered[j] += r->low <= truth[j] && truth[j] <= r->high;
            below[j] += r->high < truth[j];
        }
    }
    for (int j = 0; j < LEADING; ++j) {
        printf("| %s | %s%s | %lld | %s | %.3f | %.3f | %.3f +- %.3f | %.3f to %.3f | %.1f %% | "
               "%.1f %% |\n",
               l->name, spec, context_name(spec, given), (long long)documents, leading[j], truth[j],
               value[0][j], value[1][j], sqrt(fmax(0, square[j] - value[1][j] * value[1][j])),
               low[j], high[j], 100.0 * covered[j] / corpora, 100.0 * below[j] / corpora);
    }
    (void)fflush(stdout);
}

static void run(const language *l, const char *spec, bool given, int64_t documents, int corpora,
                int64_t blocks)
{
    static const char *const sums[] = {"sum_sigma2", "sum_sigma4"};
    double truth[2], seen = 0;
    tally t[2] = {0};
    cs_population_plan plan = plan_of(spec, given, blocks);
    plan.sums = true;
    plan.sizes = 1;
    truth_of(l, plan.build, sums, 2, truth);
    for (int i = 0; i < corpora; ++i) {
        CS_AUTO(cs_corpus) corpus = draw(l, documents, i);
        CS_AUTO(cs_population_rows) rows = {0};
        check(cs_population_rows_of(&corpus, &plan, &rows));
        seen += row_of(&rows, "mass_seen_halves", "distinct-document")->value / corpora;
        const double quantile = cs_student_width(0.95, (double)(blocks - 1));
        count(&t[0], &rows, "sum_sigma2", "sum_sigma2_extrapolated", truth[0], quantile);
        count(&t[1], &rows, "sum_sigma4", "sum_sigma4_extrapolated", truth[1], quantile);
    }
    for (int j = 0; j < 2; ++j) {
        const double mean = t[j].value / corpora, beyond = t[j].beyond / t[j].known;
        printf("| %s | %s%s | %lld | %.2f | sigma^%d | %.3f | %.2f | %.3f | %.3f +- %.3f | %.3f | "
               "%.1f %% | %.1f %% | %.1f %% | %.3f +- %.3f | %.1f %% |\n",
               l->name, spec, context_name(spec, given), (long long)documents, seen, 2 * j + 2,
               truth[j], t[j].plug_in / corpora, t[j].cross_fit / corpora, mean,
               sqrt(fmax(0, t[j].square / corpora - mean * mean)), t[j].middle / corpora,
               100.0 * t[j].covered / corpora, 100.0 * t[j].below / corpora,
               100.0 * t[j].plain / corpora, beyond,
               sqrt(fmax(0, t[j].beyond_square / t[j].known - beyond * beyond)),
               100.0 * t[j].held / t[j].known);
    }
    (void)fflush(stdout);
}

int main(int count_of, char **word)
{
    const int corpora = count_of > 1 ? atoi(word[1]) : 300;
    const int64_t blocks = count_of > 2 ? atoi(word[2]) : 20;
    static const struct {
        int language, documents;
        const char *spec;
        bool given;
    } setting[] = {{0, 40, "ar", false},
                   {0, 200, "ar", false},
                   {0, 1000, "ar", false},
                   {0, 100, "masked:unmasked=1", false},
                   {1, 40, "ar", false},
                   {1, 200, "ar", false},
                   {1, 1000, "ar", false},
                   {2, 50, "ar", false},
                   {2, 100, "ar", false},
                   {2, 400, "ar", false},
                   {2, 1600, "ar", false},
                   {2, 400, "masked:unmasked=1", false},
                   {2, 400, "masked:unmasked=1", true},
                   {3, 100, "ar", false},
                   {3, 400, "ar", false},
                   {2, 100, "masked:unmasked=1", true},
                   {0, 40, "ar", false}, /* FIRST_LEADING */
                   {1, 200, "ar", false},
                   {2, 100, "ar", false},
                   {2, 400, "ar", false},
                   {2, 100, "masked:unmasked=1", false},
                   {2, 100, "masked:unmasked=1", true}};
    enum { FIRST_LEADING = 16 }; /* from here on the second table */
    static const language languages[] = {
        {"independent, 60 words", "markov:order=0,concentration=inf,states=60"},
        {"weak chain, 40 states", "markov:states=40,concentration=2"},
        {"strong chain, 40 states", "markov:states=40,concentration=0.1"},
        {"strong chain, 150 states", "markov:states=150,concentration=0.1"}};
    int second = 0;
    printf("%d corpora a line, %lld blocks.\n\n", corpora, (long long)blocks);
    printf("| synthetic language | objective | documents | mass seen (halves) | sum of | truth | "
           "plug-in | cross-fit | distinct-document (sd) | middle of the interval | interval holds "
           "truth | "
           "ends below | value -+ t se holds truth | extrapolated (sd) | its interval holds "
           "truth |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof setting / sizeof *setting; ++i) {
        bool wanted = count_of <= 3;
        for (int k = 3; k < count_of; ++k) {
            wanted = wanted || (size_t)atoi(word[k]) == i + 1;
        }
        if (!wanted) {
            continue;
        }
        const bool leads = i >= FIRST_LEADING;
        if (leads && !second++) {
            printf("\n| synthetic language | objective | documents | number | truth | "
                   "cross-fit | distinct-document (sd) | interval, mean ends | holds truth | ends "
                   "below |\n"
                   "|---|---|---|---|---|---|---|---|---|---|\n");
        }
        (leads ? run_leading : run)(&languages[setting[i].language], setting[i].spec,
                                    setting[i].given, setting[i].documents, corpora, blocks);
    }
    return 0;
}
