/* The options that choose rows of states (analysis/measures/row_blocks.h). */
#include "cli/rank_rows.h"

#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "io/number.h"

const cs_opt cs_group_rank_rows[] = {
    CS_HEADING("Rows"),
    CS_TEXT("groups", "FILE.npy", NULL,
            "Group (document) of each row: n integers, or n rows whose first column counts, as "
            "rows.npy of cospec features. Blocks hold whole groups. Default: rows in order."),
    CS_TEXT("drop-rows", "FILE", NULL,
            "Rows to leave out: numbers from 0 (FILE.npy of integers, or text, one per line), or "
            "FILE.npy of n booleans."),
    CS_CHOICE("keep", "all|masked|unmasked", "all",
              "Keep only the rows at [MASK] positions, or only the others; needs --groups "
              "rows.npy."),
    CS_FLAG("drop-special", "Leave out rows of special tokens; needs --groups rows.npy."),
    {"drop-position", 0, CS_OPT_INT, "P", NULL, 0, 2147483647,
     "Leave out rows at this position of their piece (from 0); needs --groups rows.npy.", true},
    {0},
};

cs_status cs_args_group_blocks(cs_args *args, const char *option, int64_t rows, int32_t **out,
                               int64_t *blocks)
{
    const cs_row_choice choice = {.groups = cs_args_text(args, option),
                                  .group_array = cs_args_array(args, option)};
    int64_t kept = 0;
    *out = NULL;
    if (!choice.groups) {
        return CS_OK;
    }
    cs_status status = cs_output_input(args, choice.groups);
    return status == CS_OK ? cs_row_blocks(&choice, rows, out, blocks, &kept) : status;
}

cs_status cs_args_rank_blocks(cs_args *args, int64_t rows, int32_t **out, int64_t *blocks,
                              int64_t *kept)
{
    const int positions = cs_args_count(args, "drop-position");
    CS_AUTO_FREE int64_t *position = cs_alloc(positions, sizeof *position);
    cs_row_choice choice = {.drop = cs_args_text(args, "drop-rows"),
                            .group_array = cs_args_array(args, "groups"),
                            .drop_array = cs_args_array(args, "drop-rows"),
                            .positions = positions,
                            .position = position};
    CS_ARGS_FIELDS(args, &choice, groups, keep, drop_special);
    cs_status status = position ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !choice.groups && cs_row_choice_wants_about(&choice))
        status = cs_fail(CS_ERR_USAGE,
                         "--keep, --drop-special and --drop-position need --groups rows.npy");
    for (int i = 0; i < positions && status == CS_OK; ++i) {
        status = cs_int_parse(cs_args_text_at(args, "drop-position", i), &position[i]);
    }
    if (status == CS_OK && choice.groups) status = cs_output_input(args, choice.groups);
    if (status == CS_OK && choice.drop) status = cs_output_input(args, choice.drop);
    return status == CS_OK ? cs_row_blocks(&choice, rows, out, blocks, kept) : status;
}
