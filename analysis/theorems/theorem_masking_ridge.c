/* Masking is a ridge: what linear prediction from masked inputs learns, in expectation over masks.
 *
 * Sequences. A text has s vectors h_1..h_s. A mask shows m of them, each set S with the same
 * probability, and W predicts each hidden h_k from the sum b_S of those shown. With b the sum of all
 * and sums over texts, A = sum b b^T, D = sum h_i h_i^T and C = A - D,
 *
 *     argmin_W E |W^T b_S - h_k|^2 = (A + lambda D)^-1 C / (m - 1),    lambda = (s - m) / (m - 1),
 *
 * since P(i, j in S) = (m / s) (m - 1) / (s - 1) for i != j, and m / s for i = j. So the mask ratio is the
 * strength of a ridge in the metric of D.
 *
 * Coordinates. Each entry of x is hidden with probability p, by itself, and w predicts y from what is
 * left. With D the diagonal of X^T X,
 *
 *     argmin_w E |w^T (x o r) - y|^2 = (X^T X + lambda D)^-1 X^T y / (1 - p),    lambda = p / (1 - p)
 *
 * (Bishop, Neural Computation 7, 1995; Wager, Wang and Liang, NeurIPS 2013, of dropout). So a ratio
 * drawn at random from a distribution gives the weights of one fixed ratio, 1 - E[q^2] / E[q] with
 * q = 1 - p, and p -> 0 the solution of least norm |D^(1/2) w| where there are several.
 *
 * Each side is computed by itself: by a sum over all masks and the Cholesky factor of its normal
 * equations; by QR of the unmasked data with the rows of the ridge appended. The examples have
 * random data, whose sizes allow every mask to be visited. */
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/theorems/registry.h"
#include "base/auto.h"
#include "base/rng.h"
#include "linalg/dense.h"

enum { TEXTS = 7, PLACES = 6, WIDTH = 5, FEW = 4, COLUMNS = 6, NODES = 4, MOST_ROWS = 64 };

/* --- least squares ------------------------------------------------------------------------------- */

/* X of (gram) X = right, both in place; k x k and k x m, column-major. */
static cs_status solve_normal(int k, int m, double *gram, double *right)
{
    return LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', k, m, gram, k, right, k) == 0
               ? CS_OK
               : cs_fail(CS_ERR_CONVERGE, "normal equations of %d columns are singular", k);
}

/* min |Z X - Y| by QR: z is rows x k and y rows x m, both destroyed; X in the first k rows of y.
 * *condition: the square of the condition of Z. */
static cs_status solve_qr(int rows, int k, int m, double *z, double *y, double *condition)
{
    double sigma[WIDTH + COLUMNS], copy[MOST_ROWS * COLUMNS];
    memcpy(copy, z, (size_t)(rows * k) * sizeof *copy);
    cs_dense a = {.rows = rows, .cols = k, .ld = rows, .data = copy};
    cs_status status = cs_dense_svd(&a, sigma, NULL, NULL);
    if (status != CS_OK) return status;
    *condition = sigma[0] * sigma[0] / (sigma[k - 1] * sigma[k - 1]);
    return LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', rows, k, m, z, rows, y, rows) == 0
               ? CS_OK
               : cs_fail(CS_ERR_CONVERGE, "least squares of %d columns are singular", k);
}

/* |x - y| / |y| of `count` numbers; y in columns of `ld`. */
static double relative(int rows, int cols, const double *x, const double *y, int ld)
{
    double difference = 0, size = 0;
    for (int j = 0; j < cols; ++j) {
        for (int i = 0; i < rows; ++i) {
            const double d = x[i + j * rows] - y[i + j * ld];
            difference += d * d;
            size += y[i + j * ld] * y[i + j * ld];
        }
    }
    return sqrt(difference / size);
}

/* --- sequences ----------------------------------------------------------------------------------- */

typedef struct {
    double h[TEXTS][PLACES][WIDTH];
} texts;

static void add_outer(const double *x, const double *y, double weight, double *out)
{
    for (int j = 0; j < WIDTH; ++j) {
        for (int i = 0; i < WIDTH; ++i) {
            out[i + j * WIDTH] += weight * x[i] * y[j];
        }
    }
}

