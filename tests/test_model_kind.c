/* The kind of the model in a directory, by its files. */
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "model_support.h"
#include "plan/spec.h"
#include "train/model_kind.h"
#include "train_support.h"

TEST_IN_DIR(kinds_are_read)
{
    cs_model_config config = {.arch = CS_ARCH_BERT};
    cs_model_kind kind = {0};
    (void)put(state, "config.json", "{}");
    cs_model_kind_free(&kind);
    OK(read_kind(in_dir(state, "."), &config, &kind));
    assert_true(kind.kind == CS_KIND_MASKED && !kind.trained_here && kind.likelihood);
    (void)put(state, "config.json", "{\"is_decoder\": true}");
    cs_model_kind_free(&kind);
    OK(read_kind(in_dir(state, "."), &config, &kind));
    assert_int_equal(kind.kind, CS_KIND_CAUSAL);
    const struct {
        const char *objective;
        int64_t decoder;
        cs_kind kind;
    } known[] = {{"ar event-weight=token", 0, CS_KIND_CAUSAL},
                 {"masked mask-ratio=0.15 event-weight=token", 0, CS_KIND_MASKED},
                 {"masked mask-ratio=0.15 event-weight=token", 1, CS_KIND_MAE},
                 {"variable-masked", 0, CS_KIND_MASKED},
                 {"diverse-ar t=2", 0, CS_KIND_TWO_STREAM},
                 {"offset-ar", 0, CS_KIND_TWO_STREAM}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        char text[128];
        (void)snprintf(text, sizeof text, "{\"objective\": \"%s\"}", known[i].objective);
        (void)put(state, "train.json", text);
        config.decoder.layers = known[i].decoder;
        cs_model_kind_free(&kind);
        OK(read_kind(in_dir(state, "."), &config, &kind));
        assert_true(kind.kind == known[i].kind && kind.trained_here && !kind.from_nothing);
        cs_kind named;
        OK(cs_kind_by_name(cs_kind_name(kind.kind), &named));
        assert_int_equal(named, kind.kind);
    }
    (void)put(state, "train.json",
              "{\"objective\": \"ar event-weight=token empty-prefix=shared\"}");
    (void)put(state, "manifest.json",
              "{\"options\": {\"loss\": \"spectral\", \"delta\": 0.25, \"decoder-resets\": true}}");
    cs_model_kind_free(&kind);
    OK(read_kind(in_dir(state, "."), &config, &kind));
    assert_true(kind.from_nothing && !kind.likelihood && kind.decoder_resets);
    assert_true(fabs(kind.delta - 0.25) < 1e-15);
    (void)put(state, "manifest.json", "{\"options\": {\"loss\": null, \"objective\": \"linear\"}}");
    config.arch = CS_ARCH_LINEAR;
    cs_model_kind_free(&kind);
    OK(read_kind(in_dir(state, "."), &config, &kind));
    assert_true(kind.kind == CS_KIND_LINEAR && !kind.likelihood);
    cs_model_kind_free(&kind);
    (void)put(state, "train.json", "{\"objective\": \"ars\"}");
    assert_fails(read_kind(in_dir(state, "."), &config, &kind), CS_ERR_INPUT, "'ars'");
    (void)put(state, "train.json", "{}");
    assert_fails(read_kind(in_dir(state, "."), &config, &kind), CS_ERR_INPUT,
                 "'objective' is missing");
    cs_kind named;
    assert_fails(cs_kind_by_name("causl", &named), CS_ERR_USAGE, "causl");
}

/* config.json takes precedence; settings that it lacks are in the other files of the folder. */
TEST_IN_DIR(a_model_says_its_own_kind)
{
    cs_model_config config = {.arch = CS_ARCH_GPT2};
    cs_model_kind kind = {0};
    cs_objective objective;
    cs_plan_file plans = {0};
    (void)put(state, "train.json", "{\"objective\": \"ar\"}");
    (void)put(state, "config.json",
              "{\"cospec\": {\"trained\": {\"kind\": \"two-stream\", \"attention\": \"causal\", "
              "\"objective\": \"group-ar t=3 event-weight=token\", \"plan_file\": null}}}");
    OK(read_kind(in_dir(state, "."), &config, &kind));
    assert_true(kind.kind == CS_KIND_TWO_STREAM && kind.trained_here && kind.likelihood);
    assert_int_equal(kind.attention, CS_ATTENTION_CAUSAL); /* as it was fine-tuned */
    assert_int_equal(kind.pretrained, CS_ATTENTION_PLAN);
    OK(cs_model_kind_objective(&kind, &plans, &objective));
    assert_true(objective.kind == CS_OBJ_GROUP_AR && objective.t == 3);
    cs_model_kind_free(&kind);
    (void)put(state, "config.json", "{\"cospec\": {\"trained\": {\"kind\": \"masked\"}}}");
    assert_fails(read_kind(in_dir(state, "."), &config, &kind), CS_ERR_INPUT, "config.json");
}

