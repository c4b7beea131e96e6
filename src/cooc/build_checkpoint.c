/* Checkpoints of a build: checkpoint.json, which says of what build it is, and one file of records.
 *
 * The file of records is written first under the one of two names that the present checkpoint.json
 * does not use; the rename of the new checkpoint.json is the moment at which the new checkpoint
 * counts. It holds 8-byte integers (runs, blocks, contributions, units, overflow), the length of
 * each run, the runs of sorted records, the dropped mass of each block in 32 bytes, and a byte a
 * block: finished or not. What the tables in memory hold is sorted into runs too: their own order
 * is that of the hash, in which another table could not take them but in quadratic time. Its digest
 * is XXH3-128 over pieces of 1 MiB, each seeded by the one before.
 *
 * Limits: for the machine and the program that wrote it (byte order and the layout of records are
 * as in memory). CS_RUN_VERSION must rise when records, blocks, units or keys change their meaning.
 *
 * Reading a checkpoint back. Nothing in its files is trusted: sizes are checked against the size of
 * the file before memory is taken, every record against the build that may hold it, and the whole
 * against its digest and the sum of its units. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_checkpoint_private.h"
#include "cooc/store_files_private.h"
#include "cooc/store_sidecar_private.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/run_id.h"
#include "plan/plan_file.h"

enum { PIECE = 1 << 20, CHUNK = 4096 };

#define FORMAT "cospec build checkpoint"
#define INDEX "checkpoint.json"

/* Header of the file of records. */
typedef struct {
    int64_t runs, blocks, contributions, units, overflow;
} header;

static const char *const records_file[2] = {"records-0.bin", "records-1.bin"};

/* The digest of a file is chained from piece to piece. */
static cs_hash128 chain_digest(cs_hash128 before, const void *bytes, size_t size)
{
    return cs_hash(bytes, size, before.high ^ before.low);
}

/* --- identity --------------------------------------------------------------------------------- */

/* The content of plans and mixtures: files count by what they say, not by their names. */
static cs_status put_plans(const cs_plan_file *file, json_t *build)
{
    char read[65] = "", plans[65] = "";
    json_auto_t *root = cs_store_plans(file);
    cs_status status =
        root ? cs_plan_file_digest(file, read) : cs_fail(CS_ERR_MEMORY, "out of memory for plans");
    if (status == CS_OK && file->plans > 0) status = cs_digest_json(root, plans);
    cs_json_put(&status, build, "plans", json_string(file->plans > 0 ? plans : read));
    return status;
}

cs_status cs_checkpoint_identity(const cs_corpus *corpus, const cs_cooc_options *options,
                                 double scale, int64_t blocks, json_t **out)
{
    char content[33] = "", classes[33] = "";
    const size_t documents = corpus->labels > 0 ? (size_t)corpus->documents : 0;
    const cs_plan_file *file = options->objective.file;
    json_t *build = json_object();
    cs_status status = build ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for a checkpoint");
    if (status == CS_OK) status = cs_sidecar_options(options, build);
    if (status == CS_OK && file) status = put_plans(file, build);
    (void)json_object_del(json_object_get(build, "parameters"), "source_file");
    if (status == CS_OK) status = cs_corpus_hash(corpus, content);
    cs_hash_hex(cs_hash(corpus->label, documents * sizeof *corpus->label, 0), classes);
    cs_json_put(&status, build, "corpus", json_string(content));
    cs_json_put(&status, build, "population",
                json_string(corpus->population ? corpus->sha256 : ""));
    cs_json_put(&status, build, "vocabulary", json_integer(corpus->vocab));
    cs_json_put(&status, build, "classes", json_integer(corpus->labels));
    cs_json_put(&status, build, "labels", json_string(classes));
    cs_json_put(&status, build, "units_per_token", cs_json_number(scale));
    cs_json_put(&status, build, "blocks", json_integer(blocks));
    cs_json_put(&status, build, "dropped_mass", json_string("fixed point"));
    return CS_DELIVER(status, out, build, cs_json_free);
}

/* --- writing ---------------------------------------------------------------------------------- */

