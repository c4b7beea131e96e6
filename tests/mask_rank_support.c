
#include "mask_rank_support.h"

const recipe MASKED_RECIPE = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM};
const int64_t ALL_LAYERS[3] = {0, 1, 2};

static const int64_t ONLY[] = {0};

cs_mask_rank_options options_of(bool encoder_only)
{
    return (cs_mask_rank_options){
        .hidden = {.layer = ONLY, .layers = 1, .mask_ratio = 0.2, .mask_seed = 3},
        .encoder_only = encoder_only,
        .blocks = BLOCKS,
        .gram = {.wide = true, .threads = 2},
        .rank = {.tau = 0.9, .eps = -1, .jackknife = true, .threads = 2}};
}

planted *plant(void)
{
    planted *p = cs_calloc(1, sizeof *p);
    assert_non_null(p);
    for (int i = 0; i < DOCUMENTS * ROWS; ++i) {
        p->about[i] = (cs_hidden_row){.document = i / ROWS,
                                      .position = i % ROWS,
                                      .masked = i % ROWS < MASKS,
                                      .shown = i % ROWS < MASKS ? MASK_ID : 1};
        p->block[i / ROWS] = i / ROWS * BLOCKS / DOCUMENTS;
    }
    return p;
}

float *row_of(planted *p, int i)
{
    return p->state + i * WIDTH;
}

cs_status hand_on(planted *p, bool drop, cs_hidden_visit visit, void *sums)
{
    CS_AUTO_FREE planted *q = plant();
    int64_t rows = 0;
    for (int i = 0; i < DOCUMENTS * ROWS; ++i) {
        if (!drop || !p->about[i].masked) {
            memcpy(q->state + rows * WIDTH, row_of(p, i), WIDTH * sizeof(float));
            q->about[rows++] = p->about[i];
        }
    }
    const float *states[] = {q->state};
    cs_status status = visit(
        sums, &(cs_hidden_block){
                  .rows = rows, .layers = 1, .width = WIDTH, .state = states, .about = q->about});
    return status;
}

cs_status study(planted *masked, planted *plain, const cs_mask_rank_options *o, cs_mask_rank *out)
{
    CS_AUTO_BY(cs_mask_rank_end, cs_mask_rank_sums) *sums = NULL;
    cs_status status = cs_mask_rank_begin(WIDTH, MASK_ID, masked->block, o, &sums);
    if (status == CS_OK) status = hand_on(masked, o->encoder_only, cs_mask_rank_take_masked, sums);
    if (status == CS_OK) status = hand_on(plain, false, cs_mask_rank_take_plain, sums);
    if (status == CS_OK) status = cs_mask_rank_finish(sums, out);
    return status;
}

void axes(planted *p, int first, int directions)
{
    int real = 0, mask = 0;
    for (int i = 0; i < DOCUMENTS * ROWS; ++i) {
        int n = p->about[i].masked ? mask++ : real++;
        int axis = p->about[i].masked ? first + n % directions : n % 4;
        row_of(p, i)[axis] = n / 4 % 2 ? -2 : 2;
    }
}

void near(double x, double want, double tolerance)
{
    if (!(fabs(x - want) <= tolerance)) {
        fail_msg("%.17g is not %.17g", x, want);
    }
}

cs_mask_rank_options model_options(bool encoder_only)
{
    cs_mask_rank_options o = options_of(encoder_only);
    o.hidden.layer = ALL_LAYERS;
    o.hidden.layers = 3;
    o.hidden.mask_ratio = 0.3;
    return o;
}
