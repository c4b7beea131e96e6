/* A corpus that the ranks of a group (threads) read in parts, against one process. */
#include "comm_threads.h"
#include "io_support.h"
#include "test.h"
#include "text/corpus.h"

typedef struct {
    const char *source;
    cs_corpus_options options;
    cs_corpus *part;
} loading;

static cs_status load_part(cs_comm *comm, void *ctx)
{
    const loading *l = ctx;
    cs_corpus_options o = l->options;
    o.comm = comm;
    return cs_corpus_load(l->source, &o, &l->part[comm->rank]);
}

static void assert_same_texts(char *const *a, char *const *b, int64_t count)
{
    assert_each(i, 0, count, strcmp(a[i], b[i]) == 0);
}

/* Totals, words and classes on every rank; documents of all ranks in order. */
static void assert_parts(const cs_corpus *one, const cs_corpus *part, int ranks)
{
    int64_t d = 0, t = 0;
    for (int r = 0; r < ranks; ++r) {
        const cs_corpus *p = &part[r];
        assert_int_equal(p->first_document, d);
        assert_int_equal(p->all_documents, one->documents);
        assert_int_equal(p->all_tokens, one->tokens);
        assert_int_equal(p->vocab, one->vocab);
        assert_int_equal(p->labels, one->labels);
        assert_string_equal(p->sha256, one->sha256);
        assert_int_equal(p->dropped_documents, one->dropped_documents);
        assert_int_equal(p->unknown_tokens, one->unknown_tokens);
        assert_int_equal(p->read.headers, one->read.headers);
        assert_same_texts(p->word, one->word, one->vocab);
        assert_same_texts(p->label_name, one->label_name, one->labels);
        for (int64_t i = 0; i < p->documents; ++i, ++d) {
            const int64_t size = p->doc_ptr[i + 1] - p->doc_ptr[i];
            assert_int_equal(size, one->doc_ptr[d + 1] - one->doc_ptr[d]);
            assert_memory_equal(p->token + p->doc_ptr[i], one->token + one->doc_ptr[d],
                                (size_t)size * sizeof *p->token);
            assert_int_equal(p->label[i], one->label[d]);
            assert_int_equal(p->held_out[i], one->held_out[d]);
            t += size;
        }
    }
    assert_int_equal(d, one->documents);
    assert_int_equal(t, one->tokens);
}

static void check_source(const char *source, cs_corpus_options options)
{
    options.test_share = 0.3;
    AUTO_OK(cs_corpus, one, cs_corpus_load(source, &options, &one));
    assert_true(cs_corpus_divides(source, &options));
    for (int ranks = 1; ranks <= MOST_RANKS; ranks += ranks < 4 ? 1 : 4) {
        cs_corpus part[MOST_RANKS] = {0};
        cs_status status[MOST_RANKS];
        char reason[MOST_RANKS][1024];
        loading l = {source, options, part};
        (void)run_ranks(ranks, load_part, &l, status, reason);
        for (int r = 0; r < ranks; ++r) {
            if (status[r] != CS_OK) fail_msg("%s, rank %d of %d: %s", source, r, ranks, reason[r]);
        }
        assert_parts(&one, part, ranks);
        for (int r = 0; r < ranks; ++r) {
            cs_corpus_free(&part[r]);
        }
    }
}

/* Documents of different lengths; many words have the same count. */
static void put_text(FILE *to, int document)
{
    for (int i = 0; i <= document * 7 % 11; ++i) {
        (void)fprintf(to, " w%c%c", 'a' + (document * 5 + i * 3) % 17, 'a' + (i * document) % 5);
    }
    (void)fprintf(to, " <unk>");
}

static void write_lines(const char *path, const char *form, const char *header, int first,
                        int count)
{
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    (void)fputs(header, to);
    for (int d = first; d < first + count; ++d) {
        const char label = (char)('a' + d * d % 3);
        if (d % 9 == 4) (void)fputs("\n", to);
        if (*form == 'j') {
            (void)fprintf(to, "{\"label\": \"%c\", \"text\": \"", label);
            put_text(to, d);
            (void)fputs("\"}\r\n", to);
        } else {
            if (*form == 't') (void)fprintf(to, "%c\t", label);
            put_text(to, d);
            (void)fputs(d % 2 ? "\n" : "\r\n", to);
        }
    }
    assert_int_equal(fclose(to), 0);
}

