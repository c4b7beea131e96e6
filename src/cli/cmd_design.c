/* cospec design: the objective of a family that is best connected under linear constraints, with the
 * bound that certifies it, and the frontier of connectivity against generation. */
#include <math.h>
#include <string.h>

#include "analysis/design/design.h"
#include "base/auto.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/json.h"
#include "plan/spec.h"

static const char *family_of(const cs_args *args)
{
    return cs_args_positionals(args) > 0 ? cs_args_positional(args, 0) : "prefixes";
}

static cs_status problem_of(const cs_args *args, cs_plan_file *parts, cs_design_problem *out)
{
    const char *family = family_of(args);
    *out = (cs_design_problem){.matrix =
                                   cs_args_flag(args, "kernel") ? CS_DESIGN_KERNEL : CS_DESIGN_TOY,
                               .misalignment = INFINITY};
    CS_ARGS_FIELDS(args, out, length, sum, fixed, next_token, misalignment);
    if (strncmp(family, "offsets:", 8) == 0) {
        return cs_parse_int(family + 8, "offsets", 1, out->length - 1, &out->reach);
    }
    if (strcmp(family, "prefixes") == 0) {
        family = "offset-ar(offset-weights=mix:0)";
    }
    cs_status status = cs_args_objective_text(args, family, parts, &out->objective);
    CS_AUTO_FREE char *filled = status == CS_OK ? cs_objective_describe(&out->objective) : NULL;
    /* Parts of a mixture are read with the parameters that were filled in. */
    if (status == CS_OK)
        status = filled ? cs_objective_parse_held(filled, parts, &out->objective) : CS_ERR_MEMORY;
    return status;
}

/* The stream of --corpus, if any. */
static cs_status add_stream(cs_args *args, cs_design_problem *problem, double **gram)
{
    const char *source = cs_args_text(args, "corpus");
    CS_AUTO(cs_corpus) corpus = {0};
    const char *of_text = cs_args_given_of(args, cs_group_corpus);
    if (!source && !of_text) {
        return CS_OK;
    }
    if (!source || problem->matrix == CS_DESIGN_KERNEL) {
        return source ? cs_fail(CS_ERR_USAGE, "--corpus and --kernel exclude each other")
                      : cs_fail(CS_ERR_USAGE, "--%s needs --corpus", of_text);
    }
    cs_status status = cs_args_load_corpus(args, source, &corpus);
    *gram = status == CS_OK ? cs_calloc(problem->length * problem->length, sizeof **gram) : NULL;
    if (status == CS_OK && !*gram) status = CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_stream_gram(&corpus, problem->length, cs_output_progress(args), *gram);
    problem->matrix = CS_DESIGN_STREAM;
    problem->gram = *gram;
    return status;
}

/* Solves it, from where an interrupted run stopped. */
static cs_status solve(cs_args *args, cs_partial_run *u, const cs_design_problem *problem,
                       cs_design *design)
{
    cs_design_options options = {.progress = cs_output_progress(args)};
    const json_t *before = json_object_get(u->kept, "state");
    json_t *state = NULL;
    CS_ARGS_FIELDS(args, &options, gap, max_steps);
    cs_status status = before ? cs_design_continue(before, design) : CS_OK;
    if (status == CS_OK) status = cs_design_solve(problem, &options, design);
    if (status == CS_OK) (void)json_object_del(u->kept, "state");
    if (status != CS_ERR_INTERRUPT || !u->path || !design->x) {
        return status;
    }
    cs_reason_clear();
    status = cs_design_state(design, &state);
    if (status == CS_OK) status = cs_json_set(u->kept, "state", state);
    if (status == CS_OK) status = cs_partial_run_save(u);
    return status == CS_OK ? cs_fail(CS_ERR_INTERRUPT,
                                     "interrupted after %lld steps, kept in %s; run the same "
                                     "command with --resume to continue",
                                     (long long)design->steps, u->path)
                           : status;
}

/* Designs distributions for `count` weights of the next token, from the largest down, and keeps
 * each for --resume. */
static cs_status add_frontier(cs_args *args, cs_partial_run *u, cs_design_problem problem,
                              int64_t count, json_t *rows)
{
    double most = 0;
    cs_status status = cs_design_most(&problem, &most);
    for (int64_t i = (int64_t)json_array_size(rows); i < count && status == CS_OK; ++i) {
        CS_AUTO(cs_design) d = {0};
        problem.next_token = most * (double)(count - i) / (double)count;
        status = solve(args, u, &problem, &d);
        if (status == CS_OK) status = cs_design_row("frontier", "frontier", &d, rows);
        if (status == CS_OK) status = cs_partial_run_save(u);
    }
    return status;
}

static cs_status add_one(cs_args *args, cs_partial_run *u, const cs_design_problem *problem,
                         json_t *rows)
{
    const char *path = NULL;
    CS_AUTO(cs_design) d = {0};
    json_auto_t *plans = NULL;
    cs_status status = solve(args, u, problem, &d);
    if (status == CS_OK) status = cs_design_plans(problem, &d, &plans);
    if (status == CS_OK && u->path) status = cs_output_path(args, "plan.json", &path);
    if (status == CS_OK && u->path) status = cs_json_write(path, plans);
    return status == CS_OK ? cs_design_row("design", family_of(args), &d, rows) : status;
}

