/* Pages for a browser as files of the user (html_option.h). */
#include "cli/html_option.h"

#include <string.h>

#include "cli/output.h"
#include "io/file.h"
#include "io/page.h"
#include "io/path.h"

/* A mistyped name must not cost a matrix or another file. */
static cs_status check_replaced(const char *path)
{
    static const char opens[] = "<!doctype html>";
    char head[sizeof opens - 1];
    int64_t got = 0;
    cs_status status = cs_file_head(path, head, sizeof head, &got);
    if (status == CS_OK && got > 0 &&
        (got < (int64_t)sizeof head || memcmp(head, opens, sizeof head) != 0))
        return cs_fail(CS_ERR_INPUT, "%s is not a page: --force of --html overwrites only pages",
                       path);
    return status;
}

cs_status cs_page_claim(cs_args *args)
{
    const char *path = cs_args_text(args, "html");
    cs_outfile trial = {0};
    if (!path) return CS_OK;
    if (!cs_args_flag(args, "force") && cs_path_exists(path))
        return cs_fail(CS_ERR_USAGE, "%s exists; --force overwrites it", path);
    cs_status status = cs_outfile_open(path, &trial);
    cs_outfile_abort(&trial);
    if (status == CS_OK && cs_path_exists(path)) status = check_replaced(path);
    return status == CS_OK ? cs_output_begin(args, path) : status;
}

cs_status cs_page_put(cs_args *args, const char *name, const json_t *data)
{
    const char *path = cs_args_text(args, "html");
    cs_status status = cs_page_write(name, data, path);
    if (status == CS_OK) cs_output_note(args, "wrote %s: open it in a browser", path);
    return status;
}
