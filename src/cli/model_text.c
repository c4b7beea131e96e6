/* The parts of a model's directory are read in the order in which a mistake is most easily
 * understood: configuration and weights first, then the tokenizer, then the text. */
#include "cli/model_text.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/groups.h"
#include "cli/mistaken.h"
#include "cli/output.h"
#include "image/prepare.h"
#include "io/file.h"
#include "model/codes.h"
#include "tensor/device.h"

const cs_opt cs_group_model_text[] = {
    CS_CHOICE("split", "all|train|test", "all",
              "Which documents: all, or those of one side of --test-share."),
    CS_INT("limit", "N", NULL, 1, 1e15, "The first N of those documents only."),
    CS_INT("limit-tokens", "N", NULL, 1, 1e15, "Whole documents until they have N tokens."),
    CS_CHOICE("special", "auto|yes|no", "auto",
              "Put the tokenizer's special tokens around every piece. auto: for masked models "
              "that cospec train did not make; before a text of a fine-tuned one its begin token, "
              "where that was read."),
    CS_INT("max-length", "L", NULL, 1, 1 << 20,
           "Most tokens of a piece, special ones included. Default: the positions of the model, "
           "at most 512."),
    CS_INT("batch", "B", "16", 1, 65536, "Most pieces a forward pass."),
    {0},
};

const cs_opt cs_group_attention[] = {
    CS_CHOICE(
        "attention", "auto|causal|full|bidirectional|plan", "auto",
        "Which rows a row sees: those up to it, all (full and bidirectional are one), or what the "
        "plans that the model was trained on let its content see. auto: as the model was trained "
        "last."),
    CS_INT(
        "draws", "N", "4", 1, 100000,
        "Attention by plans: how many are drawn for each text (by --seed); results are means over "
        "them."),
    {0},
};

/* Remembers DIR/name as an input where it is there. */
static cs_status remember(cs_args *args, const char *dir, const char *name, bool *there)
{
    const char *path = cs_args_join(args, dir, name);
    *there = path && cs_path_exists(path);
    return !path ? CS_ERR_MEMORY : *there ? cs_output_input(args, path) : CS_OK;
}

cs_status cs_args_backend(const cs_args *args, bool half, cs_backend **out)
{
    const cs_device_options options = {.threads = cs_args_threads(args), .f32 = !half};
    char why[512];
    cs_status status = cs_device_open(cs_args_text(args, "device"), &options, why, sizeof why, out);
    if (status == CS_OK && why[0] != '\0' && cs_args_given(args, "device"))
        cs_output_note(args, "on the CPU: %s", why);
    return status;
}

cs_status cs_args_note_refused(const cs_args *args, cs_backend *backend)
{
    cs_backend_count row = {.what = ""};
    cs_status status = CS_OK;
    for (int64_t i = 0; backend->counted && status == CS_OK && row.what; ++i) {
        status = backend->counted(backend, i, &row);
        if (status == CS_OK && row.what && row.refused)
            cs_output_note(args, "slow: cuBLASLt refuses %s, a plain kernel does it", row.what);
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
        return cs_fail(CS_ERR_USAGE, "%s: want NAME=MODEL, a name without commas", argument);
    }
    return *name ? CS_OK : CS_ERR_MEMORY;
}

static cs_status open_tokenizer(cs_args *args, cs_model_text *t)
{
    const char *path = cs_args_join(args, t->dir, "tokenizer.json");
    cs_status status = path ? cs_tokenizer_read(path, &t->tokenizer) : CS_ERR_MEMORY;
    if (status == CS_OK) cs_model_config_specials(&t->model.config, t->tokenizer);
    return status;
}

cs_status cs_args_model_open(cs_args *args, const char *dir, cs_model_text *out)
{
    static const char *const parts[] = {"config.json", "model.safetensors",
                                        "model.safetensors.index.json"};
    bool there = false;
    cs_status status = cs_want(args, CS_ERR_INPUT, dir, CS_IS_MODEL);
    out->dir = dir;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == CS_OK; ++i) {
        status = remember(args, dir, parts[i], &there);
    }
    if (status == CS_OK && (status = cs_args_backend(args, false, &out->backend)) == CS_OK &&
        (status = cs_model_read(dir, out->backend, false, &out->model)) == CS_OK &&
        (status = cs_model_kind_read(dir, &out->model.config, &out->kind)) == CS_OK &&
        (status = remember(args, dir, "tokenizer.json", &there)) == CS_OK && there) {
        status = open_tokenizer(args, out);
    }
    return status;
}

