/* Entries of a matrix in about three bytes each (packed.c), until they are written to a file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Where the entries of a row begin. */
typedef struct {
    int64_t row, entry, gap, byte;
} cs_packed_mark;

/* Rows as two streams: of columns and of values. */
typedef struct cs_packed {
    int64_t quantum; /* units; most values are small multiples of it */
    uint16_t *gap;
    uint8_t *byte;
    cs_packed_mark *mark;       /* of some rows, ascending; the first row has one */
    int64_t gaps, bytes, marks; /* used */
    int64_t gap_capacity, byte_capacity, mark_capacity;
} cs_packed;

/* Appends the row `row`, whose first entry is `entry`, of `count` entries: columns, and the bits of
 * integer numbers of units. Rows come in ascending order; the first has a mark. */
cs_status cs_packed_add(cs_packed *p, int64_t row, int64_t entry, int64_t count, const int32_t *col,
                        const double *units) CS_MUST_CHECK;

/* Rows from a row on whose first entry is `begin`, to be written. */
typedef struct {
    const cs_packed *packed;
    const int64_t *ptr; /* of all rows */
    int64_t begin;
    double unit; /* of doubles; 1: exact */
} cs_packed_rows;

/* The memory of the columns, or the values, of entries first .. first + count - 1 is given back, and
 * they can not be read again. Those before are written, too: both are a cs_npz_written. A file's
 * pages in memory then take this memory again, which has been touched before. */
void cs_packed_columns_written(const void *rows, int64_t first, int64_t count);
void cs_packed_values_written(const void *rows, int64_t first, int64_t count);

/* Entries first .. first + count - 1 of these rows: int32 columns; int64 units; double units * unit.
 * Each is a cs_npz_fill. */
void cs_packed_columns(const void *rows, int64_t first, int64_t count, void *to);
void cs_packed_integers(const void *rows, int64_t first, int64_t count, void *to);
void cs_packed_reals(const void *rows, int64_t first, int64_t count, void *to);
