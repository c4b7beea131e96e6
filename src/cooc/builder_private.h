/* What the files of the builder share: records, the collector of one worker, sorted runs. */
#ifndef CS_COOC_BUILDER_PRIVATE_H
#define CS_COOC_BUILDER_PRIVATE_H

#include <pthread.h>

#include "base/scratch.h"
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

static inline bool cs_record_same(const cs_record *a, const cs_record *b)
{
    return ((a->key.high ^ b->key.high) | (a->key.low ^ b->key.low)) == 0 && a->col == b->col &&
           a->label == b->label;
}

/* Units wrap around: their sum over all records is checked where they are made. */
static inline void cs_record_add(cs_record *to, const cs_record *from)
{
    to->units = (int64_t)((uint64_t)to->units + (uint64_t)from->units);
    if (from->sequence < to->sequence ||
        (from->sequence == to->sequence && from->ordinal < to->ordinal)) {
        to->sequence = from->sequence;
        to->ordinal = from->ordinal;
    }
}

/* What a build may use: threads, bytes for contributions, bytes of the matrix in memory. */
enum { CS_BUILD_WORKERS = 256 };
typedef struct {
    int workers;
    int64_t budget;
    double limit;
} cs_build_means;

/* CS_ERR_USAGE: a budget below 1 MiB. */
cs_status cs_build_means_of(const cs_cooc_options *options, cs_build_means *out) CS_MUST_CHECK;

/* Sorts in place; CS_ERR_INTERRUPT when asked to stop (unless `patient`). */
cs_status cs_records_sort(cs_record *r, int64_t n, bool patient) CS_MUST_CHECK;

/* --- sorted runs (runs.c) ------------------------------------------------------------------- */

/* Keys are uniform, so their top bits cut what is sorted into ranges of about equally many rows,
 * which are merged side by side; a row is never cut. */
enum { CS_RANGE_BITS = 6, CS_RANGES = 1 << CS_RANGE_BITS };

static inline int64_t cs_range_of(const cs_record *r)
{
    return (int64_t)(r->key.high >> (64 - CS_RANGE_BITS));
}

typedef struct {
    int64_t offset, count;       /* records in the scratch file */
    int64_t in_range[CS_RANGES]; /* how many of them */
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

/* Merges runs in memory: visits every distinct record once, in order, equal ones added up. */
cs_status cs_spans_merge(const cs_span *span, int64_t spans, cs_record_visit visit,
                         void *ctx) CS_MUST_CHECK;

/* Makes the runs so few that buffers for all of them fit in `budget` bytes, by passes over the
 * scratch file. */
cs_status cs_runs_shorten(cs_runs *runs, int64_t budget) CS_MUST_CHECK;

/* The least memory in which runs that cs_runs_shorten has left can be merged. */
int64_t cs_runs_least(const cs_runs *runs);

/* Merges the records of the ranges first..last-1 within `budget` bytes (at least the least); reads
 * only, so that threads can merge several at once. */
cs_status cs_runs_merge_ranges(const cs_runs *runs, int64_t first, int64_t last, int64_t budget,
                               cs_record_visit visit, void *ctx) CS_MUST_CHECK;

/* All ranges, shortened before. */
cs_status cs_runs_merge(cs_runs *runs, int64_t budget, cs_record_visit visit,
                        void *ctx) CS_MUST_CHECK;

/* --- the collector of one worker (collect.c) ------------------------------------------------- */

enum { CS_COLLECT_BATCH = 32 };

typedef struct {
    cs_runs *runs;
    cs_record *slot; /* slot[0..used-1] wait to be sorted */
    int64_t capacity, largest,
        used;         /* largest: what there are; capacity: used before they are sorted */
    cs_record *table; /* open addressing; units == 0: free */
    int64_t places, held;
    int64_t added, passed; /* records since the two were empty, and those that left the table */
    bool append;           /* the table would add up too little: records go straight to the slots */
    bool repeats;          /* that was wrong once: they come again later */
    bool patient;          /* sorts are not interrupted: a checkpoint needs whole blocks */
    bool finished;         /* see cs_collector_finish */
    cs_record pending[CS_COLLECT_BATCH]; /* whose places in the table are being fetched */
    int count;
} cs_collector;

/* `bytes` bounds the memory of table and slots, of which what is never filled costs none. */
cs_status cs_collector_init(cs_collector *c, cs_runs *runs, int64_t bytes) CS_MUST_CHECK;
void cs_collector_free(cs_collector *c);

/* What cs_collector_add does when the slots are full, and when enough records are pending. */
cs_status cs_collector_make_room(cs_collector *c) CS_MUST_CHECK;
cs_status cs_collector_insert(cs_collector *c) CS_MUST_CHECK;

/* A record's first place in the table. */
static inline const cs_record *cs_collector_home(const cs_collector *c, const cs_record *r)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t pair = (uint64_t)(uint32_t)r->col << 20 ^ (uint32_t)(r->label + 1);
    uint64_t hash = r->key.low + pair * UINT64_C(0x9e3779b97f4a7c15);
    return c->table + (int64_t)((wide)hash * (uint64_t)c->places >> 64);
}

/* Adds a record (units > 0); spills to the runs when the slots are full. Inline, so that the record
 * is made where it will stand. */
