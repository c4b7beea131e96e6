/* The matrix as it is made of records in order (assemble.c). */
#pragma once

#include "base/scratch.h"
#include "cooc/builder.h"
#include "cooc/record_private.h"

/* A sparse matrix that grows entry by entry. */
typedef struct {
    int64_t rows, row_room, nnz, room;
    int64_t *ptr;
    int32_t *col;
    double *val;
} cs_growing;

/* Room for `more` entries, which the caller writes behind the first nnz itself. */
cs_status cs_growing_room(cs_growing *g, int64_t more) CS_MUST_CHECK;

/* The files of a result beyond its limit: one for each array of rows, matrix and row labels. */
enum { CS_COOC_ARRAYS = 9 };
struct cs_cooc_files {
    cs_scratch_memory array[CS_COOC_ARRAYS];
};

typedef struct {
    int64_t cols, labels;
    bool exact;
    double unit;
    bool borrows; /* in_col is another's */
    cs_growing matrix, row_label;
    int64_t key_room;
    cs_hash128 *key;
    int64_t *witness_sequence, *witness_ordinal;
    bool open;       /* a row is being filled */
    cs_record entry; /* the entry being added up */
    int64_t *in_row; /* labels: units of the row by class */
    int64_t *in_col; /* cols x labels */
    int64_t total;
    double limit;                /* bytes of arrays beyond which they go to files; 0: none */
    const char *scratch;         /* the folder for these */
    struct cs_cooc_files *files; /* NULL: in memory. Else only cs_assembler_room makes room */
} cs_assembler;

/* Units as the matrix has them. */
double cs_assembler_mass(const cs_assembler *a, int64_t units);

/* Takes records in order and makes the matrix; what is made of parts beyond `limit` bytes lies in
 * files in `scratch`. */
cs_status cs_assembler_new(const cs_corpus *corpus, bool exact, double unit, double limit,
                           const char *scratch, cs_assembler **out) CS_MUST_CHECK;
void cs_assembler_free(cs_assembler **assembler);
cs_status cs_assembler_take(void *assembler, const cs_record *record) CS_MUST_CHECK;

/* What several threads take, each a range of rows at a time (merge.c). A part of `whole` has sums
 * of its own; `borrows`: but adds class masses of columns straight into those of `whole`, which one
 * part may. */
cs_status cs_assembler_part(cs_assembler *whole, bool borrows, cs_assembler **out) CS_MUST_CHECK;

/* Ends the row that is being filled, with its class masses from in_row. */
cs_status cs_assembler_end_row(cs_assembler *a) CS_MUST_CHECK;

/* Ends the last row. */
cs_status cs_assembler_close(cs_assembler *a) CS_MUST_CHECK;

/* How many rows, entries and class masses of rows there are; or where some begin. */
typedef struct {
    int64_t rows, entries, labels;
} cs_assembler_size;

cs_assembler_size cs_assembler_size_of(const cs_assembler *a);

/* Items first .. first + count - 1 of an array of the result; at: the address of its pointer. */
typedef struct {
    void *at;
    size_t size; /* of an item */
    int64_t first, count;
} cs_assembler_array;

/* What `n` rows from `at` on are made of; of the pointers to rows, their ends. */
void cs_assembler_list(cs_assembler *a, const cs_assembler_size *at, const cs_assembler_size *n,
                       cs_assembler_array out[CS_COOC_ARRAYS]);

/* Room in memory for the keys and witnesses of `room` rows, which the caller writes itself. */
cs_status cs_assembler_key_room(cs_assembler *a, int64_t room) CS_MUST_CHECK;

/* Whether `whole` has room for so many rows more, those of a closed part; makes it, and more if a
 * share of the whole is known to be there already (0 < share <= 1), so that it is seldom made; gives
 * it away: where it begins. cs_assembler_copy may run beside the others of its kind and beside give,
 * not beside room. */
bool cs_assembler_fits(const cs_assembler *whole, const cs_assembler_size *more);
cs_status cs_assembler_room(cs_assembler *whole, const cs_assembler_size *more,
                            double share) CS_MUST_CHECK;
cs_assembler_size cs_assembler_give(cs_assembler *whole, const cs_assembler_size *more);
void cs_assembler_copy(cs_assembler *whole, const cs_assembler_size *at, cs_assembler *part);

/* So many rows from `at` on are written: where the result lies in files, they leave memory. */
void cs_assembler_let_go(cs_assembler *whole, const cs_assembler_size *at,
                         const cs_assembler_size *n);

/* Empties the part but for its sums, and adds these in the end. */
void cs_assembler_clear(cs_assembler *part);
void cs_assembler_add_sums(cs_assembler *whole, const cs_assembler *part);

/* Moves matrix, keys, witnesses and mass to *out, whose other fields stay. */
cs_status cs_assembler_finish(cs_assembler *assembler, cs_cooc *out) CS_MUST_CHECK;
