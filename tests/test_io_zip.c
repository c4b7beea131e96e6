/* io: the reader of ZIP archives: every form that other programs write, made by hand and accepted by
 * libzip too; records that lie; damaged content, whole and in pieces. */
#include <zip.h>
#include <zlib.h>

#include "base/threads.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/zip_private.h"
#include "io_support.h"

enum { ITEMS = 20, MEMBERS = 2, MOST = 1 << 13 };

/* How an archive is written; the fields of struct archive are offsets of what was written. */
enum {
    DEFLATE = 1 << 0,
    WIDE_LOCAL = 1 << 1, /* the local headers have sizes in extra fields, as numpy writes them */
    WIDE_ENTRY = 1 << 2, /* the directory has all numbers in extra fields */
    WIDE_END = 1 << 3,   /* a zip64 end record and its locator */
    DESCRIPTOR = 1 << 4, /* sizes and CRC follow the data, as for a stream that cannot seek */
    COMMENT = 1 << 5,
    FORMS = 1 << 6,
};

typedef struct {
    unsigned char bytes[MOST];
    int64_t size;
    int64_t local[MEMBERS], data[MEMBERS], packed[MEMBERS], entry[MEMBERS];
    int64_t directory, wide_end, locator, end;
} archive;

static const char *const names[MEMBERS] = {"a", "b"};

static void put_bytes(archive *a, const void *bytes, size_t size)
{
    assert_true(a->size + (int64_t)size <= MOST);
    memcpy(a->bytes + a->size, bytes, size);
    a->size += (int64_t)size;
}

static void set(archive *a, int64_t at, int width, uint64_t value)
{
    for (int i = 0; i < width; ++i) {
        a->bytes[at + i] = (unsigned char)(value >> 8 * i);
    }
}

static void put_number(archive *a, int width, uint64_t value)
{
    assert_true(a->size + width <= MOST);
    set(a, a->size, width, value);
    a->size += width;
}

/* Flags to lengths of name and extra field; sizes are saturated where the extra field has them. */
static void put_common(archive *a, int form, uint32_t crc, int64_t packed, int64_t size, bool wide,
                       int extra)
{
    put_number(a, 2, form & DESCRIPTOR ? CS_ZIP_DESCRIPTOR : 0);
    put_number(a, 2, form & DEFLATE ? CS_ZIP_DEFLATED : CS_ZIP_STORED);
    put_number(a, 4, 1 << 21 | 1 << 16);
    put_number(a, 4, crc);
    put_number(a, 4, wide ? UINT32_MAX : (uint64_t)packed);
    put_number(a, 4, wide ? UINT32_MAX : (uint64_t)size);
    put_number(a, 2, 5);
    put_number(a, 2, (uint64_t)extra);
}

static void put_name(archive *a, int member)
{
    char name[8];
    (void)snprintf(name, sizeof name, "%s.npy", names[member]);
    put_bytes(a, name, 5);
}

/* The extra field of 64 bits behind one that nobody knows. */
static void put_extra(archive *a, int count, const int64_t *number)
{
    put_bytes(a, "\x99\x99\3\0abc", 7);
    put_number(a, 2, CS_ZIP_EXTRA_WIDE);
    put_number(a, 2, (uint64_t)(8 * count));
    for (int i = 0; i < count; ++i) {
        put_number(a, 8, (uint64_t)number[i]);
    }
}

static int64_t pack_raw(const void *from, int64_t size, unsigned char *to, int64_t capacity)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)from,
                  .avail_in = (uInt)size,
                  .next_out = to,
                  .avail_out = (uInt)capacity};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    (void)deflateEnd(&z);
    return capacity - z.avail_out;
}

static double item_of(int member, int64_t i)
{
    return (double)(i * i) + member / 4.0;
}

/* The content of a member: an NPY image. */
static int64_t content(int member, unsigned char to[MOST])
{
    CS_AUTO_FREE char *header = NULL;
    int64_t length = 0;
    OK(cs_npy_header(CS_F64, false, 1, &(int64_t){ITEMS}, &header, &length));
    memcpy(to, header, (size_t)length);
    for (int64_t i = 0; i < ITEMS; ++i) {
        const double x = item_of(member, i);
        memcpy(to + length + i * 8, &x, 8);
    }
    return length + (int64_t)ITEMS * 8;
}

