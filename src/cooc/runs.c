/* Sorted runs on disk and their merge.
 *
 * All runs are in one scratch file that is unlinked as soon as it is open, so nothing is left
 * behind whatever happens to the program. The merge is a k-way merge with a binary heap (Knuth, The
 * Art of Computer Programming 3, 5.4.1), or from memory where they fit (cs_runs_hold); when the budget cannot give every run a buffer of BUFFER
 * records, groups of runs are merged into longer ones first. A run knows how many of its
 * records are in each range of keys, so ranges can be merged by several threads.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/scratch.h"
#include "base/threads.h"
#include "cooc/runs_private.h"
#include "io/file.h"

enum { BUFFER = 256, CHECKED = 1 << 16, PIECE = 4 << 20 };

void cs_runs_init(cs_runs *runs, const char *dir)
{
    *runs = (cs_runs){.dir = cs_scratch_dir(dir), .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
}

void cs_runs_free(cs_runs *runs)
{
    if (runs->fd >= 0) {
        (void)close(runs->fd); /* without a name: its content is gone with it */
    }
    CS_FREE_FIELDS(runs, run, memory);
    (void)pthread_mutex_destroy(&runs->lock);
    memset(runs, 0, sizeof *runs);
    runs->fd = -1;
}

void cs_runs_hold(cs_runs *runs, int64_t limit)
{
    runs->limit = limit;
}

/* Records that follow those of the run. */
static void count_records(cs_run *run, const cs_record *record, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        ++run->in_range[cs_range_of(record + i)];
    }
    run->count += count;
}

void cs_runs_expect(cs_runs *runs, int64_t blocks, int64_t done, int64_t budget)
{
    (void)pthread_mutex_lock(&runs->lock);
    runs->blocks = blocks;
    runs->done = cs_least(done, blocks);
    runs->budget = budget;
    (void)pthread_mutex_unlock(&runs->lock);
}

static int64_t fan_of(int64_t budget)
{
    return cs_most(budget / (int64_t)sizeof(cs_record) / BUFFER, 2);
}

static const char *const SCRATCH_ADVICE =
    "give --scratch DIR on a larger disk, a larger --memory or --tail, or a smaller corpus";

/* Blocks are about equally large, so the runs of some of them foretell those of all, and a pass over
 * too many runs writes them a second time. Before a quarter of the blocks, whose texts may be unlike
 * the others, only twice the free space is too much. */
static cs_status foresee(const cs_runs *runs, const cs_run *run)
{
    if (runs->blocks == 0) {
        return CS_OK;
    }
    const double share = (double)runs->done / (double)runs->blocks;
    const double size = sizeof(cs_record), written = size * (double)runs->end;
    double all = (written + size * (double)run->count) / share;
    if ((double)(runs->count + 1) / share > (double)fan_of(runs->budget)) {
        all *= 2;
    }
    return (share < 0.25 ? all / 2 : all) - written <= cs_disk_free(runs->dir)
               ? CS_OK
               : cs_disk_check(runs->dir, all - written, SCRATCH_ADVICE,
                               written > 0 ? "further sorted runs" : "sorted runs");
}

/* Puts a run into the list and reserves its place in the file; called with the lock held. */
static cs_status reserve(cs_runs *runs, cs_run *run)
{
    cs_status status = foresee(runs, run);
    if (status == CS_OK && runs->fd < 0 && runs->limit == 0) {
        status = cs_scratch_open(runs->dir, &runs->fd);
    }
    if (status == CS_OK)
        status = cs_reserve(&runs->run, &runs->capacity, runs->count + 1, sizeof *runs->run);
    if (status == CS_OK) {
        run->offset = runs->end;
        runs->end += run->count;
        runs->run[runs->count++] = *run;
    }
    return status;
}

