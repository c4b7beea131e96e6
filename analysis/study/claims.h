/* Claims of papers, compared with the measurements of a study.
 *
 * In the study's file, under "claims", by name:
 *
 *   "source", "says"    its source and its text
 *   "scope"             what the interval covers, what this scale cannot show
 *   "left", "right"     SIDE
 *   "want"              ">" or "<"
 *   "budgets"           optional: budgets over which it is stated, numbers from small to large
 *   "everywhere"        optional: true of a claim about every budget
 *   "needs"             [{"left": SIDE, "want": ">", "right": SIDE}, ...]: baselines, without which the
 *                       comparison has no ground; or a text with the reason why there are none. One with
 *                       "or": true is met where the one before it is. A claim
 *                       about a model that a step has trained must have it
 *   "title"             optional: what the figure over budgets calls it, before both labels
 *   "metric"            optional: what is measured, "UNIT, DETAIL"; figures name their axes by UNIT
 *   "paper"             optional: the paper's numbers, for the report's table
 *   "matters"           optional: a difference smaller than this is of no interest
 *   "effect"            optional: the size of the paper's own difference, in the unit of the metric; or
 *                       a text that says why there is none. The margin M of an equivalence is the
 *                       smaller one of `matters` and this
 *   "ceiling"           SIDE: the best value that the metric can have; needed where a side has a floor
 *   "not_at"            optional: a scale of the study too small to decide: undetermined there, at
 *                       each budget too
 *   "untested"          optional: why this study cannot decide the claim, or "" where it can
 *   "statement"         "STEP ID FORM", a verdict of statements.json, in place of left, want, right
 *
 * SIDE is a number, or
 *
 *   {"label": TEXT, "file": "STEP/FILE.csv", "value": "COLUMN WHERE...", "minus": "WHERE...",
 *    "se": COLUMN, "exact": true, "df": N or "inf", "p": "COLUMN WHERE...",
 *    "floor": SIDE, "longer": FILE}
 *
 * the number in COLUMN of the one row that fits every WHERE (where=COLUMN:VALUE, as in a report's
 * directives), minus that of a second row of the file; its standard error in column se ("se"; none
 * for an exact number), with N degrees of freedom (19: a jackknife of 20 blocks; the least of the
 * study's). "p" in place of an error: if the file has the exact p-value of the number under no
 * association (Kendall's tau of two rankings); the other side is then 0.
 *
 * "floor", of a side of a claim: what the metric gives without training (untrained network, majority
 * class, unigram model). "longer": the file of the same number after four times the steps; "": none.
 *
 * A file whose step is named with '#' represents one file for each seed, with the words of the
 * variable `seeds` in place of '#' (study.h): the side is their mean, and at least 3 are needed
 * (for "p" the largest counts). In a claim over budgets, '%' in file, value and minus is replaced
 * by each budget: the claim is then one comparison for each budget, with separate needs, and a
 * curve with a band.
 *
 * With d = left - right, its error has these parts (stats/decide.h):
 *
 *   documents   where both sides have X-blocks.csv of the same documents, the paired jackknife of d;
 *               else the jackknife of each, or its `se` with `df`
 *   seeds       of either side, their variance moderated over the sides of the family (moderated.h);
 *               in pairs that of their differences, by itself
 *
 * and M is the margin of them all. Of a comparison:
 *
 *   reproduced              d has the sign wanted and is significant at .05 among the comparisons of
 *                           its family (Holm, all budgets of all its claims, untested ones too)
 *   opposite at this scale  d is significant with the other sign
 *   equivalent within M     d is not significant, and |d| >= M is ruled out at .05 among the
 *                           comparisons of the family
 *   not testable at this scale   neither, and the paper's effect is below the resolution: the study
 *                           would not find it, were it there
 *   undetermined            otherwise; also where a side that is not `exact` has no error
 *   not tested              a `needs` is not met: its difference has the wrong sign or lies within the
 *                           margin of its two sides, so a model does not beat its baseline; or the
 *                           metric is at its floor: each side with a floor has come less than a tenth
 *                           of the way from it to the ceiling
 *   baseline undertrained   a side has come less than .9 as far from its floor as after four times
 *                           the steps
 *
 * The last two come before all others. A claim whose trained sides do not all have a longer run says
 * that its baselines are not checked.
 *
 * Of a statement, as `cospec verify` reports it: holds (PASS), holds, but vacuous (VACUOUS), false
 * as printed (FAIL), undetermined (INCONCLUSIVE), not specified (UNSPECIFIED: the paper leaves a
 * constant open), and not tested (the PASS of a printed statement one of whose assumptions fails).
 * Of several seeds the worst verdict counts.
 *
 * A claim over budgets takes the verdict of its largest budget, which sees most training. One about
 * every budget ("everywhere") is reproduced or opposite where all budgets are, and `not reproduced
 * at this scale` where only some are opposite; it is equivalent where every tested budget is, not
 * tested where none is tested, and otherwise undetermined.
 *
 * A study with "exploratory": true compares quantities without a claim (cospec compare): its first
 * two verdicts are `significant` and `significant the other way`.
 *
 * A family is the claims with the same text under "family" (their source, where they have none).
 */