static void put_local(archive *a, int form, int member, uint32_t crc, int64_t packed, int64_t size)
{
    const bool wide = form & WIDE_LOCAL, later = form & DESCRIPTOR;
    a->local[member] = a->size;
    put_number(a, 4, CS_ZIP_LOCAL);
    put_number(a, 2, 45);
    put_common(a, form, later ? 0 : crc, later ? 0 : packed, later ? 0 : size, wide, wide ? 27 : 0);
    put_name(a, member);
    if (wide) put_extra(a, 2, later ? (int64_t[]){0, 0} : (int64_t[]){size, packed});
    a->data[member] = a->size;
}

static void put_end(archive *a, int form)
{
    const uint64_t size = (uint64_t)(a->size - a->directory), at = (uint64_t)a->directory;
    if (form & WIDE_END) {
        a->wide_end = a->size;
        put_number(a, 4, CS_ZIP_WIDE_END);
        put_number(a, 8, CS_ZIP_WIDE_END_SIZE - 12);
        put_number(a, 4, 45 | 45 << 16);
        put_number(a, 8, 0);
        put_number(a, 8, MEMBERS);
        put_number(a, 8, MEMBERS);
        put_number(a, 8, size);
        put_number(a, 8, at);
        a->locator = a->size;
        put_number(a, 4, CS_ZIP_LOCATOR);
        put_number(a, 4, 0);
        put_number(a, 8, (uint64_t)a->wide_end);
        put_number(a, 4, 1);
    }
    a->end = a->size;
    put_number(a, 4, CS_ZIP_END);
    put_number(a, 4, 0);
    put_number(a, 4, form & WIDE_END ? UINT32_MAX : MEMBERS | MEMBERS << 16);
    put_number(a, 4, form & WIDE_END ? UINT32_MAX : size);
    put_number(a, 4, form & WIDE_END ? UINT32_MAX : at);
    /* Its end record lacks its end. */
    static const char comment[] = "a comment with PK\5\6, 22 bytes before its end: 123456789";
    put_number(a, 2, form & COMMENT ? sizeof comment : 0);
    if (form & COMMENT) put_bytes(a, comment, sizeof comment);
}

static void make(archive *a, int form)
{
    uint32_t crc[MEMBERS];
    int64_t size[MEMBERS];
    *a = (archive){0};
    for (int m = 0; m < MEMBERS; ++m) {
        unsigned char image[MOST], packed[MOST];
        size[m] = a->packed[m] = content(m, image);
        crc[m] = (uint32_t)crc32(0, image, (uInt)size[m]);
        if (form & DEFLATE) a->packed[m] = pack_raw(image, size[m], packed, MOST);
        put_local(a, form, m, crc[m], a->packed[m], size[m]);
        put_bytes(a, form & DEFLATE ? packed : image, (size_t)a->packed[m]);
        if (form & DESCRIPTOR) {
            put_bytes(a, "PK\7\10", 4);
            put_number(a, 4, crc[m]);
            put_number(a, form & WIDE_LOCAL ? 8 : 4, (uint64_t)a->packed[m]);
            put_number(a, form & WIDE_LOCAL ? 8 : 4, (uint64_t)size[m]);
        }
    }
    a->directory = a->size;
    for (int m = 0; m < MEMBERS; ++m) {
        const bool wide = form & WIDE_ENTRY;
        a->entry[m] = a->size;
        put_number(a, 4, CS_ZIP_ENTRY);
        put_number(a, 4, 63 | 45 << 16);
        put_common(a, form, crc[m], a->packed[m], size[m], wide, wide ? 35 : 0);
        put_number(a, 2, form & COMMENT ? 3 : 0);
        put_number(a, 8, 0);
        put_number(a, 4, wide ? UINT32_MAX : (uint64_t)a->local[m]);
        put_name(a, m);
        if (wide) put_extra(a, 3, (int64_t[]){size[m], a->packed[m], a->local[m]});
        if (form & COMMENT) put_bytes(a, "hm.", 3);
    }
    put_end(a, form);
}

