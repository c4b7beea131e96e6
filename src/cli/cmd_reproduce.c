/* cospec reproduce: the study of plots/reproduce.steps and its report. */
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/report.h"
#include "io/file.h"
#include "io/share.h"

static void announce(void *ctx, const cs_study *study, int64_t step)
{
    cs_output_note(ctx, "[%lld/%lld] %s: cospec %s", (long long)step + 1, (long long)study->steps,
                   study->step[step].name, study->step[step].command);
}

/* The user's file, or the shared one. */
static cs_status shared_or(const char *given, const char *shared, char **out)
{
    if (!given) {
        return cs_share_path(shared, out);
    }
    *out = cs_strdup(given);
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* Those of the main study go with its steps alone. */
static cs_status read_claims(cs_args *args, const cs_study *study, char **path, cs_claims *out)
{
    const char *given = cs_args_text(args, "claims");
    if (!given && cs_args_text(args, "steps")) {
        return CS_OK;
    }
    cs_status status = shared_or(given, "plots/reproduce.claims", path);
    if (status == CS_OK && (status = cs_claims_read(*path, study, out)) == CS_OK) {
        status = cs_output_input(args, *path);
    }
    return status;
}

static cs_status run(cs_args *args)
{
    const char *dir = cs_args_text(args, "output");
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        return cs_fail(CS_ERR_IO, "/proc/self/exe cannot be read");
    }
    self[length] = '\0';
    if (!dir) {
        dir = "results";
    }
    cs_study study = {0};
    cs_claims claims = {0};
    char *steps = NULL, *template = NULL, *claims_file = NULL;
    char *report = cs_path_join(dir, "report.html"), *verdicts = cs_path_join(dir, "claims.csv");
    cs_status status = report && verdicts ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK ||
        (status = shared_or(cs_args_text(args, "steps"), "plots/reproduce.steps", &steps)) !=
            CS_OK ||
        (status = shared_or(cs_args_text(args, "template"), "plots/report.html", &template)) !=
            CS_OK ||
        (status = cs_study_read(steps, dir, cs_args_text(args, "scale"), &study)) != CS_OK ||
        (status = cs_output_input(args, steps)) != CS_OK ||
        (status = cs_output_input(args, template)) != CS_OK ||
        (status = read_claims(args, &study, &claims_file, &claims)) != CS_OK) {
        goto done;
    }
    bool resume = cs_args_flag(args, "resume");
    if (cs_path_exists(report) && !resume && !cs_args_flag(args, "force")) {
        status = cs_fail(
            CS_ERR_USAGE,
            "%s exists: give --resume to keep finished steps or --force to run all again", report);
        goto done;
    }
    if ((status = cs_study_run(&study, self, resume, announce, args)) != CS_OK ||
        (status = cs_claims_measure(&study, &claims)) != CS_OK ||
        (claims_file && (status = cs_claims_write(&claims, verdicts)) != CS_OK) ||
        (status = cs_report_write(&study, &claims, template, report)) != CS_OK) {
        goto done;
    }
    (void)printf("%s\n", report);
done:
    cs_study_free(&study);
    cs_claims_free(&claims);
    cs_free(claims_file);
    cs_free(verdicts);
    cs_free(steps);
    cs_free(template);
    cs_free(report);
    return status;
}

static const cs_opt study_options[] = {
    {.name = "steps",
     .kind = CS_OPT_TEXT,
     .argument = "FILE",
     .help = "Steps to run, a line NAME: COMMAND ARGUMENT... each, to which -o @NAME is added; @ "
             "is the study's folder, $NAME the value of a line $NAME = VALUE. A line $scale = A | "
             "B names scales; $NAME = VALUE | VALUE then has one for each. Default: the shared "
             "plots/reproduce.steps."},
    {.name = "scale",
     .kind = CS_OPT_TEXT,
     .argument = "NAME",
     .help = "Size of a study that has scales. The shared one: smoke (under 2 minutes on 2 cores, "
             "no claim can be told), cpu (under 20), gpu (hours on one GPU). Default: cpu."},
    {.name = "claims",
     .kind = CS_OPT_TEXT,
     .argument = "FILE",
     .help = "Claims to hold against the results (docs/formats.md, Claims). Default: the shared "
             "plots/reproduce.claims, or none with --steps."},
    {.name = "template",
     .kind = CS_OPT_TEXT,
     .argument = "FILE",
     .help = "Template of the report. Default: the shared plots/report.html."},
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
                "cospec reproduce -o results --resume",
    .run = run,
    .without = "dry-run",
};
