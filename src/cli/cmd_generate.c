/* cospec generate: texts, or images of codes, drawn from a model. */
#include "infer/generate.h"

#include <math.h>
#include <string.h>

#include "analysis/vision/patch_values.h"
#include "base/auto.h"
#include "base/ints.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "image/patches.h"
#include "io/npy.h"
#include "text/encoder.h"

/* The order of generation, for models that support any order and are not causal too. */
static cs_status take_order(const cs_args *args, cs_generate_options *o)
{
    const int order = cs_args_choice(args, "order");
    o->order = (cs_reveal)(order - 1);
    if (order == 0) {
        const bool any = o->kind != CS_KIND_HYBRID &&
                         cs_generate_check(o->kind, o->content, CS_REVEAL_RANDOM) == CS_OK;
        o->order = any ? CS_REVEAL_RANDOM : CS_REVEAL_LEFT;
        cs_reason_clear();
    }
    return cs_blame(cs_generate_check(o->kind, o->content, o->order), "--order %s",
                    cs_args_text(args, "order"));
}

static cs_status take_options(const cs_args *args, const cs_model_text *t, cs_encoder *prompt,
                              cs_generate_options *o)
{
    const char *text = cs_args_text(args, "prompt");
    *o = (cs_generate_options){.kind = t->kind.kind,
                               .content = t->kind.pretrained,
                               .from_nothing = t->kind.from_nothing,
                               .count = cs_args_int(args, "n"),
                               .top_p = cs_args_real(args, "top-p"),
                               .progress = cs_output_progress(args)};
    CS_ARGS_FIELDS(args, o, temperature, batch, seed);
    if (!t->kind.likelihood) {
        return cs_fail(CS_ERR_USAGE,
                       "%s was trained with the %s loss, so its outputs are not probabilities",
                       t->dir, cs_loss_name(t->kind.loss));
    }
    cs_status status = cs_model_text_has_tokenizer(t);
    if (status == CS_OK) status = take_order(args, o);
    if (status == CS_OK)
        status = cs_model_text_around(t, cs_args_text(args, "special"), &o->around);
    if (status != CS_OK) return status;
    const int64_t extra = cs_most(o->around.befores, o->from_nothing) + o->around.afters;
    cs_encoder_init(prompt, t->tokenizer);
    if (text) status = cs_encoder_encode(prompt, text, (int64_t)strlen(text), false);
    o->prompt = prompt->id;
    o->prompt_length = prompt->count;
    o->length = cs_model_config_length(&t->model.config, 32 + extra) - extra;
    CS_ARGS_FIELDS(args, o, length);
    return cs_blame(status, "--prompt");
}

/* --- images ----------------------------------------------------------------------------------- */

/* Images that were drawn. */
typedef struct {
    int64_t count;
    double *nll;
    int32_t *code;  /* count x patches, along rows, from 0 */
    float *values;  /* count images */
    cs_images like; /* their sizes */
} drawn_images;

static cs_status draw_images(const cs_args *args, cs_model_text *t, cs_pool *pool, drawn_images *d)
{
    const cs_model_config *c = &t->model.config;
    const cs_draw_options o = {.steps = cs_args_int(args, "steps"),
                               .temperature = cs_args_real(args, "temperature"),
                               .choice = cs_args_real(args, "choice-temperature"),
                               .seed = cs_args_seed(args)};
    cs_patch_reader reader = {0};
    d->count = cs_args_int(args, "n");
    d->like = (cs_images){
        .height = c->picture.height, .width = c->picture.width, .channels = c->picture.channels};
    cs_status status =
        c->shape.extra_width > 0
            ? cs_fail(CS_ERR_USAGE, "the model reads extra vectors of images")
            : cs_patch_reader_open(&t->model, &t->kind, cs_args_int(args, "batch"), &reader);
    if (status != CS_OK) return status;
    const int64_t patches = d->count * reader.patches, values = patches * reader.values;
    float *made = cs_pool_take(pool, values, sizeof *made),
          *none = cs_pool_take(pool, values, sizeof *none);
    int32_t *hidden = cs_pool_take(pool, patches, sizeof *hidden);
    d->nll = cs_pool_take(pool, d->count, sizeof *d->nll);
    d->code = cs_pool_take(pool, patches, sizeof *d->code);
    d->values = cs_pool_take(pool, values, sizeof *d->values);
    status = pool->status;
    for (int64_t i = 0; i < patches && status == CS_OK; ++i) {
        hidden[i] = 1;
        d->code[i] = CS_FIRST_CODE;
    }
    if (status == CS_OK)
        status =
            cs_patches_draw(&reader, d->count, none, NULL, hidden, NULL, &o, d->code, d->nll, made);
    for (int64_t i = 0; i < patches && status == CS_OK; ++i) {
        d->code[i] -= CS_FIRST_CODE;
    }
    const int64_t picture = reader.patches * reader.values;
    for (int64_t i = 0; i < d->count && status == CS_OK; ++i) {
        cs_patches_join(made + i * picture, c->picture.height, c->picture.width,
                        c->picture.channels, c->picture.patch, NULL, d->values + i * picture);
    }
    cs_patch_reader_close(&reader);
    return status;
}

static uint8_t byte_of(float value)
{
    return (uint8_t)lround(fmin(fmax(255 * (double)value, 0), 255));
}

