/* cospec tokenize: training tokenizers, and using them on text. */
#include <string.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/tokenize_lines.h"
#include "io/json.h"
#include "text/bpe_train.h"
#include "text/encoder.h"
#include "text/unicode.h"

static const cs_opt tokenize_options[] = {
    {.name = "model",
     .kind = CS_OPT_CHOICE,
     .argument = "bpe|word|whitespace|char",
     .fallback = "bpe",
     .help = "train: byte-level BPE, or a list of the most frequent words, cut as by --tokenizer "
             "of the other commands."},
    {.name = "vocab",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "8192",
     .low = 1,
     .high = 1 << 30,
     .help = "train: size of the vocabulary; bpe: special tokens and 256 bytes included; word "
             "lists: words, beside special tokens."},
    {.name = "min-frequency",
     .kind = CS_OPT_INT,
     .argument = "N",
     .fallback = "2",
     .low = 1,
     .high = 1 << 30,
     .help = "train, bpe: a pair that is rarer is not merged."},
    {.name = "special",
     .kind = CS_OPT_TEXT,
     .argument = "TOKEN",
     .repeated = true,
     .help = "train, bpe: special tokens, which get the first ids; default: <s> <pad> </s> <unk> "
             "<mask>."},
    {.name = "add-prefix-space",
     .kind = CS_OPT_FLAG,
     .help = "train, bpe: a blank goes before every text, so that its first word is like others."},
    {.name = "split",
     .kind = CS_OPT_CHOICE,
     .argument = "all|train|test",
     .fallback = "all",
     .help = "train (bpe), stats: which documents to use."},
    {.name = "add-special",
     .kind = CS_OPT_FLAG,
     .help = "encode: put the tokenizer's special tokens around each line."},
    {.name = "skip-special", .kind = CS_OPT_FLAG, .help = "decode: leave special tokens out."},
    {0},
};

static const cs_opt *const tokenize_groups[] = {tokenize_options, cs_group_corpus_text, NULL};

/* What each verb takes beyond the common options. */
static const struct {
    const char *verb, *takes;
} verb_options[] = {
    {"train", " model vocab min-frequency special add-prefix-space split corpus whole-file "
              "label-column text-column test-share "},
    {"encode", " add-special "},
    {"decode", " skip-special "},
    {"stats", " split corpus whole-file label-column text-column test-share "},
};

static cs_status refuse_others(const cs_args *args, const char *verb, const char *takes)
{
    for (int g = 0; tokenize_groups[g]; ++g) {
        for (const cs_opt *o = tokenize_groups[g]; o->name; ++o) {
            char *word = cs_format(" %s ", o->name);
            if (!word) {
                return CS_ERR_MEMORY;
            }
            bool refused = cs_args_given(args, o->name) && !strstr(takes, word);
            cs_free(word);
            if (refused) {
                return cs_fail(CS_ERR_USAGE, "--%s has no meaning for 'tokenize %s'", o->name,
                               verb);
            }
        }
    }
    return CS_OK;
}

static cs_status corpus_name(const cs_args *args, const char **out)
{
    *out = cs_args_text(args, "corpus");
    return *out ? CS_OK
                : cs_fail(CS_ERR_USAGE, "tokenize %s needs --corpus NAME|FILE|DIR",
                          cs_args_positional(args, 0));
}

/* --- documents of one split --- */

typedef struct {
    const char *corpus;
    cs_corpus_options options;
    bool train, test; /* which documents are wanted */
    cs_text_take take;
    void *to;
    int64_t documents;
} documents;

static cs_status open_documents(cs_args *args, documents *out)
{
    const char *split = cs_args_text(args, "split");
    *out = (documents){.train = strcmp(split, "test") != 0, .test = strcmp(split, "train") != 0};
    cs_status status = corpus_name(args, &out->corpus);
    return status == CS_OK ? cs_args_open_corpus(args, out->corpus, &out->options) : status;
}

static cs_status take_document(void *to, const char *text, int64_t size, bool held_out)
{
    documents *d = to;
    if (!(held_out ? d->test : d->train)) {
        return CS_OK;
    }
    d->documents += 1;
    return d->take(d->to, text, size);
}

