/* Labelled texts: the file in memory, a line at a time; labels are gathered as text, sorted, and
 * numbered at the end. A prepared corpus is the same file with columns of its own and a split.
 */
#include "text/labelled_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/number.h"
#include "text/corpus.h"
#include "text/corpus_read_private.h"

/* Where a source stands and what its lines hold; columns 1-based, 0: absent. */
typedef struct {
    char *path;
    int64_t label, text, pair, split;
    const char *side; /* of the split: "train", "test" */
    bool header;      /* the first line may be one */
} layout;

typedef struct {
    char *label;
    int64_t example, line;
} entry;

/* --- the source ------------------------------------------------------------------------------- */

static cs_status layout_of_named(const cs_corpus_source *corpus, const char *side,
                                 const cs_labelled_options *options, bool training, layout *out)
{
    if (!corpus->labelled || !corpus->split) {
        return cs_fail(CS_ERR_USAGE, "%s has no %s of its own: name FILE.tsv", corpus->name,
                       corpus->labelled ? "split into training and test" : "labels");
    }
    if (side && strcmp(side, "train") != 0 && strcmp(side, "test") != 0) {
        return cs_fail(CS_ERR_USAGE, "%s:%s: want %s:train or %s:test", corpus->name, side,
                       corpus->name, corpus->name);
    }
    if (options->regression || options->pair_column > 0) {
        return cs_fail(CS_ERR_USAGE, "%s has classes of single texts, no %s", corpus->name,
                       options->regression ? "numbers" : "pairs");
    }
    *out = (layout){.label = cs_prepared_columns.label,
                    .split = cs_prepared_columns.split,
                    .text = cs_prepared_columns.text,
                    .side = side       ? side
                            : training ? "train"
                                       : "test"};
    return cs_corpus_ready(corpus->name, &out->path);
}

static cs_status layout_of(const char *source, const cs_labelled_options *options, bool training,
                           layout *out)
{
    const char *side = NULL;
    const cs_corpus_source *corpus = cs_corpus_named(source, &side);
    if (options->label_column < 0 || options->text_column < 0 || options->pair_column < 0 ||
        options->limit < 0) {
        return cs_fail(CS_ERR_USAGE, "columns and limit must not be negative");
    }
    if (corpus) {
        return layout_of_named(corpus, side, options, training, out);
    }
    if (!cs_has_suffix(source, ".tsv") && !cs_has_suffix(source, ".tsv.gz")) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: labelled texts are FILE.tsv (label, text and a second text of a pair, "
                       "separated by tabs%s) or wordnet",
                       source,
                       cs_has_suffix(source, ".xz") || cs_has_suffix(source, ".zst")
                           ? "; unpack it first"
                           : "; FILE.tsv.gz too");
    }
    *out = (layout){
        .path = cs_strdup(source),
        .label = options->label_column > 0 ? options->label_column : 1,
        .text = options->text_column > 0 ? options->text_column : 2,
        .pair = options->pair_column,
        .header = true,
    };
    return out->path ? CS_OK : CS_ERR_MEMORY;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_word(cs_field f, const char *word)
{
    return f.size == (int64_t)strlen(word) && strncasecmp(f.text, word, (size_t)f.size) == 0;
}

static bool is_blank(cs_field f)
{
    for (int64_t i = 0; i < f.size; ++i) {
        if (!isspace((unsigned char)f.text[i])) {
            return false;
        }
    }
    return true;
}

/* A copy of a column that must hold something. */
static cs_status take(const layout *l, const cs_lines *lines, const char *what, int64_t column,
                      char **out)
{
    cs_field f = {0};
    cs_status status = cs_lines_column(l->path, lines, what, column, &f);
    if (status != CS_OK) return status;
    if (is_blank(f)) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: %s in column %lld is empty", l->path,
                       (long long)lines->number, what, (long long)column);
    }
    char *copy = cs_alloc(f.size + 1, 1);
    if (!copy) return CS_ERR_MEMORY;
    memcpy(copy, f.text, (size_t)f.size);
    copy[f.size] = '\0';
    *out = copy;
    return CS_OK;
}

static cs_status number_of(const layout *l, const entry *e, double *out)
{
    if (!cs_real_scan(e->label, out) || !isfinite(*out)) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: label \"%.80s\" is no finite number", l->path,
                       (long long)e->line, e->label);
    }
    return CS_OK;
}

