/* The sheet of a reconstruction. */
#pragma once

#include "image/images.h"

typedef struct {
    const cs_images *images;
    int64_t patch, width;    /* width: values of a picture */
    int64_t among, pictures; /* drawn: so many of them, at equal distances */
    const float *truth;      /* among x width, patches one behind the other */
    const float *made[3];    /* NULL: not there */
    const int32_t *group;    /* among x patches: 0 shown */
    int64_t patches;
} cs_fillings;

/* PNG: a row a picture; what it is, what is shown of it (the rest grey), what was made of it. Values
 * of corpora of numbers are drawn as their pixels are, by the line through the least and the greatest
 * pixel of the pictures drawn. */
cs_status cs_fillings_sheet(const cs_fillings *filled, const char *path) CS_MUST_CHECK;
