/* matrix.json: options and sums as JSON, and back with every field checked.
 *
 * The seed is text, because JSON integers of other readers end at 2^53 and Jansson's at 2^63.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cooc/store_private.h"
#include "io/file.h"
#include "plan/parameter.h"
#include "plan/plan_file.h"

enum { FORMAT_VERSION = 2 };
static const char FORMAT[] = "cospec co-occurrence matrix";

static const char *const SPLIT[] = {"all", "train", "test", NULL};

static const char *const POSITION[] = {"blind", "given", NULL};

/* --- writing ---------------------------------------------------------------------------------- */

/* Sets fields until one fails; the first failure stays. */
typedef struct {
    json_t *object;
    cs_status status;
} writer;

static void set(writer *w, const char *key, json_t *value)
{
    cs_json_put(&w->status, w->object, key, value);
}

static void set_int(writer *w, const char *key, int64_t x)
{
    set(w, key, json_integer(x));
}

static writer begin(void)
{
    writer w = {.object = json_object()};
    w.status = w.object ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
    return w;
}

/* Hands a finished object to its parent. */
static void close_into(writer *parent, const char *key, writer *w)
{
    if (w->status != CS_OK) {
        parent->status = parent->status == CS_OK ? w->status : parent->status;
        json_decref(w->object);
    } else {
        set(parent, key, w->object);
    }
}

static void put_corpus(writer *parent, const cs_corpus *c)
{
    writer w = begin();
    json_t *labels = json_array();
    bool ok = labels != NULL;
    for (int64_t i = 0; i < c->labels && ok; ++i) {
        ok =
            json_array_append_new(labels, cs_json_text(c->label_name ? c->label_name[i] : "")) == 0;
    }
    if (!ok) {
        json_decref(labels);
        labels = NULL;
    }
    set(&w, "name", cs_json_text(c->name));
    set(&w, "path", cs_json_text(c->path));
    set(&w, "sha256", cs_json_text(c->sha256));
    set_int(&w, "documents", c->documents);
    set_int(&w, "tokens", c->tokens);
    set_int(&w, "vocab", c->vocab);
    set(&w, "words", json_boolean(c->word != NULL));
    set(&w, "labels", labels);
    set_int(&w, "dropped_documents", c->dropped_documents);
    set_int(&w, "unknown_tokens", c->unknown_tokens);
    close_into(parent, "corpus", &w);
}

/* What was built, in the form that all results have (docs/formats.md). */
static void put_terms(writer *w, const cs_cooc_options *o)
{
    char *objective = cs_objective_describe(&o->objective);
    char *context = cs_context_describe(&o->context);
    set(w, "objective", objective ? cs_json_text(objective) : NULL);
    set(w, "context", context ? json_string(context) : NULL);
    set(w, "target_position", json_string(POSITION[cs_context_given(&o->context)]));
    cs_free(objective);
    cs_free(context);
}

