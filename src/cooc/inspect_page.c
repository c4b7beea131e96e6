/* The record of a page of a matrix (inspect_page.h). */
#include "cooc/inspect_page.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/visible.h"
#include "cooc/spectrum_record.h"

/* Limits in bytes of the file. */
enum {
    MOST_VALUES = 2000,
    MOST_ENDS = 1000000,   /* of all ends of vectors */
    MOST_TOKENS = 2800000, /* texts and coordinates of the heaviest tokens */
    MOST_CONTEXTS = 900000,
    ITEM = 32, /* numbers of an item or of a line */
    ESCAPED = 6,
    TEXT = 64, /* of a text, before it is escaped */
    BASE = 64,
    ENDS = 4 /* contexts and tokens, + and - */
};

/* Contexts or tokens: those with coordinates come first, then others that ends of vectors name. */
typedef struct {
    const cs_inspect_page *page;
    bool rows;
    const cs_dense *vectors;
    double *mass, total;
    int64_t *place, *item; /* of all, -1: not on the page; of the page */
    int64_t items, coded;
    int digits; /* of a coordinate */
    cs_item *text;
} side;

static void side_free(side *s)
{
    CS_FREE_FIELDS(s, mass, place, item);
}

/* The text of an item as a reader may see it, cut to its first characters. */
static cs_status text_of(const side *s, int64_t index, char text[TEXT + 4])
{
    char buffer[32], more[TEXT + 16];
    CS_AUTO_FREE char *row = NULL;
    cs_status status = s->rows ? cs_cooc_row_text(s->page->store, index, &row) : CS_OK;
    if (status != CS_OK) return status;
    const char *given =
        s->rows ? row : cs_corpus_word(&s->page->store->corpus, (int32_t)index, buffer);
    cs_visible_copy(text, TEXT, given, "");
    cs_visible_copy(more, sizeof more, given, "");
    if (strcmp(text, more) != 0) memcpy(text + strlen(text), "\u2026", sizeof "\u2026");
    return CS_OK;
}

/* Bytes of a text in a page: others than letters of ASCII may become \uXXXX. */
static int64_t escaped_size(const char *text)
{
    int64_t size = 0;
    for (; *text; ++text) {
        const unsigned char c = (unsigned char)*text;
        size += c >= 0x80 || strchr("<>&\"\\", c) ? ESCAPED : 1;
    }
    return size;
}

static cs_status side_init(const cs_inspect_page *page, bool rows, side *out)
{
    const cs_csr *a = &page->store->cooc.matrix.a;
    const int64_t n = rows ? a->rows : a->cols;
    const cs_spectrum *s = page->spectrum;
    side made = {.page = page, .rows = rows, .vectors = rows ? &s->u : &s->v};
    made.mass = cs_alloc(n, sizeof *made.mass);
    made.place = cs_alloc(n, sizeof *made.place);
    made.item = cs_alloc(n, sizeof *made.item);
    cs_status status = made.mass && made.place && made.item ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) cs_csr_sums(a, rows ? made.mass : NULL, rows ? NULL : made.mass);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        made.place[i] = -1;
        made.mass[i] *= cs_cooc_stored_mass(&page->store->cooc);
        made.total += made.mass[i];
    }
    return CS_DELIVER(status, out, made, side_free);
}

static int64_t side_size(const side *s)
{
    return s->vectors->rows;
}

/* Digits of base64 for each coordinate sigma_j v_j relative to the largest. */
static double put_code(const side *s, int64_t index, char *code)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const cs_spectrum *spectrum = s->page->spectrum;
    const double *x = s->vectors->data + index;
    const int64_t ld = s->vectors->ld;
    const int half = s->digits == 2 ? BASE * BASE / 2 : BASE * BASE * BASE / 2;
    double largest = 0;
    for (int64_t j = s->page->first; j < s->page->end; ++j) {
        largest = fmax(largest, fabs(spectrum->sigma[j] * x[j * ld]));
    }
    for (int64_t j = s->page->first; j < s->page->end; ++j) {
        const double part = largest > 0 ? spectrum->sigma[j] * x[j * ld] / largest : 0;
        int number = (int)lround(part * (half - 1)) + half;
        for (int i = s->digits - 1; i >= 0; --i) {
            code[i] = digit[number % BASE];
            number /= BASE;
        }
        code += s->digits;
    }
    *code = '\0';
    return largest;
}

