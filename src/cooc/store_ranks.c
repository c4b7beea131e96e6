/* Writing a matrix whose rows several processes hold. Each writes its rows as shards, its part of the
 * corpus as one, and then a record of both; every rank knows the number of shards of all. Once all
 * have succeeded, rank 0 receives the records (sizes and digests), writes the rest, the index and
 * matrix.json last, and removes the files of records and the checkpoints.
 *
 * A record file holds a head, the records of the shards, and XXH3-128 of both: it is for the machine
 * and the program that wrote it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cooc/build_ranks_private.h"
#include "cooc/store.h"
#include "cooc/store_files_private.h"
#include "cooc/store_shards_private.h"
#include "cooc/store_sidecar_private.h"
#include "io/file.h"
#include "io/run_id.h"

/* The record of the shards that a rank has stored. */
typedef struct {
    cs_hash128 build; /* its identity */
    int64_t shards, first, all;
    int64_t in_parts;
    cs_row_sums rows;
    cs_corpus_record documents;
} rank_head;

struct cs_ranks_store {
    char *dir, *path, *checkpoint; /* the folder; in it the record and checkpoint of this rank */
    const cs_cooc_options *options;
    rank_head head;
    cs_shard_record *record; /* head.shards; NULL: nothing is stored */
};

typedef struct {
    const char *dir;
    cs_comm *comm;
    const cs_corpus *corpus;
    const cs_cooc_options *options;
    const cs_cooc *cooc;
    cs_ranks_store *store;
    cs_store_integers integers; /* of all ranks */
    int64_t shards, *limit;     /* of this rank */
    int64_t *count;             /* ranks: shards of each */
    int64_t first, all;         /* number of the first shard of this rank, and of all shards */
    cs_shard_record *record;    /* of this rank; on rank 0 of all */
    cs_corpus_record *documents;
    cs_pool pool;
} writing;

/* --- what ranks leave -------------------------------------------------------------------------- */

static bool is_name(const char *format, const char *name)
{
    int rank = 0, ranks = 0, end = 0;
    return sscanf(name, format, &rank, &ranks, &end) == 2 && end > 0 && name[end] == '\0';
}

