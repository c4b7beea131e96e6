/* Option groups and the library structs that they become. The library checks the values again in its
 * own terms; what is checked here is what only the command line knows: options that an objective or
 * a command would ignore. */
#include "cli/groups.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/plugin.h"
#include "cli/argument_kind.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "cooc/moments.h"
#include "io/digests.h"
#include "io/file.h"
#include "linalg/matrix_index.h"
#include "plan/parameter.h"
#include "plan/spec.h"

/* Parameters of objectives as options, by their kind: choices are listed with --objective, numbers
 * in a separate group, which a command takes with or without sweeps. */
#define TEXT_OPTION(name, argument, help) CS_TEXT(name, argument, NULL, help),
#define PLAN_CHOICE(name, argument, fallback, help) CS_CHOICE(name, argument, fallback, help),
#define PLAN_OFFSETS(name, argument, fallback, help) TEXT_OPTION(name, argument, help)
#define PLAN_FILE(name, argument, fallback, help) TEXT_OPTION(name, argument, help)
#define PLAN_NUMBER(name, argument, fallback, help)
#define PLAN_NUMBERS(name, argument, fallback, help)
#define PLAN_RATIOS(name, argument, fallback, help)
#define PLAN_SHARE(name, argument, fallback, help) CS_TEXT(name, argument, fallback, help),
#define NUMBERS_SHARE(name, argument, fallback, help)
#define NUMBERS_CHOICE(name, argument, fallback, help)
#define NUMBERS_OFFSETS(name, argument, fallback, help)
#define NUMBERS_FILE(name, argument, fallback, help)
#define NUMBERS_NUMBER(name, argument, fallback, help) TEXT_OPTION(name, argument, help)
#define NUMBERS_NUMBERS(name, argument, fallback, help) TEXT_OPTION(name, argument, help)
#define NUMBERS_RATIOS(name, argument, fallback, help) TEXT_OPTION(name, argument, help)
#define PLAN(id, name, kind, member, argument, fallback, help)                                     \
    PLAN_##kind(name, argument, fallback, help)
#define NUMBER(id, name, kind, member, argument, fallback, help)                                   \
    NUMBERS_##kind(name, argument, fallback, help)
#define SWEEP(id, name, kind, member, argument, fallback, help)                                    \
    NUMBERS_##kind(name, argument "|A:B:STEP", fallback, help " A:B:STEP is a sweep.")

const cs_opt cs_group_objective[] = {
    CS_HEADING("Objective"),
    {"objective", 0, CS_OPT_NAME, CS_OBJECTIVE_NAMES, NULL, 0, 0,
     "Pretraining objective: a name, NAME(PARAMETER=VALUE,...), or a mixture "
     "mix:SHARE*NAME+SHARE*NAME(...).",
     false},
    {0},
};

const cs_opt cs_group_plan[] = {
    CS_HEADING("Objective"),
    CS_PARAMETERS(PLAN){0},
};

const cs_opt cs_group_target[] = {
    CS_HEADING("Objective"),
    CS_CHOICE("target-position", "blind|given", "blind",
              "Whether the position of the predicted token is part of the context (given) or not "
              "(blind)."),
    {0},
};

const cs_opt cs_group_plan_numbers[] = {
    CS_HEADING("Objective"),
    CS_PARAMETERS(NUMBER){0},
};

const cs_opt cs_group_plan_sweeps[] = {
    CS_HEADING("Objective"),
    CS_PARAMETERS(SWEEP){0},
};

const cs_opt cs_group_toy[] = {
    CS_HEADING("Toy model"),
    CS_TEXT("classes", "R|A:B:STEP", NULL, "Number of classes."),
    CS_TEXT("length", "S|A:B:STEP", NULL, "Number of positions of a sequence."),
    CS_TEXT("tokens", "T|A:B:STEP", NULL, "Number of tokens for each class and position."),
    CS_REAL("position-known", "THETA", NULL, 0, CS_BELOW_1,
            "Probability that the position given with a context is the target's; else it is "
            "random. 0 is blind (docs/explanation/theorem-4-2.md)."),
    CS_CHOICE("token-sets", "disjoint|literal", "disjoint",
              "disjoint: classes share no tokens, as the theorem requires. literal: token sets as "
              "printed in the paper, where classes collide."),
    {0},
};

