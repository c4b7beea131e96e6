/* Opens the plug-in with dlopen. It loads on any machine, in milliseconds; the driver's library is
 * loaded before a table of the plug-in is used, so that a machine without one gets an error that
 * names it. */
#include "base/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

cs_status cs_device_parse(const char *word, cs_device_kind *kind, int *number)
{
    const char *digits = strncmp(word, "cuda:", 5) == 0 ? word + 5 : "";
    size_t length = strlen(digits);
    *number = 0;
    if (strcmp(word, "cpu") == 0 || strcmp(word, "auto") == 0 || strcmp(word, "cuda") == 0) {
        *kind = word[0] == 'a' ? CS_DEVICE_AUTO : word[1] == 'p' ? CS_DEVICE_CPU : CS_DEVICE_CUDA;
        return CS_OK;
    }
    if (length < 1 || length > 4 || strspn(digits, "0123456789") != length) {
        return cs_fail(CS_ERR_USAGE, "device \"%s\" is not cpu, cuda or auto, nor cuda:N", word);
    }
    *kind = CS_DEVICE_CUDA;
    *number = (int)strtol(digits, NULL, 10);
    return CS_OK;
}

cs_status cs_program_path(char out[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    const char *started = (const char *)getauxval(AT_EXECFN);
    out[length > 0 ? length : 0] = '\0';
    return length > 0 || (started && realpath(started, out))
               ? CS_OK
               : cs_fail(CS_ERR_IO, "the path of the program is unknown: /proc is not mounted");
}

/* dladdr names the shared library as it was opened, but the program as it was typed. */
static bool own_path(char out[PATH_MAX])
{
    Dl_info info;
    void *here;
    char *(*self)(int, const char *const *) = cs_path_near_program;
    memcpy(&here, &self, sizeof here);
    if (dladdr(here, &info) != 0 && info.dli_fname && strstr(info.dli_fname, ".so")) {
        return realpath(info.dli_fname, out) != NULL;
    }
    const bool known = cs_program_path(out) == CS_OK;
    if (!known) cs_reason_clear();
    return known;
}

char *cs_path_near_program(int count, const char *const *places)
{
    char self[PATH_MAX];
    char *slash = own_path(self) ? strrchr(self, '/') : NULL;
    if (slash) {
        *slash = '\0';
    }
    for (int i = 0; slash && i < count; ++i) {
        char *path = cs_format("%s/%s", self, places[i]);
        if (!path || access(path, R_OK) == 0) {
            return path;
        }
        cs_free(path);
    }
    return cs_strdup("");
}

/* The path of the plug-in; "" when there is none. */
static char *find_plugin(const char *plugin)
{
    static const char *const places[] = {"cospec-cuda.so", "../lib/cospec/cospec-cuda.so"};
    const char *asked = plugin ? plugin : getenv("COSPEC_PLUGIN");
    return asked && *asked ? cs_strdup(asked) : cs_path_near_program(2, places);
}

cs_status cs_plugin_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver) {
        return cs_fail(CS_ERR_DEVICE,
                       "no GPU: libcuda.so.1, the library of the NVIDIA driver, is not installed");
    }
    dlclose(driver);
    return CS_OK;
}

cs_status cs_plugin_compare(int32_t version_there, int32_t version_here, int count,
                            const int32_t *size_there, const int32_t *size_here)
{
    if (version_there != version_here) {
        return cs_fail(CS_ERR_DEVICE,
                       "no GPU: the plug-in has version %d, but this program needs version %d; "
                       "build both together",
                       (int)version_there, (int)version_here);
    }
    for (int i = 0; i < count; ++i) {
        if (size_there[i] != size_here[i]) {
            return cs_fail(CS_ERR_DEVICE,
                           "no GPU: the plug-in was built for another version of this program "
                           "(structure %d has %d bytes there, %d here); build both together",
                           i, (int)size_there[i], (int)size_here[i]);
        }
    }
    return CS_OK;
}

static cs_status load(const char *path, const char *name, const void **table)
{
    char whole[PATH_MAX]; /* a name without a slash would be looked for where libraries are */
    if (!realpath(path, whole)) {
        return *path ? cs_fail(CS_ERR_DEVICE, "no GPU: the plug-in %s: %s", path, strerror(errno))
                     : cs_fail(CS_ERR_DEVICE,
                               "no GPU: the plug-in was not built (make CUDA=1 needs nvcc)");
    }
    void *handle = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (!symbol) {
        const char *why = dlerror();
        return cs_fail(CS_ERR_DEVICE, "no GPU: cannot load the plug-in: %s",
                       why ? why : "it does not export the expected function");
    }
    const void *(*entry)(void);
    memcpy(&entry, &symbol, sizeof entry);
    *table = entry();
    return CS_OK;
}

cs_status cs_plugin_use(const char *plugin, const char *symbol,
                        cs_status (*use)(const void *table, void *ctx), void *ctx)
{
    const void *table = NULL;
    CS_AUTO_FREE char *path = find_plugin(plugin);
    if (!path) return CS_ERR_MEMORY;
    cs_status status = load(path, symbol, &table);
    status = status ? status : use(table, ctx);
    if (status == CS_ERR_DEVICE) status = cs_blame(status, "%s", *path ? path : "--device cuda");
    return status;
}
