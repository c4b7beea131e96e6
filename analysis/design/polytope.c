/* The constraints on a family's variables, a row each: the weight of every context, that of every
 * target, or without either the sum of all; then the least weight of next tokens and the largest
 * misalignment, with a slack variable each.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/design/family_private.h"

enum { MOST_ROWS = 2048 };

/* Weights of the contexts (sets, then sizes) and of the targets of a variable: sets + 2 s numbers. */
static void marginals(const cs_family *f, int64_t j, double *weight)
{
    const cs_pairs *p = &f->events;
    double *size = weight + p->sets, *target = size + f->s;
    memset(weight, 0, (size_t)(p->sets + 2 * f->s) * sizeof *weight);
    for (int64_t i = f->ptr[j]; i < f->ptr[j + 1]; ++i) {
        const int64_t mass = f->mass[i];
        if (mass < p->events) {
            weight[p->set[mass]] += f->part[i];
            target[p->target[mass]] += f->part[i];
        }
        for (int64_t k = 0; mass >= p->events && k < f->s; ++k) {
            target[k] += f->part[i] / (double)f->s;
        }
        if (mass >= p->events) size[mass - p->events] += f->part[i];
    }
}

/* What agrees on its contexts has sums that have them too. */
static cs_status check_contexts(const cs_family *f, double *first, double *other)
{
    marginals(f, 0, first);
    for (int64_t j = 1; j < f->variables; ++j) {
        marginals(f, j, other);
        for (int64_t c = 0; c < f->events.sets + f->s; ++c) {
            if (fabs(first[c] - other[c]) > 1e-12) {
                return cs_fail(
                    CS_ERR_USAGE,
                    "fixed contexts: part %" PRId64
                    " and part 1 weigh their contexts differently; fix the targets instead",
                    j + 1);
            }
        }
    }
    return CS_OK;
}

static void put(cs_simplex *lp, int64_t column, int64_t row, double value)
{
    if (value != 0) {
        lp->row[lp->ptr[column + 1]] = row;
        lp->value[lp->ptr[column + 1]++] = value;
    }
}

/* First row of each kind, -1: there is none. */
typedef struct {
    int64_t contexts, targets, total, next, aligned;
} kinds;

/* The entries of variable j; row_of: the row of each target after the first. */
static cs_status put_variable(cs_family *f, const kinds *at, const int64_t *row_of, double *weight,
                              int64_t j)
{
    cs_simplex *lp = &f->polytope;
    double next = 0, misalignment = 0;
    if (f->free_events && at->contexts >= 0) put(lp, j, at->contexts + f->events.set[j], 1);
    if (f->free_events && at->targets >= 0) {
        put(lp, j, at->targets + row_of[f->events.target[j]], 1);
    } else if (at->targets >= 0) {
        marginals(f, j, weight);
        for (int64_t k = 0; k < f->s; ++k) {
            put(lp, j, at->targets + row_of[k], weight[f->events.sets + f->s + k]);
        }
    }
    if (at->total >= 0) put(lp, j, at->total, 1);
    for (int64_t i = f->ptr[j]; i < f->ptr[j + 1]; ++i) {
        next += f->part[i] * cs_family_next_token(f, f->mass[i]);
        misalignment += f->part[i] * cs_family_misalignment(f, f->mass[i]);
    }
    if (at->next >= 0) put(lp, j, at->next, next);
    if (at->aligned >= 0) put(lp, j, at->aligned, misalignment);
    return at->aligned >= 0 && isnan(misalignment)
               ? cs_fail(CS_ERR_USAGE,
                         "an empty context has no misalignment that could be constrained")
               : CS_OK;
}

/* Numbers the targets of the family, and the rows. */
static kinds number_rows(const cs_design_problem *problem, cs_family *f, int64_t *row_of)
{
    const bool contexts = problem->fixed == CS_FIX_CONTEXTS || problem->fixed == CS_FIX_BOTH;
    const bool targets = problem->fixed == CS_FIX_TARGETS || problem->fixed == CS_FIX_BOTH;
    kinds at = {-1, -1, -1, -1, -1};
    int64_t rows = 0, places = 0;
    for (int64_t e = 0; e < f->events.events; ++e) {
        row_of[f->events.target[e]] = 1;
    }
    for (int64_t k = 0; k < f->s; ++k) {
        row_of[k] = row_of[k] || f->masses > f->events.events ? places++ : -1;
    }
    if (contexts && f->free_events) {
        at.contexts = rows;
        rows += f->events.sets;
    }
    if (targets) {
        at.targets = rows;
        rows += places;
    }
    if (rows == 0) at.total = rows++;
    if (problem->next_token > 0) at.next = rows++;
    if (problem->misalignment < INFINITY) at.aligned = rows++;
    f->polytope.rows = rows;
    f->polytope.largest = 1 + (at.next >= 0) + (at.aligned >= 0);
    f->columns = f->polytope.columns = f->variables + (at.next >= 0) + (at.aligned >= 0);
    for (int64_t i = 0; i < rows; ++i) {
        f->polytope.right[i] = at.targets >= 0 && i >= at.targets ? 1 / (double)places : 0;
    }
    for (int64_t e = 0; at.contexts >= 0 && e < f->events.events; ++e) {
        f->polytope.right[at.contexts + f->events.set[e]] += f->events.weight[e];
    }
    if (at.total >= 0) f->polytope.right[at.total] = 1;
    if (at.next >= 0) f->polytope.right[at.next] = problem->next_token;
    if (at.aligned >= 0) f->polytope.right[at.aligned] = problem->misalignment;
    return at;
}

cs_status cs_family_constrain(const cs_design_problem *problem, cs_pool *pool, cs_family *f)
{
    const int64_t sets = f->events.sets, contexts = sets + 2 * f->s, columns = f->variables + 2;
    const int64_t entries = (f->free_events ? 4 : f->s + 3) * columns;
    cs_simplex *lp = &f->polytope;
    int64_t *row_of = cs_pool_take(pool, f->s, sizeof *row_of);
    double *weight = cs_pool_take(pool, 2 * contexts, sizeof *weight);
    lp->ptr = cs_pool_take(pool, columns + 1, sizeof *lp->ptr);
    CS_POOL_FIELDS(pool, entries, lp, row, value);
    lp->right = cs_pool_take(pool, sets + f->s + 3, sizeof *lp->right);
    cs_status status = pool->status;
    if (status != CS_OK) return status;
    const kinds at = number_rows(problem, f, row_of);
    if (!f->free_events && problem->fixed != CS_FIX_TARGETS && problem->fixed != CS_FIX_NONE)
        status = check_contexts(f, weight, weight + contexts);
    for (int64_t j = 0; j < f->variables && status == CS_OK; ++j) {
        lp->ptr[j + 1] = lp->ptr[j];
        status = put_variable(f, &at, row_of, weight, j);
    }
    for (int64_t j = f->variables; j < f->columns; ++j) {
        const bool next = at.next >= 0 && j == f->variables;
        lp->ptr[j + 1] = lp->ptr[j];
        put(lp, j, next ? at.next : at.aligned, next ? -1 : 1);
    }
    if (status == CS_OK && lp->rows > MOST_ROWS)
        status = cs_fail(CS_ERR_USAGE,
                         "%" PRId64
                         " contexts and targets exceed the limit of %d rows of a linear program",
                         lp->rows, MOST_ROWS);
    return status == CS_OK ? cs_simplex_init(lp, pool) : status;
}
