/* tensor: emitting a network, its dry run (who writes a gradient first, what shares memory),
 * parameters, inputs of a run. */
#include "backend_ref.h"
#include "tensor/run.h"
#include "test.h"

enum { WIDTH = 6, CLASSES = 5, BATCH = 3, LENGTH = 4, LAYERS = 3 };

/* A residual network: embedding, blocks x + W act(V norm(x)), loss. Ids that the tests look at. */
typedef struct {
    cs_graph graph;
    cs_params params;
    int rows, token, target, weight, loss, first, last;
} small;

static int param(small *s, const char *name, int64_t rows, int64_t cols)
{
    int64_t number = cs_params_add(&s->params, name, rows, cols, rows > 1);
    assert_true(number >= 0);
    return cs_graph_param(&s->graph, s->params.param[number].name, rows, cols,
                          s->params.param[number].offset, true);
}

static void emit(small *s, bool training)
{
    memset(s, 0, sizeof *s);
    cs_graph *g = &s->graph;
    cs_graph_init(g, training);
    s->rows = cs_graph_rows(g, BATCH, LENGTH);
    s->token = cs_graph_index(g, s->rows, "token");
    s->target = cs_graph_index(g, s->rows, "target");
    s->weight = cs_graph_input(g, s->rows, 1, "weight");
    int table = param(s, "table", CLASSES, WIDTH);
    int x = cs_graph_embed(g, CS_NONE, s->rows, 1, &table, &s->token);
    s->first = x;
    for (int layer = 0; layer < LAYERS; ++layer) {
        int norm = cs_graph_layer_norm(g, x, CS_NONE, 0,
                                       (cs_norm){.gain = param(s, "gain", 1, WIDTH),
                                                 .bias = param(s, "bias", 1, WIDTH),
                                                 .eps = 1e-5},
                                       NULL);
        int up =
            cs_graph_linear(g, norm, param(s, "up", 2 * WIDTH, WIDTH), CS_NONE, CS_ACT_GELU_ERF);
        int down = cs_graph_linear(g, up, param(s, "down", WIDTH, 2 * WIDTH), CS_NONE, CS_ACT_NONE);
        x = cs_graph_add(g, x, down, 0);
    }
    s->last = x;
    int z = cs_graph_linear(g, x, table, CS_NONE, CS_ACT_NONE);
    s->loss = cs_graph_cross_entropy(g, z, CLASSES, s->target, s->weight);
}

static void drop(small *s)
{
    cs_params_free(&s->params);
    cs_graph_free(&s->graph);
}

/* --- emitting --------------------------------------------------------------------------------- */

TEST(bad_shapes_are_named)
{
    CS_AUTO(cs_graph) g = {0};
    cs_graph_init(&g, true);
    int rows = cs_graph_rows(&g, 2, 3);
    int w = cs_graph_param(&g, "matrix", 4, 7, 0, true);
    int table = cs_graph_param(&g, "table", 9, 5, 28, true);
    int index = cs_graph_index(&g, rows, "token");
    int x = cs_graph_embed(&g, CS_NONE, rows, 1, &table, &index);
    int y = cs_graph_linear(&g, x, w, CS_NONE, CS_ACT_NONE); /* 5 columns into a 4 x 7 matrix */
    assert_int_equal(y, CS_NONE);
    assert_int_equal(cs_graph_add(&g, CS_NONE, y, 0), CS_NONE); /* does not hide the first */
    assert_fails(cs_graph_finish(&g), CS_ERR_USAGE, "matrix is 4 x 7");
    cs_graph_free(&g);

    cs_graph_init(&g, true);
    assert_int_equal(cs_graph_rows(&g, INT32_MAX, 2), CS_NONE);
    assert_int_equal(cs_graph_finish(&g), CS_ERR_USAGE);
    cs_reason_clear();
}

