/* The hidden states of an image model that a probe reads: a layer, and the mean over all rows, the
 * first row (the class token), the concatenated states of all patches, or their means over cells.
 * As in the linear evaluation of DINOv2 (Oquab et al. 2023, App. B.3: layers and pooling by a grid,
 * on held-out data) and of iGPT (Chen et al. 2020: the best layer), but on training examples only:
 * of at most CS_PROBE_CHOICE of them a fifth is held out once, the others are fitted under
 * penalties 0.1, 0.01 and 0.001, and the choice with the least mean loss on that fifth is used. Few
 * examples favour few features, so that the choice may differ from that of all of them. */
#pragma once

#include "analysis/measures/linear_probe.h"
#include "analysis/vision/picture_features.h"
#include "io/result.h"
#include "text/labelled_text.h"

enum { CS_PROBE_CHOICE = 4000 };

typedef struct {
    const cs_labelled_text *examples;
    const char *few;                 /* of cs_few_shot */
    const cs_hidden_options *states; /* the layers to choose from; pooling is ignored */
    cs_linear_probe_options fit;     /* balanced, seed, threads, progress */
} cs_probe_choosing;

typedef struct {
    int64_t layer;
    cs_picture_pooling pooling;
    const char *pooling_name;
    double loss;
} cs_probe_choice;

/* corpus: the images of the examples. Adds {"of", "layer", "pooling", "held_out_loss"} for each
 * candidate to `list`. Memory: the patches of all layers of the images used for the choice, 4 bytes
 * a number, and 8 for those of one. Errors of cs_few_shot, cs_hidden_states and
 * cs_linear_probe_held_out. */
cs_status cs_probe_choose(const cs_probe_choosing *choosing, const char *of, cs_model *model,
                          const cs_corpus *corpus, cs_item *list,
                          cs_probe_choice *out) CS_MUST_CHECK;
