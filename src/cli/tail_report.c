/* Intervals and tails in JSON and in tables. */
#include "cli/tail_report.h"

#include <math.h>

#include "base/mem.h"
#include "cli/output.h"

cs_status cs_tails_write(cs_args *args)
{
    static const cs_view view = {"tail[]", "t tail=value tail_low=low tail_high=high exact"};
    return cs_output_csv(args, "tail.csv", &view);
}

static void add_sum4(cs_item *object, const cs_sum4 *sum)
{
    cs_item_text(object, "sum_sigma4_method",
                 sum->out_of_range   ? "out of range"
                 : isnan(sum->value) ? "none"
                 : sum->samples > 0  ? "hutch++"
                                     : "exact");
    cs_item_real(object, "sum_sigma4_low", sum->low);
    cs_item_real(object, "sum_sigma4_high", sum->high);
    cs_item_real(object, "sum_sigma4_level", sum->level);
    cs_item_int(object, "sum_sigma4_samples", sum->samples);
    cs_item_int(object, "sum_sigma4_known", sum->known);
    cs_item_int(object, "sum_sigma4_sketched", sum->sketch);
    cs_item_real(object, "sum_sigma4_spent", sum->spent);
}

void cs_sum4_note(const cs_args *args, const cs_sum4 *sum)
{
    if (sum->out_of_range) {
        cs_output_note(args, "sum sigma^4 is out of the range of doubles");
    } else if (isnan(sum->value)) {
        cs_output_note(args, "sum sigma^4 was not computed");
    } else if (sum->samples == 0) {
        cs_output_note(args, "sum sigma^4 %.12g, exact", sum->value);
    } else {
        cs_output_note(args,
                       "sum sigma^4 %.8g in [%.8g, %.8g] at %g%%, estimated from %lld samples with "
                       "%lld vectors taken out exactly",
                       sum->value, sum->low, sum->high, 100 * sum->level, (long long)sum->samples,
                       (long long)sum->known + sum->sketch);
    }
}

cs_status cs_sum4_report(cs_args *args, const cs_spectrum *s, cs_item *object, bool *tails)
{
    cs_interval *tail = cs_alloc(s->k + 1, sizeof *tail);
    double *exact = cs_alloc(s->k + 1, sizeof *exact);
    cs_status status = tail && exact ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_spectrum_tails(s, 0, tail);
        bool sampled = s->sum4.samples > 0 && s->rank != s->k; /* else all values are known */
        for (int64_t t = 0; t <= s->k; ++t) {
            exact[t] = sampled ? (double)NAN : tail[t].value;
        }
        cs_sum4_note(args, &s->sum4);
        add_sum4(object, &s->sum4);
        *tails = !isnan(tail[0].value);
        if (*tails) {
            cs_item_tails(object, s->k, tail, exact);
        } else {
            cs_item_null(object, "tail");
        }
    }
    cs_free(tail);
    cs_free(exact);
    return status;
}
