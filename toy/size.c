/* Checks of the toy model, and the size of its full matrix before any memory is used.
 *
 * A conditioning set of m positions has r T^m contents with disjoint token sets (one, or one a
 * class, when it is empty); each predicts T tokens of its class at each of its target positions.
 * With the literal sets contents of different classes may coincide, which only merges rows and
 * entries: the same numbers are then upper bounds. */
#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "plan/count.h"
#include "plan/pairs.h"
#include "toy/toy.h"

cs_status cs_toy_check(const cs_toy *toy)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"classes", toy->classes}, {"length", toy->length}, {"tokens", toy->tokens}};
    for (int i = 0; i < 3; ++i) {
        /* Below 2^31, so that products of two fit. */
        if (counts[i].value < 1 || counts[i].value > INT32_MAX) {
            return cs_fail(CS_ERR_USAGE, "toy model: %s %" PRId64 " not in 1..%d", counts[i].name,
                           counts[i].value, INT32_MAX);
        }
    }
    cs_status status = cs_objective_check(&toy->objective);
    return status == CS_OK ? cs_objective_check_length(&toy->objective, toy->length) : status;
}

typedef struct {
    double rows, nnz;
} matrix_size;

/* Adds `sets` conditioning sets of m positions with `targets` target positions each. */
static void add_sets(const cs_toy *toy, double sets, int64_t m, double targets, matrix_size *size)
{
    double classes = (double)toy->classes, tokens = (double)toy->tokens;
    double contents = classes * pow(tokens, (double)m);
    bool one = m == 0 && toy->objective.empty_prefix == CS_PREFIX_SHARED;
    size->rows += sets * (one ? 1 : contents) * (toy->given ? targets : 1);
    size->nnz += sets * contents * targets * tokens;
}

static cs_status add_prefixes(const cs_toy *toy, const cs_pairs *pairs, matrix_size *size,
                              double *targets)
{
    char *used = cs_calloc(pairs->length, 1);
    if (!used) {
        return CS_ERR_MEMORY;
    }
    for (int64_t e = 0, next; e < pairs->events; e = next) {
        for (next = e; next < pairs->events && pairs->set[next] == pairs->set[e]; ++next) {
            *targets += !used[pairs->target[next]];
            used[pairs->target[next]] = 1;
        }
        int64_t set = pairs->set[e];
        int64_t m =
            pairs->form == CS_PAIRS_PREFIX ? set : pairs->set_ptr[set + 1] - pairs->set_ptr[set];
        add_sets(toy, 1, m, (double)(next - e), size);
    }
    cs_free(used);
    return CS_OK;
}

cs_status cs_toy_size(const cs_toy *toy, double *rows, double *cols, double *nnz)
{
    cs_pairs pairs = {0};
    matrix_size size = {0};
    double targets = 0;
    cs_status status = cs_toy_check(toy);
    if (status == CS_OK) {
        status = cs_pairs_of(&toy->objective, toy->length, &pairs);
    }
    if (status == CS_OK && pairs.form == CS_PAIRS_INVARIANT) {
        targets = (double)toy->length;
        for (int64_t m = 0; m < toy->length; ++m) {
            if (pairs.q[m] > 0) {
                add_sets(toy, cs_binomial(toy->length, m), m, (double)(toy->length - m), &size);
            }
        }
    } else if (status == CS_OK) {
        status = add_prefixes(toy, &pairs, &size, &targets);
    }
    if (status == CS_OK) {
        *rows = size.rows;
        *nnz = size.nnz;
        *cols = (double)toy->classes * (double)toy->tokens * targets;
    }
    cs_pairs_free(&pairs);
    return status;
}
