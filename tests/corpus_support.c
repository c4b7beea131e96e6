/* Support of the tests of corpora. */
#include "corpus_support.h"
#include "io/file.h"
#include "io/npy.h"
#include "io_support.h"

const char *put_ids(void **state, const char *name, int ndim, const int64_t *shape,
                    const int64_t *ids)
{
    const char *path = in_dir(state, name);
    OK(cs_npy_write(path, CS_I64, ndim, shape, ids));
    return path;
}

cs_corpus loaded(const char *source, const cs_corpus_options *options)
{
    cs_corpus corpus = {0};
    OK(cs_corpus_load(source, options, &corpus));
    return corpus;
}

void assert_document(const cs_corpus *corpus, int64_t d, const char *label, const char *text)
{
    char out[512] = "", number[24];
    for (int64_t i = corpus->doc_ptr[d]; i < corpus->doc_ptr[d + 1]; ++i) {
        strcat(out, cs_corpus_word(corpus, corpus->token[i], number));
        strcat(out, " ");
    }
    assert_string_equal(out, text);
    assert_string_equal(cs_corpus_label(corpus, d), label);
}

void assert_same_corpus(const cs_corpus *a, const cs_corpus *b)
{
    assert_int_equal(a->documents, b->documents);
    assert_int_equal(a->tokens, b->tokens);
    assert_int_equal(a->vocab, b->vocab);
    assert_memory_equal(a->doc_ptr, b->doc_ptr, sizeof(int64_t) * (size_t)(a->documents + 1));
    assert_memory_equal(a->token, b->token, sizeof(int32_t) * (size_t)a->tokens);
    assert_memory_equal(a->label, b->label, sizeof(int32_t) * (size_t)a->documents);
    assert_memory_equal(a->held_out, b->held_out, (size_t)a->documents);
    for (int64_t w = 0; a->word && w < a->vocab; ++w) {
        assert_string_equal(a->word[w], b->word[w]);
    }
}
