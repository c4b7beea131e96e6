/* The resources that a build may use and those that it will need: estimated from above for
 * --dry-run, from below to refuse a disk that is too small before counting.
 *
 * How many contributions fall together is not known before they are counted: different rows and
 * entries are counted by a sketch (sketch_private.h) while the contributions are walked, which
 * takes a tenth of a build's time and none of its memory, or as their mode estimates them. Where
 * there are too many to walk, each counts as a separate entry and row. */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_private.h"
#include "cooc/build_sequences.h"
#include "cooc/context_private.h"
#include "cooc/record_private.h"
#include "cooc/sketch_private.h"
#include "cooc/store_private.h"
#include "cooc/synthetic_spread_private.h"

/* Nonzeros of the class masses of at most `rows` rows or columns. */
static double class_entries(const cs_corpus *corpus, double rows, double entries)
{
    return fmin(entries, rows * (double)corpus->labels);
}

/* Bytes of a matrix of at most `entries` entries, in the layout of the assembler. */
static double assembled_bytes(const cs_corpus *corpus, double rows, double entries)
{
    return (entries + class_entries(corpus, rows, entries)) * (sizeof(int32_t) + sizeof(double)) +
           rows * (sizeof(cs_hash128) + 4 * sizeof(int64_t));
}

/* The same where class masses are not known: at most. */
static double stored_at_most(const cs_corpus *c, double rows, double entries)
{
    return cs_store_bytes(c, rows, entries, class_entries(c, rows, entries),
                          class_entries(c, (double)c->vocab, entries));
}

/* Bytes of runs in the scratch files: none where one worker has slots for all; twice the records
 * where the runs are too many for one merge, whose result is written while they still exist. */
static double run_bytes(const cs_build_resources *b, double records)
{
    const double slots = (double)b->budget / b->workers * 7 / 8, budget = (double)b->budget;
    if (records < slots) {
        return 0;
    }
    const double runs = records / slots + b->workers, buffers = budget / (256 * sizeof(cs_record));
    return runs < buffers ? records : 2 * records;
}

/* Contributions that are walked, and by how much sketches are off at most (four standard errors), and
 * estimates of a mode. */
static const double MOST_WALKED = 0x1p28, SKETCHED = 1.05, ESTIMATED = 2;

enum { WALKED = 64 }; /* sequences of an item */

typedef struct {
    cs_context_walker walker;
    cs_sketch rows, entries;
} measurer;

typedef struct {
    const cs_cooc_prepared *of;
    int64_t count; /* its first sequences */
    bool listed;   /* listed events alone */
    measurer *worker;
} measuring;

static cs_status measure(void *ctx, const cs_contribution *c)
{
    measurer *m = ctx;
    cs_sketch_add(&m->rows, c->key.low);
    cs_sketch_add(&m->entries, cs_hash_words(c->key.low, (uint64_t)c->token, 0).low);
    return CS_OK;
}

static cs_status measure_sequences(void *ctx, int64_t item, int number)
{
    const measuring *job = ctx;
    const cs_sequences *s = &job->of->sequences;
    cs_status status = CS_OK;
    const int64_t end = cs_least((item + 1) * WALKED, job->count);
    for (int64_t i = item * WALKED; i < end && status == CS_OK; ++i) {
        const cs_context_table *t = cs_context_table_of(job->of->plan, s->length[i]);
        status = cs_context_walk(
            &job->worker[number].walker, i, s->start[i], s->length[i], s->document[i], 0,
            job->listed ? t->pairs.events : cs_context_outer(job->of->plan, s->length[i]));
    }
    return status;
}

