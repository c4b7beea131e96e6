/* Three kinds of families: a distribution over events (a variable an event), one distribution over
 * distances (a variable a distance, its events those of all prefixes), the shares of a mixture (a
 * variable a part).
 *
 * Permutation-invariant parts among themselves need their sizes alone; together with listed events
 * they are written out, since a set of both is one context.
 *
 * The constraints on a family's variables, a row each: the weight of every context, that of every
 * target, or without either the sum of all; then the least weight of next tokens and the largest
 * misalignment, with a slack variable each. */
#include "analysis/design/family_private.h"
#include "base/auto.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/theorems/tradeoff.h"
#include "base/vector_ops.h"
#include "io/json.h"
#include "plan/count.h"
#include "plan/plan_file.h"

enum { MOST_EVENTS = 1 << 18, MOST_ROWS = 2048 };

void cs_family_free(cs_family *family)
{
    cs_pairs_free(&family->events);
}

void cs_family_masses(const cs_family *family, const double *x, double *y)
{
    memset(y, 0, (size_t)family->masses * sizeof *y);
    for (int64_t j = 0; j < family->variables; ++j) {
        for (int64_t i = family->ptr[j]; i < family->ptr[j + 1]; ++i) {
            y[family->mass[i]] += family->part[i] * x[j];
        }
    }
}

void cs_family_gradient(const cs_family *family, const double *of_masses, double *of_variables)
{
    memset(of_variables, 0, (size_t)family->columns * sizeof *of_variables);
    for (int64_t j = 0; j < family->variables; ++j) {
        for (int64_t i = family->ptr[j]; i < family->ptr[j + 1]; ++i) {
            of_variables[j] += family->part[i] * of_masses[family->mass[i]];
        }
    }
}

double cs_family_next_token(const cs_family *family, int64_t mass)
{
    const cs_pairs *p = &family->events;
    if (mass >= p->events) {
        const int64_t m = mass - p->events;
        return 1 / (cs_binomial(family->s, m) * (double)(family->s - m));
    }
    const cs_pairs_set set = cs_pairs_set_of(p, mass);
    return cs_pairs_is_prefix(p, set) && p->target[mass] == set.size;
}

double cs_family_misalignment(const cs_family *family, int64_t mass)
{
    const cs_pairs *p = &family->events;
    const int64_t m = mass < p->events ? cs_pairs_set_of(p, mass).size : mass - p->events;
    return m > 0 ? cs_length_misalignment(family->s, m) : NAN;
}

/* --- parts of a mixture --- */

cs_status cs_family_parts(const cs_objective *mixture, const double *share, json_t **out)
{
    const json_t *all = cs_plan_file_parts(mixture->file);
    json_t *parts = json_array();
    for (size_t j = 0; parts && j < json_array_size(all); ++j) {
        json_auto_t *part = share[j] > 0 ? json_copy(json_array_get(all, j)) : NULL;
        if (share[j] > 0 &&
            (!part || json_object_set_new(part, "share", cs_json_number(share[j])) ||
             json_array_append(parts, part))) {
            json_decref(parts);
            parts = NULL;
        }
    }
    *out = parts;
    return parts ? cs_json_check() : CS_ERR_MEMORY; /* a copy may lack something */
}

/* The mixture of these shares, held by *file. */
static cs_status mixture_of(const cs_objective *mixture, const double *share, cs_plan_file *file,
                            cs_objective *out)
{
    json_auto_t *parts = NULL;
    cs_status status = cs_family_parts(mixture, share, &parts);
    if (status == CS_OK) status = cs_plan_file_mixture(parts, mixture->file->path, file);
    *out = *mixture;
    out->file = file;
    return status;
}

/* The events of that mixture, listed where `listed` says so. */
static cs_status pairs_of(const cs_objective *mixture, const double *share, int64_t s, bool listed,
                          cs_pairs *out)
{
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective objective;
    cs_status status = mixture_of(mixture, share, &file, &objective);
    if (status == CS_OK) status = cs_pairs_of(&objective, s, out);
    if (status == CS_OK && listed) status = cs_pairs_expand(out, MOST_EVENTS);
    return status;
}

cs_status cs_family_weights(const cs_objective *mixture, int64_t s, double *weight)
{
    const int64_t parts = (int64_t)json_array_size(cs_plan_file_parts(mixture->file));
    CS_AUTO_FREE double *share = cs_calloc(parts, sizeof *share);
    cs_status status = share ? CS_OK : CS_ERR_MEMORY;
    for (int64_t j = 0; j < parts && status == CS_OK; ++j) {
        CS_AUTO(cs_plan_file) file = {0};
        cs_objective part;
        share[j] = 1;
        status = mixture_of(mixture, share, &file, &part);
        share[j] = 0;
        if (status == CS_OK && mixture->event_weight == CS_EVENT_MASK) {
            weight[j] = cs_objective_predict_probability(&part, s);
        } else if (status == CS_OK) {
            status = cs_objective_predicted(&part, s, &weight[j]);
        }
    }
    return status;
}

static bool same_set(const cs_pairs *a, int64_t e, const cs_pairs *b, int64_t f)
{
    const cs_pairs_set of = cs_pairs_set_of(a, e), with = cs_pairs_set_of(b, f);
    return of.size == with.size && memcmp(cs_pairs_positions(a, of), cs_pairs_positions(b, with),
                                          (size_t)of.size * sizeof(int32_t)) == 0;
}

