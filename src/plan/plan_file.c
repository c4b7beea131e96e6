/* Lists of plans: one JSON object, every defect named by the numbers of plan and position, both from 1,
 * as the pages count positions. */
#include "plan/plan_file.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/vector_ops.h"
#include "io/json.h"
#include "plan/distributions_private.h"
#include "plan/mix_private.h"

static void free_part(cs_mix_part *part)
{
    for (int i = 0; i < 2 * CS_PARAMETERS_ALL; ++i) {
        cs_expression_free(part->value[i / 2][i % 2]);
    }
    cs_expression_free(part->share);
    cs_free(part->where);
    if (part->plans) {
        cs_plan_file_free(part->plans);
    }
    cs_free(part->plans);
}

void cs_plan_file_free(cs_plan_file *file)
{
    for (int64_t p = 0; file->plan && p < file->plans; ++p) {
        cs_plan_free(&file->plan[p]);
    }
    for (int64_t j = 0; j < file->parts; ++j) {
        free_part(&file->part[j]);
    }
    for (int64_t i = 0; i < file->inputs; ++i) {
        cs_free(file->input[i]);
    }
    CS_FREE_FIELDS(file, plan, probability, part, input);
    json_decref(file->source);
    cs_free(file->path);
    memset(file, 0, sizeof *file);
}

static cs_status read_probability(json_t *value, double *out)
{
    if (!json_is_number(value)) {
        return cs_fail(CS_ERR_INPUT, "probability is %s", value ? "not a number" : "missing");
    }
    *out = json_number_value(value);
    return *out > 0 && isfinite(*out)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "probability %g is not positive", *out);
}

static cs_status read_groups(json_t *list, cs_plan *plan)
{
    for (int64_t i = 0; i < plan->length; ++i) {
        json_t *value = json_array_get(list, (size_t)i);
        if (!json_is_integer(value)) {
            return cs_fail(CS_ERR_INPUT, "group of position %" PRId64 " is not an integer", i + 1);
        }
        int64_t group = json_integer_value(value);
        if (group < 0 || group > plan->length) {
            return cs_fail(CS_ERR_INPUT,
                           "group %" PRId64 " of position %" PRId64 " is not in 0..%" PRId64, group,
                           i + 1, plan->length);
        }
        plan->group[i] = (int32_t)group;
        plan->groups = group > plan->groups ? group : plan->groups;
    }
    /* Marks used groups in the weights, which are read afterwards. */
    for (int64_t i = 0; i < plan->length; ++i) {
        if (plan->group[i] > 0) {
            plan->weight[plan->group[i] - 1] = 1;
        }
    }
    for (int64_t g = 1; g <= plan->groups; ++g) {
        if (!(plan->weight[g - 1] > 0)) {
            return cs_fail(CS_ERR_INPUT,
                           "group %" PRId64 " is empty, but group %" PRId64 " is used", g,
                           plan->groups);
        }
    }
    return CS_OK;
}

static cs_status read_weights(json_t *list, cs_plan *plan)
{
    if (list && (!json_is_array(list) || (int64_t)json_array_size(list) != plan->length)) {
        return cs_fail(CS_ERR_INPUT, "weights is not an array of %" PRId64 " numbers",
                       plan->length);
    }
    double sum = 0;
    for (int64_t i = 0; i < plan->length; ++i) {
        json_t *value = list ? json_array_get(list, (size_t)i) : NULL;
        if (list && !json_is_number(value)) {
            return cs_fail(CS_ERR_INPUT, "weight of position %" PRId64 " is not a number", i + 1);
        }
        double weight = list ? json_number_value(value) : plan->group[i] > 0;
        if (!(weight >= 0) || !isfinite(weight)) {
            return cs_fail(CS_ERR_INPUT, "weight %g of position %" PRId64 " is %s", weight, i + 1,
                           weight < 0 ? "negative" : "not finite");
        }
        if (weight > 0 && plan->group[i] == 0) {
            return cs_fail(CS_ERR_INPUT,
                           "weight %g of position %" PRId64
                           " must be 0: the position is in group 0, which is given",
                           weight, i + 1);
        }
        plan->weight[i] = weight;
        sum += weight;
    }
    return sum > 0 && isfinite(sum)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "the weights sum to %g, which is not positive", sum);
}

