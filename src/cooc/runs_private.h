/* Sorted runs of records, in one scratch file or in memory, and their merges (runs.c). */
#pragma once

#include <pthread.h>

#include "cooc/record_private.h"

typedef struct {
    int64_t offset, count;       /* records in the scratch file */
    int64_t in_range[CS_RANGES]; /* how many of them */
    const cs_record *borrowed;   /* where they are, if not in the file */
} cs_run;

/* Sorted runs in one scratch file, which is unlinked once it is open. */
typedef struct {
    const char *dir;
    int fd; /* -1 until the first run */
    int64_t end;
    cs_record *memory; /* instead of the file, for at most `limit` records */
    int64_t memory_capacity, limit;
    cs_run *run;
    int64_t count, capacity;
    pthread_mutex_t lock;
    int64_t blocks, done; /* blocks of a build (0: unknown), and upper bound of those begun */
    int64_t budget;       /* of its merge */
} cs_runs;

/* dir: NULL for $TMPDIR, or /tmp. */
void cs_runs_init(cs_runs *runs, const char *dir);
void cs_runs_free(cs_runs *runs);

/* Before the first run, which one thread makes by cs_runs_begin: holds up to `limit` records in memory.
 * With more of them, all go to the scratch file. */
void cs_runs_hold(cs_runs *runs, int64_t limit);

/* The runs are those of `blocks` blocks with about equal numbers of records, merged within `budget`
 * bytes; at most `done` of the blocks have begun. cs_runs_append then reports early that the disk
 * will not suffice. Thread-safe. */
void cs_runs_expect(cs_runs *runs, int64_t blocks, int64_t done, int64_t budget);

/* Writes a sorted run; thread-safe. CS_ERR_IO also if all runs together would not fit. */
cs_status cs_runs_append(cs_runs *runs, const cs_record *record, int64_t count) CS_MUST_CHECK;

/* The same in pieces, by one thread: begins an empty run; adds to the last one. */
cs_status cs_runs_begin(cs_runs *runs) CS_MUST_CHECK;
cs_status cs_runs_extend(cs_runs *runs, const cs_record *record, int64_t count) CS_MUST_CHECK;

/* Adds a sorted run that stays where it is, and must outlive `runs`. CS_ERR_MEMORY. */
cs_status cs_runs_borrow(cs_runs *runs, const cs_record *record, int64_t count) CS_MUST_CHECK;

/* Reads records from `offset` on. */
cs_status cs_runs_read(const cs_runs *runs, int64_t offset, int64_t count,
                       cs_record *to) CS_MUST_CHECK;

typedef cs_status (*cs_record_visit)(void *ctx, const cs_record *record);

/* A sorted run in memory. */
typedef struct {
    const cs_record *record;
    int64_t count;
} cs_span;

/* Merges runs in memory: visits every distinct record once, in order, with equal ones added. */
cs_status cs_spans_merge(const cs_span *span, int64_t spans, cs_record_visit visit,
                         void *ctx) CS_MUST_CHECK;

/* Merges runs by passes over the scratch file until buffers for all of them fit in `budget` bytes.
 */
cs_status cs_runs_shorten(cs_runs *runs, int64_t budget) CS_MUST_CHECK;

/* Least memory for merging the runs that cs_runs_shorten has left. */
int64_t cs_runs_least(const cs_runs *runs);

/* Merges the records of the ranges first..last-1 within `budget` bytes (at least the least); reads
 * only, so that threads can merge several ranges at once. */
cs_status cs_runs_merge_ranges(const cs_runs *runs, int64_t first, int64_t last, int64_t budget,
                               cs_record_visit visit, void *ctx) CS_MUST_CHECK;

/* All ranges, after cs_runs_shorten. */
cs_status cs_runs_merge(cs_runs *runs, int64_t budget, cs_record_visit visit,
                        void *ctx) CS_MUST_CHECK;