#define CONTEXT_FORM(mode, name, alias, number, what) "|" #name number
#define CONTEXT_HELP(mode, name, alias, number, what) " " #name number ": " what "."
#define CONTEXT_FORMS &(CS_CONTEXT_MODES(CONTEXT_FORM))[1]

const cs_opt cs_group_cooc[] = {
    CS_HEADING("Contexts"),
    CS_TEXT("context", CONTEXT_FORMS, "all", "What makes a row." CS_CONTEXT_MODES(CONTEXT_HELP)),
    CS_INT("max-length", "L", "0", 0, 1e9,
           "Cut documents into pieces of at most L tokens. 0: whole documents."),
    CS_INT("stride", "N", "0", 0, 1e9,
           "Use overlapping windows of L tokens, each N tokens after the last, instead of pieces. "
           "Only full windows count (a shorter document is one sequence)."),
    CS_CHOICE("weight", "token|document", "token",
              "Weight of a sequence: its expected number of predicted tokens, or 1."),
    CS_CHOICE("split", "all|train|test", "all", "Which documents to use."),
    CS_REAL("tail", "P", NULL, 1e-15, 0.5,
            "nearest:N: drop distant patterns that hold less than this share of an event. The "
            "result counts the dropped mass. Default: 2^-50."),
    CS_SIZE("memory", "BYTES", NULL,
            "Memory for counting, and the same again for the matrix (K, M, G allowed). The rest "
            "goes to --scratch. Default: a quarter and half of free memory."),
    CS_TEXT("scratch", "DIR", NULL,
            "Folder of temporary files beyond --memory. Default: $TMPDIR or /tmp."),
    {0},
};

const cs_opt cs_group_solver[] = {
    CS_HEADING("Solver"),
    CS_FLAG("normalised", "The matrix is normalised already: do not divide by its marginals."),
    CS_CHOICE("solver", "auto|lapack|arpack|block|cusolver", "auto",
              "Solver of large components; small ones are always dense. cusolver is dense and "
              "needs --device cuda, where block runs too."),
    CS_REAL("tol", "EPS", NULL, 1e-16, 1e-1,
            "Largest residual, relative to sigma_1. Default: 1e-12, or the rounding error of a "
            "matrix with long rows or columns where that is larger."),
    CS_INT("max-iterations", "N", NULL, 1, 1e9,
           "Most iterations of the solver. Default: the solver's own limit."),
    CS_FLAG("no-reduction",
            "Solve the whole matrix at once, without splitting components or merging proportional "
            "rows (a cross-check)."),
    {0},
};

const cs_opt cs_group_moments[] = {
    CS_HEADING("Solver"),
    CS_REAL("moment-budget", "N", "2e10", 0, 1e300,
            "Compute sum sigma^4 exactly if it costs at most N multiply-adds (2e10: about a minute "
            "on one core), else estimate it with an error."),
    {0},
};

const cs_opt cs_group_form[] = {
    CS_TEXT("form", "NAME|EXPRESSION", NULL,
            "Matrix to decompose: normalised, centred, conditional, ppmi, sppmi:K, ppmi-smoothed, "
            "qwem, support, log, or an expression in a, p, q, n, d, v and s such as 'log1p(n*a)' "
            "(docs/explanation/forms.md). Default: normalised."),
    {0},
};

const cs_opt cs_group_certify[] = {
    CS_HEADING("Solver"),
    CS_TEXT("certify", "LIST", NULL,
            "Certificates, separated by commas: components, moments, probe, inertia, or none. "
            "Default: components,moments, in svd also probe. A failure gives exit code 4."),
    {0},
};

/* --- objective --- */

cs_status cs_args_sweep(const cs_args *args, cs_sweep *out)
{
    const char *text[CS_SWEEP_AXES];
    for (int i = 0; i < CS_SWEEP_AXES; ++i) {
        text[i] = cs_args_text(args, cs_sweep_name(i));
    }
    return cs_sweep_read(text, out);
}

/* The value of an option at the sweep's point, or as it was given; NULL where it is not given. */
static const char *value_of(const cs_args *args, const cs_sweep *sweep, int64_t point,
                            const char *option, char at_point[CS_SWEEP_TEXT])
{
    at_point[0] = '\0';
    if (sweep) {
        cs_sweep_value(sweep, point, option, at_point);
    }
    return at_point[0] ? at_point : cs_args_text(args, option);
}

