/* NPZ archives, writing: stored members only, for hashes and counts do not deflate.
 *
 * Sizes are known beforehand, and so is the place of every byte: members are cut into pieces, which
 * several threads make, sum up and write at their places at once; the CRC-32 of a member is combined
 * from those of its pieces (Adler's crc32_combine), and headers and directory are written last. Those
 * are what libzip writes of the same members (zip_private.h), with zip64 where a size or a place
 * passes 32 bits. The file is a cs_outfile, so that errors, renaming and refusals are those of every
 * other file. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include <zlib.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/npy_private.h"
#include "io/npz.h"
#include "io/zip_private.h"

enum {
    PIECE = 1 << 20, /* bytes of a piece, which stays in the cache */
    AHEAD = 64,      /* pieces that the disk receives at once */
};

typedef struct {
    char *name, *header; /* of the entry; of the array */
    int64_t header_size;
    const void *data; /* borrowed, or NULL */
    cs_npz_fill fill; /* makes items from data, or NULL */
    cs_npz_written written;
    char *text; /* owned data, or NULL */
    int64_t data_size, item_size;
    int64_t at;    /* of the entry in the archive */
    int64_t begin; /* of the data */
    int64_t piece; /* number of its first one */
    uint32_t crc;
} member;

struct cs_npz_writer {
    cs_outfile file;
    member *member;
    int64_t members, capacity, pieces;
    uint32_t *crc;        /* pieces */
    char *made;           /* PIECE a worker, where items are made */
    pthread_mutex_t lock; /* guards the two below */
    bool *written;        /* pieces */
    int64_t through;      /* all pieces before this one are written */
};

/* --- members ---------------------------------------------------------------------------------- */

cs_status cs_npz_create(const char *path, cs_npz_writer **out)
{
    cs_npz_writer *w = cs_calloc(1, sizeof *w);
    if (!w) return CS_ERR_MEMORY;
    w->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    cs_status status = cs_outfile_open(path, &w->file);
    return CS_DELIVER(status, out, w, cs_npz_abort);
}

void cs_npz_abort(cs_npz_writer **writer)
{
    cs_npz_writer *w = *writer;
    if (w) {
        for (int64_t i = 0; i < w->members; ++i) {
            CS_FREE_FIELDS(&w->member[i], name, header, text);
        }
        cs_outfile_abort(&w->file);
        (void)pthread_mutex_destroy(&w->lock);
        CS_FREE_FIELDS(w, member, crc, made, written);
        cs_free(w);
        *writer = NULL;
    }
}

static cs_status check_name(const cs_npz_writer *w, const char *name)
{
    bool bad = strlen(name) > UINT16_MAX;
    for (int64_t i = 0; i < w->members; ++i) {
        bad = bad || strcmp(w->member[i].name, name) == 0;
    }
    return bad ? cs_fail(CS_ERR_USAGE, "%s: member %.80s: the name is %s", w->file.path, name,
                         strlen(name) > UINT16_MAX ? "too long" : "used twice")
               : CS_OK;
}

/* An entry of the archive, whose text it takes over whatever happens. */
static cs_status add_member(cs_npz_writer *w, const char *name, const cs_npy_info *info,
                            const member *of)
{
    member m = *of;
    m.data_size = info->bytes;
    m.item_size = info->item_size;
    m.name = cs_format("%s.npy", name);
    cs_status status = m.name ? check_name(w, m.name) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_npy_info_header(info, &m.header, &m.header_size);
    if (status == CS_OK)
        status = cs_reserve(&w->member, &w->capacity, w->members + 1, sizeof *w->member);
    if (status == CS_OK) {
        w->member[w->members++] = m;
    } else {
        CS_FREE_FIELDS(&m, name, header, text);
    }
    return status;
}

static cs_status add_data(cs_npz_writer *w, const char *name, cs_dtype dtype, int ndim,
                          const int64_t *shape, const member *of)
{
    cs_npy_info info = {0};
    cs_status status = cs_npy_info_make(dtype, false, ndim, shape, &info);
    if (status != CS_OK) return cs_blame(status, "%s: member %s.npy", w->file.path, name);
    return add_member(w, name, &info, of);
}

