/* The functions that the Python module calls. A call names a command, is given arguments in memory
 * one by one, and runs with the words of a command line, in which "memory:NAME" denotes an
 * argument. Its result is the JSON of the command, and arrays that live until the call is freed.
 *
 * Plain numbers and pointers pass here, and no struct of the library is mirrored in Python, so that
 * the two cannot disagree. Options, defaults and errors are those of the command. Arguments are
 * borrowed until the call is freed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/in_memory.h"
#include "version.h"

#define EXPORT __attribute__((visibility("default")))

enum { ARRAYS = 8, DIMENSIONS = 2 };

/* An array of the result. */
typedef struct {
    const char *name;
    const char *type; /* numpy's: "f8", "i8", "i4" */
    int dimensions;
    int64_t shape[DIMENSIONS], stride[DIMENSIONS]; /* strides in items */
    void *data;
} array;

typedef struct {
    const cs_command *command;
    cs_in_memory memory;
    cs_memory_item *item;
    cs_pool pool; /* of the words of items */
    cs_status status;
    char *json, *tables;
    int arrays;
    array at[ARRAYS];
} call;

EXPORT const char *cospec_version(void);
EXPORT call *cospec_begin(const char *command);
EXPORT void cospec_array(call *c, const char *word, const char *type, int64_t item_size,
                         int dimensions, const int64_t *shape, void *data);
EXPORT void cospec_matrix(call *c, const char *word, int64_t rows, int64_t cols, int64_t *ptr,
                          int32_t *col, double *val, int gram);
EXPORT void cospec_ids(call *c, const char *word, const char *type, int64_t count, void *ids,
                       int64_t documents, int64_t *doc_ptr);
EXPORT void cospec_texts(call *c, const char *word, int64_t documents, const char *const *text,
                         const int64_t *size);
EXPORT int cospec_run(call *c, int argc, char **argv, void (*note)(const char *text),
                      void (*report)(const char *stage, int64_t done, int64_t total));
EXPORT const char *cospec_reason(void);
EXPORT const char *cospec_json(const call *c);
EXPORT const char *cospec_tables(call *c);
EXPORT int cospec_arrays(const call *c);
EXPORT const array *cospec_result(const call *c, int index);
EXPORT int64_t cospec_words(const call *c, char ***words);
EXPORT void cospec_free(call *c);
EXPORT void cospec_interrupt(int set);
EXPORT int cospec_busy(void);

const char *cospec_version(void)
{
    return CS_VERSION;
}

/* 1: the running call ends with CS_ERR_INTERRUPT; 0: before the next one. */
void cospec_interrupt(int set)
{
    set ? cs_interrupt_set() : cs_interrupt_clear();
}

/* Whether a computation that an interrupt left behind still runs. */
int cospec_busy(void)
{
    return cs_mem_free_is_deferred();
}

/* --- arguments ------------------------------------------------------------------------------------ */

/* NULL without memory. */
call *cospec_begin(const char *command)
{
    cs_reason_clear();
    call *c = cs_calloc(1, sizeof *c);
    if (c) c->status = cs_command_by_name(command, &c->command);
    return c;
}

static cs_memory_item *add_item(call *c, const char *word, cs_item_kind kind)
{
    cs_memory_item *grown = cs_realloc(c->item, c->memory.items + 1, sizeof *grown);
    char *copy = cs_pool_take(&c->pool, (int64_t)strlen(word) + 1, 1);
    if (grown) c->item = grown;
    if (!grown || !copy) {
        c->status = CS_ERR_MEMORY;
        return NULL;
    }
    c->memory.item = c->item;
    cs_memory_item *item = &c->item[c->memory.items++];
    *item = (cs_memory_item){.word = strcpy(copy, word), .kind = kind};
    return item;
}

/* numpy's kind and size of an item, as "f4". */
static cs_status dtype_of(const char *type, cs_dtype *out)
{
    static const struct {
        const char *type;
        cs_dtype dtype;
    } known[] = {{"b1", CS_BOOL}, {"i1", CS_I8},  {"u1", CS_U8},     {"i2", CS_I16}, {"u2", CS_U16},
                 {"i4", CS_I32},  {"u4", CS_U32}, {"i8", CS_I64},    {"u8", CS_U64}, {"f2", CS_F16},
                 {"f4", CS_F32},  {"f8", CS_F64}, {"U", CS_UNICODE}, {"S", CS_BYTES}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(known[i].type, type) == 0) {
            *out = known[i].dtype;
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_INPUT, "an array of type %s is neither numbers nor text", type);
}

/* C order; type: numpy's kind and size of an item as "f4", or U or S. At most CS_NPY_MAX_DIM dimensions. */
void cospec_array(call *c, const char *word, const char *type, int64_t item_size, int dimensions,
                  const int64_t *shape, void *data)
{
    cs_memory_item *item = add_item(c, word, CS_ITEM_ARRAY);
    if (!item) return;
    cs_array *a = &item->array;
    if (c->status == CS_OK) c->status = dtype_of(type, &a->dtype);
    a->item_size = item_size;
    a->ndim = dimensions;
    a->size = 1;
    for (int i = 0; i < dimensions; ++i) {
        a->shape[i] = shape[i];
        a->size *= shape[i];
    }
    a->data = data;
}

