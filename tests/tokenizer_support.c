/* Support of the tests of tokenizers. */
#include "tokenizer_support.h"
#include "text/encoder.h"

cs_status english(void *from, cs_text_take take, void *to)
{
    static const char text[] = "the cat that sat on the mat isn't the cat that they're after; it's "
                               "12 o'clock, 1999 or 2000  and \xC3\xA9t\xC3\xA9";
    (void)from;
    return take(to, text, (int64_t)strlen(text));
}

cs_tokenizer *small_bpe(void)
{
    cs_text_source source = {english, NULL};
    cs_bpe_options options = {.vocab_size = 290, .min_frequency = 1};
    cs_tokenizer *t = NULL;
    OK(cs_tokenizer_train_bpe(&source, &options, &t));
    return t;
}

cs_tokenizer *tokenizer_at(const char *path)
{
    cs_tokenizer *t = NULL;
    OK(cs_tokenizer_read(path, &t));
    return t;
}

void assert_decodes(const cs_tokenizer *t, const int32_t *ids, int64_t count, bool skip,
                    const char *want)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    OK(cs_tokenizer_decode(t, ids, count, skip, &text, &size));
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, want);
}

cs_status encode_once(const cs_tokenizer *t, const char *text, int64_t size, bool add_special,
                      int32_t **ids, int64_t *count)
{
    CS_AUTO(cs_encoder) e = {0};
    cs_encoder_init(&e, t);
    cs_status status = cs_encoder_encode(&e, text, size, add_special);
    if (status == CS_OK) {
        *ids = e.id;
        *count = e.count;
        e.id = NULL;
    }
    return status;
}
