#include "analysis/measures/rank_record.h"

void cs_item_ranks(cs_item *item, const cs_rank_options *options, const cs_gram *g,
                   const cs_effective_rank *r)
{
    cs_item *metrics = cs_item_array(item, "metrics");
    for (int m = 0; m < CS_RANK_MEASURES; ++m) {
        const cs_rank_measure measure = (cs_rank_measure)m;
        cs_item *metric = cs_item_object(metrics, NULL);
        cs_item_text(metric, "name", cs_rank_name(measure));
        cs_item_take(metric, "definition", cs_rank_definition(measure, options, g, r));
        cs_item_real(metric, "value", r->value[m]);
        cs_item_real(metric, "se", r->se[m]);
        cs_item_left_out(metric, m, r, NULL);
    }
}

/* A number of one, less that of the other where there is another. */
static void add_block(cs_item *list, int64_t block, const double *x, const double *less)
{
    cs_item *item = cs_item_object(list, NULL);
    cs_item_int(item, "block", block);
    cs_item_real(item, "value", *x - (less ? *less : 0));
}

void cs_item_left_out(cs_item *metric, int measure, const cs_effective_rank *r,
                      const cs_effective_rank *less)
{
    const bool corrected = measure == CS_RANK_TAU_CORRECTED;
    const int m = measure == CS_RANK_TAU ? CS_RANK_TAU_INTERPOLATED : measure;
    const double *of = corrected ? r->part_out : r->left_out, *other = !less       ? NULL
                                                                       : corrected ? less->part_out
                                                                                   : less->left_out;
    const int64_t stride = corrected ? 1 : CS_RANK_MEASURES, first = corrected ? 0 : m;
    cs_item *list = cs_item_array(metric, "~left_out");
    if (!of || (less && !other)) {
        return;
    }
    if (corrected) add_block(list, 0, &r->bias_left, less ? &less->bias_left : NULL);
    for (int64_t b = 0; b < (corrected ? r->parts : r->blocks); ++b) {
        const int64_t at = b * stride + first;
        add_block(list, b + 1, of + at, other ? other + at : NULL);
    }
}