/* The images as bytes, clipped, and on a sheet. */
static cs_status write_images(cs_args *args, const drawn_images *d)
{
    const cs_images *m = &d->like;
    const int64_t values = m->height * m->width * m->channels, columns = cs_least(8, d->count),
                  rows = cs_least(8, (d->count + columns - 1) / columns);
    const char *path[3] = {NULL};
    CS_AUTO_FREE uint8_t *pixel = cs_alloc(d->count * values, 1);
    cs_cells cells = {0};
    const cs_picture like = {.height = m->height, .width = m->width, .channels = m->channels};
    cs_status status = pixel ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < d->count * values && status == CS_OK; ++i) {
        pixel[i] = byte_of(d->values[i]);
    }
    if (status == CS_OK) status = cs_output_path(args, "images.npy", &path[0]);
    if (status == CS_OK)
        status = cs_npy_write(path[0], CS_U8, 4,
                              (int64_t[]){d->count, m->height, m->width, m->channels}, pixel);
    if (status == CS_OK) status = cs_output_path(args, "generated.png", &path[1]);
    if (status == CS_OK) status = cs_cells_make(rows, columns, &like, &cells);
    for (int64_t i = 0; i < cs_least(d->count, rows * columns) && status == CS_OK; ++i) {
        for (int64_t y = 0; y < m->height * cells.scale; ++y) {
            for (int64_t x = 0; x < m->width * cells.scale; ++x) {
                memcpy(cs_cells_at(&cells, i / columns, i % columns, y, x),
                       pixel + i * values +
                           (y / cells.scale * m->width + x / cells.scale) * m->channels,
                       (size_t)m->channels);
            }
        }
    }
    if (status == CS_OK) status = cs_png_write(path[1], &cells.picture);
    cs_picture_free(&cells.picture);
    return status;
}

static cs_status generate_images(cs_args *args, cs_model_text *t)
{
    static const cs_view view = {"images[]", "number=# nll"};
    CS_AUTO(cs_pool) pool = {0};
    drawn_images d = {0};
    cs_item *root = cs_output_root(args);
    cs_status status =
        cs_args_refuse(args, "prompt length top-p order special", "does not apply to images");
    if (status == CS_OK) status = draw_images(args, t, &pool, &d);
    cs_item_text(root, "model", t->dir);
    cs_item_int(root, "steps", cs_args_int(args, "steps"));
    cs_item_real(root, "temperature", cs_args_real(args, "temperature"));
    cs_item_real(root, "choice_temperature", cs_args_real(args, "choice-temperature"));
    cs_item *list = cs_item_array(root, "images");
    for (int64_t i = 0; i < d.count && status == CS_OK; ++i) {
        const int64_t patches =
            t->model.config.shape.positions - cs_model_config_extra(&t->model.config);
        cs_item *image = cs_item_object(list, NULL);
        cs_item_real(image, "nll", d.nll[i]);
        cs_item *codes = cs_item_array(image, "codes");
        for (int64_t k = 0; k < patches; ++k) {
            cs_item_int(codes, NULL, d.code[i * patches + k]);
        }
    }
    if (status == CS_OK && cs_args_given(args, "output")) status = write_images(args, &d);
    return status == CS_OK ? cs_output_record(args, "generate", &view) : status;
}

static cs_status run_generate(cs_args *args)
{
    static const cs_view view = {"texts[]", "number=# text nll"};
    CS_AUTO(cs_model_text) t = {0};
    CS_AUTO(cs_encoder) prompt = {0};
    cs_generate_options o = {0};
    CS_AUTO(cs_generated) g = {0};
    cs_status status = cs_args_model_open(args, cs_args_positional(args, 0), &t);
    if (status == CS_OK && t.model.codes) return generate_images(args, &t);
    if (status == CS_OK)
        status =
            cs_args_refuse(args, "steps choice-temperature", "needs a model of codes of images");
    if (status == CS_OK) status = take_options(args, &t, &prompt, &o);
    if (status == CS_OK) status = cs_generate(&t.model, &o, &g);
    cs_item_text(cs_output_root(args), "model", t.dir);
    if (status == CS_OK) status = cs_generated_record(&g, &o, t.tokenizer, cs_output_root(args));
    return status == CS_OK ? cs_output_record(args, "generate", &view) : status;
}

static const cs_opt generate_options[] = {
    CS_TEXT("prompt", "TEXT", NULL,
            "Beginning of every text. Default: none, for masked models and for models that can "
            "predict a first token (--empty-prefix shared, or a begin token)."),
    CS_SPECIAL,
    CS_INT("n", "N", "1", 1, 1 << 24, "Number of texts or images."),
    CS_INT("length", "L", NULL, 1, 1 << 20,
           "Tokens of a text, with the prompt. Default: 32, or the model's positions."),
    CS_REAL("temperature", "T", "1", 0, 1e6,
            "Divide logits by T. 0: always take the most probable token."),
    CS_REAL("top-p", "P", "1", 1e-9, 1,
            "Draw among the smallest set of tokens whose probabilities reach P."),
    CS_CHOICE("order", "auto|left|random|confidence", "auto",
              "Order of drawing: left to right, random, or most confident first. Causal models "
              "draw from the left. auto: random if the model allows any order."),
    CS_INT("steps", "K", "12", 1, 1 << 20,
           "Images: steps of iterative decoding. Each keeps the most confident codes."),
    CS_REAL("choice-temperature", "T", "4.5", 0, 1e6,
            "Images: Gumbel noise of confidences, which falls to 0 over the steps. 0: none."),
    CS_INT("batch", "B", "64", 1, 65536, "Most texts or images per forward pass."),
    {0},
};

const cs_command cs_cmd_generate = {
    .name = "generate",
    .help = &cs_help_generate,
    .positional = "MODEL",
    .groups = (const cs_opt *const[]){generate_options, cs_group_roles, NULL},
    .run = run_generate,
    .files = "generate.json generate.csv generated.png images.npy",
    .without = "resume dry-run",
    .gpu = true,
    .shown = "number text nll",
};
