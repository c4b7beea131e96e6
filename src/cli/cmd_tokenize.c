/* cospec tokenize: training tokenizers, and using them on text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/number.h"
#include "io/result.h"
#include "text/bpe_train.h"
#include "text/encoder.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

static const cs_opt tokenize_options[] = {
    CS_CHOICE("model", "bpe|word|whitespace|char", "bpe",
              "train: byte-level BPE, or a list of the most frequent words, cut as by --tokenizer "
              "of the other commands."),
    CS_INT("vocab", "N", "8192", 1, 1 << 30,
           "train: size of the vocabulary; bpe: special tokens and 256 bytes included; word "
           "lists: words, beside special tokens."),
    CS_INT("min-frequency", "N", "2", 1, 1 << 30,
           "train, bpe: a pair that is rarer is not merged."),
    CS_TEXTS("special", "TOKEN",
             "train, bpe: special tokens, which get the first ids; default: <s> <pad> </s> <unk> "
             "<mask>."),
    CS_FLAG("add-prefix-space",
            "train, bpe: a blank goes before every text, so that its first word is like others."),
    CS_CHOICE("split", "all|train|test", "all", "train (bpe), stats: which documents to use."),
    CS_FLAG("add-special", "encode: put the tokenizer's special tokens around each line."),
    CS_FLAG("skip-special", "decode: leave special tokens out."),
    {0},
};

static const cs_opt *const tokenize_groups[] = {tokenize_options, cs_group_corpus_text, NULL};

/* What each verb takes beyond the common options. */
static const struct {
    const char *name, *takes;
} verb_options[] = {
    {"train", "model vocab min-frequency special add-prefix-space split corpus whole-file "
              "label-column text-column test-share format label-field text-field invalid"},
    {"encode", "add-special"},
    {"decode", "skip-special"},
    {"stats", "split corpus whole-file label-column text-column test-share format label-field "
              "text-field invalid"},
};

