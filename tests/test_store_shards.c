/* cooc/store: matrices in shards. What is read from shards is compared with the matrix that was built
 * and with the file that one process writes; shards and indexes that do not belong together are
 * refused. */
#include <sys/stat.h>
#include <unistd.h>

#include "cooc/store.h"
#include "cooc/store_files_private.h"
#include "cooc/store_shards_private.h"
#include "cooc_compare.h"
#include "io/file.h"
#include "io/json.h"
#include "io/npz.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_stream_private.h"
#include "plan/spec.h"
#include "small_corpus.h"

static cs_cooc_options options_of(const char *spec, const char *context, bool given)
{
    cs_cooc_options o = {.threads = 2, .seed = 7};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    o.context.given = given;
    return o;
}

static cs_corpus corpus_of(int64_t labels)
{
    ARRAY(int64_t, length, 20, d, 5 + 3 * (d % 7));
    cs_corpus corpus = small_corpus(20, length, 12, labels, 5);
    return corpus;
}

static int64_t bytes_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

static const char *file_in(void **state, const char *dir, const char *name)
{
    char inner[160];
    (void)snprintf(inner, sizeof inner, "%s/%s", dir, name);
    return in_dir(state, inner);
}

static const char *shard_in(void **state, const char *dir, int kind, int64_t number, int64_t count)
{
    char name[CS_SHARD_NAME];
    cs_shard_name(kind, number, count, name);
    return file_in(state, dir, name);
}

/* --- concatenated shards ----------------------------------------------------------------------- */

static void assert_same_arrays(const cs_cooc_store *s, const cs_cooc *m, const cs_corpus *c)
{
    const size_t rows = (size_t)m->matrix.a.rows;
    assert_same_csr(&s->cooc.matrix.a, &m->matrix.a);
    assert_same_csr(&s->cooc.matrix.row_label, &m->matrix.row_label);
    assert_same_csr(&s->cooc.matrix.col_label, &m->matrix.col_label);
    assert_int_equal(s->cooc.matrix.a.gram, m->matrix.a.gram);
    assert_memory_equal(s->cooc.key, m->key, rows * sizeof *m->key);
    assert_memory_equal(s->cooc.witness_sequence, m->witness_sequence, rows * sizeof(int64_t));
    assert_memory_equal(s->cooc.witness_ordinal, m->witness_ordinal, rows * sizeof(int64_t));
    assert_memory_equal(s->corpus.token, c->token, (size_t)c->tokens * sizeof *c->token);
    assert_memory_equal(s->corpus.doc_ptr, c->doc_ptr,
                        ((size_t)c->documents + 1) * sizeof(int64_t));
    assert_memory_equal(s->corpus.label, c->label, (size_t)c->documents * sizeof *c->label);
}

/* Member `name` of shard after shard of a kind equals that of the file of one process, type included.
 * Pointers begin at 0 in every shard. */
static void assert_members_join(void **state, int kind, int64_t count, const char *whole,
                                const char *name)
{
    cs_npz *one = NULL;
    CS_AUTO(cs_array) all = {0};
    const bool pointers = strcmp(name, "indptr") == 0;
    int64_t at = 0, base = 0;
    OK(cs_npz_open(file_in(state, "one", whole), 0, &one));
    OK(cs_npz_read(one, name, &all));
    for (int64_t i = 0; i < count; ++i) {
        cs_npz *shard = NULL;
        CS_AUTO(cs_array) part = {0};
        const size_t item = (size_t)cs_dtype_size(all.dtype);
        OK(cs_npz_open(shard_in(state, "many", kind, i, count), 0, &shard));
        OK(cs_npz_read(shard, name, &part));
        assert_int_equal(part.dtype, all.dtype);
        assert_true(at + part.size <= all.size);
        if (pointers) {
            const int64_t *p = part.data, *q = (const int64_t *)all.data + at;
            assert_each(j, 0, part.size, p[j] + base == q[j]);
            base += p[part.size - 1];
            at += part.size - 1;
        } else {
            assert_memory_equal(part.data, (const char *)all.data + (size_t)at * item,
                                (size_t)part.size * item);
            at += part.size;
        }
        cs_npz_close(shard);
    }
    assert_int_equal(at + pointers, all.size);
    cs_npz_close(one);
}

