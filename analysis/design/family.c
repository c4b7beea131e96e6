/* Three kinds of families: a law of events (a variable an event), one law of distances (a variable a
 * distance, its events those of all prefixes), the shares of a mixture (a variable a part).
 *
 * Permutation-invariant parts among themselves need their sizes alone; beside listed events they are
 * written out, since a set of both is one context.
 */
#include "analysis/design/family_private.h"

#include <math.h>
#include <string.h>

#include "analysis/theorems/tradeoff.h"
#include "base/reals.h"
#include "io/json.h"
#include "plan/count.h"
#include "plan/plan_file.h"

enum { MOST_EVENTS = 1 << 18 };

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
        json_t *part = share[j] > 0 ? json_copy(json_array_get(all, j)) : NULL;
        if (share[j] > 0 &&
            (!part || json_object_set_new(part, "share", cs_json_number(share[j])) ||
             json_array_append(parts, part))) {
            json_decref(parts);
            parts = NULL;
        }
        json_decref(part);
    }
    *out = parts;
    return parts ? cs_json_check() : CS_ERR_MEMORY; /* a copy may lack something */
}

/* The mixture of these shares, held by *file. */
static cs_status mixture_of(const cs_objective *mixture, const double *share, cs_plan_file *file,
                            cs_objective *out)
{
    json_t *parts = NULL;
    cs_status status = cs_family_parts(mixture, share, &parts);
    if (status == CS_OK) status = cs_plan_file_mixture(parts, mixture->file->path, file);
    json_decref(parts);
    *out = *mixture;
    out->file = file;
    return status;
}

/* The events of that mixture, listed where `listed` says so. */
static cs_status pairs_of(const cs_objective *mixture, const double *share, int64_t s, bool listed,
                          cs_pairs *out)
{
    cs_plan_file file = {0};
    cs_objective objective;
    cs_status status = mixture_of(mixture, share, &file, &objective);
    if (status == CS_OK) status = cs_pairs_of(&objective, s, out);
    if (status == CS_OK && listed) status = cs_pairs_expand(out, MOST_EVENTS);
    cs_plan_file_free(&file);
    return status;
}

cs_status cs_family_weights(const cs_objective *mixture, int64_t s, double *weight)
{
    const int64_t parts = (int64_t)json_array_size(cs_plan_file_parts(mixture->file));
    double *share = cs_calloc(parts, sizeof *share);
    cs_status status = share ? CS_OK : CS_ERR_MEMORY;
    for (int64_t j = 0; j < parts && status == CS_OK; ++j) {
        cs_plan_file file = {0};
        cs_objective part;
        share[j] = 1;
        status = mixture_of(mixture, share, &file, &part);
        share[j] = 0;
        if (status == CS_OK && mixture->event_weight == CS_EVENT_MASK) {
            weight[j] = cs_objective_speaks(&part, s);
        } else if (status == CS_OK) {
            status = cs_objective_predicted(&part, s, &weight[j]);
        }
        cs_plan_file_free(&file);
    }
    cs_free(share);
    return status;
}

static bool same_set(const cs_pairs *a, int64_t e, const cs_pairs *b, int64_t f)
{
    const cs_pairs_set of = cs_pairs_set_of(a, e), with = cs_pairs_set_of(b, f);
    return of.size == with.size && memcmp(cs_pairs_positions(a, of), cs_pairs_positions(b, with),
                                          (size_t)of.size * sizeof(int32_t)) == 0;
}

/* Column number `j` from the law of one part: both lists of events are in one order. */
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

static cs_status columns_room(cs_family *f, int64_t variables, int64_t entries, cs_pool *pool)
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
    if (status == CS_OK) status = columns_room(f, parts, parts * f->masses, pool);
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
    if (status == CS_OK) status = columns_room(f, f->masses, f->masses, pool);
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
    if (status == CS_OK) status = columns_room(f, reach, kept, pool);
    for (int64_t d = 0, n = 0; d < reach && status == CS_OK; ++d) {
        for (int64_t i = 0; i < prefixes; ++i, ++n) {
            f->mass[n] = i * reach + d;
            f->part[n] = 1 / (double)prefixes;
        }
        f->ptr[d + 1] = n;
    }
    return status;
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
    if (status == CS_OK) status = cs_family_constrain(problem, pool, &f);
    return CS_DELIVER(status, out, f, cs_family_free);
}
