/* The kernels of space_private.h. Eight vectors of sums are held in registers, whatever the width.
 */
#include "base/simd.h"
#include "linalg/csr.h"
#include "linalg/space_private.h"

enum { LANES = WD, PER_ROW = CS_PANEL / LANES };

static void gram(int64_t rows, const double *p, const double *w, double *h)
{
    for (int64_t l0 = 0; l0 < CS_PANEL; l0 += LANES) {
        vd sum[LANES][PER_ROW] = {{{0}}};
        for (int64_t i = 0; i < rows; ++i) {
            vd right[PER_ROW];
            UNROLL for (int64_t v = 0; v < PER_ROW; ++v)
            {
                right[v] = *(const vd_any *)(w + i * CS_PANEL + v * LANES);
            }
            UNROLL for (int64_t l = 0; l < LANES; ++l)
            {
                vd x = all_wide(p[i * CS_PANEL + l0 + l]);
                UNROLL for (int64_t v = 0; v < PER_ROW; ++v)
                {
                    sum[l][v] = fused_wide(x, right[v], sum[l][v]);
                }
            }
        }
        UNROLL for (int64_t l = 0; l < LANES; ++l)
        {
            UNROLL for (int64_t v = 0; v < PER_ROW; ++v)
            {
                *(vd_any *)(h + (l0 + l) * CS_PANEL + v * LANES) += sum[l][v];
            }
        }
    }
}

static void combine(int64_t rows, int64_t first, int64_t p, double *const *panels, const double *c,
                    bool keep, double *to)
{
    for (int64_t i = 0; i < rows; i += LANES) {
        vd sum[LANES][PER_ROW] = {{{0}}};
        double *at = to + i * CS_PANEL;
        if (keep) {
            UNROLL for (int64_t r = 0; r < LANES; ++r)
            {
                UNROLL for (int64_t v = 0; v < PER_ROW; ++v)
                {
                    sum[r][v] = *(const vd_any *)(at + r * CS_PANEL + v * LANES);
                }
            }
        }
        for (int64_t q = 0; q < p; ++q) {
            const double *x = panels[q] + (first + i) * CS_PANEL,
                         *square = c + q * CS_PANEL * CS_PANEL;
            for (int64_t l = 0; l < CS_PANEL; ++l) {
                UNROLL for (int64_t v = 0; v < PER_ROW; ++v)
                {
                    vd right = *(const vd_any *)(square + l * CS_PANEL + v * LANES);
                    UNROLL for (int64_t r = 0; r < LANES; ++r)
                    {
                        sum[r][v] = fused_wide(all_wide(x[r * CS_PANEL + l]), right, sum[r][v]);
                    }
                }
            }
        }
        UNROLL for (int64_t r = 0; r < LANES; ++r)
        {
            UNROLL for (int64_t v = 0; v < PER_ROW; ++v)
            {
                *(vd_any *)(at + r * CS_PANEL + v * LANES) = sum[r][v];
            }
        }
    }
}

const cs_space_kernels CS_SIMD_TABLE(cs_space_kernels) = {
    .name = SIMD_NAME, .gram = gram, .combine = combine};
