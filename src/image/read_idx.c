/* IDX, the format of MNIST (LeCun and Cortes): two zeros, a type (8: unsigned bytes), the number of
 * dimensions, each dimension as four bytes, the highest first, then the values. */
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "image/images_private.h"
#include "io/file.h"
#include "io/gzip.h"

bool cs_idx_is(const uint8_t first[4])
{
    return first[0] == 0 && first[1] == 0 && first[2] == 8 && first[3] >= 1 && first[3] <= 4;
}

/* Reads the header of an array of `low` to `high` dimensions and compares what it says with the
 * size of the file; absent dimensions are 1. *values receives where they begin. */
static cs_status header(const char *path, const uint8_t *bytes, int64_t size, int low, int high,
                        int64_t shape[4], int64_t *values)
{
    const int dimensions = size >= 4 && cs_idx_is(bytes) ? bytes[3] : 0;
    if (dimensions < low || dimensions > high) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: byte 0: not an IDX file of unsigned bytes with %d%s dimensions", path,
                       low, low == high ? "" : " or 4");
    }
    *values = 4 + 4 * dimensions;
    int64_t count = 1;
    for (int d = 0; d < 4; ++d) {
        const uint8_t *at = bytes + 4 + 4 * d;
        shape[d] = 1;
        if (d < dimensions && 8 + 4 * d <= size) {
            shape[d] = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
        }
        if (shape[d] < 1 || shape[d] > size / count) { /* a value is a byte of the file */
            return cs_fail(CS_ERR_INPUT,
                           "%s: byte %d: dimension %d is %lld, but the file has only %lld bytes",
                           path, 4 + 4 * d, d + 1, (long long)shape[d], (long long)size);
        }
        count *= shape[d];
    }
    return count == size - *values
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: %lld bytes follow the header, which announces %lld",
                         path, (long long)(size > *values ? size - *values : 0), (long long)count);
}

/* A copy of a path with the first `old` behind its last slash replaced; unchanged where it has none. */
static char *renamed(const char *path, const char *old, const char *new)
{
    const char *slash = strrchr(path, '/'), *found = strstr(slash ? slash : path, old);
    return found ? cs_format("%.*s%s%s", (int)(found - path), path, new, found + strlen(old))
                 : cs_strdup(path);
}

/* Where the labels of a file of images are, packed or not; NULL: nowhere. */
static cs_status labels_path(const char *images, char **out)
{
    CS_AUTO_FREE char *labels = renamed(images, "images", "labels");
    CS_AUTO_FREE char *of3 = labels ? renamed(labels, "idx3", "idx1") : NULL;
    CS_AUTO_FREE char *plain = of3 ? renamed(of3, "idx4", "idx1") : NULL;
    const int length = plain ? (int)strlen(plain) - (cs_has_suffix(plain, ".gz") ? 3 : 0) : 0;
    cs_status status = plain ? CS_OK : CS_ERR_MEMORY;
    const bool named = labels && strcmp(labels, images) != 0;
    for (int packed = 0; packed < 2 && named && status == CS_OK && !*out; ++packed) {
        char *path = cs_format("%.*s%s", length, plain, packed ? ".gz" : "");
        status = path ? CS_OK : CS_ERR_MEMORY;
        if (path && cs_path_exists(path)) {
            *out = path;
        } else {
            cs_free(path);
        }
    }
    return status;
}

static cs_status read_labels(const char *path, cs_images *out)
{
    char *bytes = NULL, sha256[65];
    int64_t size = 0, shape[4] = {0}, at = 0;
    cs_status status = cs_file_unpacked(path, &bytes, &size, sha256, NULL);
    if (status == CS_OK) status = header(path, (const uint8_t *)bytes, size, 1, 1, shape, &at);
    if (status == CS_OK && shape[0] != out->count)
        status = cs_fail(CS_ERR_INPUT, "%s: %lld labels for %lld pictures", path,
                         (long long)shape[0], (long long)out->count);
    for (int64_t i = 0; status == CS_OK && i < out->count; ++i) {
        out->label[i] = (uint8_t)bytes[at + i];
    }
    cs_free(bytes);
    return status == CS_OK ? cs_images_number_classes(path, out) : status;
}

static cs_status decode(const char *path, const uint8_t *bytes, int64_t size, cs_images *out)
{
    int64_t shape[4] = {0}, at = 0;
    cs_status status = header(path, bytes, size, 3, 4, shape, &at);
    if (status == CS_OK)
        status = cs_images_allocate(path, shape[0], shape[1], shape[2], shape[3], out);
    if (status == CS_OK) memcpy(out->pixel, bytes + at, (size_t)(size - at));
    return status;
}

cs_status cs_idx_read(const char *path, const cs_images_options *options, cs_images *out)
{
    CS_AUTO_FREE char *bytes = NULL, *labels = NULL;
    int64_t size = 0;
    cs_status status = cs_file_unpacked(path, &bytes, &size, out->sha256, NULL);
    if (status == CS_OK) status = decode(path, (const uint8_t *)bytes, size, out);
    if (status == CS_OK) status = labels_path(path, &labels);
    if (status == CS_OK && labels) status = read_labels(labels, out);
    if (status == CS_OK) cs_images_hold_out(options, out);
    return status;
}
