/* model directories: round trips of every architecture, the names and layouts of Hugging Face, bad
 * files. */
#include "backend_ref.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "io_support.h"
#include "model/huggingface.h"
#include "model/model.h"

static cs_model_config config_of(cs_arch arch)
{
    cs_model_config c = {.shape.vocab = 11,
                         .shape.positions = 7,
                         .shape.width = 6,
                         .shape.layers = 2,
                         .shape.heads = 2,
                         .shape.inner = 10};
    if (arch == CS_ARCH_VIT || arch == CS_ARCH_VIT_MAE) { /* 6 patches of 2 x 2 x 3 */
        c.picture.height = 4;
        c.picture.width = 6;
        c.picture.patch = 2;
        c.picture.channels = 3;
        c.shape.real_width = 12;
        c.decoder = arch == CS_ARCH_VIT
                        ? c.decoder
                        : (cs_decoder_config){.layers = 1, .width = 4, .heads = 2, .inner = 8};
    }
    c.shape.heads = arch == CS_ARCH_LLAMA || arch == CS_ARCH_EUROBERT ||
                            arch == CS_ARCH_MODERNBERT || arch == CS_ARCH_MODERNBERT_DECODER
                        ? 3 /* of two columns, that turn */
                        : c.shape.heads;
    cs_model_config_default(arch, &c);
    if (arch == CS_ARCH_VIT_MAE) {
        c.picture.sinusoidal = false;
        c.head.target = CS_TARGET_PIXELS;
    }
    if (arch == CS_ARCH_LINEAR) {
        c.shape.layers = 1;
    }
    return c;
}

static void make(const cs_model_config *config, cs_backend *backend, cs_model *model)
{
    OK(cs_model_init(config, backend, false, model));
    OK(cs_model_randomise(model, 3));
}

static void assert_same(const cs_model *a, const cs_model *b)
{
    assert_int_equal(a->params.count, b->params.count);
    for (int64_t i = 0; i < a->params.count; ++i) {
        const cs_param *p = &a->params.param[i];
        int64_t items = p->rows * p->cols;
        float *x = test_zeros(items, sizeof *x), *y = test_zeros(items, sizeof *y);
        assert_string_equal(p->name, b->params.param[i].name);
        OK(cs_params_get(&a->params, i, CS_PARAM_VALUE, x));
        OK(cs_params_get(&b->params, i, CS_PARAM_VALUE, y));
        assert_memory_equal(x, y, (size_t)items * sizeof *x);
    }
}

static void round_trip(void **state, const cs_model_config *config, cs_backend *backend)
{
    CS_AUTO(cs_model) model = {0}, back = {0};
    make(config, backend, &model);
    const char *dir = in_dir(state, "model");
    OK(cs_model_write(&model, dir));
    OK(cs_model_read(dir, backend, false, &back));
    assert_same(&model, &back);
}

TEST_IN_DIR(every_architecture_comes_back)
{
    int written = 0;
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    for (int arch = 0; arch < CS_ARCH_COUNT; ++arch) {
        if (cs_arch_trained((cs_arch)arch) != CS_OK) { /* not written */
            cs_reason_clear();
            continue;
        }
        ++written;
        cs_model_config config = config_of((cs_arch)arch);
        round_trip(state, &config, backend);
        if (arch == CS_ARCH_LINEAR || arch == CS_ARCH_VIT || arch == CS_ARCH_VIT_MAE) {
            continue;
        }
        config.attention.query_vector = true;
        config.position.relative_buckets = 4;
        config.position.relative_distance = 16;
        config.decoder = (cs_decoder_config){
            .layers = 1, .width = 4, .heads = 2, .inner = 8, .attention = CS_DECODER_SELF_CROSS};
        round_trip(state, &config, backend);
        config.head.tied = false;
        config.decoder = (cs_decoder_config){0};
        round_trip(state, &config, backend);
    }
    assert_int_equal(written, 13);
}