/* The current line becomes example t->count, unless it is a header or of the other side. */
static cs_status take_line(const layout *l, const cs_lines *lines, bool first, bool regression,
                           cs_labelled_text *t, entry *entries)
{
    cs_field label = {0}, split = {0};
    cs_status status = cs_lines_column(l->path, lines, "the label", l->label, &label);
    if (status == CS_OK) status = cs_lines_column(l->path, lines, "the split", l->split, &split);
    if (status != CS_OK ||
        (first && l->header && (is_word(label, "label") || is_word(label, "score"))) ||
        (l->split > 0 && !is_word(split, l->side))) {
        return status;
    }
    int64_t i = t->count++;
    entries[i] = (entry){.example = i, .line = lines->number};
    status = take(l, lines, "the label", l->label, &entries[i].label);
    if (status == CS_OK && l->text > 0) status = take(l, lines, "the text", l->text, &t->text[i]);
    if (status == CS_OK && l->pair > 0)
        status = take(l, lines, "the second text", l->pair, &t->pair[i]);
    if (status == CS_OK && regression) status = number_of(l, &entries[i], &t->value[i]);
    return status;
}

static cs_status make_room(int64_t room, bool texts, bool pairs, cs_labelled_text *t,
                           entry **entries)
{
    t->text = texts ? cs_calloc(room, sizeof *t->text) : NULL;
    t->pair = pairs ? cs_calloc(room, sizeof *t->pair) : NULL;
    t->value = cs_calloc(room, sizeof *t->value);
    *entries = cs_calloc(room, sizeof **entries);
    bool all = (t->text || !texts) && (t->pair || !pairs) && t->value && *entries;
    return all ? CS_OK : CS_ERR_MEMORY;
}

static cs_status read_lines(const layout *l, const cs_labelled_options *options,
                            cs_labelled_text *t, entry **entries)
{
    cs_text_rules rules = {.rule = CS_INVALID_REFUSE};
    cs_text_file file = {0};
    int64_t room = 1;
    bool first = true;
    cs_status status = cs_text_read(l->path, &rules, &file);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < file.size; ++i) {
        room += file.text[i] == '\n';
    }
    status = make_room(room, l->text > 0, l->pair > 0, t, entries);
    cs_lines lines = {.at = file.text, .end = file.text + file.size};
    while (status == CS_OK && (options->limit == 0 || t->count < options->limit) &&
           cs_lines_next(&lines)) {
        status = take_line(l, &lines, first, options->regression, t, *entries);
        first = false;
    }
    if (status == CS_OK && t->count == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: no examples", l->path);
    cs_text_file_free(&file);
    return status;
}

/* --- classes ---------------------------------------------------------------------------------- */

static int by_label(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    int order = strcmp(a->label, b->label);
    return order != 0 ? order : (a->example > b->example) - (a->example < b->example);
}

