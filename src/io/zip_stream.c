/* Members of ZIP archives, stored or deflated (zlib), read from their beginning to their end straight
 * into the caller's memory.
 *
 * Both are summed up piece by piece while the piece is in the cache. Large parts of a stored member
 * are read by all threads, and their CRCs are joined (crc32_combine). With the last byte of the
 * content the packed bytes must end too, and the CRC must be that of the directory. */
#include <inttypes.h>

#include <zlib.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/zip_private.h"

enum {
    PIECE = 1 << 18,          /* bytes of a piece, which stays in the cache */
    ROUND = 64,               /* pieces that all threads read, before their CRCs are joined */
    SHARED = ROUND * PIECE,   /* fewer bytes are read by the calling thread */
    RAW_DEFLATE = -MAX_WBITS, /* of inflateInit2 */
    HELD = 1 << 16,
};

struct cs_zip_stream {
    const cs_zip *zip;
    const cs_zip_entry *entry;
    const char *what;
    int64_t given, taken; /* bytes of the content; packed bytes that were read */
    uLong crc;            /* of the bytes given */
    bool inflates, ended; /* ended: the deflated bytes say so */
    z_stream z;
    unsigned char held[HELD]; /* read and not inflated, from z.next_in on */
};

static cs_status fault(const cs_zip_stream *s, const char *reason)
{
    return cs_fail(CS_ERR_INPUT, "%s: cannot decompress: %s", s->what, reason);
}

cs_status cs_zip_stream_open(const cs_zip *zip, const cs_zip_entry *entry, const char *what,
                             cs_zip_stream **out)
{
    cs_zip_stream *s = cs_alloc(1, sizeof *s);
    if (!s) return CS_ERR_MEMORY;
    s->zip = zip;
    s->entry = entry;
    s->what = what;
    s->given = s->taken = 0;
    s->crc = crc32_z(0, NULL, 0);
    s->ended = false;
    s->z = (z_stream){0};
    s->inflates = entry->method == CS_ZIP_DEFLATED;
    if (s->inflates && inflateInit2(&s->z, RAW_DEFLATE) != Z_OK) {
        cs_free(s);
        return cs_fail(CS_ERR_MEMORY, "%s: out of memory", what);
    }
    *out = s;
    return CS_OK;
}

void cs_zip_stream_free(cs_zip_stream *stream)
{
    if (stream) {
        if (stream->inflates) {
            (void)inflateEnd(&stream->z);
        }
        cs_free(stream);
    }
}

/* --- stored ----------------------------------------------------------------------------------- */

typedef struct {
    const cs_zip_stream *stream;
    char *to;
    int64_t size;
    uLong crc[ROUND];
} round_of_pieces;

static int64_t piece_size(const round_of_pieces *r, int64_t piece)
{
    return cs_least(r->size - piece * PIECE, PIECE);
}

static cs_status read_piece(void *ctx, int64_t piece)
{
    round_of_pieces *r = ctx;
    const cs_zip_stream *s = r->stream;
    char *to = r->to + piece * PIECE;
    const int64_t size = piece_size(r, piece);
    const cs_status status = cs_file_read_at(s->zip->fd, s->zip->path,
                                             s->entry->data + s->given + piece * PIECE, size, to);
    if (status == CS_OK) r->crc[piece] = crc32_z(0, (const Bytef *)to, (z_size_t)size);
    return status;
}

/* The next bytes of the content, which has at least as many. */
static cs_status read_stored(cs_zip_stream *s, char *to, int64_t size)
{
    const bool shared = size >= SHARED;
    cs_status status = CS_OK;
    while (size > 0 && status == CS_OK) {
        round_of_pieces r;
        r.stream = s;
        r.to = to;
        r.size = cs_least(size, (int64_t)ROUND * PIECE);
        const int64_t pieces = cs_ceiling(r.size, PIECE);
        if (shared) status = cs_parallel(pieces, 0, read_piece, &r);
        for (int64_t i = 0; i < pieces && status == CS_OK; ++i) {
            if (!shared) status = read_piece(&r, i);
            if (status == CS_OK) s->crc = crc32_combine(s->crc, r.crc[i], piece_size(&r, i));
        }
        s->given += r.size;
        to += r.size;
        size -= r.size;
    }
    return status;
}

/* --- deflated --------------------------------------------------------------------------------- */

/* Inflates up to `size` bytes, at least one unless the stream ends. */
static cs_status inflate_some(cs_zip_stream *s, unsigned char *to, int64_t size, int64_t *got)
{
    s->z.next_out = to;
    s->z.avail_out = (uInt)size;
    cs_status status = CS_OK;
    while (status == CS_OK && !s->ended && s->z.avail_out == (uInt)size) {
        if (s->z.avail_in == 0) {
            const int64_t some = cs_least(s->entry->packed - s->taken, HELD);
            status =
                cs_file_read_at(s->zip->fd, s->zip->path, s->entry->data + s->taken, some, s->held);
            if (status != CS_OK) break;
            s->taken += some;
            s->z.next_in = s->held;
            s->z.avail_in = (uInt)some;
        }
        const int code = inflate(&s->z, Z_NO_FLUSH);
        s->ended = code == Z_STREAM_END;
        if (code == Z_MEM_ERROR) {
            status = cs_fail(CS_ERR_MEMORY, "%s: out of memory", s->what);
        } else if (code == Z_BUF_ERROR) {
            status = fault(s, "its deflated bytes end early");
        } else if (code != Z_OK && code != Z_STREAM_END) {
            status = fault(s, s->z.msg ? s->z.msg : "not deflated");
        }
    }
    *got = size - s->z.avail_out;
    return status;
}

static cs_status read_deflated(cs_zip_stream *s, unsigned char *to, int64_t size)
{
    cs_status status = CS_OK;
    while (size > 0 && status == CS_OK) {
        int64_t got = 0;
        if (s->entry->size >= SHARED) status = cs_interrupt_check();
        if (status == CS_OK) status = inflate_some(s, to, cs_least(size, PIECE), &got);
        if (status == CS_OK && got == 0) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: cannot decompress: it ends after %" PRId64 " of %" PRId64 " bytes",
                           s->what, s->given, s->entry->size);
        }
        s->crc = crc32_z(s->crc, to, (z_size_t)got);
        s->given += got;
        to += got;
        size -= got;
    }
    return status;
}

/* Behind the last byte of the content nothing may come. */
static cs_status check_deflated(cs_zip_stream *s)
{
    unsigned char beyond;
    int64_t got = 0;
    cs_status status = inflate_some(s, &beyond, 1, &got);
    if (status != CS_OK) return status;
    return got == 0 && s->z.avail_in == 0 && s->taken == s->entry->packed
               ? CS_OK
               : fault(s, "it goes on behind its end");
}

/* --- both ------------------------------------------------------------------------------------- */

cs_status cs_zip_stream_read(void *stream, void *out, int64_t want, int64_t *got)
{
    cs_zip_stream *s = stream;
    *got = cs_least(want, s->entry->size - s->given);
    if (*got == 0 && s->entry->size > 0) return CS_OK;
    cs_status status = s->inflates ? read_deflated(s, out, *got) : read_stored(s, out, *got);
    if (status != CS_OK || s->given < s->entry->size) return status;
    if (s->inflates) status = check_deflated(s);
    if (status == CS_OK && s->crc != s->entry->crc) status = fault(s, "CRC error");
    return status;
}
