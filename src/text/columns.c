/* The header of a file of columns: one rule for all commands, so that a file has the same documents
 * everywhere (docs/reference/corpora.md, "Header lines"). */
#include "text/columns_private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const label_names[] = {"gold_label", "label", "is_duplicate", "quality",
                                          "score"};
static const char *const text_names[][2] = {{"sentence1", "sentence2"}, {"question1", "question2"},
                                            {"#1 string", "#2 string"}, {"premise", "hypothesis"},
                                            {"text1", "text2"},         {"question", "sentence"},
                                            {"sentence", NULL},         {"text", NULL},
                                            {"question", NULL}};
enum {
    LABELS = sizeof label_names / sizeof *label_names,
    TEXTS = sizeof text_names / sizeof *text_names
};

typedef struct {
    const cs_cell *cell;
    int64_t cells;
} line;

/* In any case, and without the blanks around it. */
static bool is_name(const cs_cell *cell, const char *name)
{
    const char *text = cell->text;
    int64_t size = cell->size;
    while (size > 0 && isspace((unsigned char)*text)) {
        ++text;
        --size;
    }
    while (size > 0 && isspace((unsigned char)text[size - 1])) {
        --size;
    }
    return size == (int64_t)strlen(name) && strncasecmp(text, name, (size_t)size) == 0;
}

/* The column of that name, from 1; 0: none. */
static int64_t column_named(const line *l, const char *name)
{
    for (int64_t c = 0; name && c < l->cells; ++c) {
        if (is_name(&l->cell[c], name)) {
            return c + 1;
        }
    }
    return 0;
}

/* By the usual names. */
static cs_columns usual(const line *l)
{
    cs_columns c = {0};
    for (int i = 0; i < LABELS && c.label == 0; ++i) {
        c.label = column_named(l, label_names[i]);
    }
    for (int i = 0; i < TEXTS && c.text == 0; ++i) {
        const int64_t text = column_named(l, text_names[i][0]),
                      pair = column_named(l, text_names[i][1]);
        if (text > 0 && (pair > 0 || !text_names[i][1])) {
            c.text = text;
            c.pair = pair;
        }
    }
    return c;
}

static bool holds_label(const line *l, int64_t column)
{
    bool holds = false;
    for (int i = 0; i < LABELS && column > 0 && column <= l->cells; ++i) {
        holds = holds || is_name(&l->cell[column - 1], label_names[i]);
    }
    return holds;
}

static bool holds_text(const line *l, int64_t column)
{
    bool holds = false;
    for (int i = 0; i < TEXTS && column > 0 && column <= l->cells; ++i) {
        holds = holds || is_name(&l->cell[column - 1], text_names[i][0]);
    }
    return holds;
}

/* The names that options give replace the usual ones, and have to be there. */
static cs_status by_options(const cs_corpus_options *o, const line *l, cs_columns *named,
                            bool *header)
{
    const char *const name[] = {o->label_field, o->text_field,
                                o->pair_column != 0 ? o->pair_field : NULL};
    int64_t *const column[] = {&named->label, &named->text, &named->pair};
    named->pair = o->text_field ? 0 : named->pair;
    for (int i = 0; i < 3; ++i) {
        if (!name[i]) continue;
        *column[i] = column_named(l, name[i]);
        *header = true;
        if (*column[i] == 0) {
            return cs_fail(CS_ERR_INPUT, "no column is named \"%s\" in the first line", name[i]);
        }
    }
    return CS_OK;
}

/* The text of a header that names a label alone. */
static cs_status other_column(const line *l, int64_t label, int64_t *text)
{
    if (l->cells == 2 && label > 0) {
        *text = 3 - label;
        return CS_OK;
    }
    return cs_fail(
        CS_ERR_INPUT,
        "the first line names a label but no text: expected a column named text, sentence "
        "or question, or --text-column N");
}

cs_status cs_columns_find(const cs_corpus_options *o, bool csv, const cs_cell *cell, int64_t cells,
                          cs_columns *out)
{
    const line l = {cell, cells};
    const int64_t at_label = o->label_column != 0 ? o->label_column : 1,
                  at_text = o->text_column > 0 ? o->text_column : 2;
    cs_columns named = usual(&l);
    bool header = false;
    cs_status status = by_options(o, &l, &named, &header);
    if (status != CS_OK) return status;
    header = header || (named.text > 0 && (named.label > 0 || csv)) || holds_label(&l, at_label) ||
             (at_text != at_label && holds_text(&l, at_text));
    if (csv && cells == 1 && memchr(cell[0].text, ';', (size_t)cell[0].size)) {
        return cs_fail(CS_ERR_INPUT,
                       "the columns are separated by ';', not by ','; this converts it: python3 -c "
                       "\"import pandas; pandas.read_csv('IN.csv', sep=';').to_csv('OUT.csv', "
                       "index=False)\"");
    }
    if (!header && csv && o->label_column <= 0 && o->text_column == 0) {
        return cs_fail(CS_ERR_INPUT,
                       "no column is named as a text usually is (text, sentence, question): name "
                       "the columns with --text-field NAME and --label-field NAME, or give "
                       "--text-column N and --label-column N");
    }
    cs_columns c = {.columns = cells, .headers = header};
    if (o->label_column >= 0) {
        c.label = o->label_column > 0 ? o->label_column : header ? named.label : 1;
    }
    c.text = o->text_column > 0 ? o->text_column : header ? named.text : 2;
    c.pair = o->pair_column > 0                                ? o->pair_column
             : o->pair_column == 0                             ? 0
             : header && named.pair > 0 && o->text_column == 0 ? named.pair
             : o->pair_column == CS_PAIR_WANTED                ? 3
                                                               : 0;
    c.numbers = header && c.label > 0 && c.label <= cells && is_name(&cell[c.label - 1], "score");
    if (c.text == 0) status = other_column(&l, c.label, &c.text);
    if (status == CS_OK) *out = c;
    return status;
}
