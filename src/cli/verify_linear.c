/* cospec verify 4.3: the audit's models and texts. */
#include "cli/verify_linear.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/theorem_42.h"
#include "analysis/theorem_43.h"
#include "analysis/toy_contexts.h"
#include "base/mem.h"
#include "cli/groups.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/json.h"
#include "plan/spec.h"
#include "text/sequences.h"

enum { TOY_SEQUENCES = 128, TOY_WIDTH = 8, TOY_HEADS = 2, USUAL_LENGTH = 512 };

const cs_opt cs_group_verify_linear[] = {
    {"model", 0, CS_OPT_TEXT, "DIR", NULL, 0, 0,
     "4.3: audit this model of cospec train --arch linear on --corpus instead of a random one on "
     "the toy model.",
     false},
    {"against", 0, CS_OPT_TEXT, "DIR", NULL, 0, 0,
     "4.3: another linear model of the same tokens and loss, whose loss the degradation is "
     "measured "
     "from. Default: the model's own loss on X_m.",
     false},
    {"masks", 0, CS_OPT_INT, "M", "4", 1, 65536,
     "4.3: unmasked sets X_m a prefix, drawn by --seed; all where there are no more.", false},
    {"split", 0, CS_OPT_CHOICE, "all|train|test", "all", 0, 0,
     "4.3: which documents of --corpus: all, or those of one side of --test-share.", false},
    {"limit", 0, CS_OPT_INT, "N", NULL, 1, 1e15, "4.3: the first N of those documents only.",
     false},
    {"limit-tokens", 0, CS_OPT_INT, "N", NULL, 1, 1e15,
     "4.3: whole documents until they have N tokens.", false},
    {"max-length", 0, CS_OPT_INT, "L", NULL, 2, 1 << 20,
     "4.3: most tokens of a piece. Default: the positions of the model, at most 512.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};

cs_status cs_verify_linear_alone(const cs_args *args)
{
    static const char *const name[] = {"against",      "split",      "limit",
                                       "limit-tokens", "max-length", "corpus"};
    for (size_t i = 0; i < sizeof name / sizeof *name; ++i) {
        if (cs_args_given(args, name[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s goes with verify 4.3 --model DIR", name[i]);
        }
    }
    return CS_OK;
}

/* `name`: of a trained model, whose curve is ordered; a random model claims nothing of that. */
static cs_status audit(const cs_43_model *m, const cs_43_text *text, const cs_43_options *o,
                       const char *name, const char *input, const char *against, cs_statements *out,
                       cs_table *curve)
{
    cs_43_audit a = {0};
    cs_status status = cs_43_audit_of(m, text, o, &a);
    if (status == CS_OK) {
        status = cs_43_state(m, &a, input, out);
    }
    if (status == CS_OK && name) {
        status = cs_43_state_order(&a, input, against, out);
    }
    if (status == CS_OK) {
        status = cs_43_curve(&a, name ? name : "random", o->against != NULL, curve);
    }
    cs_43_audit_free(&a);
    return status;
}

/* --- the toy model -----------------------------------------------------------------------------*/

typedef struct {
    int64_t count, vocab;
    int32_t *token;        /* count x length */
    const int32_t **start; /* count */
    int64_t *length;       /* count */
} toy_text;

static void toy_text_free(toy_text *t)
{
    cs_free(t->token);
    cs_free(t->start);
    cs_free(t->length);
}

static int by_id(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Numbers the tokens that occur 0, 1, ...: a large toy has millions that do not. */
static cs_status number_tokens(toy_text *t, int64_t count)
{
    int32_t *id = cs_alloc(count, sizeof *id);
    if (!id) {
        return CS_ERR_MEMORY;
    }
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
    cs_free(id);
    return CS_OK;
}

static cs_status toy_text_of(const cs_toy *toy, uint64_t seed, toy_text *t)
{
    double all = cs_toy_sequences(toy);
    t->count = all > TOY_SEQUENCES ? TOY_SEQUENCES : (int64_t)all;
    t->token = cs_alloc(t->count * toy->length, sizeof *t->token);
    t->start = cs_alloc(t->count, sizeof *t->start);
    t->length = cs_alloc(t->count, sizeof *t->length);
    if (!t->token || !t->start || !t->length) {
        return CS_ERR_MEMORY;
    }
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

static cs_status toy_unmasked(const cs_toy *toy, int64_t *out)
{
    const cs_objective *o = &toy->objective;
    int64_t low = toy->length / 2, high = low;
    cs_status status = CS_OK;
    if (o->kind == CS_OBJ_MASKED || o->kind == CS_OBJ_VARIABLE_MASKED) {
        status = cs_objective_unmasked(o, toy->length, &low, &high);
    }
    *out = (low + high) / 2;
    return status;
}

cs_status cs_verify_linear_toy(const cs_args *args, const cs_toy *toy, cs_statements *out,
                               cs_table *curve)
{
    toy_text t = {0};
    cs_43_model m = {0};
    char *about = NULL, *input = NULL;
    cs_43_options o = {.masks = cs_args_int(args, "masks"),
                       .seed = cs_args_seed(args),
                       .progress = cs_output_progress(args)};
    cs_status status = cs_toy_check(toy);
    if (status == CS_OK && toy->length < 2) {
        status = cs_fail(CS_ERR_USAGE, "Theorem 4.3 needs length >= 2, got %lld",
                         (long long)toy->length);
    }
    if (status == CS_OK && (status = toy_unmasked(toy, &o.unmasked)) == CS_OK &&
        (status = toy_text_of(toy, o.seed, &t)) == CS_OK) {
        status = cs_43_model_random(t.vocab, TOY_WIDTH, TOY_HEADS, o.seed, &m);
    }
    if (status == CS_OK) {
        about = cs_42_describe(toy);
        input = about ? cs_format("random linear attention, %d features, %d heads, N=%lld: %s",
                                  TOY_WIDTH, TOY_HEADS, (long long)o.unmasked, about)
                      : NULL;
        status = input ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        const cs_43_text text = {.count = t.count, .token = t.start, .length = t.length};
        status = audit(&m, &text, &o, NULL, input, NULL, out, curve);
    }
    cs_free(about);
    cs_free(input);
    cs_43_model_free(&m);
    toy_text_free(&t);
    return status;
}

/* --- a trained model ---------------------------------------------------------------------------*/

typedef struct {
    cs_model_text text, other;
    cs_43_model model, against;
    cs_sequences sequences;
    const int32_t **start;
    int64_t *length;
} trained;

/* The objective as train.json has it ("masked mask-ratio=0.5 ..."), into the form of a
 * specification ("masked:mask-ratio=0.5,..."). */
static cs_status parse_described(const char *path, const char *text, cs_objective *o)
{
    char *spec = cs_strdup(text);
    cs_status status = spec ? CS_OK : CS_ERR_MEMORY;
    char mark = ':';
    for (char *p = spec; p && *p; ++p) {
        if (*p == ' ') {
            *p = mark;
            mark = ',';
        }
    }
    if (status == CS_OK) {
        status = cs_blame(cs_objective_parse(spec, o), "%s", path);
    }
    cs_free(spec);
    return status;
}

/* --unmasked or --mask-ratio, else what the model was trained under. */
static cs_status read_objective(const cs_args *args, const char *dir, cs_objective *o)
{
    *o = cs_objective_default(CS_OBJ_MASKED);
    if (cs_args_given(args, "unmasked")) {
        return cs_objective_parse_unmasked(cs_args_text(args, "unmasked"), o);
    }
    if (cs_args_given(args, "mask-ratio")) {
        return cs_objective_parse_mask_ratio(cs_args_text(args, "mask-ratio"), o);
    }
    char *path = cs_path_join(dir, "train.json");
    json_t *json = NULL;
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path)) {
        status = cs_json_read(path, &json);
    }
    const char *text = json_string_value(json_object_get(json, "objective"));
    if (status == CS_OK && text) {
        status = parse_described(path, text, o);
    }
    if (status == CS_OK &&
        (!text || (o->kind != CS_OBJ_MASKED && o->kind != CS_OBJ_VARIABLE_MASKED))) {
        status = cs_fail(CS_ERR_USAGE,
                         "%s: how many tokens are unmasked is not said (trained under %s): give "
                         "--unmasked or --mask-ratio",
                         dir, text ? text : "an objective that is not known");
    }
    json_decref(json);
    cs_free(path);
    return status;
}

static cs_status take_unmasked(const cs_args *args, const char *dir, cs_43_options *options)
{
    cs_objective o;
    cs_status status = read_objective(args, dir, &o);
    bool counted = status == CS_OK && o.unmasked_lo > 0;
    if (status == CS_OK &&
        (counted ? o.unmasked_lo != o.unmasked_hi : !(o.mask_ratio_lo == o.mask_ratio_hi))) {
        status =
            cs_fail(CS_ERR_USAGE, "Theorem 4.3 has one number of unmasked tokens, not a range: "
                                  "give --unmasked M or --mask-ratio RHO");
    }
    options->unmasked = counted ? o.unmasked_lo : 0;
    options->mask_ratio = counted ? 0 : o.mask_ratio_lo;
    return status;
}

static cs_status same_tokens(const trained *t)
{
    const cs_tokenizer *a = t->text.tokenizer, *b = t->other.tokenizer;
    bool same = !a == !b && t->model.vocab == t->against.vocab;
    if (same && a) {
        same = cs_tokenizer_vocab(a) == cs_tokenizer_vocab(b);
        for (int64_t i = 0; same && i < cs_tokenizer_vocab(a); ++i) {
            same =
                strcmp(cs_tokenizer_token(a, (int32_t)i), cs_tokenizer_token(b, (int32_t)i)) == 0;
        }
    }
    if (!same) {
        return cs_fail(CS_ERR_USAGE, "%s and %s have other tokens: their losses do not compare",
                       t->text.dir, t->other.dir);
    }
    if (t->text.kind.likelihood != t->other.kind.likelihood ||
        t->text.kind.spectral_factor != t->other.kind.spectral_factor) {
        return cs_fail(CS_ERR_USAGE, "%s and %s were trained with other losses", t->text.dir,
                       t->other.dir);
    }
    return CS_OK;
}

static cs_status open_models(cs_args *args, trained *t)
{
    const char *other = cs_args_text(args, "against");
    cs_status status = cs_args_model_open(args, cs_args_text(args, "model"), &t->text);
    if (status == CS_OK) {
        status = cs_blame(cs_43_model_of(&t->text.model, &t->model), "%s", t->text.dir);
    }
    if (status == CS_OK && other &&
        (status = cs_args_model_open(args, other, &t->other)) == CS_OK &&
        (status = cs_blame(cs_43_model_of(&t->other.model, &t->against), "%s", other)) == CS_OK) {
        status = same_tokens(t);
    }
    return status;
}

/* The shortest position table bounds the pieces, unless the user does. */
static cs_status piece_length(const cs_args *args, const trained *t, int64_t *out)
{
    int64_t most = USUAL_LENGTH;
    const cs_43_model *models[] = {&t->model, &t->against};
    for (int i = 0; i < 2; ++i) {
        if (models[i]->positions > 0 && models[i]->positions < most) {
            most = models[i]->positions;
        }
    }
    *out = cs_args_given(args, "max-length") ? cs_args_int(args, "max-length") : most;
    bool table = t->model.positions > 0 || t->against.positions > 0;
    return table && *out > most
               ? cs_fail(CS_ERR_USAGE, "--max-length %lld: the model has %lld positions",
                         (long long)*out, (long long)most)
               : CS_OK;
}

static cs_status cut(const cs_args *args, trained *t, cs_43_text *text)
{
    cs_sequences *s = &t->sequences;
    int64_t most = 0, kept = 0;
    cs_status status = piece_length(args, t, &most);
    if (status == CS_OK) {
        status = cs_sequences_of(&t->text.corpus, most, 0, 1, s, NULL);
    }
    for (int64_t i = 0; status == CS_OK && i < s->count; ++i) {
        if (t->text.keep[s->document[i]]) {
            s->start[kept] = s->start[i];
            s->length[kept] = s->length[i];
            s->document[kept++] = s->document[i];
        }
    }
    t->start = status == CS_OK ? cs_alloc(kept, sizeof *t->start) : NULL;
    t->length = status == CS_OK ? cs_alloc(kept, sizeof *t->length) : NULL;
    if (status == CS_OK && (!t->start || !t->length)) {
        status = CS_ERR_MEMORY;
    }
    for (int64_t i = 0; status == CS_OK && i < kept; ++i) {
        t->start[i] = t->text.corpus.token + s->start[i];
        t->length[i] = s->length[i];
    }
    *text = (cs_43_text){
        .count = kept, .token = t->start, .length = t->length, .document = s->document};
    return status;
}

cs_status cs_verify_linear_model(cs_args *args, cs_statements *out, cs_table *curve)
{
    trained t = {0};
    cs_43_text text = {0};
    cs_43_options o = {.masks = cs_args_int(args, "masks"),
                       .seed = cs_args_seed(args),
                       .progress = cs_output_progress(args)};
    const char *corpus = cs_args_text(args, "corpus"), *against = cs_args_text(args, "against");
    char *input = NULL;
    cs_status status = corpus ? CS_OK : cs_fail(CS_ERR_USAGE, "--model needs a --corpus");
    if (status == CS_OK && (status = open_models(args, &t)) == CS_OK &&
        (status = take_unmasked(args, t.text.dir, &o)) == CS_OK &&
        (status = cs_args_model_corpus(args, corpus, &t.text)) == CS_OK &&
        (status = cut(args, &t, &text)) == CS_OK) {
        input = cs_format("%s on %s", t.text.dir, corpus);
        status = input ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        o.loss = t.text.kind.likelihood ? CS_43_CROSS_ENTROPY : CS_43_SPECTRAL;
        o.factor = t.text.kind.spectral_factor;
        o.against = against ? &t.against : NULL;
        status = cs_blame(audit(&t.model, &text, &o, t.text.dir, input, against, out, curve), "%s",
                          corpus);
    }
    cs_free(input);
    cs_free(t.start);
    cs_free(t.length);
    cs_sequences_free(&t.sequences);
    cs_43_model_free(&t.model);
    cs_43_model_free(&t.against);
    cs_model_text_free(&t.text);
    cs_model_text_free(&t.other);
    return status;
}