static cs_status each_document(void *from, cs_text_take take, void *to)
{
    documents *d = from;
    d->take = take;
    d->to = to;
    return cs_corpus_visit(d->corpus, &d->options, take_document, d);
}

/* --- train --- */

static cs_status train_bpe(cs_args *args, cs_tokenizer **out)
{
    int count = cs_args_count(args, "special");
    const char **special = cs_alloc(count, sizeof *special);
    documents source = {0};
    cs_status status = special ? open_documents(args, &source) : CS_ERR_MEMORY;
    for (int i = 0; i < count && special; ++i) {
        special[i] = cs_args_text_at(args, "special", i);
    }
    if (status == CS_OK) {
        cs_text_source text = {each_document, &source};
        cs_bpe_options options = {.vocab_size = cs_args_int(args, "vocab"),
                                  .min_frequency = cs_args_int(args, "min-frequency"),
                                  .special = special,
                                  .specials = count,
                                  .add_prefix_space = cs_args_flag(args, "add-prefix-space"),
                                  .threads = cs_args_threads(args),
                                  .progress = cs_output_progress(args)};
        status = cs_tokenizer_train_bpe(&text, &options, out);
    }
    cs_free(special);
    return status;
}

static cs_status train_words(cs_args *args, const char *model, cs_tokenizer **out)
{
    static const char *const bpe_only[] = {"min-frequency", "special", "add-prefix-space", "split"};
    for (size_t i = 0; i < sizeof bpe_only / sizeof bpe_only[0]; ++i) {
        if (cs_args_given(args, bpe_only[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s is for --model bpe", bpe_only[i]);
        }
    }
    const char *name = NULL;
    cs_corpus corpus = {0};
    cs_corpus_options options = {0};
    cs_status status = corpus_name(args, &name);
    if (status == CS_OK) {
        status = cs_args_open_corpus(args, name, &options);
    }
    options.vocab_size = cs_args_int(args, "vocab");
    if (status == CS_OK) {
        status = cs_splitter_by_name(model, &options.splitter);
    }
    if (status == CS_OK) {
        status = cs_corpus_load(name, &options, &corpus);
    }
    if (status == CS_OK) {
        status = cs_tokenizer_of_corpus(&corpus, options.splitter, out);
    }
    cs_corpus_free(&corpus);
    return status;
}

static cs_status train_result(cs_args *args, const char *model, const char *path,
                              const cs_tokenizer *t)
{
    static const char *const role[CS_TOKEN_ROLES] = {"unk", "pad", "mask", "bos", "eos"};
    json_t *json = json_pack("{s:s, s:s, s:I, s:{}}", "tokenizer", path, "model", model,
                             "vocabulary", (json_int_t)cs_tokenizer_vocab(t), "special");
    cs_table table = {0};
    cs_status status = json ? cs_table_init(&table, "tokenizer,model,vocabulary")
                            : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    for (int r = 0; r < CS_TOKEN_ROLES && status == CS_OK; ++r) {
        int32_t id = cs_tokenizer_special(t, (cs_token_role)r);
        status = cs_json_set(json_object_get(json, "special"), role[r],
                             id < 0 ? json_null() : json_integer(id));
    }
    if (status == CS_OK && (status = cs_table_row(&table)) == CS_OK &&
        (status = cs_table_text(&table, "tokenizer", path)) == CS_OK &&
        (status = cs_table_text(&table, "model", model)) == CS_OK &&
        (status = cs_table_int(&table, "vocabulary", cs_tokenizer_vocab(t))) == CS_OK) {
        status = cs_output_result(args, "train", json, &table);
    }
    cs_table_free(&table);
    json_decref(json);
    return status;
}

static cs_status run_train(cs_args *args)
{
    const char *model = cs_args_text(args, "model");
    cs_tokenizer *t = NULL;
    char *path = NULL;
    if (!cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "tokenize train needs -o DIR");
    }
    cs_status status = cs_output_claim(args, "tokenizer.json");
    if (status == CS_OK) {
        status = strcmp(model, "bpe") == 0 ? train_bpe(args, &t) : train_words(args, model, &t);
    }
    if (status == CS_OK && cs_tokenizer_vocab(t) < cs_args_int(args, "vocab")) {
        cs_output_note(args, "the text gives %lld tokens, fewer than --vocab %lld",
                       (long long)cs_tokenizer_vocab(t), (long long)cs_args_int(args, "vocab"));
    }
    if (status == CS_OK) {
        status = cs_output_path(args, "tokenizer.json", &path);
    }
    if (status == CS_OK) {
        status = cs_tokenizer_write(t, path);
    }
    if (status == CS_OK) {
        status = train_result(args, model, path, t);
    }
    cs_free(path);
    cs_tokenizer_free(&t);
    return status;
}

/* --- stats --- */

typedef struct {
    cs_encoder encoder;
    int64_t bytes, words, tokens, unknown, used;
    uint8_t *seen; /* ids */
} counts;

static cs_status count_document(void *to, const char *text, int64_t size)
{
    counts *c = to;
    bool inside = false;
    for (const uint8_t *at = (const uint8_t *)text, *end = at + size; at < end;) {
        int32_t point = 0;
        at += cs_char_at(at, &point);
        bool space = cs_char_is_space(point);
        c->words += !space && !inside;
        inside = !space;
    }
    c->bytes += size;
    cs_status status = cs_encoder_encode(&c->encoder, text, size, false);
    if (status != CS_OK) {
        return status;
    }
    int32_t unknown = cs_tokenizer_special(c->encoder.tokenizer, CS_TOKEN_UNK);
    for (int64_t i = 0; i < c->encoder.count; ++i) {
        int32_t id = c->encoder.id[i];
        c->unknown += id == unknown;
        c->used += !c->seen[id];
        c->seen[id] = 1;
    }
    c->tokens += c->encoder.count;
    return CS_OK;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

static cs_status stats_result(cs_args *args, const counts *c, int64_t docs)
{
    int64_t vocab = cs_tokenizer_vocab(c->encoder.tokenizer);
    const struct {
        const char *name;
        int64_t value;
    } whole[] = {{"documents", docs},   {"bytes", c->bytes},     {"words", c->words},
                 {"tokens", c->tokens}, {"unknown", c->unknown}, {"vocabulary", vocab},
                 {"used", c->used}};
    const struct {
        const char *name;
        double value;
    } ratio[] = {{"tokens_per_word", share(c->tokens, c->words)},
                 {"bytes_per_token", share(c->bytes, c->tokens)},
                 {"unknown_share", share(c->unknown, c->tokens)},
                 {"used_share", share(c->used, vocab)}};
    cs_table table = {0};
    json_t *json = json_object();
    cs_status status =
        json ? cs_table_init(&table, "documents,bytes,words,tokens,unknown,vocabulary,used,"
                                     "tokens_per_word,bytes_per_token,unknown_share,used_share")
             : cs_fail(CS_ERR_MEMORY, "out of memory for the statistics");
    if (status == CS_OK) {
        status = cs_table_row(&table);
    }
    for (size_t i = 0; i < sizeof whole / sizeof whole[0] && status == CS_OK; ++i) {
        status = cs_json_set(json, whole[i].name, json_integer(whole[i].value));
        if (status == CS_OK) {
            status = cs_table_int(&table, whole[i].name, whole[i].value);
        }
    }
    for (size_t i = 0; i < sizeof ratio / sizeof ratio[0] && status == CS_OK; ++i) {
        status = cs_json_set(json, ratio[i].name, cs_json_number(ratio[i].value));
        if (status == CS_OK) {
            status = cs_table_real(&table, ratio[i].name, ratio[i].value);
        }
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "stats", json, &table);
    }
    cs_table_free(&table);
    json_decref(json);
    return status;
}

static cs_status run_stats(cs_args *args, const cs_tokenizer *t)
{
    documents source = {0};
    counts c = {.seen = cs_calloc(cs_tokenizer_vocab(t), 1)};
    cs_encoder_init(&c.encoder, t);
    cs_status status = c.seen ? open_documents(args, &source) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = each_document(&source, count_document, &c);
    }
    if (status == CS_OK) {
        status = stats_result(args, &c, source.documents);
    }
    cs_encoder_free(&c.encoder);
    cs_free(c.seen);
    return status;
}