static cs_status set_parameter(const cs_args *args, const cs_sweep *sweep, int64_t point, int index,
                               unsigned *set, cs_plan_file *file, cs_objective *objective)
{
    const cs_parameter *p = cs_parameter_table(index);
    char at_point[CS_SWEEP_TEXT];
    const char *text = value_of(args, sweep, point, p->name, at_point);
    bool given = at_point[0] || cs_args_given(args, p->name);
    if (!text || !given) {
        return CS_OK;
    }
    if (*set & 1U << index) {
        return cs_fail(CS_ERR_USAGE, "--%s %s is also set in --objective %s; give it once", p->name,
                       text, cs_args_text(args, "objective"));
    }
    *set |= 1U << index;
    if (p->kind == CS_PARAMETER_FILE && cs_objective_takes(objective->kind, p)) {
        return cs_objective_of_file(text, file, objective);
    }
    return cs_objective_set(objective, p->name, text);
}

/* A note where constant shares of a mixture on the command line do not sum to 1. */
static void note_shares(const cs_args *args, const cs_objective *objective)
{
    const cs_plan_file *file = objective->kind == CS_OBJ_MIX ? objective->file : NULL;
    const double sum = file && !file->path ? cs_plan_file_sum(file, -1) : 1;
    CS_AUTO_FREE char *text = fabs(sum - 1) > 1e-9 ? cs_objective_describe(objective) : NULL;
    if (text)
        cs_output_note(args, "the shares sum to %.15g and are divided by this sum: %s", sum, text);
}

/* Checks an objective. Where it lacks a parameter it takes those of training, and this is noted. */
static cs_status check_filled(const cs_args *args, unsigned set, bool noted,
                              cs_objective *objective)
{
    cs_objective filled = *objective;
    cs_status status = cs_objective_check(objective);
    if (status != CS_ERR_USAGE || cs_objective_complete(&filled, set) != CS_OK ||
        cs_objective_check(&filled) != CS_OK) {
        cs_reason_clear();
        return cs_objective_check(objective);
    }
    cs_reason_clear();
    CS_AUTO_FREE char *text = cs_objective_describe(&filled);
    if (noted && text)
        cs_output_note(args, "%s: parameters that were not given are the defaults of train", text);
    *objective = filled;
    return CS_OK;
}

static cs_status resolve(const cs_args *args, const cs_sweep *sweep, int64_t point,
                         const char *spec, bool trained, cs_plan_file *file, cs_objective *out)
{
    unsigned set = 0;
    cs_objective objective;
    cs_status status = cs_require_kind(args, CS_ERR_USAGE, spec, CS_IS_OBJECTIVE);
    if (status == CS_OK) status = cs_objective_read(spec, &set, file, &objective);
    for (int i = 0; i < CS_PARAMETERS_ALL && status == CS_OK; ++i) {
        status = set_parameter(args, sweep, point, i, &set, file, &objective);
    }
    if (status == CS_OK && trained) status = cs_objective_complete(&objective, set);
    if (status == CS_OK && objective.kind == CS_OBJ_FILE && !objective.file)
        status = cs_fail(CS_ERR_USAGE, "objective file needs --plan-file FILE");
    if (status == CS_OK) status = check_filled(args, set, point == 0, &objective);
    if (status == CS_OK) *out = objective;
    if (status == CS_OK && point == 0) note_shares(args, out);
    return status;
}

cs_status cs_args_objective(const cs_args *args, const cs_sweep *sweep, int64_t point,
                            const char *fallback_objective, cs_plan_file *file, cs_objective *out)
{
    const char *spec = cs_args_text(args, "objective");
    spec = spec ? spec : fallback_objective;
    if (!spec) {
        return cs_fail(CS_ERR_USAGE, "%s needs --objective NAME", cs_args_command(args)->name);
    }
    return resolve(args, sweep, point, spec, false, file, out);
}

cs_status cs_args_objective_text(const cs_args *args, const char *spec, cs_plan_file *file,
                                 cs_objective *out)
{
    unsigned set = 0;
    cs_objective objective = {0};
    cs_status status = cs_objective_read(spec, &set, file, &objective);
    if (status == CS_OK) status = check_filled(args, set, true, &objective);
    if (status == CS_OK) *out = objective;
    if (status == CS_OK) note_shares(args, out);
    return cs_blame(status, "objective %s", spec);
}

