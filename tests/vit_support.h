/* Models of pictures for tests: a corpus of small smooth pictures, and runs of every form on it. */
#pragma once

#include "image/codes.h"
#include "image/images.h"
#include "image/patches.h"
#include "train_support.h"

enum { PICTURES = 24, SIDE = 8, PATCH = 2, PATCHES = 16, VALUES = 4, CODES = 4 };

/* Grey pictures of SIDE x SIDE: a random wave each, of two classes by its direction; every fourth is
 * held out. */
cs_images make_pictures(void);

typedef struct {
    const char *name;
    cs_objective_kind kind;
    bool two_stream, decoder;
    cs_target target; /* ids: codes */
    bool reads_codes;
} picture_form;
/* Every form that predicts values, some of codes; ends with a NULL name. */
extern const picture_form picture_forms[];

/* As make_training, on the patches of make_pictures: no tokenizer. */
training make_picture_training(const picture_form *form, int threads, const char *dir);
