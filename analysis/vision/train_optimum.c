/* The floor is of all held-out fields in expectation, under the plans of those evaluated, as far as
 * they are not too many: which plans they are would count for more than the fields, and so the loss
 * is evaluated under the same plans. */
#include "analysis/vision/train_optimum.h"

#include <math.h>

#include "analysis/measures/field_optimum.h"
#include "base/mem.h"
#include "image/field.h"

enum { LEAST_PLANS = 64 };

/* Those evaluated, or what a few seconds are enough for. */
static int64_t plans_of(double pixels, int64_t evaluated)
{
    const double flops = 0x1p39;
    return (int64_t)fmin(fmax(flops / (pixels * pixels * pixels), LEAST_PLANS),
                         (double)(evaluated > 2 ? evaluated : 2));
}

cs_status cs_train_optimum_record(const cs_images *images, const cs_model_config *c,
                                  const cs_train_options *o, double loss, cs_item *item)
{
    cs_field_case of = {.height = images->height,
                        .width = images->width,
                        .patch = c->picture.patch,
                        .draws = plans_of((double)(images->height * images->width),
                                          o->data.batch * o->intervals.eval_batches),
                        .seed = o->seed};
    double optimum = 0, se = 0;
    int32_t *order = NULL;
    if (images->count == 0 || !cs_field_is(images, &of.rho) || c->head.target != CS_TARGET_PIXELS ||
        c->shape.extra_width > 0 || c->attention.blind_queries || o->phases || o->task.keep > 0 ||
        o->task.random > 0) {
        return CS_OK;
    }
    cs_status status = cs_model_order(c, &order);
    of.order = order;
    if (status == CS_OK) status = cs_field_optimum(&o->task.objective, &of, &optimum, &se);
    if (status == CS_OK) {
        cs_item_real(item, "optimum", optimum);
        cs_item_real(item, "optimum_se", se);
        cs_item_real(item, "above_optimum", loss / optimum - 1);
    }
    cs_free(order);
    return status;
}
