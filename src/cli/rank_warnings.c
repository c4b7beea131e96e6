#include "cli/rank_warnings.h"

#include <inttypes.h>

#include "base/mem.h"
#include "cli/output.h"
#include "io/json.h"

static cs_status warn(const cs_args *args, json_t *warnings, char *text)
{
    cs_status status = text ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_output_note(args, "%s", text);
        status = json_array_append_new(warnings, json_string(text)) == 0 ? CS_OK : CS_ERR_MEMORY;
    }
    cs_free(text);
    return status;
}

cs_status cs_rank_warnings(const cs_args *args, const char *name, const cs_gram *g,
                           const cs_effective_rank *r, bool centred, json_t *json)
{
    json_t *list = json_array();
    cs_status status = cs_json_set(json, "warnings", json_incref(list));
    if (status == CS_OK && r->heaviest_share > 0.5 && !g->normalise) {
        status =
            warn(args, list,
                 cs_format("%s: row %" PRId64 " holds %.1f%% of the sum of squares; --row-norm "
                           "or --drop-rows takes it out",
                           name, r->heaviest, 100.0 * r->heaviest_share));
    }
    if (status == CS_OK && r->first_share > 0.5) {
        status = warn(args, list,
                      cs_format("%s: one direction holds %.1f%% of the sum of squares%s", name,
                                100.0 * r->first_share,
                                centred ? "" : "; --center takes out a constant offset"));
    }
    if (status == CS_OK && r->rows < r->cols) {
        status = warn(args, list,
                      cs_format("%s: %" PRId64 " rows of %" PRId64 ": ranks are at most the rows",
                                name, r->rows, r->cols));
    }
    if (status == CS_OK && r->below > 0 && !g->wide) {
        status = warn(args, list,
                      cs_format("%s: %" PRId64 " of %" PRId64 " eigenvalues are below the floor of "
                                "single precision and count as 0; --precision double tells more",
                                name, r->below, r->count));
    }
    if (status == CS_OK && g->zeros > 0) {
        status = warn(args, list, cs_format("%s: %" PRId64 " rows are 0", name, g->zeros));
    }
    if (status == CS_OK && g->vanished > 0) {
        status = warn(args, list,
                      cs_format("%s: %" PRId64 " rows are so small that their squares vanish in %s "
                                "precision",
                                name, g->vanished, g->wide ? "double" : "single"));
    }
    json_decref(list);
    return status;
}
