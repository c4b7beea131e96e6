/* Corpora of images: each reader on files made here, cut and contradictory ones; the members of NPZ;
 * the contact sheet. */
#include <zlib.h>

#include "corpus_support.h"
#include "image/images.h"
#include "image/picture.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io_support.h"

static bool images_are(const char *source)
{
    bool are = false;
    OK(cs_images_are(source, &are));
    return are;
}

static const char *put_bytes(void **state, const char *name, const void *bytes, int64_t size)
{
    const char *path = in_dir(state, name);
    OK(cs_file_write(path, bytes, size));
    return path;
}

static const uint8_t idx[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6};
static const uint8_t idx_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 2, 0, 2};

TEST_IN_DIR(idx_with_labels_packed_or_not)
{
    cs_images m = {0};
    const char *path = put_bytes(state, "t-images-idx3-ubyte", idx, sizeof idx);
    assert_true(images_are(path));
    OK(cs_images_load(path, NULL, &m));
    assert_int_equal(m.count, 3);
    assert_int_equal(m.height, 2);
    assert_int_equal(m.width, 1);
    assert_int_equal(m.channels, 1);
    assert_memory_equal(m.pixel, idx + 16, 6);
    assert_int_equal(m.label[0], -1);
    assert_int_equal(m.labels, 0);
    cs_images_free(&m);
    put_bytes(state, "t-labels-idx1-ubyte", idx_labels, sizeof idx_labels);
    OK(cs_images_load(path, NULL, &m));
    assert_int_equal(m.labels, 3);
    assert_string_equal(m.label_name[2], "2");
    assert_int_equal(m.label[0], 2);
    assert_int_equal(m.label[1], 0);
    cs_images_free(&m);
    assert_int_equal(unlink(path), 0);
    const char *names[] = {"t-images-idx3-ubyte.gz", "t-labels-idx1-ubyte.gz"};
    const uint8_t *const bytes[] = {idx, idx_labels};
    for (int i = 0; i < 2; ++i) {
        gzFile gz = gzopen(in_dir(state, names[i]), "wb");
        (void)gzwrite(gz, bytes[i], i ? sizeof idx_labels : sizeof idx);
        assert_int_equal(gzclose(gz), Z_OK);
    }
    assert_int_equal(unlink(in_dir(state, "t-labels-idx1-ubyte")), 0);
    OK(cs_images_load(in_dir(state, names[0]), NULL, &m));
    assert_memory_equal(m.pixel, idx + 16, 6);
    assert_int_equal(m.label[2], 2);
    cs_images_free(&m);
    /* compressed under a plain name */
    OK(cs_dir_make(in_dir(state, "p")));
    assert_int_equal(rename(in_dir(state, names[0]), in_dir(state, "p/t-images-idx3-ubyte")), 0);
    assert_int_equal(rename(in_dir(state, names[1]), in_dir(state, "p/t-labels-idx1-ubyte")), 0);
    assert_true(images_are(in_dir(state, "p/t-images-idx3-ubyte")));
    OK(cs_images_load(in_dir(state, "p/t-images-idx3-ubyte"), NULL, &m));
    assert_memory_equal(m.pixel, idx + 16, 6);
    assert_int_equal(m.label[2], 2);
    cs_images_free(&m);
    assert_int_equal(rename(in_dir(state, "p/t-images-idx3-ubyte"), in_dir(state, names[0])), 0);
    put_bytes(state, "t-labels-idx1-ubyte", (uint8_t[]){0, 0, 8, 1, 0, 0, 0, 1, 2}, 9);
    assert_fails(cs_images_load(in_dir(state, names[0]), NULL, &m), CS_ERR_INPUT,
                 "t-labels-idx1-ubyte: 1 label for 3 pictures");
}

