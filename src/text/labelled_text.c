/* Labelled texts: the documents of a corpus, their labels numbered by first appearance, and in the
 * order of the classes at the end.
 */
#include "text/labelled_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/npy.h"
#include "io/number.h"
#include "text/utf8_private.h"
#include "text/vocab.h"

typedef struct {
    const cs_labelled_options *options;
    const cs_labelled_text *classes_of;
    bool texts; /* kept, or labels alone */
    bool split, test;
    bool begun, pairs; /* a document has been seen; of pairs, as all are */
    cs_word_table labels;
    int64_t text_capacity, pair_capacity, value_capacity;
    cs_labelled_text made;
} reader;

/* --- documents -------------------------------------------------------------------------------- */

static bool is_blank(const char *text, int64_t size)
{
    for (int64_t i = 0; i < size; ++i) {
        if (!isspace((unsigned char)text[i])) {
            return false;
        }
    }
    return true;
}

static cs_status number_of(const char *label, double *out)
{
    return cs_real_scan(label, out) && isfinite(*out)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "label \"%.80s\" is not a finite number", label);
}

/* The number of a class: its own where they are given, else by first appearance. */
static cs_status class_of(reader *r, const char *label, int64_t size, double *out)
{
    int32_t number = 0;
    cs_status status = cs_word_table_find(&r->labels, label, size, &number);
    if (status != CS_OK) return status;
    if (r->classes_of && number >= r->classes_of->classes) {
        return cs_fail(CS_ERR_INPUT, "class \"%.*s\" is not one of the %lld classes of %s%s",
                       (int)(size < 80 ? size : 80), label, (long long)r->classes_of->classes,
                       r->classes_of->path,
                       r->made.count == 0 ? "; if the first line names the columns, give "
                                            "--text-field and --label-field with these names"
                                          : "");
    }
    r->labels.count[number] += 1;
    *out = number;
    return CS_OK;
}

/* The value of the next example. */
static cs_status add_label(reader *r, const char *label, int64_t size)
{
    cs_labelled_text *t = &r->made;
    cs_status status = cs_reserve(&t->value, &r->value_capacity, t->count + 1, sizeof *t->value);
    if (status == CS_OK && !r->options->regression)
        return class_of(r, label, size, &t->value[t->count]);
    CS_AUTO_FREE char *text = status == CS_OK ? cs_format("%.*s", (int)size, label) : NULL;
    if (!text) return CS_ERR_MEMORY;
    return number_of(text, &t->value[t->count]);
}

static cs_status add_text(const char *text, int64_t size, int64_t at, int64_t *work, char ***list)
{
    cs_status status = cs_reserve(list, work, at + 1, sizeof **list);
    if (status != CS_OK) return status;
    (*list)[at] = cs_alloc(size + 1, 1);
    if (!(*list)[at]) return CS_ERR_MEMORY;
    memcpy((*list)[at], text, (size_t)size);
    (*list)[at][size] = '\0';
    return CS_OK;
}

/* Whether these are pairs, as the options say, or the header of the file and of the training side. */
static cs_status pair_or_single(reader *r, const cs_document *d)
{
    const cs_labelled_text *of = r->classes_of;
    const int64_t wanted = r->options->corpus.pair_column;
    if (r->begun) return CS_OK;
    r->begun = true;
    r->pairs = wanted == CS_PAIR_IF_NAMED ? d->pair != NULL : wanted != 0;
    return !of || !of->text || r->pairs == (of->pair != NULL)
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s, but %s has %s",
                         r->pairs ? "pairs of texts" : "single texts", of->path,
                         of->pair ? "pairs" : "single texts");
}

static cs_status take_document(void *to, const cs_document *d, bool held_out, bool *enough)
{
    reader *r = to;
    cs_labelled_text *t = &r->made;
    if (r->split && held_out != r->test) {
        return CS_OK;
    }
    cs_status status = pair_or_single(r, d);
    if (status != CS_OK) return status;
    const char *missing = is_blank(d->label, d->label_size)             ? "label"
                          : is_blank(d->text, d->size)                  ? "text"
                          : r->pairs && is_blank(d->pair, d->pair_size) ? "second text"
                                                                        : NULL;
    if (missing) {
        return cs_fail(CS_ERR_INPUT, "no %s%s", missing,
                       d->label ? ""
                                : "; for lines of LABEL SPACE TEXT give --format space, for LABEL "
                                  "TAB TEXT --format tsv");
    }
    status = add_label(r, d->label, d->label_size);
    if (status == CS_OK && r->texts)
        status = add_text(d->text, d->size, t->count, &r->text_capacity, &t->text);
    if (status == CS_OK && r->pairs) {
        status = add_text(d->pair, d->pair_size, t->count, &r->pair_capacity, &t->pair);
        if (status != CS_OK) cs_free(t->text[t->count]); /* of no example */
    }
    t->count += status == CS_OK;
    *enough = t->count == r->options->limit;
    return status;
}

