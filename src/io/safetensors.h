/* Named tensors, the exchange format of models: safetensors files and directories of shards.
 * Source: the section "Format" of the safetensors README (Hugging Face).
 *
 *   8 bytes   N, little endian
 *   N bytes   JSON, padded with blanks: {"__metadata__": {"KEY": "TEXT", ...},
 *             "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...}
 *   the rest  the data; offsets count from here. Row-major, little endian, without holes.
 *
 * Opening reads only headers and checks everything that they declare: CS_ERR_INPUT names the file
 * and the tensor.
 *
 * The key "xxh3" of the metadata, set by the writer, holds the XXH3-128 hash of the data. Other
 * programs ignore it. */
#pragma once

#include "io/npy.h"

enum { CS_SAFETENSORS_MAX_DIM = 8 };

typedef struct {
    const char *name;
    cs_dtype dtype; /* bool, u8, i8 to i64, bf16, f16 to f64 */
    int ndim;       /* 0 for a scalar */
    int64_t shape[CS_SAFETENSORS_MAX_DIM];
    /* Set by the reader, ignored by the writer: */
    int64_t items, bytes;
    int file;       /* number of the shard */
    int64_t offset; /* of the first byte in that file */
} cs_safetensors_entry;

typedef struct {
    const char *key, *value;
} cs_safetensors_pair;

typedef struct cs_safetensors cs_safetensors;
typedef struct cs_safetensors_writer cs_safetensors_writer;

/* Opens one file. Memory and time are linear in the header (at most 100 MB, as in the reference
 * implementation). CS_ERR_IO if it cannot be read; CS_ERR_INPUT for a Git LFS pointer, a truncated
 * file, a header that is not the JSON above, a repeated key, an unsupported type, a size that is
 * not shape times item size, and data that overlap, leave a gap, or end before or after the end of
 * the file. */
cs_status cs_safetensors_open(const char *path, cs_safetensors **out) CS_MUST_CHECK;

/* Opens the weights in the directory of a Hugging Face model: `model.safetensors`, else the shards
 * listed under "weight_map" in `model.safetensors.index.json`. CS_ERR_INPUT if neither exists (if
 * pytorch_model.bin exists, with the command that converts it), or if index and shards disagree on
 * a tensor. Keeps a descriptor open for each shard. */
cs_status cs_safetensors_open_model(const char *directory, cs_safetensors **out) CS_MUST_CHECK;

/* Accepts NULL. Frees entries and metadata too. */
void cs_safetensors_free(cs_safetensors *s);

/* The path of the file that holds an entry. */
const char *cs_safetensors_path(const cs_safetensors *s, const cs_safetensors_entry *entry);

/* Entries in the byte order of their names, 0 <= i < count. */
int64_t cs_safetensors_count(const cs_safetensors *s);
const cs_safetensors_entry *cs_safetensors_at(const cs_safetensors *s, int64_t i);

/* NULL if there is no tensor of that name. O(log count). */
const cs_safetensors_entry *cs_safetensors_find(const cs_safetensors *s, const char *name);

/* Items first..first+count-1 in row-major order, as stored. CS_ERR_USAGE names a range outside the
 * tensor. Threads may read from one object at once. */
cs_status cs_safetensors_read(const cs_safetensors *s, const cs_safetensors_entry *entry,
                              int64_t first, int64_t count, void *out) CS_MUST_CHECK;

/* The same as floats, from BF16, F16 and F32 (exact) and F64 (rounded to nearest; beyond the range:
 * infinity). CS_ERR_INPUT for other types. */
cs_status cs_safetensors_read_f32(const cs_safetensors *s, const cs_safetensors_entry *entry,
                                  int64_t first, int64_t count, float *out) CS_MUST_CHECK;

/* Reads all data and compares their hash with the key "xxh3" of each file that has one;
 * CS_ERR_INPUT names the file and both hashes. A file without the key passes. CS_ERR_INTERRUPT. */
cs_status cs_safetensors_verify(const cs_safetensors *s) CS_MUST_CHECK;

/* Begins a file with these tensors, in this order, and these metadata; it appears on commit. Names
 * and pairs are copied. The data begin at a multiple of 8. CS_ERR_USAGE for a name or key that is
 * repeated or not UTF-8, a tensor "__metadata__", a key "xxh3", and a tensor that would not begin
 * at a multiple of its item size, which readers that map files require: put larger items first. */
cs_status cs_safetensors_writer_open(const char *path, int64_t count,
                                     const cs_safetensors_entry *entries, int64_t pairs,
                                     const cs_safetensors_pair *metadata,
                                     cs_safetensors_writer **out) CS_MUST_CHECK;

/* Writes the next bytes of the data: any part of one tensor. CS_ERR_USAGE if they exceed it. */
cs_status cs_safetensors_writer_put(cs_safetensors_writer *writer, const void *bytes,
                                    int64_t size) CS_MUST_CHECK;

/* Sets the hash, renames the file into place and frees; CS_ERR_USAGE names an incomplete tensor. On
 * failure nothing remains on disk. */
cs_status cs_safetensors_writer_commit(cs_safetensors_writer **writer) CS_MUST_CHECK;

/* Discards the file; accepts a pointer to NULL. */
void cs_safetensors_writer_abort(cs_safetensors_writer **writer);
