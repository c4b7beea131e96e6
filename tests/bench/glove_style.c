/* GloVe-style reference counter (our own), see glove_style.h. */
#include "glove_style.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FILES = 4096 };

typedef struct {
    int32_t row, col;
    double val;
} record;

typedef struct {
    const glove_style_options *options;
    int64_t vocab, product; /* ranks (from 1) a, b with a < product / b are in the table */
    int64_t *start;         /* vocab + 1: of each row of the table */
    double *table;
    record *buffer;
    int64_t capacity, held, pairs;
    FILE *file[FILES];
    int64_t files;
} counter;

static int by_pair(const void *x, const void *y)
{
    const record *a = x, *b = y;
    int order = (a->row > b->row) - (a->row < b->row);
    return order != 0 ? order : (a->col > b->col) - (a->col < b->col);
}

static cs_status write_record(FILE *f, const record *r)
{
    return fwrite(r, sizeof *r, 1, f) == 1
               ? CS_OK
               : cs_fail(CS_ERR_IO, "temporary file: %s", strerror(errno));
}

static cs_status open_file(counter *c, FILE **out)
{
    if (c->files == FILES) {
        return cs_fail(CS_ERR_INPUT, "more than %d temporary files", FILES);
    }
    *out = tmpfile();
    if (!*out) {
        return cs_fail(CS_ERR_IO, "temporary file: %s", strerror(errno));
    }
    c->file[c->files++] = *out;
    return CS_OK;
}

/* Sorts the buffer and writes it, equal pairs added up. */
static cs_status spill(counter *c)
{
    FILE *f = NULL;
    cs_status status = open_file(c, &f);
    qsort(c->buffer, (size_t)c->held, sizeof *c->buffer, by_pair);
    for (int64_t i = 0; i < c->held && status == CS_OK;) {
        record sum = c->buffer[i++];
        while (i < c->held && by_pair(&sum, &c->buffer[i]) == 0) {
            sum.val += c->buffer[i++].val;
        }
        status = write_record(f, &sum);
    }
    c->held = 0;
    return status;
}

/* The table as a sorted file. */
static cs_status spill_table(counter *c)
{
    FILE *f = NULL;
    cs_status status = open_file(c, &f);
    for (int64_t a = 0; a < c->vocab && status == CS_OK; ++a) {
        for (int64_t i = c->start[a]; i < c->start[a + 1] && status == CS_OK; ++i) {
            if (c->table[i] != 0) {
                record r = {(int32_t)a, (int32_t)(i - c->start[a]), c->table[i]};
                status = write_record(f, &r);
            }
        }
    }
    return status;
}

static void put(counter *c, int32_t row, int32_t col, double weight)
{
    ++c->pairs;
    if (row + 1 < c->product / (col + 1)) {
        c->table[c->start[row] + col] += weight;
    } else {
        c->buffer[c->held++] = (record){row, col, weight};
    }
}

static cs_status count(counter *c, const cs_corpus *corpus)
{
    const glove_style_options *o = c->options;
    cs_status status = CS_OK;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        for (int64_t i = corpus->doc_ptr[d]; i < corpus->doc_ptr[d + 1]; ++i) {
            int64_t first = i - o->window;
            first = first > corpus->doc_ptr[d] ? first : corpus->doc_ptr[d];
            if (c->held + 2 * o->window >= c->capacity) {
                status = spill(c);
                if (status != CS_OK) return status;
            }
            double weight = o->symmetric || first == i ? 1 : o->units / (double)(i - first);
            for (int64_t p = i - 1; p >= first; --p) {
                put(c, corpus->token[p], corpus->token[i], weight);
                if (o->symmetric) {
                    put(c, corpus->token[i], corpus->token[p], weight);
                }
            }
        }
    }
    status = spill(c);
    return status == CS_OK ? spill_table(c) : status;
}

/* --- merge ------------------------------------------------------------------------------------ */

typedef struct {
    record next;
    FILE *file;
} source;

static bool advance(source *s)
{
    return fread(&s->next, sizeof s->next, 1, s->file) == 1;
}

