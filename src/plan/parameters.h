/** \file
 * The parameters of objectives. Options of the command line, their help, specifications
 * (plan/spec.h), descriptions and JSON follow from these rows. The row of an objective lists the
 * parameters that it takes; every objective takes event-weight and empty-prefix.
 */
#pragma once

/** Calls PARAMETER(id, name, kind, member, argument, fallback, help) for each parameter. `kind` is
 * one of plan/parameter.h. `member` is the member of cs_objective and the key in JSON; a range has
 * it with _lo and _hi. The argument of a choice lists its values, in the order of its enum.
 */
#define CS_PARAMETERS(PARAMETER)                                                                   \
    PARAMETER(EVENT_WEIGHT, "event-weight", CHOICE, event_weight, "token|mask", "token",           \
              "What has weight 1: each predicted token, or each mask, whose tokens share it.")     \
    PARAMETER(TARGET_WEIGHT, "target-weight", CHOICE, target_weight, "plan|uniform", "plan",       \
              "Weight of target positions: as the plans give it, or equal for all positions.")     \
    PARAMETER(EMPTY_PREFIX, "empty-prefix", CHOICE, empty_prefix, "none|shared|class", "none",     \
              "Predict a token from an empty context: never, from one empty text, or (toy model) " \
              "from one empty text per class.")                                                    \
    PARAMETER(                                                                                     \
        SHARE, "share", SHARE, share, "SHARE", "1",                                                \
        "Share of the predicted tokens of a plan that are kept, drawn at random. The matrix "      \
        "stays the same; the number of predictions in training falls.")                            \
    PARAMETER(UNMASKED, "unmasked", NUMBERS, unmasked, "M|LO:HI", NULL,                            \
              "masked, variable-masked: number of unmasked tokens, or its inclusive range.")       \
    PARAMETER(                                                                                     \
        MASK_RATIO, "mask-ratio", RATIOS, mask_ratio, "RHO|LO:HI", NULL,                           \
        "Share of masked tokens: s - round(RHO s) of s are unmasked, between 1 and s-1, halves "   \
        "rounded up. bernoulli-masked: probability. Default: 0.15 for masked.")                    \
    PARAMETER(T, "t", NUMBER, t, "N", NULL,                                                        \
              "Number of tokens ahead (diverse-ar) or predicted at once (group-ar), mean length "  \
              "of a span (span-masked), or side of a square (square-ar).")                         \
    PARAMETER(OFFSET_WEIGHTS, "offset-weights", OFFSETS, offset, "uniform:T|power:A|mix:L", NULL,  \
              "offset-ar: weight of distance d. uniform: equal up to T. power: d^-A. mix: L for "  \
              "the next token, plus 1-L spread evenly over all n tokens left.")                    \
    PARAMETER(SEGMENTATION, "segmentation", CHOICE, segmentation, "fixed|random|mixed", NULL,      \
              "gvp: how the K groups are cut.")                                                    \
    PARAMETER(GROUPS, "groups", NUMBER, groups, "K", NULL, "gvp: number of predicted groups.")     \
    PARAMETER(                                                                                     \
        PERMUTATION, "permutation", CHOICE, permutation, "uniform|none", "uniform",                \
        "gvp: order in which groups are cut: a new random permutation for each plan, or the "      \
        "sequence itself (images: --order).")                                                      \
    PARAMETER(COLUMNS, "columns", NUMBER, columns, "N", NULL,                                      \
              "block-masked, square-ar: patches per row. Default: those of the image, else the "   \
              "side of a square.")                                                                 \
    PARAMETER(PLAN_FILE, "plan-file", FILE, file, "FILE", NULL,                                    \
              "file: JSON file of group plans with probabilities, or of a mixture whose "          \
              "parameters depend on the length (docs/reference/plan-files.md).")
