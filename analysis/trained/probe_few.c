/* Examples of few labels are drawn again for each layer by the same numbers (cs_few_shot). */
#include "analysis/trained/probe_few.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

void cs_few_read_free(cs_few_read *few)
{
    cs_free(few->keep);
    *few = (cs_few_read){0};
}

cs_status cs_few_read_of(const cs_probe_study *study, cs_few_read *out)
{
    const cs_labelled_text *t = study->scoring.train;
    cs_few_read made = {.keep = cs_calloc(t->count, 1)};
    cs_status status = made.keep ? CS_OK : CS_ERR_MEMORY;
    for (int64_t s = 0; s < study->scoring.seeds && status == CS_OK; ++s) {
        int64_t count = 0;
        CS_AUTO_FREE int64_t *row = NULL;
        status = cs_few_shot(study->few, t, study->scoring.seed + (uint64_t)s, &count, &row);
        status = cs_blame(status, "%s", status == CS_ERR_USAGE ? "--few" : t->path);
        for (int64_t i = 0; status == CS_OK && i < count; ++i) {
            made.count += !made.keep[row[i]];
            made.keep[row[i]] = 1;
        }
    }
    return CS_DELIVER(status, out, made, cs_few_read_free);
}

void cs_few_texts_free(cs_labelled_text *texts)
{
    CS_FREE_FIELDS(texts, text, pair);
}

cs_status cs_few_texts(const cs_few_read *few, const cs_labelled_text *all, cs_labelled_text *out)
{
    cs_labelled_text made = *all;
    made.count = 0;
    made.text = cs_alloc(few->count, sizeof *made.text);
    made.pair = all->pair ? cs_alloc(few->count, sizeof *made.pair) : NULL;
    cs_status status = made.text && (made.pair || !all->pair) ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < all->count && status == CS_OK; ++i) {
        if (!few->keep[i]) continue;
        made.text[made.count] = all->text[i];
        if (made.pair) made.pair[made.count] = all->pair[i];
        made.count += 1;
    }
    return CS_DELIVER(status, out, made, cs_few_texts_free);
}

cs_status cs_few_spread(const cs_few_read *few, int64_t examples, int64_t layers, int64_t width,
                        float **values)
{
    if (few->count == examples) return CS_OK;
    float *made = cs_calloc(layers * examples * width, sizeof *made);
    if (!made) return CS_ERR_MEMORY;
    const float *from = *values;
    for (int64_t l = 0; l < layers; ++l) {
        for (int64_t i = 0; i < examples; ++i) {
            if (!few->keep[i]) continue;
            memcpy(made + (l * examples + i) * width, from, (size_t)width * sizeof *made);
            from += width;
        }
    }
    cs_free(*values);
    *values = made;
    return CS_OK;
}
