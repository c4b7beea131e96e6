/* Reading text: UTF-8 by utf8proc. A part that is no UTF-8 is what Unicode calls a maximal subpart:
 * REPLACE gives one U+FFFD for it, as decoders do, LATIN1 one character a byte. */
#include "text/text_file_private.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/gzip.h"
#include "text/utf8_private.h"

/* Most files that a report names. */
enum { REPORTED = 20 };

void cs_text_file_free(cs_text_file *file)
{
    cs_free(file->bytes);
    *file = (cs_text_file){0};
}

void cs_text_hash(cs_text_file *file)
{
    if (file->unhashed > 0) {
        cs_sha256(file->bytes, (size_t)file->unhashed, file->sha256);
        file->unhashed = 0;
    }
}

/* --- bytes that are no UTF-8 ------------------------------------------------------------------ */

/* Bytes of valid UTF-8 without NUL at the start. */
static int64_t valid_prefix(const char *text, int64_t size)
{
    return size - cs_utf8_rest(text, size);
}

/* One bad part at `bad`, of `length` bytes, as text; returns its bytes. At most 3 a byte. */
static int64_t put_right(cs_invalid rule, const uint8_t *bad, int64_t length, char *to)
{
    int64_t written = 0;
    for (int64_t i = 0; i < (rule == CS_INVALID_LATIN1 ? length : 1); ++i) {
        if (rule == CS_INVALID_LATIN1 && bad[i] >= 0x80) {
            to[written++] = (char)(0xC0 | bad[i] >> 6);
            to[written++] = (char)(0x80 | (bad[i] & 0x3F));
        } else {
            memcpy(to + written, "\xEF\xBF\xBD", 3);
            written += 3;
        }
    }
    return written;
}

static cs_status mend(cs_text_rules *rules, char **held, int64_t *size)
{
    int64_t at = valid_prefix(*held, *size), bad = 0;
    if (at == *size) {
        return CS_OK;
    }
    for (int64_t i = at; i < *size;) { /* the size it will have, from above */
        bad += 1;
        i += cs_utf8_bad_part((const uint8_t *)*held + i, *size - i);
        i += valid_prefix(*held + i, *size - i);
    }
    char *out = cs_alloc(*size + 8 * bad + 1, 1); /* a part of 4 bytes at most: 12 for 4 */
    if (!out) return CS_ERR_MEMORY;
    memcpy(out, *held, (size_t)at);
    int64_t to = at;
    while (at < *size) {
        int64_t length = cs_utf8_bad_part((const uint8_t *)*held + at, *size - at);
        to += put_right(rules->rule, (const uint8_t *)*held + at, length, out + to);
        at += length;
        int64_t good = valid_prefix(*held + at, *size - at);
        memcpy(out + to, *held + at, (size_t)good);
        to += good;
        at += good;
    }
    out[to] = '\0';
    rules->bytes += bad;
    cs_free(*held);
    *held = out;
    *size = to;
    return CS_OK;
}

static cs_status gather(cs_refused *refused)
{
    refused->files += 1;
    if (refused->files <= REPORTED) {
        const char *before = refused->report;
        char *longer = cs_format("%s%s%s", before ? before : "", before ? "\n  " : "", cs_reason());
        if (!longer) return CS_ERR_MEMORY;
        cs_free(refused->report);
        refused->report = longer;
    }
    cs_reason_clear();
    return CS_OK;
}

cs_status cs_refused_status(const cs_refused *refused)
{
    static const char advice[] = "give --invalid replace, skip or latin1 to continue";
    const int64_t more = refused->files - REPORTED;
    char rest[48] = "";
    if (more > 0) {
        (void)snprintf(rest, sizeof rest, "\n  and %lld more", (long long)more);
    }
    if (refused->files < 2) {
        return refused->files == 0 ? CS_OK
                                   : cs_fail(CS_ERR_INPUT, "%s; %s", refused->report, advice);
    }
    CS_AUTO_FREE char *text = cs_format("%lld files are not valid UTF-8 (%s):\n  %s%s",
                                        (long long)refused->files, advice, refused->report, rest);
    return text ? cs_fail_lines(CS_ERR_INPUT, text) : CS_ERR_MEMORY;
}

bool cs_text_keeps(cs_text_rules *rules, const char *text, int64_t size)
{
    if (rules->rule != CS_INVALID_SKIP || valid_prefix(text, size) == size) {
        return true;
    }
    rules->documents += 1;
    return false;
}

cs_status cs_text_admit(cs_text_rules *rules, const char *text, int64_t *size, char **mended,
                        bool *keeps)
{
    *keeps = cs_text_keeps(rules, text, *size);
    if (!*keeps || valid_prefix(text, *size) == *size) {
        return CS_OK;
    }
    if (rules->rule == CS_INVALID_REFUSE) {
        const int64_t at = valid_prefix(text, *size);
        return cs_fail(CS_ERR_INPUT,
                       "byte %lld: %s; give --invalid replace, skip or latin1 to continue",
                       (long long)at + 1, text[at] ? "invalid UTF-8" : "NUL byte, not text");
    }
    *mended = cs_alloc(*size + 1, 1);
    if (!*mended) return CS_ERR_MEMORY;
    memcpy(*mended, text, (size_t)*size);
    return mend(rules, mended, size);
}

