#include "cli/model_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/vision/picture_features.h"
#include "base/auto.h"
#include "cli/argument_kind.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "image/image_sources.h"
#include "infer/document_pieces.h"
#include "io/npy.h"
#include "io/safetensors.h"

const cs_opt cs_group_model_text[] = {
    CS_HEADING("Text that the model reads"),
    CS_CHOICE("split", "all|train|test", "all",
              "Which documents: all, or one side of --test-share."),
    CS_INT("limit", "N", NULL, 1, 1e15, "Read only the first N of those documents."),
    CS_INT("limit-tokens", "N", NULL, 1, 1e15, "Read whole documents until they have N tokens."),
    CS_SPECIAL,
    CS_INT("max-length", "L", NULL, 1, 1 << 20,
           "Most tokens of a piece, special tokens included. Default: the positions of the model, "
           "at most 512."),
    CS_CHOICE("long", "truncate|split", "truncate",
              "Documents longer than --max-length: read the beginning only, or all pieces."),
    CS_INT("batch", "B", "16", 1, 65536, "Most pieces per forward pass."),
    {0},
};

const cs_opt cs_group_attention[] = {
    CS_HEADING("Attention"),
    CS_CHOICE("attention", "auto|causal|full|bidirectional|plan", "auto",
              "Attention mask: causal, bidirectional (or full), or by the plans of the "
              "training objective. auto: as in the last training of the model."),
    CS_INT("draws", "N", "4", 1, 100000,
           "--attention plan: number of plans drawn for each text; results are their means."),
    {0},
};

const cs_opt cs_group_stack[] = {
    CS_HEADING("Encoder and decoder (t5)"),
    CS_CHOICE("stack", "encoder|decoder", "encoder",
              "Which stack of t5. decoder: by teacher forcing, as transformers does with labels = "
              "input_ids (docs/reference/model-config.md)."),
    {0},
};

const cs_opt cs_group_sources[] = {
    CS_HEADING("Encoder and decoder (t5)"),
    CS_TEXT("source", "TEXT", NULL,
            "--stack decoder: the encoder reads TEXT for every document. Without it the encoder "
            "reads what the decoder predicts, which gives no likelihood."),
    CS_TEXT("sources", "CORPUS", NULL,
            "--stack decoder: the encoder reads the document of CORPUS with the same number."),
    CS_FLAG("no-source", "--stack decoder: the encoder reads only special tokens."),
    {0},
};

cs_status cs_args_backend(const cs_args *args, cs_device_options options, cs_backend **out)
{
    char why[512];
    options.threads = cs_args_threads(args);
    cs_status status = cs_device_open(cs_args_text(args, "device"), &options, why, sizeof why, out);
    if (status == CS_OK && why[0] != '\0' && cs_args_given(args, "device"))
        cs_output_note(args, "running on the CPU: %s", why);
    return status;
}

cs_status cs_args_note_refused(const cs_args *args, cs_backend *backend)
{
    cs_backend_count row = {.what = ""};
    cs_status status = CS_OK;
    for (int64_t i = 0; backend->counted && status == CS_OK && row.what; ++i) {
        status = backend->counted(backend, i, &row);
        if (status == CS_OK && row.what && row.refused)
            cs_output_note(args, "slow: cuBLASLt refuses %s, so a plain kernel is used", row.what);
    }
    return status;
}

cs_status cs_args_named_model(cs_args *args, const char *argument, const char **name,
                              const char **dir)
{
    const char *equals = strchr(argument, '='), *start = argument;
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    *dir = equals ? equals + 1 : argument;
    if (!equals) {
        while (length > 1 && argument[length - 1] == '/') {
            --length;
        }
        const char *slash = memrchr(argument, '/', length);
        start = slash && slash + 1 < argument + length ? slash + 1 : argument;
        length -= (size_t)(start - argument);
    }
    *name = cs_args_format(args, "%.*s", (int)length, start);
    if (*name && ((*name)[0] == '\0' || strchr(*name, ','))) {
        return cs_fail(CS_ERR_USAGE, "%s: expected NAME=MODEL with a name without commas",
                       argument);
    }
    return *name ? CS_OK : CS_ERR_MEMORY;
}

