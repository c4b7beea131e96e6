/* Patches of pictures, their orders, and pictures of patches. */
#include "image/patches.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "io/number.h"

/* --- orders ----------------------------------------------------------------------------------- */

/* Place d of Hilbert's curve through side x side, a power of two (Warren, Hacker's Delight, 16): two
 * bits of d at a time choose a quarter, which is turned as its part of the curve is. */
static void hilbert_place(int64_t side, int64_t d, int64_t *row, int64_t *column)
{
    int64_t x = 0, y = 0;
    for (int64_t s = 1; s < side; s *= 2, d /= 4) {
        const int64_t right = d / 2 & 1, up = (d ^ right) & 1;
        if (up == 0) {
            if (right == 1) {
                x = s - 1 - x;
                y = s - 1 - y;
            }
            const int64_t t = x;
            x = y;
            y = t;
        }
        x += s * right;
        y += s * up;
    }
    *row = y;
    *column = x;
}

cs_status cs_patch_order_make(cs_patch_order kind, int64_t rows, int64_t columns, int64_t side,
                              uint64_t seed, int32_t *order)
{
    if (rows < 1 || columns < 1 || rows > INT32_MAX / columns) {
        return cs_fail(CS_ERR_USAGE, "an order cannot have %lld x %lld patches", (long long)rows,
                       (long long)columns);
    }
    if (kind == CS_ORDER_SQUARES && side < 1) {
        return cs_fail(CS_ERR_USAGE, "squares cannot have side %lld", (long long)side);
    }
    const int64_t patches = rows * columns;
    int64_t k = 0, power = 1;
    cs_rng rng = cs_rng_at(seed, CS_STREAM_ORDER, 0);
    switch (kind) {
    case CS_ORDER_RANDOM:
        cs_rng_permutation(&rng, patches, order);
        break;
    case CS_ORDER_HILBERT:
        while (power < rows || power < columns) {
            power *= 2;
        }
        for (int64_t d = 0; d < power * power; ++d) {
            int64_t row = 0, column = 0;
            hilbert_place(power, d, &row, &column);
            if (row < rows && column < columns) {
                order[k++] = (int32_t)(row * columns + column);
            }
        }
        break;
    case CS_ORDER_RASTER:
    case CS_ORDER_SQUARES:
        side = kind == CS_ORDER_RASTER ? patches : side;
        for (int64_t top = 0; top < rows; top += side) {
            for (int64_t left = 0; left < columns; left += side) {
                for (int64_t y = top; y < rows && y < top + side; ++y) {
                    for (int64_t x = left; x < columns && x < left + side; ++x) {
                        order[k++] = (int32_t)(y * columns + x);
                    }
                }
            }
        }
        break;
    }
    return CS_OK;
}

/* The next number of a patch, each once; `seen` has its place, from 1. */
static cs_status take_patch(const char *in, const char *unit, long long place, const char *digits,
                            int64_t patches, int64_t *seen, int64_t at, int32_t *order)
{
    int64_t t = -1;
    if (!cs_int_scan(digits, &t)) {
        return cs_fail(CS_ERR_INPUT, "%s: %s %lld: '%.40s' is not a patch number", in, unit, place,
                       digits);
    }
    if (t < 0 || t >= patches) {
        return cs_fail(CS_ERR_INPUT, "%s: %s %lld: patch %lld is not in 0..%lld", in, unit, place,
                       (long long)t, (long long)patches - 1);
    }
    if (seen[t] > 0) {
        return cs_fail(CS_ERR_INPUT, "%s: %s %lld: patch %lld is listed twice, first at %lld", in,
                       unit, place, (long long)t, (long long)seen[t]);
    }
    if (at < patches) order[at] = (int32_t)t;
    seen[t] = place;
    return CS_OK;
}

/* Numbers separated by the characters of `parting`, each once. lines: they are said to be at lines,
 * else at places. */