/* Adds an item, with its coordinates where `code` is an array. */
static cs_status add_item(side *s, int64_t index, const char *text, cs_item *code, cs_item *scale)
{
    s->place[index] = s->items;
    s->item[s->items++] = index;
    cs_item_text(s->text, NULL, text);
    if (!code) return CS_OK;
    const int64_t k = s->page->end - s->page->first;
    CS_AUTO_FREE char *digits = cs_alloc(s->digits * k + 1, 1);
    if (!digits) return CS_ERR_MEMORY;
    cs_item_real(scale, NULL, put_code(s, index, digits));
    cs_item_text(code, NULL, digits);
    ++s->coded;
    return CS_OK;
}

/* The heaviest items with coordinates, within `limit` bytes. */
static cs_status add_heaviest(side *s, int64_t limit, cs_item *code, cs_item *scale)
{
    const int64_t n = side_size(s), k = s->page->end - s->page->first;
    CS_AUTO_FREE cs_scored *list = cs_alloc(n, sizeof *list);
    cs_status status = list ? CS_OK : CS_ERR_MEMORY;
    s->digits = (double)n * (double)(3 * k + TEXT / 4 + 2L * ITEM) <= (double)limit ? 3 : 2;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        list[i] = (cs_scored){s->mass[i], i};
    }
    if (status == CS_OK) status = cs_scored_sort(n, list);
    for (int64_t i = 0; i < n && status == CS_OK && list[i].value > 0; ++i) {
        char text[TEXT + 4];
        status = text_of(s, list[i].index, text);
        limit -= escaped_size(text) + s->digits * k + 2L * ITEM;
        if (limit < 0) break;
        if (status == CS_OK) status = add_item(s, list[i].index, text, code, scale);
    }
    return status;
}

/* The largest entries of sign * x above zero, in the order of cs_scored_compare. */
static int64_t largest_of(const double *x, int64_t n, double sign, int64_t top, cs_scored *list)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
        const cs_scored one = {sign * x[i], i};
        if (!(one.value > 0) || (count == top && one.value <= list[count - 1].value)) continue;
        int64_t at = count < top ? count++ : count - 1;
        for (; at > 0 && list[at - 1].value < one.value; --at) {
            list[at] = list[at - 1];
        }
        list[at] = one;
    }
    return count;
}

/* One end of a vector: places of items, and their entries. */
static cs_status add_end(side *s, int64_t j, double sign, cs_scored *list, cs_item *ends,
                         int64_t *left)
{
    const double *x = s->vectors->data + j * s->vectors->ld;
    const int64_t count = largest_of(x, side_size(s), sign, s->page->top, list);
    cs_item *end = cs_item_object(ends, NULL);
    cs_item *items = cs_item_array(end, "items"), *values = cs_item_array(end, "values");
    cs_status status = CS_OK;
    for (int64_t i = 0; i<count && * left> 0 && status == CS_OK; ++i) {
        const int64_t index = list[i].index;
        if (s->place[index] < 0) {
            char text[TEXT + 4];
            status = text_of(s, index, text);
            if (status == CS_OK) status = add_item(s, index, text, NULL, NULL);
            *left -= escaped_size(text) + ITEM;
        }
        *left -= ITEM;
        cs_item_int(items, NULL, s->place[index]);
        cs_item_real(values, NULL, x[index]);
    }
    return status;
}