/* Names and shapes as transformers' classes list them in state_dict(). */
TEST_IN_DIR(names_are_those_of_the_classes)
{
    static const struct {
        cs_arch arch;
        const char *name;
        int ndim;
        int64_t rows, cols;
    } expected[] = {
        {CS_ARCH_GPT2, "transformer.wte.weight", 2, 11, 6},
        {CS_ARCH_GPT2, "transformer.wpe.weight", 2, 7, 6},
        {CS_ARCH_GPT2, "transformer.h.1.ln_1.weight", 1, 6, 1},
        {CS_ARCH_GPT2, "transformer.h.1.attn.c_attn.weight", 2, 6, 18},
        {CS_ARCH_GPT2, "transformer.h.0.attn.c_attn.bias", 1, 18, 1},
        {CS_ARCH_GPT2, "transformer.h.0.mlp.c_fc.weight", 2, 6, 10},
        {CS_ARCH_GPT2, "transformer.h.0.mlp.c_proj.weight", 2, 10, 6},
        {CS_ARCH_GPT2, "transformer.ln_f.bias", 1, 6, 1},
        {CS_ARCH_ROBERTA_PRELAYERNORM, "roberta_prelayernorm.embeddings.word_embeddings.weight", 2,
         11, 6},
        {CS_ARCH_ROBERTA_PRELAYERNORM, "roberta_prelayernorm.embeddings.position_embeddings.weight",
         2, 9, 6},
        {CS_ARCH_ROBERTA_PRELAYERNORM,
         "roberta_prelayernorm.embeddings.token_type_embeddings.weight", 2, 1, 6},
        {CS_ARCH_ROBERTA_PRELAYERNORM, "roberta_prelayernorm.embeddings.LayerNorm.weight", 1, 6, 1},
        {CS_ARCH_ROBERTA_PRELAYERNORM,
         "roberta_prelayernorm.encoder.layer.1.attention.LayerNorm.bias", 1, 6, 1},
        {CS_ARCH_ROBERTA_PRELAYERNORM,
         "roberta_prelayernorm.encoder.layer.1.attention.self.key.weight", 2, 6, 6},
        {CS_ARCH_ROBERTA_PRELAYERNORM,
         "roberta_prelayernorm.encoder.layer.1.attention.self.value.bias", 1, 6, 1},
        {CS_ARCH_ROBERTA_PRELAYERNORM,
         "roberta_prelayernorm.encoder.layer.0.intermediate.dense.weight", 2, 10, 6},
        {CS_ARCH_ROBERTA_PRELAYERNORM,
         "roberta_prelayernorm.encoder.layer.0.intermediate.LayerNorm.weight", 1, 6, 1},
        {CS_ARCH_ROBERTA_PRELAYERNORM, "roberta_prelayernorm.LayerNorm.weight", 1, 6, 1},
        {CS_ARCH_ROBERTA_PRELAYERNORM, "lm_head.dense.weight", 2, 6, 6},
        {CS_ARCH_ROBERTA_PRELAYERNORM, "lm_head.layer_norm.bias", 1, 6, 1},
        {CS_ARCH_ROBERTA_PRELAYERNORM, "lm_head.bias", 1, 11, 1},
        {CS_ARCH_ROBERTA, "roberta.encoder.layer.0.attention.output.LayerNorm.weight", 1, 6, 1},
        {CS_ARCH_ROBERTA, "roberta.encoder.layer.0.output.LayerNorm.weight", 1, 6, 1},
        {CS_ARCH_BERT, "bert.embeddings.token_type_embeddings.weight", 2, 2, 6},
        {CS_ARCH_BERT, "cls.predictions.transform.dense.weight", 2, 6, 6},
        {CS_ARCH_BERT, "cls.predictions.bias", 1, 11, 1},
        {CS_ARCH_LLAMA, "model.embed_tokens.weight", 2, 11, 6},
        {CS_ARCH_LLAMA, "model.layers.1.self_attn.k_proj.weight", 2, 6, 6},
        {CS_ARCH_LLAMA, "model.layers.0.mlp.up_proj.weight", 2, 10, 6},
        {CS_ARCH_LLAMA, "model.layers.0.post_attention_layernorm.weight", 1, 6, 1},
        {CS_ARCH_LLAMA, "model.norm.weight", 1, 6, 1},
        {CS_ARCH_LLAMA, "lm_head.weight", 2, 11, 6},
        {CS_ARCH_EUROBERT, "model.layers.0.self_attn.o_proj.weight", 2, 6, 6},
        {CS_ARCH_MODERNBERT, "model.embeddings.tok_embeddings.weight", 2, 11, 6},
        {CS_ARCH_MODERNBERT, "model.embeddings.norm.weight", 1, 6, 1},
        {CS_ARCH_MODERNBERT, "model.layers.1.attn_norm.weight", 1, 6, 1},
        {CS_ARCH_MODERNBERT, "model.layers.0.attn.Wqkv.weight", 2, 18, 6},
        {CS_ARCH_MODERNBERT, "model.layers.0.mlp.Wi.weight", 2, 20, 6},
        {CS_ARCH_MODERNBERT, "head.dense.weight", 2, 6, 6},
        {CS_ARCH_MODERNBERT, "head.norm.weight", 1, 6, 1},
        {CS_ARCH_MODERNBERT, "decoder.bias", 1, 11, 1},
        {CS_ARCH_MODERNBERT_DECODER, "model.layers.0.attn.v_proj.weight", 2, 6, 6},
        {CS_ARCH_MODERNBERT_DECODER, "lm_head.dense.weight", 2, 6, 6},
    };
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    for (int arch = 0; arch < CS_ARCH_COUNT; ++arch) {
        cs_model_config config = config_of((cs_arch)arch);
        CS_AUTO(cs_model) model = {0};
        cs_safetensors *file = NULL;
        const bool pictures = arch == CS_ARCH_VIT || arch == CS_ARCH_VIT_MAE;
        if (cs_arch_trained((cs_arch)arch) != CS_OK || pictures || arch == CS_ARCH_LINEAR) {
            cs_reason_clear();
            continue;
        }
        make(&config, backend, &model);
        const char *dir = in_dir(state, cs_arch_name((cs_arch)arch));
        OK(cs_model_write(&model, dir));
        OK(cs_safetensors_open_model(dir, &file));
        for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
            if ((int)expected[i].arch != arch) {
                continue;
            }
            const cs_safetensors_entry *entry = cs_safetensors_find(file, expected[i].name);
            assert_non_null(entry);
            assert_int_equal(entry->ndim, expected[i].ndim);
            assert_int_equal(entry->shape[0], expected[i].rows);
            assert_int_equal(entry->ndim == 2 ? entry->shape[1] : 1, expected[i].cols);
        }
        assert_each(i, 0, cs_safetensors_count(file),
                    strstr(cs_safetensors_at(file, i)->name, "cospec.") == NULL);
        cs_safetensors_free(file);
    }
}

