/* Corpora of token ids, and of ids and texts in memory. */
#include "corpus_support.h"
#include "io/npy.h"
#include "io_support.h"

/* --- token ids ------------------------------------------------------------------------------- */

TEST_IN_DIR(npy_gives_token_ids)
{
    const int64_t ids[] = {5, 0, 2, 7, -1, -1, -1, -1, -1, 3, 3, -1};
    const char *path = put_ids(state, "rows.npy", 2, (int64_t[]){4, 3}, ids);
    CS_AUTO(cs_corpus) c = loaded(path, NULL);
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.dropped_documents, 1);
    assert_int_equal(c.vocab, 8);
    assert_null(c.word);
    assert_document(&c, 0, "-", "5 0 2 ");
    assert_document(&c, 1, "-", "7 ");
    assert_document(&c, 2, "-", "3 3 ");
    assert_int_equal(strlen(c.sha256), 64);
    cs_corpus_free(&c);
    c = loaded(put_ids(state, "flat.npy", 1, (int64_t[]){4}, ids), NULL);
    assert_int_equal(c.documents, 1);
    assert_document(&c, 0, "-", "5 0 2 7 ");
}

TEST_IN_DIR(npy_refuses_bad_ids)
{
    cs_corpus out = {0};
    const int64_t negative[] = {1, 2, 3, -7};
    assert_fails(
        cs_corpus_load(put_ids(state, "a.npy", 2, (int64_t[]){2, 2}, negative), NULL, &out),
        CS_ERR_INPUT, "token id -7 at row 1, column 1");
    const int64_t minus_one[] = {1, -1};
    assert_fails(cs_corpus_load(put_ids(state, "b.npy", 1, (int64_t[]){2}, minus_one), NULL, &out),
                 CS_ERR_INPUT, "token id -1 at row 0, column 1");
    const int64_t inside[] = {1, -1, 2};
    assert_fails(cs_corpus_load(put_ids(state, "c.npy", 2, (int64_t[]){1, 3}, inside), NULL, &out),
                 CS_ERR_INPUT, "padding -1 at row 0, column 1 precedes token id 2");
    const int64_t large[] = {INT64_C(1) << 40};
    assert_fails(cs_corpus_load(put_ids(state, "d.npy", 1, (int64_t[]){1}, large), NULL, &out),
                 CS_ERR_INPUT, "token id 1099511627776");
    assert_fails(
        cs_corpus_load(put_ids(state, "e.npy", 3, (int64_t[]){1, 1, 1}, large), NULL, &out),
        CS_ERR_INPUT, "found 3-D");
    assert_fails(cs_corpus_load(put_ids(state, "f.npy", 2, (int64_t[]){0, 4}, large), NULL, &out),
                 CS_ERR_INPUT, "f.npy: no documents: the array is empty");
    const int64_t sparse[] = {0, INT32_MAX - 1, 1, 0, 1};
    assert_fails(cs_corpus_load(put_ids(state, "h.npy", 1, (int64_t[]){5}, sparse), NULL, &out),
                 CS_ERR_INPUT, "h.npy: token id 2147483646 at row 0, column 1 needs 2147483647");
    const int64_t edge[] = {0, (1 << 24) - 1, 1, 1 << 24};
    CS_AUTO(cs_corpus) widest = loaded(put_ids(state, "i.npy", 1, (int64_t[]){3}, edge), NULL);
    assert_int_equal(widest.vocab, 1 << 24);
    assert_fails(cs_corpus_load(put_ids(state, "j.npy", 2, (int64_t[]){2, 2}, edge), NULL, &out),
                 CS_ERR_INPUT, "token id 16777216 at row 1, column 1 needs 16777217 columns");
    const char *path = in_dir(state, "g.npy");
    OK(cs_npy_write(path, CS_F64, 1, (int64_t[]){1}, (double[]){1.5}));
    assert_fails(cs_corpus_load(path, NULL, &out), CS_ERR_INPUT, "1.5");
    OK(cs_npy_write(path, CS_F64, 1, (int64_t[]){2}, (double[]){1, 4}));
    CS_AUTO(cs_corpus) c = loaded(path, NULL); /* whole numbers in a float array are ids */
    assert_int_equal(c.vocab, 5);
    assert_null(out.token);
}

/* --- in memory -------------------------------------------------------------------------------- */

TEST_IN_DIR(ids_in_memory_are_borrowed_where_no_document_is_dropped)
{
    int32_t token[] = {5, 0, 2, 7, 3, 3};
    const int64_t doc_ptr[] = {0, 3, 3, 4, 6};
    cs_array ids = {
        .dtype = CS_I32, .item_size = 4, .ndim = 1, .shape = {6}, .size = 6, .data = token};
    cs_corpus_options o = {.test_share = 0.2};
    (void)state;
    AUTO_OK(cs_corpus, c, cs_corpus_of_ids("ids", &ids, 4, doc_ptr, &o, &c));
    assert_ptr_equal(c.token, token);
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.dropped_documents, 1);
    assert_int_equal(c.vocab, 8);
    assert_document(&c, 0, "-", "5 0 2 ");
    assert_document(&c, 2, "-", "3 3 ");
    cs_corpus_free(&c);
    o.min_tokens = 2; /* the document in the middle leaves a gap */
    OK(cs_corpus_of_ids("ids", &ids, 4, doc_ptr, &o, &c));
    assert_true(c.token != token);
    assert_document(&c, 1, "-", "3 3 ");
    assert_int_equal(token[3], 7);
}

