/* Sources of text: the corpora known by name, lists of sources, and which reader a file needs.
 *
 * A named corpus is prepared once: a script of data/ (POSIX sh and awk) reads a Debian package and
 * writes the prepared file; its last line on stdout lists the packages it read as
 * "name=version ...". The script runs as a child, never through a shell command line.
 */
#include "base/auto.h"
#include "io/npy.h"
#include "text/corpus.h"

#include <string.h>
#include <strings.h>

#include "base/enum_names.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/number.h"
#include "io/prepared.h"
#include "io/share.h"
#include "text/corpus_files_private.h"
#include "text/synthetic.h"

static const cs_corpus_source source_table[] = {
    {"wordnet", "wordnet-base", "prepare-wordnet.sh", "WordNet-3.0",
     "glosses of 14 noun classes, 2,000 synsets each", true, true},
    {"bible-kjv", "bible-kjv", "prepare-bible-kjv.sh", "public domain",
     "verses of the King James Bible, by book", true, true},
    {"gcide", "dict-gcide", "prepare-gcide.sh", "GPL-2+",
     "entries of the Collaborative International Dictionary of English", false, false},
    {"manpages", "manpages manpages-dev", "prepare-manpages.sh", "various free, see the packages",
     "Linux manual pages, by section", true, true},
    {"foldoc", "dict-foldoc", "prepare-foldoc.sh", "GFDL-1.1+",
     "entries of the Free On-line Dictionary of Computing, by subject", true, true},
};

const cs_corpus_source *cs_corpus_sources(int *count)
{
    *count = (int)(sizeof source_table / sizeof source_table[0]);
    return source_table;
}

static cs_status find_source(const char *name, const cs_corpus_source **out)
{
    int number = 0;
    cs_status status = CS_ROW_NAMED("corpus", name, source_table, &number);
    *out = &source_table[number];
    return status;
}

cs_status cs_corpus_prepared_path(const char *name, char **out)
{
    const cs_corpus_source *source = NULL;
    cs_status status = find_source(name, &source);
    CS_AUTO_FREE char *file = status == CS_OK ? cs_format("%s.tsv", name) : NULL;
    if (status == CS_OK) status = file ? cs_prepared_path(file, out) : CS_ERR_MEMORY;
    return status;
}

static cs_status run_script(const void *of, const char *target, char **packages)
{
    const cs_corpus_source *source = of;
    CS_AUTO_FREE char *relative = cs_format("data/%s", source->script), *script = NULL;
    cs_status status = relative ? cs_share_path(relative, &script) : CS_ERR_MEMORY;
    const char *const argv[] = {"sh", script, target, NULL};
    return status == CS_OK ? cs_child_text(script, argv, packages) : status;
}

cs_status cs_corpus_prepare(const char *name, bool force, char **note)
{
    const cs_corpus_source *source = NULL;
    cs_status status = find_source(name, &source);
    if (status != CS_OK) return status;
    CS_AUTO_FREE char *file = cs_format("%s.tsv", name);
    const cs_prepared what = {name, file, run_script, source};
    return file ? cs_prepare(&what, force, note) : CS_ERR_MEMORY;
}

/* --- lists of sources ------------------------------------------------------------------------- */

/* Whether the text there is KEY=VALUE, a parameter of the synthetic language before it. */
static bool is_parameter(const char *at)
{
    at += strspn(at, " ");
    const size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyz-_");
    return key > 0 && at[key] == '=';
}

/* The length of the first of several sources. */
static size_t source_length(const char *at)
{
    size_t length = strcspn(at, ",");
    while (cs_synthetic_named(at) && at[length] == ',' && is_parameter(at + length + 1)) {
        length += 1 + strcspn(at + length + 1, ",");
    }
    return length;
}

bool cs_corpus_joined(const char *source)
{
    return source[source_length(source)] == ',' && !cs_path_exists(source);
}

cs_status cs_corpus_next_source(const char **at, char **source)
{
    *at += strspn(*at, " ");
    const size_t length = source_length(*at);
    *source = NULL;
    if (**at == '\0') return CS_OK;
    CS_AUTO_FREE char *item = cs_format("%.*s", (int)length, *at);
    *source = item ? cs_strdup(cs_trim(item)) : NULL;
    *at += length + ((*at)[length] == ',');
    return !*source           ? CS_ERR_MEMORY
           : **source == '\0' ? cs_fail(CS_ERR_INPUT, "a list of corpora contains an empty name")
                              : CS_OK;
}