cs_status cs_model_text_has_states(const cs_model_text *t)
{
    return t->kind.kind != CS_KIND_LINEAR
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "%s: architecture linear has no hidden states", t->dir);
}

cs_status cs_args_attention(const cs_args *args, cs_model_text *t, cs_content_masks *out)
{
    const char *asked = cs_args_text(args, "attention");
    *out = (cs_content_masks){.attention = t->kind.attention, .draws = cs_args_int(args, "draws")};
    if (strcmp(asked, "full") == 0) {
        out->attention = CS_ATTENTION_BIDIRECTIONAL;
    } else if (strcmp(asked, "plan") == 0) {
        out->attention = t->kind.pretrained;
    } else if (strcmp(asked, "auto") != 0) {
        cs_status status = cs_attention_by_name(asked, &out->attention);
        if (status != CS_OK) return status;
    }
    if (out->attention == CS_ATTENTION_PLAN) {
        out->objective = &t->objective;
        out->seed = cs_args_seed(args);
        cs_plan_file_free(&t->plans);
        return cs_blame(cs_model_kind_objective(&t->kind, &t->plans, &t->objective),
                        "%s (--attention causal and full read it without)", t->dir);
    }
    return cs_args_given(args, "draws")
               ? cs_fail(CS_ERR_USAGE, "--draws goes with attention by plans, not %s",
                         cs_attention_name(out->attention))
               : CS_OK;
}

/* Marks the documents of the split, up to the limits. */
static cs_status choose(const cs_args *args, cs_model_text *t)
{
    const char *split = cs_args_text(args, "split");
    int64_t most = cs_args_int_or(args, "limit", INT64_MAX);
    int64_t tokens = cs_args_int_or(args, "limit-tokens", INT64_MAX);
    const cs_corpus *c = &t->corpus;
    t->keep = cs_calloc(c->documents, 1);
    if (!t->keep) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < c->documents && t->documents < most && t->tokens < tokens; ++d) {
        if (strcmp(split, "all") == 0 || (strcmp(split, "test") == 0) == (c->held_out[d] != 0)) {
            t->keep[d] = 1;
            t->documents += 1;
            t->tokens += c->doc_ptr[d + 1] - c->doc_ptr[d];
        }
    }
    return t->documents > 0
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: no document in --split %s", c->name, split);
}

/* Pictures as the patches that the model reads. */
static cs_status read_patches(cs_args *args, const char *source, const cs_model *model,
                              cs_corpus *out)
{
    cs_images images = {0};
    cs_status status = cs_args_load_images(args, source, &images);
    if (status == CS_OK) status = cs_model_pictures(model, &images, cs_args_threads(args), out);
    cs_images_free(&images);
    return status;
}

cs_status cs_args_labelled_patches(cs_args *args, const cs_model *model, const int64_t limit[2],
                                   cs_labelled_text side[2], cs_corpus patches[2])
{
    const int sources = cs_args_positionals(args) - 1;
    cs_status status = cs_args_refuse(args, "pair regression pair-column pair-field tokens special",
                                      "has no meaning for pictures");
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const char *source = cs_args_positional(args, sources == 1 ? 1 : 1 + i);
        const int divided = sources == 1 || cs_images_named(source) ? i : -1;
        cs_corpus all = {0};
        status = read_patches(args, source, model, &all);
        if (status == CS_OK)
            status = cs_labelled_side(&all, divided, limit[i], i == 1 ? &side[0] : NULL, &side[i],
                                      &patches[i]);
        cs_corpus_free(&all);
    }
    return status;
}

