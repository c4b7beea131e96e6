/* The option groups of corpora: where the text comes from, and what its tokens are. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/argument_kind.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "image/field.h"
#include "image/image_sources.h"
#include "io/file.h"
#include "text/synthetic.h"

#define CORPUS_SOURCE                                                                              \
    CS_HEADING("Corpus"),                                                                          \
        CS_TEXT("corpus", "NAME|FILE|DIR", NULL,                                                   \
                "Corpus: a name (cospec data list), a file, a directory, several separated by "    \
                "commas, or a synthetic corpus such as markov:..., or images "                     \
                "(docs/reference/corpora.md).")

#define CORPUS_TOKENS                                                                              \
    CS_HEADING("Tokens"),                                                                          \
        CS_TEXT("tokenizer", "word|whitespace|char|FILE.json", "word",                             \
                "Tokens: lower-cased runs of letters, runs of non-space, characters, or those of " \
                "a tokenizer.json. Images: codes.safetensors of cospec tokenize."),                \
        CS_TEXT("vocab", "N|all", "8000",                                                          \
                "Number of most frequent words to keep; the others become <unk>."),                \
        CS_INT("min-tokens", "N", "1", 1, 1e9, "Drop shorter documents; they are counted."),       \
        CS_INT("patch", "P", "4", 1, 65535,                                                        \
               "Images: side of a patch in pixels; each patch is a token."),                       \
        CS_INT("codes", "N", "256", 1, 1 << 20, "Images: number of k-means codes of patches."),    \
        CS_TEXT("window", "RxC", NULL, "Images: one sequence for each window of R x C patches.")

#define CORPUS_TEXT                                                                                \
    CS_HEADING("Text files"),                                                                      \
        CS_CHOICE("format", "auto|text|tsv|space|jsonl|csv", "auto",                               \
                  "What a line of the file is: a document, tab-separated columns, a label and a "  \
                  "text, a JSON object, or comma-separated columns. auto: by the file name."),     \
        CS_FLAG("whole-file", "Plain text: the file is one document, not one per line."),          \
        CS_INT("label-column", "N", NULL, 1, 1e6,                                                  \
               "TSV and CSV: column of the label. Default: the one that a header line names, "     \
               "else 1."),                                                                         \
        CS_INT("text-column", "N", NULL, 1, 1e6,                                                   \
               "TSV and CSV: column of the text. Default: the one that a header line names, "      \
               "else 2."),                                                                         \
        CS_TEXT("label-field", "KEY", NULL,                                                        \
                "JSON lines: key of the label. Objects without it are unlabelled. TSV and CSV: "   \
                "its name in the header line. Default: label."),                                   \
        CS_TEXT("text-field", "KEY", NULL,                                                         \
                "JSON lines: key of the text. TSV and CSV: its name in the header line. Default: " \
                "text."),                                                                          \
        CS_CHOICE("invalid", "refuse|replace|skip|latin1", "refuse",                               \
                  "Text that is not UTF-8: an error that names the files, U+FFFD for each bad "    \
                  "part, skip the line or document, or read bad bytes as Latin-1."),               \
        CS_REAL("test-share", "P", "0.2", 0, 1,                                                    \
                "Share of held-out documents, chosen by a hash of each document."),                \
        CS_OPT_IMAGE_SIZES

const cs_opt cs_group_corpus_reading[] = {CORPUS_TOKENS, CORPUS_TEXT, {0}};

const cs_opt cs_group_corpus_form[] = {CORPUS_TEXT, {0}};

const cs_opt cs_group_corpus_text[] = {CORPUS_SOURCE, CORPUS_TEXT, {0}};

const cs_opt cs_group_corpus[] = {CORPUS_SOURCE, CORPUS_TOKENS, CORPUS_TEXT, {0}};

const cs_opt cs_group_labelled[] = {
    CS_HEADING("Labelled texts"),
    CS_FLAG("pair",
            "Examples are pairs of texts. They are without it where a header line names two."),
    CS_INT(
        "pair-column", "N", NULL, 1, 1e6,
        "TSV and CSV: column of the second text of a pair; implies --pair. Default: the one that "
        "a header line names, else 3."),
    CS_TEXT(
        "pair-field", "KEY", NULL,
        "JSON lines: key of the second text of a pair. TSV and CSV: its name in the header line. "
        "Implies --pair. Default: pair."),
    CS_INT("test-label-column", "N", NULL, 1, 1e6,
           "TSV and CSV: column of the label in the test file, if it differs."),
    CORPUS_TEXT,
    {0},
};

const cs_opt cs_group_roles[] = {
    CS_HEADING("Special tokens"),
    CS_TEXT("mask-token", "TOKEN", NULL,
            "Token of the tokenizer that masks, if its name is not a usual one and no file of its "
            "folder says so (docs/reference/tokenizers.md)."),
    CS_TEXT("pad-token", "TOKEN", NULL, "Likewise the token for padding."),
    CS_TEXT("unk-token", "TOKEN", NULL, "Likewise the token for what the vocabulary lacks."),
    CS_TEXT("bos-token", "TOKEN", NULL, "Likewise the token that begins a text."),
    CS_TEXT("eos-token", "TOKEN", NULL, "Likewise the token that ends a text."),
    {0},
};

void cs_args_roles(const cs_args *args, const char *role[CS_TOKEN_ROLES])
{
    static const char *const name[CS_TOKEN_ROLES] = {[CS_TOKEN_UNK] = "unk-token",
                                                     [CS_TOKEN_PAD] = "pad-token",
                                                     [CS_TOKEN_MASK] = "mask-token",
                                                     [CS_TOKEN_BOS] = "bos-token",
                                                     [CS_TOKEN_EOS] = "eos-token"};
    for (int r = 0; r < CS_TOKEN_ROLES; ++r) {
        role[r] = cs_args_find(args, name[r], strlen(name[r])) ? cs_args_text(args, name[r]) : NULL;
    }
}

void cs_tokenizer_note(const cs_args *args, const char *path, const cs_tokenizer *t)
{
    const char *lacks = cs_tokenizer_lacks(t);
    if (lacks)
        cs_output_note(args,
                       "%s: tokenizer.json has no %s; the class of the tokenizer makes its own in "
                       "transformers 5, so ids may differ",
                       path, lacks);
}

cs_status cs_args_read_tokenizer(const cs_args *args, const char *path, bool for_model,
                                 cs_tokenizer **out)
{
    const char *role[CS_TOKEN_ROLES];
    cs_tokenizer *t = NULL;
    cs_args_roles(args, role);
    cs_status status =
        for_model ? cs_tokenizer_read_for_model(path, &t) : cs_tokenizer_read(path, &t);
    if (status == CS_OK) status = cs_tokenizer_give_roles(t, role);
    if (status != CS_OK) {
        cs_tokenizer_free(&t);
        return status;
    }
    cs_tokenizer_note(args, path, t);
    *out = t;
    return CS_OK;
}

/* CS_ERR_USAGE names an option of cs_group_roles, which need a tokenizer. */
static cs_status refuse_roles(const cs_args *args)
{
    const bool takes = cs_args_find(args, "mask-token", strlen("mask-token"));
    const char *given = takes ? cs_args_given_of(args, cs_group_roles) : NULL;
    return given ? cs_fail(CS_ERR_USAGE, "--%s needs --tokenizer FILE.json", given) : CS_OK;
}

