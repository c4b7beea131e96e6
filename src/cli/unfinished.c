#include "cli/unfinished.h"

#include <unistd.h>

#include "cli/output.h"
#include "io/file.h"
#include "io/json.h"

static cs_status take_over(const cs_args *args, cs_unfinished *u)
{
    json_t *file = NULL;
    bool go_on = false;
    cs_status status = cs_json_read(u->path, &file);
    if (status == CS_OK) status = cs_output_same_run(args, u->path, file, &go_on);
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
                       .kept = json_pack("{s:o, s:o}", "options", cs_args_json(args), "supposed",
                                         cs_args_names_json(args, true))};
    cs_status status = u.kept && (!dir || u.path) ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !resume) status = cs_output_claim(args, "unfinished.json");
    if (status == CS_OK && dir) status = cs_dir_make(dir);
    if (status == CS_OK && dir && resume && cs_path_exists(u.path)) status = take_over(args, &u);
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
