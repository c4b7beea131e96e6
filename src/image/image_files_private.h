/* The image files of a folder, with their classes and their sides of the split.
 *
 *   DIR/FILE              unlabelled
 *   DIR/CLASS/FILE        a class for each folder; files are also in folders below it
 *   DIR/train/CLASS/FILE  with DIR/val, or DIR/test if there is no val: the split of the source. The
 *                         names are those of SPLIT in list_files.c; classes are those of train
 *
 * Names are in the order of their bytes, and those that begin with a dot are left out. So are files
 * that are no image by name and by content; they are counted. */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"

typedef enum { CS_SIDE_HASHED = -1, CS_SIDE_TRAIN, CS_SIDE_TEST } cs_image_side;

typedef struct {
    char *path, *key; /* key: below the folder */
    int32_t label;    /* -1: none */
    cs_image_side side;
    char sha256[65];
    int64_t height, width, channels;
} cs_image_file;

typedef struct {
    cs_image_file *file;
    int64_t files, capacity;
    char **label_name; /* bytes that are not UTF-8 as \xHH */
    int64_t labels;
    int64_t skipped; /* files that are no image */
    char *skipped_name;
    char *unread; /* the folder of a second held-out side; NULL: none */
} cs_image_files;

/* CS_ERR_INPUT: a class without images, images next to classes, a class of the held-out side alone,
 * folders deeper than 8; no image. CS_ERR_IO. */
cs_status cs_image_files_list(const char *path, const cs_progress *progress,
                              cs_image_files *out) CS_MUST_CHECK;
void cs_image_files_free(cs_image_files *files);

/* Whether a folder holds more images than other files, by their names or, for the first of the
 * others, by their first bytes. CS_ERR_IO names a folder that cannot be read. */
cs_status cs_image_files_are(const char *path, bool *are) CS_MUST_CHECK;
