/* The toy model in words, checks of it, toy models that differ from another in their objective, and
 * the size of its full matrix before any memory is used.
 *
 * A conditioning set of m positions has r T^m contents with disjoint token sets (one, or one a
 * class, when it is empty); each predicts T tokens of its class at each of its target positions.
 * With the literal sets contents of different classes may coincide, which only merges rows and
 * entries: the same numbers are then upper bounds. So they are where a weight is too small for a
 * double. Nothing is allocated except for plan files and mixtures, whatever the length. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"
#include "plan/count.h"
#include "plan/offsets.h"
#include "plan/pairs.h"
#include "plan/sizes.h"
#include "toy/toy.h"

const char *cs_prefix_name(cs_empty_prefix prefix)
{
    return prefix == CS_PREFIX_NONE ? "none" : prefix == CS_PREFIX_SHARED ? "shared" : "class";
}

void cs_toy_position(const cs_toy *toy, char text[32])
{
    (void)snprintf(text, 32,
                   toy->position_known > 0 ? "known %.15g"
                   : toy->given            ? "given"
                                           : "blind",
                   toy->position_known);
}

char *cs_toy_describe(const cs_toy *toy)
{
    CS_AUTO_FREE char *objective = cs_objective_describe(&toy->objective);
    if (!objective) {
        return NULL;
    }
    char position[32];
    cs_toy_position(toy, position);
    char *text =
        cs_format("r=%lld s=%lld T=%lld, %s, target position %s, %s token sets, empty prefix %s",
                  (long long)toy->classes, (long long)toy->length, (long long)toy->tokens,
                  objective, position, toy->literal ? "literal" : "disjoint",
                  cs_prefix_name(toy->objective.empty_prefix));
    return text;
}

cs_toy cs_toy_with(const cs_toy *toy, cs_objective_kind kind, cs_empty_prefix prefix)
{
    cs_toy other = *toy;
    other.objective = cs_objective_default(kind);
    other.objective.empty_prefix = prefix;
    return other;
}

cs_toy cs_toy_masked(const cs_toy *toy, int64_t m)
{
    cs_toy masked = cs_toy_with(toy, CS_OBJ_MASKED, CS_PREFIX_NONE);
    masked.objective.unmasked_lo = masked.objective.unmasked_hi = m;
    masked.given = masked.literal = false;
    masked.position_known = 0;
    return masked;
}

int64_t cs_toy_offset(const cs_toy *toy, int64_t label, int64_t digit)
{
    return toy->literal ? (label + 1) * (digit + 1) - 1 : label * toy->tokens + digit;
}

int64_t cs_toy_power(int64_t base, int64_t exponent)
{
    int64_t p = 1;
    for (int64_t i = 0; base > 1 && i < exponent; ++i) {
        p *= base;
    }
    return p;
}

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
    if (!(toy->position_known >= 0 && toy->position_known < 1)) {
        return cs_fail(CS_ERR_USAGE,
                       "toy model: a position known with probability %g not in [0, 1)",
                       toy->position_known);
    }
    if (toy->position_known > 0 &&
        (toy->given || toy->objective.empty_prefix == CS_PREFIX_SHARED)) {
        return cs_fail(CS_ERR_USAGE,
                       "a position known with probability %g cannot be combined with %s",
                       toy->position_known, toy->given ? "given position" : "shared empty text");
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
    const bool rows = toy->given || toy->position_known > 0; /* one a target */
    size->rows += sets * (one ? 1 : contents) * (rows ? targets : 1);
    size->nnz += sets * contents * targets * tokens * (toy->position_known > 0 ? targets : 1);
}

/* A prefix predicts the tokens of its window, and every position but the first is in one. */
static void add_prefixes(const cs_toy *toy, matrix_size *size, double *targets)
{
    const cs_objective *o = &toy->objective;
    int64_t s = toy->length, first = o->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    int64_t window = o->t > 0 ? o->t : cs_distance_of(o, s).window;
    for (int64_t m = first; m < s && !(isinf(size->rows) && isinf(size->nnz)); ++m) {
        add_sets(toy, 1, m, (double)(s - m < window ? s - m : window), size);
    }
    *targets = (double)(s - first);
}

typedef struct {
    const cs_toy *toy;
    matrix_size *size;
} size_sum;

/* Stops where the sums cannot grow any more. */
static bool add_size(void *ctx, int64_t m, long double c)
{
    const size_sum *sum = ctx;
    int64_t s = sum->toy->length;
    if ((double)c > 0) {
        add_sets(sum->toy, cs_binomial(s, m), m, (double)(s - m), sum->size);
    }
    return !(isinf(sum->size->rows) && isinf(sum->size->nnz));
}

/* Listed sets, without those that the invariant part has too. */
static void add_listed(const cs_toy *toy, const cs_pairs *pairs, matrix_size *size)
{
    for (int64_t e = 0, next; e < pairs->events; e = next) {
        for (next = e; next < pairs->events && pairs->set[next] == pairs->set[e]; ++next) {
        }
        int64_t m = cs_pairs_set_of(pairs, e).size;
        if (!pairs->q || !(pairs->q[m] > 0)) {
            add_sets(toy, 1, m, (double)(next - e), size);
        }
    }
}

/* Any distribution: of plan files and mixtures. */
static cs_status add_distribution(const cs_toy *toy, matrix_size *size, double *targets)
{
    CS_AUTO(cs_pairs) pairs = {0};
    int64_t s = toy->length;
    CS_AUTO_FREE double *p = cs_alloc(s, sizeof *p);
    cs_status status = p ? cs_pairs_of(&toy->objective, s, &pairs) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        size_sum sum = {toy, size};
        for (int64_t m = 0; pairs.q && m < s && add_size(&sum, m, pairs.q[m]); ++m) {
        }
        add_listed(toy, &pairs, size);
        cs_pairs_targets(&pairs, 1, p);
    }
    for (int64_t k = 0; status == CS_OK && k < s; ++k) {
        *targets += p[k] > 0;
    }
    return status;
}

cs_status cs_toy_size(const cs_toy *toy, double *rows, double *cols, double *nnz)
{
    matrix_size size = {0};
    double targets = (double)toy->length;
    cs_status status = cs_toy_check(toy);
    if (status != CS_OK) return status;
    cs_pairs_form shape = cs_objective_shape(&toy->objective);
    if (shape == CS_PAIRS_SETS) {
        targets = 0;
        status = add_distribution(toy, &size, &targets);
    } else if (shape == CS_PAIRS_PREFIX) {
        add_prefixes(toy, &size, &targets);
    } else {
        size_sum sum = {toy, &size};
        status = cs_sizes_visit(&toy->objective, toy->length, add_size, &sum, NULL);
    }
    if (status == CS_OK) {
        *rows = size.rows;
        *nnz = size.nnz;
        *cols = (double)toy->classes * (double)toy->tokens * targets;
    }
    return status;
}
