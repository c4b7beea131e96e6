/* Texts drawn from a model, in a record. */
#include "infer/generate.h"

cs_status cs_generated_record(const cs_generated *g, const cs_generate_options *options,
                              const cs_tokenizer *tokenizer, cs_item *root)
{
    static const char *const order[] = {"left", "random", "confidence"};
    cs_status status = CS_OK;
    cs_item_text(root, "kind", cs_kind_name(options->kind));
    cs_item_text(root, "order", order[options->order]);
    CS_ITEM_FIELDS(root, options, temperature, top_p, length);
    cs_item_int(root, "prompt_tokens", options->prompt_length);
    int64_t unfilled = 0;
    for (int64_t i = 0; i < options->prompt_length; ++i) {
        unfilled += cs_kind_masks(options->kind) &&
                    options->prompt[i] == cs_tokenizer_special(tokenizer, CS_TOKEN_MASK);
    }
    if (unfilled > 0) {
        cs_item_take(cs_item_array(root, "warnings"), NULL,
                     cs_format("the prompt keeps its %lld mask tokens; tokens are "
                               "generated after the prompt",
                               (long long)unfilled));
    }
    cs_item *texts = cs_item_array(root, "texts");
    for (int64_t i = 0; i < g->count && status == CS_OK; ++i) {
        cs_item *item = cs_item_object(texts, NULL);
        const int32_t *token = g->token + i * g->length, *place = g->place + i * g->drawn;
        char *text = NULL;
        int64_t size = 0;
        status = cs_tokenizer_decode(tokenizer, token, g->length, false, &text, &size);
        cs_item_take(item, "text", text);
        cs_item_real(item, "nll", g->nll[i]);
        cs_item *tokens = cs_item_array(item, "tokens"), *places = cs_item_array(item, "places");
        for (int64_t k = 0; k < g->length; ++k) {
            cs_item_int(tokens, NULL, token[k]);
        }
        for (int64_t j = 0; j < g->drawn; ++j) {
            cs_item_int(places, NULL, place[j]);
        }
    }
    return status;
}
