/* The operations of src/tensor by hand: errors that comparisons and gradients do not show, such as
 * a wrong constant of forward. Double. */
#include "backend_ref.h"
#include "tensor/relative.h"
#include "tensor_support.h"
#include "test.h"

static cs_backend *backend; /* double */
static cs_tensor_world world;

static int open_backend(void **state)
{
    (void)state;
    OK(cs_backend_ref64(&backend));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    cs_tensor_close(&world);
    cs_backend_free(&backend);
    return 0;
}

TEST_PROGRAM(open_backend, close_all)

/* --- the current case --- */

/* The one before is closed. */
static void open_world(const cs_tensor_case *what)
{
    cs_tensor_close(&world);
    cs_tensor_open(&world, what, backend, true);
}

static void open_case(const char *name)
{
    const cs_tensor_case *c = cs_tensor_cases;
    while (c->name && strcmp(c->name, name) != 0) {
        ++c;
    }
    assert_non_null(c->name);
    open_world(c);
    cs_tensor_poison(&world);
}

static int64_t number_of(const char *name)
{
    int64_t number = cs_params_find(&world.net.params, name);
    assert_true(number >= 0);
    return number;
}

/* A parameter's value or gradient; freed after the test. */
static double *param_of(const char *name, cs_param_block what)
{
    int64_t number = number_of(name);
    const cs_param *p = &world.net.params.param[number];
    double *x = test_zeros(p->rows * p->cols, sizeof *x);
    OK(cs_params_get64(&world.net.params, number, what, x));
    return x;
}

static void set_all(const char *name, double value)
{
    int64_t number = number_of(name);
    const cs_param *p = &world.net.params.param[number];
    ARRAY(double, x, (p->rows * p->cols), i, value);
    OK(cs_params_set64(&world.net.params, number, CS_PARAM_VALUE, x));
}

static double *tensor_of(int tensor)
{
    cs_matrix m = cs_run_matrix(world.run, tensor);
    double *x = test_zeros(m.rows * m.cols, sizeof *x);
    OK(cs_run_get(world.run, tensor, x));
    return x;
}

static const cs_op *op_of(cs_op_kind kind)
{
    for (int64_t i = 0; i < world.net.graph.ops; ++i) {
        if (world.net.graph.op[i].kind == kind) {
            return &world.net.graph.op[i];
        }
    }
    fail_msg("no operation %d", (int)kind);
    return NULL;
}

/* The input tensor's value that the harness put there. */
static double input_of(int tensor, int64_t item)
{
    return ((const double *)cs_run_matrix(world.run, tensor).x)[item];
}

/* --- values by hand: gradients do not show a wrong constant of forward --- */

/* torch.nn.functional.gelu, both forms. */
TEST(test_activations)
{
    const double z[] = {-3.0, -1.0, -0.5, 0.25, 1.0, 2.5};
    const double by_tanh[] = {-0.0036373920817729943, -0.15880800939172324, -0.15428599017485606,
                              0.149675350701685,      0.8411919906082768,   2.484915733910001};
    const double by_erf[] = {-0.00404969409489031, -0.15865525393145702, -0.15426876936299344,
                             0.14967658142073093,  0.841344746068543,    2.4844758366855597};
    const char *name[] = {"linear, GELU by tanh", "linear, GELU by erf", "linear, ReLU"};
    for (int form = 0; form < 3; ++form) {
        for (int i = 0; i < 6; ++i) {
            open_case(name[form]);
            set_all("w", 0);
            set_all("b", z[i]);
            cs_tensor_forward(&world);
            double *y = tensor_of(world.net.output[0]);
            double want = form == 0 ? by_tanh[i] : form == 1 ? by_erf[i] : fmax(z[i], 0);
            assert_true(fabs(y[0] - want) <= 1e-15);
        }
    }
}

/* y[r,o] = sum_i x[r,i] w[o,i] + b[o], each sum formed here. */
TEST(test_linear)
{
    open_case("linear, bias");
    cs_tensor_forward(&world);
    double *x = param_of("x", CS_PARAM_VALUE), *w = param_of("w", CS_PARAM_VALUE);
    double *b = param_of("b", CS_PARAM_VALUE);
    double *y = tensor_of(world.net.output[0]);
    for (int64_t r = 0; r < 21; ++r) {
        for (int64_t o = 0; o < 9; ++o) {
            double sum = SUM(i, 0, 5, x[r * 5 + i] * w[o * 5 + i]);
            assert_true(fabs(sum + b[o] - y[r * 9 + o]) < 1e-13);
        }
    }
}

