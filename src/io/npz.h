/* NPZ archives: zip files of NPY members (libzip). scipy.sparse.save_npz and numpy.savez write
 * them.
 *
 * Reading is guarded against zip bombs and truncation: a member's declared size must match its
 * content, its NPY header must match its size, and the sum of all members read must stay below
 * `limit`.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/npy.h"

typedef struct cs_npz cs_npz; /* an archive open for reading */

/* limit: most bytes that all members read may unpack to (0: 80% of free memory). CS_ERR_IO when the
 * file cannot be read, CS_ERR_INPUT when it is no zip archive, is truncated, has a member twice, is
 * a Git LFS pointer, or when its directory differs from a member's own header. */
cs_status cs_npz_open(const char *path, int64_t limit, cs_npz **out) CS_MUST_CHECK;
void cs_npz_close(cs_npz *npz); /* accepts NULL */

/* Whether member "<name>.npy" exists. */
bool cs_npz_has(const cs_npz *npz, const char *name);

/* Members of any kind, and the file name of one ("<name>.npy"), which lives as long as npz. */
int64_t cs_npz_count(const cs_npz *npz);
const char *cs_npz_member(const cs_npz *npz, int64_t i);

/* Reads member "<name>.npy" (stored or deflated); CS_ERR_INPUT names archive and member when it is
 * missing or bad: sizes that lie, a wrong checksum, encryption, a bad NPY, more than the limit. */
cs_status cs_npz_read(cs_npz *npz, const char *name, cs_array *out) CS_MUST_CHECK;

/* A member of one dimension piece by piece: memory of one piece, whatever the limit. Members of one
 * archive may be open side by side. */
typedef struct cs_npz_items cs_npz_items;

/* *count receives the items. CS_ERR_INPUT as for cs_npz_read, and when it has not one dimension or
 * is of text. */
cs_status cs_npz_items_open(cs_npz *npz, const char *name, cs_npz_items **out,
                            int64_t *count) CS_MUST_CHECK;
/* The next `count` items, in *piece until the next call. The checksum is checked with the last of
 * them. CS_ERR_INPUT: fewer are left. */
cs_status cs_npz_items_next(cs_npz_items *items, int64_t count,
                            const cs_array **piece) CS_MUST_CHECK;
void cs_npz_items_close(cs_npz_items *items); /* accepts NULL; before cs_npz_close */

typedef struct cs_npz_writer cs_npz_writer; /* an archive being written, atomically */

/* The bytes written depend on the members alone: all dates are 1980-01-01. Members above 4 GiB make
 * a zip64 archive. */
cs_status cs_npz_create(const char *path, cs_npz_writer **out) CS_MUST_CHECK;

/* Adds a member from memory; `data` is borrowed until commit. CS_ERR_USAGE when the name is taken
 * or the dtype is text. */
cs_status cs_npz_add(cs_npz_writer *w, const char *name, cs_dtype dtype, int ndim,
                     const int64_t *shape, const void *data) CS_MUST_CHECK;

/* Adds a member of one dimension whose items are made as they are written: fill puts items
 * first..first+count-1 (of a dtype of 8 bytes) to `to`, any number of times, until commit. */
typedef void (*cs_npz_fill)(const void *ctx, int64_t first, int64_t count, void *to);
cs_status cs_npz_add_made(cs_npz_writer *w, const char *name, cs_dtype dtype, int64_t items,
                          cs_npz_fill fill, const void *ctx) CS_MUST_CHECK;

/* Adds a scalar byte string ("|S3" for "csr"), as scipy.sparse writes "format"; copied. */
cs_status cs_npz_add_text(cs_npz_writer *w, const char *name, const char *text) CS_MUST_CHECK;

/* Writes and renames into place; consumes the writer (sets *w NULL) even when it fails. An archive
 * without members is CS_ERR_USAGE. Stops with CS_ERR_INTERRUPT on an interrupt,
 * also while the disk is waited for. */
cs_status cs_npz_commit(cs_npz_writer **w) CS_MUST_CHECK;
void cs_npz_abort(cs_npz_writer **w); /* accepts a pointer to NULL */
