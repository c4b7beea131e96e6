/* cospec reproduce: the study of plots/reproduce.json and its report. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/study/report.h"
#include "base/auto.h"
#include "base/eta.h"
#include "base/plugin.h"
#include "cli/args.h"
#include "cli/argument_kind.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/study_job.h"
#include "image/images.h"
#include "io/json.h"
#include "io/share.h"

cs_status cs_args_shared(cs_args *args, const char *option, const char *shared, const char **out)
{
    char *path = NULL;
    *out = option ? cs_args_text(args, option) : NULL;
    cs_status status = *out ? CS_OK : cs_share_path(shared, &path);
    if (status != CS_OK || *out) return status;
    *out = cs_args_keep(args, path);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static bool resumes(const char *name)
{
    const cs_command *command = NULL;
    bool known = cs_command_by_name(name, &command) == CS_OK;
    cs_reason_clear();
    return known && !cs_command_without(command, "resume");
}

static void announce(void *ctx, const cs_study *study, int64_t step, int64_t before, double seconds)
{
    cs_study_job *j = ctx;
    char left[CS_ETA_LEFT];
    cs_eta_seconds(seconds, left);
    cs_output_note(j->args, "[%lld/%lld%s] %s: cospec %s", (long long)before + 1,
                   (long long)study->steps, left, study->step[step].name,
                   study->step[step].command);
}

static void note(void *ctx, const char *text)
{
    const cs_study_job *j = ctx;
    cs_output_note(j->args, "%s", text);
}

/* A corpus that is not there is one that no step will leave either: steps leave results. */
static cs_status check_corpus(const cs_args *args)
{
    const bool known = cs_args_find(args, "corpus", strlen("corpus")) != NULL;
    const char *corpus = known ? cs_args_text(args, "corpus") : NULL;
    return corpus && cs_path_kind_of(corpus) == CS_IS_ABSENT
               ? cs_fail(CS_ERR_INPUT, "--corpus %s: no such file and no named corpus", corpus)
               : CS_OK;
}

/* A mistyped command, option, value or corpus of the last step is found before the first. */
static cs_status check_commands(const cs_study *study)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < study->steps && status == CS_OK; ++i) {
        const cs_step *step = &study->step[i];
        const cs_command *command = NULL;
        cs_args *args = NULL;
        status = cs_command_by_name(step->word[0], &command);
        if (status == CS_OK)
            status = cs_args_parse(command, step->words - 1, step->word + 1, &args);
        if (status != CS_OK && status != CS_ERR_USAGE) {
            cs_reason_clear(); /* of a file for --config that an earlier step may leave */
            status = CS_OK;
        } else if (status == CS_OK) {
            status = check_corpus(args);
        }
        cs_args_free(&args);
        status = cs_blame(status == CS_ERR_USAGE ? CS_ERR_INPUT : status, "step %s", step->name);
    }
    return status;
}

/* The report, and records of steps that finished before. */
static cs_status claim(cs_args *args, const cs_study *study)
{
    cs_status status = cs_output_claim(args, "report.html claims.csv");
    for (int64_t i = 0; i < study->steps && !cs_args_flag(args, "resume") && status == CS_OK; ++i) {
        const char *record = cs_args_format(args, "%s/step.json", study->step[i].name);
        status = record ? cs_output_claim(args, record) : CS_ERR_MEMORY;
    }
    return cs_blame(status, "--resume keeps finished steps");
}

/* Draws a figure from a table of the study. It first removes the manifest of an earlier drawing,
 * whose digest of the table may be another. */
static cs_status draw(cs_study_job *j, const char *figure, const char *table, const char *folder)
{
    const char *to = NULL, *before = cs_args_join(j->args, j->study.dir, "manifest.json");
    bool refuted = false;
    cs_status status = before ? cs_output_path(j->args, folder, &to) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    (void)unlink(before);
    char *argv[] = {(char *)figure, (char *)table, "-o", (char *)to, "--force"};
    return cs_blame(cs_command_execute(&cs_cmd_plot, 5, argv, true, &refuted), "plot %s %s", figure,
                    table);
}

typedef cs_status write_claims(const cs_claims *claims, const char *path, int64_t *count);

