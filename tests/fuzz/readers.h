/* Every reader and parser of bytes from outside, by name: what libFuzzer drives (fuzz.c) and the
 * kept inputs are replayed through (test_fuzz.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    const char *name;
    /* The name that cospec would give the file, for readers that depend on the ending; NULL: bytes
     * in memory. */
    const char *ending;
    /* path: of a file with these bytes, NULL without an ending. `bytes` have a NUL behind them. */
    cs_status (*read)(const char *path, const char *bytes, int64_t size);
} fuzz_reader;

/* NULL behind the last one. */
const fuzz_reader *fuzz_reader_at(int i);
const fuzz_reader *fuzz_reader_by_name(const char *name);

/* Reads an input and frees what came of it. Aborts, with the reason, where the status is none that
 * bad bytes may have: an input is refused as CS_ERR_INPUT, _USAGE or _IO, with a reason, and a few
 * bytes exhaust no memory. The reason stays. */
cs_status fuzz_read(const fuzz_reader *reader, const uint8_t *bytes, size_t size);
