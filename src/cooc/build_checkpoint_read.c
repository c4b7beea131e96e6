/* Reading a checkpoint back. Nothing in its files is trusted: sizes are checked against the size of
 * the file before memory is taken, every record against the build that may hold it, and the whole
 * against its digest and the sum of its units. */
#include <string.h>
#include <unistd.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_checkpoint_private.h"
#include "io/file.h"
#include "io/json.h"
#include "io/run_id.h"

enum { PIECE = CS_CHECKPOINT_PIECE, CHUNK = 4096 };

struct cs_checkpoint {
    char *path; /* of the records */
    int64_t bytes;
    char digest[33];
};

static cs_status parse_index(const char *dir, const char *path, const json_t *json,
                             const json_t *identity, cs_checkpoint *c)
{
    cs_status status = cs_run_header_check(path, json, CS_CHECKPOINT_FORMAT);
    if (status != CS_OK) return status;
    const json_t *build = json_object_get(json, "build");
    const char *records = json_string_value(json_object_get(json, "records"));
    const char *digest = json_string_value(json_object_get(json, "digest"));
    const json_t *bytes = json_object_get(json, "bytes");
    bool known = records && (strcmp(records, cs_checkpoint_records[0]) == 0 ||
                             strcmp(records, cs_checkpoint_records[1]) == 0);
    if (!json_is_object(build) || !known || !digest || strlen(digest) != sizeof c->digest - 1 ||
        !json_is_integer(bytes) ||
        json_integer_value(bytes) < (json_int_t)sizeof(cs_checkpoint_header)) {
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
    json_t *json = NULL;
    cs_checkpoint *c = cs_calloc(1, sizeof *c);
    char *path = cs_path_join(dir, CS_CHECKPOINT_INDEX);
    cs_status status = c && path ? CS_OK : CS_ERR_MEMORY;
    *out = NULL;
    if (status == CS_OK && !cs_path_exists(path)) cs_checkpoint_close(&c);
    if (status == CS_OK && c) status = cs_json_read(path, &json);
    if (status == CS_OK && c) status = parse_index(dir, path, json, identity, c);
    json_decref(json);
    cs_free(path);
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
    s->digest = cs_checkpoint_chain(s->digest, s->buffer, (size_t)count);
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
            r->units <= 0 || r->sequence < 0 || r->sequence >= state->sequences) {
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
static cs_status get_lengths(source *s, const cs_checkpoint_header *h, int64_t blocks,
                             int64_t **out)
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
                    blocks * (int64_t)(sizeof(double) + 1);
    if (status == CS_OK && bytes != s->checkpoint->bytes)
        status = damaged(s, "its sizes do not add up");
    return CS_DELIVER(status, out, length, cs_drop);
}

static cs_status get_state(source *s, cs_checkpoint_state *state)
{
    cs_checkpoint_header h = {0};
    int64_t *length = NULL;
    char digest[33];
    cs_status status = get(s, &h, sizeof h);
    if (status == CS_OK) status = get_lengths(s, &h, state->blocks, &length);
    for (int64_t i = 0; i < h.runs && status == CS_OK; ++i) {
        status = get_run(s, state, length[i]);
    }
    cs_free(length);
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
    cs_pool pool = {0};
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
    cs_pool_free(&pool);
    return status;
}