cs_corpus_options cs_args_corpus_form(const cs_args *args)
{
    cs_corpus_options options = {.progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &options, format, invalid, label_field, text_field, whole_file,
                   label_column, text_column, test_share, seed, threads);
    return options;
}

bool cs_args_tokenizer_file(const cs_args *args)
{
    const char *name = cs_args_text(args, "tokenizer");
    return cs_has_suffix(name, ".json") ||
           (strchr(name, '/') != NULL && !cs_has_suffix(name, ".safetensors"));
}

cs_status cs_args_input_part(cs_args *args, const char *dir, const char *file, bool *there)
{
    const char *path = cs_args_join(args, dir, file);
    *there = path && cs_path_exists(path);
    return *there ? cs_output_input(args, path) : path ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_args_tokenizer_input(cs_args *args, const char *path)
{
    static const char *const parts[] = {"tokenizer_config.json", "special_tokens_map.json",
                                        "added_tokens.json", "config.json"};
    bool there = false;
    if (!cs_path_is_dir(path)) return cs_output_input(args, path);
    cs_status status = cs_args_input_part(args, path, "tokenizer.json", &there);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == CS_OK && there; ++i) {
        bool other = false;
        status = cs_args_input_part(args, path, parts[i], &other);
    }
    return status;
}

