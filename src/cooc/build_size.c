/* The resources that a build may use and those that it will need: estimated from above for
 * --dry-run, from below to refuse a disk that is too small before counting.
 *
 * How many contributions fall together is not known before they are counted: different rows and
 * entries are counted by a sketch while the contributions are walked, which
 * takes a tenth of a build's time and none of its memory. Where there are too many to walk, those
 * of a sample are, which repeat less often than all, so their share of different ones is a bound. */
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
#include "cooc/store_files_private.h"
#include "cooc/synthetic_spread_private.h"
#include "linalg/matrix_index.h"

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

/* The corpus with the sizes of all parts. */
static cs_corpus whole_of(const cs_corpus *part)
{
    cs_corpus whole = *part;
    whole.documents = part->all_documents > 0 ? part->all_documents : part->documents;
    whole.tokens = part->all_documents > 0 ? part->all_tokens : part->tokens;
    return whole;
}

/* The same where class masses are not known, in shards or not: at most. */
static double stored_at_most(const cs_cooc_prepared *p, double rows, double entries)
{
    const cs_corpus whole = whole_of(p->corpus), *c = &whole;
    const int64_t size = p->options.shard_size > 0 ? p->options.shard_size : CS_COOC_SHARD_SIZE;
    const double classes = class_entries(c, rows, entries),
                 shards = cs_store_shards_at_most(rows, entries, classes, (double)size);
    return cs_store_bytes(c, rows, entries, classes, class_entries(c, (double)c->vocab, entries)) +
           (shards - 1) * CS_SHARD_KINDS * CS_STORE_HEADER;
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

/* Number of distinct hashes: HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007), linear
 * counting below 2.5 times the registers. Standard error 1.04 / sqrt(registers). */
enum { SKETCH_BITS = 13, SKETCH_REGISTERS = 1 << SKETCH_BITS };

typedef struct {
    uint8_t most[SKETCH_REGISTERS]; /* most leading zeros of a hash of the register, plus one */
} sketch;

static void sketch_add(sketch *s, uint64_t hash)
{
    uint8_t *most = &s->most[hash >> (64 - SKETCH_BITS)];
    int zeros = __builtin_clzll(hash << SKETCH_BITS | UINT64_C(1) << (SKETCH_BITS - 1));
    *most = zeros + 1 > *most ? (uint8_t)(zeros + 1) : *most;
}

static void sketch_merge(void *merged, const void *more, int64_t size)
{
    (void)size;
    sketch *to = merged;
    const sketch *from = more;
    for (int i = 0; i < SKETCH_REGISTERS; ++i) {
        to->most[i] = from->most[i] > to->most[i] ? from->most[i] : to->most[i];
    }
}

static double sketch_count(const sketch *s)
{
    const double m = SKETCH_REGISTERS;
    double sum = 0, unused = 0;
    for (int i = 0; i < SKETCH_REGISTERS; ++i) {
        sum += ldexp(1, -s->most[i]);
        unused += s->most[i] == 0;
    }
    double count = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return count <= 2.5 * m && unused > 0 ? m * log(m / unused) : count;
}

/* Contributions that are walked, and by how much sketches are off at most (four standard errors). */
static const double MOST_WALKED = 0x1p27, SKETCHED = 1.05;

enum { WALKED = 64 }; /* sequences of an item */

/* Contributions, and how many different rows and entries are among them. */
typedef struct {
    double contributions, rows, entries;
} sizes;

typedef struct {
    cs_context_walker walker;
    sketch rows, entries;
    double contributions;
} measurer;

typedef struct {
    const cs_cooc_prepared *of;
    int64_t step; /* one in this number of sequences is walked */
    measurer *worker;
} measuring;

static cs_status measure(void *ctx, const cs_contribution *c)
{
    measurer *m = ctx;
    ++m->contributions;
    sketch_add(&m->rows, c->key.low);
    sketch_add(&m->entries, cs_hash_words(c->key.low, (uint64_t)c->token, 0).low);
    return CS_OK;
}

static cs_status measure_sequences(void *ctx, int64_t item, int number)
{
    const measuring *job = ctx;
    const cs_sequences *s = &job->of->sequences;
    const cs_context_plan *plan = job->of->plan;
    cs_status status = CS_OK;
    const int64_t end = cs_least((item + 1) * WALKED * job->step, s->count);
    for (int64_t i = item * WALKED * job->step; i < end && status == CS_OK; i += job->step) {
        const double steps = (double)cs_context_outer(plan, s->length[i]),
                     part = MOST_WALKED / cs_context_contributions(plan, s->length[i]);
        status = cs_context_walk(&job->worker[number].walker, i, s->start[i], s->length[i],
                                 s->document[i], 0, (int64_t)ceil(steps * fmin(part, 1)));
    }
    return status;
}

/* Of a sample: of one in `step` sequences, and of the beginning of those that are too long. */
static cs_status size_by_walk(const cs_cooc_prepared *p, int64_t step, int workers, sizes *out)
{
    measuring job = {p, step, cs_calloc(workers, sizeof *job.worker)};
    cs_status status = job.worker ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < workers && status == CS_OK; ++i) {
        status = cs_context_walker_init(&job.worker[i].walker, p->plan, p->corpus, measure,
                                        &job.worker[i]);
    }
    const int64_t items = (p->sequences.count - 1) / (WALKED * step) + 1;
    if (status == CS_OK) status = cs_parallel_workers(items, workers, measure_sequences, &job);
    for (int i = 1; i < workers && status == CS_OK; ++i) {
        sketch_merge(&job.worker[0].rows, &job.worker[i].rows, sizeof(sketch));
        sketch_merge(&job.worker[0].entries, &job.worker[i].entries, sizeof(sketch));
        job.worker[0].contributions += job.worker[i].contributions;
    }
    if (cs_cooc_parted(p)) {
        cs_comm *c = p->options.comm;
        status = cs_comm_agree(c, status);
        if (status == CS_OK) {
            cs_comm_fold(c, &job.worker[0].rows, sizeof(sketch), sketch_merge);
            cs_comm_fold(c, &job.worker[0].entries, sizeof(sketch), sketch_merge);
            cs_comm_sum(c, 1, &job.worker[0].contributions);
        }
    }
    if (status == CS_OK)
        *out = (sizes){job.worker[0].contributions, sketch_count(&job.worker[0].rows),
                       sketch_count(&job.worker[0].entries)};
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

/* The same of all ranks. */
static double all_contributions(const cs_cooc_prepared *p)
{
    double all = contributions_of(p);
    if (cs_cooc_parted(p)) cs_comm_sum(p->options.comm, 1, &all);
    return all;
}

/* The plan, once all ranks that have a part of the corpus have theirs. */
static cs_status plan_all(cs_cooc_prepared *p, cs_status status)
{
    if (status == CS_OK) status = cs_cooc_plan(p);
    return cs_cooc_parted(p) ? cs_comm_agree(p->options.comm, status) : status;
}

/* Rows (entries: entries) from this number of contributions: at most. */
static double most_of(const cs_cooc_prepared *p, double contributions, bool entries)
{
    const double vocab = (double)p->corpus->vocab;
    return cs_context_rows_are_tokens(&p->plan->context)
               ? fmin(contributions, entries ? vocab * vocab : vocab)
               : contributions;
}

/* Of all contributions, from above (of a population, each an entry and a row), and of those that
 * were walked, from below. */
static cs_status size_of(const cs_cooc_prepared *p, int workers, sizes *most, sizes *least)
{
    *least = (sizes){0};
    if (p->corpus->population) {
        CS_AUTO(cs_synthetic_spread) language = {0};
        cs_status status = cs_synthetic_spread_init(p->plan, p->corpus, &p->sequences, &language);
        const double all = language.contributions;
        *most = (sizes){all, all, all};
        return status;
    }
    sizes walked = {0};
    const double all = all_contributions(p);
    const int64_t step = (int64_t)fmin(ceil(all / MOST_WALKED), (double)p->sequences.count);
    cs_status status = size_by_walk(p, step > 0 ? step : 1, workers, &walked);
    const double times = SKETCHED * (all > MOST_WALKED ? all / fmax(walked.contributions, 1) : 1);
    *most = (sizes){all, fmin(times * walked.rows, most_of(p, all, false)),
                    fmin(times * walked.entries, most_of(p, all, true))};
    most->rows = fmin(most->rows, most->entries);
    *least = (sizes){walked.contributions, walked.rows / SKETCHED, walked.entries / SKETCHED};
    return status;
}

cs_status cs_cooc_estimate_prepared(cs_cooc_prepared *p, cs_cooc_size *out)
{
    const cs_corpus *corpus = p->corpus;
    const cs_cooc_options *options = &p->options;
    cs_build_resources use = {0};
    sizes size = {0}, least = {0};
    cs_status status = plan_all(p, cs_build_resources_of(options, &use));
    if (status == CS_OK) status = size_of(p, use.workers, &size, &least);
    if (status == CS_OK) {
        const bool by_row = cs_context_gram(&options->context); /* windows_unique.c */
        const double ranks = options->comm ? options->comm->ranks : 1;
        const double records = by_row ? 0 : size.contributions / ranks * sizeof(cs_record);
        const double budget = (double)use.budget;
        const double vocab = (double)corpus->vocab;
        const double matrix = assembled_bytes(corpus, size.rows, size.entries);
        const double rows = matrix / ranks, /* of one rank */
            foreseen = 1.25 * rows;         /* with what the assembler has to spare */
        const bool in_files = foreseen > use.limit;
        const double places = by_row ? (double)corpus->tokens * sizeof(int64_t) : 0;
        const double collected = fmin(1.25 * records + places, budget);
        *out = (cs_cooc_size){.contributions = size.contributions,
                              .rows = size.rows,
                              .entries = size.entries,
                              .matrix = cs_archive_bytes(size.rows, size.entries),
                              .stored = stored_at_most(p, size.rows, size.entries),
                              .memory = collected + (in_files ? use.limit : rows) +
                                        rows * use.workers /
                                            CS_RANGES + /* parts; masses, sums and pointers */
                                        ((double)corpus->labels + 2) * vocab * sizeof(int64_t),
                              .scratch = run_bytes(&use, records) + (in_files ? foreseen : 0)};
    }
    return status;
}

cs_status cs_cooc_check_disk(cs_cooc_prepared *p, const char *dir)
{
    cs_build_resources use = {0};
    sizes most = {0}, least = {0};
    double space = 0;
    cs_status status = cs_build_resources_of(&p->options, &use);
    if (status == CS_OK) status = cs_store_space(dir, &space);
    status = plan_all(p, status);
    const cs_corpus whole = whole_of(p->corpus);
    if (status == CS_OK) {
        const double all = all_contributions(p);
        bool walks = stored_at_most(p, most_of(p, all, false), most_of(p, all, true)) > space;
        if (cs_cooc_parted(p)) cs_comm_spread(p->options.comm, &walks, sizeof walks);
        status = walks ? size_of(p, use.workers, &most, &least) : CS_OK;
    }
    return status ? status
                  : cs_store_check(dir, cs_store_bytes(&whole, least.rows, least.entries, 0, 0),
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
        status = plan_all(&cut, CS_OK);
        if (status == CS_OK && NEAR * all_contributions(&cut) <= whole->contributions) {
            status = cs_cooc_estimate_prepared(&cut, size);
            *tail = status == CS_OK && size->matrix * TENFOLD <= whole->matrix ? tails[i] : 0;
        }
        cs_context_plan_free(&cut.plan);
    }
    return status;
}