static void assert_files_join(void **state, int64_t count, bool labelled)
{
    static const char *const of_matrix[] = {"indices", "indptr", "data"}, *const of_rows[] = {
                                                                              "key",
                                                                              "witness_sequence",
                                                                              "witness_ordinal"};
    for (int i = 0; i < 3; ++i) {
        assert_members_join(state, CS_SHARD_MATRIX, count, "matrix.npz", of_matrix[i]);
        assert_members_join(state, CS_SHARD_ROWS, count, "rows.npz", of_rows[i]);
        if (labelled)
            assert_members_join(state, CS_SHARD_ROW_LABELS, count, "row_labels.npz", of_matrix[i]);
    }
}

/* The fewest shards, by the sizes of files: a shard takes rows as long as they fit. */
static int64_t fewest_shards(const cs_cooc *m, int64_t bytes)
{
    const cs_csr *a = &m->matrix.a, *l = &m->matrix.row_label;
    int64_t count = 0;
    for (int64_t row = 0; row < a->rows; ++count) {
        int64_t rows = 0, entries = 0, classes = 0;
        for (bool fits = true; row < a->rows && fits;) {
            entries += a->ptr[row + 1] - a->ptr[row];
            classes += m->matrix.labels > 0 ? l->ptr[row + 1] - l->ptr[row] : 0;
            ++rows;
            const int64_t pointers = 8 * (rows + 1), matrix = pointers + 12 * entries,
                          labels = m->matrix.labels > 0 ? pointers + 12 * classes : 0;
            const int64_t most = matrix > labels ? matrix : labels;
            fits = rows == 1 || (most > 32 * rows ? most : 32 * rows) + CS_STORE_HEADER <= bytes;
            row += fits;
        }
    }
    return count;
}

TEST_IN_DIR(shards_concatenate_to_the_matrix)
{
    static const struct {
        const char *spec, *context;
        bool given;
        int64_t labels, draws, max_length;
    } cases[] = {
        {"ar", "nearest:2", false, 3, 0, 0},
        {"masked:unmasked=2", "all", false, 2, 0, 4},
        {"masked:mask-ratio=0.3", "nearest:2", false, 0, 0, 0},
        {"permuted-ar", "each:2", true, 2, 0, 0},
        {"permuted-ar", "each:3:linear", false, 2, 0, 0},
        {"masked:mask-ratio=0.5", "unique", false, 2, 0, 0},
        {"variable-masked:mask-ratio=0.2:0.7", "all", true, 2, 2, 0},
        {"gvp:segmentation=random,groups=2", "document", false, 0, 0, 0},
    };
    static const int64_t sizes[] = {2900, 4500, 9000};
    int64_t most = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_corpus) corpus = corpus_of(cases[i].labels);
        cs_cooc_options o = options_of(cases[i].spec, cases[i].context, cases[i].given);
        o.draws = cases[i].draws;
        o.max_length = cases[i].max_length;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        OK(cs_cooc_write(in_dir(state, "one"), &corpus, &o, &m, false, true));
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; ++j) {
            char **name = NULL;
            int64_t names = 0;
            CS_AUTO(cs_csr) a = {0};
            CS_AUTO(cs_matrix_index) x = {0};
            const int64_t fewest = fewest_shards(&m, sizes[j]);
            o.shard_size = sizes[j];
            OK(cs_cooc_write(in_dir(state, "many"), &corpus, &o, &m, false, true));
            AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir(state, "many"), &s));
            assert_same_arrays(&s, &m, &corpus);
            OK(cs_matrix_read(in_dir(state, "many"), &a));
            assert_same_csr(&a, &m.matrix.a);
            assert_int_equal(cs_path_exists(file_in(state, "many", "matrix.npz")), fewest == 1);
            assert_int_equal(cs_path_exists(file_in(state, "many", CS_MATRIX_INDEX)), fewest > 1);
            OK(cs_cooc_files(&m, &o, &names, &name));
            assert_int_equal(names, CS_STORE_FILES + (fewest > 1 ? CS_SHARD_CORPUS * fewest : 0));
            cs_text_list_free(name, names);
            if (fewest == 1) continue;
            OK(cs_matrix_index_read(in_dir(state, "many"), &x));
            assert_int_equal(x.shards, fewest);
            for (int64_t k = 0; k < fewest; ++k) {
                for (int kind = 0; kind < CS_SHARD_CORPUS; ++kind) {
                    const int64_t bytes = bytes_of(shard_in(state, "many", kind, k, fewest));
                    assert_true(bytes == -1 || bytes <= sizes[j] || x.shard[k].rows == 1);
                }
            }
            assert_files_join(state, fewest, cases[i].labels > 0);
            most = most > fewest ? most : fewest;
        }
    }
    assert_true(most > 20);
}