static cs_status read_list(const char *in, char *text, const char *parting, bool lines,
                           int64_t patches, int32_t *order)
{
    int64_t count = 0, line = 1, *seen = cs_calloc(patches, sizeof *seen);
    cs_status status = seen ? CS_OK : CS_ERR_MEMORY;
    for (char *p = text; status == CS_OK && *p;) {
        const size_t blank = strspn(p, parting), word = strcspn(p + blank, parting);
        for (size_t i = 0; i < blank; ++i) {
            line += p[i] == '\n';
        }
        char *digits = p + blank;
        p = digits + word;
        if (word > 0) {
            const char after = *p;
            *p = '\0';
            status = lines
                         ? take_patch(in, "line", line, digits, patches, seen, count, order)
                         : take_patch(in, "place", count + 1, digits, patches, seen, count, order);
            *p = after;
            count += 1;
        }
    }
    if (status == CS_OK && count != patches)
        status = cs_fail(CS_ERR_INPUT, "%s: an order of %lld patches, but pictures have %lld", in,
                         (long long)count, (long long)patches);
    cs_free(seen);
    return status;
}

cs_status cs_patch_order_file(const char *path, int64_t rows, int64_t columns, int64_t capacity,
                              char *name)
{
    const int64_t limit = 1 << 20, patches = rows * columns;
    int64_t size = 0, at = 0;
    CS_AUTO_FREE char *text = NULL;
    CS_AUTO_FREE int32_t *order = cs_alloc(patches, sizeof *order);
    cs_status status = order ? cs_file_read_text(path, limit, &text, &size) : CS_ERR_MEMORY;
    if (status == CS_OK) status = read_list(path, text, " \t\r\n,", true, patches, order);
    for (int64_t k = 0; k < patches && status == CS_OK; ++k) {
        at += snprintf(name + at, (size_t)(capacity - at), "%s%d", k > 0 ? "," : "", (int)order[k]);
        if (at >= capacity)
            status = cs_fail(CS_ERR_INPUT,
                             "%s: a model can store an order from a file of about a thousand "
                             "patches, not of %lld",
                             path, (long long)patches);
    }
    return status;
}

cs_status cs_patch_order_named(const char *name, int64_t rows, int64_t columns, uint64_t seed,
                               int32_t **order)
{
    static const char squares[] = "squares:", random[] = "random:";
    static const char *const word[] = {"raster", "random", "hilbert"};
    int32_t *made = rows > 0 && columns > 0 ? cs_alloc(rows * columns, sizeof *made)
                                            : cs_alloc(1, sizeof *made);
    if (!made) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    int kind = 0;
    while (kind < 3 && strcmp(name, word[kind]) != 0) {
        kind += 1;
    }
    if (kind < 3) {
        status = cs_patch_order_make((cs_patch_order)kind, rows, columns, 0, seed, made);
    } else if (strncmp(name, random, sizeof random - 1) == 0) {
        char *end = NULL;
        const char *digits = name + sizeof random - 1;
        const unsigned long long own = strtoull(digits, &end, 10);
        status = *end || *digits < '0' || *digits > '9'
                     ? cs_fail(CS_ERR_USAGE, "order \"%s\": expected random:SEED", name)
                     : cs_patch_order_make(CS_ORDER_RANDOM, rows, columns, 0, own, made);
    } else if (strncmp(name, squares, sizeof squares - 1) == 0) {
        char *end = NULL;
        const long long side = strtoll(name + sizeof squares - 1, &end, 10);
        status =
            *end || side < 1
                ? cs_fail(CS_ERR_USAGE, "order \"%s\": expected squares:S with S at least 1", name)
                : cs_patch_order_make(CS_ORDER_SQUARES, rows, columns, side, seed, made);
    } else if (*name >= '0' && *name <= '9') {
        CS_AUTO_FREE char *list = cs_strdup(name);
        status = list ? read_list("order", list, ",", false, rows * columns, made) : CS_ERR_MEMORY;
    } else {
        status = cs_fail(CS_ERR_USAGE,
                         "order \"%.100s\" is not raster, random, hilbert, squares:S or a list of "
                         "patches",
                         name);
    }
    return CS_DELIVER(status, order, made, cs_drop);
}

/* --- patches ---------------------------------------------------------------------------------- */

static double value_at(const cs_images *m, int64_t at)
{
    return m->value ? (double)m->value[at] : (double)m->pixel[at] / 255;
}

void cs_patch_read(const cs_images *images, int64_t i, int64_t patch, int64_t t, float *to)
{
    const int64_t across = images->width / patch, top = t / across * patch,
                  left = t % across * patch;
    for (int64_t y = 0; y < patch; ++y) {
        const int64_t from =
            ((i * images->height + top + y) * images->width + left) * images->channels;
        for (int64_t v = 0; v < patch * images->channels; ++v) {
            *to++ = (float)value_at(images, from + v);
        }
    }
}

