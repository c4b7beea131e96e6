/* The index of a matrix in shards. Nothing in it is trusted: ranges must follow each other, sums must
 * be the totals, names must be those of the number of shards, and a shard must have the size and
 * digest that the index records. */
#include "linalg/matrix_index.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"

enum { VERSION = 1 };
static const char FORMAT[] = "cospec sharded matrix";
static const char *const KIND[CS_SHARD_KINDS] = {"matrix", "rows", "row_labels", "corpus"};

#define REMEDY "copy the whole folder again, or build the matrix again (cospec cooc ... --force)"

/* --- names ------------------------------------------------------------------------------------ */

const char *cs_matrix_name(const char *dir)
{
    char index[PATH_MAX]; /* of no allocation, which may fail */
    const int length = snprintf(index, sizeof index, "%s/" CS_MATRIX_INDEX, dir);
    return length < (int)sizeof index && cs_path_exists(index) ? CS_MATRIX_INDEX : "matrix.npz";
}

bool cs_matrix_is_index(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, CS_MATRIX_INDEX) == 0;
}

void cs_shard_name(int kind, int64_t number, int64_t count, char name[CS_SHARD_NAME])
{
    (void)snprintf(name, CS_SHARD_NAME, "%s-%05" PRId64 "-of-%05" PRId64 ".npz", KIND[kind],
                   number + 1, count);
}

bool cs_is_shard_name(const char *name)
{
    for (int kind = 0; kind < CS_SHARD_KINDS; ++kind) {
        const size_t stem = strlen(KIND[kind]);
        int number = 0, count = 0, end = 0;
        if (strncmp(name, KIND[kind], stem) == 0 &&
            sscanf(name + stem, "-%5d-of-%5d.npz%n", &number, &count, &end) == 2 && number > 0 &&
            count > 0) {
            char same[CS_SHARD_NAME];
            cs_shard_name(kind, number - 1, count, same);
            return strcmp(name, same) == 0;
        }
    }
    return false;
}

