/* The kernels that exist for both types of number: included by tile_kernels_private.h for floats
 * and for doubles, with real, vector, vector_any (unaligned), LANES of a vector, FUSED(a, b, c) and
 * TYPED(name) defined. */

static void TYPED(product)(int64_t steps, const real *a, const real *b, real *c)
{
    for (int64_t i0 = 0; i0 < CS_TILE; i0 += GRIP) {
        for (int64_t j0 = 0; j0 < CS_TILE; j0 += (int64_t)2 * LANES) {
            vector sum[GRIP][2] = {{{0}}};
            const real *pa = a + i0, *pb = b + j0;
            for (int64_t k = 0; k < steps; ++k, pa += CS_TILE, pb += CS_TILE) {
                vector left = *(const vector_any *)pb;
                vector right = *(const vector_any *)(pb + LANES);
                __builtin_prefetch(pa + (int64_t)AHEAD * CS_TILE);
                __builtin_prefetch(pb + (int64_t)AHEAD * CS_TILE);
                if (WIDTH >= LINE) { /* else one line holds both vectors, and loads are scarce */
                    __builtin_prefetch(pb + (int64_t)AHEAD * CS_TILE + LANES);
                }
                UNROLL for (int64_t i = 0; i < GRIP; ++i)
                {
                    vector x = pa[i] - (vector){0};
                    sum[i][0] = FUSED(x, left, sum[i][0]);
                    sum[i][1] = FUSED(x, right, sum[i][1]);
                }
            }
            UNROLL for (int64_t i = 0; i < GRIP; ++i)
            {
                real *to = c + (i0 + i) * CS_TILE + j0;
                *(vector_any *)to += sum[i][0];
                *(vector_any *)(to + LANES) += sum[i][1];
            }
        }
    }
}

/* Lanes of the squares are dealt column after column, whatever the width of a vector. */
static void TYPED(pack)(int64_t rows, int64_t cols, const real *x, int64_t ld, real *panel,
                        real *sum, real *square)
{
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
        real *lanes = square + k * CS_TILE_LANES;
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
#undef TYPED