cs_status cs_args_trained_objective(const cs_args *args, const char *spec, cs_plan_file *file,
                                    cs_objective *out)
{
    return resolve(args, NULL, 0, spec, true, file, out);
}

cs_status cs_args_plan_inputs(cs_args *args, const cs_plan_file *file)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < file->inputs && status == CS_OK; ++i) {
        status = cs_output_input(args, file->input[i]);
    }
    return status;
}

bool cs_args_target_given(const cs_args *args)
{
    return cs_args_is(args, "target-position", "given");
}

cs_status cs_stored_sidecar(const char *path, json_t **out)
{
    if (!cs_path_is_dir(path)) return CS_OK;
    CS_AUTO_FREE char *file = cs_path_join(path, "matrix.json");
    cs_status status = file ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_path_exists(file) ? cs_cooc_sidecar(path, out) : cs_digest_check_file(file);
    return status;
}

cs_status cs_item_stored(cs_item *in, const char *path)
{
    static const char *const terms[] = {"objective", "context", "target_position"};
    json_auto_t *sidecar = NULL;
    cs_status status = cs_stored_sidecar(path, &sidecar);
    for (size_t i = 0; i < sizeof terms / sizeof *terms && sidecar; ++i) {
        cs_item_text(in, terms[i], json_string_value(json_object_get(sidecar, terms[i])));
    }
    return status;
}

const char *cs_args_matrix_file(cs_args *args, const char *given)
{
    return cs_path_is_dir(given) ? cs_args_join(args, given, cs_matrix_name(given)) : given;
}

static cs_status sidecar_input(cs_args *args, const char *given)
{
    if (!cs_path_is_dir(given)) return CS_OK;
    const char *sidecar = cs_args_join(args, given, "matrix.json");
    return !sidecar                  ? CS_ERR_MEMORY
           : cs_path_exists(sidecar) ? cs_output_input(args, sidecar)
                                     : cs_digest_check_file(sidecar);
}

cs_status cs_args_matrix_input(cs_args *args, const char *given)
{
    const char *path = cs_args_matrix_file(args, given);
    cs_status status = path ? cs_output_input(args, path) : CS_ERR_MEMORY;
    return status == CS_OK ? sidecar_input(args, given) : status;
}

cs_status cs_args_matrix(cs_args *args, const char *given, const char **path,
                         cs_nonempty_rows *rows, cs_csr *out)
{
    cs_status status = cs_require_kind(args, CS_ERR_INPUT, given, CS_IS_MATRIX);
    *path = cs_args_matrix_file(args, given);
    if (status == CS_OK)
        status = *path ? cs_output_input_begin(args, *path, cs_args_threads(args)) : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_output_input_end(args, cs_args_read_matrix(args, *path, rows, out));
    return status == CS_OK ? sidecar_input(args, given) : status;
}

cs_status cs_args_store(cs_args *args, const char *dir, cs_cooc_store *out)
{
    cs_status status =
        cs_args_item(args, dir)
            ? cs_fail(CS_ERR_INPUT,
                      "%s: a matrix in memory, but a folder written by cospec cooc was expected, "
                      "which has the documents too",
                      dir)
            : cs_require_kind(args, CS_ERR_INPUT, dir, CS_IS_STORE);
    if (status == CS_OK) status = cs_output_input(args, dir);
    return status == CS_OK ? cs_cooc_read(dir, out) : status;
}

static const char *compared_at(const cs_args *args, const char *const *usual, int i)
{
    return !cs_args_given(args, "compare")      ? usual[i]
           : i < cs_args_count(args, "compare") ? cs_args_text_at(args, "compare", i)
                                                : NULL;
}

cs_status cs_args_compared(const cs_args *args, const char *const *usual, cs_words *out)
{
    const char *spec;
    cs_status status = CS_OK;
    for (int i = 0; status == CS_OK && (spec = compared_at(args, usual, i)); ++i) {
        CS_AUTO(cs_plan_file) parts = {0};
        cs_objective objective;
        status = cs_args_objective_text(args, spec, &parts, &objective);
        if (status == CS_OK) status = cs_words_take(out, cs_objective_describe(&objective));
        for (int j = 0; j < i && status == CS_OK; ++j) {
            if (strcmp(out->text[j], out->text[i]) == 0)
                status = cs_fail(CS_ERR_USAGE,
                                 "--compare %s and --compare %s are the same objective, %s",
                                 compared_at(args, usual, j), spec, out->text[i]);
        }
    }
    return status;
}

