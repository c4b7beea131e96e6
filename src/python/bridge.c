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
#include "base/names.h"
#include "cooc/builder.h"
#include "cooc/spectrum.h"
#include "cooc/spectrum_record.h"
#include "io/json.h"
#include "io/result.h"
#include "linalg/gram.h"
#include "plan/spec.h"
#include "text/corpus.h"
#include "toy/toy.h"
#include "version.h"

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

EXPORT const char *cospec_version(void);
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

/* --- begin and end ---------------------------------------------------------------------------- */

/* An option, and where it goes if it is given. */
typedef enum { REAL, INTEGER, SMALL, FLAG, TEXT } option_type;
typedef struct {
    const char *key;
    option_type type;
    void *to; /* double, int64_t, int, bool, const char * (which lives as long as the call) */
} option;

static cs_status take(const option *o, const json_t *value)
{
    static const char *const wanted[] = {"number", "integer", "integer", "boolean", "string"};
    const bool fits = o->type == REAL   ? json_is_number(value)
                      : o->type == FLAG ? json_is_boolean(value)
                      : o->type == TEXT ? json_is_string(value)
                                        : json_is_integer(value);
    if (!fits) {
        return cs_fail(CS_ERR_USAGE, "option '%s' expects a value of type %s", o->key,
                       wanted[o->type]);
    }
    switch (o->type) {
    case REAL:
        *(double *)o->to = json_number_value(value);
        break;
    case INTEGER:
        *(int64_t *)o->to = json_integer_value(value);
        break;
    case SMALL:
        *(int *)o->to = (int)json_integer_value(value);
        break;
    case FLAG:
        *(bool *)o->to = json_is_true(value);
        break;
    case TEXT:
        *(const char **)o->to = json_string_value(value);
        break;
    }
    return CS_OK;
}

/* A call with the options that it knows taken; NULL in *out without memory. */
static cs_status begin(const char *options, size_t count, const option *known, call **out)
{
    cs_reason_clear();
    call *c = *out = cs_calloc(1, sizeof *c);
    if (!c) return CS_ERR_MEMORY;
    c->result = cs_result_new();
    c->root = cs_result_root(c->result);
    cs_status status = cs_json_parse("options", options, (int64_t)strlen(options), &c->options);
    const char *key;
    json_t *value;
    json_object_foreach(c->options, key, value)
    {
        int i = 0;
        if (status == CS_OK)
            status = cs_name_number("option", key, &known->key, sizeof *known, count, &i);
        if (status == CS_OK) status = take(&known[i], value);
    }
    return status;
}

#define BEGIN(options, known, out) begin(options, sizeof(known) / sizeof *(known), known, out)

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

