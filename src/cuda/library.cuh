/* NVIDIA's libraries are opened by name when a device is there: they are large, and a machine
 * without one must still load the plug-in. */
#pragma once

#include <string.h>

/* Opens a library that the loader finds, else one of $CUDA_HOME or /usr/local/cuda. NULL: none;
 * library_error says why. */
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

/* Members of a structure for functions of a library, X(member, name) each, and a method that finds
 * them all: NULL, or the name of one that is missing. */
#define LIBRARY_MEMBER(member, name) decltype(&name) member;
#define LIBRARY_FIND(member, name) library_find(library, #name, &member, &missing);
#define LIBRARY_FUNCTIONS(functions)                                                               \
    functions(LIBRARY_MEMBER) const char *find(void *library)                                      \
    {                                                                                              \
        const char *missing = NULL;                                                                \
        functions(LIBRARY_FIND) return missing;                                                    \
    }
