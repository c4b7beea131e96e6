/* Networks against golden numbers of plain PyTorch in double (tests/oracle/model_parity.py
 * --golden): logits, losses and every gradient of GPT, masked, two-stream, MAE-LM and linear
 * models.
 *
 * In double: 1e-9 of an array's scale, far above rounding (about 1e-14) and the 11 digits kept, far
 * below any slip of a formula. In float: the tolerance that the case brings, 8 times what the
 * same PyTorch program is off in float32.
 */
#include "io/json.h"
#include "parity_support.h"
#include "test.h"

/* One array of a case against what is expected of it. */
static void compare(const json_t *what, const char *name, const double *x, int64_t n,
                    double tolerance)
{
    const json_t *expected = json_object_get(json_object_get(what, "expected"), name);
    double scale = json_number_value(json_object_get(json_object_get(what, "scale"), name));
    assert_int_equal(json_array_size(expected), n);
    assert_true(scale > 0);
    for (int64_t i = 0; i < n; ++i) {
        double y = json_number_value(json_array_get(expected, (size_t)i));
        if (!(fabs(x[i] - y) <= tolerance * scale)) {
            fail_msg("%s, %s[%lld]: %.15g, expected %.15g (scale %g, tolerance %g)",
                     json_string_value(json_object_get(what, "name")), name, (long long)i, x[i], y,
                     scale, tolerance);
        }
    }
}

static void compare_tensor(const json_t *what, const char *name, parity_world *w, int tensor,
                           double tolerance)
{
    const cs_tensor *t = &w->net.graph.tensor[tensor];
    double *x = test_zeros(t->rows * t->cols, sizeof *x);
    OK(cs_run_get(w->run, tensor, x));
    compare(what, name, x, w->batch.predictions * t->cols, tolerance);
}

static void compare_gradients(const json_t *what, const parity_world *w, double tolerance)
{
    for (int64_t p = 0; p < w->model.params.count; ++p) {
        const cs_param *param = &w->model.params.param[p];
        double *x = test_zeros(param->rows * param->cols, sizeof *x);
        CS_AUTO_FREE char *name = cs_format("grad.%s", param->name);
        assert_non_null(name);
        OK(cs_params_get64(&w->model.params, p, CS_PARAM_GRAD, x));
        compare(what, name, x, param->rows * param->cols, tolerance);
    }
    /* logits, losses and loss, in the record of the gradients */
    assert_int_equal(json_object_size(json_object_get(what, "expected")),
                     w->model.params.count + 3);
}

static void compare_all(const char *backend)
{
    json_auto_t *cases = NULL;
    OK(cs_json_read("tests/golden/trainer_parity.json", &cases));
    assert_true(json_array_size(cases) >= 10);
    for (size_t i = 0; i < json_array_size(cases); ++i) {
        const json_t *what = json_array_get(cases, i);
        double given = json_number_value(json_object_get(what, "float_tolerance"));
        double tolerance = strcmp(backend, "ref64") == 0 ? 1e-9 : given;
        assert_true(given > 1e-8 && given < 1e-3);
        cs_backend *opened = NULL;
        CS_AUTO_BY(parity_close, parity_world) world = {0};
        OK(parity_backend(backend, &opened));
        OK(parity_open(what, &opened, &world));
        OK(parity_step(&world));
        double loss = 0;
        OK(cs_run_sum(world.run, world.net.loss.value, &loss));
        compare(what, "loss", &loss, 1, tolerance);
        compare_tensor(what, "losses", &world, world.net.loss.value, tolerance);
        compare_gradients(what, &world, tolerance);
        OK(cs_run_forward(world.run)); /* backward wrote over the logits */
        compare_tensor(what, "logits", &world, world.net.loss.logits, tolerance);
    }
}

TEST(double_agrees_with_torch)
{
    compare_all("ref64");
}

TEST(float_reference_agrees_with_torch)
{
    compare_all("ref");
}

TEST(cpu_agrees_with_torch)
{
    compare_all("cpu");
}
