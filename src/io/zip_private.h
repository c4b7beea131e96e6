/* The records of ZIP archives (PKWARE's APPNOTE.TXT 6.3.9), which npz_write.c writes, and the reader
 * of such archives. Private to src/io.
 *
 * An archive has members, each behind a local header, then the directory with an entry for each
 * member, then the end record. Numbers that do not fit their fields are in an extra field (zip64) or
 * in an end record of their own. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* The first four bytes of each record as a little-endian number. */
enum {
    CS_ZIP_LOCAL = 0x04034b50,
    CS_ZIP_ENTRY = 0x02014b50,
    CS_ZIP_END = 0x06054b50,
    CS_ZIP_WIDE_END = 0x06064b50,
    CS_ZIP_LOCATOR = 0x07064b50, /* of the wide end */
};

/* Bytes of each record without names, extra fields and comments. */
enum {
    CS_ZIP_LOCAL_SIZE = 30,
    CS_ZIP_ENTRY_SIZE = 46,
    CS_ZIP_END_SIZE = 22,
    CS_ZIP_WIDE_END_SIZE = 56,
    CS_ZIP_LOCATOR_SIZE = 20,
    CS_ZIP_EXTRA_SIZE = 4,
};

enum {
    CS_ZIP_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13, /* flags: data, strongly, also the directory */
    CS_ZIP_DESCRIPTOR =
        1 << 3,             /* flag: sizes and CRC follow the data, the local header has zeros */
    CS_ZIP_UTF_8 = 1 << 11, /* flag: the name is UTF-8 */
    CS_ZIP_STORED = 0,      /* method */
    CS_ZIP_DEFLATED = 8,    /* method */
    CS_ZIP_EXTRA_WIDE = 1,  /* id of the extra field with numbers of 64 bits */
};

/* In a field of 32 bits: the extra field or the wide end has the number. */
#define CS_ZIP_WIDE INT64_C(0xffffffff)

typedef struct {
    const char *name;
    int flags, method;
    uint32_t crc;
    int64_t size, packed; /* bytes of the content; bytes that it takes in the archive */
    int64_t at, data;     /* offsets of the local header and of the packed content */
} cs_zip_entry;

/* An archive that is open for reading. Several threads may read members at once. */
typedef struct {
    char *path;
    int fd;
    int64_t entries;
    cs_zip_entry *entry;    /* as the directory lists them */
    cs_zip_entry **by_name; /* sorted */
    char *directory;        /* holds the names */
} cs_zip;

/* Opens an archive. No two members have the same name, each local header agrees with the directory,
 * and members lie before the directory without overlapping. Memory is bounded by the size of the
 * file. Freed by cs_zip_free, which accepts an object whose descriptor is -1 and that is zero
 * otherwise.
 *
 * CS_ERR_IO; CS_ERR_INPUT: not an archive, damaged, or divided among several files. */
cs_status cs_zip_open(const char *path, cs_zip *out) CS_MUST_CHECK;
void cs_zip_free(cs_zip *zip);

/* The member of a name, NULL if there is none. */
const cs_zip_entry *cs_zip_find(const cs_zip *zip, const char *name);

/* A member that is read from its beginning to its end. */
typedef struct cs_zip_stream cs_zip_stream;

/* Begins to read a member, which is stored or deflated; `zip`, `entry` and `what`, its name in
 * messages, are borrowed. Freed by cs_zip_stream_free, which accepts NULL. CS_ERR_MEMORY. */
cs_status cs_zip_stream_open(const cs_zip *zip, const cs_zip_entry *entry, const char *what,
                             cs_zip_stream **out) CS_MUST_CHECK;
void cs_zip_stream_free(cs_zip_stream *stream);

/* Reads up to `want` bytes of the content; fewer only at its end (read of cs_npy_source). Large
 * parts of a stored member are read by all threads. With the last byte the content must end and its
 * CRC hold.
 *
 * CS_ERR_IO; CS_ERR_INPUT: damaged; CS_ERR_INTERRUPT */
cs_status cs_zip_stream_read(void *stream, void *out, int64_t want, int64_t *got) CS_MUST_CHECK;