const cs_corpus_source *cs_corpus_named(const char *source, const char **side)
{
    int count = 0;
    const cs_corpus_source *known = cs_corpus_sources(&count);
    for (int i = 0; i < count; ++i) {
        const size_t length = strlen(known[i].name);
        if (strncmp(source, known[i].name, length) == 0 &&
            (source[length] == '\0' || (side && source[length] == ':'))) {
            if (strchr(source + length, ',') && cs_corpus_joined(source)) return NULL;
            if (side) {
                *side = source[length] ? source + length + 1 : NULL;
            }
            return &known[i];
        }
    }
    return NULL;
}

cs_status cs_corpus_side(const char *source, const char *name, const char *side,
                         cs_document_split *out)
{
    *out = !side                        ? CS_DOCUMENT_HASHED
           : strcmp(side, "train") == 0 ? CS_DOCUMENT_TRAIN
                                        : CS_DOCUMENT_TEST;
    return !side || *out == CS_DOCUMENT_TRAIN || strcmp(side, "test") == 0
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "%s: expected %s:train or %s:test", source, name, name);
}

/* Where it is, prepared now when it is not there; *path is the caller's, whatever happens. */
static cs_status ready(const char *name, char **path)
{
    cs_status status = cs_corpus_prepared_path(name, path);
    return status == CS_OK && !cs_path_exists(*path) ? cs_corpus_prepare(name, false, NULL)
                                                     : status;
}

/* By the ending in any case, less .gz; AUTO for another. */
static cs_text_format format_of(const char *path)
{
    static const struct {
        const char *ending;
        cs_text_format format;
    } known[] = {{".tsv", CS_FORMAT_TSV},
                 {".txt", CS_FORMAT_TEXT},
                 {".jsonl", CS_FORMAT_JSONL},
                 {".ndjson", CS_FORMAT_JSONL},
                 {".csv", CS_FORMAT_CSV}};
    const size_t length = strlen(path) - (cs_has_suffix(path, ".gz") ? 3 : 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        const size_t size = strlen(known[i].ending);
        if (length > size && strncasecmp(path + length - size, known[i].ending, size) == 0) {
            return known[i].format;
        }
    }
    return CS_FORMAT_AUTO;
}

/* Reports a source that is neither a file nor a named corpus. */
static cs_status corpus_unknown(const char *source)
{
    int count = 0;
    cs_hint hint = {0};
    const cs_corpus_source *known = cs_corpus_sources(&count);
    for (int i = 0; i < count && !strchr(source, '/'); ++i) {
        cs_hint_consider(source, known[i].name, &hint);
    }
    cs_hint_consider(source, "markov:", &hint);
    cs_hint_consider(source, "hmm:", &hint);
    cs_hint_consider(source, "grammar:", &hint);
    return cs_fail(CS_ERR_INPUT,
                   "%s: no such file, no named text corpus and no synthetic language%s", source,
                   cs_path_hint(source, &hint));
}

/* The format of the lines of a file. */
static cs_status lines_of(const char *path, const cs_corpus_options *options, cs_text_format *out)
{
    *out = options->format == CS_FORMAT_AUTO ? format_of(path) : options->format;
    if (*out != CS_FORMAT_AUTO) {
        return CS_OK;
    }
    char first = 0;
    int64_t got = 0;
    const cs_status status = cs_file_head(path, &first, 1, &got);
    if (status != CS_OK) return status; /* the name is not the reason */
    const bool packed = cs_has_suffix(path, ".xz") || cs_has_suffix(path, ".zst");
    return cs_fail(
        CS_ERR_INPUT,
        "%s: not a directory, .tsv, .csv, .txt, .jsonl (each also with .gz) or .npy, nor "
        "pictures as IDX of bytes, .bin of CIFAR-10 or .npz; %s",
        path, packed ? "unpack it first" : "for other file names give --format");
}

static cs_status list_pattern(const char *pattern, const cs_corpus_options *options,
                              cs_corpus_files *out)
{
    char **path = NULL;
    int64_t count = 0;
    cs_status status = cs_pattern_paths(pattern, &path, &count);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        cs_text_format format = CS_FORMAT_AUTO;
        status = lines_of(path[i], options, &format);
        if (status == CS_OK)
            status = cs_corpus_files_add_lines(out, path[i], format, false, options);
    }
    cs_text_list_free(path, count);
    return status;
}

