/* Do the intervals of the distinct-document estimate cover what they are about? Corpora are drawn
 * from laws whose matrix is known: independent words, and Markov chains of two strengths. Prints the
 * table of docs/results/population.md.
 *
 *     make build/release/tests/bench/population_coverage
 *     build/release/tests/bench/population_coverage [CORPORA [BLOCKS [LINE...]]]
 *
 * Documents have 16 tokens, windows 4 (ar) or 3 (one token of three shown, blind and given) with
 * stride 1. Of a stationary chain with law pi and transitions P the matrices are exact: `ar` has the
 * rows P(.|last token), weight pi; of (x, k) given and x shown at i, the targets have P^|k - i|, its
 * reversal where k < i; blind rows mix the two targets. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/population_rows.h"
#include "base/rng.h"
#include "linalg/dense.h"
#include "plan/spec.h"
#include "stats/student.h"

enum { MOST = 150, TOKENS = 16 };

typedef struct {
    const char *name;
    int states;
    double start[MOST], next[MOST][MOST];
} law;

static void check(cs_status status)
{
    if (status != CS_OK) {
        (void)fprintf(stderr, "population_coverage: %s\n", cs_reason());
        exit(1);
    }
}

/* A gamma variable of shape a, so that some of them in proportion are Dirichlet's (Marsaglia and
 * Tsang, ACM TOMS 26, 2000). */
static double gamma_of(cs_rng *rng, double a)
{
    const double lift = a < 1 ? pow(cs_rng_uniform(rng), 1 / a) : 1,
                 d = (a < 1 ? a + 1 : a) - 1.0 / 3;
    for (;;) {
        const double x = cs_rng_normal(rng), v = pow(1 + x / sqrt(9 * d), 3);
        if (v > 0 && log(cs_rng_uniform(rng)) < x * x / 2 + d - d * v + d * log(v)) {
            return lift * d * v;
        }
    }
}

/* Transitions are Dirichlet's around Zipf's law, the nearer to it the larger `even`; 0: equal to it. */
static law law_of(const char *name, int states, double even)
{
    law l = {.name = name, .states = states};
    double zipf[MOST], total = 0;
    for (int s = 0; s < states; ++s) {
        zipf[s] = 1 / (s + 2.0);
        total += zipf[s];
    }
    for (int s = 0; s < states; ++s) {
        double sum = 0;
        cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, (uint64_t)s);
        l.start[s] = zipf[s] / total;
        for (int t = 0; t < states; ++t) {
            const double p = zipf[t] / total;
            l.next[s][t] = even > 0 ? gamma_of(&rng, even * states * p + 1e-3) : p;
            sum += l.next[s][t];
        }
        for (int t = 0; t < states; ++t) {
            l.next[s][t] /= sum;
        }
    }
    for (int step = 0; step < 5000; ++step) {
        double at[MOST] = {0};
        for (int e = 0; e < states * states; ++e) {
            at[e % states] += l.start[e / states] * l.next[e / states][e % states];
        }
        memcpy(l.start, at, sizeof at);
    }
    return l;
}

/* Adds weight p p' / sqrt(pi pi') to the Gram matrix. */
static void add_row(const law *l, double weight, const double *p, cs_dense *gram)
{
    for (int e = 0; e < l->states * l->states; ++e) {
        const int u = e / l->states, v = e % l->states;
        gram->data[u + v * gram->ld] += weight * p[u] * p[v] / sqrt(l->start[u] * l->start[v]);
    }
}

/* P(x_k | x_i = s) for d = k - i. */
static void target_law(const law *l, int s, int d, double *out)
{
    double at[MOST] = {0};
    at[s] = 1;
    for (int step = 0; step < abs(d); ++step) {
        double next[MOST] = {0};
        for (int e = 0; e < l->states * l->states; ++e) {
            const int from = e / l->states, to = e % l->states;
            next[to] += at[from] * (d > 0 ? l->next[from][to]
                                          : l->next[to][from] * l->start[to] / l->start[from]);
        }
        memcpy(at, next, sizeof at);
    }
    memcpy(out, at, sizeof at);
}

static void truth_of(const law *l, const char *spec, bool given, double *sum2, double *sum4)
{
    cs_dense gram = {0};
    check(cs_dense_init(&gram, l->states, l->states));
    for (int s = 0; s < l->states; ++s) {
        for (int i = 0; i < 3 && spec[0] == 'm'; ++i) {
            const int k[] = {i == 0 ? 1 : 0, i == 2 ? 1 : 2};
            double p[2][MOST], both[MOST];
            for (int j = 0; j < 2; ++j) {
                target_law(l, s, k[j] - i, p[j]);
                if (given) add_row(l, l->start[s] / 6, p[j], &gram);
            }
            for (int v = 0; v < l->states; ++v) {
                both[v] = (p[0][v] + p[1][v]) / 2;
            }
            if (!given) add_row(l, l->start[s] / 3, both, &gram);
        }
        if (spec[0] == 'a') add_row(l, l->start[s], l->next[s], &gram);
    }
    *sum2 = 0;
    for (int v = 0; v < l->states; ++v) {
        *sum2 += gram.data[v + v * gram.ld];
    }
    *sum4 = cs_dense_squares(&gram);
    cs_dense_free(&gram);
}

