/* cooc/store: round trips, row texts, and directories that lie. */
#include <sys/stat.h>

#include "cooc/store.h"
#include "cooc_compare.h"
#include "io/file.h"
#include "io/npz.h"
#include "linalg/matrix_file.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

static char *dir;

static int make_dir(void **state)
{
    (void)state;
    dir = cs_format("%s/cospec-store-XXXXXX", test_temporary());
    return dir && mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    CS_AUTO_FREE char *command = cs_format("rm -r '%s'", dir);
    cs_free(dir);
    return command ? system(command) : -1;
}

TEST_PROGRAM(make_dir, remove_dir)

static const char *in_dir(const char *name)
{
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static cs_cooc_options options_of(const char *spec, const char *context, bool given)
{
    cs_cooc_options o = {.threads = 1, .seed = UINT64_MAX};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    o.context.given = given;
    return o;
}

static void assert_same_store(const cs_cooc_store *s, const cs_corpus *c, const cs_cooc_options *o,
                              const cs_cooc *m)
{
    size_t rows = (size_t)m->matrix.a.rows;
    assert_same_csr(&s->cooc.matrix.a, &m->matrix.a);
    assert_same_csr(&s->cooc.matrix.row_label, &m->matrix.row_label);
    assert_same_csr(&s->cooc.matrix.col_label, &m->matrix.col_label);
    assert_memory_equal(s->cooc.key, m->key, rows * sizeof *m->key);
    assert_memory_equal(s->cooc.witness_sequence, m->witness_sequence, rows * sizeof(int64_t));
    assert_memory_equal(s->cooc.witness_ordinal, m->witness_ordinal, rows * sizeof(int64_t));
    assert_true(s->cooc.exact == m->exact && s->cooc.unit == m->unit && s->cooc.mass == m->mass);
    assert_true(s->cooc.dropped_mass == m->dropped_mass);
    assert_true(s->cooc.contributions == m->contributions && s->cooc.sequences == m->sequences);
    assert_int_equal(s->sequences.count, m->sequences);
    assert_true(s->options.objective.kind == o->objective.kind && s->options.seed == o->seed);
    assert_true(s->options.objective.unmasked_lo == o->objective.unmasked_lo);
    assert_true(s->options.context.mode == o->context.mode && s->options.draws == o->draws);
    assert_true(s->options.context.pairs == o->context.pairs);
    assert_true(s->options.subsample == o->subsample);
    assert_true(s->options.context.given ==
                (o->context.given || o->context.mode == CS_CONTEXT_NEAREST));
    assert_true(json_is_true(json_object_get(s->sidecar, "sampled")) == (o->draws > 0));
    assert_true(s->corpus.documents == c->documents && s->corpus.labels == c->labels);
    assert_memory_equal(s->corpus.token, c->token, (size_t)c->tokens * sizeof *c->token);
    assert_memory_equal(s->corpus.doc_ptr, c->doc_ptr, (size_t)c->documents * sizeof(int64_t));
    assert_memory_equal(s->corpus.label, c->label, (size_t)c->documents * sizeof *c->label);
    assert_each(i, 0, c->vocab, strcmp(s->corpus.word[i], c->word[i]) == 0);
    assert_each(i, 0, c->labels, strcmp(s->corpus.label_name[i], c->label_name[i]) == 0);
}

/* Every row is found again by its key and has its own text. */
static void assert_rows_have_texts(const cs_cooc_store *s)
{
    int64_t rows = s->cooc.matrix.a.rows;
    char **text = test_zeros(rows, sizeof *text);
    for (int64_t i = 0; i < rows; ++i) {
        assert_int_equal(cs_cooc_row_of(&s->cooc, s->cooc.key[i]), i);
        OK(cs_cooc_row_text(s, i, &text[i]));
        for (int64_t j = 0; j < i; ++j) {
            assert_string_not_equal(text[i], text[j]);
        }
    }
    for (int64_t i = 0; i < rows; ++i) {
        cs_free(text[i]);
    }
    cs_hash128 absent = s->cooc.key[0];
    absent.low ^= 1;
    assert_int_equal(cs_cooc_row_of(&s->cooc, absent), -1);
}

/* The bytes of a file, 0 where there is none. */
static double size_of(const char *name)
{
    struct stat file;
    return stat(in_dir(name), &file) == 0 ? (double)file.st_size : 0;
}

/* The sizes of files by --dry-run, against the files: never less, at most twice as much. */
TEST(files_are_foreseen)
{
    static const char *const contexts[] = {"nearest:2", "all", "each:3", "document"};
    ARRAY(int64_t, length, 40, d, 30 + d);
    for (int i = 0; i < 8; ++i) {
        CS_AUTO(cs_corpus) corpus = small_corpus(40, length, 90, i % 2 ? 3 : 0, (uint64_t)i);
        cs_cooc_options o = options_of("masked:mask-ratio=0.3", contexts[i / 2], false);
        o.max_length = i / 2 == 1 ? 4 : 0;
        cs_cooc_size size = {0};
        double files = 0;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        OK(cs_cooc_estimate(&corpus, &o, &size));
        OK(cs_cooc_write(in_dir("foreseen"), &corpus, &o, &m, false, true));
        for (int f = 0; cs_cooc_file(f); ++f) {
            char name[64];
            (void)snprintf(name, sizeof name, "foreseen/%s", cs_cooc_file(f));
            files += size_of(name);
        }
        const double matrix = size_of("foreseen/matrix.npz");
        assert_true(size.matrix >= matrix && size.matrix <= 2 * matrix);
        assert_true(size.stored >= files && size.stored <= 2 * files);
    }
}

TEST(stores_round_trip)
{
    static const struct {
        const char *spec, *context;
        bool given;
        int64_t labels, draws;
    } cases[] = {
        {"ar", "nearest:2", false, 3, 0},
        {"ar:empty-prefix=class", "all", true, 3, 0},
        {"masked:unmasked=2", "all", false, 0, 0},
        {"masked:mask-ratio=0.3", "nearest:2", false, 2, 0},
        {"permuted-ar", "each:2", true, 2, 0},
        {"offset-ar:offset-weights=power:1", "each:3", false, 2, 0},
        {"permuted-ar", "each:3:linear", false, 2, 0},
        {"variable-masked:mask-ratio=0.2:0.7", "all", true, 2, 2},
        {"gvp:segmentation=random,groups=2", "document", true, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        int64_t length[] = {7, 3, 1, 6, 8, 4, 5};
        CS_AUTO(cs_corpus) corpus = small_corpus(7, length, 9, cases[i].labels, i);
        cs_cooc_options o = options_of(cases[i].spec, cases[i].context, cases[i].given);
        o.draws = cases[i].draws;
        o.subsample = o.context.pairs ? 0.1 : 0;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        OK(cs_cooc_write(in_dir("trip"), &corpus, &o, &m, true, true));
        AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir("trip"), &s));
        assert_same_store(&s, &corpus, &o, &m);
        assert_rows_have_texts(&s);
        assert_int_equal(cs_path_exists(in_dir("trip/row_labels.npz")), cases[i].labels > 0);
        CS_AUTO(cs_csr) mtx = {0};
        OK(cs_matrix_read(in_dir("trip/matrix.mtx"), &mtx));
        assert_same_csr(&mtx, &m.matrix.a);
    }
}

