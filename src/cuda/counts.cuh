/* Times of kernels and refused products (cs_backend.counted). Host code. */
#pragma once

#include "cuda/launch.cuh"

extern "C" {
#include "tensor/backend.h"
}

enum { COUNT_NAME = 128 };

/* `device` stays where it is. */
cs_status counts_open(const Device *device, void *(*alloc)(int64_t count, size_t size),
                      void (*release)(void *p), Counts **out);
void counts_free(Counts *all); /* nothing may be under way */
/* A product that the own kernel has to do. */
cs_status counts_refused(Counts *all, const char *name);
/* As cs_backend.counted. */
cs_status counts_row(Counts *all, int64_t row, cs_backend_count *out);
