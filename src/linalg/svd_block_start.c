/* The start of the block solver: panels for its basis, a power of two for the operator's scale, and
 * the first block.
 *
 * The random-start probe: is a singular value above all that are known missing from them?
 *
 * Bound. Let B >= 0 be the deflated Gram operator, s^2 = L its largest eigenvalue with unit
 * eigenvector z, and X a block of b columns of independent standard normal entries; only what is
 * orthogonal to V counts, n dimensions at most. g = X^T z and x = X g / |g| is in the Krylov
 * space's first block; z^T x = |g|, and the rest of x is standard normal, independent of |g|.
 * Suppose the largest Ritz value is at most c = (1 - eps) L. Then x^T p(B) (B - c) p(B) x <= 0 for
 * every polynomial p of degree q - 1, that is
 *
 *   (L - c) p(L)^2 |g|^2 <= sum over eigenvalues t < c of (c - t) p(t)^2 x_t^2.
 *
 * Take p(t) = T_{2q-1}(y) / y with y^2 = 1 - t / c, T the Chebyshev polynomial (odd, so p is a
 * polynomial in y^2). On [0, c]: (c - t) p^2 = c T^2 <= c. At L, y is imaginary: (L - c) p^2 = c
 * sinh^2((2q - 1) atanh(sqrt(eps))) = c M^2. Hence |g|^2 M^2 <= |x_rest|^2, and
 * |g|^2 / (|g|^2 + |x_rest|^2) has the distribution Beta(b / 2, (n - 1) / 2): the probability is at
 * most that of a value below 1 / (1 + M^2), and that at most y^a / (a B(a, d)), y = 1 / (1 + M^2),
 * a = b / 2, d = (n - 1) / 2, where d >= 1. For b = 1 this is the bound of Kuczynski & Wozniakowski
 * (SIAM J. Matrix Anal. Appl. 13, 1992, Theorem 4.2) with smaller constants.
 *
 * Stopping early. Where only values above 1.01 x matter for a known x, L >= (1.01 x)^2, and at each
 * step q the largest Ritz value c itself gives M_q = sinh((2q - 1) atanh(sqrt(1 - c / (1.01 x)^2)))
 * with |g|^2 M_q^2 <= |x_rest|^2. The probe stops as soon as M_q reaches the M of the probability
 * wanted: whichever q that is, what escapes is the one event |g|^2 M^2 <= |x_rest|^2, so that
 * looking at every step costs no probability; and the value that is not there, `reach`, is the
 * square root of c over 1 - tanh^2(asinh(M) / (2q - 1)), at most 1.01 x. Where the spectrum thins
 * out below x this comes long before the last step; Ritz values that grow towards x delay it up to
 * there.
 *
 * For n < 3 the bound is taken at n = 3: fewer dimensions leave more of x to g.
 *
 * When the recurrence breaks down, the space is invariant and the largest value in it is missed
 * with probability 0.
 *
 * It assumes a block of independent normal entries, drawn without a look at the matrix (a seed
 * tried until the probe passes is another experiment), columns of V orthonormal, and a recurrence
 * whose rounding is far below the distance of c from L: both passes of the orthogonalisation and
 * Ritz values of inner products see to that. Nothing is assumed of the eigenvalues. */
#include <math.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "linalg/svd_block_private.h"

enum { B = CS_BLOCK };

static const double ALLOWED_FAILURE = 1e-6;
enum { FIRST_LOOK = 4 }; /* steps before no bound is reached */

double cs_probe_failure(int64_t n, int columns, int64_t steps, double ratio)
{
    double m = sinh((2 * (double)steps - 1) * atanh(sqrt(1 - 1 / (ratio * ratio))));
    double a = 0.5 * columns, d = fmax(0.5 * (double)(n - 1), 1);
    double log_beta = lgamma(a) + lgamma(d) - lgamma(a + d);
    return fmin(1, exp(-a * log1p(m * m) - log(a) - log_beta));
}

int64_t cs_probe_steps(int64_t n, bool direct)
{
    const double ratio = direct ? sqrt(CS_PROBE_RATIO) : CS_PROBE_RATIO; /* of roots */
    int64_t steps = 1;
    int active = n < B ? (int)n : B;
    while (steps * B < n && cs_probe_failure(n, active, steps, ratio) > ALLOWED_FAILURE) {
        ++steps;
    }
    return steps;
}

/* V into panels of the basis, which the Ritz values leave out. */
static cs_status lock(cs_krylov *k, const cs_dense *v)
{
    cs_status status = CS_OK;
    for (int64_t first = 0; status == CS_OK && first < v->cols; first += B) {
        int64_t count = v->cols - first < B ? v->cols - first : B;
        cs_panel *panel = NULL;
        status = k->space->create(k->space, CS_RIGHT, &panel);
        if (status == CS_OK) {
            status = k->space->put(k->space, v, first, count, panel);
            cs_basis_append(&k->v, &panel, (int)count);
        }
    }
    return status;
}