static const char *const WORDS[] = {"the", "cat", "sat", "on", "mats"};

static void expect_texts(const char *spec, const char *context, bool given, const char *expected)
{
    int64_t length[] = {5};
    CS_AUTO(cs_corpus) corpus = small_corpus(1, length, 5, 1, 1);
    for (int i = 0; i < 5; ++i) {
        corpus.token[i] = i;
        cs_free(corpus.word[i]);
        corpus.word[i] = cs_strdup(WORDS[i]);
    }
    cs_cooc_options o = options_of(spec, context, given);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    OK(cs_cooc_write(in_dir("text"), &corpus, &o, &m, false, true));
    AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir("text"), &s));
    bool found = false;
    for (int64_t i = 0; i < s.cooc.matrix.a.rows; ++i) {
        CS_AUTO_FREE char *text = NULL;
        OK(cs_cooc_row_text(&s, i, &text));
        found = found || strcmp(text, expected) == 0;
    }
    if (!found) {
        fail_msg("no row '%s' under %s, %s", expected, spec, context);
    }
}

TEST(rows_read_like_their_contexts)
{
    expect_texts("ar", "all", false, "the cat sat");
    expect_texts("ar", "all", true, "the cat sat [4]");
    expect_texts("ar:empty-prefix=shared", "all", false, "(empty)");
    expect_texts("ar:empty-prefix=class", "all", true, "(empty: class0) [1]");
    expect_texts("masked:unmasked=2", "all", false, "the _ sat");
    expect_texts("masked:unmasked=2", "all", true, "_ cat _ _ mats [4]");
    expect_texts("ar", "nearest:2", false, "# the *");
    expect_texts("ar", "nearest:2", false, "sat on *");
    expect_texts("diverse-ar:t=3", "nearest:2", false, "the[-4] cat[-3] *");
    expect_texts("masked:unmasked=3", "nearest:2", false, "cat * on");
    expect_texts("masked:unmasked=3", "nearest:2", false, "the[-2] * on");
    expect_texts("masked:unmasked=3", "nearest:2", false, "* cat sat");
    expect_texts("masked:unmasked=1", "nearest:2", false, "# * mats[+3]");
    expect_texts("masked:unmasked=1", "each:2", false, "mats");
    expect_texts("masked:unmasked=1", "each:2", true, "mats[+2]");
    expect_texts("ar", "document", true, "document 0 [2]");
    expect_texts("masked:unmasked=1", "all", false, "_ _ _ _ mats");
}