/* With gain 1 and bias 0 rows have mean 0 and mean square var / (var + eps); a shift of x and a
 * scale (up to eps) change nothing. */
TEST(test_layer_norm)
{
    open_case("layer norm");
    set_all("gain", 1);
    set_all("bias", 0);
    cs_tensor_forward(&world);
    const cs_op_layer_norm *o = &op_of(CS_OP_LAYER_NORM)->layer_norm;
    double *x = param_of("x", CS_PARAM_VALUE), *y = tensor_of(o->y);
    double *mean = tensor_of(o->mean), *rstd = tensor_of(o->rstd);
    for (int64_t r = 0; r < 15; ++r) {
        double sum = SUM(c, 0, 7, x[r * 7 + c]);
        double square = SUM(c, 0, 7, x[r * 7 + c] * x[r * 7 + c]);
        double sum_y = SUM(c, 0, 7, y[r * 7 + c]);
        double square_y = SUM(c, 0, 7, y[r * 7 + c] * y[r * 7 + c]);
        assert_each(c, 0, 7, fabs(y[r * 7 + c] - (x[r * 7 + c] - mean[r]) * rstd[r]) < 1e-14);
        double var = square / 7 - sum * sum / 49;
        assert_true(fabs(mean[r] - sum / 7) < 1e-14);
        assert_true(fabs(rstd[r] - 1 / sqrt(var + 1e-5)) < 1e-12 * rstd[r]);
        assert_true(fabs(sum_y) < 1e-13);
        assert_true(fabs(square_y / 7 - var / (var + 1e-5)) < 1e-12);
    }
}

/* Softmax attention with relative positions, as its definition has it. */
TEST(test_attention)
{
    enum { B = 3, L = 7, H = 2, HD = 3, C = H * HD };
    open_case("attention, relative");
    cs_tensor_forward(&world);
    double *q = param_of("q", CS_PARAM_VALUE), *k = param_of("k", CS_PARAM_VALUE);
    double *v = param_of("v", CS_PARAM_VALUE);
    double *table = param_of("table", CS_PARAM_VALUE);
    double *y = tensor_of(world.net.output[0]);
    for (int64_t i = 0; i < B * L; ++i) {
        int64_t b = i / L, keys = L - b; /* the last b are padding */
        for (int64_t h = 0; h < H; ++h) {
            double total = 0, sum[HD] = {0};
            for (int64_t j = 0; j < keys; ++j) {
                int64_t row = b * L + j, at = i % L + 1;
                double score =
                    SUM(c, 0, HD, q[i * C + h * HD + c] * k[row * C + h * HD + c] / sqrt(3.0));
                score += table[cs_relative_bucket(j - at, 8, 5, 1) * H + h];
                total += exp(score);
                for (int64_t c = 0; c < HD; ++c) {
                    sum[c] += exp(score) * v[row * C + h * HD + c];
                }
            }
            assert_each(c, 0, HD, fabs(sum[c] / total - y[i * C + h * HD + c]) < 1e-13);
        }
    }
}

/* Buckets of T5 (transformers 5, T5Attention._relative_position_bucket; 32 buckets, 128). */
TEST(test_buckets)
{
    const int d[] = {0, -1, 1, -7, 7, -8, 8, -15, 16, -40, 100, -127, 127, -128, 128, -5000, 5000};
    const int two[] = {0, 1, 17, 7, 23, 8, 24, 9, 26, 12, 31, 15, 31, 15, 31, 15, 31};
    const int one[] = {0, 1, 0, 7, 0, 8, 0, 15, 0, 23, 0, 31, 0, 31, 0, 31, 0};
    assert_each(i, 0, sizeof d / sizeof *d, cs_relative_bucket(d[i], 32, 128, 1) == two[i]);
    assert_each(i, 0, sizeof d / sizeof *d, cs_relative_bucket(d[i], 32, 128, 0) == one[i]);
}

