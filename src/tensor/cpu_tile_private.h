/* Part of cpu_kernels.c: matrices. Panels are packed by transposes in registers; a product runs
 * over tiles of C whose sums stay in registers from the first step of k to the last.
 *
 * A tile is TILE_ROWS x TILE_COLS: 28 of AVX-512's 32 registers, two for items of B and one for an
 * item of A. If at most half of its columns are left it uses half of the vectors: heads are often
 * 16 wide, and a tile of twice as many columns would waste half of its work. */
enum {
    TILE_ROWS = CS_SIMD == 512   ? 14
                : CS_SIMD == 256 ? 6
                                 : 4,
    TILE_VECTORS = 2,
    TILE_COLS = WF * TILE_VECTORS,
    FAR = 12 * WF,
    AHEAD = 16 /* steps */
};

#if CS_SIMD == 512
#define LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif CS_SIMD == 256
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#endif

/* One perfect shuffle of the rows with their items; log2 WF of them transpose WF x WF. */
ALWAYS void shuffle_rows(const vf from[WF], vf to[WF])
{
    UNROLL
    for (int64_t i = 0; i < WF / 2; ++i) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + WF / 2], LOW);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + WF / 2], HIGH);
    }
}

ALWAYS void transpose(vf row[WF])
{
    vf other[WF];
    shuffle_rows(row, other);
    shuffle_rows(other, row);
#if CS_SIMD == 512
    shuffle_rows(row, other);
    shuffle_rows(other, row);
#elif CS_SIMD == 256
    shuffle_rows(row, other);
    memcpy(row, other, sizeof other);
#endif
}

static void pack_along(int64_t n, int64_t steps, const float *x, int64_t ld, int64_t width,
                       float *out)
{
    for (int64_t i0 = 0; i0 < width; i0 += WF) {
        for (int64_t k = 0; k < steps; k += WF) {
            vf row[WF];
            UNROLL
            for (int i = 0; i < WF; ++i) {
                row[i] = all(0.0F);
                if (i0 + i < n) {
                    row[i] = load(x + (i0 + i) * ld + k, steps - k);
                    __builtin_prefetch(x + (i0 + i) * ld + k + FAR, 0, 2);
                }
            }
            transpose(row);
            for (int i = 0; i < WF && k + i < steps;
                 ++i) { /* excess items are overwritten by the next */
                *(vf_any *)(out + (k + i) * width + i0) = row[i];
            }
        }
    }
}

static void pack_across(int64_t n, int64_t panels, int64_t steps, int64_t all_steps, const float *x,
                        int64_t ld, float *out)
{
    const int64_t least = n / panels, more = n % panels;
    const int64_t end = (steps - 1) * ld + n; /* before it, reading past n items stays within x */
    for (int64_t k = 0; k < steps; ++k) {
        float *to = out;
        for (int64_t p = 0, i = 0; p < panels; ++p) {
            const int64_t width = least + (p < more);
            for (int64_t j = 0; j < width; j += WF) {
                __builtin_prefetch(x + (k + 16) * ld + i + j, 0, 2);
                vf v = load(x + k * ld + i + j, end - k * ld - i - j);
                /* past the panel's end lie its next step, then the next panel's first */
                store(to + k * width + j, k < steps - 1 ? WF : width - j, v);
            }
            i += width;
            to += width * all_steps;
        }
    }
}

/* Adds the sums of a tile to C, then the bias, `left` columns. */
ALWAYS void put_tile(const int rows, const int vectors, const cs_cpu_small *p, const float *bias,
                     vf sum[TILE_ROWS][TILE_VECTORS], float *c, int64_t left)
{
    if (p->add) {
        UNROLL
        for (int i = 0; i < rows; ++i) {
            UNROLL
            for (int64_t j = 0; j < vectors; ++j) {
                sum[i][j] += load(c + i * p->ldc + j * WF, left - j * WF);
            }
        }
    }
    if (bias) {
        UNROLL
        for (int64_t j = 0; j < vectors; ++j) {
            vf more = load(bias + j * WF, left - j * WF);
            UNROLL
            for (int i = 0; i < rows; ++i) {
                sum[i][j] += more;
            }
        }
    }
    UNROLL
    for (int i = 0; i < rows; ++i) {
        UNROLL
        for (int64_t j = 0; j < vectors; ++j) {
            store(c + i * p->ldc + j * WF, left - j * WF, sum[i][j]);
        }
    }
}

