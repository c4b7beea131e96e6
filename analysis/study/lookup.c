#include "analysis/study/lookup_private.h"
#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

#include "base/enum_names.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"

cs_status cs_study_step(const cs_study *study, const char *text, const cs_step **out)
{
    cs_hint hint = {0};
    CS_AUTO_FREE char *name = cs_format("%.*s", (int)strcspn(text, "/ "), text);
    cs_status status = name ? CS_ERR_INPUT : CS_ERR_MEMORY;
    for (int64_t i = 0; name && i < study->steps && status != CS_OK; ++i) {
        if (strcmp(name, study->step[i].name) == 0) {
            status = CS_OK;
            if (out) {
                *out = &study->step[i];
            }
        }
    }
    for (int64_t i = 0; i < study->steps && status == CS_ERR_INPUT; ++i) {
        cs_hint_consider(name, study->step[i].name, &hint);
    }
    if (status == CS_ERR_INPUT)
        status = cs_fail(status, "the study has no step %s%s", name, cs_hint_text("", &hint));
    return status;
}

cs_status cs_study_file(const cs_study *study, const char *text, char **out)
{
    const bool own = cs_listed(CS_STUDY_TABLES, text);
    const char *slash = strchr(text, '/');
    CS_AUTO_FREE char *step = slash ? cs_format("%.*s", (int)(slash - text), text) : NULL;
    if (slash && !step) return CS_ERR_MEMORY;
    bool named = slash && cs_study_name_is_good(step) && cs_study_name_is_good(slash + 1);
    if (!named && !own) {
        return cs_fail(CS_ERR_INPUT, "expected STEP/FILE, got \"%s\"", text);
    }
    cs_status status = own ? CS_OK : cs_study_step(study, text, NULL);
    if (status != CS_OK || !out) return status;
    *out = cs_path_join(study->dir, text);
    if (!*out) return CS_ERR_MEMORY;
    return own ? CS_OK : cs_digest_check_file(*out); /* the study's tables are this run's own */
}

cs_status cs_study_seeds(const cs_study *study, const char *file, int most, char **text,
                         char **word, int *count)
{
    const char *mark = strchr(file, '#');
    *text = cs_strdup(mark ? cs_study_list(study, "seeds") : "-");
    if (!*text) return CS_ERR_MEMORY;
    const int all = cs_study_words(*text, most, word);
    int had = 0;
    for (int i = 0; i < all; ++i) {
        char *own = NULL;
        cs_status status = cs_study_put(file, '#', word[i], &own);
        if (status != CS_OK) return status;
        const size_t length = strcspn(own, "/");
        bool there = false;
        for (int64_t j = 0; j < study->steps && !there; ++j) {
            const char *name = study->step[j].name;
            there = strncmp(name, own, length) == 0 && name[length] == '\0';
        }
        cs_free(own);
        if (there) word[had++] = word[i];
    }
    *count = had > 0 ? had : all;
    return CS_OK;
}

int cs_study_words(char *text, int most, char **word)
{
    int count = 0;
    char *save = NULL, *w = strtok_r(text, " \t\n", &save);
    for (; w && count < most; w = strtok_r(NULL, " \t\n", &save)) {
        word[count++] = w;
    }
    return count;
}

static bool starts(const char *word, const char *key)
{
    return strncmp(word, key, strlen(key)) == 0;
}

cs_status cs_pick_column(const cs_pick *pick, const char *name, int *column)
{
    *column = cs_table_column(&pick->table, name);
    return *column >= 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "%s: no column %s", pick->path, name);
}

const char *cs_pick_cell(const cs_pick *pick, int64_t row, int column)
{
    return pick->table.cell[row * pick->table.columns + column];
}

/* where=COLUMN:VALUE; a value may hold colons. */
static cs_status add_filter(char *word, cs_pick *out)
{
    char *name = word + strlen("where="), *colon = strchr(name, ':');
    if (!colon || out->filters == CS_PICK_FILTERS) {
        return cs_fail(CS_ERR_INPUT, "expected at most %d where=COLUMN:VALUE, got \"%s\"",
                       CS_PICK_FILTERS, word);
    }
    *colon = '\0';
    out->value[out->filters] = colon + 1;
    return cs_pick_column(out, name, &out->column[out->filters++]);
}

cs_status cs_pick_open(const cs_study *study, const char *file, int words, char **word,
                       cs_pick *out)
{
    *out = (cs_pick){.every = 1, .limit = INT64_MAX};
    cs_status status = cs_study_file(study, file, &out->path);
    if (status == CS_OK) status = cs_table_read_csv(out->path, &out->table);
    for (int i = 0; i < words && status == CS_OK; ++i) {
        if (starts(word[i], "columns=")) {
            out->columns = word[i] + strlen("columns=");
        } else if (starts(word[i], "every=")) {
            out->every = strtoll(word[i] + strlen("every="), NULL, 10);
        } else if (starts(word[i], "limit=")) {
            out->limit = strtoll(word[i] + strlen("limit="), NULL, 10);
        } else if (starts(word[i], "where=")) {
            status = add_filter(word[i], out);
        } else {
            status = cs_fail(CS_ERR_INPUT, "cannot read \"%s\" in a choice of rows", word[i]);
        }
    }
    if (status == CS_OK && out->every < 1)
        status = cs_fail(CS_ERR_INPUT, "every=%lld in a choice of rows must be positive",
                         (long long)out->every);
    return status;
}

void cs_pick_free(cs_pick *pick)
{
    cs_table_free(&pick->table);
    cs_free(pick->path);
}

bool cs_pick_takes(const cs_pick *pick, int64_t row)
{
    for (int i = 0; i < pick->filters; ++i) {
        if (strcmp(cs_pick_cell(pick, row, pick->column[i]), pick->value[i]) != 0) {
            return false;
        }
    }
    return true;
}

cs_status cs_pick_first(const cs_pick *pick, int64_t *row)
{
    *row = 0;
    while (*row < pick->table.rows && !cs_pick_takes(pick, *row)) {
        *row += 1;
    }
    return *row < pick->table.rows ? CS_OK
                                   : cs_fail(CS_ERR_INPUT, "%s: no row matches", pick->path);
}
