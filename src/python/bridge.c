/* What the Python module calls: plain numbers, pointers and a JSON object of options in; a record
 * (JSON) and arrays out, which live until they are freed. No struct of the library is mirrored in
 * Python, so that the two cannot disagree.
 *
 * Arguments are borrowed for the call. NULL is a failure; cospec_error() says why, until the next
 * call on the same thread. */
#include <jansson.h>
#include <string.h>

#include "analysis/measures/connectivity.h"
#include "analysis/measures/effective_rank.h"
#include "base/mem.h"
#include "cooc/builder.h"
#include "cooc/spectrum.h"
#include "cooc/spectrum_record.h"
#include "io/json.h"
#include "io/result.h"
#include "linalg/gram.h"
#include "plan/spec.h"
#include "text/corpus.h"
#include "toy/toy.h"

#define EXPORT __attribute__((visibility("default")))

enum { ARRAYS = 8 };

typedef enum { F64, I64, I32 } item_type;

typedef struct {
    const char *name;
    item_type type;
    int dimensions;
    int64_t shape[2], stride[2]; /* strides in items */
    void *data;
} array;

/* A call: its options, its answer, and all that the answer's arrays point into. */
typedef struct {
    json_t *options;
    cs_status options_status; /* the first option of another type */
    cs_result *result;
    cs_item *root;
    char *json;
    int arrays;
    array at[ARRAYS];
    cs_spectrum spectrum;
    cs_cooc cooc;
    cs_corpus corpus;
    cs_toy_spectrum toy;
    cs_effective_rank rank;
    cs_connectivity connectivity;
    cs_plan_file mixture; /* the parts of an objective */
} call;

EXPORT const char *cospec_error(int *code);
EXPORT const char *cospec_json(const call *c);
EXPORT int cospec_arrays(const call *c);
EXPORT const array *cospec_array(const call *c, int index);
EXPORT void cospec_free(call *c);
EXPORT call *cospec_svd(int64_t rows, int64_t cols, int64_t *ptr, int32_t *col, double *val,
                        const char *options);
EXPORT call *cospec_connectivity(int64_t rows, int64_t cols, int64_t *ptr, int32_t *col,
                                 double *val, const char *options);
EXPORT call *cospec_rank(int64_t rows, int64_t cols, const void *data, int wide,
                         const char *options);
EXPORT call *cospec_toy(const char *options);
EXPORT call *cospec_cooc(const char *source, int64_t documents, int64_t *doc_ptr, int32_t *token,
                         const char *options);

static _Thread_local cs_status failure;

static void end(call *c)
{
    json_decref(c->options);
    cs_result_free(&c->result);
    cs_free(c->json);
    cs_spectrum_free(&c->spectrum);
    cs_cooc_free(&c->cooc);
    cs_corpus_free(&c->corpus);
    cs_toy_spectrum_free(&c->toy);
    cs_effective_rank_free(&c->rank);
    cs_connectivity_free(&c->connectivity);
    cs_plan_file_free(&c->mixture);
    cs_free(c);
}

static void add(call *c, const char *name, item_type type, int64_t n, void *data)
{
    c->at[c->arrays++] = (array){name, type, 1, {n, 1}, {1, 1}, data};
}

static void add_dense(call *c, const char *name, cs_dense *a)
{
    c->at[c->arrays++] = (array){name, F64, 2, {a->rows, a->cols}, {1, a->ld}, a->data};
}

/* --- options ---------------------------------------------------------------------------------- */

/* The option, removed from the object: what is left at the end is not known. NULL without one, and
 * where it is of another type. */
static json_t *take(call *c, const char *key, bool (*is)(const json_t *), const char *wanted)
{
    json_t *value = json_incref(json_object_get(c->options, key));
    (void)json_object_del(c->options, key);
    if (value && !is(value)) {
        if (c->options_status == CS_OK)
            c->options_status = cs_fail(CS_ERR_USAGE, "option '%s' is no %s", key, wanted);
        json_decref(value);
        value = NULL;
    }
    return value;
}

