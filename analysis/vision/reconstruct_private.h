/* Between the parts of the reconstruction of images. */
#pragma once

#include "image/images.h"

typedef struct {
    const cs_images *images;
    char model[32];       /* heading of its column */
    int64_t patch, width; /* width: values of a picture */
    int64_t pictures;
    float *truth;   /* pictures x width, patches one after another */
    float *made[3]; /* NULL: absent */
    int32_t *group; /* pictures x patches: 0 visible */
    int64_t patches;
} cs_fillings;

/* PNG with a row for each image: the original, its visible part (the rest grey), the
 * reconstructions. Real values are converted by the line through the least and the greatest pixel
 * of the images drawn. */
cs_status cs_fillings_sheet(const cs_fillings *f, const char *path) CS_MUST_CHECK;
