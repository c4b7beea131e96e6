/* Limit: phases share one network, so one form and one corpus, and every text must have a plan under each. */
#include "train/phases.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "io/number.h"
#include "plan/spec.h"
#include "train/batch_private.h"

static const char UNTIL[] = " until ", FOR[] = " for ", AHEAD[] = "multi-token";

bool cs_phases_are(const char *text)
{
    return strstr(text, UNTIL) || strstr(text, FOR) || strncmp(text, "multi-token(", 12) == 0;
}

void cs_phases_free(cs_phases *phases)
{
    for (int64_t i = 0; i < phases->count; ++i) {
        cs_plan_file_free(&phases->file[i]);
    }
    CS_FREE_FIELDS(phases, objective, file, until, steps, heads);
    *phases = (cs_phases){0};
}

/* The objective of a phase and its heads of offsets. */
static cs_status read_objective(const char *text, int64_t i, cs_phases *p)
{
    unsigned set = 0;
    text += strspn(text, " ");
    const char *rest = strncmp(text, AHEAD, strlen(AHEAD)) == 0 ? text + strlen(AHEAD) : NULL;
    const bool ahead = rest && strchr(" (:", *rest); /* its end too */
    CS_AUTO_FREE char *spec =
        ahead ? cs_format("%s%s", cs_objective_name(CS_OBJ_DIVERSE_AR), rest) : NULL;
    cs_objective *o = &p->objective[i];
    cs_status status = ahead && !spec ? CS_ERR_MEMORY
                                      : cs_objective_read(spec ? spec : text, &set, &p->file[i], o);
    if (status == CS_OK) status = cs_objective_complete(o, set);
    if (status == CS_OK) status = cs_objective_check(o);
    p->heads[i] = ahead && status == CS_OK ? o->t : 0;
    p->ahead = cs_most(p->ahead, p->heads[i]);
    return status;
}

/* "SPEC until 0.4", "SPEC for 100" or "SPEC", in place, as phase i. */
static cs_status read_phase(char *text, int64_t i, cs_phases *p)
{
    char *until = strstr(text, UNTIL), *turn = until ? NULL : strstr(text, FOR);
    bool fine = true;
    p->until[i] = 1;
    if (until) {
        fine =
            cs_real_scan(until + strlen(UNTIL), &p->until[i]) && p->until[i] > 0 && p->until[i] < 1;
        *until = '\0';
    } else if (turn) {
        double steps = 0;
        fine = cs_real_scan(turn + strlen(FOR), &steps) && steps >= 1 && steps <= 1e12 &&
               steps == floor(steps);
        p->steps[i] = fine ? (int64_t)steps : 0;
        *turn = '\0';
    }
    if (!fine) {
        return cs_fail(CS_ERR_USAGE, "\"%s\": %s", (until ? until : turn) + 1,
                       until ? "not a share of the steps between 0 and 1"
                             : "not a number of steps");
    }
    return read_objective(text, i, p);
}

/* Shares rise to the last phase, which has none; or all phases are turns. */
static cs_status check_phases(const cs_phases *p)
{
    for (int64_t i = 0; i < p->count; ++i) {
        const bool last = i + 1 == p->count;
        if ((p->steps[i] > 0) != (p->steps[0] > 0)) {
            return cs_fail(CS_ERR_USAGE,
                           "phase %lld: \"until\" and \"for\" cannot be combined; alternating "
                           "phases all need \"for\"",
                           (long long)i + 1);
        }
        if (p->steps[0] == 0 && (p->until[i] < 1) == last) {
            return cs_fail(CS_ERR_USAGE, "phase %lld: %s", (long long)i + 1,
                           last ? "the last phase lasts to the end; leave \"until\" out"
                                : "it needs \"until SHARE\", because another phase follows");
        }
        if (p->ahead > 0 && p->heads[i] == 0 && p->objective[i].kind == CS_OBJ_DIVERSE_AR) {
            return cs_fail(
                CS_ERR_USAGE,
                "phase %lld: diverse-ar and multi-token cannot be combined in one network",
                (long long)i + 1);
        }
        if (i > 0 && p->steps[0] == 0 && !(p->until[i] > p->until[i - 1])) {
            return cs_fail(CS_ERR_USAGE,
                           "phase %lld: until %g is not after the end of the phase before it, %g",
                           (long long)i + 1, p->until[i], p->until[i - 1]);
        }
    }
    return CS_OK;
}

/* The comma after a phase, or the end: none within parentheses. */
static char *end_of(char *text)
{
    for (int depth = 0; *text && (depth > 0 || *text != ','); ++text) {
        depth += (*text == '(') - (*text == ')');
    }
    return text;
}

