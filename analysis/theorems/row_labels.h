/* Labels of the rows of a matrix, from a file. */
#pragma once

#include "cooc/labelled.h"

/* FILE.npy: integers, one for each row, negative for none. Any other file: text, a label a line,
 * numbered by first appearance, "-" or empty for none. Fills labels and row_label of *m, whose a is
 * already read and has these rows of the whole matrix; the file labels all rows of the whole. The
 * mass of a row belongs to its label. CS_ERR_INPUT names the file and the row or line ("labels.txt: 90 labels
 * for 100 rows"). */
cs_status cs_labels_read(const char *path, const cs_nonempty_rows *kept,
                         cs_labelled *m) CS_MUST_CHECK;
