/* The losses of all candidates are of the same rows. */
#include "analysis/measures/probe_choice.h"

#include <math.h>

#include "base/mem.h"
#include "infer/text_features.h"

static const double PENALTY[] = {0.1, 0.01, 1e-3};

static cs_status held_out_loss(const cs_probe_choosing *c, const cs_rows *x, int64_t count,
                               const int64_t *row, double *out)
{
    cs_linear_probe p = {0};
    cs_linear_probe_options fit = {.penalties = sizeof PENALTY / sizeof *PENALTY,
                                   .penalty = PENALTY,
                                   .share = 0.2,
                                   .balanced = c->fit.balanced,
                                   .tolerance = 1e-4,
                                   .max_iterations = c->fit.max_iterations,
                                   .seed = c->fit.seed,
                                   .threads = c->fit.threads};
    cs_status status =
        cs_linear_probe_fit(x, count, row, c->examples->value, c->examples->classes, &fit, &p);
    *out = status == CS_OK ? p.step[p.chosen].held_out : NAN;
    cs_linear_probe_free(&p);
    return status;
}

cs_status cs_probe_choose(const cs_probe_choosing *c, const char *of, cs_model *model,
                          const cs_corpus *corpus, cs_item *list, cs_probe_choice *out)
{
    static const struct {
        const char *name;
        cs_pooling pooling;
    } kind[] = {{"mean", CS_POOL_MEAN}, {"first", CS_POOL_FIRST}, {"patches", CS_POOL_NONE}};
    cs_hidden_options states = *c->states;
    int64_t count = 0, *row = NULL;
    *out = (cs_probe_choice){.loss = INFINITY};
    cs_status status = cs_blame(cs_few_shot(c->few, c->examples, c->fit.seed, &count, &row), "%s",
                                c->examples->path);
    for (size_t k = 0; k < sizeof kind / sizeof *kind && status == CS_OK; ++k) {
        const bool whole = kind[k].pooling == CS_POOL_NONE;
        const int64_t d = model->config.width * (whole ? corpus->doc_ptr[1] : 1);
        float *x = NULL;
        states.pooling = whole ? c->states->pooling : kind[k].pooling;
        status = (whole ? cs_patch_features : cs_document_features)(model, corpus, &states, &x);
        for (int64_t l = 0; l < states.layers && status == CS_OK; ++l) {
            if (states.layer[l] == 0 && kind[k].pooling == CS_POOL_FIRST) {
                continue; /* the class token before any layer: the same of all pictures */
            }
            const cs_rows rows =
                cs_rows_of_f32(c->examples->count, d, x + l * c->examples->count * d, of);
            double loss = 0;
            status = held_out_loss(c, &rows, count, row, &loss);
            cs_item *item = cs_item_object(list, NULL);
            cs_item_text(item, "of", of);
            cs_item_int(item, "layer", states.layer[l]);
            cs_item_text(item, "pooling", kind[k].name);
            cs_item_real(item, "held_out_loss", loss);
            if (status == CS_OK && loss < out->loss)
                *out = (cs_probe_choice){states.layer[l], kind[k].pooling, kind[k].name, loss};
        }
        cs_free(x);
    }
    cs_free(row);
    return status;
}
