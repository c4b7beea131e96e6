/* Which documents of a text, what its rows see of each other, what goes around its pieces. */
#include "infer/model_text.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/number.h"
#include "text/encoder.h"

cs_status cs_model_text_read(const char *dir, cs_model_text *t)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, "tokenizer.json");
    cs_status status = path ? cs_model_read(dir, t->backend, false, &t->model) : CS_ERR_MEMORY;
    t->dir = dir;
    if (status == CS_OK) status = cs_model_kind_read(dir, &t->model, &t->kind);
    if (status == CS_OK && cs_path_exists(path)) {
        status = cs_tokenizer_read_for_model(dir, &t->tokenizer);
        if (status == CS_OK) status = cs_tokenizer_give_roles(t->tokenizer, t->role);
        if (status == CS_OK) cs_model_config_specials(&t->model.config, t->tokenizer);
    }
    for (int r = 0; r < CS_TOKEN_ROLES && status == CS_OK; ++r) {
        if (t->role[r]) status = cs_model_text_has_tokenizer(t);
    }
    return status;
}

cs_status cs_model_text_decoder(cs_model_text *t)
{
    if (!t->model.config.decoder.stack) {
        return cs_fail(CS_ERR_USAGE, "the model (%s) has no second stack",
                       cs_arch_name(t->model.config.arch));
    }
    t->decoder = true;
    t->kind.kind = CS_KIND_CAUSAL;
    return CS_OK;
}

cs_status cs_model_text_given(cs_model_text *t, const char *text)
{
    CS_AUTO(cs_encoder) encoder = {0};
    cs_corpus c = {.documents = 1, .doc_ptr = cs_calloc(2, sizeof *c.doc_ptr)};
    cs_status status = c.doc_ptr ? cs_model_text_has_tokenizer(t) : CS_ERR_MEMORY;
    cs_encoder_init(&encoder, t->tokenizer);
    if (status == CS_OK) status = cs_encoder_encode(&encoder, text, (int64_t)strlen(text), false);
    if (status == CS_OK) {
        c.tokens = c.doc_ptr[1] = encoder.count;
        c.token = cs_alloc(encoder.count, sizeof *c.token);
        status = c.token ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && encoder.count > 0)
        memcpy(c.token, encoder.id, (size_t)encoder.count * sizeof *c.token);
    return CS_DELIVER(status, &t->given, c, cs_corpus_free);
}

const cs_corpus *cs_model_text_sources(const cs_model_text *t)
{
    return t->given.documents > 0 ? &t->given : NULL;
}

cs_status cs_model_text_has_states(const cs_model_text *t)
{
    return t->kind.kind != CS_KIND_LINEAR
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "%s: architecture linear has no hidden states", t->dir);
}

cs_status cs_model_text_has_tokenizer(const cs_model_text *t)
{
    return t->tokenizer ? CS_OK
           : t->model.config.picture.patch > 0
               ? cs_fail(CS_ERR_USAGE, "%s: this model reads pictures, not texts", t->dir)
               : cs_fail(CS_ERR_INPUT,
                         "%s/tokenizer.json: not found, but texts need it; create it from "
                         "vocab.txt or vocab.json with transformers: "
                         "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
                         t->dir);
}

cs_status cs_model_text_choose(cs_model_text *t, const char *split, int64_t documents,
                               int64_t tokens)
{
    const cs_corpus *c = &t->corpus;
    t->keep = cs_calloc(c->documents, 1);
    if (!t->keep) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < c->documents && t->documents < documents && t->tokens < tokens; ++d) {
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

cs_status cs_model_text_attention(cs_model_text *t, const char *asked, int64_t draws, uint64_t seed,
                                  cs_content_masks *out)
{
    *out = (cs_content_masks){.attention = t->kind.attention, .draws = draws};
    if (strcmp(asked, "full") == 0) {
        out->attention = CS_ATTENTION_BIDIRECTIONAL;
    } else if (strcmp(asked, "plan") == 0) {
        out->attention = t->kind.pretrained;
    } else if (strcmp(asked, "auto") != 0) {
        cs_status status = cs_attention_by_name(asked, &out->attention);
        if (status != CS_OK) return status;
    }
    if (out->attention != CS_ATTENTION_PLAN) {
        return CS_OK;
    }
    out->objective = &t->objective;
    out->seed = seed;
    cs_plan_file_free(&t->plans);
    return cs_blame(cs_model_kind_objective(&t->kind, &t->plans, &t->objective),
                    "%s (give --attention causal or full, which do not need it)", t->dir);
}

cs_status cs_model_text_around(const cs_model_text *t, const char *special, cs_special_tokens *out)
{
    const bool usual = !t->kind.trained_here && t->tokenizer &&
                       (t->kind.kind == CS_KIND_CAUSAL || t->kind.kind == CS_KIND_MASKED);
    const cs_model_config *c = &t->model.config;
    const bool begins =
        t->kind.trained_here && c->head.classes > 0 && c->head.readout == CS_READ_FIRST;
    *out = (cs_special_tokens){0};
    static const int32_t of_pictures[] = {0,  2,  3,  4,  5,  6,  7,  8, 9,
                                          10, 11, 12, 13, 14, 15, 16, 17};
    if (cs_model_config_extra(c) > 0 || c->picture.patch > 0) { /* the class token */
        *out = (cs_special_tokens){.before = of_pictures, .befores = cs_model_config_extra(c)};
        return CS_OK;
    }
    if (begins && strcmp(special, "auto") == 0) { /* as its texts began in fine-tuning */
        *out = (cs_special_tokens){.before = &c->ids.bos, .befores = c->ids.bos >= 0};
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
        return cs_fail(CS_ERR_USAGE,
                       "--special yes: %s/tokenizer.json adds no special tokens to a text", t->dir);
    }
    return CS_OK;
}

cs_status cs_model_text_begun(const cs_model_text *t, const char *special, cs_special_tokens *out)
{
    const bool begins = t->kind.trained_here && t->kind.from_nothing &&
                        cs_kind_shifts(t->kind.kind) && t->model.config.ids.bos >= 0;
    cs_status status = cs_model_text_around(t, special, out);
    if (status == CS_OK && begins && strcmp(special, "auto") == 0)
        *out = (cs_special_tokens){.before = &t->model.config.ids.bos, .befores = 1};
    return status;
}

cs_status cs_model_text_layers(cs_model_text *t, const char *text, const char *what, int64_t *count)
{
    const int64_t last = cs_model_config_depth(&t->model.config, t->decoder),
                  first = strcmp(text, "all") == 0 ? 0 : last;
    if (first > 0 && strcmp(text, "last") != 0) {
        return cs_parse_int_list(text, what, 0, last, count, &t->layer);
    }
    *count = last - first + 1;
    t->layer = cs_alloc(*count, sizeof *t->layer);
    for (int64_t l = first; t->layer && l <= last; ++l) {
        t->layer[l - first] = l;
    }
    return t->layer ? CS_OK : CS_ERR_MEMORY;
}

void cs_model_text_free(cs_model_text *t)
{
    cs_model_free(&t->model);
    cs_tokenizer_free(&t->tokenizer);
    cs_corpus_free(&t->corpus);
    cs_corpus_free(&t->given);
    CS_FREE_FIELDS(t, keep, layer);
    cs_backend_free(&t->backend);
    cs_model_kind_free(&t->kind);
    cs_plan_file_free(&t->plans);
    memset(t, 0, sizeof *t);
}