/* Of a plane of 2 x 2 (BEiT): nine differences, then from the class token, to it and to itself. */
TEST(test_plane_buckets)
{
    const int d[] = {-4, 0, 4, -5, -100, 6, 100, 5}, of[] = {0, 4, 8, 9, 9, 10, 10, 11};
    assert_each(i, 0, sizeof d / sizeof *d, cs_relative_bucket(d[i], 12, 0, 1) == of[i]);
}

/* sum_u sum_v (q_u . k_v) v_v over the keys seen, over n^power: the double sum itself. */
TEST(test_linear_attention)
{
    enum { B = 3, L = 7, H = 2, HD = 3, C = H * HD };
    open_case("linear attention, empty rows");
    cs_tensor_forward(&world);
    const cs_op_attention *o = &op_of(CS_OP_LINEAR_ATTENTION)->attention;
    const int32_t *vis = cs_run_index(world.run, o->vis), *lim = cs_run_index(world.run, o->lim);
    double *q = param_of("q", CS_PARAM_VALUE), *k = param_of("k", CS_PARAM_VALUE);
    double *v = param_of("v", CS_PARAM_VALUE), *y = tensor_of(o->y);
    int empty = 0;
    for (int64_t i = 0; i < B * L; ++i) {
        for (int64_t at = 0; at < C; ++at) {
            int64_t from = i / L * L, h = at / HD;
            double sum = 0, n = 0;
            for (int64_t j = from; j < from + L; ++j) {
                n += vis[j] <= lim[i];
                for (int64_t u = from; u < from + L && vis[j] <= lim[i]; ++u) {
                    double dot = SUM(c, h * HD, (h + 1) * HD,
                                     vis[u] <= lim[i] ? q[u * C + c] * k[j * C + c] : 0);
                    sum += dot * v[j * C + at];
                }
            }
            empty += n == 0;
            double want = n > 0 ? sum / pow(n, 1.5) : 0;
            assert_true(n > 0 ? fabs(y[i * C + at] - want) < 1e-12 : y[i * C + at] == 0);
        }
    }
    assert_true(empty > 0);
}

/* --- rows that see nothing -------------------------------------------------------------------- */

TEST(test_empty_rows)
{
    enum { C = 6, H = 2 };
    open_case("attention, query stream");
    cs_tensor_forward(&world);
    const cs_op_attention *o = &op_of(CS_OP_ATTENTION)->attention;
    const int32_t *lim = cs_run_index(world.run, o->lim);
    double *y = tensor_of(o->y), *lse = tensor_of(o->lse);
    cs_tensor_backward(&world);
    double *dq = param_of("q", CS_PARAM_GRAD);
    int empty = 0;
    for (int64_t i = 0; i < 21; ++i) {
        bool none = lim[i] < 0; /* groups are 0, 1, 2 */
        empty += none;
        assert_each(c, 0, C, (y[i * C + c] == 0) == none);
        assert_each(c, 0, C, !none || dq[i * C + c] == 0);
        assert_each(h, 0, H, none ? lse[i * H + h] == -INFINITY : isfinite(lse[i * H + h]));
    }
    assert_true(empty > 3 && empty < 18);
}

/* --- losses ----------------------------------------------------------------------------------- */

TEST(test_entropy_of_zeros)
{
    open_case("cross-entropy");
    set_all("w", 0);
    set_all("b", 0);
    cs_tensor_forward(&world);
    const cs_op_loss *o = &op_of(CS_OP_CROSS_ENTROPY)->loss;
    const int32_t *target = cs_run_index(world.run, o->target);
    double *loss = tensor_of(o->loss);
    int without = 0;
    for (int64_t r = 0; r < 15; ++r) {
        double want = target[r] < 0 ? 0 : input_of(o->weight, r) * log(7.0);
        without += target[r] < 0;
        assert_true(fabs(loss[r] - want) <= 1e-15);
    }
    assert_true(without > 0 && without < 15);
}

/* loss / weight + 1 / mass[target] = sum_j mass[j] (z[j] - [j = target] / mass[target])^2: the
 * corrected loss is a weighted least squares. */
