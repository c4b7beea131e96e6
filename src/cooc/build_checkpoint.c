/* Checkpoints of a build: checkpoint.json, which says of what build it is, and one file of records.
 *
 * The file of records is written first under the one of two names that the present checkpoint.json
 * does not use; the rename of the new checkpoint.json is the moment at which the new checkpoint
 * counts. It holds 8-byte integers (runs, blocks, contributions, units, overflow), the length of
 * each run, the runs of sorted records, the dropped mass of each block as a double, and a byte a
 * block: finished or not. What the tables in memory hold is sorted into runs too: their own order
 * is that of the hash, in which another table could not take them but in quadratic time. Its digest
 * is XXH3-128 over pieces of 1 MiB, each seeded by the one before.
 *
 * Limits: for the machine and the program that wrote it (byte order and the layout of records are
 * as in memory). CS_CHECKPOINT_VERSION must rise when records, blocks, units or keys change their
 * meaning.
 */
#include "cooc/build_checkpoint_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "plan/plan_file.h"

enum { PIECE = CS_CHECKPOINT_PIECE, CHUNK = 4096 };

const char *const cs_checkpoint_records[2] = {"records-0.bin", "records-1.bin"};

void cs_checkpoint_digest(cs_hash128 digest, char text[CS_CHECKPOINT_DIGEST])
{
    (void)snprintf(text, CS_CHECKPOINT_DIGEST, "%016" PRIx64 "%016" PRIx64, digest.high,
                   digest.low);
}

cs_hash128 cs_checkpoint_chain(cs_hash128 before, const void *bytes, size_t size)
{
    return cs_hash(bytes, size, before.high ^ before.low);
}

/* --- identity --------------------------------------------------------------------------------- */

static cs_hash128 hash_objective(const cs_objective *o, const char *mixture)
{
    const double real[] = {o->mask_ratio_lo, o->mask_ratio_hi, o->offset_value};
    const int64_t whole[] = {o->kind,        o->event_weight, o->empty_prefix,
                             o->unmasked_lo, o->unmasked_hi,  o->t,
                             o->offset,      o->segmentation, o->groups};
    cs_hash128 h = cs_hash(real, sizeof real, 0);
    h = cs_checkpoint_chain(h, whole, sizeof whole);
    if (o->target_weight != CS_TARGETS_PLAN) { /* older files contain only the other fields */
        h = cs_checkpoint_chain(h, &o->target_weight, sizeof o->target_weight);
    }
    if (o->columns >= 0) {
        h = cs_checkpoint_chain(h, &o->columns, sizeof o->columns);
    }
    if (o->permutation != CS_PERMUTE_UNIFORM) {
        h = cs_checkpoint_chain(h, &o->permutation, sizeof o->permutation);
    }
    if (o->share != 1) {
        h = cs_checkpoint_chain(h, &o->share, sizeof o->share);
    }
    for (int64_t i = 0; o->file && i < o->file->plans; ++i) {
        const cs_plan *p = &o->file->plan[i];
        h = cs_checkpoint_chain(h, &o->file->probability[i], sizeof(double));
        h = cs_checkpoint_chain(h, p->group, (size_t)p->length * sizeof *p->group);
        h = cs_checkpoint_chain(h, p->weight, (size_t)p->length * sizeof *p->weight);
    }
    return mixture[0] ? cs_checkpoint_chain(h, mixture, strlen(mixture)) : h;
}

static cs_hash128 hash_corpus(const cs_corpus *c)
{
    cs_hash128 h = cs_hash(c->token, (size_t)c->tokens * sizeof *c->token, 0);
    h = cs_checkpoint_chain(h, c->doc_ptr, (size_t)(c->documents + 1) * sizeof *c->doc_ptr);
    if (c->labels > 0) {
        h = cs_checkpoint_chain(h, c->label, (size_t)c->documents * sizeof *c->label);
    }
    h = c->held_out ? cs_checkpoint_chain(h, c->held_out, (size_t)c->documents) : h;
    return c->population ? cs_checkpoint_chain(h, c->sha256, sizeof c->sha256) : h;
}