TEST_IN_DIR(idx_that_lies_is_refused)
{
    cs_images m = {0};
    for (int64_t size = 4; size < (int64_t)sizeof idx; ++size) {
        const char *path = put_bytes(state, "a", idx, size);
        assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, "/a: ");
    }
    uint8_t huge[sizeof idx];
    memcpy(huge, idx, sizeof idx);
    memset(huge + 4, 0xFF, 12);
    assert_fails(cs_images_load(put_bytes(state, "a", huge, sizeof huge), NULL, &m), CS_ERR_INPUT,
                 "byte 4: dimension 1 is 4294967295, but the file has only 22 bytes");
    uint8_t none[sizeof idx];
    memcpy(none, idx, sizeof idx);
    none[11] = 0;
    assert_fails(cs_images_load(put_bytes(state, "a", none, sizeof none), NULL, &m), CS_ERR_INPUT,
                 "byte 8: dimension 2 is 0");
    assert_fails(cs_images_load(put_bytes(state, "a", idx_labels, sizeof idx_labels), NULL, &m),
                 CS_ERR_INPUT, "not an IDX file of unsigned bytes with 3 or 4 dimensions");
}

TEST_IN_DIR(cifar_file_and_directory)
{
    enum { RECORD = 3073 };
    static uint8_t bytes[2 * RECORD];
    for (int i = 0; i < 2 * RECORD; ++i) {
        bytes[i] = (uint8_t)(i % 251);
    }
    bytes[0] = 3;
    bytes[RECORD] = 9;
    cs_images m = {0};
    OK(cs_images_load(put_bytes(state, "x.bin", bytes, sizeof bytes), NULL, &m));
    assert_int_equal(m.count, 2);
    assert_int_equal(m.label[1], 9);
    for (int p = 0; p < 1024; ++p) { /* planes of red, green and blue */
        assert_each(c, 0, 3, m.pixel[3 * 1024 + 3 * p + c] == bytes[RECORD + 1 + 1024 * c + p]);
    }
    cs_images_free(&m);
    (void)put_dir(state, "c");
    for (int f = 1; f <= 5; ++f) {
        char name[32];
        (void)snprintf(name, sizeof name, "c/data_batch_%d.bin", f);
        put_bytes(state, name, bytes, f == 5 ? 2 * RECORD : RECORD);
    }
    put_bytes(state, "c/test_batch.bin", bytes + RECORD, RECORD);
    put(state, "c/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\ntruck\n\n");
    OK(cs_images_load(in_dir(state, "c"), NULL, &m));
    assert_int_equal(m.count, 7);
    assert_int_equal(m.held_out[5], 0);
    assert_int_equal(m.held_out[6], 1);
    assert_int_equal(m.label[6], 9);
    assert_string_equal(m.label_name[9], "truck");
    cs_images_free(&m);
    bytes[RECORD] = 10;
    assert_fails(cs_images_load(put_bytes(state, "x.bin", bytes, sizeof bytes), NULL, &m),
                 CS_ERR_INPUT, "byte 3073: class 10 of picture 1 is not in 0..9");
    assert_fails(cs_images_load(put_bytes(state, "x.bin", bytes, 3072), NULL, &m), CS_ERR_INPUT,
                 "3072 bytes are not a multiple of the record size, 3073");
}

TEST_IN_DIR(npy_with_labels)
{
    ARRAY(uint8_t, pixel, 24, i, 10 * i);
    cs_images m = {0};
    const char *path = in_dir(state, "x.npy");
    OK(cs_npy_write(path, CS_U8, 4, (int64_t[]){2, 2, 2, 3}, pixel));
    OK(cs_npy_write(in_dir(state, "x.labels.npy"), CS_I64, 1, (int64_t[]){2}, (int64_t[]){1, 0}));
    assert_true(images_are(path));
    OK(cs_images_load(path, NULL, &m));
    assert_int_equal(m.channels, 3);
    assert_memory_equal(m.pixel, pixel, 24);
    assert_int_equal(m.label[0], 1);
    cs_images_free(&m);
    OK(cs_npy_write(path, CS_U8, 3, (int64_t[]){3, 4, 2}, pixel));
    assert_fails(
        cs_images_load(path, NULL, &m), CS_ERR_INPUT,
        "x.labels.npy: labels: 2 numbers in 1 dimension, expected one for each of 3 pictures");
    OK(cs_npy_write(path, CS_U8, 4, (int64_t[]){3, 2, 2, 2}, pixel));
    assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, "with 2 channels");
    OK(cs_npy_write(path, CS_I32, 3, (int64_t[]){1, 2, 3}, pixel));
    assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, "found 3-D of another type");
    OK(cs_npy_write(path, CS_U8, 2, (int64_t[]){4, 6}, pixel));
    assert_false(images_are(path)); /* token ids */
}