TEST(plan_files_travel_along)
{
    static const char plans[] = "{\"plans\": [{\"probability\": 3, \"groups\": [0, 1, 2, 1]},"
                                "{\"probability\": 1, \"groups\": [1, 0, 0, 2],"
                                " \"weights\": [2, 0, 0, 0.5]}]}";
    OK(cs_file_write(in_dir("own.json"), plans, (int64_t)sizeof plans - 1));
    AUTO_OK(cs_plan_file, file, cs_plan_file_read(in_dir("own.json"), &file));
    int64_t length[] = {4, 4, 5};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 6, 2, 5);
    cs_cooc_options o = {.objective = cs_objective_default(CS_OBJ_FILE), .threads = 1};
    o.objective.file = &file;
    OK(cs_context_parse("all", &o.context));
    CS_AUTO(cs_cooc) m = {0}, again = {0};
    int64_t others[] = {3, 5, 6};
    CS_AUTO(cs_corpus) misfits = small_corpus(3, others, 6, 2, 5);
    assert_fails(cs_cooc_build(&misfits, &o, &m), CS_ERR_INPUT,
                 "own.json has plans of length 4, but no sequence has such a length (they have 3 "
                 "to 6 tokens); give --max-length 4");
    OK(cs_cooc_build(&corpus, &o, &m));
    assert_int_equal(m.sequences, 2);
    OK(cs_cooc_write(in_dir("plans"), &corpus, &o, &m, false, false));
    AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir("plans"), &s));
    assert_same_store(&s, &corpus, &o, &m);
    OK(cs_cooc_build(&s.corpus, &s.options, &again));
    assert_same_csr(&again.matrix.a, &m.matrix.a);
}

/* Words of the tokenizer `char` may be line ends. */
TEST(words_with_line_ends_survive)
{
    int64_t length[] = {6};
    CS_AUTO(cs_corpus) corpus = small_corpus(1, length, 5, 0, 1);
    const char *const words[] = {"\n", "\r", "\\", "\\n", " "};
    for (int i = 0; i < 5; ++i) {
        cs_free(corpus.word[i]);
        corpus.word[i] = cs_strdup(words[i]);
    }
    cs_free(corpus.path);
    corpus.path = cs_strdup("caf\xe9.txt"); /* Latin-1: JSON cannot hold it */
    cs_cooc_options o = options_of("ar", "nearest:1", false);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    OK(cs_cooc_write(in_dir("words"), &corpus, &o, &m, false, false));
    AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir("words"), &s));
    assert_same_store(&s, &corpus, &o, &m);
    assert_string_equal(s.corpus.path, "caf?.txt");
}

