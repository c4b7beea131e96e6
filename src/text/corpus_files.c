/* Corpora of several files: documents of a directory, or files of lines that a pattern names, in byte
 * order of their names. The identity of the corpus is the SHA-256 of what sha256sum would print of
 * its files in order; of a single file, its own.
 *
 * Over ranks: the files are one stream of bytes, and each rank reads an equal range. A file of
 * lines is cut where ranges meet, and a line belongs to the range of its first byte. Compressed
 * files, CSV (whose records may span lines) and files that are documents are not cut: the rank of
 * their middle reads them. What depends on lower ranks is exchanged afterwards:
 *
 *   number of a document in its file, which its side of the split follows from: a sum over the
 *   ranks that read the file before
 *   vocabulary: each word's counts are added by the rank that its hash selects; the most frequent
 *   words of all ranks climb a binomial tree (vocab_ranks.c)
 *   SHA-256 of a file that is cut, and of the list: its state goes from rank to rank
 */
#include "text/corpus_files_private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/gzip.h"
#include "text/vocab_ranks_private.h"

enum { RANGE = 1 << 28 }; /* bytes of a divisible file that are read at a time */

void cs_corpus_files_free(cs_corpus_files *files)
{
    for (int64_t i = 0; i < files->files; ++i) {
        CS_FREE_FIELDS(&files->file[i], path, key, label);
    }
    cs_free(files->file);
    *files = (cs_corpus_files){0};
}

static cs_status find_file(const char *path, struct stat *info)
{
    if (stat(path, info) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    return S_ISREG(info->st_mode)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: %s, but a document was expected", path,
                         S_ISDIR(info->st_mode) ? "a directory" : "not a regular file");
}

