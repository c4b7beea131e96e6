/* Comparisons of singular subspaces (subspaces.h). */
#include "cli/subspaces.h"

#include <float.h>
#include <string.h>

cs_status cs_same_vocabulary(const cs_corpus *a, const cs_corpus *b)
{
    if (a->vocab != b->vocab) {
        return cs_fail(CS_ERR_INPUT,
                       "the vocabularies have %lld and %lld words; build both matrices from one "
                       "corpus with the same options",
                       (long long)a->vocab, (long long)b->vocab);
    }
    for (int64_t i = 0; a->word && b->word && i < a->vocab; ++i) {
        if (strcmp(a->word[i], b->word[i]) != 0) {
            return cs_fail(CS_ERR_INPUT,
                           "word %lld is %s in one vocabulary but %s in the other; build both "
                           "matrices from one corpus with the same options",
                           (long long)i, a->word[i], b->word[i]);
        }
    }
    return CS_OK;
}

cs_spacing cs_spacing_of(const cs_spectrum *s, int64_t k)
{
    const double rounding = 64 * DBL_EPSILON * s->sigma[0];
    bool next = s->k > k;
    return (cs_spacing){.value = s->sigma[k - 1] - (next ? s->sigma[k] : 0),
                        .error = s->residual[k - 1] + (next ? s->residual[k] : s->solution.floor) +
                                 rounding};
}