TEST_IN_DIR(arrays_in_memory_are_borrowed_without_padding)
{
    int32_t token[] = {5, 0, 2, 7, 3, 3};
    cs_array rows = {
        .dtype = CS_I32, .item_size = 4, .ndim = 2, .shape = {3, 2}, .size = 6, .data = token};
    (void)state;
    AUTO_OK(cs_corpus, c, cs_corpus_of_array("rows", &rows, NULL, &c));
    assert_ptr_equal(c.token, token);
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.vocab, 8);
    assert_document(&c, 1, "-", "2 7 ");
    cs_corpus_free(&c);
    rows.ndim = 1;
    rows.shape[0] = 6;
    OK(cs_corpus_of_array("rows", &rows, NULL, &c));
    assert_ptr_equal(c.token, token);
    assert_int_equal(c.documents, 1);
    cs_corpus_free(&c);
    rows = (cs_array){
        .dtype = CS_I32, .item_size = 4, .ndim = 2, .shape = {3, 2}, .size = 6, .data = token};
    token[3] = -1;
    OK(cs_corpus_of_array("rows", &rows, NULL, &c));
    assert_true(c.token != token);
    assert_document(&c, 1, "-", "2 ");
    cs_corpus_free(&c);
    token[2] = -5;
    assert_fails(cs_corpus_of_array("rows", &rows, NULL, &c), CS_ERR_INPUT,
                 "token id -5 at row 1, column 0");
}

TEST_IN_DIR(ids_in_memory_are_checked)
{
    int64_t token[] = {5, 0, INT64_C(1) << 40};
    const int64_t good[] = {0, 1, 3}, falling[] = {0, 2, 1, 3}, tiny[] = {0, 2};
    cs_array ids = {
        .dtype = CS_I64, .item_size = 8, .ndim = 1, .shape = {3}, .size = 3, .data = token};
    cs_corpus c = {0};
    (void)state;
    assert_fails(cs_corpus_of_ids("ids", &ids, 2, good, NULL, &c), CS_ERR_INPUT,
                 "ids: token id 1099511627776 at row 1, column 1 is not in 0..2147483646");
    assert_fails(cs_corpus_of_ids("ids", &ids, 3, falling, NULL, &c), CS_ERR_INPUT,
                 "ids: offset 2 is 1, below the one before it, 2");
    assert_fails(cs_corpus_of_ids("ids", &ids, 1, tiny, NULL, &c), CS_ERR_INPUT,
                 "ids: offsets must run from 0 to the number of token ids, 3");
    token[2] = INT32_MAX - 1;
    assert_fails(cs_corpus_of_ids("ids", &ids, 2, good, NULL, &c), CS_ERR_INPUT,
                 "needs 2147483647 columns for only 3 tokens");
    assert_null(c.token);
}

TEST_IN_DIR(texts_in_memory_are_as_the_lines_of_a_file)
{
    static const char *const text[] = {"a b a", "", "b\0c", "caf\xC3\xA9 a"};
    const int64_t size[] = {5, 0, 3, 7};
    cs_corpus_options o = {.invalid = CS_INVALID_SKIP, .test_share = 0.2};
    cs_corpus c = {0}, file = loaded(put(state, "t.jsonl",
                                         "{\"text\": \"a b a\"}\n{\"text\": \"\"}\n{\"text\": "
                                         "\"b\\u0000c\"}\n{\"text\": \"caf\xC3\xA9 a\"}\n"),
                                     &o);
    OK(cs_corpus_of_texts("texts", 4, text, size, &o, &c));
    assert_int_equal(c.documents, file.documents);
    assert_int_equal(c.invalid_documents, 1);
    assert_int_equal(c.vocab, file.vocab);
    assert_each(i, 0, c.tokens, c.token[i] == file.token[i]);
    cs_corpus_free(&c);
    cs_corpus_free(&file);
    o.invalid = CS_INVALID_REPLACE;
    OK(cs_corpus_of_texts("texts", 4, text, size, &o, &c));
    assert_int_equal(c.invalid_bytes, 1);
    cs_corpus_free(&c);
    o.invalid = CS_INVALID_REFUSE;
    assert_fails(cs_corpus_of_texts("texts", 4, text, size, &o, &c), CS_ERR_INPUT,
                 "texts: text 2: byte 2: NUL byte, not text; give --invalid replace");
}