/* Exact masses of 2^53 and more are doubles in every file if they are in one. */
TEST_IN_DIR(values_of_all_shards_have_one_type)
{
    CS_AUTO(cs_corpus) corpus = corpus_of(2);
    cs_cooc_options o = options_of("ar", "nearest:1", false);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    m.matrix.a.val[3] = 0x1p60;
    OK(cs_cooc_write(in_dir(state, "one"), &corpus, &o, &m, false, true));
    o.shard_size = 2300;
    OK(cs_cooc_write(in_dir(state, "many"), &corpus, &o, &m, false, true));
    AUTO_OK(cs_matrix_index, x, cs_matrix_index_read(in_dir(state, "many"), &x));
    assert_true(x.shards > 2);
    assert_files_join(state, x.shards, true);
}

/* --- ranks ------------------------------------------------------------------------------------- */

/* The rows from .. to - 1 as a rank has them: arrays that begin with its first row. */
static cs_cooc rows_of(const cs_cooc *m, int64_t from, int64_t to)
{
    cs_cooc part = *m;
    cs_csr *const both[] = {&part.matrix.a, &part.matrix.row_label};
    for (int i = 0; i < 2; ++i) {
        const cs_csr whole = *both[i];
        const int64_t begin = whole.ptr[from];
        OK(cs_csr_init(both[i], to - from, whole.cols, whole.ptr[to] - begin));
        for (int64_t r = from; r < to; ++r) {
            both[i]->ptr[r - from + 1] = whole.ptr[r + 1] - begin;
        }
        memcpy(both[i]->col, whole.col + begin, (size_t)cs_csr_nnz(both[i]) * sizeof *whole.col);
        memcpy(both[i]->val, whole.val + begin, (size_t)cs_csr_nnz(both[i]) * sizeof *whole.val);
    }
    part.key = m->key + from;
    part.witness_sequence = m->witness_sequence + from;
    part.witness_ordinal = m->witness_ordinal + from;
    return part;
}