static cs_status write_at(const cs_runs *runs, const void *bytes, int64_t size, int64_t at)
{
    const char *from = bytes;
    while (size > 0) {
        cs_status status = cs_interrupt_late();
        if (status != CS_OK) return status;
        ssize_t wrote = pwrite(runs->fd, from, (size_t)cs_least(size, PIECE), at);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return cs_fail(CS_ERR_IO, "scratch directory %s: cannot write a sorted run: %s",
                           runs->dir, wrote < 0 ? strerror(errno) : "nothing written");
        }
        from += wrote;
        size -= wrote;
        at += wrote;
    }
    return CS_OK;
}

cs_status cs_runs_append(cs_runs *runs, const cs_record *record, int64_t count)
{
    cs_run run = {.count = 0};
    count_records(&run, record, count);
    (void)pthread_mutex_lock(&runs->lock);
    cs_status status = reserve(runs, &run);
    (void)pthread_mutex_unlock(&runs->lock);
    if (status != CS_OK) return status;
    int64_t size = (int64_t)sizeof *record;
    return write_at(runs, record, count * size, run.offset * size);
}

cs_status cs_runs_begin(cs_runs *runs)
{
    cs_run run = {.count = 0};
    return reserve(runs, &run);
}

/* From memory to the file. */
static cs_status leave_memory(cs_runs *runs)
{
    const int64_t size = (int64_t)sizeof *runs->memory;
    cs_status status = runs->fd < 0 ? cs_scratch_open(runs->dir, &runs->fd) : CS_OK;
    if (status == CS_OK) status = write_at(runs, runs->memory, runs->end * size, 0);
    cs_free(runs->memory);
    runs->memory = NULL;
    runs->limit = 0;
    return status;
}

/* Behind the others. */
static cs_status put(cs_runs *runs, const cs_record *record, int64_t count)
{
    const int64_t size = (int64_t)sizeof *record;
    cs_status status = CS_OK;
    if (runs->limit > 0 && runs->end + count > runs->limit) status = leave_memory(runs);
    if (status == CS_OK && runs->limit == 0)
        return write_at(runs, record, count * size, runs->end * size);
    if (status == CS_OK)
        status = cs_reserve(&runs->memory, &runs->memory_capacity, runs->end + count,
                            sizeof *runs->memory);
    if (status == CS_OK && count > 0)
        memcpy(runs->memory + runs->end, record, (size_t)(count * size));
    return status;
}

cs_status cs_runs_extend(cs_runs *runs, const cs_record *record, int64_t count)
{
    cs_status status = put(runs, record, count);
    runs->end += count;
    count_records(&runs->run[runs->count - 1], record, count);
    return status;
}

cs_status cs_runs_borrow(cs_runs *runs, const cs_record *record, int64_t count)
{
    cs_run run = {.borrowed = record};
    cs_status status = cs_reserve(&runs->run, &runs->capacity, runs->count + 1, sizeof *runs->run);
    if (status != CS_OK) return status;
    count_records(&run, record, count);
    runs->run[runs->count++] = run;
    return CS_OK;
}

cs_status cs_runs_read(const cs_runs *runs, int64_t offset, int64_t count, cs_record *to)
{
    const int64_t size = (int64_t)sizeof *to;
    if (count == 0) {
        return CS_OK;
    }
    if (runs->memory) {
        memcpy(to, runs->memory + offset, (size_t)(count * size));
        return CS_OK;
    }
    cs_status status = cs_file_read_at(runs->fd, runs->dir, offset * size, count * size, to);
    return cs_blame(status, "cannot read a sorted run");
}

/* --- merge ------------------------------------------------------------------------------------ */

/* One sorted run being read: from memory, or through a buffer. */
typedef struct {
    const cs_record *next, *end;
    cs_record *buffer; /* NULL: all in memory */
    int64_t capacity;
    int64_t offset, left; /* still in the file */
} source;

