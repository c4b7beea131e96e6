/* A model as a directory: model.safetensors and config.json in Hugging Face form (huggingface.h).
 *
 * Reading takes each parameter from its tensors and refuses what is missing, left over or of
 * another shape; hashes that the file carries are checked first. Streamed parameters are checked
 * likewise, and read when they are needed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "image/codes.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "model/arch_private.h"
#include "model/huggingface.h"
#include "model/model.h"

enum { READ_ITEMS = 1 << 20 }; /* of a tensor, at a time */

enum { SHAPE_TEXT = 24 * CS_SAFETENSORS_MAX_DIM };

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct {
    char *dir, *index;
    cs_safetensors *file;
    cs_model_config config;
    bool bare;     /* names lack the class's prefix */
    bool other;    /* the head is of a task that no command asks for */
    uint8_t *used; /* entries of the file that a parameter took */
} weights;

static void weights_free(void *ctx)
{
    weights *w = ctx;
    if (w) {
        cs_safetensors_free(w->file);
        CS_FREE_FIELDS(w, dir, index, used);
        cs_free(w);
    }
}

/* The file's entry of a name: as the class writes it, without the class's prefix in files of the
 * bare model, or with the words that the first BERT checkpoints have for gain and bias. */
static const cs_safetensors_entry *find(const weights *w, cs_arch arch, const char *name)
{
    size_t prefix = strlen(cs_hf_prefix(arch));
    if (w->bare && strncmp(name, cs_hf_prefix(arch), prefix) == 0) {
        name += prefix;
    }
    const cs_safetensors_entry *entry = cs_safetensors_find(w->file, name);
    const char *norm = entry ? NULL : strstr(name, "LayerNorm.");
    if (norm) {
        char old[CS_HF_NAME];
        bool gain = strcmp(norm, "LayerNorm.weight") == 0;
        (void)snprintf(old, sizeof old, "%.*sLayerNorm.%s", (int)(norm - name), name,
                       gain ? "gamma" : "beta");
        entry = cs_safetensors_find(w->file, old);
    }
    return entry;
}

/* Under its name, or under its other one. */
static const cs_safetensors_entry *find_piece(const weights *w, cs_arch arch,
                                              const cs_hf_piece *piece)
{
    const cs_safetensors_entry *entry = find(w, arch, piece->name);
    return !entry && piece->other[0] ? find(w, arch, piece->other) : entry;
}

static int64_t number_of(const weights *w, const cs_safetensors_entry *entry)
{
    return entry - cs_safetensors_at(w->file, 0);
}

/* "32 x 8"; of a single number "a number". */
static const char *shape_text(int ndim, const int64_t *shape, char text[SHAPE_TEXT])
{
    size_t used = 0;
    (void)snprintf(text, SHAPE_TEXT, "a number");
    for (int d = 0; d < ndim; ++d) {
        used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%lld", d > 0 ? " x " : "",
                                 (long long)shape[d]);
    }
    return text;
}

static cs_status check_shape(const weights *w, const cs_hf_piece *piece,
                             const cs_safetensors_entry *entry)
{
    int ndim;
    int64_t shape[CS_HF_SHAPE];
    char has[SHAPE_TEXT], wants[SHAPE_TEXT];
    cs_hf_shape(piece, &ndim, shape);
    bool same = entry->ndim == ndim;
    for (int d = 0; d < ndim && same; ++d) {
        same = entry->shape[d] == shape[d];
    }
    return same ? CS_OK
                : cs_fail(CS_ERR_INPUT, "%s: tensor %s has shape %s, but config.json requires %s",
                          cs_safetensors_path(w->file, entry), entry->name,
                          shape_text(entry->ndim, entry->shape, has),
                          shape_text(ndim, shape, wants));
}

/* Whether the parameter's rows are stored in the file in the same order and layout. */
static bool as_stored(const cs_hf_piece *piece)
{
    return !piece->transposed && !piece->swapped && piece->by_head == 0 && piece->channels == 0;
}

typedef struct {
    const cs_safetensors *file;
    const cs_safetensors_entry *entry;
    float *out;
} reading;