/* Which stack is asked, and what its encoder reads, where the command has these options. */
static cs_status take_stack(cs_args *args, cs_model_text *t)
{
    const char *stack = "stack", *sources = "sources";
    if (!cs_args_find(args, stack, strlen(stack))) {
        return CS_OK;
    }
    if (!cs_args_is(args, stack, "decoder")) {
        return cs_args_refuse(args, "source sources no-source", "needs --stack decoder");
    }
    cs_status status = cs_model_text_decoder(t);
    if (status != CS_OK || !cs_args_find(args, sources, strlen(sources))) return status;
    const char *text = cs_args_text(args, "source"), *corpus = cs_args_text(args, sources);
    const bool none = cs_args_flag(args, "no-source");
    if ((text != NULL) + (corpus != NULL) + none > 1) {
        return cs_fail(CS_ERR_USAGE, "--source, --sources and --no-source exclude each other");
    }
    return corpus         ? cs_args_encode_corpus(args, corpus, t, &t->given)
           : text || none ? cs_blame(cs_model_text_given(t, text ? text : ""), "--source")
                          : CS_OK;
}

/* A length beyond the one that a model without a table of positions was made for is computed. */
static void note_long(const cs_args *args, const cs_model_config *config)
{
    const char *name = cs_args_find(args, "length", 6) ? "length" : "max-length";
    const int64_t made = config->shape.positions > 0 ? 0 : config->position.longest;
    if (made > 0 && cs_args_find(args, name, strlen(name)) && cs_args_int_or(args, name, 0) > made)
        cs_output_note(args, "--%s exceeds the %lld tokens that the model was trained for", name,
                       (long long)made);
}

/* Settings of a published model that the class of its architecture does not read either. */
static cs_status note_unread(const cs_args *args, const char *dir, const cs_model *model)
{
    const cs_arch arch = model->config.arch;
    char *names = NULL;
    cs_status status = cs_config_unread(model->source, arch, &names);
    if (names)
        cs_output_note(args, "%s/config.json: ignored, since architecture %s does not read it: %s",
                       dir, cs_arch_name(arch), names);
    cs_free(names);
    if (json_object_get(model->source, "auto_map"))
        cs_output_note(args,
                       "%s/config.json: the model's own code (auto_map) is not run; the model "
                       "is read as %s",
                       dir, cs_arch_name(arch));
    const char *type = cs_json_string(model->source, "model_type");
    cs_arch known;
    if (*type && strcmp(type, "cospec") != 0 && cs_arch_by_name(type, &known) != CS_OK)
        cs_output_note(
            args, "%s/config.json: model_type '%s' is read as %s, by the class in architectures",
            dir, type, cs_arch_name(arch));
    cs_reason_clear(); /* of the unknown name */
    return status;
}

/* Every file that holds a tensor. */
static cs_status input_shards(cs_args *args, const char *dir)
{
    cs_safetensors *file = NULL;
    const char *last = "";
    cs_status status = cs_safetensors_open_model(dir, &file);
    for (int64_t i = 0; status == CS_OK && i < cs_safetensors_count(file); ++i) {
        const char *path = cs_safetensors_path(file, cs_safetensors_at(file, i));
        if (strcmp(path, last) != 0) status = cs_output_input(args, path);
        last = path;
    }
    cs_safetensors_free(file);
    return status;
}

cs_status cs_args_model_inputs(cs_args *args, const char *dir)
{
    bool there = false;
    cs_status status = cs_args_input_part(args, dir, "config.json", &there);
    if (status == CS_OK) status = cs_args_tokenizer_input(args, dir);
    if (status == CS_OK) status = cs_args_input_part(args, dir, "codes.safetensors", &there);
    if (status == CS_OK) status = cs_args_input_part(args, dir, "preprocessor_config.json", &there);
    if (status == CS_OK) status = cs_args_input_part(args, dir, "model.safetensors", &there);
    if (status != CS_OK || there) return status;
    status = cs_args_input_part(args, dir, "model.safetensors.index.json", &there);
    return status == CS_OK && there ? input_shards(args, dir) : status;
}

/* Adds the record that the kind was read from to the inputs. */
static cs_status input_record(cs_args *args, const char *dir, const cs_model_kind *kind)
{
    bool there = false;
    cs_status status = kind->record ? cs_args_input_part(args, dir, kind->record, &there) : CS_OK;
    return status == CS_OK && kind->options ? cs_args_input_part(args, dir, kind->options, &there)
                                            : status;
}

