/** \file
 * NPZ archives: zip files of NPY members, as written by numpy.savez and scipy.sparse.save_npz.
 *
 * Reading is guarded against zip bombs and truncation. The declared size of a member must match
 * its content and its NPY header, and the members read may unpack to at most `limit` bytes in
 * total. An archive or a writer may be used by one thread at a time.
 */
#pragma once

#include "io/npy.h"

/** An archive open for reading. */
typedef struct cs_npz cs_npz;

/** Opens an archive. Close it with cs_npz_close.
 *
 * \param limit most bytes that all members read may unpack to; 0: 80% of free memory
 * \param out receives the archive
 * \retval CS_ERR_IO the file cannot be read
 * \retval CS_ERR_INPUT not a zip archive, truncated, divided among several files, a member that
 *     occurs twice, members that overlap, a Git LFS pointer, or a directory that differs from the
 *     header of a member
 */
cs_status cs_npz_open(const char *path, int64_t limit, cs_npz **out) CS_MUST_CHECK;

/** Closes the archive; accepts NULL. */
void cs_npz_close(cs_npz *npz);

/** Whether the member NAME.npy exists. */
bool cs_npz_has(const cs_npz *npz, const char *name);

/** Number of members of any kind. */
int64_t cs_npz_count(const cs_npz *npz);

/** File name of member `i`, 0..count-1 ("NAME.npy"). It lives as long as the archive. */
const char *cs_npz_member(const cs_npz *npz, int64_t i);

/** Reads the member NAME.npy, stored or deflated. Free it with cs_array_free.
 *
 * \retval CS_ERR_INPUT the member is missing or invalid: wrong sizes or checksum, encryption, an
 *     invalid NPY, more bytes than the limit; names archive and member
 * \retval CS_ERR_INTERRUPT the interrupt flag is set while a large member is read
 */
cs_status cs_npz_read(cs_npz *npz, const char *name, cs_array *out) CS_MUST_CHECK;

/** A member with one dimension that is read in pieces, in the memory of one piece whatever the
 * limit. Several members of an archive may be open at once.
 */
typedef struct cs_npz_items cs_npz_items;

/** Opens the member NAME.npy for reading in pieces.
 *
 * \param name the member
 * \param out receives the reader; close it with cs_npz_items_close before the archive
 * \param count receives the number of items
 * \retval CS_ERR_INPUT as for cs_npz_read, and for text or another number of dimensions
 */
cs_status cs_npz_items_open(cs_npz *npz, const char *name, cs_npz_items **out,
                            int64_t *count) CS_MUST_CHECK;

/** Reads the next `count` items into `*piece`, which the reader owns and which is valid until the
 * next call. The checksum is verified with the last item.
 *
 * \retval CS_ERR_INPUT fewer items are left, or the member is damaged
 * \retval CS_ERR_INTERRUPT the interrupt flag is set while a large member is read
 */
cs_status cs_npz_items_next(cs_npz_items *items, int64_t count,
                            const cs_array **piece) CS_MUST_CHECK;

/** Closes the reader; accepts NULL. */
void cs_npz_items_close(cs_npz_items *items);

/** An archive that is being written. */
typedef struct cs_npz_writer cs_npz_writer;

/** Starts an archive, which appears at `path` on cs_npz_commit. Its bytes depend only on its
 * members: all dates are 1980-01-01. Members above 4 GiB make a zip64 archive.
 */
cs_status cs_npz_create(const char *path, cs_npz_writer **out) CS_MUST_CHECK;

/** Adds an array in C order. `data` is borrowed until the commit.
 *
 * \retval CS_ERR_USAGE the name is taken, or the type is text
 */
cs_status cs_npz_add(cs_npz_writer *w, const char *name, cs_dtype dtype, int ndim,
                     const int64_t *shape, const void *data) CS_MUST_CHECK;

/** Writes the items first..first+count-1 to `to`. */
typedef void (*cs_npz_fill)(const void *ctx, int64_t first, int64_t count, void *to);

/** Learns that the items first..first+count-1 are written, and those before them: `fill` is not
 * called for them again.
 */
typedef void (*cs_npz_written)(const void *ctx, int64_t first, int64_t count);

/** Adds a member with one dimension whose items are computed while they are written. `fill` may be
 * called any number of times for any range until the commit, by several threads at once, and so may
 * `written`, which can be NULL. `dtype` must have 4 or 8 bytes.
 */
cs_status cs_npz_add_made(cs_npz_writer *w, const char *name, cs_dtype dtype, int64_t items,
                          cs_npz_fill fill, cs_npz_written written, const void *ctx) CS_MUST_CHECK;

/** Adds a scalar byte string (`|S3` for "csr"), as scipy.sparse writes "format". It is copied. */
cs_status cs_npz_add_text(cs_npz_writer *w, const char *name, const char *text) CS_MUST_CHECK;

/** Writes the archive and renames it into place. It consumes the writer (`*w` becomes NULL), also
 * on failure.
 *
 * \retval CS_ERR_USAGE the archive has no members
 * \retval CS_ERR_IO the file cannot be written
 * \retval CS_ERR_INTERRUPT the interrupt flag is set; also while waiting for the disk
 */
cs_status cs_npz_commit(cs_npz_writer **w) CS_MUST_CHECK;

/** Discards the archive; accepts a pointer to NULL. */
void cs_npz_abort(cs_npz_writer **w);