static const cs_corpus_options usual = {.splitter = CS_SPLITTER_WHITESPACE, .vocab_size = 23};

TEST_IN_DIR(one_file_is_cut_at_its_lines)
{
    write_lines(in_dir(state, "a.txt"), "plain", "", 0, 61);
    write_lines(in_dir(state, "a.tsv"), "tsv", "", 0, 61);
    write_lines(in_dir(state, "b.tsv"), "tsv", "\xEF\xBB\xBFlabel\ttext\n", 3, 40);
    write_lines(in_dir(state, "a.jsonl"), "json", "", 0, 61);
    write_lines(in_dir(state, "three.txt"), "plain", "", 5, 3);
    cs_corpus_options options = usual;
    for (int i = 0; i < 2; ++i) {
        options.threads = i + 1;
        check_source(in_dir(state, "a.txt"), options);
        check_source(in_dir(state, "a.tsv"), options);
        check_source(in_dir(state, "b.tsv"), options);
        check_source(in_dir(state, "a.jsonl"), options);
        check_source(in_dir(state, "three.txt"), options);
        options.vocab_size = -1;
        options.min_tokens = 4;
    }
}

TEST_IN_DIR(files_of_a_pattern_are_one_corpus)
{
    write_lines(in_dir(state, "s-0.jsonl"), "json", "", 0, 40);
    write_lines(in_dir(state, "s-1.jsonl"), "json", "", 40, 0);
    write_lines(in_dir(state, "s-2.jsonl"), "json", "", 40, 3);
    write_lines(in_dir(state, "s-10.jsonl"), "json", "", 43, 25);
    check_source(in_dir(state, "s-*.jsonl"), usual);
    CS_AUTO(cs_corpus) all = {0}, first = {0};
    OK(cs_corpus_load(in_dir(state, "s-*.jsonl"), &usual, &all));
    OK(cs_corpus_load(in_dir(state, "s-0.jsonl"), &usual, &first));
    assert_int_equal(all.documents, 68);
    assert_memory_equal(all.held_out, first.held_out, 40); /* numbers are those in the file */
    assert_int_equal(cs_corpus_load(in_dir(state, "t-*.jsonl"), &usual, &first), CS_ERR_INPUT);
    expect_reason("no file has such a name");
}

TEST_IN_DIR(a_directory_of_documents)
{
    char name[32];
    (void)put_dir(state, "d");
    for (int c = 0; c < 3; ++c) {
        (void)snprintf(name, sizeof name, "d/c%d", c);
        (void)put_dir(state, name);
        for (int d = 0; d < 7 + c; ++d) {
            (void)snprintf(name, sizeof name, "d/c%d/f%d", c, d);
            write_lines(in_dir(state, name), "plain", "", d, d + 1);
        }
    }
    check_source(in_dir(state, "d"), usual);
}

TEST_IN_DIR(failures_are_of_all_ranks)
{
    const char *path = in_dir(state, "bad.jsonl");
    cs_corpus part[MOST_RANKS] = {0};
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    loading l = {path, usual, part};
    write_lines(path, "json", "", 0, 50);
    FILE *to = fopen(path, "a");
    assert_non_null(to);
    (void)fputs("{\"label\": 1}\n", to);
    (void)fclose(to);
    (void)run_ranks(3, load_part, &l, status, reason);
    assert_each(r, 0, 3, status[r] == CS_ERR_INPUT);
    assert_each(r, 0, 3, strstr(reason[r], "rank 2 of 3") && strstr(reason[r], "\"text\""));
    l.source = in_dir(state, "none-*.txt");
    (void)run_ranks(3, load_part, &l, status, reason);
    assert_each(r, 0, 3, status[r] == CS_ERR_INPUT && strstr(reason[r], "no file has such"));
}
