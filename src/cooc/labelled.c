/* Labelled matrices: release, and the majority class of each row. */
#include "cooc/labelled.h"

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
