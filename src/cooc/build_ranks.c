/* The numbers that the ranks of a build exchange in addition to records. Integers and fixed-point
 * sums are the same in any order, so all ranks have the same bits; R ranks send 2 (R - 1) messages of
 * a few words for each sum. Class masses of columns go to rank 0 by way of the ranks that add a slice
 * of them. */
#include "cooc/build_ranks_private.h"

#include <math.h>
#include <string.h>

static void join_counts(void *mine, const void *other, int64_t size)
{
    cs_sequence_counts *to = mine;
    const cs_sequence_counts *from = other;
    (void)size;
    to->of_split += from->of_split;
    to->kept += from->kept;
    to->left_out += from->left_out;
    to->tokens += from->tokens;
    to->covered += from->covered;
    to->longest = from->longest > to->longest ? from->longest : to->longest;
    to->shortest = from->shortest < to->shortest ? from->shortest : to->shortest;
}

void cs_ranks_join_counts(cs_comm *c, cs_sequence_counts *counts, int64_t *first)
{
    cs_comm_before(c, 1, &counts->kept, first);
    cs_comm_fold(c, counts, sizeof *counts, join_counts);
}

static void join_exact(void *mine, const void *other, int64_t size)
{
    (void)size;
    cs_exact_join(mine, other);
}

void cs_ranks_add_exact(cs_comm *c, cs_exact_sum *x)
{
    cs_comm_fold(c, x, sizeof *x, join_exact);
}

typedef struct {
    int64_t contributions, units;
    bool overflow;
} unit_sums;

static void join_units(void *mine, const void *other, int64_t size)
{
    unit_sums *to = mine;
    const unit_sums *from = other;
    (void)size;
    to->contributions += from->contributions;
    to->overflow |= from->overflow || __builtin_add_overflow(to->units, from->units, &to->units);
}

void cs_ranks_add_units(cs_comm *c, int64_t *contributions, int64_t *units, bool *overflow)
{
    unit_sums s = {*contributions, *units, *overflow};
    cs_comm_fold(c, &s, sizeof s, join_units);
    *contributions = s.contributions;
    *units = s.units;
    *overflow = s.overflow;
}

void cs_ranks_add_sums(cs_comm *c, cs_assembler *a)
{
    const int64_t classes = a->cols * a->labels;
    cs_comm_add(c, 1, &a->total);
    if (classes > 0) cs_comm_sum_to_first(c, classes, a->in_col);
    if (c->rank > 0 && classes > 0) {
        memset(a->in_col, 0, (size_t)classes * sizeof *a->in_col);
    }
}

cs_row_sums cs_row_sums_of(const cs_cooc *m)
{
    cs_row_sums s = {.rows = m->matrix.a.rows, .nonzeros = cs_csr_nnz(&m->matrix.a)};
    cs_label_masses(&m->matrix, m->exact ? 1 : m->unit, &s.mass, &s.majority);
    return s;
}

static void join_rows(void *mine, const void *other, int64_t size)
{
    cs_row_sums *to = mine;
    const cs_row_sums *from = other;
    (void)size;
    to->rows += from->rows;
    to->nonzeros += from->nonzeros;
    to->mass += from->mass;
    to->majority += from->majority;
}

void cs_cooc_place_rows(cs_comm *c, const cs_row_sums *stored, cs_cooc *m)
{
    cs_row_sums sums = stored ? *stored : cs_row_sums_of(m);
    if (c) {
        cs_comm_before(c, 1, &sums.rows, &m->first_row);
        cs_comm_fold(c, &sums, sizeof sums, join_rows);
    }
    m->all_rows = sums.rows;
    m->all_nonzeros = sums.nonzeros;
    m->label_noise = cs_label_noise(sums.mass, sums.majority);
}

void cs_ranks_place_texts(cs_comm *c, cs_cooc *m)
{
    for (int64_t r = 0; r < m->matrix.a.rows; ++r) {
        m->witness_sequence[r] += m->first_row;
    }
    m->texts.first_document = m->first_row;
    m->texts.all_documents = m->all_rows;
    m->texts.all_tokens = m->texts.tokens;
    cs_comm_add(c, 1, &m->texts.all_tokens);
}
