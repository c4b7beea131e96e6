/* A model's folder as a tokenizer: tokens and roles that its other files list. The ids are those of
 * AutoTokenizer (transformers 5.24), which tests/oracle/tokenizer_folder_oracle.py compares. */
#include "corpus_support.h"
#include "io_support.h"
#include "tokenizer_support.h"

/* Lower case; words between blanks; <old> is added already, <in> is in the vocabulary only. */
static const char tokenizer[] =
    "{\"added_tokens\":[{\"id\":4,\"content\":\"<old>\",\"special\":false,\"normalized\":true}],"
    "\"normalizer\":{\"type\":\"Lowercase\"},\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},"
    "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0,\"a\":1,"
    "\"b\":2,\"<in>\":3}}}";

#define GPTNEOX "\"tokenizer_class\":\"GPTNeoXTokenizer\""

static const struct {
    const char *config, *map, *added, *model; /* NULL: no file */
    const char *text, *ids;
    int32_t role[CS_TOKEN_ROLES]; /* of a case with roles: 0 stands for none of the files' */
} cases[] = {
    {.text = "a<x>b <old>b", .ids = "0 4 2"},
    {.config = "{}", .added = "{\"<x>\":5}", .text = "a<x>b", .ids = "1 5 2"},
    {.added = "{\"<y>\":9,\"<x>\":7}", .text = "a<x>b<y>", .ids = "1 5 2 6"},
    {.added = "{\"<x>\":4}", .text = "a<x>b", .ids = "0"}, /* <old> has that id */
    {.config = "{\"additional_special_tokens\":[\"<x>\"]}", .text = "a<x>b<X>", .ids = "1 5 0"},
    {.config = "{\"extra_special_tokens\":[\"<x>\"],\"additional_special_tokens\":[\"<y>\"],"
               "\"model_max_length\":1000000000000000019884624838656}",
     .text = "a<x>b<y>",
     .ids = "1 5 0"},
    {.config = "{\"extra_special_tokens\":{\"image_token\":\"<x>\"}}",
     .text = "a<x>b",
     .ids = "1 5 2"},
    {.config = "{\"image_token\":\"<x>\",\"mask_token\":\"<y>\"}",
     .text = "a<x>b<y><in>",
     .ids = "1 6 2 5 3",
     .role = {[CS_TOKEN_MASK] = 5}},
    {.config = "{\"added_tokens_decoder\":{\"9\":{\"content\":\"<x>\",\"lstrip\":true,"
               "\"special\":true},\"4\":{\"content\":\"<old>\",\"normalized\":false}}}",
     .map = "{\"mask_token\":\"<z>\"}", /* not read when there is added_tokens_decoder */
     .added = "{\"<y>\":5}",
     .text = "a <x>b<y> <old><OLD> <z>",
     .ids = "1 5 0 4 0 0"},
    {.config = "{\"mask_token\":\"<y>\",\"pad_token\":\"a\"}",
     .map = "{\"mask_token\":{\"content\":\"<x>\",\"lstrip\":true,\"special\":false},"
            "\"cls_token\":\"<in>\",\"sep_token\":\"b\",\"additional_special_tokens\":[\"<z>\"]}",
     .text = "a <x><in>b<y><z>",
     .ids = "1 5 3 2 0 6",
     .role = {[CS_TOKEN_MASK] = 5, [CS_TOKEN_BOS] = 3, [CS_TOKEN_EOS] = 2, [CS_TOKEN_PAD] = 1}},
    /* of the class: <|endoftext|> is 5 and <|padding|> 6 */
    {.config = "{" GPTNEOX "}", .text = "a<|padding|>b<|endoftext|>", .ids = "1 6 2 5"},
    {.config = "{" GPTNEOX ",\"pad_token\":null}", .text = "a <|padding|>", .ids = "1 0"},
    {.config = "{" GPTNEOX ",\"pad_token\":\"b\"}",
     .text = "<|endoftext|>a <|padding|>",
     .ids = "5 1 0",
     .role = {[CS_TOKEN_PAD] = 2}},
    {.config = "{}",
     .model = "{\"model_type\":\"gpt_neox\"}",
     .text = "a<|padding|>",
     .ids = "1 6"},
    {.config = "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}",
     .model = "{\"model_type\":\"gpt_neox\"}",
     .text = "a <|padding|>",
     .ids = "1 0"},
    {.model = "{\"model_type\":\"phi3\",\"tokenizer_class\":\"LlamaTokenizer\"}",
     .text = "a <s>",
     .ids = "1 0"},
    {.model = "{\"model_type\":\"llama\",\"tokenizer_class\":\"LlamaTokenizer\"}",
     .text = "a<s>",
     .ids = "1 5"},
    {.model = "{\"model_type\":\"mpnet\"}", .text = "a <mask>b", .ids = "1 9 2"},
    {.config = "{\"tokenizer_class\":\"T5TokenizerFast\",\"extra_ids\":2}",
     .text = "</s><extra_id_1> <extra_id_2>",
     .ids = "5 8 0"},
    {.config = "{\"tokenizer_class\":\"Qwen2Tokenizer\",\"eos_token\":\"<old>\"}",
     .text = "b<old>a<OLD>", /* is not in lower case before */
     .ids = "2 4 0"},
};