TEST(views_cover_their_tensor_once)
{
    for (int64_t width = 1; width <= 3; ++width) { /* of the third view; 2 covers 6 columns */
        CS_AUTO(cs_graph) g = {0};
        cs_graph_init(&g, true);
        int rows = cs_graph_rows(&g, 1, 2);
        int index = cs_graph_index(&g, rows, "token");
        int table = cs_graph_param(&g, "table", 3, 6, 0, true);
        int x = cs_graph_embed(&g, CS_NONE, rows, 1, &table, &index);
        int q = cs_graph_cols(&g, x, 0, 2), k = cs_graph_cols(&g, x, 2, 2);
        int v = width == 3 ? cs_graph_cols(&g, x, 3, 2) : cs_graph_cols(&g, x, 4, width);
        assert_int_equal(cs_graph_cols(&g, x, 0, 2), q); /* one view, one id */
        int sum = cs_graph_add(&g, q, k, 0);
        int wide = cs_graph_linear(&g, v, cs_graph_param(&g, "w", 2, width == 1 ? 1 : 2, 64, true),
                                   CS_NONE, CS_ACT_NONE);
        (void)cs_graph_add(&g, sum, wide, 0);
        cs_status status = cs_graph_finish(&g);
        assert_int_equal(status, width == 2 ? CS_OK : CS_ERR_USAGE);
        cs_reason_clear();
    }
}

/* --- the dry run ------------------------------------------------------------------------------ */

typedef struct {
    const cs_graph *graph;
    int64_t made[256], read[256], op;
    bool written[256];
} trace;

static void read_operand(void *ctx, cs_operand *operand)
{
    trace *t = ctx;
    t->read[operand->tensor] = t->op;
}

/* Backward as the backends see it: the first to write overwrites, each later one adds. */
static void write_operand(void *ctx, cs_operand *operand)
{
    trace *t = ctx;
    const cs_tensor *tensor = &t->graph->tensor[operand->tensor];
    assert_int_equal(operand->grad, tensor->wants_grad);
    if (tensor->space == CS_SPACE_PARAM) {
        assert_true(operand->add);
    } else {
        assert_int_equal(operand->add, t->written[operand->tensor]);
    }
    t->written[operand->tensor] = true;
}

TEST(gradients_are_written_then_added)
{
    CS_AUTO_BY(drop, small) s = {0};
    emit(&s, true);
    OK(cs_graph_finish(&s.graph));
    trace t = {.graph = &s.graph};
    for (int64_t i = s.graph.ops - 1; i >= 0; --i) {
        cs_op_operands(&s.graph.op[i], write_operand, &t);
    }
    /* The residual stream is read by the norm and by the sum of its block. */
    assert_true(t.written[s.first]);
}

/* Whenever two gradients are alive together they do not overlap. Alive: from the last reader down
 * to the maker of the tensor, found here from the operations' own records. */
TEST(living_gradients_do_not_overlap)
{
    CS_AUTO_BY(drop, small) s = {0};
    emit(&s, true);
    cs_graph *g = &s.graph;
    OK(cs_graph_finish(g));
    trace t = {.graph = g};
    for (int i = 0; i < g->tensors; ++i) {
        t.made[i] = t.read[i] = -1;
    }
    for (t.op = 0; t.op < g->ops; ++t.op) {
        const cs_op *op = &g->op[t.op];
        int y = op->kind == CS_OP_LINEAR       ? op->linear.y
                : op->kind == CS_OP_EMBED      ? op->embed.y
                : op->kind == CS_OP_ADD        ? op->add.y
                : op->kind == CS_OP_LAYER_NORM ? op->layer_norm.y
                                               : CS_NONE;
        if (y != CS_NONE) {
            t.made[y] = t.op;
        }
        cs_op_operands(&g->op[t.op], read_operand, &t);
    }
    int64_t pairs = 0, apart = 0;
    for (int i = 0; i < g->tensors; ++i) {
        for (int j = 0; j < i; ++j) {
            const cs_tensor *a = &g->tensor[i], *b = &g->tensor[j];
            if (a->space != CS_SPACE_ACTIVATION || b->space != CS_SPACE_ACTIVATION || a->grad < 0 ||
                b->grad < 0) {
                continue;
            }
            bool meet = t.made[i] <= t.read[j] && t.made[j] <= t.read[i];
            bool overlap =
                a->grad < b->grad + b->rows * b->ld && b->grad < a->grad + a->rows * a->ld;
            assert_false(meet && overlap);
            pairs += meet;
            apart += overlap;
        }
    }
    assert_true(pairs > 0 && apart > 0); /* both happen: memory is shared where it can be */
}