static void write_plainly(const char *path, const void *bytes, int64_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fwrite(bytes, 1, (size_t)size, f) == (size_t)size);
    assert_int_equal(fclose(f), 0);
}

/* Reads a member as a whole; its items must be those of `member`. */
static cs_status read_whole(cs_npz *npz, int member)
{
    CS_AUTO(cs_array) array = {0};
    const cs_status status = cs_npz_read(npz, names[member], &array);
    if (status == CS_OK) {
        assert_int_equal(array.size, ITEMS);
        assert_each(i, 0, ITEMS, cs_array_f64(&array, i) == item_of(member, i));
    }
    return status;
}

/* The same for all members in turn, a few items at a time. */
static cs_status read_in_pieces(cs_npz *npz)
{
    cs_npz_items *items[MEMBERS] = {NULL};
    cs_status status = CS_OK;
    for (int m = 0; m < MEMBERS && status == CS_OK; ++m) {
        int64_t count = 0;
        status = cs_npz_items_open(npz, names[m], &items[m], &count);
        assert_true(status != CS_OK || count == ITEMS);
    }
    enum { SOME = 3 };
    for (int64_t at = 0; at < ITEMS && status == CS_OK; at += SOME) {
        const int64_t some = ITEMS - at < SOME ? ITEMS - at : SOME;
        for (int m = 0; m < MEMBERS && status == CS_OK; ++m) {
            const cs_array *piece = NULL;
            status = cs_npz_items_next(items[m], some, &piece);
            if (status == CS_OK)
                assert_each(i, 0, some, cs_array_f64(piece, i) == item_of(m, at + i));
        }
    }
    for (int m = 0; m < MEMBERS; ++m) {
        cs_npz_items_close(items[m]);
    }
    return status;
}

/* As they are, and padded with zeros, which libzip refuses. */
TEST_IN_DIR(every_form_is_read)
{
    const char *path = in_dir(state, "a.npz");
    for (int i = 0; i < 2 * FORMS; ++i) {
        const int form = i / 2, padding = i % 2 * 300;
        archive a;
        cs_npz *npz = NULL;
        make(&a, form);
        a.size += padding;
        write_plainly(path, a.bytes, a.size);
        zip_t *zip = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, NULL);
        if (!zip && !padding) fail_msg("libzip refuses form %d", form);
        if (zip) zip_discard(zip);
        OK(cs_npz_open(path, 0, &npz));
        assert_int_equal(cs_npz_count(npz), MEMBERS);
        for (int m = 0; m < MEMBERS; ++m) {
            assert_int_equal(cs_npz_member(npz, m)[0], names[m][0]);
            OK(read_whole(npz, m));
        }
        OK(read_in_pieces(npz));
        cs_npz_close(npz);
    }
}

static void opens_not(const char *path, const archive *a, const char *reason)
{
    cs_npz *npz = NULL;
    write_plainly(path, a->bytes, a->size);
    assert_fails(cs_npz_open(path, 0, &npz), CS_ERR_INPUT, reason);
    assert_null(npz);
}

/* Cut at all places of a form with every record. */
TEST_IN_DIR(cut_archives_are_refused)
{
    const char *path = in_dir(state, "a.npz");
    static const int forms[] = {0, WIDE_LOCAL | WIDE_ENTRY | WIDE_END, DEFLATE | COMMENT};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; ++f) {
        archive a;
        make(&a, forms[f]);
        for (const int64_t size = a.size; a.size > 2;) {
            a.size = a.size - 1 - (size > 64 * 16 ? size / 512 : 0);
            opens_not(path, &a, "a.npz: ");
        }
    }
}

/* --- records that lie ------------------------------------------------------------------------- */

#define DIFFERS "(member b.npy: its header differs from its directory entry)"
#define TOO_LONG "it does not end before the next member or the directory)"
#define OUTSIDE "(member b.npy: " TOO_LONG
#define SEVERAL "(it is a part of an archive in several files)"
#define NO_DIRECTORY "(its directory is not where its end record says)"
#define EXTRA "(member b.npy: an invalid extra field)"