typedef struct {
    cs_outfile file;
    char *buffer; /* PIECE */
    size_t held;
    int64_t bytes;
    cs_hash128 digest;
} sink;

static cs_status flush(sink *s)
{
    s->digest = chain_digest(s->digest, s->buffer, s->held);
    cs_status status = cs_interrupt_late();
    if (status == CS_OK) status = cs_outfile_put(&s->file, s->buffer, (int64_t)s->held);
    s->bytes += (int64_t)s->held;
    s->held = 0;
    return status;
}

static cs_status put(sink *s, const void *bytes, int64_t size)
{
    const char *from = bytes;
    while (size > 0) {
        size_t capacity = PIECE - s->held,
               count = (size_t)size < capacity ? (size_t)size : capacity;
        memcpy(s->buffer + s->held, from, count);
        s->held += count;
        from += count;
        size -= (int64_t)count;
        cs_status status = s->held == PIECE ? flush(s) : CS_OK;
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

static cs_status put_runs(sink *s, const cs_runs *runs)
{
    cs_status status = CS_OK;
    CS_AUTO_FREE cs_record *chunk = cs_alloc(CHUNK, sizeof *chunk);
    if (!chunk) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < runs->count; ++i) {
        for (int64_t at = 0; at < runs->run[i].count && status == CS_OK; at += CHUNK) {
            int64_t rest = runs->run[i].count - at, count = cs_least(rest, CHUNK);
            status = cs_runs_read(runs, runs->run[i].offset + at, count, chunk);
            if (status == CS_OK) status = put(s, chunk, count * (int64_t)sizeof *chunk);
        }
    }
    return status;
}

/* The runs on disk, then the tables; both lists may hold runs of nothing. */
static cs_status put_records(sink *s, const cs_checkpoint_state *state)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < state->runs->count && status == CS_OK; ++i) {
        status = put(s, &state->runs->run[i].count, sizeof(int64_t));
    }
    for (int i = 0; i < state->collectors && status == CS_OK; ++i) {
        status = put(s, &state->collector[i]->used, sizeof(int64_t));
    }
    if (status == CS_OK) status = put_runs(s, state->runs);
    for (int i = 0; i < state->collectors && status == CS_OK; ++i) {
        const cs_collector *c = state->collector[i];
        status = put(s, c->slot, c->used * (int64_t)sizeof *c->slot);
    }
    return status;
}

static cs_status put_state(sink *s, const cs_checkpoint_state *state)
{
    const header h = {.runs = state->runs->count + state->collectors,
                      .blocks = state->blocks,
                      .contributions = state->contributions,
                      .units = state->units,
                      .overflow = state->overflow};
    cs_status status = put(s, &h, sizeof h);
    if (status == CS_OK) status = put_records(s, state);
    for (int64_t i = 0; i < state->blocks && status == CS_OK; ++i) {
        const cs_exact_sum none = {0},
                           dropped = state->block[i].done ? state->block[i].dropped : none;
        status = put(s, &dropped, sizeof dropped);
    }
    for (int64_t i = 0; i < state->blocks && status == CS_OK; ++i) {
        uint8_t done = state->block[i].done;
        status = put(s, &done, sizeof done);
    }
    return status == CS_OK && s->held > 0 ? flush(s) : status;
}

/* Commits without waiting for the disk after an interrupt: the digest detects an incomplete
 * write. */
static cs_status commit(cs_outfile *file)
{
    cs_status status = cs_outfile_sync(file, cs_interrupt_late);
    if (status != CS_ERR_INTERRUPT) return status ? status : cs_outfile_commit(file);
    cs_reason_clear();
    return cs_outfile_commit_unsynced(file);
}

static cs_status write_records(const char *path, const cs_checkpoint_state *state, int64_t *bytes,
                               char digest[33])
{
    sink s = {.buffer = cs_alloc(PIECE, 1)};
    cs_status status = s.buffer ? cs_outfile_open(path, &s.file) : CS_ERR_MEMORY;
    if (status == CS_OK) status = put_state(&s, state);
    if (status == CS_OK) status = commit(&s.file);
    cs_outfile_abort(&s.file);
    cs_free(s.buffer);
    *bytes = s.bytes;
    cs_hash_hex(s.digest, digest);
    return status;
}