/* --- classes ---------------------------------------------------------------------------------- */

static int by_number(const void *pa, const void *pb)
{
    const char *a = *(char *const *)pa, *b = *(char *const *)pb;
    int64_t x = 0, y = 0;
    bool whole = cs_int_parse(a, &x) == CS_OK && cs_int_parse(b, &y) == CS_OK;
    return whole && x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* Names of the classes in their order. */
static cs_status name_classes(const cs_word_table *labels, cs_labelled_text *t)
{
    int32_t *ranked = NULL;
    bool whole = true;
    cs_status status = cs_word_table_rank(labels, true, &ranked, &t->classes);
    if (status != CS_OK) return status;
    t->class_name = cs_calloc(t->classes, sizeof *t->class_name);
    for (int64_t k = 0; k < t->classes && t->class_name; ++k) {
        int64_t number;
        t->class_name[k] = cs_word_table_text(labels, ranked[k]);
        if (!t->class_name[k]) break;
        whole = whole && cs_int_parse(t->class_name[k], &number) == CS_OK;
    }
    cs_free(ranked);
    if (!t->class_name || (t->classes > 0 && !t->class_name[t->classes - 1])) return CS_ERR_MEMORY;
    cs_reason_clear(); /* of labels that are no numbers */
    if (whole) {
        qsort(t->class_name, (size_t)t->classes, sizeof *t->class_name, by_number);
    }
    return CS_OK;
}

/* Values by first appearance become class numbers. */
static cs_status number_classes(const cs_word_table *labels, cs_labelled_text *t)
{
    CS_AUTO_FREE double *class = cs_alloc(labels->words, sizeof *class);
    cs_status status = class ? name_classes(labels, t) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < t->classes && status == CS_OK; ++k) {
        const char *name = t->class_name[k];
        class[cs_word_table_get(labels, name, (int64_t)strlen(name))] = (double)k;
    }
    for (int64_t i = 0; i < t->count && status == CS_OK; ++i) {
        t->value[i] = class[(int64_t)t->value[i]];
    }
    return status;
}

static cs_status begin(reader *r)
{
    const cs_labelled_text *of = r->classes_of;
    cs_status status = CS_OK;
    for (int64_t k = 0; of && k < of->classes && status == CS_OK; ++k) {
        int32_t number = 0;
        status = cs_word_table_find(&r->labels, of->class_name[k],
                                    (int64_t)strlen(of->class_name[k]), &number);
    }
    return status;
}