/* --- a file ----------------------------------------------------------------------------------- */

/* Applies the rule; *refused for a bad file, which is reported at the end. */
static cs_status admit(const char *path, cs_text_rules *rules, char **bytes, int64_t *size,
                       bool *refused)
{
    cs_status status = CS_OK;
    *refused = false;
    switch (rules->rule) {
    case CS_INVALID_SKIP:
        break;
    case CS_INVALID_REPLACE:
    case CS_INVALID_LATIN1:
        status = mend(rules, bytes, size);
        break;
    case CS_INVALID_REFUSE:
        status =
            *size >= 2 && (memcmp(*bytes, "\xFF\xFE", 2) == 0 || memcmp(*bytes, "\xFE\xFF", 2) == 0)
                ? cs_fail(
                      CS_ERR_INPUT,
                      "%s:1: byte 1: the file is UTF-16; convert it with iconv -f UTF-16 -t UTF-8",
                      path)
                : cs_utf8_check(path, *bytes, *size);
        *refused = status == CS_ERR_INPUT;
        if (*refused) status = gather(rules->refused);
        break;
    }
    return status;
}

cs_status cs_text_read(const char *path, cs_text_rules *rules, cs_text_file *out)
{
    static const char mark[] = "\xEF\xBB\xBF";
    cs_text_file file = {0};
    bool refused = false;
    /* not where bytes are put right before it could be taken */
    const bool may =
        rules->hash_later && (rules->rule == CS_INVALID_REFUSE || rules->rule == CS_INVALID_SKIP);
    bool later = false;
    cs_status status =
        cs_file_unpacked(path, &file.bytes, &file.size, file.sha256, may ? &later : NULL);
    file.unhashed = later ? file.size : 0;
    if (status == CS_OK) status = admit(path, rules, &file.bytes, &file.size, &refused);
    if (status != CS_OK || refused) goto done;
    const int64_t skip = file.size >= 3 && memcmp(file.bytes, mark, 3) == 0 ? 3 : 0;
    file.text = file.bytes + skip;
    file.size -= skip;
    *out = file;
    return CS_OK;
done:
    cs_text_file_free(&file);
    if (status == CS_OK) *out = file;
    return status;
}

/* The offset behind the first line feed at `at` or later; `size` if there is none before `most`. */
static cs_status line_after(int fd, const char *path, int64_t at, int64_t most, int64_t size,
                            int64_t *out)
{
    enum { BUFFER = 1 << 16 };
    CS_AUTO_FREE char *buffer = cs_alloc(BUFFER, 1);
    cs_status status = buffer ? CS_OK : CS_ERR_MEMORY;
    *out = size;
    while (status == CS_OK && at < most) {
        const int64_t count = most - at < BUFFER ? most - at : BUFFER;
        status = cs_file_read_at(fd, path, at, count, buffer);
        const char *found = status == CS_OK ? memchr(buffer, '\n', (size_t)count) : NULL;
        if (found) {
            *out = at + (found - buffer) + 1;
            break;
        }
        at += count;
    }
    return status;
}

cs_status cs_text_read_range(const char *path, int64_t from, int64_t to, cs_text_rules *rules,
                             cs_text_file *out)
{
    static const char mark[] = "\xEF\xBB\xBF";
    cs_text_file file = {0};
    int fd = -1;
    int64_t size = 0, begin = 0, end = 0;
    bool refused = false;
    cs_status status = cs_file_open(path, &fd, &size);
    to = to < size ? to : size;
    end = size;
    if (status == CS_OK && from > 0) status = line_after(fd, path, from - 1, to, to, &begin);
    if (status == CS_OK && to < size && begin < to)
        status = line_after(fd, path, to - 1, size, size, &end);
    end = begin < to ? end : begin;
    if (status == CS_OK && !(file.bytes = cs_alloc(end - begin + 1, 1))) status = CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_file_read_at(fd, path, begin, end - begin, file.bytes);
    if (fd >= 0) (void)close(fd);
    if (status == CS_OK) {
        file.size = end - begin;
        file.bytes[file.size] = '\0';
        status = admit(path, rules, &file.bytes, &file.size, &refused);
    }
    if (status != CS_OK || refused) {
        cs_text_file_free(&file);
    } else {
        const int64_t skip =
            begin == 0 && file.size >= 3 && memcmp(file.bytes, mark, 3) == 0 ? 3 : 0;
        file.text = file.bytes + skip;
        file.size -= skip;
    }
    if (status == CS_OK) *out = file;
    return status;
}