/* The number of the name of records that the present checkpoint, if any, does not use: without it the
 * older one would be written over. */
static cs_status free_name(const char *index, int *number)
{
    json_t *json = NULL;
    cs_status status = cs_json_read(index, &json);
    *number = 0;
    if (status == CS_ERR_MEMORY) return status;
    if (status != CS_OK) {
        cs_reason_clear(); /* none, or a damaged one: either name will do */
        return CS_OK;
    }
    const char *used = json_string_value(json_object_get(json, "records"));
    *number = used && strcmp(used, records_file[0]) == 0 ? 1 : 0;
    json_decref(json);
    return CS_OK;
}

static cs_status write_index(const char *path, json_t *identity, int64_t finished,
                             const char *records, int64_t bytes, const char *digest)
{
    json_auto_t *json = cs_run_header(FORMAT);
    cs_outfile file = {0};
    cs_status status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for %s", path);
    cs_json_put(&status, json, "build", json_incref(identity));
    cs_json_put(&status, json, "finished_blocks", json_integer(finished));
    cs_json_put(&status, json, "records", json_string(records));
    cs_json_put(&status, json, "bytes", json_integer(bytes));
    cs_json_put(&status, json, "digest", json_string(digest));
    if (status == CS_OK) status = cs_outfile_open(path, &file);
    if (status == CS_OK) status = cs_blame(cs_json_print(file.stream, json), "%s", path);
    if (status == CS_OK) status = commit(&file);
    cs_outfile_abort(&file);
    return status;
}

cs_status cs_checkpoint_write(const char *dir, json_t *identity, const cs_checkpoint_state *state)
{
    char *index = cs_path_join(dir, INDEX), *path = NULL, *old = NULL, digest[33];
    int64_t bytes = 0, finished = 0;
    int number = 0;
    cs_status status = index ? cs_dir_make(dir) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < state->blocks; ++i) {
        finished += state->block[i].done;
    }
    if (status == CS_OK) status = free_name(index, &number);
    if (status == CS_OK) {
        path = cs_path_join(dir, records_file[number]);
        old = cs_path_join(dir, records_file[1 - number]);
        status = path && old ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) status = write_records(path, state, &bytes, digest);
    if (status == CS_OK)
        status = write_index(index, identity, finished, records_file[number], bytes, digest);
    if (status == CS_OK && unlink(old) != 0 && errno != ENOENT)
        status = cs_fail(CS_ERR_IO, "%s: cannot remove: %s", old, strerror(errno));
    if (status != CS_OK) (void)rmdir(dir); /* where nothing is in it */
    cs_free(index);
    cs_free(path);
    cs_free(old);
    return status;
}

/* --- removal ---------------------------------------------------------------------------------- */

cs_status cs_cooc_checkpoint_remove(const char *dir)
{
    const char *const name[] = {INDEX, records_file[0], records_file[1]};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof name / sizeof *name && status == CS_OK; ++i) {
        CS_AUTO_FREE char *path = cs_path_join(dir, name[i]);
        if (!path) return CS_ERR_MEMORY;
        if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR) {
            status = cs_fail(CS_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
        }
    }
    if (status == CS_OK) (void)rmdir(dir); /* stays where it holds anything that is not ours */
    return status;
}

struct cs_checkpoint {
    char *path; /* of the records */
    int64_t bytes;
    char digest[33];
};

static cs_status parse_index(const char *dir, const char *path, const json_t *json,
                             const json_t *identity, cs_checkpoint *c)
{
    cs_status status = cs_run_header_check(path, json, FORMAT);
    if (status != CS_OK) return status;
    const json_t *build = json_object_get(json, "build");
    const char *records = json_string_value(json_object_get(json, "records"));
    const char *digest = json_string_value(json_object_get(json, "digest"));
    const json_t *bytes = json_object_get(json, "bytes");
    bool known =
        records && (strcmp(records, records_file[0]) == 0 || strcmp(records, records_file[1]) == 0);
    if (!json_is_object(build) || !known || !digest || strlen(digest) != sizeof c->digest - 1 ||
        !json_is_integer(bytes) || json_integer_value(bytes) < (json_int_t)sizeof(header)) {
        return cs_fail(CS_ERR_INPUT, "%s: is damaged: a field is missing or invalid", path);
    }
    status = cs_run_same(path, "build with ", build, identity);
    if (status == CS_OK) {
        memcpy(c->digest, digest, sizeof c->digest);
        c->bytes = json_integer_value(bytes);
        c->path = cs_path_join(dir, records);
        status = c->path ? CS_OK : CS_ERR_MEMORY;
    }
    return status;
}

