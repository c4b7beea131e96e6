/* Orthants of leading singular directions against classes of tokens (Zhao and Thrampoulidis 2025). */
#pragma once

#include "analysis/theorems/registry.h"

/* Of a matrix whose columns have class masses: a row of report->course for the support form and for
 * the normalised matrix, and the statement ntp-orthants. directions: most right singular vectors.
 * Nothing is added where fewer than two classes label tokens. */
cs_status cs_ntp_orthants(const cs_labelled *matrix, const char *name, const cs_theorem_input *in,
                          int64_t directions, cs_theorem_report *report) CS_MUST_CHECK;
