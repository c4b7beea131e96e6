/* The choice of the device: words, plug-ins that are absent or foreign, no silent fallback. */
#include <dlfcn.h>

#include "tensor/cuda_plugin.h"
#include "tensor/device.h"
#include "test.h"

static bool driver_here(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) {
        dlclose(driver);
    }
    return driver != NULL;
}

TEST(unknown_word)
{
    cs_backend *backend = NULL;
    assert_fails(cs_device_open("gpu", NULL, NULL, 0, &backend), CS_ERR_USAGE,
                 "\"gpu\" is not cpu, cuda or auto");
    assert_null(backend);
    cs_reason_clear();
}

TEST(cpu_by_name)
{
    char why[64] = "stale";
    AUTO_OK(cs_backend, *backend, cs_device_open("cpu", NULL, why, sizeof why, &backend));
    assert_string_equal(why, "");
    assert_non_null(backend);
}

TEST(absent_plugin)
{
    cs_backend *backend = NULL;
    assert_int_equal(cs_backend_cuda("/nonexistent/cospec-cuda.so", NULL, &backend), CS_ERR_DEVICE);
    assert_non_null(strstr(cs_reason(), "/nonexistent/cospec-cuda.so: no GPU"));
    assert_non_null(strstr(cs_reason(), "plug-in /nonexistent/cospec-cuda.so: No such file"));
    assert_null(backend);
    cs_reason_clear();
    (void)unsetenv("COSPEC_PLUGIN"); /* the folder of a test program has none */
    assert_fails(cs_backend_cuda(NULL, NULL, &backend), CS_ERR_DEVICE,
                 "--device cuda: no GPU: the plug-in was not built");
    cs_reason_clear();
}

/* Requested by name: CS_ERR_DEVICE with the cause, whichever it is; auto takes the CPU and says the
 * same. */
TEST(nothing_falls_back_silently)
{
    cs_backend *backend = NULL;
    char why[512] = "";
    assert_int_equal(setenv("COSPEC_PLUGIN", "/nonexistent/cospec-cuda.so", 1), 0);
    assert_fails(cs_device_open("cuda", NULL, NULL, 0, &backend), CS_ERR_DEVICE, "no GPU");
    assert_null(backend);
    cs_reason_clear();
    OK(cs_device_open("auto", NULL, why, sizeof why, &backend));
    assert_non_null(backend);
    assert_non_null(strstr(why, "no GPU"));
    assert_string_equal(cs_reason(), "");
    cs_backend_free(&backend);
    assert_int_equal(unsetenv("COSPEC_PLUGIN"), 0);
}

/* The plug-in of this build where there is no driver; where there is one, tests/gpu has its say. */
TEST(no_driver)
{
    cs_backend *backend = NULL;
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 64);
    assert_true(length > 0);
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    assert_non_null(slash);
    strcpy(slash, "/../cospec-cuda.so");
    if (driver_here() || access(self, R_OK) != 0) {
        skip();
    }
    assert_fails(cs_backend_cuda(self, NULL, &backend), CS_ERR_DEVICE,
                 "libcuda.so.1, the library of the NVIDIA driver, is not installed");
    assert_null(backend);
    cs_reason_clear();
}

/* The plug-in loads without a driver and was built for this program; opening it then names the
 * cause. */
TEST(plugin_of_this_build)
{
    cs_backend *backend = NULL;
    void *handle = dlopen("cospec-cuda.so", RTLD_NOW | RTLD_LOCAL);
    char self[4096];
    if (!handle) {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 64);
        assert_true(length > 0);
        self[length] = '\0';
        strcpy(strrchr(self, '/'), "/../cospec-cuda.so");
        handle = dlopen(self, RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle || driver_here()) {
        skip();
    }
    void *symbol = dlsym(handle, CS_PLUGIN_SYMBOL);
    cs_plugin_entry entry;
    assert_non_null(symbol);
    memcpy(&entry, &symbol, sizeof entry);
    assert_fails(cs_plugin_open(entry(), NULL, &backend), CS_ERR_DEVICE, "no GPU: ");
    assert_null(backend);
    cs_reason_clear();
    dlclose(handle);
}

static cs_status never(const cs_plugin_host *host, const cs_plugin_options *options,
                       cs_backend **out)
{
    (void)host;
    (void)options;
    (void)out;
    fail_msg("a plug-in that does not fit was opened");
    return CS_OK;
}

TEST(foreign_plugin)
{
    cs_backend *backend = NULL;
    cs_plugin plugin = {.version = CS_PLUGIN_VERSION + 1, .open = never};
    cs_plugin_sizes(plugin.size);
    assert_fails(cs_plugin_open(&plugin, NULL, &backend), CS_ERR_DEVICE, "version");
    plugin.version = CS_PLUGIN_VERSION;
    for (int i = 0; i < CS_PLUGIN_SIZES; ++i) {
        plugin.size[i] += 8;
        assert_fails(cs_plugin_open(&plugin, NULL, &backend), CS_ERR_DEVICE,
                     "built for another version of this program");
        plugin.size[i] -= 8;
    }
    assert_int_equal(cs_plugin_open(NULL, NULL, &backend), CS_ERR_DEVICE);
    cs_reason_clear();
}

/* A shared object that is no plug-in: the test framework's library. */
TEST(no_plugin_at_all)
{
    cs_backend *backend = NULL;
    Dl_info about;
    void *symbol = dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests");
    if (!symbol || dladdr(symbol, &about) == 0) {
        skip();
    }
    assert_fails(cs_backend_cuda(about.dli_fname, NULL, &backend), CS_ERR_DEVICE,
                 "cannot load the plug-in");
}
