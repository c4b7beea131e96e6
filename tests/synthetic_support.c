#include "synthetic_support.h"

double path_probability(const cs_synthetic *language, int64_t label, int64_t place, int64_t n,
                        const int32_t *word)
{
    const int64_t h = language->states, all = place + n;
    const double *next = language->next + label * h * h,
                 *emit = language->emit + label * h * language->words;
    int64_t paths = 1;
    double sum = 0;
    for (int64_t i = 0; i < all; ++i) {
        paths *= h;
    }
    for (int64_t path = 0; path < paths; ++path) {
        int64_t left = path, before = -1;
        double p = 1;
        for (int64_t i = 0; i < all; ++i, left /= h) {
            const int64_t z = left % h;
            p *= before < 0 ? language->start[label * h + z] : next[before * h + z];
            p *= i < place ? 1 : emit[z * language->words + word[i - place]];
            before = z;
        }
        sum += p;
    }
    return sum;
}