static cs_status size_by_walk(const cs_cooc_prepared *p, int64_t count, bool listed, int workers,
                              cs_context_size *out)
{
    measuring job = {p, count, listed, cs_calloc(workers, sizeof *job.worker)};
    cs_status status = job.worker ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < workers && status == CS_OK; ++i) {
        status = cs_context_walker_init(&job.worker[i].walker, p->plan, p->corpus, measure,
                                        &job.worker[i]);
    }
    const int64_t items = (count + WALKED - 1) / WALKED;
    if (status == CS_OK) status = cs_parallel_workers(items, workers, measure_sequences, &job);
    for (int i = 1; i < workers && status == CS_OK; ++i) {
        cs_sketch_merge(&job.worker[0].rows, &job.worker[i].rows);
        cs_sketch_merge(&job.worker[0].entries, &job.worker[i].entries);
    }
    if (status == CS_OK) {
        out->rows = cs_sketch_count(&job.worker[0].rows);
        out->entries = cs_sketch_count(&job.worker[0].entries);
    }
    for (int i = 0; job.worker && i < workers; ++i) {
        cs_context_walker_free(&job.worker[i].walker);
    }
    cs_free(job.worker);
    return status;
}

static double contributions_of(const cs_cooc_prepared *p)
{
    double all = 0;
    for (int64_t i = 0; i < p->sequences.count; ++i) {
        all += cs_context_contributions(p->plan, p->sequences.length[i]);
    }
    return all;
}

static bool has_patterns(const cs_context_plan *plan)
{
    bool found = false;
    for (int64_t i = 0; i < plan->tables && !found; ++i) {
        found = plan->table[i].patterns > 0;
    }
    return found;
}

/* Rows (entries: entries) from this number of contributions: at most. */
static double most_of(const cs_cooc_prepared *p, double contributions, bool entries)
{
    const double vocab = (double)p->corpus->vocab;
    return cs_context_rows_are_tokens(&p->plan->context)
               ? fmin(contributions, entries ? vocab * vocab : vocab)
               : contributions;
}

/* Of a population, each contribution an entry and a row. */
static cs_status size_of_population(const cs_cooc_prepared *p, cs_context_size *out)
{
    CS_AUTO(cs_synthetic_spread) language = {0};
    cs_status status = cs_synthetic_spread_init(p->plan, p->corpus, &p->sequences, &language);
    const double all = language.contributions;
    *out = (cs_context_size){.contributions = all, .rows = all, .entries = all};
    return status;
}

/* The mode's estimate, and a walk over the rest. Rows and entries are at most *off times the true
 * ones; infinity where they are simply the contributions. */
static cs_status size_of(const cs_cooc_prepared *p, int workers, cs_context_size *out, double *off)
{
    const cs_context_plan *plan = p->plan;
    bool exact = false;
    *off = INFINITY;
    if (p->corpus->population) {
        return size_of_population(p, out);
    }
    cs_context_size s = {.contributions = contributions_of(p),
                         .scale = cs_build_scale(p, &exact),
                         .by_document = p->options.weight_by_document};
    cs_context_size estimated = s, rest = s;
    estimated.contributions = 0;
    cs_status status = CS_OK;
    const bool estimates = plan->kind->size && has_patterns(plan);
    if (estimates) status = plan->kind->size(plan, p->corpus, &p->sequences, workers, &estimated);
    rest.rows = rest.entries = rest.contributions = s.contributions - estimated.contributions;
    if (status == CS_OK && rest.contributions <= MOST_WALKED) {
        *off = estimated.contributions > 0 ? ESTIMATED : SKETCHED * SKETCHED;
        if (rest.contributions > 0)
            status = size_by_walk(p, p->sequences.count, estimates, workers, &rest);
    }
    s.rows = estimated.rows + rest.rows;
    s.entries = estimated.entries + rest.entries;
    s.rows = fmin(SKETCHED * s.rows, most_of(p, s.contributions, false));
    s.entries = fmin(SKETCHED * s.entries, most_of(p, s.contributions, true));
    s.rows = fmin(s.rows, s.entries);
    *out = s;
    return status;
}