/* The splitter, or with *encoder the tokenizer that is to be freed after the corpus is read. */
static cs_status token_options(cs_args *args, cs_corpus_options *options, cs_tokenizer **encoder)
{
    const char *name = cs_args_text(args, "tokenizer"), *vocab = cs_args_text(args, "vocab");
    CS_ARGS_FIELDS(args, options, min_tokens);
    if (cs_args_tokenizer_file(args)) {
        if (cs_args_given(args, "vocab")) {
            return cs_fail(
                CS_ERR_USAGE,
                "--vocab %s does not apply to --tokenizer %s, which defines the vocabulary", vocab,
                name);
        }
        cs_status status = cs_args_tokenizer_input(args, name);
        if (status == CS_OK) status = cs_args_read_tokenizer(args, name, false, encoder);
        options->encoder = *encoder;
        return status;
    }
    cs_status status = refuse_roles(args);
    if (status != CS_OK) return status;
    if (cs_splitter_by_name(name, &options->splitter) != CS_OK) {
        cs_reason_clear();
        return cs_fail(CS_ERR_USAGE,
                       "--tokenizer \"%s\" is not word, whitespace, char or a FILE.json%s", name,
                       cs_choice_hint(name, "word|whitespace|char", &(cs_hint){0}));
    }
    if (strcmp(vocab, "all") == 0) {
        options->vocab_size = -1;
        return CS_OK;
    }
    return cs_parse_int(vocab, "--vocab N|all", 1, INT32_MAX - 1, &options->vocab_size);
}

/* A named corpus is prepared on first use; what was done is printed. */
static cs_status ensure_prepared(const cs_args *args, const char *name, char **path)
{
    CS_AUTO_FREE char *note = NULL;
    cs_status status = cs_corpus_prepared_path(name, path);
    if (status == CS_OK && !cs_path_exists(*path)) {
        status = cs_corpus_prepare(name, false, &note);
        if (status == CS_OK && note) cs_output_note(args, "%s", note);
    }
    return status;
}

/* Makes a source ready to be read; *file: what is read, NULL where that is no file. */
static cs_status make_ready(cs_args *args, const char *source, char **file)
{
    const char *side = NULL;
    const cs_corpus_source *named = cs_corpus_named(source, &side);
    const bool language = cs_synthetic_named(source);
    cs_document_split of = CS_DOCUMENT_HASHED;
    *file = NULL;
    cs_status status = cs_require_kind(args, CS_ERR_INPUT, source, CS_IS_CORPUS);
    if (status == CS_OK && named) status = cs_corpus_side(source, named->name, side, &of);
    if (status != CS_OK) return status;
    if (cs_args_given_in(args, "extra")) {
        return cs_fail(CS_ERR_USAGE, "--extra needs images, and %s has none", source);
    }
    if (!language && !named && !cs_path_exists(source) && !cs_path_is_pattern(source)) {
        return cs_source_unknown(source);
    }
    if (named && named->split && cs_args_given(args, "test-share")) {
        return cs_fail(CS_ERR_USAGE,
                       "--test-share %g does not apply to '%s', which has its own split",
                       cs_args_real(args, "test-share"), source);
    }
    if (named) {
        return ensure_prepared(args, named->name, file);
    }
    if (language) {
        return cs_synthetic_file(source, file);
    }
    return (*file = cs_strdup(source)) ? CS_OK : CS_ERR_MEMORY;
}

static cs_status open_one(cs_args *args, const char *source)
{
    CS_AUTO_FREE char *file = NULL;
    cs_status status = make_ready(args, source, &file);
    if (status == CS_OK && file) status = cs_output_input(args, file);
    return status;
}