static cs_status read_plan(json_t *object, cs_plan *plan, double *probability)
{
    json_t *groups = json_object_get(object, "groups");
    cs_status status = cs_json_known(object, "probability, groups, weights");
    if (status == CS_OK)
        status = read_probability(json_object_get(object, "probability"), probability);
    if (status == CS_OK && (!json_is_array(groups) || json_array_size(groups) == 0))
        status =
            cs_fail(CS_ERR_INPUT, "groups is %s", groups ? "not an array of integers" : "missing");
    if (status == CS_OK) status = cs_plan_init(plan, (int64_t)json_array_size(groups));
    if (status == CS_OK) status = read_groups(groups, plan);
    return status == CS_OK ? read_weights(json_object_get(object, "weights"), plan) : status;
}

static bool given_nothing(const cs_plan *plan)
{
    for (int64_t i = 0; i < plan->length; ++i) {
        if (plan->group[i] == 0) {
            return false;
        }
    }
    return true;
}

static cs_status normalise(cs_plan_file *file)
{
    int64_t longest = 0;
    for (int64_t p = 0; p < file->plans; ++p) {
        longest = file->plan[p].length > longest ? file->plan[p].length : longest;
    }
    CS_AUTO_FREE double *sum = cs_calloc(longest + 1, sizeof *sum);
    if (!sum) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    for (int64_t p = 0; p < file->plans; ++p) {
        sum[file->plan[p].length] += file->probability[p];
    }
    for (int64_t p = 0; p < file->plans && status == CS_OK; ++p) {
        double total = sum[file->plan[p].length];
        if (!isfinite(total)) {
            status = cs_fail(CS_ERR_INPUT,
                             "the probabilities of plans of length %" PRId64
                             " sum to %g, which is not finite",
                             file->plan[p].length, total);
        }
        file->probability[p] /= total;
    }
    return status;
}

cs_status cs_plans_read(const json_t *list, cs_plan_file *file)
{
    cs_status status = CS_OK;
    int64_t plans = (int64_t)json_array_size(list);
    if (plans == 0) {
        return cs_fail(CS_ERR_INPUT, "\"plans\" is empty");
    }
    file->plan = cs_calloc(plans, sizeof *file->plan);
    file->probability = cs_calloc(plans, sizeof *file->probability);
    if (!file->plan || !file->probability) return CS_ERR_MEMORY;
    file->plans = plans;
    for (int64_t p = 0; p < plans && status == CS_OK; ++p) {
        status = read_plan(json_array_get(list, (size_t)p), &file->plan[p], &file->probability[p]);
        status = cs_blame(status, "plan %" PRId64, p + 1);
        if (status == CS_OK && file->empty_given == 0 && given_nothing(&file->plan[p]))
            file->empty_given = p + 1;
    }
    return status == CS_OK ? normalise(file) : status;
}

json_t *cs_plan_file_parts(const cs_plan_file *file)
{
    return json_object_get(file->source, "mixture");
}

double cs_plan_file_sum(const cs_plan_file *file, int64_t above)
{
    double sum = 0;
    for (int64_t j = 0; j < file->parts; ++j) {
        const cs_mix_part *part = &file->part[j];
        if (part->above == above) {
            sum +=
                cs_expression_varies(part->share) ? (double)NAN : cs_expression_at(part->share, 0);
        }
    }
    return sum;
}

double cs_mix_normal(const cs_plan_file *file, double share, double whole)
{
    return fabs(whole - 1) <= (double)file->parts * DBL_EPSILON ? share : share / whole;
}

