/* What the surrogates are reported with beside the truth. */
#include <math.h>

#include "analysis/measures/connectivity_truth.h"

/* A row of the table alone: the list in JSON has an object a surrogate and truth. */
static void add_row(cs_item *rows, int quantity, const char *series, const char *metric,
                    const char *surrogate, const char *definition, cs_measured v)
{
    cs_item *row = cs_item_object(rows, NULL);
    cs_item_text(row, "series", series);
    cs_item_text(row, "name", metric);
    cs_item_text(row, "surrogate", surrogate);
    cs_item_text(row, "truth", cs_truth_quantity[quantity][0]);
    cs_item_text(row, "target_position", cs_truth_quantity[quantity][1]);
    cs_item_text(row, "definition", definition);
    CS_ITEM_FIELDS(row, &v, value, se);
}

/* The models under one true quantity. */
static void add_truth(int count, const cs_truth_model *models, int quantity, cs_item *rows)
{
    for (int i = 0; i < count; ++i) {
        const cs_truth_model *m = &models[i];
        if (m->known && !isnan(m->truth[quantity].value)) {
            add_row(rows, quantity, m->series, cs_truth_quantity[quantity][0], NULL,
                    "of the co-occurrence matrix, from the file of --truth", m->truth[quantity]);
        }
    }
}

#define BEYOND                                                                                     \
    "the root of the sum of squares of both errors, each times its 97.5% point of Student"

/* How the claims rank the models under one true quantity. */
static void add_ranking(int quantity, const cs_ranking r[CS_TRUTH_CLAIMS], cs_item *rows)
{
    static const struct {
        const char *name, *definition;
    } metric[] = {
        {"tau_b", "Kendall's tau-b of the surrogate and the true connectivity over the models"},
        {"tau_p", "exact chance of a |tau-b| as large or larger under no association"},
        {"agree", "pairs of models that both rank in the same order, beyond " BEYOND},
        {"disagree", "pairs of models that they rank in opposite orders, beyond " BEYOND},
        {"undetermined",
         "pairs of models whose order at least one of them leaves undetermined at " BEYOND}};
    for (size_t k = 0; k < sizeof metric / sizeof *metric; ++k) {
        for (int c = 0; c < CS_TRUTH_CLAIMS; ++c) {
            const double value[] = {r[c].kendall.tau, r[c].kendall.p, (double)r[c].agree,
                                    (double)r[c].disagree, (double)r[c].undetermined};
            add_row(rows, quantity, "all", metric[k].name, cs_truth_claim[c], metric[k].definition,
                    (cs_measured){value[k], (double)NAN, 0});
        }
    }
}

static void add_claim(int claim, int quantity, const cs_ranking *r, cs_item *list)
{
    cs_item *item = cs_item_object(list, NULL);
    cs_item_text(item, "surrogate", cs_truth_claim[claim]);
    cs_item_text(item, "truth", cs_truth_quantity[quantity][0]);
    cs_item_text(item, "target_position", cs_truth_quantity[quantity][1]);
    cs_item_int(item, "objectives", r->objects);
    cs_item_real(item, "tau_b", r->kendall.tau);
    cs_item_real(item, "tau_p", r->kendall.p);
    CS_ITEM_FIELDS(item, r, agree, disagree, undetermined);
}

cs_status cs_truth_record(int count, const cs_truth_model *models, cs_measured *room, cs_item *list,
                          cs_item *rows)
{
    cs_status status = CS_OK;
    for (int q = 0; q < CS_TRUTH_QUANTITIES && status == CS_OK; ++q) {
        cs_ranking r[CS_TRUTH_CLAIMS] = {0};
        for (int c = 0; c < CS_TRUTH_CLAIMS && status == CS_OK; ++c) {
            status = cs_truth_rank(count, models, c, q, room, room + count, &r[c]);
            if (r[c].objects > 0) {
                add_claim(c, q, &r[c], list);
            }
        }
        if (r[0].objects > 0) {
            add_truth(count, models, q, rows);
            add_ranking(q, r, rows);
        }
    }
    return status;
}
