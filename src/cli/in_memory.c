/* Arguments in memory: how the readers of arguments find them. */
#include "cli/in_memory.h"

#include <string.h>

#include "cli/args.h"
#include "linalg/matrix_file.h"

cs_in_memory *cs_args_in_memory(const cs_args *args)
{
    return args->memory;
}

const cs_memory_item *cs_args_item(const cs_args *args, const char *word)
{
    for (int i = 0; args->memory && word && i < args->memory->items; ++i) {
        if (strcmp(args->memory->item[i].word, word) == 0) {
            return &args->memory->item[i];
        }
    }
    return NULL;
}

const cs_array *cs_args_array(const cs_args *args, const char *option)
{
    const cs_memory_item *item = cs_args_item(args, cs_args_text(args, option));
    return item && item->kind == CS_ITEM_ARRAY ? &item->array : NULL;
}

cs_status cs_args_rows(const cs_args *args, const char *word, cs_rows *out)
{
    const cs_memory_item *item = cs_args_item(args, word);
    if (!item) {
        return cs_rows_open(word, out);
    }
    const cs_array *a = &item->array;
    if (item->kind != CS_ITEM_ARRAY || a->ndim != 2 || a->size == 0 ||
        (a->dtype != CS_F32 && a->dtype != CS_F64)) {
        return cs_fail(CS_ERR_INPUT, "%s: not a matrix of float32 or float64", word);
    }
    *out = a->dtype == CS_F64 ? cs_rows_of_f64(a->shape[0], a->shape[1], a->data, word)
                              : cs_rows_of_f32(a->shape[0], a->shape[1], a->data, word);
    return CS_OK;
}

cs_status cs_args_read_matrix(const cs_args *args, const char *word, cs_nonempty_rows *rows,
                              cs_csr *out)
{
    const cs_memory_item *item = cs_args_item(args, word);
    if (!item) {
        return cs_matrix_read_filled(word, rows, out);
    }
    if (item->kind != CS_ITEM_MATRIX) {
        return cs_fail(CS_ERR_INPUT, "%s: not a matrix", word);
    }
    const cs_csr *a = &item->matrix;
    cs_status status = cs_matrix_admit(word, a->rows, a->cols, a->rows);
    if (status == CS_OK) status = cs_csr_check(a, false);
    if (status != CS_OK) return status;
    *rows = cs_nonempty_rows_all(a->rows);
    *out = *a;
    return CS_OK;
}
