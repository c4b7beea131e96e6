/* Figures: joined tables of results, and a self-contained gnuplot script, so that a reader can
 * trace every point and redraw with `gnuplot -e "format='svg'" NAME.gp`. */
#pragma once

#include "io/table.h"

/* The scripts of plots/, NAME.gp each. */
#define CS_FIGURES                                                                                 \
    "toy-spectra, mask-ratio, bound, spectra, connectivity, similarity, draws, draws-spectra, "    \
    "heavy-tails, pareto, mask-rank, mask-rank-depth, training, length, density, theorem43, "      \
    "budgets, rank-correlation, predicted, by-layer, rank-curve, alike, course, phases, "          \
    "differences, order"

typedef struct {
    const char *name; /* of CS_FIGURES */
    /* output folder, which already contains NAME.csv, the joined table */
    const char *dir;
    const char *series;        /* column with the name of the series, for tables without a label */
    int filters;               /* rows must match all of them, if their column exists */
    const char *const *filter; /* "COLUMN:VALUE" */
    int labels;
    const char *const *label; /* "SERIES=TEXT", commas as spaces: text of a legend */
} cs_figure;

/* Appends the matching rows of a CSV table to *joined, which starts as zeros and takes its columns
 * from the first: `series` first, the label (NULL: the value of column figure->series of each row)
 * with spaces for commas. CS_ERR_USAGE: a filter that is not COLUMN:VALUE with a column of the
 * file; CS_ERR_INPUT: a column that the first table does not have. */
cs_status cs_figure_add(const cs_figure *figure, const char *path, const char *label,
                        cs_table *joined) CS_MUST_CHECK;

/* Writes DIR/NAME.gp: style, series of the table in order of appearance, body. CS_ERR_INPUT: the
 * table has no row, or lacks a column that the script draws. */
cs_status cs_figure_script(const cs_figure *figure, const cs_table *joined) CS_MUST_CHECK;

/* Draws DIR/NAME.svg, .png and .pdf with gnuplot. The files appear only when all drawings are complete:
 * else CS_ERR_IO. CS_ERR_INPUT: gnuplot failed on the script. */
cs_status cs_figure_draw(const cs_figure *figure) CS_MUST_CHECK;

/* NULL for a complete drawing, else its fault. bytes: with a NUL behind them. format: svg (every
 * element is closed, and </svg> is last), png (every chunk has its checksum, and IEND is last), pdf
 * (startxref gives the place of the table of objects, and %%EOF is last). */
const char *cs_figure_fault(const char *format, const char *bytes, int64_t size);

/* The series of a result in readable form, in fresh memory, NULL without memory: "ar" is
 * "autoregressive"; "diverse-ar(t=2)" "one of the next 2"; "offset-ar(offset-weights=mix:0.5)"
 * "offset, mix 0.5"; "masked(unmasked=2)" "masked, 2 shown"; "masked(mask-ratio=0.15:0.3)" "masked,
 * 15 to 30 %"; other parameters keep their names. Every NAME(...) in the text is converted so, as
 * in mixtures; the rest is unchanged. */
char *cs_series_label(const char *series);