cs_status cs_npz_add(cs_npz_writer *w, const char *name, cs_dtype dtype, int ndim,
                     const int64_t *shape, const void *data)
{
    return add_data(w, name, dtype, ndim, shape, &(member){.data = data});
}

cs_status cs_npz_add_made(cs_npz_writer *w, const char *name, cs_dtype dtype, int64_t items,
                          cs_npz_fill fill, cs_npz_written written, const void *ctx)
{
    assert(PIECE % cs_dtype_size(dtype) == 0);
    return add_data(w, name, dtype, 1, &items,
                    &(member){.data = ctx, .fill = fill, .written = written});
}

cs_status cs_npz_add_text(cs_npz_writer *w, const char *name, const char *text)
{
    int64_t length = (int64_t)strlen(text);
    cs_npy_info info = {.dtype = CS_BYTES, .item_size = length, .size = 1, .bytes = length};
    char *own = cs_strdup(text);
    return own ? add_member(w, name, &info, &(member){.data = own, .text = own}) : CS_ERR_MEMORY;
}

/* --- headers ---------------------------------------------------------------------------------- */

typedef struct {
    char *at;
} packer;

/* The lowest bytes of a number, the lowest first. */
static void pack(packer *p, int bytes, uint64_t value)
{
    for (int i = 0; i < bytes; ++i) {
        *p->at++ = (char)(value >> 8 * i);
    }
}

static void pack_32(packer *p, int64_t value)
{
    pack(p, 4, (uint64_t)cs_least(value, CS_ZIP_WIDE));
}

static int64_t size_of(const member *m)
{
    return m->header_size + m->data_size;
}

/* Bytes of the field that has the numbers of more than 32 bits: the size, twice, and the place. */
static int extra_size(bool size, bool place)
{
    return size || place ? CS_ZIP_EXTRA_SIZE + 16 * size + 8 * place : 0;
}

static void pack_extra(packer *p, const member *m, bool size, bool place)
{
    if (size || place) {
        pack(p, 2, CS_ZIP_EXTRA_WIDE);
        pack(p, 2, (uint64_t)(extra_size(size, place) - CS_ZIP_EXTRA_SIZE));
    }
    for (int i = 0; size && i < 2; ++i) {
        pack(p, 8, (uint64_t)size_of(m));
    }
    if (place) {
        pack(p, 8, (uint64_t)m->at);
    }
}

/* The fields that a member's header and its directory entry share. The date is 1980-01-01, the
 * first date there is, so that equal content gives equal bytes. */
static void pack_common(packer *p, const member *m, bool wide, int extra)
{
    enum { FIRST_DATE = 1 << 5 | 1, PLAIN = 10, ZIP64 = 45 };
    bool ascii = true;
    for (const char *c = m->name; *c; ++c) {
        ascii = ascii && !(*c & 0x80);
    }
    pack(p, 2, wide ? ZIP64 : PLAIN);
    pack(p, 2, ascii ? 0 : CS_ZIP_UTF_8);
    pack(p, 2, CS_ZIP_STORED);
    pack(p, 2, 0);
    pack(p, 2, FIRST_DATE);
    pack(p, 4, m->crc);
    pack_32(p, size_of(m));
    pack_32(p, size_of(m));
    pack(p, 2, strlen(m->name));
    pack(p, 2, (uint64_t)extra);
}

static void pack_name(packer *p, const member *m)
{
    const size_t length = strlen(m->name);
    memcpy(p->at, m->name, length);
    p->at += length;
}

static bool is_wide(const member *m)
{
    return size_of(m) >= CS_ZIP_WIDE;
}

static void pack_local(packer *p, const member *m)
{
    pack(p, 4, CS_ZIP_LOCAL);
    pack_common(p, m, is_wide(m), extra_size(is_wide(m), false));
    pack_name(p, m);
    pack_extra(p, m, is_wide(m), false);
}