/* Makes one or several ready, and remembers them as inputs. */
static cs_status open_source(cs_args *args, const char *source)
{
    if (!cs_corpus_joined(source)) {
        return open_one(args, source);
    }
    CS_AUTO_FREE char *one = NULL;
    cs_status status = cs_corpus_next_source(&source, &one);
    while (status == CS_OK && one) {
        status = open_one(args, one);
        cs_free(one);
        one = NULL;
        if (status == CS_OK) status = cs_corpus_next_source(&source, &one);
    }
    return status;
}

/* Where a header line has said what the columns are. */
static void note_header(const cs_args *args, const char *source, const cs_columns *read)
{
    char label[48] = "no label";
    if (read->label > 0)
        (void)snprintf(label, sizeof label, "label: column %lld", (long long)read->label);
    if (read->columns == 0 && read->headers > 0) {
        cs_output_note(args, "%s: %lld header line%s skipped", source, (long long)read->headers,
                       read->headers == 1 ? " is" : "s are");
    } else if (read->headers > 0 && read->pair > 0) {
        cs_output_note(args, "%s: the header line is skipped (%s, texts: columns %lld and %lld)",
                       source, label, (long long)read->text, (long long)read->pair);
    } else if (read->headers > 0) {
        cs_output_note(args, "%s: the header line is skipped (%s, text: column %lld)", source,
                       label, (long long)read->text);
    }
}

void cs_args_note_read(const cs_args *args, const char *source, int64_t bytes, int64_t documents,
                       const cs_columns *read)
{
    note_header(args, source, read);
    if (read->returns > 0)
        cs_output_note(args,
                       "%s: carriage returns without a line feed, so %s read as one line; if they "
                       "end lines, convert them with tr '\\r' '\\n'",
                       source, read->returns == 1 ? "the file is" : "such files are");
    if (bytes > 0) {
        cs_output_note(args, "%s: %lld sequences of invalid UTF-8 %s", source, (long long)bytes,
                       cs_args_is(args, "invalid", "latin1") ? "read as Latin-1"
                                                             : "replaced by U+FFFD");
    }
    if (documents > 0) {
        cs_output_note(args, "%s: %lld documents skipped, because of invalid UTF-8", source,
                       (long long)documents);
    }
}

/* A header with other names than the usual ones is read as a document: its class has no second one,
 * and its text is one word. */
static void note_no_header(const cs_args *args, const char *source, const cs_corpus *c)
{
    int64_t same = 0;
    if (c->read.columns < 2 || c->read.headers > 0 || c->documents < 2 || c->labels < 2 ||
        c->doc_ptr[1] != 1 || c->label[0] < 0)
        return;
    for (int64_t d = 0; d < c->documents; ++d) {
        same += c->label[d] == c->label[0];
    }
    if (same == 1)
        cs_output_note(args,
                       "%s: only the first line has the label \"%s\"; if that line names the "
                       "columns, give --text-field and --label-field with these names",
                       source, c->label_name[c->label[0]]);
}

static void note_corpus(const cs_args *args, const char *source, const cs_corpus *c)
{
    cs_args_note_read(args, source, c->invalid_bytes, c->invalid_documents, &c->read);
    note_no_header(args, source, c);
}

cs_status cs_args_read_corpus(const cs_args *args, const char *source,
                              const cs_corpus_options *options, cs_corpus *out)
{
    cs_status status = cs_corpus_load(source, options, out);
    if (status == CS_OK) note_corpus(args, source, out);
    return status;
}

/* The part of this rank. Rank 0 prepares what has to be prepared, and records the source with the
 * checksum of the corpus: that of a directory of documents differs, so there rank 0 reads all files.
 */
static cs_status open_and_read_part(cs_args *args, const char *source,
                                    const cs_corpus_options *options, cs_corpus *out)
{
    cs_comm *comm = options->comm;
    CS_AUTO_FREE char *file = NULL;
    cs_status status = comm->rank == 0 ? make_ready(args, source, &file) : CS_OK;
    status = cs_comm_agree(comm, status);
    if (status == CS_OK) status = cs_corpus_load(source, options, out);
    if (status != CS_OK || comm->rank > 0) return status;
    note_corpus(args, source, out);
    return cs_path_is_dir(file) ? cs_output_input(args, file)
                                : cs_output_input_known(args, file, out->sha256);
}

