/* Codes and their file. */
#include "image/codes.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/patches.h"
#include "io/safetensors.h"

enum { SIZES = 5, PICTURES = 64 };

cs_status cs_codes_fit(const cs_images *images, int64_t patch, int64_t codes, uint64_t seed,
                       int threads, cs_codes **out)
{
    cs_codes *made = cs_calloc(1, sizeof *made);
    if (!made) return CS_ERR_MEMORY;
    made->patch = patch;
    made->channels = images->channels;
    cs_status status = cs_codebook_of_images(images, patch, codes, seed, threads, &made->book);
    return CS_DELIVER(status, out, made, cs_codes_free);
}

cs_status cs_codes_network(cs_codes *codes, const cs_vq_sizes *sizes, int threads, bool training)
{
    codes->vq = cs_calloc(1, sizeof *codes->vq);
    return codes->vq ? cs_vq_init(sizes, threads, training, codes->vq) : CS_ERR_MEMORY;
}

cs_codes *cs_codes_share(cs_codes *codes)
{
    if (codes) {
        codes->owners += 1;
    }
    return codes;
}

void cs_codes_free(cs_codes **held)
{
    if (*held && (*held)->owners-- == 0) {
        cs_codebook_free(&(*held)->book);
        if ((*held)->vq) {
            cs_vq_free((*held)->vq);
        }
        cs_free((*held)->vq);
        cs_free(*held);
    }
    *held = NULL;
}

/* --- the file --------------------------------------------------------------------------------- */

cs_status cs_codes_write(const cs_codes *codes, const char *path)
{
    const cs_vq none = {0}, *vq = codes->vq ? codes->vq : &none;
    const int64_t sizes[] = {codes->height, codes->width, vq->sizes.width, vq->sizes.layers,
                             vq->sizes.heads};
    CS_AUTO_FREE cs_safetensors_entry *entry = cs_calloc(2 + vq->params.count, sizeof *entry);
    cs_safetensors_writer *writer = NULL;
    int64_t count = 0;
    if (!entry) return CS_ERR_MEMORY;
    if (codes->vq) {
        entry[count++] =
            (cs_safetensors_entry){.name = "sizes", .dtype = CS_I64, .ndim = 1, .shape = {SIZES}};
    }
    entry[count++] = (cs_safetensors_entry){
        .name = "vector",
        .dtype = CS_F32,
        .ndim = 4,
        .shape = {codes->book.codes, codes->patch, codes->patch, codes->channels}};
    count += cs_vq_entries(vq, entry + count);
    cs_status status = cs_safetensors_writer_open(path, count, entry, 0, NULL, &writer);
    if (status == CS_OK && codes->vq)
        status = cs_safetensors_writer_put(writer, sizes, (int64_t)sizeof sizes);
    if (status == CS_OK)
        status = cs_safetensors_writer_put(writer, codes->book.centre,
                                           codes->book.codes * codes->book.width *
                                               (int64_t)sizeof *codes->book.centre);
    if (status == CS_OK && codes->vq) status = cs_vq_write(vq, writer);
    if (status == CS_OK) status = cs_safetensors_writer_commit(&writer);
    cs_safetensors_writer_abort(&writer);
    return status;
}

static cs_status take_vectors(const char *path, const cs_safetensors *file, cs_codes *codes)
{
    const cs_safetensors_entry *entry = cs_safetensors_find(file, "vector");
    if (!entry || entry->ndim != 4 || entry->items < 1 || entry->shape[1] != entry->shape[2] ||
        entry->shape[0] > INT32_MAX - CS_FIRST_CODE) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: expected a tensor 'vector' of codes x patch x patch x channels", path);
    }
    codes->patch = entry->shape[1];
    codes->channels = entry->shape[3];
    codes->book = (cs_codebook){.codes = entry->shape[0], .width = entry->items / entry->shape[0]};
    codes->book.centre = cs_alloc(entry->items, sizeof *codes->book.centre);
    cs_status status = codes->book.centre ? cs_safetensors_read_f32(file, entry, 0, entry->items,
                                                                    codes->book.centre)
                                          : CS_ERR_MEMORY;
    for (int64_t i = 0; i < entry->items && status == CS_OK; ++i) {
        if (!isfinite(codes->book.centre[i]))
            status =
                cs_fail(CS_ERR_INPUT, "%s: code %lld: value %lld is not finite", path,
                        (long long)(i / codes->book.width), (long long)(i % codes->book.width));
    }
    return status;
}

