/* cospec tradeoff: connectivity against generation on the toy model, and the frontier of mask
 * ratios. */
#include <math.h>

#include "analysis/tradeoff.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "io/json.h"
#include "plan/spec.h"

static const char *const default_specs[] = {"ar",
                                            "diverse-ar:t=2",
                                            "diverse-ar:t=4",
                                            "diverse-ar:t=16",
                                            "offset-ar:offset-weights=mix:0.5",
                                            "offset-ar:offset-weights=power:1",
                                            "offset-ar:offset-weights=power:0.5",
                                            "offset-ar:offset-weights=mix:0",
                                            "masked:mask-ratio=0.15",
                                            "masked:mask-ratio=0.3",
                                            "masked:mask-ratio=0.5"};

static cs_status add(cs_table *table, json_t *list, const char *kind, const char *series, int64_t s,
                     int64_t unmasked, const cs_tradeoff *x)
{
    cs_status status;
    if ((status = cs_table_row(table)) != CS_OK ||
        (status = cs_table_text(table, "kind", kind)) != CS_OK ||
        (status = cs_table_text(table, "series", series)) != CS_OK ||
        (status = cs_table_int(table, "length", s)) != CS_OK ||
        (status = cs_table_real(table, "unmasked", unmasked > 0 ? (double)unmasked : NAN)) !=
            CS_OK ||
        (status = cs_table_real(table, "next_token_weight", x->next_token_weight)) != CS_OK ||
        (status = cs_table_real(table, "misalignment", x->misalignment)) != CS_OK ||
        (status = cs_table_real(table, "sigma2", x->sigma2)) != CS_OK ||
        (status = cs_table_real(table, "tail", x->tail)) != CS_OK) {
        return status;
    }
    json_t *item =
        json_pack("{s:s, s:s, s:I}", "kind", kind, "series", series, "length", (json_int_t)s);
    if (!item || json_array_append_new(list, item) != 0) {
        return CS_ERR_MEMORY;
    }
    if ((status = cs_json_set(item, "next_token_weight", cs_json_number(x->next_token_weight))) !=
            CS_OK ||
        (status = cs_json_set(item, "misalignment", cs_json_number(x->misalignment))) != CS_OK ||
        (status = cs_json_set(item, "sigma2", cs_json_number(x->sigma2))) != CS_OK) {
        return status;
    }
    return cs_json_set(item, "tail", cs_json_number(x->tail));
}

/* One row an objective. */
static cs_status add_objectives(const cs_args *args, int64_t s, cs_table *table, json_t *list)
{
    cs_status status = CS_OK;
    int given = cs_args_count(args, "compare");
    int count = given > 0 ? given : (int)(sizeof default_specs / sizeof *default_specs);
    for (int i = 0; i < count && status == CS_OK; ++i) {
        const char *spec = given > 0 ? cs_args_text_at(args, "compare", i) : default_specs[i];
        cs_objective objective;
        cs_tradeoff x;
        if ((status = cs_objective_parse(spec, &objective)) == CS_OK &&
            (status = cs_tradeoff_of(&objective, s, &x)) == CS_OK) {
            status = add(table, list, isnan(x.next_token_weight) ? "invariant" : "prefix", spec, s,
                         0, &x);
        }
    }
    return status;
}

/* One row a vertex of the frontier. */
static cs_status add_frontier(int64_t s, cs_table *table, json_t *list)
{
    int64_t count = 0, *m = cs_alloc(s, sizeof *m);
    cs_status status = m ? cs_frontier(s, m, &count) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
        objective.unmasked_lo = objective.unmasked_hi = m[i];
        cs_tradeoff x;
        char *name = cs_format("masked:unmasked=%lld", (long long)m[i]);
        status = name ? cs_tradeoff_of(&objective, s, &x) : CS_ERR_MEMORY;
        if (status == CS_OK) {
            status = add(table, list, "frontier", name, s, m[i], &x);
        }
        cs_free(name);
    }
    cs_free(m);
    return status;
}

static cs_status run(cs_args *args)
{
    int64_t s = cs_args_int(args, "length");
    cs_table table = {0};
    json_t *root = json_object(), *list = json_array();
    cs_status status;
    if ((status = cs_output_claim(args, "tradeoff.csv")) != CS_OK ||
        (status = cs_table_init(
             &table, "kind,series,length,unmasked,next_token_weight,misalignment,sigma2,tail")) !=
            CS_OK ||
        (status = add_objectives(args, s, &table, list)) != CS_OK ||
        (status = add_frontier(s, &table, list)) != CS_OK ||
        (status = cs_json_set(root, "points", json_incref(list))) != CS_OK) {
        goto done;
    }
    status = cs_output_result(args, "tradeoff", root, &table);
done:
    cs_table_free(&table);
    json_decref(list);
    json_decref(root);
    return status;
}

static const cs_opt tradeoff_options[] = {
    {.name = "length",
     .kind = CS_OPT_INT,
     .argument = "S",
     .fallback = "128",
     .low = 2,
     .high = 2000,
     .help = "Length s of a sequence."},
    {.name = "compare",
     .kind = CS_OPT_TEXT,
     .argument = "SPEC",
     .repeated = true,
     .help = "An objective NAME[:KEY=VALUE,...], such as offset-ar:offset-weights=power:1. "
             "Default: eleven of them."},
    {0},
};

const cs_command cs_cmd_tradeoff = {
    .name = "tradeoff",
    .summary = "Connectivity against generation on the toy model",
    .description =
        "For each objective at length s: the weight it leaves on the next token, the mean length "
        "misalignment 1 - (min(l,m)/max(l,m))^2 of its conditioning sets against "
        "prefixes of every length l, the second singular value and the tail sum_{j>=2} sigma_j^4 "
        "per class. Then the frontier of permutation-invariant objectives: the "
        "numbers of unmasked tokens on the lower hull of (misalignment, sigma^2). These are "
        "predictions for the toy model; training has to test them.",
    .groups = (const cs_opt *const[]){tradeoff_options, NULL},
    .examples = "# heavy-tailed offsets against windows\n"
                "cospec tradeoff --length 64 --compare diverse-ar:t=4 --compare "
                "offset-ar:offset-weights=power:1\n",
    .run = run,
};
