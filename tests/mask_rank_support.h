/* Planted states through the sums of the mask-rank study, and small models for it. */
#pragma once

#include "analysis/measures/mask_rank.h"
#include "train_support.h"

/* Documents of 10 rows, the first 2 at [MASK]; one layer. */
enum { DOCUMENTS = 12, ROWS = 10, MASKS = 2, WIDTH = 8, MASK_ID = 99, BLOCKS = 4 };

typedef struct {
    float state[DOCUMENTS * ROWS * WIDTH];
    cs_hidden_row about[DOCUMENTS * ROWS];
    int32_t block[DOCUMENTS];
} planted;

/* Of planted states: one layer. */
cs_mask_rank_options options_of(bool encoder_only);

/* All rows 0, described; the caller's to cs_free. */
planted *plant(void);
float *row_of(planted *p, int i);

/* Hands on the rows that are wanted (drop: none that is masked) in one block. */
cs_status hand_on(planted *p, bool drop, cs_hidden_visit visit, void *sums);

cs_status study(planted *masked, planted *plain, const cs_mask_rank_options *o, cs_mask_rank *out);

/* Real rows take turns in +-e_0..e_3, [MASK] rows in +-e_first.., `directions` of them: each
 * direction of a kind equally often. */
void axes(planted *p, int first, int directions);

void near(double x, double want, double tolerance);

extern const recipe MASKED_RECIPE; /* of two layers and width 16 */
extern const int64_t ALL_LAYERS[3];

/* Of such a model: all layers, 0.3 of the tokens masked. */
cs_mask_rank_options model_options(bool encoder_only);