static void sum_of(const texts *t, int text, int mask, double b[WIDTH])
{
    memset(b, 0, WIDTH * sizeof *b);
    for (int i = 0; i < PLACES; ++i) {
        for (int c = 0; c < WIDTH && mask >> i & 1; ++c) {
            b[c] += t->h[text][i][c];
        }
    }
}

/* The weights from all masks with m shown; every hidden vector counts once. */
static cs_status by_masks(const texts *t, int m, double *w)
{
    double gram[WIDTH * WIDTH] = {0}, b[WIDTH];
    memset(w, 0, WIDTH * WIDTH * sizeof *w);
    for (int text = 0; text < TEXTS; ++text) {
        for (int mask = 0; mask < 1 << PLACES; ++mask) {
            if (__builtin_popcount((unsigned)mask) != m) continue;
            sum_of(t, text, mask, b);
            for (int k = 0; k < PLACES; ++k) {
                if (mask >> k & 1) continue;
                add_outer(b, b, 1, gram);
                add_outer(b, t->h[text][k], 1, w);
            }
        }
    }
    return solve_normal(WIDTH, WIDTH, gram, w);
}

/* The ridge as data: rows b with target b, and sqrt(lambda) h with target -h / sqrt(lambda). */
static cs_status by_ridge(const texts *t, int m, double *w, int *ld, double *condition)
{
    enum { ROWS = TEXTS * (1 + PLACES) };
    double z[ROWS * WIDTH];
    const double root = sqrt((double)(PLACES - m) / (m - 1));
    for (int text = 0, row = 0; text < TEXTS; ++text) {
        double b[WIDTH];
        sum_of(t, text, (1 << PLACES) - 1, b);
        for (int i = -1; i < PLACES; ++i, ++row) {
            for (int c = 0; c < WIDTH; ++c) {
                z[row + c * ROWS] = i < 0 ? b[c] : root * t->h[text][i][c];
                w[row + c * ROWS] = (i < 0 ? b[c] : -t->h[text][i][c] / root) / (m - 1);
            }
        }
    }
    *ld = ROWS;
    return solve_qr(ROWS, WIDTH, WIDTH, z, w, condition);
}

static cs_status of_sequences(uint64_t seed, cs_statements *out)
{
    texts t;
    cs_rng rng = cs_rng_at(seed, CS_STREAM_AUDIT, 0);
    cs_status status = CS_OK;
    for (double *x = &t.h[0][0][0]; x < &t.h[0][0][0] + TEXTS * PLACES * WIDTH; ++x) {
        *x = cs_rng_normal(&rng);
    }
    for (int m = 2; m < PLACES && status == CS_OK; ++m) {
        double masked[WIDTH * WIDTH], ridge[MOST_ROWS * WIDTH], condition = 0;
        char input[96];
        int ld = 0;
        status = by_masks(&t, m, masked);
        if (status == CS_OK) status = by_ridge(&t, m, ridge, &ld, &condition);
        (void)snprintf(input, sizeof input, "%d texts of %d vectors of width %d, %d shown", TEXTS,
                       PLACES, WIDTH, m);
        if (status != CS_OK) return status;
        cs_statement *s = cs_statements_claim(
            out, &(cs_claim){"masking-ridge", CS_CORRECTED, CS_RELATION_EQUAL,
                             "|W of all masks - (A + lambda D)^-1 C / (m - 1)| / |W| = 0, lambda = "
                             "(s - m) / (m - 1)",
                             input, relative(WIDTH, WIDTH, masked, ridge, ld), 0,
                             64 * WIDTH * DBL_EPSILON * condition});
        cs_statement_reals(s, 2,
                           (cs_detail[]){{"mask_ratio", 1 - m / (double)PLACES},
                                         {"penalty", (PLACES - m) / (m - 1.0)}});
    }
    return status;
}

/* --- coordinates --------------------------------------------------------------------------------- */

typedef struct {
    int rows;
    double x[COLUMNS * 2][COLUMNS], y[COLUMNS * 2];
} samples;

