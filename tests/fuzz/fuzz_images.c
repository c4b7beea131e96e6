/* libFuzzer target of the readers of pictures and of corpora of images: `make fuzz`.
 *
 * The first byte chooses the reader, the rest is the file. Whatever it is, the reader returns a
 * status, touches no memory that is not its own and leaks none; what it accepts has sizes that its
 * memory holds, which is read to the last byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/images.h"
#include "image/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t touch(const uint8_t *bytes, int64_t size)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < size; ++i) {
        sum += bytes[i];
    }
    return sum;
}

static volatile uint64_t sink;

static void decode(const uint8_t *bytes, int64_t size, bool sizes_only)
{
    cs_picture p = {0};
    if (cs_picture_decode("fuzz", bytes, size, sizes_only, &p) == CS_OK && !sizes_only) {
        sink += touch(p.pixel, p.height * p.width * p.channels);
    }
    cs_picture_free(&p);
}

static void load(const char *ending, const uint8_t *bytes, size_t size)
{
    char path[64];
    cs_images m = {0};
    (void)snprintf(path, sizeof path, "/dev/shm/cospec-fuzz-%ld%s", (long)getpid(), ending);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        abort();
    }
    if (cs_images_load(path, &(cs_images_options){.threads = 1, .test_share = -1}, &m) == CS_OK) {
        sink += touch(m.pixel, m.count * m.height * m.width * m.channels);
        for (int64_t i = 0; i < m.count; ++i) {
            if (m.label[i] >= m.labels) {
                abort();
            }
        }
    }
    cs_images_free(&m);
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const ending[] = {"-ubyte", ".bin", ".npy", ".npz", "-ubyte.gz"};
    if (size < 1) {
        return 0;
    }
    const unsigned choice = data[0] % 7;
    cs_reason_clear();
    if (choice < 2) {
        decode(data + 1, (int64_t)size - 1, choice == 1);
    } else {
        load(ending[choice - 2], data + 1, size - 1);
    }
    cs_reason_clear();
    return 0;
}
