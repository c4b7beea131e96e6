/* cospec tokenize: training tokenizers, and using them on text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/vision/vq_train.h"
#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/file.h"
#include "text/bpe_train.h"
#include "text/token_lines.h"

/* --- codes of images --------------------------------------------------------------------------- */

static const cs_opt picture_options[] = {
    CS_HEADING("Codes of images"),
    CS_INT("patch", "P", "4", 1, 65535, "Side in pixels of the patches that get codes."),
    CS_INT("codes", "N", "256", 1, 1 << 20, "Number of codes."),
    CS_INT("width", "D", "64", 1, 1 << 16, "vq: width of encoder and decoder."),
    CS_INT("layers", "L", "2", 0, 64, "vq: layers of encoder and decoder, each."),
    CS_INT("heads", "H", "4", 1, 64, "vq: heads of each layer."),
    CS_INT("steps", "N", "1000", 1, 1e9, "vq: number of updates."),
    CS_INT("batch", "B", "16", 1, 1 << 16, "vq: images per update."),
    CS_REAL("lr", "RATE", "2e-3", 0, 1e30, "vq: peak learning rate."),
    {0},
};

static bool of_pictures(const cs_args *args)
{
    return cs_args_is(args, "model", "kmeans") || cs_args_is(args, "model", "vq");
}

/* A row of the table: what codes leave of the pictures on both sides. */
static cs_status put_row(cs_item *rows, const char *name, const cs_codes *codes,
                         const cs_images *images, int threads)
{
    cs_item *row = cs_item_object(rows, NULL);
    cs_codes_score score[2] = {{0}};
    cs_status status = cs_codes_compare(codes, images, false, threads, &score[0]);
    if (status == CS_OK) status = cs_codes_compare(codes, images, true, threads, &score[1]);
    cs_item_text(row, "codes", name);
    cs_item_real(row, "train_error", score[0].error);
    cs_item_real(row, "test_error", score[1].error);
    cs_item_real(row, "test_psnr", -10 * log10(score[1].error));
    cs_item_real(row, "test_used", (double)score[1].used / (double)codes->book.codes);
    return status;
}

/* Writes DIR/codes.safetensors and reports the remaining error, with that of k-means of the same
 * size. */
static cs_status train_pictures(cs_args *args)
{
    static const cs_view view = {"results[]", "codes train_error test_error test_psnr test_used"};
    const bool vq = cs_args_is(args, "model", "vq");
    bool are = false;
    const char *path = NULL, *source = cs_args_text(args, "corpus");
    cs_vq_options o = {.progress = cs_output_progress(args)};
    CS_AUTO(cs_images) images = {0};
    CS_AUTO(cs_codes) *plain = NULL, *made = NULL;
    cs_vq_result trained = {0};
    CS_ARGS_FIELDS(args, &o, patch, codes, width, layers, heads, steps, batch, seed, threads);
    o.learning_rate = cs_args_real(args, "lr");
    cs_status status =
        cs_args_refuse(args, "vocab min-frequency special add-prefix-space split", "needs texts");
    if (status == CS_OK && !vq)
        status = cs_args_refuse(args, "width layers heads steps batch lr", "needs --model vq");
    if (status == CS_OK && !source)
        status = cs_fail(CS_ERR_USAGE, "--model %s needs --corpus with pictures",
                         cs_args_text(args, "model"));
    if (status == CS_OK) status = cs_images_are(source, &are);
    if (status == CS_OK && !are) status = cs_args_no_pictures("--model kmeans and vq read", source);
    if (status == CS_OK) status = cs_args_load_images(args, source, NULL, 1, &images);
    if (status == CS_OK)
        status = cs_codes_fit(&images, o.patch, o.codes, o.seed, o.threads, &plain);
    if (status == CS_OK && vq) status = cs_vq_train(&images, &o, &made, &trained);
    if (status == CS_OK) status = cs_output_path(args, "codes.safetensors", &path);
    if (status == CS_OK) status = cs_codes_write(vq ? made : plain, path);
    if (status == CS_OK) {
        cs_item *root = cs_output_root(args), *rows = NULL;
        cs_item_text(root, "tokenizer", path);
        cs_item_text(root, "model", cs_args_text(args, "model"));
        cs_item_int(root, "size", o.codes);
        cs_item_int(root, "patch", o.patch);
        cs_item_int(root, "revived", trained.revived);
        rows = cs_item_array(root, "results");
        status = put_row(rows, "kmeans", plain, &images, o.threads);
        if (status == CS_OK && vq) status = put_row(rows, "vq", made, &images, o.threads);
    }
    return status == CS_OK ? cs_output_record(args, "train", &view) : status;
}

