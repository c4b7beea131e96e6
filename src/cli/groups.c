/* Option groups and the library structs they stand for. The library checks the values again in its
 * own terms; what is checked here is what only the command line knows: options that an objective or
 * a command would ignore. */
#include "cli/groups.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/plugin.h"
#include "cli/output.h"
#include "cooc/moments.h"
#include "io/file.h"
#include "io/json.h"
#include "plan/spec.h"
#include "text/sequences.h"

#define OBJECTIVES                                                                                 \
    "ar|masked|variable-masked|bernoulli-masked|diverse-ar|offset-ar|group-ar|permuted-ar|gvp|"    \
    "file"
#define GROUP_END                                                                                  \
    {                                                                                              \
        NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false                                        \
    }

const cs_opt cs_group_plan[] = {
    {"objective", 0, CS_OPT_CHOICE, OBJECTIVES, NULL, 0, 0, "The pretraining objective.", false},
    {"event-weight", 0, CS_OPT_CHOICE, "token|mask", "token", 0, 0,
     "Whether every predicted token counts once, or every mask (its tokens share it).", false},
    {"empty-prefix", 0, CS_OPT_CHOICE, "none|shared|class", "none", 0, 0,
     "Whether a token may be predicted from nothing: never, from one empty text, or from one empty "
     "text a class (toy model).",
     false},
    {"target-position", 0, CS_OPT_CHOICE, "blind|given", "blind", 0, 0,
     "Whether the position of the predicted token is part of the conditional text.", false},
    {"offset-weights", 0, CS_OPT_TEXT, "uniform:T|power:A|mix:L", NULL, 0, 0,
     "offset-ar: weight of the token at distance d: equal up to T, d^-A, or L on the next token "
     "and "
     "(1-L) spread evenly.",
     false},
    {"segmentation", 0, CS_OPT_CHOICE, "fixed|random|mixed", NULL, 0, 0,
     "gvp: how the K groups are cut.", false},
    {"plan-file", 0, CS_OPT_TEXT, "FILE", NULL, 0, 0,
     "file: JSON with group plans and their probabilities (docs/formats.md, Plan files).", false},
    GROUP_END,
};

const cs_opt cs_group_plan_numbers[] = {
    {"unmasked", 0, CS_OPT_TEXT, "M|LO:HI", NULL, 0, 0,
     "masked, variable-masked: number of unmasked tokens (LO:HI inclusive).", false},
    {"mask-ratio", 0, CS_OPT_TEXT, "RHO|LO:HI", NULL, 0, 0,
     "The same as --unmasked s - round(RHO s) at length s, halves rounded away from zero, clamped "
     "into 1..s-1; bernoulli-masked: the probability.",
     false},
    {"t", 0, CS_OPT_TEXT, "N", NULL, 0, 0,
     "diverse-ar: tokens ahead; group-ar: tokens predicted at once.", false},
    {"groups", 0, CS_OPT_TEXT, "K", NULL, 0, 0, "gvp: number of predicted groups.", false},
    GROUP_END,
};

const cs_opt cs_group_plan_sweeps[] = {
    {"unmasked", 0, CS_OPT_TEXT, "M|LO:HI|A:B:STEP", NULL, 0, 0,
     "masked, variable-masked: number of unmasked tokens (LO:HI inclusive; A:B:STEP sweeps M).",
     false},
    {"mask-ratio", 0, CS_OPT_TEXT, "RHO|LO:HI|A:B:STEP", NULL, 0, 0,
     "The same as --unmasked s - round(RHO s) at length s, halves rounded away from zero, clamped "
     "into 1..s-1; bernoulli-masked: the probability. A:B:STEP sweeps RHO.",
     false},
    {"t", 0, CS_OPT_TEXT, "N|A:B:STEP", NULL, 0, 0,
     "diverse-ar: tokens ahead; group-ar: tokens predicted at once.", false},
    {"groups", 0, CS_OPT_TEXT, "K|A:B:STEP", NULL, 0, 0, "gvp: number of predicted groups.", false},
    GROUP_END,
};

const cs_opt cs_group_toy[] = {
    {"classes", 0, CS_OPT_TEXT, "R|A:B:STEP", NULL, 0, 0, "Toy model: number of classes.", false},
    {"length", 0, CS_OPT_TEXT, "S|A:B:STEP", NULL, 0, 0, "Toy model: positions of a sequence.",
     false},
    {"tokens", 0, CS_OPT_TEXT, "T|A:B:STEP", NULL, 0, 0,
     "Toy model: tokens for each class and position.", false},
    {"token-sets", 0, CS_OPT_CHOICE, "disjoint|literal", "disjoint", 0, 0,
     "Toy model: token sets apart, as the theorem needs, or as printed, where classes collide.",
     false},
    GROUP_END,
};

