/* Pictures: files written here byte by byte or by libjpeg, decoded; truncated at every byte and
 * damaged at every byte; the rules for depths, transparency, palettes and rotation. */
#include <dlfcn.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>
#include <math.h>
#include <zlib.h>

#include "image/picture.h"
#include "io/file.h"
#include "io_support.h"

/* --- PNG, chunk by chunk after its specification (ISO 15948), with zlib for CRC and deflate ------- */

typedef struct {
    uint8_t bytes[4096];
    int64_t size;
} blob;

static void add(blob *b, const void *bytes, size_t size)
{
    assert_true((size_t)b->size + size <= sizeof b->bytes);
    memcpy(b->bytes + b->size, bytes, size);
    b->size += (int64_t)size;
}

static void add_u32(blob *b, uint32_t x)
{
    add(b, (uint8_t[]){(uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x}, 4);
}

static void add_chunk(blob *b, const char *type, const void *data, size_t size)
{
    add_u32(b, (uint32_t)size);
    const int64_t from = b->size;
    add(b, type, 4);
    add(b, data, size);
    add_u32(b, (uint32_t)crc32(0, b->bytes + from, (uInt)(size + 4)));
}

typedef struct {
    uint32_t width, height;
    uint8_t depth, type, interlace;
    const char *extra; /* a chunk before the data, or NULL */
    const uint8_t *extra_data;
    size_t extra_size;
} png_form;

/* `rows`: the filtered rows, each behind its filter byte 0. */
static blob png_of(png_form f, const uint8_t *rows, size_t size)
{
    blob b = {.size = 0}, head = {.size = 0};
    uint8_t packed[2048];
    uLongf length = sizeof packed;
    add(&b, "\x89PNG\r\n\x1A\n", 8);
    add_u32(&head, f.width);
    add_u32(&head, f.height);
    add(&head, (uint8_t[]){f.depth, f.type, 0, 0, f.interlace}, 5);
    add_chunk(&b, "IHDR", head.bytes, 13);
    if (f.extra) {
        add_chunk(&b, f.extra, f.extra_data, f.extra_size);
    }
    assert_int_equal(compress(packed, &length, rows, size), Z_OK);
    add_chunk(&b, "IDAT", packed, length);
    add_chunk(&b, "IEND", "", 0);
    return b;
}

static cs_picture decoded(const blob *b)
{
    cs_picture p = {0}, header = {0};
    OK(cs_picture_decode("p", b->bytes, b->size, true, &header));
    OK(cs_picture_decode("p", b->bytes, b->size, false, &p));
    assert_null(header.pixel);
    assert_int_equal(header.height, p.height);
    assert_int_equal(header.width, p.width);
    assert_int_equal(header.channels, p.channels);
    return p;
}

static void assert_pixels(const blob *b, int64_t height, int64_t width, int64_t channels,
                          const uint8_t *wanted)
{
    CS_AUTO(cs_picture) p = decoded(b);
    assert_int_equal(p.height, height);
    assert_int_equal(p.width, width);
    assert_int_equal(p.channels, channels);
    assert_memory_equal(p.pixel, wanted, (size_t)(height * width * channels));
}

TEST(png_depths_palettes_and_transparency_follow_the_rules)
{
    blob b =
        png_of((png_form){.width = 2, .height = 2, .depth = 8}, (uint8_t[]){0, 1, 2, 0, 3, 250}, 6);
    assert_pixels(&b, 2, 2, 1, (uint8_t[]){1, 2, 3, 250});
    b = png_of((png_form){.width = 3, .height = 1, .depth = 1}, (uint8_t[]){0, 0xA0}, 2);
    assert_pixels(&b, 1, 3, 1, (uint8_t[]){255, 0, 255});
    /* 16 bits: 0x0101 = 257 is 1; 384 = 1.494 is 1, 386 = 1.502 is 2. */
    b = png_of((png_form){.width = 3, .height = 1, .depth = 16},
               (uint8_t[]){0, 1, 1, 1, 0x80, 1, 0x82}, 7);
    assert_pixels(&b, 1, 3, 1, (uint8_t[]){1, 1, 2});
    /* Colour with alpha 0, 128 and 255 over white: 255, (40 128 + 255 127) / 255 = 147.08, 40. */
    b = png_of((png_form){.width = 3, .height = 1, .depth = 8, .type = 6},
               (uint8_t[]){0, 40, 0, 0, 0, 40, 40, 40, 128, 40, 41, 42, 255}, 13);
    assert_pixels(&b, 1, 3, 3, (uint8_t[]){255, 255, 255, 147, 147, 147, 40, 41, 42});
    b = png_of((png_form){.width = 3, .height = 1, .depth = 8, .type = 4},
               (uint8_t[]){0, 7, 255, 9, 0, 10, 100}, 7);
    assert_pixels(&b, 1, 3, 1, (uint8_t[]){7, 255, 159}); /* (10 100 + 255 155) / 255 = 158.92 */
    b = png_of((png_form){.width = 2,
                          .height = 1,
                          .depth = 8,
                          .type = 3,
                          .extra = "PLTE",
                          .extra_data = (uint8_t[]){10, 20, 30, 40, 50, 60},
                          .extra_size = 6},
               (uint8_t[]){0, 1, 0}, 3);
    assert_pixels(&b, 1, 2, 3, (uint8_t[]){40, 50, 60, 10, 20, 30});
    /* Grey value 5 is transparent. */
    b = png_of((png_form){.width = 2,
                          .height = 1,
                          .depth = 8,
                          .extra = "tRNS",
                          .extra_data = (uint8_t[]){0, 5},
                          .extra_size = 2},
               (uint8_t[]){0, 5, 6}, 3);
    assert_pixels(&b, 1, 2, 1, (uint8_t[]){255, 6});
    /* Interlaced, 2 x 2: pass 1 has (0, 0), pass 6 (0, 1), pass 7 row 1. */
    b = png_of((png_form){.width = 2, .height = 2, .depth = 8, .type = 4, .interlace = 1},
               (uint8_t[]){0, 1, 255, 0, 2, 255, 0, 3, 255, 4, 0}, 11);
    assert_pixels(&b, 2, 2, 1, (uint8_t[]){1, 2, 3, 255});
}

TEST(sizes_are_refused_before_memory_is_taken)
{
    cs_picture p = {0};
    blob b = png_of((png_form){.width = 65536, .height = 1, .depth = 8}, (uint8_t[]){0}, 1);
    assert_fails(cs_picture_decode("a.png", b.bytes, b.size, false, &p), CS_ERR_INPUT,
                 "a.png: a picture of 1 x 65536");
    b = png_of((png_form){.width = 60000, .height = 60000, .depth = 16, .type = 6}, (uint8_t[]){0},
               1);
    assert_fails(cs_picture_decode("a.png", b.bytes, b.size, false, &p), CS_ERR_INPUT,
                 "a.png: a picture of 60000 x 60000");
    static const char wide[] = "P5 65535 65535 255\n";
    assert_fails(cs_picture_decode("a.pgm", wide, sizeof wide, false, &p), CS_ERR_INPUT,
                 "a.pgm: a picture of 65535 x 65535");
    static const char few[] = "P6 2 1 255\nabcde";
    assert_fails(cs_picture_decode("a.ppm", few, sizeof few - 1, false, &p), CS_ERR_INPUT,
                 "a.ppm: 5 bytes of pixels, but 1 x 2 pixels need 6");
    assert_fails(cs_picture_decode("a.gif", "GIF90a", 6, false, &p), CS_ERR_INPUT,
                 "a.gif: not a PNG");
    assert_false(cs_picture_is("GIF90a", 6));
    assert_false(cs_picture_is("\x89PNG", 4));
}

TEST(pgm_and_ppm)
{
    blob b = {.size = 0};
    add(&b, "P5\n# a comment 9 9\n2 1\n255\n\x07\xFF", 29);
    assert_pixels(&b, 1, 2, 1, (uint8_t[]){7, 255});
    b.size = 0;
    add(&b, "P6 1 1 15 \x00\x07\x0F", 13); /* 255 7 / 15 = 119 */
    assert_pixels(&b, 1, 1, 3, (uint8_t[]){0, 119, 255});
    b.size = 0;
    add(&b, "P5 2 1 1000 \x03\xE8\x01\xF4", 16); /* 1000, 500: 127.5 is 128 */
    assert_pixels(&b, 1, 2, 1, (uint8_t[]){255, 128});
    cs_picture p = {0};
    assert_fails(cs_picture_decode("a", "P5 1 1 15 \x10", 11, false, &p), CS_ERR_INPUT,
                 "a: byte 10: value 16 exceeds the maximum, 15");
    assert_fails(cs_picture_decode("a", "P5 0 1 15 \x10", 11, false, &p), CS_ERR_INPUT,
                 "a: byte 3: the width is not a number from 1 to 65535");
    assert_fails(cs_picture_decode("a", "P5 1 99999 15 \x10", 15, false, &p), CS_ERR_INPUT,
                 "a: byte 5: the height is not a number");
    assert_fails(cs_picture_decode("a", "P5", 2, false, &p), CS_ERR_INPUT, "a: byte 2: the width");
}

/* --- JPEG, written by libjpeg --------------------------------------------------------------------- */

static blob jpeg_of(int width, int height, J_COLOR_SPACE space, int channels, const uint8_t *pixel,
                    int orientation)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    CS_AUTO_FREE unsigned char *bytes = NULL;
    unsigned long size = 0;
    blob b = {.size = 0};
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &size);
    c.image_width = (JDIMENSION)width;
    c.image_height = (JDIMENSION)height;
    c.input_components = channels;
    c.in_color_space = space;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1; /* no subsampling */
    jpeg_start_compress(&c, TRUE);
    if (orientation) {
        uint8_t exif[] = {'E',  'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1,
                          0x12, 0,   3,   0,   0, 0, 1,   0,   0, 0,  0, 0, 0, 0, 0, 0};
        exif[25] = (uint8_t)orientation;
        jpeg_write_marker(&c, JPEG_APP0 + 1, exif, sizeof exif);
    }
    while (c.next_scanline < c.image_height) {
        JSAMPROW row =
            (JSAMPROW)(uintptr_t)(pixel + c.next_scanline * (unsigned)(width * channels));
        (void)jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    add(&b, bytes, size);
    return b;
}

