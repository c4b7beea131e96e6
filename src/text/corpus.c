/* Which reader a source needs, and what every corpus can do. */
#include "text/corpus.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "text/corpus_read.h"

/* What the scripts in data/ write (docs/formats.md, "Prepared corpora"). */
static const cs_tsv_columns prepared_columns = {.key = 1, .label = 2, .split = 3, .text = 4};

static bool is_known_name(const char *source)
{
    int count = 0;
    const cs_corpus_source *known = cs_corpus_sources(&count);
    for (int i = 0; i < count; ++i) {
        if (strcmp(source, known[i].name) == 0) {
            return true;
        }
    }
    return false;
}

static cs_status read_path(const char *path, const cs_corpus_options *options, cs_corpus *out)
{
    if (cs_path_is_dir(path)) {
        return cs_corpus_read_directory(path, options, out);
    }
    if (!cs_path_exists(path)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: no such file, and not a corpus known by name (wordnet, bible-kjv, "
                       "gcide, manpages)",
                       path);
    }
    if (cs_has_suffix(path, ".npy")) {
        return cs_corpus_read_npy(path, options, out);
    }
    if (cs_has_suffix(path, ".tsv")) {
        cs_tsv_columns columns = {.label = options->label_column > 0 ? options->label_column : 0,
                                  .text = options->text_column};
        return cs_corpus_read_tsv(path, options, &columns, out);
    }
    if (cs_has_suffix(path, ".txt")) {
        return cs_corpus_read_text(path, options, out);
    }
    return cs_fail(CS_ERR_INPUT, "%s: not a directory, .tsv, .txt or .npy", path);
}

/* The last part of a path, without trailing slashes, in fresh memory. */
static char *base_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') {
        end -= 1;
    }
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') {
        start -= 1;
    }
    return cs_format("%.*s", (int)(end - start), path + start);
}

/* The prepared form of a named corpus, made now when it is not there. */
static cs_status read_named(const char *name, const cs_corpus_options *options, char **path,
                            cs_corpus *out)
{
    cs_status status = cs_corpus_prepared_path(name, path);
    if (status == CS_OK && !cs_path_exists(*path)) {
        status = cs_corpus_prepare(name, false, NULL);
    }
    return status == CS_OK ? cs_corpus_read_tsv(*path, options, &prepared_columns, out) : status;
}

cs_status cs_corpus_load(const char *source, const cs_corpus_options *options, cs_corpus *out)
{
    cs_corpus_options resolved;
    cs_corpus made = {0};
    char *name = NULL, *path = NULL;
    cs_status status = cs_corpus_options_resolve(options, &resolved);
    if (status != CS_OK) {
        return status;
    }
    if (is_known_name(source)) {
        name = cs_strdup(source);
        status = name ? read_named(source, &resolved, &path, &made) : CS_ERR_MEMORY;
    } else {
        name = base_name(source);
        path = cs_strdup(source);
        status = name && path ? read_path(source, &resolved, &made) : CS_ERR_MEMORY;
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

cs_status cs_corpus_visit(const char *source, const cs_corpus_options *options, cs_corpus_take take,
                          void *to)
{
    cs_corpus_options visiting = options ? *options : (cs_corpus_options){.test_share = -1};
    cs_corpus none = {0};
    visiting.take = take;
    visiting.to = to;
    cs_status status = cs_corpus_load(source, &visiting, &none);
    if (status == CS_OK) {
        cs_corpus_free(&none);
    }
    return status;
}

static void free_texts(char **text, int64_t count)
{
    if (text) {
        for (int64_t i = 0; i < count; ++i) {
            cs_free(text[i]);
        }
    }
    cs_free(text);
}

void cs_corpus_free(cs_corpus *corpus)
{
    free_texts(corpus->label_name, corpus->labels);
    free_texts(corpus->word, corpus->vocab);
    cs_free(corpus->name);
    cs_free(corpus->path);
    cs_free(corpus->doc_ptr);
    cs_free(corpus->token);
    cs_free(corpus->label);
    cs_free(corpus->held_out);
    memset(corpus, 0, sizeof *corpus);
}

/* Fresh copies; *out is NULL when text is NULL. Leaves what it copied to the caller on failure. */
static cs_status copy_texts(char *const *text, int64_t count, char ***out)
{
    if (!text) {
        *out = NULL;
        return CS_OK;
    }
    char **copy = cs_calloc(count, sizeof *copy);
    if (!copy) {
        return CS_ERR_MEMORY;
    }
    *out = copy;
    for (int64_t i = 0; i < count; ++i) {
        copy[i] = cs_strdup(text[i]);
        if (!copy[i]) {
            return CS_ERR_MEMORY;
        }
    }
    return CS_OK;
}

/* Everything that does not depend on which documents are kept. */
static cs_status copy_frame(const cs_corpus *corpus, cs_corpus *out)
{
    memcpy(out->sha256, corpus->sha256, sizeof out->sha256);
    out->labels = corpus->labels;
    out->vocab = corpus->vocab;
    out->unknown = corpus->unknown;
    out->dropped_documents = corpus->dropped_documents;
    out->name = cs_strdup(corpus->name);
    out->path = cs_strdup(corpus->path);
    if (!out->name || !out->path) {
        return CS_ERR_MEMORY;
    }
    cs_status status = copy_texts(corpus->label_name, corpus->labels, &out->label_name);
    return status == CS_OK ? copy_texts(corpus->word, corpus->vocab, &out->word) : status;
}

cs_status cs_corpus_select(const cs_corpus *corpus, const uint8_t *keep, cs_corpus *out)
{
    cs_corpus made = {0};
    for (int64_t d = 0; d < corpus->documents; ++d) {
        if (keep[d]) {
            made.documents += 1;
            made.tokens += corpus->doc_ptr[d + 1] - corpus->doc_ptr[d];
        }
    }
    if (made.documents == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: none of the %lld documents is selected", corpus->name,
                       (long long)corpus->documents);
    }
    cs_status status = copy_frame(corpus, &made);
    if (status != CS_OK) {
        goto done;
    }
    made.doc_ptr = cs_calloc(made.documents + 1, sizeof *made.doc_ptr);
    made.token = cs_alloc(made.tokens, sizeof *made.token);
    made.label = cs_alloc(made.documents, sizeof *made.label);
    made.held_out = cs_alloc(made.documents, sizeof *made.held_out);
    if (!made.doc_ptr || !made.token || !made.label || !made.held_out) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    int64_t to = 0, at = 0;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        if (keep[d]) {
            int64_t first = corpus->doc_ptr[d], length = corpus->doc_ptr[d + 1] - first;
            memcpy(made.token + at, corpus->token + first, (size_t)length * sizeof *made.token);
            at += length;
            made.label[to] = corpus->label[d];
            made.held_out[to] = corpus->held_out[d];
            made.doc_ptr[++to] = at;
        }
    }
    for (int64_t i = 0; corpus->word && i < made.tokens; ++i) {
        made.unknown_tokens += made.token[i] == made.unknown;
    }
    *out = made;
    memset(&made, 0, sizeof made);
done:
    cs_corpus_free(&made);
    return status;
}

const char *cs_corpus_label(const cs_corpus *corpus, int64_t document)
{
    int32_t label = corpus->label[document];
    return label < 0 ? "-" : corpus->label_name[label];
}

const char *cs_corpus_word(const cs_corpus *corpus, int32_t token, char *buffer)
{
    if (corpus->word) {
        return corpus->word[token];
    }
    (void)snprintf(buffer, 24, "%d", token);
    return buffer;
}
