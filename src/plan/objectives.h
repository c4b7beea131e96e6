/* The objectives: one line each, OBJECTIVE(ID, "name"). The row of an objective, cs_row_ID, is in
 * rows.c or beside its functions in a file of its own; from it follow what options it takes and
 * refuses, its help and documentation, its form in a network, and everything that is computed from
 * its plans.
 *
 * New ones come last but for mix: a kind is a number in files.
 */
#pragma once

#define CS_OBJECTIVES(OBJECTIVE)                                                                   \
    OBJECTIVE(AR, "ar")                                                                            \
    OBJECTIVE(MASKED, "masked")                                                                    \
    OBJECTIVE(VARIABLE_MASKED, "variable-masked")                                                  \
    OBJECTIVE(BERNOULLI_MASKED, "bernoulli-masked")                                                \
    OBJECTIVE(DIVERSE_AR, "diverse-ar")                                                            \
    OBJECTIVE(OFFSET_AR, "offset-ar")                                                              \
    OBJECTIVE(GROUP_AR, "group-ar")                                                                \
    OBJECTIVE(PERMUTED_AR, "permuted-ar")                                                          \
    OBJECTIVE(GVP, "gvp")                                                                          \
    OBJECTIVE(FILE, "file")                                                                        \
    OBJECTIVE(PREFIX_LM, "prefix-lm")                                                              \
    OBJECTIVE(DIFFUSION, "diffusion")                                                              \
    OBJECTIVE(SPAN_MASKED, "span-masked")                                                          \
    OBJECTIVE(MNTP, "mntp")                                                                        \
    OBJECTIVE(BLOCK_MASKED, "block-masked")                                                        \
    OBJECTIVE(SQUARE_AR, "square-ar")                                                              \
    OBJECTIVE(MIX, "mix")
