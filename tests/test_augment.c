/* Crops and mirror images: functions of (seed, step, row); bilinear values against linear pictures. */
#include "image/augment.h"
#include "test.h"

enum { H = 6, W = 8, C = 3 };

static uint8_t pixel[H * W * C], mirror[2] = {0, 1};
static int32_t label[1];
static float value[H * W * C];

/* value = 2 row + 3 column + channel. */
static cs_images ramp(int32_t class_of, bool values)
{
    for (int i = 0; i < H * W * C; ++i) {
        pixel[i] = (uint8_t)(2 * (i / C / W) + 3 * (i / C % W) + i % C);
        value[i] = pixel[i];
    }
    label[0] = class_of;
    return (cs_images){.count = 1,
                       .height = H,
                       .width = W,
                       .channels = C,
                       .pixel = pixel,
                       .value = values ? value : NULL,
                       .label = label,
                       .labels = 2,
                       .mirror = mirror};
}

TEST(the_whole_picture_comes_out_as_it_is)
{
    const cs_images m = ramp(0, false);
    float to[H * W * C];
    cs_crop_read(&(cs_crop){0, 0, H, W, false}, &m, 0, to);
    assert_each(i, 0, H * W * C, fabs((double)to[i] - (pixel[i] / 255.0)) <= 1e-7);
    cs_crop_read(&(cs_crop){0, 0, H, W, true}, &m, 0, to);
    for (int i = 0; i < H * W * C; ++i) {
        const int row = i / C / W, column = W - 1 - i / C % W;
        assert_true(fabs((double)to[i] - (pixel[(row * W + column) * C + i % C] / 255.0)) <= 1e-7);
    }
}

/* Bilinear interpolation gives linear pictures exactly, where no neighbour is beyond the edge. */
TEST(crops_of_linear_pictures)
{
    const cs_images m = ramp(0, true);
    const cs_crop crop = {.top = 1.25, .left = 2.5, .height = 3, .width = 4};
    float to[H * W * C];
    cs_crop_read(&crop, &m, 0, to);
    for (int i = 0; i < H * W * C; ++i) {
        const double y = 1.25 + (i / C / W + 0.5) * 3 / H - 0.5; /* of centres */
        const double x = 2.5 + (i / C % W + 0.5) * 4 / W - 0.5;
        assert_true(fabs((double)to[i] - (2 * y + 3 * x + i % C)) <= 1e-5);
    }
}

TEST(draws_follow_their_distribution)
{
    const cs_images m = ramp(1, false), fixed = ramp(0, false);
    const cs_augment a = {.least_area = 0.2, .most_ratio = 4.0 / 3, .flip = true};
    enum { N = 4000 };
    int mirrored = 0, same = 0;
    double area = 0, up = 0, least = 1;
    cs_crop last = {0};
    OK(cs_augment_check(&a));
    for (int64_t r = 0; r < N; ++r) {
        label[0] = 1;
        const cs_crop c = cs_augment_draw(&a, &m, 0, 5, r / 64, r % 64);
        const cs_crop again = cs_augment_draw(&a, &m, 0, 5, r / 64, r % 64);
        assert_memory_equal(&c, &again, offsetof(cs_crop, mirrored) + sizeof c.mirrored);
        assert_true(c.top >= 0 && c.left >= 0 && c.top + c.height <= H + 1e-12 &&
                    c.left + c.width <= W + 1e-12);
        const double share = c.height * c.width / (H * W), ratio = c.width / c.height;
        assert_true(share >= 0.2 - 1e-12);
        assert_true((ratio > 3.0 / 4 - 1e-12 && ratio < 4.0 / 3 + 1e-12) ||
                    c.height * c.width == H * W);
        mirrored += c.mirrored;
        same += c.height == last.height;
        area += share;
        least = fmin(least, share);
        up += c.height < H ? c.top / (H - c.height) : 0.5;
        last = c;
        label[0] = 0; /* whose mirror image is of another class */
        assert_false(cs_augment_draw(&a, &fixed, 0, 5, r / 64, r % 64).mirrored);
    }
    assert_true(same < N / 100);
    /* Binomial(N, 1/2): 5 sd are 158. Uniform places: sd 0.29 / sqrt(N). A share fits the height
     * where it is at most b = ratio H / W; over log ratio, the mean is that of (b^2 - 0.2^2) / 2 over
     * that of b - 0.2; shares have an sd below 0.24. */
    double above = 0, below = 0;
    for (int k = 0; k < 1000; ++k) {
        const double b = exp(log(4.0 / 3) * ((k + 0.5) / 500 - 1)) * H / W;
        above += (b * b - 0.04) / 2;
        below += b - 0.2;
    }
    assert_in_range(mirrored, N / 2 - 158, N / 2 + 158);
    assert_true(fabs(up / N - 0.5) < 5 * 0.29 / sqrt(N));
    assert_true(fabs(area / N - above / below) < 5 * 0.24 / sqrt(N) && least < 0.22);
    assert_fails(cs_augment_check(&(cs_augment){.least_area = 0, .most_ratio = 1}), CS_ERR_USAGE,
                 "least area of a crop 0");
    assert_fails(cs_augment_check(&(cs_augment){.least_area = 1, .most_ratio = 0.5}), CS_ERR_USAGE,
                 "ratio of a crop 0.5");
}