cs_status cs_shard_file_of(const char *path, cs_shard_file *out)
{
    struct stat st;
    memset(out, 0, sizeof *out);
    if (stat(path, &st) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    out->bytes = (int64_t)st.st_size;
    return cs_xxh3_file(path, out->xxh3);
}

void cs_matrix_index_free(cs_matrix_index *index)
{
    CS_FREE_FIELDS(index, shard, corpus);
    *index = (cs_matrix_index){0};
}

/* --- writing ---------------------------------------------------------------------------------- */

static json_t *file_json(const cs_shard_file *file, int kind, int64_t number, int64_t count)
{
    char name[CS_SHARD_NAME];
    cs_shard_name(kind, number, count, name);
    return json_pack("{s:s, s:I, s:s}", "path", name, "bytes", (json_int_t)file->bytes, "xxh3",
                     file->xxh3);
}

static void put_shard(cs_status *status, json_t *list, const cs_matrix_index *x, int64_t i)
{
    const cs_shard_record *s = &x->shard[i];
    json_t *item = json_object(), *files = json_object();
    cs_json_put(status, item, "first_row", json_integer(s->first_row));
    cs_json_put(status, item, "rows", json_integer(s->rows));
    cs_json_put(status, item, "nonzeros", json_integer(s->nonzeros));
    if (x->labels > 0) cs_json_put(status, item, "label_nonzeros", json_integer(s->label_nonzeros));
    for (int kind = 0; kind < CS_SHARD_CORPUS; ++kind) {
        if (kind != CS_SHARD_ROW_LABELS || x->labels > 0)
            cs_json_put(status, files, KIND[kind], file_json(&s->file[kind], kind, i, x->shards));
    }
    cs_json_put(status, item, "files", files);
    if (json_array_append_new(list, item) != 0 && *status == CS_OK) *status = CS_ERR_MEMORY;
}

static void put_corpus(cs_status *status, json_t *list, const cs_matrix_index *x, int64_t i)
{
    const cs_corpus_record *c = &x->corpus[i];
    json_t *item = json_object(), *files = json_object();
    cs_json_put(status, item, "first_document", json_integer(c->first_document));
    cs_json_put(status, item, "documents", json_integer(c->documents));
    cs_json_put(status, item, "tokens", json_integer(c->tokens));
    cs_json_put(status, files, KIND[CS_SHARD_CORPUS],
                file_json(&c->file, CS_SHARD_CORPUS, i, x->corpora));
    cs_json_put(status, item, "files", files);
    if (json_array_append_new(list, item) != 0 && *status == CS_OK) *status = CS_ERR_MEMORY;
}

cs_status cs_matrix_index_write(const char *dir, const cs_matrix_index *x)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, CS_MATRIX_INDEX);
    json_auto_t *root = json_object();
    json_t *shards = json_array(), *corpora = json_array();
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    cs_json_put(&status, root, "format", json_string(FORMAT));
    cs_json_put(&status, root, "version", json_integer(VERSION));
    cs_json_put(&status, root, "rows", json_integer(x->rows));
    cs_json_put(&status, root, "cols", json_integer(x->cols));
    cs_json_put(&status, root, "nonzeros", json_integer(x->nonzeros));
    cs_json_put(&status, root, "mass", cs_json_number(x->mass));
    cs_json_put(&status, root, "labels", json_integer(x->labels));
    cs_json_put(&status, root, "gram", json_boolean(x->gram));
    for (int64_t i = 0; i < x->shards; ++i) {
        put_shard(&status, shards, x, i);
    }
    for (int64_t i = 0; i < x->corpora; ++i) {
        put_corpus(&status, corpora, x, i);
    }
    cs_json_put(&status, root, "shards", shards);
    cs_json_put(&status, root, "corpus", corpora);
    return status == CS_OK ? cs_json_write(path, root) : status;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void take_file(cs_json_reader *r, int kind, int64_t number, int64_t count,
                      cs_shard_file *out)
{
    char inner[32], name[CS_SHARD_NAME];
    (void)snprintf(inner, sizeof inner, "files.%s.", KIND[kind]);
    cs_shard_name(kind, number, count, name);
    cs_json_reader files = cs_json_inner(r, "files", "files.");
    cs_json_reader i = cs_json_inner(&files, KIND[kind], inner);
    const char *path = cs_json_word(&i, "path"), *xxh3 = cs_json_word(&i, "xxh3");
    out->bytes = cs_json_int(&i, "bytes", 1);
    if (i.status == CS_OK && strcmp(path, name) != 0)
        i.status = cs_fail(CS_ERR_INPUT,
                           "lists %s, but number %lld of %lld is %s; the index belongs to other "
                           "shards: " REMEDY,
                           path, (long long)number + 1, (long long)count, name);
    if (strlen(xxh3) != sizeof out->xxh3 - 1) cs_json_refuse(&i, "xxh3", "32 hexadecimal digits");
    if (i.status == CS_OK) memcpy(out->xxh3, xxh3, sizeof out->xxh3);
    r->status = i.status;
}

static cs_status misplaced(const char *what, int64_t number, int64_t first, int64_t end)
{
    return cs_fail(CS_ERR_INPUT,
                   "shard %lld begins at %s %lld, but the shards before it end at %lld: ranges "
                   "must follow each other; " REMEDY,
                   (long long)number + 1, what, (long long)first, (long long)end);
}

/* Adds to a sum of a list, which may not pass its total. */
static void add(cs_json_reader *r, int64_t number, const char *what, int64_t n, int64_t total,
                int64_t *sum)
{
    if (r->status == CS_OK && n > total - *sum)
        r->status = cs_fail(CS_ERR_INPUT,
                            "the shards up to number %lld have more than the %lld %s of the "
                            "matrix; " REMEDY,
                            (long long)number + 1, (long long)total, what);
    *sum += r->status == CS_OK ? n : 0;
}

