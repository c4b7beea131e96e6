#include <math.h>

#include "infer/perplexity.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"

/* A value with its 95% interval. */
typedef struct {
    const char *metric;
    double value, low, high, se;
    const double *left_out; /* without block b, at b * stride; NULL: not known */
    int64_t stride;
    double scale; /* of those */
} number;

/* The means of p without each block, over all k. */
static number symmetric(const char *metric, const cs_perplexity *p, double width,
                        const cs_score_means *of, double scale)
{
    const double value = scale * of->nll, se = scale * of->se;
    number n = {.metric = metric,
                .value = value,
                .low = value - width * se,
                .high = value + width * se,
                .se = se,
                .left_out = of->left_out ? of->left_out + p->lengths : NULL,
                .stride = p->lengths + 1,
                .scale = scale};
    cs_interval_clip(metric, &n.low, &n.high);
    return n;
}

enum { PERPLEXITY, NLL, BITS, UNIGRAM, DIFFERENCE, NUMBERS };

/* Bytes are known of each token, or as many of every one: then bits are nats, scaled. */
static void numbers_of(const cs_perplexity_answer *a, double bytes_a_token, number out[NUMBERS])
{
    const cs_perplexity *p = &a->p;
    const int way = a->ask == CS_ASK_PSEUDO ? 1 : a->ask == CS_ASK_ELBO ? 2 : 0;
    static const char *const NAME[][3] = {
        {"perplexity", "nll", "bits_per_byte"},
        {"pseudo_perplexity", "pseudo_nll", "pseudo_bits_per_byte"},
        {"perplexity_bound", "nll_bound", "bits_per_byte_bound"}};
    const double width =
        p->blocks > 1 ? cs_student_width(0.95, (double)(p->blocks - 1)) : (double)NAN;
    const cs_score_means nats = {p->nll, p->se, NULL, NULL, p->left_out},
                         bits = {p->bits_per_byte, p->bits_se, NULL, NULL, NULL};
    const number nll = symmetric(NAME[way][1], p, width, &nats, 1);
    const char *const of_bytes = NAME[way][2];
    out[PERPLEXITY] = (number){.metric = NAME[way][0],
                               .value = exp(p->nll),
                               .low = exp(nll.low),
                               .high = exp(nll.high),
                               .se = exp(p->nll) * p->se};
    out[NLL] = nll;
    out[BITS] = isfinite(bytes_a_token)
                    ? symmetric(of_bytes, p, width, &nats, 1.0 / (log(2.0) * bytes_a_token))
                    : symmetric(of_bytes, p, width, &bits, 1);
    if (!isfinite(bytes_a_token)) {
        out[BITS].left_out = p->bits_left_out;
        out[BITS].stride = 1;
    }
    out[UNIGRAM] = symmetric("unigram_nll", p, width, &p->reference, 1);
    out[DIFFERENCE] = symmetric("unigram_difference", p, width, &p->difference, 1);
}

/* Without each block, at k: the nll, and of the baseline and the difference where there is one. */
static void add_left_out(const cs_perplexity *p, int64_t k, cs_item *item)
{
    cs_item *list = cs_item_array(item, "~left_out");
    for (int64_t b = 0; b < p->dealt; ++b) {
        const int64_t at = b * (p->lengths + 1) + k;
        cs_item *block = cs_item_object(list, NULL);
        cs_item_real(block, "nll", p->left_out[at]);
        if (p->reference.left_out) {
            cs_item_real(block, "unigram", p->reference.left_out[at]);
            cs_item_real(block, "difference", p->difference.left_out[at]);
        }
    }
}

/* NLL by the number of tokens seen, with the baseline's and the model's less it. */
static void add_lengths(const cs_perplexity *p, cs_item *list)
{
    const struct {
        const char *name;
        const double *value;
    } extras[] = {{"unigram", p->reference.nll_at},
                  {"unigram_se", p->reference.se_at},
                  {"difference", p->difference.nll_at},
                  {"difference_se", p->difference.se_at}};
    for (int64_t k = 0; k < p->lengths; ++k) {
        if (p->tokens_at[k] == 0) {
            continue;
        }
        cs_item *item = cs_item_object(list, NULL);
        cs_item_int(item, "k", k);
        cs_item_real(item, "nll", p->nll_at[k]);
        cs_item_real(item, "se", p->se_at[k]);
        cs_item_int(item, "n", p->tokens_at[k]);
        for (size_t i = 0; i < sizeof extras / sizeof *extras && extras[i].value; ++i) {
            cs_item_real(item, extras[i].name, extras[i].value[k]);
        }
        add_left_out(p, k, item);
    }
}

/* At the top a pseudo-perplexity, or a bound, is the only one of its three. */
static void add_numbers(const cs_perplexity_answer *a, const number v[NUMBERS], bool top,
                        cs_item *item)
{
    const bool all = !top || a->ask < CS_ASK_PSEUDO;
    cs_item_text(item, "ask", cs_ask_name(a->ask));
    cs_item_real(item, v[PERPLEXITY].metric, v[PERPLEXITY].value);
    CS_ITEM_FIELDS(item, &v[PERPLEXITY], low, high);
    if (all) cs_item_real(item, v[NLL].metric, v[NLL].value);
    cs_item_real(item, "se", v[NLL].se);
    if (all) cs_item_real(item, v[BITS].metric, v[BITS].value);
    CS_ITEM_FIELDS(item, &a->p, tokens);
    if (a->p.reference.left_out) {
        cs_item_real(item, "unigram_nll", v[UNIGRAM].value);
        if (!top) cs_item_real(item, "unigram_se", v[UNIGRAM].se);
        cs_item_real(item, "unigram_difference", v[DIFFERENCE].value);
        cs_item_real(item, "unigram_difference_se", v[DIFFERENCE].se);
    }
}

static void add_result(const cs_perplexity_answer *a, const number v[NUMBERS], cs_item *item)
{
    const cs_perplexity *p = &a->p;
    CS_ITEM_FIELDS(item, p, documents, pieces, blocks);
    add_numbers(a, v, false, item);
    add_lengths(p, cs_item_array(item, "by_length"));
    cs_item *rows = cs_item_array(item, "~numbers");
    for (int i = 0; i < (p->reference.left_out ? NUMBERS : UNIGRAM); ++i) {
        cs_item *row = cs_item_object(rows, NULL);
        CS_ITEM_FIELDS(row, &v[i], metric, value, low, high, se);
        cs_item *list = cs_item_array(row, "~left_out");
        for (int64_t b = 0; v[i].left_out && b < p->dealt; ++b) {
            cs_item_real(list, NULL, v[i].scale * v[i].left_out[b * v[i].stride]);
        }
    }
}

void cs_perplexity_record(int count, const cs_perplexity_answer *answer, double bytes_a_token,
                          cs_item *root)
{
    number v[NUMBERS];
    numbers_of(&answer[0], bytes_a_token, v);
    add_numbers(&answer[0], v, true, root);
    cs_item *results = cs_item_array(root, "results");
    for (int i = 0; i < count; ++i) {
        numbers_of(&answer[i], bytes_a_token, v);
        add_result(&answer[i], v, cs_item_object(results, NULL));
    }
}
