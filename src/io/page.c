/* Pages from templates (page.h). Slots are filled in an order in which no content is searched for
 * another slot: the data, which come from anywhere, are the last. */
#include "io/page.h"

#include <stdlib.h>
#include <string.h>

#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "base/auto.h"
#include "io/file.h"
#include "io/share.h"

enum { TEMPLATE_LIMIT = 1 << 20, DIGITS = 12 };

static cs_status read_part(const char *relative, char **out)
{
    CS_AUTO_FREE char *path = NULL;
    int64_t size = 0;
    cs_status status = cs_share_path(relative, &path);
    return status == CS_OK ? cs_file_read_text(path, TEMPLATE_LIMIT, out, &size) : status;
}

/* Replaces a slot, which the template has once. */
static cs_status fill_slot(char **page, const char *slot, const char *text)
{
    char *at = strstr(*page, slot);
    if (!at) return cs_fail(CS_ERR_INPUT, "the template of the page has no %s", slot);
    char *filled = cs_format("%.*s%s%s", (int)(at - *page), *page, text, at + strlen(slot));
    if (!filled) return CS_ERR_MEMORY;
    cs_free(*page);
    *page = filled;
    return CS_OK;
}

static cs_status fill_part(char **page, const char *slot, const char *file)
{
    CS_AUTO_FREE char *part = NULL;
    cs_status status = read_part(file, &part);
    return status == CS_OK ? fill_slot(page, slot, part) : status;
}

/* The policy names the script by its SHA-256 in base64. */
static cs_status fill_hash(char **page)
{
    static const char opens[] = "<script>";
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = {0};
    const char *code = strstr(*page, opens), *end = code ? strstr(code, "</script>") : NULL;
    if (!end) return cs_fail(CS_ERR_INPUT, "the template of the page has no script");
    code += strlen(opens);
    sha256_init(&context);
    sha256_update(&context, (size_t)(end - code), (const uint8_t *)code);
    sha256_digest(&context, sizeof digest, digest);
    base64_encode_raw(text, sizeof digest, digest);
    return fill_slot(page, "{{hash}}", text);
}

/* JSON has <, > and & in strings only, where an escape means the same. */
static cs_status put_json(cs_outfile *file, const char *json)
{
    cs_status status = CS_OK;
    while (*json && status == CS_OK) {
        const size_t plain = strcspn(json, "<>&");
        status = cs_outfile_put(file, json, (int64_t)plain);
        json += plain;
        if (status == CS_OK && *json) {
            char escape[8];
            const int size = snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*json++);
            status = cs_outfile_put(file, escape, size);
        }
    }
    return status;
}

static cs_status put_page(const char *page, const json_t *data, const char *path)
{
    static const char slot[] = "{{data}}";
    const char *at = strstr(page, slot);
    if (!at) return cs_fail(CS_ERR_INPUT, "the template of the page has no %s", slot);
    char *json = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS));
    cs_outfile file = {0};
    cs_status status = json ? cs_outfile_open(path, &file) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_outfile_put(&file, page, at - page);
    if (status == CS_OK) status = put_json(&file, json);
    at += strlen(slot);
    if (status == CS_OK) status = cs_outfile_put(&file, at, (int64_t)strlen(at));
    if (status == CS_OK) status = cs_outfile_commit(&file);
    cs_outfile_abort(&file);
    free(json);
    return status;
}

cs_status cs_page_write(const char *name, const json_t *data, const char *path)
{
    CS_AUTO_FREE char *template = cs_format("plots/%s.html", name), *page = NULL;
    cs_status status = template ? read_part(template, &page) : CS_ERR_MEMORY;
    if (status == CS_OK) status = fill_part(&page, "{{head}}", "plots/page-head.html");
    if (status == CS_OK) status = fill_part(&page, "{{shared}}", "plots/page.js");
    if (status == CS_OK) status = fill_hash(&page);
    return status == CS_OK ? put_page(page, data, path) : status;
}
