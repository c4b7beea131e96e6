/* The only reader and the only header writer of NPY files and NPZ members. Private to src/io. */
#pragma once

#include "io/npy.h"

/* Content of a header. */
typedef struct {
    cs_dtype dtype;
    int64_t item_size;
    bool fortran;
    bool swapped; /* big-endian */
    int ndim;
    int64_t shape[CS_NPY_MAX_DIM];
    int64_t size;  /* items */
    int64_t bytes; /* size * item_size */
} cs_npy_info;

/* Describes an array of numbers for writing; CS_ERR_USAGE names a value that is out of range. */
cs_status cs_npy_info_make(cs_dtype dtype, bool fortran, int ndim, const int64_t *shape,
                           cs_npy_info *out) CS_MUST_CHECK;

/* cs_npy_header for any item size (text included). */
cs_status cs_npy_info_header(const cs_npy_info *info, char **out, int64_t *size) CS_MUST_CHECK;

/* Turns items of a swapped array, as they were read, into little endian. */
void cs_npy_swap(const cs_npy_info *info, void *data, int64_t items);

/* Copies the items of a Fortran array into C order. */
void cs_npy_transpose(const cs_npy_info *info, const char *in, char *out);

/* A sequential source of bytes. */
typedef struct {
    const char *name; /* for messages */
    int64_t size;     /* bytes that it claims to hold, -1 if unknown */
    void *ctx;
    /* Reads up to `want` bytes; fewer only at the end. */
    cs_status (*read)(void *ctx, void *out, int64_t want, int64_t *got);
} cs_npy_source;

/* A file that is read from its current position: ctx and read of a source. */
typedef struct {
    const char *path;
    int fd;
} cs_npy_file;
cs_status cs_npy_read_file(void *ctx, void *out, int64_t want, int64_t *got) CS_MUST_CHECK;

/* CS_ERR_INPUT if the size of the source differs from the header, which has `at` bytes. */
cs_status cs_npy_check_size(const cs_npy_source *source, const cs_npy_info *info,
                            int64_t at) CS_MUST_CHECK;

/* Reads magic, version and dictionary; *at receives the number of bytes read, which is the offset
 * of the data. */
cs_status cs_npy_load_header(const cs_npy_source *source, cs_npy_info *info,
                             int64_t *at) CS_MUST_CHECK;

/* Reads one array that must fill the source exactly. `limit` bounds its data bytes; 0: free memory
 * (CS_ERR_MEMORY). */
cs_status cs_npy_load(const cs_npy_source *source, int64_t limit, cs_array *out) CS_MUST_CHECK;