/* Quality 100 quantises each coefficient to whole numbers: no value is off by more than this. */
static void assert_pixels_near(const uint8_t *a, const uint8_t *b, int64_t size)
{
    for (int64_t i = 0; i < size; ++i) {
        assert_in_range(a[i] + 3 - b[i], 0, 6);
    }
}

TEST(jpeg_in_grey_and_colour)
{
    uint8_t pixel[8 * 16 * 3];
    for (int i = 0; i < 8 * 16 * 3; ++i) {
        pixel[i] = (uint8_t)(100 + 5 * (i / 48) + i % 48);
    }
    blob b = jpeg_of(16, 8, JCS_RGB, 3, pixel, 0);
    cs_picture p = decoded(&b);
    assert_int_equal(p.height, 8);
    assert_int_equal(p.width, 16);
    assert_int_equal(p.channels, 3);
    assert_pixels_near(p.pixel, pixel, sizeof pixel);
    cs_picture_free(&p);
    b = jpeg_of(8, 8, JCS_GRAYSCALE, 1, pixel, 0);
    p = decoded(&b);
    assert_int_equal(p.channels, 1);
    assert_pixels_near(p.pixel, pixel, 64);
    cs_picture_free(&p);
    /* CMYK is stored inverted: colour c of ink i and black k is i k / 255 */
    uint8_t want[64 * 3];
    for (int i = 0; i < 64 * 3; ++i) {
        want[i] = (uint8_t)lround(pixel[i / 3 * 4 + i % 3] * pixel[i / 3 * 4 + 3] / 255.0);
    }
    b = jpeg_of(8, 8, JCS_CMYK, 4, pixel, 0);
    p = decoded(&b);
    assert_int_equal(p.channels, 3);
    assert_pixels_near(p.pixel, want, sizeof want);
    cs_picture_free(&p);
}