/* A weight that is no number would be found far from here, in what is computed with it. */
static cs_status read_part(void *ctx, int64_t item)
{
    const reading *r = ctx;
    const int64_t first = item * READ_ITEMS, count = cs_least(READ_ITEMS, r->entry->items - first);
    float *out = r->out + first;
    cs_status status = cs_safetensors_read_f32(r->file, r->entry, first, count, out);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        if (!isfinite(out[i])) {
            status = cs_fail(CS_ERR_INPUT, "%s: item %lld of tensor %s is not finite: %g",
                             cs_safetensors_path(r->file, r->entry), (long long)(first + i),
                             r->entry->name, (double)out[i]);
        }
    }
    return status;
}

static cs_status read_entry(const weights *w, const cs_safetensors_entry *entry, float *out)
{
    reading r = {.file = w->file, .entry = entry, .out = out};
    return cs_parallel((entry->items + READ_ITEMS - 1) / READ_ITEMS, 0, read_part, &r);
}

/* The file, or of several the index that should name a tensor. */
static const char *place_of(const weights *w)
{
    const int64_t count = cs_safetensors_count(w->file);
    const char *path = NULL;
    for (int64_t i = 0; i < count; ++i) {
        const char *next = cs_safetensors_path(w->file, cs_safetensors_at(w->file, i));
        if (path && path != next) {
            return w->index;
        }
        path = next;
    }
    return path ? path : w->dir;
}

/* One piece into its rows of `param`; NULL: checks it alone. */
static cs_status read_piece(const weights *w, const cs_hf_piece *piece, float *param)
{
    const int64_t items = piece->rows * piece->cols;
    const cs_safetensors_entry *entry = find_piece(w, w->config.arch, piece);
    if (!entry && piece->copy) {
        return CS_OK;
    }
    if (!entry && piece->optional) {
        for (int64_t i = 0; param && i < items; ++i) {
            param[piece->first * piece->cols + i] = piece->fill;
        }
        return CS_OK;
    }
    if (!entry) {
        return cs_fail(CS_ERR_INPUT, "%s: tensor %s is missing", place_of(w), piece->name);
    }
    cs_status status = check_shape(w, piece, entry);
    w->used[number_of(w, entry)] = 1;
    if (status != CS_OK || !param) return status;
    if (as_stored(piece)) {
        return read_entry(w, entry, param + piece->first * piece->cols);
    }
    CS_AUTO_FREE float *file = cs_alloc(items, sizeof *file);
    status = file ? read_entry(w, entry, file) : CS_ERR_MEMORY;
    if (status == CS_OK) cs_hf_rearrange(piece, true, param, file);
    return status;
}

/* Rows of the matrix, and the bias, before a layer scale take its factors, and the factors are then
 * ones. */
static cs_status join_factors(const weights *w, const cs_param *p, float *param)
{
    static const char *const of[][2] = {{"attention.output.", "attention.factor"},
                                        {"mlp.out.", "mlp.factor"}};
    const bool vector = p->rows == 1;
    const int64_t rows = vector ? p->cols : p->rows, cols = vector ? 1 : p->cols;
    for (int64_t i = 0; i < p->cols && cs_has_suffix(p->name, ".factor"); ++i) {
        param[i] = 1;
    }
    for (int k = 0; k < 2; ++k) {
        const char *at = strstr(p->name, of[k][0]);
        char name[CS_HF_NAME];
        cs_hf_piece piece[CS_HF_PIECES];
        if (!at) continue;
        (void)snprintf(name, sizeof name, "%.*s%s", (int)(at - p->name), p->name, of[k][1]);
        const cs_param factor = {.name = name, .rows = 1, .cols = rows};
        CS_AUTO_FREE float *value = cs_alloc(rows, sizeof *value);
        (void)cs_hf_pieces(&w->config, &factor, piece);
        cs_status status = value ? read_piece(w, piece, value) : CS_ERR_MEMORY;
        if (status != CS_OK) return status;
        for (int64_t i = 0; i < rows * cols; ++i) {
            param[i] *= value[i / cols];
        }
    }
    return CS_OK;
}

