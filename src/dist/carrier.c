/* Opens the MPI plug-in: from the program's folder, or in the installed lib/cospec. */
#include "dist/carrier.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cblas.h>

#include "base/mem.h"
#include "base/plugin.h"

static cs_status load(const char *path, const cs_carrier **out)
{
    if (!*path) {
        return cs_fail(CS_ERR_DEVICE, "--mpi: this build has no MPI: install mpicc (Debian: "
                                      "libopenmpi-dev, libparpack2-dev) and run make again");
    }
    /* Global: Open MPI's own components look for its symbols. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void *symbol = handle ? dlsym(handle, CS_CARRIER_SYMBOL) : NULL;
    if (!symbol) {
        const char *why = dlerror();
        return cs_fail(CS_ERR_DEVICE, "--mpi: cannot load %s: %s", path,
                       why ? why : "it does not export " CS_CARRIER_SYMBOL);
    }
    cs_carrier_entry entry;
    memcpy(&entry, &symbol, sizeof entry);
    const cs_carrier *found = entry();
    if (found->version != CS_CARRIER_VERSION || found->size != (int32_t)sizeof(cs_comm)) {
        return cs_fail(CS_ERR_DEVICE,
                       "--mpi: %s was built for another version of this program (%d, not %d); "
                       "build both together",
                       path, (int)found->version, CS_CARRIER_VERSION);
    }
    *out = found;
    return CS_OK;
}

cs_status cs_comm_open_mpi(cs_comm *out)
{
    const cs_carrier *carrier = NULL;
    static const char *const places[] = {"cospec-mpi.so", "../lib/cospec/cospec-mpi.so"};
    char *path = cs_path_near_program(2, places);
    cs_status status = path ? load(path, &carrier) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_comm made = {0};
        const char *why = carrier->open(&made);
        status = why ? cs_fail(CS_ERR_DEVICE, "--mpi: %s (%s)", why, carrier->built) : CS_OK;
        *out = made;
    }
    cs_free(path);
    return status;
}

cs_status cs_comm_check_alike(cs_comm *c, const char *version)
{
    enum { SIZE = 128 };
    char mine[SIZE] = {0};
    (void)snprintf(mine, sizeof mine, "cospec %s and OpenBLAS's kernel %s", version,
                   openblas_get_corename());
    char *all = cs_alloc(c->ranks, SIZE);
    cs_status status = all ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) cs_comm_gather_each(c, SIZE, mine, all);
    for (int r = 1; status == CS_OK && r < c->ranks; ++r) {
        if (strcmp(all, all + (ptrdiff_t)r * SIZE) != 0) {
            status =
                cs_fail(CS_ERR_DEVICE,
                        "ranks run different builds or BLAS kernels: rank 0 has %s, rank %d has %s",
                        all, r, all + (ptrdiff_t)r * SIZE);
            c->agreed = true;
        }
    }
    cs_free(all);
    return status;
}