static cs_status add_file(cs_corpus_files *files, const char *path, cs_corpus_file **out)
{
    struct stat info = {0};
    if (find_file(path, &info) != CS_OK) {
        info.st_size = 0;
        cs_reason_clear(); /* reported when the file is read, after those with invalid text */
    }
    cs_status status =
        cs_reserve(&files->file, &files->capacity, files->files + 1, sizeof *files->file);
    if (status != CS_OK) return status;
    *out = &files->file[files->files];
    **out = (cs_corpus_file){.path = cs_strdup(path), .bytes = (int64_t)info.st_size};
    files->files += 1;
    return (*out)->path ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_corpus_files_add_document(cs_corpus_files *files, const char *path, const char *key,
                                       const char *label)
{
    cs_corpus_file *f = NULL;
    cs_status status = add_file(files, path, &f);
    if (status != CS_OK) return status;
    f->key = cs_strdup(key);
    f->label = label ? cs_strdup(label) : NULL;
    return f->key && (f->label || !label) ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_corpus_files_add_lines(cs_corpus_files *files, const char *path, cs_text_format format,
                                    bool prepared, const cs_corpus_options *options)
{
    cs_corpus_file *f = NULL;
    bool packed = false;
    int fd = -1;
    int64_t size = 0;
    cs_status status = add_file(files, path, &f);
    if (status == CS_OK) status = cs_file_open(path, &fd, &size);
    if (status == CS_OK) status = cs_gzip_begins(fd, path, &packed);
    if (fd >= 0) (void)close(fd);
    if (status == CS_OK) {
        f->format = format;
        f->prepared = prepared;
        f->divisible = !packed && format != CS_FORMAT_CSV &&
                       !(format == CS_FORMAT_TEXT && options->whole_file);
    }
    return status;
}

/* --- the range of a rank ---------------------------------------------------------------------- */

/* Gives each file the bytes that this rank reads. */
static void deal(cs_corpus_files *files, const cs_comm *comm)
{
    int64_t all = 0, first = 0, count = 0, at = 0;
    for (int64_t i = 0; i < files->files; ++i) {
        all += files->file[i].bytes;
    }
    const cs_comm alone = {.ranks = 1};
    const cs_comm *c = comm ? comm : &alone;
    cs_comm_slice(c, c->rank, all, &first, &count);
    const int64_t end = first + count;
    for (int64_t i = 0; i < files->files; at += files->file[i++].bytes) {
        cs_corpus_file *f = &files->file[i];
        const int64_t middle = at + f->bytes / 2;
        const bool last = c->rank == c->ranks - 1;
        const bool mine = middle >= first && (middle < end || last);
        f->from = f->divisible ? cs_least(cs_most(first - at, 0), f->bytes) : 0;
        f->to = f->divisible ? cs_least(cs_most(end - at, 0), f->bytes) : mine ? f->bytes : 0;
        if (f->bytes == 0) { /* an empty file is read by the rank whose range it is in */
            f->from = 0;
            f->to = mine ? -1 : 0;
        }
    }
}

static bool is_mine(const cs_corpus_file *f)
{
    return f->to != f->from;
}

static bool is_whole(const cs_corpus_file *f)
{
    return f->from == 0 && (f->to == f->bytes || f->to < 0);
}

/* CS_ERR_INPUT if two ranks do not see the same files. */
static cs_status check_alike(const char *source, const cs_corpus_files *files, cs_comm *c)
{
    CS_AUTO(cs_hasher) h = {0};
    cs_status status = cs_comm_agree(c, cs_hasher_make(0, &h));
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < files->files; ++i) {
        const cs_corpus_file *f = &files->file[i];
        cs_hasher_add(&h, f->path, strlen(f->path) + 1);
        cs_hasher_add(&h, &f->bytes, sizeof f->bytes);
    }
    const cs_hash128 mine = cs_hasher_value(&h);
    cs_hash128 first = mine;
    cs_comm_spread(c, &first, sizeof first);
    return cs_comm_agree(c, cs_hash_compare(first, mine) == 0
                                ? CS_OK
                                : cs_fail(CS_ERR_INPUT,
                                          "%s: not the files or sizes that rank 0 sees; all ranks "
                                          "need the same files under the same names",
                                          source));
}

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct {
    cs_corpus_builder builder;
    cs_corpus_files *files;
    char (*sha256)[65]; /* files: "" unless this rank has read the whole file */
    int64_t first_file; /* the first that this rank reads; -1: none */
    int64_t last_file;  /* the last */
    int64_t carried;    /* documents of the first file, if lower ranks have read some */
    int64_t numbered;   /* documents of the last file, dropped ones included */
    cs_columns read;    /* of all files */
} part_reader;

static void part_reader_free(part_reader *p)
{
    cs_corpus_builder_free(&p->builder);
    cs_free(p->sha256);
}

static cs_status read_document(part_reader *p, const cs_corpus_file *f, char sha256[65])
{
    struct stat info;
    CS_AUTO(cs_text_file) file = {0};
    cs_text_rules *rules = &p->builder.rules;
    cs_status status = cs_interrupt_check();
    if (status == CS_OK) status = find_file(f->path, &info);
    if (status == CS_OK) status = cs_text_read(f->path, rules, &file);
    if (status != CS_OK || !file.text) return status;
    const cs_document document = {.text = file.text,
                                  .size = file.size,
                                  .label = f->label,
                                  .label_size = f->label ? (int64_t)strlen(f->label) : 0,
                                  .key = f->key,
                                  .key_size = (int64_t)strlen(f->key)};
    if (cs_text_keeps(rules, file.text, file.size))
        status = cs_blame(cs_corpus_builder_add(&p->builder, &document), "%s", f->path);
    memcpy(sha256, file.sha256, sizeof file.sha256);
    return status;
}

static cs_status read_lines(part_reader *p, const cs_corpus_file *f, char sha256[65])
{
    cs_columns found = {0};
    cs_text_lines lines = {
        .path = f->path, .format = f->format, .prepared = f->prepared, .found = &found};
    cs_status status = CS_OK;
    if (is_whole(f) && (!f->divisible || f->bytes <= RANGE)) {
        status = cs_corpus_add_lines(&lines, &p->builder, sha256);
    } else {
        for (int64_t at = f->from; at < f->to && status == CS_OK && !p->builder.enough;
             at = lines.to) {
            lines.from = at;
            lines.to = f->to - at > RANGE ? at + RANGE : f->to;
            status = cs_corpus_add_lines(&lines, &p->builder, sha256);
        }
    }
    if (p->files->alone) {
        p->read = found;
    } else { /* columns of several files differ */
        p->read.headers += found.headers;
        p->read.returns += found.returns;
    }
    return status;
}

static cs_status read_part(part_reader *p)
{
    cs_corpus_builder *b = &p->builder;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < p->files->files && status == CS_OK && !b->enough; ++i) {
        const cs_corpus_file *f = &p->files->file[i];
        if (is_mine(f)) {
            p->first_file = p->first_file < 0 ? i : p->first_file;
            p->last_file = i;
            b->first_number = b->made.documents + b->made.dropped_documents;
            b->in_parts = f->from > 0; /* their numbers are not known yet */
            status = f->key ? read_document(p, f, p->sha256[i]) : read_lines(p, f, p->sha256[i]);
            p->carried = b->in_parts ? b->made.documents : p->carried;
            b->in_parts = false;
            p->numbered = b->made.documents + b->made.dropped_documents - b->first_number;
        }
        cs_progress_report(b->options.progress, "files", i + 1, p->files->files);
    }
    if (b->rules.refused->files > 0 && (status == CS_OK || status == CS_ERR_INPUT)) {
        cs_reason_clear(); /* of what stopped the reading later */
        status = cs_refused_status(b->rules.refused);
    }
    return status;
}