/* Where corner (0, 0) of the stored picture, and the one to its right, are shown: from the table of
 * EXIF 2.3 (tag 274): what side of the scene row 0 and column 0 are. */
TEST(exif_orientation_is_applied)
{
    static const struct {
        int top,
            left; /* row 0 is the scene's: 0 top, 1 right, 2 bottom, 3 left; column 0 likewise */
    } scene[9] = {{0, 3}, {0, 3}, {0, 1}, {2, 1}, {2, 3}, {3, 0}, {1, 0}, {1, 2}, {3, 2}};
    enum { H = 8, W = 16 };
    ARRAY(uint8_t, pixel, (H * W), i, 8 + 12 * (i / W) + 8 * (i % W));
    for (int o = 0; o <= 8; ++o) {
        blob b = jpeg_of(W, H, JCS_GRAYSCALE, 1, pixel, o);
        CS_AUTO(cs_picture) p = decoded(&b);
        const bool across = scene[o].top % 2 == 1;
        assert_int_equal(p.height, across ? W : H);
        assert_int_equal(p.width, across ? H : W);
        for (int r = 0; r < H; ++r) {
            for (int c = 0; c < W; ++c) {
                /* r counts away from the side of row 0, c from that of column 0. */
                int64_t y = 0, x = 0;
                const int side[2] = {scene[o].top, scene[o].left}, step[2] = {r, c};
                for (int k = 0; k < 2; ++k) {
                    if (side[k] == 0) y = step[k];
                    if (side[k] == 2) y = p.height - 1 - step[k];
                    if (side[k] == 3) x = step[k];
                    if (side[k] == 1) x = p.width - 1 - step[k];
                }
                assert_pixels_near(&p.pixel[y * p.width + x], &pixel[r * W + c], 1);
            }
        }
    }
}