/* GPT-2 keeps inputs x outputs: item (i, o) of the file is item (o, i) here. */
TEST_IN_DIR(gpt2_matrices_are_transposed)
{
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    CS_AUTO(cs_model) model = {0};
    cs_safetensors *file = NULL;
    cs_model_config config = config_of(CS_ARCH_GPT2);
    float ours[60], theirs[60];
    make(&config, backend, &model);
    OK(cs_model_write(&model, in_dir(state, "m")));
    OK(cs_safetensors_open_model(in_dir(state, "m"), &file));
    int64_t number = cs_params_find(&model.params, "layer.0.mlp.in.weight");
    OK(cs_params_get(&model.params, number, CS_PARAM_VALUE, ours));
    const cs_safetensors_entry *entry =
        cs_safetensors_find(file, "transformer.h.0.mlp.c_fc.weight");
    OK(cs_safetensors_read_f32(file, entry, 0, 60, theirs));
    for (int o = 0; o < 10; ++o) {
        assert_each(i, 0, 6, ours[o * 6 + i] == theirs[i * 10 + o]);
    }
    cs_safetensors_free(file);
}

/* --- files of others -------------------------------------------------------------------------- */

/* Writes DIR/model.safetensors again with each name passed through `rename` (NULL result: left
 * out), and one more tensor if `extra` is a name. */
static void rewrite_from(const char *source, const char *dir,
                         const char *(*rename)(const char *name, char *buffer), const char *extra)
{
    cs_safetensors *file = NULL;
    cs_safetensors_writer *writer = NULL;
    OK(cs_safetensors_open_model(source, &file));
    int64_t count = cs_safetensors_count(file), kept = 0;
    cs_safetensors_entry *entry = test_zeros(count + 1, sizeof *entry);
    int64_t *from = test_zeros(count + 1, sizeof *from);
    char(*buffer)[200] = cs_calloc(count + 1, sizeof *buffer);
    assert_non_null(buffer);
    for (int64_t i = 0; i < count; ++i) {
        const char *name = rename(cs_safetensors_at(file, i)->name, buffer[i]);
        if (name) {
            entry[kept] = *cs_safetensors_at(file, i);
            entry[kept].name = name;
            from[kept++] = i;
        }
    }
    int64_t all = kept;
    if (extra) {
        entry[all++] =
            (cs_safetensors_entry){.name = extra, .dtype = CS_F32, .ndim = 1, .shape = {2}};
    }
    CS_AUTO_FREE char *path = cs_path_join(dir, "model.safetensors");
    OK(cs_safetensors_writer_open(path, all, entry, 0, NULL, &writer));
    for (int64_t i = 0; i < kept; ++i) {
        const cs_safetensors_entry *e = cs_safetensors_at(file, from[i]);
        float *x = test_zeros(e->items, sizeof *x);
        OK(cs_safetensors_read_f32(file, e, 0, e->items, x));
        OK(cs_safetensors_writer_put(writer, x, e->bytes));
    }
    if (extra) {
        OK(cs_safetensors_writer_put(writer, (float[]){1, 2}, 8));
    }
    OK(cs_safetensors_writer_commit(&writer));
    cs_safetensors_free(file);
    cs_free(buffer);
}

