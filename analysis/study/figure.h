/* Figures: tables of results joined, and a gnuplot script that is complete by itself, so that a reader
 * can trace every point and redraw with `gnuplot -e "format='svg'" NAME.gp`. */
#pragma once

#include "base/status.h"
#include "io/table.h"

/* The scripts of plots/, NAME.gp each. */
#define CS_FIGURES                                                                                 \
    "toy-spectra, mask-ratio, bound, spectra, connectivity, similarity, draws, draws-spectra, "    \
    "heavy-tails, pareto, mask-rank, mask-rank-depth, training, length, density, theorem43, "      \
    "budgets, rank-correlation, predicted, by-layer, rank-curve, alike, course, "                  \
    "differences"

typedef struct {
    const char *name;          /* of CS_FIGURES */
    const char *dir;           /* where it is drawn; there is NAME.csv already, the joined table */
    const char *series;        /* column that names the series of tables without a label */
    int filters;               /* rows must fit all of them, where their column exists */
    const char *const *filter; /* "COLUMN:VALUE" */
    int labels;
    const char *const
        *label; /* "SERIES=TEXT", commas as blanks: what a legend calls it (label.h) */
} cs_figure;

/* Appends the rows of a table in a CSV file that fit to *joined, which begins as zeros and gets its
 * columns from the first: `series` in front, the label (NULL: what figure->series says of each row)
 * with blanks for commas. CS_ERR_USAGE: a filter that is not COLUMN:VALUE with a column of the
 * file; CS_ERR_INPUT: a column that the first table has not. */
cs_status cs_figure_add(const cs_figure *figure, const char *path, const char *label,
                        cs_table *joined) CS_MUST_CHECK;

/* Writes DIR/NAME.gp: style, series of the table in order of appearance, body. CS_ERR_INPUT: the
 * table has no row, or lacks a column that the script draws. */
cs_status cs_figure_script(const cs_figure *figure, const cs_table *joined) CS_MUST_CHECK;

/* Draws DIR/NAME.FORMAT with gnuplot; format: svg, png or pdf. The file appears only when the drawing is
 * complete (drawing.h): else CS_ERR_IO. CS_ERR_INPUT: gnuplot failed on the script. */
cs_status cs_figure_draw(const cs_figure *figure, const char *format) CS_MUST_CHECK;
