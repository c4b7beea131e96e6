/* Distance of a model of Gaussian fields from the best one. */
#pragma once

#include "image/images.h"
#include "io/result.h"
#include "model/model.h"
#include "train/trainer.h"

/* Adds to the record of a training on the corpus `field`: optimum, the least evaluation loss of any
 * model under the objective (measures/field_optimum.h, over all plans or those of the fields
 * evaluated, as far as a few seconds allow), optimum_se, and above_optimum = loss / optimum - 1,
 * with the loss measured on held-out fields. Adds nothing for other corpora, if the loss has
 * another target (normalised patches, codes, a schedule of objectives), or if the model reads less
 * or more than its plans show (blind queries, tokens kept or replaced). */
cs_status cs_train_optimum_record(const cs_images *images, const cs_model_config *config,
                                  const cs_train_options *options, double loss,
                                  cs_item *item) CS_MUST_CHECK;