TEST(test_spectral_is_least_squares)
{
    open_case("spectral loss, corrected");
    cs_tensor_forward(&world);
    const cs_op_loss *o = &op_of(CS_OP_SPECTRAL_LOSS)->loss;
    const int32_t *target = cs_run_index(world.run, o->target);
    double *z = tensor_of(o->z.tensor), *loss = tensor_of(o->loss);
    for (int64_t r = 0; r < 15; ++r) {
        double weight = input_of(o->weight, r), square = 0;
        if (target[r] < 0) {
            assert_true(loss[r] == 0);
            continue;
        }
        double mass = input_of(o->goal, target[r]);
        for (int64_t j = 0; j < 7; ++j) {
            double e = z[r * 9 + j] - (j == target[r] ? 1 / mass : 0);
            square += input_of(o->goal, j) * e * e;
        }
        assert_true(fabs(loss[r] / weight + 1 / mass - square) < 1e-13 * square);
    }
}

/* --- dropout ---------------------------------------------------------------------------------- */

enum { DROP_ROWS = 101, DROP_COLS = 203 };

static void drop_twice(cs_tensor_net *net)
{
    int rows = cs_net_rows(net, 1, DROP_ROWS), b = cs_net_activation(net, "b", rows, DROP_COLS);
    cs_net_output(net, cs_graph_add(&net->graph, CS_NONE, b, 0.3));
    cs_net_output(net, cs_graph_add(&net->graph, CS_NONE, b, 0.3));
}

/* Items that are zero in one and not in the other. */
static int64_t apart(const double *a, const double *b)
{
    return COUNT(i, 0, (int64_t)DROP_ROWS * DROP_COLS, (a[i] == 0) != (b[i] == 0));
}

static double *drop_with(cs_run_key key, int output)
{
    OK(cs_run_upload(world.run, key));
    cs_tensor_forward(&world);
    return tensor_of(world.net.output[output]);
}

/* The share kept is 1 - p within 5 standard errors (the draw is fixed: the test cannot flicker),
 * kept items are b / (1 - p), and each part of the key gives another mask. */
TEST(test_dropout)
{
    const cs_tensor_case two = {"dropout", drop_twice, NULL, NULL};
    const cs_run_key key[] = {{7, 3, 1}, {7, 3, 1}, {8, 3, 1}, {7, 4, 1}, {7, 3, 2}};
    const double n = (double)DROP_ROWS * DROP_COLS, se = sqrt(0.3 * 0.7 / n);
    open_world(&two);
    set_all("b", 0.7);
    double *first = drop_with(key[0], 0);
    int64_t kept = 0;
    for (int64_t i = 0; i < (int64_t)n; ++i) {
        kept += first[i] != 0;
        assert_true(first[i] == 0 || fabs(first[i] - 1) < 1e-15);
        int64_t r = i / DROP_COLS, c = i % DROP_COLS;
        cs_four_words w = cs_drop_words(7, 3, 1, cs_drop_purpose(1, 0), (uint32_t)r,
                                        (uint32_t)(c / 4)); /* operation 0 makes b */
        assert_true((first[i] != 0) == (w.word[c % 4] >= cs_drop_threshold(0.3)));
    }
    assert_true(fabs((double)kept / n - 0.7) < 5 * se);
    for (int other = 1; other < 6; ++other) {
        double *y = drop_with(key[other % 5], other == 5 ? 1 : 0);
        double share = (double)apart(first, y) / n; /* 2 p (1 - p) of independent masks */
        assert_true(other == 1 ? share == 0 : fabs(share - 0.42) < 5 * sqrt(0.42 * 0.58 / n));
    }
}

/* Equal scores and v = 1 give the sum of the weights kept: the heads and rows drop apart. */
TEST(test_attention_dropout)
{
    open_case("attention, dropout");
    set_all("q", 0);
    set_all("v", 1);
    cs_tensor_forward(&world);
    double *y = tensor_of(world.net.output[0]);
    const cs_op *op = op_of(CS_OP_ATTENTION);
    int64_t number = op - world.net.graph.op;
    cs_run_key key = world.run->host_key;
    for (int64_t i = 0; i < 15; ++i) {
        for (int64_t h = 0; h < 2; ++h) {
            double sum = 0;
            for (int64_t j = 0; j < 7; ++j) {
                cs_four_words w =
                    cs_drop_words(key.seed, key.step, key.micro, cs_drop_purpose(number, h),
                                  (uint32_t)i, (uint32_t)(j / 4));
                sum += w.word[j % 4] >= cs_drop_threshold(0.3) ? 1 / 0.7 / 7 : 0;
            }
            assert_true(fabs(y[i * 6 + h * 3] - sum) < 1e-14);
        }
    }
}
