/* A model's states against a reference file: parity with transformers on the golden models, what
 * differs is found, what is refused. */
#include "infer/verify_states.h"
#include "io_support.h"
#include "model_support.h"
#include "train/model_kind.h"

static const char *const CLASS[] = {"gpt2", "roberta-prelayernorm", "roberta", "bert"};

static int verify(const char *class, const cs_verify_options *options, cs_state_difference *d)
{
    char dir[64], path[96];
    cs_model_kind kind;
    cs_npz *reference = NULL;
    int count = 0;
    (void)snprintf(dir, sizeof dir, "tests/golden/models/%s", class);
    (void)snprintf(path, sizeof path, "%s/reference.npz", dir);
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    AUTO_OK(cs_model, model, cs_model_read(dir, backend, false, &model));
    OK(cs_model_kind_read(dir, &model, &kind));
    assert_int_equal(kind.kind, strcmp(class, "gpt2") == 0 ? CS_KIND_CAUSAL : CS_KIND_MASKED);
    cs_verify_options o = *options;
    o.causal = (kind.attention == CS_ATTENTION_CAUSAL) != o.causal;
    OK(cs_npz_open(path, 0, &reference));
    OK(cs_verify_states(&model, reference, &o, d, &count));
    cs_npz_close(reference);
    return count;
}

TEST(agrees_with_transformers)
{
    for (size_t c = 0; c < sizeof CLASS / sizeof *CLASS; ++c) {
        cs_state_difference d[8];
        assert_int_equal(verify(CLASS[c], &(cs_verify_options){0}, d), 4);
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(d[i].layer, i);
            assert_int_equal(d[i].items, 22 * (i < 3 ? 10 : 19)); /* of 27 rows 5 are padding */
            assert_true(d[i].ok && d[i].max <= d[i].tolerance && d[i].tolerance < 1e-4);
            assert_true(fabs(d[i].mean) <= d[i].max && d[i].sd <= d[i].max && d[i].scale > 1);
        }
    }
}

/* Differences are found: the other attention, the last layer without its norm. */
TEST(finds_what_differs)
{
    for (size_t c = 0; c < sizeof CLASS / sizeof *CLASS; ++c) {
        cs_state_difference d[8];
        assert_int_equal(verify(CLASS[c], &(cs_verify_options){.causal = true}, d), 4);
        assert_true(d[0].ok && !d[1].ok && !d[2].ok && !d[3].ok);
        assert_int_equal(verify(CLASS[c], &(cs_verify_options){.raw = true}, d), 4);
        assert_true(d[1].ok && d[3].ok && d[2].ok == (c >= 2));
        assert_int_equal(verify(CLASS[c], &(cs_verify_options){.tolerance = 1e-300}, d), 4);
        assert_true(!d[3].ok);
    }
}

/* A reference of 1 x 3 ids with arrays of the given shapes; NULL names are left out. */
typedef struct {
    int32_t id;         /* the last one */
    int64_t mask, s, d; /* columns of the mask (0: none), rows and columns of the states */
    const char *states;
    int nan; /* this number of the states is none; 0: all are 0 */
} bad_reference;

static cs_status verify_written(void **state, const bad_reference *r)
{
    const int32_t ids[3] = {4, 5, r->id};
    const uint8_t ones[4] = {1, 1, 1, 1};
    const int64_t shape[3] = {1, r->s, r->d}, id_shape[2] = {1, 3}, mask_shape[2] = {1, r->mask};
    const char *path = in_dir(state, "reference.npz");
    float zero[64] = {0};
    if (r->nan > 0) {
        zero[r->nan] = (float)NAN;
    }
    cs_npz_writer *w = NULL;
    cs_npz *reference = NULL;
    cs_state_difference d[8];
    int count = 0;
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add(w, "input_ids", CS_I32, 2, id_shape, ids));
    if (r->mask > 0) {
        OK(cs_npz_add(w, "attention_mask", CS_U8, 2, mask_shape, ones));
    }
    OK(cs_npz_add(w, r->states, CS_F32, 3, shape, zero));
    OK(cs_npz_commit(&w));
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    AUTO_OK(cs_model, model, cs_model_read("tests/golden/models/gpt2", backend, false, &model));
    OK(cs_npz_open(path, 0, &reference));
    cs_status status =
        cs_verify_states(&model, reference, &(cs_verify_options){.causal = true}, d, &count);
    assert_int_equal(count, status == CS_OK);
    cs_npz_close(reference);
    return status;
}

TEST_IN_DIR(bad_references)
{
    const struct {
        bad_reference r;
        const char *part;
    } bad[] = {
        {{6, 0, 3, 9, "hidden_states_1", 0}, "hidden_states_1 has shape 1 x 3 x 9, not 1 x 3 x 10"},
        {{6, 0, 2, 10, "hidden_states_2", 0},
         "hidden_states_2 has shape 1 x 2 x 10, not 1 x 3 x 10"},
        {{6, 0, 3, 10, "logits", 0}, "logits has shape 1 x 3 x 10, not 1 x 3 x 19"},
        {{6, 0, 3, 10, "hidden_states_3", 0},
         "has hidden_states_3, but the model has only 2 layers"},
        {{6, 0, 3, 10, "hidden_states_9", 0},
         "has hidden_states_9, but the model has only 2 layers"},
        {{6, 0, 3, 10, "hidden_states_1", 25}, "hidden_states_1[0,2,5] is not finite: nan"},
        {{6, 0, 3, 10, "states", 0}, "neither hidden_states_L"},
        {{19, 0, 3, 10, "hidden_states_0", 0}, "input_ids[0, 2] is 19, not in 0..18"},
        {{-2, 0, 3, 10, "hidden_states_0", 0}, "input_ids[0, 2] is -2"},
        {{6, 4, 3, 10, "hidden_states_0", 0}, "attention_mask does not have the shape"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(verify_written(state, &bad[i].r), CS_ERR_INPUT, bad[i].part);
    }
    OK(verify_written(state, &(bad_reference){-1, 3, 3, 10, "hidden_states_0", 0}));
}

static cs_model held;
static cs_npz *opened;

static cs_status verify_once(const char *path)
{
    (void)path;
    cs_state_difference d[8];
    int count = 0;
    return cs_verify_states(&held, opened, &(cs_verify_options){.causal = true}, d, &count);
}

TEST(allocations)
{
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    OK(cs_model_read("tests/golden/models/gpt2", backend, false, &held));
    OK(cs_npz_open("tests/golden/models/gpt2/reference.npz", 0, &opened));
    fail_each_allocation(verify_once, "");
    cs_npz_close(opened);
    cs_model_free(&held);
}