/* The table of relative positions of all layers joins those of each, and is then zero. */
static cs_status join_tables(const weights *w, const cs_param *p, float *param)
{
    const char *at = strstr(p->name, "relative.table");
    const int64_t items = p->rows * p->cols;
    if (!at) return CS_OK;
    if (at == p->name) {
        memset(param, 0, (size_t)items * sizeof *param);
        return CS_OK;
    }
    const cs_param all = {.name = (char[]){"relative.table"}, .rows = p->rows, .cols = p->cols};
    cs_hf_piece piece[CS_HF_PIECES];
    CS_AUTO_FREE float *value = cs_alloc(items, sizeof *value);
    (void)cs_hf_pieces(&w->config, &all, piece);
    cs_status status = value ? read_piece(w, piece, value) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < items && status == CS_OK; ++i) {
        param[i] += value[i];
    }
    return status;
}

/* Some programs store the one matrix of tied embeddings under the name of the output's. */
static void allow_output_name(const weights *w, const cs_param *p, cs_hf_piece *piece)
{
    if (w->config.head.tied && strcmp(p->name, "embed.token") == 0 && !piece->other[0]) {
        cs_hf_piece output[CS_HF_PIECES];
        const cs_param named = {
            .name = (char[]){"output.weight"}, .rows = p->rows, .cols = p->cols};
        (void)cs_hf_pieces(&w->config, &named, output);
        (void)snprintf(piece->other, sizeof piece->other, "%s", output[0].name);
    }
}

/* One parameter; NULL: checks its tensors alone. */
static cs_status read_param(const weights *w, const cs_param *p, float *param)
{
    char name[CS_HF_NAME];
    cs_param part;
    cs_status status = CS_OK;
    for (int64_t e = 0; cs_hf_part(&w->config, p, e, name, &part); ++e) {
        cs_hf_piece piece[CS_HF_PIECES];
        const int count = cs_hf_pieces(&w->config, &part, piece);
        allow_output_name(w, &part, piece);
        for (int i = 0; i < count && status == CS_OK; ++i) {
            status = read_piece(w, &piece[i], param ? param + e * part.rows * part.cols : NULL);
        }
    }
    if (status == CS_OK && param && w->config.scale.layer) status = join_factors(w, p, param);
    if (status == CS_OK && param && w->config.position.relative_tables == CS_RELATIVE_BOTH)
        status = join_tables(w, p, param);
    bool less_one = param && w->config.layer.gain_from_one && cs_has_suffix(p->name, ".gain");
    for (int64_t i = 0; i < p->cols && less_one; ++i) {
        param[i] += 1;
    }
    return status;
}

static cs_status fetch(void *ctx, const cs_params *params, int64_t number, float *out)
{
    return read_param(ctx, &params->param[number], out);
}

static cs_status check_left_over(const weights *w, const cs_model_config *config)
{
    for (int64_t i = 0; i < cs_safetensors_count(w->file); ++i) {
        const char *name = cs_safetensors_at(w->file, i)->name;
        const char *prefix = cs_hf_prefix(config->arch);
        const bool head = w->other && strncmp(name, prefix, strlen(prefix)) != 0;
        const bool empty = cs_safetensors_at(w->file, i)->items == 0;
        if (!w->used[i] && !empty && !head && !cs_hf_ignored(config, name)) {
            return cs_fail(CS_ERR_INPUT, "%s: the model of this configuration has no tensor %s",
                           cs_safetensors_path(w->file, cs_safetensors_at(w->file, i)), name);
        }
    }
    return CS_OK;
}

static cs_status read_weights(const weights *w, cs_model *model)
{
    cs_params *params = &model->params;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < params->count && status == CS_OK; ++i) {
        const cs_param *p = &params->param[i];
        cs_hf_piece piece[CS_HF_PIECES];
        if (!cs_hf_stored(&w->config, p)) continue;
        (void)cs_hf_pieces(&w->config, p, piece);
        if (p->constant && !find_piece(w, w->config.arch, piece)) continue; /* computed */
        if (cs_param_streamed(params, i)) {
            status = read_param(w, p, NULL);
            continue;
        }
        CS_AUTO_FREE float *value = cs_alloc(p->rows * p->cols, sizeof *value);
        status = value ? read_param(w, p, value) : CS_ERR_MEMORY;
        if (status == CS_OK) status = cs_params_set(params, i, CS_PARAM_VALUE, value);
    }
    return status == CS_OK ? check_left_over(w, &model->config) : status;
}

