/* Opens the CUDA plug-in with dlopen. It loads on any machine, in milliseconds; the driver's
 * library is asked for before the plug-in is opened, so that a machine without one answers by name.
 */
#include "tensor/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tensor/plugin.h"

static void *host_alloc(int64_t count, size_t size)
{
    return cs_calloc(count, size);
}

/* The folder of the program, "" if the system does not say. */
static void program_folder(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash) {
        *slash = '\0';
    }
}

/* Where the plug-in stands; a name that does not exist when none is there. */
static char *find_plugin(const char *plugin)
{
    const char *asked = plugin ? plugin : getenv("COSPEC_PLUGIN");
    if (asked && *asked) {
        return cs_strdup(asked);
    }
    char folder[PATH_MAX];
    program_folder(folder);
    char *beside = cs_format("%s/cospec-cuda.so", folder);
    if (!beside || access(beside, R_OK) == 0) {
        return beside;
    }
    char *installed = cs_format("%s/../lib/cospec/cospec-cuda.so", folder);
    if (!installed || access(installed, R_OK) == 0) {
        cs_free(beside);
        return installed;
    }
    cs_free(installed);
    return beside;
}

static cs_status driver_present(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver) {
        return cs_fail(CS_ERR_DEVICE,
                       "no GPU: libcuda.so.1, the NVIDIA driver's library, is not here");
    }
    dlclose(driver);
    return CS_OK;
}

/* The same structures on both sides. */
static cs_status plugin_fits(const cs_plugin *plugin)
{
    int32_t size[CS_PLUGIN_SIZES];
    cs_plugin_sizes(size);
    if (!plugin || plugin->version != CS_PLUGIN_VERSION) {
        return cs_fail(CS_ERR_DEVICE,
                       "no GPU: the plug-in speaks version %d, this program version %d",
                       plugin ? (int)plugin->version : -1, CS_PLUGIN_VERSION);
    }
    for (int i = 0; i < CS_PLUGIN_SIZES; ++i) {
        if (plugin->size[i] != size[i]) {
            return cs_fail(CS_ERR_DEVICE,
                           "no GPU: the plug-in was built for another program (structure %d has "
                           "%d bytes there, %d here)",
                           i, (int)plugin->size[i], (int)size[i]);
        }
    }
    return CS_OK;
}

static cs_status load(const char *path, const cs_plugin **out)
{
    if (access(path, R_OK) != 0) {
        return cs_fail(CS_ERR_DEVICE, "no GPU: the plug-in was not built (make CUDA=1 needs nvcc)");
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, CS_PLUGIN_SYMBOL) : NULL;
    if (!symbol) {
        const char *why = dlerror();
        return cs_fail(CS_ERR_DEVICE, "no GPU: cannot load the plug-in: %s",
                       why ? why : "it exports no " CS_PLUGIN_SYMBOL);
    }
    cs_plugin_entry entry;
    memcpy(&entry, &symbol, sizeof entry);
    *out = entry();
    return *out && (*out)->version == CS_PLUGIN_VERSION && (*out)->needs_driver ? driver_present()
                                                                                : CS_OK;
}

cs_status cs_plugin_open(const cs_plugin *plugin, const cs_device_options *options,
                         cs_backend **out)
{
    static const cs_plugin_host host = {.fail = cs_fail,
                                        .alloc = host_alloc,
                                        .free = cs_free,
                                        .matrix = cs_run_matrix,
                                        .ints = cs_run_ints,
                                        .order = cs_run_order};
    cs_device_options none = {0};
    if (!options) {
        options = &none;
    }
    cs_plugin_options ask = {.device = options->number,
                             .f32 = options->f32,
                             .graphs = !options->no_graphs,
                             .own_products = options->own_products};
    cs_status status = plugin_fits(plugin);
    return status == CS_OK ? plugin->open(&host, &ask, out) : status;
}

cs_status cs_backend_cuda(const char *plugin, const cs_device_options *options, cs_backend **out)
{
    const cs_plugin *found = NULL;
    char *path = find_plugin(plugin);
    if (!path) {
        return CS_ERR_MEMORY;
    }
    cs_status status = load(path, &found);
    if (status == CS_OK) {
        status = cs_plugin_open(found, options, out);
    }
    if (status == CS_ERR_DEVICE) {
        status = cs_blame(status, "%s", path);
    }
    cs_free(path);
    return status;
}

cs_status cs_device_open(const char *device, const cs_device_options *options, char *why,
                         int64_t room, cs_backend **out)
{
    bool automatic = strcmp(device, "auto") == 0;
    if (why && room > 0) {
        why[0] = '\0';
    }
    if (automatic || strcmp(device, "cuda") == 0) {
        bool clean = cs_reason()[0] == '\0'; /* the reason that will stand is ours to forget */
        cs_status status = cs_backend_cuda(NULL, options, out);
        if (!automatic || status != CS_ERR_DEVICE) {
            return status;
        }
        if (why && room > 0) {
            (void)snprintf(why, (size_t)room, "%s", cs_reason());
        }
        if (clean) {
            cs_reason_clear();
        }
    } else if (strcmp(device, "cpu") != 0) {
        return cs_fail(CS_ERR_USAGE, "device \"%s\" is not cpu, cuda or auto", device);
    }
    return cs_backend_cpu(options ? options->threads : 0, out);
}
