/* Readers of text, of what a person writes, and of pictures. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "analysis/measures/answer_scores.h"
#include "analysis/theorems/theorems.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/visible.h"
#include "cooc/context.h"
#include "cooc/word_scores.h"
#include "image/image_files_private.h"
#include "image/images.h"
#include "image/picture.h"
#include "io/gzip.h"
#include "io/number.h"
#include "io/table.h"
#include "plan/expression.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "readers_private.h"
#include "text/charsmap_private.h"
#include "text/encoder.h"
#include "text/labelled_text.h"
#include "text/regex_private.h"
#include "text/squad.h"
#include "text/token_lines.h"

/* --- text --- */

static const char SENTENCE[] =
    "The cat's 42 na\xc3\xafve \xe4\xbd\xa0\xe5\xa5\xbd  sat\n\t[MASK] ok.";

static cs_status use_tokenizer(const char *path)
{
    CS_AUTO(cs_tokenizer) *t = NULL;
    const cs_status status = cs_tokenizer_read(path, &t);
    if (status == CS_OK) {
        CS_AUTO(cs_encoder) encoder = {0};
        cs_encoder_init(&encoder, t);
        CS_AUTO_FREE char *text = NULL;
        int64_t length = 0;
        const cs_status encoded = cs_encoder_encode(&encoder, SENTENCE, sizeof SENTENCE - 1, true);
        if (encoded == CS_OK) {
            fuzz_touch(encoder.id, encoder.count * (int64_t)sizeof *encoder.id);
            fuzz_also(cs_tokenizer_decode(t, encoder.id, encoder.count, false, &text, &length));
        } else {
            fuzz_also(encoded);
        }
        cs_text_form form;
        fuzz_also(cs_tokenizer_form(t, true, &form));
    }
    return status;
}

cs_status fuzz_tokenizer(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    return use_tokenizer(path);
}

cs_status fuzz_tokenizer_folder(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    return use_tokenizer(fuzz_tokenizer_files(bytes, size));
}

/* The first byte chooses the direction. */
cs_status fuzz_token_lines(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    static FILE *nowhere;
    if (!nowhere && !(nowhere = fopen("/dev/null", "w"))) {
        abort();
    }
    if (size < 1) {
        return CS_OK;
    }
    const cs_token_lines lines = {"lines", bytes + 1, size - 1, nowhere, NULL};
    return bytes[0] & 1 ? cs_decode_lines(fuzz_small_tokenizer(), bytes[0] & 2, &lines)
                        : cs_encode_lines(fuzz_small_tokenizer(), bytes[0] & 2, &lines);
}

/* How a text is read: its length chooses, so that the input is the file as it is. */
static cs_corpus_options text_options(int64_t size)
{
    const unsigned choice = (unsigned)size % 12;
    return (cs_corpus_options){.splitter = (cs_splitter_kind)(choice % 3),
                               .invalid = (cs_invalid)(choice / 3)};
}

cs_status fuzz_corpus(const char *path, const char *bytes, int64_t size)
{
    (void)bytes;
    CS_AUTO(cs_corpus) c = {0};
    const cs_corpus_options options = text_options(size);
    const cs_status status = cs_corpus_load(path, &options, &c);
    if (status == CS_OK) {
        fuzz_touch(c.token, c.tokens * (int64_t)sizeof *c.token);
    }
    return status;
}

/* Every answer is scored as a prediction of the others. */
cs_status fuzz_squad(const char *path, const char *bytes, int64_t size)
{
    CS_AUTO(cs_squad) s = {0};
    (void)bytes;
    (void)size;
    cs_status status = cs_squad_read(path, &s);
    for (int64_t i = 0; i < s.answers; ++i) {
        const char *context = s.context[s.question[0].context];
        double exact = 0, f1 = 0;
        fuzz_touch(s.answer[i].text, (int64_t)strlen(s.answer[i].text));
        fuzz_also(cs_answer_score(context, 1, &s.answer[i].text, &exact, &f1));
    }
    return status;
}

cs_status fuzz_labelled(const char *path, const char *bytes, int64_t size)
{
    (void)bytes;
    cs_labelled_text t = {0};
    cs_labelled_options options = {.corpus = text_options(size), .regression = size & 1};
    options.corpus.format = size & 2 ? CS_FORMAT_TSV : CS_FORMAT_SPACE;
    cs_status status = cs_labelled_text_read(path, &options, NULL, &t);
    cs_labelled_text_free(&t);
    if (status == CS_OK) {
        status = cs_label_file_read(path, size & 1, NULL, &t);
        cs_labelled_text_free(&t);
    }
    return status;
}