TEST(inference_shares_what_training_keeps)
{
    CS_AUTO_BY(drop, small) train = {0}, infer = {0};
    emit(&train, true);
    emit(&infer, false);
    cs_graph_keep(&infer.graph, infer.first);
    OK(cs_graph_finish(&train.graph));
    OK(cs_graph_finish(&infer.graph));
    assert_true(infer.graph.space_items[CS_SPACE_ACTIVATION] <
                train.graph.space_items[CS_SPACE_ACTIVATION] / 2);
    assert_int_equal(infer.graph.grad_items, 0);
    /* The kept tensor's memory is nobody else's. */
    const cs_tensor *kept = &infer.graph.tensor[infer.first];
    for (int i = 0; i < infer.graph.tensors; ++i) {
        const cs_tensor *t = &infer.graph.tensor[i];
        if (i != infer.first && t->space == CS_SPACE_ACTIVATION) {
            assert_true(t->offset >= kept->offset + kept->rows * kept->ld ||
                        kept->offset >= t->offset + t->rows * t->ld);
        }
    }
}

/* --- runs
 * -------------------------------------------------------------------------------------------------
 */

static void fill(small *s, cs_run *run, int64_t batch, int64_t length)
{
    OK(cs_run_rows(run, s->rows, batch, length));
    for (int64_t r = 0; r < batch * length; ++r) {
        cs_run_index(run, s->token)[r] = (int32_t)(r * 7 % CLASSES);
        cs_run_index(run, s->target)[r] = (int32_t)(r * 3 % CLASSES);
        cs_run_input(run, s->weight, r, 0, 1.0 / (double)(batch * length));
    }
}

static void set_params(small *s)
{
    for (int64_t p = 0; p < s->params.count; ++p) {
        const cs_param *one = &s->params.param[p];
        cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, (uint64_t)p);
        double x[2 * WIDTH * WIDTH];
        for (int64_t i = 0; i < one->rows * one->cols; ++i) {
            x[i] = 0.3 * cs_rng_normal(&rng);
        }
        OK(cs_params_set64(&s->params, p, CS_PARAM_VALUE, x));
    }
}

/* The memory of an inference graph is shared, that of a training graph is not: the same loss. */
TEST(shared_memory_gives_the_same_loss)
{
    double loss[2];
    for (int training = 0; training < 2; ++training) {
        AUTO_OK(cs_backend, *backend, cs_backend_ref64(&backend));
        CS_AUTO_BY(drop, small) s = {0};
        emit(&s, training);
        OK(cs_graph_finish(&s.graph));
        OK(cs_params_allocate(&s.params, backend, training));
        set_params(&s);
        AUTO_OK(cs_run, *run, cs_run_init(&s.graph, &s.params, &run));
        fill(&s, run, BATCH, LENGTH - 1);
        OK(cs_run_upload(run, (cs_run_key){0}));
        OK(cs_run_forward(run));
        OK(cs_run_sum(run, s.loss, &loss[training]));
        assert_int_equal(cs_run_backward(run), training ? CS_OK : CS_ERR_USAGE);
        cs_reason_clear();
    }
    assert_true(loss[0] > 0);
    assert_true(loss[0] == loss[1]);
}

/* A training run on the float reference, and its end. */
static cs_run *begin(small *s)
{
    cs_backend *backend = NULL;
    cs_run *run = NULL;
    emit(s, true);
    OK(cs_backend_ref(&backend));
    OK(cs_graph_finish(&s->graph));
    OK(cs_params_allocate(&s->params, backend, true));
    OK(cs_run_init(&s->graph, &s->params, &run));
    return run;
}

static void finish(small *s, cs_run *run)
{
    cs_backend *backend = run->backend;
    cs_run_free(&run);
    drop(s);
    cs_backend_free(&backend);
}

