/* matrix.json: options and sums as JSON, and back with every field checked.
 *
 * The seed is text, because JSON integers of other readers end at 2^53 and Jansson's at 2^63.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/store_sidecar_private.h"
#include "io/file.h"
#include "plan/parameter.h"
#include "plan/plan_file.h"

enum { FORMAT_VERSION = 2 };
static const char FORMAT[] = "cospec co-occurrence matrix";

static const char *const SPLIT[] = {"all", "train", "test", NULL};

static const char *const POSITION[] = {"blind", "given", NULL};

/* --- writing ---------------------------------------------------------------------------------- */

static void put_corpus(cs_status *status, json_t *parent, const cs_corpus *c)
{
    json_t *w = json_object();
    json_t *labels = json_array();
    for (int64_t i = 0; i < c->labels; ++i) {
        (void)json_array_append_new(labels, cs_json_text(c->label_name ? c->label_name[i] : ""));
    }
    cs_json_put(status, w, "name", cs_json_text(c->name));
    cs_json_put(status, w, "path", cs_json_text(c->path));
    cs_json_put(status, w, "sha256", cs_json_text(c->sha256));
    cs_json_put(status, w, "documents", json_integer(c->documents));
    cs_json_put(status, w, "tokens", json_integer(c->tokens));
    cs_json_put(status, w, "vocab", json_integer(c->vocab));
    cs_json_put(status, w, "words", json_boolean(c->word != NULL));
    cs_json_put(status, w, "labels", labels);
    cs_json_put(status, w, "dropped_documents", json_integer(c->dropped_documents));
    cs_json_put(status, w, "unknown_tokens", json_integer(c->unknown_tokens));
    cs_json_put(status, parent, "corpus", w);
}

cs_status cs_sidecar_options(const cs_cooc_options *o, json_t *to)
{
    char seed[24];
    CS_AUTO_FREE char *context = cs_context_describe(&o->context);
    json_t *parameters = NULL;
    cs_status status = cs_objective_to_json(&o->objective, &parameters);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    cs_json_put(&status, to, "context", context ? json_string(context) : NULL);
    cs_json_put(&status, to, "target_position",
                json_string(POSITION[cs_context_given(&o->context)]));
    cs_json_put(&status, to, "parameters", parameters);
    cs_json_put(&status, to, "max_length", json_integer(o->max_length));
    cs_json_put(&status, to, "stride", json_integer(o->stride));
    cs_json_put(&status, to, "weight", json_string(o->weight_by_document ? "document" : "token"));
    cs_json_put(&status, to, "split", json_string(SPLIT[o->split]));
    cs_json_put(&status, to, "draws", json_integer(o->draws));
    cs_json_put(&status, to, "seed", json_string(seed));
    cs_json_put(&status, to, "tail", cs_json_number(o->tail));
    if (o->subsample > 0) cs_json_put(&status, to, "subsample", cs_json_number(o->subsample));
    return status;
}