cs_status fuzz_labels(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    const double one[] = {1, 1, 1};
    const int64_t row[] = {0, 1, 2}, col[] = {0, 0, 0};
    CS_AUTO(cs_labelled) m = {0};
    const cs_nonempty_rows all = cs_nonempty_rows_all(3);
    cs_status status = cs_csr_from_triplets(3, 1, 3, row, col, one, &m.a);
    if (status == CS_OK) status = cs_labels_read(path, &all, &m);
    return status;
}

cs_status fuzz_csv(const char *path, const char *bytes, int64_t size)
{
    CS_AUTO(cs_table) table = {0};
    fuzz_also(fuzz_corpus(path, bytes, size));
    const cs_status status = cs_table_read_csv(path, &table);
    for (int64_t i = 0; status == CS_OK && i < table.rows * table.columns; ++i) {
        fuzz_touch(table.cell[i], (int64_t)strlen(table.cell[i]));
    }
    return status;
}

/* Similarities or, with a section, analogies of the words a to f. */
cs_status fuzz_word_scores(const char *path, const char *bytes, int64_t size)
{
    enum { WORDS = 6 };
    const cs_corpus corpus = {.vocab = WORDS, .unknown = -1};
    CS_AUTO(cs_result) *result = cs_result_new();
    CS_AUTO(cs_word_vectors) w = {.corpus = &corpus};
    cs_status status = result ? cs_dense_init(&w.vector, 2, WORDS) : CS_ERR_MEMORY;
    for (int i = 0; i < WORDS && status == CS_OK; ++i) {
        int32_t number = 0;
        w.vector.data[2 * i] = cos(i);
        w.vector.data[2 * i + 1] = i < WORDS - 1 ? sin(i) : -cos(i);
        status = cs_word_table_find(&w.words, &"abcdef"[i], 1, &number);
    }
    if (status != CS_OK) return status;
    cs_item *scores = cs_item_array(cs_result_root(result), "scores");
    return size > 0 && bytes[0] == ':' ? cs_word_analogies(&w, path, scores)
                                       : cs_word_similarity(&w, path, scores);
}

/* Reading in pieces gives the bytes of reading at once. */
cs_status fuzz_gzip(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    CS_AUTO_FREE char *text = NULL;
    char sha256[65], piece[1000];
    int64_t length = 0, place = 0;
    FILE *stream = NULL;
    const cs_status status = cs_file_unpacked(path, &text, &length, sha256, NULL);
    CS_AUTO_FREE char *reason = cs_strdup(cs_reason());
    if (!reason || (status != CS_OK && !strstr(reason, "damaged gzip"))) return status;
    cs_reason_clear();
    if (cs_stream_open(path, &stream) != CS_OK) abort();
    for (size_t got; (got = fread(piece, 1, sizeof piece, stream)) > 0; place += (int64_t)got) {
        if (status == CS_OK &&
            (place + (int64_t)got > length || memcmp(text + place, piece, got) != 0))
            abort();
    }
    if ((status == CS_OK) != !ferror(stream) || (status == CS_OK && place != length)) abort();
    (void)fclose(stream);
    cs_reason_clear();
    return status == CS_OK ? CS_OK : cs_fail(status, "%s", reason);
}

/* --- what a person writes --- */

cs_status fuzz_expression(const char *path, const char *bytes, int64_t size)
{
    (void)path, (void)size;
    cs_expression *e = NULL;
    const cs_status status = cs_expression_parse(bytes, &e);
    if (status == CS_OK) {
        const double x = cs_expression_at(e, 7);
        fuzz_touch(&x, sizeof x);
    }
    cs_expression_free(e);
    return status;
}

cs_status fuzz_spec(const char *path, const char *bytes, int64_t size)
{
    (void)path, (void)size;
    CS_AUTO(cs_plan_file) file = {0};
    cs_objective o;
    cs_context context;
    if (strstr(bytes, "plan-file")) {
        return CS_OK; /* another file of this machine */
    }
    const cs_status status = cs_objective_parse_held(bytes, &file, &o);
    if (status == CS_OK) {
        cs_free(cs_objective_form(bytes));
        for (int64_t s = 1; s <= 6; ++s) {
            bool exists = false;
            fuzz_also(cs_objective_exists(&o, s, &exists));
        }
    } else {
        cs_plan_file_free(&file);
        cs_reason_clear();
        return cs_context_parse(bytes, &context);
    }
    return status;
}

