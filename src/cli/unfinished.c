/* Two runs are the same if their options are equal, except options that change how a run proceeds
 * and not its results. */
#include "cli/unfinished.h"

#include <unistd.h>

#include "cli/output.h"
#include "io/file.h"
#include "io/json.h"

static json_t *lasting_options(const cs_args *args)
{
    static const char passing[] = "resume force quiet threads json csv all metric output";
    json_t *options = cs_args_json(args), *value = NULL;
    const char *name = NULL;
    void *next = NULL;
    json_object_foreach_safe(options, next, name, value)
    {
        if (cs_listed(passing, name)) (void)json_object_del(options, name);
    }
    return options;
}

static cs_status take_over(cs_unfinished *u)
{
    json_t *file = NULL;
    cs_status status = cs_json_read(u->path, &file);
    const json_t *options = json_object_get(u->kept, "options");
    if (status == CS_OK && !json_equal(json_object_get(file, "options"), options)) {
        status =
            cs_fail(CS_ERR_USAGE,
                    "%s contains a run with other options; give --force to start again", u->path);
    }
    if (status == CS_OK) {
        json_decref(u->kept);
        u->kept = json_incref(file);
    }
    json_decref(file);
    return status;
}

cs_status cs_unfinished_begin(cs_args *args, cs_unfinished *out)
{
    const char *dir = cs_args_text(args, "output");
    const bool resume = cs_args_flag(args, "resume");
    cs_unfinished u = {.path = dir ? cs_args_join(args, dir, "unfinished.json") : NULL,
                       .kept = json_pack("{s:o}", "options", lasting_options(args))};
    cs_status status = u.kept && (!dir || u.path) ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !resume) status = cs_output_claim(args, "unfinished.json");
    if (status == CS_OK && dir) status = cs_dir_make(dir);
    if (status == CS_OK && dir && resume && cs_path_exists(u.path)) status = take_over(&u);
    if (status != CS_OK) json_decref(u.kept);
    if (status == CS_OK) *out = u;
    return status;
}

cs_status cs_unfinished_save(const cs_unfinished *u)
{
    return u->path ? cs_json_write(u->path, u->kept) : CS_OK;
}

void cs_unfinished_end(cs_unfinished *u, cs_status status)
{
    if (u->path && status == CS_OK) (void)unlink(u->path);
    json_decref(u->kept);
    *u = (cs_unfinished){0};
}
