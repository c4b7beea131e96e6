/* Gzip by zlib, recognised by the file's first bytes. The size that the trailer claims is not
 * believed: memory doubles as the data come, up to half of the free memory. */
#include "io/gzip.h"

#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"

static int64_t most_bytes(void)
{
    int64_t free_now = cs_mem_available();
    return free_now > 0 ? free_now / 2 : INT64_MAX / 2;
}

static cs_status grow(char **bytes, int64_t *capacity, const char *path)
{
    const int64_t most = most_bytes();
    if (*capacity >= most) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: decompresses to more than %lld bytes, half of the free memory", path,
                       (long long)most);
    }
    int64_t larger = *capacity < most / 2 ? 2 * *capacity : most;
    char *grown = cs_realloc(*bytes, larger + 1, 1);
    if (!grown) return CS_ERR_MEMORY;
    *bytes = grown;
    *capacity = larger;
    return CS_OK;
}

/* All members of the file, one after the other. */
static cs_status inflate_all(const char *path, z_stream *z, const char *packed, int64_t size,
                             char **bytes, int64_t *capacity, int64_t *length)
{
    int64_t taken = 0;
    bool within = true; /* a member: its end is seen, not that of the file */
    cs_status status = CS_OK;
    while ((taken < size || within) && status == CS_OK) {
        const int64_t step = size - taken < 1 << 30 ? size - taken : 1 << 30;
        if (*length == *capacity) status = grow(bytes, capacity, path);
        if (status != CS_OK) break;
        const int64_t space = *capacity - *length < 1 << 30 ? *capacity - *length : 1 << 30;
        z->next_in = (z_const Bytef *)(packed + taken);
        z->avail_in = (uInt)step;
        z->next_out = (Bytef *)(*bytes + *length);
        z->avail_out = (uInt)space;
        int code = inflate(z, Z_NO_FLUSH);
        taken += step - z->avail_in;
        *length += space - z->avail_out;
        within = code != Z_STREAM_END;
        if (!within) code = inflateReset(z);
        if (code == Z_MEM_ERROR) return cs_fail(CS_ERR_MEMORY, "%s: out of memory", path);
        if (code != Z_OK) {
            status = cs_fail(CS_ERR_INPUT, "%s: damaged gzip (%s)", path,
                             code == Z_BUF_ERROR ? "it ends early"
                             : z->msg            ? z->msg
                                                 : "not gzip");
        }
    }
    return status;
}

static cs_status unpack(const char *path, char **held, int64_t *size)
{
    enum { GZIP_ALONE = 16 };
    z_stream z = {0};
    char *bytes = NULL;
    int64_t capacity = *size < 1 << 20 ? 1 << 20 : *size, length = 0;
    if (inflateInit2(&z, MAX_WBITS + GZIP_ALONE) != Z_OK) {
        return cs_fail(CS_ERR_MEMORY, "%s: out of memory", path);
    }
    bytes = cs_alloc(capacity + 1, 1);
    cs_status status =
        bytes ? inflate_all(path, &z, *held, *size, &bytes, &capacity, &length) : CS_ERR_MEMORY;
    (void)inflateEnd(&z);
    if (status != CS_OK) {
        cs_free(bytes);
        return status;
    }
    bytes[length] = '\0';
    cs_free(*held);
    *held = bytes;
    *size = length;
    return CS_OK;
}

cs_status cs_file_unpacked(const char *path, char **out, int64_t *size, char sha256[65],
                           bool *later)
{
    char *bytes = NULL;
    cs_status status = cs_file_read(path, most_bytes(), &bytes, size);
    if (status == CS_OK) status = cs_lfs_check(path, bytes, *size);
    if (status != CS_OK) return CS_DELIVER(status, out, bytes, cs_drop);
    const bool packed = *size >= 2 && memcmp(bytes, "\x1F\x8B", 2) == 0;
    if (later && !packed && *size > 0) {
        *later = true;
        sha256[0] = '\0';
    } else {
        cs_sha256(bytes, (size_t)*size, sha256);
    }
    if (packed) status = unpack(path, &bytes, size);
    return CS_DELIVER(status, out, bytes, cs_drop);
}
