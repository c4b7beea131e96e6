/* Whether two builds are the same, bit for bit. */
#pragma once

#include "cooc/builder.h"
#include "linalg/csr.h"

void assert_same_csr(const cs_csr *a, const cs_csr *b);
void assert_same_cooc(const cs_cooc *a, const cs_cooc *b);