/* The least ratio, from 1.01 on, that `taken` steps distinguish with this probability, to 1e-12. */
static double ratio_distinguished(int64_t n, int columns, int64_t taken, double failure)
{
    double low = CS_PROBE_RATIO, high = CS_PROBE_RATIO;
    while (cs_probe_failure(n, columns, taken, high) > failure) {
        low = high;
        high *= 2;
    }
    while (high - low > 1e-12 * high) {
        double middle = 0.5 * (low + high);
        if (cs_probe_failure(n, columns, taken, middle) > failure) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

/* At most `steps`; *ritz: of the last one. */
static cs_status run_steps(cs_krylov *k, int64_t locked, int64_t steps, double bound, cs_ritz *ritz,
                           cs_probe *out)
{
    bool enough = false;
    int64_t n = k->space->cols, taken = 0;
    int active = k->next_active;
    double full = cs_probe_failure(n, active, steps, CS_PROBE_RATIO);
    double wanted = fmin(full, ALLOWED_FAILURE);
    cs_status status = CS_OK;
    while (status == CS_OK && !enough && taken < steps && k->next_active > 0) {
        status = cs_krylov_step(k);
        taken += 1;
        if (status != CS_OK || bound == 0 || taken < FIRST_LOOK || taken == steps) continue;
        cs_ritz_free(ritz);
        status = cs_krylov_ritz(k, locked, ritz);
        if (status == CS_OK) {
            double seen = ritz->value[0];
            enough = seen <= bound &&
                     cs_probe_failure(n, active, taken, CS_PROBE_RATIO * bound / seen) <= wanted;
        }
    }
    if (status == CS_OK && !enough && taken > 0) {
        cs_ritz_free(ritz);
        status = cs_krylov_ritz(k, locked, ritz);
    }
    if (status != CS_OK) return status;
    *out = (cs_probe){.value = ritz->value ? ritz->value[0] : 0};
    out->reach = out->value;
    if (k->next_active > 0) {
        out->failure = enough ? wanted : full;
        out->reach *= enough ? ratio_distinguished(n, active, taken, wanted) : CS_PROBE_RATIO;
    }
    return CS_OK;
}

/* Panels of the probe's basis: the k known columns, one for each step, and the block after the last
 * of them. */
static int64_t probe_panels(int64_t k, int64_t n)
{
    return (k + B - 1) / B + cs_probe_steps(n, false) + 1;
}

cs_status cs_svd_probe_space(cs_space *space, const cs_dense *v, double bound, uint64_t seed,
                             cs_probe *out)
{
    int64_t steps = cs_probe_steps(space->cols, false), locked = (v->cols + B - 1) / B;
    CS_AUTO(cs_krylov) k = {0};
    CS_AUTO(cs_ritz) ritz = {0};
    cs_threads_blas_hold(true); /* its bits depend on its threads */
    *out = (cs_probe){0};
    cs_status status = cs_krylov_open(space, false, probe_panels(v->cols, space->cols), seed, &k);
    status = status ? status : lock(&k, v);
    k.blocks = (uint64_t)1 << 32; /* apart from the solver's */
    status = status ? status : cs_krylov_fresh(&k);
    status = status ? status : run_steps(&k, locked, steps, bound, &ritz, out);
    cs_threads_blas_hold(false);
    return status;
}

cs_status cs_svd_probe(const cs_linop *a, const cs_dense *v, double bound, uint64_t seed,
                       int threads, cs_probe *out)
{
    CS_AUTO_BY(cs_space_cpu_free, cs_space) space = {0};
    *out = (cs_probe){0};
    cs_status status = cs_space_cpu(a, threads, &space);
    return status ? status : cs_svd_probe_space(&space, v, bound, seed, out);
}

static const double NORMAL_RANGE = 1e60;

int64_t cs_svd_block_columns(int64_t k, int64_t n, bool direct)
{
    const int64_t run = k + B * (cs_probe_steps(n, direct) + 2); /* a fresh block's, no restart */
    return (cs_least(cs_most(6 * k, run), n) + B - 1) / B * B + CS_BLOCK_SPARE * B;
}

/* Of the projected matrix, and of the eigenproblem of as much of it as is not locked: a copy and the
 * workspace of two. */
static double projected_bytes(double columns, double locked)
{
    const double rest = columns - locked;
    return sizeof(double) * (columns * columns + 3 * rest * rest);
}

double cs_svd_block_bytes(int64_t k, int64_t n, int64_t memory, double left, double right)
{
    double columns = (double)cs_svd_block_columns(k, n, false);
    if (memory > 0) columns = fmin(columns, (double)memory / (sizeof(double) * fmax(right, 1)));
    /* In addition to the basis: the next block, the one after it, and A times a block. */
    return sizeof(double) * (columns * right + B * (2 * right + left)) +
           projected_bytes(columns, 0);
}

double cs_svd_probe_bytes(int64_t k, int64_t n, double left, double right)
{
    const double panels = (double)probe_panels(k, n);
    return sizeof(double) * B * (panels * right + left) + projected_bytes(panels * B, (double)k);
}

cs_status cs_krylov_capacity(const cs_space *space, const cs_svd_options *o, bool bidiagonal,
                             int64_t *capacity)
{
    int64_t k = o->k, n = space->cols;
    const int64_t most = cs_svd_block_columns(k, n, space->semidefinite && !bidiagonal) / B;
    int64_t memory = o->memory > 0 ? o->memory : cs_mem_quarter((int64_t)4 << 30);
    int64_t length = bidiagonal ? space->rows + n : n;
    int64_t fit = memory / (int64_t)sizeof(double) / B / cs_most(length, 1);
    const int64_t least = (k + B - 1) / B + CS_BLOCK_SPARE;
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
