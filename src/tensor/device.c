/* The CUDA backend out of the plug-in (base/plugin.h). */
#include "tensor/device.h"

#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/plugin.h"
#include "tensor/backend.h"
#include "tensor/cuda_plugin.h"

cs_status cs_plugin_open(const cs_plugin *plugin, const cs_device_options *options,
                         cs_backend **out)
{
    static const cs_plugin_host host = {.fail = cs_fail,
                                        .alloc = cs_calloc,
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
                             .own_products = options->own_products,
                             .timed = options->timed,
                             .search_products = options->search_products};
    int32_t size[CS_PLUGIN_SIZES];
    cs_plugin_sizes(size);
    cs_status status = cs_plugin_compare(plugin ? plugin->version : -1, CS_PLUGIN_VERSION,
                                         CS_PLUGIN_SIZES, plugin ? plugin->size : size, size);
    return status == CS_OK && plugin ? plugin->open(&host, &ask, out) : status;
}

typedef struct {
    const cs_device_options *options;
    cs_backend *backend;
} opening;

static cs_status open_table(const void *table, void *ctx)
{
    opening *o = ctx;
    const cs_plugin *plugin = table;
    cs_status status = CS_OK;
    if (plugin && plugin->version == CS_PLUGIN_VERSION && plugin->needs_driver) {
        status = cs_plugin_driver();
    }
    return status ? status : cs_plugin_open(plugin, o->options, &o->backend);
}

cs_status cs_backend_cuda(const char *plugin, const cs_device_options *options, cs_backend **out)
{
    opening o = {.options = options};
    cs_status status = cs_plugin_use(plugin, CS_PLUGIN_SYMBOL, open_table, &o);
    if (status == CS_OK) *out = o.backend;
    return status;
}

cs_status cs_device_open(const char *device, const cs_device_options *options, char *why,
                         int64_t capacity, cs_backend **out)
{
    cs_device_kind kind = CS_DEVICE_CPU;
    cs_device_options o = options ? *options : (cs_device_options){0};
    int number = 0;
    cs_status status = cs_device_parse(device, &kind, &number);
    if (why && capacity > 0) {
        why[0] = '\0';
    }
    if (status != CS_OK || kind == CS_DEVICE_CPU)
        return status ? status : cs_backend_cpu(o.threads, out);
    o.number = number > 0 ? number : o.number;
    /* whether the reason of a failure is that of this call, and may be cleared */
    bool clean = cs_reason()[0] == '\0';
    status = cs_backend_cuda(NULL, &o, out);
    if (kind == CS_DEVICE_CUDA || status != CS_ERR_DEVICE) return status;
    if (why && capacity > 0) {
        (void)snprintf(why, (size_t)capacity, "%s", cs_reason());
    }
    if (clean) {
        cs_reason_clear();
    }
    return cs_backend_cpu(o.threads, out);
}

/* --- shared by all backends -------------------------------------------------------------------- */

void cs_backend_free(cs_backend **held)
{
    if (*held) {
        (*held)->free(*held);
        *held = NULL;
    }
}