static const cs_opt tokenize_options[] = {
    CS_CHOICE("model", "bpe|word|whitespace|char|kmeans|vq", "bpe",
              "train: byte-level BPE, or a list of the most frequent words. Images: codes of "
              "patches, by k-means or by an encoder and a decoder (vq)."),
    CS_INT("vocab", "N", "8192", 1, 1 << 30,
           "train: size of the vocabulary. bpe: with special tokens and 256 bytes; word lists: "
           "without special tokens."),
    CS_INT("min-frequency", "N", "2", 1, 1 << 30,
           "train, bpe: do not merge pairs that occur less often."),
    CS_TEXTS("special", "TOKEN",
             "train, bpe: special tokens, which get the first ids. Default: <s> <pad> </s> <unk> "
             "<mask>."),
    CS_FLAG("add-prefix-space",
            "train, bpe: put a blank before every text, so that its first word is like others."),
    CS_CHOICE("split", "all|train|test", "all", "train (bpe), stats: which documents to use."),
    CS_FLAG("add-special", "encode: put the tokenizer's special tokens around each line."),
    CS_FLAG("skip-special", "decode: leave out special tokens."),
    {0},
};

static const cs_opt *const tokenize_groups[] = {tokenize_options, picture_options,
                                                cs_group_corpus_text, cs_group_roles, NULL};

/* The options of each verb beyond the common ones. */
static const struct {
    const char *name, *takes;
} verb_options[] = {
    {"train",
     "model vocab min-frequency special add-prefix-space split patch codes size crop width layers "
     "heads steps batch lr corpus whole-file "
     "label-column text-column test-share format label-field text-field invalid"},
    {"encode", "add-special"},
    {"decode", "skip-special"},
    {"stats", "split corpus whole-file label-column text-column test-share format label-field "
              "text-field invalid mask-token pad-token unk-token bos-token eos-token"},
};