static cs_status add_objectives(const cs_args *args, const cs_design_problem *problem, json_t *rows)
{
    static const char *const none[] = {NULL};
    CS_AUTO(cs_words) given = {0};
    cs_status status = cs_args_compared(args, none, &given);
    if (status == CS_OK && given.count == 0) status = cs_design_compare_all(problem, rows);
    for (int i = 0; i < given.count && status == CS_OK; ++i) {
        status = cs_design_compare(problem, given.text[i], rows);
    }
    return status;
}

/* The record of all rows; that of a single design has its row at the root. */
static cs_status report(cs_args *args, const cs_design_problem *problem, bool many,
                        const json_t *rows)
{
#define COLUMNS(up)                                                                                \
    "kind series family=" up "family matrix=" up "matrix length=" up "length sum=" up              \
    "sum fixed=" up "fixed next_token_weight misalignment kappa value bound gap steps reached"
    static const cs_view one = {"", COLUMNS("")}, all = {"points[]", COLUMNS("/")};
    static const char *const matrix[] = {"toy", "kernel", "stream"};
    cs_item *root = cs_output_root(args);
    json_t *row, *value, *open = NULL;
    const char *name;
    size_t i;
    cs_item_text(root, "family", family_of(args));
    cs_item_text(root, "matrix", matrix[problem->matrix]);
    cs_item_int(root, "length", problem->length);
    cs_item_text(root, "sum", cs_args_text(args, "sum"));
    cs_item_text(root, "fixed", cs_args_text(args, "fixed"));
    cs_item *list = many ? cs_item_array(root, "points") : NULL;
    json_array_foreach(rows, i, row)
    {
        cs_item *to = many ? cs_item_object(list, NULL) : root;
        open = json_is_false(json_object_get(row, "reached")) ? row : open;
        json_object_foreach(row, name, value)
        {
            (void)cs_item_json(to, name, json_incref(value));
        }
    }
    cs_status status = cs_output_record(args, many ? "frontier" : "design", many ? &all : &one);
    return status != CS_OK || !open
               ? status
               : cs_fail(
                     CS_ERR_CONVERGE,
                     "not converged: after %lld steps the gap is %.3g, which exceeds %g of the sum",
                     (long long)json_integer_value(json_object_get(open, "steps")),
                     json_number_value(json_object_get(open, "gap")), cs_args_real(args, "gap"));
}

static cs_status run(cs_args *args)
{
    const int64_t count = cs_args_int(args, "frontier");
    CS_AUTO(cs_plan_file) parts = {0};
    cs_design_problem problem;
    cs_partial_run u = {0};
    json_t *rows = NULL;
    CS_AUTO_FREE double *gram = NULL;
    if (count > 0 ? cs_args_given(args, "next-token") : cs_args_count(args, "compare") > 0) {
        return cs_fail(CS_ERR_USAGE, count > 0
                                         ? "--frontier sweeps --next-token; leave --next-token out"
                                         : "--compare needs --frontier");
    }
    cs_status status = problem_of(args, &parts, &problem);
    if (status == CS_OK)
        status = cs_output_claim(args, count > 0 ? "frontier.json frontier.csv"
                                                 : "design.json design.csv plan.json");
    if (status == CS_OK) status = cs_partial_run_begin(args, &u);
    if (status != CS_OK) return status;
    rows = json_object_get(u.kept, "points");
    if (!rows) status = cs_json_set(u.kept, "points", rows = json_array());
    if (status == CS_OK) status = add_stream(args, &problem, &gram);
    if (status == CS_OK)
        status = count > 0 ? add_frontier(args, &u, problem, count, rows)
                           : add_one(args, &u, &problem, rows);
    if (status == CS_OK && count > 0) status = add_objectives(args, &problem, rows);
    if (status == CS_OK) status = report(args, &problem, count > 0, rows);
    cs_partial_run_end(&u, status == CS_ERR_CONVERGE ? CS_OK : status);
    return status;
}

static const cs_opt design_options[] = {
    CS_INT("length", "S", "16", 2, 1000, "Length s of a sequence."),
    CS_FLAG("kernel",
            "Use the eigenvalues of the position kernel R instead of the toy model's sigma^2."),
    CS_CHOICE("sum", "sigma4|sigma2", "sigma4",
              "Sum to minimise: sigma_j^4 without the ones, or (with --kernel, --corpus) "
              "sigma_j^2, which for the kernel is kappa."),
    CS_CHOICE("fixed", "contexts|targets|both|none", "contexts",
              "Fixed weights: of contexts, as in the family; of targets, all equal. none is "
              "refused for the toy model, whose sum is then not convex."),
    CS_REAL("next-token", "L", "0", 0, 1, "Least weight of events that predict the next token."),
    CS_REAL("misalignment", "B", NULL, 0, 1,
            "Largest mean length misalignment of the contexts (as in tradeoff)."),
    CS_REAL("gap", "G", "1e-6", CS_ABOVE_0, 1,
            "Stop when value - bound is below this share of the sum including its ones."),
    CS_INT("max-steps", "N", "100000", 1, 1e9,
           "Most steps; without convergence the exit code is 4."),
    CS_INT("frontier", "N", "0", 0, 10000,
           "Solve for N weights of the next token, from the largest down, and add every objective "
           "to the table (cospec plot pareto)."),
    CS_TEXTS("compare", "SPEC",
             "--frontier: an objective to add, instead of all objectives with their training "
             "parameters and variants."),
    {0},
};

const cs_command cs_cmd_design = {
    .name = "design",
    .help = &cs_help_design,
    .positional = "[FAMILY]",
    .groups = (const cs_opt *const[]){design_options, cs_group_corpus, NULL},
    .run = run,
    .without = "dry-run seed",
    .shown = "kind series next_token_weight kappa value bound gap steps",
};
