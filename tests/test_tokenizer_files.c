/* tokenizer.json: what is refused and how it is named, full disks, memory. */
#include "corpus_support.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "text/bpe.h"
#include "text/unicode.h"
#include "tokenizer_support.h"

/* Small files, with one thing wrong each. %s stands for the 256 bytes of the vocabulary. */
static const char *const bpe_form =
    "{\"added_tokens\":[%s],\"normalizer\":%s,\"pre_tokenizer\":{\"type\":\"%s\"},"
    "\"decoder\":{\"type\":\"ByteLevel\"},\"post_processor\":%s,"
    "\"model\":{\"type\":\"BPE\",%s\"vocab\":{%s%s},\"merges\":%s}}";

/* "\"!\":0,...": the bytes in the order of their characters. */
static void put_bytes(char *out, size_t capacity, int last)
{
    size_t used = 0;
    int id = 0;
    for (int32_t c = 0; c < 0x200; ++c) {
        char spelling[8] = "";
        if (cs_char_byte(c) < 0 || id > last) {
            continue;
        }
        (void)utf8proc_encode_char(c, (utf8proc_uint8_t *)spelling);
        int n = snprintf(out + used, capacity - used, "%s\"%s%s\":%d", id > 0 ? "," : "",
                         c == '"' || c == '\\' ? "\\" : "", spelling, id);
        assert_true(n > 0 && (size_t)n < capacity - used);
        used += (size_t)n;
        id += 1;
    }
}

static const char *text_or(const char *text, const char *usual)
{
    return text ? text : usual;
}

TEST_IN_DIR(bad_bpe_files_are_named)
{
    static const struct {
        const char *added, *normalizer, *pre, *post, *model, *vocab, *merges;
        int last;           /* the last of the bytes in the vocabulary; 0: 255 */
        const char *reason; /* NULL: it is fine */
    } cases[] = {
        {.vocab = ",\"ab\":256", .merges = "[\"a b\"]"},
        {.vocab = ",\"ab\":256", .merges = "[[\"a\",\"b\"]]"},
        {.last = 255},
        {.vocab = ",\"ab\":257", .reason = "model.vocab: id 257 of token \"ab\" is not in 0..256"},
        {.vocab = ",\"ab\":7", .reason = "have the same id 7"},
        {.vocab = ",\"ab\":-1", .reason = "id -1 of token \"ab\""},
        {.vocab = ",\"ab\":\"x\"", .reason = "token \"ab\": expected an integer id"},
        {.vocab = ",\"ab\":256",
         .merges = "[\"a c\"]",
         .reason = "model.merges[0]: token \"ac\" is not in the vocabulary"},
        {.merges = "[\"a xyz\"]",
         .reason = "model.merges[0]: token \"xyz\" is not in the vocabulary"},
        {.vocab = ",\"ab\":256",
         .merges = "[\"a b\",\"a b\"]",
         .reason = "model.merges[1]: \"a\" and \"b\" are merged twice"},
        {.merges = "[\"a b c\"]", .reason = "model.merges[0]: expected two"},
        {.merges = "[[\"a\"]]", .reason = "model.merges[0]: expected two"},
        {.merges = "{}", .reason = "model.merges: expected a list"},
        {.last = 254, .reason = "byte 0xAD"},
        {.normalizer = "{\"type\":\"NFC\"}"},
        {.normalizer = "{\"type\":\"Odd\"}",
         .reason = "normalizer.type: \"Odd\" is not supported (NFC, "},
        {.normalizer = "{\"type\":\"NFC\",\"deep\":1}",
         .reason = "normalizer: unknown key \"deep\""},
        {.normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":3}]}",
         .reason = "normalizer.normalizers[1].type: expected a string"},
        {.pre = "Metaspace", .reason = "pre_tokenizer.replacement: expected a string"},
        {.pre = "UnicodeScripts",
         .reason = "pre_tokenizer.type: \"UnicodeScripts\" is not supported"},
        {.post = "{\"type\":\"Odd\"}", .reason = "post_processor.type: \"Odd\" is not supported"},
        {.post = "{\"type\":\"ByteLevel\",\"odd\":1}",
         .reason = "post_processor: unknown key \"odd\""},
        {.post = "{\"type\":\"RobertaProcessing\",\"sep\":[\"x\",900],\"cls\":[\"y\",1]}",
         .reason = "post_processor.sep: expected a token id in 0..255"},
        {.model = "\"byte_fallback\":1,", .reason = "model.byte_fallback: expected true or false"},
        {.model = "\"byte_fallback\":true,\"end_of_word_suffix\":\"_\",",
         .reason = "model.byte_fallback: not supported together with end_of_word_suffix"},
        {.model = "\"seed\":1,", .reason = "model: unknown key \"seed\""},
        {.model = "\"dropout\":0.1,", .reason = "model.dropout"},
        {.model = "\"unk_token\":\"<unk>\",",
         .reason = "model.unk_token: \"<unk>\" is not in the vocabulary"},
        {.added = "{\"id\":256,\"content\":\"<s>\",\"special\":true}"},
        {.added = "{\"id\":300,\"content\":\"<s>\"}",
         .reason = "added_tokens[0]: id 300 of token \"<s>\" is not in 0..256"},
        {.added = "{\"id\":5,\"content\":\"a\"}",
         .reason = "added_tokens[0].id: \"a\" has another id in model.vocab"},
        {.added = "{\"id\":256,\"content\":\"\"}", .reason = "added_tokens[0].content"},
        {.added = "{\"id\":256,\"content\":\"x y\",\"single_word\":1}",
         .reason = "added_tokens[0].single_word: expected true or false"},
        {.added = "{\"id\":256,\"content\":\" \"}",
         .normalizer = "{\"type\":\"Strip\"}",
         .reason = "added_tokens: \" \": the normalizer removes the whole token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char bytes[8192], file[16384];
        put_bytes(bytes, sizeof bytes, cases[i].last ? cases[i].last : 255);
        (void)snprintf(file, sizeof file, bpe_form, text_or(cases[i].added, ""),
                       text_or(cases[i].normalizer, "null"), text_or(cases[i].pre, "ByteLevel"),
                       text_or(cases[i].post, "null"), text_or(cases[i].model, ""), bytes,
                       text_or(cases[i].vocab, ""), text_or(cases[i].merges, "[]"));
        const char *path = put(state, "t.json", file);
        cs_tokenizer *t = NULL;
        if (cases[i].reason) {
            assert_fails(cs_tokenizer_read(path, &t), CS_ERR_INPUT, cases[i].reason);
            assert_null(t);
        } else {
            t = tokenizer_at(path);
            cs_tokenizer_free(&t);
        }
    }
}

TEST_IN_DIR(bad_files_are_named)
{
    static const test_refusal cases[] = {
        {"", "the file is empty"},
        {"{", "t.json:1:"},
        {"[]", "model: expected an object"},
        {"{\"model\":{\"type\":\"Odd\",\"vocab\":{\"a\":0}}}",
         "model.type: \"Odd\" is not supported"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}",
         "model.vocab: expected a list of tokens and scores"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"b\"]]}}",
         "model.vocab[1]: expected [\"token\", score]"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"a\",-2]]}}",
         "model.vocab[1]: \"a\" is given twice"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]],\"unk_id\":null}}",
         "model.unk_id: expected the id of a token"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}", "model.vocab: 0 tokens"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"a\":1}}}", "duplicate"},
        {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}},"
         "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}",
         "model.unk_token: expected a token"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"},\"kind\":1}",
         "unknown key \"kind\""},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"},"
         "\"decoder\":{\"type\":\"CTC\"}}",
         "decoder.type: \"CTC\" is not supported"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"},"
         "\"decoder\":[]}",
         "decoder: expected an object or null"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_tokenizer *t = NULL;
        const char *path = put(state, "t.json", cases[i].text);
        assert_fails(cs_tokenizer_read(path, &t), CS_ERR_INPUT, cases[i].reason);
        assert_null(t);
    }
    cs_tokenizer *t = NULL;
    assert_fails(cs_tokenizer_read(in_dir(state, "none.json"), &t), CS_ERR_IO, "none.json");
}