/* --- dispatch --- */

static cs_status run_with(cs_args *args, const char *verb)
{
    bool stats = strcmp(verb, "stats") == 0;
    int words = cs_args_positionals(args);
    if (words < 2 || words > (stats ? 2 : 3)) {
        return cs_fail(CS_ERR_USAGE, "tokenize %s takes a tokenizer.json%s", verb,
                       stats ? "" : " and at most one FILE");
    }
    const char *path = cs_args_positional(args, 1);
    cs_tokenizer *t = NULL;
    cs_status status = cs_output_input(args, path);
    if (status == CS_OK) {
        status = cs_tokenizer_read(path, &t);
    }
    if (status == CS_OK) {
        status = stats                         ? run_stats(args, t)
                 : strcmp(verb, "encode") == 0 ? cs_tokenize_encode(args, t)
                                               : cs_tokenize_decode(args, t);
    }
    cs_tokenizer_free(&t);
    return status;
}

static cs_status run_tokenize(cs_args *args)
{
    const char *verb = cs_args_positionals(args) > 0 ? cs_args_positional(args, 0) : "";
    for (size_t i = 0; i < sizeof verb_options / sizeof verb_options[0]; ++i) {
        if (strcmp(verb, verb_options[i].verb) != 0) {
            continue;
        }
        cs_status status = refuse_others(args, verb, verb_options[i].takes);
        if (status != CS_OK || i > 0) {
            return status == CS_OK ? run_with(args, verb) : status;
        }
        return cs_args_positionals(args) == 1
                   ? run_train(args)
                   : cs_fail(CS_ERR_USAGE, "tokenize train takes no argument, got '%s'",
                             cs_args_positional(args, 1));
    }
    return cs_fail(CS_ERR_USAGE, "tokenize '%s': train, encode, decode or stats", verb);
}