/* Removes a figure that an earlier run has left. */
static cs_status forget(cs_study_job *j, const char *figure, const char *folder)
{
    static const char *const kind[] = {"csv", "gp", "svg", "png", "pdf"};
    const char *manifest = cs_args_format(j->args, "%s/%s/manifest.json", j->study.dir, folder);
    const char *of = cs_args_join(j->args, j->study.dir, folder);
    if (!manifest || !of) return CS_ERR_MEMORY;
    (void)unlink(manifest);
    for (size_t i = 0; i < sizeof kind / sizeof *kind; ++i) {
        const char *path = cs_args_format(j->args, "%s/%s.%s", of, figure, kind[i]);
        if (!path) return CS_ERR_MEMORY;
        (void)unlink(path);
    }
    (void)rmdir(of);
    return CS_OK;
}

/* A table of claims, where there are any, and its figure, where it has rows to draw. */
static cs_status write_drawn(cs_study_job *j, write_claims *write, const char *name,
                             const char *figure, const char *folder)
{
    const char *table = NULL;
    int64_t count = 0;
    cs_status status = cs_output_path(j->args, name, &table);
    if (status != CS_OK) return status;
    (void)unlink(table);
    status = write(&j->claims, table, &count);
    if (status != CS_OK) return status;
    return count > 0 ? draw(j, figure, table, folder) : forget(j, figure, folder);
}

/* Values, claims over budgets and at one, and of a comparison the numbers of all models, with their figures. */
static cs_status write_tables(cs_study_job *j)
{
    const char *scores = NULL, *values = NULL, *counts = NULL;
    cs_status status = cs_output_path(j->args, "values.csv", &values);
    if (status == CS_OK) status = cs_claims_write_values(&j->study, &j->claims, values);
    if (status == CS_OK && !j->claims.exploratory)
        status = cs_output_path(j->args, "counts.csv", &counts);
    if (status == CS_OK && counts) status = cs_claims_write_counts(&j->claims, counts);
    if (status == CS_OK)
        status = write_drawn(j, cs_claims_write_budgets, "claims-budgets.csv", "budgets", "curves");
    if (status == CS_OK && !j->compares)
        status = write_drawn(j, cs_claims_write_differences, "differences.csv", "differences",
                             "differences");
    if (status == CS_OK && j->compares) status = cs_output_path(j->args, "scores.csv", &scores);
    if (status == CS_OK && scores) status = cs_scores_write(&j->study, &j->claims, scores);
    return status == CS_OK && j->series ? draw(j, "course", scores, "course") : status;
}

/* Everything that can be wrong before the first step. */
static cs_status check_study(cs_args *args, cs_study_job *j)
{
    cs_status status = cs_blame(check_commands(&j->study), "%s", j->steps);
    if (status == CS_OK) status = cs_report_check(&j->study, j->template);
    if (cs_args_find(args, "steps", 5) && cs_args_given(args, "steps") &&
        !cs_args_given(args, "template") && !cs_args_given(args, "claims"))
        status =
            cs_blame(status, "without --template the report has the template of the shared study");
    return status == CS_OK && j->check ? j->check(args, &j->study, j->ctx) : status;
}

static cs_status prepare(cs_args *args, cs_study_job *j)
{
    cs_status status = check_study(args, j);
    if (status == CS_OK) status = cs_output_input(args, j->steps);
    if (status == CS_OK) status = cs_output_input(args, j->template);
    if (status == CS_OK && !cs_args_given(args, "output"))
        status = cs_output_into(args, j->study.dir);
    if (status == CS_OK) status = claim(args, &j->study);
    if (status == CS_OK) status = cs_output_path(args, "report.html", &j->report);
    if (status == CS_OK && j->claims.count > 0)
        status = cs_output_path(args, "claims.csv", &j->verdicts);
    j->study.resumes = resumes;
    return status;
}

/* The manifest has the records of the steps, so that a folder that is gone is missed. */
static cs_status record_steps(const cs_study_job *j)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < j->study.steps && status == CS_OK; ++i) {
        const char *record =
            cs_args_format(j->args, "%s/%s/step.json", j->study.dir, j->study.step[i].name);
        status = record ? cs_output_begin(j->args, record) : CS_ERR_MEMORY;
    }
    return status;
}

