/* The objectives: one row each (theory.md 1). From a row follow its place in --objective, what
 * options it takes and refuses, its help and documentation, its form in a network, and everything
 * that is computed from its plans.
 *
 *   OBJECTIVE(id, name, .member = value, ...), the members those of cs_objective_row (objective.h)
 *
 * Functions are declared in laws_private.h. New rows come last: a kind is a number in files.
 */
#pragma once

#define CS_OBJECTIVES(OBJECTIVE)                                                                   \
    OBJECTIVE(AR, "ar", .aliases = "gpt clm causal",                                               \
              .summary = "each token from all before it (GPT; LA 3.1)",                            \
              .plans = "identity order, singletons", .source = "LA 3.1", .shape = CS_PAIRS_PREFIX, \
              .reads = CS_READS_NEXT, .weighting = CS_WEIGHTS_EQUAL, .count = cs_count_groups,     \
              .visit = cs_visit_groups, .sample = cs_sample_groups, .pairs = cs_pairs_of_offsets)  \
    OBJECTIVE(MASKED, "masked", .aliases = "mlm bert",                                             \
              .summary = "masked tokens from a fixed number of unmasked ones (BERT; LA 3.1)",      \
              .plans = "uniform order, one predicted group; S uniform of size m",                  \
              .source = "LA 3.1", .takes = "unmasked mask-ratio", .trained = "mask-ratio=0.15",    \
              .shape = CS_PAIRS_INVARIANT, .reads = CS_READS_MASKS, .weighting = CS_WEIGHTS_EQUAL, \
              .check = cs_check_unmasked, .check_length = cs_check_unmasked_length,                \
              .given = cs_given_unmasked, .count = cs_count_masks, .visit = cs_visit_masks,        \
              .sample = cs_sample_masks, .sizes = cs_sizes_unmasked)                               \
    OBJECTIVE(VARIABLE_MASKED, "variable-masked",                                                  \
              .summary = "masked, the number unmasked uniform in a range (LA Eq. 5)",              \
              .plans = "the same, m uniform in LO..HI", .source = "LA Eq. 5",                      \
              .takes = "unmasked mask-ratio", .trained = "mask-ratio=0.15:0.3", .range = true,     \
              .shape = CS_PAIRS_INVARIANT, .reads = CS_READS_MASKS,                                \
              .weighting = CS_WEIGHTS_TOKENS, .check = cs_check_unmasked,                          \
              .check_length = cs_check_unmasked_length, .given = cs_given_unmasked,                \
              .count = cs_count_masks, .visit = cs_visit_masks, .sample = cs_sample_masks,         \
              .sizes = cs_sizes_unmasked)                                                          \
    OBJECTIVE(BERNOULLI_MASKED, "bernoulli-masked",                                                \
              .summary = "every token masked independently with one probability",                  \
              .plans = "every token masked with probability rho", .source = "ours",                \
              .takes = "mask-ratio", .trained = "mask-ratio=0.15", .shape = CS_PAIRS_INVARIANT,    \
              .reads = CS_READS_MASKS, .weighting = CS_WEIGHTS_TOKENS, .check = cs_check_unmasked, \
              .given = cs_given_any, .count = cs_count_subsets, .visit = cs_visit_bernoulli,       \
              .sample = cs_sample_bernoulli, .sizes = cs_sizes_bernoulli,                          \
              .speaks = cs_bernoulli_speaks)                                                       \
    OBJECTIVE(DIVERSE_AR, "diverse-ar",                                                            \
              .summary = "one of the next t tokens, uniformly, from each prefix (LA Eq. 3)",       \
              .plans = "one of the next t tokens of every prefix", .source = "LA Eq. 3",           \
              .takes = "t", .trained = "t=2", .shape = CS_PAIRS_PREFIX, .reads = CS_READS_GROUPS,  \
              .weighting = CS_WEIGHTS_ONE, .check = cs_check_t, .count = cs_count_offsets,         \
              .visit = cs_visit_offsets, .sample = cs_sample_offset, .train = cs_train_diverse,    \
              .pairs = cs_pairs_of_offsets)                                                        \
    OBJECTIVE(OFFSET_AR, "offset-ar",                                                              \
              .summary = "one later token from each prefix, by a law of its distance",             \
              .plans = "the token at offset d of every prefix with weight w(d)", .source = "ours", \
              .takes = "offset-weights", .trained = "offset-weights=uniform:2",                    \
              .shape = CS_PAIRS_PREFIX, .reads = CS_READS_PREFIXES, .weighting = CS_WEIGHTS_ONE,   \
              .check = cs_check_offset, .count = cs_count_offsets, .visit = cs_visit_offsets,      \
              .sample = cs_sample_offset, .pairs = cs_pairs_of_offsets)                            \
    OBJECTIVE(GROUP_AR, "group-ar",                                                                \
              .summary = "groups of t tokens at once, the first group 1..t (LA Eq. 6)",            \
              .plans = "identity order, groups of t, first group uniform in 1..t",                 \
              .source = "LA Eq. 6", .takes = "t", .trained = "t=2", .shape = CS_PAIRS_PREFIX,      \
              .reads = CS_READS_GROUPS, .weighting = CS_WEIGHTS_TOKENS, .check = cs_check_t,       \
              .count = cs_count_groups, .visit = cs_visit_groups, .sample = cs_sample_groups,      \
              .pairs = cs_pairs_of_groups, .speaks = cs_group_speaks)                              \
    OBJECTIVE(PERMUTED_AR, "permuted-ar", .aliases = "xlnet plm",                                  \
              .summary = "autoregressive along a uniform permutation (XLNet)",                     \
              .plans = "uniform order, singletons", .source = "XLNet",                             \
              .shape = CS_PAIRS_INVARIANT, .reads = CS_READS_GROUPS,                               \
              .weighting = CS_WEIGHTS_EQUAL, .count = cs_count_orders, .visit = cs_visit_orders,   \
              .sample = cs_sample_order, .sizes = cs_sizes_permuted)                               \
    OBJECTIVE(GVP, "gvp", .summary = "K groups along a uniform permutation (GVP 3.2, App. B)",     \
              .plans = "uniform order, K predicted groups, three segmentations",                   \
              .source = "GVP 3.2, App. B", .takes = "segmentation groups",                         \
              .trained = "segmentation=mixed,groups=2", .shape = CS_PAIRS_INVARIANT,               \
              .reads = CS_READS_GROUPS, .weighting = CS_WEIGHTS_TOKENS, .check = cs_check_gvp,     \
              .check_length = cs_check_gvp_length, .given = cs_given_gvp, .count = cs_count_gvp,   \
              .visit = cs_visit_gvp, .sample = cs_sample_gvp, .sizes = cs_sizes_gvp)               \
    OBJECTIVE(FILE, "file", .summary = "plans with probabilities from a JSON file",                \
              .plans = "any", .source = "docs/formats.md", .takes = "plan-file",                   \
              .shape = CS_PAIRS_SETS, .reads = CS_READS_GROUPS, .weighting = CS_WEIGHTS_OWN,       \
              .check = cs_check_file, .check_length = cs_check_file_length,                        \
              .given = cs_given_file, .count = cs_count_file, .visit = cs_visit_file,              \
              .sample = cs_sample_file, .pairs = cs_pairs_of_file)                                 \
    OBJECTIVE(                                                                                     \
        PREFIX_LM, "prefix-lm",                                                                    \
        .summary = "a prefix read in both directions, the rest autoregressively (UniLM, T5)",      \
        .plans = "identity order, n_0 uniform in 1..s-1, then singletons",                         \
        .source = "Dong et al. 2019", .shape = CS_PAIRS_PREFIX, .reads = CS_READS_NEXT,            \
        .weighting = CS_WEIGHTS_TOKENS, .count = cs_count_prefix_lm, .visit = cs_visit_prefix_lm,  \
        .sample = cs_sample_prefix_lm, .pairs = cs_pairs_of_prefix_lm)                             \
    OBJECTIVE(DIFFUSION, "diffusion", .aliases = "mdlm",                                           \
              .summary =                                                                           \
                  "masked at a uniform ratio, weight 1 over it (absorbing-state diffusion)",       \
              .plans = "every token masked with probability t, t uniform, weight 1/t",             \
              .source = "Sahoo et al. 2024", .shape = CS_PAIRS_INVARIANT, .reads = CS_READS_MASKS, \
              .weighting = CS_WEIGHTS_OWN, .given = cs_given_any, .count = cs_count_subsets,       \
              .visit = cs_visit_diffusion, .sample = cs_sample_diffusion,                          \
              .token_weight = cs_diffusion_weight, .sizes = cs_sizes_permuted,                     \
              .speaks = cs_diffusion_speaks)                                                       \
    OBJECTIVE(SPAN_MASKED, "span-masked", .aliases = "t5 spanbert",                                \
              .summary = "masked in spans of geometric lengths of mean t (T5, SpanBERT)",          \
              .plans = "uniform among masks of round(rho s) tokens in round(rho s / t) spans",     \
              .source = "Raffel et al. 2020", .takes = "unmasked mask-ratio t",                    \
              .trained = "mask-ratio=0.15,t=3", .shape = CS_PAIRS_SETS, .reads = CS_READS_MASKS,   \
              .weighting = CS_WEIGHTS_EQUAL, .check = cs_check_span_masked,                        \
              .check_length = cs_check_unmasked_length, .given = cs_given_unmasked,                \
              .count = cs_count_span_masked, .visit = cs_visit_span_masked,                        \
              .sample = cs_sample_span_masked)                                                     \
    OBJECTIVE(MIX, "mix", .summary = "a mixture: mix:0.5*ar+0.5*masked(mask-ratio=0.15)",          \
              .plans = "those of its parts, with their shares", .source = "ours",                  \
              .shape = CS_PAIRS_SETS, .reads = CS_READS_GROUPS, .weighting = CS_WEIGHTS_OWN,       \
              .check = cs_check_mix, .check_length = cs_check_mix_length, .given = cs_given_mix,   \
              .count = cs_count_mix, .visit = cs_visit_mix, .sample = cs_sample_mix,               \
              .train = cs_train_mix, .pairs = cs_pairs_of_mix, .sizes = cs_sizes_mix,              \
              .predicted = cs_mix_predicted, .speaks = cs_mix_speaks)