cs_status cs_checkpoint_identity(const cs_corpus *corpus, const cs_cooc_options *options,
                                 double scale, int64_t blocks, json_t **out)
{
    static const char *const split[] = {"all", "train", "test"};
    char parameters[CS_CHECKPOINT_DIGEST], content[CS_CHECKPOINT_DIGEST], seed[24];
    char mixture[65] = "", context[64] = "";
    if (options->objective.kind == CS_OBJ_MIX) {
        cs_status read = cs_plan_file_digest(options->objective.file, mixture);
        if (read != CS_OK) return read;
    }
    char *objective = options->objective.file && options->objective.file->path
                          ? cs_strdup("file") /* its plans count, not its name */
                          : cs_objective_describe(&options->objective);
    cs_checkpoint_digest(hash_objective(&options->objective, mixture), parameters);
    cs_checkpoint_digest(hash_corpus(corpus), content);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, options->seed);
    (void)snprintf(context, sizeof context, "%s", cs_context_names[options->context.mode]);
    /* compatible with checkpoints older than contexts in the plane */
    if (options->context.columns > 0)
        (void)snprintf(context, sizeof context, "%s@%lld", cs_context_names[options->context.mode],
                       (long long)options->context.columns);
    json_t *o = json_object();
    const struct {
        const char *key;
        json_t *value;
    } field[] = {
        {"objective", json_string(objective ? objective : "")},
        {"objective_hash", json_string(parameters)},
        {"context", json_string(context)},
        {"context_size", json_integer(options->context.n)},
        {"target_given", json_boolean(options->context.given)},
        {"max_length", json_integer(options->max_length)},
        {"stride", json_integer(options->stride)},
        {"weight_by_document", json_boolean(options->weight_by_document)},
        {"split", json_string(split[options->split])},
        {"draws", json_integer(options->draws)},
        {"seed", json_string(seed)},
        {"tail", cs_json_number(options->tail)},
        {"documents", json_integer(corpus->documents)},
        {"tokens", json_integer(corpus->tokens)},
        {"vocabulary", json_integer(corpus->vocab)},
        {"classes", json_integer(corpus->labels)},
        {"corpus_hash", json_string(content)},
        {"units_per_token", cs_json_number(scale)},
        {"blocks", json_integer(blocks)},
    };
    cs_status status =
        o && objective ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for a checkpoint");
    cs_free(objective);
    for (size_t i = 0; i < sizeof field / sizeof *field; ++i) {
        cs_json_put(&status, o, field[i].key, field[i].value);
    }
    return CS_DELIVER(status, out, o, cs_json_free);
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
    s->digest = cs_checkpoint_chain(s->digest, s->buffer, s->held);
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
    cs_record *chunk = cs_alloc(CHUNK, sizeof *chunk);
    if (!chunk) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < runs->count; ++i) {
        for (int64_t at = 0; at < runs->run[i].count && status == CS_OK; at += CHUNK) {
            int64_t rest = runs->run[i].count - at, count = cs_least(rest, CHUNK);
            status = cs_runs_read(runs, runs->run[i].offset + at, count, chunk);
            if (status == CS_OK) status = put(s, chunk, count * (int64_t)sizeof *chunk);
        }
    }
    cs_free(chunk);
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
    const cs_checkpoint_header h = {.runs = state->runs->count + state->collectors,
                                    .blocks = state->blocks,
                                    .contributions = state->contributions,
                                    .units = state->units,
                                    .overflow = state->overflow};
    cs_status status = put(s, &h, sizeof h);
    if (status == CS_OK) status = put_records(s, state);
    for (int64_t i = 0; i < state->blocks && status == CS_OK; ++i) {
        double dropped = state->block[i].done ? state->block[i].dropped : 0;
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
    cs_status status = cs_outfile_settle(file, cs_interrupt_late);
    if (status != CS_ERR_INTERRUPT) return status ? status : cs_outfile_commit(file);
    cs_reason_clear();
    return cs_outfile_commit_unsynced(file);
}

static cs_status write_records(const char *path, const cs_checkpoint_state *state, int64_t *bytes,
                               char digest[CS_CHECKPOINT_DIGEST])
{
    sink s = {.buffer = cs_alloc(PIECE, 1)};
    cs_status status = s.buffer ? cs_outfile_open(path, &s.file) : CS_ERR_MEMORY;
    if (status == CS_OK) status = put_state(&s, state);
    if (status == CS_OK) status = commit(&s.file);
    cs_outfile_abort(&s.file);
    cs_free(s.buffer);
    *bytes = s.bytes;
    cs_checkpoint_digest(s.digest, digest);
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
    *number = used && strcmp(used, cs_checkpoint_records[0]) == 0 ? 1 : 0;
    json_decref(json);
    return CS_OK;
}

static cs_status write_index(const char *path, const json_t *identity, int64_t finished,
                             const char *records, int64_t bytes, const char *digest)
{
    json_t *json =
        json_pack("{s:s, s:i, s:O, s:I, s:s, s:I, s:s}", "format", CS_CHECKPOINT_FORMAT, "version",
                  CS_CHECKPOINT_VERSION, "build", identity, "finished_blocks", (json_int_t)finished,
                  "records", records, "bytes", (json_int_t)bytes, "digest", digest);
    cs_outfile file = {0};
    cs_status status =
        json ? cs_outfile_open(path, &file) : cs_fail(CS_ERR_MEMORY, "out of memory for %s", path);
    if (status == CS_OK) status = cs_blame(cs_json_print(file.stream, json), "%s", path);
    if (status == CS_OK) status = commit(&file);
    cs_outfile_abort(&file);
    json_decref(json);
    return status;
}

cs_status cs_checkpoint_write(const char *dir, const json_t *identity,
                              const cs_checkpoint_state *state)
{
    char *index = cs_path_join(dir, CS_CHECKPOINT_INDEX), *path = NULL, *old = NULL,
         digest[CS_CHECKPOINT_DIGEST];
    int64_t bytes = 0, finished = 0;
    int number = 0;
    cs_status status = index ? cs_dir_make(dir) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < state->blocks; ++i) {
        finished += state->block[i].done;
    }
    if (status == CS_OK) status = free_name(index, &number);
    if (status == CS_OK) {
        path = cs_path_join(dir, cs_checkpoint_records[number]);
        old = cs_path_join(dir, cs_checkpoint_records[1 - number]);
        status = path && old ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) status = write_records(path, state, &bytes, digest);
    if (status == CS_OK)
        status =
            write_index(index, identity, finished, cs_checkpoint_records[number], bytes, digest);
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
    const char *const name[] = {CS_CHECKPOINT_INDEX, cs_checkpoint_records[0],
                                cs_checkpoint_records[1]};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof name / sizeof *name && status == CS_OK; ++i) {
        char *path = cs_path_join(dir, name[i]);
        if (!path) return CS_ERR_MEMORY;
        if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR) {
            status = cs_fail(CS_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
        }
        cs_free(path);
    }
    if (status == CS_OK) (void)rmdir(dir); /* stays where it holds anything that is not ours */
    return status;
}