enum { OF_LOCAL, OF_ENTRY, OF_END, OF_WIDE_END, OF_LOCATOR };

typedef struct {
    int record, field, width;
    uint64_t value;
    const char *reason;
} lie;

static void lies_are_refused(const char *path, int form, int count, const lie *lies)
{
    for (int i = 0; i < count; ++i) {
        archive a;
        make(&a, form);
        const lie *l = &lies[i];
        const int64_t at[] = {a.local[1], a.entry[1], a.end, a.wide_end, a.locator};
        set(&a, at[l->record] + l->field, l->width, l->value);
        opens_not(path, &a, l->reason);
    }
}

TEST_IN_DIR(records_that_lie_are_refused)
{
    const char *path = in_dir(state, "a.npz");
    static const lie lies[] = {
        {OF_LOCAL, 0, 4, CS_ZIP_ENTRY, DIFFERS},
        {OF_LOCAL, 6, 2, 1, DIFFERS}, /* encrypted */
        {OF_LOCAL, 8, 2, CS_ZIP_DEFLATED, DIFFERS},
        {OF_LOCAL, 14, 4, 5, DIFFERS}, /* CRC */
        {OF_LOCAL, 18, 4, 5, DIFFERS}, /* packed bytes */
        {OF_LOCAL, 18, 4, 0, DIFFERS}, /* zero without the flag for it */
        {OF_LOCAL, 22, 4, 5, DIFFERS}, /* bytes */
        {OF_LOCAL, 26, 2, 4, DIFFERS}, /* length of the name */
        {OF_LOCAL, 26, 2, UINT16_MAX, OUTSIDE},
        {OF_LOCAL, 28, 2, 400, OUTSIDE},
        {OF_LOCAL, 28, 2, 4, OUTSIDE}, /* an extra field that moves the data behind their end */
        {OF_LOCAL, 30, 1, 'c', DIFFERS},
        {OF_ENTRY, 0, 4, CS_ZIP_LOCAL,
         "(its directory has fewer entries than its end record says)"},
        {OF_ENTRY, 8, 2, 1 << 6, DIFFERS},
        {OF_ENTRY, 16, 4, 5, DIFFERS},
        {OF_ENTRY, 20, 4, UINT32_MAX, OUTSIDE},
        {OF_ENTRY, 24, 4, 5, DIFFERS},
        {OF_ENTRY, 28, 2, UINT16_MAX, "(an entry of its directory is too long)"},
        {OF_ENTRY, 28, 2, 4, "(its directory has more entries than its end record says)"},
        {OF_ENTRY, 32, 2, 1, "(an entry of its directory is too long)"},
        {OF_ENTRY, 34, 2, 1, SEVERAL},
        {OF_ENTRY, 42, 4, UINT32_MAX, OUTSIDE},
        {OF_ENTRY, 42, 4, 1 << 13, OUTSIDE},
        {OF_ENTRY, 42, 4, 1, "(member a.npy: " TOO_LONG}, /* begins within a */
        {OF_ENTRY, 46, 1, '\0', "(member : its name contains a NUL)"},
        {OF_ENTRY, 46, 1, 'a', "(member a.npy: its header differs from its directory entry)"},
        {OF_END, 0, 4, CS_ZIP_LOCAL, "(it has no end record)"},
        {OF_END, 4, 2, 1, SEVERAL},
        {OF_END, 6, 2, 1, SEVERAL},
        {OF_END, 8, 2, 1, SEVERAL},
        {OF_END, 8, 4, 1 | 1 << 16, "(its directory has more entries than its end record says)"},
        {OF_END, 8, 4, 0, "(its directory has more entries than its end record says)"},
        {OF_END, 8, 4, UINT32_MAX, NO_DIRECTORY},
        {OF_END, 8, 4, 3 | 3 << 16, NO_DIRECTORY},
        {OF_END, 12, 4, UINT32_MAX, NO_DIRECTORY},
        {OF_END, 12, 4, 101, NO_DIRECTORY},
        {OF_END, 16, 4, UINT32_MAX, NO_DIRECTORY},
        {OF_END, 16, 4, 1, NO_DIRECTORY},
        {OF_END, 20, 2, 1, "(it has no end record)"},
    };
    lies_are_refused(path, 0, sizeof lies / sizeof *lies, lies);
}

