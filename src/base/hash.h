/** \file
 * Hashes: XXH3 with 128 bits for keys and for fast checks of files, SHA-256 for the identity of
 * files.
 *
 * Including this header needs `xxhash.h` (libxxhash-dev).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** \cond INTERNAL */
#define XXH_INLINE_ALL
/** \endcond */

#include <xxhash.h>

#include "base/status.h"

/** A 128-bit hash. */
typedef struct {
    /** The upper 64 bits. */
    uint64_t high;
    /** The lower 64 bits. */
    uint64_t low;
} cs_hash128;

/** XXH3-128 of `size` bytes with a seed. */
cs_hash128 cs_hash(const void *bytes, size_t size, uint64_t seed);

/** cs_hash of two words as they lie in memory (16 bytes), inline. */
static inline cs_hash128 cs_hash_words(uint64_t first, uint64_t second, uint64_t seed)
{
    const uint64_t words[] = {first, second};
    XXH128_hash_t h = XXH3_128bits_withSeed(words, sizeof words, seed);
    return (cs_hash128){.high = h.high64, .low = h.low64};
}

/** Order of two hashes as unsigned 128-bit integers: -1, 0 or 1. */
static inline int cs_hash_compare(cs_hash128 a, cs_hash128 b)
{
    if (a.high != b.high) {
        return a.high < b.high ? -1 : 1;
    }
    return a.low < b.low ? -1 : a.low > b.low;
}

/** Writes a hash as 32 hexadecimal digits and a NUL, the high half first, as `xxhsum -H128` prints
 * it.
 */
void cs_hash_hex(cs_hash128 hash, char hex[33]);

/** The state of a hash over bytes that arrive in pieces. */
typedef struct {
    /** Owned; NULL if empty. */
    void *state;
} cs_hasher;

/** Starts a hash. Free it with cs_hasher_free.
 *
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_hasher_make(uint64_t seed, cs_hasher *out) CS_MUST_CHECK;

/** Appends `size` bytes. */
void cs_hasher_add(cs_hasher *hasher, const void *bytes, size_t size);

/** cs_hash of all bytes added so far, however they were divided into pieces. */
cs_hash128 cs_hasher_value(const cs_hasher *hasher);

/** Frees the state; accepts a zeroed object. */
void cs_hasher_free(cs_hasher *hasher);

/** SHA-256 of a whole file, as 64 hexadecimal digits and a NUL.
 *
 * \retval CS_ERR_IO the file cannot be read, or is not a regular file
 * \retval CS_ERR_INTERRUPT the interrupt flag was set meanwhile
 */
cs_status cs_sha256_file(const char *path, char hex[65]) CS_MUST_CHECK;

/** XXH3-128 with seed 0 of a whole file, as 32 hexadecimal digits and a NUL. About ten times as
 * fast as cs_sha256_file, with the same errors and CS_ERR_MEMORY.
 */
cs_status cs_xxh3_file(const char *path, char hex[33]) CS_MUST_CHECK;

/** \cond INTERNAL */
/* Saves cs_xxh3_file a second pass over a file that this process has written. `hasher` (seed 0)
 * has received its bytes. The hash counts as long as size and modification time of the file are
 * those in `before`, which was taken before its bytes were read. Only the last few files are
 * remembered.
 */
struct stat;
void cs_xxh3_remember(const struct stat *before, const cs_hasher *hasher);
/** \endcond */

/** The state of a SHA-256 over bytes that arrive in pieces: plain data, so that one process can
 * continue what another has begun.
 */
typedef struct {
    /** Opaque. */
    uint64_t word[16];
} cs_sha256_state;

/** Starts a SHA-256. */
void cs_sha256_start(cs_sha256_state *state);

/** Appends `size` bytes. */
void cs_sha256_add(cs_sha256_state *state, const void *bytes, size_t size);

/** SHA-256 of all bytes added so far, as 64 hexadecimal digits and a NUL. */
void cs_sha256_value(const cs_sha256_state *state, char hex[65]);

/** SHA-256 of `size` bytes in memory, as 64 hexadecimal digits and a NUL. */
void cs_sha256(const void *bytes, size_t size, char hex[65]);

/** Selects a share of all items by the hash of their keys: true for a share `share`, in [0, 1], of
 * them, the same items for the same seed.
 */
static inline bool cs_hash_below(const void *key, size_t size, uint64_t seed, double share)
{
    return (double)(cs_hash(key, size, seed).high >> 11) * 0x1p-53 < share;
}
