/* cospec reproduce: the study of plots/reproduce.json and its report. */
#include <stdio.h>
#include <unistd.h>

#include "analysis/study/report.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "io/share.h"

/* The user's file, or the shared one. */
static cs_status shared_or(cs_args *args, const char *option, const char *shared, const char **out)
{
    char *path = NULL;
    *out = cs_args_text(args, option);
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

typedef struct {
    cs_study study;
    cs_claims claims;
    const char *steps, *template, *report, *verdicts; /* paths */
    cs_args *args;
    cs_pace pace;
} job;

static void announce(void *ctx, const cs_study *study, int64_t step, int64_t before)
{
    job *j = ctx;
    char left[CS_PACE_LEFT];
    const double now = cs_seconds();
    (void)cs_pace_report(&j->pace, before, study->steps, now, 0);
    cs_pace_left(&j->pace, now, left);
    cs_output_note(j->args, "[%lld/%lld%s] %s: cospec %s", (long long)before + 1,
                   (long long)study->steps, left, study->step[step].name,
                   study->step[step].command);
}

/* A mistyped command, option or value of the last step is found before the first. */
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
        cs_args_free(&args);
        if (status != CS_OK && status != CS_ERR_USAGE) {
            cs_reason_clear(); /* of a file for --config that an earlier step may leave */
            status = CS_OK;
        }
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

/* Everything that can be wrong before the first step. */
static cs_status prepare(cs_args *args, job *j)
{
    const char *given = cs_args_text(args, "output"), *dir = given ? given : "results";
    const char *only = cs_args_text(args, "claims");
    cs_status status = shared_or(args, "steps", "plots/reproduce.json", &j->steps);
    if (status == CS_OK)
        status = shared_or(args, "template", only ? "plots/claims.html" : "plots/report.html",
                           &j->template);
    if (status == CS_OK)
        status = cs_study_read(j->steps, dir, cs_args_text(args, "scale"), &j->study);
    if (status == CS_OK)
        status = cs_blame(cs_claims_read(&j->study, only, &j->claims), "%s", j->steps);
    if (status == CS_OK && only) cs_study_keep_claimed(&j->study);
    if (status == CS_OK) status = cs_blame(check_commands(&j->study), "%s", j->steps);
    if (status == CS_OK) {
        status = cs_report_check(&j->study, j->template);
        if (cs_args_given(args, "steps") && !only && !cs_args_given(args, "template"))
            status = cs_blame(status, "without --template the report is that of the shared study");
    }
    if (status == CS_OK) status = cs_output_input(args, j->steps);
    if (status == CS_OK) status = cs_output_input(args, j->template);
    if (status == CS_OK && !given) status = cs_output_into(args, dir);
    if (status == CS_OK) status = claim(args, &j->study);
    if (status == CS_OK) status = cs_output_path(args, "report.html", &j->report);
    if (status == CS_OK && j->claims.count > 0)
        status = cs_output_path(args, "claims.csv", &j->verdicts);
    j->study.resumes = resumes;
    CS_ARGS_FIELDS(args, &j->study, any_version);
    return status;
}

/* The claims over budgets as a table and, drawn by `cospec plot`, as a figure. */
static cs_status write_curves(job *j, const char *self)
{
    const char *table = NULL, *folder = NULL;
    int64_t count = 0;
    int exit_code = 0;
    cs_status status = cs_output_path(j->args, "claims-budgets.csv", &table);
    if (status == CS_OK) status = cs_output_path(j->args, "curves", &folder);
    if (status == CS_OK) status = cs_claims_write_budgets(&j->claims, table, &count);
    if (status != CS_OK || count == 0) return status;
    const char *const argv[] = {self, "plot", "budgets", table, "-o", folder, "--force", NULL};
    status = cs_child_run(&(cs_child){.argv = argv}, &exit_code);
    return status == CS_OK && exit_code != 0
               ? cs_fail(CS_ERR_INPUT, "plot budgets %s ended with exit code %d", table, exit_code)
               : status;
}

static cs_status run(cs_args *args)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        return cs_fail(CS_ERR_IO, "/proc/self/exe cannot be read");
    }
    self[length] = '\0';
    job j = {.args = args};
    cs_status status = prepare(args, &j);
    cs_study_run_options options = {.program = self, .announce = announce, .ctx = &j};
    CS_ARGS_FIELDS(args, &options, resume, jobs);
    if (status == CS_OK) status = cs_study_run(&j.study, &options);
    if (status == CS_OK) status = cs_claims_measure(&j.study, &j.claims);
    if (status == CS_OK && j.verdicts) status = cs_claims_write(&j.claims, j.verdicts);
    if (status == CS_OK && j.verdicts) status = write_curves(&j, self);
    if (status == CS_OK) status = cs_report_write(&j.study, &j.claims, j.template, j.report);
    if (status == CS_OK) (void)printf("%s\n", j.report);
    cs_claims_free(&j.claims);
    cs_study_free(&j.study);
    return status;
}

static const cs_opt study_options[] = {
    CS_TEXT("steps", "FILE", NULL,
            "The study, a JSON file: steps to run, scales, variables, and claims to hold against "
            "the results (docs/formats.md, Studies and claims). Default: the shared "
            "plots/reproduce.json."),
    CS_TEXT("scale", "NAME", NULL,
            "Size of a study that has scales. The shared one: smoke (under 2 minutes on 2 cores, "
            "no claim can be decided), cpu (under 20), gpu (hours on one GPU). Default: cpu."),
    CS_TEXT("template", "FILE", NULL,
            "Template of the report. Default: the shared plots/report.html, with --claims "
            "plots/claims.html."),
    CS_TEXT("claims", "PREFIX,...", NULL,
            "Only the claims whose names begin with one of these, and the steps that they read."),
    CS_INT("jobs", "N", "0", 0, 1024,
           "Steps at a time, each with its part of the threads; a step waits for those whose "
           "results it reads. 0: one for each thread, at most 8. Results do not depend on it."),
    CS_FLAG("any-version", "With --resume: keep finished steps of other versions of the program "
                           "too, if their commands are the same; step.json has the version."),
    {0},
};

const cs_command cs_cmd_reproduce = {
    .name = "reproduce",
    .summary = "Run every audit and write one report with figures",
    .description = "Runs the steps of a study as separate cospec runs under DIR (default: results) "
                   "and fills a template with their results: DIR/report.html, one file with its "
                   "figures inline, every number linked to the CSV or JSON it comes from. With "
                   "--resume, steps finished by the same version are kept.",
    .groups = (const cs_opt *const[]){study_options, NULL},
    .examples = "# the whole study, as 'make reproduce' runs it\n"
                "cospec reproduce -o results --resume\n"
                "# the claims of one table alone\n"
                "cospec reproduce --claims LA-tab1 -o table1",
    .run = run,
    .without = "dry-run",
    .continues = "any-version jobs",
};