cs_status cs_study_job_run(cs_args *args, cs_study_job *j)
{
    char self[PATH_MAX];
    j->args = args;
    cs_study_run_options options = {.program = self, .announce = announce, .note = note, .ctx = j};
    CS_ARGS_FIELDS(args, &options, resume, jobs);
    CS_ARGS_FIELDS(args, &j->study, any_version);
    if (j->times && cs_args_flag(args, "dry-run")) {
        cs_status checked = check_study(args, j);
        if (checked == CS_OK && options.resume && (cs_args_given(args, "output") || !j->compares))
            checked = cs_study_find_kept(&j->study, &options);
        return checked == CS_OK ? j->times(args, &j->study, j->ctx) : checked;
    }
    cs_status status = cs_program_path(self);
    if (status == CS_OK) status = prepare(args, j);
    if (status == CS_OK && j->begin) status = j->begin(args, j->ctx);
    if (status == CS_OK) status = cs_study_run(&j->study, &options);
    if (status == CS_OK) status = record_steps(j);
    if (status == CS_OK) status = cs_claims_measure(&j->study, &j->claims);
    if (status == CS_OK && j->verdicts) status = cs_claims_write(&j->claims, j->verdicts);
    if (status == CS_OK && j->verdicts) status = write_tables(j);
    if (status == CS_OK) status = cs_report_write(&j->study, &j->claims, j->template, j->report);
    if (status == CS_OK) (void)printf("%s\n", j->report);
    return status;
}

void cs_study_job_free(cs_study_job *j)
{
    cs_claims_free(&j->claims);
    cs_study_free(&j->study);
}

/* --dry-run: the steps that would run. */
static cs_status list_steps(cs_args *args, const cs_study *study, void *ctx)
{
    static const cs_view view = {"steps[]", "step seconds command"};
    cs_item *rows = cs_item_array(cs_output_root(args), "steps");
    char left[CS_ETA_LEFT];
    int threads = 1;
    int64_t missing = 0;
    bool timed = false;
    (void)ctx;
    for (int64_t i = 0; i < study->steps; ++i) {
        const cs_step *step = &study->step[i];
        if (step->kept) continue;
        const double seconds = cs_study_step_seconds(study, NULL, i);
        cs_item *row = cs_item_object(rows, NULL);
        timed = timed || !isnan(seconds);
        cs_item_text(row, "step", step->name);
        cs_item_real(row, "seconds", seconds);
        cs_item_text(row, "command", step->command);
        ++missing;
    }
    cs_eta_seconds(
        cs_study_seconds_left(study, NULL, cs_study_jobs((int)cs_args_int(args, "jobs"), &threads)),
        left);
    cs_output_note(args, "%lld of %lld steps to run%s%s", (long long)missing,
                   (long long)study->steps, missing > 0 ? left : "",
                   timed ? "; seconds are means of finished steps of the same command" : "");
    return cs_output_record(args, "steps", &view);
}

/* Variables take the values of those of their name after own_. NPZ files are read at their own size:
 * their masks and boxes would not be resized. */
static cs_status take_own(json_t *variables, const char *pictures)
{
    const char *own = NULL;
    json_t *value = NULL, *taken = json_object();
    cs_status status = taken ? CS_OK : CS_ERR_MEMORY;
    json_object_foreach(variables, own, value)
    {
        const bool fits = strcmp(own, "own_fit") != 0 || !cs_has_suffix(pictures, ".npz");
        if (strncmp(own, "own_", 4) == 0 && fits && status == CS_OK)
            status = cs_json_set(taken, own + 4, json_deep_copy(value));
    }
    if (status == CS_OK && json_object_update(variables, taken) != 0) status = CS_ERR_MEMORY;
    json_decref(taken);
    return status;
}

/* --pictures: the variable `images` of the study, with the claims that do not need other corpora, and
 * the option for commands that the report shows. */