static void pack_entry(packer *p, const member *m)
{
    enum { UNIX = 3 << 8, VERSION = 63 };
    const bool far = m->at >= CS_ZIP_WIDE;
    const int extra = extra_size(is_wide(m), far);
    pack(p, 4, CS_ZIP_ENTRY);
    pack(p, 2, UNIX | VERSION);
    pack_common(p, m, extra > 0, extra);
    pack(p, 6, 0);                       /* no comment, of the first disk, bytes */
    pack(p, 4, UINT64_C(0100666) << 16); /* a file that all may read and write */
    pack_32(p, m->at);
    pack_name(p, m);
    pack_extra(p, m, is_wide(m), far);
}

/* Where the directory is. Too many members, or too far away: once more in 64 bits. */
static void pack_end(packer *p, int64_t members, int64_t at, int64_t size)
{
    if (members >= UINT16_MAX || at >= CS_ZIP_WIDE || size >= CS_ZIP_WIDE) {
        pack(p, 4, CS_ZIP_WIDE_END);
        pack(p, 8, CS_ZIP_WIDE_END_SIZE - 12); /* bytes to come */
        pack(p, 4, 45 | 45 << 16);
        pack(p, 8, 0);
        pack(p, 8, (uint64_t)members);
        pack(p, 8, (uint64_t)members);
        pack(p, 8, (uint64_t)size);
        pack(p, 8, (uint64_t)at);
        pack(p, 4, CS_ZIP_LOCATOR);
        pack(p, 4, 0);
        pack(p, 8, (uint64_t)(at + size));
        pack(p, 4, 1);
    }
    pack(p, 4, CS_ZIP_END);
    pack(p, 4, 0);
    pack(p, 2, (uint64_t)cs_least(members, UINT16_MAX));
    pack(p, 2, (uint64_t)cs_least(members, UINT16_MAX));
    pack_32(p, size);
    pack_32(p, at);
    pack(p, 2, 0);
}

/* --- the archive ------------------------------------------------------------------------------ */

/* Gives members and pieces their places; returns that of the directory. */
static int64_t lay_out(cs_npz_writer *w)
{
    int64_t at = 0;
    for (int64_t i = 0; i < w->members; ++i) {
        member *m = &w->member[i];
        m->at = at;
        m->begin = at + CS_ZIP_LOCAL_SIZE + (int64_t)strlen(m->name) +
                   extra_size(is_wide(m), false) + m->header_size;
        m->piece = w->pieces;
        w->pieces += (m->data_size + PIECE - 1) / PIECE;
        at = m->begin + m->data_size;
    }
    return at;
}

static int64_t piece_size(const member *m, int64_t piece)
{
    return cs_least(m->data_size - (piece - m->piece) * PIECE, PIECE);
}

/* Notes that a piece is written. Members learn which of their pieces are now written together with all
 * before them: what these were made from is not needed again. */
static void note_written(cs_npz_writer *w, int64_t piece)
{
    (void)pthread_mutex_lock(&w->lock);
    const int64_t from = w->through;
    w->written[piece] = true;
    while (w->through < w->pieces && w->written[w->through]) {
        ++w->through;
    }
    const int64_t to = w->through;
    (void)pthread_mutex_unlock(&w->lock);
    for (int64_t i = 0; from < to && i < w->members; ++i) {
        const member *m = &w->member[i];
        const int64_t first = cs_most(from - m->piece, 0) * PIECE;
        const int64_t end = cs_least((to - m->piece) * PIECE, m->data_size);
        if (m->written && first < end) {
            m->written(m->data, first / m->item_size, (end - first) / m->item_size);
        }
    }
}

