/* The table of readers. */
#include "readers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"
#include "readers_private.h"

#define FUZZ_ROW(name, ending, function) {name, ending, function},
static const fuzz_reader READERS[] = {FUZZ_READERS(FUZZ_ROW){NULL, NULL, NULL}};

static volatile uint64_t sink;

void fuzz_touch(const void *memory, int64_t size)
{
    const uint8_t *byte = memory;
    uint64_t sum = 0;
    for (int64_t i = 0; i < size; ++i) {
        sum += byte[i];
    }
    sink += sum;
}

/* A status that bad bytes may have, with a reason. Of memory: what they claim was reckoned, and
 * refused before it was taken. */
static void check(cs_status status)
{
    const bool may = status == CS_OK || status == CS_ERR_USAGE || status == CS_ERR_INPUT ||
                     status == CS_ERR_IO ||
                     (status == CS_ERR_MEMORY && strstr(cs_reason(), "GB of memory are free"));
    if (!may || (status != CS_OK && !*cs_reason())) {
        (void)fprintf(stderr, "status %d: '%s'\n", (int)status, cs_reason());
        abort();
    }
}

void fuzz_also(cs_status status)
{
    check(status);
    cs_reason_clear();
}

const fuzz_reader *fuzz_reader_at(int i)
{
    return READERS[i].name ? &READERS[i] : NULL;
}

const fuzz_reader *fuzz_reader_by_name(const char *name)
{
    for (const fuzz_reader *r = READERS; r->name; ++r) {
        if (strcmp(r->name, name) == 0) {
            return r;
        }
    }
    return NULL;
}

cs_status fuzz_read(const fuzz_reader *reader, const uint8_t *bytes, size_t size)
{
    const char *path = reader->ending ? fuzz_file(reader->ending, bytes, size) : NULL;
    CS_AUTO_FREE char *copy =
        malloc(size + 1); /* exact: one byte beyond the NUL is an error that shows */
    if (!copy) {
        abort();
    }
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    copy[size] = '\0';
    cs_mem_available_at_most((int64_t)256 << 20); /* half of what run.sh has for a finding */
    cs_reason_clear();
    const cs_status status = reader->read(path, copy, (int64_t)size);
    check(status);
    return status;
}