static void put_folder(void **state, const char *config, const char *map, const char *added,
                       const char *model)
{
    static const char *const name[] = {"tokenizer_config.json", "special_tokens_map.json",
                                       "added_tokens.json", "config.json"};
    const char *const file[] = {config, map, added, model};
    (void)put(state, "tokenizer.json", tokenizer);
    for (int i = 0; i < 4; ++i) {
        (void)unlink(in_dir(state, name[i]));
        if (file[i]) (void)put(state, name[i], file[i]);
    }
}

TEST_IN_DIR(other_files_list_tokens_and_roles)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char got[128] = "";
        CS_AUTO_FREE int32_t *ids = NULL;
        int64_t count = 0;
        put_folder(state, cases[i].config, cases[i].map, cases[i].added, cases[i].model);
        CS_AUTO(cs_tokenizer) *t = tokenizer_at(in_dir(state, "."));
        OK(encode_once(t, cases[i].text, (int64_t)strlen(cases[i].text), false, &ids, &count));
        for (int64_t k = 0; k < count; ++k) {
            const size_t used = strlen(got);
            (void)snprintf(got + used, sizeof got - used, "%s%d", k > 0 ? " " : "", ids[k]);
        }
        assert_string_equal(got, cases[i].ids);
        for (int r = 0; r < CS_TOKEN_ROLES; ++r) {
            if (cases[i].role[r] > 0)
                assert_int_equal(cs_tokenizer_special(t, (cs_token_role)r), cases[i].role[r]);
        }
        assert_int_equal(cs_tokenizer_special(t, CS_TOKEN_UNK), 0);
    }
}

/* Steps of tokenizer.json and keys of tokenizer_config.json that switch them, on one text. */
#define BERT(lower)                                                                                \
    "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"              \
    "\"strip_accents\":null,\"lowercase\":" lower "}"
#define SEQUENCE(steps) "{\"type\":\"Sequence\",\"normalizers\":[" steps "]}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true}"
#define MARKED "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\"}"
#define BLANKS "{\"type\":\"WhitespaceSplit\"}"
#define CLASS(name, more) "{\"tokenizer_class\":\"" name "\"" more "}"
static const struct {
    const char *normalizer, *pre_tokenizer, *config;
    const char *result; /* ids, or the reason of a refusal */
} steps[] = {
    {BERT("true"), BLANKS, CLASS("BertTokenizerFast", ",\"do_lower_case\":false"), "4 1"},
    {BERT("false"), BLANKS, CLASS("BertTokenizer", ",\"do_lower_case\":null"), "2 2"},
    {BERT("true"), BLANKS, CLASS("BertTokenizer", ",\"strip_accents\":false"), "2 1"},
    {BERT("true"), BLANKS, CLASS("PreTrainedTokenizerFast", ",\"do_lower_case\":false"), "2 2"},
    {BERT("true"), BLANKS, CLASS("BertTokenizer", ",\"do_lower_case\":3"),
     "tokenizer_config.json: do_lower_case: expected true or false"},
    {"null", BLANKS, CLASS("BertTokenizer", ",\"do_lower_case\":true"),
     "tokenizer_config.json: do_lower_case: true contradicts tokenizer.json"},
    {"null", BYTES, CLASS("GPT2Tokenizer", ",\"add_prefix_space\":true"), "8 9"},
    {"null", BYTES, CLASS("PreTrainedTokenizerFast", ",\"add_prefix_space\":true"), "4 9"},
    {"null", BLANKS, CLASS("RobertaTokenizer", ",\"add_prefix_space\":true"),
     "tokenizer_config.json: add_prefix_space: true contradicts tokenizer.json"},
    {"null", MARKED, CLASS("XLMRobertaTokenizer", ""), "6 5"},
    {"null", MARKED, CLASS("XLMRobertaTokenizer", ",\"add_prefix_space\":false"), "4 5"},
    {SEQUENCE("{\"type\":\"Prepend\",\"prepend\":\"_\"},"
              "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\" _\"}"),
     BLANKS, CLASS("LlamaTokenizer", ",\"add_prefix_space\":false"), "4 5"},
    {SEQUENCE("{\"type\":\"Lowercase\"}"), BLANKS, CLASS("XLNetTokenizer", ""), "4 1"},
    {SEQUENCE("{\"type\":\"NFKD\"},{\"type\":\"StripAccents\"}"), BLANKS,
     CLASS("AlbertTokenizer", ",\"do_lower_case\":true"), "2 2"},
    {SEQUENCE("{\"type\":\"NFKD\"},{\"type\":\"StripAccents\"}"), BLANKS,
     CLASS("AlbertTokenizer", ",\"keep_accents\":true"), "keep_accents: true contradicts"},
};

