/* Rows by number, by mask, or by what cospec features wrote of them (rows.npy). */
#include "analysis/measures/row_blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/ints.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/number.h"

enum { MOST_TEXT = 1 << 30 };

/* --- dropping --------------------------------------------------------------------------------- */

static cs_status drop_one(const char *path, int64_t row, int64_t rows, int32_t *block)
{
    if (row < 0 || row >= rows) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: row %" PRId64 " does not exist: there are %" PRId64 " rows", path, row,
                       rows);
    }
    block[row] = -1;
    return CS_OK;
}

static cs_status drop_array(const char *path, const cs_array *a, int64_t rows, int32_t *block)
{
    cs_status status = CS_OK;
    if (a->dtype == CS_BOOL && a->size != rows)
        status = cs_fail(CS_ERR_INPUT, "%s: %" PRId64 " booleans for %" PRId64 " rows", path,
                         a->size, rows);
    for (int64_t i = 0; i < a->size && status == CS_OK; ++i) {
        int64_t row = 0;
        status = cs_blame(cs_array_i64(a, i, &row), "%s", path);
        if (status == CS_OK && a->dtype == CS_BOOL) {
            block[i] = row ? -1 : block[i];
        } else if (status == CS_OK) {
            status = drop_one(path, row, rows, block);
        }
    }
    return status;
}

static cs_status drop_file(const char *path, int64_t rows, int32_t *block)
{
    CS_AUTO(cs_array) a = {0};
    cs_status status = cs_npy_read(path, 0, &a);
    return status == CS_OK ? drop_array(path, &a, rows, block) : status;
}

static cs_status drop_text(const char *path, int64_t rows, int32_t *block)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size, number = 0;
    cs_status status = cs_file_read_text(path, MOST_TEXT, &text, &size);
    char *rest = text;
    while (status == CS_OK && rest && *rest) {
        char *line = strsep(&rest, "\n");
        ++number;
        size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r') {
            line[--length] = '\0';
        }
        int64_t row = 0;
        if (length > 0 && (status = cs_int_parse(line, &row)) == CS_OK) {
            status = drop_one(path, row, rows, block);
        }
        status = cs_blame(status, "%s:%" PRId64, path, number);
    }
    return status;
}

static cs_status drop_rows(const cs_row_choice *c, int64_t rows, int32_t *block)
{
    return !c->drop                ? CS_OK
           : c->drop_array         ? drop_array(c->drop, c->drop_array, rows, block)
           : cs_npy_named(c->drop) ? drop_file(c->drop, rows, block)
                                   : drop_text(c->drop, rows, block);
}

/* --- what is known of rows -------------------------------------------------------------------- */

bool cs_row_choice_wants_about(const cs_row_choice *c)
{
    return c->keep != CS_KEEP_ALL || c->drop_special || c->positions > 0;
}

static bool position_dropped(const cs_row_choice *c, int64_t position)
{
    for (int i = 0; i < c->positions; ++i) {
        if (c->position[i] == position) {
            return true;
        }
    }
    return false;
}

/* *file: what is to be freed, of a file. */
static cs_status read_groups(const cs_row_choice *c, int64_t rows, cs_array *file, cs_array *out)
{
    const char *path = c->groups;
    if (!path) {
        return CS_OK;
    }
    cs_status status = c->group_array ? CS_OK : cs_npy_read(path, 0, file);
    *out = c->group_array ? *c->group_array : *file;
    if (status == CS_OK && (out->ndim < 1 || out->ndim > 2 || out->shape[0] != rows ||
                            (out->ndim == 2 && out->shape[1] < 1))) {
        status = cs_fail(CS_ERR_INPUT, "%s: %" PRId64 " groups for %" PRId64 " rows", path,
                         out->ndim > 0 ? out->shape[0] : 0, rows);
    }
    if (status == CS_OK && cs_row_choice_wants_about(c) &&
        (out->ndim != 2 || out->shape[1] != CS_ROW_COLUMNS)) {
        status = cs_fail(CS_ERR_INPUT, "%s: not a rows.npy of cospec features (%d columns)", path,
                         CS_ROW_COLUMNS);
    }
    return status;
}

