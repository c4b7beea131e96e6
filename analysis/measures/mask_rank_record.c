#include <inttypes.h>
#include <math.h>

#include "analysis/measures/mask_rank.h"
#include "analysis/measures/rank_record.h"
#include "base/mem.h"

static cs_item *add_metric(cs_item *list, const char *name, const char *definition, double value,
                           double se)
{
    cs_item *metric = cs_item_object(list, NULL);
    cs_item_text(metric, "name", name);
    if (definition) cs_item_text(metric, "definition", definition);
    cs_item_real(metric, "value", value);
    cs_item_real(metric, "se", se);
    return metric;
}

/* One set of rows of a layer. */
static void add_set(const char *model, const cs_rank_options *options, const cs_mask_layer *l,
                    cs_mask_set set, cs_item *states)
{
    const cs_effective_rank *r = &l->rank[set];
    const char *name = cs_mask_set_name(set);
    char *where = cs_format("%s, layer %" PRId64 ", %s", model, l->layer, name); /* of warnings */
    cs_item *item = cs_item_object(states, name);
    cs_item_text(item, "~states", name);
    cs_item_take(item, "~series", cs_format("%s %s", model, name));
    cs_item_int(item, "n", r->rows);
    cs_item_ranks(item, where ? where : name, options, &l->about[set], r);
    cs_free(where);
}

static void add_gap(const cs_mask_rank *r, const cs_mask_layer *l, cs_item *layer)
{
    const cs_mask_set with = cs_mask_rank_with(r), without = cs_mask_rank_without(r);
    cs_item_int(layer, "~gap_n", l->rank[with].rows);
    cs_item_take(layer, "~gap_definition",
                 cs_format("%s less %s; se: delete-block jackknife of the difference",
                           cs_mask_set_name(with), cs_mask_set_name(without)));
    cs_item *list = cs_item_array(layer, "gap");
    for (int k = 0; k < CS_RANK_MEASURES; ++k) {
        cs_item *metric =
            add_metric(list, cs_rank_name((cs_rank_measure)k), NULL, l->gap[k], l->gap_se[k]);
        cs_item_real(metric, "~with", l->rank[with].value[k]);
        cs_item_real(metric, "~without", l->rank[without].value[k]);
        cs_item_left_out(metric, k, &l->rank[with], &l->rank[without]);
    }
}

static void add_containment(const cs_mask_layer *l, cs_item *layer)
{
    const cs_containment *c = &l->containment;
    cs_item_int(layer, "~contained_n", l->rank[CS_SET_MASK_ONLY].rows);
    cs_item *list = cs_item_array(layer, "containment");
    for (int k = 0; k < CS_CONTAIN_MEASURES; ++k) {
        const cs_contain_measure measure = (cs_contain_measure)k;
        add_metric(list, cs_contain_name(measure), cs_contain_definition(measure), c->value[k],
                   c->se[k]);
    }
    add_metric(list, "dimensions_real", "k_R = rank_tau of the real rows", (double)c->real, NAN);
    add_metric(list, "dimensions_mask", "k_M = rank_tau of the [MASK] rows", (double)c->mask, NAN);
    add_metric(list, "row_space_real", "directions of H_R with sigma^2 above gamma ||H_R||_F^2",
               (double)c->rank, NAN);
    add_metric(list, "outside_share_exact", "share of ||H_M||_F^2 outside those directions",
               c->exact, NAN);
    add_metric(list, "outside_share_exact_error", "bound on its numerical error", c->exact_error,
               NAN);
}

void cs_mask_rank_record(const char *name, const cs_rank_options *options, const cs_mask_rank *r,
                         cs_item *model)
{
    cs_item *layers = cs_item_array(model, "layers");
    for (int64_t i = 0; i < r->layers; ++i) {
        const cs_mask_layer *l = &r->layer[i];
        cs_item *layer = cs_item_object(layers, NULL);
        cs_item_int(layer, "layer", l->layer);
        cs_item *states = cs_item_object(layer, "states");
        for (int set = 0; set < CS_MASK_SETS; ++set) {
            if (l->has[set]) add_set(name, options, l, (cs_mask_set)set, states);
        }
        add_gap(r, l, layer);
        if (l->contained) add_containment(l, layer);
    }
}