static cs_status refuse_others(const cs_args *args, const char *verb, const char *takes)
{
    for (int g = 0; tokenize_groups[g]; ++g) {
        for (const cs_opt *o = tokenize_groups[g]; o->name; ++o) {
            if (cs_args_given(args, o->name) && !cs_listed(takes, o->name)) {
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

/* --- lines ------------------------------------------------------------------------------------ */

/* Lines of FILE, or of standard input, and where the result of each goes. */
typedef struct {
    const char *name; /* for messages */
    char *bytes;
    int64_t size;
    FILE *text; /* what is printed; a memory stream */
    char *printed;
    size_t printed_size;
    json_t *list; /* NULL unless JSON is asked for */
} job;

/* Called with one line without its end. */
typedef cs_status (*line_fn)(const cs_args *args, void *ctx, job *j, const char *line,
                             int64_t size);

static cs_status read_lines(cs_args *args, job *j)
{
    bool given = cs_args_positionals(args) == 3;
    const char *path = given ? cs_args_positional(args, 2) : "/dev/stdin";
    int64_t free_now = cs_mem_available();
    cs_status status = given ? cs_output_input(args, path) : CS_OK;
    j->name = given ? path : "standard input";
    if (status == CS_OK)
        status =
            cs_file_read(path, free_now > 0 ? free_now / 4 : INT64_MAX - 1, &j->bytes, &j->size);
    if (status == CS_OK && given) status = cs_lfs_check(path, j->bytes, j->size);
    return status == CS_OK ? cs_text_check(j->name, j->bytes, j->size) : status;
}

static cs_status each_line(const cs_args *args, job *j, line_fn fn, void *ctx)
{
    const char *at = j->bytes, *end = j->bytes + j->size;
    cs_status status = CS_OK;
    for (int64_t number = 1; at < end && status == CS_OK; ++number) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        status = fn(args, ctx, j, at, (stop ? stop : end) - at);
        if (status == CS_ERR_INPUT) return cs_blame(status, "%s:%lld", j->name, (long long)number);
        if (status == CS_OK && number % 4096 == 0) status = cs_interrupt_check();
        at = stop ? stop + 1 : end;
    }
    return status;
}

static cs_status append_json(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
}

static cs_status encode_line(const cs_args *args, void *ctx, job *j, const char *line, int64_t size)
{
    cs_encoder *e = ctx;
    cs_status status = cs_encoder_encode(e, line, size, cs_args_flag(args, "add-special"));
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < e->count; ++i) {
        (void)fprintf(j->text, i > 0 ? " %d" : "%d", e->id[i]);
    }
    (void)fputc('\n', j->text);
    if (!j->list) {
        return CS_OK;
    }
    json_t *ids = json_array(), *tokens = json_array();
    for (int64_t i = 0; i < e->count && status == CS_OK; ++i) {
        status = append_json(ids, json_integer(e->id[i]));
        if (status == CS_OK)
            status = append_json(tokens, json_string(cs_tokenizer_token(e->tokenizer, e->id[i])));
    }
    json_t *item = json_pack("{s:o, s:o}", "ids", ids, "tokens", tokens); /* takes both over */
    return status == CS_OK ? append_json(j->list, item) : (json_decref(item), status);
}

typedef struct {
    const cs_tokenizer *tokenizer;
    int32_t *id;
    int64_t room;
} decoder;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The ids of a line, separated by blanks; a CR at its end is passed over. */
static cs_status read_ids(decoder *d, const char *line, int64_t size, int64_t *count)
{
    const char *at = line, *end = line + size;
    *count = 0;
    for (;;) {
        while (at < end && is_blank(*at)) {
            at += 1;
        }
        if (at == end) {
            return CS_OK;
        }
        const char *start = at;
        while (at < end && !is_blank(*at)) {
            at += 1;
        }
        char word[24];
        int64_t id = 0, length = at - start;
        (void)snprintf(word, sizeof word, "%.*s", (int)(length < 23 ? length : 23), start);
        cs_status status = cs_reserve(&d->id, &d->room, *count + 1, sizeof *d->id);
        if (status != CS_OK) return status;
        status = cs_int_parse(word, &id);
        if (status != CS_OK || id < INT32_MIN || id > INT32_MAX) {
            cs_reason_clear();
            return cs_fail(CS_ERR_INPUT, "\"%s\" at index %lld is no token id", word,
                           (long long)*count);
        }
        d->id[(*count)++] = (int32_t)id;
    }
}

static cs_status decode_line(const cs_args *args, void *ctx, job *j, const char *line, int64_t size)
{
    decoder *d = ctx;
    int64_t count = 0, length = 0;
    char *text = NULL;
    cs_status status = read_ids(d, line, size, &count);
    if (status == CS_OK)
        status = cs_tokenizer_decode(d->tokenizer, d->id, count, cs_args_flag(args, "skip-special"),
                                     &text, &length);
    if (status == CS_OK) {
        (void)fwrite(text, 1, (size_t)length, j->text);
        (void)fputc('\n', j->text);
    }
    if (status == CS_OK && j->list)
        status = append_json(j->list, json_stringn(text, (size_t)length));
    cs_free(text);
    return status;
}

static cs_status run_lines(cs_args *args, const char *result, line_fn fn, void *ctx)
{
    job j = {0};
    json_t *json = NULL;
    bool as_json = cs_args_flag(args, "json") || cs_args_given(args, "output");
    cs_status status = read_lines(args, &j);
    if (status == CS_OK && as_json) {
        json = json_pack("{s:[]}", "lines");
        j.list = json_object_get(json, "lines");
        status = j.list ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    }
    if (status == CS_OK) {
        j.text = open_memstream(&j.printed, &j.printed_size);
        status = j.text ? each_line(args, &j, fn, ctx)
                        : cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    if (j.text) status = cs_memory_close(j.text, status);
    if (status == CS_OK)
        status = cs_output_text(args, result, json, j.printed, (int64_t)j.printed_size);
    json_decref(json);
    free(j.printed);
    cs_free(j.bytes);
    return status;
}

/* The ids of each line of the file named third on the command line, or of standard input; a line
 * ends at LF and a CR before it is text. CS_ERR_INPUT names the line. */
static cs_status encode_lines(cs_args *args, const cs_tokenizer *t)
{
    cs_encoder encoder;
    cs_encoder_init(&encoder, t);
    cs_status status = run_lines(args, "ids", encode_line, &encoder);
    cs_encoder_free(&encoder);
    return status;
}

/* The text of each line of ids, which blanks part. */
static cs_status decode_lines(cs_args *args, const cs_tokenizer *t)
{
    decoder d = {.tokenizer = t};
    cs_status status = run_lines(args, "text", decode_line, &d);
    cs_free(d.id);
    return status;
}

/* --- documents of one split --- */

typedef struct {
    const cs_args *args;
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
    *out = (documents){
        .args = args, .train = strcmp(split, "test") != 0, .test = strcmp(split, "train") != 0};
    cs_status status = corpus_name(args, &out->corpus);
    return status == CS_OK ? cs_args_open_corpus(args, out->corpus, &out->options) : status;
}

static cs_status take_document(void *to, const cs_document *document, bool held_out, bool *enough)
{
    documents *d = to;
    (void)enough;
    if (!(held_out ? d->test : d->train)) {
        return CS_OK;
    }
    d->documents += 1;
    return d->take(d->to, document->text, document->size);
}

static cs_status each_document(void *from, cs_text_take take, void *to)
{
    documents *d = from;
    d->take = take;
    d->to = to;
    cs_corpus about = {0};
    cs_status status = cs_corpus_visit(d->corpus, &d->options, take_document, d, &about);
    cs_args_note_invalid(d->args, d->corpus, about.invalid_bytes, about.invalid_documents);
    cs_corpus_free(&about);
    return status;
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
    const char *name = NULL;
    cs_corpus corpus = {0};
    cs_corpus_options options = {0};
    cs_status status =
        cs_args_refuse(args, "min-frequency special add-prefix-space split", "is for --model bpe");
    if (status == CS_OK) status = corpus_name(args, &name);
    if (status == CS_OK) status = cs_args_open_corpus(args, name, &options);
    options.vocab_size = cs_args_int(args, "vocab");
    if (status == CS_OK) status = cs_splitter_by_name(model, &options.splitter);
    if (status == CS_OK) status = cs_args_read_corpus(args, name, &options, &corpus);
    if (status == CS_OK) status = cs_tokenizer_of_corpus(&corpus, options.splitter, out);
    cs_corpus_free(&corpus);
    return status;
}

static cs_status train_result(cs_args *args, const char *model, const char *path,
                              const cs_tokenizer *t)
{
    static const char *const role[CS_TOKEN_ROLES] = {"unk", "pad", "mask", "bos", "eos"};
    static const cs_view view = {"", "tokenizer model vocabulary"};
    cs_item *root = cs_output_root(args);
    cs_item_text(root, "tokenizer", path);
    cs_item_text(root, "model", model);
    cs_item_int(root, "vocabulary", cs_tokenizer_vocab(t));
    cs_item *special = cs_item_object(root, "special");
    for (int r = 0; r < CS_TOKEN_ROLES; ++r) {
        int32_t id = cs_tokenizer_special(t, (cs_token_role)r);
        if (id < 0) {
            cs_item_null(special, role[r]);
        } else {
            cs_item_int(special, role[r], id);
        }
    }
    return cs_output_record(args, "train", &view);
}

static cs_status run_train(cs_args *args)
{
    const char *model = cs_args_text(args, "model");
    cs_tokenizer *t = NULL;
    const char *path = NULL;
    if (!cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "tokenize train needs -o DIR");
    }
    cs_status status = cs_output_claim(args, "tokenizer.json train.json train.csv");
    if (status == CS_OK)
        status = strcmp(model, "bpe") == 0 ? train_bpe(args, &t) : train_words(args, model, &t);
    if (status == CS_OK && cs_tokenizer_vocab(t) < cs_args_int(args, "vocab"))
        cs_output_note(args, "the text gives %lld tokens, fewer than --vocab %lld",
                       (long long)cs_tokenizer_vocab(t), (long long)cs_args_int(args, "vocab"));
    if (status == CS_OK) status = cs_output_path(args, "tokenizer.json", &path);
    if (status == CS_OK) status = cs_tokenizer_write(t, path);
    if (status == CS_OK) status = train_result(args, model, path, t);
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
    if (status != CS_OK) return status;
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
    static const cs_view view = {"", "documents bytes words tokens unknown vocabulary used "
                                     "tokens_per_word bytes_per_token unknown_share used_share"};
    const int64_t vocab = cs_tokenizer_vocab(c->encoder.tokenizer);
    cs_item *root = cs_output_root(args);
    cs_item_int(root, "documents", docs);
    cs_item_int(root, "bytes", c->bytes);
    cs_item_int(root, "words", c->words);
    cs_item_int(root, "tokens", c->tokens);
    cs_item_int(root, "unknown", c->unknown);
    cs_item_int(root, "vocabulary", vocab);
    cs_item_int(root, "used", c->used);
    cs_item_real(root, "tokens_per_word", share(c->tokens, c->words));
    cs_item_real(root, "bytes_per_token", share(c->bytes, c->tokens));
    cs_item_real(root, "unknown_share", share(c->unknown, c->tokens));
    cs_item_real(root, "used_share", share(c->used, vocab));
    return cs_output_record(args, "stats", &view);
}

static cs_status run_stats(cs_args *args, const cs_tokenizer *t)
{
    documents source = {0};
    counts c = {.seen = cs_calloc(cs_tokenizer_vocab(t), 1)};
    cs_encoder_init(&c.encoder, t);
    cs_status status = c.seen ? open_documents(args, &source) : CS_ERR_MEMORY;
    if (status == CS_OK) status = each_document(&source, count_document, &c);
    if (status == CS_OK) status = stats_result(args, &c, source.documents);
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
    if (status == CS_OK) status = cs_tokenizer_read(path, &t);
    if (status == CS_OK)
        status = stats                         ? run_stats(args, t)
                 : strcmp(verb, "encode") == 0 ? encode_lines(args, t)
                                               : decode_lines(args, t);
    cs_tokenizer_free(&t);
    return status;
}

static cs_status run_tokenize(cs_args *args)
{
    const char *verb = cs_args_positionals(args) > 0 ? cs_args_positional(args, 0) : "";
    int i = 0;
    cs_status status = CS_ROW_NAMED("action", verb, verb_options, &i);
    if (status == CS_OK) status = refuse_others(args, verb, verb_options[i].takes);
    if (status != CS_OK || i > 0) return status == CS_OK ? run_with(args, verb) : status;
    return cs_args_positionals(args) == 1
               ? run_train(args)
               : cs_fail(CS_ERR_USAGE, "tokenize train takes no argument, got '%s'",
                         cs_args_positional(args, 1));
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
        "add-prefix-space puts before a text. stats measures how a tokenizer fits a corpus; words "
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
