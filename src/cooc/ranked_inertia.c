/* The inertia certificate over a group: it factors matrices of the order of a component, which only
 * one process that has the whole of Abar can make. Where the memory of rank 0 allows that, the
 * parts are brought there, and what one process would do is done there while the others wait.
 */
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "cooc/ranked.h"

typedef struct {
    int64_t rows, nnz;
} part_size;

/* Allocates, on rank 0, the whole matrix and the largest part. */
static cs_status make_space(cs_comm *c, const part_size *size, const cs_ranked *r, cs_csr *whole,
                            cs_csr *part)
{
    part_size sum = {0}, most = {0};
    for (int p = 0; p < c->ranks; ++p) {
        sum.nnz += size[p].nnz;
        most.rows = cs_most(most.rows, size[p].rows);
        most.nnz = cs_most(most.nnz, size[p].nnz);
    }
    cs_status status = c->rank == 0 ? cs_csr_init(whole, r->length, r->width, sum.nnz) : CS_OK;
    status = status || c->rank > 0 ? status : cs_csr_init(part, most.rows, r->width, most.nnz);
    return cs_comm_agree(c, status);
}

/* The lengths of a rank's rows, then, once `whole->ptr` is known, their entries. index: the places
 * of the `rows` rows. */
static void place_lengths(int64_t rows, const int64_t *index, const cs_csr *part, cs_csr *whole)
{
    for (int64_t i = 0; i < rows; ++i) {
        whole->ptr[index[i] + 1] = part->ptr[i + 1] - part->ptr[i];
    }
}

static void place_entries(int64_t rows, const int64_t *index, const cs_csr *part, cs_csr *whole)
{
    for (int64_t i = 0, from = 0; i < rows; ++i) {
        int64_t to = whole->ptr[index[i]], n = whole->ptr[index[i] + 1] - to;
        memcpy(whole->col + to, part->col + from, (size_t)n * sizeof *whole->col);
        memcpy(whole->val + to, part->val + from, (size_t)n * sizeof *whole->val);
        from += n;
    }
}

/* length x width on rank 0, nothing elsewhere. Collective; all return the same. */
static cs_status gather_matrix(const cs_ranked *r, const int64_t *index, cs_csr *whole)
{
    cs_comm *c = r->comm;
    const part_size mine = {r->a.rows, cs_csr_nnz(&r->a)};
    cs_csr part = {0};
    cs_pool pool = {0};
    int64_t *place = NULL;
    part_size *size = cs_pool_take(&pool, c->ranks, sizeof *size);
    cs_status status = cs_comm_agree(c, pool.status);
    if (status == CS_OK) {
        cs_comm_gather_each(c, sizeof mine, &mine, size);
        status = make_space(c, size, r, whole, &part);
    }
    if (status == CS_OK) {
        place = cs_pool_take(&pool, part.rows, sizeof *place);
        status = cs_comm_agree(c, pool.status);
    }
    for (int p = 0; status == CS_OK && p < c->ranks; ++p) {
        cs_comm_bring(c, p, index, place, size[p].rows * (int64_t)sizeof *place);
        cs_comm_bring(c, p, r->a.ptr, part.ptr, (size[p].rows + 1) * (int64_t)sizeof *part.ptr);
        if (c->rank == 0) {
            place_lengths(size[p].rows, place, &part, whole);
        }
    }
    if (status == CS_OK && c->rank == 0) cs_starts(whole->rows, whole->ptr);
    for (int p = 0; status == CS_OK && p < c->ranks; ++p) {
        cs_comm_bring(c, p, index, place, size[p].rows * (int64_t)sizeof *place);
        cs_comm_bring(c, p, r->a.col, part.col, size[p].nnz * (int64_t)sizeof *part.col);
        cs_comm_bring(c, p, r->a.val, part.val, size[p].nnz * (int64_t)sizeof *part.val);
        if (c->rank == 0) {
            place_entries(size[p].rows, place, &part, whole);
        }
    }
    cs_csr_free(&part);
    cs_pool_free(&pool);
    return status;
}

bool cs_ranked_has_memory(const cs_ranked *r, cs_spectrum *s)
{
    cs_comm *c = r->comm;
    double sides = (double)r->length + (double)r->width, half = (double)cs_mem_available() / 2;
    double bytes =
        cs_inertia_bytes(sides, (double)r->nnz) + 24 * (double)r->nnz + 16 * (double)s->k * sides;
    bool fits = half <= 0 || bytes <= half; /* rank 0 decides */
    if (!fits) {
        cs_certificate_why(&s->cert.inertia, CS_CERT_NOT_RUN,
                           "rank 0 would have to store the whole matrix and its vectors, %.3g GB, "
                           "above half of its free memory, %.3g GB",
                           bytes / 1e9, half / 1e9);
    }
    cs_comm_spread(c, &fits, sizeof fits);
    cs_comm_spread(c, &s->cert.inertia, sizeof s->cert.inertia);
    return fits;
}

cs_status cs_ranked_inertia(const cs_ranked *r, const cs_shard *shard,
                            const cs_spectrum_options *options, const cs_certificate_facts *facts,
                            cs_spectrum *s)
{
    cs_comm *c = r->comm;
    cs_csr whole = {0}, turned = {0};
    cs_status status = gather_matrix(r, shard->index, &whole);
    if (status != CS_OK) {
        cs_csr_free(&whole);
        return status;
    }
    if (c->rank == 0 && shard->transposed) {
        status = cs_csr_transpose(&whole, &turned);
        cs_csr_free(&whole);
        whole = turned;
    }
    if (c->rank == 0 && status == CS_OK) status = cs_certificate_inertia(&whole, options, facts, s);
    cs_csr_free(&whole);
    status = cs_comm_agree(c, status);
    if (status == CS_OK) cs_comm_spread(c, &s->cert.inertia, sizeof s->cert.inertia);
    return status;
}