/* Files of a bare model have no head: the configuration is cut down to the existing parameters. A
 * head with a transform, a bias or its own matrix is reduced to the embeddings: training may begin
 * from them, but nothing that was trained predicts tokens. */
static void fit_head(const weights *w, bool training, cs_model_config *config)
{
    cs_param dense = {.name = (char[]){"head.dense.weight"}, .rows = 1, .cols = 1};
    cs_param bias = {.name = (char[]){"head.bias"}, .rows = 1, .cols = 1};
    cs_param output = {.name = (char[]){"output.weight"}, .rows = 1, .cols = 1};
    cs_hf_piece piece[CS_HF_PIECES], own[CS_HF_PIECES];
    (void)cs_hf_pieces(config, config->head.transform ? &dense : &output, piece);
    (void)cs_hf_pieces(config, &bias, own);
    const bool biased = config->head.bias && find_piece(w, config->arch, own),
               needs = config->head.transform || (!config->head.tied && w->bare);
    if (w->other || (needs && !find_piece(w, config->arch, piece)) ||
        (w->bare && config->head.bias && !biased)) {
        config->head.transform = false;
        config->head.tied = true;
        config->head.absent = !training || cs_arch_row_of(config->arch)->states_alone ||
                              config->shape.embed_width > 0;
        config->head.bias = biased;
    }
}

static const cs_safetensors_entry *entry_of(const weights *w, const cs_model_config *config,
                                            char *ours)
{
    const cs_param p = {.name = ours, .rows = 1, .cols = 1};
    cs_hf_piece piece[CS_HF_PIECES];
    (void)cs_hf_pieces(config, &p, piece);
    return find_piece(w, config->arch, piece);
}

static bool has(const weights *w, const cs_model_config *config, char *ours)
{
    return entry_of(w, config, ours) != NULL;
}

/* Whether two tensors have the same bits; a tensor that the file lacks equals any other. */
static cs_status same(const weights *w, const cs_safetensors_entry *a,
                      const cs_safetensors_entry *b, bool *out)
{
    *out = !a || !b || a->items == b->items;
    if (!a || !b || !*out) return CS_OK;
    float *x = cs_alloc(2 * READ_ITEMS, sizeof *x), *y = x ? x + READ_ITEMS : NULL;
    cs_status status = x ? CS_OK : CS_ERR_MEMORY;
    for (int64_t first = 0; first < a->items && status == CS_OK && *out; first += READ_ITEMS) {
        const int64_t count = cs_least(READ_ITEMS, a->items - first);
        status = cs_safetensors_read_f32(w->file, a, first, count, x);
        if (status == CS_OK) status = cs_safetensors_read_f32(w->file, b, first, count, y);
        *out = status != CS_OK || memcmp(x, y, (size_t)count * sizeof *x) == 0;
    }
    cs_free(x);
    return status;
}

/* An output matrix, or a second bias of the logits, that a file has in addition to the one it is
 * tied to, with other values: it is used, whatever config.json says of ties, as in transformers
 * 5. */
static cs_status fit_ties(const weights *w, cs_model_config *config)
{
    const cs_model_config *c = config;
    cs_model_config untied = *c;
    cs_hf_piece bias[CS_HF_PIECES];
    const cs_param p = {.name = (char[]){"head.bias"}, .rows = 1, .cols = 1};
    bool matrix = true, vector = true;
    if (!c->head.tied || c->head.absent || c->head.classes > 0 || c->head.target != CS_TARGET_IDS) {
        return CS_OK;
    }
    untied.head.tied = false;
    cs_status status = same(w, entry_of(w, c, (char[]){"output.weight"}),
                            entry_of(w, c, (char[]){"embed.token"}), &matrix);
    if (status == CS_OK && cs_hf_pieces(&untied, &p, bias) == 2)
        status = same(w, find(w, c->arch, bias[0].name), find(w, c->arch, bias[1].name), &vector);
    config->head.tied = matrix && vector;
    return status;
}

