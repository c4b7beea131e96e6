/* Thin wrappers of xxHash and Nettle. */
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/sha2.h>
#include <xxhash.h>

#include "base/auto.h"
#include "base/threads.h"

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

static_assert(sizeof(struct sha256_ctx) <= sizeof(cs_sha256_state), "a state is its bytes");

void cs_sha256_start(cs_sha256_state *state)
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    *state = (cs_sha256_state){{0}};
    memcpy(state->word, &ctx, sizeof ctx);
}

void cs_sha256_add(cs_sha256_state *state, const void *bytes, size_t size)
{
    struct sha256_ctx ctx;
    memcpy(&ctx, state->word, sizeof ctx);
    sha256_update(&ctx, size, bytes);
    memcpy(state->word, &ctx, sizeof ctx);
}

void cs_sha256_value(const cs_sha256_state *state, char hex[65])
{
    struct sha256_ctx ctx;
    memcpy(&ctx, state->word, sizeof ctx);
    finish(&ctx, hex);
}

/* Signals restart a read, so the loop looks at the flag itself. */
static cs_status add_all(int fd, const char *path, void (*add)(void *to, const void *, size_t),
                         void *to)
{
    uint8_t buffer[1 << 16];
    cs_status status = CS_OK;
    while ((status = cs_interrupt_check()) == CS_OK) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return cs_fail(CS_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
        }
        if (got == 0) {
            return CS_OK;
        }
        add(to, buffer, (size_t)got);
    }
    return status;
}

/* The digests of the last files written: a second write of the same file does not wait for the disk
 * again. */
static struct known {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    cs_hash128 hash;
} known[16];
static uint64_t remembered;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

void cs_xxh3_remember(const struct stat *before, const cs_hasher *hasher)
{
    (void)pthread_mutex_lock(&known_lock);
    known[remembered++ % (sizeof known / sizeof *known)] = (struct known){
        before->st_dev, before->st_ino, before->st_size, before->st_mtim, cs_hasher_value(hasher)};
    (void)pthread_mutex_unlock(&known_lock);
}

static bool is_known(const char *path, char hex[33])
{
    struct stat st;
    bool found = false;
    if (stat(path, &st) != 0) {
        return false;
    }
    (void)pthread_mutex_lock(&known_lock);
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        const struct known *k = &known[i];
        if (k->inode == st.st_ino && k->device == st.st_dev && k->size == st.st_size &&
            k->changed.tv_sec == st.st_mtim.tv_sec && k->changed.tv_nsec == st.st_mtim.tv_nsec) {
            cs_hash_hex(k->hash, hex);
            found = true;
        }
    }
    (void)pthread_mutex_unlock(&known_lock);
    return found;
}

static cs_status add_file(const char *path, void (*add)(void *to, const void *, size_t), void *to)
{
    /* A FIFO without a writer would hold up a blocking open for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    cs_status status = CS_OK;
    if (fstat(fd, &st) != 0) {
        status = cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        status = cs_fail(CS_ERR_IO, "%s: not a regular file", path);
    } else {
        status = add_all(fd, path, add, to);
    }
    (void)close(fd); /* opened for reading: nothing to lose */
    return status;
}

static void add_sha256(void *to, const void *bytes, size_t size)
{
    sha256_update(to, size, bytes);
}

cs_status cs_sha256_file(const char *path, char hex[65])
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    cs_status status = add_file(path, add_sha256, &ctx);
    if (status == CS_OK) finish(&ctx, hex);
    return status;
}

static void add_xxh3(void *to, const void *bytes, size_t size)
{
    cs_hasher_add(to, bytes, size);
}

cs_status cs_xxh3_file(const char *path, char hex[33])
{
    CS_AUTO(cs_hasher) hasher = {0};
    if (is_known(path, hex)) {
        return CS_OK;
    }
    cs_status status = cs_hasher_make(0, &hasher);
    if (status == CS_OK && (status = add_file(path, add_xxh3, &hasher)) == CS_OK)
        cs_hash_hex(cs_hasher_value(&hasher), hex);
    return status;
}

void cs_sha256(const void *bytes, size_t size, char hex[65])
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, size, bytes);
    finish(&ctx, hex);
}