static int by_number(const void *pa, const void *pb)
{
    const char *a = *(char *const *)pa, *b = *(char *const *)pb;
    int64_t x = 0, y = 0;
    bool whole = cs_int_parse(a, &x) == CS_OK && cs_int_parse(b, &y) == CS_OK;
    return whole && x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* Names of the classes of entries that by_label has sorted. */
static cs_status name_classes(const entry *entries, cs_labelled_text *t)
{
    bool whole = true;
    for (int64_t i = 0; i < t->count; ++i) {
        t->classes += i == 0 || strcmp(entries[i].label, entries[i - 1].label) != 0;
    }
    t->class_name = cs_calloc(t->classes, sizeof *t->class_name);
    if (!t->class_name) return CS_ERR_MEMORY;
    for (int64_t i = 0, k = 0; i < t->count; ++i) {
        if (i == 0 || strcmp(entries[i].label, entries[i - 1].label) != 0) {
            int64_t number;
            whole = whole && cs_int_parse(entries[i].label, &number) == CS_OK;
            if (!(t->class_name[k++] = cs_strdup(entries[i].label))) return CS_ERR_MEMORY;
        }
    }
    cs_reason_clear(); /* of labels that are no numbers */
    if (whole) {
        qsort(t->class_name, (size_t)t->classes, sizeof *t->class_name, by_number);
    }
    return CS_OK;
}

static int64_t class_of(const cs_labelled_text *t, const char *label)
{
    for (int64_t k = 0; k < t->classes; ++k) {
        if (strcmp(t->class_name[k], label) == 0) {
            return k;
        }
    }
    return -1;
}

static cs_status number_classes(const char *path, entry *entries,
                                const cs_labelled_text *classes_of, cs_labelled_text *t)
{
    qsort(entries, (size_t)t->count, sizeof *entries, by_label);
    t->classes = classes_of ? classes_of->classes : 0;
    cs_status status = classes_of
                           ? cs_text_list_copy(classes_of->class_name, t->classes, &t->class_name)
                           : name_classes(entries, t);
    const entry *unknown = NULL;
    int64_t class = -1;
    for (int64_t i = 0; i < t->count && status == CS_OK; ++i) {
        if (i == 0 || strcmp(entries[i].label, entries[i - 1].label) != 0) {
            class = class_of(t, entries[i].label);
        }
        if (class < 0 && (!unknown || entries[i].line < unknown->line)) {
            unknown = &entries[i];
        }
        t->value[entries[i].example] = (double)class;
    }
    if (unknown && classes_of) { /* else classes are those of these very labels */
        status = cs_fail(CS_ERR_INPUT, "%s:%lld: class \"%.80s\" is none of the %lld of %s", path,
                         (long long)unknown->line, unknown->label, (long long)t->classes,
                         classes_of->path);
    }
    return status;
}

/* Labels as numbers; what was read becomes *out. */
static cs_status finish(cs_status status, bool regression, const cs_labelled_text *classes_of,
                        entry *entries, cs_labelled_text *made, cs_labelled_text *out)
{
    if (status == CS_OK && !regression)
        status = number_classes(made->path, entries, classes_of, made);
    for (int64_t i = 0; entries && i < made->count; ++i) {
        cs_free(entries[i].label);
    }
    cs_free(entries);
    if (status == CS_OK) {
        *out = *made;
    } else {
        cs_labelled_text_free(made);
    }
    return status;
}

cs_status cs_labelled_text_read(const char *source, const cs_labelled_options *options,
                                const cs_labelled_text *classes_of, cs_labelled_text *out)
{
    layout l = {0};
    entry *entries = NULL;
    cs_labelled_text made = {0};
    cs_status status = layout_of(source, options, classes_of == NULL, &l);
    made.path = l.path;
    if (status == CS_OK) status = read_lines(&l, options, &made, &entries);
    return finish(status, options->regression, classes_of, entries, &made, out);
}

/* --- labels alone ----------------------------------------------------------------------------- */

static cs_status read_array(bool regression, cs_labelled_text *t, entry **entries)
{
    cs_array array = {0};
    cs_status status = cs_npy_read(t->path, 0, &array);
    if (status == CS_OK && (array.ndim < 1 || array.size != array.shape[0] || array.size == 0))
        status = cs_fail(CS_ERR_INPUT, "%s: want one label a row", t->path);
    if (status == CS_OK) status = make_room(array.size, false, false, t, entries);
    for (int64_t i = 0; i < array.size && status == CS_OK; ++i) {
        int64_t number = 0;
        (*entries)[i] = (entry){.example = i, .line = i};
        t->count = i + 1;
        t->value[i] = cs_array_f64(&array, i);
        if (regression && !isfinite(t->value[i])) {
            status = cs_fail(CS_ERR_INPUT, "%s: row %lld: %g is no finite number", t->path,
                             (long long)i, t->value[i]);
        } else if (!regression) {
            status = cs_blame(cs_array_i64(&array, i, &number), "%s", t->path);
            (*entries)[i].label = status == CS_OK ? cs_format("%lld", (long long)number) : NULL;
            status = status == CS_OK && !(*entries)[i].label ? CS_ERR_MEMORY : status;
        }
    }
    cs_array_free(&array);
    return status;
}

cs_status cs_label_file_read(const char *path, bool regression, const cs_labelled_text *classes_of,
                             cs_labelled_text *out)
{
    const cs_labelled_options options = {.regression = regression};
    entry *entries = NULL;
    cs_labelled_text made = {0};
    if (!cs_has_suffix(path, ".npy") && !cs_has_suffix(path, ".txt") &&
        !cs_has_suffix(path, ".tsv")) {
        return cs_fail(CS_ERR_USAGE, "%s: labels are FILE.npy, .txt or .tsv", path);
    }
    made.path = cs_strdup(path);
    cs_status status = made.path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_has_suffix(path, ".npy")) {
        status = read_array(regression, &made, &entries);
    } else if (status == CS_OK) {
        const layout l = {.path = made.path, .label = 1, .header = true};
        status = read_lines(&l, &options, &made, &entries);
    }
    return finish(status, regression, classes_of, entries, &made, out);
}

