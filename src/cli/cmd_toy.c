/* cospec toy: exact spectra of the toy model, at one point or over a sweep. */
#include <string.h>

#include "base/auto.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/html_option.h"
#include "cli/output.h"
#include "io/json.h"

static const cs_opt toy_options[] = {
    CS_HEADING("Toy model"),
    CS_CHOICE("method", "enumerate|reduce|closed", NULL,
              "The whole matrix, the reduction to positions, or a closed form. Default: reduce for "
              "disjoint token sets, enumerate for literal ones."),
    CS_TEXT("html", "FILE", NULL,
            "Write a page for a browser that shows the model: sliders for length, classes and mask "
            "ratio; matrix, graph and spectrum from closed forms. The other options are then "
            "optional, and set its start."),
    {0},
};
static const cs_opt *const toy_groups[] = {
    cs_group_objective, cs_group_plan, cs_group_target, cs_group_plan_sweeps, cs_group_toy,
    toy_options,        NULL};

static const char *method_of(const cs_args *args, const cs_toy *toy)
{
    const char *method = cs_args_text(args, "method");
    return method ? method : toy->literal ? "enumerate" : "reduce";
}

static cs_status spectrum_of(const char *method, const cs_toy *toy, cs_toy_spectrum *out)
{
    if (strcmp(method, "enumerate") == 0) {
        return cs_toy_enumerate(toy, 0, out);
    }
    return strcmp(method, "reduce") == 0 ? cs_toy_reduce(toy, out) : cs_toy_closed(toy, out);
}

/* Where the results go: one point is the root; the points of a sweep are listed. */
typedef struct {
    cs_args *args;
    cs_item *root, *points, *rows, *left_out; /* points, left_out: NULL for one point */
    int64_t found;
    char *reason; /* why the first point left out does not exist */
} study;

/* One point: its object (with spectrum, or sizes alone under --dry-run) and its rows. */
static cs_status do_point(study *s, const cs_toy *toy)
{
    const bool dry = cs_args_flag(s->args, "dry-run");
    CS_AUTO_FREE char *objective = cs_objective_describe(&toy->objective);
    cs_toy_point p = {.toy = toy, .objective = objective, .method = method_of(s->args, toy)};
    cs_status status = objective ? cs_toy_size(toy, &p.rows, &p.cols, &p.nnz) : CS_ERR_MEMORY;
    if (status == CS_OK && !dry) status = spectrum_of(p.method, toy, &p.spectrum);
    if (status == CS_OK) {
        cs_toy_record(&p, s->points ? cs_item_object(s->points, NULL) : s->root, s->rows);
        s->found += 1;
    }
    cs_toy_spectrum_free(&p.spectrum);
    return status;
}

/* A point of a sweep that does not exist (more unmasked tokens than positions) is reported and
 * left out. */
static cs_status skip_point(study *s, const cs_sweep *sweep, int64_t number)
{
    char place[CS_SWEEP_PLACE];
    cs_sweep_place(sweep, number, place);
    cs_output_note(s->args, "left out %s: %s", place, cs_reason());
    cs_item *item = cs_item_object(s->left_out, NULL);
    cs_item_text(item, "point", place);
    cs_item_text(item, "reason", cs_reason());
    s->reason = s->reason ? s->reason : cs_strdup(cs_reason());
    cs_reason_clear();
    return s->reason ? CS_OK : CS_ERR_MEMORY;
}

static cs_status run_sweep(study *s, const cs_sweep *sweep, cs_plan_file *file)
{
    const cs_progress *progress = cs_output_progress(s->args);
    for (int64_t number = 0; number < sweep->points; ++number) {
        cs_toy toy = {0};
        cs_status status = cs_interrupt_check();
        if (status == CS_OK) status = cs_args_toy(s->args, sweep, number, NULL, file, &toy);
        if (status == CS_OK) status = do_point(s, &toy);
        if (status == CS_ERR_USAGE && sweep->points > 1) status = skip_point(s, sweep, number);
        if (status != CS_OK) return status;
        cs_progress_report(progress, "points", number + 1, sweep->points);
    }
    return s->found > 0 ? CS_OK
                        : cs_fail(CS_ERR_USAGE, "no point of the sweep is possible: %s", s->reason);
}

/* --- the page --------------------------------------------------------------------------------- */

/* With --html every option has a value to start with. */
static cs_status suppose_start(cs_args *args)
{
    static const char *const start[][2] = {
        {"objective", "masked"}, {"length", "5"}, {"classes", "3"}, {"tokens", "1"}};
    const bool masks = !cs_args_given(args, "objective") && !cs_args_given(args, "unmasked") &&
                       !cs_args_given(args, "mask-ratio");
    cs_status status = cs_page_claim(args);
    if (!cs_args_given(args, "html")) return status;
    for (size_t i = 0; i < sizeof start / sizeof *start && status == CS_OK; ++i) {
        if (!cs_args_given(args, start[i][0]))
            status = cs_args_suppose(args, start[i][0], start[i][1]);
    }
    return status == CS_OK && masks ? cs_args_suppose(args, "mask-ratio", "0.6") : status;
}

