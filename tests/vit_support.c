
#include "vit_support.h"

const picture_form picture_forms[] = {
    {"one stream", CS_OBJ_MASKED, false, false, CS_TARGET_PIXELS, false},
    {"one stream, normalised", CS_OBJ_MASKED, false, false, CS_TARGET_NORMALISED, false},
    {"encoder and decoder", CS_OBJ_MASKED, false, true, CS_TARGET_NORMALISED, false},
    {"two streams over a mask", CS_OBJ_MASKED, true, false, CS_TARGET_PIXELS, false},
    {"two streams in groups", CS_OBJ_GVP, false, false, CS_TARGET_PIXELS, false},
    {"one patch after the other", CS_OBJ_AR, false, false, CS_TARGET_PIXELS, false},
    {"codes of one stream", CS_OBJ_MASKED, false, false, CS_TARGET_IDS, false},
    {"codes one after the other", CS_OBJ_AR, false, false, CS_TARGET_IDS, false},
    {"codes of codes, encoder and decoder", CS_OBJ_MASKED, false, true, CS_TARGET_IDS, true},
    {"codes of codes in groups", CS_OBJ_GVP, false, false, CS_TARGET_IDS, true},
    {NULL, CS_OBJ_AR, false, false, CS_TARGET_PIXELS, false},
};

cs_images make_pictures(void)
{
    cs_images m = {.count = PICTURES, .height = SIDE, .width = SIDE, .channels = 1, .labels = 2};
    m.name = cs_strdup("waves");
    m.path = cs_strdup("waves");
    m.pixel = cs_alloc(PICTURES * SIDE * SIDE, 1);
    m.label = cs_alloc(PICTURES, sizeof *m.label);
    m.held_out = cs_calloc(PICTURES, 1);
    m.mirror = cs_calloc(2, 1);
    m.label_name = cs_calloc(2, sizeof *m.label_name);
    assert_true(m.name && m.path && m.pixel && m.label && m.held_out && m.mirror && m.label_name);
    m.label_name[0] = cs_strdup("down");
    m.label_name[1] = cs_strdup("along");
    m.mirror[0] = 1;
    for (int64_t i = 0; i < PICTURES; ++i) {
        cs_rng rng = cs_rng_at(17, CS_STREAM_TEST, (uint64_t)i);
        const double phase = 6.3 * cs_rng_uniform(&rng), speed = 0.5 + cs_rng_uniform(&rng);
        m.label[i] = (int32_t)(i % 2);
        m.held_out[i] = i % 4 == 3;
        for (int64_t p = 0; p < SIDE * SIDE; ++p) {
            const double at = (double)(m.label[i] ? p % SIDE : p / SIDE);
            m.pixel[i * SIDE * SIDE + p] = (uint8_t)lround(127 + 100 * sin(phase + speed * at));
        }
    }
    return m;
}

training make_picture_training(const picture_form *form, int threads, const char *dir)
{
    CS_AUTO(cs_images) m = make_pictures();
    training t =
        make_training(&(recipe){.kind = form->kind, .arch = CS_ARCH_GPT2, .threads = threads}, dir);
    cs_model_free(&t.model);
    cs_corpus_free(&t.corpus);
    cs_tokenizer_free(&t.tokenizer);
    const bool codes = form->target == CS_TARGET_IDS;
    t.options.loss = codes ? CS_LOSS_CROSS_ENTROPY : CS_LOSS_SQUARED_ERROR;
    t.options.data.length = PATCHES;
    t.options.task.two_stream = form->two_stream;
    cs_model_config c = {.shape.width = 16,
                         .shape.layers = 2,
                         .shape.heads = 2,
                         .shape.inner = 32,
                         .picture.height = SIDE,
                         .picture.width = SIDE,
                         .picture.patch = PATCH,
                         .picture.channels = 1};
    if (form->decoder) {
        c.decoder = (cs_decoder_config){.layers = 1, .width = 12, .heads = 3, .inner = 24};
    }
    cs_model_config_default(form->decoder ? CS_ARCH_VIT_MAE : CS_ARCH_VIT, &c);
    OK(cs_model_config_pictures(&c));
    c.head.target = form->target;
    c.shape.vocab = codes ? CS_FIRST_CODE + CODES : c.shape.vocab;
    c.shape.real_width = form->reads_codes ? 0 : c.shape.real_width;
    c.picture.sinusoidal = form->target == CS_TARGET_NORMALISED;
    c.attention.query_vector = cs_form_of(&t.options.task, &c) == CS_FORM_TWO_STREAM;
    OK(cs_model_init(&c, t.backend, true, &t.model));
    OK(cs_model_randomise(&t.model, t.options.seed));
    if (codes) {
        OK(cs_codes_fit(&m, PATCH, CODES, 1, 1, &t.model.codes));
    }
    OK(cs_model_pictures(&t.model, &m, 1, &t.corpus));
    return t;
}