cs_status cs_checkpoint_open(const char *dir, const json_t *identity, cs_checkpoint **out)
{
    json_auto_t *json = NULL;
    cs_checkpoint *c = cs_calloc(1, sizeof *c);
    CS_AUTO_FREE char *path = cs_path_join(dir, INDEX);
    cs_status status = c && path ? CS_OK : CS_ERR_MEMORY;
    *out = NULL;
    if (status == CS_OK && !cs_path_exists(path)) cs_checkpoint_close(&c);
    if (status == CS_OK && c) status = cs_json_read(path, &json);
    if (status == CS_OK && c) status = parse_index(dir, path, json, identity, c);
    return CS_DELIVER(status, out, c, cs_checkpoint_close);
}

void cs_checkpoint_close(cs_checkpoint **checkpoint)
{
    if (*checkpoint) {
        cs_free((*checkpoint)->path);
        cs_free(*checkpoint);
        *checkpoint = NULL;
    }
}

typedef struct {
    const cs_checkpoint *checkpoint;
    int fd;
    char *buffer;        /* PIECE */
    int64_t held, taken; /* bytes in the buffer, and those of them that were used */
    int64_t read;        /* of the file */
    cs_hash128 digest;
    cs_record *chunk; /* CHUNK */
    uint64_t units;   /* of the records read, modulo 2^64 */
} source;

static cs_status damaged(const source *s, const char *what)
{
    return cs_fail(CS_ERR_INPUT, "%s: the checkpoint is damaged: %s", s->checkpoint->path, what);
}

static cs_status refill(source *s)
{
    cs_status status = cs_interrupt_check();
    if (status != CS_OK) return status;
    int64_t left = s->checkpoint->bytes - s->read, count = cs_least(left, PIECE);
    if (count == 0) {
        return damaged(s, "it is truncated");
    }
    status = cs_file_read_at(s->fd, s->checkpoint->path, s->read, count, s->buffer);
    s->digest = chain_digest(s->digest, s->buffer, (size_t)count);
    s->read += count;
    s->held = count;
    s->taken = 0;
    return status;
}

static cs_status get(source *s, void *to, int64_t size)
{
    char *at = to;
    while (size > 0) {
        cs_status status = s->taken == s->held ? refill(s) : CS_OK;
        if (status != CS_OK) return status;
        int64_t there = s->held - s->taken, count = cs_least(size, there);
        memcpy(at, s->buffer + s->taken, (size_t)count);
        s->taken += count;
        at += count;
        size -= count;
    }
    return CS_OK;
}

/* Reads records into the chunk and checks that the build may hold them. */
static cs_status get_records(source *s, const cs_checkpoint_state *state, int64_t count)
{
    cs_status status = get(s, s->chunk, count * (int64_t)sizeof *s->chunk);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const cs_record *r = &s->chunk[i];
        if (r->col < 0 || r->col >= state->vocab || r->label < -1 || r->label >= state->labels ||
            r->units <= 0 || r->sequence < state->first ||
            r->sequence >= state->first + state->sequences) {
            status = damaged(s, "it contains a record that the build cannot have written");
        }
        s->units += (uint64_t)r->units;
    }
    return status;
}

static cs_status get_run(source *s, cs_checkpoint_state *state, int64_t length)
{
    cs_record last = {.units = 0};
    cs_status status = cs_runs_begin(state->runs);
    for (int64_t at = 0; at < length && status == CS_OK; at += CHUNK) {
        int64_t count = cs_least(length - at, CHUNK);
        status = get_records(s, state, count);
        for (int64_t i = 0; i < count && status == CS_OK; ++i) {
            if (last.units > 0 && cs_record_compare(&last, &s->chunk[i]) >= 0) {
                status = damaged(s, "a run is not sorted");
            }
            last = s->chunk[i];
        }
        if (status == CS_OK) status = cs_runs_extend(state->runs, s->chunk, count);
    }
    return status;
}

