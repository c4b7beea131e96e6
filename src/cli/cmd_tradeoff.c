/* cospec tradeoff: connectivity against generation on the toy model, and the frontier of mask
 * ratios. */
#include <math.h>
#include <string.h>

#include "analysis/theorems/tradeoff.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/result.h"
#include "plan/spec.h"

static const char *const default_specs[] = {"ar",
                                            "diverse-ar(t=2)",
                                            "diverse-ar(t=4)",
                                            "diverse-ar(t=16)",
                                            "offset-ar(offset-weights=mix:0.5)",
                                            "offset-ar(offset-weights=power:1)",
                                            "offset-ar(offset-weights=power:0.5)",
                                            "offset-ar(offset-weights=mix:0)",
                                            "masked(mask-ratio=0.15)",
                                            "masked(mask-ratio=0.3)",
                                            "masked(mask-ratio=0.5)",
                                            NULL};

/* Of an objective at length s. */
static void add(cs_item *points, const char *kind, int64_t s, const cs_objective *objective,
                const cs_tradeoff *x)
{
    cs_item *point = cs_item_object(points, NULL);
    cs_item_text(point, "kind", kind);
    cs_item_take(point, "series", cs_objective_describe(objective));
    cs_item_take(point, "objective", cs_objective_describe(objective));
    cs_item_int(point, "length", s);
    CS_ITEM_FIELDS(point, x, next_token_weight, misalignment, sigma2, tail);
    if (strcmp(kind, "frontier") == 0) {
        cs_item_int(point, "~unmasked", objective->unmasked_lo);
    }
}

/* One row an objective. */
static cs_status add_objectives(const cs_args *args, int64_t s, cs_item *points)
{
    cs_words specs = {0};
    cs_status status = cs_args_compared(args, default_specs, &specs);
    for (int i = 0; i < specs.count && status == CS_OK; ++i) {
        cs_objective objective;
        cs_plan_file parts = {0};
        cs_tradeoff x;
        if ((status = cs_objective_parse_held(specs.text[i], &parts, &objective)) == CS_OK &&
            (status = cs_tradeoff_of(&objective, s, &x)) == CS_OK) {
            const char *kind = isnan(x.next_token_weight) ? "invariant"
                               : isnan(x.misalignment)    ? "prefix"
                                                          : "mixture";
            add(points, kind, s, &objective, &x);
        }
        cs_plan_file_free(&parts);
    }
    cs_words_free(&specs);
    return status;
}

/* One row a vertex of the frontier. */
static cs_status add_frontier(int64_t s, cs_item *points)
{
    int64_t count = 0, *m = cs_alloc(s, sizeof *m);
    cs_status status = m ? cs_frontier(s, m, &count) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
        objective.unmasked_lo = objective.unmasked_hi = m[i];
        cs_tradeoff x;
        status = cs_tradeoff_of(&objective, s, &x);
        if (status == CS_OK) add(points, "frontier", s, &objective, &x);
    }
    cs_free(m);
    return status;
}

static cs_status run(cs_args *args)
{
    static const cs_view view = {"points[]",
                                 "kind series length unmasked=~unmasked next_token_weight "
                                 "misalignment sigma2 tail"};
    int64_t s = cs_args_int(args, "length");
    cs_item *points = cs_item_array(cs_output_root(args), "points");
    cs_status status = add_objectives(args, s, points);
    if (status == CS_OK) status = add_frontier(s, points);
    return status == CS_OK ? cs_output_record(args, "tradeoff", &view) : status;
}

static const cs_opt tradeoff_options[] = {
    CS_INT("length", "S", "128", 2, 2000, "Length s of a sequence."),
    CS_TEXTS("compare", "SPEC",
             "An objective NAME[(KEY=VALUE,...)], such as offset-ar(offset-weights=power:1). "
             "Default: eleven of them."),
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
    .files = "tradeoff.json tradeoff.csv",
    .shown = "kind series next_token_weight misalignment sigma2 tail",
    .most = 24,
};
