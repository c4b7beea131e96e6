/* Shares of singular directions in learned factors (learned_modes.h has the equations). M is never
 * formed: U^T M V is (U^T F) (V^T W')^T. */
#include "analysis/trained/learned_modes.h"

#include <math.h>

#include "base/auto.h"

/* The end of the mode that begins with triplet `first`. */
static int64_t end_of_mode(const cs_spectrum *s, int64_t first)
{
    int64_t end = first;
    while (end < s->k && s->sigma[first] - s->sigma[end] <= CS_LEARNED_EQUAL) {
        ++end;
    }
    return end;
}

/* sum_j x_j y_j of rows i of two matrices of equal width. */
static double row_product(const cs_dense *x, const cs_dense *y, int64_t i)
{
    double sum = 0;
    for (int64_t j = 0; j < x->cols; ++j) {
        sum += x->data[i + j * x->ld] * y->data[i + j * y->ld];
    }
    return sum;
}

cs_status cs_learned_modes_of(const cs_learned_target *target, const cs_dense *f, const cs_dense *w,
                              double factor, int64_t most, cs_learned_mode *mode, int64_t *count)
{
    const cs_spectrum *s = &target->spectrum;
    const int64_t d = f->cols;
    CS_AUTO(cs_pool) pool = {0};
    const cs_dense big_f = cs_31_scaled(&pool, f, target->problem.root_row);
    const cs_dense big_w = cs_31_scaled(&pool, w, target->problem.root_col);
    cs_dense left = cs_dense_in(&pool, s->k, d), right = cs_dense_in(&pool, s->k, d);
    cs_dense gram_f = cs_dense_in(&pool, d, d), gram_w = cs_dense_in(&pool, d, d);
    cs_dense image = cs_dense_in(&pool, s->k, d);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_gemm(true, false, 1, &s->u, &big_f, 0, &left);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &s->v, &big_w, 0, &right);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &big_f, &big_f, 0, &gram_f);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &big_w, &big_w, 0, &gram_w);
    if (status == CS_OK) status = cs_gemm(false, false, 1, &left, &gram_w, 0, &image);
    if (status != CS_OK) return status;
    double whole = 0; /* ||M||_F^2 */
    for (int64_t i = 0; i < d; ++i) {
        whole += row_product(&gram_f, &gram_w, i);
    }
    *count = 0;
    for (int64_t first = 0, end; first < s->k && first < most; first = end) {
        cs_learned_mode *m = &mode[(*count)++];
        end = end_of_mode(s, first);
        *m = (cs_learned_mode){.sigma = s->sigma[first], .count = end - first};
        for (int64_t k = first; k < end; ++k) {
            m->share += row_product(&left, &right, k);
            m->energy += row_product(&image, &left, k);
        }
        m->share /= (double)m->count * m->sigma * factor / 2;
        m->energy = whole > 0 ? m->energy / whole : 0;
    }
    return CS_OK;
}

cs_status cs_learned_modes_record(const cs_learned_target *target, const cs_dense *f,
                                  const cs_dense *w, double factor, int64_t step, cs_item *rows)
{
    int64_t count = 0;
    CS_AUTO_FREE cs_learned_mode *mode = cs_alloc(target->spectrum.k, sizeof *mode);
    cs_status status =
        mode ? cs_learned_modes_of(target, f, w, factor, f->cols, mode, &count) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        cs_item *row = cs_item_object(rows, NULL);
        cs_item_int(row, "step", step);
        cs_item_int(row, "mode", i + 1);
        CS_ITEM_FIELDS(row, &mode[i], sigma, count, share, energy);
    }
    return status;
}

bool cs_learned_step(int64_t step, int64_t steps)
{
    const double power = 10;
    return step == steps || step <= 1 ||
           floor(power * log10((double)step)) > floor(power * log10((double)step - 1));
}
