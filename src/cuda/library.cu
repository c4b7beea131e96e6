/* Opening libraries by name. */
#include "cuda/library.cuh"

#ifdef CS_CUDA_EMULATION

#include "emulator.h"

void *library_open(const char *name)
{
    return emulate_library(name);
}

const char *library_error()
{
    return "the emulation has none";
}

void *library_symbol(void *library, const char *name)
{
    return emulate_symbol(library, name);
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *library_open(const char *name)
{
    const char *const homes[] = {getenv("CUDA_HOME"), "/usr/local/cuda"};
    char path[1024];
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    for (const char *home : homes) {
        if (!library && home && *home) {
            (void)snprintf(path, sizeof path, "%s/lib64/%s", home, name);
            library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        }
    }
    return library;
}

const char *library_error()
{
    const char *why = dlerror();
    return why ? why : "no reason given";
}

void *library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

#endif