static bool is_number(const json_t *value)
{
    return json_is_number(value);
}

static bool is_integer(const json_t *value)
{
    return json_is_integer(value);
}

static bool is_flag(const json_t *value)
{
    return json_is_boolean(value);
}

static bool is_text(const json_t *value)
{
    return json_is_string(value);
}

static double take_real(call *c, const char *key, double fallback)
{
    json_t *value = take(c, key, is_number, "number");
    double x = value ? json_number_value(value) : fallback;
    json_decref(value);
    return x;
}

static int64_t take_int(call *c, const char *key, int64_t fallback)
{
    json_t *value = take(c, key, is_integer, "integer");
    int64_t x = value ? json_integer_value(value) : fallback;
    json_decref(value);
    return x;
}

static bool take_flag(call *c, const char *key, bool fallback)
{
    json_t *value = take(c, key, is_flag, "truth value");
    bool x = value ? json_is_true(value) : fallback;
    json_decref(value);
    return x;
}

/* Stays in `keep`, which the caller releases. */
static const char *take_text(call *c, const char *key, const char *fallback, json_t **keep)
{
    *keep = take(c, key, is_text, "text");
    return *keep ? json_string_value(*keep) : fallback;
}

static cs_status all_taken(const call *c)
{
    const char *key = json_object_iter_key(json_object_iter(c->options));
    if (c->options_status != CS_OK) return c->options_status;
    return key ? cs_fail(CS_ERR_USAGE, "no option '%s'", key) : CS_OK;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static cs_status begin(const char *options, call **out)
{
    cs_reason_clear();
    call *c = cs_calloc(1, sizeof *c);
    if (!c) return CS_ERR_MEMORY;
    c->result = cs_result_new();
    c->root = cs_result_root(c->result);
    cs_status status = cs_json_parse("options", options, (int64_t)strlen(options), &c->options);
    if (status != CS_OK) {
        end(c);
        return status;
    }
    *out = c;
    return CS_OK;
}

static call *finish(call *c, cs_status status)
{
    json_t *json = NULL;
    if (status == CS_OK) status = cs_result_json(c->result, &json);
    if (status == CS_OK) {
        char *text = json_dumps(json, JSON_REAL_PRECISION(17));
        c->json = text ? cs_strdup(text) : NULL;
        status = c->json ? CS_OK : CS_ERR_MEMORY;
        free(text);
    }
    json_decref(json);
    failure = status;
    if (status != CS_OK && c) {
        end(c);
        c = NULL;
    }
    return status == CS_OK ? c : NULL;
}

const char *cospec_error(int *code)
{
    *code = (int)failure;
    return cs_reason();
}

const char *cospec_json(const call *c)
{
    return c->json;
}

int cospec_arrays(const call *c)
{
    return c->arrays;
}

const array *cospec_array(const call *c, int index)
{
    return &c->at[index];
}

void cospec_free(call *c)
{
    end(c);
}

/* --- the functions ---------------------------------------------------------------------------- */

call *cospec_svd(int64_t rows, int64_t cols, int64_t *ptr, int32_t *col, double *val,
                 const char *options)
{
    call *c = NULL;
    cs_status status = begin(options, &c);
    if (status != CS_OK) return finish(c, status);
    const cs_csr a = {.rows = rows, .cols = cols, .ptr = ptr, .col = col, .val = val};
    cs_spectrum_options o = {.k = take_int(c, "k", 0),
                             .normalised = take_flag(c, "normalised", false),
                             .values_only = !take_flag(c, "vectors", true),
                             .tol = take_real(c, "tol", 0),
                             .seed = (uint64_t)take_int(c, "seed", 0),
                             .threads = (int)take_int(c, "threads", 0),
                             .moment4 = take_flag(c, "moment4", true),
                             .certify = CS_CERTIFY_USUAL};
    status = all_taken(c);
    if (status == CS_OK) status = cs_csr_check(&a, !o.normalised);
    if (status == CS_OK) status = cs_spectrum_of(&a, &o, &c->spectrum);
    if (status == CS_OK) {
        cs_spectrum *s = &c->spectrum;
        cs_spectrum_record("memory", &o, s, c->root);
        add(c, "sigma", F64, s->k, s->sigma);
        add(c, "residual", F64, s->k, s->residual);
        if (!o.values_only) {
            add_dense(c, "u", &s->u);
            add_dense(c, "v", &s->v);
        }
        if (!o.normalised) {
            add(c, "row_mass", F64, rows, s->row_mass);
            add(c, "col_mass", F64, cols, s->col_mass);
        }
    }
    return finish(c, status);
}

call *cospec_connectivity(int64_t rows, int64_t cols, int64_t *ptr, int32_t *col, double *val,
                          const char *options)
{
    call *c = NULL;
    cs_status status = begin(options, &c);
    if (status != CS_OK) return finish(c, status);
    const cs_csr a = {.rows = rows, .cols = cols, .ptr = ptr, .col = col, .val = val};
    const cs_connectivity_options o = {.k = take_int(c, "k", 0),
                                       .tol = take_real(c, "tol", 0),
                                       .seed = (uint64_t)take_int(c, "seed", 0),
                                       .threads = (int)take_int(c, "threads", 0)};
    status = all_taken(c);
    if (status == CS_OK) status = cs_csr_check(&a, true);
    if (status == CS_OK) status = cs_connectivity_of(&a, &o, &c->connectivity);
    if (status == CS_OK) {
        const cs_connectivity *x = &c->connectivity;
        cs_item_int(c->root, "components", x->spectrum.components);
        cs_item_real(c->root, "giant_mass", x->giant_mass);
        cs_item_real(c->root, "gap", x->gap);
        cs_item_real(c->root, "sigma2", x->cut.sigma2);
        cs_item_real(c->root, "cheeger_lower", x->cut.lower);
        cs_item_real(c->root, "sweep_cut", x->cut.sweep);
        cs_item_real(c->root, "cheeger_upper", x->cut.upper);
        cs_item_real(c->root, "sum_sigma2", x->spectrum.sum_sigma2);
        cs_item_real(c->root, "sum_sigma4", x->spectrum.sum_sigma4);
        cs_item_flag(c->root, "converged", x->spectrum.converged);
        add(c, "sigma", F64, x->spectrum.k, x->spectrum.sigma);
    }
    return finish(c, status);
}

static cs_status rank_of(call *c, const cs_rows *rows, const cs_gram_options *gram,
                         const cs_rank_options *o, int64_t blocks)
{
    cs_gram g = {0};
    cs_status status = cs_gram_init(rows->cols, blocks, gram, &g);
    if (status == CS_OK) status = cs_gram_add(&g, rows, NULL, gram);
    if (status == CS_OK) status = cs_effective_rank_of(&g, o, &c->rank);
    for (int m = 0; m < CS_RANK_MEASURES && status == CS_OK; ++m) {
        char *definition = cs_rank_definition((cs_rank_measure)m, o, &g, &c->rank);
        cs_item *item = cs_item_object(c->root, cs_rank_name((cs_rank_measure)m));
        cs_item_real(item, "value", c->rank.value[m]);
        cs_item_real(item, "se", c->rank.se[m]);
        cs_item_text(item, "definition", definition);
        status = definition ? CS_OK : CS_ERR_MEMORY;
        cs_free(definition);
    }
    cs_gram_free(&g);
    return status;
}

/* Rows of float (wide: double), row-major without gaps. */
call *cospec_rank(int64_t rows, int64_t cols, const void *data, int wide, const char *options)
{
    call *c = NULL;
    cs_status status = begin(options, &c);
    if (status != CS_OK) return finish(c, status);
    const bool centred = take_flag(c, "center", false);
    const int threads = (int)take_int(c, "threads", 0);
    const int64_t blocks = take_int(c, "blocks", rows < 20 ? rows : 20);
    const cs_gram_options gram = {.wide = take_flag(c, "double_sums", true),
                                  .normalise = take_flag(c, "row_norm", false),
                                  .shift = centred,
                                  .threads = threads};
    const cs_rank_options o = {.tau = take_real(c, "tau", 0.9),
                               .eps = -1,
                               .centred = centred,
                               .jackknife = blocks > 1,
                               .threads = threads};
    const cs_rows given =
        wide ? cs_rows_of_f64(rows, cols, data, "rows") : cs_rows_of_f32(rows, cols, data, "rows");
    status = all_taken(c);
    if (status == CS_OK) status = rank_of(c, &given, &gram, &o, blocks);
    if (status == CS_OK) {
        add(c, "eigenvalues", F64, c->rank.count, c->rank.lambda);
    }
    return finish(c, status);
}

static cs_status toy_of(call *c, cs_toy *toy)
{
    json_t *spec = NULL, *method = NULL;
    const char *text = take_text(c, "objective", "ar", &spec);
    const char *how = take_text(c, "method", "reduce", &method);
    toy->classes = take_int(c, "classes", 2);
    toy->length = take_int(c, "length", 4);
    toy->tokens = take_int(c, "tokens", 2);
    toy->given = take_flag(c, "given", false);
    toy->literal = take_flag(c, "literal", false);
    cs_status status = all_taken(c);
    if (status == CS_OK) status = cs_objective_parse_held(text, &c->mixture, &toy->objective);
    if (status == CS_OK && strcmp(how, "enumerate") == 0) {
        status = cs_toy_enumerate(toy, 0, &c->toy);
    } else if (status == CS_OK && strcmp(how, "closed") == 0) {
        status = cs_toy_closed(toy, &c->toy);
    } else if (status == CS_OK && strcmp(how, "reduce") == 0) {
        status = cs_toy_reduce(toy, &c->toy);
    } else if (status == CS_OK) {
        status = cs_fail(CS_ERR_USAGE, "method '%s' is not reduce, enumerate or closed", how);
    }
    json_decref(spec);
    json_decref(method);
    return status;
}

call *cospec_toy(const char *options)
{
    call *c = NULL;
    cs_toy toy = {0};
    cs_status status = begin(options, &c);
    if (status == CS_OK) status = toy_of(c, &toy);
    if (status == CS_OK) {
        cs_item_real(c->root, "sum_sigma2", c->toy.sum_sigma2);
        cs_item_real(c->root, "sum_sigma4", c->toy.sum_sigma4);
        cs_item_int(c->root, "rank", c->toy.rank);
        cs_item_real(c->root, "residual", c->toy.residual);
        cs_item_text(c->root, "source", c->toy.source);
        add(c, "sigma", F64, c->toy.values, c->toy.sigma);
        add(c, "multiplicity", I64, c->toy.values, c->toy.multiplicity);
    }
    return finish(c, status);
}

/* A corpus of ids that the caller holds: documents d are token[doc_ptr[d]] ... */
static cs_status corpus_of_ids(call *c, int64_t documents, int64_t *doc_ptr, int32_t *token,
                               cs_corpus *out)
{
    const int64_t tokens = documents > 0 ? doc_ptr[documents] : 0;
    int32_t largest = -1;
    for (int64_t d = 0; d < documents; ++d) {
        if (doc_ptr[d] < 0 || doc_ptr[d] > doc_ptr[d + 1]) {
            return cs_fail(CS_ERR_INPUT, "offset %lld is %lld, after %lld", (long long)d + 1,
                           (long long)doc_ptr[d + 1], (long long)doc_ptr[d]);
        }
    }
    for (int64_t i = 0; i < tokens; ++i) {
        if (token[i] < 0) {
            return cs_fail(CS_ERR_INPUT, "token %lld is %d", (long long)i, token[i]);
        }
        largest = token[i] > largest ? token[i] : largest;
    }
    c->corpus.label = cs_alloc(documents, sizeof *c->corpus.label);
    c->corpus.held_out = cs_calloc(documents, sizeof *c->corpus.held_out);
    if (!c->corpus.label || !c->corpus.held_out) return CS_ERR_MEMORY;
    memset(c->corpus.label, 0xFF, (size_t)documents * sizeof *c->corpus.label);
    static char name[] = "tokens";
    *out = c->corpus;
    out->name = out->path = name;
    out->documents = documents;
    out->tokens = tokens;
    out->doc_ptr = doc_ptr;
    out->token = token;
    out->vocab = (int64_t)largest + 1;
    out->unknown = -1;
    return CS_OK;
}

static cs_status build(call *c, const cs_corpus *corpus, cs_cooc_options *o)
{
    json_t *spec = NULL, *context = NULL;
    const char *objective = take_text(c, "objective", "ar", &spec);
    const char *mode = take_text(c, "context", "all", &context);
    o->max_length = take_int(c, "max_length", 64);
    o->stride = take_int(c, "stride", 0);
    o->draws = take_int(c, "draws", 0);
    o->seed = (uint64_t)take_int(c, "seed", 0);
    o->threads = (int)take_int(c, "threads", 0);
    o->weight_by_document = take_flag(c, "weight_by_document", false);
    o->context.given = take_flag(c, "given", false);
    const bool given = o->context.given;
    cs_status status = all_taken(c);
    if (status == CS_OK) status = cs_objective_parse_held(objective, &c->mixture, &o->objective);
    if (status == CS_OK) status = cs_context_parse(mode, &o->context);
    o->context.given = given;
    o->memory_budget = INT64_MAX / 4; /* arrays that Python is to hold lie in memory */
    if (status == CS_OK) status = cs_cooc_build(corpus, o, &c->cooc);
    json_decref(spec);
    json_decref(context);
    return status;
}

static void add_cooc(call *c, const cs_corpus *corpus)
{
    cs_cooc *m = &c->cooc;
    cs_csr *a = &m->matrix.a;
    const int64_t nonzeros = cs_csr_nnz(a);
    cs_item_int(c->root, "rows", a->rows);
    cs_item_int(c->root, "cols", a->cols);
    cs_item_flag(c->root, "exact", m->exact);
    cs_item_real(c->root, "unit", m->unit);
    cs_item_real(c->root, "mass", m->mass);
    cs_item_real(c->root, "dropped_mass", m->dropped_mass);
    cs_item_int(c->root, "sequences", m->sequences);
    cs_item_int(c->root, "skipped_sequences", m->skipped_sequences);
    cs_item *words = corpus->word ? cs_item_array(c->root, "words") : NULL;
    for (int64_t v = 0; words && v < corpus->vocab; ++v) {
        cs_item_text(words, NULL, corpus->word[v]);
    }
    add(c, "indptr", I64, a->rows + 1, a->ptr);
    add(c, "indices", I32, nonzeros, a->col);
    add(c, "data", F64, nonzeros, a->val);
}

/* source: a name, file or folder, or NULL for ids that the caller holds. */
call *cospec_cooc(const char *source, int64_t documents, int64_t *doc_ptr, int32_t *token,
                  const char *options)
{
    call *c = NULL;
    cs_corpus ids = {0};
    cs_cooc_options o = {0};
    cs_status status = begin(options, &c);
    if (status != CS_OK) return finish(c, status);
    if (source) {
        const cs_corpus_options reading = {.vocab_size = take_int(c, "vocab", 8000),
                                           .test_share = -1};
        status = cs_corpus_load(source, &reading, &c->corpus);
    } else {
        status = corpus_of_ids(c, documents, doc_ptr, token, &ids);
    }
    const cs_corpus *corpus = source ? &c->corpus : &ids;
    if (status == CS_OK) status = build(c, corpus, &o);
    if (status == CS_OK) add_cooc(c, corpus);
    return finish(c, status);
}
