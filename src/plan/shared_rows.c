/* Rows of the objectives whose functions serve several (objective.h has the meaning of the
 * members); each other row is in the file with its functions. */
#include "base/mem.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/gvp.h"

/* --- gvp along the sequence --- */

/* A chosen size, in the sequence's order: the groups of one plan. */
static cs_status fixed_pairs(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    const int64_t first = cs_gvp_fixed(s, o->groups, 0);
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)(s - first));
    for (int64_t i = 0; i < o->groups && status == CS_OK; ++i) {
        const int64_t m = cs_gvp_fixed(s, o->groups, i), end = cs_gvp_fixed(s, o->groups, i + 1);
        for (int64_t k = m; k < end; ++k) {
            cs_pairs_add(pairs, (cs_pairs_set){0, m}, k, 1 / (double)(s - first));
        }
    }
    pairs->predicted = (double)(s - first);
    pairs->denominator = 1;
    return status;
}

/* w(m, m + d) of all m into w[m + d][m], a triangle by rows: row k has its m at k (k-1) / 2 + m - 1.
 * chance[N] = C(N-2-d, K-2) / C(N-1, K-1), of d = 0 where a row of distances begins. */
static void add_distance(int64_t s, int64_t groups, int64_t d, const long double *last,
                         long double *chance, long double *w)
{
    long double beyond = 0; /* sum of N > k */
    for (int64_t k = s - 1; k > d; --k) {
        const int64_t m = k - d;
        w[k * (k - 1) / 2 + m - 1] = last[m] + beyond;
        beyond += last[k] * chance[k];
    }
    for (int64_t n = d + 3; n < s; ++n) { /* to distance d + 1 */
        const int64_t stay = n - d - groups;
        chance[n] *= (long double)(stay > 0 ? stay : 0) / (long double)(n - 2 - d);
    }
}

static cs_status drawn_pairs(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    const int64_t groups = o->groups, cells = s * (s - 1) / 2;
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)cells * 2); /* and the triangle */
    long double *last = status == CS_OK ? cs_alloc(2 * (s + 1), sizeof *last) : NULL;
    long double *w = last ? cs_alloc(cells, sizeof *w) : NULL, sum = 0;
    if (!w) {
        cs_free(last);
        return status == CS_OK ? CS_ERR_MEMORY : status;
    }
    long double *chance = last + s + 1;
    cs_gvp_last(o, s, last, &pairs->clamped);
    for (int64_t n = 0; n <= s; ++n) {
        chance[n] = groups > 1 && n >= 2 ? (long double)(groups - 1) / (long double)(n - 1) : 0;
    }
    for (int64_t d = 0; d < s - 1; ++d) {
        add_distance(s, groups, d, last, chance, w);
    }
    for (int64_t i = 0; i < cells; ++i) {
        sum += w[i];
    }
    for (int64_t m = 1; m < s; ++m) {
        for (int64_t k = m; k < s; ++k) {
            cs_pairs_add(pairs, (cs_pairs_set){0, m}, k,
                         (double)(w[k * (k - 1) / 2 + m - 1] / sum));
        }
    }
    cs_free(w);
    cs_free(last);
    pairs->predicted = (double)sum;
    if (o->segmentation == CS_SEGMENT_RANDOM) {
        pairs->denominator = cs_small_binomial(s - 1, groups);
    }
    return CS_OK;
}

static cs_status pairs_of_gvp(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    if (o->permutation == CS_PERMUTE_UNIFORM) {
        return cs_pairs_of_sizes(o, s, pairs);
    }
    if (o->segmentation == CS_SEGMENT_FIXED) {
        return fixed_pairs(o, s, pairs);
    }
    return o->event_weight == CS_EVENT_MASK ? cs_pairs_of_plans(o, s, pairs)
                                            : drawn_pairs(o, s, pairs);
}

/* --- rows --- */

const cs_objective_row cs_row_AR = {
    .aliases = "gpt clm causal",
    .summary = "each token from all before it (GPT; LA 3.1)",
    .plans = "identity order, singletons",
    .source = "LA 3.1",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_SHIFTED,
    .weighting = CS_WEIGHTS_EQUAL,
    .count = cs_count_groups,
    .visit = cs_visit_groups,
    .sample = cs_sample_groups,
    .pairs = cs_pairs_of_offsets,
    .examples = "ar",
};

const cs_objective_row cs_row_MASKED = {
    .aliases = "mlm bert",
    .summary = "masked tokens from a fixed number of unmasked ones (BERT; LA 3.1)",
    .plans = "uniform order, one predicted group; S uniform of size m",
    .source = "LA 3.1",
    .takes = "unmasked mask-ratio",
    .trained = "mask-ratio=0.15",
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_EQUAL,
    .check = cs_check_unmasked,
    .check_length = cs_check_unmasked_length,
    .given = cs_given_unmasked,
    .count = cs_count_masks,
    .visit = cs_visit_masks,
    .sample = cs_sample_masks,
    .sizes = cs_sizes_unmasked,
    .examples = "masked:unmasked=1 masked:unmasked=3 masked:mask-ratio=0.4",
};

const cs_objective_row cs_row_VARIABLE_MASKED = {
    .summary = "masked, the number unmasked uniform in a range (LA Eq. 5)",
    .plans = "the same, m uniform in LO..HI",
    .source = "LA Eq. 5",
    .takes = "unmasked mask-ratio",
    .trained = "mask-ratio=0.15:0.3",
    .range = true,
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_unmasked,
    .check_length = cs_check_unmasked_length,
    .given = cs_given_unmasked,
    .count = cs_count_masks,
    .visit = cs_visit_masks,
    .sample = cs_sample_masks,
    .sizes = cs_sizes_unmasked,
    .examples = "variable-masked:unmasked=1:3 variable-masked:mask-ratio=0.15:0.7",
};

