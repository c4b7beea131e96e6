/* ZIP archives: end record, directory and local headers are read and compared, as npz_write.c and
 * other programs write them (PKWARE's APPNOTE.TXT 6.3.9).
 *
 * Places count from the beginning of the file, and the directory must end where the end record begins,
 * so an archive behind other bytes (a self-extracting one) is refused as damage. A comment may follow
 * the end record, and zeros may follow that, as tar pads what it writes to a pipe. Nothing is
 * believed before it is compared with the size of the file, and members that share bytes, with which
 * a small archive could unpack to a large size, are refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/zip_private.h"

/* The longest name and extra field, behind a local header; larger than an end record with its
 * comment. */
enum { SCRATCH = CS_ZIP_LOCAL_SIZE + 2 * UINT16_MAX };

static cs_status damaged(const cs_zip *zip, const char *reason)
{
    return cs_fail(CS_ERR_INPUT, "%s: truncated or damaged archive (%s)", zip->path, reason);
}

static cs_status damaged_member(const cs_zip *zip, const cs_zip_entry *entry, const char *reason)
{
    return cs_fail(CS_ERR_INPUT, "%s: truncated or damaged archive (member %.80s: %s)", zip->path,
                   entry->name, reason);
}

/* Takes a little-endian number from the bytes at *at. */
static uint64_t take(const unsigned char **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
        value |= (uint64_t)(*at)[i] << 8 * i;
    }
    *at += bytes;
    return value;
}

static uint64_t peek(const unsigned char *at, int bytes)
{
    return take(&at, bytes);
}

/* --- the end record --------------------------------------------------------------------------- */

typedef struct {
    uint64_t disk, first_disk, entries_here, entries, size, at;
} end_record;

static end_record take_end(const unsigned char *at, int disk, int count, int offset)
{
    end_record end;
    end.disk = take(&at, disk);
    end.first_disk = take(&at, disk);
    end.entries_here = take(&at, count);
    end.entries = take(&at, count);
    end.size = take(&at, offset);
    end.at = take(&at, offset);
    return end;
}

/* Whether a field of the end record has the number of the wide one, or refers to it. */
static bool agrees(uint64_t narrow, uint64_t wide, uint64_t reference)
{
    return narrow == wide || narrow == reference;
}

/* The wide end record, if a locator lies before the end record at *at. *at receives its offset. */
static cs_status widen_end(const cs_zip *zip, int64_t *at, end_record *end)
{
    unsigned char bytes[CS_ZIP_WIDE_END_SIZE];
    const int64_t locator = *at - CS_ZIP_LOCATOR_SIZE, last = locator - CS_ZIP_WIDE_END_SIZE;
    if (locator < 0) return CS_OK;
    cs_status status = cs_file_read_at(zip->fd, zip->path, locator, CS_ZIP_LOCATOR_SIZE, bytes);
    if (status != CS_OK || peek(bytes, 4) != CS_ZIP_LOCATOR) return status;
    const uint64_t disk = peek(bytes + 4, 4), place = peek(bytes + 8, 8),
                   disks = peek(bytes + 16, 4);
    if (disk > 0 || disks > 1) {
        return damaged(zip, "it is a part of an archive in several files");
    }
    if (last < 0 || place > (uint64_t)last) {
        return damaged(zip, "its zip64 end record is missing");
    }
    status = cs_file_read_at(zip->fd, zip->path, (int64_t)place, CS_ZIP_WIDE_END_SIZE, bytes);
    if (status != CS_OK) return status;
    if (peek(bytes, 4) != CS_ZIP_WIDE_END || peek(bytes + 4, 8) != (uint64_t)locator - place - 12) {
        return damaged(zip, "its zip64 end record is missing");
    }
    const end_record wide = take_end(bytes + 16, 4, 8, 8), narrow = *end;
    if (!agrees(narrow.disk, wide.disk, UINT16_MAX) ||
        !agrees(narrow.first_disk, wide.first_disk, UINT16_MAX) ||
        !agrees(narrow.entries_here, wide.entries_here, UINT16_MAX) ||
        !agrees(narrow.entries, wide.entries, UINT16_MAX) ||
        !agrees(narrow.size, wide.size, UINT32_MAX) || !agrees(narrow.at, wide.at, UINT32_MAX)) {
        return damaged(zip, "its two end records differ");
    }
    *at = (int64_t)place;
    *end = wide;
    return CS_OK;
}