cs_status cs_phases_read(const char *text, cs_phases *out)
{
    CS_AUTO_FREE char *held = cs_strdup(text);
    cs_phases p = {.objective = cs_calloc(CS_PHASES_MOST, sizeof *p.objective),
                   .file = cs_calloc(CS_PHASES_MOST, sizeof *p.file),
                   .until = cs_calloc(CS_PHASES_MOST, sizeof *p.until),
                   .steps = cs_calloc(CS_PHASES_MOST, sizeof *p.steps),
                   .heads = cs_calloc(CS_PHASES_MOST, sizeof *p.heads)};
    cs_status status =
        held && p.objective && p.file && p.until && p.steps && p.heads ? CS_OK : CS_ERR_MEMORY;
    char *at = held;
    for (bool more = true; more && status == CS_OK;) {
        char *end = end_of(at);
        more = *end == ',';
        *end = '\0';
        if (p.count == CS_PHASES_MOST) {
            status = cs_fail(CS_ERR_USAGE, "more than %d phases", CS_PHASES_MOST);
        } else {
            const int64_t i = p.count++;
            status = cs_blame(read_phase(at, i, &p), "phase %lld", (long long)i + 1);
        }
        at = end + more;
    }
    if (status == CS_OK) status = check_phases(&p);
    return CS_DELIVER(cs_blame(status, "schedule \"%s\"", text), out, p, cs_phases_free);
}

cs_status cs_phases_pictures(const cs_model_config *config, cs_phases *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < p->count && status == CS_OK; ++i) {
        cs_task task = {.objective = p->objective[i]};
        status = cs_blame(cs_task_pictures(config, &task), "phase %lld", (long long)i + 1);
        p->objective[i] = task.objective;
    }
    return status;
}

int64_t cs_phases_at(const cs_phases *p, int64_t steps, int64_t step)
{
    int64_t turn = 0, at = 0;
    for (int64_t i = 0; i < p->count; ++i) {
        turn += p->steps[i];
    }
    if (turn == 0) {
        while (at + 1 < p->count && step > llround(p->until[at] * (double)steps)) {
            ++at;
        }
        return at;
    }
    for (int64_t left = (cs_most(step, 1) - 1) % turn; left >= p->steps[at]; ++at) {
        left -= p->steps[at];
    }
    return at;
}

bool cs_phases_reached(const cs_phases *p, int64_t steps, int64_t at)
{
    int64_t before = 0; /* steps of the phases before it */
    for (int64_t i = 0; i < at; ++i) {
        before = p->steps[0] > 0 ? before + p->steps[i] : llround(p->until[i] * (double)steps);
    }
    return before < steps && cs_phases_at(p, steps, before + 1) == at;
}

cs_task cs_phases_task(const cs_phases *p, int64_t at, const cs_task *task,
                       const cs_model_config *config)
{
    cs_task phase = *task;
    phase.objective = p->objective[at];
    if (!cs_task_hides(&phase, config)) {
        phase.keep = phase.random = 0;
    }
    return phase;
}

char *cs_phases_describe(const cs_phases *p)
{
    char *text = cs_strdup("");
    for (int64_t i = 0; i < p->count && text; ++i) {
        CS_AUTO_FREE char *whole = cs_objective_describe(&p->objective[i]), *before = text;
        char *one =
            whole && p->heads[i] > 0
                ? cs_format("%s%s", AHEAD, whole + strlen(cs_objective_name(CS_OBJ_DIVERSE_AR)))
                : whole;
        const char *comma = i > 0 ? ", " : "";
        text = !one ? NULL
               : p->steps[i] > 0
                   ? cs_format("%s%s%s%s%lld", before, comma, one, FOR, (long long)p->steps[i])
               : i + 1 < p->count
                   ? cs_format("%s%s%s%s%.15g", before, comma, one, UNTIL, p->until[i])
                   : cs_format("%s%s%s", before, comma, one);
        if (one != whole) cs_free(one);
    }
    return text;
}

cs_status cs_phases_sizes(const cs_phases *p, const cs_task *task, const cs_model_config *config,
                          int64_t batch, int64_t length, cs_network_options *out)
{
    static const char *const FORM[] = {"one stream", "two streams", "a decoder",
                                       "pooled attention"};
    bool hides = task->keep + task->random == 0;
    for (int64_t i = 0; i < p->count; ++i) {
        cs_network_options sizes = *out;
        const cs_task phase = cs_phases_task(p, i, task, config);
        cs_status status = cs_blame(cs_task_sizes(&phase, config, batch, length, &sizes),
                                    "phase %lld", (long long)i + 1);
        if (status != CS_OK) return status;
        if (i > 0 && sizes.form != out->form) {
            return cs_fail(CS_ERR_USAGE,
                           "phase %lld: %s is read in %s, but the phases before it in %s; give "
                           "--query-position, so that all have two streams",
                           (long long)i + 1, cs_objective_name(phase.objective.kind),
                           FORM[sizes.form], FORM[out->form]);
        }
        hides = hides || phase.keep + phase.random > 0;
        out->form = sizes.form;
        out->batch = batch;
        out->length = i == 0 ? sizes.length : cs_most(sizes.length, out->length);
        out->queries = i == 0 ? sizes.queries : cs_most(sizes.queries, out->queries);
        out->decoder_length =
            i == 0 ? sizes.decoder_length : cs_most(sizes.decoder_length, out->decoder_length);
        out->predictions =
            i == 0 ? sizes.predictions : cs_most(sizes.predictions, out->predictions);
        out->offsets = i == 0 ? sizes.offsets : cs_most(sizes.offsets, out->offsets);
    }
    return hides ? CS_OK
                 : cs_fail(CS_ERR_USAGE,
                           "shares of masked tokens kept %g and replaced %g have no effect: no "
                           "phase reads a masked token",
                           task->keep, task->random);
}
