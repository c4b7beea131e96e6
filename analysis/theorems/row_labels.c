/* Label files: small (one value a row), read whole. */
#include "analysis/theorems/row_labels.h"

#include <string.h>

#include "base/auto.h"
#include "io/file.h"
#include "io/npy.h"

static const int64_t TEXT_LIMIT = INT64_C(1) << 32;

static cs_status count_matches(const char *path, int64_t labels, int64_t rows)
{
    return labels == rows ? CS_OK
                          : cs_fail(CS_ERR_INPUT, "%s: %lld labels, but %lld rows", path,
                                    (long long)labels, (long long)rows);
}

static cs_status from_npy(const char *path, int64_t rows, int32_t *label, int64_t *classes)
{
    CS_AUTO(cs_array) array = {0};
    cs_status status = cs_npy_read(path, 0, &array);
    if (status == CS_OK) status = count_matches(path, array.size, rows);
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        int64_t value = 0;
        status = cs_blame(cs_array_i64(&array, i, &value), "%s", path);
        if (status == CS_OK && value >= INT32_MAX)
            status = cs_fail(CS_ERR_INPUT, "%s: row %lld: label %lld is not below 2^31 - 1", path,
                             (long long)i, (long long)value);
        label[i] = value < 0 ? -1 : (int32_t)value;
        *classes = value >= *classes ? value + 1 : *classes;
    }
    return status;
}

/* The number of a label text among those seen, added when new; classes are few. */
static int32_t number_of(const char *text, const char **seen, int64_t *classes)
{
    for (int64_t c = 0; c < *classes; ++c) {
        if (strcmp(seen[c], text) == 0) {
            return (int32_t)c;
        }
    }
    seen[*classes] = text;
    return (int32_t)(*classes)++;
}

static cs_status from_text(const char *path, int64_t rows, int32_t *label, int64_t *classes)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0, lines = 0;
    CS_AUTO_FREE const char **seen = NULL;
    cs_status status = cs_file_read_text(path, TEXT_LIMIT, &text, &size);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < size; ++i) {
        lines += text[i] == '\n' || (i == size - 1);
    }
    status = count_matches(path, lines, rows);
    if (status == CS_OK) {
        seen = cs_alloc(rows, sizeof *seen);
        status = seen ? CS_OK : CS_ERR_MEMORY;
    }
    char *rest = text;
    for (int64_t i = 0; status == CS_OK && i < rows; ++i) {
        char *line = strsep(&rest, "\n");
        size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r') {
            line[length - 1] = '\0';
        }
        bool none = line[0] == '\0' || strcmp(line, "-") == 0;
        label[i] = none ? -1 : number_of(line, seen, classes);
    }
    return status;
}

static cs_status masses(const cs_csr *a, const int32_t *label, int64_t classes, cs_csr *out)
{
    CS_AUTO_FREE double *sum = cs_alloc(a->rows, sizeof *sum);
    cs_status status = sum ? cs_csr_init(out, a->rows, classes, a->rows) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    cs_csr_sums(a, sum, NULL);
    int64_t e = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        if (label[i] >= 0 && sum[i] > 0) {
            out->col[e] = label[i];
            out->val[e++] = sum[i];
        }
        out->ptr[i + 1] = e;
    }
    return CS_OK;
}

cs_status cs_labels_read(const char *path, const cs_nonempty_rows *kept, cs_labelled *m)
{
    int64_t rows = kept->rows, classes = 0;
    CS_AUTO_FREE int32_t *label = cs_alloc(rows, sizeof *label);
    cs_status status = label ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_has_suffix(path, ".npy") ? from_npy(path, rows, label, &classes)
                                             : from_text(path, rows, label, &classes);
    if (status == CS_OK && classes == 0)
        status = cs_fail(CS_ERR_INPUT, "%s: no row has a label", path);
    for (int64_t i = 0; status == CS_OK && i < m->a.rows; ++i) {
        label[i] = label[cs_nonempty_rows_at(kept, i)]; /* further on, or in place */
    }
    if (status == CS_OK) status = masses(&m->a, label, classes, &m->row_label);
    if (status == CS_OK) m->labels = classes;
    return status;
}