static cs_status refill(const cs_runs *runs, source *s)
{
    int64_t count = s->left < s->capacity ? s->left : s->capacity;
    cs_status status = cs_runs_read(runs, s->offset, count, s->buffer);
    if (status != CS_OK) return status;
    s->next = s->buffer;
    s->end = s->buffer + count;
    s->offset += count;
    s->left -= count;
    return CS_OK;
}

/* Restores the heap order below `i`; the source with the least record is heap[0]. */
static void sift(source **heap, int64_t count, int64_t i)
{
    source *moving = heap[i];
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && cs_record_compare(heap[child + 1]->next, heap[child]->next) < 0) {
            ++child;
        }
        if (cs_record_compare(moving->next, heap[child]->next) <= 0) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

static cs_status merge(const cs_runs *runs, source **heap, int64_t count, cs_record_visit visit,
                       void *ctx)
{
    cs_status status = CS_OK;
    cs_record sum = {.units = 0};
    for (int64_t i = count / 2 - 1; i >= 0; --i) {
        sift(heap, count, i);
    }
    for (int64_t taken = 0; count > 0 && status == CS_OK; ++taken) {
        source *s = heap[0];
        if (sum.units != 0 && cs_record_same(&sum, s->next)) {
            cs_record_add(&sum, s->next);
        } else {
            status = sum.units != 0 ? visit(ctx, &sum) : CS_OK;
            sum = *s->next;
        }
        ++s->next;
        if (s->next == s->end && s->left > 0 && status == CS_OK) status = refill(runs, s);
        if (s->next == s->end) {
            heap[0] = heap[--count];
        }
        if (count > 0) {
            sift(heap, count, 0);
        }
        if (taken % CHECKED == 0 && status == CS_OK) status = cs_interrupt_check();
    }
    return status == CS_OK && sum.units != 0 ? visit(ctx, &sum) : status;
}

cs_status cs_spans_merge(const cs_span *span, int64_t spans, cs_record_visit visit, void *ctx)
{
    CS_AUTO(cs_pool) pool = {0};
    source *all = cs_pool_take(&pool, spans, sizeof *all);
    source **heap = cs_pool_take(&pool, spans, sizeof(source *));
    cs_status status = pool.status;
    int64_t count = 0;
    for (int64_t i = 0; i < spans && status == CS_OK; ++i) {
        if (span[i].count > 0) {
            all[i].next = span[i].record;
            all[i].end = span[i].record + span[i].count;
            heap[count++] = &all[i];
        }
    }
    return status == CS_OK ? merge(NULL, heap, count, visit, ctx) : status;
}

/* Which runs and ranges a merge is of: those before last_run and last_range. */
typedef struct {
    int64_t first_run, last_run, first_range, last_range;
} extent;

/* With a buffer of at most `capacity` records, and of no more than it has; records in memory are read
 * where they are. */
static source source_of(const cs_runs *runs, const cs_run *run, const extent *e, int64_t capacity)
{
    const cs_record *at = run->borrowed  ? run->borrowed
                          : runs->memory ? runs->memory + run->offset
                                         : NULL;
    source s = {.offset = run->offset};
    for (int64_t i = 0; i < e->first_range; ++i) {
        s.offset += run->in_range[i];
    }
    for (int64_t i = e->first_range; i < e->last_range; ++i) {
        s.left += run->in_range[i];
    }
    if (at) {
        s.next = at + (s.offset - run->offset);
        s.end = s.next + s.left;
        s.left = 0;
    }
    s.capacity = cs_least(s.left, capacity);
    return s;
}