/* Cut at every byte: an error that names the file, or (what is cut is behind the picture) the same
 * picture. Damaged at every byte: an error or some picture of sizes that are allowed. */
static void cut_and_damage(const blob *b, int64_t needed)
{
    CS_AUTO(cs_picture) whole = decoded(b);
    for (int64_t size = 0; size < b->size; ++size) {
        CS_AUTO(cs_picture) p = {0};
        cs_reason_clear();
        CS_AUTO_FREE uint8_t *exact =
            cs_alloc(size, 1); /* so that a sanitizer sees a byte read behind it */
        memcpy(exact, b->bytes, (size_t)size);
        const cs_status status = cs_picture_decode("f", exact, size, false, &p);
        if (size < needed) {
            assert_int_equal(status, CS_ERR_INPUT);
            expect_reason("f: ");
        } else if (status == CS_OK) {
            assert_memory_equal(p.pixel, whole.pixel,
                                (size_t)(whole.height * whole.width * whole.channels));
        }
    }
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    for (int64_t i = 0; i < 20 * b->size; ++i) {
        blob bad = *b;
        bad.bytes[i % b->size] ^= (uint8_t)(1 + cs_rng_below(&rng, 255));
        CS_AUTO(cs_picture) p = {0};
        cs_reason_clear();
        const cs_status status = cs_picture_decode("f", bad.bytes, bad.size, false, &p);
        assert_true(status == CS_OK || status == CS_ERR_INPUT || status == CS_ERR_MEMORY);
    }
    cs_reason_clear();
}

TEST(cut_and_damaged_files_are_refused)
{
    uint8_t rows[8 * 25];
    ARRAY(uint8_t, pixel, (16 * 16 * 3), i, (i * i));
    for (int r = 0; r < 8; ++r) {
        rows[25 * r] = 0;
        memcpy(rows + 25 * r + 1, pixel + 24 * r, 24);
    }
    blob png =
        png_of((png_form){.width = 8, .height = 8, .depth = 8, .type = 2}, rows, sizeof rows);
    cut_and_damage(&png, png.size);
    blob jpeg = jpeg_of(16, 16, JCS_RGB, 3, pixel, 6);
    cut_and_damage(&jpeg, jpeg.size - 2); /* less the mark of its end */
    blob ppm = {.size = 0};
    add(&ppm, "P6 8 8 255\n", 11);
    add(&ppm, pixel, 192);
    cut_and_damage(&ppm, ppm.size);
}