const char *cospec_version(void)
{
    return CS_VERSION;
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
    cs_csr a = {.rows = rows, .cols = cols, .ptr = ptr, .col = col, .val = val};
    cs_spectrum_options o = {.moment4 = true, .certify = CS_CERTIFY_USUAL};
    bool vectors = true;
    const option known[] = {{"k", INTEGER, &o.k},          {"normalised", FLAG, &o.normalised},
                            {"vectors", FLAG, &vectors},   {"tol", REAL, &o.tol},
                            {"seed", INTEGER, &o.seed},    {"threads", SMALL, &o.threads},
                            {"moment4", FLAG, &o.moment4}, {"gram", FLAG, &a.gram}};
    cs_status status = BEGIN(options, known, &c);
    o.values_only = !vectors;
    if (status == CS_OK) status = cs_csr_check(&a, !o.normalised);
    if (status == CS_OK) status = cs_spectrum_of(&a, &o, &c->spectrum);
    if (status == CS_OK) {
        cs_spectrum *s = &c->spectrum;
        cs_spectrum_record("memory", &o, s, c->root);
        add(c, "sigma", F64, s->k, s->sigma);
        add(c, "residual", F64, s->k, s->residual);
        if (!o.values_only) {
            if (!s->gram) add_dense(c, "u", &s->u);
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
    cs_csr a = {.rows = rows, .cols = cols, .ptr = ptr, .col = col, .val = val};
    cs_connectivity_options o = {0};
    const option known[] = {{"k", INTEGER, &o.k},
                            {"tol", REAL, &o.tol},
                            {"seed", INTEGER, &o.seed},
                            {"threads", SMALL, &o.threads},
                            {"gram", FLAG, &a.gram}};
    cs_status status = BEGIN(options, known, &c);
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
    int64_t blocks = rows < 20 ? rows : 20;
    cs_gram_options gram = {.wide = true};
    cs_rank_options o = {.tau = 0.9, .eps = -1};
    const option known[] = {{"center", FLAG, &o.centred},        {"threads", SMALL, &o.threads},
                            {"blocks", INTEGER, &blocks},        {"double_sums", FLAG, &gram.wide},
                            {"row_norm", FLAG, &gram.normalise}, {"tau", REAL, &o.tau}};
    cs_status status = BEGIN(options, known, &c);
    gram.shift = o.centred;
    gram.threads = o.threads;
    o.jackknife = blocks > 1;
    const cs_rows given =
        wide ? cs_rows_of_f64(rows, cols, data, "rows") : cs_rows_of_f32(rows, cols, data, "rows");
    if (status == CS_OK) status = rank_of(c, &given, &gram, &o, blocks);
    if (status == CS_OK) add(c, "eigenvalues", F64, c->rank.count, c->rank.lambda);
    return finish(c, status);
}

call *cospec_toy(const char *options)
{
    call *c = NULL;
    const char *text = "ar", *how = "reduce";
    cs_toy toy = {.classes = 2, .length = 4, .tokens = 2};
    const option known[] = {{"objective", TEXT, &text},         {"method", TEXT, &how},
                            {"classes", INTEGER, &toy.classes}, {"length", INTEGER, &toy.length},
                            {"tokens", INTEGER, &toy.tokens},   {"given", FLAG, &toy.given},
                            {"literal", FLAG, &toy.literal}};
    cs_status status = BEGIN(options, known, &c);
    if (status == CS_OK) status = cs_objective_parse_held(text, &c->mixture, &toy.objective);
    if (status == CS_OK && strcmp(how, "enumerate") == 0) {
        status = cs_toy_enumerate(&toy, 0, &c->toy);
    } else if (status == CS_OK && strcmp(how, "closed") == 0) {
        status = cs_toy_closed(&toy, &c->toy);
    } else if (status == CS_OK && strcmp(how, "reduce") == 0) {
        status = cs_toy_reduce(&toy, &c->toy);
    } else if (status == CS_OK) {
        status = cs_fail(CS_ERR_USAGE, "method '%s' is not reduce, enumerate or closed", how);
    }
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
            return cs_fail(CS_ERR_INPUT,
                           "offset %lld is %lld, which is below the one before it, %lld",
                           (long long)d + 1, (long long)doc_ptr[d + 1], (long long)doc_ptr[d]);
        }
    }
    for (int64_t i = 0; i < tokens; ++i) {
        if (token[i] < 0) {
            return cs_fail(CS_ERR_INPUT, "token %lld is negative: %d", (long long)i, token[i]);
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
    const cs_corpus *corpus = source ? NULL : &ids;
    cs_corpus_options reading = {.vocab_size = 8000, .test_share = -1};
    const char *objective = "ar", *mode = "all";
    const char *invalid = "refuse";
    bool given = false;
    cs_cooc_options o = {.max_length = 64};
    const option known[] = {{"objective", TEXT, &objective},
                            {"context", TEXT, &mode},
                            {"max_length", INTEGER, &o.max_length},
                            {"stride", INTEGER, &o.stride},
                            {"draws", INTEGER, &o.draws},
                            {"seed", INTEGER, &o.seed},
                            {"threads", SMALL, &o.threads},
                            {"weight_by_document", FLAG, &o.weight_by_document},
                            {"given", FLAG, &given},
                            {"vocab", INTEGER, &reading.vocab_size}, /* of a source, as the next */
                            {"invalid", TEXT, &invalid}};
    const size_t options_known = sizeof known / sizeof *known - (source ? 0 : 2);
    cs_status status = begin(options, options_known, known, &c);
    const int rule = cs_choice_number("refuse|replace|skip|latin1", invalid);
    if (status == CS_OK && rule < 0)
        status = cs_fail(CS_ERR_USAGE, "invalid: expected refuse, replace, skip or latin1, got %s",
                         invalid);
    reading.invalid = (cs_invalid)(rule < 0 ? 0 : rule);
    if (status == CS_OK && source) {
        status = cs_corpus_load(source, &reading, &c->corpus);
        corpus = &c->corpus;
    } else if (status == CS_OK) {
        status = corpus_of_ids(c, documents, doc_ptr, token, &ids);
    }
    if (status == CS_OK) status = cs_objective_parse_held(objective, &c->mixture, &o.objective);
    if (status == CS_OK) status = cs_context_parse(mode, &o.context);
    o.context.given = given;
    o.memory_budget = INT64_MAX / 4; /* arrays that Python is to hold lie in memory */
    if (status == CS_OK) status = cs_cooc_build(corpus, &o, &c->cooc);
    if (status == CS_OK) add_cooc(c, corpus);
    return finish(c, status);
}
