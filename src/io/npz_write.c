/* NPZ archives, writing (libzip).
 *
 * libzip pulls each member through a callback when the archive is closed and pushes the archive
 * through another one into a cs_outfile, so that errors, renaming and refusals are those of every
 * other file. A member is its NPY header followed by bytes from memory, or made in pieces as it is
 * asked for. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zip.h>

#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/npy_load_private.h"
#include "io/npz.h"

struct cs_npz_writer {
    cs_outfile file;
    zip_t *zip;
    zip_error_t error; /* of the archive's own stream */
    cs_status status;  /* the first failure inside a callback */
    bool compress;
    int64_t members;
};

typedef struct {
    char *header;
    int64_t header_size;
    const void *data; /* borrowed, or NULL */
    cs_npz_fill fill; /* makes items from data, or NULL */
    char *text;       /* owned data, or NULL */
    int64_t data_size, at;
    zip_error_t error;
} member;

/* 1980-01-01, the first date a zip file can say: equal content gives equal bytes. */
enum { NO_TIME = 0, FIRST_DATE = 1 << 5 | 1 };

/* --- a member as libzip reads it -------------------------------------------------------------- */

static void member_free(member *m)
{
    if (m) {
        zip_error_fini(&m->error);
        CS_FREE_FIELDS(m, header, text);
        cs_free(m);
    }
}

/* Items that are made in pieces, cut to the bytes asked for. */
static void make_bytes(const member *m, int64_t from, int64_t bytes, char *out)
{
    enum { ITEM = 8, PIECE = 512 };
    char piece[ITEM * PIECE];
    while (bytes > 0) {
        const int64_t first = from / ITEM, skip = from % ITEM, left = m->data_size / ITEM - first;
        const int64_t count = left < PIECE ? left : PIECE;
        int64_t n = count * ITEM - skip;
        n = n < bytes ? n : bytes;
        m->fill(m->data, first, count, piece);
        memcpy(out, piece + skip, (size_t)n);
        from += n;
        out += n;
        bytes -= n;
    }
}

static zip_int64_t member_read(member *m, char *out, int64_t want)
{
    int64_t left = m->header_size + m->data_size - m->at;
    int64_t n = want < left ? want : left;
    if (m->at < m->header_size) {
        n = n < m->header_size - m->at ? n : m->header_size - m->at;
        memcpy(out, m->header + m->at, (size_t)n);
    } else if (m->fill) {
        make_bytes(m, m->at - m->header_size, n, out);
    } else if (n > 0) {
        memcpy(out, (const char *)m->data + (m->at - m->header_size), (size_t)n);
    }
    m->at += n;
    return n;
}

static zip_int64_t member_call(void *ctx, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
    member *m = ctx;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                              -1);
    case ZIP_SOURCE_OPEN:
        m->at = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return member_read(m, data, (int64_t)length);
    case ZIP_SOURCE_CLOSE:
        return 0;
    case ZIP_SOURCE_STAT: {
        zip_stat_t *st = data;
        zip_stat_init(st);
        st->size = (zip_uint64_t)(m->header_size + m->data_size);
        st->valid = ZIP_STAT_SIZE;
        return sizeof *st;
    }
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&m->error, data, length);
    case ZIP_SOURCE_FREE:
        member_free(m);
        return 0;
    default:
        zip_error_set(&m->error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

/* --- the archive as libzip writes it ---------------------------------------------------------- */

static zip_int64_t archive_fails(cs_npz_writer *w)
{
    if (w->status == CS_OK)
        w->status = cs_fail(CS_ERR_IO, "%s: cannot write: %s", w->file.path, strerror(errno));
    zip_error_set(&w->error, ZIP_ER_WRITE, errno);
    return -1;
}

static zip_int64_t archive_seek(cs_npz_writer *w, void *data, zip_uint64_t length)
{
    const zip_source_args_seek_t *to =
        ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, length, &w->error);
    if (!to) {
        return -1;
    }
    return fseeko(w->file.stream, (off_t)to->offset, to->whence) == 0 ? 0 : archive_fails(w);
}

static zip_int64_t archive_call(void *ctx, void *data, zip_uint64_t length,
                                zip_source_cmd_t command)
{
    cs_npz_writer *w = ctx;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE,
            ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_WRITE,
            ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_STAT: {
        zip_stat_t *st = data; /* before the first write: an empty file */
        zip_stat_init(st);
        st->size = 0;
        st->valid = ZIP_STAT_SIZE;
        return sizeof *st;
    }
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&w->error, data, length);
    case ZIP_SOURCE_WRITE:
        return fwrite(data, 1, length, w->file.stream) == length ? (zip_int64_t)length
                                                                 : archive_fails(w);
    case ZIP_SOURCE_SEEK:
    case ZIP_SOURCE_SEEK_WRITE:
        return archive_seek(w, data, length);
    case ZIP_SOURCE_TELL:
    case ZIP_SOURCE_TELL_WRITE:
        return ftello(w->file.stream);
    case ZIP_SOURCE_COMMIT_WRITE:
        return fflush(w->file.stream) == 0 ? 0 : archive_fails(w);
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_READ: /* nothing is there to read */
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE: /* the writer's owner aborts the file */
    case ZIP_SOURCE_REMOVE:
        return 0;
    default:
        zip_error_set(&w->error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

static int stop_on_interrupt(zip_t *zip, void *ctx)
{
    (void)zip;
    (void)ctx;
    const bool stop = cs_interrupt_check() != CS_OK; /* not while it is held */
    if (stop) {
        cs_reason_clear(); /* zip_failure names the file */
    }
    return stop;
}

/* --- the writer ------------------------------------------------------------------------------- */

static cs_status open_zip(cs_npz_writer *w)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_function_create(archive_call, w, &error);
    w->zip = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    cs_status status = CS_OK;
    if (!w->zip) {
        status = cs_fail(CS_ERR_MEMORY, "%s: %s", w->file.path, zip_error_strerror(&error));
        zip_source_free(source); /* accepts NULL */
    } else if (zip_register_cancel_callback_with_state(w->zip, stop_on_interrupt, NULL, NULL) !=
               0) {
        status = cs_fail(CS_ERR_MEMORY, "%s: %s", w->file.path, zip_strerror(w->zip));
    }
    zip_error_fini(&error);
    return status;
}

