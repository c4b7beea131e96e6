/* Theorem 4.3 on what it takes: random linear attention on the toy model's sequences, or trained
 * models on a corpus. */
#include <stdlib.h>
#include <string.h>

#include "analysis/theorems/theorem_43.h"
#include "analysis/theorems/theorems.h"
#include "analysis/theorems/toy_contexts.h"
#include "base/auto.h"
#include "io/file.h"
#include "io/json.h"
#include "plan/spec.h"
#include "text/sequences.h"

enum { TOY_SEQUENCES = 128, TOY_WIDTH = 8, TOY_HEADS = 2, USUAL_LENGTH = 512 };

/* `name`: of a trained model, whose curve is ordered; a random model claims nothing of that. */
static cs_status audit(const cs_generation_bound_model *m, const cs_generation_bound_text *text,
                       const cs_generation_bound_options *o, const char *name, const char *input,
                       const char *against, cs_theorem_report *report)
{
    CS_AUTO(cs_generation_bound_audit) a = {0};
    cs_status status = cs_generation_bound_audit_of(m, text, o, &a);
    if (status == CS_OK) status = cs_generation_bound_state(m, &a, input, &report->statements);
    if (status == CS_OK && name)
        status = cs_generation_bound_state_order(&a, input, against, &report->statements);
    if (status == CS_OK)
        status =
            cs_generation_bound_curve(&a, name ? name : "random", o->against != NULL, report->rows);
    return status;
}

static cs_generation_bound_options options_of(const cs_theorem_input *in)
{
    return (cs_generation_bound_options){
        .masks = in->masks, .seed = in->seed, .progress = in->progress};
}

/* --- the toy model -----------------------------------------------------------------------------*/

typedef struct {
    cs_pool pool;
    int64_t count, vocab;
    int32_t *token;        /* count x length */
    const int32_t **start; /* count */
    int64_t *length;       /* count */
} toy_text;

static int by_id(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Numbers the tokens that occur 0, 1, ...: a large toy has millions that do not. */
static cs_status number_tokens(toy_text *t, int64_t count)
{
    int32_t *id = cs_pool_take(&t->pool, count, sizeof *id);
    if (!id) return CS_ERR_MEMORY;
    memcpy(id, t->token, (size_t)count * sizeof *id);
    qsort(id, (size_t)count, sizeof *id, by_id);
    for (int64_t i = 0; i < count; ++i) {
        if (i == 0 || id[i] != id[t->vocab - 1]) {
            id[t->vocab++] = id[i];
        }
    }
    for (int64_t i = 0; i < count; ++i) {
        const int32_t *at = bsearch(&t->token[i], id, (size_t)t->vocab, sizeof *id, by_id);
        t->token[i] = (int32_t)(at - id);
    }
    return CS_OK;
}

static cs_status toy_text_of(const cs_toy *toy, uint64_t seed, toy_text *t)
{
    double all = cs_toy_sequences(toy);
    t->count = all > TOY_SEQUENCES ? TOY_SEQUENCES : (int64_t)all;
    t->token = cs_pool_take(&t->pool, t->count * toy->length, sizeof *t->token);
    CS_POOL_FIELDS(&t->pool, t->count, t, start, length);
    if (t->pool.status != CS_OK) return t->pool.status;
    for (int64_t i = 0; i < t->count; ++i) {
        int32_t *token = t->token + i * toy->length;
        cs_rng rng = cs_rng_at(seed, CS_STREAM_TOY, (uint64_t)i);
        if (all > TOY_SEQUENCES) {
            cs_toy_sequence_draw(toy, &rng, token);
        } else {
            cs_toy_sequence(toy, i, token);
        }
        t->start[i] = token;
        t->length[i] = toy->length;
    }
    return number_tokens(t, t->count * toy->length);
}

static cs_status on_toy(const cs_theorem_input *in, cs_theorem_report *report)
{
    const cs_toy *toy = in->toy;
    toy_text t = {0};
    CS_AUTO(cs_generation_bound_model) m = {0};
    cs_generation_bound_options o = options_of(in);
    CS_AUTO_FREE char *about = cs_toy_describe(toy), *input = NULL;
    cs_status status = about ? cs_toy_check(toy) : CS_ERR_MEMORY;
    if (status == CS_OK && toy->length < 2)
        status = cs_fail(CS_ERR_USAGE, "Theorem 4.3 needs length >= 2, got %lld",
                         (long long)toy->length);
    if (status == CS_OK) status = cs_toy_unmasked(toy, &o.unmasked);
    if (status == CS_OK) status = toy_text_of(toy, o.seed, &t);
    if (status == CS_OK)
        status = cs_generation_bound_model_random(t.vocab, TOY_WIDTH, TOY_HEADS, o.seed, &m);
    if (status == CS_OK) {
        input = cs_format("random linear attention, %d features, %d heads, N=%lld: %s", TOY_WIDTH,
                          TOY_HEADS, (long long)o.unmasked, about);
        status = input ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        const cs_generation_bound_text text = {
            .count = t.count, .token = t.start, .length = t.length};
        status = audit(&m, &text, &o, NULL, input, NULL, report);
    }
    cs_pool_free(&t.pool);
    return status;
}

/* --- trained models ----------------------------------------------------------------------------*/

/* As the model was trained. */
static cs_status trained_masking(const char *dir, cs_objective *o)
{
    CS_AUTO_FREE char *path = cs_path_join(dir, "train.json");
    json_auto_t *json = NULL;
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path)) status = cs_json_read(path, &json);
    const char *text = json_string_value(json_object_get(json, "objective"));
    if (status == CS_OK && text)
        status = cs_blame(cs_objective_parse_described(text, NULL, o), "%s", path);
    if (status == CS_OK &&
        (!text || (o->kind != CS_OBJ_MASKED && o->kind != CS_OBJ_VARIABLE_MASKED))) {
        status = cs_fail(CS_ERR_USAGE,
                         "%s: the number of unmasked tokens is unknown (trained under %s); give "
                         "--unmasked or --mask-ratio",
                         dir, text ? text : "an unknown objective");
    }
    return status;
}

