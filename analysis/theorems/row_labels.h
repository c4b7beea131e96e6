/* Labels of a matrix' rows from a file. */
#pragma once

#include "cooc/labelled.h"

/* FILE.npy: integers, one a row, negative for none. Any other file: text, a label a line, numbered
 * by first appearance, "-" or nothing for none. Fills labels and row_label of *m, whose a is read
 * already and has these rows of the whole matrix, all of which the file labels: each row's mass
 * belongs to its label. CS_ERR_INPUT names the file and the row or line
 * ("labels.txt: 90 labels for 100 rows"). */
cs_status cs_labels_read(const char *path, const cs_kept_rows *kept, cs_labelled *m) CS_MUST_CHECK;