static void draw(uint64_t seed, int rows, samples *d)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_AUDIT, (uint64_t)rows);
    d->rows = rows;
    for (int i = 0; i < rows; ++i) {
        d->y[i] = cs_rng_normal(&rng);
        for (int c = 0; c < COLUMNS; ++c) {
            d->x[i][c] = (c + 1) * cs_rng_normal(&rng); /* columns of unequal size */
        }
    }
}

/* Gauss and Legendre on [-1, 1]: exact for polynomials of degree 7, and a mask has degree 6. */
static const double NODE[NODES] = {-0.86113631159405257522, -0.33998104358485626480,
                                   0.33998104358485626480, 0.86113631159405257522},
                    WEIGHT[NODES] = {0.34785484513745385737, 0.65214515486254614263,
                                     0.65214515486254614263, 0.34785484513745385737};

/* The probability of one mask that hides `hidden` entries at a ratio uniform on [low, high]. */
static double probability(int hidden, double low, double high)
{
    double sum = 0;
    for (int i = 0; i < NODES; ++i) {
        const double p = (low + high) / 2 + (high - low) / 2 * NODE[i];
        sum += WEIGHT[i] / 2 * pow(p, hidden) * pow(1 - p, COLUMNS - hidden);
    }
    return sum;
}

static cs_status by_all_masks(const samples *d, double low, double high, double *w)
{
    double gram[COLUMNS * COLUMNS] = {0};
    memset(w, 0, COLUMNS * sizeof *w);
    for (int mask = 0; mask < 1 << COLUMNS; ++mask) {
        const double of = probability(COLUMNS - __builtin_popcount((unsigned)mask), low, high);
        for (int i = 0; i < d->rows; ++i) {
            for (int a = 0; a < COLUMNS; ++a) {
                if (!(mask >> a & 1)) continue;
                w[a] += of * d->x[i][a] * d->y[i];
                for (int b = 0; b < COLUMNS; ++b) {
                    gram[a + b * COLUMNS] += mask >> b & 1 ? of * d->x[i][a] * d->x[i][b] : 0;
                }
            }
        }
    }
    return solve_normal(COLUMNS, 1, gram, w);
}

static double column_norm(const samples *d, int c)
{
    double sum = 0;
    for (int i = 0; i < d->rows; ++i) {
        sum += d->x[i][c] * d->x[i][c];
    }
    return sqrt(sum);
}

/* Ridge of ratio p: the rows of X, and sqrt(lambda) |x_c| e_c with target 0. */
static cs_status by_data(const samples *d, double p, double *w, double *condition)
{
    const int rows = d->rows + COLUMNS;
    double z[MOST_ROWS * COLUMNS] = {0}, y[MOST_ROWS] = {0};
    for (int c = 0; c < COLUMNS; ++c) {
        for (int i = 0; i < d->rows; ++i) {
            z[i + c * rows] = d->x[i][c];
            y[i] = d->y[i] / (1 - p);
        }
        z[d->rows + c + c * rows] = sqrt(p / (1 - p)) * column_norm(d, c);
    }
    cs_status status = solve_qr(rows, COLUMNS, 1, z, y, condition);
    memcpy(w, y, COLUMNS * sizeof *w);
    return status;
}

static cs_status compare(const samples *d, double low, double high, const char *id,
                         const char *text, cs_statements *out)
{
    double masked[COLUMNS], ridge[COLUMNS], condition = 0;
    const double q = 1 - (low + high) / 2, width = high - low, square = q * q + width * width / 12,
                 p = 1 - square / q;
    char input[96];
    cs_status status = by_all_masks(d, low, high, masked);
    if (status == CS_OK) status = by_data(d, p, ridge, &condition);
    if (status != CS_OK) return status;
    (void)snprintf(input, sizeof input, "%d rows of %d entries, mask ratio %g to %g", d->rows,
                   COLUMNS, low, high);
    cs_statement *s =
        cs_statements_claim(out, &(cs_claim){id, CS_CORRECTED, CS_RELATION_EQUAL, text, input,
                                             relative(COLUMNS, 1, masked, ridge, COLUMNS), 0,
                                             64 * COLUMNS * DBL_EPSILON * condition});
    cs_statement_reals(s, 2, (cs_detail[]){{"fixed_ratio", p}, {"penalty", p / (1 - p)}});
    return status;
}

