#include "cli/rank_report.h"

#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "cli/output.h"

void cs_rank_warnings(const cs_args *args, const char *name, const cs_gram *g,
                      const cs_effective_rank *r, bool centred, cs_item *item)
{
    cs_item *list = cs_item_array(item, "warnings");
    if (r->heaviest_share > 0.5 && !g->normalise) {
        cs_output_warning(args, list,
                          cs_format("%s: row %" PRId64
                                    " holds %.1f%% of the sum of squares; --row-norm "
                                    "or --drop-rows takes it out",
                                    name, r->heaviest, 100.0 * r->heaviest_share));
    }
    if (r->first_share > 0.5) {
        cs_output_warning(args, list,
                          cs_format("%s: one direction holds %.1f%% of the sum of squares%s", name,
                                    100.0 * r->first_share,
                                    centred ? "" : "; --center takes out a constant offset"));
    }
    if (r->rows < r->cols) {
        cs_output_warning(args, list,
                          cs_format("%s: %" PRId64 " rows of %" PRId64
                                    ": ranks are at most the rows",
                                    name, r->rows, r->cols));
    }
    if (r->unclipped != r->value[CS_RANK_TAU_CORRECTED] && isfinite(r->unclipped)) {
        cs_output_warning(args, list,
                          cs_format("%s: rank_tau_corrected comes out as %.4g, which no population "
                                    "of %" PRId64 " columns has: taken as %.4g; more rows are "
                                    "needed, or some outweigh the rest",
                                    name, r->unclipped, r->cols, r->value[CS_RANK_TAU_CORRECTED]));
    }
    if (r->below > 0 && !g->wide) {
        cs_output_warning(
            args, list,
            cs_format("%s: %" PRId64 " of %" PRId64 " eigenvalues are below the floor of "
                      "single precision and count as 0; --precision double tells more",
                      name, r->below, r->count));
    }
    if (g->zeros > 0) {
        cs_output_warning(args, list, cs_format("%s: %" PRId64 " rows are 0", name, g->zeros));
    }
    if (g->vanished > 0) {
        cs_output_warning(args, list,
                          cs_format("%s: %" PRId64
                                    " rows are so small that their squares vanish in %s precision",
                                    name, g->vanished, g->wide ? "double" : "single"));
    }
}