/* --- checksums -------------------------------------------------------------------------------- */

/* The message from rank to rank: a file that is cut, the list, and the last checksum. */
typedef struct {
    cs_sha256_state file, list;
    char last[65];
} checksums;

static cs_status add_range(const cs_corpus_file *f, cs_sha256_state *state)
{
    enum { BUFFER = 1 << 20 };
    CS_AUTO_FREE char *buffer = cs_alloc(BUFFER, 1);
    int fd = -1;
    int64_t size = 0;
    cs_status status = buffer ? cs_file_open(f->path, &fd, &size) : CS_ERR_MEMORY;
    for (int64_t at = f->from; at < f->to && status == CS_OK; at += BUFFER) {
        const int64_t count = cs_least(f->to - at, BUFFER);
        status = cs_file_read_at(fd, f->path, at, count, buffer);
        if (status == CS_OK) cs_sha256_add(state, buffer, (size_t)count);
        if (status == CS_OK) status = cs_interrupt_check();
    }
    if (fd >= 0) (void)close(fd);
    return status;
}

static cs_status add_checksums(part_reader *p, checksums *s)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < p->files->files && status == CS_OK; ++i) {
        const cs_corpus_file *f = &p->files->file[i];
        char *sha256 = p->sha256[i];
        const char *name = f->key ? f->key : f->path;
        if (is_mine(f) && !*sha256) {
            if (f->from == 0) cs_sha256_start(&s->file);
            status = add_range(f, &s->file);
            if (f->to == f->bytes) cs_sha256_value(&s->file, sha256);
        }
        if (*sha256) {
            cs_sha256_add(&s->list, sha256, strlen(sha256));
            cs_sha256_add(&s->list, "  ", 2);
            cs_sha256_add(&s->list, name, strlen(name));
            cs_sha256_add(&s->list, "\n", 1);
            memcpy(s->last, sha256, sizeof s->last);
        }
    }
    return status;
}

/* From rank 0 to the last, and its result to all. */
static cs_status join_checksums(part_reader *p, cs_comm *c, char sha256[65])
{
    checksums s = {.last = ""};
    cs_sha256_start(&s.list);
    if (c && c->rank > 0) c->swap(c, -1, NULL, 0, c->rank - 1, &s, sizeof s);
    cs_status status = add_checksums(p, &s);
    if (c && c->rank + 1 < c->ranks) c->swap(c, c->rank + 1, &s, sizeof s, -1, NULL, 0);
    if (c && status == CS_OK) {
        cs_comm_bring(c, c->ranks - 1, &s, &s, c->ranks > 1 ? (int64_t)sizeof s : 0);
        cs_comm_spread(c, &s, sizeof s);
    }
    if (p->files->alone) {
        memcpy(sha256, s.last, sizeof s.last);
    } else {
        cs_sha256_value(&s.list, sha256);
    }
    return status;
}

/* --- what lower ranks have read --------------------------------------------------------------- */

/* Of one rank. */
typedef struct {
    int64_t first_file, last_file, numbered;
    int64_t documents, tokens, dropped, bytes, skipped, headers, returns;
} shares;

static shares shares_of(const part_reader *p)
{
    const cs_corpus *c = &p->builder.made;
    return (shares){.first_file = p->first_file,
                    .last_file = p->last_file,
                    .numbered = p->numbered,
                    .documents = c->documents,
                    .tokens = c->tokens,
                    .dropped = c->dropped_documents,
                    .bytes = p->builder.rules.bytes,
                    .skipped = p->builder.rules.documents,
                    .headers = p->read.headers,
                    .returns = p->read.returns};
}