TEST_IN_DIR(wide_records_that_lie_are_refused)
{
    const char *path = in_dir(state, "a.npz"), *missing = "(its zip64 end record is missing)",
               *differ = "(its two end records differ)";
    enum { EXTRA_LOCAL = 35 + 7, EXTRA_ENTRY = 51 + 7 }; /* of 64 bits, behind the unknown one */
    const uint64_t huge = UINT64_C(1) << 62, negative = UINT64_C(1) << 63;
    const lie lies[] = {
        {OF_LOCAL, EXTRA_LOCAL - 5, 2, 2, DIFFERS}, /* the unknown one */
        {OF_LOCAL, EXTRA_LOCAL, 2, 7, DIFFERS},
        {OF_LOCAL, EXTRA_LOCAL + 2, 2, 15, DIFFERS},
        {OF_LOCAL, EXTRA_LOCAL + 2, 2, 17, DIFFERS},
        {OF_LOCAL, EXTRA_LOCAL + 4, 8, huge, DIFFERS},
        {OF_LOCAL, EXTRA_LOCAL + 12, 8, 5, DIFFERS},
        {OF_ENTRY, EXTRA_ENTRY, 2, 7, OUTSIDE},
        {OF_ENTRY, EXTRA_ENTRY + 2, 2, 23, EXTRA},
        {OF_ENTRY, EXTRA_ENTRY + 2, 2, 25, EXTRA},
        {OF_ENTRY, EXTRA_ENTRY + 4, 8, negative, EXTRA},
        {OF_ENTRY, EXTRA_ENTRY + 4, 8, huge, DIFFERS},
        {OF_ENTRY, EXTRA_ENTRY + 12, 8, INT64_MAX, OUTSIDE},
        {OF_ENTRY, EXTRA_ENTRY + 20, 8, INT64_MAX, OUTSIDE},
        {OF_ENTRY, EXTRA_ENTRY + 20, 8, negative, EXTRA},
        {OF_LOCATOR, 0, 4, 0, NO_DIRECTORY},
        {OF_LOCATOR, 4, 4, 1, SEVERAL},
        {OF_LOCATOR, 16, 4, 2, SEVERAL},
        {OF_LOCATOR, 8, 8, 1, missing},
        {OF_LOCATOR, 8, 8, UINT64_MAX, missing},
        {OF_LOCATOR, 8, 8, huge, missing},
        {OF_WIDE_END, 0, 4, 0, missing},
        {OF_WIDE_END, 4, 8, 45, missing},
        {OF_WIDE_END, 4, 8, UINT64_MAX - 11, missing},
        {OF_WIDE_END, 16, 4, 1, differ},
        {OF_WIDE_END, 20, 4, 1, differ},
        {OF_WIDE_END, 24, 8, 1, SEVERAL},
        {OF_WIDE_END, 40, 8, huge, NO_DIRECTORY},
        {OF_WIDE_END, 40, 8, UINT64_MAX, NO_DIRECTORY},
        {OF_WIDE_END, 48, 8, huge, NO_DIRECTORY},
        {OF_END, 4, 2, 1, differ},
        {OF_END, 6, 2, 1, differ},
        {OF_END, 8, 2, 1, differ},
        {OF_END, 10, 2, 1, differ},
        {OF_END, 12, 4, 1, differ},
        {OF_END, 16, 4, 1, differ},
    };
    lies_are_refused(path, WIDE_LOCAL | WIDE_ENTRY | WIDE_END, sizeof lies / sizeof *lies, lies);
    archive a;
    make(&a, WIDE_END); /* more members than the directory has bytes for: no memory is taken */
    set(&a, a.wide_end + 24, 8, huge);
    set(&a, a.wide_end + 32, 8, huge);
    opens_not(path, &a, NO_DIRECTORY);
    make(&a,
         WIDE_LOCAL | DESCRIPTOR); /* where sizes follow the data, none but theirs may be before */
    set(&a, a.local[1] + EXTRA_LOCAL + 4, 8, 5);
    opens_not(path, &a, DIFFERS);
}

