/* Certificates of a spectrum whose vectors are shared out: what they take of the matrix is found
 * over the ranks, and judged as in one process. Inertia is in ranked_inertia.c.
 */
#include "base/mem.h"
#include "mpi/ranked.h"

/* Most entries of a row or a column, of all. */
static cs_status longest_line(cs_ranked *r, int64_t *out)
{
    double *column = cs_alloc(r->width, sizeof *column);
    cs_status status = column ? CS_OK : CS_ERR_MEMORY;
    int64_t most = 0;
    for (int64_t i = 0; i < r->held; ++i) {
        most = r->a.ptr[i + 1] - r->a.ptr[i] > most ? r->a.ptr[i + 1] - r->a.ptr[i] : most;
    }
    for (int64_t j = 0; status == CS_OK && j < r->width; ++j) {
        column[j] = (double)(r->at.ptr[j + 1] - r->at.ptr[j]);
    }
    status = status ? status : cs_comm_sum(r->comm, r->width, column);
    status = status ? status : cs_comm_least(r->comm, -most, out);
    *out = -*out;
    for (int64_t j = 0; status == CS_OK && j < r->width; ++j) {
        *out = (int64_t)column[j] > *out ? (int64_t)column[j] : *out;
    }
    cs_free(column);
    return status;
}

cs_status cs_ranked_certify(cs_ranked *r, const cs_spectrum_options *o, cs_certificate_facts *facts,
                            cs_spectrum *s)
{
    cs_space space = {0};
    bool deflated = r->deflated;
    *facts =
        (cs_certificate_facts){.complete = s->rank >= 0, .perron = !o->normalised, .rank = r->rank};
    s->probe_failure = 1;
    cs_status status = cs_ranked_moments(r, o, &s->v, s);
    if (status == CS_OK && o->normalised && !o->no_reduction && s->k > 0) {
        status = cs_ranked_perron(r, s->sigma[0], &facts->perron);
    }
    facts->probed =
        status == CS_OK && (o->certify & CS_CERTIFY_PROBE) && !facts->complete && s->k > 0;
    status = status ? status : longest_line(r, &facts->longest);
    if (status == CS_OK && facts->probed) {
        r->deflated = false;
        status = cs_ranked_space(r, &space);
        status = status ? status
                        : cs_svd_probe_space(&space, &s->v, o->seed, &facts->probe_value,
                                             &s->probe_failure);
        cs_ranked_space_free(&space);
    }
    r->deflated = deflated;
    if (status == CS_OK) {
        cs_certificates_of(o, facts, s);
    }
    return status;
}