/* In place of the C library's: libtiff is not there while it is hidden. */
static bool hidden;
void *dlopen(const char *path, int flags)
{
    void *const found = dlsym(RTLD_NEXT, "dlopen");
    void *(*real)(const char *, int);
    memcpy(&real, &found, sizeof real);
    return real(hidden && strstr(path, "libtiff") ? "/no/libtiff.so" : path, flags);
}

/* Without libtiff a TIFF is refused with its name; once the library is there, the same call reads it. */
TEST(libtiff_is_loaded_when_it_is_needed)
{
    static const char path[] = "tests/fuzz/regressions/picture/ok-lzw.tiff";
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    CS_AUTO(cs_picture) p = {0};
    OK(cs_file_read(path, 1 << 20, &bytes, &size));
    hidden = true;
    assert_int_equal(cs_picture_decode(path, bytes, size, false, &p), CS_ERR_IO);
    assert_non_null(strstr(cs_reason(), "ok-lzw.tiff: reading a TIFF needs libtiff.so."));
    assert_non_null(strstr(cs_reason(), ": /no/libtiff.so: "));
    hidden = false;
    cs_reason_clear();
    OK(cs_picture_decode(path, bytes, size, false, &p));
    assert_true(p.height > 0 && p.pixel);
}

/* The files of other programs that are kept for the readers, cut and damaged. */
TEST(damaged_files_of_other_programs)
{
    static const char dir[] = "tests/fuzz/regressions/picture";
    char **name = NULL;
    int64_t count = 0;
    OK(cs_dir_names(dir, &name, &count));
    for (int64_t i = 0; i < count; ++i) {
        blob b = {.size = 0};
        int64_t size = 0;
        CS_AUTO_FREE char *path = cs_path_join(dir, name[i]), *bytes = NULL;
        OK(cs_file_read(path, 1 << 20, &bytes, &size));
        if (strncmp(name[i], "ok", 2) == 0) {
            add(&b, bytes, (size_t)size);
            cut_and_damage(&b, 0);
        }
    }
    cs_text_list_free(name, count);
}

TEST_IN_DIR(written_png_reads_back)
{
    ARRAY(uint8_t, pixel, (5 * 7 * 3), i, 37 * i);
    for (int channels = 1; channels <= 3; channels += 2) {
        const cs_picture p = {5, 7, channels, pixel};
        const char *path = in_dir(state, "p.png");
        blob b = {.size = 0};
        CS_AUTO_FREE char *bytes = NULL;
        OK(cs_png_write(path, &p));
        OK(cs_file_read(path, sizeof b.bytes, &bytes, &b.size));
        memcpy(b.bytes, bytes, (size_t)b.size);
        assert_pixels(&b, 5, 7, channels, pixel);
        assert_int_equal(entries(state), 1);
    }
    assert_fails(cs_png_write(in_dir(state, "q.png"), &(cs_picture){0, 7, 1, pixel}), CS_ERR_USAGE,
                 "a picture of 0 x 7");
    assert_int_equal(entries(state), 1);
}

static cs_status write_large(const char *path)
{
    CS_AUTO_FREE uint8_t *pixel = cs_alloc(100 * 100, 1);
    if (!pixel) return CS_ERR_MEMORY;
    uint32_t x = 1;
    for (int i = 0; i < 100 * 100; ++i) {
        x = x * 1664525 + 1013904223;
        pixel[i] = (uint8_t)(x >> 24);
    }
    cs_status status = cs_png_write(path, &(cs_picture){100, 100, 1, pixel});
    return status;
}

TEST_IN_DIR(full_disk_leaves_no_file)
{
    assert_int_equal(on_full_disk(write_large, in_dir(state, "p.png"), "p.png"), CS_ERR_IO);
    assert_int_equal(entries(state), 0);
}
