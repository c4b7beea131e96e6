/* Support of the tests of corpora. */
#include "corpus_support.h"
#include "io/file.h"
#include "io_support.h"

const char *put(void **state, const char *name, const char *content)
{
    const char *path = in_dir(state, name);
    OK(cs_file_write(path, content, (int64_t)strlen(content)));
    return path;
}

const char *put_dir(void **state, const char *name)
{
    const char *path = in_dir(state, name);
    OK(cs_dir_make(path));
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