static inline cs_status cs_collector_add(cs_collector *c, const cs_record *record)
{
    if (c->append) {
        cs_status status = c->used == c->capacity ? cs_collector_make_room(c) : CS_OK;
        if (status == CS_OK) {
            c->slot[c->used++] = *record;
        }
        return status;
    }
    const cs_record *place = cs_collector_home(c, record);
    __builtin_prefetch(place, 1);
    __builtin_prefetch((const char *)place + sizeof *place - 1, 1);
    c->pending[c->count++] = *record;
    return c->count < CS_COLLECT_BATCH ? CS_OK : cs_collector_insert(c);
}

/* Sorts what is held into slot[0..used-1]; no more can be added. Again: nothing. */
cs_status cs_collector_finish(cs_collector *c) CS_MUST_CHECK;

/* Moves what is held to slot[0..used-1], in any order; may spill a run. */
cs_status cs_collector_gather(cs_collector *c) CS_MUST_CHECK;

/* Records in memory in the order of their ranges, in any order within one: range i stands from
 * begin[i] to begin[i + 1]. */
typedef struct {
    cs_record *record;
    int64_t begin[CS_RANGES + 1];
} cs_cut;

/* Puts what was gathered in the order of the ranges; *out stands in the slots. */
void cs_collector_cut(cs_collector *c, cs_cut *out);

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

/* The files of a result beyond its limit: one for each array of rows, matrix and row labels. */
enum { CS_COOC_ARRAYS = 9 };
struct cs_cooc_files {
    cs_scratch_memory array[CS_COOC_ARRAYS];
};

typedef struct {
    int64_t cols, labels;
    bool exact;
    double unit;
    bool borrows; /* in_col is another's */
    cs_growing matrix, row_label;
    int64_t key_room;
    cs_hash128 *key;
    int64_t *witness_sequence, *witness_ordinal;
    bool open;       /* a row is being filled */
    cs_record entry; /* the entry being added up */
    int64_t *in_row; /* labels: units of the row by class */
    int64_t *in_col; /* cols x labels */
    int64_t total;
    double limit;                /* bytes of arrays beyond which they go to files; 0: none */
    const char *scratch;         /* the folder for these */
    struct cs_cooc_files *files; /* NULL: in memory. Else only cs_assembler_room makes room */
} cs_assembler;

/* Units as they stand in the matrix. */
double cs_assembler_mass(const cs_assembler *a, int64_t units);

/* Takes records in order and makes the matrix; what is made of parts beyond `limit` bytes lies in
 * files in `scratch`. */
cs_status cs_assembler_new(const cs_corpus *corpus, bool exact, double unit, double limit,
                           const char *scratch, cs_assembler **out) CS_MUST_CHECK;
void cs_assembler_free(cs_assembler **assembler);
cs_status cs_assembler_take(void *assembler, const cs_record *record) CS_MUST_CHECK;

/* What several threads take, each a range of rows at a time (merge.c). A part of `whole` has sums
 * of its own; `borrows`: but adds class masses of columns straight into those of `whole`, which one
 * part may. */
cs_status cs_assembler_part(cs_assembler *whole, bool borrows, cs_assembler **out) CS_MUST_CHECK;

/* Ends the last row. */
cs_status cs_assembler_close(cs_assembler *a) CS_MUST_CHECK;

/* Where the rows of a part go. */
typedef struct {
    int64_t row, entry, label;
} cs_assembler_place;

/* Room in memory for the keys and witnesses of `rows` rows, which the caller writes itself. */
cs_status cs_assembler_key_room(cs_assembler *a, int64_t rows) CS_MUST_CHECK;

/* Whether `whole` has room for the rows of a closed part; makes it, and more if a share of the
 * whole is known to be there already (0 < share <= 1), so that it is seldom made; gives it to the
 * part. cs_assembler_copy may run beside the others of its kind and beside give, not beside room.
 */
bool cs_assembler_fits(const cs_assembler *whole, const cs_assembler *part);
cs_status cs_assembler_room(cs_assembler *whole, const cs_assembler *part,
                            double share) CS_MUST_CHECK;
cs_assembler_place cs_assembler_give(cs_assembler *whole, const cs_assembler *part);
void cs_assembler_copy(cs_assembler *whole, const cs_assembler_place *at, const cs_assembler *part);

/* The part's rows stand in the result: where that lies in files, they leave memory. Of the part,
 * sizes are used. */
void cs_assembler_let_go(const cs_assembler *whole, const cs_assembler_place *at,
                         const cs_assembler *part);

/* Empties the part but for its sums, and adds these in the end. */
void cs_assembler_clear(cs_assembler *part);
void cs_assembler_add_sums(cs_assembler *whole, const cs_assembler *part);

/* Moves matrix, keys, witnesses and mass to *out, whose other fields stay. */
cs_status cs_assembler_finish(cs_assembler *assembler, cs_cooc *out) CS_MUST_CHECK;

/* --- the merge (merge.c) ---------------------------------------------------------------------- */

/* Merges what is in memory (runs NULL), and sorts it, or the sorted runs of the scratch file into
 * the assembler: range by range of keys, several at once, the rows in order. In memory: threads
 * parts of a CS_RANGES-th of the result beside the cuts; from the file within `budget` bytes. */
typedef struct {
    const cs_cut *cut;
    int64_t cuts;
    cs_runs *runs;
    int64_t budget;
    int workers;
} cs_sorted;

cs_status cs_merge(const cs_sorted *sorted, cs_assembler *whole) CS_MUST_CHECK;

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