static void sift(source *heap, int64_t count, int64_t i)
{
    source moving = heap[i];
    for (int64_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
        child += child + 1 < count && by_pair(&heap[child + 1].next, &heap[child].next) < 0;
        if (by_pair(&moving.next, &heap[child].next) <= 0) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

typedef struct {
    cs_csr a;
    int64_t held, capacity;
} result;

static cs_status take(result *r, const record *x)
{
    if (r->held == r->capacity) {
        int64_t capacity = r->capacity + r->capacity / 2 + (1 << 20);
        int32_t *col = cs_realloc(r->a.col, capacity, sizeof *col);
        r->a.col = col ? col : r->a.col;
        double *val = col ? cs_realloc(r->a.val, capacity, sizeof *val) : NULL;
        r->a.val = val ? val : r->a.val;
        if (!col || !val) {
            return CS_ERR_MEMORY;
        }
        r->capacity = capacity;
    }
    ++r->a.ptr[x->row + 1];
    r->a.col[r->held] = x->col;
    r->a.val[r->held++] = x->val;
    return CS_OK;
}

static cs_status merge(counter *c, result *r)
{
    source heap[FILES];
    int64_t count = 0;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < c->files; ++i) {
        rewind(c->file[i]);
        heap[count].file = c->file[i];
        count += advance(&heap[count]);
    }
    for (int64_t i = count / 2 - 1; i >= 0; --i) {
        sift(heap, count, i);
    }
    record sum = {.row = -1};
    while (count > 0 && status == CS_OK) {
        if (by_pair(&sum, &heap[0].next) == 0) {
            sum.val += heap[0].next.val;
        } else {
            status = sum.row >= 0 ? take(r, &sum) : CS_OK;
            sum = heap[0].next;
        }
        if (!advance(&heap[0])) {
            heap[0] = heap[--count];
        }
        sift(heap, count, 0);
    }
    if (status == CS_OK && sum.row >= 0) {
        status = take(r, &sum);
    }
    for (int64_t i = 0; i < c->files && status == CS_OK; ++i) {
        if (ferror(c->file[i])) {
            status = cs_fail(CS_ERR_IO, "temporary file: read error");
        }
    }
    for (int64_t v = 0; v < r->a.rows; ++v) {
        r->a.ptr[v + 1] += r->a.ptr[v];
    }
    return status;
}

/* GloVe's rule: of 85% of the memory, the table takes n (log n + 0.1544) entries for the product n,
 * and the buffer a sixth as many records. */
static cs_status plan_memory(counter *c)
{
    double limit = 0.85 * c->options->gib * 0x1p30 / sizeof(record), n = 1e5;
    while (fabs(limit - n * (log(n) + 0.1544313298)) > 1e-3) {
        n = limit / (log(n) + 0.1544313298);
    }
    c->product = (int64_t)n;
    c->capacity = (int64_t)(limit / 6);
    c->start = cs_calloc(c->vocab + 1, sizeof *c->start);
    c->buffer = cs_alloc(c->capacity, sizeof *c->buffer);
    if (!c->start || !c->buffer) {
        return CS_ERR_MEMORY;
    }
    for (int64_t a = 0; a < c->vocab; ++a) {
        int64_t width = c->product / (a + 1);
        c->start[a + 1] = c->start[a] + (width < c->vocab ? width : c->vocab);
    }
    c->table = cs_calloc(c->start[c->vocab], sizeof *c->table);
    return c->table ? CS_OK : CS_ERR_MEMORY;
}

cs_status glove_style_count(const cs_corpus *corpus, const glove_style_options *options,
                            cs_csr *out, int64_t *pairs, int64_t *files)
{
    counter c = {.options = options, .vocab = corpus->vocab};
    result r = {.a = {.rows = corpus->vocab, .cols = corpus->vocab}};
    r.a.ptr = cs_calloc(corpus->vocab + 1, sizeof *r.a.ptr);
    cs_status status = r.a.ptr ? plan_memory(&c) : CS_ERR_MEMORY;
    if (status == CS_OK) status = count(&c, corpus);
    CS_FREE_FIELDS(&c, table, buffer);
    if (status == CS_OK) status = merge(&c, &r);
    for (int64_t i = 0; i < c.files; ++i) {
        (void)fclose(c.file[i]); /* temporary: gone with it */
    }
    cs_free(c.start);
    if (status != CS_OK) {
        cs_csr_free(&r.a);
        return status;
    }
    *out = r.a;
    *pairs = c.pairs;
    *files = c.files - 1;
    return CS_OK;
}
