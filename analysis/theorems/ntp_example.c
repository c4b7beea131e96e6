/* The built-in example of next-token prediction (ntp_example.h). */
#include "analysis/theorems/ntp_example.h"

#include "base/ints.h"

enum { CONTEXTS = 12, TOKENS = 10, CLASSES = 3 };

/* Token j < 9 belongs to class j % 3, and the last one to none. */
static cs_status label_tokens(cs_labelled *m)
{
    m->labels = CLASSES;
    cs_status status = cs_csr_init(&m->col_label, TOKENS, CLASSES, TOKENS - 1);
    for (int j = 0; j < TOKENS && status == CS_OK; ++j) {
        m->col_label.ptr[j + 1] = cs_least(j + 1, TOKENS - 1);
        if (j < TOKENS - 1) {
            m->col_label.col[j] = j % CLASSES;
            m->col_label.val[j] = 1;
        }
    }
    return status;
}

cs_status cs_ntp_example(cs_labelled *out)
{
    cs_csr *a = &out->a;
    cs_status status = cs_csr_init(a, CONTEXTS, TOKENS, (int64_t)CONTEXTS * TOKENS);
    for (int i = 0; status == CS_OK && i < CONTEXTS; ++i) {
        a->ptr[i + 1] = a->ptr[i];
        for (int j = 0; j < TOKENS; ++j) {
            if (j % CLASSES == i % CLASSES || j == TOKENS - 1 || j == i * 7 % (TOKENS - 1)) {
                a->col[a->ptr[i + 1]] = j;
                a->val[a->ptr[i + 1]++] = 1 + (i + 2 * j) % 4;
            }
        }
    }
    return status == CS_OK ? label_tokens(out) : status;
}
