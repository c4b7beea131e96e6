/* Sheets: images of one size in rows and columns, small ones enlarged to about 64 pixels, with
 * white lines of two pixels between them and a heading above each column. */
#pragma once

#include "image/picture.h"

typedef struct {
    cs_picture picture;
    int64_t height, width; /* of an image */
    int64_t scale;         /* pixels of the sheet for a pixel of an image, in each direction */
} cs_cells;

/* A white sheet; freed by cs_picture_free(&cells->picture). CS_ERR_MEMORY. */
cs_status cs_cells_make(int64_t rows, int64_t columns, const cs_picture *like,
                        cs_cells *out) CS_MUST_CHECK;

/* Pixel (y, x) of the sheet within a cell, counted from its corner: y < height scale. */
uint8_t *cs_cells_at(const cs_cells *cells, int64_t row, int64_t column, int64_t y, int64_t x);

/* Writes the letters (capitals, digits and spaces) that fit the column. */
void cs_cells_heading(cs_cells *cells, int64_t column, const char *text);

/* The colour of a class: 0 background, black; neighbours differ clearly. */
void cs_class_colour(int number, uint8_t rgb[3]);
