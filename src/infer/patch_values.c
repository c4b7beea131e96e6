/* Each group is a plan of two groups: what is shown by now, and all that is not, of which the next
 * group's predictions are kept. */
#include "infer/patch_values.h"

#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "plan/plan.h"

void cs_patch_reader_close(cs_patch_reader *reader)
{
    cs_pass_close(&reader->pass);
    cs_free(reader->order);
    *reader = (cs_patch_reader){0};
}

/* What makes the rows of the form that the model was trained in; the plans are ours. */
static cs_status set_task(const cs_model_kind *kind, cs_patch_reader *r)
{
    const bool masks = kind->pretrained == CS_ATTENTION_BIDIRECTIONAL;
    r->task =
        (cs_task){.objective = cs_objective_default(masks ? CS_OBJ_MASKED : CS_OBJ_PERMUTED_AR),
                  .two_stream = kind->kind == CS_KIND_TWO_STREAM};
    if (masks) { /* any ratio: the plans are given */
        r->task.objective.mask_ratio_lo = r->task.objective.mask_ratio_hi = 0.5;
    }
    return kind->kind != CS_KIND_CAUSAL
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "the model predicts next patches alone, and hidden ones lie anywhere: "
                         "masked objectives and two streams fill them");
}

cs_status cs_patch_reader_open(cs_model *model, const cs_model_kind *kind, int64_t batch,
                               cs_patch_reader *out)
{
    const cs_model_config *c = &model->config;
    cs_network_options sizes = {.form = CS_FORM_SINGLE};
    if (c->target == CS_TARGET_IDS) {
        return cs_fail(CS_ERR_USAGE, "the model (%s) predicts no values of patches",
                       cs_arch_name(c->arch));
    }
    *out = (cs_patch_reader){.model = model,
                             .patches = c->positions - cs_model_config_extra(c),
                             .values = c->real_width,
                             .batch = batch};
    cs_status status = set_task(kind, out);
    if (status == CS_OK) status = cs_model_order(c, &out->order);
    if (status == CS_OK) status = cs_task_sizes(&out->task, c, batch, out->patches, &sizes);
    if (status == CS_OK) { /* any number of patches may be shown, or hidden */
        const int64_t rows = out->patches + cs_model_config_extra(c);
        sizes.length = rows;
        sizes.queries = sizes.queries > 0 ? rows : 0;
        sizes.decoder_length = sizes.decoder_length > 0 ? rows : 0;
        sizes.predictions = batch * out->patches;
        status = cs_pass_open(model, &sizes, &out->pass);
    }
    if (status != CS_OK) cs_patch_reader_close(out);
    return status;
}

/* --- one group -------------------------------------------------------------------------------- */

typedef struct {
    cs_plan *plan;       /* count */
    cs_example *example; /* count */
    int32_t *token;      /* patches: no ids */
    float *made;         /* predictions of a pass */
    float *seen;         /* batch x patches x values, in the order of the sequences */
    double *scratch;     /* values */
} room;

/* A loss row's values into its patch. */
static void put_values(const cs_patch_reader *r, const float *made, const float *real,
                       double *scratch, float *to)
{
    double mean = 0, sd = 1;
    if (r->model->config.target == CS_TARGET_NORMALISED) {
        sd = cs_row_normalise(r->values, real, &mean, scratch);
    }
    for (int64_t j = 0; j < r->values; ++j) {
        to[j] = (float)(mean + sd * (double)made[j]);
    }
}

/* The patch, along rows, at place k of a sequence. */
static int64_t patch_at(const cs_patch_reader *r, int64_t k)
{
    return r->order ? r->order[k] : k;
}

/* Predicts all patches of groups >= g of some pictures, and keeps those of g. */
static cs_status fill_group(cs_patch_reader *r, int64_t count, const float *real,
                            const int32_t *group, int64_t g, room *m, float *out)
{
    const int64_t t = r->patches, v = r->values;
    for (int64_t i = 0; i < count; ++i) {
        m->plan[i].groups = 1;
        for (int64_t k = 0; k < t; ++k) {
            const int64_t at = i * t + patch_at(r, k);
            m->plan[i].group[k] = group[at] >= g;
            m->plan[i].weight[k] = group[at] >= g;
            memcpy(m->seen + (i * t + k) * v, out + at * v, (size_t)v * sizeof *out);
        }
        m->example[i] = (cs_example){m->token, t, i, m->seen + i * t * v};
    }
    const cs_batch_order order = {.task = &r->task,
                                  .config = &r->model->config,
                                  .pad_to = r->pass.fixed ? &r->pass.sizes : NULL};
    cs_batch_free(&r->pass.batch);
    cs_status status = cs_batch_of_plans(&order, m->plan, m->example, count, &r->pass.batch);
    if (status == CS_OK) status = cs_pass_forward(&r->pass, 1, (cs_run_key){0});
    if (status == CS_OK) status = cs_run_get_f32(r->pass.run, r->pass.network.logits, m->made);
    const cs_batch *b = &r->pass.batch;
    for (int64_t e = 0; e < b->events && status == CS_OK; ++e) {
        const int64_t at = b->example[e] * t + patch_at(r, b->place[e]);
        if (group[at] == g) {
            put_values(r, m->made + e * v, real + at * v, m->scratch, out + at * v);
        }
    }
    return status;
}

static void empty(cs_patch_reader *r, room *m)
{
    for (int64_t i = 0; m->plan && i < r->batch; ++i) {
        cs_plan_free(&m->plan[i]);
    }
    CS_FREE_FIELDS(m, plan, example, token, made, seen, scratch);
}

static cs_status furnish(cs_patch_reader *r, room *m)
{
    m->plan = cs_calloc(r->batch, sizeof *m->plan);
    m->example = cs_calloc(r->batch, sizeof *m->example);
    m->token = cs_calloc(r->patches, sizeof *m->token);
    m->made = cs_alloc(r->batch * r->patches * r->values, sizeof *m->made);
    m->seen = cs_alloc(r->batch * r->patches * r->values, sizeof *m->seen);
    m->scratch = cs_alloc(r->values, sizeof *m->scratch);
    cs_status status = m->plan && m->example && m->token && m->made && m->seen && m->scratch
                           ? CS_OK
                           : CS_ERR_MEMORY;
    for (int64_t i = 0; i < r->batch && status == CS_OK; ++i) {
        status = cs_plan_init(&m->plan[i], r->patches);
    }
    return status;
}

cs_status cs_patches_fill(cs_patch_reader *reader, int64_t count, const float *real,
                          const int32_t *group, int64_t groups, float *out)
{
    const int64_t picture = reader->patches * reader->values;
    room m = {0};
    if (groups > 1 && reader->model->config.target == CS_TARGET_NORMALISED) {
        return cs_fail(CS_ERR_USAGE, "a model of normalised patches predicts no values that could "
                                     "be shown to it: one group alone");
    }
    cs_status status = furnish(reader, &m);
    memcpy(out, real, (size_t)(count * picture) * sizeof *out);
    for (int64_t i = 0; i < count && status == CS_OK; i += reader->batch) {
        const int64_t n = cs_least(reader->batch, count - i);
        for (int64_t g = 1; g <= groups && status == CS_OK; ++g) {
            status = cs_interrupt_check();
            if (status == CS_OK)
                status = fill_group(reader, n, real + i * picture, group + i * reader->patches, g,
                                    &m, out + i * picture);
        }
    }
    empty(reader, &m);
    return status;
}