/* Documents of the first file of this rank that lower ranks have read. */
static int64_t documents_before(const shares *all, int rank)
{
    int64_t before = 0;
    for (int r = 0; r < rank; ++r) {
        before += all[r].last_file == all[rank].first_file ? all[r].numbered : 0;
    }
    return before;
}

static cs_status join_parts(const char *source, part_reader *p, cs_comm *c)
{
    cs_corpus_builder *b = &p->builder;
    cs_corpus *made = &b->made;
    const shares mine = shares_of(p);
    shares sum = {0};
    CS_AUTO_FREE shares *all = cs_alloc(c->ranks, sizeof *all);
    cs_status status = cs_comm_agree(c, all ? CS_OK : CS_ERR_MEMORY);
    if (status != CS_OK) return status;
    cs_comm_gather_each(c, sizeof mine, &mine, all);
    for (int r = 0; r < c->ranks; ++r) {
        made->first_document += r < c->rank ? all[r].documents : 0;
        sum.documents += all[r].documents;
        sum.tokens += all[r].tokens;
        sum.dropped += all[r].dropped;
        sum.bytes += all[r].bytes;
        sum.skipped += all[r].skipped;
        sum.headers += all[r].headers;
        sum.returns += all[r].returns;
    }
    status =
        cs_blame(cs_corpus_builder_check(b, sum.documents, sum.dropped, sum.skipped), "%s", source);
    if (status != CS_OK) {
        c->agreed = true; /* all ranks come to this */
        return status;
    }
    if (p->carried > 0) cs_corpus_builder_renumber(b, p->carried, documents_before(all, c->rank));
    made->all_documents = sum.documents;
    made->all_tokens = sum.tokens;
    made->dropped_documents = sum.dropped;
    made->invalid_bytes = sum.bytes;
    made->invalid_documents = sum.skipped;
    p->read.headers = sum.headers;
    p->read.returns = sum.returns;
    return status;
}

/* The vocabulary and the classes of all ranks. */
static cs_status join_words(cs_corpus_builder *b, cs_comm *c)
{
    CS_AUTO(cs_word_table) words = {0}, labels = {0};
    cs_status status = CS_OK;
    if (b->options.encoder) {
        status = cs_corpus_take_vocabulary(b->options.encoder, &b->made);
    } else {
        status = cs_vocabulary_join(c, &b->words, b->options.vocab_size, &words);
        if (status == CS_OK) status = cs_corpus_builder_give_words(b, &words);
    }
    if (status == CS_OK) status = cs_names_join(c, &b->labels, &labels);
    if (status == CS_OK) status = cs_corpus_builder_give_labels(b, &labels);
    status = cs_comm_agree(c, status);
    if (status == CS_OK) cs_comm_add(c, 1, &b->made.unknown_tokens);
    return status;
}

cs_status cs_corpus_files_read(const char *source, cs_corpus_files *files,
                               const cs_corpus_options *options, cs_comm *comm, cs_corpus *out)
{
    CS_AUTO(part_reader)
    p = {.files = files,
         .first_file = -1,
         .last_file = -1,
         .sha256 = cs_calloc(files->files, sizeof *p.sha256)};
    cs_status status = p.sha256 ? CS_OK : CS_ERR_MEMORY;
    cs_corpus_builder_init(&p.builder, options);
    if (comm && status == CS_OK) status = check_alike(source, files, comm);
    if (status != CS_OK) return status;
    deal(files, comm);
    status = read_part(&p);
    if (comm) {
        status = cs_comm_agree(comm, status);
    }
    cs_corpus made = {0};
    char sha256[65] = "";
    if (status == CS_OK) status = join_checksums(&p, comm, sha256);
    if (status == CS_OK && comm) status = join_parts(source, &p, comm);
    p.builder.made.read = p.read;
    if (status == CS_OK && comm) {
        status = join_words(&p.builder, comm);
        if (status == CS_OK) cs_corpus_builder_deliver(&p.builder, &made);
    } else if (status == CS_OK) {
        status = cs_blame(cs_corpus_builder_finish(&p.builder, &made), "%s", source);
    }
    if (status == CS_OK) {
        memcpy(made.sha256, sha256, sizeof made.sha256);
        *out = made;
    }
    return status;
}
