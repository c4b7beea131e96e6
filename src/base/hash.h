/* Hashes: XXH3 128-bit for keys inside a run, SHA-256 for the identity of files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL /* the header holds the functions */
#include <xxhash.h>

#include "base/status.h"

typedef struct {
    uint64_t high, low;
} cs_hash128;

/* XXH3-128 of `size` bytes under a seed. */
cs_hash128 cs_hash(const void *bytes, size_t size, uint64_t seed);

/* cs_hash of the two words in memory, inline, for the loops that make a key an item. */
static inline cs_hash128 cs_hash_words(uint64_t first, uint64_t second, uint64_t seed)
{
    const uint64_t words[] = {first, second};
    XXH128_hash_t h = XXH3_128bits_withSeed(words, sizeof words, seed);
    return (cs_hash128){.high = h.high64, .low = h.low64};
}

/* Order on hashes: <0, 0, >0. */
static inline int cs_hash_compare(cs_hash128 a, cs_hash128 b)
{
    if (a.high != b.high) {
        return a.high < b.high ? -1 : 1;
    }
    return a.low < b.low ? -1 : a.low > b.low;
}

/* 32 hex digits, the high half first (the text that xxhsum prints), and a NUL. */
void cs_hash_hex(cs_hash128 hash, char hex[33]);

/* The hash of bytes that come in pieces: cs_hash of them all, however they are cut. */
typedef struct {
    void *state;
} cs_hasher;

/* CS_ERR_MEMORY when there is none. */
cs_status cs_hasher_make(uint64_t seed, cs_hasher *out) CS_MUST_CHECK;
void cs_hasher_add(cs_hasher *hasher, const void *bytes, size_t size);
cs_hash128 cs_hasher_value(const cs_hasher *hasher);
void cs_hasher_free(cs_hasher *hasher);

/* SHA-256 of a whole file as 64 hex digits and a NUL. CS_ERR_IO when it cannot be read or is not a
 * regular file (a pipe could not be read again, a device may never end); CS_ERR_INTERRUPT. */
cs_status cs_sha256_file(const char *path, char hex[65]) CS_MUST_CHECK;

/* XXH3-128 of a whole file (seed 0), ten times as fast. Errors as above, and CS_ERR_MEMORY. */
cs_status cs_xxh3_file(const char *path, char hex[33]) CS_MUST_CHECK;

/* Spares cs_xxh3_file a second reading of a file that this process has written, whose bytes `hasher`
 * (seed 0) has been given: as long as size and time of its last change stay as `before` says, which
 * is from before its bytes were read. Of the last few files. */
struct stat;
void cs_xxh3_remember(const struct stat *before, const cs_hasher *hasher);

/* SHA-256 of bytes in memory. */
void cs_sha256(const void *bytes, size_t size, char hex[65]);

/* Whether the item with this key is in a share in [0, 1] of all, by its hash under the seed. */
static inline bool cs_hash_below(const void *key, size_t size, uint64_t seed, double share)
{
    return (double)(cs_hash(key, size, seed).high >> 11) * 0x1p-53 < share;
}
