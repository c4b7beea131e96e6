/* The losses of all candidates are of the same rows. */
#include "analysis/vision/probe_choice.h"

#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/rng.h"

static const double PENALTY[] = {0.1, 0.01, 1e-3};

/* The pictures that the choice is made by, and their classes: at most CS_PROBE_CHOICE of those of
 * --few, drawn by the seed. */
static cs_status take_pictures(const cs_probe_choosing *c, const cs_corpus *corpus,
                               cs_corpus *taken, double **y)
{
    int64_t count = 0, *row = NULL;
    cs_status status = cs_blame(cs_few_shot(c->few, c->examples, c->fit.seed, &count, &row), "%s",
                                c->examples->path);
    CS_AUTO_FREE uint8_t *keep = status == CS_OK ? cs_calloc(corpus->documents, 1) : NULL;
    *y = status == CS_OK ? cs_alloc(count, sizeof **y) : NULL;
    if (status == CS_OK && !(keep && *y)) status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_rng rng = cs_rng_at(c->fit.seed, CS_STREAM_CHOICE, 0);
        int64_t left = count, wanted = count < CS_PROBE_CHOICE ? count : CS_PROBE_CHOICE;
        for (int64_t i = 0; i < count; ++i) {
            keep[row[i]] = cs_rng_selects(&rng, &left, &wanted);
        }
        for (int64_t i = 0, at = 0; i < corpus->documents; ++i) {
            if (keep[i]) {
                (*y)[at++] = c->examples->value[i];
            }
        }
        status = cs_corpus_select(corpus, keep, taken);
    }
    cs_free(row);
    return status;
}

cs_status cs_probe_choose(const cs_probe_choosing *c, const char *of, cs_model *model,
                          const cs_corpus *corpus, cs_item *list, cs_probe_choice *out)
{
    static const struct {
        const char *name;
        cs_picture_pooling pooling;
    } kind[] = {{"mean", CS_PICTURE_MEAN},
                {"first", CS_PICTURE_FIRST},
                {"patches", CS_PICTURE_PATCHES},
                {"cells", CS_PICTURE_CELLS}};
    const cs_linear_probe_options fit = {.penalties = sizeof PENALTY / sizeof *PENALTY,
                                         .penalty = PENALTY,
                                         .share = 0.2,
                                         .balanced = c->fit.balanced,
                                         .tolerance = 1e-4,
                                         .max_iterations = c->fit.max_iterations,
                                         .seed = c->fit.seed,
                                         .threads = c->fit.threads};
    const cs_hidden_options *states = c->states;
    CS_AUTO(cs_corpus) taken = {0};
    CS_AUTO_FREE double *y = NULL;
    *out = (cs_probe_choice){states->layer[states->layers - 1], CS_PICTURE_MEAN, "mean", INFINITY};
    cs_status status = take_pictures(c, corpus, &taken, &y);
    for (size_t k = 0; k < sizeof kind / sizeof *kind && status == CS_OK; ++k) {
        const int64_t d = cs_picture_width(&model->config, kind[k].pooling);
        CS_AUTO_FREE float *x = NULL;
        status = cs_picture_features(model, &taken, states, kind[k].pooling, &x);
        for (int64_t l = 0; l < states->layers && status == CS_OK; ++l) {
            if (states->layer[l] == 0 && kind[k].pooling == CS_PICTURE_FIRST) {
                continue; /* the class token before any layer: the same of all pictures */
            }
            const cs_rows rows =
                cs_rows_of_f32(taken.documents, d, x + l * taken.documents * d, of);
            double loss = 0;
            status = cs_linear_probe_held_out(&rows, y, c->examples->classes, &fit, &loss);
            cs_item *item = cs_item_object(list, NULL);
            cs_item_text(item, "of", of);
            cs_item_int(item, "layer", states->layer[l]);
            cs_item_text(item, "pooling", kind[k].name);
            cs_item_real(item, "held_out_loss", loss);
            if (status == CS_OK && loss < out->loss)
                *out = (cs_probe_choice){states->layer[l], kind[k].pooling, kind[k].name, loss};
        }
    }
    return status;
}