/* Writes a good store into `name`. */
static void write_good(const char *name, bool force)
{
    int64_t length[] = {5, 4, 6};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 6, 2, 3);
    cs_cooc_options o = options_of("ar", "nearest:2", false);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    OK(cs_cooc_write(in_dir(name), &corpus, &o, &m, false, force));
}

static void expect_unreadable(const char *name, cs_status expected, const char *words)
{
    cs_cooc_store s = {0}, zero = {0};
    cs_reason_clear();
    assert_int_equal(cs_cooc_read(in_dir(name), &s), expected);
    assert_memory_equal(&s, &zero, sizeof s);
    expect_reason(words);
}

/* Replaces a text in the sidecar. */
static void edit_sidecar(const char *name, const char *from, const char *to)
{
    char path[160], *text = NULL, *at;
    int64_t size = 0;
    (void)snprintf(path, sizeof path, "%s/%s/matrix.json", dir, name);
    OK(cs_file_read(path, 1 << 20, &text, &size));
    at = strstr(text, from);
    assert_non_null(at);
    CS_AUTO_FREE char *edited =
        cs_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_non_null(edited);
    OK(cs_file_write(path, edited, (int64_t)strlen(edited)));
    cs_free(text);
}

/* Version 1 had objective and context as objects. */
TEST(old_sidecars_are_read)
{
    write_good("old", true);
    edit_sidecar("old", "\"version\": 2", "\"version\": 1");
    edit_sidecar("old", "\"objective\": \"ar\",", "");
    edit_sidecar("old", "\"context\": \"nearest:2\"",
                 "\"context\": {\"mode\": \"nearest\", \"n\": 2, \"given\": true}");
    edit_sidecar("old", "\"target_position\": \"given\",", "");
    edit_sidecar("old", "\"parameters\": {", "\"objective\": {\"text\": \"ar\",");
    AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir("old"), &s));
    assert_true(s.options.objective.kind == CS_OBJ_AR && s.options.context.n == 2);
    assert_true(s.options.context.mode == CS_CONTEXT_NEAREST && s.options.context.given);
    const char *const now[][2] = {
        {"objective", "ar"}, {"context", "nearest:2"}, {"target_position", "given"}};
    for (int i = 0; i < 3; ++i) {
        const char *text = json_string_value(json_object_get(s.sidecar, now[i][0]));
        assert_non_null(text);
        assert_string_equal(text, now[i][1]);
    }
}

TEST(sidecars_that_lie_are_refused)
{
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"cospec co-occurrence", "another", "'format' is not"},
        {"\"version\": 2", "\"version\": 3", "format version 3"},
        {"\"version\": 2", "\"version\": \"1\"", "field 'version'"},
        {"\"context\": \"nearest:2\"", "\"context\": \"near:2\"", "field 'context': unknown"},
        {"\"context\": \"nearest:2\"", "\"context\": {\"mode\": \"near\"}", "field 'context'"},
        {"\"name\": \"ar\"", "\"name\": \"br\"", "br"},
        {"\"target_position\": \"given\"", "\"target_position\": 0", "field 'target_position'"},
        {"\"seed\": \"18446744073709551615\"", "\"seed\": \"-1\"", "field 'seed'"},
        {"\"rows\"", "\"rowz\"", "field 'rows'"},
        {"\"stride\": 0", "\"stride\": -3", "field 'stride'"},
        {"\"unit\": 1", "\"unit\": -1", "field 'unit'"},
        {"\"cols\": 6", "\"cols\": 7", "7 columns"},
        {"\"vocab\": 6", "\"vocab\": 5", "vocabulary of 5"},
        {"\"sequences\": 3", "\"sequences\": 4", "4 sequences are recorded"},
        {"\"nnz\": ", "\"nnz\": 1", "nonzeros"},
        {"\"tokens\": 15", "\"tokens\": 16", "member token"},
        {"\"documents\": 3", "\"documents\": 2", "member doc_ptr"},
        {"\"class1\"", "7", "field 'corpus.labels'"},
        {"\"max_length\": 0", "\"max_length\": 2", "sequences"},
        {"\"version\": 2", "\"version\": 0",
         "format version 0 is not supported; this program reads 1 to 2"},
        {"\"seed\": \"18446744073709551615\"", "\"seed\": \"18446744073709551616\"",
         "field 'seed'"},
        {"\"seed\": \"18446744073709551615\"", "\"seed\": \"1x\"", "field 'seed'"},
        {"\"seed\": \"18446744073709551615\"", "\"seed\": \"\"", "field 'seed'"},
        {"\"weight\": \"token\"", "\"weight\": \"type\"", "field 'weight': unknown value 'type'"},
        {"\"unit\": 1", "\"unit\": \"\", \"was\": 1", "field 'unit'"},
        {"\"sha256\": \"",
         "\"sha256\": \"00000000000000000000000000000000000000000000000000000000000000000",
         "field 'corpus.sha256'"},
        {"\"words\": true", "\"words\": 1", "field 'corpus.words'"},
        {"\"corpus\": {", "\"corpus\": 3, \"other\": {", "field 'corpus'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_good("lie", true);
        edit_sidecar("lie", cases[i].from, cases[i].to);
        expect_unreadable("lie", CS_ERR_INPUT, cases[i].words);
    }
}

