/* Lemma 2.1 of MAE-LM, on the hidden states and tables of a model. */
#pragma once

#include "analysis/measures/mask_rank.h"
#include "analysis/theorems/statement.h"

/* Lemma 2.1 and Theorem 2.2 as statements: the rank of the [MASK] rows from the first to the last
 * layer studied (numerical, and rank_tau with two standard errors of the difference); the premise
 * rank(P) <= d - rank(E) on the tables of the model (singular values above max(rows, d) 2^-23
 * sigma_1, float tables); a layer with rank-deficient H_R, and whether its row space contains that
 * of H_M, at the numerical tolerance. length: positions of the text. */
cs_status cs_lemma_21(const cs_model *model, const cs_mask_rank *r, int64_t length,
                      const char *input, cs_statements *out) CS_MUST_CHECK;