#pragma once

#include "analysis/study/study.h"
#include "stats/decide.h"

/* --- sides: numbers of the tables of a study over several seeds, with their blocks --- */

enum { CS_CLAIM_RUNS = 24 };

/* The number of one run, and its values without each block of documents. */
typedef struct {
    char *seed; /* NULL: the file names none */
    double value, se, bias;
    double p;                 /* of an exact test */
    int64_t blocks, capacity; /* 0: not known */
    double *left_out;
    char partition[40];
} cs_claim_run;

/* Texts belong to the study, except those at a budget and of a number. */
typedef struct cs_claim_side cs_claim_side;
struct cs_claim_side {
    const char *label;
    char *file;                /* STEP/FILE.csv; NULL: a number */
    char *pick, *minus;        /* minus NULL: no second row */
    const char *error;         /* column of the standard error; NULL: exact */
    const char *chance;        /* where an exact p-value is; NULL: none */
    double value, se, freedom; /* the mean over runs; se: the mean of theirs */
    double p;                  /* the largest over runs */
    int64_t runs;              /* seeds; 0: the file names none */
    int64_t measured;          /* as runs; 1 where the file names no seed; 0: a number */
    cs_claim_run run[CS_CLAIM_RUNS];
    double variance;  /* over seeds */
    int64_t blocks;   /* of documents, the same for all runs; 0: not known */
    double *left_out; /* the mean without each */
    double bias;      /* error not measured by blocks */
    char partition[40];
    bool trained;    /* it is about a model trained by a step */
    char digits[32]; /* of a number, its label */
    /* Owned; NULL: none. The number without training, and after four times the steps. */
    cs_claim_side *floor, *longer;
};

/* The number of the side: in "STEP/FILE.csv", or, if the name of the step contains '#', the mean
 * over the seeds of the study, with their variance; in a pair, over those that the other side has
 * too (NULL: no pair). CS_ERR_INPUT as cs_claims_measure. */
cs_status cs_side_measure(const cs_study *study, cs_claim_side *side,
                          const cs_claim_side *other) CS_MUST_CHECK;
void cs_side_free(cs_claim_side *side);

/* The error of left minus right from the documents: one part if both sides have blocks of the same
 * documents (a paired jackknife of the difference), else one for each side. */
void cs_sides_documents(const cs_claim_side *left, const cs_claim_side *right,
                        cs_error_part part[2]);

/* --- claims --- */

/* left > right, or left < right. */
typedef struct {
    cs_claim_side left, right;
    const char *want;
    int joined; /* a need that is met if the one before it is met */
    int paired; /* of the seeds that both sides have, whose differences are used */
} cs_study_comparison;

typedef enum {
    CS_CLAIM_REPRODUCED,
    CS_CLAIM_OPPOSITE,
    CS_CLAIM_NOT_REPRODUCED, /* for a claim about every budget */
    CS_CLAIM_EQUIVALENT,
    CS_CLAIM_NOT_TESTABLE, /* the paper's effect is below the resolution */
    CS_CLAIM_UNDETERMINED,
    CS_CLAIM_UNDERTRAINED,
    CS_CLAIM_NOT_TESTED,
    /* of a statement */
    CS_CLAIM_HOLDS,
    CS_CLAIM_VACUOUS,
    CS_CLAIM_FALSE_AS_PRINTED,
    CS_CLAIM_FALSE, /* of another form */
    CS_CLAIM_NOT_SPECIFIED
} cs_claim_verdict;

enum { CS_CLAIM_PARTS = 4 }; /* of an error: documents (two), seeds of either side */