const cs_opt cs_group_cooc[] = {
    {"context", 0, CS_OPT_TEXT, "all|nearest:N|each:W|document", "all", 0, 0,
     "What of the conditioning set makes a row: all of it, the N positions nearest to the target, "
     "each position within W as a row of its own, or the document.",
     false},
    {"max-length", 0, CS_OPT_INT, "L", "0", 0, 1e9,
     "Cut documents into pieces of at most L tokens; 0: whole documents.", false},
    {"stride", 0, CS_OPT_INT, "N", "0", 0, 1e9,
     "Slide windows of L tokens by N instead of cutting. Only full windows count (a shorter "
     "document is one sequence): up to N-1 tokens at a document's end stand in none, and how many "
     "is told.",
     false},
    {"weight", 0, CS_OPT_CHOICE, "token|document", "token", 0, 0,
     "Sequences count by their number of predicted tokens, or equally.", false},
    {"split", 0, CS_OPT_CHOICE, "all|train|test", "all", 0, 0, "Which documents to use.", false},
    {"tail", 0, CS_OPT_REAL, "P", NULL, 1e-15, 0.5,
     "Drop the far patterns of nearest:N that hold less than this share of an event, counted as "
     "dropped mass; default 2^-50.",
     false},
    {"memory", 0, CS_OPT_SIZE, "BYTES", NULL, 0, 0,
     "Budget of the builder (K, M, G allowed) for contributions, and as much again for the matrix; "
     "beyond it sorted runs, and the matrix until it is written, go to --scratch. Default: a "
     "quarter of free memory, and half of it.",
     false},
    {"scratch", 0, CS_OPT_TEXT, "DIR", NULL, 0, 0,
     "Where runs and matrices beyond --memory are kept; default: $TMPDIR or /tmp.", false},
    GROUP_END,
};

const cs_opt cs_group_solver[] = {
    {"normalised", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "The matrix is normalised already: nothing is divided.", false},
    {"solver", 0, CS_OPT_CHOICE, "auto|lapack|arpack|block|cusolver", "auto", 0, 0,
     "Solver of large components (small ones are dense whatever is named). cusolver is dense and "
     "needs --device cuda, where block runs too.",
     false},
    {"tol", 0, CS_OPT_REAL, "EPS", "1e-12", 1e-16, 1e-1, "Residual wanted, relative to sigma_1.",
     false},
    {"max-iterations", 0, CS_OPT_INT, "N", NULL, 1, 1e9,
     "Iterations allowed to the solver; default: its own.", false},
    {"no-reduction", 0, CS_OPT_FLAG, NULL, NULL, 0, 0,
     "Neither components nor lumping: one solver call on the whole matrix (a cross-check).", false},
    GROUP_END,
};

const cs_opt cs_group_moments[] = {
    {"moment-budget", 0, CS_OPT_REAL, "N", "2e10", 0, 1e300,
     "Sum sigma^4 is exact where it costs at most N multiply-adds (2e10: about a minute on one "
     "core), else an estimate with its error.",
     false},
    GROUP_END,
};

const cs_opt cs_group_certify[] = {
    {"certify", 0, CS_OPT_TEXT, "LIST", NULL, 0, 0,
     "Certificates to run, separated by commas: components, moments, probe, inertia; none: only "
     "the residuals. Default: components,moments; in svd components,moments,probe. Exit code 4 "
     "when one of them fails.",
     false},
    GROUP_END,
};

/* --- objective --- */

typedef bool (*wants_fn)(const cs_objective_info *info, cs_objective_kind kind);

static bool wants_unmasked(const cs_objective_info *info, cs_objective_kind kind)
{
    return info->wants_unmasked && kind != CS_OBJ_BERNOULLI_MASKED;
}

static bool wants_ratio(const cs_objective_info *info, cs_objective_kind kind)
{
    (void)kind;
    return info->wants_unmasked;
}

static bool wants_t(const cs_objective_info *info, cs_objective_kind kind)
{
    (void)kind;
    return info->wants_t;
}

static bool wants_offset(const cs_objective_info *info, cs_objective_kind kind)
{
    (void)kind;
    return info->wants_offset;
}

