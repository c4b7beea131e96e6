/* Letters of 5 x 7 dots. */
#include "image/cells.h"

#include <string.h>

#include "base/ints.h"
#include "base/mem.h"

enum { SMALL = 64, GAP = 2, LETTER = 6, TALL = 7, HEAD = TALL + 4 };

/* The highest bit of five on the left. */
static const char LETTERS[] = "ACDEGHILMNOPRSTUWXY0123456789";
static const uint8_t DOTS[sizeof LETTERS - 1][TALL] = {
    {14, 17, 17, 31, 17, 17, 17}, {14, 17, 16, 16, 16, 17, 14}, {30, 17, 17, 17, 17, 17, 30},
    {31, 16, 16, 30, 16, 16, 31}, {14, 17, 16, 23, 17, 17, 15}, {17, 17, 17, 31, 17, 17, 17},
    {14, 4, 4, 4, 4, 4, 14},      {16, 16, 16, 16, 16, 16, 31}, {17, 27, 21, 21, 17, 17, 17},
    {17, 25, 21, 19, 17, 17, 17}, {14, 17, 17, 17, 17, 17, 14}, {30, 17, 17, 30, 16, 16, 16},
    {30, 17, 17, 30, 20, 18, 17}, {15, 16, 16, 14, 1, 1, 30},   {31, 4, 4, 4, 4, 4, 4},
    {17, 17, 17, 17, 17, 17, 14}, {17, 17, 17, 21, 21, 27, 17}, {17, 17, 10, 4, 10, 17, 17},
    {17, 17, 10, 4, 4, 4, 4},     {14, 17, 19, 21, 25, 17, 14}, {4, 12, 4, 4, 4, 4, 14},
    {14, 17, 1, 2, 4, 8, 31},     {31, 2, 4, 2, 1, 17, 14},     {2, 6, 10, 18, 31, 2, 2},
    {31, 16, 30, 1, 1, 17, 14},   {6, 8, 16, 30, 17, 17, 14},   {31, 1, 2, 4, 8, 8, 8},
    {14, 17, 17, 14, 17, 17, 14}, {14, 17, 17, 15, 1, 2, 12}};

cs_status cs_cells_make(int64_t rows, int64_t columns, const cs_picture *like, cs_cells *out)
{
    cs_cells c = {.height = like->height,
                  .width = like->width,
                  .scale = cs_most(1, SMALL / cs_most(like->height, like->width))};
    c.picture = (cs_picture){.height = HEAD + rows * (c.height * c.scale + GAP) - GAP,
                             .width = columns * (c.width * c.scale + GAP) - GAP,
                             .channels = like->channels};
    const int64_t all = c.picture.height * c.picture.width * c.picture.channels;
    c.picture.pixel = cs_alloc(all, 1);
    if (!c.picture.pixel) return CS_ERR_MEMORY;
    memset(c.picture.pixel, 255, (size_t)all);
    *out = c;
    return CS_OK;
}

uint8_t *cs_cells_at(const cs_cells *c, int64_t row, int64_t column, int64_t y, int64_t x)
{
    return c->picture.pixel + ((HEAD + row * (c->height * c->scale + GAP) + y) * c->picture.width +
                               column * (c->width * c->scale + GAP) + x) *
                                  c->picture.channels;
}

void cs_cells_heading(cs_cells *c, int64_t column, const char *text)
{
    const int64_t left = column * (c->width * c->scale + GAP),
                  letters = cs_least((int64_t)strlen(text), c->width * c->scale / LETTER);
    for (int64_t i = 0; i < letters * LETTER * TALL; ++i) {
        const int64_t x = i / TALL % LETTER, y = i % TALL;
        const char *letter = strchr(LETTERS, text[i / TALL / LETTER]);
        uint8_t *to =
            c->picture.pixel + ((y + 1) * c->picture.width + left + i / TALL) * c->picture.channels;
        if (letter && x < LETTER - 1 && DOTS[letter - LETTERS][y] >> (LETTER - 2 - x) & 1) {
            memset(to, 0, (size_t)c->picture.channels);
        }
    }
}

void cs_class_colour(int number, uint8_t rgb[3])
{
    static const int step[3] = {67, 131, 29};
    for (int c = 0; c < 3; ++c) {
        const int level = number == 0 ? 0 : 64 + (number * step[c]) % 192;
        rgb[c] = (uint8_t)level;
    }
}
