/* Scenes: 1 to 4 textured shapes on clutter, with the class of every pixel and a box a shape.
 *
 * A scene is a function of (seed, index). Shapes are of 8 classes, turned by up to 20 degrees, of
 * radius 5 to 9 pixels, plain, striped, chequered or dotted in two colours; a later one may cover an
 * edge of an earlier. A pixel belongs to the last shape that its centre is in: masks and boxes are
 * exact, what is covered does not count. The class of a picture is that of the shape of which most
 * pixels are seen.
 */
#pragma once

#include "image/images.h"

enum { CS_SCENE_SIDE = 32, CS_SCENE_CLASSES = 8, CS_SCENE_SHAPES = 4 };

/* pixel: side x side x 3; mask: side x side, 0 background, else 1 + class; box: room for
 * CS_SCENE_SHAPES. Returns the number of boxes, at least 1; *label: the class of the picture. */
int cs_scene_draw(uint64_t seed, int64_t index, uint8_t *pixel, uint8_t *mask, cs_box *box,
                  int32_t *label);
