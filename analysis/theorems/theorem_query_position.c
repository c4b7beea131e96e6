/* Queries without a position (GVP 4.1: the query stream begins as G^(0) = w, one vector for all).
 *
 * Queries of one group see the same content, so that without a position they are one query, and a
 * network predicts one distribution for them (tests/test_query_position.c: bit for bit). Such a
 * model learns the blind matrix, and its floor is H(x_k | S) where it is H(x_k | S, k) of a model
 * that knows k:
 *
 *     H(x_k | S) - H(x_k | S, k) = I(x_k; k | S) <= H(k | S),
 *
 * with equality where a token determines its position, as it does in the toy model; in random order
 * that is more than 0 for groups of one too, which is the second row of GVP's Table 10. The left
 * side comes from the entries of the toy's matrices, blind and given, the right from the
 * distribution of events alone. */
#include <float.h>
#include <math.h>

#include "analysis/theorems/registry.h"
#include "base/auto.h"
#include "plan/pairs.h"
#include "plan/spec.h"

/* -sum A(X, X+) ln P(X+ | X) of a matrix whose entries sum to one or not. */
static double entropy_of(const cs_csr *a)
{
    double sum = 0, all = 0;
    for (int64_t r = 0; r < a->rows; ++r) {
        double mass = 0;
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            mass += a->val[e];
        }
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            sum -= a->val[e] > 0 ? a->val[e] * log(a->val[e] / mass) : 0;
        }
        all += mass;
    }
    return sum / all;
}

static cs_status floor_of(cs_toy toy, bool given, double *out)
{
    CS_AUTO(cs_labelled) m = {0};
    toy.given = given;
    cs_status status = cs_toy_matrix(&toy, CS_THEOREM_TOY_ENTRIES, &m);
    if (status == CS_OK) *out = entropy_of(&m.a);
    return status;
}

/* H(k | S) of the events of an objective. */
static cs_status place_entropy(const cs_objective *o, int64_t s, double *out)
{
    CS_AUTO(cs_pairs) pairs = {0};
    cs_status status = cs_pairs_of(o, s, &pairs);
    if (status == CS_OK) status = cs_pairs_expand(&pairs, 1 << 20);
    *out = 0;
    for (int64_t e = 0, end = 0; e < pairs.events && status == CS_OK; e = end) {
        double mass = 0;
        for (end = e; end < pairs.events && pairs.set[end] == pairs.set[e]; ++end) {
            mass += pairs.weight[end];
        }
        for (int64_t i = e; i < end; ++i) {
            *out -= pairs.weight[i] * log(pairs.weight[i] / mass);
        }
    }
    return status;
}

static cs_status state(const char *spec, cs_statements *list)
{
    cs_toy toy = {.classes = 2, .length = 5, .tokens = 2};
    double blind = 0, given = 0, places = 0;
    cs_status status = cs_objective_parse(spec, &toy.objective);
    if (status == CS_OK) status = floor_of(toy, false, &blind);
    if (status == CS_OK) status = floor_of(toy, true, &given);
    if (status == CS_OK) status = place_entropy(&toy.objective, toy.length, &places);
    CS_AUTO_FREE char *input = status == CS_OK ? cs_toy_describe(&toy) : NULL;
    if (!input) return status == CS_OK ? CS_ERR_MEMORY : status;
    /* The error of a sum of at most CS_THEOREM_TOY_ENTRIES positive terms, each within a few units
     * of rounding. */
    const double error = 16 * (double)CS_THEOREM_TOY_ENTRIES * DBL_EPSILON;
    cs_statements_claim(list, &(cs_claim){"query-position", CS_PRINTED, CS_RELATION_EQUAL,
                                          "H(x_k | S) = H(x_k | S, k): queries need no position",
                                          input, blind, given, error});
    cs_statements_claim(list, &(cs_claim){"query-position", CS_CORRECTED, CS_RELATION_EQUAL,
                                          "H(x_k | S) - H(x_k | S, k) = H(k | S) in the toy model",
                                          input, blind - given, places, 3 * error});
    return cs_statements_status(list);
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    static const char *const specs[] = {
        "gvp(segmentation=fixed,groups=1)", "gvp(segmentation=mixed,groups=2)",
        "gvp(segmentation=fixed,groups=4)", "gvp(segmentation=fixed,groups=4,permutation=none)"};
    const int64_t first = report->statements.count;
    cs_status status = CS_OK;
    (void)in;
    for (size_t i = 0; i < sizeof specs / sizeof *specs && status == CS_OK; ++i) {
        status = state(specs[i], &report->statements);
    }
    cs_statements_mark(&report->statements, first);
    return status;
}

const cs_theorem cs_entry_query_position = {
    .id = "query-position",
    .about = "GVP 4.1 is about queries",
    .paper = "GVP",
    .printed_words = "queries without a position lose nothing",
    .corrected_words = "they lose the information that a position carries",
    .printed = "queries with the same initial value, G^(0) = w, reach the floor of queries that "
               "know their position",
    .corrected =
        "the floor is higher by I(x_k; k | S), at most H(k | S): by 0 where S determines k",
    .run = {[CS_ON_NOTHING] = on_nothing}};