static void check_sum(cs_status *status, const char *what, int64_t total, int64_t sum)
{
    if (*status == CS_OK && sum != total)
        *status = cs_fail(CS_ERR_INPUT,
                          "the shards have %lld %s, but the matrix has %lld: the list is not "
                          "complete; " REMEDY,
                          (long long)sum, what, (long long)total);
}

static cs_status list_of(const json_t *root, const char *key, int64_t *count)
{
    const json_t *list = json_object_get(root, key);
    *count = (int64_t)json_array_size(list);
    return !json_is_array(list) || *count > CS_SHARDS_MOST
               ? cs_fail(CS_ERR_INPUT, "field '%s' is not an array of at most %d objects", key,
                         CS_SHARDS_MOST)
               : CS_OK;
}

static cs_status take_shards(const json_t *root, cs_matrix_index *x)
{
    int64_t rows = 0, nonzeros = 0;
    cs_status status = list_of(root, "shards", &x->shards);
    if (status == CS_OK && x->shards == 0) status = cs_fail(CS_ERR_INPUT, "lists no shards");
    x->shard = status == CS_OK ? cs_calloc(x->shards, sizeof *x->shard) : NULL;
    if (status == CS_OK && !x->shard) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < x->shards && status == CS_OK; ++i) {
        cs_shard_record *s = &x->shard[i];
        cs_json_reader r = {json_array_get(json_object_get(root, "shards"), (size_t)i), "shards.",
                            CS_OK};
        s->first_row = cs_json_int(&r, "first_row", 0);
        s->rows = cs_json_int(&r, "rows", 0);
        s->nonzeros = cs_json_int(&r, "nonzeros", 0);
        s->label_nonzeros = x->labels > 0 ? cs_json_int(&r, "label_nonzeros", 0) : 0;
        for (int kind = 0; kind < CS_SHARD_CORPUS; ++kind) {
            if (kind != CS_SHARD_ROW_LABELS || x->labels > 0)
                take_file(&r, kind, i, x->shards, &s->file[kind]);
        }
        if (r.status == CS_OK && s->first_row != rows)
            r.status = misplaced("row", i, s->first_row, rows);
        add(&r, i, "rows", s->rows, x->rows, &rows);
        add(&r, i, "nonzeros", s->nonzeros, x->nonzeros, &nonzeros);
        if (x->labels > 0 && s->label_nonzeros / x->labels > s->rows)
            cs_json_refuse(&r, "label_nonzeros", "at most 'rows' times 'labels'");
        status = r.status;
    }
    check_sum(&status, "rows", x->rows, rows);
    check_sum(&status, "nonzeros", x->nonzeros, nonzeros);
    return status;
}

static cs_status take_corpus(const json_t *root, cs_matrix_index *x)
{
    int64_t documents = 0, tokens = 0;
    cs_status status = list_of(root, "corpus", &x->corpora);
    x->corpus = status == CS_OK ? cs_calloc(x->corpora, sizeof *x->corpus) : NULL;
    if (status == CS_OK && !x->corpus) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < x->corpora && status == CS_OK; ++i) {
        cs_corpus_record *c = &x->corpus[i];
        cs_json_reader r = {json_array_get(json_object_get(root, "corpus"), (size_t)i), "corpus.",
                            CS_OK};
        c->first_document = cs_json_int(&r, "first_document", 0);
        c->documents = cs_json_int(&r, "documents", 0);
        c->tokens = cs_json_int(&r, "tokens", 0);
        take_file(&r, CS_SHARD_CORPUS, i, x->corpora, &c->file);
        if (r.status == CS_OK && c->first_document != documents)
            r.status = misplaced("document", i, c->first_document, documents);
        add(&r, i, "documents", c->documents, INT64_MAX - 1, &documents);
        add(&r, i, "tokens", c->tokens, INT64_MAX - 1, &tokens);
        status = r.status;
    }
    return status;
}