/* --- files --- */

static cs_status write_small(const char *path)
{
    cs_text_source source = {english, NULL};
    CS_AUTO(cs_tokenizer) *t = NULL;
    cs_status status = cs_tokenizer_train_bpe(&source, NULL, &t);
    if (status == CS_OK) status = cs_tokenizer_write(t, path);
    return status;
}

TEST_IN_DIR(a_full_disk_leaves_nothing)
{
    const char *path = in_dir(state, "t.json");
    assert_int_equal(on_full_disk(write_small, path, "t.json"), CS_ERR_IO);
    assert_int_equal(entries(state), 0);
}

/* Each kind of model: reads, encodes, decodes, writes. */
static cs_status use(const char *path)
{
    static const char text[] = "The caf\xC3\xA9's \xE4\xB8\xAD <s> 12 <mask>";
    CS_AUTO(cs_tokenizer) *t = NULL;
    CS_AUTO_FREE int32_t *ids = NULL;
    int64_t count = 0, size = 0;
    CS_AUTO_FREE char *back = NULL;
    cs_status status = cs_tokenizer_read(path, &t);
    if (status == CS_OK) status = encode_once(t, text, (int64_t)strlen(text), true, &ids, &count);
    if (status == CS_OK) status = cs_tokenizer_decode(t, ids, count, true, &back, &size);
    if (status == CS_OK) status = cs_tokenizer_write(t, path);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    json_auto_t *golden = NULL;
    OK(cs_json_read(GOLDEN_TOKENIZERS, &golden));
    static const char *const name[] = {"roberta", "bert-uncased", "word"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; ++i) {
        const char *path = in_dir(state, "t.json");
        OK(cs_json_write(path, json_object_get(json_object_get(golden, name[i]), "tokenizer")));
        fail_each_allocation(use, path);
    }
}