/* Pictures of one value each; PPM, or PGM where `rgb` has one number. */
static void put_picture(void **state, const char *name, int side, const char *form, uint8_t value)
{
    uint8_t bytes[256];
    int at = snprintf((char *)bytes, sizeof bytes, "%s %d %d 255\n", form, side, side);
    const int values = side * side * (form[1] == '6' ? 3 : 1);
    memset(bytes + at, value, (size_t)values);
    put_bytes(state, name, bytes, at + values);
}

TEST_IN_DIR(directories_of_pictures)
{
    CS_AUTO(cs_images) m = {0};
    (void)put_dir(state, "d/b");
    (void)put_dir(state, "d/a");
    put_picture(state, "d/b/2.ppm", 3, "P6", 7);
    put_picture(state, "d/a/1.pgm", 3, "P5", 9);
    put_picture(state, "d/a/0.pgm", 3, "P5", 8);
    const char *path = in_dir(state, "d");
    assert_true(images_are(path));
    for (int threads = 1; threads <= 3; ++threads) {
        OK(cs_images_load(path, &(cs_images_options){.threads = threads, .test_share = -1}, &m));
        assert_int_equal(m.count, 3);
        assert_int_equal(m.channels, 3); /* grey and colour together */
        assert_int_equal(m.labels, 2);
        assert_string_equal(m.label_name[1], "b");
        for (int i = 0; i < 3; ++i) {
            assert_int_equal(m.label[i], i == 2);
            assert_each(v, 0, 27, m.pixel[27 * i + v] == (i == 2 ? 7 : 8 + i));
        }
        cs_images_free(&m);
    }
    put_picture(state, "d/b/3.pgm", 2, "P5", 1);
    assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, "d/b/3.pgm is 2 x 2, ");
    put(state, "d/b/3.pgm", "P5 3 3 255\n1234");
    assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, "d/b/3.pgm: 4 bytes of pixels");
    put(state, "d/b/3.pgm", "text");
    assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, "d/b/3.pgm: not a PNG");
    assert_int_equal(unlink(in_dir(state, "d/b/3.pgm")), 0);
    (void)put_dir(state, "d/c");
    assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, "d/c: this class has no pictures");
    put_picture(state, "d/d.pgm", 3, "P5", 1);
    put_picture(state, "d/c/0.pgm", 3, "P5", 1);
    assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT,
                 "\"d.pgm\" is a file and \"c\" is not");
    (void)put_dir(state, "e");
    put_picture(state, "e/only.pgm", 1, "P5", 200);
    OK(cs_images_load(in_dir(state, "e"), NULL, &m)); /* one picture, unlabelled */
    assert_int_equal(m.count, 1);
    assert_int_equal(m.label[0], -1);
    (void)put_dir(state, "t");
    put(state, "t/a.txt", "words");
    assert_false(images_are(in_dir(state, "t")));
    assert_false(images_are(in_dir(state, "absent")));
}

