/* NVIDIA's libraries are opened by name when a device is there: they are large, and a machine
 * without one must still load the plug-in. */
#pragma once

#include <string.h>

/* What the loader finds by itself, then $CUDA_HOME and /usr/local/cuda. NULL: none; library_error
 * says why. */
void *library_open(const char *name);
const char *library_error();
void *library_symbol(void *library, const char *name);

/* The function `name`; where there is none and *missing is NULL, it becomes the name. */
template <typename F>
static void library_find(void *library, const char *name, F *out, const char **missing)
{
    void *symbol = library_symbol(library, name);
    if (!symbol && !*missing) {
        *missing = name;
    }
    memcpy(out, &symbol, sizeof symbol);
}