TEST(files_that_lie_are_refused)
{
    static const char *const names[] = {"matrix.npz",     "rows.npz",   "row_labels.npz",
                                        "col_labels.npz", "corpus.npz", "vocab.txt"};
    expect_unreadable("nothing", CS_ERR_IO, "nothing/matrix.json");
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/gone/%s", dir, names[i]);
        write_good("gone", true);
        assert_int_equal(unlink(path), 0);
        expect_unreadable("gone", CS_ERR_IO, names[i]);
        OK(cs_file_write(path, "word\n", 5));
        expect_unreadable("gone", CS_ERR_INPUT, names[i]);
    }
    write_good("gone", true);
    FILE *vocab = fopen(in_dir("gone/vocab.txt"), "ab");
    assert_non_null(vocab);
    assert_true(fputs("another\n", vocab) >= 0 && fclose(vocab) == 0);
    expect_unreadable("gone", CS_ERR_INPUT, "vocab.txt: more than 6 lines");
    /* Keys out of order, a witness out of range, a token out of the vocabulary. */
    write_good("order", true);
    AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir("order"), &s));
    cs_corpus *c = &s.corpus;
    const int64_t last = s.cooc.matrix.a.rows - 1;
    const struct {
        void *at;
        int64_t bad;
        size_t size;
        const char *words;
    } lies[] = {
        {&s.cooc.key[1].high, 0, 8, "keys do not ascend at row 1"},
        {&s.cooc.witness_sequence[2], 3, 8, "row 2: witness (3,"},
        {&s.cooc.witness_sequence[2], -1, 8, "row 2: witness (-1,"},
        {&s.cooc.witness_ordinal[1], -1, 8, "row 1: witness ("},
        {&c->token[4], 6, 4, "token 4 is 6, not in 0..5"},
        {&c->token[0], -1, 4, "token 0 is -1, not in 0..5"},
        {&c->doc_ptr[0], 1, 8, "doc_ptr runs from 1 to 15, not from 0 to 15"},
        {&c->doc_ptr[3], 14, 8, "doc_ptr runs from 0 to 14, not from 0 to 15"},
        {&c->doc_ptr[1], 10, 8, "doc_ptr descends at document 1"},
        {&c->label[1], 2, 4, "document 1: label 2 is not one of the 2"},
        {&c->label[2], -2, 4, "document 2: label -2 is not one of the 2"},
        {&c->held_out[1], 2, 1, "document 1: held_out is 2, not 0 or 1"},
        /* the first and the last of each */
        {&s.cooc.key[last].high, 0, 8, "keys do not ascend at row "},
        {&s.cooc.witness_sequence[0], 3, 8, "row 0: witness (3,"},
        {&s.cooc.witness_ordinal[last], -1, 8, "not in one of the 3 sequences"},
        {&c->token[14], 6, 4, "token 14 is 6, not in 0..5"},
        {&c->doc_ptr[1], -1, 8, "doc_ptr descends at document 0"},
        {&c->doc_ptr[2], 16, 8, "doc_ptr descends at document 2"},
        {&c->label[0], 2, 4, "document 0: label 2 is not one of the 2"},
        {&c->held_out[0], 2, 1, "document 0: held_out is 2, not 0 or 1"},
        {&c->held_out[2], 2, 1, "document 2: held_out is 2, not 0 or 1"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; ++i) {
        int64_t was = 0;
        memcpy(&was, lies[i].at, lies[i].size);
        memcpy(lies[i].at, &lies[i].bad, lies[i].size); /* the low bytes come first */
        OK(cs_cooc_write(in_dir("bad"), c, &s.options, &s.cooc, false, true));
        memcpy(lies[i].at, &was, lies[i].size);
        expect_unreadable("bad", CS_ERR_INPUT, lies[i].words);
    }
    s.cooc.matrix.a.val[1] += 0.5;
    s.cooc.exact = false;
    OK(cs_cooc_write(in_dir("bad"), c, &s.options, &s.cooc, false, true));
    edit_sidecar("bad", "\"exact\": false", "\"exact\": true");
    expect_unreadable("bad", CS_ERR_INPUT, "entry 1 is ");
    cs_cooc_store_free(&s);
    /* A witness that leads elsewhere is found when the text is requested. */
    char *text = NULL;
    OK(cs_cooc_read(in_dir("order"), &s));
    s.cooc.witness_ordinal[0] += 1000;
    assert_fails(cs_cooc_row_text(&s, 0, &text), CS_ERR_INPUT, "row 0");
    assert_int_equal(cs_cooc_row_text(&s, s.cooc.matrix.a.rows, &text), CS_ERR_USAGE);
    assert_int_equal(cs_cooc_row_text(&s, -1, &text), CS_ERR_USAGE);
    assert_null(text);
    cs_reason_clear();
}

