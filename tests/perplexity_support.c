

#include "perplexity_support.h"

#include "model_support.h"

const perplexity_case perplexity_cases[PERPLEXITY_CASES] = {
    {{.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2}, CS_KIND_CAUSAL, CS_ASK_PREFIX},
    {{.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA}, CS_KIND_MASKED, CS_ASK_APPEND},
    {{.kind = CS_OBJ_MASKED, .arch = CS_ARCH_BERT}, CS_KIND_MASKED, CS_ASK_REMAINING},
    {{.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM}, CS_KIND_MASKED, CS_ASK_PSEUDO},
    {{.kind = CS_OBJ_GVP, .arch = CS_ARCH_GPT2}, CS_KIND_TWO_STREAM, CS_ASK_PREFIX},
    {{.kind = CS_OBJ_AR, .arch = CS_ARCH_LINEAR}, CS_KIND_LINEAR, CS_ASK_PREFIX},
#define MAE_RECIPE                                                                                 \
    {                                                                                              \
        .kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM, .decoder_layers = 1           \
    }
    {MAE_RECIPE, CS_KIND_MAE, CS_ASK_APPEND},
    {MAE_RECIPE, CS_KIND_MAE, CS_ASK_REMAINING},
    {MAE_RECIPE, CS_KIND_MAE, CS_ASK_PSEUDO},
    {{.kind = CS_OBJ_MNTP, .arch = CS_ARCH_ROBERTA_PRELAYERNORM}, CS_KIND_MNTP, CS_ASK_APPEND},
    {{.kind = CS_OBJ_MNTP, .arch = CS_ARCH_ROBERTA}, CS_KIND_MNTP, CS_ASK_REMAINING},
    {{.kind = CS_OBJ_MNTP, .arch = CS_ARCH_GPT2}, CS_KIND_HYBRID, CS_ASK_PREFIX},
    {{.kind = CS_OBJ_MNTP, .arch = CS_ARCH_BERT}, CS_KIND_HYBRID, CS_ASK_APPEND},
};

training perplexity_case_of(int i)
{
    return make_training(&perplexity_cases[i].recipe, "");
}

training sharp_case_of(int i)
{
    training t = perplexity_case_of(i);
    for (int64_t p = 0; p < t.model.params.count; ++p) {
        const cs_param *param = &t.model.params.param[p];
        CS_AUTO_FREE float *x = cs_alloc(param->rows * param->cols, sizeof *x);
        assert_non_null(x);
        OK(cs_params_get(&t.model.params, p, CS_PARAM_VALUE, x));
        for (int64_t k = 0; k < param->rows * param->cols; ++k) {
            x[k] *= 6;
        }
        OK(cs_params_set(&t.model.params, p, CS_PARAM_VALUE, x));
    }
    return t;
}

cs_perplexity_options perplexity_options_of(int i)
{
    return (cs_perplexity_options){.kind = perplexity_cases[i].kind,
                                   .ask = perplexity_cases[i].ask,
                                   .batch = 3,
                                   .split = true};
}

cs_perplexity perplexity_of(training *t, const cs_perplexity_options *o)
{
    cs_perplexity p = {0};
    OK(cs_perplexity_of(&t->model, &t->corpus, o, &p));
    return p;
}

void set_all_parameters(training *t, float value)
{
    for (int64_t i = 0; i < t->model.params.count; ++i) {
        const cs_param *param = &t->model.params.param[i];
        CS_AUTO_FREE float *x = cs_alloc(param->rows * param->cols, sizeof *x);
        assert_non_null(x);
        for (int64_t k = 0; k < param->rows * param->cols; ++k) {
            x[k] = value;
        }
        OK(cs_params_set(&t->model.params, i, CS_PARAM_VALUE, x));
    }
}
