/* How often do rules decide wrongly, and how often rightly, between two trained models whose seeds
 * are few? Simulated for the rule of stats/decide.h and for three others:
 *
 *   own        t_nu s of each side alone, root sum of squares (Banerjee's bound holds)
 *   moderated  the moderated variance with d0 + nu degrees of freedom, root sum of squares
 *   pooled     one variance for all sides, and a quantile with Satterthwaite's degrees of freedom
 *   rule       stats/decide.h
 *
 *   decide_bench [REPETITIONS]        Markdown on stdout (docs/results/decisions.md): 20000, a minute
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "stats/decide.h"
#include "stats/moderated.h"

enum { MOST_SIDES = 30 };
enum { OWN, MODERATED, POOLED, RULE, RULES };

static const char *const rule_name[] = {"own", "moderated", "pooled", "rule"};

typedef enum { EQUAL, FIRST, BOTH, EVERY_OTHER, SPREAD, SHAPES } shape;

static const char *const shape_name[] = {"all equal", "the first side", "both sides",
                                         "every other side", "geometric, ends compared"};

typedef struct {
    int seeds, sides;
    shape shape;
    double ratio;     /* of the standard deviations of seeds */
    double documents; /* standard error from test documents over that from seeds; 20 blocks */
    double alpha;
} setting;

/* The standard deviations; the first two sides are compared, of SPREAD first and last. */
static void deviations(const setting *s, double *sd)
{
    for (int i = 0; i < s->sides; ++i) {
        const bool wide = s->shape == FIRST         ? i == 0
                          : s->shape == BOTH        ? i < 2
                          : s->shape == EVERY_OTHER ? i % 2 == 0
                                                    : false;
        sd[i] = s->shape == SPREAD ? pow(s->ratio, 0.5 - (double)i / (s->sides - 1))
                : wide             ? s->ratio
                                   : 1;
    }
    if (s->shape == SPREAD) {
        const double last = sd[s->sides - 1];
        sd[s->sides - 1] = sd[1];
        sd[1] = last;
    }
}

static double chi_square(cs_rng *rng, int freedom)
{
    double sum = 0;
    for (int i = 0; i < freedom; ++i) {
        const double z = cs_rng_normal(rng);
        sum += z * z;
    }
    return sum;
}

/* Points of Student's distribution are cached, since the same ones are needed many times. */
static double point(double alpha, double freedom)
{
    enum { KEPT = 512 };
    static double kept[KEPT][3];
    double *k = kept[(size_t)(freedom * 7919.0 + alpha * 1e7) % KEPT];
    if (k[0] != alpha || k[1] != freedom) {
        k[0] = alpha;
        k[1] = freedom;
        k[2] = cs_student_point(alpha, freedom);
    }
    return k[2];
}

static double square(double x)
{
    return x * x;
}

/* The margins of the rules for one set of seeds. */
static void margins(const setting *s, const double *variance, double documents,
                    double margin[RULES])
{
    const double n = s->seeds, nu = n - 1, a = s->alpha;
    double freedom[MOST_SIDES], common = 0, part[RULES] = {0};
    for (int i = 0; i < s->sides; ++i) {
        freedom[i] = nu;
        common += variance[i] / s->sides;
    }
    cs_prior prior = {0};
    if (cs_prior_of(s->sides, variance, freedom, &prior) != CS_OK) {
        exit(1);
    }
    for (int i = 0; i < 2; ++i) {
        const cs_error_part e =
            cs_error_of_seeds(&prior, (cs_seeds){s->seeds, variance[i]}, (cs_seeds){s->seeds, 0});
        const double moderated = square(point(a, e.freedom)) * e.variance;
        part[OWN] += square(point(a, nu)) * variance[i] / n;
        part[MODERATED] += moderated;
        part[RULE] += fmax(moderated, square(point(a, nu)) * e.own);
    }
    const double seeds = 2 * common / n, whole = seeds + square(documents);
    double freedom_of_sum = nu * s->sides;
    if (documents > 0) {
        freedom_of_sum =
            square(whole) / (square(seeds) / freedom_of_sum + square(square(documents)) / 19);
    }
    for (int r = 0; r < RULES; ++r) {
        margin[r] = r == POOLED ? point(a, floor(freedom_of_sum)) * sqrt(whole)
                                : sqrt(part[r] + square(point(a, 19) * documents));
    }
}

/* Shares of wrong decisions, and of right ones where the means are `apart` seed sd from each other.
 */
