/* What kind of model a directory holds, by its files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/model_kind.h"
#include "io/file.h"
#include "io_support.h"
#include "model_support.h"

static void put(void **state, const char *name, const char *text)
{
    must(cs_file_write(in_dir(state, name), text, (int64_t)strlen(text)));
}

static void kinds_are_read(void **state)
{
    cs_model_config config = {.arch = CS_ARCH_BERT};
    cs_model_kind kind;
    put(state, "config.json", "{}");
    must(cs_model_kind_read(in_dir(state, "."), &config, &kind));
    assert_true(kind.kind == CS_KIND_MASKED && !kind.trained_here && kind.likelihood);
    put(state, "config.json", "{\"is_decoder\": true}");
    must(cs_model_kind_read(in_dir(state, "."), &config, &kind));
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
        put(state, "train.json", text);
        config.decoder.layers = known[i].decoder;
        must(cs_model_kind_read(in_dir(state, "."), &config, &kind));
        assert_true(kind.kind == known[i].kind && kind.trained_here && !kind.from_nothing);
        cs_kind named;
        must(cs_kind_by_name(cs_kind_name(kind.kind), &named));
        assert_int_equal(named, kind.kind);
    }
    put(state, "train.json", "{\"objective\": \"ar event-weight=token empty-prefix=shared\"}");
    put(state, "manifest.json",
        "{\"options\": {\"loss\": \"spectral\", \"delta\": 0.25, \"decoder-resets\": true}}");
    must(cs_model_kind_read(in_dir(state, "."), &config, &kind));
    assert_true(kind.from_nothing && !kind.likelihood && kind.decoder_resets);
    assert_true(fabs(kind.delta - 0.25) < 1e-15);
    put(state, "manifest.json", "{\"options\": {\"loss\": null, \"objective\": \"linear\"}}");
    config.arch = CS_ARCH_LINEAR;
    must(cs_model_kind_read(in_dir(state, "."), &config, &kind));
    assert_true(kind.kind == CS_KIND_LINEAR && !kind.likelihood);
    put(state, "train.json", "{\"objective\": \"ars\"}");
    assert_fails(cs_model_kind_read(in_dir(state, "."), &config, &kind), CS_ERR_INPUT, "'ars'");
    put(state, "train.json", "{}");
    assert_fails(cs_model_kind_read(in_dir(state, "."), &config, &kind), CS_ERR_INPUT,
                 "no 'objective'");
    cs_kind named;
    assert_fails(cs_kind_by_name("causl", &named), CS_ERR_USAGE, "causl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIR(kinds_are_read),
    };
    return cmocka_run_group_tests_name("model_kind", tests, NULL, NULL);
}
