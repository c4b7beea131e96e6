/* Matrix Market files.
 *
 * Format: Boisvert, Pozo, Remington: The Matrix Market Exchange Formats: Initial Design, NISTIR
 * 5935 (1996). Words of the banner in any case; comments and blank lines are skipped everywhere.
 * Symmetric matrices store one triangle, the lower one by the standard. Some programs write the
 * upper one, or entries of both: each is mirrored, and a pair of places with an entry in both
 * triangles is refused, since each might represent two. Skew-symmetric ones have no diagonal. The field unsigned-integer is scipy's. Limits: integers
 * beyond 2^53 are rounded to double. Entries are read into triplets: 24 bytes each (48 of a
 * symmetric matrix) in addition to the result. An empty row costs nothing, so a short file may claim
 * any number of them. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/gzip.h"
#include "io/number.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_stream_private.h"

typedef enum { GENERAL, SYMMETRIC, SKEW } symmetry;
typedef enum { REAL, INTEGER, PATTERN, UNSIGNED } field;

enum { POLL_LINES = 1 << 16 };

static const char GRAM_FORM[] = "% cospec: Gram form"; /* the comment that marks one */

typedef struct {
    FILE *stream;
    char *text; /* the current line, without its end */
    size_t capacity;
    int64_t line; /* its number from 1 */
    bool end;     /* no line left */
    bool gram;
    bool array;
    field field;
    symmetry symmetry;
    bool below, above;         /* whether an entry is in that triangle */
    int64_t rows, cols, count; /* count: entries that the file must hold */
} reader;

typedef struct {
    int64_t n, row_capacity, col_capacity, val_capacity;
    int64_t *row, *col;
    double *val;
} triplets;

static void triplets_free(triplets *t)
{
    CS_FREE_FIELDS(t, row, col, val);
}

static cs_status push(triplets *t, int64_t row, int64_t col, double val)
{
    cs_status status = cs_reserve(&t->row, &t->row_capacity, t->n + 1, sizeof *t->row);
    if (status == CS_OK) status = cs_reserve(&t->col, &t->col_capacity, t->n + 1, sizeof *t->col);
    if (status == CS_OK) status = cs_reserve(&t->val, &t->val_capacity, t->n + 1, sizeof *t->val);
    if (status != CS_OK) return status;
    t->row[t->n] = row;
    t->col[t->n] = col;
    t->val[t->n++] = val;
    return CS_OK;
}

/* The next line without its newline; sets r->end when there is none. */
static cs_status raw_line(reader *r)
{
    errno = 0;
    ssize_t length = getline(&r->text, &r->capacity, r->stream);
    if (length < 0) {
        if (ferror(r->stream) && errno == CS_DAMAGED_GZIP) {
            return cs_fail(CS_ERR_INPUT, "line %lld: damaged gzip", (long long)r->line + 1);
        }
        if (ferror(r->stream)) {
            return cs_fail(CS_ERR_IO, "cannot read: %s", strerror(errno));
        }
        if (errno == ENOMEM) {
            return cs_fail(CS_ERR_MEMORY, "line %lld: out of memory", (long long)r->line + 1);
        }
        r->end = true;
        return CS_OK;
    }
    r->line += 1;
    if (strlen(r->text) != (size_t)length) {
        return cs_fail(CS_ERR_INPUT, "line %lld: contains a NUL byte", (long long)r->line);
    }
    r->text[strcspn(r->text, "\r\n")] = '\0';
    return r->line % POLL_LINES == 0 ? cs_interrupt_check() : CS_OK;
}

/* The next line that is neither blank nor a comment. */
static cs_status next_line(reader *r)
{
    cs_status status;
    do {
        status = raw_line(r);
        r->gram = r->gram || (status == CS_OK && !r->end && strcmp(r->text, GRAM_FORM) == 0);
    } while (status == CS_OK && !r->end && strchr("%", r->text[strspn(r->text, " \t")]));
    return status;
}

