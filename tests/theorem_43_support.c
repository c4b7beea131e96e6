
#include "theorem_43_support.h"

void make_text(world *w, uint64_t seed)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 1);
    for (int i = 0; i < TEXTS; ++i) {
        w->start[i] = w->token[i];
        w->length[i] = LONGEST - i;
        for (int j = 0; j < LONGEST; ++j) {
            w->token[i][j] = (int32_t)cs_rng_below(&rng, VOCAB);
        }
    }
    w->text = (cs_generation_bound_text){.count = TEXTS, .token = w->start, .length = w->length};
}
