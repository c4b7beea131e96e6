/* Scenes: 1 to 4 textured shapes on clutter, with the class of every pixel and a box for each
 * shape.
 *
 * A scene is a function of (seed, index). Shapes are of 8 classes, rotated by up to 20 degrees, of
 * radius 5 to 9 pixels, plain, striped, chequered or dotted in two colours; a later one may cover
 * an edge of an earlier one. A pixel belongs to the last shape that contains its centre: masks and
 * boxes are exact, and covered pixels do not count. The class of an image is that of the shape with
 * the most visible pixels. */
#pragma once

#include "image/images.h"

enum { CS_SCENE_SIDE = 32, CS_SCENE_CLASSES = 8, CS_SCENE_SHAPES = 4 };

/* pixel: side x side x 3; mask: side x side, 0 background, else 1 + class; box: capacity
 * CS_SCENE_SHAPES. Returns the number of boxes, at least 1; *label: the class of the image. */
int cs_scene_draw(uint64_t seed, int64_t index, uint8_t *pixel, uint8_t *mask, cs_box *box,
                  int32_t *label);
