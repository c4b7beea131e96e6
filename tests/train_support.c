
#include "train_support.h"
#include "io/file.h"
#include "io/json.h"
#include "small_corpus.h"
#include "train/specials.h"

enum { WORDS = 24, LONGEST = 9 };

static cs_objective objective_of(cs_objective_kind kind)
{
    cs_objective o = cs_objective_default(kind);
    switch (kind) {
    case CS_OBJ_MASKED:
    case CS_OBJ_MNTP:
    case CS_OBJ_BERNOULLI_MASKED:
        o.mask_ratio_lo = o.mask_ratio_hi = 0.4;
        break;
    case CS_OBJ_VARIABLE_MASKED:
        o.mask_ratio_lo = 0.2;
        o.mask_ratio_hi = 0.6;
        break;
    case CS_OBJ_DIVERSE_AR:
    case CS_OBJ_GROUP_AR:
        o.t = 2;
        break;
    case CS_OBJ_OFFSET_AR:
        o.offset = CS_OFFSET_UNIFORM;
        o.offset_value = 2;
        break;
    case CS_OBJ_GVP:
        o.segmentation = CS_SEGMENT_FIXED;
        o.groups = 2;
        break;
    default:
        break;
    }
    return o;
}

static cs_corpus corpus_of(const recipe *r)
{
    const int64_t documents = r->documents > 0 ? r->documents : 20;
    CS_AUTO_FREE int64_t *length = cs_alloc(documents, sizeof *length);
    int64_t tokens = 0;
    assert_non_null(length);
    for (int64_t d = 0; d < documents; ++d) {
        length[d] = r->distinct ? 6 : 3 + d % (LONGEST - 2);
        tokens += length[d];
    }
    cs_corpus c = small_corpus(documents, length, r->distinct ? tokens : WORDS, 0, 5);
    for (int64_t i = 0; i < c.tokens && r->distinct; ++i) {
        c.token[i] = (int32_t)i;
    }
    for (int64_t d = 0; d < documents && r->distinct; ++d) {
        c.held_out[d] = 0;
    }
    OK(cs_corpus_specials_first(&c));
    return c;
}

static cs_model_config config_of(const recipe *r, const training *t)
{
    int64_t width = r->width > 0 ? r->width : 16;
    bool linear = r->arch == CS_ARCH_LINEAR;
    cs_model_config c = {
        .shape.vocab = cs_tokenizer_vocab(t->tokenizer),
        .shape.positions = LONGEST,
        .shape.width = width,
        .shape.layers = linear ? 1 : 2,
        .shape.heads = linear ? 1 : 2,
        .shape.inner = 2 * width,
        .decoder = {.layers = r->decoder_layers, .width = width, .heads = 2, .inner = 2 * width}};
    cs_model_config_default(r->arch, &c);
    cs_model_config_ids(&c, cs_special_ids_of(t->tokenizer));
    c.head.offsets = r->ahead;
    c.attention.query_vector = cs_form_of(&t->options.task, &c) == CS_FORM_TWO_STREAM;
    c.head.detector = r->replaced_token > 0;
    return c;
}

training make_training(const recipe *r, const char *dir)
{
    training t = {.corpus = corpus_of(r), .options = cs_train_defaults()};
    OK(cs_tokenizer_of_corpus(&t.corpus, CS_SPLITTER_WHITESPACE, &t.tokenizer));
    OK(cs_backend_cpu(r->threads > 0 ? r->threads : 1, &t.backend));
    t.options.task.objective = objective_of(r->kind);
    if (r->ahead > 0) {
        t.options.task.objective.t = r->ahead;
    }
    t.options.loss = r->loss == CS_LOSS_NONE ? CS_LOSS_CROSS_ENTROPY : r->loss;
    t.options.replaced_token = r->replaced_token;
    t.options.steps = 12;
    t.options.data.batch = 4;
    t.options.data.length = LONGEST;
    t.options.intervals.log_every = 2;
    t.options.intervals.eval_every = 5;
    t.options.intervals.save_every = 4;
    t.options.intervals.eval_batches = 1;
    t.options.bad_limit = 3;
    t.options.seed = 7;
    t.options.dir = dir;
    cs_model_config config = config_of(r, &t);
    OK(cs_model_init(&config, t.backend, true, &t.model));
    OK(cs_model_randomise(&t.model, t.options.seed));
    return t;
}

void free_training(training *t)
{
    cs_model_free(&t->model);
    cs_backend_free(&t->backend);
    cs_tokenizer_free(&t->tokenizer);
    cs_corpus_free(&t->corpus);
}

cs_train_result trained(training *t)
{
    cs_train_result result = {0};
    OK(cs_train(&t->model, &t->corpus, t->tokenizer, &t->options, &result));
    return result;
}

char *bytes_of(const char *path, int64_t *size)
{
    char *bytes = NULL;
    OK(cs_file_read(path, 1 << 28, &bytes, size));
    return bytes;
}

void assert_same_file(const char *a, const char *b, const char *name)
{
    int64_t n = 0, m = 0;
    CS_AUTO_FREE char *path_a = cs_path_join(a, name), *path_b = cs_path_join(b, name);
    assert_non_null(path_a);
    assert_non_null(path_b);
    CS_AUTO_FREE char *x = bytes_of(path_a, &n), *y = bytes_of(path_b, &m);
    if (n != m || memcmp(x, y, (size_t)n) != 0) {
        fail_msg("%s and %s differ", path_a, path_b);
    }
}

cs_status read_kind(const char *dir, const cs_model_config *config, cs_model_kind *out)
{
    cs_model model = {.config = *config};
    char path[700];
    (void)snprintf(path, sizeof path, "%s/config.json", dir);
    cs_status status = cs_json_read(path, &model.source);
    model.trained = json_object_get(json_object_get(model.source, "cospec"), "trained");
    if (status == CS_OK) status = cs_model_kind_read(dir, &model, out);
    json_decref(model.source);
    return status;
}