static cs_corpus draw(const law *l, int64_t documents, uint64_t seed)
{
    cs_corpus c = {.documents = documents,
                   .tokens = documents * TOKENS,
                   .doc_ptr = calloc((size_t)documents + 1, sizeof *c.doc_ptr),
                   .token = calloc((size_t)(documents * TOKENS), sizeof *c.token),
                   .vocab = l->states};
    for (int64_t d = 0; c.doc_ptr && c.token && d < documents; ++d) {
        cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, (uint64_t)d);
        const double *p = l->start;
        c.doc_ptr[d + 1] = (d + 1) * TOKENS;
        for (int64_t i = d * TOKENS; i < (d + 1) * TOKENS; ++i) {
            double left = cs_rng_uniform(&rng);
            int s = 0;
            for (; s + 1 < l->states && left >= p[s]; ++s) {
                left -= p[s];
            }
            c.token[i] = s;
            p = l->next[s];
        }
    }
    return c;
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

/* Over the corpora of one setting. */
typedef struct {
    double value, square, middle, plug_in, cross_fit, beyond, beyond_square;
    int covered, plain, held, /* intervals that hold the truth: of the value, value -+ width, of the
                                 extrapolated */
        below;                /* those that end below it */
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
    t->beyond += r->value;
    t->beyond_square += r->value * r->value;
    t->held += r->low <= truth && truth <= r->high;
}

static void run(const law *l, const char *spec, bool given, int64_t documents, int corpora,
                int64_t blocks)
{
    double truth[2], seen = 0;
    tally t[2] = {0};
    cs_population_plan plan = {
        .build = {.threads = 1, .stride = 1, .max_length = *spec == 'a' ? 4 : 3},
        .sums = true,
        .sizes = 1,
        .blocks = blocks,
        .seed = 1};
    check(cs_objective_parse(spec, &plan.build.objective));
    check(cs_context_parse("all", &plan.build.context));
    plan.build.context.given = given;
    truth_of(l, spec, given, &truth[0], &truth[1]);
    for (int i = 0; i < corpora; ++i) {
        cs_corpus corpus = draw(l, documents, 1000 + (uint64_t)i);
        cs_population_rows rows = {0};
        check(cs_population_rows_of(&corpus, &plan, &rows));
        seen += row_of(&rows, "mass_seen_halves", "distinct-document")->value / corpora;
        const double quantile = cs_student_width(0.95, (double)(blocks - 1));
        count(&t[0], &rows, "sum_sigma2", "sum_sigma2_extrapolated", truth[0], quantile);
        count(&t[1], &rows, "sum_sigma4", "sum_sigma4_extrapolated", truth[1], quantile);
        cs_population_rows_free(&rows);
        free(corpus.doc_ptr);
        free(corpus.token);
    }
    for (int j = 0; j < 2; ++j) {
        const double mean = t[j].value / corpora, beyond = t[j].beyond / corpora;
        printf("| %s | %s%s | %lld | %.2f | sigma^%d | %.3f | %.2f | %.3f | %.3f +- %.3f | %.3f | "
               "%.1f %% | %.1f %% | %.1f %% | %.3f +- %.3f | %.1f %% |\n",
               l->name, spec,
               *spec == 'a' ? ""
               : given      ? ", given"
                            : ", blind",
               (long long)documents, seen, 2 * j + 2, truth[j], t[j].plug_in / corpora,
               t[j].cross_fit / corpora, mean, sqrt(fmax(0, t[j].square / corpora - mean * mean)),
               t[j].middle / corpora, 100.0 * t[j].covered / corpora, 100.0 * t[j].below / corpora,
               100.0 * t[j].plain / corpora, beyond,
               sqrt(fmax(0, t[j].beyond_square / corpora - beyond * beyond)),
               100.0 * t[j].held / corpora);
    }
    (void)fflush(stdout);
}

int main(int count_of, char **word)
{
    const int corpora = count_of > 1 ? atoi(word[1]) : 300;
    const int64_t blocks = count_of > 2 ? atoi(word[2]) : 20;
    static const struct {
        int law, documents;
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
                   {3, 400, "ar", false}};
    const law laws[] = {
        law_of("independent, 60 words", 60, 0), law_of("weak chain, 40 states", 40, 2),
        law_of("strong chain, 40 states", 40, 0.1), law_of("strong chain, 150 states", 150, 0.1)};
    printf("%d corpora a line, %lld blocks.\n\n", corpora, (long long)blocks);
    printf("| law | objective | documents | mass seen (halves) | sum of | truth | plug-in | "
           "cross-fit | distinct-document (sd) | middle of the interval | interval holds truth | "
           "ends below | value -+ t se holds truth | extrapolated (sd) | its interval holds "
           "truth |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof setting / sizeof *setting; ++i) {
        bool wanted = count_of <= 3;
        for (int k = 3; k < count_of; ++k) {
            wanted = wanted || (size_t)atoi(word[k]) == i + 1;
        }
        if (!wanted) continue;
        run(&laws[setting[i].law], setting[i].spec, setting[i].given, setting[i].documents, corpora,
            blocks);
    }
    return 0;
}