cs_status cs_npz_create(const char *path, bool compress, cs_npz_writer **out)
{
    cs_npz_writer *w = cs_calloc(1, sizeof *w);
    if (!w) return CS_ERR_MEMORY;
    w->compress = compress;
    zip_error_init(&w->error);
    cs_status status = cs_outfile_open(path, &w->file);
    if (status == CS_OK) status = open_zip(w);
    return CS_DELIVER(status, out, w, cs_npz_abort);
}

void cs_npz_abort(cs_npz_writer **w)
{
    if (*w) {
        if ((*w)->zip) {
            zip_discard((*w)->zip); /* frees the members too */
        }
        cs_outfile_abort(&(*w)->file);
        zip_error_fini(&(*w)->error);
        cs_free(*w);
        *w = NULL;
    }
}

static cs_status zip_failure(cs_npz_writer *w)
{
    int code = zip_error_code_zip(zip_get_error(w->zip));
    cs_status status = w->status != CS_OK         ? w->status
                       : code == ZIP_ER_MEMORY    ? CS_ERR_MEMORY
                       : code == ZIP_ER_CANCELLED ? CS_ERR_INTERRUPT
                       : code == ZIP_ER_EXISTS    ? CS_ERR_USAGE
                       : code == ZIP_ER_INVAL     ? CS_ERR_USAGE
                                                  : CS_ERR_IO;
    return cs_fail(status, "%s: cannot write: %s", w->file.path, zip_strerror(w->zip));
}

/* Hands the member to the archive; takes it over whatever happens. */
static cs_status add_member(cs_npz_writer *w, const char *name, const cs_npy_info *info, member *m)
{
    zip_source_t *source = NULL;
    char *entry = cs_format("%s.npy", name);
    cs_status status = entry ? CS_OK : CS_ERR_MEMORY;
    m->data_size = info->bytes;
    zip_error_init(&m->error);
    if (status == CS_OK) status = cs_npy_info_header(info, &m->header, &m->header_size);
    if (status == CS_OK && !(source = zip_source_function(w->zip, member_call, m)))
        status = zip_failure(w);
    if (status != CS_OK) {
        member_free(m);
        cs_free(entry);
        return status;
    }
    zip_int64_t index = zip_file_add(w->zip, entry, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source); /* and the member with it */
        status = cs_blame(zip_failure(w), "member %s", entry);
    } else if (zip_set_file_compression(w->zip, (zip_uint64_t)index,
                                        w->compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0 ||
               zip_file_set_dostime(w->zip, (zip_uint64_t)index, NO_TIME, FIRST_DATE, 0) != 0) {
        status = zip_failure(w);
    } else {
        w->members += 1;
    }
    cs_free(entry);
    return status;
}

static cs_status add_data(cs_npz_writer *w, const char *name, cs_dtype dtype, int ndim,
                          const int64_t *shape, cs_npz_fill fill, const void *data)
{
    cs_npy_info info = {0};
    cs_status status = cs_npy_info_make(dtype, false, ndim, shape, &info);
    if (status != CS_OK) return cs_blame(status, "%s: member %s.npy", w->file.path, name);
    member *m = cs_calloc(1, sizeof *m);
    if (!m) return CS_ERR_MEMORY;
    m->data = data;
    m->fill = fill;
    return add_member(w, name, &info, m);
}

cs_status cs_npz_add(cs_npz_writer *w, const char *name, cs_dtype dtype, int ndim,
                     const int64_t *shape, const void *data)
{
    return add_data(w, name, dtype, ndim, shape, NULL, data);
}

cs_status cs_npz_add_made(cs_npz_writer *w, const char *name, cs_dtype dtype, int64_t items,
                          cs_npz_fill fill, const void *ctx)
{
    assert(cs_dtype_size(dtype) == 8);
    return add_data(w, name, dtype, 1, &items, fill, ctx);
}

cs_status cs_npz_add_text(cs_npz_writer *w, const char *name, const char *text)
{
    int64_t length = (int64_t)strlen(text);
    cs_npy_info info = {.dtype = CS_BYTES, .item_size = length, .size = 1, .bytes = length};
    member *m = cs_calloc(1, sizeof *m);
    if (!m || !(m->text = cs_strdup(text))) {
        cs_free(m);
        return CS_ERR_MEMORY;
    }
    m->data = m->text;
    return add_member(w, name, &info, m);
}

cs_status cs_npz_commit(cs_npz_writer **writer)
{
    cs_npz_writer *w = *writer;
    assert(w);
    cs_status status = CS_OK;
    if (w->members == 0) {
        status = cs_fail(CS_ERR_USAGE, "%s: an archive without members", w->file.path);
    } else if (zip_close(w->zip) != 0) {
        status = zip_failure(w);
    } else {
        w->zip = NULL; /* freed by zip_close */
        status = cs_outfile_commit(&w->file);
    }
    cs_npz_abort(writer);
    return status;
}
