/* Thin wrappers of xxHash and Nettle. */
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <nettle/sha2.h>
#include <xxhash.h>

cs_hash128 cs_hash(const void *bytes, size_t size, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(bytes, size, seed);
    return (cs_hash128){.high = h.high64, .low = h.low64};
}

void cs_hash_hex(cs_hash128 hash, char hex[33])
{
    (void)snprintf(hex, 33, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

cs_status cs_hasher_make(uint64_t seed, cs_hasher *out)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the state of a hash");
    }
    (void)XXH3_128bits_reset_withSeed(state, seed); /* fails for NULL only, as do the calls below */
    *out = (cs_hasher){state};
    return CS_OK;
}

void cs_hasher_add(cs_hasher *hasher, const void *bytes, size_t size)
{
    (void)XXH3_128bits_update(hasher->state, bytes, size);
}

cs_hash128 cs_hasher_value(const cs_hasher *hasher)
{
    XXH128_hash_t h = XXH3_128bits_digest(hasher->state);
    return (cs_hash128){.high = h.high64, .low = h.low64};
}

void cs_hasher_free(cs_hasher *hasher)
{
    (void)XXH3_freeState(hasher->state);
    *hasher = (cs_hasher){0};
}

static void finish(struct sha256_ctx *ctx, char hex[65])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(ctx, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; ++i) {
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
}

cs_status cs_sha256_file(const char *path, char hex[65])
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    uint8_t buffer[1 << 16];
    size_t got;
    while ((got = fread(buffer, 1, sizeof buffer, f)) > 0) {
        sha256_update(&ctx, got, buffer);
    }
    bool bad = ferror(f) != 0;
    (void)fclose(f); /* opened for reading: nothing to lose */
    if (bad) {
        return cs_fail(CS_ERR_IO, "%s: read error", path);
    }
    finish(&ctx, hex);
    return CS_OK;
}

void cs_sha256(const void *bytes, size_t size, char hex[65])
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, size, bytes);
    finish(&ctx, hex);
}