TEST(bad_inputs_are_named)
{
    small s;
    cs_run *run = begin(&s);
    assert_int_equal(cs_run_rows(run, s.rows, BATCH + 1, LENGTH), CS_ERR_USAGE);
    cs_reason_clear();
    fill(&s, run, BATCH, LENGTH);
    cs_run_index(run, s.token)[7] = CLASSES;
    assert_int_equal(cs_run_upload(run, (cs_run_key){0}), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "token of row 7 is 5, not below 5");
    cs_reason_clear();
    fill(&s, run, BATCH, LENGTH);
    cs_run_index(run, s.target)[2] = CLASSES;
    assert_int_equal(cs_run_upload(run, (cs_run_key){0}), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "target of row 2 is 5, not below 5");
    cs_reason_clear();
    finish(&s, run);
}

TEST(rows_are_sorted_by_index)
{
    small s;
    cs_run *run = begin(&s);
    fill(&s, run, 2, 4);
    const int32_t token[8] = {3, -1, 0, 3, 2, 0, -1, 3}, order[8] = {2, 5, 4, 0, 3, 7, 1, 6};
    memcpy(cs_run_index(run, s.token), token, sizeof token);
    OK(cs_run_upload(run, (cs_run_key){0}));
    assert_memory_equal(cs_run_order(run, s.token), order, sizeof order);
    finish(&s, run);
}

TEST(params_move_through_every_type)
{
    cs_status (*const make[])(cs_backend **) = {cs_backend_ref, cs_backend_ref64};
    for (int i = 0; i < 2; ++i) {
        AUTO_OK(cs_backend, *backend, make[i](&backend));
        CS_AUTO(cs_params) params = {0};
        int64_t a = cs_params_add(&params, "a", 3, 5, true),
                b = cs_params_add(&params, "b", 1, 7, false);
        assert_int_equal(cs_params_find(&params, "b"), b);
        assert_int_equal(cs_params_find(&params, "c"), -1);
        assert_int_equal(params.param[b].offset % 16, 0);
        OK(cs_params_allocate(&params, backend, true));
        for (int block = CS_PARAM_VALUE; block <= CS_PARAM_V; ++block) {
            double in[15], out[15];
            float narrow[15];
            for (int k = 0; k < 15; ++k) {
                in[k] = k * 0.25 - block; /* exact in float */
            }
            OK(cs_params_set64(&params, a, (cs_param_block)block, in));
            OK(cs_params_get64(&params, a, (cs_param_block)block, out));
            assert_memory_equal(in, out, sizeof in);
            OK(cs_params_get(&params, a, (cs_param_block)block, narrow));
            assert_each(k, 0, 15, narrow[k] == (float)in[k]);
            OK(cs_params_get64(&params, b, (cs_param_block)block, out));
            assert_true(out[0] == 0 && out[6] == 0);
        }
    }
}

static cs_status build_once(void)
{
    CS_AUTO(cs_backend) *backend = NULL;
    CS_AUTO_BY(drop, small) s = {0};
    CS_AUTO(cs_run) *run = NULL;
    cs_graph *g = &s.graph;
    cs_graph_init(g, true);
    int rows = cs_graph_rows(g, 2, 3), index = cs_graph_index(g, rows, "token");
    int64_t number = cs_params_add(&s.params, "table", 4, 4, true);
    int table = cs_graph_param(g, "table", 4, 4, 0, true);
    (void)cs_graph_embed(g, CS_NONE, rows, 1, &table, &index);
    cs_status status = number < 0 ? CS_ERR_MEMORY : cs_graph_finish(g);
    if (status == CS_OK && (status = cs_backend_ref(&backend)) == CS_OK &&
        (status = cs_params_allocate(&s.params, backend, true)) == CS_OK &&
        (status = cs_run_init(g, &s.params, &run)) == CS_OK) {
        status = cs_run_upload(run, (cs_run_key){0});
    }
    return status;
}

TEST(every_allocation_fails_cleanly)
{
    int failures = 0;
    EACH_ALLOCATION_FAILS(n)
        failures += out_of_memory(build_once());
    assert_true(failures > 10);
}