static cs_status get_blocks(source *s, cs_checkpoint_state *state)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < state->blocks && status == CS_OK; ++i) {
        status = get(s, &state->block[i].dropped, sizeof state->block[i].dropped);
    }
    for (int64_t i = 0; i < state->blocks && status == CS_OK; ++i) {
        uint8_t done = 0;
        status = get(s, &done, sizeof done);
        if (status == CS_OK && done > 1) status = damaged(s, "a block is neither finished nor not");
        state->block[i].done = done == 1;
    }
    return status;
}

/* The lengths of the runs, in fresh memory, once all sizes agree with that of the file. */
static cs_status get_lengths(source *s, const header *h, int64_t blocks, int64_t **out)
{
    int64_t size = (int64_t)sizeof(cs_record), most = s->checkpoint->bytes / size, records = 0;
    if (h->runs < 0 || h->runs > s->checkpoint->bytes / (int64_t)sizeof(int64_t) ||
        h->blocks != blocks) {
        return damaged(s, "its sizes are impossible");
    }
    int64_t *length = cs_alloc(h->runs, sizeof *length);
    cs_status status = length ? get(s, length, h->runs * (int64_t)sizeof *length) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < h->runs && status == CS_OK; ++i) {
        if (length[i] < 0 || length[i] > most - records) {
            status = damaged(s, "its sizes are impossible");
        } else {
            records += length[i];
        }
    }
    int64_t bytes = (int64_t)sizeof *h + h->runs * (int64_t)sizeof *length + records * size +
                    blocks * (int64_t)(sizeof(cs_exact_sum) + 1);
    if (status == CS_OK && bytes != s->checkpoint->bytes)
        status = damaged(s, "its sizes do not add up");
    return CS_DELIVER(status, out, length, cs_drop);
}

static cs_status get_state(source *s, cs_checkpoint_state *state)
{
    header h = {0};
    CS_AUTO_FREE int64_t *length = NULL;
    char digest[33];
    cs_status status = get(s, &h, sizeof h);
    if (status == CS_OK) status = get_lengths(s, &h, state->blocks, &length);
    for (int64_t i = 0; i < h.runs && status == CS_OK; ++i) {
        status = get_run(s, state, length[i]);
    }
    if (status == CS_OK) status = get_blocks(s, state);
    if (status != CS_OK) return status;
    cs_hash_hex(s->digest, digest);
    if (strcmp(digest, s->checkpoint->digest) != 0) {
        return damaged(s, "its digest is not the recorded one");
    }
    if (s->units != (uint64_t)h.units || h.contributions < 0) {
        return damaged(s, "its sums do not match its records");
    }
    state->contributions = h.contributions;
    state->units = h.units;
    state->overflow = h.overflow != 0;
    return CS_OK;
}

cs_status cs_checkpoint_load(const cs_checkpoint *checkpoint, cs_checkpoint_state *state)
{
    CS_AUTO(cs_pool) pool = {0};
    source s = {.checkpoint = checkpoint, .fd = -1};
    int64_t size = 0;
    if (!cs_path_exists(checkpoint->path)) {
        return damaged(&s, "this file is missing");
    }
    s.buffer = cs_pool_take(&pool, PIECE, 1);
    s.chunk = cs_pool_take(&pool, CHUNK, sizeof *s.chunk);
    cs_status status = pool.status ? pool.status : cs_file_open(checkpoint->path, &s.fd, &size);
    if (status == CS_OK && size != checkpoint->bytes)
        status = cs_fail(CS_ERR_INPUT, "%s: the checkpoint is damaged: %lld bytes, not %lld",
                         checkpoint->path, (long long)size, (long long)checkpoint->bytes);
    if (status == CS_OK) status = get_state(&s, state);
    if (s.fd >= 0) {
        (void)close(s.fd); /* opened for reading: nothing to lose */
    }
    return status;
}
