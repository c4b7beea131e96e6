/* The start of the block solver: panels for its basis, a power of two for the operator's scale, and
 * the first block.
 */
#include <math.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/svd_block_private.h"

enum { B = CS_BLOCK };

static const double NORMAL_RANGE = 1e60;

cs_status cs_krylov_capacity(const cs_space *space, const cs_svd_options *o, bool bidiagonal,
                             int64_t *capacity)
{
    int64_t k = o->k, n = space->cols;
    const bool direct = space->semidefinite && !bidiagonal;
    int64_t run = k + B * (cs_probe_steps(n, direct) + 2); /* a fresh block's, without a restart */
    int64_t columns = cs_least(cs_most(6 * k, run), n);
    int64_t memory = o->memory > 0 ? o->memory : cs_mem_quarter((int64_t)4 << 30);
    int64_t length = bidiagonal ? space->rows + n : n;
    int64_t fit = memory / (int64_t)sizeof(double) / B / cs_most(length, 1);
    int64_t most = (columns + B - 1) / B + CS_BLOCK_SPARE, least = (k + B - 1) / B + CS_BLOCK_SPARE;
    /* Blocks that are not full may make more panels than columns of them. */
    if (fit < least) {
        return cs_fail(
            CS_ERR_MEMORY,
            "a basis for %lld triplets of %lld x %lld needs %lld bytes, but the limit is %lld",
            (long long)k, (long long)space->rows, (long long)n,
            (long long)(least * B * length * (int64_t)sizeof(double)), (long long)memory);
    }
    *capacity = cs_least(most, fit);
    return CS_OK;
}

cs_status cs_krylov_find_scale(cs_krylov *k, bool *zero)
{
    double g[CS_SQUARE], data[CS_SQUARE] = {0}, largest = 0, factor = 1;
    cs_dense c = {.rows = B, .cols = B, .ld = B, .data = data};
    cs_panel *y = k->half;
    cs_status status = CS_OK;
    static const int power[] = {0, -510, 510};
    for (int t = 0; status == CS_OK && t < 3; ++t) {
        factor = ldexp(1, power[t]);
        status = k->space->apply(k->space, k->next, y);
        for (int j = 0; j < B; ++j) {
            data[j + j * B] = factor;
        }
        status = status || t == 0 ? status : k->space->rotate(k->space, 1, 1, &y, &c);
        status = status ? status : k->space->gram(k->space, 1, &y, y, g);
        largest = 0;
        for (int j = 0; status == CS_OK && j < B; ++j) {
            largest = g[j * B + j] <= largest ? largest : g[j * B + j]; /* NaN stays */
        }
        k->applications += B;
        if (isfinite(largest) && largest > 0) {
            break;
        }
    }
    if (status == CS_OK && !isfinite(largest))
        return cs_fail(CS_ERR_INPUT, "the operator of %lld x %lld returns a vector of norm %g",
                       (long long)k->space->rows, (long long)k->space->cols, sqrt(largest));
    *zero = largest == 0;
    double norm = sqrt(largest) / factor;
    if (!*zero && (norm > NORMAL_RANGE || norm < 1 / NORMAL_RANGE)) {
        k->scale = ldexp(1, ilogb(sqrt(largest))) / factor;
    }
    return status;
}

cs_status cs_krylov_first(cs_krylov *k, const cs_dense *guess)
{
    cs_status status = cs_krylov_fresh(k);
    if (status != CS_OK || !guess) return status;
    double r[CS_SQUARE], c[CS_SQUARE], identity[CS_SQUARE] = {0}, g[CS_SQUARE];
    cs_panel *part = NULL;
    double norm = 0;
    for (int j = 0; j < B; ++j) {
        identity[j * B + j] = 1e-3;
    }
    /* The noise first: the fresh block scaled, then the guess on top. */
    status = k->space->create(k->space, CS_RIGHT, &part);
    for (int64_t first = 0; status == CS_OK && first < guess->cols; first += B) {
        int64_t count = cs_least(guess->cols - first, B);
        cs_rng rng = cs_rng_at(k->seed, CS_STREAM_SOLVER, ((uint64_t)1 << 62) + (uint64_t)first);
        status = k->space->put(k->space, guess, first, count, part);
        status = status ? status : k->space->gram(k->space, 1, &part, part, g);
        for (int l = 0; l < B; ++l) {
            double length = sqrt(g[l * B + l]);
            if (!isfinite(length)) {
                status = cs_fail(CS_ERR_INPUT, "start vector %lld has norm %g",
                                 (long long)(first + l), length);
                break;
            }
            norm = fmax(norm, length);
            for (int j = 0; j < B; ++j) {
                double normal = cs_rng_normal(&rng);
                c[l * B + j] = length > 0 && j < k->next_active ? normal / length : 0;
            }
        }
        if (status == CS_OK && first == 0) {
            cs_dense scaled = {.rows = B, .cols = B, .ld = B, .data = identity};
            status = k->space->rotate(k->space, 1, 1, &k->next, &scaled);
        }
        status = status ? status : k->space->combine(k->space, 1, &part, c, true, k->next);
    }
    k->space->destroy(part);
    return status ? status : cs_basis_orthonormalise(&k->v, 0, k->next, r, &k->next_active);
}