static cs_status write_piece(void *ctx, int64_t piece, int worker)
{
    cs_npz_writer *w = ctx;
    const member *m = &w->member[w->members - 1];
    while (m->piece > piece || m->data_size == 0) {
        --m;
    }
    const int64_t from = (piece - m->piece) * PIECE, size = piece_size(m, piece);
    const char *bytes = NULL;
    if (m->fill) {
        char *made = w->made + (ptrdiff_t)worker * PIECE;
        m->fill(m->data, from / m->item_size, size / m->item_size, made);
        bytes = made;
    } else {
        bytes = (const char *)m->data + from;
    }
    w->crc[piece] = (uint32_t)crc32_z(0, (const Bytef *)bytes, (z_size_t)size);
    const cs_status status = cs_outfile_put_at(&w->file, bytes, size, m->begin + from);
    if (status == CS_OK && piece % AHEAD == AHEAD - 1) /* nearly all of those before are written */
        cs_outfile_start_writing(&w->file, m->begin + from - AHEAD * PIECE, AHEAD * PIECE);
    if (status == CS_OK) note_written(w, piece);
    return status;
}

static cs_status write_pieces(cs_npz_writer *w)
{
    const int threads = cs_threads();
    bool makes = false;
    for (int64_t i = 0; i < w->members; ++i) {
        makes = makes || w->member[i].fill;
    }
    w->crc = cs_alloc(w->pieces, sizeof *w->crc);
    w->written = cs_calloc(w->pieces, sizeof *w->written);
    w->made = makes ? cs_alloc(cs_least(threads, w->pieces), PIECE) : NULL;
    if (!w->crc || !w->written || (makes && !w->made)) {
        return CS_ERR_MEMORY;
    }
    cs_status status = cs_parallel_workers(w->pieces, threads, write_piece, w);
    for (int64_t i = 0; i < w->members && status == CS_OK; ++i) {
        member *m = &w->member[i];
        uLong crc = crc32_z(0, (const Bytef *)m->header, (z_size_t)m->header_size);
        for (int64_t at = 0; at < m->data_size; at += PIECE) {
            const int64_t piece = m->piece + at / PIECE;
            crc = crc32_combine(crc, w->crc[piece], piece_size(m, piece));
        }
        m->crc = (uint32_t)crc;
    }
    return status;
}

static cs_status write_headers(cs_npz_writer *w, int64_t directory)
{
    enum { END = CS_ZIP_WIDE_END_SIZE + CS_ZIP_LOCATOR_SIZE + CS_ZIP_END_SIZE };
    int64_t capacity = END;
    for (int64_t i = 0; i < w->members; ++i) {
        capacity += CS_ZIP_ENTRY_SIZE + extra_size(true, true) + (int64_t)strlen(w->member[i].name);
    }
    CS_AUTO_FREE char *buffer = cs_alloc(capacity, 1);
    cs_status status = buffer ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < w->members && status == CS_OK; ++i) {
        const member *m = &w->member[i];
        packer p = {buffer};
        pack_local(&p, m);
        status = cs_outfile_put_at(&w->file, buffer, p.at - buffer, m->at);
        if (status == CS_OK)
            status =
                cs_outfile_put_at(&w->file, m->header, m->header_size, m->begin - m->header_size);
    }
    packer p = {buffer};
    for (int64_t i = 0; i < w->members && status == CS_OK; ++i) {
        pack_entry(&p, &w->member[i]);
    }
    if (status == CS_OK) {
        pack_end(&p, w->members, directory, p.at - buffer);
        status = cs_outfile_put_at(&w->file, buffer, p.at - buffer, directory);
    }
    return status;
}

cs_status cs_npz_commit(cs_npz_writer **writer)
{
    cs_npz_writer *w = *writer;
    assert(w);
    const int64_t directory = lay_out(w);
    cs_status status =
        w->members > 0
            ? CS_OK
            : cs_fail(CS_ERR_USAGE, "%s: an archive needs at least one member", w->file.path);
    if (status == CS_OK) status = cs_blame(write_pieces(w), "%s", w->file.path);
    if (status == CS_OK) status = write_headers(w, directory);
    if (status == CS_OK) status = cs_outfile_sync(&w->file, cs_interrupt_check);
    if (status == CS_OK) status = cs_outfile_commit(&w->file);
    cs_npz_abort(writer);
    return status;
}