static bool wants_segmentation(const cs_objective_info *info, cs_objective_kind kind)
{
    (void)kind;
    return info->wants_segmentation;
}

static bool wants_file(const cs_objective_info *info, cs_objective_kind kind)
{
    (void)info;
    return kind == CS_OBJ_FILE;
}

/* diverse-ar and offset-ar predict one token a prefix, so that both event weights are one. */
static bool wants_event_weight(const cs_objective_info *info, cs_objective_kind kind)
{
    (void)info;
    return kind != CS_OBJ_DIVERSE_AR && kind != CS_OBJ_OFFSET_AR;
}

static const struct {
    const char *option;
    wants_fn wants;
} parameter[] = {
    {"unmasked", wants_unmasked},
    {"mask-ratio", wants_ratio},
    {"t", wants_t},
    {"groups", wants_segmentation},
    {"offset-weights", wants_offset},
    {"segmentation", wants_segmentation},
    {"event-weight", wants_event_weight},
    {"empty-prefix", NULL},
    {"plan-file", wants_file},
};
enum { PARAMETERS = sizeof parameter / sizeof parameter[0] };

static cs_status refuse_parameter(const char *option, wants_fn wants, const char *name)
{
    char takers[256] = "";
    size_t used = 0;
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const cs_objective_info *info = cs_objective_table((cs_objective_kind)kind);
        if (wants(info, (cs_objective_kind)kind)) {
            int n = snprintf(takers + used, sizeof takers - used, "%s%s", used > 0 ? ", " : "",
                             info->name);
            used += n > 0 && (size_t)n < sizeof takers - used ? (size_t)n : 0;
        }
    }
    return cs_fail(CS_ERR_USAGE, "--%s: %s does not take it (it is for %s)", option, name, takers);
}

/* What stands for an option that is not given: the value after its name in a NULL-terminated list
 * of names and values. NULL: nothing. */
static const char *default_of(const char *const *defaults, const char *option)
{
    for (int i = 0; defaults && defaults[i]; i += 2) {
        if (strcmp(defaults[i], option) == 0) {
            return defaults[i + 1];
        }
    }
    return NULL;
}

static cs_status set_parameter(const cs_args *args, const cs_sweep *sweep, int64_t point, int index,
                               const char *const *defaults, cs_objective *objective)
{
    const char *option = parameter[index].option;
    const cs_objective_info *info = cs_objective_table(objective->kind);
    wants_fn wants = parameter[index].wants;
    char at_point[CS_SWEEP_TEXT] = "";
    const char *text = cs_args_text(args, option);
    text = text ? text : default_of(defaults, option);
    if (sweep) {
        cs_sweep_value(sweep, point, option, at_point);
        text = at_point[0] ? at_point : text;
    }
    if (!text || strcmp(option, "plan-file") == 0) {
        return text && !wants(info, objective->kind) ? refuse_parameter(option, wants, info->name)
                                                     : CS_OK;
    }
    if (wants && !wants(info, objective->kind)) {
        bool is_default = strcmp(option, "event-weight") == 0 && strcmp(text, "token") == 0;
        return is_default ? CS_OK : refuse_parameter(option, wants, info->name);
    }
    return cs_objective_set(objective, option, text);
}

static cs_status resolve_objective(const cs_args *args, const cs_sweep *sweep, int64_t point,
                                   const char *name, const char *const *defaults,
                                   cs_plan_file *file, cs_objective *out)
{
    cs_objective_kind kind = CS_OBJ_AR;
    cs_status status = cs_objective_by_name(name, &kind);
    cs_objective objective = cs_objective_default(kind);
    for (int i = 0; i < PARAMETERS && status == CS_OK; ++i) {
        status = set_parameter(args, sweep, point, i, defaults, &objective);
    }
    if (status == CS_OK && kind == CS_OBJ_FILE) {
        const char *path = cs_args_text(args, "plan-file");
        if (!path) {
            return cs_fail(CS_ERR_USAGE, "objective file needs --plan-file FILE");
        }
        if (!file->path) {
            status = cs_plan_file_read(path, file);
        }
        objective.file = file;
    }
    if (status == CS_OK) {
        status = cs_objective_check(&objective);
    }
    if (status == CS_OK) {
        *out = objective;
    }
    return status;
}