/* Cuts the line at its blanks; the number of words, most + 1 when there are more. */
static int words_of(char *text, int most, char **word)
{
    int count = 0;
    char *rest = NULL;
    for (char *w = strtok_r(text, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
        if (count == most) {
            return most + 1;
        }
        word[count++] = w;
    }
    return count;
}

static cs_status read_banner(const char *path, reader *r)
{
    char *word[5];
    cs_status status = raw_line(r);
    if (status != CS_OK || r->end)
        return status ? status : cs_fail(CS_ERR_INPUT, "the file is empty");
    status = cs_lfs_check(path, r->text, (int64_t)strlen(r->text));
    if (status != CS_OK) return status;
    int count = words_of(r->text, 5, word);
    if (count == 0 || strcasecmp(word[0], "%%MatrixMarket") != 0) {
        return cs_fail(CS_ERR_INPUT, "line 1: does not begin with %%%%MatrixMarket");
    }
    if (count != 5 || strcasecmp(word[1], "matrix") != 0) {
        return cs_fail(CS_ERR_INPUT, "line 1: is not \"%%%%MatrixMarket matrix FORMAT FIELD "
                                     "SYMMETRY\"");
    }
    r->array = strcasecmp(word[2], "array") == 0;
    if (!r->array && strcasecmp(word[2], "coordinate") != 0) {
        return cs_fail(CS_ERR_INPUT, "line 1: format '%s' is not coordinate or array", word[2]);
    }
    static const char *const fields[] = {"real", "integer", "pattern", "unsigned-integer"};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    int f = 0, s = 0;
    while (f < 4 && strcasecmp(word[3], fields[f]) != 0) {
        ++f;
    }
    while (s < 3 && strcasecmp(word[4], symmetries[s]) != 0) {
        ++s;
    }
    if (f == 4 || (r->array && f == PATTERN)) {
        return cs_fail(CS_ERR_INPUT, "line 1: field '%s' of %s matrix is not %s", word[3],
                       r->array ? "an array" : "a coordinate",
                       r->array ? "real, integer or unsigned-integer"
                                : "real, integer, unsigned-integer or pattern");
    }
    if (s == 3 || (f == PATTERN && s == SKEW)) {
        return cs_fail(CS_ERR_INPUT, "line 1: symmetry '%s' of a %s matrix is not supported",
                       word[4], fields[f]);
    }
    r->field = (field)f;
    r->symmetry = (symmetry)s;
    return CS_OK;
}

/* Entries of an array file. */
static cs_status count_array(reader *r)
{
    if (r->cols > 0 && r->rows > INT64_MAX / r->cols) {
        return cs_fail(CS_ERR_INPUT, "line %lld: %lld x %lld is too large", (long long)r->line,
                       (long long)r->rows, (long long)r->cols);
    }
    int64_t n = r->rows;
    r->count = r->symmetry == GENERAL     ? n * r->cols
               : r->symmetry == SYMMETRIC ? n * n / 2 + (n + 1) / 2
                                          : n * n / 2 - n / 2;
    return CS_OK;
}

static cs_status read_size(reader *r)
{
    char *word[3];
    int want = r->array ? 2 : 3;
    int64_t *size[] = {&r->rows, &r->cols, &r->count};
    cs_status status = next_line(r);
    if (status != CS_OK || r->end)
        return status ? status : cs_fail(CS_ERR_INPUT, "the file ends before its size line");
    if (words_of(r->text, 3, word) != want) {
        return cs_fail(CS_ERR_INPUT, "line %lld: the size line must hold %d integers",
                       (long long)r->line, want);
    }
    for (int i = 0; i < want; ++i) {
        status = cs_int_parse(word[i], size[i]);
        if (status != CS_OK) return cs_blame(status, "line %lld", (long long)r->line);
        if (*size[i] < 0) {
            return cs_fail(CS_ERR_INPUT, "line %lld: size %lld is negative", (long long)r->line,
                           (long long)*size[i]);
        }
    }
    if (r->symmetry != GENERAL && r->rows != r->cols) {
        return cs_fail(CS_ERR_INPUT,
                       "line %lld: a symmetric matrix must be square, not %lld x %lld",
                       (long long)r->line, (long long)r->rows, (long long)r->cols);
    }
    return r->array ? count_array(r) : CS_OK;
}

static cs_status parse_index(const char *text, int64_t size, const char *what, int64_t *out)
{
    cs_status status = cs_int_parse(text, out);
    if (status == CS_OK && (*out < 1 || *out > size))
        return cs_fail(CS_ERR_INPUT, "%s %lld is not in 1..%lld", what, (long long)*out,
                       (long long)size);
    *out -= 1;
    return status;
}

static cs_status parse_value(const reader *r, const char *text, double *out)
{
    if (r->field == INTEGER) {
        int64_t value;
        cs_status status = cs_int_parse(text, &value);
        *out = status == CS_OK ? (double)value : 0;
        return status;
    }
    if (r->field == UNSIGNED && text[strspn(text, "0123456789")] != '\0') {
        return cs_fail(CS_ERR_INPUT, "'%s' is not an unsigned integer", text);
    }
    cs_status status = cs_real_parse(text, out);
    return status == CS_OK && !isfinite(*out)
               ? cs_fail(CS_ERR_INPUT, "value %s is not finite", text)
               : status;
}

/* One line "ROW COLUMN [VALUE]". */
static cs_status parse_coordinate(reader *r, int64_t *row, int64_t *col, double *val)
{
    char *word[3];
    int want = r->field == PATTERN ? 2 : 3;
    *val = 1;
    if (words_of(r->text, 3, word) != want) {
        return cs_fail(CS_ERR_INPUT, "an entry must be %s",
                       want == 2 ? "ROW COLUMN" : "ROW COLUMN VALUE");
    }
    cs_status status = parse_index(word[0], r->rows, "row", row);
    status = status ? status : parse_index(word[1], r->cols, "column", col);
    if (status == CS_OK && want == 3) status = parse_value(r, word[2], val);
    if (status != CS_OK || r->symmetry == GENERAL) return status;
    if (*row == *col && r->symmetry == SKEW) {
        return cs_fail(CS_ERR_INPUT,
                       "row %lld, column %lld is on the diagonal of a skew-symmetric matrix",
                       (long long)*row + 1, (long long)*col + 1);
    }
    r->below = r->below || *row > *col;
    r->above = r->above || *row < *col;
    return CS_OK;
}

/* One line "VALUE"; row and col step down the columns of the stored part. */
static cs_status parse_array_value(reader *r, int64_t *row, int64_t *col, double *val)
{
    char *word[1];
    *row += 1;
    while (*row >= r->rows) {
        *col += 1;
        *row = r->symmetry == GENERAL ? 0 : *col + (r->symmetry == SKEW);
    }
    if (words_of(r->text, 1, word) != 1) {
        return cs_fail(CS_ERR_INPUT, "a line of an array must hold one value");
    }
    return parse_value(r, word[0], val);
}

static cs_status read_entries(reader *r, triplets *t)
{
    int64_t row = r->rows, col = -1; /* an array's first step goes to its first column */
    for (int64_t e = 0; e < r->count; ++e) {
        double val = 0;
        cs_status status = next_line(r);
        if (status == CS_OK && r->end)
            return cs_fail(CS_ERR_INPUT, "line %lld: the file ends after %lld of %lld entries",
                           (long long)r->line, (long long)e, (long long)r->count);
        if (status == CS_OK) {
            status = r->array ? parse_array_value(r, &row, &col, &val)
                              : parse_coordinate(r, &row, &col, &val);
            status = cs_blame(status, "line %lld", (long long)r->line);
        }
        if (status == CS_OK && val != 0) {
            status = push(t, row, col, val);
            if (status == CS_OK && r->symmetry != GENERAL && row != col)
                status = push(t, col, row, r->symmetry == SKEW ? -val : val);
        }
        if (status != CS_OK) return status;
    }
    cs_status status = next_line(r);
    return status != CS_OK || r->end ? status
                                     : cs_fail(CS_ERR_INPUT, "line %lld: more than %lld entries",
                                               (long long)r->line, (long long)r->count);
}

typedef struct {
    int64_t low, high;
    bool above;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    const int64_t at[] = {x->low, x->high, x->above}, other[] = {y->low, y->high, y->above};
    int k = 0;
    while (k < 2 && at[k] == other[k]) {
        ++k;
    }
    return (at[k] > other[k]) - (at[k] < other[k]);
}

/* Refuses a pair of places with entries in both triangles of a file. `t` has the mirrored entry
 * after each that is not on the diagonal. */
static cs_status check_triangles(const reader *r, const triplets *t)
{
    if (!r->below || !r->above) return CS_OK;
    CS_AUTO_FREE place *list = cs_alloc(t->n > 0 ? t->n : 1, sizeof *list);
    int64_t count = 0;
    if (!list) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < t->n; i += t->row[i] == t->col[i] ? 1 : 2) {
        const int64_t row = t->row[i], col = t->col[i];
        if (row != col) list[count++] = (place){cs_least(row, col), cs_most(row, col), row < col};
    }
    qsort(list, (size_t)count, sizeof *list, by_place);
    for (int64_t i = 1; i < count; ++i) {
        const place *one = &list[i - 1], *next = &list[i];
        if (one->low == next->low && one->high == next->high && one->above != next->above)
            return cs_fail(CS_ERR_INPUT,
                           "row %lld, column %lld has an entry in both triangles, but a symmetric "
                           "matrix stores one",
                           (long long)one->high + 1, (long long)one->low + 1);
    }
    return CS_OK;
}