/* The encoder and decoder of a trained tokenizer, where the file has them. */
static cs_status take_network(const char *path, const cs_safetensors *file, int threads,
                              cs_codes *codes)
{
    const cs_safetensors_entry *entry = cs_safetensors_find(file, "sizes");
    int64_t size[SIZES] = {0};
    if (!entry) {
        return CS_OK;
    }
    cs_status status = entry->dtype == CS_I64 && entry->items == SIZES
                           ? cs_safetensors_read(file, entry, 0, SIZES, size)
                           : cs_fail(CS_ERR_INPUT, "%s: 'sizes' must be five int64 numbers", path);
    if (status != CS_OK) return status;
    const int64_t p = codes->patch;
    for (int i = 0; i < 2; ++i) {
        if (size[i] < p || size[i] > 1 << 16 || size[i] % p != 0) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: pictures of %lld x %lld are not a multiple of the patch size, %lld",
                           path, (long long)size[0], (long long)size[1], (long long)p);
        }
    }
    codes->height = size[0];
    codes->width = size[1];
    const cs_vq_sizes s = {size[0] / p * (size[1] / p), codes->book.width, size[2], size[3],
                           size[4]};
    status = cs_codes_network(codes, &s, threads, false);
    return status == CS_OK ? cs_vq_read(path, file, codes->vq)
                           : cs_blame(status == CS_ERR_USAGE ? CS_ERR_INPUT : status, "%s", path);
}

cs_status cs_codes_read(const char *path, int threads, cs_codes **out)
{
    cs_safetensors *file = NULL;
    cs_codes *made = cs_calloc(1, sizeof *made);
    cs_status status = made ? cs_safetensors_open(path, &file) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_safetensors_verify(file);
    if (status == CS_OK) status = take_vectors(path, file, made);
    if (status == CS_OK) status = take_network(path, file, threads, made);
    cs_safetensors_free(file);
    return CS_DELIVER(status, out, made, cs_codes_free);
}

/* --- by a network ----------------------------------------------------------------------------- */

/* Applies one part of the network to pictures, PICTURES at a time: the encoder turns patches into
 * codes, the decoder turns vectors into patches. */
typedef struct {
    const cs_images *images;
    int64_t first, patch, picture; /* picture: values of one */
    float *rows;
} reading;

static cs_status read_picture(void *ctx, int64_t k)
{
    const reading *r = ctx;
    return cs_patches_read(r->images, r->first + k, r->patch, r->rows + k * r->picture);
}

static cs_status encode_all(const cs_codes *codes, const cs_images *m, int threads, int32_t *code)
{
    const cs_vq_sizes *s = &codes->vq->sizes;
    const int64_t picture = s->patches * s->values;
    cs_vq_pass pass = {0};
    CS_AUTO_FREE float *rows = cs_alloc(PICTURES * picture, sizeof *rows);
    cs_status status =
        rows ? cs_vq_open(codes->vq, CS_VQ_ENCODER, PICTURES, false, &pass) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < m->count && status == CS_OK; i += PICTURES) {
        const int64_t n = cs_least(PICTURES, m->count - i);
        reading r = {m, i, codes->patch, picture, rows};
        status = cs_parallel(n, threads, read_picture, &r);
        if (status == CS_OK) status = cs_vq_encode(&pass, n, rows, rows);
        if (status == CS_OK)
            status = cs_codebook_assign(&codes->book, rows, n * s->patches, threads,
                                        code + i * s->patches);
        if (status == CS_OK) status = cs_interrupt_check();
    }
    cs_vq_close(&pass);
    return status;
}

static cs_status decode_all(const cs_codes *codes, int64_t pictures, float *values)
{
    const int64_t picture = codes->vq->sizes.patches * codes->vq->sizes.values;
    cs_vq_pass pass = {0};
    cs_status status = cs_vq_open(codes->vq, CS_VQ_DECODER, PICTURES, false, &pass);
    for (int64_t i = 0; i < pictures && status == CS_OK; i += PICTURES) {
        const int64_t n = cs_least(PICTURES, pictures - i);
        status = cs_vq_decode(&pass, n, values + i * picture, values + i * picture);
    }
    cs_vq_close(&pass);
    return status;
}

cs_status cs_codes_decode(const cs_codes *codes, int64_t pictures, int64_t patches,
                          const int32_t *id, float *out)
{
    const int64_t width = codes->book.width;
    for (int64_t i = 0; i < pictures * patches; ++i) {
        const int64_t code = id[i] - CS_FIRST_CODE;
        if (code < 0 || code >= codes->book.codes) {
            return cs_fail(CS_ERR_INPUT, "picture %lld, patch %lld: id %d is not a code",
                           (long long)(i / patches), (long long)(i % patches), id[i]);
        }
        memcpy(out + i * width, codes->book.centre + code * width, (size_t)width * sizeof *out);
    }
    return codes->vq ? decode_all(codes, pictures, out) : CS_OK;
}

