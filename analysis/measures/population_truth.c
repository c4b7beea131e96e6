/* What is measured of any matrix is measured of that of the population. */
#include "analysis/measures/population_truth.h"

#include "base/mem.h"
#include "text/law.h"

/* The population that the documents of a corpus are drawn from. */
static cs_status population_of(const cs_corpus *corpus, const cs_cooc_options *build,
                               cs_corpus *out)
{
    cs_status status = cs_law_population_of(corpus->name, build->max_length, build->stride, out);
    return status == CS_OK &&
                   (!cs_law_speaks(&out->population->law, corpus) || corpus->unknown_tokens > 0)
               ? cs_fail(CS_ERR_INPUT, "%s: its words are not those of the synthetic language",
                         corpus->name)
               : status;
}

cs_status cs_population_truth(const cs_corpus *corpus, const cs_population_plan *plan,
                              cs_population_rows *rows, char **why)
{
    cs_corpus texts = {0};
    cs_cooc cooc = {0};
    cs_population_rows truth = {0};
    cs_cooc_options build = plan->build;
    if (!cs_law_named(corpus->name)) {
        return CS_OK;
    }
    build.split = CS_SPLIT_ALL;
    cs_status status = population_of(corpus, &build, &texts);
    if (status == CS_OK) status = cs_cooc_build(&texts, &build, &cooc);
    if (status == CS_ERR_MEMORY || status == CS_ERR_INPUT || status == CS_ERR_USAGE) {
        *why = cs_strdup(cs_reason());
        cs_reason_clear();
        cs_corpus_free(&texts);
        return *why ? CS_OK : CS_ERR_MEMORY;
    }
    const bool compared = status == CS_OK && rows->as_blind;
    if (compared) rows->as_blind = cooc.matrix.a.rows == plan->blind_population;
    if (status == CS_OK && !compared)
        status = cs_population_rows_of_matrix(&cooc.matrix.a, &plan->spectrum, &truth);
    if (status == CS_OK)
        status = cs_reserve(&rows->row, &rows->room, rows->count + truth.count, sizeof *rows->row);
    for (int64_t i = 0; i < truth.count && status == CS_OK; ++i) {
        rows->row[rows->count] = truth.row[i];
        rows->row[rows->count++].estimate = "population";
    }
    cs_population_rows_free(&truth);
    cs_cooc_free(&cooc);
    cs_corpus_free(&texts);
    return status;
}