cs_status cs_args_objective(const cs_args *args, const cs_sweep *sweep, int64_t point,
                            const char *fallback_objective, cs_plan_file *file, cs_objective *out)
{
    const char *name = cs_args_text(args, "objective");
    name = name ? name : fallback_objective;
    if (!name) {
        return cs_fail(CS_ERR_USAGE, "%s needs --objective NAME", cs_args_command(args)->name);
    }
    return resolve_objective(args, sweep, point, name, NULL, file, out);
}

cs_status cs_args_objective_named(const cs_args *args, const char *name,
                                  const char *const *defaults, cs_plan_file *file,
                                  cs_objective *out)
{
    return resolve_objective(args, NULL, 0, name, defaults, file, out);
}

bool cs_args_target_given(const cs_args *args)
{
    return strcmp(cs_args_text(args, "target-position"), "given") == 0;
}

cs_status cs_stored_position(const char *path, const char **out)
{
    json_t *sidecar = NULL;
    char *file = cs_path_join(path, "matrix.json");
    cs_status status = file ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(file)) {
        status = cs_json_read(file, &sidecar);
    }
    const json_t *given = json_object_get(json_object_get(sidecar, "context"), "given");
    *out = !json_is_boolean(given) ? NULL : json_is_true(given) ? "given" : "blind";
    json_decref(sidecar);
    cs_free(file);
    return status;
}

/* One line on stderr: what the mask ratio comes to at length s. */
static void note_clamped(const cs_args *args, const cs_objective *objective, int64_t s,
                         const char *where)
{
    char *name = cs_objective_describe(objective), range[48] = "";
    int64_t lo = 0, hi = 0;
    if (name && cs_objective_unmasked(objective, s, &lo, &hi) == CS_OK) {
        int n = snprintf(range, sizeof range, "%lld", (long long)lo);
        if (hi > lo) {
            (void)snprintf(range + n, sizeof range - (size_t)n, ":%lld", (long long)hi);
        }
        cs_output_note(args,
                       "%s: at length %lld s - round(RHO s) leaves 1..s-1; clamped to %s "
                       "unmasked%s",
                       name, (long long)s, range, where);
    }
    cs_free(name);
}

cs_status cs_args_note_clamped(const cs_args *args, const cs_corpus *corpus,
                               const cs_cooc_options *options)
{
    cs_sequences sequences = {0};
    int64_t clamped = 0, longest = 0;
    cs_status status =
        cs_sequences_of(corpus, options->max_length, options->stride, 2, &sequences, NULL);
    for (int64_t i = 0; i < sequences.count; ++i) {
        bool test = corpus->held_out[sequences.document[i]] != 0;
        bool used = options->split == CS_SPLIT_ALL || test == (options->split == CS_SPLIT_TEST);
        if (used && cs_objective_clamps(&options->objective, sequences.length[i])) {
            longest = sequences.length[i] > longest ? sequences.length[i] : longest;
            ++clamped;
        }
    }
    if (clamped > 0) {
        char where[64];
        (void)snprintf(where, sizeof where, "; %lld sequences of at most that length",
                       (long long)clamped);
        note_clamped(args, &options->objective, longest, where);
    }
    cs_sequences_free(&sequences);
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
                  .literal = strcmp(cs_args_text(args, "token-sets"), "literal") == 0};
    cs_status status =
        cs_args_objective(args, sweep, point, fallback_objective, file, &toy.objective);
    if (status == CS_OK) {
        status = toy_number(args, sweep, point, "classes", "R", &toy.classes);
    }
    if (status == CS_OK) {
        status = toy_number(args, sweep, point, "length", "S", &toy.length);
    }
    if (status == CS_OK) {
        status = toy_number(args, sweep, point, "tokens", "T", &toy.tokens);
    }
    if (status == CS_OK) {
        status = cs_toy_check(&toy);
    }
    if (status == CS_OK) {
        if (cs_objective_clamps(&toy.objective, toy.length)) {
            note_clamped(args, &toy.objective, toy.length, "");
        }
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
    const char *split = cs_args_text(args, "split");
    cs_cooc_options options = {
        .max_length = cs_args_int(args, "max-length"),
        .stride = cs_args_int(args, "stride"),
        .weight_by_document = strcmp(cs_args_text(args, "weight"), "document") == 0,
        .split = strcmp(split, "train") == 0  ? CS_SPLIT_TRAIN
                 : strcmp(split, "test") == 0 ? CS_SPLIT_TEST
                                              : CS_SPLIT_ALL,
        .seed = cs_args_seed(args),
        .scratch = cs_args_text(args, "scratch"),
        .threads = cs_args_threads(args),
        .progress = cs_output_progress(args),
    };
    if (cs_args_given(args, "memory")) {
        options.memory_budget = cs_args_int(args, "memory");
        if (options.memory_budget < 1 << 20) {
            return cs_fail(CS_ERR_USAGE, "--memory %s is below 1M", cs_args_text(args, "memory"));
        }
    }
    if (cs_args_given(args, "tail")) {
        options.tail = cs_args_real(args, "tail");
    }
    if (options.stride > 0 && options.max_length == 0) {
        return cs_fail(CS_ERR_USAGE, "--stride %lld needs --max-length L",
                       (long long)options.stride);
    }
    cs_status status = cs_context_parse(cs_args_text(args, "context"), &options.context);
    if (status == CS_OK) {
        *out = options;
    }
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
    if (status == CS_OK) {
        *out = options;
    }
    return status;
}

