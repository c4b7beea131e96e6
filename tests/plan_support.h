/* Shared by the tests of src/plan. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/pairs.h"
#include "plan/plan.h"
#include "plan/plan_file.h"

/* Objectives of every kind: the examples of their rows. Each exists at a length from 2 to 6 or
 * reports that it does not. The last two returned texts are valid. */
int plan_spec_count(void);
const char *plan_spec(int n);

/* The objective of a specification that must parse. */
cs_objective plan_objective(const char *spec);

/* The same where it may be a mixture, whose parts *file holds. */
cs_objective plan_held(const char *spec, cs_plan_file *file);

/* Of a file with this text, which is written: a mixture. */
cs_objective plan_of_text(const char *path, const char *text, cs_plan_file *file);

/* Whether it exists at length s; the reason is cleared. */
bool plan_exists(const cs_objective *objective, int64_t s);

/* A new empty file below /tmp; the caller unlinks it. */
void plan_temporary(char path[64]);

/* Writes the text over the file. */
void plan_write(const char *path, const char *text);

/* The weight of (S, k) at [bitmask of S][k], for lengths up to PLAN_LONGEST. */
enum { PLAN_LONGEST = 6, PLAN_CELLS = (1 << PLAN_LONGEST) * PLAN_LONGEST };

typedef struct {
    double table[PLAN_CELLS];
    double probability, predicted;
    int64_t plans;
    const double *start; /* probability of the plan whose first group ends at j; NULL: as given */
} plan_tally;

/* The set of an event as a bitmask. */
unsigned plan_mask(const cs_pairs *pairs, int64_t event);

/* Expands them. */
void plan_table_of_pairs(cs_pairs *pairs, double table[PLAN_CELLS]);
cs_status plan_tally_add(void *ctx, const cs_plan *plan, double probability);
void plan_normalise(double table[PLAN_CELLS]);
void plan_assert_same_table(const double a[PLAN_CELLS], const double b[PLAN_CELLS],
                            const char *what);

/* The exact events are those of all plans, and of drawn ones (no weight above `largest`). */
void plan_compare_with_enumeration(const cs_objective *objective, int64_t s);
void plan_compare_with_samples(const cs_objective *objective, int64_t s, double largest,
                               uint64_t seed);

/* Both for every event weight and empty prefix, lengths up to 6 (from `shortest`, 0: the least there
 * is); the largest weight of a draw by event weight, by token and by mask. */
void plan_compare_variants(cs_objective objective, int64_t shortest, const double largest[2]);

/* The exact events at length s as a table; those of a specification are the same, at the objective's
 * event weight and empty prefix. */
void plan_table_of(const cs_objective *o, int64_t s, double table[PLAN_CELLS]);
void plan_assert_as_by_hand(const cs_objective *o, int64_t s, const char *spec);

/* A plan file with this text has the events of all its plans, of drawn ones, and of a specification
 * at length 6, for every event weight and empty prefix. */
void plan_check_distribution(const char *path, const char *text, const char *spec);

/* The position kernel at length 6 is that of all plans. */
void plan_compare_kernel(const char *spec);