cs_status cs_args_encode_corpus(cs_args *args, const char *source, const cs_model_text *t,
                                cs_corpus *out)
{
    cs_corpus_options options = {0};
    if (cs_images_are(source)) {
        return read_patches(args, source, &t->model, out);
    }
    cs_status status = cs_args_open_corpus(args, source, &options);
    if (status == CS_OK && !cs_has_suffix(source, ".npy")) status = cs_model_text_has_tokenizer(t);
    if (status == CS_OK) {
        options.encoder = t->tokenizer;
        status = cs_args_read_corpus(args, source, &options, out);
    }
    return status;
}

cs_status cs_args_model_corpus(cs_args *args, const char *source, cs_model_text *t)
{
    cs_status status = cs_args_encode_corpus(args, source, t, &t->corpus);
    return status == CS_OK ? choose(args, t) : status;
}

cs_status cs_args_around(const cs_args *args, const cs_model_text *t, cs_around *out)
{
    const char *special = cs_args_text(args, "special");
    bool usual = t->kind.kind == CS_KIND_MASKED && !t->kind.trained_here && t->tokenizer;
    const cs_model_config *c = &t->model.config;
    const bool begins = t->kind.trained_here && c->classes > 0 && c->readout == CS_READ_FIRST;
    *out = (cs_around){0};
    if (cs_model_config_extra(c) > 0) { /* the class token */
        *out = (cs_around){.before = &c->bos_id, .befores = 1};
        return CS_OK;
    }
    if (begins && strcmp(special, "auto") == 0) { /* as its texts began in fine-tuning */
        *out = (cs_around){.before = &c->bos_id, .befores = c->bos_id >= 0};
        return CS_OK;
    }
    if (strcmp(special, "no") == 0 || (strcmp(special, "auto") == 0 && !usual)) {
        return CS_OK;
    }
    if (!t->tokenizer) {
        return cs_fail(CS_ERR_USAGE, "--special yes: %s has no tokenizer.json", t->dir);
    }
    *out = cs_tokenizer_around(t->tokenizer);
    if (out->befores + out->afters == 0 && strcmp(special, "yes") == 0) {
        return cs_fail(CS_ERR_USAGE, "--special yes: %s/tokenizer.json puts none around a text",
                       t->dir);
    }
    return CS_OK;
}

cs_status cs_model_text_has_tokenizer(const cs_model_text *t)
{
    return t->tokenizer
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s/tokenizer.json: not there, and texts need it; of vocab.txt or "
                         "vocab.json transformers makes it: "
                         "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
                         t->dir);
}

static cs_status layers_of(const char *text, const char *option, int64_t last, int64_t *count,
                           int64_t **layer)
{
    if (strcmp(text, "all") != 0 && strcmp(text, "last") != 0) {
        char what[64];
        (void)snprintf(what, sizeof what, "--%s LIST|all|last", option);
        return cs_parse_int_list(text, what, 0, last, count, layer);
    }
    int64_t first = strcmp(text, "all") == 0 ? 0 : last;
    int64_t *list = cs_alloc(last - first + 1, sizeof *list);
    for (int64_t l = first; list && l <= last; ++l) {
        list[l - first] = l;
    }
    *count = last - first + 1;
    *layer = list;
    return list ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_args_hidden(const cs_args *args, cs_model_text *t, const char *layers,
                         cs_hidden_options *o)
{
    CS_ARGS_FIELDS(args, o, max_length, batch);
    o->progress = cs_output_progress(args);
    cs_status status = layers_of(cs_args_text(args, layers), layers, t->model.config.layers,
                                 &o->layers, &t->layer);
    o->layer = t->layer;
    if (status == CS_OK) status = cs_args_attention(args, t, &o->masks);
    return status == CS_OK ? cs_args_around(args, t, &o->around) : status;
}

void cs_model_text_free(cs_model_text *t)
{
    cs_model_free(&t->model);
    cs_tokenizer_free(&t->tokenizer);
    cs_corpus_free(&t->corpus);
    CS_FREE_FIELDS(t, keep, layer);
    cs_backend_free(&t->backend);
    cs_model_kind_free(&t->kind);
    cs_plan_file_free(&t->plans);
    memset(t, 0, sizeof *t);
}
