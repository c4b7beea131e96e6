/* What a build may use, and what it will, estimated from above: for --dry-run.
 *
 * Every contribution is taken for a record, an entry and a row of its own, but where rows are
 * tokens; how many fall together is not known before they are counted.
 */
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_sequences.h"
#include "cooc/builder_private.h"
#include "cooc/context_private.h"

enum { MIB = 1 << 20 };

cs_status cs_build_means_of(const cs_cooc_options *options, cs_build_means *out)
{
    const int asked = options->threads > 0 ? options->threads : cs_threads();
    int64_t budget = options->memory_budget;
    if (budget == 0) {
        budget = cs_mem_available() / 4;
        budget = budget > MIB ? budget : MIB;
    }
    if (budget < MIB) {
        return cs_fail(CS_ERR_USAGE, "memory budget of %lld bytes: at least 1 MiB is needed",
                       (long long)options->memory_budget);
    }
    *out = (cs_build_means){.workers = asked < CS_BUILD_WORKERS ? asked : CS_BUILD_WORKERS,
                            .budget = budget,
                            .limit = (options->memory_budget > 0 ? 1 : 2) * (double)budget};
    return CS_OK;
}

/* Bytes of a matrix of at most so many entries, as the assembler lays it out. */
static double matrix_bytes(const cs_corpus *corpus, double rows, double entries)
{
    const double classes = rows * (double)corpus->labels;
    const double of_rows = entries < classes ? entries : classes;
    return (entries + of_rows) * (sizeof(int32_t) + sizeof(double)) +
           rows * (sizeof(cs_hash128) + 4 * sizeof(int64_t));
}

/* Bytes of runs in the scratch files: none where one worker has slots for all; twice the records
 * where the runs are too many for one merge, whose result stands beside them. */
static double run_bytes(const cs_build_means *b, double records)
{
    const double slots = (double)b->budget / b->workers * 7 / 8, budget = (double)b->budget;
    if (records < slots) {
        return 0;
    }
    const double runs = records / slots + b->workers, buffers = budget / (256 * sizeof(cs_record));
    return runs < buffers ? records : 2 * records;
}

cs_status cs_cooc_estimate(const cs_corpus *corpus, const cs_cooc_options *options,
                           cs_cooc_size *out)
{
    cs_build_means means = {0};
    cs_sequences sequences = {0};
    cs_context_plan *plan = NULL;
    int64_t skipped = 0;
    const cs_context_options context = cs_cooc_context_options(options);
    cs_status status = cs_build_means_of(options, &means);
    status = status ? status : cs_cooc_sequences(corpus, options, &sequences, &skipped);
    status = status ? status : cs_context_prepare(&sequences, &context, &plan);
    if (status == CS_OK) {
        double count = 0;
        for (int64_t i = 0; i < sequences.count; ++i) {
            count += cs_context_table_of(plan, sequences.length[i])->contributions;
        }
        const double records = count * sizeof(cs_record), budget = (double)means.budget;
        double entries = count, vocab = (double)corpus->vocab;
        bool token_rows = options->context.mode == CS_CONTEXT_EACH && !options->context.given;
        if (token_rows && entries > vocab * vocab) {
            entries = vocab * vocab;
        }
        const double rows = token_rows && vocab < entries ? vocab : entries;
        const double matrix = matrix_bytes(corpus, rows, entries);
        const double foreseen = 1.25 * matrix; /* with what the assembler has to spare */
        const bool in_files = foreseen > means.limit;
        const double collected = 1.25 * records < budget ? 1.25 * records : budget;
        *out = (cs_cooc_size){.contributions = count,
                              .matrix = matrix,
                              .memory = collected + (in_files ? means.limit : matrix) +
                                        matrix * means.workers /
                                            CS_RANGES + /* parts; masses, sums and pointers */
                                        ((double)corpus->labels + 2) * vocab * sizeof(int64_t),
                              .scratch = run_bytes(&means, records) + (in_files ? foreseen : 0)};
    }
    cs_context_plan_free(&plan);
    cs_sequences_free(&sequences);
    return status;
}
