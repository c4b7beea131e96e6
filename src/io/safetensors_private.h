/* Shared by reader and writer of safetensors. Private to src/io. */
#pragma once

#include <jansson.h>

#include "io/safetensors.h"

/* The bound of the reference implementation, in bytes. */
static const int64_t CS_SAFETENSORS_MAX_HEADER = 100000000;

static const char CS_SAFETENSORS_META[] = "__metadata__";
static const char CS_SAFETENSORS_HASH[] = "xxh3";

typedef struct {
    char *path;
    int fd;              /* -1 when closed */
    int64_t data, bytes; /* where the data begin, and how many */
    json_t *metadata;    /* object of texts, or NULL */
} cs_safetensors_file;

struct cs_safetensors {
    cs_safetensors_file *file;
    int files;
    int64_t file_capacity;
    cs_safetensors_entry *entry; /* owns the names */
    int64_t count, capacity;
};

/* Name of a type in the format ("BF16"). */
const char *cs_safetensors_dtype_name(cs_dtype dtype);

/* Number of items and bytes of a shape; CS_ERR_INPUT (without the name of the tensor) for a
 * negative length or a size beyond 63 bits. */
cs_status cs_safetensors_size(cs_safetensors_entry *entry) CS_MUST_CHECK;