/* A source of files; `prepared`: the file of a named corpus. */
static cs_status read_files(const char *path, bool prepared, const cs_corpus_options *options,
                            cs_corpus *out)
{
    CS_AUTO(cs_corpus_files) files = {0};
    cs_text_format format = CS_FORMAT_TSV;
    cs_status status = CS_OK;
    if (!prepared && cs_path_is_pattern(path)) {
        status = list_pattern(path, options, &files);
    } else if (!prepared && cs_path_is_dir(path)) {
        status = cs_corpus_files_of_directory(path, &files);
    } else {
        files.alone = true;
        if (!prepared) status = lines_of(path, options, &format);
        if (status == CS_OK)
            status = cs_corpus_files_add_lines(&files, path, format, prepared, options);
    }
    if (options->comm) {
        status = cs_comm_agree(options->comm, status);
    }
    return status == CS_OK ? cs_corpus_files_read(path, &files, options, options->comm, out)
                           : status;
}

static cs_status read_path(const char *path, const cs_corpus_options *options, cs_corpus *out)
{
    if (cs_path_is_dir(path) || cs_path_is_pattern(path)) {
        return read_files(path, false, options, out);
    }
    if (!cs_path_exists(path)) {
        return corpus_unknown(path);
    }
    if (cs_npy_named(path)) {
        return cs_corpus_read_npy(path, options, out);
    }
    cs_text_format format = CS_FORMAT_AUTO;
    cs_status status = lines_of(path, options, &format);
    if (status == CS_OK && options->comm && cs_corpus_divides(path, options))
        return read_files(path, false, options, out);
    return status == CS_OK ? cs_corpus_read_lines(path, format, false, options, out) : status;
}

bool cs_corpus_divides(const char *source, const cs_corpus_options *options)
{
    const char *side = NULL;
    if (cs_corpus_named(source, &side)) {
        return true;
    }
    if (cs_synthetic_named(source) || cs_corpus_joined(source) || cs_npy_named(source)) {
        return false;
    }
    if (cs_path_is_dir(source) || cs_path_is_pattern(source)) {
        return true;
    }
    CS_AUTO(cs_corpus_files) files = {0};
    const cs_text_format format =
        options->format == CS_FORMAT_AUTO ? format_of(source) : options->format;
    const cs_status status = format != CS_FORMAT_AUTO
                                 ? cs_corpus_files_add_lines(&files, source, format, false, options)
                                 : CS_ERR_INPUT;
    if (status != CS_OK) cs_reason_clear(); /* the reader reports it */
    return status == CS_OK && files.file[0].divisible;
}

/* --- several sources as one corpus ------------------------------------------------------------ */

/* Their documents one after the other, each on the side that its own source puts it, its class the
 * source that it is from. */

typedef struct {
    cs_corpus_builder builder;
    const char *source;       /* the one that is read */
    char *listing;            /* "SHA-256  source", a line each */
    int64_t bytes, documents; /* of text that is not UTF-8 */
    int64_t headers, returns; /* cs_columns */
} joined;

static cs_status take_joined(void *to, const cs_document *document, bool held_out, bool *enough)
{
    joined *j = to;
    cs_document own = *document;
    own.label = j->source;
    own.label_size = (int64_t)strlen(j->source);
    own.split = held_out ? CS_DOCUMENT_TEST : CS_DOCUMENT_TRAIN;
    cs_status status = cs_corpus_builder_add(&j->builder, &own);
    *enough = j->builder.enough;
    return status;
}

static cs_status add_source(joined *j, const cs_corpus_options *options)
{
    CS_AUTO(cs_corpus) about = {0};
    cs_status status = cs_corpus_visit(j->source, options, take_joined, j, &about);
    j->bytes += about.invalid_bytes;
    j->documents += about.invalid_documents;
    j->headers += about.read.headers;
    j->returns += about.read.returns;
    if (status == CS_OK) cs_append(&j->listing, "%s  %s\n", about.sha256, j->source);
    return status;
}

static cs_status read_joined(const char *sources, const cs_corpus_options *options, cs_corpus *out)
{
    joined j = {.listing = cs_strdup("")};
    char *source = NULL;
    const char *at = sources;
    cs_status status = CS_OK;
    cs_corpus_builder_init(&j.builder, options);
    do {
        cs_free(source);
        status = cs_corpus_next_source(&at, &source);
        j.source = source;
        if (status == CS_OK && source) status = add_source(&j, options);
    } while (status == CS_OK && source && !j.builder.enough);
    if (status == CS_OK && !j.listing) status = CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_corpus_builder_finish(&j.builder, out);
    if (status == CS_OK) {
        cs_sha256(j.listing, strlen(j.listing), out->sha256);
        out->invalid_bytes = j.bytes;
        out->invalid_documents = j.documents;
        out->read.headers = j.headers;
        out->read.returns = j.returns;
    }
    cs_corpus_builder_free(&j.builder);
    cs_free(j.listing);
    cs_free(source);
    return status;
}