TEST_IN_DIR(keys_of_the_config_switch_steps)
{
    static const char text[] = "A \xC3\xA1";
    for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
        char got[32] = "";
        int32_t *ids = NULL;
        int64_t count = 0;
        CS_AUTO_FREE char *file = cs_format(
            "{\"normalizer\":%s,\"pre_tokenizer\":%s,\"model\":{\"type\":\"WordLevel\","
            "\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0,\"\xC3\xA1\":1,\"a\":2,\"_a\":3,"
            "\"A\":4,\"_\xC3\xA1\":5,\"_A\":6,\" \":7,\"\xC4\xA0"
            "A\":8,\"\xC4\xA0\xC3\x83\xC2\xA1\":9}}}",
            steps[i].normalizer, steps[i].pre_tokenizer);
        (void)put(state, "tokenizer.json", file);
        (void)put(state, "tokenizer_config.json", steps[i].config);
        if (steps[i].result[0] > '9') {
            cs_tokenizer *refused = NULL;
            assert_fails(cs_tokenizer_read(in_dir(state, "."), &refused), CS_ERR_INPUT,
                         steps[i].result);
            continue;
        }
        CS_AUTO(cs_tokenizer) *t = tokenizer_at(in_dir(state, "."));
        OK(encode_once(t, text, (int64_t)strlen(text), false, &ids, &count));
        assert_int_equal(count, 2);
        (void)snprintf(got, sizeof got, "%d %d", ids[0], ids[1]);
        cs_free(ids);
        assert_string_equal(got, steps[i].result);
    }
}

TEST_IN_DIR(the_file_alone_has_its_own_tokens)
{
    put_folder(state, NULL, NULL, "{\"<x>\":5}", NULL);
    CS_AUTO(cs_tokenizer) *t = tokenizer_at(in_dir(state, "tokenizer.json"));
    assert_int_equal(cs_tokenizer_vocab(t), 5);
}

TEST_IN_DIR(bad_lists_are_named)
{
    static const struct {
        const char *config, *map, *added, *reason;
    } bad[] = {
        {.config = "[]", .reason = "tokenizer_config.json: expected an object"},
        {.map = "3", .reason = "special_tokens_map.json: expected an object"},
        {.added = "{\"<x>\":\"5\"}", .reason = "added_tokens.json: \"<x>\": expected an id"},
        {.added = "{\"<x>\":5", .reason = "added_tokens.json:1"},
        {.config = "{\"mask_token\":3}", .reason = "tokenizer_config.json: mask_token: expected"},
        {.config = "{\"mask_token\":{\"content\":\"m\",\"odd\":1}}",
         .reason = "tokenizer_config.json: mask_token: unknown key \"odd\""},
        {.map = "{\"mask_token\":{\"content\":\"m\",\"lstrip\":1}}",
         .reason = "special_tokens_map.json: mask_token.lstrip: expected true or false"},
        {.config = "{\"added_tokens_decoder\":[]}", .reason = "added_tokens_decoder: expected"},
        {.config = "{\"added_tokens_decoder\":{\"x\":{\"content\":\"m\"}}}",
         .reason = "added_tokens_decoder.x: expected an id"},
        {.config = "{\"added_tokens_decoder\":{\"5\":\"m\"}}",
         .reason = "added_tokens_decoder.5: expected an id and an object"},
        {.config = "{\"extra_special_tokens\":[5]}",
         .reason = "tokenizer_config.json: extra_special_tokens: expected"},
        {.config = "{\"split_special_tokens\":true}",
         .reason = "split_special_tokens true is not supported"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_tokenizer *t = NULL;
        put_folder(state, bad[i].config, bad[i].map, bad[i].added, NULL);
        assert_fails(cs_tokenizer_read(in_dir(state, "."), &t), CS_ERR_INPUT, bad[i].reason);
    }
}

/* Only a token of the class alone is left out. */
TEST_IN_DIR(a_model_has_rows_for_its_tokens)
{
    static const char model[] = "{\"model_type\":\"gpt_neox\",\"vocab_size\":6}";
    put_folder(state, "{\"bos_token\":\"<x>\"}", NULL, NULL, model);
    CS_AUTO(cs_tokenizer) *t = NULL;
    OK(cs_tokenizer_read_for_model(in_dir(state, "."), &t));
    assert_int_equal(cs_tokenizer_vocab(t), 6);
    assert_int_equal(cs_tokenizer_id(t, "<x>"), 5);
    put_folder(state, "{\"pad_token\":\"<y>\",\"bos_token\":\"<x>\"}", NULL, NULL, model);
    cs_tokenizer_free(&t);
    OK(cs_tokenizer_read_for_model(in_dir(state, "."), &t));
    assert_int_equal(cs_tokenizer_vocab(t), 7);
}

static cs_status read_only(const char *path)
{
    CS_AUTO(cs_tokenizer) *t = NULL;
    cs_status status = cs_tokenizer_read(path, &t);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    for (size_t i = 1; i < sizeof cases / sizeof *cases; ++i) {
        put_folder(state, cases[i].config, cases[i].map, cases[i].added, cases[i].model);
        fail_each_allocation(read_only, in_dir(state, "."));
    }
}