/* Shards that are written one by one, one of them without rows, and a corpus in shards. */
TEST_IN_DIR(ranks_write_their_own_shards)
{
    enum { RANKS = 4 };
    CS_AUTO(cs_corpus) corpus = corpus_of(2);
    cs_cooc_options o = options_of("ar", "nearest:2", false);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    CS_AUTO_FREE char *dir = cs_strdup(put_dir(state, "ranks"));
    const int64_t rows = m.matrix.a.rows,
                  limit[RANKS + 1] = {0, rows / 3, rows / 3, rows - 1, rows};
    const int64_t document[RANKS + 1] = {0, 7, 7, 19, corpus.documents};
    cs_shard_record shard[RANKS];
    cs_corpus_record texts[RANKS];
    const cs_store_integers integers = cs_store_integers_of(&m);
    assert_true(integers.matrix && integers.row_labels);
    OK(cs_store_clear(dir, false, &(cs_store_kept){0}));
    for (int i = 0; i < RANKS; ++i) {
        cs_cooc part = rows_of(&m, limit[i], limit[i + 1]);
        const int64_t first = corpus.doc_ptr[document[i]];
        cs_corpus own = corpus;
        own.documents = document[i + 1] - document[i];
        own.tokens = corpus.doc_ptr[document[i + 1]] - first;
        own.token = corpus.token + first;
        own.label = corpus.label + document[i];
        own.held_out = corpus.held_out + document[i];
        ARRAY(int64_t, begins, own.documents + 1, d, corpus.doc_ptr[document[i] + d] - first);
        own.doc_ptr = begins;
        OK(cs_store_shard_write(dir, i, RANKS, &part, 0, part.matrix.a.rows, limit[i], &integers,
                                &shard[i]));
        OK(cs_store_corpus_shard_write(dir, i, RANKS, &own, document[i], &texts[i]));
        cs_csr_free(&part.matrix.a);
        cs_csr_free(&part.matrix.row_label);
    }
    cs_cooc totals = {.exact = m.exact, .unit = m.unit, .mass = m.mass, .sequences = m.sequences};
    totals.contributions = m.contributions;
    totals.matrix.labels = m.matrix.labels;
    totals.matrix.col_label = m.matrix.col_label;
    const cs_matrix_index index = {.rows = rows,
                                   .cols = corpus.vocab,
                                   .nonzeros = cs_csr_nnz(&m.matrix.a),
                                   .labels = 2,
                                   .mass = m.mass,
                                   .shards = RANKS,
                                   .shard = shard,
                                   .corpora = RANKS,
                                   .corpus = texts};
    cs_cooc_store s = {0};
    assert_fails(cs_cooc_read(dir, &s), CS_ERR_IO, "matrix.json"); /* not finished */
    OK(cs_store_finish(dir, &corpus, &o, &totals, &index));
    assert_false(cs_path_exists(file_in(state, "ranks", "corpus.npz")));
    OK(cs_cooc_read(dir, &s));
    assert_same_arrays(&s, &m, &corpus);
    assert_memory_equal(s.corpus.held_out, corpus.held_out, (size_t)corpus.documents);
    cs_cooc_store_free(&s);
    /* One process in its place removes every shard. */
    OK(cs_cooc_write(dir, &corpus, &o, &m, false, true));
    AUTO_OK(cs_cooc_store, again, cs_cooc_read(dir, &again));
    assert_same_arrays(&again, &m, &corpus);
    assert_false(cs_path_exists(shard_in(state, "ranks", CS_SHARD_CORPUS, 0, RANKS)));
    assert_false(cs_path_exists(shard_in(state, "ranks", CS_SHARD_MATRIX, 3, RANKS)));
}

/* --- what is removed --------------------------------------------------------------------------- */

static int64_t count_shards(const char *dir)
{
    char **name = NULL;
    int64_t count = 0, shards = 0;
    OK(cs_dir_names(dir, &name, &count));
    for (int64_t i = 0; i < count; ++i) {
        shards += cs_is_shard_name(name[i]);
    }
    cs_text_list_free(name, count);
    return shards;
}

TEST_IN_DIR(no_shard_of_another_number_stays)
{
    static const int64_t sizes[] = {2200, 4000, 2600, 0, 3000, 0};
    CS_AUTO(cs_corpus) corpus = corpus_of(0);
    cs_cooc_options o = options_of("ar", "nearest:2", false);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    CS_AUTO_FREE char *dir = cs_strdup(in_dir(state, "m"));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        o.shard_size = sizes[i];
        if (i > 0)
            assert_fails(cs_cooc_write(dir, &corpus, &o, &m, false, false), CS_ERR_USAGE,
                         "give --force");
        OK(cs_cooc_write(dir, &corpus, &o, &m, false, true));
        CS_AUTO(cs_matrix_index) x = {0};
        if (sizes[i] > 0) OK(cs_matrix_index_read(dir, &x));
        assert_int_equal(count_shards(dir), x.shards * 2); /* no labels */
        assert_int_equal(cs_path_exists(file_in(state, "m", "rows.npz")), sizes[i] == 0);
    }
    /* Those of a run that did not finish go too, and other files stay. */
    (void)put(state, "m/matrix-00001-of-00009.npz", "");
    (void)put(state, "m/matrix-1-of-9.npz", "");
    (void)put(state, "m/rows-00000-of-00009.npz", "");
    assert_int_equal(unlink(file_in(state, "m", "matrix.json")), 0);
    (void)put(state, "m/corpus-00002-of-00003.npz", "");
    (void)put(state, "m/corpus-00002-of-00009.npz", "");
    OK(cs_store_clear(dir, false, &(cs_store_kept){.shards = 9, .corpora = 3}));
    assert_int_equal(count_shards(dir), 2);
    assert_true(cs_path_exists(file_in(state, "m", "matrix-00001-of-00009.npz")));
    assert_true(cs_path_exists(file_in(state, "m", "corpus-00002-of-00003.npz")));
    OK(cs_cooc_write(dir, &corpus, &o, &m, false, false));
    assert_int_equal(count_shards(dir), 0);
    assert_true(cs_path_exists(file_in(state, "m", "matrix-1-of-9.npz")));
    assert_true(cs_path_exists(file_in(state, "m", "rows-00000-of-00009.npz")));
}

