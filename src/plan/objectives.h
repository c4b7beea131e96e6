/** \file
 * The list of objectives, OBJECTIVE(ID, "name") each. A kind is a number in files: new ones come
 * last, before `mix`.
 *
 * The row of an objective is in rows.c or in the file of its functions. Options, help,
 * documentation, its form in a network and everything computed from its plans follow from that
 * row.
 */
#pragma once

/** Calls OBJECTIVE(ID, "name") for each objective. */
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