/* A witness in a sequence of one token, whose only target has nothing around it. */
TEST(witnesses_without_contributions)
{
    int64_t length[] = {5, 1};
    CS_AUTO(cs_corpus) corpus = small_corpus(2, length, 6, 0, 3);
    cs_cooc_options o = options_of("ar:empty-prefix=shared", "each:1", false);
    char *text = NULL;
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    OK(cs_cooc_write(in_dir("alone"), &corpus, &o, &m, false, true));
    AUTO_OK(cs_cooc_store, s, cs_cooc_read(in_dir("alone"), &s));
    assert_int_equal(s.sequences.count, 2);
    s.cooc.witness_sequence[0] = 1;
    assert_fails(cs_cooc_row_text(&s, 0, &text), CS_ERR_INPUT, "does not produce its key");
    assert_null(text);
}

TEST(stores_are_not_overwritten_silently)
{
    int64_t length[] = {5};
    write_good("twice", false);
    CS_AUTO(cs_corpus) corpus = small_corpus(1, length, 3, 0, 3);
    cs_cooc_options o = options_of("ar", "nearest:1", false);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    assert_fails(cs_cooc_write(in_dir("twice"), &corpus, &o, &m, false, false), CS_ERR_USAGE,
                 "twice already contains a matrix");
    assert_true(cs_path_exists(in_dir("twice/row_labels.npz")));
    OK(cs_cooc_write(in_dir("twice"), &corpus, &o, &m, false, true));
    assert_false(cs_path_exists(in_dir("twice/row_labels.npz"))); /* no file of the old one */
    assert_fails(cs_cooc_write("/proc/nowhere", &corpus, &o, &m, false, true), CS_ERR_IO,
                 "/proc/nowhere");
}

TEST(every_allocation_may_fail)
{
    int64_t length[] = {5, 4, 6};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 6, 2, 3);
    cs_cooc_options o = options_of("ar", "nearest:2", false);
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    EACH_ALLOCATION_FAILS(n) {
        const bool failed =
            out_of_memory(cs_cooc_write(in_dir("memory"), &corpus, &o, &m, true, true));
        assert_int_equal(cs_path_exists(in_dir("memory/matrix.json")), !failed);
    }
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_cooc_store) s = {0};
        CS_AUTO_FREE char *text = NULL;
        cs_status status = cs_cooc_read(in_dir("memory"), &s);
        if (status == CS_OK) status = cs_cooc_row_text(&s, 3, &text);
        (void)out_of_memory(status);
    }
}
