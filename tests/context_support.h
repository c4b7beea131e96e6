/* Contexts of an objective, row by row, and their exact weights against every conditioning set. */
#pragma once

#include "cooc/context_private.h"

enum { CONTEXT_ROW_TEXT = 160, CONTEXT_MODES = 11 };

extern const char *const context_modes[CONTEXT_MODES];

/* A row written out, so that the reference shares nothing with keys. */
typedef struct {
    char row[CONTEXT_ROW_TEXT];
    cs_hash128 key;
    int32_t token;
    double weight;
} context_entry;

typedef struct {
    context_entry *entry;
    int64_t count, capacity;
    bool given;
    cs_context_mode mode;
    int64_t last_ordinal;
    double sum;
} context_table;

void context_put(context_table *t, const context_entry *e);

/* A cs_context_fn into a table, in ascending order of events. */
cs_status context_collect(void *ctx, const cs_contribution *c);

/* Of entries: by row, then by token. */
int context_by_row(const void *x, const void *y);

/* Sorts and adds equal rows; with `keys`, those of one row must agree and of two differ. */
void context_add_up(context_table *t, bool keys);

/* The same of one mode, at one length. */
void context_check_mode(const char *spec, const char *mode, bool given, int64_t s, int64_t vocab);

/* The weights of an objective in every mode, blind and given, at these lengths, against all of its
 * sets. */
void context_check(const char *spec, int64_t shortest, int64_t longest);