/* The certificate of a name `length` long; 0: none has it. */
static unsigned certificate_of(const char *name, size_t length)
{
    static const struct {
        const char *name;
        unsigned certificate;
    } known[] = {
        {"none", CS_CERTIFY_NONE},       {"components", CS_CERTIFY_COMPONENTS},
        {"moments", CS_CERTIFY_MOMENTS}, {"probe", CS_CERTIFY_PROBE},
        {"inertia", CS_CERTIFY_INERTIA},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0) {
            return known[i].certificate;
        }
    }
    return 0;
}

cs_status cs_args_certify(const cs_args *args, unsigned fallback, unsigned *out)
{
    const char *text = cs_args_text(args, "certify");
    unsigned asked = 0;
    for (const char *at = text; at;) {
        size_t length = strcspn(at, ",");
        unsigned one = certificate_of(at, length);
        if (!one) {
            return cs_fail(CS_ERR_USAGE,
                           "--certify: '%.*s' is none of none, components, moments, probe, inertia",
                           (int)length, at);
        }
        asked |= one;
        at = at[length] ? at + length + 1 : NULL;
    }
    if ((asked & CS_CERTIFY_NONE) && asked != CS_CERTIFY_NONE) {
        return cs_fail(CS_ERR_USAGE, "--certify: none stands alone, not in '%s'", text);
    }
    *out = text ? asked : fallback;
    return CS_OK;
}

double cs_args_moment_budget(const cs_args *args)
{
    double budget = cs_args_real(args, "moment-budget");
    return budget > 0 ? budget : DBL_MIN; /* 0 would ask for the default */
}

cs_status cs_args_note_moment4(const cs_args *args, const cs_csr *a, double *cost)
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
                       within ? "exact" : "exact if lumping brings it within, else an estimate");
    }
    return status;
}

cs_status cs_args_spectrum(const cs_args *args, cs_spectrum_options *out)
{
    const char *solver = cs_args_text(args, "solver");
    cs_spectrum_options options = {
        .normalised = cs_args_flag(args, "normalised"),
        .no_reduction = cs_args_flag(args, "no-reduction"),
        .tol = cs_args_real(args, "tol"),
        .max_iterations =
            cs_args_given(args, "max-iterations") ? cs_args_int(args, "max-iterations") : 0,
        .seed = cs_args_seed(args),
        .threads = cs_args_threads(args),
        .progress = cs_output_progress(args),
    };
    bool cuda = cs_device_is_cuda(cs_args_text(args, "device"));
    cs_status status = cs_solver_by_name(solver, &options.solver);
    if (status == CS_OK && options.solver == CS_SOLVER_CUSOLVER && !cuda) {
        return cs_fail(CS_ERR_USAGE, "--solver cusolver needs --device cuda");
    }
    if (status == CS_OK && cs_args_given(args, "max-iterations") &&
        (options.solver == CS_SOLVER_LAPACK || options.solver == CS_SOLVER_CUSOLVER)) {
        return cs_fail(CS_ERR_USAGE,
                       "--max-iterations: --solver %s does not iterate (it is for arpack, block)",
                       solver);
    }
    if (status == CS_OK && cuda &&
        (options.solver == CS_SOLVER_LAPACK || options.solver == CS_SOLVER_ARPACK)) {
        return cs_fail(CS_ERR_USAGE, "--solver %s computes on the CPU, --device is %s", solver,
                       cs_args_text(args, "device"));
    }
    if (status == CS_OK) {
        *out = options;
    }
    return status;
}
