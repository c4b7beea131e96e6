/* The reader of a build's checkpoint, whose build has two blocks; by itself, since names of its private
 * headers are others elsewhere. */
#include <jansson.h>

#include "base/auto.h"
#include "cooc/build_checkpoint_private.h"
#include "readers_private.h"

cs_status fuzz_counts(const char *path, const char *bytes, int64_t size)
{
    enum { BLOCKS = 2 };
    (void)path;
    cs_block block[BLOCKS] = {{0}};
    CS_AUTO(cs_runs) runs = {0};
    cs_runs_init(&runs, fuzz_folder());
    cs_checkpoint_state state = {
        .blocks = BLOCKS, .block = block, .runs = &runs, .vocab = 4, .labels = 2, .sequences = 3};
    json_auto_t *identity = json_object();
    cs_checkpoint *c = NULL;
    cs_status status = cs_checkpoint_open(fuzz_counts_folder(bytes, size), identity, &c);
    if (status == CS_OK) status = cs_checkpoint_load(c, &state);
    if (c) cs_checkpoint_close(&c);
    return status;
}