static void rewrite(const char *dir, const char *(*rename)(const char *name, char *buffer),
                    const char *extra)
{
    rewrite_from(dir, dir, rename, extra);
}

static const char *unchanged(const char *name, char *buffer)
{
    (void)buffer;
    return name;
}

static const char *without_class(const char *name, char *buffer)
{
    (void)buffer;
    const char *dot = strchr(name, '.');
    return strncmp(name, "lm_head", 7) == 0 || strncmp(name, "cls", 3) == 0 ? NULL : dot + 1;
}

static const char *with_gamma(const char *name, char *buffer)
{
    const char *norm = strstr(name, "LayerNorm.");
    if (!norm) {
        return name;
    }
    (void)snprintf(buffer, 200, "%.*sLayerNorm.%s", (int)(norm - name), name,
                   strstr(norm, "weight") ? "gamma" : "beta");
    return buffer;
}

static const char *without_key(const char *name, char *buffer)
{
    (void)buffer;
    return strstr(name, "layer.1.attention.self.key.bias") ? NULL : name;
}

TEST_IN_DIR(files_of_the_bare_model_are_read)
{
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    static const cs_arch arch[] = {CS_ARCH_GPT2, CS_ARCH_ROBERTA_PRELAYERNORM, CS_ARCH_BERT,
                                   CS_ARCH_LLAMA, CS_ARCH_EUROBERT};
    for (int i = 0; i < 5; ++i) {
        CS_AUTO(cs_model) model = {0}, back = {0};
        cs_model_config config = config_of(arch[i]);
        config.head.tied = arch[i] != CS_ARCH_LLAMA;
        if (arch[i] == CS_ARCH_EUROBERT) { /* tied, and a bias of the logits that is not there */
            config.layer.mlp_bias = config.head.bias = true;
        }
        make(&config, backend, &model);
        const char *dir = in_dir(state, "bare");
        OK(cs_model_write(&model, dir));
        rewrite(dir, without_class, NULL);
        OK(cs_model_read(dir, backend, false, &back));
        assert_false(back.config.head.transform || back.config.head.bias || !back.config.head.tied);
        assert_true(back.config.head.absent ==
                    (arch[i] != CS_ARCH_GPT2)); /* its head is the embeddings */
        int64_t a = cs_params_find(&model.params, "layer.1.mlp.out.weight");
        int64_t b = cs_params_find(&back.params, "layer.1.mlp.out.weight");
        float x[60], y[60];
        OK(cs_params_get(&model.params, a, CS_PARAM_VALUE, x));
        OK(cs_params_get(&back.params, b, CS_PARAM_VALUE, y));
        assert_memory_equal(x, y, sizeof x);
    }
}

/* A head of tokens' labels in place of the language model's. */
static const char *with_labels(const char *name, char *buffer)
{
    (void)buffer;
    return strcmp(name, "cls.predictions.bias") == 0 ? "classifier.bias"
           : strcmp(name, "lm_head.weight") == 0     ? "score.weight"
           : strncmp(name, "cls.", 4) == 0           ? NULL
                                                     : name;
}

static void say_architecture(const char *dir, const char *name)
{
    char path[512];
    json_auto_t *config = NULL;
    assert_true(snprintf(path, sizeof path, "%s/config.json", dir) > 0);
    OK(cs_json_read(path, &config));
    OK(cs_json_set(config, "architectures", json_pack("[s]", name)));
    OK(cs_json_write(path, config));
}

