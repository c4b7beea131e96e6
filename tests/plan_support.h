/* What the tests of src/plan share. */
#ifndef CS_TESTS_PLAN_SUPPORT_H
#define CS_TESTS_PLAN_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/objective.h"

enum { PLAN_SPECS = 34 };

/* Objectives of every kind, each of which exists at every length from 2 to 6 or says so. */
extern const char *const plan_specs[PLAN_SPECS];

/* The objective of a specification that must parse. */
cs_objective plan_objective(const char *spec);

/* Whether it exists at length s; the reason is cleared. */
bool plan_exists(const cs_objective *objective, int64_t s);

/* A new empty file below /tmp; the caller unlinks it. */
void plan_temporary(char path[64]);

/* Writes the text over the file. */
void plan_write(const char *path, const char *text);

#endif
