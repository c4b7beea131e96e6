/* The columns of a file that contain the label, the text and a second text. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

typedef struct {
    const char *text;
    int64_t size;
} cs_cell;

/* The columns by resolved options and the cells of the first line. csv: files that normally have a
 * header. CS_ERR_INPUT: a header without a text, a column named by an option that does not exist, a
 * CSV whose columns are given neither by names nor by options. */
cs_status cs_columns_find(const cs_corpus_options *options, bool csv, const cs_cell *cell,
                          int64_t cells, cs_columns *out) CS_MUST_CHECK;