cs_status cs_sidecar_make(const cs_corpus *corpus, const cs_cooc_options *o, const cs_cooc *m,
                          const cs_sidecar_sizes *sizes, json_t **out)
{
    CS_AUTO_FREE char *objective = cs_objective_describe(&o->objective);
    json_t *w = json_object();
    cs_status status = CS_OK;
    cs_json_put(&status, w, "format", json_string(FORMAT));
    cs_json_put(&status, w, "version", json_integer(FORMAT_VERSION));
    cs_json_put(&status, w, "objective", objective ? cs_json_text(objective) : NULL);
    if (status == CS_OK) status = cs_sidecar_options(o, w);
    cs_json_put(&status, w, "sampled", json_boolean(o->draws > 0));
    cs_json_put(&status, w, "form", json_string(cs_context_gram(&o->context) ? "gram" : "counts"));
    cs_json_put(&status, w, "exact", json_boolean(m->exact));
    cs_json_put(&status, w, "unit", cs_json_number(m->unit));
    cs_json_put(&status, w, "mass", cs_json_number(m->mass));
    cs_json_put(&status, w, "dropped_mass", cs_json_number(m->dropped_mass));
    cs_json_put(&status, w, "sequences", json_integer(m->sequences));
    cs_json_put(&status, w, "skipped_sequences", json_integer(m->skipped_sequences));
    cs_json_put(&status, w, "contributions", json_integer(m->contributions));
    cs_json_put(&status, w, "rows", json_integer(sizes->rows));
    cs_json_put(&status, w, "cols", json_integer(sizes->cols));
    cs_json_put(&status, w, "nnz", json_integer(sizes->nnz));
    cs_json_put(&status, w, "labels", json_integer(sizes->labels));
    put_corpus(&status, w, corpus);
    return CS_DELIVER(status, out, w, cs_json_free);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void take_objective(cs_json_reader *r, cs_plan_file *held, cs_objective *o)
{
    cs_json_reader i = cs_json_inner(r, "parameters", "parameters.");
    *o = cs_objective_default(CS_OBJ_AR);
    r->status = i.status == CS_OK ? cs_objective_from_json(i.object, held, o) : i.status;
}

static void take_context(cs_json_reader *r, cs_context *c)
{
    const char *text = cs_json_word(r, "context");
    if (r->status == CS_OK && cs_context_parse(text, c) != CS_OK)
        r->status = cs_blame(CS_ERR_INPUT, "field 'context'");
    c->given = cs_json_name(r, "target_position", POSITION) == 1 || cs_context_given(c);
}

static void take_seed(cs_json_reader *r, uint64_t *seed)
{
    const char *text = cs_json_word(r, "seed");
    char *end = NULL;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        cs_json_refuse(r, "seed", "an unsigned integer in quotes");
}

static void take_labels(cs_json_reader *r, cs_corpus *c)
{
    const json_t *labels = json_object_get(r->object, "labels");
    if (!json_is_array(labels)) cs_json_refuse(r, "labels", "an array");
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
            cs_json_refuse(r, "labels", "an array of strings");
        } else if (!(c->label_name[i] = cs_strdup(name))) {
            r->status = CS_ERR_MEMORY;
        }
    }
}

static void take_corpus(cs_json_reader *r, cs_corpus *c, bool *words)
{
    cs_json_reader i = cs_json_inner(r, "corpus", "corpus.");
    const char *sha = cs_json_word(&i, "sha256");
    c->name = cs_strdup(cs_json_word(&i, "name"));
    c->path = cs_strdup(cs_json_word(&i, "path"));
    if (i.status == CS_OK && (!c->name || !c->path)) i.status = CS_ERR_MEMORY;
    if (strlen(sha) >= sizeof c->sha256) cs_json_refuse(&i, "sha256", "64 hexadecimal digits");
    (void)snprintf(c->sha256, sizeof c->sha256, "%s", sha);
    c->documents = cs_json_int(&i, "documents", 0);
    c->tokens = cs_json_int(&i, "tokens", 0);
    c->vocab = cs_json_int(&i, "vocab", 0);
    *words = cs_json_flag(&i, "words");
    c->dropped_documents = cs_json_int(&i, "dropped_documents", 0);
    c->unknown_tokens = cs_json_int(&i, "unknown_tokens", 0);
    take_labels(&i, c);
    r->status = i.status;
}