/* Two pictures of 2 x 2 with everything that a corpus may have. */
static cs_images full_corpus(void)
{
    static uint8_t pixel[8] = {1, 2, 3, 4, 5, 6, 7, 8}, held_out[2] = {0, 1}, mirror[2] = {0, 1},
                   mask[8] = {0, 1, 0, 2, 0, 0, 0, 0};
    static int32_t label[2] = {1, -1}, group[2] = {0, 0};
    static float value[8] = {0.5F, -1.25F, 0, 0, 0, 0, 0, 3};
    static int64_t box_ptr[3] = {0, 1, 1};
    static cs_box box[1] = {{1, 0, 1, 2, 2}};
    static char first[] = "a b", second[] = "c", typeface[] = "g";
    static char *label_name[2] = {first, second}, *group_name[1] = {typeface};
    return (cs_images){.count = 2,
                       .height = 2,
                       .width = 2,
                       .channels = 1,
                       .pixel = pixel,
                       .value = value,
                       .label = label,
                       .labels = 2,
                       .label_name = label_name,
                       .held_out = held_out,
                       .mirror = mirror,
                       .group = group,
                       .groups = 1,
                       .group_name = group_name,
                       .mask = mask,
                       .box_ptr = box_ptr,
                       .box = box};
}

TEST_IN_DIR(npz_has_all_that_is_known)
{
    const cs_images w = full_corpus();
    const char *path = in_dir(state, "x.npz");
    OK(cs_images_write(path, &w));
    AUTO_OK(cs_images, m, cs_images_load(path, NULL, &m));
    assert_int_equal(m.count, 2);
    assert_memory_equal(m.pixel, w.pixel, 8);
    assert_memory_equal(m.value, w.value, sizeof(float[8]));
    assert_memory_equal(m.mask, w.mask, 8);
    assert_memory_equal(m.label, w.label, sizeof(int32_t[2]));
    assert_memory_equal(m.held_out, w.held_out, 2);
    assert_memory_equal(m.mirror, w.mirror, 2);
    assert_memory_equal(m.box, w.box, sizeof *w.box);
    assert_memory_equal(m.box_ptr, w.box_ptr, sizeof(int64_t[3]));
    assert_string_equal(m.label_name[0], "a b");
    assert_string_equal(m.group_name[0], "g");
    assert_string_equal(m.name, "x.npz");
}

TEST_IN_DIR(npz_that_contradicts_itself_is_refused)
{
    const char *path = in_dir(state, "x.npz");
    for (int bad = 0; bad < 11; ++bad) {
        static const char *const reason[] = {
            "label: value 2 of picture 0 is not in -1..1",
            "held_out: value 2 of picture 1",
            "mask: class 3 in picture 0 is not one of the 2 classes",
            "box 0 is invalid: class 2 of 2",
            "box 0 is invalid: class 1 of 2, rows 0..3",
            "box_ptr: value 2 at index 1 does not ascend within 0..1, the number of boxes",
            "group: value 1 of picture 0 is not in 0..0",
            "box 0 is invalid: class 1 of 2, rows 0..2, columns 2..2",
            "value: number nan in picture 1 is not finite",
            "mirror: value 7 of class 1 is neither 0 nor 1",
            "has a member group.npy, but no group_name.npy"};
        cs_images w = full_corpus(), m = {0};
        int32_t label[2] = {2, 0}, group[2] = {1, 0};
        uint8_t held_out[2] = {0, 2}, mask[8] = {3};
        cs_box box[3] = {{2, 0, 1, 2, 2}, {1, 0, 1, 3, 2}, {1, 0, 2, 2, 2}};
        int64_t box_ptr[3] = {0, 2, 1};
        float value[8] = {0, 0, 0, 0, 0, NAN, 0, 0};
        uint8_t mirror[2] = {1, 7};
        w.label = bad == 0 ? label : w.label;
        w.held_out = bad == 1 ? held_out : w.held_out;
        w.mask = bad == 2 ? mask : w.mask;
        w.box = bad == 3 ? box : bad == 4 ? box + 1 : bad == 7 ? box + 2 : w.box;
        w.box_ptr = bad == 5 ? box_ptr : w.box_ptr;
        w.group = bad == 6 ? group : w.group;
        w.value = bad == 8 ? value : w.value;
        w.mirror = bad == 9 ? mirror : w.mirror;
        w.groups = bad == 10 ? 0 : w.groups;
        OK(cs_images_write(path, &w));
        assert_fails(cs_images_load(path, NULL, &m), CS_ERR_INPUT, reason[bad]);
    }
}