static cs_status take_unmasked(const cs_theorem_input *in, cs_generation_bound_options *options)
{
    cs_objective o = cs_objective_default(CS_OBJ_MASKED);
    cs_status status = CS_OK;
    if (in->masking) {
        o = *in->masking;
    } else {
        status = trained_masking(in->model.name, &o);
    }
    bool counted = status == CS_OK && o.unmasked_lo > 0;
    if (status == CS_OK &&
        (counted ? o.unmasked_lo != o.unmasked_hi : !(o.mask_ratio_lo == o.mask_ratio_hi))) {
        status = cs_fail(CS_ERR_USAGE, "Theorem 4.3 needs one number of unmasked tokens, not a "
                                       "range; give --unmasked M or --mask-ratio RHO");
    }
    options->unmasked = counted ? o.unmasked_lo : 0;
    options->mask_ratio = counted ? 0 : o.mask_ratio_lo;
    return status;
}

static cs_status same_tokens(const cs_theorem_input *in, const cs_generation_bound_model *m,
                             const cs_generation_bound_model *other)
{
    const cs_tokenizer *a = in->model.tokenizer, *b = in->against.tokenizer;
    bool same = !a == !b && m->vocab == other->vocab;
    if (same && a) {
        same = cs_tokenizer_vocab(a) == cs_tokenizer_vocab(b);
        for (int64_t i = 0; same && i < cs_tokenizer_vocab(a); ++i) {
            same =
                strcmp(cs_tokenizer_token(a, (int32_t)i), cs_tokenizer_token(b, (int32_t)i)) == 0;
        }
    }
    if (!same) {
        return cs_fail(CS_ERR_USAGE,
                       "%s and %s have different tokens, so their losses cannot be compared",
                       in->model.name, in->against.name);
    }
    if (in->model.likelihood != in->against.likelihood ||
        in->model.spectral_factor != in->against.spectral_factor) {
        return cs_fail(CS_ERR_USAGE, "%s and %s were trained with different losses", in->model.name,
                       in->against.name);
    }
    return CS_OK;
}