/* A comparison of a claim, at one of its budgets if it has any. */
typedef struct {
    char *budget; /* NULL: none */
    cs_study_comparison sides;
    double matters; /* |d| below this is irrelevant; 0: not specified */
    double effect;  /* of the paper; 0: no number */
    cs_claim_side ceiling;
    int64_t needs;
    cs_study_comparison *need;
    /* measured */
    double difference; /* d */
    cs_error_part part[CS_CLAIM_PARTS];
    double margin;      /* M at .05, of this comparison without correction */
    double p, adjusted; /* the least level at which d is decided; Holm's, over the family */
    double resolution;  /* least |d| that would have been decided */
    double small;       /* Holm's p that |d| reaches cs_claim_within; NaN: not tested */
    cs_prior prior;     /* of its family's seeds, and the level for one more decision */
    double level;
    /* for each side, for d as it is; infinite: limited by documents; NaN: not computed */
    double seeds_needed;
    double effect_seeds; /* the same for the paper's effect, where it is not testable */
    char *unmet; /* why it cannot be decided: the first unmet need, a floor, too few steps; NULL */
    cs_claim_verdict barred; /* the verdict with `unmet`: undertrained, else not tested */
    const char *why;         /* a few words */
    cs_claim_verdict verdict;
} cs_claim_point;

/* The verdict of `cospec verify` on a statement, in the step of one seed. */
typedef struct {
    char *seed; /* NULL: the step has none */
    char *found;
    bool assumed; /* the assumptions hold */
    bool example; /* about a built-in example: the input has no such statement */
} cs_claim_audit;

typedef struct {
    const char *name, *source, *says, *scope;
    const char *setting; /* its scale in words; if it names none, that of the study */
    const char *title;   /* of its panel in the figure over budgets; NULL: its name */
    const char *metric;  /* "UNIT, DETAIL"; NULL: unnamed */
    const char *paper;   /* numbers of the paper; NULL: not given */
    const char
        *no_effect; /* why the paper's effect is no number; NULL: it is, or nothing is said */
    int everywhere; /* a claim about every budget */
    /* reason for no baselines; NULL: there are some, or none is needed */
    const char *no_need;
    const char *family;    /* its source, if it names none */
    const char *not_at;    /* NULL: no such scale */
    const char *untested;  /* reason why the study cannot decide it; NULL: it can */
    const char *statement; /* STEP ID FORM, where STEP may have a '#'; NULL: two sides */
    int64_t points;        /* one for each budget, from small to large; 0 for a statement */
    cs_claim_point *point;
    /* measured */
    int64_t family_size; /* comparisons of its family that have a p-value */
    int64_t audits;      /* of a statement: one for each seed */
    cs_claim_audit *audit;
    bool printed;      /* of a statement: its form is that of the paper */
    bool underpowered; /* the scale is not_at */
    char *course;      /* over budgets: the verdicts; NULL: without budgets */
    const char *why;   /* a few words */
    cs_claim_verdict verdict;
} cs_study_claim;

typedef struct {
    int64_t count;
    cs_study_claim *claim;
    bool exploratory;
    const char *setting; /* what "this scale" is, of the variable `setting`; "": nothing is said */
} cs_claims;

/* Verdicts with a sign (reproduced, opposite, not reproduced), and equivalences. */
typedef enum { CS_CLAIM_SIGNS, CS_CLAIM_EQUIVALENCES } cs_claim_kind;

typedef struct {
    int64_t claims;   /* with such a verdict */
    int64_t families; /* in which such a verdict was possible */
    /* 1 - .95^families: the chance that one is wrong, of independent families; NAN without claims */
    double error;
    int64_t study_wide; /* claims that hold if the whole study may err in .05 (Bonferroni) */
} cs_claim_count;

/* The claims of a study, none if it has none; they borrow from it, and mark the steps that they
 * read. `only`: claims whose names begin with one of these prefixes, separated by commas, and the
 * study keeps only the steps that they read, directly or through other steps; NULL: the value of
 * the variable `claims`, and if that is empty or absent, all claims and steps. CS_ERR_USAGE if no
 * claim matches. CS_ERR_INPUT names the claim: an unknown or missing key, a value of another kind.
 */
cs_status cs_claims_read(cs_study *study, const char *only, cs_claims *out) CS_MUST_CHECK;
void cs_claims_free(cs_claims *claims);