const cs_command cs_cmd_tokenize = {
    .name = "tokenize",
    .summary = "Train tokenizers; turn text into token ids and back",
    .description =
        "  cospec tokenize train --corpus NAME|FILE|DIR -o DIR\n"
        "  cospec tokenize encode TOKENIZER [FILE]\n"
        "  cospec tokenize decode TOKENIZER [FILE]\n"
        "  cospec tokenize stats TOKENIZER --corpus NAME|FILE|DIR\n\n"
        "TOKENIZER is a tokenizer.json in the form of Hugging Face: byte-level BPE, WordPiece or a "
        "word list (docs/formats.md). train writes DIR/tokenizer.json. encode prints the ids of "
        "each line of FILE or of standard input, decode the text of each line of ids; with "
        "byte-level BPE decoding what was encoded gives every byte back, but for the space that "
        "add-prefix-space puts before a text. stats tells how a tokenizer fits a corpus; words "
        "are runs of non-space there.",
    .positional = "train|encode|decode|stats [TOKENIZER] [FILE]",
    .groups = tokenize_groups,
    .examples = "# byte-level BPE of a text of one's own\n"
                "cospec tokenize train --corpus verses.txt --vocab 300 -o bpe\n"
                "# ids of each line, and the text again\n"
                "cospec tokenize encode bpe/tokenizer.json verses.txt > verses.ids\n"
                "cospec tokenize decode bpe/tokenizer.json verses.ids\n"
                "# tokens a word, bytes a token\n"
                "cospec tokenize stats bpe/tokenizer.json --corpus verses.txt\n"
                "# a matrix over its tokens\n"
                "cospec cooc --corpus verses.txt --tokenizer bpe/tokenizer.json --objective ar "
                "--context nearest:1 -o bigrams",
    .run = run_tokenize,
    .without = "device dry-run resume",
};