/* --- toy model --- */

static cs_status toy_number(const cs_args *args, const cs_sweep *sweep, int64_t point,
                            const char *name, const char *argument, int64_t *out)
{
    char text[CS_SWEEP_TEXT], what[32];
    cs_sweep_value(sweep, point, name, text);
    (void)snprintf(what, sizeof what, "--%s", name);
    if (!text[0]) {
        return cs_fail(CS_ERR_USAGE, "%s needs %s %s", cs_args_command(args)->name, what, argument);
    }
    return cs_parse_int(text, what, 1, INT64_MAX, out);
}

cs_status cs_args_toy(const cs_args *args, const cs_sweep *sweep, int64_t point,
                      const char *fallback_objective, cs_plan_file *file, cs_toy *out)
{
    cs_toy toy = {.given = cs_args_target_given(args),
                  .literal = cs_args_is(args, "token-sets", "literal")};
    toy.position_known = cs_args_real_or(args, "position-known", toy.position_known);
    cs_status status =
        cs_args_objective(args, sweep, point, fallback_objective, file, &toy.objective);
    if (status == CS_OK) status = toy_number(args, sweep, point, "classes", "R", &toy.classes);
    if (status == CS_OK) status = toy_number(args, sweep, point, "length", "S", &toy.length);
    if (status == CS_OK) status = toy_number(args, sweep, point, "tokens", "T", &toy.tokens);
    if (status == CS_OK) status = cs_toy_check(&toy);
    if (status == CS_OK) {
        if (sweep->points == 1) cs_args_note_share_of_length(args, &toy.objective, toy.length);
        *out = toy;
    }
    return status;
}

/* --- common --- */

int cs_args_threads(const cs_args *args)
{
    return cs_args_given(args, "threads") ? (int)cs_args_int(args, "threads") : 0;
}

uint64_t cs_args_seed(const cs_args *args)
{
    int64_t seed = cs_args_int(args, "seed");
    return seed == INT64_MIN ? 0 : (uint64_t)seed;
}

/* --- build and spectrum --- */

cs_status cs_args_build(const cs_args *args, cs_cooc_options *out)
{
    cs_cooc_options options = {.weight_by_document = cs_args_is(args, "weight", "document"),
                               .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &options, max_length, stride, split, tail, seed, scratch, threads);
    if (cs_args_given(args, "memory")) {
        options.memory_budget = cs_args_int(args, "memory");
        if (options.memory_budget < 1 << 20) {
            return cs_fail(CS_ERR_USAGE, "--memory %s is below 1M", cs_args_text(args, "memory"));
        }
    }
    if (options.stride > 0 && options.max_length == 0) {
        return cs_fail(CS_ERR_USAGE, "--stride %lld needs --max-length L",
                       (long long)options.stride);
    }
    cs_status status = cs_context_parse(cs_args_text(args, "context"), &options.context);
    if (status == CS_OK) *out = options;
    return status;
}

cs_status cs_args_cooc(const cs_args *args, cs_plan_file *file, cs_cooc_options *out)
{
    cs_cooc_options options = {0};
    cs_status status = cs_args_build(args, &options);
    if (status == CS_OK) {
        options.context.given |= cs_args_target_given(args); /* nearest is given already */
        status = cs_args_objective(args, NULL, 0, NULL, file, &options.objective);
    }
    if (status == CS_OK) *out = options;
    return status;
}

cs_status cs_args_need_counts(const cs_args *args, const char *what)
{
    return cs_args_flag(args, "normalised")
               ? cs_fail(CS_ERR_USAGE,
                         "--normalised: %s need the counts or probabilities, which a normalised "
                         "matrix does not have",
                         what)
               : CS_OK;
}