void cs_labelled_text_free(cs_labelled_text *t)
{
    cs_text_list_free(t->text, t->count);
    cs_text_list_free(t->pair, t->count);
    cs_text_list_free(t->class_name, t->classes);
    cs_free(t->value);
    cs_free(t->path);
    *t = (cs_labelled_text){0};
}

/* --- few labels ------------------------------------------------------------------------------- */

typedef struct {
    uint64_t draw;
    int64_t example;
} lot;

static int by_draw(const void *pa, const void *pb)
{
    const lot *a = pa, *b = pb;
    if (a->draw != b->draw) {
        return a->draw < b->draw ? -1 : 1;
    }
    return (a->example > b->example) - (a->example < b->example);
}

/* "all" (share 1), "10%" (share 0.1) or "16" (number). */
static cs_status few_of(const char *text, double *share, int64_t *number)
{
    size_t length = strlen(text);
    *share = 0.0;
    *number = 0;
    if (strcmp(text, "all") == 0) {
        *share = 1.0;
        return CS_OK;
    }
    if (length > 1 && text[length - 1] == '%') {
        char *percent = cs_format("%.*s", (int)(length - 1), text);
        if (!percent) return CS_ERR_MEMORY;
        bool good = cs_real_scan(percent, share) && *share > 0.0 && *share <= 100.0;
        *share /= 100.0;
        cs_free(percent);
        if (good) {
            return CS_OK;
        }
    } else if (cs_int_parse(text, number) == CS_OK && *number > 0) {
        return CS_OK;
    }
    cs_reason_clear();
    return cs_fail(CS_ERR_USAGE, "\"%s\" is not all, a share such as 10%% or a number such as 16",
                   text);
}

/* Marks those of class k (all when there are no classes) whose lots are the least. */
static cs_status draw_class(double share, int64_t number, const cs_labelled_text *examples,
                            int64_t k, uint64_t seed, lot *lots, uint8_t *keep)
{
    int64_t n = 0;
    for (int64_t i = 0; i < examples->count; ++i) {
        if (k < 0 || (int64_t)examples->value[i] == k) {
            cs_rng rng = cs_rng_at(seed, CS_STREAM_FEW, (uint64_t)i);
            lots[n++] = (lot){cs_rng_u64(&rng), i};
        }
    }
    int64_t wanted = number > 0 ? number : (int64_t)floor(share * (double)n + 0.5);
    if (number == 0 && wanted == 0) {
        wanted = n < 1 ? n : 1;
    }
    if (wanted > n) {
        return k < 0 ? cs_fail(CS_ERR_INPUT, "%lld examples wanted of %lld", (long long)wanted,
                               (long long)n)
                     : cs_fail(CS_ERR_INPUT, "class \"%.80s\" has %lld examples, %lld are wanted",
                               examples->class_name[k], (long long)n, (long long)wanted);
    }
    qsort(lots, (size_t)n, sizeof *lots, by_draw);
    for (int64_t i = 0; i < wanted; ++i) {
        keep[lots[i].example] = 1;
    }
    return CS_OK;
}

cs_status cs_few_shot(const char *text, const cs_labelled_text *examples, uint64_t seed,
                      int64_t *chosen, int64_t **index)
{
    const int64_t count = examples->count, classes = examples->classes;
    double share;
    int64_t number;
    cs_status status = few_of(text, &share, &number);
    if (status != CS_OK) return status;
    lot *lots = cs_alloc(count, sizeof *lots);
    uint8_t *keep = cs_calloc(count, sizeof *keep);
    int64_t *made = cs_alloc(count, sizeof *made);
    status = lots && keep && made ? CS_OK : CS_ERR_MEMORY;
    for (int64_t k = classes > 0 ? 0 : -1; k < classes && status == CS_OK; ++k) {
        status = draw_class(share, number, examples, k, seed, lots, keep);
    }
    if (status == CS_OK) {
        *chosen = 0;
        for (int64_t i = 0; i < count; ++i) {
            if (keep[i]) {
                made[(*chosen)++] = i;
            }
        }
        *index = made;
        made = NULL;
    }
    cs_free(lots);
    cs_free(keep);
    cs_free(made);
    return status;
}