/* A checkpoint of an older version: its run is in trainer.json. */
TEST_IN_DIR(a_checkpoint_of_before)
{
    cs_model_config config = {.arch = CS_ARCH_GPT2};
    (void)put(state, "config.json", "{}");
    (void)put(state, "trainer.json",
              "{\"run\": {\"objective\": \"masked mask-ratio=0.3 event-weight=token\", \"loss\": "
              "\"cross-entropy\"}}");
    AUTO_OK(cs_model_kind, kind, read_kind(in_dir(state, "."), &config, &kind));
    assert_true(kind.kind == CS_KIND_MASKED && kind.attention == CS_ATTENTION_BIDIRECTIONAL);
}

/* Written records are read back, except fine-tuning's attention. The content of ar and offset-ar is
 * causal, that of masks is what they show, that of other two-stream objectives is by plans. */
TEST_IN_DIR(records_are_read_back)
{
    static const char *const spec[] = {"ar",
                                       "masked:mask-ratio=0.3",
                                       "offset-ar:offset-weights=mix:0.5",
                                       "gvp:segmentation=random,groups=3",
                                       "permuted-ar",
                                       "diverse-ar:t=2",
                                       "ar",
                                       "bernoulli-masked:mask-ratio=0.3",
                                       "group-ar:t=2"};
    const cs_attention attention[] = {
        CS_ATTENTION_CAUSAL, CS_ATTENTION_BIDIRECTIONAL, CS_ATTENTION_CAUSAL,
        CS_ATTENTION_PLAN,   CS_ATTENTION_PLAN,          CS_ATTENTION_PLAN,
        CS_ATTENTION_CAUSAL, CS_ATTENTION_BIDIRECTIONAL, CS_ATTENTION_PLAN};
    const char *const queries[] = {NULL, NULL, "on", "off", "on", "off", "on", "off", "on"};
    for (size_t i = 0; i < sizeof spec / sizeof *spec; ++i) {
        cs_model_config config = {.arch = CS_ARCH_GPT2};
        CS_AUTO(cs_model_kind) made = {0}, read = {0};
        cs_objective objective;
        cs_plan_file plans = {0};
        cs_task task = {.delta = 0.25, .two_stream = i > 5};
        config.attention.query_vector = queries[i] != NULL;
        config.attention.blind_queries = queries[i] && strcmp(queries[i], "off") == 0;
        OK(cs_objective_parse(spec[i], &task.objective));
        OK(cs_model_kind_of(&task, &config, CS_LOSS_SPECTRAL, 1, &made));
        json_t *record = NULL, *json = json_object();
        OK(cs_model_kind_record(&made, CS_ATTENTION_CAUSAL, &record));
        assert_true(json_object_set_new(json, "cospec", json_pack("{s:o}", "trained", record)) ==
                    0);
        OK(cs_json_write(in_dir(state, "config.json"), json));
        json_decref(json);
        OK(read_kind(in_dir(state, "."), &config, &read));
        assert_true(read.kind == made.kind && read.pretrained == attention[i]);
        assert_true(made.attention == attention[i] && read.attention == CS_ATTENTION_CAUSAL);
        assert_true(queries[i] ? strcmp(read.query_position, queries[i]) == 0
                               : !read.query_position);
        assert_true(!read.likelihood && fabs(read.spectral_factor - 1) < 1e-15);
        assert_true(fabs(read.delta - 0.25) < 1e-15 && read.trained_here);
        OK(cs_model_kind_objective(&read, &plans, &objective));
        assert_int_equal(objective.kind, task.objective.kind);
        assert_int_equal(objective.groups, task.objective.groups);
    }
}