/* Drops what `keep` and its like leave out. */
static cs_status drop_by_kind(const cs_row_choice *c, const cs_array *about, int64_t rows,
                              int32_t *block)
{
    for (int64_t k = 0; k < rows && cs_row_choice_wants_about(c); ++k) {
        int64_t flags = 0, position = 0;
        cs_status status = cs_array_i64(about, k * CS_ROW_COLUMNS + CS_ROW_FLAGS, &flags);
        if (status == CS_OK)
            status = cs_array_i64(about, k * CS_ROW_COLUMNS + CS_ROW_POSITION, &position);
        if (status != CS_OK) return cs_blame(status, "%s", c->groups);
        const bool masked = flags & CS_ROW_MASKED, special = flags & CS_ROW_SPECIAL;
        if ((c->keep == CS_KEEP_MASKED && !masked) || (c->keep == CS_KEEP_UNMASKED && masked) ||
            (special && c->drop_special) || position_dropped(c, position)) {
            block[k] = -1;
        }
    }
    return CS_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

typedef struct {
    int64_t group, row;
} entry;

CS_RISING(by_group, entry, group, row)

/* Deals groups to blocks in the order of their numbers: a group goes where the middle of its rows
 * falls; then blocks without rows are closed up. */
static cs_status deal(const cs_array *groups, const char *path, int64_t rows, int64_t kept,
                      int32_t *block, int64_t *blocks)
{
    CS_AUTO_FREE entry *e = cs_alloc(kept, sizeof *e);
    int64_t at = 0, columns = groups->ndim == 2 ? groups->shape[1] : 1, used = 0, last = -1;
    cs_status status = e ? CS_OK : CS_ERR_MEMORY;
    for (int64_t k = 0; k < rows && status == CS_OK; ++k) {
        if (block[k] >= 0) {
            e[at].row = k;
            status = cs_blame(cs_array_i64(groups, k * columns, &e[at++].group), "%s", path);
        }
    }
    if (status == CS_OK) qsort(e, (size_t)kept, sizeof *e, by_group);
    for (int64_t i = 0, end; i < kept && status == CS_OK; i = end) {
        for (end = i + 1; end < kept && e[end].group == e[i].group; ++end) {
        }
        int64_t to = (i + end) / 2 * *blocks / kept;
        used += to != last;
        last = to;
        for (int64_t k = i; k < end; ++k) {
            block[e[k].row] = (int32_t)(used - 1);
        }
    }
    *blocks = used;
    return status;
}

cs_status cs_row_blocks(const cs_row_choice *choice, int64_t rows, int32_t **out, int64_t *blocks,
                        int64_t *kept)
{
    cs_array groups = {0}, file = {0};
    int32_t *block = NULL;
    const int64_t wanted = *blocks;
    cs_status status = read_groups(choice, rows, &file, &groups);
    if (status != CS_OK) goto done;
    *out = NULL;
    *kept = rows;
    *blocks = wanted < rows ? wanted : rows;
    if (!groups.data && !choice->drop) {
        goto done;
    }
    block = cs_calloc(rows, sizeof *block);
    if (!block) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    if ((status = drop_rows(choice, rows, block)) != CS_OK ||
        (status = drop_by_kind(choice, &groups, rows, block)) != CS_OK) {
        goto done;
    }
    *kept = 0;
    for (int64_t k = 0; k < rows; ++k) {
        *kept += block[k] >= 0;
    }
    if (*kept == 0) {
        status = cs_fail(CS_ERR_INPUT, "none of the %" PRId64 " rows is left", rows);
        goto done;
    }
    *blocks = wanted < *kept ? wanted : *kept;
    if (groups.data) {
        status = deal(&groups, choice->groups, rows, *kept, block, blocks);
    } else {
        for (int64_t k = 0, at = 0; k < rows; ++k) {
            if (block[k] >= 0) {
                block[k] = (int32_t)(at++ * *blocks / *kept);
            }
        }
    }
done:
    cs_array_free(&file);
    return CS_DELIVER(status, out, block, cs_drop);
}

cs_status cs_document_blocks(int64_t documents, const uint8_t *keep, int64_t blocks, int32_t **out)
{
    int64_t kept = 0, at = 0;
    for (int64_t d = 0; d < documents; ++d) {
        kept += !keep || keep[d];
    }
    if (blocks < 1 || blocks > kept) {
        return cs_fail(CS_ERR_USAGE,
                       "%" PRId64 " blocks are not possible with %" PRId64 " documents", blocks,
                       kept);
    }
    int32_t *block = cs_alloc(documents, sizeof *block);
    if (!block) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < documents; ++d) {
        const bool in = !keep || keep[d];
        block[d] = in ? (int32_t)(at * blocks / kept) : -1;
        at += in;
    }
    *out = block;
    return CS_OK;
}

void cs_row_order(const int32_t *block, int64_t rows, int64_t blocks, int64_t *order,
                  int64_t *start)
{
    for (int64_t b = 0; b <= blocks; ++b) {
        start[b] = block ? 0 : rows * b / blocks;
    }
    for (int64_t i = 0; i < rows; ++i) {
        order[i] = i;
        if (block) start[block[i] + 1] += 1;
    }
    for (int64_t b = 0; b < blocks && block; ++b) {
        start[b + 1] += start[b];
    }
    for (int64_t i = 0; i < rows && block; ++i) {
        order[start[block[i]]++] = i;
    }
    for (int64_t b = blocks; b > 0 && block; --b) { /* each has moved on to the next */
        start[b] = start[b - 1];
    }
    start[0] = 0;
}

void cs_row_partition(const int32_t *block, int64_t rows, int64_t blocks, char hex[33])
{
    const int64_t sizes[] = {rows, blocks};
    const cs_hash128 of_sizes = cs_hash(sizes, sizeof sizes, 0);
    cs_hash_hex(block ? cs_hash(block, (size_t)rows * sizeof *block, of_sizes.low) : of_sizes, hex);
}
