/* The kernels that exist for both types of number: included by tile_kernels.c for floats and for
 * doubles, with real, vector, vector_any (unaligned), LANES of a vector, FUSED(a, b, c), ALL(x) and
 * TYPED(name) defined. */

/* `rows` rows of a tile by STRIP vectors: all of the steps in registers. */
ALWAYS void TYPED(strip)(int64_t rows, int64_t steps, const real *a, const real *b, real *c)
{
    vector sum[GRIP][STRIP] = {{{0}}};
    for (int64_t k = 0; k < steps; ++k, a += CS_TILE, b += CS_TILE) {
        vector right[STRIP];
        UNROLL for (int64_t j = 0; j < STRIP; ++j)
        {
            right[j] = *(const vector_any *)(b + j * LANES);
        }
        UNROLL for (int64_t i = 0; i < rows; ++i)
        {
            vector left = ALL(a[i]);
            UNROLL for (int64_t j = 0; j < STRIP; ++j)
            {
                sum[i][j] = FUSED(left, right[j], sum[i][j]);
            }
        }
    }
    UNROLL for (int64_t i = 0; i < rows; ++i)
    {
        UNROLL for (int64_t j = 0; j < STRIP; ++j)
        {
            *(vector_any *)(c + i * CS_TILE + j * LANES) += sum[i][j];
        }
    }
}

static void TYPED(product)(int64_t steps, const void *left, const void *right, void *tile)
{
    const real *a = left, *b = right;
    real *c = tile;
    enum { REST = CS_TILE % GRIP, WHOLE = CS_TILE - REST };
    for (int64_t j = 0; j < CS_TILE; j += (int64_t)STRIP * LANES) {
        for (int64_t i = 0; i < WHOLE; i += GRIP) {
            TYPED(strip)(GRIP, steps, a + i, b + j, c + i * CS_TILE + j);
        }
        if (REST > 0) {
            TYPED(strip)(REST, steps, a + WHOLE, b + j, c + (int64_t)WHOLE * CS_TILE + j);
        }
    }
}

/* Lanes of the squares are assigned column by column, whatever the width of a vector. */
static void TYPED(pack)(int64_t rows, int64_t cols, const void *items, int64_t ld, void *packed,
                        void *sum, void *square)
{
    const real *x = items;
    real *panel = packed;
    if (cols < CS_TILE) {
        for (int64_t k = 0; k < rows; ++k) {
            memcpy(panel + k * CS_TILE, x + k * ld, (size_t)cols * sizeof *x);
            memset(panel + k * CS_TILE + cols, 0, (size_t)(CS_TILE - cols) * sizeof *x);
        }
        x = panel;
        ld = CS_TILE;
    }
    vector total[CS_TILE / LANES];
    memcpy(total, sum, sizeof total);
    for (int64_t k = 0; k < rows; ++k) {
        real *lanes = (real *)square + k * CS_TILE_LANES;
        UNROLL for (int64_t i = 0; i < CS_TILE / LANES; ++i)
        {
            vector v = *(const vector_any *)(x + k * ld + i * LANES);
            vector_any *lane = (vector_any *)(lanes + i * LANES % CS_TILE_LANES);
            *(vector_any *)(panel + k * CS_TILE + i * LANES) = v;
            total[i] += v;
            *lane = FUSED(v, v, *lane);
        }
    }
    memcpy(sum, total, sizeof total);
}

#undef real
#undef vector
#undef vector_any
#undef LANES
#undef FUSED
#undef ALL
#undef TYPED