/* Whether the checksum of the corpus is that of its file, so that the file is read once. */
static bool hashed_as_corpus(const char *source, const char *file)
{
    struct stat st;
    return !cs_synthetic_named(source) && !cs_path_is_pattern(file) && stat(file, &st) == 0 &&
           S_ISREG(st.st_mode);
}

/* The source and its hash at once, where it is one file. */
static cs_status open_and_read(cs_args *args, const char *source, const cs_corpus_options *options,
                               cs_corpus *out)
{
    CS_AUTO_FREE char *file = NULL;
    cs_corpus corpus = {0};
    if (options->comm) {
        return open_and_read_part(args, source, options, out);
    }
    cs_status status =
        cs_corpus_joined(source) ? open_source(args, source) : make_ready(args, source, &file);
    const bool whole = file && hashed_as_corpus(source, file);
    if (status == CS_OK && file)
        status = whole ? cs_output_input_known(args, file, corpus.sha256)
                       : cs_output_input_begin(args, file, options->threads);
    if (status == CS_OK)
        status = cs_output_input_end(args, cs_corpus_load(source, options, &corpus));
    if (status == CS_OK && whole) status = cs_output_input_known(args, file, corpus.sha256);
    if (status == CS_OK) note_corpus(args, source, &corpus);
    return CS_DELIVER(status, out, corpus, cs_corpus_free);
}

static cs_status load_codes(cs_args *args, const char *source, cs_corpus *out)
{
    const int threads = cs_args_threads(args);
    CS_AUTO(cs_images) m = {0};
    CS_AUTO(cs_codes) *codes = NULL;
    cs_status status = cs_args_load_images(args, source, NULL, 1, &m);
    if (status == CS_OK) status = cs_args_codes(args, &m, &codes);
    if (status == CS_OK)
        status = cs_codes_corpus(codes, &m, cs_args_text(args, "window"), threads, out);
    return status;
}

static cs_status corpus_in_memory(const cs_args *args, const char *source,
                                  const cs_corpus_options *options, cs_corpus *out)
{
    const cs_memory_item *m = cs_args_item(args, source);
    cs_status status =
        cs_args_refuse(args, "format whole-file label-column text-column label-field text-field",
                       "is for files, but the corpus is in memory");
    if (status != CS_OK) return status;
    switch (m->kind) {
    case CS_ITEM_ARRAY:
        return cs_corpus_of_array(source, &m->array, options, out);
    case CS_ITEM_IDS:
        return cs_corpus_of_ids(source, &m->array, m->count, m->doc_ptr, options, out);
    case CS_ITEM_TEXTS:
        status = cs_corpus_of_texts(source, m->count, m->text, m->size, options, out);
        if (status == CS_OK) note_corpus(args, source, out);
        return status;
    case CS_ITEM_MATRIX:
        break;
    }
    return cs_fail(CS_ERR_INPUT, "%s: a matrix, but a corpus was expected", source);
}

bool cs_args_corpus_divides(const cs_args *args)
{
    const char *source = cs_args_text(args, "corpus");
    const cs_corpus_options options = cs_args_corpus_form(args);
    bool images = false;
    if (cs_args_flag(args, "population") || cs_args_item(args, source)) {
        return false;
    }
    const cs_status status = cs_images_are(source, &images);
    if (status != CS_OK) cs_reason_clear(); /* the reader reports it */
    return status == CS_OK && !images && cs_corpus_divides(source, &options);
}

/* comm NULL: the whole. */
static cs_status load_corpus(cs_args *args, const char *source, cs_comm *comm, cs_corpus *out)
{
    const char *coding = cs_args_given_in(args, "patch codes window size crop");
    bool images = false;
    cs_status status = cs_images_are(source, &images);
    if (status != CS_OK) return status;
    if (images) {
        return load_codes(args, source, out);
    }
    if (coding) {
        return cs_fail(CS_ERR_USAGE, "--%s needs pictures, but %s has none", coding, source);
    }
    cs_corpus_options options = cs_args_corpus_form(args);
    CS_AUTO(cs_tokenizer) *encoder = NULL;
    options.comm = comm;
    status = token_options(args, &options, &encoder);
    if (comm) {
        status = cs_comm_agree(comm, status);
    }
    if (status == CS_OK)
        status = cs_args_item(args, source) ? corpus_in_memory(args, source, &options, out)
                                            : open_and_read(args, source, &options, out);
    return status;
}

