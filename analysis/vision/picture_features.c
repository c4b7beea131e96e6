/* Cells are made of the patches in place: those of a picture end before the patches of the next. */
#include "analysis/vision/picture_features.h"

#include <assert.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/codes.h"
#include "text/vectors.h"

typedef struct {
    int64_t rows, columns, down, across; /* patches, cells */
} grid;

static grid grid_of(const cs_model_config *config)
{
    const int64_t rows = config->picture.height / config->picture.patch,
                  columns = config->picture.width / config->picture.patch;
    return (grid){rows, columns, rows < CS_PICTURE_SIDE ? rows : CS_PICTURE_SIDE,
                  columns < CS_PICTURE_SIDE ? columns : CS_PICTURE_SIDE};
}

int64_t cs_picture_width(const cs_model_config *config, cs_picture_pooling pooling)
{
    const grid g = grid_of(config);
    return config->shape.width * (pooling < CS_PICTURE_PATCHES  ? 1
                                  : pooling == CS_PICTURE_CELLS ? g.down * g.across
                                                                : g.rows * g.columns);
}

/* The means of one picture's cells; `cell` (of cells x width) and `count` (of cells) are zeros. */
static void average(const grid *g, int64_t width, const float *patch, double *cell, int64_t *count)
{
    for (int64_t t = 0; t < g->rows * g->columns; ++t) {
        const int64_t c = t / g->columns * g->down / g->rows * g->across +
                          t % g->columns * g->across / g->columns;
        count[c] += 1;
        for (int64_t j = 0; j < width; ++j) {
            cell[c * width + j] += (double)patch[t * width + j];
        }
    }
    for (int64_t i = 0; i < g->down * g->across * width; ++i) {
        cell[i] /= (double)count[i / width];
    }
}

static cs_status pool_cells(const grid *g, int64_t width, int64_t pictures, float *x)
{
    const int64_t cells = g->down * g->across, from = g->rows * g->columns * width;
    CS_AUTO_FREE double *cell = cs_alloc(cells * width, sizeof *cell);
    CS_AUTO_FREE int64_t *count = cs_alloc(cells, sizeof *count);
    for (int64_t i = 0; i < pictures && cell && count; ++i) {
        memset(cell, 0, (size_t)(cells * width) * sizeof *cell);
        memset(count, 0, (size_t)cells * sizeof *count);
        average(g, width, x + i * from, cell, count);
        for (int64_t j = 0; j < cells * width; ++j) {
            x[i * cells * width + j] = (float)cell[j];
        }
    }
    const bool allocated = cell && count;
    return allocated ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_picture_features(cs_model *model, const cs_corpus *corpus,
                              const cs_hidden_options *options, cs_picture_pooling pooling,
                              float **out)
{
    const grid g = grid_of(&model->config);
    cs_hidden_options o = *options;
    float *x = NULL;
    assert(pooling != CS_PICTURE_AUTO);
    if (pooling < CS_PICTURE_PATCHES) {
        o.pooling = (cs_pooling)(CS_POOL_MEAN + (int)pooling);
        return cs_document_features(model, corpus, &o, out);
    }
    cs_status status = cs_patch_features(model, corpus, &o, &x);
    if (status == CS_OK && pooling == CS_PICTURE_CELLS)
        status = pool_cells(&g, model->config.shape.width, options->layers * corpus->documents, x);
    return CS_DELIVER(status, out, x, cs_drop);
}

/* --- pixels ----------------------------------------------------------------------------------- */

typedef struct {
    const cs_corpus *corpus;
    const uint8_t *keep;
    float *to;
} reading;

static cs_status read_image(void *ctx, int64_t d)
{
    const reading *r = ctx;
    const cs_corpus *c = r->corpus;
    const int64_t first = c->doc_ptr[d];
    return r->keep && !r->keep[d]
               ? CS_OK
               : cs_vectors_take((void *)(uintptr_t)c, first, c->doc_ptr[d + 1] - first, 0, 0,
                                 r->to + first * c->real_width);
}

int64_t cs_picture_values(const cs_model *model, const cs_corpus *patches, bool of_patch)
{
    return (of_patch ? 1 : patches->doc_ptr[1]) *
           (patches->real_width == 0 ? model->codes->book.width : patches->real_width);
}

cs_status cs_picture_pixels(const cs_corpus *corpus, const uint8_t *keep, int threads, float **out)
{
    const int64_t values = corpus->tokens * corpus->real_width;
    cs_status status = cs_mem_check(4.0 * (double)values, NULL, "%s: pixels of %lld images take",
                                    corpus->name, (long long)corpus->documents);
    if (status != CS_OK) return status;
    float *made = cs_calloc(values, sizeof *made);
    reading job = {corpus, keep, made};
    status = made ? cs_parallel(corpus->documents, threads, read_image, &job) : CS_ERR_MEMORY;
    return CS_DELIVER(status, out, made, cs_drop);
}