cs_status cs_args_model_open(cs_args *args, const char *dir, cs_model_text *out)
{
    cs_status status = cs_require_kind(args, CS_ERR_INPUT, dir, CS_IS_MODEL);
    if (status == CS_OK) status = cs_args_model_inputs(args, dir);
    if (status == CS_OK)
        status = cs_args_backend(args, (cs_device_options){.f32 = true}, &out->backend);
    cs_args_roles(args, out->role);
    if (status == CS_OK) status = cs_model_text_read(dir, out);
    if (status == CS_OK) status = input_record(args, dir, &out->kind);
    if (status == CS_OK && out->model.params.place)
        cs_output_note(
            args, "%s: larger than half of the free memory; read from the file as needed", dir);
    if (status == CS_OK && out->tokenizer) cs_tokenizer_note(args, dir, out->tokenizer);
    if (status == CS_OK) note_long(args, &out->model.config);
    if (status == CS_OK) status = note_unread(args, dir, &out->model);
    return status == CS_OK ? take_stack(args, out) : status;
}

cs_status cs_args_attention(const cs_args *args, cs_model_text *t, cs_content_masks *out)
{
    cs_status status = cs_model_text_attention(t, cs_args_text(args, "attention"),
                                               cs_args_int(args, "draws"), cs_args_seed(args), out);
    return status == CS_OK && out->attention != CS_ATTENTION_PLAN && cs_args_given(args, "draws")
               ? cs_fail(CS_ERR_USAGE, "--draws needs attention by plans, not %s",
                         cs_attention_name(out->attention))
               : status;
}

cs_status cs_args_model_pictures(cs_args *args, const cs_model *model, const cs_images *images,
                                 cs_corpus *out)
{
    const cs_model_config *c = &model->config;
    if (cs_processor_changes(&model->processor, images, c->picture.height, c->picture.width,
                             c->picture.channels))
        cs_output_note(args,
                       "%s: images of %" PRId64 " x %" PRId64 " are read as %" PRId64 " x %" PRId64
                       ", as preprocessor_config.json of the model says",
                       images->name, images->height, images->width, c->picture.height,
                       c->picture.width);
    return cs_model_pictures(model, images, cs_args_threads(args), out);
}

/* Pictures as the patches that the model reads. */
static cs_status read_patches(cs_args *args, const char *source, const cs_model *model,
                              cs_corpus *out)
{
    CS_AUTO(cs_images) images = {0};
    const cs_image_fit fit = cs_model_image_fit(model);
    cs_status status = cs_args_load_images(args, source, &fit, 1, &images);
    return status == CS_OK ? cs_args_model_pictures(args, model, &images, out) : status;
}

cs_status cs_args_picture_sides(cs_args *args, const cs_model *model, const int64_t limit[2],
                                cs_images side[2])
{
    const int sources = cs_args_positionals(args) - 1;
    const cs_image_fit fit = cs_model_image_fit(model);
    cs_status status = cs_args_refuse(args, "pair regression pair-column pair-field tokens special",
                                      "does not apply to pictures");
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const char *source = cs_args_positional(args, sources == 1 ? 1 : 1 + i);
        CS_AUTO(cs_images) all = {0};
        status = cs_args_load_images(args, source, &fit, 1, &all);
        if (status == CS_OK)
            status = cs_images_side(&all, sources == 1 || cs_images_named(source) ? i : -1,
                                    limit[i], &side[i]);
    }
    return status;
}

cs_status cs_args_labelled_patches(cs_args *args, const cs_model *model, const int64_t limit[2],
                                   cs_labelled_text side[2], cs_corpus patches[2])
{
    cs_images images[2] = {{0}};
    cs_status status = cs_args_picture_sides(args, model, limit, images);
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        CS_AUTO(cs_corpus) all = {0};
        status = cs_args_model_pictures(args, model, &images[i], &all);
        if (status == CS_OK)
            status = cs_labelled_side(&all, -1, 0, i == 1 ? &side[0] : NULL, &side[i], &patches[i]);
    }
    cs_images_free(&images[0]);
    cs_images_free(&images[1]);
    return status;
}

