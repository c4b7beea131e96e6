/* Assembles the matrix from records in order (assemble.c). */
#pragma once

#include "base/scratch.h"
#include "cooc/builder.h"
#include "cooc/packed_private.h"
#include "cooc/record_private.h"

/* A sparse matrix that is extended entry by entry. */
typedef struct {
    int64_t rows, row_capacity, nnz, capacity;
    int64_t *ptr;
    int32_t *col;
    double *val;
} cs_growing;

/* Reserves capacity for `more` entries, which the caller writes after the first nnz. */
cs_status cs_growing_reserve(cs_growing *g, int64_t more) CS_MUST_CHECK;

/* Files of a result beyond its memory limit: one for each array of rows, matrix and row labels. */
enum { CS_COOC_ARRAYS = 10 };
struct cs_cooc_files {
    cs_scratch_memory array[CS_COOC_ARRAYS];
};

typedef struct {
    int64_t cols, labels;
    bool exact;
    double unit;
    bool borrows; /* in_col belongs to another assembler */
    bool raw;     /* values are the bits of integer numbers of units, for cs_assembler_visit */
    bool packs;   /* entries of the matrix, raw, are in `packed`, and not in matrix.col and .val;
                   * without classes */
    cs_growing matrix, row_label;
    cs_packed packed;
    int64_t key_capacity;
    cs_hash128 *key;
    int64_t *witness_sequence, *witness_ordinal;
    bool open;       /* a row is being filled */
    cs_record entry; /* the entry that is being summed */
    int64_t *in_row; /* labels: units of the row by class */
    int64_t *in_col; /* cols x labels */
    int64_t total;
    /* bytes of arrays in memory, beyond which they go to files; 0: no limit */
    double limit;
    const char *scratch; /* the folder for these */
    /* NULL: in memory. Otherwise only cs_assembler_reserve allocates. */
    struct cs_cooc_files *files;
} cs_assembler;

/* Mass of a number of units, in the scale of the matrix. */
double cs_assembler_mass(const cs_assembler *a, int64_t units);

/* Takes records in order and makes the matrix. Arrays beyond `limit` bytes are in files in
 * `scratch`. */
cs_status cs_assembler_new(const cs_corpus *corpus, bool exact, double unit, double limit,
                           const char *scratch, cs_assembler **out) CS_MUST_CHECK;
void cs_assembler_free(cs_assembler **assembler);
cs_status cs_assembler_take(void *assembler, const cs_record *record) CS_MUST_CHECK;

/* A part for one of several threads, which take a range of rows at a time each (merge.c). A part
 * of `whole` has separate sums. With `borrows`, which one part may set, class masses of
 * columns are added directly to those of `whole`. */
cs_status cs_assembler_part(cs_assembler *whole, bool borrows, cs_assembler **out) CS_MUST_CHECK;

/* Visits the rows of a raw assembler as records, the numbers of whose sequences begin at `first`. */
cs_status cs_assembler_visit(const cs_assembler *a, int64_t first,
                             cs_status (*visit)(void *ctx, const cs_record *record),
                             void *ctx) CS_MUST_CHECK;

/* Ends the current row, with its class masses from in_row. */
cs_status cs_assembler_end_row(cs_assembler *a) CS_MUST_CHECK;

/* The entries of the current row, which has some, of a part that packs. */
cs_status cs_assembler_pack(cs_assembler *part, int64_t count, const int32_t *col,
                            const double *units) CS_MUST_CHECK;

/* Ends the last row. */
cs_status cs_assembler_close(cs_assembler *a) CS_MUST_CHECK;

/* Numbers of rows, entries and class masses of rows, and of items of packed entries; or offsets of
 * their first ones. */
typedef struct {
    int64_t rows, entries, labels;
    int64_t gaps, bytes, marks;
} cs_assembler_size;

cs_assembler_size cs_assembler_size_of(const cs_assembler *a);

/* Items first .. first + count - 1 of an array of the result; at: the address of its pointer. */
typedef struct {
    void *at;
    size_t size; /* of an item */
    int64_t first, count;
} cs_assembler_array;

/* The arrays of `n` rows from `at` on; of row pointers, the ends of the rows. */
void cs_assembler_list(cs_assembler *a, const cs_assembler_size *at, const cs_assembler_size *n,
                       cs_assembler_array out[CS_COOC_ARRAYS]);

/* Reserves memory for the keys and witnesses of `capacity` rows, which the caller writes. */
cs_status cs_assembler_reserve_keys(cs_assembler *a, int64_t capacity) CS_MUST_CHECK;

/* Whether `whole` has capacity for the rows of a closed part; allocates it, and more if a known
 * share of the whole is complete (0 < share <= 1), so that reallocation is rare; reserves a place
 * for the part and returns its offset. cs_assembler_copy may run concurrently with itself and with
 * cs_assembler_give, but not with cs_assembler_reserve. */
bool cs_assembler_fits(const cs_assembler *whole, const cs_assembler_size *more);
cs_status cs_assembler_reserve(cs_assembler *whole, const cs_assembler_size *more,
                               double share) CS_MUST_CHECK;
cs_assembler_size cs_assembler_give(cs_assembler *whole, const cs_assembler_size *more);
void cs_assembler_copy(cs_assembler *whole, const cs_assembler_size *at, cs_assembler *part);

/* The rows from `at` on are written: if the result is in files, their pages leave memory. */
void cs_assembler_let_go(cs_assembler *whole, const cs_assembler_size *at,
                         const cs_assembler_size *n);

/* Empties the part except its sums; the second function adds these sums at the end. */
void cs_assembler_clear(cs_assembler *part);
void cs_assembler_add_sums(cs_assembler *whole, const cs_assembler *part);

/* Moves matrix, keys, witnesses and mass to *out, whose other members are kept. */
cs_status cs_assembler_finish(cs_assembler *assembler, cs_cooc *out) CS_MUST_CHECK;
