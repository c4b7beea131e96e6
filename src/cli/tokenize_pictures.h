/* The part of cospec tokenize train for images: --model kmeans and vq. */
#pragma once

#include "cli/opt.h"

extern const cs_opt cs_group_tokenize_pictures[];

bool cs_tokenize_of_pictures(const cs_args *args);

/* Writes DIR/codes.safetensors and reports the remaining error, with that of k-means of the same
 * size. */
cs_status cs_tokenize_train_pictures(cs_args *args) CS_MUST_CHECK;