/* Moves the texts read to *out. */
static cs_status finish(cs_status status, reader *r, cs_labelled_text *out)
{
    cs_labelled_text *t = &r->made;
    const cs_labelled_text *of = r->classes_of;
    if (status == CS_OK && t->count == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: no examples", t->path);
    if (status == CS_OK && !r->options->regression) {
        t->classes = of ? of->classes : 0;
        status = of ? cs_text_list_copy(of->class_name, of->classes, &t->class_name)
                    : number_classes(&r->labels, t);
    }
    cs_word_table_free(&r->labels);
    return CS_DELIVER(status, out, *t, cs_labelled_text_free);
}

/* --- sources ---------------------------------------------------------------------------------- */

/* The side and the source that a name denotes. */
static cs_status side_of(const char *source, reader *r, const char **name)
{
    const cs_labelled_options *o = r->options;
    const char *side = NULL;
    const cs_corpus_source *corpus = cs_corpus_named(source, &side);
    cs_document_split of = CS_DOCUMENT_HASHED;
    *name = corpus ? corpus->name : source;
    cs_status status = cs_corpus_side(source, *name, side, &of);
    if (status != CS_OK) return status;
    r->split = o->split || corpus;
    r->test = side ? of == CS_DOCUMENT_TEST : r->classes_of != NULL;
    if (side && o->split) {
        return cs_fail(CS_ERR_USAGE, "%s is one side: name %s for both, or a second source", source,
                       *name);
    }
    const int64_t pair = o->corpus.pair_column;
    if (corpus && (!corpus->labelled || o->regression || (pair != 0 && pair != CS_PAIR_IF_NAMED))) {
        return cs_fail(CS_ERR_USAGE, "%s has %s", *name,
                       !corpus->labelled ? "no labels"
                       : o->regression   ? "classes, not numbers"
                                         : "single texts, not pairs");
    }
    return o->limit >= 0 ? CS_OK : cs_fail(CS_ERR_USAGE, "the limit must not be negative");
}

static cs_status visit(const char *source, const cs_corpus_options *options, reader *r)
{
    CS_AUTO(cs_corpus) about = {0};
    cs_status status = begin(r);
    if (status == CS_OK) status = cs_corpus_visit(source, options, take_document, r, &about);
    r->made.path = about.path;
    r->made.invalid_bytes = about.invalid_bytes;
    r->made.invalid_documents = about.invalid_documents;
    r->made.read = about.read;
    about.path = NULL;
    return status;
}

cs_status cs_labelled_text_read(const char *source, const cs_labelled_options *options,
                                const cs_labelled_text *classes_of, cs_labelled_text *out)
{
    reader r = {.options = options, .classes_of = classes_of, .texts = true};
    const char *name = NULL;
    cs_status status = side_of(source, &r, &name);
    if (status == CS_OK) status = visit(name, &options->corpus, &r);
    return finish(status, &r, out);
}

cs_status cs_labelled_check(const cs_labelled_text *t, int64_t limit)
{
    return t->classes != 1
               ? CS_OK
               : cs_fail(
                     CS_ERR_INPUT,
                     "%s: all %lld training rows are of class '%s', but two classes are needed%s",
                     t->path, (long long)t->count, t->class_name[0],
                     limit > 0 ? "; --limit takes the first lines only, --few takes examples of "
                                 "every class"
                               : "");
}

cs_status cs_labelled_sides_read(const char *const source[2], const cs_labelled_options *options,
                                 const int64_t limit[2], cs_labelled_text out[2])
{
    cs_refused refused = {0};
    cs_labelled_options o = *options;
    cs_labelled_text side[2] = {{0}}, unused = {0};
    o.corpus.refused = &refused;
    o.limit = limit[0];
    cs_status status = cs_labelled_text_read(source[0], &o, NULL, &side[0]);
    if (status == CS_OK) status = cs_labelled_check(&side[0], limit[0]);
    o.limit = limit[1];
    o.corpus.label_column = o.test_label > 0 ? o.test_label : o.corpus.label_column;
    if (status == CS_OK) status = cs_labelled_text_read(source[1], &o, &side[0], &side[1]);
    if (status == CS_ERR_INPUT && refused.files > 0 && side[0].count == 0 &&
        strcmp(source[0], source[1]) != 0) {
        cs_reason_clear(); /* other files that are no UTF-8 are reported in the same run */
        status = cs_labelled_text_read(source[1], &o, NULL, &unused);
        cs_labelled_text_free(&unused);
    }
    if (refused.files > 0 && (status == CS_OK || status == CS_ERR_INPUT)) {
        cs_reason_clear();
        status = cs_refused_status(&refused);
    }
    cs_free(refused.report);
    if (status == CS_OK) {
        memcpy(out, side, sizeof side);
        return CS_OK;
    }
    cs_labelled_text_free(&side[0]);
    cs_labelled_text_free(&side[1]);
    return status;
}

static cs_status add_item(reader *r, const cs_array *array, int64_t i)
{
    char number[32], *text = NULL;
    int64_t whole = 0;
    cs_status status = CS_OK;
    if (array->dtype == CS_UNICODE || array->dtype == CS_BYTES) {
        status = cs_array_text(array, i, &text);
        if (status == CS_OK && is_blank(text, (int64_t)strlen(text)))
            status = cs_fail(CS_ERR_INPUT, "no label");
        if (status == CS_OK) status = cs_utf8_check("label", text, (int64_t)strlen(text));
    } else if (r->options->regression) {
        (void)snprintf(number, sizeof number, "%.17g", cs_array_f64(array, i));
    } else {
        status = cs_array_i64(array, i, &whole);
        (void)snprintf(number, sizeof number, "%lld", (long long)whole);
    }
    const char *label = text ? text : number;
    if (status == CS_OK) status = add_label(r, label, (int64_t)strlen(label));
    cs_free(text);
    return status;
}

static cs_status take_array(const char *name, const cs_array *array, reader *r)
{
    cs_status status = CS_OK;
    r->made.path = cs_strdup(name);
    if (array->ndim < 1 || array->size != array->shape[0] || array->size == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: expected one label per row", name);
    if (status == CS_OK) status = r->made.path ? begin(r) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < array->size && status == CS_OK; ++i) {
        status = add_item(r, array, i);
        r->made.count += status == CS_OK;
        status = cs_blame(status, "%s: row %lld", name, (long long)i);
    }
    return status;
}

static cs_status read_array(const char *path, reader *r)
{
    CS_AUTO(cs_array) array = {0};
    cs_status status = cs_npy_read(path, 0, &array);
    return status == CS_OK ? take_array(path, &array, r) : status;
}

cs_status cs_labels_of_array(const char *name, const cs_array *array, bool regression,
                             const cs_labelled_text *classes_of, cs_labelled_text *out)
{
    const cs_labelled_options options = {.regression = regression};
    reader r = {.options = &options, .classes_of = classes_of};
    return finish(take_array(name, array, &r), &r, out);
}

cs_status cs_label_file_read(const char *path, bool regression, const cs_labelled_text *classes_of,
                             cs_labelled_text *out)
{
    /* A line is a label: as the text it must not be empty, as the rest it is not examined. */
    cs_refused refused = {0};
    const cs_labelled_options options = {.corpus = {.format = CS_FORMAT_TSV,
                                                    .label_column = 1,
                                                    .text_column = 1,
                                                    .refused = &refused},
                                         .regression = regression};
    reader r = {.options = &options, .classes_of = classes_of};
    if (!cs_npy_named(path) && !cs_has_suffix(path, ".txt") && !cs_has_suffix(path, ".tsv")) {
        return cs_fail(CS_ERR_USAGE, "%s: labels must be in a .npy, .txt or .tsv file", path);
    }
    cs_status status = cs_npy_named(path) ? read_array(path, &r) : visit(path, &options.corpus, &r);
    if (refused.files > 0) { /* labels are read in one way */
        cs_reason_clear();
        status = cs_fail(CS_ERR_INPUT, "%s", refused.report);
    }
    cs_free(refused.report);
    return finish(status, &r, out);
}

static cs_status label_all(const cs_corpus *corpus, const cs_labelled_text *classes_of,
                           cs_labelled_text *out)
{
    const cs_labelled_options options = {0};
    reader r = {.options = &options, .classes_of = classes_of};
    r.made.path = cs_strdup(corpus->name);
    cs_status status = r.made.path ? begin(&r) : CS_ERR_MEMORY;
    for (int64_t d = 0; d < corpus->documents && status == CS_OK; ++d) {
        const char *label = cs_corpus_label(corpus, d);
        status = corpus->label[d] < 0 ? cs_fail(CS_ERR_INPUT, "expected a label")
                                      : add_label(&r, label, (int64_t)strlen(label));
        r.made.count += status == CS_OK;
        status = cs_blame(status, "%s: %lld", corpus->name, (long long)d);
    }
    return finish(status, &r, out);
}

cs_status cs_labelled_side(const cs_corpus *corpus, int side, int64_t limit,
                           const cs_labelled_text *classes_of, cs_labelled_text *out,
                           cs_corpus *documents)
{
    CS_AUTO_FREE uint8_t *keep = cs_calloc(corpus->documents, 1);
    int64_t left = limit > 0 ? limit : corpus->documents;
    cs_corpus chosen = {0};
    if (!keep) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < corpus->documents && left > 0; ++d) {
        keep[d] = side < 0 || (corpus->held_out[d] != 0) == (side == 1);
        left -= keep[d];
    }
    cs_status status = cs_corpus_select(corpus, keep, &chosen);
    if (status == CS_OK) status = label_all(&chosen, classes_of, out);
    return CS_DELIVER(status, documents, chosen, cs_corpus_free);
}

