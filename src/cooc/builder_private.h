/* What the files of the builder share: records, the collector of one worker, sorted runs. */
#ifndef CS_COOC_BUILDER_PRIVATE_H
#define CS_COOC_BUILDER_PRIVATE_H

#include <pthread.h>

#include "cooc/builder.h"
#include "text/sequences.h"

/* A sum of contributions to one entry from one class. Records are ordered by key, column, class. */
typedef struct {
    cs_hash128 key;
    int32_t col, label;
    int64_t units;
    int64_t sequence, ordinal; /* lowest that contributed */
} cs_record;

static inline int cs_record_compare(const cs_record *a, const cs_record *b)
{
    int order = cs_hash_compare(a->key, b->key);
    if (order == 0) {
        order = (a->col > b->col) - (a->col < b->col);
    }
    return order != 0 ? order : (a->label > b->label) - (a->label < b->label);
}

static inline void cs_record_add(cs_record *to, const cs_record *from)
{
    to->units += from->units;
    if (from->sequence < to->sequence ||
        (from->sequence == to->sequence && from->ordinal < to->ordinal)) {
        to->sequence = from->sequence;
        to->ordinal = from->ordinal;
    }
}

/* Sorts in place; CS_ERR_INTERRUPT when asked to stop (unless `patient`). */
cs_status cs_records_sort(cs_record *r, int64_t n, bool patient) CS_MUST_CHECK;

/* --- sorted runs (runs.c) ------------------------------------------------------------------- */

typedef struct {
    int64_t offset, count; /* records in the scratch file */
} cs_run;

/* Sorted runs in one scratch file, which has no name once it is open. */
typedef struct {
    const char *dir;
    int fd; /* -1 until the first run */
    int64_t end;
    cs_run *run;
    int64_t count, room;
    pthread_mutex_t lock;
} cs_runs;

/* dir: NULL for $TMPDIR, or /tmp. */
void cs_runs_init(cs_runs *runs, const char *dir);
void cs_runs_free(cs_runs *runs);

/* Writes a sorted run; thread-safe. */
cs_status cs_runs_append(cs_runs *runs, const cs_record *record, int64_t count) CS_MUST_CHECK;

/* The same piece by piece, by one thread: begins an empty run; adds to the last one. */
cs_status cs_runs_begin(cs_runs *runs) CS_MUST_CHECK;
cs_status cs_runs_extend(cs_runs *runs, const cs_record *record, int64_t count) CS_MUST_CHECK;

/* Reads records from `offset` on. */
cs_status cs_runs_read(const cs_runs *runs, int64_t offset, int64_t count,
                       cs_record *to) CS_MUST_CHECK;

typedef cs_status (*cs_record_visit)(void *ctx, const cs_record *record);

/* A sorted run in memory. */
typedef struct {
    const cs_record *record;
    int64_t count;
} cs_span;

/* Merges runs in memory / in the scratch file: visits every distinct record once, in order, equal
 * ones added up. The second works within `budget` bytes, in several passes where the runs are too
 * many for one. */
cs_status cs_spans_merge(const cs_span *span, int64_t spans, cs_record_visit visit,
                         void *ctx) CS_MUST_CHECK;
cs_status cs_runs_merge(cs_runs *runs, int64_t budget, cs_record_visit visit,
                        void *ctx) CS_MUST_CHECK;

/* --- the collector of one worker (collect.c) ------------------------------------------------- */

enum { CS_COLLECT_BATCH = 32 };

typedef struct {
    cs_runs *runs;
    cs_record *slot; /* open addressing; units == 0: free */
    int64_t capacity, largest, used;
    int64_t added; /* records since the table was empty */
    bool append;   /* slot[0..used-1] as they came; else a table */
    bool patient;  /* sorts are not interrupted: a checkpoint needs whole blocks */
    bool finished; /* see cs_collector_finish */
    cs_record pending[CS_COLLECT_BATCH]; /* whose slots are being fetched */
    int count;
} cs_collector;

/* `bytes` bounds the memory of its table. */
cs_status cs_collector_init(cs_collector *c, cs_runs *runs, int64_t bytes) CS_MUST_CHECK;
void cs_collector_free(cs_collector *c);

/* Adds a record (units > 0); spills to the runs when the table is full. */
cs_status cs_collector_add(cs_collector *c, const cs_record *record) CS_MUST_CHECK;

/* Sorts what is held into slot[0..used-1]; the table takes no more. Again: nothing. */
cs_status cs_collector_finish(cs_collector *c) CS_MUST_CHECK;

/* --- the result (assemble.c) ------------------------------------------------------------------ */

/* A sparse matrix that grows entry by entry. */
typedef struct {
    int64_t rows, row_room, nnz, room;
    int64_t *ptr;
    int32_t *col;
    double *val;
} cs_growing;

void cs_growing_free(cs_growing *g);
/* Room for `more` entries, which the caller writes behind the first nnz itself. */
cs_status cs_growing_room(cs_growing *g, int64_t more) CS_MUST_CHECK;
cs_status cs_growing_put(cs_growing *g, int32_t col, double val) CS_MUST_CHECK;
cs_status cs_growing_end_row(cs_growing *g) CS_MUST_CHECK;

typedef struct {
    int64_t cols, labels;
    bool exact;
    double unit;
    cs_growing matrix, row_label;
    int64_t key_room;
    cs_hash128 *key;
    int64_t *witness_sequence, *witness_ordinal;
    bool open;       /* a row is being filled */
    cs_record entry; /* the entry being added up */
    int64_t *in_row; /* labels: units of the row by class */
    int64_t *in_col; /* cols x labels */
    int64_t total;
} cs_assembler;

/* Units as they stand in the matrix. */
double cs_assembler_mass(const cs_assembler *a, int64_t units);

/* Takes records in order and makes the matrix. */
cs_status cs_assembler_new(const cs_corpus *corpus, bool exact, double unit,
                           cs_assembler **out) CS_MUST_CHECK;
void cs_assembler_free(cs_assembler **assembler);
cs_status cs_assembler_take(void *assembler, const cs_record *record) CS_MUST_CHECK;

/* Moves matrix, keys, witnesses and mass to *out, whose other fields stay. */
cs_status cs_assembler_finish(cs_assembler *assembler, cs_cooc *out) CS_MUST_CHECK;

/* --- blocks (builder.c) and windows counted row by row (windows.c) ---------------------------- */

/* Whole sequences first..last-1, or the outer items from..to-1 of sequence `first` (to > 0). */
typedef struct {
    int64_t first, last, from, to;
    double dropped; /* filled by the worker */
    bool done;
} cs_block;

typedef struct {
    const cs_corpus *corpus;
    const cs_sequences *sequences;
    const cs_context_plan *plan;
    const cs_cooc_options *options;
    double scale; /* units per predicted token (or document) */
    int64_t blocks;
    cs_block *block;
    int workers;
    int64_t budget;
} cs_windows_job;

/* Whether the job can be counted so: `each` without offsets, exact, under `ar` or an invariant
 * objective, its stream within the budget. */
bool cs_windows_apply(const cs_windows_job *job);

/* Counts into the assembler (before cs_assembler_finish), fills the blocks' dropped mass, and adds
 * contributions; the same bits as the general way. */
cs_status cs_windows_count(const cs_windows_job *job, cs_assembler *assembler,
                           int64_t *contributions) CS_MUST_CHECK;

#endif