/* Column number `j` from the distribution of one part: both lists of events are in one order. */
static void add_part(cs_family *f, int64_t j, const cs_pairs *part)
{
    int64_t n = f->ptr[j];
    for (int64_t e = 0, of = 0; e < part->events; ++e, ++of) {
        while (f->events.target[of] != part->target[e] || !same_set(&f->events, of, part, e)) {
            ++of;
        }
        f->mass[n] = of;
        f->part[n++] = part->weight[e];
    }
    for (int64_t m = 0; part->q && m < f->s; ++m) {
        if (part->q[m] > 0) {
            f->mass[n] = f->events.events + m;
            f->part[n++] = part->q[m];
        }
    }
    f->ptr[j + 1] = n;
}

static cs_status alloc_columns(cs_family *f, int64_t variables, int64_t entries, cs_pool *pool)
{
    f->variables = variables;
    f->ptr = cs_pool_take(pool, variables + 1, sizeof *f->ptr);
    CS_POOL_FIELDS(pool, entries, f, mass, part);
    return pool->status;
}

static cs_status family_of_parts(const cs_objective *mixture, cs_pool *pool, cs_family *f)
{
    const int64_t parts = (int64_t)json_array_size(cs_plan_file_parts(mixture->file));
    double *share = cs_pool_take(pool, parts, sizeof *share);
    cs_pairs part = {0};
    cs_status status = pool->status;
    if (status == CS_OK) cs_fill(parts, 1, share);
    if (status == CS_OK) status = pairs_of(mixture, share, f->s, false, &f->events);
    const bool listed = f->events.events > 0;
    if (status == CS_OK && listed)
        status = cs_blame(cs_pairs_expand(&f->events, MOST_EVENTS),
                          "a mixture that combines parts with listed sets and parts of sizes must "
                          "list all events; use parts of one kind");
    f->masses = f->events.events + (listed ? 0 : f->s);
    if (status == CS_OK) status = alloc_columns(f, parts, parts * f->masses, pool);
    if (status == CS_OK) memset(share, 0, (size_t)parts * sizeof *share);
    for (int64_t j = 0; j < parts && status == CS_OK; ++j) {
        share[j] = 1;
        status = pairs_of(mixture, share, f->s, listed, &part);
        share[j] = 0;
        if (status == CS_OK) add_part(f, j, &part);
        cs_pairs_free(&part);
    }
    return status;
}

/* --- events and distances --- */

static cs_status family_of_events(const cs_objective *objective, cs_pool *pool, cs_family *f)
{
    cs_status status = cs_pairs_of(objective, f->s, &f->events);
    if (status == CS_OK)
        status = cs_blame(cs_pairs_expand(&f->events, MOST_EVENTS),
                          "one variable per event; for longer sequences use offsets:D (one per "
                          "distance) or mix:SHARE*OBJECTIVE+... (one per part)");
    f->masses = f->events.events;
    if (status == CS_OK) status = alloc_columns(f, f->masses, f->masses, pool);
    for (int64_t e = 0; e < f->masses && status == CS_OK; ++e) {
        f->mass[e] = f->ptr[e] = e;
        f->part[e] = 1;
    }
    if (status == CS_OK) f->ptr[f->variables] = f->masses;
    return status;
}

/* Of the events of any later token those of prefixes with `reach` tokens left, up to that distance. */
static cs_status family_of_distances(int64_t reach, cs_pool *pool, cs_family *f)
{
    cs_objective any = cs_objective_default(CS_OBJ_DIVERSE_AR);
    cs_pairs *p = &f->events;
    any.t = f->s;
    cs_status status = cs_pairs_of(&any, f->s, p);
    int64_t kept = 0;
    for (int64_t e = 0; e < p->events && status == CS_OK; ++e) {
        const int64_t i = cs_pairs_set_of(p, e).size, d = p->target[e] - i + 1;
        if (i <= f->s - reach && d <= reach) {
            p->set[kept] = p->set[e];
            p->target[kept++] = p->target[e];
        }
    }
    const int64_t prefixes = f->s - reach;
    if (status == CS_OK) p->sets = prefixes;
    p->events = f->masses = kept;
    if (status == CS_OK) status = alloc_columns(f, reach, kept, pool);
    for (int64_t d = 0, n = 0; d < reach && status == CS_OK; ++d) {
        for (int64_t i = 0; i < prefixes; ++i, ++n) {
            f->mass[n] = i * reach + d;
            f->part[n] = 1 / (double)prefixes;
        }
        f->ptr[d + 1] = n;
    }
    return status;
}

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

/* Distributions that agree on the contexts of `first` have sums that agree on them too. */
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

static cs_status constrain(const cs_design_problem *problem, cs_pool *pool, cs_family *f)
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

cs_status cs_family_of(const cs_design_problem *problem, cs_pool *pool, cs_family *out)
{
    cs_family f = {.s = problem->length};
    const cs_objective *objective = &problem->objective;
    f.free_events = problem->reach == 0 && objective->kind != CS_OBJ_MIX;
    cs_status status = f.free_events        ? family_of_events(objective, pool, &f)
                       : problem->reach > 0 ? family_of_distances(problem->reach, pool, &f)
                                            : family_of_parts(objective, pool, &f);
    f.first = status == CS_OK ? cs_pool_take(pool, f.events.sets + 1, sizeof *f.first) : NULL;
    for (int64_t e = 0; e < f.events.events && f.first; ++e) {
        f.first[f.events.set[e] + 1] = e + 1;
    }
    if (status == CS_OK) status = pool->status;
    if (status == CS_OK) status = constrain(problem, pool, &f);
    return CS_DELIVER(status, out, f, cs_family_free);
}