static void take_sums(cs_json_reader *r, cs_cooc *m, cs_sidecar_sizes *sizes)
{
    m->exact = cs_json_flag(r, "exact");
    m->unit = cs_json_real(r, "unit", false);
    m->mass = cs_json_real(r, "mass", false);
    m->dropped_mass = cs_json_real(r, "dropped_mass", false);
    m->sequences = cs_json_int(r, "sequences", 1);
    m->skipped_sequences = cs_json_int(r, "skipped_sequences", 0);
    m->contributions = cs_json_int(r, "contributions", 0);
    sizes->rows = cs_json_int(r, "rows", 0);
    sizes->cols = cs_json_int(r, "cols", 0);
    sizes->nnz = cs_json_int(r, "nnz", 0);
    sizes->labels = cs_json_int(r, "labels", 0);
    if (!(m->unit > 0)) cs_json_refuse(r, "unit", "positive");
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
    CS_AUTO_FREE char *where = cs_context_describe(&old);
    cs_status status = where ? CS_OK : CS_ERR_MEMORY;
    cs_json_put(&status, sidecar, "parameters", json_incref(parameters));
    cs_json_put(&status, sidecar, "objective",
                cs_json_text(json_string_value(json_object_get(parameters, "text"))));
    cs_json_put(&status, sidecar, "context", cs_json_text(where));
    cs_json_put(&status, sidecar, "target_position", json_string(POSITION[cs_context_given(&old)]));
    cs_json_put(&status, sidecar, "version", json_integer(FORMAT_VERSION));
    return status;
}

cs_status cs_cooc_sidecar(const char *dir, json_t **out)
{
    json_t *sidecar = NULL;
    CS_AUTO_FREE char *file = cs_path_join(dir, "matrix.json");
    cs_status status = file ? cs_json_read(file, &sidecar) : CS_ERR_MEMORY;
    if (status == CS_OK) status = upgrade(sidecar);
    return CS_DELIVER(status, out, sidecar, cs_json_free);
}

cs_status cs_sidecar_parse(const char *file, const json_t *sidecar, cs_cooc_store *store,
                           cs_sidecar_sizes *sizes)
{
    cs_json_reader r = {sidecar, "", CS_OK};
    cs_cooc_options *o = &store->options;
    if (strcmp(cs_json_word(&r, "format"), FORMAT) != 0 && r.status == CS_OK)
        r.status = cs_fail(CS_ERR_INPUT, "'format' is not '%s'", FORMAT);
    int64_t version = cs_json_int(&r, "version", 0);
    if (r.status == CS_OK && (version < 1 || version > FORMAT_VERSION))
        r.status = cs_fail(CS_ERR_INPUT,
                           "format version %lld is not supported; this program reads 1 to %d",
                           (long long)version, FORMAT_VERSION);
    static const char *const WEIGHT[] = {"token", "document", NULL};
    store->plan_file = cs_calloc(1, sizeof *store->plan_file);
    if (!store->plan_file) return CS_ERR_MEMORY;
    take_objective(&r, store->plan_file, &o->objective);
    take_context(&r, &o->context);
    o->max_length = cs_json_int(&r, "max_length", 0);
    o->stride = cs_json_int(&r, "stride", 0);
    o->weight_by_document = cs_json_name(&r, "weight", WEIGHT) == 1;
    o->split = (cs_split)cs_json_name(&r, "split", SPLIT);
    o->draws = cs_json_int(&r, "draws", 0);
    take_seed(&r, &o->seed);
    o->tail = cs_json_real(&r, "tail", false);
    if (json_object_get(sidecar, "subsample")) {
        o->subsample = cs_json_real(&r, "subsample", false);
    }
    take_sums(&r, &store->cooc, sizes);
    take_corpus(&r, &store->corpus, &sizes->words);
    sizes->plan_file = o->objective.kind == CS_OBJ_FILE;
    if (r.status == CS_OK &&
        (sizes->cols != store->corpus.vocab || sizes->labels != store->corpus.labels)) {
        r.status = cs_fail(CS_ERR_INPUT,
                           "%lld columns and %lld labels, but a vocabulary of %lld and %lld labels",
                           (long long)sizes->cols, (long long)sizes->labels,
                           (long long)store->corpus.vocab, (long long)store->corpus.labels);
    }
    return cs_blame(r.status, "%s", file);
}
