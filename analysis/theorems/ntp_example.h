/* The built-in example of next-token prediction: 12 contexts of 3 classes and 10 tokens. */
#pragma once

#include "cooc/labelled.h"

/* Context i sees the tokens of class i % 3, one that all see, and one more; counts differ. On an
 * error *out holds what was made, to be freed as ever. */
cs_status cs_ntp_example(cs_labelled *out) CS_MUST_CHECK;
