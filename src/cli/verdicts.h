/* Effect of the verdicts on statements on a run. */
#pragma once

#include "analysis/theorems/statement.h"
#include "cli/opt.h"

/* Called when the results are written. A corrected statement that failed makes the exit code 1
 * (cs_output_refuted); else an undecided one is CS_ERR_CONVERGE (exit code 4), whose reason names
 * it, its input, margin and error. An attained one is noted on stderr and has no effect. Printed
 * statements never count. */
cs_status cs_verdicts_report(cs_args *args, const cs_statements *list) CS_MUST_CHECK;