cs_status cs_args_load_corpus(cs_args *args, const char *source, cs_corpus *out)
{
    return load_corpus(args, source, NULL, out);
}

cs_status cs_args_load_built(cs_args *args, cs_cooc_options *options, cs_comm *comm, cs_corpus *out)
{
    const char *source = cs_args_text(args, "corpus"),
               *other = cs_args_given_in(args, "tokenizer vocab min-tokens test-share split");
    if (!cs_args_flag(args, "population")) {
        cs_status loaded = load_corpus(args, source, comm, out);
        return loaded ? loaded : cs_cooc_in_plane(out, options);
    }
    if (other) {
        return cs_fail(CS_ERR_USAGE, "--%s does not apply to --population", other);
    }
    cs_status status = cs_synthetic_named(source) ? open_source(args, source) : CS_OK;
    return status == CS_OK
               ? cs_synthetic_population_of(source, options->max_length, options->stride, out)
               : status;
}

cs_status cs_args_labelled(cs_args *args, const int64_t limit[2], cs_labelled_text out[2])
{
    const int sources = cs_args_positionals(args) - 1;
    const char *source[2] = {cs_args_positional(args, 1), cs_args_positional(args, sources)};
    const bool pair =
        cs_args_flag(args, "pair") || cs_args_given_in(args, "pair-column pair-field");
    cs_labelled_options o = {.corpus = cs_args_corpus_form(args),
                             .regression = cs_args_flag(args, "regression"),
                             .test_label = cs_args_int_or(args, "test-label-column", 0),
                             .split = sources == 1};
    o.corpus.pair_column = pair ? CS_PAIR_WANTED : CS_PAIR_IF_NAMED;
    CS_ARGS_FIELDS(args, &o.corpus, pair_column, pair_field);
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const char *side = NULL;
        const cs_corpus_source *named = cs_corpus_named(source[i], &side);
        if (!named && !o.split && cs_args_given(args, "test-share")) {
            return cs_fail(CS_ERR_USAGE, "--test-share needs one source of both sides");
        }
        status = open_source(args, named ? named->name : source[i]);
    }
    if (status == CS_OK) status = cs_labelled_sides_read(source, &o, limit, out);
    for (int i = 0; i < sources && status == CS_OK; ++i) { /* once for a source read twice */
        cs_args_note_read(args, source[i], out[i].invalid_bytes, out[i].invalid_documents,
                          &out[i].read);
    }
    return status;
}

cs_status cs_args_open_corpus(cs_args *args, const char *source, cs_corpus_options *out)
{
    cs_status status = cs_args_refuse(args, "size crop", "needs images");
    if (status == CS_OK) status = open_source(args, source);
    if (status == CS_OK) *out = cs_args_corpus_form(args);
    return status;
}

cs_status cs_args_tokenizer(const cs_args *args, const cs_corpus *corpus, cs_tokenizer **out)
{
    const char *name = cs_args_text(args, "tokenizer");
    cs_splitter_kind splitter = CS_SPLITTER_WORD;
    if (cs_args_tokenizer_file(args)) {
        return cs_args_read_tokenizer(args, name, false, out);
    }
    cs_status status = cs_splitter_by_name(name, &splitter);
    return status == CS_OK ? cs_tokenizer_of_corpus(corpus, splitter, out) : status;
}

void cs_args_note_uncovered(const cs_args *args, int64_t stride, int64_t uncovered, int64_t tokens)
{
    if (uncovered > 0)
        cs_output_note(
            args, "%lld of %lld tokens are not counted: %s", (long long)uncovered,
            (long long)tokens,
            stride > 0
                ? "no full window contains them, or their document is too short for the objective"
                : "their document or piece is too short for the objective");
}
