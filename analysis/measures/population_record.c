/* Records of numbers: written from rows, read back from JSON that may be a file of an earlier run. */
#include "analysis/measures/population_record.h"

#include <math.h>

#include "base/mem.h"
#include "io/json.h"

static void put_row(const cs_population_source *s, const cs_population_row *row, cs_item *rows)
{
    cs_item *item = cs_item_object(rows, NULL);
    CS_ITEM_FIELDS(item, s, series, context);
    cs_item_text(item, "target_position", s->position);
    CS_ITEM_FIELDS(item, row, metric, estimate, definition, value, se, low, high, blocks);
    cs_item_count(item, "documents", row->documents > 0 ? row->documents : -1);
    cs_item_int(item, "seed", (int64_t)s->seed);
    const bool outside = row->value < row->low || row->value > row->high;
    cs_item_text(item, "note",
                 outside                   ? "not bias-corrected; outside the interval"
                 : row->corrected_interval ? "not bias-corrected"
                                           : "");
    cs_item_reals(item, "left_out", row->left_out ? row->blocks : 0, row->left_out);
}

cs_status cs_population_record(const cs_population_source *source, const cs_population_rows *rows,
                               json_t **out)
{
    const cs_spectrum *p = &rows->plug_in.spectrum;
    cs_result *record = cs_result_new();
    cs_item *root = cs_result_root(record);
    CS_ITEM_FIELDS(root, source, series, objective, context);
    cs_item_text(root, "target_position", source->position);
    cs_item *numbers = cs_item_array(root, "numbers");
    for (int64_t i = 0; i < rows->count; ++i) {
        put_row(source, &rows->row[i], numbers);
    }
    for (int i = 0; i < CS_CONNECTIVITY_METRICS && p->sigma; ++i) { /* which the rows begin with */
        cs_item *metric = cs_item_object(root, rows->row[i].metric);
        CS_ITEM_FIELDS(metric, &rows->row[i], value, se);
    }
    if (p->sigma) {
        cs_item_reals(root, "sigma", p->k, p->sigma);
        cs_item *sigma_se = cs_item_array(root, "sigma_se");
        for (int64_t j = 0; j < p->k; ++j) {
            const int64_t below = j - p->components;
            const bool known = below >= 0 && below < CS_CONNECTIVITY_SIGMAS;
            cs_item_real(sigma_se, NULL, known ? rows->sigma_se[below] : (double)NAN);
        }
        cs_item_reals(root, "residual", p->k, p->residual);
    }
    cs_item_text(root, "partition", rows->partition);
    if (p->sigma && source->uncovered >= 0) {
        cs_item_int(root, "uncovered_tokens", source->uncovered);
    }
    cs_status status = cs_result_json(record, out);
    cs_result_free(&record);
    return status;
}

cs_status cs_population_record_as(const json_t *same, const char *position, json_t **out)
{
    json_t *record = json_deep_copy(same), *row;
    cs_status status = record ? CS_OK : CS_ERR_MEMORY;
    size_t i;
    if (status == CS_OK) status = cs_json_set(record, "target_position", json_string(position));
    json_array_foreach(json_object_get(record, "numbers"), i, row)
    {
        if (status == CS_OK) status = cs_json_set(row, "target_position", json_string(position));
    }
    return CS_DELIVER(status, out, record, cs_json_free);
}

/* A row, whose blocks are for tables alone. */
static void add_row(json_t *row, const char *partition, cs_item *rows)
{
    json_t *left_out = json_incref(json_object_get(row, "left_out"));
    (void)json_object_del(row, "left_out");
    cs_item *item = cs_item_json(rows, NULL, json_incref(row));
    if (left_out) cs_item_json(item, "~left_out", left_out);
    cs_item_text(item, "~partition", partition);
}

cs_status cs_population_record_add(json_t *record, cs_item *rows, cs_item *matrices)
{
    const char *series = json_string_value(json_object_get(record, "series"));
    const char *position = json_string_value(json_object_get(record, "target_position"));
    const json_t *numbers = json_object_get(record, "numbers");
    json_t *row;
    size_t i;
    if (!series || !position || !json_is_array(numbers)) {
        return cs_fail(CS_ERR_INPUT, "a record lacks %s",
                       !series     ? "series"
                       : !position ? "target_position"
                                   : "numbers");
    }
    json_array_foreach(numbers, i, row)
    {
        add_row(row, json_string_value(json_object_get(record, "partition")), rows);
    }
    (void)json_object_del(record, "numbers");
    (void)json_object_del(record, "partition");
    if (json_object_get(record, "sigma")) {
        cs_item *item = cs_item_json(matrices, NULL, json_incref(record));
        cs_item_take(item, "~name", cs_format("%s%s%s", series, *position ? " " : "", position));
    }
    return CS_OK;
}