static cs_status take_all(const json_t *root, cs_matrix_index *x)
{
    cs_json_reader r = {root, "", CS_OK};
    if (strcmp(cs_json_word(&r, "format"), FORMAT) != 0 && r.status == CS_OK)
        r.status = cs_fail(CS_ERR_INPUT, "'format' is not '%s'", FORMAT);
    const int64_t version = cs_json_int(&r, "version", 1);
    if (r.status == CS_OK && version > VERSION)
        r.status = cs_fail(CS_ERR_INPUT,
                           "format version %lld is not supported; this program reads 1 to %d",
                           (long long)version, VERSION);
    x->rows = cs_json_int(&r, "rows", 0);
    x->cols = cs_json_int(&r, "cols", 0);
    x->nonzeros = cs_json_int(&r, "nonzeros", 0);
    x->labels = cs_json_int(&r, "labels", 0);
    x->mass = cs_json_real(&r, "mass", false);
    x->gram = cs_json_flag(&r, "gram");
    if (r.status == CS_OK) r.status = take_shards(root, x);
    return r.status == CS_OK ? take_corpus(root, x) : r.status;
}

/* Which of two matrices is meant is not known. */
static cs_status refuse_both(const char *dir)
{
    CS_AUTO_FREE char *whole = cs_path_join(dir, "matrix.npz");
    if (!whole) return CS_ERR_MEMORY;
    return !cs_path_exists(whole)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: in the same folder as " CS_MATRIX_INDEX
                         ", which lists a matrix in shards: one of the two is of another run. "
                         "Remove matrix.npz to read the shards, or " CS_MATRIX_INDEX
                         " to read matrix.npz",
                         whole);
}

cs_status cs_matrix_index_read(const char *dir, cs_matrix_index *out)
{
    cs_matrix_index x = {0};
    json_auto_t *root = NULL;
    CS_AUTO_FREE char *path = cs_path_join(dir, CS_MATRIX_INDEX);
    cs_status status = path ? refuse_both(dir) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_json_read(path, &root);
    if (status == CS_OK) status = cs_blame(take_all(root, &x), "%s", path);
    return CS_DELIVER(status, out, x, cs_matrix_index_free);
}

static cs_status check_file(const char *path, const cs_shard_file *listed)
{
    struct stat st;
    char hex[33] = "";
    if (stat(path, &st) != 0) {
        return errno == ENOENT
                   ? cs_fail(CS_ERR_INPUT, "%s: missing, but " CS_MATRIX_INDEX " lists it; " REMEDY,
                             path)
                   : cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (st.st_size != listed->bytes) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: has %lld bytes, but " CS_MATRIX_INDEX
                       " says %lld: it is incomplete or of another run; " REMEDY,
                       path, (long long)st.st_size, (long long)listed->bytes);
    }
    cs_status status = cs_xxh3_file(path, hex);
    return status || strcmp(hex, listed->xxh3) == 0
               ? status
               : cs_fail(CS_ERR_INPUT,
                         "%s: its XXH3 is %s, but " CS_MATRIX_INDEX
                         " says %s: it was changed or damaged, or is of another run; " REMEDY,
                         path, hex, listed->xxh3);
}

cs_status cs_matrix_index_open(const char *dir, const cs_matrix_index *x, int kind, int64_t number,
                               char **path, cs_npz **out)
{
    char name[CS_SHARD_NAME];
    const bool corpus = kind == CS_SHARD_CORPUS;
    cs_shard_name(kind, number, corpus ? x->corpora : x->shards, name);
    char *file = cs_path_join(dir, name);
    cs_status status =
        file ? check_file(file, corpus ? &x->corpus[number].file : &x->shard[number].file[kind])
             : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_npz_open(file, 0, out);
    if (status != CS_OK) {
        cs_free(file);
        return status;
    }
    *path = file;
    return CS_OK;
}
