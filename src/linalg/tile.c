/* Which vector kernels run here, and aligned room for panels.
 *
 * Own kernels rather than BLAS: BLAS changes its bits with the number of its threads, and one older
 * than the processor falls back to the plainest code that it has.
 */
#include "linalg/tile_private.h"

#include <string.h>

#include "base/mem.h"

int cs_tile_kernels_all(const cs_tile_kernels *out[3])
{
    int count = 0;
    out[count++] = &cs_tile_base;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        out[count++] = &cs_tile_avx2;
    }
    if (__builtin_cpu_supports("avx512f")) {
        out[count++] = &cs_tile_avx512;
    }
#endif
    return count;
}

const cs_tile_kernels *cs_tile_kernels_here(void)
{
    const cs_tile_kernels *all[3];
    return all[cs_tile_kernels_all(all) - 1];
}

enum { LINE = 64 };

void *cs_tile_alloc(int64_t count, int64_t size)
{
    int64_t bytes;
    if (count < 0 || __builtin_mul_overflow(count, size, &bytes) ||
        bytes > INT64_MAX - 2 * (int64_t)LINE) {
        bytes = -1; /* cs_alloc says so */
    }
    char *raw = cs_alloc(bytes < 0 ? -1 : bytes + LINE + (int64_t)sizeof(char *), 1);
    if (!raw) {
        return NULL;
    }
    uintptr_t at = ((uintptr_t)raw + sizeof(char *) + LINE - 1) / LINE * LINE;
    memcpy((char *)at - sizeof raw, &raw, sizeof raw); /* what to free */
    return (char *)at;
}

void cs_tile_free(void *memory)
{
    if (memory) {
        char *raw;
        memcpy(&raw, (char *)memory - sizeof raw, sizeof raw);
        cs_free(raw);
    }
}
