#include "cli/table_pick.h"

#include <stdlib.h>
#include <string.h>

static bool starts(const char *word, const char *key)
{
    return strncmp(word, key, strlen(key)) == 0;
}

/* where=COLUMN:VALUE; a value may hold colons. */
static cs_status add_filter(const cs_table *table, const char *path, char *word, cs_pick *out)
{
    char *name = word + strlen("where="), *colon = strchr(name, ':');
    if (!colon || out->filters == CS_PICK_FILTERS) {
        return cs_fail(CS_ERR_INPUT, "want at most %d where=COLUMN:VALUE, got \"%s\"",
                       CS_PICK_FILTERS, word);
    }
    *colon = '\0';
    int column = cs_table_column(table, name);
    if (column < 0) {
        return cs_fail(CS_ERR_INPUT, "%s: no column %s", path, name);
    }
    out->column[out->filters] = column;
    out->value[out->filters++] = colon + 1;
    return CS_OK;
}

cs_status cs_pick_parse(const cs_table *table, const char *path, int words, char **word,
                        cs_pick *out)
{
    *out = (cs_pick){.every = 1, .limit = INT64_MAX};
    cs_status status = CS_OK;
    for (int i = 0; i < words && status == CS_OK; ++i) {
        if (starts(word[i], "columns=")) {
            out->columns = word[i] + strlen("columns=");
        } else if (starts(word[i], "every=")) {
            out->every = strtoll(word[i] + strlen("every="), NULL, 10);
        } else if (starts(word[i], "limit=")) {
            out->limit = strtoll(word[i] + strlen("limit="), NULL, 10);
        } else if (starts(word[i], "where=")) {
            status = add_filter(table, path, word[i], out);
        } else {
            status = cs_fail(CS_ERR_INPUT, "cannot read \"%s\" in a choice of rows", word[i]);
        }
    }
    if (status == CS_OK && out->every < 1) {
        status = cs_fail(CS_ERR_INPUT, "every=%lld in a choice of rows", (long long)out->every);
    }
    return status;
}

bool cs_pick_takes(const cs_pick *pick, const cs_table *table, int64_t row)
{
    for (int i = 0; i < pick->filters; ++i) {
        if (strcmp(table->cell[row * table->columns + pick->column[i]], pick->value[i]) != 0) {
            return false;
        }
    }
    return true;
}

cs_status cs_pick_first(const cs_pick *pick, const cs_table *table, const char *path, int64_t *row)
{
    *row = 0;
    while (*row < table->rows && !cs_pick_takes(pick, table, *row)) {
        *row += 1;
    }
    return *row < table->rows ? CS_OK : cs_fail(CS_ERR_INPUT, "%s: no row that fits", path);
}
