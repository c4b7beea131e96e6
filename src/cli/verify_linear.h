/* cospec verify 4.3: linear attention, with random parameters on the toy model's sequences or
 * trained by cospec train on a corpus. */
#ifndef CS_CLI_VERIFY_LINEAR_H
#define CS_CLI_VERIFY_LINEAR_H

#include "analysis/statement.h"
#include "cli/opt.h"
#include "io/table.h"
#include "toy/toy.h"

/* --model --against --masks --split --limit --limit-tokens --max-length. */
extern const cs_opt cs_group_verify_linear[];

/* CS_ERR_USAGE names an option of that group that was given without --model. */
cs_status cs_verify_linear_alone(const cs_args *args) CS_MUST_CHECK;

/* A random model of 8 features and 2 heads on the toy model's sequences (all, or a sample), N its
 * number of unmasked tokens, s / 2 where the objective has none. */
cs_status cs_verify_linear_toy(const cs_args *args, const cs_toy *toy, cs_statements *out,
                               cs_table *curve) CS_MUST_CHECK;

/* The model of --model on the text of --corpus. CS_ERR_USAGE: no corpus, a model that is not
 * linear, N that neither the model's training nor the options tell, two models of other tokens or
 * losses. */
cs_status cs_verify_linear_model(cs_args *args, cs_statements *out, cs_table *curve) CS_MUST_CHECK;

#endif