static cs_status take_pictures(const char *pictures, json_t *json)
{
    json_t *variables = json_object_get(json, "variables");
    if (!json_object_get(variables, "images"))
        return cs_fail(CS_ERR_USAGE, "the study has no variable images for --pictures to set");
    if (access(pictures, R_OK) != 0)
        return cs_fail(CS_ERR_IO, "--pictures %s: %s", pictures, strerror(errno));
    if (strchr(pictures, '\''))
        return cs_fail(CS_ERR_INPUT, "--pictures %s: a path with ' cannot be quoted", pictures);
    bool are = false;
    cs_status status = cs_images_are(pictures, &are);
    if (status == CS_OK && !are) status = cs_args_no_pictures("--pictures takes", pictures);
    if (status != CS_OK) return status;
    const char *quote = strpbrk(pictures, " \t") ? "'" : "";
    CS_AUTO_FREE char *word = cs_format("%s%s%s", quote, pictures, quote),
                      *option = cs_format("--pictures %s%s%s", quote, pictures, quote),
                      *what = cs_format("the images of %s", pictures);
    if (!word || !option || !what) return CS_ERR_MEMORY;
    status = cs_json_set(variables, "images", json_string(word));
    if (status == CS_OK) status = cs_json_set(variables, "with_images", json_string(option));
    if (status == CS_OK) status = cs_json_set(variables, "images_are", json_string(what));
    if (status == CS_OK) status = cs_json_set(variables, "held", json_string("images"));
    return status == CS_OK ? take_own(variables, pictures) : status;
}

static cs_status read_study(cs_args *args, cs_study_job *j)
{
    const char *given = cs_args_text(args, "output"), *scale = cs_args_text(args, "scale");
    const char *dir = given ? given : "results", *pictures = cs_args_text(args, "pictures");
    json_t *json = NULL;
    if (!pictures) return cs_study_read(j->steps, dir, scale, &j->study);
    cs_status status = cs_json_read(j->steps, &json);
    if (status == CS_OK) status = take_pictures(pictures, json);
    if (status == CS_OK) return cs_blame(cs_study_of(&json, dir, scale, &j->study), "%s", j->steps);
    json_decref(json);
    return status;
}

static cs_status run(cs_args *args)
{
    const char *only = cs_args_text(args, "claims");
    const bool images = cs_args_given(args, "pictures") && !cs_args_given(args, "steps");
    CS_AUTO(cs_study_job) j = {.times = list_steps};
    cs_status status = cs_args_shared(
        args, "steps", images ? "plots/images.json" : "plots/reproduce.json", &j.steps);
    if (status == CS_OK)
        status = cs_args_shared(args, "template",
                                only     ? "plots/claims.html"
                                : images ? "plots/images.html"
                                         : "plots/report.html",
                                &j.template);
    if (status == CS_OK) status = read_study(args, &j);
    if (status == CS_OK)
        status = cs_blame(cs_claims_read(&j.study, only, &j.claims), "%s", j.steps);
    return status == CS_OK ? cs_study_job_run(args, &j) : status;
}

const cs_opt cs_group_study_job[] = {
    CS_HEADING("Steps"),
    CS_INT("jobs", "N", "0", 0, 1024,
           "Steps at a time, which share the threads. 0: one per thread, at most 8. Results do not "
           "depend on it."),
    CS_FLAG("any-version",
            "With --resume: also keep finished steps of other versions of the program with the "
            "same commands; step.json has the version."),
    {0},
};

static const cs_opt study_options[] = {
    CS_TEXT("steps", "FILE", NULL,
            "Study file: steps, scales, variables and claims (docs/reference/studies.md). Default: "
            "the shared plots/reproduce.json, with --pictures plots/images.json."),
    CS_TEXT("scale", "NAME", NULL,
            "Size of the study. The shared study has smoke (2 minutes on 2 cores, decides no "
            "claim), cpu (20 minutes) and gpu (hours on one GPU). Default: cpu."),
    CS_TEXT("pictures", "DIR", NULL,
            "Run plots/images.json on these images in place of glyphs: CIFAR-10 files, a directory "
            "for each class, or train and val. Other sizes become 32 x 32. Claims that "
            "need other corpora are left out."),
    CS_TEXT("template", "FILE", NULL,
            "Template of the report. Default: the shared plots/report.html, with --claims "
            "plots/claims.html, with --pictures plots/images.html."),
    CS_TEXT("claims", "PREFIX,...", NULL,
            "Only the claims whose names begin with one of these, and their steps. Default: those "
            "of the scale, if the study says so, else all."),
    {0},
};

const cs_command cs_cmd_reproduce = {
    .name = "reproduce",
    .help = &cs_help_reproduce,
    .groups = (const cs_opt *const[]){study_options, cs_group_study_job, NULL},
    .run = run,
    .continues = "any-version jobs template claims",
    .whole = cs_study_check_tables,
};
