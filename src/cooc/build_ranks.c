/* The numbers that the ranks of a build exchange in addition to records. Every rank receives the numbers of all
 * ranks and adds them in the same order, so all have the same bits; R ranks send R - 1 messages of a
 * few words each. Class masses of columns go to rank 0 by way of the ranks that add a slice of them.
 */
#include "cooc/build_ranks_private.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

cs_status cs_ranks_join_counts(cs_comm *c, cs_sequence_counts *counts, int64_t *first)
{
    CS_AUTO_FREE cs_sequence_counts *all = cs_alloc(c->ranks, sizeof *all);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof *counts, counts, all);
    *counts = all[0];
    *first = c->rank > 0 ? all[0].kept : 0;
    for (int r = 1; r < c->ranks; ++r) {
        const cs_sequence_counts *a = &all[r];
        *first += r < c->rank ? a->kept : 0;
        counts->of_split += a->of_split;
        counts->kept += a->kept;
        counts->left_out += a->left_out;
        counts->tokens += a->tokens;
        counts->covered += a->covered;
        counts->longest = a->longest > counts->longest ? a->longest : counts->longest;
        counts->shortest = a->shortest < counts->shortest ? a->shortest : counts->shortest;
    }
    return CS_OK;
}

cs_status cs_ranks_join_clamped(cs_comm *c, int64_t *clamped, int64_t *longest)
{
    const int64_t mine[2] = {*clamped, *longest};
    CS_AUTO_FREE int64_t *all = cs_alloc(c->ranks, sizeof mine);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof mine, mine, all);
    *clamped = 0;
    for (ptrdiff_t r = 0; r < c->ranks; ++r) {
        *clamped += all[2 * r];
        *longest = all[2 * r + 1] > *longest ? all[2 * r + 1] : *longest;
    }
    return CS_OK;
}

cs_status cs_ranks_add(cs_comm *c, int64_t *x)
{
    CS_AUTO_FREE int64_t *all = cs_alloc(c->ranks, sizeof *all);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof *x, x, all);
    *x = 0;
    for (int r = 0; r < c->ranks; ++r) {
        *x += all[r];
    }
    return CS_OK;
}

cs_status cs_ranks_add_exact(cs_comm *c, cs_exact_sum *x)
{
    CS_AUTO_FREE cs_exact_sum *all = cs_alloc(c->ranks, sizeof *all);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof *x, x, all);
    *x = (cs_exact_sum){0};
    for (int r = 0; r < c->ranks; ++r) {
        cs_exact_join(x, &all[r]);
    }
    return CS_OK;
}

cs_status cs_ranks_add_units(cs_comm *c, int64_t *contributions, int64_t *units, bool *overflow)
{
    enum { SUMS = 3 };
    int64_t mine[SUMS] = {*contributions, *units, *overflow};
    CS_AUTO_FREE int64_t *all = cs_alloc(c->ranks, sizeof mine);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof mine, mine, all);
    *contributions = *units = 0;
    for (int r = 0; r < c->ranks; ++r) {
        const int64_t *theirs = all + (ptrdiff_t)SUMS * r;
        *contributions += theirs[0];
        *overflow |= theirs[2] != 0 || __builtin_add_overflow(*units, theirs[1], units);
    }
    return CS_OK;
}

cs_status cs_ranks_add_sums(cs_comm *c, cs_assembler *a)
{
    const int64_t classes = a->cols * a->labels;
    cs_status status = cs_ranks_add(c, &a->total);
    if (status == CS_OK && classes > 0) status = cs_comm_sum_to_first(c, classes, a->in_col);
    if (c->rank > 0 && classes > 0) {
        memset(a->in_col, 0, (size_t)classes * sizeof *a->in_col);
    }
    return status;
}

cs_row_sums cs_row_sums_of(const cs_cooc *m)
{
    cs_row_sums s = {.rows = m->matrix.a.rows, .nonzeros = cs_csr_nnz(&m->matrix.a)};
    cs_label_masses(&m->matrix, &s.mass, &s.majority);
    return s;
}

cs_status cs_ranks_place_rows(cs_comm *c, const cs_row_sums *stored, cs_cooc *m)
{
    const cs_row_sums mine = stored ? *stored : cs_row_sums_of(m);
    CS_AUTO_FREE cs_row_sums *all = cs_alloc(c->ranks, sizeof *all);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof mine, &mine, all);
    double mass = 0, majority = 0;
    for (int r = 0; r < c->ranks; ++r) {
        m->first_row += r < c->rank ? all[r].rows : 0;
        m->all_rows += all[r].rows;
        m->all_nonzeros += all[r].nonzeros;
        mass += all[r].mass;
        majority += all[r].majority;
    }
    m->label_noise = mass > 0 ? 1 - majority / mass : (double)NAN;
    return CS_OK;
}

cs_status cs_ranks_place_texts(cs_comm *c, cs_cooc *m)
{
    for (int64_t r = 0; r < m->matrix.a.rows; ++r) {
        m->witness_sequence[r] += m->first_row;
    }
    m->texts.first_document = m->first_row;
    m->texts.all_documents = m->all_rows;
    m->texts.all_tokens = m->texts.tokens;
    return cs_ranks_add(c, &m->texts.all_tokens);
}