static cs_status remove_record(const char *path)
{
    return unlink(path) == 0 ? CS_OK
                             : cs_fail(CS_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
}

/* Visits the records and checkpoints of ranks in a folder; *count receives their number. */
static cs_status each_left(const char *dir, bool removes, int64_t *count)
{
    char **name = NULL;
    int64_t names = 0;
    *count = 0;
    cs_status status = cs_path_is_dir(dir) ? cs_dir_names(dir, &name, &names) : CS_OK;
    for (int64_t i = 0; i < names && status == CS_OK; ++i) {
        const bool record = is_name("rank-%5d-of-%5d.bin%n", name[i]);
        if (!record && !is_name("checkpoint-%5d-of-%5d%n", name[i])) {
            continue;
        }
        CS_AUTO_FREE char *path = cs_path_join(dir, name[i]);
        *count += 1;
        if (!path) {
            status = CS_ERR_MEMORY;
        } else if (removes) {
            status = record ? remove_record(path) : cs_cooc_checkpoint_remove(path);
        }
    }
    cs_text_list_free(name, names);
    return status;
}

/* Two builds of equal identity have the same rows on each rank. */
static cs_status identity_of(const cs_corpus *c, const cs_cooc_options *o, cs_hash128 *out)
{
    char content[33] = "";
    json_auto_t *json = json_object();
    CS_AUTO(cs_hasher) h = {0};
    const int64_t sizes[] = {CS_RUN_VERSION, o->comm->ranks,   o->shard_size,    c->vocab,
                             c->labels,      c->all_documents, c->all_tokens,    c->unknown_tokens,
                             c->documents,   c->tokens,        c->first_document};
    cs_status status = json ? cs_hasher_make(0, &h) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_sidecar_options(o, json);
    if (status == CS_OK && o->objective.file)
        cs_json_put(&status, json, "plans", cs_store_plans(o->objective.file));
    if (status == CS_OK) status = cs_corpus_hash(c, content);
    char *text = status == CS_OK ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (status == CS_OK && !text) status = CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    cs_hasher_add(&h, text, strlen(text));
    cs_hasher_add(&h, sizes, sizeof sizes);
    cs_hasher_add(&h, content, sizeof content);
    cs_hasher_add(&h, c->sha256, sizeof c->sha256);
    for (int64_t v = 0; c->word && v < c->vocab; ++v) {
        cs_hasher_add(&h, c->word[v], strlen(c->word[v]) + 1);
    }
    free(text);
    *out = cs_hasher_value(&h);
    return CS_OK;
}

static cs_status write_record(cs_ranks_store *s)
{
    cs_outfile file = {0};
    CS_AUTO(cs_hasher) h = {0};
    const int64_t size = s->head.shards * (int64_t)sizeof *s->record;
    cs_status status = cs_hasher_make(0, &h);
    if (status == CS_OK) status = cs_outfile_open(s->path, &file);
    if (status != CS_OK) return status;
    cs_hasher_add(&h, &s->head, sizeof s->head);
    cs_hasher_add(&h, s->record, (size_t)size);
    const cs_hash128 digest = cs_hasher_value(&h);
    status = cs_outfile_put(&file, &s->head, sizeof s->head);
    if (status == CS_OK) status = cs_outfile_put(&file, s->record, size);
    if (status == CS_OK) status = cs_outfile_put(&file, &digest, sizeof digest);
    if (status == CS_OK) status = cs_outfile_commit(&file);
    cs_outfile_abort(&file);
    return status;
}

/* Whether a file has the recorded size and digest. */
static bool is_intact(const char *dir, int kind, int64_t number, int64_t count,
                      const cs_shard_file *recorded)
{
    char name[CS_SHARD_NAME];
    cs_shard_file now = {0};
    cs_shard_name(kind, number, count, name);
    CS_AUTO_FREE char *path = cs_path_join(dir, name);
    const bool there = path && cs_path_exists(path) && cs_shard_file_of(path, &now) == CS_OK;
    cs_reason_clear();
    return there && now.bytes == recorded->bytes && strcmp(now.xxh3, recorded->xxh3) == 0;
}

static bool are_intact(const cs_ranks_store *s, int rank, int ranks)
{
    const rank_head *h = &s->head;
    bool intact =
        !h->in_parts || is_intact(s->dir, CS_SHARD_CORPUS, rank, ranks, &h->documents.file);
    for (int64_t i = 0; i < h->shards && intact; ++i) {
        for (int kind = 0; kind < CS_SHARD_CORPUS && intact; ++kind) {
            const cs_shard_file *f = &s->record[i].file[kind];
            intact = f->bytes == 0 || is_intact(s->dir, kind, h->first + i, h->all, f);
        }
    }
    return intact;
}

/* The record of this rank, if there is one that is whole and whose files are. */
static cs_status read_record(cs_ranks_store *s, const cs_hash128 *build, const cs_comm *comm)
{
    const int64_t limit = CS_SHARDS_MOST * (int64_t)sizeof *s->record + (1 << 16);
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    rank_head head;
    cs_hash128 digest;
    if (!cs_path_exists(s->path)) {
        return CS_OK;
    }
    cs_status status = cs_file_read(s->path, limit, &bytes, &size);
    const int64_t rest = size - (int64_t)(sizeof head + sizeof digest);
    if (status != CS_OK || rest < 0) return status;
    memcpy(&head, bytes, sizeof head);
    memcpy(&digest, bytes + size - sizeof digest, sizeof digest);
    const cs_hash128 own = cs_hash(bytes, (size_t)size - sizeof digest, 0);
    if (cs_hash_compare(own, digest) != 0 || head.shards < 1 ||
        rest != head.shards * (int64_t)sizeof *s->record) {
        return CS_OK; /* half written */
    }
    if (cs_hash_compare(head.build, *build) != 0) {
        return cs_fail(CS_ERR_USAGE,
                       "%s belongs to a build with other options, another corpus or another number "
                       "of processes; give --force to start again",
                       s->path);
    }
    s->record = cs_alloc(head.shards, sizeof *s->record);
    if (!s->record) return CS_ERR_MEMORY;
    memcpy(s->record, bytes + sizeof head, (size_t)rest);
    s->head = head;
    if (!are_intact(s, comm->rank, comm->ranks)) {
        cs_free(s->record);
        s->record = NULL;
    }
    return CS_OK;
}

cs_status cs_ranks_store_check(const char *dir)
{
    int64_t records = 0;
    cs_status status = each_left(dir, false, &records);
    return status || records == 0
               ? status
               : cs_fail(CS_ERR_USAGE,
                         "%s belongs to an interrupted build; give --resume to continue it or "
                         "--force to start again",
                         dir);
}

cs_status cs_ranks_store_open(const char *dir, const cs_corpus *corpus,
                              const cs_cooc_options *options, bool force, bool resume,
                              cs_ranks_store **out)
{
    cs_comm *comm = options->comm;
    int64_t records = 0;
    cs_hash128 build = {0, 0};
    cs_ranks_store *s = cs_calloc(1, sizeof *s);
    cs_status status = s ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        s->options = options;
        s->dir = cs_strdup(dir);
        s->path = cs_format("%s/rank-%05d-of-%05d.bin", dir, comm->rank + 1, comm->ranks);
        s->checkpoint = cs_format("%s/checkpoint-%05d-of-%05d", dir, comm->rank + 1, comm->ranks);
        status = s->dir && s->path && s->checkpoint ? identity_of(corpus, options, &build)
                                                    : CS_ERR_MEMORY;
        if (status == CS_OK) status = cs_link_refuse(s->checkpoint);
    }
    if (status == CS_OK && comm->rank == 0) {
        status = force && !resume ? each_left(dir, true, &records)
                 : resume         ? CS_OK
                                  : cs_ranks_store_check(dir);
    }
    if (status == CS_OK && resume) status = read_record(s, &build, comm);
    if (status == CS_OK) s->head.build = build;
    status = cs_comm_agree(comm, status);
    return CS_DELIVER(status, out, s, cs_ranks_store_free);
}