cs_status cs_mtx_read(const char *path, cs_nonempty_rows *rows, cs_csr *out)
{
    reader r = {0};
    CS_AUTO(triplets) t = {0};
    cs_status status = cs_stream_open(path, &r.stream);
    if (status != CS_OK) return status;
    status = read_banner(path, &r);
    status = status ? status : read_size(&r);
    if (status == CS_OK) status = cs_matrix_admit(path, r.rows, r.cols, 0);
    status = status ? status : read_entries(&r, &t);
    status = status ? status : check_triangles(&r, &t);
    const cs_triplets entries = {r.rows, r.cols, t.n, t.row, t.col, t.val};
    status = status ? status : cs_nonempty_from_triplets(path, &entries, rows, out);
    out->gram = status == CS_OK && r.gram;
    (void)fclose(r.stream); /* opened for reading: nothing to lose */
    free(r.text);           /* getline's own */
    return cs_blame(status, "%s", path);
}

static cs_status write_entries(FILE *stream, const cs_csr *a, bool integers)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < a->rows && !ferror(stream) && status == CS_OK; ++i) {
        for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; ++p) {
            long long row = (long long)i + 1, col = (long long)a->col[p] + 1;
            if (integers) {
                (void)fprintf(stream, "%lld %lld %lld\n", row, col, (long long)a->val[p]);
            } else {
                (void)fprintf(stream, "%lld %lld %.17g\n", row, col, a->val[p]);
            }
        }
        status = cs_interrupt_check();
    }
    return status;
}

cs_status cs_matrix_write_mtx(const char *path, const cs_csr *a, bool integers)
{
    cs_outfile file;
    cs_status status = cs_outfile_open(path, &file);
    if (status != CS_OK) return status;
    integers = integers && cs_csr_is_integer(a);
    void *before = cs_locale_enter();
    (void)fprintf(file.stream,
                  "%%%%MatrixMarket matrix coordinate %s general\n%s%s%lld %lld %lld\n",
                  integers ? "integer" : "real", a->gram ? GRAM_FORM : "", a->gram ? "\n" : "",
                  (long long)a->rows, (long long)a->cols, (long long)cs_csr_nnz(a));
    status = write_entries(file.stream, a, integers);
    cs_locale_leave(before);
    if (status == CS_OK) status = cs_outfile_sync(&file, cs_interrupt_check);
    if (status == CS_OK) status = cs_outfile_commit(&file); /* finds every write error */
    cs_outfile_abort(&file);
    return status;
}