/* The objective of the page in plots/toy.html; NULL: it does not have it. */
static const char *page_objective(const cs_toy *toy)
{
    const cs_objective *o = &toy->objective;
    const bool plain = o->empty_prefix == CS_PREFIX_NONE && o->event_weight == CS_EVENT_TOKEN &&
                       o->target_weight == CS_TARGETS_PLAN && !toy->given && !toy->literal &&
                       toy->position_known == 0;
    switch (plain ? o->kind : CS_OBJ_FILE) {
    case CS_OBJ_MASKED:
        return "masked";
    case CS_OBJ_BERNOULLI_MASKED:
        return "bernoulli-masked";
    case CS_OBJ_PERMUTED_AR:
        return "permuted-ar";
    case CS_OBJ_AR:
        return "ar";
    case CS_OBJ_GROUP_AR:
        return o->t == 2 ? "group-ar" : NULL;
    default:
        return NULL;
    }
}

static cs_status write_page(cs_args *args, const cs_sweep *sweep, cs_plan_file *file)
{
    enum { LONGEST = 8, MOST_CLASSES = 5 }; /* the ends of its sliders */
    static const double usual = 0.5;
    cs_toy toy = {0};
    if (!cs_args_given(args, "html")) return CS_OK;
    if (sweep->points > 1)
        return cs_fail(CS_ERR_USAGE, "--html has sliders in place of sweeps; give one point");
    cs_status status = cs_args_toy(args, sweep, 0, NULL, file, &toy);
    if (status != CS_OK) return status;
    const char *objective = page_objective(&toy);
    if (!objective)
        return cs_fail(CS_ERR_USAGE,
                       "--html shows masked, bernoulli-masked, permuted-ar, ar and group-ar with "
                       "--t 2, with default options");
    if (toy.length < 2 || toy.length > LONGEST || toy.classes > MOST_CLASSES)
        return cs_fail(CS_ERR_USAGE, "--html shows lengths from 2 to %d and at most %d classes",
                       LONGEST, MOST_CLASSES);
    const cs_objective *o = &toy.objective;
    const double length = (double)toy.length;
    const double ratio = o->kind == CS_OBJ_MASKED && o->unmasked_lo >= 0
                             ? (length - (double)o->unmasked_lo) / length
                         : o->mask_ratio_lo > 0 ? o->mask_ratio_lo
                                                : usual;
    CS_AUTO_BY(cs_json_free, json_t)
    *start = json_pack("{s:s, s:I, s:I, s:f}", "objective", objective, "length",
                       (json_int_t)toy.length, "classes", (json_int_t)toy.classes, "ratio", ratio);
    return start ? cs_page_put(args, "toy", start) : CS_ERR_MEMORY;
}

static cs_status run_toy(cs_args *args)
{
    static const char columns[] =
        "objective classes length tokens token_sets empty_prefix target_position method "
        "unmasked position index sigma multiplicity sum_sigma2 sum_sigma4 rank residual";
    static const cs_view one = {"~rows[]", columns}, swept = {"rows[]", columns};
    cs_sweep sweep;
    CS_AUTO(cs_plan_file) file = {0};
    cs_status status = suppose_start(args);
    if (status == CS_OK) status = cs_args_sweep(args, &sweep);
    if (status == CS_OK) status = write_page(args, &sweep, &file);
    if (status != CS_OK) return status;
    study s = {.args = args, .root = cs_output_root(args)};
    const bool many = cs_sweep_is_swept(&sweep);
    s.points = many ? cs_item_array(s.root, "points") : NULL;
    s.rows = cs_item_array(s.root, many ? "rows" : "~rows");
    s.left_out = many ? cs_item_array(s.root, "left_out") : NULL;
    status = run_sweep(&s, &sweep, &file);
    if (status == CS_OK) status = cs_args_plan_inputs(args, &file);
    const cs_view *view = cs_args_flag(args, "dry-run") ? NULL : many ? &swept : &one;
    if (status == CS_OK) status = cs_output_record(args, "toy", view);
    cs_free(s.reason);
    return status;
}

const cs_command cs_cmd_toy = {
    .name = "toy",
    .help = &cs_help_toy,
    .groups = toy_groups,
    .run = run_toy,
    .files = "toy.json toy.csv",
    .shown = "objective classes length tokens index sigma multiplicity",
    .most = 24,
};