cs_status cs_cooc_estimate_prepared(cs_cooc_prepared *p, cs_cooc_size *out)
{
    const cs_corpus *corpus = p->corpus;
    const cs_cooc_options *options = &p->options;
    cs_build_resources use = {0};
    cs_context_size size = {0};
    double off = 0;
    cs_status status = cs_build_resources_of(options, &use);
    if (status == CS_OK) status = cs_cooc_plan(p);
    if (status == CS_OK) status = size_of(p, use.workers, &size, &off);
    if (status == CS_OK) {
        const bool by_row = cs_context_gram(&options->context); /* windows_unique.c */
        const double records = by_row ? 0 : size.contributions * sizeof(cs_record);
        const double budget = (double)use.budget;
        const double vocab = (double)corpus->vocab;
        const double matrix = assembled_bytes(corpus, size.rows, size.entries);
        const double foreseen = 1.25 * matrix; /* with what the assembler has to spare */
        const bool in_files = foreseen > use.limit;
        const double places = by_row ? (double)corpus->tokens * sizeof(int64_t) : 0;
        const double collected = fmin(1.25 * records + places, budget);
        *out = (cs_cooc_size){.contributions = size.contributions,
                              .rows = size.rows,
                              .entries = size.entries,
                              .matrix = cs_archive_bytes(size.rows, size.entries),
                              .stored = stored_at_most(corpus, size.rows, size.entries),
                              .memory = collected + (in_files ? use.limit : matrix) +
                                        matrix * use.workers /
                                            CS_RANGES + /* parts; masses, sums and pointers */
                                        ((double)corpus->labels + 2) * vocab * sizeof(int64_t),
                              .scratch = run_bytes(&use, records) + (in_files ? foreseen : 0)};
    }
    return status;
}

/* Rows and entries: at least. Those of the first sequences alone, where a walk over all would take
 * too long. */
static cs_status least_of(const cs_cooc_prepared *p, int workers, cs_context_size *out)
{
    double contributions = 0, off = 0;
    cs_status status = size_of(p, workers, out, &off);
    if (status == CS_OK && isinf(off) && !p->corpus->population) {
        int64_t first = 0;
        while (first < p->sequences.count && contributions <= MOST_WALKED) {
            contributions += cs_context_contributions(p->plan, p->sequences.length[first++]);
        }
        status = size_by_walk(p, first, false, workers, out);
        off = SKETCHED;
    }
    out->rows /= off;
    out->entries /= off;
    return status;
}

cs_status cs_cooc_check_disk(cs_cooc_prepared *p, const char *dir)
{
    cs_build_resources use = {0};
    cs_context_size least = {0};
    double space = 0;
    cs_status status = cs_build_resources_of(&p->options, &use);
    if (status == CS_OK) status = cs_cooc_plan(p);
    if (status == CS_OK) status = cs_store_space(dir, &space);
    if (status == CS_OK) {
        const double all = contributions_of(p);
        if (stored_at_most(p->corpus, most_of(p, all, false), most_of(p, all, true)) > space)
            status = least_of(p, use.workers, &least);
    }
    return status ? status
                  : cs_store_check(dir, cs_store_bytes(p->corpus, least.rows, least.entries, 0, 0),
                                   "by a low estimate, the files of the matrix");
}

cs_status cs_cooc_estimate(const cs_corpus *corpus, const cs_cooc_options *options,
                           cs_cooc_size *out)
{
    CS_AUTO(cs_cooc_prepared) p = {0};
    cs_status status = cs_cooc_prepare(corpus, options, &p);
    return status == CS_OK ? cs_cooc_estimate_prepared(&p, out) : status;
}

cs_status cs_cooc_smaller_tail(const cs_cooc_prepared *p, const cs_cooc_size *whole, double *tail,
                               cs_cooc_size *size)
{
    static const double tails[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1};
    enum { TENFOLD = 10, NEAR = 3 }; /* far patterns fall together less often than near ones */
    cs_status status = CS_OK;
    *tail = 0;
    for (size_t i = 0; i < sizeof tails / sizeof *tails && status == CS_OK && *tail == 0; ++i) {
        cs_cooc_prepared cut = *p; /* borrows the sequences */
        cut.options.tail = tails[i];
        cut.plan = NULL;
        if (tails[i] <= p->options.tail) continue;
        status = cs_cooc_plan(&cut);
        if (status == CS_OK && NEAR * contributions_of(&cut) <= whole->contributions) {
            status = cs_cooc_estimate_prepared(&cut, size);
            *tail = status == CS_OK && size->matrix * TENFOLD <= whole->matrix ? tails[i] : 0;
        }
        cs_context_plan_free(&cut.plan);
    }
    return status;
}
