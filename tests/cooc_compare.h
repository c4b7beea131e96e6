/* Whether two builds are the same, bit for bit. */
#ifndef CS_TESTS_COOC_COMPARE_H
#define CS_TESTS_COOC_COMPARE_H

#include "cooc/builder.h"
#include "linalg/csr.h"

void assert_same_csr(const cs_csr *a, const cs_csr *b);
void assert_same_cooc(const cs_cooc *a, const cs_cooc *b);

#endif
