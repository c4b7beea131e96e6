/* libFuzzer's entry: `fuzz --reader=NAME corpus...` (make fuzz), `fuzz --list`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fuzz_reader *chosen;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; ++i) {
        const char *word = (*argv)[i];
        if (strncmp(word, "--reader=", 9) == 0) {
            chosen = fuzz_reader_by_name(word + 9);
        } else if (strcmp(word, "--list") == 0) {
            for (int r = 0; fuzz_reader_at(r); ++r) {
                (void)puts(fuzz_reader_at(r)->name);
            }
            exit(0);
        }
    }
    if (!chosen) {
        (void)fputs("fuzz: --reader=NAME, one of --list\n", stderr);
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)fuzz_read(chosen, data, size);
    return 0;
}
