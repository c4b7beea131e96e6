/* Checkpoints over training: step1000, checkpoint-2000 and the like. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/study/compare.h"
#include "io/file.h"

/* The number that a name ends with; -1: none. */
static int64_t step_of(const char *name)
{
    enum { DIGITS = 15 };
    const char *end = name + strlen(name), *at = end;
    while (at > name && isdigit((unsigned char)at[-1])) {
        --at;
    }
    return at == end || end - at > DIGITS ? -1 : strtoll(at, NULL, 10);
}

static int by_step(const void *a, const void *b)
{
    const int64_t x = ((const cs_checkpoint *)a)->step, y = ((const cs_checkpoint *)b)->step;
    return (x > y) - (x < y);
}

static cs_status add(const char *dir, const char *name, cs_checkpoints *c)
{
    char *path = cs_path_join(dir, name), *config = path ? cs_path_join(path, "config.json") : NULL;
    cs_status status = config ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && step_of(name) >= 0 && cs_path_exists(config)) {
        const size_t size = strlen(path) + 1;
        char *kept = cs_pool_take(&c->pool, (int64_t)size, 1);
        if (kept) c->at[c->count++] = (cs_checkpoint){step_of(name), memcpy(kept, path, size)};
        status = c->pool.status;
    }
    cs_free(path);
    cs_free(config);
    return status;
}

cs_status cs_checkpoints_of(const char *dir, cs_checkpoints *out)
{
    cs_checkpoints c = {0};
    char **entry = NULL;
    int64_t entries = 0;
    cs_status status = cs_dir_names(dir, &entry, &entries);
    c.at = cs_pool_take(&c.pool, entries, sizeof *c.at);
    if (status == CS_OK) status = c.pool.status;
    for (int64_t i = 0; i < entries && status == CS_OK; ++i) {
        status = add(dir, entry[i], &c);
    }
    if (status == CS_OK && c.count == 0)
        status = cs_fail(CS_ERR_INPUT,
                         "%s: not a model directory and not a directory of checkpoints", dir);
    if (status == CS_OK) qsort(c.at, (size_t)c.count, sizeof *c.at, by_step);
    cs_text_list_free(entry, entries);
    return CS_DELIVER(status, out, c, cs_checkpoints_free);
}

void cs_checkpoints_free(cs_checkpoints *c)
{
    cs_pool_free(&c->pool);
    *c = (cs_checkpoints){0};
}