void cs_labelled_text_free(cs_labelled_text *t)
{
    cs_text_list_free(t->text, t->count);
    cs_text_list_free(t->pair, t->count);
    cs_text_list_free(t->class_name, t->classes);
    CS_FREE_FIELDS(t, value, path);
    *t = (cs_labelled_text){0};
}

/* --- few labels ------------------------------------------------------------------------------- */

typedef struct {
    uint64_t draw;
    int64_t example;
} lot;

CS_RISING(by_draw, lot, draw, example)

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
        CS_AUTO_FREE char *percent = cs_format("%.*s", (int)(length - 1), text);
        if (!percent) return CS_ERR_MEMORY;
        bool good = cs_real_scan(percent, share) && *share > 0.0 && *share <= 100.0;
        *share /= 100.0;
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
        return k < 0 ? cs_fail(CS_ERR_INPUT, "%lld examples requested, but there are only %lld",
                               (long long)wanted, (long long)n)
                     : cs_fail(CS_ERR_INPUT,
                               "class \"%.80s\" has %lld examples, but %lld are requested",
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
    CS_AUTO_FREE lot *lots = cs_alloc(count, sizeof *lots);
    CS_AUTO_FREE uint8_t *keep = cs_calloc(count, sizeof *keep);
    CS_AUTO_FREE int64_t *made = cs_alloc(count, sizeof *made);
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
    return status;
}