cs_status cs_plan_file_digest(const cs_plan_file *file, char hex[65])
{
    hex[0] = '\0';
    if (file->inputs == 1 && file->path) {
        return cs_sha256_file(file->path, hex);
    }
    char *text = file->inputs > 0 ? json_dumps(file->source, JSON_SORT_KEYS) : NULL;
    if (text) cs_sha256(text, strlen(text), hex);
    free(text);
    return text || file->inputs == 0 ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for plans");
}

/* --- the objective --- */

static cs_status check(const cs_objective *o)
{
    if (!o->file) {
        return cs_fail(CS_ERR_USAGE, "objective file needs a plan file: file(plan-file=FILE)");
    }
    if (o->file->empty_given > 0 && o->empty_prefix == CS_PREFIX_NONE) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: plan %" PRId64 ": group 0 is empty, which needs an empty prefix",
                       o->file->path, o->file->empty_given);
    }
    return CS_OK;
}

/* Plans of length s in the file, at least one. */
static cs_status check_length(const cs_objective *o, int64_t s)
{
    for (int64_t p = 0; p < o->file->plans; ++p) {
        if (o->file->plan[p].length == s) {
            return CS_OK;
        }
    }
    return cs_fail(CS_ERR_USAGE, "%s has no plan of length %" PRId64, o->file->path, s);
}

/* Of all plans up to length s, so that the most predicted tokens rise with it. */
static bool given(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    int64_t most = 0;
    for (int64_t p = 0; p < o->file->plans; ++p) {
        const cs_plan *plan = &o->file->plan[p];
        int64_t predicted = 0;
        for (int64_t i = 0; i < plan->length && plan->length <= s; ++i) {
            predicted += plan->weight[i] > 0;
        }
        most = predicted > most ? predicted : most;
    }
    *lo = s - most;
    *hi = s;
    return true;
}

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    *count = 0;
    for (int64_t p = 0; p < o->file->plans; ++p) {
        *count += o->file->plan[p].length == s;
    }
    return CS_OK;
}

/* With weights scaled to sum to 1 under `mask`. */
static void copy_weighted(const cs_objective *objective, const cs_plan *from, cs_plan *plan)
{
    const double sum = cs_total(plan->length, from->weight);
    plan->groups = from->groups;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = from->group[i];
        plan->weight[i] =
            objective->event_weight == CS_EVENT_MASK ? from->weight[i] / sum : from->weight[i];
    }
}

static cs_status visit(cs_enumeration *e)
{
    const cs_plan_file *file = e->objective->file;
    cs_status status = CS_OK;
    for (int64_t p = 0; p < file->plans && status == CS_OK; ++p) {
        if (file->plan[p].length == e->plan.length) {
            copy_weighted(e->objective, &file->plan[p], &e->plan);
            status = e->visit(e->ctx, &e->plan, file->probability[p]);
        }
    }
    return status;
}

static cs_status sample(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    const cs_plan_file *file = objective->file;
    double u = cs_rng_uniform(rng), below = 0;
    const cs_plan *drawn = NULL;
    for (int64_t p = 0; p < file->plans && below <= u; ++p) {
        if (file->plan[p].length == plan->length) {
            below += file->probability[p];
            drawn = &file->plan[p]; /* the last one when probabilities sum to just below 1 */
        }
    }
    assert(drawn); /* the objective exists at this length */
    copy_weighted(objective, drawn, plan);
    return CS_OK;
}

const cs_objective_row cs_row_FILE = {
    .summary = "plans with probabilities from a JSON file",
    .plans = "any",
    .source = "docs/reference/plan-files.md",
    .takes = "plan-file",
    .shape = CS_PAIRS_SETS,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_OWN,
    .check = check,
    .check_length = check_length,
    .given = given,
    .count = count_plans,
    .visit = visit,
    .sample = sample,
    .pairs = cs_pairs_of_file,
};
