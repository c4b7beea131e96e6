/* --estimate cross-fit|distinct-document: properties of the language, for commands on a folder of
 * cospec cooc. */
#pragma once

#include "analysis/measures/language.h"
#include "cli/opt.h"

extern const cs_opt cs_group_language[]; /* --estimate --jackknife */
bool cs_args_language(const cs_args *args);
/* Refuses --jackknife for the matrix of the corpus. */
cs_status cs_args_no_language(const cs_args *args) CS_MUST_CHECK;

/* The command on the folder in its argument: k leading eigenpairs (0: 10, or fewer if there are
 * fewer columns) and, with density, the curve of all. */
cs_status cs_language_run(cs_args *args, int64_t k,
                          const cs_spectrum_density_options *density) CS_MUST_CHECK;