/* Behind an end record only its comment and zeros. */
TEST_IN_DIR(bytes_after_an_archive_are_refused)
{
    archive a;
    make(&a, 0);
    put_bytes(&a, "\0\0x\0", 4);
    opens_not(in_dir(state, "a.npz"), &a, "(it has no end record)");
}

/* Bytes before the first member shift all places. */
TEST_IN_DIR(bytes_before_an_archive_are_refused)
{
    archive a;
    make(&a, 0);
    memmove(a.bytes + 2, a.bytes, (size_t)a.size);
    a.size += 2;
    opens_not(in_dir(state, "a.npz"), &a, NO_DIRECTORY);
}

/* A member inside the content of another one, as bombs have thousands. */
TEST_IN_DIR(members_that_overlap_are_refused)
{
    const char *path = in_dir(state, "a.npz");
    archive inner, a = {0};
    unsigned char image[MOST];
    make(&inner, 0);
    /* The content of the first member ends with the second member. */
    const int64_t own = content(0, image), shared = inner.directory - inner.local[1];
    memcpy(image + own, inner.bytes + inner.local[1], (size_t)shared);
    const int64_t size = own + shared;
    for (int overlap = 0; overlap < 2; ++overlap) {
        const int64_t claimed = overlap ? size : own;
        const uint32_t crc = (uint32_t)crc32(0, image, (uInt)claimed);
        a.size = 0;
        put_local(&a, 0, 0, crc, claimed, claimed);
        put_bytes(&a, image, (size_t)size);
        a.directory = a.size;
        put_bytes(&a, inner.bytes + inner.directory, (size_t)(inner.end - inner.directory));
        set(&a, a.directory + 16, 4, crc);
        set(&a, a.directory + 20, 4, (uint64_t)claimed);
        set(&a, a.directory + 24, 4, (uint64_t)claimed);
        put_end(&a, 0);
        if (overlap) {
            opens_not(path, &a, "(member a.npy: " TOO_LONG);
        } else {
            cs_npz *npz = NULL;
            write_plainly(path, a.bytes, a.size);
            OK(cs_npz_open(path, 0, &npz));
            OK(read_in_pieces(npz));
            cs_npz_close(npz);
        }
    }
}

/* --- content ---------------------------------------------------------------------------------- */

/* Both ways of reading an archive that opens. */
static void reads_not(const char *path, const archive *a, const char *reason)
{
    cs_npz *npz = NULL;
    write_plainly(path, a->bytes, a->size);
    OK(cs_npz_open(path, 0, &npz));
    OK(read_whole(npz, 0));
    assert_fails(read_whole(npz, 1), CS_ERR_INPUT, reason);
    assert_fails(read_in_pieces(npz), CS_ERR_INPUT, reason);
    cs_npz_close(npz);
}

/* Sets a field that local headers and directory share. */
static void set_both(archive *a, int field, uint64_t value)
{
    set(a, a->local[1] + field, 4, value);
    set(a, a->entry[1] + field + 2, 4, value);
}