/* Their body is read; not where config.json says another head. */
TEST_IN_DIR(heads_of_other_tasks_are_passed_by)
{
    static const struct {
        cs_arch arch;
        const char *class, *usual, *reason;
    } file[] = {
        {CS_ARCH_BERT, "BertForTokenClassification", "BertForPreTraining", "classifier.bias"},
        {CS_ARCH_LLAMA, "LlamaForTokenClassification", "LlamaForCausalLM", "lm_head.weight"}};
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    for (int i = 0; i < 2; ++i) {
        CS_AUTO(cs_model) model = {0}, back = {0};
        cs_model_config config = config_of(file[i].arch);
        config.head.tied = file[i].arch == CS_ARCH_BERT;
        make(&config, backend, &model);
        const char *dir = in_dir(state, "labels");
        OK(cs_model_write(&model, dir));
        rewrite(dir, with_labels, NULL);
        say_architecture(dir, file[i].usual);
        assert_fails(cs_model_read(dir, backend, false, &back), CS_ERR_INPUT, file[i].reason);
        say_architecture(dir, file[i].class);
        OK(cs_model_read(dir, backend, false, &back));
        assert_true(back.config.head.absent);
        cs_model_free(&back);
        OK(cs_model_read(dir, backend, true, &back)); /* training begins from the body */
        assert_false(back.config.head.absent);
    }
}

TEST_IN_DIR(old_names_and_extra_buffers_are_read)
{
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    CS_AUTO(cs_model) model = {0}, back = {0};
    cs_model_config config = config_of(CS_ARCH_BERT);
    make(&config, backend, &model);
    const char *dir = in_dir(state, "old");
    OK(cs_model_write(&model, dir));
    rewrite(dir, with_gamma, "bert.pooler.dense.bias");
    OK(cs_model_read(dir, backend, false, &back));
    assert_same(&model, &back);
}

/* Buffers and heads that published files have in addition to the model, and one that none has. */
TEST_IN_DIR(additions_of_published_files_are_ignored)
{
    static const struct {
        const char *model, *tensor;
    } extra[] = {{"gpt_neox", "gpt_neox.layers.0.attention.bias"},
                 {"gpt_neox", "gpt_neox.layers.1.attention.masked_bias"},
                 {"gpt_neox", "gpt_neox.layers.1.attention.rotary_emb.inv_freq"},
                 {"llama", "model.layers.0.self_attn.rotary_emb.inv_freq"},
                 {"gptj", "transformer.h.0.attn.masked_bias"},
                 {"gpt2", "transformer.h.1.attn.bias"},
                 {"deberta-v2", "mask_predictions.classifier.bias"},
                 {"deberta-v2", "lm_predictions.lm_head.bias"},
                 {"bert", "bert.embeddings.position_ids"},
                 {"bert", "bert.pooler.dense.bias"},
                 {"bert", "cls.seq_relationship.bias"},
                 {"albert", "sop_classifier.classifier.bias"},
                 {"electra", "discriminator_predictions.dense.bias"},
                 {"t5", "encoder.embed_tokens.weight"},
                 {"llama", "model.layers.0.self_attn.sinks"}};
    const size_t last = sizeof extra / sizeof *extra - 1;
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    const char *dir = in_dir(state, "more");
    OK(cs_dir_make(dir));
    for (size_t i = 0; i <= last; ++i) {
        CS_AUTO(cs_model) model = {0};
        CS_AUTO_FREE char *golden = cs_format("tests/golden/models/%s", extra[i].model),
                          *bytes = NULL;
        CS_AUTO_FREE char *from = cs_path_join(golden, "config.json"),
                          *to = cs_path_join(dir, "config.json");
        int64_t size = 0;
        OK(cs_file_read(from, 1 << 20, &bytes, &size));
        OK(cs_file_write(to, bytes, size));
        rewrite_from(golden, dir, unchanged, extra[i].tensor);
        if (i < last) {
            OK(cs_model_read(dir, backend, false, &model));
        } else {
            assert_fails(cs_model_read(dir, backend, false, &model), CS_ERR_INPUT,
                         "more/model.safetensors: the model of this configuration has no tensor "
                         "model.layers.0.self_attn.sinks");
        }
    }
}

static void say_tied(const char *dir)
{
    json_auto_t *json = NULL;
    CS_AUTO_FREE char *path = cs_path_join(dir, "config.json");
    OK(cs_json_read(path, &json));
    assert_true(json_is_false(json_object_get(json, "tie_word_embeddings")));
    OK(cs_json_set(json, "tie_word_embeddings", json_true()));
    OK(cs_json_write(path, json));
}

/* Of a file that has both, in a configuration that ties them: another output matrix, or another bias,
 * is used; the same is not kept twice. */