/* p -> 0 with fewer rows than columns. With the singular values s of Z = X D^(-1/2), the factor
 * (1 + lambda) s / (s^2 + lambda) of the ridge differs from 1 / s by lambda |s^2 - 1| / (s^2 + lambda)
 * of it. */
static cs_status limit(const samples *d, cs_statements *out)
{
    const double p = 1e-4, lambda = p / (1 - p);
    double masked[COLUMNS], z[FEW * COLUMNS], sigma[FEW], u[FEW * FEW], vt[FEW * COLUMNS],
        bound = 0, difference = 0, size = 0;
    cs_status status = by_all_masks(d, p, p, masked);
    for (int c = 0; c < COLUMNS; ++c) {
        for (int i = 0; i < FEW; ++i) {
            z[i + c * FEW] = d->x[i][c] / column_norm(d, c);
        }
    }
    cs_dense a = {FEW, COLUMNS, FEW, z}, left = {FEW, FEW, FEW, u}, right = {FEW, COLUMNS, FEW, vt};
    if (status == CS_OK) status = cs_dense_svd(&a, sigma, &left, &right);
    for (int c = 0; c < COLUMNS && status == CS_OK; ++c) {
        double least = 0;
        for (int j = 0; j < FEW; ++j) {
            double along = 0;
            for (int i = 0; i < FEW; ++i) {
                along += u[i + j * FEW] * d->y[i];
            }
            least += vt[j + c * FEW] * along / sigma[j];
        }
        const double v = masked[c] * column_norm(d, c);
        difference += (v - least) * (v - least);
        size += least * least;
    }
    for (int j = 0; j < FEW && status == CS_OK; ++j) {
        const double s = sigma[j] * sigma[j];
        bound = fmax(bound, lambda * fabs(s - 1) / (s + lambda));
    }
    if (status == CS_OK)
        cs_statements_claim(
            out,
            &(cs_claim){"masking-ridge-limit", CS_CORRECTED, CS_RELATION_AT_MOST,
                        "|v - v_0| / |v_0| <= lambda max |s^2 - 1| / (s^2 + lambda): w tends to "
                        "the interpolation of least |D^(1/2) w|",
                        "4 rows of 6 entries, mask ratio 1e-4", sqrt(difference / size), bound,
                        256 * COLUMNS * DBL_EPSILON / lambda});
    return status;
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    static const double fixed[] = {0.15, 0.3, 0.5, 0.75, 0.9},
                        drawn[][2] = {{0.15, 0.3}, {0.5, 0.9}, {0, 1}};
    cs_statements *list = &report->statements;
    const int64_t first = list->count;
    samples many, few;
    draw(in->seed, 2 * COLUMNS, &many);
    draw(in->seed, FEW, &few);
    cs_status status = of_sequences(in->seed, list);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed && status == CS_OK; ++i) {
        status =
            compare(&few, fixed[i], fixed[i], "masking-ridge-entries",
                    "|w of all masks - (X^T X + lambda D)^-1 X^T y / (1 - p)| / |w| = 0, lambda "
                    "= p / (1 - p)",
                    list);
    }
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn && status == CS_OK; ++i) {
        status =
            compare(&many, drawn[i][0], drawn[i][1], "masking-ridge-random",
                    "a ratio uniform on [a, b] has the weights of the fixed ratio 1 - E[q^2] / "
                    "E[q], q = 1 - p",
                    list);
    }
    if (status == CS_OK) status = limit(&few, list);
    cs_statements_mark(list, first);
    return status == CS_OK ? cs_statements_status(list) : status;
}

const cs_theorem cs_entry_masking_ridge = {
    .id = "masking-ridge",
    .about = "masking-ridge is about linear prediction, on built-in examples",
    .paper = "R2MAE",
    .corrected_words = "linear: the mask ratio is the strength of a ridge",
    .corrected = "linear prediction from masked inputs is a ridge regression, in expectation over "
                 "masks; a random ratio is a fixed one",
    .run = {[CS_ON_NOTHING] = on_nothing}};