/* The text of the source before the first comma or blank, `length` bytes; "this project" is two words. */
const char *cs_claim_paper(const cs_study_claim *claim, int *length);
bool cs_claim_same_paper(const cs_study_claim *a, const cs_study_claim *b);

/* Claims of the paper that this one is about; NULL: of all. */
cs_claim_count cs_claims_count(const cs_claims *claims, const cs_study_claim *paper,
                               cs_claim_kind kind);

/* paper, kind (sign, equivalence), claims, families, error, study_wide: two rows for each paper, and
 * for "all". */
cs_status cs_claims_write_counts(const cs_claims *claims, const char *path) CS_MUST_CHECK;

/* The numbers of a claim: its only comparison, or that of the largest budget; NULL for a statement.
 */
const cs_claim_point *cs_claim_last(const cs_study_claim *claim);

/* The comparison that a report shows: the last; for a claim about every budget that is not
 * reproduced, the last one that contradicts it. */
const cs_claim_point *cs_claim_shown(const cs_study_claim *claim);

/* Reads every side from the folder of the study. CS_ERR_INPUT names the claim, and the file, column
 * or row that is missing, or several matching rows. */
cs_status cs_claims_measure(const cs_study *study, cs_claims *claims) CS_MUST_CHECK;

/* Decides claims whose sides are measured, family by family. CS_ERR_MEMORY is all that can fail. */
cs_status cs_claims_decide(cs_claims *claims) CS_MUST_CHECK;

/* M: a difference below it is equivalent to none; 0: not specified. */
double cs_claim_within(const cs_claim_point *point);

/* "checked": all trained sides of a claim have a longer run; else "not checked"; NULL: no side is
 * about a trained model. */
const char *cs_claim_baselines(const cs_study_claim *claim);

/* Name of a verdict, without the threshold of "equivalent". */
const char *cs_claim_verdict_name(cs_claim_verdict verdict, bool exploratory);

/* The same with the threshold, "equivalent within 0.02"; within: that of its comparison, or 0. */
enum { CS_VERDICT_TEXT = 64 };
void cs_claim_verdict_text(cs_claim_verdict verdict, double within, bool exploratory,
                           char out[CS_VERDICT_TEXT]);

/* The budgets at which a claim has this verdict, "300, 750", in fresh memory; "" without budgets,
 * and if the study or its scale cannot decide the claim. */
cs_status cs_claim_budgets(const cs_study_claim *claim, cs_claim_verdict verdict,
                           char **out) CS_MUST_CHECK;

/* A row for each claim: claim, source, says, left, left_value, left_se, want, right, right_value,
 * right_se, seeds, difference, low, high, interval, family, family_size, p, p_holm, resolution,
 * seeds_needed, reproduced_at, opposite_at, budgets, verdict, why, scope, matters, p_small, effect,
 * effect_seeds, baselines, setting, metric, paper; numbers are those of the largest budget. */
cs_status cs_claims_write(const cs_claims *claims, const char *path) CS_MUST_CHECK;

/* The claims over budgets, a row for each budget: series, claim, budget, wanted (1 or -1),
 * difference, low, high, p, p_holm, resolution, seeds_needed, verdict, why, matters, p_small, unit, family.
 * Without any, no file. *count: rows of claims with three budgets or more, which the figure draws.
 */
cs_status cs_claims_write_budgets(const cs_claims *claims, const char *path,
                                  int64_t *count) CS_MUST_CHECK;

/* The other comparisons that have an interval, a row each: series (the family), claim, place (in its
 * family, from 1), label, wanted, difference, low, high, p, p_holm, verdict, matters, p_small, unit.
 * *count: rows; none, no file. */
cs_status cs_claims_write_differences(const cs_claims *claims, const char *path,
                                      int64_t *count) CS_MUST_CHECK;

/* Every number that the verdicts are decided from (docs/reference/studies.md has the columns): a
 * row for each side of a comparison or baseline, at each budget; once for each number its runs,
 * with all documents and without each block of them; and the runs of the steps of `cospec
 * correlate`. */
cs_status cs_claims_write_values(const cs_study *study, const cs_claims *claims,
                                 const char *path) CS_MUST_CHECK;

/* A row for each measure and object: claim (the name of the first that has it, up to its last
 * part), measure, series, step (of the row with the name of the object in the table `models` of the
 * study; else empty), object, value, se, low, high (95 %, of the documents only). */
cs_status cs_scores_write(const cs_study *study, const cs_claims *claims,
                          const char *path) CS_MUST_CHECK;
