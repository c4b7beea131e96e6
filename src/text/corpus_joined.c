/* Several sources as one corpus: their documents one after the other, each on the side that its own
 * source puts it, its class the source that it is from. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/parse.h"
#include "text/corpus_read_private.h"
#include "text/law.h"

/* Whether a KEY=VALUE stands there: a parameter of the synthetic language before it. */
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
    while (cs_law_named(at) && at[length] == ',' && is_parameter(at + length + 1)) {
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
    char *item = cs_format("%.*s", (int)length, *at);
    *source = item ? cs_strdup(cs_trim(item)) : NULL;
    cs_free(item);
    *at += length + ((*at)[length] == ',');
    return !*source           ? CS_ERR_MEMORY
           : **source == '\0' ? cs_fail(CS_ERR_INPUT, "a list of corpora contains an empty name")
                              : CS_OK;
}

typedef struct {
    cs_corpus_builder builder;
    const char *source;       /* the one that is read */
    char *listing;            /* "SHA-256  source", a line each */
    int64_t bytes, documents; /* of text that is not UTF-8 */
    int64_t headers;
} joined;

static cs_status take(void *to, const cs_document *document, bool held_out, bool *enough)
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
    cs_corpus about = {0};
    cs_status status = cs_corpus_visit(j->source, options, take, j, &about);
    j->bytes += about.invalid_bytes;
    j->documents += about.invalid_documents;
    j->headers += about.read.headers;
    if (status == CS_OK) cs_append(&j->listing, "%s  %s\n", about.sha256, j->source);
    cs_corpus_free(&about);
    return status;
}

cs_status cs_corpus_read_joined(const char *sources, const cs_corpus_options *options,
                                cs_corpus *out)
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
    }
    cs_corpus_builder_free(&j.builder);
    cs_free(j.listing);
    cs_free(source);
    return status;
}