/* --- loading ---------------------------------------------------------------------------------- */

/* The last part of a path, without trailing slashes, in fresh memory. */
static char *base_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') {
        end -= 1;
    }
    const char *slash = memrchr(path, '/', end);
    const char *start = slash ? slash + 1 : path;
    return cs_format("%.*s", (int)(path + end - start), start);
}

cs_status cs_corpus_load(const char *source, const cs_corpus_options *options, cs_corpus *out)
{
    cs_corpus_options resolved;
    cs_corpus made = {0};
    char *name = NULL, *path = NULL;
    const char *side = NULL;
    const cs_corpus_source *known = cs_corpus_named(source, &side);
    cs_status status = cs_corpus_options_resolve(options, &resolved);
    if (status == CS_OK && known)
        status = cs_corpus_side(source, known->name, side, &resolved.side);
    if (status != CS_OK) return status;
    if (known) {
        name = cs_strdup(source);
        status = name ? ready(known->name, &path) : CS_ERR_MEMORY;
        if (status == CS_OK)
            status = resolved.comm
                         ? read_files(path, true, &resolved, &made)
                         : cs_corpus_read_lines(path, CS_FORMAT_TSV, true, &resolved, &made);
    } else {
        const bool language = cs_synthetic_named(source), list = cs_corpus_joined(source);
        name = language || list ? cs_strdup(source) : base_name(source);
        path = cs_strdup(source);
        status = !name || !path ? CS_ERR_MEMORY
                 : language     ? cs_synthetic_read(source, &resolved, &made)
                 : list         ? read_joined(source, &resolved, &made)
                                : read_path(source, &resolved, &made);
    }
    if (status == CS_OK) {
        made.name = name;
        made.path = path;
        *out = made;
        return CS_OK;
    }
    cs_free(name);
    cs_free(path);
    return status;
}

static cs_status add_text(const char *name, int64_t number, cs_document document,
                          cs_corpus_builder *builder)
{
    CS_AUTO_FREE char *mended = NULL;
    bool keeps = true;
    cs_status status =
        cs_text_admit(&builder->rules, document.text, &document.size, &mended, &keeps);
    if (mended) document.text = mended;
    if (status == CS_OK && keeps) status = cs_corpus_builder_add(builder, &document);
    return status == CS_ERR_INPUT ? cs_blame(status, "%s: text %lld", name, (long long)number)
                                  : status;
}

cs_status cs_corpus_of_texts(const char *name, int64_t documents, const char *const *text,
                             const int64_t *size, const cs_corpus_options *options, cs_corpus *out)
{
    enum { REPORT_EVERY = 4096 };
    cs_corpus_options resolved;
    CS_AUTO(cs_corpus_builder) builder = {0};
    cs_corpus made = {0};
    cs_status status = cs_corpus_options_resolve(options, &resolved);
    if (status != CS_OK) return status;
    cs_corpus_builder_init(&builder, &resolved);
    for (int64_t d = 0; d < documents && status == CS_OK; ++d) {
        status = add_text(name, d, (cs_document){.text = text[d], .size = size[d]}, &builder);
        if (status == CS_OK && d % REPORT_EVERY == 0) {
            cs_progress_report(resolved.progress, "texts", d, documents);
            status = cs_interrupt_check();
        }
    }
    if (status == CS_OK) status = cs_blame(cs_corpus_builder_finish(&builder, &made), "%s", name);
    return cs_corpus_in_memory(status, name, &made, out);
}

cs_status cs_corpus_visit(const char *source, const cs_corpus_options *options, cs_corpus_take take,
                          void *to, cs_corpus *about)
{
    cs_corpus_options visiting = options ? *options : (cs_corpus_options){.test_share = -1};
    cs_corpus none = {0};
    visiting.take = take;
    visiting.to = to;
    cs_status status = cs_corpus_load(source, &visiting, &none);
    if (status == CS_OK && about) {
        *about = none;
    } else {
        cs_corpus_free(&none);
    }
    return status;
}