TEST_IN_DIR(split_is_a_hash_of_the_seed)
{
    static uint8_t pixel[4000];
    cs_images m = {0};
    int64_t out[3] = {0}, both = 0;
    uint8_t first[1000];
    OK(cs_npy_write(in_dir(state, "x.npy"), CS_U8, 3, (int64_t[]){1000, 2, 2}, pixel));
    for (int k = 0; k < 3; ++k) {
        OK(cs_images_load(
            in_dir(state, "x.npy"),
            &(cs_images_options){.test_share = k == 2 ? 0.5 : 0.2, .seed = (uint64_t)k}, &m));
        for (int i = 0; i < 1000; ++i) {
            out[k] += m.held_out[i];
            both += k == 1 && m.held_out[i] && first[i];
        }
        memcpy(first, m.held_out, 1000);
        cs_images_free(&m);
    }
    /* Binomial: 4 sd of 1000 x 0.2 are 51, of 1000 x 0.5 are 63, of 1000 x 0.04 are 25. */
    assert_in_range(out[0], 149, 251);
    assert_in_range(out[1], 149, 251);
    assert_in_range(out[2], 437, 563);
    assert_in_range(both, 15, 65);
    assert_fails(cs_images_load(in_dir(state, "x.npy"), &(cs_images_options){.test_share = 1}, &m),
                 CS_ERR_USAGE, "test share 1");
}

TEST_IN_DIR(sheet_shows_pictures_by_class)
{
    cs_images w = full_corpus();
    const char *path = in_dir(state, "s.png");
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    w.mask = NULL;
    OK(cs_images_sheet(&w, 9, 2, 0, path)); /* two classes; one has one picture */
    OK(cs_file_read(path, 1 << 20, &bytes, &size));
    AUTO_OK(cs_picture, p, cs_picture_decode(path, bytes, size, false, &p));
    assert_int_equal(p.height, 2 * 65);
    assert_int_equal(p.width, 2 * 65);
    assert_int_equal(p.pixel[0], 255);          /* class 0 has none */
    assert_int_equal(p.pixel[65 * p.width], 1); /* 32 x 32 a pixel */
    assert_int_equal(p.pixel[65 * p.width + 32], 2);
    assert_int_equal(p.pixel[(65 + 32) * p.width], 3);
    assert_int_equal(p.pixel[65 * p.width + 64], 255); /* the line between two */
    assert_int_equal(p.pixel[65 * p.width + 65], 255); /* a second one there is not */
    assert_fails(cs_images_sheet(&w, 0, 2, 0, path), CS_ERR_USAGE, "0 x 2");
}

static cs_status load_and_drop(const char *path)
{
    CS_AUTO(cs_images) m = {0};
    cs_status status = cs_images_load(path, NULL, &m);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    const cs_images w = full_corpus();
    OK(cs_images_write(in_dir(state, "x.npz"), &w));
    fail_each_allocation(load_and_drop, in_dir(state, "x.npz"));
    put_bytes(state, "t-images-idx3-ubyte", idx, sizeof idx);
    put_bytes(state, "t-labels-idx1-ubyte", idx_labels, sizeof idx_labels);
    fail_each_allocation(load_and_drop, in_dir(state, "t-images-idx3-ubyte"));
    (void)put_dir(state, "d/a");
    put_picture(state, "d/a/0.pgm", 3, "P5", 8);
    fail_each_allocation(load_and_drop, in_dir(state, "d"));
}
