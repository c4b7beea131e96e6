/* The table of architectures, and what follows from a row. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/enum_names.h"
#include "model/arch_private.h"

static const cs_arch_row *const ROW[] = {
#define ROW_OF(NAME, name) [CS_ARCH_##NAME] = &cs_arch_##name,
    CS_ARCHITECTURES(ROW_OF)};

const cs_arch_row *cs_arch_row_of(cs_arch arch)
{
    return ROW[arch];
}

const char *cs_arch_name(cs_arch arch)
{
    return ROW[arch]->name;
}

cs_status cs_arch_by_name(const char *name, cs_arch *out)
{
    const char *names[CS_ARCH_COUNT];
    for (int i = 0; i < CS_ARCH_COUNT; ++i) {
        names[i] = ROW[i]->name;
    }
    return CS_THING_AMONG("architecture", name, names, out);
}

bool cs_arch_shifts(cs_arch arch)
{
    return ROW[arch]->shifts;
}

/* Letters and digits of two names up to the end of the second, in any case. */
bool cs_class_begins(const char *name, const char *start)
{
    for (; *start; ++start) {
        if (!isalnum((unsigned char)*start)) {
            continue;
        }
        while (*name && !isalnum((unsigned char)*name)) {
            ++name;
        }
        if (tolower((unsigned char)*name++) != tolower((unsigned char)*start)) {
            return false;
        }
    }
    return true;
}

bool cs_arch_of_class(const char *class, cs_arch *out)
{
    for (int i = 0; i < CS_ARCH_COUNT; ++i) {
        const char *other = ROW[i]->other_class;
        if (ROW[i]->own_code &&
            (cs_class_begins(class, ROW[i]->class) || (other && cs_class_begins(class, other)))) {
            *out = (cs_arch)i;
            return true;
        }
    }
    return false;
}

bool cs_arch_of_known_class(const char *class, cs_arch *out)
{
    static const char heads[] = "Model LMHeadModel RewardModel ForCausalLM ForMaskedLM "
                                "ForPreTraining ForSequenceClassification ForTokenClassification "
                                "ForQuestionAnswering ForMultipleChoice ForImageClassification";
    for (int i = 0; i < CS_ARCH_COUNT; ++i) {
        const size_t size = strlen(ROW[i]->class);
        if (i != CS_ARCH_LINEAR && strncmp(class, ROW[i]->class, size) == 0 &&
            cs_listed(heads, class + size)) {
            *out = (cs_arch)i;
            return true;
        }
    }
    return false;
}

bool cs_arch_causal(cs_arch arch)
{
    return ROW[arch]->causal;
}

cs_status cs_arch_trained(cs_arch arch)
{
    if (!ROW[arch]->trained) {
        const bool mixes = cs_arch_has_key_at(arch, CS_AT(experts.count));
        return cs_fail(CS_ERR_USAGE,
                       mixes ? "architecture %s can be read, but neither trained nor fine-tuned"
                             : "architecture %s can be read and fine-tuned, but not trained",
                       cs_arch_name(arch));
    }
    return CS_OK;
}

const cs_arch_key cs_arch_sizes[] = {
    {"vocab_size", CS_KEY_INT, CS_AT(shape.vocab), NAN},
    {"hidden_size", CS_KEY_INT, CS_AT(shape.width), NAN},
    {"num_hidden_layers", CS_KEY_INT, CS_AT(shape.layers), NAN},
    {"num_attention_heads", CS_KEY_INT, CS_AT(shape.heads), NAN},
    {"intermediate_size", CS_KEY_INT, CS_AT(shape.inner), NAN},
    {"initializer_range", CS_KEY_REAL, CS_AT(training.init_range), 0.02},
    {NULL, CS_KEY_PAST, 0, 0},
};

const cs_arch_key *cs_arch_key_at(cs_arch arch, int64_t i)
{
    for (int list = 0; list < CS_ARCH_LISTS && ROW[arch]->keys[list]; ++list) {
        for (const cs_arch_key *k = ROW[arch]->keys[list]; k->key; ++k) {
            if (i-- == 0) {
                return k;
            }
        }
    }
    return NULL;
}

bool cs_arch_has_key_at(cs_arch arch, size_t at)
{
    const cs_arch_key *k;
    bool has = false;
    for (int64_t i = 0; (k = cs_arch_key_at(arch, i)); ++i) {
        has = has || (k->kind <= CS_KEY_ACT && k->at == at);
    }
    return has;
}

bool cs_arch_knows(cs_arch arch, const char *key)
{
    const cs_arch_key *own;
    bool found = false;
    for (int64_t i = 0; (own = cs_arch_key_at(arch, i)); ++i) {
        found = found || cs_listed(own->key, key);
    }
    return found;
}

const cs_arch_tensor *cs_arch_tensor_at(cs_arch arch, int64_t i)
{
    for (int list = 0; list < CS_ARCH_LISTS && ROW[arch]->tensors[list]; ++list) {
        for (const cs_arch_tensor *t = ROW[arch]->tensors[list]; t->ours; ++t) {
            if (i-- == 0) {
                return t;
            }
        }
    }
    return NULL;
}

/* --- presets ---------------------------------------------------------------------------------- */

/* Sizes of the presets: GPT-2 small (Radford et al. 2019) and MAE-LM base have 12 x 768, cramming
 * (Geiping and Goldstein 2023; LA section 5.1) 16 x 768, MAE-LM large++ 24 x 1024; the smaller ones
 * are ours, for a CPU. Dropout is 0 by default, as in cramming. */
static const struct {
    const char *name;
    int64_t layers, width, heads, positions;
} PRESET[] = {
    {"1m", 4, 128, 4, 128},         /* 0.8M parameters in addition to the token table */
    {"4m", 6, 192, 6, 128},         /* 2.7M */
    {"small", 6, 256, 4, 512},      /* 4.7M */
    {"base", 12, 768, 12, 512},     /* 85M */
    {"cramming", 16, 768, 12, 512}, /* 113M */
    {"large", 24, 1024, 16, 512}    /* 302M */
};

cs_status cs_model_preset(const char *name, cs_model_config *config)
{
    int i = 0;
    cs_status status = CS_ROW_NAMED("model size", name, PRESET, &i);
    if (status != CS_OK) return status;
    config->shape.layers = PRESET[i].layers;
    config->shape.width = PRESET[i].width;
    config->shape.heads = PRESET[i].heads;
    config->shape.positions = PRESET[i].positions;
    config->shape.inner = 4 * config->shape.width;
    return CS_OK;
}