/* Ends of the leading vectors, until the limit is reached. */
static cs_status add_vectors(side both[2], cs_item *root)
{
    const cs_inspect_page *page = both[1].page;
    cs_item *vectors = cs_item_array(root, "vectors");
    CS_AUTO_FREE cs_scored *list = cs_alloc(page->top, sizeof *list);
    cs_status status = list ? CS_OK : CS_ERR_MEMORY;
    int64_t left = MOST_ENDS / page->share;
    for (int64_t j = 0; j < page->spectrum->k && left > 0 && status == CS_OK; ++j) {
        cs_item *ends = cs_item_array(vectors, NULL);
        for (int e = 0; e < ENDS && status == CS_OK; ++e) {
            side *s = &both[e / 2];
            if (s->page) status = add_end(s, j, e % 2 ? -1 : 1, list, ends, &left);
        }
    }
    return status;
}

/* Numbers and masses of the items, once all are named. */
static void finish_side(const side *s, cs_item *in)
{
    cs_item *index = cs_item_array(in, "index"), *mass = cs_item_array(in, "mass");
    for (int64_t i = 0; i < s->items; ++i) {
        cs_item_int(index, NULL, s->item[i]);
        cs_item_real(mass, NULL, s->mass[s->item[i]]);
    }
    cs_item_real(in, "total", s->total);
    cs_item_int(in, "number", side_size(s));
    cs_item_int(in, "coded", s->coded);
    cs_item_int(in, "digits", s->digits);
}

static void add_spectrum(const cs_inspect_page *page, cs_item *root)
{
    const cs_spectrum *s = page->spectrum;
    const cs_csr *a = &page->store->cooc.matrix.a;
    const struct {
        const char *name;
        const cs_certificate *is;
    } certificate[] = {{"components", &s->cert.components},
                       {"moments", &s->cert.moments},
                       {"probe", &s->cert.probe},
                       {"inertia", &s->cert.inertia},
                       {"residual", &s->cert.residual}};
    const int64_t values = s->k < MOST_VALUES ? s->k : MOST_VALUES;
    cs_item_int(root, "rows", a->rows);
    cs_item_int(root, "cols", a->cols);
    cs_item_int(root, "nonzeros", a->ptr[a->rows]);
    cs_item_int(root, "components", s->input.components);
    cs_item_count(root, "rank", s->rank);
    cs_item_int(root, "k", s->k);
    cs_item_int(root, "first", page->first);
    cs_item_int(root, "end", page->end);
    cs_item_reals(root, "sigma", values, s->sigma);
    if (s->eigenvalue) cs_item_reals(root, "eigenvalue", values, s->eigenvalue);
    cs_item_reals(root, "residual", values, s->residual);
    cs_item *all = cs_item_object(root, "certificates");
    for (size_t i = 0; i < sizeof certificate / sizeof *certificate; ++i) {
        cs_item_text(all, certificate[i].name, cs_cert_state_name(certificate[i].is->state));
    }
}

/* Both sides; that of contexts stays empty for a Gram form. */
static cs_status add_sides(const cs_inspect_page *page, side both[2], cs_item *root)
{
    static const char *const name[] = {"contexts", "tokens"};
    const int64_t limit[] = {MOST_CONTEXTS, MOST_TOKENS};
    const int from = page->spectrum->input.gram ? 1 : 0;
    cs_item *in[2] = {NULL};
    cs_status status = CS_OK;
    if (from == 1) cs_item_null(root, name[0]);
    for (int i = from; i < 2 && status == CS_OK; ++i) {
        status = side_init(page, i == 0, &both[i]);
        if (status != CS_OK) break;
        in[i] = cs_item_object(root, name[i]);
        both[i].text = cs_item_array(in[i], "text");
        cs_item *code = cs_item_array(in[i], "code"), *scale = cs_item_array(in[i], "scale");
        status = add_heaviest(&both[i], limit[i] / page->share, code, scale);
    }
    if (status == CS_OK) status = add_vectors(both, root);
    for (int i = from; i < 2 && status == CS_OK; ++i) {
        finish_side(&both[i], in[i]);
    }
    return status;
}

cs_status cs_inspect_page_record(const cs_inspect_page *page, cs_item *root)
{
    side both[2] = {{0}};
    assert(page->top > 0 && page->share > 0);
    add_spectrum(page, root);
    const cs_status status = add_sides(page, both, root);
    side_free(&both[0]);
    side_free(&both[1]);
    return status;
}