/* --- input that does not belong together ------------------------------------------------------- */

/* A member of the index, or of shard `shard` of it, or of a file of that shard. */
static void edit_index(void **state, int shard, const char *file, const char *key, json_t *value)
{
    json_t *root = NULL, *at = NULL;
    const char *path = file_in(state, "bad", CS_MATRIX_INDEX);
    OK(cs_json_read(path, &root));
    at = shard < 0 ? root : json_array_get(json_object_get(root, "shards"), (size_t)shard);
    at = file ? json_object_get(json_object_get(at, "files"), file) : at;
    assert_int_equal(value ? json_object_set_new(at, key, value) : json_object_del(at, key), 0);
    OK(cs_json_write(path, root));
    json_decref(root);
}

static void refuse(void **state, const char *words)
{
    cs_cooc_store s = {0};
    CS_AUTO(cs_csr) a = {0};
    assert_fails(cs_cooc_read(in_dir(state, "bad"), &s), CS_ERR_INPUT, words);
    assert_fails(cs_matrix_read(in_dir(state, "bad"), &a), CS_ERR_INPUT, words);
}

typedef struct {
    cs_corpus corpus;
    cs_cooc_options options;
    cs_cooc cooc;
} built;

static void write_bad(void **state, const built *b)
{
    OK(cs_cooc_write(in_dir(state, "bad"), &b->corpus, &b->options, &b->cooc, false, true));
}

static built build_bad(void **state)
{
    built b = {.corpus = corpus_of(2), .options = options_of("ar", "nearest:2", false)};
    OK(cs_cooc_build(&b.corpus, &b.options, &b.cooc));
    b.options.shard_size = 2500;
    write_bad(state, &b);
    return b;
}

static void free_built(built *b)
{
    cs_cooc_free(&b->cooc);
    cs_corpus_free(&b->corpus);
}

