/* The block solver's vectors over the ranks: every operation but three is that of the space in
 * memory on this rank's rows. The products are the group's, inner products are added over the
 * ranks, and random numbers come from a stream for each rank, since two ranks that drew the same
 * would make vectors that repeat.
 */
#include "base/mem.h"
#include "mpi/ranked.h"

typedef struct {
    cs_ranked *r;
    cs_space inside; /* of r->op */
    int64_t held[2];
} shared;

static cs_space *inside(cs_space *s)
{
    return &((shared *)s->ctx)->inside;
}

static cs_status create(cs_space *s, cs_side side, cs_panel **out)
{
    return inside(s)->create(inside(s), side, out);
}

static cs_status random_panel(cs_space *s, uint64_t seed, uint64_t index, cs_panel *x)
{
    const cs_comm *c = ((shared *)s->ctx)->r->comm;
    return inside(s)->random(inside(s), seed, index * (uint64_t)c->ranks + (uint64_t)c->rank, x);
}

static cs_status apply(cs_space *s, const cs_panel *x, cs_panel *y)
{
    return inside(s)->apply(inside(s), x, y);
}

static cs_status gram(cs_space *s, int64_t p, cs_panel *const *panels, const cs_panel *w, double *h)
{
    cs_status status = inside(s)->gram(inside(s), p, panels, w, h);
    int64_t square = (int64_t)s->block * s->block;
    return status ? status : cs_comm_sum(((shared *)s->ctx)->r->comm, p * square, h);
}

static cs_status combine(cs_space *s, int64_t p, cs_panel *const *panels, const double *c,
                         bool keep, cs_panel *w)
{
    return inside(s)->combine(inside(s), p, panels, c, keep, w);
}

static cs_status rotate(cs_space *s, int64_t p, int64_t q, cs_panel *const *panels,
                        const cs_dense *c)
{
    return inside(s)->rotate(inside(s), p, q, panels, c);
}

static cs_status get(cs_space *s, const cs_panel *x, int64_t count, int64_t first, cs_dense *to)
{
    return inside(s)->get(inside(s), x, count, first, to);
}

static cs_status put(cs_space *s, const cs_dense *from, int64_t first, int64_t count, cs_panel *x)
{
    return inside(s)->put(inside(s), from, first, count, x);
}

cs_status cs_ranked_space(cs_ranked *r, cs_space *out)
{
    shared *ctx = cs_calloc(1, sizeof *ctx);
    if (!ctx) {
        return CS_ERR_MEMORY;
    }
    cs_status status = cs_space_cpu(&r->op, r->threads, &ctx->inside);
    if (status != CS_OK) {
        cs_free(ctx);
        return status;
    }
    ctx->r = r;
    ctx->held[CS_LEFT] = r->held;
    ctx->held[CS_RIGHT] = r->slice;
    *out = (cs_space){.rows = r->length,
                      .cols = r->width,
                      .block = ctx->inside.block,
                      .ctx = ctx,
                      .held = ctx->held,
                      .create = create,
                      .destroy = ctx->inside.destroy,
                      .random = random_panel,
                      .apply = apply,
                      .gram = gram,
                      .combine = combine,
                      .rotate = rotate,
                      .get = get,
                      .put = put};
    return CS_OK;
}

void cs_ranked_space_free(cs_space *space)
{
    if (space->ctx) {
        cs_space_cpu_free(inside(space));
        cs_free(space->ctx);
    }
    *space = (cs_space){0};
}