static void simulate(const setting *s, int repetitions, double apart, double wrong[RULES],
                     double right[RULES])
{
    double sd[MOST_SIDES], variance[MOST_SIDES], margin[RULES];
    deviations(s, sd);
    const double seeds = (square(sd[0]) + square(sd[1])) / s->seeds;
    const double documents = s->documents * sqrt(seeds);
    const double truth = apart * sqrt((square(sd[0]) + square(sd[1])) / 2);
    for (int r = 0; r < RULES; ++r) {
        wrong[r] = right[r] = 0;
    }
    for (int k = 0; k < repetitions; ++k) {
        cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, (uint64_t)k);
        for (int i = 0; i < s->sides; ++i) {
            variance[i] = square(sd[i]) * chi_square(&rng, s->seeds - 1) / (s->seeds - 1);
        }
        margins(s, variance, documents * sqrt(chi_square(&rng, 19) / 19), margin);
        const double d = cs_rng_normal(&rng) * sqrt(seeds + square(documents));
        for (int r = 0; r < RULES; ++r) {
            wrong[r] += (fabs(d) > margin[r]) / (double)repetitions;
            right[r] += (d + truth > margin[r]) / (double)repetitions;
        }
    }
}

/* One row a setting: false decisions of each rule, then their power. */
static void print_row(const setting *s, int repetitions, double apart)
{
    double wrong[RULES], right[RULES];
    simulate(s, repetitions, apart, wrong, right);
    printf("| %s | %g | %d | %d | %g |", shape_name[s->shape], s->ratio, s->seeds, s->sides,
           s->documents);
    for (int r = 0; r < RULES; ++r) {
        printf(" %.3f |", wrong[r]);
    }
    for (int r = 0; r < RULES; ++r) {
        printf(" %.2f |", right[r]);
    }
    printf("\n");
}

static void print_rows(int repetitions)
{
    static const setting rows[] = {
        {3, 8, EQUAL, 1, 0, .05},        {3, 8, EQUAL, 1, 1, .05},       {5, 8, EQUAL, 1, 0, .05},
        {3, 8, FIRST, 2, 0, .05},        {3, 8, FIRST, 5, 0, .05},       {3, 8, FIRST, 14, 0, .05},
        {3, 4, FIRST, 14, 0, .05},       {3, 8, FIRST, 5, 1, .05},       {5, 8, FIRST, 5, 0, .05},
        {3, 8, BOTH, 3, 0, .05},         {3, 8, EVERY_OTHER, 3, 0, .05}, {3, 8, SPREAD, 14, 0, .05},
        {5, 14, EVERY_OTHER, 14, 0, .05}};
    printf("| wider seeds | times | seeds | sides | documents |");
    for (int i = 0; i < 2 * RULES; ++i) {
        printf(" %s%s |", rule_name[i % RULES], i < RULES ? "" : ", power");
    }
    printf("\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        print_row(&rows[i], repetitions, 4);
    }
}

/* The largest share of wrong decisions over shapes, ratios and documents, as a multiple of alpha. */
static void print_worst(int repetitions)
{
    static const int seeds[] = {3, 4, 5, 8}, sides[] = {3, 4, 8, 14, 30};
    static const double ratio[] = {1.5, 2, 3, 5, 8, 14, 40}, alpha[] = {.1, .05, .005};
    printf("\n| alpha | seeds | sides |");
    for (int r = 0; r < RULES; ++r) {
        printf(" %s |", rule_name[r]);
    }
    printf("\n|---|---|---|---|---|---|---|\n");
    for (size_t a = 0; a < sizeof alpha / sizeof *alpha; ++a) {
        for (size_t n = 0; n < 4; ++n) {
            for (size_t g = 0; g < 5; ++g) {
                double worst[RULES] = {0}, wrong[RULES], right[RULES];
                for (int k = 0; k < (SHAPES - 1) * 7 * 2; ++k) {
                    const setting s = {seeds[n],
                                       sides[g],
                                       (shape)(1 + k % (SHAPES - 1)),
                                       ratio[k / 2 / (SHAPES - 1)],
                                       k / (SHAPES - 1) % 2 ? 0.7 : 0,
                                       alpha[a]};
                    simulate(&s, repetitions, 0, wrong, right);
                    for (int r = 0; r < RULES; ++r) {
                        worst[r] = fmax(worst[r], wrong[r]);
                    }
                }
                printf("| %g | %d | %d |", alpha[a], seeds[n], sides[g]);
                for (int r = 0; r < RULES; ++r) {
                    printf(" %.3f |", worst[r]);
                }
                printf("\n");
                (void)fflush(stdout);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const int repetitions = argc > 1 ? atoi(argv[1]) : 20000;
    if (repetitions < 1) {
        (void)fprintf(stderr, "decide_bench [REPETITIONS]\n");
        return 2;
    }
    print_rows(repetitions);
    print_worst(repetitions);
    return 0;
}