/* --- pictures --------------------------------------------------------------------------------- */

cs_status cs_codes_encode(const cs_codes *codes, const cs_images *images, int threads,
                          int32_t **code)
{
    cs_status status = cs_patch_check(images, codes->patch);
    if (status == CS_OK && images->channels != codes->channels)
        status = cs_fail(CS_ERR_USAGE, "%s: pictures have %lld channels, but the codes have %lld",
                         images->name, (long long)images->channels, (long long)codes->channels);
    const bool network = codes->vq;
    if (status == CS_OK && network &&
        (images->height != codes->height || images->width != codes->width))
        status =
            cs_fail(CS_ERR_USAGE, "%s: pictures are %lld x %lld, but the codes are for %lld x %lld",
                    images->name, (long long)images->height, (long long)images->width,
                    (long long)codes->height, (long long)codes->width);
    if (status != CS_OK) return status;
    const int64_t patches = images->height / codes->patch * (images->width / codes->patch);
    *code = cs_alloc(images->count * patches, sizeof **code);
    if (!*code) return CS_ERR_MEMORY;
    return network ? encode_all(codes, images, threads, *code)
                   : cs_codebook_encode(&codes->book, images, codes->patch, threads, *code);
}

cs_status cs_codes_corpus(const cs_codes *codes, const cs_images *images, const char *window,
                          int threads, cs_corpus *out)
{
    CS_AUTO_FREE int32_t *code = NULL;
    cs_status status = cs_codes_encode(codes, images, threads, &code);
    if (status == CS_OK)
        status = cs_codes_windows(images, codes->patch, code, codes->book.codes, window, out);
    return status;
}

cs_status cs_codes_values(const cs_codes *codes, const cs_corpus *corpus, const int32_t *order,
                          float **out)
{
    const int64_t patches = corpus->tokens / corpus->documents;
    CS_AUTO_FREE int32_t *id = cs_alloc(corpus->tokens, sizeof *id);
    float *made = cs_alloc(corpus->tokens * codes->book.width, sizeof *made);
    for (int64_t i = 0; id && i < corpus->tokens; ++i) {
        id[order ? i - i % patches + order[i % patches] : i] = corpus->token[i];
    }
    cs_status status =
        id && made ? cs_codes_decode(codes, corpus->documents, patches, id, made) : CS_ERR_MEMORY;
    return CS_DELIVER(status, out, made, cs_drop);
}

cs_status cs_codes_compare(const cs_codes *codes, const cs_images *images, bool held_out,
                           int threads, cs_codes_score *out)
{
    const int64_t width = codes->book.width,
                  patches = images->height / codes->patch * (images->width / codes->patch),
                  picture = patches * width;
    cs_codes_score score = {0};
    CS_AUTO(cs_corpus) corpus = {0};
    CS_AUTO_FREE float *made = cs_alloc(PICTURES * picture, sizeof *made),
                       *rows = cs_alloc(PICTURES * picture, sizeof *rows);
    CS_AUTO_FREE uint8_t *seen = cs_calloc(codes->book.codes, 1);
    cs_status status = made && rows && seen ? cs_codes_corpus(codes, images, NULL, threads, &corpus)
                                            : CS_ERR_MEMORY;
    for (int64_t i = 0; i < corpus.tokens; ++i) {
        corpus.token[i] += CS_FIRST_CODE;
    }
    for (int64_t i = 0; i < images->count && status == CS_OK; i += PICTURES) {
        const int64_t n = cs_least(PICTURES, images->count - i);
        const int32_t *id = corpus.token + i * patches;
        reading r = {images, i, codes->patch, picture, rows};
        status = cs_codes_decode(codes, n, patches, id, made);
        if (status == CS_OK) status = cs_parallel(n, threads, read_picture, &r);
        for (int64_t k = 0; k < n * patches && status == CS_OK; ++k) {
            if ((images->held_out[i + k / patches] != 0) != held_out) continue;
            score.pictures += k % patches == 0;
            score.used += !seen[id[k] - CS_FIRST_CODE];
            seen[id[k] - CS_FIRST_CODE] = 1;
            for (int64_t v = k * width; v < (k + 1) * width; ++v) {
                score.error += pow((double)made[v] - (double)rows[v], 2);
            }
        }
    }
    score.error /= (double)(score.pictures * images->height * images->width * images->channels);
    if (status == CS_OK && score.pictures == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: no picture is in the %s split", images->name,
                         held_out ? "test" : "training");
    if (status == CS_OK) *out = score;
    return status;
}
