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

/* Documents first..end-1 as the part of one rank; arrays of documents and tokens are borrowed. */
static cs_corpus part_of(const cs_corpus *whole, int64_t first, int64_t end)
{
    cs_corpus part = *whole;
    part.first_document = first;
    part.all_documents = whole->documents;
    part.all_tokens = whole->tokens;
    part.documents = end - first;
    part.tokens = whole->doc_ptr[end] - whole->doc_ptr[first];
    part.doc_ptr = cs_alloc(part.documents + 1, sizeof *part.doc_ptr);
    for (int64_t d = 0; d <= part.documents; ++d) {
        part.doc_ptr[d] = whole->doc_ptr[first + d] - whole->doc_ptr[first];
    }
    part.token += whole->doc_ptr[first];
    part.label += first;
    part.held_out = whole->held_out ? whole->held_out + first : NULL;
    return part;
}

cs_status build_rank(cs_comm *comm, void *job)
{
    build_job *of = job;
    cs_cooc_options o = of->options;
    o.comm = comm;
    if (!of->parts) {
        return cs_cooc_build(of->corpus, &o, &of->result[comm->rank]);
    }
    /* Shares of different sizes; of many ranks, some have no document. */
    const int64_t n = of->corpus->documents, all = (int64_t)comm->ranks * (comm->ranks + 1);
    const int64_t r = comm->rank;
    cs_corpus part = part_of(of->corpus, n * r * (r + 1) / all, n * (r + 1) * (r + 2) / all);
    cs_status status = cs_cooc_build(&part, &o, &of->result[comm->rank]);
    of->sent[comm->rank] = comm->sent;
    of->messages[comm->rank] = comm->messages;
    cs_free(part.doc_ptr);
    return status;
}

static void append_csr(cs_csr *to, const cs_csr *more)
{
    const int64_t nnz = to->ptr ? cs_csr_nnz(to) : 0, rows = to->rows;
    cs_csr made = {0};
    OK(cs_csr_init(&made, rows + more->rows, more->cols, nnz + cs_csr_nnz(more)));
    for (int64_t i = 1; i <= made.rows; ++i) {
        made.ptr[i] = i <= rows ? to->ptr[i] : nnz + more->ptr[i - rows];
    }
    for (int64_t e = 0; e < made.ptr[made.rows]; ++e) {
        made.col[e] = e < nnz ? to->col[e] : more->col[e - nnz];
        made.val[e] = e < nnz ? to->val[e] : more->val[e - nnz];
    }
    made.gram = more->gram;
    cs_csr_free(to);
    *to = made;
}

void join_ranks(cs_cooc *all, int ranks)
{
    cs_cooc to = all[0];
    int64_t rows = 0;
    to.files = NULL;
    to.matrix.a = to.matrix.row_label = (cs_csr){0};
    to.key = cs_alloc(to.all_rows, sizeof *to.key);
    to.witness_sequence = cs_alloc(to.all_rows, sizeof *to.witness_sequence);
    to.witness_ordinal = cs_alloc(to.all_rows, sizeof *to.witness_ordinal);
    all[0].matrix.col_label = (cs_csr){0};
    for (int r = 0; r < ranks; ++r) {
        cs_cooc *m = &all[r];
        assert_int_equal(m->first_row, rows);
        assert_true(m->mass == to.mass && m->all_rows == to.all_rows);
        append_csr(&to.matrix.a, &m->matrix.a);
        append_csr(&to.matrix.row_label, &m->matrix.row_label);
        for (int64_t i = 0; i < m->matrix.a.rows; ++i, ++rows) {
            to.key[rows] = m->key[i];
            to.witness_sequence[rows] = m->witness_sequence[i];
            to.witness_ordinal[rows] = m->witness_ordinal[i];
        }
        cs_cooc_free(m);
    }
    assert_int_equal(to.all_rows, rows);
    assert_int_equal(to.all_nonzeros, cs_csr_nnz(&to.matrix.a));
    all[0] = to;
}
