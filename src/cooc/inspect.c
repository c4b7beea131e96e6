/* Describes a matrix, a row, a singular vector or a word for a reader. */
#include "cooc/inspect.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/sort.h"

/* Of a row of the matrix, or of a token. */
static cs_status add_line(const cs_inspection *in, const char *what, bool row, int64_t rank,
                          cs_scored of, double share)
{
    char buffer[32], *text = NULL;
    cs_status status = row ? cs_cooc_row_text(in->store, of.index, &text) : CS_OK;
    if (status != CS_OK) return status;
    cs_item *line = cs_item_object(in->lines, NULL);
    cs_item_text(line, "what", what);
    cs_item_real(line, "rank", (double)rank);
    cs_item_real(line, "index", (double)of.index);
    cs_item_text(line, "text",
                 row ? text : cs_corpus_word(&in->store->corpus, (int32_t)of.index, buffer));
    cs_item_real(line, "value", of.value);
    cs_item_real(line, "share", share);
    cs_free(text);
    return CS_OK;
}

/* The largest of a list, which is sorted, each with its share of `total`. */
static cs_status add_largest(const cs_inspection *in, const char *what, bool rows, int64_t n,
                             cs_scored *list, double total)
{
    cs_status status = CS_OK;
    qsort(list, (size_t)n, sizeof *list, cs_scored_compare);
    for (int64_t i = 0; i < n && i < in->top && status == CS_OK; ++i) {
        status = add_line(in, what, rows, i + 1, list[i], list[i].value / total);
    }
    return status;
}

cs_status cs_inspect_row(const cs_inspection *in, int64_t row)
{
    const cs_csr *a = &in->store->cooc.matrix.a;
    if (row < 0 || row >= a->rows) {
        return cs_fail(CS_ERR_USAGE, "row %lld is not in 0..%lld", (long long)row,
                       (long long)a->rows - 1);
    }
    int64_t count = a->ptr[row + 1] - a->ptr[row];
    CS_AUTO_FREE cs_scored *list = cs_alloc(count, sizeof *list);
    if (!list) return CS_ERR_MEMORY;
    const double unit = cs_cooc_stored_mass(&in->store->cooc);
    double sum = 0.0;
    for (int64_t p = 0; p < count; ++p) {
        list[p] = (cs_scored){unit * a->val[a->ptr[row] + p], a->col[a->ptr[row] + p]};
        sum += list[p].value;
    }
    cs_status status = add_line(in, "row", true, 0, (cs_scored){sum, row}, 1.0);
    return status == CS_OK ? add_largest(in, "target of the row", false, count, list, sum) : status;
}

cs_status cs_inspect_heaviest(const cs_inspection *in)
{
    const cs_csr *a = &in->store->cooc.matrix.a;
    const double unit = cs_cooc_stored_mass(&in->store->cooc);
    double *sum = cs_alloc(a->rows, sizeof *sum), total = 0.0;
    CS_AUTO_FREE cs_scored *list = cs_alloc(a->rows, sizeof *list);
    cs_status status = list && sum ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_csr_sums(a, sum, NULL);
        for (int64_t i = 0; i < a->rows; ++i) {
            list[i] = (cs_scored){unit * sum[i], i};
            total += list[i].value;
        }
        status = add_largest(in, "heaviest row", true, a->rows, list, total);
    }
    cs_free(sum);
    return status;
}

/* The ends of one singular vector on one side, `sign` +1 or -1. */
static cs_status add_end(const cs_inspection *in, const cs_spectrum *s, int64_t vector, bool rows,
                         double sign)
{
    const cs_dense *side = rows ? &s->u : &s->v;
    const double *x = side->data + (vector - 1) * side->ld;
    int64_t n = side->rows;
    CS_AUTO_FREE cs_scored *list = cs_alloc(n, sizeof *list);
    CS_AUTO_FREE char *what = cs_format("vector %lld, %s %s", (long long)vector,
                                        sign > 0 ? "+" : "-", rows ? "context" : "token");
    cs_status status = list && what ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        list[i] = (cs_scored){sign * x[i], i};
    }
    if (status == CS_OK) qsort(list, (size_t)n, sizeof *list, cs_scored_compare);
    for (int64_t i = 0; i < n && i < in->top && status == CS_OK && list[i].value > 0.0; ++i) {
        const double value = x[list[i].index];
        status = add_line(in, what, rows, i + 1, (cs_scored){value, list[i].index}, value * value);
    }
    return status;
}

cs_status cs_inspect_vector(const cs_inspection *in, const cs_spectrum *s, int64_t vector)
{
    if (vector > s->k) {
        return cs_fail(CS_ERR_INPUT, "vector %lld exceeds the rank %lld", (long long)vector,
                       (long long)s->k);
    }
    cs_status status = CS_OK;
    for (int end = 0; end < 2 && status == CS_OK; ++end) {
        double sign = end == 0 ? 1 : -1;
        status = s->input.gram ? CS_OK : add_end(in, s, vector, true, sign);
        if (status == CS_OK) status = add_end(in, s, vector, false, sign);
    }
    return status;
}

cs_status cs_inspect_neighbours(const cs_inspection *in, const cs_spectrum *s, int64_t first,
                                int64_t end, const char *word)
{
    const cs_corpus *corpus = &in->store->corpus;
    int64_t n = s->v.rows, id = -1;
    for (int64_t i = 0; corpus->word && i < corpus->vocab; ++i) {
        id = strcmp(corpus->word[i], word) == 0 ? i : id;
    }
    assert(s->k > 0 && s->input.col_mass);
    if (id < 0 || s->input.col_mass[id] <= 0.0) {
        return cs_fail(CS_ERR_INPUT, "%s %s", word,
                       id < 0 ? "is not in the vocabulary" : "is never a target");
    }
    double weight = 0.0;
    for (int64_t j = first; j < end; ++j) {
        weight += fabs(s->v.data[id + j * s->v.ld]);
    }
    if (weight == 0.0) {
        return cs_fail(CS_ERR_INPUT,
                       "%s is zero in vectors %lld to %lld: raise --dimensions or lower --skip",
                       word, (long long)first + 1, (long long)end);
    }
    CS_AUTO_FREE cs_scored *list = cs_alloc(n, sizeof *list);
    if (!list) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < n;
         ++i) { /* 1 / sqrt(P_G) scales a whole row: it drops out of the cosine */
        double dot = 0.0, own = 0.0, other = 0.0;
        for (int64_t j = first; j < end; ++j) {
            double a = s->sigma[j] * s->v.data[id + j * s->v.ld],
                   b = s->sigma[j] * s->v.data[i + j * s->v.ld];
            dot += a * b;
            own += a * a;
            other += b * b;
        }
        list[i] = (cs_scored){own > 0.0 && other > 0.0 ? dot / sqrt(own * other) : -1.0, i};
    }
    qsort(list, (size_t)n, sizeof *list, cs_scored_compare);
    cs_status status = CS_OK;
    for (int64_t i = 0; i < n && i <= in->top && status == CS_OK; ++i) {
        status = add_line(in, "neighbour", false, i, list[i], s->input.col_mass[list[i].index]);
    }
    return status;
}