/* Files of two stacks, of their encoder alone, and of both without an output matrix. A matrix that is
 * there is used, whatever config.json says of ties, as transformers 5 does. */
static void fit_stacks(const weights *w, cs_model_config *config)
{
    const bool output = has(w, config, (char[]){"output.weight"});
    if (!has(w, config, (char[]){"decoder.norm.gain"})) {
        config->decoder = (cs_decoder_config){0};
    }
    config->decoder.headless = !output && !config->head.tied;
    config->head.tied = config->decoder.layers == 0 || !output;
}

/* Files of an encoder of pictures alone, or of its classifier, predict nothing of a picture. */
static void fit_pictures(const weights *w, cs_model_config *config)
{
    cs_param pixel = {.name = (char[]){"pixel.weight"}, .rows = 1, .cols = 1};
    cs_hf_piece piece[CS_HF_PIECES];
    (void)cs_hf_pieces(config, &pixel, piece);
    if (config->head.target != CS_TARGET_IDS && !find(w, config->arch, piece[0].name)) {
        config->head.target = CS_TARGET_IDS;
        config->decoder = (cs_decoder_config){0};
        config->arch = CS_ARCH_VIT;
    }
    config->head.absent = config->head.target == CS_TARGET_IDS && config->shape.vocab <= 2 &&
                          config->head.classes == 0;
}

/* Whether no tensor carries the class's prefix. */
static bool is_bare(const cs_safetensors *file, cs_arch arch)
{
    const char *prefix = cs_hf_prefix(arch);
    for (int64_t i = 0; i < cs_safetensors_count(file); ++i) {
        if (strncmp(cs_safetensors_at(file, i)->name, prefix, strlen(prefix)) == 0) {
            return false;
        }
    }
    return true;
}

/* The codes that the ids of the model stand for, in DIR/codes.safetensors where it has some. */
static cs_status read_codes(const char *dir, cs_model *model)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, CS_CODES_FILE);
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path)) {
        status = cs_codes_read(path, 0, &model->codes);
        if (status == CS_OK &&
            (model->codes->patch != model->config.picture.patch ||
             model->codes->book.codes + CS_FIRST_CODE != model->config.shape.vocab))
            status = cs_fail(
                CS_ERR_INPUT,
                "%s: %lld codes of patches of side %lld do not match the model, with %lld "
                "ids and patches of side %lld",
                path, (long long)model->codes->book.codes, (long long)model->codes->patch,
                (long long)model->config.shape.vocab, (long long)model->config.picture.patch);
    }
    return status;
}

static cs_status read_processor(const char *dir, cs_model *model)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, CS_PROCESSOR_FILE);
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path))
        status = cs_processor_read(path, cs_arch_name(model->config.arch),
                                   model->config.picture.channels, &model->processor);
    return status;
}

cs_status cs_model_refuse_adapter(const char *dir)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, "adapter_config.json");
    if (!path || !cs_path_exists(path)) return path ? CS_OK : CS_ERR_MEMORY;
    return cs_fail(CS_ERR_INPUT,
                   "%s: a LoRA adapter or another of the peft library, which is not a whole model; "
                   "merge it into its model with merge_and_unload(), save that with "
                   "save_pretrained() and give its directory",
                   path);
}

/* Which of two architectures with their own code the tensors are of, and which parts they have: the
 * names of the classes do not say. */
static cs_status fit_published(weights *w, const char *path, json_t *json)
{
    bool gates = false, mixes = false, joined = false;
    for (int64_t i = 0; i < cs_safetensors_count(w->file); ++i) {
        const char *name = cs_safetensors_at(w->file, i)->name;
        gates = gates || strstr(name, ".in_proj_vg.");
        mixes = mixes || strstr(name, "dwa_modules.");
        joined = joined || strstr(name, ".layers.0.attention.in_proj_qk.");
    }
    const cs_arch arch = joined ? CS_ARCH_LTG_BERT : CS_ARCH_GPT_BERT;
    json_auto_t *named = arch == w->config.arch ? NULL : json_copy(json);
    cs_status status = CS_OK;
    if (arch != w->config.arch) {
        cs_json_put(&status, named, "model_type", json_string(cs_arch_name(arch)));
        if (status == CS_OK) status = cs_model_config_parse(path, named, &w->config);
    }
    w->config.attention.gated = gates;
    w->config.layer.mixed = mixes;
    if (status == CS_OK && joined) status = cs_ltg_bert_split(w->dir, path, json, &w->config);
    return status;
}

