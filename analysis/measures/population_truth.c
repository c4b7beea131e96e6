/* The population of a law is a corpus of all of its texts: what is measured of a matrix is measured of
 * its matrix. */
#include "analysis/measures/population_truth.h"

#include "base/mem.h"
#include "text/law.h"

static cs_status texts_of(const cs_law *law, const char *source, const cs_cooc_options *options,
                          cs_corpus *out)
{
    const bool parts = options->max_length > 0 && options->max_length < law->length;
    return parts && options->context.mode == CS_CONTEXT_DOCUMENT
               ? cs_fail(CS_ERR_USAGE,
                         "a population has no documents of which windows are parts: leave "
                         "--max-length out under --context document")
               : cs_law_texts(law, source, options->max_length, options->stride, out);
}

cs_status cs_population_texts(const char *source, const cs_cooc_options *options, cs_corpus *out)
{
    cs_law law = {0};
    cs_status status =
        cs_law_named(source)
            ? cs_law_parse(source, &law)
            : cs_fail(CS_ERR_USAGE, "%s: a population is that of a law, markov:... or hmm:...",
                      source);
    if (status == CS_OK) status = texts_of(&law, source, options, out);
    cs_law_free(&law);
    return status;
}

/* The texts that the documents of a corpus are drawn from. */
static cs_status population_of(const cs_corpus *corpus, const cs_cooc_options *build,
                               cs_corpus *out)
{
    cs_law law = {0};
    cs_status status = cs_law_parse(corpus->name, &law);
    if (status == CS_OK && (!cs_law_speaks(&law, corpus) || corpus->unknown_tokens > 0))
        status = cs_fail(CS_ERR_INPUT, "%s: its words are not those of the law", corpus->name);
    if (status == CS_OK) status = texts_of(&law, corpus->name, build, out);
    cs_law_free(&law);
    return status;
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
    if (status == CS_ERR_MEMORY || status == CS_ERR_INPUT || status == CS_ERR_USAGE) {
        *why = cs_strdup(cs_reason());
        cs_reason_clear();
        return *why ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) status = cs_cooc_build(&texts, &build, &cooc);
    if (status == CS_OK)
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
