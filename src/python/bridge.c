/* What the Python module calls: plain numbers, pointers and a JSON object of options in; a record
 * (JSON) and arrays out, which live until they are freed. No struct of the library is mirrored in
 * Python, so that the two cannot disagree.
 *
 * Arguments are borrowed for the call. NULL is a failure; cospec_error() says why, until the next
 * call on the same thread. */
#include <jansson.h>
#include <string.h>

#include "analysis/measures/connectivity.h"
#include "analysis/measures/dimension.h"
#include "analysis/measures/effective_rank.h"
#include "analysis/measures/similarity.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/threads.h"
#include "cooc/builder.h"
#include "cooc/spectrum.h"
#include "cooc/spectrum_record.h"
#include "io/json.h"
#include "io/result.h"
#include "linalg/gram.h"
#include "plan/spec.h"
#include "text/corpus.h"
#include "version.h"

#define EXPORT __attribute__((visibility("default")))

enum { ARRAYS = 8, MOST_THREADS = 256 };

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
    cs_similarity similarity;
    cs_shape shape;
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
                         const int32_t *block, const char *options);
EXPORT call *cospec_similarity(int64_t rows, int64_t cols, const void *data, int wide,
                               int64_t other_rows, int64_t other_cols, const void *other,
                               int other_wide, const char *options);
EXPORT call *cospec_dimension(int64_t rows, int64_t cols, const void *data, int wide,
                              const char *options);
EXPORT call *cospec_cooc(int64_t documents, int64_t *doc_ptr, int32_t *token, const char *options);
EXPORT void cospec_progress(void (*report)(const char *stage, int64_t done, int64_t total));
EXPORT void cospec_interrupt(int set);
EXPORT int cospec_busy(void);

static _Thread_local cs_status failure;

/* One call runs at a time: Python sees to that. */
static void (*reporter)(const char *stage, int64_t done, int64_t total);

static void report(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)ctx;
    if (reporter) reporter(stage, done, total);
}
static const cs_progress progress = {report, NULL};

void cospec_progress(void (*to)(const char *stage, int64_t done, int64_t total))
{
    reporter = to;
}

/* 1: the running call ends with CS_ERR_INTERRUPT; 0: before the next one. */
void cospec_interrupt(int set)
{
    set ? cs_interrupt_set() : cs_interrupt_clear();
}

/* Whether a computation that an interrupt left behind still runs. */
int cospec_busy(void)
{
    return cs_mem_kept();
}

