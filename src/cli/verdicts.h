/* What the verdicts on statements do to a run. */
#pragma once

#include "analysis/theorems/statement.h"
#include "cli/opt.h"

/* Called when the results are out. A corrected statement that failed makes the exit code 1
 * (cs_output_refuted); else one that could not be decided is CS_ERR_CONVERGE (exit code 4), whose
 * reason names it, its input, margin and error. One that is attained is noted on stderr and does
 * neither. Printed statements never count. */
cs_status cs_verdicts_report(cs_args *args, const cs_statements *list) CS_MUST_CHECK;