void cospec_matrix(call *c, const char *word, int64_t rows, int64_t cols, int64_t *ptr,
                   int32_t *col, double *val, int gram)
{
    cs_memory_item *item = add_item(c, word, CS_ITEM_MATRIX);
    if (item)
        item->matrix = (cs_csr){.rows = rows,
                                .cols = cols,
                                .ptr = ptr,
                                .col = col,
                                .val = val,
                                .borrowed = true,
                                .gram = gram != 0};
}

void cospec_ids(call *c, const char *word, const char *type, int64_t count, void *ids,
                int64_t documents, int64_t *doc_ptr)
{
    cs_memory_item *item = add_item(c, word, CS_ITEM_IDS);
    if (!item) return;
    item->array = (cs_array){.ndim = 1, .shape = {count}, .size = count, .data = ids};
    if (c->status == CS_OK) c->status = dtype_of(type, &item->array.dtype);
    item->array.item_size = cs_dtype_size(item->array.dtype);
    item->count = documents;
    item->doc_ptr = doc_ptr;
}

void cospec_texts(call *c, const char *word, int64_t documents, const char *const *text,
                  const int64_t *size)
{
    cs_memory_item *item = add_item(c, word, CS_ITEM_TEXTS);
    if (!item) return;
    item->count = documents;
    item->text = text;
    item->size = size;
}

/* --- the call ------------------------------------------------------------------------------------- */

/* One call runs at a time: Python sees to that. */
static void (*reporter)(const char *stage, int64_t done, int64_t total);

static void report_to(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)ctx;
    reporter(stage, done, total);
}
static const cs_progress progress = {report_to, NULL};

static void add_vector(call *c, const char *name, const char *type, int64_t n, void *data)
{
    c->at[c->arrays++] = (array){name, type, 1, {n, 1}, {1, 1}, data};
}

static void add_dense(call *c, const char *name, const cs_dense *a)
{
    if (a->data)
        c->at[c->arrays++] = (array){name, "f8", 2, {a->rows, a->cols}, {1, a->ld}, a->data};
}

/* Adds the command's arrays to its record. */
static void add_arrays(call *c)
{
    cs_spectrum *s = &c->memory.spectrum;
    cs_csr *a = &c->memory.cooc.matrix.a;
    if (!s->input.gram) add_dense(c, "u", &s->u);
    add_dense(c, "v", &s->v);
    if (s->input.row_mass) add_vector(c, "row_mass", "f8", s->input.rows, s->input.row_mass);
    if (s->input.col_mass) add_vector(c, "col_mass", "f8", s->input.cols, s->input.col_mass);
    if (a->ptr) {
        add_vector(c, "indptr", "i8", a->rows + 1, a->ptr);
        add_vector(c, "indices", "i4", cs_csr_nnz(a), a->col);
        add_vector(c, "data", "f8", cs_csr_nnz(a), a->val);
    }
}

/* The exit code that the program would end with, for the reason cospec_reason(). After 0 and 4 the result
 * is there. note takes lines, report the progress; either NULL: not wanted. */
int cospec_run(call *c, int argc, char **argv, void (*note)(const char *text),
               void (*report)(const char *stage, int64_t done, int64_t total))
{
    reporter = report;
    c->memory.note = note;
    c->memory.progress = report ? &progress : NULL;
    if (c->status == CS_OK)
        c->status = cs_command_in_memory(c->command, argc, argv, &c->memory, &c->json);
    if (c->json) add_arrays(c);
    return cs_exit_code(c->status);
}

/* Of the last call on this thread. */
const char *cospec_reason(void)
{
    return cs_reason();
}

/* --- the result ----------------------------------------------------------------------------------- */

const char *cospec_json(const call *c)
{
    return c->json;
}

/* {"NAME.csv": text} of its tables; NULL: none, or no memory. */
const char *cospec_tables(call *c)
{
    if (!c->tables && c->memory.tables) c->tables = json_dumps(c->memory.tables, JSON_COMPACT);
    return c->tables;
}

int cospec_arrays(const call *c)
{
    return c->arrays;
}

const array *cospec_result(const call *c, int index)
{
    return &c->at[index];
}

/* The words of the corpus by their ids; 0 without. */
int64_t cospec_words(const call *c, char ***words)
{
    *words = c->memory.corpus.word;
    return *words ? c->memory.corpus.vocab : 0;
}

void cospec_free(call *c)
{
    free(c->json);
    free(c->tables);
    json_decref(c->memory.tables);
    cs_spectrum_free(&c->memory.spectrum);
    cs_cooc_free(&c->memory.cooc);
    cs_corpus_free(&c->memory.corpus);
    cs_pool_free(&c->pool);
    cs_free(c->item);
    cs_free(c);
}
