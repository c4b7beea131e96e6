#include <inttypes.h>
#include <math.h>

#include "analysis/measures/feature_connectivity.h"
#include "base/mem.h"

enum { POINTS = 1000 }; /* of a curve, at most */

/* Sorted values at ranks that are equally far apart on a logarithmic axis, the last one included.
 */
static void add_curve(cs_item *item, const cs_feature_connectivity *c)
{
    cs_item *curve = cs_item_array(item, "~curve");
    int64_t last = 0;
    for (int i = 0; i < POINTS; ++i) {
        double share = (double)i / (POINTS - 1);
        int64_t rank = (int64_t)llround(exp(share * log((double)c->pairs)));
        rank = i == POINTS - 1 ? c->pairs : rank;
        if (rank > last) {
            cs_item *point = cs_item_object(curve, NULL);
            cs_item_int(point, "rank", rank);
            cs_item_real(point, "value", (double)c->top[rank - 1]);
            last = rank;
        }
    }
}

static void add_warnings(const char *name, bool centred, const cs_feature_connectivity *c,
                         cs_item *item)
{
    cs_item *list = cs_item_array(item, "warnings");
    if (c->mean_share > 0.5) {
        cs_item_take(
            list, NULL,
            cs_format("%s: the mean of the rows has %.1f%% of the sum of squares of the compared "
                      "features%s",
                      name, 100.0 * c->mean_share,
                      centred ? ""
                              : ", so that all pairs are similar; give --center to remove it"));
    }
    if (c->zeros > 0) {
        cs_item_take(list, NULL, cs_format("%s: %" PRId64 " rows are 0", name, c->zeros));
    }
    if (c->pairs == c->total) {
        cs_item_take(list, NULL,
                     cs_format("%s: --pairs takes all %" PRId64 " pairs of %" PRId64 " rows", name,
                               c->total, c->rows));
    }
}

void cs_feature_record(const char *name, const cs_feature_options *options,
                       const cs_feature_connectivity *c, cs_item *item)
{
    cs_item_text(item, "series", name);
    cs_item_int(item, "n", c->rows);
    cs_item_int(item, "d", c->cols);
    CS_ITEM_FIELDS(item, c, pairs, blocks, mean_share);
    cs_item_int(item, "all_pairs", c->total);
    cs_item_text(item, "similarity", options->cosine ? "cosine" : "inner");
    CS_ITEM_FIELDS(item, options, self, centred);
    cs_item_int(item, "seed", (int64_t)options->seed);
    cs_item *metrics = cs_item_array(item, "metrics");
    for (int i = 0; i < CS_FEATURE_MEASURES; ++i) {
        cs_item *metric = cs_item_object(metrics, NULL);
        cs_item_text(metric, "name", cs_feature_name(i));
        cs_item_take(metric, "definition", cs_feature_definition(i, options, c));
        cs_item_real(metric, "value", c->value[i]);
        cs_item_real(metric, "se", c->se[i]);
        cs_item *list = cs_item_array(metric, "~left_out");
        for (int64_t b = 0; c->left_out && b < c->blocks; ++b) {
            cs_item_real(list, NULL, c->left_out[b * CS_FEATURE_MEASURES + i]);
        }
    }
    cs_item_text(item, "~partition", c->partition);
    add_curve(item, c);
    add_warnings(name, options->centred, c, item);
}