/* Opens the files and fits the configuration to what they hold. */
static cs_status open_weights(const char *dir, const char *path, json_t *json, bool training,
                              weights **out)
{
    weights *w = cs_calloc(1, sizeof *w);
    if (!w) return CS_ERR_MEMORY;
    w->dir = cs_strdup(dir);
    w->index = cs_path_join(dir, "model.safetensors.index.json");
    cs_status status =
        w->dir && w->index ? cs_model_config_parse(path, json, &w->config) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_model_refuse_adapter(dir);
    if (status == CS_OK && (status = cs_safetensors_open_model(dir, &w->file)) == CS_OK &&
        (status = cs_safetensors_verify(w->file)) == CS_OK) {
        w->bare = is_bare(w->file, w->config.arch);
        w->other = cs_config_other_head(json);
        w->used = cs_calloc(cs_safetensors_count(w->file) + 1, 1);
        status = w->used ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && cs_arch_row_of(w->config.arch)->own_code)
        status = fit_published(w, path, json);
    if (status == CS_OK) {
        fit_head(w, training, &w->config);
        status = w->config.decoder.stack ? CS_OK : fit_ties(w, &w->config);
    }
    if (status == CS_OK) {
        if (w->config.decoder.stack) {
            fit_stacks(w, &w->config);
        }
        if (cs_arch_row_of(w->config.arch)->pictures) {
            fit_pictures(w, &w->config);
        }
    }
    *out = w;
    if (status != CS_OK) {
        weights_free(w);
        *out = NULL;
    }
    return status;
}

/* Whether the weights as floats would take over half of free memory. */
static bool too_large(const weights *w)
{
    double items = 0;
    for (int64_t i = 0; i < cs_safetensors_count(w->file); ++i) {
        items += (double)cs_safetensors_at(w->file, i)->items;
    }
    const double available = (double)cs_mem_available();
    return available > 0 && items * sizeof(float) > available / 2;
}

typedef enum { AS_FITS, TRAINED, STREAMED } keeping;

static cs_status read_model(const char *dir, cs_backend *backend, keeping keep, cs_model *out)
{
    weights *w = NULL;
    cs_model model = {0};
    json_auto_t *whole = NULL;
    CS_AUTO_FREE char *path = cs_path_join(dir, "config.json");
    cs_status status = path ? cs_json_read(path, &whole) : CS_ERR_MEMORY;
    json_t *json = cs_config_of_images(whole);
    if (status == CS_OK) status = open_weights(dir, path, json, keep == TRAINED, &w);
    bool streamed = status == CS_OK && backend->streams &&
                    (keep == STREAMED || (keep == AS_FITS && too_large(w)));
    const cs_params_source source = {.fetch = fetch, .free = weights_free, .ctx = w};
    if (status == CS_OK)
        status = streamed ? cs_model_init_streamed(&w->config, backend, source, &model)
                          : cs_model_init(&w->config, backend, keep == TRAINED, &model);
    if (status == CS_OK && (status = read_weights(w, &model)) == CS_OK) {
        model.trained = json_incref(json_object_get(json_object_get(json, "cospec"), "trained"));
        model.source = json_incref(json);
        const bool pictures = cs_arch_row_of(model.config.arch)->pictures;
        status = pictures ? read_codes(dir, &model) : CS_OK;
        if (status == CS_OK && pictures) status = read_processor(dir, &model);
    }
    if (!streamed) {
        weights_free(w);
    }
    return CS_DELIVER(status, out, model, cs_model_free);
}

cs_status cs_model_read(const char *dir, cs_backend *backend, bool training, cs_model *out)
{
    return read_model(dir, backend, training ? TRAINED : AS_FITS, out);
}

cs_status cs_model_read_streamed(const char *dir, cs_backend *backend, cs_model *out)
{
    return read_model(dir, backend, STREAMED, out);
}