/* Item (i, k) of A is a[i * row + k * step]; `left` columns of C. */
ALWAYS void tile_of(const int rows, const int vectors, const cs_cpu_small *p, const float *a,
                    int64_t row, int64_t step, const float *b, const float *bias, float *c,
                    int64_t left)
{
    const int64_t steps = p->k, ldb = p->ldb;
    vf sum[TILE_ROWS][TILE_VECTORS];
    UNROLL
    for (int i = 0; i < rows; ++i) {
        UNROLL
        for (int64_t j = 0; j < vectors; ++j) {
            sum[i][j] = all(0.0F);
            __builtin_prefetch(c + i * p->ldc + j * WF, 1);
        }
    }
    for (int64_t k = 0; k < steps; ++k) {
        vf bk[TILE_VECTORS];
        UNROLL
        for (int64_t j = 0; j < vectors; ++j) {
            bk[j] = *(const vf_any *)(b + k * ldb + j * WF);
            __builtin_prefetch(b + (k + AHEAD) * ldb + j * WF);
        }
        UNROLL
        for (int i = 0; i < rows; ++i) {
            vf aik = all(a[i * row + k * step]);
            UNROLL
            for (int64_t j = 0; j < vectors; ++j) {
                sum[i][j] = fused(aik, bk[j], sum[i][j]);
            }
        }
    }
    put_tile(rows, vectors, p, bias, sum, c, left);
}

#define TILE_CASE(r)                                                                               \
    case r:                                                                                        \
        tile_of(r, vectors, p, a, row, step, b, bias, c, left);                                    \
        break;

/* row is 1, or step is: constant after inlining, as `vectors` is. */
ALWAYS void tile_by(int64_t rows, const int vectors, const cs_cpu_small *p, const float *a,
                    int64_t row, int64_t step, const float *b, const float *bias, float *c,
                    int64_t left)
{
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
#if CS_SIMD > 128
        TILE_CASE(5)
        TILE_CASE(6)
#endif
#if CS_SIMD == 512
        TILE_CASE(7)
        TILE_CASE(8)
        TILE_CASE(9)
        TILE_CASE(10)
        TILE_CASE(11)
        TILE_CASE(12)
        TILE_CASE(13)
        TILE_CASE(14)
#endif
    default:
        break;
    }
}

/* Rows i .. i + rows - 1 of columns j .. j + left - 1. */
static void tile(const cs_cpu_small *p, int64_t i, int64_t rows, int64_t j, int64_t left)
{
    const float *b = p->b + j / TILE_COLS * p->b_panel, *bias = p->bias ? p->bias + j : NULL;
    const float *a = p->a + i * (p->lda == 0 ? p->k : p->a_along ? p->lda : 1);
    const int64_t lda = p->lda == 0 ? rows : p->lda;
    float *c = p->c + i * p->ldc + j;
    if (p->a_along && left > WF) {
        tile_by(rows, 2, p, a, lda, 1, b, bias, c, left);
    } else if (p->a_along) {
        tile_by(rows, 1, p, a, lda, 1, b, bias, c, left);
    } else if (left > WF) {
        tile_by(rows, 2, p, a, 1, lda, b, bias, c, left);
    } else {
        tile_by(rows, 1, p, a, 1, lda, b, bias, c, left);
    }
}

/* Rows are divided evenly among the panels, as in packing. */
static void product(const cs_cpu_small *p)
{
    const int64_t panels = (p->m + TILE_ROWS - 1) / TILE_ROWS;
    const int64_t least = panels > 0 ? p->m / panels : 0, more = panels > 0 ? p->m % panels : 0;
    for (int64_t j = 0; j < p->n; j += TILE_COLS) {
        const int64_t left = p->n - j < TILE_COLS ? p->n - j : TILE_COLS;
        for (int64_t part = 0, i = 0; part < panels; ++part) {
            const int64_t rows = least + (part < more);
            tile(p, i, rows, j, left);
            i += rows;
        }
    }
}
