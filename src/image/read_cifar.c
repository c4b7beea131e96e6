/* CIFAR-10's binary version (Krizhevsky, 2009): records of a class and the planes of 32 x 32. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "image/images_private.h"
#include "io/file.h"
#include "io/gzip.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, RECORD = 1 + 3 * PLANE, CLASSES = 10 };

/* Reads the records of one file into out, from picture `first` on. */
static cs_status take_records(const char *path, const uint8_t *bytes, int64_t records,
                              int64_t first, cs_images *out)
{
    for (int64_t r = 0; r < records; ++r, bytes += RECORD) {
        if (bytes[0] >= CLASSES) {
            return cs_fail(CS_ERR_INPUT, "%s: byte %lld: class %d of picture %lld is not in 0..%d",
                           path, (long long)(r * RECORD), bytes[0], (long long)r, CLASSES - 1);
        }
        uint8_t *to = out->pixel + (first + r) * 3 * PLANE;
        out->label[first + r] = bytes[0];
        for (int i = 0; i < 3 * PLANE; ++i) {
            to[i] = bytes[1 + i % 3 * PLANE + i / 3];
        }
    }
    return CS_OK;
}

static cs_status read_file(const char *path, char **bytes, int64_t *records, char sha256[65])
{
    int64_t size = 0;
    cs_status status = cs_file_unpacked(path, bytes, &size, sha256, NULL);
    if (status == CS_OK && (size == 0 || size % RECORD != 0))
        status = cs_fail(CS_ERR_INPUT, "%s: %lld bytes are not a multiple of the record size, %d",
                         path, (long long)size, RECORD);
    *records = size / RECORD;
    return status;
}

cs_status cs_cifar_read(const char *path, const cs_images_options *options, cs_images *out)
{
    CS_AUTO_FREE char *bytes = NULL;
    int64_t records = 0;
    cs_status status = read_file(path, &bytes, &records, out->sha256);
    if (status == CS_OK) status = cs_images_allocate(path, records, SIDE, SIDE, 3, out);
    if (status == CS_OK) status = take_records(path, (const uint8_t *)bytes, records, 0, out);
    if (status == CS_OK) status = cs_images_number_classes(path, out);
    if (status == CS_OK) cs_images_hold_out(options, out);
    return status;
}

/* A name a line. */
static cs_status read_names(const char *path, cs_images *out)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read_text(path, 1 << 16, &text, &size);
    if (status == CS_OK) {
        cs_text_list_free(out->label_name, out->labels);
        out->labels = 0;
        out->label_name = cs_calloc(CLASSES, sizeof *out->label_name);
        status = out->label_name ? CS_OK : CS_ERR_MEMORY;
    }
    for (char *line = text, *rest = NULL; status == CS_OK && out->labels < CLASSES; line = NULL) {
        const char *name = strtok_r(line, "\r\n", &rest);
        char *copy = name ? cs_strdup(name) : NULL;
        status = !name  ? cs_fail(CS_ERR_INPUT, "%s: %lld names for %d classes", path,
                                  (long long)out->labels, CLASSES)
                 : copy ? CS_OK
                        : CS_ERR_MEMORY;
        if (status == CS_OK) out->label_name[out->labels++] = copy;
    }
    return status;
}

cs_status cs_cifar_read_directory(const char *path, const cs_images_options *options,
                                  cs_images *out)
{
    (void)options; /* it has a test batch */
    enum { FILES = 6 };
    static const char *const name[FILES] = {"data_batch_1.bin", "data_batch_2.bin",
                                            "data_batch_3.bin", "data_batch_4.bin",
                                            "data_batch_5.bin", "test_batch.bin"};
    char *file[FILES] = {0}, *bytes[FILES] = {0}, listing[FILES * 96] = "";
    int64_t records[FILES] = {0}, all = 0, first = 0;
    size_t length = 0;
    cs_status status = CS_OK;
    for (int f = 0; f < FILES && status == CS_OK; ++f) {
        char sha256[65];
        file[f] = cs_path_join(path, name[f]);
        status = file[f] ? read_file(file[f], &bytes[f], &records[f], sha256) : CS_ERR_MEMORY;
        if (status != CS_OK) break;
        all += records[f];
        length += (size_t)snprintf(listing + length, sizeof listing - length, "%s  %s\n", sha256,
                                   name[f]);
    }
    if (status == CS_OK) status = cs_images_allocate(path, all, SIDE, SIDE, 3, out);
    for (int f = 0; f < FILES && status == CS_OK; ++f) {
        status = take_records(file[f], (const uint8_t *)bytes[f], records[f], first, out);
        first += records[f];
    }
    for (int64_t i = all - records[FILES - 1]; status == CS_OK && i < all; ++i) {
        out->held_out[i] = 1;
    }
    cs_sha256(listing, length, out->sha256);
    for (int f = 0; f < FILES; ++f) {
        cs_free(file[f]);
        cs_free(bytes[f]);
    }
    if (status == CS_OK) status = cs_images_number_classes(path, out);
    CS_AUTO_FREE char *names = status == CS_OK ? cs_path_join(path, "batches.meta.txt") : NULL;
    if (status == CS_OK && !names) status = CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(names)) status = read_names(names, out);
    return status;
}