cs_status cs_sidecar_make(const cs_corpus *corpus, const cs_cooc_options *o, const cs_cooc *m,
                          json_t **out)
{
    char seed[24];
    (void)snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    writer w = begin();
    set(&w, "format", json_string(FORMAT));
    set_int(&w, "version", FORMAT_VERSION);
    put_terms(&w, o);
    json_t *parameters = NULL;
    w.status = w.status == CS_OK ? cs_objective_to_json(&o->objective, &parameters) : w.status;
    set(&w, "parameters", parameters);
    set_int(&w, "max_length", o->max_length);
    set_int(&w, "stride", o->stride);
    set(&w, "weight", json_string(o->weight_by_document ? "document" : "token"));
    set(&w, "split", json_string(SPLIT[o->split]));
    set_int(&w, "draws", o->draws);
    set(&w, "seed", json_string(seed));
    set(&w, "tail", cs_json_number(o->tail));
    set(&w, "sampled", json_boolean(o->draws > 0));
    set(&w, "form", json_string(m->matrix.a.gram ? "gram" : "counts"));
    set(&w, "exact", json_boolean(m->exact));
    set(&w, "unit", cs_json_number(m->unit));
    set(&w, "mass", cs_json_number(m->mass));
    set(&w, "dropped_mass", cs_json_number(m->dropped_mass));
    set_int(&w, "sequences", m->sequences);
    set_int(&w, "skipped_sequences", m->skipped_sequences);
    set_int(&w, "contributions", m->contributions);
    set_int(&w, "rows", m->matrix.a.rows);
    set_int(&w, "cols", m->matrix.a.cols);
    set_int(&w, "nnz", cs_csr_nnz(&m->matrix.a));
    set_int(&w, "labels", m->matrix.labels);
    put_corpus(&w, corpus);
    if (w.status != CS_OK) {
        json_decref(w.object);
        return w.status;
    }
    *out = w.object;
    return CS_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Takes fields until one fails. */
typedef struct {
    const char *file;
    const json_t *object;
    const char *path; /* of the object, "" or "corpus." */
    cs_status status;
} reader;

static void bad(reader *r, const char *key, const char *wanted)
{
    r->status = cs_fail(CS_ERR_INPUT, "%s: field '%s%s' is missing or not %s", r->file, r->path,
                        key, wanted);
}

static int64_t get_int(reader *r, const char *key, int64_t least)
{
    const json_t *v = json_object_get(r->object, key);
    if (r->status == CS_OK && (!json_is_integer(v) || json_integer_value(v) < least))
        bad(r, key, least < 0 ? "an integer" : "an integer in range");
    return r->status == CS_OK ? json_integer_value(v) : least;
}

/* null is NaN where `nan` is allowed. */
static double get_real(reader *r, const char *key, bool nan_too)
{
    const json_t *v = json_object_get(r->object, key);
    bool ok = json_is_number(v) || (nan_too && json_is_null(v));
    if (r->status == CS_OK && !ok) bad(r, key, "a number");
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static bool get_bool(reader *r, const char *key)
{
    const json_t *v = json_object_get(r->object, key);
    if (r->status == CS_OK && !json_is_boolean(v)) bad(r, key, "true or false");
    return json_is_true(v);
}

static const char *get_text(reader *r, const char *key)
{
    const char *text = json_string_value(json_object_get(r->object, key));
    if (r->status == CS_OK && !text) bad(r, key, "a text");
    return text ? text : "";
}

static int get_name(reader *r, const char *key, const char *const *names)
{
    const char *text = get_text(r, key);
    for (int i = 0; names[i]; ++i) {
        if (strcmp(names[i], text) == 0) {
            return i;
        }
    }
    if (r->status == CS_OK)
        r->status =
            cs_fail(CS_ERR_INPUT, "%s: field '%s%s': unknown '%s'", r->file, r->path, key, text);
    return 0;
}

static reader inner(reader *r, const char *key, const char *path)
{
    reader i = {r->file, json_object_get(r->object, key), path, r->status};
    if (r->status == CS_OK && !json_is_object(i.object)) {
        bad(r, key, "an object");
        i.status = r->status;
    }
    return i;
}

static void take_objective(reader *r, cs_plan_file *held, cs_objective *o)
{
    reader i = inner(r, "parameters", "parameters.");
    *o = cs_objective_default(CS_OBJ_AR);
    if (i.status == CS_OK && (i.status = cs_objective_from_json(i.object, held, o)) != CS_OK)
        i.status = cs_blame(i.status, "%s", r->file);
    r->status = i.status;
}

static void take_context(reader *r, cs_context *c)
{
    const char *text = get_text(r, "context");
    if (r->status == CS_OK && cs_context_parse(text, c) != CS_OK)
        r->status = cs_blame(CS_ERR_INPUT, "%s: field 'context'", r->file);
    c->given = get_name(r, "target_position", POSITION) == 1 || cs_context_given(c);
}

static void take_seed(reader *r, uint64_t *seed)
{
    const char *text = get_text(r, "seed");
    char *end = NULL;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    if (r->status == CS_OK && (*text < '0' || *text > '9' || *end || errno))
        bad(r, "seed", "an unsigned integer in quotes");
}

static void take_labels(reader *r, cs_corpus *c)
{
    const json_t *labels = json_object_get(r->object, "labels");
    if (r->status == CS_OK && !json_is_array(labels)) bad(r, "labels", "an array");
    if (r->status != CS_OK) return;
    c->label_name = cs_calloc((int64_t)json_array_size(labels), sizeof *c->label_name);
    if (!c->label_name) {
        r->status = CS_ERR_MEMORY;
        return;
    }
    c->labels = (int64_t)json_array_size(labels);
    for (int64_t i = 0; i < c->labels && r->status == CS_OK; ++i) {
        const char *name = json_string_value(json_array_get(labels, (size_t)i));
        if (!name) {
            bad(r, "labels", "an array of texts");
        } else if (!(c->label_name[i] = cs_strdup(name))) {
            r->status = CS_ERR_MEMORY;
        }
    }
}

static void take_corpus(reader *r, cs_corpus *c, bool *words)
{
    reader i = inner(r, "corpus", "corpus.");
    const char *sha = get_text(&i, "sha256");
    c->name = cs_strdup(get_text(&i, "name"));
    c->path = cs_strdup(get_text(&i, "path"));
    if (i.status == CS_OK && (!c->name || !c->path)) i.status = CS_ERR_MEMORY;
    if (i.status == CS_OK && strlen(sha) >= sizeof c->sha256)
        bad(&i, "sha256", "64 hexadecimal digits");
    (void)snprintf(c->sha256, sizeof c->sha256, "%s", sha);
    c->documents = get_int(&i, "documents", 0);
    c->tokens = get_int(&i, "tokens", 0);
    c->vocab = get_int(&i, "vocab", 0);
    *words = get_bool(&i, "words");
    c->dropped_documents = get_int(&i, "dropped_documents", 0);
    c->unknown_tokens = get_int(&i, "unknown_tokens", 0);
    take_labels(&i, c);
    r->status = i.status;
}

static void take_sums(reader *r, cs_cooc *m, cs_sidecar_sizes *sizes)
{
    m->exact = get_bool(r, "exact");
    m->unit = get_real(r, "unit", false);
    m->mass = get_real(r, "mass", false);
    m->dropped_mass = get_real(r, "dropped_mass", false);
    m->sequences = get_int(r, "sequences", 1);
    m->skipped_sequences = get_int(r, "skipped_sequences", 0);
    m->contributions = get_int(r, "contributions", 0);
    sizes->rows = get_int(r, "rows", 0);
    sizes->cols = get_int(r, "cols", 0);
    sizes->nnz = get_int(r, "nnz", 0);
    sizes->labels = get_int(r, "labels", 0);
    if (r->status == CS_OK && !(m->unit > 0)) bad(r, "unit", "positive");
}

/* Version 1 had objective and context as objects: into the form of today, in place. What is not as
 * it was written stays, to be refused. */
static cs_status upgrade(json_t *sidecar)
{
    json_t *parameters = json_object_get(sidecar, "objective");
    const json_t *context = json_object_get(sidecar, "context");
    const char *mode = json_string_value(json_object_get(context, "mode"));
    const json_t *given = json_object_get(context, "given");
    int found = 0;
    while (mode && cs_context_names[found] && strcmp(cs_context_names[found], mode) != 0) {
        ++found;
    }
    if (json_integer_value(json_object_get(sidecar, "version")) != 1 || !mode ||
        !cs_context_names[found] || !json_is_boolean(given) || !json_is_object(parameters)) {
        return CS_OK;
    }
    const cs_context old = {.mode = (cs_context_mode)found,
                            .n = json_integer_value(json_object_get(context, "n")),
                            .given = json_is_true(given)};
    char *where = cs_context_describe(&old);
    writer w = {.object = sidecar, .status = where ? CS_OK : CS_ERR_MEMORY};
    set(&w, "parameters", json_incref(parameters));
    set(&w, "objective", cs_json_text(json_string_value(json_object_get(parameters, "text"))));
    set(&w, "context", cs_json_text(where));
    set(&w, "target_position", json_string(POSITION[cs_context_given(&old)]));
    set_int(&w, "version", FORMAT_VERSION);
    cs_free(where);
    return w.status;
}

cs_status cs_cooc_sidecar(const char *dir, json_t **out)
{
    json_t *sidecar = NULL;
    char *file = cs_path_join(dir, "matrix.json");
    cs_status status = file ? cs_json_read(file, &sidecar) : CS_ERR_MEMORY;
    if (status == CS_OK) status = upgrade(sidecar);
    cs_free(file);
    if (status != CS_OK) {
        json_decref(sidecar);
        return status;
    }
    *out = sidecar;
    return CS_OK;
}

cs_status cs_sidecar_parse(const char *file, const json_t *sidecar, cs_cooc_store *store,
                           cs_sidecar_sizes *sizes)
{
    reader r = {file, sidecar, "", CS_OK};
    cs_cooc_options *o = &store->options;
    if (strcmp(get_text(&r, "format"), FORMAT) != 0 && r.status == CS_OK)
        r.status = cs_fail(CS_ERR_INPUT, "%s: format is not '%s'", file, FORMAT);
    int64_t version = get_int(&r, "version", 0);
    if (r.status == CS_OK && (version < 1 || version > FORMAT_VERSION))
        r.status = cs_fail(CS_ERR_INPUT, "%s: format version %lld, this program reads 1 to %d",
                           file, (long long)version, FORMAT_VERSION);
    static const char *const WEIGHT[] = {"token", "document", NULL};
    store->plan_file = cs_calloc(1, sizeof *store->plan_file);
    if (!store->plan_file) return CS_ERR_MEMORY;
    take_objective(&r, store->plan_file, &o->objective);
    take_context(&r, &o->context);
    o->max_length = get_int(&r, "max_length", 0);
    o->stride = get_int(&r, "stride", 0);
    o->weight_by_document = get_name(&r, "weight", WEIGHT) == 1;
    o->split = (cs_split)get_name(&r, "split", SPLIT);
    o->draws = get_int(&r, "draws", 0);
    take_seed(&r, &o->seed);
    o->tail = get_real(&r, "tail", false);
    take_sums(&r, &store->cooc, sizes);
    take_corpus(&r, &store->corpus, &sizes->words);
    sizes->plan_file = o->objective.kind == CS_OBJ_FILE;
    if (r.status == CS_OK &&
        (sizes->cols != store->corpus.vocab || sizes->labels != store->corpus.labels)) {
        r.status = cs_fail(CS_ERR_INPUT,
                           "%s: %lld columns and %lld labels, but a vocabulary of %lld and %lld "
                           "labels",
                           file, (long long)sizes->cols, (long long)sizes->labels,
                           (long long)store->corpus.vocab, (long long)store->corpus.labels);
    }
    return r.status;
}
