/* Selection of the rows of a matrix of states, and their blocks of the jackknife. */
#pragma once

#include <stdint.h>

#include "cli/opt.h"

/* --groups --drop-rows --keep --drop-special --drop-position. */
extern const cs_opt cs_group_rank_rows[];

/* --groups FILE.npy, for commands that take nothing else of that group. */
#define CS_GROUPS(help) CS_TEXT("groups", "FILE.npy", NULL, help)

/* The block of each of `rows` rows by the groups that `option` names, in fresh memory: NULL where it is not
 * given. *blocks: as below; INT32_MAX gives a block for each group. The file becomes an input. */
cs_status cs_args_group_blocks(cs_args *args, const char *option, int64_t rows, int32_t **out,
                               int64_t *blocks) CS_MUST_CHECK;

/* The block of each of `rows` rows, -1 for one left out, in fresh memory: NULL if all rows are used
 * in blocks of consecutive ones. *blocks is the requested number (at least 1) and is reduced to the
 * number of rows used, *kept. Blocks contain whole groups of --groups, in the order of the numbers
 * of the groups. CS_ERR_INPUT names a file that does not fit the rows, or reports that no row is
 * left. Reads the files named, which become inputs of the run. */
cs_status cs_args_rank_blocks(cs_args *args, int64_t rows, int32_t **out, int64_t *blocks,
                              int64_t *kept) CS_MUST_CHECK;
