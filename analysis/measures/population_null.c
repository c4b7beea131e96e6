/* The null: the numbers of the corpus with its tokens shuffled over the documents, over several
 * shuffles. */
#include <math.h>
#include <string.h>

#include "analysis/measures/population_numbers_private.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cooc/build_sequences.h"
#include "stats/student.h"

/* The tokens of the documents of the split, shuffled, in `token`. */
static cs_status shuffle(const cs_corpus *corpus, const cs_population_plan *plan, int64_t number,
                         int32_t *token)
{
    int32_t *drawn = cs_alloc(corpus->tokens, sizeof *drawn);
    if (!drawn) return CS_ERR_MEMORY;
    for (int pass = 0; pass < 2; ++pass) {
        int64_t n = 0;
        for (int64_t d = 0; d < corpus->documents; ++d) {
            const int64_t from = corpus->doc_ptr[d], count = corpus->doc_ptr[d + 1] - from;
            if (cs_cooc_in_split(corpus, plan->build.split, d)) {
                memcpy(pass ? token + from : drawn + n, pass ? drawn + n : corpus->token + from,
                       (size_t)count * sizeof *token);
                n += count;
            }
        }
        if (!pass) {
            cs_rng rng = cs_rng_at(plan->seed, CS_STREAM_NULL, (uint64_t)number);
            cs_rng_shuffle(&rng, n, drawn);
        }
    }
    cs_free(drawn);
    return CS_OK;
}

/* Mean and standard deviation of values[i CS_POP_VALUES + j] over the shuffles. */
static void distribution(int64_t count, const double *values, int j, double *mean,
                         double *deviation)
{
    double square = 0;
    *mean = 0;
    for (int64_t i = 0; i < count; ++i) {
        *mean += values[i * CS_POP_VALUES + j] / (double)count;
    }
    for (int64_t i = 0; i < count; ++i) {
        const double off = values[i * CS_POP_VALUES + j] - *mean;
        square += off * off;
    }
    *deviation = count > 1 ? sqrt(square / (double)(count - 1)) : (double)NAN;
}

static cs_status add_null(cs_population_rows *rows, int64_t documents, int64_t count, bool gram,
                          const double *values)
{
    cs_status status = CS_OK;
    for (int i = CS_POP_ESTIMATED;
         i < (gram ? cs_population_number(CS_POP_CROSS_FIT, 0) : CS_POP_VALUES) && status == CS_OK;
         ++i) {
        cs_population_row row = {.documents = documents};
        double center, spread;
        if (!cs_population_describe(i, CS_POP_LEADING, &row)) {
            continue;
        }
        distribution(count, values, cs_population_basis(i), &center, &spread);
        distribution(count, values, i, &row.value, &row.se);
        const double width = count > 1 ? cs_student_width(0.95, (double)(count - 1)) * spread *
                                             sqrt(1 + 1 / (double)count)
                                       : (double)NAN;
        row.low = center - width;
        row.high = center + width;
        status = cs_population_add(rows, &row);
    }
    return status;
}

cs_status cs_population_null(const cs_corpus *corpus, const cs_population_plan *plan,
                             cs_population_rows *out)
{
    cs_population_rows rows = {0};
    cs_corpus null = *corpus;
    int64_t documents = 0;
    double *values = cs_alloc(plan->shuffles * CS_POP_VALUES, sizeof *values);
    null.token = cs_alloc(corpus->tokens, sizeof *null.token);
    cs_status status = values && null.token ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        memcpy(null.token, corpus->token, (size_t)corpus->tokens * sizeof *null.token);
    for (int64_t i = 0; i < plan->shuffles && status == CS_OK; ++i) {
        cs_population_study s = {0};
        status = shuffle(corpus, plan, i, null.token);
        if (status == CS_OK) status = cs_population_study_of(&null, plan, &s);
        if (status == CS_OK) {
            documents = s.documents;
            cs_population_choose(&s, 0, documents, -1);
            status = cs_population_measure(&s, CS_POP_LEADING, NULL, values + i * CS_POP_VALUES);
        }
        cs_population_study_free(&s);
        cs_progress_report(plan->build.progress, "shuffles", i + 1, plan->shuffles);
    }
    if (status == CS_OK)
        status = add_null(&rows, documents, plan->shuffles, cs_context_gram(&plan->build.context),
                          values);
    cs_free(values);
    cs_free(null.token);
    return CS_DELIVER(status, out, rows, cs_population_rows_free);
}
