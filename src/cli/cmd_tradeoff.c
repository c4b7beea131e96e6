/* cospec tradeoff: connectivity against generation on the toy model, and the frontier of mask
 * ratios. */
#include "analysis/theorems/tradeoff.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
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

/* One row an objective. */
static cs_status add_objectives(const cs_args *args, int64_t s, cs_item *points)
{
    CS_AUTO(cs_words) specs = {0};
    cs_status status = cs_args_compared(args, default_specs, &specs);
    for (int i = 0; i < specs.count && status == CS_OK; ++i) {
        cs_objective objective;
        CS_AUTO(cs_plan_file) parts = {0};
        status = cs_objective_parse_held(specs.text[i], &parts, &objective);
        if (status == CS_OK) status = cs_tradeoff_add(&objective, s, points);
    }
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
    if (status == CS_OK) status = cs_frontier_add(s, points);
    return status == CS_OK ? cs_output_record(args, "tradeoff", &view) : status;
}

static const cs_opt tradeoff_options[] = {
    CS_INT("length", "S", "128", 2, 2000, "Length s of a sequence."),
    CS_TEXTS("compare", "SPEC",
             "An objective NAME[(KEY=VALUE,...)], such as offset-ar(offset-weights=power:1). "
             "Default: eleven objectives."),
    {0},
};

const cs_command cs_cmd_tradeoff = {
    .name = "tradeoff",
    .without = "dry-run",
    .help = &cs_help_tradeoff,
    .groups = (const cs_opt *const[]){tradeoff_options, NULL},
    .run = run,
    .files = "tradeoff.json tradeoff.csv",
    .shown = "kind series next_token_weight misalignment sigma2 tail",
    .most = 24,
};