cs_status cs_patches_read(const cs_images *m, int64_t i, int64_t patch, float *to)
{
    const int64_t patches = m->height / patch * (m->width / patch),
                  values = patch * patch * m->channels;
    CS_AUTO_FREE uint8_t *pixel = NULL;
    cs_images one = *m;
    if (m->stream) {
        one.pixel = pixel = cs_alloc(patches * values, 1);
        cs_status status = pixel ? cs_images_read(m, i, pixel) : CS_ERR_MEMORY;
        if (status != CS_OK) return status;
        i = 0;
    }
    for (int64_t t = 0; t < patches; ++t) {
        cs_patch_read(&one, i, patch, t, to + t * values);
    }
    return CS_OK;
}

cs_status cs_images_documents(const cs_images *images, int64_t length, int64_t vocab,
                              cs_corpus *out)
{
    cs_corpus c = {.documents = images->count,
                   .tokens = images->count * length,
                   .vocab = vocab,
                   .unknown = -1};
    cs_status status = cs_mem_check(4.0 * (double)c.tokens, NULL, "%s: %lld patches take",
                                    images->name, (long long)c.tokens);
    if (status != CS_OK) return status;
    c.name = cs_strdup(images->name);
    c.path = cs_strdup(images->path);
    c.doc_ptr = cs_alloc(images->count + 1, sizeof *c.doc_ptr);
    c.token = cs_calloc(c.tokens, sizeof *c.token);
    c.label = cs_alloc(images->count, sizeof *c.label);
    c.held_out = cs_alloc(images->count, 1);
    status = cs_text_list_copy(images->label_name, images->labels, &c.label_name);
    c.labels = c.label_name ? images->labels : 0;
    if (!c.name || !c.path || !c.doc_ptr || !c.token || !c.label || !c.held_out)
        status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        memcpy(c.sha256, images->sha256, sizeof c.sha256);
        memcpy(c.label, images->label, (size_t)images->count * sizeof *c.label);
        memcpy(c.held_out, images->held_out, (size_t)images->count);
    }
    for (int64_t i = 0; i <= images->count && status == CS_OK; ++i) {
        c.doc_ptr[i] = i * length;
    }
    return CS_DELIVER(status, out, c, cs_corpus_free);
}

cs_status cs_patch_check(const cs_images *images, int64_t patch)
{
    return patch > 0 && images->height % patch == 0 && images->width % patch == 0
               ? CS_OK
               : cs_fail(CS_ERR_USAGE, "patch size %lld does not divide pictures of %lld x %lld",
                         (long long)patch, (long long)images->height, (long long)images->width);
}

cs_status cs_images_ids(const cs_images *images, int64_t patch, const int32_t *order,
                        const int32_t *id, int64_t vocab, cs_corpus *out)
{
    cs_status status = cs_patch_check(images, patch);
    if (status != CS_OK) return status;
    const int64_t patches = images->height / patch * (images->width / patch);
    status = cs_images_documents(images, patches, vocab, out);
    if (status == CS_OK && images->extra) {
        out->extra = cs_alloc(images->count * images->extra_width, sizeof *out->extra);
        status = out->extra ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && images->extra) {
        out->extra_width = images->extra_width;
        memcpy(out->extra, images->extra,
               (size_t)(images->count * images->extra_width) * sizeof *out->extra);
    }
    for (int64_t at = 0; status == CS_OK && id && at < out->tokens; ++at) {
        const int64_t t = order ? order[at % patches] : at % patches;
        out->token[at] = id[at / patches * patches + t];
    }
    return status;
}

cs_status cs_images_patches(const cs_images *images, int64_t patch, const int32_t *order,
                            const int32_t *id, int64_t vocab, cs_corpus *out)
{
    cs_corpus c = {0};
    cs_status status = cs_images_ids(images, patch, order, id, id ? vocab : 1, &c);
    const int64_t wide = patch * patch * images->channels;
    c.real_width = status == CS_OK ? wide : 0;
    if (status == CS_OK && images->stream) {
        *out = c;
        return CS_OK;
    }
    if (status == CS_OK)
        status = cs_mem_check(4.0 * (double)(c.tokens * wide), NULL,
                              "%s: %lld patches of %lld values take", images->name,
                              (long long)c.tokens, (long long)wide);
    if (status != CS_OK) goto done;
    c.real = cs_alloc(c.tokens * wide, sizeof *c.real);
    status = c.real ? CS_OK : CS_ERR_MEMORY;
    const int64_t patches = images->height / patch * (images->width / patch);
    for (int64_t at = 0; at < c.tokens && status == CS_OK; ++at) {
        const int64_t t = order ? order[at % patches] : at % patches;
        cs_patch_read(images, at / patches, patch, t, c.real + at * wide);
    }
done:
    return CS_DELIVER(status, out, c, cs_corpus_free);
}

