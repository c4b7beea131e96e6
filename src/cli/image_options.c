/* Images from the command line: how a source is read, resized and cropped, and codes of patches. */
#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "image/codes.h"
#include "image/field.h"
#include "image/image_sources.h"
#include "io/file.h"
#include "io/number.h"
#include "text/synthetic.h"

cs_status cs_args_no_pictures(const char *what, const char *source)
{
    if (cs_corpus_joined(source) && !cs_path_exists(source)) {
        return cs_fail(CS_ERR_USAGE, "%s one corpus of pictures, but %s contains several", what,
                       source);
    }
    const char *side = NULL;
    return cs_corpus_named(source, &side) || cs_synthetic_named(source) || cs_path_exists(source)
               ? cs_fail(CS_ERR_USAGE, "%s pictures, but %s has none", what, source)
               : cs_source_unknown(source);
}

/* "N" or "HxW"; alone: the second side of "N". */
static cs_status read_sides(const cs_args *args, const char *option, bool square, int64_t side[2])
{
    enum { MOST_SIDE = 65535 };
    const bool takes = cs_args_find(args, option, strlen(option));
    const char *text = takes ? cs_args_text(args, option) : NULL;
    const char *by = text ? strchr(text, 'x') : NULL;
    side[0] = side[1] = 0;
    if (!text) return CS_OK;
    CS_AUTO_FREE char *first = cs_format("%.*s", by ? (int)(by - text) : (int)strlen(text), text);
    if (!first) return CS_ERR_MEMORY;
    const char *name = strcmp(option, "size") == 0 ? "--size N or HxW" : "--crop N or HxW";
    cs_status status = cs_parse_int(first, name, 1, MOST_SIDE, &side[0]);
    if (status == CS_OK && by) return cs_parse_int(by + 1, name, 1, MOST_SIDE, &side[1]);
    side[1] = square ? side[0] : 0;
    return status;
}

cs_status cs_args_processor(const cs_args *args, int64_t channels, cs_processor *p)
{
    int64_t size[2] = {0}, crop[2] = {0};
    cs_status status = read_sides(args, "size", false, size);
    if (status == CS_OK) status = read_sides(args, "crop", true, crop);
    return status == CS_OK && (size[0] > 0 || crop[0] > 0)
               ? cs_processor_of_sizes(size, crop, channels, p)
               : status;
}

/* Fits images that were read as they are. Masks and boxes would stay, and real values have no
 * pixels: such images are left to the model, unless --size or --crop is given. */
static cs_status fit_now(const cs_args *args, const cs_image_fit *fit, bool given,
                         cs_images *images)
{
    cs_images made = {0};
    const bool plain = !images->mask && !images->box_ptr && !images->value;
    if (!plain && given) {
        return cs_fail(CS_ERR_USAGE,
                       "--size and --crop do not apply to %s: it has masks, boxes or real values",
                       images->name);
    }
    if (!plain ||
        !cs_processor_changes(fit->processor, images, fit->height, fit->width, fit->channels)) {
        return CS_OK;
    }
    cs_status status = cs_processor_images(fit->processor, images, fit->height, fit->width,
                                           fit->channels, cs_args_threads(args), &made);
    if (status != CS_OK) return status;
    made.file_height = images->height;
    made.file_width = images->width;
    cs_free(images->pixel);
    *images = made;
    return CS_OK;
}

static void note_images(cs_args *args, const char *source, bool given, const cs_images *m)
{
    if (m->skipped > 0)
        cs_output_note(args, "%s: skipped %" PRId64 " files, not images: %s%s", source, m->skipped,
                       m->skipped_name, m->skipped > 1 ? ", ..." : "");
    if (m->unread)
        cs_output_note(args, "%s is not read: the held-out side is the validation folder",
                       m->unread);
    if (m->fitted && (m->file_height != m->height || m->file_width != m->width)) {
        const char *various =
            m->file_height > 0 ? cs_args_format(args, "images of %lld x %lld",
                                                (long long)m->file_height, (long long)m->file_width)
                               : "images of various sizes";
        cs_output_note(args, "%s: %s are read as %" PRId64 " x %" PRId64 "%s", source,
                       various ? various : "images", m->height, m->width,
                       given ? "" : ", as preprocessor_config.json of the model says");
    }
}

cs_status cs_args_load_images(cs_args *args, const char *source, const cs_image_fit *of_model,
                              int64_t most_bytes, cs_images *out)
{
    const char *other = cs_args_given_in(args, "vocab min-tokens format");
    if (!other && cs_args_given_in(args, "tokenizer") &&
        !cs_has_suffix(cs_args_text(args, "tokenizer"), ".safetensors")) {
        other = "tokenizer";
    }
    if (!other && cs_images_named(source) && cs_args_given(args, "test-share")) {
        other = "test-share"; /* it has its own split */
    }
    if (other)
        return cs_fail(CS_ERR_USAGE, "--%s does not apply to the pictures %s", other, source);
    CS_AUTO(cs_processor) own = {0};
    cs_images_options options = {.progress = cs_output_progress(args), .most_bytes = most_bytes};
    CS_ARGS_FIELDS(args, &options, test_share, seed, threads);
    const char *extra = cs_args_given_in(args, "extra") ? cs_args_text(args, "extra") : NULL;
    cs_status status = cs_args_processor(args, of_model ? of_model->channels : 0, &own);
    cs_image_fit fit = of_model ? *of_model : (cs_image_fit){0};
    if (own.json) fit.processor = &own;
    options.fit = fit.processor && fit.processor->json ? &fit : NULL;
    if (status == CS_OK) status = cs_images_load(source, &options, out);
    if (status == CS_OK && options.fit && !out->fitted)
        status = fit_now(args, &fit, own.json != NULL, out);
    if (status == CS_OK) note_images(args, source, own.json != NULL, out);
    if (status == CS_OK && !cs_field_named(source)) status = cs_output_input(args, out->path);
    if (status == CS_OK && extra) status = cs_output_input(args, extra);
    return status == CS_OK && extra ? cs_images_extra(extra, out) : status;
}

cs_status cs_args_codes(cs_args *args, const cs_images *images, cs_codes **out)
{
    const char *name = cs_args_text(args, "tokenizer");
    const int threads = cs_args_threads(args);
    if (!cs_has_suffix(name, ".safetensors")) {
        return cs_codes_fit(images, cs_args_int(args, "patch"), cs_args_int(args, "codes"),
                            cs_args_seed(args), threads, out);
    }
    cs_status status =
        cs_args_refuse(args, "patch codes", "does not apply to a tokenizer of pictures");
    if (status == CS_OK) status = cs_output_input(args, name);
    return status == CS_OK ? cs_codes_read(name, threads, out) : status;
}