void cs_ranks_store_free(cs_ranks_store **store)
{
    if (*store) {
        CS_FREE_FIELDS(*store, dir, path, checkpoint, record);
        cs_free(*store);
        *store = NULL;
    }
}

const cs_row_sums *cs_ranks_store_rows(const cs_ranks_store *store)
{
    return store->record ? &store->head.rows : NULL;
}

const char *cs_ranks_store_checkpoint(const cs_ranks_store *store)
{
    return store->checkpoint;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool in_parts(const writing *w)
{
    return w->corpus->all_documents > 0;
}

static void join_integers(void *mine, const void *other, int64_t size)
{
    cs_store_integers *a = mine;
    const cs_store_integers *b = other;
    (void)size;
    a->matrix = a->matrix && b->matrix;
    a->row_labels = a->row_labels && b->row_labels;
}

/* Numbers the shards of all ranks. */
static cs_status number_shards(writing *w)
{
    const int64_t given = w->options->shard_size;
    const bool stored = w->store->record != NULL;
    w->shards = w->store->head.shards;
    cs_status status =
        stored ? CS_OK
               : cs_store_shard_limits(w->cooc, (double)(given > 0 ? given : CS_COOC_SHARD_SIZE),
                                       &w->shards, &w->limit);
    w->count = cs_pool_take(&w->pool, w->comm->ranks, sizeof *w->count);
    if (status == CS_OK) status = w->pool.status;
    status = cs_comm_agree(w->comm, status);
    if (status != CS_OK) return status;
    cs_comm_gather_each(w->comm, sizeof w->shards, &w->shards, w->count);
    for (int r = 0; r < w->comm->ranks; ++r) {
        w->first += r < w->comm->rank ? w->count[r] : 0;
        w->all += w->count[r];
    }
    const bool root = w->comm->rank == 0;
    w->record = cs_pool_take(&w->pool, root ? w->all : w->shards, sizeof *w->record);
    w->documents = cs_pool_take(&w->pool, root ? w->comm->ranks : 1, sizeof *w->documents);
    return cs_comm_agree(w->comm, w->pool.status);
}

/* The disk, and the folder. */
static cs_status prepare(const writing *w, bool force)
{
    const cs_labelled *l = &w->cooc->matrix;
    const bool classes = l->labels > 0;
    int64_t bytes = (int64_t)cs_store_bytes(w->corpus, (double)l->a.rows, (double)cs_csr_nnz(&l->a),
                                            classes ? (double)cs_csr_nnz(&l->row_label) : 0,
                                            (double)(classes ? l->a.cols : 0));
    cs_status status = CS_OK;
    int64_t stored = w->store->record != NULL; /* ranks that keep their files */
    cs_comm_add(w->comm, 1, &bytes);
    cs_comm_add(w->comm, 1, &stored);
    const cs_store_kept keep = {stored > 0 ? w->all : 0, stored > 0 ? w->comm->ranks : 0};
    if (w->comm->rank == 0) {
        status = w->all > CS_SHARDS_MOST
                     ? cs_fail(CS_ERR_USAGE,
                               "%lld shards of all ranks, but at most %d are possible; give a "
                               "larger --shard-size",
                               (long long)w->all, CS_SHARDS_MOST)
                     : cs_dir_make(w->dir);
        if (status == CS_OK)
            status = cs_store_check(w->dir, (double)bytes, "the files of the matrix");
        if (status == CS_OK) status = cs_store_clear(w->dir, force, &keep);
    }
    return cs_comm_agree(w->comm, status);
}

/* The files of this rank, and last their record. */
static cs_status write_own(writing *w)
{
    cs_ranks_store *s = w->store;
    cs_status status = CS_OK;
    s->record = cs_calloc(w->shards, sizeof *s->record);
    if (!s->record) return CS_ERR_MEMORY;
    s->head.shards = w->shards;
    s->head.first = w->first;
    s->head.all = w->all;
    s->head.in_parts = in_parts(w);
    s->head.rows = cs_row_sums_of(w->cooc);
    for (int64_t i = 0; i < w->shards && status == CS_OK; ++i) {
        status = cs_store_shard_write(w->dir, w->first + i, w->all, w->cooc, w->limit[i],
                                      w->limit[i + 1], w->cooc->first_row + w->limit[i],
                                      &w->integers, &s->record[i]);
    }
    if (status == CS_OK && in_parts(w))
        status = cs_store_corpus_shard_write(w->dir, w->comm->rank, w->comm->ranks, w->corpus,
                                             w->corpus->first_document, &s->head.documents);
    return status == CS_OK ? write_record(s) : status;
}

static cs_status write_shards(writing *w)
{
    cs_status status = w->store->record ? CS_OK : write_own(w);
    if (status == CS_OK) {
        memcpy(w->record, w->store->record, (size_t)w->shards * sizeof *w->record);
        *w->documents = w->store->head.documents;
    }
    return cs_comm_agree(w->comm, status);
}

/* The records of all ranks to rank 0. */
static void bring_records(writing *w)
{
    int64_t at = w->shards;
    for (int r = 1; r < w->comm->ranks; at += w->count[r++]) {
        const bool root = w->comm->rank == 0;
        cs_comm_bring(w->comm, r, w->record, w->record + (root ? at : 0),
                      w->count[r] * (int64_t)sizeof *w->record);
        cs_comm_bring(w->comm, r, w->documents, w->documents + (root ? r : 0),
                      in_parts(w) ? (int64_t)sizeof *w->documents : 0);
    }
}

static cs_status finish(const writing *w)
{
    const cs_cooc *m = w->cooc;
    const cs_matrix_index index = {.rows = m->all_rows,
                                   .cols = m->matrix.a.cols,
                                   .nonzeros = m->all_nonzeros,
                                   .labels = m->matrix.labels,
                                   .mass = m->mass,
                                   .gram = m->matrix.a.gram,
                                   .shards = w->all,
                                   .corpora = in_parts(w) ? w->comm->ranks : 0,
                                   .shard = w->record,
                                   .corpus = w->documents};
    cs_corpus corpus = *w->corpus; /* with its totals */
    if (in_parts(w)) {
        corpus.documents = corpus.all_documents;
        corpus.tokens = corpus.all_tokens;
    }
    return cs_store_finish(w->dir, &corpus, w->options, m, &index);
}

cs_status cs_cooc_write_ranks(cs_ranks_store *store, const cs_corpus *corpus, const cs_cooc *cooc,
                              bool force)
{
    const cs_cooc_options *options = store->options;
    int64_t records = 0;
    writing w = {.dir = store->dir,
                 .comm = options->comm,
                 .corpus = cooc->texts.all_documents > 0 ? &cooc->texts : corpus,
                 .options = options,
                 .cooc = cooc,
                 .store = store};
    w.integers = cs_store_integers_of(cooc);
    cs_comm_fold(w.comm, &w.integers, sizeof w.integers, join_integers);
    cs_status status = number_shards(&w);
    if (status == CS_OK) status = prepare(&w, force);
    if (status == CS_OK) status = write_shards(&w);
    if (status == CS_OK) {
        bring_records(&w);
        status = w.comm->rank == 0 ? finish(&w) : CS_OK;
        if (status == CS_OK && w.comm->rank == 0) status = each_left(w.dir, true, &records);
        status = cs_comm_agree(w.comm, status);
    }
    cs_free(w.limit);
    cs_pool_free(&w.pool);
    return status;
}
