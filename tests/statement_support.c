
#include <jansson.h>

#include "statement_support.h"

static const cs_statement *find(const cs_statements *list, const char *id, cs_statement_form form,
                                int nth)
{
    for (int64_t i = 0; i < list->count; ++i) {
        const cs_statement *s = &list->item[i];
        if (strcmp(s->id, id) == 0 && s->form == form && nth-- == 0) {
            return s;
        }
    }
    return NULL;
}

const cs_statement *nth_statement_of(const cs_statements *list, const char *id,
                                     cs_statement_form form, int nth)
{
    const cs_statement *s = find(list, id, form, nth);
    if (!s) {
        fail_msg("no statement %s", id);
    }
    return s;
}

bool has_statement(const cs_statements *list, const char *id, cs_statement_form form)
{
    return find(list, id, form, 0) != NULL;
}

const cs_statement *statement_of(const cs_statements *list, const char *id, cs_statement_form form)
{
    return nth_statement_of(list, id, form, 0);
}

cs_item *rows_of(cs_result *result)
{
    return cs_item_array(cs_result_root(result), "rows");
}

int64_t rows_in(const cs_result *result)
{
    AUTO_OK(cs_table, table, cs_result_table(result, &(cs_view){"rows[]", "input"}, &table));
    const int64_t rows = table.rows;
    return rows;
}

double detail_of(const cs_statement *s, const char *key)
{
    return json_number_value(json_object_get(s->details, key));
}
