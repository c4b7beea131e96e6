/* Grammars as chains (synthetic_grammar_private.h): the distributions of the path to the leftmost leaf of
 * a subtree, level by level, then a row a state. */
#include "text/synthetic_grammar_private.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

int64_t cs_grammar_states(int64_t symbols, int64_t depth, int64_t most)
{
    int64_t states = symbols;
    for (int64_t l = 0; l < depth && states <= most; ++l) {
        states *= 1 + symbols;
    }
    return states <= most ? states : most + 1;
}

/* below[a][leaf and owed] of a subtree one level higher: its left child's distribution, and the
 * right child owed as the last digit. width: S^(1 + levels) of the lower one. */
static void rise(int64_t s, int64_t width, const double *rule, const double *lower, double *below)
{
    for (int64_t a = 0; a < s; ++a) {
        for (int64_t left = 0; left < s; ++left) {
            for (int64_t right = 0; right < s; ++right) {
                const double p = rule[(a * s + left) * s + right];
                for (int64_t i = 0; i < width; ++i) {
                    below[(a * s + right) * width + i] += p * lower[left * width + i];
                }
            }
        }
    }
}

static int ones_behind(int64_t t)
{
    int r = 0;
    for (; t >> r & 1; ++r) {
    }
    return r;
}

cs_status cs_grammar_chain(int64_t symbols, int64_t depth, int64_t words, const double *root,
                           const double *rule, const double *word, double *start, double *next,
                           double *emit)
{
    const int64_t s = symbols, leaves = (int64_t)1 << depth,
                  all = cs_grammar_states(s, depth, INT32_MAX);
    double *below[32] = {NULL}; /* by levels */
    int64_t width[32] = {s};    /* S^(1 + levels) */
    CS_AUTO(cs_pool) pool = {0};
    for (int64_t l = 0; l <= depth; ++l) {
        width[l] = l > 0 ? width[l - 1] * s : s;
        below[l] = cs_pool_take(&pool, s * width[l], sizeof(double));
    }
    cs_status status = pool.status;
    if (status != CS_OK) return status;
    for (int64_t a = 0; a < s; ++a) {
        below[0][a * s + a] = 1;
    }
    for (int64_t l = 1; l <= depth; ++l) {
        rise(s, width[l - 1], rule, below[l - 1], below[l]);
    }
    for (int64_t a = 0; a < s; ++a) {
        for (int64_t i = 0; i < width[depth]; ++i) {
            start[i] += root[a] * below[depth][a * width[depth] + i];
        }
    }
    for (int64_t t = 0, first = 0, many = width[depth]; t < leaves; ++t) {
        const int r = ones_behind(t);
        const int64_t after = first + many;
        for (int64_t code = 0; code < many; ++code) {
            double *row = next + (first + code) * all;
            const int64_t owed = code / s % s, rest = code / s / s;
            if (t + 1 == leaves) {
                memcpy(row, start, (size_t)width[depth] * sizeof *row);
            } else {
                memcpy(row + after + rest * width[r], below[r] + owed * width[r],
                       (size_t)width[r] * sizeof *row);
            }
            memcpy(emit + (first + code) * words, word + code % s * words,
                   (size_t)words * sizeof *emit);
        }
        first = after;
        many = t + 1 < leaves ? many / s * width[r] / s : many;
    }
    return status;
}
