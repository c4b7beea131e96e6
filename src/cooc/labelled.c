/* Labelled matrices: release, and the majority class of each row with its error. */
#include "cooc/labelled.h"

#include <math.h>

void cs_labelled_free(cs_labelled *m)
{
    cs_csr_free(&m->a);
    cs_csr_free(&m->row_label);
    cs_csr_free(&m->col_label);
    *m = (cs_labelled){0};
}

void cs_majority(const cs_csr *mass, int32_t *label)
{
    for (int64_t i = 0; i < mass->rows; ++i) {
        double most = 0;
        label[i] = -1;
        for (int64_t e = mass->ptr[i]; e < mass->ptr[i + 1]; ++e) {
            if (mass->val[e] > most) { /* classes ascend: the lowest wins a tie */
                most = mass->val[e];
                label[i] = mass->col[e];
            }
        }
    }
}

void cs_label_masses(const cs_labelled *m, double unit, int64_t *mass, int64_t *majority)
{
    *mass = *majority = 0;
    for (int64_t i = 0; i < m->row_label.rows; ++i) {
        double most = 0;
        for (int64_t e = m->row_label.ptr[i]; e < m->row_label.ptr[i + 1]; ++e) {
            most = fmax(most, m->row_label.val[e]);
            *mass += (int64_t)(m->row_label.val[e] / unit);
        }
        *majority += (int64_t)(most / unit);
    }
}

double cs_label_noise(int64_t mass, int64_t majority)
{
    return mass > 0 ? (double)(mass - majority) / (double)mass : (double)NAN;
}