/* Merges with at most `capacity` records of buffer a run. */
static cs_status merge_extent(const cs_runs *runs, const extent *e, int64_t capacity,
                              cs_record_visit visit, void *ctx)
{
    CS_AUTO(cs_pool) pool = {0};
    int64_t count = e->last_run - e->first_run;
    source *all = cs_pool_take(&pool, count, sizeof *all);
    source **heap = cs_pool_take(&pool, count, sizeof(source *));
    int64_t live = 0, records = 0;
    for (int64_t i = 0; i < count && all; ++i) {
        all[i] = source_of(runs, &runs->run[e->first_run + i], e, capacity);
        records += all[i].capacity;
    }
    cs_record *buffer = cs_pool_take(&pool, records, sizeof *buffer);
    cs_status status = pool.status;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        all[i].buffer = buffer;
        buffer += all[i].capacity;
        if (all[i].left > 0) status = refill(runs, &all[i]);
        if (all[i].next < all[i].end) {
            heap[live++] = &all[i];
        }
    }
    return status == CS_OK ? merge(runs, heap, live, visit, ctx) : status;
}

/* Collects the records of one merged run and writes them in pieces that follow each other. */
typedef struct {
    cs_runs *to;
    cs_record buffer[BUFFER];
    int64_t held;
} rewriter;

static cs_status flush(rewriter *r)
{
    cs_status status = cs_runs_extend(r->to, r->buffer, r->held);
    r->held = 0;
    return status;
}

static cs_status rewrite(void *ctx, const cs_record *record)
{
    rewriter *r = ctx;
    r->buffer[r->held++] = *record;
    return r->held < BUFFER ? CS_OK : flush(r);
}

/* One pass: groups of `fan` runs become one run each, in a new scratch file. */
static cs_status shorten(cs_runs *runs, int64_t fan)
{
    cs_runs merged;
    cs_runs_init(&merged, runs->dir);
    rewriter r = {.to = &merged};
    cs_status status = CS_OK;
    for (int64_t first = 0; first < runs->count && status == CS_OK; first += fan) {
        int64_t last = first + fan < runs->count ? first + fan : runs->count;
        status = cs_runs_begin(&merged);
        if (status == CS_OK) {
            const extent group = {first, last, 0, CS_RANGES};
            status = merge_extent(runs, &group, BUFFER, rewrite, &r);
        }
        if (status == CS_OK) status = flush(&r);
    }
    if (status == CS_OK) { /* the old runs are deleted with `merged`; the locks remain */
        int old_fd = runs->fd;
        cs_run *old_run = runs->run;
        runs->fd = merged.fd;
        merged.memory = runs->memory;
        runs->memory = NULL;
        runs->memory_capacity = runs->limit = 0;
        runs->end = merged.end;
        runs->run = merged.run;
        runs->count = merged.count;
        runs->capacity = merged.capacity;
        merged.fd = old_fd;
        merged.run = old_run;
    }
    cs_runs_free(&merged);
    return status;
}

cs_status cs_runs_shorten(cs_runs *runs, int64_t budget)
{
    const int64_t fan = fan_of(budget);
    cs_status status = CS_OK;
    while (runs->count > fan && status == CS_OK) {
        status = cs_disk_check(runs->dir, (double)runs->end * sizeof(cs_record), SCRATCH_ADVICE,
                               "merged runs");
        status = status ? status : shorten(runs, fan);
    }
    return status;
}

int64_t cs_runs_least(const cs_runs *runs)
{
    return runs->count * BUFFER * (int64_t)sizeof(cs_record);
}

cs_status cs_runs_merge_ranges(const cs_runs *runs, int64_t first, int64_t last, int64_t budget,
                               cs_record_visit visit, void *ctx)
{
    if (runs->count == 0) {
        return CS_OK;
    }
    const extent e = {0, runs->count, first, last};
    int64_t capacity = budget / (int64_t)sizeof(cs_record) / runs->count;
    return merge_extent(runs, &e, cs_most(capacity, BUFFER), visit, ctx);
}

cs_status cs_runs_merge(cs_runs *runs, int64_t budget, cs_record_visit visit, void *ctx)
{
    cs_status status = cs_runs_shorten(runs, budget);
    return status == CS_OK ? cs_runs_merge_ranges(runs, 0, CS_RANGES, budget, visit, ctx) : status;
}
