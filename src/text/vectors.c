#include "text/vectors.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

void cs_vectors_free(cs_vectors **vectors)
{
    cs_vectors *v = *vectors;
    *vectors = NULL;
    if (!v || v->owners-- > 0) return;
    cs_vectors_free(&v->of);
    cs_free(v->first);
    if (v->free) v->free(v->ctx);
    cs_free(v);
}

/* The first token of document d in the vectors that are read. */
static int64_t first_of(const cs_corpus *c, int64_t d)
{
    return c->vectors->of ? c->vectors->first[d] : c->doc_ptr[d];
}

cs_status cs_vectors_select(const cs_corpus *corpus, const uint8_t *keep, cs_vectors **out)
{
    cs_vectors *made = cs_calloc(1, sizeof *made);
    if (!made) return CS_ERR_MEMORY;
    made->of = corpus->vectors->of ? corpus->vectors->of : corpus->vectors;
    made->of->owners += 1;
    made->first = cs_alloc(corpus->documents, sizeof *made->first);
    for (int64_t d = 0, to = 0; made->first && d < corpus->documents; ++d) {
        if (keep[d]) made->first[to++] = first_of(corpus, d);
    }
    return CS_DELIVER(made->first ? CS_OK : CS_ERR_MEMORY, out, made, cs_vectors_free);
}

/* The document of a token. */
static int64_t document_of(const cs_corpus *c, int64_t token)
{
    int64_t low = 0, high = c->documents;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (c->doc_ptr[middle] <= token) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

cs_status cs_vectors_take(void *corpus, int64_t first, int64_t count, int64_t step, int64_t row,
                          float *to)
{
    const cs_corpus *c = corpus;
    const cs_vectors *v = c->vectors->of ? c->vectors->of : c->vectors;
    const int64_t d = document_of(c, first), skipped = first - c->doc_ptr[d],
                  all = c->doc_ptr[d + 1] - c->doc_ptr[d];
    if (count == all) return v->take(v->ctx, first_of(c, d), all, step, row, to);
    CS_AUTO_FREE float *whole = cs_alloc(all * c->real_width, sizeof *whole);
    if (!whole) return CS_ERR_MEMORY;
    cs_status status = v->take(v->ctx, first_of(c, d), all, step, row, whole);
    if (status == CS_OK)
        memcpy(to, whole + skipped * c->real_width,
               (size_t)(count * c->real_width) * sizeof *whole);
    return status;
}