void cs_patches_cut(const float *values, int64_t height, int64_t width, int64_t channels,
                    int64_t patch, float *to)
{
    for (int64_t top = 0; top < height; top += patch) {
        for (int64_t left = 0; left < width; left += patch) {
            for (int64_t y = top; y < top + patch; ++y) {
                memcpy(to, values + (y * width + left) * channels,
                       (size_t)(patch * channels) * sizeof *to);
                to += patch * channels;
            }
        }
    }
}

void cs_patches_order(int64_t patches, int64_t values, const int32_t *order, const float *from,
                      float *to)
{
    for (int64_t k = 0; k < patches; ++k) {
        memcpy(to + k * values, from + order[k] * values, (size_t)values * sizeof *to);
    }
}

void cs_patches_join(const float *vectors, int64_t height, int64_t width, int64_t channels,
                     int64_t patch, const int32_t *order, float *to)
{
    const int64_t across = width / patch, patches = height / patch * across;
    for (int64_t k = 0; k < patches; ++k) {
        const int64_t t = order ? order[k] : k;
        for (int64_t y = 0; y < patch; ++y) {
            memcpy(to + ((t / across * patch + y) * width + t % across * patch) * channels, vectors,
                   (size_t)(patch * channels) * sizeof *to);
            vectors += patch * channels;
        }
    }
}

/* Letters of 5 x 7 dots. */
enum { SMALL = 64, GAP = 2, LETTER = 6, TALL = 7, HEAD = TALL + 4 };

/* The highest bit of five on the left. */
static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
static const uint8_t DOTS[sizeof LETTERS - 1][TALL] = {
    {14, 17, 17, 31, 17, 17, 17}, {30, 17, 17, 30, 17, 17, 30}, {14, 17, 16, 16, 16, 17, 14},
    {30, 17, 17, 17, 17, 17, 30}, {31, 16, 16, 30, 16, 16, 31}, {31, 16, 16, 30, 16, 16, 16},
    {14, 17, 16, 23, 17, 17, 15}, {17, 17, 17, 31, 17, 17, 17}, {14, 4, 4, 4, 4, 4, 14},
    {1, 1, 1, 1, 1, 17, 14},      {17, 18, 20, 24, 20, 18, 17}, {16, 16, 16, 16, 16, 16, 31},
    {17, 27, 21, 21, 17, 17, 17}, {17, 25, 21, 19, 17, 17, 17}, {14, 17, 17, 17, 17, 17, 14},
    {30, 17, 17, 30, 16, 16, 16}, {14, 17, 17, 17, 21, 18, 13}, {30, 17, 17, 30, 20, 18, 17},
    {15, 16, 16, 14, 1, 1, 30},   {31, 4, 4, 4, 4, 4, 4},       {17, 17, 17, 17, 17, 17, 14},
    {17, 17, 17, 17, 17, 10, 4},  {17, 17, 17, 21, 21, 27, 17}, {17, 17, 10, 4, 10, 17, 17},
    {17, 17, 10, 4, 4, 4, 4},     {31, 1, 2, 4, 8, 16, 31},     {14, 17, 19, 21, 25, 17, 14},
    {4, 12, 4, 4, 4, 4, 14},      {14, 17, 1, 2, 4, 8, 31},     {31, 2, 4, 2, 1, 17, 14},
    {2, 6, 10, 18, 31, 2, 2},     {31, 16, 30, 1, 1, 17, 14},   {6, 8, 16, 30, 17, 17, 14},
    {31, 1, 2, 4, 8, 8, 8},       {14, 17, 17, 14, 17, 17, 14}, {14, 17, 17, 15, 1, 2, 12},
    {0, 0, 0, 31, 0, 0, 0}};

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
        const char *letter = strchr(LETTERS, toupper((unsigned char)text[i / TALL / LETTER]));
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