static cs_status take_certificate(void *to, const char *name)
{
    static const struct {
        const char *name;
        unsigned certificate;
    } known[] = {
        {"none", CS_CERTIFY_NONE},       {"components", CS_CERTIFY_COMPONENTS},
        {"moments", CS_CERTIFY_MOMENTS}, {"probe", CS_CERTIFY_PROBE},
        {"inertia", CS_CERTIFY_INERTIA},
    };
    int number = 0;
    cs_status status = cs_blame(CS_ROW_NAMED("certificate", name, known, &number), "--certify");
    if (status == CS_OK) *(unsigned *)to |= known[number].certificate;
    return status;
}

cs_status cs_args_certify(const cs_args *args, unsigned fallback, unsigned *out)
{
    const char *text = cs_args_text(args, "certify");
    unsigned asked = 0;
    cs_status status = text ? cs_parse_each(text, take_certificate, &asked) : CS_OK;
    if (status == CS_OK && (asked & CS_CERTIFY_NONE) && asked != CS_CERTIFY_NONE)
        status = cs_fail(CS_ERR_USAGE, "--certify: none cannot be combined, as in '%s'", text);
    if (status == CS_OK) *out = text ? asked : fallback;
    return status;
}

double cs_args_moment_budget(const cs_args *args)
{
    double budget = cs_args_real(args, "moment-budget");
    return budget > 0 ? budget : DBL_MIN; /* 0 would ask for the default */
}

cs_status cs_args_note_moment4(const cs_args *args, const cs_csr *a, bool sparing, double *cost)
{
    cs_moment4_cost before = {0};
    cs_status status = cs_moment4_cost_of(a, &before);
    *cost = before.multiply_adds;
    if (status == CS_OK) {
        bool within = *cost <= cs_args_moment_budget(args);
        cs_output_note(args,
                       "sum sigma^4 costs %.2g multiply-adds before lumping, %s the budget of "
                       "%.2g: %s",
                       *cost, within ? "within" : "above", cs_args_real(args, "moment-budget"),
                       !within ? "exact if lumping reduces it to the budget, otherwise an estimate"
                       : sparing && *cost > CS_MOMENT4_CHEAP
                           ? "an estimate first, exact where that can prove a certificate"
                           : "exact");
    }
    return status;
}

cs_status cs_args_form(const cs_args *args, const char *text, cs_matrix_form **out)
{
    CS_AUTO(cs_matrix_form) *form = NULL;
    cs_status status = text ? cs_matrix_form_parse(text, &form) : CS_OK;
    if (status == CS_OK && text) status = cs_args_need_counts(args, "forms");
    if (status == CS_OK) {
        *out = form;
        form = NULL;
    }
    return status;
}

cs_status cs_form_of_stored(const char *path, cs_matrix_form *form)
{
    json_auto_t *sidecar = NULL;
    cs_status status = form ? cs_stored_sidecar(path, &sidecar) : CS_OK;
    const json_t *unit = json_object_get(sidecar, "unit");
    if (json_is_number(unit) && json_is_true(json_object_get(sidecar, "exact")))
        cs_matrix_form_set_unit(form, json_number_value(unit));
    return status;
}

cs_status cs_args_spectrum(const cs_args *args, cs_spectrum_options *out)
{
    const char *solver = cs_args_text(args, "solver");
    cs_spectrum_options options = {.progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, &options, normalised, no_reduction, tol, max_iterations, seed, threads);
    bool cuda = cs_device_is_cuda(cs_args_text(args, "device"));
    cs_status status = cs_solver_by_name(solver, &options.solver);
    if (status == CS_OK && options.solver == CS_SOLVER_CUSOLVER && !cuda)
        return cs_fail(CS_ERR_USAGE, "--solver cusolver needs --device cuda");
    if (status == CS_OK && cs_args_given(args, "max-iterations") &&
        (options.solver == CS_SOLVER_LAPACK || options.solver == CS_SOLVER_CUSOLVER)) {
        return cs_fail(CS_ERR_USAGE,
                       "--max-iterations does not apply to --solver %s, only to arpack, block",
                       solver);
    }
    if (status == CS_OK && cuda &&
        (options.solver == CS_SOLVER_LAPACK || options.solver == CS_SOLVER_ARPACK)) {
        return cs_fail(CS_ERR_USAGE, "--solver %s runs on the CPU only, but --device is %s", solver,
                       cs_args_text(args, "device"));
    }
    if (status == CS_OK) *out = options;
    return status;
}