TEST_IN_DIR(an_index_that_lies_is_refused)
{
    built b = build_bad(state);
    AUTO_OK(cs_matrix_index, x, cs_matrix_index_read(in_dir(state, "bad"), &x));
    const int64_t rows = x.shard[1].rows, nonzeros = x.shard[1].nonzeros;
    assert_true(x.shards > 3);
    const struct {
        int shard;
        const char *file, *key;
        json_t *value;
        const char *words;
    } lies[] = {
        {-1, NULL, "format", json_string("x"), "'format' is not"},
        {-1, NULL, "version", json_integer(2), "version 2 is not supported"},
        {-1, NULL, "rows", json_integer(x.rows - 1), "have more than the"},
        {-1, NULL, "rows", json_integer(x.rows + 1), "the list is not complete"},
        {-1, NULL, "nonzeros", json_integer(x.nonzeros + 1), "the list is not complete"},
        {-1, NULL, "gram", json_null(), "'gram' is missing"},
        {-1, NULL, "shards", json_array(), "lists no shards"},
        {-1, NULL, "shards", json_object(), "'shards' is not an array"},
        {-1, NULL, "corpus", NULL, "'corpus' is not an array"},
        {1, NULL, "first_row", json_integer(x.shard[1].first_row - 1), "must follow each other"},
        {1, NULL, "first_row", json_integer(x.shard[1].first_row + 1), "must follow each other"},
        {1, NULL, "rows", json_integer(rows + 1), "must follow each other"},
        {1, NULL, "rows", json_integer(-1), "'shards.rows'"},
        {1, NULL, "rows", json_integer(INT64_MAX), "have more than the"},
        {1, NULL, "nonzeros", json_integer(nonzeros + 1), "the "},
        {1, NULL, "label_nonzeros", json_integer(4 * rows), "'shards.label_nonzeros'"},
        {1, NULL, "files", json_integer(1), "'shards.files'"},
        {1, "matrix", "path", json_string("matrix-00002-of-00003.npz"), "number 2 of "},
        {1, "matrix", "path", json_string("/etc/passwd"), "lists /etc/passwd, but"},
        {1, "matrix", "xxh3", json_string("0"), "'files.matrix.xxh3'"},
        {1, "matrix", "xxh3", json_string("0123456789abcdef0123456789abcdef"),
         "matrix-00002-of-000"},
        {1, "matrix", "bytes", json_integer(0), "'files.matrix.bytes'"},
        {1, "matrix", "bytes", json_integer(77), "but matrix.index.json says 77"},
        {2, "row_labels", "path", NULL, "'files.row_labels.path'"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; ++i) {
        OK(cs_matrix_index_write(in_dir(state, "bad"), &x));
        edit_index(state, lies[i].shard, lies[i].file, lies[i].key, lies[i].value);
        refuse(state, lies[i].words);
    }
    /* Consistent in itself, but not with the shards. */
    OK(cs_matrix_index_write(in_dir(state, "bad"), &x));
    edit_index(state, 1, NULL, "nonzeros", json_integer(nonzeros + 1));
    edit_index(state, 2, NULL, "nonzeros", json_integer(x.shard[2].nonzeros - 1));
    refuse(state, "the index is of another run");
    OK(cs_matrix_index_write(in_dir(state, "bad"), &x));
    edit_index(state, 1, NULL, "rows", json_integer(rows + 1));
    edit_index(state, 2, NULL, "first_row", json_integer(x.shard[2].first_row + 1));
    edit_index(state, 2, NULL, "rows", json_integer(x.shard[2].rows - 1));
    refuse(state, "the index is of another run");
    OK(cs_matrix_index_write(in_dir(state, "bad"), &x));
    edit_index(state, -1, NULL, "gram", json_true());
    refuse(state, "Gram form");
    /* ... or not with matrix.json, which cs_matrix_read does not read. */
    OK(cs_matrix_index_write(in_dir(state, "bad"), &x));
    edit_index(state, -1, NULL, "mass", json_real(1));
    cs_cooc_store s = {0};
    assert_fails(cs_cooc_read(in_dir(state, "bad"), &s), CS_ERR_INPUT,
                 "one of the two is of another run");
    free_built(&b);
}

TEST_IN_DIR(shards_that_do_not_belong_are_refused)
{
    built b = build_bad(state);
    AUTO_OK(cs_matrix_index, x, cs_matrix_index_read(in_dir(state, "bad"), &x));
    CS_AUTO_FREE char *second = cs_strdup(shard_in(state, "bad", CS_SHARD_MATRIX, 1, x.shards));
    char name[CS_SHARD_NAME + 40];
    cs_shard_name(CS_SHARD_MATRIX, 1, x.shards, name);
    (void)snprintf(name + strlen(name), 40, ": missing");
    assert_int_equal(unlink(second), 0);
    refuse(state, name);
    write_bad(state, &b);
    assert_int_equal(truncate(second, 700), 0);
    refuse(state, "has 700 bytes");
    /* Of another run with files of the same size: one value differs. */
    b.cooc.matrix.a.val[cs_csr_nnz(&b.cooc.matrix.a) / 4] += 1;
    write_bad(state, &b);
    assert_int_equal(rename(in_dir(state, "bad"), in_dir(state, "other")), 0);
    b.cooc.matrix.a.val[cs_csr_nnz(&b.cooc.matrix.a) / 4] -= 1;
    write_bad(state, &b);
    int refused = 0;
    for (int64_t i = 0; i < x.shards; ++i) {
        CS_AUTO(cs_csr) a = {0};
        const char *to = shard_in(state, "bad", CS_SHARD_MATRIX, i, x.shards);
        assert_int_equal(rename(shard_in(state, "other", CS_SHARD_MATRIX, i, x.shards), to), 0);
        cs_status status = cs_matrix_read(in_dir(state, "bad"), &a);
        assert_true(status == CS_OK || strstr(cs_reason(), "is of another run"));
        refused += status == CS_ERR_INPUT;
        cs_reason_clear();
    }
    assert_true(refused > 0);
    /* Side files are of the same run too. */
    for (int kind = CS_SHARD_ROWS; kind < CS_SHARD_CORPUS; ++kind) {
        cs_cooc_store s = {0};
        write_bad(state, &b);
        assert_int_equal(truncate(shard_in(state, "bad", kind, 2, x.shards), 600), 0);
        assert_fails(cs_cooc_read(in_dir(state, "bad"), &s), CS_ERR_INPUT, "has 600 bytes");
    }
    /* A matrix.npz in addition to the index. */
    write_bad(state, &b);
    (void)put(state, "bad/matrix.npz", "");
    refuse(state, "in the same folder as matrix.index.json");
    free_built(&b);
}

/* --- streams and sizes ------------------------------------------------------------------------- */

typedef struct {
    const cs_csr *a;
    int64_t next, rows, entries;
} seen;

static cs_status begin(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    seen *s = ctx;
    (void)cols;
    s->rows = rows;
    s->entries = entries;
    return CS_OK;
}

static cs_status row(void *ctx, int64_t number, int64_t n, const int32_t *col, const double *val)
{
    seen *s = ctx;
    const int64_t at = s->a->ptr[number];
    assert_int_equal(number, s->next++);
    assert_int_equal(n, s->a->ptr[number + 1] - at);
    assert_memory_equal(col, s->a->col + at, (size_t)n * sizeof *col);
    assert_memory_equal(val, s->a->val + at, (size_t)n * sizeof *val);
    return CS_OK;
}

TEST_IN_DIR(shards_are_streamed)
{
    built b = build_bad(state);
    const cs_csr *a = &b.cooc.matrix.a;
    for (int i = 0; i < 2; ++i) { /* the folder, and the index by its name */
        seen s = {.a = a};
        const cs_row_visitor visitor = {&s, begin, row};
        OK(cs_matrix_stream(i == 0 ? in_dir(state, "bad") : file_in(state, "bad", CS_MATRIX_INDEX),
                            &visitor));
        assert_true(s.next == a->rows && s.rows == a->rows && s.entries == cs_csr_nnz(a));
    }
    free_built(&b);
}

/* A size that makes more shards than names have digits. */
TEST_IN_DIR(too_many_shards_are_refused)
{
    enum { ROWS = 100000 };
    cs_cooc m = {0};
    int64_t count = 0, *limit = NULL;
    OK(cs_csr_init(&m.matrix.a, ROWS, 1, ROWS));
    for (int64_t i = 0; i < ROWS; ++i) {
        m.matrix.a.ptr[i + 1] = i + 1;
    }
    assert_fails(cs_store_shard_limits(&m, 1, &count, &limit), CS_ERR_USAGE, "larger --shard-size");
    OK(cs_store_shard_limits(&m, 4000, &count, &limit));
    assert_int_equal(count, 1613); /* 62 rows of 32 bytes each */
    assert_int_equal(limit[count], ROWS);
    assert_each(i, 0, count, limit[i + 1] - limit[i] <= 62 && limit[i + 1] > limit[i]);
    cs_free(limit);
    cs_csr_free(&m.matrix.a);
}

TEST_IN_DIR(every_allocation_of_shards_may_fail)
{
    int64_t length[] = {5, 4, 6};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 6, 0, 3);
    cs_cooc_options o = options_of("ar", "nearest:1", false);
    o.threads = 1;
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    o.shard_size = CS_STORE_HEADER + 32 * (m.matrix.a.rows / 2 + 1);
    CS_AUTO_FREE char *dir = cs_strdup(in_dir(state, "m"));
    OK(cs_cooc_write(dir, &corpus, &o, &m, false, true));
    AUTO_OK(cs_matrix_index, x, cs_matrix_index_read(dir, &x));
    assert_true(x.shards > 1);
    const cs_store_integers integers = cs_store_integers_of(&m);
    EACH_ALLOCATION_FAILS(n) {
        (void)out_of_memory(cs_store_shard_write(dir, 0, x.shards, &m, 0, x.shard[0].rows, 0,
                                                 &integers, &x.shard[0]));
    }
    EACH_ALLOCATION_FAILS(n) {
        (void)out_of_memory(cs_matrix_index_write(dir, &x));
    }
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO_FREE int64_t *limit = NULL;
        int64_t count = 0;
        (void)out_of_memory(cs_store_shard_limits(&m, 2100, &count, &limit));
    }
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_cooc_store) s = {0};
        (void)out_of_memory(cs_cooc_read(dir, &s));
    }
}