static void end(call *c)
{
    json_decref(c->options);
    cs_result_free(&c->result);
    cs_free(c->json);
    cs_spectrum_free(&c->spectrum);
    cs_cooc_free(&c->cooc);
    cs_corpus_free(&c->corpus);
    cs_similarity_free(&c->similarity);
    cs_shape_free(&c->shape);
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
typedef enum { REAL, INTEGER, THREADS, FLAG, TEXT } option_type;
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
    case THREADS:
        if (json_integer_value(value) < 1 || json_integer_value(value) > MOST_THREADS) {
            return cs_fail(CS_ERR_USAGE, "%s: %lld is not in 1..%d", o->key,
                           (long long)json_integer_value(value), MOST_THREADS);
        }
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

/* The default of --moment-budget. */
static const double MOMENT_BUDGET = 2e10;

/* --- the functions ---------------------------------------------------------------------------- */

call *cospec_svd(int64_t rows, int64_t cols, int64_t *ptr, int32_t *col, double *val,
                 const char *options)
{
    call *c = NULL;
    cs_csr a = {.rows = rows, .cols = cols, .ptr = ptr, .col = col, .val = val};
    cs_spectrum_options o = {.moment4 = true,
                             .moment4_budget = MOMENT_BUDGET,
                             .moment4_sparing = true,
                             .certify = CS_CERTIFY_USUAL,
                             .progress = &progress};
    bool vectors = false;
    const option known[] = {{"k", INTEGER, &o.k},        {"normalised", FLAG, &o.normalised},
                            {"vectors", FLAG, &vectors}, {"tol", REAL, &o.tol},
                            {"seed", INTEGER, &o.seed},  {"threads", THREADS, &o.threads},
                            {"gram", FLAG, &a.gram}};
    cs_status status = BEGIN(options, known, &c);
    o.values_only = !vectors;
    if (status == CS_OK && o.k < 1)
        status = cs_fail(CS_ERR_USAGE, "k: %lld is below 1; k=\"all\" computes all of them",
                         (long long)o.k);
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
    cs_connectivity_options o = {.k = 32, .moment4_budget = MOMENT_BUDGET, .progress = &progress};
    const option known[] = {{"k", INTEGER, &o.k},
                            {"tol", REAL, &o.tol},
                            {"seed", INTEGER, &o.seed},
                            {"threads", THREADS, &o.threads},
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
                         const cs_rank_options *o, int64_t blocks, const int32_t *block)
{
    cs_gram g = {0};
    cs_status status = cs_gram_init(rows->cols, blocks, gram, &g);
    if (status == CS_OK) status = cs_gram_add(&g, rows, block, gram);
    if (status == CS_OK) status = cs_effective_rank_of(&g, o, &c->rank);
    for (int m = 0; m < CS_RANK_MEASURES && status == CS_OK; ++m) {
        char *definition = cs_rank_definition((cs_rank_measure)m, o, &g, &c->rank,
                                              &c->rank.point[c->rank.points - 1]);
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
static cs_rows rows_of(int64_t rows, int64_t cols, const void *data, int wide, const char *name)
{
    return wide ? cs_rows_of_f64(rows, cols, data, name) : cs_rows_of_f32(rows, cols, data, name);
}

/* block: of each row, for the jackknife; NULL: consecutive rows. */
call *cospec_rank(int64_t rows, int64_t cols, const void *data, int wide, const int32_t *block,
                  const char *options)
{
    call *c = NULL;
    int64_t blocks = rows < 20 ? rows : 20;
    cs_gram_options gram = {.wide = true, .progress = &progress};
    cs_rank_options o = {.tau = 0.9, .eps = 1e-7};
    const option known[] = {{"center", FLAG, &o.centred},        {"threads", THREADS, &o.threads},
                            {"blocks", INTEGER, &blocks},        {"double_sums", FLAG, &gram.wide},
                            {"row_norm", FLAG, &gram.normalise}, {"tau", REAL, &o.tau}};
    cs_status status = BEGIN(options, known, &c);
    gram.shift = o.centred;
    gram.threads = o.threads;
    const cs_rows given = rows_of(rows, cols, data, wide, "rows");
    if (status == CS_OK && (blocks < 1 || blocks > 10000))
        status = cs_fail(CS_ERR_USAGE, "blocks: %lld is not in 1..10000", (long long)blocks);
    blocks = blocks < rows ? blocks : rows;
    o.jackknife = blocks > 1;
    if (status == CS_OK) status = rank_of(c, &given, &gram, &o, blocks, block);
    if (status == CS_OK) add(c, "eigenvalues", F64, c->rank.count, c->rank.lambda);
    return finish(c, status);
}

call *cospec_similarity(int64_t rows, int64_t cols, const void *data, int wide, int64_t other_rows,
                        int64_t other_cols, const void *other, int other_wide, const char *options)
{
    call *c = NULL;
    cs_similarity_options o = {.angles = 10, .blocks = 1};
    const option known[] = {{"k", INTEGER, &o.angles},
                            {"blocks", INTEGER, &o.blocks},
                            {"threads", THREADS, &o.threads}};
    cs_status status = BEGIN(options, known, &c);
    const cs_rows a = rows_of(rows, cols, data, wide, "a"),
                  b = rows_of(other_rows, other_cols, other, other_wide, "b");
    if (status == CS_OK) status = cs_similarity_of(&a, &b, &o, &c->similarity);
    if (status == CS_OK) {
        cs_similarity_record(&c->similarity, "a", "b", cs_item_array(c->root, "metrics"));
        add(c, "angles", F64, c->similarity.angles, c->similarity.angle);
    }
    return finish(c, status);
}

call *cospec_dimension(int64_t rows, int64_t cols, const void *data, int wide, const char *options)
{
    call *c = NULL;
    cs_shape_options o = {.discard = 0.1, .sample = 10000, .blocks = 1};
    const option known[] = {{"discard", REAL, &o.discard},
                            {"sample", INTEGER, &o.sample},
                            {"blocks", INTEGER, &o.blocks},
                            {"threads", THREADS, &o.threads}};
    cs_status status = BEGIN(options, known, &c);
    const cs_rows given = rows_of(rows, cols, data, wide, "rows");
    if (status == CS_OK && !(o.discard >= 0 && o.discard <= 0.99))
        status = cs_fail(CS_ERR_USAGE, "discard: %g is not in 0..0.99", o.discard);
    if (status == CS_OK && (o.sample < 3 || o.blocks < 1))
        status = cs_fail(CS_ERR_USAGE, "sample is at least 3 and blocks at least 1");
    if (status == CS_OK) status = cs_shape_of(&given, &o, &c->shape);
    if (status == CS_OK) cs_shape_record(&c->shape, &o, "rows", cs_item_array(c->root, "metrics"));
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
        if (token[i] < 0 || token[i] == INT32_MAX) {
            return cs_fail(CS_ERR_INPUT, "token %lld is %d, not an id from 0 to %d", (long long)i,
                           token[i], INT32_MAX - 1);
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

static void add_cooc(call *c)
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
    add(c, "indptr", I64, a->rows + 1, a->ptr);
    add(c, "indices", I32, nonzeros, a->col);
    add(c, "data", F64, nonzeros, a->val);
}

/* Of ids that the caller holds. */
call *cospec_cooc(int64_t documents, int64_t *doc_ptr, int32_t *token, const char *options)
{
    call *c = NULL;
    cs_corpus corpus = {0};
    const char *objective = "", *mode = "all";
    bool given = false;
    cs_cooc_options o = {.progress = &progress};
    const option known[] = {{"objective", TEXT, &objective},
                            {"context", TEXT, &mode},
                            {"max_length", INTEGER, &o.max_length},
                            {"stride", INTEGER, &o.stride},
                            {"draws", INTEGER, &o.draws},
                            {"seed", INTEGER, &o.seed},
                            {"threads", THREADS, &o.threads},
                            {"weight_by_document", FLAG, &o.weight_by_document},
                            {"given", FLAG, &given}};
    cs_status status = BEGIN(options, known, &c);
    if (status == CS_OK && o.stride > 0 && o.max_length == 0)
        status = cs_fail(CS_ERR_USAGE, "stride %lld needs max_length", (long long)o.stride);
    if (status == CS_OK) status = corpus_of_ids(c, documents, doc_ptr, token, &corpus);
    if (status == CS_OK) status = cs_objective_parse_held(objective, &c->mixture, &o.objective);
    if (status == CS_OK) status = cs_context_parse(mode, &o.context);
    o.context.given |= given;
    o.memory_budget = INT64_MAX / 4; /* arrays that Python is to hold are in memory */
    if (status == CS_OK) status = cs_cooc_build(&corpus, &o, &c->cooc);
    if (status == CS_OK) add_cooc(c);
    return finish(c, status);
}
