/* Selection of the rows of a matrix of states for a measure, and their blocks of its jackknife. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npy.h"

/* Columns of rows.npy of cospec features, and bits of FLAGS. */
enum {
    CS_ROW_DOCUMENT,
    CS_ROW_PIECE,
    CS_ROW_POSITION,
    CS_ROW_TOKEN,
    CS_ROW_FLAGS,
    CS_ROW_COLUMNS,
    CS_ROW_MASKED = 1,
    CS_ROW_SPECIAL = 2
};

typedef enum { CS_KEEP_ALL, CS_KEEP_MASKED, CS_KEEP_UNMASKED } cs_keep;

typedef struct {
    /* FILE.npy: n integers, or n rows whose first column is the group (rows.npy); NULL: consecutive
     * rows */
    const char *groups;
    /* rows left out: FILE.npy of their numbers from 0 or of n booleans, or text with a number a
     * line; NULL: none */
    const char *drop;
    /* the arrays of these names if they are in memory */
    const cs_array *group_array, *drop_array;
    cs_keep keep; /* the others, and the following members, need rows.npy as groups */
    bool drop_special;
    int positions; /* left out: rows at these positions of their piece */
    const int64_t *position;
} cs_row_choice;

/* Whether the choice needs rows.npy as groups. */
bool cs_row_choice_wants_about(const cs_row_choice *choice);

/* The block of each of `rows` rows, -1 for one left out, in fresh memory: NULL if all rows are used
 * in blocks of consecutive ones. *blocks is the requested number (at least 1) and is reduced to the
 * number of rows used, *kept. Blocks contain whole groups, in the order of the numbers of the
 * groups. CS_ERR_INPUT names a file that does not fit the rows, or reports that no row is left. */
cs_status cs_row_blocks(const cs_row_choice *choice, int64_t rows, int32_t **out, int64_t *blocks,
                        int64_t *kept) CS_MUST_CHECK;

/* The block of each of `documents` documents, -1 for one that `keep` (NULL: all) leaves out, in fresh
 * memory: consecutive ones, in blocks whose sizes differ by one at most. CS_ERR_USAGE: fewer
 * documents than blocks, or no block. */
cs_status cs_document_blocks(int64_t documents, const uint8_t *keep, int64_t blocks,
                             int32_t **out) CS_MUST_CHECK;

/* The rows block after block: rows order[start[b]] .. order[start[b + 1] - 1] are those of block b, ascending.
 * block: of each row, below `blocks`; NULL: consecutive ones of about one size. order: rows, start: blocks + 1. */
void cs_row_order(const int32_t *block, int64_t rows, int64_t blocks, int64_t *order,
                  int64_t *start);

/* 32 hex digits and a NUL: equal if the same number of rows is in the same blocks (cs_row_blocks).
 */
void cs_row_partition(const int32_t *block, int64_t rows, int64_t blocks, char hex[33]);
