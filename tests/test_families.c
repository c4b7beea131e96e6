/* Every golden model is written as it was read: the files that come out have the same parameters. */
#include <dirent.h>

#include "backend_ref.h"
#include "io/file.h"
#include "io/json.h"
#include "io_support.h"
#include "model_support.h"

static void same_values(const cs_model *a, const cs_model *b, const char *name)
{
    assert_int_equal(a->params.count, b->params.count);
    for (int64_t i = 0; i < a->params.count; ++i) {
        const cs_param *p = &a->params.param[i], *q = &b->params.param[i];
        const int64_t items = p->rows * p->cols;
        float *x = cs_calloc(items, sizeof *x), *y = cs_calloc(items, sizeof *y);
        assert_string_equal(p->name, q->name);
        assert_int_equal(items, q->rows * q->cols);
        OK(cs_params_get(&a->params, i, CS_PARAM_VALUE, x));
        OK(cs_params_get(&b->params, i, CS_PARAM_VALUE, y));
        for (int64_t k = 0; k < items; ++k) { /* gains are stored minus 1 */
            if (!(fabsf(x[k] - y[k]) <= 1e-6F)) {
                fail_msg("%s: %s comes back other", name, p->name);
            }
        }
        cs_free(x);
        cs_free(y);
    }
}

static void come_back(void **state, const char *where)
{
    DIR *folder = opendir(where);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        CS_AUTO_FREE char *from = cs_format("%s/%s", where, entry->d_name),
                          *config = cs_format("%s/config.json", from);
        const char *to = in_dir(state, entry->d_name);
        CS_AUTO(cs_model) model = {0}, back = {0};
        if (entry->d_name[0] == '.' || !cs_path_exists(config)) continue;
        AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
        OK(cs_model_read(from, backend, false, &model));
        OK(cs_model_write(&model, to));
        OK(cs_model_read(to, backend, false, &back));
        same_values(&model, &back, entry->d_name);
    }
    (void)closedir(folder);
}

TEST_IN_DIR(models_of_texts_come_back)
{
    come_back(state, "tests/golden/models");
}

TEST_IN_DIR(models_of_images_come_back)
{
    come_back(state, "tests/golden/pictures");
}

/* The images of a model of images and texts: its vision_config, and no tensor of the text tower. */
TEST_IN_DIR(towers_of_clip_come_back)
{
    const char *dir = in_dir(state, "clip");
    CS_AUTO(cs_model) model = {0}, back = {0};
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    json_auto_t *config = NULL;
    OK(cs_model_read("tests/golden/pictures/clip", backend, false, &model));
    OK(cs_model_write(&model, dir));
    CS_AUTO_FREE char *path = cs_format("%s/config.json", dir);
    OK(cs_json_read(path, &config));
    json_auto_t *whole = json_pack("{s:s, s:{s:i}, s:O}", "model_type", "clip", "text_config",
                                   "hidden_size", 512, "vision_config", config);
    OK(cs_json_write(path, whole));
    OK(cs_model_read(dir, backend, false, &back));
    same_values(&model, &back, "clip");
    assert_int_equal(back.config.arch, CS_ARCH_CLIP_VISION_MODEL);
}