static cs_status refuse_others(const cs_args *args, const char *verb, const char *takes)
{
    for (int g = 0; tokenize_groups[g]; ++g) {
        for (const cs_opt *o = tokenize_groups[g]; o->name; ++o) {
            if (o->kind != CS_OPT_HEADING && cs_args_given(args, o->name) &&
                !cs_listed(takes, o->name)) {
                return cs_fail(CS_ERR_USAGE, "--%s does not apply to 'tokenize %s'", o->name, verb);
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

/* FILE, or standard input. */
static cs_status read_lines(cs_args *args, char **bytes, cs_token_lines *lines)
{
    bool given = cs_args_positionals(args) == 3;
    const char *path = given ? cs_args_positional(args, 2) : "/dev/stdin";
    int64_t free_now = cs_mem_available();
    cs_status status = given ? cs_output_input(args, path) : CS_OK;
    lines->name = given ? path : "standard input";
    if (status == CS_OK)
        status =
            cs_file_read(path, free_now > 0 ? free_now / 4 : INT64_MAX - 1, bytes, &lines->size);
    lines->bytes = *bytes;
    if (status == CS_OK && given) status = cs_lfs_check(path, *bytes, lines->size);
    return status == CS_OK ? cs_text_check(lines->name, *bytes, lines->size) : status;
}

/* Each line of the file named third on the command line, or of standard input. */
static cs_status run_lines(cs_args *args, const cs_tokenizer *t, bool encode)
{
    cs_token_lines lines = {0};
    CS_AUTO_FREE char *bytes = NULL;
    char *printed = NULL;
    size_t size = 0;
    json_auto_t *json = NULL;
    bool as_json = cs_args_flag(args, "json") || cs_args_given(args, "output");
    cs_status status = read_lines(args, &bytes, &lines);
    if (status == CS_OK && as_json) {
        json = json_pack("{s:[]}", "lines");
        lines.list = json_object_get(json, "lines");
        status = lines.list ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    }
    if (status == CS_OK && !(lines.text = open_memstream(&printed, &size)))
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    if (status == CS_OK)
        status = encode ? cs_encode_lines(t, cs_args_flag(args, "add-special"), &lines)
                        : cs_decode_lines(t, cs_args_flag(args, "skip-special"), &lines);
    if (lines.text) status = cs_memory_close(lines.text, status);
    if (status == CS_OK)
        status = cs_output_text(args, encode ? "ids" : "text", json, printed, (int64_t)size);
    free(printed);
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
    CS_AUTO(cs_corpus) about = {0};
    cs_status status = cs_corpus_visit(d->corpus, &d->options, take_document, d, &about);
    if (status == CS_OK)
        cs_args_note_read(d->args, d->corpus, about.invalid_bytes, about.invalid_documents,
                          &about.read);
    return status;
}

/* --- train --- */

static cs_status train_bpe(cs_args *args, cs_tokenizer **out)
{
    documents source = {0};
    const cs_text_source text = {each_document, &source};
    cs_bpe_options options = {.vocab_size = cs_args_int(args, "vocab"),
                              .special = cs_args_texts(args, "special"),
                              .specials = cs_args_count(args, "special"),
                              .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &options, min_frequency, add_prefix_space);
    cs_status status = open_documents(args, &source);
    return status == CS_OK ? cs_tokenizer_train_bpe(&text, &options, out) : status;
}

static cs_status train_words(cs_args *args, const char *model, cs_tokenizer **out)
{
    const char *name = NULL;
    CS_AUTO(cs_corpus) corpus = {0};
    cs_corpus_options options = {0};
    cs_status status =
        cs_args_refuse(args, "min-frequency special add-prefix-space split", "needs --model bpe");
    if (status == CS_OK) status = corpus_name(args, &name);
    if (status == CS_OK) status = cs_args_open_corpus(args, name, &options);
    options.vocab_size = cs_args_int(args, "vocab");
    if (status == CS_OK) status = cs_splitter_by_name(model, &options.splitter);
    if (status == CS_OK) status = cs_args_read_corpus(args, name, &options, &corpus);
    return status == CS_OK ? cs_tokenizer_of_corpus(&corpus, options.splitter, out) : status;
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
        cs_item_count(special, role[r], cs_tokenizer_special(t, (cs_token_role)r));
    }
    return cs_output_record(args, "train", &view);
}

static cs_status run_train(cs_args *args)
{
    const char *model = cs_args_text(args, "model");
    CS_AUTO(cs_tokenizer) *t = NULL;
    const char *path = NULL;
    if (!cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "tokenize train needs -o DIR");
    }
    if (of_pictures(args)) {
        cs_status claimed = cs_output_claim(args, "codes.safetensors train.json train.csv");
        return claimed == CS_OK ? train_pictures(args) : claimed;
    }
    cs_status status = cs_args_refuse(
        args, "patch codes size crop width layers heads steps batch lr", "needs pictures");
    if (status == CS_OK) status = cs_output_claim(args, "tokenizer.json train.json train.csv");
    if (status == CS_OK)
        status = strcmp(model, "bpe") == 0 ? train_bpe(args, &t) : train_words(args, model, &t);
    if (status == CS_OK && cs_tokenizer_vocab(t) < cs_args_int(args, "vocab"))
        cs_output_note(args, "the text yields only %lld tokens, fewer than --vocab %lld",
                       (long long)cs_tokenizer_vocab(t), (long long)cs_args_int(args, "vocab"));
    if (status == CS_OK) status = cs_output_path(args, "tokenizer.json", &path);
    if (status == CS_OK) status = cs_tokenizer_write(t, path);
    return status == CS_OK ? train_result(args, model, path, t) : status;
}

/* --- stats --- */

static cs_status run_stats(cs_args *args, const cs_tokenizer *t)
{
    static const cs_view view = {"", "documents bytes words tokens unknown vocabulary used "
                                     "tokens_per_word bytes_per_token unknown_share used_share"};
    documents source = {0};
    cs_token_counts counts = {0};
    cs_item *root = cs_output_root(args);
    cs_status status = open_documents(args, &source);
    if (status == CS_OK)
        status = cs_token_counts_of(t, &(cs_text_source){each_document, &source}, &counts);
    cs_item_int(root, "documents", source.documents);
    cs_token_counts_record(&counts, root);
    return status == CS_OK ? cs_output_record(args, "stats", &view) : status;
}

/* --- dispatch --- */

static cs_status run_with(cs_args *args, const char *verb)
{
    bool stats = strcmp(verb, "stats") == 0;
    int words = cs_args_positionals(args);
    if (words < 2 || words > (stats ? 2 : 3)) {
        return cs_fail(CS_ERR_USAGE, "tokenize %s takes a tokenizer.json or a model directory%s",
                       verb, stats ? "" : " and at most one FILE");
    }
    const char *path = cs_args_positional(args, 1);
    CS_AUTO(cs_tokenizer) *t = NULL;
    cs_status status = cs_args_tokenizer_input(args, path);
    if (status == CS_OK) status = cs_args_read_tokenizer(args, path, false, &t);
    if (status == CS_OK)
        status = stats ? run_stats(args, t) : run_lines(args, t, strcmp(verb, "encode") == 0);
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
    .help = &cs_help_tokenize,
    .positional = "train|encode|decode|stats [TOKENIZER] [FILE]",
    .groups = tokenize_groups,
    .run = run_tokenize,
    .without = "device dry-run resume",
};