/* Whether an end record is followed by its comment and zeros alone, `rest` bytes up to the end of the
 * file. */
static bool ends_file(const unsigned char *record, int64_t rest)
{
    int64_t size = (int64_t)peek(record + 20, 2);
    bool ends = peek(record, 4) == CS_ZIP_END && size <= rest;
    for (; ends && size < rest; ++size) {
        ends = record[CS_ZIP_END_SIZE + size] == 0;
    }
    return ends;
}

/* The last bytes that are an end record up to the end of the file. */
static cs_status find_end(const cs_zip *zip, int64_t file_size, unsigned char *scratch,
                          end_record *end)
{
    const int64_t tail = cs_least(file_size, CS_ZIP_END_SIZE + UINT16_MAX);
    cs_status status = cs_file_read_at(zip->fd, zip->path, file_size - tail, tail, scratch);
    if (status != CS_OK) return status;
    int64_t i = tail - CS_ZIP_END_SIZE;
    while (i >= 0 && !ends_file(scratch + i, tail - i - CS_ZIP_END_SIZE)) {
        --i;
    }
    if (i < 0) {
        return damaged(zip, "it has no end record");
    }
    int64_t at = file_size - tail + i;
    *end = take_end(scratch + i + 4, 2, 2, 4);
    status = widen_end(zip, &at, end);
    if (status != CS_OK) return status;
    if (end->disk > 0 || end->first_disk > 0 || end->entries_here != end->entries) {
        return damaged(zip, "it is a part of an archive in several files");
    }
    if (end->size > (uint64_t)at || end->at != (uint64_t)at - end->size ||
        end->entries > end->size / CS_ZIP_ENTRY_SIZE) {
        return damaged(zip, "its directory is not where its end record says");
    }
    return CS_OK;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Replaces the numbers that are in the extra field for numbers of 64 bits, if there is one. False if
 * the extra fields are damaged or a number is too large. */
static bool widen(const unsigned char *extra, const unsigned char *end, int count,
                  int64_t *const number[])
{
    while (end - extra >= CS_ZIP_EXTRA_SIZE) {
        const uint64_t id = take(&extra, 2);
        const int length = (int)take(&extra, 2);
        if (length > end - extra) return false;
        const unsigned char *next = extra + length;
        for (int i = 0; i < count && id == CS_ZIP_EXTRA_WIDE; ++i) {
            if (*number[i] == CS_ZIP_WIDE) {
                if (next - extra < 8) return false;
                const uint64_t wide = take(&extra, 8);
                if (wide > INT64_MAX) return false;
                *number[i] = (int64_t)wide;
            }
        }
        if (id == CS_ZIP_EXTRA_WIDE) break;
        extra = next;
    }
    return true;
}

/* The fields that a local header and a directory entry share, from the flags on. */
static const unsigned char *take_common(const unsigned char *at, cs_zip_entry *entry,
                                        int *name_size, int *extra_size)
{
    entry->flags = (int)take(&at, 2);
    entry->method = (int)take(&at, 2);
    at += 4; /* time and date */
    entry->crc = (uint32_t)take(&at, 4);
    entry->packed = (int64_t)take(&at, 4);
    entry->size = (int64_t)take(&at, 4);
    *name_size = (int)take(&at, 2);
    *extra_size = (int)take(&at, 2);
    return at;
}

/* The entry at *at, of at most `left` bytes; *at receives the place of the next. */
static cs_status read_entry(const cs_zip *zip, unsigned char **at, int64_t left,
                            cs_zip_entry *entry)
{
    int name_size = 0, extra_size = 0;
    if (left < CS_ZIP_ENTRY_SIZE || peek(*at, 4) != CS_ZIP_ENTRY) {
        return damaged(zip, "its directory has fewer entries than its end record says");
    }
    const unsigned char *p = take_common(*at + 8, entry, &name_size, &extra_size);
    const int comment_size = (int)take(&p, 2);
    const uint64_t disk = take(&p, 2);
    p += 6; /* attributes */
    entry->at = (int64_t)take(&p, 4);
    const int64_t size = (int64_t)CS_ZIP_ENTRY_SIZE + name_size + extra_size + comment_size;
    if (left < size) {
        return damaged(zip, "an entry of its directory is too long");
    }
    if (disk > 0) {
        return damaged(zip, "it is a part of an archive in several files");
    }
    unsigned char *name = *at + CS_ZIP_ENTRY_SIZE;
    const unsigned char *extra = name + name_size;
    const bool wide = widen(extra, extra + extra_size, 3,
                            (int64_t *[]){&entry->size, &entry->packed, &entry->at});
    /* Shifted over the last byte of the fields before it, the name has space for a NUL. */
    memmove(name - 1, name, (size_t)name_size);
    name[name_size - 1] = '\0';
    entry->name = (const char *)name - 1;
    *at += size;
    if (strlen(entry->name) != (size_t)name_size) {
        return damaged_member(zip, entry, "its name contains a NUL");
    }
    return wide ? CS_OK : damaged_member(zip, entry, "an invalid extra field");
}

static bool is_zero_or(int64_t value, int64_t expected)
{
    return value == 0 || value == expected;
}

/* Whether sizes and CRC are those of the directory; zeros stand for those that follow the data. */
static bool same_content(const cs_zip_entry *local, const cs_zip_entry *entry)
{
    return local->flags & CS_ZIP_DESCRIPTOR
               ? is_zero_or(local->crc, entry->crc) && is_zero_or(local->size, entry->size) &&
                     is_zero_or(local->packed, entry->packed)
               : local->crc == entry->crc && local->size == entry->size &&
                     local->packed == entry->packed;
}

#define TOO_LONG "it does not end before the next member or the directory"

/* Compares the local header of an entry with it, and finds its data. They end before `end`, where the
 * next member or the directory begins. */
static cs_status check_local(const cs_zip *zip, cs_zip_entry *entry, int64_t end,
                             unsigned char *scratch)
{
    cs_zip_entry local = {0};
    int name_size = 0, extra_size = 0;
    cs_status status = cs_file_read_at(zip->fd, zip->path, entry->at, CS_ZIP_LOCAL_SIZE, scratch);
    if (status != CS_OK) return status;
    const bool header = peek(scratch, 4) == CS_ZIP_LOCAL;
    (void)take_common(scratch + 6, &local, &name_size, &extra_size);
    entry->data = entry->at + CS_ZIP_LOCAL_SIZE + name_size + extra_size;
    if (header && (entry->data > end || entry->packed > end - entry->data)) {
        return damaged_member(zip, entry, TOO_LONG);
    }
    if (header)
        status = cs_file_read_at(zip->fd, zip->path, entry->at + CS_ZIP_LOCAL_SIZE,
                                 name_size + extra_size, scratch);
    if (status != CS_OK) return status;
    const unsigned char *extra = scratch + name_size;
    const bool same =
        header && (size_t)name_size == strlen(entry->name) &&
        memcmp(scratch, entry->name, (size_t)name_size) == 0 &&
        widen(extra, extra + extra_size, 2, (int64_t *[]){&local.size, &local.packed}) &&
        local.method == entry->method && !((local.flags ^ entry->flags) & CS_ZIP_ENCRYPTED) &&
        same_content(&local, entry);
    return same ? CS_OK : damaged_member(zip, entry, "its header differs from its directory entry");
}

/* --- the archive ------------------------------------------------------------------------------ */

static int by_place(const void *x, const void *y)
{
    const cs_zip_entry *a = *(const cs_zip_entry *const *)x, *b = *(const cs_zip_entry *const *)y;
    return CS_ORDER(a->at, b->at);
}

static int by_name(const void *x, const void *y)
{
    const cs_zip_entry *a = *(const cs_zip_entry *const *)x, *b = *(const cs_zip_entry *const *)y;
    return strcmp(a->name, b->name);
}

/* Whether the header of an entry, its name and its data fit before `end`. */
static bool fits(const cs_zip_entry *entry, int64_t end)
{
    return entry->at <= end &&
           end - entry->at - CS_ZIP_LOCAL_SIZE - (int64_t)strlen(entry->name) >= entry->packed;
}

/* Where the i-th member from the beginning must end. */
static int64_t end_of(const cs_zip *zip, int64_t i, int64_t directory)
{
    return i + 1 < zip->entries ? zip->by_name[i + 1]->at : directory;
}

/* Members lie before `directory`, and no two share bytes. The entries alone show this for all but the
 * extra fields, before any header is read: an archive could list one header millions of times. */
static cs_status check_places(cs_zip *zip, int64_t directory, unsigned char *scratch)
{
    cs_zip_entry **order = zip->by_name;
    for (int64_t i = 0; i < zip->entries; ++i) {
        order[i] = &zip->entry[i];
    }
    qsort(order, (size_t)zip->entries, sizeof *order, by_place);
    for (int64_t i = 0; i < zip->entries; ++i) {
        if (!fits(order[i], end_of(zip, i, directory))) {
            return damaged_member(zip, order[i], TOO_LONG);
        }
    }
    cs_status status = CS_OK;
    for (int64_t i = 0; i < zip->entries && status == CS_OK; ++i) {
        status = cs_interrupt_check();
        if (status == CS_OK)
            status = check_local(zip, order[i], end_of(zip, i, directory), scratch);
    }
    return status;
}

static cs_status check_names(const cs_zip *zip)
{
    cs_zip_entry **order = zip->by_name;
    qsort(order, (size_t)zip->entries, sizeof *order, by_name);
    for (int64_t i = 1; i < zip->entries; ++i) {
        if (strcmp(order[i]->name, order[i - 1]->name) == 0) {
            return cs_fail(CS_ERR_INPUT, "%s: has two members of the same name", zip->path);
        }
    }
    return CS_OK;
}

static cs_status read_directory(cs_zip *zip, const end_record *end, unsigned char *scratch)
{
    const int64_t size = (int64_t)end->size, place = (int64_t)end->at;
    zip->entries = (int64_t)end->entries;
    zip->directory = cs_alloc(size, 1);
    zip->entry = cs_calloc(zip->entries, sizeof *zip->entry);
    zip->by_name = cs_alloc(zip->entries, sizeof *zip->by_name);
    if (!zip->directory || !zip->entry || !zip->by_name) return CS_ERR_MEMORY;
    cs_status status = cs_file_read_at(zip->fd, zip->path, place, size, zip->directory);
    unsigned char *at = (unsigned char *)zip->directory, *const stop = at + size;
    for (int64_t i = 0; i < zip->entries && status == CS_OK; ++i) {
        status = read_entry(zip, &at, stop - at, &zip->entry[i]);
    }
    if (status == CS_OK && at != stop)
        status = damaged(zip, "its directory has more entries than its end record says");
    if (status == CS_OK) status = check_places(zip, place, scratch);
    return status == CS_OK ? check_names(zip) : status;
}

/* The first bytes say more than that an end record is missing. */
static cs_status check_start(const cs_zip *zip, int64_t file_size)
{
    char start[64] = {0};
    const int64_t got = cs_least(file_size, sizeof start);
    cs_status status = cs_file_read_at(zip->fd, zip->path, 0, got, start);
    if (status == CS_OK) status = cs_lfs_check(zip->path, start, got);
    if (status != CS_OK) return status;
    if (memcmp(start, "\x93NUMPY", 6) == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: is an NPY array, not an NPZ archive", zip->path);
    }
    if (memcmp(start, "PK", 2) != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: not a zip archive (bad magic)", zip->path);
    }
    return CS_OK;
}

cs_status cs_zip_open(const char *path, cs_zip *out)
{
    cs_zip zip = {.path = cs_strdup(path), .fd = -1};
    int64_t size = 0;
    end_record end = {0};
    CS_AUTO_FREE unsigned char *scratch = NULL;
    cs_status status = zip.path ? cs_file_open(path, &zip.fd, &size) : CS_ERR_MEMORY;
    if (status == CS_OK) status = check_start(&zip, size);
    if (status == CS_OK) {
        scratch = cs_alloc(SCRATCH, 1);
        status = scratch ? find_end(&zip, size, scratch, &end) : CS_ERR_MEMORY;
    }
    if (status == CS_OK) status = read_directory(&zip, &end, scratch);
    return CS_DELIVER(status, out, zip, cs_zip_free);
}

void cs_zip_free(cs_zip *zip)
{
    if (zip->fd >= 0) {
        (void)close(zip->fd); /* opened for reading: nothing to lose */
    }
    CS_FREE_FIELDS(zip, path, entry, by_name, directory);
    *zip = (cs_zip){.fd = -1};
}

static int to_name(const void *name, const void *entry)
{
    return strcmp(name, (*(const cs_zip_entry *const *)entry)->name);
}

const cs_zip_entry *cs_zip_find(const cs_zip *zip, const char *name)
{
    cs_zip_entry *const *found =
        bsearch(name, zip->by_name, (size_t)zip->entries, sizeof *zip->by_name, to_name);
    return found ? *found : NULL;
}
