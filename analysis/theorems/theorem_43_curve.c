/* Theorem 4.3's qualitative claim: generation suffers where the prefix is shorter than what the
 * model was trained on. The loss by prefix length, the misalignment and Delta_k, and how well
 * misalignment orders the measured degradation. */
#include <math.h>
#include <string.h>

#include "analysis/theorems/theorem_43_private.h"
#include "base/auto.h"
#include "stats/jackknife.h"
#include "stats/metrics.h"
#include "stats/moderated.h"

/* Sums of one k over all blocks but `without` (-1: all). */
static void sums_at(const cs_generation_bound_audit *a, int64_t k, int64_t without,
                    double sum[CS_BOUND_CURVE])
{
    memset(sum, 0, CS_BOUND_CURVE * sizeof *sum);
    for (int64_t b = 0; b < a->blocks; ++b) {
        const double *x = a->curve + (b * a->lengths + k) * CS_BOUND_CURVE;
        for (int j = 0; b != without && j < CS_BOUND_CURVE; ++j) {
            sum[j] += x[j];
        }
    }
}

static double documents_of(const cs_generation_bound_audit *a, int64_t block)
{
    double n = 0;
    for (int64_t k = 0; k < a->lengths; ++k) {
        n += a->curve[(block * a->lengths + k) * CS_BOUND_CURVE + CS_BOUND_N];
    }
    return n;
}

/* work: 2 lengths numbers. NaN with fewer than 3 lengths, or where all lose the same. */
static cs_status spearman(const cs_generation_bound_audit *a, int64_t without, double *work,
                          double *rho)
{
    double *x = work, *y = x + a->lengths;
    int64_t n = 0;
    bool differ = false;
    for (int64_t k = 0; k < a->lengths; ++k) {
        double sum[CS_BOUND_CURVE];
        sums_at(a, k, without, sum);
        if (sum[CS_BOUND_N] > 0) {
            x[n] = sum[CS_BOUND_MISALIGNMENT] / sum[CS_BOUND_N];
            y[n] = sum[CS_BOUND_GAP] / sum[CS_BOUND_N];
            differ = differ || y[n] != y[0];
            n += 1;
        }
    }
    *rho = NAN;
    return n < 3 || !differ ? CS_OK : cs_metric_of(CS_METRIC_SPEARMAN, n, x, y, 0, rho);
}

cs_status cs_generation_bound_spearman(const cs_generation_bound_audit *a, double *rho, double *se,
                                       int64_t *blocks)
{
    int64_t used = 0;
    CS_AUTO_FREE double *work = cs_alloc(2 * a->lengths + a->blocks + 1, sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    double *without = work + 2 * a->lengths;
    cs_status status = spearman(a, -1, work, rho);
    for (int64_t b = 0; b < a->blocks && status == CS_OK; ++b) {
        if (documents_of(a, b) > 0) {
            status = spearman(a, b, work, &without[used++]);
        }
    }
    *se = cs_jackknife_error(used, without, 1);
    *blocks = used;
    return status;
}

#define ERROR "error: Student's 97.5%% point at B - 1 degrees of freedom, times se"

cs_status cs_generation_bound_state_order(const cs_generation_bound_audit *a, const char *input,
                                          const char *other, cs_statements *out)
{
    double rho = 0, se = 0;
    int64_t blocks = 0;
    cs_status status = cs_generation_bound_spearman(a, &rho, &se, &blocks);
    double error = blocks > 1 ? cs_student_width(0.95, (double)(blocks - 1)) * se : (double)NAN;
    CS_AUTO_FREE char *text =
        other ? cs_format("the longer the misalignment, the more is lost against %s: 0 <= "
                          "Spearman's rho over k of misalignment and loss - its loss (" ERROR ")",
                          other)
              : cs_format("the longer the misalignment, the more is lost: 0 <= Spearman's rho over "
                          "k of misalignment and loss on X_<k - loss on X_m (" ERROR ")");
    if (status == CS_OK && !text) status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_statements_claim(out, &(cs_claim){other ? "4.3-order-against" : "4.3-order", CS_PRINTED,
                                             CS_RELATION_AT_MOST, text, input, 0, rho, error});
        status = cs_statements_status(out);
    }
    return status;
}

/* The jackknife error of the gap at one k, a ratio of sums. work: a number a block. */
static double gap_error(const cs_generation_bound_audit *a, int64_t k, double *work)
{
    double sum[CS_BOUND_CURVE];
    int64_t used = 0;
    for (int64_t b = 0; b < a->blocks; ++b) {
        if (a->curve[(b * a->lengths + k) * CS_BOUND_CURVE + CS_BOUND_N] > 0) {
            sums_at(a, k, b, sum);
            work[used++] = sum[CS_BOUND_GAP] / sum[CS_BOUND_N];
        }
    }
    return cs_jackknife_error(used, work, 1);
}

cs_status cs_generation_bound_curve(const cs_generation_bound_audit *a, const char *model,
                                    bool other, cs_item *curve)
{
    static const char *const name[] = {
        [CS_BOUND_N] = "n",
        [CS_BOUND_MISALIGNMENT] = "misalignment",
        [CS_BOUND_W] = "w_k",
        [CS_BOUND_LOSS] = "loss",
        [CS_BOUND_FULL_LOSS] = "full_loss",
        [CS_BOUND_OTHER] = "other_loss",
        [CS_BOUND_DELTA] = "delta_k",
        [CS_BOUND_DISTANCE] = "distance",
        [CS_BOUND_GAP] = "gap",
    };
    CS_AUTO_FREE double *work = cs_alloc(a->blocks, sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    for (int64_t k = 2; k < a->lengths; ++k) {
        double sum[CS_BOUND_CURVE];
        sums_at(a, k, -1, sum);
        if (sum[CS_BOUND_N] == 0) {
            continue;
        }
        cs_item *row = cs_item_object(curve, NULL);
        cs_item_text(row, "model", model);
        cs_item_int(row, "k", k);
        cs_item_int(row, "n", (int64_t)sum[CS_BOUND_N]);
        cs_item_real(row, "gap_se", gap_error(a, k, work));
        for (int j = CS_BOUND_N + 1; j < CS_BOUND_CURVE; ++j) {
            bool empty = j == CS_BOUND_OTHER && !other;
            cs_item_real(row, name[j], empty ? (double)NAN : sum[j] / sum[CS_BOUND_N]);
        }
    }
    return CS_OK;
}