cs_status cs_args_encode_corpus(cs_args *args, const char *source, const cs_model_text *t,
                                cs_corpus *out)
{
    cs_corpus_options options = {0};
    bool images = false;
    cs_status status = cs_images_are(source, &images);
    if (status != CS_OK) return status;
    if (images) {
        return read_patches(args, source, &t->model, out);
    }
    status = cs_args_open_corpus(args, source, &options);
    if (status == CS_OK && !cs_npy_named(source)) status = cs_model_text_has_tokenizer(t);
    if (status == CS_OK) {
        options.encoder = t->tokenizer;
        status = cs_args_read_corpus(args, source, &options, out);
    }
    return status;
}

cs_status cs_args_model_corpus(cs_args *args, const char *source, cs_model_text *t)
{
    cs_status status = cs_args_encode_corpus(args, source, t, &t->corpus);
    return status == CS_OK ? cs_model_text_choose(t, cs_args_text(args, "split"),
                                                  cs_args_int_or(args, "limit", INT64_MAX),
                                                  cs_args_int_or(args, "limit-tokens", INT64_MAX))
                           : status;
}

cs_status cs_args_long(const cs_args *args, const cs_model_text *t, const cs_special_tokens *around,
                       bool *split)
{
    const cs_corpus *c = &t->corpus;
    const int64_t specials = around->befores + around->afters;
    int64_t length = cs_args_int_or(args, "max-length", 0), batch = 0, unread = 0, longer = 0;
    const bool asked = cs_args_find(args, "long", strlen("long")) != NULL;
    *split = asked && cs_args_is(args, "long", "split");
    cs_status status = cs_pieces_limits(&t->model.config, specials, &length, &batch);
    for (int64_t d = 0; d < c->documents && status == CS_OK && !*split; ++d) {
        const int64_t tokens = c->doc_ptr[d + 1] - c->doc_ptr[d];
        if (t->keep[d] && tokens > length - specials) {
            unread += tokens - (length - specials);
            ++longer;
        }
    }
    if (longer > 0)
        cs_output_note(args,
                       "%" PRId64 " of %" PRId64 " documents are longer than --max-length %" PRId64
                       ": %" PRId64 " of %" PRId64 " tokens are not read%s",
                       longer, t->documents, length, unread, t->tokens,
                       asked ? "; --long split reads all" : "");
    return status;
}

cs_status cs_args_hidden(const cs_args *args, cs_model_text *t, const char *layers,
                         cs_hidden_options *o)
{
    char what[64];
    (void)snprintf(what, sizeof what, "--%s LIST|all|last", layers);
    CS_ARGS_FIELDS(args, o, max_length, batch);
    o->progress = cs_output_progress(args);
    o->decoder = t->decoder;
    o->sources = cs_model_text_sources(t);
    cs_status status = cs_model_text_layers(t, cs_args_text(args, layers), what, &o->layers);
    o->layer = t->layer;
    if (status == CS_OK) status = cs_args_attention(args, t, &o->masks);
    if (status == CS_OK) status = cs_model_text_begun(t, cs_args_text(args, "special"), &o->around);
    return status == CS_OK ? cs_args_long(args, t, &o->around, &o->split) : status;
}

/* --- cospec probe --- */

enum { USUAL_SEEDS = 5 };

const cs_opt cs_group_probe[] = {
    CS_HEADING("Probe"),
    CS_TEXT("labels", "FILE", NULL,
            "Labels of TRAIN, one per row: FILE.npy (integers; with --regression any numbers), or "
            "FILE.txt, FILE.tsv with one label per line."),
    CS_TEXT("test-labels", "FILE", NULL, "Labels of TEST."),
    CS_TEXT("groups", "FILE.npy", NULL,
            "Group (document) of each row of TRAIN, as in cospec rank: a group is held out as a "
            "whole, and folds are not stratified."),
    CS_TEXT("test-groups", "FILE.npy", NULL,
            "Group of each row of TEST: blocks of the jackknife hold whole groups."),
    CS_FLAG("regression", "Labels are numbers, predicted by ridge regression."),
    CS_TEXT("metric", "LIST", "auto",
            "Metrics: accuracy, f1 (two classes), f1-macro, matthews; with --regression pearson, "
            "spearman, mse. auto: all."),
    CS_TEXT("few", "all|P%|N", "all",
            "Training examples to use: all, a share of each class, or N of each class (with "
            "--regression: in total), drawn by the seed."),
    CS_INT("seeds", "S", NULL, 1, 10000,
           "Number of repetitions with consecutive seeds, which draw the few examples and the "
           "folds. Default: 5, or 1 with --few all."),
    CS_INT("folds", "K", "5", 2, 1000000,
           "Number of stratified folds of the training examples that choose the penalty."),
    CS_REAL("validation-share", "P", NULL, CS_ABOVE_0, CS_BELOW_1,
            "Choose the penalty on this share of the training examples, held out once, instead of "
            "folds."),
    CS_TEXT("penalties", "LIST", NULL,
            "Penalties to choose from, in decreasing order; a single one is used as given. "
            "Default: 10,1,0.1,0.01,1e-3,1e-4,1e-5."),
    CS_FLAG("balanced", "Weight examples by n / (classes x examples of their class)."),
    CS_REAL("tolerance", "X", "1e-6", CS_ABOVE_0, 1,
            "Largest norm of the gradient at the end of a fit."),
    CS_INT("max-iterations", "N", "2000", 1, 1e9, "Most iterations of a fit."),
    {0},
};

