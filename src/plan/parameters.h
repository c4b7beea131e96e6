/* The parameters of objectives: one row a parameter, from which follow the options of the command
 * line with their help, specifications (spec.h), descriptions and JSON. Which objective takes which
 * is said by its row; event-weight and empty-prefix are everybody's.
 *
 *   PARAMETER(id, name, kind, member, argument, fallback, help)
 *
 * kind is one of parameter.h. member is that of cs_objective and the key in JSON: a range has it
 * with _lo and _hi. The argument of a choice is its values, in the order of its enum.
 */
#pragma once

#define CS_PARAMETERS(PARAMETER)                                                                   \
    PARAMETER(EVENT_WEIGHT, "event-weight", CHOICE, event_weight, "token|mask", "token",           \
              "Whether every predicted token counts once, or every mask (its tokens share it).")   \
    PARAMETER(TARGET_WEIGHT, "target-weight", CHOICE, target_weight, "plan|uniform", "plan",       \
              "Whether target positions count as the plans make them, or all alike: events are "   \
              "weighed by the inverse weight of the position that they predict.")                  \
    PARAMETER(EMPTY_PREFIX, "empty-prefix", CHOICE, empty_prefix, "none|shared|class", "none",     \
              "Whether a token may be predicted from nothing: never, from one empty text, or "     \
              "from one empty text a class (toy model).")                                          \
    PARAMETER(UNMASKED, "unmasked", NUMBERS, unmasked, "M|LO:HI", NULL,                            \
              "masked, variable-masked: number of unmasked tokens (LO:HI inclusive).")             \
    PARAMETER(MASK_RATIO, "mask-ratio", RATIOS, mask_ratio, "RHO|LO:HI", NULL,                     \
              "The same as --unmasked s - round(RHO s) at length s, halves rounded away from "     \
              "zero, clamped into 1..s-1; bernoulli-masked: the probability.")                     \
    PARAMETER(T, "t", NUMBER, t, "N", NULL,                                                        \
              "A number of tokens: those ahead (diverse-ar), those predicted at once (group-ar), " \
              "the side of a square (square-ar), or as the objective's plans say.")                \
    PARAMETER(OFFSET_WEIGHTS, "offset-weights", OFFSETS, offset, "uniform:T|power:A|mix:L", NULL,  \
              "offset-ar: weight of the token at distance d: equal up to T, d^-A, or L on the "    \
              "next token and 1-L spread evenly over the n tokens left, that one too, which "      \
              "then has L + (1-L)/n.")                                                             \
    PARAMETER(SEGMENTATION, "segmentation", CHOICE, segmentation, "fixed|random|mixed", NULL,      \
              "gvp: how the K groups are cut.")                                                    \
    PARAMETER(GROUPS, "groups", NUMBER, groups, "K", NULL, "gvp: number of predicted groups.")     \
    PARAMETER(                                                                                     \
        PERMUTATION, "permutation", CHOICE, permutation, "uniform|none", "uniform",                \
        "gvp: whether groups are cut along a permutation drawn anew for every plan, or along "     \
        "the sequence itself (of pictures, that of --order).")                                     \
    PARAMETER(                                                                                     \
        COLUMNS, "columns", NUMBER, columns, "N", NULL,                                            \
        "block-masked, square-ar: patches of a row. Default: the picture's, else the side of a "   \
        "square.")                                                                                 \
    PARAMETER(PLAN_FILE, "plan-file", FILE, file, "FILE", NULL,                                    \
              "file: JSON with group plans and their probabilities, or a mixture whose shares "    \
              "and parameters are expressions in the length (docs/reference/plan-files.md).")
