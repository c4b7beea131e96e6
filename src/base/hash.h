/* Hashes: XXH3 128-bit for keys inside a run, SHA-256 for the identity of files. */
#ifndef CS_BASE_HASH_H
#define CS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    uint64_t high, low;
} cs_hash128;

/* XXH3-128 of `size` bytes under a seed. */
cs_hash128 cs_hash(const void *bytes, size_t size, uint64_t seed);

/* cs_hash of the two words, each in the byte order of little-endian machines, under a seed: XXH3's
 * own branch for 16 bytes (xxHash 0.8, XXH3_len_9to16_128b with the default secret), inline, for
 * the loops that make a key an item. O(1): six multiplications. */
static inline cs_hash128 cs_hash_words(uint64_t first, uint64_t second, uint64_t seed)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t flip_low = UINT64_C(0x59973f0033362349) - seed;
    const uint64_t flip_high = UINT64_C(0xc202797692d63d58) + seed;
    wide m = (wide)(first ^ second ^ flip_low) * UINT64_C(0x9e3779b185ebca87);
    uint64_t low = (uint64_t)m + (UINT64_C(15) << 54), high = (uint64_t)(m >> 64);
    second ^= flip_high;
    high += second + (second & UINT32_MAX) * UINT64_C(0x85ebca76);
    low ^= __builtin_bswap64(high);
    m = (wide)low * UINT64_C(0xc2b2ae3d27d4eb4f);
    low = (uint64_t)m;
    high = (uint64_t)(m >> 64) + high * UINT64_C(0xc2b2ae3d27d4eb4f);
    low = (low ^ low >> 37) * UINT64_C(0x165667919e3779f9);
    high = (high ^ high >> 37) * UINT64_C(0x165667919e3779f9);
    return (cs_hash128){.high = high ^ high >> 32, .low = low ^ low >> 32};
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

/* SHA-256 of bytes in memory. */
void cs_sha256(const void *bytes, size_t size, char hex[65]);

#endif