TEST_IN_DIR(ties_are_those_of_the_file)
{
    static const cs_arch arch[] = {CS_ARCH_BERT, CS_ARCH_LLAMA, CS_ARCH_GPT2};
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    for (int i = 0; i < 6; ++i) {
        CS_AUTO(cs_model) model = {0}, back = {0};
        cs_model_config config = config_of(arch[i / 2]);
        const bool equal = i % 2;
        float x[66];
        config.head.tied = false;
        make(&config, backend, &model);
        const int64_t table = cs_params_find(&model.params, "embed.token"),
                      output = cs_params_find(&model.params, "output.weight");
        OK(cs_params_get(&model.params, table, CS_PARAM_VALUE, x));
        if (equal) OK(cs_params_set(&model.params, output, CS_PARAM_VALUE, x));
        const char *dir = in_dir(state, "ties");
        OK(cs_model_write(&model, dir));
        say_tied(dir);
        OK(cs_model_read(dir, backend, false, &back));
        assert_int_equal(back.config.head.tied, equal);
        if (!equal) {
            assert_same(&model, &back);
        }
    }
}

TEST_IN_DIR(weights_that_are_no_numbers_are_named)
{
    cs_model model = {0}, back = {0};
    cs_model_config config = config_of(CS_ARCH_GPT2);
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    make(&config, backend, &model);
    OK(cs_params_set(&model.params, cs_params_find(&model.params, "layer.1.mlp.out.bias"),
                     CS_PARAM_VALUE, (float[]){0, 0, 0, NAN, 0, 0}));
    const char *dir = in_dir(state, "nan");
    OK(cs_model_write(&model, dir));
    assert_fails(cs_model_read(dir, backend, false, &back), CS_ERR_INPUT,
                 "nan/model.safetensors: item 3 of tensor transformer.h.1.mlp.c_proj.bias is not "
                 "finite: nan");
    cs_model_free(&model);
}

TEST_IN_DIR(bad_files_are_refused)
{
    cs_model model = {0}, back = {0};
    cs_model_config config = config_of(CS_ARCH_ROBERTA_PRELAYERNORM);
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    make(&config, backend, &model);
    const char *dir = in_dir(state, "bad");
    OK(cs_model_write(&model, dir));
    rewrite(dir, without_key, NULL);
    assert_fails(cs_model_read(dir, backend, false, &back), CS_ERR_INPUT,
                 "encoder.layer.1.attention.self.key.bias is missing");
    OK(cs_model_write(&model, dir));
    rewrite(dir, unchanged, "classifier.bias");
    assert_fails(cs_model_read(dir, backend, false, &back), CS_ERR_INPUT,
                 "has no tensor classifier.bias");

    /* A configuration of another width. */
    OK(cs_model_write(&model, dir));
    json_auto_t *json = NULL;
    CS_AUTO_FREE char *path = cs_path_join(dir, "config.json");
    OK(cs_json_read(path, &json));
    assert_int_equal(json_object_set_new(json, "hidden_size", json_integer(8)), 0);
    OK(cs_json_write(path, json));
    assert_fails(cs_model_read(dir, backend, false, &back), CS_ERR_INPUT,
                 " has shape 11 x 6, but config.json requires 11 x 8");

    /* One bit of the data. */
    OK(cs_model_write(&model, dir));
    CS_AUTO_FREE char *weights = cs_path_join(dir, "model.safetensors"), *bytes = NULL;
    int64_t size = 0;
    OK(cs_file_read(weights, 1 << 20, &bytes, &size));
    bytes[size - 5] ^= 1;
    OK(cs_file_write(weights, bytes, size));
    assert_fails(cs_model_read(dir, backend, false, &back), CS_ERR_INPUT, "model.safetensors");
    assert_null(back.params.param);
    cs_model_free(&model);
}

static cs_status write_and_read(const char *path)
{
    CS_AUTO(cs_backend) *backend = NULL;
    CS_AUTO(cs_model) model = {0}, back = {0};
    cs_model_config config = config_of(CS_ARCH_GPT2);
    config.shape.layers = 1;
    cs_status status = cs_backend_ref(&backend);
    if (status == CS_OK && (status = cs_model_init(&config, backend, false, &model)) == CS_OK &&
        (status = cs_model_write(&model, path)) == CS_OK) {
        status = cs_model_read(path, backend, false, &back);
    }
    return status;
}

TEST_IN_DIR(every_allocation_fails_cleanly)
{
    fail_each_allocation(write_and_read, in_dir(state, "m"));
}
