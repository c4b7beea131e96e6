/* Two places in order; the first that has the file wins. A build has links next to its programs, so
 * that no path of the building machine is in them. */
#include "io/share.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/plugin.h"
#include "io/file.h"

cs_status cs_share_path(const char *relative, char **out)
{
    static const char *const near = "../share/cospec";
    CS_AUTO_FREE char *installed = cs_path_near_program(1, &near);
    if (!installed) return CS_ERR_MEMORY;
    const char *const places[] = {getenv("COSPEC_SHARE"), installed};
    cs_status status = CS_ERR_IO;
    for (size_t i = 0; status == CS_ERR_IO && i < sizeof places / sizeof *places; ++i) {
        if (!places[i] || !*places[i]) {
            continue;
        }
        char *path = cs_path_join(places[i], relative);
        status = !path ? CS_ERR_MEMORY : cs_path_exists(path) ? CS_OK : CS_ERR_IO;
        status = CS_DELIVER(status, out, path, cs_drop);
    }
    return status != CS_ERR_IO
               ? status
               : cs_fail(status, "%s: not found in $COSPEC_SHARE or %s next to the program",
                         relative, near);
}