cs_status fuzz_number(const char *path, const char *bytes, int64_t size)
{
    (void)path, (void)size;
    int64_t whole = 0, count = 0, *list = NULL;
    double x = 0;
    fuzz_also(cs_real_parse(bytes, &x));
    fuzz_also(cs_int_parse(bytes, &whole));
    fuzz_also(cs_parse_size(bytes, "--size", &whole));
    const cs_status status = cs_parse_int_list(bytes, "--list", 1, 100, &count, &list);
    cs_free(list);
    return status;
}

cs_status fuzz_regex(const char *path, const char *bytes, int64_t size)
{
    (void)path, (void)size;
    cs_regex *regex = NULL;
    cs_regex_scratch *scratch = NULL;
    const cs_status status = cs_regex_compile(bytes, &regex);
    if (status == CS_OK) {
        int64_t start = 0, end = 0;
        fuzz_also(cs_regex_scratch_make(&scratch));
        fuzz_also(cs_regex_find(regex, scratch, SENTENCE, sizeof SENTENCE - 1, 0, &start, &end));
    }
    cs_regex_scratch_free(scratch);
    cs_regex_free(regex);
    return status;
}

cs_status fuzz_charsmap(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    CS_AUTO(cs_charsmap) map = {0};
    const cs_status status = cs_charsmap_read(bytes, size, &map);
    if (status == CS_OK) {
        CS_AUTO(cs_pieces) p = {0};
        fuzz_also(cs_pieces_start(&p, SENTENCE, sizeof SENTENCE - 1, true));
        fuzz_also(cs_charsmap_apply(&map, &p));
    }
    return status;
}

/* Shown text must not command a terminal, and is cut between characters. */
static void check_shown(const char *shown)
{
    for (const char *at = shown; *at;) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)at, -1, &c);
        const bool stays = c == '\n' || c == '\t';
        if (length < 1 || (utf8proc_category(c) == UTF8PROC_CATEGORY_CC && !stays)) abort();
        at += length;
    }
}

cs_status fuzz_visible(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    static const size_t capacity[] = {1, 7, 8, 64, 4096};
    CS_AUTO_FREE char *written = NULL;
    size_t length = 0;
    for (size_t i = 0; i < sizeof capacity / sizeof capacity[0]; ++i) {
        CS_AUTO_FREE char *to = cs_alloc((int64_t)capacity[i], 1);
        if (!to) return CS_ERR_MEMORY;
        cs_visible_copy(to, capacity[i], bytes, "");
        check_shown(to);
    }
    FILE *out = open_memstream(&written, &length);
    if (!out) abort();
    cs_visible_write(out, bytes, (size_t)size, "\n\t");
    if (fclose(out) != 0 || strlen(written) != length) abort();
    check_shown(written);
    return CS_OK;
}

/* --- pictures --- */

cs_status fuzz_picture(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    CS_AUTO(cs_picture) header = {0}, p = {0};
    fuzz_also(cs_picture_decode("fuzz", bytes, size, true, &header));
    const cs_status status = cs_picture_decode("fuzz", bytes, size, false, &p);
    if (status == CS_OK) {
        if (p.height != header.height || p.width != header.width || p.channels != header.channels) {
            abort();
        }
        fuzz_touch(p.pixel, p.height * p.width * p.channels);
    }
    return status;
}

static cs_status load_images(const char *path)
{
    CS_AUTO(cs_images) m = {0};
    const cs_images_options options = {.threads = 1, .test_share = -1};
    const cs_status status = cs_images_load(path, &options, &m);
    if (status == CS_OK) {
        fuzz_touch(m.pixel, m.count * m.height * m.width * m.channels);
        for (int64_t i = 0; i < m.count; ++i) {
            if (m.label[i] >= m.labels) {
                abort();
            }
        }
    }
    return status;
}

cs_status fuzz_images(const char *path, const char *bytes, int64_t size)
{
    (void)bytes, (void)size;
    return load_images(path);
}

/* The names of a folder. */
cs_status fuzz_image_folder(const char *path, const char *bytes, int64_t size)
{
    (void)path;
    const char *dir = fuzz_image_names(bytes, size);
    bool images = false;
    fuzz_also(cs_image_files_are(dir, &images));
    return load_images(dir);
}
