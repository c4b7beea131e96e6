/* The rows of one group: windows added into a dense accumulator, its entries, class masses and
 * witness taken out (windows.c).
 *
 * While an occurrence is added up, the cells of one AHEAD of it are fetched, and the sums that the
 * one NEXT after it adds to: both cost bandwidth and not latency. A row whose windows hold few
 * cells beside the vocabulary remembers the columns it touches and sorts them through a bitmap: a
 * bit a column, and a byte for each 512 columns that says whether any is set, so that what is empty
 * is passed over and the order comes for one step a column. A fuller row is read out from end to
 * end.
 */
#include <string.h>

#include "base/mem.h"
#include "cooc/context_private.h"
#include "cooc/windows_private.h"

enum { SPARSE = 4, AHEAD = 8, NEXT = 2, CACHE_LINE = 64 };

static void fetch(const cs_window_cell *from, const cs_window_cell *to)
{
    for (const char *line = (const char *)from; line <= (const char *)to; line += CACHE_LINE) {
        __builtin_prefetch(line);
    }
}

/* Adds the units of cells from..to into `row`, noting the columns met for the first time. */
static int64_t add_noting(const cs_window_cell *from, const cs_window_cell *to, int64_t *row,
                          int32_t *touched, int64_t count)
{
    for (const cs_window_cell *x = from; x <= to; ++x) {
        touched[count] = x->token;
        count += (row[x->token] == 0) & (x->units != 0);
        row[x->token] += x->units;
    }
    return count;
}

static void add(const cs_window_cell *from, const cs_window_cell *to, int64_t *row)
{
    for (const cs_window_cell *x = from; x <= to; ++x) {
        row[x->token] += x->units;
    }
}

static int64_t units_of(const cs_window_cell *from, const cs_window_cell *to)
{
    int64_t sum = 0;
    for (const cs_window_cell *x = from; x <= to; ++x) {
        sum += x->units;
    }
    return sum;
}

/* Adds the windows of one token's occurrences into y->row; returns how many columns were touched
 * when `sparse`. */
static int64_t add_windows(const cs_window_counter *c, cs_window_tally *y, int32_t token,
                           bool sparse)
{
    const int64_t width = c->width, before = c->left ? width : 0, last = c->ptr[token + 1];
    int64_t touched = 0;
    for (int64_t o = c->ptr[token]; o < last; ++o) {
        const cs_window_cell *here = c->cell + c->at[o];
        const cs_window_cell *ahead = c->cell + c->at[o + AHEAD < last ? o + AHEAD : o];
        fetch(ahead - before, ahead + width);
        const cs_window_cell *next = c->cell + c->at[o + NEXT < last ? o + NEXT : o];
        for (const cs_window_cell *x = next - before; x <= next + width; ++x) {
            __builtin_prefetch(&y->row[x->token], 1);
        }
        if (sparse) {
            touched = add_noting(here - before, here - 1, y->row, y->touched, touched);
            touched = add_noting(here + 1, here + width, y->row, y->touched, touched);
        } else {
            add(here - before, here - 1, y->row);
            add(here + 1, here + width, y->row);
        }
        if (here->label >= 0 && here->label < c->labels) {
            y->in_row[here->label] +=
                units_of(here - before, here - 1) + units_of(here + 1, here + width);
        }
    }
    return touched;
}

/* Moves the columns touched from y->row to col and val, ascending. */
static int64_t take_touched(cs_window_tally *y, int64_t vocab, int64_t touched, double unit,
                            int32_t *col, double *val)
{
    int64_t taken = 0;
    for (int64_t j = 0; j < touched; ++j) {
        int32_t v = y->touched[j];
        y->bits[v / 64] |= UINT64_C(1) << v % 64;
        y->lines[v / CS_WINDOW_LINE] = 1;
    }
    for (int64_t line = 0; line * CS_WINDOW_LINE < vocab; ++line) {
        if (!y->lines[line]) {
            continue;
        }
        y->lines[line] = 0;
        for (int64_t w = line * CS_WINDOW_LINE / 64; w < (line + 1) * CS_WINDOW_LINE / 64; ++w) {
            for (uint64_t bits = y->bits[w]; bits; bits &= bits - 1) {
                int64_t v = w * 64 + __builtin_ctzll(bits);
                col[taken] = (int32_t)v;
                val[taken++] = (double)y->row[v] * unit;
                y->row[v] = 0;
            }
            y->bits[w] = 0;
        }
    }
    return taken;
}

static int64_t take_all(cs_window_tally *y, int64_t vocab, double unit, int32_t *col, double *val)
{
    int64_t taken = 0;
    for (int64_t v = 0; v < vocab; ++v) {
        if (y->row[v] != 0) {
            col[taken] = (int32_t)v;
            val[taken++] = (double)y->row[v] * unit;
        }
    }
    memset(y->row, 0, (size_t)vocab * sizeof *y->row);
    return taken;
}

/* Moves y->row into the part's matrix. */
static cs_status put_row(const cs_window_counter *c, cs_window_tally *y, cs_window_part *p,
                         bool sparse, int64_t touched)
{
    const double unit = cs_assembler_mass(c->assembler, 1);
    cs_growing *m = &p->matrix;
    cs_status status = cs_growing_room(m, sparse ? touched : c->vocab);
    if (status != CS_OK) {
        return status;
    }
    int32_t *col = m->col + m->nnz;
    double *val = m->val + m->nnz;
    m->nnz += sparse ? take_touched(y, c->vocab, touched, unit, col, val)
                     : take_all(y, c->vocab, unit, col, val);
    return CS_OK;
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
    cs_status status = cs_window_part_begin(c, item, c->group[item + 1] - c->group[item]);
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
    return status == CS_OK ? cs_window_part_place(c, item) : status;
}
