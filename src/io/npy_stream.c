/* The header is written twice: for no rows when the array begins, for all of them when it ends.
 * Both have the same length, because headers are padded to multiples of 64 bytes and a shape of one
 * or two numbers, of one digit or of nineteen, takes 128. */
#include "io/npy_stream.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/float16_private.h"

enum { CHUNK = 4096 };

struct cs_npy_stream {
    cs_outfile file;
    cs_dtype dtype;
    int64_t columns, rows, header;
    uint16_t half[CHUNK];
};

static cs_status write_header(cs_npy_stream *s)
{
    int64_t shape[2] = {s->rows, s->columns}, size = 0;
    char *header = NULL;
    cs_status status =
        cs_npy_header(s->dtype, false, s->columns > 0 ? 2 : 1, shape, &header, &size);
    if (status == CS_OK) {
        assert(s->header == 0 || s->header == size);
        s->header = size;
        status = cs_outfile_put(&s->file, header, size);
    }
    cs_free(header);
    return status;
}

cs_status cs_npy_stream_open(const char *path, cs_dtype dtype, int64_t columns, cs_npy_stream **out)
{
    if (columns < 0 || cs_dtype_size(dtype) == 0) {
        return cs_fail(CS_ERR_USAGE, "%s: cannot write rows of %lld columns%s", path,
                       (long long)columns, cs_dtype_size(dtype) == 0 ? " of text" : "");
    }
    cs_npy_stream *s = cs_calloc(1, sizeof *s);
    if (!s) return CS_ERR_MEMORY;
    s->dtype = dtype;
    s->columns = columns;
    cs_status status = cs_outfile_open(path, &s->file);
    if (status == CS_OK) status = write_header(s);
    return CS_DELIVER(status, out, s, cs_npy_stream_abort);
}

static int64_t items_a_row(const cs_npy_stream *s)
{
    return s->columns > 0 ? s->columns : 1;
}

static cs_status put(cs_npy_stream *s, const void *items, int64_t count)
{
    return cs_outfile_put(&s->file, items, count * cs_dtype_size(s->dtype));
}

cs_status cs_npy_stream_append(cs_npy_stream *s, const void *rows, int64_t count)
{
    cs_status status = put(s, rows, count * items_a_row(s));
    s->rows += count; /* what is left unfinished has no header to say so in */
    return status;
}

static cs_status put_halves(cs_npy_stream *s, const float *x, int64_t items)
{
    cs_status status = CS_OK;
    for (int64_t at = 0; at < items && status == CS_OK; at += CHUNK) {
        int64_t n = items - at < CHUNK ? items - at : CHUNK;
        for (int64_t i = 0; i < n; ++i) {
            s->half[i] = cs_f16_encode(x[at + i]);
            if ((s->half[i] & 0x7fff) == 0x7c00 && isfinite(x[at + i])) {
                return cs_fail(CS_ERR_INPUT,
                               "%s: row %lld: %g is out of the range of 16-bit floats",
                               s->file.path, (long long)(s->rows + (at + i) / items_a_row(s)),
                               (double)x[at + i]);
            }
        }
        status = put(s, s->half, n);
    }
    return status;
}

cs_status cs_npy_stream_floats(cs_npy_stream *s, const float *rows, int64_t count)
{
    if (s->dtype == CS_F32) {
        return cs_npy_stream_append(s, rows, count);
    }
    if (s->dtype != CS_F16) {
        return cs_fail(CS_ERR_USAGE, "%s: floats cannot be written to an array of another type",
                       s->file.path);
    }
    cs_status status = put_halves(s, rows, count * items_a_row(s));
    s->rows += count; /* what is left unfinished has no header to say so in */
    return status;
}

cs_status cs_npy_stream_close(cs_npy_stream **stream)
{
    cs_npy_stream *s = *stream;
    cs_status status = CS_OK;
    if (fseek(s->file.stream, 0, SEEK_SET) != 0) {
        status = cs_fail(CS_ERR_IO, "%s: cannot write: %s", s->file.path, strerror(errno));
    }
    if (status == CS_OK && (status = write_header(s)) == CS_OK)
        status = cs_outfile_commit(&s->file);
    cs_npy_stream_abort(stream);
    return status;
}

void cs_npy_stream_abort(cs_npy_stream **stream)
{
    if (*stream) {
        cs_outfile_abort(&(*stream)->file);
        cs_free(*stream);
        *stream = NULL;
    }
}
