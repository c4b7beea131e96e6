/* Three places in order; the first that has the file wins. */
#include "io/share.h"

#include <stdlib.h>

#include "base/mem.h"
#include "io/file.h"
#include "version.h"

cs_status cs_share_path(const char *relative, char **out)
{
    const char *const places[] = {getenv("COSPEC_SHARE"), CS_SHARE_INSTALL, CS_SHARE_SOURCE};
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        if (!places[i]) {
            continue;
        }
        char *path = cs_path_join(places[i], relative);
        if (!path) {
            return CS_ERR_MEMORY;
        }
        if (cs_path_exists(path)) {
            *out = path;
            return CS_OK;
        }
        cs_free(path);
    }
    return cs_fail(CS_ERR_IO, "%s: not found in $COSPEC_SHARE, %s or %s", relative,
                   CS_SHARE_INSTALL, CS_SHARE_SOURCE);
}
