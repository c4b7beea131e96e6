/* Codes, their file, and pictures as a model reads them. */
#include "model/codes.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "image/patches.h"
#include "io/safetensors.h"

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
        cs_free(*held);
    }
    *held = NULL;
}

/* --- the file --------------------------------------------------------------------------------- */

cs_status cs_codes_write(const cs_codes *codes, const char *path)
{
    const cs_safetensors_entry entry = {
        .name = "vector",
        .dtype = CS_F32,
        .ndim = 4,
        .shape = {codes->book.codes, codes->patch, codes->patch, codes->channels}};
    cs_safetensors_writer *writer = NULL;
    cs_status status = cs_safetensors_writer_open(path, 1, &entry, 0, NULL, &writer);
    if (status == CS_OK)
        status = cs_safetensors_writer_put(writer, codes->book.centre,
                                           codes->book.codes * codes->book.width *
                                               (int64_t)sizeof *codes->book.centre);
    if (status == CS_OK) status = cs_safetensors_writer_commit(&writer);
    cs_safetensors_writer_abort(&writer);
    return status;
}

static cs_status take_vectors(const char *path, const cs_safetensors *file, cs_codes *codes)
{
    const cs_safetensors_entry *entry = cs_safetensors_find(file, "vector");
    if (!entry || entry->ndim != 4 || entry->items < 1 || entry->shape[1] != entry->shape[2] ||
        entry->shape[0] > INT32_MAX - CS_FIRST_CODE) {
        return cs_fail(CS_ERR_INPUT, "%s: no tensor 'vector' of codes x patch x patch x channels",
                       path);
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

cs_status cs_codes_read(const char *path, cs_codes **out)
{
    cs_safetensors *file = NULL;
    cs_codes *made = cs_calloc(1, sizeof *made);
    cs_status status = made ? cs_safetensors_open(path, &file) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_safetensors_verify(file);
    if (status == CS_OK) status = take_vectors(path, file, made);
    cs_safetensors_free(file);
    return CS_DELIVER(status, out, made, cs_codes_free);
}

/* --- pictures --------------------------------------------------------------------------------- */

/* *code: count x T, fresh memory. */
static cs_status encode(const cs_codes *codes, const cs_images *images, int threads, int32_t **code)
{
    cs_status status = cs_patch_check(images, codes->patch);
    if (status == CS_OK && images->channels != codes->channels)
        status = cs_fail(CS_ERR_USAGE, "%s: pictures of %lld channels, and the codes are of %lld",
                         images->name, (long long)images->channels, (long long)codes->channels);
    if (status != CS_OK) return status;
    const int64_t patches = images->height / codes->patch * (images->width / codes->patch);
    *code = cs_alloc(images->count * patches, sizeof **code);
    return *code ? cs_codebook_encode(&codes->book, images, codes->patch, threads, *code)
                 : CS_ERR_MEMORY;
}

cs_status cs_codes_corpus(const cs_codes *codes, const cs_images *images, const char *window,
                          int threads, cs_corpus *out)
{
    int32_t *code = NULL;
    cs_status status = encode(codes, images, threads, &code);
    if (status == CS_OK)
        status = cs_codes_windows(images, codes->patch, code, codes->book.codes, window, out);
    cs_free(code);
    return status;
}

cs_status cs_codes_values(const cs_codes *codes, const cs_corpus *corpus, float **out)
{
    const int64_t width = codes->book.width;
    float *made = cs_alloc(corpus->tokens * width, sizeof *made);
    cs_status status = made ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < corpus->tokens && status == CS_OK; ++i) {
        const int64_t code = corpus->token[i] - CS_FIRST_CODE;
        if (code < 0 || code >= codes->book.codes) {
            status = cs_fail(CS_ERR_INPUT, "%s: place %lld: id %d is no code", corpus->name,
                             (long long)i, corpus->token[i]);
        } else {
            memcpy(made + i * width, codes->book.centre + code * width,
                   (size_t)width * sizeof *made);
        }
    }
    return CS_DELIVER(status, out, made, cs_drop);
}

cs_status cs_model_pictures(const cs_model *model, const cs_images *images, int threads,
                            cs_corpus *out)
{
    const cs_model_config *c = &model->config;
    int32_t *id = NULL;
    cs_status status =
        cs_model_config_sees(c, images->name, images->height, images->width, images->channels);
    if (status == CS_OK && c->real_width == 0 && !model->codes)
        status = cs_fail(CS_ERR_USAGE, "the model reads codes, and there is no codes.safetensors");
    if (status == CS_OK && model->codes) {
        const int64_t patches = images->count * (c->positions - cs_model_config_extra(c));
        status = encode(model->codes, images, threads, &id);
        for (int64_t i = 0; i < patches && status == CS_OK; ++i) {
            id[i] += CS_FIRST_CODE;
        }
    }
    if (status == CS_OK)
        status = (c->real_width > 0 ? cs_images_patches : cs_images_ids)(images, c->patch, NULL, id,
                                                                         c->vocab, out);
    cs_free(id);
    return status;
}