const cs_opt cs_group_probe_texts[] = {
    CS_HEADING("Features from a model"),
    CS_TEXT("layer", "LIST|all|last", "last",
            "Layers to probe, as 0,3,6: 0 is the embeddings, N the output of layer N. Each gets a "
            "probe."),
    CS_CHOICE("pooling", CS_PICTURE_POOLINGS, "mean",
              "Features of a text: mean, first or last row. Images also: all patches, their means "
              "over 4 x 4 cells, or auto (the best on training examples)."),
    CS_FLAG("poolings",
            "Texts: also probe the last layer pooled in each way, from the same pass: as layers "
            "mean, first and last."),
    CS_INT("limit", "N", NULL, 1, 1e15,
           "Use only the first N texts of each side, whatever their classes. For files sorted by "
           "class use --few."),
    CS_SPECIAL,
    CS_INT("max-length", "L", NULL, 1, 1 << 20,
           "Most tokens of a text, special tokens included. Default: the positions of the model, "
           "at most 512."),
    CS_INT("batch", "B", "16", 1, 65536, "Most texts per forward pass."),
    CS_EXTRA,
    CS_CHOICE("head", "class|segmentation|detection", "class",
              "Images: predict their class, the class of every pixel (mIoU) or boxes (AP50). The "
              "last two predict patch by patch."),
    CS_INT("places", "N", "32768", 2, 1e9,
           "segmentation, detection: most training pixels or patches, drawn by the seed from the "
           "images of --few."),
    CS_CHOICE("baselines", "auto|yes|no", "auto",
              "Images: also probe the untrained network and the pixels. auto: the pixels up to "
              "4,096 values an image, since all of them are held in memory. With --tasks: no."),
    CS_FLAG("tokens",
            "Bag-of-words baseline: the features are the share of each token in the text, not the "
            "model's states."),
    {0},
};

cs_status cs_args_probe(cs_args *args, cs_probe_study *s, double **penalty)
{
    cs_linear_probe_options *fit = &s->fit;
    CS_ARGS_FIELDS(args, s, few);
    CS_ARGS_FIELDS(args, &s->scoring, seed);
    s->scoring.seeds = cs_args_int_or(args, "seeds", strcmp(s->few, "all") == 0 ? 1 : USUAL_SEEDS);
    *fit = (cs_linear_probe_options){.share = cs_args_real_or(args, "validation-share", 0.0),
                                     .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, fit, folds, balanced, tolerance, max_iterations, threads);
    if (cs_args_given(args, "folds") && cs_args_given(args, "validation-share")) {
        return cs_fail(CS_ERR_USAGE, "--folds and --validation-share exclude each other");
    }
    if (fit->balanced && cs_args_flag(args, "regression")) {
        return cs_fail(CS_ERR_USAGE, "--balanced weights classes, but --regression has none");
    }
    const char *list = cs_args_text(args, "penalties");
    cs_status status =
        list ? cs_parse_real_list(list, "--penalties", 0, 1e300, &fit->penalties, penalty) : CS_OK;
    for (int64_t i = 0; i < fit->penalties && status == CS_OK; ++i) {
        const double x = (*penalty)[i];
        if (!(x > 0) || (i > 0 && x >= (*penalty)[i - 1]))
            status = cs_fail(CS_ERR_USAGE,
                             "--penalties: %g: penalties must be positive and descending", x);
    }
    fit->penalty = *penalty;
    return status;
}
