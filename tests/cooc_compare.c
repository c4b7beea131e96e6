/* Comparisons of builds; see the header. */
#include "cooc_compare.h"
#include "test.h"

void assert_same_csr(const cs_csr *a, const cs_csr *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    int64_t nnz = cs_csr_nnz(a);
    assert_int_equal(nnz, cs_csr_nnz(b));
    assert_memory_equal(a->ptr, b->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
    assert_true(nnz == 0 || memcmp(a->col, b->col, (size_t)nnz * sizeof *a->col) == 0);
    assert_true(nnz == 0 || memcmp(a->val, b->val, (size_t)nnz * sizeof *a->val) == 0);
}

void assert_same_cooc(const cs_cooc *a, const cs_cooc *b)
{
    size_t rows = (size_t)a->matrix.a.rows;
    assert_same_csr(&a->matrix.a, &b->matrix.a);
    assert_same_csr(&a->matrix.row_label, &b->matrix.row_label);
    assert_same_csr(&a->matrix.col_label, &b->matrix.col_label);
    assert_memory_equal(a->key, b->key, rows * sizeof *a->key);
    assert_memory_equal(a->witness_sequence, b->witness_sequence, rows * sizeof(int64_t));
    assert_memory_equal(a->witness_ordinal, b->witness_ordinal, rows * sizeof(int64_t));
    assert_true(a->exact == b->exact && a->unit == b->unit && a->mass == b->mass);
    assert_true(a->dropped_mass == b->dropped_mass && a->contributions == b->contributions);
    assert_true(a->sequences == b->sequences && a->skipped_sequences == b->skipped_sequences);
}

void assert_consistent(const cs_cooc *m)
{
    const cs_csr *a = &m->matrix.a;
    OK(cs_csr_check(a, true));
    double total = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        assert_true(i == 0 || cs_hash_compare(m->key[i - 1], m->key[i]) < 0);
        double row = SUM(e, a->ptr[i], a->ptr[i + 1], a->val[e]);
        const cs_csr *l = &m->matrix.row_label;
        double labelled = SUM(e, l->ptr[i], l->ptr[i + 1], l->val[e]);
        assert_true(m->matrix.labels == 0 || fabs(row - labelled) <= 1e-12 * row);
        total += row;
    }
    double unit = m->exact ? m->unit : 1;
    /* One rounding an entry in this sum. */
    assert_true(fabs(total * unit - m->mass) <= (double)cs_csr_nnz(a) * 0x1p-52 * m->mass);
}

void assert_build_fails(const cs_corpus *corpus, const cs_cooc_options *options, cs_status expected,
                        const char *words)
{
    cs_cooc m = {0}, zero = {0};
    cs_reason_clear();
    assert_int_equal(cs_cooc_build(corpus, options, &m), expected);
    assert_memory_equal(&m, &zero, sizeof m);
    if (options->checkpoint) assert_non_null(strstr(cs_reason(), options->checkpoint));
    expect_reason(words);
}

cs_status build_rank(cs_comm *comm, void *job)
{
    const build_job *of = job;
    cs_cooc_options o = of->options;
    o.comm = comm;
    return cs_cooc_build(of->corpus, &o, &of->result[comm->rank]);
}