TEST_IN_DIR(content_that_is_damaged_is_refused)
{
    const char *path = in_dir(state, "a.npz"),
               *wrong = "member b.npy: cannot decompress: CRC error";
    enum { CRC = 14, PACKED = 18, SIZE = 22 };
    archive a;
    for (int form = 0; form <= DEFLATE; ++form) {
        make(&a, form);
        set_both(&a, CRC, 5);
        reads_not(path, &a, wrong);
    }
    make(&a, 0);
    a.bytes[a.data[1] + a.packed[1] - 1] ^= 1;
    reads_not(path, &a, wrong);
    /* Deflated: a last byte of the content, of the deflated bytes; one too few; one too many. */
    for (int form = DEFLATE; form <= (DEFLATE | DESCRIPTOR); form += DESCRIPTOR) {
        unsigned char image[MOST], packed[MOST];
        const int64_t size = content(1, image);
        image[size - 1] ^= 1;
        make(&a, form);
        const int64_t bytes = pack_raw(image, size, packed, MOST);
        if (bytes == a.packed[1]) {
            memcpy(a.bytes + a.data[1], packed, (size_t)bytes);
            reads_not(path, &a, wrong);
        } else {
            fail_msg("%d and %d deflated bytes", (int)bytes, (int)a.packed[1]);
        }
    }
    make(&a, DEFLATE);
    a.bytes[a.data[1]] |= 6; /* a block of a type that does not exist */
    reads_not(path, &a, "b.npy: cannot decompress: invalid block type");
    make(&a, DEFLATE);
    set_both(&a, PACKED, (uint64_t)a.packed[1] - 1);
    reads_not(path, &a, "b.npy: cannot decompress: its deflated bytes end early");
    make(&a, DEFLATE | DESCRIPTOR); /* the bytes of the descriptor */
    set(&a, a.entry[1] + PACKED + 2, 4, (uint64_t)a.packed[1] + 1);
    reads_not(path, &a, "b.npy: cannot decompress: it goes on behind its end");
}

/* The content has more or fewer bytes than its NPY header and all records say. */
TEST_IN_DIR(content_of_another_size_is_refused)
{
    const char *path = in_dir(state, "a.npz");
    for (int more = 0; more < 2; ++more) {
        archive a, other;
        unsigned char image[MOST], packed[MOST];
        const int64_t size = content(1, image), real = more ? size + 3 : size - 3;
        make(&other, DEFLATE);
        a = other;
        a.size = other.data[1];
        const int64_t bytes = pack_raw(image, real, packed, MOST);
        put_bytes(&a, packed, (size_t)bytes);
        const int64_t shift = a.size - other.directory;
        put_bytes(&a, other.bytes + other.directory, (size_t)(other.end - other.directory));
        a.directory += shift;
        a.entry[1] += shift;
        set_both(&a, 18, (uint64_t)bytes);
        put_end(&a, 0);
        reads_not(path, &a,
                  more ? "b.npy: cannot decompress: it goes on behind its end"
                       : "b.npy: cannot decompress: it ends after 285 of 288 bytes");
    }
}

/* --- many threads ----------------------------------------------------------------------------- */

static void odd(const void *ctx, int64_t first, int64_t count, void *to)
{
    (void)ctx;
    for (int64_t i = 0; i < count; ++i) {
        ((int64_t *)to)[i] = 2 * (first + i) + 1;
    }
}

/* Large members are read by all threads: the same bytes, and their sum is checked. */
TEST_IN_DIR(large_members_are_read_by_threads)
{
    const char *path = in_dir(state, "a.npz");
    const int64_t count = (5 << 20) / 2 + 77; /* 20 MiB and more, no multiple of a piece */
    cs_npz_writer *w = NULL;
    cs_npz *npz = NULL;
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add_made(w, "x", CS_I64, count, odd, NULL, NULL));
    OK(cs_npz_commit(&w));
    cs_threads_set(3);
    OK(cs_npz_open(path, 0, &npz));
    AUTO_OK(cs_array, x, cs_npz_read(npz, "x", &x));
    assert_each(i, 0, count, ((const int64_t *)x.data)[i] == 2 * i + 1);
    cs_npz_items *items = NULL;
    const cs_array *piece = NULL;
    int64_t found = 0, first = 1000;
    OK(cs_npz_items_open(npz, "x", &items, &found));
    OK(cs_npz_items_next(items, first, &piece));
    OK(cs_npz_items_next(items, count - first, &piece));
    assert_each(i, 0, count - first, ((const int64_t *)piece->data)[i] == 2 * (first + i) + 1);
    cs_npz_items_close(items);
    cs_npz_close(npz);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 19 << 20, SEEK_SET), 0);
    assert_int_equal(fputc(0x55, f), 0x55);
    assert_int_equal(fclose(f), 0);
    cs_array y = {0};
    OK(cs_npz_open(path, 0, &npz));
    assert_fails(cs_npz_read(npz, "x", &y), CS_ERR_INPUT,
                 "member x.npy: cannot decompress: CRC error");
    cs_npz_close(npz);
    cs_threads_set(0);
}
