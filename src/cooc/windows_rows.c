/* The rows of one group: windows added into a dense accumulator, its entries, class masses and
 * witness taken out (windows.c).
 *
 * A row that cannot fill a sixteenth of the vocabulary remembers the columns it touches and sorts
 * them; a fuller one is read out from end to end.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

enum { SPARSE = 16 };

/* Adds the windows of one token's occurrences into y->row; returns how many columns were touched
 * when `sparse`. */
static int64_t add_windows(const cs_window_counter *c, cs_window_tally *y, int32_t token,
                           bool sparse)
{
    int64_t *row = y->row, touched = 0, width = c->width;
    for (int64_t o = c->ptr[token]; o < c->ptr[token + 1]; ++o) {
        const cs_window_cell *here = c->cell + c->at[o];
        int64_t sum = 0;
        for (int64_t d = c->left ? -width : 1; d <= width; ++d) {
            int64_t units = d != 0 ? here[d].units : 0;
            if (sparse && units > 0 && row[here[d].token] == 0) {
                y->touched[touched++] = here[d].token;
            }
            row[here[d].token] += units;
            sum += units;
        }
        if (here->label >= 0 && here->label < c->labels) {
            y->in_row[here->label] += sum;
        }
    }
    return touched;
}

static int ascending(const void *x, const void *y)
{
    return (*(const int32_t *)x > *(const int32_t *)y) -
           (*(const int32_t *)x < *(const int32_t *)y);
}

/* Moves y->row into the part's matrix. */
static cs_status put_row(const cs_window_counter *c, cs_window_tally *y, cs_window_part *p,
                         bool sparse, int64_t touched)
{
    cs_status status = CS_OK;
    int64_t count = sparse ? touched : c->vocab;
    if (sparse) {
        qsort(y->touched, (size_t)touched, sizeof *y->touched, ascending);
    }
    for (int64_t j = 0; j < count && status == CS_OK; ++j) {
        int32_t col = sparse ? y->touched[j] : (int32_t)j;
        if (y->row[col] != 0) {
            status = cs_growing_put(&p->matrix, col, cs_assembler_mass(c->assembler, y->row[col]));
            y->row[col] = 0;
        }
    }
    return status;
}

/* Lowest ordinal of the contributions that the occurrence in cell q gives to its row, -1 if none:
 * its first target with units. */
static int64_t first_ordinal(const cs_window_counter *c, int64_t i, int64_t q)
{
    int64_t s = c->job->sequences->length[i], p = q - c->first[i], w = c->width;
    const cs_context_table *t = cs_context_table_of(c->job->plan, s);
    int64_t skipped = c->left ? 0 : t->pairs.target[0]; /* outer item of target k: k - skipped */
    int64_t k = c->left && p > w ? p - w : 0;
    for (k = c->left ? k : p + 1; k < s && k <= p + w; ++k) {
        if (k != p && c->cell[c->first[i] + k].units > 0) {
            int64_t from = k > w ? k - w : 0;
            return (k - skipped) * t->inner + (p - from) - (p > k);
        }
    }
    return -1;
}

static void find_witness(const cs_window_counter *c, int32_t token, int64_t *sequence,
                         int64_t *ordinal)
{
    const int64_t count = c->job->sequences->count;
    *ordinal = -1;
    for (int64_t o = c->ptr[token]; o < c->ptr[token + 1]; ++o) {
        int64_t q = c->at[o], low = 0, high = count; /* c->first[low] <= q < c->first[high] */
        if (*ordinal >= 0 && q >= c->first[*sequence + 1]) {
            return;
        }
        while (high - low > 1) {
            int64_t middle = low + (high - low) / 2;
            *(c->first[middle] <= q ? &low : &high) = middle;
        }
        int64_t found = first_ordinal(c, low, q);
        if (found >= 0 && (*ordinal < 0 || found < *ordinal)) {
            *sequence = low;
            *ordinal = found;
        }
    }
}

static cs_status end_row(const cs_window_counter *c, cs_window_tally *y, cs_window_part *p,
                         int32_t token)
{
    int64_t row = p->matrix.rows;
    p->token[row] = token;
    find_witness(c, token, &p->witness_sequence[row], &p->witness_ordinal[row]);
    cs_status status = cs_growing_end_row(&p->matrix);
    for (int64_t l = 0; l < c->labels && status == CS_OK; ++l) {
        if (y->in_row[l] != 0) {
            status = cs_growing_put(&p->row_label, (int32_t)l,
                                    cs_assembler_mass(c->assembler, y->in_row[l]));
            y->in_row[l] = 0;
        }
    }
    return status == CS_OK ? cs_growing_end_row(&p->row_label) : status;
}

cs_status cs_window_group(void *counter, int64_t item, int worker)
{
    cs_window_counter *c = counter;
    cs_window_tally *y = &c->tally[worker];
    cs_window_part *p = &c->part[item];
    int64_t rows = c->group[item + 1] - c->group[item];
    p->token = cs_alloc(rows, sizeof *p->token);
    p->witness_sequence = cs_alloc(rows, sizeof *p->witness_sequence);
    p->witness_ordinal = cs_alloc(rows, sizeof *p->witness_ordinal);
    if (!p->token || !p->witness_sequence || !p->witness_ordinal) {
        return CS_ERR_MEMORY;
    }
    cs_status status = CS_OK;
    for (int64_t r = c->group[item]; r < c->group[item + 1] && status == CS_OK; ++r) {
        int32_t token = c->by_key[r];
        int64_t before = p->matrix.nnz, reach = c->left ? 2 * c->width : c->width;
        bool sparse = (c->ptr[token + 1] - c->ptr[token]) * reach < c->vocab / SPARSE;
        int64_t touched = add_windows(c, y, token, sparse);
        status = put_row(c, y, p, sparse, touched);
        if (status == CS_OK && p->matrix.nnz > before) {
            status = end_row(c, y, p, token);
        }
    }
    return status;
}