const cs_objective_row cs_row_BERNOULLI_MASKED = {
    .summary = "every token masked independently with one probability",
    .plans = "every token masked with probability rho",
    .source = "ours",
    .takes = "mask-ratio",
    .trained = "mask-ratio=0.15",
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_unmasked,
    .given = cs_given_any,
    .count = cs_count_subsets,
    .visit = cs_visit_bernoulli,
    .sample = cs_sample_bernoulli,
    .sizes = cs_sizes_bernoulli,
    .predict_probability = cs_bernoulli_predict_probability,
    .examples = "bernoulli-masked:mask-ratio=0.3 bernoulli-masked:mask-ratio=0.8",
};

const cs_objective_row cs_row_DIVERSE_AR = {
    .summary = "one of the next t tokens, uniformly, from each prefix (LA Eq. 3)",
    .plans = "one of the next t tokens of every prefix",
    .source = "LA Eq. 3",
    .takes = "t",
    .trained = "t=2",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_ONE,
    .check = cs_check_t,
    .count = cs_count_offsets,
    .visit = cs_visit_offsets,
    .sample = cs_sample_offset,
    .train = cs_train_diverse,
    .pairs = cs_pairs_of_offsets,
    .examples = "diverse-ar:t=1 diverse-ar:t=2 diverse-ar:t=4 diverse-ar:t=9",
};

const cs_objective_row cs_row_OFFSET_AR = {
    .summary = "one later token from each prefix, by a distribution of its distance",
    .plans = "the token at offset d of every prefix with weight w(d)",
    .source = "ours",
    .takes = "offset-weights",
    .trained = "offset-weights=uniform:2",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_PREFIXES,
    .weighting = CS_WEIGHTS_ONE,
    .check = cs_check_offset,
    .count = cs_count_offsets,
    .visit = cs_visit_offsets,
    .sample = cs_sample_offset,
    .pairs = cs_pairs_of_offsets,
    .examples = "offset-ar:offset-weights=uniform:2 offset-ar:offset-weights=power:0 "
                "offset-ar:offset-weights=power:1 offset-ar:offset-weights=power:0.5 "
                "offset-ar:offset-weights=mix:0 offset-ar:offset-weights=mix:0.25 "
                "offset-ar:offset-weights=mix:1",
};

const cs_objective_row cs_row_GROUP_AR = {
    .summary = "groups of t tokens at once, the first group 1..t (LA Eq. 6)",
    .plans = "identity order, groups of t, first group uniform in 1..t",
    .source = "LA Eq. 6",
    .takes = "t",
    .trained = "t=2",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_t,
    .count = cs_count_groups,
    .visit = cs_visit_groups,
    .sample = cs_sample_groups,
    .pairs = cs_pairs_of_groups,
    .predict_probability = cs_group_predict_probability,
    .examples = "group-ar:t=1 group-ar:t=2 group-ar:t=3 group-ar:t=8",
};

const cs_objective_row cs_row_PERMUTED_AR = {
    .aliases = "xlnet plm",
    .summary = "autoregressive along a uniform permutation (XLNet)",
    .plans = "uniform order, singletons",
    .source = "XLNet",
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_EQUAL,
    .count = cs_count_orders,
    .visit = cs_visit_orders,
    .sample = cs_sample_order,
    .sizes = cs_sizes_permuted,
    .examples = "permuted-ar",
};

const cs_objective_row cs_row_GVP = {
    .summary = "K groups along a uniform permutation (GVP 3.2, App. B)",
    .plans = "uniform order or the sequence's own (permutation=none, GVP Table 3), K predicted "
             "groups, three segmentations",
    .source = "GVP 3.2, App. B",
    .takes = "segmentation groups permutation",
    .trained = "segmentation=mixed,groups=2",
    .form = cs_form_gvp,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_gvp,
    .check_length = cs_check_gvp_length,
    .given = cs_given_gvp,
    .count = cs_count_gvp,
    .visit = cs_visit_gvp,
    .sample = cs_sample_gvp,
    .pairs = pairs_of_gvp,
    .sizes = cs_sizes_gvp,
    .predicted = cs_predicted_gvp,
    .examples = "gvp:segmentation=fixed,groups=1 gvp:segmentation=fixed,groups=2 "
                "gvp:segmentation=fixed,groups=5 gvp:segmentation=random,groups=1 "
                "gvp:segmentation=random,groups=2 gvp:segmentation=random,groups=3 "
                "gvp:segmentation=random,groups=5 gvp:segmentation=mixed,groups=1 "
                "gvp:segmentation=mixed,groups=2 gvp:segmentation=mixed,groups=4 "
                "gvp:segmentation=fixed,groups=2,permutation=none "
                "gvp:segmentation=mixed,groups=3,permutation=none",
};

const cs_objective_row cs_row_FILE = {
    .summary = "plans with probabilities from a JSON file",
    .plans = "any",
    .source = "docs/reference/plan-files.md",
    .takes = "plan-file",
    .shape = CS_PAIRS_SETS,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_OWN,
    .check = cs_check_file,
    .check_length = cs_check_file_length,
    .given = cs_given_file,
    .count = cs_count_file,
    .visit = cs_visit_file,
    .sample = cs_sample_file,
    .pairs = cs_pairs_of_file,
};