/* The shortest position table bounds the pieces, unless the user does. */
static cs_status piece_length(const cs_theorem_input *in, const cs_generation_bound_model *m,
                              const cs_generation_bound_model *other, int64_t *out)
{
    int64_t most = USUAL_LENGTH;
    const cs_generation_bound_model *models[] = {m, other};
    for (int i = 0; i < 2; ++i) {
        if (models[i]->positions > 0 && models[i]->positions < most) {
            most = models[i]->positions;
        }
    }
    *out = in->max_length > 0 ? in->max_length : most;
    bool table = m->positions > 0 || other->positions > 0;
    return table && *out > most
               ? cs_fail(CS_ERR_USAGE, "--max-length %lld exceeds the %lld positions of the model",
                         (long long)*out, (long long)most)
               : CS_OK;
}

typedef struct {
    cs_pool pool;
    cs_generation_bound_model model, against;
    cs_sequences sequences;
    const int32_t **start;
    int64_t *length;
} trained;

/* The pieces of the documents wanted. */
static cs_status cut(const cs_theorem_input *in, trained *t, cs_generation_bound_text *text)
{
    cs_sequences *s = &t->sequences;
    int64_t most = 0, kept = 0;
    cs_status status = piece_length(in, &t->model, &t->against, &most);
    if (status == CS_OK) status = cs_sequences_of(in->corpus, most, 0, s);
    if (status != CS_OK) return status;
    CS_POOL_FIELDS(&t->pool, s->count, t, start, length);
    if (t->pool.status != CS_OK) return t->pool.status;
    for (int64_t i = 0; i < s->count; ++i) {
        if (in->keep[s->document[i]]) {
            t->start[kept] = in->corpus->token + s->start[i];
            t->length[kept] = s->length[i];
            s->document[kept++] = s->document[i];
        }
    }
    *text = (cs_generation_bound_text){
        .count = kept, .token = t->start, .length = t->length, .document = s->document};
    return CS_OK;
}

static cs_status on_model(const cs_theorem_input *in, cs_theorem_report *report)
{
    trained t = {0};
    cs_generation_bound_text text = {0};
    cs_generation_bound_options o = options_of(in);
    const char *against = in->against.name;
    CS_AUTO_FREE char *input = cs_format("%s on %s", in->model.name, in->corpus_name);
    cs_status status = input ? cs_blame(cs_generation_bound_model_of(in->model.model, &t.model),
                                        "%s", in->model.name)
                             : CS_ERR_MEMORY;
    if (status == CS_OK && against)
        status =
            cs_blame(cs_generation_bound_model_of(in->against.model, &t.against), "%s", against);
    if (status == CS_OK && against) status = same_tokens(in, &t.model, &t.against);
    if (status == CS_OK) status = take_unmasked(in, &o);
    if (status == CS_OK) status = cut(in, &t, &text);
    if (status == CS_OK) {
        o.loss = in->model.likelihood ? CS_BOUND_CROSS_ENTROPY : CS_BOUND_SPECTRAL;
        o.factor = in->model.spectral_factor;
        o.against = against ? &t.against : NULL;
        status = cs_blame(audit(&t.model, &text, &o, in->model.name, input, against, report), "%s",
                          in->corpus_name);
    }
    cs_pool_free(&t.pool);
    cs_sequences_free(&t.sequences);
    cs_generation_bound_model_free(&t.model);
    cs_generation_bound_model_free(&t.against);
    return status;
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    (void)in;
    return cs_generation_bound_examples(&report->statements);
}

const cs_theorem cs_entry_43 = {
    .id = "4.3",
    .about = "Theorem 4.3 is about a model of linear attention",
    .paper = "LA",
    .printed_words = "a bound on a masked model's loss in generation",
    .corrected_words = "features of a prefix differ by at most Delta_k",
    .printed = "L_gen(f_mask) <= sum_k (w_k^2/(k-1)^6 + w_k ||W||^2 eta) / 2N + delta_mask + 1",
    .corrected = "||W (f^(X_m) - f^(X_<k))|| <= ||W||_2 eta_i (1 - ((k-1)/N)^p) for mean-pooled "
                 "linear attention",
    .run = {[CS_ON_TOY] = on_toy, [CS_ON_MODEL] = on_model, [CS_ON_NOTHING] = on_nothing},
    .file = "theorem43_curve.csv",
    .key = "~theorem43",
    .view = {"~theorem43[]", "model k n misalignment w_k loss full_loss other_loss gap gap_se "
                             "distance delta_k"}};
